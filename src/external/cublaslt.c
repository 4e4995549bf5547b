/* cuBLASLt, of NVIDIA's toolkits since CUDA 12: products, with what is added to them.
 *
 * Its matrices are columns one after the other, hilo's rows: so it is asked for the transposed product, of the transposed
 * operands in the other order, and nothing is moved. The algorithm is what its heuristic names first, asked once for each
 * product; it depends on the shapes, the device and the version of the library alone. Sums of parts of a product are in the
 * order of the parts (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE), or there are none. */
#include "external/cublaslt.h"

#include "external/external.h"

#include <pthread.h>
#include <stdio.h>

/* Values of cublasLt.h, library_types.h and cublas_api.h. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14 }; /* cudaDataType_t */
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };       /* cublasComputeType_t */
enum { OP_T = 1 };                                                   /* cublasOperation_t */
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS_POINTER = 8 };
enum { LAYOUT_BATCH_COUNT = 5, LAYOUT_BATCH_OFFSET = 6 };
enum { PREF_WORKSPACE_BYTES = 1, PREF_REDUCTION_SCHEMES = 3, PREF_ALIGNMENT_A = 5 /* and of B, C, D after it */ };
enum { EPILOGUE_DEFAULT = 1, EPILOGUE_BIAS = 4 };
enum { REDUCTION_COMPUTE_TYPE = 2, NOT_SUPPORTED = 15 };
enum { ALIGN = 16, WORKSPACE_ALIGN = 256, WORKSPACE = 32 << 20 };

struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
};

struct cublaslt {
    size_t (*version)(void);
    const char *(*status_name)(int status);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t step);
    int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
    int (*layout_destroy)(void *layout);
    int (*pref_create)(void **pref);
    int (*pref_set)(void *pref, int attribute, const void *value, size_t bytes);
    int (*pref_destroy)(void *pref);
    int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int most, struct heuristic *out,
                     int *n);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                  const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const uint64_t *algorithm,
                  void *workspace, size_t bytes, void *stream);
};
#define FUNCTION(name, field) {"cublasLt" name, offsetof(struct cublaslt, field), false}
static const struct ext_function cublaslt_functions[] = {
    FUNCTION("GetVersion", version),
    FUNCTION("GetStatusName", status_name),
    FUNCTION("Create", create),
    FUNCTION("Destroy", destroy),
    FUNCTION("MatmulDescCreate", desc_create),
    FUNCTION("MatmulDescSetAttribute", desc_set),
    FUNCTION("MatmulDescDestroy", desc_destroy),
    FUNCTION("MatrixLayoutCreate", layout_create),
    FUNCTION("MatrixLayoutSetAttribute", layout_set),
    FUNCTION("MatrixLayoutDestroy", layout_destroy),
    FUNCTION("MatmulPreferenceCreate", pref_create),
    FUNCTION("MatmulPreferenceSetAttribute", pref_set),
    FUNCTION("MatmulPreferenceDestroy", pref_destroy),
    FUNCTION("MatmulAlgoGetHeuristic", heuristic),
    FUNCTION("Matmul", matmul),
};

static struct {
    pthread_once_t once;
    struct cublaslt table;
    struct ext_opened opened;
} cublaslt_state = {.once = PTHREAD_ONCE_INIT};

static void cublaslt_open(void) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    if (ext_open("HILO_CUBLASLT_PATH", names, cublaslt_functions, sizeof cublaslt_functions / sizeof *cublaslt_functions,
                 &cublaslt_state.table, &cublaslt_state.opened))
        snprintf(cublaslt_state.opened.version, sizeof cublaslt_state.opened.version, "%zu", cublaslt_state.table.version());
}

const struct ext_opened *ext_open_cublaslt(void) {
    pthread_once(&cublaslt_state.once, cublaslt_open);
    return &cublaslt_state.opened;
}

static hilo_status check(int error, const char *call, struct diag_list *d) {
    if (!error)
        return HILO_OK;
    return diag_error(d, error == NOT_SUPPORTED ? HILO_UNIMPLEMENTED : HILO_INTERNAL, "cublasLt%s: %s", call,
                      cublaslt_state.table.status_name(error));
}

/* One handle for a device: calls of several threads may use it at once. */
static hilo_status handle_make(struct gpu *g, struct diag_list *d, void **out) {
    (void)g;
    return check(cublaslt_state.table.create(out), "Create", d);
}

static void handle_release(void *handle) {
    (void)cublaslt_state.table.destroy(handle);
}

static const struct gpu_library cublaslt_library = {handle_make, handle_release};

/* ---- a product -------------------------------------------------------------------------------- */

/* As the library has them: `a` is hilo's b, transposed, and the other way round. */
enum { A, B, C, MATRICES };

/* In what a product adds up, and the factors of the product and of what was there before, which are of a type of theirs. */
struct sums {
    enum ir_dtype of; /* operands; the last row has the others */
    int compute, scale;
    const void *one, *zero;
};
static const float one_f32 = 1, zero_f32 = 0;
static const double one_f64 = 1, zero_f64 = 0;
static const int32_t one_i32 = 1, zero_i32 = 0;
static const struct sums all_sums[] = {{IR_F64_T, COMPUTE_64F, R_64F, &one_f64, &zero_f64},
                                       {IR_I8_T, COMPUTE_32I, R_32I, &one_i32, &zero_i32},
                                       {IR_DTYPE_NONE, COMPUTE_32F, R_32F, &one_f32, &zero_f32}};

struct product {
    struct ext_product p;
    pthread_mutex_t lock; /* of the description, into which each call puts its bias */
    void *handle; /* the device's */
    void *desc, *layout[MATRICES], *pref;
    struct heuristic algorithm;
    const struct sums *sums;
};

static int data_type(enum ir_dtype t) {
    switch (t) {
    case IR_F64_T:
        return R_64F;
    case IR_F16_T:
        return R_16F;
    case IR_BF16_T:
        return R_16BF;
    case IR_I8_T:
        return R_8I;
    case IR_I32_T:
        return R_32I;
    default:
        return R_32F;
    }
}

/* Strides and sizes of an operand's two dimensions, of which the first is to be that of a column. */
struct side {
    int64_t stride[2];
    size_t size[2];
};
struct stored {
    int32_t transposed;
    int64_t step;
};

static bool store(const struct side *s, struct stored *out) {
    for (int t = 0; t < 2; t++) {
        int64_t step = s->size[!t] <= 1 ? (int64_t)s->size[t] : s->stride[!t];
        *out = (struct stored){t ? OP_T : 0, step};
        if ((s->stride[t] == 1 || s->size[t] <= 1) && step >= (int64_t)s->size[t])
            return true;
    }
    return false;
}

static int64_t stride(const struct dot_dims *d, bool left) {
    return d->n == 0 ? 1 : left ? d->dim[0].a : d->dim[0].b;
}

static hilo_status make_layout(struct product *x, int i, int type, uint64_t rows, uint64_t columns, int64_t step,
                               int64_t offset, struct diag_list *d) {
    const struct cublaslt *l = &cublaslt_state.table;
    const int32_t batches = (int32_t)x->p.axes.batch.count;
    HILO_TRY(check(l->layout_create(&x->layout[i], type, rows, columns, step), "MatrixLayoutCreate", d));
    if (batches == 1)
        return HILO_OK;
    HILO_TRY(check(l->layout_set(x->layout[i], LAYOUT_BATCH_COUNT, &batches, sizeof batches), "MatrixLayoutSetAttribute", d));
    return check(l->layout_set(x->layout[i], LAYOUT_BATCH_OFFSET, &offset, sizeof offset), "MatrixLayoutSetAttribute", d);
}

static hilo_status make_layouts(struct product *x, const struct stored *a, const struct stored *b, struct diag_list *d) {
    const struct dot_axes *v = &x->p.axes;
    size_t m = v->rows.count, n = v->columns.count, k = v->depth.count;
    int in = data_type(v->in), out = data_type(v->out);
    HILO_TRY(make_layout(x, A, in, a->transposed ? k : n, a->transposed ? n : k, a->step, stride(&v->batch, false), d));
    HILO_TRY(make_layout(x, B, in, b->transposed ? m : k, b->transposed ? k : m, b->step, stride(&v->batch, true), d));
    return make_layout(x, C, out, n, m, (int64_t)n, (int64_t)(m * n), d); /* of memory that exists */
}

static hilo_status describe(struct product *x, const struct stored *a, const struct stored *b, struct diag_list *d) {
    const struct cublaslt *l = &cublaslt_state.table;
    const int32_t epilogue = x->p.bias >= 0 ? EPILOGUE_BIAS : EPILOGUE_DEFAULT;
    const struct {
        int attribute;
        const int32_t *value;
    } set[] = {{DESC_TRANSA, &a->transposed}, {DESC_TRANSB, &b->transposed}, {DESC_EPILOGUE, &epilogue}};
    int error = l->desc_create(&x->desc, x->sums->compute, x->sums->scale);
    HILO_TRY(check(error, "MatmulDescCreate", d));
    for (size_t i = 0; i < sizeof set / sizeof *set && !error; i++)
        error = l->desc_set(x->desc, set[i].attribute, set[i].value, sizeof *set[i].value);
    return check(error, "MatmulDescSetAttribute", d);
}

static hilo_status choose(struct product *x, struct diag_list *d) {
    const struct cublaslt *l = &cublaslt_state.table;
    const uint64_t workspace = WORKSPACE;
    const uint32_t schemes = REDUCTION_COMPUTE_TYPE, align = ALIGN;
    int n = 0;
    HILO_TRY(check(l->pref_create(&x->pref), "MatmulPreferenceCreate", d));
    int error = l->pref_set(x->pref, PREF_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (!error)
        error = l->pref_set(x->pref, PREF_REDUCTION_SCHEMES, &schemes, sizeof schemes);
    for (int i = 0; i < 4 && !error; i++)
        error = l->pref_set(x->pref, PREF_ALIGNMENT_A + i, &align, sizeof align);
    HILO_TRY(check(error, "MatmulPreferenceSetAttribute", d));
    error = l->heuristic(x->handle, x->desc, x->layout[A], x->layout[B], x->layout[C], x->layout[C], x->pref, 1, &x->algorithm,
                         &n);
    if (!error && (n < 1 || x->algorithm.status))
        error = NOT_SUPPORTED;
    return check(error, "MatmulAlgoGetHeuristic", d);
}

static bool has_types(enum ir_dtype in, enum ir_dtype out) {
    bool narrow = in == IR_F16_T || in == IR_BF16_T;
    return in == IR_I8_T ? out == IR_I32_T : out == in ? narrow || in == IR_F32_T || in == IR_F64_T : narrow && out == IR_F32_T;
}

static bool has_one_stride(const struct dot_dims *d) {
    return d->n <= 1 && d->count > 0 && d->count <= INT32_MAX;
}

hilo_status ext_product_prepare(const struct ext_product *p, struct gpu *g, struct diag_list *d, void **out) {
    const struct dot_axes *v = &p->axes;
    const struct side left = {{stride(&v->depth, true), stride(&v->rows, true)}, {v->depth.count, v->rows.count}},
                      right = {{stride(&v->columns, false), stride(&v->depth, false)}, {v->columns.count, v->depth.count}};
    struct stored a, b;
    const char *why = ext_missing(LIB_CUBLASLT);
    if (why)
        return diag_error(d, HILO_UNAVAILABLE, "no cuBLASLt: %s", why);
    if (!has_types(v->in, v->out) || !has_one_stride(&v->batch) || !has_one_stride(&v->rows) ||
        !has_one_stride(&v->columns) || !has_one_stride(&v->depth) || !store(&right, &a) || !store(&left, &b))
        return diag_error(d, HILO_UNIMPLEMENTED, "a product of types or strides that cuBLASLt does not have");
    const hilo_allocator al = mem_system_allocator();
    struct product *x = mem_alloc(&al, sizeof *x);
    if (!x)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *x = (struct product){.p = *p, .sums = all_sums};
    while (x->sums->of != v->in && x->sums->of != IR_DTYPE_NONE)
        x->sums++;
    pthread_mutex_init(&x->lock, NULL);
    hilo_status status = gpu_library(g, &cublaslt_library, d, &x->handle);
    if (status == HILO_OK)
        status = describe(x, &a, &b, d);
    if (status == HILO_OK)
        status = make_layouts(x, &a, &b, d);
    if (status == HILO_OK)
        status = choose(x, d);
    if (status == HILO_OK)
        *out = x;
    else
        ext_product_release(x);
    return status;
}

void ext_product_release(void *product) {
    const struct cublaslt *l = &cublaslt_state.table;
    struct product *x = product;
    if (x->pref)
        (void)l->pref_destroy(x->pref);
    for (int i = 0; i < MATRICES; i++)
        if (x->layout[i])
            (void)l->layout_destroy(x->layout[i]);
    if (x->desc)
        (void)l->desc_destroy(x->desc);
    pthread_mutex_destroy(&x->lock);
    const hilo_allocator al = mem_system_allocator();
    mem_free(&al, x, sizeof *x);
}

size_t ext_product_workspace(const void *product) {
    const struct product *x = product;
    size_t bytes = x->algorithm.workspace_bytes;
    return bytes ? bytes + WORKSPACE_ALIGN : 0;
}

static bool is_aligned(const void *p) {
    return (uintptr_t)p % ALIGN == 0;
}

hilo_status ext_product_run(void *product, void *stream, void *const *buffers, void *workspace, struct diag_list *d) {
    const struct cublaslt *l = &cublaslt_state.table;
    struct product *x = product;
    const struct ext_product *p = &x->p;
    const void *a = buffers[p->b], *b = buffers[p->a], *bias = p->bias >= 0 ? buffers[p->bias] : NULL;
    void *out = buffers[p->out];
    const void *added = p->added >= 0 ? buffers[p->added] : out; /* may be the result's memory */
    if (!is_aligned(a) || !is_aligned(b) || !is_aligned(out) || !is_aligned(bias) || !is_aligned(added) || out == a ||
        out == b || out == bias)
        return HILO_UNIMPLEMENTED;
    uintptr_t at = ((uintptr_t)workspace + WORKSPACE_ALIGN - 1) & ~(uintptr_t)(WORKSPACE_ALIGN - 1);
    size_t bytes = x->algorithm.workspace_bytes;
    pthread_mutex_lock(&x->lock);
    hilo_status status =
        bias ? check(l->desc_set(x->desc, DESC_BIAS_POINTER, &bias, sizeof bias), "MatmulDescSetAttribute", d) : HILO_OK;
    if (status == HILO_OK)
        status = check(l->matmul(x->handle, x->desc, x->sums->one, a, x->layout[A], b, x->layout[B],
                                 p->added >= 0 ? x->sums->one : x->sums->zero, added, x->layout[C], out, x->layout[C],
                                 x->algorithm.algorithm, bytes ? (void *)at : NULL, bytes, stream),
                       "Matmul", d);
    pthread_mutex_unlock(&x->lock);
    return status == HILO_UNIMPLEMENTED ? HILO_INTERNAL : status; /* which it had said it would do */
}
