/* Elements of data movement ops: index arithmetic. dynamic_update_slice. */
#include "lower/threads.h"

static const struct ir_type_data *operand_type(const struct lower *l, ir_op op, uint32_t i) {
    return ir_val_type(l->m, ir_operand(l->m, op, i));
}

/* The index of the op's result, not flat. */
static struct index spread(struct lower *l, ir_op op, const struct index *at) {
    if (!at->flat)
        return *at;
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, op, 0));
    struct index out = {.n = t->rank};
    lower_unflatten(l, at->at[0], t->dims, t->rank, out.at);
    return out;
}

static kir_val all(struct lower *l, kir_val a, kir_val b) {
    return !a.i ? b : !b.i ? a : kir_op2(l->k, KIR_AND, 0, a, b);
}

/* An element of an operand at an index that is in bounds only where `guard` holds. */
static struct elem guarded(struct lower *l, ir_op op, uint32_t i, const struct index *at, kir_val guard) {
    kir_val outer = l->guard;
    l->guard = all(l, outer, guard);
    struct elem e = lower_value(l, ir_operand(l->m, op, i), at);
    l->guard = outer;
    return e;
}

static struct elem choose(struct lower *l, kir_val c, struct elem a, struct elem b) {
    return (struct elem){kir_select(l->k, c, a.re, b.re), a.im.i ? kir_select(l->k, c, a.im, b.im) : (kir_val){0}};
}

/* ---- constants -------------------------------------------------------------------------------- */

static struct elem constant(struct lower *l, enum ir_dtype t, const void *data) {
    const struct ir_dtype_info *d = ir_dtype_get(t);
    double parts[2];
    int64_t i = 0;
    switch (d->cls) {
    case IR_FLOAT:
        return (struct elem){kir_float(l->k, kir_type_of(t), fp_decode(d->fp, fp_load(d->fp, data))), {0}};
    case IR_COMPLEX_CLASS:
        for (int k = 0; k < 2; k++)
            parts[k] = fp_decode(d->fp, fp_load(d->fp, (const char *)data + (size_t)k * d->bytes / 2));
        return (struct elem){kir_float(l->k, d->fp == FP_F64 ? KIR_F64 : KIR_F32, parts[0]),
                             kir_float(l->k, d->fp == FP_F64 ? KIR_F64 : KIR_F32, parts[1])};
    default:
        memcpy(&i, data, d->bytes);
        if (d->cls != IR_PRED) /* constants are sign-extended */
            i = (int64_t)((uint64_t)i << (64 - 8 * d->bytes)) >> (64 - 8 * d->bytes);
        return (struct elem){kir_int(l->k, kir_type_of(t), i), {0}};
    }
}

struct elem elem_constant(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_attr_data *a = ir_attr_get(l->m, ir_constant_value(l->m, op));
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, op, 0));
    (void)what;
    if (a->kind == IR_ATTR_DENSE && a->splat && a->data)
        return constant(l, t->dtype, a->data);
    return lower_load(l, ir_result(l->m, op, 0), at);
}

struct elem elem_iota(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, op, 0));
    struct index i = spread(l, op, at);
    kir_val v = i.at[ir_prop_i64(l->m, op, IR_IOTA_iota_dimension)], none = {0};
    (void)what;
    if (lower_is_complex(t->dtype)) {
        enum kir_type part = t->dtype == IR_C64_T ? KIR_F32 : KIR_F64;
        return (struct elem){kir_typed(l->k, KIR_CONVERT, 0, part, v), kir_float(l->k, part, 0)};
    }
    enum kir_type type = kir_type_of(t->dtype);
    if (type != KIR_I64)
        v = kir_typed(l->k, KIR_CONVERT, 0, type, v);
    return lower_round(l, t->dtype, (struct elem){v, none});
}

/* ---- permutations and broadcasts ------------------------------------------------------- */

struct elem elem_broadcast_in_dim(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0), *r = ir_val_type(l->m, ir_result(l->m, op, 0));
    struct index i = {.n = t->rank};
    size_t n, count = 0, result_count = 1;
    const int64_t *d = ir_prop_i64s(l->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    (void)what;
    (void)ir_type_count(t, &count);
    (void)ir_type_count(r, &result_count);
    if (at->flat && count == result_count && fuse_is_alias(l->m, op))
        return lower_value(l, ir_operand(l->m, op, 0), at);
    struct index s = count == 1 ? (struct index){0} : spread(l, op, at);
    for (uint32_t k = 0; k < t->rank; k++)
        i.at[k] = t->dims[k] == 1 ? kir_i64(l->k, 0) : s.at[d[k]];
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

struct elem elem_broadcast(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0);
    struct index s = spread(l, op, at), i = {.n = t->rank};
    (void)what;
    for (uint32_t k = 0; k < t->rank; k++)
        i.at[k] = s.at[s.n - t->rank + k];
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

struct elem elem_reshape(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0), *r = ir_val_type(l->m, ir_result(l->m, op, 0));
    struct index i = {.n = t->rank};
    uint32_t a = 0, b = 0;
    size_t count;
    (void)what;
    if (ir_type_count(t, &count) && count == 0) { /* there is no element to compute */
        for (; a < t->rank; a++)
            i.at[a] = kir_i64(l->k, 0);
        return lower_value(l, ir_operand(l->m, op, 0), &i);
    }
    if (at->flat || t->rank == 0) {
        i = t->rank == 0 ? i : *at;
        return lower_value(l, ir_operand(l->m, op, 0), &i);
    }
    /* equal dimensions keep their index; groups between them with the same number of elements go through a linear index */
    while (a < t->rank || b < r->rank) {
        if (a < t->rank && t->dims[a] == 1) {
            i.at[a++] = kir_i64(l->k, 0);
            continue;
        }
        if (b < r->rank && r->dims[b] == 1) {
            b++;
            continue;
        }
        uint32_t a0 = a, b0 = b;
        int64_t p = t->dims[a++], q = r->dims[b++];
        while (p != q)
            if (p < q)
                p *= t->dims[a++];
            else
                q *= r->dims[b++];
        struct index part = {.n = b - b0};
        memcpy(part.at, at->at + b0, (b - b0) * sizeof *part.at);
        if (a - a0 == 1 && b - b0 == 1)
            i.at[a0] = part.at[0];
        else
            lower_unflatten(l, lower_linear(l, r->dims + b0, b - b0, &part), t->dims + a0, a - a0, i.at + a0);
    }
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

struct elem elem_barrier(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    (void)what;
    return lower_value(l, ir_operand(l->m, op, 0), at);
}

struct elem elem_forward(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    (void)what;
    return lower_value(l, ir_operand(l->m, op, 0), at);
}

struct elem elem_transpose(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct index s = spread(l, op, at), i = {.n = s.n};
    size_t n;
    const int64_t *d = ir_prop_i64s(l->m, op, IR_TRANSPOSE_permutation, &n);
    (void)what;
    for (size_t k = 0; k < n; k++)
        i.at[d[k]] = s.at[k];
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

struct elem elem_reverse(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0);
    struct index i = spread(l, op, at);
    size_t n;
    const int64_t *d = ir_prop_i64s(l->m, op, IR_REVERSE_dimensions, &n);
    (void)what;
    for (size_t k = 0; k < n; k++)
        i.at[d[k]] = kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, t->dims[d[k]] - 1), i.at[d[k]]);
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

/* ---- slices, padding, concatenation ------------------------------------------------------------------------------------ */

struct elem elem_slice(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct index i = spread(l, op, at);
    size_t n;
    const int64_t *start = ir_prop_i64s(l->m, op, IR_SLICE_start_indices, &n);
    const int64_t *stride = ir_prop_i64s(l->m, op, IR_SLICE_strides, &n);
    (void)what;
    for (size_t k = 0; k < n; k++)
        i.at[k] = lower_add(l, lower_mul(l, i.at[k], stride[k]), kir_i64(l->k, start[k]));
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

/* A start index as i64, clamped to [0, most]. */
static kir_val clamped(struct lower *l, kir_val v, enum ir_dtype t, int64_t most) {
    kir_val zero = kir_i64(l->k, 0), end = kir_i64(l->k, most);
    if (kir_type(l->k, v) != KIR_I64)
        v = kir_typed(l->k, KIR_CONVERT, lower_sign(t), KIR_I64, v);
    if (lower_sign(t))
        return kir_op2(l->k, KIR_MIN, KIR_U, v, end);
    return kir_op2(l->k, KIR_MIN, 0, kir_op2(l->k, KIR_MAX, 0, v, zero), end);
}

struct elem elem_dynamic_slice(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0);
    struct index i = spread(l, op, at);
    size_t n;
    const int64_t *sizes = ir_prop_i64s(l->m, op, IR_DYNAMIC_SLICE_slice_sizes, &n);
    static const struct index none;
    (void)what;
    for (uint32_t k = 0; k < n; k++)
        if (t->dims[k] != sizes[k]) {
            kir_val start = lower_value(l, ir_operand(l->m, op, 1 + k), &none).re;
            i.at[k] = lower_add(l, i.at[k], clamped(l, start, operand_type(l, op, 1 + k)->dtype, t->dims[k] - sizes[k]));
        }
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

struct elem elem_pad(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0);
    struct index i = spread(l, op, at);
    size_t n, count = 0;
    const int64_t *low = ir_prop_i64s(l->m, op, IR_PAD_edge_padding_low, &n);
    const int64_t *high = ir_prop_i64s(l->m, op, IR_PAD_edge_padding_high, &n);
    const int64_t *between = ir_prop_i64s(l->m, op, IR_PAD_interior_padding, &n);
    static const struct index none;
    kir_val inside = {0};
    (void)what;
    (void)ir_type_count(t, &count);
    struct elem padding = lower_value(l, ir_operand(l->m, op, 1), &none);
    if (count == 0)
        return padding;
    for (size_t k = 0; k < n; k++) {
        kir_val p = lower_add(l, i.at[k], kir_i64(l->k, -low[k]));
        int64_t span = (t->dims[k] - 1) * (between[k] + 1) + 1;
        if (low[k] > 0)
            inside = all(l, inside, kir_cmp(l->k, KIR_GE, 0, p, kir_i64(l->k, 0)));
        if (high[k] > 0)
            inside = all(l, inside, kir_cmp(l->k, KIR_LT, 0, p, kir_i64(l->k, span)));
        if (between[k]) {
            inside = all(l, inside, kir_cmp(l->k, KIR_EQ, 0, lower_rem(l, p, between[k] + 1), kir_i64(l->k, 0)));
            p = lower_div(l, p, between[k] + 1);
        }
        i.at[k] = p;
    }
    if (!inside.i)
        return lower_value(l, ir_operand(l->m, op, 0), &i);
    return choose(l, inside, guarded(l, op, 0, &i, inside), padding);
}

struct elem elem_concatenate(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct index i = spread(l, op, at);
    int64_t d = ir_prop_i64(l->m, op, IR_CONCATENATE_dimension), begin = 0;
    kir_val place = i.at[d];
    struct elem e = {{0}, {0}};
    (void)what;
    for (uint32_t k = 0; k < ir_op_get(l->m, op)->noperands; k++) {
        int64_t size = operand_type(l, op, k)->dims[d];
        if (size == 0)
            continue;
        kir_val from = kir_cmp(l->k, KIR_GE, 0, place, kir_i64(l->k, begin));
        kir_val to = kir_cmp(l->k, KIR_LT, 0, place, kir_i64(l->k, begin + size));
        i.at[d] = lower_add(l, place, kir_i64(l->k, -begin));
        bool first = !e.re.i, last = begin + size == ir_val_type(l->m, ir_result(l->m, op, 0))->dims[d];
        if (first && last)
            return lower_value(l, ir_operand(l->m, op, k), &i);
        struct elem x = guarded(l, op, k, &i, first ? to : last ? from : all(l, from, to));
        e = first ? x : choose(l, from, x, e);
        begin += size;
    }
    return e;
}

/* ---- gather ----------------------------------------------------------------------------------- */

static bool among(int64_t d, const int64_t *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == d)
            return true;
    return false;
}

struct elem elem_gather(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    const struct ir_type_data *t = operand_type(l, op, 0), *ti = operand_type(l, op, 1);
    ir_attr numbers = ir_prop(l->m, op, IR_GATHER_dimension_numbers);
    size_t noffset, ncollapsed, nbatching, nindex, nmap, n;
    const int64_t *offset = ir_field_dims(l->m, numbers, IR_GATHER_offset_dims_F, &noffset);
    const int64_t *collapsed = ir_field_dims(l->m, numbers, IR_GATHER_collapsed_slice_dims_F, &ncollapsed);
    const int64_t *batching = ir_field_dims(l->m, numbers, IR_GATHER_operand_batching_dims_F, &nbatching);
    const int64_t *index_batching = ir_field_dims(l->m, numbers, IR_GATHER_start_indices_batching_dims_F, &nindex);
    const int64_t *map = ir_field_dims(l->m, numbers, IR_GATHER_start_index_map_F, &nmap);
    int64_t vector = ir_field_i64(l->m, numbers, IR_GATHER_index_vector_dim_F);
    const int64_t *sizes = ir_prop_i64s(l->m, op, IR_GATHER_slice_sizes, &n);
    struct index r = spread(l, op, at), i = {.n = t->rank}, where = {.n = ti->rank};
    (void)what;
    uint32_t batch = 0, window = 0;
    for (uint32_t k = 0; k < ti->rank; k++) /* index of the index vector: the batch dimensions of the result in order */
        if ((int64_t)k != vector) {
            while (among(batch, offset, noffset))
                batch++;
            where.at[k] = r.at[batch++];
        }
    for (uint32_t k = 0; k < t->rank; k++) {
        bool is_window = !among(k, collapsed, ncollapsed) && !among(k, batching, nbatching);
        i.at[k] = is_window ? r.at[offset[window++]] : kir_i64(l->k, 0);
    }
    for (size_t k = 0; k < nbatching; k++)
        i.at[batching[k]] = where.at[index_batching[k]];
    for (size_t k = 0; k < nmap; k++) {
        int64_t most = t->dims[map[k]] - sizes[map[k]];
        if (most <= 0)
            continue;
        if (vector < (int64_t)ti->rank)
            where.at[vector] = kir_i64(l->k, (int64_t)k);
        kir_val start = lower_value(l, ir_operand(l->m, op, 1), &where).re;
        i.at[map[k]] = lower_add(l, i.at[map[k]], clamped(l, start, ti->dtype, most));
    }
    return lower_value(l, ir_operand(l->m, op, 0), &i);
}

/* ---- dynamic_update_slice --------------------------------- */

/* Opens the loops over the elements of an update: tasks of its lines. Returns how many. */
static uint32_t into_loops(struct lower *l, const struct ir_type_data *u, uint32_t last, kir_val *at) {
    uint32_t opened = 0;
    int64_t outer = 1;
    for (uint32_t k = 0; k + 1 < last; k++)
        outer *= u->dims[k];
    if (outer > 1) {
        lower_grid_nd(l, u->dims, last - 1, at);
        opened++;
    }
    for (uint32_t k = 0; k < u->rank; k++)
        if (k >= last || (k + 1 < last && outer == 1))
            at[k] = kir_i64(l->k, 0);
    if (last) {
        at[last - 1] = kir_loop(l->k, KIR_VECTOR, u->dims[last - 1], lower_lanes(l, lower_bytes(l), 2));
        opened++;
    }
    return opened;
}

void lower_into(struct lower *l) {
    ir_op op = l->kernel->anchor;
    const struct ir_type_data *t = operand_type(l, op, 0), *u = operand_type(l, op, 1);
    static const struct index none;
    struct index from = {.n = u->rank}, to = {.n = t->rank};
    kir_val starts[IR_MAX_RANK];
    size_t count;
    (void)lower_param(l, ir_result(l->m, op, 0), KIR_INOUT);
    if (ir_type_count(u, &count) && count == 0)
        return;
    for (uint32_t k = 0; k < u->rank; k++) {
        kir_val s = t->dims[k] == u->dims[k] ? kir_i64(l->k, 0) : lower_value(l, ir_operand(l->m, op, 2 + k), &none).re;
        starts[k] = t->dims[k] == u->dims[k] ? s : clamped(l, s, operand_type(l, op, 2 + k)->dtype, t->dims[k] - u->dims[k]);
    }
    uint32_t last = u->rank;
    while (last > 0 && u->dims[last - 1] == 1)
        last--;
    bool whole = last && t->dims[last - 1] == u->dims[last - 1];
    uint32_t opened = l->target->block_threads && !l->native ? threads_into(l, u, whole, from.at)
                                                             : into_loops(l, u, last, from.at);
    for (uint32_t k = 0; k < u->rank; k++)
        to.at[k] = lower_add(l, from.at[k], starts[k]);
    lower_store(l, ir_result(l->m, op, 0), &to, lower_value(l, ir_operand(l->m, op, 1), &from));
    lower_close(l, opened);
}
