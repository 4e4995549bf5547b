/* Convolutions of 3×3 windows with a stride of 1 by Winograd's F(2×2, 3×3): 2×2 results from 4×4 elements of the input, by
 * 16 multiplications for each channel and feature instead of 36. After Lavin and Gray, "Fast Algorithms for Convolutional
 * Neural Networks", CVPR 2016, section 4.1:
 *
 *   Y = Aᵀ [ (G g Gᵀ) ⊙ (Bᵀ d B) ] A        g: a window's weights, d: elements of the input, both of one channel
 *
 * A prologue transforms the weights, once where they do not change. The input is transformed where it is used, or by a
 * prologue where several blocks use it; in vectors of channels, so that an input whose channels are planes (NCHW) is copied
 * before. An element of both has 16 points. Then a register tile of tiles of the input by vectors of features sums the
 * products over the channels, point by point, and adds the sums of each point to the results that need it.
 *
 * The transforms subtract elements from each other, so that a sum that should be infinite is NaN. The points that a result
 * depends on are computed from none but its own elements; so where a result is finite, those elements were. Where one is not,
 * those of its register tile are computed again, by the definition. */
#include "lower/direct.h"

#include <math.h>

enum {
    POINTS = 16,             /* 4 by 4 */
    RESULTS = 2,             /* of a tile, along either dimension */
    WINOGRAD_TRANSFORM = 40, /* cycles for a vector of a tile: transforms, and what they load and store */
    WINOGRAD_COPY = 8,       /* cycles for a vector of the input that is copied */
    WINOGRAD_POSITIONS = TORTURED(TORTURE_PART, 64), /* of a task that copies */
    WINOGRAD_STREAM = 4,     /* bytes a cycle that come from memory to a core */
    WINOGRAD_SPARE = 16,     /* of as many registers the tile leaves one to constants of the code around its loop */
    WINOGRAD_DEPTH = 128,    /* channels of a slab, at most: a result is loaded and stored once for so many products */
    WINOGRAD_ROOM = 1024     /* a bound on how many elements of packed operands there are for one of weights or tiles */
};

struct winograd {
    struct contraction *c;
    const struct conv *v;
    int64_t rows, columns, count;    /* tiles of an image along either dimension; of all images */
    int64_t tile, units;             /* tiles of a register tile; number of those */
    int64_t lanes, panels;           /* features of a register tile; number of such panels */
    int64_t unit_block, panel_block; /* of an iteration of the grid */
    int64_t chunk;                   /* channels of a tile that are together: those of a cache line, or all */
    bool in_block;                   /* the input is transformed group by group, else by a prologue */
    bool is_copied, in_squares;      /* the input is copied, some positions at once */
    uint32_t copy_temp, copy;        /* to [batch][row][column][channel]: the temporary, the buffer of the kernel being built */
    uint32_t weights, input;         /* [panel][point][channel][lane]; [unit][point][chunk][tile][channel in the chunk] */
    int64_t slab;                    /* chunks whose products are added to the results at once */
    int64_t group;                   /* units that use a point's weights one after the other */
    uint32_t sums;                   /* results: [unit of the group][result][tile][lane] */
};

/* ---- whether -------------------------------------------------------------------------------- */

/* The program leaves the accuracy of products open: no operand asks for HIGH or HIGHEST. */
static bool is_default_precision(const struct contraction *c) {
    const struct ir_module *m = c->l->m;
    const struct ir_attr_data *a = ir_attr_get(m, ir_prop(m, c->op, IR_CONVOLUTION_precision_config));
    for (uint32_t i = 0; i < a->n; i++)
        if (ir_attr_get(m, a->items[i])->i != IR_PRECISION_DEFAULT)
            return false;
    return true;
}

static bool applies(const struct winograd *w) {
    const struct contraction *c = w->c;
    const struct conv *v = w->v;
    if (c->l->native || c->l->kernel->strict || c->l->target->block_threads || c->acc != KIR_F32 || c->is_narrow[0] ||
        c->is_narrow[1] || v->n != 2 || v->groups > 1 || v->batch_groups > 1 || !is_default_precision(c))
        return false;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct conv_dim *d = &v->dim[i];
        if (d->window != 3 || d->stride != 1 || d->dilation != 1 || d->base != 1 || d->out <= 0)
            return false;
    }
    return v->batches > 0 && v->channels > 0;
}

static int64_t elements_of_input(const struct winograd *w) {
    return w->v->batches * w->v->dim[0].size * w->v->dim[1].size * w->v->channels;
}

/* Whether that takes less time than the products by the definition: weights come from memory, others' products from caches.
   Weights that change are packed in each run, so that they are also stored. */
static bool pays(const struct winograd *w) {
    const struct conv *v = w->v;
    double vector = (double)contract_vector(w->c), pairs = (double)v->channels * (double)v->features;
    double pixels = (double)v->batches * (double)v->dim[0].out * (double)v->dim[1].out;
    bool changes = !lower_is_invariant(w->c->l, ir_operand(w->c->l->m, w->c->op, 1));
    double weight = (changes ? 2 : 1) * 4.0 / WINOGRAD_STREAM;
    double direct = 9 * pairs * (pixels / (2 * vector) + weight);
    double points = POINTS * pairs * ((double)w->count / (2 * vector) + weight);
    double transforms = (double)w->count * ((double)v->channels + (double)v->features) / vector * WINOGRAD_TRANSFORM;
    if (changes)
        transforms += pairs / vector * WINOGRAD_TRANSFORM;
    if (w->is_copied)
        transforms += (double)elements_of_input(w) / vector * WINOGRAD_COPY;
    return 9 * pairs * pixels >= DIRECT_WORK && v->features >= contract_vector(w->c) / 2 &&
           (TORTURE || (v->channels >= contract_vector(w->c) && points + transforms < 0.8 * direct));
}

/* The register tile that takes the least time. */
static void find_tile(struct winograd *w) {
    const struct contraction *c = w->c;
    int64_t vector = contract_vector(c), registers = c->l->target->vector_registers;
    double best = INFINITY;
    for (int64_t vectors = 1; vectors <= DIRECT_VECTORS; vectors *= 2) { /* a VECTOR loop's width is a power of two */
        int64_t most = TORTURED(TORTURE_TILE, (registers - 1 - registers / WINOGRAD_SPARE) / vectors - 1);
        if (vectors > 1 && vectors * vector / 2 >= w->v->features)
            continue;
        for (int64_t n = 1; n <= w->count && n <= most; n++) {
            int64_t units = ceil_div(w->count, n), panels = ceil_div(w->v->features, vectors * vector);
            double line = direct_line_cost(c, n, vectors, false), ends = DIRECT_TILE_OPS + (double)(n * vectors);
            double cost = (double)units * (double)panels * ((double)w->v->channels * line + ends);
            if (cost > best || (cost == best && n * vectors * vector <= w->tile * w->lanes))
                continue;
            best = cost;
            w->tile = n;
            w->units = units;
            w->lanes = vectors * vector;
            w->panels = panels;
        }
    }
}

static bool find(struct winograd *w) {
    const struct contraction *c = w->c;
    const struct conv *v = w->v;
    struct contract_input input;
    if (!v || !applies(w))
        return false;
    w->rows = ceil_div(v->dim[0].out, RESULTS);
    w->columns = ceil_div(v->dim[1].out, RESULTS);
    w->count = v->batches * w->rows * w->columns;
    double most = (double)v->channels * ((double)v->features + (double)w->count) * WINOGRAD_ROOM;
    if (most > (double)(INT64_MAX / 8))
        return false;
    contract_find_input(w->c, &input);
    w->in_squares = input.cheap;
    w->is_copied = !input.cheap || (input.steps.channel != 1 && v->channels > 1);
    if (!pays(w))
        return false;
    find_tile(w);
    int64_t line = c->l->target->line_bytes / 4;
    w->chunk = line && v->channels % line == 0 ? line : v->channels;
    w->slab = w->chunk < WINOGRAD_DEPTH ? WINOGRAD_DEPTH / w->chunk : 1;
    const struct target *t = c->l->target;
    int64_t wanted = direct_tasks(t), weights = POINTS * v->channels * v->features;
    w->in_block = w->units >= wanted && (size_t)weights <= t->l2_bytes / 4 / 2;
    w->panel_block = w->panels;
    w->unit_block = ceil_div(w->units, wanted);
    if (!w->in_block)
        direct_blocks(t, w->units, w->panels, (double)weights, POINTS * (double)v->channels * (double)w->count, &w->panel_block,
                      &w->unit_block);
    int64_t depth = w->slab * w->chunk < v->channels ? w->slab * w->chunk : v->channels;
    int64_t room = (int64_t)t->l1_bytes / 4 * 3 - 4 * depth * (w->lanes + w->tile);
    int64_t fit = room / (4 * RESULTS * RESULTS * w->tile * w->lanes);
    w->group = fit < 1 ? 1 : fit < w->unit_block ? fit : w->unit_block;
    return true;
}

/* ---- the transforms ------------------------------------------------------------------------- */

static kir_val add(struct lower *l, kir_val a, kir_val b) {
    return kir_op2(l->k, KIR_ADD, 0, a, b);
}

static kir_val sub(struct lower *l, kir_val a, kir_val b) {
    return kir_op2(l->k, KIR_SUB, 0, a, b);
}

static kir_val both(struct lower *l, kir_val a, kir_val b) {
    return kir_op2(l->k, KIR_AND, 0, a, b);
}

/* Along one dimension, in which elements are `step` apart: Bᵀ x of four, G x of three elements, in place. */
static void transform_input(struct lower *l, kir_val *x, int step) {
    kir_val a = x[0], b = x[step], c = x[2 * step], d = x[3 * step];
    x[0] = sub(l, a, c);
    x[step] = add(l, b, c);
    x[2 * step] = sub(l, c, b);
    x[3 * step] = sub(l, b, d);
}

static void transform_weights(struct lower *l, kir_val *x, int step) {
    kir_val sum = add(l, x[0], x[2 * step]), half = kir_float(l->k, KIR_F32, 0.5), middle = x[step];
    x[3 * step] = x[2 * step];
    x[step] = kir_op2(l->k, KIR_MUL, 0, add(l, sum, middle), half);
    x[2 * step] = kir_op2(l->k, KIR_MUL, 0, sub(l, sum, middle), half);
}

static void transform(struct lower *l, kir_val *x, void (*along)(struct lower *, kir_val *, int), int before, int after) {
    for (int i = 0; i < before; i++)
        along(l, x + i, 4);
    for (int i = 0; i < after; i++)
        along(l, x + 4 * i, 1);
}

/* Transforms the weights by a prologue. */
static void pack_weights(struct winograd *w) {
    struct contraction *c = w->c;
    const struct conv *v = w->v;
    struct contract_kernel prologue;
    int64_t dims[] = {w->panels, v->channels};
    kir_val at[2], x[POINTS];
    uint32_t temp = lower_new_temp(c->l, IR_F32_T, w->panels * POINTS * v->channels * w->lanes);
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    uint32_t to = lower_temp(l, temp, KIR_OUT);
    lower_grid_nd(l, dims, 2, at);
    kir_val first = lower_mul(l, at[0], w->lanes);
    kir_val lane = kir_loop_to(l->k, KIR_VECTOR, lower_extent(l, first, w->lanes, v->features), (uint32_t)contract_vector(c));
    c->result[v->feature].at = lower_add(l, first, lane);
    c->sum[2].at = at[1];
    for (int i = 0; i < 9; i++) {
        c->sum[0].at = kir_i64(l->k, i / 3);
        c->sum[1].at = kir_i64(l->k, i % 3);
        x[i / 3 * 4 + i % 3] = contract_factor(c, 1);
    }
    transform(l, x, transform_weights, 3, 4);
    for (int i = 0; i < POINTS; i++) {
        kir_val line = lower_add(l, lower_mul(l, at[0], POINTS), kir_i64(l->k, i));
        line = lower_add(l, lower_mul(l, line, v->channels), at[1]);
        kir_store(l->k, to, lower_add(l, lower_mul(l, line, w->lanes), lane), x[i]);
    }
    kir_close(l->k);
    kir_close(l->k);
    contract_prologue_end(c, &prologue);
    w->weights = lower_temp(c->l, temp, KIR_IN);
}

static kir_val copy_place(const struct winograd *w, const kir_val *at, kir_val channel) {
    const struct conv *v = w->v;
    struct lower *l = w->c->l;
    kir_val row = lower_add(l, lower_mul(l, at[0], v->dim[0].size), at[1]);
    kir_val position = lower_add(l, lower_mul(l, row, v->dim[1].size), at[2]);
    return lower_add(l, lower_mul(l, position, v->channels), channel);
}

/* The input's element at an image, row and column, and a channel, from the copy or the operand. */
static kir_val input_element(const struct winograd *w, const kir_val *at, kir_val channel, bool from_copy) {
    const struct conv *v = w->v;
    struct index index = {.n = 4};
    if (from_copy)
        return lower_load_guarded(w->c->l, w->copy, copy_place(w, at, channel));
    index.at[v->in_batch] = at[0];
    index.at[v->dim[0].in] = at[1];
    index.at[v->dim[1].in] = at[2];
    index.at[v->in_feature] = channel;
    return contract_input(w->c, &index);
}

/* Copies `count` positions of an image from `first` on, in squares, which the code generator transposes. */
static void copy_positions(struct winograd *w, uint32_t to, kir_val image, kir_val first, kir_val count) {
    const struct conv *v = w->v;
    struct lower *l = w->c->l;
    kir_val at[3] = {image};
    for (int64_t at_once = w->in_squares ? contract_vector(w->c) : 1; at_once; at_once = lower_next_square(at_once)) {
        kir_val n = lower_div(l, count, at_once), i = lower_mul(l, kir_loop_to(l->k, KIR_SERIAL, n, 0), at_once);
        kir_val channel = kir_loop(l->k, KIR_VECTOR, v->channels, (uint32_t)contract_vector(w->c));
        for (int64_t j = 0; j < at_once; j++) {
            kir_val position = lower_add(l, lower_add(l, first, i), kir_i64(l->k, j));
            lower_unflatten(l, position, (const int64_t[]){v->dim[0].size, v->dim[1].size}, 2, at + 1);
            kir_store(l->k, to, copy_place(w, at, channel), input_element(w, at, channel, false));
        }
        lower_close(l, 2);
        first = lower_add(l, first, lower_mul(l, n, at_once));
        count = lower_rem(l, count, at_once);
    }
}

/* Copies the input by a prologue; an iteration writes some positions of an image. Prologues run in the reverse of the order in
   which they are built. */
static void copy_input(struct winograd *w) {
    struct contraction *c = w->c;
    struct contract_kernel prologue;
    int64_t positions = w->v->dim[0].size * w->v->dim[1].size;
    int64_t dims[] = {w->v->batches, ceil_div(positions, WINOGRAD_POSITIONS)};
    kir_val at[2];
    contract_prologue_begin(c, &prologue);
    uint32_t to = lower_temp(c->l, w->copy_temp, KIR_OUT);
    lower_grid_nd(c->l, dims, 2, at);
    kir_val first = lower_mul(c->l, at[1], WINOGRAD_POSITIONS);
    copy_positions(w, to, at[0], first, lower_extent(c->l, first, WINOGRAD_POSITIONS, positions));
    kir_close(c->l->k);
    contract_prologue_end(c, &prologue);
}

/* Makes the copy a parameter of the kernel that transforms the input. */
static void read_copy(struct winograd *w) {
    if (w->is_copied)
        w->copy = lower_temp(w->c->l, w->copy_temp, KIR_IN);
}

/* The 4×4 elements of a tile, in vectors of channels, transformed; `inside`: all of them exist, else guard[dimension][i] says
   whether those of row or column i do. */
static void transform_tile(struct winograd *w, uint32_t to, kir_val place, kir_val batch, kir_val position[2][4],
                           kir_val guard[2][4], bool inside) {
    const struct conv *v = w->v;
    struct lower *l = w->c->l;
    kir_val x[POINTS], chunk = kir_loop(l->k, KIR_SERIAL, v->channels / w->chunk, 0);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, w->chunk, (uint32_t)contract_vector(w->c));
    kir_val channel = lower_add(l, lower_mul(l, chunk, w->chunk), lane);
    place = lower_add(l, place, lower_mul(l, chunk, w->tile * w->chunk));
    for (int i = 0; i < POINTS; i++) {
        kir_val at[] = {batch, position[0][i / 4], position[1][i % 4]};
        if (!inside)
            l->guard = both(l, guard[0][i / 4], guard[1][i % 4]);
        x[i] = input_element(w, at, channel, w->is_copied);
        if (!inside)
            x[i] = kir_select(l->k, l->guard, x[i], kir_float(l->k, KIR_F32, 0));
        l->guard = (kir_val){0};
    }
    transform(l, x, transform_input, 4, 4);
    for (int i = 0; i < POINTS; i++)
        kir_store(l->k, to, lower_add(l, lower_add(l, place, kir_i64(l->k, i * w->tile * v->channels)), lane), x[i]);
    lower_close(l, 2);
}

/* The image, row and column of a tile. */
static void find_place(const struct winograd *w, kir_val tile, kir_val *at) {
    lower_unflatten(w->c->l, tile, (const int64_t[]){w->v->batches, w->rows, w->columns}, 3, at);
}

/* Transforms a unit of the input to place `slot` of a buffer. Tiles beyond the last are zeros. */
static void pack_unit(struct winograd *w, uint32_t to, kir_val slot, kir_val unit) {
    struct lower *l = w->c->l;
    const struct conv *v = w->v;
    kir_val at[3], position[2][4], guard[2][4], r = kir_loop(l->k, KIR_SERIAL, w->tile, 0);
    kir_val tile = lower_add(l, lower_mul(l, unit, w->tile), r), last = kir_i64(l->k, w->count - 1);
    kir_val exists = kir_cmp(l->k, KIR_LE, 0, tile, last), all = exists;
    find_place(w, kir_op2(l->k, KIR_MIN, 0, tile, last), at);
    for (uint32_t d = 0; d < 2; d++)
        for (int i = 0; i < 4; i++) {
            kir_val q = lower_add(l, lower_mul(l, at[1 + d], RESULTS), kir_i64(l->k, i));
            guard[d][i] = exists;
            position[d][i] = lower_conv_position(l, v, d, q, RESULTS * (d == 0 ? w->rows : w->columns) + 1, &guard[d][i]);
            all = both(l, all, guard[d][i]);
        }
    kir_val place = lower_add(l, lower_mul(l, slot, POINTS * w->tile * v->channels), lower_mul(l, r, w->chunk));
    kir_if(l->k, all);
    transform_tile(w, to, place, at[0], position, guard, true);
    kir_else(l->k);
    transform_tile(w, to, place, at[0], position, guard, false);
    lower_close(l, 2);
}

/* Transforms the input by a prologue; an iteration writes a unit. */
static void pack_input(struct winograd *w) {
    struct contraction *c = w->c;
    struct contract_kernel prologue;
    uint32_t temp = lower_new_temp(c->l, IR_F32_T, w->units * POINTS * w->tile * w->v->channels);
    contract_prologue_begin(c, &prologue);
    uint32_t to = lower_temp(c->l, temp, KIR_OUT);
    read_copy(w);
    kir_val unit = lower_grid(c->l, w->units);
    pack_unit(w, to, unit, unit);
    kir_close(c->l->k);
    contract_prologue_end(c, &prologue);
    w->input = lower_temp(c->l, temp, KIR_IN);
}

/* ---- the products --------------------------------------------------------------------------- */

/* A group's first unit, how many units it has; the panel, the lane in it. */
struct place {
    kir_val unit, units, panel, lane;
};

/* Where result i of tile r of unit u of a group is. */
static kir_val sum_place(const struct winograd *w, const struct place *p, kir_val u, kir_val i, kir_val r) {
    struct lower *l = w->c->l;
    kir_val at = lower_add(l, lower_mul(l, lower_add(l, lower_mul(l, u, RESULTS * RESULTS), i), w->tile), r);
    return lower_add(l, lower_mul(l, at, w->lanes), p->lane);
}

static kir_val compare(struct lower *l, enum kir_cmp cmp, kir_val a, int64_t b) {
    return kir_cmp(l->k, cmp, 0, a, kir_i64(l->k, b));
}

/* Adds the sums of point (row, column) of unit u to the results: the first one of a dimension is points 0 + 1 + 2, the second
   one 1 - 2 - 3. */
static void add_point(struct winograd *w, const struct place *p, kir_val u, kir_val row, kir_val column, kir_val reg) {
    struct lower *l = w->c->l;
    kir_val minus[2] = {compare(l, KIR_GE, row, 2), compare(l, KIR_GE, column, 2)};
    kir_val one = kir_float(l->k, KIR_F32, 1), less = kir_float(l->k, KIR_F32, -1);
    for (int i = 0; i < RESULTS * RESULTS; i++) {
        int first = i / RESULTS, second = i % RESULTS;
        kir_val sign = one;
        if (first || second) {
            kir_val negative = first && second ? kir_op2(l->k, KIR_XOR, 0, minus[0], minus[1]) : minus[second];
            sign = kir_select(l->k, negative, less, one);
        }
        kir_if(l->k, both(l, first ? compare(l, KIR_GT, row, 0) : compare(l, KIR_LT, row, 3),
                          second ? compare(l, KIR_GT, column, 0) : compare(l, KIR_LT, column, 3)));
        kir_val r = kir_loop(l->k, KIR_UNROLLED, w->tile, 0), to = sum_place(w, p, u, kir_i64(l->k, i), r);
        kir_store(l->k, w->sums, to, kir_fma(l->k, kir_get_reg(l->k, reg, r), sign, kir_load(l->k, w->sums, to)));
        lower_close(l, 2);
    }
}

/* The results of a group. */
static void multiply(struct winograd *w, const struct place *p) {
    struct contraction *c = w->c;
    struct lower *l = c->l;
    int64_t channels = w->v->channels, chunks = channels / w->chunk;
    kir_val u = kir_loop_to(l->k, KIR_SERIAL, p->units, 0), i = kir_loop(l->k, KIR_SERIAL, RESULTS * RESULTS * w->tile, 0);
    kir_store(l->k, w->sums, sum_place(w, p, u, kir_i64(l->k, 0), i), contract_zero(c));
    lower_close(l, 2);
    kir_val slab = lower_mul(l, kir_loop(l->k, KIR_SERIAL, ceil_div(chunks, w->slab), 0), w->slab);
    kir_val point = kir_loop(l->k, KIR_SERIAL, POINTS, 0);
    u = kir_loop_to(l->k, KIR_SERIAL, p->units, 0);
    kir_val reg = kir_reg(l->k, contract_zero(c), w->tile), unit = lower_add(l, p->unit, u);
    kir_val weight = lower_mul(l, lower_add(l, lower_mul(l, p->panel, POINTS), point), channels);
    kir_val factor = lower_mul(l, lower_add(l, lower_mul(l, w->in_block ? u : unit, POINTS), point), w->tile * channels);
    kir_val chunk = lower_add(l, slab, kir_loop_to(l->k, KIR_SERIAL, lower_extent(l, slab, w->slab, chunks), 0));
    int64_t n = block_lines_at_once(w->tile * (w->lanes / contract_vector(c)), w->chunk & -w->chunk);
    i = lower_mul(l, kir_loop(l->k, KIR_SERIAL, w->chunk / n, 0), n);
    i = lower_add(l, i, kir_loop(l->k, KIR_UNROLLED, n, 0));
    weight = lower_add(l, weight, lower_add(l, lower_mul(l, chunk, w->chunk), i));
    weight = lower_add(l, lower_mul(l, weight, w->lanes), p->lane);
    c->packed[1] = (struct packed){.on = true, .buffer = w->weights, .at = weight};
    kir_prefetch(l->k, w->weights, lower_add(l, weight, kir_i64(l->k, DIRECT_AHEAD / 4)));
    kir_val r = kir_loop(l->k, KIR_UNROLLED, w->tile, 0);
    factor = lower_add(l, factor, lower_mul(l, lower_add(l, lower_mul(l, chunk, w->tile), r), w->chunk));
    c->packed[0] = (struct packed){.on = true, .buffer = w->input, .at = lower_add(l, factor, i)};
    contract_multiply_add(c, reg, r);
    lower_close(l, 4);
    c->packed[0].on = c->packed[1].on = false;
    add_point(w, p, u, lower_div(l, point, 4), lower_rem(l, point, 4), reg);
    lower_close(l, 3);
}

/* Whether a result of the `tiles` first tiles of unit u is not finite, in any lane. */
static kir_val is_infinite(struct winograd *w, const struct place *p, kir_val u, kir_val tiles) {
    struct lower *l = w->c->l;
    kir_val zero = contract_zero(w->c), reg = kir_reg(l->k, zero, 1), none = {0};
    kir_val i = kir_loop(l->k, KIR_SERIAL, RESULTS * RESULTS, 0), r = kir_loop_to(l->k, KIR_SERIAL, tiles, 0);
    kir_val y = kir_load(l->k, w->sums, sum_place(w, p, u, i, r));
    kir_set_reg(l->k, reg, none, kir_fma(l->k, y, zero, kir_get_reg(l->k, reg, none))); /* NaN, unless y is finite */
    lower_close(l, 2);
    return kir_op1(l->k, KIR_ANY, kir_cmp(l->k, KIR_NE, 0, kir_get_reg(l->k, reg, none), zero));
}

/* Opens loops over the results of unit u, sets their axes; returns how many. *to: where the result is. */
static uint32_t open_results(struct winograd *w, const struct place *p, kir_val u, kir_val tiles, kir_val *to) {
    struct contraction *c = w->c;
    const struct conv *v = w->v;
    struct lower *l = c->l;
    uint32_t opened = 2;
    kir_val at[3], r = kir_loop_to(l->k, KIR_SERIAL, tiles, 0), i = kir_loop(l->k, KIR_SERIAL, RESULTS * RESULTS, 0);
    find_place(w, lower_add(l, lower_mul(l, lower_add(l, p->unit, u), w->tile), r), at);
    *to = sum_place(w, p, u, i, r);
    c->result[v->batch].at = at[0];
    for (uint32_t d = 0; d < 2; d++) {
        kir_val of = d == 0 ? lower_div(l, i, RESULTS) : lower_rem(l, i, RESULTS);
        kir_val pixel = c->result[v->dim[d].axis].at = lower_add(l, lower_mul(l, at[1 + d], RESULTS), of);
        if (v->dim[d].out % RESULTS == 0)
            continue;
        kir_if(l->k, compare(l, KIR_LT, pixel, v->dim[d].out));
        opened++;
    }
    return opened;
}

/* The results of unit u by the definition. */
static void compute_again(struct winograd *w, const struct place *p, kir_val u, kir_val tiles) {
    struct contraction *c = w->c;
    struct lower *l = c->l;
    kir_val to, none = kir_i64(l->k, 0);
    uint32_t opened = open_results(w, p, u, tiles, &to);
    kir_val reg = kir_reg(l->k, contract_zero(c), 1);
    for (uint32_t s = 0; s < c->nsum; s++)
        c->sum[s].at = kir_loop(l->k, KIR_SERIAL, c->sum[s].size, 0);
    contract_multiply_add(c, reg, none);
    lower_close(l, c->nsum);
    kir_store(l->k, w->sums, to, kir_get_reg(l->k, reg, none));
    lower_close(l, opened);
}

/* The products and the epilogue of a group. */
static void compute_group(struct winograd *w, struct place *p) {
    struct contraction *c = w->c;
    struct lower *l = c->l;
    kir_val to, first = lower_mul(l, p->panel, w->lanes);
    p->lane = kir_loop_to(l->k, KIR_VECTOR, lower_extent(l, first, w->lanes, w->v->features), (uint32_t)w->lanes);
    c->result[w->v->feature].at = lower_add(l, first, p->lane);
    multiply(w, p);
    kir_val u = kir_loop_to(l->k, KIR_SERIAL, p->units, 0);
    kir_val tiles = lower_extent(l, lower_mul(l, lower_add(l, p->unit, u), w->tile), w->tile, w->count);
    kir_if(l->k, is_infinite(w, p, u, tiles));
    compute_again(w, p, u, tiles);
    kir_close(l->k);
    uint32_t opened = open_results(w, p, u, tiles, &to);
    contract_finish(c, kir_load(l->k, w->sums, to));
    lower_close(l, opened + 2);
}

bool contract_winograd(struct contraction *c) {
    struct lower *l = c->l;
    struct winograd w = {.c = c, .v = c->conv};
    struct place p;
    kir_val at[2];
    if (!find(&w))
        return false;
    pack_weights(&w);
    if (w.is_copied)
        w.copy_temp = lower_new_temp(l, IR_F32_T, elements_of_input(&w));
    if (w.in_block) {
        read_copy(&w);
        w.input = kir_scratch(l->k, IR_F32_T, w.group * POINTS * w.tile * w.v->channels);
    } else {
        pack_input(&w);
    }
    if (w.is_copied)
        copy_input(&w);
    lower_grid_nd(l, (const int64_t[]){ceil_div(w.panels, w.panel_block), ceil_div(w.units, w.unit_block)}, 2, at);
    kir_val panel0 = lower_mul(l, at[0], w.panel_block), unit0 = lower_mul(l, at[1], w.unit_block);
    kir_val units = lower_extent(l, unit0, w.unit_block, w.units);
    w.sums = kir_scratch(l->k, IR_F32_T, w.group * RESULTS * RESULTS * w.tile * w.lanes);
    kir_val first = lower_mul(l, kir_loop(l->k, KIR_SERIAL, ceil_div(w.unit_block, w.group), 0), w.group);
    kir_val left = lower_add(l, units, lower_mul(l, first, -1)), most = kir_i64(l->k, w.group);
    p.units = kir_op2(l->k, KIR_MAX, 0, kir_op2(l->k, KIR_MIN, 0, left, most), kir_i64(l->k, 0));
    p.unit = lower_add(l, unit0, first);
    if (w.in_block) {
        kir_val u = kir_loop_to(l->k, KIR_SERIAL, p.units, 0);
        pack_unit(&w, w.input, u, lower_add(l, p.unit, u));
        kir_close(l->k);
    }
    p.panel = lower_add(l, panel0, kir_loop_to(l->k, KIR_SERIAL, lower_extent(l, panel0, w.panel_block, w.panels), 0));
    compute_group(&w, &p);
    lower_close(l, 3);
    return true;
}
