/* The complex functions over one real type. Included by eval_math_complex.c with
 *   R         real type                        M(name)   the C library's function for it
 *   COMPLEX   struct of its two parts          F(name)   name of a function here
 *   R_MAX, R_MIN   largest and smallest normal R    R_DIGITS  its precision in bits
 */

static COMPLEX F(make)(R re, R im) {
    return (COMPLEX){re, im};
}

/* ---- logarithms ---- */

/* The sum of n numbers to about twice the precision of R. */
static R F(sum)(const R *t, int n) {
    R high = t[0], low = 0;
    for (int i = 1; i < n; i++) {
        R s = high + t[i];
        R part = s - high;
        low += (high - (s - part)) + (t[i] - part);
        high = s;
    }
    return high + low;
}

/* first + x^2 + y^2, the squares exact. */
static R F(add_squares)(R first, R x, R y) {
    R xx = x * x, yy = y * y;
    R terms[] = {first, xx, yy, M(fma)(x, x, -xx), M(fma)(y, y, -yy)};
    return F(sum)(terms, 5);
}

/* log|x + iy|. Near the unit circle it is half of log1p(x^2 + y^2 - 1). */
static R F(log_abs)(R x, R y) {
    x = M(fabs)(x);
    y = M(fabs)(y);
    R big = M(fmax)(x, y), small = M(fmin)(x, y);
    if (isinf(big))
        return big;
    if (isnan(x) || isnan(y) || big == 0)
        return M(log)(x + y);
    if (big > (R)0.5 && big < 2)
        return M(log1p)(F(add_squares)(-1, big, small)) / 2;
    R ratio = small / big;
    return M(log)(big) + M(log1p)(ratio * ratio) / 2;
}

COMPLEX F(log)(COMPLEX z) {
    return F(make)(F(log_abs)(z.re, z.im), M(atan2)(z.im, z.re));
}

/* |1 + z|^2 - 1 = 2x + x^2 + y^2; where that is near -1, 1 + x is exact. */
COMPLEX F(log1p)(COMPLEX z) {
    R re, im = M(atan2)(z.im, 1 + z.re);
    R s = M(fabs)(z.re) < 4 && M(fabs)(z.im) < 4 ? F(add_squares)(2 * z.re, z.re, z.im) : 4;
    if (s > -(R)0.75 && s < 3)
        re = M(log1p)(s) / 2;
    else
        re = F(log_abs)(1 + z.re, z.im);
    return F(make)(re, im);
}

/* ---- roots ---- */

/* (sqrt((|z| + |x|) / 2), y / (2 sqrt(...))), or the other way round when x is negative; scaled so
   that |z| neither overflows nor loses digits. */
COMPLEX F(sqrt)(COMPLEX z) {
    R x = M(fabs)(z.re), y = M(fabs)(z.im);
    if (isinf(y))
        return F(make)(y, z.im);
    if (isnan(x) || isnan(y))
        return isinf(x) && z.re < 0 ? F(make)(z.im, x) : F(make)(z.re + z.im, z.im + z.re);
    R large, other;
    if (isinf(x) || (x == 0 && y == 0)) {
        large = x;
        other = 0;
    } else {
        int half = M(ilogb)(M(fmax)(x, y)) / 2;
        R sx = M(scalbn)(x, -2 * half), sy = M(scalbn)(y, -2 * half);
        large = M(scalbn)(M(sqrt)((M(hypot)(sx, sy) + sx) / 2), half);
        other = y / large / 2;
    }
    if (signbit(z.re) && (x != 0 || y != 0))
        return F(make)(other, M(copysign)(large, z.im));
    return F(make)(large, M(copysign)(other, z.im));
}

/* conj(w) / |w|^2 with w = sqrt(z) */
COMPLEX F(rsqrt)(COMPLEX z) {
    COMPLEX w = F(sqrt)(z);
    R a = M(hypot)(w.re, w.im);
    if (a == 0)
        return F(make)(INFINITY, NAN);
    if (isinf(a))
        return F(make)(0, M(copysign)(0, -z.im));
    return F(make)(w.re / a / a, -(w.im / a) / a);
}

/* r^(1/3) at a third of the angle: the principal root. */
COMPLEX F(cbrt)(COMPLEX z) {
    if (z.im == 0 && !signbit(z.re))
        return F(make)(M(cbrt)(z.re), z.im);
    R r = M(cbrt)(M(hypot)(z.re, z.im)), angle = M(atan2)(z.im, z.re) / 3;
    return F(make)(r * M(cos)(angle), r * M(sin)(angle));
}

COMPLEX F(sign)(COMPLEX z) {
    if (isnan(z.re) || isnan(z.im))
        return F(make)(NAN, NAN);
    R a = M(hypot)(z.re, z.im);
    return a == 0 ? F(make)(0, 0) : F(make)(z.re / a, z.im / a);
}

/* ---- exponentials ---- */

/* A real result where the imaginary part is zero, also when the real one overflows. */
COMPLEX F(exp)(COMPLEX z) {
    if (z.im == 0)
        return F(make)(M(exp)(z.re), z.im);
    R e = M(exp)(z.re), c = M(cos)(z.im), s = M(sin)(z.im);
    if (isinf(e)) { /* a factor near 0 may bring it back */
        e = M(exp)(z.re / 2);
        return F(make)(e * c * e, e * s * e);
    }
    return F(make)(e * c, e * s);
}

/* exp(x) cos y - 1 = expm1(x) cos y - 2 sin(y/2)^2 */
COMPLEX F(expm1)(COMPLEX z) {
    COMPLEX e = F(exp)(z);
    R half = M(sin)(z.im / 2);
    if (z.re > 40)
        e.re -= 1;
    else
        e.re = M(expm1)(z.re) * M(cos)(z.im) - 2 * half * half;
    return e;
}

/* With t = exp(-|x|): |1 + exp(-z)|^2 = q / t^2 or q for q = (1 - t)^2 + 4 t cos(y/2)^2. */
COMPLEX F(logistic)(COMPLEX z) {
    R a = M(fabs)(z.re), t = M(exp)(-a), d = -M(expm1)(-a);
    R half = M(cos)(z.im / 2), c = 2 * half * half; /* 1 + cos y */
    R q = d * d + 2 * t * c;
    R re = signbit(z.re) ? t * (c - d) : d + t * c;
    return F(make)(re / q, t * M(sin)(z.im) / q);
}

/* sinh x cos y + i cosh x sin y, and cosh x cos y + i sinh x sin y */
COMPLEX F(sinh)(COMPLEX z) {
    R x = z.re, c = M(cos)(z.im), s = M(sin)(z.im);
    if (z.im == 0)
        return F(make)(M(sinh)(x), z.im);
    R sh = M(sinh)(x), ch = M(cosh)(x);
    if (isinf(ch)) { /* as in exp */
        R e = M(exp)(M(fabs)(x) / 2);
        return F(make)(M(copysign)(e / 2, x) * c * e, e / 2 * s * e);
    }
    return F(make)(sh * c, ch * s);
}

COMPLEX F(cosh)(COMPLEX z) {
    R x = z.re, c = M(cos)(z.im), s = M(sin)(z.im);
    if (z.im == 0)
        return F(make)(M(cosh)(x), signbit(x) ? -z.im : z.im);
    R sh = M(sinh)(x), ch = M(cosh)(x);
    if (isinf(ch)) {
        R e = M(exp)(M(fabs)(x) / 2);
        return F(make)(e / 2 * c * e, M(copysign)(e / 2, x) * s * e);
    }
    return F(make)(ch * c, sh * s);
}

/* Kahan's formula: with t = tan y, b = 1 + t^2 and s = sinh x,
   (b s sqrt(1 + s^2) + i t) / (1 + b s^2); far out, where the real part has become 1, its limit. */
COMPLEX F(tanh)(COMPLEX z) {
    R x = z.re, y = z.im, a = M(fabs)(x);
    if (y == 0) /* even for NaN */
        return F(make)(M(tanh)(x), y);
    if (isfinite(a) && !isfinite(y)) /* as C has it: there is no limit */
        return F(make)(y - y, y - y);
    if (a > (R)0.35 * R_DIGITS) {
        R im = isinf(a) && !isfinite(y) ? 0 : 4 * M(sin)(y) * M(cos)(y) * M(exp)(-2 * a);
        return F(make)(M(copysign)(1, x), im);
    }
    R t = M(tan)(y), b = 1 + t * t, s = M(sinh)(x), d = 1 + b * s * s;
    return F(make)(b * s * M(sqrt)(1 + s * s) / d, t / d);
}

/* f(z) = -i g(iz): from the functions of iz to those of z. */
static COMPLEX F(times_i)(COMPLEX z) {
    return F(make)(-z.im, z.re);
}

static COMPLEX F(over_i)(COMPLEX z) {
    return F(make)(z.im, -z.re);
}

COMPLEX F(sin)(COMPLEX z) {
    return F(over_i)(F(sinh)(F(times_i)(z)));
}

COMPLEX F(cos)(COMPLEX z) {
    return F(cosh)(F(times_i)(z));
}

COMPLEX F(tan)(COMPLEX z) {
    return F(over_i)(F(tanh)(F(times_i)(z)));
}

/* ---- inverse functions ---- */

/* Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using exception
   handling" (1997), their cases merged where R makes no difference. For x, y >= 0 and
   a = (|z + 1| + |z - 1|) / 2: (sqrt(a^2 - x^2), log(a + sqrt(a^2 - 1))), so that
   asin z = atan2(x, re) + i im and acos z = atan2(re, x) - i im. */
static COMPLEX F(kernel)(R x, R y) {
    R safe_max = M(sqrt)(R_MAX) / 8, safe_min = M(sqrt)(R_MIN) * 4;
    if (x >= safe_max || y >= safe_max) /* |z + 1| = |z - 1| = |z| */
        return F(make)(y, F(log_abs)(x, y) + (R)0.693147180559945309417232121458176568L);

    R r = M(hypot)(x + 1, y), s = M(hypot)(x - 1, y), a = (r + s) / 2;
    R right = r + (x + 1); /* the sums without cancellation */
    R left = x <= 1 ? s + (1 - x) : s + (x - 1);
    R re, am1; /* a - 1 */
    if (x <= 1)
        re = M(sqrt)((a + x) / 2 * (y * y / right + left));
    else
        re = y * M(sqrt)((a + x) / 2 * (1 / right + 1 / left));
    if (y < safe_min && x < 1)
        return F(make)(re, y / M(sqrt)((1 - x) * (1 + x)));
    if (x >= 1)
        am1 = (y * y / right + left) / 2;
    else if (a <= (R)1.5)
        am1 = y * y * (1 / right + 1 / left) / 2;
    else
        am1 = a - 1;
    return F(make)(re, M(log1p)(am1 + M(sqrt)(am1 * (a + 1))));
}

COMPLEX F(asin_acos_kernel)(COMPLEX z) {
    return F(kernel)(M(fabs)(z.re), M(fabs)(z.im));
}

COMPLEX F(asin)(COMPLEX z) {
    COMPLEX w = F(asin_acos_kernel)(z);
    return F(make)(M(atan2)(z.re, w.re), M(copysign)(w.im, z.im));
}

COMPLEX F(acos)(COMPLEX z) {
    COMPLEX w = F(asin_acos_kernel)(z);
    return F(make)(M(atan2)(w.re, z.re), M(copysign)(w.im, -z.im));
}

COMPLEX F(asinh)(COMPLEX z) {
    return F(over_i)(F(asin)(F(times_i)(z)));
}

COMPLEX F(acosh)(COMPLEX z) {
    COMPLEX w = F(asin_acos_kernel)(z);
    return F(make)(w.im, M(copysign)(M(atan2)(w.re, z.re), z.im));
}

/* (log1p(4x / |1 - z|^2) / 4, atan2(2y, (1 - x)(1 + x) - y^2) / 2) for x >= 0; halves cannot overflow. */
COMPLEX F(atanh)(COMPLEX z) {
    R x = M(fabs)(z.re), y = M(fabs)(z.im), re, im;
    if (x == 0) /* even for NaN */
        return F(make)(z.re, M(atan)(z.im));
    if (isinf(x) || isinf(y)) {
        re = 0;
        im = isnan(y) ? y : (R)1.570796326794896619231321691639751442L;
    } else {
        R a = M(hypot)((1 - x) / 2, y / 2);
        if (x == 1 && y < 1) /* 4 / y^2 may overflow */
            re = (M(log)(M(hypot)(2, y)) - M(log)(y)) / 2;
        else
            re = M(log1p)(x / a / a) / 4;
        im = M(atan2)(y, ((1 - x) * (1 + x) - y * y) / 2) / 2;
    }
    return F(make)(M(copysign)(re, z.re), M(copysign)(im, z.im));
}

COMPLEX F(atan)(COMPLEX z) {
    return F(over_i)(F(atanh)(F(times_i)(z)));
}

/* ---- two arguments ---- */

static COMPLEX F(mul)(COMPLEX a, COMPLEX b) {
    return F(make)(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/* The compiler's division: scaled, and infinite or zero where C's Annex G requires it. */
COMPLEX F(div)(COMPLEX a, COMPLEX b) {
    union {
        COMPLEX z;
        _Complex R c;
    } x = {.z = a}, y = {.z = b}, q = {.c = x.c / y.c};
    return q.z;
}

/* exp(b log a). Powers of zero: 1 for b = 0, 0 for a positive real part, else what 0^b tends to. */
COMPLEX F(pow)(COMPLEX a, COMPLEX b) {
    if (b.re == 0 && b.im == 0)
        return F(make)(1, 0);
    if (a.re == 0 && a.im == 0)
        return b.re > 0 ? F(make)(0, 0) : F(make)(b.re < 0 && b.im == 0 ? INFINITY : NAN, NAN);
    if (a.im == 0 && b.im == 0 && a.re > 0)
        return F(make)(M(pow)(a.re, b.re), 0);
    return F(exp)(F(mul)(b, F(log)(a)));
}

/* -i log((x + iy) / sqrt(x^2 + y^2)); where the quotient is near 1, it keeps too little of y. */
COMPLEX F(atan2)(COMPLEX y, COMPLEX x) {
    COMPLEX iy = F(times_i)(y), xx = F(mul)(x, x), yy = F(mul)(y, y);
    COMPLEX norm = F(sqrt)(F(make)(xx.re + yy.re, xx.im + yy.im));
    if (M(hypot)(y.re, y.im) < M(hypot)(x.re, x.im) / 2 && norm.re * x.re + norm.im * x.im > 0)
        return F(atan)(F(div)(y, x));
    return F(over_i)(F(log)(F(div)(F(make)(x.re + iy.re, x.im + iy.im), norm)));
}
