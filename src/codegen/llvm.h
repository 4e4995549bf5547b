/* LLVM's C API as a table of functions, found in the shared library when it is first needed. */
#ifndef HILO_CODEGEN_LLVM_H
#define HILO_CODEGEN_LLVM_H

#include "base/diag.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

struct llvm {
#define LLVM(name) __typeof__(&LLVM##name) name;
#include "codegen/llvm.def"
};

/* The table; NULL, saying why, when the library cannot be opened. Opens it once for the process; any thread. */
const struct llvm *llvm_get(struct diag_list *d);
/* The same for who compiles, until llvm_done: the process does not end meanwhile. NULL also when it is ending. */
const struct llvm *llvm_begin(struct diag_list *d);
void llvm_done(void);

#endif
