/* Contractions in blocks by a matrix unit: 16 rows by 16 columns of sums are a tile, and so are 16 rows, or columns, of 64
 * bytes of factors, 16 words of 2 bf16 or of 4 integers of 8 bits, which follow one another in the sum.
 *
 * A register tile is up to four tiles of sums, 32 rows by 32 columns: each tile of factors is multiplied twice. A line of a
 * panel is words, so that 16 lines of it are tiles as they lie. Rows are brought tile by tile, 64 bytes of each row. Sums go
 * through scratch memory, from which the result, and what is computed from it, is taken in vectors. Behind the last factor of
 * a line are zeros; rows that tiles do not divide are computed twice, as everywhere in blocks. */
#include "lower/blocks.h"

/* Factors of a row of a tile. */
static int64_t row_elements(const struct blocks *b) {
    return BLOCK_UNIT * b->c->group;
}

/* Whether rows lie side by side, so that squares of them are turned (emit_square.c). */
static bool is_turned(const struct blocks *b) {
    const struct contraction *c = b->c;
    return c->sum[c->nsum - 1].stride[b->rows] != 1 && b->nrow > 0 && c->result[b->row[b->nrow - 1]].stride[b->rows] == 1 &&
           c->result[b->row[b->nrow - 1]].size == b->nrows;
}

/* A factor of a row, at the index that is set; zero behind the last one. */
static kir_val bring(struct blocks *b, kir_val inside, enum kir_type stored) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    l->guard = inside;
    kir_val x = blocks_bits(c, contract_factor(c, b->rows));
    l->guard = (kir_val){0};
    if (inside.i)
        x = kir_select(l->k, inside, x, kir_int(l->k, KIR_I32, 0));
    return kir_typed(l->k, KIR_CONVERT, 0, stored, x);
}

void tile_bring_rows(struct blocks *b, const struct block *at, uint32_t buffer) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *sum = &c->sum[c->nsum - 1];
    int64_t elements = row_elements(b), square = l->target->vector_bytes / 4, at_once = 1, width = elements;
    enum kir_type stored = kir_type_of(l->k->buffers.v[buffer].dtype);
    kir_val line, first, count, inside = {0};
    if (is_turned(b) && b->tile % square == 0)
        at_once = width = square;
    kir_val t = blocks_loop(l, at->tiles), tile = blocks_tile_place(b, at, t);
    kir_val row = contract_tile_begin(l, lower_add(l, at->tile0, t), b->nrows, b->tile);
    c->result[b->v].at = kir_i64(l->k, 0);
    kir_val r = lower_mul(l, kir_loop(l->k, KIR_SERIAL, b->tile / at_once, 0), at_once);
    uint32_t opened = blocks_open_outer(b, at->chunk, &line, &first, &count);
    kir_val k = blocks_loop(l, lower_div(l, count, BLOCK_UNIT));
    kir_val lane = kir_loop(l->k, KIR_VECTOR, elements, (uint32_t)width);
    kir_val word = lower_add(l, first, lower_mul(l, k, BLOCK_UNIT));
    sum->at = lower_add(l, lower_mul(l, word, c->group), lane);
    if (sum->size % elements)
        inside = kir_cmp(l->k, KIR_LT, 0, sum->at, kir_i64(l->k, sum->size));
    kir_val block = lower_add(l, lower_mul(l, tile, b->depth / BLOCK_UNIT), lower_add(l, lower_div(l, line, BLOCK_UNIT), k));
    block = lower_mul(l, block, b->tile);
    for (int64_t i = 0; i < at_once; i++) {
        kir_val n = lower_add(l, r, kir_i64(l->k, i));
        blocks_at_row(b, lower_add(l, row, n));
        kir_val place = lower_add(l, lower_mul(l, lower_add(l, block, n), elements), lane);
        kir_store(l->k, buffer, place, bring(b, inside, stored));
    }
    lower_close(l, opened + 4);
}

/* An op on all tiles of sums, those of a register tile from `place` of the waiting sums on. */
static void each_sum(struct blocks *b, enum kir_op op, kir_val place) {
    struct lower *l = b->c->l;
    int64_t columns = b->lanes / BLOCK_UNIT;
    kir_val apart = op == KIR_TZERO ? (kir_val){0} : kir_i64(l->k, b->lanes);
    for (int64_t i = 0; i < b->tile / BLOCK_UNIT; i++)
        for (int64_t j = 0; j < columns; j++) {
            kir_val at = lower_add(l, place, kir_i64(l->k, (i * b->lanes + j) * BLOCK_UNIT));
            kir_tile(l->k, op, i * columns + j, b->format, b->sums, apart.i ? at : apart, apart);
        }
}

/* 16 lines at once: tiles of rows and columns behind those of sums. */
static void multiply_lines(struct blocks *b, const struct block *at, kir_val p, kir_val t) {
    struct lower *l = b->c->l;
    int64_t elements = row_elements(b), rows = b->tile / BLOCK_UNIT, columns = b->lanes / BLOCK_UNIT;
    enum { TILES = 8, SUMS = 4 };
    kir_val none = {0};
    kir_val first = blocks_first_line(b, at, p), tile = blocks_tile_place(b, at, t);
    kir_val k = blocks_loop(l, lower_div(l, at->lines, BLOCK_UNIT));
    kir_val row = lower_add(l, lower_mul(l, tile, b->depth / BLOCK_UNIT), k);
    kir_val line = lower_mul(l, lower_add(l, first, lower_mul(l, k, BLOCK_UNIT)), b->lanes);
    row = lower_mul(l, row, b->tile * elements);
    for (int64_t i = 0; i < rows; i++)
        kir_tile(l->k, KIR_TLOAD, SUMS + i, b->format, b->a, lower_add(l, row, kir_i64(l->k, i * BLOCK_UNIT * elements)),
                 kir_i64(l->k, elements));
    for (int64_t j = 0; j < columns; j++) {
        int64_t column = SUMS + rows + j % (TILES - SUMS - rows);
        kir_tile(l->k, KIR_TLOAD, column, b->format, b->b, lower_add(l, line, kir_i64(l->k, j * BLOCK_UNIT)),
                 kir_i64(l->k, b->lanes));
        for (int64_t i = 0; i < rows; i++)
            kir_tile(l->k, KIR_TMUL, (i * columns + j) | (SUMS + i) << 3 | column << 6, b->format, 0, none, none);
    }
    kir_close(l->k);
}

static void finish(struct blocks *b, const struct block *at, kir_val p, kir_val first, kir_val sums) {
    struct lower *l = b->c->l;
    kir_val r = kir_loop(l->k, KIR_SERIAL, b->tile, 0), lane = blocks_lanes(b, at, p);
    blocks_at_row(b, lower_add(l, first, r));
    contract_finish(b->c, kir_load(l->k, b->sums, lower_add(l, lower_add(l, sums, lower_mul(l, r, b->lanes)), lane)));
    lower_close(l, 2);
}

void tile_multiply(struct blocks *b, const struct block *at, kir_val p, kir_val t) {
    struct lower *l = b->c->l;
    kir_val first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->nrows, b->tile), sums = kir_i64(l->k, 0);
    if (b->slabs > 1) {
        sums = lower_mul(l, lower_add(l, lower_mul(l, p, b->ntiles), t), b->tile * b->lanes);
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
    if (b->slabs > 1)
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, at->slab, kir_i64(l->k, b->slabs - 1)));
    finish(b, at, p, first, sums);
    if (b->slabs > 1)
        kir_close(l->k);
}
