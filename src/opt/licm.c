/* licm: loop-invariant code motion
 * does       hoists loop-invariant ops before their loop, and removes loop variables that never change: the body refers
 *            to their initial values
 * requires   nothing
 * preserves  nothing
 * cost       linear, times the depth of loops
 * example    while (%i, %w) { … dot %x, (transpose %w) … }  ⇒  %t = transpose %w; while (%i) { … dot %x, %t … }
 *
 * A hoisted op runs even when the trip count is 0, so only ops that cannot fail are hoisted; and its result is live as long as
 * the loop, so only expensive ops are: contractions, reductions, functions, and ops whose results are not larger than their
 * operands. Cheap producers, such as broadcasts, are copied along with a hoisted op, and else stay where they are free. */
#include "opt/rewrite.h"

enum {
    LICM_BYTES = 64 << 20, /* of all that is moved out of a loop */
    LICM_COST = 8          /* arithmetic operations an element that are worth storing it */
};

struct licm {
    struct opt_map map;     /* what replaces results in the body, and variables */
    struct opt_map outside; /* values of bodies to their hoisted copies */
    struct opt_ids seen;    /* by value: 2 * the loop in whose body it is, + 1 where it is invariant */
    size_t bytes;           /* that may still be moved out of this loop */
    uint32_t loop;          /* number of the loop that is looked at */
};

static ir_block block_of(const struct ir_module *m, ir_op op, uint32_t region) {
    return ir_region_get(m, ir_op_region(m, op, region))->first;
}

/* ---- what does not change -------------------------------------------------------------------- */

static void enter(struct licm *c, ir_val v, bool invariant) {
    opt_ids_set(&c->seen, v.i, 2 * c->loop + invariant);
}

static bool invariant(const struct licm *c, ir_val v) {
    return opt_ids_get(&c->seen, v.i) != 2 * c->loop;
}

/* What the ops inside use is invariant or theirs. */
static bool closed(struct licm *c, ir_region r) {
    const struct ir_module *m = c->map.o->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next) {
        const struct ir_block_data *d = ir_block_get(m, b);
        for (uint32_t i = 0; i < d->nargs; i++)
            enter(c, d->args[i], true);
        for (ir_op op = d->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            const struct ir_op_data *x = ir_op_get(m, op);
            if (!ir_op_has((enum ir_op_kind)x->kind, IR_T_PURE | IR_T_TERMINATOR))
                return false;
            for (uint32_t i = 0; i < x->noperands; i++)
                if (!invariant(c, x->operands[i]))
                    return false;
            for (uint32_t i = 0; i < x->nregions; i++)
                if (!closed(c, ir_op_region(m, op, i)))
                    return false;
            for (uint32_t i = 0; i < x->nresults; i++)
                enter(c, ir_result(m, op, i), true);
        }
    }
    return true;
}

/* Enters the results of an op of the body. */
static bool survey(struct licm *c, ir_op op) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    size_t bytes;
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    bool same = ir_op_has(kind, IR_T_PURE) && x->nresults > 0 && !ir_op_has(kind, IR_T_MAY_FAIL);
    for (uint32_t i = 0; i < x->noperands && same; i++)
        same = invariant(c, x->operands[i]) && ir_type_bytes(ir_val_type(m, x->operands[i]), &bytes);
    for (uint32_t i = 0; i < x->nregions && same; i++)
        same = closed(c, ir_op_region(m, op, i));
    for (uint32_t i = 0; i < x->nresults && same; i++)
        same = ir_type_bytes(ir_val_type(m, ir_result(m, op, i)), &bytes);
    for (uint32_t i = 0; i < x->nresults; i++)
        enter(c, ir_result(m, op, i), same);
    return same;
}

/* ---- what is worth moving -------------------------------------------------------------------- */

/* Bytes that are read to have the value: of what is broadcast, its source's. */
static size_t source_bytes(const struct ir_module *m, ir_val v) {
    size_t bytes = 0;
    for (ir_op op; !IR_NONE(op = ir_val_get(m, v)->op); v = ir_operand(m, op, 0)) {
        enum ir_op_kind kind = ir_kind(m, op);
        if (kind == IR_CONSTANT || kind == IR_IOTA)
            return 0;
        if (!ir_op_has(kind, IR_T_VIEW))
            break;
    }
    ir_type_bytes(ir_val_type(m, v), &bytes);
    return bytes;
}

/* And there is room for it, which is taken. */
static bool worth(struct licm *c, ir_op op) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)x->kind);
    size_t out = 0, in = 0, bytes;
    for (uint32_t i = 0; i < x->nresults; i++) {
        if (!ir_type_bytes(ir_val_type(m, ir_result(m, op, i)), &bytes) || bytes > c->bytes - out)
            return false;
        out += bytes;
    }
    for (uint32_t i = 0; i < x->noperands; i++)
        in += source_bytes(m, x->operands[i]);
    if (info->traits & IR_T_VIEW)
        return false;
    if (info->cost >= 0 && info->cost < LICM_COST && (x->noperands == 0 || out > in))
        return false;
    c->bytes -= out;
    return true;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void copy(struct licm *c, ir_op loop, ir_op op);

/* Copies what the op uses of the body, in its regions too. */
static void copy_operands(struct licm *c, ir_op loop, ir_op op) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_op from = ir_val_get(m, opt_map_get(&c->outside, x->operands[i]))->op;
        if (!IR_NONE(from) && IR_SAME(ir_op_get(m, from)->parent, block_of(m, loop, 1)))
            copy(c, loop, from);
    }
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_op in = ir_block_get(m, block_of(m, op, i))->first; !IR_NONE(in); in = ir_op_get(m, in)->next)
            copy_operands(c, loop, in);
}

/* A copy of an invariant op of the body before the loop, with those that it needs. */
static void copy(struct licm *c, ir_op loop, ir_op op) {
    copy_operands(c, loop, op);
    ir_insert_before(c->map.o->m, loop, opt_clone(&c->outside, op));
}

/* Variables that every iteration yields unchanged are replaced by their initial values. Where all are, the loop runs never or
   forever, and is left alone. */
static void take_out(struct licm *c, ir_op loop) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_block_data *cond = ir_block_get(m, block_of(m, loop, 0)), *body = ir_block_get(m, block_of(m, loop, 1));
    uint32_t variable = 0;
    while (variable < body->nargs && opt_loop_invariant(m, loop, variable))
        variable++;
    for (uint32_t i = 0; i < body->nargs && variable < body->nargs; i++) {
        ir_val first = ir_operand(m, loop, i), all[3] = {cond->args[i], body->args[i], ir_result(m, loop, i)};
        bool same = opt_loop_invariant(m, loop, i);
        for (int k = 0; k < 3; k++)
            same &= IR_SAME(ir_val_get(m, all[k])->type, ir_val_get(m, first)->type);
        if (!same)
            continue;
        for (int k = 0; k < 3; k++)
            opt_map_set(&c->map, all[k], first);
        c->map.o->changes++;
    }
}

static void hoist(struct licm *c, ir_op loop) {
    struct opt *o = c->map.o;
    ir_block body = block_of(o->m, loop, 1);
    ir_op next;
    c->loop++;
    c->bytes = LICM_BYTES;
    take_out(c, loop);
    for (uint32_t i = 0; i < ir_block_get(o->m, body)->nargs; i++)
        enter(c, ir_block_get(o->m, body)->args[i], false);
    for (ir_op op = ir_block_get(o->m, body)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(o->m, op)->next;
        opt_update_all(&c->map, op);
        if (!survey(c, op) || !worth(c, op))
            continue;
        ir_val *copies = ARENA_ARRAY(&o->scratch, ir_val, ir_op_get(o->m, op)->nresults);
        copy(c, loop, op);
        for (uint32_t i = 0; i < ir_op_get(o->m, op)->nresults; i++)
            copies[i] = opt_map_get(&c->outside, ir_result(o->m, op, i));
        opt_replace(&c->map, op, copies);
        o->changes++;
    }
    opt_update_all(&c->map, loop);
}

static void visit(struct licm *c, ir_region r) {
    const struct ir_module *m = c->map.o->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            opt_update(&c->map, op);
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                visit(c, ir_op_region(m, op, i));
            if (ir_kind(m, op) == IR_WHILE)
                hoist(c, op);
        }
}

hilo_status opt_licm(struct opt *o) {
    struct licm c = {.map = opt_map_new(o), .outside = opt_map_new(o), .seen = {.a = &o->scratch}};
    visit(&c, ir_op_region(o->m, o->m->root, 0));
    return HILO_OK;
}
