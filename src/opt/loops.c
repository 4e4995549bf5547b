/* What is known of while loops: opt_trip_count. */
#include "opt/opt.h"

enum { LOOP_FAR = 61 }; /* beyond 2^61 from zero numbers are not computed with */

static ir_block loop_block(const struct ir_module *m, ir_op loop, uint32_t region) {
    return ir_region_get(m, ir_op_region(m, loop, region))->first;
}

/* The argument of a block that `v` is. */
static bool argument(const struct ir_module *m, ir_val v, ir_block b, uint32_t *index) {
    const struct ir_val_data *d = ir_val_get(m, v);
    *index = d->index;
    return IR_NONE(d->op) && IR_SAME(d->block, b);
}

bool opt_loop_invariant(const struct ir_module *m, ir_op loop, uint32_t i) {
    ir_block body = loop_block(m, loop, 1);
    return IR_SAME(ir_operand(m, ir_terminator(m, body), i), ir_block_get(m, body)->args[i]);
}

/* The integer that `v` is in every turn, seen from a block of the loop. */
static bool known(const struct ir_module *m, ir_op loop, ir_block b, ir_val v, int64_t *out) {
    uint32_t i;
    if (argument(m, v, b, &i)) {
        if (!opt_loop_invariant(m, loop, i))
            return false;
        v = ir_operand(m, loop, i);
    }
    int64_t most = INT64_C(1) << LOOP_FAR;
    return opt_integer(m, v, out) && *out <= most && *out >= -most;
}

/* What is added to variable i in each turn. */
static bool step_of(const struct ir_module *m, ir_op loop, uint32_t i, int64_t *step) {
    ir_block body = loop_block(m, loop, 1);
    ir_op op = ir_val_get(m, ir_operand(m, ir_terminator(m, body), i))->op;
    if (IR_NONE(op) || (ir_kind(m, op) != IR_ADD && ir_kind(m, op) != IR_SUBTRACT))
        return false;
    bool add = ir_kind(m, op) == IR_ADD;
    for (uint32_t k = 0; k < (add ? 2 : 1); k++) {
        uint32_t at;
        if (!argument(m, ir_operand(m, op, k), body, &at) || at != i || !known(m, loop, body, ir_operand(m, op, 1 - k), step))
            continue;
        *step = add ? *step : -*step;
        return true;
    }
    return false;
}

/* Turns while x < bound, x from `first` in steps. */
static bool turns(int64_t first, int64_t bound, int64_t step, uint64_t *n) {
    *n = 0;
    if (first >= bound)
        return true;
    if (step <= 0)
        return false;
    *n = ((uint64_t)(bound - first) + (uint64_t)step - 1) / (uint64_t)step;
    return true;
}

static bool count(int64_t how, int64_t first, int64_t bound, int64_t step, uint64_t *n) {
    switch (how) {
    case IR_COMPARISON_DIRECTION_LT: return turns(first, bound, step, n);
    case IR_COMPARISON_DIRECTION_LE: return turns(first, bound + 1, step, n);
    case IR_COMPARISON_DIRECTION_GT: return turns(-first, -bound, -step, n);
    case IR_COMPARISON_DIRECTION_GE: return turns(-first, -bound + 1, -step, n);
    case IR_COMPARISON_DIRECTION_NE:
        return first <= bound ? step && (bound - first) % step == 0 && turns(first, bound, step, n)
                              : step && (bound - first) % step == 0 && turns(-first, -bound, -step, n);
    default: return false;
    }
}

/* The counter leaves the loop within the range of its type. */
static bool in_range(const struct ir_dtype_info *t, int64_t first, int64_t step, uint64_t n) {
    uint64_t far = UINT64_C(1) << LOOP_FAR, by = (uint64_t)(step < 0 ? -step : step);
    if (n && by > far / n)
        return false;
    int64_t last = first + (int64_t)n * step;
    if (t->bits >= LOOP_FAR)
        return t->cls != IR_UINT || last >= 0;
    int64_t span = INT64_C(1) << (t->cls == IR_UINT ? t->bits : t->bits - 1);
    return last < span && last >= (t->cls == IR_UINT ? 0 : -span);
}

bool opt_trip_count(const struct ir_module *m, ir_op loop, uint64_t *n) {
    static const unsigned char mirror[] = {
        [IR_COMPARISON_DIRECTION_EQ] = IR_COMPARISON_DIRECTION_EQ, [IR_COMPARISON_DIRECTION_NE] = IR_COMPARISON_DIRECTION_NE,
        [IR_COMPARISON_DIRECTION_GE] = IR_COMPARISON_DIRECTION_LE, [IR_COMPARISON_DIRECTION_GT] = IR_COMPARISON_DIRECTION_LT,
        [IR_COMPARISON_DIRECTION_LE] = IR_COMPARISON_DIRECTION_GE, [IR_COMPARISON_DIRECTION_LT] = IR_COMPARISON_DIRECTION_GT,
    };
    ir_block cond = loop_block(m, loop, 0);
    ir_op test = ir_val_get(m, ir_operand(m, ir_terminator(m, cond), 0))->op;
    if (IR_NONE(test) || ir_kind(m, test) != IR_COMPARE)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        int64_t first, bound, step, how = ir_prop_i64(m, test, IR_COMPARE_comparison_direction);
        uint32_t i;
        if (!argument(m, ir_operand(m, test, k), cond, &i) || opt_loop_invariant(m, loop, i) ||
            !known(m, loop, cond, ir_operand(m, test, 1 - k), &bound) || !opt_integer(m, ir_operand(m, loop, i), &first) ||
            first > INT64_C(1) << LOOP_FAR || first < -(INT64_C(1) << LOOP_FAR) || !step_of(m, loop, i, &step))
            continue;
        const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, ir_operand(m, loop, i))->dtype);
        return count(k ? mirror[how] : how, first, bound, step, n) && in_range(t, first, step, *n);
    }
    return false;
}
