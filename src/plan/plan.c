/* Building plans: the whole function is one step, evaluated. */
#include "plan/plan.h"

/* n buffers with consecutive numbers from `first` on. */
static const uint32_t *plan_numbers(struct arena *a, uint32_t first, uint32_t n) {
    uint32_t *numbers = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = first + i;
    return numbers;
}

hilo_status plan_build(struct plan *p, struct arena *a, const struct ir_module *m, ir_op func, struct diag_list *d) {
    const struct ir_type_data *t = ir_type_get(m, ir_attr_get(m, ir_prop(m, func, IR_FUNC_function_type))->type);
    uint32_t nin = t->ninputs, nout = t->ntypes - t->ninputs;
    *p = (struct plan){.m = m, .narguments = nin, .nresults = nout, .nbuffers = nin + nout, .nsteps = 1};
    struct plan_step *step = ARENA_NEW(a, struct plan_step);
    *step = (struct plan_step){PLAN_REFERENCE, nin, nout, plan_numbers(a, 0, nin), plan_numbers(a, nin, nout), func};
    p->results = step->out;
    p->steps = step;
    return eval_plan_new(m, &a->al, d, &p->reference);
}

void plan_free(struct plan *p) {
    eval_plan_free(p->reference);
    p->reference = NULL;
}
