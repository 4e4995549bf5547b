/* The plan: what runs. A flat list of steps over numbered buffers: first the arguments of the function, then what the
 * steps define. A step reads buffers and defines others, each once; every backend is a way to fill in steps, so that
 * any two of them can be compared step by step.
 *
 * A plan is not changed after it was built; any number of threads may run it at once. */
#ifndef HILO_PLAN_PLAN_H
#define HILO_PLAN_PLAN_H

#include "eval/eval.h"

enum plan_step_kind {
    PLAN_REFERENCE /* a function, by the reference evaluator */
};

struct plan_step {
    enum plan_step_kind kind;
    uint32_t nin, nout;
    const uint32_t *in, *out; /* buffers that it reads, and defines */
    ir_op func;               /* REFERENCE: of the plan's module */
};

struct plan {
    const struct ir_module *m;    /* outlives the plan */
    struct eval_plan *reference;  /* for the steps of kind REFERENCE */
    uint32_t narguments, nresults, nbuffers, nsteps;
    const uint32_t *results;      /* buffer of each result */
    const struct plan_step *steps;
};

/* The plan of a function with a body. Memory: the arena, but for `reference`, which plan_free gives back; also after an
   error, and when memory ended in between. `p` is cleared first. */
hilo_status plan_build(struct plan *p, struct arena *a, const struct ir_module *m, ir_op func, struct diag_list *d);
void plan_free(struct plan *p);

#endif
