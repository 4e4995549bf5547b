/* Rules of CHLO ops that broadcast their operands, and of constant_like. */
#include "ir/rules/shape.h"

/* ---- broadcasts ------------------------------------------------------------------------------ */

/* The size of two dimensions of which one is repeated to fit the other if it is 1. */
static bool chlo_dim(struct shape_dim a, struct shape_dim b, struct shape_dim *out) {
    if (a.size == 1 || (!shape_known(a.size) && shape_known(b.size) && b.size != 1)) {
        *out = b;
        return true;
    }
    if (b.size == 1 || (shape_known(a.size) && !shape_known(b.size))) {
        *out = a;
        return true;
    }
    return shape_join(a, b, out); /* equal, or both unknown */
}

/* The shape that operands 0 … n - 1 broadcast to, as in numpy: aligned at the last dimension. */
static hilo_status chlo_all(struct shape *s, uint32_t n, ir_type elem) {
    struct shape_dim dims[IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n; i++)
        if (shape_in(s, i)->rank > rank)
            rank = shape_in(s, i)->rank;
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (struct shape_dim){1, IR_DYNAMIC};
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_data *t = shape_in(s, i);
        for (uint32_t d = 0; d < t->rank; d++) {
            struct shape_dim *to = &dims[rank - t->rank + d];
            if (!chlo_dim(*to, shape_dim_of(t, d), to))
                return shape_fail(s, NULL, "operand %u of type %s cannot be broadcast with those "
                                  "before it: its dimension %u has size %s, not %s", i,
                                  shape_type_text(s, shape_in_type(s, i)), d,
                                  shape_dim_text(s, t->dims[d]), shape_dim_text(s, to->size));
        }
    }
    s->out[0] = shape_tensor(s, elem, dims, rank);
    return HILO_OK;
}

/* Dimension i of the operand of smaller rank goes to dimension to[i] of the other. */
static hilo_status chlo_along(struct shape *s, const int64_t *to, size_t n, ir_type elem) {
    const struct ir_type_data *small = shape_in(s, 0), *large = shape_in(s, 1);
    struct shape_dim dims[IR_MAX_RANK];
    if (small->rank > large->rank) {
        large = shape_in(s, 0);
        small = shape_in(s, 1);
    }
    HILO_TRY(shape_size(s, NULL, "broadcast_dimensions", n, small->rank));
    HILO_TRY(shape_in_range(s, NULL, "broadcast_dimensions", to, n, large->rank));
    HILO_TRY(shape_unique(s, NULL, "broadcast_dimensions", to, n));
    for (uint32_t d = 0; d < large->rank; d++)
        dims[d] = shape_dim_of(large, d);
    for (uint32_t i = 0; i < small->rank; i++)
        if (!chlo_dim(dims[to[i]], shape_dim_of(small, i), &dims[to[i]]))
            return shape_fail(s, NULL, "dimension %u of size %s cannot be broadcast to one of size "
                              "%s", i, shape_dim_text(s, small->dims[i]),
                              shape_dim_text(s, dims[to[i]].size));
    s->out[0] = shape_tensor(s, elem, dims, large->rank);
    return HILO_OK;
}

/* True, with an unranked result, when one of operands 0 … n - 1 is unranked. */
static bool chlo_unranked(struct shape *s, uint32_t n, ir_type elem) {
    bool ranked = true;
    for (uint32_t i = 0; i < n; i++)
        ranked = ranked && shape_ranked(shape_in(s, i));
    if (!ranked)
        s->out[0] = ir_type_shaped(s->m, IR_TYPE_UNRANKED, elem, NULL, 0, (ir_attr){0});
    return !ranked;
}

hilo_status shape_chlo_broadcast(struct shape *s) {
    const struct ir_type_data *lhs = shape_in(s, 0), *rhs = shape_in(s, 1);
    enum ir_op_kind kind = (enum ir_op_kind)s->o->kind;
    ir_type elem = lhs->elem;
    if (!shape_elems_compatible(s->m, lhs->elem, rhs->elem))
        return shape_fail(s, NULL, "operands must have compatible element types, but have %s and "
                          "%s", shape_type_text(s, lhs->elem), shape_type_text(s, rhs->elem));
    if (kind == IR_BROADCAST_COMPARE)
        elem = ir_type_scalar(s->m, IR_I1_T);
    if (kind == IR_BROADCAST_COMPLEX) {
        if (lhs->dtype != IR_F32_T && lhs->dtype != IR_F64_T)
            return shape_fail(s, NULL, "complex numbers are made of f32 or f64, not of %s",
                              shape_type_text(s, elem));
        elem = ir_type_scalar(s->m, lhs->dtype == IR_F32_T ? IR_C64_T : IR_C128_T);
    }
    if (chlo_unranked(s, 2, elem))
        return HILO_OK;
    enum ir_slot slot = (enum ir_slot)ir_slot_named(kind, STR("broadcast_dimensions"));
    size_t n;
    const int64_t *to = ir_prop_i64s(s->m, s->op, slot, &n);
    if (IR_NONE(ir_prop(s->m, s->op, slot)))
        return chlo_all(s, 2, elem);
    return chlo_along(s, to, n, elem);
}

hilo_status shape_chlo_broadcast_select(struct shape *s) {
    const struct ir_type_data *yes = shape_in(s, 1), *no = shape_in(s, 2);
    if (!shape_same_elem(yes, no, false))
        return shape_fail(s, NULL, "both branches must have one element type, but have %s and %s",
                          shape_type_text(s, yes->elem), shape_type_text(s, no->elem));
    if (chlo_unranked(s, 3, yes->elem))
        return HILO_OK;
    return chlo_all(s, 3, yes->elem);
}

/* ---- constant_like --------------------------------------------------------------------------- */

hilo_status shape_constant_like(struct shape *s) {
    const struct ir_attr_data *value =
        ir_attr_get(s->m, ir_prop(s->m, s->op, IR_CONSTANT_LIKE_value));
    ir_type elem = value->kind == IR_ATTR_BOOL ? ir_type_scalar(s->m, IR_I1_T) : value->type;
    if (IR_NONE(elem) || ir_type_get(s->m, elem)->kind != IR_TYPE_SCALAR)
        return shape_fail(s, NULL, "attribute 'value' must be a number");
    HILO_TRY(shape_result_elem(s, NULL, 0, elem));
    s->out[0] = shape_with_elem(s, shape_in_type(s, 0), elem);
    return HILO_OK;
}
