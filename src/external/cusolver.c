/* cuSOLVER and cuBLAS, of NVIDIA's toolkits since CUDA 12: Cholesky factors and triangular solves on a GPU.
 *
 * Their matrices are columns one after the other, hilo's rows, so they are asked for the transposed: the upper factor instead
 * of the lower one, and a solve from the other side. Both overwrite an operand, which is copied to the result first. A call is
 * for one matrix of a batch. After a factor a kernel, which is given to the driver as PTX, clears the other triangle, and makes
 * the factor of a matrix that is not positive definite NaN, so that the host need not look. */
#include "external/cusolver.h"
#include "external/external.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* Values of cublas_api.h and cusolver_common.h. */
enum { SIDE_LEFT = 0, SIDE_RIGHT = 1, FILL_LOWER = 0, FILL_UPPER = 1, DIAG_NON_UNIT = 0, DIAG_UNIT = 1 };
enum { DETERMINISTIC_RESULTS = 1 };
enum { OP_N = 0, OP_T = 1, OP_C = 2 };
enum { MAJOR_VERSION = 0, PATCH_LEVEL = 2 }; /* libraryPropertyType */
enum { ALIGN = 16, AREA_ALIGN = 256, MOST_BATCHES = 64, THREADS = 256, BLOCKS = 1024 };
enum { MOST = 46340 }; /* rows: numbers of a matrix fit 31 bits, as do the parameters */

struct cublas {
    int (*property)(int which, int *value);
    const char *(*status_name)(int status);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*stream)(void *handle, void *stream);
    int (*trsm[CUSOLVER_TYPES])(void *handle, int side, int fill, int op, int diag, int m, int n, const void *alpha,
                                const void *a, int a_step, void *b, int b_step);
};
#define FUNCTION(name, field) {"cublas" name, offsetof(struct cublas, field), false}
static const struct ext_function cublas_functions[] = {
    FUNCTION("GetProperty", property),  FUNCTION("GetStatusName", status_name), FUNCTION("Create_v2", create),
    FUNCTION("Destroy_v2", destroy),    FUNCTION("SetStream_v2", stream),       FUNCTION("Strsm_v2", trsm[0]),
    FUNCTION("Dtrsm_v2", trsm[1]),      FUNCTION("Ctrsm_v2", trsm[2]),          FUNCTION("Ztrsm_v2", trsm[3]),
};
#undef FUNCTION

#define FUNCTION(name, field) {"cusolver" name, offsetof(struct cusolver, field), false}
static const struct ext_function cusolver_functions[] = {
    FUNCTION("GetVersion", version),
    FUNCTION("DnCreate", create),
    FUNCTION("DnDestroy", destroy),
    FUNCTION("DnSetStream", stream),
    {"cusolverDnSetDeterministicMode", offsetof(struct cusolver, deterministic), true},
#define BOTH(name, field, type) FUNCTION("Dn" name "_bufferSize", field##_size[type]), FUNCTION("Dn" name, field[type])
#define ALL(real, complex, field)                                                                                              \
    BOTH("S" real, field, 0), BOTH("D" real, field, 1), BOTH("C" complex, field, 2), BOTH("Z" complex, field, 3)
    ALL("potrf", "potrf", potrf),
    ALL("getrf", "getrf", getrf),
    ALL("geqrf", "geqrf", geqrf),
    ALL("orgqr", "ungqr", orgqr),
    ALL("syevd", "heevd", syevd),
    ALL("gesvd", "gesvd", gesvd),
};
#undef FUNCTION

static struct {
    pthread_once_t once;
    struct cublas table;
    struct ext_opened opened;
} cublas_state = {.once = PTHREAD_ONCE_INIT};
static struct {
    pthread_once_t once;
    struct cusolver table;
    struct ext_opened opened;
} cusolver_state = {.once = PTHREAD_ONCE_INIT};

static void cublas_open(void) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    int v[3] = {0};
    if (!ext_open("HILO_CUBLAS_PATH", names, cublas_functions, sizeof cublas_functions / sizeof *cublas_functions,
                  &cublas_state.table, &cublas_state.opened))
        return;
    for (int which = MAJOR_VERSION; which <= PATCH_LEVEL; which++)
        (void)cublas_state.table.property(which, &v[which]);
    snprintf(cublas_state.opened.version, sizeof cublas_state.opened.version, "%d.%d.%d", v[0], v[1], v[2]);
}

static void cusolver_open(void) {
    static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
    int version = 0;
    if (ext_open("HILO_CUSOLVER_PATH", names, cusolver_functions, sizeof cusolver_functions / sizeof *cusolver_functions,
                 &cusolver_state.table, &cusolver_state.opened) &&
        cusolver_state.table.version(&version) == 0)
        snprintf(cusolver_state.opened.version, sizeof cusolver_state.opened.version, "%d", version);
}

const struct ext_opened *ext_open_cublas(void) {
    pthread_once(&cublas_state.once, cublas_open);
    return &cublas_state.opened;
}

const struct ext_opened *ext_open_cusolver(void) {
    pthread_once(&cusolver_state.once, cusolver_open);
    return &cusolver_state.opened;
}

const struct cusolver *ext_cusolver(void) {
    return &cusolver_state.table;
}

static hilo_status check_blas(int error, const char *call, struct diag_list *d) {
    return error ? diag_error(d, HILO_INTERNAL, "cublas%s: %s", call, cublas_state.table.status_name(error)) : HILO_OK;
}

/* It has no function that names its errors. */
hilo_status ext_cusolver_check(int error, const char *call, struct diag_list *d) {
    static const char *const names[] = {"SUCCESS", "NOT_INITIALIZED", "ALLOC_FAILED", "INVALID_VALUE", "ARCH_MISMATCH",
                                        "MAPPING_ERROR", "EXECUTION_FAILED", "INTERNAL_ERROR", "MATRIX_TYPE_NOT_SUPPORTED",
                                        "NOT_SUPPORTED"};
    if (!error)
        return HILO_OK;
    bool known = error > 0 && (size_t)error < sizeof names / sizeof *names;
    return diag_error(d, HILO_INTERNAL, "cusolver%s: CUSOLVER_STATUS_%s (%d)", call, known ? names[error] : "error", error);
}

/* ---- handles ---------------------------------------------------------------------------------- */

static hilo_status blas_make(struct gpu *g, struct diag_list *d, void **out) {
    const struct cublas *l = &cublas_state.table;
    const struct ext_handle_maker m = {l->create, l->destroy, l->stream, check_blas, "Create", "SetStream"};
    return ext_handle_make(g, &m, d, out);
}

static hilo_status solver_make(struct gpu *g, struct diag_list *d, void **out) {
    const struct cusolver *l = &cusolver_state.table;
    const struct ext_handle_maker m = {l->create, l->destroy, l->stream, ext_cusolver_check, "DnCreate", "DnSetStream"};
    HILO_TRY(ext_handle_make(g, &m, d, out));
    struct ext_handle *h = *out;
    hilo_status status = l->deterministic ? ext_cusolver_check(l->deterministic(h->handle, DETERMINISTIC_RESULTS),
                                                               "DnSetDeterministicMode", d)
                                          : HILO_OK;
    if (status != HILO_OK)
        ext_handle_release(h);
    return status;
}

static const struct gpu_library blas_library = {blas_make, ext_handle_release};
const struct gpu_library ext_cusolver_library = {solver_make, ext_handle_release};

unsigned ext_cusolver_type(enum ir_dtype t) {
    return t == IR_F32_T ? 0 : t == IR_F64_T ? 1 : t == IR_C64_T ? 2 : t == IR_C128_T ? 3 : CUSOLVER_TYPES;
}

static bool is_aligned(const void *p) {
    return (uintptr_t)p % ALIGN == 0;
}

/* ---- triangular solves ------------------------------------------------------------------------ */

struct solve {
    struct gpu *gpu;
    struct ext_handle *blas;
    unsigned type;
    size_t batches, a_bytes, b_bytes; /* bytes: of one matrix */
    int side, fill, op, diag, n, rows, columns; /* as the library has them, transposed */
};

static bool solve_read(const struct lib_match *m, struct solve *s) {
    struct lib_reader r = lib_reader_of(m->params, m->nparams);
    enum ir_dtype t = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    *s = (struct solve){.gpu = m->gpu, .type = ext_cusolver_type(t), .batches = lib_get_size(&r, MOST_BATCHES)};
    s->n = (int)lib_get_size(&r, MOST);
    s->columns = (int)lib_get_size(&r, INT_MAX);
    s->rows = (int)lib_get_size(&r, INT_MAX);
    s->side = lib_get(&r) ? SIDE_RIGHT : SIDE_LEFT;
    s->fill = lib_get(&r) ? FILL_UPPER : FILL_LOWER;
    s->diag = lib_get(&r) ? DIAG_UNIT : DIAG_NON_UNIT;
    s->op = lib_get(&r) ? OP_T : OP_N;
    s->op = lib_get(&r) ? OP_C : s->op;
    size_t bytes = ir_dtype_get(t)->bytes, numbers = (size_t)s->rows * (size_t)s->columns;
    s->a_bytes = (size_t)s->n * (size_t)s->n * bytes;
    s->b_bytes = numbers * bytes;
    return !r.short_ && s->gpu && s->type != CUSOLVER_TYPES && s->batches && s->n && numbers && numbers <= INT_MAX;
}

bool ext_cublas_triangular_solve_can(struct lib_match *out) {
    struct solve s;
    struct diag_list d;
    void *handle;
    if (*ext_open_cublas()->why || !solve_read(out, &s))
        return false;
    diag_init(&d, mem_system_allocator());
    bool can = gpu_library(s.gpu, &blas_library, &d, &handle) == HILO_OK; /* not without a device that it knows */
    diag_clear(&d);
    out->alone = true;
    return can;
}

void ext_cublas_triangular_solve_release(void *state) {
    const hilo_allocator al = mem_system_allocator();
    mem_free(&al, state, sizeof(struct solve));
}

void *ext_cublas_triangular_solve_prepare(const struct lib_match *match) {
    const hilo_allocator al = mem_system_allocator();
    struct solve s, *out = NULL;
    struct diag_list d;
    void *handle;
    if (*ext_open_cublas()->why || !solve_read(match, &s))
        return NULL;
    diag_init(&d, al);
    if (gpu_library(s.gpu, &blas_library, &d, &handle) == HILO_OK && (out = mem_alloc(&al, sizeof *out))) {
        *out = s;
        out->blas = handle;
    }
    diag_clear(&d);
    return out;
}

hilo_status ext_cublas_triangular_solve_run(void *state, const struct lib_call *c) {
    static const float one_f32[] = {1, 0};
    static const double one_f64[] = {1, 0};
    const struct solve *s = state;
    const char *a = c->in[0];
    char *x = c->out[0];
    void *stream;
    if (!is_aligned(a) || !is_aligned(c->in[1]) || !is_aligned(x))
        return HILO_UNIMPLEMENTED;
    HILO_TRY(gpu_copy(s->gpu, GPU_ON_DEVICE, x, c->in[1], s->batches * s->b_bytes, c->d));
    HILO_TRY(gpu_stream(s->gpu, c->d, &stream)); /* its context */
    const void *one = s->type == 1 || s->type == 3 ? (const void *)one_f64 : one_f32;
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&s->blas->lock);
    for (size_t i = 0; i < s->batches && status == HILO_OK; i++)
        status = check_blas(cublas_state.table.trsm[s->type](s->blas->handle, s->side, s->fill, s->op, s->diag, s->rows,
                                                             s->columns, one, a + i * s->a_bytes, s->n, x + i * s->b_bytes,
                                                             s->rows),
                            "trsm", c->d);
    pthread_mutex_unlock(&s->blas->lock);
    return status;
}

/* ---- Cholesky factors ------------------------------------------------------------------------- */

struct factor {
    struct gpu *gpu;
    struct ext_handle *solver;
    unsigned type;
    size_t batches, bytes; /* of one matrix */
    int n, fill, area;     /* area: its numbers */
    size_t area_bytes;
    struct gpu_module *module;
    struct gpu_function *finish;
};

static bool factor_read(const struct lib_match *m, struct factor *f) {
    struct lib_reader r = lib_reader_of(m->params, m->nparams);
    enum ir_dtype t = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    *f = (struct factor){.gpu = m->gpu, .type = ext_cusolver_type(t), .batches = lib_get_size(&r, MOST_BATCHES)};
    f->n = (int)lib_get_size(&r, MOST);
    f->fill = lib_get(&r) ? FILL_UPPER : FILL_LOWER;
    f->bytes = (size_t)f->n * (size_t)f->n * ir_dtype_get(t)->bytes;
    return !r.short_ && f->gpu && f->type != CUSOLVER_TYPES && f->batches && f->n;
}

/* The handle, and how much memory a call needs, which does not depend on where its matrix is. */
static hilo_status factor_plan(struct factor *f, struct diag_list *d) {
    void *handle, *stream;
    HILO_TRY(gpu_library(f->gpu, &ext_cusolver_library, d, &handle));
    HILO_TRY(gpu_stream(f->gpu, d, &stream)); /* its context */
    f->solver = handle;
    pthread_mutex_lock(&f->solver->lock);
    int error = cusolver_state.table.potrf_size[f->type](f->solver->handle, f->fill, f->n, NULL, f->n, &f->area);
    pthread_mutex_unlock(&f->solver->lock);
    HILO_TRY(ext_cusolver_check(error, "Dnpotrf_bufferSize", d));
    static const size_t bytes[CUSOLVER_TYPES] = {4, 8, 8, 16};
    return f->area >= 0 && mem_mul((size_t)f->area, bytes[f->type], &f->area_bytes) ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

/* What the call tells, then its memory, at multiples of AREA_ALIGN. */
static bool factor_scratch(const struct factor *f, size_t *out) {
    return mem_add(f->area_bytes, 2 * AREA_ALIGN, out);
}

/* A kernel for 256 threads and any number of blocks: of an n × n matrix it clears the elements (i, j) with j > i, or j < i, and
   makes the others NaN where *info is not 0. */
static const char finish_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry finish(\n.param .u64 finish_param_0,\n.param .u64 finish_param_1\n)\n.reqntid 256, 1, 1\n{\n"
    ".reg .pred %%p<5>;\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<12>;\n.reg .%s %%f<2>;\n"
    "ld.param.u64 %%rd1, [finish_param_0];\n"
    "ld.param.u64 %%rd2, [finish_param_1];\n"
    "ld.global.u32 %%r1, [%%rd2];\n"
    "setp.ne.u32 %%p1, %%r1, 0;\n"
    "mov.u32 %%r2, %%ctaid.x;\n"
    "mul.wide.u32 %%rd3, %%r2, 256;\n"
    "mov.u32 %%r3, %%tid.x;\n"
    "cvt.u64.u32 %%rd4, %%r3;\n"
    "add.s64 %%rd5, %%rd3, %%rd4;\n"
    "mov.u32 %%r2, %%nctaid.x;\n"
    "mul.wide.u32 %%rd6, %%r2, 256;\n"
    "$again:\n"
    "setp.ge.u64 %%p2, %%rd5, %zu;\n"
    "@%%p2 bra $end;\n"
    "div.u64 %%rd7, %%rd5, %d;\n"
    "mul.lo.s64 %%rd8, %%rd7, %d;\n"
    "sub.s64 %%rd9, %%rd5, %%rd8;\n"
    "setp.%s.u64 %%p3, %%rd9, %%rd7;\n"
    "or.pred %%p4, %%p1, %%p3;\n"
    "selp.%s %%f1, %s, %s, %%p3;\n"
    "shl.b64 %%rd10, %%rd5, %d;\n"
    "add.s64 %%rd11, %%rd1, %%rd10;\n"
    "@%%p4 st.global.%s [%%rd11], %%f1;\n"
    "%s%s%s"
    "add.s64 %%rd5, %%rd5, %%rd6;\n"
    "bra.uni $again;\n"
    "$end:\n"
    "ret;\n}\n";

static hilo_status finish_load(struct factor *f, struct diag_list *d) {
    char text[sizeof finish_ptx + 256];
    const bool wide = f->type == 1 || f->type == 3, complex = f->type >= 2;
    const char *type = wide ? "f64" : "f32", *imaginary = wide ? ".f64 [%rd11+8], %f1;\n" : ".f32 [%rd11+4], %f1;\n";
    int n = snprintf(text, sizeof text, finish_ptx, type, (size_t)f->n * (size_t)f->n, f->n, f->n,
                     f->fill == FILL_UPPER ? "gt" : "lt", type, wide ? "0d0000000000000000" : "0f00000000",
                     wide ? "0d7FF8000000000000" : "0f7FC00000", 2 + wide + complex, type, complex ? "@%p4 " : "",
                     complex ? "st.global" : "", complex ? imaginary : "");
    HILO_TRY(gpu_module_load(f->gpu, (struct str){text, (size_t)n}, d, &f->module));
    f->finish = gpu_module_find(f->module, "finish");
    return f->finish ? HILO_OK : diag_error(d, HILO_INTERNAL, "the code has no kernel 'finish'");
}

bool ext_cusolver_cholesky_can(struct lib_match *out) {
    struct factor f;
    struct diag_list d;
    size_t bytes = 0;
    if (*ext_open_cusolver()->why || !factor_read(out, &f))
        return false;
    diag_init(&d, mem_system_allocator());
    bool can = factor_plan(&f, &d) == HILO_OK && factor_scratch(&f, &bytes);
    diag_clear(&d);
    out->scratch_bytes = out->scratch_bytes < bytes ? bytes : out->scratch_bytes;
    out->alone = true;
    return can;
}

void ext_cusolver_cholesky_release(void *state) {
    const hilo_allocator al = mem_system_allocator();
    struct factor *f = state;
    gpu_module_free(f->module);
    mem_free(&al, f, sizeof *f);
}

static hilo_status factor_prepare(struct factor *f, size_t scratch, struct diag_list *d) {
    size_t bytes;
    HILO_TRY(factor_plan(f, d));
    if (!factor_scratch(f, &bytes) || bytes > scratch) /* another version than when the program was compiled */
        return HILO_RESOURCE_EXHAUSTED;
    return finish_load(f, d);
}

void *ext_cusolver_cholesky_prepare(const struct lib_match *match) {
    const hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    struct factor f, *out;
    if (*ext_open_cusolver()->why || !factor_read(match, &f) || !(out = mem_alloc(&al, sizeof *out)))
        return NULL;
    *out = f;
    diag_init(&d, al);
    hilo_status status = factor_prepare(out, match->scratch_bytes, &d);
    diag_clear(&d);
    if (status == HILO_OK)
        return out;
    ext_cusolver_cholesky_release(out);
    return NULL;
}

static hilo_status factor_one(const struct factor *f, char *matrix, char *info, struct diag_list *d) {
    void *const params[] = {matrix, info};
    size_t blocks = ((size_t)f->n * (size_t)f->n + THREADS - 1) / THREADS;
    const struct hilo_gpu_launch launch = {.blocks = blocks < BLOCKS ? (uint32_t)blocks : BLOCKS, .threads = THREADS,
                                           .params = 2};
    pthread_mutex_lock(&f->solver->lock);
    int error = cusolver_state.table.potrf[f->type](f->solver->handle, f->fill, f->n, matrix, f->n, info + AREA_ALIGN, f->area,
                                                    (int *)(void *)info);
    pthread_mutex_unlock(&f->solver->lock);
    HILO_TRY(ext_cusolver_check(error, "Dnpotrf", d));
    return gpu_launch(f->gpu, f->finish, &launch, params, d);
}

hilo_status ext_cusolver_cholesky_run(void *state, const struct lib_call *c) {
    const struct factor *f = state;
    char *out = c->out[0], *info = (char *)c->scratch + (AREA_ALIGN - (uintptr_t)c->scratch % AREA_ALIGN) % AREA_ALIGN;
    void *stream;
    if (!is_aligned(c->in[0]) || !is_aligned(out))
        return HILO_UNIMPLEMENTED;
    HILO_TRY(gpu_copy(f->gpu, GPU_ON_DEVICE, out, c->in[0], f->batches * f->bytes, c->d));
    HILO_TRY(gpu_stream(f->gpu, c->d, &stream)); /* its context */
    hilo_status status = HILO_OK;
    for (size_t i = 0; i < f->batches && status == HILO_OK; i++)
        status = factor_one(f, out + i * f->bytes, info, c->d);
    return status;
}
