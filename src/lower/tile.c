/* The register tile of a GEMM in blocks for matrix units (AMX): 16 rows by 16 columns of sums are a tile, and so are 16 rows
 * or columns of 64 bytes of factors, which follow one another in the sum: 16 words of 2 bf16 or of 4 8-bit integers.
 *
 * A register tile is up to four tiles of sums, 32 rows by 32 columns: each tile of factors is multiplied twice. A line of a
 * panel is words, so that 16 lines are tiles without further packing. Rows are packed in tiles of 64 bytes of each. Sums go
 * through scratch memory, from which the epilogue reads vectors. Factors after the last one of a sum are zeros. */
#include "lower/block.h"

/* Factors of a row of a tile. */
static int64_t row_elements(const struct blocking *b) {
    return block_unit(b) * b->c->per_word;
}

/* Whether the lhs is contiguous along its rows, so that squares of it are transposed (emit_transpose.c). */
static bool is_transposed(const struct blocking *b) {
    const struct contraction *c = b->c;
    const struct axis *last = &c->result[b->rows.v[b->rows.n - 1]];
    return c->sum[c->nsum - 1].stride[b->lhs] != 1 && last->stride[b->lhs] == 1 && last->size == b->rows.size;
}

/* A factor of a row at the axes' indices; zero unless `inside` (none = always inside). */
static kir_val row_factor(struct blocking *b, kir_val inside, enum kir_type stored) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    l->guard = inside;
    kir_val x = block_bits(c, contract_factor(c, b->lhs));
    l->guard = (kir_val){0};
    if (inside.i)
        x = kir_select(l->k, inside, x, kir_int(l->k, KIR_I32, 0));
    return kir_typed(l->k, KIR_CONVERT, 0, stored, x);
}

void tile_pack_lhs(struct blocking *b, const struct block *at, uint32_t buffer) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *sum = &c->sum[c->nsum - 1];
    int64_t elements = row_elements(b), square = l->target->vector_bytes / 4, at_once = 1, width = elements;
    enum kir_type stored = kir_type_of(l->k->buffers.v[buffer].dtype);
    kir_val line, first, count, inside = {0};
    if (is_transposed(b) && b->tile.size % square == 0)
        at_once = width = square;
    kir_val t = kir_loop_to(l->k, KIR_SERIAL, at->tiles, 0), tile = block_tile_place(b, at, t);
    kir_val row = contract_tile_begin(l, lower_add(l, at->tile0, t), b->rows.size, b->tile.size);
    c->result[b->column].at = kir_i64(l->k, 0);
    kir_val r = lower_mul(l, kir_loop(l->k, KIR_SERIAL, b->tile.size / at_once, 0), at_once);
    uint32_t opened = block_open_outer(b, at->chunk, &line, &first, &count);
    kir_val k = kir_loop_to(l->k, KIR_SERIAL, lower_div(l, count, block_unit(b)), 0);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, elements, (uint32_t)width);
    kir_val word = lower_add(l, first, lower_mul(l, k, block_unit(b)));
    sum->at = lower_add(l, lower_mul(l, word, c->per_word), lane);
    if (sum->size % elements)
        inside = kir_cmp(l->k, KIR_LT, 0, sum->at, kir_i64(l->k, sum->size));
    kir_val block = lower_add(l, lower_div(l, line, block_unit(b)), k);
    block = lower_mul(l, lower_add(l, lower_mul(l, tile, b->sum.depth / block_unit(b)), block), b->tile.size);
    for (int64_t i = 0; i < at_once; i++) {
        kir_val n = lower_add(l, r, kir_i64(l->k, i));
        contract_set(c, &b->rows, lower_add(l, row, n));
        kir_val place = lower_add(l, lower_mul(l, lower_add(l, block, n), elements), lane);
        kir_store(l->k, buffer, place, row_factor(b, inside, stored));
    }
    lower_close(l, opened + 4);
}

/* An op on all tiles of sums of a register tile, which are at `place` of sum_buffer. */
static void each_sum(struct blocking *b, enum kir_op op, kir_val place) {
    struct lower *l = b->c->l;
    int64_t columns = b->panel.size / block_unit(b);
    kir_val stride = op == KIR_TZERO ? (kir_val){0} : kir_i64(l->k, b->panel.size);
    for (int64_t i = 0; i < b->tile.size / block_unit(b); i++)
        for (int64_t j = 0; j < columns; j++) {
            kir_val at = lower_add(l, place, kir_i64(l->k, (i * b->panel.size + j) * block_unit(b)));
            kir_tile(l->k, op, i * columns + j, b->format, b->sum_buffer, stride.i ? at : stride, stride);
        }
}

/* The products of a slab, 16 lines at once. Tiles of factors have the numbers after those of sums. */
static void multiply_lines(struct blocking *b, const struct block *at, kir_val p, kir_val t) {
    struct lower *l = b->c->l;
    int64_t elements = row_elements(b), rows = b->tile.size / block_unit(b), columns = b->panel.size / block_unit(b);
    int64_t tiles = l->target->tile_registers, sums = tiles / 2; /* those of sums come first */
    kir_val none = {0};
    kir_val first = block_first_line(b, at, p), tile = block_tile_place(b, at, t);
    kir_val k = kir_loop_to(l->k, KIR_SERIAL, lower_div(l, at->lines, block_unit(b)), 0);
    kir_val row = lower_add(l, lower_mul(l, tile, b->sum.depth / block_unit(b)), k);
    kir_val line = lower_mul(l, lower_add(l, first, lower_mul(l, k, block_unit(b))), b->panel.size);
    row = lower_mul(l, row, b->tile.size * elements);
    for (int64_t i = 0; i < rows; i++)
        kir_tile(l->k, KIR_TLOAD, sums + i, b->format, b->lhs_buffer,
                 lower_add(l, row, kir_i64(l->k, i * block_unit(b) * elements)), kir_i64(l->k, elements));
    for (int64_t j = 0; j < columns; j++) {
        int64_t column = sums + rows + j % (tiles - sums - rows);
        kir_tile(l->k, KIR_TLOAD, column, b->format, b->rhs_buffer, lower_add(l, line, kir_i64(l->k, j * block_unit(b))),
                 kir_i64(l->k, b->panel.size));
        for (int64_t i = 0; i < rows; i++)
            kir_tile(l->k, KIR_TMUL, (i * columns + j) | (sums + i) << 3 | column << 6, b->format, 0, none, none);
    }
    kir_close(l->k);
}

void tile_multiply(struct blocking *b, const struct block *at, kir_val p, kir_val t) {
    struct lower *l = b->c->l;
    kir_val sums = block_sums(b, p, t);
    if (b->sum.slabs > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_GT, 0, at->slab, kir_i64(l->k, 0)));
        each_sum(b, KIR_TLOAD, sums);
        kir_else(l->k);
        each_sum(b, KIR_TZERO, sums);
        kir_close(l->k);
    } else {
        each_sum(b, KIR_TZERO, sums);
    }
    multiply_lines(b, at, p, t);
    each_sum(b, KIR_TSTORE, sums);
    block_finish(b, at, p, t);
}
