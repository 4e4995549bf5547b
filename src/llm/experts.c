/* Layers with experts: see layer.h. */
#include "llm/layer.h"

/* With more tokens than this, all experts are computed for all of them; else those that a token chose: no others are read. */
enum { FEW_TOKENS = 4 };

/* i32[n] and f32[n] for each of the chosen experts of a token: the index, and the weight. */
static void choose_experts(struct emit *e, ir_val x, int64_t layer, ir_val *which, ir_val *share) {
    struct build *b = &e->b;
    ir_val p = layer_product(e, x, layer_weight(e, LLM_W_ROUTER, layer)), sum = {0};
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

/* x f32[1, cols] times the transposed matrix of the expert with the i32 scalar index. */
static ir_val expert_product(struct emit *e, ir_val x, enum llm_role role, int64_t layer, ir_val index) {
    struct build *b = &e->b;
    struct llm_weight w = *layer_weight(e, role, layer);
    w.rows /= e->c->experts;
    ir_val parts[3] = {{0}}, first = build_binary(b, IR_MULTIPLY, index, build_splat(b, IR_I32_T, NULL, 0, (double)w.rows));
    for (uint32_t k = 0; k < w.nparams; k++)
        parts[k] = build_rows_at(b, layer_part(e, &w, (enum llm_part)k), first, w.rows);
    return product_of(b, x, &w, parts, e->model->decode);
}

static ir_val chosen_experts(struct emit *e, ir_val x, int64_t layer, const ir_val *which, const ir_val *share) {
    struct build *b = &e->b;
    ir_val out = {0};
    for (int64_t n = 0; n < e->N; n++) {
        ir_val row = e->N == 1 ? x : build_slice(b, x, 0, n, n + 1), sum = {0};
        for (int64_t i = 0; i < e->c->chosen; i++) {
            ir_val index = layer_reshape(e, e->N == 1 ? which[i] : build_slice(b, which[i], 0, n, n + 1), 0, NULL);
            ir_val by = e->N == 1 ? share[i] : build_slice(b, share[i], 0, n, n + 1);
            ir_val h = layer_activation(e, expert_product(e, row, LLM_W_GATES, layer, index));
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
    ir_val h = layer_activation(e, layer_product(e, x, layer_weight(e, LLM_W_GATES, layer)));
    h = build_binary(b, IR_MULTIPLY, h, layer_product(e, x, layer_weight(e, LLM_W_UPS, layer)));
    h = layer_reshape(e, h, DIMS(e->N, E, F));
    h = build_binary(b, IR_MULTIPLY, h, build_broadcast_like(b, by, h, (int64_t[]){0, 1}));
    const struct llm_weight *w = layer_weight(e, LLM_W_DOWNS, layer);
    ir_val parts[] = {layer_part(e, w, LLM_VALUES), layer_part(e, w, LLM_SCALES), layer_part(e, w, LLM_OFFSETS)};
    ir_val m = build_convert(b, w->bits ? product_dequantise(b, w, parts) : parts[0], e->type);
    h = build_transpose(b, build_convert(b, h, e->type), (int64_t[]){1, 0, 2}); /* [E, N, F] */
    ir_val y = build_dot(b, h, layer_reshape(e, m, DIMS(E, hidden, F)), 1, 2, 2, IR_F32_T);
    return build_reduce(b, IR_ADD, y, 0);
}

ir_val layer_mixture(struct emit *e, ir_val x, int64_t layer) {
    ir_val which[LLM_MAX_CHOSEN], share[LLM_MAX_CHOSEN];
    choose_experts(e, x, layer, which, share);
    return e->N <= FEW_TOKENS ? chosen_experts(e, x, layer, which, share) : all_experts(e, x, layer, which, share);
}
