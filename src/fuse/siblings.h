/* Joining of kernels that read the same: see siblings.c. */
#ifndef HILO_FUSE_SIBLINGS_H
#define HILO_FUSE_SIBLINGS_H

#include "fuse/fuse.h"

/* Joins kernels of `steps` (n, in the order in which they run), an earlier one to a later one, which stores what both do; the
   earlier one is marked as joined. `stored`: by value, not 0 for what is no kernel's own. */
void fuse_siblings(struct arena *a, const struct ir_module *m, ir_block b, const struct target *target,
                   const struct fuse_step *const *steps, uint32_t n, const struct opt_ids *stored);

#endif
