/* GEMM in blocks for the caches, after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", TOMS
 * 2008: the choice of sizes, the loops, and the register tile (micro-kernel) for vectors.
 *
 * An iteration of the grid computes a block of the result. It takes the sum in slabs. Of each it packs its rows of the lhs,
 * tile by tile, which stay in the L2 cache while panel after panel of the rhs, which stays in the L1 cache, is multiplied by
 * them. Between slabs the sums are in scratch memory.
 *
 * The rhs is packed by a prologue; but where one block has all rows, so that each panel is multiplied once, the block packs
 * its panels, if possible while the first tile is multiplied. The order of a sum is that of its axes, whatever the blocks. */
#include "lower/block.h"

#include <math.h>

enum {
    /* Ratios of one kind of work to another, which are the same on all machines. */
    BLOCK_ROWS = TORTURED(TORTURE_TILE, 24), /* fewer products of an element do not pay for packing it, */
    BLOCK_ROWS_ONCE = TORTURED(TORTURE_TILE, 4), /* unless it is packed once */
    BLOCK_DEPTH = TORTURED(TORTURE_PART, 384), /* lines of a slab: a sum is loaded and stored once for so many products */
    BLOCK_COLUMNS = TORTURED(TORTURE_PART, 1024), /* of a block with a prepacked rhs: uses of a packed factor of the lhs */
    BLOCK_LEAST = TORTURED(1, 4), /* panels or tiles that a block keeps although there are fewer tasks */
    BLOCK_EPILOGUE = TORTURED(8, 32), /* ops */
    BLOCK_SUMS = TORTURED(24, 48), /* multiply-adds of vectors in an iteration of a tile's loop, and */
    BLOCK_LINES_MOST = 4, /* lines */
    BLOCK_REPACKED = 3, /* blocks that would pack the same rows, from which on a prologue does */
    /* Multiply-adds of vectors in the time of one vector, */
    BLOCK_READ = 24, /* read from beyond the L2 cache by all cores, */
    BLOCK_PACK = 16, /* packed in the L2 cache, */
    BLOCK_TILED = 16 /* and in the time of one for which there is a matrix unit */
};

/* ---- the choice ------------------------------------------------------------------------------- */

/* The size of parts of nearly equal size, at most `most`. */
static int64_t even(int64_t size, int64_t most) {
    return ceil_div(size, ceil_div(size, most));
}

static void find_axes(struct blocking *b) {
    const struct contraction *c = b->c;
    uint32_t contiguous = c->nresult;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (i != b->column && c->result[i].stride[b->rhs] == 0 && c->result[i].stride[b->lhs] == 1 && c->result[i].size > 1)
            contiguous = i;
    bool along_sum = c->sum[c->nsum - 1].stride[b->lhs] == 1 || c->sum[c->nsum - 1].size == 1;
    b->lhs_transposed =
        contiguous < c->nresult && !along_sum && c->result[contiguous].size >= BLOCK_ROWS && c->per_word == 1;
    b->rows.size = b->batch.size = 1;
    for (uint32_t i = 0; i < c->nresult; i++) {
        bool is_row = b->lhs_transposed ? i == contiguous : c->result[i].stride[b->rhs] == 0;
        if (i != b->column)
            contract_add_axis(c, is_row ? &b->rows : &b->batch, i);
    }
}

static const struct ir_dtype_info *operand_type(const struct contraction *c, uint32_t side) {
    return ir_dtype_get(ir_val_type(c->l->m, ir_operand(c->l->m, c->op, side))->dtype);
}

static bool is_bf16(const struct contraction *c, uint32_t side) {
    const struct ir_dtype_info *i = operand_type(c, side);
    return i->cls == IR_FLOAT && i->fp == FP_BF16;
}

static bool is_bf16_product(const struct contraction *c) {
    return c->acc == KIR_F32 && is_bf16(c, 0) && is_bf16(c, 1);
}

/* Whether the rhs is contiguous along the sum in whole words of several elements. */
static void find_words(struct blocking *b) {
    struct contraction *c = b->c;
    struct axis *sum = &c->sum[c->nsum - 1];
    struct contract_kernel probe;
    int64_t parts = is_bf16_product(c) ? c->per_word : contract_parts_of_word(c, b->rhs, true), step = 0, column_stride = 0;
    b->rhs_word = 1;
    if (parts == 1 || sum->size % parts || sum->size < c->l->target->vector_bytes / 4 * parts || kir_type_bits(c->acc) > 32)
        return;
    c->l->word_bits = 32 / (uint32_t)parts > 8 ? 16 : 8;
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    kir_val word = kir_loop(k, KIR_SERIAL, sum->size / parts, 0);
    sum->at = lower_mul(c->l, word, parts);
    kir_val load = contract_load(k, contract_factor(c, b->rhs));
    if (load.i) {
        const struct kir_node *n = kir_get(k, load);
        if (k->buffers.v[n->of].dtype == IR_I32_T && kir_linear(k, n->arg[0], word, &step) && step == 1 &&
            kir_linear(k, n->arg[0], c->result[b->column].at, &column_stride) && column_stride != 0)
            b->rhs_word = parts;
    }
    contract_probe_end(c, &probe);
    c->l->word_bits = 0;
}

/* Lines of a slab whose sums of products of integers fit 32 bits, also where it is a quarter longer. */
static int64_t integer_lines(const struct contraction *c) {
    uint32_t bits = c->integer_bits[0] + c->integer_bits[1] - 2; /* of a product: its magnitude is at most 2^bits */
    return bits < 30 ? (((int64_t)1 << (30 - bits)) - 1) * 4 / 5 : 0;
}

/* Whether products of integers are summed exactly, as those of f64 are: in 32 bits, a slab at a time, and those sums in f64.
   That is as many multiply-adds of words as f32 has of numbers, and twice as many products. */
static bool multiplies_integers(const struct contraction *c) {
    enum { EXACT = 53, LEAST = 2 * BLOCK_LINES };
    double terms = 1;
    for (uint32_t i = 0; i < c->nsum; i++)
        terms *= (double)c->sum[i].size;
    uint32_t bits = c->integer_bits[0] + c->integer_bits[1];
    return c->acc == KIR_F64 && !c->conv && c->integer_bits[0] && c->integer_bits[1] && c->integer_bits[0] <= 16 &&
           c->integer_bits[1] <= 16 && integer_lines(c) >= LEAST && terms * ldexp(1, (int)bits - 2) <= ldexp(1, EXACT);
}

/* Lines of a slab, about: of a matrix unit two by two tiles of factors fill two thirds of the L1 cache. */
static int64_t slab_depth(const struct blocking *b) {
    const struct target *t = b->c->l->target;
    int64_t most = BLOCK_DEPTH;
    if (b->kernel == BLOCK_TILES)
        most = TORTURED(TORTURE_PART, (int64_t)t->l1_bytes * 2 / 3 / (4 * t->tile_row_bytes));
    if (b->c->integers && most > integer_lines(b->c))
        most = integer_lines(b->c);
    return most;
}

/* Slabs of about `depth` lines. */
static void find_slabs(struct blocking *b, int64_t depth) {
    const struct contraction *c = b->c;
    struct block_sum *s = &b->sum;
    uint32_t last = c->nsum - 1;
    *s = (struct block_sum){.cut = last, .inner = 1, .lines = 1};
    for (uint32_t i = 0; i <= last; i++) {
        s->line[i] = i == last ? ceil_div(c->sum[i].size, c->per_word) : c->sum[i].size;
        if (b->kernel == BLOCK_TILES && i == last)
            s->line[i] = ceil_div(s->line[i], block_unit(b)) * block_unit(b);
        s->lines *= s->line[i];
    }
    int64_t most = depth + depth / 4;
    while (s->cut > 0 && s->inner * s->line[s->cut] <= most / 2)
        s->inner *= s->line[s->cut--];
    s->chunk = s->line[s->cut] * s->inner <= most ? s->line[s->cut] : even(s->line[s->cut], depth / s->inner);
    int64_t multiple = b->kernel == BLOCK_TILES ? block_unit(b) : BLOCK_LINES;
    if (b->rhs_word > 1 && multiple < block_square_lines(b))
        multiple = block_square_lines(b);
    if (s->cut == last && s->chunk < s->line[last])
        s->chunk = ceil_div(s->chunk, multiple) * multiple;
    s->depth = s->chunk * s->inner;
    s->slabs = ceil_div(s->line[s->cut], s->chunk);
    for (uint32_t i = 0; i < s->cut; i++)
        s->slabs *= s->line[i];
}

/* Rows of a tile: as many as registers hold, or up to a third fewer where fewer rows are then computed twice. The overhead of a
   tile is about two fifths of a row. */
static int64_t best_tile(int64_t rows, int64_t most) {
    int64_t best = most;
    if (rows <= most)
        return rows;
    for (int64_t t = most - 1; 3 * t >= 2 * most; t--)
        if (ceil_div(rows, t) * (5 * t + 2) < ceil_div(rows, best) * (5 * best + 2))
            best = t;
    return best;
}

/* Whether the lhs can be read in place: rows contiguous, loaded without arithmetic, and those of a tile not in the same sets of
   the L1 cache, or in half of them. */
static bool can_read_in_place(const struct blocking *b) {
    const struct contraction *c = b->c;
    int64_t stride = 0, way = c->l->target->l1_way_bytes;
    uint32_t rows = 0, sums = 0;
    for (uint32_t i = 0; i < b->rows.n; i++)
        if (c->result[b->rows.v[i]].size > 1) {
            rows++;
            stride = c->result[b->rows.v[i]].stride[b->lhs];
        }
    for (uint32_t i = 0; i < c->nsum; i++)
        sums += c->sum[i].size > 1;
    const struct axis *cut = &c->sum[b->sum.cut];
    return b->masked != b->lhs && c->is_load[b->lhs] && !c->is_narrow[b->lhs] && !c->conv && c->per_word == 1 &&
           rows == 1 && sums == 1 && cut->size > 1 && stride > 0 && cut->stride[b->lhs] == 1 &&
           (stride * (int64_t)(kir_type_bits(c->acc) / 8) % way != 0 ||
            2 * b->tile.size * way <= (int64_t)c->l->target->l1_bytes);
}

/* Whether the first tile can pack a panel as it is multiplied: lines contiguous, loaded without arithmetic, consecutive in a
   slab. */
static bool can_pack_on_first_use(const struct blocking *b) {
    const struct contraction *c = b->c;
    return b->masked != b->rhs && b->kernel != BLOCK_TILES && c->is_load[b->rhs] && !c->conv && c->per_word == 1 &&
           c->result[b->column].stride[b->rhs] == 1 && b->sum.cut + 1 == c->nsum;
}

/* Whether the lines of a panel lie in the same sets of the L1 cache: what is read beside them is gone when the next panel is
   packed. */
static bool lines_collide(const struct blocking *b) {
    const struct contraction *c = b->c;
    int64_t stride = c->sum[c->nsum - 1].stride[b->rhs];
    return stride > 0 && stride * (int64_t)(kir_type_bits(c->acc) / 8) % c->l->target->l1_way_bytes == 0;
}

/* The size of register tiles and panels. Panels of half as many vectors, but not of one, which would take more loads than
   multiply-adds, are taken where a tile then has all rows, which reads each panel once, and where panels of all parts belong
   together, so that there are enough for all threads. */
static void find_tile(struct blocking *b) {
    const struct contraction *c = b->c;
    int64_t columns = c->result[b->column].size;
    uint32_t rows;
    b->panel.size = contract_lanes(c, columns / b->parts, &rows);
    bool half = b->parts > 1 || (b->once && b->rows.size > rows && b->rows.size <= 2 * rows);
    if (half && b->panel.size >= 4 * contract_vector(c)) {
        b->panel.size /= 2;
        rows *= 2;
    }
    b->tile.size = best_tile(b->rows.size, b->rows.size < rows ? b->rows.size : rows);
    if (b->kernel == BLOCK_TILES) { /* four tiles of sums: two by two, if there are as many rows and columns */
        b->tile.size = b->rows.size >= 2 * block_unit(b) ? 2 * block_unit(b) : block_unit(b);
        b->panel.size = columns <= block_unit(b)                                            ? block_unit(b)
                        : columns <= 2 * block_unit(b) || b->tile.size == 2 * block_unit(b) ? 2 * block_unit(b)
                                                                                         : 4 * block_unit(b);
    }
    b->tile.count = ceil_div(b->rows.size, b->tile.size);
    b->panel.count = ceil_div(columns, b->panel.size);
    int64_t vector = contract_vector(c);
    b->lhs_stride = b->lhs_transposed ? ceil_div(b->tile.size, vector) * vector : 1;
}

static int64_t blocks_of(const struct blocking *b) {
    return ceil_div(b->tile.count, b->tile.block) * ceil_div(b->panel.count, b->panel.block);
}

/* The time of all blocks of tile.block by panel.block with a prepacked rhs, in multiply-adds of vectors, without the epilogue:
   products, what is read from memory, packing of the lhs, and threads that wait for others. The rhs is read once where the
   block's part of it stays in the L2 cache: the next block, of other rows, has the same columns. */
static double time_of_blocks(const struct blocking *b, double tasks) {
    const struct target *t = b->c->l->target;
    double vector = (double)contract_vector(b->c), lines = (double)b->sum.lines, threads = t->cores ? t->cores : t->tasks;
    double rows = (double)(b->tile.block * b->tile.size), blocks = (double)(b->batch.size * blocks_of(b));
    double rhs = lines * (double)(b->panel.block * b->panel.size) / vector, lhs = lines * rows / vector;
    double reads = rhs * t->vector_bytes <= (double)t->l2_bytes / 2 ? 1 / (double)ceil_div(b->tile.count, b->tile.block) : 1;
    double products = rows * rhs / (b->kernel == BLOCK_TILES ? BLOCK_TILED : 1);
    double one = products + rhs * reads * BLOCK_READ + lhs * (b->lhs_pack == LHS_PACK_IN_BLOCK ? BLOCK_PACK : 1);
    return ceil(blocks / threads) * one * (blocks < tasks ? tasks / blocks : 1);
}

/* Whether the sums between slabs, and the tiles of a slab, leave room in the L2 cache. */
static bool fits_l2(const struct blocking *b) {
    const struct block_dim *tile = &b->tile, *panel = &b->panel;
    int64_t bytes = kir_type_bits(b->c->acc) / 8, sums = tile->block * tile->size * panel->block * panel->size * bytes;
    return b->sum.slabs == 1 || sums <= (int64_t)b->c->l->target->l2_bytes / 2;
}

/* The sizes of blocks with a prepacked rhs that take the least time, of at most `tiles` by `panels`. */
static void find_fastest_blocks(struct blocking *b, int64_t tiles, int64_t panels, double tasks) {
    struct block_dim *tile = &b->tile, *panel = &b->panel;
    int64_t best[2] = {BLOCK_LEAST, 1};
    double least = INFINITY;
    for (int64_t p = panels; p > 0; p--)
        for (int64_t n = ceil_div(tile->count, tiles); tile->count >= (n - 1) * BLOCK_LEAST; n++) {
            tile->block = ceil_div(tile->count, n);
            panel->block = even(panel->count, p);
            double time = fits_l2(b) ? time_of_blocks(b, tasks) : INFINITY;
            if (time < least) {
                least = time;
                best[0] = tile->block;
                best[1] = panel->block;
            }
        }
    tile->block = best[0];
    panel->block = best[1];
}

/* Halves the panels of a block, to `least`, until there are enough blocks. */
static void shrink_blocks(struct blocking *b, int64_t least, int64_t tasks) {
    while (b->panel.block > least && blocks_of(b) < tasks)
        b->panel.block /= 2;
}

/* Whether packing the lhs gathers its elements one by one: neither lines nor rows are contiguous. */
static bool is_gathered(const struct blocking *b) {
    const struct axis *last = &b->c->sum[b->c->nsum - 1];
    int64_t stride = last->stride[b->lhs];
    return !b->lhs_transposed && last->size > 1 && stride != 0 && stride != 1;
}

/* Tiles and panels of a block, and when operands are packed. */
static void find_blocks(struct blocking *b) {
    const struct contraction *c = b->c;
    struct block_dim *tile = &b->tile, *panel = &b->panel;
    const struct target *t = c->l->target;
    int64_t bytes = kir_type_bits(c->acc) / 8, l2 = (int64_t)t->l2_bytes;
    uint32_t wanted = 2 * t->cores > t->tasks ? 2 * t->cores : t->tasks; /* sums do not depend on blocks */
    int64_t tasks = ceil_div(wanted, b->batch.size);
    int64_t stay = l2 / 2 / (tile->size * slab_depth(b) * bytes); /* tiles of a slab in half of the L2 cache */
    /* panels that are packed in blocks belong to one task each: where they are fewer than cores, several tasks share them */
    bool shares = panel->count * b->batch.size < (int64_t)t->cores && tile->count >= 2 * BLOCK_LEAST;
    bool prepack = b->once || shares || tile->count > TORTURED(TORTURE_TILE, stay);
    b->rhs_pack = prepack                                           ? RHS_PREPACK
                  : can_pack_on_first_use(b) && !lines_collide(b) ? RHS_PACK_ON_FIRST_USE
                                                                  : RHS_PACK_IN_BLOCK;
    if (b->rhs_pack == RHS_PACK_ON_FIRST_USE) { /* the panel that was just packed stays in the L1 cache, with its rows */
        int64_t depth = (int64_t)t->l1_bytes * 2 / 3 / (panel->size * bytes);
        find_slabs(b, depth < BLOCK_DEPTH ? depth : BLOCK_DEPTH);
    }
    b->lhs_pack = can_read_in_place(b)                                                ? LHS_IN_PLACE
                  : lower_is_invariant(c->l, ir_operand(c->l->m, c->op, b->lhs)) ? LHS_PREPACK
                                                                                 : LHS_PACK_IN_BLOCK;
    if (prepack) {
        stay = l2 / 4 / (tile->size * b->sum.depth * bytes);
        stay = stay < BLOCK_LEAST ? BLOCK_LEAST : stay;
        find_fastest_blocks(b, stay, ceil_div(BLOCK_COLUMNS, panel->size), (double)wanted);
        if (b->lhs_pack == LHS_PACK_IN_BLOCK && is_gathered(b) && ceil_div(panel->count, panel->block) >= BLOCK_REPACKED) {
            b->lhs_pack = LHS_PREPACK;
            find_fastest_blocks(b, stay, ceil_div(BLOCK_COLUMNS, panel->size), (double)wanted);
        }
    } else {
        int64_t columns = TORTURED(TORTURE_PART, l2 / 4 / (slab_depth(b) * bytes)); /* packed in a block, they stay there */
        tile->block = tile->count;
        panel->block = ceil_div(columns, panel->size);
        if (b->lhs_pack == LHS_PACK_IN_BLOCK) {
            shrink_blocks(b, BLOCK_LEAST, tasks);
            if (ceil_div(panel->count, panel->block) >= BLOCK_REPACKED)
                b->lhs_pack = LHS_PREPACK;
        }
        if (b->lhs_pack != LHS_PACK_IN_BLOCK)
            shrink_blocks(b, 1, tasks);
    }
    tile->block = even(tile->count, tile->block);
    panel->block = even(panel->count, panel->block);
    panel->block = panel->block < b->parts ? b->parts : panel->block - panel->block % b->parts;
}

static bool is_unsigned(const struct contraction *c, uint32_t side) {
    return operand_type(c, side)->cls == IR_UINT;
}

static bool is_integer(const struct contraction *c, uint32_t side, uint32_t bits) {
    const struct ir_dtype_info *i = operand_type(c, side);
    return (i->cls == IR_SINT || i->cls == IR_UINT) && i->bits <= bits;
}

/* Whether DOT2 can multiply an operand's elements: they are signed 16-bit integers. */
static bool is_short(const struct contraction *c, uint32_t side) {
    return is_integer(c, side, is_unsigned(c, side) ? 8 : 16);
}

bool contract_has_narrow_unit(const struct contraction *c) {
    return is_bf16_product(c) && (c->l->target->tile_bf16 || c->l->target->dot_bf16);
}

/* The instructions of the register tile: a matrix unit's unless it would multiply mostly padding, words, or FMA. */
static void find_kernel(struct blocking *b) {
    static const enum kir_tile formats[2][2] = {{KIR_TILE_S8S8, KIR_TILE_S8U8}, {KIR_TILE_U8S8, KIR_TILE_U8U8}};
    struct contraction *c = b->c;
    const struct target *t = c->l->target;
    bool bf16 = is_bf16_product(c);
    bool bytes = c->acc == KIR_I32 && is_integer(c, 0, 8) && is_integer(c, 1, 8);
    int64_t size = c->sum[c->nsum - 1].size, factors = bf16 ? 2 : 4, unit = factors * block_unit(b);
    b->format = bf16 ? KIR_TILE_BF16 : formats[is_unsigned(c, b->lhs)][is_unsigned(c, b->rhs)];
    c->dot_side = b->lhs;
    if (((bf16 && t->tile_bf16) || (bytes && t->tile_i8)) && 2 * size >= ceil_div(size, unit) * unit) {
        b->kernel = BLOCK_TILES;
        c->per_word = factors;
    } else if (bytes && !is_unsigned(c, b->rhs) && (t->dot_i8 || (t->dot_i8_signed && !is_unsigned(c, b->lhs)))) {
        b->kernel = BLOCK_WORDS;
        c->per_word = 4;
        c->dot_flags = is_unsigned(c, b->lhs) || !t->dot_i8_signed ? KIR_U : 0;
        b->biased = c->dot_flags && !is_unsigned(c, b->lhs);
    } else if (bf16 && t->dot_bf16 && size > 1) {
        b->kernel = BLOCK_WORDS;
        c->per_word = 2;
    } else if (c->acc == KIR_I32 && is_short(c, 0) && is_short(c, 1)) {
        b->kernel = BLOCK_WORDS;
        c->per_word = 2;
    } else if (multiplies_integers(c)) {
        b->kernel = BLOCK_WORDS;
        c->per_word = 2;
        c->acc = KIR_I32;
        c->integers = true;
    }
}

/* Whether several tiles of rows would read an rhs that the L2 cache does not hold: then the first one packs it on the way. */
static bool is_read_again(const struct blocking *b) {
    const struct contraction *c = b->c;
    uint32_t rows;
    int64_t columns = c->result[b->column].size, bytes = kir_type_bits(c->acc) / 8;
    (void)contract_lanes(c, columns, &rows);
    return b->rows.size > rows && can_pack_on_first_use(b) &&
           2.0 * (double)b->sum.lines * (double)columns * (double)bytes >= (double)c->l->target->l2_bytes;
}

/* Whether packing pays for few rows: where it converts factors once that each tile would convert, and where lanes would
   otherwise run along a short sum, at the end of which they are added up. That takes as long as adding about eight vectors,
   and transposing as long as two of each column. */
static bool pays_for_few(const struct blocking *b) {
    enum { END = 8, TRANSPOSE = 2 };
    const struct contraction *c = b->c;
    const struct axis *last = &c->sum[c->nsum - 1];
    bool along_sum = last->stride[b->rhs] == 1 && last->stride[b->lhs] == 1 && c->result[b->column].stride[b->rhs] != 1;
    if (along_sum)
        return (double)TRANSPOSE * (double)b->sum.lines < (double)END * (double)contract_vector(c) * (double)b->rows.size;
    return b->rows.size > 1 && (c->is_narrow[0] || c->is_narrow[1]);
}

static bool find(struct contraction *c, uint32_t column, struct blocking *b) {
    *b = (struct blocking){.c = c, .column = column, .parts = c->l->kernel->parts ? c->l->kernel->parts : 1};
    if (c->l->native || c->l->kernel->strict || c->nsum == 0 || c->acc == KIR_I1)
        return false;
    b->rhs = c->result[column].stride[1] != 0;
    b->lhs = !b->rhs;
    if (c->result[column].stride[b->lhs] != 0)
        return false;
    find_kernel(b);
    find_axes(b);
    find_words(b);
    find_slabs(b, slab_depth(b));
    b->masked = block_masked_operand(b);
    const struct target *t = c->l->target; /* less work than it takes to pack, and to start a kernel that packs, does not pay */
    int64_t least = TORTURED(TORTURE_PART, b->lhs_transposed || c->conv ? 2 * t->parallel_ops : t->kernel_ops);
    double factors = (double)(b->sum.lines * c->per_word) * (double)c->result[column].size;
    int64_t rows = b->rows.size; /* where bits must not depend on them, the choice does not either */
    rows = c->l->kernel->batch_invariant && rows > FUSE_INVARIANT_ROWS ? FUSE_INVARIANT_ROWS + 1 : rows;
    double work = (double)b->batch.size * (double)rows * factors;
    b->once = lower_is_invariant(c->l, ir_operand(c->l->m, c->op, b->rhs));
    bool pays = b->kernel == BLOCK_TILES ? b->rows.size >= block_unit(b)
                                         : b->rows.size >= (b->once ? BLOCK_ROWS_ONCE : BLOCK_ROWS) || is_read_again(b) ||
                                               pays_for_few(b);
    if (b->parts > 1) /* fuse/parts.c has decided */
        return true;
    return pays && work >= (double)least && c->result[column].size >= 8;
}

bool contract_can_block(const struct contraction *c, uint32_t v) {
    struct contraction copy = *c;
    struct blocking b;
    return find(&copy, v, &b);
}

/* ---- the register tile for vectors ------------------------------------------------------------ */

/* The first line of what is read after panel p: the next panel, or the first one of the next slab, or of the next block, which
   has the same columns where rows are left. */
static kir_val next_lines(struct blocking *b, const struct block *at, kir_val p) {
    struct lower *l = b->c->l;
    kir_val one = kir_i64(l->k, 1), first = block_first_line(b, at, kir_i64(l->k, 0)), block = at->panels;
    kir_val next = lower_add(l, block_first_line(b, at, p), kir_i64(l->k, b->sum.lines));
    if (b->tile.block < b->tile.count) {
        kir_val end = kir_cmp(l->k, KIR_EQ, 0, lower_add(l, at->tile0, at->tiles), kir_i64(l->k, b->tile.count));
        block = kir_select(l->k, end, block, kir_i64(l->k, 0));
    }
    kir_val is_last = kir_cmp(l->k, KIR_EQ, 0, lower_add(l, p, one), at->panels);
    kir_val is_end = kir_cmp(l->k, KIR_EQ, 0, lower_add(l, at->slab, one), kir_i64(l->k, b->sum.slabs));
    kir_val skip = lower_mul(l, lower_add(l, block, kir_i64(l->k, -1)), b->sum.lines); /* a panel ends where the next begins */
    kir_val after = lower_add(l, lower_add(l, first, at->lines), kir_select(l->k, is_end, skip, kir_i64(l->k, 0)));
    int64_t last = l->k->buffers.v[b->rhs_buffer].count / b->panel.size - b->sum.depth;
    return kir_op2(l->k, KIR_MIN, 0, kir_select(l->k, is_last, after, next), kir_i64(l->k, last));
}

/* Prefetches the part of that for `count` lines of this tile, as many elements a line, which is less work than an exact
   division: what comes after that panel is wanted as well. Prepacked panels are in a far cache, and a block takes little more
   time for a panel than it takes to come from there. Where a tile has all rows, all that it reads comes from there. */
static void prefetch_panel(struct blocking *b, const struct block *at, kir_val p, kir_val t, kir_val line, int64_t count) {
    struct lower *l = b->c->l;
    if (b->rhs_pack != RHS_PREPACK || b->by_rows)
        return;
    if (b->tile.count == 1) {
        int64_t bytes = kir_type_bits(b->c->acc) / 8, ahead = l->target->prefetch_bytes;
        kir_val at0 = lower_mul(l, lower_add(l, block_first_line(b, at, p), line), b->panel.size);
        for (int64_t i = 0; ahead && i < count * b->panel.size * bytes; i += l->target->line_bytes)
            kir_prefetch(l->k, b->rhs_buffer, lower_add(l, at0, kir_i64(l->k, (ahead + i) / bytes)));
        return;
    }
    int64_t columns = ceil_div(b->panel.size, b->tile.block), bytes = columns * kir_type_bits(b->c->acc) / 8;
    for (int64_t i = 0; i < count; i += bytes < l->target->line_bytes ? l->target->line_bytes / bytes : 1) {
        kir_val x = lower_add(l, lower_mul(l, t, b->sum.depth), lower_add(l, line, kir_i64(l->k, i)));
        x = lower_add(l, lower_mul(l, next_lines(b, at, p), b->panel.size), lower_mul(l, x, columns));
        kir_prefetch(l->k, b->rhs_buffer, x);
    }
}

/* Sets the axes to the first line and column of what is packed after panel p: the next panel, if each is packed as it is
   multiplied first; then its columns in the next slab; then those of the next block. */
static void set_next_unpacked(struct blocking *b, const struct block *at, kir_val p) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val zero = kir_i64(l->k, 0), one = kir_i64(l->k, 1), next = lower_add(l, p, one), end = {0}, chunk;
    kir_val last = kir_cmp(l->k, KIR_EQ, 0, at->slab, kir_i64(l->k, b->sum.slabs - 1));
    kir_val block = kir_select(l->k, last, kir_i64(l->k, b->panel.block), zero);
    chunk = kir_select(l->k, last, zero, lower_mul(l, lower_add(l, at->chunk, one), b->sum.chunk));
    if (b->rhs_pack == RHS_PACK_ON_FIRST_USE) {
        end = kir_cmp(l->k, KIR_EQ, 0, next, at->panels);
        chunk = kir_select(l->k, end, chunk, lower_mul(l, at->chunk, b->sum.chunk));
        p = kir_select(l->k, end, block, next);
    } else {
        p = lower_add(l, p, block);
    }
    c->result[b->column].at = lower_mul(l, lower_add(l, at->panel0, p), b->panel.size);
    c->sum[b->sum.cut].at = lower_mul(l, chunk, c->per_word);
}

/* Prefetches the element of the rhs at the axes' indices. */
static void prefetch_element(struct blocking *b) {
    struct contraction *c = b->c;
    struct packed packed = c->packed[b->rhs];
    c->packed[b->rhs].on = false;
    kir_val load = contract_load(c->l->k, contract_factor(c, b->rhs));
    if (load.i)
        contract_prefetch(c, load, 0);
    c->packed[b->rhs] = packed;
}

/* Whether tiles prefetch what is packed next, and whether it is contiguous along the sum. Tiles of several parts would prefetch
   the columns of one. */
static bool prefetches_unpacked(const struct blocking *b, bool along_sum) {
    const struct contraction *c = b->c;
    const struct axis *v = &c->result[b->column], *sum = &c->sum[b->sum.cut];
    bool is_linear = (c->is_load[b->rhs] || b->rhs_word > 1) && (along_sum ? sum : v)->stride[b->rhs] == 1;
    return b->rhs_pack != RHS_PREPACK && is_linear && !c->conv && b->parts == 1 && b->sum.cut + 1 == c->nsum;
}

/* Prefetches this tile's part of what is packed next, where columns are contiguous along the sum. The tiles of a panel have its
   columns among them. Lines that lie in one cache line take turns: each prefetches of another column. */
static void prefetch_columns(struct blocking *b, const struct block *at, kir_val p, kir_val t, kir_val line) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *v = &c->result[b->column], *sum = &c->sum[b->sum.cut];
    int64_t turns = l->target->line_bytes / 4, columns = ceil_div(b->panel.size, b->tile.block);
    if (!prefetches_unpacked(b, true) || columns > turns)
        return;
    kir_val column = v->at, turn = kir_op2(l->k, KIR_MIN, 0, lower_rem(l, line, turns), kir_i64(l->k, columns - 1));
    set_next_unpacked(b, at, p);
    v->at = lower_add(l, v->at, lower_add(l, lower_mul(l, t, columns), turn));
    sum->at = lower_add(l, sum->at, lower_mul(l, line, c->per_word));
    prefetch_element(b);
    v->at = column;
}

/* The same where lines are contiguous: `count` lines of the tile prefetch one of what is packed next, until all tiles have
   prefetched all of it. A processor would not find so short lines in time by itself. */
static void prefetch_lines(struct blocking *b, const struct block *at, kir_val p, kir_val t, kir_val line, int64_t count) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *v = &c->result[b->column], *sum = &c->sum[b->sum.cut];
    int64_t lines = ceil_div(b->sum.depth, b->tile.block), step = l->target->line_bytes * 8 / kir_type_bits(c->acc);
    if (!prefetches_unpacked(b, false) || c->per_word > 1 || lines * count > b->sum.depth)
        return;
    kir_val column = v->at, i = lower_div(l, line, count);
    kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, i, kir_i64(l->k, lines)));
    set_next_unpacked(b, at, p);
    kir_val first = v->at;
    sum->at = lower_add(l, sum->at, lower_add(l, lower_mul(l, t, lines), i));
    for (int64_t j = 0; j < b->panel.size; j += step) {
        v->at = lower_add(l, first, kir_i64(l->k, j));
        prefetch_element(b);
    }
    kir_close(l->k);
    v->at = column;
}

/* One line of the tile's sums. */
static void multiply_line(struct blocking *b, const struct block *at, kir_val first, kir_val t, kir_val line, kir_val lane,
                          const struct contract_tile *tile, bool forward) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val place = lower_add(l, lower_mul(l, lower_add(l, first, line), b->panel.size), lane), r;
    c->packed[b->rhs] = (struct packed){.buffer = b->rhs_buffer, .at = place};
    if (forward)
        c->packed[b->rhs].value = block_pack_and_forward(b, at, line, place);
    c->packed[b->rhs].on = true;
    if (b->lhs_pack == LHS_IN_PLACE) {
        r = contract_tile_rows(c, tile);
        for (uint32_t i = 0; i < c->nsum; i++)
            c->sum[i].at = kir_i64(l->k, 0);
        c->sum[b->sum.cut].at = lower_add(l, lower_mul(l, at->chunk, b->sum.chunk), line);
    } else {
        kir_val x = block_tile_place(b, at, t);
        r = kir_loop(l->k, KIR_UNROLLED, b->tile.size, 0);
        if (b->lhs_transposed)
            x = lower_add(l, lower_mul(l, lower_add(l, lower_mul(l, x, b->sum.depth), line), b->lhs_stride), r);
        else
            x = lower_add(l, lower_mul(l, lower_add(l, lower_mul(l, x, b->tile.size), r), b->sum.depth), line);
        c->packed[b->lhs] = (struct packed){true, b->lhs_buffer, x, {0}};
    }
    contract_multiply_add(c, tile->reg, r);
    kir_close(l->k);
}

int64_t block_lines_at_once(int64_t sums, int64_t lines) {
    int64_t n = 1;
    while (n < BLOCK_LINES_MOST && 2 * n * sums <= BLOCK_SUMS && 2 * n <= lines)
        n *= 2;
    return n;
}

static void multiply_lines(struct blocking *b, const struct block *at, kir_val p, kir_val t, kir_val lane,
                           const struct contract_tile *tile, bool forward) {
    struct lower *l = b->c->l;
    int64_t n = block_lines_at_once(b->tile.size * (b->panel.size / contract_vector(b->c)), b->sum.lines);
    bool divides = n >> kir_zeros(l->k, at->lines) <= 1;
    kir_val first = block_first_line(b, at, p), begin = kir_i64(l->k, 0), lines = at->lines;
    if (b->masked < 2 && !forward) { /* groups of lines: `lines` is a multiple of n where all lines are */
        kir_val end;
        block_range(b, p, t, &begin, &end);
        lines = kir_op2(l->k, KIR_SUB, 0, end, begin);
    }
    kir_val groups = lower_div(l, lines, n), rest = lower_rem(l, lines, n);
    for (;;) {
        kir_val line = lower_add(l, begin, lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, groups, 0), n));
        prefetch_panel(b, at, p, t, line, n);
        prefetch_lines(b, at, p, t, line, n);
        line = lower_add(l, line, kir_loop(l->k, KIR_UNROLLED, n, 0));
        prefetch_columns(b, at, p, t, line);
        multiply_line(b, at, first, t, line, lane, tile, forward);
        lower_close(l, 2);
        if (n == 1 || divides)
            return;
        begin = lower_add(l, begin, lower_mul(l, groups, n));
        groups = rest;
        n = 1;
    }
}

kir_val block_sums(struct blocking *b, kir_val p, kir_val t) {
    struct lower *l = b->c->l;
    kir_val tile = lower_add(l, lower_mul(l, p, b->tile.block), t);
    return b->sum.slabs > 1 || b->parts > 1 ? lower_mul(l, tile, b->tile.size * b->panel.size) : kir_i64(l->k, 0);
}

kir_val block_column(const struct blocking *b, kir_val panel) {
    struct lower *l = b->c->l;
    if (b->parts == 1)
        return lower_mul(l, panel, b->panel.size);
    kir_val part = lower_mul(l, lower_rem(l, panel, b->parts), b->c->result[b->column].size / b->parts);
    return lower_add(l, lower_mul(l, lower_div(l, panel, b->parts), b->panel.size), part);
}

/* Where the sum of row r of a tile is between slabs. */
static kir_val sum_place(struct blocking *b, kir_val p, kir_val t, kir_val r, kir_val lane) {
    struct lower *l = b->c->l;
    return lower_add(l, lower_add(l, block_sums(b, p, t), lower_mul(l, r, b->panel.size)), lane);
}

kir_val block_lanes(struct blocking *b, const struct block *at, kir_val p, int64_t width) {
    struct lower *l = b->c->l;
    struct axis *v = &b->c->result[b->column];
    kir_val column = block_column(b, lower_add(l, at->panel0, p));
    kir_val extent = lower_extent(l, column, b->panel.size, v->size);
    kir_val lane = kir_loop_to(l->k, KIR_VECTOR, extent, (uint32_t)width);
    v->at = lower_add(l, column, lane);
    return lane;
}

/* Whether the epilogue is too long to be written out for each register of a tile, all of whose sums would be live meanwhile. */
static bool is_long(const struct blocking *b) {
    const struct fuse_kernel *k = b->c->l->kernel;
    return k->nops + k->code_size_cost > BLOCK_EPILOGUE;
}

/* Stores the sum of a slab, of integers: of all slabs so far. */
static void store_sum(struct blocking *b, const struct block *at, kir_val place, kir_val sum) {
    struct kir *k = b->c->l->k;
    if (b->c->integers)
        sum = kir_typed(k, KIR_CONVERT, 0, KIR_F64, sum);
    if (b->c->integers && b->sum.slabs > 1) {
        kir_if(k, kir_cmp(k, KIR_GT, 0, at->slab, kir_i64(k, 0)));
        kir_store(k, b->sum_buffer, place, kir_op2(k, KIR_ADD, 0, kir_load(k, b->sum_buffer, place), sum));
        kir_else(k);
        kir_store(k, b->sum_buffer, place, sum);
        kir_close(k);
        return;
    }
    kir_store(k, b->sum_buffer, place, sum);
}

static void multiply_tile(struct blocking *b, const struct block *at, kir_val p, kir_val t) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct contract_tile tile = {.rows = &b->rows, .size = b->tile.size};
    tile.first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->rows.size, b->tile.size);
    kir_val lane = block_lanes(b, at, p, b->panel.size), unmasked, r;
    kir_val begin = b->biased ? kir_load(l->k, b->bias_buffer, lane) : contract_zero(c);
    tile.reg = kir_reg(l->k, begin, tile.size);
    if (b->sum.slabs > 1 && !c->integers) {
        kir_if(l->k, kir_cmp(l->k, KIR_GT, 0, at->slab, kir_i64(l->k, 0)));
        r = kir_loop(l->k, KIR_UNROLLED, tile.size, 0);
        kir_val sum = kir_load(l->k, b->sum_buffer, sum_place(b, p, t, r, lane));
        kir_set_reg(l->k, tile.reg, r, b->biased ? kir_op2(l->k, KIR_ADD, 0, sum, begin) : sum);
        lower_close(l, 2);
    }
    if (!b->stores_sums && contract_epilogue_is_far(c)) {
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, at->slab, kir_i64(l->k, b->sum.slabs - 1)));
        contract_prefetch_epilogue(c, &tile);
        kir_close(l->k);
    }
    if (b->rhs_pack == RHS_PACK_ON_FIRST_USE) {
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, t, kir_i64(l->k, 0)));
        multiply_lines(b, at, p, t, lane, &tile, true);
        kir_else(l->k);
    }
    bool may_skip = block_unmasked(b, at, p, tile.first, &unmasked);
    if (may_skip)
        kir_if(l->k, unmasked);
    multiply_lines(b, at, p, t, lane, &tile, false);
    lower_close(l, (b->rhs_pack == RHS_PACK_ON_FIRST_USE ? 1U : 0U) + (may_skip ? 1U : 0U));
    if (b->stores_sums) {
        r = kir_loop(l->k, KIR_UNROLLED, tile.size, 0);
        store_sum(b, at, sum_place(b, p, t, r, lane), kir_get_reg(l->k, tile.reg, r));
        lower_close(l, 2);
        if (b->parts == 1)
            block_finish(b, at, p, t);
        return;
    }
    if (b->sum.slabs > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, at->slab, kir_i64(l->k, b->sum.slabs - 1)));
        r = kir_loop(l->k, KIR_UNROLLED, tile.size, 0);
        kir_store(l->k, b->sum_buffer, sum_place(b, p, t, r, lane), kir_get_reg(l->k, tile.reg, r));
        kir_close(l->k);
        kir_else(l->k);
    }
    contract_tile_finish(c, &tile);
    lower_close(l, b->sum.slabs > 1 ? 2 : 1);
}

void block_finish(struct blocking *b, const struct block *at, kir_val p, kir_val t) {
    struct lower *l = b->c->l;
    if (b->sum.slabs > 1)
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, at->slab, kir_i64(l->k, b->sum.slabs - 1)));
    kir_val first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->rows.size, b->tile.size);
    kir_val r = kir_loop(l->k, KIR_SERIAL, b->tile.size, 0);
    kir_val lane = block_lanes(b, at, p, is_long(b) ? contract_vector(b->c) : b->panel.size);
    contract_set(b->c, &b->rows, lower_add(l, first, r));
    contract_finish(b->c, kir_load(l->k, b->sum_buffer, sum_place(b, p, t, r, lane)));
    lower_close(l, b->sum.slabs > 1 ? 3 : 2);
}

/* The epilogue of the block's sums, which are in sum_buffer, at the columns of the first part. */
static void finish_parts(struct blocking *b, const struct block *at) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    int64_t width = c->result[b->column].size / b->parts;
    uint32_t lanes = lower_lanes(l, kir_type_bits(c->acc) / 8, 2);
    kir_val parts = kir_i64(l->k, b->parts), sums[FUSE_PARTS_MOST];
    kir_val first = kir_op2(l->k, KIR_DIV, KIR_U, at->panel0, parts), units = kir_op2(l->k, KIR_DIV, KIR_U, at->panels, parts);
    kir_val u = kir_loop_to(l->k, KIR_SERIAL, units, 0), t = kir_loop_to(l->k, KIR_SERIAL, at->tiles, 0);
    kir_val row = contract_tile_begin(l, lower_add(l, at->tile0, t), b->rows.size, b->tile.size);
    kir_val r = kir_loop(l->k, KIR_SERIAL, b->tile.size, 0);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b->panel.size, b->panel.size < lanes ? (uint32_t)b->panel.size : lanes);
    contract_set(c, &b->rows, lower_add(l, row, r));
    c->result[b->column].at = lower_add(l, lower_mul(l, lower_add(l, first, u), b->panel.size), lane);
    for (int64_t i = 0; i < b->parts; i++) {
        kir_val p = lower_add(l, lower_mul(l, u, b->parts), kir_i64(l->k, i));
        sums[i] = kir_load(l->k, b->sum_buffer, sum_place(b, p, t, r, lane));
    }
    contract_finish_parts(c, b->column, sums, b->parts, width);
    l->stores_once = b->rows.size % b->tile.size == 0;
    lower_close(l, 4);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* What the bias of the lhs adds to the sums of each column of panel p in a slab, negated: -128 times the sum of its factors. */
static void sum_bias(struct blocking *b, const struct block *at, kir_val p) {
    struct lower *l = b->c->l;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b->panel.size, (uint32_t)b->panel.size), none = {0};
    kir_val reg = kir_reg(l->k, kir_int(l->k, KIR_I32, 0), 1);
    kir_val line = lower_add(l, block_first_line(b, at, p), kir_loop_to(l->k, KIR_SERIAL, at->lines, 0));
    kir_val y = kir_load(l->k, b->rhs_buffer, lower_add(l, lower_mul(l, line, b->panel.size), lane));
    kir_val bias = kir_int(l->k, KIR_I32, (int32_t)0x80808080);
    kir_set_reg(l->k, reg, none, kir_dot4(l->k, KIR_U, bias, y, kir_get_reg(l->k, reg, none)));
    kir_close(l->k);
    kir_store(l->k, b->bias_buffer, lane, kir_op1(l->k, KIR_NEG, kir_get_reg(l->k, reg, none)));
    kir_close(l->k);
}

static void block(struct blocking *b, struct block *at) {
    const struct block_sum *s = &b->sum;
    struct contraction *c = b->c;
    struct lower *l = c->l;
    at->slab = kir_i64(l->k, 0);
    for (uint32_t i = 0; i <= s->cut; i++) {
        int64_t n = i == s->cut ? ceil_div(s->line[i], s->chunk) : s->line[i];
        kir_val x = kir_loop(l->k, KIR_SERIAL, n, 0);
        *(i == s->cut ? &at->chunk : &c->sum[i].at) = x;
        at->slab = lower_add(l, lower_mul(l, at->slab, n), x);
    }
    at->lines = lower_mul(l, lower_extent(l, lower_mul(l, at->chunk, s->chunk), s->chunk, s->line[s->cut]), s->inner);
    if (b->lhs_pack == LHS_PACK_IN_BLOCK)
        block_pack_lhs(b, at);
    if (b->rhs_pack == RHS_PACK_IN_BLOCK)
        block_pack_rhs(b, at);
    if (b->masked < 2)
        block_find_ranges(b, at);
    kir_val p, t; /* by rows the epilogue reads and writes along rows, and panels follow one another in memory */
    if (b->by_rows) {
        t = kir_loop_to(l->k, KIR_SERIAL, at->tiles, 0);
        p = kir_loop_to(l->k, KIR_SERIAL, at->panels, 0);
    } else {
        p = kir_loop_to(l->k, KIR_SERIAL, at->panels, 0);
        if (b->biased)
            sum_bias(b, at, p);
        t = kir_loop_to(l->k, KIR_SERIAL, at->tiles, 0);
    }
    (b->kernel == BLOCK_TILES ? tile_multiply : multiply_tile)(b, at, p, t);
    lower_close(l, s->cut + 3);
    if (b->parts > 1)
        finish_parts(b, at);
}

/* Scratch memory of what the block packs and sums. */
static void allocate(struct blocking *b) {
    struct kir *k = b->c->l->k;
    int64_t panel = b->panel.size, tiles = b->sum.slabs > 1 || b->parts > 1 ? b->panel.block * b->tile.block : 1;
    if (b->lhs_pack == LHS_PACK_IN_BLOCK)
        b->lhs_buffer = kir_scratch(k, block_lhs_dtype(b), b->tile.block * block_tile_elements(b));
    if (b->rhs_pack != RHS_PREPACK)
        b->rhs_buffer = kir_scratch(k, block_rhs_dtype(b),
                                    (b->rhs_pack == RHS_PACK_ON_FIRST_USE ? 1 : b->panel.block) * b->sum.depth * panel);
    b->stores_sums = b->kernel == BLOCK_TILES || b->parts > 1 || b->c->integers || is_long(b);
    if (b->sum.slabs > 1 || b->stores_sums)
        b->sum_buffer = kir_scratch(k, b->c->integers ? IR_F64_T : contract_acc_dtype(b->c), tiles * b->tile.size * panel);
    if (b->masked < 2)
        b->range_buffer = kir_scratch(k, IR_I64_T, 2 * (b->masked == b->lhs ? b->tile.block : b->panel.block));
    if (b->biased)
        b->bias_buffer = kir_scratch(k, IR_I32_T, panel);
}

bool contract_blocks(struct contraction *c, uint32_t v) {
    struct lower *l = c->l;
    struct blocking b;
    enum kir_type acc = c->acc;
    if (!find(c, v, &b)) {
        c->per_word = 1;
        c->acc = acc;
        c->integers = false;
        return false;
    }
    find_tile(&b);
    find_blocks(&b);
    l->word_bits = 4; /* packed lane by lane, each in a line of its own: a word has what the next lines need */
    if (b.rhs_pack == RHS_PREPACK)
        block_prepack_rhs(&b);
    if (b.lhs_pack == LHS_PREPACK)
        block_prepack_lhs(&b);
    int64_t dims[] = {b.batch.size, ceil_div(b.panel.count, b.panel.block), ceil_div(b.tile.count, b.tile.block)};
    kir_val at[3];
    lower_grid_nd(l, dims, 3, at);
    contract_set(c, &b.batch, at[0]);
    struct block here = {.tile0 = lower_mul(l, at[2], b.tile.block), .panel0 = lower_mul(l, at[1], b.panel.block)};
    here.tiles = lower_extent(l, here.tile0, b.tile.block, b.tile.count);
    here.panels = lower_extent(l, here.panel0, b.panel.block, b.panel.count);
    for (uint32_t side = 0; side < 2; side++) {
        struct contract_axes batch = block_batch_axes(&b, side);
        here.batch[side] = kir_i64(l->k, 0);
        for (uint32_t i = 0; i < batch.n; i++) {
            const struct axis *a = &c->result[batch.v[i]];
            here.batch[side] = lower_add(l, lower_mul(l, here.batch[side], a->size), a->at);
        }
    }
    allocate(&b);
    int64_t panels = b.panel.block * b.panel.size * b.sum.depth * kir_type_bits(c->acc) / 8; /* read for each tile */
    b.by_rows = !b.biased && !b.stores_sums && b.sum.slabs == 1 && b.rhs_pack == RHS_PREPACK &&
                panels <= (int64_t)l->target->l2_bytes / 2 && contract_epilogue_is_far(c);
    block(&b, &here);
    kir_close(l->k);
    c->packed[0].on = c->packed[1].on = false;
    c->per_word = 1;
    c->acc = acc;
    c->integers = false;
    l->word_bits = 0;
    return true;
}
