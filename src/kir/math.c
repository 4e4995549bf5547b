/* Functions as arithmetic: the table of those that are known. */
#include "kir/math.h"

enum { ESTRIN = 8 }; /* coefficients from which a polynomial is evaluated in parts */

/* c[0] + … by Estrin's scheme; powers[i] is x^(2^i). */
static kir_val estrin(struct km m, const kir_val *powers, const double *c, int n) {
    int i = 0;
    if (n == 1)
        return km_f(m, c[0]);
    while (2 << i < n)
        i++;
    return km_fma(m, estrin(m, powers, c + (1 << i), n - (1 << i)), powers[i], estrin(m, powers, c, 1 << i));
}

/* By Horner's rule each step waits for the one before, and a processor does not see as far ahead as the next vectors. The last
   step is always Horner's: it is the one whose rounding counts. */
kir_val km_poly(struct km m, kir_val x, const double *c, int n) {
    kir_val p = km_f(m, c[n - 1]), powers[32] = {x};
    int next = n - 2;
    if (n >= ESTRIN) {
        for (int i = 1; 1 << i < n - 1; i++)
            powers[i] = km_mul(m, powers[i - 1], powers[i - 1]);
        p = estrin(m, powers, c + 1, n - 1);
        next = 0;
    }
    for (int i = next; i >= 0; i--)
        p = km_fma(m, p, x, km_f(m, c[i]));
    return p;
}

/* The functions that are known. After each: ops of f32, without casts of bits; the largest error that was
   found, in ulp, of f32 (every 199th number at least) and f64 (65,000 random ones). sinh and cosh of f32 follow what CHLO
   expands them to, and are measured against that. Branches are not counted: of sin, cos and tan for angles above 2^17, where
   they are about 30 ops below, of pow for all but positive normal numbers. Gamma and zeta of f64: but next to their negative
   zeros, where an error is 2^-57 of what cancels (zeta of odd order, and polygamma of even: 2^-48). */
static const struct { km_fn1 *one; km_fn2 *two; } functions[KIR_MATH_COUNT] = {
    [KIR_MATH_EXP] = {.one = km_exp},                             /* 19  0.9  0.9 */
    [KIR_MATH_EXP_TERM] = {.one = km_exp_term},                   /* 14  0.9  0.9, up to 0 */
    [KIR_MATH_EXPM1] = {.one = km_expm1},                         /* 19  1.6  1.8 */
    [KIR_MATH_LOG] = {.one = km_log},                             /* 31  0.8  0.8 */
    [KIR_MATH_LOG1P] = {.one = km_log1p},                         /* 36  1.5  1.4 */
    [KIR_MATH_LOGISTIC] = {.one = km_logistic},                   /* 23  2.4  2.1 */
    [KIR_MATH_TANH] = {.one = km_tanh},                           /* 20  2.4  2.4 */
    [KIR_MATH_SIN] = {.one = km_sin},                             /* 92  2.0  2.2 */
    [KIR_MATH_COS] = {.one = km_cos},                             /* 93  2.0  2.3 */
    [KIR_MATH_TAN] = {.one = km_tan},                             /* 92  2.7  2.8 */
    [KIR_MATH_RSQRT] = {.one = km_rsqrt},                         /*  2  1.5  1.4 */
    [KIR_MATH_CBRT] = {.one = km_cbrt},                           /* 36  0.8  0.8 */
    [KIR_MATH_POW] = {.two = km_pow},                             /* 52  0.53 0.73 */
    [KIR_MATH_ATAN2] = {.two = km_atan2},                         /* 46  2.3  2.2 */
    [KIR_MATH_ERF] = {.one = km_erf},                             /* 32  1.1  1.1 */
    [KIR_MATH_ERFC] = {.one = km_erfc},                           /* 43  2.8  1.8 */
    [KIR_MATH_ERF_INV] = {.one = km_erf_inv},                     /* 65  2.4  2.0 */
    [KIR_MATH_ASIN] = {.one = km_asin},                           /* 20  2.3  2.0 */
    [KIR_MATH_ACOS] = {.one = km_acos},                           /* 24  1.1  1.1 */
    [KIR_MATH_ATAN] = {.one = km_atan},                           /* 27  2.6  2.4 */
    [KIR_MATH_SINH] = {.one = km_sinh},                           /* 51  2.0  2.3 */
    [KIR_MATH_COSH] = {.one = km_cosh},                           /* 41  2.0  2.4 */
    [KIR_MATH_ASINH] = {.one = km_asinh},                         /* 50  1.8  1.6 */
    [KIR_MATH_ACOSH] = {.one = km_acosh},                         /* 49  2.0  1.7 */
    [KIR_MATH_ATANH] = {.one = km_atanh},                         /* 42  2.1  1.9 */
    [KIR_MATH_ROUND_AFZ] = {.one = km_round_afz},                 /*  6  0    0 */
    [KIR_MATH_NEXT_AFTER] = {.two = km_next_after},               /* 14  0    0 */
    [KIR_MATH_LGAMMA] = {.one = km_lgamma},                       /*     0.5  1.0 */
    [KIR_MATH_DIGAMMA] = {.one = km_digamma},                     /*     0.5  1.0 */
    [KIR_MATH_BESSEL_I1E] = {.one = km_bessel_i1e},               /*     0.51 2.0 */
    [KIR_MATH_ZETA] = {.two = km_zeta},                           /*     0.5  2.0 */
    [KIR_MATH_POLYGAMMA] = {.two = km_polygamma},                 /*     0.5  3.0 */
};

bool kir_math_known(enum kir_math f, enum kir_type t) {
    return (functions[f].one || functions[f].two) && kir_is_float(t);
}

kir_val kir_math_expand(struct kir *k, enum kir_math f, kir_val a, kir_val b) {
    struct km m = km_of(k, kir_type(k, a));
    return functions[f].two ? functions[f].two(m, a, b) : functions[f].one(m, a);
}
