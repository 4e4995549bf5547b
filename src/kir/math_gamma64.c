/* Gamma and what belongs to it, a Bessel function: of f64, as sums of two numbers where summands may cancel. Of polynomials the
 * first coefficients, and the last steps, are such sums too; they are Chebyshev interpolations on the intervals that are
 * named. Abramowitz and Stegun, chapters 6 and 9. */
#include "kir/math.h"

#include <math.h>

typedef struct km_twofold twofold;

static twofold pair(kir_val hi, kir_val lo) { return (twofold){hi, lo}; }

static twofold negated(struct km d, twofold a) { return pair(km_neg(d, a.hi), km_neg(d, a.lo)); }

static twofold select(struct km d, kir_val c, twofold a, twofold b) {
    return pair(km_select(d, c, a.hi, b.hi), km_select(d, c, a.lo, b.lo));
}

static kir_val rounded(struct km d, twofold a) { return km_add(d, a.hi, a.lo); }

#define COUNT(a)      ((int)(sizeof(a) / sizeof *(a)))
#define POLY(d, x, c) km_twofold_poly((d), (x), c, COUNT(c), c##_low, COUNT(c##_low))

/* The logarithm of such a sum, positive and finite. */
static twofold log_of(struct km d, twofold a) {
    twofold l = km_log_twofold(d, a.hi);
    return pair(l.hi, km_add(d, l.lo, km_div(d, a.lo, a.hi)));
}

/* ---- sin π r --------------------------------------------------------------------------------- */

/* sin (π r) / r in r² on |r| <= 1/2, relative error 2^-70. */
static const double sin_pi[] = {
    0x1.921fb54442d18p+1, -0x1.4abbce625be53p+2, 0x1.466bc6775aae2p+1, -0x1.32d2cce62bd57p-1, 0x1.50783487ec19ap-4,
    -0x1.e3074fdc520eap-8, 0x1.e8f4338e03a66p-12, -0x1.6fad488852625p-16, 0x1.aabbe3815eb60p-21, -0x1.7ed4cd7222586p-26,
};
static const double sin_pi_low[] = {0x1.1a61d288209a9p-53, 0x1.0633261ce015ep-52, -0x1.a001cc4a8f6b2p-53};

static twofold sin_pi_of(struct km d, kir_val r) {
    kir_val z = km_mul(d, r, r), lost = km_fma(d, r, r, km_neg(d, z));
    twofold p = POLY(d, z, sin_pi);
    kir_val slope = km_fma(d, z, km_fma(d, z, km_f(d, 3 * sin_pi[3]), km_f(d, 2 * sin_pi[2])), km_f(d, sin_pi[1]));
    p.lo = km_fma(d, lost, slope, p.lo);
    return km_two_product(d, p, pair(r, km_f(d, 0)));
}

/* x less the nearest integer, exactly. */
static kir_val fraction(struct km d, kir_val x) {
    return km_sub(d, x, kir_op1(d.k, KIR_RINT, x));
}

/* ---- by the recurrence ----------------------------------------------------------------------- */

/* 0 < a < 8 as y in 1 … 2 and steps of 1. Below 1, y = a + 1 is rounded: by `lost`, whose effect is that times the derivative
   at y, a parabola is enough for. */
struct steps {
    kir_val low, tiny; /* a < 8, a < 1 */
    kir_val y, t;      /* t = 2 y - 3 */
    kir_val lost;
    twofold product, sum; /* of a - 1, a - 2 … y; of their inverses. Below 1: 1 and -1 / a */
};

static struct steps take_steps(struct km d, kir_val a, bool sum) {
    kir_val one = km_f(d, 1), two = km_f(d, 2), zero = km_f(d, 0);
    struct steps s = {.low = km_lt(d, a, km_f(d, 8)), .tiny = km_lt(d, a, one), .y = a};
    s.product = pair(one, zero);
    s.sum = pair(zero, zero);
    for (int k = 0; k < 6; k++) {
        kir_val above = km_lt(d, two, s.y), less = km_sub(d, s.y, one);
        if (sum)
            s.sum = select(d, above, km_twofold_add(d, s.sum, km_twofold_inverse(d, less)), s.sum);
        else
            s.product = select(d, above, km_two_product(d, s.product, pair(less, zero)), s.product);
        s.y = km_select(d, above, less, s.y);
    }
    kir_val more = km_add(d, a, one);
    s.y = km_select(d, s.tiny, more, s.y);
    s.lost = km_select(d, s.tiny, km_sub(d, a, km_sub(d, more, one)), zero);
    if (sum)
        s.sum = select(d, s.tiny, negated(d, km_twofold_inverse(d, a)), s.sum);
    s.t = km_fma(d, s.y, two, km_f(d, -3));
    return s;
}

/* c0 + t (c1 + t c2) times what is lost, added to a. */
static twofold add_lost(struct km d, twofold a, const struct steps *s, double c0, double c1, double c2) {
    kir_val slope = km_fma(d, s->t, km_fma(d, s->t, km_f(d, c2), km_f(d, c1)), km_f(d, c0));
    return pair(a.hi, km_fma(d, s->lost, slope, a.lo));
}

/* ---- log gamma ------------------------------------------------------------------------------- */

/* log Γ(y) / ((y - 1) (y - 2)) on 1 … 2, relative error 2^-64. */
static const double lgamma_near[] = {
    0x1.eeb95b094c191p-2, -0x1.2aed059bd608ap-4, 0x1.01af62a2929e9p-6, -0x1.007aa83cee1e1p-8, 0x1.1334235278be4p-10,
    -0x1.34dbda148eef6p-12, 0x1.64f066528cd9bp-14, -0x1.a503523aa8e93p-16, 0x1.f814b793ba519p-18, -0x1.313e883c22a03p-19,
    0x1.750aee15dde55p-21, -0x1.cb45751de412fp-23, 0x1.1c738f7c6bcc4p-24, -0x1.62316175d7440p-26, 0x1.bb23a2fc2e075p-28,
    -0x1.1637a53958dbap-29, 0x1.5cf180d17742ap-31, -0x1.b8f9886378442p-33, 0x1.24db3d1cbdecep-34, -0x1.743f4a6b33b57p-36,
    0x1.4b78bd46746e8p-38, -0x1.a5ac06e896ffdp-40, 0x1.5fe008216fbe9p-40, -0x1.c36de923d02c4p-42,
};
static const double lgamma_near_low[] = {0x1.341fe469599c5p-56, -0x1.c768e0143b805p-62, -0x1.b5952015ef698p-63};

/* Stirling's series in 1/a². */
static const double stirling[] = {1.0 / 12,         -1.0 / 360, 1.0 / 1260,       -1.0 / 1680,    1.0 / 1188,
                                  -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400, 43867.0 / 244188};

/* (a - 1/2) (log a - 1) + (log 2 π - 1) / 2 + … */
static twofold lgamma_far(struct km d, kir_val a, twofold log) {
    kir_val half = km_f(d, -0.5), u = km_div(d, km_f(d, 1), a), rest = km_mul(d, u, KM_POLY(d, km_mul(d, u, u), stirling));
    twofold less = km_two_sum(d, log.hi, km_f(d, -1), log.lo), far = km_two_product(d, less, pair(a, km_f(d, 0)));
    far = km_twofold_add(d, far, pair(km_mul(d, less.hi, half), km_mul(d, less.lo, half)));
    return km_twofold_add(d, far, pair(km_f(d, 0x1.acfe390c97d69p-2), km_add(d, rest, km_f(d, 0x1.3494bc9001442p-56))));
}

static twofold km_lgamma_positive64(struct km d, kir_val a) {
    struct steps s = take_steps(d, a, false);
    kir_val one = km_f(d, 1), two = km_f(d, 2), zero = km_f(d, 0);
    twofold arg = select(d, s.low, select(d, s.tiny, pair(a, zero), s.product), pair(a, zero)), log = log_of(d, arg);
    twofold ends = km_two_product(d, pair(km_sub(d, s.y, one), zero), pair(km_sub(d, s.y, two), zero));
    twofold near = add_lost(d, km_two_product(d, ends, POLY(d, s.t, lgamma_near)), &s, 0.036489973979, 0.5, -0.11370563888);
    near = km_twofold_add(d, select(d, s.tiny, negated(d, log), log), near);
    twofold sum = select(d, s.low, near, lgamma_far(d, a, log));
    kir_val inf = km_f(d, (double)INFINITY);
    return select(d, km_eq(d, sum.hi, inf), pair(inf, zero), km_two_sum(d, sum.hi, sum.lo, zero));
}

struct km_twofold km_lgamma_rest64(struct km d, kir_val s, struct km_twofold *unit) {
    kir_val zero = km_f(d, 0), large = kir_cmp(d.k, KIR_GE, 0, s, km_f(d, 8)), u = km_div(d, km_f(d, 1), s);
    twofold half = pair(km_f(d, -0.5), zero);
    twofold inverse_e = pair(km_f(d, 0x1.78b56362cef38p-2), km_f(d, -0x1.ca8a4270fadf5p-57));
    twofold rest = km_two_product(d, km_log_twofold(d, s), half);
    kir_val series = km_fma(d, u, KM_POLY(d, km_mul(d, u, u), stirling), km_f(d, -0x1.65b5a1b7ff5dfp-55));
    rest = km_twofold_add(d, rest, pair(km_f(d, 0x1.d67f1c864beb5p-1), series));
    *unit = select(d, large, km_two_product(d, inverse_e, pair(s, zero)), pair(km_f(d, 1), zero));
    rest = select(d, large, rest, km_lgamma_positive64(d, s));
    return km_two_sum(d, rest.hi, rest.lo, zero);
}

/* What a branch computes with must be read there: else the builder would place it before the branch. */
static kir_val read_reg(struct km d, kir_val reg) { return kir_get_reg(d.k, reg, (kir_val){0}); }

/* log |Γ(-a)| = log (π / (a |sin π a|)) - log Γ(a), -log a for small a, in a branch that is taken when any lane has such a
   number. */
kir_val km_lgamma64(struct km d, kir_val x) {
    kir_val none = {0}, zero = km_f(d, 0), inf = km_f(d, (double)INFINITY), rx = kir_reg(d.k, x, 1);
    twofold positive = km_lgamma_positive64(d, km_abs(d, x));
    kir_val r = km_select(d, km_eq(d, positive.hi, inf), inf, rounded(d, positive)), below = km_lt(d, x, zero);
    r = km_select(d, km_eq(d, x, zero), inf, r);
    kir_val rr = kir_reg(d.k, r, 1);
    kir_if(d.k, kir_op1(d.k, KIR_ANY, below));
    kir_val a = km_neg(d, read_reg(d, rx)), f = fraction(d, a);
    twofold sine = sin_pi_of(d, km_abs(d, f)), logs = km_twofold_add(d, log_of(d, sine), km_log_twofold(d, a));
    twofold log_pi = pair(km_f(d, 0x1.250d048e7a1bdp+0), km_f(d, 0x1.7abf2ad8d5088p-57));
    twofold mirrored = km_twofold_add(d, log_pi, negated(d, km_twofold_add(d, logs, positive)));
    kir_val small = km_lt(d, a, km_f(d, 0x1p-900));
    r = km_select(d, km_eq(d, f, zero), inf, rounded(d, select(d, small, positive, mirrored)));
    kir_set_reg(d.k, rr, none, km_select(d, km_lt(d, read_reg(d, rx), zero), r, read_reg(d, rr)));
    kir_close(d.k);
    r = read_reg(d, rr);
    return km_select(d, km_eq(d, km_abs(d, x), inf), inf, r);
}

/* ---- digamma --------------------------------------------------------------------------------- */

/* ψ(y) / (y - its zero) on 1 … 2, relative error 2^-61. */
static const double digamma_near[] = {
    0x1.e6f0cbb873616p-1, -0x1.b1cb63005ee96p-3, 0x1.eca189b8e6f7bp-5, -0x1.2feeeb98a7e14p-6, 0x1.8512e59037f3fp-8,
    -0x1.fb4420299c39ep-10, 0x1.4de9aa17fed5cp-11, -0x1.b9f8b14eb372ep-13, 0x1.256471573c163p-14, -0x1.8635595c28480p-16,
    0x1.03c0b29031197p-17, -0x1.5a07ffdcf1525p-19, 0x1.cd1f2dbc0dbedp-21, -0x1.335166d938f39p-22, 0x1.99e14548a2d9bp-24,
    -0x1.1138fd323dc0cp-25, 0x1.69be71d89ad40p-27, -0x1.e24e3f4fdc1dcp-29, 0x1.56ae8897d5d3dp-30, -0x1.c8e71b670fd14p-32,
    0x1.80c273fb322c5p-34, -0x1.0081238b97022p-35, 0x1.0080971c5617fp-35, -0x1.5600aebc07538p-37,
};
static const double digamma_near_low[] = {0x1.8be0c5f9fa98cp-55, -0x1.de30ba4ee33fep-57, -0x1.40345d67ea12ap-60};

/* B2k / 2k */
static const double digamma_far[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,      1.0 / 132,
                                     -691.0 / 32760, 1.0 / 12, -3617.0 / 8160, 43867.0 / 14364, -174611.0 / 6600};

static twofold digamma_positive(struct km d, kir_val a) {
    struct steps s = take_steps(d, a, true);
    twofold off = pair(km_sub(d, s.y, km_f(d, 0x1.762d86356be3fp+0)), km_f(d, -0x1.b86a722197829p-54));
    twofold near = add_lost(d, km_two_product(d, off, POLY(d, s.t, digamma_near)), &s, 0.934802200545, -0.5, 0.210131866304);
    twofold u = km_twofold_inverse(d, a);
    kir_val z = km_mul(d, u.hi, u.hi), half = km_f(d, -0.5), rest = km_neg(d, km_mul(d, z, KM_POLY(d, z, digamma_far)));
    twofold far = km_twofold_add(d, km_log_twofold(d, a), pair(km_mul(d, u.hi, half), km_fma(d, u.lo, half, rest)));
    return select(d, s.low, km_twofold_add(d, s.sum, near), far);
}

/* ψ(-a) = ψ(a) + 1 / a + π cot π a; NaN at the poles. Next to 0 it is -1 / x. */
kir_val km_digamma64(struct km d, kir_val x) {
    kir_val none = {0}, zero = km_f(d, 0), inf = km_f(d, (double)INFINITY), a = km_abs(d, x), rx = kir_reg(d.k, x, 1);
    twofold positive = digamma_positive(d, a);
    kir_val r = km_select(d, km_eq(d, a, inf), inf, rounded(d, positive)), below = kir_cmp(d.k, KIR_LE, 0, x, zero);
    kir_val small = km_lt(d, a, km_f(d, 0x1p-900));
    kir_val rr = kir_reg(d.k, km_select(d, small, km_div(d, km_f(d, -1), x), r), 1);
    kir_if(d.k, kir_op1(d.k, KIR_ANY, below));
    kir_val b = km_neg(d, read_reg(d, rx)), f = fraction(d, b);
    twofold cosine = sin_pi_of(d, km_sub(d, km_f(d, 0.5), km_abs(d, f)));
    twofold top = km_two_product(d, cosine, pair(km_f(d, 0x1.921fb54442d18p+1), km_f(d, 0x1.1a62633145c07p-53)));
    twofold mirrored = km_twofold_add(d, positive, km_twofold_inverse(d, b));
    mirrored = km_twofold_add(d, km_twofold_div(d, top, sin_pi_of(d, f)), mirrored);
    r = km_select(d, small, read_reg(d, rr), rounded(d, mirrored));
    r = km_select(d, km_eq(d, f, zero), km_f(d, (double)NAN), r);
    kir_set_reg(d.k, rr, none, km_select(d, kir_cmp(d.k, KIR_LE, 0, read_reg(d, rx), zero), r, read_reg(d, rr)));
    kir_close(d.k);
    return read_reg(d, rr);
}

/* ---- Bessel ---------------------------------------------------------------------------------- */

/* I1(a) / a in a² on 0 … 8, where nothing cancels but errors add up, so that the largest terms are sums of two numbers; and
   e^-a I1(a) sqrt a in 16/a - 1 beyond: relative errors 2^-59, 2^-57. */
static const double i1_near[] = {
    0x1.0000000000000p-1, 0x1.0000000000001p-4, 0x1.5555555555540p-9, 0x1.c71c71c71c9ecp-15, 0x1.6c16c16c13a93p-21,
    0x1.845c8a0d26f80p-28, 0x1.27e4fb73f1ad7p-35, 0x1.522a443ba2a26p-43, 0x1.2c97552280795p-51, 0x1.ab8234c2c46fbp-60,
    0x1.f17258b099a34p-69, 0x1.e290ec0d14f98p-78, 0x1.8a6faa072cdf9p-87, 0x1.1dc3a22d140b2p-96, 0x1.1ec8e2d9b0ddbp-106,
    0x1.20de50ee937a2p-115,
};
static const double i1e_far[] = {
    0x1.8ebe783a84030p-2, -0x1.3f796198ee63fp-7, -0x1.cbc54df1e894cp-13, -0x1.f89c230446f74p-17, -0x1.ec8e107bd7eaap-20,
    -0x1.7613865ea6e9ap-22, -0x1.ad8d43e5d60bep-24, -0x1.727702ec186d3p-25, -0x1.9191ff33370adp-26, -0x1.21f47a4eb566bp-27,
    0x1.ceff3cea7c3a4p-28, 0x1.e413f0678e137p-27, 0x1.99d190fe908dap-28, -0x1.0c96c7afcb02cp-27, -0x1.0e2bb88351649p-27,
    0x1.05656ba38c1b6p-28, 0x1.aa440cf09ce30p-28, -0x1.11c9f66d690fcp-29, -0x1.01ef463d9c576p-28, 0x1.268bd450a314cp-30,
    0x1.c7aed1ee533f7p-30, -0x1.07d06c81c1d24p-31, -0x1.fff33f3b3e75ap-32, 0x1.37bea5c8dbcccp-33, 0x1.0ddc7620a9205p-34,
    -0x1.5a29b473f1663p-36,
};

enum { LARGE = 6 };

kir_val km_bessel_i1e64(struct km d, kir_val x) {
    kir_val a = km_abs(d, x), b = km_most(d, a, 8), c = km_least(d, a, 8);
    kir_val zero = km_f(d, 0), e = km_exp_sum(d, km_neg(d, b), zero);
    twofold once = pair(b, zero), z = km_two_product(d, once, once);
    twofold p = pair(km_poly(d, z.hi, i1_near + LARGE, COUNT(i1_near) - LARGE), zero);
    for (int i = LARGE - 1; i >= 0; i--)
        p = km_twofold_add(d, km_two_product(d, p, z), pair(km_f(d, i1_near[i]), zero));
    kir_val near = km_mul(d, rounded(d, km_two_product(d, p, once)), e);
    kir_val t = km_add(d, km_div(d, km_f(d, 16), c), km_f(d, -1)), far = km_div(d, KM_POLY(d, t, i1e_far), km_sqrt(d, c));
    return km_copysign(d, km_select(d, km_lt(d, a, km_f(d, 8)), near, far), x);
}
