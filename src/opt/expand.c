/* expand
 * does       replaces ops by what they are defined as: batch norms, CHLO's broadcasting ops, and the CHLO ops that are one or
 *            two of StableHLO; CHLO's transcendental functions stay, since no decomposition is as accurate
 * requires   nothing
 * preserves  nothing
 * cost       linear
 * example    chlo.broadcast_add %a, %b  ⇒  %0 = broadcast_in_dim %a; add %0, %b
 *
 * A batch norm becomes the operations that the evaluator does, in their order, so that the numbers are the same. */
#include "opt/rules.h"

hilo_status opt_expand(struct opt *o) {
    return opt_rules(o, OPT_PASS_expand);
}

/* ---- building -------------------------------------------------------------------------------- */

/* f(a, b), of the type of a. */
static ir_val binary(struct rules *r, ir_op at, enum ir_op_kind kind, ir_val a, ir_val b) {
    return ir_result(r->m, rules_make(r, at, kind, (ir_val[]){a, b}, 2, rules_type(r, a)), 0);
}

static ir_val unary(struct rules *r, ir_op at, enum ir_op_kind kind, ir_val a) {
    return ir_result(r->m, rules_make(r, at, kind, &a, 1, rules_type(r, a)), 0);
}

/* Dimension i of v is dimension dims[i] of the result; v itself where nothing is to be done. */
static ir_val broadcast(struct rules *r, ir_op at, ir_val v, ir_type type, const int64_t *dims) {
    if (IR_SAME(rules_type(r, v), type))
        return v;
    uint32_t rank = rules_shape(r, v)->rank;
    ir_op op = rules_make(r, at, IR_BROADCAST_IN_DIM, &v, 1, type);
    ir_set_prop(r->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(r->m, dims, rank));
    return ir_result(r->m, op, 0);
}

/* ---- batch norms ----------------------------------------------------------------------------- */

struct norm {
    struct rules *r;
    ir_op op;
    ir_type whole, vector;   /* types of the operand, and of one number a feature */
    int64_t feature;         /* dimension */
    ir_val epsilon, divisor; /* vectors */
};

static bool norm_of(struct rules *r, ir_op op, enum ir_slot feature, enum ir_slot epsilon, struct norm *n) {
    size_t count;
    *n = (struct norm){.r = r, .op = op, .whole = rules_type(r, rules_in(r, op, 0)),
                       .vector = rules_type(r, rules_in(r, op, 1)), .feature = ir_prop_i64(r->m, op, feature)};
    const struct ir_type_data *t = ir_type_get(r->m, n->whole);
    if (!rules_static(r, rules_in(r, op, 0)) || !rules_static(r, rules_in(r, op, 1)) || !ir_type_count(t, &count))
        return false;
    int64_t features = t->dims[n->feature];
    n->epsilon = rules_make_float(r, op, n->vector, ir_attr_get(r->m, ir_prop(r->m, op, epsilon))->f);
    n->divisor = rules_make_float(r, op, n->vector, features ? (double)(count / (size_t)features) : 1);
    return true;
}

static ir_val norm_spread(const struct norm *n, ir_val vector) {
    return broadcast(n->r, n->op, vector, n->whole, &n->feature);
}

static ir_val norm2(const struct norm *n, enum ir_op_kind kind, ir_val a, ir_val b) {
    return binary(n->r, n->op, kind, a, b);
}

/* The sums of the features. */
static ir_val norm_sum(const struct norm *n, ir_val x) {
    struct ir_module *m = n->r->m;
    const struct ir_type_data *t = ir_type_get(m, n->whole);
    ir_type scalar = ir_type_tensor(m, t->elem, NULL, 0, (ir_attr){0});
    ir_val zero = rules_make_float(n->r, n->op, scalar, 0);
    int64_t dims[IR_MAX_RANK];
    uint32_t ndims = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        if (d != (uint64_t)n->feature)
            dims[ndims++] = d;
    ir_op reduce = ir_op_new(m, IR_REDUCE, (ir_val[]){x, zero}, 2, &n->vector, 1, 1);
    ir_set_prop(m, reduce, IR_REDUCE_dimensions, ir_attr_i64s(m, dims, ndims));
    ir_block body = ir_block_new(m, ir_op_region(m, reduce, 0));
    ir_val args[2] = {ir_block_add_arg(m, body, scalar), ir_block_add_arg(m, body, scalar)};
    ir_op add = ir_op_new(m, IR_ADD, args, 2, &scalar, 1, 0);
    ir_val sum = ir_result(m, add, 0);
    ir_append(m, body, add);
    ir_append(m, body, ir_op_new(m, IR_RETURN, &sum, 1, NULL, 0, 0));
    ir_insert_before(m, n->op, reduce);
    return ir_result(m, reduce, 0);
}

/* scale * ((x - mean) / sqrt(variance + epsilon)) + offset */
static ir_val norm_apply(const struct norm *n, ir_val x, ir_val scale, ir_val offset, ir_val mean, ir_val variance) {
    ir_val deviation = norm_spread(n, unary(n->r, n->op, IR_SQRT, norm2(n, IR_ADD, variance, n->epsilon)));
    ir_val centred = norm2(n, IR_SUBTRACT, x, norm_spread(n, mean));
    ir_val normal = norm2(n, IR_DIVIDE, centred, deviation);
    ir_val wide = norm_spread(n, scale), scaled = norm2(n, IR_MULTIPLY, wide, normal);
    return norm2(n, IR_ADD, scaled, norm_spread(n, offset));
}

bool opt_rule_batch_norm_inference(struct rules *r, ir_op op) {
    struct norm n;
    if (!norm_of(r, op, IR_BATCH_NORM_INFERENCE_feature_index, IR_BATCH_NORM_INFERENCE_epsilon, &n))
        return false;
    const ir_val *in = ir_op_get(r->m, op)->operands;
    return rules_become(r, op, norm_apply(&n, in[0], in[1], in[2], in[3], in[4]));
}

bool opt_rule_batch_norm_training(struct rules *r, ir_op op) {
    struct norm n;
    if (!norm_of(r, op, IR_BATCH_NORM_TRAINING_feature_index, IR_BATCH_NORM_TRAINING_epsilon, &n))
        return false;
    const ir_val *in = ir_op_get(r->m, op)->operands;
    ir_val mean = norm2(&n, IR_DIVIDE, norm_sum(&n, in[0]), n.divisor);
    ir_val centred = norm2(&n, IR_SUBTRACT, in[0], norm_spread(&n, mean));
    ir_val variance = norm2(&n, IR_DIVIDE, norm_sum(&n, norm2(&n, IR_MULTIPLY, centred, centred)), n.divisor);
    ir_val out = norm_apply(&n, in[0], in[1], in[2], mean, variance);
    opt_replace(&r->map, op, (ir_val[]){out, mean, variance});
    return true;
}

bool opt_rule_batch_norm_grad(struct rules *r, ir_op op) {
    struct norm n;
    if (!norm_of(r, op, IR_BATCH_NORM_GRAD_feature_index, IR_BATCH_NORM_GRAD_epsilon, &n))
        return false;
    const ir_val *in = ir_op_get(r->m, op)->operands;
    ir_val scale = in[1], grad = in[4], spread = norm2(&n, IR_ADD, in[3], n.epsilon);
    ir_val deviation = unary(r, op, IR_SQRT, spread), centred = norm2(&n, IR_SUBTRACT, in[0], norm_spread(&n, in[2]));
    ir_val normal = norm2(&n, IR_DIVIDE, centred, norm_spread(&n, deviation));
    ir_val grad_offset = norm_sum(&n, grad), grad_scale = norm_sum(&n, norm2(&n, IR_MULTIPLY, grad, normal));
    ir_val i3 = norm_sum(&n, norm2(&n, IR_MULTIPLY, grad, centred));
    ir_val factor = norm2(&n, IR_DIVIDE, norm2(&n, IR_DIVIDE, scale, deviation), n.divisor);
    ir_val i1 = norm2(&n, IR_MULTIPLY, grad, norm_spread(&n, n.divisor));
    ir_val i4 = norm2(&n, IR_MULTIPLY, norm_spread(&n, i3), centred);
    ir_val i5 = norm2(&n, IR_DIVIDE, i4, norm_spread(&n, spread));
    ir_val rest = norm2(&n, IR_SUBTRACT, i1, norm_spread(&n, grad_offset)), i6 = norm2(&n, IR_SUBTRACT, rest, i5);
    ir_val out = norm2(&n, IR_MULTIPLY, norm_spread(&n, factor), i6);
    opt_replace(&r->map, op, (ir_val[]){out, grad_scale, grad_offset});
    return true;
}

/* ---- CHLO: broadcasting ---------------------------------------------------------------------- */

/* An enumeration of CHLO as StableHLO's, whose cases have the same numbers. */
static void copy_enum(struct rules *r, ir_op from, enum ir_slot slot, ir_op to, enum ir_slot as, enum ir_enum e) {
    int64_t value;
    if (ir_attr_as_i64(r->m, ir_prop(r->m, from, slot), &value))
        ir_set_prop(r->m, to, as, ir_attr_enum(r->m, e, value));
}

/* As in numpy, the last dimensions go to the last ones; or the smaller operand's to those that broadcast_dimensions names. */
bool opt_rule_broadcast_operands(struct rules *r, ir_op op) {
    enum ir_op_kind plain = ir_op_info(ir_kind(r->m, op))->base;
    if (!plain || plain == IR_SELECT)
        return false;
    ir_val out = ir_result(r->m, op, 0), in[2];
    if (!rules_static(r, out))
        return false;
    uint32_t slot = ir_slot_named(ir_kind(r->m, op), STR("broadcast_dimensions"));
    size_t nlist;
    const int64_t *list = ir_prop_i64s(r->m, op, (enum ir_slot)slot, &nlist);
    const struct ir_type_data *t = rules_shape(r, out);
    for (uint32_t i = 0; i < 2; i++)
        if (!rules_static(r, rules_in(r, op, i)))
            return false;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t dims[IR_MAX_RANK];
        in[i] = rules_in(r, op, i);
        uint32_t rank = rules_shape(r, in[i])->rank;
        bool smaller = list && nlist == rank && rank < t->rank;
        for (uint32_t d = 0; d < rank; d++)
            dims[d] = smaller ? list[d] : (int64_t)(t->rank - rank + d);
        in[i] = broadcast(r, op, in[i], ir_type_with_dims(r->m, rules_type(r, in[i]), t->dims, t->rank), dims);
    }
    ir_op fresh = rules_become_op(r, op, plain, in, 2);
    if (plain == IR_COMPARE) {
        copy_enum(r, op, IR_BROADCAST_COMPARE_comparison_direction, fresh, IR_COMPARE_comparison_direction,
                  IR_ENUM_COMPARISON_DIRECTION);
        copy_enum(r, op, IR_BROADCAST_COMPARE_compare_type, fresh, IR_COMPARE_compare_type, IR_ENUM_COMPARISON_TYPE);
    }
    return true;
}

/* ---- CHLO: the rest -------------------------------------------------------------------------- */

bool opt_rule_chlo_constant(struct rules *r, ir_op op) {
    ir_attr value = ir_prop(r->m, op, IR_CHLO_CONSTANT_value);
    ir_set_prop(r->m, rules_become_op(r, op, IR_CONSTANT, NULL, 0), IR_CONSTANT_value, value);
    return true;
}

bool opt_rule_constant_like(struct rules *r, ir_op op) {
    ir_val out = ir_result(r->m, op, 0);
    const struct ir_attr_data *a = ir_attr_get(r->m, ir_prop(r->m, op, IR_CONSTANT_LIKE_value));
    uint64_t bits = (uint64_t)a->i;
    if (rules_is_float(r, out) && a->kind == IR_ATTR_FLOAT)
        bits = fp_encode(ir_dtype_get(rules_shape(r, out)->dtype)->fp, a->f);
    else if (!rules_is_integer(r, out) || a->kind != IR_ATTR_INT)
        return false;
    return rules_become_splat(r, op, &bits);
}

bool opt_rule_chlo_tan(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    if (!rules_static(r, x))
        return false;
    rules_become_op(r, op, IR_TAN, &x, 1);
    return true;
}

bool opt_rule_square(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    if (!rules_is_float(r, x) || !rules_static(r, x))
        return false;
    rules_become_op(r, op, IR_MULTIPLY, (ir_val[]){x, x}, 2);
    return true;
}

bool opt_rule_conj_real(struct rules *r, ir_op op) {
    return rules_is_float(r, rules_in(r, op, 0)) && rules_become(r, op, rules_in(r, op, 0));
}

static bool is_infinity(struct rules *r, ir_op op, ir_val x, double infinity) {
    if (!rules_static(r, x) || !fp_has_inf(ir_dtype_get(rules_shape(r, x)->dtype)->fp))
        return false;
    ir_val with = rules_make_float(r, op, rules_type(r, x), infinity);
    ir_op fresh = rules_become_op(r, op, IR_COMPARE, (ir_val[]){x, with}, 2);
    ir_set_prop(r->m, fresh, IR_COMPARE_comparison_direction,
                ir_attr_enum(r->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_EQ));
    return true;
}

bool opt_rule_is_pos_inf(struct rules *r, ir_op op) { return is_infinity(r, op, rules_in(r, op, 0), __builtin_inf()); }
bool opt_rule_is_neg_inf(struct rules *r, ir_op op) { return is_infinity(r, op, rules_in(r, op, 0), -__builtin_inf()); }

bool opt_rule_is_inf(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    return rules_static(r, x) && is_infinity(r, op, unary(r, op, IR_ABS, x), __builtin_inf());
}
