/* Structures of NVIDIA's driver interface, by its documentation (CUDA 12), that functions of cuda.def take. */
#ifndef HILO_GPU_CUDA_H
#define HILO_GPU_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* CUDA_KERNEL_NODE_PARAMS, version 2 */
struct cuda_launch {
    void *function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel, *context; /* of libraries; not used */
};

/* CUtensorMap; with types of elements by their bytes, swizzling of 128 bytes, and reads of as many for the L2 cache. */
struct cuda_map { _Alignas(64) unsigned char opaque[128]; };
enum { CUDA_MAP_UINT8 = 0, CUDA_MAP_UINT16 = 1, CUDA_MAP_UINT32 = 2, CUDA_MAP_UINT64 = 4,
       CUDA_SWIZZLE_128 = 3, CUDA_L2_128 = 2 };

enum { CUDA_DEVICE_MEMORY = 2 }; /* of the host: 1 */

/* One side of a copy: of its address, that which its type says. */
struct cuda_side {
    size_t x, y, z, level;
    int type;
    const void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height; /* bytes of a row, rows of a plane */
};

/* CUDA_MEMCPY3D */
struct cuda_copy {
    struct cuda_side from, to;
    size_t width, height, depth; /* width: bytes */
};

#endif
