/* Convolutions on a GPU by cuDNN, where it is installed: ext_missing(LIB_CUDNN). */
#ifndef HILO_EXTERNAL_CUDNN_H
#define HILO_EXTERNAL_CUDNN_H

#include "gpu/gpu.h"
#include "library/conv.h"

/* A convolution as conv_read has it, of device memory, whose addresses are among those of a call: buffers[a] and so on. */
struct ext_convolution {
    struct conv shape;
    int a, b, out; /* input, window, result */
};

/* Prepares a convolution for a device, whose context becomes the calling thread's. UNIMPLEMENTED for what cuDNN does not
   compute, or not by an engine that gives the same bits each time and does nothing but multiply and add. Freed by _release,
   before gpu_close. */
hilo_status ext_convolution_prepare(const struct ext_convolution *c, struct gpu *g, struct diag_list *d, void **out);
void ext_convolution_release(void *state);
size_t ext_convolution_workspace(const void *state); /* bytes of device memory that a call needs besides */
/* As ext_product_run. */
hilo_status ext_convolution_run(void *state, void *stream, void *const *buffers, void *workspace, struct diag_list *d);

#endif
