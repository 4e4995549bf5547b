/* cuFFT, of NVIDIA's toolkits since CUDA 12: Fourier transforms on a GPU.
 *
 * A step has a plan of the library, for its batch; its work area is scratch memory of the device, which successive steps share.
 * Real results of complex numbers overwrite those, so they are copied first. The library leaves out the factor of inverse
 * transforms: a kernel multiplies, which is given to the driver as PTX. */
#include "external/external.h"

#include "gpu/gpu.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

/* Values of cufft.h. */
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c }; /* cufftType */
enum { FORWARD = -1, INVERSE = 1 };
enum { MOST_DIMS = 3, ALIGN = 16, AREA_ALIGN = 256, SCALE_THREADS = 256, SCALE_BLOCKS = 1024 };

struct cufft {
    int (*version)(int *version);
    int (*create)(int *plan);
    int (*destroy)(int plan);
    int (*auto_allocation)(int plan, int on);
    int (*make)(int plan, int rank, long long *n, long long *in, long long in_stride, long long in_distance, long long *out,
                long long out_stride, long long out_distance, int type, long long batch, size_t *bytes);
    int (*work_area)(int plan, void *area);
    int (*stream)(int plan, void *stream);
    int (*exec_complex[2])(int plan, const void *in, void *out, int direction); /* f32, f64 */
    int (*exec_from_real[2])(int plan, const void *in, void *out);
    int (*exec_to_real[2])(int plan, const void *in, void *out);
};
#define FUNCTION(name, field) {"cufft" name, offsetof(struct cufft, field), false}
static const struct ext_function cufft_functions[] = {
    FUNCTION("GetVersion", version),
    FUNCTION("Create", create),
    FUNCTION("Destroy", destroy),
    FUNCTION("SetAutoAllocation", auto_allocation),
    FUNCTION("MakePlanMany64", make),
    FUNCTION("SetWorkArea", work_area),
    FUNCTION("SetStream", stream),
    FUNCTION("ExecC2C", exec_complex[0]),
    FUNCTION("ExecZ2Z", exec_complex[1]),
    FUNCTION("ExecR2C", exec_from_real[0]),
    FUNCTION("ExecD2Z", exec_from_real[1]),
    FUNCTION("ExecC2R", exec_to_real[0]),
    FUNCTION("ExecZ2D", exec_to_real[1]),
};

static struct {
    pthread_once_t once;
    struct cufft table;
    struct ext_opened opened;
} cufft_state = {.once = PTHREAD_ONCE_INIT};

static void cufft_open(void) {
    static const char *const names[] = {"libcufft.so.12", "libcufft.so.11", NULL};
    int version = 0;
    if (ext_open("HILO_CUFFT_PATH", names, cufft_functions, sizeof cufft_functions / sizeof *cufft_functions,
                 &cufft_state.table, &cufft_state.opened) &&
        cufft_state.table.version(&version) == 0)
        snprintf(cufft_state.opened.version, sizeof cufft_state.opened.version, "%d", version);
}

const struct ext_opened *ext_open_cufft(void) {
    pthread_once(&cufft_state.once, cufft_open);
    return &cufft_state.opened;
}

/* It has no function that names its errors. */
static hilo_status check(int error, const char *call, struct diag_list *d) {
    static const char *const names[] = {"SUCCESS", "INVALID_PLAN", "ALLOC_FAILED", "INVALID_TYPE", "INVALID_VALUE",
                                        "INTERNAL_ERROR", "EXEC_FAILED", "SETUP_FAILED", "INVALID_SIZE", "UNALIGNED_DATA"};
    if (!error)
        return HILO_OK;
    bool known = error > 0 && (size_t)error < sizeof names / sizeof *names;
    return diag_error(d, HILO_INTERNAL, "cufft%s: CUFFT_%s (%d)", call, known ? names[error] : "error", error);
}

/* ---- a transform ------------------------------------------------------------------------------ */

struct transform {
    struct gpu *gpu;
    int64_t type;
    bool wide, has_plan;
    int ndims, plan;
    long long n[MOST_DIMS];
    size_t batch, in_bytes, out_numbers; /* of all of them; numbers are real */
    size_t area_bytes;
    double factor;                       /* of results; where that is not 1: */
    struct gpu_module *module;
    struct gpu_function *scale;
    pthread_mutex_t lock;                /* of the plan, which has the stream and the work area of a call */
};

static bool transform_read(const struct lib_match *m, struct transform *t) {
    struct lib_reader r = lib_reader_of(m->params, m->nparams);
    size_t outer, half, in, out;
    *t = (struct transform){.gpu = m->gpu, .type = lib_get(&r), .wide = lib_get(&r) != 0, .factor = 1};
    t->ndims = (int)lib_get_size(&r, MOST_DIMS);
    t->batch = outer = lib_get_size(&r, PTRDIFF_MAX);
    for (int i = 0; i < t->ndims; i++) {
        t->n[i] = (long long)lib_get_size(&r, PTRDIFF_MAX);
        if (t->type == IR_FFT_TYPE_IFFT || t->type == IR_FFT_TYPE_IRFFT)
            t->factor /= (double)t->n[i];
        if (i + 1 < t->ndims && !mem_mul(outer, (size_t)t->n[i], &outer))
            return false;
    }
    if (r.short_ || !t->gpu || t->ndims == 0 || outer == 0 || t->n[t->ndims - 1] <= 0)
        return false;
    size_t last = (size_t)t->n[t->ndims - 1], number = t->wide ? 8 : 4;
    half = t->type == IR_FFT_TYPE_RFFT || t->type == IR_FFT_TYPE_IRFFT ? last / 2 + 1 : last; /* as StableHLO has them */
    in = t->type == IR_FFT_TYPE_RFFT ? last : 2 * half;
    out = t->type == IR_FFT_TYPE_IRFFT ? last : 2 * half;
    return last < PTRDIFF_MAX / 2 && mem_mul(outer, in, &in) && mem_mul(in, number, &t->in_bytes) &&
           mem_mul(outer, out, &t->out_numbers) && t->in_bytes <= PTRDIFF_MAX && t->out_numbers <= PTRDIFF_MAX / number;
}

static int type_of(const struct transform *t) {
    switch (t->type) {
    case IR_FFT_TYPE_RFFT:
        return t->wide ? D2Z : R2C;
    case IR_FFT_TYPE_IRFFT:
        return t->wide ? Z2D : C2R;
    default:
        return t->wide ? Z2Z : C2C;
    }
}

/* Makes the plan, for dense batches. */
static hilo_status transform_plan(struct transform *t, struct diag_list *d) {
    const struct cufft *l = &cufft_state.table;
    void *stream;
    HILO_TRY(gpu_stream(t->gpu, d, &stream)); /* its context */
    HILO_TRY(check(l->create(&t->plan), "Create", d));
    t->has_plan = true;
    HILO_TRY(check(l->auto_allocation(t->plan, 0), "SetAutoAllocation", d));
    return check(l->make(t->plan, t->ndims, t->n, NULL, 1, 0, NULL, 1, 0, type_of(t), (long long)t->batch, &t->area_bytes),
                 "MakePlanMany64", d);
}

/* A kernel for 256 threads and any number of blocks that multiplies the results, p[0 … n-1], by the factor. */
static const char scale_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry scale(\n.param .u64 scale_param_0\n)\n.reqntid 256, 1, 1\n{\n"
    ".reg .pred %%p<2>;\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<8>;\n.reg .%s %%f<3>;\n"
    "ld.param.u64 %%rd1, [scale_param_0];\n"
    "mov.u32 %%r1, %%ctaid.x;\n"
    "mul.wide.u32 %%rd2, %%r1, 256;\n"
    "mov.u32 %%r2, %%tid.x;\n"
    "cvt.u64.u32 %%rd3, %%r2;\n"
    "add.s64 %%rd4, %%rd2, %%rd3;\n"
    "mov.u32 %%r3, %%nctaid.x;\n"
    "mul.wide.u32 %%rd5, %%r3, 256;\n"
    "$again:\n"
    "setp.ge.u64 %%p1, %%rd4, %zu;\n"
    "@%%p1 bra $end;\n"
    "shl.b64 %%rd6, %%rd4, %d;\n"
    "add.s64 %%rd7, %%rd1, %%rd6;\n"
    "ld.global.%s %%f1, [%%rd7];\n"
    "mul.rn.%s %%f2, %%f1, %s;\n"
    "st.global.%s [%%rd7], %%f2;\n"
    "add.s64 %%rd4, %%rd4, %%rd5;\n"
    "bra.uni $again;\n"
    "$end:\n"
    "ret;\n}\n";

static hilo_status scale_load(struct transform *t, struct diag_list *d) {
    char text[sizeof scale_ptx + 128], factor[32];
    const char *type = t->wide ? "f64" : "f32";
    const float narrow = (float)t->factor;
    uint32_t bits;
    uint64_t wide_bits;
    memcpy(&bits, &narrow, sizeof bits);
    memcpy(&wide_bits, &t->factor, sizeof wide_bits);
    snprintf(factor, sizeof factor, t->wide ? "0d%016" PRIX64 : "0f%08" PRIX64, t->wide ? wide_bits : bits);
    int n = snprintf(text, sizeof text, scale_ptx, type, t->out_numbers, t->wide ? 3 : 2, type, type, factor, type);
    HILO_TRY(gpu_module_load(t->gpu, (struct str){text, (size_t)n}, d, &t->module));
    t->scale = gpu_module_find(t->module, "scale");
    return t->scale ? HILO_OK : diag_error(d, HILO_INTERNAL, "the code has no kernel 'scale'");
}

static void transform_end(struct transform *t) {
    gpu_module_free(t->module);
    if (t->has_plan)
        (void)cufft_state.table.destroy(t->plan);
    t->has_plan = false;
}

/* The copy of what would be overwritten follows the area. */
static size_t area_bytes(const struct transform *t) {
    return (t->area_bytes + AREA_ALIGN - 1) & ~(size_t)(AREA_ALIGN - 1);
}

static bool transform_scratch(const struct transform *t, size_t *out) {
    size_t copied = t->type == IR_FFT_TYPE_IRFFT ? t->in_bytes : 0;
    return t->area_bytes <= PTRDIFF_MAX && mem_add(area_bytes(t), copied, out) && mem_add(*out, AREA_ALIGN, out);
}

bool ext_cufft_fft_can(struct lib_match *out) {
    struct transform t;
    struct diag_list d;
    size_t bytes = 0;
    if (*ext_open_cufft()->why || !transform_read(out, &t))
        return false;
    diag_init(&d, mem_system_allocator());
    bool can = transform_plan(&t, &d) == HILO_OK && transform_scratch(&t, &bytes);
    transform_end(&t);
    diag_clear(&d);
    out->scratch_bytes = out->scratch_bytes < bytes ? bytes : out->scratch_bytes;
    out->alone = true;
    return can;
}

void ext_cufft_fft_release(void *state) {
    struct transform *t = state;
    const hilo_allocator al = mem_system_allocator();
    transform_end(t);
    pthread_mutex_destroy(&t->lock);
    mem_free(&al, t, sizeof *t);
}

static hilo_status transform_prepare(struct transform *t, size_t scratch, struct diag_list *d) {
    size_t bytes;
    HILO_TRY(transform_plan(t, d));
    if (!transform_scratch(t, &bytes) || bytes > scratch) /* another version than when the program was compiled */
        return HILO_RESOURCE_EXHAUSTED;
    return t->factor == 1 ? HILO_OK : scale_load(t, d);
}

void *ext_cufft_fft_prepare(const struct lib_match *match) {
    const hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    struct transform *t = *ext_open_cufft()->why ? NULL : mem_alloc(&al, sizeof *t);
    if (!t)
        return NULL;
    if (!transform_read(match, t)) {
        mem_free(&al, t, sizeof *t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    diag_init(&d, al);
    hilo_status status = transform_prepare(t, match->scratch_bytes, &d);
    diag_clear(&d);
    if (status == HILO_OK)
        return t;
    ext_cufft_fft_release(t);
    return NULL;
}

static hilo_status transform_exec(const struct transform *t, const void *in, void *out, struct diag_list *d) {
    const struct cufft *l = &cufft_state.table;
    switch (t->type) {
    case IR_FFT_TYPE_RFFT:
        return check(l->exec_from_real[t->wide](t->plan, in, out), t->wide ? "ExecD2Z" : "ExecR2C", d);
    case IR_FFT_TYPE_IRFFT:
        return check(l->exec_to_real[t->wide](t->plan, in, out), t->wide ? "ExecZ2D" : "ExecC2R", d);
    default:
        return check(l->exec_complex[t->wide](t->plan, in, out, t->type == IR_FFT_TYPE_FFT ? FORWARD : INVERSE),
                     t->wide ? "ExecZ2Z" : "ExecC2C", d);
    }
}

static hilo_status transform_scale(const struct transform *t, void *out, struct diag_list *d) {
    void *const params[] = {out};
    size_t blocks = (t->out_numbers + SCALE_THREADS - 1) / SCALE_THREADS;
    const struct hilo_gpu_launch launch = {.blocks = blocks < SCALE_BLOCKS ? (uint32_t)blocks : SCALE_BLOCKS,
                                           .threads = SCALE_THREADS, .params = 1};
    return gpu_launch(t->gpu, t->scale, &launch, params, d);
}

hilo_status ext_cufft_fft_run(void *state, const struct lib_call *c) {
    const struct cufft *l = &cufft_state.table;
    struct transform *t = state;
    const void *in = c->in[0];
    void *out = c->out[0], *stream;
    if (((uintptr_t)in | (uintptr_t)out) % ALIGN)
        return HILO_UNIMPLEMENTED;
    char *area = (char *)c->scratch + (AREA_ALIGN - (uintptr_t)c->scratch % AREA_ALIGN) % AREA_ALIGN;
    HILO_TRY(gpu_stream(t->gpu, c->d, &stream));
    if (t->type == IR_FFT_TYPE_IRFFT) {
        HILO_TRY(gpu_copy(t->gpu, GPU_ON_DEVICE, area + area_bytes(t), in, t->in_bytes, c->d));
        in = area + area_bytes(t);
    }
    pthread_mutex_lock(&t->lock);
    hilo_status status = check(l->stream(t->plan, stream), "SetStream", c->d);
    if (status == HILO_OK)
        status = check(l->work_area(t->plan, area), "SetWorkArea", c->d);
    if (status == HILO_OK)
        status = transform_exec(t, in, out, c->d);
    pthread_mutex_unlock(&t->lock);
    return status == HILO_OK && t->scale ? transform_scale(t, out, c->d) : status;
}
