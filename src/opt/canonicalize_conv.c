/* Rules of canonicalize about convolutions: see rules.def.
 *
 * A transposed convolution, such as the gradient of a strided one, has a dilated input: between its elements are zeros. Outputs
 * whose positions have the same remainder by the dilation (a phase) meet elements at the same places of the window, so each
 * phase is a convolution of the input as it is with those places. The phases are then interleaved. Where all of them have
 * windows of one shape at one place, they are one convolution with so many times the features. After Shi et al., "Is the
 * deconvolution layer the same as a convolutional layer?", arXiv 1609.07009. */
#include "opt/cost.h"
#include "opt/rules.h"

#include <string.h>

enum {
    PHASE_DIMS = 4,   /* spatial dimensions */
    PHASE_MOST = 16,  /* convolutions that one may become */
    PHASE_TIMES = 64, /* features of one convolution, by those of the other */
    PHASE_BASE = 4096 /* dilation of the input */
};

/* One phase of a spatial dimension: its places of the window from `first` on, how many, and the padding before. */
struct phase {
    int64_t first, count, low;
};

struct phase_dim {
    int64_t in, window, out, stride, low, high, base, dilation;
    bool reversed;
    int64_t n, size, step; /* phases; outputs of each; places of the window from one to the next */
    bool alike;            /* the phases differ in `first` at most */
    struct phase v[PHASE_TIMES];
};

struct phases {
    struct rules *r;
    ir_op op;
    const struct ir_type_data *result;
    const int64_t *window_dims, *out_dims;
    int64_t feature; /* dimension of the result */
    uint32_t n;      /* spatial dimensions */
    struct phase_dim dim[PHASE_DIMS];
};

/* ---- phases ---------------------------------------------------------------------------------- */

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

/* Output o and place k of the window meet position o · stride + k · dilation − low of the dilated input, which is an element
   where the base dilation divides it. */
static bool find_phases(struct phase_dim *d) {
    d->n = d->base / gcd(d->stride, d->base);
    d->step = d->base / gcd(d->dilation, d->base);
    d->size = (d->out + d->n - 1) / d->n;
    d->alike = true;
    if (d->n > PHASE_TIMES || d->base > PHASE_BASE)
        return false;
    for (int64_t q = 0; q < d->n; q++) {
        struct phase *p = &d->v[q];
        int64_t k = 0;
        while (k < d->step && (q * d->stride + k * d->dilation - d->low) % d->base)
            k++;
        p->first = k;
        p->count = k < d->step && k < d->window ? (d->window - k + d->step - 1) / d->step : 0;
        p->low = p->count ? -(q * d->stride + k * d->dilation - d->low) / d->base : 0;
        d->alike = d->alike && p->count == d->v[0].count && p->low == d->v[0].low;
    }
    return true;
}

static bool read_phases(struct rules *r, ir_op op, struct phases *x) {
    ir_attr numbers = ir_prop(r->m, op, IR_CONVOLUTION_dimension_numbers);
    const struct ir_type_data *in = rules_shape(r, rules_in(r, op, 0)), *w = rules_shape(r, rules_in(r, op, 1));
    const struct ir_attr_data *reverse = ir_attr_get(r->m, ir_prop(r->m, op, IR_CONVOLUTION_window_reversal));
    size_t n, unused;
    const int64_t *in_dims = ir_field_dims(r->m, numbers, IR_CONV_input_spatial_dimensions_F, &n);
    bool dilated = false;
    *x = (struct phases){.r = r, .op = op, .result = rules_shape(r, ir_result(r->m, op, 0)), .n = (uint32_t)n};
    x->window_dims = ir_field_dims(r->m, numbers, IR_CONV_kernel_spatial_dimensions_F, &unused);
    x->out_dims = ir_field_dims(r->m, numbers, IR_CONV_output_spatial_dimensions_F, &unused);
    x->feature = ir_field_i64(r->m, numbers, IR_CONV_output_feature_dimension_F);
    if (n > PHASE_DIMS || !rules_static(r, rules_in(r, op, 0)) || !rules_static(r, rules_in(r, op, 1)) ||
        !rules_static(r, ir_result(r->m, op, 0)) || in->quant || w->quant || x->result->quant)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct phase_dim *d = &x->dim[i];
        *d = (struct phase_dim){.in = in->dims[in_dims[i]],
                                .window = w->dims[x->window_dims[i]],
                                .out = x->result->dims[x->out_dims[i]],
                                .stride = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_window_strides, i, 1),
                                .low = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_padding, 2 * i, 0),
                                .high = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_padding, 2 * i + 1, 0),
                                .base = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_lhs_dilation, i, 1),
                                .dilation = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_rhs_dilation, i, 1)};
        int64_t limit = INT32_MAX;
        d->reversed = reverse->kind == IR_ATTR_DENSE_ARRAY && i < reverse->n && ((const char *)reverse->data)[i];
        dilated |= d->base > 1;
        if (d->in < 1 || d->out < 1 || d->window < 1 || d->in > limit || d->out > limit || d->window > limit ||
            d->stride > limit || d->base > limit || d->dilation > limit || d->low > limit || d->low < -limit ||
            !find_phases(d))
            return false;
    }
    return dilated;
}

/* ---- whether it pays ------------------------------------------------------------------------- */

/* The number of convolutions. All of them are one where the phases of all dimensions are alike. */
static int64_t convolutions(const struct phases *x, bool *one) {
    int64_t n = 1;
    *one = ir_prop_i64(x->r->m, x->op, IR_CONVOLUTION_feature_group_count) == 1 &&
           ir_prop_i64(x->r->m, x->op, IR_CONVOLUTION_batch_group_count) == 1;
    for (uint32_t i = 0; i < x->n && n <= PHASE_TIMES; i++) {
        n *= x->dim[i].n;
        *one = *one && x->dim[i].alike && x->dim[i].v[0].count > 0;
    }
    return n;
}

/* The multiplications that are saved take longer than interleaving the phases and starting their kernels. */
static bool pays(const struct phases *x, int64_t n) {
    struct target portable;
    const struct target *t = x->r->o->options.target;
    size_t bytes = 0;
    double kept = 1;
    if (!t) {
        target_portable(&portable);
        t = &portable;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        const struct phase_dim *d = &x->dim[i];
        double taps = 0;
        for (int64_t q = 0; q < d->n; q++)
            taps += (double)d->v[q].count;
        kept *= taps * (double)d->size / ((double)d->window * (double)d->out);
    }
    ir_type_bytes(x->result, &bytes);
    return opt_flops(x->r->m, x->op) / 2 * (1 - kept) / t->compute_rate >
           2 * (double)bytes / t->memory_rate + (double)n * (double)t->kernel_ops / t->compute_rate;
}

/* ---- building -------------------------------------------------------------------------------- */

static ir_val made(const struct phases *x, enum ir_op_kind kind, const ir_val *operands, uint32_t n, const int64_t *dims,
                   uint32_t rank, ir_op *op) {
    ir_type type = ir_type_with_dims(x->r->m, rules_type(x->r, operands[0]), dims, rank);
    ir_op fresh = rules_make(x->r, x->op, kind, operands, n, type);
    if (op)
        *op = fresh;
    return ir_result(x->r->m, fresh, 0);
}

static ir_val concatenated(const struct phases *x, const ir_val *v, uint32_t n, uint32_t dim) {
    const struct ir_type_data *t = rules_shape(x->r, v[0]);
    int64_t dims[IR_MAX_RANK];
    uint32_t rank = t->rank;
    ir_op op;
    memcpy(dims, t->dims, rank * sizeof *dims);
    dims[dim] *= n;
    if (n == 1)
        return v[0];
    ir_val result = made(x, IR_CONCATENATE, v, n, dims, rank, &op);
    ir_set_prop(x->r->m, op, IR_CONCATENATE_dimension, ir_attr_i64(x->r->m, dim));
    return result;
}

/* The places of the window that phase at[i] of each dimension meets. */
static ir_val phase_window(const struct phases *x, const int64_t *at) {
    struct ir_module *m = x->r->m;
    ir_val w = rules_in(x->r, x->op, 1);
    const struct ir_type_data *t = rules_shape(x->r, w);
    int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t rank = t->rank;
    bool whole = true;
    ir_op op;
    for (uint32_t i = 0; i < rank; i++) {
        start[i] = 0;
        limit[i] = dims[i] = t->dims[i];
        stride[i] = 1;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        const struct phase_dim *d = &x->dim[i];
        const struct phase *p = &d->v[at[i]];
        int64_t to = x->window_dims[i], last = p->first + (p->count - 1) * d->step;
        start[to] = d->reversed ? d->window - 1 - last : p->first;
        limit[to] = start[to] + (p->count - 1) * d->step + 1;
        stride[to] = p->count > 1 ? d->step : 1;
        dims[to] = p->count;
        whole = whole && p->count == d->window;
    }
    if (whole)
        return w;
    ir_val part = made(x, IR_SLICE, &w, 1, dims, rank, &op);
    ir_set_prop(m, op, IR_SLICE_start_indices, ir_attr_i64s(m, start, rank));
    ir_set_prop(m, op, IR_SLICE_limit_indices, ir_attr_i64s(m, limit, rank));
    ir_set_prop(m, op, IR_SLICE_strides, ir_attr_i64s(m, stride, rank));
    return part;
}

/* The convolution of the input with a window like that of phase at[i], `times` the features. */
static ir_val phase_convolution(const struct phases *x, ir_val window, const int64_t *at, int64_t times) {
    struct ir_module *m = x->r->m;
    int64_t dims[IR_MAX_RANK], pads[2 * PHASE_DIMS], strides[PHASE_DIMS], ones[PHASE_DIMS], dilations[PHASE_DIMS];
    ir_val in[2] = {rules_in(x->r, x->op, 0), window};
    uint32_t rank = x->result->rank;
    memcpy(dims, x->result->dims, rank * sizeof *dims);
    dims[x->feature] *= times;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct phase_dim *d = &x->dim[i];
        const struct phase *p = &d->v[at[i]];
        dims[x->out_dims[i]] = d->size;
        strides[i] = d->n * d->stride / d->base;
        dilations[i] = d->step * d->dilation / d->base;
        ones[i] = 1;
        pads[2 * i] = p->low;
        pads[2 * i + 1] = (d->size - 1) * strides[i] + (p->count - 1) * dilations[i] + 1 - d->in - p->low;
    }
    ir_type type = ir_type_with_dims(m, rules_result(x->r, x->op), dims, rank);
    ir_op op = opt_remake(x->r->o, x->op, in, 2, &type, 1);
    ir_set_prop(m, op, IR_CONVOLUTION_window_strides, ir_attr_i64s(m, strides, x->n));
    ir_set_prop(m, op, IR_CONVOLUTION_lhs_dilation, ir_attr_i64s(m, ones, x->n));
    ir_set_prop(m, op, IR_CONVOLUTION_rhs_dilation, ir_attr_i64s(m, dilations, x->n));
    ir_set_prop(m, op, IR_CONVOLUTION_padding, ir_attr_dense_i64s(m, pads, (int64_t[]){x->n, 2}, 2));
    ir_insert_before(m, x->op, op);
    return ir_result(m, op, 0);
}

static bool next_phase(const struct phases *x, int64_t *at) {
    for (uint32_t i = x->n; i-- > 0; at[i] = 0)
        if (++at[i] < x->dim[i].n)
            return true;
    return false;
}

/* All phases as features: [phases of dimension 0, of 1 …, features] in place of features. Returns them as dimensions, each
   after its spatial one. */
static ir_val as_features(const struct phases *x) {
    struct ir_module *m = x->r->m;
    ir_val windows[PHASE_TIMES];
    int64_t at[PHASE_DIMS] = {0}, dims[2 * PHASE_DIMS + 2], moved[2 * PHASE_DIMS + 2], order[2 * PHASE_DIMS + 2];
    uint32_t n = 0, k = 0, rank = x->result->rank, to = 0, place[PHASE_DIMS + 2], phases[PHASE_DIMS + 2];
    ir_attr numbers = ir_prop(m, x->op, IR_CONVOLUTION_dimension_numbers);
    ir_op op;
    do
        windows[n++] = phase_window(x, at);
    while (next_phase(x, at));
    ir_val window = concatenated(x, windows, n, (uint32_t)ir_field_i64(m, numbers, IR_CONV_kernel_output_feature_dimension_F));
    ir_val v = phase_convolution(x, window, at, n);
    const struct ir_type_data *t = rules_shape(x->r, v);
    for (uint32_t d = 0; d < rank; d++) {
        for (uint32_t i = 0; i < x->n && d == x->feature; i++) {
            phases[x->out_dims[i]] = k;
            dims[k++] = x->dim[i].n;
        }
        place[d] = k;
        dims[k++] = d == x->feature ? x->result->dims[d] : t->dims[d];
    }
    v = made(x, IR_RESHAPE, &v, 1, dims, k, NULL);
    for (uint32_t d = 0; d < rank; d++) {
        order[to++] = place[d];
        for (uint32_t i = 0; i < x->n; i++)
            if (x->out_dims[i] == d)
                order[to++] = phases[d];
    }
    for (uint32_t i = 0; i < k; i++)
        moved[i] = dims[order[i]];
    v = made(x, IR_TRANSPOSE, &v, 1, moved, k, &op);
    ir_set_prop(m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(m, order, k));
    return v;
}

/* Phases at[0] … at[i - 1] of the first dimensions, all of the others, as dimensions after the spatial ones. */
static ir_val as_dimensions(const struct phases *x, int64_t *at, uint32_t i) {
    static const char zeros[16];
    int64_t dims[2 * PHASE_DIMS + 2];
    uint32_t rank = x->result->rank, k = 0;
    ir_val v[PHASE_TIMES];
    if (i < x->n) {
        uint32_t dim = (uint32_t)x->out_dims[i] + 1;
        for (uint32_t j = 0; j < x->n; j++)
            dim += x->out_dims[j] < x->out_dims[i];
        for (at[i] = 0; at[i] < x->dim[i].n; at[i]++)
            v[at[i]] = as_dimensions(x, at, i + 1);
        return concatenated(x, v, (uint32_t)x->dim[i].n, dim);
    }
    bool none = false;
    for (uint32_t d = 0; d < rank; d++) {
        dims[k++] = x->result->dims[d];
        for (uint32_t j = 0; j < x->n; j++)
            if (x->out_dims[j] == d) {
                dims[k - 1] = x->dim[j].size;
                dims[k++] = 1;
                none |= x->dim[j].v[at[j]].count == 0;
            }
    }
    if (none)
        return rules_make_splat(x->r, x->op, ir_type_with_dims(x->r->m, rules_result(x->r, x->op), dims, k), zeros);
    v[0] = phase_convolution(x, phase_window(x, at), at, 1);
    return made(x, IR_RESHAPE, v, 1, dims, k, NULL);
}

/* Joins phases with their dimensions, and cuts off what is beyond the result. */
static ir_val joined(const struct phases *x, ir_val v) {
    struct ir_module *m = x->r->m;
    int64_t dims[IR_MAX_RANK], zeros[IR_MAX_RANK] = {0}, ones[IR_MAX_RANK];
    uint32_t rank = x->result->rank;
    bool more = false;
    ir_op op;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = x->result->dims[d];
        ones[d] = 1;
    }
    for (uint32_t i = 0; i < x->n; i++) {
        dims[x->out_dims[i]] = x->dim[i].size * x->dim[i].n;
        more |= dims[x->out_dims[i]] != x->dim[i].out;
    }
    v = made(x, IR_RESHAPE, &v, 1, dims, rank, NULL);
    if (!more)
        return v;
    v = made(x, IR_SLICE, &v, 1, x->result->dims, rank, &op);
    ir_set_prop(m, op, IR_SLICE_start_indices, ir_attr_i64s(m, zeros, rank));
    ir_set_prop(m, op, IR_SLICE_limit_indices, ir_attr_i64s(m, x->result->dims, rank));
    ir_set_prop(m, op, IR_SLICE_strides, ir_attr_i64s(m, ones, rank));
    return v;
}

bool opt_rule_conv_phases(struct rules *r, ir_op op) {
    struct phases x;
    int64_t at[PHASE_DIMS] = {0};
    bool one;
    if (!read_phases(r, op, &x))
        return false;
    int64_t n = convolutions(&x, &one);
    if (n > (one ? PHASE_TIMES : PHASE_MOST) || !pays(&x, one ? 1 : n))
        return false;
    return rules_become(r, op, joined(&x, one ? as_features(&x) : as_dimensions(&x, at, 0)));
}

/* ---- padding --------------------------------------------------------------------------------- */

/* What a pad and then padding add to an end, as one number; false where elements are cut off before others are added. */
static bool add_padding(int64_t pad, int64_t *padding) {
    return !(pad < 0 && *padding > 0) && !__builtin_add_overflow(pad, *padding, padding);
}

/* Zeros around the spatial dimensions of the input are padding of the convolution; zeros between them are dilation. */
bool opt_rule_conv_pad(struct rules *r, ir_op op) {
    ir_op pad = rules_def(r, rules_in(r, op, 0), IR_PAD);
    ir_attr numbers = ir_prop(r->m, op, IR_CONVOLUTION_dimension_numbers);
    int64_t pads[2 * PHASE_DIMS], base[PHASE_DIMS];
    size_t n, rank;
    const int64_t *spatial = ir_field_dims(r->m, numbers, IR_CONV_input_spatial_dimensions_F, &n);
    if (IR_NONE(pad) || n > PHASE_DIMS || !rules_static(r, rules_in(r, pad, 0)) ||
        !rules_is(r, rules_in(r, pad, 1), RULES_ZERO))
        return false;
    const int64_t *low = ir_prop_i64s(r->m, pad, IR_PAD_edge_padding_low, &rank);
    const int64_t *high = ir_prop_i64s(r->m, pad, IR_PAD_edge_padding_high, &rank);
    const int64_t *between = ir_prop_i64s(r->m, pad, IR_PAD_interior_padding, &rank);
    size_t moved = 0;
    for (size_t d = 0; d < rank; d++)
        moved += low[d] != 0 || high[d] != 0 || between[d] != 0;
    for (size_t i = 0; i < n; i++) {
        int64_t d = spatial[i];
        moved -= low[d] != 0 || high[d] != 0 || between[d] != 0;
        base[i] = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_lhs_dilation, i, 1);
        if (rules_shape(r, rules_in(r, pad, 0))->dims[d] < 1 || (base[i] != 1 && (low[d] || high[d] || between[d])) ||
            __builtin_add_overflow(base[i], between[d], &base[i]))
            return false;
        for (size_t k = 2 * i; k < 2 * i + 2; k++) {
            pads[k] = ir_prop_i64_at(r->m, op, IR_CONVOLUTION_padding, k, 0);
            if (!add_padding(k == 2 * i ? low[d] : high[d], &pads[k]))
                return false;
        }
    }
    if (moved) /* of dimensions that are not spatial */
        return false;
    ir_set_operand(r->m, op, 0, rules_in(r, pad, 0));
    ir_set_prop(r->m, op, IR_CONVOLUTION_lhs_dilation, ir_attr_i64s(r->m, base, (uint32_t)n));
    ir_set_prop(r->m, op, IR_CONVOLUTION_padding, ir_attr_dense_i64s(r->m, pads, (int64_t[]){(int64_t)n, 2}, 2));
    return true;
}

/* What a scalar is broadcast or reshaped from. */
static ir_val scalar_source(const struct rules *r, ir_val v) {
    for (;;) {
        ir_op op = rules_def(r, v, IR_BROADCAST_IN_DIM);
        op = IR_NONE(op) ? rules_def(r, v, IR_RESHAPE) : op;
        if (IR_NONE(op) || rules_shape(r, rules_in(r, op, 0))->rank)
            return v;
        v = rules_in(r, op, 0);
    }
}

/* A scalar that is the same value, or the same constant. */
static bool same_scalar(const struct rules *r, ir_val a, ir_val b) {
    a = scalar_source(r, a);
    b = scalar_source(r, b);
    const struct ir_attr_data *constant = rules_constant(r, a);
    return IR_SAME(a, b) || (constant && constant == rules_constant(r, b));
}

/* What the windows begin with, around the input, is their padding. */
bool opt_rule_window_pad(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    ir_op pad = x->nresults == 1 && x->noperands == 2 ? rules_def(r, rules_in(r, op, 0), IR_PAD) : (ir_op){0};
    int64_t pads[2 * IR_MAX_RANK];
    size_t rank;
    if (IR_NONE(pad) || !rules_static(r, rules_in(r, pad, 0)) || rules_shape(r, rules_in(r, pad, 0))->quant ||
        !same_scalar(r, rules_in(r, pad, 1), rules_in(r, op, 1)))
        return false;
    const int64_t *low = ir_prop_i64s(r->m, pad, IR_PAD_edge_padding_low, &rank);
    const int64_t *high = ir_prop_i64s(r->m, pad, IR_PAD_edge_padding_high, &rank);
    const int64_t *between = ir_prop_i64s(r->m, pad, IR_PAD_interior_padding, &rank);
    for (size_t i = 0; i < 2 * rank; i++) {
        pads[i] = ir_prop_i64_at(r->m, op, IR_REDUCE_WINDOW_padding, i, 0);
        if (between[i / 2] || ir_prop_i64_at(r->m, op, IR_REDUCE_WINDOW_base_dilations, i / 2, 1) != 1 ||
            rules_shape(r, rules_in(r, pad, 0))->dims[i / 2] < 1 || !add_padding((i & 1 ? high : low)[i / 2], &pads[i]))
            return false;
    }
    ir_set_operand(r->m, op, 0, rules_in(r, pad, 0));
    ir_set_prop(r->m, op, IR_REDUCE_WINDOW_padding, ir_attr_dense_i64s(r->m, pads, (int64_t[]){(int64_t)rank, 2}, 2));
    return true;
}
