/* async
 * does       makes asynchronous collectives and slices ordinary ones, where they were started: an async_start becomes the op in
 *            its body, an async_done the result of that. Exchanges still start early and are finished late, which the plan
 *            decides (plan_overlap)
 * requires   uses
 * preserves  nothing
 * cost       linear, times the ops between a start and its end
 * example    %f = async_start(%x) {all_gather}; %y = async_done(%f)  ⇒  %y = all_gather(%x)
 *
 * A future that is anything else than the operand of async_done in the block of its start, such as a result of a function,
 * stays. */
#include "opt/rules.h"

hilo_status opt_async(struct opt *o) {
    return opt_rules(o, OPT_PASS_async);
}

static bool ends(const struct rules *r, ir_op op, ir_val future) {
    return ir_kind(r->m, op) == IR_ASYNC_DONE && IR_SAME(rules_in(r, op, 0), future);
}

bool opt_rule_async_start(struct rules *r, ir_op op) {
    struct ir_module *m = r->m;
    ir_val future = ir_result(m, op, 0);
    uint32_t uses = opt_ids_get(&opt_uses(r->o)->count, future.i), found = 0;
    for (ir_op x = ir_op_get(m, op)->next; !IR_NONE(x) && found < uses; x = ir_op_get(m, x)->next)
        found += ends(r, x, future);
    const struct ir_block_data *body = ir_block_get(m, ir_region_get(m, ir_op_region(m, op, 0))->first);
    if (found < uses || body->nargs != ir_op_get(m, op)->noperands ||
        !IR_SAME(rules_in(r, body->last, 0), ir_result(m, body->first, 0)))
        return false;
    for (uint32_t i = 0; i < body->nargs; i++)
        opt_map_set(&r->map, body->args[i], rules_in(r, op, i));
    ir_op copy = opt_clone(&r->map, body->first); /* there is one op, and the end */
    ir_val value = ir_result(m, copy, 0);
    ir_insert_before(m, op, copy);
    for (ir_op x = ir_op_get(m, op)->next, next; found; x = next) {
        next = ir_op_get(m, x)->next;
        if (!ends(r, x, future))
            continue;
        opt_replace(&r->map, x, &value);
        found--;
    }
    ir_unlink(m, op);
    return true;
}
