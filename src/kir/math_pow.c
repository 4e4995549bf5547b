/* Powers. */
#include "kir/math.h"

#include <math.h>

/* Whether, in any lane, x is not a positive normal number, or |y| not below 2^70: a sign bit of a difference of integers. The
   arithmetic for these, which are rare, is on registers, so that it stays in its branches. */
static kir_val pow_special(struct km m, kir_val x, kir_val y) {
    int mantissa = km_mantissa(m), bias = km_bias(m);
    kir_val bits = km_bits(m, x), least = km_i(m, (int64_t)1 << mantissa);
    kir_val most = km_i(m, ((int64_t)(2 * bias + 1) << mantissa) - 1), below = km_i(m, ((int64_t)(bias + 70) << mantissa) - 1);
    kir_val small = kir_op2(m.k, KIR_OR, 0, bits, km_sub(m, bits, least)); /* of x = -0 the difference is positive */
    kir_val large = kir_op2(m.k, KIR_OR, 0, km_sub(m, most, bits), km_sub(m, below, km_bits(m, km_abs(m, y))));
    return kir_op1(m.k, KIR_ANY, km_lt(m, kir_op2(m.k, KIR_OR, 0, small, large), km_i(m, 0)));
}

/* y up to 2^70, where powers of all x but 1 and -1 are infinite or 0: the logarithm of 1 is not multiplied by infinity. */
static kir_val pow_exponent(struct km m, kir_val y) {
    return km_least(m, km_most(m, y, 0x1p70), -0x1p70);
}

/* Powers z of |x|, with the sign of odd powers where x is negative; it has no power of a fraction. As C's pow: 1 for y = 0 and
   for x = 1, NaN or not. */
static kir_val pow_edges(struct km m, kir_val x, kir_val y, kir_val z) {
    kir_val half = km_mul(m, y, km_f(m, 0.5)), whole = km_eq(m, kir_op1(m.k, KIR_RINT, y), y);
    kir_val even = km_eq(m, kir_op1(m.k, KIR_RINT, half), half);
    kir_val odd = km_and(m, whole, kir_op1(m.k, KIR_NOT, even));
    kir_val finite = km_and(m, km_lt(m, x, km_f(m, 0)), km_lt(m, km_f(m, -(double)INFINITY), x));
    kir_val is_one = km_or(m, km_eq(m, y, km_f(m, 0)), km_eq(m, x, km_f(m, 1)));
    z = km_select(m, odd, km_copysign(m, z, x), z);
    z = km_select(m, km_and(m, finite, kir_op1(m.k, KIR_NOT, whole)), km_f(m, (double)NAN), z);
    return km_select(m, is_one, km_f(m, 1), z);
}

/* log2 (1 + f) / f on [1/sqrt 2, sqrt 2] - 1, relative error 2^-35.8, and 2^r on |r| <= 1/2, 2^-29. The result is rounded once,
   so that powers which f32 has are exact. */
static const double log2_p[] = {
    0x1.71547652a1e9ap+0, -0x1.715476565d24cp-1, 0x1.ec709ebb93ea7p-2, -0x1.71547097b54adp-2, 0x1.277651fc4cd88p-2,
    -0x1.ec72b58dcd90ep-3, 0x1.a63f4459fb9acp-3, -0x1.714171928c84dp-3, 0x1.45291a1178534p-3, -0x1.252f31dc0315bp-3,
    0x1.2871db19d6bf8p-3, -0x1.248903fb2bf13p-3, 0x1.3ce8ed0f1bc7bp-4,
};
static const double exp2_p[] = {
    0x1.0000000261500p+0, 0x1.62e430c7e923ap-1,  0x1.ebfbdadcb0bb6p-3,  0x1.c6aed4b950c99p-5,
    0x1.3b2dbbc0fdda9p-7, 0x1.5f456a8ad35aap-10, 0x1.41d3336b24550p-13,
};

/* y log2 |x| in f64, but for the exponent, infinite for 0 and infinity, and the fraction of x. */
static kir_val pow_log2_f32(struct km m, kir_val special, kir_val x, kir_val y) {
    struct km d = km_of(m.k, KIR_F64);
    struct km_split s = km_log_split(m, x, false), t;
    kir_val none = {0}, rx = kir_reg(m.k, x, 1), ry = kir_reg(m.k, y, 1), re = kir_reg(m.k, s.e, 1), rf = kir_reg(m.k, s.f, 1);
    kir_if(m.k, special);
    kir_val a = km_abs(m, kir_get_reg(m.k, rx, none));
    t = km_log_split(m, a, true);
    kir_val e = km_select(m, km_lt(m, a, km_f(m, (double)INFINITY)), t.e, a);
    kir_set_reg(m.k, re, none, km_select(m, km_eq(m, a, km_f(m, 0)), km_f(m, -(double)INFINITY), e));
    kir_set_reg(m.k, rf, none, t.f);
    kir_set_reg(m.k, ry, none, pow_exponent(m, kir_get_reg(m.k, ry, none)));
    kir_close(m.k);
    kir_val f = km_to(m, KIR_F64, kir_get_reg(m.k, rf, none)), log = km_to(m, KIR_F64, kir_get_reg(m.k, re, none));
    log = km_fma(d, f, KM_POLY(d, f, log2_p), log);
    return km_mul(d, km_to(m, KIR_F64, kir_get_reg(m.k, ry, none)), log);
}

static kir_val pow_f32(struct km m, kir_val special, kir_val x, kir_val y) {
    struct km d = km_of(m.k, KIR_F64);
    kir_val z = km_least(d, km_most(d, pow_log2_f32(m, special, x, y), 200), -200);
    kir_val t = km_add(d, z, km_f(d, 0x1.8p52)), n = km_sub(d, t, km_f(d, 0x1.8p52));
    kir_val scale = km_real(d, km_add(d, km_shl(d, km_bits(d, t), 52), km_bits(d, km_f(d, 1))));
    return km_to(d, KIR_F32, km_mul(d, KM_POLY(d, km_sub(d, z, n), exp2_p), scale));
}

/* ---- f64 ------------------------------------------------------------------------------------- */

/* e^(y log |x|), with the product to 64 bits. */
static kir_val pow_f64(struct km m, kir_val x, kir_val y) {
    kir_val a = km_abs(m, x), inf = km_f(m, (double)INFINITY), zero = km_f(m, 0);
    struct km_twofold log = km_log_twofold(m, a);
    kir_val high = km_select(m, km_lt(m, a, inf), log.hi, a);
    high = km_select(m, km_eq(m, a, zero), km_f(m, -(double)INFINITY), high);
    kir_val z = km_mul(m, y, high), low = km_fma(m, y, log.lo, km_fma(m, y, high, km_neg(m, z)));
    low = km_select(m, km_lt(m, km_abs(m, z), km_f(m, 800)), low, zero);
    return km_exp_sum(m, z, low);
}

kir_val km_pow(struct km m, kir_val x, kir_val y) {
    kir_val none = {0}, special = pow_special(m, x, y), rx = kir_reg(m.k, x, 1), ry = kir_reg(m.k, y, 1);
    kir_val rz = kir_reg(m.k, m.wide ? pow_f64(m, x, pow_exponent(m, y)) : pow_f32(m, special, x, y), 1);
    kir_if(m.k, special);
    kir_set_reg(m.k, rz, none,
                pow_edges(m, kir_get_reg(m.k, rx, none), kir_get_reg(m.k, ry, none), kir_get_reg(m.k, rz, none)));
    kir_close(m.k);
    return kir_get_reg(m.k, rz, none);
}
