/* Functions as arithmetic: which ones are known, and writing them out. */
#include "kir/math.h"

kir_val km_poly(struct km m, kir_val x, const double *c, int n) {
    kir_val p = km_f(m, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        p = km_fma(m, p, x, km_f(m, c[i]));
    return p;
}

/* The functions that are known. Behind each: ops of f32, without casts of bits; the largest error that was
   found, in ulp, of f32 (every 199th number at least) and f64 (65,000 random ones). sinh and cosh of f32 follow what CHLO
   expands them to, and are measured against that. sin, cos and tan are about 30 ops up to 2^17; the rest is a branch for
   larger angles. `narrow`: of f32 only. */
static const struct { km_fn1 *one; km_fn2 *two; bool narrow; } functions[KIR_MATH_COUNT] = {
    [KIR_MATH_EXP] = {km_exp, NULL},               /* 22  0.9  0.9 */
    [KIR_MATH_EXPM1] = {km_expm1, NULL},           /* 20  1.6  1.7 */
    [KIR_MATH_LOG] = {km_log, NULL},               /* 30  0.8  0.8 */
    [KIR_MATH_LOG1P] = {km_log1p, NULL},           /* 35  1.5  1.4 */
    [KIR_MATH_LOGISTIC] = {km_logistic, NULL},     /* 26  2.4  2.1 */
    [KIR_MATH_TANH] = {km_tanh, NULL},             /* 21  2.4  2.4 */
    [KIR_MATH_SIN] = {km_sin, NULL},               /* 92  2.0  2.2 */
    [KIR_MATH_COS] = {km_cos, NULL},               /* 93  2.0  2.3 */
    [KIR_MATH_TAN] = {km_tan, NULL},               /* 92  2.7  2.8 */
    [KIR_MATH_RSQRT] = {km_rsqrt, NULL},           /*  2  1.5  1.4 */
    [KIR_MATH_CBRT] = {km_cbrt, NULL},             /* 36  0.8  0.8 */
    [KIR_MATH_POW] = {NULL, km_pow},               /* 73  0.51 0.6 */
    [KIR_MATH_ATAN2] = {NULL, km_atan2},           /* 46  2.3  2.2 */
    [KIR_MATH_ERF] = {km_erf, NULL},               /* 33  1.1  0.9 */
    [KIR_MATH_ERFC] = {km_erfc, NULL},             /* 46  2.8  1.7 */
    [KIR_MATH_ERF_INV] = {km_erf_inv, NULL},       /* 59  2.2  2.0 */
    [KIR_MATH_ASIN] = {km_asin, NULL},             /* 20  2.3  2.0 */
    [KIR_MATH_ACOS] = {km_acos, NULL},             /* 24  1.1  1.1 */
    [KIR_MATH_ATAN] = {km_atan, NULL},             /* 27  2.6  2.4 */
    [KIR_MATH_SINH] = {km_sinh, NULL},             /* 57  2.0  2.2 */
    [KIR_MATH_COSH] = {km_cosh, NULL},             /* 47  2.0  2.3 */
    [KIR_MATH_ASINH] = {km_asinh, NULL},           /* 49  1.8  1.5 */
    [KIR_MATH_ACOSH] = {km_acosh, NULL},           /* 48  2.0  1.7 */
    [KIR_MATH_ATANH] = {km_atanh, NULL},           /* 41  2.1  1.8 */
    [KIR_MATH_ROUND_AFZ] = {km_round_afz, NULL},   /*  6  0    0 */
    [KIR_MATH_NEXT_AFTER] = {NULL, km_next_after}, /* 14  0    0 */
    [KIR_MATH_LGAMMA] = {km_lgamma, NULL, true},         /* 0.5 */
    [KIR_MATH_DIGAMMA] = {km_digamma, NULL, true},       /* 0.5 */
    [KIR_MATH_BESSEL_I1E] = {km_bessel_i1e, NULL, true}, /* 0.51 */
    [KIR_MATH_ZETA] = {NULL, km_zeta, true},             /* 0.5 */
    [KIR_MATH_POLYGAMMA] = {NULL, km_polygamma, true},   /* 0.5 */
};

bool kir_math_known(enum kir_math f, enum kir_type t) {
    return (functions[f].one || functions[f].two) && kir_is_float(t) && !(functions[f].narrow && t == KIR_F64);
}

kir_val kir_math_expand(struct kir *k, enum kir_math f, kir_val a, kir_val b) {
    struct km m = km_of(k, kir_type(k, a));
    return functions[f].two ? functions[f].two(m, a, b) : functions[f].one(m, a);
}

/* Writes out what stands in a block and below it, in order: so that what was put or seen comes before what is still to come,
   and equal values can be used again. `now`: what a node's uses are to be. */
static void expand_block(struct kir *k, kir_block b, kir_val *now, uint32_t old) {
    kir_val next;
    for (kir_val v = kir_block_get(k, b)->first; KIR_IS(v); v = next) {
        for (int i = 0; i < 3; i++) {
            kir_val a = kir_get(k, v)->arg[i];
            if (a.i < old && KIR_IS(now[a.i]) && kir_get(k, v)->op != KIR_WHILE)
                kir_get(k, v)->arg[i] = now[a.i];
        }
        struct kir_node n = *kir_get(k, v);
        kir_block_get(k, b)->open = v;
        k->at = b;
        if (n.other.i && n.op == KIR_WHILE)
            expand_block(k, n.other, now, old);
        if (n.op == KIR_WHILE && KIR_IS(now[n.arg[0].i]))
            kir_get(k, v)->arg[0] = now[n.arg[0].i];
        if (n.body.i)
            expand_block(k, n.body, now, old);
        if (n.other.i && n.op == KIR_IF)
            expand_block(k, n.other, now, old);
        k->at = b;
        if (n.op == KIR_MATH && kir_math_known((enum kir_math)n.sub, (enum kir_type)n.type))
            now[v.i] = kir_math_expand(k, (enum kir_math)n.sub, n.arg[0], n.arg[1]);
        else if (n.op != KIR_CONST && (kir_is_pure(&n) || kir_is_const_load(k, &n)))
            kir_remember(k, v);
        next = kir_get(k, v)->next;
        if (n.op == KIR_MATH && KIR_IS(now[v.i]))
            kir_unlink(k, v);
    }
    kir_block_get(k, b)->open = (kir_val){0};
}

void kir_expand_math(struct kir *k) {
    uint32_t old = k->nodes.n;
    kir_val *now = ARENA_ARRAY(&k->arena, kir_val, old);
    kir_forget(k);
    expand_block(k, (kir_block){1}, now, old);
    k->at = (kir_block){1};
}
