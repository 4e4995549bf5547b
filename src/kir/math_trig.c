/* Trigonometric functions and their inverses. */
#include "kir/math.h"

#include <math.h>

/* ---- reduction ------------------------------------------------------------------------------- */

/* x = n π/2 + r + low, |r| <= π/4 and a little. */
struct angle {
    kir_val n;      /* integer as wide as the float; its low bits count */
    kir_val r, low; /* low: only where it is needed; else r is rounded twice */
};

/* π/2 in three parts, cut off so that all are positive: then a zero keeps its sign. Products with n < 2^17 are exact in fma. */
static const double half_pi[2][3] = {{0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48},
                                     {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e08p-107}};

/* Up to here the products are; larger angles take the long way. */
#define FAR 0x1p17

static struct angle angle_near(struct km m, kir_val x, bool low) {
    struct angle a = {.r = x};
    double magic = m.wide ? 0x1.8p52 : 0x1.8p23;
    kir_val t = km_fma(m, x, km_f(m, 0x1.45f306dc9c883p-1), km_f(m, magic)), n = km_sub(m, t, km_f(m, magic));
    a.n = km_bits(m, t);
    kir_val first = km_fma(m, n, km_f(m, -half_pi[m.wide][0]), x), second = km_f(m, -half_pi[m.wide][1]);
    kir_val third = km_f(m, -half_pi[m.wide][2]);
    a.r = km_fma(m, n, second, first);
    if (low)
        a.low = km_fma(m, n, third, km_fma(m, n, second, km_sub(m, first, a.r)));
    else
        a.r = km_fma(m, n, third, a.r);
    return a;
}

/* The bits of 2/π after 37 zeros. */
static const uint64_t two_over_pi[19] = {
    0x000000000517CC1B, 0x727220A94FE13ABE, 0x8FA9A6EE06DB14AC, 0xC9E21C820FF28B1D, 0x5EF5DE2B0DB92371,
    0xD2126E9700324977, 0x504E8C90E7F0EF58, 0xE5894D39F74411AF, 0xA975DA24274CE381, 0x35A2FBF209CC8EB1,
    0xCC1A99CFA4E422FC, 0x5DEFC941D8FFC4BF, 0xFEF02CC07F79788C, 0x5AD05368FB69B3F6, 0x793E584DBA7A31FB,
    0x34F2FF516BA93DD6, 0x3F5F2F8BD9E839CF, 0xBC529497535FDAFD, 0x88FC6AE842B01982,
};

static kir_val logical(struct km m, enum kir_op op, kir_val a, kir_val b) { return kir_op2(m.k, op, KIR_U, a, b); }

/* Payne and Hanek's reduction of |x| >= 2^17, in f64: x = M 2^E, and of 2/π only the 192 bits count whose products with M 2^E
 * are neither multiples of 4 nor below 2^-120. They begin at a bit that depends on E: `steps` words are skipped or not for
 * each bit of the number of words to skip, from the bit `first` on. */
static struct angle angle_far(struct km d, kir_val x, unsigned first) {
    kir_val w[19], bits = km_bits(d, km_abs(d, x)), i64_52 = km_i(d, 52), zero = km_i(d, 0);
    kir_val mantissa = km_or(d, km_and(d, bits, km_i(d, 0xFFFFFFFFFFFFF)), km_i(d, (int64_t)1 << 52));
    kir_val skip = km_sub(d, logical(d, KIR_SHR, bits, i64_52), km_i(d, 1040));
    kir_val words = km_shr(d, skip, 6), left = km_and(d, skip, km_i(d, 63)), right = km_sub(d, km_i(d, 64), left);
    for (unsigned i = 0; i < 19; i++)
        w[i] = km_i(d, (int64_t)two_over_pi[i]);
    for (unsigned step = first; step; step /= 2) {
        kir_val far = kir_cmp(d.k, KIR_NE, 0, km_and(d, words, km_i(d, step)), zero);
        for (unsigned i = 0; i < 3 + step; i++) /* 4 are needed in the end: step - 1 more follow them now */
            w[i] = km_select(d, far, w[i + step], w[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        w[i] = km_or(d, kir_op2(d.k, KIR_SHL, 0, w[i], left), logical(d, KIR_SHR, w[i + 1], right));
    /* The product modulo 4: 2 bits and 126 of fraction. */
    kir_val middle = km_mul(d, mantissa, w[1]), low = km_add(d, middle, logical(d, KIR_MULHI, mantissa, w[2]));
    kir_val carry = kir_typed(d.k, KIR_CONVERT, 0, KIR_I64, kir_cmp(d.k, KIR_LT, KIR_U, low, middle));
    kir_val high = km_add(d, km_add(d, km_mul(d, mantissa, w[0]), logical(d, KIR_MULHI, mantissa, w[1])), carry);
    kir_val n = logical(d, KIR_SHR, km_add(d, high, km_i(d, (int64_t)1 << 61)), km_i(d, 62));
    kir_val fraction = km_to(d, KIR_F64, km_sub(d, high, km_shl(d, n, 62)));
    kir_val tail = kir_typed(d.k, KIR_CONVERT, KIR_U, KIR_F64, low);
    kir_val sign = km_copysign(d, km_f(d, 1), x), turns = km_mul(d, sign, km_fma(d, tail, km_f(d, 0x1p-64), fraction));
    kir_val pi = km_f(d, 0x1.921fb54442d18p-62), r = km_mul(d, turns, pi);
    kir_val lost = km_fma(d, turns, km_f(d, 0x1.1a62633145c07p-116), km_fma(d, turns, pi, km_neg(d, r)));
    r = km_add(d, r, km_sub(d, x, x)); /* NaN where x is infinite */
    return (struct angle){km_select(d, km_lt(d, x, km_f(d, 0)), km_sub(d, zero, n), n), r, lost};
}

/* The slow path is in a branch that is taken when any lane needs it. What it computes from must be read in the branch:
   else the builder would place it before. */
static struct angle angle_of(struct km m, kir_val x, bool low) {
    struct km d = km_of(m.k, KIR_F64);
    kir_val none = {0}, far = km_lt(m, km_f(m, FAR), km_abs(m, x));
    struct angle a = angle_near(m, x, low);
    kir_val rx = kir_reg(m.k, x, 1), rn = kir_reg(m.k, a.n, 1), rr = kir_reg(m.k, a.r, 1);
    kir_val rl = low ? kir_reg(m.k, a.low, 1) : none;
    kir_if(m.k, kir_op1(m.k, KIR_ANY, far));
    kir_val again = kir_get_reg(m.k, rx, none);
    struct angle b = angle_far(d, km_to(m, KIR_F64, again), m.wide ? 8 : 2);
    kir_set_reg(m.k, rn, none, km_select(m, far, km_to(d, m.i, b.n), a.n));
    kir_set_reg(m.k, rr, none, km_select(m, far, km_to(d, m.t, b.r), a.r));
    if (low)
        kir_set_reg(m.k, rl, none, km_select(m, far, km_to(d, m.t, b.low), a.low));
    kir_close(m.k);
    a.n = kir_get_reg(m.k, rn, none);
    a.r = kir_get_reg(m.k, rr, none);
    a.low = low ? kir_get_reg(m.k, rl, none) : none;
    return a;
}

/* ---- sine, cosine, tangent ------------------------------------------------------------------- */

/* (sin r / r - 1) / r² and (cos r - 1 + r²/2) / r^4 in r², |r| <= π/4 and 2 %: relative errors of sine and cosine 2^-27.7 and
   2^-32.6, for f64 2^-57.7 and 2^-63. */
static const double sin32[] = {-0.166666538, 0.00833209325, -0.000195051456};
static const double cos32[] = {0.0416666418, -0.00138871302, 2.44120856e-05};
static const double sin64[] = {-0x1.5555555555547p-3, 0x1.111111110f529p-7,   -0x1.a01a019ba683bp-13,
                               0x1.71de351a10041p-19, -0x1.ae5e1c51d12e1p-26, 0x1.5d7d6afc58b79p-33};
static const double cos64[] = {0x1.5555555555549p-5,   -0x1.6c16c16c14c8ap-10, 0x1.a01a019c3745bp-16,
                               -0x1.27e4f7b239062p-22, 0x1.1ee9b0b6568dcp-29,  -0x1.8f9024fa86621p-37};

static void sin_cos(struct km m, kir_val r, kir_val *sine, kir_val *cosine) {
    kir_val z = km_mul(m, r, r), one = km_f(m, 1);
    kir_val s = m.wide ? KM_POLY(m, z, sin64) : KM_POLY(m, z, sin32);
    kir_val c = m.wide ? KM_POLY(m, z, cos64) : KM_POLY(m, z, cos32);
    *sine = km_mul(m, r, km_fma(m, z, s, one));
    *cosine = km_fma(m, km_mul(m, z, z), c, km_fma(m, z, km_f(m, -0.5), one));
}

/* The sine of r + n π/2: of odd n the cosine of r, of n = 2 and 3 mod 4 its negative. */
static kir_val sin_of(struct km m, kir_val n, kir_val r) {
    kir_val sine, cosine, odd = kir_cmp(m.k, KIR_NE, 0, km_and(m, n, km_i(m, 1)), km_i(m, 0));
    sin_cos(m, r, &sine, &cosine);
    kir_val sign = km_shl(m, km_and(m, n, km_i(m, 2)), m.wide ? 62 : 30);
    return km_real(m, km_xor(m, km_bits(m, km_select(m, odd, cosine, sine)), sign));
}

kir_val km_sin(struct km m, kir_val x) {
    struct angle a = angle_of(m, x, false);
    return sin_of(m, a.n, a.r);
}

kir_val km_cos(struct km m, kir_val x) {
    struct angle a = angle_of(m, x, false);
    return sin_of(m, km_add(m, a.n, km_i(m, 1)), a.r);
}

/* (tan r / r - 1) / r² in r², |r| <= π/4 and 1 %: relative error of tan 2^-29.3. */
static const double tan32[] = {0.333333522,  0.133325711,     0.0540709794, 0.0212226063,
                               0.0109955529, -0.000118769683, 0.00448155915};

/* The tangent of r + n π/2: of odd n, -1 / tan r. Where x is 0, fma would lose its sign. */
kir_val km_tan(struct km m, kir_val x) {
    struct angle a = angle_of(m, x, m.wide);
    kir_val odd = kir_cmp(m.k, KIR_NE, 0, km_and(m, a.n, km_i(m, 1)), km_i(m, 0)), one = km_f(m, 1), top, bottom;
    kir_val z = km_mul(m, a.r, a.r), cube = km_mul(m, a.r, z);
    if (m.wide) {
        sin_cos(m, a.r, &top, &bottom);
        top = km_add(m, a.r, km_fma(m, cube, KM_POLY(m, z, sin64), a.low));
        bottom = km_fma(m, km_neg(m, a.r), a.low, bottom); /* cos (r + low) = cos r - low sin r */
    } else {
        top = km_fma(m, cube, KM_POLY(m, z, tan32), a.r);
        bottom = one;
    }
    kir_val t = km_div(m, km_select(m, odd, km_neg(m, bottom), top), km_select(m, odd, top, bottom));
    return km_select(m, km_eq(m, x, km_f(m, 0)), x, t);
}

/* ---- inverses -------------------------------------------------------------------------------- */

/* (atan t / t - 1) / t² in t² on |t| <= tan π/8: relative errors of atan 2^-30.4 and 2^-64. */
static const double atan32[] = {-0.333333143, 0.199984157, -0.142424148, 0.105851209, -0.0605522151};
static const double atan64[] = {-0.33333333333333326, 0.19999999999997647, -0.1428571428538571, 0.11111111088052986,
                                -0.09090908140633268, 0.07692282682969777, -0.06666225804415508, 0.05877013923362001,
                                -0.05218362194342803, 0.04503409269193372, -0.033471861549109604, 0.015193138835317992};

/* atan (y / x) for 0 <= y <= x, from their quotient, or that of the angle less π/4. */
static kir_val atan_first(struct km m, kir_val y, kir_val x) {
    kir_val upper = km_lt(m, km_mul(m, x, km_f(m, 0x1.a827999fcef32p-2)), y);
    kir_val top = km_select(m, upper, km_sub(m, y, x), y), bottom = km_select(m, upper, km_add(m, y, x), x);
    kir_val t = km_div(m, top, bottom), z = km_mul(m, t, t);
    kir_val p = km_fma(m, km_mul(m, t, z), m.wide ? KM_POLY(m, z, atan64) : KM_POLY(m, z, atan32), t);
    return km_select(m, upper, km_add(m, p, km_f(m, 0x1.921fb54442d18p-1)), p);
}

/* π/2 - a or π - a, with what the constant's rounding lost. */
static kir_val pi_less(struct km m, bool half, kir_val a) {
    static const double pi[2][2] = {{0x1.921fb6p+1, -0x1.777a5cp-24}, {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53}};
    double scale = half ? 0.5 : 1;
    return km_sub(m, km_f(m, scale * pi[m.wide][0]), km_sub(m, a, km_f(m, scale * pi[m.wide][1])));
}

kir_val km_atan(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), one = km_f(m, 1), large = km_lt(m, one, a);
    kir_val far = km_select(m, large, one, a), near = km_select(m, large, a, one);
    kir_val infinite = km_eq(m, a, km_f(m, (double)INFINITY));
    kir_val angle = atan_first(m, km_select(m, infinite, km_f(m, 0), far), km_select(m, infinite, one, near));
    return km_copysign(m, km_select(m, large, pi_less(m, true, angle), angle), x);
}

kir_val km_atan2(struct km m, kir_val y, kir_val x) {
    kir_val a = km_abs(m, y), b = km_abs(m, x), zero = km_f(m, 0), one = km_f(m, 1), inf = km_f(m, (double)INFINITY);
    kir_val steep = km_lt(m, b, a), least = km_select(m, steep, b, a), most = km_select(m, steep, a, b);
    /* If one is infinite, infinities count as 1 and finite numbers as 0; 0 / 0 counts as 0 / 1. */
    kir_val infinite = km_eq(m, most, inf), both = km_eq(m, least, inf);
    least = km_select(m, infinite, km_select(m, both, one, km_mul(m, zero, least)), least);
    most = km_select(m, km_or(m, infinite, km_eq(m, most, zero)), one, most);
    /* Sums of the two must not overflow. */
    kir_val huge = km_lt(m, km_f(m, m.wide ? 0x1p1000 : 0x1p100), most), down = km_f(m, 0x1p-32);
    least = km_select(m, huge, km_mul(m, least, down), least);
    most = km_select(m, huge, km_mul(m, most, down), most);
    kir_val angle = atan_first(m, least, most);
    angle = km_select(m, steep, pi_less(m, true, angle), angle);
    kir_val is_negative = kir_cmp(m.k, KIR_LT, 0, km_bits(m, x), km_i(m, 0));
    angle = km_select(m, is_negative, pi_less(m, false, angle), angle);
    angle = km_select(m, km_eq(m, x, x), angle, x);
    return km_copysign(m, km_select(m, km_eq(m, y, y), angle, y), y);
}

/* (asin a / a - 1) / a² in a² on a <= 1/2: relative errors of asin 2^-31.7 and 2^-59.9. */
static const double asin32[] = {0.16666659972955372, 0.07500505369568342,  0.044516710107170815,
                                0.031809902142348495, 0.014429862163911263, 0.03752936319488286};
static const double asin64[] = {0.1666666666666676, 0.07499999999970623, 0.044642857174787456, 0.030381942699027525,
                                0.022372215243650864, 0.017351607251273517, 0.013980879552123007, 0.011398414178062527,
                                0.010783127931234978, 0.0036952393956060734, 0.021735361054936893,
                                -0.021039591135993126, 0.032654600566397775};

/* asin a for a <= 1/2; beyond, asin sqrt ((1 - a) / 2), which is half of acos a. */
static kir_val asin_part(struct km m, kir_val a, kir_val large) {
    kir_val half = km_f(m, 0.5), rest = km_mul(m, km_sub(m, km_f(m, 1), a), half);
    kir_val z = km_select(m, large, rest, km_mul(m, a, a)), s = km_select(m, large, km_sqrt(m, rest), a);
    return km_fma(m, km_mul(m, s, z), m.wide ? KM_POLY(m, z, asin64) : KM_POLY(m, z, asin32), s);
}

kir_val km_asin(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), large = km_lt(m, km_f(m, 0.5), a), p = asin_part(m, a, large);
    return km_copysign(m, km_select(m, large, pi_less(m, true, km_add(m, p, p)), p), x);
}

kir_val km_acos(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), large = km_lt(m, km_f(m, 0.5), a), p = asin_part(m, a, large), twice = km_add(m, p, p);
    kir_val near = pi_less(m, true, km_copysign(m, p, x));
    kir_val far = km_select(m, km_lt(m, x, km_f(m, 0)), pi_less(m, false, twice), twice);
    return km_select(m, large, far, near);
}
