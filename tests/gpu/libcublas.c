/* A stand-in for cuBLAS on top of that for the driver (libcuda.c), in whose streams its triangular solves run, by sums in
 * f64. It checks what the library's documentation demands: handles and their stream, sizes and steps, memory of all that is
 * read and written, its alignment. It reports "solves N handles N" (library.h). */
#include "gpu/dense.h"

#define FAKE_NAME "cuBLAS"
#define FAKE_VARIABLE "CUBLAS"
#include "gpu/library.h"

enum { OK = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, EXECUTION_FAILED = 13 };
enum { LEFT = 0, RIGHT = 1, LOWER = 0, UPPER = 1, UNIT = 1, OP_N = 0, OP_C = 2 };

/* A solve whose turn comes. */
struct task {
    int side, fill, op, diag, m, n;
    double complex alpha;
    struct dense a, b;
};

static struct { int solves, handles; } seen;

EXPORT int cublasCreate_v2(void **handle);
EXPORT int cublasDestroy_v2(void *handle);
EXPORT int cublasGetProperty(int which, int *value);
EXPORT const char *cublasGetStatusName(int status);
EXPORT int cublasSetStream_v2(void *handle, void *stream);
#define TRSM(type, number)                                                                                                     \
    EXPORT int cublas##type##trsm_v2(void *handle, int side, int fill, int op, int diag, int m, int n, const number *alpha,    \
                                     const void *a, int a_step, void *b, int b_step);
TRSM(S, float)
TRSM(D, double)
TRSM(C, float complex)
TRSM(Z, double complex)
#undef TRSM

/* Of the device whose context the thread has. */
int cublasCreate_v2(void **handle) {
    int error = handle_create(handle, NOT_INITIALIZED);
    count(&seen.handles, !error);
    return error;
}

int cublasDestroy_v2(void *handle) {
    return handle_destroy(handle);
}

int cublasGetProperty(int which, int *value) {
    *value = which ? 0 : 13;
    return OK;
}

const char *cublasGetStatusName(int status) {
    return status == EXECUTION_FAILED  ? "CUBLAS_STATUS_EXECUTION_FAILED"
           : status == NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                       : "CUBLAS_STATUS_ALLOC_FAILED";
}

int cublasSetStream_v2(void *handle, void *stream) {
    return handle_set_stream(handle, stream, ALLOC_FAILED);
}

static double complex element(const struct task *t, int row, int column) {
    double complex x = t->op == OP_N ? dense_get(&t->a, row, column) : dense_get(&t->a, column, row);
    return t->op == OP_C ? conj(x) : x;
}

/* op(a) x = alpha b, or x op(a) = alpha b, one line of x after the other. */
static void run(void *user) {
    struct task *t = user;
    int n = t->side == LEFT ? t->m : t->n, lines = t->side == LEFT ? t->n : t->m;
    int lower = (t->fill == LOWER) == (t->op == OP_N), forward = lower == (t->side == LEFT);
    double complex *x = malloc((size_t)n * sizeof *x);
    for (int line = 0; line < lines; line++) {
        for (int step = 0; step < n; step++) {
            int i = forward ? step : n - 1 - step;
            double complex sum = t->alpha * (t->side == LEFT ? dense_get(&t->b, i, line) : dense_get(&t->b, line, i));
            for (int done = 0; done < step; done++) {
                int j = forward ? done : n - 1 - done;
                sum -= x[j] * (t->side == LEFT ? element(t, i, j) : element(t, j, i));
            }
            x[i] = t->diag == UNIT ? sum : sum / element(t, i, i);
        }
        for (int i = 0; i < n; i++)
            dense_set(&t->b, t->side == LEFT ? i : line, t->side == LEFT ? line : i, x[i]);
    }
    free(x);
    free(t);
}

static int enqueue(void *handle, struct task task, uintptr_t a, uintptr_t b) {
    const struct handle *h = handle_of(handle);
    int n = task.side == LEFT ? task.m : task.n;
    size_t bytes = dense_bytes(task.a.type);
    if (!h->stream || !fake.cuda.has_context())
        misuse("a call without its stream, or the context");
    if (task.side > RIGHT || task.fill > UPPER || task.op > OP_C || task.diag > UNIT || task.m < 1 || task.n < 1 ||
        task.a.step < n || task.b.step < task.m)
        misuse("parameters that it does not have");
    if (a % bytes || b % bytes)
        misuse("matrices that are not aligned");
    if (fails())
        return EXECUTION_FAILED;
    struct task *t = malloc(sizeof *t);
    *t = task;
    t->a.at = fake.cuda.bytes(a, ((size_t)task.a.step * (size_t)(n - 1) + (size_t)n) * bytes);
    t->b.at = fake.cuda.bytes(b, ((size_t)task.b.step * (size_t)(task.n - 1) + (size_t)task.m) * bytes);
    if (!t->a.at || !t->b.at || a == b)
        misuse("matrices outside of device memory, or the same");
    count(&seen.solves, 1);
    fake.cuda.enqueue(h->stream, run, t);
    return OK;
}

#define TRSM(type, number)                                                                                                     \
    int cublas##type##trsm_v2(void *handle, int side, int fill, int op, int diag, int m, int n, const number *alpha,           \
                              const void *a, int a_step, void *b, int b_step) {                                                \
        struct dense left = {DENSE_##type, NULL, a_step}, right = {DENSE_##type, NULL, b_step};                                \
        struct task t = {side, fill, op, diag, m, n, *alpha, left, right};                                                     \
        return enqueue(handle, t, (uintptr_t)a, (uintptr_t)b);                                                                 \
    }
TRSM(S, float)
TRSM(D, double)
TRSM(C, float complex)
TRSM(Z, double complex)

__attribute__((destructor)) static void report(void) {
    report_line("solves %d handles %d\n", seen.solves, seen.handles);
}
