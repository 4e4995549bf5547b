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

/* ---- error functions ------------------------------------------------------------------------- */

/* e^(a²) erfc a as P(a) / Q(a) on 0 <= a <= 10.1, relative error 2^-27.4. */
static const double erfc_p32[] = {1.000000006, 1.238427897, 0.731622101, 0.2292272248, 0.0327982361};
static const double erfc_q32[] = {1, 2.366807643, 2.402269193, 1.325402067, 0.4063210754, 0.0581326612};
/* (1 + 2 a) e^(a²) erfc a in t = (a - 4) / (a + 4) on 0 <= a <= 27.3, relative error 2^-61. The idea is Shepherd and
   Laframboise's (Chebyshev approximation of (1 + 2 x) exp (x²) erfc x, 1981). */
static const double erfc_64[] = {
    0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3, 0x1.f7f5df66fd7d5p-7, 0x1.16ecefcfa53fbp-4, -0x1.9ddb23c3e91c9p-4,
    0x1.7fee004e1148bp-4, -0x1.0fb06dfe47957p-4, 0x1.3079edf6abde2p-5, -0x1.096238857395cp-6, 0x1.49c67277e6d40p-8,
    -0x1.8d4a9983141b5p-11, -0x1.a1df192dd19aep-13, 0x1.3be03542711d9p-13, -0x1.995afb7a5de63p-16,
    -0x1.788314753d9d5p-17, 0x1.7f3d361aa5173p-18, 0x1.3931cffd53a2cp-22, -0x1.bc57868ec6320p-21, 0x1.4ac65407c2db7p-24,
    0x1.e60d1353d4967p-24, -0x1.487d59b98c3d3p-26, -0x1.1c428fcd26633p-26, 0x1.d58bdaf91fb32p-30, 0x1.1f3762edeb6e5p-29,
    0x1.39201b753a51dp-32,
};

/* e times that function / (1 + 2 a); what the last roundings lose is carried along, else the error were 4 ulp. */
static kir_val times_slow(struct km m, kir_val e, kir_val a) {
    kir_val four = km_f(m, 4), one = km_f(m, 1), first = km_f(m, erfc_64[0]);
    kir_val t = km_div(m, km_sub(m, a, four), km_add(m, a, four));
    kir_val rest = km_mul(m, t, km_poly(m, t, erfc_64 + 1, (int)(sizeof erfc_64 / sizeof *erfc_64) - 1));
    kir_val p = km_add(m, first, rest), twice = km_add(m, a, a), d = km_add(m, twice, one);
    kir_val p_lost = km_add(m, km_add(m, km_sub(m, first, p), rest), km_f(m, -0x1.aa9c415679e6fp-55));
    kir_val d_lost = km_sub(m, twice, km_sub(m, d, one)); /* exact but where it does not matter */
    kir_val r = km_div(m, one, d), q = km_mul(m, p, r), minus = km_neg(m, q);
    kir_val q_lost = km_mul(m, r, km_fma(m, minus, d_lost, km_add(m, km_fma(m, minus, d, p), p_lost)));
    kir_val product = km_mul(m, e, q);
    return km_add(m, product, km_fma(m, e, q_lost, km_fma(m, e, q, km_neg(m, product))));
}

/* erfc of a >= 0: e^-(a²) with the digits that squaring rounds away, times a slow function; in f32 that is a fraction of f64,
   because its roundings would be most of the error. */
static kir_val erfc_positive(struct km m, kir_val a) {
    a = km_most(m, a, m.wide ? 28 : 11);
    kir_val square = km_mul(m, a, a), lost = km_fma(m, a, a, km_neg(m, square)), minus = km_neg(m, square);
    if (m.wide)
        return times_slow(m, km_exp_sum(m, minus, km_neg(m, lost)), a);
    struct km d = km_of(m.k, KIR_F64);
    kir_val e = km_exp(m, minus), t = km_to(m, KIR_F64, a);
    kir_val slow = km_to(d, KIR_F32, km_div(d, KM_POLY(d, t, erfc_p32), KM_POLY(d, t, erfc_q32)));
    return km_mul(m, km_fma(m, km_neg(m, e), lost, e), slow);
}

/* erf a / a - 1 in a² on a <= 0.92, relative error of erf 2^-26, 2^-59; for f32, log (1 - erf a) on 0.92 <= a <= 3.95, relative
   error of erf 2^-29; beyond it is 1. (A fraction of polynomials is shorter, and wrong by 5 ulp where it is nearly 1.) */
static const double erf_small32[] = {0.128379151, -0.376125008, 0.11281877, -0.0267685801, 0.00499585317, -0.000600379717};
static const double erf_large32[] = {-0.000195836183, -1.12767494, -0.637183428,  -0.10393057,
                                     0.0222264454,    -0.00304310746, 0.000195927511};
static const double erf_small64[] = {
    0x1.06eba8214db69p-3, -0x1.812746b0379e0p-2, 0x1.ce2f21a0425c3p-4, -0x1.b82ce3126747dp-6, 0x1.565bcd088107ap-8,
    -0x1.c02db2c3a4aa4p-11, 0x1.f9a2fcdd9c0e8p-14, -0x1.f4cea927712c2p-17, 0x1.b9af038e80f38p-20, -0x1.5d4478eb2d7adp-23,
    0x1.e08806fc042bfp-27, -0x1.caa6bee335452p-31,
};

static kir_val erf_small(struct km m, kir_val x) {
    kir_val z = km_mul(m, x, x);
    return km_fma(m, x, m.wide ? KM_POLY(m, z, erf_small64) : KM_POLY(m, z, erf_small32), x);
}

kir_val km_erf(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), one = km_f(m, 1), rest;
    if (m.wide) {
        rest = erfc_positive(m, a);
    } else {
        a = km_most(m, a, 3.95);
        rest = km_exp_near(m, KM_POLY(m, a, erf_large32));
    }
    return km_copysign(m, km_select(m, km_lt(m, km_f(m, 0.92), a), km_sub(m, one, rest), erf_small(m, a)), x);
}

/* In f64 t is not accurate enough for small x. */
kir_val km_erfc(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), one = km_f(m, 1), r = erfc_positive(m, a);
    r = km_select(m, km_lt(m, x, km_f(m, 0)), km_sub(m, km_f(m, 2), r), r);
    return m.wide ? km_select(m, km_lt(m, a, km_f(m, 0.8)), km_sub(m, one, erf_small(m, x)), r) : r;
}

/* erf_inv x / x in w = -log (1 - x²) up to 5, and in sqrt w - 3 beyond: relative errors 2^-24.7 and 2^-24. The idea is M.
   Giles' (Approximating the erfinv function, 2012). */
static const double erf_inv_central[] = {0.886226892,   0.23201485,    0.0115425941,   -0.00232083397, -0.000142269157,
                                         5.35987783e-05, 7.67011443e-07, -1.31330546e-06, 1.47673177e-07, -5.42426459e-09};
static const double erf_inv_tail[] = {2.83297692,     1.00167402,    0.00943893931, -0.00762146871, 0.00573936366,
                                      -0.00367641542, 0.00134964025, 0.00010351356, -0.000200776439};

/* For f64 a start, in w as above and in sqrt w - 4: relative errors 3e-7 and 3e-8. */
static const double erf_inv_central64[] = {
    0.8862266894, 0.2320213517, 0.01150932333, -0.002256823822, -0.0002027374717, 8.510956813e-05, -8.707778735e-06,
    3.155355552e-07,
};
static const double erf_inv_tail64[] = {3.83978386878, 1.00949267835, 0.00125797306071, -0.000864479296933,
                                        0.000328517012625, -0.000128614782757, 4.49223845243e-05, -2.07824517451e-05,
                                        2.52110941837e-05, -1.56361747888e-05, 1.54045544405e-06, 1.60057980313e-06,
                                        -3.98251981239e-07};

/* Halley's step triples the digits; the residual is taken where it is exact, near 1 of erfc. */
static kir_val erf_inv_step(struct km m, kir_val a, kir_val y) {
    kir_val one = km_f(m, 1), square = km_mul(m, y, y);
    kir_val near = km_sub(m, km_erf(m, y), a), far = km_sub(m, km_sub(m, one, a), erfc_positive(m, y));
    kir_val residual = km_select(m, km_lt(m, a, km_f(m, 0.5)), near, far);
    kir_val u = km_mul(m, km_mul(m, residual, km_exp(m, square)), km_f(m, 0x1.c5bf891b4ef6bp-1)); /* sqrt (π) / 2 */
    return km_sub(m, y, km_div(m, u, km_fma(m, y, u, one)));
}

kir_val km_erf_inv(struct km m, kir_val x) {
    kir_val a = km_abs(m, x), one = km_f(m, 1), w = km_neg(m, km_log(m, km_fma(m, km_neg(m, a), a, one)));
    kir_val root = km_sub(m, km_sqrt(m, w), km_f(m, m.wide ? 4 : 3));
    kir_val central = m.wide ? KM_POLY(m, w, erf_inv_central64) : KM_POLY(m, w, erf_inv_central);
    kir_val tail = m.wide ? KM_POLY(m, root, erf_inv_tail64) : KM_POLY(m, root, erf_inv_tail);
    kir_val r = km_mul(m, a, km_select(m, km_lt(m, w, km_f(m, 5)), central, tail));
    if (m.wide)
        r = erf_inv_step(m, a, r);
    r = km_select(m, km_eq(m, a, one), km_f(m, (double)INFINITY), r);
    return km_copysign(m, r, x);
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
