/* Optimised code for kernels that have baseline code: what it costs, and what makes it (runtime/tier.c decides when). */
#ifndef HILO_COMPILE_TIER_H
#define HILO_COMPILE_TIER_H

#include "kir/kir.h"
#include "runtime/internal.h"
#include "target/target.h"

enum { TIER_BATCH = 1600 }; /* cost of kernels that LLVM compiles at once, in 20 to 100 ms: many times what a batch takes */

/* Kernels with their IR, which is owned. */
struct tier_kernels {
    struct tier_kernel {
        struct plan_kernel *step;
        struct kir *kir;
    } *v;
    uint32_t n, cap;
};

/* What the code of a kernel will have, about: nodes, those of unrolled loops as often as they are repeated. */
uint64_t tier_cost(const struct kir *k);
/* Has the executable, which is linked, replace the code of these kernels when that pays, and takes over their IR, which their
   steps refer to until then; without kernels it does nothing. The first `nobjects` of its objects are optimised. Needs the
   arena's recovery point; where that is taken the IR stays the caller's. */
hilo_status tier_up(hilo_executable *exe, struct tier_kernels *kernels, uint32_t nobjects, const struct target *t);
/* Frees the IR. */
void tier_forget(struct tier_kernels *kernels);

#endif
