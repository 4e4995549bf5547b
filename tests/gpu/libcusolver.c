/* A stand-in for cuSOLVER on top of that for the driver (libcuda.c), in whose streams its factors are computed, by sums in f64;
 * those of LAPACK's functions by the evaluator's code. It checks what the library's documentation demands: handles and their
 * stream, sizes, memory of all that is read and written, its alignment, and the work area, which is lost. Of a Cholesky factor
 * the other triangle is left as it was; a matrix that is not positive definite gives the number of the first minor that is
 * not, and what is in the triangle then is no factor. It reports "factors N lu N qr N reflectors N eigenvalues N singular
 * values N handles N" (library.h). */
#include "eval/factor.h"
#include "gpu/dense.h"

#define FAKE_NAME "cuSOLVER"
#define FAKE_VARIABLE "CUSOLVER"
#include "gpu/library.h"

enum { OK = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, EXECUTION_FAILED = 6, AREA_FOR_EACH = 3 };
enum { LOWER = 0, UPPER = 1 };

/* A factor whose turn comes. */
struct task {
    struct dense a;
    int fill, n;
    char *area, *info;
    size_t area_bytes;
};

static struct { int factors, of[FACTOR_KINDS], handles, deterministic; } seen;

EXPORT int cusolverGetVersion(int *version);
EXPORT int cusolverDnCreate(void **handle);
EXPORT int cusolverDnDestroy(void *handle);
EXPORT int cusolverDnSetStream(void *handle, void *stream);
EXPORT int cusolverDnSetDeterministicMode(void *handle, int mode);
#define POTRF(type)                                                                                                            \
    EXPORT int cusolverDn##type##potrf_bufferSize(void *handle, int fill, int n, void *a, int step, int *numbers);             \
    EXPORT int cusolverDn##type##potrf(void *handle, int fill, int n, void *a, int step, void *area, int numbers, int *info);
POTRF(S)
POTRF(D)
POTRF(C)
POTRF(Z)
#undef POTRF

int cusolverGetVersion(int *version) {
    *version = 12000;
    return OK;
}

/* Of the device whose context the thread has. */
int cusolverDnCreate(void **handle) {
    int error = handle_create(handle, NOT_INITIALIZED);
    count(&seen.handles, !error);
    return error;
}

int cusolverDnDestroy(void *handle) {
    return handle_destroy(handle);
}

int cusolverDnSetStream(void *handle, void *stream) {
    return handle_set_stream(handle, stream, ALLOC_FAILED);
}

int cusolverDnSetDeterministicMode(void *handle, int mode) {
    (void)handle_of(handle);
    if (mode != 1)
        misuse("results that may differ");
    if (fails())
        return EXECUTION_FAILED;
    count(&seen.deterministic, 1);
    return OK;
}

static int size_of(void *handle, int fill, int n, int step, int *numbers) {
    const struct handle *h = handle_of(handle);
    if (!h->stream || !fake.cuda.has_context() || n < 1 || step < n || fill > UPPER)
        misuse("a size of no factor, or without the context");
    if (fails())
        return EXECUTION_FAILED;
    *numbers = n * AREA_FOR_EACH;
    return OK;
}

/* Element (i, j), j <= i, of the lower triangle of what is factored: of the upper one its conjugate is there. */
static double complex get(const struct task *t, int i, int j) {
    return t->fill == LOWER ? dense_get(&t->a, i, j) : conj(dense_get(&t->a, j, i));
}

static void set(const struct task *t, int i, int j, double complex x) {
    if (t->fill == LOWER)
        dense_set(&t->a, i, j, x);
    else
        dense_set(&t->a, j, i, conj(x));
}

static void run(void *user) {
    struct task *t = user;
    int info = 0;
    for (int j = 0; j < t->n && !info; j++) {
        double square = creal(get(t, j, j)), root = 1;
        for (int k = 0; k < j; k++)
            square -= creal(get(t, j, k) * conj(get(t, j, k)));
        if (!(square > 0))
            info = j + 1;
        for (int step = 0; step < 64 && !info; step++) /* by Newton's method, from above */
            root = step ? (root + square / root) / 2 : square + 1;
        for (int i = j; i < t->n && !info; i++) {
            double complex sum = get(t, i, j);
            for (int k = 0; k < j; k++)
                sum -= get(t, i, k) * conj(get(t, j, k));
            set(t, i, j, i == j ? root : sum / root);
        }
    }
    memset(t->area, 0x5A, t->area_bytes);
    memcpy(t->info, &info, sizeof info);
    free(t);
}

static int enqueue(void *handle, struct task task, void *a, void *area, int numbers, int *info) {
    const struct handle *h = handle_of(handle);
    size_t bytes = dense_bytes(task.a.type), size = (size_t)task.a.step * (size_t)(task.n - 1) + (size_t)task.n;
    if (!h->stream || !fake.cuda.has_context())
        misuse("a call without its stream, or the context");
    if (task.fill > UPPER || task.n < 1 || task.a.step < task.n || numbers < task.n * AREA_FOR_EACH)
        misuse("parameters that it does not have");
    if ((uintptr_t)a % bytes || (uintptr_t)area % bytes || (uintptr_t)info % sizeof *info)
        misuse("memory that is not aligned");
    if (fails())
        return EXECUTION_FAILED;
    struct task *t = malloc(sizeof *t);
    *t = task;
    t->area_bytes = (size_t)numbers * bytes;
    t->a.at = fake.cuda.bytes((uint64_t)(uintptr_t)a, size * bytes);
    t->area = fake.cuda.bytes((uint64_t)(uintptr_t)area, t->area_bytes);
    t->info = fake.cuda.bytes((uint64_t)(uintptr_t)info, sizeof *info);
    if (!t->a.at || !t->area || !t->info)
        misuse("memory that is not the device's");
    count(&seen.factors, 1);
    fake.cuda.enqueue(h->stream, run, t);
    return OK;
}

#define POTRF(type)                                                                                                            \
    int cusolverDn##type##potrf_bufferSize(void *handle, int fill, int n, void *a, int step, int *numbers) {                   \
        (void)a;                                                                                                               \
        return size_of(handle, fill, n, step, numbers);                                                                        \
    }                                                                                                                          \
    int cusolverDn##type##potrf(void *handle, int fill, int n, void *a, int step, void *area, int numbers, int *info) {        \
        struct task t = {.a = {DENSE_##type, NULL, step}, .fill = fill, .n = n};                                               \
        return enqueue(handle, t, a, area, numbers, info);                                                                     \
    }
POTRF(S)
POTRF(D)
POTRF(C)
POTRF(Z)

/* ---- LAPACK's functions ------------------------------------------------------------------------ */

enum { MOST_OUT = 5 };

/* A factor whose turn comes. Parts of memory are the device's: the matrix, which is overwritten, and results or operands of
   their own, in the order of factor.h. */
struct lapack {
    struct factor f;
    struct dense a, u, v;
    char *part[MOST_OUT], *area;
    size_t area_bytes;
};

static const enum ir_dtype types[] = {[DENSE_S] = IR_F32_T, [DENSE_D] = IR_F64_T, [DENSE_C] = IR_C64_T, [DENSE_Z] = IR_C128_T};

/* Columns one after the other, to or from rows. */
static void move(const struct dense *d, size_t m, size_t n, char *rows, bool to) {
    size_t bytes = dense_bytes(d->type);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            char *x = d->at + (j * (size_t)d->step + i) * bytes, *y = rows + (i * n + j) * bytes;
            memcpy(to ? y : x, to ? x : y, bytes);
        }
}

static void run_lapack(void *user) {
    struct lapack *t = user;
    const struct factor *f = &t->f;
    size_t bytes = dense_bytes(t->a.type), scratch, most = f->m > f->n ? f->m : f->n, square = most * most * bytes;
    char *rows = malloc(square), *u = malloc(square), *v = malloc(square), *result = malloc(square);
    if (!factor_scratch(f, &scratch))
        misuse("sizes that are too large");
    char *memory = malloc(scratch);
    int info = 0;
    const void *in[] = {rows, t->part[1]};
    void *out[] = {result, t->part[1], f->kind == FACTOR_SVD ? u : t->part[2], v, &info};
    move(&t->a, f->m, f->n, rows, true);
    factor_one(f, 0, in, out, memory);
    memset(t->area, 0x5A, t->area_bytes);
    move(&t->a, f->m, f->n, result, false);
    if (f->kind == FACTOR_SVD && f->vectors) {
        move(&t->u, f->m, f->full ? f->m : f->n, u, false);
        move(&t->v, f->n, f->n, v, false);
    }
    if (f->kind == FACTOR_QR || f->kind == FACTOR_REFLECTORS || f->kind == FACTOR_SVD)
        memcpy(t->part[f->kind == FACTOR_SVD ? 4 : 2], &info, sizeof info);
    free(memory);
    free(rows);
    free(u);
    free(v);
    free(result);
    free(t);
}

/* The device's bytes of `n` things; misuse where they are not. */
static char *device(const void *p, size_t n, size_t bytes) {
    char *at = fake.cuda.bytes((uint64_t)(uintptr_t)p, n * bytes);
    if (!at || (uintptr_t)p % (bytes > 8 ? 8 : bytes))
        misuse("memory that is not the device's, or not aligned");
    return at;
}

static char *matrix(const void *p, const struct dense *d, size_t m, size_t n) {
    if (d->step < (int)m)
        misuse("columns that overlap");
    return device(p, (size_t)d->step * (n - 1) + m, dense_bytes(d->type));
}

static void check_call(void *handle, const struct factor *f) {
    const struct handle *h = handle_of(handle);
    if (!h->stream || !fake.cuda.has_context() || !seen.deterministic || !f->m || !f->n || f->m > INT32_MAX || f->n > INT32_MAX)
        misuse("a factor of nothing, without the context, or of a handle whose results may differ");
    if (f->kind == FACTOR_SVD && f->m < f->n)
        misuse("singular values of a matrix with more columns than rows");
}

static int lapack_size(void *handle, struct factor f, int *numbers) {
    check_call(handle, &f);
    if (fails())
        return EXECUTION_FAILED;
    *numbers = (int)f.n * AREA_FOR_EACH;
    return OK;
}

/* parts: at least as many as are used. */
static int lapack_call(void *handle, const struct lapack *task, void *a, void *area, int numbers, void *const *parts) {
    const struct handle *h = handle_of(handle);
    const struct factor *f = &task->f;
    check_call(handle, f);
    if (numbers < (int)f->n * AREA_FOR_EACH)
        misuse("an area that is too small");
    if (fails())
        return EXECUTION_FAILED;
    struct lapack *t = malloc(sizeof *t);
    *t = *task;
    t->f.batch = 1;
    t->f.type = types[t->a.type];
    size_t bytes = dense_bytes(t->a.type), real = t->a.type == DENSE_S || t->a.type == DENSE_C ? 4 : 8;
    t->area_bytes = (size_t)numbers * bytes;
    t->a.at = matrix(a, &t->a, f->m, f->n);
    t->area = device(area, (size_t)numbers, bytes);
    t->part[1] = device(parts[1], f->k, f->kind == FACTOR_LU ? sizeof(int) : f->kind >= FACTOR_EIGH ? real : bytes);
    t->part[2] = f->kind == FACTOR_SVD ? NULL : device(parts[2], 1, sizeof(int));
    t->part[4] = f->kind == FACTOR_SVD ? device(parts[4], 1, sizeof(int)) : NULL;
    if (f->kind == FACTOR_SVD && f->vectors) {
        t->u.at = matrix(parts[2], &t->u, f->m, f->full ? f->m : f->n);
        t->v.at = matrix(parts[3], &t->v, f->n, f->n);
    }
    count(&seen.of[f->kind], 1);
    fake.cuda.enqueue(h->stream, run_lapack, t);
    return OK;
}

static struct factor factor_as(enum factor_kind kind, int m, int n) {
    return (struct factor){.kind = kind, .m = (size_t)m, .n = (size_t)n, .k = (size_t)(m < n ? m : n)};
}

#define LAPACK(type, orgqr, syevd)                                                                                             \
    EXPORT int cusolverDn##type##getrf_bufferSize(void *handle, int m, int n, void *a, int step, int *numbers);                \
    EXPORT int cusolverDn##type##getrf(void *handle, int m, int n, void *a, int step, void *area, int *pivots, int *info);     \
    EXPORT int cusolverDn##type##geqrf_bufferSize(void *handle, int m, int n, void *a, int step, int *numbers);                \
    EXPORT int cusolverDn##type##geqrf(void *handle, int m, int n, void *a, int step, void *tau, void *area, int numbers,      \
                                       int *info);                                                                             \
    EXPORT int cusolverDn##type##orgqr##_bufferSize(void *handle, int m, int n, int k, const void *a, int step,                \
                                                    const void *tau, int *numbers);                                            \
    EXPORT int cusolverDn##type##orgqr(void *handle, int m, int n, int k, void *a, int step, void *tau, void *area,            \
                                       int numbers, int *info);                                                                \
    EXPORT int cusolverDn##type##syevd##_bufferSize(void *handle, int vectors, int fill, int n, const void *a, int step,       \
                                                    const void *w, int *numbers);                                              \
    EXPORT int cusolverDn##type##syevd(void *handle, int vectors, int fill, int n, void *a, int step, void *w, void *area,     \
                                       int numbers, int *info);                                                                \
    EXPORT int cusolverDn##type##gesvd_bufferSize(void *handle, int m, int n, int *numbers);                                   \
    EXPORT int cusolverDn##type##gesvd(void *handle, signed char jobu, signed char jobv, int m, int n, void *a, int step,      \
                                       void *s, void *u, int u_step, void *v, int v_step, void *area, int numbers,             \
                                       void *beside, int *info);                                                               \
    int cusolverDn##type##getrf_bufferSize(void *handle, int m, int n, void *a, int step, int *numbers) {                      \
        (void)a, (void)step;                                                                                                   \
        return lapack_size(handle, factor_as(FACTOR_LU, m, n), numbers);                                                       \
    }                                                                                                                          \
    int cusolverDn##type##getrf(void *handle, int m, int n, void *a, int step, void *area, int *pivots, int *info) {           \
        const struct lapack t = {.f = factor_as(FACTOR_LU, m, n), .a = {DENSE_##type, NULL, step}};                            \
        return lapack_call(handle, &t, a, area, n * AREA_FOR_EACH, (void *const[]){NULL, pivots, info});                       \
    }                                                                                                                          \
    int cusolverDn##type##geqrf_bufferSize(void *handle, int m, int n, void *a, int step, int *numbers) {                      \
        (void)a, (void)step;                                                                                                   \
        return lapack_size(handle, factor_as(FACTOR_QR, m, n), numbers);                                                       \
    }                                                                                                                          \
    int cusolverDn##type##geqrf(void *handle, int m, int n, void *a, int step, void *tau, void *area, int numbers,             \
                                int *info) {                                                                                   \
        const struct lapack t = {.f = factor_as(FACTOR_QR, m, n), .a = {DENSE_##type, NULL, step}};                            \
        return lapack_call(handle, &t, a, area, numbers, (void *const[]){NULL, tau, info});                                    \
    }                                                                                                                          \
    int cusolverDn##type##orgqr##_bufferSize(void *handle, int m, int n, int k, const void *a, int step, const void *tau,      \
                                             int *numbers) {                                                                   \
        (void)a, (void)step, (void)tau, (void)k;                                                                               \
        return lapack_size(handle, factor_as(FACTOR_REFLECTORS, m, n), numbers);                                               \
    }                                                                                                                          \
    int cusolverDn##type##orgqr(void *handle, int m, int n, int k, void *a, int step, void *tau, void *area, int numbers,      \
                                int *info) {                                                                                   \
        struct lapack t = {.f = factor_as(FACTOR_REFLECTORS, m, n), .a = {DENSE_##type, NULL, step}};                          \
        t.f.k = (size_t)k;                                                                                                     \
        return lapack_call(handle, &t, a, area, numbers, (void *const[]){NULL, tau, info});                                    \
    }                                                                                                                          \
    int cusolverDn##type##syevd##_bufferSize(void *handle, int vectors, int fill, int n, const void *a, int step,              \
                                             const void *w, int *numbers) {                                                    \
        (void)a, (void)step, (void)w, (void)vectors, (void)fill;                                                               \
        return lapack_size(handle, factor_as(FACTOR_EIGH, n, n), numbers);                                                     \
    }                                                                                                                          \
    int cusolverDn##type##syevd(void *handle, int vectors, int fill, int n, void *a, int step, void *w, void *area,            \
                                int numbers, int *info) {                                                                      \
        struct lapack t = {.f = factor_as(FACTOR_EIGH, n, n), .a = {DENSE_##type, NULL, step}};                                \
        t.f.vectors = vectors != 0;                                                                                            \
        t.f.upper = fill == UPPER;                                                                                             \
        return lapack_call(handle, &t, a, area, numbers, (void *const[]){NULL, w, info});                                      \
    }                                                                                                                          \
    int cusolverDn##type##gesvd_bufferSize(void *handle, int m, int n, int *numbers) {                                         \
        return lapack_size(handle, factor_as(FACTOR_SVD, m, n), numbers);                                                      \
    }                                                                                                                          \
    int cusolverDn##type##gesvd(void *handle, signed char jobu, signed char jobv, int m, int n, void *a, int step, void *s,    \
                                void *u, int u_step, void *v, int v_step, void *area, int numbers, void *beside, int *info) {  \
        struct lapack t = {.f = factor_as(FACTOR_SVD, m, n), .a = {DENSE_##type, NULL, step},                                  \
                           .u = {DENSE_##type, NULL, u_step}, .v = {DENSE_##type, NULL, v_step}};                              \
        (void)beside;                                                                                                          \
        if (jobu != jobv || !strchr("ASN", jobu))                                                                              \
            misuse("what is not asked for alike");                                                                             \
        t.f.vectors = jobu != 'N';                                                                                             \
        t.f.full = jobu == 'A';                                                                                                \
        return lapack_call(handle, &t, a, area, numbers, (void *const[]){NULL, s, u, v, info});                                \
    }
LAPACK(S, orgqr, syevd)
LAPACK(D, orgqr, syevd)
LAPACK(C, ungqr, heevd)
LAPACK(Z, ungqr, heevd)

__attribute__((destructor)) static void report(void) {
    report_line("factors %d lu %d qr %d reflectors %d eigenvalues %d singular values %d handles %d\n", seen.factors,
                seen.of[FACTOR_LU], seen.of[FACTOR_QR], seen.of[FACTOR_REFLECTORS], seen.of[FACTOR_EIGH], seen.of[FACTOR_SVD],
                seen.handles);
}
