/* hilo_kernel_abi.h - the contract between a plan and machine code, versioned: what a kernel gets, and what it may do.
 *
 * A kernel is a pure function over memory. Its outermost loop is the grid, whose iterations are independent: the caller runs
 * them in any order, in any pieces, on any threads, and the results have the same bits. It calls nothing,
 * keeps nothing, refers
 * to no absolute address, and does not fail. */
#ifndef HILO_KERNEL_ABI_H
#define HILO_KERNEL_ABI_H

#include <stdint.h>

#define HILO_KERNEL_ABI_VERSION 1

/* Runs iterations begin … end-1 of the grid.
 *
 * buffers: one pointer per parameter of the kernel, in its order, each to as many elements as the kernel
 * declares; written ones do
 *   not overlap others (a parameter that is read and written is one parameter). Aligned to the element; scratch and what a
 *   plan allocates to 64 bytes.
 * scratch: of the size that the kernel declares, aligned to 64 bytes, for this call alone; its contents are
 * arbitrary. NULL when
 *   the size is 0. */
typedef void hilo_kernel_fn(void *const *buffers, void *scratch, int64_t begin, int64_t end);

#endif
