/* A stand-in for cuFFT on top of that for the driver (libcuda.c), in whose streams its transforms run, by their sums in f64.
 * It checks what the library's documentation demands: plans, their type against the call, dense batches, memory of all that
 * is read and written, its alignment, and the work area, which the caller gives and which is lost, as is what a transform to
 * real numbers reads. It reports "transforms N inverse N real N plans N" (library.h). */
#define FAKE_NAME "cuFFT"
#define FAKE_VARIABLE "CUFFT"
#include "gpu/library.h"

#include <complex.h>
#include <math.h>

enum { OK = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, EXEC_FAILED = 6, SETUP_FAILED = 7 };
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };
enum { MOST_PLANS = 256, MOST_DIMS = 3, AREA_FOR_EACH = 16, AREA_ALIGN = 256 };

struct plan {
    int used, made, automatic, type, rank;
    long long n[MOST_DIMS], batch;
    void *area, *stream;
};

/* A transform whose turn comes. */
struct task {
    struct plan plan;
    int direction;
    size_t in_bytes;
    char *in, *out, *area;
};

static struct plan plans[MOST_PLANS];
static struct { int transforms, inverse, real, made; } seen;

static struct plan *of(int plan) {
    if (plan < 0 || plan >= MOST_PLANS || !plans[plan].used)
        misuse("a plan that is not there");
    return &plans[plan];
}

EXPORT int cufftGetVersion(int *version);
EXPORT int cufftCreate(int *plan);
EXPORT int cufftDestroy(int plan);
EXPORT int cufftSetAutoAllocation(int plan, int on);
EXPORT int cufftMakePlanMany64(int plan, int rank, long long *n, long long *in, long long in_stride, long long in_distance,
                               long long *out, long long out_stride, long long out_distance, int type, long long batch,
                               size_t *bytes);
EXPORT int cufftSetWorkArea(int plan, void *area);
EXPORT int cufftSetStream(int plan, void *stream);
EXPORT int cufftExecC2C(int plan, const void *in, void *out, int direction);
EXPORT int cufftExecZ2Z(int plan, const void *in, void *out, int direction);
EXPORT int cufftExecR2C(int plan, const void *in, void *out);
EXPORT int cufftExecD2Z(int plan, const void *in, void *out);
EXPORT int cufftExecC2R(int plan, const void *in, void *out);
EXPORT int cufftExecZ2D(int plan, const void *in, void *out);

int cufftGetVersion(int *version) {
    *version = 12000;
    return OK;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Of the device whose context the thread has. */
int cufftCreate(int *plan) {
    if (!begins())
        return SETUP_FAILED;
    pthread_mutex_lock(&fake.lock);
    int i = 0;
    while (i < MOST_PLANS && plans[i].used)
        i++;
    if (i == MOST_PLANS)
        misuse("more plans than the stand-in has");
    plans[i] = (struct plan){.used = 1, .automatic = 1};
    fake.live++;
    pthread_mutex_unlock(&fake.lock);
    *plan = i;
    return OK;
}

int cufftDestroy(int plan) {
    of(plan)->used = 0;
    count(&fake.live, -1);
    return OK;
}

int cufftSetAutoAllocation(int plan, int on) {
    struct plan *p = of(plan);
    if (p->made)
        misuse("memory is said to be the caller's after the plan was made");
    if (fails())
        return INVALID_PLAN;
    p->automatic = on;
    return OK;
}

/* Complex numbers of all transforms. */
static size_t elements(const struct plan *p) {
    size_t n = (size_t)p->batch;
    for (int i = 0; i < p->rank; i++)
        n *= (size_t)p->n[i];
    return n;
}

int cufftMakePlanMany64(int plan, int rank, long long *n, long long *in, long long in_stride, long long in_distance,
                        long long *out, long long out_stride, long long out_distance, int type, long long batch,
                        size_t *bytes) {
    struct plan *p = of(plan);
    (void)in_stride;
    (void)out_stride;
    (void)in_distance; /* which say nothing where the layouts are NULL */
    (void)out_distance;
    if (p->made || rank < 1 || rank > MOST_DIMS || batch < 1 || in || out)
        misuse("a plan of no dense transform, or a second one");
    if (p->automatic)
        misuse("a plan that would allocate memory");
    if (type != C2C && type != R2C && type != C2R && type != Z2Z && type != D2Z && type != Z2D)
        misuse("an unknown type");
    if (fails())
        return ALLOC_FAILED;
    p->rank = rank;
    p->type = type;
    p->batch = batch;
    for (int i = 0; i < rank; i++) {
        if (n[i] < 1)
            misuse("a length below 1");
        p->n[i] = n[i];
    }
    p->made = 1;
    count(&seen.made, 1);
    *bytes = elements(p) * AREA_FOR_EACH;
    return OK;
}

int cufftSetWorkArea(int plan, void *area) {
    struct plan *p = of(plan);
    if (!p->made || (uintptr_t)area % AREA_ALIGN ||
        !fake.cuda.bytes((uint64_t)(uintptr_t)area, elements(p) * AREA_FOR_EACH))
        misuse("a work area that is not device memory, or not aligned");
    if (fails())
        return INVALID_PLAN;
    p->area = area;
    return OK;
}

int cufftSetStream(int plan, void *stream) {
    struct plan *p = of(plan);
    if (!p->made || !stream)
        misuse("a stream of no plan, or none");
    if (fails())
        return INVALID_PLAN;
    p->stream = stream;
    return OK;
}

/* ---- transforms ------------------------------------------------------------------------------ */

static int is_wide(const struct plan *p) {
    return p->type == Z2Z || p->type == D2Z || p->type == Z2D;
}

static int from_real(const struct plan *p) {
    return p->type == R2C || p->type == D2Z;
}

static int to_real(const struct plan *p) {
    return p->type == C2R || p->type == Z2D;
}

static double load(const struct task *t, size_t i) {
    float f;
    double x;
    if (is_wide(&t->plan))
        return memcpy(&x, t->in + 8 * i, sizeof x), x;
    return memcpy(&f, t->in + 4 * i, sizeof f), (double)f;
}

static void store(const struct task *t, size_t i, double x) {
    float f = (float)x;
    if (is_wide(&t->plan))
        memcpy(t->out + 8 * i, &x, sizeof x);
    else
        memcpy(t->out + 4 * i, &f, sizeof f);
}

/* Along one dimension of a dense array of complex numbers: `n` of them, `step` apart, as often as there are. */
static void along(double complex *x, size_t all, size_t n, size_t step, int direction) {
    double complex *line = malloc(n * sizeof *line);
    for (size_t i = 0; i < all; i++) {
        if (i / step % n)
            continue;
        for (size_t k = 0; k < n; k++) {
            line[k] = 0;
            for (size_t j = 0; j < n; j++)
                line[k] += x[i + j * step] *
                           cexp(direction * 2 * 3.14159265358979323846 * I * (double)(j * k % n) / (double)n);
        }
        for (size_t k = 0; k < n; k++)
            x[i + k * step] = line[k];
    }
    free(line);
}

/* Where the complex number at i of whole transforms is in an array of halves, and whether it is the conjugate that is there. */
static size_t half_of(const struct plan *p, size_t i, int *conjugate) {
    size_t at = 0, stride = 1, half, index[MOST_DIMS];
    for (int d = p->rank; d-- > 0; i /= (size_t)p->n[d])
        index[d] = i % (size_t)p->n[d];
    half = (size_t)p->n[p->rank - 1] / 2 + 1;
    *conjugate = index[p->rank - 1] >= half;
    for (int d = p->rank; d-- > 0;) {
        size_t n = (size_t)p->n[d], k = *conjugate ? (n - index[d]) % n : index[d];
        at += k * stride;
        stride *= d == p->rank - 1 ? half : n;
    }
    return at + i * stride;
}

static void run(void *user) {
    struct task *t = user;
    const struct plan *p = &t->plan;
    size_t all = elements(p), step = 1;
    double complex *x = malloc(all * sizeof *x);
    int conjugate;
    for (size_t i = 0; i < all; i++) {
        size_t at = to_real(p) ? half_of(p, i, &conjugate) : i;
        x[i] = from_real(p) ? load(t, i) : load(t, 2 * at) + I * load(t, 2 * at + 1);
        x[i] = to_real(p) && conjugate ? conj(x[i]) : x[i];
    }
    for (int d = p->rank; d-- > 0; step *= (size_t)p->n[d])
        along(x, all, (size_t)p->n[d], step, t->direction);
    for (size_t i = 0; i < all; i++) {
        size_t at = from_real(p) ? half_of(p, i, &conjugate) : i;
        if (from_real(p) && conjugate)
            continue;
        store(t, to_real(p) ? i : 2 * at, creal(x[i]));
        if (!to_real(p))
            store(t, 2 * at + 1, cimag(x[i]));
    }
    memset(t->area, 0x5A, all * AREA_FOR_EACH);
    if (to_real(p))
        memset(t->in, 0xA5, t->in_bytes);
    free(x);
    free(t);
}

static size_t halves(const struct plan *p) {
    size_t last = (size_t)p->n[p->rank - 1];
    return elements(p) / last * (last / 2 + 1);
}

static int enqueue(int plan, int type, const void *in, void *out, int direction) {
    const struct plan *p = of(plan);
    if (p->type != type || !p->area || !p->stream || !fake.cuda.has_context())
        misuse("a transform of another type, or without its area, its stream, or the context");
    if (fails())
        return EXEC_FAILED;
    size_t number = is_wide(p) ? 8 : 4, some = from_real(p) || to_real(p) ? halves(p) : elements(p);
    size_t in_bytes = (from_real(p) ? elements(p) : 2 * some) * number,
           out_bytes = (to_real(p) ? elements(p) : 2 * some) * number;
    struct task *t = malloc(sizeof *t);
    *t = (struct task){*p, direction, in_bytes, fake.cuda.bytes((uint64_t)(uintptr_t)in, in_bytes),
                       fake.cuda.bytes((uint64_t)(uintptr_t)out, out_bytes),
                       fake.cuda.bytes((uint64_t)(uintptr_t)p->area, elements(p) * AREA_FOR_EACH)};
    if (!t->in || !t->out || in == out || (uintptr_t)in % (2 * number) || (uintptr_t)out % (2 * number))
        misuse("numbers outside of device memory, in place, or not aligned");
    count(&seen.transforms, 1);
    count(&seen.inverse, direction > 0);
    count(&seen.real, from_real(p) || to_real(p));
    fake.cuda.enqueue(p->stream, run, t);
    return OK;
}

int cufftExecC2C(int plan, const void *in, void *out, int direction) {
    return enqueue(plan, C2C, in, out, direction);
}

int cufftExecZ2Z(int plan, const void *in, void *out, int direction) {
    return enqueue(plan, Z2Z, in, out, direction);
}

int cufftExecR2C(int plan, const void *in, void *out) {
    return enqueue(plan, R2C, in, out, -1);
}

int cufftExecD2Z(int plan, const void *in, void *out) {
    return enqueue(plan, D2Z, in, out, -1);
}

int cufftExecC2R(int plan, const void *in, void *out) {
    return enqueue(plan, C2R, in, out, 1);
}

int cufftExecZ2D(int plan, const void *in, void *out) {
    return enqueue(plan, Z2D, in, out, 1);
}

__attribute__((destructor)) static void report(void) {
    report_line("transforms %d inverse %d real %d plans %d\n", seen.transforms, seen.inverse, seen.real, seen.made);
}
