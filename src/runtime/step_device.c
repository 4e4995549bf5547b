/* Steps on a GPU: they are enqueued, several as one graph, and the host waits before it reads or writes what transfers use. */
#include "runtime/device.h"
#include "runtime/run.h"

static char *scratch_of(const struct run *r) {
    return r->frame->memory[PLAN_DEVICE] + r->plan->memory[PLAN_DEVICE].block_bytes;
}

/* Before the device begins with a kernel: in a plan whose host computes beside it. */
static hilo_status mark_transfers(struct run *r) {
    struct run_transfers *x = &r->pending;
    if (!r->exe->two_sided || x->before == x->n)
        return HILO_OK;
    HILO_TRY(x->event ? gpu_event_move(r->client->gpu, x->event, r->d) : gpu_event_record(r->client->gpu, r->d, &x->event));
    x->before = x->n;
    return HILO_OK;
}

/* In a graph, where one is given. */
static hilo_status launch(struct run *r, const struct plan_step *s, void *const *v, struct gpu_graph *graph) {
    enum { MOST = 256 };
    const struct plan_kernel *k = s->kernel;
    void *params[MOST];
    if (k->grid <= 0)
        return HILO_OK;
    r->packs += k->packs;
    if (k->gpu.params != k->nparams) {
        if (k->nparams >= MOST)
            return diag_error(r->d, HILO_UNIMPLEMENTED, "kernel '%s' has %u parameters; a GPU takes %d", k->name, k->nparams,
                              MOST);
        memcpy(params, v, k->nparams * sizeof *params);
        params[k->nparams] = scratch_of(r);
        v = params;
    }
    return graph ? gpu_graph_launch(graph, k->function, &k->gpu, v, r->d)
                 : gpu_launch(r->client->gpu, k->function, &k->gpu, v, r->d);
}

hilo_status step_launch(struct run *r, const struct plan_step *s, void *const *v) {
    const struct plan_library *l = s->kernel->library;
    void *stream;
    HILO_TRY(mark_transfers(r));
    if (l && s->kernel->grid > 0) {
        HILO_TRY(gpu_stream(r->client->gpu, r->d, &stream));
        hilo_status status = l->run(l->state, stream, v, l->workspace_bytes ? scratch_of(r) : NULL, r->d);
        if (status != HILO_UNIMPLEMENTED)
            return status;
    }
    return launch(r, s, v, NULL);
}

static hilo_status transfer(struct run *r, enum gpu_direction direction, void *to, const void *from, size_t bytes) {
    r->transfers++;
    r->transferred_bytes += bytes;
    struct run_transfers *x = &r->pending;
    bool writes = direction == GPU_TO_HOST;
    if (x->n < RUN_TRANSFERS)
        x->v[x->n++] = (struct run_transfer){writes ? to : from, bytes, writes};
    else
        x->all = true;
    return gpu_copy(r->client->gpu, direction, to, from, bytes, r->d);
}

/* In memory of the host: operands, results, then scratch, each of which begins at a multiple of 64 bytes. */
static hilo_status fetched_routine(struct run *r, const struct plan_step *s, void **v, uint32_t nin) {
    enum { MOST = 8 };
    struct lib_match own = *s->routine;
    size_t at[MOST + 1] = {0}, bytes;
    void *host[MOST];
    own.how = NULL;
    own.by = LIB_OWN;
    for (uint32_t i = 0; i < s->nuses; i++)
        if (i >= MOST || !mem_add(at[i], r->plan->buffers[s->uses[i].buffer].bytes, &at[i + 1]) ||
            !mem_add(at[i + 1], 63, &at[i + 1]))
            return diag_error(r->d, HILO_RESOURCE_EXHAUSTED, "routine '%s' on the host", lib_match_name(&own));
        else
            at[i + 1] &= ~(size_t)63;
    char *memory = mem_add(at[s->nuses], own.scratch_bytes, &bytes) ? mem_alloc(&r->al, bytes) : NULL;
    if (!memory)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < s->nuses; i++) {
        host[i] = memory + at[i];
        if (i < nin && status == HILO_OK)
            status = transfer(r, GPU_TO_HOST, host[i], v[i], r->plan->buffers[s->uses[i].buffer].bytes);
    }
    if (status == HILO_OK)
        status = step_wait(r);
    if (status == HILO_OK)
        status = step_host_routine(r, &own, host, nin, memory + at[s->nuses]);
    for (uint32_t i = nin; i < s->nuses && status == HILO_OK; i++)
        status = transfer(r, GPU_TO_DEVICE, v[i], host[i], r->plan->buffers[s->uses[i].buffer].bytes);
    if (status != HILO_OK)
        (void)step_wait(r); /* for what is copied to the memory that ends here */
    mem_free(&r->al, memory, bytes);
    return status;
}

hilo_status step_device_routine(struct run *r, const struct plan_step *s, void **v, uint32_t nin) {
    const struct lib_match *x = s->routine;
    struct lib_call c = {.params = x->params, .nparams = x->nparams, .in = (const void *const *)v, .out = v + nin,
                         .scratch = scratch_of(r), .d = r->d};
    hilo_status status = x->how ? x->how->run(x->state, &c) : HILO_UNIMPLEMENTED;
    return status == HILO_UNIMPLEMENTED ? fetched_routine(r, s, v, nin) : status;
}

static hilo_status copy_on_device(struct run *r, const struct plan_step *s, void *const *v, struct gpu_graph *graph) {
    size_t bytes = r->plan->buffers[s->uses[0].buffer].bytes;
    if (v[0] == v[1]) /* a donated argument that is the result itself */
        return HILO_OK;
    r->copied_bytes += bytes;
    return graph ? gpu_graph_copy(graph, v[1], v[0], bytes, r->d)
                 : gpu_copy(r->client->gpu, GPU_ON_DEVICE, v[1], v[0], bytes, r->d);
}

hilo_status step_transfer(struct run *r, const struct plan_step *s, void *const *v) {
    const struct plan_buffer *from = &r->plan->buffers[s->uses[0].buffer], *to = &r->plan->buffers[s->uses[1].buffer];
    if (from->space == to->space)
        return copy_on_device(r, s, v, NULL);
    return transfer(r, to->space == PLAN_DEVICE ? GPU_TO_DEVICE : GPU_TO_HOST, v[1], v[0], from->bytes);
}

/* The first time that a frame comes here its steps are enqueued one by one: making a graph takes the driver longer. */
hilo_status step_segment(struct run *r, uint32_t step, bool *done) {
    const struct rt_segment *segment = &r->exe->segments[step];
    struct run_graph *x = &r->frame->graphs[segment->number];
    *done = x->ran;
    x->ran = true;
    if (!*done)
        return HILO_OK;
    HILO_TRY(mark_transfers(r));
    if (!x->graph)
        HILO_TRY(gpu_graph_new(r->client->gpu, r->d, &x->graph));
    gpu_graph_begin(x->graph);
    for (uint32_t i = step; i < step + segment->nsteps; i++) {
        const struct plan_step *s = &r->plan->steps[i];
        void *const *v = r->frame->pointers + r->exe->first_use[i];
        HILO_TRY((s->kind == PLAN_KERNEL ? launch : copy_on_device)(r, s, v, x->graph));
    }
    return gpu_graph_run(x->graph, r->d);
}

/* ---- waiting --------------------------------------------------------------------------------- */

hilo_status step_wait(struct run *r) {
    struct run_transfers *x = &r->pending;
    if (!x->n && !x->all)
        return HILO_OK;
    x->n = x->before = 0;
    x->all = false;
    return gpu_wait(r->client->gpu, r->d);
}

/* The host may go on with other memory. So it computes beside the device; and what has to be there before the device begins
   with something long is behind an event of its own. */
hilo_status step_wait_for(struct run *r, const struct plan_step *s, void *const *v) {
    struct run_transfers *x = &r->pending;
    uint32_t last = 0; /* 1 + the last transfer that it meets */
    for (uint32_t i = 0; i < s->nuses && !x->all; i++) {
        const struct plan_buffer *b = &r->plan->buffers[s->uses[i].buffer];
        const char *at = v[i], *end = plan_is_value(b) ? at : at + b->bytes;
        for (uint32_t k = last; k < x->n; k++)
            if (at < x->v[k].at + x->v[k].bytes && x->v[k].at < end && (x->v[k].writes || s->uses[i].role != PLAN_IN))
                last = k + 1;
    }
    if (x->all || last > x->before)
        return step_wait(r);
    if (!last)
        return HILO_OK;
    struct gpu_event *event = x->event;
    x->event = NULL;
    x->n -= x->before;
    memmove(x->v, x->v + x->before, x->n * sizeof *x->v);
    x->before = 0;
    return gpu_event_wait(r->client->gpu, event, r->d);
}
