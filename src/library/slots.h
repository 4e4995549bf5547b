/* Slices of a tensor, one for each index vector: what scatter and gather share. The base has the slices (scatter's input,
 * gather's operand); they are stored one by one in a packed tensor (updates, result).
 *
 * Neighbouring dimensions that slices hold whole are one dimension, and so are neighbouring batch dimensions. */
#ifndef HILO_LIBRARY_SLOTS_H
#define HILO_LIBRARY_SLOTS_H

#include "base/torture.h"
#include "library/routine.h"

enum { SLOTS_MOST_RANK = 8, SLOTS_MOST_BATCH = 4, SLOTS_BLOCK = TORTURED(TORTURE_PART, 128) };

struct slots {
    uint32_t rank, nbatch;
    struct slots_dim {
        int64_t dim, size, packed; /* of the base, of a slice; from place to place in the packed tensor */
        int64_t stride;            /* of the base */
        int64_t from;              /* where a slice starts: a number of the index vector or, batching, of the batch; -1: at 0 */
        bool batching;
    } dim[SLOTS_MOST_RANK];
    struct slots_batch {
        int64_t size, index, packed; /* strides of the indices and of the packed tensor */
    } batch[SLOTS_MOST_BATCH];
    int64_t vector_stride;
    enum ir_dtype index_type;
    size_t count; /* slices */
};

/* The slices of a gather or scatter; `sizes` of its window dimensions in order. False when there are too many dimensions. */
bool slots_match(const struct ir_module *m, ir_attr numbers, const struct ir_type_data *base,
                 const struct ir_type_data *indices, const struct ir_type_data *packed, const int64_t *sizes, struct slots *s);
bool slots_put(struct lib_match *out, const struct slots *s);
bool slots_get(struct lib_reader *r, struct slots *s);

/* Elements of the base, and bytes of the indices and elements of the packed tensor that slices reach. */
size_t slots_base(const struct slots *s);
size_t slots_indices(const struct slots *s);
size_t slots_packed(const struct slots *s);

/* Consecutive slices along the last batch dimension. */
struct slots_block {
    size_t n;
    int64_t packed, step;                         /* the first element of slice k in the packed tensor: packed + k step */
    int64_t start[SLOTS_MOST_RANK][SLOTS_BLOCK]; /* where slice k starts in a dimension of the base, perhaps outside of it */
};
/* The slices from `first` on, at most `most` of them. */
void slots_block(const struct slots *s, const void *indices, size_t first, size_t most, struct slots_block *out);

#endif
