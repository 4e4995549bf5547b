/* Exponentials and logarithms, and what is made of them. */
#include "kir/math.h"

#include <math.h>

/* log 2 in two parts, of f32 and of f64. */
static const double ln2[2][2] = {{0x1.62e43p-1, -0x1.05c61p-29}, {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}};

/* ---- exp ------------------------------------------------------------------------------------- */

/* x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 · 2^mantissa + bias rounds to an integer, and n + bias is then in the low
   bits. */
struct reduced {
    kir_val bits; /* of that sum */
    kir_val n, r; /* floats */
};

static struct reduced exp_reduce(struct km m, kir_val x, int bias) {
    struct reduced e;
    double magic = (m.wide ? 0x1.8p52 : 0x1.8p23) + bias;
    kir_val t = km_fma(m, x, km_f(m, 0x1.71547652b82fep0), km_f(m, magic));
    e.bits = km_bits(m, t);
    e.n = km_sub(m, t, km_f(m, magic));
    e.r = km_fma(m, e.n, km_f(m, -ln2[m.wide][0]), x);
    e.r = km_fma(m, e.n, km_f(m, -ln2[m.wide][1]), e.r);
    return e;
}

/* 2^n where it was reduced with the bias of exponents; 2^(n - 1) with one less. */
static kir_val exp_power(struct km m, struct reduced e) { return km_real(m, km_shl(m, e.bits, km_mantissa(m))); }

/* p · 2^n for p near 1, half of n at a time, so that the result may overflow, or underflow gradually with one rounding. n was
   reduced with twice the bias of exponents, once for each half. */
static kir_val exp_scale(struct km m, kir_val p, struct reduced e) {
    int mantissa = km_mantissa(m);
    kir_val half = km_and(m, km_shl(m, e.bits, mantissa - 1), km_shl(m, km_i(m, -1), mantissa));
    kir_val rest = km_sub(m, km_shl(m, e.bits, mantissa), half);
    return km_mul(m, km_mul(m, p, km_real(m, half)), km_real(m, rest));
}

/* e^r - 1 on |r| <= 0.35, as r + r² q: relative errors 2^-28 of e^r, and 2^-26 of e^r - 1; of f64 2^-61. */
static kir_val exp_q(struct km m, kir_val r) {
    static const double f32[] = {0.49999994, 0.166665092, 0.041668009, 0.00836999062, 0.001384706};
    static const double f64[] = {0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.555555555553ep-5,  0x1.111111110f6aap-7,
                                 0x1.6c16c16c1f1a5p-10, 0x1.a01a01afe9770p-13, 0x1.a01a017b8297ep-16, 0x1.71ddf8426a233p-19,
                                 0x1.27e5368878344p-22, 0x1.af5ee7af9cc96p-26, 0x1.1ee8498b43e05p-29};
    return m.wide ? KM_POLY(m, r, f64) : KM_POLY(m, r, f32);
}

static kir_val expm1_q(struct km m, kir_val r) {
    static const double f32[] = {0.49999997, 0.166665345, 0.041667711, 0.00836770143, 0.00138423219};
    return m.wide ? exp_q(m, r) : KM_POLY(m, r, f32);
}

/* Beyond these it is infinite, or 0. */
static kir_val exp_most(struct km m, kir_val x) { return km_most(m, x, m.wide ? 710 : 89); }
/* From here on down both halves of 2^n are 0, so that what is masked costs no more than other numbers: some processors take
   as long over a product that underflows as over a hundred others. */
static kir_val exp_least(struct km m, kir_val x) { return km_least(m, x, m.wide ? -1418 : -176); }
static kir_val zero_where(struct km m, kir_val condition, kir_val x) { return km_select(m, condition, km_f(m, 0), x); }

/* Of what exp_most lets through. */
static kir_val exp_bounded(struct km m, kir_val x) {
    struct reduced e = exp_reduce(m, exp_least(m, x), 2 * km_bias(m));
    kir_val q = exp_q(m, e.r), one = km_f(m, 1);
    return exp_scale(m, km_fma(m, e.r, km_fma(m, e.r, q, one), one), e);
}

kir_val km_exp_near(struct km m, kir_val x) {
    struct reduced e = exp_reduce(m, x, km_bias(m));
    kir_val q = exp_q(m, e.r), one = km_f(m, 1);
    return km_mul(m, km_fma(m, e.r, km_fma(m, e.r, q, one), one), exp_power(m, e));
}

kir_val km_exp(struct km m, kir_val x) { return exp_bounded(m, exp_most(m, x)); }

kir_val km_exp_term(struct km m, kir_val x) {
    kir_val least = km_f(m, m.wide ? -0x1.6232bdd7abcd2p9 : -0x1.5d589ep6); /* the logarithm of the least normal number */
    return zero_where(m, km_lt(m, x, least), km_exp_near(m, x));
}

/* What the roundings of r and of 1 + r lose is added to r² q, which is small: the sum is rounded once. e^low is 1 + low. */
kir_val km_exp_sum(struct km m, kir_val x, kir_val low) {
    kir_val z = exp_least(m, exp_most(m, x));
    kir_val one = km_f(m, 1), minus = km_f(m, -ln2[m.wide][1]);
    struct reduced e = exp_reduce(m, z, 2 * km_bias(m));
    kir_val first = km_fma(m, e.n, km_f(m, -ln2[m.wide][0]), z);
    low = km_add(m, km_fma(m, e.n, minus, km_sub(m, first, e.r)), low);
    kir_val sum = km_add(m, one, e.r), lost = km_add(m, km_sub(m, one, sum), e.r);
    kir_val rest = km_fma(m, km_mul(m, e.r, e.r), exp_q(m, e.r), lost);
    rest = km_fma(m, low, km_add(m, sum, rest), rest);
    return exp_scale(m, km_add(m, sum, rest), e);
}

/* e^x - 1 = 2 (s (e^r - 1) + (s - 1/2)), s = 2^(n-1), which exists for the largest n too. */
kir_val km_expm1(struct km m, kir_val x) {
    struct reduced e = exp_reduce(m, km_least(m, exp_most(m, x), m.wide ? -40 : -20), km_bias(m) - 1);
    kir_val em1 = km_fma(m, km_mul(m, e.r, e.r), expm1_q(m, e.r), e.r);
    kir_val s = exp_power(m, e);
    kir_val half = km_fma(m, s, em1, km_sub(m, s, km_f(m, 0.5)));
    return km_copysign(m, km_add(m, half, half), x);
}

/* The same for 0 <= x < 80: s = 2^n needs no halving. */
static kir_val expm1_positive(struct km m, kir_val x) {
    struct reduced e = exp_reduce(m, x, km_bias(m));
    kir_val em1 = km_fma(m, km_mul(m, e.r, e.r), expm1_q(m, e.r), e.r), one = km_f(m, 1);
    kir_val s = exp_power(m, e);
    return km_fma(m, s, em1, km_sub(m, s, one));
}

/* 1 / (1 + e^-x); for x < 0 as e^x / (1 + e^x), which keeps its digits. */
kir_val km_logistic(struct km m, kir_val x) {
    kir_val t = exp_bounded(m, km_neg(m, km_abs(m, x))), one = km_f(m, 1);
    kir_val top = km_select(m, km_lt(m, x, km_f(m, 0)), t, one);
    return km_div(m, top, km_add(m, t, one));
}

/* ---- log ------------------------------------------------------------------------------------- */

struct km_split km_log_split(struct km m, kir_val x, bool subnormals) {
    int mantissa = km_mantissa(m);
    struct km_split s;
    kir_val tiny = {0}, root = km_i(m, m.wide ? 0x3FE6A09E667F3BCD : 0x3F3504F3);
    if (subnormals) {
        tiny = km_lt(m, x, km_f(m, m.wide ? 0x1p-1022 : 0x1p-126));
        x = km_select(m, tiny, km_mul(m, x, km_f(m, m.wide ? 0x1p54 : 0x1p25)), x);
    }
    kir_val bits = km_bits(m, x), above = km_sub(m, bits, root);
    s.exponent = km_and(m, above, km_shl(m, km_i(m, -1), mantissa));
    s.e = km_to(m, m.t, km_shr(m, above, mantissa));
    if (subnormals)
        s.e = km_select(m, tiny, km_sub(m, s.e, km_f(m, m.wide ? 54 : 25)), s.e);
    s.f = km_sub(m, km_real(m, km_sub(m, bits, s.exponent)), km_f(m, 1));
    return s;
}

/* (log (1 + f) - f) / f² on [1/sqrt 2, sqrt 2] - 1: relative error of log (1 + f) 2^-26.9. */
static const double log_p32[] = {-0.499999881,  0.333333313, -0.250016242, 0.200016111,  -0.16607593,
                                 0.141883492, -0.132641003, 0.128758982,  -0.0753711164};
/* (log ((1 + s) / (1 - s)) - 2 s) / s³ in s², |s| <= 0.172: absolute error of its product with s² 2^-65. */
static const double log_r64[] = {0x1.555555555563ap-1, 0x1.9999999957fe4p-2, 0x1.2492495deda9bp-2, 0x1.c71c3eec7b9f7p-3,
                                 0x1.7469a9d366af2p-3, 0x1.3952eedeb9b78p-3, 0x1.31d7a958bdc3cp-3};

/* e ln 2 + log (1 + f) */
static kir_val log_sum(struct km m, kir_val e, kir_val f) {
    kir_val high = km_f(m, ln2[m.wide][0]), low = km_f(m, ln2[m.wide][1]);
    if (!m.wide) {
        kir_val p = KM_POLY(m, f, log_p32);
        kir_val rest = km_fma(m, km_mul(m, f, f), p, km_mul(m, e, low));
        return km_fma(m, e, high, km_add(m, f, rest));
    }
    /* s = f / (2 + f): log (1 + f) = f - (f²/2 - s (f²/2 + R)), R = s² (2/3 + …). */
    kir_val s = km_div(m, f, km_add(m, f, km_f(m, 2))), z = km_mul(m, s, s);
    kir_val r = km_mul(m, z, KM_POLY(m, z, log_r64)), square = km_mul(m, km_mul(m, f, f), km_f(m, 0.5));
    kir_val rest = km_fma(m, s, km_add(m, square, r), km_mul(m, e, low));
    return km_fma(m, e, high, km_sub(m, f, km_sub(m, square, rest)));
}

/* The result where x is positive and finite; else inf, -inf at 0, NaN. */
static kir_val log_edges(struct km m, kir_val x, kir_val result) {
    kir_val zero = km_f(m, 0), inf = km_f(m, (double)INFINITY);
    kir_val edge = km_select(m, km_eq(m, x, zero), km_f(m, -(double)INFINITY), km_f(m, (double)NAN));
    result = km_select(m, km_eq(m, x, inf), inf, result);
    return km_select(m, km_lt(m, zero, x), result, edge);
}

kir_val km_log(struct km m, kir_val x) {
    struct km_split s = km_log_split(m, x, true);
    return log_edges(m, x, log_sum(m, s.e, s.f));
}

/* log u, u = 1 + x rounded; what rounding lost is added to f, scaled as u is. */
kir_val km_log1p(struct km m, kir_val x) {
    kir_val one = km_f(m, 1), u = km_add(m, one, x), b = km_sub(m, u, one);
    kir_val lost = km_add(m, km_sub(m, one, km_sub(m, u, b)), km_sub(m, x, b));
    struct km_split s = km_log_split(m, u, false);
    kir_val scale = kir_op2(m.k, KIR_MAX, 0, km_sub(m, km_bits(m, one), s.exponent), km_i(m, 0)); /* 2^-e, or 0 at the end */
    kir_val result = log_sum(m, s.e, km_fma(m, lost, km_real(m, scale), s.f));
    return km_copysign(m, log_edges(m, u, result), x);
}

/* ---- hyperbolic functions -------------------------------------------------------------------- */

/* t / (t + 2), t = e^(2 |x|) - 1; beyond 22 (f32: 10) it is 1. */
kir_val km_tanh(struct km m, kir_val x) {
    kir_val a = km_most(m, km_abs(m, x), m.wide ? 22 : 10), t = expm1_positive(m, km_add(m, a, a));
    return km_copysign(m, km_div(m, t, km_add(m, t, km_f(m, 2))), x);
}

/* In f32 as CHLO expands them, and the reference evaluator computes them: e^(x + log 1/2) ± e^(log 1/2 - x), which is some
   ulp off for large x. */
static void half_exps(struct km m, kir_val x, kir_val *up, kir_val *down) {
    *up = km_exp(m, km_add(m, x, km_f(m, -0.693147182)));
    *down = km_exp(m, km_sub(m, km_f(m, -0.693147182), x));
}

kir_val km_cosh(struct km m, kir_val x) {
    kir_val up, down;
    if (!m.wide) {
        half_exps(m, x, &up, &down);
        return km_add(m, up, down);
    }
    /* e^x / 2 from e^(x/2), so that it overflows where the result does. */
    kir_val a = km_abs(m, x), half = km_f(m, 0.5);
    kir_val t = km_exp(m, km_mul(m, a, half)), big = km_mul(m, km_mul(m, t, half), t);
    kir_val e = km_exp(m, km_most(m, a, 40)), small = km_fma(m, e, half, km_div(m, half, e));
    return km_select(m, km_lt(m, a, km_f(m, 22)), small, big);
}

/* (sinh x / x - 1) / x² in x², |x| <= 1: relative error of sinh 2^-31. */
static const double sinh32[] = {0.166666672, 0.00833331048, 0.000198428956, 2.78221341e-06};

kir_val km_sinh(struct km m, kir_val x) {
    kir_val half = km_f(m, 0.5), one = km_f(m, 1), a = km_abs(m, x), up, down;
    if (!m.wide) {
        half_exps(m, x, &up, &down);
        kir_val z = km_mul(m, a, a), near = km_fma(m, km_mul(m, a, z), KM_POLY(m, z, sinh32), a);
        return km_select(m, km_lt(m, a, one), km_copysign(m, near, x), km_sub(m, up, down));
    }
    kir_val t = km_exp(m, km_mul(m, a, half)), big = km_mul(m, km_mul(m, t, half), t);
    kir_val e = km_expm1(m, km_most(m, a, 40)), small = km_mul(m, half, km_add(m, e, km_div(m, e, km_add(m, e, one))));
    return km_copysign(m, km_select(m, km_lt(m, a, km_f(m, 22)), small, big), x);
}

/* log1p (a + a² / (1 + sqrt (1 + a²))); for large a, where a² would overflow, log (2 a). */
kir_val km_asinh(struct km m, kir_val x) {
    double limit = m.wide ? 0x1p28 : 0x1p13;
    kir_val one = km_f(m, 1), a = km_abs(m, x), large = km_lt(m, km_f(m, limit), a), z = km_most(m, a, limit);
    kir_val square = km_mul(m, z, z), root = km_sqrt(m, km_add(m, square, one));
    kir_val near = km_add(m, z, km_div(m, square, km_add(m, root, one)));
    kir_val result = km_log1p(m, km_select(m, large, km_sub(m, a, one), near));
    result = km_select(m, large, km_add(m, result, km_f(m, 0x1.62e42fefa39efp-1)), result);
    return km_copysign(m, result, x);
}

/* log1p (t + sqrt (2 t + t²)), t = x - 1. */
kir_val km_acosh(struct km m, kir_val x) {
    double limit = m.wide ? 0x1p28 : 0x1p13;
    kir_val one = km_f(m, 1), large = km_lt(m, km_f(m, limit), x), t = km_sub(m, km_most(m, x, limit), one);
    kir_val near = km_add(m, t, km_sqrt(m, km_fma(m, t, t, km_add(m, t, t))));
    kir_val result = km_log1p(m, km_select(m, large, km_sub(m, x, one), near));
    result = km_select(m, large, km_add(m, result, km_f(m, 0x1.62e42fefa39efp-1)), result);
    return km_select(m, km_lt(m, x, one), km_f(m, (double)NAN), result);
}

/* log1p (2 a / (1 - a)) / 2 */
kir_val km_atanh(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), ratio = km_div(m, km_add(m, a, a), km_sub(m, km_f(m, 1), a));
    return km_copysign(m, km_mul(m, km_log1p(m, ratio), km_f(m, 0.5)), x);
}
