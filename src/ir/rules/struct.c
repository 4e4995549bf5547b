/* Rules of what holds a program together: modules, functions, calls, tuples, and ops that hand
   their operands through. */
#include "ir/rules/shape.h"

#include <stdlib.h>

/* ---- modules --------------------------------------------------------------------------------- */

struct symbol { ir_str name; ir_op op; };

/* Equal names next to each other, in the order of the ops. */
static int compare_symbols(const void *a, const void *b) {
    const struct symbol *x = a, *y = b;
    if (x->name.i != y->name.i)
        return x->name.i < y->name.i ? -1 : 1;
    return (x->op.i > y->op.i) - (x->op.i < y->op.i);
}

hilo_status shape_module(struct shape *s) {
    struct { struct symbol *v; uint32_t n, cap; } symbols = {0};
    for (ir_op op = shape_block(s, 0)->first; !IR_NONE(op); op = ir_op_get(s->m, op)->next) {
        uint32_t slot = ir_slot_named(ir_kind(s->m, op), STR("sym_name"));
        if (slot == IR_SLOT_NONE)
            continue;
        const struct ir_attr_data *name =
            ir_attr_get(s->m, ir_prop(s->m, op, (enum ir_slot)slot));
        if (name->kind == IR_ATTR_STRING)
            ARENA_PUSH(&s->m->arena, &symbols, ((struct symbol){name->str, op}));
    }
    if (symbols.n)
        qsort(symbols.v, symbols.n, sizeof *symbols.v, compare_symbols);
    hilo_status status = HILO_OK;
    for (uint32_t i = 1; i < symbols.n; i++) {
        if (!IR_SAME(symbols.v[i].name, symbols.v[i - 1].name))
            continue;
        struct str name = ir_str_get(s->m, symbols.v[i].name);
        status = ir_op_error(s->m, s->d, symbols.v[i].op, HILO_INVALID_ARGUMENT, NULL,
                             "redefines the symbol '%.*s'", (int)name.n, name.p);
    }
    return status;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The type of a function; NULL when it is not one. */
static const struct ir_type_data *func_type(const struct ir_module *m, ir_op func) {
    ir_type t = ir_attr_get(m, ir_prop(m, func, IR_FUNC_function_type))->type;
    const struct ir_type_data *data = ir_type_get(m, t);
    return data->kind == IR_TYPE_FUNCTION ? data : NULL;
}

/* One dictionary for each argument (result), if there are any. */
static hilo_status func_attrs(struct shape *s, enum ir_slot slot, uint32_t want) {
    const struct ir_attr_data *list = ir_attr_get(s->m, ir_prop(s->m, s->op, slot));
    const char *name = ir_slot_get((uint32_t)slot)->name;
    if (list->kind == IR_ATTR_NONE)
        return HILO_OK;
    HILO_TRY(shape_size(s, NULL, name, list->n, want));
    for (uint32_t i = 0; i < list->n; i++)
        if (ir_attr_get(s->m, list->items[i])->kind != IR_ATTR_DICT)
            return shape_fail(s, NULL, "%s must be dictionaries, but element %u is not", name, i);
    return HILO_OK;
}

hilo_status shape_func(struct shape *s) {
    const struct ir_type_data *t = func_type(s->m, s->op);
    if (!t)
        return shape_fail(s, NULL, "attribute 'function_type' must be a function type");
    if (ir_prop_str(s->m, s->op, IR_FUNC_sym_name).n == 0)
        return shape_fail(s, NULL, "a function must have a name");
    ir_region home = ir_block_get(s->m, s->o->parent)->parent;
    if (ir_kind(s->m, ir_region_get(s->m, home)->parent) != IR_MODULE)
        return shape_fail(s, NULL, "must be in a module");
    HILO_TRY(func_attrs(s, IR_FUNC_arg_attrs, t->ninputs));
    HILO_TRY(func_attrs(s, IR_FUNC_res_attrs, t->ntypes - t->ninputs));
    if (IR_NONE(ir_func_body(s->m, s->op)))
        return HILO_OK; /* a declaration */
    const struct ir_block_data *body = shape_block(s, 0);
    if (body->nargs != t->ninputs)
        return shape_fail(s, NULL, "the body takes %u arguments, but the function's type %u",
                          body->nargs, t->ninputs);
    for (uint32_t i = 0; i < t->ninputs; i++)
        if (!IR_SAME(shape_arg_type(s, 0, i), t->types[i]))
            return shape_fail(s, NULL, "argument %u of the body has type %s, but %s in the "
                              "function's type", i, shape_type_text(s, shape_arg_type(s, 0, i)),
                              shape_type_text(s, t->types[i]));
    return HILO_OK;
}

hilo_status shape_func_return(struct shape *s) {
    ir_op func = ir_region_get(s->m, ir_block_get(s->m, s->o->parent)->parent)->parent;
    const struct ir_type_data *t = ir_kind(s->m, func) == IR_FUNC ? func_type(s->m, func) : NULL;
    if (!t)
        return shape_fail(s, NULL, "must end the body of a function");
    uint32_t want = t->ntypes - t->ninputs;
    if (s->o->noperands != want)
        return shape_fail(s, NULL, "returns %u values, but the function's type %u",
                          s->o->noperands, want);
    for (uint32_t i = 0; i < want; i++)
        if (!IR_SAME(shape_in_type(s, i), t->types[t->ninputs + i]))
            return shape_fail(s, NULL, "returns value %u as %s, but the function's type says %s", i,
                              shape_type_text(s, shape_in_type(s, i)),
                              shape_type_text(s, t->types[t->ninputs + i]));
    return HILO_OK;
}

hilo_status shape_return(struct shape *s) {
    ir_op parent = ir_region_get(s->m, ir_block_get(s->m, s->o->parent)->parent)->parent;
    return ir_kind(s->m, parent) == IR_FUNC ? shape_func_return(s) : HILO_OK;
}

ir_op shape_lookup_func(const struct shape *s, ir_attr symbol) {
    ir_op op = {0};
    if (ir_attr_get(s->m, symbol)->n == 0) /* a name of nested ones names no function */
        op = ir_module_symbol(s->m, ir_attr_as_str(s->m, symbol));
    if (IR_NONE(op) || ir_kind(s->m, op) != IR_FUNC || !func_type(s->m, op))
        return (ir_op){0};
    return op;
}

hilo_status shape_callee(struct shape *s, ir_attr symbol, const char *exists, const char *takes,
                         const char *gives) {
    ir_op func = shape_lookup_func(s, symbol);
    struct str name = ir_attr_as_str(s->m, symbol);
    if (IR_NONE(func))
        return shape_not_found(s, exists, "function", name);
    const struct ir_type_data *t = func_type(s->m, func);
    uint32_t nresults = t->ntypes - t->ninputs;
    if (s->o->noperands != t->ninputs)
        return shape_fail(s, takes, "has %u operands, but '%.*s' takes %u", s->o->noperands,
                          (int)name.n, name.p, t->ninputs);
    for (uint32_t i = 0; i < t->ninputs; i++)
        if (!IR_SAME(shape_in_type(s, i), t->types[i]))
            return shape_fail(s, takes, "operand %u has type %s, but '%.*s' takes %s", i,
                              shape_type_text(s, shape_in_type(s, i)), (int)name.n, name.p,
                              shape_type_text(s, t->types[i]));
    if (s->nout != nresults)
        return shape_fail(s, gives, "has %u results, but '%.*s' gives %u", s->nout, (int)name.n,
                          name.p, nresults);
    for (uint32_t i = 0; i < nresults; i++) {
        s->out[i] = t->types[t->ninputs + i];
        if (s->verifying && !IR_SAME(shape_res_type(s, i), s->out[i]))
            return shape_fail(s, gives, "result %u has type %s, but '%.*s' gives %s", i,
                              shape_type_text(s, shape_res_type(s, i)), (int)name.n, name.p,
                              shape_type_text(s, s->out[i]));
    }
    return HILO_OK;
}

hilo_status shape_call(struct shape *s) {
    return shape_callee(s, ir_prop(s->m, s->op, IR_CALL_callee), NULL, NULL, NULL);
}

/* ---- operands passed through ----------------------------------------------------------------- */

hilo_status shape_forward(struct shape *s) {
    HILO_TRY(shape_results(s, NULL, s->o->noperands));
    for (uint32_t i = 0; i < s->nout; i++)
        s->out[i] = shape_in_type(s, i);
    return HILO_OK;
}

hilo_status shape_optimization_barrier(struct shape *s) {
    s->out_label = "optimization_barrier_c1";
    return shape_forward(s);
}

hilo_status shape_tensor_cast(struct shape *s) {
    if (!s->verifying || (shape_compatible(shape_in(s, 0), shape_res(s, 0)) &&
                          shape_same_elem(shape_in(s, 0), shape_res(s, 0), false)))
        return HILO_OK;
    return shape_fail(s, NULL, "cannot cast %s to %s", shape_type_text(s, shape_in_type(s, 0)),
                      shape_type_text(s, shape_res_type(s, 0)));
}

hilo_status shape_tuple(struct shape *s) {
    ir_type *members = ARENA_ARRAY(&s->m->arena, ir_type, s->o->noperands);
    for (uint32_t i = 0; i < s->o->noperands; i++)
        members[i] = shape_in_type(s, i);
    s->out_label = "tuple_c1";
    s->out[0] = ir_type_group(s->m, IR_TYPE_TUPLE, members, s->o->noperands);
    return HILO_OK;
}

hilo_status shape_get_tuple_element(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0);
    int64_t index = ir_prop_i64(s->m, s->op, IR_GET_TUPLE_ELEMENT_index);
    HILO_TRY(shape_in_range(s, "get_tuple_element_c1", "index", &index, 1, t->ntypes));
    s->out_label = "get_tuple_element_c2";
    s->out[0] = t->types[index];
    return HILO_OK;
}

/* ---- processes ------------------------------------------------------------------------------- */

hilo_status shape_process_id(struct shape *s) {
    s->out[0] = ir_type_of(s->m, IR_UI32_T, NULL, 0);
    return HILO_OK;
}
