/* Building StableHLO: one function for each kind of op; types are inferred. For emit.c.
 *
 * Values are static tensors. Nothing is checked here: the finished module is verified. All memory is the module's; its
 * recovery point must be set. */
#ifndef HILO_LLM_BUILD_H
#define HILO_LLM_BUILD_H

#include "ir/ir.h"

struct build {
    struct ir_module *m;
    ir_block at;    /* where ops are appended */
};

static inline const struct ir_type_data *build_type(const struct build *b, ir_val v) {
    return ir_val_type(b->m, v);
}

ir_val build_splat(struct build *b, enum ir_dtype t, const int64_t *dims, uint32_t rank, double x);
/* Floats in f32. */
ir_val build_vector(struct build *b, const float *x, int64_t n);
ir_val build_iota(struct build *b, enum ir_dtype t, const int64_t *dims, uint32_t rank, int64_t dim);

ir_val build_unary(struct build *b, enum ir_op_kind op, ir_val x);
ir_val build_binary(struct build *b, enum ir_op_kind op, ir_val x, ir_val y);
ir_val build_scale(struct build *b, ir_val x, double by);                     /* x * by; x itself for 1 */
ir_val build_reciprocal(struct build *b, ir_val x);                           /* 1 / x */
ir_val build_convert(struct build *b, ir_val x, enum ir_dtype t);             /* x itself if it has the type */
/* x and y, which are not computed again, nor made one with those of other calls */
void build_barrier(struct build *b, ir_val *x, ir_val *y);
/* splits ui8[…, n] into [… , 2 n] of t, a type of 4 bits; the low half first */
ir_val build_nibbles(struct build *b, ir_val x, enum ir_dtype t);
ir_val build_compare(struct build *b, enum ir_enum_case direction, ir_val x, ir_val y);
ir_val build_select(struct build *b, ir_val if_true, ir_val x, ir_val y);

ir_val build_reshape(struct build *b, ir_val x, const int64_t *dims, uint32_t rank);
/* Dimension i of x is dimension map[i] of the result. */
ir_val build_broadcast(struct build *b, ir_val x, const int64_t *dims, uint32_t rank, const int64_t *map);
/* To the type of `like`. */
ir_val build_broadcast_like(struct build *b, ir_val x, ir_val like, const int64_t *map);
ir_val build_transpose(struct build *b, ir_val x, const int64_t *permutation);
ir_val build_slice(struct build *b, ir_val x, int64_t dim, int64_t from, int64_t to);
ir_val build_concat(struct build *b, ir_val x, ir_val y, int64_t dim);
/* Pads x with zeros at the end of one dimension, up to the size. */
ir_val build_pad(struct build *b, ir_val x, int64_t dim, int64_t size);

/* Reduces one dimension: IR_ADD from 0, IR_MAXIMUM from the lowest, IR_MINIMUM from the highest value. */
ir_val build_reduce(struct build *b, enum ir_op_kind op, ir_val x, int64_t dim);
/* Contracts one dimension of each; the first `batch` dimensions of both are batch dimensions. */
ir_val build_dot(struct build *b, ir_val x, ir_val y, uint32_t batch, int64_t x_dim, int64_t y_dim, enum ir_dtype t);
/* Runs `body` for i = 0, 1 … n - 1, n an i32 scalar: it gets i and x, appends to `b`, and returns the next x. */
ir_val build_loop(struct build *b, ir_val n, ir_val x, ir_val (*body)(void *user, ir_val i, ir_val x), void *user);
/* Solves (1 + lower triangle of a without its diagonal) x = y; the last two dimensions are matrices. */
ir_val build_solve(struct build *b, ir_val a, ir_val y);
/* Rows of a matrix: [rows, cols] and i32[n] to [n, cols]. */
ir_val build_rows(struct build *b, ir_val table, ir_val ids);
/* Rows of a matrix: n of them, from the i32 scalar `first` on. */
ir_val build_rows_at(struct build *b, ir_val x, ir_val first, int64_t n);
/* Collectives of all `count` partitions of a program: the sums of an array's elements; its parts, one after the other
   along a dimension, in the order of the partitions; the number of this one, an i32 scalar. */
ir_val build_all_reduce(struct build *b, ir_val x, int64_t count);
ir_val build_all_gather(struct build *b, ir_val x, int64_t dim, int64_t count);
ir_val build_partition(struct build *b);
/* A slice of x at `at` (one i32 scalar for each dimension). */
ir_val build_update(struct build *b, ir_val x, ir_val part, const ir_val *at);

#endif
