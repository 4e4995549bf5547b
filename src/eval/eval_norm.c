/* batch_norm_training, _inference, _grad: what their decompositions compute, step by step. Numbers are widened to double; each
 * operation rounds to the element type, a sum once at its end (as in eval_reduce.c), so that an op and its decomposition give
 * the same bits.
 *
 * The feature dimension is moved to the front: a feature is a line of numbers. Result i takes the place of operand i, which
 * has its shape. */
#include "eval/contract.h"
#include "eval/move.h"

#include <inttypes.h>
#include <math.h>

enum { NORM_OPERANDS = 5 };

struct norm {
    enum fp_kind kind;         /* of the elements */
    uint32_t dim;              /* feature dimension */
    size_t features, length;   /* elements of a feature */
    double epsilon, divisor;   /* rounded; the divisor is the length */
    double *v[NORM_OPERANDS];
};

static double norm_round(const struct norm *n, double x) {
    switch (n->kind) {
    case FP_F64: return x;
    case FP_F32: return (double)(float)x;
    default: return fp_decode(n->kind, fp_encode(n->kind, x));
    }
}

static double norm_add(const struct norm *n, double a, double b) {
    return norm_round(n, a + b);
}

static double norm_subtract(const struct norm *n, double a, double b) {
    return norm_round(n, a - b);
}

static double norm_multiply(const struct norm *n, double a, double b) {
    return norm_round(n, a * b);
}

static double norm_divide(const struct norm *n, double a, double b) {
    return norm_round(n, a / b);
}

/* ---- one feature --------------------------------------------------------------------------------------------------------- */

/* x[i] becomes scale * (x[i] - mean) / sqrt(variance + epsilon) + offset. */
static void norm_apply(const struct norm *n, double *x, double scale, double offset, double mean, double variance) {
    double deviation = norm_round(n, sqrt(norm_add(n, variance, n->epsilon)));
    for (size_t i = 0; i < n->length; i++) {
        double normal = norm_divide(n, norm_subtract(n, x[i], mean), deviation);
        x[i] = norm_add(n, norm_multiply(n, scale, normal), offset);
    }
}

/* operand, scale, offset, mean, variance -> result */
static void norm_inference(const struct norm *n, size_t f) {
    norm_apply(n, n->v[0] + f * n->length, n->v[1][f], n->v[2][f], n->v[3][f], n->v[4][f]);
}

/* operand, scale, offset -> result, mean, variance */
static void norm_training(const struct norm *n, size_t f) {
    double *x = n->v[0] + f * n->length, sum = 0, squares = 0;
    for (size_t i = 0; i < n->length; i++)
        sum += x[i];
    double mean = norm_divide(n, norm_round(n, sum), n->divisor);
    for (size_t i = 0; i < n->length; i++) {
        double centred = norm_subtract(n, x[i], mean);
        squares += norm_multiply(n, centred, centred);
    }
    double variance = norm_divide(n, norm_round(n, squares), n->divisor);
    norm_apply(n, x, n->v[1][f], n->v[2][f], mean, variance);
    n->v[1][f] = mean;
    n->v[2][f] = variance;
}

/* operand, scale, mean, variance, grad_output -> grad_operand, grad_scale, grad_offset. The specification's i1 … i6. */
static void norm_grad(const struct norm *n, size_t f) {
    double *x = n->v[0] + f * n->length, *grad = n->v[4] + f * n->length;
    double mean = n->v[2][f], spread = norm_add(n, n->v[3][f], n->epsilon), deviation = norm_round(n, sqrt(spread));
    double i2 = 0, i3 = 0, grad_scale = 0;
    for (size_t i = 0; i < n->length; i++) {
        x[i] = norm_subtract(n, x[i], mean);
        i2 += grad[i];
        i3 += norm_multiply(n, grad[i], x[i]);
        grad_scale += norm_multiply(n, grad[i], norm_divide(n, x[i], deviation));
    }
    i2 = norm_round(n, i2);
    i3 = norm_round(n, i3);
    double factor = norm_divide(n, norm_divide(n, n->v[1][f], deviation), n->divisor);
    for (size_t i = 0; i < n->length; i++) {
        double i1 = norm_multiply(n, grad[i], n->divisor);
        double i5 = norm_divide(n, norm_multiply(n, i3, x[i]), spread);
        double i6 = norm_subtract(n, norm_subtract(n, i1, i2), i5);
        x[i] = norm_multiply(n, factor, i6);
    }
    n->v[1][f] = norm_round(n, grad_scale);
    n->v[2][f] = i2;
}

/* ---- the ops ------------------------------------------------------------------------------------------------------------- */

struct norm_op {
    enum ir_slot feature, epsilon;
    uint32_t nin, nout;
    uint32_t whole;            /* operands of operand 0's shape, by bits; the others have one number a feature */
    void (*line)(const struct norm *n, size_t f);
};

static hilo_status norm_check(struct eval *cx, ir_op op, const struct norm_op *k, const struct norm *n,
                              struct value *const *in) {
    size_t dims_bytes = in[0]->rank * sizeof *in[0]->dims;
    for (uint32_t i = 1; i < k->nin; i++) {
        bool whole = k->whole >> i & 1;
        if (whole ? memcmp(in[i]->dims, in[0]->dims, dims_bytes) != 0 : in[i]->count != n->features)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has %zu features in dimension %" PRIu32 ", but operand %" PRIu32 " does not fit that",
                             n->features, n->dim, i);
    }
    return HILO_OK;
}

/* Result 0, whose numbers have the feature dimension in front. */
static hilo_status norm_store(struct eval *cx, ir_op op, const struct norm *n, const struct value *v, const uint32_t *perm,
                              struct value **out) {
    int64_t dims[IR_MAX_RANK], dense[IR_MAX_RANK], to[IR_MAX_RANK], from[IR_MAX_RANK];
    struct value *lines;
    value_strides(v->dims, v->rank, dense);
    for (uint32_t d = 0; d < v->rank; d++) {
        dims[d] = v->dims[perm[d]];
        to[d] = dense[perm[d]];
    }
    value_strides(dims, v->rank, from);
    HILO_TRY(eval_out(cx, op, 0, dims, v->rank, &lines));
    number_store(NUM_REAL, n->v[0], lines);
    hilo_status status = eval_out(cx, op, 0, v->dims, v->rank, out);
    if (status == HILO_OK)
        move_strided((*out)->data, to, lines->data, from, dims, v->rank, ir_dtype_get(lines->dtype)->bytes);
    value_unref(lines);
    return status;
}

static hilo_status norm_run(struct eval *cx, ir_op op, const struct norm_op *k, struct value *const *in, struct value **out) {
    const struct value *v = in[0];
    struct norm n = {.kind = ir_dtype_get(v->dtype)->fp, .dim = (uint32_t)ir_prop_i64(cx->m, op, k->feature), .length = 1};
    uint32_t perm[IR_MAX_RANK], rank = 0, made = 0;
    n.features = (size_t)v->dims[n.dim];
    perm[rank++] = n.dim;
    for (uint32_t d = 0; d < v->rank; d++)
        if (d != n.dim) {
            perm[rank++] = d;
            n.length *= (size_t)v->dims[d];
        }
    n.epsilon = norm_round(&n, ir_attr_get(cx->m, ir_prop(cx->m, op, k->epsilon))->f);
    n.divisor = norm_round(&n, (double)n.length);
    HILO_TRY(norm_check(cx, op, k, &n, in));
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < k->nin && status == HILO_OK; i++) {
        void *numbers = NULL;
        status = number_load(cx, in[i], k->whole >> i & 1 ? perm : NULL, NUM_REAL, &numbers);
        n.v[i] = numbers;
    }
    for (size_t f = 0; f < n.features && status == HILO_OK; f++)
        k->line(&n, f);
    for (; made < k->nout && status == HILO_OK; made += status == HILO_OK) {
        int64_t features = (int64_t)n.features;
        if (made == 0)
            status = norm_store(cx, op, &n, v, perm, out);
        else if ((status = eval_out(cx, op, made, &features, 1, &out[made])) == HILO_OK)
            number_store(NUM_REAL, n.v[made], out[made]);
    }
    for (uint32_t i = 0; i < k->nin; i++)
        mem_free(&cx->al, n.v[i], in[i]->count * sizeof(double));
    for (uint32_t i = 0; i < made && status != HILO_OK; i++) {
        value_unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

hilo_status eval_batch_norm_inference(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    static const struct norm_op k = {IR_BATCH_NORM_INFERENCE_feature_index, IR_BATCH_NORM_INFERENCE_epsilon,
                                     .nin = 5, .nout = 1, .whole = 1, norm_inference};
    return norm_run(cx, op, &k, in, out);
}

hilo_status eval_batch_norm_training(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    static const struct norm_op k = {IR_BATCH_NORM_TRAINING_feature_index, IR_BATCH_NORM_TRAINING_epsilon,
                                     .nin = 3, .nout = 3, .whole = 1, norm_training};
    return norm_run(cx, op, &k, in, out);
}

hilo_status eval_batch_norm_grad(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    static const struct norm_op k = {IR_BATCH_NORM_GRAD_feature_index, IR_BATCH_NORM_GRAD_epsilon,
                                     .nin = 5, .nout = 3, .whole = 1 | 1 << 4, norm_grad};
    return norm_run(cx, op, &k, in, out);
}
