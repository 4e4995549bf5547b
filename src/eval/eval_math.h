/* Mathematical functions of the reference evaluator: what the C library lacks, and what it has with
 * errors above one unit in the last place (ulp).
 *
 * Real functions take and return double. Where there are two of a kind, `narrow_` errs by a few ulp
 * of double and serves every format of at most 24 bits of precision, which is then rounded correctly
 * but for rare near-ties; `full_` serves f64: it computes in long double and rounds once. With the
 * 64 bits of x87 or the 113 of AArch64 that is within 0.51 ulp of double where the table of
 * eval_elt_float.c has no other bound; where long double is double, within a few ulp.
 *
 * Complex functions come twice as well: over double for complex<f32>, over long double for
 * complex<f64>. Each part is accurate by itself, on the whole plane, with C's branch cuts: no
 * overflow, underflow or cancellation on the way. Exceptions are named in eval_math_complex.c. */
#ifndef HILO_EVAL_MATH_H
#define HILO_EVAL_MATH_H

/* ---- real ---- */

double narrow_rsqrt(double x);
double full_rsqrt(double x);
double narrow_logistic(double x); /* 1 / (1 + exp(-x)) */
double full_logistic(double x);
double narrow_lgamma(double x);   /* log|gamma(x)|; +inf at the poles */
double full_lgamma(double x);
double narrow_erf_inv(double x);  /* NaN outside [-1, 1] */
double full_erf_inv(double x);

/* In f32, as CHLO expands them: off by up to 2 |x| ulp of f32. */
double narrow_cosh(double x);
double narrow_sinh(double x);

/* The C library's functions whose double variants err by more than one ulp. */
double full_acosh(double x);
double full_asinh(double x);
double full_atanh(double x);
double full_cbrt(double x);
double full_cosh(double x);
double full_erf(double x);
double full_erfc(double x);
double full_sinh(double x);
double full_tanh(double x);

/* Logarithmic derivative of gamma; NaN at the poles. Within 3 ulp except next to its negative zeros,
   where the error is 2^-60 of psi(1 - x) instead. */
double math_digamma(double x);

/* Hurwitz zeta, sum of (q + k)^-x for k = 0, 1, ... NaN for x < 1 and for q < 0 with a fraction in
   x; +inf for x = 1; at the poles q = 0, -1, ... +inf for even x, else NaN. Within 1 ulp except next to
   its zeros, which odd x have between the poles. */
double math_zeta(double x, double q);

/* n-th derivative of digamma; NaN unless n is a natural number. Within 1 ulp but
   next to zeros, also of orders whose factorial is no number. */
double math_polygamma(double n, double x);

/* exp(-|x|) I1(x), I1 the modified Bessel function. */
double math_bessel_i1e(double x);

/* ---- complex ---- */

struct math_c64 {
    double re, im; /* complex<f32> in the making */
};
struct math_c128 {
    long double re, im; /* complex<f64> in the making */
};

/* F1(name): one argument; F2(name): two. */
#define MATH_COMPLEX(F1, F2)                                                                       \
    F1(exp) F1(expm1) F1(log) F1(log1p) F1(logistic) F1(sqrt) F1(rsqrt) F1(cbrt) F1(sign)          \
    F1(sin) F1(cos) F1(tan) F1(sinh) F1(cosh) F1(tanh)                                             \
    F1(asin) F1(acos) F1(atan) F1(asinh) F1(acosh) F1(atanh) F1(asin_acos_kernel)                  \
    F2(div) F2(pow) F2(atan2)

#define F1(name)                                                                                   \
    struct math_c64 math_c64_##name(struct math_c64 z);                                            \
    struct math_c128 math_c128_##name(struct math_c128 z);
#define F2(name)                                                                                   \
    struct math_c64 math_c64_##name(struct math_c64 a, struct math_c64 b);                         \
    struct math_c128 math_c128_##name(struct math_c128 a, struct math_c128 b);
MATH_COMPLEX(F1, F2)
#undef F1
#undef F2

#endif
