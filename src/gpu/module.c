/* Code on the device: PTX, which the driver compiles when it is loaded, or cubins. */
#include "gpu/device.h"

#include <string.h>

enum { MOST_PARAMS = 512, LOG_BYTES = 4096, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6, FUNCTION_SHARED_BYTES = 8 };

struct gpu_module {
    struct gpu *g;
    void *handle;
};

/* The driver reads text up to its zero byte. */
static hilo_status module_load(struct gpu *g, const char *image, struct diag_list *d, void **out) {
    char log[LOG_BYTES] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    HILO_TRY(gpu_enter(g, d));
    int error = g->driver->cuModuleLoadDataEx(out, image, 2, options, values);
    hilo_status status = gpu_driver_check(g->driver, error, "cuModuleLoadDataEx", d);
    log[sizeof log - 1] = '\0';
    if (status != HILO_OK && *log)
        diag_error(d, status, "the driver's compiler: %.1024s", log);
    return status;
}

hilo_status gpu_module_load(struct gpu *g, struct str image, struct diag_list *d, struct gpu_module **out) {
    struct gpu_module *m = mem_alloc(&g->al, sizeof *m);
    char *text = m ? mem_alloc(&g->al, image.n + 1) : NULL;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (text) {
        memcpy(text, image.p, image.n);
        text[image.n] = '\0';
        *m = (struct gpu_module){.g = g};
        status = module_load(g, text, d, &m->handle);
        mem_free(&g->al, text, image.n + 1);
    }
    if (status == HILO_OK)
        *out = m;
    else
        mem_free(&g->al, m, sizeof *m);
    return status;
}

void gpu_module_free(struct gpu_module *m) {
    if (!m)
        return;
    struct gpu *g = m->g;
    (void)g->driver->cuCtxSetCurrent(g->context);
    (void)g->driver->cuStreamSynchronize(g->stream);
    (void)g->driver->cuModuleUnload(m->handle);
    mem_free(&g->al, m, sizeof *m);
}

struct gpu_function *gpu_module_find(struct gpu_module *m, const char *name) {
    void *f = NULL;
    if (m->g->driver->cuCtxSetCurrent(m->g->context) != 0 || m->g->driver->cuModuleGetFunction(&f, m->handle, name) != 0)
        return NULL;
    return f;
}

hilo_status gpu_function_shared(struct gpu *g, struct gpu_function *f, uint32_t bytes, struct diag_list *d) {
    HILO_TRY(gpu_enter(g, d));
    return GPU_CALL(g->driver, d, cuFuncSetAttribute, f, FUNCTION_SHARED_BYTES, (int)bytes);
}

hilo_status gpu_launch(struct gpu *g, struct gpu_function *f, const struct hilo_gpu_launch *launch, void *const *params,
                       struct diag_list *d) {
    void *at[MOST_PARAMS];
    if (launch->params > MOST_PARAMS)
        return diag_error(d, HILO_UNIMPLEMENTED, "a kernel with %u parameters; a GPU takes %d", launch->params,
                          (int)MOST_PARAMS);
    for (uint32_t i = 0; i < launch->params; i++)
        at[i] = (void *)(uintptr_t)&params[i];
    if (!launch->blocks)
        return HILO_OK;
    HILO_TRY(gpu_enter(g, d));
    return GPU_CALL(g->driver, d, cuLaunchKernel, f, launch->blocks, 1, 1, launch->threads, 1, 1, launch->shared_bytes,
                    g->stream, at, NULL);
}
