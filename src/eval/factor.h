/* Factors of matrices, as LAPACK's functions have them, which JAX calls by name: @lapack_sgetrf_ffi and so on. In complex
 * double precision, by algorithms that are simple: partial pivoting, Householder's reflectors, Jacobi's rotations. */
#ifndef HILO_EVAL_FACTOR_H
#define HILO_EVAL_FACTOR_H

#include "eval/contract.h"

/* Operands and results, of a batch of matrices; k is the lesser of m and n:
   LU          m×n -> both factors, k pivots from 1 on (i32), info (i32): the first pivot that is 0, from 1 on, or 0
   QR          m×n -> R, and below it the reflectors; their k scalars
   REFLECTORS  m×n, k scalars, k <= n <= m -> the first n columns of the product of the reflectors
   EIGH        n×n, Hermitian: one triangle is read -> eigenvectors as columns, eigenvalues in ascending order, info: 0
   SVD         m×n -> anything, singular values in descending order, u m×m or m×k, vᴴ n×n or k×n, info: 0 */
enum factor_kind { FACTOR_LU, FACTOR_QR, FACTOR_REFLECTORS, FACTOR_EIGH, FACTOR_SVD, FACTOR_KINDS };

struct factor {
    enum factor_kind kind;
    enum ir_dtype type; /* f32, f64, complex of both */
    size_t batch, m, n, k;
    bool vectors; /* EIGH, SVD: they are computed; else their results are anything */
    bool full;    /* SVD: square u and v */
    bool upper;   /* EIGH: the triangle */
};

/* Whether a custom call of static shapes is one (eval_factor.c); what is made of it. */
bool factor_of(const struct ir_module *m, ir_op op, struct factor *out);
enum { FACTOR_BUFFERS = 6 };
/* The bytes of operands, then of results, that are read and written; false where a size overflows. */
bool factor_bytes(const struct factor *f, uint32_t *nin, uint32_t *nout, size_t *bytes);
/* The type of singular values. */
enum ir_dtype factor_real(enum ir_dtype t);
/* Bytes of the memory that factor_one works in; false on overflow. */
bool factor_scratch(const struct factor *f, size_t *bytes);
/* Computes matrix i of the batch. */
void factor_one(const struct factor *f, size_t i, const void *const *in, void *const *out, void *scratch);
/* The first n columns of H0 H1 …, in q, where Hi = 1 - tau[i] v vᴴ; v is 1 at i and column i of the m×n matrix a below. */
void factor_reflectors(size_t m, size_t n, size_t k, const struct complex_number *a, const struct complex_number *tau,
                       struct complex_number *q);

#endif
