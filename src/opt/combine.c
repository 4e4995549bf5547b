/* combine: fewer collectives
 * does       makes one all_reduce of several small ones with the same groups and fold that do not depend on each other, before
 *            the first use of any
 * requires   nothing
 * preserves  nothing
 * cost       linear, times the number of different kinds of all_reduces that are not used yet
 * example    %0 = all_reduce(%a); %1 = all_reduce(%b)  ⇒  %0:2 = all_reduce(%a, %b)
 *
 * What a small collective takes is the time until all members have met, not that of its bytes. Of large ones the bytes count,
 * which would be copied into one block and back. */
#include "opt/rules.h"

enum { MOST_BYTES = 1 << 20 }; /* of the operands that are combined */

/* Places are numbers of ops in a block, from 1; 0 = before the block. */
struct sum {
    ir_op op;
    enum ir_op_kind fold;
    uint32_t after, before; /* the last definition of an operand, the first use of a result */
    uint32_t group;
};

struct group {
    uint32_t first, n;      /* of its sums the first one, and their number */
    uint32_t after, before;
    size_t bytes;
};

struct combiner {
    struct rules r;
    struct opt_ids place;   /* by op of the block */
    struct opt_ids of;      /* by value: 1 + the sum that it is a result of */
    struct { struct sum *v; uint32_t n, cap; } sums;
    struct { struct group *v; uint32_t n, cap; } groups;
};

/* The sum of this block that a value is a result of; NULL = none. */
static struct sum *sum_of(struct combiner *c, ir_val v) {
    uint32_t of = opt_ids_get(&c->of, v.i);
    return of && of <= c->sums.n && IR_SAME(ir_val_get(c->r.m, v)->op, c->sums.v[of - 1].op) ? &c->sums.v[of - 1] : NULL;
}

/* Bytes of the operands; false where the op is not to be combined. */
static bool bytes_of(struct combiner *c, ir_op op, size_t *out) {
    const struct ir_op_data *x = ir_op_get(c->r.m, op);
    *out = 0;
    for (uint32_t i = 0; i < x->noperands; i++) {
        const struct ir_type_data *t = ir_val_type(c->r.m, x->operands[i]);
        size_t bytes;
        if (!ir_type_is_shaped(t) || !ir_type_is_static(t) || t->quant || !ir_type_count(t, &bytes) ||
            !mem_mul(bytes, ir_dtype_get(t->dtype)->bytes, &bytes) || !mem_add(*out, bytes, out) ||
            sum_of(c, x->operands[i]))
            return false;
    }
    return *out <= MOST_BYTES;
}

static void note(struct combiner *c, ir_op op, uint32_t place) {
    const struct ir_op_data *x = ir_op_get(c->r.m, op);
    size_t bytes;
    if (x->kind != IR_ALL_REDUCE || !x->noperands || !bytes_of(c, op, &bytes))
        return;
    struct sum s = {.op = op, .fold = rules_reducer(&c->r, op), .before = UINT32_MAX};
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_op definition = ir_val_get(c->r.m, x->operands[i])->op;
        uint32_t at = IR_NONE(definition) ? 0 : opt_ids_get(&c->place, definition.i);
        s.after = at > s.after ? at : s.after;
    }
    if (s.fold == IR_OP_NONE || s.after >= place)
        return;
    ARENA_PUSH(&c->r.o->scratch, &c->sums, s);
    for (uint32_t i = 0; i < x->nresults; i++)
        opt_ids_set(&c->of, ir_result(c->r.m, op, i).i, c->sums.n);
}

/* The op, with what is in it, stands at that place of the block. */
static void note_uses(struct combiner *c, ir_op op, uint32_t place) {
    const struct ir_op_data *x = ir_op_get(c->r.m, op);
    for (uint32_t i = 0; i < x->noperands; i++) {
        struct sum *s = sum_of(c, x->operands[i]);
        if (s && place < s->before)
            s->before = place;
    }
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(c->r.m, ir_op_region(c->r.m, op, i))->first; !IR_NONE(b);
             b = ir_block_get(c->r.m, b)->next)
            for (ir_op in = ir_block_get(c->r.m, b)->first; !IR_NONE(in); in = ir_op_get(c->r.m, in)->next)
                note_uses(c, in, place);
}

/* Folds may be of a wider type than the operands, that of the results. */
static bool alike(const struct combiner *c, const struct sum *a, const struct sum *b) {
    const struct ir_module *m = c->r.m;
    return a->fold == b->fold &&
           IR_SAME(ir_val_type(m, ir_operand(m, a->op, 0))->elem, ir_val_type(m, ir_operand(m, b->op, 0))->elem) &&
           IR_SAME(ir_val_type(m, ir_result(m, a->op, 0))->elem, ir_val_type(m, ir_result(m, b->op, 0))->elem) &&
           IR_SAME(ir_prop(m, a->op, IR_ALL_REDUCE_replica_groups), ir_prop(m, b->op, IR_ALL_REDUCE_replica_groups)) &&
           IR_NONE(ir_prop(m, a->op, IR_ALL_REDUCE_channel_handle)) ==
               IR_NONE(ir_prop(m, b->op, IR_ALL_REDUCE_channel_handle)) &&
           IR_SAME(ir_prop(m, a->op, IR_ALL_REDUCE_use_global_device_ids),
                   ir_prop(m, b->op, IR_ALL_REDUCE_use_global_device_ids));
}

static void find_group(struct combiner *c, uint32_t i) {
    struct sum *s = &c->sums.v[i];
    size_t bytes, all;
    (void)bytes_of(c, s->op, &bytes);
    for (uint32_t k = 0; k < c->groups.n; k++) {
        struct group *g = &c->groups.v[k];
        uint32_t after = s->after > g->after ? s->after : g->after, before = s->before < g->before ? s->before : g->before;
        if (after >= before || !mem_add(g->bytes, bytes, &all) || all > MOST_BYTES || !alike(c, &c->sums.v[g->first], s))
            continue;
        *g = (struct group){g->first, g->n + 1, after, before, all};
        s->group = k;
        return;
    }
    s->group = c->groups.n;
    ARENA_PUSH(&c->r.o->scratch, &c->groups, ((struct group){i, 1, s->after, s->before, bytes}));
}

/* The one op for a group, before `at`. */
static void make(struct combiner *c, uint32_t group, ir_op at, struct opt_map *map) {
    struct ir_module *m = c->r.m;
    uint32_t n = 0, done = 0;
    for (uint32_t i = 0; i < c->sums.n; i++)
        n += c->sums.v[i].group == group ? ir_op_get(m, c->sums.v[i].op)->noperands : 0;
    ir_val *in = ARENA_ARRAY(&c->r.o->scratch, ir_val, n);
    ir_type *types = ARENA_ARRAY(&c->r.o->scratch, ir_type, n);
    for (uint32_t i = 0; i < c->sums.n; i++)
        for (uint32_t k = 0; c->sums.v[i].group == group && k < ir_op_get(m, c->sums.v[i].op)->noperands; k++) {
            in[done] = ir_operand(m, c->sums.v[i].op, k);
            types[done++] = ir_val_get(m, ir_result(m, c->sums.v[i].op, k))->type;
        }
    ir_op first = c->sums.v[c->groups.v[group].first].op, made = opt_remake(c->r.o, first, in, n, types, n);
    opt_clone_region(map, ir_op_region(m, first, 0), ir_op_region(m, made, 0));
    ir_insert_before(m, at, made);
    done = 0;
    for (uint32_t i = 0; i < c->sums.n; i++) {
        uint32_t nresults = ir_op_get(m, c->sums.v[i].op)->nresults;
        if (c->sums.v[i].group != group)
            continue;
        ir_val *out = ARENA_ARRAY(&c->r.o->scratch, ir_val, nresults);
        for (uint32_t k = 0; k < nresults; k++)
            out[k] = ir_result(m, made, done++);
        opt_replace(map, c->sums.v[i].op, out);
        c->r.o->changes++;
    }
}

static void combine_block(struct combiner *c, ir_block b, struct opt_map *map) {
    struct ir_module *m = c->r.m;
    uint32_t place = 0;
    c->sums.n = c->groups.n = 0;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        opt_ids_set(&c->place, op.i, ++place);
        note(c, op, place);
        note_uses(c, op, place);
    }
    if (c->sums.n < 2)
        return;
    for (uint32_t i = 0; i < c->sums.n; i++)
        find_group(c, i);
    ir_op *users = ARENA_ARRAY(&c->r.o->scratch, ir_op, place + 1);
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        users[opt_ids_get(&c->place, op.i)] = op;
    for (uint32_t k = 0; k < c->groups.n; k++)
        if (c->groups.v[k].n > 1)
            make(c, k, users[c->groups.v[k].before < place ? c->groups.v[k].before : place], map);
}

static void combine_in(struct combiner *c, ir_op op, struct opt_map *map) {
    struct ir_module *m = c->r.m;
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next) {
            for (ir_op in = ir_block_get(m, b)->first; !IR_NONE(in); in = ir_op_get(m, in)->next)
                combine_in(c, in, map);
            combine_block(c, b, map);
        }
}

hilo_status opt_combine(struct opt *o) {
    struct combiner c = {.r = {.o = o, .m = o->m}, .place = {.a = &o->scratch}, .of = {.a = &o->scratch}};
    struct opt_map map = opt_map_new(o);
    combine_in(&c, o->m->root, &map);
    if (o->changes)
        opt_update_all(&map, o->m->root);
    return HILO_OK;
}
