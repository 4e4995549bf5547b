/* Factors of matrices as routines: what their providers share. */
#ifndef HILO_LIBRARY_FACTORS_H
#define HILO_LIBRARY_FACTORS_H

#include "eval/factor.h"
#include "library/routine.h"

/* Reads parameters; false where they are invalid. */
bool factors_read(enum factor_kind kind, const int64_t *params, uint32_t nparams, struct factor *out);

#endif
