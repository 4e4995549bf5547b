/* MAP: transposes. What is contiguous in the operand lies across the lines of the result: both are read and stored in tiles, of
 * which squares are transposed in registers (codegen/emit_transpose.c). Large tiles, whose results go past the caches, are
 * kept in scratch memory. Where whole lines are moved, it is in the order of the operand. */
#include "lower/lower.h"

enum {
    TRANSPOSE_TILE = TORTURED(TORTURE_TILE, 32),     /* rows of a tile, */
    TRANSPOSE_FAR_TILE = TORTURED(TORTURE_TILE, 64), /* where caches do not hold what is read and written, */
    TRANSPOSE_PART = TORTURED(1, 16),                /* vectors of each, */
    TRANSPOSE_SQUARE = 64,                           /* and ops that a square of it may take */
    TRANSPOSE_MOST = 4,
    TRANSPOSE_SEARCH = 64, /* ops between an output and a transpose */
    /* of results that go past the caches, by measurement: */
    TRANSPOSE_L2 = 4,      /* the part of the L2 cache that is a tile, or a block of lines; */
    TRANSPOSE_STORED = 8,  /* cache lines of a row of a tile that are stored one after the other, */
    TRANSPOSE_RUN = 1024,  /* bytes that are read one after the other, and stored where lines are moved; */
    TRANSPOSE_AHEAD = 2,   /* cache lines from what is read of a row to what is prefetched; */
    TRANSPOSE_EACH = 16,   /* tiles of a task, */
    TRANSPOSE_TASKS = 2,   /* unless that makes fewer tasks: times those of the target; */
    TRANSPOSE_UNEVEN = 16  /* and tasks where lines are moved, likewise */
};

/* The transposes that elements of a kernel are computed from. An operand is contiguous along a dimension that is not the last:
   the dimensions from `first` on are one line, as are those from `begin` to `other`, which is that dimension. */
struct transposed {
    const int64_t *order[TRANSPOSE_MOST]; /* permutations */
    ir_val v[TRANSPOSE_MOST], from[TRANSPOSE_MOST]; /* results, and what is read */
    uint32_t n;
    bool mixed;    /* something else is read, at other indices than those of the domain, */
    bool straight; /* or at these */
    uint32_t first, last, begin, other;
    int64_t line, rows; /* elements of both */
};

/* Finds the transposes that an element of a value is computed from at its own index. */
static void find_transposes(const struct lower *l, struct transposed *t, ir_val v, uint32_t *ops) {
    ir_op op = ir_val_get(l->m, v)->op;
    const struct ir_type_data *type = ir_val_type(l->m, v);
    size_t n;
    if (*ops == 0 || type->rank != l->kernel->rank ||
        memcmp(type->dims, l->kernel->dims, type->rank * sizeof *type->dims) != 0) {
        t->mixed = true;
        return;
    }
    if (fuse_is_constant(l->m, v) || lower_is_stored(l, v)) {
        t->straight |= !fuse_is_constant(l->m, v);
        return;
    }
    --*ops;
    if (ir_kind(l->m, op) == IR_TRANSPOSE) {
        ir_val from = ir_operand(l->m, op, 0);
        while (!fuse_is_constant(l->m, from) && !lower_is_stored(l, from) && fuse_is_alias(l->m, ir_val_get(l->m, from)->op))
            from = ir_operand(l->m, ir_val_get(l->m, from)->op, 0);
        t->mixed |= t->n == TRANSPOSE_MOST || !(fuse_is_constant(l->m, from) || lower_is_stored(l, from));
        if (t->n < TRANSPOSE_MOST && (t->n == 0 || !IR_SAME(t->v[t->n - 1], v))) {
            t->v[t->n] = v;
            t->from[t->n] = from;
            t->order[t->n++] = ir_prop_i64s(l->m, op, IR_TRANSPOSE_permutation, &n);
        }
        return;
    }
    t->mixed |= fuse_class(ir_kind(l->m, op)) != FUSE_ELEMENT;
    for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands && fuse_class(ir_kind(l->m, op)) == FUSE_ELEMENT; i++)
        find_transposes(l, t, ir_operand(l->m, op, i), ops);
}

/* Whether dimensions i - 1 and i of the domain are one in all that is read, too. */
static bool continues(const struct transposed *t, uint32_t i) {
    bool all = !t->mixed;
    for (uint32_t k = 0; k < t->n; k++)
        all &= t->order[k][i] == t->order[k][i - 1] + 1;
    return all;
}

static bool is_transposed(const struct lower *l, struct transposed *t) {
    const int64_t *dims = l->kernel->dims;
    uint32_t ops = TRANSPOSE_SEARCH, rank = l->kernel->rank;
    bool found = false;
    *t = (struct transposed){.line = 1, .rows = 1};
    for (uint32_t i = 0; i < rank; i++)
        t->last = dims[i] != 1 ? i : t->last;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++)
        find_transposes(l, t, l->kernel->outs.v[i], &ops);
    for (uint32_t k = 0; k < t->n && !found; k++)
        for (uint32_t i = 0; i < rank && !found; i++) {
            found = t->order[k][i] == (int64_t)rank - 1 && i != t->last;
            t->other = i;
        }
    for (t->first = t->last; found && t->first > 0 && t->first - 1 != t->other && continues(t, t->first);)
        t->first--;
    for (t->begin = t->other; found && t->begin > 0 && t->begin - 1 != t->last && continues(t, t->begin);)
        t->begin--;
    for (uint32_t i = t->first; i <= t->last; i++)
        t->line *= dims[i];
    for (uint32_t i = t->begin; i <= t->other; i++)
        t->rows *= dims[i];
    return found && t->line >= 8 && t->rows >= 8;
}

/* Stores `at_once` rows from `row` on, `lanes` elements of each from `column` on. */
static void store_rows(struct lower *l, const struct transposed *t, struct index *at, kir_val column, int64_t lanes,
                       kir_val row, int64_t at_once) {
    const int64_t *dims = l->kernel->dims;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, lanes, lower_lanes(l, lower_bytes(l), 1));
    lower_unflatten(l, lower_add(l, column, lane), dims + t->first, t->last - t->first + 1, at->at + t->first);
    for (int64_t i = 0; i < at_once; i++) {
        kir_val here = lower_add(l, row, kir_i64(l->k, i));
        lower_unflatten(l, here, dims + t->begin, t->other - t->begin + 1, at->at + t->begin);
        lower_store_outputs(l, at);
    }
    kir_close(l->k);
}

/* Stores `count` rows from `row` on: as many at once as make a square, which the code generator transposes
   (emit_transpose.c); of the rest, four. */
static void store_squares(struct lower *l, const struct transposed *t, struct index *at, kir_val column, int64_t lanes,
                          kir_val row, kir_val count) {
    int64_t square = (int64_t)lower_lanes(l, lower_bytes(l), 1), code = (int64_t)l->kernel->nops + l->kernel->code_size_cost;
    square = square * 4 == l->target->vector_bytes ? square : 1;
    for (int64_t at_once = square; at_once; at_once = lower_next_square(at_once)) {
        int64_t known;
        kir_val n = lower_div(l, count, at_once);
        if ((at_once > 1 && at_once * code > TRANSPOSE_SQUARE) || (kir_is_const(l->k, n, &known) && known == 0))
            continue;
        kir_val i = kir_loop_to(l->k, KIR_SERIAL, n, 0);
        store_rows(l, t, at, column, lanes, lower_add(l, row, lower_mul(l, i, at_once)), at_once);
        kir_close(l->k);
        row = lower_add(l, row, lower_mul(l, n, at_once));
        count = lower_rem(l, count, at_once);
    }
}

/* ---- tiles ------------------------------------------------------------------------------------ */

/* A tile: `rows` rows from `row` on, `lanes` elements of each from `begin` on. */
struct place {
    struct index at;
    kir_val row, rows, begin, lanes;
};

/* The number of tiles of `rows` rows by parts of the line, and by dimension: `outer`, whose last one is rows. So tiles read on
   where the one before ends. */
static int64_t count_tiles(const struct lower *l, const struct transposed *t, int64_t rows, int64_t part, int64_t *outer) {
    uint32_t rank = l->kernel->rank, n = 0;
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (i != t->other)
            outer[n++] = (i >= t->first && i <= t->last) || (i >= t->begin && i < t->other) ? 1 : l->kernel->dims[i];
    outer[n++] = (t->line + part - 1) / part;
    outer[n] = (t->rows + rows - 1) / rows;
    for (uint32_t i = 0; i <= rank; i++)
        count *= outer[i];
    return count;
}

static void place_tile(struct lower *l, const struct transposed *t, int64_t rows, int64_t part, const int64_t *outer,
                       kir_val number, struct place *out) {
    uint32_t rank = l->kernel->rank;
    kir_val at[IR_MAX_RANK + 1];
    lower_unflatten(l, number, outer, rank + 1, at);
    *out = (struct place){.at.n = rank};
    for (uint32_t i = 0; i < rank; i++)
        out->at.at[i] = at[i < t->other ? i : i == t->other ? rank : i - 1];
    out->row = lower_mul(l, at[rank], rows);
    out->rows = lower_extent(l, out->row, rows, t->rows);
    out->begin = lower_mul(l, at[rank - 1], part);
    out->lanes = lower_extent(l, out->begin, part, t->line);
}

/* Rows of a tile: more read longer parts of lines from memory, but their results are in fewer sets of the L1 cache. */
static int64_t tile_rows(const struct lower *l) {
    size_t bytes = 0, most = l->target->nontemporal_bytes;
    for (uint32_t i = 0; i < l->kernel->outs.n && most; i++)
        if (!ir_type_bytes(ir_val_type(l->m, l->kernel->outs.v[i]), &bytes) || bytes > most / 2)
            return TRANSPOSE_FAR_TILE;
    return TRANSPOSE_TILE;
}

/* Tiles of rows by parts of the line, so that all of a cache line that is read across rows is used while it is cached. What is
   stored of a row at once is a cache line, where a vector is less: stores past the caches are of whole lines. */
static void tiled_loops(struct lower *l, const struct transposed *t) {
    int64_t outer[IR_MAX_RANK + 1], width = (int64_t)lower_lanes(l, lower_bytes(l), 1), part = TRANSPOSE_PART * width;
    int64_t stored = (int64_t)(l->target->line_bytes / lower_bytes(l)), tile = tile_rows(l);
    struct place p;
    width = stored > width && part % stored == 0 ? stored : width;
    l->splits_lines = (size_t)t->line * lower_bytes(l) % l->target->line_bytes != 0;
    kir_val number = lower_grid(l, count_tiles(l, t, tile, part, outer));
    place_tile(l, t, tile, part, outer, number, &p);
    kir_val column = kir_loop_to(l->k, KIR_SERIAL, lower_div(l, p.lanes, width), 0);
    store_squares(l, t, &p.at, lower_add(l, p.begin, lower_mul(l, column, width)), width, p.row, p.rows);
    kir_close(l->k);
    if (t->line % width) {
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, p.begin, kir_i64(l->k, (t->line - 1) / part * part)));
        store_squares(l, t, &p.at, kir_i64(l->k, t->line / width * width), t->line % width, p.row, p.rows);
        kir_close(l->k);
    }
    kir_close(l->k);
    l->splits_lines = false;
}

/* ---- results that go past the caches ----------------------------------------------------------- */

/* Whether all results go past the caches, in whole cache lines where each of their lines has so many elements; *bytes: of the
   smallest element. */
static bool goes_past_caches(const struct lower *l, int64_t line, size_t *bytes) {
    size_t least = TORTURED(1, l->target->nontemporal_bytes), all;
    bool past = !l->native && !l->kernel->nested && l->target->nontemporal_bytes && l->kernel->outs.n;
    *bytes = SIZE_MAX;
    for (uint32_t i = 0; i < l->kernel->outs.n && past; i++) {
        const struct ir_type_data *type = ir_val_type(l->m, l->kernel->outs.v[i]);
        size_t element = ir_dtype_get(type->dtype)->bytes;
        past = !lower_is_complex(type->dtype) && ir_dtype_get(type->dtype)->bits >= 8 && ir_type_bytes(type, &all) &&
               all >= least && (size_t)line * element % l->target->line_bytes == 0;
        *bytes = element < *bytes ? element : *bytes;
    }
    return past;
}

/* Tiles in scratch memory. DRAM is read fast in long parts of rows of the operand, and written fast in long parts of rows of
   the result, and at best both at once: while one tile is read and transposed into scratch memory, the tile before is copied
   from there. A strip of a tile in scratch memory is what one vector of its lanes holds: the vectors of all rows. */
struct staged {
    const struct transposed *t;
    uint32_t buffer;
    int64_t square;               /* lanes of a vector, and rows that are loaded at once */
    int64_t part, rows;           /* of a tile: elements of the line, rows */
    int64_t block;                /* rows that are transposed before others are copied, */
    int64_t copied;               /* and how many others */
    int64_t strip, tile;          /* elements of both in scratch memory */
    int64_t outer[IR_MAX_RANK + 1], tiles;
};

/* Finds the sizes of tiles; false where there are none that suit. */
static bool size_tiles(const struct lower *l, struct staged *s) {
    const struct transposed *t = s->t;
    const struct ir_dtype_info *d = ir_dtype_get(ir_val_type(l->m, t->v[0])->dtype);
    int64_t line = l->target->line_bytes, element = d->bytes;
    size_t least;
    s->square = (int64_t)lower_lanes(l, lower_bytes(l), 1);
    if (!goes_past_caches(l, t->line, &least) || t->n != 1 || d->cls == IR_COMPLEX_CLASS || d->bits < 8 ||
        element > (int64_t)lower_bytes(l) || !(fuse_is_constant(l->m, t->from[0]) || lower_is_stored(l, t->from[0])))
        return false;
    s->part = TRANSPOSE_STORED * line / (int64_t)least;
    int64_t held = (int64_t)l->target->l2_bytes / TRANSPOSE_L2 / element, most = held / s->part;
    if (most * element < TRANSPOSE_RUN || t->rows <= 2 * most) /* rows that a tile has as a whole follow one another */
        s->part /= 2;
    while (s->part > t->line && s->part > s->square)
        s->part /= 2;
    s->block = s->square > line / element ? s->square : line / element;
    s->block = s->block > s->part / s->square ? s->block : s->part / s->square;
    s->copied = s->square * s->block / s->part;
    most = TORTURED(s->block, held / s->part / s->block * s->block);
    if (t->line < s->part || t->rows < s->block || most < s->block)
        return false;
    int64_t n = (t->rows - 1) / most + 1, rows = (t->rows - 1) / n + 1;
    s->rows = (rows - 1) / s->block * s->block + s->block;
    s->strip = s->rows * s->square + line / element; /* the strips of a row are not in one set of the L1 cache */
    s->tile = s->part / s->square * s->strip;
    s->tiles = count_tiles(l, t, s->rows, s->part, s->outer);
    return true;
}

static kir_val in_scratch(struct lower *l, const struct staged *s, kir_val tile, kir_val strip, kir_val row, kir_val lane) {
    kir_val at = lower_add(l, tile, lower_mul(l, strip, s->strip));
    return lower_add(l, lower_add(l, at, lower_mul(l, row, s->square)), lane);
}

/* Transposes `n` rows of a strip, from `row` of the tile on, into scratch memory from `tile` on. */
static void stage_rows(struct lower *l, const struct staged *s, struct place *p, kir_val tile, kir_val strip, kir_val row,
                       int64_t n, bool prefetch) {
    const struct transposed *t = s->t;
    const int64_t *dims = l->kernel->dims;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, s->square, (uint32_t)s->square);
    kir_val column = lower_add(l, lower_add(l, p->begin, lower_mul(l, strip, s->square)), lane);
    lower_unflatten(l, column, dims + t->first, t->last - t->first + 1, p->at.at + t->first);
    for (int64_t i = 0; i < n; i++) {
        kir_val here = lower_add(l, row, kir_i64(l->k, i));
        lower_unflatten(l, lower_add(l, p->row, here), dims + t->begin, t->other - t->begin + 1, p->at.at + t->begin);
        kir_val x = lower_value(l, t->v[0], &p->at).re;
        struct kir_node load = *kir_get(l->k, x); /* a copy: building moves the nodes */
        if (prefetch && i == 0 && load.op == KIR_LOAD) {
            int64_t ahead = TRANSPOSE_AHEAD * l->target->line_bytes / ir_dtype_get(l->k->buffers.v[load.of].dtype)->bytes;
            kir_prefetch(l->k, load.of, lower_add(l, load.arg[0], kir_i64(l->k, ahead)));
        }
        kir_store(l->k, s->buffer, in_scratch(l, s, tile, strip, here, lane), x);
    }
    kir_close(l->k);
}

/* Transposes a block of rows of a strip, those that the tile has, in squares; of the last rows, single ones. */
static void stage_block(struct lower *l, const struct staged *s, struct place *p, kir_val tile, kir_val strip, kir_val block) {
    kir_val row = lower_mul(l, block, s->block);
    for (int64_t i = 0; i < s->block; i += s->square) {
        kir_val here = lower_add(l, row, kir_i64(l->k, i)), end = lower_add(l, here, kir_i64(l->k, s->square));
        if (s->t->rows % s->rows)
            kir_if(l->k, kir_cmp(l->k, KIR_LE, 0, end, p->rows));
        stage_rows(l, s, p, tile, strip, here, s->square, i == 0);
        if (s->t->rows % s->rows == 0)
            continue;
        if (s->t->rows % s->square) {
            kir_else(l->k);
            kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, here, p->rows));
            kir_val one = kir_loop(l->k, KIR_SERIAL, s->t->rows % s->square, 0);
            stage_rows(l, s, p, tile, strip, lower_add(l, here, one), 1, false);
            lower_close(l, 2);
        }
        kir_close(l->k);
    }
}

/* Computes and stores the results of a row of a tile: of `strips` strips, or of one, which is given. */
static void store_staged(struct lower *l, const struct staged *s, struct place *p, kir_val tile, kir_val row, kir_val strip,
                         int64_t strips) {
    const struct transposed *t = s->t;
    const int64_t *dims = l->kernel->dims;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, s->square, (uint32_t)s->square);
    lower_unflatten(l, lower_add(l, p->row, row), dims + t->begin, t->other - t->begin + 1, p->at.at + t->begin);
    for (int64_t i = 0; i < strips; i++) {
        kir_val here = lower_add(l, strip, kir_i64(l->k, i));
        kir_val column = lower_add(l, lower_add(l, p->begin, lower_mul(l, here, s->square)), lane);
        lower_unflatten(l, column, dims + t->first, t->last - t->first + 1, p->at.at + t->first);
        struct elem x = {kir_load(l->k, s->buffer, in_scratch(l, s, tile, here, row, lane)), {0}};
        lower_define(l, t->v[0], &p->at, x);
        lower_store_outputs(l, &p->at);
    }
    kir_close(l->k);
}

/* The same for the rows that are copied after a block: those that the tile has. */
static void store_block(struct lower *l, const struct staged *s, struct place *p, kir_val tile, kir_val number) {
    int64_t strips = s->part / s->square, code = (int64_t)l->kernel->nops + l->kernel->code_size_cost;
    kir_val zero = kir_i64(l->k, 0), whole = kir_cmp(l->k, KIR_EQ, 0, p->lanes, kir_i64(l->k, s->part));
    bool unrolled = strips * code <= TRANSPOSE_SQUARE, parts = s->t->line % s->part || !unrolled;
    kir_val i = kir_loop(l->k, KIR_SERIAL, s->copied, 0), row = lower_add(l, lower_mul(l, number, s->copied), i);
    if (s->t->rows % s->rows)
        kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, row, p->rows));
    if (unrolled && parts)
        kir_if(l->k, whole);
    if (unrolled)
        store_staged(l, s, p, tile, row, zero, strips);
    if (unrolled && parts)
        kir_else(l->k);
    if (parts) {
        kir_val strip = kir_loop_to(l->k, KIR_SERIAL, lower_div(l, p->lanes, s->square), 0);
        store_staged(l, s, p, tile, row, strip, 1);
        kir_close(l->k);
    }
    lower_close(l, 1u + (s->t->rows % s->rows != 0) + (unrolled && parts));
}

static bool staged_loops(struct lower *l, const struct transposed *t) {
    struct staged s = {.t = t};
    if (!size_tiles(l, &s))
        return false;
    int64_t each = s.tiles / (TRANSPOSE_TASKS * l->target->tasks), blocks = s.rows / s.block, strips = s.part / s.square;
    each = each < 1 ? 1 : each > TRANSPOSE_EACH ? TRANSPOSE_EACH : each;
    s.buffer = kir_scratch(l->k, ir_val_type(l->m, t->v[0])->dtype, 2 * s.tile);
    struct place in, out;
    kir_val first = lower_mul(l, lower_grid(l, (s.tiles - 1) / each + 1), each), n = lower_extent(l, first, each, s.tiles);
    kir_val step = kir_loop_to(l->k, KIR_SERIAL, lower_add(l, n, kir_i64(l->k, 1)), 0), number = lower_add(l, first, step);
    kir_val reads = kir_cmp(l->k, KIR_LT, 0, step, n), stores = kir_cmp(l->k, KIR_GT, 0, step, kir_i64(l->k, 0));
    kir_val even = lower_mul(l, lower_rem(l, step, 2), s.tile);
    kir_val odd = kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, s.tile), even);
    place_tile(l, t, s.rows, s.part, s.outer, number, &in);
    place_tile(l, t, s.rows, s.part, s.outer, lower_add(l, number, kir_i64(l->k, -1)), &out);
    kir_val strip = kir_loop(l->k, KIR_SERIAL, strips, 0);
    if (t->line % s.part)
        reads = kir_op2(l->k, KIR_AND, 0, reads, kir_cmp(l->k, KIR_LT, 0, lower_mul(l, strip, s.square), in.lanes));
    kir_val block = kir_loop(l->k, KIR_SERIAL, blocks, 0);
    kir_if(l->k, reads);
    stage_block(l, &s, &in, even, strip, block);
    kir_close(l->k);
    kir_if(l->k, stores);
    store_block(l, &s, &out, odd, lower_add(l, lower_mul(l, strip, blocks), block));
    lower_close(l, 5);
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------ */

/* A transpose that moves whole lines. Those that follow one another in the operand are read one after the other; so that lines
   of the result are stored in long parts, too, a block has some that follow one another there. */
struct lines {
    uint32_t order[IR_MAX_RANK]; /* the dimensions in the order of the operand, */
    uint32_t next;               /* that along which lines of the result follow one another, */
    uint32_t first, ninner;      /* the first one of a line, and how many are between `next` and that in the operand */
    int64_t line, inner;         /* elements of a line; lines that are between those of a block, in each step of `next` */
    int64_t at_once;             /* steps of a block */
    bool prefetch;               /* the next block */
};

static bool find_lines(const struct lower *l, const struct transposed *t, struct lines *s) {
    const int64_t *dims = l->kernel->dims;
    size_t least, most = l->target->l2_bytes / TRANSPOSE_L2;
    *s = (struct lines){.first = l->kernel->rank, .line = 1, .inner = 1};
    if (t->n != 1 || t->mixed || t->straight)
        return false;
    for (; s->first > 0 && t->order[0][s->first - 1] == (int64_t)s->first - 1; s->first--)
        s->line *= dims[s->first - 1];
    for (uint32_t i = 0; i < s->first; i++) {
        s->order[t->order[0][i]] = i;
        s->next = dims[i] != 1 ? i : s->next;
    }
    if (s->first == 0 || !goes_past_caches(l, s->line, &least))
        return false;
    for (; s->order[s->first - 1 - s->ninner] != s->next; s->ninner++)
        s->inner *= dims[s->order[s->first - 1 - s->ninner]];
    int64_t bytes = s->line * ir_dtype_get(ir_val_type(l->m, t->v[0])->dtype)->bytes, step = bytes * s->inner;
    s->at_once = (TRANSPOSE_RUN - 1) / bytes + 1;
    s->at_once = s->at_once * step <= (int64_t)most ? s->at_once : step <= (int64_t)most ? (int64_t)most / step : 1;
    s->prefetch = s->at_once * step <= (int64_t)most && bytes <= TRANSPOSE_RUN && !fuse_is_constant(l->m, t->from[0]);
    return s->inner > 1;
}

/* Prefetches line `number` of a block that begins with line `first` of the operand. */
static void prefetch_line(struct lower *l, const struct transposed *t, const struct lines *s, kir_val first, kir_val number) {
    uint32_t buffer = lower_param(l, t->from[0], KIR_IN);
    int64_t step = (int64_t)l->target->line_bytes / ir_dtype_get(l->k->buffers.v[buffer].dtype)->bytes;
    kir_val at = lower_mul(l, lower_add(l, first, number), s->line);
    for (int64_t i = 0; i < s->line; i += step)
        kir_prefetch(l->k, buffer, lower_add(l, at, kir_i64(l->k, i)));
}

static bool line_loops(struct lower *l, const struct transposed *t) {
    const int64_t *dims = l->kernel->dims;
    struct lines s;
    if (!find_lines(l, t, &s))
        return false;
    int64_t outer[IR_MAX_RANK + 1], count = 1, least = TRANSPOSE_TASKS * l->target->tasks;
    uint32_t n = s.first - 1 - s.ninner; /* dimensions outside of the blocks */
    for (uint32_t i = 0; i < n; i++)
        count *= outer[i] = dims[s.order[i]];
    while (s.at_once > 1 && count * ((dims[s.next] - 1) / s.at_once + 1) < least)
        s.at_once /= 2;
    int64_t blocks = outer[n] = (dims[s.next] - 1) / s.at_once + 1;
    count *= blocks;
    if (count < TORTURED(1, least))
        return false;
    for (uint32_t i = 0; i < s.ninner; i++)
        outer[n + 1 + i] = dims[s.order[n + 1 + i]];
    int64_t each = count / (TRANSPOSE_UNEVEN * l->target->tasks);
    each = each < 1 ? 1 : each;
    struct index at = {.n = l->kernel->rank};
    kir_val out[IR_MAX_RANK];
    kir_val block = lower_chunk_loop(l, lower_mul(l, lower_grid(l, (count - 1) / each + 1), each), each, count, KIR_SERIAL, 0);
    lower_unflatten(l, block, outer, n + 1, out);
    kir_val row = lower_mul(l, out[n], s.at_once), rows = lower_extent(l, row, s.at_once, dims[s.next]);
    kir_val i = kir_loop(l->k, KIR_SERIAL, s.inner, 0), k = kir_loop_to(l->k, KIR_SERIAL, rows, 0);
    lower_unflatten(l, i, outer + n + 1, s.ninner, out + n + 1);
    out[n] = lower_add(l, row, k);
    for (uint32_t d = 0; d < s.first; d++)
        at.at[s.order[d]] = out[d];
    if (s.prefetch) {
        kir_val end = lower_add(l, lower_mul(l, lower_div(l, block, blocks), dims[s.next]), lower_add(l, row, rows));
        prefetch_line(l, t, &s, lower_mul(l, end, s.inner), lower_add(l, lower_mul(l, i, s.at_once), k));
    }
    kir_val lane = kir_loop(l->k, KIR_VECTOR, s.line, lower_lanes(l, lower_bytes(l), 2));
    lower_unflatten(l, lane, dims + s.first, l->kernel->rank - s.first, at.at + s.first);
    lower_store_outputs(l, &at);
    lower_close(l, 5);
    return true;
}

bool lower_transposes(struct lower *l) {
    struct transposed t;
    if (!is_transposed(l, &t))
        return line_loops(l, &t);
    if (!staged_loops(l, &t))
        tiled_loops(l, &t);
    return true;
}
