/* The arithmetic of contractions (dot_general, convolution, einsum) and linear algebra: operands are widened once to one of
 * five number types, in which sums are accumulated, and rounded once to the result's element type. */
#ifndef HILO_EVAL_CONTRACT_H
#define HILO_EVAL_CONTRACT_H

#include "eval/eval.h"

/* Integers modulo 2^64, of which every narrower type is the low bits; i1 counts, and any count but 0 is true. Floats are
   accumulated in double, so that sums of products of narrow floats are rounded once; f32 and complex<f32> of contractions in
   single precision (docs/adr/0003-numbers.md). */
enum number { NUM_INT, NUM_SINGLE, NUM_REAL, NUM_COMPLEX_SINGLE, NUM_COMPLEX };

struct complex_single { float re, im; };
struct complex_number { double re, im; };

/* The number type of an element type (double for every float), and the wider of two. */
enum number number_of(enum ir_dtype t);
static inline enum number number_wider(enum number a, enum number b) { return a > b ? a : b; }
/* UNIMPLEMENTED if an operand's elements do not convert to the result's: floats to integers, complex numbers to reals. */
hilo_status number_check(struct eval *cx, ir_op op, enum ir_dtype operand, enum ir_dtype result);
/* The number type of a contraction of `a` and `b` with result `r`, checked. */
hilo_status number_contract(struct eval *cx, ir_op op, enum ir_dtype a, enum ir_dtype b, enum ir_dtype r, enum number *k);
size_t number_bytes(enum number k);

/* `v` transposed: result dimension i is dimension perm[i]. A new reference to v itself for the identity. */
hilo_status value_permute(struct value *v, const uint32_t *perm, struct value **out);

/* Elements of `v` widened to `k`, transposed (result dimension i is dimension perm[i]; NULL = not): a new
   array for mem_free(&cx->al, p, v->count * number_bytes(k)). */
hilo_status number_load(struct eval *cx, const struct value *v, const uint32_t *perm, enum number k, void **out);
/* Rounds n numbers to the elements of a tensor. */
void number_store(enum number k, const void *numbers, struct value *out);

/* The same from complex numbers to a real or complex tensor; a real one takes the real parts, which overwrite `x`. */
void complex_store(struct complex_number *x, struct value *out);

/* c[m][n] += sum over k of a[m][k] * b[k][n], in order of k; row-major, the rows of b `ldb` numbers apart. */
void number_gemm(enum number kind, size_t m, size_t n, size_t k, const void *a, const void *b, size_t ldb, void *c);

static inline struct complex_number complex_mul(struct complex_number a, struct complex_number b) {
    return (struct complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

#endif
