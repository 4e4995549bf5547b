/* Joining of kernels whose values stay in scratch memory: see stages.c. */
#ifndef HILO_FUSE_STAGES_H
#define HILO_FUSE_STAGES_H

#include "fuse/fuse.h"

/* Makes `third` a kernel of stages that computes what the others store, which nobody else reads; false when their loops do not
   agree, or it would not pay. `stored`: by value, not 0 for those that other kernels store. */
bool fuse_stages(const struct ir_module *m, ir_block b, const struct target *target, struct fuse_kernel *third,
                 struct fuse_kernel *second, struct fuse_kernel *first, const struct opt_ids *stored);

#endif
