/* A machine that runs PTX as hilo emits it, for tests on computers without a GPU.
 *
 * It knows what the code generator uses and no more: an unknown instruction is an error that names its line. Warps run in an
 * order that a seed chooses, each until the next barrier; the threads of a warp that are at the lowest instruction go first, so
 * that they meet again after a branch. It finds
 *   - accesses outside of a buffer or of shared memory, and misaligned ones;
 *   - races: bytes that two threads access without a barrier between them, one of them storing another value; bytes to which
 *     two blocks store different values;
 *   - asynchronous copies, which land as late as they may, that are not waited for before their place is accessed or the thread
 *     ends;
 *   - products of warpgroups (wgmma): sums that are used before they are waited for, or used without a fence before; factors
 *     that are overwritten meanwhile, or that another thread stored without a proxy fence and a barrier; warps of a group that
 *     do not do the same; descriptors that are not those of 128-byte swizzled lines;
 *   - boxes of matrices (cp.async.bulk.tensor), which land when no thread can go on, those that are waited for first: what a
 *     thread uses without having waited for its mbarrier, what lands where other threads may still read, or stores are not
 *     fenced, or in a later phase; mbarriers that are not initialized, or not fenced, or waited for without end;
 *   - barriers that not all threads of a block reach, exchanges within a warp that not all of its threads reach. */
#ifndef HILO_TESTS_GPU_PTX_H
#define HILO_TESTS_GPU_PTX_H

#include "hilo_kernel_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx;

/* What a run did, counted for each instruction of a warp. */
struct ptx_counts {
    uint64_t instructions;
    uint64_t sectors, wanted; /* of 32 bytes of global memory that were accessed; the least number that could hold the bytes */
    uint64_t conflicts;       /* further passes over the banks of shared memory */
    uint64_t barriers;        /* of a block */
};

struct ptx_buffer {
    void *p;
    size_t bytes;
    size_t skew; /* the kernel gets the address of the byte there; p itself is aligned to more than any access needs */
};

/* A module from text, which is copied; NULL, saying why. */
struct ptx *ptx_load(const char *text, size_t n, char *why, size_t size);
void ptx_free(struct ptx *p);
/* Threads of a block (.reqntid) of a kernel; 0 when there is none of this name. */
uint32_t ptx_threads(const struct ptx *p, const char *kernel);
/* Number of parameters. */
uint32_t ptx_params(const struct ptx *p, const char *kernel);
uint32_t ptx_maps(const struct ptx *p, const char *kernel); /* tensor maps, which follow them */
/* Runs `blocks` blocks with so many bytes of dynamic shared memory. maps: of buffers of parameters. False, saying why. counts:
   added to; may be NULL. */
bool ptx_run(const struct ptx *p, const char *kernel, uint32_t blocks, size_t shared_bytes, const struct ptx_buffer *params,
             uint32_t nparams, const struct hilo_gpu_map *maps, uint32_t nmaps, uint64_t seed, struct ptx_counts *counts,
             char *why, size_t size);

#endif
