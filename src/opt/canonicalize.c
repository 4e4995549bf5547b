/* canonicalize
 * does       brings ops that say the same in several ways into one form: constants on the right, matrix products as
 *            dot_general, what only adds or moves dimensions of size 1 as reshape, broadcasts in the order of the dimensions
 * requires   nothing
 * preserves  nothing
 * cost       linear
 * example    %0 = transpose %x : 1x5 -> 5x1  ⇒  %0 = reshape %x : 1x5 -> 5x1 */
#include "opt/rules.h"

hilo_status opt_canonicalize(struct opt *o) {
    return opt_rules(o, OPT_PASS_canonicalize);
}

static bool constant_left(const struct rules *r, ir_op op) {
    return rules_constant(r, rules_in(r, op, 0)) && !rules_constant(r, rules_in(r, op, 1));
}

static void swap(struct rules *r, ir_op op) {
    ir_set_operands(r->m, op, (ir_val[]){rules_in(r, op, 1), rules_in(r, op, 0)}, 2);
}

bool opt_rule_constant_right(struct rules *r, ir_op op) {
    enum ir_op_kind kind = ir_kind(r->m, op);
    if (!ir_op_has(kind, IR_T_COMMUTATIVE) || !ir_op_has(kind, IR_T_ELEMENTWISE) || !constant_left(r, op))
        return false;
    swap(r, op);
    return true;
}

bool opt_rule_compare_right(struct rules *r, ir_op op) {
    static const unsigned char mirror[] = {
        [IR_COMPARISON_DIRECTION_EQ] = IR_COMPARISON_DIRECTION_EQ, [IR_COMPARISON_DIRECTION_NE] = IR_COMPARISON_DIRECTION_NE,
        [IR_COMPARISON_DIRECTION_GE] = IR_COMPARISON_DIRECTION_LE, [IR_COMPARISON_DIRECTION_GT] = IR_COMPARISON_DIRECTION_LT,
        [IR_COMPARISON_DIRECTION_LE] = IR_COMPARISON_DIRECTION_GE, [IR_COMPARISON_DIRECTION_LT] = IR_COMPARISON_DIRECTION_GT,
    };
    int64_t how = ir_prop_i64(r->m, op, IR_COMPARE_comparison_direction);
    if (!constant_left(r, op))
        return false;
    swap(r, op);
    ir_set_prop(r->m, op, IR_COMPARE_comparison_direction, ir_attr_enum(r->m, IR_ENUM_COMPARISON_DIRECTION, mirror[how]));
    return true;
}

bool opt_rule_dot_general(struct rules *r, ir_op op) {
    ir_val in[2] = {rules_in(r, op, 0), rules_in(r, op, 1)};
    const struct ir_type_data *lhs = rules_shape(r, in[0]);
    if (lhs->kind != IR_TYPE_TENSOR || lhs->rank == 0)
        return false;
    ir_attr left = ir_attr_i64s(r->m, (int64_t[]){(int64_t)lhs->rank - 1}, 1), right = ir_attr_i64s(r->m, (int64_t[]){0}, 1);
    ir_attr precision = ir_prop(r->m, op, IR_DOT_precision_config), none = ir_attr_i64s(r->m, NULL, 0);
    ir_op fresh = rules_become_op(r, op, IR_DOT_GENERAL, in, 2);
    ir_set_prop(r->m, fresh, IR_DOT_GENERAL_dot_dimension_numbers,
                ir_attr_struct(r->m, IR_STRUCT_DOT, (ir_attr[]){none, none, left, right}));
    ir_set_prop(r->m, fresh, IR_DOT_GENERAL_precision_config, precision);
    return true;
}

/* ---- movement -------------------------------------------------------------------------------- */

static bool become_reshape(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    rules_become_op(r, op, IR_RESHAPE, &x, 1);
    return true;
}

/* The new dimensions come first. */
bool opt_rule_broadcast_first(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0), out = ir_result(r->m, op, 0);
    int64_t dims[IR_MAX_RANK];
    if (!rules_static(r, x) || !rules_static(r, out))
        return false;
    uint32_t rank = rules_shape(r, x)->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = rules_shape(r, out)->rank - rank + i;
    ir_op fresh = rules_become_op(r, op, IR_BROADCAST_IN_DIM, &x, 1);
    ir_set_prop(r->m, fresh, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(r->m, dims, rank));
    return true;
}

bool opt_rule_transpose_ones(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    size_t n;
    const int64_t *p = ir_prop_i64s(r->m, op, IR_TRANSPOSE_permutation, &n);
    int64_t before = -1;
    if (!rules_static(r, x))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (rules_shape(r, x)->dims[p[i]] == 1)
            continue;
        if (p[i] < before)
            return false;
        before = p[i];
    }
    return become_reshape(r, op);
}

bool opt_rule_broadcast_ones(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0), out = ir_result(r->m, op, 0);
    size_t n, have, want;
    const int64_t *dims = ir_prop_i64s(r->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    if (!rules_static(r, x) || !rules_static(r, out) || !ir_type_count(rules_shape(r, x), &have) ||
        !ir_type_count(rules_shape(r, out), &want) || have != want)
        return false;
    for (size_t i = 1; i < n; i++)
        if (dims[i] < dims[i - 1])
            return false;
    return have > 0 && become_reshape(r, op);
}

bool opt_rule_broadcast_order(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    size_t n;
    const int64_t *dims = ir_prop_i64s(r->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    int64_t order[IR_MAX_RANK], sizes[IR_MAX_RANK], sorted[IR_MAX_RANK];
    bool in_order = true;
    if (!rules_static(r, x))
        return false;
    for (size_t i = 0; i < n; i++) { /* insertion by dims */
        size_t k = i;
        in_order &= i == 0 || dims[i] > dims[i - 1];
        for (; k > 0 && dims[order[k - 1]] > dims[i]; k--)
            order[k] = order[k - 1];
        order[k] = (int64_t)i;
    }
    if (in_order)
        return false;
    for (size_t i = 0; i < n; i++) {
        sizes[i] = rules_shape(r, x)->dims[order[i]];
        sorted[i] = dims[order[i]];
    }
    ir_op transpose = rules_make(r, op, IR_TRANSPOSE, &x, 1, ir_type_with_dims(r->m, rules_type(r, x), sizes, (uint32_t)n));
    ir_set_prop(r->m, transpose, IR_TRANSPOSE_permutation, ir_attr_i64s(r->m, order, (uint32_t)n));
    ir_set_operand(r->m, op, 0, ir_result(r->m, transpose, 0));
    ir_set_prop(r->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(r->m, sorted, (uint32_t)n));
    return true;
}
