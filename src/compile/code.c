/* Machine code for a plan's kernels: objects, made in batches by several threads while the plan is built, and loaded as one
   piece. Kernels that the baseline generator does not support are optimised by LLVM, the others later (tier.c) or never. */
#include "compile/code.h"

#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#include "external/nvjitlink.h"
#include "compile/tier.h"
#include "runtime/runtime.h"

#include <pthread.h>

enum {
    CODE_UNITS = 2,    /* the processor, and a GPU */
    CODE_THREADS = 16,
    CODE_WORTH = 4,    /* kernels for a GPU that are worth a thread */
    CODE_BATCH = 256,  /* kernels for each thread that are lowered before all code is generated and their IR freed */
    CODE_COST = TIER_BATCH
};

enum { CODE_TIERS = 2 };

/* Kernels that a thread compiles to objects. */
struct batch {
    struct batch *next;
    struct plan_kernel **kernels;
    const struct kir **some;    /* room for those of a tier */
    const struct target *target;
    const hilo_allocator *al;
    struct diag_list d;
    struct {
        void *object;
        size_t bytes;
    } made[CODE_TIERS];         /* by enum cg_tier; nothing of one without kernels */
    void *cubin;                /* of an object of PTX */
    size_t cubin_bytes;
    uint32_t n;
    bool wants_cubin;
    hilo_status status;
};

/* Kept by the executable, so that nothing is lost when its arena cannot grow. */
struct code {
    hilo_executable *exe;
    /* In the order of their kernels, which does not depend on the threads. Batches are added by the thread that builds; their
       links, `next` and `ending` are guarded by the lock. */
    struct batch *batches, **end;
    struct batch *next;  /* the first that no thread has taken */
    bool ending;         /* none follow */
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_t helpers[CODE_THREADS];
    uint32_t nhelpers, threads;
    uint32_t done;     /* kernels of the build that have code */
    uint32_t seen;     /* that are in a batch or in `waiting` */
    struct code_kernels {
        struct plan_kernel **v; /* in the build's arena */
        uint32_t n, cap;
        uint64_t cost;
        const struct target *target;
    } waiting[CODE_UNITS]; /* for a batch: by whether they are for a GPU */
    struct code_objects {
        struct str *v; /* in the executable's arena */
        uint32_t n, cap;
    } objects[CODE_UNITS], baseline, cubins; /* baseline: for the processor; cubins: of those for a GPU, while all have one */
    hilo_tier tier;
    struct tier_kernels later; /* which optimised code may follow for; with their IR */
    bool wants_cubins;
    hilo_status status;
    const char *why;
};

/* Compiles those of the batch's kernels that are of a tier. */
static hilo_status compile_tier(struct batch *x, enum cg_tier tier) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        if ((atomic_load(&x->kernels[i]->tier) == PLAN_BASELINE) == (tier == CG_BASELINE))
            x->some[n++] = x->kernels[i]->kir;
    return n ? cg_compile(x->some, n, x->target, tier, CG_OBJECT, x->al, &x->d, &x->made[tier].object, &x->made[tier].bytes)
             : HILO_OK;
}

/* Leaves those kernels to LLVM that the baseline generator refuses. */
static hilo_status refuse_kernels(struct batch *x) {
    for (uint32_t i = 0; i < x->n; i++) {
        void *object = NULL;
        size_t bytes = 0;
        const struct kir *k = x->kernels[i]->kir;
        hilo_status status = cg_compile(&k, 1, x->target, CG_BASELINE, CG_OBJECT, x->al, &x->d, &object, &bytes);
        mem_free(x->al, object, bytes);
        if (status == HILO_UNIMPLEMENTED)
            atomic_store(&x->kernels[i]->tier, PLAN_OPTIMISED);
        else
            HILO_TRY(status);
    }
    return HILO_OK;
}

static hilo_status compile_tiers(struct batch *x) {
    hilo_status status = compile_tier(x, CG_BASELINE);
    if (status == HILO_UNIMPLEMENTED) {
        HILO_TRY(refuse_kernels(x));
        status = compile_tier(x, CG_BASELINE);
    }
    return status == HILO_OK ? compile_tier(x, CG_OPTIMISED) : status;
}

static void compile_batch(struct batch *x) {
    x->status = compile_tiers(x);
    if (x->status == HILO_OK && x->wants_cubin) /* where that fails there is none */
        (void)ext_cubin((struct str){x->made[CG_OPTIMISED].object, x->made[CG_OPTIMISED].bytes}, x->target->name, x->al, &x->d,
                        &x->cubin, &x->cubin_bytes);
}

/* The first batch that no thread has; NULL = there is none. Helpers wait for it. */
static struct batch *take_batch(struct code *c, bool waits) {
    pthread_mutex_lock(&c->lock);
    while (waits && !c->next && !c->ending)
        pthread_cond_wait(&c->more, &c->lock);
    struct batch *x = c->next;
    if (x)
        c->next = x->next;
    pthread_mutex_unlock(&c->lock);
    return x;
}

static uint32_t batches_left(struct code *c) {
    uint32_t n = 0;
    pthread_mutex_lock(&c->lock);
    for (const struct batch *x = c->next; x; x = x->next)
        n++;
    pthread_mutex_unlock(&c->lock);
    return n;
}

static void *help(void *code) {
    struct batch *x;
    while ((x = take_batch(code, true)) != NULL)
        compile_batch(x);
    return NULL;
}

/* No helper is left when it returns; what none had taken is compiled, or not. */
static void end_helpers(struct code *c, bool compiles) {
    struct batch *x;
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    if (!compiles)
        c->next = NULL;
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    while ((x = take_batch(c, false)) != NULL)
        compile_batch(x);
    while (c->nhelpers)
        pthread_join(c->helpers[--c->nhelpers], NULL);
    c->ending = false;
}

static void free_batches(struct code *c) {
    for (struct batch *x = c->batches; x; x = x->next) {
        diag_clear(&x->d);
        for (int tier = 0; tier < CODE_TIERS; tier++)
            mem_free(x->al, x->made[tier].object, x->made[tier].bytes);
        mem_free(x->al, x->cubin, x->cubin_bytes);
    }
    c->batches = NULL;
    c->end = &c->batches;
}

static void free_code(void *p) {
    struct code *c = p;
    end_helpers(c, false);
    free_batches(c);
    tier_forget(&c->later);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
}

hilo_status code_available(struct diag_list *d) {
    enum target_isa isa;
    HILO_TRY(target_isa_named(target_cpu_machine(), &isa, d));
    return cg_open(d);
}

bool code_has_baseline(void) {
    struct target t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    bool has = cg_target(NULL, &t, &d) == HILO_OK && cg_has_baseline(&t);
    diag_clear(&d);
    return has;
}

static void *open_library(void *unused) {
    struct diag_list d;
    (void)unused;
    diag_init(&d, mem_system_allocator());
    (void)cg_open(&d);
    diag_clear(&d);
    return NULL;
}

void code_open_begin(struct code_opening *o) {
    enum target_isa isa;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    bool generates = target_isa_named(target_cpu_machine(), &isa, &d) == HILO_OK;
    diag_clear(&d);
    o->started = generates && cg_open_untried() && pthread_create(&o->thread, NULL, open_library, NULL) == 0;
}

void code_open_end(struct code_opening *o) {
    if (o->started)
        pthread_join(o->thread, NULL);
    o->started = false;
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
    *c = (struct code){.exe = exe, .threads = threads > CODE_THREADS ? CODE_THREADS : threads, .wants_cubins = b->cubins,
                       .tier = b->tier};
    c->end = &c->batches;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    rt_executable_keep(exe, c, free_code);
}

static bool is_for_gpu(const struct target *t) {
    return t->isa == TARGET_NVPTX;
}

/* A batch of every `step`-th of the kernels, for the next thread that has time. */
static void add_batch(struct code *c, const struct code_kernels *w, uint32_t first, uint32_t step) {
    struct arena *a = &c->exe->arena;
    struct batch *x = ARENA_NEW(a, struct batch);
    *x = (struct batch){.kernels = ARENA_ARRAY(a, struct plan_kernel *, w->n), .some = ARENA_ARRAY(a, const struct kir *, w->n),
                        .target = w->target, .al = &c->exe->client->al,
                        .wants_cubin = is_for_gpu(w->target) && c->wants_cubins};
    for (uint32_t i = first; i < w->n; i += step)
        x->kernels[x->n++] = w->v[i];
    diag_init(&x->d, *x->al);
    pthread_mutex_lock(&c->lock);
    *c->end = x; /* a thread that takes the batch before reads it */
    c->end = &x->next;
    c->next = c->next ? c->next : x;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
}

/* Another thread that compiles, if there is one: this one lowers kernels meanwhile. */
static void add_helper(struct code *c) {
    if (c->nhelpers + 1 < c->threads && pthread_create(&c->helpers[c->nhelpers], NULL, help, c) == 0)
        c->nhelpers++;
}

/* Code for a processor is in batches of some size, that for a GPU in one for each thread: kernels that are compiled together
   cost its driver less. */
static void close_batch(struct code *c, bool gpu) {
    struct code_kernels *w = &c->waiting[gpu];
    uint32_t n = gpu ? (w->n + CODE_WORTH - 1) / CODE_WORTH : w->n > 0;
    n = n > c->threads ? c->threads : n;
    for (uint32_t i = 0; i < n; i++)
        add_batch(c, w, i, n);
    w->n = 0;
    w->cost = 0;
}

static void add_kernel(struct code *c, struct build *b, const struct build_kernel *k) {
    bool gpu = is_for_gpu(k->target);
    struct code_kernels *w = &c->waiting[gpu];
    w->target = k->target;
    atomic_store(&k->step->tier, gpu || c->tier == HILO_TIER_OPTIMISED ? PLAN_OPTIMISED : PLAN_BASELINE);
    ARENA_PUSH(b->a, w, k->step);
    w->cost += tier_cost(k->kir);
    if (gpu || c->threads == 1 || w->cost < CODE_COST)
        return;
    close_batch(c, gpu);
    add_helper(c);
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

static void keep_object(struct code *c, struct code_objects *to, const struct batch *x, enum cg_tier tier) {
    size_t bytes = x->made[tier].bytes;
    struct str object = {bytes ? arena_dup(&c->exe->arena, x->made[tier].object, bytes, 16) : "", bytes};
    if (bytes)
        ARENA_PUSH(&c->exe->arena, to, object);
}

/* Keeps the objects, and frees what they were made from, unless more is made from it later. */
static void collect(struct code *c, struct build *b) {
    struct arena *a = &c->exe->arena;
    for (const struct batch *x = c->batches; x; x = x->next) {
        if (c->status == HILO_OK && x->status != HILO_OK) {
            c->why = arena_dup(a, batch_message(x), strlen(batch_message(x)) + 1, 1);
            c->status = x->status;
        }
        keep_object(c, &c->objects[is_for_gpu(x->target)], x, CG_OPTIMISED);
        keep_object(c, &c->baseline, x, CG_BASELINE);
        keep_cubin(c, x);
    }
    free_batches(c);
    for (; c->done < c->seen; c->done++) {
        struct build_kernel *k = &b->kernels.v[c->done];
        struct tier_kernel later = {k->step, k->kir};
        if (c->status == HILO_OK && c->tier == HILO_TIER_AUTO && atomic_load(&k->step->tier) == PLAN_BASELINE) {
            ARENA_PUSH(a, &c->later, later);
        } else {
            kir_free(k->kir);
            k->step->kir = NULL;
        }
        k->kir = NULL;
    }
}

void code_generate(struct build *b, bool all) {
    struct code *c = b->code;
    while (c->seen < b->kernels.n)
        add_kernel(c, b, &b->kernels.v[c->seen++]);
    if (!all && c->seen - c->done < CODE_BATCH * c->threads)
        return;
    for (int gpu = 0; gpu < CODE_UNITS; gpu++)
        close_batch(c, gpu);
    for (uint32_t i = 1, n = batches_left(c); i < n; i++)
        add_helper(c);
    end_helpers(c, true);
    collect(c, b);
}

/* The objects of both tiers, for the processor. */
static struct code_objects all_objects(struct code *c) {
    struct code_objects all = c->objects[false];
    for (uint32_t i = 0; i < c->baseline.n; i++)
        ARENA_PUSH(&c->exe->arena, &all, c->baseline.v[i]);
    return all;
}

bool code_is_missing(struct build *b) {
    code_generate(b, true);
    return b->code->status == HILO_UNAVAILABLE;
}

hilo_status code_end(struct build *b) {
    struct code *c = b->code;
    code_generate(b, true);
    if (c->status != HILO_OK)
        return diag_error(b->d, c->status, "%s", c->why);
    bool part = b->offload && b->offload->to == OFFLOAD_PART;
    const struct target *t = part && !b->on_device ? b->processor : b->target;
    bool gpu = is_for_gpu(t);
    struct code_objects objects = gpu ? c->objects[true] : all_objects(c);
    c->exe->machine = target_isa_name(t->isa);
    c->exe->cubins = gpu && c->wants_cubins && c->cubins.n ? c->cubins.v : NULL;
    HILO_TRY(rt_executable_link(c->exe, objects.v, objects.n, gpu ? t->name : t->features, b->d));
    if (part)
        return rt_executable_link_processor(c->exe, c->objects[false].v, c->objects[false].n, b->d);
    return tier_up(c->exe, &c->later, c->objects[false].n, t);
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
    enum cg_tier tier = b->tier == HILO_TIER_BASELINE ? CG_BASELINE : CG_OPTIMISED;
    if (tier == CG_BASELINE && form != CODE_OBJECT)
        return diag_error(b->d, HILO_UNIMPLEMENTED, "baseline code has no form but an object file");
    hilo_status status = cg_compile(kernels, n, b->target, tier, forms[form], &b->a->al, b->d, &code, &bytes);
    if (status == HILO_UNIMPLEMENTED && tier == CG_BASELINE)
        return diag_error(b->d, status, "the baseline code generator does not support all kernels of the program");
    HILO_TRY(status);
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

bool code_has_baseline(void) {
    return false;
}

void code_open_begin(struct code_opening *o) {
    o->started = false;
}

void code_open_end(struct code_opening *o) {
    (void)o;
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

bool code_is_missing(struct build *b) {
    (void)b;
    return true;
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
