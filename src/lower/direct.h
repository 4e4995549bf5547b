/* What convolutions with a register tile of pixels by features share: direct.c, winograd.c. */
#ifndef HILO_LOWER_DIRECT_H
#define HILO_LOWER_DIRECT_H

#include "lower/block.h"

enum {
    DIRECT_VECTORS = 4,                            /* vectors of a register tile side by side, at most */
    DIRECT_WORK = TORTURED(TORTURE_PART, 1 << 15), /* fewer products do not pay for packing */
    DIRECT_TILE_OPS = 64,                          /* what a tile costs apart from its lines, in multiply-adds of a vector */
    DIRECT_AHEAD = 4096                            /* bytes by which weights are prefetched */
};

/* Time of a line of weights in a tile, in cycles of a core with two units for multiply-adds and two for loads; weights come
   from the L2 cache unless they are near, in the L1 cache. */
double direct_line_cost(const struct contraction *c, int64_t pixels, int64_t vectors, bool near);
/* Iterations of the grid that there should be. */
int64_t direct_tasks(const struct target *t);
/* Panels and tiles (units) of a block: at least as many blocks as there should be tasks, with the least reading: each block
   reads its panels of the weights, and its part of the input; `weights`, `input`: elements of all. */
void direct_blocks(const struct target *t, int64_t units, int64_t panels, double weights, double input, int64_t *panel_block,
                   int64_t *unit_block);

#endif
