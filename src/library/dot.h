/* The dimensions of a dot_general: what its routines share. */
#ifndef HILO_LIBRARY_DOT_H
#define HILO_LIBRARY_DOT_H

#include "library/routine.h"

enum { DOT_MOST = 4 };

/* Dimensions that go together, neighbours made one where both sides step alike. Strides are in elements. */
struct dot_dims {
    uint32_t n;
    struct {
        int64_t size, a, b;
    } dim[DOT_MOST];
    size_t count; /* of all; dims_finish */
};

struct dot_axes {
    enum ir_dtype in, out;                 /* the same, or bf16 to f32, or i8 to i32 */
    struct dot_dims batch, rows, columns, depth; /* rows have strides of a only, columns of b */
};

/* A dot_general of any types that the routine can do; false where it is something else, or has too many dimensions.
   lib_match_dot_general leaves those to kernels that kernels are good at. */
bool dot_match(const struct ir_module *m, ir_op op, struct lib_match *out);
/* The routine's parameters, with counts; false when they make no sense. */
bool dot_read(const int64_t *params, uint32_t nparams, struct dot_axes *out);
/* Where both sides have index i. */
void dims_at(const struct dot_dims *d, size_t i, int64_t *a, int64_t *b);

#endif
