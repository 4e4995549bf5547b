/* Convolutions of groups of few features, such as depthwise ones: every lane has an input channel of its own, so that vectors
 * of the input are multiplied by vectors of weights. Lanes run along the features where they are contiguous in the result
 * (NHWC); else along the last spatial dimension (NCHW), and weights are the same in all of them.
 *
 * An iteration of the grid takes some units, such as rows, of some columns, which are short parts of the axis of lanes. Where
 * lanes are features, a column is a cache line, and each takes all units before the next one is begun, so that what windows of
 * neighbouring units share stays in the L1 cache; and there are rather more parts of the features than of the units, whose ends
 * are read twice. Where lines of positions are too long for that, a tile takes all units instead. Where lanes are positions, a
 * column is a vector, the last of which overlaps the one before.
 *
 * A register tile is a line of output positions along one more spatial dimension. Under one tap of the other dimensions, each
 * vector of the input that the tile's windows cover is loaded once and multiplied for all of the windows that it is in. The
 * input is read in place: at either end of the dimension, and of that of lanes, the loop body is a copy in which products of
 * padding are left out, or lanes masked. */
#include "lower/contract.h"

enum {
    DEPTHWISE_TILE = TORTURED(TORTURE_TILE, 14), /* positions of a register tile, at most, */
    DEPTHWISE_SUMS = 4,                          /* unless there are fewer registers than for these, */
    DEPTHWISE_PRODUCTS = 144,                    /* and products of it under one tap of the other dimensions */
    DEPTHWISE_TAPS = TORTURED(2, 8),             /* of the dimension of lanes that are unrolled, at most, */
    DEPTHWISE_TOGETHER = 2,                      /* and that are taken together, at most */
    DEPTHWISE_UNITS = TORTURED(1, 4),            /* of a block, unless there would be too few tasks */
    DEPTHWISE_WORK = TORTURED(TORTURE_PART, 1 << 13)
};

#define DEPTHWISE_FAR 0.75 /* of all L2 caches: larger inputs with their results are prefetched */

/* An axis of `all` elements in `n` parts of one size. Windows of parts [before, after) do not leave the input. */
struct line {
    uint32_t axis;
    int64_t all, size, n, before, after;
};

struct depthwise {
    struct contraction *c;
    const struct conv *v;
    struct contract_input input;
    bool planes;                /* lanes run along the last spatial dimension */
    uint32_t along;             /* the spatial dimension of tiles */
    struct line tiles, columns; /* parts of it, and of the axis of lanes */
    int64_t lanes;              /* of a vector */
    int64_t parts, part;        /* blocks of the axis of lanes, columns of a block */
    int64_t together;           /* taps of the dimension of lanes, of which loads are shared */
    bool prefetches;            /* what is read next */
    bool downward;              /* a tile takes all units before the next one is begun */
    struct contract_axes units; /* the axes of the result but those of lanes and tiles */
    int64_t block;              /* units of a block */
    bool packed;                /* weights are read from `weights`: lines of the sum by features */
    uint32_t weights;
};

/* ---- weights ---------------------------------------------------------------------------------- */

/* Packs weights that are not contiguous along the features. */
static void pack_weights(struct depthwise *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    struct contract_kernel prologue;
    int64_t dims[IR_MAX_RANK], lines = 1;
    kir_val at[IR_MAX_RANK];
    for (uint32_t i = 0; i < c->nsum; i++)
        lines *= dims[i] = c->sum[i].size;
    uint32_t temp = lower_new_temp(c->l, contract_acc_dtype(c), lines * v->features);
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    uint32_t to = lower_temp(l, temp, KIR_OUT);
    kir_val line = kir_loop(l->k, KIR_SERIAL, lines, 0);
    lower_unflatten(l, line, dims, c->nsum, at);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = at[i];
    kir_val lane = kir_loop(l->k, KIR_VECTOR, v->features, (uint32_t)contract_vector(c));
    c->result[v->feature].at = lane;
    kir_store(l->k, to, lower_add(l, lower_mul(l, line, v->features), lane), contract_factor(c, 1));
    lower_close(l, 2);
    contract_prologue_end(c, &prologue);
    d->weights = lower_temp(c->l, temp, KIR_IN);
}

/* The factor of the weights at the axes of the sum. */
static kir_val weight(struct depthwise *d) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    if (!d->packed)
        return contract_factor(c, 1);
    kir_val line = kir_i64(l->k, 0);
    for (uint32_t i = 0; i < c->nsum; i++)
        line = lower_add(l, lower_mul(l, line, c->sum[i].size), c->sum[i].at);
    return kir_load(l->k, d->weights, lower_add(l, lower_mul(l, line, d->v->features), c->result[d->v->feature].at));
}

/* ---- the tile --------------------------------------------------------------------------------- */

/* A tile of a column. */
struct place {
    kir_val first, reg;  /* its first position, its sums */
    kir_val begin, count; /* elements of the axis of lanes */
    bool inside, within; /* its windows do not leave the input along the dimension of tiles; along that of lanes */
};

/* The input's element at position q of the dimension of tiles; 0 outside. `at`: its index but for that dimension. `base`:
   linear index of position 0. */
static kir_val input(struct depthwise *d, const struct place *t, struct index *at, kir_val base, int64_t q, kir_val guard) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    const struct conv_dim *w = &d->v->dim[d->along];
    kir_val none = {0}, position = lower_add(l, lower_mul(l, t->first, w->stride), kir_i64(l->k, q)), own = {0};
    at->at[w->in] = lower_conv_position(l, d->v, d->along, position, w->image - 1, &own);
    int64_t bits;
    if (t->inside)
        own = none;
    if (own.i && kir_is_const(l->k, own, &bits)) {
        if (!bits)
            return none;
        own = none;
    }
    if (own.i)
        guard = guard.i ? kir_op2(l->k, KIR_AND, 0, guard, own) : own;
    if (d->input.plain && w->base == 1) {
        const struct kir_node load = *kir_get(l->k, base); /* a copy: building moves the nodes */
        uint32_t buffer = load.of;
        kir_val place = lower_add(l, load.arg[0], kir_i64(l->k, q * d->input.steps.position[d->along]));
        return guard.i ? kir_load_if(l->k, buffer, place, guard, contract_zero(c)) : kir_load(l->k, buffer, place);
    }
    l->guard = guard;
    kir_val x = contract_input(c, at);
    l->guard = none;
    return guard.i ? kir_select(l->k, guard, x, contract_zero(c)) : x;
}

/* Taps of the dimension of lanes, and the positions and guards of lanes under them. */
struct taps {
    int64_t n;
    kir_val tap[DEPTHWISE_TOGETHER], at[DEPTHWISE_TOGETHER], guard[DEPTHWISE_TOGETHER];
};

static void set_tap(struct depthwise *d, const struct taps *taps, int64_t i, struct index *at) {
    uint32_t last = d->v->n - 1;
    if (!d->planes)
        return;
    d->c->sum[last].at = taps->tap[i];
    at->at[d->v->dim[last].in] = taps->at[i];
}

/* Whether position q is under a tap of the window at position r of a tile. */
static bool is_under(const struct conv_dim *w, int64_t q, int64_t r, int64_t *tap) {
    int64_t k = q - r * w->stride;
    *tap = k / w->dilation;
    return k >= 0 && k % w->dilation == 0 && *tap < w->window;
}

/* The products under one tap of the other dimensions: every position of the input that windows cover, in order. */
static void multiply_line(struct depthwise *d, const struct place *t, struct index *at, const struct taps *taps) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    const struct conv_dim *w = &d->v->dim[d->along];
    kir_val weights[DEPTHWISE_TOGETHER][DEPTHWISE_PRODUCTS], base[DEPTHWISE_TOGETHER] = {{0}}, x[DEPTHWISE_TOGETHER];
    int64_t k;
    for (int64_t i = 0; i < taps->n; i++) {
        set_tap(d, taps, i, at);
        for (k = 0; k < w->window; k++) {
            c->sum[d->along].at = kir_i64(l->k, k);
            weights[i][k] = weight(d);
        }
        if (d->input.plain && w->base == 1) { /* a load for its index: that of position 0, which need not exist */
            kir_val q = lower_mul(l, t->first, w->stride);
            at->at[w->in] = w->size == 1 ? kir_i64(l->k, 0) : lower_add(l, q, kir_i64(l->k, -w->low)); /* 1: the step is 0 */
            base[i] = contract_input(c, at);
        }
    }
    for (int64_t q = 0; q <= (d->tiles.size - 1) * w->stride + (w->window - 1) * w->dilation; q++) {
        bool used = false;
        for (int64_t r = 0; r < d->tiles.size; r++)
            used |= is_under(w, q, r, &k);
        for (int64_t i = 0; i < taps->n && used; i++) {
            set_tap(d, taps, i, at);
            x[i] = input(d, t, at, base[i], q, taps->guard[i]);
        }
        for (int64_t i = 0; i < taps->n && used; i++)
            for (int64_t r = 0; r < d->tiles.size; r++) {
                if (!x[i].i || !is_under(w, q, r, &k))
                    continue;
                kir_val sum = kir_i64(l->k, r);
                kir_set_reg(l->k, t->reg, sum, kir_fma(l->k, x[i], weights[i][k], kir_get_reg(l->k, t->reg, sum)));
            }
    }
}

/* The products under n taps of the dimension of lanes, where these are positions. */
static void multiply_taps(struct depthwise *d, const struct place *t, struct index *at, kir_val guard, kir_val first,
                          int64_t n) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    struct lower *l = c->l;
    struct taps taps = {.n = n};
    kir_val channel;
    int64_t bits;
    for (int64_t i = 0; i < n && d->planes; i++) {
        const struct conv_dim *w = &v->dim[v->n - 1];
        taps.tap[i] = lower_add(l, first, kir_i64(l->k, i));
        kir_val q = lower_add(l, lower_mul(l, c->result[w->axis].at, w->stride), lower_mul(l, taps.tap[i], w->dilation));
        taps.at[i] = lower_conv_position(l, v, v->n - 1, q, w->image - 1, &taps.guard[i]);
        if (t->within || (taps.guard[i].i && kir_is_const(l->k, taps.guard[i], &bits) && bits))
            taps.guard[i] = (kir_val){0};
    }
    channel = c->sum[v->n].at = kir_loop(l->k, KIR_SERIAL, v->channels, 0);
    kir_val group = lower_div(l, c->result[v->feature].at, v->features / v->groups);
    at->at[v->in_feature] = lower_add(l, lower_mul(l, group, v->channels), channel);
    bool always = !guard.i || (kir_is_const(l->k, guard, &bits) && bits);
    if (!always)
        kir_if(l->k, guard);
    multiply_line(d, t, at, &taps);
    lower_close(l, 1 + !always);
}

/* All products of a tile. Taps of the dimension of lanes are unrolled where they differ in which lanes are padding, or share
   loads: then pairs of them begin where the input does, so that vectors are rather in one cache line. */
static void multiply(struct depthwise *d, const struct place *t) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    struct lower *l = c->l;
    struct index at = {.n = v->n + 2};
    kir_val guard = {0};
    uint32_t opened = 0;
    int64_t taps = d->planes ? v->dim[v->n - 1].window : 1;
    at.at[v->in_batch] = c->result[v->batch].at;
    for (uint32_t i = 0; i < v->n - d->planes; i++) {
        const struct conv_dim *w = &v->dim[i];
        if (i == d->along)
            continue;
        c->sum[i].at = kir_loop(l->k, KIR_SERIAL, w->window, 0);
        opened++;
        kir_val q = lower_add(l, lower_mul(l, c->result[w->axis].at, w->stride), lower_mul(l, c->sum[i].at, w->dilation));
        at.at[w->in] = lower_conv_position(l, v, i, q, w->image - 1, &guard);
    }
    if ((t->within && d->together == 1) || taps > DEPTHWISE_TAPS) {
        multiply_taps(d, t, &at, guard, kir_loop(l->k, KIR_SERIAL, taps, 0), 1);
        opened++;
    } else {
        int64_t odd = d->together > 1 ? v->dim[v->n - 1].low & 1 : 0;
        for (int64_t k = 0, n; k < taps; k += n) {
            n = (k == 0 && odd) || k + d->together > taps ? 1 : d->together;
            multiply_taps(d, t, &at, guard, kir_i64(l->k, k), n);
        }
    }
    lower_close(l, opened);
}

/* Prefetches what the next step reads and this one does not: the next unit, where lanes are features, else the next tile. */
static void prefetch_next(struct depthwise *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    struct lower *l = c->l;
    uint32_t next = d->along - !d->planes;
    struct index at = {.n = v->n + 2};
    if (!d->prefetches || (d->along == 0 && !d->planes))
        return;
    at.at[v->in_batch] = c->result[v->batch].at;
    at.at[v->in_feature] = lower_mul(l, lower_div(l, c->result[v->feature].at, v->features / v->groups), v->channels);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct conv_dim *w = &v->dim[i];
        if (w->base > 1)
            return;
        at.at[w->in] = lower_add(l, lower_mul(l, c->result[w->axis].at, w->stride), kir_i64(l->k, -w->low));
    }
    kir_val first = contract_input(c, &at);
    const struct conv_dim *w = &v->dim[next], *along = &v->dim[d->along];
    int64_t step = d->input.steps.position[next], other = d->input.steps.position[d->along];
    int64_t rows = w->stride * (d->planes ? d->tiles.size : 1), columns = d->planes ? 1 : along->stride * d->tiles.size;
    int64_t from = (w->window - 1) * w->dilation + 1 + (rows - w->stride);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t q = 0; q < columns; q++)
            contract_prefetch(c, first, (from + r) * step + q * other);
}

/* A tile: products, then the epilogue. */
static void tile(struct depthwise *d, struct place *t) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    struct axis *along = &c->result[d->tiles.axis], *lanes = &c->result[d->columns.axis];
    along->at = t->first;
    lanes->at = t->begin;
    prefetch_next(d);
    lanes->at = lower_add(l, t->begin, kir_loop_to(l->k, KIR_VECTOR, t->count, (uint32_t)d->lanes));
    t->reg = kir_reg(l->k, contract_zero(c), d->tiles.size);
    multiply(d, t);
    kir_val r = kir_loop(l->k, KIR_UNROLLED, d->tiles.size, 0);
    along->at = lower_add(l, t->first, r);
    contract_finish(c, kir_get_reg(l->k, t->reg, r));
    lower_close(l, 2);
}

/* The parts of a line that are computed in one way: the ends are copies at constant positions. */
struct segment {
    int64_t begin, end;
    bool inside;
};
static void find_segments(const struct line *n, struct segment out[3]) {
    out[0] = (struct segment){0, n->before, false};
    out[1] = (struct segment){n->before, n->after, true};
    out[2] = (struct segment){n->after, n->n, false};
}

/* Opens a loop over a segment; where its part begins. */
static kir_val open_segment(struct lower *l, const struct line *n, const struct segment *s) {
    kir_val i = lower_add(l, kir_loop(l->k, KIR_SERIAL, s->end - s->begin, 0), kir_i64(l->k, s->begin));
    return contract_tile_begin(l, i, n->all, n->size);
}

/* All columns of a tile. */
static void columns(struct depthwise *d, struct place *t) {
    struct lower *l = d->c->l;
    struct segment s[3];
    if (!d->planes || d->parts > 1) {
        tile(d, t);
        return;
    }
    find_segments(&d->columns, s);
    t->count = kir_i64(l->k, d->columns.size);
    for (int i = 0; i < 3; i++) {
        if (s[i].begin == s[i].end)
            continue;
        t->begin = open_segment(l, &d->columns, &s[i]);
        t->within = s[i].inside;
        tile(d, t);
        kir_close(l->k);
    }
}

/* Opens a loop over the units of a block. */
static void units(struct depthwise *d, kir_val block) {
    struct lower *l = d->c->l;
    kir_val first = lower_mul(l, block, d->block);
    contract_set(d->c, &d->units, lower_chunk_loop(l, first, d->block, d->units.size, KIR_SERIAL, 0));
}

/* All tiles of a block. */
static void tiles(struct depthwise *d, kir_val block, struct place *t) {
    struct segment s[3];
    find_segments(&d->tiles, s);
    for (int i = 0; i < 3; i++) {
        if (s[i].begin == s[i].end)
            continue;
        t->first = open_segment(d->c->l, &d->tiles, &s[i]);
        t->inside = s[i].inside;
        if (d->downward)
            units(d, block);
        columns(d, t);
        lower_close(d->c->l, 1 + d->downward);
    }
}

/* ---- sizes ------------------------------------------------------------------------------------ */

static bool is_true_axis(const struct contraction *c, uint32_t axis) {
    return c->result[axis].size > 1;
}

/* Whether an axis is the one along which the result is contiguous. */
static bool is_last(const struct contraction *c, uint32_t axis) {
    for (uint32_t i = axis + 1; i < c->nresult; i++)
        if (is_true_axis(c, i))
            return false;
    return true;
}

static int64_t ceil_of(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* The first position of a part. */
static int64_t begin_of(const struct line *n, int64_t part) {
    return part * n->size < n->all - n->size ? part * n->size : n->all - n->size;
}

/* The parts of a spatial dimension, the last of which may overlap the one before. More than one part that leaves the input at
   an end is of windows much larger than parts: then all are taken for such. */
static struct line line_of(const struct conv_dim *w, int64_t size) {
    int64_t n = ceil_of(w->out, size), reach = (size - 1) * w->stride + (w->window - 1) * w->dilation - w->low;
    struct line line = {w->axis, w->out, size, n, 0, n};
    while (line.before < n && begin_of(&line, line.before) * w->stride < w->low)
        line.before++;
    while (line.after > line.before && begin_of(&line, line.after - 1) * w->stride + reach >= w->size)
        line.after--;
    if (w->base > 1 || line.before > 1 || n - line.after > 1)
        line.before = line.after = n;
    return line;
}

/* Registers for sums: others have vectors of the input, and the weights of a line of the window, for each of the taps that are
   taken together. */
static int64_t registers_left(const struct depthwise *d, int64_t together) {
    return (int64_t)d->c->l->target->vector_registers - (d->v->dim[d->along].window + 1) * together - 1;
}

/* How many taps of the dimension of lanes are taken together. With a stride of 2, two neighbouring taps read all elements of a
   line between them, the even and the odd ones of the same vectors. */
static int64_t find_together(const struct depthwise *d) {
    const struct conv_dim *w = &d->v->dim[d->v->n - 1];
    bool pairs = d->planes && d->input.plain && w->stride == 2 && w->dilation == 1 && w->base == 1 && w->window > 1;
    bool fits = w->window <= DEPTHWISE_TAPS && registers_left(d, DEPTHWISE_TOGETHER) >= DEPTHWISE_SUMS;
    return pairs && fits ? DEPTHWISE_TOGETHER : 1;
}

/* Tiles: as many positions as there are registers less those for operands, with the least products computed twice. */
static bool find_tiles(struct depthwise *d) {
    const struct conv_dim *w = &d->v->dim[d->along];
    int64_t most = registers_left(d, d->together), best = 0;
    most = most > DEPTHWISE_TILE ? DEPTHWISE_TILE : most < DEPTHWISE_SUMS ? DEPTHWISE_SUMS : most;
    most = most > w->out ? w->out : most;
    if (most * w->window > DEPTHWISE_PRODUCTS)
        most = DEPTHWISE_PRODUCTS / w->window;
    for (int64_t t = 1; t <= most; t++)
        if (best == 0 || ceil_of(w->out, t) * (t + 1) <= ceil_of(w->out, best) * (best + 1))
            best = t;
    if (best)
        d->tiles = line_of(w, best);
    return best > 0;
}

/* Columns: vectors of a plane; of features as many vectors as share cache lines. */
static void find_columns(struct depthwise *d) {
    const struct contraction *c = d->c;
    const struct target *t = c->l->target;
    if (d->planes) {
        const struct conv_dim *w = &d->v->dim[d->v->n - 1];
        d->columns = line_of(w, d->lanes < w->out ? d->lanes : w->out);
        return;
    }
    int64_t size = c->result[d->v->feature].size, line = t->line_bytes / (kir_type_bits(c->acc) / 8);
    line = t->block_threads || line < d->lanes ? d->lanes : line;
    d->columns = (struct line){d->v->feature, size, line, ceil_of(size, line), 0, 0};
}

/* Columns of a part, `most` or as few as half of them, with which the cores are done soonest. */
static int64_t even_part(int64_t columns, int64_t most, int64_t blocks, int64_t cores) {
    int64_t best = most, least = INT64_MAX;
    for (int64_t part = most; part > most / 2; part--) {
        int64_t time = ceil_of(blocks * ceil_of(columns, part), cores) * part;
        if (time < least) {
            least = time;
            best = part;
        }
    }
    return best;
}

/* Units of a block and columns of a part, for about `wanted` tasks. Columns of features are divided among tasks first; but a
   core has its own units, which it computed in the step before, and the L2 cache holds a block's units of all features. */
static void divide(struct depthwise *d, double bytes, int64_t wanted) {
    const struct contraction *c = d->c;
    const struct target *t = c->l->target;
    int64_t units = d->units.size, blocks = wanted, most = d->columns.n;
    if (!d->planes) {
        double far = bytes / (double)t->l2_bytes;
        int64_t rows = units / DEPTHWISE_UNITS;
        blocks = rows < t->cores ? rows : t->cores;
        blocks = blocks > wanted ? wanted : blocks;
        blocks = blocks * most < wanted ? ceil_of(wanted, most) : blocks;
        blocks = (double)blocks >= far ? blocks : far < (double)rows ? (int64_t)far : rows;
        blocks = blocks < 1 ? 1 : blocks;
    }
    d->block = ceil_of(units, blocks);
    blocks = ceil_of(units, d->block);
    d->parts = wanted > blocks ? ceil_of(wanted, blocks) : 1;
    d->parts = d->parts > most ? most : d->parts;
    d->part = even_part(most, ceil_of(most, d->parts), blocks, t->cores ? t->cores : 1);
    d->parts = ceil_of(most, d->part);
}

/* Whether a line of positions accesses more of a column, with its weights and results, than the L1 cache holds until the next
   line, which reads much of it, too: positions that are a multiple of cache lines apart lie in few of its sets. */
static bool exceeds_l1(const struct depthwise *d) {
    const struct contraction *c = d->c;
    const struct target *t = c->l->target;
    if (d->planes || !d->input.plain || t->block_threads)
        return false;
    int64_t positions = d->v->dim[d->along].size, sets = (int64_t)(t->l1_way_bytes / t->line_bytes);
    int64_t apart = d->input.steps.position[d->along] * (int64_t)(kir_type_bits(c->acc) / 8) / (int64_t)t->line_bytes;
    int64_t taps = 1;
    for (uint32_t i = 0; i < d->v->n; i++) {
        positions *= i == d->along ? 1 : d->v->dim[i].window;
        taps *= d->v->dim[i].window;
    }
    positions += d->v->dim[d->along].out + taps;
    while (sets > 1 && apart > 0 && apart % 2 == 0) {
        sets /= 2;
        apart /= 2;
    }
    return positions > (int64_t)(t->l1_bytes / t->l1_way_bytes) * sets;
}

static bool find(struct depthwise *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    const struct target *target = c->l->target;
    int64_t lines = 1;
    double work = (double)ir_val_count(c->l->m, ir_result(c->l->m, c->op, 0));
    double elements = work + (double)ir_val_count(c->l->m, ir_operand(c->l->m, c->op, 0));
    for (uint32_t i = 0; i < c->nsum; i++)
        lines *= c->sum[i].size;
    if (c->l->native || c->l->kernel->strict || !kir_is_float(c->acc) || v->n == 0 || v->batch_groups > 1 || v->groups < 2 ||
        work * (double)lines < DEPTHWISE_WORK)
        return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (v->dim[i].out <= 0 || v->dim[i].window <= 0)
            return false;
    d->planes = !is_last(c, v->feature);
    if (d->planes && (v->n < 2 || !is_last(c, v->dim[v->n - 1].axis)))
        return false;
    d->along = v->n - 1 - d->planes;
    contract_find_input(c, &d->input);
    d->together = find_together(d);
    if (!find_tiles(d))
        return false;
    d->lanes = contract_vector(c);
    find_columns(d);
    d->packed = !d->planes && !(c->is_load[1] && c->result[v->feature].stride[1] == 1);
    d->units.size = 1;
    contract_add_axis(c, &d->units, v->batch);
    for (uint32_t i = 0; i < v->n; i++)
        if (i != d->along && !(d->planes && i + 1 == v->n))
            contract_add_axis(c, &d->units, v->dim[i].axis);
    if (d->planes)
        contract_add_axis(c, &d->units, v->feature);
    int64_t wanted = 2 * target->cores > target->tasks ? 2 * target->cores : target->tasks;
    wanted = work * (double)lines < (double)target->parallel_ops ? 1 : wanted;
    double bytes = elements * (kir_type_bits(c->acc) / 8);
    divide(d, bytes, wanted);
    d->downward = exceeds_l1(d);
    d->prefetches = d->input.plain && !target->block_threads && (d->planes || v->dim[d->along].stride == 1) &&
             bytes > DEPTHWISE_FAR * (double)(target->cores ? target->cores : 1) * (double)target->l2_bytes;
    return true;
}

bool contract_depthwise(struct contraction *c) {
    struct lower *l = c->l;
    struct depthwise d = {.c = c, .v = c->conv};
    if (!c->conv || !find(&d))
        return false;
    if (d.packed)
        pack_weights(&d);
    const struct line *n = &d.columns;
    int64_t dims[] = {ceil_of(d.units.size, d.block), d.parts};
    struct place t = {.within = !d.planes};
    bool outer = !d.planes || d.parts > 1; /* else a tile takes all columns before the next one is begun */
    kir_val at[2];
    lower_grid_nd(l, dims, 2, at);
    if (outer) {
        kir_val column = lower_chunk_loop(l, lower_mul(l, at[1], d.part), d.part, n->n, KIR_SERIAL, 0);
        t.begin = d.planes ? contract_tile_begin(l, column, n->all, n->size) : lower_mul(l, column, n->size);
        t.count = d.planes ? kir_i64(l->k, n->size) : lower_extent(l, t.begin, n->size, n->all);
    }
    if (!d.downward)
        units(&d, at[0]);
    tiles(&d, at[0], &t);
    lower_close(l, 1u + outer + !d.downward);
    return true;
}
