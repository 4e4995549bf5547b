/* CONTRACT: dot_general and convolution, with what is computed from each element of their result.
 *
 * Both are sums over some loops of products of one element of each operand, at indices that are linear in the loops. How the
 * operands lie in memory decides the schedule, found by lowering an element of each once, for trial, and reading the strides:
 *   lanes along a dimension of the result in which one operand is contiguous and the other does not change: its vector is
 *     loaded once and multiplied by scalars of the other, for as many rows as registers hold (a register tile);
 *   lanes along a contracted dimension in which both are contiguous, when there is no such dimension.
 * What is large enough is computed in blocks (block.c); this file has the schedules of what is small, and the choice.
 * Products are accumulated in the widest type of operands and result, by fused multiply-add. */
#include "lower/contract.h"

enum { LOAD_DEPTH = 12 /* ops between an element and the memory that it is computed from */ };

/* ---- the operands' elements at the loops' indices --------------------------------------------- */

static enum ir_dtype dtype_of(const struct contraction *c, ir_val v) {
    return ir_val_type(c->l->m, v)->dtype;
}

static const int64_t *dims_of(const struct contraction *c, uint32_t operand) {
    return ir_val_type(c->l->m, ir_operand(c->l->m, c->op, operand))->dims;
}

static bool listed(int64_t d, const int64_t *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == d)
            return true;
    return false;
}

/* Dimension numbers of a dot (as dot_general's) side by side. */
struct dot_dims {
    const int64_t *batch, *sum;
    size_t nbatch, nsum;
};

static void dot_dims(const struct contraction *c, uint32_t side, struct dot_dims *out) {
    static const int64_t first = 0, last[] = {0, 1};
    const struct ir_module *m = c->l->m;
    if (ir_kind(m, c->op) == IR_DOT) { /* the last dimension of the left, the first of the right */
        uint32_t rank = ir_val_type(m, ir_operand(m, c->op, 0))->rank;
        *out = (struct dot_dims){.sum = side == 0 ? &last[rank - 1] : &first, .nsum = 1};
        return;
    }
    ir_attr a = ir_prop(m, c->op, IR_DOT_GENERAL_dot_dimension_numbers);
    out->batch = ir_field_dims(m, a, side ? IR_DOT_rhs_batching_dimensions_F : IR_DOT_lhs_batching_dimensions_F, &out->nbatch);
    out->sum =
        ir_field_dims(m, a, side ? IR_DOT_rhs_contracting_dimensions_F : IR_DOT_lhs_contracting_dimensions_F, &out->nsum);
}

static void dot_index(const struct contraction *c, uint32_t side, struct index *out) {
    const struct ir_type_data *t = ir_val_type(c->l->m, ir_operand(c->l->m, c->op, side));
    const struct ir_type_data *left = ir_val_type(c->l->m, ir_operand(c->l->m, c->op, 0));
    struct dot_dims d;
    dot_dims(c, side, &d);
    uint32_t free = (uint32_t)d.nbatch + (side ? left->rank - (uint32_t)d.nbatch - (uint32_t)d.nsum : 0);
    *out = (struct index){.n = t->rank};
    for (uint32_t i = 0; i < t->rank; i++)
        if (!listed(i, d.batch, d.nbatch) && !listed(i, d.sum, d.nsum))
            out->at[i] = c->result[free++].at;
    for (size_t i = 0; i < d.nbatch; i++)
        out->at[d.batch[i]] = c->result[i].at;
    for (size_t i = 0; i < d.nsum; i++)
        out->at[d.sum[i]] = c->sum[i].at;
}

static int64_t nth(const struct contraction *c, enum ir_slot slot, size_t i, int64_t missing) {
    size_t n;
    const int64_t *v = ir_prop_i64s(c->l->m, c->op, slot, &n);
    return i < n ? v[i] : missing;
}

/* Whether window dimension i runs backwards. */
static bool reversed(const struct contraction *c, size_t i) {
    const struct ir_attr_data *a = ir_attr_get(c->l->m, ir_prop(c->l->m, c->op, IR_CONVOLUTION_window_reversal));
    return a->kind == IR_ATTR_DENSE_ARRAY && i < a->n && ((const uint8_t *)a->data)[i];
}

static int64_t conv_dim(const struct contraction *c, enum ir_field_slot f) {
    return ir_field_i64(c->l->m, ir_prop(c->l->m, c->op, IR_CONVOLUTION_dimension_numbers), f);
}

static const int64_t *conv_dims(const struct contraction *c, enum ir_field_slot f, size_t *n) {
    return ir_field_dims(c->l->m, ir_prop(c->l->m, c->op, IR_CONVOLUTION_dimension_numbers), f, n);
}

static kir_val both(struct lower *l, kir_val a, kir_val b) {
    return a.i ? kir_op2(l->k, KIR_AND, 0, a, b) : b;
}

/* The sum's loops are the window's dimensions, then the input features of a group. */
static void conv_index(const struct contraction *c, uint32_t side, struct index *out, kir_val *guard) {
    struct lower *l = c->l;
    size_t n;
    const int64_t *in = conv_dims(c, IR_CONV_input_spatial_dimensions_F, &n);
    const int64_t *kernel = conv_dims(c, IR_CONV_kernel_spatial_dimensions_F, &n);
    const int64_t *spatial = conv_dims(c, IR_CONV_output_spatial_dimensions_F, &n);
    kir_val feature = c->result[conv_dim(c, IR_CONV_output_feature_dimension_F)].at, channel = c->sum[n].at;
    kir_val batch = c->result[conv_dim(c, IR_CONV_output_batch_dimension_F)].at;
    int64_t groups = ir_prop_i64(l->m, c->op, IR_CONVOLUTION_feature_group_count);
    int64_t batches = ir_prop_i64(l->m, c->op, IR_CONVOLUTION_batch_group_count);
    int64_t features = dims_of(c, 1)[conv_dim(c, IR_CONV_kernel_output_feature_dimension_F)];
    *out = (struct index){.n = (uint32_t)n + 2};
    if (side == 1) {
        out->at[conv_dim(c, IR_CONV_kernel_output_feature_dimension_F)] = feature;
        out->at[conv_dim(c, IR_CONV_kernel_input_feature_dimension_F)] = channel;
        for (size_t i = 0; i < n; i++) {
            kir_val w = c->sum[i].at;
            if (reversed(c, i))
                w = kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, c->sum[i].size - 1), w);
            out->at[kernel[i]] = w;
        }
        return;
    }
    if (groups > 1)
        channel = lower_add(l, lower_mul(l, lower_div(l, feature, features / groups), c->sum[n].size), channel);
    if (batches > 1) {
        int64_t size = dims_of(c, 0)[conv_dim(c, IR_CONV_input_batch_dimension_F)] / batches;
        batch = lower_add(l, lower_mul(l, lower_div(l, feature, features / batches), size), batch);
    }
    out->at[conv_dim(c, IR_CONV_input_feature_dimension_F)] = channel;
    out->at[conv_dim(c, IR_CONV_input_batch_dimension_F)] = batch;
    for (size_t i = 0; i < n; i++) {
        int64_t size = dims_of(c, 0)[in[i]], stride = nth(c, IR_CONVOLUTION_window_strides, i, 1);
        int64_t low = nth(c, IR_CONVOLUTION_padding, 2 * i, 0), base = nth(c, IR_CONVOLUTION_lhs_dilation, i, 1);
        int64_t dilation = nth(c, IR_CONVOLUTION_rhs_dilation, i, 1), span = (size - 1) * base + 1;
        int64_t outputs = c->result[spatial[i]].size, window = (c->sum[i].size - 1) * dilation;
        kir_val p = lower_add(l, lower_mul(l, c->result[spatial[i]].at, stride), lower_mul(l, c->sum[i].at, dilation));
        p = lower_add(l, p, kir_i64(l->k, -low));
        if (low > 0)
            *guard = both(l, *guard, kir_cmp(l->k, KIR_GE, 0, p, kir_i64(l->k, 0)));
        if ((outputs - 1) * stride + window - low >= span)
            *guard = both(l, *guard, kir_cmp(l->k, KIR_LT, 0, p, kir_i64(l->k, span)));
        if (base > 1) {
            *guard = both(l, *guard, kir_cmp(l->k, KIR_EQ, 0, lower_rem(l, p, base), kir_i64(l->k, 0)));
            p = lower_div(l, p, base);
        }
        out->at[in[i]] = p;
    }
}

kir_val contract_factor(const struct contraction *c, uint32_t side) {
    struct lower *l = c->l;
    ir_val v = ir_operand(l->m, c->op, side);
    enum ir_dtype t = dtype_of(c, v);
    if (c->packed[side].on && c->packed[side].value.i)
        return c->packed[side].value;
    if (c->packed[side].on)
        return kir_load(l->k, c->packed[side].buffer, c->packed[side].at);
    struct index at;
    kir_val guard = {0}, outer = l->guard;
    if (c->conv)
        conv_index(c, side, &at, &guard);
    else
        dot_index(c, side, &at);
    l->guard = outer.i && guard.i ? kir_op2(l->k, KIR_AND, 0, outer, guard) : guard.i ? guard : outer;
    kir_val x = lower_value(l, v, &at).re;
    l->guard = outer;
    if (kir_type(l->k, x) != c->acc)
        x = kir_typed(l->k, KIR_CONVERT, lower_sign(t), c->acc, x);
    if (!guard.i)
        return x;
    return kir_select(l->k, guard, x, kir_is_float(c->acc) ? kir_float(l->k, c->acc, 0) : kir_int(l->k, c->acc, 0));
}

/* ---- strides ---------------------------------------------------------------------------------- */

/* The largest buffer that a value is computed from: the node that loads it. */
static kir_val largest_load(const struct kir *k, kir_val v, uint32_t depth) {
    const struct kir_node *n = kir_get(k, v);
    kir_val best = {0};
    if (n->op == KIR_LOAD || depth == 0)
        return n->op == KIR_LOAD ? v : best;
    for (int i = 0; i < 3; i++) {
        kir_val x = n->arg[i].i ? largest_load(k, n->arg[i], depth - 1) : best;
        if (x.i && (!best.i || k->buffers.v[kir_get(k, x)->of].count > k->buffers.v[kir_get(k, best)->of].count))
            best = x;
    }
    return best;
}

kir_val contract_load(const struct kir *k, kir_val v) {
    return largest_load(k, v, LOAD_DEPTH);
}

void contract_prefetch(struct contraction *c, kir_val load, int64_t ahead) {
    struct kir_node n = *kir_get(c->l->k, load); /* what is built moves the nodes */
    kir_prefetch(c->l->k, n.of, lower_add(c->l, n.arg[0], kir_i64(c->l->k, ahead)));
}

/* Marks what the value is computed from; true where that is not all in its operands: registers. */
static bool mark_sources(const struct kir *k, kir_val v, bool *marked) {
    bool registers = false;
    marked[v.i] = true;
    for (uint32_t i = v.i; i > 0; i--) /* operands come first */
        for (int a = 0; a < 3 && marked[i]; a++) {
            const struct kir_node *n = kir_get(k, (kir_val){i});
            marked[n->arg[a].i] = true;
            registers |= n->op == KIR_GET;
        }
    return registers;
}

/* An operand's element changes along axes that it is computed from, in steps that the index of the load tells. */
static void read_strides(const struct contraction *c, uint32_t side, kir_val x, struct axis *axes, uint32_t n) {
    const struct kir *k = c->l->k;
    bool *marked = ARENA_ARRAY(c->l->a, bool, k->nodes.n + 1), any = mark_sources(k, x, marked);
    kir_val load = largest_load(k, x, LOAD_DEPTH);
    for (uint32_t i = 0; i < n; i++) {
        int64_t *stride = &axes[i].stride[side];
        bool changes = kir_get(k, axes[i].at)->op == KIR_LOOP && (any || marked[axes[i].at.i]);
        *stride = 0;
        if (changes && (!load.i || !kir_linear(k, kir_get(k, load)->arg[0], axes[i].at, stride) || *stride == 0))
            *stride = CONTRACT_UNKNOWN;
    }
}

void contract_probe_begin(struct contraction *c, struct contract_probe *p) {
    p->real = c->l;
    lower_probe_begin(c->l, &p->l);
    c->l = &p->l;
}

void contract_probe_end(struct contraction *c, struct contract_probe *p) {
    c->l = p->real;
    lower_probe_end(&p->l);
}

static void find_strides(struct contraction *c) {
    struct contract_probe probe;
    contract_probe_begin(c, &probe);
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_loop(c->l->k, KIR_SERIAL, c->result[i].size, 0);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = kir_loop(c->l->k, KIR_SERIAL, c->sum[i].size, 0);
    for (uint32_t side = 0; side < 2; side++) {
        kir_val x = contract_factor(c, side);
        c->plain[side] = kir_get(c->l->k, x)->op == KIR_LOAD;
        read_strides(c, side, x, c->result, c->nresult);
        read_strides(c, side, x, c->sum, c->nsum);
    }
    contract_probe_end(c, &probe);
}

/* How many parts of less than a byte a word has, from which a value is computed, or `bytes` of one; 1 = there are none. */
static int64_t parts_of_word(const struct ir_module *m, ir_val v, bool bytes, int depth) {
    ir_op op = ir_val_get(m, v)->op;
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, v)->dtype);
    int64_t parts = 1;
    if (!IR_NONE(op) && depth > 0) {
        enum ir_op_kind kind = ir_kind(m, op);
        if (kind == IR_BITCAST_CONVERT)
            return t->bits < 8 ? 32 / t->bits : 1;
        if (fuse_class(kind) == FUSE_ELEMENT || kind == IR_RESHAPE)
            for (uint32_t i = 0; i < ir_op_get(m, op)->noperands && parts == 1; i++)
                parts = parts_of_word(m, ir_operand(m, op, i), bytes, depth - 1);
    }
    return parts == 1 && bytes && t->bits == 8 && t->cls == IR_SINT ? 4 : parts;
}

int64_t contract_parts_of_word(const struct contraction *c, uint32_t side, bool bytes) {
    return parts_of_word(c->l->m, ir_operand(c->l->m, c->op, side), bytes, 16);
}

/* ---- schedules -------------------------------------------------------------------------------- */

kir_val contract_zero(const struct contraction *c) {
    return kir_is_float(c->acc) ? kir_float(c->l->k, c->acc, 0) : kir_int(c->l->k, c->acc, 0);
}

void contract_multiply_add(const struct contraction *c, kir_val reg, kir_val i) {
    struct kir *k = c->l->k;
    kir_val x = contract_factor(c, 0), y = contract_factor(c, 1), sum = kir_get_reg(k, reg, i);
    if (c->group == 4) {
        kir_set_reg(k, reg, i, c->left == 0 ? kir_dot4(k, x, y, sum) : kir_dot4(k, y, x, sum));
        return;
    }
    if (c->group > 1) {
        kir_set_reg(k, reg, i, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_DOT2, 0, x, y), sum));
        return;
    }
    bool fused = kir_is_float(c->acc) && !c->l->kernel->strict;
    kir_set_reg(k, reg, i, fused ? kir_fma(k, x, y, sum) : kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, x, y), sum));
}

void contract_finish(const struct contraction *c, kir_val sum) {
    struct lower *l = c->l;
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, c->op, 0));
    struct index at = {.n = c->nresult};
    kir_val domain[IR_MAX_RANK];
    for (uint32_t i = 0; i < c->nresult; i++)
        domain[i] = at.at[i] = t->dims[i] == 1 ? kir_i64(l->k, 0) : c->result[i].at;
    enum kir_type want = kir_type_of(t->dtype);
    if (kir_type(l->k, sum) != want && !(kir_is_float(c->acc) && want == KIR_F32 && c->acc == KIR_F32))
        sum = kir_typed(l->k, KIR_CONVERT, lower_sign(t->dtype), want, sum);
    lower_define(l, ir_result(l->m, c->op, 0), &at, lower_round(l, t->dtype, (struct elem){sum, {0}}));
    for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
        ir_val v = l->kernel->outs.v[i];
        struct index to;
        lower_project_index(l, ir_val_type(l->m, v), t->dims, domain, c->nresult, &to);
        lower_store(l, v, &to, lower_value(l, v, &to));
    }
}

int64_t contract_tile(int64_t size, int64_t most) {
    if (size <= most)
        return size;
    for (int64_t t = most; 4 * t >= 3 * most; t--)
        if (size % t == 0)
            return t;
    return most;
}

kir_val contract_tile_begin(struct lower *l, kir_val t, int64_t size, int64_t tile) {
    kir_val begin = lower_mul(l, t, tile);
    return size % tile ? kir_op2(l->k, KIR_MIN, 0, begin, kir_i64(l->k, size - tile)) : begin;
}

static void open_sums(struct contraction *c, uint32_t but, uint32_t *opened) {
    for (uint32_t i = 0; i < c->nsum; i++)
        if (i != but) {
            c->sum[i].at = kir_loop(c->l->k, KIR_SERIAL, c->sum[i].size, 0);
            ++*opened;
        }
}

/* The grid: all axes of the result, those that are tiled by their tiles, the last one the fastest. `order`: axes. */
static void open_grid(struct contraction *c, const uint32_t *order, const int64_t *counts, uint32_t n, kir_val *at,
                      uint32_t *opened) {
    int64_t all = 1;
    for (uint32_t i = 0; i < n; i++)
        all *= counts[i];
    if (all > 1) {
        lower_unflatten(c->l, lower_grid(c->l, all), counts, n, at);
        ++*opened;
    } else {
        for (uint32_t i = 0; i < n; i++)
            at[i] = kir_i64(c->l->k, 0);
    }
    for (uint32_t i = 0; i < n && i < c->nresult; i++)
        c->result[order[i]].at = at[i];
}

/* All axes but p and q, then those (each unless it is `nresult`). */
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

int64_t contract_lanes(const struct contraction *c, int64_t size, uint32_t *rows) {
    const struct kir_target *t = c->l->target;
    uint32_t vector = t->vector_bytes / (kir_type_bits(c->acc) / 8), registers = t->vector_count >= 32 ? 24 : 12;
    uint32_t wide = registers / 6; /* vectors side by side */
    while (wide > 1 && (int64_t)(wide * vector) > size && (int64_t)(wide / 2 * vector) >= size)
        wide /= 2;
    *rows = TORTURED(TORTURE_TILE, registers / wide);
    return (int64_t)wide * vector;
}

/* In how many parts the sum along the last contracted axis is taken, side by side, so that a tile of few registers does not
   wait for each product in turn. What lies in memory beyond the first cache is waited for anyway. */
static int64_t sum_parts(const struct contraction *c, int64_t registers) {
    enum { BUSY = 8 }; /* products that are under way at once */
    int64_t parts = 1, size = c->nsum ? c->sum[c->nsum - 1].size : 1;
    size_t bytes = 0, n;
    for (uint32_t i = 0; i < 2; i++)
        bytes += ir_type_bytes(ir_val_type(c->l->m, ir_operand(c->l->m, c->op, i)), &n) ? n : SIZE_MAX / 4;
    if (c->l->kernel->strict || !kir_is_float(c->acc) || bytes > c->l->target->l1_bytes)
        return 1;
    while (2 * parts * registers <= BUSY && parts < 4 && size % (2 * parts) == 0 && size > 2 * parts)
        parts *= 2;
    return parts;
}

/* Lanes along axis v of the result, a register tile of rows along axis u (nresult = none). */
static void result_lanes(struct contraction *c, uint32_t v, uint32_t u) {
    struct lower *l = c->l;
    uint32_t order[IR_MAX_RANK], n = grid_order(c, v, u, order), opened = 0, sums = 0, registers;
    int64_t size = c->result[v].size, rows = u < c->nresult ? c->result[u].size : 1, counts[IR_MAX_RANK];
    int64_t lanes = contract_lanes(c, size, &registers), tile = contract_tile(rows, registers);
    kir_val at[IR_MAX_RANK] = {{0}}, lane;
    for (uint32_t i = 0; i < n; i++)
        counts[i] = order[i] == v   ? (size + lanes - 1) / lanes
                    : order[i] == u ? (rows + tile - 1) / tile
                                    : c->result[order[i]].size;
    open_grid(c, order, counts, n, at, &opened);
    kir_val column = lower_mul(l, c->result[v].at, lanes),
            first = u < c->nresult ? contract_tile_begin(l, c->result[u].at, rows, tile) : at[0];
    if (size % lanes == 0) {
        lane = kir_loop(l->k, KIR_VECTOR, lanes, (uint32_t)lanes);
    } else {
        kir_val rest = kir_op2(l->k, KIR_MIN, 0, kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, size), column), kir_i64(l->k, lanes));
        lane = kir_loop_to(l->k, KIR_VECTOR, rest, (uint32_t)lanes);
    }
    c->result[v].at = lower_add(l, column, lane);
    opened++;
    int64_t vector = l->target->vector_bytes / (kir_type_bits(c->acc) / 8), parts = sum_parts(c, tile * (lanes / vector));
    kir_val reg = kir_reg(l->k, contract_zero(c), tile * parts), part = kir_i64(l->k, 0);
    open_sums(c, parts > 1 ? c->nsum - 1 : UINT32_MAX, &sums);
    if (parts > 1) {
        kir_val step = kir_loop(l->k, KIR_SERIAL, c->sum[c->nsum - 1].size / parts, 0);
        part = kir_loop(l->k, KIR_UNROLLED, parts, 0);
        c->sum[c->nsum - 1].at = lower_add(l, lower_mul(l, step, parts), part);
        sums += 2;
    }
    kir_val row = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    if (u < c->nresult)
        c->result[u].at = lower_add(l, first, row);
    contract_multiply_add(c, reg, lower_add(l, lower_mul(l, part, tile), row));
    lower_close(l, sums + 1);
    row = kir_loop(l->k, KIR_UNROLLED, tile, 0);
    if (u < c->nresult)
        c->result[u].at = lower_add(l, first, row);
    kir_val sum = kir_get_reg(l->k, reg, row);
    for (int64_t i = 1; i < parts; i++)
        sum = kir_op2(l->k, KIR_ADD, 0, sum, kir_get_reg(l->k, reg, lower_add(l, kir_i64(l->k, i * tile), row)));
    contract_finish(c, sum);
    lower_close(l, opened + 1);
}

/* Lanes along the contracted axis s, a tile of axes p and q of the result (nresult = none). */
struct sum_tile {
    uint32_t s, p, q;
    int64_t np, nq; /* of the tile */
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

/* `steps` times `lanes` indices of the contracted axis from `begin` on, into the outer registers. */
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

static void sum_lanes(struct contraction *c, uint32_t s, uint32_t p, uint32_t q) {
    struct lower *l = c->l;
    uint32_t order[IR_MAX_RANK], n = grid_order(c, p, q, order), opened = 0;
    int64_t np = p < c->nresult ? c->result[p].size : 1, nq = q < c->nresult ? c->result[q].size : 1, counts[IR_MAX_RANK];
    int64_t size = c->nsum ? c->sum[s].size : 1;
    uint32_t vector = l->target->vector_bytes / (kir_type_bits(c->acc) / 8);
    struct sum_tile t = {.s = s, .p = p, .q = q, .np = contract_tile(np, 4), .nq = contract_tile(nq, 4)};
    uint32_t width = vector * (t.np * t.nq <= 4 && size >= 4 * vector ? 2 : 1);
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

/* ---- the choice ------------------------------------------------------------------------------- */

/* An operand is contiguous along the axis and the other does not change, or is contiguous too. */
static bool has_lanes(const struct axis *a) {
    return (a->stride[0] == 1 && a->stride[1] == 0) || (a->stride[1] == 1 && a->stride[0] == 0) ||
           (a->stride[0] == 1 && a->stride[1] == 1);
}

/* The longest axis of the result (not `but`) along which operand `still` does not change, but the other does; nresult = none.
 */
static uint32_t longest_axis(const struct contraction *c, uint32_t but, uint32_t still) {
    uint32_t best = c->nresult;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (i != but && c->result[i].size > 1 && c->result[i].stride[still] == 0 && c->result[i].stride[!still] != 0 &&
            (best == c->nresult || c->result[i].size >= c->result[best].size))
            best = i;
    return best;
}

static void schedule(struct contraction *c) {
    uint32_t v = c->nresult, s = c->nsum;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (has_lanes(&c->result[i]) && c->result[i].size >= 8)
            v = i;
    for (uint32_t i = 0; i < c->nsum; i++)
        if (c->sum[i].stride[0] == 1 && c->sum[i].stride[1] == 1 && (s == c->nsum || c->sum[i].size > c->sum[s].size))
            s = i;
    for (uint32_t i = 0; i < c->nresult && v == c->nresult; i++) /* lanes that packing makes contiguous */
        if (c->result[c->nresult - 1 - i].size >= 16 && contract_can_block(c, c->nresult - 1 - i))
            v = c->nresult - 1 - i;
    if (v == c->nresult && s < c->nsum && !c->l->kernel->strict) {
        sum_lanes(c, s, longest_axis(c, c->nresult, 1), longest_axis(c, c->nresult, 0));
        return;
    }
    for (uint32_t i = 0; i < c->nresult && (v == c->nresult || c->result[v].size == 1); i++)
        v = c->nresult - 1 - i;
    if (v == c->nresult) {
        sum_lanes(c, 0, c->nresult, c->nresult);
        return;
    }
    if (contract_blocks(c, v))
        return;
    uint32_t still = c->result[v].stride[1] != 0 ? 1 : 0, u = longest_axis(c, v, still);
    result_lanes(c, v, u < c->nresult ? u : longest_axis(c, v, !still));
}

static enum kir_type wider(enum kir_type a, enum kir_type b) {
    return b > a ? b : a;
}

void lower_contract(struct lower *l) {
    struct contraction c = {.l = l, .op = l->kernel->anchor, .group = 1};
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, c.op, 0));
    c.conv = ir_kind(l->m, c.op) == IR_CONVOLUTION;
    c.acc = wider(kir_type_of(t->dtype), wider(kir_type_of(dtype_of(&c, ir_operand(l->m, c.op, 0))),
                                               kir_type_of(dtype_of(&c, ir_operand(l->m, c.op, 1)))));
    c.nresult = t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        c.result[i].size = t->dims[i];
    if (c.conv) {
        size_t n;
        const int64_t *window = conv_dims(&c, IR_CONV_kernel_spatial_dimensions_F, &n);
        for (size_t i = 0; i < n; i++)
            c.sum[c.nsum++].size = dims_of(&c, 1)[window[i]];
        c.sum[c.nsum++].size = dims_of(&c, 1)[conv_dim(&c, IR_CONV_kernel_input_feature_dimension_F)];
    } else {
        struct dot_dims d;
        dot_dims(&c, 0, &d);
        for (size_t i = 0; i < d.nsum; i++)
            c.sum[c.nsum++].size = dims_of(&c, 0)[d.sum[i]];
    }
    find_strides(&c);
    if (!lower_matvec(&c) && !lower_vecmat(&c))
        schedule(&c);
}
