/* Zeta and polygamma, of f32 and f64, computed in f64: for f64 with logarithms and exponents as sums of two numbers, and more
 * terms. Abramowitz and Stegun, chapters 6 and 23. */
#include "kir/math.h"

#include <math.h>

/* B2k / (2k)! */
static const double zeta_rest[] = {
    1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600,
    -3617.0 / 10670622842880000, 43867.0 / 5109094217170944000, -174611.0 / 802857662698291200000.0,
    0x1.96747dc0b5ca1p-58, -0x1.41c18b8fbf9e4p-63,
};

/* Terms that are summed up, and of the rest. */
struct zeta {
    struct km d;
    bool full;              /* of f64 */
    int terms, rest;
    kir_val x, bias, low;   /* registers; e^(bias + low) is a factor of everything; low: of f64 */
    kir_val unit, unit_low; /* of f64, likewise: what is raised to powers is divided by */
};

/* What a loop or branch computes with must be read there: else the builder would place it before. */
static kir_val read_reg(struct km d, kir_val reg) { return kir_get_reg(d.k, reg, (kir_val){0}); }

/* (a + lost)^-x times the factor. */
static kir_val power(const struct zeta *z, kir_val a, kir_val lost, kir_val x) {
    struct km d = z->d;
    kir_val minus = km_neg(d, x), bias = read_reg(d, z->bias);
    if (!z->full)
        return km_exp(d, km_fma(d, minus, km_log(d, a), bias));
    struct km_twofold unit = {read_reg(d, z->unit), read_reg(d, z->unit_low)};
    struct km_twofold b = km_twofold_div(d, (struct km_twofold){a, lost}, unit), log = km_log_twofold(d, b.hi);
    log.lo = km_add(d, log.lo, km_div(d, b.lo, b.hi));
    struct km_twofold e = km_two_product(d, (struct km_twofold){minus, km_f(d, 0)}, log);
    e = km_twofold_add(d, e, (struct km_twofold){bias, read_reg(d, z->low)});
    kir_val low = km_select(d, km_lt(d, km_abs(d, e.hi), km_f(d, 800)), e.lo, km_f(d, 0));
    kir_val end = km_div(d, km_f(d, 1), a); /* 0 or NaN */
    return km_select(d, km_lt(d, a, km_f(d, (double)INFINITY)), km_exp_sum(d, e.hi, low), end);
}

/* q + k, and what rounding loses. */
static kir_val shifted(struct km d, kir_val q, kir_val k, kir_val *lost) {
    kir_val a = km_add(d, q, k), t = km_sub(d, a, q);
    *lost = km_add(d, km_sub(d, q, km_sub(d, a, t)), km_sub(d, k, t));
    return a;
}

/* Σ (q + k)^-x times the factor, for x > 1, q > 0: the first terms, then Euler and Maclaurin's formula. From registers. */
static kir_val zeta_positive(const struct zeta *z, kir_val rq) {
    struct km d = z->d;
    kir_val none = {0}, zero = km_f(d, 0), one = km_f(d, 1), lost;
    kir_val sum = kir_reg(d.k, zero, 1), left = kir_reg(d.k, zero, 1), at = kir_reg(d.k, zero, 1);
    kir_loop(d.k, KIR_SERIAL, z->terms, 0);
    kir_val k = read_reg(d, at), a = shifted(d, read_reg(d, rq), k, &lost);
    struct km_twofold s = km_twofold_add(d, (struct km_twofold){read_reg(d, sum), read_reg(d, left)},
                                         (struct km_twofold){power(z, a, lost, read_reg(d, z->x)), zero});
    kir_set_reg(d.k, sum, none, s.hi);
    kir_set_reg(d.k, left, none, s.lo);
    kir_set_reg(d.k, at, none, km_add(d, k, one));
    kir_close(d.k);
    kir_val x = read_reg(d, z->x), q = shifted(d, read_reg(d, rq), km_f(d, z->terms), &lost), last = power(z, q, lost, x);
    kir_val total = read_reg(d, sum), u = km_div(d, one, q), square = km_mul(d, u, u), factor = km_mul(d, x, u);
    kir_val less = km_sub(d, x, one), tail = km_f(d, 0.5);
    /* Of f64 the last term may vanish before this does. */
    kir_val most = z->full ? km_mul(d, power(z, q, lost, less), read_reg(d, z->unit)) : km_mul(d, last, q);
    for (int i = 1; i <= z->rest; i++) {
        tail = km_fma(d, factor, km_f(d, zeta_rest[i - 1]), tail);
        kir_val next = km_mul(d, km_add(d, x, km_f(d, 2 * i - 1)), km_add(d, x, km_f(d, 2 * i)));
        factor = km_mul(d, factor, km_mul(d, next, square));
    }
    kir_val gone = km_eq(d, last, zero);
    most = km_div(d, z->full ? most : km_select(d, gone, zero, most), less);
    tail = km_add(d, km_add(d, most, km_select(d, gone, zero, km_mul(d, last, tail))), read_reg(d, left));
    return km_select(d, km_eq(d, total, km_f(d, (double)INFINITY)), total, km_add(d, total, tail));
}

/* For q < 0 and whole x: the terms up to the change of sign are (-1)^x times those at f, f + 1 … |q|, f the fraction of
   |q|. The three sums that this takes, at 1 - f, f and 1 - q, are computed one after another. */
static kir_val zeta_negative(const struct zeta *z, kir_val rq) {
    struct km d = z->d;
    kir_val none = {0}, zero = km_f(d, 0), one = km_f(d, 1), inf = km_f(d, (double)INFINITY), nan = km_f(d, (double)NAN);
    kir_val q = read_reg(d, rq), b = km_neg(d, q), f = km_sub(d, b, kir_op1(d.k, KIR_FLOOR, b)), part[3], turns[3];
    part[0] = kir_reg(d.k, km_sub(d, one, f), 1);
    part[1] = kir_reg(d.k, f, 1);
    part[2] = kir_reg(d.k, km_sub(d, one, q), 1);
    for (int i = 0; i < 3; i++)
        turns[i] = kir_reg(d.k, zero, 1);
    kir_loop(d.k, KIR_SERIAL, 3, 0);
    kir_val now = zeta_positive(z, part[0]); /* both rotate: what was computed last is the last */
    for (int i = 0; i < 2; i++) {
        kir_set_reg(d.k, part[i], none, read_reg(d, part[i + 1]));
        kir_set_reg(d.k, turns[i], none, read_reg(d, turns[i + 1]));
    }
    kir_set_reg(d.k, turns[2], none, now);
    kir_close(d.k);
    kir_val x = read_reg(d, z->x), upper = read_reg(d, turns[0]), lower = read_reg(d, turns[1]), beyond = read_reg(d, turns[2]);
    kir_val half = km_mul(d, x, km_f(d, 0.5)), parity = km_sub(d, half, kir_op1(d.k, KIR_FLOOR, half));
    kir_val even = km_eq(d, parity, zero), odd = km_eq(d, parity, km_f(d, 0.5));
    kir_val both = km_and(d, km_eq(d, upper, inf), km_eq(d, lower, inf)), middle = km_sub(d, f, km_f(d, 0.5));
    kir_val larger = km_select(d, km_eq(d, middle, zero), zero, km_mul(d, inf, middle));
    kir_val difference = km_select(d, both, larger, km_sub(d, upper, lower)), sum = km_add(d, upper, km_sub(d, lower, beyond));
    difference = km_select(d, km_eq(d, km_abs(d, difference), inf), difference, km_add(d, difference, beyond));
    sum = km_select(d, km_eq(d, lower, inf), inf, sum); /* beyond it may be infinite, too */
    kir_val r = km_select(d, even, sum, km_select(d, odd, difference, nan));
    return km_select(d, km_eq(d, f, zero), km_select(d, even, inf, nan), r);
}

/* The case q < 0 is in a branch that is taken when any lane has one. */
static kir_val zeta(struct km d, bool full, kir_val x, kir_val q, struct km_twofold bias, struct km_twofold unit) {
    kir_val none = {0}, one = km_f(d, 1), inf = km_f(d, (double)INFINITY), nan = km_f(d, (double)NAN);
    struct zeta z = {d, full, full ? 16 : 10, full ? 12 : 10, kir_reg(d.k, x, 1), kir_reg(d.k, bias.hi, 1), {0}, {0}, {0}};
    kir_val rq = kir_reg(d.k, q, 1), below = kir_cmp(d.k, KIR_LE, 0, q, km_f(d, 0));
    if (full) {
        z.low = kir_reg(d.k, bias.lo, 1);
        z.unit = kir_reg(d.k, unit.hi, 1);
        z.unit_low = kir_reg(d.k, unit.lo, 1);
    }
    kir_val r = zeta_positive(&z, rq);
    kir_val limit = km_select(d, km_lt(d, q, one), inf, km_select(d, km_eq(d, q, one), one, km_f(d, 0)));
    r = km_select(d, km_eq(d, x, inf), limit, r);
    kir_val rr = kir_reg(d.k, r, 1);
    kir_if(d.k, kir_op1(d.k, KIR_ANY, below));
    kir_set_reg(d.k, rr, none, km_select(d, below, zeta_negative(&z, rq), r));
    kir_close(d.k);
    r = read_reg(d, rr);
    r = km_select(d, km_lt(d, one, x), r, km_select(d, km_eq(d, x, one), inf, nan));
    return km_select(d, km_eq(d, q, q), r, nan);
}

/* Of f32 rounded once; of f64 as it is. */
static kir_val result(struct km m, struct km d, kir_val r) { return m.wide ? r : km_to(d, KIR_F32, r); }
static kir_val widened(struct km m, kir_val x) { return m.wide ? x : km_to(m, KIR_F64, x); }

kir_val km_zeta(struct km m, kir_val x, kir_val q) {
    struct km d = km_of(m.k, KIR_F64);
    struct km_twofold none = {km_f(d, 0), km_f(d, 0)}, one = {km_f(d, 1), km_f(d, 0)};
    return result(m, d, zeta(d, m.wide, widened(m, x), widened(m, q), none, one));
}

/* (-1)^(n + 1) n! ζ(n + 1, x), n! as a summand of the exponents; ψ for n = 0. In f64 most of n! goes into the powers, since
   their logarithms cancel where the order is large. */
kir_val km_polygamma(struct km m, kir_val n, kir_val x) {
    struct km d = km_of(m.k, KIR_F64);
    kir_val w = widened(m, n), v = widened(m, x), zero = km_f(d, 0), s = km_add(d, w, km_f(d, 1)), a = km_abs(d, s);
    kir_val half = km_mul(d, w, km_f(d, 0.5)), even = km_eq(d, half, kir_op1(d.k, KIR_FLOOR, half));
    struct km_twofold bias = {0}, unit = {0};
    if (m.wide)
        bias = km_lgamma_rest64(d, a, &unit);
    else
        bias.hi = km_lgamma_narrow(d, a);
    kir_val value = zeta(d, m.wide, s, v, bias, unit), first = m.wide ? km_digamma64(d, v) : km_digamma_narrow(d, v);
    kir_val r = km_select(d, km_eq(d, w, zero), first, km_select(d, even, km_neg(d, value), value));
    kir_val whole = km_and(d, kir_cmp(d.k, KIR_GE, 0, w, zero), km_eq(d, w, kir_op1(d.k, KIR_FLOOR, w)));
    return result(m, d, km_select(d, whole, r, km_f(d, (double)NAN)));
}
