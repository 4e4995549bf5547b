/* Rules of ops that rearrange elements, and of ops that make or take shapes. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- iota; elements that move ---------------------------------------------------------------- */

hilo_status shape_dynamic_iota(struct shape *s) {
    int64_t dim = ir_prop_i64(s->m, s->op, IR_DYNAMIC_IOTA_iota_dimension);
    int64_t rank = shape_in(s, 0)->dims[0];
    if (dim >= rank)
        return shape_fail(s, "dynamic_iota_c1", "iota_dimension must be in [0, %" PRId64 "), but "
                          "is %" PRId64, rank, dim);
    return shape_by_operand(s, "dynamic_iota_c2", 0, shape_res(s, 0)->elem);
}

/* Operand 0 and the result have one element type; quantised ones may differ as the rules of the op
   allow. */
static hilo_status move_elems(struct shape *s, const char *label) {
    ir_type a = shape_in(s, 0)->elem, b = shape_res(s, 0)->elem;
    if (s->verifying && !shape_elems_compatible(s->m, a, b))
        return shape_fail(s, label, "operand and result must have compatible element types, but "
                          "have %s and %s", shape_type_text(s, a), shape_type_text(s, b));
    return HILO_OK;
}

/* The same without exception. */
static hilo_status keeps_elem(struct shape *s, const char *label) {
    ir_type a = shape_in(s, 0)->elem, b = shape_res(s, 0)->elem;
    if (s->verifying && !IR_SAME(a, b))
        return shape_fail(s, label, "operand and result must have one element type, but have %s "
                          "and %s", shape_type_text(s, a), shape_type_text(s, b));
    return HILO_OK;
}

/* ---- broadcasts ------------------------------------------------------------------------------ */

hilo_status shape_broadcast(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0);
    struct shape_dim dims[IR_MAX_RANK];
    size_t n;
    HILO_TRY(keeps_elem(s, NULL));
    const int64_t *sizes = ir_prop_i64s(s->m, s->op, IR_BROADCAST_broadcast_sizes, &n);
    if (n + t->rank > IR_MAX_RANK)
        return shape_fail(s, NULL, "a result of %zu dimensions has too many", n + t->rank);
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] < 0)
            return shape_fail(s, NULL, "broadcast_sizes must not be negative, but is %s",
                              shape_list_text(s, sizes, n));
        dims[i] = (struct shape_dim){sizes[i], IR_DYNAMIC};
    }
    for (uint32_t i = 0; i < t->rank; i++)
        dims[n + i] = shape_dim_of(t, i);
    s->out[0] = shape_tensor(s, t->elem, dims, t->rank + (uint32_t)n);
    return HILO_OK;
}

/* A result quantised per axis is so along the dimension that the operand's axis goes to; where that
   axis has size 1, it repeats its one scale and zero point. */
static hilo_status broadcast_axis(struct shape *s, const int64_t *to) {
    const struct ir_type_data *t = shape_in(s, 0);
    const struct ir_quant *q = t->quant, *r = shape_res(s, 0)->quant;
    if (!q || !r || q->kind != IR_QUANT_AXIS || r->kind != IR_QUANT_AXIS)
        return HILO_OK;
    if (r->axes[0] != to[q->axes[0]])
        return shape_fail(s, "_c6", "the result is quantized along dimension %" PRId64 ", but the "
                          "operand's axis goes to dimension %" PRId64, r->axes[0], to[q->axes[0]]);
    for (uint32_t i = 0; t->dims[q->axes[0]] == 1 && i < r->nscales; i++) {
        if (r->scales[i] != q->scales[0])
            return shape_fail(s, "_c6", "scale %u of the result must be %g, but is %g", i,
                              q->scales[0], r->scales[i]);
        if (r->zero_points[i] != q->zero_points[0])
            return shape_fail(s, "_c6", "zero point %u of the result must be %" PRId64
                              ", but is %" PRId64, i, q->zero_points[0], r->zero_points[i]);
    }
    return HILO_OK;
}

/* Operand dimension i goes to dimension to[i] of `result`, of the same size or from size 1. */
static hilo_status broadcast_dims(struct shape *s, const int64_t *to, size_t n, const int64_t *dims,
                                  uint32_t rank) {
    const struct ir_type_data *t = shape_in(s, 0);
    HILO_TRY(shape_size(s, "_c2", "broadcast_dimensions", n, t->rank));
    HILO_TRY(shape_unique(s, "_c4", "broadcast_dimensions", to, n));
    HILO_TRY(shape_in_range(s, "_c3", "broadcast_dimensions", to, n, rank));
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 && !shape_dims_agree(t->dims[i], dims[to[i]]))
            return shape_fail(s, "_c5", "operand dimension %u of size %" PRId64 " cannot be "
                              "broadcast to result dimension %" PRId64 " of size %" PRId64, i,
                              t->dims[i], to[i], dims[to[i]]);
    return HILO_OK;
}

hilo_status shape_broadcast_in_dim(struct shape *s) {
    if (!s->verifying)
        return HILO_OK;
    const struct ir_type_data *t = shape_in(s, 0), *r = shape_res(s, 0);
    size_t n;
    const int64_t *to = ir_prop_i64s(s->m, s->op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    HILO_TRY(move_elems(s, "broadcast_in_dim_c1"));
    if (!shape_is_axis(t))
        HILO_TRY(shape_same_scales(s, "broadcast_in_dim_c1", shape_in_type(s, 0),
                                   shape_res_type(s, 0)));
    HILO_TRY(broadcast_dims(s, to, n, r->dims, r->rank));
    for (uint32_t i = 0; i < t->rank; i++) /* the result's size must be known, too */
        if (shape_known(t->dims[i]) && t->dims[i] != 1 && !shape_known(r->dims[to[i]]))
            return shape_fail(s, "broadcast_in_dim_c5", "operand dimension %u of size %" PRId64
                              " cannot be broadcast to one of unknown size", i, t->dims[i]);
    return broadcast_axis(s, to);
}

hilo_status shape_dynamic_broadcast_in_dim(struct shape *s) {
    static const enum ir_slot slots[3] = {
        IR_DYNAMIC_BROADCAST_IN_DIM_broadcast_dimensions,
        IR_DYNAMIC_BROADCAST_IN_DIM_known_expanding_dimensions,
        IR_DYNAMIC_BROADCAST_IN_DIM_known_nonexpanding_dimensions,
    };
    const int64_t *v[3];
    size_t n[3];
    for (int i = 0; i < 3; i++)
        v[i] = ir_prop_i64s(s->m, s->op, slots[i], &n[i]);
    HILO_TRY(move_elems(s, "dynamic_broadcast_in_dim_c1"));
    HILO_TRY(shape_by_operand(s, "dynamic_broadcast_in_dim_c7", 1, shape_in(s, 0)->elem));
    const struct ir_type_data *r = ir_type_get(s->m, s->out[0]);
    HILO_TRY(broadcast_dims(s, v[0], n[0], r->dims, r->rank));
    HILO_TRY(shape_distinct(s, "dynamic_broadcast_in_dim_c8", "known_expanding_dimensions", v[1],
                            n[1], "known_nonexpanding_dimensions", v[2], n[2]));
    int64_t rank = shape_in(s, 0)->rank;
    HILO_TRY(shape_in_range(s, "dynamic_broadcast_in_dim_c9", "known_expanding_dimensions", v[1],
                            n[1], rank));
    HILO_TRY(shape_in_range(s, "dynamic_broadcast_in_dim_c10", "known_nonexpanding_dimensions",
                            v[2], n[2], rank));
    r = shape_res(s, 0);
    if (!s->verifying || r->rank != ir_type_get(s->m, s->out[0])->rank)
        return HILO_OK;
    HILO_TRY(broadcast_dims(s, v[0], n[0], r->dims, r->rank));
    return broadcast_axis(s, v[0]);
}

/* ---- concatenation, padding ------------------------------------------------------------------ */

hilo_status shape_concatenate(struct shape *s) {
    if (s->o->noperands == 0)
        return shape_fail(s, "concatenate_c3", "needs at least one operand");
    HILO_TRY(keeps_elem(s, "concatenate_c5"));
    const struct ir_type_data *first = shape_in(s, 0);
    int64_t dimension = ir_prop_i64(s->m, s->op, IR_CONCATENATE_dimension);
    if (dimension >= first->rank)
        return shape_fail(s, "concatenate_c4", "dimension %" PRId64 " is not one of %s", dimension,
                          shape_type_text(s, shape_in_type(s, 0)));
    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t d = 0; d < first->rank; d++)
        dims[d] = shape_dim_of(first, d);
    for (uint32_t i = 1; i < s->o->noperands; i++) {
        const struct ir_type_data *t = shape_in(s, i);
        if (!shape_same_elem(t, first, false))
            return shape_fail(s, "concatenate_c1", "operands must have one element type, but "
                              "operand 0 has %s and operand %u has %s",
                              shape_type_text(s, first->elem), i, shape_type_text(s, t->elem));
        bool fits = t->rank == first->rank;
        for (uint32_t d = 0; fits && d < t->rank; d++) {
            if (d != dimension)
                fits = shape_meet(dims[d], shape_dim_of(t, d), &dims[d]);
            else if (!shape_sum(dims[d], shape_dim_of(t, d), &dims[d]))
                return shape_fail(s, "concatenate_c6", "dimension %" PRId64 " becomes too large",
                                  dimension);
        }
        if (!fits)
            return shape_fail(s, "concatenate_c2", "operands may differ in dimension %" PRId64
                              " only, but operand 0 is %s and operand %u is %s", dimension,
                              shape_type_text(s, shape_in_type(s, 0)), i,
                              shape_type_text(s, shape_in_type(s, i)));
    }
    s->out_label = "concatenate_c6";
    s->out[0] = shape_tensor(s, first->elem, dims, first->rank);
    return HILO_OK;
}

/* size + low + high + max(size - 1, 0) * interior; false when that overflows. */
static bool padded(int64_t size, int64_t low, int64_t high, int64_t interior, int64_t *out) {
    int64_t sum;
    return !__builtin_mul_overflow(size > 0 ? size - 1 : 0, interior, &sum) &&
           !__builtin_add_overflow(sum, size, &sum) && !__builtin_add_overflow(sum, low, &sum) &&
           !__builtin_add_overflow(sum, high, out);
}

/* The result of padding operand 0; amounts that are not known are NULL. */
static hilo_status pad_result(struct shape *s, const int64_t *low, const int64_t *high,
                              const int64_t *interior) {
    const struct ir_type_data *t = shape_in(s, 0);
    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i] = (struct shape_dim){IR_DYNAMIC, IR_DYNAMIC};
        if (interior && interior[i] < 0)
            return shape_fail(s, "_c3", "interior padding must not be negative, but is %s",
                              shape_list_text(s, interior, t->rank));
        bool known = shape_known(t->dims[i]);
        int64_t size = known ? t->dims[i] : shape_bound(t, i), *out;
        if (!low || !high || !interior || !shape_known(size))
            continue;
        out = known ? &dims[i].size : &dims[i].bound;
        if (!padded(size, low[i], high[i], interior[i], out) || *out < 0)
            return shape_fail(s, "_c4", "padding dimension %u gives it a %s that is negative or "
                              "too large", i, known ? "size" : "bound");
    }
    s->out_label = s->o->kind == IR_PAD ? "pad_c4" : "dynamic_pad_c4";
    s->out[0] = shape_tensor(s, t->elem, dims, t->rank);
    return HILO_OK;
}

static hilo_status pad_elems(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0), *value = shape_in(s, 1);
    if (!shape_same_elem(t, value, false))
        return shape_fail(s, "_c1", "operand and padding value must have one element type, but "
                          "have %s and %s", shape_type_text(s, t->elem),
                          shape_type_text(s, value->elem));
    return keeps_elem(s, "_c1");
}

hilo_status shape_pad(struct shape *s) {
    static const enum ir_slot slots[3] = {IR_PAD_edge_padding_low, IR_PAD_edge_padding_high,
                                          IR_PAD_interior_padding};
    const int64_t *v[3];
    size_t n;
    HILO_TRY(pad_elems(s));
    for (int i = 0; i < 3; i++) {
        v[i] = ir_prop_i64s(s->m, s->op, slots[i], &n);
        HILO_TRY(shape_size(s, "pad_c2", ir_slot_get(slots[i])->name, n, shape_in(s, 0)->rank));
    }
    return pad_result(s, v[0], v[1], v[2]);
}

hilo_status shape_dynamic_pad(struct shape *s) {
    static const char *const names[3] = {"edge_padding_low", "edge_padding_high",
                                         "interior_padding"};
    const int64_t *v[3] = {NULL, NULL, NULL};
    size_t n;
    HILO_TRY(pad_elems(s));
    for (uint32_t i = 0; i < 3; i++) {
        HILO_TRY(shape_size(s, "dynamic_pad_c2", names[i], (size_t)shape_in(s, 2 + i)->dims[0],
                            shape_in(s, 0)->rank));
        if (!shape_const_i64s(s, s->o->operands[2 + i], &v[i], &n))
            v[i] = NULL;
    }
    return pad_result(s, v[0], v[1], v[2]);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* The number of steps from start to limit. */
static int64_t steps(int64_t start, int64_t limit, int64_t stride) {
    return (limit - start) / stride + ((limit - start) % stride != 0);
}

hilo_status shape_slice(struct shape *s) {
    static const enum ir_slot slots[3] = {IR_SLICE_start_indices, IR_SLICE_limit_indices,
                                          IR_SLICE_strides};
    const struct ir_type_data *t = shape_in(s, 0);
    const int64_t *v[3];
    size_t n;
    HILO_TRY(keeps_elem(s, "slice_c1"));
    for (int i = 0; i < 3; i++) {
        v[i] = ir_prop_i64s(s->m, s->op, slots[i], &n);
        HILO_TRY(shape_size(s, "slice_c2", ir_slot_get(slots[i])->name, n, t->rank));
    }
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t start = v[0][i], limit = v[1][i], stride = v[2][i];
        int64_t size = shape_known(t->dims[i]) ? t->dims[i] : shape_bound(t, i);
        if (start < 0 || start > limit || (shape_known(size) && limit > size))
            return shape_fail(s, "slice_c3", "0 <= start <= limit <= size must hold, but dimension "
                              "%u of size %s is sliced from %" PRId64 " to %" PRId64, i,
                              shape_dim_text(s, size), start, limit);
        if (stride <= 0)
            return shape_fail(s, "slice_c4", "strides must be positive, but dimension %u has %"
                              PRId64, i, stride);
        dims[i] = steps(start, limit, stride);
    }
    s->out_label = "slice_c5";
    s->out[0] = ir_type_tensor(s->m, t->elem, dims, t->rank, (ir_attr){0});
    return HILO_OK;
}

/* Start indices are the operands from `first` on: one a dimension, all of one type. */
static hilo_status start_indices(struct shape *s, uint32_t first, const char *count_label,
                                 const char *type_label) {
    uint32_t rank = shape_in(s, 0)->rank, n = s->o->noperands - first;
    if (n != rank)
        return shape_fail(s, count_label, "needs one start index for each of %u dimensions, but "
                          "has %u", rank, n);
    for (uint32_t i = 1; i < n; i++)
        if (!IR_SAME(shape_in_type(s, first), shape_in_type(s, first + i)))
            return shape_fail(s, type_label, "start indices must have one type, but have %s and %s",
                              shape_type_text(s, shape_in_type(s, first)),
                              shape_type_text(s, shape_in_type(s, first + i)));
    return HILO_OK;
}

hilo_status shape_dynamic_slice(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0);
    size_t n;
    const int64_t *sizes = ir_prop_i64s(s->m, s->op, IR_DYNAMIC_SLICE_slice_sizes, &n);
    HILO_TRY(keeps_elem(s, "dynamic_slice_c1"));
    HILO_TRY(start_indices(s, 1, "dynamic_slice_c2", "dynamic_slice_c3"));
    HILO_TRY(shape_size(s, "dynamic_slice_c2", "slice_sizes", n, t->rank));
    for (uint32_t i = 0; i < t->rank; i++)
        if (sizes[i] < 0 || (shape_known(t->dims[i]) && sizes[i] > t->dims[i]))
            return shape_fail(s, "dynamic_slice_c4", "slice size %" PRId64 " does not fit "
                              "dimension %u of size %s", sizes[i], i,
                              shape_dim_text(s, t->dims[i]));
    s->out_label = "dynamic_slice_c5";
    s->out[0] = ir_type_tensor(s->m, t->elem, sizes, t->rank, (ir_attr){0});
    return HILO_OK;
}

hilo_status shape_dynamic_update_slice(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0), *update = shape_in(s, 1);
    HILO_TRY(keeps_elem(s, "dynamic_update_slice_c1"));
    if (!shape_same_elem(t, update, false))
        return shape_fail(s, "dynamic_update_slice_c2", "operand and update must have one element "
                          "type, but have %s and %s", shape_type_text(s, t->elem),
                          shape_type_text(s, update->elem));
    if (update->rank != t->rank)
        return shape_fail(s, "dynamic_update_slice_c3", "operand and update must have one rank, "
                          "but have %u and %u", t->rank, update->rank);
    HILO_TRY(start_indices(s, 2, "dynamic_update_slice_c4", "dynamic_update_slice_c5"));
    for (uint32_t i = 0; i < t->rank; i++)
        if (shape_known(t->dims[i]) && shape_known(update->dims[i]) &&
            update->dims[i] > t->dims[i])
            return shape_fail(s, "dynamic_update_slice_c6", "update dimension %u of size %" PRId64
                              " does not fit the operand's of size %" PRId64, i, update->dims[i],
                              t->dims[i]);
    s->out_label = "dynamic_update_slice_c1";
    s->out[0] = shape_in_type(s, 0);
    return HILO_OK;
}

hilo_status shape_real_dynamic_slice(struct shape *s) {
    static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
    const struct ir_type_data *t = shape_in(s, 0);
    const int64_t *v[3];
    bool known = true;
    HILO_TRY(keeps_elem(s, NULL));
    for (uint32_t i = 0; i < 3; i++) {
        int64_t length = shape_in(s, 1 + i)->dims[0];
        size_t n;
        if (!IR_SAME(shape_in_type(s, 1), shape_in_type(s, 1 + i)))
            return shape_fail(s, NULL, "start_indices and %s must have one type, but have %s and "
                              "%s", names[i], shape_type_text(s, shape_in_type(s, 1)),
                              shape_type_text(s, shape_in_type(s, 1 + i)));
        if (shape_known(length))
            HILO_TRY(shape_size(s, NULL, names[i], (size_t)length, t->rank));
        known = shape_const_i64s(s, s->o->operands[1 + i], &v[i], &n) && known;
    }
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        bool sane = known && v[0][i] >= 0 && v[0][i] <= v[1][i] && v[2][i] > 0;
        dims[i] = sane ? steps(v[0][i], v[1][i], v[2][i]) : IR_DYNAMIC;
    }
    s->out[0] = ir_type_tensor(s->m, t->elem, dims, t->rank, (ir_attr){0});
    return HILO_OK;
}

/* ---- reshapes -------------------------------------------------------------------------------- */

/* Along quantised axes: a reshape may split or merge what is before and what is after the axis,
   but not the axis itself. */
static hilo_status reshape_axis(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0), *r = shape_res(s, 0);
    HILO_TRY(shape_same_scales(s, "_c1", shape_in_type(s, 0), shape_res_type(s, 0)));
    if (!shape_is_axis(t) || !shape_is_axis(r))
        return HILO_OK;
    int64_t a = t->quant->axes[0], b = r->quant->axes[0];
    if (!shape_dims_agree(t->dims[a], r->dims[b]))
        return shape_fail(s, "_c3", "the quantized dimension has size %" PRId64 " in the operand, "
                          "but %" PRId64 " in the result", t->dims[a], r->dims[b]);
    int64_t before_a = 1, before_b = 1;
    bool known = true;
    for (int64_t i = 0; i < a; i++)
        known = known && shape_known(t->dims[i]) &&
                !__builtin_mul_overflow(before_a, t->dims[i], &before_a);
    for (int64_t i = 0; i < b; i++)
        known = known && shape_known(r->dims[i]) &&
                !__builtin_mul_overflow(before_b, r->dims[i], &before_b);
    if (known && before_a != before_b)
        return shape_fail(s, "_c3", "the dimensions before the quantized one have %" PRId64
                          " elements in the operand, but %" PRId64 " in the result", before_a,
                          before_b);
    return HILO_OK;
}

/* The operand has as many elements as `r`, if both are known. */
static hilo_status reshape_count(struct shape *s, const struct ir_type_data *r) {
    const struct ir_type_data *t = shape_in(s, 0);
    size_t have, want;
    if (!ir_type_is_static(t) || !ir_type_is_static(r))
        return HILO_OK;
    if (!ir_type_count(t, &have) || !ir_type_count(r, &want))
        return shape_fail(s, "_c2", "the number of elements is too large");
    if (have != want)
        return shape_fail(s, "_c2", "the operand has %zu elements, but the result has %zu", have,
                          want);
    return HILO_OK;
}

hilo_status shape_reshape(struct shape *s) {
    if (!s->verifying)
        return HILO_OK;
    HILO_TRY(move_elems(s, "reshape_c1"));
    HILO_TRY(reshape_count(s, shape_res(s, 0)));
    return reshape_axis(s);
}

hilo_status shape_dynamic_reshape(struct shape *s) {
    HILO_TRY(move_elems(s, "dynamic_reshape_c1"));
    HILO_TRY(shape_by_operand(s, "dynamic_reshape_c4", 1, shape_in(s, 0)->elem));
    HILO_TRY(reshape_count(s, ir_type_get(s->m, s->out[0])));
    if (!s->verifying)
        return HILO_OK;
    HILO_TRY(reshape_count(s, shape_res(s, 0)));
    return reshape_axis(s);
}

/* ---- permutations ---------------------------------------------------------------------------- */

hilo_status shape_reverse(struct shape *s) {
    size_t n;
    const int64_t *dims = ir_prop_i64s(s->m, s->op, IR_REVERSE_dimensions, &n);
    HILO_TRY(keeps_elem(s, "reverse_c1"));
    HILO_TRY(shape_unique(s, "reverse_c2", "dimensions", dims, n));
    HILO_TRY(shape_in_range(s, "reverse_c3", "dimensions", dims, n, shape_in(s, 0)->rank));
    s->out_label = "reverse_c1";
    s->out[0] = shape_in_type(s, 0);
    return HILO_OK;
}

hilo_status shape_transpose(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0), *r = shape_res(s, 0);
    size_t n;
    const int64_t *from = ir_prop_i64s(s->m, s->op, IR_TRANSPOSE_permutation, &n);
    HILO_TRY(move_elems(s, "transpose_c1"));
    HILO_TRY(shape_size(s, "transpose_c2", "permutation", n, t->rank));
    HILO_TRY(shape_in_range(s, "transpose_c2", "permutation", from, n, t->rank));
    HILO_TRY(shape_unique(s, "transpose_c2", "permutation", from, n));
    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = shape_dim_of(t, (uint32_t)from[i]);
    s->out_label = "transpose_c3";
    s->out[0] = shape_tensor(s, t->elem, dims, t->rank);
    if (!s->verifying)
        return HILO_OK;
    HILO_TRY(shape_same_scales(s, "transpose_c1", shape_in_type(s, 0), shape_res_type(s, 0)));
    if (shape_is_axis(r) && r->rank == t->rank && t->quant->axes[0] != from[r->quant->axes[0]])
        return shape_fail(s, "transpose_c4", "the result is quantized along dimension %" PRId64
                          ", which is not where the operand's dimension %" PRId64 " goes",
                          r->quant->axes[0], t->quant->axes[0]);
    return HILO_OK;
}

/* ---- sizes of dimensions --------------------------------------------------------------------- */

hilo_status shape_get_dimension_size(struct shape *s) {
    int64_t dim = ir_prop_i64(s->m, s->op, IR_GET_DIMENSION_SIZE_dimension);
    HILO_TRY(shape_in_range(s, "get_dimension_size_c1", "dimension", &dim, 1,
                            shape_in(s, 0)->rank));
    s->out[0] = ir_type_of(s->m, IR_I32_T, NULL, 0);
    return HILO_OK;
}

/* A dimension whose size is set becomes unknown, bounded by what it was; set to a constant that is
   its bound, it is known. */
hilo_status shape_set_dimension_size(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0);
    int64_t dim = ir_prop_i64(s->m, s->op, IR_SET_DIMENSION_SIZE_dimension);
    HILO_TRY(shape_in_range(s, NULL, "dimension", &dim, 1, t->rank));
    if (shape_in(s, 1)->rank != 0)
        return shape_fail(s, NULL, "the size must be a scalar, but is %s",
                          shape_type_text(s, shape_in_type(s, 1)));
    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = shape_dim_of(t, i);
    int64_t most = shape_known(dims[dim].size) ? dims[dim].size : dims[dim].bound;
    const int64_t *size;
    size_t n;
    dims[dim] = (struct shape_dim){IR_DYNAMIC, most};
    if (shape_const_i64s(s, s->o->operands[1], &size, &n) && size[0] == most)
        dims[dim] = (struct shape_dim){most, IR_DYNAMIC};
    s->out[0] = shape_tensor(s, t->elem, dims, t->rank);
    return HILO_OK;
}
