/* See tier.h. What is needed until optimised code is there is in memory of its own: a thread may be compiling when the
 * executable ends. */
#include "compile/tier.h"

#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#include "runtime/code.h"
#include "runtime/runtime.h"

/* What LLVM 19 takes on one thread of a Zen 3 (AVX2): 3 to 5 ms for a kernel of one elementwise op; 560 to 760 ms for the 38
   kernels of ResNet-50, 8,492 nodes; 29 ms for 4 kernels of 333 nodes. Opening it takes 11 to 27 ms. */
static const double TIER_KERNEL_MS = 3, TIER_NODE_MS = 0.05, TIER_OPEN_MS = 20;

struct tier {
    struct rt_tier_up up;
    struct target target;
    struct arena arena;
    struct kir **kernels;  /* of all batches; up.nkernels, and NULL once they are freed */
    uint32_t *first;       /* kernel of each batch; up.nbatches + 1 */
};

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

uint64_t tier_cost(const struct kir *k) {
    return block_cost(k, (kir_block){1});
}

void tier_forget(struct tier_kernels *kernels) {
    for (uint32_t i = 0; i < kernels->n; i++)
        kir_free(kernels->v[i].kir);
    kernels->n = 0;
}

static struct tier *tier_of(struct rt_tier_up *x) {
    return (struct tier *)((char *)x - offsetof(struct tier, up));
}

static hilo_status compile(struct rt_tier_up *x, uint32_t batch, struct diag_list *d) {
    struct tier *t = tier_of(x);
    uint32_t first = t->first[batch], n = t->first[batch + 1] - first;
    void *object;
    size_t bytes;
    HILO_TRY(cg_compile((const struct kir *const *)t->kernels + first, n, &t->target, CG_OPTIMISED, CG_OBJECT, &x->al, d,
                        &object, &bytes));
    x->objects[batch] = (struct str){object, bytes};
    return HILO_OK;
}

static void forget(struct rt_tier_up *x) {
    struct tier *t = tier_of(x);
    for (uint32_t i = 0; i < x->nkernels; i++) {
        kir_free(t->kernels[i]);
        t->kernels[i] = NULL;
    }
}

static void free_tier(struct rt_tier_up *x) {
    struct tier *t = tier_of(x);
    hilo_allocator al = x->al;
    forget(x);
    for (uint32_t i = 0; i < x->nbatches; i++)
        mem_free(&al, (void *)(uintptr_t)x->objects[i].p, x->objects[i].n);
    rt_code_free(x->code);
    arena_free(&t->arena);
    mem_free(&al, t, sizeof *t);
}

/* Frees the IR of kernels that only init steps of constants use: those run once, before anything is optimised. */
static void drop_init_kernels(const struct plan *p, struct tier_kernels *kernels) {
    uint32_t first = p->nsections ? p->sections->nsteps : 0, n = 0;
    for (uint32_t i = first; i < p->nsteps; i++)
        if (p->steps[i].kernel)
            ((struct plan_kernel *)(uintptr_t)p->steps[i].kernel)->kir = NULL;
    for (uint32_t i = 0; i < kernels->n; i++) {
        struct tier_kernel k = kernels->v[i];
        if (k.step->kir)
            kir_free(k.kir);
        else
            kernels->v[n++] = k;
        k.step->kir = NULL;
    }
    kernels->n = n;
}

/* Puts the kernels in batches. */
static void fill(struct tier *t, const hilo_executable *exe, const struct tier_kernels *kernels, uint32_t nobjects) {
    struct rt_tier_up *x = &t->up;
    struct arena *a = &t->arena;
    uint64_t cost = 0, all = 0;
    struct str *objects = ARENA_ARRAY(a, struct str, (size_t)nobjects + kernels->n);
    t->kernels = ARENA_ARRAY(a, struct kir *, kernels->n);
    t->first = ARENA_ARRAY(a, uint32_t, (size_t)kernels->n + 1);
    x->objects = objects + nobjects;
    x->kernels = ARENA_ARRAY(a, struct plan_kernel *, kernels->n);
    for (uint32_t i = 0; i < kernels->n; i++) {
        const char *name = kernels->v[i].step->name;
        kernels->v[i].kir->name = arena_dup(a, name, strlen(name) + 1, 1);
        x->kernels[i] = kernels->v[i].step;
        x->ir_bytes += sizeof(struct kir) + kernels->v[i].kir->arena.bytes;
        cost += tier_cost(kernels->v[i].kir);
        if (cost < (x->nbatches ? TIER_BATCH : 1) && i + 1 < kernels->n) /* a run may wait for the first one */
            continue;
        t->first[++x->nbatches] = i + 1;
        all += cost;
        cost = 0;
    }
    if (nobjects)
        memcpy(objects, exe->objects, nobjects * sizeof *objects);
    x->all = objects;
    x->nall = nobjects + x->nbatches;
    x->cost_ms = kernels->n * TIER_KERNEL_MS + (double)all * TIER_NODE_MS + (cg_open_untried() ? TIER_OPEN_MS : 0);
    for (uint32_t i = 0; i < kernels->n; i++) /* nothing fails from here on */
        t->kernels[i] = kernels->v[i].kir;
    x->nkernels = kernels->n;
}

hilo_status tier_up(hilo_executable *exe, struct tier_kernels *kernels, uint32_t nobjects, const struct target *target) {
    drop_init_kernels(&exe->plan, kernels);
    if (!kernels->n)
        return HILO_OK;
    hilo_allocator al = exe->client->al;
    struct tier *t = mem_alloc(&al, sizeof *t);
    if (!t)
        return HILO_RESOURCE_EXHAUSTED;
    *t = (struct tier){.up = {.exe = exe, .al = al, .compile = compile, .forget = forget, .free = free_tier},
                       .target = *target};
    arena_init(&t->arena, al, exe->arena.recover);
    exe->tier_up = &t->up; /* which frees it, from now on */
    fill(t, exe, kernels, nobjects);
    t->arena.recover = NULL;
    t->up.ir_bytes += t->arena.bytes + sizeof *t;
    kernels->n = 0;
    return HILO_OK;
}

#endif
