/* Ops that rearrange elements: broadcasts, concatenate, iota, pad, reshapes, reverse, slices, transpose. Most of them describe
 * the result as a strided view of their operand (first element, one stride a dimension), which is then copied. Quantised
 * tensors move as their stored integers.
 *
 * The verifier has seen what is static. Sizes and positions that only now are known (dynamic dimensions, shape operands) are
 * checked here, so that nothing is read or written outside of a tensor. */
#include "eval/contract.h"
#include "eval/move.h"

#include <inttypes.h>

static size_t elem_bytes(const struct value *v) {
    return ir_dtype_get(v->dtype)->bytes;
}

/* Result 0 of shape `dims`: its element at an index is the operand's element `first` + the sum of index * stride. */
static hilo_status move_view(struct eval *cx, ir_op op, const struct value *v, size_t first, const int64_t *strides,
                             const int64_t *dims, uint32_t rank, struct value **out) {
    int64_t dense[IR_MAX_RANK];
    HILO_TRY(eval_out(cx, op, 0, dims, rank, out));
    size_t size = elem_bytes(v);
    value_strides(dims, rank, dense);
    if ((*out)->count)
        move_strided((*out)->data, dense, (const char *)v->data + first * size, strides, dims, rank, size);
    return HILO_OK;
}

static void move_all(struct value *out, const struct value *v) {
    if (v->bytes)
        memcpy(out->data, v->data, v->bytes);
}

/* ---- run-time shapes ------------------------------------------------------------------------------------------------- */

/* The `n` numbers of a shape operand. */
static hilo_status move_list(struct eval *cx, ir_op op, const struct value *v, uint32_t n, int64_t *list) {
    if (v->count != n || n > IR_MAX_RANK)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a shape operand of %zu numbers instead of %" PRIu32, v->count, n);
    for (uint32_t i = 0; i < n; i++)
        list[i] = move_index(v, i);
    return HILO_OK;
}

/* The shape of result 0, from a shape operand. */
static hilo_status move_shape(struct eval *cx, ir_op op, const struct value *v, uint32_t *rank, int64_t *dims) {
    *rank = ir_val_type(cx->m, ir_result(cx->m, op, 0))->rank;
    HILO_TRY(move_list(cx, op, v, *rank, dims));
    for (uint32_t i = 0; i < *rank; i++)
        if (dims[i] < 0)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has result dimension %" PRIu32 " of negative size %" PRId64, i,
                             dims[i]);
    return HILO_OK;
}

/* The shape of result 0, from its type. */
static uint32_t move_typed_shape(const struct eval *cx, ir_op op, int64_t *dims) {
    const struct ir_type_data *t = ir_val_type(cx->m, ir_result(cx->m, op, 0));
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[i];
    return t->rank;
}

/* ---- broadcasts ------------------------------------------------------------------------------------------------------ */

hilo_status eval_broadcast(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dims[IR_MAX_RANK], strides[IR_MAX_RANK];
    size_t n;
    const int64_t *sizes = ir_prop_i64s(cx->m, op, IR_BROADCAST_broadcast_sizes, &n);
    for (size_t i = 0; i < n; i++) {
        dims[i] = sizes[i];
        strides[i] = 0;
    }
    value_strides(in[0]->dims, in[0]->rank, strides + n);
    for (uint32_t i = 0; i < in[0]->rank; i++)
        dims[n + i] = in[0]->dims[i];
    return move_view(cx, op, in[0], 0, strides, dims, (uint32_t)n + in[0]->rank, out);
}

/* A bounded dimension of a static broadcast's result is as large as the operand's that goes there. */
static hilo_status broadcast_shape(struct eval *cx, ir_op op, const struct value *v, const int64_t *to, uint32_t *rank,
                                   int64_t *dims) {
    *rank = move_typed_shape(cx, op, dims);
    for (uint32_t i = 0; i < v->rank; i++)
        if (dims[to[i]] == IR_DYNAMIC)
            dims[to[i]] = v->dims[i];
    for (uint32_t i = 0; i < *rank; i++)
        if (dims[i] == IR_DYNAMIC)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has result dimension %" PRIu32 " of unknown size", i);
    return HILO_OK;
}

hilo_status eval_broadcast_in_dim(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    bool dynamic = ir_kind(cx->m, op) == IR_DYNAMIC_BROADCAST_IN_DIM;
    const struct value *v = in[0];
    int64_t dims[IR_MAX_RANK], from[IR_MAX_RANK], strides[IR_MAX_RANK] = {0};
    uint32_t rank;
    size_t n;
    const int64_t *to = ir_prop_i64s(cx->m, op, dynamic ? IR_DYNAMIC_BROADCAST_IN_DIM_broadcast_dimensions
                                                        : IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    if (dynamic)
        HILO_TRY(move_shape(cx, op, in[1], &rank, dims));
    else
        HILO_TRY(broadcast_shape(cx, op, v, to, &rank, dims));
    value_strides(v->dims, v->rank, from);
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->dims[i] == 1)
            continue;
        if (v->dims[i] != dims[to[i]])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "cannot broadcast operand dimension %" PRIu32 " of size %" PRId64 " to size %" PRId64, i,
                             v->dims[i], dims[to[i]]);
        strides[to[i]] = from[i];
    }
    return move_view(cx, op, v, 0, strides, dims, rank, out);
}

/* ---- slices ---------------------------------------------------------------------------------------------------------- */

/* `start`, clamped so that a slice of `size` lies within a dimension of size `dim`. */
static int64_t slice_clamp(int64_t start, int64_t size, int64_t dim) {
    return start < 0 ? 0 : start > dim - size ? dim - size : start;
}

/* Where a slice of `v` of shape `sizes` begins: at scalar start indices, clamped. */
static hilo_status slice_start(struct eval *cx, ir_op op, const struct value *v, struct value *const *starts,
                               const int64_t *sizes, size_t *first) {
    int64_t strides[IR_MAX_RANK];
    value_strides(v->dims, v->rank, strides);
    *first = 0;
    for (uint32_t i = 0; i < v->rank; i++) {
        if (sizes[i] > v->dims[i])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has a slice of size %" PRId64 " in dimension %" PRIu32 " of size %" PRId64, sizes[i], i,
                             v->dims[i]);
        *first += (size_t)move_scale(slice_clamp(move_index(starts[i], 0), sizes[i], v->dims[i]), strides[i]);
    }
    return HILO_OK;
}

hilo_status eval_dynamic_slice(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t strides[IR_MAX_RANK];
    size_t n, first;
    const int64_t *sizes = ir_prop_i64s(cx->m, op, IR_DYNAMIC_SLICE_slice_sizes, &n);
    HILO_TRY(slice_start(cx, op, in[0], in + 1, sizes, &first));
    value_strides(in[0]->dims, in[0]->rank, strides);
    return move_view(cx, op, in[0], first, strides, sizes, in[0]->rank, out);
}

hilo_status eval_dynamic_update_slice(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct value *update = in[1];
    int64_t to[IR_MAX_RANK], from[IR_MAX_RANK];
    size_t first;
    HILO_TRY(slice_start(cx, op, in[0], in + 2, update->dims, &first));
    HILO_TRY(eval_out_over(cx, op, 0, in, 0, out));
    if (*out != in[0])
        move_all(*out, in[0]);
    value_strides(in[0]->dims, in[0]->rank, to);
    value_strides(update->dims, update->rank, from);
    if (update->count)
        move_strided((char *)(*out)->data + first * elem_bytes(update), to, update->data, from, update->dims,
                     update->rank, elem_bytes(update));
    return HILO_OK;
}

/* Every `step`th element from `start` on before `limit`. */
static hilo_status slice_range(struct eval *cx, ir_op op, const struct value *v, const int64_t *start, const int64_t *limit,
                               const int64_t *step, struct value **out) {
    int64_t dims[IR_MAX_RANK], strides[IR_MAX_RANK];
    size_t first = 0;
    value_strides(v->dims, v->rank, strides);
    for (uint32_t i = 0; i < v->rank; i++) {
        if (start[i] < 0 || limit[i] < start[i] || limit[i] > v->dims[i] || step[i] <= 0)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "slices dimension %" PRIu32 " of size %" PRId64 " from %" PRId64 " to %" PRId64 " by %" PRId64, i,
                             v->dims[i], start[i], limit[i], step[i]);
        dims[i] = (limit[i] - start[i]) / step[i] + ((limit[i] - start[i]) % step[i] != 0);
        first += (size_t)move_scale(start[i], strides[i]);
        strides[i] = move_scale(step[i], strides[i]);
    }
    return move_view(cx, op, v, first, strides, dims, v->rank, out);
}

hilo_status eval_slice(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    size_t n;
    return slice_range(cx, op, in[0], ir_prop_i64s(cx->m, op, IR_SLICE_start_indices, &n),
                       ir_prop_i64s(cx->m, op, IR_SLICE_limit_indices, &n), ir_prop_i64s(cx->m, op, IR_SLICE_strides, &n), out);
}

hilo_status eval_real_dynamic_slice(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t range[3][IR_MAX_RANK];
    for (uint32_t i = 0; i < 3; i++)
        HILO_TRY(move_list(cx, op, in[1 + i], in[0]->rank, range[i]));
    return slice_range(cx, op, in[0], range[0], range[1], range[2], out);
}

/* ---- concatenation, padding ------------------------------------------------------------------------------------------ */

/* The result's shape: that of the first operand, but for the sum along `dim`. */
static hilo_status concatenate_shape(struct eval *cx, ir_op op, struct value *const *in, uint32_t nin, uint32_t dim,
                                     int64_t *dims) {
    for (uint32_t d = 0; d < in[0]->rank; d++)
        dims[d] = in[0]->dims[d];
    for (uint32_t i = 1; i < nin; i++) {
        for (uint32_t d = 0; d < in[0]->rank; d++)
            if (d != dim && in[i]->dims[d] != dims[d])
                return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                                 "has operands of sizes %" PRId64 " and %" PRId64 " in dimension %" PRIu32, dims[d],
                                 in[i]->dims[d], d);
        if (__builtin_add_overflow(dims[dim], in[i]->dims[dim], &dims[dim]))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a result that is too large");
    }
    return HILO_OK;
}

hilo_status eval_concatenate(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t nin = ir_op_get(cx->m, op)->noperands, rank = in[0]->rank;
    uint32_t dim = (uint32_t)ir_prop_i64(cx->m, op, IR_CONCATENATE_dimension);
    int64_t dims[IR_MAX_RANK], to[IR_MAX_RANK], from[IR_MAX_RANK];
    HILO_TRY(concatenate_shape(cx, op, in, nin, dim, dims));
    HILO_TRY(eval_out(cx, op, 0, dims, rank, out));
    size_t size = elem_bytes(*out);
    value_strides(dims, rank, to);
    char *at = (*out)->data;
    for (uint32_t i = 0; i < nin; i++) {
        if (in[i]->count == 0)
            continue;
        value_strides(in[i]->dims, rank, from);
        move_strided(at, to, in[i]->data, from, in[i]->dims, rank, size);
        at += (size_t)in[i]->dims[dim] * (size_t)to[dim] * size;
    }
    return HILO_OK;
}

/* Padding of one dimension, of its size `dim`. */
struct pad_dim {
    int64_t low, high, interior;
    int64_t size;              /* of the result */
    int64_t first, count;      /* operand elements that are left: negative padding takes some away */
    int64_t at;                /* place of the first one in the result */
};

/* False when the result's size is negative or out of range. */
static bool pad_place(struct pad_dim *p, int64_t dim) {
    int64_t step, last;
    if (p->interior < 0 || __builtin_add_overflow(p->interior, 1, &step) ||
        __builtin_mul_overflow(dim > 0 ? dim - 1 : 0, step, &last) || __builtin_add_overflow(last, dim > 0, &p->size) ||
        __builtin_add_overflow(p->size, p->low, &p->size) || __builtin_add_overflow(p->size, p->high, &p->size) || p->size < 0)
        return false;
    /* operand element i is at low + i * step */
    p->first = p->low < 0 ? -(p->low + 1) / step + 1 : 0;
    p->at = (int64_t)((uint64_t)p->first * (uint64_t)step + (uint64_t)p->low);
    int64_t room = p->size - p->at, left = dim - p->first;
    p->count = room > 0 ? (room - 1) / step + 1 : 0;
    p->count = p->count < left ? p->count : left > 0 ? left : 0;
    return true;
}

/* The three lists, from attributes or operands. */
static hilo_status pad_read(struct eval *cx, ir_op op, struct value *const *in, struct pad_dim *p) {
    static const enum ir_slot slots[3] = {IR_PAD_edge_padding_low, IR_PAD_edge_padding_high, IR_PAD_interior_padding};
    int64_t lists[3][IR_MAX_RANK];
    const int64_t *v[3];
    size_t n;
    for (uint32_t k = 0; k < 3; k++) {
        v[k] = lists[k];
        if (ir_kind(cx->m, op) == IR_PAD)
            v[k] = ir_prop_i64s(cx->m, op, slots[k], &n);
        else
            HILO_TRY(move_list(cx, op, in[2 + k], in[0]->rank, lists[k]));
    }
    for (uint32_t i = 0; i < in[0]->rank; i++) {
        p[i] = (struct pad_dim){.low = v[0][i], .high = v[1][i], .interior = v[2][i]};
        if (!pad_place(&p[i], in[0]->dims[i]))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "cannot pad dimension %" PRIu32 " of size %" PRId64 " by %" PRId64 ", %" PRId64
                             " and %" PRId64 " between elements", i, in[0]->dims[i], p[i].low, p[i].high, p[i].interior);
    }
    return HILO_OK;
}

hilo_status eval_pad(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    struct pad_dim p[IR_MAX_RANK];
    int64_t dims[IR_MAX_RANK], counts[IR_MAX_RANK], to[IR_MAX_RANK], from[IR_MAX_RANK], none[IR_MAX_RANK] = {0};
    uint32_t rank = in[0]->rank;
    HILO_TRY(pad_read(cx, op, in, p));
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = p[i].size;
    HILO_TRY(eval_out(cx, op, 0, dims, rank, out));
    size_t size = elem_bytes(*out), kept = 1, first = 0, at = 0;
    value_strides(dims, rank, to);
    value_strides(in[0]->dims, rank, from);
    for (uint32_t i = 0; i < rank; i++)
        kept *= (size_t)(counts[i] = p[i].count);
    if (kept < (*out)->count)
        move_strided((*out)->data, to, in[1]->data, none, dims, rank, size);
    for (uint32_t i = 0; i < rank; i++) {
        first += (size_t)move_scale(p[i].first, from[i]);
        at += (size_t)move_scale(p[i].at, to[i]);
        to[i] = move_scale(p[i].interior + 1, to[i]);
    }
    if (kept)
        move_strided((char *)(*out)->data + at * size, to, (const char *)in[0]->data + first * size, from, counts, rank, size);
    return HILO_OK;
}

/* ---- reshapes -------------------------------------------------------------------------------------------------------- */

/* A static reshape's result may have one bounded dimension: whatever the elements leave for it. */
static hilo_status reshape_shape(struct eval *cx, ir_op op, size_t count, uint32_t *rank, int64_t *dims) {
    size_t others = 1;
    int64_t *open = NULL;
    *rank = move_typed_shape(cx, op, dims);
    for (uint32_t i = 0; i < *rank; i++) {
        bool known = dims[i] != IR_DYNAMIC;
        if ((!known && open) || (known && !mem_mul(others, (size_t)dims[i], &others)))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a result of unknown size");
        open = known ? open : &dims[i];
    }
    if (open)
        *open = others ? (int64_t)(count / others) : 0;
    return HILO_OK;
}

hilo_status eval_reshape(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dims[IR_MAX_RANK];
    uint32_t rank;
    if (ir_kind(cx->m, op) == IR_DYNAMIC_RESHAPE)
        HILO_TRY(move_shape(cx, op, in[1], &rank, dims));
    else
        HILO_TRY(reshape_shape(cx, op, in[0]->count, &rank, dims));
    HILO_TRY(eval_out(cx, op, 0, dims, rank, out));
    if ((*out)->count == in[0]->count) {
        move_all(*out, in[0]);
        return HILO_OK;
    }
    hilo_status status = EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %zu elements in the operand but %zu in the result",
                                   in[0]->count, (*out)->count);
    value_unref(*out);
    *out = NULL;
    return status;
}

/* ---- permutations ---------------------------------------------------------------------------------------------------- */

hilo_status eval_reverse(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct value *v = in[0];
    int64_t strides[IR_MAX_RANK];
    size_t n, first = 0;
    const int64_t *dims = ir_prop_i64s(cx->m, op, IR_REVERSE_dimensions, &n);
    value_strides(v->dims, v->rank, strides);
    for (size_t i = 0; i < n; i++) {
        int64_t *stride = &strides[dims[i]];
        first += (size_t)move_scale(v->dims[dims[i]] - 1, *stride);
        *stride = move_scale(-1, *stride);
    }
    return move_view(cx, op, v, first, strides, v->dims, v->rank, out);
}

hilo_status eval_transpose(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dims[IR_MAX_RANK], from[IR_MAX_RANK], strides[IR_MAX_RANK];
    size_t n;
    const int64_t *perm = ir_prop_i64s(cx->m, op, IR_TRANSPOSE_permutation, &n);
    value_strides(in[0]->dims, in[0]->rank, from);
    for (size_t i = 0; i < n; i++) {
        dims[i] = in[0]->dims[perm[i]];
        strides[i] = from[perm[i]];
    }
    return move_view(cx, op, in[0], 0, strides, dims, (uint32_t)n, out);
}

/* ---- iota ------------------------------------------------------------------------------------------------------------ */

/* 0, 1, 2 … as a tensor of `n` elements. */
static hilo_status iota_line(struct eval *cx, enum ir_dtype t, int64_t n, struct value **out) {
    HILO_TRY(value_tensor(&cx->al, t, &n, 1, out));
    enum number kind = number_of(t);
    size_t bytes = 0;
    void *numbers = mem_mul((*out)->count, number_bytes(kind), &bytes) ? mem_alloc(&cx->al, bytes) : NULL;
    if (!numbers) {
        value_unref(*out);
        return HILO_RESOURCE_EXHAUSTED;
    }
    for (int64_t i = 0; i < n; i++)
        if (kind == NUM_INT)
            ((int64_t *)numbers)[i] = i;
        else if (kind == NUM_REAL)
            ((double *)numbers)[i] = (double)i;
        else
            ((struct complex_number *)numbers)[i] = (struct complex_number){(double)i, 0};
    number_store(kind, numbers, *out);
    mem_free(&cx->al, numbers, bytes);
    return HILO_OK;
}

hilo_status eval_iota(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    bool dynamic = ir_kind(cx->m, op) == IR_DYNAMIC_IOTA;
    int64_t dim = ir_prop_i64(cx->m, op, dynamic ? IR_DYNAMIC_IOTA_iota_dimension : IR_IOTA_iota_dimension);
    int64_t dims[IR_MAX_RANK], strides[IR_MAX_RANK] = {0};
    uint32_t rank;
    if (dynamic)
        HILO_TRY(move_shape(cx, op, in[0], &rank, dims));
    else
        rank = move_typed_shape(cx, op, dims);
    int64_t n = dims[dim];
    for (uint32_t i = 0; i < rank; i++)
        n = dims[i] ? n : 0;
    struct value *line;
    HILO_TRY(iota_line(cx, eval_result_dtype(cx, op, 0), n, &line));
    strides[dim] = 1;
    hilo_status status = move_view(cx, op, line, 0, strides, dims, rank, out);
    value_unref(line);
    return status;
}
