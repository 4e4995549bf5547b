/* Opens the driver: libcuda.so.1, which comes with NVIDIA's kernel module, or the library that HILO_CUDA_PATH names. Its
 * functions are asked for through cuGetProcAddress, which knows their versions by that of the interface. */
#include "gpu/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERFACE = 12000 }; /* version of the interface that cuda.def describes */

static const struct gpu_function_row {
    const char *name;
    size_t offset; /* of its pointer in struct gpu_driver */
} gpu_functions[] = {
#define CUDA(name, ...) {#name, offsetof(struct gpu_driver, name)},
#include "gpu/cuda.def"
};

/* The library is opened once for the process. */
static struct {
    pthread_once_t once;
    struct gpu_driver table;
    hilo_status status;
    char why[320];
} gpu_state = {.once = PTHREAD_ONCE_INIT};

static void gpu_unavailable(const char *fmt, const char *what) {
    gpu_state.status = HILO_UNAVAILABLE;
    snprintf(gpu_state.why, sizeof gpu_state.why, fmt, what);
}

/* Its errors have no names yet. */
static bool gpu_initialise(void) {
    int error = gpu_state.table.cuInit(0), version = 0;
    if (!error)
        error = gpu_state.table.cuDriverGetVersion(&version);
    const char *name = NULL;
    if (error && (gpu_state.table.cuGetErrorName(error, &name) || !name))
        name = "an unknown error";
    if (error == 0 && version >= INTERFACE)
        return true;
    gpu_unavailable(error ? "NVIDIA's driver does not start: cuInit: %s" : "NVIDIA's driver is older than CUDA 12%s",
                    error ? name : "");
    return false;
}

static void gpu_open_driver(void) {
    typedef int get_fn(const char *name, void **function, int version, uint64_t flags, int *found);
    const char *path = secure_getenv("HILO_CUDA_PATH");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        gpu_unavailable("no driver for NVIDIA GPUs (libcuda.so.1 comes with it; Debian: libcuda1): %.160s", dlerror());
        return;
    }
    void *p = dlsym(library, "cuGetProcAddress_v2");
    get_fn *get = NULL;
    memcpy(&get, &p, sizeof p); /* C has no cast from an object's address to a function's */
    if (!get) {
        gpu_unavailable("NVIDIA's driver is older than CUDA 12%s", "");
        return;
    }
    for (size_t i = 0; i < sizeof gpu_functions / sizeof *gpu_functions; i++) {
        void *f = NULL;
        if (get(gpu_functions[i].name, &f, INTERFACE, 0, NULL) != 0 || !f) {
            gpu_unavailable("NVIDIA's driver has no function %s", gpu_functions[i].name);
            return;
        }
        memcpy((char *)&gpu_state.table + gpu_functions[i].offset, &f, sizeof f);
    }
    gpu_initialise();
}

const struct gpu_driver *gpu_driver_get(struct diag_list *d) {
    pthread_once(&gpu_state.once, gpu_open_driver);
    if (gpu_state.status == HILO_OK)
        return &gpu_state.table;
    diag_error(d, gpu_state.status, "%s", gpu_state.why);
    return NULL;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Those of which a caller can make something; the others are INTERNAL. */
static const struct {
    int error;
    hilo_status status;
} gpu_errors[] = {
    {2, HILO_RESOURCE_EXHAUSTED},   /* out of memory */
    {3, HILO_UNAVAILABLE},          /* not initialised */
    {4, HILO_UNAVAILABLE},          /* the process ends */
    {100, HILO_NOT_FOUND},          /* no device */
    {101, HILO_NOT_FOUND},          /* no such device */
    {200, HILO_FAILED_PRECONDITION}, /* an image that it does not know */
    {209, HILO_FAILED_PRECONDITION}, /* no code for this GPU */
    {218, HILO_FAILED_PRECONDITION}, /* PTX that it cannot compile */
    {221, HILO_UNAVAILABLE},        /* no compiler for PTX */
    {222, HILO_FAILED_PRECONDITION}, /* PTX of a newer version */
    {500, HILO_NOT_FOUND},          /* no such name */
    {701, HILO_RESOURCE_EXHAUSTED}, /* a launch needs too many registers, or too much shared memory */
    {801, HILO_UNIMPLEMENTED},      /* not supported */
};

hilo_status gpu_driver_check(const struct gpu_driver *driver, int error, const char *call, struct diag_list *d) {
    const char *name = NULL, *text = NULL;
    if (error == 0)
        return HILO_OK;
    hilo_status status = HILO_INTERNAL;
    for (size_t i = 0; i < sizeof gpu_errors / sizeof *gpu_errors; i++)
        if (gpu_errors[i].error == error)
            status = gpu_errors[i].status;
    if (driver->cuGetErrorName(error, &name) != 0 || !name)
        name = "an unknown error";
    if (driver->cuGetErrorString(error, &text) != 0 || !text)
        text = "no text";
    return diag_error(d, status, "%s: %.80s: %.160s", call, name, text);
}
