/* OpenBLAS, with the LAPACK that it has: products of matrices, Cholesky factors, triangular solves. The interfaces are those of
 * the BLAS's C bindings (Basic Linear Algebra Subprograms Technical Forum Standard, 2001, appendix B) and of LAPACK's ?potrf.
 *
 * Work is split by shape, and each part is calls on one thread. OpenBLAS's own threads are set to one when it is opened, for
 * the whole process; a build of it with OpenMP follows OpenMP's settings of the calling thread. */
#include "external/external.h"
#include "library/dot.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, ADJOINT = 113, UPPER = 121, LOWER = 122, NON_UNIT = 131, UNIT = 132 };
enum { LEFT = 141, RIGHT = 142 };
enum {
    BLAS_TILE_ROWS = 256,
    BLAS_TILE_COLUMNS = 512,
    BLAS_LEAST = 1 << 12, /* multiplications that are worth a call */
    BLAS_BLOCK = 128,     /* columns of a factor, right-hand sides of a solve, that are worked on at once */
    BLAS_TYPES = 4 /* f32, f64, c64, c128 */
};

/* Scalars of the real products are passed as they are, of the complex ones by address. */
typedef void gemm_f32(int order, int ta, int tb, int m, int n, int k, float alpha, const void *a, int lda, const void *b,
                      int ldb, float beta, void *c, int ldc);
typedef void gemm_f64(int order, int ta, int tb, int m, int n, int k, double alpha, const void *a, int lda, const void *b,
                      int ldb, double beta, void *c, int ldc);
typedef void gemm_complex(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda,
                          const void *b, int ldb, const void *beta, void *c, int ldc);
typedef void trsm_f32(int order, int side, int uplo, int ta, int diag, int m, int n, float alpha, const void *a, int lda,
                      void *b, int ldb);
typedef void trsm_f64(int order, int side, int uplo, int ta, int diag, int m, int n, double alpha, const void *a, int lda,
                      void *b, int ldb);
typedef void trsm_complex(int order, int side, int uplo, int ta, int diag, int m, int n, const void *alpha, const void *a,
                          int lda, void *b, int ldb);
typedef void potrf(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t uplo_length);

struct blas {
    gemm_f32 *sgemm;
    gemm_f64 *dgemm;
    gemm_complex *cgemm, *zgemm;
    trsm_f32 *strsm;
    trsm_f64 *dtrsm;
    trsm_complex *ctrsm, *ztrsm;
    potrf *potrf[BLAS_TYPES];
    void (*set_num_threads)(int n);
    char *(*get_config)(void);
    struct ext_omp omp;
};

static const struct ext_function blas_functions[] = {
    {"cblas_sgemm", offsetof(struct blas, sgemm), false},
    {"cblas_dgemm", offsetof(struct blas, dgemm), false},
    {"cblas_cgemm", offsetof(struct blas, cgemm), false},
    {"cblas_zgemm", offsetof(struct blas, zgemm), false},
    {"cblas_strsm", offsetof(struct blas, strsm), false},
    {"cblas_dtrsm", offsetof(struct blas, dtrsm), false},
    {"cblas_ctrsm", offsetof(struct blas, ctrsm), false},
    {"cblas_ztrsm", offsetof(struct blas, ztrsm), false},
    {"spotrf_", offsetof(struct blas, potrf[0]), true}, /* a build may lack LAPACK */
    {"dpotrf_", offsetof(struct blas, potrf[1]), true},
    {"cpotrf_", offsetof(struct blas, potrf[2]), true},
    {"zpotrf_", offsetof(struct blas, potrf[3]), true},
    {"openblas_set_num_threads", offsetof(struct blas, set_num_threads), false},
    {"openblas_get_config", offsetof(struct blas, get_config), false},
    EXT_OMP(struct blas, omp),
};

static struct {
    pthread_once_t once;
    struct blas table;
    struct ext_opened opened;
} blas_state = {.once = PTHREAD_ONCE_INIT};

static void blas_open(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    const struct blas *b = &blas_state.table;
    if (!ext_open("HILO_OPENBLAS_PATH", names, blas_functions, sizeof blas_functions / sizeof *blas_functions,
                  &blas_state.table, &blas_state.opened))
        return;
    b->set_num_threads(1);
    snprintf(blas_state.opened.version, sizeof blas_state.opened.version, "%s", b->get_config());
}

const struct ext_opened *ext_open_openblas(void) {
    pthread_once(&blas_state.once, blas_open);
    return &blas_state.opened;
}

static const struct blas *blas_get(void) {
    return *ext_open_openblas()->why ? NULL : &blas_state.table;
}

/* The number of a type; BLAS_TYPES for what it has none for. */
static unsigned blas_type(enum ir_dtype t) {
    return t == IR_F32_T ? 0 : t == IR_F64_T ? 1 : t == IR_C64_T ? 2 : t == IR_C128_T ? 3 : BLAS_TYPES;
}

static const float blas_f32[][2] = {{-1, 0}, {0, 0}, {1, 0}};
static const double blas_f64[][2] = {{-1, 0}, {0, 0}, {1, 0}};

/* c = alpha op(a) op(b) + beta c, rows one after the other; alpha and beta are -1, 0 or 1. */
static void blas_gemm(const struct blas *l, unsigned type, int ta, int tb, int m, int n, int k, int alpha, const void *a,
                      int lda, const void *b, int ldb, int beta, void *c, int ldc) {
    switch (type) {
    case 0:
        l->sgemm(ROW_MAJOR, ta, tb, m, n, k, (float)alpha, a, lda, b, ldb, (float)beta, c, ldc);
        break;
    case 1:
        l->dgemm(ROW_MAJOR, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        break;
    case 2:
        l->cgemm(ROW_MAJOR, ta, tb, m, n, k, blas_f32[alpha + 1], a, lda, b, ldb, blas_f32[beta + 1], c, ldc);
        break;
    default:
        l->zgemm(ROW_MAJOR, ta, tb, m, n, k, blas_f64[alpha + 1], a, lda, b, ldb, blas_f64[beta + 1], c, ldc);
    }
}

/* b = op(a)⁻¹ b or b op(a)⁻¹. */
static void blas_trsm(const struct blas *l, unsigned type, int side, int uplo, int ta, int diag, int m, int n, const void *a,
                      int lda, void *b, int ldb) {
    switch (type) {
    case 0:
        l->strsm(ROW_MAJOR, side, uplo, ta, diag, m, n, 1, a, lda, b, ldb);
        break;
    case 1:
        l->dtrsm(ROW_MAJOR, side, uplo, ta, diag, m, n, 1, a, lda, b, ldb);
        break;
    case 2:
        l->ctrsm(ROW_MAJOR, side, uplo, ta, diag, m, n, blas_f32[2], a, lda, b, ldb);
        break;
    default:
        l->ztrsm(ROW_MAJOR, side, uplo, ta, diag, m, n, blas_f64[2], a, lda, b, ldb);
    }
}

/* ---- products --------------------------------------------------------------------------------- */

/* A side as the BLAS sees it: rows of this many elements from one to the next, or columns where it is transposed. */
struct blas_side {
    int transposed, step;
};

struct blas_dot {
    const struct blas *blas;
    const struct lib_call *c;
    struct dot_axes x;
    struct blas_side a, b;
    unsigned type;
    size_t bytes;        /* of an element */
    size_t across, down; /* tiles of a product */
};

/* Strides of rows and columns; of a dimension that has one element, or none, any do. */
static bool blas_side(int64_t row, int64_t nrows, int64_t column, int64_t ncolumns, struct blas_side *out) {
    bool plain = column == 1 || ncolumns <= 1, transposed = row == 1 || nrows <= 1;
    if (plain && (row >= ncolumns || nrows <= 1)) {
        int64_t step = nrows <= 1 || row < ncolumns ? ncolumns : row;
        *out = (struct blas_side){PLAIN, (int)(step < 1 ? 1 : step)};
        return step <= INT_MAX;
    }
    if (transposed && column >= nrows) {
        *out = (struct blas_side){TRANSPOSED, (int)(column < 1 ? 1 : column)};
        return column <= INT_MAX;
    }
    return false;
}

static int64_t blas_stride(const struct dot_dims *d, bool left) {
    return d->n == 0 ? 1 : left ? d->dim[0].a : d->dim[0].b;
}

/* Rows, columns and depth of one stride each, which the BLAS's numbers can hold. */
static bool blas_plan(struct blas_dot *v) {
    struct dot_axes *x = &v->x;
    v->type = blas_type(x->in);
    if (v->type == BLAS_TYPES || x->rows.n > 1 || x->columns.n > 1 || x->depth.n > 1 || x->rows.count > INT_MAX ||
        x->columns.count > INT_MAX || x->depth.count > INT_MAX)
        return false;
    int64_t m = (int64_t)x->rows.count, n = (int64_t)x->columns.count, k = (int64_t)x->depth.count;
    v->bytes = ir_dtype_get(x->in)->bytes;
    v->down = (x->rows.count + BLAS_TILE_ROWS - 1) / BLAS_TILE_ROWS;
    v->across = (x->columns.count + BLAS_TILE_COLUMNS - 1) / BLAS_TILE_COLUMNS;
    return blas_side(blas_stride(&x->rows, true), m, blas_stride(&x->depth, true), k, &v->a) &&
           blas_side(blas_stride(&x->depth, false), k, blas_stride(&x->columns, false), n, &v->b);
}

static void blas_tile(void *user, int64_t i) {
    const struct blas_dot *v = user;
    size_t tiles = v->down * v->across, group = (size_t)i / tiles, tile = (size_t)i % tiles;
    size_t row = tile / v->across * BLAS_TILE_ROWS, column = tile % v->across * BLAS_TILE_COLUMNS;
    size_t m = v->x.rows.count - row, n = v->x.columns.count - column;
    int64_t a, b;
    dims_at(&v->x.batch, group, &a, &b);
    a += (int64_t)row * (v->x.rows.n ? v->x.rows.dim[0].a : 0);
    b += (int64_t)column * (v->x.columns.n ? v->x.columns.dim[0].b : 0);
    size_t c = (group * v->x.rows.count + row) * v->x.columns.count + column;
    int threads = ext_omp_begin(&v->blas->omp);
    blas_gemm(v->blas, v->type, v->a.transposed, v->b.transposed, (int)(m < BLAS_TILE_ROWS ? m : BLAS_TILE_ROWS),
              (int)(n < BLAS_TILE_COLUMNS ? n : BLAS_TILE_COLUMNS), (int)v->x.depth.count, 1,
              (const char *)v->c->in[0] + (size_t)a * v->bytes, v->a.step, (const char *)v->c->in[1] + (size_t)b * v->bytes,
              v->b.step, 0, (char *)v->c->out[0] + c * v->bytes, (int)v->x.columns.count);
    ext_omp_end(&v->blas->omp, threads);
}

bool ext_openblas_dot_general_can(struct lib_match *out) {
    struct blas_dot v = {0};
    if (!blas_get() || !dot_read(out->params, out->nparams, &v.x) || !blas_plan(&v))
        return false;
    double work = (double)v.x.batch.count * (double)v.x.rows.count * (double)v.x.columns.count * (double)v.x.depth.count;
    out->alone = v.x.batch.count * v.down * v.across == 1;
    out->ns = 0.02 * work;
    return work >= BLAS_LEAST;
}

/* There is nothing to prepare but a look at whether it is there. */
#define BLAS_PREPARED(routine)                                                       \
    void *ext_openblas_##routine##_prepare(const struct lib_match *match) {          \
        (void)match;                                                                 \
        return blas_get() ? &blas_state.table : NULL;                                \
    }                                                                                \
    void ext_openblas_##routine##_release(void *state) {                             \
        (void)state;                                                                 \
    }

BLAS_PREPARED(dot_general)

hilo_status ext_openblas_dot_general_run(void *state, const struct lib_call *c) {
    struct blas_dot v = {.blas = state, .c = c};
    if (!dot_read(c->params, c->nparams, &v.x) || !blas_plan(&v))
        return HILO_INVALID_ARGUMENT;
    lib_each(c->pool, (int64_t)(v.x.batch.count * v.down * v.across), blas_tile, &v);
    return HILO_OK;
}

/* ---- triangular_solve ------------------------------------------------------------------------- */

struct blas_solve {
    const struct blas *blas;
    const struct lib_call *c;
    unsigned type;
    size_t bytes, batches, n, rows, cols;
    int side, uplo, transposed, diag;
    size_t columns, parts; /* right-hand sides; parts of them */
};

static bool solve_read(const int64_t *params, uint32_t nparams, struct blas_solve *s) {
    struct lib_reader r = lib_reader_of(params, nparams);
    enum ir_dtype t = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    s->type = blas_type(t);
    s->bytes = ir_dtype_get(t)->bytes;
    s->batches = lib_get_size(&r, PTRDIFF_MAX);
    s->n = lib_get_size(&r, INT_MAX);
    s->rows = lib_get_size(&r, INT_MAX);
    s->cols = lib_get_size(&r, INT_MAX);
    bool left = lib_get(&r) != 0;
    s->side = left ? LEFT : RIGHT;
    s->uplo = lib_get(&r) ? LOWER : UPPER;
    s->diag = lib_get(&r) ? UNIT : NON_UNIT;
    s->transposed = lib_get(&r) ? TRANSPOSED : PLAIN;
    s->transposed = lib_get(&r) ? ADJOINT : s->transposed;
    s->columns = left ? s->cols : s->rows;
    s->parts = (s->columns + BLAS_BLOCK - 1) / BLAS_BLOCK;
    return !r.short_ && s->type != BLAS_TYPES && s->n && s->batches && s->columns;
}

static void solve_part(void *user, int64_t i) {
    const struct blas_solve *s = user;
    size_t tasks = s->batches * s->parts, from, to, size = s->rows * s->cols;
    lib_part(tasks, lib_tasks(tasks, LIB_TASKS), (size_t)i, &from, &to);
    int threads = ext_omp_begin(&s->blas->omp);
    for (; from < to; from++) {
        size_t batch = from / s->parts, at = from % s->parts * BLAS_BLOCK;
        size_t n = s->columns - at < BLAS_BLOCK ? s->columns - at : BLAS_BLOCK;
        bool left = s->side == LEFT;
        size_t first = batch * size + (left ? at : at * s->cols), nrows = left ? s->rows : n, ncols = left ? n : s->cols;
        const char *b = (const char *)s->c->in[1] + first * s->bytes;
        char *x = (char *)s->c->out[0] + first * s->bytes;
        for (size_t row = 0; row < nrows; row++)
            memcpy(x + row * s->cols * s->bytes, b + row * s->cols * s->bytes, ncols * s->bytes);
        blas_trsm(s->blas, s->type, s->side, s->uplo, s->transposed, s->diag, (int)nrows, (int)ncols,
                  (const char *)s->c->in[0] + batch * s->n * s->n * s->bytes, (int)s->n, x, (int)s->cols);
    }
    ext_omp_end(&s->blas->omp, threads);
}

bool ext_openblas_triangular_solve_can(struct lib_match *out) {
    struct blas_solve s;
    if (!blas_get() || !solve_read(out->params, out->nparams, &s))
        return false;
    out->alone = s.batches * s.parts == 1;
    return true;
}

BLAS_PREPARED(triangular_solve)

hilo_status ext_openblas_triangular_solve_run(void *state, const struct lib_call *c) {
    struct blas_solve s = {.blas = state, .c = c};
    if (!solve_read(c->params, c->nparams, &s))
        return HILO_INVALID_ARGUMENT;
    size_t tasks = s.batches * s.parts;
    lib_each(c->pool, (int64_t)lib_tasks(tasks, LIB_TASKS), solve_part, &s);
    return HILO_OK;
}

/* ---- cholesky --------------------------------------------------------------------------------- */

struct blas_cholesky {
    const struct blas *blas;
    const struct lib_call *c;
    unsigned type;
    size_t bytes, batches, n;
    bool lower;
    const struct lib_pool *pool; /* NULL: batches are tasks */
    atomic_bool *failed;
    /* of the block column being worked on */
    char *l;
    size_t at, block;
};

static bool cholesky_read(const int64_t *params, uint32_t nparams, struct blas_cholesky *s) {
    struct lib_reader r = lib_reader_of(params, nparams);
    enum ir_dtype t = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    s->type = blas_type(t);
    s->bytes = ir_dtype_get(t)->bytes;
    s->batches = lib_get_size(&r, PTRDIFF_MAX);
    s->n = lib_get_size(&r, INT_MAX);
    s->lower = lib_get(&r) != 0;
    return !r.short_ && s->type != BLAS_TYPES && s->n && s->batches;
}

static char *cholesky_at(const struct blas_cholesky *s, size_t row, size_t column) {
    return s->l + (row * s->n + column) * s->bytes;
}

/* Element (row, column) of `to` from the conjugate of (column, row) of `from`, for columns up to the row, or below it. */
static void cholesky_adjoint(const struct blas_cholesky *s, const char *from, char *to, bool to_lower) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j <= i; j++) {
            size_t low = i * s->n + j, high = j * s->n + i, r = to_lower ? high : low, w = to_lower ? low : high;
            memcpy(to + w * s->bytes, from + r * s->bytes, s->bytes);
            if (s->type == 2)
                ((float *)(void *)to)[2 * w + 1] = -((float *)(void *)to)[2 * w + 1];
            if (s->type == 3)
                ((double *)(void *)to)[2 * w + 1] = -((double *)(void *)to)[2 * w + 1];
        }
}

static void cholesky_clear(const struct blas_cholesky *s, bool upper) {
    for (size_t i = 0; i < s->n; i++)
        if (upper)
            memset(cholesky_at(s, i, i + 1), 0, (s->n - i - 1) * s->bytes);
        else
            memset(cholesky_at(s, i, 0), 0, i * s->bytes);
}

/* Rows of part i below the block. */
static size_t cholesky_rows(const struct blas_cholesky *s, int64_t i, size_t *row) {
    *row = s->at + s->block + (size_t)i * BLAS_BLOCK;
    return s->n - *row < BLAS_BLOCK ? s->n - *row : BLAS_BLOCK;
}

static void cholesky_below(void *user, int64_t i) {
    const struct blas_cholesky *s = user;
    size_t row, nrows = cholesky_rows(s, i, &row);
    int threads = ext_omp_begin(&s->blas->omp);
    blas_trsm(s->blas, s->type, RIGHT, LOWER, ADJOINT, NON_UNIT, (int)nrows, (int)s->block, cholesky_at(s, s->at, s->at),
              (int)s->n, cholesky_at(s, row, s->at), (int)s->n);
    ext_omp_end(&s->blas->omp, threads);
}

/* The trailing matrix of the block, up to the part's last column; of what that writes above the diagonal nothing is read. */
static void cholesky_update(void *user, int64_t i) {
    const struct blas_cholesky *s = user;
    size_t row, nrows = cholesky_rows(s, i, &row), first = s->at + s->block;
    int threads = ext_omp_begin(&s->blas->omp);
    blas_gemm(s->blas, s->type, PLAIN, s->type < 2 ? TRANSPOSED : ADJOINT, (int)nrows, (int)(row + nrows - first),
              (int)s->block, -1, cholesky_at(s, row, s->at), (int)s->n, cholesky_at(s, first, s->at), (int)s->n, 1,
              cholesky_at(s, row, first), (int)s->n);
    ext_omp_end(&s->blas->omp, threads);
}

/* Rows one after the other are columns to LAPACK: a lower factor is an upper one there. */
static void cholesky_diagonal(const struct blas_cholesky *s) {
    int n = (int)s->block, ld = (int)s->n, info = 0, threads = ext_omp_begin(&s->blas->omp);
    s->blas->potrf[s->type]("U", &n, cholesky_at(s, s->at, s->at), &ld, &info, 1);
    ext_omp_end(&s->blas->omp, threads);
    if (info != 0)
        atomic_store(s->failed, true);
}

static void cholesky_matrix(void *user, int64_t batch) {
    struct blas_cholesky s = *(const struct blas_cholesky *)user;
    size_t size = s.n * s.n * s.bytes;
    const char *in = (const char *)s.c->in[0] + (size_t)batch * size;
    s.l = (char *)s.c->out[0] + (size_t)batch * size;
    if (s.lower)
        memcpy(s.l, in, size);
    else
        cholesky_adjoint(&s, in, s.l, true);
    for (s.at = 0; s.at < s.n && !atomic_load(s.failed); s.at += BLAS_BLOCK) {
        s.block = s.n - s.at < BLAS_BLOCK ? s.n - s.at : BLAS_BLOCK;
        int64_t parts = (int64_t)((s.n - s.at - s.block + BLAS_BLOCK - 1) / BLAS_BLOCK);
        cholesky_diagonal(&s);
        lib_each(s.pool, parts, cholesky_below, &s);
        lib_each(s.pool, parts, cholesky_update, &s);
    }
    if (!s.lower)
        cholesky_adjoint(&s, s.l, s.l, false);
    cholesky_clear(&s, s.lower);
}

bool ext_openblas_cholesky_can(struct lib_match *out) {
    struct blas_cholesky s;
    const struct blas *blas = blas_get();
    if (!blas || !cholesky_read(out->params, out->nparams, &s) || !blas->potrf[s.type])
        return false;
    out->alone = s.batches == 1 && s.n < 2 * BLAS_BLOCK;
    return true;
}

BLAS_PREPARED(cholesky)

/* A matrix that is not positive definite has a factor of NaN, which is hilo's own code's to make. */
hilo_status ext_openblas_cholesky_run(void *state, const struct lib_call *c) {
    atomic_bool failed;
    atomic_init(&failed, false);
    struct blas_cholesky s = {.blas = state, .c = c, .failed = &failed};
    if (!cholesky_read(c->params, c->nparams, &s))
        return HILO_INVALID_ARGUMENT;
    bool together = s.batches < 4 && s.n >= 2 * BLAS_BLOCK; /* the pool works on one matrix */
    s.pool = together ? c->pool : NULL;
    lib_each(together ? NULL : c->pool, (int64_t)s.batches, cholesky_matrix, &s);
    return atomic_load(&failed) ? HILO_UNIMPLEMENTED : HILO_OK;
}
