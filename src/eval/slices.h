/* What gather and scatter share: slices of a tensor, one for each index vector, that are stored one by one in a packed tensor.
 * Gather's operand (scatter's inputs) is the base, its result (scatter's updates) is packed.
 *
 *   packed dimensions   offset dimensions step through a slice, batch dimensions from slice to slice
 *   base dimensions     window dimensions have an offset dimension each, in order; in collapsed and batching ones a slice has
 *                       one place
 *   indices             batch dimensions, and the index vector's (none: a vector is one number) */
#ifndef HILO_EVAL_SLICES_H
#define HILO_EVAL_SLICES_H

#include "eval/eval.h"

/* Dimension numbers, under gather's names. */
struct slice_numbers {
    const int64_t *offset, *collapsed, *batching, *index_batching, *map;
    size_t noffset, ncollapsed, nbatching, nindex_batching, nmap;
    int64_t vector_dim;
};

/* Reads #stablehlo.gather<…> or #stablehlo.scatter<…>. */
void slice_numbers_read(const struct ir_module *m, ir_attr a, struct slice_numbers *out);
/* True when base dimension d is a window dimension. */
bool slice_is_window(const struct slice_numbers *n, uint32_t d);

struct slices {
    uint32_t rank;                     /* of the base */
    int64_t sizes[IR_MAX_RANK];        /* of a slice; 1 where it is no window dimension */
    int64_t strides[IR_MAX_RANK];      /* of the base */
    int64_t packed_strides[IR_MAX_RANK]; /* from one place to the next along a base dimension */
    uint32_t packed_rank;
    int64_t packed_dims[IR_MAX_RANK];
    /* the current slice */
    int64_t start[IR_MAX_RANK];        /* in the base, as the indices say: perhaps outside of it */
    size_t packed;                     /* its first element in the packed tensor */
    /* how to come to the next one */
    const struct value *indices;
    const int64_t *map;                /* base dimension of each number of an index vector */
    size_t nmap, vector_stride, at, count;
    uint32_t nbatch;
    int64_t index[IR_MAX_RANK], batch_dims[IR_MAX_RANK], index_strides[IR_MAX_RANK], batch_strides[IR_MAX_RANK];
    int64_t batch_base[IR_MAX_RANK];   /* batching dimension of the base, or -1 */
};

/* Before the first slice. `sizes`: of a slice, one a base dimension (only those of window dimensions are read).
   INVALID_ARGUMENT when the shapes contradict the numbers. */
hilo_status slices_init(struct slices *s, struct eval *cx, ir_op op, const struct slice_numbers *n, const struct value *base,
                        const struct value *indices, const int64_t *sizes);
/* Goes to the next slice; false after the last one. */
bool slices_next(struct slices *s);

#endif
