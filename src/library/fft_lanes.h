/* Transforms of several lines at once, one in each lane of a vector, for fft.c; once for each type and instruction set:
 *
 *   T        the type                  V        vectors of it
 *   NAME(x)  x with a prefix           TARGET   attribute of the functions
 *   EVEN, ODD, LOW, HIGH               indices for __builtin_shufflevector: every other number of two vectors; their lower
 * (upper) numbers, interleaved
 *
 * A line is n pairs of vectors, real parts and imaginary parts. */

enum { NAME(LANES) = sizeof(V) / sizeof(T) };
typedef T NAME(u) __attribute__((vector_size(sizeof(V)), aligned(sizeof(T)), may_alias));
struct NAME(c) {
    V re, im;
};
#define C struct NAME(c)

TARGET static inline __attribute__((always_inline)) C NAME(add)(C a, C b) {
    return (C){a.re + b.re, a.im + b.im};
}
TARGET static inline __attribute__((always_inline)) C NAME(sub)(C a, C b) {
    return (C){a.re - b.re, a.im - b.im};
}
/* a - i b, a + i b */
TARGET static inline __attribute__((always_inline)) C NAME(sub_i)(C a, C b) {
    return (C){a.re + b.im, a.im - b.re};
}
TARGET static inline __attribute__((always_inline)) C NAME(add_i)(C a, C b) {
    return (C){a.re - b.im, a.im + b.re};
}
TARGET static inline __attribute__((always_inline)) C NAME(scale)(C a, T s) {
    return (C){a.re * s, a.im * s};
}
TARGET static inline __attribute__((always_inline)) C NAME(mul)(C a, const T *w) {
    return (C){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}

/* ---- butterflies: transforms of a few numbers, in place ---------------------------------------------------------------- */

TARGET static inline __attribute__((always_inline)) void NAME(dft2)(C *a) {
    C t = a[0];
    a[0] = NAME(add)(t, a[1]);
    a[1] = NAME(sub)(t, a[1]);
}

TARGET static inline __attribute__((always_inline)) void NAME(dft3)(C *a) {
    const T half = (T)0.5, sine = (T)0.86602540378443864676;
    C t = NAME(add)(a[1], a[2]), u = NAME(sub)(a[0], NAME(scale)(t, half)), v = NAME(scale)(NAME(sub)(a[1], a[2]), sine);
    a[0] = NAME(add)(a[0], t);
    a[1] = NAME(sub_i)(u, v);
    a[2] = NAME(add_i)(u, v);
}

TARGET static inline __attribute__((always_inline)) void NAME(dft4)(C *a) {
    C p = NAME(add)(a[0], a[2]), q = NAME(sub)(a[0], a[2]), r = NAME(add)(a[1], a[3]), s = NAME(sub)(a[1], a[3]);
    a[0] = NAME(add)(p, r);
    a[1] = NAME(sub_i)(q, s);
    a[2] = NAME(sub)(p, r);
    a[3] = NAME(add_i)(q, s);
}

TARGET static inline __attribute__((always_inline)) void NAME(dft5)(C *a) {
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410;
    const T s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
    C p = NAME(add)(a[1], a[4]), q = NAME(add)(a[2], a[3]), r = NAME(sub)(a[1], a[4]), s = NAME(sub)(a[2], a[3]);
    C u = NAME(add)(a[0], NAME(add)(NAME(scale)(p, c1), NAME(scale)(q, c2)));
    C v = NAME(add)(a[0], NAME(add)(NAME(scale)(p, c2), NAME(scale)(q, c1)));
    C x = NAME(add)(NAME(scale)(r, s1), NAME(scale)(s, s2)), y = NAME(sub)(NAME(scale)(r, s2), NAME(scale)(s, s1));
    a[0] = NAME(add)(a[0], NAME(add)(p, q));
    a[1] = NAME(sub_i)(u, x);
    a[4] = NAME(add_i)(u, x);
    a[2] = NAME(sub_i)(v, y);
    a[3] = NAME(add_i)(v, y);
}

TARGET static inline __attribute__((always_inline)) void NAME(dft8)(C *a) {
    const T c = (T)0.70710678118654752440;
    C e[4] = {a[0], a[2], a[4], a[6]}, o[4] = {a[1], a[3], a[5], a[7]};
    NAME(dft4)(e);
    NAME(dft4)(o);
    C o1 = NAME(scale)((C){o[1].re + o[1].im, o[1].im - o[1].re}, c);
    C o3 = NAME(scale)((C){o[3].im - o[3].re, -o[3].re - o[3].im}, c);
    a[0] = NAME(add)(e[0], o[0]);
    a[4] = NAME(sub)(e[0], o[0]);
    a[1] = NAME(add)(e[1], o1);
    a[5] = NAME(sub)(e[1], o1);
    a[2] = NAME(sub_i)(e[2], o[2]);
    a[6] = NAME(add_i)(e[2], o[2]);
    a[3] = NAME(add)(e[3], o3);
    a[7] = NAME(sub)(e[3], o3);
}

/* ---- stages (Stockham): x[q + s (p + m j)] to y[q + s (r p + k)], times the root of order r m to the power p k --------------
 */

#define STAGE(r)                                                                                                               \
    TARGET static void NAME(stage##r)(const C *x, C *y, size_t m, size_t s, const T *roots, size_t step) {                     \
        for (size_t p = 0; p < m; p++)                                                                                         \
            for (size_t q = 0; q < s; q++) {                                                                                   \
                C a[r];                                                                                                        \
                for (size_t j = 0; j < r; j++)                                                                                 \
                    a[j] = x[q + s * (p + m * j)];                                                                             \
                NAME(dft##r)(a);                                                                                               \
                C *to = y + q + s * r * p;                                                                                     \
                to[0] = a[0];                                                                                                  \
                for (size_t k = 1; k < r; k++)                                                                                 \
                    to[s * k] = m == 1 ? a[k] : NAME(mul)(a[k], roots + 2 * (p * k * step));                                   \
            }                                                                                                                  \
    }
STAGE(2)
STAGE(3)
STAGE(4)
STAGE(5)
STAGE(8)
#undef STAGE

TARGET static void NAME(stage_any)(const C *x, C *y, size_t r, size_t m, size_t s, const T *roots, size_t step) {
    size_t n = r * m * step;
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < s; q++)
            for (size_t k = 0; k < r; k++) {
                C sum = x[q + s * p];
                for (size_t j = 1; j < r; j++)
                    sum = NAME(add)(sum, NAME(mul)(x[q + s * (p + m * j)], roots + 2 * (j * k % r * (n / r))));
                y[q + s * (r * p + k)] = NAME(mul)(sum, roots + 2 * (p * k * step));
            }
}

/* Transforms the lines in x, forward; y is room for as much. Returns where the result is. */
static void *NAME(transform)(const struct fft_line *f, void *from, void *to) {
    C *x = from, *y = to;
    const T *roots = f->roots;
    size_t s = 1, n = f->n;
    for (uint32_t i = 0; i < f->nfactors; i++) {
        size_t r = f->factor[i], m = n / r, step = f->n / n;
        switch (r) {
        case 2:
            NAME(stage2)(x, y, m, s, roots, step);
            break;
        case 3:
            NAME(stage3)(x, y, m, s, roots, step);
            break;
        case 4:
            NAME(stage4)(x, y, m, s, roots, step);
            break;
        case 5:
            NAME(stage5)(x, y, m, s, roots, step);
            break;
        case 8:
            NAME(stage8)(x, y, m, s, roots, step);
            break;
        default:
            NAME(stage_any)(x, y, r, m, s, roots, step);
            break;
        }
        C *swap = x;
        x = y;
        y = swap;
        n = m;
        s *= r;
    }
    return x;
}

/* LANES vectors of LANES numbers: rounds of perfect shuffles. */
TARGET static inline __attribute__((always_inline)) void NAME(transpose)(V *v) {
    for (size_t round = 1; round < NAME(LANES); round *= 2) {
        V w[NAME(LANES)];
        for (size_t i = 0; i < NAME(LANES) / 2; i++) {
            w[2 * i] = __builtin_shufflevector(v[i], v[i + NAME(LANES) / 2], LOW);
            w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + NAME(LANES) / 2], HIGH);
        }
        for (size_t i = 0; i < NAME(LANES); i++)
            v[i] = w[i];
    }
}

/* ---- lines in and out of vectors ------------------------------------------------------------------------------------------
 */

/* Complex number i of lane l is at p[2 * (i * step + l * lane)]. `swap` exchanges both parts, which makes the transform
 * inverse. */
TARGET static void NAME(load)(const void *from, size_t step, size_t lane, size_t lanes, size_t n, bool swap, void *to) {
    const T *p = from;
    C *x = to;
    size_t i = 0;
    if (lanes == NAME(LANES) && lane == 1)
        for (; i < n; i++) {
            const V a = *(const NAME(u) *)(p + 2 * i * step), b = *(const NAME(u) *)(p + 2 * i * step + NAME(LANES));
            const V re = __builtin_shufflevector(a, b, EVEN), im = __builtin_shufflevector(a, b, ODD);
            x[i] = swap ? (C){im, re} : (C){re, im};
        }
    if (lanes == NAME(LANES) && step == 1 && lane != 1)
        for (; i + NAME(LANES) / 2 <= n; i += NAME(LANES) / 2) {
            V v[NAME(LANES)];
            for (size_t l = 0; l < NAME(LANES); l++)
                v[l] = *(const NAME(u) *)(p + 2 * (i + l * lane));
            NAME(transpose)(v);
            for (size_t j = 0; j < NAME(LANES) / 2; j++)
                x[i + j] = swap ? (C){v[2 * j + 1], v[2 * j]} : (C){v[2 * j], v[2 * j + 1]};
        }
    for (; i < n; i++) {
        T re[NAME(LANES)] = {0}, im[NAME(LANES)] = {0};
        for (size_t l = 0; l < lanes; l++) {
            re[l] = p[2 * (i * step + l * lane)];
            im[l] = p[2 * (i * step + l * lane) + 1];
        }
        const V r = *(const NAME(u) *)re, m = *(const NAME(u) *)im;
        x[i] = swap ? (C){m, r} : (C){r, m};
    }
}

TARGET static void NAME(store)(const void *from, size_t step, size_t lane, size_t lanes, size_t n, bool swap, double factor,
                               void *to) {
    const C *x = from;
    T *p = to, scale = (T)factor;
    size_t i = 0;
    if (lanes == NAME(LANES) && lane == 1)
        for (; i < n; i++) {
            const V re = (swap ? x[i].im : x[i].re) * scale, im = (swap ? x[i].re : x[i].im) * scale;
            *(NAME(u) *)(p + 2 * i * step) = __builtin_shufflevector(re, im, LOW);
            *(NAME(u) *)(p + 2 * i * step + NAME(LANES)) = __builtin_shufflevector(re, im, HIGH);
        }
    if (lanes == NAME(LANES) && step == 1 && lane != 1)
        for (; i + NAME(LANES) / 2 <= n; i += NAME(LANES) / 2) {
            V v[NAME(LANES)];
            for (size_t j = 0; j < NAME(LANES) / 2; j++) {
                v[2 * j] = (swap ? x[i + j].im : x[i + j].re) * scale;
                v[2 * j + 1] = (swap ? x[i + j].re : x[i + j].im) * scale;
            }
            NAME(transpose)(v);
            for (size_t l = 0; l < NAME(LANES); l++)
                *(NAME(u) *)(p + 2 * (i + l * lane)) = v[l];
        }
    for (; i < n; i++) {
        const V r = (swap ? x[i].im : x[i].re) * scale, m = (swap ? x[i].re : x[i].im) * scale;
        for (size_t l = 0; l < lanes; l++) {
            p[2 * (i * step + l * lane)] = r[l];
            p[2 * (i * step + l * lane) + 1] = m[l];
        }
    }
}

/* Real lines: line l is the real part of lane l, line LANES + l its imaginary part. Number i of line l is at p[i + l * lane].
 */
TARGET static void NAME(load_real)(const void *from, size_t lane, size_t lines, size_t n, void *to) {
    const T *p = from;
    C *x = to;
    size_t i = 0;
    for (; lines == 2 * NAME(LANES) && i + NAME(LANES) <= n; i += NAME(LANES)) {
        V re[NAME(LANES)], im[NAME(LANES)];
        for (size_t l = 0; l < NAME(LANES); l++) {
            re[l] = *(const NAME(u) *)(p + i + l * lane);
            im[l] = *(const NAME(u) *)(p + i + (NAME(LANES) + l) * lane);
        }
        NAME(transpose)(re);
        NAME(transpose)(im);
        for (size_t j = 0; j < NAME(LANES); j++)
            x[i + j] = (C){re[j], im[j]};
    }
    for (; i < n; i++) {
        T v[2 * NAME(LANES)] = {0};
        for (size_t l = 0; l < lines; l++)
            v[l] = p[i + l * lane];
        x[i] = (C){*(const NAME(u) *)v, *(const NAME(u) *)(v + NAME(LANES))};
    }
}

TARGET static void NAME(store_real)(const void *from, size_t lane, size_t lines, size_t n, bool swap, double factor, void *to) {
    const C *x = from;
    T *p = to, scale = (T)factor;
    for (size_t i = 0; i < n; i++) {
        const V re = (swap ? x[i].im : x[i].re) * scale, im = (swap ? x[i].re : x[i].im) * scale;
        for (size_t l = 0; l < lines; l++)
            p[i + l * lane] = l < NAME(LANES) ? re[l] : im[l - NAME(LANES)];
    }
}

/* From the spectra of pairs of real lines, x = a + i b, those of each: to[k] of a, to[n / 2 + 1 + k] of b. */
TARGET static void NAME(split)(const void *from, size_t n, void *to) {
    const C *x = from;
    C *a = to, *b = a + n / 2 + 1;
    const T half = (T)0.5;
    for (size_t k = 0; k <= n / 2; k++) {
        const C u = x[k], v = x[k ? n - k : 0];
        a[k] = (C){(u.re + v.re) * half, (u.im - v.im) * half};
        b[k] = (C){(u.im + v.im) * half, (v.re - u.re) * half};
    }
}

/* Back: of both half spectra a whole one, for the inverse transform: real and imaginary parts exchanged. What is imaginary
   where a real line has nothing imaginary is left out. */
TARGET static void NAME(join)(const void *from, size_t n, void *to) {
    const C *a = from, *b = a + n / 2 + 1;
    C *x = to;
    for (size_t k = 0; k <= n / 2; k++) {
        C u = a[k], v = b[k];
        if (k == 0 || 2 * k == n)
            u.im = v.im = (V){0};
        x[k] = (C){u.im + v.re, u.re - v.im};
        if (k && 2 * k < n)
            x[n - k] = (C){v.re - u.im, u.re + v.im};
    }
}

/* Row k of a matrix of transforms, times root(k * column): `first` is that of the first lane, `lanes` those from it on. */
TARGET static void NAME(twiddle)(void *row, const double first[2], const void *lanes) {
    C *x = row;
    const C *w = lanes;
    const T f[2] = {(T)first[0], (T)first[1]};
    const C t = NAME(mul)(*w, f);
    *x = (C){x->re * t.re - x->im * t.im, x->re * t.im + x->im * t.re};
}

/* Bluestein: lines times n factors, zeros up to `padded`; the same with conjugation, which makes the next transform inverse. */
TARGET static void NAME(chirp)(void *lines, const void *factors, size_t n, size_t padded) {
    C *x = lines;
    const T *w = factors;
    for (size_t k = 0; k < n; k++)
        x[k] = NAME(mul)(x[k], w + 2 * k);
    memset(x + n, 0, (padded - n) * sizeof *x);
}
TARGET static void NAME(filter)(void *lines, const void *factors, size_t n, double factor) {
    C *x = lines;
    const T *w = factors, scale = (T)factor;
    for (size_t k = 0; k < n; k++) {
        C y = NAME(mul)(x[k], w + 2 * k);
        x[k] = (C){y.re * scale, -y.im * scale};
    }
}

static void NAME(put_root)(void *table, size_t i, double re, double im) {
    ((T *)table)[2 * i] = (T)re;
    ((T *)table)[2 * i + 1] = (T)im;
}

static const struct fft_kernels NAME(kernels) = {.bytes = sizeof(T),
                                                 .lanes = NAME(LANES),
                                                 .transform = NAME(transform),
                                                 .load = NAME(load),
                                                 .store = NAME(store),
                                                 .load_real = NAME(load_real),
                                                 .store_real = NAME(store_real),
                                                 .split = NAME(split),
                                                 .join = NAME(join),
                                                 .twiddle = NAME(twiddle),
                                                 .chirp = NAME(chirp),
                                                 .filter = NAME(filter),
                                                 .put_root = NAME(put_root)};

#undef C
#undef T
#undef V
#undef NAME
#undef TARGET
#undef EVEN
#undef ODD
#undef LOW
#undef HIGH
