/* Shardings as HLO and GSPMD write them: tiles of a tensor, and the partition of each. */
#ifndef HILO_OPT_SHARDING_H
#define HILO_OPT_SHARDING_H

#include "ir/sdy.h"
#include "opt/opt.h"

enum {
    SHARDING_PARTITIONS = 4096, /* more are refused */
    SHARDING_RANK = 32          /* dimensions in HLO's words, those of devices too */
};

/* Reads `{devices=[2,1,4]<=[8] last_tile_dim_replicate}` of a value with that type, as a sharding over the first of these whose
   axes can say it: `mesh`, unless that is NULL; one with an axis for each prime factor of the number of partitions; one of its
   own. An error at `op`, INVALID_ARGUMENT, for what cannot be read or is for another number of partitions. *supported =
   false, with `out` replicated, for what is manual or unreduced, or has parts of different sizes. Memory: the scratch arena. */
hilo_status sharding_read_hlo(struct opt *o, ir_op op, struct str text, ir_type type, uint32_t partitions,
                              const struct sdy_mesh *mesh, const struct sdy_sharding **out, bool *supported);
/* As HLO writes it: `{devices=[2,2]0,1,2,3}`, `{replicated}`, `{devices=[2,2]0,1,2,3 last_tile_dims={unreduced}}`. `held`: by
   dimension, last that of the terms of sums, and partition, which part it has. */
void sharding_text(const struct sdy_sharding *s, const int32_t *const *held, uint32_t partitions, struct strbuf *out);

#endif
