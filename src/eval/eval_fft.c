/* fft: mixed-radix Cooley–Tukey in double, Bluestein's chirp for lengths with a large prime factor.
 *
 * Every kind is a complex transform of whole lines: a real input is widened, and the half spectrum of IRFFT is completed by its
 * symmetry. */
#include "eval/contract.h"

#include <math.h>

typedef struct complex_number num;

enum { FFT_LARGEST_RADIX = 61 };

/* A transform of lines of n numbers. sign = -1 forward, +1 inverse (not scaled). */
struct fft {
    size_t n;
    int sign;
    num *roots;         /* exp(sign 2 pi i k / n), n of them */
    size_t padded;      /* Bluestein: power of two of at least 2n - 1, else 0 */
    struct fft *inner;  /* Bluestein: forward transform of `padded` numbers */
    num *chirp;         /* Bluestein: exp(sign pi i k^2 / n), n of them */
    num *filter;        /* Bluestein: transform of the conjugate chirp, padded */
    num *work;          /* n, or 2 * padded */
    hilo_allocator al;
};

static num add(num a, num b) { return (num){a.re + b.re, a.im + b.im}; }

static num root(int sign, size_t k, size_t n) {
    size_t quarter = 4 * (k % n) / n, rest = 4 * (k % n) - quarter * n; /* so that the roots between quarters are exact */
    double angle = 1.57079632679489661923 * (double)rest / (double)n, c = cos(angle), s = sin(angle);
    const double rotated[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
    return (num){rotated[quarter][0], sign * rotated[quarter][1]};
}

static size_t smallest_factor(size_t n) {
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

/* out[0..n) = transform of in[0], in[stride], …; `step` = roots.n / n. */
static void fft_radix(const struct fft *f, size_t n, size_t step, const num *in, size_t stride, num *out) {
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    size_t p = smallest_factor(n), m = n / p;
    num term[FFT_LARGEST_RADIX];
    for (size_t r = 0; r < p; r++)
        fft_radix(f, m, step * p, in + r * stride, stride * p, out + r * m);
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++)
            term[r] = complex_mul(out[r * m + k], f->roots[r * k * step % f->n]);
        for (size_t q = 0; q < p; q++) {
            num sum = term[0];
            for (size_t r = 1; r < p; r++)
                sum = add(sum, complex_mul(term[r], f->roots[r * q % p * m * step % f->n]));
            out[q * m + k] = sum;
        }
    }
}

/* Transforms a line in place. */
static void fft_line(const struct fft *f, num *x) {
    if (!f->padded) {
        memcpy(f->work, x, f->n * sizeof *x);
        fft_radix(f, f->n, 1, f->work, 1, x);
        return;
    }
    num *a = f->work;
    memset(a, 0, f->padded * sizeof *a);
    for (size_t k = 0; k < f->n; k++)
        a[k] = complex_mul(x[k], f->chirp[k]);
    fft_line(f->inner, a);
    for (size_t k = 0; k < f->padded; k++) { /* the inverse by conjugation */
        a[k] = complex_mul(a[k], f->filter[k]);
        a[k].im = -a[k].im;
    }
    fft_line(f->inner, a);
    for (size_t k = 0; k < f->n; k++)
        x[k] = complex_mul((num){a[k].re / (double)f->padded, -a[k].im / (double)f->padded}, f->chirp[k]);
}

static void fft_close(struct fft *f) {
    if (!f)
        return;
    mem_free(&f->al, f->roots, f->n * sizeof(num));
    mem_free(&f->al, f->chirp, f->n * sizeof(num));
    mem_free(&f->al, f->filter, f->padded * sizeof(num));
    mem_free(&f->al, f->work, (f->padded ? f->padded : f->n) * sizeof(num));
    fft_close(f->inner);
    hilo_allocator al = f->al;
    mem_free(&al, f, sizeof *f);
}

static bool fft_bluestein(struct fft *f);

/* NULL when memory is exhausted. n >= 1. */
static struct fft *fft_open(const hilo_allocator *al, size_t n, int sign) {
    struct fft *f = mem_alloc(al, sizeof *f);
    if (!f)
        return NULL;
    *f = (struct fft){.n = n, .sign = sign, .al = *al};
    size_t largest = 1;
    for (size_t rest = n; rest > 1; rest /= largest)
        largest = smallest_factor(rest);
    bool ok = true;
    if (largest > FFT_LARGEST_RADIX) {
        ok = n <= SIZE_MAX / (8 * sizeof(num)) && fft_bluestein(f);
    } else {
        f->roots = mem_alloc(al, n * sizeof(num));
        f->work = mem_alloc(al, n * sizeof(num));
        ok = f->roots && f->work;
        for (size_t k = 0; ok && k < n; k++)
            f->roots[k] = root(sign, k, n);
    }
    if (!ok) {
        fft_close(f);
        return NULL;
    }
    return f;
}

static bool fft_bluestein(struct fft *f) {
    f->padded = 1;
    while (f->padded < 2 * f->n - 1)
        f->padded *= 2;
    f->inner = fft_open(&f->al, f->padded, -1);
    f->chirp = mem_alloc(&f->al, f->n * sizeof(num));
    f->filter = mem_alloc(&f->al, f->padded * sizeof(num));
    f->work = mem_alloc(&f->al, f->padded * sizeof(num));
    if (!f->inner || !f->chirp || !f->filter || !f->work)
        return false;
    memset(f->filter, 0, f->padded * sizeof(num));
    for (size_t k = 0; k < f->n; k++) {
        uint64_t square = (uint64_t)((unsigned __int128)k * k % (2 * f->n)); /* k^2 modulo the period */
        f->chirp[k] = root(f->sign, square, 2 * f->n);
        num conj = {f->chirp[k].re, -f->chirp[k].im};
        f->filter[k] = conj;
        if (k)
            f->filter[f->padded - k] = conj;
    }
    fft_line(f->inner, f->filter);
    return true;
}

/* ---- the op ------------------------------------------------------------------------------------------------------ */

/* Transforms x (of shape dims) in place along dimension d, through a buffer for one line. */
static hilo_status fft_along(struct eval *cx, ir_op op, num *x, const int64_t *dims, uint32_t rank, uint32_t d, int sign) {
    size_t n = (size_t)dims[d], outer = 1, inner = 1;
    for (uint32_t i = 0; i < rank; i++) {
        outer *= i < d ? (size_t)dims[i] : 1;
        inner *= i > d ? (size_t)dims[i] : 1;
    }
    if (n == 0 || outer == 0 || inner == 0)
        return HILO_OK;
    struct fft *f = fft_open(&cx->al, n, sign);
    num *line = mem_alloc(&cx->al, n * sizeof *line);
    hilo_status status = f && line ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    for (size_t l = 0; status == HILO_OK && l < outer * inner; l++) {
        num *at = x + l / inner * n * inner + l % inner;
        double scale = sign > 0 ? 1 / (double)n : 1;
        for (size_t k = 0; k < n; k++)
            line[k] = at[k * inner];
        fft_line(f, line);
        for (size_t k = 0; k < n; k++)
            at[k * inner] = (num){line[k].re * scale, line[k].im * scale};
        status = eval_work(cx, op, 8 * n);
    }
    fft_close(f);
    mem_free(&cx->al, line, n * sizeof *line);
    return status;
}

/* Lines of `have` numbers become lines of `want`: RFFT drops the second half of a spectrum, IRFFT completes it. */
static void fft_resize(const num *x, size_t lines, size_t have, size_t want, num *out) {
    for (size_t l = 0; l < lines; l++)
        for (size_t k = 0; k < want; k++)
            out[l * want + k] = k < have ? x[l * have + k]
                                         : (num){x[l * have + want - k].re, -x[l * have + want - k].im};
}

static hilo_status fft_run(struct eval *cx, ir_op op, int64_t type, const struct value *in, uint32_t ndims, num **x,
                           size_t *nbytes, const int64_t *out_dims, size_t out_count) {
    uint32_t rank = in->rank, last = rank - 1;
    int64_t dims[IR_MAX_RANK];
    size_t have = (size_t)in->dims[last], want = (size_t)out_dims[last];
    int sign = type == IR_FFT_TYPE_FFT || type == IR_FFT_TYPE_RFFT ? -1 : 1;
    memcpy(dims, in->dims, rank * sizeof *dims);
    if (type == IR_FFT_TYPE_IRFFT) /* the other dimensions first: symmetry is completed line by line at the end */
        for (uint32_t i = 1; i < ndims; i++)
            HILO_TRY(fft_along(cx, op, *x, dims, rank, last - i, sign));
    if (type != IR_FFT_TYPE_IRFFT)
        HILO_TRY(fft_along(cx, op, *x, dims, rank, last, sign));
    if (have != want) {
        num *resized = mem_alloc(&cx->al, out_count * sizeof *resized);
        if (!resized)
            return HILO_RESOURCE_EXHAUSTED;
        fft_resize(*x, want ? out_count / want : 0, have, want, resized);
        mem_free(&cx->al, *x, *nbytes);
        *x = resized;
        *nbytes = out_count * sizeof *resized;
        dims[last] = (int64_t)want;
    }
    if (type == IR_FFT_TYPE_IRFFT)
        return fft_along(cx, op, *x, dims, rank, last, sign);
    for (uint32_t i = 1; i < ndims; i++)
        HILO_TRY(fft_along(cx, op, *x, dims, rank, last - i, sign));
    return HILO_OK;
}

hilo_status eval_fft(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_module *m = cx->m;
    size_t ndims;
    const int64_t *length = ir_prop_i64s(m, op, IR_FFT_fft_length, &ndims);
    int64_t type = ir_prop_i64(m, op, IR_FFT_fft_type), dims[IR_MAX_RANK];
    uint32_t rank = in[0]->rank;
    if (ndims == 0 || ndims > rank)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %zu transform lengths for %u dimensions", ndims, rank);
    memcpy(dims, in[0]->dims, rank * sizeof *dims);
    for (size_t i = 0; i < ndims; i++) {
        int64_t have = dims[rank - ndims + i], want = length[i];
        bool half = i + 1 == ndims && type == IR_FFT_TYPE_IRFFT;
        if (half ? have != want / 2 + 1 && !(want == 0 && have == 0) : have != want)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %lld elements where length %lld is to be transformed",
                             (long long)have, (long long)want);
    }
    if (type == IR_FFT_TYPE_RFFT)
        dims[rank - 1] = length[ndims - 1] ? length[ndims - 1] / 2 + 1 : 0;
    if (type == IR_FFT_TYPE_IRFFT)
        dims[rank - 1] = length[ndims - 1];
    HILO_TRY(eval_out(cx, op, 0, dims, rank, out));
    void *numbers = NULL;
    size_t nbytes = in[0]->count * sizeof(num);
    hilo_status status = number_load(cx, in[0], NULL, NUM_COMPLEX, &numbers);
    num *x = numbers;
    if (status == HILO_OK)
        status = fft_run(cx, op, type, in[0], (uint32_t)ndims, &x, &nbytes, dims, (*out)->count);
    if (status == HILO_OK)
        complex_store(x, *out);
    mem_free(&cx->al, x, nbytes);
    return status;
}
