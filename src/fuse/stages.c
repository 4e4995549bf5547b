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

/* The operand's last dimension alone is summed over, and its first ones are the batches, in order; not counting those of one
   element. */
static bool is_rows(const struct ir_module *m, const struct dot *d, ir_op op, uint32_t side) {
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
    return d->nsum == 1 && d->sum[side][0] == (int64_t)t->rank - 1;
}

/* ---- the three ----------------------------------------------------------------------------------- */

/* The scores: a dot whose result has the columns of a row last, which are those of its right operand. */
static bool is_first(const struct ir_module *m, const struct fuse_kernel *k, int64_t columns, struct dot *d) {
    if (k->schedule != FUSE_CONTRACT || k->anchor_map || k->outs.n != 1 || !dot_of(m, k->anchor, d) || last_dim(m, k->outs.v[0]) != columns)
        return false;
    uint32_t free = type_of(m, ir_operand(m, k->anchor, 1))->rank - (uint32_t)d->nbatch - (uint32_t)d->nsum;
    return free == 1 && last_dim(m, ir_result(m, k->anchor, 0)) == columns;
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
    if (third->schedule != FUSE_CONTRACT || third->strict || !dot_of(m, third->anchor, &d) || first->outs.n != 1 ||
        !is_second(x, second, first->outs.v[0], &columns, &rows) || !is_first(m, first, columns, &e) ||
        d.batches != e.batches || rows % d.batches || rows / d.batches < STAGES_ROWS)
        return false;
    ir_val weights = second->outs.v[0];
    uint32_t side = is_only(x, ir_operand(m, third->anchor, 0), weights) ? 0 : 1;
    if (!is_only(x, ir_operand(m, third->anchor, side), weights) || !is_rows(m, &d, third->anchor, side) ||
        last_dim(m, ir_operand(m, third->anchor, side)) != columns)
        return false;
    const struct fuse_online *online = fuse_online(x->a, m, second, x->block, x->stored, first->outs.v[0]);
    if (!online && columns * 4 > (int64_t)x->target->scratch_bytes)
        return false;
    third->schedule = FUSE_STAGES;
    third->online = online;
    third->stages[0] = first;
    third->stages[1] = second;
    third->chained_operand = side;
    third->nops += first->nops + second->nops;
    third->code_size_cost += first->code_size_cost + second->code_size_cost;
    return true;
}
