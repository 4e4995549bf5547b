/* Memory of the device from the driver's pool, in the order of the stream; pinned memory of the host; copies. */
#include "gpu/device.h"

static void memory_count(struct gpu *g, size_t taken, size_t given) {
    pthread_mutex_lock(&g->lock);
    g->memory.used_bytes += taken - given;
    g->memory.allocations += taken != 0;
    if (g->memory.peak_bytes < g->memory.used_bytes)
        g->memory.peak_bytes = g->memory.used_bytes;
    pthread_mutex_unlock(&g->lock);
}

struct gpu_memory gpu_memory(struct gpu *g) {
    pthread_mutex_lock(&g->lock);
    struct gpu_memory m = g->memory;
    pthread_mutex_unlock(&g->lock);
    return m;
}

hilo_status gpu_alloc(struct gpu *g, size_t bytes, const char *what, struct diag_list *d, void **out) {
    uint64_t address = 0;
    HILO_TRY(gpu_enter(g, d));
    hilo_status status = GPU_CALL(g->driver, d, cuMemAllocAsync, &address, bytes ? bytes : 1, g->stream);
    if (status == HILO_RESOURCE_EXHAUSTED) {
        struct gpu_memory m = gpu_memory(g);
        diag_error(d, status, "no %zu bytes for %s on GPU %d: %zu bytes are in use, %zu at most so far, of %zu", bytes, what,
                   g->properties.ordinal, m.used_bytes, m.peak_bytes, g->properties.memory_bytes);
    }
    if (status == HILO_OK) {
        memory_count(g, bytes, 0);
        *out = (void *)(uintptr_t)address;
    }
    return status;
}

void gpu_free(struct gpu *g, void *p, size_t bytes) {
    if (!p)
        return;
    (void)g->driver->cuCtxSetCurrent(g->context); /* what fails here has no one to be told */
    (void)g->driver->cuMemFreeAsync((uintptr_t)p, g->stream);
    memory_count(g, 0, bytes);
}

hilo_status gpu_host_alloc(struct gpu *g, size_t bytes, struct diag_list *d, void **out) {
    HILO_TRY(gpu_enter(g, d));
    return GPU_CALL(g->driver, d, cuMemHostAlloc, out, bytes ? bytes : 1, 0);
}

void gpu_host_free(struct gpu *g, void *p) {
    if (!p)
        return;
    (void)g->driver->cuCtxSetCurrent(g->context);
    (void)g->driver->cuStreamSynchronize(g->stream); /* copies may still use it */
    (void)g->driver->cuMemFreeHost(p);
}

hilo_status gpu_copy(struct gpu *g, enum gpu_direction direction, void *to, const void *from, size_t bytes,
                     struct diag_list *d) {
    if (!bytes)
        return HILO_OK;
    HILO_TRY(gpu_enter(g, d));
    switch (direction) {
    case GPU_TO_DEVICE:
        return GPU_CALL(g->driver, d, cuMemcpyHtoDAsync, (uintptr_t)to, from, bytes, g->stream);
    case GPU_TO_HOST:
        return GPU_CALL(g->driver, d, cuMemcpyDtoHAsync, to, (uintptr_t)from, bytes, g->stream);
    default:
        return GPU_CALL(g->driver, d, cuMemcpyDtoDAsync, (uintptr_t)to, (uintptr_t)from, bytes, g->stream);
    }
}
