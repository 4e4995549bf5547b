/* Functions written out as arithmetic, against the C library in a wider type and the evaluator's own functions: over all of
 * f32 in steps, random f64, and every pair of edge cases. Errors are in units of the last place (ulp) of the result. */
#include "eval/eval_math.h"
#include "kir/kir.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 4096 };

/* ---- references ------------------------------------------------------------------------------ */

typedef long double ext;
typedef ext reference1(ext);
typedef ext reference2(ext, ext);

static ext ref_rsqrt(ext x) { return 1 / sqrtl(x); }
static ext ref_logistic(ext x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static ext ref_erf_inv(ext x) { return full_erf_inv((double)x); }
/* As CHLO expands them in f32. */
static ext ref_sinh32(ext x) { return narrow_sinh((double)x); }
static ext ref_cosh32(ext x) { return narrow_cosh((double)x); }

static ext ref_lgamma(ext x) { return full_lgamma((double)x); }
static ext ref_digamma(ext x) { return math_digamma((double)x); }
static ext ref_bessel_i1e(ext x) { return math_bessel_i1e((double)x); }

static const struct { enum kir_math f; reference1 *ref; double f32, f64; } unary[] = { /* bounds in ulp */
    {KIR_MATH_EXP, expl, 1, 1},         {KIR_MATH_EXPM1, expm1l, 2, 2},     {KIR_MATH_LOG, logl, 1, 1},
    {KIR_MATH_LOG1P, log1pl, 2, 2},     {KIR_MATH_LOGISTIC, ref_logistic, 2.5, 2.5}, {KIR_MATH_TANH, tanhl, 2.5, 2.5},
    {KIR_MATH_SIN, sinl, 2.5, 3},       {KIR_MATH_COS, cosl, 2.5, 3},       {KIR_MATH_TAN, tanl, 3, 3},
    {KIR_MATH_RSQRT, ref_rsqrt, 1.5, 1.5}, {KIR_MATH_CBRT, cbrtl, 1, 1},    {KIR_MATH_ERF, erfl, 1.5, 1.5},
    {KIR_MATH_ERFC, erfcl, 3, 2},     {KIR_MATH_ERF_INV, ref_erf_inv, 2.5, 2.5}, {KIR_MATH_ASIN, asinl, 2.5, 2.5},
    {KIR_MATH_ACOS, acosl, 1.5, 1.5},   {KIR_MATH_ATAN, atanl, 2.75, 2.75},   {KIR_MATH_SINH, NULL, 3, 3},
    {KIR_MATH_COSH, NULL, 3, 3},        {KIR_MATH_ASINH, asinhl, 3, 3},     {KIR_MATH_ACOSH, acoshl, 3, 3},
    {KIR_MATH_ATANH, atanhl, 2.5, 2.5}, {KIR_MATH_ROUND_AFZ, roundl, 0, 0}, {KIR_MATH_LGAMMA, ref_lgamma, 1, 3},
    {KIR_MATH_DIGAMMA, ref_digamma, 1, 3}, {KIR_MATH_BESSEL_I1E, ref_bessel_i1e, 1, 3},
};

static reference1 *reference(size_t i, bool f64) {
    if (unary[i].f == KIR_MATH_SINH)
        return f64 ? sinhl : ref_sinh32;
    if (unary[i].f == KIR_MATH_COSH)
        return f64 ? coshl : ref_cosh32;
    return unary[i].ref;
}

/* Of numbers next to the limit of the format, infinity counts as its end. */
static double ulps(ext got, ext want, bool f64) {
    int bits = f64 ? 53 : 24, least = f64 ? -1021 : -125, e;
    ext most = f64 ? (ext)0x1.fffffffffffffp1023 : (ext)0x1.fffffep127, beyond = ldexpl(1, f64 ? 1024 : 128);
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : 1e9;
    if (fabsl(want) > most)
        want = copysignl(fabsl(want) > most * (1 + ldexpl(1, -bits)) ? beyond : most, want);
    if (isinf(got))
        got = copysignl(beyond, got);
    if (got == 0 && want == 0)
        return signbit(got) == signbit(want) ? 0 : 1e9;
    frexpl(want, &e);
    return (double)(fabsl(got - want) / ldexpl(1, (e < least ? least : e) - bits));
}

/* ---- running --------------------------------------------------------------------------------- */

struct function {
    struct kir *k;
    jmp_buf recover;
    union { float f32[BLOCK]; double f64[BLOCK]; } x, y, out;
    bool f64;
    enum kir_math f;
    reference2 *scale; /* NULL, or of f64: what cancels to the result; an error of 2^-57 of it is no error */
    double worst;
    ext at[2];
};

/* out = f(x, y), in a loop over lanes, or one after the other. */
static struct function *function_new(enum kir_math f, bool f64, enum kir_loop loop) {
    struct function *c = test_calloc(1, sizeof *c);
    enum ir_dtype t = f64 ? IR_F64_T : IR_F32_T;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    c->f64 = f64;
    c->f = f;
    struct kir *k = c->k = kir_new("function", mem_system_allocator(), &c->recover);
    assert_non_null(k);
    uint32_t x = kir_param(k, KIR_IN, t, BLOCK), y = kir_param(k, KIR_IN, t, BLOCK), out = kir_param(k, KIR_OUT, t, BLOCK);
    kir_val i = kir_loop(k, loop, BLOCK, 8), b = {0};
    if (kir_math_get(f)->nargs == 2)
        b = kir_load(k, y, i);
    kir_store(k, out, i, kir_math(k, f, kir_load(k, x, i), b));
    kir_close(k);
    kir_expand_math(k);
    if (kir_verify(k, &d) != HILO_OK)
        fail_msg("%s", d.first->message);
    for (uint32_t n = 1; n < k->nodes.n; n++)
        assert_true(k->nodes.v[n].op != KIR_MATH || !k->nodes.v[n].block.i);
    diag_clear(&d);
    return c;
}

static void function_free(struct function *c) {
    kir_free(c->k);
    test_free(c);
}

static void run(struct function *c) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_true(kir_run(c->k, (void *const[]){&c->x, &c->y, &c->out}, NULL, 0, 1, &d));
    diag_clear(&d);
}

static ext number(const struct function *c, const void *p, size_t i) {
    return c->f64 ? (ext)((const double *)p)[i] : (ext)((const float *)p)[i];
}

static void put(struct function *c, void *p, size_t i, double x) {
    if (c->f64)
        ((double *)p)[i] = x;
    else
        ((float *)p)[i] = (float)x;
}

static void compare(struct function *c, size_t n, reference1 *ref1, reference2 *ref2) {
    run(c);
    for (size_t i = 0; i < n; i++) {
        ext x = number(c, &c->x, i), y = number(c, &c->y, i);
        ext want = ref1 ? ref1(x) : ref2(x, y), got = number(c, &c->out, i);
        double error = ulps(got, want, c->f64);
        if (error > 0.5 && c->f64 && c->scale && fabsl(got - want) <= c->scale(x, y))
            error = 0;
        if (error > c->worst) {
            c->worst = error;
            c->at[0] = x, c->at[1] = y;
        }
    }
}

static void check(const struct function *c, double bound) {
    const char *name = kir_math_get(c->f)->name;
    if (!(c->worst <= bound))
        fail_msg("%s f%d: %.3g ulp at %.17Lg (%La), %.17Lg; at most %g are allowed", name, c->f64 ? 64 : 32, c->worst, c->at[0],
                 c->at[0], c->at[1], bound);
    print_message("%-10s f%d %.3f ulp\n", name, c->f64 ? 64 : 32, c->worst);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const double edges[] = {
    0.0, 0x1p-149, 0x1p-126, 0x1p-1022, 1e-30, 0x1p-24, 1e-3, 0.25, 0.5, 0x1.fffffep-2, 1.0 / 3, 0x1.6a09e6p-1, 0x1.fffffep-1,
    1, 0x1.000002p0, 0x1.6a09e8p0, 1.5, 2, 2.5, 3, 0x1.921fb6p1, 0x1.921fb54442d18p0, 4, 7, 10, 17, 22, 87.5, 88.72, 88.73, 89,
    100, 103.9, 104, 127, 128, 150, 709.7, 745.2, 0x1p17, 0x1.000002p17, 8388607.5, 16777215, 16777216, 0x1.6ac5b262ca1ffp849,
    1e22, 0x1p100, 0x1.fffffep127, 0x1.fffffffffffffp1023, (double)INFINITY, (double)NAN,
};
enum { EDGES = sizeof edges / sizeof *edges };
static double edge(size_t i) { return i < EDGES ? edges[i] : -edges[i - EDGES]; }

static uint64_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ *state >> 29;
}

/* Of any exponent in a range. */
static double random_double(uint64_t *state, int least, int most) {
    uint64_t bits = random_bits(state);
    int e = least + (int)(random_bits(state) >> 33) % (most - least + 1);
    return ldexp(fp_f64_from_bits((bits >> 12) | 0x3FF0000000000000), e) * (bits & 1 ? -1 : 1);
}

/* Of gamma functions between negative poles, of zeta there and of odd order: the summands, next to the results' zeros. */
static ext scale_gamma(ext x, ext y) {
    (void)y;
    return x < 0 ? ldexpl(4 + fabsl(lgammal(fabsl(x))), -58) : 0;
}
static ext scale_digamma(ext x, ext y) {
    (void)y;
    return x < 0 ? ldexpl(4 + fabsl(ref_digamma(x)) + fabsl(ref_digamma(-x)), -58) : 0;
}
static ext scale_zeta(ext n, ext q) {
    ext f = -q - floorl(-q);
    return q < 0 && fmodl(n, 2) == 1 ? ldexpl(powl(fminl(f, 1 - f), -n), -48) : 0;
}
static ext scale_polygamma(ext n, ext x) {
    return n == 0 ? scale_digamma(x, 0) : tgammal(n + 1) * scale_zeta(n + 1, x);
}

static reference2 *scale_of(enum kir_math f) {
    return f == KIR_MATH_LGAMMA      ? scale_gamma
           : f == KIR_MATH_DIGAMMA   ? scale_digamma
           : f == KIR_MATH_ZETA      ? scale_zeta
           : f == KIR_MATH_POLYGAMMA ? scale_polygamma
                                     : NULL;
}

static void check_edges(struct function *c, reference1 *ref) {
    for (size_t i = 0; i < 2 * EDGES; i++)
        put(c, &c->x, i, edge(i));
    compare(c, 2 * EDGES, ref, NULL);
}

static void test_f32(void **state) {
    (void)state;
    for (size_t u = 0; u < sizeof unary / sizeof *unary; u++) {
        struct function *c = function_new(unary[u].f, false, KIR_VECTOR);
        check_edges(c, reference(u, false));
        for (uint64_t bits = 0; bits <= UINT32_MAX;) {
            size_t n = 0;
            for (; n < BLOCK && bits <= UINT32_MAX; bits += 30011)
                c->x.f32[n++] = fp_f32_from_bits((uint32_t)bits);
            compare(c, n, reference(u, false), NULL);
        }
        check(c, unary[u].f32);
        function_free(c);
    }
}

static void test_f64(void **state) {
    uint64_t seed = 1;
    (void)state;
    for (size_t u = 0; u < sizeof unary / sizeof *unary; u++) {
        struct function *c = function_new(unary[u].f, true, KIR_VECTOR);
        c->scale = scale_of(unary[u].f);
        check_edges(c, reference(u, true));
        static const int ranges[][2] = {{-1074, 1023}, {-30, 12}, {-3, 3}, {-1, 0}};
        for (size_t r = 0; r < 4 * 4; r++) {
            for (size_t i = 0; i < BLOCK; i++)
                c->x.f64[i] = random_double(&seed, ranges[r / 4][0], ranges[r / 4][1]);
            compare(c, BLOCK, reference(u, true), NULL);
        }
        check(c, unary[u].f64);
        function_free(c);
    }
}

/* ---- two operands ---------------------------------------------------------------------------- */

static ext next_f32(ext x, ext y) { return nextafterf((float)x, (float)y); }
static ext next_f64(ext x, ext y) { return nextafter((double)x, (double)y); }

static void check_pairs(enum kir_math f, bool f64, reference2 *ref, double bound) {
    int blocks = f == KIR_MATH_ZETA && f64 ? 4 : 16; /* so much arithmetic takes its time */
    struct function *c = function_new(f, f64, KIR_SERIAL);
    c->scale = scale_of(f);
    uint64_t seed = 2;
    size_t n = 0;
    for (size_t i = 0; i < 4 * EDGES * EDGES; i++) {
        put(c, &c->x, n, edge(i / (2 * EDGES)));
        put(c, &c->y, n++, edge(i % (2 * EDGES)));
        if (n == BLOCK || i + 1 == 4 * EDGES * EDGES) {
            compare(c, n, NULL, ref);
            n = 0;
        }
    }
    for (int block = 0; block < blocks; block++) {
        for (size_t i = 0; i < BLOCK; i++) {
            put(c, &c->x, i, random_double(&seed, block % 4 ? -3 : -140, block % 4 ? 3 : 127));
            put(c, &c->y, i, random_double(&seed, -8, block % 4 == 1 ? 7 : 3));
        }
        compare(c, BLOCK, NULL, ref);
    }
    check(c, bound);
    function_free(c);
}

static ext ref_zeta(ext x, ext q) { return math_zeta((double)x, (double)q); }
static ext ref_polygamma(ext n, ext x) { return math_polygamma((double)n, (double)x); }

/* Orders that are whole, at arguments of either sign. */
static void check_orders(enum kir_math f, bool f64, reference2 *ref, double bound) {
    struct function *c = function_new(f, f64, KIR_VECTOR);
    c->scale = scale_of(f);
    uint64_t seed = 3;
    size_t n = f64 ? BLOCK / 8 : BLOCK;
    for (int order = -2; order < 24; order++) {
        for (size_t i = 0; i < n; i++) {
            put(c, &c->x, i, order < 0 ? order + 0.5 : order);
            put(c, &c->y, i, i < 2 * EDGES ? edge(i) : random_double(&seed, -4, 6));
        }
        compare(c, n, NULL, ref);
    }
    check(c, bound);
    function_free(c);
}

/* Where n! has no number; the results are numbers for arguments near n / e. */
static void check_large_orders(void) {
    struct function *c = function_new(KIR_MATH_POLYGAMMA, true, KIR_VECTOR);
    uint64_t seed = 4;
    for (size_t i = 0; i < BLOCK / 8; i++) {
        double n = floor(fabs(random_double(&seed, 8, 20))), near = n / 2.718281828459045;
        put(c, &c->x, i, n);
        put(c, &c->y, i, near * (1 + random_double(&seed, -4, 4) * 40 / n));
    }
    compare(c, BLOCK / 8, NULL, ref_polygamma);
    check(c, 3);
    function_free(c);
}

static void test_orders(void **state) {
    (void)state;
    check_pairs(KIR_MATH_ZETA, false, ref_zeta, 1);
    check_orders(KIR_MATH_ZETA, false, ref_zeta, 1);
    check_orders(KIR_MATH_POLYGAMMA, false, ref_polygamma, 1);
    check_pairs(KIR_MATH_ZETA, true, ref_zeta, 3);
    check_orders(KIR_MATH_ZETA, true, ref_zeta, 3);
    check_orders(KIR_MATH_POLYGAMMA, true, ref_polygamma, 3);
    check_large_orders();
}

static void test_pairs(void **state) {
    (void)state;
    check_pairs(KIR_MATH_POW, false, powl, 0.54);
    check_pairs(KIR_MATH_POW, true, powl, 0.75);
    check_pairs(KIR_MATH_ATAN2, false, atan2l, 3);
    check_pairs(KIR_MATH_ATAN2, true, atan2l, 3);
    check_pairs(KIR_MATH_NEXT_AFTER, false, next_f32, 0);
    check_pairs(KIR_MATH_NEXT_AFTER, true, next_f64, 0);
}

/* Powers that the format has are exact. */
static void check_exact_powers(bool f64) {
    struct function *c = function_new(KIR_MATH_POW, f64, KIR_SERIAL);
    size_t n = 0;
    for (int x = -40; x <= 40; x++)
        for (int y = -4; y < 30; y++) {
            ext power = powl(x, y);
            if (power != (f64 ? (ext)(double)power : (ext)(float)power))
                continue;
            put(c, &c->x, n, x);
            put(c, &c->y, n++, y);
        }
    assert_true(n > 500);
    run(c);
    for (size_t i = 0; i < n; i++)
        assert_true(number(c, &c->out, i) == powl(number(c, &c->x, i), number(c, &c->y, i)));
    function_free(c);
}

/* Of numbers next to 1 and -1 only very large powers are infinite or 0; lanes of either sign are side by side. */
static void check_large_powers(bool f64, double bound) {
    struct function *c = function_new(KIR_MATH_POW, f64, KIR_VECTOR);
    double ulp = f64 ? 0x1p-53 : 0x1p-24;
    size_t n = 0;
    for (int e = 10; e < 90; e++)
        for (int step = -4; step <= 4; step++)
            for (int signs = 0; signs < 4; signs++) {
                put(c, &c->x, n, (1 + step * (step > 0 ? 2 : 1) * ulp) * (signs & 1 ? -1 : 1));
                put(c, &c->y, n++, ldexp(e % 3 ? 1 : 1.5, e) * (signs & 2 ? -1 : 1));
            }
    assert_true(n <= BLOCK);
    compare(c, n, NULL, powl);
    check(c, bound);
    function_free(c);
}

static void test_powers(void **state) {
    (void)state;
    check_exact_powers(false);
    check_exact_powers(true);
    check_large_powers(false, 0.54);
    check_large_powers(true, 0.75);
}

/* A function of what a loop does not change leaves it; equal ones are one; constants are folded; others stay. */
/* What is below the least normal number is 0. */
static ext ref_exp_term32(ext x) { return expl(x) < 0x1p-126L ? 0 : expl(x); }
static ext ref_exp_term64(ext x) { return expl(x) < 0x1p-1022L ? 0 : expl(x); }

static void test_exp_term(void **state) {
    (void)state;
    for (int f64 = 0; f64 < 2; f64++) {
        struct function *c = function_new(KIR_MATH_EXP_TERM, f64, KIR_VECTOR);
        uint64_t seed = 11;
        for (size_t round = 0; round < 16; round++) {
            for (size_t i = 0; i < BLOCK; i++)
                put(c, &c->x, i, -fabs(random_double(&seed, -30, f64 ? 9 : 6)));
            put(c, &c->x, 0, -INFINITY);
            put(c, &c->x, 1, NAN);
            put(c, &c->x, 2, -1e30);
            put(c, &c->x, 3, -0.0);
            compare(c, BLOCK, f64 ? ref_exp_term64 : ref_exp_term32, NULL);
        }
        check(c, 1);
        function_free(c);
    }
}

static void test_expansion(void **state) {
    jmp_buf recover;
    kir_val none = {0};
    (void)state;
    struct kir *k = kir_new("expansion", mem_system_allocator(), &recover);
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, 8), out = kir_param(k, KIR_OUT, IR_F32_T, 64);
    kir_val i = kir_loop(k, KIR_SERIAL, 8, 0), e = kir_math(k, KIR_MATH_EXP, kir_load(k, x, i), none);
    kir_val j = kir_loop(k, KIR_SERIAL, 8, 0);
    kir_val l = kir_math(k, KIR_MATH_LOGISTIC, kir_math(k, KIR_MATH_SIN, e, none), none);
    kir_val sum = kir_op2(k, KIR_ADD, 0, e, kir_math(k, KIR_MATH_EXP, kir_float(k, KIR_F32, 0), none));
    sum = kir_op2(k, KIR_ADD, 0, sum, kir_op2(k, KIR_MUL, 0, l, kir_typed(k, KIR_CONVERT, 0, KIR_F32, j)));
    kir_store(k, out, kir_op2(k, KIR_ADD, 0, j, kir_op2(k, KIR_MUL, 0, i, kir_i64(k, 8))), sum);
    kir_close(k);
    kir_close(k);
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    kir_expand_math(k);
    assert_int_equal(kir_verify(k, &d), HILO_OK);
    uint32_t inside = 0;
    for (kir_val v = kir_block_get(k, kir_get(k, j)->body)->first; v.i; v = kir_get(k, v)->next)
        inside++;
    assert_int_equal(inside, 5); /* convert, mul, add, index, store */
    float in[8] = {0, 1, -1, 2, 0.5f, 3, -2, 4}, got[64];
    assert_true(kir_run(k, (void *const[]){in, got}, NULL, 0, 1, &d));
    for (int r = 0; r < 64; r++) {
        double want = exp((double)in[r / 8]) + 1 + (double)ref_logistic(sinl(expl((ext)in[r / 8]))) * (r % 8);
        assert_true(fabs((double)got[r] - want) < 1e-5 * want);
    }
    kir_free(k);
    diag_clear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),          cmocka_unit_test(test_f64),       cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_powers), cmocka_unit_test(test_expansion), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_exp_term),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
