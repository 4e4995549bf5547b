/* What is known of while loops: opt_trip_count, opt_loop_overwrites. */
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

/* The integer that `v` is in every iteration, seen from a block of the loop. */
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

/* What is added to variable i in each iteration. */
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

/* Iterations while x < bound, x from `first` in steps. */
static bool iterations(int64_t first, int64_t bound, int64_t step, uint64_t *n) {
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
    case IR_COMPARISON_DIRECTION_LT: return iterations(first, bound, step, n);
    case IR_COMPARISON_DIRECTION_LE: return iterations(first, bound + 1, step, n);
    case IR_COMPARISON_DIRECTION_GT: return iterations(-first, -bound, -step, n);
    case IR_COMPARISON_DIRECTION_GE: return iterations(-first, -bound + 1, -step, n);
    case IR_COMPARISON_DIRECTION_NE:
        return first <= bound ? step && (bound - first) % step == 0 && iterations(first, bound, step, n)
                              : step && (bound - first) % step == 0 && iterations(-first, -bound, -step, n);
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

/* The variable that a loop counts with. */
struct counter {
    uint32_t i;
    int64_t first, step;
    uint64_t trips;
};

static bool find_counter(const struct ir_module *m, ir_op loop, struct counter *out) {
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
        int64_t bound, how = ir_prop_i64(m, test, IR_COMPARE_comparison_direction);
        uint32_t i;
        if (!argument(m, ir_operand(m, test, k), cond, &i) || opt_loop_invariant(m, loop, i) ||
            !known(m, loop, cond, ir_operand(m, test, 1 - k), &bound) ||
            !opt_integer(m, ir_operand(m, loop, i), &out->first) || out->first > INT64_C(1) << LOOP_FAR ||
            out->first < -(INT64_C(1) << LOOP_FAR) || !step_of(m, loop, i, &out->step))
            continue;
        const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, ir_operand(m, loop, i))->dtype);
        out->i = i;
        return count(k ? mirror[how] : how, out->first, bound, out->step, &out->trips) &&
               in_range(t, out->first, out->step, out->trips);
    }
    return false;
}

bool opt_trip_count(const struct ir_module *m, ir_op loop, uint64_t *n) {
    struct counter c;
    if (!find_counter(m, loop, &c))
        return false;
    *n = c.trips;
    return true;
}

/* ---- variables that are written before they are read ------------------------------------------- */

uint32_t opt_uses_in(const struct ir_module *m, ir_block b, ir_val v) {
    uint32_t n = 0;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
            n += IR_SAME(ir_operand(m, op, i), v);
        for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
            for (ir_block c = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(c); c = ir_block_get(m, c)->next)
                n += opt_uses_in(m, c, v);
    }
    return n;
}

enum { LOOP_DEEP = 8, LOOP_NEAR = 30 }; /* 2^30: what stays below has room in 32 bits, whatever is added on the way */

static bool near(int64_t v) {
    return v < INT64_C(1) << LOOP_NEAR && v > -(INT64_C(1) << LOOP_NEAR);
}

/* The integer, seen from the body, is scale * counter + plus: sums and differences of small numbers. */
static bool of_counter(const struct ir_module *m, ir_op loop, const struct counter *c, ir_val v, int deep, int64_t *scale,
                       int64_t *plus) {
    ir_block body = loop_block(m, loop, 1);
    ir_op op = ir_val_get(m, v)->op;
    uint32_t i;
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, v)->dtype);
    if (t->bits < 32 || t->cls != IR_SINT)
        return false;
    *scale = 0;
    if (known(m, loop, body, v, plus))
        return near(*plus);
    if (argument(m, v, body, &i)) {
        *scale = 1;
        *plus = 0;
        return i == c->i;
    }
    if (!deep || IR_NONE(op))
        return false;
    int64_t scales[2], pluses[2];
    enum ir_op_kind kind = ir_kind(m, op);
    if (kind == IR_CONVERT || kind == IR_RESHAPE)
        return of_counter(m, loop, c, ir_operand(m, op, 0), deep - 1, scale, plus);
    if (kind != IR_ADD && kind != IR_SUBTRACT)
        return false;
    for (uint32_t k = 0; k < 2; k++)
        if (!of_counter(m, loop, c, ir_operand(m, op, k), deep - 1, &scales[k], &pluses[k]))
            return false;
    int64_t sign = kind == IR_ADD ? 1 : -1;
    *scale = scales[0] + sign * scales[1];
    *plus = pluses[0] + sign * pluses[1];
    return near(*plus) && (*scale == 1 || *scale == -1 || *scale == 0);
}

/* Parts of `part`, one an iteration, cover a dimension. */
static bool covers(const struct ir_module *m, ir_op loop, const struct counter *c, ir_val at, int64_t part, int64_t size) {
    int64_t scale, plus, by;
    if (!near(size) || !near(c->first) || !near(c->step) || c->trips > UINT64_C(1) << LOOP_NEAR ||
        !near((int64_t)c->trips * c->step) || !of_counter(m, loop, c, at, LOOP_DEEP, &scale, &plus) || scale == 0)
        return false;
    int64_t begin = scale * c->first + plus, end = begin + scale * c->step * ((int64_t)c->trips - 1);
    int64_t low = begin < end ? begin : end, high = begin < end ? end : begin;
    by = c->step < 0 ? -c->step : c->step;
    return low == 0 && high == size - part && by <= part;
}

bool opt_loop_covers(const struct ir_module *m, ir_op loop, ir_val at, int64_t size, int64_t *scale, int64_t *plus) {
    struct counter c;
    return find_counter(m, loop, &c) && c.trips == (uint64_t)size && covers(m, loop, &c, at, 1, size) &&
           of_counter(m, loop, &c, at, LOOP_DEEP, scale, plus);
}

/* Uses in a loop, by variable: of the arguments of its two blocks, and of the update that is the next state. */
struct loop_uses {
    ir_block block[2];
    const ir_val *next;
    uint32_t *args[2], *update;
};

/* The variable that `v` is an update of: a dynamic_update_slice in the body, of the variable's argument. */
static bool updates(const struct ir_module *m, const struct loop_uses *u, ir_val v, uint32_t *i) {
    ir_op op = ir_val_get(m, v)->op;
    return ir_kind(m, op) == IR_DYNAMIC_UPDATE_SLICE && IR_SAME(ir_op_get(m, op)->parent, u->block[1]) &&
           argument(m, ir_operand(m, op, 0), u->block[1], i) && IR_SAME(u->next[*i], v);
}

static void count_uses(const struct ir_module *m, struct loop_uses *u, ir_block b) {
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *x = ir_op_get(m, op);
        for (uint32_t k = 0; k < x->noperands; k++) {
            uint32_t i;
            for (int r = 0; r < 2; r++)
                if (argument(m, x->operands[k], u->block[r], &i))
                    u->args[r][i]++;
            if (!IR_NONE(ir_val_get(m, x->operands[k])->op) && updates(m, u, x->operands[k], &i))
                u->update[i]++;
        }
        for (uint32_t k = 0; k < x->nregions; k++)
            for (ir_block c = ir_region_get(m, ir_op_region(m, op, k))->first; !IR_NONE(c); c = ir_block_get(m, c)->next)
                count_uses(m, u, c);
    }
}

/* The iterations' parts of variable i are all of it. */
static bool fills(const struct ir_module *m, ir_op loop, const struct counter *c, ir_op update) {
    const struct ir_type_data *all = ir_val_type(m, ir_operand(m, update, 0)), *part = ir_val_type(m, ir_operand(m, update, 1));
    bool divided = false;
    for (uint32_t k = 0; k < all->rank; k++) {
        if (part->dims[k] == all->dims[k])
            continue;
        if (divided || part->dims[k] < 1 || !covers(m, loop, c, ir_operand(m, update, 2 + k), part->dims[k], all->dims[k]))
            return false;
        divided = true;
    }
    return true;
}

const bool *opt_loop_overwrites(const struct ir_module *m, ir_op loop, struct arena *a) {
    uint32_t n = ir_op_get(m, loop)->noperands, variable;
    struct loop_uses u = {.block = {loop_block(m, loop, 0), loop_block(m, loop, 1)}};
    struct counter c;
    bool *out = ARENA_ARRAY(a, bool, n);
    uint32_t *counts = ARENA_ARRAY(a, uint32_t, 3 * (size_t)n);
    memset(out, 0, n * sizeof *out);
    memset(counts, 0, 3 * (size_t)n * sizeof *counts);
    u.args[0] = counts;
    u.args[1] = counts + n;
    u.update = counts + 2 * (size_t)n;
    u.next = ir_op_get(m, ir_terminator(m, u.block[1]))->operands;
    if (!find_counter(m, loop, &c) || c.trips == 0)
        return out;
    for (int r = 0; r < 2; r++)
        count_uses(m, &u, u.block[r]);
    for (uint32_t i = 0; i < n; i++)
        out[i] = u.args[0][i] == 0 && u.args[1][i] == 1 && u.update[i] == 1 && updates(m, &u, u.next[i], &variable) &&
                 variable == i && fills(m, loop, &c, ir_val_get(m, u.next[i])->op);
    return out;
}
