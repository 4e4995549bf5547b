/* Machine code for the kernels of a plan; see code.c. Without LLVM in the build nothing is available. */
#ifndef HILO_COMPILE_CODE_H
#define HILO_COMPILE_CODE_H

#include "compile/build.h"
#include "runtime/runtime.h"

struct cg_target;

/* Whether code can be generated in this process; opens LLVM. */
bool code_available(const hilo_allocator *al);
/* The machine that the process runs on, in `a`. */
hilo_status code_target(struct arena *a, struct diag_list *d, struct kir_target *shape, const struct cg_target **out);
/* Compiles all kernels, on up to as many threads as the client has, and links them to the executable, whose plan is there. */
hilo_status code_make(hilo_executable *exe, struct build *b, const struct cg_target *target);

#endif
