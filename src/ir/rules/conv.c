/* Rules of convolutions: convolution and dynamic_conv, whose constraints have the same numbers. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* Where the dimensions of one of the three tensors are: its batch and feature dimensions (a kernel's
   input and output features), and its spatial ones. */
struct conv_dims {
    const char *spatial_name, *outer_name;
    int64_t outer[2];
    const int64_t *spatial;
    size_t nspatial;
};

enum { INPUT, KERNEL, OUTPUT, TENSORS };
enum { BATCH = 0, FEATURE = 1, KERNEL_IN = 0, KERNEL_OUT = 1 };

/* Where an op has its attributes. */
struct conv_slots {
    enum ir_slot numbers, feature_groups, batch_groups, reversal, precision;
    struct shape_window_attrs window;
};

struct conv {
    const struct conv_slots *slots;
    struct conv_dims dims[TENSORS];
    int64_t feature_groups, batch_groups;
    struct shape_window *windows; /* one for each spatial dimension */
};

/* The size of a dimension of operand `t` with that role. */
static struct shape_dim conv_outer(const struct shape *s, const struct conv *c, int t, int role) {
    return shape_dim_of(shape_in(s, (uint32_t)t), (uint32_t)c->dims[t].outer[role]);
}

/* ---- dimension numbers ----------------------------------------------------------------------- */

static void conv_read_dims(const struct shape *s, struct conv *c) {
    static const struct {
        const char *spatial_name, *outer_name;
        enum ir_field_slot spatial, outer[2];
    } fields[TENSORS] = {
        [INPUT] = {"input_spatial_dimensions", "the input's batch and feature dimensions",
                   IR_CONV_input_spatial_dimensions_F,
                   {IR_CONV_input_batch_dimension_F, IR_CONV_input_feature_dimension_F}},
        [KERNEL] = {"kernel_spatial_dimensions", "the kernel's feature dimensions",
                    IR_CONV_kernel_spatial_dimensions_F,
                    {IR_CONV_kernel_input_feature_dimension_F,
                     IR_CONV_kernel_output_feature_dimension_F}},
        [OUTPUT] = {"output_spatial_dimensions", "the output's batch and feature dimensions",
                    IR_CONV_output_spatial_dimensions_F,
                    {IR_CONV_output_batch_dimension_F, IR_CONV_output_feature_dimension_F}},
    };
    ir_attr numbers = ir_prop(s->m, s->op, c->slots->numbers);
    for (int t = 0; t < TENSORS; t++) {
        struct conv_dims *d = &c->dims[t];
        d->spatial_name = fields[t].spatial_name;
        d->outer_name = fields[t].outer_name;
        for (int i = 0; i < 2; i++)
            d->outer[i] = ir_field_i64(s->m, numbers, fields[t].outer[i]);
        d->spatial = ir_field_dims(s->m, numbers, fields[t].spatial, &d->nspatial);
    }
}

/* Each dimension of each tensor has one role. */
static hilo_status conv_dims(struct shape *s, const struct conv *c) {
    static const char *const count[TENSORS] = {"_c12", "_c17", "_c19"};
    static const char *const roles[TENSORS] = {"_c13", "_c18", "_c20"};
    int64_t rank = shape_in(s, INPUT)->rank;
    if (rank < 2)
        return shape_fail(s, "_c13", "operands must have at least 2 dimensions, but lhs has %" PRId64,
                          rank);
    if (rank != shape_in(s, KERNEL)->rank)
        return shape_fail(s, "_c1", "lhs and rhs must have one rank, but have %" PRId64 " and %u",
                          rank, shape_in(s, KERNEL)->rank);
    for (int t = 0; t < TENSORS; t++) {
        const struct conv_dims *d = &c->dims[t];
        HILO_TRY(shape_size(s, count[t], d->spatial_name, d->nspatial, (size_t)rank - 2));
        HILO_TRY(shape_in_range(s, roles[t], d->spatial_name, d->spatial, d->nspatial, rank));
        HILO_TRY(shape_in_range(s, roles[t], d->outer_name, d->outer, 2, rank));
        HILO_TRY(shape_distinct(s, roles[t], d->spatial_name, d->spatial, d->nspatial,
                                d->outer_name, d->outer, 2));
    }
    return HILO_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A known size is a multiple of the number of groups. */
static hilo_status conv_divides(struct shape *s, const char *label, const char *name, int64_t size,
                                const char *groups, int64_t n) {
    if (!shape_known(size) || size % n == 0)
        return HILO_OK;
    return shape_fail(s, label, "the %s dimension of size %" PRId64 " must be a multiple of %s, %"
                      PRId64, name, size, groups, n);
}

static hilo_status conv_groups(struct shape *s, const struct conv *c) {
    static const char batch[] = "batch_group_count", feature[] = "feature_group_count";
    int64_t input_batch = conv_outer(s, c, INPUT, BATCH).size;
    int64_t input = conv_outer(s, c, INPUT, FEATURE).size;
    int64_t kernel_in = conv_outer(s, c, KERNEL, KERNEL_IN).size;
    int64_t kernel_out = conv_outer(s, c, KERNEL, KERNEL_OUT).size;
    if (c->batch_groups > 1 && c->feature_groups > 1)
        return shape_fail(s, "_c23", "feature_group_count or batch_group_count must be 1, but they "
                          "are %" PRId64 " and %" PRId64, c->feature_groups, c->batch_groups);
    HILO_TRY(conv_divides(s, "_c10", "input batch", input_batch, batch, c->batch_groups));
    HILO_TRY(conv_divides(s, "_c11", "input feature", input, feature, c->feature_groups));
    if (shape_known(input) && !shape_dims_agree(input / c->feature_groups, kernel_in))
        return shape_fail(s, "_c14", "the kernel input feature dimension must have size %" PRId64
                          ", the input features of a group, but has %" PRId64,
                          input / c->feature_groups, kernel_in);
    HILO_TRY(conv_divides(s, "_c15", "kernel output feature", kernel_out, batch, c->batch_groups));
    return conv_divides(s, "_c16", "kernel output feature", kernel_out, feature, c->feature_groups);
}

/* ---- elements -------------------------------------------------------------------------------- */

static hilo_status conv_quant(struct shape *s, const struct conv *c) {
    static const struct shape_quant_labels labels = {
        .which = "_c28", .storage = "_c31", .expressed = "_c32", .granularity = "_c33",
        .hybrid = "_c34",
    };
    const struct ir_type_data *rhs = shape_in(s, KERNEL), *res = shape_res(s, 0);
    if (shape_is_axis(rhs) && rhs->quant->axes[0] != c->dims[KERNEL].outer[KERNEL_OUT])
        return shape_fail(s, "_c29", "rhs is quantized along dimension %" PRId64 ", which is not "
                          "kernel_output_feature_dimension", rhs->quant->axes[0]);
    if (shape_is_axis(res) && res->quant->axes[0] != c->dims[OUTPUT].outer[FEATURE])
        return shape_fail(s, "_c30", "the result is quantized along dimension %" PRId64 ", which is "
                          "not output_feature_dimension", res->quant->axes[0]);
    return shape_quant_product(s, &labels);
}

/* The result's elements may be wider than the operands'. */
static hilo_status conv_elems(struct shape *s, const struct conv *c) {
    const struct ir_type_data *lhs = shape_in(s, INPUT), *rhs = shape_in(s, KERNEL);
    if (lhs->quant || rhs->quant || (s->verifying && shape_res(s, 0)->quant))
        return s->verifying ? conv_quant(s, c) : HILO_OK;
    if (shape_same_elem(lhs, rhs, false))
        return HILO_OK;
    return shape_fail(s, "_c27", "lhs and rhs must have one element type, but have %s and %s",
                      shape_type_text(s, lhs->elem), shape_type_text(s, rhs->elem));
}

/* ---- the result ------------------------------------------------------------------------------ */

static hilo_status conv_reversal(struct shape *s, const struct conv *c) {
    const int64_t *v;
    size_t n = 0;
    ir_attr reversal = ir_prop(s->m, s->op, c->slots->reversal);
    if (!shape_attr_ints(s, reversal, &v, &n) || n == 0)
        return HILO_OK;
    return shape_size(s, "_c9", "window_reversal", n, c->dims[KERNEL].nspatial);
}

static hilo_status conv_read(struct shape *s, struct conv *c) {
    int64_t sizes[IR_MAX_RANK];
    c->feature_groups = ir_prop_i64(s->m, s->op, c->slots->feature_groups);
    c->batch_groups = ir_prop_i64(s->m, s->op, c->slots->batch_groups);
    conv_read_dims(s, c);
    HILO_TRY(conv_dims(s, c));
    HILO_TRY(conv_groups(s, c));
    HILO_TRY(conv_elems(s, c));
    HILO_TRY(shape_precision(s, "_c24", c->slots->precision));
    HILO_TRY(conv_reversal(s, c));
    for (size_t i = 0; i < c->dims[KERNEL].nspatial; i++)
        sizes[i] = shape_in(s, KERNEL)->dims[c->dims[KERNEL].spatial[i]];
    return shape_windows(s, &c->slots->window, sizes, c->dims[KERNEL].nspatial, c->windows);
}

/* The result, with its declared elements. */
static hilo_status conv_result(struct shape *s, const struct conv *c, const char *label) {
    const struct ir_type_data *lhs = shape_in(s, INPUT);
    const struct conv_dims *out = &c->dims[OUTPUT];
    struct shape_dim dims[IR_MAX_RANK], batch = conv_outer(s, c, INPUT, BATCH);
    if (s->verifying && shape_res(s, 0)->rank != lhs->rank)
        return shape_fail(s, "_c26", "the result must have %u dimensions, but has %u", lhs->rank,
                          shape_res(s, 0)->rank);
    if (shape_known(batch.size))
        batch.size /= c->batch_groups;
    if (shape_known(batch.bound))
        batch.bound /= c->batch_groups;
    dims[out->outer[BATCH]] = batch;
    dims[out->outer[FEATURE]] = conv_outer(s, c, KERNEL, KERNEL_OUT);
    for (size_t i = 0; i < out->nspatial; i++) {
        struct shape_dim base = shape_dim_of(lhs, (uint32_t)c->dims[INPUT].spatial[i]);
        if (!shape_window_count(&c->windows[i], base, &dims[out->spatial[i]]))
            return shape_fail(s, label, "dilation and padding make spatial dimension %zu too large",
                              i);
    }
    s->out_label = label;
    s->out[0] = shape_tensor(s, shape_res(s, 0)->elem, dims, lhs->rank);
    return HILO_OK;
}

hilo_status shape_convolution(struct shape *s) {
    static const struct conv_slots slots = {
        .numbers = IR_CONVOLUTION_dimension_numbers,
        .feature_groups = IR_CONVOLUTION_feature_group_count,
        .batch_groups = IR_CONVOLUTION_batch_group_count,
        .reversal = IR_CONVOLUTION_window_reversal,
        .precision = IR_CONVOLUTION_precision_config,
        .window = {
            .stride = {IR_CONVOLUTION_window_strides, "_c2", "_c3"},
            .padding = {IR_CONVOLUTION_padding, "_c4", NULL},
            .base_dilation = {IR_CONVOLUTION_lhs_dilation, "_c5", "_c6"},
            .window_dilation = {IR_CONVOLUTION_rhs_dilation, "_c7", "_c8"},
        },
    };
    struct shape_window windows[IR_MAX_RANK];
    struct conv c = {.slots = &slots, .windows = windows};
    HILO_TRY(conv_read(s, &c));
    return conv_result(s, &c, "convolution_c25");
}

/* The padding is an operand: where it is not a constant, spatial sizes are unknown. */
hilo_status shape_dynamic_conv(struct shape *s) {
    static const struct conv_slots slots = {
        .numbers = IR_DYNAMIC_CONV_dimension_numbers,
        .feature_groups = IR_DYNAMIC_CONV_feature_group_count,
        .batch_groups = IR_DYNAMIC_CONV_batch_group_count,
        .reversal = IR_DYNAMIC_CONV_window_reversal,
        .precision = IR_DYNAMIC_CONV_precision_config,
        .window = {
            .stride = {IR_DYNAMIC_CONV_window_strides, "_c2", "_c3"},
            .base_dilation = {IR_DYNAMIC_CONV_lhs_dilation, "_c5", "_c6"},
            .window_dilation = {IR_DYNAMIC_CONV_rhs_dilation, "_c7", "_c8"},
        },
    };
    struct shape_window windows[IR_MAX_RANK];
    struct conv c = {.slots = &slots, .windows = windows};
    const struct ir_type_data *t = shape_in(s, 2);
    const int64_t *padding;
    size_t n;
    HILO_TRY(conv_read(s, &c));
    size_t spatial = c.dims[INPUT].nspatial;
    if (t->dims[0] != (int64_t)spatial || t->dims[1] != 2)
        return shape_fail(s, "dynamic_conv_c4", "padding must have the shape [%zu, 2], but has %s",
                          spatial, shape_list_text(s, t->dims, t->rank));
    bool known = shape_const_i64s(s, s->o->operands[2], &padding, &n);
    for (size_t i = 0; i < spatial; i++) {
        if (known) {
            windows[i].low = padding[2 * i];
            windows[i].high = padding[2 * i + 1];
        } else {
            windows[i].size = IR_DYNAMIC;
        }
    }
    return conv_result(s, &c, "dynamic_conv_c25");
}
