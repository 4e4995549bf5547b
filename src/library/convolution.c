/* convolution: any layout, strides, dilations, reversal, feature and batch groups, of up to three spatial dimensions.
 *
 * A product of matrices (gemm.h) for each group: a row of the left one is the window of one output position, of the right one
 * an input feature under one place of the window, and columns are output features. Windows are packed as they are needed, and
 * never stored. Padding is zeros, as the specification has it. Narrow floats are computed in f32. */
#include "library/conv.h"

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

/* n elements `step` apart, from element `at` on, to numbers `to_step` apart. */
static void conv_load(enum ir_dtype t, const void *from, int64_t at, int64_t step, size_t n, void *to, size_t to_step) {
    float *f = to;
    switch (t) {
    case IR_F32_T:
        for (size_t i = 0; i < n; i++)
            f[i * to_step] = ((const float *)from)[at + (int64_t)i * step];
        break;
    case IR_F64_T:
        for (size_t i = 0; i < n; i++)
            ((double *)to)[i * to_step] = ((const double *)from)[at + (int64_t)i * step];
        break;
    case IR_BF16_T:
        for (size_t i = 0; i < n; i++)
            f[i * to_step] = bf16_to_f32(((const uint16_t *)from)[at + (int64_t)i * step]);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            f[i * to_step] = f16_to_f32(((const uint16_t *)from)[at + (int64_t)i * step]);
        break;
    }
}

static void conv_save(enum ir_dtype t, const void *from, size_t n, void *to, int64_t at, int64_t step) {
    const float *f = from;
    switch (t) {
    case IR_F32_T:
        for (size_t i = 0; i < n; i++)
            ((float *)to)[at + (int64_t)i * step] = f[i];
        break;
    case IR_F64_T:
        for (size_t i = 0; i < n; i++)
            ((double *)to)[at + (int64_t)i * step] = ((const double *)from)[i];
        break;
    case IR_BF16_T:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[at + (int64_t)i * step] = f32_to_bf16(f[i]);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[at + (int64_t)i * step] = f32_to_f16(f[i]);
        break;
    }
}

static bool conv_type(enum ir_dtype t) {
    return t == IR_F32_T || t == IR_F64_T || t == IR_BF16_T || t == IR_F16_T;
}

/* ---- packing ---------------------------------------------------------------------------------------------------------- */

/* The batch and the spatial position of an output row. */
static int64_t conv_row(const struct conv *v, size_t row, int64_t *o) {
    for (uint32_t i = v->nspatial; i-- > 0; row /= (size_t)v->dim[i].out)
        o[i] = (int64_t)(row % (size_t)v->dim[i].out);
    return (int64_t)row;
}

/* A place of the window in the first n dimensions, from its number. */
static void conv_tap(const struct conv *v, size_t tap, uint32_t n, int64_t *k) {
    for (uint32_t i = n; i-- > 0; tap /= (size_t)v->dim[i].window)
        k[i] = (int64_t)(tap % (size_t)v->dim[i].window);
}

/* Offset of the input under a place of the window in the first n dimensions; -1 on padding and in holes. */
static int64_t conv_input(const struct conv *v, const int64_t *o, const int64_t *k, uint32_t n) {
    int64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct conv_dim *d = &v->dim[i];
        int64_t p = o[i] * d->stride + (d->reverse ? d->window - 1 - k[i] : k[i]) * d->dilation - d->low;
        if (p < 0 || (d->base > 1 && p % d->base))
            return -1;
        p = d->base > 1 ? p / d->base : p;
        if (p >= d->in)
            return -1;
        at += p * d->in_step;
    }
    return at;
}

/* Numbers [from, to) of a line whose number 0 is at `first` (perhaps outside), those of [lo, hi) from the input, others zero.
 */
static void conv_line(const struct conv *v, int64_t first, int64_t from, int64_t to, int64_t lo, int64_t hi, char *packed) {
    size_t bytes = v->g.wide ? 8 : 4;
    lo = lo < from ? from : lo > to ? to : lo;
    hi = hi < lo ? lo : hi > to ? to : hi;
    for (int64_t e = from; e < lo; e++)
        memset(packed + (size_t)(e - from) * GEMM_ROWS * bytes, 0, bytes);
    for (int64_t e = hi; e < to; e++)
        memset(packed + (size_t)(e - from) * GEMM_ROWS * bytes, 0, bytes);
    conv_load(v->in, v->c->in[0], first + lo * v->in_feature, v->in_feature, (size_t)(hi - lo),
              packed + (size_t)(lo - from) * GEMM_ROWS * bytes, GEMM_ROWS);
}

static void conv_pack_a(const void *user, size_t group, size_t row, size_t nrows, size_t from, size_t to, void *packed) {
    const struct conv *v = user;
    uint32_t outer = v->joined ? v->nspatial - 1 : v->nspatial;
    const struct conv_dim *last = &v->dim[v->joined ? outer : 0];
    size_t bytes = v->g.wide ? 8 : 4, line = (size_t)(v->joined ? last->window * v->group_in : v->group_in);
    int64_t o[GEMM_ROWS][CONV_MOST], base[GEMM_ROWS], k[CONV_MOST];
    for (size_t i = 0; i < nrows; i++) {
        int64_t batch = conv_row(v, row + i, o[i]);
        base[i] = (v->batch_groups > 1 ? (int64_t)group * v->out_batch + batch : batch) * v->in_batch +
                  (v->feature_groups > 1 ? (int64_t)group * v->group_in : 0) * v->in_feature;
    }
    if (nrows < GEMM_ROWS)
        memset(packed, 0, (to - from) * GEMM_ROWS * bytes);
    for (size_t p = from; p < to;) {
        size_t at = p % line, n = line - at < to - p ? line - at : to - p;
        char *to_p = (char *)packed + (p - from) * GEMM_ROWS * bytes;
        conv_tap(v, p / line, outer, k);
        for (size_t i = 0; i < nrows; i++) {
            int64_t input = conv_input(v, o[i], k, outer), lo = 0, hi = input < 0 ? 0 : (int64_t)line;
            if (v->joined && input >= 0) {
                int64_t place = o[i][outer] * last->stride - last->low;
                lo = -place * v->group_in;
                hi = (last->in - place) * v->group_in;
                input += place * last->in_step;
            }
            conv_line(v, base[i] + input, (int64_t)at, (int64_t)(at + n), lo, hi, to_p + i * bytes);
        }
        p += n;
    }
}

static void conv_pack_b(const void *user, size_t group, size_t column, size_t ncolumns, size_t width, void *packed) {
    const struct conv *v = user;
    size_t bytes = v->g.wide ? 8 : 4;
    char *to = packed;
    int64_t k[CONV_MOST], first = ((int64_t)group * v->group_out + (int64_t)column) * v->w_out;
    if (ncolumns < width)
        memset(to, 0, v->g.depth * width * bytes);
    for (size_t tap = 0; tap * (size_t)v->group_in < v->g.depth; tap++) {
        int64_t at = first;
        conv_tap(v, tap, v->nspatial, k);
        for (uint32_t i = 0; i < v->nspatial; i++)
            at += k[i] * v->dim[i].w_step;
        for (int64_t f = 0; f < v->group_in; f++, to += width * bytes)
            conv_load(v->in, v->c->in[1], at + f * v->w_in, v->w_out, ncolumns, to, 1);
    }
}

static void conv_unpack_c(const void *user, size_t group, size_t row, size_t nrows, size_t column, size_t ncolumns,
                          size_t width, const void *tile) {
    const struct conv *v = user;
    size_t bytes = v->g.wide ? 8 : 4;
    for (size_t i = 0; i < nrows; i++) {
        int64_t o[CONV_MOST], at = conv_row(v, row + i, o) * v->out_batch_step;
        for (uint32_t d = 0; d < v->nspatial; d++)
            at += o[d] * v->dim[d].out_step;
        at += ((int64_t)group * v->group_out + (int64_t)column) * v->out_feature;
        conv_save(v->out, (const char *)tile + i * width * bytes, ncolumns, v->c->out[0], at, v->out_feature);
    }
}

/* ---- the op ----------------------------------------------------------------------------------------------------------- */

static bool conv_plan(struct conv *v) {
    size_t rows = (size_t)v->out_batch, taps = 1;
    bool fits = conv_type(v->in) && conv_type(v->out) && (v->in == IR_F64_T) == (v->out == IR_F64_T) && v->out_batch >= 0 &&
                v->group_in >= 0 && v->group_out >= 0 && v->batch_groups > 0 && v->feature_groups > 0;
    for (uint32_t i = 0; i < v->nspatial && fits; i++) {
        const struct conv_dim *d = &v->dim[i];
        fits = d->in >= 0 && d->window >= 0 && d->out >= 0 && d->stride > 0 && d->base > 0 && d->dilation > 0 &&
               mem_mul(rows, (size_t)d->out, &rows) && mem_mul(taps, (size_t)d->window, &taps);
    }
    const struct conv_dim *last = &v->dim[v->nspatial ? v->nspatial - 1 : 0];
    v->joined = v->nspatial && last->base == 1 && last->dilation == 1 && !last->reverse && v->feature_groups == 1 &&
                last->in_step == v->group_in * v->in_feature;
    v->g = (struct gemm){.wide = v->in == IR_F64_T,
                         .groups = (size_t)(v->batch_groups * v->feature_groups),
                         .rows = rows,
                         .columns = (size_t)v->group_out,
                         .user = v,
                         .pack_a = conv_pack_a,
                         .pack_b = conv_pack_b,
                         .unpack_c = conv_unpack_c};
    return fits && mem_mul(taps, (size_t)v->group_in, &v->g.depth);
}

bool conv_read(const int64_t *params, uint32_t nparams, struct conv *out) {
    struct lib_reader r = lib_reader_of(params, nparams);
    struct conv v = {.in = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1)};
    v.out = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    v.nspatial = (uint32_t)lib_get_size(&r, CONV_MOST);
    int64_t *const plain[] = {&v.batch_groups, &v.feature_groups, &v.group_in, &v.group_out,      &v.out_batch,  &v.in_batch,
                              &v.in_feature,   &v.w_in,           &v.w_out,    &v.out_batch_step, &v.out_feature};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        *plain[i] = lib_get(&r);
    for (uint32_t i = 0; i < v.nspatial; i++) {
        int64_t p[CONV_PARAMS];
        for (size_t k = 0; k < CONV_PARAMS; k++)
            p[k] = lib_get(&r);
        v.dim[i] = (struct conv_dim){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10]};
    }
    *out = v;
    return !r.short_;
}

/* Every place that a window can reach is a number, also in features. */
static bool conv_dim_fits(const struct conv_dim *d, int64_t features) {
    int64_t limit = INT64_MAX / 8, reach, span, all;
    return d->low > -limit && d->low < limit && d->in < limit && !__builtin_mul_overflow(d->out, d->stride, &reach) &&
           !__builtin_mul_overflow(d->window, d->dilation, &span) && reach < limit && span < limit &&
           !__builtin_mul_overflow(reach + span + d->in + (d->low < 0 ? -d->low : d->low), features, &all);
}

static hilo_status conv_check(const struct conv *v, const struct lib_sizes *have) {
    struct lib_extent in = {0}, window = {0}, out = {0};
    int64_t groups, batches, group_in, features, columns;
    size_t scratch;
    if (__builtin_mul_overflow(v->batch_groups, v->feature_groups, &groups) ||
        __builtin_mul_overflow(groups, v->out_batch, &batches) || __builtin_mul_overflow(groups, v->group_in, &group_in) ||
        __builtin_mul_overflow(groups, v->group_out, &columns) || !gemm_scratch(&v->g, &scratch))
        return HILO_INVALID_ARGUMENT;
    features = v->feature_groups > 1 ? group_in : v->group_in;
    lib_reach(&in, v->batch_groups > 1 ? batches : v->out_batch, v->in_batch);
    lib_reach(&in, features, v->in_feature);
    lib_reach(&window, v->group_in, v->w_in);
    lib_reach(&window, columns, v->w_out);
    lib_reach(&out, v->out_batch, v->out_batch_step);
    lib_reach(&out, columns, v->out_feature);
    for (uint32_t i = 0; i < v->nspatial; i++) {
        const struct conv_dim *d = &v->dim[i];
        if (!conv_dim_fits(d, v->group_in))
            return HILO_INVALID_ARGUMENT;
        lib_reach(&in, d->in, d->in_step);
        lib_reach(&window, d->window, d->w_step);
        lib_reach(&out, d->out, d->out_step);
    }
    size_t number = ir_dtype_get(v->in)->bytes;
    return lib_checked(have, 2, 1,
                       (const size_t[]){lib_extent_bytes(&in, number), lib_extent_bytes(&window, number),
                                        lib_extent_bytes(&out, ir_dtype_get(v->out)->bytes)},
                       scratch);
}

hilo_status lib_convolution(const struct lib_call *c) {
    struct conv v;
    if (!conv_read(c->params, c->nparams, &v) || !conv_plan(&v))
        return HILO_INVALID_ARGUMENT;
    if (c->check)
        return conv_check(&v, c->check);
    v.c = c;
    gemm_run(&v.g, c->scratch, c->pool);
    return HILO_OK;
}

static bool conv_put(struct lib_match *out, const struct conv *v) {
    const int64_t plain[] = {v->in,       v->out,       v->nspatial,       v->batch_groups, v->feature_groups,
                             v->group_in, v->group_out, v->out_batch,      v->in_batch,     v->in_feature,
                             v->w_in,     v->w_out,     v->out_batch_step, v->out_feature};
    bool fits = true;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        fits = fits && lib_put(out, plain[i]);
    for (uint32_t i = 0; i < v->nspatial; i++) {
        const struct conv_dim *d = &v->dim[i];
        const int64_t p[CONV_PARAMS] = {d->in,       d->window,  d->out,     d->stride, d->low,     d->base,
                                        d->dilation, d->reverse, d->in_step, d->w_step, d->out_step};
        for (size_t k = 0; k < CONV_PARAMS; k++)
            fits = fits && lib_put(out, p[k]);
    }
    return fits;
}

static int64_t stride_of(const struct ir_type_data *t, int64_t dim) {
    return (int64_t)lib_product(t->dims, (uint32_t)dim + 1, t->rank);
}

bool lib_match_convolution(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_CONVOLUTION || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *x = ir_val_type(m, ir_operand(m, op, 0)), *w = ir_val_type(m, ir_operand(m, op, 1));
    const struct ir_type_data *y = ir_val_type(m, ir_result(m, op, 0));
    ir_attr dims = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers);
    const struct ir_attr_data *reverse = ir_attr_get(m, ir_prop(m, op, IR_CONVOLUTION_window_reversal));
    size_t n, unused;
    const int64_t *in = ir_field_dims(m, dims, IR_CONV_input_spatial_dimensions_F, &n);
    const int64_t *window = ir_field_dims(m, dims, IR_CONV_kernel_spatial_dimensions_F, &unused);
    const int64_t *result = ir_field_dims(m, dims, IR_CONV_output_spatial_dimensions_F, &unused);
    int64_t batch = ir_field_i64(m, dims, IR_CONV_input_batch_dimension_F);
    int64_t w_in = ir_field_i64(m, dims, IR_CONV_kernel_input_feature_dimension_F);
    int64_t w_out = ir_field_i64(m, dims, IR_CONV_kernel_output_feature_dimension_F);
    struct conv v = {.in = x->dtype,
                     .out = y->dtype,
                     .nspatial = (uint32_t)n,
                     .batch_groups = ir_prop_i64(m, op, IR_CONVOLUTION_batch_group_count),
                     .feature_groups = ir_prop_i64(m, op, IR_CONVOLUTION_feature_group_count)};
    if (n > CONV_MOST || w->dtype != x->dtype || v.batch_groups < 1 || v.feature_groups < 1)
        return false;
    v.out_batch = x->dims[batch] / v.batch_groups;
    v.group_in = w->dims[w_in];
    v.group_out = w->dims[w_out] / (v.batch_groups * v.feature_groups);
    v.in_batch = stride_of(x, batch);
    v.in_feature = stride_of(x, ir_field_i64(m, dims, IR_CONV_input_feature_dimension_F));
    v.w_in = stride_of(w, w_in);
    v.w_out = stride_of(w, w_out);
    v.out_batch_step = stride_of(y, ir_field_i64(m, dims, IR_CONV_output_batch_dimension_F));
    v.out_feature = stride_of(y, ir_field_i64(m, dims, IR_CONV_output_feature_dimension_F));
    for (uint32_t i = 0; i < n; i++)
        v.dim[i] = (struct conv_dim){.in = x->dims[in[i]],
                                     .window = w->dims[window[i]],
                                     .out = y->dims[result[i]],
                                     .stride = ir_prop_i64_at(m, op, IR_CONVOLUTION_window_strides, i, 1),
                                     .low = ir_prop_i64_at(m, op, IR_CONVOLUTION_padding, 2 * i, 0),
                                     .base = ir_prop_i64_at(m, op, IR_CONVOLUTION_lhs_dilation, i, 1),
                                     .dilation = ir_prop_i64_at(m, op, IR_CONVOLUTION_rhs_dilation, i, 1),
                                     .reverse = reverse->kind == IR_ATTR_DENSE_ARRAY && ((const char *)reverse->data)[i],
                                     .in_step = stride_of(x, in[i]),
                                     .w_step = stride_of(w, window[i]),
                                     .out_step = stride_of(y, result[i])};
    if (!conv_plan(&v) || !gemm_scratch(&v.g, &out->scratch_bytes))
        return false;
    out->ns = 0.05 * (double)v.g.groups * (double)v.g.rows * (double)v.g.columns * (double)v.g.depth;
    return conv_put(out, &v);
}
