/* Questions about a target, for the files of this room. */
#ifndef HILO_CODEGEN_TARGET_H
#define HILO_CODEGEN_TARGET_H

#include "codegen/codegen.h"

/* Whether LLVM's feature is on, by its name without the sign. */
bool target_has(const struct cg_target *t, const char *feature);
bool target_is_x86(const struct cg_target *t);

#endif
