/* Widening, rounding and the one matrix product of the contractions: see contract.h. */
#include "eval/contract.h"

#include "eval/move.h"

enum number number_of(enum ir_dtype t) {
    switch (ir_dtype_get(t)->cls) {
    case IR_FLOAT: return NUM_REAL;
    case IR_COMPLEX_CLASS: return NUM_COMPLEX;
    default: return NUM_INT;
    }
}

hilo_status number_check(struct eval *cx, ir_op op, enum ir_dtype operand, enum ir_dtype result) {
    if (number_of(operand) <= number_of(result))
        return HILO_OK;
    return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "has an operand of %s, but a result of %s", ir_dtype_get(operand)->name,
                     ir_dtype_get(result)->name);
}

hilo_status number_contract(struct eval *cx, ir_op op, enum ir_dtype a, enum ir_dtype b, enum ir_dtype r, enum number *k) {
    HILO_TRY(number_check(cx, op, a, r));
    HILO_TRY(number_check(cx, op, b, r));
    bool same = a == r && b == r;
    *k = same && r == IR_F32_T ? NUM_SINGLE : same && r == IR_C64_T ? NUM_COMPLEX_SINGLE : number_of(r);
    return HILO_OK;
}

size_t number_bytes(enum number k) {
    switch (k) {
    case NUM_INT: return sizeof(int64_t);
    case NUM_SINGLE: return sizeof(float);
    case NUM_REAL: return sizeof(double);
    case NUM_COMPLEX_SINGLE: return sizeof(struct complex_single);
    case NUM_COMPLEX: return sizeof(struct complex_number);
    }
    return 0;
}

/* ---- widening ------------------------------------------------------------------------------------------------------ */

static void load_ints(const struct value *v, int64_t *out) {
    switch (v->dtype) {
#define LOAD(id, type)                                    \
    case IR_##id##_T:                                     \
        for (size_t i = 0; i < v->count; i++)             \
            out[i] = (int64_t)((const type *)v->data)[i]; \
        break;
        LOAD(I1, uint8_t) LOAD(I2, int8_t) LOAD(I4, int8_t) LOAD(I8, int8_t) LOAD(I16, int16_t) LOAD(I32, int32_t)
        LOAD(UI2, uint8_t) LOAD(UI4, uint8_t) LOAD(UI8, uint8_t) LOAD(UI16, uint16_t) LOAD(UI32, uint32_t)
#undef LOAD
    default: memcpy(out, v->data, v->count * sizeof *out); break;
    }
}

/* `out` does not overlap the value. */
static void load_linear(const struct value *v, enum number k, void *out) {
    const struct ir_dtype_info *dt = ir_dtype_get(v->dtype);
    enum number own = number_of(v->dtype);
    if (v->count == 0)
        return; /* data may be NULL */
    if (k == NUM_SINGLE || k == NUM_COMPLEX_SINGLE) {
        memcpy(out, v->data, v->bytes); /* no conversion */
    } else if (own == NUM_INT && k == NUM_INT) {
        load_ints(v, out);
    } else if (own == NUM_INT) {
        load_ints(v, out); /* as wide as a double: converted in place, for complex from the end */
        int64_t *ints = out;
        double *reals = out;
        struct complex_number *pairs = out;
        bool is_unsigned = v->dtype == IR_UI64_T;
        for (size_t i = v->count; i-- > 0;) {
            double x = is_unsigned ? (double)(uint64_t)ints[i] : (double)ints[i];
            if (k == NUM_REAL)
                reals[i] = x;
            else
                pairs[i] = (struct complex_number){x, 0};
        }
    } else if (own == NUM_REAL && k == NUM_COMPLEX) {
        double *reals = out;
        struct complex_number *pairs = out;
        fp_decode_n_f64(dt->fp, v->data, reals, v->count);
        for (size_t i = v->count; i-- > 0;)
            pairs[i] = (struct complex_number){reals[i], 0};
    } else {
        fp_decode_n_f64(dt->fp, v->data, out, v->count * (own == NUM_COMPLEX ? 2 : 1));
    }
}

/* Elements of `size` bytes at `from`, of shape `dims`, to `to` with dimension i being dimension perm[i]. */
static void permute(const int64_t *dims, uint32_t rank, const uint32_t *perm, size_t size, const void *from, void *to) {
    int64_t strides[IR_MAX_RANK], shape[IR_MAX_RANK], src[IR_MAX_RANK], dst[IR_MAX_RANK];
    value_strides(dims, rank, strides);
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = dims[perm[i]];
        src[i] = strides[perm[i]];
    }
    value_strides(shape, rank, dst);
    move_strided(to, dst, from, src, shape, rank, size);
}

static bool is_identity(const uint32_t *perm, uint32_t rank) {
    for (uint32_t i = 0; perm && i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

hilo_status value_permute(struct value *v, const uint32_t *perm, struct value **out) {
    if (is_identity(perm, v->rank)) {
        *out = value_ref(v);
        return HILO_OK;
    }
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++)
        dims[i] = v->dims[perm[i]];
    HILO_TRY(value_tensor(&v->al, v->dtype, dims, v->rank, out));
    permute(v->dims, v->rank, perm, ir_dtype_get(v->dtype)->bytes, v->data, (*out)->data);
    return HILO_OK;
}

hilo_status number_load(struct eval *cx, const struct value *v, const uint32_t *perm, enum number k, void **out) {
    size_t size = number_bytes(k), nbytes;
    if (!mem_mul(v->count, size, &nbytes))
        return HILO_RESOURCE_EXHAUSTED;
    char *linear = mem_alloc(&cx->al, nbytes);
    if (!linear)
        return HILO_RESOURCE_EXHAUSTED;
    load_linear(v, k, linear);
    if (!is_identity(perm, v->rank)) {
        char *moved = mem_alloc(&cx->al, nbytes);
        if (moved)
            permute(v->dims, v->rank, perm, size, linear, moved);
        mem_free(&cx->al, linear, nbytes);
        linear = moved;
    }
    *out = linear;
    return linear ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

/* ---- rounding --------------------------------------------------------------------------------------------------------- */

static void store_ints(const int64_t *x, struct value *v) {
    switch (v->dtype) {
#define STORE(id, type, expr)                    \
    case IR_##id##_T:                            \
        for (size_t i = 0; i < v->count; i++)    \
            ((type *)v->data)[i] = (type)(expr); \
        break;
        STORE(I1, uint8_t, x[i] != 0)
        STORE(I2, int8_t, (int8_t)((uint64_t)x[i] << 6) >> 6)
        STORE(I4, int8_t, (int8_t)((uint64_t)x[i] << 4) >> 4)
        STORE(I8, int8_t, x[i]) STORE(I16, int16_t, x[i]) STORE(I32, int32_t, x[i])
        STORE(UI2, uint8_t, x[i] & 3) STORE(UI4, uint8_t, x[i] & 15)
        STORE(UI8, uint8_t, x[i]) STORE(UI16, uint16_t, x[i]) STORE(UI32, uint32_t, x[i])
#undef STORE
    default: memcpy(v->data, x, v->count * sizeof *x); break;
    }
}

void number_store(enum number k, const void *numbers, struct value *out) {
    if (k == NUM_INT)
        store_ints(numbers, out);
    else if (k == NUM_SINGLE || k == NUM_COMPLEX_SINGLE)
        memcpy(out->data, numbers, out->bytes);
    else
        fp_encode_n_f64(ir_dtype_get(out->dtype)->fp, numbers, out->data, out->count * (k == NUM_COMPLEX ? 2 : 1));
}

void complex_store(struct complex_number *x, struct value *out) {
    enum number kind = number_of(out->dtype);
    double *re = (double *)x;
    for (size_t i = 0; kind != NUM_COMPLEX && i < out->count; i++)
        re[i] = x[i].re;
    number_store(kind, x, out);
}

/* ---- the matrix product ------------------------------------------------------------------------------------------ */

/* Columns are taken in chunks whose accumulators stay in the L1 cache; products are added in the order of k. */
enum { GEMM_COLUMNS = 512 };

#define GEMM(name, type, MULTIPLY_ADD)                                                                               \
    static void name(size_t m, size_t n, size_t k, const type *a, const type *b, size_t ldb, type *c) {              \
        for (size_t j0 = 0; j0 < n; j0 += GEMM_COLUMNS) {                                                            \
            size_t width = n - j0 < GEMM_COLUMNS ? n - j0 : GEMM_COLUMNS;                                            \
            for (size_t i = 0; i < m; i++)                                                                           \
                for (size_t p = 0; p < k; p++) {                                                                     \
                    type x = a[i * k + p];                                                                           \
                    const type *restrict row = b + p * ldb + j0;                                                     \
                    type *restrict sum = c + i * n + j0;                                                             \
                    for (size_t j = 0; j < width; j++)                                                               \
                        MULTIPLY_ADD(sum[j], x, row[j]);                                                             \
                }                                                                                                    \
        }                                                                                                            \
    }

#define ADD_PRODUCT(c, a, b) ((c) += (a) * (b))
#define ADD_COMPLEX_PRODUCT(c, a, b)                 \
    do {                                             \
        (c).re += (a).re * (b).re - (a).im * (b).im; \
        (c).im += (a).re * (b).im + (a).im * (b).re; \
    } while (0)
GEMM(gemm_int, uint64_t, ADD_PRODUCT)
GEMM(gemm_single, float, ADD_PRODUCT)
GEMM(gemm_real, double, ADD_PRODUCT)
GEMM(gemm_complex_single, struct complex_single, ADD_COMPLEX_PRODUCT)
GEMM(gemm_complex, struct complex_number, ADD_COMPLEX_PRODUCT)

void number_gemm(enum number kind, size_t m, size_t n, size_t k, const void *a, const void *b, size_t ldb, void *c) {
    switch (kind) {
    case NUM_INT: gemm_int(m, n, k, a, b, ldb, c); break;
    case NUM_SINGLE: gemm_single(m, n, k, a, b, ldb, c); break;
    case NUM_REAL: gemm_real(m, n, k, a, b, ldb, c); break;
    case NUM_COMPLEX_SINGLE: gemm_complex_single(m, n, k, a, b, ldb, c); break;
    case NUM_COMPLEX: gemm_complex(m, n, k, a, b, ldb, c); break;
    }
}
