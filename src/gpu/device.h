/* What the files of gpu share. */
#ifndef HILO_GPU_DEVICE_H
#define HILO_GPU_DEVICE_H

#include "gpu/driver.h"
#include "gpu/gpu.h"

#include <pthread.h>

struct gpu {
    const struct gpu_driver *driver;
    hilo_allocator al;
    struct gpu_properties properties;
    int device;
    void *context, *stream, *pool;
    pthread_mutex_t lock; /* of: */
    struct gpu_memory memory;
};

/* Makes the device's context that of the calling thread, as the driver's calls expect. */
hilo_status gpu_enter(struct gpu *g, struct diag_list *d);

#endif
