/* inline
 * does       puts the body of a private function where it is called, that of a decomposition where its composite is, and that
 *            of a fusion where the fusion is
 * requires   calls: functions are copied callees first, so that each body is complete when it is copied
 * preserves  nothing
 * cost       linear in the size of the result, which is bounded; a call that would lead beyond that stays
 * example    func.call @twice(%x)  ⇒  stablehlo.add %x, %x
 *
 * A private function with one reference moves to its call; others are copied. A call is inlined when its callee comes before
 * the caller in the order of opt_calls. Where functions call each other in a circle, one of the calls does not, and stays. */
#include "opt/rewrite.h"

enum {
    INLINE_DEPTH = 64,          /* of nested regions: readers, and this program's recursion, have limits */
    INLINE_GROWTH = 16,         /* the module may have this many times the ops that it had, */
    INLINE_ALWAYS = 1 << 16     /* and at least these */
};

struct inliner {
    struct opt_map map;
    const struct opt_calls *calls;
    bool *moved;                /* by function: it went to its only call */
    uint32_t *size, *depth;     /* by function: ops and depth of regions, as they are now */
    uint32_t self;              /* the function that is visited */
    size_t room;                /* ops that may still be added */
};

static bool inline_may(const struct inliner *c, ir_op op, uint32_t callee, uint32_t depth) {
    const struct opt *o = c->map.o;
    ir_op func = c->calls->v[callee].op;
    ir_region body = ir_op_region(o->m, func, 0);
    bool one_block = IR_SAME(ir_region_get(o->m, body)->first, ir_region_get(o->m, body)->last);
    bool wanted = ir_kind(o->m, op) == IR_COMPOSITE ||
                  str_is(ir_prop_str(o->m, func, IR_FUNC_sym_visibility), "private");
    return wanted && one_block && callee < c->self && depth + c->depth[callee] <= INLINE_DEPTH &&
           c->size[callee] <= c->room;
}

static void inline_at(struct inliner *c, ir_op op, uint32_t callee) {
    struct opt *o = c->map.o;
    const struct ir_block_data *body = ir_block_get(o->m, ir_func_body(o->m, c->calls->v[callee].op));
    for (uint32_t i = 0; i < body->nargs; i++)
        opt_map_set(&c->map, body->args[i], ir_operand(o->m, op, i));
    for (ir_op inner = body->first; !IR_SAME(inner, body->last); inner = ir_op_get(o->m, inner)->next)
        ir_insert_before(o->m, op, opt_clone(&c->map, inner));
    opt_replace(&c->map, op, ir_op_get(o->m, body->last)->operands);
    c->room -= c->size[callee];
    c->size[c->self] += c->size[callee];
    o->changes++;
}

/* ---- functions with one call ------------------------------------------------------------------- */

static uint32_t nesting(const struct ir_module *m, ir_region r) {
    uint32_t most = 0;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++) {
                uint32_t n = 1 + nesting(m, ir_op_region(m, op, i));
                most = n > most ? n : most;
            }
    return most;
}

/* The call is the only reference to the function, which goes with it. */
static bool move_may(const struct inliner *c, uint32_t callee, uint32_t depth) {
    const struct opt *o = c->map.o;
    ir_op func = c->calls->v[callee].op;
    ir_region body = ir_op_region(o->m, func, 0);
    return callee < c->self && opt_ids_get(&c->calls->refs, func.i) == 1 && !opt_is_root(o, func) &&
           str_is(ir_prop_str(o->m, func, IR_FUNC_sym_visibility), "private") &&
           IR_SAME(ir_region_get(o->m, body)->first, ir_region_get(o->m, body)->last) &&
           depth + nesting(o->m, body) <= INLINE_DEPTH;
}

/* Moves bodies to their only calls, callers first, so that a chain of calls of any length is one pass over its ops and none is
   copied. */
static void move_region(struct inliner *c, ir_region r, uint32_t depth) {
    struct opt *o = c->map.o;
    ir_op next;
    for (ir_block b = ir_region_get(o->m, r)->first; !IR_NONE(b); b = ir_block_get(o->m, b)->next)
        for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = next) {
            opt_update(&c->map, op);
            next = ir_op_get(o->m, op)->next;
            uint32_t callee = opt_ids_get(&c->calls->index, opt_callee(o, op).i);
            if (!callee || !move_may(c, callee - 1, depth)) {
                for (uint32_t i = 0; i < ir_op_get(o->m, op)->nregions; i++)
                    move_region(c, ir_op_region(o->m, op, i), depth + 1);
                continue;
            }
            ir_op func = c->calls->v[callee - 1].op;
            ir_block block = ir_func_body(o->m, func);
            const struct ir_block_data *body = ir_block_get(o->m, block);
            ir_op end = body->last;
            for (uint32_t i = 0; i < body->nargs; i++)
                opt_map_set(&c->map, body->args[i], ir_operand(o->m, op, i));
            if (!IR_SAME(body->first, end))
                next = body->first;
            opt_splice(o, block, op);
            opt_replace(&c->map, op, ir_op_get(o->m, end)->operands);
            ir_unlink(o->m, func);
            c->moved[callee - 1] = true;
            c->size[c->self] += c->size[callee - 1];
            o->changes++;
        }
}

/* ---- copies ------------------------------------------------------------------------------------ */

static void inline_region(struct inliner *c, ir_region r, uint32_t depth);

/* Adds no ops: the body moves. */
static void inline_fusion(struct inliner *c, ir_op op, uint32_t depth) {
    struct opt *o = c->map.o;
    ir_region r = ir_op_region(o->m, op, 0);
    ir_block block = ir_region_get(o->m, r)->first;
    const struct ir_block_data *body = ir_block_get(o->m, block);
    for (uint32_t i = 0; i < body->nargs; i++)
        opt_map_set(&c->map, body->args[i], ir_operand(o->m, op, i));
    inline_region(c, r, depth);
    ir_op end = ir_terminator(o->m, block);
    opt_splice(o, block, op);
    opt_replace(&c->map, op, ir_op_get(o->m, end)->operands);
    o->changes++;
}

static void inline_region(struct inliner *c, ir_region r, uint32_t depth) {
    struct opt *o = c->map.o;
    ir_op next;
    if (depth > c->depth[c->self])
        c->depth[c->self] = depth;
    for (ir_block b = ir_region_get(o->m, r)->first; !IR_NONE(b); b = ir_block_get(o->m, b)->next)
        for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = next) {
            next = ir_op_get(o->m, op)->next;
            opt_update(&c->map, op);
            if (ir_kind(o->m, op) == IR_FUSION) {
                inline_fusion(c, op, depth);
                continue;
            }
            uint32_t callee = opt_ids_get(&c->calls->index, opt_callee(o, op).i);
            if (callee && inline_may(c, op, callee - 1, depth)) {
                inline_at(c, op, callee - 1);
                if (depth + c->depth[callee - 1] > c->depth[c->self])
                    c->depth[c->self] = depth + c->depth[callee - 1];
                continue;
            }
            for (uint32_t i = 0; i < ir_op_get(o->m, op)->nregions; i++)
                inline_region(c, ir_op_region(o->m, op, i), depth + 1);
        }
}

hilo_status opt_inline(struct opt *o) {
    struct inliner c = {.map = opt_map_new(o), .calls = opt_calls(o)};
    c.size = ARENA_ARRAY(&o->scratch, uint32_t, c.calls->n);
    c.depth = ARENA_ARRAY(&o->scratch, uint32_t, c.calls->n);
    for (uint32_t i = 0; i < c.calls->n; i++) {
        c.size[i] = c.calls->v[i].nops;
        c.room += (size_t)INLINE_GROWTH * c.size[i];
    }
    if (c.room < INLINE_ALWAYS)
        c.room = INLINE_ALWAYS;
    c.moved = ARENA_ARRAY(&o->scratch, bool, c.calls->n);
    memset(c.moved, 0, c.calls->n * sizeof *c.moved);
    for (c.self = c.calls->n; c.self-- > 0;)
        if (c.calls->v[c.self].reached && !c.moved[c.self])
            move_region(&c, ir_op_region(o->m, c.calls->v[c.self].op, 0), 0);
    for (c.self = 0; c.self < c.calls->n; c.self++)
        if (c.calls->v[c.self].reached && !c.moved[c.self])
            inline_region(&c, ir_op_region(o->m, c.calls->v[c.self].op, 0), 0);
    return HILO_OK;
}
