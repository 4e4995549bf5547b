/* Steps on a GPU: they are enqueued, several as one graph, and the host waits before it reads or writes what copies use. */
#include "runtime/device.h"
#include "runtime/run.h"

static char *scratch_of(const struct run *r) {
    return r->frame->memory[PLAN_DEVICE] + r->plan->memory[PLAN_DEVICE].block_bytes;
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
    if (l && s->kernel->grid > 0) {
        HILO_TRY(gpu_stream(r->client->gpu, r->d, &stream));
        hilo_status status = l->run(l->state, stream, v, l->workspace_bytes ? scratch_of(r) : NULL, r->d);
        if (status != HILO_UNIMPLEMENTED)
            return status;
    }
    return launch(r, s, v, NULL);
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
    struct gpu *g = r->client->gpu;
    if (from->space == to->space)
        return copy_on_device(r, s, v, NULL);
    r->transfers++;
    r->transferred_bytes += from->bytes;
    r->pending = true;
    return gpu_copy(g, to->space == PLAN_DEVICE ? GPU_TO_DEVICE : GPU_TO_HOST, v[1], v[0], from->bytes, r->d);
}

/* The first time that a frame comes here its steps are enqueued one by one: making a graph takes the driver longer. */
hilo_status step_segment(struct run *r, uint32_t step, bool *done) {
    const struct rt_segment *segment = &r->exe->segments[step];
    struct run_graph *x = &r->frame->graphs[segment->number];
    *done = x->ran;
    x->ran = true;
    if (!*done)
        return HILO_OK;
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

hilo_status step_wait(struct run *r) {
    if (!r->pending)
        return HILO_OK;
    r->pending = false;
    return gpu_wait(r->client->gpu, r->d);
}
