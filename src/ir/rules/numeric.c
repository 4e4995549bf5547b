/* Rules of ops that are numerical algorithms: linear algebra, Fourier transforms, random numbers,
   batch normalisation, the largest elements. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- linear algebra -------------------------------------------------------------------------- */

/* Operand 0 is a batch of square matrices. */
static hilo_status linalg_square(struct shape *s, const char *rank_label, const char *size_label) {
    const struct ir_type_data *a = shape_in(s, 0);
    if (a->rank < 2)
        return shape_fail(s, rank_label, "a must have at least 2 dimensions, but has type %s",
                          shape_type_text(s, shape_in_type(s, 0)));
    if (!shape_dims_agree(a->dims[a->rank - 2], a->dims[a->rank - 1]))
        return shape_fail(s, size_label, "matrices of a must be square, but it has type %s",
                          shape_type_text(s, shape_in_type(s, 0)));
    return HILO_OK;
}

hilo_status shape_cholesky(struct shape *s) {
    HILO_TRY(linalg_square(s, "cholesky_c2", "cholesky_c3"));
    s->out_label = "cholesky_c1";
    s->out[0] = shape_in_type(s, 0);
    return HILO_OK;
}

static hilo_status linalg_fail(struct shape *s, const char *label, const char *what) {
    return shape_fail(s, label, "%s, but a has type %s and b has type %s", what,
                      shape_type_text(s, shape_in_type(s, 0)),
                      shape_type_text(s, shape_in_type(s, 1)));
}

hilo_status shape_triangular_solve(struct shape *s) {
    const struct ir_type_data *a = shape_in(s, 0), *b = shape_in(s, 1);
    bool left = ir_prop_i64(s->m, s->op, IR_TRIANGULAR_SOLVE_left_side) != 0;
    if (!shape_elems_compatible(s->m, a->elem, b->elem))
        return linalg_fail(s, "triangular_solve_c1", "operands must have one element type");
    HILO_TRY(linalg_square(s, "triangular_solve_c2", "triangular_solve_c3"));
    if (a->rank != b->rank)
        return linalg_fail(s, "triangular_solve_c2", "operands must have one rank");
    if (!shape_dims_agree(a->dims[a->rank - 1], b->dims[b->rank - (left ? 2 : 1)]))
        return linalg_fail(s, "triangular_solve_c3",
                           left ? "b must have as many rows as a" : "b must have as many columns as a");
    if (!shape_lists_agree(a->dims, a->rank - 2, b->dims, b->rank - 2))
        return linalg_fail(s, "triangular_solve_c3", "batches must have one shape");
    if (ir_prop_i64(s->m, s->op, IR_TRIANGULAR_SOLVE_transpose_a) == IR_TRANSPOSE_TRANSPOSE_INVALID)
        return shape_fail(s, NULL, "transpose_a must not be TRANSPOSE_INVALID");
    s->out_label = "triangular_solve_c4";
    s->out[0] = shape_in_type(s, 1);
    return HILO_OK;
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

/* The elements of the result: those of the operand, but for transforms from and to real numbers. */
static hilo_status fft_elem(struct shape *s, int64_t type, ir_type *out) {
    const struct ir_type_data *t = shape_in(s, 0);
    bool real = t->dtype == IR_F32_T || t->dtype == IR_F64_T;
    if (type == IR_FFT_TYPE_RFFT ? !real : shape_class(t) != IR_COMPLEX_CLASS)
        return shape_fail(s, "fft_c2", "%s takes %s, but the operand has elements of type %s",
                          ir_enum_case_name(IR_ENUM_FFT_TYPE, type),
                          type == IR_FFT_TYPE_RFFT ? "f32 or f64" : "complex numbers",
                          shape_type_text(s, t->elem));
    if (type == IR_FFT_TYPE_RFFT)
        *out = ir_type_scalar(s->m, t->dtype == IR_F32_T ? IR_C64_T : IR_C128_T);
    else
        *out = type == IR_FFT_TYPE_IRFFT ? shape_real_of(s, t->elem) : t->elem;
    return HILO_OK;
}

/* A real transform halves the last dimension, because the rest follows by symmetry. */
static int64_t fft_half(int64_t length) {
    return length == 0 ? 0 : length / 2 + 1;
}

hilo_status shape_fft(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0);
    int64_t type = ir_prop_i64(s->m, s->op, IR_FFT_fft_type);
    ir_type elem;
    size_t n;
    const int64_t *length = ir_prop_i64s(s->m, s->op, IR_FFT_fft_length, &n);
    if (n < 1 || n > 3)
        return shape_fail(s, "fft_c3", "fft_length must have 1 to 3 elements, but has %zu", n);
    for (size_t i = 0; i < n; i++)
        if (length[i] < 0)
            return shape_fail(s, "fft_c4", "fft_length must not be negative, but is %s",
                              shape_list_text(s, length, n));
    HILO_TRY(fft_elem(s, type, &elem));
    if (t->rank < n)
        return shape_fail(s, "fft_c1", "fft_length must not have more elements than the operand "
                          "has dimensions, %u, but has %zu", t->rank, n);
    struct shape_dim dims[IR_MAX_RANK];
    uint32_t last = t->rank - 1;
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = shape_dim_of(t, i);
    bool real = type == IR_FFT_TYPE_RFFT, to_real = type == IR_FFT_TYPE_IRFFT;
    const int64_t *inner = t->dims + (t->rank - n);
    if ((real && !shape_lists_agree(inner, n, length, n)) ||
        (to_real && !shape_lists_agree(inner, n - 1, length, n - 1)))
        return shape_fail(s, "fft_c4", "the innermost dimensions %s differ from fft_length %s",
                          shape_list_text(s, inner, n), shape_list_text(s, length, n));
    if (to_real && !shape_dims_agree(t->dims[last], fft_half(length[n - 1])))
        return shape_fail(s, "fft_c5", "the last dimension must have size %" PRId64 " for a length "
                          "of %" PRId64 ", but has %" PRId64, fft_half(length[n - 1]),
                          length[n - 1], t->dims[last]);
    if (real || to_real)
        dims[last] = (struct shape_dim){real ? fft_half(length[n - 1]) : length[n - 1],
                                        IR_DYNAMIC};
    HILO_TRY(shape_result_elem(s, "fft_c2", 0, elem));
    s->out_label = "fft_c5";
    s->out[0] = shape_tensor(s, elem, dims, t->rank);
    return HILO_OK;
}

/* ---- random numbers -------------------------------------------------------------------------- */

hilo_status shape_rng(struct shape *s) {
    const struct ir_type_data *a = shape_in(s, 0), *b = shape_in(s, 1);
    if (!shape_same_elem(a, b, false))
        return shape_fail(s, "rng_c1", "a and b must have one element type, but have %s and %s",
                          shape_type_text(s, a->elem), shape_type_text(s, b->elem));
    HILO_TRY(shape_result_elem(s, "rng_c1", 0, a->elem));
    if (ir_prop_i64(s->m, s->op, IR_RNG_rng_distribution) == IR_RNG_DISTRIBUTION_NORMAL &&
        shape_class(a) != IR_FLOAT)
        return shape_fail(s, "rng_c2", "a normal distribution is of floats, not of %s",
                          shape_type_text(s, a->elem));
    return shape_by_operand(s, "rng_c3", 2, a->elem);
}

/* The state is a list of ui64, 2 for Threefry, 2 or 3 for Philox. Other states are as wide as their
   implementation likes. */
hilo_status shape_rng_bit_generator(struct shape *s) {
    const struct ir_type_data *state = shape_in(s, 0);
    int64_t algorithm = ir_prop_i64(s->m, s->op, IR_RNG_BIT_GENERATOR_rng_algorithm);
    int64_t most = algorithm == IR_RNG_ALGORITHM_PHILOX ? 3 : 2;
    if (algorithm != IR_RNG_ALGORITHM_DEFAULT && state->dtype == IR_UI64_T && state->rank == 1 &&
        shape_known(state->dims[0]) && (state->dims[0] < 2 || state->dims[0] > most))
        return shape_fail(s, "rng_bit_generator_c2", "the state of %s cannot have %" PRId64
                          " elements", ir_enum_case_name(IR_ENUM_RNG_ALGORITHM, algorithm),
                          state->dims[0]);
    s->out_label = "rng_bit_generator_c1";
    s->out[0] = shape_in_type(s, 0);
    return HILO_OK;
}

/* ---- batch normalisation --------------------------------------------------------------------- */

/* Operands: the batch, `nvectors` with an element for each feature, and, of grad, one more batch. */
struct batch_norm {
    enum ir_slot feature_index;
    uint32_t nvectors;
    const char *vector_labels[4];
    const char *result_labels[3];
};

/* What is known of the number of features from all operands. */
static hilo_status batch_features(struct shape *s, const struct batch_norm *b,
                                  struct shape_dim *features) {
    const struct ir_type_data *t = shape_in(s, 0);
    int64_t index = ir_prop_i64(s->m, s->op, b->feature_index);
    HILO_TRY(shape_in_range(s, "_c1", "feature_index", &index, 1, t->rank));
    *features = shape_dim_of(t, (uint32_t)index);
    for (uint32_t i = 1; i <= b->nvectors; i++) {
        const struct ir_type_data *v = shape_in(s, i);
        if (!shape_meet(*features, shape_dim_of(v, 0), features))
            return shape_fail(s, b->vector_labels[i - 1], "operand %u must have an element for each "
                              "of %s features, but has %s", i, shape_dim_text(s, features->size),
                              shape_dim_text(s, v->dims[0]));
    }
    return HILO_OK;
}

static hilo_status batch_norm(struct shape *s, const struct batch_norm *b) {
    const struct ir_type_data *t = shape_in(s, 0);
    struct shape_dim features;
    for (uint32_t i = 1; i < s->o->noperands; i++)
        if (!shape_elems_compatible(s->m, t->elem, shape_in(s, i)->elem))
            return shape_fail(s, "_c2", "operands must have one element type, but have %s and %s",
                              shape_type_text(s, t->elem),
                              shape_type_text(s, shape_in(s, i)->elem));
    for (uint32_t i = 0; i < s->nout; i++)
        HILO_TRY(shape_result_elem(s, "_c2", i, t->elem));
    for (uint32_t i = b->nvectors + 1; i < s->o->noperands; i++)
        if (!shape_compatible(t, shape_in(s, i)))
            return shape_fail(s, "_c3", "operands 0 and %u must have one shape, but have types %s "
                              "and %s", i, shape_type_text(s, shape_in_type(s, 0)),
                              shape_type_text(s, shape_in_type(s, i)));
    HILO_TRY(batch_features(s, b, &features));
    for (uint32_t i = 0; i < s->nout; i++) {
        s->out[i] = i == 0 ? shape_in_type(s, 0) : shape_tensor(s, t->elem, &features, 1);
        if (s->verifying && !shape_types_compatible(s->m, s->out[i], shape_res_type(s, i)))
            return shape_fail(s, b->result_labels[i], "result %u must have type %s, but has %s", i,
                              shape_type_text(s, s->out[i]),
                              shape_type_text(s, shape_res_type(s, i)));
    }
    return HILO_OK;
}

hilo_status shape_batch_norm_grad(struct shape *s) {
    static const struct batch_norm b = {
        .feature_index = IR_BATCH_NORM_GRAD_feature_index, .nvectors = 3,
        .vector_labels = {"batch_norm_grad_c5", "batch_norm_grad_c4", "batch_norm_grad_c4"},
        .result_labels = {"batch_norm_grad_c3", "batch_norm_grad_c4", "batch_norm_grad_c4"},
    };
    return batch_norm(s, &b);
}

hilo_status shape_batch_norm_inference(struct shape *s) {
    static const struct batch_norm b = {
        .feature_index = IR_BATCH_NORM_INFERENCE_feature_index, .nvectors = 4,
        .vector_labels = {"batch_norm_inference_c3", "batch_norm_inference_c4",
                          "batch_norm_inference_c5", "batch_norm_inference_c6"},
        .result_labels = {"batch_norm_inference_c7"},
    };
    return batch_norm(s, &b);
}

hilo_status shape_batch_norm_training(struct shape *s) {
    static const struct batch_norm b = {
        .feature_index = IR_BATCH_NORM_TRAINING_feature_index, .nvectors = 2,
        .vector_labels = {"batch_norm_training_c3", "batch_norm_training_c4"},
        .result_labels = {"batch_norm_training_c7", "batch_norm_training_c5",
                          "batch_norm_training_c6"},
    };
    return batch_norm(s, &b);
}

/* ---- the largest elements -------------------------------------------------------------------- */

/* The k largest along the last dimension, and where they are. */
hilo_status shape_top_k(struct shape *s) {
    const struct ir_type_data *t = shape_in(s, 0);
    int64_t k = ir_prop_i64(s->m, s->op, IR_TOP_K_k);
    ir_type i32 = ir_type_scalar(s->m, IR_I32_T);
    if (!shape_ranked(t)) {
        s->out[0] = shape_in_type(s, 0);
        s->out[1] = shape_with_elem(s, s->out[0], i32);
        return HILO_OK;
    }
    if (t->rank == 0)
        return shape_fail(s, NULL, "the operand must have at least one dimension");
    uint32_t last = t->rank - 1;
    if (k < 0 || (shape_known(t->dims[last]) && k > t->dims[last]))
        return shape_fail(s, NULL, "cannot take %" PRId64 " elements of a dimension of size %s", k,
                          shape_dim_text(s, t->dims[last]));
    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = i == last ? (struct shape_dim){k, IR_DYNAMIC} : shape_dim_of(t, i);
    s->out[0] = shape_tensor(s, t->elem, dims, t->rank);
    s->out[1] = shape_tensor(s, i32, dims, t->rank);
    return HILO_OK;
}
