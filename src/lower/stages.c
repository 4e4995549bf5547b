/* STAGES: GEMM, row-wise kernel, GEMM in one kernel, such as attention. A block of rows at a time goes through a
 * contraction, whose results (scores) go to scratch memory; through the passes of a kernel of rows, whose results (weights)
 * do, too; and as an operand of another contraction, which is stored. So the matrix of scores is never in memory. A block is
 * an iteration of the grid.
 *
 * Both contractions have register tiles of a few rows by vectors of columns. The operand of the columns is packed into
 * panels by a prologue unless its columns are one contiguous panel; rows that are not loads are computed into scratch memory
 * first. */
#include "lower/contract.h"

enum {
    STAGES_BLOCK = TORTURED(TORTURE_PART, 32), /* rows of a block, which share what is read of the columns' operands */
    STAGES_TILE = TORTURED(TORTURE_TILE, 4), /* rows of a register tile, whose sums take half of the registers */
    STAGES_UNROLL = TORTURED(TORTURE_TILE, 4) /* steps of a sum, whose loop is short */
};

/* One of the two contractions. */
struct stage_dot {
    struct contraction c;
    uint32_t side;                          /* the operand of the rows; the other has the columns */
    struct contract_axes batch, rows, cols; /* of the result */
    int64_t depth, lanes, panels;           /* products of a sum; columns of a panel; panels */
    bool panels_packed;                     /* columns: [batch][panel][sum][lane] in `panel_buffer` */
    bool rows_packed;                       /* rows: [row][sum] in `row_buffer`, `pitch` elements apart */
    uint32_t panel_buffer, row_buffer;
    int64_t pitch;
};

struct lower_stages {
    ir_val v[2]; /* scores, weights */
    uint32_t buffer[2], ready;
    int64_t pitch; /* elements from row to row */
    kir_val row;   /* in the block */
};

/* ---- values in scratch ---------------------------------------------------------------------------- */

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

/* ---- contractions --------------------------------------------------------------------------------- */

static void dot_init(struct stage_dot *d, struct lower *l, ir_op op, uint32_t side) {
    struct contraction *c = &d->c;
    ir_attr numbers = ir_prop(l->m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t nbatch;
    *d = (struct stage_dot){.side = side, .batch.size = 1, .rows.size = 1, .cols.size = 1, .depth = 1};
    contract_init(c, l, op);
    c->acc = c->acc == KIR_F64 ? KIR_F64 : KIR_F32;
    (void)ir_field_dims(l->m, numbers, IR_DOT_lhs_batching_dimensions_F, &nbatch);
    uint32_t left = ir_val_type(l->m, ir_operand(l->m, op, 0))->rank - c->nsum;
    for (uint32_t i = 0; i < c->nresult; i++)
        contract_add_axis(c, i < nbatch ? &d->batch : (i < left) == (side == 0) ? &d->rows : &d->cols, i);
    for (uint32_t i = 0; i < c->nsum; i++)
        d->depth *= c->sum[i].size;
    d->lanes = l->target->vector_registers / 8 * contract_vector(c);
    while (d->lanes > contract_vector(c) && d->lanes / 2 >= d->cols.size)
        d->lanes /= 2;
    d->panels = (d->cols.size + d->lanes - 1) / d->lanes;
}

/* The index of the sum as a linear one from `from` on, row-major. */
static kir_val sum_index(struct stage_dot *d, kir_val from) {
    struct contraction *c = &d->c;
    for (uint32_t i = 0; i < c->nsum; i++)
        from = lower_add(c->l, lower_mul(c->l, from, c->sum[i].size), c->sum[i].at);
    return from;
}

/* Whether the operand of the columns is contiguous along them, loaded without arithmetic, and needs no panels. */
static bool is_contiguous(struct stage_dot *d) {
    struct contraction *c = &d->c;
    struct contract_kernel probe;
    int64_t stride = 0;
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    c->l->stages = NULL;
    kir_val column = kir_loop(k, KIR_SERIAL, d->cols.size, 0);
    contract_set(c, &d->cols, column);
    const struct kir_node *n = kir_get(k, contract_factor(c, !d->side));
    bool found = n->op == KIR_LOAD && !n->arg[1].i &&
                 8 * ir_dtype_get(k->buffers.v[n->of].dtype)->bytes == kir_type_bits(c->acc) &&
                 kir_linear(k, n->arg[0], column, &stride) && stride == 1;
    contract_probe_end(c, &probe);
    return found;
}

/* The prologue that packs panels; columns after the last one are zeros. */
static void pack_panels(struct stage_dot *d) {
    struct contraction *c = &d->c;
    struct contract_kernel prologue;
    int64_t grid[2] = {d->batch.size, d->panels}, sums[IR_MAX_RANK];
    kir_val at[2], sum[IR_MAX_RANK];
    uint32_t temp = lower_new_temp(c->l, contract_acc_dtype(c), d->batch.size * d->panels * d->depth * d->lanes);
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    lower_grid_nd(l, grid, 2, at);
    contract_set(c, &d->batch, at[0]);
    uint32_t buffer = lower_temp(l, temp, KIR_OUT);
    kir_val line = kir_loop(l->k, KIR_SERIAL, d->depth, 0);
    for (uint32_t i = 0; i < c->nsum; i++)
        sums[i] = c->sum[i].size;
    lower_unflatten(l, line, sums, c->nsum, sum);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = sum[i];
    kir_val lane = kir_loop(l->k, KIR_VECTOR, d->lanes, (uint32_t)d->lanes);
    kir_val column = lower_add(l, lower_mul(l, at[1], d->lanes), lane);
    contract_set(c, &d->cols, column);
    if (d->cols.size % d->lanes)
        l->guard = kir_cmp(l->k, KIR_LT, 0, column, kir_i64(l->k, d->cols.size));
    kir_val x = contract_factor(c, !d->side);
    if (l->guard.i)
        x = kir_select(l->k, l->guard, x, contract_zero(c));
    l->guard = (kir_val){0};
    kir_val to = lower_add(l, lower_mul(l, at[0], d->panels), at[1]);
    to = lower_add(l, lower_mul(l, to, d->depth), line);
    kir_store(l->k, buffer, lower_add(l, lower_mul(l, to, d->lanes), lane), x);
    lower_close(l, 3);
    contract_prologue_end(c, &prologue);
    d->panels_packed = true;
    d->panel_buffer = lower_temp(c->l, temp, KIR_IN);
}

/* ---- blocks of rows ------------------------------------------------------------------------------- */

/* The block: rows `first` … first + rows − 1 of a batch. */
struct stage_block {
    kir_val batch, first;
    int64_t rows, of; /* of: rows of a batch */
};

static void set_row(struct stage_dot *d, const struct stage_block *b, kir_val row) {
    struct lower *l = d->c.l;
    l->stages->row = row;
    contract_set(&d->c, &d->rows, lower_add(l, b->first, row));
}

/* Whether the elements of the rows are in memory as they are multiplied. */
static bool is_plain(const struct stage_dot *d) {
    const struct lower *l = d->c.l;
    ir_val v = ir_operand(l->m, d->c.op, d->side);
    while (!lower_is_stored(l, v) && !lower_is_stage(l, v) && fuse_is_alias(l->m, ir_val_get(l->m, v)->op))
        v = ir_operand(l->m, ir_val_get(l->m, v)->op, 0);
    return (lower_is_stored(l, v) || lower_is_stage(l, v)) && kir_type_of(ir_val_type(l->m, v)->dtype) == d->c.acc &&
           ir_dtype_get(ir_val_type(l->m, v)->dtype)->bits == kir_type_bits(d->c.acc);
}

/* Packs the block's rows into a scratch buffer. */
static void pack_rows(struct stage_dot *d, const struct stage_block *b, uint32_t scratch, int64_t pitch) {
    struct contraction *c = &d->c;
    struct lower *l = c->l;
    kir_val row = kir_loop(l->k, KIR_SERIAL, b->rows, 0);
    contract_set(c, &d->batch, b->batch);
    set_row(d, b, row);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = kir_loop(l->k, i + 1 < c->nsum ? KIR_SERIAL : KIR_VECTOR, c->sum[i].size, (uint32_t)contract_vector(c));
    kir_val at = lower_add(l, lower_mul(l, row, pitch), sum_index(d, kir_i64(l->k, 0)));
    kir_store(l->k, scratch, at, contract_factor(c, d->side));
    lower_close(l, c->nsum + 1);
    d->rows_packed = true;
    d->row_buffer = scratch;
    d->pitch = pitch;
}

/* Opens loops over the sum, the last one unrolled by a few steps. Returns how many. */
static uint32_t open_sums(struct stage_dot *d) {
    struct contraction *c = &d->c;
    struct kir *k = c->l->k;
    uint32_t last = c->nsum - 1;
    for (uint32_t i = 0; i < last; i++)
        c->sum[i].at = kir_loop(k, KIR_SERIAL, c->sum[i].size, 0);
    int64_t unroll = c->sum[last].size % STAGES_UNROLL == 0 ? STAGES_UNROLL : 1;
    kir_val step = lower_mul(c->l, kir_loop(k, KIR_SERIAL, c->sum[last].size / unroll, 0), unroll);
    c->sum[last].at = lower_add(c->l, step, kir_loop(k, KIR_UNROLLED, unroll, 0));
    return c->nsum + 1;
}

/* The contraction for a block: panels of columns, in each of them tiles of rows. `padded`: results after the last column may
   be stored. */
static void multiply(struct stage_dot *d, const struct stage_block *b, bool padded) {
    struct contraction *c = &d->c;
    struct lower *l = c->l;
    int64_t tile = b->rows < STAGES_TILE ? b->rows : STAGES_TILE;
    contract_set(c, &d->batch, b->batch);
    kir_val panel = kir_loop(l->k, KIR_SERIAL, d->panels, 0), t = kir_loop(l->k, KIR_SERIAL, (b->rows + tile - 1) / tile, 0);
    kir_val first = contract_tile_begin(l, t, b->rows, tile), begin = lower_mul(l, panel, d->lanes);
    kir_val columns = padded ? kir_i64(l->k, d->lanes) : lower_extent(l, begin, d->lanes, d->cols.size);
    kir_val lane = kir_loop_to(l->k, KIR_VECTOR, columns, (uint32_t)d->lanes);
    contract_set(c, &d->cols, lower_add(l, begin, lane));
    kir_val reg = kir_reg(l->k, contract_zero(c), tile);
    uint32_t opened = open_sums(d);
    kir_val r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    set_row(d, b, lower_add(l, first, r));
    if (d->rows_packed) {
        kir_val at = lower_add(l, lower_mul(l, l->stages->row, d->pitch), sum_index(d, kir_i64(l->k, 0)));
        c->packed[d->side] = (struct packed){true, d->row_buffer, at, {0}};
    }
    if (d->panels_packed) {
        kir_val at = lower_add(l, lower_mul(l, b->batch, d->panels), panel);
        at = lower_add(l, lower_mul(l, sum_index(d, at), d->lanes), lane);
        c->packed[!d->side] = (struct packed){true, d->panel_buffer, at, {0}};
    }
    contract_multiply_add(c, reg, r);
    lower_close(l, opened + 1);
    r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    set_row(d, b, lower_add(l, first, r));
    contract_finish(c, kir_get_reg(l->k, reg, r));
    lower_close(l, 4);
}

/* The passes of the kernel of rows for each row of the block. */
static void pass_rows(struct lower *l, const struct stage_block *b, const struct fuse_kernel *kernel) {
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
    struct stage_dot scores, out;
    dot_init(&scores, l, first->anchor, 0);
    dot_init(&out, l, k->anchor, k->chained_operand);
    if (scores.panels > 1 || !is_contiguous(&scores))
        pack_panels(&scores);
    if (out.panels > 1 || !is_contiguous(&out))
        pack_panels(&out);
    l->stages = &s;
    struct stage_block b = {.of = out.rows.size, .rows = out.rows.size < STAGES_BLOCK ? out.rows.size : STAGES_BLOCK};
    int64_t blocks = (b.of + b.rows - 1) / b.rows;
    s.pitch = scores.panels * scores.lanes;
    for (uint32_t i = 0; i < 2; i++) { /* the weights replace the scores where their types agree */
        enum ir_dtype t = ir_val_type(l->m, s.v[i])->dtype;
        bool over = i && t == ir_val_type(l->m, s.v[0])->dtype;
        s.buffer[i] = over ? s.buffer[0] : kir_scratch(l->k, t, b.rows * s.pitch);
    }
    kir_val g = lower_grid(l, out.batch.size * blocks);
    b.batch = lower_div(l, g, blocks);
    b.first = contract_tile_begin(l, lower_rem(l, g, blocks), b.of, b.rows);
    l->kernel = first;
    if (!is_plain(&scores))
        pack_rows(&scores, &b, kir_scratch(l->k, contract_acc_dtype(&scores.c), b.rows * scores.depth), scores.depth);
    multiply(&scores, &b, scores.panels_packed);
    l->kernel = second;
    s.ready = 1;
    pass_rows(l, &b, second);
    l->kernel = k;
    s.ready = 2;
    enum ir_dtype acc = contract_acc_dtype(&out.c);
    if (!is_plain(&out)) /* in place where the weights have the type of the sum */
        pack_rows(&out, &b,
                  ir_val_type(l->m, s.v[1])->dtype == acc ? s.buffer[1] : kir_scratch(l->k, acc, b.rows * s.pitch), s.pitch);
    multiply(&out, &b, false);
    kir_close(l->k);
    l->stages = NULL;
}
