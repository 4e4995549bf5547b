/* rng_bit_generator and rng: counter-based generators (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011),
 * laid out as XLA lays them out, so that programs see the same bits.
 *
 * State: [key, counter] for Threefry 2x32-20; [key, counter low, counter high] for Philox 4x32-10, where a state of two words
 * has its key once more as the high word. DEFAULT is Philox, as on XLA's CPU. */
#include "eval/eval_core.h"

#include <math.h>

/* ---- generators --------------------------------------------------------------------------------------------------------- */

static uint32_t rotate_left(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* 64 bits from a counter: the low word is the first output. */
static uint64_t threefry(uint64_t key, uint64_t counter) {
    static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0}, x = (uint32_t)counter, y = (uint32_t)(counter >> 32);
    k[2] = 0x1BD11BDAu ^ k[0] ^ k[1];
    x += k[0];
    y += k[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < 4; i++) {
            x += y;
            y = rotate_left(y, rotation[round % 2 * 4 + i]) ^ x;
        }
        x += k[(round + 1) % 3];
        y += k[(round + 2) % 3] + round + 1;
    }
    return x | (uint64_t)y << 32;
}

static void philox(uint64_t key, const uint64_t counter[2], uint32_t out[4]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x[4] = {(uint32_t)counter[0], (uint32_t)(counter[0] >> 32), (uint32_t)counter[1], (uint32_t)(counter[1] >> 32)};
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        uint64_t a = (uint64_t)x[0] * 0xD2511F53u, b = (uint64_t)x[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
        memcpy(x, next, sizeof x);
    }
    memcpy(out, x, sizeof x);
}

static void counter_add(uint64_t c[2], uint64_t n) {
    c[0] += n;
    c[1] += c[0] < n;
}

/* ---- Threefry: 32 bits an element in two halves of the shape ----------------------------------------------------- */

/* Elements are drawn in pairs (low word, high word of one output) whose members are half a dimension apart: an even dimension,
   else the largest, is cut in halves [d/2, 2] and the halves are interleaved. This is that order's inverse. */
struct halves {
    size_t dim, before, after, half; /* size of the split dimension, elements before and after it, pairs along it */
};

static struct halves halves_of(const struct value *v) {
    uint32_t split = 0;
    bool even = false;
    for (uint32_t i = 0; i < v->rank && !even; i++) {
        even = v->dims[i] % 2 == 0;
        if (even || v->dims[i] > v->dims[split])
            split = i;
    }
    struct halves h = {1, 1, 1, 0};
    for (uint32_t i = 0; i < v->rank; i++) {
        size_t *part = i < split ? &h.before : i > split ? &h.after : &h.dim;
        *part *= (size_t)v->dims[i];
    }
    h.half = (h.dim + 1) / 2;
    return h;
}

/* The counter advances by the number of pairs; an odd dimension wastes the last halves. */
static uint64_t threefry_32(uint64_t key, uint64_t counter, struct value *out) {
    struct halves h = halves_of(out);
    size_t size = ir_dtype_get(out->dtype)->bytes;
    for (size_t i = 0; i < out->count; i++) {
        size_t in_dim = i / h.after % h.dim, inner = i % h.after, before = i / h.after / h.dim;
        uint64_t pair = (before * h.half + in_dim / 2) * h.after + inner;
        uint32_t word = (uint32_t)(threefry(key, counter + pair) >> (in_dim % 2 ? 32 : 0));
        memcpy((char *)out->data + i * size, &word, size); /* narrow types take the low bits */
    }
    return counter + h.before * h.half * h.after;
}

static uint64_t threefry_64(uint64_t key, uint64_t counter, struct value *out) {
    for (size_t i = 0; i < out->count; i++)
        ((uint64_t *)out->data)[i] = threefry(key, counter + i);
    return counter + out->count;
}

/* ---- Philox: outputs one after the other ------------------------------------------------------------------------- */

static void philox_fill(uint64_t key, uint64_t counter[2], struct value *out) {
    size_t size = ir_dtype_get(out->dtype)->bytes, each = size == 8 ? 2 : 4;
    for (size_t i = 0; i < out->count; i += each) {
        uint32_t x[4];
        philox(key, counter, x);
        counter_add(counter, 1);
        for (size_t k = 0; k < each && i + k < out->count; k++)
            memcpy((char *)out->data + (i + k) * size, size == 8 ? &x[2 * k] : &x[k], size);
    }
}

/* Types of fewer bits than their storage keep their low bits, sign-extended where signed. */
static void trim_bits(struct value *v) {
    const struct ir_dtype_info *dt = ir_dtype_get(v->dtype);
    uint8_t *b = v->data;
    if (dt->bits >= 8)
        return;
    for (size_t i = 0; i < v->count; i++) {
        b[i] = (uint8_t)(b[i] & ((1u << dt->bits) - 1));
        if (dt->cls == IR_SINT && b[i] >> (dt->bits - 1))
            b[i] |= (uint8_t)(0xFFu << dt->bits);
    }
}

/* out[0]: the state afterwards; out[1], which is there: bits. */
static hilo_status generate(struct eval *cx, ir_op op, const struct value *in, int64_t algorithm, struct value **out) {
    bool is_threefry = algorithm == IR_RNG_ALGORITHM_THREE_FRY;
    uint64_t state[3] = {0, 0, 0};
    if (in->bytes != 16 && (is_threefry || in->bytes != 24))
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a state of %zu bytes, expected %s", in->bytes,
                         is_threefry ? "16" : "16 or 24");
    memcpy(state, in->data, in->bytes);
    if (in->bytes == 16)
        state[2] = state[0];
    HILO_TRY(value_tensor(&cx->al, in->dtype, in->dims, in->rank, &out[0]));
    if (!is_threefry)
        philox_fill(state[0], state + 1, out[1]);
    else if (ir_dtype_get(out[1]->dtype)->bytes == 8)
        state[1] = threefry_64(state[0], state[1], out[1]);
    else
        state[1] = threefry_32(state[0], state[1], out[1]);
    trim_bits(out[1]);
    memcpy(out[0]->data, state, in->bytes);
    return HILO_OK;
}

hilo_status eval_rng_bit_generator(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_type_data *t = ir_val_type(cx->m, ir_result(cx->m, op, 1));
    HILO_TRY(eval_out(cx, op, 1, t->dims, t->rank, &out[1]));
    return generate(cx, op, in[0], ir_prop_i64(cx->m, op, IR_RNG_BIT_GENERATOR_rng_algorithm), out);
}

/* custom_call @stablehlo.dynamic_rng_bit_generator: the shape is the second operand. */
hilo_status eval_dynamic_rng_bit_generator(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    const struct ir_attr_data *algorithm = ir_attr_get(cx->m, ir_dict_find(cx->m, o->attrs, STR("rng_algorithm")));
    int64_t dims[IR_MAX_RANK];
    bool fits = o->noperands == 2 && o->nresults == 2 && in[0]->kind == EVAL_TENSOR && value_is_integers(in[1]) &&
                in[1]->count <= IR_MAX_RANK && algorithm->kind == IR_ATTR_ENUM && algorithm->sub == IR_ENUM_RNG_ALGORITHM;
    const struct ir_type_data *t = fits ? ir_val_type(cx->m, ir_result(cx->m, op, 1)) : NULL;
    if (!fits || t->kind != IR_TYPE_TENSOR || t->quant || ir_dtype_get(t->dtype)->cls == IR_COMPLEX_CLASS)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "must have a state, a shape, an rng_algorithm, and two results");
    for (size_t i = 0; i < in[1]->count; i++)
        dims[i] = value_i64(in[1], i);
    HILO_TRY(eval_out(cx, op, 1, dims, (uint32_t)in[1]->count, &out[1]));
    return generate(cx, op, in[0], algorithm->i, out);
}

/* ---- rng --------------------------------------------------------------------------------------------------------- */

static double draw_unit(struct eval *cx) { /* [0, 1) */
    uint64_t counter[2] = {cx->rng_state++, 0};
    uint32_t x[4];
    philox(0, counter, x);
    return (double)(((uint64_t)x[1] << 32 | x[0]) >> 11) * 0x1p-53;
}

static double scalar_real(const struct value *v) {
    double x = 0;
    if (ir_dtype_get(v->dtype)->cls == IR_FLOAT)
        fp_decode_n_f64(ir_dtype_get(v->dtype)->fp, v->data, &x, 1);
    return x;
}

/* One element of the distribution into `to`: uniform on [a, b), or normal with mean a and deviation b (Box–Muller). */
static void draw(struct eval *cx, const struct value *a, const struct value *b, bool normal, const struct ir_dtype_info *dt,
                 char *to) {
    double u = draw_unit(cx);
    if (dt->cls == IR_FLOAT) {
        double lo = scalar_real(a), hi = scalar_real(b);
        double x = normal ? lo + hi * sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * draw_unit(cx)) : lo + (hi - lo) * u;
        fp_encode_n_f64(dt->fp, &x, to, 1);
        return;
    }
    uint64_t lo = (uint64_t)value_i64(a, 0), range = (uint64_t)value_i64(b, 0) - lo;
    uint64_t x = lo + (uint64_t)(u * (double)range);
    memcpy(to, &x, dt->bytes);
}

hilo_status eval_rng(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dims[IR_MAX_RANK];
    bool normal = ir_prop_i64(cx->m, op, IR_RNG_rng_distribution) == IR_RNG_DISTRIBUTION_NORMAL;
    if (in[2]->count > IR_MAX_RANK)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a shape of %zu dimensions", in[2]->count);
    for (size_t i = 0; i < in[2]->count; i++)
        dims[i] = value_i64(in[2], i);
    HILO_TRY(eval_out(cx, op, 0, dims, (uint32_t)in[2]->count, out));
    const struct ir_dtype_info *dt = ir_dtype_get((*out)->dtype);
    for (size_t i = 0; i < (*out)->count; i++)
        draw(cx, in[0], in[1], normal, dt, (char *)(*out)->data + i * dt->bytes);
    return HILO_OK;
}
