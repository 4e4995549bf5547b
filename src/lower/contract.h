/* Contractions: dot, dot_general and convolution, with what is computed from each element of their result (the epilogue).
 *
 * A contraction is a sum of products of one element of each operand, at indices that are linear in the loops: the axes of the
 * result, and those of the sum. The operands' memory layout, found by lowering an element of each (a probe), decides the
 * schedule (docs/adr/0012-contractions.md):
 *
 *   matvec.c   GEMV, the matrix contiguous along the sum: bound by reading it
 *   vecmat.c   GEMV, the matrix contiguous along the result; the sum is split into parts (split-K)
 *   small.c    small GEMM without packing, in a register tile; dot products along the sum
 *   block.c    GEMM in blocks for the caches, with packed operands; pack.c packs, tile.c is its loop for matrix units,
 *               ranges.c leaves out what masks make 0
 *   direct.c   convolution with a register tile of pixels by features; winograd.c  with fewer multiplications
 *   depthwise.c  convolution of groups of few features
 *   shared.c   on GPUs: tiles through shared memory; mma.c multiplies them by matrix units
 *   gemv.c     GEMV on GPUs
 *   stages.c   GEMM, row-wise kernel, GEMM in one kernel: attention
 *
 * All of them read factors by contract_factor, from the operand or as it was packed, and end in contract_finish. Products are
 * accumulated in the widest type of operands and result, by fused multiply-add. */
#ifndef HILO_LOWER_CONTRACT_H
#define HILO_LOWER_CONTRACT_H

#include "lower/conv.h"

/* A loop over a dimension of the result, or over a contracted one. */
struct axis {
    int64_t size;
    int64_t stride[2]; /* by operand, in elements; 0: it does not change along the axis; CONTRACT_UNKNOWN: not linear */
    kir_val at;        /* the current index */
};
#define CONTRACT_UNKNOWN INT64_MIN

/* Axes of the result that are taken as one, in row-major order. */
struct contract_axes {
    uint32_t n, v[IR_MAX_RANK];
    int64_t size; /* product of their sizes */
};

/* An operand that was packed: where the current factor is, or its value if that is known. */
struct packed {
    bool on;
    uint32_t buffer;
    kir_val at, value;
};

struct contraction {
    struct lower *l;
    ir_op op;
    uint32_t nresult, nsum;
    struct axis result[IR_MAX_RANK], sum[IR_MAX_RANK];
    enum kir_type acc; /* of sums */
    const struct conv *conv;    /* NULL: a dot */
    bool is_load[2];        /* by operand: factors are loads, with no arithmetic but what a load converts */
    bool is_narrow[2];      /* by operand: it is stored in a narrower type than that of the sum */
    uint32_t integer_bits[2]; /* by operand: factors are integers with a sign, of so many bits, converted; 0: they are not */
    bool integers;          /* they are multiplied before that conversion: acc is I32, and the result, which is F64, the sum of
                               several such sums; see block.c */
    int64_t per_word;       /* consecutive factors of the sum in a 32-bit word of packed operands: 1 (not in words), 2 or 4;
                               of f32 sums: 2, bf16 */
    unsigned dot_flags;     /* per_word = 4: KIR_U where the bytes of operand `dot_side` have no sign */
    uint32_t dot_side;
    struct packed packed[2];
};

void contract_init(struct contraction *c, struct lower *l, ir_op op);

/* An operand's element at the axes' indices in the type of the sum (packed: as it was packed); 0 in the padding of a
   convolution. */
kir_val contract_factor(const struct contraction *c, uint32_t side);
/* The index of a dot's operand at the axes' indices. */
void contract_dot_index(const struct contraction *c, uint32_t side, struct index *out);
kir_val contract_zero(const struct contraction *c);
enum ir_dtype contract_acc_dtype(const struct contraction *c);
/* register[i] += the product of both factors */
void contract_multiply_add(const struct contraction *c, kir_val reg, kir_val i);
/* The epilogue: stores the result's element at the axes' indices, and everything that is computed from it. */
void contract_finish(const struct contraction *c, kir_val sum);
/* The same where the epilogue reads an element of each part of axis `column`, `width` elements long: `sums` of each; the axes'
   indices are those of the first part. */
void contract_finish_parts(const struct contraction *c, uint32_t column, const kir_val *sums, int64_t parts, int64_t width);

/* Sets the indices of the axes from a linear one. */
void contract_set(struct contraction *c, const struct contract_axes *axes, kir_val linear);
/* Adds axis i of the result. */
void contract_add_axis(const struct contraction *c, struct contract_axes *axes, uint32_t i);

/* A register tile of consecutive rows of `rows` from `first` on; `parts` partial sums of each are added at its end. */
struct contract_tile {
    const struct contract_axes *rows;
    kir_val first, reg;
    int64_t size, parts;
};
/* Opens the unrolled loop over the rows of a tile and sets their axes; returns the row in the tile. */
kir_val contract_tile_rows(struct contraction *c, const struct contract_tile *t);
/* register[part][row] += the product of both factors, for each row of the tile */
void contract_tile_multiply_add(struct contraction *c, const struct contract_tile *t, kir_val part);
/* The epilogue of each row. */
void contract_tile_finish(struct contraction *c, const struct contract_tile *t);
/* Whether what epilogues store is too large for the L2 cache, so that a tile waits for the lines of its rows, which are far
   apart. */
bool contract_epilogue_is_far(const struct contraction *c);
/* Prefetches what the epilogue reads and where it stores: at the axes' indices, or of each row of a tile. */
void contract_prefetch_results(struct contraction *c);
void contract_prefetch_epilogue(struct contraction *c, const struct contract_tile *t);

/* Rows of a tile: `most`, or somewhat fewer that divide `size`. The first row of tile t: the last tile overlaps the one before
   if tiles do not divide `size`. */
int64_t contract_tile_size(int64_t size, int64_t most);
kir_val contract_tile_begin(struct lower *l, kir_val t, int64_t size, int64_t tile);
/* Lanes of a vector register, or threads of a GPU's block. Vectors side by side of `most` that a schedule asks for: one on a
   GPU, where what a thread computes besides is in registers of its own. Lanes of a register tile along an axis of `size`
   elements, and the rows that it has room for. */
int64_t contract_vector(const struct contraction *c);
int64_t contract_vectors(const struct contraction *c, int64_t most);
int64_t contract_lanes(const struct contraction *c, int64_t size, uint32_t *rows);
/* The rows and lanes of a register tile that computes a result of `rows` by `columns` in the least time: few rows have wide
   tiles, unless narrow ones divide them better. */
int64_t contract_best_tile(const struct contraction *c, int64_t rows, int64_t columns, int64_t *lanes);

/* The load from the largest buffer that a value is computed from; none when there is none. */
kir_val contract_load(const struct kir *k, kir_val v);
/* Prefetches the element `ahead` elements after the one that a load reads. */
void contract_prefetch(struct contraction *c, kir_val load, int64_t ahead);
/* How many integers of less than a byte, or with `bytes` signed 8-bit integers, a 32-bit word holds, if an operand is computed
   from such; 1 = it is not. */
int64_t contract_parts_of_word(const struct contraction *c, uint32_t side, bool bytes);

/* Between begin and end, c->l builds another kernel: one that is thrown away, to inspect how operands are computed (probe),
   inside of loops over all axes; or one that runs before (prologue), in which the result's axes are 0 at first. */
struct contract_kernel {
    struct lower *outer, l;
};
void contract_probe_begin(struct contraction *c, struct contract_kernel *p);
void contract_probe_end(struct contraction *c, struct contract_kernel *p);
void contract_prologue_begin(struct contraction *c, struct contract_kernel *p);
void contract_prologue_end(struct contraction *c, struct contract_kernel *p);

/* The input of a convolution: its element in the type of the sum; how it lies in memory, in elements between neighbours. */
struct contract_steps {
    int64_t position[IR_MAX_RANK], channel, batch;
};
struct contract_input {
    struct contract_steps steps;
    bool linear, plain, cheap; /* steps are constant; and elements are loads without arithmetic; or with a few cycles of it */
};
kir_val contract_input(const struct contraction *c, const struct index *at);
void contract_find_input(struct contraction *c, struct contract_input *out);

/* The axes of a GEMV, of more than one element: the only one along which operand `matrix` changes, but the other operand does
   not (*line); the only one along which it does not change (*rows; nresult = one row). False if there are others. */
bool contract_gemv_axes(const struct contraction *c, uint32_t matrix, uint32_t *rows, uint32_t *line);

/* The schedules. A bool is false when the schedule does not apply or would not pay; nothing was built then. */
bool contract_matvec(struct contraction *c);
bool contract_vecmat(struct contraction *c);
bool contract_winograd(struct contraction *c);  /* convolutions of 3×3 windows */
bool contract_direct(struct contraction *c);    /* convolutions */
bool contract_depthwise(struct contraction *c); /* of groups of few features */
bool contract_shared(struct contraction *c);    /* on GPUs */
bool contract_gemv(struct contraction *c);      /* on GPUs */
/* Lanes along axis v of the result. */
bool contract_blocks(struct contraction *c, uint32_t v);
bool contract_can_block(const struct contraction *c, uint32_t v);
/* Whether the target has a unit that multiplies several of the operands' floats at once; blocks use it. */
bool contract_has_narrow_unit(const struct contraction *c);
/* Lanes along axis v of the result, a register tile of rows along axis u (nresult = none). */
void contract_result_lanes(struct contraction *c, uint32_t v, uint32_t u);
/* Lanes along axis s of the sum, a register tile of axes p and q of the result (nresult = none). */
void contract_sum_lanes(struct contraction *c, uint32_t s, uint32_t p, uint32_t q);

#endif
