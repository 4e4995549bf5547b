/* What a test may ask of the stand-in for NVIDIA's driver in its own process, by dlsym of what HILO_CUDA_PATH names. */
#ifndef HILO_TESTS_GPU_LIBCUDA_H
#define HILO_TESTS_GPU_LIBCUDA_H

#include <stdint.h>

struct fake_cuda {
    uint64_t calls, failed;   /* of those that may fail */
    uint64_t live;            /* handles and allocations that were not freed */
    uint64_t launches, graphs, updates; /* of single kernels; of graphs; of their nodes */
    uint64_t uploads, downloads;
};

/* Lets the call after the next `after` ones fail, once; UINT64_MAX: none. */
void fake_cuda_fail(uint64_t after);
void fake_cuda_read(struct fake_cuda *out);

#endif
