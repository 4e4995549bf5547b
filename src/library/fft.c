/* fft: transforms of one to three dimensions, forward and inverse, complex or real, of any length.
 *
 * Lines go side by side through vectors, one in each lane (fft_lanes.h): neighbouring columns as they are, rows by transposing,
 * two real lines as one complex line. Lengths are split into small factors (Stockham's autosort form); one with a large prime
 * factor becomes a convolution with a chirp of a power of two (Bluestein). A long line by itself is a matrix: transforms of its
 * columns, a twist, transforms of its rows (the four-step method), whose lanes are columns and rows. The inverse is the forward
 * transform with real and imaginary parts exchanged. */
#include "library/routine.h"

#include <math.h>

enum {
    FFT_MOST_FACTORS = 40,
    FFT_LARGEST = 31,   /* factor */
    FFT_LONG = 1 << 12, /* from here on a line is a matrix, if there are not more lines than lanes already from FFT_ALONE on */
    FFT_ALONE = 1 << 8
};

/* The forward transform of lines of n numbers. */
struct fft_line {
    size_t n;
    const void *roots; /* exp(-2 pi i k / n), n of them */
    uint32_t nfactors;
    size_t factor[FFT_MOST_FACTORS];
};

/* What works on lines in lanes, for a type: fft_lanes.h. Vectors and sizes are in numbers, not bytes. */
struct fft_kernels {
    size_t bytes, lanes;
    void *(*transform)(const struct fft_line *f, void *x, void *y);
    void (*load)(const void *from, size_t step, size_t lane, size_t lanes, size_t n, bool swap, void *to);
    void (*store)(const void *from, size_t step, size_t lane, size_t lanes, size_t n, bool swap, double factor, void *to);
    void (*load_real)(const void *from, size_t lane, size_t lines, size_t n, void *to);
    void (*store_real)(const void *from, size_t lane, size_t lines, size_t n, bool swap, double factor, void *to);
    void (*split)(const void *from, size_t n, void *to);
    void (*join)(const void *from, size_t n, void *to);
    void (*twiddle)(void *row, const double first[2], const void *lanes);
    void (*chirp)(void *lines, const void *factors, size_t n, size_t padded);
    void (*filter)(void *lines, const void *factors, size_t n, double factor);
    void (*put_root)(void *table, size_t i, double re, double im);
};

typedef float v4f __attribute__((vector_size(16)));
typedef float v8f __attribute__((vector_size(32)));
typedef double v2d __attribute__((vector_size(16)));
typedef double v4d __attribute__((vector_size(32)));

#define T       float
#define V       v4f
#define NAME(x) f32_plain_##x
#define TARGET
#define EVEN 0, 2, 4, 6
#define ODD  1, 3, 5, 7
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#include "library/fft_lanes.h"

#define T       double
#define V       v2d
#define NAME(x) f64_plain_##x
#define TARGET
#define EVEN 0, 2
#define ODD  1, 3
#define LOW  0, 2
#define HIGH 1, 3
#include "library/fft_lanes.h"

#if LIB_X86
#define T       float
#define V       v8f
#define NAME(x) f32_avx2_##x
#define TARGET  LIB_AVX2
#define EVEN    0, 2, 4, 6, 8, 10, 12, 14
#define ODD     1, 3, 5, 7, 9, 11, 13, 15
#define LOW     0, 8, 1, 9, 2, 10, 3, 11
#define HIGH    4, 12, 5, 13, 6, 14, 7, 15
#include "library/fft_lanes.h"

#define T       double
#define V       v4d
#define NAME(x) f64_avx2_##x
#define TARGET  LIB_AVX2
#define EVEN    0, 2, 4, 6
#define ODD     1, 3, 5, 7
#define LOW     0, 4, 1, 5
#define HIGH    2, 6, 3, 7
#include "library/fft_lanes.h"
#endif

static const struct fft_kernels *fft_kernels(bool wide) {
#if LIB_X86
    if (lib_has_avx2())
        return wide ? &f64_avx2_kernels : &f32_avx2_kernels;
#endif
    return wide ? &f64_plain_kernels : &f32_plain_kernels;
}

/* ---- roots of unity --------------------------------------------------------------------------------------------------- */

struct root {
    double v[2];
};

/* Roots of order n as products of few: root k is high[k >> shift] * low[k mod 2^shift]. */
struct fft_roots {
    struct root *high, *low;
    size_t n;
    unsigned shift;
};

static unsigned roots_shift(size_t n) {
    unsigned shift = 0;
    while ((size_t)1 << 2 * shift < n)
        shift++;
    return shift;
}

static bool roots_reserve(size_t *bytes, size_t n, size_t *at) {
    size_t unused;
    unsigned shift = roots_shift(n);
    return lib_reserve(bytes, ((size_t)1 << shift) + 1, sizeof(struct root), at) &&
           lib_reserve(bytes, (n >> shift) + 2, sizeof(struct root), &unused);
}

/* exp(-2πik/n), from the angle in its quarter of the circle: the roots between quarters are exact. */
static struct root root_of(size_t k, size_t n) {
    size_t quarter = 4 * (k % n) / n, rest = 4 * (k % n) - quarter * n;
    double angle = 1.57079632679489661923 * (double)rest / (double)n, c = cos(angle), s = sin(angle);
    const double rotated[4][2] = {{c, -s}, {-s, -c}, {-c, s}, {s, c}};
    return (struct root){{rotated[quarter][0], rotated[quarter][1]}};
}

static struct root root_mul(struct root a, struct root b) {
    return (struct root){{a.v[0] * b.v[0] - a.v[1] * b.v[1], a.v[0] * b.v[1] + a.v[1] * b.v[0]}};
}

static struct fft_roots roots_open(char *memory, size_t n) {
    struct fft_roots r = {.n = n, .shift = roots_shift(n)};
    size_t low = (size_t)1 << r.shift, bytes = 0, at;
    lib_reserve(&bytes, low + 1, sizeof(struct root), &at);
    r.low = (void *)memory;
    r.high = (void *)(memory + bytes);
    for (size_t k = 0; k < low; k++)
        r.low[k] = root_of(k, n);
    for (size_t k = 0; k << r.shift < n; k++)
        r.high[k] = root_of(k << r.shift, n);
    return r;
}

static struct root roots_get(const struct fft_roots *r, size_t k) {
    return root_mul(r->high[k >> r->shift], r->low[k & (((size_t)1 << r->shift) - 1)]);
}

/* ---- one length --------------------------------------------------------------------------------------------------------- */

/* Transforms of length n in lanes, and their tables. Bluestein where `padded` is not 0. */
struct fft_length {
    size_t n, padded;
    struct fft_line line; /* of n or padded numbers */
    const void *chirp, *conjugate, *filter;
};

/* Splits n into small factors, large ones first; false when a prime factor is too large. */
static bool line_factors(size_t n, struct fft_line *f) {
    f->n = n;
    f->nfactors = 0;
    unsigned twos = (unsigned)__builtin_ctzll(n), eights = twos / 3;
    n >>= twos;
    if (twos % 3 == 1 && eights) /* two fours instead of eight and two */
        eights--;
    twos -= 3 * eights;
    while (eights--)
        f->factor[f->nfactors++] = 8;
    for (; twos >= 2; twos -= 2)
        f->factor[f->nfactors++] = 4;
    if (twos)
        f->factor[f->nfactors++] = 2;
    for (size_t p = 3; n > 1 && p <= FFT_LARGEST; p += 2)
        for (; n % p == 0; n /= p)
            f->factor[f->nfactors++] = p;
    return n == 1;
}

/* False when the length is too large to be worked on. */
static bool length_plan(size_t n, struct fft_length *l) {
    *l = (struct fft_length){.n = n};
    if (line_factors(n, &l->line))
        return true;
    if (n > (size_t)1 << 40)
        return false;
    l->padded = 1;
    while (l->padded < 2 * n - 1)
        l->padded *= 2;
    return line_factors(l->padded, &l->line);
}

/* Offsets of a length's tables in scratch. */
struct length_layout {
    size_t roots, line, chirp, conjugate, filter;
};

static bool length_reserve(const struct fft_length *l, const struct fft_kernels *k, size_t *bytes, struct length_layout *y) {
    size_t number = 2 * k->bytes;
    bool fits = roots_reserve(bytes, l->padded ? 2 * l->n + l->padded : l->n, &y->roots) &&
                lib_reserve(bytes, l->line.n, number, &y->line);
    return fits &&
           (!l->padded || (lib_reserve(bytes, l->n, number, &y->chirp) && lib_reserve(bytes, l->n, number, &y->conjugate) &&
                           lib_reserve(bytes, l->padded, number, &y->filter)));
}

/* Numbers of vectors that the lines of one group take, for one of two buffers. */
static size_t length_vectors(const struct fft_length *l) {
    return 2 * (l->line.n + 2); /* halves of real lines: two of n / 2 + 1 */
}

/* Fills in the tables. work: two buffers for lines. */
static void length_open(struct fft_length *l, const struct fft_kernels *k, char *scratch, const struct length_layout *y,
                        void *x, void *work) {
    struct fft_roots r = roots_open(scratch + y->roots, l->line.n);
    for (size_t i = 0; i < l->line.n; i++) {
        struct root w = roots_get(&r, i);
        k->put_root(scratch + y->line, i, w.v[0], w.v[1]);
    }
    l->line.roots = scratch + y->line;
    if (!l->padded)
        return;
    size_t n = l->n;
    r = roots_open(scratch + y->roots, 2 * n);
    char *filter = scratch + y->filter;
    memset(filter, 0, l->padded * 2 * k->bytes);
    for (size_t i = 0; i < n; i++) {
        size_t square = (size_t)((unsigned __int128)i * i % (2 * n)); /* i² modulo the period */
        struct root w = roots_get(&r, square);
        k->put_root(scratch + y->chirp, i, w.v[0], w.v[1]);
        k->put_root(scratch + y->conjugate, i, w.v[0], -w.v[1]);
        k->put_root(filter, i, w.v[0], -w.v[1]);
        if (i)
            k->put_root(filter, l->padded - i, w.v[0], -w.v[1]);
    }
    k->load(filter, 1, 0, 1, l->padded, false, x);
    k->store(k->transform(&l->line, x, work), 1, 0, 1, l->padded, false, 1, filter);
    l->chirp = scratch + y->chirp;
    l->conjugate = scratch + y->conjugate;
    l->filter = filter;
}

/* Transforms lines in x, with y as room; returns where they are. */
static void *length_transform(const struct fft_length *l, const struct fft_kernels *k, void *x, void *y) {
    if (!l->padded)
        return k->transform(&l->line, x, y);
    k->chirp(x, l->chirp, l->n, l->padded);
    void *a = k->transform(&l->line, x, y);
    k->filter(a, l->filter, l->padded, 1 / (double)l->padded); /* conjugated, so that the next transform is inverse */
    void *b = k->transform(&l->line, a, a == x ? y : x);
    k->filter(b, l->conjugate, l->n, 1);
    return b;
}

/* ---- passes ---------------------------------------------------------------------------------------------------------------
 */

enum pass_kind { PASS_COMPLEX, PASS_FROM_REAL, PASS_TO_REAL };

/* Transforms along the middle one of [outer][n][inner]; inner = 1 for real ones, whose half spectra have n / 2 + 1 numbers. */
struct pass {
    enum pass_kind kind;
    size_t outer, n, inner;
    bool inverse;
    bool matrix; /* each line is a matrix of rows × columns */
    size_t rows, columns;
    struct fft_length length[2]; /* of a line; or of the columns (rows numbers), of the rows */
    const struct fft_kernels *k;
    /* scratch */
    struct length_layout layout[2];
    size_t twist, twist_lanes, wide, temporary; /* matrix: roots, their lanes; a line of complex numbers, another one */
    size_t vectors, tasks, stride, bytes;       /* of buffers: where they begin, how many, of a task; in all */
};

/* The two factors of n next to its square root that have small factors themselves. */
static bool pass_matrix(size_t n, size_t *rows) {
    struct fft_line f;
    if (!line_factors(n, &f))
        return false;
    for (size_t r = 1; r <= n / r; r++)
        if (n % r == 0)
            *rows = r;
    return *rows > 1;
}

static bool pass_plan(struct pass *p, bool wide) {
    size_t unused, groups, number, lane_bytes;
    p->k = fft_kernels(wide);
    size_t lanes = p->k->lanes;
    number = 2 * p->k->bytes;
    p->matrix = p->inner == 1 && (p->n >= FFT_LONG || (p->n >= FFT_ALONE && p->outer < lanes)) && p->n < (size_t)1 << 40 &&
                pass_matrix(p->n, &p->rows);
    p->bytes = p->twist = p->twist_lanes = p->wide = p->temporary = 0;
    if (p->matrix) {
        p->columns = p->n / p->rows;
        groups = (p->columns + lanes - 1) / lanes;
        if (!length_plan(p->rows, &p->length[0]) || !length_plan(p->columns, &p->length[1]) ||
            !length_reserve(&p->length[0], p->k, &p->bytes, &p->layout[0]) ||
            !length_reserve(&p->length[1], p->k, &p->bytes, &p->layout[1]) || !roots_reserve(&p->bytes, p->n, &p->twist) ||
            !lib_reserve(&p->bytes, p->rows, lanes * number, &p->twist_lanes) ||
            !lib_reserve(&p->bytes, p->n, number, &p->temporary) ||
            !lib_reserve(&p->bytes, p->kind == PASS_COMPLEX ? 0 : p->n, number, &p->wide))
            return false;
    } else {
        size_t lines = p->kind == PASS_COMPLEX ? lanes : 2 * lanes, along = p->inner == 1 ? p->outer : p->inner;
        if (!mem_mul(p->inner == 1 ? 1 : p->outer, (along + lines - 1) / lines, &groups) || !length_plan(p->n, &p->length[0]) ||
            !length_reserve(&p->length[0], p->k, &p->bytes, &p->layout[0]))
            return false;
    }
    p->tasks = lib_tasks(groups, LIB_SCRATCH_TASKS);
    p->stride = 0;
    size_t vectors = length_vectors(&p->length[0]);
    if (p->matrix && length_vectors(&p->length[1]) > vectors)
        vectors = length_vectors(&p->length[1]);
    lane_bytes = lanes * p->k->bytes;
    return lib_reserve(&p->stride, vectors, lane_bytes, &unused) && lib_reserve(&p->stride, vectors, lane_bytes, &unused) &&
           lib_reserve(&p->bytes, p->tasks, p->stride, &p->vectors);
}

struct pass_run {
    const struct pass *p;
    const char *in;
    char *out, *scratch;
    size_t groups;
    struct fft_length length[2];
    struct fft_roots twist;
};

static char *run_buffer(const struct pass_run *r, int64_t task) {
    return r->scratch + r->p->vectors + (size_t)task * r->p->stride;
}

/* Group i of lanes: real lines in pairs. */
static void group_real(const struct pass_run *r, size_t group, void *x, void *y) {
    const struct pass *p = r->p;
    const struct fft_kernels *k = p->k;
    size_t lanes = k->lanes, half = p->n / 2 + 1, first = group * 2 * lanes, vector = 2 * lanes * k->bytes;
    size_t lines = p->outer - first < 2 * lanes ? p->outer - first : 2 * lanes, a = lines < lanes ? lines : lanes,
           b = lines - a;
    bool from = p->kind == PASS_FROM_REAL;
    const char *in = r->in + first * (from ? p->n : 2 * half) * k->bytes;
    char *out = r->out + first * (from ? 2 * half : p->n) * k->bytes;
    size_t second = lanes * half * 2 * k->bytes;
    if (from) {
        k->load_real(in, p->n, lines, p->n, x);
        void *z = length_transform(&r->length[0], k, x, y);
        char *halves = z == x ? y : x;
        k->split(z, p->n, halves);
        k->store(halves, 1, half, a, half, false, 1, out);
        k->store(halves + half * vector, 1, half, b, half, false, 1, b ? out + second : out);
    } else {
        char *halves = y;
        k->load(in, 1, half, a, half, false, halves);
        k->load(b ? in + second : in, 1, half, b, half, false, halves + half * vector);
        k->join(halves, p->n, x);
        k->store_real(length_transform(&r->length[0], k, x, y), p->n, lines, p->n, true, 1 / (double)p->n, out);
    }
}

static void group_complex(const struct pass_run *r, size_t group, void *x, void *y) {
    const struct pass *p = r->p;
    const struct fft_kernels *k = p->k;
    size_t lanes = k->lanes, along = p->inner == 1 ? p->outer : p->inner, per = (along + lanes - 1) / lanes;
    size_t first = group % per * lanes, n = along - first < lanes ? along - first : lanes;
    size_t at = p->inner == 1 ? first * p->n : group / per * p->n * p->inner + first, lane = p->inner == 1 ? p->n : 1;
    k->load(r->in + at * 2 * k->bytes, p->inner, lane, n, p->n, p->inverse, x);
    void *z = length_transform(&r->length[0], k, x, y);
    k->store(z, p->inner, lane, n, p->n, p->inverse, p->inverse ? 1 / (double)p->n : 1, r->out + at * 2 * k->bytes);
}

static void pass_task(void *user, int64_t task) {
    const struct pass_run *r = user;
    char *x = run_buffer(r, task), *y = x + r->p->stride / 2;
    size_t at, to;
    lib_part(r->groups, r->p->tasks, (size_t)task, &at, &to);
    for (; at < to; at++)
        if (r->p->kind == PASS_COMPLEX)
            group_complex(r, at, x, y);
        else
            group_real(r, at, x, y);
}

/* Columns of the matrix r->in to r->out, twisted. */
static void matrix_columns(void *user, int64_t task) {
    const struct pass_run *r = user;
    const struct pass *p = r->p;
    const struct fft_kernels *k = p->k;
    char *x = run_buffer(r, task), *y = x + p->stride / 2;
    size_t at, to, lanes = k->lanes, number = 2 * k->bytes;
    lib_part((p->columns + lanes - 1) / lanes, p->tasks, (size_t)task, &at, &to);
    for (; at < to; at++) {
        size_t column = at * lanes, n = p->columns - column < lanes ? p->columns - column : lanes;
        k->load(r->in + column * number, p->columns, 1, n, p->rows, p->inverse, x);
        char *z = length_transform(&r->length[0], k, x, y);
        for (size_t row = 1; row < p->rows; row++) {
            struct root first = roots_get(&r->twist, row * column); /* less than n */
            k->twiddle(z + row * lanes * number, first.v, r->scratch + p->twist_lanes + row * lanes * number);
        }
        k->store(z, p->columns, 1, n, p->rows, false, 1, r->out + column * number);
    }
}

/* Rows of the matrix r->in to columns of r->out. */
static void matrix_rows(void *user, int64_t task) {
    const struct pass_run *r = user;
    const struct pass *p = r->p;
    const struct fft_kernels *k = p->k;
    char *x = run_buffer(r, task), *y = x + p->stride / 2;
    size_t at, to, lanes = k->lanes, number = 2 * k->bytes, groups = (p->rows + lanes - 1) / lanes;
    lib_part(groups, p->tasks, (size_t)task, &at, &to);
    for (; at < to; at++) {
        size_t row = at * lanes, n = p->rows - row < lanes ? p->rows - row : lanes;
        k->load(r->in + row * p->columns * number, 1, p->columns, n, p->columns, false, x);
        char *z = length_transform(&r->length[1], k, x, y);
        k->store(z, p->rows, 1, n, p->columns, p->inverse, p->inverse ? 1 / (double)p->n : 1, r->out + row * number);
    }
}

/* A line of reals as complex numbers; a whole spectrum from a half; and back. */
static void matrix_widen(const struct pass *p, const char *in, char *wide) {
    size_t bytes = p->k->bytes, half = p->n / 2 + 1;
    for (size_t i = 0; i < p->n; i++) {
        double v[2] = {0, 0};
        bool mirrored = p->kind == PASS_TO_REAL && i >= half;
        size_t from = mirrored ? p->n - i : i;
        for (size_t part = 0; part < (p->kind == PASS_TO_REAL ? 2u : 1u); part++) {
            const char *at = in + (p->kind == PASS_TO_REAL ? 2 * from + part : from) * bytes;
            v[part] = bytes == 4 ? (double)*(const float *)(const void *)at : *(const double *)(const void *)at;
        }
        p->k->put_root(wide, i, v[0], mirrored ? -v[1] : v[1]);
    }
}

static void matrix_narrow(const struct pass *p, const char *wide, char *out) {
    size_t bytes = p->k->bytes;
    if (p->kind == PASS_FROM_REAL)
        memcpy(out, wide, (p->n / 2 + 1) * 2 * bytes);
    for (size_t i = 0; i < p->n && p->kind == PASS_TO_REAL; i++)
        memcpy(out + i * bytes, wide + 2 * i * bytes, bytes);
}

static void matrix_lines(struct pass_run *r, const struct lib_pool *pool) {
    const struct pass *p = r->p;
    size_t number = 2 * p->k->bytes, half = p->n / 2 + 1, lanes = p->k->lanes;
    size_t in_line = p->kind == PASS_FROM_REAL ? p->n : p->kind == PASS_TO_REAL ? 2 * half : 2 * p->n;
    size_t out_line = p->kind == PASS_FROM_REAL ? 2 * half : p->kind == PASS_TO_REAL ? p->n : 2 * p->n;
    const char *in = r->in;
    char *out = r->out, *wide = r->scratch + p->wide, *temporary = r->scratch + p->temporary;
    r->twist = roots_open(r->scratch + p->twist, p->n);
    char *twist = r->scratch + p->twist_lanes;
    for (size_t row = 0; row < p->rows; row++)
        for (size_t l = 0; l < lanes; l++) { /* as vectors: real parts, imaginary parts */
            struct root w = roots_get(&r->twist, row * l % p->n);
            char *at = twist + row * lanes * number;
            p->k->put_root(temporary, 0, w.v[0], w.v[1]);
            memcpy(at + l * p->k->bytes, temporary, p->k->bytes);
            memcpy(at + (lanes + l) * p->k->bytes, temporary + p->k->bytes, p->k->bytes);
        }
    for (size_t line = 0; line < p->outer; line++) {
        r->in = in + line * in_line * p->k->bytes;
        if (p->kind != PASS_COMPLEX) {
            matrix_widen(p, r->in, wide);
            r->in = wide;
        }
        r->out = temporary;
        lib_each(pool, (int64_t)p->tasks, matrix_columns, r);
        r->in = temporary;
        r->out = p->kind == PASS_COMPLEX ? out + line * out_line * p->k->bytes : wide;
        lib_each(pool, (int64_t)p->tasks, matrix_rows, r);
        if (p->kind != PASS_COMPLEX)
            matrix_narrow(p, wide, out + line * out_line * p->k->bytes);
    }
}

static void pass_run(const struct pass *p, const void *in, void *out, char *scratch, const struct lib_pool *pool) {
    struct pass_run r = {.p = p, .in = in, .out = out, .scratch = scratch, .length = {p->length[0], p->length[1]}};
    char *x = run_buffer(&r, 0), *y = x + p->stride / 2;
    size_t lanes = p->k->lanes, lines = p->kind == PASS_COMPLEX ? lanes : 2 * lanes;
    if (p->outer == 0 || p->inner == 0)
        return;
    for (int i = 0; i <= p->matrix; i++)
        length_open(&r.length[i], p->k, scratch, &p->layout[i], x, y);
    if (p->matrix) {
        matrix_lines(&r, pool);
        return;
    }
    r.groups = p->inner == 1 ? (p->outer + lines - 1) / lines : p->outer * ((p->inner + lanes - 1) / lanes);
    lib_each(pool, (int64_t)p->tasks, pass_task, &r);
}

/* ---- the op -----------------------------------------------------------------------------------------------------------------
 */

enum { FFT_MOST_DIMS = 3 };

struct fft_op {
    int64_t type;
    bool wide;
    uint32_t ndims;
    size_t batch, length[FFT_MOST_DIMS];
    struct pass pass[FFT_MOST_DIMS];
    size_t between, bytes; /* scratch: spectrum between passes, all */
};

static bool fft_plan(struct fft_op *f) {
    bool inverse = f->type == IR_FFT_TYPE_IFFT || f->type == IR_FFT_TYPE_IRFFT, to_real = f->type == IR_FFT_TYPE_IRFFT;
    bool real = to_real || f->type == IR_FFT_TYPE_RFFT;
    size_t last = f->length[f->ndims - 1], width = real ? last / 2 + 1 : last, most = 0, total = f->batch * width;
    for (uint32_t i = 0; i < f->ndims; i++) { /* the last dimension first, or last where reals come out */
        uint32_t d = to_real ? (i + 1 < f->ndims ? i : f->ndims - 1) : f->ndims - 1 - i;
        struct pass *p = &f->pass[i];
        *p = (struct pass){.n = f->length[d], .outer = f->batch, .inner = 1, .inverse = inverse};
        for (uint32_t k = 0; k < f->ndims; k++) {
            size_t n = k + 1 == f->ndims ? width : f->length[k];
            if (!mem_mul(k < d ? p->outer : k > d ? p->inner : 1, n, k < d ? &p->outer : k > d ? &p->inner : &(size_t){0}))
                return false;
        }
        if (d + 1 == f->ndims && real)
            p->kind = to_real ? PASS_TO_REAL : PASS_FROM_REAL;
        if (d + 1 < f->ndims && !mem_mul(total, f->length[d], &total))
            return false;
        if (p->n == 0 || !pass_plan(p, f->wide))
            return false;
        most = p->bytes > most ? p->bytes : most;
    }
    f->bytes = most;
    return lib_reserve(&f->bytes, to_real && f->ndims > 1 ? total : 0, f->wide ? 16 : 8, &f->between);
}

/* Before anything is planned: sizes that fit memory cannot overflow. */
static hilo_status fft_check(const struct fft_op *f, const struct lib_sizes *have) {
    size_t last = f->length[f->ndims - 1], number = f->wide ? sizeof(double) : sizeof(float), lines = f->batch;
    bool from_real = f->type == IR_FFT_TYPE_RFFT, to_real = f->type == IR_FFT_TYPE_IRFFT;
    for (uint32_t i = 0; i + 1 < f->ndims; i++)
        lines = lib_times(lines, f->length[i]);
    size_t real = lib_times(lib_times(lines, last), number);
    size_t complex = lib_times(lib_times(lines, from_real || to_real ? last / 2 + 1 : last), 2 * number);
    return lib_checked(have, 1, 1, (const size_t[]){from_real ? real : complex, to_real ? real : complex}, 0);
}

hilo_status lib_fft(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct fft_op f = {.type = lib_get(&r), .wide = lib_get(&r) != 0};
    f.ndims = (uint32_t)lib_get_size(&r, FFT_MOST_DIMS);
    f.batch = lib_get_size(&r, PTRDIFF_MAX);
    for (uint32_t i = 0; i < f.ndims; i++)
        f.length[i] = lib_get_size(&r, PTRDIFF_MAX);
    if (r.short_ || f.ndims == 0 || (c->check && fft_check(&f, c->check) != HILO_OK) || !fft_plan(&f))
        return HILO_INVALID_ARGUMENT;
    if (c->check)
        return f.bytes <= c->check->scratch ? HILO_OK : HILO_INVALID_ARGUMENT;
    const void *from = c->in[0];
    for (uint32_t i = 0; i < f.ndims; i++) {
        bool between = f.type == IR_FFT_TYPE_IRFFT && i + 1 < f.ndims;
        void *to = between ? (char *)c->scratch + f.between : c->out[0];
        pass_run(&f.pass[i], from, to, c->scratch, c->pool);
        from = to;
    }
    return HILO_OK;
}

bool lib_match_fft(const struct ir_module *m, ir_op op, struct lib_match *out) {
    size_t ndims;
    if (ir_kind(m, op) != IR_FFT || !lib_tensors(m, op))
        return false;
    const int64_t *length = ir_prop_i64s(m, op, IR_FFT_fft_length, &ndims);
    const struct ir_type_data *in = ir_val_type(m, ir_operand(m, op, 0)), *result = ir_val_type(m, ir_result(m, op, 0));
    struct fft_op f = {.type = ir_prop_i64(m, op, IR_FFT_fft_type), .ndims = (uint32_t)ndims, .batch = 1};
    bool from_real = f.type == IR_FFT_TYPE_RFFT, to_real = f.type == IR_FFT_TYPE_IRFFT;
    f.wide = in->dtype == IR_F64_T || in->dtype == IR_C128_T;
    enum ir_dtype real = f.wide ? IR_F64_T : IR_F32_T, complex = f.wide ? IR_C128_T : IR_C64_T;
    if (ndims == 0 || ndims > FFT_MOST_DIMS || in->rank < ndims || in->dtype != (from_real ? real : complex) ||
        result->dtype != (to_real ? real : complex))
        return false;
    f.batch = lib_product(in->dims, 0, in->rank - f.ndims);
    double total = (double)f.batch;
    bool fits = lib_put(out, f.type) && lib_put(out, f.wide) && lib_put(out, f.ndims) && lib_put(out, (int64_t)f.batch);
    for (uint32_t i = 0; i < f.ndims; i++) {
        f.length[i] = (size_t)length[i];
        total *= (double)length[i];
        fits = fits && length[i] > 0 && lib_put(out, length[i]);
    }
    if (!fits || !fft_plan(&f))
        return false;
    out->scratch_bytes = f.bytes;
    out->ns = total * (2 + 0.3 * log2(total + 1));
    return true;
}
