/* What the processor can do, as far as generated code may need it, by LLVM's names. */
#ifndef HILO_RUNTIME_CPU_H
#define HILO_RUNTIME_CPU_H

#include "base/str.h"

/* "x86_64", "aarch64". */
const char *rt_cpu_machine(void);
/* True when the processor has a feature, "avx2"; what it does not know, it has not. */
bool rt_cpu_has(struct str feature);
/* All that it has of those that it knows, as a list of LLVM's: "+avx,+avx2,…". */
void rt_cpu_list(struct strbuf *out);
/* The next feature that a list of LLVM's, "+avx2,-avx512f,…", turns on, of those that matter to code that hilo makes; *at moves
   on. False at the end. */
bool rt_cpu_next(struct str features, size_t *at, struct str *out);

#endif
