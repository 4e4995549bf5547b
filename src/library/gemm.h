/* GEMM in f32 or f64 for routines, which pack operands and unpack results by callbacks: dots, convolutions, linear algebra.
 *
 * c = a b for each of `groups`: a has rows × depth numbers, b depth × columns. b is packed once, in panels of
 * at most GEMM_WIDEST columns; then tasks compute blocks of c. What a task computes, and in which order, depends on the shape
 * alone. */
#ifndef HILO_LIBRARY_GEMM_H
#define HILO_LIBRARY_GEMM_H

#include "library/routine.h"

enum { GEMM_ROWS = 6, GEMM_BLOCK_ROWS = 12 * GEMM_ROWS, GEMM_BLOCK_DEPTH = 256, GEMM_BLOCK_COLUMNS = 256, GEMM_WIDEST = 16 };

struct gemm {
    bool wide; /* f64 */
    size_t groups, rows, columns, depth;
    const void *user;
    /* Of each group: numbers (row + i, p) of a for i < GEMM_ROWS and p in [from, to) to to_[p - from][i]; zero from `nrows` on.
     */
    void (*pack_a)(const void *user, size_t group, size_t row, size_t nrows, size_t from, size_t to, void *to_);
    /* Numbers (p, column + j) of b to to_[p][j], `width` a row; zero from `ncolumns` on. */
    void (*pack_b)(const void *user, size_t group, size_t column, size_t ncolumns, size_t width, void *to_);
    /* Takes numbers (row + i, column + j) of c from tile[i][j], `width` a row. */
    void (*unpack_c)(const void *user, size_t group, size_t row, size_t nrows, size_t column, size_t ncolumns, size_t width,
                     const void *tile);
};

/* Bytes of scratch memory that a product needs; false on overflow. */
bool gemm_scratch(const struct gemm *g, size_t *bytes);
void gemm_run(const struct gemm *g, void *scratch, const struct lib_pool *pool);

#endif
