/* Real special functions. Formulas are chosen to lose nothing, not for speed: series that converge,
 * sums without cancellation, and long double underneath (see eval_math.h).
 *
 * References: Abramowitz and Stegun, chapters 6 (digamma, polygamma), 7 (erf), 9 (Bessel), 23 (zeta). */
#include "eval/eval_math.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

typedef long double ext;

#define PI        3.141592653589793238462643383279502884L
#define SQRT_PI   1.772453850905516027298167483341145183L
#define COUNT(a)  (sizeof(a) / sizeof *(a))

/* Bernoulli numbers B2, B4, ... B24. */
static const ext bernoulli[] = {
    1.0L / 6,        -1.0L / 30,       1.0L / 42,       -1.0L / 30,       5.0L / 66,
    -691.0L / 2730,  7.0L / 6,         -3617.0L / 510,  43867.0L / 798,   -174611.0L / 330,
    854513.0L / 138, -236364091.0L / 2730,
};

#define FULL(name)                                                                                 \
    double full_##name(double x)                                                                   \
    {                                                                                              \
        return (double)name##l(x);                                                                 \
    }
FULL(acosh)
FULL(asinh)
FULL(atanh)
FULL(cbrt)
FULL(cosh)
FULL(erf)
FULL(erfc)
FULL(sinh)
FULL(tanh)
#undef FULL

/* CHLO defines cosh and sinh by what they expand to, in f32: (e^x + e^-x) / 2 as e^(x + log 1/2) +
   e^(log 1/2 - x), which does not overflow early, and sinh near zero by expm1. Programs are exported
   with values computed so; they are some ulp away from the true ones for large x. */
#define LOG_HALF (-0.693147182f)

double narrow_cosh(double x) {
    float up = (float)exp((double)((float)x + LOG_HALF)), down = (float)exp((double)(LOG_HALF - (float)x));
    return (double)(up + down);
}

double narrow_sinh(double x) {
    if (fabs(x) < 1) {
        float e = (float)expm1(x), ratio = e / (e + 1);
        return (double)(0.5f * (e + ratio));
    }
    float up = (float)exp((double)((float)x + LOG_HALF)), down = (float)exp((double)(LOG_HALF - (float)x));
    return (double)(up - down);
}

double narrow_rsqrt(double x) {
    return 1 / sqrt(x);
}

double full_rsqrt(double x) {
    return (double)(1 / sqrtl(x));
}

/* exp(-|x|) never overflows, and for negative x the quotient keeps its digits down to the smallest
   result. */
double narrow_logistic(double x) {
    double t = exp(-fabs(x));
    return (x < 0 ? t : 1) / (1 + t);
}

double full_logistic(double x) {
    ext t = expl(-fabsl(x));
    return (double)((x < 0 ? t : 1) / (1 + t));
}

/* lgamma() itself would write the global `signgam`. */
double narrow_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

double full_lgamma(double x) {
#if LDBL_MANT_DIG > DBL_MANT_DIG
    int sign;
    return (double)lgammal_r(x, &sign);
#else
    return narrow_lgamma(x);
#endif
}

/* ---- inverse error function ---- */

/* Winitzki's approximation, within 0.4 %; near 0 the tangent is better. `a` in (0, 1). */
static double erf_inv_start(double a) {
    const double alpha = 0.147;
    if (a < 0.1)
        return a * (double)(SQRT_PI / 2);
    double l = log((1 - a) * (1 + a));
    double c = 2 / ((double)PI * alpha) + l / 2;
    return sqrt(sqrt(c * c - l / alpha) - c);
}

/* Halley's step triples the digits. The residual is taken where it is exact: near 1 from erfc. */
double narrow_erf_inv(double x) {
    double a = fabs(x);
    if (!(a < 1))
        return a == 1 ? copysign(INFINITY, x) : (double)NAN;
    if (a == 0)
        return x;
    double y = erf_inv_start(a);
    for (int step = 0; step < 2; step++) {
        double residual = a < 0.5 ? erf(y) - a : (1 - a) - erfc(y);
        double u = residual * exp(y * y) * (double)(SQRT_PI / 2);
        y -= u / (1 + y * u);
    }
    return copysign(y, x);
}

double full_erf_inv(double x) {
    ext y = fabs(narrow_erf_inv(x)), a = fabs(x);
    if (!(a < 1) || a == 0)
        return narrow_erf_inv(x);
    ext residual = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y);
    ext u = residual * expl(y * y) * (SQRT_PI / 2);
    return copysign((double)(y - u / (1 + y * u)), x);
}

/* ---- digamma ---- */

enum { DIGAMMA_SHIFT = 16, DIGAMMA_TERMS = 8 }; /* the first omitted term is below 2^-70 */

/* Near the positive zero x0, psi(x) - psi(x0) with x - x0 factored out of every difference; of the
   series' powers, u^k - v^k = (u - v) (u^(k-1) + u^(k-2) v + ... + v^(k-1)). */
static ext digamma_near_zero(ext x) {
    const ext zero_high = 1.4616321449683622, zero_low = 9.54999542996569771518e-17L;
    const ext zero = zero_high + zero_low;
    ext d = (x - zero_high) - zero_low;
    ext sum = 0;
    for (int k = 0; k < DIGAMMA_SHIFT; k++)
        sum += 1 / ((k + zero) * (k + x));
    ext a = DIGAMMA_SHIFT + x, b = DIGAMMA_SHIFT + zero;
    ext u = 1 / (a * a), v = 1 / (b * b), powers = 1, vk = 1, series = 0;
    for (int k = 1; k <= DIGAMMA_TERMS; k++) {
        series += bernoulli[k - 1] / (2 * k) * powers;
        vk *= v;
        powers = u * powers + vk;
    }
    sum += 1 / (2 * a * b) + (a + b) * u * v * series;
    return d * sum + log1pl(d / b);
}

static ext digamma_positive(ext x) {
    if (fabsl(x - 1.46L) < 0.25L)
        return digamma_near_zero(x);
    ext sum = 0;
    for (; x < DIGAMMA_SHIFT; x += 1)
        sum -= 1 / x;
    ext series = 0, power = 1;
    for (int k = 1; k <= DIGAMMA_TERMS; k++) {
        power /= x * x;
        series += bernoulli[k - 1] / (2 * k) * power;
    }
    return sum + (logl(x) - 1 / (2 * x) - series);
}

/* pi cot(pi x); x is reduced by its nearest integer, and to the side where tan is small. */
static ext pi_cot(double x) {
    ext r = x - rint(x);
    if (fabsl(r) <= 0.25L)
        return PI / tanl(PI * r);
    return copysignl(PI * tanl(PI * (0.5L - fabsl(r))), r);
}

double math_digamma(double x) {
    if (x <= 0 && x == floor(x))
        return NAN;
    if (x < 0.5)
        return (double)(digamma_positive(1 - (ext)x) - pi_cot(x));
    return (double)digamma_positive(x);
}

/* ---- zeta and polygamma ---- */

/* For x > 1, q > 0: the first terms, then the rest by Euler and Maclaurin's formula
     a^-x (a / (x - 1) + 1/2 + sum of B2k / (2k)! x (x + 1) ... (x + 2k - 2) a^(1 - 2k)),
   which converges fast enough once a is above x + 14. */
static ext zeta_positive(ext x, ext q) {
    ext sum = 0, a = q;
    for (; a < x + 14; a += 1) {
        ext term = powl(a, -x);
        sum += term;
        if (term <= sum * (LDBL_EPSILON / 1024))
            return sum;
    }
    ext factor = x / a, tail = a / (x - 1) + 0.5L;
    for (size_t k = 1; k <= COUNT(bernoulli); k++) {
        ext two_k = (ext)(2 * k);
        factor /= two_k * (two_k - 1);
        tail += bernoulli[k - 1] * factor;
        factor *= (x + two_k - 1) * (x + two_k) / (a * a);
    }
    return sum + powl(a, -x) * tail;
}

/* For q = -|q| the terms up to the change of sign are (-1)^x times those at f, f + 1, ..., |q|, with f
   the fraction of |q|; the others are at 1 - f, 2 - f, ... For even x all are positive. */
static ext zeta_even(ext x, ext f, ext q) {
    return zeta_positive(x, 1 - f) + (zeta_positive(x, f) - zeta_positive(x, 1 - q));
}

/* (b + d)^-x - b^-x; where the bases are near each other the difference is taken of their logarithms. */
static ext power_difference(ext x, ext b, ext d) {
    ext p = powl(b + d, -x), q = powl(b, -x), ratio = fabsl(d) < b / 2 ? expm1l(-x * log1pl(d / b)) : (ext)INFINITY;
    if (d == 0)
        return 0;
    if (isinf(p) && isinf(q))
        return -d * (ext)INFINITY;
    return isinf(ratio) || isinf(q) ? p - q : q * ratio;
}

/* For odd x those of equal rank nearly cancel, so their differences are summed as such. */
static ext zeta_odd(ext x, ext f, ext q) {
    ext sum = 0, j = 0, n = floorl(-q) + 1;
    for (; j < n && j < 64; j += 1)
        sum += power_difference(x, f + j, 1 - 2 * f);
    if (j == n)
        return sum + zeta_positive(x, 1 - f + j);
    return sum + (zeta_positive(x, 1 - f + j) - zeta_positive(x, f + j)) + zeta_positive(x, 1 - q);
}

static ext zeta_ext(ext x, ext q) {
    if (isnan(x) || isnan(q) || x < 1)
        return NAN;
    if (x == 1)
        return INFINITY;
    if (isinf(q))
        return q > 0 ? 0 : (ext)NAN;
    if (q > 0)
        return isinf(x) ? (q < 1 ? INFINITY : q == 1) : zeta_positive(x, q);
    ext parity = fmodl(x, 2), f = -q - floorl(-q);
    if (f == 0)
        return parity == 0 ? (ext)INFINITY : (ext)NAN;
    if (parity != 0 && parity != 1)
        return NAN;
    return parity == 0 ? zeta_even(x, f, q) : zeta_odd(x, f, q);
}

double math_zeta(double x, double q) {
    return (double)zeta_ext(x, q);
}

/* (s - 1)! zeta(s, x) for s above 500 and x > 0: the exponent of (s - 1)! x^-s is by Stirling's series
     s (log (s / x) - 1) - log (s) / 2 + log (2 pi) / 2 + 1 / (12 s) - ...,
   whose first summand nearly cancels where the result is a number: so log (s / (e x)) is taken of s - e x, with
   all digits of e. */
static ext polygamma_large(ext s, ext x) {
    const ext e_high = 2.718281828459045235360287471352662498L, half_log_2pi = 0.918938533204672741780329736405617640L;
#if LDBL_MANT_DIG == 64
    const ext e_low = -6.78806366412778412e-20L;
#else
    const ext e_low = 0;
#endif
    ext ex = e_high * x, lost = fmal(e_high, x, -ex) + e_low * x, r = ((s - ex) - lost) / ex;
    ext log_ratio = fabsl(r) < 0.5L ? log1pl(r) : logl(s / x) - 1;
    ext exponent = s * log_ratio - logl(s) / 2 + half_log_2pi + (1 / (12 * s) - 1 / (360 * s * s * s)), sum = 1, term = 1;
    if (isnan(x) || exponent < -20000 || isinf(expl(exponent)))
        return isnan(x) ? x : exponent < 0 ? 0 : (ext)INFINITY;
    for (ext k = 1; term > LDBL_EPSILON / 16; k += 1)
        sum += term = expl(-s * log1pl(k / x));
    return expl(exponent) * sum;
}

/* The same for any x. At negative ones a pole is so near that only its sign is left of it, unless terms cancel: half way
   between poles, for odd s. */
static ext polygamma_far(ext s, ext x) {
    ext f = -x - floorl(-x);
    if (x > 0)
        return polygamma_large(s, x);
    if (isinf(x) || f == 0 || fmodl(s, 2) == 0)
        return zeta_ext(s, x) * (ext)INFINITY;
    return f == 0.5L ? polygamma_large(s, 1 - (ext)x) : (f - 0.5L) * (ext)INFINITY;
}

/* (-1)^(n + 1) n! zeta(n + 1, x) */
double math_polygamma(double n, double x) {
    if (!(n >= 0) || n != floor(n))
        return NAN;
    if (n == 0)
        return math_digamma(x);
    ext value = n <= 500 ? tgammal((ext)n + 1) * zeta_ext((ext)n + 1, x) : polygamma_far((ext)n + 1, x);
    return (double)(fmod(n, 2) == 0 ? -value : value);
}

/* ---- Bessel ---- */

/* Up to 25 the power series, whose terms all have one sign; then the asymptotic one, whose terms fall
   below 2^-70 before they grow. */
double math_bessel_i1e(double x) {
    ext a = fabs(x), sum, term;
    if (a <= 25) {
        ext quarter = a * a / 4;
        sum = term = a / 2;
        for (int k = 1; term > sum * (LDBL_EPSILON / 16); k++) {
            term *= quarter / ((ext)k * (k + 1));
            sum += term;
        }
        sum *= expl(-a);
    } else {
        sum = term = 1;
        for (int k = 1; fabsl(term) > LDBL_EPSILON / 16 && k < 50; k++) {
            term *= ((2 * k - 1) * (2 * k - 1) - 4) / (k * 8 * a);
            sum += term;
        }
        sum /= sqrtl(2 * PI * a);
    }
    return copysign((double)sum, x);
}
