/* Devices: properties, the context that the process shares with its other users of CUDA, and the stream. */
#include "gpu/device.h"

#include <string.h>

/* Numbers of attributes in the driver's interface. */
enum {
    ATTRIBUTE_MOST_PITCH = 11,
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_L2_BYTES = 38,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_BYTES = 97,
    ATTRIBUTE_POOLS = 115,
    POOL_RELEASE_THRESHOLD = 4,
    STREAM_NON_BLOCKING = 1,
    EVENT_WITHOUT_TIME = 2
};

hilo_status gpu_count(struct diag_list *d, int32_t *out) {
    const struct gpu_driver *driver = gpu_driver_get(d);
    int n = 0;
    if (!driver)
        return HILO_UNAVAILABLE;
    HILO_TRY(GPU_CALL(driver, d, cuDeviceGetCount, &n));
    *out = n;
    return HILO_OK;
}

static hilo_status device_attribute(const struct gpu_driver *driver, int device, int attribute, struct diag_list *d,
                                    int32_t *out) {
    int value = 0;
    HILO_TRY(GPU_CALL(driver, d, cuDeviceGetAttribute, &value, attribute, device));
    *out = value;
    return HILO_OK;
}

static hilo_status device_find(const struct gpu_driver *driver, int32_t ordinal, struct diag_list *d, int *out) {
    int32_t n;
    HILO_TRY(gpu_count(d, &n));
    if (ordinal < 0 || ordinal >= n)
        return diag_error(d, HILO_NOT_FOUND, n ? "there is no GPU %d; the driver has %d" : "the driver has no GPU", ordinal, n);
    return GPU_CALL(driver, d, cuDeviceGet, out, ordinal);
}

hilo_status gpu_describe(int32_t ordinal, struct diag_list *d, struct gpu_properties *out) {
    const struct gpu_driver *driver = gpu_driver_get(d);
    int device, version;
    int32_t l2, shared;
    *out = (struct gpu_properties){.ordinal = ordinal};
    if (!driver)
        return HILO_UNAVAILABLE;
    HILO_TRY(device_find(driver, ordinal, d, &device));
    HILO_TRY(GPU_CALL(driver, d, cuDeviceGetName, out->name, (int)sizeof out->name, device));
    HILO_TRY(GPU_CALL(driver, d, cuDeviceTotalMem, &out->memory_bytes, device));
    HILO_TRY(GPU_CALL(driver, d, cuDriverGetVersion, &version));
    HILO_TRY(device_attribute(driver, device, ATTRIBUTE_MULTIPROCESSORS, d, &out->multiprocessors));
    HILO_TRY(device_attribute(driver, device, ATTRIBUTE_MAJOR, d, &out->major));
    HILO_TRY(device_attribute(driver, device, ATTRIBUTE_MINOR, d, &out->minor));
    HILO_TRY(device_attribute(driver, device, ATTRIBUTE_L2_BYTES, d, &l2));
    HILO_TRY(device_attribute(driver, device, ATTRIBUTE_SHARED_BYTES, d, &shared));
    out->name[sizeof out->name - 1] = '\0';
    out->driver = version;
    out->l2_bytes = (size_t)l2;
    out->shared_bytes = (size_t)shared;
    return HILO_OK;
}

/* The pool keeps what is freed, for the next. */
static hilo_status device_begin(struct gpu *g, struct diag_list *d) {
    const struct gpu_driver *driver = g->driver;
    int32_t pools, pitch;
    uint64_t keep = UINT64_MAX;
    HILO_TRY(gpu_describe(g->properties.ordinal, d, &g->properties));
    HILO_TRY(device_find(driver, g->properties.ordinal, d, &g->device));
    HILO_TRY(device_attribute(driver, g->device, ATTRIBUTE_POOLS, d, &pools));
    HILO_TRY(device_attribute(driver, g->device, ATTRIBUTE_MOST_PITCH, d, &pitch));
    g->most_pitch = pitch > 0 ? (size_t)pitch : 1;
    if (!pools)
        return diag_error(d, HILO_UNIMPLEMENTED, "GPU %d (%s) has no memory pools", g->properties.ordinal, g->properties.name);
    HILO_TRY(GPU_CALL(driver, d, cuDevicePrimaryCtxRetain, &g->context, g->device));
    HILO_TRY(gpu_enter(g, d));
    HILO_TRY(GPU_CALL(driver, d, cuDeviceGetDefaultMemPool, &g->pool, g->device));
    HILO_TRY(GPU_CALL(driver, d, cuMemPoolSetAttribute, g->pool, POOL_RELEASE_THRESHOLD, &keep));
    return GPU_CALL(driver, d, cuStreamCreate, &g->stream, STREAM_NON_BLOCKING);
}

hilo_status gpu_open(int32_t ordinal, const hilo_allocator *al, struct diag_list *d, struct gpu **out) {
    const struct gpu_driver *driver = gpu_driver_get(d);
    if (!driver)
        return HILO_UNAVAILABLE;
    struct gpu *g = mem_alloc(al, sizeof *g);
    if (!g)
        return HILO_RESOURCE_EXHAUSTED;
    *g = (struct gpu){.driver = driver, .al = *al, .properties = {.ordinal = ordinal}};
    pthread_mutex_init(&g->lock, NULL);
    pthread_mutex_init(&g->library_lock, NULL);
    hilo_status status = device_begin(g, d);
    if (status == HILO_OK)
        *out = g;
    else
        gpu_close(g);
    return status;
}

static void release_handles(struct gpu *g) {
    while (g->handles) {
        struct gpu_handle *x = g->handles;
        g->handles = x->next;
        x->of->release(x->handle);
        mem_free(&g->al, x, sizeof *x);
    }
}

/* Errors at the end have no one to be told. */
void gpu_close(struct gpu *g) {
    if (!g)
        return;
    if (g->context)
        (void)g->driver->cuCtxSetCurrent(g->context);
    if (g->stream)
        (void)g->driver->cuStreamSynchronize(g->stream);
    release_handles(g);
    if (g->stream) {
        (void)g->driver->cuMemPoolTrimTo(g->pool, 0);
        (void)g->driver->cuStreamDestroy(g->stream);
    }
    if (g->context)
        (void)g->driver->cuDevicePrimaryCtxRelease(g->device);
    pthread_mutex_destroy(&g->lock);
    pthread_mutex_destroy(&g->library_lock);
    hilo_allocator al = g->al;
    mem_free(&al, g, sizeof *g);
}

const struct gpu_properties *gpu_properties(const struct gpu *g) {
    return &g->properties;
}

hilo_status gpu_enter(struct gpu *g, struct diag_list *d) {
    return GPU_CALL(g->driver, d, cuCtxSetCurrent, g->context);
}

hilo_status gpu_stream(struct gpu *g, struct diag_list *d, void **out) {
    *out = g->stream;
    return gpu_enter(g, d);
}

hilo_status gpu_library(struct gpu *g, const struct gpu_library *library, struct diag_list *d, void **out) {
    hilo_status status = gpu_enter(g, d);
    pthread_mutex_lock(&g->library_lock);
    struct gpu_handle *x = g->handles;
    while (x && x->of != library)
        x = x->next;
    if (status == HILO_OK && !x) {
        x = mem_alloc(&g->al, sizeof *x);
        status = x ? library->make(g, d, out) : HILO_RESOURCE_EXHAUSTED;
        if (status == HILO_OK) {
            *x = (struct gpu_handle){g->handles, library, *out};
            g->handles = x;
        } else {
            mem_free(&g->al, x, sizeof *x);
        }
    }
    if (status == HILO_OK)
        *out = x->handle;
    pthread_mutex_unlock(&g->library_lock);
    return status;
}

hilo_status gpu_wait(struct gpu *g, struct diag_list *d) {
    HILO_TRY(gpu_enter(g, d));
    return GPU_CALL(g->driver, d, cuStreamSynchronize, g->stream);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A handle of the driver's is what the caller has. */
hilo_status gpu_event_record(struct gpu *g, struct diag_list *d, struct gpu_event **out) {
    void *e = NULL;
    HILO_TRY(gpu_enter(g, d));
    HILO_TRY(GPU_CALL(g->driver, d, cuEventCreate, &e, EVENT_WITHOUT_TIME));
    hilo_status status = GPU_CALL(g->driver, d, cuEventRecord, e, g->stream);
    if (status == HILO_OK)
        *out = e;
    else
        (void)g->driver->cuEventDestroy(e);
    return status;
}

hilo_status gpu_event_wait(struct gpu *g, struct gpu_event *e, struct diag_list *d) {
    hilo_status status = gpu_enter(g, d);
    if (status == HILO_OK)
        status = GPU_CALL(g->driver, d, cuEventSynchronize, e);
    (void)g->driver->cuEventDestroy(e);
    return status;
}

hilo_status gpu_event_move(struct gpu *g, struct gpu_event *e, struct diag_list *d) {
    HILO_TRY(gpu_enter(g, d));
    return GPU_CALL(g->driver, d, cuEventRecord, e, g->stream);
}

void gpu_event_free(struct gpu *g, struct gpu_event *e) {
    if (!e)
        return;
    (void)g->driver->cuCtxSetCurrent(g->context);
    (void)g->driver->cuEventDestroy(e);
}
