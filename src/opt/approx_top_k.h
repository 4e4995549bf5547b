/* The custom call ApproxTopK, a part of the pass fused: see approx_top_k.c. */
#ifndef HILO_OPT_APPROX_TOP_K_H
#define HILO_OPT_APPROX_TOP_K_H

#include "opt/rewrite.h"

bool opt_is_approx_top_k(const struct ir_module *m, ir_op op);
/* Writes the call out as a sort and slices; INVALID_ARGUMENT, with a diagnostic, when it is malformed. */
hilo_status opt_approx_top_k(struct opt_map *map, ir_op op);

#endif
