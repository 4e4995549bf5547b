/* A stand-in for cuBLASLt on top of that for the driver (libcuda.c), in whose streams its products run, by sums in f64. It
 * checks what the library's documentation demands: handles, descriptions, layouts against operations and sizes, leading
 * dimensions, memory of all that is read and written, alignment, the workspace, that the algorithm was made for this
 * product, and that it may not add up in any order. It reports "products N bias N added N transposed N batched N handles N
 * algorithms N" (library.h). */
#include "base/fp.h"

#define FAKE_NAME "cuBLASLt"
#define FAKE_VARIABLE "CUBLASLT"
#include "gpu/library.h"

enum { OK = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };
enum { WORKSPACE = 4096, MARK = 0x68696c6f };

struct desc { int mark, compute, scale, epilogue, transposed[2]; const void *bias; };
struct layout { int mark, type; uint64_t rows, columns; int64_t step, offset; int batches; };
struct pref { int mark; uint64_t workspace; uint32_t schemes, align[4]; };
struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
};

/* A product whose turn comes. */
struct task {
    struct desc desc;
    struct layout a, b, d;
    const char *pa, *pb, *pc, *bias; /* pc: NULL: nothing is added */
    char *pd, *workspace;
};

static struct { int products, bias, added, transposed, batched, handles, algorithms; } seen;

static size_t type_bytes(int type) {
    static const size_t bytes[] = {[R_32F] = 4, [R_64F] = 8, [R_16F] = 2, [R_8I] = 1, [R_32I] = 4, [R_16BF] = 2};
    return type < (int)(sizeof bytes / sizeof *bytes) ? bytes[type] : 0;
}

static void *made(size_t bytes) {
    int *p = calloc(1, bytes);
    *p = MARK;
    count(&fake.live, 1);
    return p;
}

static int ended(void *p) {
    if (!p || *(int *)p != MARK)
        misuse("the end of what is not there");
    *(int *)p = 0;
    free(p);
    count(&fake.live, -1);
    return OK;
}

/* Checks a handle. */
static void *of(void *p) {
    if (!p || *(int *)p != MARK)
        misuse("a handle of nothing");
    return p;
}

EXPORT size_t cublasLtGetVersion(void);
EXPORT const char *cublasLtGetStatusName(int status);
EXPORT int cublasLtCreate(void **handle);
EXPORT int cublasLtDestroy(void *handle);
EXPORT int cublasLtMatmulDescCreate(void **desc, int compute, int scale);
EXPORT int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes);
EXPORT int cublasLtMatmulDescDestroy(void *desc);
EXPORT int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t step);
EXPORT int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);
EXPORT int cublasLtMatrixLayoutDestroy(void *layout);
EXPORT int cublasLtMatmulPreferenceCreate(void **pref);
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *pref, int attribute, const void *value, size_t bytes);
EXPORT int cublasLtMatmulPreferenceDestroy(void *pref);
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int most,
                                          struct heuristic *out, int *n);
EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,
                          void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                          const uint64_t *algorithm, void *workspace, size_t bytes, void *stream);

size_t cublasLtGetVersion(void) {
    return 130000;
}

const char *cublasLtGetStatusName(int status) {
    return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}

/* Of the device whose context the thread has. */
int cublasLtCreate(void **handle) {
    if (!begins())
        return NOT_INITIALIZED;
    *handle = made(sizeof(int));
    count(&seen.handles, 1);
    return OK;
}

int cublasLtDestroy(void *handle) {
    return ended(handle);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
    if (!(compute == COMPUTE_32F && scale == R_32F) && !(compute == COMPUTE_64F && scale == R_64F) &&
        !(compute == COMPUTE_32I && scale == R_32I))
        misuse("types of sums and factors");
    if (fails())
        return ALLOC_FAILED;
    struct desc *x = made(sizeof *x);
    *x = (struct desc){.mark = MARK, .compute = compute, .scale = scale, .epilogue = 1};
    *desc = x;
    return OK;
}

static void take(const void *value, size_t bytes, void *out, size_t size) {
    if (bytes != size)
        misuse("an attribute of another size");
    memcpy(out, value, size);
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes) {
    struct desc *x = of(desc);
    if (fails())
        return INVALID_VALUE;
    if (attribute == 3 || attribute == 4)
        take(value, bytes, &x->transposed[attribute - 3], sizeof(int));
    else if (attribute == 7)
        take(value, bytes, &x->epilogue, sizeof(int));
    else if (attribute == 8)
        take(value, bytes, &x->bias, sizeof x->bias);
    else
        misuse("an unknown attribute of a product");
    if (x->transposed[0] > 1 || x->transposed[1] > 1 || (x->epilogue != 1 && x->epilogue != 4))
        misuse("an unknown operation or epilogue");
    return OK;
}

int cublasLtMatmulDescDestroy(void *desc) {
    return ended(desc);
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t step) {
    if (!rows || !columns || step < (int64_t)rows || type < 0 || !type_bytes(type))
        misuse("a layout of no matrix");
    if (fails())
        return ALLOC_FAILED;
    struct layout *x = made(sizeof *x);
    *x = (struct layout){MARK, type, rows, columns, step, 0, 1};
    *layout = x;
    return OK;
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes) {
    struct layout *x = of(layout);
    if (fails())
        return INVALID_VALUE;
    if (attribute == 5)
        take(value, bytes, &x->batches, sizeof x->batches);
    else if (attribute == 6)
        take(value, bytes, &x->offset, sizeof x->offset);
    else
        misuse("an unknown attribute of a layout");
    return OK;
}

int cublasLtMatrixLayoutDestroy(void *layout) {
    return ended(layout);
}

int cublasLtMatmulPreferenceCreate(void **pref) {
    if (fails())
        return ALLOC_FAILED;
    struct pref *x = made(sizeof *x);
    *x = (struct pref){.mark = MARK, .schemes = 7, .align = {256, 256, 256, 256}};
    *pref = x;
    return OK;
}

int cublasLtMatmulPreferenceSetAttribute(void *pref, int attribute, const void *value, size_t bytes) {
    struct pref *x = of(pref);
    if (fails())
        return INVALID_VALUE;
    if (attribute == 1)
        take(value, bytes, &x->workspace, sizeof x->workspace);
    else if (attribute == 3)
        take(value, bytes, &x->schemes, sizeof x->schemes);
    else if (attribute >= 5 && attribute <= 8)
        take(value, bytes, &x->align[attribute - 5], sizeof *x->align);
    else
        misuse("an unknown preference");
    return OK;
}

int cublasLtMatmulPreferenceDestroy(void *pref) {
    return ended(pref);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Sizes of op(x). */
static void sizes(const struct layout *x, int transposed, uint64_t out[2]) {
    out[0] = transposed ? x->columns : x->rows;
    out[1] = transposed ? x->rows : x->columns;
}

/* A number of the product, which an algorithm keeps. */
static uint64_t fingerprint(const struct desc *x, const struct layout *const *v) {
    uint64_t h = (uint64_t)x->epilogue * 31 + (uint64_t)x->transposed[0] * 2 + (uint64_t)x->transposed[1];
    for (int i = 0; i < 3; i++)
        h = (((h * 1000003 + v[i]->rows) * 1000003 + v[i]->columns) * 1000003 + (uint64_t)v[i]->step) * 1000003 +
            (uint64_t)v[i]->offset + (uint64_t)v[i]->type + (uint64_t)v[i]->batches;
    return h;
}

static void check(const struct desc *x, const struct layout *const *v) {
    uint64_t a[2], b[2];
    sizes(v[0], x->transposed[0], a);
    sizes(v[1], x->transposed[1], b);
    if (a[1] != b[0] || a[0] != v[2]->rows || b[1] != v[2]->columns || v[0]->type != v[1]->type ||
        v[0]->batches != v[2]->batches || v[1]->batches != v[2]->batches ||
        (x->compute == COMPUTE_64F) != (v[0]->type == R_64F) || (x->compute == COMPUTE_64F) != (v[2]->type == R_64F) ||
        (x->compute == COMPUTE_32I) != (v[0]->type == R_8I) || (x->compute == COMPUTE_32I) != (v[2]->type == R_32I))
        misuse("a product of matrices that do not fit");
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int most,
                                   struct heuristic *out, int *n) {
    const struct layout *v[] = {of(a), of(b), of(d)};
    const struct pref *p = of(pref);
    of(handle);
    const struct desc *x = of(desc);
    check(x, v);
    if (c != d || most != 1)
        misuse("more than one result");
    if (p->schemes & (1 | 4)) /* in place, and of results: their order is the library's */
        misuse("an algorithm that may add up in any order");
    if (p->align[0] != 16 || p->align[1] != 16 || p->align[2] != 16 || p->align[3] != 16)
        misuse("alignments other than those that are checked");
    bool bytes_of_four = x->transposed[0] && !x->transposed[1] && v[0]->step % 4 == 0 && v[1]->step % 4 == 0 &&
                         v[2]->step % 4 == 0 && v[2]->columns % 4 == 0;
    if (fails() || (x->compute == COMPUTE_32I && !bytes_of_four)) /* which is what it has for bytes */
        return NOT_SUPPORTED;
    *out = (struct heuristic){.algorithm = {fingerprint(x, v)},
                              .workspace_bytes = v[0]->rows > 32 && p->workspace >= WORKSPACE ? WORKSPACE : 0};
    *n = 1;
    count(&seen.algorithms, 1);
    return OK;
}

static double load(int type, const char *p, int64_t i) {
    uint16_t h;
    int32_t n;
    float f;
    double w;
    if (type == R_8I)
        return (double)((const signed char *)p)[i];
    if (type == R_32I)
        return memcpy(&n, p + 4 * i, sizeof n), (double)n;
    if (type == R_64F)
        return memcpy(&w, p + 8 * i, sizeof w), w;
    if (type == R_32F)
        return memcpy(&f, p + 4 * i, sizeof f), (double)f;
    memcpy(&h, p + 2 * i, sizeof h);
    return (double)(type == R_16F ? f16_to_f32(h) : bf16_to_f32(h));
}

static void store(int type, char *p, int64_t i, double x) {
    float f = (float)x;
    int32_t n = (int32_t)(uint32_t)(int64_t)x;
    uint16_t h = type == R_16F ? f32_to_f16(f) : f32_to_bf16(f);
    if (type == R_64F)
        memcpy(p + 8 * i, &x, sizeof x);
    else if (type == R_32F)
        memcpy(p + 4 * i, &f, sizeof f);
    else if (type == R_32I)
        memcpy(p + 4 * i, &n, sizeof n);
    else
        memcpy(p + 2 * i, &h, sizeof h);
}

static double element(const struct task *t, int64_t batch, int64_t i, int64_t j, int64_t depth) {
    double sum = 0;
    for (int64_t k = 0; k < depth; k++) {
        int64_t a = t->desc.transposed[0] ? k + i * t->a.step : i + k * t->a.step;
        int64_t b = t->desc.transposed[1] ? j + k * t->b.step : k + j * t->b.step;
        sum += load(t->a.type, t->pa, batch * t->a.offset + a) * load(t->b.type, t->pb, batch * t->b.offset + b);
    }
    return sum;
}

static void run(void *user) {
    struct task *t = user;
    int64_t depth = (int64_t)(t->desc.transposed[0] ? t->a.rows : t->a.columns);
    for (int64_t batch = 0; batch < t->d.batches; batch++)
        for (int64_t j = 0; j < (int64_t)t->d.columns; j++)
            for (int64_t i = 0; i < (int64_t)t->d.rows; i++) {
                double x = element(t, batch, i, j, depth);
                x += t->pc ? load(t->d.type, t->pc, batch * t->d.offset + i + j * t->d.step) : 0;
                x += t->bias ? load(t->d.type, t->bias, i) : 0;
                store(t->d.type, t->pd, batch * t->d.offset + i + j * t->d.step, x);
            }
    if (t->workspace)
        memset(t->workspace, 0x5A, WORKSPACE);
    free(t);
}

/* The bytes of a matrix in device memory. */
static char *bytes_of(const void *p, const struct layout *x) {
    int64_t last = (x->batches - 1) * x->offset + (int64_t)(x->columns - 1) * x->step + (int64_t)x->rows;
    char *at = fake.cuda.bytes((uint64_t)(uintptr_t)p, (size_t)last * type_bytes(x->type));
    if (!at || (uintptr_t)p % 16)
        misuse("a matrix outside of device memory, or not aligned");
    return at;
}

static double factor(const void *p, int type) {
    return load(type, p, 0);
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                   const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const uint64_t *algorithm,
                   void *workspace, size_t bytes, void *stream) {
    const struct desc *x = of(desc);
    const struct layout *v[] = {of(a_layout), of(b_layout), of(d_layout)};
    of(handle);
    check(x, v);
    const bool adds = factor(beta, x->scale) != 0;
    if (factor(alpha, x->scale) != 1 || (adds && factor(beta, x->scale) != 1) || (!adds && c != d) || c_layout != d_layout)
        misuse("factors, or a third operand");
    if (algorithm[0] != fingerprint(x, v))
        misuse("an algorithm of another product");
    if (x->epilogue == 4 && !x->bias)
        misuse("a product without its bias");
    if (!fake.cuda.has_context())
        misuse("a product without the context");
    if (fails())
        return EXECUTION_FAILED;
    struct task *t = calloc(1, sizeof *t);
    *t = (struct task){.desc = *x, .a = *v[0], .b = *v[1], .d = *v[2], .pa = bytes_of(a, v[0]), .pb = bytes_of(b, v[1]),
                       .pc = adds ? bytes_of(c, v[2]) : NULL, .pd = bytes_of(d, v[2])};
    if (x->epilogue == 4) {
        t->bias = fake.cuda.bytes((uint64_t)(uintptr_t)x->bias, v[2]->rows * type_bytes(v[2]->type));
        if (!t->bias)
            misuse("a bias outside of device memory");
    }
    if (v[0]->rows > 32) {
        t->workspace = fake.cuda.bytes((uint64_t)(uintptr_t)workspace, WORKSPACE);
        if (!t->workspace || bytes < WORKSPACE || (uintptr_t)workspace % 256)
            misuse("the workspace");
    }
    count(&seen.products, 1);
    count(&seen.bias, x->epilogue == 4);
    count(&seen.added, adds);
    count(&seen.transposed, x->transposed[0] || x->transposed[1]);
    count(&seen.batched, v[2]->batches > 1);
    fake.cuda.enqueue(stream, run, t);
    return OK;
}

__attribute__((destructor)) static void report(void) {
    report_line("products %d bias %d added %d transposed %d batched %d handles %d algorithms %d\n", seen.products, seen.bias,
                seen.added, seen.transposed, seen.batched, seen.handles, seen.algorithms);
}
