/* The dimensions of a dot_general, for its routines. */
#ifndef HILO_LIBRARY_DOT_H
#define HILO_LIBRARY_DOT_H

#include "library/routine.h"

enum { DOT_MOST = 4 };

/* Dimensions with one role; neighbours are merged where the strides of both operands allow it. Strides are in elements. */
struct dot_dims {
    uint32_t n;
    struct {
        int64_t size, a, b;
    } dim[DOT_MOST];
    size_t count; /* product of the sizes; dims_finish */
};

struct dot_axes {
    enum ir_dtype in, out;                 /* the routine has: the same, or bf16 to f32, or i8 to i32 */
    struct dot_dims batch, rows, columns, depth; /* rows have strides of a only, columns of b */
};

/* The dimensions of a dot_general of operands of one type; false for others, one with an algorithm, and too many dimensions. */
bool dot_axes_of(const struct ir_module *m, ir_op op, struct dot_axes *out);
/* Matches a dot_general of any types that the routine supports; false otherwise, and for too many dimensions.
   lib_match_dot_general also leaves to kernels what those support. */
bool dot_match(const struct ir_module *m, ir_op op, struct lib_match *out);
/* Reads the routine's parameters; false if they are invalid. */
bool dot_read(const int64_t *params, uint32_t nparams, struct dot_axes *out);
/* The offsets of both operands at linear index i. */
void dims_at(const struct dot_dims *d, size_t i, int64_t *a, int64_t *b);

#endif
