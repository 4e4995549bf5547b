/* Which values outside of manual computations partitions have shards of, beyond those that say so themselves: whatever is
 * computed element by element of shards, or for them, is computed as shards, and what rearranges, reduces or contracts them
 * along other dimensions, too. No partition needs anything of another for it, but for what reverses. Part of `partition`. */
#ifndef HILO_OPT_PROPAGATE_H
#define HILO_OPT_PROPAGATE_H

#include "opt/sharding.h"

struct propagation;

struct propagation *propagation_new(struct opt *o, uint32_t partitions);
/* A value is there as these shards: a parameter, or the result of a manual computation or a constraint. */
void propagation_seed(struct propagation *d, ir_val v, const struct sharding *s);
/* Decides for the ops of a function's body, and of loops in it. `results`: what its results say of themselves, NULL for one
   that says nothing; by result. */
void propagation_run(struct propagation *d, ir_block body, const struct sharding *const *results);

/* The shards that a value is there as; NULL = it is a whole. */
const struct sharding *propagation_sharding(const struct propagation *d, ir_val v);
/* What an op that is not a loop needs of operand i, if its results are shards; NULL = the whole. */
const struct sharding *propagation_operand(const struct propagation *d, ir_op op, uint32_t i);

#endif
