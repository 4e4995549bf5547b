/* Rules of simplify about powers, roots, exponentials and logarithms: see rules.def. */
#include "opt/rules.h"

#include <math.h>

/* The exponent of a power is this number. */
static bool exponent(const struct rules *r, ir_op op, double is) {
    double v;
    return rules_float(r, rules_in(r, op, 1), &v) && v == is;
}

static ir_val become(struct rules *r, ir_op op, enum ir_op_kind kind, ir_val x, ir_val y) {
    return ir_result(r->m, rules_become_op(r, op, kind, (ir_val[]){x, y}, IR_NONE(y) ? 1 : 2), 0);
}

static const ir_val no_val = {0};

bool opt_rule_power_zero(struct rules *r, ir_op op) {
    ir_val result = ir_result(r->m, op, 0);
    if (!rules_is(r, rules_in(r, op, 1), RULES_ZERO) && !rules_is(r, rules_in(r, op, 1), RULES_MINUS_ZERO))
        return false;
    if (rules_is_integer(r, result))
        return rules_become_splat(r, op, (char[8]){1});
    return rules_static(r, result) && rules_become(r, op, rules_make_float(r, op, rules_type(r, result), 1));
}

bool opt_rule_power_two(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    if (!rules_is(r, rules_in(r, op, 1), RULES_TWO))
        return false;
    become(r, op, IR_MULTIPLY, x, x);
    return true;
}

bool opt_rule_power_three(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    if (!exponent(r, op, 3))
        return false;
    ir_op square = rules_make(r, op, IR_MULTIPLY, (ir_val[]){x, x}, 2, rules_type(r, x));
    become(r, op, IR_MULTIPLY, ir_result(r->m, square, 0), x);
    return true;
}

bool opt_rule_power_reciprocal(struct rules *r, ir_op op) {
    ir_val x = rules_in(r, op, 0);
    if (!exponent(r, op, -1) || !rules_static(r, x))
        return false;
    become(r, op, IR_DIVIDE, rules_make_float(r, op, rules_type(r, x), 1), x);
    return true;
}

bool opt_rule_power_half(struct rules *r, ir_op op) {
    return exponent(r, op, 0.5) && (become(r, op, IR_SQRT, rules_in(r, op, 0), no_val), true);
}

bool opt_rule_power_minus_half(struct rules *r, ir_op op) {
    return exponent(r, op, -0.5) && (become(r, op, IR_RSQRT, rules_in(r, op, 0), no_val), true);
}

/* f(g(x)) = x. */
static bool inverse(struct rules *r, ir_op op, enum ir_op_kind inner) {
    ir_op g = rules_def(r, rules_in(r, op, 0), inner);
    return !IR_NONE(g) && rules_become(r, op, rules_in(r, g, 0));
}

bool opt_rule_log_exp(struct rules *r, ir_op op) { return inverse(r, op, IR_EXPONENTIAL); }
bool opt_rule_exp_log(struct rules *r, ir_op op) { return inverse(r, op, IR_LOG); }

bool opt_rule_log_plus_one(struct rules *r, ir_op op) {
    ir_op sum = rules_def(r, rules_in(r, op, 0), IR_ADD);
    for (uint32_t i = 0; i < 2 && !IR_NONE(sum); i++)
        if (rules_is(r, rules_in(r, sum, i), RULES_ONE)) {
            become(r, op, IR_LOG_PLUS_ONE, rules_in(r, sum, 1 - i), no_val);
            return true;
        }
    return false;
}

bool opt_rule_exp_minus_one(struct rules *r, ir_op op) {
    ir_op exp = rules_def(r, rules_in(r, op, 0), IR_EXPONENTIAL);
    if (IR_NONE(exp) || !rules_is(r, rules_in(r, op, 1), RULES_ONE))
        return false;
    become(r, op, IR_EXPONENTIAL_MINUS_ONE, rules_in(r, exp, 0), no_val);
    return true;
}

bool opt_rule_divide_sqrt(struct rules *r, ir_op op) {
    ir_op root = rules_def(r, rules_in(r, op, 1), IR_SQRT);
    if (IR_NONE(root))
        return false;
    ir_val y = rules_in(r, root, 0);
    ir_op rsqrt = rules_make(r, op, IR_RSQRT, &y, 1, rules_result(r, root));
    become(r, op, IR_MULTIPLY, rules_in(r, op, 0), ir_result(r->m, rsqrt, 0));
    return true;
}

bool opt_rule_divide_constant(struct rules *r, ir_op op) {
    ir_val c = rules_in(r, op, 1);
    double v;
    if (!rules_float(r, c, &v) || v == 0 || !isfinite(v) || !isfinite(1 / v))
        return false;
    become(r, op, IR_MULTIPLY, rules_in(r, op, 0), rules_make_float(r, op, rules_type(r, c), 1 / v));
    return true;
}

/* 1 / (1 + exp(-x)), with the sum in either order. */
bool opt_rule_logistic(struct rules *r, ir_op op) {
    ir_op sum = rules_def(r, rules_in(r, op, 1), IR_ADD);
    if (!rules_is(r, rules_in(r, op, 0), RULES_ONE) || IR_NONE(sum))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        ir_op exp = rules_def(r, rules_in(r, sum, 1 - i), IR_EXPONENTIAL);
        ir_op negated = IR_NONE(exp) ? exp : rules_def(r, rules_in(r, exp, 0), IR_NEGATE);
        if (!rules_is(r, rules_in(r, sum, i), RULES_ONE) || IR_NONE(negated))
            continue;
        become(r, op, IR_LOGISTIC, rules_in(r, negated, 0), no_val);
        return true;
    }
    return false;
}
