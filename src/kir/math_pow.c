/* Powers. */
#include "kir/math.h"

#include <math.h>

/* Powers z of |x|, with the sign of odd powers where x is negative; it has no power of a fraction. */
static kir_val pow_signed(struct km m, kir_val x, kir_val y, kir_val z) {
    kir_val half = km_mul(m, y, km_f(m, 0.5)), whole = km_eq(m, kir_op1(m.k, KIR_RINT, y), y);
    kir_val even = km_eq(m, kir_op1(m.k, KIR_RINT, half), half);
    kir_val odd = km_and(m, whole, kir_op1(m.k, KIR_NOT, even));
    kir_val finite = km_and(m, km_lt(m, x, km_f(m, 0)), km_lt(m, km_f(m, -(double)INFINITY), x));
    z = km_select(m, odd, km_copysign(m, z, x), z);
    return km_select(m, km_and(m, finite, kir_op1(m.k, KIR_NOT, whole)), km_f(m, (double)NAN), z);
}

/* x^y from the power z of |x|, which is 1 where x is 1 or -1. As C's pow: 1 for y = 0 and for x = 1, NaN or not. Negative x are
 * rare: the arithmetic for them is on registers, so that it stays in its branch. */
static kir_val pow_edges(struct km m, kir_val x, kir_val y, kir_val z) {
    kir_val none = {0}, rx = kir_reg(m.k, x, 1), ry = kir_reg(m.k, y, 1), rz = kir_reg(m.k, z, 1);
    kir_val is_one = km_or(m, km_eq(m, y, km_f(m, 0)), km_eq(m, x, km_f(m, 1)));
    kir_if(m.k, kir_op1(m.k, KIR_ANY, km_lt(m, km_bits(m, x), km_i(m, 0))));
    x = kir_get_reg(m.k, rx, none), y = kir_get_reg(m.k, ry, none);
    kir_set_reg(m.k, rz, none, pow_signed(m, x, y, kir_get_reg(m.k, rz, none)));
    kir_close(m.k);
    return km_select(m, is_one, km_f(m, 1), kir_get_reg(m.k, rz, none));
}

/* log2 (1 + f) / f on [1/sqrt 2, sqrt 2] - 1, relative error 2^-43.7, and 2^r on |r| <= 1/2, 2^-34.5: that of y log2 x, up to
   150, is then 2^-36, and the result is rounded once, so that powers which f32 has are exact. */
static const double log2_p[] = {
    0x1.71547652b8477p+0,  -0x1.71547652bd4c4p-1, 0x1.ec709dc223dc9p-2,  -0x1.7154764375adbp-2,
    0x1.2776c6023d469p-2,  -0x1.ec70abb20a9f3p-3, 0x1.a616f2d008129p-3,  -0x1.71518ff3b1282p-3,
    0x1.485651456cb9ap-3,  -0x1.27c70d0e7c397p-3, 0x1.0c27e50653a57p-3,  -0x1.e33f31f26c582p-4,
    0x1.c56c322129cb4p-4,  -0x1.e6ec53019797dp-4, 0x1.d982096c2d064p-4,  -0x1.d6f21af375b32p-5,
};
static const double exp2_p[] = {
    0x1.ffffffffab8bep-1, 0x1.62e42ff117016p-1, 0x1.ebfbe0a4fe099p-3,  0x1.c6b08aae46882p-5,
    0x1.3b29dc0dc54b1p-7, 0x1.5d8a70ef512d7p-10, 0x1.446a4800f16fbp-13, 0x1.fe178a543610ap-17,
};

/* In f64, but for the exponent and the fraction of x. */
static kir_val pow_f32(struct km m, kir_val x, kir_val y) {
    struct km d = km_of(m.k, KIR_F64);
    kir_val a = km_abs(m, x);
    struct km_split s = km_log_split(m, a, true);
    kir_val e = km_select(m, km_lt(m, a, km_f(m, (double)INFINITY)), s.e, a), f = km_to(m, KIR_F64, s.f);
    e = km_to(m, KIR_F64, km_select(m, km_eq(m, a, km_f(m, 0)), km_f(m, -(double)INFINITY), e));
    kir_val z = km_mul(d, km_to(m, KIR_F64, y), km_fma(d, f, KM_POLY(d, f, log2_p), e));
    z = km_least(d, km_most(d, z, 200), -200);
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

/* y up to 2^70, where powers of all x but 1 and -1 are infinite or 0: the logarithm of 1 is not multiplied by infinity. */
kir_val km_pow(struct km m, kir_val x, kir_val y) {
    kir_val c = km_least(m, km_most(m, y, 0x1p70), -0x1p70);
    return pow_edges(m, x, y, m.wide ? pow_f64(m, x, c) : pow_f32(m, x, c));
}
