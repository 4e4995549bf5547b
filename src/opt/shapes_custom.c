/* Rules of shapes about custom calls: what exporters of programs with unknown sizes call instead of ops (rules.def). */
#include "opt/rules.h"

static bool calls(const struct rules *r, ir_op op, const char *target, uint32_t noperands, uint32_t nresults) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    return x->noperands == noperands && x->nresults == nresults &&
           str_is(ir_prop_str(r->m, op, IR_CUSTOM_CALL_call_target_name), target);
}

/* A new op with the first operands, location and number of results of `op`, before it. */
static ir_op make(struct rules *r, ir_op op, enum ir_op_kind kind, uint32_t noperands, const ir_type *types,
                  uint32_t nregions) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    ir_op fresh = ir_op_new(r->m, kind, x->operands, noperands, types, x->nresults, nregions);
    ir_set_operand(r->m, fresh, 0, opt_precise(r->m, x->operands[0]));
    ir_set_loc(r->m, fresh, x->loc, x->line, x->col);
    ir_insert_before(r->m, op, fresh);
    return fresh;
}

bool opt_rule_assertion_holds(struct rules *r, ir_op op) {
    int64_t holds;
    uint32_t n = ir_op_get(r->m, op)->noperands;
    if (n == 0 || !calls(r, op, "shape_assertion", n, 0) || ir_val_count(r->m, rules_in(r, op, 0)) != 1 ||
        !rules_integer(r, rules_in(r, op, 0), &holds) || !holds)
        return false;
    ir_unlink(r->m, op);
    return true;
}

/* The body of a called function, as that of an op. False when it is not one block that returns. */
static bool clone_body(struct rules *r, ir_op call, ir_op to) {
    struct ir_module *m = r->m;
    const struct ir_attr_data *list = ir_attr_get(m, ir_prop(m, call, IR_CUSTOM_CALL_called_computations));
    bool one = list->kind == IR_ATTR_ARRAY && list->n == 1;
    ir_op func = one ? ir_module_symbol(m, ir_attr_as_str(m, list->items[0])) : (ir_op){0};
    if (IR_NONE(func) || ir_kind(m, func) != IR_FUNC || IR_NONE(ir_func_body(m, func)))
        return false;
    ir_region region = ir_op_region(m, to, 0);
    struct opt_map map = opt_map_new(r->o); /* what the function has of its own stays */
    opt_clone_region(&map, ir_op_region(m, func, 0), region);
    ir_block b = ir_region_get(m, region)->first;
    ir_op end = ir_terminator(m, b);
    if (!IR_SAME(b, ir_region_get(m, region)->last) || IR_NONE(end) || ir_kind(m, end) != IR_FUNC_RETURN)
        return false;
    ir_append(m, b, ir_op_new(m, IR_RETURN, ir_op_get(m, end)->operands, ir_op_get(m, end)->noperands, NULL, 0, 0));
    ir_unlink(m, end);
    return true;
}

bool opt_rule_static_reduce_window(struct rules *r, ir_op op) {
    static const enum ir_slot slots[] = {IR_REDUCE_WINDOW_window_dimensions, IR_REDUCE_WINDOW_window_strides,
                                         IR_REDUCE_WINDOW_base_dilations, IR_REDUCE_WINDOW_window_dilations};
    if (!calls(r, op, "stablehlo.dynamic_reduce_window", 7, 1) || rules_shape(r, rules_in(r, op, 0))->kind != IR_TYPE_TENSOR)
        return false;
    int64_t v[5][2 * IR_MAX_RANK];
    uint32_t rank = rules_shape(r, rules_in(r, op, 0))->rank;
    for (uint32_t i = 0; i < 5; i++)
        if (!rules_integers(r, rules_in(r, op, 2 + i), v[i], i < 4 ? rank : 2 * rank))
            return false;
    ir_type type = rules_result(r, op);
    ir_op fresh = make(r, op, IR_REDUCE_WINDOW, 2, &type, 1);
    if (!clone_body(r, op, fresh)) {
        ir_unlink(r->m, fresh);
        return false;
    }
    for (uint32_t i = 0; i < 4; i++)
        ir_set_prop(r->m, fresh, slots[i], ir_attr_i64s(r->m, v[i], rank));
    ir_set_prop(r->m, fresh, IR_REDUCE_WINDOW_padding, ir_attr_dense_i64s(r->m, v[4], (int64_t[]){rank, 2}, 2));
    rules_cast(r, op, fresh);
    return true;
}

bool opt_rule_static_rng(struct rules *r, ir_op op) {
    int64_t dims[IR_MAX_RANK];
    ir_attr algorithm = ir_dict_find(r->m, ir_op_get(r->m, op)->attrs, STR("rng_algorithm"));
    if (!calls(r, op, "stablehlo.dynamic_rng_bit_generator", 2, 2) || ir_attr_get(r->m, algorithm)->kind != IR_ATTR_ENUM)
        return false;
    const struct ir_type_data *t = rules_shape(r, ir_result(r->m, op, 1));
    if (t->kind != IR_TYPE_TENSOR || t->quant || !rules_integers(r, rules_in(r, op, 1), dims, t->rank))
        return false;
    ir_type types[2] = {rules_result(r, op), ir_type_tensor(r->m, t->elem, dims, t->rank, (ir_attr){0})};
    if (!IR_SAME(types[1], rules_type(r, ir_result(r->m, op, 1))) &&
        !opt_refines(r->m, types[1], rules_type(r, ir_result(r->m, op, 1))))
        return false;
    ir_op fresh = make(r, op, IR_RNG_BIT_GENERATOR, 1, types, 0);
    ir_set_prop(r->m, fresh, IR_RNG_BIT_GENERATOR_rng_algorithm, algorithm);
    rules_cast(r, op, fresh);
    return true;
}

bool opt_rule_static_top_k(struct rules *r, ir_op op) {
    int64_t k;
    if (!calls(r, op, "stablehlo.dynamic_top_k", 2, 2) || !rules_integer(r, rules_in(r, op, 1), &k) || k < 0)
        return false;
    ir_type types[2] = {rules_result(r, op), rules_type(r, ir_result(r->m, op, 1))};
    ir_op fresh = make(r, op, IR_TOP_K, 1, types, 0);
    ir_set_prop(r->m, fresh, IR_TOP_K_k, ir_attr_i64(r->m, k));
    rules_cast(r, op, fresh);
    return true;
}
