/* Contractions in blocks: what the files of that schedule share, block.c and tile.c. */
#ifndef HILO_KIR_BLOCKS_H
#define HILO_KIR_BLOCKS_H

#include "lower/contract.h"

enum { BLOCK_UNIT = 16 }; /* rows of a tile of a matrix unit, and words of 32 bits of each */

struct blocks {
    struct contraction *c;
    uint32_t cols, rows; /* sides: of the lanes, of the rows */
    uint32_t v;          /* axis of the lanes */
    uint32_t row[IR_MAX_RANK], nrow, batch[IR_MAX_RANK], nbatch;
    int64_t line[IR_MAX_RANK];          /* sizes of the sum's axes, the last one in words; unit: whole tiles of them */
    uint32_t cut;                       /* the axis of the sum that slabs cut; those before it are outside of them */
    int64_t chunk;                      /* of it, in a slab */
    int64_t inner, depth;               /* lines of the axes behind it, of a slab */
    int64_t slabs, all;                 /* slabs, lines of the whole sum */
    int64_t nrows, tile, tiles, ntiles; /* rows; of a tile; tiles; tiles of a block */
    int64_t lanes, panels, npanels;     /* the same for columns */
    bool here;                          /* panels are packed in the block, */
    bool passing;                       /* each while the first tile is multiplied by it */
    bool before;                        /* rows are brought by a kernel that runs before */
    bool direct;                        /* rows are read where they lie */
    bool upright;                       /* rows lie side by side, and are brought so: `stride` of them a line */
    int64_t in_word;                    /* elements of a word of the columns, by which they are packed; 1: they are not */
    bool unit;                          /* products are those of a matrix unit, */
    enum kir_tile format;               /* of such operands */
    bool shifted;                       /* words of bytes: those of rows have a sign, and are brought with 128 more */
    int64_t stride;
    uint32_t a, b, sums, shift; /* buffers; a, sums, shift (what that makes too much in a panel's columns): scratch */
};

/* What a block is computed from and at. */
struct block {
    kir_val tile0, panel0; /* the first ones */
    kir_val tiles, panels; /* how many */
    kir_val slab, chunk;   /* of all; of the axis that is cut */
    kir_val batch[2];      /* of either side */
    kir_val lines;         /* of the slab */
};

/* The indices of a row. */
void blocks_at_row(struct blocks *b, kir_val row);
/* The number of a tile among all that are brought. */
kir_val blocks_tile_place(const struct blocks *b, const struct block *at, kir_val t);
/* The first line of a slab in panel p of a block, among the lines of all panels. */
kir_val blocks_first_line(const struct blocks *b, const struct block *at, kir_val p);
/* A factor that is packed with others: its bits, at the bottom of 32. */
kir_val blocks_bits(const struct contraction *c, kir_val x);
/* A loop as long as an extent that may be a constant. */
kir_val blocks_loop(struct lower *l, kir_val extent);
/* Opens loops over the lines of a slab but those of the last axis, of which there are `count` from `first` on, `line` the
   first of them in the slab. Returns how many loops. */
uint32_t blocks_open_outer(struct blocks *b, kir_val chunk, kir_val *line, kir_val *first, kir_val *count);
/* The loop over the lanes of panel p of a block that are columns; leaves the column in the axis. */
kir_val blocks_lanes(struct blocks *b, const struct block *at, kir_val p);

/* For matrix units: the elements of rows into `buffer`, products of tile t by panel p, and what is computed from them. */
void tile_bring_rows(struct blocks *b, const struct block *at, uint32_t buffer);
void tile_multiply(struct blocks *b, const struct block *at, kir_val p, kir_val t);

#endif
