/* Clustering: which ops of a block are computed together in one kernel, and which values are materialised, that is, stored in
 * memory between kernels.
 *
 * A kernel is a set of ops that agree on their outer loops. The values it stores (its outputs) are computed element by element
 * from the values it loads; what lies between is computed where it is read, and reductions over the rows of the domain once per
 * row. The block is visited backwards once: an op is fused into the kernel of its users if they are all in one and can compute
 * it at the index where they read it; what is cheap is recomputed in each; everything else is materialised and begins a kernel.
 * Time and memory are linear in the number of ops. */
#ifndef HILO_FUSE_FUSE_H
#define HILO_FUSE_FUSE_H

#include "ir/ir.h"
#include "opt/opt.h"
#include "target/target.h"

/* Column `lower` of ops.def. */
enum fuse_class { FUSE_NONE, FUSE_ELEMENT, FUSE_MOVE, FUSE_WINDOW, FUSE_REDUCTION, FUSE_CONTRACTION, FUSE_UPDATE, FUSE_FLOW };
enum fuse_class fuse_class(enum ir_op_kind kind);

/* Rows of a product that are few: each element of the matrix is used so seldom that it is read, and dequantised, for each use
   instead of being stored or packed before (lower/matvec.c). FUSE_INVARIANT_ROWS: in a kernel whose rows are to have the same
   bits with any number of them up to there. */
enum { FUSE_FEW_ROWS = 8, FUSE_INVARIANT_ROWS = OPT_INVARIANT_ROWS };

/* Why values are materialised (reasons.def). */
enum fuse_reason {
#define REASON(id, name, text) FUSE_##id,
#include "fuse/reasons.def"
    FUSE_REASON_COUNT
};
const char *fuse_reason_name(enum fuse_reason r);
const char *fuse_reason_text(enum fuse_reason r);

enum fuse_schedule {
    FUSE_MAP,      /* one loop nest over the domain; reductions inside of it, at each element */
    FUSE_ROWS,     /* outer loops over rows; within a row, passes over its elements, one for each dependent reduction */
    FUSE_CONTRACT, /* a contraction over its result's domain, then its epilogue at each element */
    FUSE_INTO,     /* an update of a part of a buffer in place (dynamic_update_slice): the domain is the part */
    FUSE_STAGES    /* contraction, row-wise kernel, contraction (attention), through blocks of rows in scratch memory */
};

/* How the row-wise kernel of STAGES is computed in blocks of columns (online.c). */
struct fuse_online_step {
    ir_op op;
    uint32_t operand; /* that is a multiple of the term */
    bool row;         /* the factor is the same for the whole row */
};
struct fuse_online_reduce {
    ir_op op;
    ir_val reference; /* of the exponentials that it adds up; none: it is of values of single scores */
};
enum { FUSE_ONLINE_STEPS = 8, FUSE_ONLINE_REDUCES = 8 };
struct fuse_online {
    ir_val scores;    /* kept in scratch memory; everything else of a row is computed from them */
    ir_op max;        /* the reduction whose running result stands for the references; none: there are none */
    ir_val term;      /* a weight is its term, after all steps */
    ir_val reference; /* what is subtracted before the term's exponential; none: the term depends on its score alone */
    uint32_t nsteps, nreduces;
    struct fuse_online_step steps[FUSE_ONLINE_STEPS]; /* the last first */
    struct fuse_online_reduce reduces[FUSE_ONLINE_REDUCES];
};

enum { FUSE_PARTS_MOST = 8 };
struct fuse_kernel {
    enum fuse_schedule schedule;
    ir_op root;                    /* last op in program order: the kernel runs there */
    ir_op anchor;                  /* CONTRACT, STAGES: the contraction whose loops these are; INTO: the root */
    uint32_t parts;                /* CONTRACT: of the last dimension of the anchor's result, each as long as that of the
                                      domain, of each of which the epilogue reads an element; 0: it is that of the domain */
    int8_t *anchor_map;            /* CONTRACT: by dimension of the anchor's result: that of the domain; NULL: in order */
    struct fuse_kernel *stages[2]; /* STAGES: the producers, in order; their outputs are in scratch memory */
    bool permuted;                 /* STAGES: batches and rows of both contractions are in different orders */
    uint32_t chained_operand;      /* STAGES: the operand of the contraction that is the second producer's output */
    const struct fuse_online *online; /* STAGES: columns come in blocks; NULL: whole rows */
    uint32_t rank, outer;          /* of the domain; ROWS: its first `outer` dimensions are the rows */
    int64_t dims[IR_MAX_RANK];
    uint32_t nops;               /* ops computed inside, as far as they are counted */
    uint32_t code_size_cost;     /* sum of the costs of those that expand to much code */
    uint32_t first_external_use; /* place in the block of the first op outside that reads an output; 0 = none */
    bool merged;                 /* has become a part of another kernel */
    bool nested;                 /* MAP: has a reduction at its elements */
    bool strict;                 /* sums of products one by one, in the evaluator's order: level 0 */
    bool batch_invariant;        /* as in the options */
    bool byte_rows;              /* CONTRACT: see fuse_fused_rows */
    struct {
        ir_val *v;
        uint32_t n, cap;
    } outs; /* what it stores */
    struct {
        ir_op *v;
        uint32_t n, cap;
    } reduces; /* ROWS: last first */
};

static inline int64_t fuse_few_rows(const struct fuse_kernel *k) {
    return k->batch_invariant ? FUSE_INVARIANT_ROWS : FUSE_FEW_ROWS;
}

/* Rows that a product may have whose operands are computed where it reads them: any number where both are integers of at most 8
   bits times scales, as products of bytes are fewer instructions than those of packed numbers. */
static inline int64_t fuse_fused_rows(const struct fuse_kernel *k) {
    return k->byte_rows ? INT64_MAX : fuse_few_rows(k);
}

enum fuse_step_kind {
    FUSE_STEP_KERNEL,
    FUSE_STEP_ALIAS, /* the op's result is its operand's memory with another shape */
    FUSE_STEP_OP     /* the op by itself: a routine, the evaluator, control flow */
};
struct fuse_step {
    enum fuse_step_kind kind;
    ir_op op;
    struct fuse_kernel *kernel;
};

/* Of an op's values in a block. */
struct fuse_block {
    struct {
        struct fuse_step *v;
        uint32_t n, cap;
    } steps;                  /* in the order in which they run */
    struct opt_ids kernel_of; /* by value: 1 + index in steps of what stores it; 0 = it is not materialised */
    struct opt_ids reasons;   /* by value of an op: enum fuse_reason */
    bool hoists;              /* as in the options */
};

struct fuse_options {
    int level;                            /* below 2 every op is a kernel of its own */
    bool hoists;                          /* kernels whose operands do not change are run once (plan_hoist) */
    bool batch_invariant;                 /* the bits of a row do not depend on the number of rows, up to FUSE_INVARIANT_ROWS */
    const struct target *target;
    bool (*lowers)(void *user, ir_op op); /* kernels can compute the op */
    void *user;
};

/* Clusters a block whose values have static shapes. Memory: `a`. */
void fuse_block(struct arena *a, const struct ir_module *m, ir_block b, const struct fuse_options *o, struct fuse_block *out);

/* Why a value of the block is materialised; FUSE_FUSED for what is not: computed within kernels, a constant, unused. */
enum fuse_reason fuse_reason(const struct fuse_block *b, ir_val v);

/* Constants are not stored by kernels: scalars and splats are part of the code, others are read in place. */
bool fuse_is_constant(const struct ir_module *m, ir_val v);
/* Whether a value of the block is the same in all runs of the program, or in all iterations of the loop that the block is the
   body of: it is computed from constants, unchanged arguments and what is defined outside of the loop. */
bool fuse_is_invariant(const struct ir_module *m, ir_block b, ir_val v);
/* The op by which a reduction combines values, when its body is that op alone and commutative; else IR_OP_NONE. */
enum ir_op_kind fuse_reducer(const struct ir_module *m, ir_op reduce);
/* A reshape or another op whose result has the same bytes in the same order. */
bool fuse_is_alias(const struct ir_module *m, ir_op op);

#endif
