/* Convolutions of groups of few features, such as depthwise ones: every lane has an input channel of its own, so that vectors
 * of the input are multiplied by vectors of weights. Lanes run along the features where they are contiguous in the result
 * (NHWC); else along the last spatial dimension (NCHW), and weights are the same in all of them.
 *
 * An iteration of the grid takes some units, such as rows, of some lanes. Where lanes are features, each vector of them takes
 * all units before the next one is begun, so that what windows of neighbouring units share stays in the L1 cache; and there are
 * rather more parts of the features than of the units, whose ends are read twice.
 *
 * A register tile is a line of output positions along one more spatial dimension. Under one tap of the other dimensions, each
 * vector of the input that the tile's windows cover is loaded once and multiplied for all of the windows that it is in. The
 * input is read in place: at either end of the dimension the loop body is a copy in which products of padding are left out. */
#include "lower/contract.h"

enum {
    DEPTHWISE_TILE = TORTURED(TORTURE_TILE, 14), /* positions of a register tile, at most, */
    DEPTHWISE_PRODUCTS = 144,                    /* and products of it under one tap of the other dimensions */
    DEPTHWISE_UNITS = TORTURED(1, 4),            /* of a block, unless there would be too few tasks */
    DEPTHWISE_WORK = TORTURED(TORTURE_PART, 1 << 13)
};

struct depthwise {
    struct contraction *c;
    const struct conv *v;
    struct contract_input input;
    bool planes;                /* lanes run along the last spatial dimension */
    uint32_t along;             /* the spatial dimension of tiles */
    int64_t tile, tiles;        /* positions of a tile, tiles of a line */
    int64_t lanes, parts, part; /* elements of the axis of lanes: a vector, blocks of it, those of a block */
    struct contract_axes units; /* the axes of the result but those of lanes and tiles */
    int64_t block;              /* units of a block */
    bool packed;                /* weights are read from `weights`: lines of the sum by features */
    uint32_t weights;
};

static uint32_t lane_axis(const struct depthwise *d) {
    return d->planes ? d->v->dim[d->v->n - 1].axis : d->v->feature;
}

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

/* A tile whose first position is `first`. */
struct place {
    kir_val first, reg;
    bool inside; /* its windows do not leave the input along the dimension of tiles */
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

/* The products under one tap of the other dimensions: every position of the input that windows cover, in order. */
static void multiply_line(struct depthwise *d, const struct place *t, struct index *at, kir_val guard) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    const struct conv_dim *w = &d->v->dim[d->along];
    kir_val weights[DEPTHWISE_PRODUCTS], base = {0};
    for (int64_t k = 0; k < w->window; k++) {
        c->sum[d->along].at = kir_i64(l->k, k);
        weights[k] = weight(d);
    }
    if (d->input.plain && w->base == 1) { /* a load for its index: that of position 0, which need not exist */
        kir_val q = lower_mul(l, t->first, w->stride);
        at->at[w->in] = w->size == 1 ? kir_i64(l->k, 0) : lower_add(l, q, kir_i64(l->k, -w->low)); /* 1: the step is 0 */
        base = contract_input(c, at);
    }
    for (int64_t q = 0; q <= (d->tile - 1) * w->stride + (w->window - 1) * w->dilation; q++) {
        kir_val x = {0};
        bool loaded = false;
        for (int64_t r = 0; r < d->tile; r++) {
            int64_t k = q - r * w->stride;
            if (k < 0 || k % w->dilation || k / w->dilation >= w->window)
                continue;
            if (!loaded)
                x = input(d, t, at, base, q, guard);
            loaded = true;
            kir_val i = kir_i64(l->k, r), y = weights[k / w->dilation];
            if (x.i)
                kir_set_reg(l->k, t->reg, i, kir_fma(l->k, x, y, kir_get_reg(l->k, t->reg, i)));
        }
    }
}

/* All products of a tile. */
static void multiply(struct depthwise *d, const struct place *t) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    struct lower *l = c->l;
    struct index at = {.n = v->n + 2};
    kir_val guard = {0}, lanes = {0}, feature = c->result[v->feature].at, channel;
    uint32_t opened = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct conv_dim *w = &v->dim[i];
        if (i == d->along)
            continue;
        c->sum[i].at = kir_loop(l->k, KIR_SERIAL, w->window, 0);
        opened++;
        kir_val q = lower_add(l, lower_mul(l, c->result[w->axis].at, w->stride), lower_mul(l, c->sum[i].at, w->dilation));
        bool own = d->planes && i + 1 == v->n; /* the guard differs between lanes */
        at.at[w->in] = lower_conv_position(l, v, i, q, w->image - 1, own ? &lanes : &guard);
    }
    channel = c->sum[v->n].at = kir_loop(l->k, KIR_SERIAL, v->channels, 0);
    kir_val group = lower_div(l, feature, v->features / v->groups);
    at.at[v->in_feature] = lower_add(l, lower_mul(l, group, v->channels), channel);
    at.at[v->in_batch] = c->result[v->batch].at;
    int64_t bits;
    bool always = !guard.i || (kir_is_const(l->k, guard, &bits) && bits);
    if (!always)
        kir_if(l->k, guard);
    multiply_line(d, t, &at, lanes);
    if (!always)
        kir_close(l->k);
    lower_close(l, opened + 1);
}

/* A tile: products, then the epilogue. */
static void tile(struct depthwise *d, kir_val first, bool inside, kir_val begin, kir_val count) {
    struct contraction *c = d->c;
    struct lower *l = c->l;
    struct axis *along = &c->result[d->v->dim[d->along].axis], *lanes = &c->result[lane_axis(d)];
    if (d->planes)
        lanes->at = lower_add(l, begin, kir_loop_to(l->k, KIR_VECTOR, count, (uint32_t)d->lanes));
    struct place t = {first, kir_reg(l->k, contract_zero(c), d->tile), inside};
    along->at = first;
    multiply(d, &t);
    kir_val r = kir_loop(l->k, KIR_UNROLLED, d->tile, 0);
    along->at = lower_add(l, first, r);
    contract_finish(c, kir_get_reg(l->k, t.reg, r));
    lower_close(l, 1 + d->planes);
}

/* All tiles of a line: the first and the last ones at constant positions where windows leave the input there. */
static void tiles(struct depthwise *d, kir_val begin, kir_val count) {
    struct lower *l = d->c->l;
    const struct conv_dim *w = &d->v->dim[d->along];
    int64_t before = 0, after = d->tiles; /* tiles [before, after) are inside */
    bool clean = w->base == 1;
    while (clean && before < d->tiles && before * d->tile * w->stride < w->low)
        before++;
    while (clean && after > before &&
           (after == d->tiles ? w->out - d->tile : (after - 1) * d->tile) * w->stride + (d->tile - 1) * w->stride +
                   (w->window - 1) * w->dilation - w->low >=
               w->size)
        after--;
    if (!clean || before > 1 || d->tiles - after > 1) { /* windows much larger than tiles: guards at all of them */
        kir_val i = kir_loop(l->k, KIR_SERIAL, d->tiles, 0);
        tile(d, contract_tile_begin(l, i, w->out, d->tile), false, begin, count);
        kir_close(l->k);
        return;
    }
    if (before)
        tile(d, kir_i64(l->k, 0), false, begin, count);
    if (after > before) {
        kir_val i = lower_add(l, kir_loop(l->k, KIR_SERIAL, after - before, 0), kir_i64(l->k, before));
        tile(d, contract_tile_begin(l, i, w->out, d->tile), true, begin, count);
        kir_close(l->k);
    }
    if (after < d->tiles && (before == 0 || d->tiles > 1))
        tile(d, kir_i64(l->k, w->out - d->tile), false, begin, count);
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

/* The size of tiles: as many registers as there are less those for operands, with the least products computed twice. */
static bool find_tile(struct depthwise *d) {
    const struct conv_dim *w = &d->v->dim[d->along];
    int64_t most = (int64_t)d->c->l->target->vector_registers - w->window - 2, best = 0;
    most = most > DEPTHWISE_TILE ? DEPTHWISE_TILE : most < 4 ? 4 : most;
    most = most > w->out ? w->out : most;
    if (most * w->window > DEPTHWISE_PRODUCTS)
        most = DEPTHWISE_PRODUCTS / w->window;
    for (int64_t t = 1; t <= most; t++)
        if (best == 0 || ceil_of(w->out, t) * (t + 1) <= ceil_of(w->out, best) * (best + 1))
            best = t;
    d->tile = best;
    d->tiles = best ? ceil_of(w->out, best) : 0;
    return best > 0;
}

/* Units of a block and parts of the lanes, for about `wanted` tasks. Vectors of features are divided among tasks first; but a
   core has its own units, which it computed in the step before, and the L2 cache holds a block's units of all features. */
static void divide(struct depthwise *d, int64_t wanted) {
    const struct contraction *c = d->c;
    const struct target *t = c->l->target;
    int64_t units = d->units.size, blocks = wanted, size = c->result[lane_axis(d)].size, most = ceil_of(size, d->lanes);
    if (!d->planes) {
        double elements = (double)ir_val_count(c->l->m, ir_operand(c->l->m, c->op, 0)) +
                          (double)ir_val_count(c->l->m, ir_result(c->l->m, c->op, 0));
        double far = elements * (kir_type_bits(c->acc) / 8) / (double)t->l2_bytes;
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
    d->part = ceil_of(most, d->parts) * d->lanes;
    d->parts = ceil_of(size, d->part);
}

static bool find(struct depthwise *d) {
    struct contraction *c = d->c;
    const struct conv *v = d->v;
    const struct target *target = c->l->target;
    int64_t vector = contract_vector(c), lines = 1;
    double work = (double)ir_val_count(c->l->m, ir_result(c->l->m, c->op, 0));
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
    if (!find_tile(d))
        return false;
    contract_find_input(c, &d->input);
    d->lanes = vector;
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
    divide(d, wanted);
    return true;
}

bool contract_depthwise(struct contraction *c) {
    struct lower *l = c->l;
    struct depthwise d = {.c = c, .v = c->conv};
    if (!c->conv || !find(&d))
        return false;
    if (d.packed)
        pack_weights(&d);
    int64_t dims[] = {ceil_of(d.units.size, d.block), d.parts};
    kir_val at[2];
    lower_grid_nd(l, dims, 2, at);
    kir_val first = lower_mul(l, at[0], d.block), begin = lower_mul(l, at[1], d.part);
    kir_val count = lower_extent(l, begin, d.part, c->result[lane_axis(&d)].size), lane = begin;
    if (!d.planes)
        lane = lower_add(l, begin, kir_loop_to(l->k, KIR_VECTOR, count, (uint32_t)d.lanes));
    kir_val unit = lower_add(l, first, kir_loop_to(l->k, KIR_SERIAL, lower_extent(l, first, d.block, d.units.size), 0));
    contract_set(c, &d.units, unit);
    c->result[lane_axis(&d)].at = lane;
    tiles(&d, begin, count);
    lower_close(l, 2 + !d.planes);
    return true;
}
