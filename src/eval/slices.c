/* Slices that index vectors point to: see slices.h. */
#include "eval/slices.h"
#include "eval/move.h"

#include <inttypes.h>

void slice_numbers_read(const struct ir_module *m, ir_attr a, struct slice_numbers *out) {
    static const enum ir_field_slot fields[2][6] = {
        {IR_GATHER_offset_dims_F, IR_GATHER_collapsed_slice_dims_F, IR_GATHER_operand_batching_dims_F,
         IR_GATHER_start_indices_batching_dims_F, IR_GATHER_start_index_map_F, IR_GATHER_index_vector_dim_F},
        {IR_SCATTER_update_window_dims_F, IR_SCATTER_inserted_window_dims_F, IR_SCATTER_input_batching_dims_F,
         IR_SCATTER_scatter_indices_batching_dims_F, IR_SCATTER_scatter_dims_to_operand_dims_F,
         IR_SCATTER_index_vector_dim_F},
    };
    const enum ir_field_slot *f = fields[ir_attr_get(m, a)->sub == IR_STRUCT_SCATTER];
    out->offset = ir_field_dims(m, a, f[0], &out->noffset);
    out->collapsed = ir_field_dims(m, a, f[1], &out->ncollapsed);
    out->batching = ir_field_dims(m, a, f[2], &out->nbatching);
    out->index_batching = ir_field_dims(m, a, f[3], &out->nindex_batching);
    out->map = ir_field_dims(m, a, f[4], &out->nmap);
    out->vector_dim = ir_field_i64(m, a, f[5]);
}

static bool slice_contains(const int64_t *list, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

bool slice_is_window(const struct slice_numbers *n, uint32_t d) {
    return !slice_contains(n->collapsed, n->ncollapsed, d) && !slice_contains(n->batching, n->nbatching, d);
}

/* The batch dimensions of the indices, and the base dimensions that go along with some of them. */
static hilo_status slices_batches(struct slices *s, struct eval *cx, ir_op op, const struct slice_numbers *n,
                                  const struct value *base) {
    const struct value *v = s->indices;
    int64_t strides[IR_MAX_RANK];
    value_strides(v->dims, v->rank, strides);
    bool vectors = n->vector_dim < v->rank;
    if ((vectors ? (size_t)v->dims[n->vector_dim] : 1) != s->nmap)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has index vectors of %" PRId64 " numbers instead of %zu",
                         vectors ? v->dims[n->vector_dim] : 1, s->nmap);
    s->vector_stride = vectors ? (size_t)strides[n->vector_dim] : 0;
    for (uint32_t d = 0; d < v->rank; d++) {
        if (d == n->vector_dim)
            continue;
        uint32_t b = s->nbatch++;
        s->index[b] = 0;
        s->batch_dims[b] = v->dims[d];
        s->index_strides[b] = strides[d];
        s->batch_base[b] = -1;
        for (size_t i = 0; i < n->nindex_batching; i++)
            if (n->index_batching[i] == d)
                s->batch_base[b] = n->batching[i];
        int64_t along = s->batch_base[b];
        if (along >= 0 && base->dims[along] != v->dims[d])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has batching dimension %" PRId64 " of size %" PRId64 ", but indices for %" PRId64, along,
                             base->dims[along], v->dims[d]);
    }
    return HILO_OK;
}

hilo_status slices_init(struct slices *s, struct eval *cx, ir_op op, const struct slice_numbers *n, const struct value *base,
                        const struct value *indices, const int64_t *sizes) {
    uint32_t d, k = 0, b = 0;
    int64_t strides[IR_MAX_RANK], window[IR_MAX_RANK];
    s->rank = base->rank;
    s->indices = indices;
    s->map = n->map;
    s->nmap = n->nmap;
    s->nbatch = 0;
    HILO_TRY(slices_batches(s, cx, op, n, base));
    if (n->noffset + s->nbatch > IR_MAX_RANK)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has more than %d dimensions", IR_MAX_RANK);
    s->packed_rank = (uint32_t)n->noffset + s->nbatch;
    value_strides(base->dims, base->rank, s->strides);
    for (d = 0; d < base->rank; d++) {
        bool in_window = slice_is_window(n, d);
        s->start[d] = 0;
        s->sizes[d] = in_window ? sizes[d] : 1;
        if (in_window)
            window[k++] = d;
    }
    s->count = 1;
    for (d = 0, k = 0; d < s->packed_rank; d++) {
        s->packed_dims[d] = slice_contains(n->offset, n->noffset, d) ? s->sizes[window[k++]] : s->batch_dims[b++];
        if (s->packed_dims[d] == 0)
            s->count = 0;
    }
    value_strides(s->packed_dims, s->packed_rank, strides);
    memset(s->packed_strides, 0, s->rank * sizeof *s->packed_strides);
    for (d = 0, k = 0, b = 0; d < s->packed_rank; d++)
        if (slice_contains(n->offset, n->noffset, d))
            s->packed_strides[window[k++]] = strides[d];
        else
            s->batch_strides[b++] = strides[d];
    for (b = 0; b < s->nbatch; b++)
        s->count *= (size_t)s->batch_dims[b];
    s->at = 0;
    return HILO_OK;
}

bool slices_next(struct slices *s) {
    if (s->at == s->count)
        return false;
    if (s->at++)
        index_next(s->index, s->batch_dims, s->nbatch);
    size_t from = 0;
    s->packed = 0;
    for (uint32_t b = 0; b < s->nbatch; b++) {
        from += (size_t)(s->index[b] * s->index_strides[b]);
        s->packed += (size_t)(s->index[b] * s->batch_strides[b]);
        if (s->batch_base[b] >= 0)
            s->start[s->batch_base[b]] = s->index[b];
    }
    for (size_t i = 0; i < s->nmap; i++)
        s->start[s->map[i]] = move_index(s->indices, from + i * s->vector_stride);
    return true;
}
