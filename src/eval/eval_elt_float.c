/* Kernels of real numbers.
 *
 * f32 and f64 have loops of their own for arithmetic. Every other function is a row of FUNCTIONS: f32
 * computes it in double and rounds once, f64 in the variant that is accurate for it (eval_math.h).
 *
 * The formats below compute block by block in a wider one and round once, so the result is rounded
 * correctly: arithmetic in f32, where rounding twice does no harm (24 bits are at least twice their
 * precision and 2, and their results keep that precision above f32's smallest numbers), else in f64. */
#include "eval/eval_elt.h"
#include "eval/eval_math.h"

#include <assert.h>
#include <math.h>

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)

#define PREFIX    f32
#define T         float
#define S         int32_t
#define M(name)   name##f
#define TO_BITS   fp_f32_bits
#define FROM_BITS fp_f32_from_bits
#include "eval/eval_elt_float_tmpl.h"

#define PREFIX    f64
#define T         double
#define S         int64_t
#define M(name)   name
#define TO_BITS   fp_f64_bits
#define FROM_BITS fp_f64_from_bits
#include "eval/eval_elt_float_tmpl.h"

/* ---- functions ---- */

/* F1(op, narrow, full), F2 with two arguments. Errors of the C library's double functions in use as
   `full` are below 1 ulp in glibc 2.36; sqrt is arithmetic. */
/* clang-format off */
#define FUNCTIONS(F1, F2)                                                                          \
    F1(ACOS, acos, acos)                                                                           \
    F1(ACOSH, acosh, full_acosh)                                                                   \
    F1(ASIN, asin, asin)                                                                           \
    F1(ASINH, asinh, full_asinh)                                                                   \
    F1(ATAN, atan, atan)                                                                           \
    F1(ATANH, atanh, full_atanh)                                                                   \
    F1(BESSEL_I1E, math_bessel_i1e, math_bessel_i1e)                                               \
    F1(CBRT, cbrt, full_cbrt)                                                                      \
    F1(CHLO_TAN, tan, tan)                                                                         \
    F1(COSH, narrow_cosh, full_cosh)                                                               \
    F1(COSINE, cos, cos)                                                                           \
    F1(DIGAMMA, math_digamma, math_digamma)                                                        \
    F1(ERF, erf, full_erf)                                                                         \
    F1(ERF_INV, narrow_erf_inv, full_erf_inv)                                                      \
    F1(ERFC, erfc, full_erfc)                                                                      \
    F1(EXPONENTIAL, exp, exp)                                                                      \
    F1(EXPONENTIAL_MINUS_ONE, expm1, expm1)                                                        \
    F1(LGAMMA, narrow_lgamma, full_lgamma)                                                         \
    F1(LOG, log, log)                                                                              \
    F1(LOG_PLUS_ONE, log1p, log1p)                                                                 \
    F1(LOGISTIC, narrow_logistic, full_logistic)                                                   \
    F1(RSQRT, narrow_rsqrt, full_rsqrt)                                                            \
    F1(SINE, sin, sin)                                                                             \
    F1(SINH, narrow_sinh, full_sinh)                                                               \
    F1(TAN, tan, tan)                                                                              \
    F1(TANH, tanh, full_tanh)                                                                      \
    F2(ATAN2, atan2, atan2)                                                                        \
    F2(POLYGAMMA, math_polygamma, math_polygamma)                                                  \
    F2(POWER, pow, pow)                                                                            \
    F2(ZETA, math_zeta, math_zeta)
/* clang-format on */

struct function1 {
    double (*narrow)(double), (*full)(double);
};
struct function2 {
    double (*narrow)(double, double), (*full)(double, double);
};

#define F1(op, narrow, full) static const struct function1 function_##op = {narrow, full};
#define F2(op, narrow, full) static const struct function2 function_##op = {narrow, full};
FUNCTIONS(F1, F2)
#undef F1
#undef F2

#define LOOP1(name, T, variant)                                                                    \
    static void name##1(const struct elt_kernel *k, const void *const *in, void *out, size_t n)    \
    {                                                                                              \
        const struct function1 *f = k->extra;                                                      \
        const T *a = in[0];                                                                        \
        T *r = out;                                                                                \
        for (size_t i = 0; i < n; i++) r[i] = (T)f->variant((double)a[i]);                         \
    }
#define LOOP2(name, T, variant)                                                                    \
    static void name##2(const struct elt_kernel *k, const void *const *in, void *out, size_t n)    \
    {                                                                                              \
        const struct function2 *f = k->extra;                                                      \
        const T *a = in[0], *b = in[1];                                                            \
        T *r = out;                                                                                \
        for (size_t i = 0; i < n; i++) r[i] = (T)f->variant((double)a[i], (double)b[i]);           \
    }
LOOP1(call_f32_, float, narrow)
LOOP2(call_f32_, float, narrow)
LOOP1(call_f64_, double, full)
LOOP2(call_f64_, double, full)
LOOP1(call_wide_, double, narrow)
LOOP2(call_wide_, double, narrow)

/* For f32, for f64, and for what lies below in double. */
#define F1(op, narrow, full) {IR_##op, CALL(1), &function_##op},
#define F2(op, narrow, full) {IR_##op, CALL(2), &function_##op},
#define CALL(n) call_f32_##n
static const struct elt_row f32_functions[] = {FUNCTIONS(F1, F2){IR_OP_NONE, NULL, NULL}};
#undef CALL
#define CALL(n) call_f64_##n
static const struct elt_row f64_functions[] = {FUNCTIONS(F1, F2){IR_OP_NONE, NULL, NULL}};
#undef CALL
#define CALL(n) call_wide_##n
static const struct elt_row wide_functions[] = {FUNCTIONS(F1, F2){IR_OP_NONE, NULL, NULL}};
#undef CALL
#undef F1
#undef F2

/* ---- on codes ---- */

/* IEEE's nextAfter on the format's own grid. */
static void next_after(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    enum fp_kind fp = ir_dtype_get(k->in)->fp;
    size_t bytes = fp_get(fp)->bytes;
    const uint8_t *a = in[0], *b = in[1];
    uint8_t *r = out;
    for (size_t i = 0; i < n * bytes; i += bytes)
        fp_store(fp, r + i, fp_nextafter(fp, fp_load(fp, a + i), fp_load(fp, b + i)));
}

/* Rounds the mantissa to man_bits; then what is beyond the range of exp_bits becomes infinite or zero,
   subnormals of the narrower format too. A NaN that has no mantissa left becomes infinite. */
static uint64_t reduce(const struct fp_info *f, uint64_t code, int64_t exp_bits, int64_t man_bits) {
    uint64_t sign = code & f->sign, mag = code & ~f->sign;
    if (man_bits < f->man_bits) {
        int drop = f->man_bits - (int)man_bits;
        uint64_t unit = UINT64_C(1) << drop;
        mag = (mag + (unit >> 1) - 1 + (mag >> drop & 1)) & ~(unit - 1);
    }
    if (exp_bits < f->exp_bits) {
        int64_t reach = (INT64_C(1) << (exp_bits - 1)) - 1, exp = (int64_t)(mag >> f->man_bits);
        if (exp > f->bias + reach)
            mag = f->overflow;
        if (exp <= f->bias - reach)
            mag = 0;
    }
    if (mag > f->largest)
        mag = f->overflow;
    return mag == 0 && f->flavour == FPF_FNUZ ? 0 : mag | sign;
}

static void reduce_precision(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    enum fp_kind fp = ir_dtype_get(k->in)->fp;
    const struct fp_info *f = fp_get(fp);
    const uint8_t *a = in[0];
    uint8_t *r = out;
    for (size_t i = 0; i < n * f->bytes; i += f->bytes) {
        uint64_t code = fp_load(fp, a + i);
        if (!fp_is_nan(fp, code))
            code = reduce(f, code, k->param[0], k->param[1]);
        else if (k->param[1] == 0)
            code = f->overflow;
        fp_store(fp, r + i, code);
    }
}

/* ---- formats below f32 ---- */

#define SMALL(name, T)                                                                             \
    static void small_##name(const struct elt_kernel *k, const void *const *in, void *out,         \
                             size_t n)                                                             \
    {                                                                                              \
        const struct elt_row *row = k->extra;                                                      \
        struct elt_kernel inner = *k;                                                              \
        inner.run = row->run;                                                                      \
        inner.extra = row->extra;                                                                  \
        enum fp_kind fp = ir_dtype_get(k->in)->fp;                                                 \
        size_t bytes = ir_dtype_get(k->in)->bytes;                                                 \
        bool encode = ir_dtype_get(k->out)->cls == IR_FLOAT;                                       \
        T block[3][ELT_BLOCK];                                                                     \
        const void *const blocks[3] = {block[0], block[1], block[2]};                              \
        for (size_t i = 0; i < n; i += ELT_BLOCK) {                                                \
            size_t m = elt_block(n, i);                                                            \
            for (uint32_t j = 0; j < k->nin; j++)                                                  \
                fp_decode_n_##name(fp, (const uint8_t *)in[j] + i * bytes, block[j], m);           \
            inner.run(&inner, blocks, encode ? (void *)block[0] : (uint8_t *)out + i, m);          \
            if (encode)                                                                            \
                fp_encode_n_##name(fp, block[0], (uint8_t *)out + i * bytes, m);                   \
        }                                                                                          \
    }
SMALL(f32, float)
SMALL(f64, double)

/* ---- resolution ---- */

static const struct elt_row *float_find(const struct elt_kernel *k, const struct elt_row *rows,
                                        const struct elt_row compare[2][ELT_DIRECTIONS]) {
    if (k->op == IR_COMPARE)
        return &compare[k->param[1] == IR_COMPARISON_TYPE_TOTALORDER][k->param[0]];
    return elt_find(rows, k->op);
}

static bool take_row(struct elt_kernel *k, const struct elt_row *row) {
    if (row) {
        k->run = row->run;
        k->extra = row->extra;
    }
    return row != NULL;
}

static bool resolve_small(struct elt_kernel *k) {
    bool in_f32 = k->in != IR_TF32_T && k->in != IR_F8E8M0FNU_T;
    const struct elt_row *row = elt_find(wide_functions, k->op);
    if (row || !in_f32) {
        k->run = small_f64;
        k->extra = row ? row : float_find(k, f64_rows, f64_compare);
    } else {
        k->run = small_f32;
        k->extra = float_find(k, f32_rows, f32_compare);
    }
    return k->extra != NULL;
}

bool elt_float_resolve(struct elt_kernel *k) {
    if (k->op == IR_NEXT_AFTER || k->op == IR_REDUCE_PRECISION) {
        k->run = k->op == IR_NEXT_AFTER ? next_after : reduce_precision;
        return true;
    }
    if (k->in == IR_F32_T)
        return take_row(k, float_find(k, f32_rows, f32_compare)) ||
               take_row(k, elt_find(f32_functions, k->op));
    if (k->in == IR_F64_T)
        return take_row(k, float_find(k, f64_rows, f64_compare)) ||
               take_row(k, elt_find(f64_functions, k->op));
    return resolve_small(k);
}
