/* Sums of two numbers: arithmetic of about twice the digits, after Dekker (A floating-point technique for extending the
 * available precision, 1971), where summands may cancel or errors grow. */
#include "kir/math.h"

/* ---- arithmetic ------------------------------------------------------------------------------ */

struct km_twofold km_two_sum(struct km m, kir_val a, kir_val b, kir_val lo) {
    kir_val hi = km_add(m, a, b);
    return (struct km_twofold){hi, km_add(m, km_add(m, km_sub(m, a, hi), b), lo)};
}

struct km_twofold km_two_product(struct km m, struct km_twofold a, struct km_twofold b) {
    kir_val hi = km_mul(m, a.hi, b.hi), lost = km_fma(m, a.hi, b.hi, km_neg(m, hi));
    return (struct km_twofold){hi, km_add(m, lost, km_fma(m, a.hi, b.lo, km_mul(m, a.lo, b.hi)))};
}

struct km_twofold km_twofold_add(struct km m, struct km_twofold a, struct km_twofold b) {
    kir_val hi = km_add(m, a.hi, b.hi), t = km_sub(m, hi, a.hi);
    kir_val lost = km_add(m, km_sub(m, a.hi, km_sub(m, hi, t)), km_sub(m, b.hi, t));
    return (struct km_twofold){hi, km_add(m, lost, km_add(m, a.lo, b.lo))};
}

struct km_twofold km_twofold_inverse(struct km m, kir_val a) {
    kir_val one = km_f(m, 1), q = km_div(m, one, a);
    return (struct km_twofold){q, km_mul(m, q, km_fma(m, km_neg(m, q), a, one))};
}

struct km_twofold km_twofold_div(struct km m, struct km_twofold a, struct km_twofold b) {
    kir_val q = km_div(m, a.hi, b.hi), minus = km_neg(m, q);
    kir_val rest = km_add(m, km_fma(m, minus, b.hi, a.hi), km_fma(m, minus, b.lo, a.lo));
    return (struct km_twofold){q, km_div(m, rest, b.hi)};
}

struct km_twofold km_twofold_poly(struct km m, kir_val x, const double *c, int n, const double *low, int nlow) {
    struct km_twofold sum = {km_poly(m, x, c + nlow, n - nlow), km_f(m, 0)};
    for (int i = nlow - 1; i >= 0; i--) {
        struct km_twofold p = km_two_product(m, sum, (struct km_twofold){x, km_f(m, 0)});
        sum = km_two_sum(m, km_f(m, c[i]), p.hi, km_add(m, p.lo, km_f(m, low[i])));
    }
    return sum;
}

/* ---- logarithm ------------------------------------------------------------------------------- */

/* (log ((1 + s) / (1 - s)) - 2 s - 2/3 s³) / s^5 in s², |s| <= 0.172: absolute error of its product with s^4 2^-65. */
static const double log_p[] = {0x1.9999999999b33p-2, 0x1.249249245781dp-2, 0x1.c71c722de152bp-3, 0x1.745ce9b776a06p-3,
                               0x1.3b1ef44137abcp-3, 0x1.0f7f2393c40b6p-3, 0x1.0e4a1560c2f52p-3};

/* log a to 64 bits, for a > 0, finite: e ln 2 + 2 s + s z (2/3 + z P(z)), s = f / (2 + f), z = s². */
struct km_twofold km_log_twofold(struct km m, kir_val a) {
    struct km_split x = km_log_split(m, a, true);
    kir_val two = km_f(m, 2), t = km_add(m, x.f, two), lost = km_sub(m, x.f, km_sub(m, t, two));
    kir_val r = km_div(m, km_f(m, 1), t);
    struct km_twofold s = {.hi = km_mul(m, x.f, r)};
    kir_val minus = km_neg(m, s.hi);
    s.lo = km_mul(m, r, km_fma(m, minus, lost, km_fma(m, minus, t, x.f)));
    struct km_twofold z = km_two_product(m, s, s);
    kir_val p = km_mul(m, z.hi, KM_POLY(m, z.hi, log_p));
    struct km_twofold q = km_two_sum(m, km_f(m, 0x1.5555555555555p-1), p, km_f(m, 0x1.5555555555555p-55));
    struct km_twofold v = km_two_product(m, s, km_two_product(m, z, q));
    struct km_twofold sum = km_two_sum(m, km_add(m, s.hi, s.hi), v.hi, km_fma(m, two, s.lo, v.lo));
    /* The high part of ln 2 has 42 bits: its products with exponents are exact. */
    kir_val high = km_mul(m, x.e, km_f(m, 0x1.62e42fefa3800p-1)), low = km_f(m, 0x1.ef35793c76730p-45);
    sum = km_two_sum(m, high, sum.hi, km_fma(m, x.e, low, sum.lo));
    return km_two_sum(m, sum.hi, sum.lo, km_f(m, 0));
}

