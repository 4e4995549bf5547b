/* Packing of the operands of a GEMM in blocks (block.h), by a prologue or within the block. Factors of 8 and 16 bits are packed
 * as 32-bit words of four or two, which follow one another in the sum; those after the last one are zeros. */
#include "lower/block.h"

enum {
    PACK_AHEAD = 16,              /* lines of the rhs that are prefetched, */
    PACK_AHEAD_ON_FIRST_USE = 8,  /* where products take the time between them, */
    PACK_AHEAD_ROWS = 4,          /* and rows of the lhs: they may lie in the same sets of the L1 cache; */
    PACK_AHEAD_LINES = 8,         /* lines of the lhs, where rows are contiguous; */
    PACK_LINES_BYTES = 128        /* of lines of a tile that are packed at once there */
};

enum ir_dtype block_rhs_dtype(const struct blocking *b) {
    return b->c->per_word > 1 ? IR_I32_T : contract_acc_dtype(b->c);
}

enum ir_dtype block_lhs_dtype(const struct blocking *b) {
    return b->kernel == BLOCK_TILES ? b->c->per_word == 2 ? IR_I16_T : IR_I8_T : block_rhs_dtype(b);
}

int64_t block_tile_elements(const struct blocking *b) {
    int64_t tile = b->tile.size;
    return b->sum.depth * (b->lhs_transposed ? b->lhs_stride : b->kernel == BLOCK_TILES ? tile * b->c->per_word : tile);
}

int64_t block_square_lines(const struct blocking *b) {
    return b->c->l->target->vector_bytes / 4 * b->rhs_word / b->c->per_word;
}

uint32_t block_panel_width(const struct blocking *b) {
    return (uint32_t)(b->panel.size & -b->panel.size);
}

/* ---- factors, lines --------------------------------------------------------------------------- */

kir_val block_bits(const struct contraction *c, kir_val x) {
    if (c->acc != KIR_F32)
        return x;
    return kir_op2(c->l->k, KIR_SHR, KIR_U, kir_typed(c->l->k, KIR_BITCAST, 0, KIR_I32, x), kir_int(c->l->k, KIR_I32, 16));
}

/* An element of an operand as it is packed, a factor or a word of them, at the axes' indices; `last`: that of the last axis of
   the sum, in words. */
static kir_val element(struct blocking *b, uint32_t side, kir_val last) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *sum = &c->sum[c->nsum - 1];
    struct packed packed = c->packed[side];
    kir_val word = {0}, guard = l->guard;
    int64_t bits = 32 / c->per_word, padding = b->sum.line[c->nsum - 1] * c->per_word - sum->size;
    c->packed[side].on = false;
    for (int64_t i = 0; i < c->per_word; i++) {
        sum->at = lower_add(l, lower_mul(l, last, c->per_word), kir_i64(l->k, i));
        kir_val inside = {0};
        if (c->per_word - i <= padding) {
            inside = kir_cmp(l->k, KIR_LT, 0, sum->at, kir_i64(l->k, sum->size));
            l->guard = guard.i ? kir_op2(l->k, KIR_AND, 0, guard, inside) : inside;
        }
        kir_val x = contract_factor(c, side);
        l->guard = guard;
        if (c->per_word > 1)
            x = block_bits(c, x);
        if (inside.i) /* what is computed from a masked load may be another number than 0 */
            x = kir_select(l->k, inside, x, kir_int(l->k, KIR_I32, 0));
        if (c->per_word > 1 && c->acc != KIR_F32)
            x = kir_op2(l->k, KIR_AND, 0, x, kir_int(l->k, KIR_I32, ((int64_t)1 << bits) - 1));
        word = i ? kir_op2(l->k, KIR_OR, 0, word, kir_op2(l->k, KIR_SHL, 0, x, kir_int(l->k, KIR_I32, bits * i))) : x;
    }
    c->packed[side] = packed;
    return word;
}

uint32_t block_open_outer(struct blocking *b, kir_val chunk, kir_val *line, kir_val *first, kir_val *count) {
    const struct block_sum *s = &b->sum;
    struct contraction *c = b->c;
    struct lower *l = c->l;
    uint32_t last = c->nsum - 1;
    kir_val begin = lower_mul(l, chunk, s->chunk);
    *line = *first = kir_i64(l->k, 0);
    *count = kir_i64(l->k, s->line[last]);
    for (uint32_t i = s->cut; i < last; i++) {
        kir_val at;
        if (i == s->cut) {
            c->sum[i].at = lower_chunk_loop(l, begin, s->chunk, s->line[i], KIR_SERIAL, 0);
            at = kir_op2(l->k, KIR_SUB, 0, c->sum[i].at, begin);
        } else {
            c->sum[i].at = at = kir_loop(l->k, KIR_SERIAL, s->line[i], 0);
        }
        *line = lower_mul(l, lower_add(l, *line, at), s->line[i + 1]);
    }
    if (s->cut == last) {
        *first = begin;
        *count = lower_extent(l, begin, s->chunk, s->line[last]);
    }
    return last - s->cut;
}

/* The same, and a loop over the lines of the last axis, in lanes where `width` is not 0: the line in the slab, and `last` for
   element(). */
static uint32_t open_lines(struct blocking *b, kir_val chunk, uint32_t width, kir_val *line, kir_val *last) {
    struct lower *l = b->c->l;
    kir_val first, count;
    uint32_t opened = block_open_outer(b, chunk, line, &first, &count);
    kir_val at = kir_loop_to(l->k, width ? KIR_VECTOR : KIR_SERIAL, count, width);
    *line = lower_add(l, *line, at);
    *last = lower_add(l, first, at);
    return opened + 1;
}

struct contract_axes block_batch_axes(const struct blocking *b, uint32_t side) {
    struct contract_axes axes = {.size = 1};
    for (uint32_t i = 0; i < b->batch.n; i++)
        if (b->c->result[b->batch.v[i]].stride[side] != 0)
            contract_add_axis(b->c, &axes, b->batch.v[i]);
    return axes;
}

/* Prefetches what is packed `lines` strides after x, if these are known: lines are too short for hardware prefetchers. */
static void prefetch(struct blocking *b, kir_val x, int64_t lines, int64_t stride) {
    kir_val load = contract_load(b->c->l->k, x);
    if (load.i && stride > 0)
        contract_prefetch(b->c, load, lines * stride);
}

/* ---- rhs: panels ------------------------------------------------------------------------------ */

/* Lines of a panel: `count` of the last axis of the sum from `first` on, packed to line `place` of the buffer and up. */
struct lines {
    uint32_t buffer;
    kir_val panel, place, first, count;
};

/* Packs vectors of `width` lanes, of `at_once` lines each. Guarded: columns after the operand's last are zeros. */
static void pack_vectors(struct blocking *b, const struct lines *s, int64_t at_once, uint32_t width, bool guarded) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *v = &c->result[b->column], *sum = &c->sum[c->nsum - 1];
    kir_val line = lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, lower_div(l, s->count, at_once), 0), at_once);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b->panel.size, width);
    v->at = lower_add(l, block_column(b, s->panel), lane);
    if (guarded)
        l->guard = kir_cmp(l->k, KIR_LT, 0, v->at, kir_i64(l->k, v->size));
    for (int64_t i = 0; i < at_once; i++) {
        kir_val at = lower_add(l, line, kir_i64(l->k, i)), x = element(b, b->rhs, lower_add(l, s->first, at));
        if (i == 0 && (at_once > 1 || (v->stride[b->rhs] == 1 && v->size > b->panel.size)))
            prefetch(b, x, PACK_AHEAD, at_once > 1 ? 2 : sum->stride[b->rhs]);
        kir_val place = lower_mul(l, lower_add(l, s->place, at), b->panel.size);
        kir_store(l->k, s->buffer, lower_add(l, place, lane), x);
    }
    l->guard = (kir_val){0};
    lower_close(l, 2);
}

/* Packs full panels. Columns that are contiguous along the sum are read in squares of a register of words of each column, which
   the code generator transposes (emit_transpose.c). */
static void pack_full(struct blocking *b, const struct lines *s) {
    const struct contraction *c = b->c;
    struct lower *l = c->l;
    int64_t at_once = block_square_lines(b);
    uint32_t word_bits = l->word_bits;
    bool transposed = c->result[b->column].stride[b->rhs] != 1 && c->sum[c->nsum - 1].stride[b->rhs] == 1 &&
                      kir_type_bits(c->acc) <= 32;
    if (b->rhs_word == 1 && !transposed) {
        pack_vectors(b, s, 1, block_panel_width(b), false);
        return;
    }
    l->word_bits = b->rhs_word == 2 ? 16 : b->rhs_word > 1 ? 8 : word_bits;
    pack_vectors(b, s, at_once, l->target->vector_bytes / 4, false);
    l->word_bits = word_bits;
    struct lines rest = *s;
    kir_val done = lower_mul(l, lower_div(l, s->count, at_once), at_once);
    rest.first = lower_add(l, s->first, done);
    rest.place = lower_add(l, s->place, done);
    rest.count = kir_op2(l->k, KIR_SUB, 0, s->count, done);
    pack_vectors(b, &rest, 1, block_panel_width(b), false);
}

static void pack_lines(struct blocking *b, const struct lines *s) {
    struct lower *l = b->c->l;
    const struct axis *v = &b->c->result[b->column];
    if (v->size % b->panel.size == 0) {
        pack_full(b, s);
        return;
    }
    kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, s->panel, kir_i64(l->k, v->size / b->panel.size)));
    pack_full(b, s);
    kir_else(l->k);
    pack_vectors(b, s, 1, block_panel_width(b), true);
    kir_close(l->k);
}

/* An iteration reads few streams and writes one: where lines are contiguous, some lines of the last axis of the sum, panel by
   panel; where columns are, a panel. */
void block_prepack_rhs(struct blocking *b) {
    struct contraction *c = b->c;
    struct contract_axes batch = block_batch_axes(b, b->rhs);
    struct contract_kernel prologue;
    uint32_t n = 0, last = c->nsum - 1;
    int64_t dims[IR_MAX_RANK + 2], size = b->sum.line[last];
    bool by_lines = c->result[b->column].stride[b->rhs] == 1;
    kir_val at[IR_MAX_RANK + 2];
    uint32_t temp = lower_new_temp(c->l, block_rhs_dtype(b), batch.size * b->panel.count * b->sum.lines * b->panel.size);
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    dims[n++] = batch.size;
    for (uint32_t i = 0; i <= last; i++)
        dims[n++] = i < last ? b->sum.line[i] : by_lines ? ceil_div(size, BLOCK_LINES) : b->panel.count;
    lower_grid_nd(l, dims, n, at);
    contract_set(c, &batch, at[0]);
    for (uint32_t i = 0; i < last; i++)
        c->sum[i].at = at[1 + i];
    struct lines s = {.buffer = lower_temp(l, temp, KIR_OUT), .panel = at[n - 1], .first = kir_i64(l->k, 0)};
    s.count = kir_i64(l->k, size);
    if (by_lines) {
        s.panel = kir_loop(l->k, KIR_SERIAL, b->panel.count, 0);
        s.first = lower_mul(l, at[n - 1], BLOCK_LINES);
        s.count = lower_extent(l, s.first, BLOCK_LINES, size);
    }
    s.place = lower_add(l, lower_mul(l, at[0], b->panel.count), s.panel);
    for (uint32_t i = 0; i <= last; i++)
        s.place = lower_add(l, lower_mul(l, s.place, b->sum.line[i]), i == last ? s.first : c->sum[i].at);
    pack_lines(b, &s);
    lower_close(l, by_lines ? 2 : 1);
    contract_prologue_end(c, &prologue);
    b->rhs_buffer = lower_temp(c->l, temp, KIR_IN);
}

void block_pack_rhs(struct blocking *b, const struct block *at) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val line, p, first, count;
    uint32_t opened;
    contract_set(c, &b->rows, kir_i64(l->k, 0));
    if (c->result[b->column].stride[b->rhs] == 1) {
        opened = open_lines(b, at->chunk, 0, &line, &first);
        count = kir_i64(l->k, 1);
        p = kir_loop_to(l->k, KIR_SERIAL, at->panels, 0);
    } else {
        p = kir_loop_to(l->k, KIR_SERIAL, at->panels, 0);
        opened = block_open_outer(b, at->chunk, &line, &first, &count);
    }
    pack_lines(b, &(struct lines){.buffer = b->rhs_buffer,
                                  .panel = lower_add(l, at->panel0, p),
                                  .place = lower_add(l, lower_mul(l, p, b->sum.depth), line),
                                  .first = first,
                                  .count = count});
    lower_close(l, opened + 1);
}

kir_val block_pack_and_forward(struct blocking *b, const struct block *at, kir_val line, kir_val place) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *cut = &c->sum[b->sum.cut];
    c->packed[b->rhs].on = false;
    contract_set(c, &b->rows, kir_i64(l->k, 0));
    cut->at = lower_add(l, lower_mul(l, at->chunk, b->sum.chunk), line);
    kir_val x = contract_factor(c, b->rhs);
    contract_prefetch(c, contract_load(l->k, x), PACK_AHEAD_ON_FIRST_USE * cut->stride[b->rhs]);
    kir_store(l->k, b->rhs_buffer, place, x);
    return x;
}

kir_val block_first_line(const struct blocking *b, const struct block *at, kir_val p) {
    const struct contraction *c = b->c;
    const struct block_sum *s = &b->sum;
    struct lower *l = c->l;
    if (b->rhs_pack != RHS_PREPACK)
        return b->rhs_pack == RHS_PACK_ON_FIRST_USE ? kir_i64(l->k, 0) : lower_mul(l, p, s->depth);
    kir_val panel = lower_add(l, lower_mul(l, at->batch[b->rhs], b->panel.count), lower_add(l, at->panel0, p));
    kir_val slab = kir_i64(l->k, 0);
    for (uint32_t i = 0; i < s->cut; i++)
        slab = lower_add(l, lower_mul(l, slab, s->line[i]), c->sum[i].at);
    slab = lower_add(l, lower_mul(l, slab, s->line[s->cut]), lower_mul(l, at->chunk, s->chunk));
    return lower_add(l, lower_mul(l, panel, s->lines), lower_mul(l, slab, s->inner));
}

/* ---- lhs: tiles ------------------------------------------------------------------------------- */

kir_val block_tile_place(const struct blocking *b, const struct block *at, kir_val t) {
    struct lower *l = b->c->l;
    if (b->lhs_pack != LHS_PREPACK)
        return t;
    kir_val slab = lower_add(l, lower_mul(l, at->batch[b->lhs], b->sum.slabs), at->slab);
    return lower_add(l, lower_mul(l, slab, b->tile.count), lower_add(l, at->tile0, t));
}

/* Signed bytes plus 128, so that DOT4 takes them as unsigned ones. */
static kir_val biased(const struct blocking *b, kir_val x) {
    struct kir *k = b->c->l->k;
    return b->biased ? kir_op2(k, KIR_XOR, 0, x, kir_int(k, KIR_I32, (int32_t)0x80808080)) : x;
}

/* Rows of a line are contiguous in the operand: some lines at once, so that all tiles use the cache lines that are read, and a
   tile's are written in whole cache lines, since the same line of other tiles is in the same set of the L1 cache. */
static void pack_lhs_lines(struct blocking *b, const struct block *at, uint32_t buffer) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val line, last, count;
    uint32_t opened = block_open_outer(b, at->chunk, &line, &last, &count);
    int64_t bytes = b->lhs_stride * (int64_t)kir_type_bits(c->acc) / 8, n = PACK_LINES_BYTES / bytes;
    n = n < 1 ? 1 : n;
    kir_val most = kir_i64(l->k, n), groups = lower_div(l, lower_add(l, count, kir_i64(l->k, n - 1)), n);
    kir_val begin = lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, groups, 0), n);
    kir_val t = kir_loop_to(l->k, KIR_SERIAL, at->tiles, 0), tile = block_tile_place(b, at, t);
    kir_val first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->rows.size, b->tile.size);
    if (n >> kir_zeros(l->k, count) > 1)
        most = kir_op2(l->k, KIR_MIN, 0, most, kir_op2(l->k, KIR_SUB, 0, count, begin));
    kir_val i = lower_add(l, begin, kir_loop_to(l->k, KIR_SERIAL, most, 0));
    line = lower_add(l, line, i);
    last = lower_add(l, last, i);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b->lhs_stride, (uint32_t)b->lhs_stride), row = lower_add(l, first, lane);
    c->result[b->column].at = kir_i64(l->k, 0);
    contract_set(c, &b->rows, row);
    if (b->lhs_stride != b->tile.size)
        l->guard = kir_cmp(l->k, KIR_LT, 0, row, kir_i64(l->k, b->rows.size));
    kir_val place = lower_add(l, lower_mul(l, tile, b->sum.depth), line);
    kir_val x = element(b, b->lhs, last);
    prefetch(b, x, PACK_AHEAD_LINES, c->sum[c->nsum - 1].stride[b->lhs]);
    kir_store(l->k, buffer, lower_add(l, lower_mul(l, place, b->lhs_stride), lane), x);
    l->guard = (kir_val){0};
    lower_close(l, opened + 4);
}

static void pack_lhs(struct blocking *b, const struct block *at, uint32_t buffer) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    if (b->lhs_transposed) {
        pack_lhs_lines(b, at, buffer);
        return;
    }
    kir_val line, last, t = kir_loop_to(l->k, KIR_SERIAL, at->tiles, 0), tile = block_tile_place(b, at, t);
    kir_val first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->rows.size, b->tile.size);
    uint32_t bytes = kir_type_bits(c->acc) / 8, opened;
    c->result[b->column].at = kir_i64(l->k, 0);
    kir_val r = kir_loop(l->k, KIR_SERIAL, b->tile.size, 0);
    contract_set(c, &b->rows, lower_add(l, first, r));
    int64_t size = b->sum.cut + 1 == c->nsum ? b->sum.chunk : b->sum.line[c->nsum - 1];
    uint32_t registers = size >= 4 * lower_lanes(l, bytes, 1) ? 4 : 1;
    opened = open_lines(b, at->chunk, size >= 4 ? lower_lanes(l, bytes, registers) : 0, &line, &last);
    kir_val place = lower_add(l, lower_mul(l, tile, b->tile.size), r), x = element(b, b->lhs, last);
    if (b->rows.n)
        prefetch(b, x, PACK_AHEAD_ROWS, c->result[b->rows.v[b->rows.n - 1]].stride[b->lhs]);
    kir_store(l->k, buffer, lower_add(l, lower_mul(l, place, b->sum.depth), line), biased(b, x));
    lower_close(l, opened + 2);
}

void block_pack_lhs(struct blocking *b, const struct block *at) {
    (b->kernel == BLOCK_TILES ? tile_pack_lhs : pack_lhs)(b, at, b->lhs_buffer);
}

/* A tile of a slab is an iteration. */
void block_prepack_lhs(struct blocking *b) {
    struct contraction *c = b->c;
    struct contract_axes batch = block_batch_axes(b, b->lhs);
    struct contract_kernel prologue;
    int64_t slabs = b->sum.slabs, chunks = ceil_div(b->sum.line[b->sum.cut], b->sum.chunk);
    int64_t dims[] = {batch.size, slabs, b->tile.count};
    kir_val at[3], outer[IR_MAX_RANK];
    uint32_t temp = lower_new_temp(c->l, block_lhs_dtype(b), batch.size * slabs * b->tile.count * block_tile_elements(b));
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    lower_grid_nd(l, dims, 3, at);
    struct block here = {.tile0 = at[2], .tiles = kir_i64(l->k, 1), .slab = at[1], .chunk = lower_rem(l, at[1], chunks)};
    lower_unflatten(l, lower_div(l, at[1], chunks), b->sum.line, b->sum.cut, outer);
    for (uint32_t i = 0; i < b->sum.cut; i++)
        c->sum[i].at = outer[i];
    here.batch[b->lhs] = at[0];
    contract_set(c, &batch, at[0]);
    (b->kernel == BLOCK_TILES ? tile_pack_lhs : pack_lhs)(b, &here, lower_temp(l, temp, KIR_OUT));
    kir_close(l->k);
    contract_prologue_end(c, &prologue);
    b->lhs_buffer = lower_temp(c->l, temp, KIR_IN);
}
