/* Gated delta nets: see layer.h.
 *
 * A head has a matrix S, key_dim x value_dim. A token with query q, key k, value v, both of length 1, a decay d and a rate r,
 * both from 0 to 1, replaces S by d S + k (r (v - kᵀ d S))ᵀ and reads qᵀ S. Several tokens at once are computed in chunks, as
 * section 3.3 of arxiv.org/abs/2412.06464 describes: within one the replaced values are the solution of a triangular system,
 * and S is read and written once. Everything here is in f32. */
#include "llm/layer.h"

#include <math.h>

enum { LONGEST = 64 }; /* tokens of a chunk */

/* The inputs of one program's tokens; B and T are those of `e`. */
struct delta {
    ir_val qkv;         /* f32[B, T, channels]: before the convolution */
    ir_val rate, decay; /* f32[B, T, H]: the second as a logarithm; 0 of tokens that do not count */
};

/* x op a smaller array, whose dimension i is dimension map[i] of x. */
static ir_val spread(struct build *b, enum ir_op_kind op, ir_val x, ir_val small, const int64_t *map) {
    return build_binary(b, op, x, build_broadcast_like(b, small, x, map));
}

/* The array as it was, or zeros where a text begins. */
static ir_val before(struct emit *e, int64_t array) {
    struct build *b = &e->b;
    struct llm_array a = llm_cache_array(e->model, array, e->B, e->C);
    ir_val zero = build_splat(b, IR_F32_T, a.dims, 4, 0);
    if (e->g->kind == LLM_EMBED)
        return zero;
    ir_val first = build_compare(b, IR_COMPARISON_DIRECTION_EQ, e->positions, build_splat(b, IR_I32_T, &e->B, 1, 0));
    return build_select(b, build_broadcast(b, first, a.dims, 4, (int64_t[]){0}), zero, e->cache[array]);
}

/* The convolution along the text, f32[B, T, channels]; its last inputs are kept. */
static ir_val convolve(struct emit *e, ir_val x, int64_t layer, int64_t array) {
    struct build *b = &e->b;
    int64_t taps = e->c->delta.taps, n = build_type(b, x)->dims[2], map[] = {2}, kept[] = {e->B, taps - 1, n};
    ir_val w = layer_part(e, layer_weight(e, LLM_W_DELTA_CONV, layer), LLM_VALUES), y = {0}, last = {0};
    w = build_convert(b, w, IR_F32_T);
    ir_val all = build_concat(b, layer_reshape(e, before(e, array), 3, kept), x, 1);
    for (int64_t k = 0; k < taps; k++) {
        ir_val tap = layer_reshape(e, build_slice(b, w, 1, k, k + 1), DIMS(n));
        ir_val term = spread(b, IR_MULTIPLY, build_slice(b, all, 1, k, k + e->T), tap, map);
        y = k ? build_binary(b, IR_ADD, y, term) : term;
    }
    if (layer_decodes(e)) {
        last = build_slice(b, all, 1, e->T, e->T + taps - 1);
    } else {
        for (int64_t i = 0; i < e->B; i++) { /* before the first that does not count */
            ir_val row = layer_reshape(e, build_slice(b, all, 0, i, i + 1), DIMS(e->T + taps - 1, n));
            ir_val at = layer_reshape(e, build_slice(b, e->lengths, 0, i, i + 1), 0, NULL);
            row = layer_reshape(e, build_rows_at(b, row, at, taps - 1), DIMS(1, taps - 1, n));
            last = i ? build_concat(b, last, row, 0) : row;
        }
    }
    e->fresh[array] = layer_reshape(e, last, DIMS(e->B, 1, taps - 1, n));
    return build_binary(b, IR_MULTIPLY, y, build_unary(b, IR_LOGISTIC, y));
}

/* From [B, T, heads * n] to f32[B, H, T, n]: each head for as many values as it serves; `unit`: of length `scale`. */
static ir_val heads_of(struct emit *e, ir_val x, int64_t heads, int64_t n, double scale) {
    struct build *b = &e->b;
    int64_t H = e->c->delta.heads, dims[] = {e->B, e->T, heads, H / heads, n}, map[] = {0, 1, 2, 4}, last[] = {0, 1, 2};
    x = layer_reshape(e, x, DIMS(e->B, e->T, heads, n));
    if (scale != 0) {
        ir_val sum = build_reduce(b, IR_ADD, build_binary(b, IR_MULTIPLY, x, x), 3);
        const struct ir_type_data *t = build_type(b, sum);
        sum = build_unary(b, IR_RSQRT, build_binary(b, IR_ADD, sum, build_splat(b, IR_F32_T, t->dims, 3, 1e-6)));
        x = spread(b, IR_MULTIPLY, x, build_scale(b, sum, scale), last);
    }
    x = layer_reshape(e, build_broadcast(b, x, dims, 5, map), DIMS(e->B, e->T, H, n));
    return build_transpose(b, x, (int64_t[]){0, 2, 1, 3});
}

/* One token: q, k, v f32[B, H, n], rate and decay f32[B, H]. Returns what it reads, f32[B, H, value_dim]. */
static ir_val step(struct emit *e, ir_val q, ir_val k, ir_val v, ir_val rate, ir_val decay, int64_t array) {
    struct build *b = &e->b;
    const int64_t heads[] = {0, 1}, keys[] = {0, 1, 2}, values[] = {0, 1, 3};
    ir_val s = spread(b, IR_MULTIPLY, before(e, array), build_unary(b, IR_EXPONENTIAL, decay), heads);
    ir_val known = build_reduce(b, IR_ADD, spread(b, IR_MULTIPLY, s, k, keys), 2);
    ir_val news = spread(b, IR_MULTIPLY, build_binary(b, IR_SUBTRACT, v, known), rate, heads);
    ir_val outer = spread(b, IR_MULTIPLY, build_broadcast_like(b, news, s, values), k, keys);
    s = e->fresh[array] = build_binary(b, IR_ADD, s, outer);
    return build_reduce(b, IR_ADD, spread(b, IR_MULTIPLY, s, q, keys), 2);
}

/* 1 where the row is at least the column, or greater by `more`: f32 of `dims`, of which the last two count. */
static ir_val lower_triangle(struct build *b, const int64_t dims[5], int64_t more) {
    ir_val row = build_iota(b, IR_I32_T, dims, 5, 3), column = build_iota(b, IR_I32_T, dims, 5, 4);
    column = build_binary(b, IR_ADD, column, build_splat(b, IR_I32_T, dims, 5, (double)more));
    return build_compare(b, IR_COMPARISON_DIRECTION_GE, row, column);
}

/* Chunk m of [B, H, M, n, k]: [B, H, n, k]. */
static ir_val chunk(struct emit *e, ir_val x, int64_t m) {
    const struct ir_type_data *t = build_type(&e->b, x);
    int64_t dims[] = {t->dims[0], t->dims[1], t->dims[3], t->dims[4]};
    return layer_reshape(e, build_slice(&e->b, x, 2, m, m + 1), 4, dims);
}

/* All tokens: q, k, v f32[B, H, T, n], rate and decay f32[B, H, T]. Returns what they read, f32[B, H, T, value_dim]. */
static ir_val scan(struct emit *e, ir_val q, ir_val k, ir_val v, ir_val rate, ir_val decay, int64_t array) {
    struct build *b = &e->b;
    const struct llm_delta *d = &e->c->delta;
    int64_t n = LONGEST, B = e->B, H = d->heads, K = d->key_dim, V = d->value_dim;
    while (e->T % n)
        n--;
    const int64_t M = e->T / n, square[] = {B, H, M, n, n}, rows[] = {0, 1, 2, 3}, columns[] = {0, 1, 2, 4};
    q = layer_reshape(e, q, DIMS(B, H, M, n, K));
    k = layer_reshape(e, k, DIMS(B, H, M, n, K));
    v = layer_reshape(e, v, DIMS(B, H, M, n, V));
    rate = layer_reshape(e, rate, DIMS(B, H, M, n));
    decay = layer_reshape(e, decay, DIMS(B, H, M, n));
    /* The logarithm of the decay since a chunk's begin, and from token j to token i ≥ j. */
    ir_val zero = build_splat(b, IR_F32_T, square, 5, 0), all = lower_triangle(b, square, 0);
    ir_val since = build_reduce(b, IR_ADD, build_select(b, all, build_broadcast(b, decay, square, 5, columns), zero), 4);
    ir_val between = build_binary(b, IR_SUBTRACT, build_broadcast(b, since, square, 5, rows),
                                  build_broadcast(b, since, square, 5, columns));
    between = build_select(b, all, build_unary(b, IR_EXPONENTIAL, build_select(b, all, between, zero)), zero);
    ir_val total = build_slice(b, since, 3, n - 1, n);
    ir_val left = build_binary(b, IR_SUBTRACT, build_broadcast_like(b, total, since, rows), since);
    total = build_unary(b, IR_EXPONENTIAL, layer_reshape(e, total, DIMS(B, H, M)));
    since = build_unary(b, IR_EXPONENTIAL, since);
    left = build_unary(b, IR_EXPONENTIAL, left);
    /* What each token would write if S were 0, and what of S it would take away. */
    ir_val rated = spread(b, IR_MULTIPLY, k, rate, rows);
    ir_val system = build_binary(b, IR_MULTIPLY, build_dot(b, rated, k, 3, 4, 4, IR_F32_T), between);
    ir_val wanted = build_concat(b, spread(b, IR_MULTIPLY, v, rate, rows), spread(b, IR_MULTIPLY, rated, since, rows), 4);
    system = build_select(b, lower_triangle(b, square, 1), system, zero);
    wanted = build_solve(b, system, wanted);
    ir_val plain = build_slice(b, wanted, 4, 0, V), taken = build_slice(b, wanted, 4, V, V + K);
    ir_val near = build_binary(b, IR_MULTIPLY, build_dot(b, q, k, 3, 4, 4, IR_F32_T), between);
    q = spread(b, IR_MULTIPLY, q, since, rows);
    k = spread(b, IR_MULTIPLY, k, left, rows);
    ir_val s = before(e, array), out = {0};
    for (int64_t m = 0; m < M; m++) {
        ir_val news = build_binary(b, IR_SUBTRACT, chunk(e, plain, m), build_dot(b, chunk(e, taken, m), s, 2, 3, 2, IR_F32_T));
        ir_val y = build_binary(b, IR_ADD, build_dot(b, chunk(e, q, m), s, 2, 3, 2, IR_F32_T),
                                build_dot(b, chunk(e, near, m), news, 2, 3, 2, IR_F32_T));
        ir_val kept = layer_reshape(e, build_slice(b, total, 2, m, m + 1), DIMS(B, H));
        s = build_binary(b, IR_ADD, spread(b, IR_MULTIPLY, s, kept, rows),
                         build_dot(b, chunk(e, k, m), news, 2, 2, 2, IR_F32_T));
        out = m ? build_concat(b, out, y, 2) : y;
    }
    e->fresh[array] = s;
    return out;
}

/* f32[B, T, H, value_dim] */
static ir_val run(struct emit *e, const struct delta *in, int64_t layer) {
    struct build *b = &e->b;
    const struct llm_delta *d = &e->c->delta;
    int64_t array = e->c->layer[layer].cache, keys = d->key_heads * d->key_dim, all = 2 * keys + d->heads * d->value_dim;
    const int64_t order[] = {0, 2, 1};
    ir_val x = convolve(e, in->qkv, layer, array + 1);
    ir_val q = heads_of(e, build_slice(b, x, 2, 0, keys), d->key_heads, d->key_dim, 1 / sqrt((double)d->key_dim));
    ir_val k = heads_of(e, build_slice(b, x, 2, keys, 2 * keys), d->key_heads, d->key_dim, 1);
    ir_val v = heads_of(e, build_slice(b, x, 2, 2 * keys, all), d->heads, d->value_dim, 0);
    ir_val rate = build_transpose(b, in->rate, order), decay = build_transpose(b, in->decay, order);
    if (e->T > 1)
        return build_transpose(b, scan(e, q, k, v, rate, decay, array), (int64_t[]){0, 2, 1, 3});
    q = layer_reshape(e, q, DIMS(e->B, d->heads, d->key_dim));
    k = layer_reshape(e, k, DIMS(e->B, d->heads, d->key_dim));
    v = layer_reshape(e, v, DIMS(e->B, d->heads, d->value_dim));
    rate = layer_reshape(e, rate, DIMS(e->B, d->heads));
    decay = layer_reshape(e, decay, DIMS(e->B, d->heads));
    return layer_reshape(e, step(e, q, k, v, rate, decay, array), DIMS(e->B, 1, d->heads, d->value_dim));
}

/* The same for sequences with a cache each. */
static ir_val run_apart(struct emit *e, const struct delta *in, int64_t layer) {
    ir_val y = {0};
    for (int64_t i = 0; i < e->B; i++) {
        struct emit one = layer_alone(e, i);
        const struct delta own = {build_slice(&e->b, in->qkv, 0, i, i + 1), build_slice(&e->b, in->rate, 0, i, i + 1),
                                  build_slice(&e->b, in->decay, 0, i, i + 1)};
        ir_val row = run(&one, &own, layer);
        y = i ? build_concat(&e->b, y, row, 0) : row;
    }
    return y;
}

/* The same for several tokens of a sequence, each as in a decode step. */
static ir_val run_each(struct emit *e, const struct delta *in, int64_t layer) {
    struct build *b = &e->b;
    struct emit one = *e;
    ir_val y = {0};
    one.T = 1;
    one.N = e->B;
    for (int64_t t = 0; t < e->T; t++) {
        const struct delta own = {build_slice(b, in->qkv, 1, t, t + 1), build_slice(b, in->rate, 1, t, t + 1),
                                  build_slice(b, in->decay, 1, t, t + 1)};
        one.positions = build_binary(b, IR_ADD, e->positions, build_splat(b, IR_I32_T, &e->B, 1, (double)t));
        ir_val row = run(&one, &own, layer);
        one.cache = e->fresh; /* as the token before has left it */
        y = t ? build_concat(b, y, row, 1) : row;
    }
    return y;
}

/* log(1 + exp(x)) */
static ir_val softplus(struct build *b, ir_val x) {
    const struct ir_type_data *t = build_type(b, x);
    ir_val least = build_unary(b, IR_NEGATE, build_unary(b, IR_ABS, x));
    return build_binary(b, IR_ADD, build_binary(b, IR_MAXIMUM, x, build_splat(b, IR_F32_T, t->dims, t->rank, 0)),
                        build_unary(b, IR_LOG_PLUS_ONE, build_unary(b, IR_EXPONENTIAL, least)));
}

ir_val layer_delta(struct emit *e, ir_val x, int64_t layer) {
    struct build *b = &e->b;
    const struct llm_delta *d = &e->c->delta;
    int64_t dims[] = {e->B, e->T, d->heads}, values = d->heads * d->value_dim;
    ir_val time = layer_linear(e, x, LLM_W_DELTA_TIME, LLM_ROLES, layer);
    ir_val rate = build_unary(b, IR_LOGISTIC, layer_linear(e, x, LLM_W_DELTA_BETA, LLM_ROLES, layer));
    ir_val bias = layer_vector(e, layer_part(e, layer_weight(e, LLM_W_DELTA_TIME_BIAS, layer), LLM_VALUES), time);
    ir_val speed = layer_vector(e, layer_part(e, layer_weight(e, LLM_W_DELTA_DECAY, layer), LLM_VALUES), time);
    ir_val decay = build_binary(b, IR_MULTIPLY, build_unary(b, IR_NEGATE, build_unary(b, IR_EXPONENTIAL, speed)),
                                softplus(b, build_binary(b, IR_ADD, time, bias)));
    ir_val qkv = layer_linear(e, x, LLM_W_DELTA_IN, LLM_ROLES, layer);
    struct delta in = {.rate = layer_reshape(e, rate, 3, dims), .decay = layer_reshape(e, decay, 3, dims)};
    in.qkv = layer_reshape(e, qkv, DIMS(e->B, e->T, build_type(b, qkv)->dims[1]));
    if (!layer_decodes(e)) { /* tokens after the last valid one change nothing */
        ir_val place = build_iota(b, IR_I32_T, dims, 3, 1), zero = build_splat(b, IR_F32_T, dims, 3, 0);
        ir_val length = build_broadcast(b, e->lengths, dims, 3, (int64_t[]){0});
        ir_val valid = build_compare(b, IR_COMPARISON_DIRECTION_LT, place, length);
        in.rate = build_select(b, valid, in.rate, zero);
        in.decay = build_select(b, valid, in.decay, zero);
    }
    bool each = layer_decodes(e) && e->T > 1;
    ir_val y = layer_unit(e, (e->g->apart ? run_apart : each ? run_each : run)(e, &in, layer), 1);
    ir_val norm = layer_part(e, layer_weight(e, LLM_W_DELTA_NORM, layer), LLM_VALUES);
    y = build_binary(b, IR_MULTIPLY, y, layer_vector(e, norm, y));
    ir_val gate = layer_linear(e, x, LLM_W_DELTA_GATE, LLM_ROLES, layer);
    gate = build_binary(b, IR_MULTIPLY, gate, build_unary(b, IR_LOGISTIC, gate));
    y = build_binary(b, IR_MULTIPLY, layer_reshape(e, y, DIMS(e->N, values)), gate);
    return layer_linear(e, y, LLM_W_DELTA_OUT, LLM_ROLES, layer);
}
