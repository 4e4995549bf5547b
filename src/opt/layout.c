/* layout: the order of dimensions of elementwise chains
 * does       gives elementwise ops that hang together the order of dimensions in which most of what they read and of what
 *            reads them wants it, so that the transposes around them cancel
 * requires   nothing
 * preserves  nothing
 * cost       linear, times a few orders that are tried for each chain
 * example    transpose (maximum (transpose %conv), 0)  ⇒  maximum %conv, 0
 *
 * Weighed are the bytes of the transposes at the edges of a chain. Those that are needed in the new order are written as
 * transposes of the op there; `simplify` makes one of two, or none. */
#include "opt/rewrite.h"

#include <string.h>

enum { LAYOUT_ORDERS = 8 /* that are tried */ };

/* Where a value comes into a chain, or leaves it. */
struct edge {
    uint32_t next;       /* of the same chain: 1 + its number */
    bool in;
    const int64_t *perm; /* of the transpose that it comes from, or goes to; NULL = something else */
    size_t bytes;
};

struct layout {
    struct opt_map map;
    struct opt_ids parent; /* by op of a chain: the next towards the op that stands for it; itself at the end */
    struct opt_ids edges;  /* by that op: its edges, from 1 */
    struct opt_ids seen;   /* by value: its edge to what is no transpose is there; likewise into which chain it was added */
    struct opt_ids transposed; /* by value: itself in the order of the chain `transposed_chain` */
    struct opt_ids transposed_chain;
    struct opt_ids order;  /* by op that stands for a chain: 1 + the number in `orders` */
    struct {
        struct edge *v;
        uint32_t n, cap;
    } all;
    struct {
        int64_t (*v)[IR_MAX_RANK];
        uint32_t n, cap;
    } orders;
};

/* ---- chains ---------------------------------------------------------------------------------- */

static bool same_dims(const struct ir_type_data *a, const struct ir_type_data *b) {
    return a->kind == IR_TYPE_TENSOR && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

static bool is_plain(const struct ir_type_data *t) {
    return t->kind == IR_TYPE_TENSOR && t->rank > 1 && ir_type_is_static(t) && !t->quant && IR_NONE(t->encoding);
}

/* An op of a chain: its operands have its result's shape, or are scalars. */
static bool is_member(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    if (!ir_op_has(kind, IR_T_ELEMENTWISE) || !ir_op_has(kind, IR_T_PURE) || x->nresults != 1 || x->nregions || !x->noperands ||
        !IR_NONE(x->attrs))
        return false;
    const struct ir_type_data *t = ir_val_type(m, ir_result(m, op, 0));
    for (uint32_t i = 0; i < x->noperands; i++) {
        const struct ir_type_data *u = ir_val_type(m, x->operands[i]);
        if (!same_dims(u, t) && u->rank != 0)
            return false;
        if (u->rank && !is_plain(u))
            return false;
    }
    return is_plain(t);
}

static ir_op chain_of(struct layout *c, ir_op op) {
    for (uint32_t up; (up = opt_ids_get(&c->parent, op.i)) != op.i; op.i = up)
        opt_ids_set(&c->parent, op.i, opt_ids_get(&c->parent, up));
    return op;
}

/* The chain that computes the value; none for others. */
static ir_op chain_of_value(struct layout *c, ir_val v) {
    ir_op op = ir_val_get(c->map.o->m, v)->op;
    return IR_NONE(op) || !opt_ids_get(&c->parent, op.i) ? (ir_op){0} : chain_of(c, op);
}

static void find_chains(struct layout *c, ir_block b) {
    const struct ir_module *m = c->map.o->m;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        if (!is_member(m, op))
            continue;
        opt_ids_set(&c->parent, op.i, op.i);
        for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
            ir_val v = ir_operand(m, op, i);
            ir_op def = ir_val_get(m, v)->op, other = chain_of_value(c, v);
            if (ir_val_type(m, v)->rank && !IR_NONE(other) && IR_SAME(ir_op_get(m, def)->parent, b))
                opt_ids_set(&c->parent, other.i, chain_of(c, op).i);
        }
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

static const int64_t *perm_of(const struct ir_module *m, ir_op op) {
    size_t n;
    return !IR_NONE(op) && ir_kind(m, op) == IR_TRANSPOSE ? ir_prop_i64s(m, op, IR_TRANSPOSE_permutation, &n) : NULL;
}

static void add_edge(struct layout *c, ir_op chain, bool in, const int64_t *perm, ir_val v) {
    struct edge e = {.next = opt_ids_get(&c->edges, chain.i), .in = in, .perm = perm};
    ir_type_bytes(ir_val_type(c->map.o->m, v), &e.bytes);
    ARENA_PUSH(&c->map.o->scratch, &c->all, e);
    opt_ids_set(&c->edges, chain.i, c->all.n);
}

/* What costs nothing in any order: it is computed at any index, or once and for all. */
static bool is_free(const struct ir_module *m, ir_val v) {
    ir_op op = ir_val_get(m, v)->op;
    if (IR_NONE(op))
        return false;
    enum ir_op_kind kind = ir_kind(m, op);
    return kind == IR_BROADCAST_IN_DIM || kind == IR_IOTA || kind == IR_CONSTANT;
}

static void edges_of_op(struct layout *c, ir_op op) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    ir_op own = opt_ids_get(&c->parent, op.i) ? chain_of(c, op) : (ir_op){0};
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_val v = x->operands[i];
        ir_op from = chain_of_value(c, v);
        if (!IR_NONE(own) && IR_SAME(from, own))
            continue;
        const int64_t *perm = perm_of(m, op);
        if (!IR_NONE(from) && (perm || opt_ids_get(&c->seen, v.i) != UINT32_MAX)) {
            add_edge(c, from, false, perm, v);
            if (!perm)
                opt_ids_set(&c->seen, v.i, UINT32_MAX);
        }
        if (IR_NONE(own) || !ir_val_type(m, v)->rank || is_free(m, v) ||
            (IR_NONE(from) && opt_ids_get(&c->seen, v.i) == own.i))
            continue;
        add_edge(c, own, true, perm_of(m, ir_val_get(m, v)->op), v);
        if (IR_NONE(from))
            opt_ids_set(&c->seen, v.i, own.i);
    }
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op o = ir_block_get(m, b)->first; !IR_NONE(o); o = ir_op_get(m, o)->next)
                edges_of_op(c, o);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static bool is_identity(const int64_t *perm, const int64_t *order, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++)
        if ((perm ? perm[order[i]] : order[i]) != (int64_t)i)
            return false;
    return true;
}

static double cost(const struct layout *c, uint32_t edge, const int64_t *order, uint32_t rank) {
    double sum = 0;
    for (const struct edge *e; edge; edge = e->next) {
        e = &c->all.v[edge - 1];
        bool free = e->in || !e->perm ? is_identity(e->perm, order, rank)
                                      : memcmp(e->perm, order, rank * sizeof *order) == 0;
        sum += free ? 0 : (double)e->bytes;
    }
    return sum;
}

static void choose_order(struct layout *c, ir_op chain) {
    const struct ir_module *m = c->map.o->m;
    uint32_t rank = ir_val_type(m, ir_result(m, chain, 0))->rank, first = opt_ids_get(&c->edges, chain.i), tried = 0;
    int64_t order[IR_MAX_RANK] = {0}, best[IR_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i;
    double least = cost(c, first, order, rank);
    bool found = false;
    for (uint32_t at = first; at && tried < LAYOUT_ORDERS; at = c->all.v[at - 1].next) {
        const struct edge *e = &c->all.v[at - 1];
        if (!e->perm)
            continue;
        for (uint32_t i = 0; i < rank; i++)
            order[e->in ? e->perm[i] : (int64_t)i] = e->in ? (int64_t)i : e->perm[i];
        double want = cost(c, first, order, rank);
        tried++;
        if (want >= least)
            continue;
        least = want;
        found = true;
        memcpy(best, order, sizeof best);
    }
    if (!found)
        return;
    c->orders.v = c->orders.n < c->orders.cap
                      ? c->orders.v
                      : arena_grow(&c->map.o->scratch, c->orders.v, c->orders.n, &c->orders.cap, sizeof *c->orders.v);
    memcpy(c->orders.v[c->orders.n++], best, sizeof best);
    opt_ids_set(&c->order, chain.i, c->orders.n);
}

/* ---- changing it ----------------------------------------------------------------------------- */

static ir_type transposed_type(struct opt *o, ir_val v, const int64_t *order) {
    const struct ir_type_data *t = ir_val_type(o->m, v);
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[order[i]];
    return ir_type_tensor(o->m, t->elem, dims, t->rank, (ir_attr){0});
}

static ir_val transpose(struct opt *o, ir_val v, const int64_t *order, ir_op before) {
    const struct ir_op_data *x = ir_op_get(o->m, before);
    ir_type type = transposed_type(o, v, order);
    ir_op op = ir_op_new(o->m, IR_TRANSPOSE, &v, 1, &type, 1, 0);
    ir_set_prop(o->m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(o->m, order, ir_type_get(o->m, type)->rank));
    ir_set_loc(o->m, op, x->loc, x->line, x->col);
    ir_insert_before(o->m, before, op);
    return ir_result(o->m, op, 0);
}

/* The value in the chain's order; made before `op` where it is not there yet. */
static ir_val transposed(struct layout *c, ir_val v, ir_op chain, const int64_t *order, ir_op op) {
    if (ir_val_type(c->map.o->m, v)->rank == 0)
        return opt_map_get(&c->map, v);
    if (opt_ids_get(&c->transposed_chain, v.i) == chain.i)
        return (ir_val){opt_ids_get(&c->transposed, v.i)};
    ir_val to = transpose(c->map.o, opt_map_get(&c->map, v), order, op);
    opt_ids_set(&c->transposed, v.i, to.i);
    opt_ids_set(&c->transposed_chain, v.i, chain.i);
    return to;
}

static void transpose_op(struct layout *c, ir_op op, ir_op chain) {
    struct opt *o = c->map.o;
    const int64_t *order = c->orders.v[opt_ids_get(&c->order, chain.i) - 1];
    uint32_t n = ir_op_get(o->m, op)->noperands;
    ir_val *operands = ARENA_ARRAY(&o->scratch, ir_val, n), result = ir_result(o->m, op, 0);
    int64_t back[IR_MAX_RANK];
    for (uint32_t i = 0; i < ir_val_type(o->m, result)->rank; i++)
        back[order[i]] = i;
    for (uint32_t i = 0; i < n; i++)
        operands[i] = transposed(c, ir_operand(o->m, op, i), chain, order, op);
    ir_type type = transposed_type(o, result, order);
    ir_op fresh = opt_remake(o, op, operands, n, &type, 1);
    ir_insert_before(o->m, op, fresh);
    opt_ids_set(&c->transposed, result.i, ir_result(o->m, fresh, 0).i);
    opt_ids_set(&c->transposed_chain, result.i, chain.i);
    ir_val as_before = transpose(o, ir_result(o->m, fresh, 0), back, op);
    opt_replace(&c->map, op, &as_before);
    o->changes++;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void layout_region(struct layout *c, ir_region r);

static void layout_block(struct layout *c, ir_block b) {
    const struct ir_module *m = c->map.o->m;
    find_chains(c, b);
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        edges_of_op(c, op);
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (opt_ids_get(&c->parent, op.i) == op.i)
            choose_order(c, op);
    ir_op next;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(m, op)->next;
        ir_op chain = opt_ids_get(&c->parent, op.i) ? chain_of(c, op) : (ir_op){0};
        if (!IR_NONE(chain) && opt_ids_get(&c->order, chain.i)) {
            transpose_op(c, op, chain);
            continue;
        }
        opt_update(&c->map, op);
        for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
            layout_region(c, ir_op_region(m, op, i));
    }
}

static void layout_region(struct layout *c, ir_region r) {
    for (ir_block b = ir_region_get(c->map.o->m, r)->first; !IR_NONE(b); b = ir_block_get(c->map.o->m, b)->next)
        layout_block(c, b);
}

hilo_status opt_layout(struct opt *o) {
    struct arena *a = &o->scratch;
    struct layout c = {.map = opt_map_new(o), .parent = {.a = a}, .edges = {.a = a}, .seen = {.a = a}, .transposed = {.a = a},
                       .transposed_chain = {.a = a}, .order = {.a = a}};
    layout_region(&c, ir_op_region(o->m, o->m->root, 0));
    return HILO_OK;
}
