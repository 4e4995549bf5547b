/* Handles of NVIDIA's libraries: one for a device, with its stream, for one thread at a time. */
#ifndef HILO_EXTERNAL_HANDLE_H
#define HILO_EXTERNAL_HANDLE_H

#include "gpu/gpu.h"

#include <pthread.h>

struct ext_handle {
    void *handle;
    int (*destroy)(void *handle);
    pthread_mutex_t lock; /* held by those who call the library with it */
};

/* How a library makes them, and the names of these functions. */
struct ext_handle_maker {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*stream)(void *handle, void *stream);
    hilo_status (*check)(int error, const char *call, struct diag_list *d);
    const char *create_name, *stream_name;
};

/* For struct gpu_library. */
hilo_status ext_handle_make(struct gpu *g, const struct ext_handle_maker *m, struct diag_list *d, void **out);
void ext_handle_release(void *handle);

#endif
