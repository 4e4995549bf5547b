/* What ops demand of their numbers. A part of the pass fused, so that the evaluator and kernels see the same:
 *
 * - dot_general with an algorithm is written out as conversions of the operands and dots without one, which accumulate in
 *   the type of their result or a wider one. An operand is rounded to the algorithm's type. Where a multiplication takes
 *   several products (x3, x6, x9), an operand is the sum of two or three parts of that type, which are multiplied and added
 *   as XLA's dot_algorithm_rewriter does.
 * - result_accuracy is granted, or refused where a tolerance is closer than what functions are computed to. */
#include "opt/numerics.h"

#include <math.h>

struct dot {
    struct rules *r;
    ir_op op;
    enum ir_dtype type[2], sum; /* of rounded operands, of the accumulation */
    int64_t products;
};

static bool is_float(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_FLOAT;
}

static bool is_f8(enum ir_dtype t) {
    return is_float(t) && ir_dtype_get(t)->bits == 8;
}

/* ---- building ------------------------------------------------------------------------------------- */

/* The type of v with other elements. */
static ir_type retyped(struct dot *d, ir_val v, enum ir_dtype t) {
    struct ir_module *m = d->r->m;
    const struct ir_type_data *x = ir_val_type(m, v);
    return ir_type_tensor(m, ir_type_scalar(m, t), x->dims, x->rank, x->encoding);
}

static ir_val make(struct dot *d, enum ir_op_kind kind, const ir_val *in, uint32_t n, ir_type t) {
    return ir_result(d->r->m, rules_make(d->r, d->op, kind, in, n, t), 0);
}

static ir_val convert(struct dot *d, ir_val v, enum ir_dtype t) {
    return ir_val_type(d->r->m, v)->dtype == t ? v : make(d, IR_CONVERT, &v, 1, retyped(d, v, t));
}

static ir_val binary(struct dot *d, enum ir_op_kind kind, ir_val a, ir_val b) {
    return make(d, kind, (ir_val[]){a, b}, 2, rules_type(d->r, a));
}

static ir_val bits_of(struct dot *d, ir_val v, enum ir_dtype t) {
    return make(d, IR_BITCAST_CONVERT, &v, 1, retyped(d, v, t));
}

/* All elements x, in the shape of v, whose elements are of type ui32. */
static ir_val splat_like(struct dot *d, ir_val v, uint32_t x) {
    ir_type t = rules_type(d->r, v);
    if (rules_static(d->r, v))
        return rules_make_splat(d->r, d->op, t, &x);
    ir_val c = rules_make_splat(d->r, d->op, ir_type_of(d->r->m, IR_UI32_T, NULL, 0), &x);
    return make(d, IR_CLAMP, (ir_val[]){c, v, c}, 3, t);
}

/* v in f32, rounded towards zero to what `mask` keeps of its bits. */
static ir_val truncated(struct dot *d, ir_val v, uint32_t mask) {
    ir_val bits = bits_of(d, v, IR_UI32_T);
    return bits_of(d, binary(d, IR_AND, bits, splat_like(d, bits, mask)), IR_F32_T);
}

/* 0 where v is not finite: what was added up so far counts only if the last product, of the highest parts, is finite. */
static ir_val finite_or_zero(struct dot *d, ir_val v) {
    ir_val finite = make(d, IR_IS_FINITE, &v, 1, retyped(d, v, IR_I1_T));
    ir_val zero = bits_of(d, splat_like(d, bits_of(d, v, IR_UI32_T), 0), IR_F32_T);
    return make(d, IR_SELECT, (ir_val[]){finite, v, zero}, 3, rules_type(d->r, v));
}

/* An operand, or a part of one, rounded to the algorithm's type; tf32 in f32, whose products a dot of f32 has exactly. */
static ir_val rounded(struct dot *d, ir_val v, enum ir_dtype t) {
    if (t != IR_TF32_T)
        return is_f8(t) && is_f8(ir_val_type(d->r->m, v)->dtype) ? v : convert(d, v, t);
    v = convert(d, v, IR_F32_T);
    ir_op op = rules_make(d->r, d->op, IR_REDUCE_PRECISION, &v, 1, rules_type(d->r, v));
    ir_type i32 = ir_type_scalar(d->r->m, IR_I32_T);
    ir_set_prop(d->r->m, op, IR_REDUCE_PRECISION_exponent_bits, ir_attr_int(d->r->m, i32, 8));
    ir_set_prop(d->r->m, op, IR_REDUCE_PRECISION_mantissa_bits, ir_attr_int(d->r->m, i32, 10));
    return ir_result(d->r->m, op, 0);
}

static ir_val dot(struct dot *d, ir_val a, ir_val b) {
    ir_type t = retyped(d, ir_result(d->r->m, d->op, 0), d->sum);
    ir_op op = opt_remake(d->r->o, d->op, (ir_val[]){a, b}, 2, &t, 1);
    ir_set_prop(d->r->m, op, IR_DOT_GENERAL_algorithm, (ir_attr){0});
    ir_insert_before(d->r->m, d->op, op);
    return ir_result(d->r->m, op, 0);
}

/* ---- algorithms ----------------------------------------------------------------------------------- */

enum { PARTS = 3 };

/* The parts of an operand, the highest first: each but the last is what truncation keeps of the rest. */
static void split(struct dot *d, ir_val v, enum ir_dtype t, uint32_t n, ir_val *parts) {
    v = convert(d, v, IR_F32_T);
    for (uint32_t i = 0; i < n; i++) {
        ir_val high = i + 1 < n ? truncated(d, v, t == IR_TF32_T ? 0xFFFFE000 : 0xFFFF0000) : v;
        parts[i] = i + 1 < n && t == IR_TF32_T ? high : rounded(d, high, t);
        if (i + 1 < n)
            v = binary(d, IR_SUBTRACT, v, high);
    }
}

static ir_val products(struct dot *d) {
    static const uint8_t order[][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}};
    enum { ALL = sizeof order / sizeof *order };
    ir_val parts[2][PARTS], sum = {0};
    if (d->products == 1)
        return dot(d, rounded(d, rules_in(d->r, d->op, 0), d->type[0]), rounded(d, rules_in(d->r, d->op, 1), d->type[1]));
    for (uint32_t side = 0; side < 2; side++)
        split(d, rules_in(d->r, d->op, side), d->type[side], d->products == 3 ? 2 : PARTS, parts[side]);
    for (int64_t i = ALL - d->products; i < ALL; i++) {
        ir_val x = dot(d, parts[0][order[i][0]], parts[1][order[i][1]]);
        if (i + 1 == ALL)
            sum = finite_or_zero(d, sum);
        sum = i == ALL - d->products ? x : binary(d, IR_ADD, sum, x);
    }
    return sum;
}

static enum ir_dtype field_type(const struct ir_module *m, ir_attr a, enum ir_field_slot field) {
    return ir_type_get(m, ir_attr_get(m, ir_field(m, a, field))->type)->dtype;
}

static hilo_status expand_dot(struct opt_map *map, ir_op op, ir_attr algorithm) {
    struct ir_module *m = map->o->m;
    struct rules r = {.o = map->o, .m = m};
    struct dot d = {.r = &r, .op = op, .products = ir_field_i64(m, algorithm, IR_DOT_ALGORITHM_num_primitive_operations_F)};
    d.type[0] = field_type(m, algorithm, IR_DOT_ALGORITHM_lhs_precision_type_F);
    d.type[1] = field_type(m, algorithm, IR_DOT_ALGORITHM_rhs_precision_type_F);
    d.sum = field_type(m, algorithm, IR_DOT_ALGORITHM_accumulation_type_F);
    for (uint32_t i = 0; i < 3; i++) {
        const struct ir_type_data *t = ir_val_type(m, i < 2 ? ir_operand(m, op, i) : ir_result(m, op, 0));
        if (t->quant || ir_dtype_get(t->dtype)->cls == IR_COMPLEX_CLASS)
            return ir_op_error(m, map->o->d, op, HILO_UNIMPLEMENTED, NULL,
                               "algorithm dot_%s_%s_%s_x%d needs operands and a result of real numbers",
                               ir_dtype_get(d.type[0])->name, ir_dtype_get(d.type[1])->name, ir_dtype_get(d.sum)->name,
                               (int)d.products);
    }
    ir_val v = convert(&d, products(&d), ir_val_type(m, ir_result(m, op, 0))->dtype);
    opt_replace(map, op, &v);
    map->o->changes++;
    return HILO_OK;
}

/* ---- accuracy ------------------------------------------------------------------------------------- */

enum { ULPS = 3 }; /* within which functions are computed */

static hilo_status check_accuracy(struct opt_map *map, ir_op op, ir_attr accuracy) {
    const struct ir_module *m = map->o->m;
    enum ir_dtype t = ir_dtype_part(ir_val_type(m, ir_result(m, op, 0))->dtype);
    double epsilon = ldexp(1, -(int)fp_get(ir_dtype_get(t)->fp)->man_bits);
    int64_t ulps = ir_field_i64(m, accuracy, IR_RESULT_ACCURACY_ulps_F);
    double rtol = ir_attr_get(m, ir_field(m, accuracy, IR_RESULT_ACCURACY_rtol_F))->f;
    double atol = ir_attr_get(m, ir_field(m, accuracy, IR_RESULT_ACCURACY_atol_F))->f;
    if (ir_attr_get(m, ir_field(m, accuracy, IR_RESULT_ACCURACY_mode_F))->i != IR_RESULT_ACCURACY_MODE_TOLERANCE ||
        ulps >= ULPS || rtol >= ULPS * epsilon)
        return HILO_OK;
    return ir_op_error(m, map->o->d, op, HILO_UNIMPLEMENTED, NULL,
                       "result_accuracy of atol %g, rtol %g, ulps %lld cannot be granted: functions are within %d ulp", atol,
                       rtol, (long long)ulps, ULPS);
}

/* ---- the ops ---------------------------------------------------------------------------------------- */

static ir_attr algorithm_of(const struct ir_module *m, ir_op op) {
    return ir_kind(m, op) == IR_DOT_GENERAL ? ir_prop(m, op, IR_DOT_GENERAL_algorithm) : (ir_attr){0};
}

static ir_attr accuracy_of(const struct ir_module *m, ir_op op) {
    uint32_t slot = ir_slot_named(ir_kind(m, op), STR("result_accuracy"));
    return slot ? ir_prop(m, op, (enum ir_slot)slot) : (ir_attr){0};
}

bool opt_has_numerics(const struct ir_module *m, ir_op op) {
    return !IR_NONE(algorithm_of(m, op)) || !IR_NONE(accuracy_of(m, op));
}

hilo_status opt_numerics(struct opt_map *map, ir_op op) {
    ir_attr algorithm = algorithm_of(map->o->m, op), accuracy = accuracy_of(map->o->m, op);
    if (!IR_NONE(accuracy))
        HILO_TRY(check_accuracy(map, op, accuracy));
    return IR_NONE(algorithm) ? HILO_OK : expand_dot(map, op, algorithm);
}
