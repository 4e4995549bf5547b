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

/* Kept by the executable, so that nothing is lost when its arena cannot grow. */
struct lots {
    struct lot v[CODE_THREADS];
    uint32_t n;
    const hilo_allocator *al;
};

static void free_lots(void *p) {
    struct lots *lots = p;
    for (uint32_t i = 0; i < lots->n; i++) {
        diag_clear(&lots->v[i].d);
        mem_free(lots->al, lots->v[i].object, lots->v[i].bytes);
    }
    lots->n = 0;
}

bool code_available(const hilo_allocator *al) {
    struct diag_list d;
    diag_init(&d, *al);
    bool there = cg_open(&d) == HILO_OK;
    diag_clear(&d);
    return there;
}

hilo_status code_target(const char *name, struct arena *a, struct diag_list *d, struct kir_target *shape,
                        const struct cg_target **out) {
    struct cg_target *t = ARENA_NEW(a, struct cg_target);
    HILO_TRY(cg_target(name && strcmp(name, "native") != 0 ? name : NULL, t, d));
    *shape = t->shape;
    *out = t;
    return HILO_OK;
}

hilo_status code_make(hilo_executable *exe, struct build *b, const struct cg_target *target) {
    uint32_t n = b->kernels.n, most = (uint32_t)exe->client->threads, nlots = (n + CODE_LOT - 1) / CODE_LOT;
    struct lots *lots = ARENA_NEW(b->a, struct lots);
    const struct kir **kernels = ARENA_ARRAY(b->a, const struct kir *, n + 1);
    struct str objects[CODE_THREADS];
    hilo_status status = HILO_OK;
    most = most > CODE_THREADS ? CODE_THREADS : most;
    nlots = nlots > most ? most : nlots;
    lots->al = &exe->client->al;
    rt_executable_keep(exe, lots, free_lots);
    for (uint32_t i = 0, k = 0; i < nlots; i++) { /* dealt in turn, so that large ones spread */
        struct lot *l = &lots->v[i];
        l->kernels = kernels + k;
        for (uint32_t j = i; j < n; j += nlots)
            kernels[k++] = b->kernels.v[j].kir;
        l->n = (uint32_t)(kernels + k - l->kernels);
        l->target = target;
        l->al = lots->al;
        diag_init(&l->d, *lots->al);
    }
    lots->n = nlots;
    for (uint32_t i = 1; i < nlots; i++)
        lots->v[i].started = pthread_create(&lots->v[i].thread, NULL, compile_lot, &lots->v[i]) == 0;
    for (uint32_t i = 0; i < nlots; i++)
        if (!lots->v[i].started)
            compile_lot(&lots->v[i]);
    for (uint32_t i = 0; i < nlots; i++) {
        const struct lot *l = &lots->v[i];
        if (l->started)
            pthread_join(l->thread, NULL);
        if (status == HILO_OK && l->status != HILO_OK)
            status =
                diag_error(b->d, l->status, "%s", l->d.first && l->d.first->message ? l->d.first->message : "out of memory");
        objects[i] = (struct str){l->object, l->bytes};
    }
    if (status == HILO_OK) {
        const char *dash = strchr(target->triple, '-');
        size_t machine = dash ? (size_t)(dash - target->triple) : strlen(target->triple);
        char *name = arena_alloc(&exe->arena, machine + 1, 1);
        memcpy(name, target->triple, machine);
        exe->machine = name;
        status = rt_executable_link(exe, objects, nlots, target->features, b->d);
    }
    free_lots(lots);
    return status;
}

hilo_status code_text(struct build *b, const struct cg_target *target, enum code_form form, struct strbuf *out) {
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
    HILO_TRY(cg_compile(kernels, n, target, forms[form], &b->a->al, b->d, &code, &bytes));
    strbuf_putn(out, code, bytes);
    mem_free(&b->a->al, code, bytes);
    return HILO_OK;
}

#else

bool code_available(const hilo_allocator *al) {
    (void)al;
    return false;
}

hilo_status code_target(const char *name, struct arena *a, struct diag_list *d, struct kir_target *shape,
                        const struct cg_target **out) {
    (void)name;
    (void)a;
    (void)shape;
    (void)out;
    return diag_error(d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

hilo_status code_make(hilo_executable *exe, struct build *b, const struct cg_target *target) {
    (void)exe;
    (void)target;
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

hilo_status code_text(struct build *b, const struct cg_target *target, enum code_form form, struct strbuf *out) {
    (void)target;
    (void)form;
    (void)out;
    return diag_error(b->d, HILO_UNAVAILABLE, "this hilo was built without a code generator");
}

#endif
