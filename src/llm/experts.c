/* Layers with experts: see layer.h. */
#include "llm/layer.h"

/* With more tokens than this, all experts are computed for all of them; else those that a token chose: no others are read. */
enum { FEW_TOKENS = 4 };

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
    for (int64_t i = 0; i < e->c->chosen; i++) {
        which[i] = layer_greatest(e, p);
        share[i] = build_reduce(b, IR_MAXIMUM, p, 1);
        sum = i ? build_binary(b, IR_ADD, sum, share[i]) : share[i];
        ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, column, build_broadcast(b, which[i], dims, 2, map));
        p = build_select(b, is, taken, p);
    }
    for (int64_t i = 0; i < e->c->chosen && e->c->chosen_sum; i++)
        share[i] = build_binary(b, IR_DIVIDE, share[i], sum);
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

/* x f32[1, cols] times the transposed matrix of the expert with the i32 scalar index, plus its bias. */
static ir_val expert_product(struct emit *e, ir_val x, enum llm_role role, int64_t layer, ir_val index) {
    struct build *b = &e->b;
    struct llm_weight w = *layer_weight(e, role, layer);
    w.rows /= e->c->experts;
    ir_val parts[3] = {{0}}, first = build_binary(b, IR_MULTIPLY, index, build_splat(b, IR_I32_T, NULL, 0, (double)w.rows));
    for (uint32_t k = 0; k < w.nparams; k++)
        parts[k] = build_rows_at(b, layer_part(e, &w, (enum llm_part)k), first, w.rows);
    ir_val y = product_of(b, x, &w, parts, e->model->decode);
    const struct llm_weight *bias = layer_weight(e, role + 1, layer);
    if (!bias)
        return y;
    ir_val all = layer_reshape(e, layer_part(e, bias, LLM_VALUES), DIMS(bias->rows, 1));
    all = layer_reshape(e, build_rows_at(b, all, first, w.rows), DIMS(w.rows));
    return build_binary(b, IR_ADD, y, layer_vector(e, all, y));
}

static ir_val chosen_experts(struct emit *e, ir_val x, int64_t layer, const ir_val *which, const ir_val *share) {
    struct build *b = &e->b;
    ir_val out = {0};
    for (int64_t n = 0; n < e->N; n++) {
        ir_val row = e->N == 1 ? x : build_slice(b, x, 0, n, n + 1), sum = {0};
        for (int64_t i = 0; i < e->c->chosen; i++) {
            ir_val index = layer_reshape(e, e->N == 1 ? which[i] : build_slice(b, which[i], 0, n, n + 1), 0, NULL);
            ir_val by = e->N == 1 ? share[i] : build_slice(b, share[i], 0, n, n + 1);
            ir_val h = gated(e, expert_product(e, row, LLM_W_GATES, layer, index),
                             expert_product(e, row, LLM_W_UPS, layer, index));
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
    ir_val h = gated(e, layer_linear(e, x, LLM_W_GATES, LLM_W_GATES_BIAS, layer),
                     layer_linear(e, x, LLM_W_UPS, LLM_W_UPS_BIAS, layer));
    h = layer_reshape(e, h, DIMS(e->N, E, F));
    h = build_binary(b, IR_MULTIPLY, h, build_broadcast_like(b, by, h, (int64_t[]){0, 1}));
    const struct llm_weight *w = layer_weight(e, LLM_W_DOWNS, layer);
    ir_val parts[] = {layer_part(e, w, LLM_VALUES), layer_part(e, w, LLM_SCALES), layer_part(e, w, LLM_OFFSETS)};
    ir_val m = build_convert(b, w->bits ? product_dequantise(b, w, parts) : parts[0], e->type);
    h = build_transpose(b, build_convert(b, h, e->type), (int64_t[]){1, 0, 2}); /* [E, N, F] */
    ir_val y = build_dot(b, h, layer_reshape(e, m, DIMS(E, hidden, F)), 1, 2, 2, IR_F32_T);
    y = build_reduce(b, IR_ADD, y, 0);
    const struct llm_weight *bias = layer_weight(e, LLM_W_DOWNS_BIAS, layer);
    if (!bias)
        return y;
    ir_val biases = layer_reshape(e, build_convert(b, layer_part(e, bias, LLM_VALUES), IR_F32_T), DIMS(E, hidden));
    return build_binary(b, IR_ADD, y, build_dot(b, by, biases, 0, 1, 0, IR_F32_T));
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

ir_val layer_mixture(struct emit *e, ir_val x, int64_t layer) {
    ir_val which[LLM_MAX_CHOSEN], share[LLM_MAX_CHOSEN];
    choose_experts(e, x, layer, which, share);
    ir_val y = e->N <= FEW_TOKENS ? chosen_experts(e, x, layer, which, share) : all_experts(e, x, layer, which, share);
    return e->c->shared_ffn ? build_binary(&e->b, IR_ADD, y, shared_expert(e, x, layer)) : y;
}
