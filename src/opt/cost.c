/* See cost.h. */
#include "opt/cost.h"

#include <math.h>

static double elements(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_type_get(m, ir_val_get(m, v)->type);
    size_t n = 0;
    return t->kind == IR_TYPE_TENSOR && ir_type_count(t, &n) ? (double)n : 0;
}

/* A multiplication and an addition for each element of the result and of what is summed. */
static double flops_dot_general(const struct ir_module *m, ir_op op) {
    const struct ir_type_data *lhs = ir_type_get(m, ir_val_get(m, ir_operand(m, op, 0))->type);
    ir_attr dims = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t n;
    const int64_t *contracted = ir_field_dims(m, dims, IR_DOT_lhs_contracting_dimensions_F, &n);
    double depth = 1;
    for (size_t i = 0; i < n; i++)
        if (contracted[i] >= 0 && contracted[i] < lhs->rank && lhs->dims[contracted[i]] > 0)
            depth *= (double)lhs->dims[contracted[i]];
    return 2 * depth * elements(m, ir_result(m, op, 0));
}

/* Each element of the result is a sum over the window and the input features of its group. */
static double flops_convolution(const struct ir_module *m, ir_op op) {
    const struct ir_type_data *kernel = ir_type_get(m, ir_val_get(m, ir_operand(m, op, 1))->type);
    ir_attr dims = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    int64_t features = ir_field_i64(m, dims, IR_CONV_kernel_output_feature_dimension_F);
    bool known = kernel->kind == IR_TYPE_TENSOR && features >= 0 && features < kernel->rank && kernel->dims[features] > 0;
    double window = known ? elements(m, ir_operand(m, op, 1)) / (double)kernel->dims[features] : 0;
    return 2 * window * elements(m, ir_result(m, op, 0));
}

/* The body is no op of its own: once for each element that is reduced. */
static double flops_reduce(const struct ir_module *m, ir_op op) {
    return ir_op_get(m, op)->noperands ? elements(m, ir_operand(m, op, 0)) : 0;
}

static double product(const int64_t *v, size_t n) {
    double out = 1;
    for (size_t i = 0; v && i < n; i++)
        out *= (double)v[i];
    return out;
}

static double flops_reduce_window(const struct ir_module *m, ir_op op) {
    size_t n;
    const int64_t *window = ir_prop_i64s(m, op, IR_REDUCE_WINDOW_window_dimensions, &n);
    return product(window, n) * elements(m, ir_result(m, op, 0));
}

/* Each element of the result is a sum along a row of the triangle. */
static double flops_triangular(const struct ir_module *m, ir_op op) {
    const struct ir_type_data *a = ir_val_type(m, ir_operand(m, op, 0));
    return a->rank ? elements(m, ir_result(m, op, 0)) * (double)a->dims[a->rank - 1] : 0;
}

static double flops_fft(const struct ir_module *m, ir_op op) {
    size_t n;
    const int64_t *length = ir_prop_i64s(m, op, IR_FFT_fft_length, &n);
    return elements(m, ir_result(m, op, 0)) * log2(product(length, n) + 1);
}

#define BY(f) -1, .formula = flops_##f
static const struct {
    int each; /* element of the result */
    double (*formula)(const struct ir_module *m, ir_op op);
} costs[] = {
#define OP(id, name, form, operands, results, regions, traits, cost, ...) [IR_##id] = {.each = cost},
#include "ir/ops.def"
};

double opt_flops(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    if (costs[o->kind].formula)
        return costs[o->kind].formula(m, op);
    return o->nresults && costs[o->kind].each > 0 ? costs[o->kind].each * elements(m, ir_result(m, op, 0)) : 0;
}
