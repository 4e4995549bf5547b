/* Rules of simplify about loops, branches and tuples: see rules.def. */
#include "opt/rules.h"

/* The values have the types of the op's results. */
static bool fit(const struct rules *r, ir_op op, const ir_val *values) {
    for (uint32_t i = 0; i < ir_op_get(r->m, op)->nresults; i++)
        if (!IR_SAME(rules_type(r, values[i]), rules_type(r, ir_result(r->m, op, i))))
            return false;
    return true;
}

static ir_block block_of(const struct rules *r, ir_op op, uint32_t region) {
    return ir_region_get(r->m, ir_op_region(r->m, op, region))->first;
}

bool opt_rule_while_never(struct rules *r, ir_op op) {
    int64_t more;
    uint64_t n;
    ir_val p = rules_in(r, ir_terminator(r->m, block_of(r, op, 0)), 0);
    const ir_val *state = ir_op_get(r->m, op)->operands;
    bool never = rules_integer(r, p, &more) ? !more : opt_trip_count(r->m, op, &n) && n == 0;
    if (!never || !fit(r, op, state))
        return false;
    opt_replace(&r->map, op, state);
    return true;
}

static bool pure(const struct rules *r, ir_block b) {
    for (ir_op op = ir_block_get(r->m, b)->first; !IR_NONE(op); op = ir_op_get(r->m, op)->next)
        if (!ir_op_has(ir_kind(r->m, op), IR_T_PURE | IR_T_TERMINATOR))
            return false;
    return true;
}

/* The condition has no effect, so that only the body comes in the place of the op. */
bool opt_rule_while_once(struct rules *r, ir_op op) {
    uint64_t n;
    ir_block b = block_of(r, op, 1);
    const struct ir_block_data *d = ir_block_get(r->m, b);
    if (!opt_trip_count(r->m, op, &n) || n != 1 || !pure(r, block_of(r, op, 0)))
        return false;
    for (uint32_t i = 0; i < d->nargs; i++) {
        ir_val state = rules_in(r, op, i), yield = rules_in(r, ir_terminator(r->m, b), i), result = ir_result(r->m, op, i);
        if (!IR_SAME(rules_type(r, state), rules_type(r, d->args[i])) || !IR_SAME(rules_type(r, yield), rules_type(r, result)))
            return false;
    }
    for (uint32_t i = 0; i < d->nargs; i++)
        opt_map_set(&r->map, d->args[i], rules_in(r, op, i));
    const ir_val *values = ir_op_get(r->m, ir_terminator(r->m, b))->operands;
    opt_splice(r->o, b, op);
    opt_replace(&r->map, op, values);
    return true;
}

/* The branch that is taken comes in the place of the op. */
static bool take(struct rules *r, ir_op op, uint32_t region) {
    ir_block b = block_of(r, op, region);
    const ir_val *values = ir_op_get(r->m, ir_terminator(r->m, b))->operands;
    if (!fit(r, op, values))
        return false;
    opt_splice(r->o, b, op);
    opt_replace(&r->map, op, values);
    return true;
}

bool opt_rule_if_constant(struct rules *r, ir_op op) {
    int64_t p;
    return rules_integer(r, rules_in(r, op, 0), &p) && take(r, op, p ? 0 : 1);
}

/* Any index that is not a branch's stands for the last branch. */
bool opt_rule_case_constant(struct rules *r, ir_op op) {
    int64_t i;
    uint32_t n = ir_op_get(r->m, op)->nregions;
    return n && rules_integer(r, rules_in(r, op, 0), &i) && take(r, op, i < 0 || i >= n ? n - 1 : (uint32_t)i);
}

bool opt_rule_tuple_element(struct rules *r, ir_op op) {
    ir_op tuple = rules_def(r, rules_in(r, op, 0), IR_TUPLE);
    uint32_t i = (uint32_t)ir_prop_i64(r->m, op, IR_GET_TUPLE_ELEMENT_index);
    return !IR_NONE(tuple) && i < ir_op_get(r->m, tuple)->noperands && rules_become(r, op, rules_in(r, tuple, i));
}
