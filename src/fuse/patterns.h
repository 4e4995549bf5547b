/* Names of what kernels compute ("softmax", "attention"), for reports: the table patterns.def. */
#ifndef HILO_FUSE_PATTERNS_H
#define HILO_FUSE_PATTERNS_H

#include "fuse/fuse.h"

/* The name of a kernel of the block; NULL when no row matches. Takes bounded time for each op. */
const char *fuse_pattern(const struct ir_module *m, const struct fuse_block *b, const struct fuse_kernel *k);

#endif
