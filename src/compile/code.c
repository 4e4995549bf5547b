/* Machine code for a plan's kernels: one object for each of several threads, loaded as one piece. */
#include "compile/code.h"

#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"

#include <pthread.h>

enum { CODE_THREADS = 16, CODE_LOT = 4 /* kernels that are worth a thread */ };

struct lot {
    const struct kir **kernels;
    const struct cg_target *target;
    const hilo_allocator *al;
    struct diag_list d;
    void *object;
    size_t bytes;
    uint32_t n;
    hilo_status status;
    pthread_t thread;
    bool started;
};

static void *compile_lot(void *arg) {
    struct lot *l = arg;
    l->status = cg_compile(l->kernels, l->n, l->target, CG_OBJECT, l->al, &l->d, &l->object, &l->bytes);
    return NULL;
}

static hilo_status load(const struct lot *lots, uint32_t n, const hilo_allocator *al, struct diag_list *d,
                        struct rt_code **out) {
    struct str objects[CODE_THREADS];
    for (uint32_t i = 0; i < n; i++)
        objects[i] = (struct str){lots[i].object, lots[i].bytes};
    return rt_code_load(objects, n, 0, *al, d, out);
}

bool code_available(const hilo_allocator *al) {
    struct diag_list d;
    diag_init(&d, *al);
    bool there = cg_open(&d) == HILO_OK;
    diag_clear(&d);
    return there;
}

hilo_status code_target(struct arena *a, struct diag_list *d, struct kir_target *shape, const struct cg_target **out) {
    struct cg_target *t = ARENA_NEW(a, struct cg_target);
    HILO_TRY(cg_target(NULL, t, d));
    *shape = t->shape;
    *out = t;
    return HILO_OK;
}

hilo_status code_make(struct build *b, const struct cg_target *target, uint32_t threads, struct rt_code **out) {
    const hilo_allocator *al = &b->a->al;
    uint32_t n = b->kernels.n, nlots = (n + CODE_LOT - 1) / CODE_LOT;
    *out = NULL;
    if (n == 0)
        return HILO_OK;
    nlots = nlots > threads ? threads : nlots;
    nlots = nlots > CODE_THREADS ? CODE_THREADS : nlots < 1 ? 1 : nlots;
    struct lot *lots = ARENA_ARRAY(b->a, struct lot, nlots);
    const struct kir **kernels = ARENA_ARRAY(b->a, const struct kir *, n);
    for (uint32_t i = 0, k = 0; i < nlots; i++) { /* dealt in turn, so that large ones spread */
        lots[i].kernels = kernels + k;
        for (uint32_t j = i; j < n; j += nlots)
            kernels[k++] = b->kernels.v[j].kir;
        lots[i].n = (uint32_t)(kernels + k - lots[i].kernels);
        lots[i].target = target;
        lots[i].al = al;
        diag_init(&lots[i].d, *al);
    }
    for (uint32_t i = 1; i < nlots; i++)
        lots[i].started = pthread_create(&lots[i].thread, NULL, compile_lot, &lots[i]) == 0;
    for (uint32_t i = 0; i < nlots; i++)
        if (!lots[i].started)
            compile_lot(&lots[i]);
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < nlots; i++) {
        if (lots[i].started)
            pthread_join(lots[i].thread, NULL);
        if (status == HILO_OK && lots[i].status != HILO_OK)
            status = diag_error(b->d, lots[i].status, "%s",
                                lots[i].d.first && lots[i].d.first->message ? lots[i].d.first->message : "out of memory");
        diag_clear(&lots[i].d);
    }
    if (status == HILO_OK)
        status = load(lots, nlots, al, b->d, out);
    for (uint32_t i = 0; i < nlots; i++)
        mem_free(al, lots[i].object, lots[i].bytes);
    for (uint32_t i = 0; i < n && status == HILO_OK; i++) {
        struct plan_kernel *k = b->kernels.v[i].step;
        k->fn = rt_code_find(*out, k->name);
        if (!k->fn)
            status = diag_error(b->d, HILO_INTERNAL, "kernel '%s' is missing in its object", k->name);
    }
    return status;
}

#else

bool code_available(const hilo_allocator *al) {
    (void)al;
    return false;
}

hilo_status code_target(struct arena *a, struct diag_list *d, struct kir_target *shape, const struct cg_target **out) {
    (void)a;
    (void)shape;
    (void)out;
    return diag_error(d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

hilo_status code_make(struct build *b, const struct cg_target *target, uint32_t threads, struct rt_code **out) {
    (void)target;
    (void)threads;
    (void)out;
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

#endif
