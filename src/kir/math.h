/* Functions as arithmetic: what the files math*.c share.
 *
 * A function is written once for f32 and f64 where only constants differ. All of it is branch-free, so that it can be in a
 * vector loop; a rare path is in an IF on ANY. Coefficients are minimax, found by Remez exchange on the intervals that are
 * named, rounded one after the other to the type. */
#ifndef HILO_KIR_MATH_H
#define HILO_KIR_MATH_H

#include "kir/node.h"

/* Where arithmetic is put, and its types: floats, and integers of their width. */
struct km {
    struct kir *k;
    enum kir_type t, i;
    bool wide; /* f64 */
};

static inline struct km km_of(struct kir *k, enum kir_type t) {
    return (struct km){k, t, t == KIR_F64 ? KIR_I64 : KIR_I32, t == KIR_F64};
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static inline kir_val km_f(struct km m, double x) { return kir_float(m.k, m.t, x); }
static inline kir_val km_i(struct km m, int64_t x) { return kir_int(m.k, m.i, x); }
static inline kir_val km_add(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_ADD, 0, a, b); }
static inline kir_val km_sub(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_SUB, 0, a, b); }
static inline kir_val km_mul(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_MUL, 0, a, b); }
static inline kir_val km_div(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_DIV, 0, a, b); }
static inline kir_val km_fma(struct km m, kir_val a, kir_val b, kir_val c) { return kir_fma(m.k, a, b, c); }
static inline kir_val km_neg(struct km m, kir_val a) { return kir_op1(m.k, KIR_NEG, a); }
static inline kir_val km_abs(struct km m, kir_val a) { return kir_op1(m.k, KIR_ABS, a); }
static inline kir_val km_sqrt(struct km m, kir_val a) { return kir_op1(m.k, KIR_SQRT, a); }
static inline kir_val km_copysign(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_COPYSIGN, 0, a, b); }
static inline kir_val km_and(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_AND, 0, a, b); }
static inline kir_val km_or(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_OR, 0, a, b); }
static inline kir_val km_xor(struct km m, kir_val a, kir_val b) { return kir_op2(m.k, KIR_XOR, 0, a, b); }
static inline kir_val km_shl(struct km m, kir_val a, int by) { return kir_op2(m.k, KIR_SHL, 0, a, km_i(m, by)); }
static inline kir_val km_shr(struct km m, kir_val a, int by) { return kir_op2(m.k, KIR_SHR, 0, a, km_i(m, by)); }
static inline kir_val km_lt(struct km m, kir_val a, kir_val b) { return kir_cmp(m.k, KIR_LT, 0, a, b); }
static inline kir_val km_eq(struct km m, kir_val a, kir_val b) { return kir_cmp(m.k, KIR_EQ, 0, a, b); }
static inline kir_val km_select(struct km m, kir_val c, kir_val a, kir_val b) { return kir_select(m.k, c, a, b); }
static inline kir_val km_bits(struct km m, kir_val a) { return kir_typed(m.k, KIR_BITCAST, 0, m.i, a); }
static inline kir_val km_real(struct km m, kir_val a) { return kir_typed(m.k, KIR_BITCAST, 0, m.t, a); }
static inline kir_val km_to(struct km m, enum kir_type t, kir_val a) { return kir_typed(m.k, KIR_CONVERT, 0, t, a); }

/* The smaller, or larger, of a value and a constant; NaN stays. One instruction where the machine's minimum returns its second
   operand for NaN. */
static inline kir_val km_most(struct km m, kir_val a, double c) {
    return km_select(m, km_lt(m, km_f(m, c), a), km_f(m, c), a);
}
static inline kir_val km_least(struct km m, kir_val a, double c) {
    return km_select(m, km_lt(m, a, km_f(m, c)), km_f(m, c), a);
}

/* c[0] + c[1] x + …, rounded as by Horner's rule or little worse. */
kir_val km_poly(struct km m, kir_val x, const double *c, int n);
#define KM_POLY(m, x, c) km_poly((m), (x), (c), (int)(sizeof(c) / sizeof *(c)))

/* Constants of the type: its mantissa bits, the bias of its exponent. */
static inline int km_mantissa(struct km m) { return m.wide ? 52 : 23; }
static inline int km_bias(struct km m) { return m.wide ? 1023 : 127; }

/* ---- functions ------------------------------------------------------------------------------- */


/* x = 2^e (1 + f), 1 + f in [1/sqrt 2, sqrt 2): what is above the bits of 1/sqrt 2 in x's own is e. For x > 0, finite. */
struct km_split {
    kir_val e, f;      /* floats */
    kir_val exponent;  /* e in the place of the exponent, as an integer */
};
/* subnormals: x may be one; `exponent` is then that of the scaled x. */
struct km_split km_log_split(struct km m, kir_val x, bool subnormals);

/* e^(x + low); low is small, and 0 where the result is out of range. */
kir_val km_exp_sum(struct km m, kir_val x, kir_val low);
/* e^x for |x| < 80, or NaN. */
kir_val km_exp_near(struct km m, kir_val x);

/* ---- sums of two numbers (math_twofold.c) ----------------------------------------------------- */

/* The second one below the last bit of the first. Of infinite numbers, `lo` is NaN. */
struct km_twofold {
    kir_val hi, lo;
};
/* a + b + lo, where |a| >= |b|, or a is 0. */
struct km_twofold km_two_sum(struct km m, kir_val a, kir_val b, kir_val lo);
struct km_twofold km_two_product(struct km m, struct km_twofold a, struct km_twofold b);
struct km_twofold km_twofold_add(struct km m, struct km_twofold a, struct km_twofold b);
struct km_twofold km_twofold_inverse(struct km m, kir_val a);
struct km_twofold km_twofold_div(struct km m, struct km_twofold a, struct km_twofold b);
/* c[0] + c[1] x + …; `low`: further digits of the first nlow coefficients. Each of those is larger than what follows it. */
struct km_twofold km_twofold_poly(struct km m, kir_val x, const double *c, int n, const double *low, int nlow);
/* log a to 64 bits, for a > 0, finite. */
struct km_twofold km_log_twofold(struct km m, kir_val a);

typedef kir_val km_fn1(struct km m, kir_val x);
typedef kir_val km_fn2(struct km m, kir_val x, kir_val y);

/* math_exp.c */
km_fn1 km_exp, km_exp_term, km_expm1, km_log, km_log1p, km_logistic, km_tanh, km_sinh, km_cosh, km_asinh, km_acosh, km_atanh;
/* math_pow.c */
km_fn2 km_pow;
/* math_trig.c */
km_fn1 km_sin, km_cos, km_tan, km_asin, km_acos, km_atan;
km_fn2 km_atan2;
/* math_special.c */
km_fn1 km_rsqrt, km_cbrt, km_erf, km_erfc, km_erf_inv, km_round_afz;
km_fn2 km_next_after;
/* math_gamma.c, math_gamma64.c */
km_fn1 km_lgamma, km_digamma, km_bessel_i1e, km_lgamma64, km_digamma64, km_bessel_i1e64;
/* log Γ(a) and ψ(x), computed in f64, to the digits of f32; of f64 log Γ(a) as a sum. a >= 0; NaN stays. */
kir_val km_lgamma_narrow(struct km d, kir_val a);
kir_val km_digamma_narrow(struct km d, kir_val x);
/* log Γ(s) - s log unit: small for large s, of which the unit is s / e; below 8 the unit is 1. */
struct km_twofold km_lgamma_rest64(struct km d, kir_val s, struct km_twofold *unit);
/* math_zeta.c */
km_fn2 km_zeta, km_polygamma;

#endif
