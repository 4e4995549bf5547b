/* Machine code for a plan's kernels: objects, made in batches by several threads while the plan is built, and loaded as one
   piece. */
#include "compile/code.h"

#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#include "external/nvjitlink.h"
#include "runtime/runtime.h"

#include <pthread.h>

enum {
    CODE_UNITS = 2,    /* the processor, and a GPU */
    CODE_THREADS = 16,
    CODE_WORTH = 4,    /* kernels for a GPU that are worth a thread */
    CODE_BATCH = 256,  /* kernels for each thread that are lowered before all code is generated and their IR freed */
    CODE_COST = 1600   /* nodes of a batch: some 20 ms, many times what a batch takes by itself */
};

/* Kernels that a thread compiles to an object. */
struct batch {
    struct batch *next;
    const struct kir **kernels;
    const struct target *target;
    const hilo_allocator *al;
    struct diag_list d;
    void *object, *cubin; /* cubin: of an object of PTX */
    size_t bytes, cubin_bytes;
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
        const struct kir **v; /* in the build's arena */
        uint32_t n, cap;
        uint64_t cost;
        const struct target *target;
    } waiting[CODE_UNITS]; /* for a batch: by whether they are for a GPU */
    struct code_objects {
        struct str *v; /* in the executable's arena */
        uint32_t n, cap;
    } objects[CODE_UNITS], cubins; /* cubins: of those for a GPU, while all have one */
    bool wants_cubins;
    hilo_status status;
    const char *why;
};

static void compile_batch(struct batch *x) {
    x->status = cg_compile(x->kernels, x->n, x->target, CG_OPTIMISED, CG_OBJECT, x->al, &x->d, &x->object, &x->bytes);
    if (x->status == HILO_OK && x->wants_cubin) /* where that fails there is none */
        (void)ext_cubin((struct str){x->object, x->bytes}, x->target->name, x->al, &x->d, &x->cubin, &x->cubin_bytes);
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
        mem_free(x->al, x->object, x->bytes);
        mem_free(x->al, x->cubin, x->cubin_bytes);
    }
    c->batches = NULL;
    c->end = &c->batches;
}

static void free_code(void *p) {
    struct code *c = p;
    end_helpers(c, false);
    free_batches(c);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
}

hilo_status code_available(struct diag_list *d) {
    enum target_isa isa;
    HILO_TRY(target_isa_named(target_cpu_machine(), &isa, d));
    return cg_open(d);
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
    *c = (struct code){.exe = exe, .threads = threads > CODE_THREADS ? CODE_THREADS : threads, .wants_cubins = b->cubins};
    c->end = &c->batches;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    rt_executable_keep(exe, c, free_code);
}

static bool is_for_gpu(const struct target *t) {
    return t->isa == TARGET_NVPTX;
}

/* What the code of a block will have, about: nodes, those of unrolled loops as often as they are repeated. */
static uint64_t block_cost(const struct kir *k, kir_block b) {
    uint64_t cost = 0;
    if (!b.i)
        return 0;
    for (kir_val v = kir_block_get(k, b)->first; v.i; v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        uint64_t inside = block_cost(k, n->body) + block_cost(k, n->other);
        cost += 1 + inside * (n->op == KIR_LOOP && n->sub == KIR_UNROLLED ? (uint64_t)n->imm : 1);
    }
    return cost;
}

/* A batch of every `step`-th of the kernels, for the next thread that has time. */
static void add_batch(struct code *c, const struct code_kernels *w, uint32_t first, uint32_t step) {
    struct arena *a = &c->exe->arena;
    struct batch *x = ARENA_NEW(a, struct batch);
    *x = (struct batch){.kernels = ARENA_ARRAY(a, const struct kir *, w->n), .target = w->target, .al = &c->exe->client->al,
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
    ARENA_PUSH(b->a, w, k->kir);
    w->cost += block_cost(k->kir, (kir_block){1});
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

/* Keeps the objects, and frees what they were made from. */
static void collect(struct code *c, struct build *b) {
    struct arena *a = &c->exe->arena;
    for (const struct batch *x = c->batches; x; x = x->next) {
        if (c->status == HILO_OK && x->status != HILO_OK) {
            c->why = arena_dup(a, batch_message(x), strlen(batch_message(x)) + 1, 1);
            c->status = x->status;
        }
        struct str object = {x->bytes ? arena_dup(a, x->object, x->bytes, 16) : "", x->bytes};
        ARENA_PUSH(a, &c->objects[is_for_gpu(x->target)], object);
        keep_cubin(c, x);
    }
    free_batches(c);
    for (; c->done < c->seen; c->done++) {
        struct build_kernel *k = &b->kernels.v[c->done];
        kir_free(k->kir);
        k->kir = NULL;
        k->step->kir = NULL;
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

hilo_status code_end(struct build *b) {
    struct code *c = b->code;
    code_generate(b, true);
    if (c->status != HILO_OK)
        return diag_error(b->d, c->status, "%s", c->why);
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
    HILO_TRY(cg_compile(kernels, n, b->target, CG_OPTIMISED, forms[form], &b->a->al, b->d, &code, &bytes));
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

hilo_status code_end(struct build *b) {
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

hilo_status code_text(struct build *b, enum code_form form, struct strbuf *out) {
    (void)form;
    (void)out;
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

#endif
