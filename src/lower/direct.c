/* Direct convolution: a register tile of output pixels by vectors of output features, without im2col.
 *
 * The input is read in place where windows never leave it. Else a prologue copies it once into an image with the padding
 * around it, so that no product needs a guard: rows of positions by channels, which it transposes where the input's channels
 * are planes (NCHW); of few channels, which make no square to transpose, of channels by positions. Within a tile the factors
 * of all pixels are then a constant distance apart. Weights are packed in panels of as many features as a tile has lanes
 * (pack.c). After Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures", SC 2018.
 *
 * An iteration of the grid takes some panels and some tiles of pixels. Where those are so few that reading the weights from
 * memory takes a good part of the time, it takes the sum in slabs (block.h): all tiles of pixels use a slab of the weights, and
 * each prefetches its part of the next one. Between slabs sums are in scratch memory. The order of a sum is that of its axes,
 * whatever the tiles, blocks and slabs. */
#include "lower/direct.h"

#include <math.h>

enum {
    DIRECT_IMAGE = 4,                           /* an image of more times the input's elements is mostly padding */
    DIRECT_LATENCY = 8,                         /* multiply-adds in flight that keep the units busy */
    DIRECT_STREAM = 16,                         /* bytes a cycle that come from the L2 cache */
    DIRECT_DEPTH = TORTURED(TORTURE_PART, 384), /* lines of a slab: a sum is loaded and stored once for so many products */
    DIRECT_TAIL = TORTURED(-1000, 3),           /* percent of the time that a last tile of fewer pixels has to save */
    DIRECT_SHORT = 4,                           /* iterations of a loop that is unrolled */
    DIRECT_FEW = 16,                            /* registers, for which three vectors side by side are considered */
    DIRECT_WAYS = 2,                            /* ways of the L1 cache for weights */
    DIRECT_FAR = 2,                             /* cycles of a factor from the L2 cache */
    DIRECT_NARROW = 8                           /* channels from which units for narrow types are faster */
};

/* Axes of the result along which pixels are a constant distance apart in the input: several where one continues the other. */
struct line {
    uint32_t first, n; /* axes in the order batch, spatial dimensions */
    int64_t size, step;
};

struct direct {
    struct contraction *c;
    const struct conv *v;
    struct blocking b; /* of the weights: column, panels, lines */
    struct line line[IR_MAX_RANK];
    uint32_t nlines, outer;      /* tiles run along the lines from `outer` on: parts of that one by all of the others */
    struct contract_axes pixels; /* the axes of these lines, as one, */
    struct contract_axes rows;   /* and the other axes but features */
    int64_t tile, tiles;         /* pixels of a tile; tiles of a row, */
    int64_t tail;                /* of which the last has so many pixels; 0: as many, some of which another tile has, too */
    int64_t units;               /* tiles of a block */
    int64_t parts;               /* vectors of a panel that have registers of their own; 1 = a VECTOR loop has all */
    bool in_place, planar;       /* the operand itself is read; the image has rows of channels by positions, */
    bool transposed;             /* or rows of positions by channels, which are planes of the operand */
    struct contract_input operand;
    struct contract_steps steps; /* of what is read: the operand or the image */
    uint32_t image;              /* the buffer */
    int64_t image_elements;
};

/* ---- the input -------------------------------------------------------------------------------- */

/* The input's index at positions of the image; *guard as for lower_conv_position. */
static void index_of(const struct direct *d, const kir_val *position, const int64_t *most, kir_val channel, kir_val batch,
                     struct index *out, kir_val *guard) {
    const struct conv *v = d->v;
    *out = (struct index){.n = v->n + 2};
    *guard = (kir_val){0};
    out->at[v->in_feature] = channel;
    out->at[v->in_batch] = batch;
    for (uint32_t i = 0; i < v->n; i++)
        out->at[v->dim[i].in] = lower_conv_position(d->c->l, v, i, position[i], most[i], guard);
}

static kir_val element(const struct direct *d, const kir_val *position, const int64_t *most, kir_val channel, kir_val batch,
                       kir_val *guard) {
    struct index at;
    index_of(d, position, most, channel, batch, &at, guard);
    return contract_input(d->c, &at);
}

/* How the operand lies in memory, and whether it can be read there. */
static void find_input(struct direct *d) {
    const struct conv *v = d->v;
    const struct contract_steps *s = &d->operand.steps;
    uint32_t last = v->n - 1;
    int64_t channels = v->channels * v->groups;
    contract_find_input(d->c, &d->operand);
    d->in_place = d->operand.plain;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct conv_dim *x = &v->dim[i];
        d->in_place = d->in_place && x->base == 1 && x->low <= 0 && x->image - x->low <= x->size;
    }
    bool planes = d->operand.linear && v->dim[last].base == 1 && s->channel != 1 && s->position[last] == 1 && channels > 1;
    d->transposed = planes && d->operand.cheap && channels >= contract_vector(d->c);
    d->planar = planes && !d->transposed;
}

/* The shape of the image. False if it is too large. */
static bool find_image(struct direct *d) {
    const struct conv *v = d->v;
    struct contract_steps *s = &d->steps;
    int64_t channels = v->channels * v->groups, size = 1;
    uint32_t last = v->n - 1;
    double input = (double)v->batches * (double)channels, image = input;
    for (uint32_t i = 0; i < v->n; i++) {
        input *= (double)v->dim[i].size * (double)v->dim[i].base;
        image *= (double)v->dim[i].image;
    }
    if (image > DIRECT_IMAGE * (input + 1024))
        return false;
    s->channel = d->planar ? v->dim[last].image : 1;
    s->position[last] = d->planar ? 1 : channels;
    size = channels * v->dim[last].image;
    for (uint32_t i = last; i-- > 0; size *= v->dim[i].image)
        s->position[i] = size;
    s->batch = size;
    d->image_elements = size * v->batches;
    return true;
}

static kir_val place_of(const struct direct *d, const kir_val *position, kir_val channel, kir_val batch) {
    struct lower *l = d->c->l;
    const struct contract_steps *s = &d->steps;
    kir_val at = lower_add(l, lower_mul(l, batch, s->batch), lower_mul(l, channel, s->channel));
    for (uint32_t i = 0; i < d->v->n; i++)
        at = lower_add(l, at, lower_mul(l, position[i], s->position[i]));
    return at;
}

/* A part of a row of the image: positions of the last dimension. */
struct row {
    uint32_t buffer;
    kir_val at[IR_MAX_RANK], batch; /* at: the row's positions */
    int64_t most[IR_MAX_RANK];
};

/* Positions [from, from + count) of a row: those of the input, or zeros. */
static void write_row(struct direct *d, struct row *r, int64_t from, int64_t count, bool zeros) {
    struct lower *l = d->c->l;
    const struct conv *v = d->v;
    uint32_t last = v->n - 1, vector = (uint32_t)contract_vector(d->c);
    int64_t channels = v->channels * v->groups;
    kir_val guard, channel = kir_i64(l->k, 0), outer, lane, x = contract_zero(d->c);
    bool line = !d->planar && (zeros || (d->operand.steps.channel == 1 && d->operand.steps.position[last] == channels));
    if (count <= 0)
        return;
    r->at[last] = kir_i64(l->k, from);
    if (line) { /* consecutive in the operand, too */
        kir_val place = place_of(d, r->at, channel, r->batch), first = {0};
        if (!zeros)
            first = element(d, r->at, r->most, channel, r->batch, &guard);
        bool plain = zeros || kir_get(l->k, first)->op == KIR_LOAD;
        if (plain) {
            uint32_t of = zeros ? 0 : kir_get(l->k, first)->of;
            kir_val index = zeros ? channel : kir_get(l->k, first)->arg[0];
            lane = kir_loop(l->k, KIR_VECTOR, count * channels, 4 * vector);
            kir_store(l->k, r->buffer, lower_add(l, place, lane), zeros ? x : kir_load(l->k, of, lower_add(l, index, lane)));
            kir_close(l->k);
            return;
        }
    }
    for (int64_t at_once = d->transposed && !zeros ? vector : 1, done = 0; at_once; at_once = lower_next_square(at_once)) {
        int64_t size = (d->planar ? channels : count - done) / at_once * at_once;
        if (size == 0)
            continue;
        outer = lower_mul(l, kir_loop(l->k, KIR_SERIAL, size / at_once, 0), at_once);
        lane = kir_loop(l->k, KIR_VECTOR, d->planar ? count : channels, vector);
        for (int64_t i = 0; i < at_once; i++) {
            kir_val here = lower_add(l, outer, kir_i64(l->k, done + i));
            r->at[last] = lower_add(l, d->planar ? lane : here, kir_i64(l->k, from));
            channel = d->planar ? here : lane;
            if (!zeros)
                x = element(d, r->at, r->most, channel, r->batch, &guard);
            kir_store(l->k, r->buffer, place_of(d, r->at, channel, r->batch), x);
        }
        lower_close(l, 2);
        done += size;
    }
}

static bool is_true(const struct kir *k, kir_val guard) {
    int64_t bits;
    return !guard.i || (kir_is_const(k, guard, &bits) && bits);
}

/* Positions of a row whose last dimension has holes between the input's elements. */
static void write_holes(struct direct *d, struct row *r) {
    struct lower *l = d->c->l;
    const struct conv *v = d->v;
    uint32_t vector = (uint32_t)contract_vector(d->c);
    struct index at;
    kir_val guard, none = kir_i64(l->k, 0);
    r->at[v->n - 1] = kir_loop(l->k, KIR_SERIAL, v->dim[v->n - 1].image, 0);
    index_of(d, r->at, r->most, none, r->batch, &at, &guard);
    kir_if(l->k, guard);
    kir_val channel = kir_loop(l->k, KIR_VECTOR, v->channels * v->groups, vector);
    kir_val x = element(d, r->at, r->most, channel, r->batch, &guard);
    kir_store(l->k, r->buffer, place_of(d, r->at, channel, r->batch), x);
    kir_close(l->k);
    kir_else(l->k);
    channel = kir_loop(l->k, KIR_VECTOR, v->channels * v->groups, vector);
    kir_store(l->k, r->buffer, place_of(d, r->at, channel, r->batch), contract_zero(d->c));
    lower_close(l, 3);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Copies the input by a prologue; an iteration writes a row. */
static void pack_image(struct direct *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    const struct conv_dim *w = &v->dim[v->n - 1];
    struct contract_kernel prologue;
    uint32_t temp = lower_new_temp(c->l, contract_acc_dtype(c), d->image_elements);
    int64_t dims[IR_MAX_RANK], first = clamp(w->low, 0, w->image), end = clamp(w->low + w->size, first, w->image);
    kir_val at[IR_MAX_RANK], guard;
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    struct row r = {.buffer = lower_temp(l, temp, KIR_OUT)};
    struct index index;
    dims[0] = v->batches;
    for (uint32_t i = 0; i < v->n; i++) {
        dims[1 + i] = v->dim[i].image;
        r.most[i] = v->dim[i].image - 1;
    }
    lower_grid_nd(l, dims, v->n, at);
    r.batch = at[0];
    memcpy(r.at, at + 1, (v->n - 1) * sizeof *at);
    if (w->base > 1) {
        write_holes(d, &r);
    } else {
        r.most[v->n - 1] = end - 1;
        r.at[v->n - 1] = kir_i64(l->k, first);
        index_of(d, r.at, r.most, kir_i64(l->k, 0), r.batch, &index, &guard);
        bool always = is_true(l->k, guard);
        if (!always)
            kir_if(l->k, guard);
        write_row(d, &r, 0, first, true);
        write_row(d, &r, first, end - first, false);
        write_row(d, &r, end, w->image - end, true);
        if (!always) {
            kir_else(l->k);
            write_row(d, &r, 0, w->image, true);
            kir_close(l->k);
        }
    }
    kir_close(l->k);
    contract_prologue_end(c, &prologue);
    d->image = lower_temp(c->l, temp, KIR_IN);
}

/* ---- sizes ------------------------------------------------------------------------------------ */

/* The axis of the result, and elements of the input between its pixels: batches, then the spatial dimensions. */
static uint32_t axis_of(const struct direct *d, uint32_t i, int64_t *step) {
    *step = i ? d->v->dim[i - 1].stride * d->steps.position[i - 1] : d->steps.batch;
    return i ? d->v->dim[i - 1].axis : d->v->batch;
}

static void find_lines(struct direct *d) {
    const struct contraction *c = d->c;
    d->nlines = 0;
    for (uint32_t i = 0; i <= d->v->n; i++) {
        int64_t step, size = c->result[axis_of(d, i, &step)].size;
        struct line *before = d->nlines ? &d->line[d->nlines - 1] : NULL;
        if (before && before->step == step * size) {
            *before = (struct line){before->first, before->n + 1, before->size * size, step};
            continue;
        }
        d->line[d->nlines++] = (struct line){i, 1, size, step};
    }
}

double direct_line_cost(const struct contraction *c, int64_t pixels, int64_t vectors, bool near) {
    double products = (double)(pixels * vectors), loads = (double)(pixels + vectors);
    double stream = near ? 0 : (double)(vectors * c->l->target->vector_bytes) / DIRECT_STREAM;
    return fmax(fmax(fmax(products, loads), DIRECT_LATENCY) / 2, stream);
}

static bool is_power(int64_t n) {
    return (n & (n - 1)) == 0;
}

/* Lines of a slab of the weights: of panels of several parts it stays in half of the L1 cache. */
static int64_t slab_depth(const struct direct *d, int64_t lanes, int64_t parts) {
    int64_t fit = (int64_t)d->c->l->target->l1_bytes / 2 / (lanes * (kir_type_bits(d->c->acc) / 8));
    return parts > 1 && fit < DIRECT_DEPTH ? fit : DIRECT_DEPTH;
}

/* Whether the factors of a tile's pixels, `step` elements apart, drive each other out of a set of the L1 cache, in which there
   are lines of weights, too. */
static bool share_sets(const struct direct *d, int64_t pixels, int64_t step) {
    const struct target *t = d->c->l->target;
    int64_t way = t->l1_way_bytes, bytes = step * (kir_type_bits(d->c->acc) / 8), sets = 1;
    while (bytes * sets % way != 0 && sets < pixels)
        sets++;
    return t->vector_registers <= DIRECT_FEW && ceil_div(pixels, sets) > (int64_t)t->l1_bytes / way - DIRECT_WAYS;
}

/* A tile of pixels by vectors, of which there are `tiles` for each panel. */
static double time_of_tile(const struct direct *d, int64_t pixels, int64_t vectors, int64_t tiles, int64_t step) {
    int64_t lanes = vectors * contract_vector(d->c), lines = d->b.sum.lines;
    bool near = !is_power(vectors) && (tiles <= lanes || lines <= slab_depth(d, lanes, vectors));
    double line = direct_line_cost(d->c, pixels, vectors, near);
    if (share_sets(d, pixels, step))
        line = fmax(line, (double)(DIRECT_FAR * pixels));
    return (double)lines * line + DIRECT_TILE_OPS + (double)(pixels * vectors);
}

/* A tile of `tile` pixels by `vectors` vectors if it takes less time than the best one so far for all pixels and features. */
static void try_tile(struct direct *d, uint32_t outer, int64_t pixels, int64_t tile, int64_t vectors, double *best) {
    const struct conv *v = d->v;
    int64_t vector = contract_vector(d->c), lanes = vectors * vector, features = v->features / v->groups, rows = 1;
    int64_t tail = pixels % tile, step = d->line[d->nlines - 1].step;
    for (uint32_t i = 0; i < outer; i++)
        rows *= d->line[i].size;
    int64_t tiles = rows * ceil_div(pixels, tile);
    double full = time_of_tile(d, tile, vectors, tiles, step), all = (double)ceil_div(pixels, tile) * full;
    double ends = (double)(pixels / tile) * full + (tail ? time_of_tile(d, tail, vectors, tiles, step) : 0);
    if (d->c->l->target->block_threads || 100 * (all - ends) < DIRECT_TAIL * all) /* two kinds of tiles are more code */
        tail = 0;
    else
        all = ends;
    double cost = (double)ceil_div(features, lanes) * all * (double)rows;
    if (cost > *best || (cost == *best && tile * lanes <= d->tile * d->b.panel.size))
        return;
    *best = cost;
    d->outer = outer;
    d->tile = tile;
    d->tiles = ceil_div(pixels, tile);
    d->tail = tail;
    d->b.panel.size = lanes;
    d->parts = is_power(vectors) ? 1 : vectors;
}

/* Whether a tile may have so many vectors of features side by side. A VECTOR loop's width is a power of two; of three vectors
   each has registers of its own, and only features that exist. Where there are few registers, they make tiles of four pixels,
   which fit rows that those of six do not. */
static bool can_have_vectors(const struct direct *d, int64_t vectors) {
    const struct conv *v = d->v;
    int64_t vector = contract_vector(d->c), features = v->features / v->groups;
    if (v->groups > 1 && features % (vectors * vector))
        return false;
    if (is_power(vectors))
        return vectors == 1 || vectors * vector / 2 < features;
    return d->c->l->target->vector_registers <= DIRECT_FEW && features % vector == 0 && (vectors - 1) * vector < features;
}

/* The register tile. False when the features of a group do not fill panels. */
static bool find_tile(struct direct *d) {
    const struct contraction *c = d->c;
    const struct conv *v = d->v;
    int64_t registers = c->l->target->vector_registers;
    double best = INFINITY;
    int64_t widest = contract_vectors(c, DIRECT_VECTORS);
    for (int64_t vectors = 1; vectors <= widest; vectors++) {
        int64_t inner = 1, most = TORTURED(TORTURE_TILE, (registers - 1) / vectors - 1);
        if (!can_have_vectors(d, vectors))
            continue;
        for (uint32_t i = d->nlines; i-- > 0 && inner <= most; inner *= d->line[i].size)
            for (int64_t n = 1; n <= d->line[i].size && n * inner <= most; n++)
                try_tile(d, i, d->line[i].size * inner, n * inner, vectors, &best);
    }
    d->b.panel.count = d->b.panel.size ? ceil_div(v->features, d->b.panel.size) : 0;
    d->pixels.size = d->rows.size = 1;
    for (uint32_t i = 0; i < d->nlines; i++)
        for (uint32_t j = 0; j < d->line[i].n; j++) {
            int64_t step;
            contract_add_axis(c, i < d->outer ? &d->rows : &d->pixels, axis_of(d, d->line[i].first + j, &step));
        }
    return best < INFINITY;
}

int64_t direct_tasks(const struct target *t) {
    return 2 * t->cores > t->tasks ? 2 * t->cores : t->tasks;
}

void direct_blocks(const struct target *t, int64_t units, int64_t panels, double weights, double input, int64_t *panel_block,
                   int64_t *unit_block) {
    int64_t wanted = direct_tasks(t);
    double best = INFINITY;
    for (int64_t n = 1; n <= panels && n <= wanted; n++) { /* blocks of panels */
        int64_t m = ceil_div(wanted, n) < units ? ceil_div(wanted, n) : units;
        int64_t most_panels = ceil_div(panels, n), most_units = ceil_div(units, m);
        int64_t blocks = ceil_div(panels, most_panels) * ceil_div(units, most_units);
        double missing = blocks < wanted ? (double)(wanted - blocks) * (double)(units * panels) * 1e3 : 0;
        double cost = (double)m * weights + (double)n * input + missing;
        if (cost >= best)
            continue;
        best = cost;
        *panel_block = most_panels;
        *unit_block = most_units;
    }
}

/* Slabs of the sum, for few tiles; else one. */
static void find_slabs(struct direct *d) {
    struct block_sum *s = &d->b.sum;
    int64_t depth = slab_depth(d, d->b.panel.size, d->parts), most = depth + depth / 4;
    if (d->b.rhs_pack != RHS_PREPACK || d->units == 1 || d->units > d->b.panel.size || s->lines <= most)
        return;
    s->inner = 1;
    for (s->cut = d->c->nsum - 1; s->cut > 0 && s->inner * s->line[s->cut] <= most / 2; s->cut--)
        s->inner *= s->line[s->cut];
    s->chunk = s->line[s->cut];
    if (s->chunk * s->inner > most)
        s->chunk = ceil_div(s->chunk, ceil_div(s->chunk, depth / s->inner));
    s->depth = s->chunk * s->inner;
    s->slabs = ceil_div(s->line[s->cut], s->chunk);
    for (uint32_t i = 0; i < s->cut; i++)
        s->slabs *= s->line[i];
}

static bool find(struct direct *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    double work = (double)ir_val_count(c->l->m, ir_result(c->l->m, c->op, 0));
    d->b = (struct blocking){.c = c, .rhs = 1, .column = v->feature, .parts = 1, .rhs_word = 1, .rhs_pack = RHS_PREPACK};
    d->b.rows.size = d->b.batch.size = d->b.sum.lines = 1;
    for (uint32_t i = 0; i < c->nsum; i++)
        d->b.sum.lines *= d->b.sum.line[i] = c->sum[i].size;
    d->b.sum.chunk = d->b.sum.line[0]; /* one slab */
    d->b.sum.slabs = 1;
    d->b.sum.depth = d->b.sum.lines;
    d->b.sum.inner = d->b.sum.lines / d->b.sum.chunk;
    work *= (double)d->b.sum.lines;
    if (c->l->native || c->l->kernel->strict || !kir_is_float(c->acc) || v->n == 0 || v->batch_groups > 1 ||
        work < DIRECT_WORK || v->features / v->groups < contract_vector(c) / 2 ||
        (v->groups == 1 && v->channels >= DIRECT_NARROW && contract_has_narrow_unit(c)))
        return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (v->dim[i].out <= 0 || v->dim[i].window <= 0)
            return false;
    find_input(d);
    if (!find_image(d))
        return false;
    if (d->in_place)
        d->steps = d->operand.steps;
    find_lines(d);
    if (!find_tile(d))
        return false;
    direct_blocks(c->l->target, d->rows.size * d->tiles, d->b.panel.count, (double)d->b.sum.lines * (double)v->features,
                  (double)d->image_elements, &d->b.panel.block, &d->units);
    if (d->units >= d->rows.size * d->tiles && !fuse_is_constant(c->l->m, ir_operand(c->l->m, c->op, 1)))
        d->b.rhs_pack = RHS_PACK_IN_BLOCK;
    find_slabs(d);
    return true;
}

/* ---- the tile --------------------------------------------------------------------------------- */

/* The linear index of the factor of the first pixel at the result's axes, under the first tap. */
static kir_val first_factor(struct direct *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    struct lower *l = c->l;
    kir_val position[IR_MAX_RANK], guard, channel = kir_i64(l->k, 0), batch = c->result[v->batch].at;
    int64_t most[IR_MAX_RANK];
    if (v->groups > 1)
        channel = lower_mul(l, lower_div(l, c->result[v->feature].at, v->features / v->groups), v->channels);
    for (uint32_t i = 0; i < v->n; i++) {
        position[i] = lower_mul(l, c->result[v->dim[i].axis].at, v->dim[i].stride);
        most[i] = v->dim[i].image - 1;
    }
    if (!d->in_place)
        return place_of(d, position, channel, batch);
    const struct kir_node *n = kir_get(l->k, element(d, position, most, channel, batch, &guard));
    d->image = n->of;
    return n->arg[0];
}

/* Elements of the input from the first pixel of a tile to pixel r. */
static kir_val pixel_offset(struct direct *d, kir_val r) {
    struct lower *l = d->c->l;
    int64_t dims[IR_MAX_RANK];
    kir_val at[IR_MAX_RANK], offset = kir_i64(l->k, 0);
    uint32_t n = d->nlines - d->outer;
    for (uint32_t i = 0; i < n; i++)
        dims[i] = d->line[d->outer + i].size;
    lower_unflatten(l, r, dims, n, at);
    for (uint32_t i = 0; i < n; i++)
        offset = lower_add(l, offset, lower_mul(l, at[i], d->line[d->outer + i].step));
    return offset;
}

/* Prefetches the part for `count` lines of this unit of the next slab of the weights, which follows in memory, to the end of
   the block. */
static void prefetch_slab(struct direct *d, const struct block *at, kir_val weights, kir_val u, kir_val line, int64_t count) {
    struct lower *l = d->c->l;
    const struct block_sum *s = &d->b.sum;
    int64_t part = d->b.panel.size / d->units, bytes = part * kir_type_bits(d->c->acc) / 8, step = l->target->line_bytes;
    if (d->b.rhs_pack != RHS_PREPACK || part == 0 || (s->slabs == 1 && d->b.panel.block == 1))
        return;
    kir_val end = lower_mul(l, lower_add(l, at->panel0, at->panels), s->lines);
    kir_val last = lower_mul(l, lower_add(l, end, kir_i64(l->k, -s->depth)), d->b.panel.size);
    kir_val next = kir_op2(l->k, KIR_MIN, 0, lower_add(l, weights, kir_i64(l->k, s->depth * d->b.panel.size)), last);
    for (int64_t i = 0; i < count; i += bytes < step ? step / bytes : 1) {
        kir_val x = lower_add(l, lower_mul(l, u, s->depth), lower_add(l, line, kir_i64(l->k, i)));
        kir_prefetch(l->k, d->b.rhs_buffer, lower_add(l, next, lower_mul(l, x, part)));
    }
}

/* Prefetches the line of weights DIRECT_AHEAD bytes after the one at `at`: its first cache line, or of several parts, which are
   not a whole number of those, each. */
static void prefetch_weights(struct direct *d, kir_val at) {
    struct lower *l = d->c->l;
    int64_t bytes = kir_type_bits(d->c->acc) / 8, step = l->target->line_bytes, end = d->b.panel.size * bytes;
    for (int64_t i = 0; i < (d->parts > 1 ? end : 1); i += step)
        kir_prefetch(l->k, d->b.rhs_buffer, lower_add(l, at, kir_i64(l->k, (DIRECT_AHEAD + i) / bytes)));
}

/* Opens loops over the sums of a tile: the vectors of each of `size` pixels, so that one pixel's factor is live at a time. */
static kir_val open_sums(const struct direct *d, int64_t size, kir_val *part) {
    struct lower *l = d->c->l;
    kir_val r = kir_loop(l->k, KIR_UNROLLED, size, 0);
    *part = kir_loop(l->k, KIR_UNROLLED, d->parts, 0);
    return r;
}

static kir_val sum_register(const struct direct *d, const struct contract_tile *tile, kir_val part, kir_val r) {
    struct lower *l = d->c->l;
    return lower_add(l, lower_mul(l, part, tile->size), r);
}

/* The products of a slab; `weights`: linear index of its first line. */
static void multiply_lines(struct direct *d, const struct block *at, kir_val input, kir_val weights, kir_val u, kir_val lane,
                           const struct contract_tile *tile) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    const struct block_sum *s = &d->b.sum;
    struct lower *l = c->l;
    uint32_t last = v->n - 1, opened = 0;
    int64_t n = block_lines_at_once(tile->size * d->parts * (block_panel_width(&d->b) / contract_vector(c)), s->lines);
    kir_val line = kir_i64(l->k, 0), begin = lower_mul(l, at->chunk, s->chunk);
    /* channels of the next tap in the last dimension follow those of this one */
    bool joined = s->cut <= last && d->steps.channel == 1 && d->steps.position[last] * v->dim[last].dilation == v->channels;
    for (uint32_t i = 0; i <= v->n; i++) {
        int64_t step = i == v->n ? d->steps.channel : v->dim[i].dilation * d->steps.position[i], size = s->line[i];
        kir_val count = kir_i64(l->k, size), x;
        if (i < s->cut) {
            input = lower_add(l, input, lower_mul(l, c->sum[i].at, step));
            continue;
        }
        if (i == s->cut) {
            input = lower_add(l, input, lower_mul(l, begin, step));
            count = lower_extent(l, begin, s->chunk, size);
            size = s->chunk;
        }
        if (i == last && joined) {
            count = lower_mul(l, count, v->channels);
            size *= v->channels;
            step = 1;
            i++;
        }
        int64_t at_once = 1;
        if (i >= v->n)
            at_once = size <= DIRECT_SHORT && size == s->line[i] ? size : n >> kir_zeros(l->k, count) <= 1 ? n : 1;
        x = lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, lower_div(l, count, at_once), 0), at_once);
        if (i >= v->n) {
            prefetch_slab(d, at, weights, u, lower_add(l, lower_mul(l, line, size), x), at_once);
            x = lower_add(l, x, kir_loop(l->k, KIR_UNROLLED, at_once, 0));
        }
        opened += i < v->n ? 1 : 2;
        input = lower_add(l, input, lower_mul(l, x, step));
        line = lower_add(l, lower_mul(l, line, size), x);
    }
    c->packed[1] = (struct packed){
        .on = true,
        .buffer = d->b.rhs_buffer,
        .at = lower_add(l, lower_add(l, weights, lane), lower_mul(l, line, d->b.panel.size))};
    prefetch_weights(d, c->packed[1].at);
    kir_val part, r = open_sums(d, tile->size, &part);
    c->packed[1].at = lower_add(l, c->packed[1].at, lower_mul(l, part, block_panel_width(&d->b)));
    c->packed[0] = (struct packed){.on = true, .buffer = d->image, .at = lower_add(l, input, pixel_offset(d, r))};
    contract_multiply_add(c, tile->reg, sum_register(d, tile, part, r));
    lower_close(l, opened + 2);
    c->packed[0].on = c->packed[1].on = false;
}

/* Where a sum of pixel r of a tile is between slabs. */
static kir_val sum_place(const struct direct *d, kir_val u, kir_val part, kir_val r, kir_val lane) {
    struct lower *l = d->c->l;
    kir_val at = lower_mul(l, lower_add(l, lower_mul(l, u, d->tile), r), d->b.panel.size);
    return lower_add(l, lower_add(l, at, lower_mul(l, part, block_panel_width(&d->b))), lane);
}

/* Opens the loop over the lanes of panel p. A panel of several parts has a loop over those of one: each computes all parts, and
   stores those that the result has. */
static kir_val open_lanes(struct direct *d, const struct block *at, kir_val p) {
    if (d->parts == 1)
        return block_lanes(&d->b, at, p, d->b.panel.size);
    return kir_loop(d->c->l->k, KIR_VECTOR, block_panel_width(&d->b), block_panel_width(&d->b));
}

/* The epilogue of a tile. */
static void finish_pixels(struct direct *d, kir_val panel, kir_val lane, const struct contract_tile *tile) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    struct axis *feature = &c->result[d->b.column];
    bool ends = d->parts > 1 && feature->size % d->b.panel.size != 0;
    if (d->parts == 1) {
        contract_tile_finish(c, tile);
        return;
    }
    kir_val part = kir_loop(l->k, KIR_UNROLLED, d->parts, 0);
    kir_val first = lower_add(l, lower_mul(l, panel, d->b.panel.size), lower_mul(l, part, block_panel_width(&d->b)));
    if (ends)
        kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, first, kir_i64(l->k, feature->size)));
    feature->at = lower_add(l, first, lane);
    kir_val r = contract_tile_rows(c, tile);
    contract_finish(c, kir_get_reg(l->k, tile->reg, sum_register(d, tile, part, r)));
    lower_close(l, ends ? 3 : 2);
}

/* Tile u of a block, in panel p: `size` pixels from `first` on of a row. */
static void multiply_pixels(struct direct *d, const struct block *at, kir_val p, kir_val u, kir_val row, kir_val first,
                            int64_t size) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    struct contract_tile tile = {.rows = &d->pixels, .first = first, .size = size, .parts = 1};
    kir_val part, r, panel = lower_add(l, at->panel0, p);
    contract_set(c, &d->rows, row);
    contract_set(c, &d->pixels, first);
    c->result[d->b.column].at = lower_mul(l, panel, d->b.panel.size);
    kir_val input = first_factor(d), lane = open_lanes(d, at, p), weights = kir_i64(l->k, 0);
    tile.reg = kir_reg(l->k, contract_zero(c), size * d->parts);
    if (d->b.rhs_pack == RHS_PREPACK)
        weights = lower_mul(l, block_first_line(&d->b, at, p), d->b.panel.size);
    if (d->b.sum.slabs > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_GT, 0, at->slab, kir_i64(l->k, 0)));
        r = open_sums(d, size, &part);
        kir_set_reg(l->k, tile.reg, sum_register(d, &tile, part, r),
                    kir_load(l->k, d->b.sum_buffer, sum_place(d, u, part, r, lane)));
        lower_close(l, 3);
    }
    multiply_lines(d, at, input, weights, u, lane, &tile);
    if (d->b.sum.slabs > 1) {
        kir_if(l->k, kir_cmp(l->k, KIR_LT, 0, at->slab, kir_i64(l->k, d->b.sum.slabs - 1)));
        r = open_sums(d, size, &part);
        kir_store(l->k, d->b.sum_buffer, sum_place(d, u, part, r, lane),
                  kir_get_reg(l->k, tile.reg, sum_register(d, &tile, part, r)));
        lower_close(l, 2);
        kir_else(l->k);
    }
    finish_pixels(d, panel, lane, &tile);
    lower_close(l, d->b.sum.slabs > 1 ? 2 : 1);
}

/* Tile u of a block, number `unit` of all, in panel p of the block. */
static void multiply_tile(struct direct *d, const struct block *at, kir_val p, kir_val u, kir_val unit) {
    struct lower *l = d->c->l;
    kir_val row = lower_div(l, unit, d->tiles), tile = lower_rem(l, unit, d->tiles), last = kir_i64(l->k, d->tiles - 1);
    if (d->tail) {
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, tile, last));
        multiply_pixels(d, at, p, u, row, lower_mul(l, last, d->tile), d->tail);
        kir_else(l->k);
        multiply_pixels(d, at, p, u, row, lower_mul(l, tile, d->tile), d->tile);
        kir_close(l->k);
        return;
    }
    multiply_pixels(d, at, p, u, row, contract_tile_begin(l, tile, d->pixels.size, d->tile), d->tile);
}

/* Opens loops over the slabs; returns how many. */
static uint32_t open_slabs(struct direct *d, struct block *at) {
    const struct block_sum *s = &d->b.sum;
    struct lower *l = d->c->l;
    at->slab = at->chunk = at->batch[1] = kir_i64(l->k, 0);
    for (uint32_t i = 0; i <= s->cut && s->slabs > 1; i++) {
        int64_t n = i == s->cut ? ceil_div(s->line[i], s->chunk) : s->line[i];
        kir_val x = kir_loop(l->k, KIR_SERIAL, n, 0);
        *(i == s->cut ? &at->chunk : &d->c->sum[i].at) = x;
        at->slab = lower_add(l, lower_mul(l, at->slab, n), x);
    }
    return s->slabs > 1 ? s->cut + 1 : 0;
}

/* Whether threads divide the image, else the weights: a thread begins with the same part of each grid (runtime/pool.h). Rows
   of a large image are in the cache of the thread that computed them; larger weights are better read by one thread each. */
static bool divides_rows(const struct direct *d, int64_t units) {
    double image = (double)d->image_elements + (double)(units * d->tile) * (double)d->v->features;
    return image > (double)d->b.sum.lines * (double)d->v->features;
}

bool contract_direct(struct contraction *c) {
    struct lower *l = c->l;
    struct direct d = {.c = c, .v = c->conv};
    if (!c->conv || !find(&d))
        return false;
    if (d.b.rhs_pack == RHS_PREPACK)
        block_prepack_rhs(&d.b);
    if (!d.in_place)
        pack_image(&d);
    int64_t units = d.rows.size * d.tiles, panels = ceil_div(d.b.panel.count, d.b.panel.block);
    bool by_rows = divides_rows(&d, units);
    int64_t dims[] = {by_rows ? ceil_div(units, d.units) : panels, by_rows ? panels : ceil_div(units, d.units)};
    kir_val at[2];
    lower_grid_nd(l, dims, 2, at);
    struct block here = {.panel0 = lower_mul(l, at[by_rows], d.b.panel.block)};
    here.panels = lower_extent(l, here.panel0, d.b.panel.block, d.b.panel.count);
    kir_val first = lower_mul(l, at[!by_rows], d.units);
    if (d.b.sum.slabs > 1)
        d.b.sum_buffer = kir_scratch(l->k, contract_acc_dtype(c), d.units * d.tile * d.b.panel.size);
    if (d.b.rhs_pack == RHS_PACK_IN_BLOCK)
        d.b.rhs_buffer = kir_scratch(l->k, block_rhs_dtype(&d.b), d.b.sum.lines * d.b.panel.size);
    kir_val p = kir_loop_to(l->k, KIR_SERIAL, here.panels, 0);
    if (d.b.rhs_pack == RHS_PACK_IN_BLOCK)
        block_pack_rhs(
            &d.b,
            &(struct block){.panel0 = lower_add(l, here.panel0, p), .panels = kir_i64(l->k, 1), .chunk = kir_i64(l->k, 0)});
    uint32_t opened = open_slabs(&d, &here);
    kir_val u = kir_loop_to(l->k, KIR_SERIAL, lower_extent(l, first, d.units, units), 0);
    multiply_tile(&d, &here, p, u, lower_add(l, first, u));
    lower_close(l, 3 + opened);
    return true;
}
