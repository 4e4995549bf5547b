/* What Gemma 3n and 4 add to a transformer: see layer.h. */
#include "llm/layer.h"

#include <math.h>

#define HALF_ROOT 0.70710678118654752440

static const enum llm_role opening[] = {LLM_W_EMBED, LLM_W_STREAM_1, LLM_W_STREAM_2, LLM_W_STREAM_3};
static const enum llm_role closing[] = {LLM_W_NORM, LLM_W_UNSTREAM_1, LLM_W_UNSTREAM_2, LLM_W_UNSTREAM_3};

/* The first dimension of x as a map for broadcasts. */
static const int64_t rows[] = {0};

/* ---- embeddings of each layer ---------------------------------------------------------------- */

/* What a token has in a table of its own, and what a matrix makes of its embedding. */
void layer_sides(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    int64_t side = e->c->side, layers = e->c->layers;
    if (!side)
        return;
    ir_val ids = layer_reshape(e, e->tokens, DIMS(e->N)), zero = build_splat(b, IR_I32_T, &e->N, 1, 0);
    ir_val end = build_splat(b, IR_I32_T, &e->N, 1, (double)e->c->side_rows);
    ids = build_select(b, build_compare(b, IR_COMPARISON_DIRECTION_LT, ids, end), ids, zero);
    ir_val own = layer_rows(e, layer_weight(e, LLM_W_SIDE_TABLE, 0), ids, sqrt((double)side));
    ir_val made = build_scale(b, layer_product(e, x, layer_weight(e, LLM_W_SIDE_MODEL, 0)), 1 / sqrt((double)e->c->hidden));
    made = layer_norm(e, layer_reshape(e, made, DIMS(e->N, layers, side)), LLM_W_SIDE_NORM, 0);
    made = layer_reshape(e, made, DIMS(e->N, layers * side));
    e->sides = build_scale(b, build_binary(b, IR_ADD, made, own), HALF_ROOT);
}

/* f32[N, hidden]: the layer's embedding, as much of it as x asks for. */
static ir_val side_of(struct emit *e, ir_val x, int64_t layer) {
    ir_val own = build_slice(&e->b, e->sides, 1, layer * e->c->side, (layer + 1) * e->c->side);
    ir_val y = layer_gated(e, layer_linear(e, x, LLM_W_SIDE_IN, LLM_ROLES, layer), own);
    return layer_norm(e, layer_linear(e, y, LLM_W_SIDE_OUT, LLM_ROLES, layer), LLM_W_SIDE_POST, layer);
}

ir_val layer_add_side(struct emit *e, ir_val x, int64_t layer) {
    if (e->c->side)
        x = build_binary(&e->b, IR_ADD, x, side_of(e, x, layer));
    if (!e->c->layer_scale)
        return x;
    ir_val scale = build_convert(&e->b, layer_part(e, layer_weight(e, LLM_W_SCALE, layer), LLM_VALUES), IR_F32_T);
    return build_binary(&e->b, IR_MULTIPLY, x, build_broadcast_like(&e->b, layer_reshape(e, scale, 0, NULL), x, NULL));
}

/* ---- residual streams ------------------------------------------------------------------------ */

/* f32[N]: the mean of the squares of a row. */
static ir_val power(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    return build_scale(b, build_reduce(b, IR_ADD, build_binary(b, IR_MULTIPLY, x, x), 1), 1 / (double)e->c->hidden);
}

/* x with the mean square `like` in each row. */
static ir_val as_strong(struct emit *e, ir_val x, ir_val like) {
    struct build *b = &e->b;
    ir_val own = build_binary(b, IR_MAXIMUM, power(e, x), build_splat(b, IR_F32_T, &e->N, 1, 1e-5));
    ir_val by = build_unary(b, IR_SQRT, build_binary(b, IR_DIVIDE, like, own));
    return build_binary(b, IR_MULTIPLY, x, build_broadcast_like(b, by, x, rows));
}

void layer_streams_open(struct emit *e, ir_val x) {
    for (int64_t i = 1; i < e->c->streams; i++)
        e->stream[i] = as_strong(e, layer_product(e, x, layer_weight(e, opening[i], 0)), power(e, x));
}

ir_val layer_streams_close(struct emit *e, ir_val x) {
    ir_val sum = x, like = x;
    for (int64_t i = 1; i < e->c->streams; i++) {
        ir_val y = layer_product(e, e->stream[i], layer_weight(e, closing[i], 0));
        sum = build_binary(&e->b, IR_ADD, sum, as_strong(e, y, power(e, like)));
    }
    return e->c->streams ? build_scale(&e->b, sum, 1 / (double)e->c->streams) : x;
}

/* x f32[N, n] times a transposed table f32[m, n], whose type is that of the file: f32[N, m]. */
static ir_val table_product(struct emit *e, ir_val x, enum llm_role role, int64_t layer) {
    ir_val table = layer_part(e, layer_weight(e, role, layer), LLM_VALUES);
    return build_dot(&e->b, x, build_convert(&e->b, table, IR_F32_T), 0, 1, 1, IR_F32_T);
}

/* f32[N, streams]: from -1 to 1 */
static ir_val route(struct emit *e, ir_val x, int64_t layer) {
    x = build_scale(&e->b, layer_norm(e, x, LLM_W_ROUTE_NORM, layer), 1 / (double)e->c->hidden);
    return build_unary(&e->b, IR_TANH, table_product(e, x, LLM_W_ROUTE, layer));
}

/* x times column i of f32[N, n] in each row. */
static ir_val times_column(struct emit *e, ir_val x, ir_val by, int64_t i) {
    ir_val column = layer_reshape(e, build_slice(&e->b, by, 1, i, i + 1), DIMS(e->N));
    return build_binary(&e->b, IR_MULTIPLY, x, build_broadcast_like(&e->b, column, x, rows));
}

/* Each stream plus a sum of all of them, weighted by the first. */
ir_val layer_predict(struct emit *e, ir_val x, int64_t layer, ir_val predicted[LLM_MAX_STREAMS]) {
    int64_t n = e->c->streams;
    if (!n)
        return x;
    ir_val by = table_product(e, route(e, x, layer), LLM_W_PREDICT, layer);
    for (int64_t i = 0; i < n; i++) {
        ir_val sum = i ? e->stream[i] : x;
        for (int64_t k = 0; k < n; k++)
            sum = build_binary(&e->b, IR_ADD, sum, times_column(e, k ? e->stream[k] : x, by, i * n + k));
        predicted[i] = sum;
    }
    return predicted[0];
}

/* Each prediction plus a part of what the layer added to the first; the others also take the layer's embedding. */
ir_val layer_correct(struct emit *e, ir_val x, int64_t layer, const ir_val predicted[LLM_MAX_STREAMS]) {
    struct build *b = &e->b;
    ir_val by = table_product(e, route(e, x, layer), LLM_W_CORRECT, layer);
    ir_val news = build_binary(b, IR_SUBTRACT, x, predicted[0]);
    const struct ir_type_data *t = build_type(b, by);
    by = build_binary(b, IR_ADD, by, build_splat(b, IR_F32_T, t->dims, 2, 1));
    ir_val first = build_binary(b, IR_ADD, predicted[0], times_column(e, news, by, 0));
    ir_val scale = layer_vector(e, layer_part(e, layer_weight(e, LLM_W_CORRECT_SCALE, layer), LLM_VALUES), first);
    ir_val side = side_of(e, e->c->correct_scale ? build_binary(b, IR_MULTIPLY, first, scale) : first, layer);
    for (int64_t i = 1; i < e->c->streams; i++) {
        ir_val y = build_binary(b, IR_ADD, predicted[i], times_column(e, news, by, i));
        e->stream[i] = build_binary(b, IR_ADD, y, side);
    }
    return first;
}

ir_val layer_laurel(struct emit *e, ir_val x, int64_t layer) {
    ir_val y = layer_linear(e, layer_linear(e, x, LLM_W_LAUREL_IN, LLM_ROLES, layer), LLM_W_LAUREL_OUT, LLM_ROLES, layer);
    return build_binary(&e->b, IR_ADD, x, layer_norm(e, y, LLM_W_LAUREL_NORM, layer));
}
