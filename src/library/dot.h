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
    enum ir_dtype dtype;
    struct dot_dims batch, rows, columns, depth; /* rows have strides of a only, columns of b */
};

/* Of a dot_general of one element type with static shapes; false where it is another, or has too many dimensions. */
bool dot_match(const struct ir_module *m, ir_op op, struct dot_axes *out);
/* Fills in the count; false on overflow. */
bool dims_finish(struct dot_dims *d);
/* Where both sides have index i. */
void dims_at(const struct dot_dims *d, size_t i, int64_t *a, int64_t *b);
bool dims_put(struct lib_match *out, const struct dot_dims *d);
void dims_get(struct lib_reader *r, struct dot_dims *d);

#endif
