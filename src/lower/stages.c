/* STAGES: GEMM, row-wise kernel, GEMM in one kernel, such as attention. A block of rows goes through a contraction, whose
 * results (scores) are in scratch memory; through a kernel of rows, whose results (weights) replace them; and as an operand of
 * another contraction, which is stored. So the matrix of scores is never in memory.
 *
 * Where fuse/online.c allows it, columns come in blocks as well: the results of the second contraction are summed up over the
 * blocks in scratch memory (online.c), and blocks that are masked are skipped (span.c). So a row may be of any length.
 *
 * Both contractions have register tiles of a few rows by vectors of columns: as many vectors as compute the least that does not
 * exist. Each block packs its columns into panels, once for all rows of the task; rows that are not loads are computed into
 * scratch memory first. Where rows do not fill the last tile, its others are computed like the last one, and not stored. */
#include "lower/stages.h"

enum {
    STAGES_BLOCK = TORTURED(TORTURE_PART, 64), /* rows of a block, which share what is read of the columns' operands */
    STAGES_BLOCKS = TORTURED(2, 8), /* blocks of rows of a task, which share packed columns */
    STAGES_TILE = TORTURED(TORTURE_TILE, 6), /* rows of a register tile, whose sums take three quarters of the registers */
    STAGES_MASKED_TILE = TORTURED(TORTURE_TILE, 4), /* the same where blocks may be masked: a divisor of blocks */
    STAGES_THREAD_TILE = TORTURED(TORTURE_TILE, 8), /* the same of a thread of a GPU */
    STAGES_THREAD_COLUMNS = 32, /* least of a block there, unless there are fewer */
    STAGES_UNROLL = TORTURED(TORTURE_TILE, 4), /* steps of a sum, whose loop is short */
    STAGES_COLUMNS = TORTURED(TORTURE_PART, 256) /* most of a block */
};

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* The size of parts of nearly equal size, at most `most`. */
static int64_t even(int64_t size, int64_t most) {
    return ceil_div(size, ceil_div(size, most));
}

static int64_t round_up(int64_t a, int64_t b) {
    return ceil_div(a, b) * b;
}

/* ---- values in scratch ---------------------------------------------------------------------------- */

/* Whole rows are read at any column by the passes of rows.c, blocks of them at the current one. */
static kir_val place(struct lower *l, const struct index *at) {
    const struct lower_stages *s = l->stages;
    kir_val column = s->kernel->online ? s->column : at->n ? at->at[at->n - 1] : kir_i64(l->k, 0);
    return lower_add(l, lower_mul(l, s->row, s->pitch), column);
}

bool lower_is_stage(const struct lower *l, ir_val v) {
    for (uint32_t i = 0; l->stages && i < l->stages->ready; i++)
        if (IR_SAME(l->stages->v[i], v))
            return true;
    return false;
}

bool lower_stage_value(struct lower *l, ir_val v, const struct index *at, struct elem *out) {
    const struct lower_stages *s = l->stages;
    for (uint32_t i = s->bound.n; i-- > 0;)
        if (IR_SAME(s->bound.v[i].v, v)) {
            *out = (struct elem){s->bound.v[i].x, {0}};
            return true;
        }
    for (uint32_t i = 0; i < s->ready; i++)
        if (IR_SAME(s->v[i], v)) {
            *out = (struct elem){kir_load(l->k, s->buffer[i], place(l, at)), {0}};
            return true;
        }
    return false;
}

bool lower_stage_store(struct lower *l, ir_val v, const struct index *at, struct elem e) {
    for (uint32_t i = 0; i < 2; i++)
        if (IR_SAME(l->stages->v[i], v)) {
            kir_store(l->k, l->stages->buffer[i], place(l, at), e.re);
            return true;
        }
    return false;
}

/* ---- places --------------------------------------------------------------------------------------- */

kir_val stage_task_row(struct lower *l, kir_val row) {
    return lower_add(l, lower_mul(l, l->stages->block, l->stages->rows), row);
}

kir_val stage_row(struct lower *l, kir_val row) {
    kir_val at = lower_add(l, l->stages->first_row, stage_task_row(l, row));
    return l->stages->ragged_rows ? kir_op2(l->k, KIR_MIN, 0, at, lower_add(l, l->stages->end_row, kir_i64(l->k, -1))) : at;
}

kir_val stage_parts(struct lower *l, kir_val size, int64_t part) {
    return lower_div(l, lower_add(l, size, kir_i64(l->k, part - 1)), part);
}

kir_val stage_padding(struct lower *l) {
    kir_val n = l->stages->ncolumns;
    return kir_op2(l->k, KIR_SUB, 0, lower_mul(l, stage_parts(l, n, STAGES_UNROLL), STAGES_UNROLL), n);
}

/* The row of all scores that is row `row` of the batch. */
static kir_val score_row(struct lower *l, kir_val row) {
    struct lower_stages *s = l->stages;
    struct stage_dot *d = &s->out;
    struct index at;
    if (!s->permuted)
        return lower_add(l, lower_mul(l, s->batch, s->all_rows), row);
    const struct ir_type_data *t = ir_val_type(l->m, ir_operand(l->m, d->c.op, d->side));
    contract_set(&d->c, &d->batch, s->batch);
    contract_set(&d->c, &d->rows, row);
    d->c.sum[0].at = kir_i64(l->k, 0);
    contract_dot_index(&d->c, d->side, &at);
    at.n = t->rank - 1;
    return lower_linear(l, t->dims, t->rank - 1, &at);
}

static void outer_index(struct lower *l, kir_val row, kir_val *out) {
    const struct fuse_kernel *k = l->stages->second;
    lower_unflatten(l, score_row(l, row), k->dims, k->outer, out);
}

void stage_index(struct lower *l, ir_val v, kir_val row, kir_val column, struct index *out) {
    const struct fuse_kernel *k = l->stages->second;
    kir_val domain[IR_MAX_RANK];
    outer_index(l, row, domain);
    for (uint32_t i = k->outer; i < k->rank; i++)
        domain[i] = i + 1 == k->rank ? column : kir_i64(l->k, 0);
    lower_project_index(l, ir_val_type(l->m, v), k->dims, domain, k->rank, out);
}

void stage_bind(struct lower *l, ir_val v, kir_val x) {
    struct stage_bound b = {v, x};
    ARENA_PUSH(l->a, &l->stages->bound, b);
}

kir_val stage_converted(struct lower *l, kir_val x, enum kir_type t) {
    return kir_type(l->k, x) == t ? x : kir_typed(l->k, KIR_CONVERT, 0, t, x);
}

kir_val stage_element(struct lower *l, ir_val v) {
    struct index at;
    stage_index(l, v, stage_row(l, l->stages->row), lower_add(l, l->stages->column0, l->stages->column), &at);
    return lower_value(l, v, &at).re;
}

/* Sets the axes of batches and rows to a row of the batch. */
static void set_axes(struct stage_dot *d, kir_val row) {
    struct contraction *c = &d->c;
    struct lower *l = c->l;
    struct lower_stages *s = l->stages;
    const struct fuse_kernel *k = s->first;
    if (!s->permuted || d == &s->out) {
        contract_set(c, &d->batch, s->batch);
        contract_set(c, &d->rows, row);
        return;
    }
    kir_val domain[IR_MAX_RANK];
    lower_unflatten(l, score_row(l, row), k->dims, k->rank - 1, domain);
    for (uint32_t i = 0, next = 0; i < c->nresult; i++) {
        if (i == d->cols.v[0])
            continue;
        while (!k->anchor_map && c->result[i].size != 1 && next < k->rank && k->dims[next] == 1)
            next++;
        c->result[i].at = c->result[i].size == 1 ? kir_i64(l->k, 0) : domain[k->anchor_map ? k->anchor_map[i] : (int8_t)next++];
    }
}

/* Sets the row of the block. */
static void set_row(struct stage_dot *d, kir_val row) {
    struct lower *l = d->c.l;
    l->stages->row = row;
    set_axes(d, stage_row(l, row));
}

/* ---- contractions --------------------------------------------------------------------------------- */

/* Whether the operand of the columns is contiguous along the sum and strided along the columns, so that it is transposed by
   squares of a processor's vectors (emit_transpose.c). */
static bool is_transposed(struct stage_dot *d) {
    struct contraction *c = &d->c;
    struct contract_kernel probe;
    int64_t down = 0, along = 0;
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    kir_val column = kir_loop(k, KIR_SERIAL, d->cols.size, 0);
    contract_set(c, &d->cols, column);
    kir_val load = contract_load(k, contract_factor(c, !d->side)), sum = c->sum[c->nsum - 1].at;
    bool found = load.i && kir_linear(k, kir_get(k, load)->arg[0], sum, &down) && down == 1 &&
                 kir_linear(k, kir_get(k, load)->arg[0], column, &along) && along >= contract_vector(c);
    contract_probe_end(c, &probe);
    return found && c->nsum == 1 && kir_type_bits(c->acc) == 32 && !c->l->target->block_threads;
}

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
    d->transposed = is_transposed(d);
}

/* Lanes for `columns` elements: a vector, on a GPU as many threads as there are elements, from a warp to a block. */
static int64_t vector_of(const struct contraction *c, int64_t columns) {
    int64_t most = contract_vector(c), lanes = c->l->target->warp_threads;
    while (lanes && lanes < most && lanes < columns)
        lanes *= 2;
    return lanes ? lanes : most;
}

/* The lanes of panels in which tiles of `columns` columns take the least time, as in contract_best_tile. */
static void find_lanes(struct stage_dot *d, int64_t columns) {
    const struct contraction *c = &d->c;
    const struct target *t = c->l->target;
    int64_t vector = vector_of(c, columns), tile = c->l->stages->tile, least = INT64_MAX;
    for (int64_t wide = contract_vectors(c, t->vector_registers * 3 / 4 / 6); wide >= 1; wide /= 2) {
        int64_t steps = tile * wide > tile + wide ? tile * wide : tile + wide;
        int64_t time = ceil_div(columns, wide * vector) * (steps > t->fma_in_flight ? steps : t->fma_in_flight);
        if (time < least) {
            least = time;
            d->lanes = wide * vector;
        }
    }
    d->panels = ceil_div(columns, d->lanes);
}

/* Sets the index of the sum from a linear one. */
static void set_sum(struct contraction *c, kir_val at) {
    int64_t sums[IR_MAX_RANK];
    kir_val sum[IR_MAX_RANK];
    for (uint32_t i = 0; i < c->nsum; i++)
        sums[i] = c->sum[i].size;
    lower_unflatten(c->l, at, sums, c->nsum, sum);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = sum[i];
}

/* What is packed of an operand of columns: `lines` products of each sum from `line0` on, of `columns` columns from `column0`
   on, of which there are `all`. */
struct stage_pack {
    kir_val line0, lines, column0, columns;
    int64_t all;
};

/* Lines `from` … `from` + `count` · `at_once` - 1 of `units` vectors of `width` columns from vector `unit` on, `at_once` lines
   of a vector at a time. Columns that do not exist, which there are if it is `last`, are 0. */
static void pack_lines(struct stage_dot *d, const struct stage_pack *p, kir_val unit, kir_val units, int64_t width, bool last,
                       kir_val from, kir_val count, int64_t at_once) {
    struct contraction *c = &d->c;
    struct lower *l = c->l;
    int64_t none;
    if (kir_is_const(l->k, count, &none) && none == 0)
        return;
    unit = lower_add(l, unit, kir_loop_to(l->k, KIR_SERIAL, units, 0));
    kir_val panel = lower_div(l, unit, d->lanes / width), begin = lower_mul(l, lower_rem(l, unit, d->lanes / width), width);
    kir_val first = lower_add(l, lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, count, 0), at_once), from);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, width, (uint32_t)width);
    kir_val column = lower_add(l, lower_add(l, p->column0, lower_mul(l, unit, width)), lane);
    contract_set(c, &d->cols, column);
    for (int64_t i = 0; i < at_once; i++) {
        kir_val line = lower_add(l, first, kir_i64(l->k, i)), x;
        if (last)
            l->guard = kir_cmp(l->k, KIR_LT, 0, column, kir_i64(l->k, p->all));
        set_sum(c, lower_add(l, p->line0, line));
        x = contract_factor(c, !d->side);
        if (last)
            x = kir_select(l->k, l->guard, x, contract_zero(c));
        l->guard = (kir_val){0};
        kir_val to = lower_mul(l, lower_add(l, lower_mul(l, panel, d->depth), line), d->lanes);
        kir_store(l->k, d->panel_buffer, lower_add(l, lower_add(l, to, begin), lane), x);
    }
    lower_close(l, 3);
}

static void pack_units(struct stage_dot *d, const struct stage_pack *p, kir_val unit, kir_val units, int64_t width,
                       bool last) {
    struct lower *l = d->c.l;
    kir_val zero = kir_i64(l->k, 0);
    if (!d->transposed || last) {
        pack_lines(d, p, unit, units, width, last, zero, p->lines, 1);
        return;
    }
    kir_val squares = lower_div(l, p->lines, width), rest = lower_rem(l, p->lines, width);
    pack_lines(d, p, unit, units, width, false, zero, squares, width);
    pack_lines(d, p, unit, units, width, false, lower_mul(l, squares, width), rest, 1);
}

/* Packs panels: columns that fill vectors, and those that are left where columns do not divide by `whole`. */
static void pack_panels(struct stage_dot *d, const struct stage_pack *p, int64_t whole) {
    struct lower *l = d->c.l;
    int64_t width = d->transposed ? l->target->vector_bytes / 4 : d->lanes, none;
    kir_val full = lower_div(l, p->columns, width), rest = lower_rem(l, p->columns, width), zero = kir_i64(l->k, 0);
    set_axes(d, zero);
    if (!kir_is_const(l->k, full, &none) || none > 0)
        pack_units(d, p, zero, full, width, false);
    if (whole % width == 0)
        return;
    kir_if(l->k, kir_cmp(l->k, KIR_NE, 0, rest, zero));
    pack_units(d, p, full, kir_i64(l->k, 1), width, true);
    kir_close(l->k);
}

/* Packs the current block of columns for both contractions. Lines of the second one up to a multiple of the steps of its loop
   are 0. */
static void pack_columns(struct lower *l) {
    struct lower_stages *s = l->stages;
    struct stage_dot *out = &s->out;
    kir_val zero = kir_i64(l->k, 0), depth = kir_i64(l->k, s->scores.depth), columns = kir_i64(l->k, out->cols.size);
    pack_panels(&s->scores, &(struct stage_pack){zero, depth, s->column0, s->ncolumns, s->all_columns},
                s->ragged_columns ? 1 : s->columns);
    pack_panels(out, &(struct stage_pack){s->column0, s->ncolumns, zero, columns, out->cols.size}, out->cols.size);
    if (s->all_columns % STAGES_UNROLL == 0)
        return;
    kir_val panel = kir_loop(l->k, KIR_SERIAL, out->panels, 0);
    kir_val line = lower_add(l, s->ncolumns, kir_loop_to(l->k, KIR_SERIAL, stage_padding(l), 0));
    kir_val lane = kir_loop(l->k, KIR_VECTOR, out->lanes, (uint32_t)out->lanes);
    kir_val to = lower_mul(l, lower_add(l, lower_mul(l, panel, out->depth), line), out->lanes);
    kir_store(l->k, out->panel_buffer, lower_add(l, to, lane), contract_zero(&out->c));
    lower_close(l, 3);
}

/* Whether the elements of the rows are in memory as they are multiplied. */
static bool is_plain(const struct stage_dot *d) {
    const struct lower *l = d->c.l;
    ir_val v = ir_operand(l->m, d->c.op, d->side);
    while (!lower_is_stored(l, v) && !lower_is_stage(l, v) && fuse_is_alias(l->m, ir_val_get(l->m, v)->op))
        v = ir_operand(l->m, ir_val_get(l->m, v)->op, 0);
    if (lower_is_stage(l, v)) /* of the type in which kernels compute */
        return kir_type_of(ir_val_type(l->m, v)->dtype) == d->c.acc;
    return lower_is_stored(l, v) && kir_type_of(ir_val_type(l->m, v)->dtype) == d->c.acc &&
           ir_dtype_get(ir_val_type(l->m, v)->dtype)->bits == kir_type_bits(d->c.acc);
}

/* The factor of a row of the block at line `line`, for the sum of products and for packing. */
static void set_line(struct stage_dot *d, kir_val line) {
    struct lower_stages *s = d->c.l->stages;
    if (d == &s->out) {
        s->column = line;
        line = lower_add(d->c.l, s->column0, line);
    }
    set_sum(&d->c, line);
}

/* Packs the rows of the block into a scratch buffer: the first `depth` products of each. */
static void pack_rows(struct stage_dot *d, uint32_t scratch, kir_val depth, int64_t pitch) {
    struct contraction *c = &d->c;
    struct lower *l = c->l;
    kir_val row = kir_loop_to(l->k, KIR_SERIAL, l->stages->nrows, 0);
    set_row(d, row);
    kir_val line = kir_loop_to(l->k, KIR_VECTOR, depth, (uint32_t)l->stages->vector);
    set_line(d, line);
    kir_store(l->k, scratch, lower_add(l, lower_mul(l, row, pitch), line), contract_factor(c, d->side));
    lower_close(l, 2);
    d->rows_packed = true;
    d->row_buffer = scratch;
    d->pitch = pitch;
}

/* Keeps the score that is made of a sum at the current row and column. */
static void store_score(struct lower *l, kir_val sum) {
    struct lower_stages *s = l->stages;
    ir_val result = ir_result(l->m, s->first->anchor, 0);
    enum ir_dtype t = ir_val_type(l->m, result)->dtype;
    if (kir_type(l->k, sum) != kir_type_of(t))
        sum = kir_typed(l->k, KIR_CONVERT, 0, kir_type_of(t), sum);
    stage_bind(l, result, lower_round(l, t, (struct elem){sum, {0}}).re);
    kir_val at = lower_add(l, lower_mul(l, s->row, s->pitch), s->column);
    kir_store(l->k, s->buffer[0], at, stage_element(l, s->v[0]));
    s->bound.n--;
}

/* The sums of the current block: panels of columns, in each of them tiles of rows. Of the second contraction they are added to
   those of the blocks before, or finished when there is but one block. */
static void multiply(struct stage_dot *d) {
    struct contraction *c = &d->c;
    struct lower *l = c->l;
    struct lower_stages *s = l->stages;
    bool scores = d == &s->scores, adds = !scores && s->kernel->online;
    int64_t tile = s->tile, unroll = d->depth % STAGES_UNROLL == 0 ? STAGES_UNROLL : 1;
    kir_val all = scores ? s->ncolumns : kir_i64(l->k, d->cols.size), steps = kir_i64(l->k, d->depth / unroll);
    if (!scores)
        steps = lower_div(l, lower_add(l, s->ncolumns, stage_padding(l)), unroll);
    kir_val panel = kir_loop_to(l->k, KIR_SERIAL, stage_parts(l, all, d->lanes), 0), begin = lower_mul(l, panel, d->lanes);
    kir_val first = lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, lower_div(l, s->nrows, tile), 0), tile);
    kir_val columns = kir_op2(l->k, KIR_MIN, 0, kir_i64(l->k, d->lanes), kir_op2(l->k, KIR_SUB, 0, all, begin));
    if ((scores ? s->ragged_columns ? 1 : s->columns : d->cols.size) % d->lanes == 0)
        columns = kir_i64(l->k, d->lanes);
    kir_val lane = kir_loop_to(l->k, KIR_VECTOR, columns, (uint32_t)d->lanes), column = lower_add(l, begin, lane);
    kir_val reg = kir_reg(l->k, contract_zero(c), tile), r;
    if (scores)
        s->column = column;
    contract_set(c, &d->cols, scores ? lower_add(l, s->column0, column) : column);
    if (adds) {
        r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
        kir_val row = lower_add(l, first, r), at = lower_mul(l, stage_task_row(l, row), s->sums_pitch);
        kir_val sum = kir_load(l->k, s->sums, lower_add(l, at, column));
        if (s->scaled)
            sum = kir_op2(l->k, KIR_MUL, 0, sum, stage_converted(l, kir_load(l->k, s->factor, row), c->acc));
        kir_set_reg(l->k, reg, r, sum);
        kir_close(l->k);
    }
    kir_val step = lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, steps, 0), unroll);
    kir_val line = lower_add(l, step, kir_loop(l->k, KIR_UNROLLED, unroll, 0));
    r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    set_row(d, lower_add(l, first, r));
    set_line(d, line);
    if (d->rows_packed)
        c->packed[d->side] = (struct packed){true, d->row_buffer, lower_add(l, lower_mul(l, s->row, d->pitch), line), {0}};
    kir_val at = lower_mul(l, lower_add(l, lower_mul(l, panel, d->depth), line), d->lanes);
    c->packed[!d->side] = (struct packed){true, d->panel_buffer, lower_add(l, at, lane), {0}};
    contract_multiply_add(c, reg, r);
    lower_close(l, 3);
    r = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    set_row(d, lower_add(l, first, r));
    if (scores)
        s->column = column;
    if (adds) {
        at = lower_mul(l, stage_task_row(l, lower_add(l, first, r)), s->sums_pitch);
        kir_store(l->k, s->sums, lower_add(l, at, column), kir_get_reg(l->k, reg, r));
    } else if (scores) {
        store_score(l, kir_get_reg(l->k, reg, r));
    } else {
        contract_finish(c, kir_get_reg(l->k, reg, r));
    }
    lower_close(l, 4);
}

/* ---- blocks --------------------------------------------------------------------------------------- */

/* The passes of the kernel of rows over whole rows. */
static void whole_rows(struct lower *l) {
    kir_val outer[IR_MAX_RANK];
    l->stages->row = kir_loop_to(l->k, KIR_SERIAL, l->stages->nrows, 0);
    outer_index(l, stage_row(l, l->stages->row), outer);
    lower_rows_at(l, outer);
    kir_close(l->k);
}

/* Columns up to a multiple of the steps of the second contraction have no weight. */
static void pad_rows(struct lower *l) {
    struct lower_stages *s = l->stages;
    s->row = kir_loop_to(l->k, KIR_SERIAL, s->nrows, 0);
    s->column = lower_add(l, s->ncolumns, kir_loop_to(l->k, KIR_SERIAL, stage_padding(l), 0));
    kir_val at = lower_add(l, lower_mul(l, s->row, s->pitch), s->column);
    kir_store(l->k, s->buffer[1], at, kir_float(l->k, kir_type_of(ir_val_type(l->m, s->v[1])->dtype), 0));
    lower_close(l, 2);
}

/* The current block of rows and columns. */
static void compute_block(struct lower *l) {
    struct lower_stages *s = l->stages;
    s->ready = 0;
    s->scores.rows_packed = false;
    if (!is_plain(&s->scores))
        pack_rows(&s->scores, s->scores.row_buffer, kir_i64(l->k, s->scores.depth), s->scores.depth);
    multiply(&s->scores);
    l->kernel = s->second;
    s->ready = 1;
    (s->kernel->online ? online_rows : whole_rows)(l);
    l->kernel = s->kernel;
    if (s->all_columns % STAGES_UNROLL != 0)
        pad_rows(l);
    s->ready = 2;
    s->out.rows_packed = false;
    if (!is_plain(&s->out)) /* in place */
        pack_rows(&s->out, s->buffer[1], lower_add(l, s->ncolumns, stage_padding(l)), s->pitch);
    multiply(&s->out);
    s->ready = 0;
}

/* What is known of the mask of the scores in `blocks` blocks of rows from `block` on, and the current columns. */
static bool mask_of(struct lower *l, kir_val block, int64_t blocks, struct lower_mask *out) {
    const struct lower_stages *s = l->stages;
    const struct fuse_kernel *k = s->second;
    struct lower_span at[IR_MAX_RANK], domain[IR_MAX_RANK];
    uint32_t last = 0; /* dimension of the domain's rows */
    for (uint32_t i = 0; i < k->outer; i++)
        last = k->dims[i] != 1 ? i : last;
    if (IR_NONE(s->kernel->online->reference) || k->dims[last] != s->line)
        return false; /* a task may have rows of several lines */
    kir_val lo = lower_add(l, s->first_row, lower_mul(l, block, s->rows)), rows[2][IR_MAX_RANK];
    kir_val hi = lower_add(l, lo, kir_i64(l->k, s->rows * blocks - 1));
    outer_index(l, lo, rows[0]);
    outer_index(l, s->ragged_rows ? kir_op2(l->k, KIR_MIN, 0, hi, lower_add(l, s->end_row, kir_i64(l->k, -1))) : hi, rows[1]);
    for (uint32_t i = 0; i < k->rank; i++) {
        kir_val zero = kir_i64(l->k, 0);
        domain[i] = i < k->outer ? (struct lower_span){rows[0][i], rows[1][i]} : (struct lower_span){zero, zero};
        if (i < k->outer && i != last) /* the same for all rows */
            domain[i].hi = domain[i].lo;
        if (i + 1 == k->rank)
            domain[i] = (struct lower_span){s->column0, kir_op2(l->k, KIR_SUB, 0, lower_add(l, s->column0, s->ncolumns),
                                                                 kir_i64(l->k, 1))};
    }
    const struct ir_type_data *t = ir_val_type(l->m, s->v[0]);
    for (uint32_t i = 0, j = 0; i < t->rank; i++) {
        while (j < k->rank && k->dims[j] == 1)
            j++;
        at[i] = t->dims[i] == 1 || j == k->rank ? (struct lower_span){kir_i64(l->k, 0), kir_i64(l->k, 0)} : domain[j++];
    }
    return lower_unmasked(l, s->v[0], at, out);
}

/* Whether what is masked may matter to some row: it is not so far below the maximum that its exponential is 0. */
static kir_val is_open(struct lower *l, double bound) {
    const struct lower_stages *s = l->stages;
    enum kir_type t = kir_type_of(ir_val_type(l->m, s->v[0])->dtype);
    kir_val rows = kir_i64(l->k, s->rows * s->blocks), reg = kir_reg(l->k, kir_int(l->k, KIR_I1, 0), 1), none = {0};
    if (s->ragged_rows)
        rows = kir_op2(l->k, KIR_MIN, 0, rows, kir_op2(l->k, KIR_SUB, 0, s->end_row, s->first_row));
    uint32_t lanes = l->target->block_threads ? (uint32_t)s->vector : lower_lanes(l, kir_type_bits(t) / 8, 1);
    kir_val row = kir_loop_to(l->k, KIR_VECTOR, rows, lanes);
    kir_val below = kir_op2(l->k, KIR_SUB, 0, kir_float(l->k, t, bound), kir_load(l->k, s->max, row));
    kir_val far = kir_cmp(l->k, KIR_LT, 0, below, kir_float(l->k, t, t == KIR_F64 ? -746 : -104));
    kir_acc(l->k, KIR_OR, KIR_U, reg, none, kir_op1(l->k, KIR_NOT, far));
    kir_close(l->k);
    return kir_get_reg(l->k, reg, none);
}

/* Whether reductions of values of single scores, but the maximum, are the same without those that are masked. */
static bool ignores_masked(struct lower *l, const struct lower_mask *mask) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = s->kernel->online;
    bool ignored = true;
    stage_bind(l, s->v[0], kir_float(l->k, kir_type_of(ir_val_type(l->m, s->v[0])->dtype), mask->bound));
    for (uint32_t i = 0; i < o->nreduces && ignored; i++) {
        ir_op op = o->reduces[i].op;
        ir_val v = ir_operand(l->m, op, 0);
        int64_t x, neutral;
        if (!IR_NONE(o->reduces[i].reference) || IR_SAME(op, o->max))
            continue;
        kir_val y = stage_element(l, v);
        ignored = mask->exact && kir_is_const(l->k, y, &x) &&
                  kir_is_const(l->k, kir_neutral(l->k, lower_reducer(l->m, op), lower_sign(ir_val_type(l->m, v)->dtype),
                                                 kir_type(l->k, y)), &neutral) && x == neutral;
    }
    s->bound.n--;
    return ignored;
}

/* The rows of task `task` of a batch. */
static void set_task(struct lower *l, kir_val task) {
    struct lower_stages *s = l->stages;
    int64_t tasks = s->tasks / (s->all_rows / s->line); /* of a line */
    kir_val line = lower_mul(l, lower_div(l, task, tasks), s->line);
    s->first_row = lower_add(l, line, lower_mul(l, lower_rem(l, task, tasks), s->rows * s->blocks));
    s->end_row = lower_add(l, line, kir_i64(l->k, s->line));
}

/* Whether blocks may be masked, as far as is known now: found by asking in a kernel that is thrown away. */
static bool is_masked(struct lower *outer) {
    struct lower_stages *s = outer->stages;
    struct lower_mask mask;
    struct lower l;
    lower_probe_begin(outer, &l);
    s->scores.c.l = s->out.c.l = &l;
    s->batch = kir_loop(l.k, KIR_SERIAL, s->out.batch.size + 1, 0);
    set_task(&l, kir_loop(l.k, KIR_SERIAL, s->tasks + 1, 0));
    s->column0 = lower_mul(&l, kir_loop(l.k, KIR_SERIAL, s->all_columns, 0), s->columns);
    s->ncolumns = kir_i64(l.k, 1);
    s->block = s->row = s->column = kir_i64(l.k, 0);
    bool masked = mask_of(&l, s->block, 1, &mask) && ignores_masked(&l, &mask);
    s->bound_of_masked = masked ? mask.bound : 0;
    s->scores.c.l = s->out.c.l = outer;
    lower_probe_end(&l);
    return masked;
}

/* All blocks of a task. Where there is a mask, those come first in which something may not be masked; the others only if some
   row is left to which they may matter: one that is masked altogether. */
static void compute_task(struct lower *l) {
    struct lower_stages *s = l->stages;
    struct lower_mask mask = {.bound = 0};
    int64_t count = ceil_div(s->all_columns, s->columns);
    bool masked = s->masked;
    kir_val zero = kir_i64(l->k, 0), again = {0};
    uint32_t opened = 2;
    if (masked) {
        again = kir_cmp(l->k, KIR_NE, 0, kir_loop(l->k, KIR_SERIAL, 2, 0), zero);
        kir_if(l->k, kir_op2(l->k, KIR_OR, 0, kir_op1(l->k, KIR_NOT, again), is_open(l, s->bound_of_masked)));
        opened += 2;
    }
    s->column0 = lower_mul(l, kir_loop(l->k, KIR_SERIAL, count, 0), s->columns);
    s->ncolumns = lower_extent(l, s->column0, s->columns, s->all_columns);
    if (masked) {
        (void)mask_of(l, zero, s->blocks, &mask);
        kir_if(l->k, kir_op2(l->k, KIR_OR, 0, again, mask.possible));
        opened++;
    }
    pack_columns(l);
    s->block = kir_loop(l->k, KIR_SERIAL, s->blocks, 0);
    kir_val first = lower_add(l, s->first_row, lower_mul(l, s->block, s->rows));
    kir_val left = kir_op2(l->k, KIR_SUB, 0, s->end_row, first);
    s->nrows = kir_i64(l->k, s->rows);
    if (s->ragged_rows)
        s->nrows = kir_op2(l->k, KIR_MIN, 0, s->nrows, lower_mul(l, stage_parts(l, left, s->tile), s->tile));
    if (s->ragged_rows && s->blocks > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, zero, left));
        opened++;
    }
    if (masked) {
        (void)mask_of(l, s->block, 1, &mask);
        kir_if(l->k, kir_op2(l->k, KIR_XOR, 0, again, mask.possible));
        opened++;
    }
    compute_block(l);
    lower_close(l, opened);
}

/* The rows of a batch that are next to each other in the result: those of its last dimension, if they fill blocks. */
static int64_t line_of(const struct stage_dot *d) {
    int64_t line = 1;
    for (uint32_t i = 0; i < d->rows.n; i++)
        line = d->c.result[d->rows.v[i]].size != 1 ? d->c.result[d->rows.v[i]].size : line;
    return line < STAGES_BLOCK ? d->rows.size : line;
}

/* Bytes of scratch memory, at most, without the state of rows. */
static int64_t scratch_bytes(struct lower_stages *s) {
    find_lanes(&s->scores, s->columns);
    int64_t pitch = s->scores.panels * s->scores.lanes, sums = s->out.panels * s->out.lanes;
    int64_t elements = pitch * s->scores.depth + sums * s->columns + s->rows * (2 * pitch + sums + s->scores.depth);
    return elements * kir_type_bits(s->out.c.acc) / 8;
}

/* The rows and columns of a block on a GPU: fewer while there are not two blocks of threads for each multiprocessor, or not
   enough shared memory for two. */
static void fit_block(struct lower *l) {
    struct lower_stages *s = l->stages;
    const struct target *t = l->target;
    int64_t lines = s->out.batch.size * (s->all_rows / s->line), bytes = (int64_t)t->shared_bytes * 3 / 8;
    if (s->kernel->online)
        s->columns = s->columns < s->vector ? s->columns : s->vector;
    while (s->rows > s->tile && lines * ceil_div(s->line, s->rows) < 2 * (int64_t)t->cores)
        s->rows -= s->tile;
    while (s->kernel->online && s->columns >= 2 * STAGES_THREAD_COLUMNS && scratch_bytes(s) > bytes)
        s->columns /= 2;
    while (s->rows > s->tile && scratch_bytes(s) > bytes)
        s->rows -= s->tile;
    s->rows = round_up(even(s->line, s->rows), s->tile);
}

/* Where blocks may be masked, blocks of columns have a multiple of the rows of blocks of rows, if that is one of the steps of a
   sum, too, so that a triangular mask leaves out as much as it can. */
static void choose_sizes(struct lower *l) {
    struct lower_stages *s = l->stages;
    int64_t bytes = kir_type_bits(s->out.c.acc) / 8, most = (int64_t)l->target->l2_bytes / 8;
    s->all_rows = s->out.rows.size;
    s->all_columns = s->scores.cols.size;
    s->line = line_of(&s->out);
    bool threads = l->target->block_threads;
    s->tile = threads ? even(s->line, STAGES_THREAD_TILE) : s->masked ? STAGES_MASKED_TILE : even(s->line, STAGES_TILE);
    s->vector = vector_of(&s->out.c, s->out.cols.size);
    find_lanes(&s->out, s->out.cols.size);
    s->rows = round_up(even(s->line, STAGES_BLOCK), s->tile);
    s->columns = s->all_columns;
    if (threads)
        fit_block(l);
    int64_t blocks = ceil_div(s->line, s->rows), lines = s->out.batch.size * (s->all_rows / s->line);
    s->blocks = threads ? 1 : blocks < STAGES_BLOCKS ? blocks : STAGES_BLOCKS;
    while (s->blocks > 1 && (lines * ceil_div(blocks, s->blocks) < l->target->tasks ||
                             s->blocks * s->rows * s->out.panels * s->out.lanes * bytes > most)) /* sums */
        s->blocks--;
    s->blocks = even(blocks, s->blocks);
    s->tasks = s->all_rows / s->line * ceil_div(blocks, s->blocks);
    if (s->kernel->online && !threads) { /* a panel of the second contraction stays in L1 while all rows are multiplied by it */
        most = (int64_t)l->target->l1_bytes * 2 / 3 / (s->out.lanes * bytes);
        s->columns = even(s->columns, most > STAGES_COLUMNS ? STAGES_COLUMNS : most);
    }
    s->columns = round_up(s->columns, STAGES_UNROLL);
    int64_t whole = s->columns - s->columns % s->rows;
    if (s->masked && whole > 0 && whole % STAGES_UNROLL == 0) /* lines are padded where columns end, not between blocks */
        s->columns = whole;
    find_lanes(&s->scores, s->columns);
    s->ragged_rows = s->line % (s->rows * s->blocks) != 0;
    s->ragged_columns = s->all_columns % s->columns != 0;
    s->out.depth = s->columns;
    s->pitch = s->scores.panels * s->scores.lanes;
}

static void choose_buffers(struct lower *l) {
    struct lower_stages *s = l->stages;
    enum ir_dtype types[2];
    for (uint32_t i = 0; i < 2; i++) { /* the weights replace the scores where their types agree */
        types[i] = kir_type_of(ir_val_type(l->m, s->v[i])->dtype) == KIR_F64 ? IR_F64_T : IR_F32_T;
        bool over = i && types[1] == types[0];
        s->buffer[i] = over ? s->buffer[0] : kir_scratch(l->k, types[i], s->rows * s->pitch);
    }
    struct stage_dot *dots[] = {&s->scores, &s->out};
    for (uint32_t i = 0; i < 2; i++)
        dots[i]->panel_buffer = kir_scratch(l->k, contract_acc_dtype(&dots[i]->c),
                                            dots[i]->panels * dots[i]->depth * dots[i]->lanes);
    if (!is_plain(&s->scores))
        s->scores.row_buffer = kir_scratch(l->k, contract_acc_dtype(&s->scores.c), s->rows * s->scores.depth);
}

void lower_stages(struct lower *l) {
    const struct fuse_kernel *k = l->kernel;
    struct lower_stages s = {.kernel = k, .first = k->stages[0], .second = k->stages[1], .permuted = k->permuted};
    s.v[0] = k->online ? k->online->scores : s.first->outs.v[0];
    s.v[1] = s.second->outs.v[0];
    dot_init(&s.scores, l, s.first->anchor, 0);
    dot_init(&s.out, l, k->anchor, k->chained_operand);
    l->stages = &s;
    choose_sizes(l);
    s.masked = k->online && s.all_columns > s.columns && is_masked(l);
    if (s.masked)
        choose_sizes(l);
    choose_buffers(l);
    kir_val g = lower_grid(l, s.out.batch.size * s.tasks);
    s.batch = lower_div(l, g, s.tasks);
    set_task(l, lower_rem(l, g, s.tasks));
    if (k->online)
        online_begin(l);
    compute_task(l);
    if (k->online)
        online_finish(l);
    kir_close(l->k);
    l->stages = NULL;
}
