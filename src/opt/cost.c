/* See cost.h. */
#include "opt/cost.h"

static double elements(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_type_get(m, ir_val_get(m, v)->type);
    size_t n = 0;
    return t->kind == IR_TYPE_TENSOR && ir_type_count(t, &n) ? (double)n : 0;
}

/* A multiplication and an addition for each element of the result and of what is summed. */
static double dot_flops(const struct ir_module *m, ir_op op) {
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
static double convolution_flops(const struct ir_module *m, ir_op op) {
    const struct ir_type_data *kernel = ir_type_get(m, ir_val_get(m, ir_operand(m, op, 1))->type);
    ir_attr dims = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    int64_t features = ir_field_i64(m, dims, IR_CONV_kernel_output_feature_dimension_F);
    bool known = kernel->kind == IR_TYPE_TENSOR && features >= 0 && features < kernel->rank && kernel->dims[features] > 0;
    double window = known ? elements(m, ir_operand(m, op, 1)) / (double)kernel->dims[features] : 0;
    return 2 * window * elements(m, ir_result(m, op, 0));
}

double opt_flops(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)o->kind);
    switch ((enum ir_op_kind)o->kind) {
    case IR_DOT_GENERAL:
        return dot_flops(m, op);
    case IR_CONVOLUTION:
        return convolution_flops(m, op);
    case IR_REDUCE: /* its body is no op of its own: once for each element that is reduced */
        return o->noperands ? elements(m, ir_operand(m, op, 0)) : 0;
    default:
        return o->nresults && info->cost > 0 ? info->cost * elements(m, ir_result(m, op, 0)) : 0;
    }
}
