/* Layers with experts: see layer.h. */
#include "llm/layer.h"

/* Only the experts that a token chose are read. Up to FEW_TOKENS they are computed token by token; more are grouped by expert,
   in blocks of a power of two of rows. */
enum { FEW_TOKENS = 4, LEAST_BLOCK = 8, MOST_BLOCK = 128 };

/* The scale of each expert, in rows like p. */
static ir_val choice_scale(struct emit *e, ir_val p, int64_t layer) {
    return layer_vector(e, layer_part(e, layer_weight(e, LLM_W_CHOICE_SCALE, layer), LLM_VALUES), p);
}

/* i32[n] and f32[n] for each of the chosen experts of a token: the index, and the weight. */
static void choose_experts(struct emit *e, ir_val x, int64_t layer, ir_val *which, ir_val *share) {
    struct build *b = &e->b;
    ir_val p = layer_linear(e, x, LLM_W_ROUTER, LLM_W_ROUTER_BIAS, layer), sum = {0};
    const struct ir_type_data *t = build_type(b, p);
    int64_t dims[] = {t->dims[0], t->dims[1]}, map[] = {0};
    ir_val most = build_broadcast_like(b, build_reduce(b, IR_MAXIMUM, p, 1), p, map);
    p = build_unary(b, IR_EXPONENTIAL, build_binary(b, IR_SUBTRACT, p, most));
    p = build_binary(b, IR_DIVIDE, p, build_broadcast_like(b, build_reduce(b, IR_ADD, p, 1), p, map));
    ir_val column = build_iota(b, IR_I32_T, dims, 2, 1), taken = build_splat(b, IR_F32_T, dims, 2, -1);
    ir_val none = build_splat(b, IR_F32_T, dims, 2, 0), scale[LLM_MAX_CHOSEN];
    for (int64_t i = 0; i < e->c->chosen; i++) {
        which[i] = layer_greatest(e, p);
        share[i] = build_reduce(b, IR_MAXIMUM, p, 1);
        sum = i ? build_binary(b, IR_ADD, sum, share[i]) : share[i];
        ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, column, build_broadcast(b, which[i], dims, 2, map));
        p = build_select(b, is, taken, p);
        if (e->c->parallel_experts)
            scale[i] = build_reduce(b, IR_ADD, build_select(b, is, choice_scale(e, p, layer), none), 1);
    }
    for (int64_t i = 0; i < e->c->chosen && e->c->chosen_sum; i++)
        share[i] = build_binary(b, IR_DIVIDE, share[i], sum);
    for (int64_t i = 0; i < e->c->chosen && e->c->parallel_experts; i++)
        share[i] = build_binary(b, IR_MULTIPLY, share[i], scale[i]);
}

/* The activation of gates times ups; gpt-oss clamps both. */
static ir_val gated(struct emit *e, ir_val gate, ir_val up) {
    struct build *b = &e->b;
    if (e->c->glu_limit == 0)
        return layer_gated(e, gate, up);
    const struct ir_type_data *t = build_type(b, gate);
    ir_val most = build_splat(b, IR_F32_T, t->dims, t->rank, e->c->glu_limit);
    ir_val least = build_splat(b, IR_F32_T, t->dims, t->rank, -e->c->glu_limit);
    gate = build_binary(b, IR_MINIMUM, gate, most);
    up = build_binary(b, IR_MAXIMUM, build_binary(b, IR_MINIMUM, up, most), least);
    up = build_binary(b, IR_ADD, up, build_splat(b, IR_F32_T, t->dims, t->rank, 1));
    gate = build_binary(b, IR_MULTIPLY, gate, build_unary(b, IR_LOGISTIC, build_scale(b, gate, e->c->glu_alpha)));
    return build_binary(b, IR_MULTIPLY, up, gate);
}

/* x f32[n, cols] times the transposed matrix of the expert with the i32 scalar index, plus its bias. */
static ir_val expert_product(struct emit *e, ir_val x, enum llm_role role, int64_t layer, ir_val index,
                             enum ir_dtype type) {
    struct build *b = &e->b;
    struct llm_weight w = *layer_weight(e, role, layer);
    w.rows /= e->c->experts;
    ir_val parts[LLM_PARTS], first = build_binary(b, IR_MULTIPLY, index, build_splat(b, IR_I32_T, NULL, 0, (double)w.rows));
    for (int k = 0; k < LLM_PARTS; k++) {
        parts[k] = layer_part(e, &w, (enum llm_part)k);
        if (parts[k].i)
            parts[k] = build_rows_at(b, parts[k], first, w.rows);
    }
    /* Rows are not rounded: one that is the same for all experts would be made before their loop, as numbers of f32, and have
       other bits than one that is not. */
    ir_val y = product_of(b, x, e->model, &w, parts, type, false);
    if (!e->c->expert_bias)
        return y;
    const struct llm_weight *bias = layer_weight(e, role + 1, layer);
    ir_val all = layer_reshape(e, layer_part(e, bias, LLM_VALUES), DIMS(bias->rows, 1));
    all = layer_reshape(e, build_rows_at(b, all, first, w.rows), DIMS(w.rows));
    return build_binary(b, IR_ADD, y, layer_vector(e, all, y));
}

/* The inner values of an expert, f32[n, expert_ffn]. */
static ir_val inner(struct emit *e, ir_val x, int64_t layer, ir_val index, enum ir_dtype type) {
    int64_t F = e->c->expert_ffn;
    if (!e->c->joined_experts)
        return gated(e, expert_product(e, x, LLM_W_GATES, layer, index, type),
                     expert_product(e, x, LLM_W_UPS, layer, index, type));
    ir_val both = expert_product(e, x, LLM_W_GATES_UPS, layer, index, type);
    return gated(e, build_slice(&e->b, both, 1, 0, F), build_slice(&e->b, both, 1, F, 2 * F));
}

static ir_val chosen_experts(struct emit *e, ir_val x, int64_t layer, const ir_val *which, const ir_val *share) {
    struct build *b = &e->b;
    enum ir_dtype type = e->model->decode;
    ir_val out = {0};
    for (int64_t n = 0; n < e->N; n++) {
        ir_val row = e->N == 1 ? x : build_slice(b, x, 0, n, n + 1), sum = {0};
        for (int64_t i = 0; i < e->c->chosen; i++) {
            ir_val index = layer_reshape(e, e->N == 1 ? which[i] : build_slice(b, which[i], 0, n, n + 1), 0, NULL);
            ir_val by = e->N == 1 ? share[i] : build_slice(b, share[i], 0, n, n + 1);
            ir_val h = inner(e, row, layer, index, type);
            ir_val y = expert_product(e, h, LLM_W_DOWNS, layer, index, type);
            y = build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, by, y, (int64_t[]){0}));
            sum = i ? build_binary(b, IR_ADD, sum, y) : y;
        }
        out = n ? build_concat(b, out, sum, 0) : sum;
    }
    return out;
}

/* ---- many tokens ------------------------------------------------------------------------------ */

/* Tokens are grouped by expert: each choice of a token has a slot, those of one expert follow each other, and begin at a
   multiple of a block. A loop multiplies block after block, as many as there are, by the matrices of its expert. */
struct grouping {
    struct emit *e;
    ir_val x;
    int64_t layer, block, choices;
    ir_val slots;   /* i32[choices]: of the first choice of each token, then of the second … */
    ir_val ends;    /* i32[experts]: the end of an expert's blocks */
};

/* i1[rows, cols]: whether x[row] compares so with y[col]; either may be empty, for the index itself. */
static ir_val pairs(struct emit *e, enum ir_enum_case how, ir_val x, ir_val y, int64_t rows, int64_t cols) {
    struct build *b = &e->b;
    const int64_t dims[] = {rows, cols};
    x = IR_NONE(x) ? build_iota(b, IR_I32_T, dims, 2, 0) : build_broadcast(b, x, dims, 2, (int64_t[]){0});
    y = IR_NONE(y) ? build_iota(b, IR_I32_T, dims, 2, 1) : build_broadcast(b, y, dims, 2, (int64_t[]){1});
    return build_compare(b, how, x, y);
}

/* i32[rows]: the sum of v[col] where a pair is true; `v` empty: how many are. */
static ir_val total(struct emit *e, ir_val is, ir_val v) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, is);
    const int64_t dims[] = {t->dims[0], t->dims[1]};
    ir_val one = build_splat(b, IR_I32_T, dims, 2, 1), zero = build_splat(b, IR_I32_T, dims, 2, 0);
    ir_val each = IR_NONE(v) ? one : build_broadcast(b, v, dims, 2, (int64_t[]){1});
    return build_reduce(b, IR_ADD, build_select(b, is, each, zero), 1);
}

static ir_val with_number(struct emit *e, enum ir_op_kind op, ir_val x, int64_t number) {
    const struct ir_type_data *t = build_type(&e->b, x);
    return build_binary(&e->b, op, x, build_splat(&e->b, IR_I32_T, t->dims, t->rank, (double)number));
}

/* Block i of the slots: its tokens are gathered, and what their expert makes of them is stored. */
static ir_val run_block(void *user, ir_val i, ir_val out) {
    const struct grouping *g = user;
    struct emit *e = g->e;
    struct build *b = &e->b;
    const ir_val none = {0}, zero = build_splat(b, IR_I32_T, NULL, 0, 0);
    int64_t n = g->block, A = g->choices, E = e->c->experts;
    ir_val first = with_number(e, IR_MULTIPLY, i, n);
    ir_val passed = pairs(e, IR_COMPARISON_DIRECTION_GE, build_broadcast(b, i, &(int64_t){1}, 1, NULL), g->ends, 1, E);
    ir_val expert = layer_reshape(e, total(e, passed, none), 0, NULL);
    ir_val slots = build_binary(b, IR_ADD, build_broadcast(b, first, &n, 1, NULL), build_iota(b, IR_I32_T, &n, 1, 0));
    ir_val tokens = layer_reshape(e, build_iota(b, IR_I32_T, (int64_t[]){A / e->N, e->N}, 2, 1), DIMS(A));
    tokens = total(e, pairs(e, IR_COMPARISON_DIRECTION_EQ, slots, g->slots, n, A), tokens); /* 0 where a slot is not taken */
    ir_val x = build_rows(b, g->x, tokens);
    ir_val h = inner(e, x, g->layer, expert, e->type);
    return build_update(b, out, expert_product(e, h, LLM_W_DOWNS, g->layer, expert, e->type), (ir_val[]){first, zero});
}

static ir_val grouped_experts(struct emit *e, ir_val x, int64_t layer, const ir_val *which, const ir_val *share) {
    struct build *b = &e->b;
    const ir_val none = {0};
    int64_t k = e->c->chosen, E = e->c->experts, A = k * e->N, n = LEAST_BLOCK;
    int64_t usual = k * (e->g->apart ? e->T : e->N); /* the blocks of sequences with a cache each are those of one alone */
    while (n < MOST_BLOCK && n * E < usual)
        n *= 2;
    ir_val all = which[0], by = share[0];
    for (int64_t i = 1; i < k; i++) {
        all = build_concat(b, all, which[i], 0);
        by = build_concat(b, by, share[i], 0);
    }
    ir_val counts = total(e, pairs(e, IR_COMPARISON_DIRECTION_EQ, none, all, E, A), none);
    ir_val blocks = with_number(e, IR_DIVIDE, with_number(e, IR_ADD, counts, n - 1), n);
    ir_val same = pairs(e, IR_COMPARISON_DIRECTION_EQ, all, all, A, A);
    ir_val before = pairs(e, IR_COMPARISON_DIRECTION_GT, none, none, A, A);
    ir_val rank = total(e, build_binary(b, IR_AND, same, before), none); /* among the choices of its expert */
    ir_val first = total(e, pairs(e, IR_COMPARISON_DIRECTION_GT, all, none, A, E), blocks);
    struct grouping g = {.e = e, .x = x, .layer = layer, .block = n, .choices = A};
    g.slots = build_binary(b, IR_ADD, with_number(e, IR_MULTIPLY, first, n), rank);
    g.ends = total(e, pairs(e, IR_COMPARISON_DIRECTION_GE, none, none, E, E), blocks);
    int64_t dims[] = {(A / n + (A < E ? A : E)) * n, e->c->hidden}, map[] = {0, 1};
    ir_val end = layer_reshape(e, build_slice(b, g.ends, 0, E - 1, E), 0, NULL);
    ir_val y = build_loop(b, end, build_splat(b, IR_F32_T, dims, 2, 0), run_block, &g);
    y = layer_reshape(e, build_rows(b, y, g.slots), DIMS(k, e->N, e->c->hidden));
    y = build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, layer_reshape(e, by, DIMS(k, e->N)), y, map));
    return build_reduce(b, IR_ADD, y, 0);
}

/* The MLP that all tokens take, times the logistic function of its gate. */
static ir_val shared_expert(struct emit *e, ir_val x, int64_t layer) {
    struct build *b = &e->b;
    ir_val h = layer_gated(e, layer_linear(e, x, LLM_W_SHARED_GATE, LLM_ROLES, layer),
                           layer_linear(e, x, LLM_W_SHARED_UP, LLM_ROLES, layer));
    ir_val y = layer_linear(e, h, LLM_W_SHARED_DOWN, LLM_ROLES, layer);
    ir_val gate = layer_vector(e, layer_reshape(e, layer_part(e, layer_weight(e, LLM_W_SHARED_ROUTER, layer), LLM_VALUES),
                                                DIMS(e->c->hidden)), x);
    gate = build_unary(b, IR_LOGISTIC, build_reduce(b, IR_ADD, build_binary(b, IR_MULTIPLY, x, gate), 1));
    return build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, gate, y, (int64_t[]){0}));
}

ir_val layer_mixture(struct emit *e, ir_val h, ir_val x, int64_t layer) {
    ir_val which[LLM_MAX_CHOSEN], share[LLM_MAX_CHOSEN];
    choose_experts(e, x, layer, which, share);
    ir_val y = (e->N <= FEW_TOKENS ? chosen_experts : grouped_experts)(e, h, layer, which, share);
    return layer_sum(e, e->c->shared_ffn ? build_binary(&e->b, IR_ADD, y, shared_expert(e, h, layer)) : y);
}
