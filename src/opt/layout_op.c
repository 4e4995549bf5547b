/* Layouts and ops: see layout.h. What an op's attributes say of dimensions is marked in attrs.def. */
#include "opt/cost.h"
#include "opt/layout.h"

#include <math.h>
#include <string.h>

/* ---- roles ----------------------------------------------------------------------------------- */

bool layout_plain(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    size_t n;
    return t->kind == IR_TYPE_TENSOR && t->rank > 1 && !t->quant && IR_NONE(t->encoding) && ir_type_count(t, &n) && n > 0;
}

static bool all_plain(const struct ir_module *m, const ir_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!layout_plain(m, v[i]))
            return false;
    return n > 0;
}

/* The slots whose attributes are marked as being about dimensions. */
static bool has_dimension_slots(enum ir_op_kind kind) {
    const struct ir_op_info *info = ir_op_info(kind);
    for (uint32_t i = 0; i < info->nslots; i++)
        if (ir_slot_get(info->first_slot + i)->flags & (IR_PER_DIM | IR_DIMS))
            return true;
    return false;
}

/* One scalar operand for each dimension, after the tensors. */
static bool has_indices(enum ir_op_kind kind) {
    const char *operands = ir_op_info(kind)->operands;
    return strstr(operands, "iscalar*") != NULL;
}

/* Every operand has the rank of the results, or is a scalar. */
static bool is_same(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    if (!ir_op_has(kind, IR_T_PURE) || !x->noperands ||
        !(ir_op_has(kind, IR_T_ELEMENTWISE) || has_dimension_slots(kind) || has_indices(kind)))
        return false;
    uint32_t rank = ir_val_type(m, ir_result(m, op, 0))->rank;
    for (uint32_t i = 0; i < x->noperands; i++) {
        const struct ir_type_data *t = ir_val_type(m, x->operands[i]);
        if (t->kind != IR_TYPE_TENSOR || (t->rank != 0 && (t->rank != rank || !layout_plain(m, x->operands[i]))))
            return false;
    }
    for (uint32_t i = 0; i < x->nresults; i++)
        if (ir_val_type(m, ir_result(m, op, i))->rank != rank)
            return false;
    return true;
}

static bool is_view(const struct ir_module *m, ir_op op) {
    enum ir_op_kind kind = ir_kind(m, op);
    const struct ir_op_data *x = ir_op_get(m, op);
    if (kind == IR_REDUCE)
        return all_plain(m, x->operands, x->noperands / 2);
    return (kind == IR_TRANSPOSE || kind == IR_RESHAPE || kind == IR_BROADCAST_IN_DIM) && layout_plain(m, x->operands[0]);
}

enum layout_role layout_role(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    if (ir_op_has(kind, IR_T_CONTROL | IR_T_ALIAS) && (ir_op_has(kind, IR_T_SLOTS) || kind == IR_OPTIMIZATION_BARRIER))
        return LAYOUT_PASS;
    if (!IR_NONE(x->attrs) || !x->nresults)
        return LAYOUT_FIXED;
    bool view = is_view(m, op);
    for (uint32_t i = 0; i < x->nresults; i++) /* those of views may have one dimension, or none */
        if (!layout_plain(m, ir_result(m, op, i)) && !(view && ir_val_type(m, ir_result(m, op, i))->rank < 2))
            return LAYOUT_FIXED;
    if (view)
        return LAYOUT_VIEW;
    if (kind == IR_CONSTANT || kind == IR_IOTA || kind == IR_BROADCAST_IN_DIM)
        return LAYOUT_FREE;
    if (kind == IR_CONVOLUTION)
        return all_plain(m, x->operands, 2) ? LAYOUT_CONV : LAYOUT_FIXED;
    return is_same(m, op) ? LAYOUT_SAME : LAYOUT_FIXED;
}

bool layout_is_free(const struct ir_module *m, ir_val v) {
    ir_op op = ir_val_get(m, v)->op;
    return !IR_NONE(op) && layout_role(m, op) == LAYOUT_FREE;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void invert(const int64_t *order, uint32_t rank, int64_t *out) {
    for (uint32_t i = 0; i < rank; i++)
        out[order[i]] = i;
}

static void permute_slot(struct ir_module *m, ir_op op, enum ir_slot slot, const int64_t *order, uint32_t rank) {
    const struct ir_slot_info *info = ir_slot_get(slot);
    int64_t place[IR_MAX_RANK], out[2 * IR_MAX_RANK];
    size_t n;
    if (IR_NONE(ir_prop(m, op, slot)))
        return;
    invert(order, rank, place);
    if (info->form == IR_AF_I64) {
        ir_set_prop(m, op, slot, ir_attr_i64(m, place[ir_prop_i64(m, op, slot)]));
        return;
    }
    const int64_t *v = ir_prop_i64s(m, op, slot, &n);
    uint32_t each = info->form == IR_AF_I64ELEMS ? 2 : 1;
    for (size_t i = 0; i < n; i++)
        out[i] = info->flags & IR_DIMS ? place[v[i]] : v[each * (size_t)order[i / each] + i % each];
    ir_set_prop(m, op, slot,
                each == 2 ? ir_attr_dense_i64s(m, out, (int64_t[]){rank, 2}, 2) : ir_attr_i64s(m, out, (uint32_t)n));
}

void layout_permute(struct ir_module *m, ir_op op, const int64_t *order) {
    enum ir_op_kind kind = ir_kind(m, op);
    const struct ir_op_info *info = ir_op_info(kind);
    const struct ir_op_data *x = ir_op_get(m, op);
    uint32_t rank = ir_val_type(m, ir_result(m, op, 0))->rank, first = x->noperands - rank;
    if (kind == IR_BROADCAST_IN_DIM) { /* of a vector: its dimension is where that of the result has gone */
        size_t n;
        int64_t place[IR_MAX_RANK], at;
        invert(order, rank, place);
        const int64_t *dims = ir_prop_i64s(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
        at = n ? place[dims[0]] : 0;
        ir_set_prop(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(m, &at, (uint32_t)n));
    }
    for (uint32_t i = 0; i < info->nslots; i++)
        if (ir_slot_get(info->first_slot + i)->flags & (IR_PER_DIM | IR_DIMS))
            permute_slot(m, op, (enum ir_slot)(info->first_slot + i), order, rank);
    if (!has_indices(kind))
        return;
    ir_val at[IR_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        at[i] = ir_operand(m, op, first + (uint32_t)order[i]);
    for (uint32_t i = 0; i < rank; i++)
        ir_set_operand(m, op, first + i, at[i]);
}

/* ---- the order of sums ------------------------------------------------------------------------- */

/* The body is one op that commutes and is associative but for rounding, so elements may be combined in any order. */
static bool is_commutative(const struct ir_module *m, ir_op op) {
    const struct ir_block_data *b = ir_block_get(m, ir_region_get(m, ir_op_region(m, op, 0))->first);
    const struct ir_op_data *x = ir_op_get(m, b->first), *end = IR_NONE(x->next) ? x : ir_op_get(m, x->next);
    if (b->nargs != 2 || !ir_op_has((enum ir_op_kind)x->kind, IR_T_COMMUTATIVE) ||
        !ir_op_has((enum ir_op_kind)x->kind, IR_T_ASSOCIATIVE) || !ir_op_has((enum ir_op_kind)end->kind, IR_T_TERMINATOR) ||
        !IR_SAME(end->operands[0], x->result0))
        return false;
    return (IR_SAME(x->operands[0], b->args[0]) && IR_SAME(x->operands[1], b->args[1])) ||
           (IR_SAME(x->operands[0], b->args[1]) && IR_SAME(x->operands[1], b->args[0]));
}

/* Dimensions of more than one element that are combined. */
static bool is_combined(const struct ir_module *m, ir_op op, int64_t dim) {
    enum ir_op_kind kind = ir_kind(m, op);
    size_t n;
    if (kind == IR_REDUCE) {
        const int64_t *dims = ir_prop_i64s(m, op, IR_REDUCE_dimensions, &n);
        for (size_t i = 0; i < n; i++)
            if (dims[i] == dim)
                return ir_val_type(m, ir_operand(m, op, 0))->dims[dim] != 1;
        return false;
    }
    const int64_t *window = ir_prop_i64s(m, op, kind == IR_REDUCE_WINDOW ? IR_REDUCE_WINDOW_window_dimensions
                                                                         : IR_SELECT_AND_SCATTER_window_dimensions, &n);
    return dim < (int64_t)n && window[dim] != 1;
}

/* select_and_scatter may choose the first of equal elements, and sums up where windows overlap. */
bool layout_reorders(const struct ir_module *m, ir_op op, const int64_t *order) {
    enum ir_op_kind kind = ir_kind(m, op);
    if (!ir_op_has(kind, IR_T_REDUCTION) || (kind != IR_SELECT_AND_SCATTER && is_commutative(m, op)))
        return false;
    uint32_t rank = ir_val_type(m, ir_operand(m, op, 0))->rank;
    int64_t last = -1;
    for (uint32_t i = 0; i < rank; i++)
        if (is_combined(m, op, order[i])) {
            if (order[i] < last)
                return true;
            last = order[i];
        }
    return false;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Divides the dimensions of both sides of a reshape into the shortest runs of as many elements. By dimension: its run. */
static void find_runs(const struct ir_type_data *a, const struct ir_type_data *b, uint32_t *run_a, uint32_t *run_b) {
    uint32_t i = 0, j = 0, run = 0;
    while (i < a->rank && j < b->rank) {
        int64_t p = a->dims[i], q = b->dims[j];
        run_a[i++] = run_b[j++] = run;
        while (p != q)
            if (p < q) {
                p *= a->dims[i];
                run_a[i++] = run;
            } else {
                q *= b->dims[j];
                run_b[j++] = run;
            }
        run++;
    }
    for (run = run ? run - 1 : 0; i < a->rank; i++) /* dimensions of size 1 */
        run_a[i] = run;
    for (; j < b->rank; j++)
        run_b[j] = run;
}

/* The order in which a reshape of elements in order `from` has them: runs move as wholes. Where a dimension of size 1 is does
   not matter, unless its run has no others. */
static bool reshape_order(const struct ir_type_data *a, const struct ir_type_data *b, const int64_t *from, int64_t *to) {
    uint32_t run_a[IR_MAX_RANK], run_b[IR_MAX_RANK], n = 0;
    bool large[IR_MAX_RANK] = {false}, written[IR_MAX_RANK] = {false};
    int64_t last = -1;
    find_runs(a, b, run_a, run_b);
    for (uint32_t i = 0; i < a->rank; i++)
        large[run_a[i]] |= a->dims[i] != 1;
    for (uint32_t i = 0; i < a->rank; i++) {
        uint32_t run = run_a[from[i]];
        bool one = a->dims[from[i]] == 1, follows = !one && last >= 0 && run_a[last] == run;
        if (one && large[run])
            continue;
        if (!one && (follows ? from[i] < last : written[run]))
            return false;
        last = one ? last : from[i];
        for (uint32_t j = 0; j < b->rank && !written[run]; j++)
            if (run_b[j] == run)
                to[n++] = j;
        written[run] = true;
    }
    return n == b->rank;
}

static bool is_reduced(const int64_t *dims, size_t n, int64_t dim) {
    for (size_t i = 0; i < n; i++)
        if (dims[i] == dim)
            return true;
    return false;
}

static void reduce_order(const struct ir_module *m, ir_op op, const int64_t *from, int64_t *to) {
    size_t n;
    const int64_t *dims = ir_prop_i64s(m, op, IR_REDUCE_dimensions, &n);
    uint32_t rank = ir_val_type(m, ir_operand(m, op, 0))->rank, k = 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t before = 0;
        for (size_t d = 0; d < n; d++)
            before += dims[d] < from[i];
        if (!is_reduced(dims, n, from[i]))
            to[k++] = from[i] - before;
    }
}

bool layout_forward(const struct ir_module *m, ir_op op, const int64_t *from, int64_t *to) {
    const struct ir_type_data *a = ir_val_type(m, ir_operand(m, op, 0)), *b = ir_val_type(m, ir_result(m, op, 0));
    enum ir_op_kind kind = ir_kind(m, op);
    int64_t place[IR_MAX_RANK];
    size_t n;
    if (kind == IR_RESHAPE)
        return reshape_order(a, b, from, to);
    if (kind == IR_REDUCE) {
        reduce_order(m, op, from, to);
        return true;
    }
    const int64_t *dims = ir_prop_i64s(m, op, kind == IR_TRANSPOSE ? IR_TRANSPOSE_permutation
                                                                   : IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    if (a->rank != b->rank)
        return false;
    invert(dims, a->rank, place);
    for (uint32_t i = 0; i < a->rank; i++)
        to[i] = kind == IR_TRANSPOSE ? place[from[i]] : dims[from[i]];
    return true;
}

bool layout_backward(const struct ir_module *m, ir_op op, const int64_t *to, int64_t *from) {
    const struct ir_type_data *a = ir_val_type(m, ir_operand(m, op, 0)), *b = ir_val_type(m, ir_result(m, op, 0));
    enum ir_op_kind kind = ir_kind(m, op);
    uint32_t k = 0;
    size_t n;
    if (kind == IR_REDUCE)
        return false;
    if (kind == IR_RESHAPE)
        return b->rank > 1 && reshape_order(b, a, to, from);
    const int64_t *dims = ir_prop_i64s(m, op, kind == IR_TRANSPOSE ? IR_TRANSPOSE_permutation
                                                                   : IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    for (uint32_t i = 0; i < b->rank; i++)
        for (uint32_t d = 0; d < a->rank; d++)
            if (kind == IR_TRANSPOSE ? d == (uint32_t)dims[to[i]] : dims[d] == to[i])
                from[k++] = d;
    return k == a->rank;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* The dimension numbers of lhs, rhs and result: two dimensions, then the spatial ones. */
static const enum ir_field_slot conv_fields[3][3] = {
    {IR_CONV_input_batch_dimension_F, IR_CONV_input_feature_dimension_F, IR_CONV_input_spatial_dimensions_F},
    {IR_CONV_kernel_input_feature_dimension_F, IR_CONV_kernel_output_feature_dimension_F, IR_CONV_kernel_spatial_dimensions_F},
    {IR_CONV_output_batch_dimension_F, IR_CONV_output_feature_dimension_F, IR_CONV_output_spatial_dimensions_F},
};

/* The number of places of a window, of an image or of the result. */
static double spatial_size(const struct ir_module *m, ir_op op, uint32_t which) {
    ir_attr numbers = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    const struct ir_type_data *t = ir_val_type(m, which < 2 ? ir_operand(m, op, which) : ir_result(m, op, 0));
    size_t n;
    const int64_t *dims = ir_field_dims(m, numbers, conv_fields[which][2], &n);
    double size = 1;
    for (size_t i = 0; i < n; i++)
        size *= (double)t->dims[dims[i]];
    return size;
}

/* Batch or input features, spatial dimensions, then features; of the window, spatial dimensions first. In the gradient of a
   kernel, whose window is an image and whose result is as small as a window, images stand for features, and features for the
   batch. */
void layout_conv_order(const struct ir_module *m, ir_op op, uint32_t which, int64_t *order) {
    ir_attr numbers = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    double image = spatial_size(m, op, 0), window = spatial_size(m, op, 1), result = spatial_size(m, op, 2);
    bool gradient = result < window && 4 * window > image;
    int64_t first = ir_field_i64(m, numbers, conv_fields[which][0]), second = ir_field_i64(m, numbers, conv_fields[which][1]);
    size_t n, k = 0;
    const int64_t *spatial = ir_field_dims(m, numbers, conv_fields[which][2], &n);
    bool leads = which == 0 || (which == 1 ? gradient : !gradient); /* one dimension before the spatial ones */
    if (which == 0 && gradient) {
        int64_t features = first;
        first = second;
        second = features;
    }
    if (leads)
        order[k++] = first;
    for (size_t i = 0; i < n; i++)
        order[k++] = spatial[i];
    if (!leads)
        order[k++] = first;
    order[k] = second;
}

/* Vectors are along output features, so those are contiguous in the window and in the result. Of the image, features are,
   which are summed up, or the batch: a matrix of which either dimension is contiguous. */
bool layout_conv_fits(const struct ir_module *m, ir_op op, uint32_t which, const int64_t *order) {
    ir_attr numbers = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    const struct ir_type_data *t = ir_val_type(m, which < 2 ? ir_operand(m, op, which) : ir_result(m, op, 0));
    uint32_t last = t->rank - 1;
    while (last > 0 && t->dims[order[last]] == 1)
        last--;
    return order[last] == ir_field_i64(m, numbers, conv_fields[which][1]) || t->dims[order[last]] == 1 ||
           (which == 0 && order[last] == ir_field_i64(m, numbers, conv_fields[which][0]));
}

static bool has_positive(const struct ir_module *m, ir_op op, enum ir_slot slot) {
    size_t n;
    const int64_t *v = ir_prop_i64s(m, op, slot, &n);
    for (size_t i = 0; v && i < n; i++)
        if (v[i] > 0)
            return true;
    return false;
}

bool layout_multiplies_planes(const struct ir_module *m, const struct target *t, ir_op op) {
    ir_attr numbers = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    if (t->block_threads || ir_prop_i64(m, op, IR_CONVOLUTION_feature_group_count) != 1 || spatial_size(m, op, 1) != 1 ||
        spatial_size(m, op, 2) < t->vector_bytes || !ir_prop_i64s_are(m, op, IR_CONVOLUTION_lhs_dilation, 1) ||
        has_positive(m, op, IR_CONVOLUTION_padding))
        return false;
    for (uint32_t which = 0; which <= 2; which += 2) {
        ir_val v = which ? ir_result(m, op, 0) : ir_operand(m, op, 0);
        size_t n;
        const int64_t *dims = ir_field_dims(m, numbers, conv_fields[which][2], &n);
        for (size_t i = 0; i < n; i++)
            if (dims[i] != (int64_t)(2 + i))
                return false;
        if (!layout_plain(m, v) || ir_val_type(m, v)->dims[ir_field_i64(m, numbers, conv_fields[which][0])] != 1)
            return false;
    }
    return layout_plain(m, ir_operand(m, op, 1));
}

void layout_conv_set(struct ir_module *m, ir_op op, uint32_t which, const int64_t *order) {
    ir_attr numbers = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers), parts[9];
    uint32_t rank = ir_val_type(m, ir_result(m, op, 0))->rank;
    int64_t place[IR_MAX_RANK], moved[IR_MAX_RANK];
    size_t n;
    invert(order, rank, place);
    memcpy(parts, ir_attr_get(m, numbers)->items, sizeof parts);
    for (uint32_t k = 0; k < 2; k++)
        parts[3 * which + k] = ir_attr_i64(m, place[ir_field_i64(m, numbers, conv_fields[which][k])]);
    const int64_t *spatial = ir_field_dims(m, numbers, conv_fields[which][2], &n);
    for (size_t i = 0; i < n; i++)
        moved[i] = place[spatial[i]];
    parts[3 * which + 2] = ir_attr_i64s(m, moved, (uint32_t)n);
    ir_set_prop(m, op, IR_CONVOLUTION_dimension_numbers, ir_attr_struct(m, IR_STRUCT_CONV, parts));
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Every byte is read and written, by a kernel. */
double layout_transpose_ns(const struct ir_module *m, const struct target *t, ir_val v) {
    size_t bytes = 0;
    ir_type_bytes(ir_val_type(m, v), &bytes);
    return 2 * (double)bytes / t->memory_rate + (double)t->kernel_ops / t->compute_rate;
}

enum { LAYOUT_SCATTER = 32 }; /* multiply-adds, of vectors, in the time in which an element is stored by itself */

/* A convolution whose features are not contiguous was measured to take about twice as long; half of that is for the operand and
   half for the result. Where it has no groups the window is packed, in which the order costs about half a transpose; and each
   element of a result of so many features that vectors are of them is stored by itself. */
double layout_conv_ns(const struct ir_module *m, const struct target *t, ir_op op, uint32_t which) {
    double ns = opt_flops(m, op) / 2 / t->compute_rate / 2;
    int64_t order[IR_MAX_RANK];
    if (ir_prop_i64(m, op, IR_CONVOLUTION_feature_group_count) > 1 || which == 0)
        return ns;
    if (which == 1)
        return layout_transpose_ns(m, t, ir_operand(m, op, 1)) / 2;
    if (t->block_threads)
        return ns;
    ir_val v = ir_result(m, op, 0);
    layout_conv_order(m, op, 2, order);
    bool vectors = ir_val_type(m, v)->dims[order[ir_val_type(m, v)->rank - 1]] >= t->vector_bytes / 4;
    return vectors ? fmax(ns, LAYOUT_SCATTER * (double)ir_val_count(m, v) / t->compute_rate) : ns;
}
