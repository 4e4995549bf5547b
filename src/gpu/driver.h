/* NVIDIA's driver as a table of functions, found in the library when a device is first asked for. */
#ifndef HILO_GPU_DRIVER_H
#define HILO_GPU_DRIVER_H

#include "base/diag.h"
#include "gpu/cuda.h"

#include <stddef.h>
#include <stdint.h>

struct gpu_driver {
#define CUDA(name, ...) int (*name)(__VA_ARGS__);
#include "gpu/cuda.def"
};

/* The driver, opened and initialised once for the process; any thread. NULL with a diagnostic (UNAVAILABLE), which says what to
   install, where there is none. */
const struct gpu_driver *gpu_driver_get(struct diag_list *d);
/* The status of a call that returned `error`: OK for 0; else with a diagnostic that names the call and the error. */
hilo_status gpu_driver_check(const struct gpu_driver *driver, int error, const char *call, struct diag_list *d);

/* Calls a function of a driver. */
#define GPU_CALL(driver, d, name, ...) gpu_driver_check(driver, (driver)->name(__VA_ARGS__), #name, d)

#endif
