/* convolution and dynamic_conv: a direct sum over the window, on operands whose dimensions are permuted to one order.
 *
 * lhs is read as [batch, spatial…, feature], rhs as [spatial…, in feature, out feature]: what a window element adds to all
 * output features is a product of a row with a matrix. Where the window falls on padding or into the holes of a dilated lhs
 * nothing is added, also where a weight is not finite (docs/adr/0018-convolutions.md). */
#include "eval/contract.h"

enum { CONV_MAX = IR_MAX_RANK };

struct conv {
    uint32_t nspatial;
    int64_t in[CONV_MAX], kernel[CONV_MAX], outs[CONV_MAX];         /* spatial sizes */
    int64_t stride[CONV_MAX], low[CONV_MAX], high[CONV_MAX], lhs_dilation[CONV_MAX], rhs_dilation[CONV_MAX];
    bool reverse[CONV_MAX];
    int64_t batch, features;         /* of lhs */
    int64_t out_features, group_in;  /* of rhs */
    int64_t out_batch;
    int64_t feature_groups, batch_groups;
};

static int64_t conv_list(const int64_t *v, size_t n, uint32_t i, int64_t missing) {
    return v && i < n ? v[i] : missing;
}

/* Slots of the two ops that differ only in where the padding comes from. */
struct conv_slots {
    enum ir_slot strides, lhs_dilation, rhs_dilation, reversal, dims, feature_groups, batch_groups;
};

#define CONV_SLOTS(op)                                                                                              \
    {                                                                                                               \
        IR_##op##_window_strides, IR_##op##_lhs_dilation, IR_##op##_rhs_dilation, IR_##op##_window_reversal,        \
            IR_##op##_dimension_numbers, IR_##op##_feature_group_count, IR_##op##_batch_group_count                 \
    }

/* Window attributes and sizes. False when the window does not fit any position (then the output is empty there). */
static hilo_status conv_read(struct eval *cx, ir_op op, const struct conv_slots *s, struct value *const *in,
                             struct conv *c, uint32_t *lperm, uint32_t *rperm) {
    const struct ir_module *m = cx->m;
    ir_attr dims = ir_prop(m, op, s->dims);
    size_t n, nk, ns, nl, nr, np = 0;
    const int64_t *in_spatial = ir_field_dims(m, dims, IR_CONV_input_spatial_dimensions_F, &n);
    const int64_t *kernel_spatial = ir_field_dims(m, dims, IR_CONV_kernel_spatial_dimensions_F, &nk);
    const int64_t *stride = ir_prop_i64s(m, op, s->strides, &ns);
    const int64_t *lhs_dilation = ir_prop_i64s(m, op, s->lhs_dilation, &nl);
    const int64_t *rhs_dilation = ir_prop_i64s(m, op, s->rhs_dilation, &nr);
    const struct ir_attr_data *reverse = ir_attr_get(m, ir_prop(m, op, s->reversal));
    const int64_t *padding = NULL;
    if (ir_kind(m, op) == IR_CONVOLUTION)
        padding = ir_prop_i64s(m, op, IR_CONVOLUTION_padding, &np);

    c->nspatial = (uint32_t)n;
    lperm[0] = (uint32_t)ir_field_i64(m, dims, IR_CONV_input_batch_dimension_F);
    lperm[n + 1] = (uint32_t)ir_field_i64(m, dims, IR_CONV_input_feature_dimension_F);
    rperm[n] = (uint32_t)ir_field_i64(m, dims, IR_CONV_kernel_input_feature_dimension_F);
    rperm[n + 1] = (uint32_t)ir_field_i64(m, dims, IR_CONV_kernel_output_feature_dimension_F);
    c->batch = in[0]->dims[lperm[0]];
    c->features = in[0]->dims[lperm[n + 1]];
    c->group_in = in[1]->dims[rperm[n]];
    c->out_features = in[1]->dims[rperm[n + 1]];
    c->feature_groups = ir_prop_i64(m, op, s->feature_groups);
    c->batch_groups = ir_prop_i64(m, op, s->batch_groups);
    if (c->features != c->group_in * c->feature_groups || c->batch % c->batch_groups)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %lld input features and %lld batches, which do not divide "
                         "into its groups",
                         (long long)c->features, (long long)c->batch);
    c->out_batch = c->batch / c->batch_groups;
    for (uint32_t i = 0; i < n; i++) {
        lperm[i + 1] = (uint32_t)in_spatial[i];
        rperm[i] = (uint32_t)kernel_spatial[i];
        c->in[i] = in[0]->dims[in_spatial[i]];
        c->kernel[i] = in[1]->dims[kernel_spatial[i]];
        c->stride[i] = conv_list(stride, ns, i, 1);
        c->lhs_dilation[i] = conv_list(lhs_dilation, nl, i, 1);
        c->rhs_dilation[i] = conv_list(rhs_dilation, nr, i, 1);
        c->low[i] = padding ? padding[2 * i] : 0;
        c->high[i] = padding ? padding[2 * i + 1] : 0;
        if (ir_kind(m, op) == IR_DYNAMIC_CONV) {
            c->low[i] = value_i64(in[2], 2 * i);
            c->high[i] = value_i64(in[2], 2 * i + 1);
        }
        c->reverse[i] = reverse->kind == IR_ATTR_DENSE_ARRAY && ((const char *)reverse->data)[i];
        int64_t grown = c->in[i] ? (c->in[i] - 1) * c->lhs_dilation[i] + 1 : 0, padded;
        int64_t window = c->kernel[i] ? (c->kernel[i] - 1) * c->rhs_dilation[i] + 1 : 0;
        if (__builtin_add_overflow(grown, c->low[i], &padded) || __builtin_add_overflow(padded, c->high[i], &padded))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has padding out of range in spatial dimension %u", i);
        c->outs[i] = padded <= 0 || window > padded ? 0 : (padded - window) / c->stride[i] + 1;
    }
    return HILO_OK;
}

/* Offset (in elements, without batch and feature) of the lhs element under window position k for output position o; false
   where there is none. */
static bool conv_at(const struct conv *c, const int64_t *o, const int64_t *k, int64_t *offset) {
    int64_t at = 0;
    for (uint32_t i = 0; i < c->nspatial; i++) {
        int64_t tap = c->reverse[i] ? c->kernel[i] - 1 - k[i] : k[i];
        int64_t p = o[i] * c->stride[i] + tap * c->rhs_dilation[i] - c->low[i];
        if (p < 0 || p % c->lhs_dilation[i] || p / c->lhs_dilation[i] >= c->in[i])
            return false;
        at = at * c->in[i] + p / c->lhs_dilation[i];
    }
    *offset = at;
    return true;
}

static int64_t conv_product(const int64_t *v, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= v[i];
    return p;
}

/* All sums, as [batch, spatial…, feature]. Output features come in feature groups, each of which sees its part of the input
   features, or in batch groups, each of which sees its part of the batches. */
static hilo_status conv_sums(struct eval *cx, ir_op op, const struct conv *c, enum number kind, const char *x, const char *w,
                             char *sums) {
    size_t size = number_bytes(kind);
    int64_t o[CONV_MAX] = {0}, k[CONV_MAX] = {0}, positions = conv_product(c->in, c->nspatial), offset;
    int64_t groups = c->feature_groups * c->batch_groups, per_group = c->out_features / groups;
    bool any_tap = conv_product(c->kernel, c->nspatial) > 0;
    for (int64_t b = 0; b < c->out_batch; b++)
        do {
            const char *tap = w;
            if (any_tap)
                do {
                    if (conv_at(c, o, k, &offset))
                        for (int64_t g = 0; g < groups; g++) {
                            int64_t lhs_batch = c->batch_groups > 1 ? g * c->out_batch + b : b;
                            int64_t feature = c->feature_groups > 1 ? g * c->group_in : 0;
                            const char *from = x + (size_t)((lhs_batch * positions + offset) * c->features + feature) * size;
                            number_gemm(kind, 1, (size_t)per_group, (size_t)c->group_in, from,
                                        tap + (size_t)(g * per_group) * size, (size_t)c->out_features,
                                        sums + (size_t)(g * per_group) * size);
                        }
                    tap += (size_t)(c->out_features * c->group_in) * size;
                    HILO_TRY(eval_work(cx, op, (size_t)(c->out_features * c->group_in)));
                } while (index_next(k, c->kernel, c->nspatial));
            sums += (size_t)c->out_features * size;
            memset(k, 0, sizeof k);
        } while (index_next(o, c->outs, c->nspatial));
    return HILO_OK;
}

/* Rounds the sums into the result, whose dimensions are in the order of the attribute. */
static hilo_status conv_store(struct eval *cx, ir_op op, enum number kind, const struct conv *c, ir_attr dims, char *sums,
                              struct value **out) {
    uint32_t n = c->nspatial, where[CONV_MAX];
    size_t nspatial;
    const int64_t *spatial = ir_field_dims(cx->m, dims, IR_CONV_output_spatial_dimensions_F, &nspatial);
    int64_t shape[CONV_MAX], strides[CONV_MAX], own[CONV_MAX], index[CONV_MAX] = {0};
    where[0] = (uint32_t)ir_field_i64(cx->m, dims, IR_CONV_output_batch_dimension_F);
    where[n + 1] = (uint32_t)ir_field_i64(cx->m, dims, IR_CONV_output_feature_dimension_F);
    own[0] = c->out_batch;
    own[n + 1] = c->out_features;
    for (uint32_t i = 0; i < n; i++) {
        where[i + 1] = (uint32_t)spatial[i];
        own[i + 1] = c->outs[i];
    }
    for (uint32_t i = 0; i < n + 2; i++)
        shape[where[i]] = own[i];
    HILO_TRY(eval_out(cx, op, 0, shape, n + 2, out));
    size_t size = number_bytes(kind), nbytes = (*out)->count * size;
    char *moved = mem_alloc(&cx->al, nbytes);
    if (!moved)
        return HILO_RESOURCE_EXHAUSTED;
    value_strides(shape, n + 2, strides);
    if ((*out)->count)
        do {
            int64_t to = 0;
            for (uint32_t i = 0; i < n + 2; i++)
                to += index[i] * strides[where[i]];
            memcpy(moved + (size_t)to * size, sums, size);
            sums += size;
        } while (index_next(index, own, n + 2));
    number_store(kind, moved, *out);
    mem_free(&cx->al, moved, nbytes);
    return HILO_OK;
}

hilo_status eval_convolution(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    static const struct conv_slots fixed = CONV_SLOTS(CONVOLUTION), dynamic = CONV_SLOTS(DYNAMIC_CONV);
    const struct conv_slots *slots = ir_kind(cx->m, op) == IR_CONVOLUTION ? &fixed : &dynamic;
    struct conv c = {0};
    uint32_t lperm[CONV_MAX], rperm[CONV_MAX];
    enum number kind;
    HILO_TRY(conv_read(cx, op, slots, in, &c, lperm, rperm));
    HILO_TRY(number_contract(cx, op, in[0]->dtype, in[1]->dtype, eval_result_dtype(cx, op, 0), &kind));
    size_t size = number_bytes(kind), nbytes = size;
    bool fits = mem_mul(nbytes, (size_t)c.out_batch, &nbytes) && mem_mul(nbytes, (size_t)c.out_features, &nbytes);
    for (uint32_t i = 0; i < c.nspatial; i++)
        fits = fits && mem_mul(nbytes, (size_t)c.outs[i], &nbytes);
    if (!fits)
        return HILO_RESOURCE_EXHAUSTED;
    void *x = NULL, *w = NULL;
    char *sums = NULL;
    hilo_status status = number_load(cx, in[0], lperm, kind, &x);
    if (status == HILO_OK)
        status = number_load(cx, in[1], rperm, kind, &w);
    if (status == HILO_OK && !(sums = mem_alloc(&cx->al, nbytes)))
        status = HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK) {
        memset(sums, 0, nbytes);
        if (nbytes)
            status = conv_sums(cx, op, &c, kind, x, w, sums);
    }
    if (status == HILO_OK)
        status = conv_store(cx, op, kind, &c, ir_prop(cx->m, op, slots->dims), sums, out);
    mem_free(&cx->al, x, in[0]->count * size);
    mem_free(&cx->al, w, in[1]->count * size);
    mem_free(&cx->al, sums, nbytes);
    return status;
}
