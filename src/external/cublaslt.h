/* Products on a GPU by cuBLASLt, where it is installed: ext_missing(LIB_CUBLASLT). */
#ifndef HILO_EXTERNAL_CUBLASLT_H
#define HILO_EXTERNAL_CUBLASLT_H

#include "gpu/gpu.h"
#include "library/dot.h"

/* A product as dot_axes_of has it, of device memory, whose addresses are among those of a call: buffers[a] and so on. Its
   result is dense: batches, rows, columns. */
struct ext_product {
    struct dot_axes axes;
    int bias;          /* an element for each column; -1 = none */
    int added;         /* of the size and type of the result, added to it before the bias; -1 = none */
    int a, b, out;
};

/* Prepares a product for a device, whose context becomes the calling thread's. UNIMPLEMENTED for what cuBLASLt does not
   compute, or not in a way that gives the same bits each time. Freed by _release, before gpu_close. */
hilo_status ext_product_prepare(const struct ext_product *p, struct gpu *g, struct diag_list *d, void **out);
void ext_product_release(void *state);
size_t ext_product_workspace(const void *state); /* bytes of device memory that a call needs besides */
/* Enqueues it; UNIMPLEMENTED, and nothing is, where addresses are not aligned to 16 bytes, and where the result takes the place
   of what is read, as kernels may have it (lower_param.overlay). Any thread that has the device's context. */
hilo_status ext_product_run(void *state, void *stream, void *const *buffers, void *workspace, struct diag_list *d);

#endif
