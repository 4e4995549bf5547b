/* How passes change modules. There are no lists of uses to keep up to date: a pass walks ops in order, nested regions
 * in place, and updates the operands of each as it comes to it (opt_update). Since a value is defined before
 * it is used, a replacement noted at its definition reaches every use. */
#ifndef HILO_OPT_REWRITE_H
#define HILO_OPT_REWRITE_H

#include "opt/opt.h"

/* Values that stand for others: of a replaced op, or of what was cloned. In the scratch arena. */
struct opt_map {
    struct opt *o;
    struct opt_ids to;
};
static inline struct opt_map opt_map_new(struct opt *o) { return (struct opt_map){o, {.a = &o->scratch}}; }
static inline void opt_map_set(struct opt_map *map, ir_val from, ir_val to) { opt_ids_set(&map->to, from.i, to.i); }
/* The final replacement of `v`; itself when there is none. */
ir_val opt_map_get(const struct opt_map *map, ir_val v);

/* Replaces the operands of the op by their replacements. */
void opt_update(const struct opt_map *map, ir_op op);
/* Those of all ops inside of it, too. */
void opt_update_all(const struct opt_map *map, ir_op op);
/* Result i of the op is replaced by the replacement of values[i], and the op is removed. */
void opt_replace(struct opt_map *map, ir_op op, const ir_val *values);

/* A copy of the op with its regions, in no block; operands as the map has them. Its results and everything inside are
   entered into the map, so that copies of several ops, of another function too, fit together. */
ir_op opt_clone(struct opt_map *map, ir_op op);
/* Copies the blocks of a region to the end of another one, likewise. */
void opt_clone_region(struct opt_map *map, ir_region from, ir_region to);
/* A copy with the same attributes and locations, in no block, that has other operands and results, and regions without
   blocks. */
ir_op opt_remake(struct opt *o, ir_op op, const ir_val *operands, uint32_t noperands, const ir_type *results,
                 uint32_t nresults);
/* Moves the ops of a block, but for its terminator, before `at`. */
void opt_splice(struct opt *o, ir_block from, ir_op at);

#endif
