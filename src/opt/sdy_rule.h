/* Sharding rules: which dimensions of an op's operands and results belong together, and what sharding them costs. */
#ifndef HILO_OPT_SDY_RULE_H
#define HILO_OPT_SDY_RULE_H

#include "ir/sdy.h"

/* The rule of an op: that of its attribute `sdy.sharding_rule`, else by its kind (column `sharding` of ops.def); *out = NULL
   where it has none. Memory: s->a. INVALID_ARGUMENT, with an error
   at the op, for an attribute that cannot be read. */
hilo_status sdy_rule_of(struct sdy *s, ir_op op, const struct sdy_rule **out);
/* Of n operands and one result of that type, each dimension a factor. */
const struct sdy_rule *sdy_rule_identity(struct arena *a, const struct ir_type_data *t, uint32_t noperands);

#endif
