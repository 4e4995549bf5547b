/* cse: common subexpression elimination
 * does       replaces a pure op by an equal one before it, in its block or around it: equal kind, operands (in any order where
 *            the op commutes), attributes, result types, and regions that differ in names alone
 * requires   nothing
 * preserves  calls
 * cost       linear: one look-up in a hash table an op
 * example    %0 = add %a, %b; %1 = add %b, %a; use %1  ⇒  %0 = add %a, %b; use %0
 *
 * The body of a reduction, and of whatever else is not control flow, begins anew: it is to have no values from outside. */
#include "opt/rewrite.h"
#include "base/torture.h"

struct entry {
    ir_op op;
    uint64_t hash;
    uint32_t next;          /* in the chain of its bucket: 1 + index */
};

struct cse {
    struct opt_map map;
    struct { struct entry *v; uint32_t n, cap; } seen;  /* a stack: scopes end by cutting it */
    uint32_t *buckets, nbuckets;                        /* 1 + index of the newest entry; a power of two */
    uint32_t scope;                                     /* entries before this are not to be seen */
    struct opt_ids same;                                /* while regions are compared: value of one, by value of the other */
};

/* ---- comparing ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t hash_op(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    uint64_t h = mix(o->kind, (uint64_t)o->noperands << 32 | o->nregions), sum = 0;
    bool commutes = ir_op_has((enum ir_op_kind)o->kind, IR_T_COMMUTATIVE);
    for (uint32_t i = 0; i < o->noperands; i++) {
        sum += mix(1, o->operands[i].i);
        h = commutes ? h : mix(h, o->operands[i].i);
    }
    h = mix(h, commutes ? sum : o->attrs.i);
    for (uint32_t i = 0; i < ir_op_info((enum ir_op_kind)o->kind)->nslots; i++)
        h = mix(h, o->props[i].i);
    for (uint32_t i = 0; i < o->nresults; i++)
        h = mix(h, ir_val_get(m, ir_result(m, op, i))->type.i);
    return h;
}

static bool same_val(const struct cse *c, ir_val a, ir_val b) {
    uint32_t inner = opt_ids_get(&c->same, b.i);
    return IR_SAME(a, inner ? (ir_val){inner} : b);
}

static bool same_region(struct cse *c, ir_region a, ir_region b);

static bool same_op(struct cse *c, ir_op a, ir_op b) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, a), *y = ir_op_get(m, b);
    if (x->kind != y->kind || x->noperands != y->noperands || x->nresults != y->nresults || x->nregions != y->nregions ||
        !IR_SAME(x->attrs, y->attrs) || !IR_SAME(x->name, y->name))
        return false;
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)x->kind);
    if (info->nslots && memcmp(x->props, y->props, info->nslots * sizeof *x->props) != 0)
        return false;
    bool operands = true;
    for (uint32_t i = 0; i < x->noperands; i++)
        operands &= same_val(c, x->operands[i], y->operands[i]);
    if (!operands && !(info->traits & IR_T_COMMUTATIVE && x->noperands == 2 &&
                       same_val(c, x->operands[0], y->operands[1]) && same_val(c, x->operands[1], y->operands[0])))
        return false;
    for (uint32_t i = 0; i < x->nresults; i++)
        if (!IR_SAME(ir_val_get(m, ir_result(m, a, i))->type, ir_val_get(m, ir_result(m, b, i))->type))
            return false;
    for (uint32_t i = 0; i < x->nregions; i++)
        if (!same_region(c, ir_op_region(m, a, i), ir_op_region(m, b, i)))
            return false;
    return true;
}

/* Both of one block, with the same arguments and ops. */
static bool same_region(struct cse *c, ir_region a, ir_region b) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_region_data *x = ir_region_get(m, a), *y = ir_region_get(m, b);
    if (IR_NONE(x->first) || IR_NONE(y->first) || !IR_SAME(x->first, x->last) || !IR_SAME(y->first, y->last))
        return false;
    const struct ir_block_data *p = ir_block_get(m, x->first), *q = ir_block_get(m, y->first);
    if (p->nargs != q->nargs)
        return false;
    for (uint32_t i = 0; i < p->nargs; i++) {
        if (!IR_SAME(ir_val_get(m, p->args[i])->type, ir_val_get(m, q->args[i])->type))
            return false;
        opt_ids_set(&c->same, q->args[i].i, p->args[i].i);
    }
    ir_op i = p->first, j = q->first;
    for (; !IR_NONE(i) && !IR_NONE(j); i = ir_op_get(m, i)->next, j = ir_op_get(m, j)->next) {
        if (!same_op(c, i, j))
            return false;
        for (uint32_t k = 0; k < ir_op_get(m, i)->nresults; k++)
            opt_ids_set(&c->same, ir_result(m, j, k).i, ir_result(m, i, k).i);
    }
    return IR_NONE(i) && IR_NONE(j);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void grow(struct cse *c) {
    c->nbuckets = c->nbuckets ? 2 * c->nbuckets : TORTURED(TORTURE_BUCKETS, 256);
    c->buckets = ARENA_ARRAY(&c->map.o->scratch, uint32_t, c->nbuckets);
    for (uint32_t i = 0; i < c->seen.n; i++) {
        uint32_t *bucket = &c->buckets[c->seen.v[i].hash & (c->nbuckets - 1)];
        c->seen.v[i].next = *bucket;
        *bucket = i + 1;
    }
}

/* An op equal to this one that may be used in its place; else none, and the op is entered. */
static ir_op find_or_enter(struct cse *c, ir_op op) {
    uint64_t hash = hash_op(c->map.o->m, op);
    if (c->seen.n == c->nbuckets)
        grow(c);
    uint32_t *bucket = &c->buckets[hash & (c->nbuckets - 1)];
    for (uint32_t i = *bucket; i > c->scope; i = c->seen.v[i - 1].next)
        if (c->seen.v[i - 1].hash == hash && same_op(c, c->seen.v[i - 1].op, op))
            return c->seen.v[i - 1].op;
    struct entry e = {op, hash, *bucket};
    ARENA_PUSH(&c->map.o->scratch, &c->seen, e);
    *bucket = c->seen.n;
    return (ir_op){0};
}

/* Entries leave in the reverse order of their coming, so each is the first of its chain. */
static void cut(struct cse *c, uint32_t n) {
    while (c->seen.n > n) {
        const struct entry *e = &c->seen.v[--c->seen.n];
        c->buckets[e->hash & (c->nbuckets - 1)] = e->next;
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Barriers are there to keep equal computations apart. */
static bool eligible(const struct ir_module *m, ir_op op) {
    enum ir_op_kind kind = ir_kind(m, op);
    return ir_op_has(kind, IR_T_PURE) && kind != IR_OPTIMIZATION_BARRIER && ir_op_get(m, op)->nresults > 0;
}

static void cse_region(struct cse *c, ir_region r, bool anew);

static void cse_op(struct cse *c, ir_op op) {
    struct opt *o = c->map.o;
    const struct ir_op_data *x = ir_op_get(o->m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    opt_update(&c->map, op);
    bool anew = !ir_op_has(kind, IR_T_CONTROL) || ir_op_has(kind, IR_T_ISOLATED);
    for (uint32_t i = 0; i < x->nregions; i++)
        cse_region(c, ir_op_region(o->m, op, i), anew);
    if (!eligible(o->m, op) || (x->nregions && opt_has_effect(o, op)))
        return;
    ir_op before = find_or_enter(c, op);
    if (IR_NONE(before))
        return;
    for (uint32_t i = 0; i < x->nresults; i++)
        opt_map_set(&c->map, ir_result(o->m, op, i), ir_result(o->m, before, i));
    ir_unlink(o->m, op);
    o->changes++;
}

static void cse_region(struct cse *c, ir_region r, bool anew) {
    const struct ir_module *m = c->map.o->m;
    uint32_t scope = c->scope;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next) {
        uint32_t n = c->seen.n;
        if (anew)
            c->scope = n;
        ir_op next;
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = next) {
            next = ir_op_get(m, op)->next;
            cse_op(c, op);
        }
        cut(c, n);
        c->scope = scope;
    }
}

hilo_status opt_cse(struct opt *o) {
    struct cse c = {.map = opt_map_new(o), .same = {.a = &o->scratch}};
    grow(&c);
    cse_region(&c, ir_op_region(o->m, o->m->root, 0), true);
    return HILO_OK;
}
