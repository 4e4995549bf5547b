/* See handle.h. */
#include "external/handle.h"

void ext_handle_release(void *handle) {
    const hilo_allocator al = mem_system_allocator();
    struct ext_handle *h = handle;
    if (h->handle)
        (void)h->destroy(h->handle);
    pthread_mutex_destroy(&h->lock);
    mem_free(&al, h, sizeof *h);
}

hilo_status ext_handle_make(struct gpu *g, const struct ext_handle_maker *m, struct diag_list *d, void **out) {
    const hilo_allocator al = mem_system_allocator();
    void *stream;
    HILO_TRY(gpu_stream(g, d, &stream));
    struct ext_handle *h = mem_alloc(&al, sizeof *h);
    if (!h)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *h = (struct ext_handle){.destroy = m->destroy};
    pthread_mutex_init(&h->lock, NULL);
    hilo_status status = m->check(m->create(&h->handle), m->create_name, d);
    if (status == HILO_OK)
        status = m->check(m->stream(h->handle, stream), m->stream_name, d);
    if (status != HILO_OK)
        ext_handle_release(h);
    else
        *out = h;
    return status;
}
