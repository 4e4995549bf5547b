/* Programs of a model: see emit.h. Shapes are written next to the values: B sequences, T tokens of each, N = B T rows, H heads
 * of D numbers, Hk heads of keys and values, G = H / Hk, C positions in the cache. */
#include "llm/emit.h"

#include "llm/product.h"

#include <stdio.h>

struct emit {
    struct build b;
    const struct llm_model *model;
    const struct llm_config *c;
    const struct llm_graph *g;
    enum ir_dtype type;          /* of the inputs of products */
    int64_t B, T, N, H, Hk, G, D, C;
    ir_val tokens, positions, lengths, targets;
    const ir_val *params, *cache; /* arguments: weights; cache, two for each layer */
    ir_val *fresh;               /* the cache after this program */
    ir_val rope_cos[2], rope_sin[2]; /* f32[B, T, rotary / 2]; [1] of sliding layers */
    ir_val mask[2];              /* i1[B, T, C]: what a token sees */
};

static ir_val reshape(struct emit *e, ir_val x, uint32_t rank, const int64_t *dims) {
    return build_reshape(&e->b, x, dims, rank);
}
#define DIMS(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}

/* ---- weights --------------------------------------------------------------------------------- */

static const struct llm_weight *weight(const struct emit *e, enum llm_role role, int64_t layer) {
    return llm_model_weight(e->model, role, layer);
}

static ir_val part(const struct emit *e, const struct llm_weight *w, enum llm_part part) {
    return part < (enum llm_part)w->nparams ? e->params[w->first + (uint32_t)part] : (ir_val){0};
}

/* x f32[n, cols] times the transposed matrix: f32[n, rows]. With one row for each sequence, products take the inputs of a
   decode step. */
static ir_val product(struct emit *e, ir_val x, const struct llm_weight *w) {
    ir_val parts[] = {part(e, w, LLM_VALUES), part(e, w, LLM_SCALES), part(e, w, LLM_OFFSETS)};
    return product_of(&e->b, x, w, parts, build_type(&e->b, x)->dims[0] == e->B ? e->model->decode : e->type);
}

/* A vector, along the last dimension of `like`, in f32. */
static ir_val vector(struct emit *e, const struct llm_weight *w, ir_val like) {
    ir_val v = build_convert(&e->b, part(e, w, LLM_VALUES), IR_F32_T);
    return build_broadcast_like(&e->b, v, like, (int64_t[]){(int64_t)build_type(&e->b, like)->rank - 1});
}

/* The product with a matrix of a layer, plus its bias if it has one. */
static ir_val linear(struct emit *e, ir_val x, enum llm_role role, enum llm_role bias, int64_t layer) {
    ir_val y = product(e, x, weight(e, role, layer));
    const struct llm_weight *w = weight(e, bias, layer);
    return w ? build_binary(&e->b, IR_ADD, y, vector(e, w, y)) : y;
}

/* f32[n, hidden] of i32[n] */
static ir_val embedding(struct emit *e, ir_val ids) {
    struct build *b = &e->b;
    const struct llm_weight *w = weight(e, LLM_W_EMBED, 0);
    ir_val x = build_rows(b, part(e, w, LLM_VALUES), ids);
    if (w->bits) {
        ir_val scales = build_rows(b, part(e, w, LLM_SCALES), ids);
        ir_val offsets = w->offsets ? build_rows(b, part(e, w, LLM_OFFSETS), ids) : scales;
        x = product_dequantise(b, w, (ir_val[]){x, scales, offsets});
    }
    return build_scale(b, build_convert(b, x, IR_F32_T), e->c->embed_scale);
}

/* ---- norms and activations ------------------------------------------------------------------- */

/* x / sqrt(mean(x²) + eps) * weight, along the last dimension. */
static ir_val norm(struct emit *e, ir_val x, enum llm_role role, int64_t layer) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    int64_t last = (int64_t)t->rank - 1, n = t->dims[last], map[IR_MAX_RANK];
    for (int64_t i = 0; i < last; i++)
        map[i] = i;
    ir_val sum = build_reduce(b, IR_ADD, build_binary(b, IR_MULTIPLY, x, x), last);
    const struct ir_type_data *s = build_type(b, sum);
    ir_val mean = build_scale(b, sum, 1 / (double)n);
    ir_val eps = build_splat(b, IR_F32_T, s->dims, s->rank, e->c->norm_eps);
    ir_val r = build_unary(b, IR_RSQRT, build_binary(b, IR_ADD, mean, eps));
    ir_val y = build_binary(b, IR_MULTIPLY, x, build_broadcast_like(b, r, x, map));
    ir_val w = vector(e, weight(e, role, layer), x);
    if (e->c->norm_plus_one)
        w = build_binary(b, IR_ADD, w, build_splat(b, IR_F32_T, t->dims, t->rank, 1));
    return build_binary(b, IR_MULTIPLY, y, w);
}

/* tanh(x / cap) * cap; x itself for 0 */
static ir_val capped(struct emit *e, ir_val x, double cap) {
    if (cap == 0)
        return x;
    return build_scale(&e->b, build_unary(&e->b, IR_TANH, build_scale(&e->b, x, 1 / cap)), cap);
}

static ir_val activation(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    if (e->c->activation == LLM_SILU)
        return build_binary(b, IR_MULTIPLY, x, build_unary(b, IR_LOGISTIC, x));
    /* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x³))) */
    const struct ir_type_data *t = build_type(b, x);
    ir_val cube = build_scale(b, build_binary(b, IR_MULTIPLY, build_binary(b, IR_MULTIPLY, x, x), x), 0.044715);
    ir_val inner = build_scale(b, build_binary(b, IR_ADD, x, cube), 0.79788456080286535588);
    ir_val one = build_splat(b, IR_F32_T, t->dims, t->rank, 1);
    return build_binary(b, IR_MULTIPLY, build_scale(b, x, 0.5), build_binary(b, IR_ADD, one, build_unary(b, IR_TANH, inner)));
}

/* ---- positions ------------------------------------------------------------------------------- */

/* i32[B, T]: the position of each token. */
static ir_val places(struct emit *e) {
    int64_t dims[] = {e->B, e->T};
    ir_val first = build_broadcast(&e->b, e->positions, dims, 2, (int64_t[]){0});
    return e->T == 1 ? first : build_binary(&e->b, IR_ADD, first, build_iota(&e->b, IR_I32_T, dims, 2, 1));
}

/* f32[B, T, rotary / 2]: the frequencies of a rotary embedding. Where they depend on the length of the sequence, it is that at
   the last valid token. */
static ir_val frequencies_of(struct emit *e, const struct llm_rope *rope) {
    float f[2][LLM_MAX_FREQUENCIES];
    struct build *b = &e->b;
    int64_t n = e->c->rotary / 2, dims[] = {e->B, e->T, n};
    ir_val v[2];
    for (int k = 0; k < 2; k++) {
        llm_rope_frequencies(rope, e->c->rotary, k, f[k]);
        if (k && memcmp(f[0], f[1], (size_t)n * sizeof **f) == 0)
            return v[0];
        v[k] = build_broadcast(b, build_vector(b, f[k], n), dims, 3, (int64_t[]){2});
    }
    ir_val length = build_binary(b, IR_ADD, e->positions,
                                 e->g->kind == LLM_DECODE ? build_splat(b, IR_I32_T, dims, 1, 1) : e->lengths);
    ir_val most = build_splat(b, IR_I32_T, dims, 1, rope->original);
    ir_val lengthy = build_compare(b, IR_COMPARISON_DIRECTION_GT, length, most);
    return build_select(b, build_broadcast(b, lengthy, dims, 3, (int64_t[]){0}), v[1], v[0]);
}

static void rotary(struct emit *e, ir_val at, const struct llm_rope *rope, int which) {
    struct build *b = &e->b;
    int64_t dims[] = {e->B, e->T, e->c->rotary / 2};
    ir_val p = build_broadcast(b, build_convert(b, at, IR_F32_T), dims, 3, (int64_t[]){0, 1});
    ir_val angle = build_binary(b, IR_MULTIPLY, p, frequencies_of(e, rope));
    e->rope_cos[which] = build_scale(b, build_unary(b, IR_COSINE, angle), rope->amplitude);
    e->rope_sin[which] = build_scale(b, build_unary(b, IR_SINE, angle), rope->amplitude);
}

static void prepare_positions(struct emit *e) {
    struct build *b = &e->b;
    int64_t dims[] = {e->B, e->T, e->C};
    ir_val at = places(e), row = build_broadcast(b, at, dims, 3, (int64_t[]){0, 1});
    ir_val col = build_iota(b, IR_I32_T, dims, 3, 2);
    rotary(e, at, &e->c->rope, 0);
    e->mask[0] = e->mask[1] = build_compare(b, IR_COMPARISON_DIRECTION_LE, col, row);
    e->rope_cos[1] = e->rope_cos[0];
    e->rope_sin[1] = e->rope_sin[0];
    if (e->c->window == 0)
        return;
    ir_val window = build_splat(b, IR_I32_T, dims, 3, (double)e->c->window);
    ir_val near = build_compare(b, IR_COMPARISON_DIRECTION_LT, build_binary(b, IR_SUBTRACT, row, col), window);
    e->mask[1] = build_binary(b, IR_AND, e->mask[0], near);
    rotary(e, at, &e->c->local_rope, 1);
}

/* Pairs (i, i + R / 2) of x [B, T, heads, D] rotated by their angles, for the first R = rotary numbers of a head. */
static ir_val rotate(struct emit *e, ir_val x, int which) {
    struct build *b = &e->b;
    int64_t R = e->c->rotary, half = R / 2, map[] = {0, 1, 3};
    ir_val p = build_slice(b, x, 3, 0, half), q = build_slice(b, x, 3, half, R);
    ir_val cos = build_broadcast_like(b, e->rope_cos[which], p, map), sin = build_broadcast_like(b, e->rope_sin[which], p, map);
    ir_val low = build_binary(b, IR_SUBTRACT, build_binary(b, IR_MULTIPLY, p, cos), build_binary(b, IR_MULTIPLY, q, sin));
    ir_val high = build_binary(b, IR_ADD, build_binary(b, IR_MULTIPLY, q, cos), build_binary(b, IR_MULTIPLY, p, sin));
    ir_val y = build_concat(b, low, high, 3);
    return R < e->D ? build_concat(b, y, build_slice(b, x, 3, R, e->D), 3) : y;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The cache [B, Hk, C, D] with x [B, T, Hk, D] written at the end of each sequence. */
static ir_val remember(struct emit *e, ir_val cache, ir_val x) {
    struct build *b = &e->b;
    x = build_convert(b, build_transpose(b, x, (int64_t[]){0, 2, 1, 3}), e->model->cache); /* [B, Hk, T, D] */
    ir_val zero = build_splat(b, IR_I32_T, NULL, 0, 0);
    for (int64_t i = 0; i < e->B; i++) {
        ir_val at = build_reshape(b, e->B == 1 ? e->positions : build_slice(b, e->positions, 0, i, i + 1), NULL, 0);
        ir_val which = i ? build_splat(b, IR_I32_T, NULL, 0, (double)i) : zero;
        ir_val one = e->B == 1 ? x : build_slice(b, x, 0, i, i + 1);
        cache = build_update(b, cache, one, (ir_val[]){which, zero, at, zero});
    }
    return cache;
}

/* Softmax along the last dimension of [B, Hk, G, T, C]; one division for each row. */
static ir_val softmax(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    const int64_t map[] = {0, 1, 2, 3};
    ir_val most = build_broadcast_like(b, build_reduce(b, IR_MAXIMUM, x, 4), x, map);
    ir_val p = build_unary(b, IR_EXPONENTIAL, build_binary(b, IR_SUBTRACT, x, most));
    ir_val share = build_reciprocal(b, build_reduce(b, IR_ADD, p, 4));
    return build_binary(b, IR_MULTIPLY, p, build_broadcast_like(b, share, x, map));
}

/* q [B, T, H, D], keys and values [B, Hk, C, D]; returns [N, H D]. */
static ir_val attend(struct emit *e, ir_val q, ir_val keys, ir_val values, int which) {
    struct build *b = &e->b;
    enum ir_dtype type = e->type == IR_F32_T ? IR_F32_T : e->model->cache;
    q = reshape(e, build_scale(b, q, e->c->attn_scale), DIMS(e->B, e->T, e->Hk, e->G, e->D));
    q = build_transpose(b, q, (int64_t[]){0, 2, 3, 1, 4});
    q = build_convert(b, reshape(e, q, DIMS(e->B, e->Hk, e->G * e->T, e->D)), type);
    ir_val s = build_dot(b, q, build_convert(b, keys, type), 2, 3, 3, IR_F32_T); /* [B, Hk, G T, C] */
    s = capped(e, reshape(e, s, DIMS(e->B, e->Hk, e->G, e->T, e->C)), e->c->attn_cap);
    const struct ir_type_data *t = build_type(b, s);
    ir_val seen = build_broadcast(b, e->mask[which], t->dims, t->rank, (int64_t[]){0, 3, 4});
    s = build_select(b, seen, s, build_splat(b, IR_F32_T, t->dims, t->rank, -1e30));
    ir_val p = build_convert(b, reshape(e, softmax(e, s), DIMS(e->B, e->Hk, e->G * e->T, e->C)), type);
    ir_val y = build_dot(b, p, build_convert(b, values, type), 2, 3, 2, IR_F32_T); /* [B, Hk, G T, D] */
    y = build_transpose(b, reshape(e, y, DIMS(e->B, e->Hk, e->G, e->T, e->D)), (int64_t[]){0, 3, 1, 2, 4});
    return reshape(e, y, DIMS(e->N, e->H * e->D));
}

static ir_val attention(struct emit *e, ir_val x, int64_t layer) {
    int which = e->c->sliding[layer];
    ir_val q = linear(e, x, LLM_W_Q, LLM_W_Q_BIAS, layer), k = linear(e, x, LLM_W_K, LLM_W_K_BIAS, layer);
    if (e->c->qk_norm_wide) {
        q = norm(e, q, LLM_W_Q_WIDE, layer);
        k = norm(e, k, LLM_W_K_WIDE, layer);
    }
    q = reshape(e, q, DIMS(e->B, e->T, e->H, e->D));
    k = reshape(e, k, DIMS(e->B, e->T, e->Hk, e->D));
    ir_val v = reshape(e, linear(e, x, LLM_W_V, LLM_W_V_BIAS, layer), DIMS(e->B, e->T, e->Hk, e->D));
    if (e->c->qk_norm) {
        q = norm(e, q, LLM_W_Q_NORM, layer);
        k = norm(e, k, LLM_W_K_NORM, layer);
    }
    if (!e->c->unrotated[layer]) {
        q = rotate(e, q, which);
        k = rotate(e, k, which);
    }
    ir_val keys = e->fresh[2 * layer] = remember(e, e->cache[2 * layer], k);
    ir_val values = e->fresh[2 * layer + 1] = remember(e, e->cache[2 * layer + 1], v);
    ir_val y = attend(e, q, keys, values, which);
    return linear(e, y, LLM_W_O, LLM_W_O_BIAS, layer);
}

/* ---- the model ------------------------------------------------------------------------------- */

static ir_val mlp(struct emit *e, ir_val x, int64_t layer) {
    ir_val gate = activation(e, linear(e, x, LLM_W_GATE, LLM_W_GATE_BIAS, layer));
    ir_val up = linear(e, x, LLM_W_UP, LLM_W_UP_BIAS, layer);
    return linear(e, build_binary(&e->b, IR_MULTIPLY, gate, up), LLM_W_DOWN, LLM_W_DOWN_BIAS, layer);
}

/* i32[n]: the index of the first maximum. Two reductions, which any compiler fuses, instead of one over pairs. */
static ir_val greatest(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    ir_val most = build_broadcast_like(b, build_reduce(b, IR_MAXIMUM, x, 1), x, (int64_t[]){0});
    ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, x, most);
    ir_val index = build_iota(b, IR_I32_T, t->dims, 2, 1);
    ir_val none = build_splat(b, IR_I32_T, t->dims, 2, (double)(t->dims[1] - 1));
    return build_reduce(b, IR_MINIMUM, build_select(b, is, index, none), 1);
}

/* ---- experts --------------------------------------------------------------------------------- */

/* With more tokens than this, all experts are computed for all of them; else those that a token chose: no others are read. */
enum { FEW_TOKENS = 4 };

/* i32[n] and f32[n] for each of the chosen experts of a token: the index, and the weight. */
static void choose_experts(struct emit *e, ir_val x, int64_t layer, ir_val *which, ir_val *share) {
    struct build *b = &e->b;
    ir_val p = product(e, x, weight(e, LLM_W_ROUTER, layer)), sum = {0};
    const struct ir_type_data *t = build_type(b, p);
    int64_t dims[] = {t->dims[0], t->dims[1]}, map[] = {0};
    ir_val most = build_broadcast_like(b, build_reduce(b, IR_MAXIMUM, p, 1), p, map);
    p = build_unary(b, IR_EXPONENTIAL, build_binary(b, IR_SUBTRACT, p, most));
    p = build_binary(b, IR_DIVIDE, p, build_broadcast_like(b, build_reduce(b, IR_ADD, p, 1), p, map));
    ir_val column = build_iota(b, IR_I32_T, dims, 2, 1), taken = build_splat(b, IR_F32_T, dims, 2, -1);
    for (int64_t i = 0; i < e->c->chosen; i++) {
        which[i] = greatest(e, p);
        share[i] = build_reduce(b, IR_MAXIMUM, p, 1);
        sum = i ? build_binary(b, IR_ADD, sum, share[i]) : share[i];
        ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, column, build_broadcast(b, which[i], dims, 2, map));
        p = build_select(b, is, taken, p);
    }
    for (int64_t i = 0; i < e->c->chosen && e->c->chosen_sum; i++)
        share[i] = build_binary(b, IR_DIVIDE, share[i], sum);
}

/* x f32[1, cols] times the transposed matrix of the expert with the i32 scalar index. */
static ir_val expert_product(struct emit *e, ir_val x, enum llm_role role, int64_t layer, ir_val index) {
    struct build *b = &e->b;
    struct llm_weight w = *weight(e, role, layer);
    w.rows /= e->c->experts;
    ir_val parts[3] = {{0}}, first = build_binary(b, IR_MULTIPLY, index, build_splat(b, IR_I32_T, NULL, 0, (double)w.rows));
    for (uint32_t k = 0; k < w.nparams; k++)
        parts[k] = build_rows_at(b, part(e, &w, (enum llm_part)k), first, w.rows);
    return product_of(b, x, &w, parts, e->model->decode);
}

static ir_val chosen_experts(struct emit *e, ir_val x, int64_t layer, const ir_val *which, const ir_val *share) {
    struct build *b = &e->b;
    ir_val out = {0};
    for (int64_t n = 0; n < e->N; n++) {
        ir_val row = e->N == 1 ? x : build_slice(b, x, 0, n, n + 1), sum = {0};
        for (int64_t i = 0; i < e->c->chosen; i++) {
            ir_val index = reshape(e, e->N == 1 ? which[i] : build_slice(b, which[i], 0, n, n + 1), 0, NULL);
            ir_val by = e->N == 1 ? share[i] : build_slice(b, share[i], 0, n, n + 1);
            ir_val h = activation(e, expert_product(e, row, LLM_W_GATES, layer, index));
            h = build_binary(b, IR_MULTIPLY, h, expert_product(e, row, LLM_W_UPS, layer, index));
            ir_val y = expert_product(e, h, LLM_W_DOWNS, layer, index);
            y = build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, by, y, (int64_t[]){0}));
            sum = i ? build_binary(b, IR_ADD, sum, y) : y;
        }
        out = n ? build_concat(b, out, sum, 0) : sum;
    }
    return out;
}

/* The inner values of the experts that a token did not choose are multiplied by 0. */
static ir_val all_experts(struct emit *e, ir_val x, int64_t layer, const ir_val *which, const ir_val *share) {
    struct build *b = &e->b;
    int64_t E = e->c->experts, F = e->c->expert_ffn, hidden = e->c->hidden, dims[] = {e->N, E}, map[] = {0};
    ir_val column = build_iota(b, IR_I32_T, dims, 2, 1), by = build_splat(b, IR_F32_T, dims, 2, 0);
    for (int64_t i = 0; i < e->c->chosen; i++) {
        ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, column, build_broadcast(b, which[i], dims, 2, map));
        by = build_select(b, is, build_broadcast(b, share[i], dims, 2, map), by);
    }
    ir_val h = activation(e, product(e, x, weight(e, LLM_W_GATES, layer)));
    h = build_binary(b, IR_MULTIPLY, h, product(e, x, weight(e, LLM_W_UPS, layer)));
    h = reshape(e, h, DIMS(e->N, E, F));
    h = build_binary(b, IR_MULTIPLY, h, build_broadcast_like(b, by, h, (int64_t[]){0, 1}));
    const struct llm_weight *w = weight(e, LLM_W_DOWNS, layer);
    ir_val parts[] = {part(e, w, LLM_VALUES), part(e, w, LLM_SCALES), part(e, w, LLM_OFFSETS)};
    ir_val m = build_convert(b, w->bits ? product_dequantise(b, w, parts) : parts[0], e->type);
    h = build_transpose(b, build_convert(b, h, e->type), (int64_t[]){1, 0, 2}); /* [E, N, F] */
    ir_val y = build_dot(b, h, reshape(e, m, DIMS(E, hidden, F)), 1, 2, 2, IR_F32_T);
    return build_reduce(b, IR_ADD, y, 0);
}

static ir_val mixture(struct emit *e, ir_val x, int64_t layer) {
    ir_val which[LLM_MAX_CHOSEN], share[LLM_MAX_CHOSEN];
    choose_experts(e, x, layer, which, share);
    return e->N <= FEW_TOKENS ? chosen_experts(e, x, layer, which, share) : all_experts(e, x, layer, which, share);
}

static ir_val decoder_layer(struct emit *e, ir_val x, int64_t layer) {
    bool pre = e->c->pre_norms, post = e->c->post_norms;
    ir_val y = attention(e, pre ? norm(e, x, LLM_W_ATTN_NORM, layer) : x, layer);
    y = build_scale(&e->b, post ? norm(e, y, LLM_W_POST_ATTN, layer) : y, e->c->residual_scale);
    x = build_binary(&e->b, IR_ADD, x, y);
    ir_val h = pre ? norm(e, x, post ? LLM_W_PRE_FFN : LLM_W_FFN_NORM, layer) : x;
    y = e->c->experts ? mixture(e, h, layer) : mlp(e, h, layer);
    y = build_scale(&e->b, post ? norm(e, y, LLM_W_POST_FFN, layer) : y, e->c->residual_scale);
    return build_binary(&e->b, IR_ADD, x, y);
}

/* f32[n, vocabulary] of f32[n, hidden] */
static ir_val logits(struct emit *e, ir_val x) {
    x = norm(e, x, LLM_W_NORM, 0);
    x = build_scale(&e->b, product(e, x, weight(e, e->c->tied ? LLM_W_EMBED : LLM_W_HEAD, 0)), e->c->logit_scale);
    return capped(e, x, e->c->final_cap);
}

/* The last valid row of each sequence in x [N, hidden]: [B, hidden]. */
static ir_val last_rows(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    if (e->T == 1)
        return x;
    int64_t dims[] = {e->B};
    ir_val at = build_binary(b, IR_SUBTRACT, e->lengths, build_splat(b, IR_I32_T, dims, 1, 1));
    if (e->B > 1)
        at = build_binary(b, IR_ADD, at, build_binary(b, IR_MULTIPLY, build_iota(b, IR_I32_T, dims, 1, 0),
                                                      build_splat(b, IR_I32_T, dims, 1, (double)e->T)));
    return build_rows(b, x, at);
}

/* log(sum(exp(x))) - x[target], of each row: f32[B, T]. */
static ir_val scores(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    const int64_t map[] = {0};
    ir_val most = build_reduce(b, IR_MAXIMUM, x, 1);
    ir_val shifted = build_binary(b, IR_SUBTRACT, x, build_broadcast_like(b, most, x, map));
    ir_val sum = build_unary(b, IR_LOG, build_reduce(b, IR_ADD, build_unary(b, IR_EXPONENTIAL, shifted), 1));
    ir_val wanted = build_broadcast(b, reshape(e, e->targets, DIMS(e->N)), t->dims, 2, map);
    ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, build_iota(b, IR_I32_T, t->dims, 2, 1), wanted);
    ir_val zero = build_splat(b, IR_F32_T, t->dims, 2, 0);
    ir_val got = build_reduce(b, IR_ADD, build_select(b, is, shifted, zero), 1);
    return reshape(e, build_binary(b, IR_SUBTRACT, sum, got), DIMS(e->B, e->T));
}

/* Results 0 and 1; the cache is in e->fresh. */
static void forward(struct emit *e, ir_val out[2]) {
    struct build *b = &e->b;
    bool decode = e->g->kind == LLM_DECODE;
    prepare_positions(e);
    ir_val x = embedding(e, reshape(e, e->tokens, DIMS(e->N)));
    for (int64_t i = 0; i < e->c->layers; i++)
        x = decoder_layer(e, x, i);
    if (e->g->kind == LLM_SCORE) {
        out[0] = scores(e, logits(e, x));
    } else {
        ir_val y = logits(e, last_rows(e, x));
        out[0] = e->g->sample ? greatest(e, y) : y;
    }
    out[1] = build_binary(b, IR_ADD, e->positions, decode ? build_splat(b, IR_I32_T, &e->B, 1, 1) : e->lengths);
}

/* ---- the function ---------------------------------------------------------------------------- */

struct signature {
    struct ir_module *m;
    ir_block body;
    ir_attr *attrs;
    ir_type *types;
    ir_val *args;
    uint32_t n;
};

/* Adds an argument; `alias` is the result that takes its memory, -1 for none. */
static ir_val argument(struct signature *s, const char *name, ir_type type, int64_t alias) {
    struct ir_module *m = s->m;
    ir_str names[2] = {ir_str_of(m, STR("jax.arg_info")), ir_str_of(m, STR("tf.aliasing_output"))};
    ir_attr attrs[2] = {ir_attr_string(m, str_of(name)), ir_attr_int(m, ir_type_scalar(m, IR_I32_T), alias)};
    s->attrs[s->n] = ir_attr_dict(m, names, attrs, alias < 0 ? 1 : 2);
    s->types[s->n] = type;
    return s->args[s->n++] = ir_block_add_arg(m, s->body, type);
}

uint32_t llm_graph_inputs(const struct llm_graph *g) {
    static const uint32_t n[] = {[LLM_PREFILL] = 3, [LLM_DECODE] = 2, [LLM_SCORE] = 4, [LLM_GROW] = 0};
    return n[g->kind];
}

static void inputs(struct emit *e, struct signature *s) {
    struct ir_module *m = s->m;
    bool decode = e->g->kind == LLM_DECODE;
    ir_type each = ir_type_of(m, IR_I32_T, &e->B, 1), all = ir_type_of(m, IR_I32_T, (int64_t[]){e->B, e->T}, 2);
    e->tokens = argument(s, "tokens", decode ? each : all, decode && e->g->sample ? 0 : -1);
    e->positions = argument(s, "positions", each, 1);
    if (!decode)
        e->lengths = argument(s, "lengths", each, -1);
    if (e->g->kind == LLM_SCORE)
        e->targets = argument(s, "targets", all, -1);
}

static void arguments(struct emit *e, struct signature *s) {
    struct ir_module *m = s->m;
    const struct llm_model *model = e->model;
    bool grow = e->g->kind == LLM_GROW;
    char name[32];
    if (!grow)
        inputs(e, s);
    e->params = s->args + s->n;
    for (size_t i = 0; i < model->nparams && !grow; i++) {
        const struct llm_param *p = &model->params[i];
        argument(s, p->name.p, ir_type_of(m, p->dtype, p->dims, p->rank), -1);
    }
    e->cache = s->args + s->n;
    ir_type cache = ir_type_of(m, model->cache, (int64_t[]){e->B, e->Hk, e->C, e->D}, 4);
    if (grow)
        argument(s, "cache", cache, -1);
    for (int64_t i = 0; i < 2 * e->c->layers && !grow; i++) {
        snprintf(name, sizeof name, "%s.%lld", i % 2 ? "values" : "keys", (long long)(i / 2));
        argument(s, name, cache, 2 + i);
    }
}

static void emit_main(struct emit *e, struct ir_module *m) {
    size_t most = LLM_MAX_INPUTS + e->model->nparams + 2 * (size_t)e->c->layers;
    uint32_t ncache = 2 * (uint32_t)e->c->layers, nout = 0;
    struct arena *a = &m->arena;
    struct signature s = {.m = m, .attrs = ARENA_ARRAY(a, ir_attr, most), .types = ARENA_ARRAY(a, ir_type, most),
                          .args = ARENA_ARRAY(a, ir_val, most)};
    ir_val *out = ARENA_ARRAY(a, ir_val, 2 + ncache);
    ir_type *types = ARENA_ARRAY(a, ir_type, 2 + ncache);
    ir_op func = ir_op_new(m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_append(m, ir_module_body(m), func);
    e->b = (struct build){m, s.body = ir_block_new(m, ir_op_region(m, func, 0))};
    arguments(e, &s);
    if (e->g->kind == LLM_GROW) {
        out[nout++] = build_pad(&e->b, e->cache[0], 2, e->g->grown);
    } else {
        e->fresh = out + 2;
        forward(e, out);
        nout = 2 + ncache;
    }
    for (uint32_t i = 0; i < nout; i++)
        types[i] = ir_val_get(m, out[i])->type;
    ir_append(m, s.body, ir_op_new(m, IR_FUNC_RETURN, out, nout, NULL, 0, 0));
    ir_set_prop(m, func, IR_FUNC_sym_name, ir_attr_string(m, STR("main")));
    ir_set_prop(m, func, IR_FUNC_sym_visibility, ir_attr_string(m, STR("public")));
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, ir_type_function(m, s.types, s.n, types, nout)));
    ir_set_prop(m, func, IR_FUNC_arg_attrs, ir_attr_array(m, s.attrs, s.n));
}

hilo_status llm_emit(const struct llm_model *model, const struct llm_graph *g, struct ir_module *m, struct diag_list *d) {
    static const char *const names[] = {[LLM_PREFILL] = "prefill", [LLM_DECODE] = "decode", [LLM_SCORE] = "score",
                                        [LLM_GROW] = "grow"};
    const struct llm_config *c = &model->config;
    struct emit e = {.model = model, .c = c, .g = g, .B = g->batch, .T = g->kind == LLM_DECODE ? 1 : g->tokens, .H = c->heads,
                     .Hk = c->kv_heads, .G = c->heads / c->kv_heads, .D = c->head_dim, .C = g->context};
    if (g->batch < 1 || e.T < 1 || g->context < e.T || (g->kind == LLM_GROW && g->grown < g->context) ||
        g->context > INT32_MAX || g->batch > INT32_MAX / g->context)
        return diag_error(d, HILO_INVALID_ARGUMENT, "no program for a batch of %lld, %lld tokens, a context of %lld",
                          (long long)g->batch, (long long)e.T, (long long)g->context);
    e.N = e.B * e.T;
    e.type = g->kind == LLM_DECODE ? model->decode : model->prefill;
    char name[64];
    int n = snprintf(name, sizeof name, "%s_%s", c->family, names[g->kind]);
    m->name = (struct str){arena_dup(&m->arena, name, (size_t)n, 1), (size_t)n};
    ir_set_prop(m, m->root, IR_MODULE_sym_name, ir_attr_string(m, m->name));
    emit_main(&e, m);
    return ir_verify(m, d);
}
