/* STAGES: what stages.c (contractions, loops), online.c (rows in blocks of columns) and span.c (masks) share.
 *
 *   task      rows that an iteration of the grid computes
 *   rows      of a block: those whose scores are in scratch memory at once; a task has `blocks` of them
 *   columns   of a block
 *   state     of a row between its blocks of columns: running results of reductions, and the sums of the second contraction
 *
 * On a GPU a block of threads has a task of one block of rows. */
#ifndef HILO_LOWER_STAGES_H
#define HILO_LOWER_STAGES_H

#include "lower/contract.h"

/* One of the two contractions. */
struct stage_dot {
    struct contraction c;
    uint32_t side;                          /* the operand of the rows; the other has the columns */
    struct contract_axes batch, rows, cols; /* of the result */
    int64_t depth, lanes, panels;           /* products of a sum in a block; columns of a panel; panels of a block */
    uint32_t panel_buffer;                  /* packed columns: [panel][depth][lane] */
    bool transposed;                        /* the columns are contiguous along the sum, and are packed by squares */
    bool rows_packed;                       /* rows: [row][depth] in `row_buffer`, `pitch` elements apart */
    uint32_t row_buffer;
    int64_t pitch;
};

/* A value that is the same for all elements at which it is computed meanwhile. */
struct stage_bound {
    ir_val v;
    kir_val x;
};

struct lower_stages {
    const struct fuse_kernel *kernel; /* its stages are `first` and `second` */
    const struct fuse_kernel *first, *second;
    struct stage_dot scores, out;
    /* sizes */
    int64_t rows, blocks, columns, all_rows, all_columns;
    int64_t tile;        /* rows of a register tile, which divides `rows` */
    int64_t vector;      /* lanes of a loop over elements of the second contraction's results */
    int64_t line, tasks; /* rows of a batch that tasks divide; tasks of a batch */
    bool permuted;                    /* the dimensions of scores, weights and batches are not in one order */
    bool ragged_rows, ragged_columns; /* the last task, the last block of columns is not full */
    bool masked;                      /* some blocks of columns may be masked altogether, with at most this: */
    double bound_of_masked;
    /* values in scratch memory: scores, weights */
    ir_val v[2];
    uint32_t buffer[2], ready;
    int64_t pitch; /* elements from row to row */
    /* the current place: batch; first row of the task and of the next line, block in the task, its rows as tiles cover them,
       row in it; first column of the block, how many it has, the column in it */
    kir_val batch, first_row, end_row, block, nrows, row, column0, ncolumns, column;
    struct {
        struct stage_bound *v;
        uint32_t n, cap;
    } bound;
    /* state, by row of the task */
    bool scaled; /* sums are multiplied by a factor for each block */
    uint32_t reference, factor; /* by row of the block: what is subtracted in exponentials */
    uint32_t sums, max, reduces[FUSE_ONLINE_REDUCES];
    int64_t sums_pitch;
};

/* How many parts of `part` cover a size. */
kir_val stage_parts(struct lower *l, kir_val size, int64_t part);
/* Columns without weight after those of the block, up to a multiple of the steps of the second contraction. */
kir_val stage_padding(struct lower *l);
/* Row `row` of the current block in the task, in the batch: one that exists. */
kir_val stage_task_row(struct lower *l, kir_val row);
kir_val stage_row(struct lower *l, kir_val row);
/* The index of a value at row `row` of the batch and a column of all. */
void stage_index(struct lower *l, ir_val v, kir_val row, kir_val column, struct index *out);

/* A float as another type. */
kir_val stage_converted(struct lower *l, kir_val x, enum kir_type t);
/* A value at the current row and column. */
kir_val stage_element(struct lower *l, ir_val v);
/* Until it is taken off the list, a value is x wherever it is asked for. */
void stage_bind(struct lower *l, ir_val v, kir_val x);

/* ---- online.c ---- */

void online_begin(struct lower *l);  /* declares the state and sets what it is at first */
void online_rows(struct lower *l);   /* scores of a block to weights; the state moves on */
void online_finish(struct lower *l); /* stores the results of the task's rows */

/* ---- span.c ---- */

struct lower_span { /* of indices, both included */
    kir_val lo, hi;
};
/* possible (i1): some element may be other than masked; what is masked is at most `bound`; exact: is that. */
struct lower_mask {
    kir_val possible;
    double bound;
    bool exact;
};
/* Whether some elements of v are masked: they are constants, or have something very low added to them. `at`: the spans of
   its indices. */
bool lower_unmasked(struct lower *l, ir_val v, const struct lower_span *at, struct lower_mask *out);
/* Whether what v is does not matter where a mask is, if it is finite: all that reads it masks it, or multiplies it by weights
   that are 0 there. *possible (i1): some element of the span may matter. */
bool lower_masked_uses(struct lower *l, ir_val v, const struct lower_span *at, kir_val *possible);
/* Whether elements of v are 0 where a mask is, as weights of attention and their gradients. v and what it is computed from may
   be stored by other kernels. */
bool lower_is_masked_weight(const struct lower *l, ir_val v);

#endif
