/* custom_call @ApproxTopK of n operands, then n initial values: the first elements along a dimension in the order of a
 * comparator. As on XLA's CPU it is exact: a stable sort, and a slice of each result. */
#include "opt/approx_top_k.h"

bool opt_is_approx_top_k(const struct ir_module *m, ir_op op) {
    return ir_kind(m, op) == IR_CUSTOM_CALL && str_is(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "ApproxTopK");
}

static ir_attr setting(const struct ir_module *m, ir_op op, struct str name) {
    ir_attr dict = ir_prop(m, op, IR_CUSTOM_CALL_backend_config);
    if (ir_attr_get(m, dict)->kind != IR_ATTR_DICT)
        dict = ir_dict_find(m, ir_op_get(m, op)->attrs, STR("mhlo.backend_config"));
    return ir_dict_find(m, dict, name);
}

/* The body of the one called computation; none when there is not one. */
static ir_region comparator(const struct ir_module *m, ir_op op, uint32_t nargs) {
    const struct ir_attr_data *list = ir_attr_get(m, ir_prop(m, op, IR_CUSTOM_CALL_called_computations));
    const struct ir_attr_data *name = list->kind == IR_ATTR_ARRAY && list->n == 1 ? ir_attr_get(m, list->items[0]) : NULL;
    ir_op func = name && name->kind == IR_ATTR_SYMBOL ? ir_module_symbol(m, ir_str_get(m, name->str)) : (ir_op){0};
    if (IR_NONE(func) || ir_kind(m, func) != IR_FUNC || IR_NONE(ir_func_body(m, func)))
        return (ir_region){0};
    return ir_block_get(m, ir_func_body(m, func))->nargs == nargs ? ir_op_region(m, func, 0) : (ir_region){0};
}

/* Whether result `k` is a slice of operand `k` along `dim`. */
static bool fits(const struct ir_module *m, ir_op op, uint32_t k, int64_t dim) {
    const struct ir_type_data *in = ir_val_type(m, ir_operand(m, op, k)), *out = ir_val_type(m, ir_result(m, op, k));
    if (!ir_type_is_shaped(in) || !ir_type_is_static(in) || !ir_type_is_shaped(out) || !ir_type_is_static(out) ||
        in->rank != out->rank || !IR_SAME(in->elem, out->elem) || dim < 0 || dim >= (int64_t)in->rank)
        return false;
    for (uint32_t i = 0; i < in->rank; i++)
        if (i == dim ? out->dims[i] > in->dims[i] : out->dims[i] != in->dims[i])
            return false;
    const struct ir_type_data *first = ir_val_type(m, ir_operand(m, op, 0));
    return first->rank == in->rank && memcmp(first->dims, in->dims, in->rank * sizeof *in->dims) == 0;
}

hilo_status opt_approx_top_k(struct opt_map *map, ir_op op) {
    struct ir_module *m = map->o->m;
    const struct ir_op_data *o = ir_op_get(m, op);
    uint32_t n = o->nresults;
    int64_t dim = -1;
    ir_region body = comparator(m, op, 2 * n);
    bool ok = n && o->noperands == 2 * n && body.i && ir_attr_as_i64(m, setting(m, op, STR("reduction_dim")), &dim);
    for (uint32_t i = 0; i < n && ok; i++)
        ok = fits(m, op, i, dim);
    if (!ok)
        return ir_op_error(m, map->o->d, op, HILO_INVALID_ARGUMENT, NULL,
                           "calls ApproxTopK: expected n operands and n initial values, a comparator of 2n arguments as its "
                           "called computation, a reduction_dim, and n results that are slices of the operands along it");
    ir_type *types = ARENA_ARRAY(&map->o->scratch, ir_type, n);
    ir_val *operands = ARENA_ARRAY(&map->o->scratch, ir_val, n), *results = ARENA_ARRAY(&map->o->scratch, ir_val, n);
    for (uint32_t i = 0; i < n; i++) {
        operands[i] = ir_operand(m, op, i);
        types[i] = ir_val_get(m, operands[i])->type;
    }
    ir_op sort = ir_op_new(m, IR_SORT, operands, n, types, n, 1);
    ir_set_loc(m, sort, o->loc, o->line, o->col);
    ir_set_prop(m, sort, IR_SORT_dimension, ir_attr_i64(m, dim));
    ir_set_prop(m, sort, IR_SORT_is_stable, ir_attr_bool(m, true));
    struct opt_map inner = opt_map_new(map->o);
    opt_clone_region(&inner, body, ir_op_region(m, sort, 0));
    ir_block block = ir_region_get(m, ir_op_region(m, sort, 0))->first;
    ir_op end = ir_terminator(m, block);
    ir_append(m, block, ir_op_new(m, IR_RETURN, ir_op_get(m, end)->operands, ir_op_get(m, end)->noperands, NULL, 0, 0));
    ir_unlink(m, end);
    ir_insert_before(m, op, sort);
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_data *t = ir_val_type(m, ir_result(m, op, i));
        int64_t zeros[IR_MAX_RANK] = {0}, ones[IR_MAX_RANK];
        for (uint32_t k = 0; k < t->rank; k++)
            ones[k] = 1;
        ir_val sorted = ir_result(m, sort, i);
        ir_type type = ir_val_get(m, ir_result(m, op, i))->type;
        ir_op slice = ir_op_new(m, IR_SLICE, &sorted, 1, &type, 1, 0);
        ir_set_prop(m, slice, IR_SLICE_start_indices, ir_attr_i64s(m, zeros, t->rank));
        ir_set_prop(m, slice, IR_SLICE_limit_indices, ir_attr_i64s(m, t->dims, t->rank));
        ir_set_prop(m, slice, IR_SLICE_strides, ir_attr_i64s(m, ones, t->rank));
        ir_insert_before(m, op, slice);
        results[i] = ir_result(m, slice, 0);
    }
    opt_replace(map, op, results);
    map->o->changes++;
    return HILO_OK;
}
