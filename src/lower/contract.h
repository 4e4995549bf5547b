/* Contractions: what their schedules share. A dot or a convolution is a sum over some axes of products of one element of each
 * operand, for each element of a result with axes of its own. */
#ifndef HILO_KIR_CONTRACT_H
#define HILO_KIR_CONTRACT_H

#include "lower/lower.h"

/* A loop over a dimension of the result, or over a contracted one. */
struct axis {
    int64_t size;
    int64_t stride[2]; /* of the operands' elements along it; 0: does not change; CONTRACT_UNKNOWN: not linear */
    kir_val at;        /* index while loops are open */
};
#define CONTRACT_UNKNOWN INT64_MIN

/* An operand that was brought into the order in which it is read: at which place of which buffer its element is now; or what
   that is. */
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
    enum kir_type acc; /* what products are summed in */
    bool conv;
    bool plain[2]; /* an operand's element is one of memory as it lies there */
    int64_t group; /* packed operands hold so many factors, which follow one another in the sum, in words of 32 bits; 1: each
                      by itself */
    uint32_t left; /* of words of bytes: the side of those without a sign */
    struct packed packed[2];
};

/* An operand's element at the axes' indices in the type of the sum (packed: as it lies there); 0 outside of a convolution's
   input. */
kir_val contract_factor(const struct contraction *c, uint32_t side);
kir_val contract_zero(const struct contraction *c);
/* register[i] += the product of both factors */
void contract_multiply_add(const struct contraction *c, kir_val reg, kir_val i);
/* The result's element at the axes' indices, and everything that is computed from it. */
void contract_finish(const struct contraction *c, kir_val sum);

/* The node that loads from the largest buffer that a value is computed from; none when there is none. */
kir_val contract_load(const struct kir *k, kir_val v);
/* How many parts of less than a byte, or with `bytes` numbers of 8 bits with a sign, a word of 32 bits has of those that an
   operand is computed from; 1 = there are none. */
int64_t contract_parts_of_word(const struct contraction *c, uint32_t side, bool bytes);
/* Prefetches what lies so many elements behind what a load reads. */
void contract_prefetch(struct contraction *c, kir_val load, int64_t ahead);
/* A tile along an axis: so many of its indices, from the t-th on; the last tile may overlap the one before. */
int64_t contract_tile(int64_t size, int64_t most);
kir_val contract_tile_begin(struct lower *l, kir_val t, int64_t size, int64_t tile);
/* Lanes along an axis of so many elements, and the rows of a register tile beside them. */
int64_t contract_lanes(const struct contraction *c, int64_t size, uint32_t *rows);

/* Between the two calls c->l builds a kernel that is thrown away, to inspect how operands are computed. */
struct contract_probe {
    struct lower *real, l;
};
void contract_probe_begin(struct contraction *c, struct contract_probe *p);
void contract_probe_end(struct contraction *c, struct contract_probe *p);

/* Where few rows are multiplied by a matrix: contiguous along the sum, along the result. False: it is something else, and
   nothing was built. */
bool lower_matvec(struct contraction *c);
bool lower_vecmat(struct contraction *c);
/* Where it pays, a schedule of blocks that fit the caches, with packed operands; lanes along axis v of the result. False
   when it does not, and nothing was built. */
bool contract_blocks(struct contraction *c, uint32_t v);
bool contract_can_block(const struct contraction *c, uint32_t v);

#endif
