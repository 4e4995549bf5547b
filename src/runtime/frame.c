/* Frames: what a run needs besides its stack, prepared once. Every use of a buffer by a step has a pointer in the frame;
 * constants' never change, those into the block only with the block, so a run sets those of arguments and results. */
#include "runtime/device.h"
#include "runtime/run.h"
#include "base/torture.h"

/* Larger blocks are freed after every run: an idle program holds no large memory. */
enum { FRAME_KEEPS = 64 << 10, FRAME_SEGMENT = 2 /* least steps of a graph */ };

/* ---- state of the executable -------------------------------------------------------------- */

static size_t memory_bytes(const hilo_executable *exe, enum plan_space space) {
    return plan_temp_bytes(&exe->plan, space); /* it fits; see rt_executable_ready */
}

/* Small memory that copies from and to a device use is pinned, so that they need not wait. */
static bool is_pinned(const hilo_executable *exe, enum plan_space space) {
    size_t bytes = memory_bytes(exe, space);
    return exe->on_device && space == PLAN_HOST && bytes && bytes <= FRAME_KEEPS;
}

static struct rt_patches *patches_of(hilo_executable *exe, const struct plan_buffer *x) {
    switch (x->place) {
    case PLAN_BLOCK: return &exe->in_block[x->space];
    case PLAN_CONSTANT: return x->space == PLAN_DEVICE ? &exe->in_device_constants : NULL;
    case PLAN_ARGUMENT: return &exe->in_arguments;
    case PLAN_RESULT: return &exe->in_results;
    case PLAN_INIT: return &exe->in_init[x->index];
    default: return NULL;
    }
}

static void find_patches(hilo_executable *exe) {
    const struct plan *p = &exe->plan;
    struct arena *a = &exe->arena;
    exe->first_use = ARENA_ARRAY(a, uint32_t, p->nsteps);
    for (uint32_t i = 0; i < p->nsteps; i++) {
        exe->first_use[i] = exe->nuses;
        exe->nuses += p->steps[i].nuses;
    }
    exe->in_init = arena_array(a, p->nsections, sizeof *exe->in_init, _Alignof(struct rt_patches));
    for (int pass = 0; pass < 2; pass++) /* counts, then fills */
        for (uint32_t i = 0, at = 0; i < p->nsteps; i++)
            for (uint32_t k = 0; k < p->steps[i].nuses; k++, at++) {
                const struct plan_buffer *x = &p->buffers[p->steps[i].uses[k].buffer];
                struct rt_patches *list = plan_is_value(x) ? NULL : patches_of(exe, x);
                if (!list)
                    continue;
                if (pass && !list->v) {
                    list->v = ARENA_ARRAY(a, struct rt_patch, list->n);
                    list->n = 0;
                }
                if (pass)
                    list->v[list->n] = (struct rt_patch){at, x->index, x->offset};
                list->n++;
            }
}

/* Whether a step can be one of a graph: a call of a library enqueues what it will. */
static bool is_node(const struct plan *p, const struct plan_step *s) {
    return plan_on_device(p, s) && !s->routine && !(s->kernel && s->kernel->library);
}

/* Finds the segments. Init steps run once. */
static void find_segments(hilo_executable *exe) {
    const struct plan *p = &exe->plan;
    exe->segments = ARENA_ARRAY(&exe->arena, struct rt_segment, p->nsteps);
    bool *entered = ARENA_ARRAY(&exe->arena, bool, (size_t)p->nsteps + 1); /* by a branch */
    for (uint32_t i = 0; i < p->nsteps; i++)
        for (uint32_t k = 0; k < p->steps[i].ntargets; k++)
            entered[p->steps[i].targets[k]] = true;
    for (uint32_t i = p->ninit, n; i < p->nsteps; i += n ? n : 1) {
        for (n = 0; i + n < p->nsteps && is_node(p, &p->steps[i + n]) && !(n && entered[i + n]);)
            n++;
        if (n >= FRAME_SEGMENT)
            exe->segments[i] = (struct rt_segment){n, exe->nsegments++};
    }
}

/* In memory of its own, outside of a run. */
static hilo_status init_constants(hilo_executable *exe, struct diag_list *d) {
    const struct plan *p = &exe->plan;
    if (exe->foreign || !p->nsections || !p->sections->nsteps)
        return HILO_OK;
    void *memory;
    HILO_TRY(rt_memory_alloc(exe->client, exe->on_device, p->sections->bytes, "what is computed of constants", d, &memory));
    exe->init_memory = memory;
    HILO_TRY(rt_defer(exe));
    for (uint32_t i = 0; i < p->sections->nsteps; i++)
        if (!rt_is_deferred(exe, i))
            return rt_run_init(exe, false, d);
    return HILO_OK;
}

hilo_status rt_executable_ready(hilo_executable *exe, struct diag_list *d) {
    const struct plan *p = &exe->plan;
    const struct rt_compiler *compiler = exe->client->compiler;
    size_t scratch = 0, all;
    if (p->evaluated)
        return HILO_OK;
    if (!mem_add(plan_temp_bytes(p, PLAN_HOST), FRAME_KEEPS, &all) ||
        !mem_add(all, plan_temp_bytes(p, PLAN_DEVICE), &all))
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].kind == PLAN_KERNEL && !p->steps[i].kernel->gpu.threads) {
            exe->two_sided = exe->on_device;
            scratch = scratch < p->steps[i].kernel->scratch_bytes ? p->steps[i].kernel->scratch_bytes : scratch;
        }
    find_patches(exe);
    if (exe->on_device)
        find_segments(exe);
    for (uint32_t i = 0; i < p->nbuffers; i++)
        if (p->buffers[i].place == PLAN_ARGUMENT && p->buffers[i].space == PLAN_HOST)
            exe->inputs[p->buffers[i].index].on_host = exe->on_device;
    HILO_TRY(rt_device_constants(exe, d));
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].routine && p->steps[i].routine->by != LIB_OWN && !p->steps[i].routine->how)
            lib_prepare((struct lib_match *)(uintptr_t)p->steps[i].routine, compiler ? compiler->externals : NULL,
                        exe->client->gpu);
    for (int32_t i = 0; i < exe->client->npools; i++)
        HILO_TRY(rt_pool_reserve(exe->client->pools[i], scratch));
    exe->packed = arena_array(&exe->arena, p->nsections, sizeof *exe->packed, _Alignof(struct rt_packed *));
    return init_constants(exe, d);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void bind_init(const hilo_executable *exe, struct run_frame *f, uint32_t section, char *memory) {
    const struct rt_patches *list = &exe->in_init[section];
    for (uint32_t i = 0; i < list->n && f->init[section] != memory; i++)
        f->pointers[list->v[i].at] = memory + list->v[i].offset;
    f->init[section] = memory;
}

void frame_bind_init(struct run *r, uint32_t section, char *memory) {
    bind_init(r->exe, r->frame, section, memory);
}

static struct run_frame *frame_new(struct run *r) {
    const hilo_executable *exe = r->exe;
    const struct plan *p = r->plan;
    size_t words = (size_t)exe->nuses + p->narguments + 2 * (size_t)p->nresults + p->nvalues + 2 * (size_t)p->nsections;
    size_t bytes = sizeof(struct run_frame) + p->ncounters * sizeof(uint64_t) + words * sizeof(void *) +
                   exe->nsegments * sizeof(struct run_graph);
    struct run_frame *f = mem_alloc(&r->client->memory, bytes);
    if (!f)
        return NULL;
    memset(f, 0, bytes);
    f->bytes = bytes;
    f->counters = (uint64_t *)(f + 1);
    f->pointers = (void **)(f->counters + p->ncounters);
    f->values = (struct value **)(f->pointers + exe->nuses);
    f->results = f->values + p->narguments;
    f->fresh = (hilo_buffer **)(f->results + p->nresults);
    f->slots = (struct value **)(f->fresh + p->nresults);
    f->packed = (struct rt_packed **)(f->slots + p->nvalues);
    f->init = (char **)(f->packed + p->nsections);
    f->graphs = (struct run_graph *)(f->init + p->nsections);
    if (!p->evaluated)
        for (uint32_t i = 0, at = 0; i < p->nsteps; i++)
            for (uint32_t k = 0; k < p->steps[i].nuses; k++, at++)
                f->pointers[at] = (void *)(uintptr_t)p->buffers[p->steps[i].uses[k].buffer].data;
    for (uint32_t i = 0; i < exe->in_device_constants.n; i++)
        f->pointers[exe->in_device_constants.v[i].at] = (char *)exe->device_constants + exe->in_device_constants.v[i].offset;
    if (exe->init_memory)
        bind_init(exe, f, 0, exe->init_memory);
    return f;
}

struct run_frame *frame_get(struct run *r) {
    hilo_executable *exe = r->exe;
    pthread_mutex_lock(&exe->lock);
    struct run_frame *f = exe->frames;
    if (f)
        exe->frames = f->next;
    pthread_mutex_unlock(&exe->lock);
    r->first = !f;
    return f ? f : frame_new(r);
}

static void free_block(const hilo_executable *exe, struct run_frame *f, enum plan_space space) {
    char *p = f->memory[space];
    f->memory[space] = NULL;
    if (!p)
        return;
    if (is_pinned(exe, space))
        gpu_host_free(exe->client->gpu, p);
    else
        rt_memory_free(exe->client, space == PLAN_DEVICE, p, memory_bytes(exe, space));
}

void rt_frames_free(hilo_executable *exe) {
    for (struct run_frame *f = exe->frames; f;) {
        struct run_frame *next = f->next;
        for (int space = 0; space < PLAN_SPACES; space++)
            free_block(exe, f, (enum plan_space)space);
        for (uint32_t i = 0; i < exe->nsegments; i++)
            gpu_graph_free(f->graphs[i].graph);
        mem_free(&exe->client->memory, f, f->bytes);
        f = next;
    }
}

static hilo_status take_block(struct run *r, enum plan_space space) {
    struct run_frame *f = r->frame;
    size_t bytes = memory_bytes(r->exe, space);
    void *p = f->memory[space];
    if (!p && is_pinned(r->exe, space))
        HILO_TRY(gpu_host_alloc(r->client->gpu, bytes, r->d, &p));
    else if (!p && (bytes || space == PLAN_HOST))
        HILO_TRY(rt_memory_alloc(r->client, space == PLAN_DEVICE, bytes, "temporaries", r->d, &p));
    f->memory[space] = p;
    atomic_fetch_add_explicit(&r->meter.now, bytes, memory_order_relaxed);
    if (TORTURE && space == PLAN_HOST)
        memset(p, TORTURE_DEAD, bytes);
    if (f->patched[space] == p)
        return HILO_OK;
    const struct rt_patches *list = &r->exe->in_block[space];
    for (uint32_t i = 0; i < list->n; i++)
        f->pointers[list->v[i].at] = (char *)p + list->v[i].offset;
    f->patched[space] = p;
    return HILO_OK;
}

hilo_status frame_bind_memory(struct run *r) {
    for (int space = 0; space < PLAN_SPACES; space++)
        HILO_TRY(take_block(r, (enum plan_space)space));
    return HILO_OK;
}

void frame_bind_io(struct run *r) {
    struct run_frame *f = r->frame;
    const struct rt_patches *in = &r->exe->in_arguments, *out = &r->exe->in_results;
    for (uint32_t i = 0; i < in->n; i++)
        f->pointers[in->v[i].at] = (char *)f->values[in->v[i].index]->data + in->v[i].offset;
    for (uint32_t i = 0; i < out->n; i++)
        f->pointers[out->v[i].at] = (char *)f->results[out->v[i].index]->data + out->v[i].offset;
}

void frame_release_block(struct run *r) {
    for (int space = 0; space < PLAN_SPACES; space++)
        if (memory_bytes(r->exe, (enum plan_space)space) > FRAME_KEEPS)
            free_block(r->exe, r->frame, (enum plan_space)space);
}
