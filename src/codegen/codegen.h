/* Machine code from the kernel IR, by LLVM, or by hilo's own code generator (src/x86) in a fraction of the time. This is the
 * only component that uses LLVM, which is opened (dlopen) at the first compilation that needs it.
 *
 *   llvm.def, llvm.c   the functions of LLVM's C API that are used, found in the library
 *   target.c           the target of a compilation
 *   emit*.c            kernels as LLVM IR: explicit vectors, no pass pipeline
 *   baseline.c         the same functions as LLVM's, by src/x86
 *   object.c           object files, assembly, LLVM text
 *   launch.c           how kernels are launched on GPUs
 *
 * What LLVM 19 does well and badly was measured; see the comments where a choice follows from it. */
#ifndef HILO_CODEGEN_CODEGEN_H
#define HILO_CODEGEN_CODEGEN_H

#include "kir/kir.h"
#include "target/target.h"

enum cg_emit { CG_OBJECT, CG_ASSEMBLY, CG_LLVM };
/* What makes the code: hilo's own code generator, in a fraction of the time and without LLVM, or LLVM. The results of both
   have the same bits. */
enum cg_tier { CG_BASELINE, CG_OPTIMISED };

/* UNAVAILABLE, with the package that has it, when LLVM 19 cannot be opened. Opens it once for the process; any thread. */
hilo_status cg_open(struct diag_list *d);
/* Whether cg_open was not called so far. Any thread. */
bool cg_open_untried(void);
/* The machine that the process runs on (NULL): UNAVAILABLE where there is no code generator for it; LLVM is not needed. Or one
   of targets.def by name: NOT_FOUND, listing them, for another. */
hilo_status cg_target(const char *name, struct target *out, struct diag_list *d);

/* Whether there is a baseline code generator for a target. */
bool cg_has_baseline(const struct target *t);
/* Kernels (verified, without MATH) as one object file, for a GPU as PTX, with a function per kernel, named as it is; or as
   text. The bytes are mem_alloc'ed from `al`. Any thread; calls on several threads run in parallel.
   CG_BASELINE makes object files only; UNIMPLEMENTED, without a diagnostic, when it cannot compile one of the kernels. */
hilo_status cg_compile(const struct kir *const *kernels, uint32_t n, const struct target *t, enum cg_tier tier,
                       enum cg_emit emit, const hilo_allocator *al, struct diag_list *d, void **out, size_t *out_bytes);

/* How a kernel is launched on a GPU; the same numbers as its code has. */
void cg_launch(const struct kir *k, const struct target *t, struct hilo_gpu_launch *out);

#endif
