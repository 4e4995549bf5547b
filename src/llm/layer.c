/* Layers: see layer.h. */
#include "llm/layer.h"

#include <math.h>

ir_val layer_reshape(struct emit *e, ir_val x, uint32_t rank, const int64_t *dims) {
    return build_reshape(&e->b, x, dims, rank);
}

/* ---- weights --------------------------------------------------------------------------------- */

const struct llm_weight *layer_weight(const struct emit *e, enum llm_role role, int64_t layer) {
    return llm_model_weight(e->model, role, layer);
}

ir_val layer_part(const struct emit *e, const struct llm_weight *w, enum llm_part part) {
    for (uint32_t i = w->first; i < w->first + w->nparams; i++)
        if (e->model->params[i].part == part)
            return e->params[i];
    return (ir_val){0};
}

ir_val layer_sum(struct emit *e, ir_val x) {
    int64_t count = e->model->shard.count;
    return count > 1 ? build_all_reduce(&e->b, x, count) : x;
}

ir_val layer_product(struct emit *e, ir_val x, const struct llm_weight *w) {
    ir_val parts[LLM_PARTS];
    for (int i = 0; i < LLM_PARTS; i++)
        parts[i] = layer_part(e, w, (enum llm_part)i);
    enum ir_dtype type = layer_decodes(e) || build_type(&e->b, x)->dims[0] == e->B ? e->model->decode : e->type;
    return product_of(&e->b, x, e->model, w, parts, type, true);
}

ir_val layer_vector(struct emit *e, ir_val v, ir_val like) {
    v = build_convert(&e->b, v, IR_F32_T);
    return build_broadcast_like(&e->b, v, like, (int64_t[]){(int64_t)build_type(&e->b, like)->rank - 1});
}

static ir_val vector(struct emit *e, const struct llm_weight *w, ir_val like) {
    return layer_vector(e, layer_part(e, w, LLM_VALUES), like);
}

ir_val layer_linear(struct emit *e, ir_val x, enum llm_role role, enum llm_role bias, int64_t layer) {
    ir_val y = layer_product(e, x, layer_weight(e, role, layer));
    const struct llm_weight *w = layer_weight(e, bias, layer);
    return w ? build_binary(&e->b, IR_ADD, y, vector(e, w, y)) : y;
}

ir_val layer_rows(struct emit *e, const struct llm_weight *w, ir_val ids, double scale) {
    struct build *b = &e->b;
    ir_val parts[LLM_PARTS];
    for (int i = 0; i < LLM_PARTS; i++) {
        parts[i] = layer_part(e, w, (enum llm_part)i);
        if (parts[i].i)
            parts[i] = build_rows(b, parts[i], ids);
    }
    ir_val x = w->bits ? product_dequantise(b, w, parts) : parts[LLM_VALUES];
    return build_scale(b, build_convert(b, x, IR_F32_T), scale);
}

/* The embeddings of tokens. Where each shard has some of them, the others give zeros. */
static ir_val token_rows(struct emit *e, const struct llm_weight *w, ir_val ids) {
    struct build *b = &e->b;
    if (w->rows == e->c->vocab)
        return layer_rows(e, w, ids, e->c->embed_scale);
    ir_val first = build_scale(b, build_partition(b), (double)w->rows);
    ids = build_binary(b, IR_SUBTRACT, ids, build_broadcast_like(b, first, ids, NULL));
    const struct ir_type_data *t = build_type(b, ids);
    ir_val end = build_splat(b, IR_I32_T, t->dims, 1, (double)w->rows), zero = build_splat(b, IR_I32_T, t->dims, 1, 0);
    ir_val here = build_binary(b, IR_AND, build_compare(b, IR_COMPARISON_DIRECTION_GE, ids, zero),
                               build_compare(b, IR_COMPARISON_DIRECTION_LT, ids, end));
    ids = build_select(b, here, ids, zero);
    ir_val x = layer_rows(e, w, ids, e->c->embed_scale);
    t = build_type(b, x);
    here = build_broadcast(b, here, t->dims, 2, (int64_t[]){0});
    return layer_sum(e, build_select(b, here, x, build_splat(b, IR_F32_T, t->dims, 2, 0)));
}

ir_val layer_embedding(struct emit *e, ir_val ids) {
    struct build *b = &e->b;
    ir_val x = token_rows(e, layer_weight(e, LLM_W_EMBED, 0), ids);
    const struct llm_weight *types = layer_weight(e, LLM_W_TYPES, 0), *places = layer_weight(e, LLM_W_PLACES, 0);
    if (types) {
        ir_val first = build_slice(b, layer_part(e, types, LLM_VALUES), 0, 0, 1);
        x = build_binary(b, IR_ADD, x, layer_vector(e, layer_reshape(e, first, DIMS(e->c->hidden)), x));
    }
    if (places) {
        const int64_t map[] = {1, 2}, dims[] = {e->B, e->T, e->c->hidden}, from = e->c->offset;
        ir_val rows = build_convert(b, build_slice(b, layer_part(e, places, LLM_VALUES), 0, from, from + e->T), IR_F32_T);
        rows = layer_reshape(e, build_broadcast(b, rows, dims, 3, map), DIMS(e->N, e->c->hidden));
        x = build_binary(b, IR_ADD, x, rows);
    }
    return e->c->sum_norms ? layer_norm(e, x, LLM_W_START, 0) : x;
}

/* ---- norms and activations ------------------------------------------------------------------- */

ir_val layer_unit(struct emit *e, ir_val x, int64_t shards) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    int64_t last = (int64_t)t->rank - 1, n = shards * t->dims[last], map[IR_MAX_RANK];
    for (int64_t i = 0; i < last; i++)
        map[i] = i;
    ir_val sum = build_reduce(b, IR_ADD, build_binary(b, IR_MULTIPLY, x, x), last);
    sum = shards > 1 ? layer_sum(e, sum) : sum;
    const struct ir_type_data *s = build_type(b, sum);
    ir_val mean = build_scale(b, sum, 1 / (double)n);
    ir_val eps = build_splat(b, IR_F32_T, s->dims, s->rank, e->c->norm_eps);
    ir_val r = build_unary(b, IR_RSQRT, build_binary(b, IR_ADD, mean, eps));
    return build_binary(b, IR_MULTIPLY, x, build_broadcast_like(b, r, x, map));
}

ir_val layer_norm(struct emit *e, ir_val x, enum llm_role role, int64_t layer) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    int64_t last = (int64_t)t->rank - 1, n = t->dims[last], map[IR_MAX_RANK];
    for (int64_t i = 0; i < last; i++)
        map[i] = i;
    if (e->c->layer_norm) {
        ir_val mean = build_scale(b, build_reduce(b, IR_ADD, x, last), 1 / (double)n);
        x = build_binary(b, IR_SUBTRACT, x, build_broadcast_like(b, mean, x, map));
    }
    bool wide = role == LLM_W_Q_WIDE || role == LLM_W_K_WIDE;
    ir_val y = layer_unit(e, x, wide ? e->model->shard.count : 1);
    ir_val w = vector(e, layer_weight(e, role, layer), x);
    if (e->c->norm_plus_one)
        w = build_binary(b, IR_ADD, w, build_splat(b, IR_F32_T, t->dims, t->rank, 1));
    y = build_binary(b, IR_MULTIPLY, y, w);
    return e->c->layer_norm ? build_binary(b, IR_ADD, y, vector(e, layer_weight(e, role + 1, layer), y)) : y;
}

/* tanh(x / cap) * cap; x itself for 0 */
ir_val layer_capped(struct emit *e, ir_val x, double cap) {
    if (cap == 0)
        return x;
    return build_scale(&e->b, build_unary(&e->b, IR_TANH, build_scale(&e->b, x, 1 / cap)), cap);
}

ir_val layer_activation(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    if (e->c->activation == LLM_SILU)
        return build_binary(b, IR_MULTIPLY, x, build_unary(b, IR_LOGISTIC, x));
    /* x / 2 * (1 + erf(x / sqrt(2))), or x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x³))) */
    const struct ir_type_data *t = build_type(b, x);
    ir_val y;
    if (e->c->activation == LLM_GELU) {
        y = build_unary(b, IR_ERF, build_scale(b, x, 0.70710678118654752440));
    } else {
        ir_val cube = build_scale(b, build_binary(b, IR_MULTIPLY, build_binary(b, IR_MULTIPLY, x, x), x), 0.044715);
        y = build_unary(b, IR_TANH, build_scale(b, build_binary(b, IR_ADD, x, cube), 0.79788456080286535588));
    }
    ir_val one = build_splat(b, IR_F32_T, t->dims, t->rank, 1);
    return build_binary(b, IR_MULTIPLY, build_scale(b, x, 0.5), build_binary(b, IR_ADD, one, y));
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
    int64_t n = rope->dim / 2, dims[] = {e->B, e->T, n};
    ir_val v[2];
    for (int k = 0; k < 2; k++) {
        llm_rope_frequencies(rope, k, f[k]);
        if (k && memcmp(f[0], f[1], (size_t)n * sizeof **f) == 0)
            return v[0];
        v[k] = build_broadcast(b, build_vector(b, f[k], n), dims, 3, (int64_t[]){2});
    }
    ir_val length;
    if (layer_decodes(e))
        length = build_binary(b, IR_ADD, places(e), build_splat(b, IR_I32_T, dims, 2, 1));
    else
        length = build_broadcast(b, build_binary(b, IR_ADD, e->positions, e->lengths), dims, 2, (int64_t[]){0});
    ir_val most = build_splat(b, IR_I32_T, dims, 2, rope->original);
    ir_val lengthy = build_compare(b, IR_COMPARISON_DIRECTION_GT, length, most);
    return build_select(b, build_broadcast(b, lengthy, dims, 3, (int64_t[]){0, 1}), v[1], v[0]);
}

static void rotary(struct emit *e, ir_val at, const struct llm_rope *rope, int which) {
    struct build *b = &e->b;
    int64_t dims[] = {e->B, e->T, rope->dim / 2};
    ir_val p = build_broadcast(b, build_convert(b, at, IR_F32_T), dims, 3, (int64_t[]){0, 1});
    ir_val angle = build_binary(b, IR_MULTIPLY, p, frequencies_of(e, rope));
    e->rope_cos[which] = build_scale(b, build_unary(b, IR_COSINE, angle), rope->amplitude);
    e->rope_sin[which] = build_scale(b, build_unary(b, IR_SINE, angle), rope->amplitude);
}

/* i32[B, T, R]: the position that an entry of the ring belongs to, the last one not after this program's tokens; negative if
   none has been written. */
static ir_val ring_positions(struct emit *e, const int64_t dims[3]) {
    struct build *b = &e->b;
    ir_val last = build_binary(b, IR_ADD, e->positions, build_splat(b, IR_I32_T, &e->B, 1, (double)e->T - 1));
    ir_val end = build_broadcast(b, last, dims, 3, (int64_t[]){0}), ring = build_splat(b, IR_I32_T, dims, 3, (double)dims[2]);
    ir_val ago = build_binary(b, IR_SUBTRACT, build_binary(b, IR_ADD, end, ring), build_iota(b, IR_I32_T, dims, 3, 2));
    return build_binary(b, IR_SUBTRACT, end, build_binary(b, IR_REMAINDER, ago, ring));
}

void layer_positions(struct emit *e) {
    struct build *b = &e->b;
    int64_t dims[] = {e->B, e->T, e->C};
    ir_val at = places(e), row = build_broadcast(b, at, dims, 3, (int64_t[]){0, 1});
    ir_val col = build_iota(b, IR_I32_T, dims, 3, 2);
    rotary(e, at, &e->c->rope, 0);
    if (e->c->query_growth != 0) {
        ir_val steps = build_scale(b, build_convert(b, at, IR_F32_T), 1 / e->c->rope.original);
        ir_val log = build_unary(b, IR_LOG_PLUS_ONE, build_unary(b, IR_FLOOR, steps));
        ir_val one = build_splat(b, IR_F32_T, dims, 2, 1);
        e->growth = build_binary(b, IR_ADD, one, build_scale(b, log, e->c->query_growth));
    }
    ir_val end = e->c->bidirectional ? build_broadcast(b, e->lengths, dims, 3, (int64_t[]){0}) : row;
    e->mask[0] = build_compare(b, e->c->bidirectional ? IR_COMPARISON_DIRECTION_LT : IR_COMPARISON_DIRECTION_LE, col, end);
    e->mask[1] = e->mask[0];
    e->rope_cos[1] = e->rope_cos[0];
    e->rope_sin[1] = e->rope_sin[0];
    if (e->c->window == 0)
        return;
    rotary(e, at, &e->c->local_rope, 1);
    ir_val seen = e->mask[0];
    dims[2] = e->g->kind == LLM_EMBED ? e->C : llm_ring(e->c, e->C);
    if (dims[2] < e->C) {
        row = build_broadcast(b, at, dims, 3, (int64_t[]){0, 1});
        col = ring_positions(e, dims);
        ir_val written = build_compare(b, IR_COMPARISON_DIRECTION_GE, col, build_splat(b, IR_I32_T, dims, 3, 0));
        seen = build_binary(b, IR_AND, build_compare(b, IR_COMPARISON_DIRECTION_LE, col, row), written);
    }
    ir_val window = build_splat(b, IR_I32_T, dims, 3, (double)e->c->window);
    ir_val distance = build_binary(b, IR_SUBTRACT, row, col);
    if (e->c->bidirectional)
        distance = build_unary(b, IR_ABS, distance);
    e->mask[1] = build_binary(b, IR_AND, seen, build_compare(b, IR_COMPARISON_DIRECTION_LT, distance, window));
}

/* Pairs (i, i + R / 2) of x [B, T, heads, D] rotated by their angles, for the first R = rotary numbers of a head. */
static ir_val rotate(struct emit *e, ir_val x, int which) {
    struct build *b = &e->b;
    int64_t half = build_type(b, e->rope_cos[which])->dims[2], R = 2 * half, map[] = {0, 1, 3};
    ir_val p = build_slice(b, x, 3, 0, half), q = build_slice(b, x, 3, half, R);
    ir_val cos = build_broadcast_like(b, e->rope_cos[which], p, map), sin = build_broadcast_like(b, e->rope_sin[which], p, map);
    ir_val low = build_binary(b, IR_SUBTRACT, build_binary(b, IR_MULTIPLY, p, cos), build_binary(b, IR_MULTIPLY, q, sin));
    ir_val high = build_binary(b, IR_ADD, build_binary(b, IR_MULTIPLY, q, cos), build_binary(b, IR_MULTIPLY, p, sin));
    ir_val y = build_concat(b, low, high, 3);
    return R < e->D ? build_concat(b, y, build_slice(b, x, 3, R, e->D), 3) : y;
}

/* ---- attention ------------------------------------------------------------------------------- */

#define F8_MOST 448 /* the greatest number of f8E4M3FN */

/* Writes x [B, T, Hk, D] at the end of each sequence to an array of the cache, [B, Hk, C, D]; without a cache it is x. */
static void remember(struct emit *e, int64_t array, ir_val x) {
    struct build *b = &e->b;
    x = build_transpose(b, x, (int64_t[]){0, 2, 1, 3}); /* [B, Hk, T, D] */
    if (e->model->cache == IR_F8E4M3FN_T) { /* which has no infinity: greater numbers would become NaN */
        const struct ir_type_data *t = build_type(b, x);
        ir_val most = build_splat(b, IR_F32_T, t->dims, t->rank, F8_MOST);
        ir_val least = build_splat(b, IR_F32_T, t->dims, t->rank, -F8_MOST);
        x = build_binary(b, IR_MAXIMUM, build_binary(b, IR_MINIMUM, x, most), least);
    }
    x = build_convert(b, x, e->model->cache);
    if (e->g->kind == LLM_EMBED) {
        e->fresh[array] = x;
        return;
    }
    ir_val cache = e->cache[array], zero = build_splat(b, IR_I32_T, NULL, 0, 0);
    int64_t kept = build_type(b, cache)->dims[2];
    for (int64_t i = 0; i < e->B; i++) {
        ir_val at = build_reshape(b, e->B == 1 ? e->positions : build_slice(b, e->positions, 0, i, i + 1), NULL, 0);
        at = kept < e->C ? build_binary(b, IR_REMAINDER, at, build_splat(b, IR_I32_T, NULL, 0, (double)kept)) : at;
        ir_val which = i ? build_splat(b, IR_I32_T, NULL, 0, (double)i) : zero;
        ir_val one = e->B == 1 ? x : build_slice(b, x, 0, i, i + 1);
        cache = build_update(b, cache, one, (ir_val[]){which, zero, at, zero});
    }
    e->fresh[array] = cache;
}

/* Softmax along the last dimension of [B, Hk, G, T, C]; one division for each row. A sink is one more score of each row. */
static ir_val softmax(struct emit *e, ir_val x, int64_t layer) {
    struct build *b = &e->b;
    const int64_t map[] = {0, 1, 2, 3}, heads[] = {1, 2};
    ir_val most = build_reduce(b, IR_MAXIMUM, x, 4), sink = {0};
    if (e->c->sinks) {
        sink = build_convert(b, layer_part(e, layer_weight(e, LLM_W_SINKS, layer), LLM_VALUES), IR_F32_T);
        sink = build_broadcast_like(b, layer_reshape(e, sink, DIMS(e->Hk, e->G)), most, heads);
        most = build_binary(b, IR_MAXIMUM, most, sink);
    }
    ir_val p = build_unary(b, IR_EXPONENTIAL, build_binary(b, IR_SUBTRACT, x, build_broadcast_like(b, most, x, map)));
    ir_val sum = build_reduce(b, IR_ADD, p, 4);
    if (e->c->sinks)
        sum = build_binary(b, IR_ADD, sum, build_unary(b, IR_EXPONENTIAL, build_binary(b, IR_SUBTRACT, sink, most)));
    ir_val share = build_reciprocal(b, sum);
    return build_binary(b, IR_MULTIPLY, p, build_broadcast_like(b, share, x, map));
}

/* q [B, T, H, D], keys and values [B, Hk, C, D]; returns [N, H D]. */
static ir_val attend(struct emit *e, ir_val q, ir_val keys, ir_val values, int64_t layer) {
    struct build *b = &e->b;
    enum ir_dtype type = e->type;
    int64_t C = build_type(b, keys)->dims[2];
    q = layer_reshape(e, build_scale(b, q, e->c->attn_scale), DIMS(e->B, e->T, e->Hk, e->G, e->D));
    q = build_transpose(b, q, (int64_t[]){0, 2, 3, 1, 4});
    q = build_convert(b, layer_reshape(e, q, DIMS(e->B, e->Hk, e->G * e->T, e->D)), type);
    ir_val s = build_dot(b, q, build_convert(b, keys, type), 2, 3, 3, IR_F32_T); /* [B, Hk, G T, C] */
    s = layer_capped(e, layer_reshape(e, s, DIMS(e->B, e->Hk, e->G, e->T, C)), e->c->attn_cap);
    const struct ir_type_data *t = build_type(b, s);
    ir_val seen = build_broadcast(b, e->mask[e->c->layer[layer].sliding], t->dims, t->rank, (int64_t[]){0, 3, 4});
    s = build_select(b, seen, s, build_splat(b, IR_F32_T, t->dims, t->rank, -1e30));
    ir_val p = build_convert(b, layer_reshape(e, softmax(e, s, layer), DIMS(e->B, e->Hk, e->G * e->T, C)), type);
    ir_val y = build_dot(b, p, build_convert(b, values, type), 2, 3, 2, IR_F32_T); /* [B, Hk, G T, D] */
    y = build_transpose(b, layer_reshape(e, y, DIMS(e->B, e->Hk, e->G, e->T, e->D)), (int64_t[]){0, 3, 1, 2, 4});
    return layer_reshape(e, y, DIMS(e->N, e->H * e->D));
}

/* q [B, T, H, D] with the keys and values of the cache; returns [N, H D]. */
static ir_val attend_cached(struct emit *e, ir_val q, int64_t layer) {
    int64_t first = e->c->layer[layer].cache;
    return attend(e, q, e->fresh[first], e->fresh[first + 1], layer);
}

struct emit layer_alone(struct emit *e, int64_t i) {
    struct emit one = *e;
    one.B = 1;
    one.N = e->T;
    one.positions = build_slice(&e->b, e->positions, 0, i, i + 1);
    if (!IR_NONE(e->lengths))
        one.lengths = build_slice(&e->b, e->lengths, 0, i, i + 1);
    for (int which = 0; which < 2; which++)
        one.mask[which] = build_slice(&e->b, e->mask[which], 0, i, i + 1);
    one.cache = e->cache + e->c->arrays * i;
    one.fresh = e->fresh + e->c->arrays * i;
    return one;
}

/* The same for sequences with a cache each: every one as in a program of its own. */
static ir_val attend_apart(struct emit *e, ir_val q, int64_t layer) {
    ir_val y = {0};
    for (int64_t i = 0; i < e->B; i++) {
        struct emit one = layer_alone(e, i);
        ir_val row = attend_cached(&one, build_slice(&e->b, q, 0, i, i + 1), layer);
        y = i ? build_concat(&e->b, y, row, 0) : row;
    }
    return y;
}

/* The same for several tokens of a sequence, each as in a decode step. */
static ir_val attend_rows(struct emit *e, ir_val q, int64_t layer) {
    struct emit one = *e;
    ir_val y = {0};
    one.T = 1;
    one.N = e->B;
    for (int64_t i = 0; i < e->T; i++) {
        for (int which = 0; which < 2; which++)
            one.mask[which] = build_slice(&e->b, e->mask[which], 1, i, i + 1);
        ir_val row = attend_cached(&one, build_slice(&e->b, q, 1, i, i + 1), layer);
        row = layer_reshape(e, row, DIMS(e->B, 1, e->H * e->D));
        y = i ? build_concat(&e->b, y, row, 1) : row;
    }
    return layer_reshape(e, y, DIMS(e->N, e->H * e->D));
}

/* Queries f32[B, T, H, D] of x [N, hidden], and the gate of what they find, f32[N, H D], if there is one. */
static ir_val queries(struct emit *e, ir_val x, int64_t layer, ir_val *gate) {
    struct build *b = &e->b;
    ir_val q = layer_linear(e, x, LLM_W_Q, LLM_W_Q_BIAS, layer);
    if (e->c->gated_attention) {
        ir_val both = layer_reshape(e, q, DIMS(e->B, e->T, e->H, 2 * e->D));
        *gate = layer_reshape(e, build_slice(b, both, 3, e->D, 2 * e->D), DIMS(e->N, e->H * e->D));
        q = build_slice(b, both, 3, 0, e->D);
    }
    if (e->c->qk_norm_wide)
        q = layer_norm(e, q, LLM_W_Q_WIDE, layer);
    q = layer_reshape(e, q, DIMS(e->B, e->T, e->H, e->D));
    if (e->c->qk_norm)
        q = layer_norm(e, q, LLM_W_Q_NORM, layer);
    if (!e->c->layer[layer].unrotated)
        q = rotate(e, q, e->c->layer[layer].sliding);
    if (e->c->query_growth != 0)
        q = build_binary(b, IR_MULTIPLY, q, build_broadcast_like(b, e->growth, q, (int64_t[]){0, 1}));
    return q;
}

/* Writes the keys and values of x [N, hidden] to the cache, unless an earlier layer's are used. */
static void write_keys(struct emit *e, ir_val x, int64_t layer) {
    const struct llm_layer *at = &e->c->layer[layer];
    if (at->borrows)
        return;
    ir_val k = layer_linear(e, x, LLM_W_K, LLM_W_K_BIAS, layer);
    ir_val v = at->one_key_value ? k : layer_linear(e, x, LLM_W_V, LLM_W_V_BIAS, layer);
    if (e->c->qk_norm_wide)
        k = layer_norm(e, k, LLM_W_K_WIDE, layer);
    k = layer_reshape(e, k, DIMS(e->B, e->T, e->Hk, e->D));
    v = layer_reshape(e, v, DIMS(e->B, e->T, e->Hk, e->D));
    if (e->c->qk_norm)
        k = layer_norm(e, k, LLM_W_K_NORM, layer);
    k = at->unrotated ? k : rotate(e, k, at->sliding);
    v = e->c->v_norm ? layer_unit(e, v, 1) : v;
    for (int64_t i = 0; i < llm_graph_caches(e->g); i++) {
        struct emit one = e->g->apart ? layer_alone(e, i) : *e;
        remember(&one, at->cache, e->g->apart ? build_slice(&e->b, k, 0, i, i + 1) : k);
        remember(&one, at->cache + 1, e->g->apart ? build_slice(&e->b, v, 0, i, i + 1) : v);
    }
}

/* After write_keys: x [N, hidden] may be fewer tokens. */
static ir_val attention(struct emit *e, ir_val x, int64_t layer) {
    ir_val gate = {0}, q = queries(e, x, layer, &gate);
    ir_val y = (e->g->kind == LLM_VERIFY ? attend_rows : e->g->apart ? attend_apart : attend_cached)(e, q, layer);
    if (e->c->gated_attention)
        y = build_binary(&e->b, IR_MULTIPLY, y, build_unary(&e->b, IR_LOGISTIC, gate));
    return layer_sum(e, layer_linear(e, y, LLM_W_O, LLM_W_O_BIAS, layer));
}

/* ---- the model ------------------------------------------------------------------------------- */

ir_val layer_gated(struct emit *e, ir_val gate, ir_val up) {
    return build_binary(&e->b, IR_MULTIPLY, layer_activation(e, gate), up);
}

/* What of the gates is above their mean plus `spread` standard deviations; else 0. */
static ir_val sparse(struct emit *e, ir_val x, double spread) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    const int64_t map[] = {0};
    double one = 1 / (double)t->dims[1];
    ir_val mean = build_scale(b, build_reduce(b, IR_ADD, x, 1), one);
    ir_val rest = build_binary(b, IR_SUBTRACT, x, build_broadcast_like(b, mean, x, map));
    ir_val square = build_scale(b, build_reduce(b, IR_ADD, build_binary(b, IR_MULTIPLY, rest, rest), 1), one);
    ir_val least = build_scale(b, build_unary(b, IR_SQRT, square), spread);
    x = build_binary(b, IR_SUBTRACT, rest, build_broadcast_like(b, least, x, map));
    return build_binary(b, IR_MAXIMUM, x, build_splat(b, IR_F32_T, t->dims, 2, 0));
}

static ir_val mlp(struct emit *e, ir_val x, int64_t layer) {
    ir_val up = layer_linear(e, x, LLM_W_UP, LLM_W_UP_BIAS, layer), y;
    double spread = e->c->layer[layer].spread;
    if (e->c->ungated) {
        y = layer_activation(e, up);
    } else {
        ir_val gate = layer_linear(e, x, LLM_W_GATE, LLM_W_GATE_BIAS, layer);
        y = layer_gated(e, spread != 0 ? sparse(e, gate, spread) : gate, up);
    }
    return layer_sum(e, layer_linear(e, y, LLM_W_DOWN, LLM_W_DOWN_BIAS, layer));
}

/* i32[n]: the index of the first maximum. Two reductions, which any compiler fuses, instead of one over pairs. */
ir_val layer_greatest(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    ir_val most = build_broadcast_like(b, build_reduce(b, IR_MAXIMUM, x, 1), x, (int64_t[]){0});
    ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, x, most);
    ir_val index = build_iota(b, IR_I32_T, t->dims, 2, 1);
    ir_val none = build_splat(b, IR_I32_T, t->dims, 2, (double)(t->dims[1] - 1));
    return build_reduce(b, IR_MINIMUM, build_select(b, is, index, none), 1);
}

/* Experts beside the MLP, with norms of their own. */
static ir_val beside(struct emit *e, ir_val x, int64_t layer) {
    ir_val scale = layer_part(e, layer_weight(e, LLM_W_ROUTER_SCALE, layer), LLM_VALUES), unit = layer_unit(e, x, 1);
    unit = build_binary(&e->b, IR_MULTIPLY, unit, layer_vector(e, scale, x));
    unit = build_scale(&e->b, unit, 1 / sqrt((double)e->c->hidden));
    ir_val y = layer_mixture(e, layer_norm(e, x, LLM_W_PRE_EXPERTS, layer), unit, layer);
    return layer_norm(e, y, LLM_W_POST_EXPERTS, layer);
}

/* Whether what follows the keys and values of this layer is wanted of the last token of each sequence only: it is the last
   layer of a PREFILL that writes to the cache. */
static bool ends_cache(const struct emit *e, int64_t layer) {
    bool last = e->g->kind == LLM_PREFILL && e->T > 1 && !e->c->layer[layer].borrows;
    for (int64_t i = layer + 1; i < e->c->layers; i++)
        last = last && e->c->layer[i].borrows;
    return last;
}

static void keep_rows(struct emit *e, ir_val *x, ir_val at) {
    if (!IR_NONE(*x))
        *x = build_rows(&e->b, *x, at);
}

/* The program goes on with one token of each sequence, the last valid one, as a decode step has it. */
static void keep_last(struct emit *e, ir_val *x, ir_val *h, ir_val *y, ir_val predicted[LLM_MAX_STREAMS]) {
    struct build *b = &e->b;
    int64_t dims[] = {e->B};
    ir_val one = build_splat(b, IR_I32_T, dims, 1, 1), last = build_binary(b, IR_SUBTRACT, e->lengths, one), at = last;
    if (e->B > 1)
        at = build_binary(b, IR_ADD, at, build_scale(b, build_iota(b, IR_I32_T, dims, 1, 0), (double)e->T));
    keep_rows(e, x, at);
    keep_rows(e, h, at);
    keep_rows(e, y, at);
    keep_rows(e, &e->sides, at);
    for (int64_t i = 0; i < e->c->streams; i++) {
        keep_rows(e, &predicted[i], at);
        if (i)
            keep_rows(e, &e->stream[i], at);
    }
    e->positions = build_binary(b, IR_ADD, e->positions, last);
    e->lengths = one;
    e->T = 1;
    e->N = e->B;
    e->type = e->model->decode;
    layer_positions(e);
}

ir_val layer_run(struct emit *e, ir_val x, int64_t layer) {
    const struct llm_layer *at = &e->c->layer[layer];
    bool pre = e->c->pre_norms, post = e->c->post_norms;
    ir_val predicted[LLM_MAX_STREAMS], y = {0};
    e->Hk = at->kv_heads;
    e->D = at->head_dim;
    e->G = e->H / e->Hk;
    x = layer_predict(e, x, layer, predicted);
    ir_val h = pre ? layer_norm(e, x, LLM_W_ATTN_NORM, layer) : x;
    if (at->recurrent)
        y = layer_delta(e, h, layer);
    else
        write_keys(e, h, layer);
    if (ends_cache(e, layer))
        keep_last(e, &x, &h, &y, predicted);
    if (!at->recurrent)
        y = attention(e, h, layer);
    y = build_scale(&e->b, post ? layer_norm(e, y, LLM_W_POST_ATTN, layer) : y, e->c->residual_scale);
    x = build_binary(&e->b, IR_ADD, x, y);
    if (e->c->rank) /* both residuals are normalised together */
        x = build_scale(&e->b, build_binary(&e->b, IR_ADD, x, layer_laurel(e, h, layer)), 0.70710678118654752440);
    x = e->c->sum_norms ? layer_norm(e, x, LLM_W_ATTN_SUM, layer) : x;
    h = pre ? layer_norm(e, x, post ? LLM_W_PRE_FFN : LLM_W_FFN_NORM, layer) : x;
    if (e->c->parallel_experts)
        y = build_binary(&e->b, IR_ADD, layer_norm(e, mlp(e, h, layer), LLM_W_POST_MLP, layer), beside(e, x, layer));
    else
        y = e->c->experts ? layer_mixture(e, h, h, layer) : mlp(e, h, layer);
    y = build_scale(&e->b, post ? layer_norm(e, y, LLM_W_POST_FFN, layer) : y, e->c->residual_scale);
    x = build_binary(&e->b, IR_ADD, x, y);
    x = e->c->sum_norms ? layer_norm(e, x, LLM_W_FFN_SUM, layer) : x;
    return e->c->streams ? layer_correct(e, x, layer, predicted) : layer_add_side(e, x, layer);
}
