/* Shardings: how the elements of a tensor are spread over the partitions of a program, read from Shardy's attributes.
 *
 * Only the number of parts of each dimension, and the part that each partition holds, matter, not axes and meshes. So a
 * sharding is exactly that: two that are written differently but place the same elements on the same partitions are equal. */
#ifndef HILO_OPT_SHARDING_H
#define HILO_OPT_SHARDING_H

#include "opt/opt.h"

enum {
    SHARDING_PARTITIONS = 4096, /* more are refused */
    SHARDING_RANK = 32          /* dimensions in HLO's words, those of devices too */
};

struct sharding {
    uint32_t rank;
    const int64_t *parts;   /* of each dimension; they divide its size */
    const int32_t *held;    /* [dimension * partitions + partition]: the part that it holds */
};

/* Which axes of meshes count: all, or those of a list that is ended by an empty name. */
typedef const struct str *sharding_axes;

/* Reads `#sdy.sharding<…>` of a value with that type. An error at `op`: INVALID_ARGUMENT for what cannot be read, or names a
   mesh that is not there or of another number of devices; UNIMPLEMENTED for parts of different sizes and unreduced axes.
   Memory: the scratch arena. */
hilo_status sharding_read(struct opt *o, ir_op op, ir_attr a, ir_type type, uint32_t partitions, sharding_axes only,
                          struct sharding *out);
/* Reads `#sdy.sharding_per_value<[…]>` for n values. */
hilo_status sharding_read_list(struct opt *o, ir_op op, ir_attr a, const ir_type *types, uint32_t n, uint32_t partitions,
                               sharding_axes only, struct sharding *out);
/* Reads `#sdy<manual_axes{…}>`. */
hilo_status sharding_read_axes(struct opt *o, ir_op op, ir_attr a, sharding_axes *out);
/* Partitions that have the same coordinates along these axes get the same number, by the first mesh named in a list of
   shardings; all the same where there is none. `number` has room for all partitions. */
hilo_status sharding_number(struct opt *o, ir_op op, ir_attr a, sharding_axes axes, uint32_t partitions, int32_t *number);

/* Reads what HLO and GSPMD write, `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`. An error at `op`, INVALID_ARGUMENT, for
   what cannot be read or is for another number of partitions. *supported = false, with `out` replicated, for what is manual or
   unreduced, or has parts of different sizes. Memory: the scratch arena. */
hilo_status sharding_read_hlo(struct opt *o, ir_op op, struct str text, ir_type type, uint32_t partitions,
                              struct sharding *out, bool *supported);

/* A sharding of no parts: every partition has all elements. */
struct sharding sharding_replicated(struct opt *o, uint32_t rank, uint32_t partitions);
bool sharding_is_replicated(const struct sharding *s);
bool sharding_equal(const struct sharding *a, const struct sharding *b, uint32_t partitions);
/* The type of what one partition holds. */
ir_type sharding_type(struct ir_module *m, const struct sharding *s, ir_type global);
/* As HLO writes it: `{devices=[2,1,4]0,1,…}`, `{replicated}`. */
void sharding_text(const struct sharding *s, uint32_t partitions, struct strbuf *out);

#endif
