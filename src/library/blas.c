/* Products of matrices by OpenBLAS, where it is installed: opened when it is asked for, never linked. The interface is that of
 * the BLAS's C bindings (Basic Linear Algebra Subprograms Technical Forum Standard, 2001, appendix B).
 *
 * A product is split into tiles by its shape, and each is one call on one thread, so that results do not depend on how many
 * threads there are. OpenBLAS's own threads are set to one when it is opened, for the whole process; a build of it with OpenMP
 * goes by what OpenMP would do on the calling thread, which is set to one for the call. */
#include "library/dot.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

enum { BLAS_ROW_MAJOR = 101, BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112 };
enum { BLAS_TILE_ROWS = 256, BLAS_TILE_COLUMNS = 512, BLAS_LEAST = 1 << 12 /* products that are worth a call */ };

struct blas {
    void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const void *a, int lda, const void *b, int ldb,
                  float beta, void *c, int ldc);
    void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const void *a, int lda, const void *b, int ldb,
                  double beta, void *c, int ldc);
    void (*cgemm)(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b,
                  int ldb, const void *beta, void *c, int ldc);
    void (*zgemm)(int order, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b,
                  int ldb, const void *beta, void *c, int ldc);
    void (*openblas_set_num_threads)(int n);
    int (*omp_get_max_threads)(void); /* both, or none, where OpenBLAS has no OpenMP */
    void (*omp_set_num_threads)(int n);
};

static const struct {
    const char *name;
    size_t offset; /* of its pointer in struct blas */
    bool optional;
} blas_functions[] = {
    {"cblas_sgemm", offsetof(struct blas, sgemm), false},
    {"cblas_dgemm", offsetof(struct blas, dgemm), false},
    {"cblas_cgemm", offsetof(struct blas, cgemm), false},
    {"cblas_zgemm", offsetof(struct blas, zgemm), false},
    {"openblas_set_num_threads", offsetof(struct blas, openblas_set_num_threads), false},
    {"omp_get_max_threads", offsetof(struct blas, omp_get_max_threads), true},
    {"omp_set_num_threads", offsetof(struct blas, omp_set_num_threads), true},
};

/* What the first call found, for all others: one library for a process. */
static struct {
    pthread_once_t once;
    struct blas table;
    bool found;
    char why[256];
} blas_state = {.once = PTHREAD_ONCE_INIT};

static void blas_open(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL, *p;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(blas_state.why, sizeof blas_state.why, "%s", why ? why : "not found");
        return;
    }
    for (size_t i = 0; i < sizeof blas_functions / sizeof *blas_functions; i++) {
        if (!(p = dlsym(library, blas_functions[i].name)) && !blas_functions[i].optional) {
            snprintf(blas_state.why, sizeof blas_state.why, "it has no %s", blas_functions[i].name);
            return;
        }
        memcpy((char *)&blas_state.table + blas_functions[i].offset, &p, sizeof p);
    }
    blas_state.table.openblas_set_num_threads(1);
    blas_state.found = true;
}

static const struct blas *blas_get(void) {
    pthread_once(&blas_state.once, blas_open);
    return blas_state.found ? &blas_state.table : NULL;
}

hilo_status lib_external_open(struct diag_list *d) {
    return blas_get() ? HILO_OK
                      : diag_error(d, HILO_UNAVAILABLE,
                                   "the backend 'library' needs OpenBLAS as a shared library (Debian package "
                                   "libopenblas0): %s",
                                   blas_state.why);
}

/* ---- one product ----------------------------------------------------------------------------- */

/* A side as the BLAS sees it: rows of this many elements from one to the next, or columns where it is transposed. */
struct blas_side {
    int transposed, step;
};

struct blas_dot {
    const struct blas *blas;
    const struct lib_call *c;
    struct dot_axes x;
    struct blas_side a, b;
    size_t bytes; /* of an element */
    size_t across, down; /* tiles of a product */
};

/* Strides of rows and columns; of a dimension that has one element, or none, any do. */
static bool blas_side(int64_t row, int64_t nrows, int64_t column, int64_t ncolumns, struct blas_side *out) {
    bool plain = column == 1 || ncolumns <= 1, transposed = row == 1 || nrows <= 1;
    if (plain && (row >= ncolumns || nrows <= 1)) {
        int64_t step = nrows <= 1 || row < ncolumns ? ncolumns : row;
        *out = (struct blas_side){BLAS_PLAIN, (int)(step < 1 ? 1 : step)};
        return step <= INT_MAX;
    }
    if (transposed && column >= nrows) {
        *out = (struct blas_side){BLAS_TRANSPOSED, (int)(column < 1 ? 1 : column)};
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
    bool fits = dims_finish(&x->batch) && dims_finish(&x->rows) && dims_finish(&x->columns) && dims_finish(&x->depth) &&
                x->rows.n <= 1 && x->columns.n <= 1 && x->depth.n <= 1 && x->rows.count <= INT_MAX &&
                x->columns.count <= INT_MAX && x->depth.count <= INT_MAX;
    if (!fits || (x->dtype != IR_F32_T && x->dtype != IR_F64_T && x->dtype != IR_C64_T && x->dtype != IR_C128_T))
        return false;
    int64_t m = (int64_t)x->rows.count, n = (int64_t)x->columns.count, k = (int64_t)x->depth.count;
    v->bytes = ir_dtype_get(x->dtype)->bytes;
    v->down = (x->rows.count + BLAS_TILE_ROWS - 1) / BLAS_TILE_ROWS;
    v->across = (x->columns.count + BLAS_TILE_COLUMNS - 1) / BLAS_TILE_COLUMNS;
    return blas_side(blas_stride(&x->rows, true), m, blas_stride(&x->depth, true), k, &v->a) &&
           blas_side(blas_stride(&x->depth, false), k, blas_stride(&x->columns, false), n, &v->b);
}

static void blas_call(const struct blas_dot *v, int m, int n, const void *a, const void *b, void *c) {
    static const float one32[2] = {1, 0}, zero32[2] = {0, 0};
    static const double one64[2] = {1, 0}, zero64[2] = {0, 0};
    int k = (int)v->x.depth.count, ldc = (int)v->x.columns.count;
    switch (v->x.dtype) {
    case IR_F32_T:
        v->blas->sgemm(BLAS_ROW_MAJOR, v->a.transposed, v->b.transposed, m, n, k, 1, a, v->a.step, b, v->b.step, 0, c, ldc);
        break;
    case IR_F64_T:
        v->blas->dgemm(BLAS_ROW_MAJOR, v->a.transposed, v->b.transposed, m, n, k, 1, a, v->a.step, b, v->b.step, 0, c, ldc);
        break;
    case IR_C64_T:
        v->blas->cgemm(BLAS_ROW_MAJOR, v->a.transposed, v->b.transposed, m, n, k, one32, a, v->a.step, b, v->b.step, zero32, c,
                       ldc);
        break;
    default:
        v->blas->zgemm(BLAS_ROW_MAJOR, v->a.transposed, v->b.transposed, m, n, k, one64, a, v->a.step, b, v->b.step, zero64, c,
                       ldc);
    }
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
    bool omp = v->blas->omp_get_max_threads && v->blas->omp_set_num_threads;
    int threads = omp ? v->blas->omp_get_max_threads() : 1;
    if (threads > 1)
        v->blas->omp_set_num_threads(1);
    blas_call(v, (int)(m < BLAS_TILE_ROWS ? m : BLAS_TILE_ROWS), (int)(n < BLAS_TILE_COLUMNS ? n : BLAS_TILE_COLUMNS),
              (const char *)v->c->in[0] + (size_t)a * v->bytes, (const char *)v->c->in[1] + (size_t)b * v->bytes,
              (char *)v->c->out[0] + c * v->bytes);
    if (threads > 1)
        v->blas->omp_set_num_threads(threads);
}

/* ---- the routine ----------------------------------------------------------------------------- */

hilo_status lib_blas(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct blas_dot v = {.blas = blas_get(), .c = c, .x.dtype = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1)};
    dims_get(&r, &v.x.batch);
    dims_get(&r, &v.x.rows);
    dims_get(&r, &v.x.columns);
    dims_get(&r, &v.x.depth);
    if (!v.blas)
        return HILO_UNAVAILABLE;
    if (r.short_ || !blas_plan(&v))
        return HILO_INVALID_ARGUMENT;
    if (v.x.depth.count == 0) { /* the BLAS does not promise to write then */
        memset(c->out[0], 0, v.x.batch.count * v.x.rows.count * v.x.columns.count * v.bytes);
        return HILO_OK;
    }
    lib_each(c->team, (int64_t)(v.x.batch.count * v.down * v.across), blas_tile, &v);
    return HILO_OK;
}

bool lib_match_blas(const struct ir_module *m, ir_op op, struct lib_match *out) {
    struct blas_dot v = {0};
    if (!blas_get() || !dot_match(m, op, &v.x) || !blas_plan(&v))
        return false;
    double work = (double)v.x.batch.count * (double)v.x.rows.count * (double)v.x.columns.count * (double)v.x.depth.count;
    out->ns = 0.02 * work;
    return work >= BLAS_LEAST && lib_put(out, v.x.dtype) && dims_put(out, &v.x.batch) && dims_put(out, &v.x.rows) &&
           dims_put(out, &v.x.columns) && dims_put(out, &v.x.depth);
}
