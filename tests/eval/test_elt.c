/* Elementwise kernels: integers against arithmetic in 128 bits, small floats against double, functions against
 * values computed with 3,000 bits, conversions against slow ones; regions as programs over lanes; handlers. */
#include "eval/eval.h"
#include "read/text/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

static jmp_buf out_of_memory;

/* ---- running one kernel ---------------------------------------------------------------------- */

struct fixture {
    struct ir_module *m;
    struct diag_list d;
};

static int setup(void **state) {
    struct fixture *f = malloc(sizeof *f);
    f->m = ir_module_new(mem_system_allocator(), &out_of_memory);
    diag_init(&f->d, mem_system_allocator());
    *state = f;
    return f->m ? 0 : 1;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    ir_module_free(f->m);
    diag_clear(&f->d);
    free(f);
    return 0;
}

/* An op on scalars, in a block of its own. */
static ir_op new_op(struct fixture *f, enum ir_op_kind kind, const enum ir_dtype *in, uint32_t nin, enum ir_dtype out) {
    ir_val operands[3];
    ir_block block = ir_block_new(f->m, (ir_region){0});
    for (uint32_t i = 0; i < nin; i++)
        operands[i] = ir_block_add_arg(f->m, block, ir_type_of(f->m, in[i], NULL, 0));
    ir_type result = ir_type_of(f->m, out, NULL, 0);
    return ir_op_new(f->m, kind, operands, nin, &result, 1, 0);
}

static ir_op new_compare(struct fixture *f, enum ir_dtype t, int64_t direction, int64_t how) {
    ir_op op = new_op(f, IR_COMPARE, (enum ir_dtype[]){t, t}, 2, IR_I1_T);
    ir_set_prop(f->m, op, IR_COMPARE_comparison_direction, ir_attr_enum(f->m, IR_ENUM_COMPARISON_DIRECTION, direction));
    ir_set_prop(f->m, op, IR_COMPARE_compare_type, ir_attr_enum(f->m, IR_ENUM_COMPARISON_TYPE, how));
    return op;
}

static struct elt_kernel kernel_of(struct fixture *f, ir_op op, enum ir_dtype in, uint32_t nin, enum ir_dtype out) {
    struct elt_kernel k;
    enum ir_dtype types[3] = {in, in, in};
    if (elt_resolve(f->m, &f->d, op, types, nin, out, &k) != HILO_OK)
        fail_msg("%s: no kernel for %s", ir_op_info(ir_kind(f->m, op))->name, ir_dtype_get(in)->name);
    return k;
}

/* The kernel of an op whose operands have type `in`. */
static struct elt_kernel kernel(struct fixture *f, enum ir_op_kind kind, enum ir_dtype in, uint32_t nin,
                                enum ir_dtype out) {
    return kernel_of(f, new_op(f, kind, (enum ir_dtype[]){in, in, in}, nin, out), in, nin, out);
}

/* ---- integers -------------------------------------------------------------------------------- */

static const enum ir_dtype integers[] = {IR_I2_T, IR_I4_T, IR_I8_T, IR_I16_T, IR_I32_T, IR_I64_T,
                                         IR_UI2_T, IR_UI4_T, IR_UI8_T, IR_UI16_T, IR_UI32_T, IR_UI64_T};

static bool is_signed(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_SINT;
}

static int128 least(enum ir_dtype t) {
    return is_signed(t) ? -((int128)1 << (ir_dtype_get(t)->bits - 1)) : 0;
}

static int128 most(enum ir_dtype t) {
    return least(t) + ((int128)1 << ir_dtype_get(t)->bits) - 1;
}

static int128 wrap(enum ir_dtype t, int128 x) {
    uint128 span = (uint128)1 << ir_dtype_get(t)->bits;
    return (int128)(((uint128)x - (uint128)least(t)) & (span - 1)) + least(t);
}

static int128 get_int(enum ir_dtype t, const void *p) {
    int64_t x = 0;
    memcpy(&x, p, ir_dtype_get(t)->bytes);
    unsigned unused = 64 - 8 * ir_dtype_get(t)->bytes;
    uint64_t up = (uint64_t)x << unused;
    return is_signed(t) ? (int128)((int64_t)up >> unused) : (int128)(up >> unused);
}

static void put_int(enum ir_dtype t, void *p, int128 x) {
    uint64_t bits = (uint64_t)x;
    memcpy(p, &bits, ir_dtype_get(t)->bytes);
}

/* Values at the edges of a type, or all of them. */
static size_t int_samples(enum ir_dtype t, int128 *out) {
    size_t n = 0;
    if (ir_dtype_get(t)->bits <= 8) {
        for (int128 x = least(t); x <= most(t); x++) out[n++] = x;
        return n;
    }
    static const int64_t near[] = {-100, -65, -33, -17, -7, -3, -2, -1, 0, 1, 2, 3, 5, 10, 15, 16, 31, 32, 63, 64, 1000};
    for (size_t i = 0; i < COUNT(near); i++) out[n++] = wrap(t, near[i]);
    for (int i = 0; i < 3; i++) {
        out[n++] = least(t) + i;
        out[n++] = most(t) - i;
        out[n++] = (least(t) + most(t)) / 2 + i;
        out[n++] = wrap(t, (int128)0x5DEECE66DB1F3C91 >> i);
    }
    return n;
}

static int128 int_power(enum ir_dtype t, int128 x, int128 y) {
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    int128 r = 1;
    for (uint64_t e = (uint64_t)y, base = (uint64_t)x; e; e >>= 1, base *= base)
        if (e & 1)
            r = (int128)((uint64_t)r * base);
    return wrap(t, r);
}

static int128 int_shift(enum ir_op_kind op, enum ir_dtype t, int128 x, int128 y) {
    int bits = (int)ir_dtype_get(t)->bits;
    int128 span = (int128)1 << bits, plain = x < 0 ? x + span : x, sign = plain >= span / 2 ? plain - span : plain;
    bool all = y < 0 || y >= bits;
    if (op == IR_SHIFT_LEFT)
        return all ? 0 : wrap(t, (int128)((uint128)plain << y));
    if (op == IR_SHIFT_RIGHT_LOGICAL)
        return all ? 0 : wrap(t, plain >> y);
    return wrap(t, sign >> (all ? bits - 1 : (int)y));
}

static int128 int_binary(enum ir_op_kind op, enum ir_dtype t, int128 x, int128 y) {
    switch (op) {
    case IR_ADD: return wrap(t, x + y);
    case IR_SUBTRACT: return wrap(t, x - y);
    case IR_MULTIPLY: return wrap(t, (int128)((uint64_t)x * (uint64_t)y));
    case IR_DIVIDE: return wrap(t, y == 0 ? -1 : x / y);
    case IR_REMAINDER: return y == 0 ? x : x % y;
    case IR_POWER: return int_power(t, x, y);
    case IR_MAXIMUM: return x > y ? x : y;
    case IR_MINIMUM: return x < y ? x : y;
    case IR_AND: return x & y;
    case IR_OR: return x | y;
    case IR_XOR: return x ^ y;
    case IR_MULHI: return is_signed(t) ? x * y >> ir_dtype_get(t)->bits
                                       : (int128)((uint128)x * (uint128)y >> ir_dtype_get(t)->bits);
    default: return int_shift(op, t, x, y);
    }
}

static void int_pairs(void **state) {
    static const enum ir_op_kind ops[] = {IR_ADD, IR_SUBTRACT, IR_MULTIPLY, IR_DIVIDE, IR_REMAINDER, IR_POWER, IR_MAXIMUM,
                                          IR_MINIMUM, IR_AND, IR_OR, IR_XOR, IR_MULHI, IR_SHIFT_LEFT,
                                          IR_SHIFT_RIGHT_LOGICAL, IR_SHIFT_RIGHT_ARITHMETIC};
    int128 samples[256];
    uint64_t a[256], b[256], r[256];
    for (size_t i = 0; i < COUNT(integers); i++) {
        enum ir_dtype t = integers[i];
        size_t n = int_samples(t, samples), bytes = ir_dtype_get(t)->bytes;
        for (size_t o = 0; o < COUNT(ops); o++) {
            struct elt_kernel k = kernel(*state, ops[o], t, 2, t);
            for (size_t x = 0; x < n; x++) {
                for (size_t y = 0; y < n; y++) {
                    put_int(t, (char *)a + y * bytes, samples[x]);
                    put_int(t, (char *)b + y * bytes, samples[y]);
                }
                k.run(&k, (const void *[]){a, b}, r, n);
                for (size_t y = 0; y < n; y++) {
                    int128 want = int_binary(ops[o], t, samples[x], samples[y]), got = get_int(t, (char *)r + y * bytes);
                    if (got != want)
                        fail_msg("%s %s(%" PRId64 ", %" PRId64 ") = %" PRId64 ", not %" PRId64, ir_op_info(ops[o])->name,
                                 ir_dtype_get(t)->name, (int64_t)samples[x], (int64_t)samples[y], (int64_t)got,
                                 (int64_t)want);
                }
            }
        }
    }
}

static int128 int_unary(enum ir_op_kind op, enum ir_dtype t, int128 x) {
    int bits = (int)ir_dtype_get(t)->bits, ones = 0, zeros = bits;
    for (int i = 0; i < bits; i++)
        if (x >> i & 1) {
            ones++;
            zeros = bits - 1 - i;
        }
    switch (op) {
    case IR_ABS: return wrap(t, x < 0 ? -x : x);
    case IR_NEGATE: return wrap(t, -x);
    case IR_NOT: return wrap(t, ~x);
    case IR_SIGN: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case IR_POPCNT: return wrap(t, ones);
    default: return wrap(t, zeros);
    }
}

static void int_singles(void **state) {
    static const enum ir_op_kind ops[] = {IR_NEGATE, IR_NOT, IR_POPCNT, IR_COUNT_LEADING_ZEROS, IR_ABS, IR_SIGN};
    int128 samples[256];
    for (size_t i = 0; i < COUNT(integers); i++) {
        enum ir_dtype t = integers[i];
        size_t n = int_samples(t, samples);
        for (size_t o = 0; o < COUNT(ops) - (is_signed(t) ? 0 : 2); o++) {
            struct elt_kernel k = kernel(*state, ops[o], t, 1, t);
            for (size_t x = 0; x < n; x++) {
                uint64_t a, r;
                put_int(t, &a, samples[x]);
                k.run(&k, (const void *[]){&a}, &r, 1);
                assert_true(get_int(t, &r) == int_unary(ops[o], t, samples[x]));
            }
        }
    }
}

static void int_comparisons(void **state) {
    int128 samples[256];
    for (size_t i = 0; i < COUNT(integers); i++) {
        enum ir_dtype t = integers[i];
        size_t n = int_samples(t, samples);
        for (int64_t direction = 0; direction < 6; direction++) {
            ir_op op = new_compare(*state, t, direction, IR_COMPARISON_TYPE_NOTYPE);
            struct elt_kernel k = kernel_of(*state, op, t, 2, IR_I1_T);
            for (size_t x = 0; x < n; x++)
                for (size_t y = 0; y < n; y++) {
                    uint64_t a, b;
                    uint8_t r;
                    put_int(t, &a, samples[x]);
                    put_int(t, &b, samples[y]);
                    k.run(&k, (const void *[]){&a, &b}, &r, 1);
                    bool less = samples[x] < samples[y], equal = samples[x] == samples[y];
                    const bool want[] = {equal, !equal, !less, !less && !equal, less || equal, less};
                    assert_int_equal(r, want[direction]);
                }
        }
    }
}

static void booleans(void **state) {
    static const struct { enum ir_op_kind op; uint8_t want[4]; } rows[] = {
        {IR_ADD, {0, 1, 1, 1}},      {IR_OR, {0, 1, 1, 1}},      {IR_MAXIMUM, {0, 1, 1, 1}},
        {IR_MULTIPLY, {0, 0, 0, 1}}, {IR_MINIMUM, {0, 0, 0, 1}}, {IR_AND, {0, 0, 0, 1}},
        {IR_XOR, {0, 1, 1, 0}},
    };
    static const uint8_t a[] = {0, 0, 1, 1}, b[] = {0, 1, 0, 1};
    uint8_t r[4];
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct elt_kernel k = kernel(*state, rows[i].op, IR_I1_T, 2, IR_I1_T);
        k.run(&k, (const void *[]){a, b}, r, 4);
        assert_memory_equal(r, rows[i].want, 4);
    }
    struct elt_kernel k = kernel(*state, IR_NOT, IR_I1_T, 1, IR_I1_T);
    k.run(&k, (const void *[]){b}, r, 4);
    assert_memory_equal(r, ((uint8_t[]){1, 0, 1, 0}), 4);
}

/* ---- real numbers ---------------------------------------------------------------------------- */

static const enum ir_dtype floats[] = {IR_F4E2M1FN_T, IR_F6E2M3FN_T, IR_F6E3M2FN_T, IR_F8E3M4_T, IR_F8E4M3_T,
                                       IR_F8E4M3B11FNUZ_T, IR_F8E4M3FN_T, IR_F8E4M3FNUZ_T, IR_F8E5M2_T, IR_F8E5M2FNUZ_T,
                                       IR_F8E8M0FNU_T, IR_BF16_T, IR_F16_T, IR_TF32_T, IR_F32_T, IR_F64_T};

static double max_of(double x, double y) {
    return isnan(x) || isnan(y) ? (double)NAN : x > y || (x == y && !signbit(x)) ? x : y;
}

static double min_of(double x, double y) {
    return isnan(x) || isnan(y) ? (double)NAN : x < y || (x == y && signbit(x)) ? x : y;
}

static double add_of(double x, double y) { return x + y; }
static double subtract_of(double x, double y) { return x - y; }
static double multiply_of(double x, double y) { return x * y; }
static double divide_of(double x, double y) { return x / y; }

static uint64_t next_random(uint64_t *s) {
    *s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *s >> 11;
}

static bool same_code(enum fp_kind fp, uint64_t a, uint64_t b) {
    return a == b || (fp_is_nan(fp, a) && fp_is_nan(fp, b));
}

/* Codes of a format: all when they are few, else edges and random ones. */
static size_t codes_of(enum fp_kind fp, uint64_t *out, size_t n) {
    const struct fp_info *f = fp_get(fp);
    uint64_t mask = f->bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << f->bits) - 1, seed = 1;
    if (f->bits <= 8) {
        for (uint64_t c = 0; c <= mask; c++) out[c] = c;
        return (size_t)mask + 1;
    }
    size_t i = 0;
    for (int sign = 0; sign < 2; sign++) {
        uint64_t s = sign ? f->sign : 0, normal = UINT64_C(1) << f->man_bits;
        const uint64_t edges[] = {0, 1, 2, normal - 1, normal, normal + 1, f->largest, f->largest - 1, f->overflow, f->nan};
        for (size_t e = 0; e < COUNT(edges); e++) out[i++] = edges[e] | s;
    }
    for (; i < n; i++) {
        out[i] = (next_random(&seed) ^ next_random(&seed) << 40) & mask;
        if (i % 3 == 0) /* close to another one, so that sums cancel */
            out[i] = (out[i - 1] ^ (next_random(&seed) & 7)) & mask;
    }
    return n;
}

/* Small formats round the result of double arithmetic once: double has the digits to spare. */
static void float_pairs(void **state) {
    static const struct { enum ir_op_kind op; double (*f)(double, double); } ops[] = {
        {IR_ADD, add_of}, {IR_SUBTRACT, subtract_of}, {IR_MULTIPLY, multiply_of}, {IR_DIVIDE, divide_of},
        {IR_MAXIMUM, max_of}, {IR_MINIMUM, min_of}, {IR_REMAINDER, fmod},
    };
    uint64_t codes[400], a, b, r;
    for (size_t i = 0; i < COUNT(floats) - 2; i++) {
        enum fp_kind fp = ir_dtype_get(floats[i])->fp;
        size_t n = codes_of(fp, codes, COUNT(codes));
        for (size_t o = 0; o < COUNT(ops); o++) {
            struct elt_kernel k = kernel(*state, ops[o].op, floats[i], 2, floats[i]);
            for (size_t x = 0; x < n; x++)
                for (size_t y = 0; y < n; y++) {
                    fp_store(fp, &a, codes[x]);
                    fp_store(fp, &b, codes[y]);
                    k.run(&k, (const void *[]){&a, &b}, &r, 1);
                    uint64_t want = fp_encode(fp, ops[o].f(fp_decode(fp, codes[x]), fp_decode(fp, codes[y])));
                    if (!same_code(fp, fp_load(fp, &r), want))
                        fail_msg("%s %s(%g, %g) = %g, not %g", ir_op_info(ops[o].op)->name, ir_dtype_get(floats[i])->name,
                                 fp_decode(fp, codes[x]), fp_decode(fp, codes[y]), fp_decode(fp, fp_load(fp, &r)),
                                 fp_decode(fp, want));
                }
        }
    }
}

static double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

static void float_singles(void **state) {
    static const struct { enum ir_op_kind op; double (*f)(double); } ops[] = {
        {IR_ABS, fabs}, {IR_CEIL, ceil}, {IR_FLOOR, floor}, {IR_ROUND_NEAREST_AFZ, round},
        {IR_ROUND_NEAREST_EVEN, rint},
        {IR_SIGN, sign_of}, {IR_SQRT, sqrt}, {IR_EXPONENTIAL, exp}, {IR_TANH, tanh}, {IR_LOG, log},
    };
    uint64_t codes[400], a, r;
    uint8_t finite;
    for (size_t i = 0; i < COUNT(floats); i++) {
        enum fp_kind fp = ir_dtype_get(floats[i])->fp;
        size_t n = codes_of(fp, codes, COUNT(codes)), arithmetic = 7;
        for (size_t o = 0; o < (fp == FP_F64 ? arithmetic : COUNT(ops)); o++) {
            struct elt_kernel k = kernel(*state, ops[o].op, floats[i], 1, floats[i]);
            for (size_t x = 0; x < n; x++) {
                fp_store(fp, &a, codes[x]);
                k.run(&k, (const void *[]){&a}, &r, 1);
                assert_true(same_code(fp, fp_load(fp, &r), fp_encode(fp, ops[o].f(fp_decode(fp, codes[x])))));
            }
        }
        struct elt_kernel k = kernel(*state, IR_IS_FINITE, floats[i], 1, IR_I1_T);
        for (size_t x = 0; x < n; x++) {
            fp_store(fp, &a, codes[x]);
            k.run(&k, (const void *[]){&a}, &finite, 1);
            assert_int_equal(finite, isfinite(fp_decode(fp, codes[x])) != 0);
        }
    }
}

/* The place of a number in the total order; NaNs of a sign are one. */
static double rank_of(double x) {
    double a = isnan(x) ? 1e9 : isinf(x) ? 1e8 : x == 0 ? 0.25 : 1 + atan(x) + log1p(fabs(x));
    return isnan(x) || isinf(x) || x == 0 ? copysign(a, x) : x;
}

static void float_comparisons(void **state) {
    static const double v[] = {-INFINITY, -2, -0.5, -0.0, 0.0, 0.5, 2, INFINITY};
    for (size_t i = 0; i < COUNT(floats); i++) {
        enum fp_kind fp = ir_dtype_get(floats[i])->fp;
        uint64_t codes[COUNT(v) + 2], a, b;
        size_t n = 0;
        for (; n < COUNT(v); n++) codes[n] = fp_encode(fp, v[n]);
        codes[n++] = fp_encode(fp, NAN);
        codes[n++] = fp_encode(fp, -NAN);
        for (int64_t how = 0; how < 2; how++)
            for (int64_t direction = 0; direction < 6; direction++) {
                ir_op op = new_compare(*state, floats[i], direction, how ? IR_COMPARISON_TYPE_TOTALORDER
                                                                         : IR_COMPARISON_TYPE_FLOAT);
                struct elt_kernel k = kernel_of(*state, op, floats[i], 2, IR_I1_T);
                for (size_t x = 0; x < n; x++)
                    for (size_t y = 0; y < n; y++) {
                        uint8_t r;
                        fp_store(fp, &a, codes[x]);
                        fp_store(fp, &b, codes[y]);
                        k.run(&k, (const void *[]){&a, &b}, &r, 1);
                        double p = fp_decode(fp, codes[x]), q = fp_decode(fp, codes[y]);
                        if (how) {
                            p = rank_of(p);
                            q = rank_of(q);
                        }
                        const bool want[] = {p == q, p != q, p >= q, p > q, p <= q, p < q};
                        assert_int_equal(r, want[direction]);
                    }
            }
    }
}

static void neighbours(void **state) {
    uint64_t codes[64];
    for (size_t i = 0; i < COUNT(floats); i++) {
        enum fp_kind fp = ir_dtype_get(floats[i])->fp;
        size_t n = fp_get(fp)->bits <= 8 ? 8 : codes_of(fp, codes, COUNT(codes));
        for (size_t c = 0; c < 8 && n == 8; c++) codes[c] = c;
        struct elt_kernel k = kernel(*state, IR_NEXT_AFTER, floats[i], 2, floats[i]);
        for (size_t x = 0; x < n; x++)
            for (size_t y = 0; y < n; y++) {
                uint64_t a, b, r;
                fp_store(fp, &a, codes[x]);
                fp_store(fp, &b, codes[y]);
                k.run(&k, (const void *[]){&a, &b}, &r, 1);
                assert_true(same_code(fp, fp_load(fp, &r), fp_nextafter(fp, codes[x], codes[y])));
            }
    }
}

static void precision(void **state) {
    static const struct { int exp, man; float x, want; } rows[] = {
        {5, 10, 65519, 65504}, {5, 10, 65520, INFINITY}, {5, 10, -65520, -INFINITY}, {5, 10, 0x1p-14f, 0x1p-14f},
        {5, 10, 0x1.ffcp-15f, 0}, {5, 10, -0x1p-15f, -0.0f}, {8, 7, 0x1.01p0f, 0x1p0f}, {8, 7, 0x1.03p0f, 0x1.04p0f},
        {8, 23, 0x1p-149f, 0x1p-149f}, {8, 0, 1.5f, 2}, {1, 3, 1.5f, 0}, {1, 3, 3, INFINITY}, {11, 52, 0.1f, 0.1f},
        {8, 0, NAN, INFINITY}, {8, 1, NAN, NAN},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        ir_op op = new_op(f, IR_REDUCE_PRECISION, (enum ir_dtype[]){IR_F32_T}, 1, IR_F32_T);
        ir_type i32 = ir_type_scalar(f->m, IR_I32_T);
        ir_set_prop(f->m, op, IR_REDUCE_PRECISION_exponent_bits, ir_attr_int(f->m, i32, rows[i].exp));
        ir_set_prop(f->m, op, IR_REDUCE_PRECISION_mantissa_bits, ir_attr_int(f->m, i32, rows[i].man));
        struct elt_kernel k = kernel_of(f, op, IR_F32_T, 1, IR_F32_T);
        float r;
        k.run(&k, (const void *[]){&rows[i].x}, &r, 1);
        if (!(isnan(r) && isnan(rows[i].want)) && fp_f32_bits(r) != fp_f32_bits(rows[i].want))
            fail_msg("e%dm%d %g gives %g, not %g", rows[i].exp, rows[i].man, (double)rows[i].x, (double)r,
                     (double)rows[i].want);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static const struct real_row { enum ir_op_kind op; double x, y, want; } real_rows[] = {
#define REAL(op, x, y, want) {IR_##op, x, y, want},
#define COMPLEX(op, a, b, c, d, re, im)
#include "elt_values.inc"
#undef REAL
#undef COMPLEX
};

static const struct complex_row { enum ir_op_kind op; double x[2], y[2], want[2]; } complex_rows[] = {
#define REAL(op, x, y, want)
#define COMPLEX(op, a, b, c, d, re, im) {IR_##op, {a, b}, {c, d}, {re, im}},
#include "elt_values.inc"
#undef REAL
#undef COMPLEX
};

/* How many codes two numbers are apart. */
static uint64_t apart(enum fp_kind fp, uint64_t a, uint64_t b) {
    uint64_t sign = fp_get(fp)->sign, x = a & ~sign, y = b & ~sign;
    return (a ^ b) & sign ? x + y : x > y ? x - y : y - x;
}

static void expect_near(enum ir_op_kind op, enum ir_dtype t, enum fp_kind fp, uint64_t got, double want, double x, double y) {
    uint64_t bound = LDBL_MANT_DIG > DBL_MANT_DIG ? 1 : 3;
    if (t == IR_F32_T && (op == IR_COSH || op == IR_SINH))
        bound += (uint64_t)fabs(2 * x); /* CHLO's expansion */
    if (fp_is_nan(fp, got) || apart(fp, got, fp_encode(fp, want)) > bound)
        fail_msg("%s %s(%a, %a) = %a, not %a", ir_op_info(op)->name, ir_dtype_get(t)->name, x, y, fp_decode(fp, got), want);
}

static void real_functions(void **state) {
    static const enum ir_dtype types[] = {IR_BF16_T, IR_F16_T, IR_F32_T, IR_F64_T};
    for (size_t i = 0; i < COUNT(real_rows); i++)
        for (size_t j = 0; j < COUNT(types); j++) {
            const struct real_row *row = &real_rows[i];
            enum fp_kind fp = ir_dtype_get(types[j])->fp;
            uint64_t x = fp_encode(fp, row->x), y = fp_encode(fp, row->y), a, b, r;
            if (fp_decode(fp, x) != row->x || fp_decode(fp, y) != row->y)
                continue; /* another number in this format */
            bool two = row->op == IR_ATAN2 || row->op == IR_POWER || row->op == IR_ZETA || row->op == IR_POLYGAMMA;
            struct elt_kernel k = kernel(*state, row->op, types[j], two ? 2 : 1, types[j]);
            fp_store(fp, &a, x);
            fp_store(fp, &b, y);
            k.run(&k, (const void *[]){&a, &b}, &r, 1);
            expect_near(row->op, types[j], fp, fp_load(fp, &r), row->want, row->x, row->y);
        }
}

static void complex_functions(void **state) {
    for (size_t i = 0; i < COUNT(complex_rows); i++) {
        const struct complex_row *row = &complex_rows[i];
        bool two = row->op == IR_ATAN2 || row->op == IR_POWER || row->op == IR_DIVIDE, narrow = true;
        double r[2];
        struct elt_kernel k = kernel(*state, row->op, IR_C128_T, two ? 2 : 1, IR_C128_T);
        k.run(&k, (const void *[]){row->x, row->y}, r, 1);
        for (int j = 0; j < 2; j++)
            expect_near(row->op, IR_C128_T, FP_F64, fp_f64_bits(r[j]), row->want[j], row->x[0], row->x[1]);
        float x[2], y[2], s[2];
        for (int j = 0; j < 2; j++) {
            x[j] = (float)row->x[j];
            y[j] = (float)row->y[j];
            narrow &= (double)x[j] == row->x[j] && (double)y[j] == row->y[j];
        }
        k = kernel(*state, row->op, IR_C64_T, two ? 2 : 1, IR_C64_T);
        k.run(&k, (const void *[]){x, y}, s, 1);
        for (int j = 0; j < 2 && narrow; j++)
            expect_near(row->op, IR_C64_T, FP_F32, fp_f32_bits(s[j]), row->want[j], row->x[0], row->x[1]);
    }
}

static double call(void **state, enum ir_op_kind op, double x, double y) {
    bool two = op == IR_ATAN2 || op == IR_POWER || op == IR_ZETA || op == IR_POLYGAMMA;
    struct elt_kernel k = kernel(*state, op, IR_F64_T, two ? 2 : 1, IR_F64_T);
    double r;
    k.run(&k, (const void *[]){&x, &y}, &r, 1);
    return r;
}

/* Limits, poles and what lies outside of a domain. */
static void function_edges(void **state) {
    static const struct { enum ir_op_kind op; double x, y, want; } rows[] = {
        {IR_ERF_INV, 1, 0, INFINITY}, {IR_ERF_INV, -1, 0, -INFINITY}, {IR_ERF_INV, 1.5, 0, NAN},
        {IR_ERF_INV, -0.0, 0, -0.0},
        {IR_LGAMMA, 0, 0, INFINITY}, {IR_LGAMMA, -3, 0, INFINITY}, {IR_LGAMMA, -INFINITY, 0, INFINITY},
        {IR_LGAMMA, 1, 0, 0},
        {IR_DIGAMMA, 0, 0, NAN}, {IR_DIGAMMA, -2, 0, NAN}, {IR_DIGAMMA, INFINITY, 0, INFINITY},
        {IR_DIGAMMA, NAN, 0, NAN},
        {IR_ZETA, 1, 2, INFINITY}, {IR_ZETA, 0.5, 2, NAN}, {IR_ZETA, 2, 0, INFINITY}, {IR_ZETA, 3, -1, NAN},
        {IR_ZETA, 2.5, -0.5, NAN}, {IR_ZETA, 2, INFINITY, 0}, {IR_ZETA, INFINITY, 2, 0},
        {IR_ZETA, NAN, 2, NAN},
        {IR_POLYGAMMA, 0.5, 2, NAN}, {IR_POLYGAMMA, -1, 2, NAN}, {IR_POLYGAMMA, 1, -1, INFINITY},
        {IR_POLYGAMMA, 2, -1, NAN},
        {IR_BESSEL_I1E, 0, 0, 0}, {IR_BESSEL_I1E, -INFINITY, 0, -0.0}, {IR_BESSEL_I1E, NAN, 0, NAN},
        {IR_LOGISTIC, INFINITY, 0, 1}, {IR_LOGISTIC, -INFINITY, 0, 0}, {IR_RSQRT, 0, 0, INFINITY},
        {IR_RSQRT, -0.0, 0, -INFINITY},
        {IR_RSQRT, INFINITY, 0, 0}, {IR_RSQRT, -1, 0, NAN}, {IR_CBRT, -8, 0, -2},
        {IR_LOG, 0, 0, -INFINITY}, {IR_LOG, -1, 0, NAN},
        {IR_ACOSH, 0.5, 0, NAN}, {IR_ATANH, 1, 0, INFINITY}, {IR_ATANH, 2, 0, NAN},
        {IR_POWER, 1, NAN, 1}, {IR_POWER, NAN, 0, 1},
        {IR_POWER, -8, 1.0 / 3, NAN}, {IR_POWER, -0.0, -3, -INFINITY},
        {IR_ATAN2, -0.0, -0.0, -0x1.921fb54442d18p+1},
        {IR_ATAN2, INFINITY, -INFINITY, 0x1.2d97c7f3321d2p+1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double r = call(state, rows[i].op, rows[i].x, rows[i].y);
        if (!(isnan(r) && isnan(rows[i].want)) && fp_f64_bits(r) != fp_f64_bits(rows[i].want))
            fail_msg("%s(%g, %g) = %g, not %g", ir_op_info(rows[i].op)->name, rows[i].x, rows[i].y, r, rows[i].want);
    }
}

static void complex_edges(void **state) {
    static const struct { enum ir_op_kind op; float x, y, re, im; } rows[] = {
        {IR_SQRT, -1, 0.0f, 0, 1}, {IR_SQRT, -1, -0.0f, 0, -1}, {IR_SQRT, -INFINITY, 1, 0, INFINITY},
        {IR_SQRT, NAN, INFINITY, INFINITY, INFINITY}, {IR_LOG, 0, 0, -INFINITY, 0},
        {IR_LOG, -INFINITY, INFINITY, INFINITY, 0x1.2d97c8p+1f},
        {IR_EXPONENTIAL, INFINITY, 0, INFINITY, 0}, {IR_EXPONENTIAL, -INFINITY, 1, 0, 0},
        {IR_EXPONENTIAL, 100, 1e-45f, INFINITY, 0x1.3494aap-5f},
        {IR_TANH, INFINITY, 1, 1, 0}, {IR_TANH, 50, 1, 1, 0},
        {IR_ASIN, INFINITY, INFINITY, 0x1.921fb6p-1f, INFINITY},
        {IR_ACOS, 2, 0.0f, 0, -0x1.512428p+0f}, {IR_ACOS, 2, -0.0f, 0, 0x1.512428p+0f},
        {IR_ACOSH, -1, 0, 0, 0x1.921fb6p+1f},
        {IR_ATANH, 1, 0, INFINITY, 0}, {IR_ATANH, INFINITY, INFINITY, 0, 0x1.921fb6p+0f},
        {IR_ATAN, 0, 2, 0x1.921fb6p+0f, 0x1.193ea8p-1f},
        {IR_SIGN, 0, 0, 0, 0}, {IR_SIGN, 3, -4, 0.6f, -0.8f}, {IR_SQUARE, 3, 3, 0, 18},
        {IR_CONJ, 1, 2, 1, -2}, {IR_NEGATE, 1, -2, -1, 2},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        float z[2] = {rows[i].x, rows[i].y}, r[2], want[2] = {rows[i].re, rows[i].im};
        struct elt_kernel k = kernel(*state, rows[i].op, IR_C64_T, 1, IR_C64_T);
        k.run(&k, (const void *[]){z}, r, 1);
        for (int j = 0; j < 2; j++)
            if (r[j] != want[j] && !(want[j] == 0 && fabsf(r[j]) < 1e-37f))
                fail_msg("%s(%g, %g) = (%a, %a), not (%a, %a)", ir_op_info(rows[i].op)->name, (double)z[0], (double)z[1],
                         (double)r[0], (double)r[1], (double)want[0], (double)want[1]);
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* One number of any real type: an integer where `whole`. */
struct number {
    bool whole;
    int128 i;
    double f;
};

static struct number read_number(enum ir_dtype t, const void *p) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_FLOAT)
        return (struct number){.f = fp_decode(info->fp, fp_load(info->fp, p))};
    return (struct number){.whole = true, .i = get_int(t, p)};
}

static bool converts_to(enum ir_dtype t, struct number x, const void *p) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_FLOAT) {
        double f = x.whole ? (double)x.i : x.f; /* the samples are exact in double */
        return same_code(info->fp, fp_load(info->fp, p), fp_encode(info->fp, f));
    }
    int128 got = get_int(t, p);
    if (t == IR_I1_T)
        return got == (x.whole ? x.i != 0 : x.f != 0);
    if (x.whole)
        return got == wrap(t, x.i);
    return got == (isnan(x.f) ? 0 : x.f >= (double)most(t) ? most(t) : x.f <= (double)least(t) ? least(t) : (int128)x.f);
}

static void conversions(void **state) {
    enum ir_dtype types[1 + COUNT(integers) + COUNT(floats)] = {IR_I1_T};
    memcpy(types + 1, integers, sizeof integers);
    memcpy(types + 1 + COUNT(integers), floats, sizeof floats);
    static const double values[] = {0, 1, -1, 2, 3, -3.5, 0.5, -0.75, 7, 100, 127.5, -128.5, 255.75, 300, -40000, 65535,
                                    2147483647.5, -2147483649.0, 4294967296.0, 9.3e18, -9.3e18, 1.9e19, 1e30, INFINITY,
                                    -INFINITY, NAN, 1e-3};
    for (size_t i = 0; i < COUNT(types); i++)
        for (size_t j = 0; j < COUNT(types); j++) {
            const struct ir_dtype_info *from = ir_dtype_get(types[i]);
            struct elt_kernel k = kernel(*state, IR_CONVERT, types[i], 1, types[j]);
            uint64_t in[COUNT(values)], out[COUNT(values)];
            for (size_t v = 0; v < COUNT(values); v++) {
                void *p = (char *)in + v * from->bytes;
                double x = isfinite(values[v]) && fabs(values[v]) < 9e18 ? values[v] : 5;
                if (from->cls == IR_FLOAT)
                    fp_store(from->fp, p, fp_encode(from->fp, values[v]));
                else
                    put_int(types[i], p, types[i] == IR_I1_T ? x > 0 : wrap(types[i], (int128)x));
            }
            k.run(&k, (const void *[]){in}, out, COUNT(values));
            for (size_t v = 0; v < COUNT(values); v++) {
                struct number x = read_number(types[i], (char *)in + v * from->bytes);
                if (!converts_to(types[j], x, (char *)out + v * ir_dtype_get(types[j])->bytes))
                    fail_msg("%s to %s: %g", from->name, ir_dtype_get(types[j])->name, x.whole ? (double)x.i : x.f);
            }
        }
}

/* 2^60 + 2^52 is half way between two bf16, and 2^60 + 2^36 between two f32; one more decides. */
static void conversions_round_once(void **state) {
    const int64_t in[] = {(INT64_C(1) << 60) + (INT64_C(1) << 52), (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1,
                          -(INT64_C(1) << 60) - (INT64_C(1) << 52) - 1, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1};
    uint16_t bf16[4];
    float f32[4];
    struct elt_kernel k = kernel(*state, IR_CONVERT, IR_I64_T, 1, IR_BF16_T);
    k.run(&k, (const void *[]){in}, bf16, 4);
    assert_int_equal(bf16[0], 0x5d80);
    assert_int_equal(bf16[1], 0x5d81);
    assert_int_equal(bf16[2], 0xdd81);
    k = kernel(*state, IR_CONVERT, IR_I64_T, 1, IR_F32_T);
    k.run(&k, (const void *[]){in}, f32, 4);
    assert_true(f32[3] == 0x1.000002p60f);
    uint64_t big = UINT64_MAX;
    k = kernel(*state, IR_CONVERT, IR_UI64_T, 1, IR_BF16_T);
    k.run(&k, (const void *[]){&big}, bf16, 1);
    assert_int_equal(bf16[0], 0x5f80);
}

static void conversions_of_complex(void **state) {
    const float z[] = {1.5f, 2, -3.75f, NAN, 0, 7};
    int8_t i8[3];
    uint8_t pred[3];
    double wide[6];
    uint16_t bf16[3];
    struct elt_kernel k = kernel(*state, IR_CONVERT, IR_C64_T, 1, IR_I8_T);
    k.run(&k, (const void *[]){z}, i8, 3);
    assert_memory_equal(i8, ((int8_t[]){1, -3, 0}), 3);
    k = kernel(*state, IR_CONVERT, IR_C64_T, 1, IR_I1_T);
    k.run(&k, (const void *[]){z}, pred, 3);
    assert_memory_equal(pred, ((uint8_t[]){1, 1, 0}), 3);
    k = kernel(*state, IR_CONVERT, IR_C64_T, 1, IR_BF16_T);
    k.run(&k, (const void *[]){z}, bf16, 3);
    assert_memory_equal(bf16, ((uint16_t[]){0x3fc0, 0xc070, 0}), 6);
    k = kernel(*state, IR_CONVERT, IR_C64_T, 1, IR_C128_T);
    k.run(&k, (const void *[]){z}, wide, 3);
    assert_true(wide[0] == 1.5 && wide[1] == 2 && wide[2] == -3.75 && isnan(wide[3]) && wide[5] == 7);
    k = kernel(*state, IR_CONVERT, IR_BF16_T, 1, IR_C128_T);
    k.run(&k, (const void *[]){bf16}, wide, 3);
    assert_true(wide[0] == 1.5 && wide[1] == 0 && wide[2] == -3.75 && wide[3] == 0);
}

/* ---- types that do not fit ------------------------------------------------------------------- */

static void refusals(void **state) {
    struct fixture *f = *state;
    struct elt_kernel k;
    static const struct { enum ir_op_kind op; uint32_t nin; enum ir_dtype in[3], out; } rows[] = {
        {IR_SUBTRACT, 2, {IR_I1_T, IR_I1_T}, IR_I1_T}, {IR_ADD, 2, {IR_I32_T, IR_I64_T}, IR_I32_T},
        {IR_ADD, 2, {IR_I32_T, IR_I32_T}, IR_I64_T}, {IR_SINE, 1, {IR_I32_T}, IR_I32_T},
        {IR_ABS, 1, {IR_UI8_T}, IR_UI8_T},
        {IR_REMAINDER, 2, {IR_C64_T, IR_C64_T}, IR_C64_T}, {IR_AND, 2, {IR_F32_T, IR_F32_T}, IR_F32_T},
        {IR_SELECT, 3, {IR_I8_T, IR_F32_T, IR_F32_T}, IR_F32_T}, {IR_ABS, 1, {IR_C64_T}, IR_C64_T},
        {IR_COMPLEX, 2, {IR_F32_T, IR_F32_T}, IR_C128_T}, {IR_BESSEL_I1E, 1, {IR_C64_T}, IR_C64_T},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        ir_op op = new_op(f, rows[i].op, rows[i].in, rows[i].nin, rows[i].out);
        assert_int_equal(elt_resolve(f->m, &f->d, op, rows[i].in, rows[i].nin, rows[i].out, &k), HILO_UNIMPLEMENTED);
        assert_int_equal(f->d.errors, i + 1);
    }
}

/* ---- whole programs -------------------------------------------------------------------------- */

static ir_op find_op(const struct ir_module *m, ir_block b, enum ir_op_kind kind) {
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (ir_kind(m, op) == kind)
            return op;
    return (ir_op){0};
}

/* Adds the program to the fixture's module and runs its `main`, which checks itself. */
static hilo_status run_text(struct fixture *f, const char *text) {
    hilo_allocator al = mem_system_allocator();
    if (read_text(f->m, &f->d, str_of(text), 1) != HILO_OK)
        fail_msg("%s", f->d.first->message);
    ir_op func = ir_module_symbol(f->m, STR("main"));
    hilo_status status = eval_func(f->m, func, NULL, 0, NULL, 0, &al, NULL, &f->d);
    if (status != HILO_OK)
        print_message("%s\n", f->d.first->message);
    return status;
}

static void handlers(void **state) {
    assert_int_equal(run_text(*state,
        "func.func @main() {\n"
        "  %x = stablehlo.constant dense<[[1.0, 5.0], [-3.0, 0.5]]> : tensor<2x2xf32>\n"
        "  %lo = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %hi = stablehlo.constant dense<[[2.0, 2.0], [2.0, 2.0]]> : tensor<2x2xf32>\n"
        "  %c = stablehlo.clamp %lo, %x, %hi : (tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>\n"
        "  check.expect_eq_const %c, dense<[[1.0, 2.0], [0.0, 0.5]]> : tensor<2x2xf32>\n"
        "  %p = stablehlo.constant dense<true> : tensor<i1>\n"
        "  %s = stablehlo.select %p, %x, %hi : tensor<i1>, tensor<2x2xf32>\n"
        "  check.expect_eq %s, %x : tensor<2x2xf32>\n"
        "  %b = stablehlo.bitcast_convert %lo : (tensor<f32>) -> tensor<16xui2>\n"
        "  check.expect_eq_const %b, dense<0> : tensor<16xui2>\n"
        "  %n = stablehlo.constant dense<[[1, -2, 3, -8]]> : tensor<1x4xi4>\n"
        "  %w = stablehlo.bitcast_convert %n : (tensor<1x4xi4>) -> tensor<1xui16>\n"
        "  check.expect_eq_const %w, dense<0x83E1> : tensor<1xui16>\n"
        "  %v = stablehlo.bitcast_convert %w : (tensor<1xui16>) -> tensor<1x4xi4>\n"
        "  check.expect_eq %v, %n : tensor<1x4xi4>\n"
        "  func.return\n}\n"), HILO_OK);
}

static void broadcasting(void **state) {
    assert_int_equal(run_text(*state,
        "func.func @main() {\n"
        "  %row = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
        "  %col = stablehlo.constant dense<[[10], [20]]> : tensor<2x1xi32>\n"
        "  %one = stablehlo.constant dense<5> : tensor<i32>\n"
        "  %a = chlo.broadcast_add %row, %col : (tensor<3xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>\n"
        "  check.expect_eq_const %a, dense<[[11, 12, 13], [21, 22, 23]]> : tensor<2x3xi32>\n"
        "  %b = chlo.broadcast_subtract %one, %a : (tensor<i32>, tensor<2x3xi32>) -> tensor<2x3xi32>\n"
        "  check.expect_eq_const %b, dense<[[-6, -7, -8], [-16, -17, -18]]> : tensor<2x3xi32>\n"
        "  %p = chlo.broadcast_compare %row, %col {comparison_direction = #chlo<comparison_direction LT>}\n"
        "    : (tensor<3xi32>, tensor<2x1xi32>) -> tensor<2x3xi1>\n"
        "  %s = chlo.broadcast_select %p, %one, %col : (tensor<2x3xi1>, tensor<i32>, tensor<2x1xi32>) -> tensor<2x3xi32>\n"
        "  check.expect_eq_const %s, dense<5> : tensor<2x3xi32>\n"
        "  %k = \"chlo.constant_like\"(%a) {value = 2.5 : bf16} : (tensor<2x3xi32>) -> tensor<2x3xbf16>\n"
        "  check.expect_eq_const %k, dense<2.5> : tensor<2x3xbf16>\n"
        "  func.return\n}\n"), HILO_OK);
}

static void shapes_that_differ(void **state) {
    assert_int_equal(run_text(*state,
        "func.func @main() {\n"
        "  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
        "  %b = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
        "  %x = tensor.cast %a : tensor<3xi32> to tensor<?xi32>\n"
        "  %y = tensor.cast %b : tensor<2xi32> to tensor<?xi32>\n"
        "  %r = stablehlo.add %x, %y : tensor<?xi32>\n"
        "  func.return\n}\n"), HILO_INVALID_ARGUMENT);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* A program whose `main` has one op with one region: that region, compiled. */
static struct lanes *compile_body(struct fixture *f, const char *text, enum ir_op_kind kind, ir_region *r) {
    if (read_text(f->m, &f->d, str_of(text), 1) != HILO_OK)
        fail_msg("%s", f->d.first->message);
    ir_op op = find_op(f->m, ir_func_body(f->m, ir_module_symbol(f->m, STR("main"))), kind);
    struct eval cx = {.m = f->m, .d = &f->d, .al = mem_system_allocator()};
    struct lanes *l;
    *r = ir_op_region(f->m, op, 0);
    assert_int_equal(lanes_compile(&cx, *r, &l), HILO_OK);
    return l;
}

/* What JAX compares floats with when it sorts them: -0 is 0, NaN is last. */
static const char sort_text[] =
    "func.func @main(%x: tensor<8xf32>, %y: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {\n"
    "  %0:2 = \"stablehlo.sort\"(%x, %y) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):\n"
    "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>\n"
    "    %1 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %2 = stablehlo.select %1, %zero, %a : tensor<i1>, tensor<f32>\n"
    "    %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>\n"
    "    %5 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %6 = stablehlo.select %5, %zero, %b : tensor<i1>, tensor<f32>\n"
    "    %7 = stablehlo.compare NE, %6, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>\n"
    "    %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %9 : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)\n"
    "  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>\n}\n";

static void lanes_comparator(void **state) {
    ir_region r;
    struct lanes *l = compile_body(*state, sort_text, IR_SORT, &r);
    assert_non_null(l);
    static const float v[] = {-INFINITY, -1, -0.0f, 0.0f, 2, INFINITY, NAN, -NAN};
    static const int place[] = {0, 1, 2, 2, 3, 4, 5, 5};
    const int32_t index = 0;
    for (size_t i = 0; i < COUNT(v); i++)
        for (size_t j = 0; j < COUNT(v); j++) {
            uint8_t less;
            lanes_run(l, (const void *[]){&v[i], &v[j], &index, &index}, (void *[]){&less}, 1);
            assert_int_equal(less, place[i] < place[j]);
        }
    lanes_free(l);
}

/* JAX's argmax; results over the arguments, as reduce runs it. */
static void lanes_argmax(void **state) {
    ir_region r;
    struct lanes *l = compile_body(*state,
        "func.func @main(%x: tensor<8xf32>, %y: tensor<8xi32>, %i: tensor<f32>, %j: tensor<i32>)\n"
        "    -> (tensor<f32>, tensor<i32>) {\n"
        "  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0]\n"
        "    : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
        "    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {\n"
        "    %1 = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    %3 = stablehlo.or %1, %2 : tensor<i1>\n"
        "    %4 = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    %5 = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    %6 = stablehlo.and %4, %5 : tensor<i1>\n"
        "    %7 = stablehlo.or %3, %6 : tensor<i1>\n"
        "    %8 = stablehlo.select %3, %a, %c : tensor<i1>, tensor<f32>\n"
        "    %9 = stablehlo.select %7, %b, %d : tensor<i1>, tensor<i32>\n"
        "    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>\n"
        "  }\n"
        "  return %0#0, %0#1 : tensor<f32>, tensor<i32>\n}\n", IR_REDUCE, &r);
    assert_non_null(l);
    float best[300], x[300];
    int32_t at[300], index[300];
    size_t n = lanes_most() < 300 ? lanes_most() : 300;
    for (size_t i = 0; i < n; i++) {
        best[i] = 5;
        at[i] = 7;
        x[i] = (float)(i % 11);
        index[i] = (int32_t)(i % 3) * 5;
    }
    lanes_run(l, (const void *[]){best, at, x, index}, (void *[]){best, at}, n);
    for (size_t i = 0; i < n; i++) {
        float y = (float)(i % 11);
        int32_t k = (int32_t)(i % 3) * 5;
        assert_true(best[i] == (y > 5 ? y : 5));
        assert_int_equal(at[i], y > 5 || (y == 5 && k < 7) ? k : 7);
    }
    lanes_free(l);
}

/* Arguments returned, exchanged, over their own memory. */
static void lanes_exchange(void **state) {
    ir_region r;
    struct lanes *l = compile_body(*state,
        "func.func @main(%x: tensor<8xi32>, %i: tensor<i32>) -> (tensor<i32>, tensor<i32>) {\n"
        "  %0:2 = stablehlo.reduce(%x init: %i), (%x init: %i) across dimensions = [0]\n"
        "    : (tensor<8xi32>, tensor<8xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
        "    reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {\n"
        "    stablehlo.return %b, %a : tensor<i32>, tensor<i32>\n"
        "  }\n"
        "  return %0#0, %0#1 : tensor<i32>, tensor<i32>\n}\n", IR_REDUCE, &r);
    assert_non_null(l);
    int32_t a[2] = {1, 2}, b[2] = {3, 4}, unused[2] = {0, 0};
    lanes_run(l, (const void *[]){a, b, unused, unused}, (void *[]){a, b}, 2);
    assert_memory_equal(a, ((int32_t[]){3, 4}), sizeof a);
    assert_memory_equal(b, ((int32_t[]){1, 2}), sizeof b);
    lanes_free(l);
}

/* A captured scalar and a constant of the region. */
static void lanes_capture(void **state) {
    assert_int_equal(run_text(*state,
        "func.func @main() {\n"
        "  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi16>\n"
        "  %k = stablehlo.constant dense<10> : tensor<i16>\n"
        "  %r = \"stablehlo.map\"(%x, %x) ({\n"
        "  ^bb0(%a: tensor<i16>, %b: tensor<i16>):\n"
        "    %one = stablehlo.constant dense<1> : tensor<i16>\n"
        "    %0 = stablehlo.multiply %a, %k : tensor<i16>\n"
        "    %1 = stablehlo.add %0, %one : tensor<i16>\n"
        "    %2 = stablehlo.reshape %1 : (tensor<i16>) -> tensor<i16>\n"
        "    %3 = stablehlo.subtract %2, %b : tensor<i16>\n"
        "    stablehlo.return %3 : tensor<i16>\n"
        "  }) {dimensions = array<i64: 0>} : (tensor<3xi16>, tensor<3xi16>) -> tensor<3xi16>\n"
        "  check.expect_eq_const %r, dense<[10, 19, 28]> : tensor<3xi16>\n"
        "  func.return\n}\n"), HILO_OK);
}

/* A reduction with that body, whose result is %r. */
static const char *reducer(const char *body, char text[1024]) {
    snprintf(text, 1024,
             "func.func @main(%%x: tensor<8xf32>, %%i: tensor<f32>) -> tensor<f32> {\n"
             "  %%0 = stablehlo.reduce(%%x init: %%i) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
             "    reducer(%%a: tensor<f32>, %%b: tensor<f32>) {\n%s    stablehlo.return %%r : tensor<f32>\n  }\n"
             "  return %%0 : tensor<f32>\n}\n", body);
    return text;
}

static enum ir_op_kind single(const char *body) {
    void *state;
    ir_region r;
    char text[1024];
    assert_int_equal(setup(&state), 0);
    struct fixture *f = state;
    lanes_free(compile_body(f, reducer(body, text), IR_REDUCE, &r));
    enum ir_op_kind kind = lanes_single_op(f->m, r);
    teardown(&state);
    return kind;
}

static void single_ops(void **state) {
    (void)state;
    assert_int_equal(single("%r = stablehlo.add %a, %b : tensor<f32>\n"), IR_ADD);
    assert_int_equal(single("%r = stablehlo.maximum %b, %a : tensor<f32>\n"), IR_MAXIMUM);
    assert_int_equal(single("%r = stablehlo.subtract %a, %b : tensor<f32>\n"), IR_SUBTRACT);
    assert_int_equal(single("%r = stablehlo.subtract %b, %a : tensor<f32>\n"), IR_OP_NONE);
    assert_int_equal(single("%r = stablehlo.add %a, %a : tensor<f32>\n"), IR_OP_NONE);
    assert_int_equal(single("%s = stablehlo.add %a, %b : tensor<f32>\n%r = stablehlo.negate %s : tensor<f32>\n"), IR_OP_NONE);
}

/* Tensors in the region: not a program over lanes. */
static void lanes_refuse(void **state) {
    ir_region r;
    char text[1024];
    const char *body = "%c = stablehlo.constant dense<1.0> : tensor<2xf32>\n%r = stablehlo.add %a, %b : tensor<f32>\n";
    assert_null(compile_body(*state, reducer(body, text), IR_REDUCE, &r));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(int_pairs), TEST(int_singles), TEST(int_comparisons), TEST(booleans), TEST(float_pairs),
        TEST(float_singles), TEST(float_comparisons), TEST(neighbours), TEST(precision), TEST(real_functions),
        TEST(complex_functions), TEST(function_edges), TEST(complex_edges), TEST(conversions), TEST(conversions_round_once),
        TEST(conversions_of_complex), TEST(refusals), TEST(handlers), TEST(broadcasting), TEST(shapes_that_differ),
        TEST(lanes_comparator), TEST(lanes_argmax), TEST(lanes_exchange), TEST(lanes_capture), TEST(single_ops),
        TEST(lanes_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
