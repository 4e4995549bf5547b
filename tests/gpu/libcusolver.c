/* A stand-in for cuSOLVER on top of that for the driver (libcuda.c), in whose streams its Cholesky factors are computed, by
 * sums in f64. It checks what the library's documentation demands: handles and their stream, sizes, memory of all that is
 * read and written, its alignment, and the work area, which is lost. The other triangle is left as it was; a matrix that is
 * not positive definite gives the number of the first minor that is not, and what is in the triangle then is no factor. It
 * reports "factors N handles N" (library.h). */
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

static struct { int factors, handles; } seen;

EXPORT int cusolverGetVersion(int *version);
EXPORT int cusolverDnCreate(void **handle);
EXPORT int cusolverDnDestroy(void *handle);
EXPORT int cusolverDnSetStream(void *handle, void *stream);
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

__attribute__((destructor)) static void report(void) {
    report_line("factors %d handles %d\n", seen.factors, seen.handles);
}
