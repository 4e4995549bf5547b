/* Machine code for a plan's kernels: objects, made in batches by several threads, loaded as one piece. */
#include "compile/code.h"

#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#include "external/nvjitlink.h"
#include "runtime/runtime.h"

#include <pthread.h>

enum {
    CODE_THREADS = 16,
    CODE_UNITS = 2,    /* the processor, and a GPU */
    CODE_WORTH = 4,    /* kernels that are worth a thread */
    CODE_BATCH = 256   /* kernels for each thread that are lowered before their code is generated and their IR freed */
};

/* Kernels that a thread compiles to an object. */
struct batch {
    const struct kir **kernels;
    const struct target *target;
    const hilo_allocator *al;
    struct diag_list d;
    void *object, *cubin; /* cubin: of an object of PTX */
    size_t bytes, cubin_bytes;
    uint32_t n;
    bool wants_cubin;
    hilo_status status;
    pthread_t thread;
    bool started;
};

/* Kept by the executable, so that nothing is lost when its arena cannot grow. */
struct code {
    hilo_executable *exe;
    struct batch v[CODE_UNITS * CODE_THREADS];
    uint32_t n, threads;
    uint32_t done; /* kernels of the build that have code */
    struct code_objects {
        struct str *v; /* in the executable's arena */
        uint32_t n, cap;
    } objects[CODE_UNITS], cubins; /* objects: by whether they are for a GPU; cubins: of those that are, while all have one */
    bool wants_cubins;
    hilo_status status;
};

static void *compile_batch(void *arg) {
    struct batch *x = arg;
    x->status = cg_compile(x->kernels, x->n, x->target, CG_OBJECT, x->al, &x->d, &x->object, &x->bytes);
    if (x->status == HILO_OK && x->wants_cubin) /* where that fails there is none */
        (void)ext_cubin((struct str){x->object, x->bytes}, x->target->name, x->al, &x->d, &x->cubin, &x->cubin_bytes);
    return NULL;
}

static void free_batches(void *p) {
    struct code *c = p;
    for (uint32_t i = 0; i < c->n; i++) {
        diag_clear(&c->v[i].d);
        mem_free(c->v[i].al, c->v[i].object, c->v[i].bytes);
        mem_free(c->v[i].al, c->v[i].cubin, c->v[i].cubin_bytes);
    }
    c->n = 0;
}

hilo_status code_available(struct diag_list *d) {
    enum target_isa isa;
    HILO_TRY(target_isa_named(target_cpu_machine(), &isa, d));
    return cg_open(d);
}

hilo_status code_target(const char *name, struct target *out, struct diag_list *d) {
    return cg_target(name && strcmp(name, "native") != 0 ? name : NULL, out, d);
}

bool code_launch(const struct kir *k, const struct target *t, struct plan_kernel *out) {
    cg_launch(k, t, &out->gpu);
    return mem_mul(out->gpu.slab_bytes, out->gpu.blocks, &out->scratch_bytes) && out->scratch_bytes <= PTRDIFF_MAX;
}

void code_begin(hilo_executable *exe, struct build *b) {
    uint32_t threads = (uint32_t)exe->client->threads;
    struct code *c = b->code = ARENA_NEW(&exe->arena, struct code);
    *c = (struct code){.exe = exe, .threads = threads > CODE_THREADS ? CODE_THREADS : threads, .wants_cubins = b->cubins};
    rt_executable_keep(exe, c, free_batches);
}

static bool is_for_gpu(const struct target *t) {
    return t->isa == TARGET_NVPTX;
}

/* Divides those of n kernels from c->done on that are for one unit among batches: dealt in turn, so that large ones spread. */
static void deal(struct code *c, struct build *b, uint32_t n, bool gpu) {
    const struct build_kernel **all = ARENA_ARRAY(&b->scratch, const struct build_kernel *, n);
    const struct kir **kernels = ARENA_ARRAY(&b->scratch, const struct kir *, n);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_for_gpu(b->kernels.v[c->done + i].target) == gpu)
            all[count++] = &b->kernels.v[c->done + i];
    uint32_t nbatches = (count + CODE_WORTH - 1) / CODE_WORTH;
    nbatches = nbatches > c->threads ? c->threads : nbatches;
    for (uint32_t i = 0; i < nbatches; i++) {
        struct batch *x = &c->v[c->n++];
        *x = (struct batch){.kernels = kernels, .target = all[i]->target, .al = &c->exe->client->al,
                            .wants_cubin = gpu && c->wants_cubins};
        for (uint32_t j = i; j < count; j += nbatches)
            *kernels++ = all[j]->kir;
        x->n = (uint32_t)(kernels - x->kernels);
        diag_init(&x->d, *x->al);
    }
}

static const char *batch_message(const struct batch *x) {
    return x->d.first && x->d.first->message ? x->d.first->message : "out of memory";
}

/* Cubins are for all kernels or for none. */
static void keep_cubin(struct code *c, const struct batch *x) {
    if (!x->wants_cubin || x->status != HILO_OK || !c->wants_cubins)
        return;
    if (x->cubin) {
        struct str cubin = {arena_dup(&c->exe->arena, x->cubin, x->cubin_bytes, 16), x->cubin_bytes};
        ARENA_PUSH(&c->exe->arena, &c->cubins, cubin);
        return;
    }
    c->wants_cubins = false;
    rt_log(c->exe->client, HILO_LOG_WARNING, "PTX only, which the driver compiles when the program is loaded: %s",
           batch_message(x));
}

/* Keeps the objects, and frees what they were made from. */
static void collect(struct code *c, struct build *b, uint32_t n) {
    struct arena *a = &c->exe->arena;
    for (uint32_t i = 0; i < c->n; i++) {
        const struct batch *x = &c->v[i];
        if (c->status == HILO_OK && x->status != HILO_OK)
            c->status = diag_error(b->d, x->status, "%s", batch_message(x));
        struct str object = {x->bytes ? arena_dup(a, x->object, x->bytes, 16) : "", x->bytes};
        ARENA_PUSH(a, &c->objects[is_for_gpu(x->target)], object);
        keep_cubin(c, x);
    }
    free_batches(c);
    for (uint32_t i = c->done; i < c->done + n; i++) {
        kir_free(b->kernels.v[i].kir);
        b->kernels.v[i].kir = NULL;
        b->kernels.v[i].step->kir = NULL;
    }
    c->done += n;
}

void code_generate(struct build *b, bool all) {
    struct code *c = b->code;
    uint32_t n = b->kernels.n - c->done;
    if (n == 0 || (!all && n < CODE_BATCH * c->threads))
        return;
    for (int gpu = 0; gpu < CODE_UNITS; gpu++)
        deal(c, b, n, gpu);
    for (uint32_t i = 1; i < c->n; i++)
        c->v[i].started = pthread_create(&c->v[i].thread, NULL, compile_batch, &c->v[i]) == 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (!c->v[i].started)
            compile_batch(&c->v[i]);
    for (uint32_t i = 1; i < c->n; i++)
        if (c->v[i].started)
            pthread_join(c->v[i].thread, NULL);
    collect(c, b, n);
    arena_reset(&b->scratch);
}

hilo_status code_end(struct build *b) {
    struct code *c = b->code;
    code_generate(b, true);
    HILO_TRY(c->status);
    bool part = b->offload && b->offload->to == OFFLOAD_PART;
    const struct target *t = part && !b->on_device ? b->processor : b->target;
    bool gpu = is_for_gpu(t);
    c->exe->machine = target_isa_name(t->isa);
    c->exe->cubins = gpu && c->wants_cubins && c->cubins.n ? c->cubins.v : NULL;
    HILO_TRY(rt_executable_link(c->exe, c->objects[gpu].v, c->objects[gpu].n, gpu ? t->name : t->features, b->d));
    return part ? rt_executable_link_processor(c->exe, c->objects[false].v, c->objects[false].n, b->d) : HILO_OK;
}

hilo_status code_text(struct build *b, enum code_form form, struct strbuf *out) {
    static const enum cg_emit forms[] = {[CODE_LLVM] = CG_LLVM, [CODE_ASM] = CG_ASSEMBLY, [CODE_OBJECT] = CG_OBJECT};
    uint32_t n = b->kernels.n;
    const struct kir **kernels = ARENA_ARRAY(b->a, const struct kir *, n + 1);
    void *code;
    size_t bytes;
    for (uint32_t i = 0; i < n; i++) {
        kernels[i] = b->kernels.v[i].kir;
        if (form == CODE_KIR)
            kir_print(kernels[i], out);
    }
    if (form == CODE_KIR)
        return HILO_OK;
    if (b->offload && b->offload->to == OFFLOAD_PART)
        return diag_error(b->d, HILO_UNIMPLEMENTED, "a program that is divided between processor and GPU has code for both");
    HILO_TRY(cg_compile(kernels, n, b->target, forms[form], &b->a->al, b->d, &code, &bytes));
    hilo_status status = HILO_OK;
    if (form == CODE_OBJECT && is_for_gpu(b->target)) {
        void *ptx = code;
        size_t ptx_bytes = bytes;
        code = NULL;
        status = ext_cubin((struct str){ptx, ptx_bytes}, b->target->name, &b->a->al, b->d, &code, &bytes);
        mem_free(&b->a->al, ptx, ptx_bytes);
    }
    if (code)
        strbuf_putn(out, code, bytes);
    mem_free(&b->a->al, code, bytes);
    return status;
}

#else

hilo_status code_available(struct diag_list *d) {
    return diag_error(d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

hilo_status code_target(const char *name, struct target *out, struct diag_list *d) {
    (void)name;
    (void)out;
    return diag_error(d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

bool code_launch(const struct kir *k, const struct target *t, struct plan_kernel *out) {
    (void)k;
    (void)t;
    (void)out;
    return false;
}

void code_begin(hilo_executable *exe, struct build *b) {
    (void)exe;
    (void)b;
}

void code_generate(struct build *b, bool all) {
    (void)b;
    (void)all;
}

hilo_status code_end(struct build *b) {
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

hilo_status code_text(struct build *b, enum code_form form, struct strbuf *out) {
    (void)form;
    (void)out;
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

#endif
