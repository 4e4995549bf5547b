/* Roots, error functions, rounding. */
#include "kir/math.h"

#include <math.h>

kir_val km_rsqrt(struct km m, kir_val x) { return km_div(m, km_f(m, 1), km_sqrt(m, x)); }

/* A third of the exponent as a start, 3.5 % off, then Halley's steps, which triple the digits: y + y (z - y³) / (2 y³ + z);
   the last residual is exact enough to round well. Of the fraction a quarter is taken, which does not overflow. Kahan's
   constant, as in fdlibm. */
kir_val km_cbrt(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), tiny = km_lt(m, a, km_f(m, m.wide ? 0x1p-900 : 0x1p-80)), quarter = km_f(m, 0.25);
    kir_val z = km_select(m, tiny, km_mul(m, a, km_f(m, m.wide ? 0x1p162 : 0x1p48)), a), z4 = km_mul(m, z, quarter);
    kir_val third = km_mul(m, km_to(m, m.t, km_bits(m, z)), km_f(m, 1.0 / 3));
    kir_val y = km_real(m, km_add(m, km_to(m, m.i, third), km_i(m, m.wide ? (int64_t)715094163 << 32 : 709958130)));
    for (int step = m.wide ? 3 : 2; step; step--) {
        kir_val square = km_mul(m, y, y), cube4 = km_mul(m, km_mul(m, square, quarter), y);
        kir_val rest = km_fma(m, km_neg(m, square), y, z), bottom = km_add(m, km_add(m, cube4, cube4), z4);
        y = km_fma(m, y, km_div(m, km_mul(m, rest, quarter), bottom), y);
    }
    y = km_select(m, tiny, km_mul(m, y, km_f(m, m.wide ? 0x1p-54 : 0x1p-16)), y);
    kir_val number = km_and(m, km_lt(m, km_f(m, 0), a), km_lt(m, a, km_f(m, (double)INFINITY)));
    return km_select(m, number, km_copysign(m, y, x), x);
}

/* ---- error functions, f32 -------------------------------------------------------------------- */

/* erf a / a - 1 in a² on a <= 0.92, relative error of erf 2^-26; log (1 - erf a) on 0.92 <= a <= 3.95, relative error of erf
   2^-29; beyond it is 1. (A fraction of polynomials is shorter, and wrong by 5 ulp where it is nearly 1.) */
static const double erf_small[] = {0.128379151, -0.376125008, 0.11281877, -0.0267685801, 0.00499585317, -0.000600379717};
static const double erf_large[] = {-0.000195836183, -1.12767494, -0.637183428,  -0.10393057,
                                   0.0222264454,    -0.00304310746, 0.000195927511};

kir_val km_erf(struct km m, kir_val x) {
    kir_val a = km_most(m, km_abs(m, x), 3.95), small = km_fma(m, a, KM_POLY(m, km_mul(m, a, a), erf_small), a);
    kir_val large = km_sub(m, km_f(m, 1), km_exp_near(m, KM_POLY(m, a, erf_large)));
    return km_copysign(m, km_select(m, km_lt(m, km_f(m, 0.92), a), large, small), x);
}

/* e^(a²) erfc a as P(a) / Q(a) on 0 <= a <= 10.1, relative error 2^-27.4. */
static const double erfc_p[] = {1.000000006, 1.238427897, 0.731622101, 0.2292272248, 0.0327982361};
static const double erfc_q[] = {1, 2.366807643, 2.402269193, 1.325402067, 0.4063210754, 0.0581326612};

/* e^-(a²) with the digits that squaring rounds away; the fraction in f64, because it is most of the error. */
kir_val km_erfc(struct km m, kir_val x) {
    kir_val a = km_most(m, km_abs(m, x), 11), square = km_mul(m, a, a), lost = km_fma(m, a, a, km_neg(m, square));
    kir_val e = km_exp(m, km_neg(m, square));
    e = km_fma(m, km_neg(m, e), lost, e);
    struct km d = km_of(m.k, KIR_F64);
    kir_val t = km_to(m, KIR_F64, a), fraction = km_div(d, KM_POLY(d, t, erfc_p), KM_POLY(d, t, erfc_q));
    kir_val r = km_mul(m, e, km_to(d, KIR_F32, fraction));
    return km_select(m, km_lt(m, x, km_f(m, 0)), km_sub(m, km_f(m, 2), r), r);
}

/* erf_inv x / x in w = -log (1 - x²) up to 5, and in sqrt w - 3 beyond: relative errors 2^-24.7 and 2^-24. The idea is M.
   Giles' (Approximating the erfinv function, 2012). */
static const double erf_inv_central[] = {0.886226892,   0.23201485,    0.0115425941,   -0.00232083397, -0.000142269157,
                                         5.35987783e-05, 7.67011443e-07, -1.31330546e-06, 1.47673177e-07, -5.42426459e-09};
static const double erf_inv_tail[] = {2.83297692,     1.00167402,    0.00943893931, -0.00762146871, 0.00573936366,
                                      -0.00367641542, 0.00134964025, 0.00010351356, -0.000200776439};

kir_val km_erf_inv(struct km m, kir_val x) {
    kir_val one = km_f(m, 1), w = km_neg(m, km_log(m, km_fma(m, km_neg(m, x), x, one)));
    kir_val central = KM_POLY(m, w, erf_inv_central);
    kir_val tail = KM_POLY(m, km_sub(m, km_sqrt(m, w), km_f(m, 3)), erf_inv_tail);
    kir_val r = km_mul(m, x, km_select(m, km_lt(m, w, km_f(m, 5)), central, tail));
    return km_select(m, km_eq(m, km_abs(m, x), one), km_mul(m, x, km_f(m, (double)INFINITY)), r);
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* To the nearest integer, ties away from zero; the difference to the truncated one is exact. */
kir_val km_round_afz(struct km m, kir_val x) {
    kir_val t = kir_op1(m.k, KIR_TRUNC, x), up = kir_cmp(m.k, KIR_GE, 0, km_abs(m, km_sub(m, x, t)), km_f(m, 0.5));
    return km_select(m, up, km_add(m, t, km_copysign(m, km_f(m, 1), x)), t);
}

/* The bits of numbers of one sign are in their order: the next one is one more, or one less towards zero. */
kir_val km_next_after(struct km m, kir_val x, kir_val y) {
    kir_val zero = km_f(m, 0), bits = km_bits(m, x);
    kir_val away = kir_cmp(m.k, KIR_EQ, 0, km_lt(m, x, y), km_lt(m, zero, x));
    kir_val next = km_real(m, km_add(m, bits, km_select(m, away, km_i(m, 1), km_i(m, -1))));
    next = km_select(m, km_eq(m, x, zero), km_copysign(m, km_real(m, km_i(m, 1)), y), next);
    next = km_select(m, km_eq(m, x, y), y, next);
    next = km_select(m, km_eq(m, y, y), next, y);
    return km_select(m, km_eq(m, x, x), next, x);
}
