/* Contractions in blocks, after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
 *
 * The result's axes along which the operand of the lanes does not change are its rows, one behind another; the others but
 * that of the lanes are batches. An iteration of the grid computes a block of so many tiles of rows by so many panels of
 * columns. It takes the sum in slabs. Of each it first brings the elements of its rows into scratch memory, tile by tile, where
 * they stay in the second cache while panel after panel is multiplied by them; a panel of a slab stays in the first cache.
 * Between slabs the sums wait in scratch memory.
 *
 * The panels, of as many columns as a register tile has lanes, are packed by a kernel that runs before; but where one block
 * has all rows, and so a panel is multiplied once, the iteration packs what it needs, where it can behind the products of the
 * first tile. The order of the sum is that of the axes, whatever the blocks. Factors of 16 and 8 bits are packed as words of
 * two or four, which are multiplied at once. */
#include "lower/blocks.h"

enum {
    BLOCK_ROWS = TORTURED(TORTURE_TILE, 24), /* fewer products with an element do not pay for packing it */
    BLOCK_WORK = TORTURED(TORTURE_PART, 1 << 12), /* nor do fewer in all, */
    BLOCK_WORK_TURNED = TORTURED(TORTURE_PART, 1 << 17), /* where rows are turned, or looked for */
    BLOCK_DEPTH = TORTURED(TORTURE_PART, 384), /* of a slab, about */
    BLOCK_DEPTH_UNIT = TORTURED(TORTURE_PART, 128), /* of one for a matrix unit, in words */
    BLOCK_COLUMNS = TORTURED(TORTURE_PART, 1024), /* of a block, where panels were packed before */
    BLOCK_COLUMNS_HERE = TORTURED(TORTURE_PART, 128), /* where they are packed in it */
    BLOCK_TILES_HERE = TORTURED(TORTURE_TILE, 44), /* most tiles of rows for that */
    BLOCK_GRID = 16, /* blocks that keep threads busy */
    BLOCK_LEAST = TORTURED(1, 4), /* panels or tiles that a block keeps although there are fewer */
    BLOCK_AGAIN = 3, /* times that blocks would bring the same rows for which a kernel does it before */
    BLOCK_AHEAD = 16, /* lines that are prefetched */
    BLOCK_AHEAD_PASSING = 8, /* where products take the time between them */
    BLOCK_LINES = TORTURED(TORTURE_TILE, 16) /* that the kernel that packs panels takes at once */
};

static int64_t quotient(int64_t a, int64_t b) { /* rounded up */
    return (a + b - 1) / b;
}

static int64_t even(int64_t size, int64_t most) { /* parts of nearly equal size */
    return quotient(size, quotient(size, most));
}

static enum ir_dtype dtype_of(enum kir_type t) {
    static const enum ir_dtype dtypes[KIR_TYPE_COUNT] = {[KIR_I8] = IR_I8_T,   [KIR_I16] = IR_I16_T, [KIR_I32] = IR_I32_T,
                                                         [KIR_I64] = IR_I64_T, [KIR_F32] = IR_F32_T, [KIR_F64] = IR_F64_T};
    return dtypes[t];
}

/* Of elements of panels, of rows, of waiting sums. */
static enum ir_dtype panel_dtype(const struct blocks *b) {
    return b->c->group > 1 ? IR_I32_T : dtype_of(b->c->acc);
}

static enum ir_dtype row_dtype(const struct blocks *b) {
    return b->unit ? b->c->group == 2 ? IR_I16_T : IR_I8_T : panel_dtype(b);
}

static enum ir_dtype sum_dtype(const struct blocks *b) {
    return dtype_of(b->c->acc);
}

/* ---- the choice ------------------------------------------------------------------------------- */

static void find_axes(struct blocks *b) {
    const struct contraction *c = b->c;
    const struct axis *side_by_side = NULL;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (i != b->v && c->result[i].stride[b->cols] == 0 && c->result[i].stride[b->rows] == 1 && c->result[i].size > 1)
            side_by_side = &c->result[i];
    bool lines = c->sum[c->nsum - 1].stride[b->rows] == 1 || c->sum[c->nsum - 1].size == 1;
    b->upright = side_by_side && !lines && side_by_side->size >= BLOCK_ROWS && c->group == 1;
    for (uint32_t i = 0; i < c->nresult; i++) {
        if (i == b->v)
            continue;
        bool is_row = b->upright ? &c->result[i] == side_by_side : c->result[i].stride[b->cols] == 0;
        if (is_row)
            b->row[b->nrow++] = i;
        else
            b->batch[b->nbatch++] = i;
    }
    b->nrows = 1;
    for (uint32_t i = 0; i < b->nrow; i++)
        b->nrows *= c->result[b->row[i]].size;
}

/* Lines that are packed at once where columns lie along the sum: a register's words of each column. */
static int64_t square_lines(const struct blocks *b) {
    return b->c->l->target->vector_bytes / 4 * b->in_word / b->c->group;
}

/* Whether columns lie along the sum in whole words of several elements each. */
static void find_words(struct blocks *b) {
    struct contraction *c = b->c;
    struct axis *sum = &c->sum[c->nsum - 1];
    struct contract_probe probe;
    int64_t parts = contract_parts_of_word(c, b->cols, true), step = 0, apart = 0;
    b->in_word = 1;
    if (parts == 1 || sum->size % parts || sum->size < c->l->target->vector_bytes / 4 * parts || kir_type_bits(c->acc) > 32)
        return;
    c->l->word_bits = 8;
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_loop(k, KIR_SERIAL, c->result[i].size, 0);
    for (uint32_t i = 0; i + 1 < c->nsum; i++)
        c->sum[i].at = kir_loop(k, KIR_SERIAL, c->sum[i].size, 0);
    kir_val word = kir_loop(k, KIR_SERIAL, sum->size / parts, 0);
    sum->at = lower_mul(c->l, word, parts);
    kir_val load = contract_load(k, contract_factor(c, b->cols));
    if (load.i) {
        const struct kir_node *n = kir_get(k, load);
        if (k->buffers.v[n->of].dtype == IR_I32_T && kir_linear(k, n->arg[0], word, &step) && step == 1 &&
            kir_linear(k, n->arg[0], c->result[b->v].at, &apart) && apart != 0)
            b->in_word = parts;
    }
    contract_probe_end(c, &probe);
    c->l->word_bits = 0;
}

/* Slabs of about so many lines. */
static void find_slabs(struct blocks *b, int64_t depth) {
    const struct contraction *c = b->c;
    uint32_t last = c->nsum - 1;
    b->all = 1;
    for (uint32_t i = 0; i <= last; i++) {
        b->line[i] = i == last ? quotient(c->sum[i].size, c->group) : c->sum[i].size;
        if (b->unit && i == last)
            b->line[i] = quotient(b->line[i], BLOCK_UNIT) * BLOCK_UNIT;
        b->all *= b->line[i];
    }
    int64_t most = depth + depth / 4;
    b->cut = last;
    b->inner = 1;
    while (b->cut > 0 && b->inner * b->line[b->cut] <= most / 2)
        b->inner *= b->line[b->cut--];
    b->chunk = b->line[b->cut] * b->inner <= most ? b->line[b->cut] : even(b->line[b->cut], depth / b->inner);
    int64_t whole = b->unit ? BLOCK_UNIT : BLOCK_LINES;
    if (b->in_word > 1 && whole < square_lines(b))
        whole = square_lines(b);
    if (b->cut == last && b->chunk < b->line[last])
        b->chunk = quotient(b->chunk, whole) * whole;
    b->depth = b->chunk * b->inner;
    b->slabs = quotient(b->line[b->cut], b->chunk);
    for (uint32_t i = 0; i < b->cut; i++)
        b->slabs *= b->line[i];
}

/* Rows of a tile: as many as there are registers for, or up to a third fewer where that leaves fewer rows computed twice.
   What a tile costs besides its products is about two fifths of a row. */
static int64_t best_tile(int64_t rows, int64_t most) {
    int64_t best = most;
    for (int64_t t = most - 1; 3 * t >= 2 * most; t--)
        if (quotient(rows, t) * (5 * t + 2) < quotient(rows, best) * (5 * best + 2))
            best = t;
    return best;
}

/* Whether rows can stay where they lie: each contiguous, of the sum's type, and neighbours not in the same lines of the first
   cache. */
static bool is_direct(const struct blocks *b) {
    enum { ALIAS = 4096 };
    const struct contraction *c = b->c;
    int64_t stride = 0;
    uint32_t rows = 0, sums = 0;
    for (uint32_t i = 0; i < b->nrow; i++)
        if (c->result[b->row[i]].size > 1) {
            rows++;
            stride = c->result[b->row[i]].stride[b->rows];
        }
    for (uint32_t i = 0; i < c->nsum; i++)
        sums += c->sum[i].size > 1;
    return c->plain[b->rows] && !c->conv && c->group == 1 && rows == 1 && sums == 1 && c->sum[b->cut].size > 1 && stride > 0 &&
           c->sum[b->cut].stride[b->rows] == 1 && stride * (int64_t)(kir_type_bits(c->acc) / 8) % ALIAS != 0;
}

/* Whether a panel can be packed while the first tile is multiplied by it: its lines are contiguous, of the sum's type, and
   follow one another in a slab. */
static bool is_passing(const struct blocks *b) {
    const struct contraction *c = b->c;
    return b->here && !b->unit && c->plain[b->cols] && !c->conv && c->group == 1 && c->result[b->v].stride[b->cols] == 1 &&
           b->cut + 1 == c->nsum;
}

static void find_blocks(struct blocks *b) {
    const struct contraction *c = b->c;
    int64_t bytes = kir_type_bits(c->acc) / 8, l2 = (int64_t)c->l->target->l2_bytes, batches = 1;
    for (uint32_t i = 0; i < b->nbatch; i++)
        batches *= c->result[b->batch[i]].size;
    uint32_t rows;
    b->lanes = contract_lanes(c, c->result[b->v].size, &rows);
    b->tile = best_tile(b->nrows, rows);
    if (b->unit) { /* four tiles of sums: two by two, if there are as many rows and columns */
        int64_t columns = c->result[b->v].size;
        b->tile = b->nrows >= 2 * BLOCK_UNIT ? 2 * BLOCK_UNIT : BLOCK_UNIT;
        b->lanes = columns <= BLOCK_UNIT                                       ? BLOCK_UNIT
                   : columns <= 2 * BLOCK_UNIT || b->tile == 2 * BLOCK_UNIT ? 2 * BLOCK_UNIT
                                                                               : 4 * BLOCK_UNIT;
    }
    b->tiles = quotient(b->nrows, b->tile);
    b->panels = quotient(c->result[b->v].size, b->lanes);
    b->here = b->tiles <= BLOCK_TILES_HERE;
    b->passing = is_passing(b);
    if (b->passing) { /* the panel that was just packed stays in the first cache, beside its rows */
        int64_t depth = (int64_t)c->l->target->l1_bytes * 2 / 3 / (b->lanes * bytes);
        find_slabs(b, depth < BLOCK_DEPTH ? depth : BLOCK_DEPTH);
    }
    int64_t tiles = l2 / 4 / (b->tile * b->depth * bytes),
            panels = quotient(b->here ? BLOCK_COLUMNS_HERE : BLOCK_COLUMNS, b->lanes);
    tiles = b->here ? b->tiles : tiles < BLOCK_LEAST ? BLOCK_LEAST : tiles;
    b->direct = is_direct(b);
    int64_t parts = quotient(BLOCK_GRID, batches), least = b->passing && b->direct ? 1 : BLOCK_LEAST;
    while (!b->here && tiles >= 4 * BLOCK_LEAST && quotient(b->tiles, tiles) * quotient(b->panels, panels) < parts)
        tiles = quotient(tiles, 2);
    while (panels > least && quotient(b->tiles, tiles) * quotient(b->panels, panels) < parts)
        panels /= 2;
    while (!b->here && b->slabs > 1 && panels * b->lanes > BLOCK_COLUMNS / (b->unit ? 4 : 2) &&
           tiles * b->tile * panels * b->lanes * bytes > l2 / 2) /* of sums */
        panels /= 2;
    b->before = !b->direct && b->here && quotient(b->panels, panels) >= BLOCK_AGAIN;
    b->ntiles = even(b->tiles, tiles);
    b->npanels = even(b->panels, panels);
    int64_t vector = c->l->target->vector_bytes / bytes;
    b->stride = b->upright ? quotient(b->tile, vector) * vector : 1;
}

static const struct ir_dtype_info *operand_type(const struct contraction *c, uint32_t side) {
    return ir_dtype_get(ir_val_type(c->l->m, ir_operand(c->l->m, c->op, side))->dtype);
}

static bool is_unsigned(const struct contraction *c, uint32_t side) {
    return operand_type(c, side)->cls == IR_UINT;
}

/* Whether an operand's elements are integers of at most so many bits; numbers of 16 bits with a sign. */
static bool is_integer(const struct contraction *c, uint32_t side, uint32_t bits) {
    const struct ir_dtype_info *i = operand_type(c, side);
    return (i->cls == IR_SINT || i->cls == IR_UINT) && i->bits <= bits;
}

static bool is_short(const struct contraction *c, uint32_t side) {
    return is_integer(c, side, is_unsigned(c, side) ? 8 : 16);
}

static bool is_brain(const struct contraction *c, uint32_t side) {
    const struct ir_dtype_info *i = operand_type(c, side);
    return i->cls == IR_FLOAT && i->fp == FP_BF16;
}

/* How many factors are multiplied at once, and whether by a matrix unit. */
static void find_group(struct blocks *b) {
    static const enum kir_tile formats[2][2] = {{KIR_TILE_S8S8, KIR_TILE_S8U8}, {KIR_TILE_U8S8, KIR_TILE_U8U8}};
    struct contraction *c = b->c;
    const struct kir_target *t = c->l->target;
    bool brains = c->acc == KIR_F32 && is_brain(c, 0) && is_brain(c, 1);
    bool bytes = c->acc == KIR_I32 && is_integer(c, 0, 8) && is_integer(c, 1, 8);
    int64_t size = c->sum[c->nsum - 1].size, group = brains ? 2 : 4, elements = group * BLOCK_UNIT;
    b->unit = ((brains && t->tile_bf16) || (bytes && t->tile_i8)) && 2 * size >= quotient(size, elements) * elements;
    b->format = brains ? KIR_TILE_BF16 : formats[is_unsigned(c, b->rows)][is_unsigned(c, b->cols)];
    bool words = !b->unit && bytes && t->dot_i8 && !is_unsigned(c, b->cols);
    b->shifted = words && !is_unsigned(c, b->rows);
    c->left = b->rows;
    c->group = b->unit || words ? group : c->acc == KIR_I32 && is_short(c, 0) && is_short(c, 1) ? 2 : 1;
}

static bool find(struct contraction *c, uint32_t v, struct blocks *b) {
    *b = (struct blocks){.c = c, .v = v};
    if (c->l->native || c->l->kernel->strict || c->nsum == 0 || c->acc == KIR_I1)
        return false;
    b->cols = c->result[v].stride[1] != 0;
    b->rows = !b->cols;
    if (c->result[v].stride[b->rows] != 0)
        return false;
    find_group(b);
    find_axes(b);
    find_words(b);
    find_slabs(b, b->unit ? BLOCK_DEPTH_UNIT : BLOCK_DEPTH);
    int64_t least = b->upright || c->conv ? BLOCK_WORK_TURNED : BLOCK_WORK;
    double work = (double)b->nrows * (double)(b->all * c->group) * (double)c->result[v].size;
    return b->nrows >= (b->unit ? BLOCK_UNIT : BLOCK_ROWS) && work >= (double)least && c->result[v].size >= 8;
}

bool contract_can_block(const struct contraction *c, uint32_t v) {
    struct contraction trial = *c;
    struct blocks b;
    return find(&trial, v, &b);
}

kir_val blocks_loop(struct lower *l, kir_val extent) {
    int64_t n;
    return kir_is_const(l->k, extent, &n) ? kir_loop(l->k, KIR_SERIAL, n, 0) : kir_loop_to(l->k, KIR_SERIAL, extent, 0);
}

/* As many as a block has of `all`, from `first` on. */
static kir_val part_of(struct lower *l, kir_val first, int64_t size, int64_t all) {
    if (all % size == 0)
        return kir_i64(l->k, size);
    return kir_op2(l->k, KIR_MIN, 0, kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, all), first), kir_i64(l->k, size));
}

static kir_val open_lanes(struct lower *l, kir_val extent, uint32_t width) {
    int64_t n;
    return kir_is_const(l->k, extent, &n) ? kir_loop(l->k, KIR_VECTOR, n, width)
                                          : kir_loop_to(l->k, KIR_VECTOR, extent, width);
}

/* ---- packing ---------------------------------------------------------------------------------- */

kir_val blocks_bits(const struct contraction *c, kir_val x) {
    if (c->acc != KIR_F32)
        return x;
    return kir_op2(c->l->k, KIR_SHR, KIR_U, kir_typed(c->l->k, KIR_BITCAST, 0, KIR_I32, x), kir_int(c->l->k, KIR_I32, 16));
}

/* An element of an operand at the axes' indices as it is packed, `last` the index of the last axis of the sum in words: a
   factor, or a word of some, those behind the last one zeros. */
static kir_val element(struct blocks *b, uint32_t side, kir_val last) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *sum = &c->sum[c->nsum - 1];
    struct packed packed = c->packed[side];
    kir_val word = {0}, guard = l->guard;
    int64_t bits = 32 / c->group, beyond = b->line[c->nsum - 1] * c->group - sum->size;
    c->packed[side].on = false;
    for (int64_t i = 0; i < c->group; i++) {
        sum->at = lower_add(l, lower_mul(l, last, c->group), kir_i64(l->k, i));
        kir_val inside = {0};
        if (c->group - i <= beyond) {
            inside = kir_cmp(l->k, KIR_LT, 0, sum->at, kir_i64(l->k, sum->size));
            l->guard = guard.i ? kir_op2(l->k, KIR_AND, 0, guard, inside) : inside;
        }
        kir_val x = contract_factor(c, side);
        l->guard = guard;
        if (c->group > 1)
            x = blocks_bits(c, x);
        if (inside.i) /* what is computed from an element that is not there may be another number than 0 */
            x = kir_select(l->k, inside, x, kir_int(l->k, KIR_I32, 0));
        if (c->group > 1 && c->acc != KIR_F32)
            x = kir_op2(l->k, KIR_AND, 0, x, kir_int(l->k, KIR_I32, ((int64_t)1 << bits) - 1));
        word = i ? kir_op2(l->k, KIR_OR, 0, word, kir_op2(l->k, KIR_SHL, 0, x, kir_int(l->k, KIR_I32, bits * i))) : x;
    }
    c->packed[side] = packed;
    return word;
}

uint32_t blocks_open_outer(struct blocks *b, kir_val chunk, kir_val *line, kir_val *first, kir_val *count) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    uint32_t last = c->nsum - 1;
    kir_val begin = lower_mul(l, chunk, b->chunk);
    *line = *first = kir_i64(l->k, 0);
    *count = kir_i64(l->k, b->line[last]);
    for (uint32_t i = b->cut; i < last; i++) {
        kir_val at;
        if (i == b->cut) {
            c->sum[i].at = lower_chunk_loop(l, begin, b->chunk, b->line[i], KIR_SERIAL, 0);
            at = kir_op2(l->k, KIR_SUB, 0, c->sum[i].at, begin);
        } else {
            c->sum[i].at = at = kir_loop(l->k, KIR_SERIAL, b->line[i], 0);
        }
        *line = lower_mul(l, lower_add(l, *line, at), b->line[i + 1]);
    }
    if (b->cut == last) {
        *first = begin;
        *count = part_of(l, begin, b->chunk, b->line[last]);
    }
    return last - b->cut;
}

/* The same, and one over those of the last axis, in lanes where `width` is not 0: the line in the slab, and `last` for
   element(). */
static uint32_t open_lines(struct blocks *b, kir_val chunk, uint32_t width, kir_val *line, kir_val *last) {
    struct lower *l = b->c->l;
    kir_val first, count;
    uint32_t opened = blocks_open_outer(b, chunk, line, &first, &count);
    kir_val at = width ? open_lanes(l, count, width) : blocks_loop(l, count);
    *line = lower_add(l, *line, at);
    *last = lower_add(l, first, at);
    return opened + 1;
}

/* Whether columns lie along the sum, and not side by side. */
static bool is_turned(const struct blocks *b) {
    const struct contraction *c = b->c;
    return c->result[b->v].stride[b->cols] != 1 && c->sum[c->nsum - 1].stride[b->cols] == 1 && kir_type_bits(c->acc) <= 32;
}

/* The elements that are packed some lines after x. Lines are short, and what processors foresee ends with each. */
static void prefetch(struct blocks *b, kir_val x, int64_t stride) {
    struct kir *k = b->c->l->k;
    kir_val load = contract_load(k, x);
    if (load.i && stride > 0)
        contract_prefetch(b->c, load, BLOCK_AHEAD * stride);
}

/* Lines of a panel that are to be packed: `count` of the last axis of the sum from `first` on, to `place` of the buffer on. */
struct lines {
    uint32_t buffer;
    kir_val panel, place, first, count;
};

/* Vectors of `width` lanes, of `at_once` lines each in turn. Guarded: columns behind the operand's last are zeros. */
static void pack_some(struct blocks *b, const struct lines *s, int64_t at_once, uint32_t width, bool guarded) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    struct axis *v = &c->result[b->v], *sum = &c->sum[c->nsum - 1];
    kir_val line = lower_mul(l, blocks_loop(l, lower_div(l, s->count, at_once)), at_once);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b->lanes, width);
    v->at = lower_add(l, lower_mul(l, s->panel, b->lanes), lane);
    if (guarded)
        l->guard = kir_cmp(l->k, KIR_LT, 0, v->at, kir_i64(l->k, v->size));
    for (int64_t i = 0; i < at_once; i++) {
        kir_val at = lower_add(l, line, kir_i64(l->k, i)), x = element(b, b->cols, lower_add(l, s->first, at));
        if (i == 0 && (at_once > 1 || (v->stride[b->cols] == 1 && v->size > b->lanes)))
            prefetch(b, x, at_once > 1 ? 2 : sum->stride[b->cols]);
        kir_val place = lower_mul(l, lower_add(l, s->place, at), b->lanes);
        kir_store(l->k, s->buffer, lower_add(l, place, lane), x);
    }
    l->guard = (kir_val){0};
    lower_close(l, 2);
}

/* Where columns lie along the sum, as many elements or words of each as a register has lanes are read at once: a square, which
   the code generator turns (emit_square.c). */
static void pack_full(struct blocks *b, const struct lines *s) {
    struct lower *l = b->c->l;
    int64_t at_once = square_lines(b);
    uint32_t words = l->word_bits;
    if (b->in_word == 1 && !is_turned(b)) {
        pack_some(b, s, 1, (uint32_t)b->lanes, false);
        return;
    }
    l->word_bits = b->in_word > 1 ? 8 : words;
    pack_some(b, s, at_once, l->target->vector_bytes / 4, false);
    l->word_bits = words;
    struct lines rest = *s;
    kir_val whole = lower_mul(l, lower_div(l, s->count, at_once), at_once);
    rest.first = lower_add(l, s->first, whole);
    rest.place = lower_add(l, s->place, whole);
    rest.count = kir_op2(l->k, KIR_SUB, 0, s->count, whole);
    pack_some(b, &rest, 1, (uint32_t)b->lanes, false);
}

static void pack_lines(struct blocks *b, const struct lines *s) {
    struct lower *l = b->c->l;
    const struct axis *v = &b->c->result[b->v];
    if (v->size % b->lanes == 0) {
        pack_full(b, s);
        return;
    }
    kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, s->panel, kir_i64(l->k, v->size / b->lanes)));
    pack_full(b, s);
    kir_else(l->k);
    pack_some(b, s, 1, (uint32_t)b->lanes, true);
    kir_close(l->k);
}

/* The batch's axes that an operand changes with. */
static uint32_t batch_axes(const struct blocks *b, uint32_t side, uint32_t *axes, int64_t *dims) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->nbatch; i++)
        if (b->c->result[b->batch[i]].stride[side] != 0) {
            axes[n] = b->batch[i];
            dims[n++] = b->c->result[b->batch[i]].size;
        }
    return n;
}

/* The kernel that packs all panels. A few streams are read and one is written. Where lines are contiguous: some lines of the
   last contracted axis, panel by panel; where columns are: panel by panel, each down its columns. */
static void pack_before(struct blocks *b) {
    struct contraction *c = b->c;
    struct lower *l = c->l, before;
    int64_t dims[2 * IR_MAX_RANK + 1], all = 1;
    uint32_t axes[IR_MAX_RANK], n = batch_axes(b, b->cols, axes, dims), m = n, last = c->nsum - 1;
    kir_val at[2 * IR_MAX_RANK + 1];
    for (uint32_t i = 0; i < n; i++)
        all *= dims[i];
    uint32_t temp = lower_new_temp(l, panel_dtype(b), all * b->panels * b->all * b->lanes);
    lower_begin_prologue(l, &before);
    c->l = &before;
    bool lines_first = c->result[b->v].stride[b->cols] == 1;
    int64_t size = b->line[last], parts = quotient(size, BLOCK_LINES);
    for (uint32_t i = 0; i < last; i++)
        dims[m++] = b->line[i];
    dims[m++] = lines_first ? parts : b->panels;
    all = 1;
    for (uint32_t i = 0; i < m; i++)
        all *= dims[i];
    lower_unflatten(&before, lower_grid(&before, all), dims, m, at);
    for (uint32_t i = 0; i < c->nresult; i++) /* along the others the operand does not change */
        c->result[i].at = kir_i64(before.k, 0);
    for (uint32_t i = 0; i < n; i++)
        c->result[axes[i]].at = at[i];
    for (uint32_t i = 0; i < last; i++)
        c->sum[i].at = at[n + i];
    struct lines s = {.buffer = lower_temp(&before, temp, KIR_OUT), .panel = at[m - 1], .first = kir_i64(before.k, 0)};
    s.count = kir_i64(before.k, size);
    if (lines_first) {
        s.panel = kir_loop(before.k, KIR_SERIAL, b->panels, 0);
        s.first = lower_mul(&before, at[m - 1], BLOCK_LINES);
        s.count = part_of(&before, s.first, BLOCK_LINES, size);
    }
    s.place = kir_i64(before.k, 0);
    for (uint32_t i = 0; i < n; i++)
        s.place = lower_add(&before, lower_mul(&before, s.place, dims[i]), at[i]);
    s.place = lower_add(&before, lower_mul(&before, s.place, b->panels), s.panel);
    for (uint32_t i = 0; i < c->nsum; i++)
        s.place = lower_add(&before, lower_mul(&before, s.place, b->line[i]), i == last ? s.first : c->sum[i].at);
    pack_lines(b, &s);
    lower_close(&before, lines_first ? 2 : 1);
    c->l = l;
    b->b = lower_temp(l, temp, KIR_IN);
}

void blocks_at_row(struct blocks *b, kir_val row) {
    struct contraction *c = b->c;
    int64_t dims[IR_MAX_RANK];
    kir_val at[IR_MAX_RANK];
    for (uint32_t i = 0; i < b->nrow; i++)
        dims[i] = c->result[b->row[i]].size;
    lower_unflatten(c->l, row, dims, b->nrow, at);
    for (uint32_t i = 0; i < b->nrow; i++)
        c->result[b->row[i]].at = at[i];
}

static int64_t tile_elements(const struct blocks *b) {
    return b->depth * (b->upright ? b->stride : b->unit ? b->tile * b->c->group : b->tile);
}

kir_val blocks_tile_place(const struct blocks *b, const struct block *at, kir_val t) {
    struct lower *l = b->c->l;
    if (!b->before)
        return t;
    kir_val slab = lower_add(l, lower_mul(l, at->batch[b->rows], b->slabs), at->slab);
    return lower_add(l, lower_mul(l, slab, b->tiles), lower_add(l, at->tile0, t));
}

/* The elements of the block's rows, or of one tile of them. */
static void bring_rows(struct blocks *b, const struct block *at, uint32_t buffer) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val line, last, t = blocks_loop(l, at->tiles), tile = blocks_tile_place(b, at, t);
    kir_val first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->nrows, b->tile);
    uint32_t bytes = kir_type_bits(c->acc) / 8, opened;
    c->result[b->v].at = kir_i64(l->k, 0);
    if (b->upright) {
        opened = open_lines(b, at->chunk, 0, &line, &last);
        kir_val lane = kir_loop(l->k, KIR_VECTOR, b->stride, (uint32_t)b->stride), row = lower_add(l, first, lane);
        blocks_at_row(b, row);
        if (b->stride != b->tile)
            l->guard = kir_cmp(l->k, KIR_LT, 0, row, kir_i64(l->k, b->nrows));
        kir_val place = lower_add(l, lower_mul(l, tile, b->depth), line);
        kir_val x = element(b, b->rows, last);
        kir_store(l->k, buffer, lower_add(l, lower_mul(l, place, b->stride), lane), x);
        l->guard = (kir_val){0};
    } else {
        kir_val r = kir_loop(l->k, KIR_SERIAL, b->tile, 0);
        blocks_at_row(b, lower_add(l, first, r));
        int64_t size = b->cut + 1 == c->nsum ? b->chunk : b->line[c->nsum - 1];
        uint32_t registers = size >= 4 * lower_lanes(l, bytes, 1) ? 4 : 1;
        opened = 1 + open_lines(b, at->chunk, size >= 4 ? lower_lanes(l, bytes, registers) : 0, &line, &last);
        kir_val place = lower_add(l, lower_mul(l, tile, b->tile), r), x = element(b, b->rows, last);
        prefetch(b, x, c->result[b->row[b->nrow - 1]].stride[b->rows]);
        if (b->shifted)
            x = kir_op2(l->k, KIR_XOR, 0, x, kir_int(l->k, KIR_I32, (int32_t)0x80808080));
        kir_store(l->k, buffer, lower_add(l, lower_mul(l, place, b->depth), line), x);
    }
    lower_close(l, opened + 1 + b->upright);
}

/* The kernel that brings all rows: a tile of a slab is an iteration. */
static void bring_before(struct blocks *b) {
    struct contraction *c = b->c;
    struct lower *l = c->l, before;
    int64_t dims[2 * IR_MAX_RANK + 2], all = 1;
    uint32_t axes[IR_MAX_RANK], n = batch_axes(b, b->rows, axes, dims), m = n;
    kir_val at[3 * IR_MAX_RANK + 2];
    for (uint32_t i = 0; i < n; i++)
        all *= dims[i];
    uint32_t temp = lower_new_temp(l, row_dtype(b), all * b->slabs * b->tiles * tile_elements(b));
    dims[m++] = b->slabs;
    dims[m++] = b->tiles;
    lower_begin_prologue(l, &before);
    c->l = &before;
    lower_unflatten(&before, lower_grid(&before, all * b->slabs * b->tiles), dims, m, at);
    struct block here = {.tile0 = at[n + 1], .tiles = kir_i64(before.k, 1), .slab = at[n]};
    int64_t size = quotient(b->line[b->cut], b->chunk);
    kir_val slab = at[n];
    here.chunk = lower_rem(&before, slab, size);
    slab = lower_div(&before, slab, size);
    lower_unflatten(&before, slab, b->line, b->cut, at + m);
    for (uint32_t i = 0; i < b->cut; i++)
        c->sum[i].at = at[m + i];
    here.batch[b->rows] = kir_i64(before.k, 0);
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(before.k, 0);
    for (uint32_t i = 0; i < n; i++) {
        c->result[axes[i]].at = at[i];
        here.batch[b->rows] = lower_add(&before, lower_mul(&before, here.batch[b->rows], dims[i]), at[i]);
    }
    (b->unit ? tile_bring_rows : bring_rows)(b, &here, lower_temp(&before, temp, KIR_OUT));
    kir_close(before.k);
    c->l = l;
    b->a = lower_temp(l, temp, KIR_IN);
}

/* The block's panels. */
static void bring_panels(struct blocks *b, const struct block *at) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val line, p, first, count;
    uint32_t opened;
    for (uint32_t i = 0; i < b->nrow; i++)
        c->result[b->row[i]].at = kir_i64(l->k, 0);
    if (c->result[b->v].stride[b->cols] == 1) {
        opened = open_lines(b, at->chunk, 0, &line, &first);
        count = kir_i64(l->k, 1);
        p = blocks_loop(l, at->panels);
    } else {
        p = blocks_loop(l, at->panels);
        opened = blocks_open_outer(b, at->chunk, &line, &first, &count);
    }
    pack_lines(b, &(struct lines){.buffer = b->b,
                                  .panel = lower_add(l, at->panel0, p),
                                  .place = lower_add(l, lower_mul(l, p, b->depth), line),
                                  .first = first,
                                  .count = count});
    lower_close(l, opened + 1);
}

/* ---- products --------------------------------------------------------------------------------- */

/* Where an element of a row of tile t lies, or the indices at which it is read. */
static void row_element(struct blocks *b, const struct block *at, kir_val t, kir_val r, kir_val line) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val tile = blocks_tile_place(b, at, t), place;
    if (b->direct) {
        blocks_at_row(b, lower_add(l, contract_tile_begin(l, lower_add(l, at->tile0, t), b->nrows, b->tile), r));
        for (uint32_t i = 0; i < c->nsum; i++)
            c->sum[i].at = kir_i64(l->k, 0);
        c->sum[b->cut].at = lower_add(l, lower_mul(l, at->chunk, b->chunk), line);
        return;
    }
    if (b->upright)
        place = lower_add(l, lower_mul(l, lower_add(l, lower_mul(l, tile, b->depth), line), b->stride), r);
    else
        place = lower_add(l, lower_mul(l, lower_add(l, lower_mul(l, tile, b->tile), r), b->depth), line);
    c->packed[b->rows] = (struct packed){true, b->a, place, {0}};
}

kir_val blocks_first_line(const struct blocks *b, const struct block *at, kir_val p) {
    const struct contraction *c = b->c;
    struct lower *l = c->l;
    if (b->here)
        return b->passing ? kir_i64(l->k, 0) : lower_mul(l, p, b->depth);
    kir_val panel = lower_add(l, lower_mul(l, at->batch[b->cols], b->panels), lower_add(l, at->panel0, p));
    kir_val slab = kir_i64(l->k, 0);
    for (uint32_t i = 0; i < b->cut; i++)
        slab = lower_add(l, lower_mul(l, slab, b->line[i]), c->sum[i].at);
    slab = lower_add(l, lower_mul(l, slab, b->line[b->cut]), lower_mul(l, at->chunk, b->chunk));
    return lower_add(l, lower_mul(l, panel, b->all), lower_mul(l, slab, b->inner));
}

/* A share of the next panel, as large as this tile's of the block: what was packed before is in a far cache, and a block is
   done with a panel in little more time than it takes to come from there. */
static void prefetch_panel(struct blocks *b, kir_val first, kir_val t, kir_val line) {
    struct lower *l = b->c->l;
    int64_t share = b->lanes / b->ntiles, last = l->k->buffers.v[b->b].count / b->lanes - b->depth;
    if (b->here || b->npanels == 1)
        return;
    kir_val next = kir_op2(l->k, KIR_MIN, 0, lower_add(l, first, kir_i64(l->k, b->all)), kir_i64(l->k, last));
    kir_val part = lower_mul(l, lower_add(l, lower_mul(l, t, b->depth), line), share > 1 ? share : 1);
    kir_prefetch(l->k, b->b, lower_add(l, lower_mul(l, next, b->lanes), part));
}

/* An element of the columns, which is packed in passing. */
static kir_val pass_on(struct blocks *b, const struct block *at, kir_val line, kir_val place) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    c->packed[b->cols].on = false;
    for (uint32_t i = 0; i < b->nrow; i++)
        c->result[b->row[i]].at = kir_i64(l->k, 0);
    c->sum[b->cut].at = lower_add(l, lower_mul(l, at->chunk, b->chunk), line);
    kir_val x = contract_factor(c, b->cols);
    contract_prefetch(c, contract_load(l->k, x), BLOCK_AHEAD_PASSING * c->sum[b->cut].stride[b->cols]);
    kir_store(l->k, b->b, place, x);
    return x;
}

static void multiply_lines(struct blocks *b, const struct block *at, kir_val p, kir_val t, kir_val lane, kir_val reg,
                           bool passing) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val line = blocks_loop(l, at->lines), first = blocks_first_line(b, at, p), column = lower_add(l, first, line);
    prefetch_panel(b, first, t, line);
    kir_val place = lower_add(l, lower_mul(l, column, b->lanes), lane), x = {0};
    if (passing)
        x = pass_on(b, at, line, place);
    c->packed[b->cols] = (struct packed){true, b->b, place, x};
    kir_val r = kir_loop(l->k, KIR_UNROLLED, b->tile, 0);
    row_element(b, at, t, r, line);
    contract_multiply_add(c, reg, r);
    lower_close(l, 2);
}

/* The waiting sum of a row of a tile. */
static kir_val sum_place(struct blocks *b, kir_val p, kir_val t, kir_val r, kir_val lane) {
    struct lower *l = b->c->l;
    kir_val at = lower_add(l, lower_mul(l, p, b->ntiles), t);
    at = lower_add(l, lower_mul(l, at, b->tile), r);
    return lower_add(l, lower_mul(l, at, b->lanes), lane);
}

static void finish_tile(struct blocks *b, kir_val first, kir_val reg) {
    struct lower *l = b->c->l;
    kir_val r = kir_loop(l->k, KIR_UNROLLED, b->tile, 0);
    blocks_at_row(b, lower_add(l, first, r));
    contract_finish(b->c, kir_get_reg(l->k, reg, r));
    kir_close(l->k);
}

kir_val blocks_lanes(struct blocks *b, const struct block *at, kir_val p) {
    struct lower *l = b->c->l;
    struct axis *v = &b->c->result[b->v];
    kir_val column = lower_mul(l, lower_add(l, at->panel0, p), b->lanes);
    kir_val lane = open_lanes(l, part_of(l, column, b->lanes, v->size), (uint32_t)b->lanes);
    v->at = lower_add(l, column, lane);
    return lane;
}

static void multiply_tile(struct blocks *b, const struct block *at, kir_val p, kir_val t) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    kir_val first = contract_tile_begin(l, lower_add(l, at->tile0, t), b->nrows, b->tile), lane = blocks_lanes(b, at, p), r;
    kir_val begin = b->shifted ? kir_load(l->k, b->shift, lane) : contract_zero(c), reg = kir_reg(l->k, begin, b->tile);
    if (b->slabs > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_GT, 0, at->slab, kir_i64(l->k, 0)));
        r = kir_loop(l->k, KIR_UNROLLED, b->tile, 0);
        kir_val sum = kir_load(l->k, b->sums, sum_place(b, p, t, r, lane));
        kir_set_reg(l->k, reg, r, b->shifted ? kir_op2(l->k, KIR_ADD, 0, sum, begin) : sum);
        lower_close(l, 2);
    }
    if (b->passing) {
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, t, kir_i64(l->k, 0)));
        multiply_lines(b, at, p, t, lane, reg, true);
        kir_else(l->k);
    }
    multiply_lines(b, at, p, t, lane, reg, false);
    if (b->passing)
        kir_close(l->k);
    if (b->slabs > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, at->slab, kir_i64(l->k, b->slabs - 1)));
        r = kir_loop(l->k, KIR_UNROLLED, b->tile, 0);
        kir_store(l->k, b->sums, sum_place(b, p, t, r, lane), kir_get_reg(l->k, reg, r));
        kir_close(l->k);
        kir_else(l->k);
        finish_tile(b, first, reg);
        kir_close(l->k);
    } else {
        finish_tile(b, first, reg);
    }
    kir_close(l->k);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* Of each column of panel p in a slab, what is to be taken off the sums of rows that have 128 more: 128 times its factors. */
static void sum_shift(struct blocks *b, const struct block *at, kir_val p) {
    struct lower *l = b->c->l;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b->lanes, (uint32_t)b->lanes), none = {0};
    kir_val reg = kir_reg(l->k, kir_int(l->k, KIR_I32, 0), 1);
    kir_val line = lower_add(l, blocks_first_line(b, at, p), blocks_loop(l, at->lines));
    kir_val y = kir_load(l->k, b->b, lower_add(l, lower_mul(l, line, b->lanes), lane));
    kir_set_reg(l->k, reg, none, kir_dot4(l->k, kir_int(l->k, KIR_I32, (int32_t)0x80808080), y, kir_get_reg(l->k, reg, none)));
    kir_close(l->k);
    kir_store(l->k, b->shift, lane, kir_op1(l->k, KIR_NEG, kir_get_reg(l->k, reg, none)));
    kir_close(l->k);
}

static void block(struct blocks *b, struct block *at) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    uint32_t opened = 0;
    at->slab = kir_i64(l->k, 0);
    for (uint32_t i = 0; i <= b->cut; i++) {
        int64_t n = i == b->cut ? quotient(b->line[i], b->chunk) : b->line[i];
        kir_val x = kir_loop(l->k, KIR_SERIAL, n, 0);
        *(i == b->cut ? &at->chunk : &c->sum[i].at) = x;
        at->slab = lower_add(l, lower_mul(l, at->slab, n), x);
        opened++;
    }
    at->lines = lower_mul(l, part_of(l, lower_mul(l, at->chunk, b->chunk), b->chunk, b->line[b->cut]), b->inner);
    if (!b->before && !b->direct)
        (b->unit ? tile_bring_rows : bring_rows)(b, at, b->a);
    if (b->here && !b->passing)
        bring_panels(b, at);
    kir_val p = blocks_loop(l, at->panels);
    if (b->shifted)
        sum_shift(b, at, p);
    kir_val t = blocks_loop(l, at->tiles);
    (b->unit ? tile_multiply : multiply_tile)(b, at, p, t);
    lower_close(l, opened + 2);
}

bool contract_blocks(struct contraction *c, uint32_t v) {
    struct lower *l = c->l;
    struct blocks b;
    if (!find(c, v, &b)) {
        c->group = 1;
        return false;
    }
    find_blocks(&b);
    l->word_bits = 4; /* packed lane by lane, of which each has another line: a word has what the next lines want */
    if (!b.here)
        pack_before(&b);
    if (b.before)
        bring_before(&b);
    int64_t dims[IR_MAX_RANK + 2], all = 1;
    kir_val at[IR_MAX_RANK + 2];
    uint32_t n = b.nbatch, axes[IR_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        dims[i] = c->result[b.batch[i]].size;
    dims[n] = quotient(b.panels, b.npanels);
    dims[n + 1] = quotient(b.tiles, b.ntiles);
    for (uint32_t i = 0; i < n + 2; i++)
        all *= dims[i];
    lower_unflatten(l, lower_grid(l, all), dims, n + 2, at);
    for (uint32_t i = 0; i < n; i++)
        c->result[b.batch[i]].at = at[i];
    struct block here = {.tile0 = lower_mul(l, at[n + 1], b.ntiles), .panel0 = lower_mul(l, at[n], b.npanels)};
    here.tiles = part_of(l, here.tile0, b.ntiles, b.tiles);
    here.panels = part_of(l, here.panel0, b.npanels, b.panels);
    for (uint32_t side = 0; side < 2; side++) {
        here.batch[side] = kir_i64(l->k, 0);
        n = batch_axes(&b, side, axes, dims);
        for (uint32_t i = 0; i < n; i++)
            here.batch[side] = lower_add(l, lower_mul(l, here.batch[side], dims[i]), c->result[axes[i]].at);
    }
    if (!b.before && !b.direct)
        b.a = kir_scratch(l->k, row_dtype(&b), b.ntiles * tile_elements(&b));
    if (b.here)
        b.b = kir_scratch(l->k, panel_dtype(&b), (b.passing ? 1 : b.npanels) * b.depth * b.lanes);
    if (b.slabs > 1 || b.unit)
        b.sums = kir_scratch(l->k, sum_dtype(&b), (b.slabs > 1 ? b.npanels * b.ntiles : 1) * b.tile * b.lanes);
    if (b.shifted)
        b.shift = kir_scratch(l->k, IR_I32_T, b.lanes);
    block(&b, &here);
    kir_close(l->k);
    c->packed[0].on = c->packed[1].on = false;
    c->group = 1;
    l->word_bits = 0;
    return true;
}
