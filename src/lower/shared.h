/* What the schedules of contractions for GPUs share: shared.c computes register tiles with multiply-adds of threads, mma.c with
 * the matrix units of warps. */
#ifndef HILO_LOWER_SHARED_H
#define HILO_LOWER_SHARED_H

#include "lower/contract.h"

enum {
    SHARED_THREADS = 256, /* of a block */
    SHARED_ACCESS = 16    /* bytes that a thread reads or stores at once */
};

/* The part of an operand in a tile: its lines (rows of the left one, columns of the right one) by terms. */
struct panel {
    struct contract_axes lines;
    int64_t size, each;  /* lines of a tile, of a thread */
    int64_t unit;        /* elements that a thread loads side by side */
    int64_t access;      /* elements of 16 bytes */
    enum ir_dtype dtype; /* of elements in scratch memory */
    bool along_sum;      /* lines lie side by side in scratch memory, each contiguous; else terms do */
    bool guarded;        /* the tile reaches beyond the operand */
    uint32_t scratch;
    kir_val first, thread; /* line of the tile; place of the thread along lines */
    /* Where boxes of the operand are copied from: a matrix, in which axis i of the batch moves the box by columns[i] and
       lines[i]; the first element is in this column of this line. */
    struct {
        struct kir_map map;
        int64_t column, line, columns[IR_MAX_RANK], lines[IR_MAX_RANK];
        uint32_t number; /* of the map in the kernel */
    } box;
    kir_val stage;         /* element at which the slab begins in scratch memory */
    kir_val next, part;    /* registers: elements of the next slab; what is multiplied of the current one */
};

struct shared {
    struct contraction *c;
    struct panel side[2];
    struct contract_axes batch;
    int64_t terms, depth; /* of the sum, of a slab */
    int64_t stages; /* slabs in scratch memory at once, which asynchronous copies fill; 1 = they go through registers */
    bool terms_guarded;
    bool mma;             /* matrix units of warps, */
    bool wgmma;           /* or, besides, of warpgroups, */
    bool boxes;           /* whose factors are copied as boxes of matrices, */
    uint32_t mbarriers;   /* which these count */
    enum kir_tile format; /* of this format */
    kir_val lane, guard;  /* guard: around the contraction */
};

kir_val shared_place(struct lower *l, const struct shared *s, const struct panel *p, kir_val line, kir_val term);
/* Sets the axes to a line of the tile. */
void shared_set_line(struct shared *s, struct panel *p, kir_val line);

/* mma.c: chooses the tile; false where there is no unit for the contraction. wgmma_choose: a unit of warpgroups, of which both
   operands have to be copied. */
bool mma_choose(struct shared *s);
bool wgmma_choose(struct shared *s);
int64_t mma_sums(const struct shared *s); /* registers of a thread */
void mma_begin(struct shared *s);         /* registers, before the loop over slabs */
void mma_multiply(struct shared *s, kir_val sums); /* wgmma: begins to, the wait is the caller's */
void mma_finish(struct shared *s, kir_val sums);

#endif
