/* Slices of a tensor, one for each index vector: see slots.h. */
#include "library/slots.h"

#include "eval/slices.h"

/* Row-major strides of a shape whose elements may be none. */
static void slots_strides(const int64_t *dims, uint32_t rank, int64_t *out) {
    uint64_t stride = 1;
    for (uint32_t i = rank; i-- > 0; stride *= (uint64_t)dims[i])
        out[i] = (int64_t)stride;
}

static bool slots_contains(const int64_t *list, size_t n, int64_t x, size_t *at) {
    for (*at = 0; *at < n; (*at)++)
        if (list[*at] == x)
            return true;
    return false;
}

/* A slice holds all of the dimension. */
static bool slots_whole(const struct slots_dim *d) {
    return d->from < 0 && !d->batching && d->size == d->dim;
}

static bool slots_finish(struct slots *s) {
    uint64_t stride = 1;
    s->count = 1;
    for (uint32_t i = s->rank; i-- > 0; stride *= (uint64_t)s->dim[i].dim) {
        s->dim[i].stride = (int64_t)stride;
        if (s->dim[i].dim < 0 || s->dim[i].size < 0)
            return false;
    }
    for (uint32_t b = 0; b < s->nbatch; b++)
        if (s->batch[b].size < 0 || !mem_mul(s->count, (size_t)s->batch[b].size, &s->count))
            return false;
    return true;
}

static bool slots_add_dim(struct slots *s, const struct slots_dim *d) {
    struct slots_dim *last = s->rank ? &s->dim[s->rank - 1] : NULL;
    if (last && slots_whole(last) && slots_whole(d) && last->packed == d->packed * d->dim) {
        last->dim = last->size = last->dim * d->dim;
        last->packed = d->packed;
        return true;
    }
    if (s->rank == SLOTS_MOST_RANK)
        return false;
    s->dim[s->rank++] = *d;
    return true;
}

/* `tied`: the base moves along with it, so that it stays a dimension of its own. */
static bool slots_add_batch(struct slots *s, const struct slots_batch *b, bool tied, bool last_tied) {
    struct slots_batch *last = s->nbatch ? &s->batch[s->nbatch - 1] : NULL;
    if (last && !tied && !last_tied && last->index == b->index * b->size && last->packed == b->packed * b->size) {
        last->size *= b->size;
        last->index = b->index;
        last->packed = b->packed;
        return true;
    }
    if (s->nbatch == SLOTS_MOST_BATCH)
        return false;
    s->batch[s->nbatch++] = *b;
    return true;
}

bool slots_match(const struct ir_module *m, ir_attr numbers, const struct ir_type_data *base,
                 const struct ir_type_data *indices, const struct ir_type_data *packed, const int64_t *sizes, struct slots *s) {
    struct slice_numbers n;
    int64_t strides[IR_MAX_RANK], index_strides[IR_MAX_RANK] = {0}, batch_of[IR_MAX_RANK];
    size_t at, window = 0;
    slice_numbers_read(m, numbers, &n);
    slots_strides(packed->dims, packed->rank, strides);
    slots_strides(indices->dims, indices->rank, index_strides);
    *s = (struct slots){.index_type = indices->dtype};
    s->vector_stride = n.vector_dim < indices->rank ? index_strides[n.vector_dim] : 0;
    bool last_tied = false;
    for (uint32_t d = 0, p = 0; d < indices->rank; d++) {
        if (d == n.vector_dim)
            continue;
        while (slots_contains(n.offset, n.noffset, p, &at))
            p++;
        bool tied = slots_contains(n.index_batching, n.nindex_batching, d, &at);
        if (!slots_add_batch(s, &(struct slots_batch){indices->dims[d], index_strides[d], strides[p++]}, tied, last_tied))
            return false;
        batch_of[d] = s->nbatch - 1;
        last_tied = tied;
    }
    for (uint32_t d = 0; d < base->rank; d++) {
        struct slots_dim x = {.dim = base->dims[d], .size = 1, .from = -1};
        if (slots_contains(n.map, n.nmap, d, &at))
            x.from = (int64_t)at;
        if (slots_contains(n.batching, n.nbatching, d, &at)) {
            x.batching = true;
            x.from = batch_of[n.index_batching[at]];
        }
        if (slice_is_window(&n, d)) {
            x.size = sizes[window];
            x.packed = strides[n.offset[window++]];
        }
        if (!slots_add_dim(s, &x))
            return false;
    }
    return slots_finish(s);
}

bool slots_put(struct lib_match *out, const struct slots *s) {
    bool fits =
        lib_put(out, s->rank) && lib_put(out, s->nbatch) && lib_put(out, s->vector_stride) && lib_put(out, s->index_type);
    for (uint32_t i = 0; i < s->rank; i++)
        fits = fits && lib_put(out, s->dim[i].dim) && lib_put(out, s->dim[i].size) && lib_put(out, s->dim[i].packed) &&
               lib_put(out, s->dim[i].batching ? -2 - s->dim[i].from : s->dim[i].from);
    for (uint32_t i = 0; i < s->nbatch; i++)
        fits = fits && lib_put(out, s->batch[i].size) && lib_put(out, s->batch[i].index) && lib_put(out, s->batch[i].packed);
    return fits;
}

bool slots_get(struct lib_reader *r, struct slots *s) {
    *s = (struct slots){.rank = (uint32_t)lib_get_size(r, SLOTS_MOST_RANK)};
    s->nbatch = (uint32_t)lib_get_size(r, SLOTS_MOST_BATCH);
    s->vector_stride = lib_get(r);
    s->index_type = (enum ir_dtype)lib_get_size(r, IR_DTYPE_COUNT - 1);
    for (uint32_t i = 0; i < s->rank; i++) {
        struct slots_dim *d = &s->dim[i];
        d->dim = lib_get(r);
        d->size = lib_get(r);
        d->packed = lib_get(r);
        d->from = lib_get(r);
        d->batching = d->from < -1;
        if (d->batching)
            d->from = -2 - d->from;
        if (d->batching && d->from >= s->nbatch)
            return false;
    }
    for (uint32_t i = 0; i < s->nbatch; i++)
        s->batch[i] = (struct slots_batch){lib_get(r), 0, 0}, s->batch[i].index = lib_get(r), s->batch[i].packed = lib_get(r);
    enum ir_dtype_class index = ir_dtype_get(s->index_type)->cls;
    return !r->short_ && index != IR_FLOAT && index != IR_COMPLEX_CLASS && ir_dtype_get(s->index_type)->bytes &&
           slots_finish(s);
}

size_t slots_base(const struct slots *s) {
    size_t n = 1;
    for (uint32_t d = 0; d < s->rank; d++)
        n = lib_times(n, (size_t)s->dim[d].dim);
    return n;
}

size_t slots_indices(const struct slots *s) {
    struct lib_extent e = {0};
    int64_t numbers = 0; /* of an index vector */
    for (uint32_t b = 0; b < s->nbatch; b++)
        lib_reach(&e, s->batch[b].size, s->batch[b].index);
    for (uint32_t d = 0; d < s->rank; d++)
        if (!s->dim[d].batching && s->dim[d].from >= numbers)
            numbers = s->dim[d].from < INT64_MAX ? s->dim[d].from + 1 : INT64_MAX;
    if (numbers == 0)
        return 0;
    lib_reach(&e, numbers, s->vector_stride);
    return lib_extent_bytes(&e, ir_dtype_get(s->index_type)->bytes);
}

size_t slots_packed(const struct slots *s) {
    struct lib_extent e = {0};
    for (uint32_t b = 0; b < s->nbatch; b++)
        lib_reach(&e, s->batch[b].size, s->batch[b].packed);
    for (uint32_t d = 0; d < s->rank; d++)
        lib_reach(&e, s->dim[d].size, s->dim[d].packed);
    return lib_extent_bytes(&e, 1);
}

/* n numbers that are `stride` apart. */
#define INDICES(T)                                                                                                             \
    do {                                                                                                                       \
        const T *p = (const T *)indices + from;                                                                                \
        for (size_t i = 0; i < n; i++)                                                                                         \
            out[i] = (int64_t)p[(int64_t)i * stride];                                                                          \
    } while (0)

/* ui64 beyond the range of int64 is its largest. */
static void slots_read(enum ir_dtype t, const void *indices, int64_t from, int64_t stride, size_t n, int64_t *out) {
    switch (t) {
    case IR_UI8_T:
    case IR_I1_T:
    case IR_UI2_T:
    case IR_UI4_T:
        INDICES(uint8_t);
        break;
    case IR_I8_T:
    case IR_I2_T:
    case IR_I4_T:
        INDICES(int8_t);
        break;
    case IR_I16_T:
        INDICES(int16_t);
        break;
    case IR_UI16_T:
        INDICES(uint16_t);
        break;
    case IR_I32_T:
        INDICES(int32_t);
        break;
    case IR_UI32_T:
        INDICES(uint32_t);
        break;
    case IR_UI64_T:
        for (size_t i = 0; i < n; i++) {
            uint64_t v = ((const uint64_t *)indices)[from + (int64_t)i * stride];
            out[i] = v > INT64_MAX ? INT64_MAX : (int64_t)v;
        }
        break;
    default:
        INDICES(int64_t);
        break;
    }
}

void slots_block(const struct slots *s, const void *indices, size_t first, size_t most, struct slots_block *out) {
    int64_t at[SLOTS_MOST_BATCH], from = 0;
    const struct slots_batch *last = s->nbatch ? &s->batch[s->nbatch - 1] : NULL;
    out->packed = 0;
    out->step = last ? last->packed : 0;
    out->n = most < SLOTS_BLOCK ? most : SLOTS_BLOCK;
    for (uint32_t b = s->nbatch; b-- > 0;) {
        size_t size = (size_t)s->batch[b].size;
        at[b] = (int64_t)(first % size);
        first /= size;
        from += at[b] * s->batch[b].index;
        out->packed += at[b] * s->batch[b].packed;
    }
    size_t left = last ? (size_t)(last->size - at[s->nbatch - 1]) : 1;
    out->n = out->n < left ? out->n : left;
    for (uint32_t d = 0; d < s->rank; d++) {
        const struct slots_dim *x = &s->dim[d];
        int64_t *start = out->start[d];
        if (!x->batching && x->from >= 0) {
            slots_read(s->index_type, indices, from + x->from * s->vector_stride, last ? last->index : 0, out->n, start);
            continue;
        }
        int64_t begin = x->batching ? at[x->from] : 0, step = x->batching && x->from + 1 == s->nbatch;
        for (size_t i = 0; i < out->n; i++)
            start[i] = begin + (int64_t)i * step;
    }
}
