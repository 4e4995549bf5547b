/* Fusion through rows in scratch memory (GEMM, row-wise, GEMM): a contraction whose results are the rows of a row-wise kernel,
 * whose results are the rows of another contraction's operand. All three agree on their outer loops, a batch and the rows in
 * it, so a block of rows goes through all of them before the next, and what is between is never stored. Attention is this.
 *
 * Only shapes are matched: the three kernels may compute scores and weights in any way. */
#include "fuse/stages.h"
#include "fuse/online.h"

enum {
    STAGES_ROWS = 8 /* of a batch: fewer do not pay for reading the other operands in panels */
};

struct stages {
    const struct ir_module *m;
    ir_block block;
    const struct fuse_kernel *k; /* whose ops are followed */
    const struct opt_ids *stored;
};

static int64_t count_of(const struct ir_module *m, ir_val v) {
    return (int64_t)ir_val_count(m, v);
}

static const struct ir_type_data *type_of(const struct ir_module *m, ir_val v) {
    return ir_val_type(m, v);
}

static bool is_float(const struct ir_module *m, ir_val v) {
    return ir_dtype_get(type_of(m, v)->dtype)->cls == IR_FLOAT;
}

static int64_t last_dim(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = type_of(m, v);
    return t->rank ? t->dims[t->rank - 1] : 1;
}

/* ---- how often a value is used ------------------------------------------------------------------- */

/* Whether operand `v` of a contraction is `from`, but for conversions and other shapes, and has no other uses. */
static bool is_only(const struct fuse_stages *x, ir_val v, ir_val from) {
    const struct ir_module *m = x->m;
    while (opt_ids_get(x->uses, v.i) == 1 && last_dim(m, v) == last_dim(m, from)) {
        if (IR_SAME(v, from))
            return true;
        ir_op op = ir_val_get(m, v)->op;
        if (IR_NONE(op) || !IR_SAME(ir_op_get(m, op)->parent, x->block))
            return false;
        enum ir_op_kind kind = ir_kind(m, op);
        if (kind != IR_CONVERT && kind != IR_RESHAPE)
            return false;
        v = ir_operand(m, op, 0);
    }
    return false;
}

/* ---- how the rows are computed from the scores --------------------------------------------------- */

enum reach { REACH_NOT, REACH_PLAIN, REACH_OTHER };

static bool is_row_reduce(const struct fuse_kernel *k, ir_op op) {
    for (uint32_t i = 0; i < k->reduces.n; i++)
        if (IR_SAME(k->reduces.v[i], op))
            return true;
    return false;
}

/* Whether v is computed from `scores`, and every element of it from scores of its own row alone, at its own place in it.
   `rows`: how many there are. */
static enum reach reach(const struct stages *s, ir_val v, ir_val scores, int64_t rows, uint32_t depth) {
    ir_op op = ir_val_get(s->m, v)->op;
    if (IR_SAME(v, scores))
        return REACH_PLAIN;
    if (depth == 0)
        return REACH_OTHER;
    if (IR_NONE(op) || !IR_SAME(ir_op_get(s->m, op)->parent, s->block) || fuse_is_constant(s->m, v) ||
        (opt_ids_get(s->stored, v.i) && !IR_SAME(v, s->k->outs.v[0])))
        return REACH_NOT;
    enum reach most = REACH_NOT;
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands && most != REACH_OTHER; i++) {
        enum reach r = reach(s, ir_operand(s->m, op, i), scores, rows, depth - 1);
        most = r > most ? r : most;
    }
    if (most != REACH_PLAIN)
        return most;
    ir_val first = ir_operand(s->m, op, 0);
    switch (fuse_class(ir_kind(s->m, op))) {
    case FUSE_ELEMENT:
        return ir_kind(s->m, op) == IR_MAP ? REACH_OTHER : most;
    case FUSE_REDUCTION:
        return is_row_reduce(s->k, op) && ir_op_get(s->m, op)->nresults == 1 ? most : REACH_OTHER;
    default: /* one value per row, broadcast along it */
        if (ir_kind(s->m, op) == IR_BROADCAST_IN_DIM && count_of(s->m, first) <= rows)
            return most;
        return fuse_is_alias(s->m, op) && ir_op_get(s->m, op)->nresults == 1 ? most : REACH_OTHER;
    }
}

/* ---- dots ---------------------------------------------------------------------------------------- */

struct dot {
    const int64_t *batch[2], *sum[2];
    size_t nbatch, nsum;
    int64_t batches;
};

static bool dot_of(const struct ir_module *m, ir_op op, struct dot *d) {
    if (ir_kind(m, op) != IR_DOT_GENERAL || !is_float(m, ir_operand(m, op, 0)) || !is_float(m, ir_operand(m, op, 1)) ||
        !is_float(m, ir_result(m, op, 0)))
        return false;
    ir_attr a = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    d->batch[0] = ir_field_dims(m, a, IR_DOT_lhs_batching_dimensions_F, &d->nbatch);
    d->batch[1] = ir_field_dims(m, a, IR_DOT_rhs_batching_dimensions_F, &d->nbatch);
    d->sum[0] = ir_field_dims(m, a, IR_DOT_lhs_contracting_dimensions_F, &d->nsum);
    d->sum[1] = ir_field_dims(m, a, IR_DOT_rhs_contracting_dimensions_F, &d->nsum);
    d->batches = 1;
    for (size_t i = 0; i < d->nbatch; i++)
        d->batches *= type_of(m, ir_operand(m, op, 0))->dims[d->batch[0][i]];
    return true;
}

/* Whether the operand's last dimension alone is summed over. */
static bool sums_last(const struct ir_module *m, const struct dot *d, ir_op op, uint32_t side) {
    return d->nsum == 1 && d->sum[side][0] == (int64_t)type_of(m, ir_operand(m, op, side))->rank - 1;
}

/* Whether the operand's first dimensions are the batches, in order; not counting those of one element. */
static bool is_batches_first(const struct ir_module *m, const struct dot *d, ir_op op, uint32_t side) {
    const struct ir_type_data *t = type_of(m, ir_operand(m, op, side));
    int64_t next = 0;
    for (size_t i = 0; i < d->nbatch; i++) {
        int64_t at = d->batch[side][i];
        if (t->dims[at] == 1)
            continue;
        while (next < at && t->dims[next] == 1)
            next++;
        if (next++ != at)
            return false;
    }
    return true;
}

/* The next dimension of more than one element from *at on; false when there is none. */
static bool next_dim(const int64_t *dims, uint32_t rank, uint32_t *at) {
    while (*at < rank && dims[*at] == 1)
        ++*at;
    return *at < rank;
}

/* Whether the operand, whose dimensions are those of the domain of the scores, has the batches of the scores as its own, in any
   order. */
static bool has_batches_of(const struct ir_module *m, const struct dot *d, ir_op op, uint32_t side,
                           const struct fuse_kernel *first, const struct dot *e) {
    const struct ir_type_data *t = type_of(m, ir_operand(m, op, side)), *r = type_of(m, ir_result(m, first->anchor, 0));
    uint32_t i = 0, j = 0, next = 0, batch = 0; /* batch: bit set of dimensions of the domain */
    for (uint32_t k = 0; k < r->rank; k++) {
        if (r->dims[k] == 1)
            continue;
        if (!first->anchor_map && !next_dim(first->dims, first->rank, &next))
            return false;
        uint32_t at = first->anchor_map ? (uint32_t)first->anchor_map[k] : next++;
        if (first->dims[at] != r->dims[k])
            return false;
        batch |= k < e->nbatch ? 1u << at : 0;
    }
    for (;; i++, j++) {
        bool more = next_dim(t->dims, t->rank, &i);
        if (next_dim(first->dims, first->rank, &j) != more || (more && t->dims[i] != first->dims[j]))
            return false;
        if (!more)
            return true;
        bool own = false;
        for (size_t k = 0; k < d->nbatch; k++)
            own |= d->batch[side][k] == (int64_t)i;
        if (own != (batch >> j & 1))
            return false;
    }
}

/* ---- the three ----------------------------------------------------------------------------------- */

/* The scores: a dot whose result has the columns of a row last, which are those of its right operand. */
static bool is_first(const struct ir_module *m, const struct fuse_kernel *k, int64_t columns, struct dot *d) {
    if (k->schedule != FUSE_CONTRACT || k->outs.n != 1 || !dot_of(m, k->anchor, d) || last_dim(m, k->outs.v[0]) != columns)
        return false;
    uint32_t free = type_of(m, ir_operand(m, k->anchor, 1))->rank - (uint32_t)d->nbatch - (uint32_t)d->nsum;
    const struct ir_type_data *t = type_of(m, ir_result(m, k->anchor, 0));
    uint32_t last = k->rank - 1;
    return free == 1 && last_dim(m, ir_result(m, k->anchor, 0)) == columns && k->rank > 0 && k->dims[last] == columns &&
           (!k->anchor_map || k->anchor_map[t->rank - 1] == (int8_t)last);
}

/* Whether `from` is computed from v, not counting what is computed by way of `but`. */
static bool reads(const struct fuse_stages *x, struct opt_sparse *seen, ir_val from, ir_val v, ir_val but) {
    ir_op op = ir_val_get(x->m, from)->op;
    if (IR_SAME(from, v) || IR_SAME(from, but))
        return !IR_SAME(from, but);
    if (IR_NONE(op) || !IR_SAME(ir_op_get(x->m, op)->parent, x->block) || opt_sparse_get(seen, from.i))
        return false;
    opt_sparse_set(seen, from.i, 1);
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->noperands; i++) {
        ir_val in = ir_operand(x->m, op, i);
        if ((IR_SAME(in, v) || !opt_ids_get(x->stored, in.i)) && reads(x, seen, in, v, but))
            return true;
    }
    return false;
}

/* Whether `from` is computed from v by elementwise ops alone. */
static bool is_elementwise(const struct fuse_stages *x, ir_val from, ir_val v, uint32_t depth) {
    ir_op op = ir_val_get(x->m, from)->op;
    ir_val none = {0};
    if (IR_SAME(from, v))
        return true;
    if (depth == 0 || IR_NONE(op) || fuse_class(ir_kind(x->m, op)) != FUSE_ELEMENT || ir_kind(x->m, op) == IR_MAP)
        return false;
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->noperands; i++) {
        struct opt_sparse seen = {.a = x->a};
        ir_val in = ir_operand(x->m, op, i);
        if (!is_elementwise(x, in, v, depth - 1) && reads(x, &seen, in, v, none))
            return false;
    }
    return true;
}

/* A transpose among the ops that `from` is computed from, whose operand is v after elementwise ops; none = there is none. */
static ir_op find_transpose(const struct fuse_stages *x, struct opt_sparse *seen, ir_val from, ir_val v) {
    const struct ir_module *m = x->m;
    ir_op op = ir_val_get(m, from)->op, found = {0};
    struct opt_sparse read = {.a = x->a};
    ir_val none = {0};
    if (IR_NONE(op) || !IR_SAME(ir_op_get(m, op)->parent, x->block) || opt_sparse_get(seen, from.i))
        return found;
    opt_sparse_set(seen, from.i, 1);
    if (ir_kind(m, op) == IR_TRANSPOSE && reads(x, &read, from, v, none) && is_elementwise(x, ir_operand(m, op, 0), v, 16))
        return op;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands && IR_NONE(found); i++)
        if (!opt_ids_get(x->stored, ir_operand(m, op, i).i))
            found = find_transpose(x, seen, ir_operand(m, op, i), v);
    return found;
}

/* The kernel of the scores with a transpose that follows as its epilogue: groups of heads may come before the rows, which come
   before them in the contraction. */
static struct fuse_kernel *with_transpose(const struct fuse_stages *x, const struct fuse_kernel *first, ir_op transpose) {
    const struct ir_module *m = x->m;
    const struct ir_type_data *v = type_of(m, ir_operand(m, transpose, 0)), *t = type_of(m, ir_result(m, transpose, 0));
    const struct ir_type_data *r = type_of(m, ir_result(m, first->anchor, 0));
    struct fuse_kernel *k = ARENA_NEW(x->a, struct fuse_kernel);
    int8_t *map = ARENA_ARRAY(x->a, int8_t, r->rank + 1), place[IR_MAX_RANK] = {0}; /* by dimension of the domain: in t */
    uint32_t i = 0, j = 0, next = 0;
    size_t n;
    const int64_t *p = ir_prop_i64s(m, transpose, IR_TRANSPOSE_permutation, &n);
    for (; next_dim(v->dims, v->rank, &i) && next_dim(first->dims, first->rank, &j); i++, j++)
        for (uint32_t to = 0; to < t->rank; to++)
            if (p[to] == (int64_t)i)
                place[j] = (int8_t)to;
    for (uint32_t axis = 0; axis < r->rank; axis++) {
        map[axis] = -1;
        if (r->dims[axis] != 1 && (first->anchor_map || next_dim(first->dims, first->rank, &next)))
            map[axis] = place[first->anchor_map ? (uint32_t)first->anchor_map[axis] : next++];
    }
    *k = *first;
    k->anchor_map = map;
    k->rank = t->rank;
    memcpy(k->dims, t->dims, t->rank * sizeof *t->dims);
    k->outs.n = k->outs.cap = 0;
    k->outs.v = NULL;
    ARENA_PUSH(x->a, &k->outs, ir_result(m, transpose, 0));
    return k;
}

static bool is_second(const struct fuse_stages *x, const struct fuse_kernel *k, ir_val scores, int64_t *columns,
                      int64_t *rows) {
    const struct ir_module *m = x->m;
    struct stages s = {.m = m, .block = x->block, .k = k, .stored = x->stored};
    if (k->schedule != FUSE_ROWS || k->outs.n != 1 || k->rank == 0)
        return false;
    ir_val out = k->outs.v[0];
    *columns = k->dims[k->rank - 1];
    for (uint32_t i = k->outer; i + 1 < k->rank; i++)
        if (k->dims[i] != 1)
            return false;
    int64_t least = x->target->vector_bytes / 4; /* fills a vector */
    if (*columns < least || last_dim(m, out) != *columns || !is_float(m, out) || !is_float(m, scores))
        return false;
    *rows = count_of(m, out) / *columns;
    return count_of(m, scores) == count_of(m, out) && reach(&s, out, scores, *rows, 64) == REACH_PLAIN;
}

bool fuse_stages(const struct fuse_stages *x, struct fuse_kernel *third, struct fuse_kernel *second,
                 struct fuse_kernel *first) {
    const struct ir_module *m = x->m;
    struct dot d, e;
    int64_t columns, rows;
    if (third->schedule != FUSE_CONTRACT || first->schedule != FUSE_CONTRACT || first->outs.n != 1 || second->outs.n != 1)
        return false;
    struct opt_sparse seen = {.a = x->a}, others = {.a = x->a};
    ir_op transpose = find_transpose(x, &seen, second->outs.v[0], first->outs.v[0]);
    if (!IR_NONE(transpose) && !reads(x, &others, second->outs.v[0], first->outs.v[0], ir_result(m, transpose, 0)))
        first = with_transpose(x, first, transpose);
    if (third->strict || !dot_of(m, third->anchor, &d) ||
        !is_second(x, second, first->outs.v[0], &columns, &rows) || !is_first(m, first, columns, &e) ||
        d.batches != e.batches || rows % d.batches || rows / d.batches < STAGES_ROWS ||
        (third->batch_invariant && rows / d.batches <= FUSE_INVARIANT_ROWS))
        return false;
    ir_val weights = second->outs.v[0];
    uint32_t side = is_only(x, ir_operand(m, third->anchor, 0), weights) ? 0 : 1;
    bool in_order = !first->anchor_map && is_batches_first(m, &d, third->anchor, side);
    if (!is_only(x, ir_operand(m, third->anchor, side), weights) || !sums_last(m, &d, third->anchor, side) ||
        (!in_order && !has_batches_of(m, &d, third->anchor, side, first, &e)) ||
        last_dim(m, ir_operand(m, third->anchor, side)) != columns)
        return false;
    const struct fuse_online *online = fuse_online(x->a, m, second, x->block, x->stored, first->outs.v[0]);
    /* whole rows are in scratch memory, and each task packs all of the other operand */
    size_t other = ir_val_count(m, ir_operand(m, third->anchor, 1 - side)) / (size_t)d.batches;
    if (!online && (columns * 4 > (int64_t)x->target->scratch_bytes || other > x->target->l2_bytes / 4))
        return false;
    third->schedule = FUSE_STAGES;
    third->online = online;
    third->stages[0] = first;
    third->stages[1] = second;
    third->chained_operand = side;
    third->permuted = !in_order;
    third->nops += first->nops + second->nops;
    third->code_size_cost += first->code_size_cost + second->code_size_cost;
    return true;
}
