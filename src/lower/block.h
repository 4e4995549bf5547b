/* GEMM in blocks for the caches: what block.c (sizes, loops), pack.c (packing), tile.c (matrix units) and ranges.c
 * (masks) share.
 *
 *   rows      the axes of the result along which the rhs does not change, as one; register tiles have `tile.size` of them
 *   column    the axis of the result that lanes run along; a panel has `panel.size` columns, the lanes of a register tile
 *   batch     the other axes of the result
 *   parts     of the columns, where the epilogue reads one of each (fuse_kernel.parts): a panel has columns of one part, those
 *             with the same columns of all parts follow one another, and a block has them all
 *   lines     the indices of the sum (K); with packed words, words of it; a slab has `sum.depth` of them
 *
 * An iteration of the grid computes a block: tile.block tiles by panel.block panels of a batch. Packed operands:
 *   lhs  [tile][row][line]; transposed [tile][line][row]; for matrix units [tile][16 lines][row][64 bytes] (AMX)
 *   rhs  [panel][line][column] */
#ifndef HILO_LOWER_BLOCK_H
#define HILO_LOWER_BLOCK_H

#include "lower/contract.h"

enum block_kernel {
    BLOCK_FMA,   /* a factor of a row, in all lanes, times a vector of columns */
    BLOCK_WORDS, /* the same with words of 2 or 4 integers (DOT2, DOT4), or of 2 bf16 (DOT2_BF16) */
    BLOCK_TILES  /* a matrix unit, tile.c */
};

/* When an operand is packed. */
enum block_lhs { LHS_PACK_IN_BLOCK, LHS_PREPACK, LHS_IN_PLACE };
enum block_rhs {
    RHS_PACK_IN_BLOCK,
    RHS_PREPACK,
    RHS_PACK_ON_FIRST_USE /* in block, by the first tile of rows: each vector is stored as it is multiplied */
};

/* A dimension of the result: elements of a tile or panel, how many of those there are, how many a block has. */
struct block_dim {
    int64_t size, count, block;
};

/* The sum in slabs: axis `cut` is divided into chunks of `chunk`; axes before it are outside of slabs, axes after it inside. */
struct block_sum {
    int64_t line[IR_MAX_RANK]; /* sizes of the axes; of the last one in words; for matrix units padded to block_unit words */
    uint32_t cut;
    int64_t chunk, inner; /* inner: lines of the axes after `cut` */
    int64_t depth, slabs; /* chunk · inner; number of slabs */
    int64_t lines;        /* of all slabs */
};

struct blocking {
    struct contraction *c;
    uint32_t lhs, rhs, column;
    struct contract_axes rows, batch;
    struct block_dim tile, panel;
    struct block_sum sum;
    int64_t parts;        /* at least 1 */
    enum block_kernel kernel;
    enum kir_tile format; /* BLOCK_TILES: of its operands */
    bool biased;          /* BLOCK_WORDS: signed bytes of the lhs are packed plus 128; see block_sum_bias */
    enum block_lhs lhs_pack;
    enum block_rhs rhs_pack;
    uint32_t masked;      /* the operand in which a mask makes zeros; 2 = neither: see ranges.c */
    uint32_t range_buffer; /* scratch: of each of its tiles or panels, the lines between which all are that are not 0 */
    bool once;           /* the rhs is the same each time, and is packed once */
    bool lhs_transposed; /* the lhs is contiguous along its rows, and is packed so, */
    int64_t lhs_stride;  /* rows a line */
    int64_t rhs_word;    /* elements of the rhs in a 32-bit word in memory, by which it is packed; 1: element by element */
    bool by_rows;        /* tiles are multiplied by all panels in turn, not panels by all tiles */
    bool stores_sums;    /* the epilogue is computed from sum_buffer */
    uint32_t lhs_buffer, rhs_buffer, sum_buffer, bias_buffer; /* sum, bias: scratch, between slabs; of a panel's columns */
};

/* The block that is built: its first tile and panel, how many; the slab, its chunk of axis `cut`, its lines; by operand, the
   linear index among the batch axes along which the operand changes. */
struct block {
    kir_val tile0, panel0, tiles, panels;
    kir_val slab, chunk, lines;
    kir_val batch[2];
};

/* Rows and columns of a tile of sums of the matrix unit, and 32-bit words of a row of factors. */
static inline int64_t block_unit(const struct blocking *b) {
    return b->c->l->target->tile_rows;
}

static inline int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* ---- ranges.c ---- */

/* The operand in which a mask makes zeros, so that tiles leave lines out; 2 = neither. */
uint32_t block_masked_operand(const struct blocking *b);
/* Finds the lines of the slab that are not 0, in each packed tile or panel of that operand. */
void block_find_ranges(struct blocking *b, const struct block *at);
/* Those of panel p and tile t. */
void block_range(const struct blocking *b, kir_val p, kir_val t, kir_val *begin, kir_val *end);
/* Whether some results of panel p and the tile of rows from `row` on are not masked; false if there is no mask. */
bool block_unmasked(struct blocking *b, const struct block *at, kir_val p, kir_val row, kir_val *possible);

/* ---- block.c ---- */

/* How many of the `lines` of a sum an iteration of a tile's loop multiplies, for `sums` vectors of sums: a power of two, so
   that the loop's own instructions are few beside multiply-adds. */
int64_t block_lines_at_once(int64_t sums, int64_t lines);

/* ---- pack.c ---- */

enum { BLOCK_LINES = TORTURED(TORTURE_TILE, 16) }; /* lines that the prologue that packs the rhs takes at once */

/* Element types of packed operands. */
enum ir_dtype block_rhs_dtype(const struct blocking *b);
enum ir_dtype block_lhs_dtype(const struct blocking *b);
int64_t block_tile_elements(const struct blocking *b); /* of a packed tile of a slab */
/* Lines that are packed at once where columns are contiguous along the sum: a register of words of each column. */
int64_t block_square_lines(const struct blocking *b);
/* Packs all of an operand by a prologue; the buffer is then lhs_buffer, rhs_buffer. */
void block_prepack_lhs(struct blocking *b);
void block_prepack_rhs(struct blocking *b);
/* Packs the block's operand for the current slab into lhs_buffer, rhs_buffer. */
void block_pack_lhs(struct blocking *b, const struct block *at);
void block_pack_rhs(struct blocking *b, const struct block *at);
/* RHS_PACK_ON_FIRST_USE: loads a vector of the rhs, stores it at `place` of rhs_buffer, and returns it. */
kir_val block_pack_and_forward(struct blocking *b, const struct block *at, kir_val line, kir_val place);
/* The linear index of a tile among those that are packed; the first line of a slab in panel p of a block among all panels'. */
kir_val block_tile_place(const struct blocking *b, const struct block *at, kir_val t);
kir_val block_first_line(const struct blocking *b, const struct block *at, kir_val p);
/* Lanes of a VECTOR loop over a panel: the greatest power of two that divides its size. */
uint32_t block_panel_width(const struct blocking *b);
/* The bits of a factor that is packed with others in a word, at its bottom. */
kir_val block_bits(const struct contraction *c, kir_val x);
/* Opens loops over the axes of a slab but the last, of which there are `count` lines from `first` on, `line` being the first of
   them in the slab. Returns how many loops. */
uint32_t block_open_outer(struct blocking *b, kir_val chunk, kir_val *line, kir_val *first, kir_val *count);
/* The batch axes along which an operand changes. */
struct contract_axes block_batch_axes(const struct blocking *b, uint32_t side);

/* ---- block.c ---- */

/* The first column of a panel. */
kir_val block_column(const struct blocking *b, kir_val panel);
/* Opens the loop over the columns of panel p of a block, `width` at a time, sets the column, returns the lane in the panel. */
kir_val block_lanes(struct blocking *b, const struct block *at, kir_val p, int64_t width);
/* Where the sums of tile t and panel p of a block are in sum_buffer. */
kir_val block_sums(struct blocking *b, kir_val p, kir_val t);
/* After the last slab: the epilogue of the sums in sum_buffer, row by row. */
void block_finish(struct blocking *b, const struct block *at, kir_val p, kir_val t);

/* ---- tile.c ---- */

/* block_pack_lhs for matrix units. */
void tile_pack_lhs(struct blocking *b, const struct block *at, uint32_t buffer);
/* The products of tile t by panel p, and the epilogue after the last slab. */
void tile_multiply(struct blocking *b, const struct block *at, kir_val p, kir_val t);

#endif
