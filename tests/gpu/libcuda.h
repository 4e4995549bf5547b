/* What a test may ask of the stand-in for NVIDIA's driver in its own process, by dlsym of what HILO_CUDA_PATH names. */
#ifndef HILO_TESTS_GPU_LIBCUDA_H
#define HILO_TESTS_GPU_LIBCUDA_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct fake_cuda {
    uint64_t calls, failed;   /* of those that may fail */
    uint64_t live;            /* handles and allocations that were not freed */
    uint64_t launches, graphs, updates; /* of single kernels; of graphs; of their nodes */
    uint64_t uploads, downloads;
};

/* Lets the call after the next `after` ones fail, once; UINT64_MAX: none. */
void fake_cuda_fail(uint64_t after);
void fake_cuda_read(struct fake_cuda *out);

/* These functions of the library; NULL where HILO_CUDA_PATH names none. */
struct fake_cuda_functions {
    void (*let_fail)(uint64_t after);
    void (*read)(struct fake_cuda *out);
};

static inline struct fake_cuda_functions fake_cuda_find(void) {
    struct fake_cuda_functions f = {NULL, NULL};
    const char *path = getenv("HILO_CUDA_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL, *p = library ? dlsym(library, "fake_cuda_fail") : NULL;
    memcpy(&f.let_fail, &p, sizeof p); /* C has no cast from an object's address to a function's */
    p = library ? dlsym(library, "fake_cuda_read") : NULL;
    memcpy(&f.read, &p, sizeof p);
    return f;
}

#endif
