/* Rules of ops that slide a window: reduce_window, select_and_scatter; and the windows that they
   share with convolutions. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- windows --------------------------------------------------------------------------------- */

/* A list that has a positive value for each of n dimensions, or is missing: then *out is NULL. */
static hilo_status window_list(struct shape *s, const struct shape_window_attr *a, size_t n,
                               const int64_t **out) {
    size_t have = 0;
    *out = NULL;
    if (a->slot == IR_SLOT_NONE)
        return HILO_OK;
    const int64_t *v = ir_prop_i64s(s->m, s->op, a->slot, &have);
    const char *name = ir_slot_get(a->slot)->name;
    if (have == 0)
        return HILO_OK;
    HILO_TRY(shape_size(s, a->length, name, have, n));
    for (size_t i = 0; i < n; i++)
        if (v[i] <= 0)
            return shape_fail(s, a->value, "%s must be positive, but is %s", name,
                              shape_list_text(s, v, n));
    *out = v;
    return HILO_OK;
}

/* A pair of paddings for each of n dimensions, or NULL when there are none. */
static hilo_status window_padding(struct shape *s, const struct shape_window_attr *a, size_t n,
                                  const int64_t **out) {
    *out = NULL;
    ir_attr padding = a->slot == IR_SLOT_NONE ? (ir_attr){0} : ir_prop(s->m, s->op, a->slot);
    if (IR_NONE(padding))
        return HILO_OK;
    const struct ir_type_data *t = ir_type_get(s->m, ir_attr_get(s->m, padding)->type);
    size_t have;
    bool absent = t->dims[0] == 0 && t->dims[1] == 2;
    if (t->dims[1] != 2 || (!absent && t->dims[0] != (int64_t)n) ||
        !shape_attr_ints(s, padding, out, &have))
        return shape_fail(s, a->length, "padding must have the shape [%zu, 2], but has %s", n,
                          shape_list_text(s, t->dims, t->rank));
    if (absent)
        *out = NULL;
    return HILO_OK;
}

hilo_status shape_windows(struct shape *s, const struct shape_window_attrs *a, const int64_t *sizes,
                          size_t n, struct shape_window *out) {
    const int64_t *stride, *padding, *base, *window;
    for (size_t i = 0; i < n; i++)
        if (shape_known(sizes[i]) && sizes[i] <= 0)
            return shape_fail(s, a->sizes.value, "the window must have a positive size in each "
                              "dimension, but has %s", shape_list_text(s, sizes, n));
    HILO_TRY(window_list(s, &a->stride, n, &stride));
    HILO_TRY(window_list(s, &a->base_dilation, n, &base));
    HILO_TRY(window_list(s, &a->window_dilation, n, &window));
    HILO_TRY(window_padding(s, &a->padding, n, &padding));
    for (size_t i = 0; i < n; i++)
        out[i] = (struct shape_window){
            .size = sizes[i],
            .stride = stride ? stride[i] : 1,
            .low = padding ? padding[2 * i] : 0,
            .high = padding ? padding[2 * i + 1] : 0,
            .base_dilation = base ? base[i] : 1,
            .window_dilation = window ? window[i] : 1,
        };
    return HILO_OK;
}

/* The extent of `size` elements with holes between them; false when it overflows. */
static bool window_dilated(int64_t size, int64_t dilation, int64_t *out) {
    *out = 0;
    return size == 0 || (!__builtin_mul_overflow(size - 1, dilation, out) &&
                         !__builtin_add_overflow(*out, 1, out));
}

static bool window_positions(const struct shape_window *w, int64_t size, int64_t *out) {
    int64_t base, window;
    if (!window_dilated(size, w->base_dilation, &base) ||
        !window_dilated(w->size, w->window_dilation, &window) ||
        __builtin_add_overflow(base, w->low, &base) || __builtin_add_overflow(base, w->high, &base))
        return false;
    *out = base <= 0 || window > base ? 0 : (base - window) / w->stride + 1;
    return true;
}

bool shape_window_count(const struct shape_window *w, struct shape_dim base, struct shape_dim *out) {
    *out = (struct shape_dim){IR_DYNAMIC, IR_DYNAMIC};
    if (!shape_known(w->size))
        return true;
    return (!shape_known(base.size) || window_positions(w, base.size, &out->size)) &&
           (!shape_known(base.bound) || window_positions(w, base.bound, &out->bound));
}

/* The number of windows in each dimension of t. */
static hilo_status window_counts(struct shape *s, const char *label, const struct shape_window *w,
                                 const struct ir_type_data *t, struct shape_dim *out) {
    for (uint32_t i = 0; i < t->rank; i++)
        if (!shape_window_count(&w[i], shape_dim_of(t, i), &out[i]))
            return shape_fail(s, label, "dilation and padding make dimension %u too large", i);
    return HILO_OK;
}

/* ---- reduce_window --------------------------------------------------------------------------- */

hilo_status shape_reduce_window(struct shape *s) {
    static const struct shape_window_attrs attrs = {
        .sizes = {IR_REDUCE_WINDOW_window_dimensions, "reduce_window_c4", "reduce_window_c5"},
        .stride = {IR_REDUCE_WINDOW_window_strides, "reduce_window_c6", "reduce_window_c7"},
        .base_dilation = {IR_REDUCE_WINDOW_base_dilations, "reduce_window_c8", "reduce_window_c9"},
        .window_dilation = {IR_REDUCE_WINDOW_window_dilations, "reduce_window_c10",
                            "reduce_window_c11"},
        .padding = {IR_REDUCE_WINDOW_padding, "reduce_window_c12", NULL},
    };
    struct shape_range in = shape_in_group(s, 0), init = shape_in_group(s, 1);
    if (in.n == 0)
        return shape_fail(s, "reduce_window_c1", "needs at least one input");
    HILO_TRY(shape_results(s, "reduce_window_c1", in.n));
    HILO_TRY(shape_same_shapes(s, "reduce_window_c2", "inputs", in));
    struct shape_window windows[IR_MAX_RANK];
    uint32_t rank = shape_in(s, in.first)->rank;
    size_t n;
    const int64_t *sizes = ir_prop_i64s(s->m, s->op, attrs.sizes.slot, &n);
    HILO_TRY(shape_size(s, attrs.sizes.length, "window_dimensions", n, rank));
    HILO_TRY(shape_windows(s, &attrs, sizes, rank, windows));
    struct shape_reducer r = {
        .n = in.n, .inputs = shape_in_types(s, in), .inits = shape_in_types(s, init),
        .dims = sizes, .ndims = rank,
        .label = "reduce_window_c13", .init_label = "reduce_window_c3",
    };
    HILO_TRY(shape_reducer(s, &r));
    s->out_label = "reduce_window_c15";
    for (uint32_t i = 0; i < in.n; i++) {
        struct shape_dim dims[IR_MAX_RANK];
        ir_type elem = ir_type_get(s->m, shape_yield_type(s, 0, i))->elem;
        HILO_TRY(window_counts(s, "reduce_window_c15", windows, shape_in(s, in.first + i), dims));
        HILO_TRY(shape_result_elem(s, "reduce_window_c16", i, elem));
        s->out[i] = shape_tensor(s, elem, dims, rank);
    }
    return HILO_OK;
}

/* ---- select_and_scatter ---------------------------------------------------------------------- */

/* The region that selects takes two elements of the operand, in any precision. */
static hilo_status select_region(struct shape *s) {
    const struct ir_block_data *b = shape_block(s, 0);
    const struct ir_op_data *end = shape_yield(s, 0);
    ir_type want = shape_scalar_of(s, shape_in(s, 0)->elem);
    if (b->nargs != 2)
        return shape_fail(s, "select_and_scatter_c9", "the selection must take 2 values, but takes "
                          "%u", b->nargs);
    for (uint32_t i = 0; i < 2; i++) {
        const struct ir_type_data *t = ir_type_get(s->m, shape_arg_type(s, 0, i));
        if (!shape_compatible(t, ir_type_get(s->m, want)) ||
            !shape_same_elem(t, ir_type_get(s->m, want), true))
            return shape_fail(s, "select_and_scatter_c9", "argument %u of the selection must have "
                              "type %s, but has %s", i, shape_type_text(s, want),
                              shape_type_text(s, shape_arg_type(s, 0, i)));
    }
    if (end->noperands != 1)
        return shape_fail(s, "select_and_scatter_c9", "the selection must return one value, but "
                          "returns %u", end->noperands);
    if (!shape_is_truth(s, shape_yield_type(s, 0, 0)))
        return shape_fail(s, "select_and_scatter_c9", "the selection must return tensor<i1>, but "
                          "returns %s", shape_type_text(s, shape_yield_type(s, 0, 0)));
    return HILO_OK;
}

/* The source has one element for each window over the operand. */
static hilo_status select_source(struct shape *s) {
    static const struct shape_window_attrs attrs = {
        .sizes = {IR_SELECT_AND_SCATTER_window_dimensions, "select_and_scatter_c4",
                  "select_and_scatter_c5"},
        .stride = {IR_SELECT_AND_SCATTER_window_strides, "select_and_scatter_c6",
                   "select_and_scatter_c7"},
        .padding = {IR_SELECT_AND_SCATTER_padding, "select_and_scatter_c8", NULL},
    };
    const struct ir_type_data *t = shape_in(s, 0), *source = shape_in(s, 1);
    struct shape_window windows[IR_MAX_RANK];
    struct shape_dim dims[IR_MAX_RANK];
    size_t n;
    const int64_t *sizes = ir_prop_i64s(s->m, s->op, attrs.sizes.slot, &n);
    HILO_TRY(shape_size(s, attrs.sizes.length, "window_dimensions", n, t->rank));
    HILO_TRY(shape_windows(s, &attrs, sizes, t->rank, windows));
    HILO_TRY(window_counts(s, "select_and_scatter_c2", windows, t, dims));
    if (!shape_same_elem(t, source, true))
        return shape_fail(s, "select_and_scatter_c1", "operand and source must have one element "
                          "type, but have %s and %s", shape_type_text(s, t->elem),
                          shape_type_text(s, source->elem));
    ir_type want = shape_tensor(s, source->elem, dims, t->rank);
    if (!shape_compatible(source, ir_type_get(s->m, want)))
        return shape_fail(s, "select_and_scatter_c2", "the source must have the type %s, as there "
                          "are windows, but has %s", shape_type_text(s, want),
                          shape_type_text(s, shape_in_type(s, 1)));
    return HILO_OK;
}

hilo_status shape_select_and_scatter(struct shape *s) {
    HILO_TRY(select_region(s));
    ir_type input = shape_scalar_of(s, shape_in(s, 1)->elem), init = shape_in_type(s, 2);
    struct shape_reducer r = {
        .region = 1, .n = 1, .inputs = &input, .inits = &init,
        .label = "select_and_scatter_c10", .init_label = "select_and_scatter_c3",
    };
    HILO_TRY(shape_reducer(s, &r));
    HILO_TRY(select_source(s));
    ir_type elem = ir_type_get(s->m, shape_yield_type(s, 1, 0))->elem;
    HILO_TRY(shape_result_elem(s, "select_and_scatter_c12", 0, elem));
    s->out_label = "select_and_scatter_c11";
    s->out[0] = shape_with_elem(s, shape_in_type(s, 0), elem);
    return HILO_OK;
}
