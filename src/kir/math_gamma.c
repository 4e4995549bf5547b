/* Gamma and what belongs to it, a Bessel function: of f32, computed in f64, whose digits are what their zeros and
 * reflections need. Polynomials are Chebyshev interpolations on the intervals that are named, in t = -1 … 1 along each. */
#include "kir/math.h"

#include <math.h>

static struct km wide(struct km m) { return km_of(m.k, KIR_F64); }

/* ---- sin π r --------------------------------------------------------------------------------- */

/* sin (π r) / r in r² on |r| <= 1/2, relative error 2^-52. */
static const double sin_pi[] = {0x1.4464bcc8cba1ep+1,   -0x1.23b03366aa0cap-1, 0x1.2a9fb40c12062p-5,  -0x1.1e5fdef25c35cp-10,
                                0x1.3e0af60f51b55p-16, -0x1.cc930fd348596p-23, 0x1.d53b8c8e29ac9p-30, -0x1.62903d02bb153p-37};

static kir_val km_sin_pi(struct km d, kir_val r) {
    kir_val t = km_fma(d, km_mul(d, r, r), km_f(d, 8), km_f(d, -1));
    return km_mul(d, r, KM_POLY(d, t, sin_pi));
}

/* x less the nearest integer, exactly. */
static kir_val fraction(struct km d, kir_val x) {
    return km_sub(d, x, kir_op1(d.k, KIR_FLOOR, km_add(d, x, km_f(d, 0.5))));
}

/* ---- log gamma ------------------------------------------------------------------------------- */

/* log Γ(x) / ((x - 1) (x - 2)) on 1 … 2, relative error 2^-35. */
static const double lgamma_near[] = {
    0x1.eeb95b094c191p-2,  -0x1.2aed059590edfp-4, 0x1.01af629ab6191p-6,  -0x1.007ab32bf8443p-8, 0x1.13343107e52a6p-10,
    -0x1.34d66edd5def8p-12, 0x1.64e99b24a9fd7p-14, -0x1.a627bad15337ep-16, 0x1.f9834629b2e3dp-18, -0x1.22785e3a11763p-19,
    0x1.6286ab5c23374p-21, -0x1.3e4eeacdb5374p-22, 0x1.8b8a007d79e9bp-24,
};
/* Stirling's series in 1/x². */
static const double stirling[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};

/* Below 8 by the recurrence from 1 … 2; then by Stirling's series. For a >= 0; NaN stays. */
kir_val km_lgamma_narrow(struct km d, kir_val a) {
    kir_val one = km_f(d, 1), two = km_f(d, 2), y = a, p = one, low = km_lt(d, a, km_f(d, 8)), tiny = km_lt(d, a, one);
    for (int k = 0; k < 6; k++) {
        kir_val above = km_lt(d, two, y), less = km_sub(d, y, one);
        p = km_select(d, above, km_mul(d, p, less), p);
        y = km_select(d, above, less, y);
    }
    y = km_select(d, tiny, km_add(d, a, one), y);
    p = km_select(d, tiny, km_div(d, one, a), p);
    kir_val log = km_log(d, km_select(d, low, p, a)), t = km_fma(d, y, two, km_f(d, -3));
    kir_val near = km_mul(d, km_mul(d, km_sub(d, y, one), km_sub(d, y, two)), KM_POLY(d, t, lgamma_near));
    kir_val u = km_div(d, one, a), rest = km_mul(d, u, KM_POLY(d, km_mul(d, u, u), stirling));
    kir_val far = km_fma(d, km_sub(d, a, km_f(d, 0.5)), km_sub(d, log, one), km_add(d, rest, km_f(d, 0x1.acfe390c97d69p-2)));
    return km_select(d, low, km_add(d, log, near), far);
}

/* Γ(x) Γ(-x) = -π / (x sin π x) */
kir_val km_lgamma(struct km m, kir_val x) {
    if (m.wide)
        return km_lgamma64(m, x);
    struct km d = wide(m);
    kir_val v = km_to(m, KIR_F64, x), a = km_abs(d, v), positive = km_lgamma_narrow(d, a);
    kir_val product = km_mul(d, a, km_abs(d, km_sin_pi(d, fraction(d, a))));
    kir_val mirrored = km_sub(d, km_log(d, km_div(d, km_f(d, 0x1.921fb54442d18p+1), product)), positive);
    kir_val r = km_select(d, km_lt(d, v, km_f(d, 0)), mirrored, positive), inf = km_f(d, (double)INFINITY);
    return km_to(d, KIR_F32, km_select(d, km_eq(d, a, inf), inf, r));
}

/* ---- digamma --------------------------------------------------------------------------------- */

/* B2k / 2k */
static const double digamma_far[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                     1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};

/* ψ(x) = ψ(x + 10) - Σ 1 / (x + k), the sum as one fraction; from 10 on by the asymptotic series. */
static kir_val digamma_positive(struct km d, kir_val x) {
    kir_val ten = km_f(d, 10), one = km_f(d, 1), low = km_lt(d, x, ten), top = km_f(d, 0), bottom = one;
    kir_val near = km_select(d, low, x, ten);
    for (int k = 0; k < 10; k++) {
        kir_val y = km_add(d, near, km_f(d, k));
        top = km_fma(d, top, y, bottom);
        bottom = km_mul(d, bottom, y);
    }
    kir_val far = km_select(d, low, km_add(d, x, ten), x), u = km_div(d, one, far), z = km_mul(d, u, u);
    kir_val rest = km_fma(d, z, KM_POLY(d, z, digamma_far), km_mul(d, u, km_f(d, 0.5)));
    kir_val r = km_sub(d, km_log(d, far), rest);
    return km_select(d, low, km_sub(d, r, km_div(d, top, bottom)), r);
}

/* ψ(x) = ψ(1 - x) - π cot π x; NaN at the poles. */
kir_val km_digamma_narrow(struct km d, kir_val x) {
    kir_val half = km_f(d, 0.5), below = km_lt(d, x, half), r = fraction(d, x);
    kir_val positive = digamma_positive(d, km_select(d, below, km_sub(d, km_f(d, 1), x), x));
    kir_val cosine = km_sin_pi(d, km_sub(d, half, km_abs(d, r))), cotangent = km_div(d, cosine, km_sin_pi(d, r));
    kir_val mirrored = km_fma(d, cotangent, km_f(d, -0x1.921fb54442d18p+1), positive);
    mirrored = km_select(d, km_eq(d, r, km_f(d, 0)), km_f(d, (double)NAN), mirrored);
    return km_select(d, below, mirrored, positive);
}

kir_val km_digamma(struct km m, kir_val x) {
    if (m.wide)
        return km_digamma64(m, x);
    struct km d = wide(m);
    return km_to(d, KIR_F32, km_digamma_narrow(d, km_to(m, KIR_F64, x)));
}

/* ---- Bessel ---------------------------------------------------------------------------------- */

/* e^-a I1(a) / a on 0 … 8, and e^-a I1(a) sqrt a in 1/a on 0 … 1/8: relative errors 2^-30.9 and 2^-32. */
static const double i1e_near[] = {
    0x1.6e14eb8cd66cbp-5,  -0x1.f4bb0719f5fa9p-5,  0x1.16c3917640d1cp-4,  -0x1.188137d27b6cdp-4,  0x1.0530e47adc360p-4,
    -0x1.c4da981688137p-5, 0x1.6dfb52204b1c0p-5,   -0x1.13d698cd3d2bdp-5, 0x1.83f93049d674fp-6,   -0x1.fe2cee162b636p-7,
    0x1.3ac5c4c331107p-7,  -0x1.6b31caab54c42p-8,  0x1.837f136c47596p-9,  -0x1.8f1b4d3c433aap-10, 0x1.a9bf3ae0c0615p-11,
    -0x1.7d4f4422fa496p-12, 0x1.893ffdf9dfc91p-14, -0x1.6a32550bd8febp-15, 0x1.8e488d62e00f5p-15, -0x1.1c5677ced4fc3p-16,
};
static const double i1e_far[] = {0x1.8ebe783b59c09p-2,   -0x1.3f7961b35d006p-7,  -0x1.cbc62cce289f4p-13,
                                 -0x1.f88f405d331b0p-17, -0x1.e9e58599225d8p-20, -0x1.7cfc0d8e4b86fp-22,
                                 -0x1.08893a744e8a6p-23, -0x1.452e4764e49e5p-25};

kir_val km_bessel_i1e(struct km m, kir_val x) {
    if (m.wide)
        return km_bessel_i1e64(m, x);
    struct km d = wide(m);
    kir_val a = km_abs(d, km_to(m, KIR_F64, x)), eight = km_f(d, 8), minus = km_f(d, -1), low = km_lt(d, a, eight);
    kir_val near = km_mul(d, a, KM_POLY(d, km_fma(d, km_most(d, a, 8), km_f(d, 0.25), minus), i1e_near));
    kir_val t = km_add(d, km_div(d, km_f(d, 16), km_least(d, a, 8)), minus);
    kir_val far = km_div(d, KM_POLY(d, t, i1e_far), km_sqrt(d, a));
    return km_copysign(m, km_to(d, KIR_F32, km_select(d, low, near, far)), x);
}
