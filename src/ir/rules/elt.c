/* Rules of elementwise ops and of constants. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- one type throughout --------------------------------------------------------------------- */

hilo_status shape_same_type(struct shape *s) {
    uint32_t nin = s->o->noperands, n = nin + (s->verifying ? s->nout : 0);
    for (uint32_t i = 1; i < n; i++) {
        ir_type first = shape_in_type(s, 0);
        ir_type t = i < nin ? shape_in_type(s, i) : shape_res_type(s, i - nin);
        if (!shape_types_compatible(s->m, first, t))
            return shape_fail(s, "_c1", "operands and results must have compatible types, but "
                              "have %s and %s", shape_type_text(s, first), shape_type_text(s, t));
    }
    ir_type *types = ARENA_ARRAY(&s->m->arena, ir_type, nin);
    for (uint32_t i = 0; i < nin; i++)
        types[i] = shape_in_type(s, i);
    return shape_meet_types(s, "_c1", types, nin, &s->out[0]);
}

hilo_status shape_reduce_precision(struct shape *s) {
    return shape_same_type(s);
}

/* ---- one shape, other elements --------------------------------------------------------------- */

/* The result is operand 0 with these elements. */
static hilo_status elt_result(struct shape *s, ir_type elem) {
    HILO_TRY(shape_same_shape(s, "_c1"));
    s->out[0] = shape_with_elem(s, shape_in_type(s, 0), elem);
    return HILO_OK;
}

hilo_status shape_abs(struct shape *s) {
    s->out_label = "abs_c2";
    return elt_result(s, shape_real_of(s, shape_in(s, 0)->elem));
}

hilo_status shape_real_imag(struct shape *s) {
    s->out_label = s->o->kind == IR_REAL ? "real_c2" : "imag_c2";
    return elt_result(s, shape_real_of(s, shape_in(s, 0)->elem));
}

hilo_status shape_is_finite(struct shape *s) {
    return elt_result(s, ir_type_scalar(s->m, IR_I1_T));
}

/* The element type to convert to is given by the result alone. */
hilo_status shape_convert(struct shape *s) {
    return elt_result(s, shape_res(s, 0)->elem);
}

/* The element type of a tensor that is not quantised, the expressed type of one that is. */
static ir_type expressed(struct shape *s, const struct ir_type_data *t) {
    return t->quant ? ir_type_scalar(s->m, t->quant->expressed) : t->elem;
}

hilo_status shape_uniform_quantize(struct shape *s) {
    ir_type want = expressed(s, shape_in(s, 0)), have = expressed(s, shape_res(s, 0));
    if (s->verifying && !IR_SAME(want, have))
        return shape_fail(s, "uniform_quantize_c2", "the result must express %s, but expresses %s",
                          shape_type_text(s, want), shape_type_text(s, have));
    return elt_result(s, shape_res(s, 0)->elem);
}

hilo_status shape_uniform_dequantize(struct shape *s) {
    s->out_label = "uniform_dequantize_c2";
    return elt_result(s, expressed(s, shape_in(s, 0)));
}

/* ---- two operands ---------------------------------------------------------------------------- */

/* The meet of the shapes of operands 0 and 1, with these elements. */
static hilo_status elt_meet(struct shape *s, const char *label, ir_type elem) {
    ir_type types[2] = {shape_in_type(s, 0), shape_in_type(s, 1)};
    HILO_TRY(shape_meet_types(s, label, types, 2, &s->out[0]));
    s->out[0] = shape_with_elem(s, s->out[0], elem);
    return HILO_OK;
}

/* Constraints of a quantised sum. `side` is an operand, which the result must be quantised like. */
static hilo_status add_side(struct shape *s, const struct ir_type_data *side, const char *name,
                            const char *axis_label) {
    const struct ir_quant *q = side->quant, *r = shape_res(s, 0)->quant;
    if (!q || !r)
        return shape_fail(s, "add_c2", "operands and result must all be quantized, or none");
    if (q->storage != r->storage)
        return shape_fail(s, "add_c3", "operands and result must have one storage type, but have "
                          "%s and %s", ir_dtype_get(q->storage)->name,
                          ir_dtype_get(r->storage)->name);
    if (q->expressed != r->expressed)
        return shape_fail(s, "add_c4", "operands and result must have one expressed type, but have "
                          "%s and %s", ir_dtype_get(q->expressed)->name,
                          ir_dtype_get(r->expressed)->name);
    if (q->kind == IR_QUANT_AXIS && r->kind != IR_QUANT_AXIS)
        return shape_fail(s, "add_c5", "the result must be quantized per axis, as %s is", name);
    if (q->kind == IR_QUANT_AXIS && q->axes[0] != r->axes[0])
        return shape_fail(s, axis_label, "the result is quantized along dimension %" PRId64
                          ", but %s along %" PRId64, r->axes[0], name, q->axes[0]);
    return HILO_OK;
}

hilo_status shape_add(struct shape *s) {
    const struct ir_type_data *lhs = shape_in(s, 0), *rhs = shape_in(s, 1), *res = shape_res(s, 0);
    HILO_TRY(shape_same_shape(s, "add_c1"));
    if (s->verifying && (lhs->quant || rhs->quant || res->quant)) {
        HILO_TRY(add_side(s, lhs, "lhs", "add_c6"));
        HILO_TRY(add_side(s, rhs, "rhs", "add_c7"));
        if (shape_is_axis(res) && !shape_is_axis(lhs) && !shape_is_axis(rhs))
            return shape_fail(s, "add_c5", "the result is quantized per axis, but no operand is");
        return elt_meet(s, "add_c1", res->elem);
    }
    if (!lhs->quant &&
        (!shape_same_elem(lhs, rhs, false) || (s->verifying && !shape_same_elem(lhs, res, false))))
        return shape_fail(s, "add_c1", "operands and result must have one element type, but have "
                          "%s, %s and %s", shape_type_text(s, lhs->elem),
                          shape_type_text(s, rhs->elem), shape_type_text(s, res->elem));
    s->out_label = "add_c1";
    return elt_meet(s, "add_c1", lhs->elem);
}

hilo_status shape_complex(struct shape *s) {
    const struct ir_type_data *lhs = shape_in(s, 0);
    if (!shape_same_elem(lhs, shape_in(s, 1), false))
        return shape_fail(s, "complex_c1", "operands must have one element type, but have %s and "
                          "%s", shape_type_text(s, lhs->elem),
                          shape_type_text(s, shape_in(s, 1)->elem));
    HILO_TRY(shape_same_shape(s, "complex_c2"));
    s->out_label = "complex_c3";
    enum ir_dtype t = lhs->dtype == IR_F32_T ? IR_C64_T : IR_C128_T;
    return elt_meet(s, "complex_c2", ir_type_scalar(s->m, t));
}

/* The element type decides how elements are compared; what compare_c3 demands of `compare_type` beyond that is not enforced,
   because programs in the wild, StableHLO's own compatibility artifacts among them, say SIGNED of floats. Only an order
   that the elements do not have is refused. */
static bool compares_as(const struct ir_type_data *t, int64_t how) {
    return t->quant || how != IR_COMPARISON_TYPE_TOTALORDER || shape_class(t) == IR_FLOAT;
}

hilo_status shape_compare(struct shape *s) {
    const struct ir_type_data *lhs = shape_in(s, 0), *rhs = shape_in(s, 1);
    if (!shape_elems_compatible(s->m, lhs->elem, rhs->elem))
        return shape_fail(s, "compare_c1", "operands must have compatible element types, but have "
                          "%s and %s", shape_type_text(s, lhs->elem),
                          shape_type_text(s, rhs->elem));
    HILO_TRY(shape_same_shape(s, "compare_c2"));
    int64_t how = ir_prop_i64(s->m, s->op, IR_COMPARE_compare_type);
    if (!compares_as(lhs, how))
        return shape_fail(s, "compare_c3", "elements of type %s cannot be compared as %s",
                          shape_type_text(s, lhs->elem),
                          ir_enum_case_name(IR_ENUM_COMPARISON_TYPE, how));
    return elt_meet(s, "compare_c2", ir_type_scalar(s->m, IR_I1_T));
}

/* ---- operands that may be scalars ------------------------------------------------------------ */

hilo_status shape_clamp(struct shape *s) {
    static const char *const names[] = {"min", "operand", "max"};
    const struct ir_type_data *operand = shape_in(s, 1);
    for (uint32_t i = 0; i < 3; i += 2) {
        const struct ir_type_data *t = shape_in(s, i);
        if (t->rank != 0 && !shape_compatible(t, operand))
            return shape_fail(s, i == 0 ? "clamp_c1" : "clamp_c2", "%s must be a scalar or have "
                              "the shape %s of the operand, but has %s", names[i],
                              shape_list_text(s, operand->dims, operand->rank),
                              shape_list_text(s, t->dims, t->rank));
        if (!shape_elems_compatible(s->m, t->elem, operand->elem))
            return shape_fail(s, "clamp_c3", "%s and operand must have compatible element types, "
                              "but have %s and %s", names[i], shape_type_text(s, t->elem),
                              shape_type_text(s, operand->elem));
    }
    s->out_label = "clamp_c4";
    s->out[0] = shape_in_type(s, 1);
    return HILO_OK;
}

hilo_status shape_select(struct shape *s) {
    const struct ir_type_data *pred = shape_in(s, 0), *yes = shape_in(s, 1), *no = shape_in(s, 2);
    if (!shape_elems_compatible(s->m, yes->elem, no->elem) || !shape_compatible(yes, no))
        return shape_fail(s, "select_c2", "both branches must have compatible types, but have %s "
                          "and %s", shape_type_text(s, shape_in_type(s, 1)),
                          shape_type_text(s, shape_in_type(s, 2)));
    if (pred->rank != 0 && !shape_compatible(pred, yes))
        return shape_fail(s, "select_c1", "the predicate must be a scalar or have the shape %s of "
                          "the branches, but has %s", shape_list_text(s, yes->dims, yes->rank),
                          shape_list_text(s, pred->dims, pred->rank));
    s->out_label = "select_c2";
    ir_type branches[2] = {shape_in_type(s, 1), shape_in_type(s, 2)};
    return shape_meet_types(s, "select_c2", branches, 2, &s->out[0]);
}

/* ---- reinterpretation ------------------------------------------------------------------------ */

static hilo_status bitcast_fail(struct shape *s, const char *label, const char *why) {
    return shape_fail(s, label, "cannot convert %s to %s: %s",
                      shape_type_text(s, shape_in_type(s, 0)),
                      shape_type_text(s, shape_res_type(s, 0)), why);
}

/* The narrower type has one more dimension, whose elements make up one of the wider type. */
hilo_status shape_bitcast_convert(struct shape *s) {
    if (!s->verifying)
        return HILO_OK;
    const struct ir_type_data *narrow = shape_in(s, 0), *wide = shape_res(s, 0);
    if ((shape_class(narrow) == IR_COMPLEX_CLASS) != (shape_class(wide) == IR_COMPLEX_CLASS))
        return bitcast_fail(s, "bitcast_convert_c2", "one is complex, the other is real");
    if (shape_bits(wide) < shape_bits(narrow)) {
        narrow = shape_res(s, 0);
        wide = shape_in(s, 0);
    }
    bool split = shape_bits(narrow) < shape_bits(wide);
    if (narrow->rank != wide->rank + split)
        return bitcast_fail(s, "bitcast_convert_c1", split
                            ? "the narrower elements do not come in one more dimension"
                            : "elements of one width have different ranks");
    int64_t bits;
    if (split && shape_known(narrow->dims[wide->rank]) &&
        (__builtin_mul_overflow(narrow->dims[wide->rank], shape_bits(narrow), &bits) ||
         bits != shape_bits(wide)))
        return bitcast_fail(s, "bitcast_convert_c1",
                            "the innermost dimension does not make up one of the wider elements");
    if (!shape_lists_agree(narrow->dims, wide->rank, wide->dims, wide->rank))
        return bitcast_fail(s, "bitcast_convert_c1", "the leading dimensions differ");
    return HILO_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* A quantised constant is written with elements of its storage type; an unsigned one may be written
   without the sign, too. */
static bool stores(struct shape *s, const struct ir_type_data *written,
                   const struct ir_type_data *declared) {
    if (!declared->quant || written->quant || !shape_ranked(written) || !shape_ranked(declared) ||
        written->rank != declared->rank)
        return false;
    enum ir_dtype storage = declared->quant->storage;
    ir_type scalar = ir_type_scalar(s->m, storage);
    bool signless = shape_class(written) == IR_SINT && shape_class(declared) == IR_UINT;
    if (!IR_SAME(written->elem, scalar) &&
        !(signless && shape_bits(written) == ir_dtype_get(storage)->bits))
        return false;
    return written->rank == 0 ||
           memcmp(written->dims, declared->dims, written->rank * sizeof *written->dims) == 0;
}

hilo_status shape_constant(struct shape *s) {
    uint32_t slot = ir_slot_named((enum ir_op_kind)s->o->kind, STR("value"));
    const struct ir_attr_data *value = ir_attr_get(s->m, ir_prop(s->m, s->op, (enum ir_slot)slot));
    if (IR_NONE(value->type))
        return shape_fail(s, NULL, "attribute 'value' must have a type");
    s->out_label = s->o->kind == IR_CONSTANT ? "constant_c1" : NULL;
    s->out[0] = value->type;
    if (!IR_SAME(value->type, shape_res_type(s, 0)) &&
        stores(s, ir_type_get(s->m, value->type), shape_res(s, 0)))
        s->out[0] = shape_res_type(s, 0);
    return HILO_OK;
}

hilo_status shape_iota(struct shape *s) {
    int64_t dim = ir_prop_i64(s->m, s->op, IR_IOTA_iota_dimension);
    if (s->verifying && dim >= shape_res(s, 0)->rank)
        return shape_fail(s, "iota_c1", "iota_dimension %" PRId64 " is not a dimension of %s", dim,
                          shape_type_text(s, shape_res_type(s, 0)));
    return HILO_OK;
}

/* ---- checks of tests ------------------------------------------------------------------------- */

hilo_status shape_check_pair(struct shape *s) {
    if (IR_SAME(shape_in_type(s, 0), shape_in_type(s, 1)))
        return HILO_OK;
    return shape_fail(s, NULL, "operands must have one type, but have %s and %s",
                      shape_type_text(s, shape_in_type(s, 0)),
                      shape_type_text(s, shape_in_type(s, 1)));
}

hilo_status shape_check_const(struct shape *s) {
    uint32_t slot = ir_slot_named((enum ir_op_kind)s->o->kind, STR("value"));
    ir_type value = ir_attr_get(s->m, ir_prop(s->m, s->op, (enum ir_slot)slot))->type;
    if (IR_SAME(value, shape_in_type(s, 0)))
        return HILO_OK;
    return shape_fail(s, NULL, "operand and value must have one type, but have %s and %s",
                      shape_type_text(s, shape_in_type(s, 0)), shape_type_text(s, value));
}
