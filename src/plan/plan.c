/* The plan of a whole function: one step over values. */
#include "plan/plan.h"

hilo_status plan_evaluated(struct plan *p, struct arena *a, const struct ir_module *m, ir_op func, struct diag_list *d) {
    const struct ir_type_data *t = ir_type_get(m, ir_attr_get(m, ir_prop(m, func, IR_FUNC_function_type))->type);
    struct plan_step *step = ARENA_NEW(a, struct plan_step);
    *step = (struct plan_step){.kind = PLAN_REFERENCE, .func = func};
    *p = (struct plan){.m = m, .evaluated = true, .narguments = t->ninputs, .nresults = t->ntypes - t->ninputs, .nsteps = 1,
                       .steps = step};
    return eval_plan_new(m, &a->al, d, &p->reference);
}

void plan_free(struct plan *p) {
    eval_plan_free(p->reference);
    p->reference = NULL;
}
