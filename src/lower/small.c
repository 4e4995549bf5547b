/* Small GEMM without packing, in a register tile: lanes along an axis of the result, of whose operand a vector is multiplied by
 * scalars of the other for as many rows as registers hold; or, where both operands are contiguous along an axis of the sum,
 * lanes along that (dot products). */
#include "lower/contract.h"

enum { SMALL_AHEAD = 48 }; /* lines of the sum that are prefetched: about 100 ns of a register tile's steps */

static void open_sums(struct contraction *c, uint32_t but, uint32_t *opened) {
    for (uint32_t i = 0; i < c->nsum; i++)
        if (i != but) {
            c->sum[i].at = kir_loop(c->l->k, KIR_SERIAL, c->sum[i].size, 0);
            ++*opened;
        }
}

/* Opens the parallel loop over the axes of the result in this order, the last one innermost, and sets their indices; counts: of
   tiles where an axis is tiled. */
static void open_grid(struct contraction *c, const uint32_t *order, const int64_t *counts, uint32_t n, kir_val *at,
                      uint32_t *opened) {
    int64_t all = 1;
    for (uint32_t i = 0; i < n; i++)
        all *= counts[i];
    if (all > 1) {
        lower_grid_nd(c->l, counts, n, at);
        ++*opened;
    } else {
        for (uint32_t i = 0; i < n; i++)
            at[i] = kir_i64(c->l->k, 0);
    }
    for (uint32_t i = 0; i < n && i < c->nresult; i++)
        c->result[order[i]].at = at[i];
}

/* All axes but p and q, then p and q unless they are `nresult`. */
static uint32_t grid_order(const struct contraction *c, uint32_t p, uint32_t q, uint32_t *order) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (i != p && i != q)
            order[n++] = i;
    if (p < c->nresult)
        order[n++] = p;
    if (q < c->nresult)
        order[n++] = q;
    return n;
}

/* Whether the operands are larger than the L1 cache: products are bound by memory then. */
static bool is_large(const struct contraction *c) {
    size_t bytes = 0, n;
    for (uint32_t i = 0; i < 2; i++)
        bytes += ir_type_bytes(ir_val_type(c->l->m, ir_operand(c->l->m, c->op, i)), &n) ? n : SIZE_MAX / 4;
    return bytes > c->l->target->l1_bytes;
}

/* How many partial sums hide the latency of multiply-add where a tile has few registers. */
static int64_t sum_parts(const struct contraction *c, int64_t registers) {
    int64_t parts = 1, size = c->nsum ? c->sum[c->nsum - 1].size : 1;
    if (c->l->kernel->strict || !kir_is_float(c->acc) || is_large(c) || c->l->kernel->batch_invariant)
        return 1; /* batch_invariant: rows, and zeros at the end of a sum, change neither parts nor their order */
    while (2 * parts * registers <= c->l->target->fma_in_flight && parts < 4 && size % (2 * parts) == 0 && size > 2 * parts)
        parts *= 2;
    return parts;
}

/* Prefetches a later line of the operand that changes along the lanes, axis v, if each line is in another cache line: a tile
   reads a part of each, in steps that hardware prefetchers do not follow from page to page. */
static void prefetch_line(struct contraction *c, uint32_t v) {
    const struct target *t = c->l->target;
    uint32_t side = c->result[v].stride[0] == 1 ? 0 : 1;
    if (c->nsum != 1 || c->result[v].stride[side] != 1 || c->sum[0].stride[side] <= 0 || t->block_threads || !is_large(c))
        return;
    struct kir *k = c->l->k;
    kir_val load = contract_load(k, contract_factor(c, side));
    if (load.i && c->sum[0].stride[side] * ir_dtype_get(k->buffers.v[kir_get(k, load)->of].dtype)->bytes >= t->line_bytes)
        contract_prefetch(c, load, SMALL_AHEAD * c->sum[0].stride[side]);
}

void contract_result_lanes(struct contraction *c, uint32_t v, uint32_t u) {
    struct lower *l = c->l;
    uint32_t order[IR_MAX_RANK], n = grid_order(c, v, u, order), opened = 0, sums = 0;
    struct contract_axes axes = {.size = 1};
    if (u < c->nresult)
        contract_add_axis(c, &axes, u);
    int64_t size = c->result[v].size, lanes, counts[IR_MAX_RANK];
    struct contract_tile t = {.rows = &axes, .size = contract_best_tile(c, axes.size, size, &lanes)};
    kir_val at[IR_MAX_RANK] = {{0}};
    for (uint32_t i = 0; i < n; i++)
        counts[i] = order[i] == v   ? (size + lanes - 1) / lanes
                    : order[i] == u ? (axes.size + t.size - 1) / t.size
                                    : c->result[order[i]].size;
    open_grid(c, order, counts, n, at, &opened);
    kir_val column = lower_mul(l, c->result[v].at, lanes), part = kir_i64(l->k, 0);
    t.first = u < c->nresult ? contract_tile_begin(l, c->result[u].at, axes.size, t.size) : part;
    c->result[v].at = lower_chunk_loop(l, column, lanes, size, KIR_VECTOR, (uint32_t)lanes);
    t.parts = sum_parts(c, t.size * (lanes / contract_vector(c)));
    t.reg = kir_reg(l->k, contract_zero(c), t.size * t.parts);
    open_sums(c, t.parts > 1 ? c->nsum - 1 : UINT32_MAX, &sums);
    if (t.parts > 1) {
        kir_val step = kir_loop(l->k, KIR_SERIAL, c->sum[c->nsum - 1].size / t.parts, 0);
        part = kir_loop(l->k, KIR_UNROLLED, t.parts, 0);
        c->sum[c->nsum - 1].at = lower_add(l, lower_mul(l, step, t.parts), part);
        sums += 2;
    }
    prefetch_line(c, v);
    contract_tile_multiply_add(c, &t, part);
    lower_close(l, sums);
    contract_tile_finish(c, &t);
    lower_close(l, opened + 1);
}

/* See contract_sum_lanes. */
struct sum_tile {
    uint32_t s, p, q;
    int64_t np, nq; /* sizes of the tile */
    kir_val p0, q0, reg;
};

static kir_val tile_loops(struct contraction *c, const struct sum_tile *t) {
    kir_val i = kir_loop(c->l->k, KIR_UNROLLED, t->np, 0), j = kir_loop(c->l->k, KIR_UNROLLED, t->nq, 0);
    if (t->p < c->nresult)
        c->result[t->p].at = lower_add(c->l, t->p0, i);
    if (t->q < c->nresult)
        c->result[t->q].at = lower_add(c->l, t->q0, j);
    return lower_add(c->l, lower_mul(c->l, i, t->nq), j);
}

/* Adds `steps` times `lanes` products from index `begin` of the sum to the tile's registers. */
static void sum_part(struct contraction *c, const struct sum_tile *t, int64_t begin, int64_t steps, int64_t lanes,
                     uint32_t width) {
    struct lower *l = c->l;
    uint32_t opened = 0;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, lanes, width), reg = kir_reg(l->k, contract_zero(c), t->np * t->nq);
    open_sums(c, t->s, &opened);
    kir_val step = kir_loop(l->k, KIR_SERIAL, steps, 0);
    if (c->nsum)
        c->sum[t->s].at = lower_add(l, lower_add(l, lower_mul(l, step, lanes), lane), kir_i64(l->k, begin));
    contract_multiply_add(c, reg, tile_loops(c, t));
    lower_close(l, opened + 3);
    kir_val i = kir_loop(l->k, KIR_UNROLLED, t->np * t->nq, 0);
    kir_acc(l->k, KIR_ADD, 0, t->reg, i, kir_get_reg(l->k, reg, i));
    lower_close(l, 2);
}

void contract_sum_lanes(struct contraction *c, uint32_t s, uint32_t p, uint32_t q) {
    struct lower *l = c->l;
    uint32_t order[IR_MAX_RANK], n = grid_order(c, p, q, order), opened = 0;
    int64_t np = p < c->nresult ? c->result[p].size : 1, nq = q < c->nresult ? c->result[q].size : 1, counts[IR_MAX_RANK];
    int64_t size = c->nsum ? c->sum[s].size : 1;
    uint32_t vector = (uint32_t)contract_vector(c);
    struct sum_tile t = {.s = s, .p = p, .q = q, .np = contract_tile_size(np, 4), .nq = contract_tile_size(nq, 4)};
    uint32_t width = vector * (t.np * t.nq <= 4 && size >= 4 * vector ? (uint32_t)contract_vectors(c, 2) : 1);
    kir_val at[IR_MAX_RANK];
    for (uint32_t i = 0; i < n; i++)
        counts[i] = order[i] == p ? (np + t.np - 1) / t.np : order[i] == q ? (nq + t.nq - 1) / t.nq : c->result[order[i]].size;
    open_grid(c, order, counts, n, at, &opened);
    if (p < c->nresult)
        t.p0 = contract_tile_begin(l, c->result[p].at, np, t.np);
    if (q < c->nresult)
        t.q0 = contract_tile_begin(l, c->result[q].at, nq, t.nq);
    t.reg = kir_reg(l->k, contract_zero(c), t.np * t.nq);
    if (size / width)
        sum_part(c, &t, 0, size / width, width, width);
    if (size % width)
        sum_part(c, &t, size / width * width, 1, size % width, width);
    kir_val i = tile_loops(c, &t);
    contract_finish(c, kir_get_reg(l->k, t.reg, i));
    lower_close(l, opened + 2);
}

