/* What ops demand of their numbers, a part of the pass fused: see numerics.c. */
#ifndef HILO_OPT_NUMERICS_H
#define HILO_OPT_NUMERICS_H

#include "opt/rules.h"

/* Whether the op has an algorithm or a result_accuracy. */
bool opt_has_numerics(const struct ir_module *m, ir_op op);
/* Writes a dot_general with an algorithm out; refuses what cannot be granted, with a diagnostic: UNIMPLEMENTED. */
hilo_status opt_numerics(struct opt_map *map, ir_op op);

#endif
