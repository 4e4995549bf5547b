/* Machine code for the kernels of a plan; see code.c. Without LLVM in the build nothing is available. */
#ifndef HILO_COMPILE_CODE_H
#define HILO_COMPILE_CODE_H

#include "compile/build.h"
#include "runtime/internal.h"

#include <pthread.h>

/* OK when code for this machine can be generated in this process; else UNAVAILABLE with the reason. Opens LLVM. */
hilo_status code_available(struct diag_list *d);
/* Whether this machine has a baseline code generator, which does not need LLVM but for kernels that it does not support. */
bool code_has_baseline(void);
/* Opens LLVM on a thread of its own, if that was not tried and there is a code generator for this machine: meanwhile the
   program is optimised and lowered. What needs it waits. The second ends the thread. */
struct code_opening {
    pthread_t thread;
    bool started;
};
void code_open_begin(struct code_opening *o);
void code_open_end(struct code_opening *o);
/* The machine that the process runs on, or one of a name (NULL, "native" = that one). */
hilo_status code_target(const char *name, struct target *out, struct diag_list *d);
/* Sets how a kernel for a GPU is launched; false when its scratch memory is too large. */
bool code_launch(const struct kir *k, const struct target *t, struct plan_kernel *out);
/* From now on code is generated for the kernels of the build while its plan is built, on up to as many threads as the client
   has: in batches, so that memory is bounded. */
void code_begin(hilo_executable *exe, struct build *b);
/* Has it generated for kernels that were added, when they are enough for a batch; `all`: it is there for all of them then. */
void code_generate(struct build *b, bool all);
/* Generates the rest: whether it needs LLVM, which cannot be opened. */
bool code_is_missing(struct build *b);
/* Generates the rest and links all to the executable, whose plan is there. The first error of a batch. */
hilo_status code_end(struct build *b);

/* Of kernels; HLO and MLIR: of the optimised program, whose kernels are fusions (`mhlo.fusion` in MLIR). */
enum code_form { CODE_KIR, CODE_LLVM, CODE_ASM, CODE_OBJECT, CODE_HLO, CODE_MLIR };
/* Appends all kernels in that form, instead of linking them: for a GPU, CODE_ASM is PTX and CODE_OBJECT a cubin. */
hilo_status code_text(struct build *b, enum code_form form, struct strbuf *out);
/* Appends the program in that form, compiled so far. UNIMPLEMENTED for forms of kernels where it has none, because it is
   evaluated, and for HLO where an op has no form in it. (compile.c) */
hilo_status compile_text(hilo_client *client, hilo_module *module, const hilo_compile_options *options, enum code_form form,
                         struct strbuf *out);
/* Makes fusions of the kernels that an optimised module has at this level, without installed libraries; a module that is
   evaluated is left unchanged. (compile.c) */
hilo_status compile_fusions(struct ir_module *m, int level, struct diag_list *d);

#endif
