/* Row-wise kernels whose columns can come in blocks: see online.c. */
#ifndef HILO_FUSE_ONLINE_H
#define HILO_FUSE_ONLINE_H

#include "fuse/fuse.h"

/* How the weights, the only output of `kernel`, are computed from the scores in blocks of columns; NULL when they cannot be.
   `stored`: by value, not 0 for what kernels or other steps store. Memory: `a`. */
const struct fuse_online *fuse_online(struct arena *a, const struct ir_module *m, const struct fuse_kernel *kernel,
                                      ir_block block, const struct opt_ids *stored, ir_val scores);

#endif
