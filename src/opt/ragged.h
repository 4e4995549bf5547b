/* The custom call ragged_all_to_all, a part of the pass fused: see ragged.c. */
#ifndef HILO_OPT_RAGGED_H
#define HILO_OPT_RAGGED_H

#include "opt/rewrite.h"

bool opt_is_ragged_all_to_all(const struct ir_module *m, ir_op op);
/* Writes the call out as collectives and a gather; INVALID_ARGUMENT, with a diagnostic, when it is malformed. */
hilo_status opt_ragged_all_to_all(struct opt_map *map, ir_op op);

#endif
