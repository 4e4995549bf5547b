/* Init steps of constants that are left to runs. What they write is as large as the program's weights, and fresh memory is
 * what the time to the first result mostly consists of: the system clears it, and a copy of all weights has left the caches
 * before it is read. So hilo_compile runs the small ones alone. In the first run each of the others runs just before the step
 * that reads what it writes, into an area that all of them share and that stays in the cache. The next run has them write what
 * is kept, and releases the pages of the program's file that they read. So a program that runs once has no second copy of its
 * weights. */
#include "runtime/run.h"
#include "base/torture.h"

enum { DEFER_LEAST = TORTURED(1, 1 << 20), DEFER_AREA = TORTURED(16 << 10, 32 << 20), DEFER_ALIGN = 64 };

/* A pointer of a frame to what a step writes: where it is in the area of the first run, and in what is kept. */
struct lent_pointer {
    uint32_t at;
    size_t area, kept;
};

struct deferred {
    uint32_t step;
    size_t bytes;  /* that it writes */
    bool lent;     /* the first run may write them to the area: one step, or group, reads them, once */
    bool read;     /* by one */
    enum { DEFER_OPEN, DEFER_BUSY, DEFER_DONE } state; /* of what is kept */
};

struct rt_deferral {
    pthread_mutex_t lock; /* of `begun` and all states; a step that is BUSY waits for no other run */
    pthread_cond_t changed;
    struct { struct deferred *v; uint32_t n, cap; } steps;
    uint32_t *number;     /* by init step: 1 + that of the deferred one; 0 = it is not */
    uint32_t *first;      /* by step that runs each time: of those that it needs */
    struct { uint32_t *v; uint32_t n, cap; } needs;
    struct { struct lent_pointer *v; uint32_t n, cap; } pointers;
    size_t area_bytes;
    bool begun;           /* a run has been the first */
    atomic_bool finished; /* all are DONE */
};

/* ---- what is deferred ------------------------------------------------------------------------- */

static const struct plan_buffer *root_of(const struct plan *p, const struct plan_use *u) {
    return &p->buffers[p->buffers[u->buffer].root];
}

static bool is_kept(const struct plan_buffer *root) {
    return root->place == PLAN_INIT && root->index == 0;
}

/* Bytes that an init step of constants writes for steps of runs; 0 = it reads or writes something else as well. */
static size_t written(const struct plan *p, uint32_t step) {
    const struct plan_step *s = &p->steps[step];
    size_t bytes = 0;
    for (uint32_t i = 0; i < s->nuses; i++) {
        const struct plan_buffer *root = root_of(p, &s->uses[i]);
        if (root->space != PLAN_HOST || (s->uses[i].role == PLAN_IN ? root->place != PLAN_CONSTANT : !is_kept(root)))
            return 0;
        bytes += s->uses[i].role == PLAN_IN ? 0 : root->bytes; /* it fits: all are in the section */
    }
    return bytes;
}

/* The deferred steps: alone, large, and read by steps of runs only. `maker`: by buffer, 1 + which one writes it. */
static void find_deferred(hilo_executable *exe, struct rt_deferral *d, uint32_t *maker) {
    const struct plan *p = &exe->plan;
    bool *inner = ARENA_ARRAY(&exe->arena, bool, p->nbuffers); /* read by an init step */
    for (uint32_t i = 0; i < p->ninit; i++)
        for (uint32_t k = 0; k < p->steps[i].nuses; k++)
            if (p->steps[i].uses[k].role == PLAN_IN)
                inner[p->buffers[p->steps[i].uses[k].buffer].root] = true;
    for (uint32_t i = 0; i < p->sections->nsteps; i += p->steps[i].group ? p->steps[i].group : 1) {
        const struct plan_step *s = &p->steps[i];
        size_t bytes = s->group ? 0 : written(p, i);
        bool outer = bytes >= DEFER_LEAST;
        for (uint32_t k = 0; k < s->nuses; k++)
            outer &= s->uses[k].role == PLAN_IN || !inner[p->buffers[s->uses[k].buffer].root];
        if (!outer)
            continue;
        struct deferred fresh = {.step = i, .bytes = bytes, .lent = true};
        ARENA_PUSH(&exe->arena, &d->steps, fresh);
        d->number[i] = d->steps.n;
        for (uint32_t k = 0; k < s->nuses; k++)
            if (s->uses[k].role != PLAN_IN)
                maker[p->buffers[s->uses[k].buffer].root] = d->steps.n;
    }
}

/* Adds what the step reads to what the step or group needs that begins at d->first[head]. */
static void add_needs(hilo_executable *exe, struct rt_deferral *d, const uint32_t *maker, uint32_t head, uint32_t step) {
    const struct plan_step *s = &exe->plan.steps[step];
    for (uint32_t k = 0; k < s->nuses; k++) {
        uint32_t number = maker[exe->plan.buffers[s->uses[k].buffer].root], i = d->first[head];
        if (!number)
            continue;
        while (i < d->needs.n && d->needs.v[i] != number - 1)
            i++;
        if (i < d->needs.n)
            continue;
        struct deferred *x = &d->steps.v[number - 1];
        x->lent = x->lent && !x->read && s->depth == 0;
        x->read = true;
        ARENA_PUSH(&exe->arena, &d->needs, number - 1);
    }
}

static void find_needs(hilo_executable *exe, struct rt_deferral *d, const uint32_t *maker) {
    const struct plan *p = &exe->plan;
    for (uint32_t i = p->ninit, n; i < p->nsteps; i += n) {
        d->first[i] = d->needs.n;
        n = p->steps[i].group ? p->steps[i].group : 1;
        for (uint32_t k = 0; k < n; k++)
            add_needs(exe, d, maker, i, i + k);
        for (uint32_t k = 1; k <= n; k++)
            d->first[i + k] = d->needs.n;
    }
}

/* Gives what a step or group needs places in the area, as far as it goes; `at`: by buffer. */
static void place_lent(const hilo_executable *exe, struct rt_deferral *d, size_t *at) {
    const struct plan *p = &exe->plan;
    for (uint32_t i = p->ninit; i < p->nsteps; i++) {
        size_t used = 0;
        for (uint32_t n = d->first[i]; n < d->first[i + 1]; n++) {
            struct deferred *x = &d->steps.v[d->needs.v[n]];
            const struct plan_step *s = &p->steps[x->step];
            size_t room = x->bytes + s->nuses * (size_t)DEFER_ALIGN;
            x->lent = x->lent && room <= DEFER_AREA && used <= DEFER_AREA - room;
            for (uint32_t k = 0; k < s->nuses && x->lent; k++)
                if (s->uses[k].role != PLAN_IN) {
                    at[p->buffers[s->uses[k].buffer].root] = used;
                    used += (root_of(p, &s->uses[k])->bytes + DEFER_ALIGN - 1) & ~(size_t)(DEFER_ALIGN - 1);
                }
        }
        d->area_bytes = used > d->area_bytes ? used : d->area_bytes;
    }
}

static void find_pointers(hilo_executable *exe, struct rt_deferral *d, const uint32_t *maker, const size_t *at) {
    const struct plan *p = &exe->plan;
    for (uint32_t i = 0; i < p->nsteps; i++)
        for (uint32_t k = 0; k < p->steps[i].nuses; k++) {
            const struct plan_buffer *x = &p->buffers[p->steps[i].uses[k].buffer];
            uint32_t number = maker[x->root];
            if (!number || !d->steps.v[number - 1].lent)
                continue;
            struct lent_pointer fresh = {.at = exe->first_use[i] + k, .kept = x->offset};
            fresh.area = at[x->root] + (x->offset - p->buffers[x->root].offset);
            ARENA_PUSH(&exe->arena, &d->pointers, fresh);
        }
}

hilo_status rt_defer(hilo_executable *exe) {
    const struct plan *p = &exe->plan;
    struct arena *a = &exe->arena;
    if (exe->on_device || exe->foreign || !p->nsections || !p->sections->nsteps)
        return HILO_OK;
    struct rt_deferral *d = ARENA_NEW(a, struct rt_deferral);
    uint32_t *maker = ARENA_ARRAY(a, uint32_t, p->nbuffers);
    size_t *at = ARENA_ARRAY(a, size_t, p->nbuffers);
    d->number = ARENA_ARRAY(a, uint32_t, p->sections->nsteps);
    d->first = ARENA_ARRAY(a, uint32_t, (size_t)p->nsteps + 1);
    find_deferred(exe, d, maker);
    if (!d->steps.n)
        return HILO_OK;
    find_needs(exe, d, maker);
    place_lent(exe, d, at);
    find_pointers(exe, d, maker, at);
    atomic_init(&d->finished, false);
    if (pthread_mutex_init(&d->lock, NULL) != 0)
        return HILO_RESOURCE_EXHAUSTED;
    if (pthread_cond_init(&d->changed, NULL) != 0) {
        pthread_mutex_destroy(&d->lock);
        return HILO_RESOURCE_EXHAUSTED;
    }
    exe->deferral = d;
    return HILO_OK;
}

void rt_defer_free(hilo_executable *exe) {
    if (!exe->deferral)
        return;
    pthread_cond_destroy(&exe->deferral->changed);
    pthread_mutex_destroy(&exe->deferral->lock);
}

bool rt_is_deferred(const hilo_executable *exe, uint32_t step) {
    return exe->deferral && exe->deferral->number[step];
}

/* ---- runs ------------------------------------------------------------------------------------- */

/* Releases the pages of the module's file that the step has read. */
static void release_pages(const struct run *r, const struct plan_step *s) {
    const hilo_module *module = r->exe->module;
    struct str file = module ? module->file.text : (struct str){NULL, 0};
    for (uint32_t i = 0; i < s->nuses && module && module->file.mapped; i++) {
        const struct plan_buffer *x = &r->plan->buffers[s->uses[i].buffer];
        uintptr_t at = (uintptr_t)x->data - (uintptr_t)file.p;
        if (x->place == PLAN_CONSTANT && at < file.n && x->bytes <= file.n - at)
            file_pages_done(x->data, x->bytes);
    }
}

static hilo_status run_one(struct run *r, uint32_t step) {
    uint32_t running = r->step;
    hilo_status status = run_steps(r, step, step + 1);
    r->step = running;
    return status;
}

/* Has a step write what is kept, unless it did; or waits for the run that has it do so. */
static hilo_status make(struct run *r, struct deferred *x) {
    struct rt_deferral *d = r->exe->deferral;
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&d->lock);
    while (x->state == DEFER_BUSY)
        pthread_cond_wait(&d->changed, &d->lock);
    if (x->state == DEFER_OPEN) {
        x->state = DEFER_BUSY;
        pthread_mutex_unlock(&d->lock);
        status = run_one(r, x->step);
        if (status == HILO_OK)
            release_pages(r, &r->plan->steps[x->step]);
        pthread_mutex_lock(&d->lock);
        x->state = status == HILO_OK ? DEFER_DONE : DEFER_OPEN;
        pthread_cond_broadcast(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

hilo_status run_deferred(struct run *r) {
    struct rt_deferral *d = r->exe->deferral;
    if (!d || atomic_load_explicit(&d->finished, memory_order_acquire))
        return HILO_OK;
    for (uint32_t i = 0; i < d->steps.n; i++)
        HILO_TRY(make(r, &d->steps.v[i]));
    atomic_store_explicit(&d->finished, true, memory_order_release);
    return HILO_OK;
}

/* Whether this is the first run, and alone: one of several processes must not wait for another run. */
static bool is_first(struct run *r) {
    struct rt_deferral *d = r->exe->deferral;
    pthread_mutex_lock(&d->lock);
    bool first = !d->begun && !r->launch;
    d->begun = true;
    pthread_mutex_unlock(&d->lock);
    return first;
}

hilo_status run_defer_begin(struct run *r) {
    struct rt_deferral *d = r->exe->deferral;
    if (!d || atomic_load_explicit(&d->finished, memory_order_acquire))
        return HILO_OK;
    if (!is_first(r) || !(r->area = mem_alloc(&r->al, d->area_bytes)))
        return run_deferred(r);
    r->first = true;
    for (uint32_t i = 0; i < d->pointers.n; i++)
        r->frame->pointers[d->pointers.v[i].at] = r->area + d->pointers.v[i].area;
    return HILO_OK;
}

hilo_status run_defer_needs(struct run *r, uint32_t step) {
    struct rt_deferral *d = r->exe->deferral;
    for (uint32_t i = d->first[step]; i < d->first[step + 1]; i++) {
        struct deferred *x = &d->steps.v[d->needs.v[i]];
        HILO_TRY(x->lent ? run_one(r, x->step) : make(r, x));
    }
    return HILO_OK;
}

void run_defer_end(struct run *r) {
    const struct rt_deferral *d = r->exe->deferral;
    if (!r->area)
        return;
    for (uint32_t i = 0; i < d->pointers.n; i++)
        r->frame->pointers[d->pointers.v[i].at] = r->exe->init_memory + d->pointers.v[i].kept;
    mem_free(&r->al, r->area, d->area_bytes);
    r->area = NULL;
}
