/* Joining of a product with what reads its columns in equal parts: see parts.c. */
#ifndef HILO_FUSE_PARTS_H
#define HILO_FUSE_PARTS_H

#include "fuse/stages.h"

/* Makes `reader` a kernel that also computes what `product` stores for it alone; false where it does not read it in equal
   parts, or it would not pay. */
bool fuse_parts(const struct fuse_stages *x, bool hoists, struct fuse_kernel *reader, const struct fuse_kernel *product);
/* The same for a loop nest `feed` whose result such a reader reads in parts, too: what gates add to the product. */
bool fuse_into_parts(const struct fuse_stages *x, struct fuse_kernel *reader, const struct fuse_kernel *feed);

#endif
