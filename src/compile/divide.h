/* Steps that are divided between processor and GPU: of everything that a kernel stores, the first part along a dimension is
 * computed by the GPU, the rest by the processor, each element by one of them.
 *
 * The program is changed: the kernel's ops are there twice, of parts of what they read, and a concatenation joins the results.
 *
 *   %0 = tanh(dot(%x, %w))  ⇒  %g = tanh(dot(%x[0:n], %w))   on the GPU, which is given its work first
 *                              %p = tanh(dot(%x[n:], %w))    on the processor
 *                              %0 = concatenate(%g, %p)
 *
 * Slices that the other side needs, and the concatenation, are steps of their own, not parts of kernels: so what crosses is a
 * part, and the kernels of both sides run at the same time. */
#ifndef HILO_COMPILE_DIVIDE_H
#define HILO_COMPILE_DIVIDE_H

#include "fuse/fuse.h"
#include "opt/rewrite.h"

enum divide_side { DIVIDE_PROCESSOR, DIVIDE_DEVICE, DIVIDE_SIDES };

/* A value that a kernel reads from memory. */
struct divide_read {
    ir_val v;
    int32_t axis;            /* a part along this dimension suffices for a part of the results; -1: all of it is needed */
    bool at[DIVIDE_SIDES];   /* where it is, without a transfer */
    ir_val part[DIVIDE_SIDES]; /* for divide_step */
};

struct division {
    uint32_t step;
    uint32_t axis;      /* of what the kernel stores */
    int64_t size, first; /* along it: of all, and of the GPU's part */
    struct {
        struct divide_read *v;
        uint32_t n, cap;
    } reads;
};

/* How ops of a program that was changed are treated. */
enum divide_own {
    DIVIDE_NOT_OWN,
    DIVIDE_OF_MEMORY, /* a slice that is a part of the memory of its operand */
    DIVIDE_COPIED,    /* a slice in memory of its own, which the other side may read */
    DIVIDE_JOIN       /* the concatenation */
};
struct divided {
    struct opt_ids side;   /* by op: 1 + where it runs; 0 = that is open */
    struct opt_ids own;    /* by op: enum divide_own; it is a step of its own */
    struct opt_ids joined; /* by value: the concatenation that alone reads it */
};

/* Whether parts along x->axis of all that the kernel of step x->step stores can be computed from parts, or all, of what it
   reads; fills in x->size and x->reads, from `a`. */
bool divide_find(struct arena *a, const struct ir_module *m, ir_block block, const struct fuse_block *f, struct division *x);

/* Divides the steps, in the order of the block, at their `first`. Clusters of the block are to be made anew. */
void divide_steps(struct opt *o, ir_block block, const struct fuse_block *f, struct division *v, uint32_t n,
                  struct divided *out);

/* Whether parts along a dimension are whole blocks of memory, and bytes of one position of it. */
bool divide_is_outermost(const struct ir_type_data *t, uint32_t axis);
size_t divide_bytes(const struct ir_type_data *t, uint32_t axis);

/* Offsets of parts in memory that kernels take are multiples of this. */
enum { DIVIDE_ALIGN = 64 };

#endif
