/* shapes
 * does       follows known sizes through programs of unknown ones: results get the types that can be inferred, and the dynamic
 *            form of an op whose sizes are known becomes the static one
 * requires   nothing
 * preserves  nothing
 * cost       linear: one inference an op with unknown sizes
 * example    %0 = dynamic_reshape %x, %n : 4x2 -> 8  ⇒  %0 = reshape %x : 4x2 -> 8
 *
 * What refers to a value by its type (calls, returns, loops) keeps the type that it had: a cast leads from the new one to the
 * old, and ops that do not mind look through it. */
#include "opt/rules.h"

hilo_status opt_shapes(struct opt *o) {
    return opt_rules(o, OPT_PASS_shapes);
}

static bool refines(const struct rules *r, ir_type type, ir_type than) {
    return opt_refines(r->m, type, than);
}

/* Ops whose types only have to be compatible. Regions are of scalars, or of types that the op's own do not decide. */
static bool tolerant(const struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    return ir_op_has(kind, IR_T_PURE) && !ir_op_has(kind, IR_T_CONTROL) && x->nresults > 0 && kind != IR_TENSOR_CAST &&
           kind != IR_TUPLE && kind != IR_GET_TUPLE_ELEMENT && kind != IR_OPTIMIZATION_BARRIER &&
           kind != IR_SDY_SHARDING_CONSTRAINT;
}

/* The types that follow from the op's operands, of each result (none = nothing follows); NULL where the op is wrong. */
static ir_type *infer(const struct rules *r, ir_op op) {
    uint32_t n = ir_op_get(r->m, op)->nresults;
    ir_type *out = ARENA_ARRAY(&r->o->scratch, ir_type, n + 1);
    struct diag_list ignored;
    diag_init(&ignored, r->o->d->al);
    bool done = ir_infer(r->m, &ignored, op, out, n) == HILO_OK;
    diag_clear(&ignored);
    return done ? out : NULL;
}

/* What the operands say does not contradict the types that the results have. */
static bool agrees(const struct rules *r, ir_op op) {
    const ir_type *types = infer(r, op);
    for (uint32_t i = 0; types && i < ir_op_get(r->m, op)->nresults; i++) {
        ir_type old = rules_type(r, ir_result(r->m, op, i));
        if (!IR_NONE(types[i]) && !IR_SAME(types[i], old) && !refines(r, types[i], old) && !refines(r, old, types[i]))
            return false;
    }
    return types != NULL;
}

bool opt_rule_look_through(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    if (!tolerant(r, op))
        return false;
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_val v = x->operands[i];
        ir_op cast = rules_def(r, v, IR_TENSOR_CAST);
        if (IR_NONE(cast) || !refines(r, rules_type(r, rules_in(r, cast, 0)), rules_type(r, v)))
            continue;
        ir_set_operand(r->m, op, i, rules_in(r, cast, 0));
        if (agrees(r, op))
            return true;
        ir_set_operand(r->m, op, i, v);
    }
    return false;
}

bool opt_rule_cast_same(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_TENSOR_CAST);
    return rules_become(r, op, rules_in(r, op, 0)) || (!IR_NONE(inner) && rules_become(r, op, rules_in(r, inner, 0)));
}

bool opt_rule_infer(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    uint32_t n = x->nresults, unknown = 0, more = 0;
    for (uint32_t i = 0; i < n; i++)
        unknown += !rules_static(r, ir_result(r->m, op, i));
    ir_type *types = unknown && tolerant(r, op) ? infer(r, op) : NULL;
    for (uint32_t i = 0; types && i < n; i++) {
        bool better = !IR_NONE(types[i]) && refines(r, types[i], rules_type(r, ir_result(r->m, op, i)));
        types[i] = better ? types[i] : rules_type(r, ir_result(r->m, op, i));
        more += better;
    }
    if (more == 0)
        return false;
    ir_op fresh = opt_remake(r->o, op, x->operands, x->noperands, types, n);
    for (uint32_t i = 0; i < x->nregions; i++)
        opt_clone_region(&r->map, ir_op_region(r->m, op, i), ir_op_region(r->m, fresh, i));
    ir_insert_before(r->m, op, fresh);
    rules_cast(r, op, fresh);
    return true;
}

/* Elements that become longer take their parts from the last dimension, shorter ones make one. */
bool opt_rule_bitcast_shape(struct rules *r, ir_op op) {
    const struct ir_type_data *in = rules_shape(r, rules_in(r, op, 0)), *out = rules_shape(r, ir_result(r->m, op, 0));
    uint32_t a = ir_dtype_get(in->dtype)->bits, b = ir_dtype_get(out->dtype)->bits, rank = in->rank;
    int64_t dims[IR_MAX_RANK + 1];
    if (!rules_static(r, rules_in(r, op, 0)) || rules_static(r, ir_result(r->m, op, 0)) || out->kind != IR_TYPE_TENSOR)
        return false;
    memcpy(dims, in->dims, rank * sizeof *dims);
    if (a > b)
        dims[rank++] = a / b;
    else if (a < b)
        rank--; /* the verifier has seen that there is one */
    if (rank != out->rank)
        return false;
    ir_type type = ir_type_with_dims(r->m, rules_result(r, op), dims, rank);
    if (!opt_refines(r->m, type, rules_result(r, op)))
        return false;
    ir_val x = rules_in(r, op, 0);
    ir_op fresh = opt_remake(r->o, op, &x, 1, &type, 1);
    ir_insert_before(r->m, op, fresh);
    rules_cast(r, op, fresh);
    return true;
}

/* ---- branches -------------------------------------------------------------------------------- */

/* The more precise type that a result has in every branch; the one that it has where there is none. */
static ir_type branch_type(const struct rules *r, ir_op op, uint32_t i) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    ir_type old = rules_type(r, ir_result(r->m, op, i)), found = old;
    for (uint32_t k = 0; k < x->nregions; k++) {
        ir_block b = ir_region_get(r->m, ir_op_region(r->m, op, k))->first;
        ir_op cast = rules_def(r, rules_in(r, ir_terminator(r->m, b), i), IR_TENSOR_CAST);
        ir_type type = IR_NONE(cast) ? old : rules_type(r, rules_in(r, cast, 0));
        if ((k && !IR_SAME(type, found)) || !refines(r, type, old))
            return old;
        found = type;
    }
    return found;
}

static bool branch_types(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    ir_type *types = ARENA_ARRAY(&r->o->scratch, ir_type, x->nresults + 1);
    uint32_t more = 0;
    for (uint32_t i = 0; i < x->nresults; i++) {
        types[i] = branch_type(r, op, i);
        more += !IR_SAME(types[i], rules_type(r, ir_result(r->m, op, i)));
    }
    if (more == 0)
        return false;
    ir_op fresh = opt_remake(r->o, op, x->operands, x->noperands, types, x->nresults);
    for (uint32_t k = 0; k < x->nregions; k++) {
        opt_clone_region(&r->map, ir_op_region(r->m, op, k), ir_op_region(r->m, fresh, k));
        ir_op end = ir_terminator(r->m, ir_region_get(r->m, ir_op_region(r->m, fresh, k))->first);
        for (uint32_t i = 0; i < x->nresults; i++)
            if (!IR_SAME(types[i], rules_type(r, ir_result(r->m, op, i))))
                ir_set_operand(r->m, end, i, rules_in(r, rules_def(r, rules_in(r, end, i), IR_TENSOR_CAST), 0));
    }
    ir_insert_before(r->m, op, fresh);
    rules_cast(r, op, fresh);
    return true;
}

bool opt_rule_if_types(struct rules *r, ir_op op) {
    return branch_types(r, op);
}

bool opt_rule_case_types(struct rules *r, ir_op op) {
    return branch_types(r, op);
}

/* ---- dynamic forms --------------------------------------------------------------------------- */

static bool settled(const struct rules *r, ir_op op) {
    return rules_static(r, rules_in(r, op, 0)) && rules_static(r, ir_result(r->m, op, 0));
}

bool opt_rule_static_reshape(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    size_t a, b;
    if (!settled(r, op) || !rules_constant(r, rules_in(r, op, 1)) || !ir_type_count(rules_shape(r, x), &a) ||
        !ir_type_count(rules_shape(r, ir_result(r->m, op, 0)), &b) || a != b)
        return false;
    rules_become_op(r, op, IR_RESHAPE, &x, 1);
    return true;
}

bool opt_rule_static_broadcast(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    ir_attr dims = ir_prop(r->m, op, IR_DYNAMIC_BROADCAST_IN_DIM_broadcast_dimensions);
    if (!settled(r, op) || !rules_constant(r, rules_in(r, op, 1)))
        return false;
    ir_set_prop(r->m, rules_become_op(r, op, IR_BROADCAST_IN_DIM, &x, 1), IR_BROADCAST_IN_DIM_broadcast_dimensions, dims);
    return true;
}

bool opt_rule_static_iota(struct rules *r, ir_op op) {
    ir_attr dim = ir_prop(r->m, op, IR_DYNAMIC_IOTA_iota_dimension);
    if (!settled(r, op) || !rules_constant(r, rules_in(r, op, 0)))
        return false;
    ir_set_prop(r->m, rules_become_op(r, op, IR_IOTA, NULL, 0), IR_IOTA_iota_dimension, dim);
    return true;
}

/* slots[i]: of `from`, of `to`. */
static void copy_props(struct rules *r, ir_op from, ir_op to, const enum ir_slot (*slots)[2], size_t n) {
    for (size_t i = 0; i < n; i++)
        ir_set_prop(r->m, to, slots[i][1], ir_prop(r->m, from, slots[i][0]));
}

bool opt_rule_static_pad(struct rules *r, ir_op op) {
    static const enum ir_slot slots[] = {IR_PAD_edge_padding_low, IR_PAD_edge_padding_high, IR_PAD_interior_padding};
    uint32_t rank = rules_shape(r, rules_in(r, op, 0))->rank;
    int64_t v[3][IR_MAX_RANK];
    if (!settled(r, op))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!rules_integers(r, rules_in(r, op, 2 + i), v[i], rank))
            return false;
    ir_op fresh = rules_become_op(r, op, IR_PAD, ir_op_get(r->m, op)->operands, 2);
    for (uint32_t i = 0; i < 3; i++)
        ir_set_prop(r->m, fresh, slots[i], ir_attr_i64s(r->m, v[i], rank));
    return true;
}

/* Where the slice is inside, and has the sizes of the type. */
bool opt_rule_static_slice(struct rules *r, ir_op op) {
    static const enum ir_slot slots[] = {IR_SLICE_start_indices, IR_SLICE_limit_indices, IR_SLICE_strides};
    ir_val x = rules_in(r, op, 0);
    const struct ir_type_data *in = rules_shape(r, x), *out = rules_shape(r, ir_result(r->m, op, 0));
    int64_t v[3][IR_MAX_RANK];
    if (!settled(r, op))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!rules_integers(r, rules_in(r, op, 1 + i), v[i], in->rank))
            return false;
    for (uint32_t i = 0; i < in->rank; i++) {
        int64_t start = v[0][i], limit = v[1][i], stride = v[2][i];
        if (start < 0 || limit < start || limit > in->dims[i] || stride <= 0 ||
            out->dims[i] != (limit - start) / stride + ((limit - start) % stride != 0))
            return false;
    }
    ir_op fresh = rules_become_op(r, op, IR_SLICE, &x, 1);
    for (uint32_t i = 0; i < 3; i++)
        ir_set_prop(r->m, fresh, slots[i], ir_attr_i64s(r->m, v[i], in->rank));
    return true;
}

bool opt_rule_static_gather(struct rules *r, ir_op op) {
    static const enum ir_slot slots[][2] = {{IR_DYNAMIC_GATHER_dimension_numbers, IR_GATHER_dimension_numbers},
                                            {IR_DYNAMIC_GATHER_indices_are_sorted, IR_GATHER_indices_are_sorted}};
    uint32_t rank = rules_shape(r, rules_in(r, op, 0))->rank;
    int64_t sizes[IR_MAX_RANK];
    if (!settled(r, op) || !rules_static(r, rules_in(r, op, 1)) || !rules_integers(r, rules_in(r, op, 2), sizes, rank))
        return false;
    ir_op fresh = rules_become_op(r, op, IR_GATHER, ir_op_get(r->m, op)->operands, 2);
    copy_props(r, op, fresh, slots, 2);
    ir_set_prop(r->m, fresh, IR_GATHER_slice_sizes, ir_attr_i64s(r->m, sizes, rank));
    return true;
}

bool opt_rule_static_conv(struct rules *r, ir_op op) {
    static const enum ir_slot slots[][2] = {
        {IR_DYNAMIC_CONV_window_strides, IR_CONVOLUTION_window_strides},
        {IR_DYNAMIC_CONV_lhs_dilation, IR_CONVOLUTION_lhs_dilation},
        {IR_DYNAMIC_CONV_rhs_dilation, IR_CONVOLUTION_rhs_dilation},
        {IR_DYNAMIC_CONV_window_reversal, IR_CONVOLUTION_window_reversal},
        {IR_DYNAMIC_CONV_dimension_numbers, IR_CONVOLUTION_dimension_numbers},
        {IR_DYNAMIC_CONV_feature_group_count, IR_CONVOLUTION_feature_group_count},
        {IR_DYNAMIC_CONV_batch_group_count, IR_CONVOLUTION_batch_group_count},
        {IR_DYNAMIC_CONV_precision_config, IR_CONVOLUTION_precision_config},
    };
    const struct ir_type_data *t = rules_shape(r, rules_in(r, op, 0)), *pads = rules_shape(r, rules_in(r, op, 2));
    int64_t v[2 * IR_MAX_RANK];
    if (!settled(r, op) || !rules_static(r, rules_in(r, op, 1)) || t->rank < 2 || !ir_type_is_static(pads) || pads->rank != 2 ||
        !rules_integers(r, rules_in(r, op, 2), v, 2 * (t->rank - 2)))
        return false;
    ir_op fresh = rules_become_op(r, op, IR_CONVOLUTION, ir_op_get(r->m, op)->operands, 2);
    copy_props(r, op, fresh, slots, sizeof slots / sizeof *slots);
    ir_set_prop(r->m, fresh, IR_CONVOLUTION_padding, ir_attr_dense_i64s(r->m, v, pads->dims, 2));
    return true;
}

bool opt_rule_known_size(struct rules *r, ir_op op) {
    const struct ir_type_data *t = rules_shape(r, rules_in(r, op, 0));
    int64_t dim = ir_prop_i64(r->m, op, IR_GET_DIMENSION_SIZE_dimension);
    if (t->kind != IR_TYPE_TENSOR || t->dims[dim] == IR_DYNAMIC || t->dims[dim] > INT32_MAX)
        return false;
    int32_t size = (int32_t)t->dims[dim];
    return rules_become_splat(r, op, &size);
}
