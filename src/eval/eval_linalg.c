/* cholesky, triangular_solve and products of reflectors, batch by batch, in double or complex double. */
#include "eval/contract.h"
#include "eval/eval_core.h"
#include "eval/factor.h"

#include <math.h>

/* Reals are computed as complex numbers with zero imaginary part: the arithmetic is the same, and one body serves both. */
typedef struct complex_number num;

static num num_sub(num a, num b) { return (num){a.re - b.re, a.im - b.im}; }
static num num_conj(num a) { return (num){a.re, -a.im}; }

static num num_div(num a, num b) {
    if (b.im == 0)
        return (num){a.re / b.re, a.im / b.re};
    num c = complex_mul(a, num_conj(b));
    double norm = b.re * b.re + b.im * b.im;
    return (num){c.re / norm, c.im / norm};
}

/* l becomes the lower factor of the Hermitian n×n matrix whose lower triangle is in a (Cholesky–Banachiewicz). A matrix that
   is not positive definite gives NaN, as on XLA. */
static hilo_status cholesky(struct eval *cx, ir_op op, size_t n, const num *a, num *l) {
    memset(l, 0, n * n * sizeof *l);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            num s = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                s = num_sub(s, complex_mul(l[i * n + k], num_conj(l[j * n + k])));
            l[i * n + j] = i == j ? (num){sqrt(s.re), 0} : num_div(s, l[j * n + j]);
            HILO_TRY(eval_work(cx, op, j));
        }
    return HILO_OK;
}

static num transposed(const num *a, size_t n, size_t i, size_t j, bool transpose, bool conjugate) {
    num x = transpose ? a[j * n + i] : a[i * n + j];
    return conjugate ? num_conj(x) : x;
}

/* A tensor as complex numbers, for mem_free. */
static hilo_status load_complex(struct eval *cx, const struct value *v, num **out) {
    void *p;
    HILO_TRY(number_load(cx, v, NULL, NUM_COMPLEX, &p));
    *out = p;
    return HILO_OK;
}

hilo_status eval_cholesky(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct value *a = in[0];
    bool lower = ir_prop_i64(cx->m, op, IR_CHOLESKY_lower) != 0;
    if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2])
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs square matrices in its last two dimensions");
    size_t n = (size_t)a->dims[a->rank - 1], nbytes = a->count * sizeof(num);
    num *x = NULL, *l = NULL;
    HILO_TRY(load_complex(cx, a, &x));
    l = mem_alloc(&cx->al, nbytes);
    hilo_status status = l ? eval_out(cx, op, 0, a->dims, a->rank, out) : HILO_RESOURCE_EXHAUSTED;
    for (size_t at = 0; status == HILO_OK && n && at < a->count; at += n * n) {
        for (size_t i = 0; i < n && !lower; i++) /* the upper factor is the conjugate transpose: work on the other triangle */
            for (size_t j = 0; j <= i; j++)
                x[at + i * n + j] = num_conj(x[at + j * n + i]);
        status = cholesky(cx, op, n, x + at, l + at);
        for (size_t i = 0; i < n && !lower; i++)
            for (size_t j = 0; j < i; j++) {
                l[at + j * n + i] = num_conj(l[at + i * n + j]);
                l[at + i * n + j] = (num){0, 0};
            }
    }
    if (status == HILO_OK)
        complex_store(l, *out);
    mem_free(&cx->al, x, nbytes);
    mem_free(&cx->al, l, nbytes);
    return status;
}

/* Solves op(a) x = b for the k columns of b in place; element (i, c) of b is at b[i * row + c * column]. */
static hilo_status substitute(struct eval *cx, ir_op op, size_t n, size_t k, const num *a, bool lower, bool unit,
                              bool transpose, bool conjugate, num *b, size_t row, size_t column) {
    bool forward = lower != transpose;
    for (size_t c = 0; c < k; c++)
        for (size_t step = 0; step < n; step++) {
            size_t i = forward ? step : n - 1 - step;
            num s = b[i * row + c * column];
            for (size_t done = 0; done < step; done++) {
                size_t j = forward ? done : n - 1 - done;
                s = num_sub(s, complex_mul(transposed(a, n, i, j, transpose, conjugate), b[j * row + c * column]));
            }
            b[i * row + c * column] = unit ? s : num_div(s, transposed(a, n, i, i, transpose, conjugate));
            HILO_TRY(eval_work(cx, op, step));
        }
    return HILO_OK;
}

hilo_status eval_triangular_solve(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_module *m = cx->m;
    const struct value *a = in[0], *b = in[1];
    bool left = ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_left_side) != 0;
    bool lower = ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_lower) != 0;
    bool unit = ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_unit_diagonal) != 0;
    int64_t how = ir_prop_i64(m, op, IR_TRIANGULAR_SOLVE_transpose_a);
    bool transpose = how == IR_TRANSPOSE_TRANSPOSE || how == IR_TRANSPOSE_ADJOINT, conjugate = how == IR_TRANSPOSE_ADJOINT;
    bool fits = a->rank >= 2 && a->rank == b->rank && a->dims[a->rank - 1] == a->dims[a->rank - 2] &&
                b->dims[b->rank - (left ? 2 : 1)] == a->dims[a->rank - 1];
    for (uint32_t i = 0; fits && i + 2 < a->rank; i++)
        fits = a->dims[i] == b->dims[i];
    if (!fits)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has operands whose shapes do not agree");
    size_t n = (size_t)a->dims[a->rank - 1], rows = (size_t)b->dims[b->rank - 2], cols = (size_t)b->dims[b->rank - 1];
    num *x = NULL, *y = NULL;
    HILO_TRY(load_complex(cx, a, &x));
    hilo_status status = load_complex(cx, b, &y);
    if (status == HILO_OK)
        status = eval_out(cx, op, 0, b->dims, b->rank, out);
    for (size_t i = 0; status == HILO_OK && n && b->count && i < b->count / (rows * cols); i++) {
        num *batch = y + i * rows * cols;
        if (left)
            status = substitute(cx, op, n, cols, x + i * n * n, lower, unit, transpose, conjugate, batch, cols, 1);
        else /* x op(a) = b is op(a)ᵀ xᵀ = bᵀ */
            status = substitute(cx, op, n, rows, x + i * n * n, lower, unit, !transpose, conjugate, batch, 1, cols);
    }
    if (status == HILO_OK)
        complex_store(y, *out);
    mem_free(&cx->al, x, a->count * sizeof(num));
    mem_free(&cx->al, y, b->count * sizeof(num));
    return status;
}

/* custom_call @ProductOfElementaryHouseholderReflectors(a, taus), what LAPACK's orgqr and ungqr compute. */
hilo_status eval_householder_product(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    const struct value *a = in[0], *tau = o->noperands == 2 ? in[1] : NULL;
    bool fits = tau && o->nresults == 1 && a->kind == EVAL_TENSOR && tau->kind == EVAL_TENSOR && a->dtype == tau->dtype &&
                a->rank >= 2 && tau->rank + 1 == a->rank && a->dims[a->rank - 2] >= a->dims[a->rank - 1] &&
                tau->dims[tau->rank - 1] <= a->dims[a->rank - 1];
    for (uint32_t i = 0; fits && i + 2 < a->rank; i++)
        fits = a->dims[i] == tau->dims[i];
    if (!fits)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs m×n matrices, m no less than n, and at most n scalars for each");
    size_t m = (size_t)a->dims[a->rank - 2], n = (size_t)a->dims[a->rank - 1], k = (size_t)tau->dims[tau->rank - 1];
    size_t nbytes = a->count * sizeof(num);
    num *x = NULL, *t = NULL, *q = mem_alloc(&cx->al, nbytes);
    hilo_status status = q ? load_complex(cx, a, &x) : HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK)
        status = load_complex(cx, tau, &t);
    if (status == HILO_OK)
        status = eval_out(cx, op, 0, a->dims, a->rank, out);
    for (size_t i = 0; status == HILO_OK && a->count && i < a->count / (m * n); i++) {
        factor_reflectors(m, n, k, x + i * m * n, t + i * k, q + i * m * n);
        status = eval_work(cx, op, m * n * k);
    }
    if (status == HILO_OK)
        complex_store(q, *out);
    mem_free(&cx->al, q, nbytes);
    mem_free(&cx->al, x, nbytes);
    mem_free(&cx->al, t, tau->count * sizeof(num));
    return status;
}
