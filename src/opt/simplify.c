/* simplify
 * does       applies the algebraic rules of rules.def; those of arithmetic are here, those of functions in
 *            simplify_function.c, of movement in simplify_move.c, of control in simplify_control.c
 * requires   nothing
 * preserves  nothing
 * cost       linear: a few comparisons an op, and rules make programs smaller
 * example    %0 = add %x, 0; %1 = transpose %0 by [0, 1]; use %1  ⇒  use %x */
#include "opt/rules.h"

#include <math.h>

hilo_status opt_simplify(struct opt *o) {
    return opt_rules(o, OPT_PASS_simplify);
}

/* ---- operands -------------------------------------------------------------------------------- */

/* One of two operands is that number: `*x` is the other. */
static bool other_operand(const struct rules *r, ir_op op, enum rules_number what, ir_val *x) {
    for (uint32_t i = 0; i < 2; i++)
        if (rules_is(r, rules_in(r, op, i), what)) {
            *x = rules_in(r, op, 1 - i);
            return true;
        }
    return false;
}

/* f(x, number) = x, and f(number, x) = x. */
static bool neutral(struct rules *r, ir_op op, enum rules_number what) {
    ir_val x;
    return other_operand(r, op, what, &x) && rules_become(r, op, x);
}

/* f(x, number) = x. */
static bool neutral_right(struct rules *r, ir_op op, enum rules_number what) {
    return rules_is(r, rules_in(r, op, 1), what) && rules_become(r, op, rules_in(r, op, 0));
}

/* f(x, number) = number, and f(number, x) = number. */
static bool absorbing(struct rules *r, ir_op op, enum rules_number what) {
    for (uint32_t i = 0; i < 2; i++)
        if (rules_is(r, rules_in(r, op, i), what))
            return rules_become(r, op, rules_in(r, op, i));
    return false;
}

static bool same_operands(const struct rules *r, ir_op op) {
    return IR_SAME(rules_in(r, op, 0), rules_in(r, op, 1));
}

static bool become_same(struct rules *r, ir_op op) {
    return same_operands(r, op) && rules_become(r, op, rules_in(r, op, 0));
}

/* f(f(x)) = x. */
static bool involution(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), ir_kind(r->m, op));
    return !IR_NONE(inner) && rules_become(r, op, rules_in(r, inner, 0));
}

/* The negated value where v is a negation. */
static bool negated(const struct rules *r, ir_val v, ir_val *x) {
    ir_op op = rules_def(r, v, IR_NEGATE);
    if (!IR_NONE(op))
        *x = rules_in(r, op, 0);
    return !IR_NONE(op);
}

/* ---- sums and products ----------------------------------------------------------------------- */

bool opt_rule_add_zero(struct rules *r, ir_op op) { return neutral(r, op, RULES_MINUS_ZERO); }
bool opt_rule_add_zero_float(struct rules *r, ir_op op) { return neutral(r, op, RULES_ZERO); }
bool opt_rule_subtract_zero(struct rules *r, ir_op op) { return neutral_right(r, op, RULES_ZERO); }
bool opt_rule_multiply_one(struct rules *r, ir_op op) { return neutral(r, op, RULES_ONE); }
bool opt_rule_multiply_zero_float(struct rules *r, ir_op op) { return absorbing(r, op, RULES_ZERO); }
bool opt_rule_divide_one(struct rules *r, ir_op op) { return neutral_right(r, op, RULES_ONE); }
bool opt_rule_power_one(struct rules *r, ir_op op) { return neutral_right(r, op, RULES_ONE); }
bool opt_rule_negate_negate(struct rules *r, ir_op op) { return involution(r, op); }

bool opt_rule_multiply_zero(struct rules *r, ir_op op) {
    return rules_is_integer(r, ir_result(r->m, op, 0)) && absorbing(r, op, RULES_ZERO);
}

bool opt_rule_add_negated(struct rules *r, ir_op op) {
    ir_val y;
    for (uint32_t i = 0; i < 2; i++)
        if (negated(r, rules_in(r, op, 1 - i), &y)) {
            rules_become_op(r, op, IR_SUBTRACT, (ir_val[]){rules_in(r, op, i), y}, 2);
            return true;
        }
    return false;
}

bool opt_rule_subtract_negated(struct rules *r, ir_op op) {
    ir_val y;
    if (!negated(r, rules_in(r, op, 1), &y))
        return false;
    rules_become_op(r, op, IR_ADD, (ir_val[]){rules_in(r, op, 0), y}, 2);
    return true;
}

bool opt_rule_subtract_same(struct rules *r, ir_op op) {
    return rules_is_integer(r, rules_in(r, op, 0)) && same_operands(r, op) && rules_become_zero(r, op);
}

bool opt_rule_subtract_same_float(struct rules *r, ir_op op) {
    return rules_is_float(r, rules_in(r, op, 0)) && same_operands(r, op) && rules_become_zero(r, op);
}

bool opt_rule_multiply_negated(struct rules *r, ir_op op) {
    ir_val x, y;
    if (!negated(r, rules_in(r, op, 0), &x) || !negated(r, rules_in(r, op, 1), &y))
        return false;
    ir_set_operands(r->m, op, (ir_val[]){x, y}, 2);
    return true;
}

/* Both are the exact quotient, rounded once; a reciprocal that is not a normal number could be flushed to zero. */
bool opt_rule_divide_power(struct rules *r, ir_op op) {
    ir_val c = rules_in(r, op, 1);
    const struct ir_attr_data *a = rules_constant(r, c);
    enum ir_dtype t = rules_shape(r, c)->dtype;
    if (!a || !a->splat || (t != IR_F16_T && t != IR_BF16_T && t != IR_F32_T && t != IR_F64_T))
        return false;
    const struct fp_info *f = fp_get(ir_dtype_get(t)->fp);
    double d = fp_decode(ir_dtype_get(t)->fp, fp_load(ir_dtype_get(t)->fp, a->data));
    int exponent;
    if (!isfinite(d) || fabs(frexp(d, &exponent)) != 0.5 || d == 1 || exponent - 1 >= f->bias || 1 - exponent > f->bias)
        return false;
    ir_val reciprocal = rules_make_float(r, op, rules_type(r, c), 1 / d);
    rules_become_op(r, op, IR_MULTIPLY, (ir_val[]){rules_in(r, op, 0), reciprocal}, 2);
    return true;
}

/* ---- one operand, and orders ----------------------------------------------------------------- */

bool opt_rule_not_not(struct rules *r, ir_op op) { return involution(r, op); }
bool opt_rule_maximum_same(struct rules *r, ir_op op) { return become_same(r, op); }
bool opt_rule_minimum_same(struct rules *r, ir_op op) { return become_same(r, op); }
bool opt_rule_maximum_least(struct rules *r, ir_op op) { return neutral(r, op, RULES_LEAST); }
bool opt_rule_minimum_greatest(struct rules *r, ir_op op) { return neutral(r, op, RULES_GREATEST); }

bool opt_rule_abs_negate(struct rules *r, ir_op op) {
    ir_val x;
    if (!negated(r, rules_in(r, op, 0), &x))
        return false;
    ir_set_operand(r->m, op, 0, x);
    return true;
}

bool opt_rule_idempotent(struct rules *r, ir_op op) {
    enum ir_op_kind kind = ir_kind(r->m, op);
    if (!ir_op_has(kind, IR_T_IDEMPOTENT))
        return false;
    ir_op inner = rules_def(r, rules_in(r, op, 0), kind);
    size_t bytes = ir_op_info(kind)->nslots * sizeof(ir_attr);
    return !IR_NONE(inner) && (!bytes || memcmp(ir_op_get(r->m, op)->props, ir_op_get(r->m, inner)->props, bytes) == 0) &&
           rules_become(r, op, ir_result(r->m, inner, 0));
}

/* ---- bits ------------------------------------------------------------------------------------ */

bool opt_rule_and_same(struct rules *r, ir_op op) { return become_same(r, op); }
bool opt_rule_and_ones(struct rules *r, ir_op op) { return neutral(r, op, RULES_ONES); }
bool opt_rule_and_zero(struct rules *r, ir_op op) { return absorbing(r, op, RULES_ZERO); }
bool opt_rule_or_same(struct rules *r, ir_op op) { return become_same(r, op); }
bool opt_rule_or_zero(struct rules *r, ir_op op) { return neutral(r, op, RULES_ZERO); }
bool opt_rule_or_ones(struct rules *r, ir_op op) { return absorbing(r, op, RULES_ONES); }
bool opt_rule_xor_zero(struct rules *r, ir_op op) { return neutral(r, op, RULES_ZERO); }
bool opt_rule_xor_same(struct rules *r, ir_op op) { return same_operands(r, op) && rules_become_zero(r, op); }
bool opt_rule_shift_left_zero(struct rules *r, ir_op op) { return neutral_right(r, op, RULES_ZERO); }
bool opt_rule_shift_arithmetic_zero(struct rules *r, ir_op op) { return neutral_right(r, op, RULES_ZERO); }
bool opt_rule_shift_logical_zero(struct rules *r, ir_op op) { return neutral_right(r, op, RULES_ZERO); }

/* ---- comparing and choosing ------------------------------------------------------------------ */

bool opt_rule_compare_same(struct rules *r, ir_op op) {
    int64_t how = ir_prop_i64(r->m, op, IR_COMPARE_comparison_direction);
    char equal = how == IR_COMPARISON_DIRECTION_EQ || how == IR_COMPARISON_DIRECTION_LE || how == IR_COMPARISON_DIRECTION_GE;
    return rules_is_integer(r, rules_in(r, op, 0)) && same_operands(r, op) && rules_become_splat(r, op, &equal);
}

bool opt_rule_select_constant(struct rules *r, ir_op op) {
    int64_t p;
    return rules_integer(r, rules_in(r, op, 0), &p) && rules_become(r, op, rules_in(r, op, p ? 1 : 2));
}

bool opt_rule_select_same(struct rules *r, ir_op op) {
    return IR_SAME(rules_in(r, op, 1), rules_in(r, op, 2)) && rules_become(r, op, rules_in(r, op, 1));
}

bool opt_rule_select_not(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_NOT);
    if (IR_NONE(inner))
        return false;
    ir_set_operands(r->m, op, (ir_val[]){rules_in(r, inner, 0), rules_in(r, op, 2), rules_in(r, op, 1)}, 3);
    return true;
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* Every value of `from` is one of `to`. */
static bool lossless(enum ir_dtype from, enum ir_dtype to) {
    const struct ir_dtype_info *a = ir_dtype_get(from), *b = ir_dtype_get(to);
    bool integer = a->cls == IR_PRED || a->cls == IR_SINT || a->cls == IR_UINT;
    if (a->cls == IR_FLOAT)
        return to == IR_F64_T || (to == IR_F32_T && a->bits <= 16);
    if (integer && b->cls == IR_FLOAT)
        return (to == IR_F32_T || to == IR_F64_T) && a->bits <= fp_get(b->fp)->man_bits;
    if (a->cls == IR_SINT)
        return b->cls == IR_SINT && b->bits >= a->bits;
    return integer && ((b->cls == IR_UINT && b->bits >= a->bits) || (b->cls == IR_SINT && b->bits > a->bits));
}

bool opt_rule_convert_same(struct rules *r, ir_op op) {
    return rules_become(r, op, rules_in(r, op, 0));
}

/* Where the numbers end up in another class than they came from, what does not fit may be treated differently on the two
   ways, so only those within a class, and those back to where they came from, are shortened. */
bool opt_rule_convert_convert(struct rules *r, ir_op op) {
    ir_op inner = rules_def(r, rules_in(r, op, 0), IR_CONVERT);
    if (IR_NONE(inner))
        return false;
    ir_val x = rules_in(r, inner, 0);
    enum ir_dtype from = rules_shape(r, x)->dtype, between = rules_shape(r, rules_in(r, op, 0))->dtype;
    enum ir_dtype to = rules_shape(r, ir_result(r->m, op, 0))->dtype;
    const enum ir_dtype_class a = ir_dtype_get(from)->cls, b = ir_dtype_get(between)->cls, c = ir_dtype_get(to)->cls;
    bool within = (a == IR_FLOAT && b == IR_FLOAT && c == IR_FLOAT) ||
                  (a != IR_FLOAT && b != IR_FLOAT && (c == IR_SINT || c == IR_UINT));
    if (!lossless(from, between) || !(within || from == to))
        return false;
    ir_set_operand(r->m, op, 0, x);
    return true;
}

/* ---- complex numbers ------------------------------------------------------------------------- */

static bool part(struct rules *r, ir_op op, uint32_t which) {
    ir_op whole = rules_def(r, rules_in(r, op, 0), IR_COMPLEX);
    return !IR_NONE(whole) && rules_become(r, op, rules_in(r, whole, which));
}

bool opt_rule_real_complex(struct rules *r, ir_op op) { return part(r, op, 0); }
bool opt_rule_imag_complex(struct rules *r, ir_op op) { return part(r, op, 1); }

bool opt_rule_complex_parts(struct rules *r, ir_op op) {
    ir_op re = rules_def(r, rules_in(r, op, 0), IR_REAL), im = rules_def(r, rules_in(r, op, 1), IR_IMAG);
    return !IR_NONE(re) && !IR_NONE(im) && IR_SAME(rules_in(r, re, 0), rules_in(r, im, 0)) &&
           rules_become(r, op, rules_in(r, re, 0));
}
