/* STAGES: a block of rows at a time goes through a contraction, whose results are scores in scratch memory; through the
 * passes of a kernel of rows, which leaves its weights there, too; and as operand of another contraction, which is stored.
 * Attention is this: the matrix of scores is never in memory, and every kernel of rows can stand between. A block is an
 * iteration of the grid.
 *
 * Both contractions have register tiles of a few rows by vectors of columns: a vector of the other operand is multiplied
 * by scalars of as many rows as the tile has. Where that operand's columns are not one contiguous panel, a kernel packs it
 * into panels before. Rows that are converted, or computed otherwise, are so before they are multiplied, in vectors. */
#include "lower/lower.h"

enum {
    STAGES_BLOCK = TORTURED(TORTURE_PART, 32), /* rows */
    STAGES_TILE = TORTURED(TORTURE_TILE, 4), /* rows of a register tile */
    STAGES_UNROLL = TORTURED(TORTURE_TILE, 4), /* steps of a sum */
    STAGES_WIDE = 2 /* vectors of it; twice as many where there are 32 registers */
};

/* One of the two dots. Rows are the free dimensions of operand `side`, columns of the other. */
struct dot {
    struct lower *l;
    ir_op op;
    uint32_t side, nbatch, nrow, ncol, nsum;
    int64_t batches[IR_MAX_RANK], rows[IR_MAX_RANK], cols[IR_MAX_RANK], sums[IR_MAX_RANK];
    const int64_t *batch_of[2], *sum_of[2];
    kir_val batch[IR_MAX_RANK], row[IR_MAX_RANK], col[IR_MAX_RANK], sum[IR_MAX_RANK];
    int64_t columns, depth, lanes, panels;
    enum kir_type acc;
    bool packed;
    uint32_t buffer; /* of the panels */
    kir_val panel, lane;
    bool brought; /* rows are in scratch memory as they are multiplied, */
    uint32_t scratch;
    int64_t pitch; /* so many elements apart */
};

struct lower_stages {
    ir_val v[2]; /* values in scratch */
    uint32_t buffer[2], ready;
    int64_t pitch; /* elements from row to row */
    kir_val row;   /* in the block */
};

/* ---- what is in scratch -------------------------------------------------------------------------- */

static kir_val place(struct lower *l, const struct index *at) {
    kir_val column = at->n ? at->at[at->n - 1] : kir_i64(l->k, 0);
    return lower_add(l, lower_mul(l, l->stages->row, l->stages->pitch), column);
}

bool lower_is_stage(const struct lower *l, ir_val v) {
    for (uint32_t i = 0; l->stages && i < l->stages->ready; i++)
        if (IR_SAME(l->stages->v[i], v))
            return true;
    return false;
}

bool lower_stage_value(struct lower *l, ir_val v, const struct index *at, struct elem *out) {
    for (uint32_t i = 0; l->stages && i < l->stages->ready; i++)
        if (IR_SAME(l->stages->v[i], v)) {
            *out = (struct elem){kir_load(l->k, l->stages->buffer[i], place(l, at)), {0}};
            return true;
        }
    return false;
}

bool lower_stage_store(struct lower *l, ir_val v, const struct index *at, struct elem e) {
    for (uint32_t i = 0; l->stages && i < 2; i++)
        if (IR_SAME(l->stages->v[i], v)) {
            kir_store(l->k, l->stages->buffer[i], place(l, at), e.re);
            return true;
        }
    return false;
}

/* ---- dots ---------------------------------------------------------------------------------------- */

static const struct ir_type_data *operand_type(const struct dot *d, uint32_t side) {
    return ir_val_type(d->l->m, ir_operand(d->l->m, d->op, side));
}

static int find(int64_t x, const int64_t *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == x)
            return (int)i;
    return -1;
}

static int64_t product(const int64_t *v, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= v[i];
    return p;
}

static void dot_init(struct dot *d, struct lower *l, ir_op op, uint32_t side) {
    ir_attr a = ir_prop(l->m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t nb, ns;
    *d = (struct dot){.l = l, .op = op, .side = side};
    d->batch_of[0] = ir_field_dims(l->m, a, IR_DOT_lhs_batching_dimensions_F, &nb);
    d->batch_of[1] = ir_field_dims(l->m, a, IR_DOT_rhs_batching_dimensions_F, &nb);
    d->sum_of[0] = ir_field_dims(l->m, a, IR_DOT_lhs_contracting_dimensions_F, &ns);
    d->sum_of[1] = ir_field_dims(l->m, a, IR_DOT_rhs_contracting_dimensions_F, &ns);
    d->nbatch = (uint32_t)nb;
    d->nsum = (uint32_t)ns;
    for (uint32_t s = 0; s < 2; s++) {
        const struct ir_type_data *t = operand_type(d, s);
        for (uint32_t i = 0; i < t->rank; i++)
            if (find(i, d->batch_of[s], d->nbatch) < 0 && find(i, d->sum_of[s], d->nsum) < 0)
                *(s == side ? &d->rows[d->nrow++] : &d->cols[d->ncol++]) = t->dims[i];
        for (uint32_t i = 0; i < d->nbatch; i++)
            d->batches[i] = t->dims[d->batch_of[s][i]];
        for (uint32_t i = 0; i < d->nsum; i++)
            d->sums[i] = t->dims[d->sum_of[s][i]];
    }
    d->acc = KIR_F32;
    for (uint32_t i = 0; i < 3; i++) {
        ir_val v = i < 2 ? ir_operand(l->m, op, i) : ir_result(l->m, op, 0);
        if (kir_type_of(ir_val_type(l->m, v)->dtype) == KIR_F64)
            d->acc = KIR_F64;
    }
    d->columns = product(d->cols, d->ncol);
    d->depth = product(d->sums, d->nsum);
    int64_t vector = (int64_t)lower_lanes(l, kir_type_bits(d->acc) / 8, 1);
    d->lanes = (l->target->vector_count >= 32 ? 2 : 1) * STAGES_WIDE * vector;
    while (d->lanes > vector && d->lanes / 2 >= d->columns)
        d->lanes /= 2;
    d->panels = (d->columns + d->lanes - 1) / d->lanes;
}

/* The index of an operand. */
static void operand_index(const struct dot *d, uint32_t side, struct index *out) {
    uint32_t free = 0;
    *out = (struct index){.n = operand_type(d, side)->rank};
    for (uint32_t i = 0; i < out->n; i++) {
        int b = find(i, d->batch_of[side], d->nbatch), s = find(i, d->sum_of[side], d->nsum);
        out->at[i] = b >= 0            ? d->batch[b]
                     : s >= 0          ? d->sum[s]
                     : side == d->side ? d->row[free++]
                                       : d->col[free++];
    }
}

static kir_val factor(const struct dot *d, uint32_t side) {
    struct lower *l = d->l;
    ir_val v = ir_operand(l->m, d->op, side);
    struct index at;
    kir_val x;
    if (d->packed && side != d->side) {
        kir_val i = kir_i64(l->k, 0);
        for (uint32_t k = 0; k < d->nbatch; k++)
            i = lower_add(l, lower_mul(l, i, d->batches[k]), d->batch[k]);
        i = lower_add(l, lower_mul(l, i, d->panels), d->panel);
        for (uint32_t k = 0; k < d->nsum; k++)
            i = lower_add(l, lower_mul(l, i, d->sums[k]), d->sum[k]);
        return kir_load(l->k, d->buffer, lower_add(l, lower_mul(l, i, d->lanes), d->lane));
    }
    if (d->brought && side == d->side) {
        kir_val i = kir_i64(l->k, 0);
        for (uint32_t k = 0; k < d->nsum; k++)
            i = lower_add(l, lower_mul(l, i, d->sums[k]), d->sum[k]);
        return kir_load(l->k, d->scratch, lower_add(l, lower_mul(l, l->stages->row, d->pitch), i));
    }
    operand_index(d, side, &at);
    x = lower_value(l, v, &at).re;
    return kir_type(l->k, x) == d->acc ? x : kir_typed(l->k, KIR_CONVERT, 0, d->acc, x);
}

static kir_val zero(const struct dot *d) {
    return kir_float(d->l->k, d->acc, 0);
}

/* ---- panels -------------------------------------------------------------------------------------- */

/* Whether neighbours along the columns lie side by side, and the element is what is loaded, of the sum's width; found by
   lowering one for probe. */
static bool is_contiguous(struct dot *d) {
    struct lower *l = d->l, probe;
    lower_probe_begin(l, &probe);
    probe.stages = NULL;
    d->l = &probe;
    for (uint32_t i = 0; i < d->nbatch; i++)
        d->batch[i] = kir_loop(probe.k, KIR_SERIAL, d->batches[i], 0);
    for (uint32_t i = 0; i < d->nsum; i++)
        d->sum[i] = kir_loop(probe.k, KIR_SERIAL, d->sums[i], 0);
    kir_val column = kir_loop(probe.k, KIR_SERIAL, d->columns, 0);
    lower_unflatten(&probe, column, d->cols, d->ncol, d->col);
    kir_val x = factor(d, !d->side);
    int64_t stride = 0;
    const struct kir_node *n = kir_get(probe.k, x);
    bool found = n->op == KIR_LOAD && !n->arg[1].i &&
                 8 * ir_dtype_get(probe.k->buffers.v[n->of].dtype)->bytes == kir_type_bits(d->acc) &&
                 kir_linear(probe.k, n->arg[0], column, &stride) && stride == 1;
    d->l = l;
    lower_probe_end(&probe);
    return found;
}

/* A kernel in front that writes the panels of columns: lines of the sum one after the other, columns behind the last are
   zeros. */
static void pack(struct dot *d) {
    struct lower *l = d->l, before;
    int64_t batches = product(d->batches, d->nbatch), grid[2] = {batches, d->panels};
    kir_val at[2];
    uint32_t temp = lower_new_temp(l, d->acc == KIR_F64 ? IR_F64_T : IR_F32_T, batches * d->panels * d->depth * d->lanes);
    lower_begin_prologue(l, &before);
    before.stages = NULL;
    d->l = &before;
    lower_unflatten(&before, lower_grid(&before, batches * d->panels), grid, 2, at);
    lower_unflatten(&before, at[0], d->batches, d->nbatch, d->batch);
    uint32_t buffer = lower_temp(&before, temp, KIR_OUT);
    kir_val line = kir_loop(before.k, KIR_SERIAL, d->depth, 0);
    lower_unflatten(&before, line, d->sums, d->nsum, d->sum);
    kir_val lane = kir_loop(before.k, KIR_VECTOR, d->lanes, (uint32_t)d->lanes);
    kir_val column = lower_add(&before, lower_mul(&before, at[1], d->lanes), lane);
    lower_unflatten(&before, column, d->cols, d->ncol, d->col);
    if (d->columns % d->lanes)
        before.guard = kir_cmp(before.k, KIR_LT, 0, column, kir_i64(before.k, d->columns));
    kir_val x = factor(d, !d->side);
    if (before.guard.i)
        x = kir_select(before.k, before.guard, x, zero(d));
    before.guard = (kir_val){0};
    kir_val to = lower_add(&before, lower_mul(&before, at[0], d->panels), at[1]);
    to = lower_add(&before, lower_mul(&before, to, d->depth), line);
    kir_store(before.k, buffer, lower_add(&before, lower_mul(&before, to, d->lanes), lane), x);
    lower_close(&before, 3);
    d->l = l;
    d->packed = true;
    d->buffer = lower_temp(l, temp, KIR_IN);
}

/* ---- blocks of rows ------------------------------------------------------------------------------ */

/* The block: rows `first` … first + rows − 1 of a batch. */
struct block {
    kir_val batch, first;
    int64_t rows, of; /* of: rows of a batch */
};

static void set_row(struct dot *d, const struct block *b, kir_val row) {
    d->l->stages->row = row;
    lower_unflatten(d->l, lower_add(d->l, b->first, row), d->rows, d->nrow, d->row);
}

/* Whether the rows' elements are in memory as they are multiplied. */
static bool is_plain(const struct dot *d) {
    const struct lower *l = d->l;
    ir_val v = ir_operand(l->m, d->op, d->side);
    while (!lower_is_stored(l, v) && !lower_is_stage(l, v) && fuse_is_alias(l->m, ir_val_get(l->m, v)->op))
        v = ir_operand(l->m, ir_val_get(l->m, v)->op, 0);
    return (lower_is_stored(l, v) || lower_is_stage(l, v)) && kir_type_of(ir_val_type(l->m, v)->dtype) == d->acc &&
           ir_dtype_get(ir_val_type(l->m, v)->dtype)->bits == kir_type_bits(d->acc);
}

/* The block's rows into scratch memory. */
static void bring(struct dot *d, const struct block *b, uint32_t scratch, int64_t pitch) {
    struct lower *l = d->l;
    uint32_t last = d->nsum - 1;
    kir_val i = kir_i64(l->k, 0), row = kir_loop(l->k, KIR_SERIAL, b->rows, 0);
    lower_unflatten(l, b->batch, d->batches, d->nbatch, d->batch);
    set_row(d, b, row);
    for (uint32_t k = 0; k <= last; k++) {
        d->sum[k] = k < last ? kir_loop(l->k, KIR_SERIAL, d->sums[k], 0)
                             : kir_loop(l->k, KIR_VECTOR, d->sums[k], lower_lanes(l, kir_type_bits(d->acc) / 8, 1));
        i = lower_add(l, lower_mul(l, i, d->sums[k]), d->sum[k]);
    }
    kir_store(l->k, scratch, lower_add(l, lower_mul(l, row, pitch), i), factor(d, d->side));
    for (uint32_t k = 0; k <= d->nsum; k++)
        kir_close(l->k);
    d->brought = true;
    d->scratch = scratch;
    d->pitch = pitch;
}

/* The result's element, and what is computed from it. */
static void finish(const struct dot *d, const struct fuse_kernel *kernel, kir_val sum) {
    struct lower *l = d->l;
    ir_val result = ir_result(l->m, d->op, 0);
    const struct ir_type_data *t = ir_val_type(l->m, result);
    struct index at = {.n = t->rank}, to;
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->nbatch; i++)
        at.at[n++] = d->batch[i];
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t i = 0; i < (s == d->side ? d->nrow : d->ncol); i++)
            at.at[n++] = s == d->side ? d->row[i] : d->col[i];
    for (uint32_t i = 0; i < n; i++)
        at.at[i] = t->dims[i] == 1 ? kir_i64(l->k, 0) : at.at[i];
    enum kir_type want = kir_type_of(t->dtype);
    if (kir_type(l->k, sum) != want)
        sum = kir_typed(l->k, KIR_CONVERT, 0, want, sum);
    lower_define(l, result, &at, lower_round(l, t->dtype, (struct elem){sum, {0}}));
    for (uint32_t i = 0; i < kernel->outs.n; i++) {
        lower_project_index(l, ir_val_type(l->m, kernel->outs.v[i]), t->dims, at.at, t->rank, &to);
        lower_store(l, kernel->outs.v[i], &to, lower_value(l, kernel->outs.v[i], &to));
    }
}

/* Loops over the sum, a few steps of the last one written out. Returns how many. */
static uint32_t open_sums(struct dot *d) {
    struct kir *k = d->l->k;
    uint32_t last = d->nsum - 1;
    for (uint32_t i = 0; i < last; i++)
        d->sum[i] = kir_loop(k, KIR_SERIAL, d->sums[i], 0);
    int64_t unroll = d->sums[last] % STAGES_UNROLL == 0 ? STAGES_UNROLL : 1;
    kir_val step = lower_mul(d->l, kir_loop(k, KIR_SERIAL, d->sums[last] / unroll, 0), unroll);
    d->sum[last] = lower_add(d->l, step, kir_loop(k, KIR_UNROLLED, unroll, 0));
    return d->nsum + 1;
}

/* The dot for a block: panels of columns, in each of them tiles of rows. `whole`: results behind the last column may be
   stored. */
static void multiply(struct dot *d, const struct block *b, const struct fuse_kernel *kernel, bool whole) {
    struct lower *l = d->l;
    int64_t tile = b->rows < STAGES_TILE ? b->rows : STAGES_TILE;
    int64_t tiles = (b->rows + tile - 1) / tile;
    lower_unflatten(l, b->batch, d->batches, d->nbatch, d->batch);
    d->panel = kir_loop(l->k, KIR_SERIAL, d->panels, 0);
    kir_val t = kir_loop(l->k, KIR_SERIAL, tiles, 0), first = lower_mul(l, t, tile);
    if (b->rows % tile)
        first = kir_op2(l->k, KIR_MIN, 0, first, kir_i64(l->k, b->rows - tile));
    kir_val begin = lower_mul(l, d->panel, d->lanes);
    if (whole || d->columns % d->lanes == 0) {
        d->lane = kir_loop(l->k, KIR_VECTOR, d->lanes, (uint32_t)d->lanes);
    } else {
        kir_val rest = kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, d->columns), begin);
        rest = kir_op2(l->k, KIR_MIN, 0, rest, kir_i64(l->k, d->lanes));
        d->lane = kir_loop_to(l->k, KIR_VECTOR, rest, (uint32_t)d->lanes);
    }
    lower_unflatten(l, lower_add(l, begin, d->lane), d->cols, d->ncol, d->col);
    kir_val reg = kir_reg(l->k, zero(d), tile);
    uint32_t opened = open_sums(d);
    kir_val r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    set_row(d, b, lower_add(l, first, r));
    kir_val x = factor(d, d->side), y = factor(d, !d->side);
    kir_set_reg(l->k, reg, r, kir_fma(l->k, x, y, kir_get_reg(l->k, reg, r)));
    for (; opened > 0; opened--)
        kir_close(l->k);
    kir_close(l->k);
    r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    set_row(d, b, lower_add(l, first, r));
    finish(d, kernel, kir_get_reg(l->k, reg, r));
    lower_close(l, 4);
}

/* The passes of the kernel of rows for each row of the block. */
static void pass_rows(struct lower *l, const struct block *b, const struct fuse_kernel *kernel) {
    kir_val outer[IR_MAX_RANK];
    l->stages->row = kir_loop(l->k, KIR_SERIAL, b->rows, 0);
    kir_val row = lower_add(l, lower_mul(l, b->batch, b->of), lower_add(l, b->first, l->stages->row));
    lower_unflatten(l, row, kernel->dims, kernel->outer, outer);
    lower_rows_at(l, outer);
    kir_close(l->k);
}

void lower_stages(struct lower *l) {
    const struct fuse_kernel *k = l->kernel, *first = k->stages[0], *second = k->stages[1];
    struct lower_stages s = {.v = {first->outs.v[0], second->outs.v[0]}};
    struct dot scores, out;
    dot_init(&scores, l, first->anchor, 0);
    dot_init(&out, l, k->anchor, k->chained_operand);
    if (scores.panels > 1 || !is_contiguous(&scores))
        pack(&scores);
    if (out.panels > 1 || !is_contiguous(&out))
        pack(&out);
    l->stages = &s;
    struct block b = {.of = product(out.rows, out.nrow)};
    int64_t batches = product(out.batches, out.nbatch);
    b.rows = b.of < STAGES_BLOCK ? b.of : STAGES_BLOCK;
    int64_t blocks = (b.of + b.rows - 1) / b.rows;
    s.pitch = scores.panels * scores.lanes;
    for (uint32_t i = 0; i < 2; i++) { /* the weights take the place of the scores where they can */
        enum ir_dtype t = ir_val_type(l->m, s.v[i])->dtype;
        bool over = i && t == ir_val_type(l->m, s.v[0])->dtype;
        s.buffer[i] = over ? s.buffer[0] : kir_scratch(l->k, t, b.rows * s.pitch);
    }
    kir_val g = lower_grid(l, batches * blocks);
    b.batch = lower_div(l, g, blocks);
    b.first = lower_mul(l, lower_rem(l, g, blocks), b.rows);
    if (b.of % b.rows)
        b.first = kir_op2(l->k, KIR_MIN, 0, b.first, kir_i64(l->k, b.of - b.rows));
    l->kernel = first;
    enum ir_dtype acc = scores.acc == KIR_F64 ? IR_F64_T : IR_F32_T;
    if (!is_plain(&scores))
        bring(&scores, &b, kir_scratch(l->k, acc, b.rows * scores.depth), scores.depth);
    multiply(&scores, &b, first, scores.packed);
    l->kernel = second;
    s.ready = 1;
    pass_rows(l, &b, second);
    l->kernel = k;
    s.ready = 2;
    acc = out.acc == KIR_F64 ? IR_F64_T : IR_F32_T;
    if (!is_plain(&out)) /* in place where they have the type of the sum */
        bring(&out, &b, ir_val_type(l->m, s.v[1])->dtype == acc ? s.buffer[1] : kir_scratch(l->k, acc, b.rows * s.pitch),
              s.pitch);
    multiply(&out, &b, k, false);
    kir_close(l->k);
    l->stages = NULL;
}
