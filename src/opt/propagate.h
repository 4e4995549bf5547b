/* Sharding propagation: the shardings of values outside of manual computations, from those that are annotated. Elementwise
 * ops on shards, or whose results are used as shards, are sharded; so are ops that rearrange, reduce or contract other
 * dimensions. No sharded op but `reverse` needs data of another partition. Part of the pass `partition`. */
#ifndef HILO_OPT_PROPAGATE_H
#define HILO_OPT_PROPAGATE_H

#include "opt/sharding.h"

struct propagation;

struct propagation *propagation_new(struct opt *o, uint32_t partitions);
/* Sets the sharding of a value: a parameter, or the result of a manual computation or a constraint. */
void propagation_seed(struct propagation *d, ir_val v, const struct sharding *s);
/* Propagates through a function's body, and loops in it. `results`: the annotated sharding of each result, NULL = none. */
void propagation_run(struct propagation *d, ir_block body, const struct sharding *const *results);

/* The sharding of a value; NULL = replicated. */
const struct sharding *propagation_sharding(const struct propagation *d, ir_val v);
/* The sharding that an op with sharded results, other than a loop, needs operand i in; NULL = replicated. */
const struct sharding *propagation_operand(const struct propagation *d, ir_op op, uint32_t i);

#endif
