/* Runs kernels as machine code and by the interpreter, on the same random data, between pages that must not be touched. */
#ifndef HILO_TESTS_CODEGEN_HARNESS_H
#define HILO_TESTS_CODEGEN_HARNESS_H

#include "codegen/codegen.h"
#include "gpu/launch.h"
#include "kir/node.h"
#include "runtime/code.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RIG_BUFFERS = 16, RIG_KERNELS = 256 };

/* ---- random numbers (splitmix64) ------------------------------------------------------------- */

static uint64_t harness_state = 1;
static uint32_t harness_refused; /* kernels that the baseline tier does not compile */

static inline uint64_t harness_random(void) {
    uint64_t z = harness_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
static inline uint32_t harness_below(uint32_t n) {
    return (uint32_t)(harness_random() % n);
}

/* An element: any bits, an edge, or a small number. Elements named as indices stay below `bound`. */
static inline void harness_element(enum ir_dtype t, void *p, int64_t bound) {
    static const double edges[] = {0.0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   1e-40,
                                   -1e-40,
                                   3e-310,
                                   65504,
                                   65520,
                                   1e30,
                                   -1e30,
                                   255,
                                   256,
                                   127.5,
                                   2147483648.0,
                                   -2147483649.0,
                                   4294967296.0,
                                   9.3e18,
                                   1.9e19,
                                   (double)INFINITY,
                                   -(double)INFINITY,
                                   (double)NAN};
    const struct ir_dtype_info *info = ir_dtype_get(t);
    uint64_t bits = harness_random(), how = harness_below(4);
    if (bound > 0) {
        bits = harness_random() % (uint64_t)bound;
    } else if (info->cls == IR_FLOAT) {
        if (how == 0)
            bits = fp_encode(info->fp, edges[harness_below(sizeof edges / sizeof *edges)]);
        else if (how < 3)
            bits = fp_encode(info->fp, ((double)harness_below(2001) - 1000) / 64);
        fp_store(info->fp, p, bits & (info->bits < 64 ? ((uint64_t)1 << info->bits) - 1 : UINT64_MAX));
        return;
    } else if (info->cls == IR_PRED) {
        bits &= 1;
    } else if (how == 0) {
        static const uint64_t ints[] = {0, 1, UINT64_MAX, 0x80, 0x7F, 0x8000, 0x80000000, 0x7FFFFFFF, UINT64_C(1) << 63, 7};
        bits = ints[harness_below(10)];
    } else if (how == 1) {
        bits = (uint64_t)((int64_t)harness_below(41) - 20);
    }
    for (uint32_t i = 0; i < info->bytes; i++)
        ((uint8_t *)p)[i] = (uint8_t)(bits >> 8 * i);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct harness_buffer {
    char *map, *p;
    size_t bytes, mapped;
};

/* `low`: begins after a page that must not be touched, else ends before one. */
static struct harness_buffer harness_alloc(size_t bytes, bool low) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) & ~(page - 1);
    struct harness_buffer b = {.bytes = bytes, .mapped = inner + 2 * page};
    b.map = mmap(NULL, b.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(b.map != MAP_FAILED);
    if (inner)
        assert_int_equal(mprotect(b.map + page, inner, PROT_READ | PROT_WRITE), 0);
    b.p = b.map + page + (low ? 0 : inner - bytes);
    return b;
}

static size_t harness_bytes(const struct kir *k, uint32_t i) {
    return (size_t)k->buffers.v[i].count * ir_dtype_get(k->buffers.v[i].dtype)->bytes;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool harness_same(enum ir_dtype t, const char *a, const char *b) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (memcmp(a, b, info->bytes) == 0)
        return true;
    return info->cls == IR_FLOAT && fp_is_nan(info->fp, fp_load(info->fp, a)) && fp_is_nan(info->fp, fp_load(info->fp, b));
}

static inline void harness_explain(const struct kir *k, const char *target, const char *what) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    kir_print(k, &text);
    fail_msg("%s on %s:\n%s", what, target, text.p);
}

static inline void harness_compare(const struct kir *k, const char *target, uint32_t buffer, const char *expected,
                                   const char *got) {
    const struct kir_buffer *b = &k->buffers.v[buffer];
    uint32_t bytes = ir_dtype_get(b->dtype)->bytes;
    for (int64_t i = 0; i < b->count; i++)
        if (!harness_same(b->dtype, expected + i * bytes, got + i * bytes)) {
            char what[128];
            uint64_t x = 0, y = 0;
            memcpy(&x, expected + i * bytes, bytes);
            memcpy(&y, got + i * bytes, bytes);
            snprintf(what, sizeof what, "b%u[%lld]: expected %llx, got %llx", buffer, (long long)i, (unsigned long long)x,
                     (unsigned long long)y);
            harness_explain(k, target, what);
        }
}

struct harness_data {
    struct harness_buffer buffers[RIG_BUFFERS];
    void *p[RIG_BUFFERS], *scratch;
    uint32_t n;
};

static inline void harness_fill(struct harness_data *x, const struct kir *k, bool low, const int64_t *indices) {
    *x = (struct harness_data){.n = 0};
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        if (k->buffers.v[i].role == KIR_SCRATCH)
            continue;
        enum ir_dtype t = k->buffers.v[i].dtype;
        struct harness_buffer *b = &x->buffers[x->n];
        assert_true(x->n < RIG_BUFFERS);
        *b = harness_alloc(harness_bytes(k, i), low);
        for (int64_t j = 0; j < k->buffers.v[i].count; j++)
            harness_element(t, b->p + j * ir_dtype_get(t)->bytes, indices ? indices[x->n] : 0);
        x->p[x->n++] = b->p;
    }
    if (k->scratch_bytes) {
        x->scratch = aligned_alloc(64, (k->scratch_bytes + 63) & ~(size_t)63);
        memset(x->scratch, 0, k->scratch_bytes);
    }
}

static inline void harness_free(struct harness_data *x) {
    for (uint32_t i = 0; i < x->n; i++)
        munmap(x->buffers[i].map, x->buffers[i].mapped);
    free(x->scratch);
}

/* Both ways on the same data. indices: of integer parameters, what their elements stay below; 0 = anything. False when the
   interpreter finds an index outside of its buffer, or no end. */
static inline bool harness_try(const struct kir *k, const char *target, hilo_kernel_fn *fn, const int64_t *indices, bool low) {
    struct harness_data a, b;
    struct diag_list d;
    uint64_t state = harness_state;
    int64_t grid = kir_grid_extent(k), middle = grid / 3;
    diag_init(&d, mem_system_allocator());
    harness_fill(&a, k, low, indices);
    harness_state = state;
    harness_fill(&b, k, low, indices);
    bool ok = kir_run_within(k, a.p, a.scratch, 0, grid, UINT64_C(1) << 24, &d);
    if (ok) {
        fn(b.p, b.scratch, 0, middle);
        fn(b.p, b.scratch, middle, grid);
    }
    for (uint32_t i = 0, param = 0; ok && i < k->buffers.n; i++)
        if (k->buffers.v[i].role != KIR_SCRATCH) {
            harness_compare(k, target, i, a.p[param], b.p[param]);
            param++;
        }
    harness_free(&a);
    harness_free(&b);
    diag_clear(&d);
    return ok;
}

static inline void harness_run(const struct kir *k, const char *target, hilo_kernel_fn *fn, const int64_t *indices) {
    for (int low = 0; low < 2; low++)
        if (!harness_try(k, target, fn, indices, low))
            harness_explain(k, target, "the interpreter refuses to run it");
}

/* ---- targets --------------------------------------------------------------------------------- */

/* What this machine can run: itself, older ones, and itself with masks wherever there might be some (which LLVM takes to pieces
   where the processor has none). */
static inline uint32_t harness_targets(struct target *out, const char **names) {
    struct diag_list d;
    uint32_t n = 1;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(cg_target(NULL, &out[0], &d), HILO_OK);
    names[0] = "host";
    if (strstr(out[0].features, "+sse4.2"))
        assert_int_equal(cg_target(names[n] = "x86-64-v2", &out[n], &d), HILO_OK), n++;
    if (out[0].vector_bytes == 64)
        assert_int_equal(cg_target(names[n] = "x86-64-v3", &out[n], &d), HILO_OK), n++;
    out[n] = out[0];
    out[n].vector_bytes = 64;
    names[n++] = "masked";
    return n;
}

static inline void harness_must(hilo_status s, const struct diag_list *d, const struct kir *k, const char *target) {
    if (s != HILO_OK)
        harness_explain(k, target, d->first ? d->first->message : "failed without saying why");
}

/* fma of f64 is refused where there are no instructions for it. */
static inline bool harness_needs_fma(const struct kir *const *kernels, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 1; j < kernels[i]->nodes.n; j++)
            if (kernels[i]->nodes.v[j].op == KIR_FMA && kernels[i]->nodes.v[j].type == KIR_F64)
                return true;
    return false;
}

/* Kernels, compiled together, against the interpreter. False when the tier cannot compile them. */
static inline bool harness_check_tier(const struct kir *const *kernels, uint32_t n, const struct target *target,
                                      const char *name, enum cg_tier tier, const int64_t *indices) {
    hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    void *object;
    size_t bytes;
    struct rt_code *code;
    diag_init(&d, al);
    hilo_status s = cg_compile(kernels, n, target, tier, CG_OBJECT, &al, &d, &object, &bytes);
    if (tier == CG_BASELINE && s == HILO_UNIMPLEMENTED)
        return false;
    harness_must(s, &d, kernels[0], name);
    struct str text = {object, bytes};
    harness_must(rt_code_load(&text, 1, 0, al, &d, &code), &d, kernels[0], name);
    mem_free(&al, object, bytes);
    for (uint32_t i = 0; i < n; i++) {
        hilo_kernel_fn *fn = rt_code_find(code, kernels[i]->name);
        assert_non_null(fn);
        harness_run(kernels[i], name, fn, indices);
    }
    rt_code_free(code);
    diag_clear(&d);
    return true;
}

/* For each target that runs here, by each code generator that it has. */
static inline void harness_check_all(const struct kir *const *kernels, uint32_t n, const int64_t *indices) {
    struct target targets[4];
    const char *names[4];
    uint32_t ntargets = harness_targets(targets, names);
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    for (uint32_t i = 0; i < n; i++)
        harness_must(kir_verify(kernels[i], &d), &d, kernels[i], "all");
    diag_clear(&d);
    for (uint32_t t = 0; t < ntargets; t++) {
        if (!targets[t].fma && harness_needs_fma(kernels, n))
            continue;
        harness_check_tier(kernels, n, &targets[t], names[t], CG_OPTIMISED, indices);
        if (cg_has_baseline(&targets[t]) && !harness_check_tier(kernels, n, &targets[t], "baseline", CG_BASELINE, indices))
            for (uint32_t i = 0; i < n; i++)
                harness_refused += !harness_check_tier(&kernels[i], 1, &targets[t], "baseline", CG_BASELINE, indices);
    }
}

/* Kernels as objects that refer to nothing outside, for processors that need not be this one. */
static inline void harness_check_objects(const struct kir *const *kernels, uint32_t n) {
    static const char *const names[] = {"x86-64-v4", "sapphirerapids", "aarch64"};
    hilo_allocator al = mem_system_allocator();
    for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
        struct target target;
        struct diag_list d;
        void *object;
        size_t bytes;
        struct rt_code *code;
        diag_init(&d, al);
        harness_must(cg_target(names[t], &target, &d), &d, kernels[0], names[t]);
        harness_must(cg_compile(kernels, n, &target, CG_OPTIMISED, CG_OBJECT, &al, &d, &object, &bytes), &d, kernels[0],
                     names[t]);
        struct str text = {object, bytes};
        harness_must(rt_code_load(&text, 1, RT_CODE_FOREIGN, al, &d, &code), &d, kernels[0], names[t]);
        for (uint32_t i = 0; i < n; i++)
            assert_non_null(rt_code_find(code, kernels[i]->name));
        rt_code_free(code);
        mem_free(&al, object, bytes);
        diag_clear(&d);
    }
}

/* A kernel's PTX on the machine of tests/gpu, with warps in two orders, against the interpreter. */
static inline void harness_run_ptx(const struct kir *k, const struct target *target, const struct ptx *code,
                                   const int64_t *indices) {
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct harness_data a, b;
        struct ptx_buffer buffers[RIG_BUFFERS];
        struct diag_list d;
        char why[256];
        uint64_t state = harness_state;
        int64_t grid = kir_grid_extent(k);
        diag_init(&d, mem_system_allocator());
        harness_fill(&a, k, false, indices);
        harness_state = state;
        harness_fill(&b, k, false, indices);
        if (!kir_run_within(k, a.p, a.scratch, 0, grid, UINT64_C(1) << 24, &d))
            harness_explain(k, "sm_80", "the interpreter refuses to run it");
        for (uint32_t i = 0; i < b.n; i++)
            buffers[i] = (struct ptx_buffer){b.p[i], b.buffers[i].bytes, 0};
        if (!launch_ptx(code, k, target, buffers, b.n, seed, NULL, why, sizeof why))
            harness_explain(k, "sm_80", why);
        for (uint32_t i = 0, param = 0; i < k->buffers.n; i++)
            if (k->buffers.v[i].role != KIR_SCRATCH) {
                harness_compare(k, "sm_80", i, a.p[param], b.p[param]);
                param++;
            }
        harness_free(&a);
        harness_free(&b);
        diag_clear(&d);
    }
}

/* Kernels as PTX; matrix units of processors have none. */
static inline void harness_check_ptx(const struct kir *const *kernels, uint32_t n, const int64_t *indices) {
    hilo_allocator al = mem_system_allocator();
    struct target target;
    struct diag_list d;
    void *text;
    size_t bytes;
    char why[256];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 1; j < kernels[i]->nodes.n; j++)
            if (kernels[i]->nodes.v[j].op == KIR_TZERO || kernels[i]->nodes.v[j].op == KIR_TLOAD)
                return;
    diag_init(&d, al);
    harness_must(cg_target("sm_80", &target, &d), &d, kernels[0], "sm_80");
    harness_must(cg_compile(kernels, n, &target, CG_OPTIMISED, CG_ASSEMBLY, &al, &d, &text, &bytes), &d, kernels[0], "sm_80");
    struct ptx *code = ptx_load(text, bytes, why, sizeof why);
    if (!code)
        harness_explain(kernels[0], "sm_80", why);
    for (uint32_t i = 0; i < n; i++)
        harness_run_ptx(kernels[i], &target, code, indices);
    ptx_free(code);
    mem_free(&al, text, bytes);
    diag_clear(&d);
}

/* Gathers kernels, so that they are compiled together. */
struct harness_batch {
    struct kir *v[RIG_KERNELS];
    uint32_t n;
};

static jmp_buf harness_memory;

static inline struct kir *harness_new(struct harness_batch *b) {
    char name[32];
    assert_true(b->n < RIG_KERNELS);
    snprintf(name, sizeof name, "k%u", b->n);
    return b->v[b->n++] = kir_new(name, mem_system_allocator(), &harness_memory);
}

static inline void harness_flush(struct harness_batch *b, const int64_t *indices) {
    harness_check_all((const struct kir *const *)b->v, b->n, indices);
    harness_check_objects((const struct kir *const *)b->v, b->n);
    harness_check_ptx((const struct kir *const *)b->v, b->n, indices);
    for (uint32_t i = 0; i < b->n; i++)
        kir_free(b->v[i]);
    b->n = 0;
}

#endif
