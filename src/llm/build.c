/* Building StableHLO: see build.h. */
#include "llm/build.h"

#include <math.h>

static ir_val make(struct build *b, enum ir_op_kind kind, const ir_val *in, uint32_t nin, ir_type type, ir_op *out) {
    ir_op op = ir_op_new(b->m, kind, in, nin, &type, 1, (uint32_t)ir_op_info(kind)->nregions);
    ir_append(b->m, b->at, op);
    if (out)
        *out = op;
    return ir_result(b->m, op, 0);
}

static ir_type type_of(struct build *b, ir_val v) {
    return ir_val_get(b->m, v)->type;
}

void build_barrier(struct build *b, ir_val *x, ir_val *y) {
    const ir_val in[] = {*x, *y};
    const ir_type types[] = {type_of(b, *x), type_of(b, *y)};
    ir_op op = ir_op_new(b->m, IR_OPTIMIZATION_BARRIER, in, 2, types, 2, 0);
    ir_append(b->m, b->at, op);
    *x = ir_result(b->m, op, 0);
    *y = ir_result(b->m, op, 1);
}

static ir_type with_dtype(struct build *b, ir_val v, enum ir_dtype t) {
    const struct ir_type_data *d = build_type(b, v);
    return ir_type_of(b->m, t, d->dims, d->rank);
}

static ir_val constant(struct build *b, ir_type type, const void *data, size_t nbytes, bool splat) {
    ir_op op;
    ir_val v = make(b, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(b->m, op, IR_CONSTANT_value, ir_attr_dense(b->m, type, data, nbytes, splat, false));
    return v;
}

ir_val build_splat(struct build *b, enum ir_dtype t, const int64_t *dims, uint32_t rank, double x) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    int64_t whole = info->cls == IR_FLOAT ? 0 : (int64_t)x;
    uint64_t bits = info->cls == IR_FLOAT ? fp_encode(info->fp, x) : (uint64_t)whole;
    return constant(b, ir_type_of(b->m, t, dims, rank), &bits, info->bytes, true); /* little endian */
}

ir_val build_vector(struct build *b, const float *x, int64_t n) {
    size_t bytes = (size_t)n * sizeof *x;
    void *blob = ir_blob_new(b->m, bytes);
    memcpy(blob, x, bytes);
    return constant(b, ir_type_of(b->m, IR_F32_T, &n, 1), blob, bytes, n == 1);
}

ir_val build_iota(struct build *b, enum ir_dtype t, const int64_t *dims, uint32_t rank, int64_t dim) {
    ir_op op;
    ir_val v = make(b, IR_IOTA, NULL, 0, ir_type_of(b->m, t, dims, rank), &op);
    ir_set_prop(b->m, op, IR_IOTA_iota_dimension, ir_attr_i64(b->m, dim));
    return v;
}

/* ---- elementwise ----------------------------------------------------------------------------- */

ir_val build_unary(struct build *b, enum ir_op_kind op, ir_val x) {
    return make(b, op, &x, 1, type_of(b, x), NULL);
}

ir_val build_binary(struct build *b, enum ir_op_kind op, ir_val x, ir_val y) {
    return make(b, op, (ir_val[]){x, y}, 2, type_of(b, x), NULL);
}

ir_val build_scale(struct build *b, ir_val x, double by) {
    const struct ir_type_data *t = build_type(b, x);
    return by == 1 ? x : build_binary(b, IR_MULTIPLY, x, build_splat(b, t->dtype, t->dims, t->rank, by));
}

ir_val build_reciprocal(struct build *b, ir_val x) {
    const struct ir_type_data *t = build_type(b, x);
    return build_binary(b, IR_DIVIDE, build_splat(b, t->dtype, t->dims, t->rank, 1), x);
}

ir_val build_convert(struct build *b, ir_val x, enum ir_dtype t) {
    return build_type(b, x)->dtype == t ? x : make(b, IR_CONVERT, &x, 1, with_dtype(b, x, t), NULL);
}

ir_val build_nibbles(struct build *b, ir_val x, enum ir_dtype t) {
    const struct ir_type_data *d = build_type(b, x);
    int64_t dims[4];
    uint32_t rank = d->rank;
    memcpy(dims, d->dims, rank * sizeof *dims);
    dims[rank] = 2;
    ir_val halves = make(b, IR_BITCAST_CONVERT, &x, 1, ir_type_of(b->m, t, dims, rank + 1), NULL);
    dims[rank - 1] *= 2;
    return build_reshape(b, halves, dims, rank);
}

ir_val build_compare(struct build *b, enum ir_enum_case direction, ir_val x, ir_val y) {
    ir_op op;
    ir_val v = make(b, IR_COMPARE, (ir_val[]){x, y}, 2, with_dtype(b, x, IR_I1_T), &op);
    ir_set_prop(b->m, op, IR_COMPARE_comparison_direction, ir_attr_enum(b->m, IR_ENUM_COMPARISON_DIRECTION, direction));
    return v;
}

ir_val build_select(struct build *b, ir_val if_true, ir_val x, ir_val y) {
    return make(b, IR_SELECT, (ir_val[]){if_true, x, y}, 3, type_of(b, x), NULL);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

ir_val build_reshape(struct build *b, ir_val x, const int64_t *dims, uint32_t rank) {
    ir_type t = ir_type_of(b->m, build_type(b, x)->dtype, dims, rank);
    return IR_SAME(t, type_of(b, x)) ? x : make(b, IR_RESHAPE, &x, 1, t, NULL);
}

ir_val build_broadcast(struct build *b, ir_val x, const int64_t *dims, uint32_t rank, const int64_t *map) {
    const struct ir_type_data *d = build_type(b, x);
    ir_type t = ir_type_of(b->m, d->dtype, dims, rank);
    if (IR_SAME(t, type_of(b, x)))
        return x;
    ir_op op;
    ir_val v = make(b, IR_BROADCAST_IN_DIM, &x, 1, t, &op);
    ir_set_prop(b->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(b->m, map, d->rank));
    return v;
}

ir_val build_broadcast_like(struct build *b, ir_val x, ir_val like, const int64_t *map) {
    const struct ir_type_data *d = build_type(b, like);
    return build_broadcast(b, x, d->dims, d->rank, map);
}

ir_val build_transpose(struct build *b, ir_val x, const int64_t *permutation) {
    const struct ir_type_data *d = build_type(b, x);
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < d->rank; i++)
        dims[i] = d->dims[permutation[i]];
    ir_op op;
    ir_val v = make(b, IR_TRANSPOSE, &x, 1, ir_type_of(b->m, d->dtype, dims, d->rank), &op);
    ir_set_prop(b->m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(b->m, permutation, d->rank));
    return v;
}

ir_val build_slice(struct build *b, ir_val x, int64_t dim, int64_t from, int64_t to) {
    const struct ir_type_data *d = build_type(b, x);
    int64_t begin[IR_MAX_RANK] = {0}, end[IR_MAX_RANK], strides[IR_MAX_RANK], dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < d->rank; i++) {
        end[i] = dims[i] = d->dims[i];
        strides[i] = 1;
    }
    begin[dim] = from;
    end[dim] = to;
    dims[dim] = to - from;
    ir_op op;
    uint32_t rank = d->rank;
    ir_val v = make(b, IR_SLICE, &x, 1, ir_type_of(b->m, d->dtype, dims, rank), &op);
    ir_set_prop(b->m, op, IR_SLICE_start_indices, ir_attr_i64s(b->m, begin, rank));
    ir_set_prop(b->m, op, IR_SLICE_limit_indices, ir_attr_i64s(b->m, end, rank));
    ir_set_prop(b->m, op, IR_SLICE_strides, ir_attr_i64s(b->m, strides, rank));
    return v;
}

ir_val build_concat(struct build *b, ir_val x, ir_val y, int64_t dim) {
    const struct ir_type_data *d = build_type(b, x);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, d->dims, d->rank * sizeof *dims);
    dims[dim] += build_type(b, y)->dims[dim];
    ir_op op;
    ir_val v = make(b, IR_CONCATENATE, (ir_val[]){x, y}, 2, ir_type_of(b->m, d->dtype, dims, d->rank), &op);
    ir_set_prop(b->m, op, IR_CONCATENATE_dimension, ir_attr_i64(b->m, dim));
    return v;
}

ir_val build_pad(struct build *b, ir_val x, int64_t dim, int64_t size) {
    const struct ir_type_data *d = build_type(b, x);
    int64_t zeros[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, dims[IR_MAX_RANK];
    uint32_t rank = d->rank;
    memcpy(dims, d->dims, rank * sizeof *dims);
    high[dim] = size - dims[dim];
    dims[dim] = size;
    ir_val zero = build_splat(b, d->dtype, NULL, 0, 0);
    ir_op op;
    ir_val v = make(b, IR_PAD, (ir_val[]){x, zero}, 2, ir_type_of(b->m, build_type(b, x)->dtype, dims, rank), &op);
    ir_set_prop(b->m, op, IR_PAD_edge_padding_low, ir_attr_i64s(b->m, zeros, rank));
    ir_set_prop(b->m, op, IR_PAD_edge_padding_high, ir_attr_i64s(b->m, high, rank));
    ir_set_prop(b->m, op, IR_PAD_interior_padding, ir_attr_i64s(b->m, zeros, rank));
    return v;
}

/* ---- reductions, products, rows -------------------------------------------------------------- */

ir_val build_reduce(struct build *b, enum ir_op_kind kind, ir_val x, int64_t dim) {
    const struct ir_type_data *d = build_type(b, x);
    bool whole = ir_dtype_get(d->dtype)->cls != IR_FLOAT;
    double most = whole ? INT32_MAX : (double)INFINITY, least = whole ? INT32_MIN : (double)-INFINITY;
    double start = kind == IR_ADD ? 0 : kind == IR_MAXIMUM ? least : most;
    ir_val init = build_splat(b, d->dtype, NULL, 0, start);
    int64_t dims[IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < d->rank; i++)
        if (i != dim)
            dims[rank++] = d->dims[i];
    ir_op op;
    ir_val v = make(b, IR_REDUCE, (ir_val[]){x, init}, 2, ir_type_of(b->m, d->dtype, dims, rank), &op);
    ir_set_prop(b->m, op, IR_REDUCE_dimensions, ir_attr_i64s(b->m, &dim, 1));
    struct build body = {b->m, ir_block_new(b->m, ir_op_region(b->m, op, 0))};
    ir_val p = ir_block_add_arg(b->m, body.at, type_of(b, init)), q = ir_block_add_arg(b->m, body.at, type_of(b, init));
    ir_val r = build_binary(&body, kind, p, q);
    ir_append(b->m, body.at, ir_op_new(b->m, IR_RETURN, &r, 1, NULL, 0, 0));
    return v;
}

ir_val build_dot(struct build *b, ir_val x, ir_val y, uint32_t batch, int64_t x_dim, int64_t y_dim, enum ir_dtype t) {
    const struct ir_type_data *l = build_type(b, x), *r = build_type(b, y);
    int64_t dims[IR_MAX_RANK], batches[4] = {0, 1, 2, 3};
    uint32_t rank = 0;
    for (uint32_t i = 0; i < l->rank; i++)
        if (i != x_dim)
            dims[rank++] = l->dims[i];
    for (uint32_t i = batch; i < r->rank; i++)
        if (i != y_dim)
            dims[rank++] = r->dims[i];
    ir_op op;
    ir_val v = make(b, IR_DOT_GENERAL, (ir_val[]){x, y}, 2, ir_type_of(b->m, t, dims, rank), &op);
    ir_attr some = batch ? ir_attr_i64s(b->m, batches, batch) : (ir_attr){0}; /* an empty list is left out */
    ir_attr fields[4] = {some, some, ir_attr_i64s(b->m, &x_dim, 1), ir_attr_i64s(b->m, &y_dim, 1)};
    ir_set_prop(b->m, op, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(b->m, IR_STRUCT_DOT, fields));
    return v;
}

ir_val build_loop(struct build *b, ir_val n, ir_val x, ir_val (*body)(void *user, ir_val i, ir_val x), void *user) {
    ir_type types[] = {type_of(b, n), type_of(b, x)};
    ir_block outside = b->at;
    ir_val init[] = {build_splat(b, IR_I32_T, NULL, 0, 0), x};
    ir_op op = ir_op_new(b->m, IR_WHILE, init, 2, types, 2, 2);
    ir_append(b->m, outside, op);
    for (uint32_t region = 0; region < 2; region++) {
        ir_val args[2], out[2];
        b->at = ir_block_new(b->m, ir_op_region(b->m, op, region));
        for (int i = 0; i < 2; i++)
            args[i] = ir_block_add_arg(b->m, b->at, types[i]);
        if (region == 0) {
            out[0] = build_compare(b, IR_COMPARISON_DIRECTION_LT, args[0], n);
        } else {
            out[1] = body(user, args[0], args[1]);
            out[0] = build_binary(b, IR_ADD, args[0], build_splat(b, IR_I32_T, NULL, 0, 1));
        }
        ir_append(b->m, b->at, ir_op_new(b->m, IR_RETURN, out, region + 1, NULL, 0, 0));
    }
    b->at = outside;
    return ir_result(b->m, op, 1);
}

ir_val build_solve(struct build *b, ir_val a, ir_val y) {
    ir_op op;
    ir_val v = make(b, IR_TRIANGULAR_SOLVE, (ir_val[]){a, y}, 2, type_of(b, y), &op);
    ir_set_prop(b->m, op, IR_TRIANGULAR_SOLVE_left_side, ir_attr_bool(b->m, true));
    ir_set_prop(b->m, op, IR_TRIANGULAR_SOLVE_lower, ir_attr_bool(b->m, true));
    ir_set_prop(b->m, op, IR_TRIANGULAR_SOLVE_unit_diagonal, ir_attr_bool(b->m, true));
    ir_set_prop(b->m, op, IR_TRIANGULAR_SOLVE_transpose_a,
                ir_attr_enum(b->m, IR_ENUM_TRANSPOSE, IR_TRANSPOSE_NO_TRANSPOSE));
    return v;
}

ir_val build_rows(struct build *b, ir_val table, ir_val ids) {
    const struct ir_type_data *t = build_type(b, table), *i = build_type(b, ids);
    int64_t cols = t->dims[1], n = i->dims[0], sizes[2] = {1, cols}, zero = 0, one = 1;
    enum ir_dtype dtype = t->dtype;
    ir_val index = build_reshape(b, ids, (int64_t[]){n, 1}, 2);
    ir_op op;
    ir_val v = make(b, IR_GATHER, (ir_val[]){table, index}, 2, ir_type_of(b->m, dtype, (int64_t[]){n, cols}, 2), &op);
    ir_attr fields[6] = {ir_attr_i64s(b->m, &one, 1), ir_attr_i64s(b->m, &zero, 1), {0}, {0}, ir_attr_i64s(b->m, &zero, 1),
                         ir_attr_i64(b->m, 1)};
    ir_set_prop(b->m, op, IR_GATHER_dimension_numbers, ir_attr_struct(b->m, IR_STRUCT_GATHER, fields));
    ir_set_prop(b->m, op, IR_GATHER_slice_sizes, ir_attr_i64s(b->m, sizes, 2));
    return v;
}

ir_val build_rows_at(struct build *b, ir_val x, ir_val first, int64_t n) {
    const struct ir_type_data *t = build_type(b, x);
    int64_t dims[] = {n, t->dims[1]};
    enum ir_dtype dtype = t->dtype;
    ir_val in[] = {x, first, build_splat(b, IR_I32_T, NULL, 0, 0)};
    ir_op op;
    ir_val v = make(b, IR_DYNAMIC_SLICE, in, 3, ir_type_of(b->m, dtype, dims, 2), &op);
    ir_set_prop(b->m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(b->m, dims, 2));
    return v;
}

ir_val build_update(struct build *b, ir_val x, ir_val part, const ir_val *at) {
    ir_val in[2 + 8] = {x, part};
    uint32_t rank = build_type(b, x)->rank;
    memcpy(in + 2, at, rank * sizeof *at);
    return make(b, IR_DYNAMIC_UPDATE_SLICE, in, 2 + rank, type_of(b, x), NULL);
}

/* ---- several partitions ---------------------------------------------------------------------- */

static ir_attr all_partitions(struct build *b, int64_t count) {
    int64_t dims[] = {1, count}, *ids = ARENA_ARRAY(&b->m->arena, int64_t, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        ids[i] = i;
    return ir_attr_dense_i64s(b->m, ids, dims, 2);
}

static ir_attr channel(struct build *b) {
    ir_attr fields[] = {ir_attr_i64(b->m, 1), ir_attr_i64(b->m, 1)};
    return ir_attr_struct(b->m, IR_STRUCT_CHANNEL_HANDLE, fields);
}

ir_val build_all_reduce(struct build *b, ir_val x, int64_t count) {
    ir_op op;
    ir_type one = ir_type_of(b->m, build_type(b, x)->dtype, NULL, 0);
    ir_val v = make(b, IR_ALL_REDUCE, &x, 1, type_of(b, x), &op);
    ir_set_prop(b->m, op, IR_ALL_REDUCE_replica_groups, all_partitions(b, count));
    ir_set_prop(b->m, op, IR_ALL_REDUCE_channel_handle, channel(b));
    ir_set_prop(b->m, op, IR_ALL_REDUCE_use_global_device_ids, ir_attr_unit(b->m));
    struct build body = {b->m, ir_block_new(b->m, ir_op_region(b->m, op, 0))};
    ir_val p = ir_block_add_arg(b->m, body.at, one), q = ir_block_add_arg(b->m, body.at, one);
    ir_val r = build_binary(&body, IR_ADD, p, q);
    ir_append(b->m, body.at, ir_op_new(b->m, IR_RETURN, &r, 1, NULL, 0, 0));
    return v;
}

ir_val build_all_gather(struct build *b, ir_val x, int64_t dim, int64_t count) {
    const struct ir_type_data *d = build_type(b, x);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, d->dims, d->rank * sizeof *dims);
    dims[dim] *= count;
    ir_op op;
    ir_val v = make(b, IR_ALL_GATHER, &x, 1, ir_type_of(b->m, d->dtype, dims, d->rank), &op);
    ir_set_prop(b->m, op, IR_ALL_GATHER_all_gather_dim, ir_attr_i64(b->m, dim));
    ir_set_prop(b->m, op, IR_ALL_GATHER_replica_groups, all_partitions(b, count));
    ir_set_prop(b->m, op, IR_ALL_GATHER_channel_handle, channel(b));
    ir_set_prop(b->m, op, IR_ALL_GATHER_use_global_device_ids, ir_attr_unit(b->m));
    return v;
}

ir_val build_partition(struct build *b) {
    return build_convert(b, make(b, IR_PARTITION_ID, NULL, 0, ir_type_of(b->m, IR_UI32_T, NULL, 0), NULL), IR_I32_T);
}
