/* What the custom calls of fused.def compute, in StableHLO. Narrow floats are computed in f32 and rounded once; the operands of
 * dots are not widened, their results are. */
#include "opt/fused.h"

#include <float.h>
#include <math.h>

static enum ir_dtype type_of(const struct fused *c) {
    return fused_shape(c, fused_in(c, 0))->dtype;
}

static enum ir_dtype wide_of(const struct fused *c) {
    return ir_dtype_get(type_of(c))->bits < 32 ? IR_F32_T : type_of(c);
}

static ir_val number(struct fused *c, enum ir_op_kind kind, ir_val a, double b) {
    return fused_binary(c, kind, a, fused_like(c, a, b));
}

/* ---- activations ----------------------------------------------------------------------------------- */

static ir_val act_none(struct fused *c, ir_val x) {
    (void)c;
    return x;
}

static ir_val act_relu(struct fused *c, ir_val x) {
    return number(c, IR_MAXIMUM, x, 0);
}

static ir_val act_logistic(struct fused *c, ir_val x) {
    return fused_unary(c, IR_LOGISTIC, x);
}

static ir_val act_tanh(struct fused *c, ir_val x) {
    return fused_unary(c, IR_TANH, x);
}

static ir_val act_silu(struct fused *c, ir_val x) {
    return fused_binary(c, IR_MULTIPLY, x, fused_unary(c, IR_LOGISTIC, x));
}

/* x/2 · (1 + erf(x/√2)) */
static ir_val act_gelu(struct fused *c, ir_val x) {
    ir_val inner = fused_unary(c, IR_ERF, number(c, IR_MULTIPLY, x, sqrt(0.5)));
    return fused_binary(c, IR_MULTIPLY, number(c, IR_MULTIPLY, x, 0.5), number(c, IR_ADD, inner, 1));
}

/* x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))) */
static ir_val act_gelu_tanh(struct fused *c, ir_val x) {
    ir_val cube = fused_binary(c, IR_MULTIPLY, fused_binary(c, IR_MULTIPLY, x, x), x);
    ir_val sum = fused_binary(c, IR_ADD, x, number(c, IR_MULTIPLY, cube, 0.044715));
    ir_val inner = fused_unary(c, IR_TANH, number(c, IR_MULTIPLY, sum, 0.79788456080286535588));
    return fused_binary(c, IR_MULTIPLY, number(c, IR_MULTIPLY, x, 0.5), number(c, IR_ADD, inner, 1));
}

static ir_val choose_positive(struct fused *c, ir_val x, ir_val otherwise) {
    const struct ir_type_data *t = fused_shape(c, x);
    ir_val zero = fused_like(c, x, 0);
    ir_op op = rules_make(&c->r, c->op, IR_COMPARE, (ir_val[]){x, zero}, 2, ir_type_of(c->r.m, IR_I1_T, t->dims, t->rank));
    ir_set_prop(c->r.m, op, IR_COMPARE_comparison_direction,
                ir_attr_enum(c->r.m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_GT));
    return fused_select(c, ir_result(c->r.m, op, 0), x, otherwise);
}

static ir_val act_leaky_relu(struct fused *c, ir_val x) {
    return choose_positive(c, x, number(c, IR_MULTIPLY, x, 0.01));
}

static ir_val act_elu(struct fused *c, ir_val x) {
    return choose_positive(c, x, fused_unary(c, IR_EXPONENTIAL_MINUS_ONE, x));
}

static const struct {
    const char *name;
    ir_val (*apply)(struct fused *c, ir_val x);
} activations[] = {
    {"none", act_none}, {"relu", act_relu}, {"gelu", act_gelu}, {"gelu_exact", act_gelu}, {"gelu_approximate", act_gelu_tanh},
    {"geluApproximate", act_gelu_tanh}, {"sigmoid", act_logistic}, {"tanh", act_tanh}, {"silu", act_silu}, {"swish", act_silu},
    {"leaky_relu", act_leaky_relu}, {"leakyRelu", act_leaky_relu}, {"elu", act_elu},
};

static ir_val activate(struct fused *c, ir_val x, const char *missing) {
    struct str name = fused_text(c, "activation", missing);
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (str_is(name, activations[i].name))
            return activations[i].apply(c, x);
    fused_fail(c, "there is no activation '%.*s'; there are none, relu, gelu, gelu_approximate, sigmoid, tanh, silu, "
                  "leaky_relu, elu", (int)name.n, name.p);
    return x;
}

ir_val fused_gelu(struct fused *c) {
    ir_val x = fused_wide(c, fused_in(c, 0));
    ir_val y = fused_bool(c, "approximate", false) ? act_gelu_tanh(c, x) : act_gelu(c, x);
    return fused_convert(c, y, type_of(c));
}

/* ---- softmax, attention ------------------------------------------------------------------------------ */

static ir_val softmax(struct fused *c, ir_val x, int64_t axis) {
    ir_val most = fused_reduce(c, IR_MAXIMUM, x, &axis, 1);
    ir_val e = fused_unary(c, IR_EXPONENTIAL, fused_binary(c, IR_SUBTRACT, x, most));
    return fused_binary(c, IR_DIVIDE, e, fused_reduce(c, IR_ADD, e, &axis, 1));
}

ir_val fused_softmax(struct fused *c) {
    ir_val x = fused_wide(c, fused_in(c, 0));
    int64_t axis = fused_axis(c, x, fused_int(c, "axis", -1));
    return c->status == HILO_OK ? fused_convert(c, softmax(c, x, axis), type_of(c)) : x;
}

/* Where the column is not beyond the row, in the last two dimensions. */
static ir_val causal(struct fused *c, ir_val scores) {
    const struct ir_type_data *t = fused_shape(c, scores);
    ir_type index = ir_type_of(c->r.m, IR_I32_T, t->dims, t->rank), bits = ir_type_of(c->r.m, IR_I1_T, t->dims, t->rank);
    ir_val at[2];
    for (uint32_t i = 0; i < 2; i++) {
        ir_op op = rules_make(&c->r, c->op, IR_IOTA, NULL, 0, index);
        ir_set_prop(c->r.m, op, IR_IOTA_iota_dimension, ir_attr_i64(c->r.m, (int64_t)t->rank - 2 + i));
        at[i] = ir_result(c->r.m, op, 0);
    }
    ir_op op = rules_make(&c->r, c->op, IR_COMPARE, at, 2, bits);
    ir_set_prop(c->r.m, op, IR_COMPARE_comparison_direction,
                ir_attr_enum(c->r.m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_GE));
    return ir_result(c->r.m, op, 0);
}

/* The least finite number: a row without any score is then an average, and no NaN. */
static ir_val least_like(struct fused *c, ir_val v) {
    return fused_like(c, v, fused_shape(c, v)->dtype == IR_F64_T ? -DBL_MAX : -(double)FLT_MAX);
}

struct attention {
    ir_val q, k, v; /* [batch …, heads, rows, features], heads of k and v may be fewer: groups of q's share one */
    uint32_t rank;
    int64_t groups;
};

/* A mask for scores of q's heads: numbers are added, and where it is false the score is the least number. */
static ir_val masked(struct fused *c, const struct attention *a, ir_val scores, ir_val mask) {
    const struct ir_type_data *q = fused_shape(c, a->q), *k = fused_shape(c, a->k);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, q->dims, a->rank * sizeof *dims);
    dims[a->rank - 1] = k->dims[a->rank - 2];
    mask = fused_align(c, mask, dims, a->rank, "the mask");
    if (c->status != HILO_OK)
        return scores;
    const struct ir_type_data *t = fused_shape(c, scores);
    mask = fused_reshape(c, mask, t->dims, t->rank);
    if (!rules_is_integer(&c->r, mask))
        return fused_binary(c, IR_ADD, scores, fused_convert(c, mask, t->dtype));
    return fused_select(c, mask, scores, least_like(c, scores));
}

static bool attention_of(struct fused *c, struct attention *a) {
    const struct ir_type_data *q = fused_shape(c, a->q), *k = fused_shape(c, a->k), *v = fused_shape(c, a->v);
    a->rank = q->rank;
    bool fits = q->rank >= 2 && q->rank < IR_MAX_RANK && k->rank == q->rank && v->rank == q->rank &&
                k->dims[k->rank - 1] == q->dims[q->rank - 1] && k->dims[k->rank - 2] == v->dims[v->rank - 2];
    a->groups = 1;
    for (uint32_t i = 0; i + 2 < q->rank && fits; i++) {
        bool heads = i + 3 == q->rank && k->dims[i] && q->dims[i] % k->dims[i] == 0;
        fits = k->dims[i] == v->dims[i] && (k->dims[i] == q->dims[i] || heads);
        a->groups = k->dims[i] ? q->dims[i] / k->dims[i] : 1;
    }
    if (!fits)
        fused_fail(c, "needs query [..., heads, n, d], key [..., heads, m, d] and value [..., heads, m, e], where key "
                      "and value may have a divisor of the query's heads");
    return fits;
}

static ir_val attention(struct fused *c, struct attention *a, ir_val mask, bool is_causal) {
    const struct ir_type_data *q = fused_shape(c, a->q);
    uint32_t batch = a->rank - 2, last = a->rank - 1;
    int64_t dims[IR_MAX_RANK + 1], out[IR_MAX_RANK];
    memcpy(out, q->dims, a->rank * sizeof *out);
    out[last] = fused_shape(c, a->v)->dims[last];
    ir_val query = a->q;
    if (a->groups > 1) { /* a group is one more dimension of rows */
        memcpy(dims, q->dims, batch * sizeof *dims);
        dims[batch - 1] /= a->groups;
        dims[batch] = a->groups;
        dims[batch + 1] = q->dims[batch];
        dims[batch + 2] = q->dims[last];
        query = fused_reshape(c, query, dims, a->rank + 1);
    }
    uint32_t columns = fused_shape(c, query)->rank - 1;
    ir_val scores = fused_dot(c, query, a->k, batch, columns, last, wide_of(c));
    double scale = fused_float(c, "scale", 1);
    if (scale != 1)
        scores = number(c, IR_MULTIPLY, scores, scale);
    if (!IR_NONE(mask))
        scores = masked(c, a, scores, mask);
    if (is_causal)
        scores = fused_select(c, causal(c, scores), scores, least_like(c, scores));
    ir_val weights = fused_convert(c, softmax(c, scores, columns), type_of(c));
    ir_val y = fused_dot(c, weights, a->v, batch, columns, batch, type_of(c));
    return fused_reshape(c, y, out, a->rank);
}

ir_val fused_scaled_dot_product_attention(struct fused *c) {
    struct attention a = {.q = fused_in(c, 0), .k = fused_in(c, 1), .v = fused_in(c, 2)};
    bool has_mask = fused_bool(c, "has_mask", fused_count(c) == 4);
    if (has_mask != (fused_count(c) == 4))
        fused_fail(c, "has_mask is %s, but there are %u operands", has_mask ? "true" : "false", fused_count(c));
    if (c->status != HILO_OK || !attention_of(c, &a))
        return a.q;
    return attention(c, &a, has_mask ? fused_in(c, 3) : (ir_val){0}, fused_bool(c, "is_causal", false));
}

ir_val fused_depth_attention(struct fused *c) {
    struct attention a = {.q = fused_in(c, 0), .k = fused_in(c, 1), .v = fused_in(c, 2)};
    const struct ir_type_data *q = fused_shape(c, a.q), *k = fused_shape(c, a.k);
    bool flat = q->rank == 2;
    int64_t dims[3] = {0}, out[3];
    if (k->rank != 3 || (q->rank != 2 && !(q->rank == 3 && q->dims[1] == 1)) || k->dims[0] != q->dims[0]) {
        fused_fail(c, "needs query [batch, 1, hidden] or [batch, hidden], and keys and values [batch, depth, hidden]");
        return a.q;
    }
    dims[0] = q->dims[0];
    dims[1] = 1;
    dims[2] = q->dims[q->rank - 1];
    a.q = fused_reshape(c, a.q, dims, 3);
    if (!attention_of(c, &a))
        return a.q;
    ir_val y = attention(c, &a, (ir_val){0}, false);
    out[0] = dims[0];
    out[1] = flat ? fused_shape(c, y)->dims[2] : 1;
    out[2] = fused_shape(c, y)->dims[2];
    return fused_reshape(c, y, out, flat ? 2 : 3);
}

/* ---- norms ------------------------------------------------------------------------------------------- */

struct norm {
    ir_val x;
    int64_t axes[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t naxes, rank;
    double count;
};

static bool norm_of(struct fused *c, struct norm *n) {
    n->x = fused_wide(c, fused_in(c, 0));
    const struct ir_type_data *t = fused_shape(c, n->x);
    n->rank = t->rank;
    memcpy(n->dims, t->dims, t->rank * sizeof *n->dims);
    n->axes[0] = -1;
    uint32_t given = fused_ints(c, "axes", n->axes, n->rank);
    n->naxes = given ? given : 1;
    n->count = 1;
    for (uint32_t i = 0; i < n->naxes; i++) {
        n->axes[i] = fused_axis(c, n->x, n->axes[i]);
        for (uint32_t k = 0; k < i; k++)
            if (n->axes[k] == n->axes[i])
                fused_fail(c, "has an axis twice");
        if (c->status == HILO_OK)
            n->count *= (double)n->dims[n->axes[i]];
    }
    return c->status == HILO_OK;
}

static ir_val mean(struct fused *c, const struct norm *n, ir_val v) {
    return number(c, IR_DIVIDE, fused_reduce(c, IR_ADD, v, n->axes, n->naxes), n->count);
}

/* A parameter of the normalised dimensions, or of the last ones. */
static ir_val parameter(struct fused *c, const struct norm *n, uint32_t i, const char *what) {
    ir_val v = fused_wide(c, fused_in(c, i));
    const struct ir_type_data *t = fused_shape(c, v);
    bool fits = t->rank == n->naxes;
    for (uint32_t k = 0; k < t->rank && fits; k++)
        fits = t->dims[k] == n->dims[n->axes[k]] && (k == 0 || n->axes[k] > n->axes[k - 1]);
    return fits ? fused_spread(c, v, n->dims, n->rank, n->axes) : fused_align(c, v, n->dims, n->rank, what);
}

ir_val fused_layer_norm(struct fused *c) {
    struct norm n;
    if (!norm_of(c, &n))
        return fused_in(c, 0);
    ir_val centred = fused_binary(c, IR_SUBTRACT, n.x, mean(c, &n, n.x));
    ir_val variance = mean(c, &n, fused_binary(c, IR_MULTIPLY, centred, centred));
    ir_val factor = fused_unary(c, IR_RSQRT, number(c, IR_ADD, variance, fused_float(c, "eps", 1e-5)));
    ir_val y = fused_binary(c, IR_MULTIPLY, centred, factor);
    y = fused_binary(c, IR_MULTIPLY, y, parameter(c, &n, 1, "the scale"));
    return fused_convert(c, fused_binary(c, IR_ADD, y, parameter(c, &n, 2, "the offset")), type_of(c));
}

ir_val fused_rms_norm(struct fused *c) {
    struct norm n;
    if (!norm_of(c, &n))
        return fused_in(c, 0);
    ir_val square = mean(c, &n, fused_binary(c, IR_MULTIPLY, n.x, n.x));
    ir_val factor = fused_unary(c, IR_RSQRT, number(c, IR_ADD, square, fused_float(c, "eps", 1e-5)));
    ir_val y = fused_binary(c, IR_MULTIPLY, n.x, factor);
    return fused_convert(c, fused_binary(c, IR_MULTIPLY, y, parameter(c, &n, 1, "the scale")), type_of(c));
}

ir_val fused_batch_norm(struct fused *c) {
    struct norm n = {.x = fused_wide(c, fused_in(c, 0)), .naxes = 1};
    const struct ir_type_data *t = fused_shape(c, n.x);
    n.rank = t->rank;
    memcpy(n.dims, t->dims, t->rank * sizeof *n.dims);
    n.axes[0] = fused_axis(c, n.x, fused_int(c, "feature_index", -1));
    if (c->status != HILO_OK)
        return n.x;
    static const char *const names[] = {"the operand", "the scale", "the offset", "the mean", "the variance"};
    ir_val p[5];
    for (uint32_t i = 1; i < 5; i++)
        p[i] = parameter(c, &n, i, names[i]);
    ir_val factor = fused_unary(c, IR_RSQRT, number(c, IR_ADD, p[4], fused_float(c, "eps", 1e-5)));
    ir_val y = fused_binary(c, IR_MULTIPLY, fused_binary(c, IR_SUBTRACT, n.x, p[3]), factor);
    y = fused_binary(c, IR_MULTIPLY, y, p[1]);
    return fused_convert(c, fused_binary(c, IR_ADD, y, p[2]), type_of(c));
}

/* ---- products ---------------------------------------------------------------------------------------- */

/* The matrices of x, or of x transposed, times w: one matrix, or as many as x has. */
static ir_val product(struct fused *c, ir_val x, ir_val w, bool trans_a, bool trans_b, enum ir_dtype t) {
    const struct ir_type_data *a = fused_shape(c, x), *b = fused_shape(c, w);
    uint32_t batch = b->rank > 2 ? b->rank - 2 : 0;
    bool fits = a->rank >= 2 && b->rank >= 2 && (batch == 0 || b->rank == a->rank);
    for (uint32_t i = 0; i < batch && fits; i++)
        fits = a->dims[i] == b->dims[i];
    uint32_t sum_a = a->rank - (trans_a ? 2 : 1), sum_b = b->rank - (trans_b ? 1 : 2);
    if (!fits || a->dims[sum_a] != b->dims[sum_b]) {
        fused_fail(c, "needs matrices [..., m, k] and [k, n], or [..., k, n], as trans_a and trans_b have them");
        return x;
    }
    return fused_dot(c, x, w, batch, sum_a, sum_b, t);
}

static ir_val biased(struct fused *c, ir_val x, ir_val bias) {
    const struct ir_type_data *t = fused_shape(c, x);
    return fused_binary(c, IR_ADD, x, fused_align(c, fused_convert(c, bias, t->dtype), t->dims, t->rank, "the bias"));
}

ir_val fused_matmul_bias_activation(struct fused *c) {
    ir_val x = product(c, fused_in(c, 0), fused_in(c, 1), fused_bool(c, "trans_a", false), fused_bool(c, "trans_b", false),
                       wide_of(c));
    if (c->status == HILO_OK)
        x = biased(c, x, fused_in(c, 2));
    return c->status == HILO_OK ? fused_convert(c, activate(c, x, "none"), type_of(c)) : x;
}

ir_val fused_ffn(struct fused *c) {
    bool gated = fused_bool(c, "is_gated", fused_count(c) == 4);
    if (gated != (fused_count(c) == 4))
        fused_fail(c, "is_gated is %s, but there are %u operands", gated ? "true" : "false", fused_count(c));
    ir_val x = fused_in(c, 0), hidden = x;
    if (c->status == HILO_OK)
        hidden = product(c, x, fused_in(c, 1), false, false, wide_of(c));
    ir_val gate = gated && c->status == HILO_OK ? product(c, x, fused_in(c, 3), false, false, wide_of(c)) : hidden;
    if (c->status == HILO_OK && !IR_SAME(rules_type(&c->r, gate), rules_type(&c->r, hidden)))
        fused_fail(c, "needs weights of one shape for the gate and what it lets through");
    if (c->status != HILO_OK)
        return x;
    gate = activate(c, gate, "gelu_approximate");
    hidden = gated ? fused_binary(c, IR_MULTIPLY, gate, hidden) : gate;
    return product(c, fused_convert(c, hidden, type_of(c)), fused_in(c, 2), false, false, type_of(c));
}

/* ---- convolution --------------------------------------------------------------------------------------- */

struct conv {
    uint32_t n; /* spatial dimensions */
    int64_t strides[IR_MAX_RANK], padding[2 * IR_MAX_RANK], dilation[IR_MAX_RANK], groups, out[IR_MAX_RANK];
};

static bool conv_of(struct fused *c, struct conv *v) {
    const struct ir_type_data *x = fused_shape(c, fused_in(c, 0)), *w = fused_shape(c, fused_in(c, 1));
    if (x->rank < 3 || w->rank != x->rank) {
        fused_fail(c, "needs an operand [batch, spatial ..., features] and a kernel [spatial ..., features, outputs]");
        return false;
    }
    v->n = x->rank - 2;
    for (uint32_t i = 0; i < v->n; i++) {
        v->strides[i] = v->dilation[i] = 1;
        v->padding[2 * i] = v->padding[2 * i + 1] = 0;
    }
    uint32_t ns = fused_ints(c, "window_strides", v->strides, v->n), nd = fused_ints(c, "rhs_dilation", v->dilation, v->n);
    uint32_t np = fused_ints(c, "padding", v->padding, 2 * v->n);
    v->groups = fused_int(c, "feature_group_count", 1);
    if ((ns && ns != v->n) || (nd && nd != v->n) || (np && np != 2 * v->n))
        fused_fail(c, "needs %u strides and dilations, and %u numbers of padding", v->n, 2 * v->n);
    int64_t features = x->dims[v->n + 1], outputs = w->dims[v->n + 1];
    if (v->groups < 1 || features % v->groups || outputs % v->groups || w->dims[v->n] * v->groups != features)
        fused_fail(c, "has a kernel whose features do not fit the operand's");
    v->out[0] = x->dims[0];
    v->out[v->n + 1] = outputs;
    for (uint32_t i = 0; i < v->n && c->status == HILO_OK; i++) {
        if (v->strides[i] < 1 || v->dilation[i] < 1 || v->strides[i] > 1 << 30 || v->dilation[i] > 1 << 30 ||
            v->padding[2 * i] > 1 << 30 || v->padding[2 * i + 1] > 1 << 30 || v->padding[2 * i] < -(1 << 30) ||
            v->padding[2 * i + 1] < -(1 << 30) || w->dims[i] > 1 << 30 || x->dims[i + 1] > INT64_C(1) << 40) {
            fused_fail(c, "has strides, dilations or padding that are out of range");
            break;
        }
        int64_t window = w->dims[i] ? (w->dims[i] - 1) * v->dilation[i] + 1 : 0;
        int64_t padded = x->dims[i + 1] + v->padding[2 * i] + v->padding[2 * i + 1];
        v->out[i + 1] = window > padded ? 0 : (padded - window) / v->strides[i] + 1;
    }
    return c->status == HILO_OK;
}

/* Channels last: [b, 0, 1, f] x [0, 1, i, o] -> [b, 0, 1, f]. */
static ir_attr conv_numbers(struct fused *c, uint32_t n) {
    struct ir_module *m = c->r.m;
    int64_t middle[IR_MAX_RANK], first[IR_MAX_RANK];
    for (uint32_t i = 0; i < n; i++) {
        middle[i] = i + 1;
        first[i] = i;
    }
    ir_attr zero = ir_attr_i64(m, 0), last = ir_attr_i64(m, n + 1), inner = ir_attr_i64(m, n);
    ir_attr spatial = ir_attr_i64s(m, middle, n), kernel = ir_attr_i64s(m, first, n);
    return ir_attr_struct(m, IR_STRUCT_CONV, (ir_attr[]){zero, last, spatial, inner, last, kernel, zero, last, spatial});
}

ir_val fused_conv_bias_act(struct fused *c) {
    struct ir_module *m = c->r.m;
    struct conv v;
    ir_val in[2] = {fused_in(c, 0), fused_in(c, 1)};
    bool has_bias = fused_bool(c, "has_bias", fused_count(c) == 3);
    if (has_bias != (fused_count(c) == 3))
        fused_fail(c, "has_bias is %s, but there are %u operands", has_bias ? "true" : "false", fused_count(c));
    if (c->status != HILO_OK || !conv_of(c, &v))
        return in[0];
    ir_op op = rules_make(&c->r, c->op, IR_CONVOLUTION, in, 2, ir_type_of(m, wide_of(c), v.out, v.n + 2));
    ir_set_prop(m, op, IR_CONVOLUTION_window_strides, ir_attr_i64s(m, v.strides, v.n));
    ir_set_prop(m, op, IR_CONVOLUTION_padding, ir_attr_dense_i64s(m, v.padding, (int64_t[]){v.n, 2}, 2));
    ir_set_prop(m, op, IR_CONVOLUTION_rhs_dilation, ir_attr_i64s(m, v.dilation, v.n));
    ir_set_prop(m, op, IR_CONVOLUTION_dimension_numbers, conv_numbers(c, v.n));
    ir_set_prop(m, op, IR_CONVOLUTION_feature_group_count, ir_attr_i64(m, v.groups));
    ir_set_prop(m, op, IR_CONVOLUTION_batch_group_count, ir_attr_i64(m, 1));
    ir_val x = ir_result(m, op, 0);
    if (has_bias)
        x = biased(c, x, fused_in(c, 2));
    return fused_convert(c, activate(c, x, "none"), type_of(c));
}

/* ---- rotary embedding -------------------------------------------------------------------------------- */

/* Halves of the last dimension are rotated: (a, b) → (a·cos − b·sin, a·sin + b·cos). */
ir_val fused_rope(struct fused *c) {
    ir_val x = fused_wide(c, fused_in(c, 0)), table = fused_wide(c, fused_in(c, 1)), cosine, sine;
    const struct ir_type_data *t = fused_shape(c, x), *f = fused_shape(c, table);
    uint32_t rank = t->rank, last = rank - 1;
    int64_t width = rank ? t->dims[last] : 1, half = width / 2, columns = f->rank ? f->dims[f->rank - 1] : 0;
    if (width % 2 || (columns != half && (columns != width || fused_count(c) == 3))) {
        fused_fail(c, "needs an even last dimension, and with it cosines and sines side by side, or of half as many angles, "
                      "or of half as many cosines and as many sines");
        return x;
    }
    if (fused_count(c) == 3) {
        cosine = table;
        sine = fused_wide(c, fused_in(c, 2));
    } else if (columns == half) {
        cosine = fused_unary(c, IR_COSINE, table);
        sine = fused_unary(c, IR_SINE, table);
    } else {
        cosine = fused_slice(c, table, f->rank - 1, 0, half);
        sine = fused_slice(c, table, f->rank - 1, half, width);
    }
    ir_val a = fused_slice(c, x, last, 0, half), b = fused_slice(c, x, last, half, width);
    const int64_t *dims = fused_shape(c, a)->dims;
    cosine = fused_align(c, cosine, dims, rank, "the table of cosines");
    sine = fused_align(c, sine, dims, rank, "the table of sines");
    if (c->status != HILO_OK)
        return x;
    ir_val parts[2] = {
        fused_binary(c, IR_SUBTRACT, fused_binary(c, IR_MULTIPLY, a, cosine), fused_binary(c, IR_MULTIPLY, b, sine)),
        fused_binary(c, IR_ADD, fused_binary(c, IR_MULTIPLY, a, sine), fused_binary(c, IR_MULTIPLY, b, cosine))};
    ir_op op = rules_make(&c->r, c->op, IR_CONCATENATE, parts, 2, rules_type(&c->r, x));
    ir_set_prop(c->r.m, op, IR_CONCATENATE_dimension, ir_attr_i64(c->r.m, last));
    return fused_convert(c, ir_result(c->r.m, op, 0), type_of(c));
}
