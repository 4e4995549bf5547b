/* Factors by cuSOLVER that are LAPACK's functions: LU, QR, reflectors, eigenvalues, singular values.
 *
 * Its matrices are columns one after the other, hilo's rows: they are transposed before and after by a kernel, which is given
 * to the driver as PTX. Of singular values of matrices with more columns than rows nothing is moved: it has those of the
 * transposed, for which u and vᴴ change places. A call is for one matrix of a batch; what it tells (devInfo) is a result of the
 * program. */
#include "external/cusolver.h"
#include "external/external.h"

#include "library/factors.h"

#include <limits.h>
#include <stdio.h>

/* Values of cublas_api.h and cusolver_common.h. */
enum { FILL_LOWER = 0, FILL_UPPER = 1, EIG_MODE_NOVECTOR = 0, EIG_MODE_VECTOR = 1 };
enum { ALIGN = 16, AREA_ALIGN = 256, MOST_BATCHES = 64, THREADS = 256, BLOCKS = 1024, MOST_TURNS = 3 };
enum { MOST = 46340 }; /* rows: numbers of a matrix fit 31 bits, as do the parameters */

/* A kernel that transposes the matrices of a batch. */
struct turn {
    struct gpu_module *module;
    struct gpu_function *function;
    size_t numbers;
};

struct factors {
    struct factor f;
    struct gpu *gpu;
    struct ext_handle *solver;
    unsigned type;
    int area;                                      /* numbers of a call's area */
    size_t bytes;                                  /* of a number */
    /* Of scratch memory: transposed matrices, info that is no result, the area. */
    size_t at_matrix, at_u, at_v, at_info, at_area;
    size_t scratch_bytes;
    struct turn turn[MOST_TURNS];
};

static size_t columns_of_u(const struct factor *f) {
    return f->full ? f->m : f->k;
}

/* Whether the library is given the transposed as it is in memory. */
static bool is_wide(const struct factor *f) {
    return f->kind == FACTOR_SVD && f->m < f->n;
}

/* ---- preparing --------------------------------------------------------------------------------- */

static bool factors_read_match(const struct lib_match *m, enum factor_kind kind, struct factors *x) {
    *x = (struct factors){.gpu = m->gpu};
    if (!m->gpu || !factors_read(kind, m->params, m->nparams, &x->f))
        return false;
    x->type = ext_cusolver_type(x->f.type);
    x->bytes = ir_dtype_get(x->f.type)->bytes;
    return x->type < CUSOLVER_TYPES && x->f.m && x->f.n && x->f.m <= MOST && x->f.n <= MOST && x->f.batch &&
           x->f.batch <= MOST_BATCHES && (x->f.kind != FACTOR_REFLECTORS || x->f.k);
}

static hilo_status ask_area(struct factors *x, struct diag_list *d) {
    const struct cusolver *l = ext_cusolver();
    const struct factor *f = &x->f;
    void *handle = x->solver->handle;
    int m = (int)f->m, n = (int)f->n, k = (int)f->k, fill = f->upper ? FILL_UPPER : FILL_LOWER;
    switch (f->kind) {
    case FACTOR_LU:
        return ext_cusolver_check(l->getrf_size[x->type](handle, m, n, NULL, m, &x->area), "Dngetrf_bufferSize", d);
    case FACTOR_QR:
        return ext_cusolver_check(l->geqrf_size[x->type](handle, m, n, NULL, m, &x->area), "Dngeqrf_bufferSize", d);
    case FACTOR_REFLECTORS:
        return ext_cusolver_check(l->orgqr_size[x->type](handle, m, n, k, NULL, m, NULL, &x->area), "Dnorgqr_bufferSize", d);
    case FACTOR_EIGH:
        return ext_cusolver_check(l->syevd_size[x->type](handle, f->vectors ? EIG_MODE_VECTOR : EIG_MODE_NOVECTOR, fill, n,
                                                         NULL, n, NULL, &x->area),
                                  "Dnsyevd_bufferSize", d);
    default:
        return ext_cusolver_check(l->gesvd_size[x->type](handle, m < n ? n : m, m < n ? m : n, &x->area),
                                  "Dngesvd_bufferSize", d);
    }
}

/* Adds a part for so many numbers; false on overflow. */
static bool reserve(struct factors *x, size_t numbers, size_t bytes, size_t *at) {
    *at = x->scratch_bytes;
    return mem_mul(numbers, bytes, &bytes) && mem_add(bytes, AREA_ALIGN - 1, &bytes) &&
           mem_add(x->scratch_bytes, bytes & ~(size_t)(AREA_ALIGN - 1), &x->scratch_bytes);
}

/* The handle, and the scratch memory. */
static hilo_status factors_plan(struct factors *x, struct diag_list *d) {
    const struct factor *f = &x->f;
    void *handle, *stream;
    HILO_TRY(gpu_library(x->gpu, &ext_cusolver_library, d, &handle));
    HILO_TRY(gpu_stream(x->gpu, d, &stream)); /* its context */
    x->solver = handle;
    pthread_mutex_lock(&x->solver->lock);
    hilo_status status = ask_area(x, d);
    pthread_mutex_unlock(&x->solver->lock);
    HILO_TRY(status);
    bool narrow = f->kind == FACTOR_SVD && f->vectors && !is_wide(f);
    bool fits = x->area >= 0 && reserve(x, f->kind == FACTOR_SVD ? 0 : f->batch * f->m * f->n, x->bytes, &x->at_matrix) &&
                reserve(x, narrow ? f->batch * f->m * columns_of_u(f) : 0, x->bytes, &x->at_u) &&
                reserve(x, narrow ? f->batch * f->n * f->n : 0, x->bytes, &x->at_v) &&
                reserve(x, 1, sizeof(int), &x->at_info) && reserve(x, (size_t)x->area, x->bytes, &x->at_area) &&
                mem_add(x->scratch_bytes, AREA_ALIGN, &x->scratch_bytes);
    return fits ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

/* For 256 threads and any number of blocks: to = from transposed, matrix by matrix, numbers of 4, 8 or 16 bytes. */
static const char turn_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry turn(\n.param .u64 turn_param_0,\n.param .u64 turn_param_1\n)\n.reqntid 256, 1, 1\n{\n"
    ".reg .pred %%p<2>;\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<16>;\n.reg .%s %%f<3>;\n"
    "ld.param.u64 %%rd1, [turn_param_0];\n"
    "ld.param.u64 %%rd2, [turn_param_1];\n"
    "mov.u32 %%r1, %%ctaid.x;\n"
    "mul.wide.u32 %%rd3, %%r1, 256;\n"
    "mov.u32 %%r2, %%tid.x;\n"
    "cvt.u64.u32 %%rd4, %%r2;\n"
    "add.s64 %%rd5, %%rd3, %%rd4;\n"
    "mov.u32 %%r3, %%nctaid.x;\n"
    "mul.wide.u32 %%rd6, %%r3, 256;\n"
    "$again:\n"
    "setp.ge.u64 %%p1, %%rd5, %zu;\n"
    "@%%p1 bra $end;\n"
    "div.u64 %%rd7, %%rd5, %zu;\n" /* the matrix */
    "mul.lo.s64 %%rd8, %%rd7, %zu;\n"
    "sub.s64 %%rd9, %%rd5, %%rd8;\n"
    "div.u64 %%rd10, %%rd9, %zu;\n" /* the row */
    "mul.lo.s64 %%rd11, %%rd10, %zu;\n"
    "sub.s64 %%rd12, %%rd9, %%rd11;\n"
    "mul.lo.s64 %%rd13, %%rd12, %zu;\n"
    "add.s64 %%rd13, %%rd13, %%rd10;\n"
    "add.s64 %%rd13, %%rd13, %%rd8;\n"
    "shl.b64 %%rd14, %%rd5, %d;\n"
    "add.s64 %%rd14, %%rd2, %%rd14;\n"
    "shl.b64 %%rd15, %%rd13, %d;\n"
    "add.s64 %%rd15, %%rd1, %%rd15;\n"
    "ld.global.%s %%f1, [%%rd14];\n"
    "st.global.%s [%%rd15], %%f1;\n"
    "%s"
    "add.s64 %%rd5, %%rd5, %%rd6;\n"
    "bra.uni $again;\n"
    "$end:\n"
    "ret;\n}\n";

static hilo_status turn_load(struct factors *x, size_t rows, size_t columns, struct turn *t, struct diag_list *d) {
    char text[sizeof turn_ptx + 512];
    const char *type = x->bytes == 4 ? "f32" : "f64";
    int shift = x->bytes == 4 ? 2 : x->bytes == 8 ? 3 : 4;
    t->numbers = x->f.batch * rows * columns;
    int n = snprintf(text, sizeof text, turn_ptx, type, t->numbers, rows * columns, rows * columns, columns, columns, rows,
                     shift, shift, type, type,
                     shift == 4 ? "ld.global.f64 %f2, [%rd14+8];\nst.global.f64 [%rd15+8], %f2;\n" : "");
    HILO_TRY(gpu_module_load(x->gpu, (struct str){text, (size_t)n}, d, &t->module));
    t->function = gpu_module_find(t->module, "turn");
    return t->function ? HILO_OK : diag_error(d, HILO_INTERNAL, "the code has no kernel 'turn'");
}

static hilo_status turns_load(struct factors *x, struct diag_list *d) {
    const struct factor *f = &x->f;
    if (is_wide(f))
        return HILO_OK;
    HILO_TRY(turn_load(x, f->m, f->n, &x->turn[0], d));
    if (f->kind == FACTOR_SVD && !f->vectors)
        return HILO_OK;
    if (f->kind != FACTOR_SVD)
        return turn_load(x, f->n, f->m, &x->turn[1], d);
    HILO_TRY(turn_load(x, columns_of_u(f), f->m, &x->turn[1], d));
    return turn_load(x, f->n, f->n, &x->turn[2], d);
}

static bool can(struct lib_match *out, enum factor_kind kind) {
    struct factors x;
    struct diag_list d;
    if (*ext_open_cusolver()->why || !factors_read_match(out, kind, &x))
        return false;
    diag_init(&d, mem_system_allocator());
    bool can = factors_plan(&x, &d) == HILO_OK;
    diag_clear(&d);
    out->scratch_bytes = out->scratch_bytes < x.scratch_bytes ? x.scratch_bytes : out->scratch_bytes;
    out->alone = true;
    return can;
}

static void release(void *state) {
    const hilo_allocator al = mem_system_allocator();
    struct factors *x = state;
    for (int i = 0; i < MOST_TURNS; i++)
        gpu_module_free(x->turn[i].module);
    mem_free(&al, x, sizeof *x);
}

static void *prepare(const struct lib_match *match, enum factor_kind kind) {
    const hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    struct factors x, *out;
    if (*ext_open_cusolver()->why || !factors_read_match(match, kind, &x) || !(out = mem_alloc(&al, sizeof *out)))
        return NULL;
    *out = x;
    diag_init(&d, al);
    hilo_status status = factors_plan(out, &d);
    if (status == HILO_OK && out->scratch_bytes > match->scratch_bytes) /* another version than when it was compiled */
        status = HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK)
        status = turns_load(out, &d);
    diag_clear(&d);
    if (status == HILO_OK)
        return out;
    release(out);
    return NULL;
}

/* ---- running ----------------------------------------------------------------------------------- */

static hilo_status turn_run(const struct factors *x, const struct turn *t, void *to, const void *from, struct diag_list *d) {
    void *const params[] = {to, (void *)(uintptr_t)from};
    size_t blocks = (t->numbers + THREADS - 1) / THREADS;
    const struct hilo_gpu_launch launch = {.blocks = blocks < BLOCKS ? (uint32_t)blocks : BLOCKS, .threads = THREADS,
                                           .params = 2};
    return gpu_launch(x->gpu, t->function, &launch, params, d);
}

/* Where a call has what. */
struct places {
    char *matrix, *area;
    char *const *out;
    const char *tau;
    char *info, *u, *v;
};

static hilo_status call_svd(const struct factors *x, const struct places *p, size_t i, struct diag_list *d) {
    const struct factor *f = &x->f;
    const bool wide = is_wide(f);
    const int m = (int)(wide ? f->n : f->m), n = (int)f->k;
    const signed char mode = !f->vectors ? 'N' : f->full ? 'A' : 'S';
    const size_t real = ir_dtype_get(factor_real(f->type))->bytes, u_bytes = f->m * columns_of_u(f) * x->bytes,
                 v_bytes = f->n * (f->full ? f->n : f->k) * x->bytes;
    char *u = !f->vectors ? NULL : wide ? p->out[3] + i * v_bytes : p->u + i * u_bytes;
    char *v = !f->vectors ? NULL : wide ? p->out[2] + i * u_bytes : p->v + i * v_bytes;
    int error = ext_cusolver()->gesvd[x->type](x->solver->handle, mode, mode, m, n, p->out[0] + i * f->m * f->n * x->bytes, m,
                                               p->out[1] + i * f->k * real, u, m, v, n, p->area, x->area, NULL,
                                               (int *)(void *)(p->out[4] + i * sizeof(int)));
    return ext_cusolver_check(error, "Dngesvd", d);
}

static hilo_status call(const struct factors *x, const struct places *p, size_t i, struct diag_list *d) {
    const struct cusolver *l = ext_cusolver();
    const struct factor *f = &x->f;
    const int m = (int)f->m, n = (int)f->n, k = (int)f->k;
    const size_t real = ir_dtype_get(factor_real(f->type))->bytes;
    void *handle = x->solver->handle, *a = p->matrix + i * f->m * f->n * x->bytes;
    int *info = (int *)(void *)p->info;
    switch (f->kind) {
    case FACTOR_LU:
        return ext_cusolver_check(l->getrf[x->type](handle, m, n, a, m, p->area,
                                                    (int *)(void *)(p->out[1] + i * f->k * sizeof(int)),
                                                    (int *)(void *)(p->out[2] + i * sizeof(int))),
                                  "Dngetrf", d);
    case FACTOR_QR:
        return ext_cusolver_check(l->geqrf[x->type](handle, m, n, a, m, p->out[1] + i * f->k * x->bytes, p->area, x->area,
                                                    info),
                                  "Dngeqrf", d);
    case FACTOR_REFLECTORS:
        return ext_cusolver_check(l->orgqr[x->type](handle, m, n, k, a, m, p->tau + i * f->k * x->bytes, p->area, x->area,
                                                    info),
                                  "Dnorgqr", d);
    case FACTOR_EIGH:
        return ext_cusolver_check(l->syevd[x->type](handle, f->vectors ? EIG_MODE_VECTOR : EIG_MODE_NOVECTOR,
                                                    f->upper ? FILL_UPPER : FILL_LOWER, n, a, n, p->out[1] + i * f->n * real,
                                                    p->area, x->area, (int *)(void *)(p->out[2] + i * sizeof(int))),
                                  "Dnsyevd", d);
    default:
        return call_svd(x, p, i, d);
    }
}

static hilo_status before(const struct factors *x, const struct places *p, const void *in, struct diag_list *d) {
    const struct factor *f = &x->f;
    if (is_wide(f))
        return gpu_copy(x->gpu, GPU_ON_DEVICE, p->out[0], in, f->batch * f->m * f->n * x->bytes, d);
    return turn_run(x, &x->turn[0], f->kind == FACTOR_SVD ? p->out[0] : p->matrix, in, d);
}

static hilo_status after(const struct factors *x, const struct places *p, struct diag_list *d) {
    if (x->f.kind != FACTOR_SVD)
        return turn_run(x, &x->turn[1], p->out[0], p->matrix, d);
    if (is_wide(&x->f) || !x->f.vectors)
        return HILO_OK;
    HILO_TRY(turn_run(x, &x->turn[1], p->out[2], p->u, d));
    return turn_run(x, &x->turn[2], p->out[3], p->v, d);
}

static hilo_status run(void *state, const struct lib_call *c) {
    const struct factors *x = state;
    char *scratch = (char *)c->scratch + (AREA_ALIGN - (uintptr_t)c->scratch % AREA_ALIGN) % AREA_ALIGN;
    const struct places p = {.matrix = scratch + x->at_matrix, .area = scratch + x->at_area, .out = (char *const *)c->out,
                             .tau = x->f.kind == FACTOR_REFLECTORS ? c->in[1] : NULL, .info = scratch + x->at_info,
                             .u = scratch + x->at_u, .v = scratch + x->at_v};
    void *stream;
    if ((uintptr_t)c->in[0] % ALIGN || (uintptr_t)c->out[0] % ALIGN || (uintptr_t)p.tau % ALIGN)
        return HILO_UNIMPLEMENTED;
    HILO_TRY(before(x, &p, c->in[0], c->d));
    HILO_TRY(gpu_stream(x->gpu, c->d, &stream)); /* its context */
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&x->solver->lock);
    for (size_t i = 0; i < x->f.batch && status == HILO_OK; i++)
        status = call(x, &p, i, c->d);
    pthread_mutex_unlock(&x->solver->lock);
    HILO_TRY(status);
    return after(x, &p, c->d);
}

#define FACTORS(ID, name)                                                                                                      \
    bool ext_cusolver_##name##_can(struct lib_match *out) {                                                                    \
        return can(out, FACTOR_##ID);                                                                                          \
    }                                                                                                                          \
    void *ext_cusolver_##name##_prepare(const struct lib_match *match) {                                                       \
        return prepare(match, FACTOR_##ID);                                                                                    \
    }                                                                                                                          \
    void ext_cusolver_##name##_release(void *state) {                                                                          \
        release(state);                                                                                                        \
    }                                                                                                                          \
    hilo_status ext_cusolver_##name##_run(void *state, const struct lib_call *c) {                                             \
        return run(state, c);                                                                                                  \
    }
FACTORS(LU, lu)
FACTORS(QR, qr)
FACTORS(REFLECTORS, reflectors)
FACTORS(EIGH, eigh)
FACTORS(SVD, svd)
