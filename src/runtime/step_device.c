/* Steps on a GPU: they are enqueued, and the host waits before it reads or writes what copies use. */
#include "runtime/device.h"
#include "runtime/run.h"

hilo_status step_launch(struct run *r, const struct plan_step *s, void *const *v) {
    enum { MOST = 256 };
    const struct plan_kernel *k = s->kernel;
    struct gpu *g = r->client->gpu;
    void *params[MOST];
    r->packs += k->packs;
    if (k->gpu.params == k->nparams)
        return gpu_launch(g, k->function, &k->gpu, v, r->d);
    if (k->nparams >= MOST)
        return diag_error(r->d, HILO_UNIMPLEMENTED, "kernel '%s' has %u parameters; a GPU takes %d", k->name, k->nparams, MOST);
    memcpy(params, v, k->nparams * sizeof *params);
    params[k->nparams] = r->frame->memory[PLAN_DEVICE] + r->plan->memory[PLAN_DEVICE].block_bytes;
    return gpu_launch(g, k->function, &k->gpu, params, r->d);
}

hilo_status step_transfer(struct run *r, const struct plan_step *s, void *const *v) {
    const struct plan_buffer *from = &r->plan->buffers[s->uses[0].buffer], *to = &r->plan->buffers[s->uses[1].buffer];
    struct gpu *g = r->client->gpu;
    if (from->space == to->space) {
        if (v[0] == v[1]) /* a donated argument that is the result itself */
            return HILO_OK;
        r->copied_bytes += from->bytes;
        return gpu_copy(g, GPU_ON_DEVICE, v[1], v[0], from->bytes, r->d);
    }
    r->transfers++;
    r->transferred_bytes += from->bytes;
    r->pending = true;
    return gpu_copy(g, to->space == PLAN_DEVICE ? GPU_TO_DEVICE : GPU_TO_HOST, v[1], v[0], from->bytes, r->d);
}

hilo_status step_wait(struct run *r) {
    if (!r->pending)
        return HILO_OK;
    r->pending = false;
    return gpu_wait(r->client->gpu, r->d);
}
