/* Machine code for the kernels of a plan; see code.c. Without LLVM in the build nothing is available. */
#ifndef HILO_COMPILE_CODE_H
#define HILO_COMPILE_CODE_H

#include "compile/build.h"
#include "runtime/code.h"

struct cg_target;

/* Whether code can be generated in this process; opens LLVM. */
bool code_available(const hilo_allocator *al);
/* The machine that the process runs on, in `a`. */
hilo_status code_target(struct arena *a, struct diag_list *d, struct kir_target *shape, const struct cg_target **out);
/* Compiles all kernels, on up to `threads` threads, and sets their functions. *out is NULL when there are none. */
hilo_status code_make(struct build *b, const struct cg_target *target, uint32_t threads, struct rt_code **out);

#endif
