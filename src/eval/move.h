/* Copies between tensors whose elements are strided: the base of all data movement. */
#ifndef HILO_EVAL_MOVE_H
#define HILO_EVAL_MOVE_H

#include "eval/eval.h"

/* A copy, prepared for any number of starting points: elements that are adjacent on both sides are one cell, dimensions
   that both sides step through alike are one. Units are elements. */
struct move {
    int64_t cell;                 /* elements in a cell; 0 = there is nothing to copy */
    uint32_t rank;                /* remaining dimensions; the last one is the inner loop */
    bool crosswise;               /* the last but one is short-stepped in the source, the last one in the destination */
    int64_t dims[IR_MAX_RANK], dst[IR_MAX_RANK], src[IR_MAX_RANK];
};

/* The copy of dims[0] x … elements, with strides of either sign on both sides; a source stride of 0 repeats. Different elements
   of the destination must not overlap. */
void move_plan(struct move *p, const int64_t *dims, const int64_t *dst_strides, const int64_t *src_strides, uint32_t rank);
/* Copies from `src` to `dst`, the places of index 0. An element has 1, 2, 4, 8 or 16 bytes. */
void move_run(const struct move *p, void *dst, const void *src, size_t elem_bytes);
/* Both at once. */
void move_strided(void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides, const int64_t *dims,
                  uint32_t rank, size_t elem_bytes);

/* Element i of an integer tensor as an index or a size: value_i64, but ui64 beyond its range is the largest int64. */
int64_t move_index(const struct value *v, size_t i);

/* a * b for offsets and strides. It may wrap where the tensor has no elements or the dimension only one: then it is unused.
   Offsets are summed up as size_t for the same reason. */
static inline int64_t move_scale(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

#endif
