/* hilo_kernel_abi.h: the versioned contract between a plan and machine code.
 *
 * A kernel is a function over memory. Its outermost loop is the grid, whose iterations are independent: the caller runs them
 * in any order, in ranges of any size, on any threads, and the results have the same bits. A kernel calls nothing, keeps no
 * state, contains no absolute address, and does not fail. */
#ifndef HILO_KERNEL_ABI_H
#define HILO_KERNEL_ABI_H

#include <stdint.h>

#define HILO_KERNEL_ABI_VERSION 1

/* Runs iterations begin to end-1 of the grid. Safe to call from several threads at once, each with its own scratch.
 *
 * buffers: one pointer for each parameter of the kernel, in order, each to as many elements as the kernel declares, aligned to
 *   the element; temporaries of a plan are aligned to 64 bytes. A buffer that is written does not overlap another one, unless
 *   the plan declares the overlay; a parameter that is read and written in place is one parameter.
 * scratch: memory of the size that the kernel declares, aligned to 64 bytes, with undefined contents, for this call alone.
 *   NULL if the size is 0. */
typedef void hilo_kernel_fn(void *const *buffers, void *scratch, int64_t begin, int64_t end);

/* How a kernel is launched on a GPU. Its PTX entry has the kernel's name and takes pointers to device memory: one for each
 * parameter of the kernel, in order, aligned to 16 bytes; then, where slab_bytes is not 0, one to blocks times slab_bytes
 * bytes with undefined contents, aligned to 64, for this launch alone; then tensor maps (CUtensorMap) by value. Blocks and
 * threads have one dimension. The block that has number b computes the iterations b, b + blocks, b + 2 * blocks … of the grid,
 * if `blocks` is less than its extent: then fewer blocks give the same bits, too. No block: nothing to do. */
#define HILO_GPU_MAPS 4 /* of a kernel, at most */

/* A matrix in the memory of a parameter that is only read, of which the kernel copies boxes: lines of `columns` elements,
 * line_bytes apart; a box is box_lines lines of 128 bytes, which are swizzled in shared memory by 128 bytes. Elements outside
 * are zeros. */
struct hilo_gpu_map {
    uint32_t param, element_bytes, box_lines;
    uint64_t columns, lines, line_bytes;
};

struct hilo_gpu_launch {
    uint32_t blocks, threads;
    uint32_t shared_bytes; /* dynamic shared memory of a block; more than 48 KiB takes an attribute of the function */
    uint32_t params;       /* pointers, that to the slab among them */
    uint64_t slab_bytes;   /* of a block */
    uint32_t nmaps;        /* tensor maps, which are made of the pointers that the launch has */
    struct hilo_gpu_map maps[HILO_GPU_MAPS];
};

#endif
