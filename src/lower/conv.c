/* The geometry of a convolution, and its input: see conv.h, contract.h. */
#include "lower/contract.h"

enum { INPUT_OPS = 4 }; /* operations that are cheap enough to be repeated for some windows */

static bool is_reversed(const struct ir_module *m, ir_op op, size_t i) {
    const struct ir_attr_data *a = ir_attr_get(m, ir_prop(m, op, IR_CONVOLUTION_window_reversal));
    return a->kind == IR_ATTR_DENSE_ARRAY && i < a->n && ((const uint8_t *)a->data)[i];
}

void lower_conv_read(const struct ir_module *m, ir_op op, struct conv *out) {
    ir_attr a = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    const int64_t *in = ir_val_type(m, ir_operand(m, op, 0))->dims, *kernel = ir_val_type(m, ir_operand(m, op, 1))->dims;
    const int64_t *result = ir_val_type(m, ir_result(m, op, 0))->dims;
    size_t n;
    const int64_t *input_dims = ir_field_dims(m, a, IR_CONV_input_spatial_dimensions_F, &n);
    const int64_t *kernel_dims = ir_field_dims(m, a, IR_CONV_kernel_spatial_dimensions_F, &n);
    const int64_t *result_dims = ir_field_dims(m, a, IR_CONV_output_spatial_dimensions_F, &n);
    *out = (struct conv){.n = (uint32_t)n,
                         .batch = (uint32_t)ir_field_i64(m, a, IR_CONV_output_batch_dimension_F),
                         .feature = (uint32_t)ir_field_i64(m, a, IR_CONV_output_feature_dimension_F),
                         .in_batch = (uint32_t)ir_field_i64(m, a, IR_CONV_input_batch_dimension_F),
                         .in_feature = (uint32_t)ir_field_i64(m, a, IR_CONV_input_feature_dimension_F),
                         .kernel_in = (uint32_t)ir_field_i64(m, a, IR_CONV_kernel_input_feature_dimension_F),
                         .kernel_out = (uint32_t)ir_field_i64(m, a, IR_CONV_kernel_output_feature_dimension_F),
                         .groups = ir_prop_i64(m, op, IR_CONVOLUTION_feature_group_count),
                         .batch_groups = ir_prop_i64(m, op, IR_CONVOLUTION_batch_group_count)};
    out->batches = in[out->in_batch];
    out->channels = kernel[out->kernel_in];
    out->features = kernel[out->kernel_out];
    for (uint32_t i = 0; i < out->n; i++) {
        struct conv_dim *d = &out->dim[i];
        *d = (struct conv_dim){.axis = (uint32_t)result_dims[i],
                               .in = (uint32_t)input_dims[i],
                               .kernel = (uint32_t)kernel_dims[i],
                               .stride = ir_prop_i64_at(m, op, IR_CONVOLUTION_window_strides, i, 1),
                               .dilation = ir_prop_i64_at(m, op, IR_CONVOLUTION_rhs_dilation, i, 1),
                               .low = ir_prop_i64_at(m, op, IR_CONVOLUTION_padding, 2 * i, 0),
                               .base = ir_prop_i64_at(m, op, IR_CONVOLUTION_lhs_dilation, i, 1),
                               .reversed = is_reversed(m, op, i)};
        d->out = result[d->axis];
        d->size = in[d->in];
        d->window = kernel[d->kernel];
        d->image = (d->out - 1) * d->stride + (d->window - 1) * d->dilation + 1;
    }
}

void lower_conv_kernel_index(struct lower *l, const struct conv *v, const kir_val *tap, kir_val channel, kir_val feature,
                             struct index *out) {
    *out = (struct index){.n = v->n + 2};
    out->at[v->kernel_out] = feature;
    out->at[v->kernel_in] = channel;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct conv_dim *d = &v->dim[i];
        out->at[d->kernel] = d->reversed ? kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, d->window - 1), tap[i]) : tap[i];
    }
}

static kir_val both(struct lower *l, kir_val a, kir_val b) {
    return a.i ? kir_op2(l->k, KIR_AND, 0, a, b) : b;
}

kir_val lower_conv_position(struct lower *l, const struct conv *v, uint32_t i, kir_val position, int64_t most, kir_val *guard) {
    const struct conv_dim *d = &v->dim[i];
    int64_t span = (d->size - 1) * d->base + 1;
    kir_val p = lower_add(l, position, kir_i64(l->k, -d->low));
    if (d->low > 0)
        *guard = both(l, *guard, kir_cmp(l->k, KIR_GE, 0, p, kir_i64(l->k, 0)));
    if (most - d->low >= span)
        *guard = both(l, *guard, kir_cmp(l->k, KIR_LT, 0, p, kir_i64(l->k, span)));
    if (d->base == 1)
        return p;
    *guard = both(l, *guard, kir_cmp(l->k, KIR_EQ, 0, lower_rem(l, p, d->base), kir_i64(l->k, 0)));
    return lower_div(l, p, d->base);
}

/* ---- the input in memory ---------------------------------------------------------------------- */

kir_val contract_input(const struct contraction *c, const struct index *at) {
    struct lower *l = c->l;
    ir_val v = ir_operand(l->m, c->op, 0);
    kir_val x = lower_value(l, v, at).re;
    return kir_type(l->k, x) == c->acc ? x : kir_typed(l->k, KIR_CONVERT, lower_sign(ir_val_type(l->m, v)->dtype), c->acc, x);
}

/* How far apart elements are along a loop of the probe; false when that is not constant. */
static bool find_step(const struct kir *k, kir_val load, kir_val loop, int64_t *out) {
    *out = 0;
    return kir_get(k, loop)->op != KIR_LOOP || kir_linear(k, kir_get(k, load)->arg[0], loop, out);
}

/* Whether a value takes at most `*left` operations of a cycle, without functions and registers, to compute from loads. */
static bool is_cheap(const struct kir *k, kir_val v, int *left) {
    const struct kir_node *n = kir_get(k, v);
    if (n->op == KIR_LOAD || n->op == KIR_CONST)
        return true;
    bool plain = n->op == KIR_ADD || n->op == KIR_SUB || n->op == KIR_MUL || n->op == KIR_MIN || n->op == KIR_MAX ||
                 n->op == KIR_CMP || n->op == KIR_SELECT || n->op == KIR_NEG || n->op == KIR_ABS || n->op == KIR_FMA;
    if (!plain || --*left < 0)
        return false;
    for (int i = 0; i < 3 && n->arg[i].i; i++)
        if (!is_cheap(k, n->arg[i], left))
            return false;
    return true;
}

void contract_find_input(struct contraction *c, struct contract_input *out) {
    const struct conv *v = c->conv;
    struct contract_kernel probe;
    struct index at = {.n = v->n + 2};
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    at.at[v->in_batch] = kir_loop(k, KIR_SERIAL, v->batches, 0);
    for (uint32_t i = 0; i < v->n; i++)
        at.at[v->dim[i].in] = kir_loop(k, KIR_SERIAL, v->dim[i].size, 0);
    at.at[v->in_feature] = kir_loop(k, KIR_SERIAL, v->channels * v->groups, 0);
    kir_val x = contract_input(c, &at), load = contract_load(k, x);
    int most = INPUT_OPS;
    *out = (struct contract_input){.plain = x.i == load.i, .cheap = is_cheap(k, x, &most)};
    out->linear = load.i && find_step(k, load, at.at[v->in_feature], &out->steps.channel) &&
                  find_step(k, load, at.at[v->in_batch], &out->steps.batch);
    for (uint32_t i = 0; i < v->n; i++)
        out->linear = out->linear && find_step(k, load, at.at[v->dim[i].in], &out->steps.position[i]);
    out->plain = out->plain && out->linear;
    out->cheap = out->cheap && out->linear;
    contract_probe_end(c, &probe);
}
