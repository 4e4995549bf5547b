/* hilo's own code generator behind LLVM's functions: the emitter does not know which of the two it writes for. Of those in
 * llvm.def, it has the ones that code for processors uses. */
#ifndef HILO_CODEGEN_BASELINE_H
#define HILO_CODEGEN_BASELINE_H

#include "codegen/llvm.h"
#include "x86/x86.h"

enum { BASELINE_NONTEMPORAL = 1, BASELINE_INVARIANT }; /* kinds of metadata */

const struct llvm *baseline_llvm(void);
/* What stands for the context, the module and the builder. */
static inline LLVMContextRef baseline_context(struct x86_module *m) {
    return (LLVMContextRef)(void *)m;
}
static inline LLVMModuleRef baseline_module(struct x86_module *m) {
    return (LLVMModuleRef)(void *)m;
}
static inline LLVMBuilderRef baseline_builder(struct x86_module *m) {
    return (LLVMBuilderRef)(void *)m;
}

#endif
