/* cholesky and triangular_solve.
 *
 * Real matrices are worked on in blocks, in their own type; tasks have columns of a solve, or rows of a factor, for themselves,
 * and what a task computes does not depend on how many there are. Complex ones follow the definition, in double. */
#include "library/routine.h"

#include <math.h>
#if LIB_X86
#include <immintrin.h>
#endif

enum { LINALG_ROWS = 6, LINALG_BLOCK = 64 };

/* The kernels of a type: linalg_real.h. */
struct linalg {
    size_t bytes, width;
    void (*solve)(const void *matrix, ptrdiff_t rs, ptrdiff_t cs, size_t n, bool unit, void *panel);
    void (*pack)(const void *from, ptrdiff_t rs, ptrdiff_t cs, size_t n, size_t lanes, void *panel);
    void (*unpack)(const void *panel, ptrdiff_t rs, ptrdiff_t cs, size_t n, size_t lanes, void *to);
    void (*factor)(void *matrix, size_t n, size_t ld);
    void (*below)(const void *diagonal, void *rows, size_t n, size_t ld, size_t from, size_t to, void *panels);
    void (*update)(const void *rows, const void *panels, void *trailing, size_t n, size_t ld, size_t from, size_t to);
};

typedef float v8f __attribute__((vector_size(32)));
typedef float u8f __attribute__((vector_size(32), aligned(4), may_alias));
typedef double v4d __attribute__((vector_size(32)));
typedef double u4d __attribute__((vector_size(32), aligned(8), may_alias));

#define f32_plain_sqrt sqrtf
#define f32_avx2_sqrt  sqrtf
#define f64_plain_sqrt sqrt
#define f64_avx2_sqrt  sqrt

#define T       float
#define V       v8f
#define U       u8f
#define NAME(x) f32_plain_##x
#define TARGET
#define MADD(a, b, c) ((c) - (a) * (b))
#define SPLAT(x)      ((x) - (v8f){0})
#include "library/linalg_real.h"

#define T       double
#define V       v4d
#define U       u4d
#define NAME(x) f64_plain_##x
#define TARGET
#define MADD(a, b, c) ((c) - (a) * (b))
#define SPLAT(x)      ((x) - (v4d){0})
#include "library/linalg_real.h"

#if LIB_X86
#define T             float
#define V             v8f
#define U             u8f
#define NAME(x)       f32_avx2_##x
#define TARGET        LIB_AVX2_FMA
#define MADD(a, b, c) ((v8f)_mm256_fnmadd_ps((a), (b), (c)))
#define SPLAT(x)      ((v8f)_mm256_set1_ps(x))
#include "library/linalg_real.h"

#define T             double
#define V             v4d
#define U             u4d
#define NAME(x)       f64_avx2_##x
#define TARGET        LIB_AVX2_FMA
#define MADD(a, b, c) ((v4d)_mm256_fnmadd_pd((a), (b), (c)))
#define SPLAT(x)      ((v4d)_mm256_set1_pd(x))
#include "library/linalg_real.h"
#endif

/* NULL for types that have none. */
static const struct linalg *linalg_of(enum ir_dtype t) {
#if LIB_X86
    if (lib_has_avx2() && lib_has_fma())
        return t == IR_F32_T ? &f32_avx2_linalg : t == IR_F64_T ? &f64_avx2_linalg : NULL;
#endif
    return t == IR_F32_T ? &f32_plain_linalg : t == IR_F64_T ? &f64_plain_linalg : NULL;
}

/* ---- complex numbers ------------------------------------------------------------------------------------------------ */

struct complex_double {
    double re, im;
};
typedef struct complex_double num;

/* Element i of complex<f32> or complex<f64>. */
static num num_load(const void *p, size_t i, bool single) {
    const float *f = (const float *)p + 2 * i;
    const double *d = (const double *)p + 2 * i;
    return single ? (num){f[0], f[1]} : (num){d[0], d[1]};
}
static void num_store(void *p, size_t i, bool single, num x) {
    if (single) {
        ((float *)p)[2 * i] = (float)x.re;
        ((float *)p)[2 * i + 1] = (float)x.im;
    } else {
        ((double *)p)[2 * i] = x.re;
        ((double *)p)[2 * i + 1] = x.im;
    }
}
static num num_conj(num a, bool conjugate) {
    return (num){a.re, conjugate ? -a.im : a.im};
}
static num num_mul(num a, num b) {
    return (num){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static num num_sub(num a, num b) {
    return (num){a.re - b.re, a.im - b.im};
}
static num num_div(num a, num b) {
    if (b.im == 0)
        return (num){a.re / b.re, a.im / b.re};
    num c = num_mul(a, num_conj(b, true));
    double norm = b.re * b.re + b.im * b.im;
    return (num){c.re / norm, c.im / norm};
}

/* ---- triangular_solve ----------------------------------------------------------------------------------------------- */

struct solve {
    const struct lib_call *c;
    const struct linalg *k; /* NULL: complex */
    enum ir_dtype dtype;
    size_t batches, n, rows, cols, columns; /* columns: right-hand sides */
    bool left, lower, unit, transpose, conjugate;
    size_t bytes, groups, tasks, stride; /* groups of columns of a batch; scratch of a task */
};

/* op(a) as a lower triangular matrix, and b: the order of rows is reversed where the last one comes first. */
struct solve_view {
    const char *a;
    const char *b;
    char *out;
    ptrdiff_t a_row, a_column, b_row, b_column; /* in elements */
};

static struct solve_view solve_view(const struct solve *s, size_t batch) {
    size_t a = batch * s->n * s->n, b = batch * s->rows * s->cols;
    ptrdiff_t n = (ptrdiff_t)s->n, cols = (ptrdiff_t)s->cols;
    bool transpose = s->transpose == s->left; /* x op(a) = b is op(a)ᵀ xᵀ = bᵀ */
    struct solve_view v = {
        .a_row = transpose ? 1 : n, .a_column = transpose ? n : 1, .b_row = s->left ? cols : 1, .b_column = s->left ? 1 : cols};
    if (s->lower == transpose) { /* op(a) is upper triangular */
        a += (size_t)((n - 1) * (n + 1));
        b += (size_t)((n - 1) * v.b_row);
        v.a_row = -v.a_row;
        v.a_column = -v.a_column;
        v.b_row = -v.b_row;
    }
    v.a = (const char *)s->c->in[0] + a * s->bytes;
    v.b = (const char *)s->c->in[1] + b * s->bytes;
    v.out = (char *)s->c->out[0] + b * s->bytes;
    return v;
}

static void solve_complex(const struct solve *s, const struct solve_view *v, size_t column, num *x) {
    bool single = s->dtype == IR_C64_T;
    ptrdiff_t from = (ptrdiff_t)column * v->b_column;
    for (size_t i = 0; i < s->n; i++) {
        const char *row = v->a + (ptrdiff_t)i * v->a_row * (ptrdiff_t)s->bytes;
        ptrdiff_t at = (from + (ptrdiff_t)i * v->b_row) * (ptrdiff_t)s->bytes, step = v->a_column * (ptrdiff_t)s->bytes;
        num sum = num_load(v->b + at, 0, single);
        for (size_t j = 0; j < i; j++)
            sum = num_sub(sum, num_mul(num_conj(num_load(row + (ptrdiff_t)j * step, 0, single), s->conjugate), x[j]));
        x[i] = s->unit ? sum : num_div(sum, num_conj(num_load(row + (ptrdiff_t)i * step, 0, single), s->conjugate));
        num_store(v->out + at, 0, single, x[i]);
    }
}

static void solve_task(void *user, int64_t task) {
    const struct solve *s = user;
    char *panel = (char *)s->c->scratch + (size_t)task * s->stride;
    size_t width = s->k ? s->k->width : 1, at, to;
    lib_part(s->batches * s->groups, s->tasks, (size_t)task, &at, &to);
    for (; at < to; at++) {
        struct solve_view v = solve_view(s, at / s->groups);
        size_t column = at % s->groups * width, lanes = s->columns - column < width ? s->columns - column : width;
        if (!s->k) {
            solve_complex(s, &v, column, (num *)(void *)panel);
            continue;
        }
        ptrdiff_t from = (ptrdiff_t)column * v.b_column * (ptrdiff_t)s->bytes;
        s->k->pack(v.b + from, v.b_row, v.b_column, s->n, lanes, panel);
        s->k->solve(v.a, v.a_row, v.a_column, s->n, s->unit, panel);
        s->k->unpack(panel, v.b_row, v.b_column, s->n, lanes, v.out + from);
    }
}

static bool linalg_dtype(enum ir_dtype t) {
    return t == IR_F32_T || t == IR_F64_T || t == IR_C64_T || t == IR_C128_T;
}

static bool solve_layout(struct solve *s) {
    size_t unused, panels;
    if (!linalg_dtype(s->dtype))
        return false;
    s->k = linalg_of(s->dtype);
    s->bytes = ir_dtype_get(s->dtype)->bytes;
    s->columns = s->left ? s->cols : s->rows;
    size_t width = s->k ? s->k->width : 1;
    s->groups = s->columns / width + (s->columns % width != 0);
    if (!mem_mul(s->batches, s->groups, &panels) || (s->left ? s->rows : s->cols) != s->n)
        return false;
    s->tasks = lib_tasks(panels, LIB_SCRATCH_TASKS);
    s->stride = 0;
    return lib_reserve(&s->stride, s->n, s->k ? s->bytes * s->k->width : sizeof(num), &unused);
}

hilo_status lib_triangular_solve(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct solve s = {.c = c, .dtype = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1)};
    s.batches = lib_get_size(&r, PTRDIFF_MAX);
    s.n = lib_get_size(&r, PTRDIFF_MAX);
    s.rows = lib_get_size(&r, PTRDIFF_MAX);
    s.cols = lib_get_size(&r, PTRDIFF_MAX);
    s.left = lib_get(&r) != 0;
    s.lower = lib_get(&r) != 0;
    s.unit = lib_get(&r) != 0;
    s.transpose = lib_get(&r) != 0;
    s.conjugate = lib_get(&r) != 0;
    if (r.short_ || !solve_layout(&s))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t a = lib_times(lib_times(lib_times(s.n, s.n), s.batches), s.bytes);
        const size_t b = lib_times(lib_times(lib_times(s.rows, s.cols), s.batches), s.bytes);
        return lib_checked(c->check, 2, 1, (const size_t[]){a, b, b}, lib_times(s.stride, s.tasks));
    }
    if (s.n)
        lib_each(c->pool, (int64_t)s.tasks, solve_task, &s);
    return HILO_OK;
}

bool lib_match_triangular_solve(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_TRIANGULAR_SOLVE || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *a = ir_val_type(m, ir_operand(m, op, 0)), *b = ir_val_type(m, ir_operand(m, op, 1));
    int64_t how = ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_transpose_a);
    struct solve s = {.dtype = a->dtype};
    if (a->rank < 2 || b->rank != a->rank || b->dtype != a->dtype || ir_val_type(m, ir_result(m, op, 0))->dtype != a->dtype)
        return false;
    s.batches = lib_product(b->dims, 0, b->rank - 2);
    s.n = (size_t)a->dims[a->rank - 1];
    s.rows = (size_t)b->dims[b->rank - 2];
    s.cols = (size_t)b->dims[b->rank - 1];
    s.left = ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_left_side) != 0;
    if (!solve_layout(&s) || !mem_mul(s.stride, s.tasks, &out->scratch_bytes))
        return false;
    out->ns = 0.1 * (double)s.batches * (double)s.n * (double)s.n * (double)s.columns;
    return lib_put(out, a->dtype) && lib_put(out, (int64_t)s.batches) && lib_put(out, (int64_t)s.n) &&
           lib_put(out, (int64_t)s.rows) && lib_put(out, (int64_t)s.cols) && lib_put(out, s.left) &&
           lib_put(out, ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_lower) != 0) &&
           lib_put(out, ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_unit_diagonal) != 0) &&
           lib_put(out, how == IR_TRANSPOSE_TRANSPOSE || how == IR_TRANSPOSE_ADJOINT) &&
           lib_put(out, how == IR_TRANSPOSE_ADJOINT);
}

/* ---- cholesky ------------------------------------------------------------------------------------------------------- */

struct cholesky {
    const struct lib_call *c;
    const struct linalg *k; /* NULL: complex */
    enum ir_dtype dtype;
    size_t batches, n, bytes;
    bool lower;
    const struct lib_pool *pool; /* NULL: batches are tasks */
    size_t tasks, stride;        /* of batches; scratch of a task */
    /* of the block column being worked on */
    char *l, *panels;
    size_t at, block, rest, parts;
};

/* Rows of part i of what is below the block: multiples of the panels' width; later rows are longer, so that parts are small. */
static void cholesky_rows(const struct cholesky *s, size_t i, size_t *from, size_t *to) {
    size_t panels = (s->rest + s->k->width - 1) / s->k->width;
    lib_part(panels, s->parts, i, from, to);
    *from *= s->k->width;
    *to = *to * s->k->width < s->rest ? *to * s->k->width : s->rest;
}

static void cholesky_below(void *user, int64_t part) {
    const struct cholesky *s = user;
    size_t from, to;
    cholesky_rows(s, (size_t)part, &from, &to);
    char *diagonal = s->l + s->at * (s->n + 1) * s->bytes;
    s->k->below(diagonal, diagonal + s->block * s->n * s->bytes, s->block, s->n, from, to, s->panels);
}

static void cholesky_update(void *user, int64_t part) {
    const struct cholesky *s = user;
    size_t from, to;
    cholesky_rows(s, (size_t)part, &from, &to);
    char *rows = s->l + ((s->at + s->block) * s->n + s->at) * s->bytes;
    s->k->update(rows, s->panels, rows + s->block * s->bytes, s->block, s->n, from, to);
}

/* Right-looking, in place: the diagonal block, the panel below it, then the trailing matrix. */
static void cholesky_factor(struct cholesky *s) {
    for (s->at = 0; s->at < s->n; s->at += LINALG_BLOCK) {
        s->block = s->n - s->at < LINALG_BLOCK ? s->n - s->at : LINALG_BLOCK;
        s->rest = s->n - s->at - s->block;
        s->parts = lib_tasks(s->rest / s->k->width + 1, LIB_TASKS);
        s->k->factor(s->l + s->at * (s->n + 1) * s->bytes, s->block, s->n);
        if (s->rest) {
            lib_each(s->pool, (int64_t)s->parts, cholesky_below, s);
            lib_each(s->pool, (int64_t)s->parts, cholesky_update, s);
        }
    }
}

/* By the definition (Cholesky–Banachiewicz), in `l`. */
static void cholesky_complex(size_t n, num *l) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            num s = l[i * n + j];
            for (size_t k = 0; k < j; k++)
                s = num_sub(s, num_mul(l[i * n + k], num_conj(l[j * n + k], true)));
            l[i * n + j] = i == j ? (num){sqrt(s.re), 0} : num_div(s, l[j * n + j]);
        }
}

/* Element (i, j) of the lower factor is the conjugate of element (j, i) of the upper one. */
static void cholesky_complex_batch(const struct cholesky *s, size_t batch, num *l) {
    bool single = s->dtype == IR_C64_T;
    size_t n = s->n, base = batch * n * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            l[i * n + j] = num_conj(num_load(s->c->in[0], base + (s->lower ? i * n + j : j * n + i), single), !s->lower);
    cholesky_complex(n, l);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            bool inside = s->lower ? j <= i : i <= j;
            num x = inside ? num_conj(l[s->lower ? i * n + j : j * n + i], !s->lower) : (num){0, 0};
            num_store(s->c->out[0], base + i * n + j, single, x);
        }
}

/* The triangle of one matrix into the lower one of another, whose upper triangle is zero; either may be transposed. */
static void cholesky_triangle(const char *from, bool from_upper, char *to, bool to_upper, size_t n, size_t bytes) {
    memset(to, 0, n * n * bytes);
    for (size_t i = 0; i < n; i++) {
        if (!from_upper && !to_upper) {
            memcpy(to + i * n * bytes, from + i * n * bytes, (i + 1) * bytes);
            continue;
        }
        for (size_t j = 0; j <= i; j++)
            memcpy(to + (to_upper ? j * n + i : i * n + j) * bytes, from + (from_upper ? j * n + i : i * n + j) * bytes, bytes);
    }
}

static void cholesky_task(void *user, int64_t task) {
    const struct cholesky *call = user;
    struct cholesky s = *call;
    char *scratch = (char *)s.c->scratch + (size_t)task * s.stride;
    size_t at, to, size = s.n * s.n * s.bytes;
    lib_part(s.batches, s.tasks, (size_t)task, &at, &to);
    for (; at < to; at++) {
        const char *in = (const char *)s.c->in[0] + at * size;
        char *out = (char *)s.c->out[0] + at * size;
        if (!s.k) {
            cholesky_complex_batch(&s, at, (num *)(void *)scratch);
            continue;
        }
        s.panels = scratch;
        s.l = s.lower ? out : scratch + (s.stride - ((size + 63) & ~(size_t)63));
        cholesky_triangle(in, !s.lower, s.l, false, s.n, s.bytes);
        cholesky_factor(&s);
        if (!s.lower)
            cholesky_triangle(s.l, false, out, true, s.n, s.bytes);
    }
}

static bool cholesky_layout(struct cholesky *s) {
    size_t unused, square, whole;
    if (!linalg_dtype(s->dtype) || !mem_mul(s->n, s->n, &square))
        return false;
    s->k = linalg_of(s->dtype);
    s->bytes = ir_dtype_get(s->dtype)->bytes;
    s->tasks = lib_tasks(s->batches, LIB_SCRATCH_TASKS);
    if (s->batches < 4 && s->n >= 2 * LINALG_BLOCK)
        s->tasks = 1; /* the pool works on one matrix */
    s->stride = 0;
    if (!s->k)
        return lib_reserve(&s->stride, square, sizeof(num), &unused);
    return mem_add(s->n, 2 * s->k->width, &whole) && lib_reserve(&s->stride, whole, LINALG_BLOCK * s->bytes, &unused) &&
           lib_reserve(&s->stride, s->lower ? 0 : square, s->bytes, &unused);
}

hilo_status lib_cholesky(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct cholesky s = {.c = c, .dtype = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1)};
    s.batches = lib_get_size(&r, PTRDIFF_MAX);
    s.n = lib_get_size(&r, PTRDIFF_MAX);
    s.lower = lib_get(&r) != 0;
    if (r.short_ || !cholesky_layout(&s))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t all = lib_times(lib_times(lib_times(s.n, s.n), s.batches), s.bytes);
        return lib_checked(c->check, 1, 1, (const size_t[]){all, all}, lib_times(s.stride, s.tasks));
    }
    s.pool = s.tasks == 1 ? c->pool : NULL;
    if (s.n)
        lib_each(c->pool, (int64_t)s.tasks, cholesky_task, &s);
    return HILO_OK;
}

bool lib_match_cholesky(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_CHOLESKY || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *a = ir_val_type(m, ir_operand(m, op, 0));
    struct cholesky s = {.dtype = a->dtype, .lower = ir_prop_i64(m, op, IR_CHOLESKY_lower) != 0};
    if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2] || ir_val_type(m, ir_result(m, op, 0))->dtype != a->dtype)
        return false;
    s.batches = lib_product(a->dims, 0, a->rank - 2);
    s.n = (size_t)a->dims[a->rank - 1];
    if (!cholesky_layout(&s) || !mem_mul(s.stride, s.tasks, &out->scratch_bytes))
        return false;
    out->ns = 0.1 * (double)s.batches * (double)s.n * (double)s.n * (double)s.n;
    return lib_put(out, a->dtype) && lib_put(out, (int64_t)s.batches) && lib_put(out, (int64_t)s.n) && lib_put(out, s.lower);
}
