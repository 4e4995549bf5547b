/* Schedules for GPUs, whose vectors are thread blocks (target->block_threads is not 0). Threads next to each other compute
 * elements next to each other, each as many as make an access of 16 bytes: an UNROLLED loop inside of a VECTOR loop, whose
 * accesses the code generator joins. What is contiguous along another dimension goes through shared memory. */
#ifndef HILO_LOWER_THREADS_H
#define HILO_LOWER_THREADS_H

#include "lower/lower.h"

/* Elements that a thread computes side by side: a divisor of `line`, the elements of which it computes some; 1 where `count`
   elements do not occupy all multiprocessors otherwise, or where there is much code for each. */
int64_t threads_unit(const struct lower *l, int64_t line, int64_t count);
/* Threads of a block that compute `count` steps: a power of two, from a warp to target->block_threads. */
uint32_t threads_lanes(const struct lower *l, int64_t count);
/* Opens an UNROLLED loop over the `unit` elements of a step; at: the index of one, where steps are in row-major order and unit
   divides the innermost dimension that is not 1. */
void threads_place(struct lower *l, const int64_t *dims, uint32_t rank, kir_val step, int64_t unit, kir_val *at);
/* Opens the loops over all elements, `unit` of them in a step; returns how many loops. */
uint32_t threads_loops(struct lower *l, const int64_t *dims, uint32_t rank, int64_t unit, kir_val *at);
/* INTO: the same over the elements of an update. whole: they take all of the innermost dimension that is not 1, so that what is
   stored at once is aligned. */
uint32_t threads_into(struct lower *l, const struct ir_type_data *update, bool whole, kir_val *at);
/* The schedule MAP. flat: outputs can be computed from linear indices. */
void threads_map(struct lower *l, bool flat);

#endif
