/* See factor.h. */
#include "eval/factor.h"

#include <math.h>

typedef struct complex_number num;

enum { SWEEPS = 60 }; /* of rotations; ten are many */

static num num_sub(num a, num b) { return (num){a.re - b.re, a.im - b.im}; }
static num num_conj(num a) { return (num){a.re, -a.im}; }
static num num_scale(num a, double s) { return (num){a.re * s, a.im * s}; }
static double num_square(num a) { return a.re * a.re + a.im * a.im; }

static num num_div(num a, num b) {
    return b.im == 0 ? num_scale(a, 1 / b.re) : num_scale(complex_mul(a, num_conj(b)), 1 / num_square(b));
}

/* ---- memory --------------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

enum ir_dtype factor_real(enum ir_dtype t) {
    return t == IR_C64_T ? IR_F32_T : t == IR_C128_T ? IR_F64_T : t;
}

/* Numbers of the parts of the scratch memory: the matrix, two squares, and scalars. */
static bool parts(const struct factor *f, size_t *matrix, size_t *large, size_t *small, size_t *all) {
    size_t most = f->m > f->n ? f->m : f->n;
    return mem_mul(f->m, f->n, matrix) && mem_mul(most, most, large) && mem_mul(f->k, f->k, small) &&
           mem_add(*matrix, *large, all) && mem_add(*all, *small, all) && mem_add(*all, most, all);
}

bool factor_scratch(const struct factor *f, size_t *bytes) {
    size_t matrix, large, small;
    return parts(f, &matrix, &large, &small, bytes) && mem_mul(*bytes, sizeof(num), bytes);
}

/* ---- elements ---------------------------------------------------------------------------------- */

static num get(enum ir_dtype t, const void *p, size_t i) {
    const float *f = p;
    const double *d = p;
    switch (t) {
    case IR_F32_T:
        return (num){(double)f[i], 0};
    case IR_F64_T:
        return (num){d[i], 0};
    case IR_C64_T:
        return (num){(double)f[2 * i], (double)f[2 * i + 1]};
    default:
        return (num){d[2 * i], d[2 * i + 1]};
    }
}

static void set(enum ir_dtype t, void *p, size_t i, num x) {
    float *f = p;
    double *d = p;
    switch (t) {
    case IR_F32_T:
        f[i] = (float)x.re;
        break;
    case IR_F64_T:
        d[i] = x.re;
        break;
    case IR_C64_T:
        f[2 * i] = (float)x.re;
        f[2 * i + 1] = (float)x.im;
        break;
    default:
        d[2 * i] = x.re;
        d[2 * i + 1] = x.im;
    }
}

static void set_all(enum ir_dtype t, void *p, size_t at, const num *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        set(t, p, at + i, x[i]);
}

/* ---- LU and QR --------------------------------------------------------------------------------- */

/* By columns, with the pivot that is largest by the sum of its parts, as LAPACK takes it. */
static void lu(size_t m, size_t n, num *a, int32_t *pivots, int32_t *info) {
    *info = 0;
    for (size_t j = 0; j < least(m, n); j++) {
        size_t p = j;
        for (size_t i = j + 1; i < m; i++)
            if (fabs(a[i * n + j].re) + fabs(a[i * n + j].im) > fabs(a[p * n + j].re) + fabs(a[p * n + j].im))
                p = i;
        pivots[j] = (int32_t)p + 1;
        if (a[p * n + j].re == 0 && a[p * n + j].im == 0) {
            *info = *info ? *info : (int32_t)j + 1;
            continue;
        }
        for (size_t c = 0; c < n && p != j; c++) {
            num x = a[j * n + c];
            a[j * n + c] = a[p * n + c];
            a[p * n + c] = x;
        }
        for (size_t i = j + 1; i < m; i++) {
            num x = a[i * n + j] = num_div(a[i * n + j], a[j * n + j]);
            for (size_t c = j + 1; c < n; c++)
                a[i * n + c] = num_sub(a[i * n + c], complex_mul(x, a[j * n + c]));
        }
    }
}

/* Column j becomes the reflector that makes it a multiple of a unit vector, and its scalar (larfg). */
static num reflector(size_t m, size_t n, size_t j, num *a) {
    num alpha = a[j * n + j];
    double below = 0;
    for (size_t i = j + 1; i < m; i++)
        below += num_square(a[i * n + j]);
    if (below == 0 && alpha.im == 0)
        return (num){0, 0};
    double beta = -copysign(sqrt(below + num_square(alpha)), alpha.re);
    for (size_t i = j + 1; i < m; i++)
        a[i * n + j] = num_div(a[i * n + j], (num){alpha.re - beta, alpha.im});
    a[j * n + j] = (num){beta, 0};
    return (num){(beta - alpha.re) / beta, -alpha.im / beta};
}

static void qr(size_t m, size_t n, num *a, num *tau) {
    for (size_t j = 0; j < least(m, n); j++) {
        tau[j] = reflector(m, n, j, a);
        for (size_t c = j + 1; c < n; c++) { /* by the adjoint of the reflection */
            num s = a[j * n + c];
            for (size_t i = j + 1; i < m; i++) {
                num t = complex_mul(num_conj(a[i * n + j]), a[i * n + c]);
                s = (num){s.re + t.re, s.im + t.im};
            }
            s = complex_mul(num_conj(tau[j]), s);
            a[j * n + c] = num_sub(a[j * n + c], s);
            for (size_t i = j + 1; i < m; i++)
                a[i * n + c] = num_sub(a[i * n + c], complex_mul(a[i * n + j], s));
        }
    }
}

void factor_reflectors(size_t m, size_t n, size_t k, const num *a, const num *tau, num *q) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            q[i * n + j] = (num){i == j, 0};
    for (size_t i = k; i-- > 0;)
        for (size_t j = 0; j < n; j++) {
            num s = q[i * n + j];
            for (size_t r = i + 1; r < m; r++) {
                num t = complex_mul(num_conj(a[r * n + i]), q[r * n + j]);
                s = (num){s.re + t.re, s.im + t.im};
            }
            s = complex_mul(tau[i], s);
            q[i * n + j] = num_sub(q[i * n + j], s);
            for (size_t r = i + 1; r < m; r++)
                q[r * n + j] = num_sub(q[r * n + j], complex_mul(a[r * n + i], s));
        }
}

/* ---- rotations --------------------------------------------------------------------------------- */

/* What makes the Hermitian matrix (p r; r* q) diagonal: x becomes cx - sy', y becomes sx + cy', with y' = phase* y. */
struct rotation {
    double c, s;
    num phase;
};

static struct rotation rotation_of(double p, double q, num r) {
    double size = sqrt(num_square(r)), slope = (q - p) / (2 * size);
    double t = copysign(1, slope) / (fabs(slope) + sqrt(1 + slope * slope)), c = 1 / sqrt(1 + t * t);
    return (struct rotation){c, t * c, num_scale(r, 1 / size)};
}

/* Rotates two columns of an m×n matrix. */
static void rotate_columns(size_t m, size_t n, num *a, size_t p, size_t q, struct rotation w) {
    for (size_t i = 0; i < m; i++) {
        num x = a[i * n + p], y = complex_mul(num_conj(w.phase), a[i * n + q]);
        a[i * n + p] = num_sub(num_scale(x, w.c), num_scale(y, w.s));
        a[i * n + q] = (num){w.s * x.re + w.c * y.re, w.s * x.im + w.c * y.im};
    }
}

static void rotate_rows(size_t n, num *a, size_t p, size_t q, struct rotation w) {
    for (size_t i = 0; i < n; i++) {
        num x = a[p * n + i], y = complex_mul(w.phase, a[q * n + i]);
        a[p * n + i] = num_sub(num_scale(x, w.c), num_scale(y, w.s));
        a[q * n + i] = (num){w.s * x.re + w.c * y.re, w.s * x.im + w.c * y.im};
    }
}

static void identity(size_t n, num *v) {
    for (size_t i = 0; i < n * n; i++)
        v[i] = (num){i / n == i % n, 0};
}

static void swap_columns(size_t m, size_t n, num *a, size_t p, size_t q) {
    for (size_t i = 0; i < m; i++) {
        num x = a[i * n + p];
        a[i * n + p] = a[i * n + q];
        a[i * n + q] = x;
    }
}

/* Puts numbers, and the columns of two matrices with them, in order: ascending times `sign`. */
static void sort(size_t n, num *x, double sign, size_t m, num *a, num *v) {
    for (size_t i = 0; i < n; i++) {
        size_t first = i;
        for (size_t j = i + 1; j < n; j++)
            first = sign * x[j].re < sign * x[first].re ? j : first;
        num y = x[i];
        x[i] = x[first];
        x[first] = y;
        if (a && first != i)
            swap_columns(m, n, a, i, first);
        if (first != i)
            swap_columns(n, n, v, i, first);
    }
}

/* The eigenvalues w of a Hermitian matrix, which is lost, and its eigenvectors v, by Jacobi's method. */
static void eigh(size_t n, num *a, num *w, num *v) {
    identity(n, v);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double beside = 0, all = 0;
        for (size_t i = 0; i < n * n; i++) {
            all += num_square(a[i]);
            beside += i / n == i % n ? 0 : num_square(a[i]);
        }
        if (!(beside > 1e-32 * all)) /* also where there are NaN */
            break;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (!(num_square(a[p * n + q]) > 0))
                    continue;
                struct rotation r = rotation_of(a[p * n + p].re, a[q * n + q].re, a[p * n + q]);
                rotate_columns(n, n, a, p, q, r);
                rotate_rows(n, a, p, q, r);
                rotate_columns(n, n, v, p, q, r);
                a[p * n + q] = a[q * n + p] = (num){0, 0};
            }
    }
    for (size_t i = 0; i < n; i++)
        w[i] = (num){a[i * n + i].re, 0};
    sort(n, w, 1, n, NULL, v);
}

/* Makes column j of u orthogonal to those before it, and of length 1. */
static void complete(size_t m, size_t columns, num *u, size_t j) {
    double square = 0;
    for (size_t e = 0; e < m && !(square > 0.5 / (double)m); e++) { /* of some unit vector so much is left */
        for (size_t i = 0; i < m; i++)
            u[i * columns + j] = (num){i == e, 0};
        for (int twice = 0; twice < 2; twice++)
            for (size_t c = 0; c < j; c++) {
                num s = {0, 0};
                for (size_t i = 0; i < m; i++) {
                    num t = complex_mul(num_conj(u[i * columns + c]), u[i * columns + j]);
                    s = (num){s.re + t.re, s.im + t.im};
                }
                for (size_t i = 0; i < m; i++)
                    u[i * columns + j] = num_sub(u[i * columns + j], complex_mul(u[i * columns + c], s));
            }
        square = 0;
        for (size_t i = 0; i < m; i++)
            square += num_square(u[i * columns + j]);
    }
    for (size_t i = 0; i < m; i++)
        u[i * columns + j] = num_scale(u[i * columns + j], 1 / sqrt(square));
}

/* Makes the columns of an m×n matrix, m >= n, orthogonal, and rotates those of v with them (Hestenes). */
static void orthogonalise(size_t m, size_t n, num *b, num *v) {
    bool rotated = true;
    for (int sweep = 0; sweep < SWEEPS && rotated; sweep++) {
        rotated = false;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                double x = 0, y = 0;
                num xy = {0, 0};
                for (size_t i = 0; i < m; i++) {
                    num t = complex_mul(num_conj(b[i * n + p]), b[i * n + q]);
                    xy = (num){xy.re + t.re, xy.im + t.im};
                    x += num_square(b[i * n + p]);
                    y += num_square(b[i * n + q]);
                }
                if (!(num_square(xy) > 1e-31 * x * y))
                    continue;
                struct rotation r = rotation_of(x, y, xy);
                rotate_columns(m, n, b, p, q, r);
                rotate_columns(n, n, v, p, q, r);
                rotated = true;
            }
    }
}

/* Of b, m×n, m >= n, which is lost: singular values s, v, and `columns` columns of u. */
static void svd(size_t m, size_t n, size_t columns, num *b, num *s, num *u, num *v) {
    identity(n, v);
    orthogonalise(m, n, b, v);
    for (size_t j = 0; j < n; j++) {
        double square = 0;
        for (size_t i = 0; i < m; i++)
            square += num_square(b[i * n + j]);
        s[j] = (num){sqrt(square), 0};
    }
    sort(n, s, -1, m, b, v);
    for (size_t j = 0; j < columns; j++) {
        if (j >= n || s[j].re == 0) {
            complete(m, columns, u, j);
            continue;
        }
        for (size_t i = 0; i < m; i++)
            u[i * columns + j] = num_scale(b[i * n + j], 1 / s[j].re);
    }
}

/* ---- a matrix of a batch ------------------------------------------------------------------------ */

static void load(const struct factor *f, size_t i, const void *from, num *to) {
    for (size_t at = 0; at < f->m * f->n; at++)
        to[at] = get(f->type, from, i * f->m * f->n + at);
}

static void one_eigh(const struct factor *f, size_t i, void *const *out, num *a, num *v, num *w) {
    size_t n = f->n;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c <= r; c++) { /* the triangle that is not read follows from the other */
            num x = f->upper ? num_conj(a[c * n + r]) : a[r * n + c];
            x.im = r == c ? 0 : x.im;
            a[r * n + c] = x;
            a[c * n + r] = num_conj(x);
        }
    eigh(n, a, w, v);
    set_all(f->type, out[0], i * n * n, v, n * n);
    set_all(factor_real(f->type), out[1], i * n, w, n);
    ((int32_t *)out[2])[i] = 0;
}

static void one_svd(const struct factor *f, size_t i, void *const *out, num *a, num *large, num *small, num *s) {
    bool use_adjoint = f->m < f->n; /* then of the adjoint: a = v s uᴴ */
    size_t m = use_adjoint ? f->n : f->m, n = f->k, columns = f->vectors && f->full ? m : n;
    size_t rows = f->full ? f->m : f->k, below = f->full ? f->n : f->k; /* of u: columns; of vᴴ: rows */
    set_all(f->type, out[0], i * m * n, a, m * n);
    for (size_t r = 0; r < f->m && use_adjoint; r++) /* in `large`, then back */
        for (size_t c = 0; c < f->n; c++)
            large[c * f->m + r] = num_conj(a[r * f->n + c]);
    if (use_adjoint)
        memcpy(a, large, m * n * sizeof *a);
    svd(m, n, columns, a, s, large, small);
    set_all(factor_real(f->type), out[1], i * n, s, n);
    ((int32_t *)out[4])[i] = 0;
    for (size_t r = 0; f->vectors && r < f->m; r++)
        for (size_t c = 0; c < rows; c++)
            set(f->type, out[2], (i * f->m + r) * rows + c, use_adjoint ? small[r * n + c] : large[r * columns + c]);
    for (size_t r = 0; f->vectors && r < below; r++)
        for (size_t c = 0; c < f->n; c++)
            set(f->type, out[3], (i * below + r) * f->n + c, num_conj(use_adjoint ? large[c * columns + r] : small[c * n + r]));
}

void factor_one(const struct factor *f, size_t i, const void *const *in, void *const *out, void *scratch) {
    size_t matrix = 0, large = 0, small = 0, all = 0;
    (void)parts(f, &matrix, &large, &small, &all); /* of memory that exists */
    num *a = scratch, *b = a + matrix, *c = b + large, *d = c + small;
    load(f, i, in[0], a);
    switch (f->kind) {
    case FACTOR_LU:
        lu(f->m, f->n, a, (int32_t *)out[1] + i * f->k, (int32_t *)out[2] + i);
        set_all(f->type, out[0], i * matrix, a, matrix);
        break;
    case FACTOR_QR:
        qr(f->m, f->n, a, d);
        set_all(f->type, out[0], i * matrix, a, matrix);
        set_all(f->type, out[1], i * f->k, d, f->k);
        break;
    case FACTOR_REFLECTORS:
        for (size_t j = 0; j < f->k; j++)
            d[j] = get(f->type, in[1], i * f->k + j);
        factor_reflectors(f->m, f->n, f->k, a, d, b);
        set_all(f->type, out[0], i * matrix, b, matrix);
        break;
    case FACTOR_EIGH:
        one_eigh(f, i, out, a, b, d);
        break;
    default:
        one_svd(f, i, out, a, b, c, d);
    }
}
