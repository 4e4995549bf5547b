/* Which values outside of manual computations partitions have shares of, beyond those that say so themselves: whatever is
 * computed element by element of shares, or for them, is computed as shares, and what rearranges, reduces or contracts them
 * along other dimensions, too. No partition needs anything of another for it, but for what reverses. Part of `partition`. */
#ifndef HILO_OPT_DIVIDE_H
#define HILO_OPT_DIVIDE_H

#include "opt/sharding.h"

struct divide;

struct divide *divide_new(struct opt *o, uint32_t partitions);
/* A value is there as these shares: a parameter, or the result of a manual computation or a constraint. */
void divide_say(struct divide *d, ir_val v, const struct sharding *s);
/* Decides for the ops of a function's body, and of loops in it. `results`: what its results say of themselves, NULL for one
   that says nothing; by result. */
void divide_run(struct divide *d, ir_block body, const struct sharding *const *results);

/* The shares that a value is there as; NULL = it is a whole. */
const struct sharding *divide_of(const struct divide *d, ir_val v);
/* What an op that is not a loop needs of operand i, if its results are shares; NULL = the whole. */
const struct sharding *divide_operand(const struct divide *d, ir_op op, uint32_t i);

#endif
