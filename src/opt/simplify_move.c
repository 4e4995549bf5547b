/* Rules of simplify about ops that move data: see rules.def. Sizes that are not known are only compared by type. */
#include "opt/rules.h"

static const int64_t *list(const struct rules *r, ir_op op, enum ir_slot slot, size_t *n) {
    return ir_prop_i64s(r->m, op, slot, n);
}

static void set_list(struct rules *r, ir_op op, enum ir_slot slot, const int64_t *v, uint32_t n) {
    ir_set_prop(r->m, op, slot, ir_attr_i64s(r->m, v, n));
}

/* v[i] = i for all i. */
static bool ascending(const int64_t *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i] != (int64_t)i)
            return false;
    return true;
}

bool opt_rule_move_splat(struct rules *r, ir_op op) {
    if (!ir_op_has(ir_kind(r->m, op), IR_T_SELECTION))
        return false;
    const struct ir_attr_data *a = rules_constant(r, rules_in(r, op, 0));
    return a && a->splat && rules_become_splat(r, op, a->data);
}

/* ---- reshape, transpose, broadcast ----------------------------------------------------------- */

bool opt_rule_reshape_same(struct rules *r, ir_op op) {
    return rules_static(r, rules_in(r, op, 0)) && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_reshape_reshape(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_RESHAPE);
    if (IR_NONE(inner))
        return false;
    ir_set_operand(r->m, op, 0, rules_in(r, inner, 0));
    return true;
}

bool opt_rule_transpose_same(struct rules *r, ir_op op) {
    size_t n;
    const int64_t *p = list(r, op, IR_TRANSPOSE_permutation, &n);
    return ascending(p, n) && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_transpose_transpose(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_TRANSPOSE);
    if (IR_NONE(inner))
        return false;
    size_t n, ninner;
    const int64_t *p = list(r, op, IR_TRANSPOSE_permutation, &n), *q = list(r, inner, IR_TRANSPOSE_permutation, &ninner);
    int64_t both[IR_MAX_RANK];
    for (size_t i = 0; i < n; i++)
        both[i] = q[p[i]];
    ir_set_operand(r->m, op, 0, rules_in(r, inner, 0));
    set_list(r, op, IR_TRANSPOSE_permutation, both, (uint32_t)n);
    return true;
}

bool opt_rule_broadcast_same(struct rules *r, ir_op op) {
    size_t n;
    const int64_t *dims = list(r, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    return ascending(dims, n) && rules_static(r, rules_in(r, op, 0)) && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_broadcast_broadcast(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_BROADCAST_IN_DIM);
    if (IR_NONE(inner) || !rules_static(r, rules_in(r, op, 0)) || !rules_static(r, rules_in(r, inner, 0)))
        return false;
    size_t n, ninner;
    const int64_t *outer = list(r, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    const int64_t *dims = list(r, inner, IR_BROADCAST_IN_DIM_broadcast_dimensions, &ninner);
    int64_t both[IR_MAX_RANK];
    for (size_t i = 0; i < ninner; i++)
        both[i] = outer[dims[i]];
    ir_set_operand(r->m, op, 0, rules_in(r, inner, 0));
    set_list(r, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, both, (uint32_t)ninner);
    return true;
}

/* Dimensions of size 1 that reshape adds need not be broadcast. */
bool opt_rule_broadcast_reshape(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_RESHAPE);
    if (IR_NONE(inner) || !rules_static(r, rules_in(r, op, 0)) || !rules_static(r, rules_in(r, inner, 0)))
        return false;
    size_t n;
    ir_val x = rules_in(r, inner, 0);
    const struct ir_type_data *in = rules_shape(r, x), *out = rules_shape(r, rules_in(r, op, 0));
    const int64_t *dims = list(r, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    int64_t kept[IR_MAX_RANK];
    uint32_t k = 0;
    if (in->rank >= out->rank)
        return false;
    for (uint32_t i = 0; i < out->rank; i++) {
        if (k < in->rank && in->dims[k] == out->dims[i])
            kept[k++] = dims[i];
        else if (out->dims[i] != 1)
            return false;
    }
    if (k < in->rank)
        return false;
    ir_set_operand(r->m, op, 0, x);
    set_list(r, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, kept, k);
    return true;
}

bool opt_rule_reshape_broadcast(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_BROADCAST_IN_DIM);
    size_t n;
    if (IR_NONE(inner) || !ir_type_count(rules_shape(r, rules_in(r, inner, 0)), &n) || n != 1 ||
        !rules_static(r, ir_result(r->m, op, 0)))
        return false;
    ir_val x = rules_in(r, inner, 0);
    ir_type scalar = ir_type_with_dims(r->m, rules_type(r, x), NULL, 0);
    if (!IR_SAME(scalar, rules_type(r, x)))
        x = ir_result(r->m, rules_make(r, op, IR_RESHAPE, &x, 1, scalar), 0);
    set_list(r, rules_become_op(r, op, IR_BROADCAST_IN_DIM, &x, 1), IR_BROADCAST_IN_DIM_broadcast_dimensions, NULL, 0);
    return true;
}

bool opt_rule_transpose_broadcast(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_BROADCAST_IN_DIM);
    if (IR_NONE(inner) || !rules_static(r, rules_in(r, op, 0)))
        return false;
    size_t n, rank;
    ir_val x = rules_in(r, inner, 0);
    const int64_t *dims = list(r, inner, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    const int64_t *p = list(r, op, IR_TRANSPOSE_permutation, &rank);
    int64_t place[IR_MAX_RANK], moved[IR_MAX_RANK];
    for (size_t i = 0; i < rank; i++)
        place[p[i]] = (int64_t)i;
    for (size_t i = 0; i < n; i++)
        moved[i] = place[dims[i]];
    ir_op fresh = rules_become_op(r, op, IR_BROADCAST_IN_DIM, &x, 1);
    set_list(r, fresh, IR_BROADCAST_IN_DIM_broadcast_dimensions, moved, (uint32_t)n);
    return true;
}

/* ---- slices ---------------------------------------------------------------------------------- */

struct slice {
    size_t n;
    const int64_t *start, *limit, *stride;
};

static struct slice slice_of(const struct rules *r, ir_op op) {
    struct slice s;
    s.start = list(r, op, IR_SLICE_start_indices, &s.n);
    s.limit = list(r, op, IR_SLICE_limit_indices, &s.n);
    s.stride = list(r, op, IR_SLICE_strides, &s.n);
    return s;
}

static void set_slice(struct rules *r, ir_op op, const struct slice *s) {
    set_list(r, op, IR_SLICE_start_indices, s->start, (uint32_t)s->n);
    set_list(r, op, IR_SLICE_limit_indices, s->limit, (uint32_t)s->n);
    set_list(r, op, IR_SLICE_strides, s->stride, (uint32_t)s->n);
}

/* A result of the operand's sizes takes everything: the stride is 1 where there is more than one element. */
bool opt_rule_slice_whole(struct rules *r, ir_op op) {
    return rules_static(r, rules_in(r, op, 0)) && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_slice_slice(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_SLICE);
    if (IR_NONE(inner) || !rules_static(r, rules_in(r, inner, 0)) || !rules_static(r, ir_result(r->m, op, 0)))
        return false;
    struct slice a = slice_of(r, inner), b = slice_of(r, op);
    const int64_t *count = rules_shape(r, ir_result(r->m, op, 0))->dims;
    int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK];
    for (size_t i = 0; i < b.n; i++) {
        if (count[i] == 0) /* of nothing, from the beginning */
            start[i] = 0;
        else
            start[i] = a.start[i] + b.start[i] * a.stride[i];
        stride[i] = count[i] > 1 ? a.stride[i] * b.stride[i] : 1;
        limit[i] = count[i] ? start[i] + (count[i] - 1) * stride[i] + 1 : 0;
    }
    ir_set_operand(r->m, op, 0, rules_in(r, inner, 0));
    set_slice(r, op, &(struct slice){b.n, start, limit, stride});
    return true;
}

/* Of dimensions that are broadcast any elements are the same; of the others the operand's are taken. */
bool opt_rule_slice_broadcast(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_BROADCAST_IN_DIM);
    if (IR_NONE(inner) || !rules_static(r, rules_in(r, inner, 0)) || !rules_static(r, ir_result(r->m, op, 0)))
        return false;
    size_t n;
    struct slice s = slice_of(r, op);
    ir_val x = rules_in(r, inner, 0);
    const struct ir_type_data *t = rules_shape(r, x), *out = rules_shape(r, ir_result(r->m, op, 0));
    const int64_t *dims = list(r, inner, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK], sizes[IR_MAX_RANK];
    for (size_t i = 0; i < n; i++) {
        bool whole = t->dims[i] == 1;
        start[i] = whole ? 0 : s.start[dims[i]];
        limit[i] = whole ? 1 : s.limit[dims[i]];
        stride[i] = whole ? 1 : s.stride[dims[i]];
        sizes[i] = whole ? 1 : out->dims[dims[i]];
    }
    ir_attr map = ir_prop(r->m, inner, IR_BROADCAST_IN_DIM_broadcast_dimensions);
    ir_type part = ir_type_with_dims(r->m, rules_type(r, x), sizes, (uint32_t)n);
    if (!IR_SAME(part, rules_type(r, x))) {
        ir_op slice = rules_make(r, op, IR_SLICE, &x, 1, part);
        set_slice(r, slice, &(struct slice){n, start, limit, stride});
        x = ir_result(r->m, slice, 0);
    }
    ir_set_prop(r->m, rules_become_op(r, op, IR_BROADCAST_IN_DIM, &x, 1), IR_BROADCAST_IN_DIM_broadcast_dimensions, map);
    return true;
}

bool opt_rule_slice_concatenate(struct rules *r, ir_op op) {
    ir_op whole = rules_def(r, rules_in(r, op, 0), IR_CONCATENATE);
    if (IR_NONE(whole) || !rules_static(r, rules_in(r, op, 0)))
        return false;
    struct slice s = slice_of(r, op);
    size_t dim = (size_t)ir_prop_i64(r->m, whole, IR_CONCATENATE_dimension);
    int64_t from = 0, start[IR_MAX_RANK], limit[IR_MAX_RANK];
    for (uint32_t i = 0; i < ir_op_get(r->m, whole)->noperands; i++) {
        const struct ir_type_data *t = rules_shape(r, rules_in(r, whole, i));
        if (!ir_type_is_static(t))
            return false;
        if (s.start[dim] >= from && s.limit[dim] <= from + t->dims[dim]) {
            memcpy(start, s.start, s.n * sizeof *start);
            memcpy(limit, s.limit, s.n * sizeof *limit);
            start[dim] -= from;
            limit[dim] -= from;
            ir_set_operand(r->m, op, 0, rules_in(r, whole, i));
            set_slice(r, op, &(struct slice){s.n, start, limit, s.stride});
            return true;
        }
        from += t->dims[dim];
    }
    return false;
}

bool opt_rule_dynamic_slice_whole(struct rules *r, ir_op op) {
    return rules_static(r, rules_in(r, op, 0)) && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_dynamic_update_whole(struct rules *r, ir_op op) {
    return rules_static(r, rules_in(r, op, 0)) && rules_become(r, op, rules_in(r, op, 1));
}

/* Indices that would lead beyond the end are moved back. */
bool opt_rule_dynamic_slice_constant(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    size_t n;
    const int64_t *sizes = list(r, op, IR_DYNAMIC_SLICE_slice_sizes, &n);
    int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK];
    if (!rules_static(r, x))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        ir_val index = rules_in(r, op, 1 + i);
        int64_t most = rules_shape(r, x)->dims[i] - sizes[i];
        if (!rules_integer(r, index, &start[i]))
            return false;
        bool huge = start[i] < 0 && ir_dtype_get(rules_shape(r, index)->dtype)->cls == IR_UINT;
        start[i] = huge || start[i] > most ? most : start[i] < 0 ? 0 : start[i];
        limit[i] = start[i] + sizes[i];
        stride[i] = 1;
    }
    ir_op slice = rules_become_op(r, op, IR_SLICE, &x, 1);
    set_slice(r, slice, &(struct slice){n, start, limit, stride});
    return true;
}

/* ---- concatenate, pad, reverse, iota --------------------------------------------------------- */

bool opt_rule_concatenate_one(struct rules *r, ir_op op) {
    return ir_op_get(r->m, op)->noperands == 1 && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_concatenate_empty(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    size_t dim = (size_t)ir_prop_i64(r->m, op, IR_CONCATENATE_dimension);
    ir_val *kept = ARENA_ARRAY(&r->o->scratch, ir_val, x->noperands);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->noperands; i++) {
        if (!rules_static(r, x->operands[i]))
            return false;
        if (rules_shape(r, x->operands[i])->dims[dim] != 0)
            kept[n++] = x->operands[i];
    }
    if (n == x->noperands || n == 0)
        return false;
    ir_set_operands(r->m, op, kept, n);
    return true;
}

bool opt_rule_no_elements(struct rules *r, ir_op op) {
    static const char zeros[16];
    bool changed = false;
    for (uint32_t i = 0; i < ir_op_get(r->m, op)->noperands; i++) {
        ir_val v = rules_in(r, op, i);
        ir_op def = ir_val_get(r->m, v)->op;
        if (IR_NONE(def) || ir_kind(r->m, def) == IR_CONSTANT || !rules_static(r, v) || ir_val_count(r->m, v) != 0)
            continue;
        ir_set_operand(r->m, op, i, rules_make_splat(r, op, rules_type(r, v), zeros));
        changed = true;
    }
    return changed;
}

enum { NESTED_OPERANDS = 256 }; /* of an inner concatenation: so that a chain of n makes lists of O(n) operands, not O(n²) */

bool opt_rule_concatenate_nested(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    int64_t dim = ir_prop_i64(r->m, op, IR_CONCATENATE_dimension);
    struct { ir_val *v; uint32_t n, cap; } parts = {NULL, 0, 0};
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_op inner = rules_def(r, x->operands[i], IR_CONCATENATE);
        bool nested = !IR_NONE(inner) && ir_prop_i64(r->m, inner, IR_CONCATENATE_dimension) == dim &&
                      ir_op_get(r->m, inner)->noperands <= NESTED_OPERANDS;
        const struct ir_op_data *from = ir_op_get(r->m, nested ? inner : op);
        for (uint32_t k = nested ? 0 : i; k < (nested ? from->noperands : i + 1); k++)
            ARENA_PUSH(&r->o->scratch, &parts, from->operands[k]);
    }
    if (parts.n == x->noperands)
        return false;
    ir_set_operands(r->m, op, parts.v, parts.n);
    return true;
}

bool opt_rule_pad_nothing(struct rules *r, ir_op op) {
    return ir_prop_i64s_are(r->m, op, IR_PAD_edge_padding_low, 0) && ir_prop_i64s_are(r->m, op, IR_PAD_edge_padding_high, 0) &&
           ir_prop_i64s_are(r->m, op, IR_PAD_interior_padding, 0) && rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_reverse_reverse(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_REVERSE);
    return !IR_NONE(inner) &&
           IR_SAME(ir_prop(r->m, op, IR_REVERSE_dimensions), ir_prop(r->m, inner, IR_REVERSE_dimensions)) &&
           rules_become(r, op, rules_in(r, inner, 0));
}

bool opt_rule_reverse_ones(struct rules *r, ir_op op) {
    size_t n;
    const int64_t *dims = list(r, op, IR_REVERSE_dimensions, &n);
    const struct ir_type_data *t = rules_shape(r, rules_in(r, op, 0));
    for (size_t i = 0; i < n; i++)
        if (t->dims[dims[i]] != 1)
            return false;
    return rules_become(r, op, rules_in(r, op, 0));
}

bool opt_rule_iota_one(struct rules *r, ir_op op) {
    const struct ir_type_data *t = rules_shape(r, ir_result(r->m, op, 0));
    return ir_type_is_static(t) && t->dims[ir_prop_i64(r->m, op, IR_IOTA_iota_dimension)] == 1 && rules_become_zero(r, op);
}

/* ---- reduce ---------------------------------------------------------------------------------- */

bool opt_rule_reduce_ones(struct rules *r, ir_op op) {
    enum ir_op_kind kind = rules_reducer(r, op);
    ir_val x = rules_in(r, op, 0), result = ir_result(r->m, op, 0);
    size_t n;
    const int64_t *dims = list(r, op, IR_REDUCE_dimensions, &n);
    if (kind == IR_OP_NONE || !rules_static(r, x) || !rules_static(r, result) ||
        !IR_SAME(rules_shape(r, x)->elem, rules_shape(r, result)->elem))
        return false;
    for (size_t i = 0; i < n; i++)
        if (rules_shape(r, x)->dims[dims[i]] != 1)
            return false;
    ir_val init = rules_in(r, op, 1), in[2];
    if (!IR_SAME(rules_shape(r, init)->elem, rules_shape(r, result)->elem))
        return false;
    ir_op first = rules_make(r, op, IR_BROADCAST_IN_DIM, &init, 1, rules_type(r, result));
    set_list(r, first, IR_BROADCAST_IN_DIM_broadcast_dimensions, NULL, 0);
    in[0] = ir_result(r->m, first, 0);
    in[1] = ir_result(r->m, rules_make(r, op, IR_RESHAPE, &x, 1, rules_type(r, result)), 0);
    rules_become_op(r, op, kind, in, 2);
    return true;
}
