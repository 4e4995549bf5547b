/* dce: dead code elimination
 * does       removes ops without an effect whose results nothing needs; of loops, reductions, sorts and branches the variables
 *            and results that nothing needs; functions that nothing refers to
 * requires   calls
 * preserves  nothing
 * cost       linear
 * example    %0:2 = stablehlo.while(%i, %unused) …  ⇒  %0 = stablehlo.while(%i) …
 *
 * What is needed is marked backwards from effects and from what functions return; the rest is swept. A loop carries what it
 * computes for itself alone in a circle, which only marking finds dead. */
#include "opt/rewrite.h"

/* ---- ops with slots -------------------------------------------------------------------------- */

/* Ops whose results are slots that do not depend on each other but through their regions (IR_T_SLOTS): result i, some operands,
 * some arguments of their regions and what a region returns belong together, and can be removed together. Column `operands` of
 * ops.def gives their numbers: kinds without `*` lead, each with one is an operand of every slot. */
struct slots {
    uint32_t n;            /* slots: results */
    uint32_t leading;      /* operands before those of slots; always needed */
    uint32_t per_operand;  /* operands of a slot: i, i + n … after the leading ones */
    uint32_t per_arg;      /* arguments of a slot in each region */
    bool paired;           /* they are neighbours (2i, 2i + 1), not n apart */
    bool predicate;        /* region 0 returns a predicate, which is needed; others return a value for every slot */
};

static bool slots_of(const struct ir_module *m, ir_op op, struct slots *s) {
    const struct ir_op_data *o = ir_op_get(m, op);
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)o->kind);
    if (!(info->traits & IR_T_SLOTS) || !o->nresults || !o->nregions)
        return false;
    *s = (struct slots){.n = o->nresults, .predicate = info->traits & IR_T_PREDICATE};
    for (const char *p = info->operands; *p; p++)
        if (p[1] == ' ' || !p[1])
            ++*(*p == '*' ? &s->per_operand : &s->leading);
    s->per_arg = ir_block_get(m, ir_region_get(m, ir_op_region(m, op, 0))->first)->nargs / s->n;
    s->paired = s->per_arg > s->per_operand; /* two elements of one operand are compared */
    return o->noperands == s->leading + s->n * s->per_operand;
}

static bool slots_yield(const struct slots *s, uint32_t region) {
    return region || !s->predicate;
}

static uint32_t slots_arg(const struct slots *s, uint32_t arg) {
    return s->paired ? arg / s->per_arg : arg % s->n;
}

/* ---- marking --------------------------------------------------------------------------------- */

struct dce {
    struct opt_map map;
    struct opt_ids needed;  /* by op: 1 */
    struct opt_ids live;    /* by value: 1. A result of an op with slots stands for its slot. */
    struct { ir_val *v; uint32_t n, cap; } work;
};

static void mark_val(struct dce *c, ir_val v) {
    if (opt_ids_get(&c->live, v.i))
        return;
    opt_ids_set(&c->live, v.i, 1);
    ARENA_PUSH(&c->map.o->scratch, &c->work, v);
}

static ir_op terminator(const struct ir_module *m, ir_region r) {
    ir_block b = ir_region_get(m, r)->first;
    return IR_NONE(b) ? (ir_op){0} : ir_terminator(m, b);
}

static ir_op enclosing(const struct ir_module *m, ir_block b) {
    return ir_region_get(m, ir_block_get(m, b)->parent)->parent;
}

/* The op stays, with those around it. */
static void mark_op(struct dce *c, ir_op op) {
    const struct ir_module *m = c->map.o->m;
    struct slots s;
    while (!opt_ids_get(&c->needed, op.i)) {
        const struct ir_op_data *o = ir_op_get(m, op);
        bool slotted = slots_of(m, op, &s);
        opt_ids_set(&c->needed, op.i, 1);
        for (uint32_t i = 0; i < (slotted ? s.leading : o->noperands); i++)
            mark_val(c, o->operands[i]);
        for (uint32_t r = 0; r < o->nregions; r++) {
            ir_op end = terminator(m, ir_op_region(m, op, r));
            if (IR_NONE(end) || (slotted && slots_yield(&s, r)))
                continue;
            for (uint32_t i = 0; i < ir_op_get(m, end)->noperands; i++)
                mark_val(c, ir_operand(m, end, i));
        }
        if (IR_NONE(o->parent))
            return;
        op = enclosing(m, o->parent);
    }
}

static void mark_slot(struct dce *c, ir_op op, const struct slots *s, uint32_t i) {
    const struct ir_module *m = c->map.o->m;
    for (uint32_t k = 0; k < s->per_operand; k++)
        mark_val(c, ir_operand(m, op, s->leading + i + k * s->n));
    for (uint32_t r = 0; r < ir_op_get(m, op)->nregions; r++) {
        ir_op end = terminator(m, ir_op_region(m, op, r));
        if (slots_yield(s, r) && !IR_NONE(end))
            mark_val(c, ir_operand(m, end, i));
    }
}

static void mark_all(struct dce *c) {
    const struct ir_module *m = c->map.o->m;
    while (c->work.n) {
        const struct ir_val_data *v = ir_val_get(m, c->work.v[--c->work.n]);
        ir_op op = IR_NONE(v->op) ? enclosing(m, v->block) : v->op;
        struct slots s;
        mark_op(c, op);
        if (!slots_of(m, op, &s))
            continue;
        if (IR_NONE(v->op))
            mark_val(c, ir_result(m, op, slots_arg(&s, v->index)));
        else
            mark_slot(c, op, &s, v->index);
    }
}

/* Ops that stay whatever is made of their results. Of ops with regions that is what is inside of them. */
static void mark_roots(struct dce *c, ir_region r) {
    struct opt *o = c->map.o;
    for (ir_block b = ir_region_get(o->m, r)->first; !IR_NONE(b); b = ir_block_get(o->m, b)->next)
        for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = ir_op_get(o->m, op)->next) {
            uint32_t nregions = ir_op_get(o->m, op)->nregions;
            enum ir_op_kind kind = ir_kind(o->m, op);
            bool inside = nregions && ir_op_has(kind, IR_T_CONTROL | IR_T_PURE) && kind != IR_COMPOSITE;
            if (ir_op_has(kind, IR_T_SYMBOL) || (!inside && opt_has_effect(o, op)))
                mark_op(c, op);
            for (uint32_t i = 0; i < nregions; i++)
                mark_roots(c, ir_op_region(o->m, op, i));
        }
}

/* ---- sweeping -------------------------------------------------------------------------------- */

/* Of n values the first `leading` ones and those of slots that are kept; their number in `left`. */
static ir_val *keep_slots(struct dce *c, const ir_val *v, uint32_t n, uint32_t leading, const bool *kept, uint32_t nslots,
                          uint32_t *left) {
    ir_val *list = ARENA_ARRAY(&c->map.o->scratch, ir_val, n);
    *left = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i < leading || kept[(i - leading) % nslots])
            list[(*left)++] = v[i];
    return list;
}

/* Moves the block of a region into a region of `to`, without the arguments and returned values of slots that go. */
static void move_region(struct dce *c, ir_op from, ir_op to, uint32_t region, const struct slots *s, const bool *kept) {
    struct ir_module *m = c->map.o->m;
    ir_block old = ir_region_get(m, ir_op_region(m, from, region))->first;
    const struct ir_block_data *b = ir_block_get(m, old);
    ir_block block = ir_block_new(m, ir_op_region(m, to, region));
    for (uint32_t i = 0; i < b->nargs; i++)
        if (kept[slots_arg(s, i)]) {
            ir_val arg = ir_block_add_arg(m, block, ir_val_get(m, b->args[i])->type);
            ir_set_val_loc(m, arg, ir_val_get(m, b->args[i])->loc);
            opt_map_set(&c->map, b->args[i], arg);
        }
    for (ir_op op; !IR_NONE(op = b->first);) {
        ir_unlink(m, op);
        ir_append(m, block, op);
    }
    ir_op end = ir_terminator(m, block);
    if (slots_yield(s, region)) {
        uint32_t left;
        const struct ir_op_data *e = ir_op_get(m, end);
        ir_val *list = keep_slots(c, e->operands, e->noperands, 0, kept, s->n, &left);
        ir_set_operands(m, end, list, left);
    }
}

/* The op without the slots that nothing needs; itself when all are needed. */
static ir_op narrow(struct dce *c, ir_op op) {
    struct opt *o = c->map.o;
    struct slots s;
    if (!slots_of(o->m, op, &s))
        return op;
    const struct ir_op_data *x = ir_op_get(o->m, op);
    bool *kept = ARENA_ARRAY(&o->scratch, bool, s.n);
    ir_type *types = ARENA_ARRAY(&o->scratch, ir_type, s.n);
    uint32_t n = 0, left;
    for (uint32_t i = 0; i < s.n; i++)
        if ((kept[i] = opt_ids_get(&c->live, ir_result(o->m, op, i).i)))
            types[n++] = ir_val_get(o->m, ir_result(o->m, op, i))->type;
    if (n == s.n)
        return op;
    ir_val *operands = keep_slots(c, x->operands, x->noperands, s.leading, kept, s.n, &left);
    ir_op fresh = opt_remake(o, op, operands, left, types, n);
    for (uint32_t r = 0; r < x->nregions; r++)
        move_region(c, op, fresh, r, &s, kept);
    for (uint32_t i = 0, k = 0; i < s.n; i++)
        if (kept[i])
            opt_map_set(&c->map, ir_result(o->m, op, i), ir_result(o->m, fresh, k++));
    ir_insert_before(o->m, op, fresh);
    ir_unlink(o->m, op);
    o->changes++;
    return fresh;
}

static void sweep(struct dce *c, ir_region r) {
    struct opt *o = c->map.o;
    ir_op next;
    for (ir_block b = ir_region_get(o->m, r)->first; !IR_NONE(b); b = ir_block_get(o->m, b)->next)
        for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = next) {
            next = ir_op_get(o->m, op)->next;
            if (!opt_ids_get(&c->needed, op.i) && !ir_op_has(ir_kind(o->m, op), IR_T_TERMINATOR)) {
                ir_unlink(o->m, op);
                o->changes++;
                continue;
            }
            opt_update(&c->map, op);
            op = narrow(c, op);
            for (uint32_t i = 0; i < ir_op_get(o->m, op)->nregions; i++)
                sweep(c, ir_op_region(o->m, op, i));
        }
}

static void sweep_functions(struct opt *o) {
    const struct opt_calls *calls = opt_calls(o);
    for (uint32_t i = 0; i < calls->n; i++)
        if (!calls->v[i].reached) {
            ir_unlink(o->m, calls->v[i].op);
            o->changes++;
        }
}

hilo_status opt_dce(struct opt *o) {
    struct dce c = {.map = opt_map_new(o), .needed = {.a = &o->scratch}, .live = {.a = &o->scratch}};
    sweep_functions(o);
    ir_region root = ir_op_region(o->m, o->m->root, 0);
    mark_roots(&c, root);
    mark_all(&c);
    sweep(&c, root);
    o->valid &= ~(unsigned)OPT_CALLS; /* calls may be gone, and with them the need for a function */
    sweep_functions(o);
    return HILO_OK;
}
