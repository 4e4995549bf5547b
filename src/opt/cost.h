/* What ops cost, by the table of ops. */
#ifndef HILO_OPT_COST_H
#define HILO_OPT_COST_H

#include "ir/ir.h"

/* Arithmetic operations of an op, without those of its regions, which count once for each element; sizes that are not known
   count as nothing. */
double opt_flops(const struct ir_module *m, ir_op op);

#endif
