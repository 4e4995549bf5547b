/* Contractions: the operands' factors, the epilogue, and the choice of a schedule: see contract.h. */
#include "lower/contract.h"

#include <assert.h>
#include <math.h>

enum { LOAD_DEPTH = 12 }; /* ops between an element and the load that it is computed from */

/* ---- factors ---------------------------------------------------------------------------------- */

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

/* The dimension numbers of one operand of a dot or dot_general. */
struct dot_dims {
    const int64_t *batch, *sum;
    size_t nbatch, nsum;
};

static void dot_dims(const struct contraction *c, uint32_t side, struct dot_dims *out) {
    static const int64_t first = 0, last[] = {0, 1};
    const struct ir_module *m = c->l->m;
    if (ir_kind(m, c->op) == IR_DOT) { /* the last dimension of lhs, the first of rhs */
        uint32_t rank = ir_val_type(m, ir_operand(m, c->op, 0))->rank;
        *out = (struct dot_dims){.sum = side == 0 ? &last[rank - 1] : &first, .nsum = 1};
        return;
    }
    ir_attr a = ir_prop(m, c->op, IR_DOT_GENERAL_dot_dimension_numbers);
    out->batch = ir_field_dims(m, a, side ? IR_DOT_rhs_batching_dimensions_F : IR_DOT_lhs_batching_dimensions_F, &out->nbatch);
    out->sum =
        ir_field_dims(m, a, side ? IR_DOT_rhs_contracting_dimensions_F : IR_DOT_lhs_contracting_dimensions_F, &out->nsum);
}

void contract_dot_index(const struct contraction *c, uint32_t side, struct index *out) {
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

/* The axes of the sum are the window's dimensions, then the input features of a group. */
static void conv_index(const struct contraction *c, uint32_t side, struct index *out, kir_val *guard) {
    struct lower *l = c->l;
    const struct conv *v = c->conv;
    kir_val feature = c->result[v->feature].at, channel = c->sum[v->n].at, batch = c->result[v->batch].at;
    kir_val at[IR_MAX_RANK];
    for (uint32_t i = 0; i < v->n; i++)
        at[i] = c->sum[i].at;
    if (side == 1) {
        lower_conv_kernel_index(l, v, at, channel, feature, out);
        return;
    }
    if (v->groups > 1)
        channel = lower_add(l, lower_mul(l, lower_div(l, feature, v->features / v->groups), v->channels), channel);
    if (v->batch_groups > 1) {
        kir_val group = lower_div(l, feature, v->features / v->batch_groups);
        batch = lower_add(l, lower_mul(l, group, v->batches / v->batch_groups), batch);
    }
    *out = (struct index){.n = v->n + 2};
    out->at[v->in_feature] = channel;
    out->at[v->in_batch] = batch;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct conv_dim *d = &v->dim[i];
        kir_val q = lower_add(l, lower_mul(l, c->result[d->axis].at, d->stride), lower_mul(l, at[i], d->dilation));
        out->at[d->in] = lower_conv_position(l, v, i, q, d->image - 1, guard);
    }
}

/* The integer that x, a number without a fraction, is converted from. */
static kir_val before_conversion(const struct kir *k, kir_val x) {
    const struct kir_node *n = kir_get(k, x);
    return n->op == KIR_CONVERT && !kir_is_float(kir_type(k, n->arg[0])) ? n->arg[0] : x;
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
        contract_dot_index(c, side, &at);
    l->guard = outer.i && guard.i ? kir_op2(l->k, KIR_AND, 0, outer, guard) : guard.i ? guard : outer;
    kir_val x = lower_value(l, v, &at).re;
    l->guard = outer;
    if (c->integers)
        x = before_conversion(l->k, x);
    if (kir_type(l->k, x) != c->acc)
        x = kir_typed(l->k, KIR_CONVERT, lower_sign(t), c->acc, x);
    if (!guard.i)
        return x;
    return kir_select(l->k, guard, x, kir_is_float(c->acc) ? kir_float(l->k, c->acc, 0) : kir_int(l->k, c->acc, 0));
}

void contract_init(struct contraction *c, struct lower *l, ir_op op) {
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, op, 0));
    *c = (struct contraction){.l = l, .op = op, .per_word = 1, .nresult = t->rank, .acc = kir_type_of(t->dtype)};
    if (ir_kind(l->m, op) == IR_CONVOLUTION) {
        struct conv *v = ARENA_NEW(l->a, struct conv);
        lower_conv_read(l->m, op, v);
        c->conv = v;
    }
    for (uint32_t i = 0; i < 2; i++) {
        enum kir_type x = kir_type_of(dtype_of(c, ir_operand(l->m, op, i)));
        c->acc = x > c->acc ? x : c->acc;
    }
    for (uint32_t i = 0; i < t->rank; i++)
        c->result[i].size = t->dims[i];
    if (c->conv) {
        for (uint32_t i = 0; i < c->conv->n; i++)
            c->sum[c->nsum++].size = c->conv->dim[i].window;
        c->sum[c->nsum++].size = c->conv->channels;
    } else {
        struct dot_dims d;
        dot_dims(c, 0, &d);
        for (size_t i = 0; i < d.nsum; i++)
            c->sum[c->nsum++].size = dims_of(c, 0)[d.sum[i]];
    }
}

/* ---- strides ---------------------------------------------------------------------------------- */

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
    struct kir_node n = *kir_get(c->l->k, load); /* a copy: building moves the nodes */
    kir_prefetch(c->l->k, n.of, lower_add(c->l, n.arg[0], kir_i64(c->l->k, ahead)));
}

/* Marks the nodes that the value is computed from; true if they include registers, whose sources are unknown. */
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

/* The strides of an operand along the axes, from its element x; from the index of its largest load. */
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

void contract_probe_begin(struct contraction *c, struct contract_kernel *p) {
    p->outer = c->l;
    lower_probe_begin(c->l, &p->l);
    c->l = &p->l;
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_loop(c->l->k, KIR_SERIAL, c->result[i].size, 0);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = kir_loop(c->l->k, KIR_SERIAL, c->sum[i].size, 0);
}

void contract_probe_end(struct contraction *c, struct contract_kernel *p) {
    c->l = p->outer;
    lower_probe_end(&p->l);
}

void contract_prologue_begin(struct contraction *c, struct contract_kernel *p) {
    p->outer = c->l;
    lower_begin_prologue(c->l, &p->l);
    p->l.stages = NULL;
    p->l.out->packs = true;
    c->l = &p->l;
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(p->l.k, 0);
}

void contract_prologue_end(struct contraction *c, struct contract_kernel *p) {
    c->l = p->outer;
}

/* The bits of the integer with a sign that x is converted from; 0 = it is not. */
static uint32_t integer_bits(const struct kir *k, kir_val x) {
    const struct kir_node *n = kir_get(k, x);
    bool is_converted = n->op == KIR_CONVERT && !(n->flags & KIR_U) && !kir_is_float(kir_type(k, n->arg[0]));
    return is_converted ? kir_type_bits(kir_type(k, n->arg[0])) : 0;
}

static void find_strides(struct contraction *c) {
    struct contract_kernel probe;
    contract_probe_begin(c, &probe);
    for (uint32_t side = 0; side < 2; side++) {
        kir_val x = contract_factor(c, side);
        c->is_load[side] = kir_get(c->l->k, x)->op == KIR_LOAD;
        c->integer_bits[side] = integer_bits(c->l->k, x);
        c->is_narrow[side] = ir_dtype_get(dtype_of(c, ir_operand(c->l->m, c->op, side)))->bits < kir_type_bits(c->acc);
        read_strides(c, side, x, c->result, c->nresult);
        read_strides(c, side, x, c->sum, c->nsum);
    }
    contract_probe_end(c, &probe);
}

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

/* ---- sums, the epilogue ------------------------------------------------------------------------ */

kir_val contract_zero(const struct contraction *c) {
    return kir_is_float(c->acc) ? kir_float(c->l->k, c->acc, 0) : kir_int(c->l->k, c->acc, 0);
}

enum ir_dtype contract_acc_dtype(const struct contraction *c) {
    static const enum ir_dtype dtypes[KIR_TYPE_COUNT] = {[KIR_I8] = IR_I8_T,   [KIR_I16] = IR_I16_T, [KIR_I32] = IR_I32_T,
                                                         [KIR_I64] = IR_I64_T, [KIR_F32] = IR_F32_T, [KIR_F64] = IR_F64_T};
    return dtypes[c->acc];
}

void contract_multiply_add(const struct contraction *c, kir_val reg, kir_val i) {
    struct kir *k = c->l->k;
    kir_val x = contract_factor(c, 0), y = contract_factor(c, 1), sum = kir_get_reg(k, reg, i);
    if (c->per_word == 4) {
        kir_set_reg(k, reg, i, kir_dot4(k, c->dot_flags, c->dot_side == 0 ? x : y, c->dot_side == 0 ? y : x, sum));
        return;
    }
    if (c->per_word > 1 && c->acc == KIR_F32) {
        kir_set_reg(k, reg, i, kir_dot2_bf16(k, x, y, sum));
        return;
    }
    if (c->per_word > 1) {
        kir_set_reg(k, reg, i, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_DOT2, 0, x, y), sum));
        return;
    }
    bool fused = kir_is_float(c->acc) && !c->l->kernel->strict;
    kir_set_reg(k, reg, i, fused ? kir_fma(k, x, y, sum) : kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, x, y), sum));
}

/* Computes the results of the kernel at an index of its domain, and stores them, or prefetches where they will be stored. */
static void compute_at(const struct contraction *c, const int64_t *dims, const kir_val *domain, uint32_t rank, bool stores) {
    struct lower *l = c->l;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
        ir_val v = l->kernel->outs.v[i];
        struct index to;
        lower_project_index(l, ir_val_type(l->m, v), dims, domain, rank, &to);
        struct elem x = lower_value(l, v, &to);
        if (stores)
            lower_store(l, v, &to, x);
        else
            kir_prefetch(l->k, lower_param(l, v, KIR_OUT),
                         lower_linear(l, ir_val_type(l->m, v)->dims, ir_val_type(l->m, v)->rank, &to));
    }
}

/* Defines an element of the contraction's result. */
static void define_result(const struct contraction *c, const struct index *at, kir_val sum) {
    struct lower *l = c->l;
    ir_val v = ir_result(l->m, c->op, 0);
    enum ir_dtype t = ir_val_type(l->m, v)->dtype;
    if (kir_type(l->k, sum) != kir_type_of(t))
        sum = kir_typed(l->k, KIR_CONVERT, lower_sign(t), kir_type_of(t), sum);
    lower_define(l, v, at, lower_round(l, t, (struct elem){sum, {0}}));
}

/* The axes' indices, as those of the result. */
static void result_index(const struct contraction *c, struct index *at) {
    const struct ir_type_data *t = ir_val_type(c->l->m, ir_result(c->l->m, c->op, 0));
    *at = (struct index){.n = c->nresult};
    for (uint32_t i = 0; i < c->nresult; i++)
        at->at[i] = t->dims[i] == 1 ? kir_i64(c->l->k, 0) : c->result[i].at;
}

/* Computes the results of the kernel at the axes' indices from an element of the contraction. */
static void compute_results(const struct contraction *c, kir_val sum, bool stores) {
    struct lower *l = c->l;
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, c->op, 0));
    const struct fuse_kernel *k = l->kernel;
    struct index at;
    kir_val domain[IR_MAX_RANK];
    result_index(c, &at);
    define_result(c, &at, sum);
    if (!k->anchor_map) {
        compute_at(c, t->dims, at.at, c->nresult, stores);
        return;
    }
    for (uint32_t i = 0; i < k->rank; i++)
        domain[i] = kir_i64(l->k, 0);
    for (uint32_t i = 0; i < c->nresult; i++)
        if (t->dims[i] != 1)
            domain[k->anchor_map[i]] = at.at[i];
    compute_at(c, k->dims, domain, k->rank, stores);
}

void contract_finish_parts(const struct contraction *c, uint32_t column, const kir_val *sums, int64_t parts, int64_t width) {
    struct index first, at;
    result_index(c, &first);
    at = first;
    for (int64_t i = 0; i < parts; i++) {
        at.at[column] = lower_add(c->l, first.at[column], kir_i64(c->l->k, i * width)); /* as a slice computes it */
        define_result(c, &at, sums[i]);
    }
    compute_at(c, c->l->kernel->dims, first.at, c->nresult, true);
}

void contract_finish(const struct contraction *c, kir_val sum) {
    compute_results(c, sum, true);
}

bool contract_epilogue_is_far(const struct contraction *c) {
    const struct lower *l = c->l;
    size_t all = 0, bytes;
    bool known = !l->stages && !l->native;
    for (uint32_t i = 0; i < l->kernel->outs.n && known; i++) {
        const struct ir_type_data *t = ir_val_type(l->m, l->kernel->outs.v[i]);
        known = !lower_is_complex(t->dtype) && ir_type_bytes(t, &bytes);
        all = known && bytes < SIZE_MAX - all ? all + bytes : all;
    }
    return known && all >= TORTURED(0, l->target->l2_bytes);
}

void contract_prefetch_results(struct contraction *c) {
    struct kir *k = c->l->k;
    uint32_t begin = k->nodes.n;
    compute_results(c, contract_zero(c), false); /* what is computed is not used; its loads are those of the epilogue */
    for (uint32_t i = begin, end = k->nodes.n; i < end; i++) {
        struct kir_node n = *kir_get(k, (kir_val){i}); /* a copy: building moves the nodes */
        if (n.op == KIR_LOAD && n.block.i == k->at.i && k->buffers.v[n.of].role == KIR_IN)
            kir_prefetch(k, n.of, n.arg[0]);
    }
}

void contract_prefetch_epilogue(struct contraction *c, const struct contract_tile *t) {
    (void)contract_tile_rows(c, t);
    contract_prefetch_results(c);
    kir_close(c->l->k);
}

/* ---- register tiles --------------------------------------------------------------------------- */

void contract_add_axis(const struct contraction *c, struct contract_axes *axes, uint32_t i) {
    axes->size = (axes->n ? axes->size : 1) * c->result[i].size;
    axes->v[axes->n++] = i;
}

void contract_set(struct contraction *c, const struct contract_axes *axes, kir_val linear) {
    int64_t dims[IR_MAX_RANK];
    kir_val at[IR_MAX_RANK];
    for (uint32_t i = 0; i < axes->n; i++)
        dims[i] = c->result[axes->v[i]].size;
    lower_unflatten(c->l, linear, dims, axes->n, at);
    for (uint32_t i = 0; i < axes->n; i++)
        c->result[axes->v[i]].at = at[i];
}

int64_t contract_tile_size(int64_t size, int64_t most) {
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

kir_val contract_tile_rows(struct contraction *c, const struct contract_tile *t) {
    kir_val row = kir_loop(c->l->k, KIR_UNROLLED, t->size, 0);
    contract_set(c, t->rows, lower_add(c->l, t->first, row));
    return row;
}

void contract_tile_multiply_add(struct contraction *c, const struct contract_tile *t, kir_val part) {
    kir_val row = contract_tile_rows(c, t);
    contract_multiply_add(c, t->reg, lower_add(c->l, lower_mul(c->l, part, t->size), row));
    kir_close(c->l->k);
}

void contract_tile_finish(struct contraction *c, const struct contract_tile *t) {
    struct lower *l = c->l;
    kir_val row = contract_tile_rows(c, t), sum = kir_get_reg(l->k, t->reg, row);
    for (int64_t i = 1; i < t->parts; i++) {
        kir_val part = kir_get_reg(l->k, t->reg, lower_add(l, kir_i64(l->k, i * t->size), row));
        sum = kir_op2(l->k, KIR_ADD, 0, sum, part);
    }
    contract_finish(c, sum);
    kir_close(l->k);
}

int64_t contract_vector(const struct contraction *c) {
    const struct target *t = c->l->target;
    return t->block_threads ? t->block_threads : t->vector_bytes / (kir_type_bits(c->acc) / 8);
}

int64_t contract_vectors(const struct contraction *c, int64_t most) {
    return c->l->target->block_threads ? 1 : most;
}

int64_t contract_lanes(const struct contraction *c, int64_t size, uint32_t *rows) {
    uint32_t vector = (uint32_t)contract_vector(c), registers = c->l->target->vector_registers * 3 / 4;
    uint32_t wide = (uint32_t)contract_vectors(c, registers / 6);
    while (wide > 1 && (int64_t)(wide * vector) > size && (int64_t)(wide / 2 * vector) >= size)
        wide /= 2;
    *rows = TORTURED(TORTURE_TILE, registers / wide);
    return (int64_t)wide * vector;
}

int64_t contract_best_tile(const struct contraction *c, int64_t rows, int64_t columns, int64_t *lanes) {
    const struct target *t = c->l->target;
    int64_t best = 1, vector = contract_vector(c), registers = t->vector_registers * 3 / 4;
    double least = INFINITY;
    *lanes = vector;
    for (int64_t wide = contract_vectors(c, registers / 6); wide >= 1; wide /= 2) {
        int64_t most = TORTURED(TORTURE_TILE, registers / wide), panels = (columns - 1) / (wide * vector) + 1;
        int64_t tiles = (rows - 1) / most + 1, size = (rows - 1) / tiles + 1, steps = size * wide;
        steps = steps > size + wide ? steps : size + wide; /* as many loads can begin at once as multiply-adds */
        steps = steps > t->fma_in_flight ? steps : t->fma_in_flight;
        double time = (double)tiles * (double)panels * (double)steps;
        if (time < least) {
            least = time;
            best = size;
            *lanes = wide * vector;
        }
    }
    return best;
}

bool contract_gemv_axes(const struct contraction *c, uint32_t matrix, uint32_t *rows, uint32_t *line) {
    *rows = *line = c->nresult;
    for (uint32_t i = 0; i < c->nresult; i++) {
        const struct axis *a = &c->result[i];
        uint32_t *at = a->stride[matrix] == 0 ? rows : line;
        if (a->size == 1)
            continue;
        if (*at < c->nresult || (at == line && a->stride[!matrix] != 0))
            return false;
        *at = i;
    }
    return *line < c->nresult;
}

/* ---- the choice ------------------------------------------------------------------------------- */

/* Whether one operand is contiguous along the axis, and the other does not change or is contiguous too. */
static bool has_lanes(const struct axis *a) {
    return (a->stride[0] == 1 && a->stride[1] == 0) || (a->stride[1] == 1 && a->stride[0] == 0) ||
           (a->stride[0] == 1 && a->stride[1] == 1);
}

/* The longest axis of the result other than `but` along which operand `still` does not change, but the other does; nresult =
   none. */
static uint32_t longest_axis(const struct contraction *c, uint32_t but, uint32_t still) {
    uint32_t best = c->nresult;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (i != but && c->result[i].size > 1 && c->result[i].stride[still] == 0 && c->result[i].stride[!still] != 0 &&
            (best == c->nresult || c->result[i].size >= c->result[best].size))
            best = i;
    return best;
}

/* What panels along an axis compute too much, relative to what they have to. */
static double padding_of(const struct contraction *c, uint32_t axis) {
    uint32_t rows;
    int64_t size = c->result[axis].size, lanes = contract_lanes(c, size, &rows);
    return (double)(((size - 1) / lanes + 1) * lanes) / (double)size - 1;
}

/* The axis of lanes: v, or an axis of the other operand where panels along v would be so empty that it takes less time to store
   the elements of the result one by one. */
static uint32_t fuller_axis(const struct contraction *c, uint32_t v) {
    enum { STORED = 8 }; /* an element by itself, in the time of so many multiply-adds of vectors */
    uint32_t w = longest_axis(c, v, c->result[v].stride[1] != 0);
    double terms = 1;
    for (uint32_t i = 0; i < c->nsum; i++)
        terms *= (double)c->sum[i].size;
    if (c->l->target->block_threads || c->conv || w == c->nresult || !kir_is_float(c->acc) || contract_has_narrow_unit(c))
        return v;
    double more = terms * (padding_of(c, v) - padding_of(c, w));
    return more > STORED * (double)contract_vector(c) && contract_can_block(c, v) && contract_can_block(c, w) ? w : v;
}

static void schedule(struct contraction *c) {
    uint32_t v = c->nresult, s = c->nsum;
    for (uint32_t i = 0; i < c->nresult; i++)
        if (has_lanes(&c->result[i]) && c->result[i].size >= 8)
            v = i;
    for (uint32_t i = 0; i < c->nsum; i++)
        if (c->sum[i].stride[0] == 1 && c->sum[i].stride[1] == 1 && (s == c->nsum || c->sum[i].size > c->sum[s].size))
            s = i;
    for (uint32_t i = 0; i < c->nresult && v == c->nresult; i++) /* packing makes any axis contiguous */
        if (c->result[c->nresult - 1 - i].size >= 8 && contract_can_block(c, c->nresult - 1 - i))
            v = c->nresult - 1 - i;
    if (v < c->nresult)
        v = fuller_axis(c, v);
    if (v == c->nresult && s < c->nsum && !c->l->kernel->strict) {
        contract_sum_lanes(c, s, longest_axis(c, c->nresult, 1), longest_axis(c, c->nresult, 0));
        return;
    }
    for (uint32_t i = 0; i < c->nresult && (v == c->nresult || c->result[v].size == 1); i++)
        v = c->nresult - 1 - i;
    if (v == c->nresult) {
        contract_sum_lanes(c, 0, c->nresult, c->nresult);
        return;
    }
    if (contract_blocks(c, v))
        return;
    uint32_t still = c->result[v].stride[1] != 0 ? 1 : 0, u = longest_axis(c, v, still);
    contract_result_lanes(c, v, u < c->nresult ? u : longest_axis(c, v, !still));
}

void lower_contract(struct lower *l) {
    struct contraction c;
    contract_init(&c, l, l->kernel->anchor);
    find_strides(&c);
    if (l->kernel->parts) {
        bool blocks = contract_blocks(&c, c.nresult - 1);
        assert(blocks);
        (void)blocks;
        return;
    }
    if (l->kernel->batch_invariant && (contract_gemv(&c) || contract_matvec(&c))) /* even where tiles would pay */
        return;
    if (!contract_shared(&c) && !contract_gemv(&c) && !contract_winograd(&c) && !contract_direct(&c) &&
        !contract_depthwise(&c) && !contract_matvec(&c) && !contract_vecmat(&c))
        schedule(&c);
}
