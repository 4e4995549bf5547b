/* gather, dynamic_gather, torch_index_select: slices of the operand at places that index vectors name, clamped so that a slice
 * lies within the operand. Index types may be of any width; unsigned ones are never negative. */
#include "eval/move.h"
#include "eval/slices.h"

#include <inttypes.h>

/* Slice sizes: an attribute of gather, an operand of dynamic_gather. */
static hilo_status gather_sizes(struct eval *cx, ir_op op, struct value *const *in, int64_t *sizes) {
    bool dynamic = ir_kind(cx->m, op) == IR_DYNAMIC_GATHER;
    size_t n = dynamic ? in[2]->count : 0;
    const int64_t *v = dynamic ? NULL : ir_prop_i64s(cx->m, op, IR_GATHER_slice_sizes, &n);
    if (n != in[0]->rank)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %zu slice sizes for %" PRIu32 " dimensions", n, in[0]->rank);
    for (uint32_t i = 0; i < n; i++) {
        sizes[i] = dynamic ? move_index(in[2], i) : v[i];
        if (sizes[i] < 0 || sizes[i] > in[0]->dims[i])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has slice size %" PRId64 " for dimension %" PRIu32 " of size %" PRId64, sizes[i], i,
                             in[0]->dims[i]);
    }
    return HILO_OK;
}

/* A slice has one place in each dimension that the result leaves out; an empty dimension has none to offer. */
static hilo_status gather_check(struct eval *cx, ir_op op, const struct slice_numbers *n, const int64_t *sizes,
                                const struct value *v) {
    for (uint32_t d = 0; d < v->rank; d++)
        if (!slice_is_window(n, d) && (sizes[d] > 1 || v->dims[d] == 0))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "takes one place of dimension %" PRIu32 " of size %" PRId64 " with slice size %" PRId64, d,
                             v->dims[d], sizes[d]);
    return HILO_OK;
}

hilo_status eval_gather(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct value *v = in[0];
    enum ir_slot slot = ir_kind(cx->m, op) == IR_DYNAMIC_GATHER ? IR_DYNAMIC_GATHER_dimension_numbers
                                                                : IR_GATHER_dimension_numbers;
    int64_t sizes[IR_MAX_RANK];
    struct slice_numbers numbers;
    struct slices s;
    struct move slice;
    slice_numbers_read(cx->m, ir_prop(cx->m, op, slot), &numbers);
    HILO_TRY(gather_sizes(cx, op, in, sizes));
    HILO_TRY(slices_init(&s, cx, op, &numbers, v, in[1], sizes));
    if (s.count)
        HILO_TRY(gather_check(cx, op, &numbers, sizes, v));
    HILO_TRY(eval_out(cx, op, 0, s.packed_dims, s.packed_rank, out));
    size_t size = ir_dtype_get(v->dtype)->bytes;
    move_plan(&slice, s.sizes, s.packed_strides, s.strides, s.rank);
    while (slices_next(&s)) {
        size_t first = 0;
        for (uint32_t d = 0; d < s.rank; d++) {
            int64_t most = v->dims[d] - s.sizes[d], start = s.start[d];
            first += (size_t)((start < 0 ? 0 : start > most ? most : start) * s.strides[d]);
        }
        move_run(&slice, (char *)(*out)->data + s.packed * size, (const char *)v->data + first * size, size);
    }
    return HILO_OK;
}

/* ---- torch_index_select ---------------------------------------------------------------------------------------------- */

/* The result's shape: the operand's with dimension `dim` replaced by the index's dimensions from `batch` on. */
static hilo_status select_shape(struct eval *cx, ir_op op, const struct value *v, const struct value *index, int64_t dim,
                                int64_t batch, int64_t *dims, uint32_t *rank) {
    enum ir_dtype_class cls = ir_dtype_get(index->dtype)->cls;
    if (cls != IR_SINT && cls != IR_UINT && cls != IR_INDEX_CLASS)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has an index that is not of integers");
    if (dim < 0 || dim >= v->rank || batch < 0 || batch > dim || batch > index->rank ||
        v->rank - 1 + index->rank - batch > IR_MAX_RANK)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                         "cannot select along dimension %" PRId64 " with %" PRId64 " batch dimensions", dim, batch);
    for (uint32_t d = 0; d < v->rank; d++)
        if (d != dim)
            dims[(*rank)++] = v->dims[d];
        else
            for (uint32_t i = (uint32_t)batch; i < index->rank; i++)
                dims[(*rank)++] = index->dims[i];
    for (int64_t i = 0; i < batch; i++)
        if (v->dims[i] != index->dims[i])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has batch dimension %" PRId64 " of size %" PRId64 " in the operand but %" PRId64 " in the index",
                             i, v->dims[i], index->dims[i]);
    return HILO_OK;
}

static size_t select_product(const int64_t *dims, uint32_t from, uint32_t to) {
    size_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= (size_t)dims[i];
    return n;
}

/* result[batch…, middle…, i…, rest…] = operand[batch…, middle…, index[batch…, i…], rest…] */
hilo_status eval_torch_index_select(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct value *v = in[0], *index = in[1];
    int64_t dim = ir_prop_i64(cx->m, op, IR_TORCH_INDEX_SELECT_dim), dims[IR_MAX_RANK];
    int64_t batch = ir_prop_i64(cx->m, op, IR_TORCH_INDEX_SELECT_batch_dims);
    uint32_t rank = 0;
    HILO_TRY(select_shape(cx, op, v, index, dim, batch, dims, &rank));
    HILO_TRY(eval_out(cx, op, 0, dims, rank, out));
    if ((*out)->count == 0)
        return HILO_OK;
    int64_t n = v->dims[dim];
    if (n == 0) {
        value_unref(*out);
        *out = NULL;
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "selects from dimension %" PRId64 " of size 0", dim);
    }
    size_t outer = select_product(v->dims, 0, (uint32_t)dim), middle = select_product(v->dims, (uint32_t)batch, (uint32_t)dim);
    size_t picks = select_product(index->dims, (uint32_t)batch, index->rank);
    size_t rest = select_product(v->dims, (uint32_t)dim + 1, v->rank) * ir_dtype_get(v->dtype)->bytes;
    char *to = (*out)->data;
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < picks; i++, to += rest) {
            int64_t at = move_index(index, o / middle * picks + i);
            at = at < 0 ? 0 : at >= n ? n - 1 : at;
            memcpy(to, (const char *)v->data + (o * (size_t)n + (size_t)at) * rest, rest);
        }
    return HILO_OK;
}
