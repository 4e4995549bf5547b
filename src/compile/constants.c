/* Constants that stay in the file that a program was read from. There they may be at any address, which kernels do not mind
 * (ir_data_may_stay). What else reads one wants it where C does, and so does a kernel that reads it in each run: an address
 * that is off by a byte makes each load of a vector one of two cache lines. Those are copied, once for a module. */
#include "compile/build.h"
#include "runtime/runtime.h"

static bool is_aligned(const struct plan_buffer *x) {
    size_t bytes = x->dtype == IR_DTYPE_NONE ? 1 : ir_dtype_get(x->dtype)->bytes;
    return (uintptr_t)x->data % (bytes < 8 ? bytes : 8) == 0;
}

/* Copies go by bytes, and transfers to a device. Where a kernel reads at most half of a constant, as lines of an embedding, a
   copy would take longer than what it gains. */
static bool takes_any(const struct plan_step *s, const struct plan_use *u, const struct plan_buffer *x) {
    bool parts = s->kind == PLAN_KERNEL && u->reads && u->reads <= x->bytes / 2;
    return s->kind == PLAN_COPY || parts || (s->kind == PLAN_KERNEL && (s->init || s->kernel->gpu.threads));
}

/* What there is of it, or a fresh copy; NULL when memory is exhausted. */
static const char *aligned_copy(hilo_module *module, const void *data, size_t bytes) {
    hilo_client *client = module->client;
    pthread_mutex_lock(&client->lock);
    struct rt_aligned *x = module->aligned;
    while (x && !(x->of == data && x->bytes == bytes))
        x = x->next;
    pthread_mutex_unlock(&client->lock);
    if (x)
        return x->data;
    struct rt_aligned fresh = {.of = data, .bytes = bytes, .data = mem_alloc(&client->memory, bytes)};
    x = fresh.data ? mem_alloc(&client->al, sizeof *x) : NULL;
    if (!x) {
        mem_free(&client->memory, fresh.data, bytes);
        return NULL;
    }
    memcpy(fresh.data, data, bytes);
    if (module->file.mapped)
        file_pages_done(data, bytes);
    *x = fresh;
    pthread_mutex_lock(&client->lock);
    x->next = module->aligned;
    module->aligned = x;
    pthread_mutex_unlock(&client->lock);
    return x->data;
}

hilo_status build_align_constants(hilo_module *module, const struct plan *p) {
    struct plan_buffer *buffers = (struct plan_buffer *)(uintptr_t)p->buffers;
    for (uint32_t i = 0; i < p->nsteps; i++)
        for (uint32_t k = 0; k < p->steps[i].nuses; k++) {
            struct plan_buffer *x = &buffers[p->steps[i].uses[k].buffer];
            if (x->place != PLAN_CONSTANT || x->space != PLAN_HOST || !x->bytes || is_aligned(x) ||
                takes_any(&p->steps[i], &p->steps[i].uses[k], x))
                continue;
            struct plan_buffer *root = &buffers[x->root];
            if ((uintptr_t)root->data % 8 && !(root->data = aligned_copy(module, root->data, root->bytes)))
                return HILO_RESOURCE_EXHAUSTED;
            x->data = (const char *)root->data + x->root_offset;
        }
    return HILO_OK;
}

void build_release_constants(const hilo_module *module) {
    if (module->file.mapped)
        file_pages_done(module->file.text.p, module->file.text.n);
}
