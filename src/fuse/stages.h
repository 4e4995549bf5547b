/* Joining of kernels whose values stay in scratch memory: see stages.c. */
#ifndef HILO_FUSE_STAGES_H
#define HILO_FUSE_STAGES_H

#include "fuse/fuse.h"

struct fuse_stages {
    struct arena *a;
    const struct ir_module *m;
    ir_block block;
    const struct target *target;
    const struct opt_ids *stored; /* by value: not 0 for what kernels or other steps store */
    const struct opt_ids *uses;   /* by value: operands that it is, also in regions */
};

/* Makes `third` a kernel of stages that computes what the others store, which nothing else reads; false when their loops do not
   agree, or it would not pay. */
bool fuse_stages(const struct fuse_stages *x, struct fuse_kernel *third, struct fuse_kernel *second, struct fuse_kernel *first);

#endif
