/* hilo check --arguments: the constants of an entry become its parameters, so that nothing is folded and compiled code computes
 * all of it; every other one is marked as unchanged, so that what is made of it is kept. Calls are inlined and sizes followed
 * first: what a constant implies for sizes is part of types then. Constants in regions that compute elements (of reductions,
 * sort …) stay, because such regions see nothing from outside. */
#include "cli/check.h"
#include "opt/rewrite.h"

#include <stdlib.h>

struct outliner {
    struct ir_module *m;
    hilo_client *client;
    ir_block body;           /* of the entry */
    struct opt_ids argument; /* by value of a constant: the parameter that replaces it */
    hilo_buffer **inputs;
    hilo_status status;
};

/* A buffer with the elements of a constant. */
static hilo_status make_input(const struct outliner *x, const struct ir_attr_data *a, const struct ir_type_data *t,
                              hilo_buffer **out) {
    const struct ir_dtype_info *info = ir_dtype_get(t->dtype);
    hilo_status status = hilo_buffer_create(x->client, info->number, t->dims, t->rank, out);
    if (status != HILO_OK)
        return status;
    char *to = hilo_buffer_data(*out);
    for (size_t n = hilo_buffer_bytes(*out), i = 0; i < n; i += info->bytes)
        memcpy(to + i, (const char *)a->data + (a->splat ? 0 : i), info->bytes);
    return HILO_OK;
}

/* The constant as a parameter, unless its type can be none. */
static void outline(struct outliner *x, ir_op op) {
    const struct ir_attr_data *a = ir_attr_get(x->m, ir_constant_value(x->m, op));
    ir_val v = ir_result(x->m, op, 0);
    const struct ir_type_data *t = ir_val_type(x->m, v);
    if (a->kind != IR_ATTR_DENSE || t->kind != IR_TYPE_TENSOR || !ir_dtype_get(t->dtype)->number || (!a->data && a->nbytes))
        return;
    uint32_t n = ir_block_get(x->m, x->body)->nargs;
    x->inputs = realloc(x->inputs, (n + 1) * sizeof *x->inputs);
    x->status = x->inputs ? make_input(x, a, t, &x->inputs[n]) : HILO_RESOURCE_EXHAUSTED;
    if (x->status == HILO_OK)
        opt_ids_set(&x->argument, v.i, ir_block_add_arg(x->m, x->body, ir_val_get(x->m, v)->type).i);
}

/* ---- sums in another order -------------------------------------------------------------------- */

/* |v|, before `op`: of complex numbers the modulus. */
static ir_val magnitudes(struct opt *o, ir_op op, ir_val v) {
    const struct ir_type_data *t = ir_val_type(o->m, v);
    enum ir_dtype dtype = t->dtype == IR_C64_T ? IR_F32_T : t->dtype == IR_C128_T ? IR_F64_T : t->dtype;
    ir_type type = ir_type_of(o->m, dtype, t->dims, t->rank);
    ir_op abs = ir_op_new(o->m, IR_ABS, &v, 1, &type, 1, 0);
    ir_insert_before(o->m, op, abs);
    return ir_result(o->m, abs, 0);
}

/* An assertion that counts units in the last place is told, of a contraction, how much was added up for each element: the
   terms of a sum may cancel, and then its last places depend on their order. */
static void bound_by_terms(struct opt *o, ir_op op) {
    if (ir_kind(o->m, op) != IR_CUSTOM_CALL || ir_op_get(o->m, op)->noperands != 2 ||
        !str_is(ir_prop_str(o->m, op, IR_CUSTOM_CALL_call_target_name), "check.expect_close"))
        return;
    ir_val operands[] = {ir_operand(o->m, op, 0), ir_operand(o->m, op, 1), {0}};
    ir_op def = ir_val_get(o->m, operands[0])->op;
    if (IR_NONE(def) || !ir_op_has(ir_kind(o->m, def), IR_T_CONTRACTION) || ir_op_get(o->m, def)->noperands != 2)
        return;
    ir_val terms[] = {magnitudes(o, def, ir_operand(o->m, def, 0)), magnitudes(o, def, ir_operand(o->m, def, 1))};
    const struct ir_type_data *t = ir_val_type(o->m, operands[0]);
    ir_type type = ir_type_of(o->m, ir_val_type(o->m, terms[0])->dtype, t->dims, t->rank);
    ir_op sums = opt_remake(o, def, terms, 2, &type, 1);
    ir_insert_before(o->m, op, sums);
    operands[2] = ir_result(o->m, sums, 0);
    ir_set_operands(o->m, op, operands, 3);
}

static void bound_assertions(struct opt *o, ir_block b) {
    for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = ir_op_get(o->m, op)->next)
        bound_by_terms(o, op);
}

/* ---- constants -------------------------------------------------------------------------------- */

static void outline_block(struct outliner *x, ir_block b) {
    for (ir_op op = ir_block_get(x->m, b)->first; !IR_NONE(op) && x->status == HILO_OK; op = ir_op_get(x->m, op)->next) {
        const struct ir_op_data *o = ir_op_get(x->m, op);
        if (ir_op_has((enum ir_op_kind)o->kind, IR_T_CONSTANT))
            outline(x, op);
        for (uint32_t i = 0; i < o->noperands; i++) {
            uint32_t argument = opt_ids_get(&x->argument, o->operands[i].i);
            if (argument)
                ir_set_operand(x->m, op, i, (ir_val){argument});
        }
        for (uint32_t i = 0; ir_op_has((enum ir_op_kind)o->kind, IR_T_CONTROL) && i < o->nregions; i++)
            outline_block(x, ir_region_get(x->m, ir_op_region(x->m, op, i))->first);
    }
}

/* The entry's type follows from its arguments; its terminator's operands are of the results' types. */
static void set_function_type(struct ir_module *m, ir_op func) {
    const struct ir_type_data *old = ir_type_get(m, ir_attr_get(m, ir_prop(m, func, IR_FUNC_function_type))->type);
    const struct ir_block_data *b = ir_block_get(m, ir_func_body(m, func));
    ir_type *in = cli_alloc(b->nargs + 1, sizeof *in);
    for (uint32_t i = 0; i < b->nargs; i++)
        in[i] = ir_val_get(m, b->args[i])->type;
    ir_type type = ir_type_function(m, in, b->nargs, old->types + old->ninputs, old->ntypes - old->ninputs);
    free(in);
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, type));
}

hilo_status check_arguments(hilo_client *client, hilo_module *module, size_t function, hilo_buffer ***inputs, size_t *n) {
    ir_op func = rt_module_functions(module)[function];
    struct ir_module *m = rt_module_ir(module);
    struct outliner x = {.m = m, .client = client, .body = ir_func_body(m, func)};
    struct diag_list d;
    struct opt o;
    diag_init(&d, mem_system_allocator());
    opt_init(&o, x.m, &d);
    o.options.passes = "inline,shapes,dce";
    o.options.entry = func;
    x.status = opt_run(&o);
    jmp_buf recover;
    x.m->arena.recover = &recover;
    x.argument.a = &x.m->arena;
    if (setjmp(recover)) {
        x.status = HILO_RESOURCE_EXHAUSTED;
    } else if (x.status == HILO_OK) {
        bound_assertions(&o, x.body);
        uint32_t first = ir_block_get(x.m, x.body)->nargs;
        outline_block(&x, x.body);
        set_function_type(x.m, func);
        for (uint32_t i = first + 1; i < ir_block_get(x.m, x.body)->nargs; i += 2)
            ir_func_mark_unchanged(x.m, func, i, i + 1);
    }
    opt_free(&o);
    *inputs = x.inputs;
    *n = x.status == HILO_OK ? ir_block_get(x.m, x.body)->nargs : 0;
    diag_clear(&d);
    return x.status;
}
