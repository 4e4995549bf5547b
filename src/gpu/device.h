/* What the files of gpu share. */
#ifndef HILO_GPU_DEVICE_H
#define HILO_GPU_DEVICE_H

#include "gpu/cuda.h"
#include "gpu/driver.h"
#include "gpu/gpu.h"

#include <pthread.h>

struct gpu {
    const struct gpu_driver *driver;
    hilo_allocator al;
    struct gpu_properties properties;
    int device;
    void *context, *stream, *pool;
    size_t most_pitch; /* bytes of a row that copies of graphs, which are of rows, may have: less than 2 GiB */
    pthread_mutex_t lock; /* of: */
    struct gpu_memory memory;
    pthread_mutex_t library_lock; /* of: */
    struct gpu_handle *handles;
};

/* Of a library: gpu_library. */
struct gpu_handle {
    struct gpu_handle *next;
    const struct gpu_library *of;
    void *handle;
};

/* Makes the device's context that of the calling thread, as the driver's calls expect. */
hilo_status gpu_enter(struct gpu *g, struct diag_list *d);

enum { GPU_MOST_PARAMS = 512 }; /* pointers: 4 KiB of parameters */
/* What the driver is given of a launch: addresses of pointers, then of tensor maps. */
struct gpu_arguments {
    void *at[GPU_MOST_PARAMS];
    struct cuda_map maps[HILO_GPU_MAPS];
};

/* UNIMPLEMENTED where a launch has more. */
hilo_status gpu_check_launch(const struct hilo_gpu_launch *launch, struct diag_list *d);
/* params: pointers, which outlive `out`; so does `out` the call that takes it. */
hilo_status gpu_make_arguments(const struct gpu *g, const struct hilo_gpu_launch *launch, void *const *params,
                               struct gpu_arguments *out, struct diag_list *d);

#endif
