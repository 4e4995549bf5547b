/* Lowering: a kernel of the clustering (fuse/fuse.h) as kernel IR.
 *
 * Values are pulled: the element of an output at an index asks for the elements of its operands at the indices where it needs
 * them. Reshape, transpose, broadcast, slice, pad, reverse and iota are nothing but index arithmetic on the way. The schedule
 * of the kernel says which loops stand around.
 *
 *   lower.c     elements, indices, loads and stores; reductions      loops.c     MAP, INTO
 *   elt.c       arithmetic                                           rows.c      ROWS
 *   move.c      index arithmetic                                     stages.c    STAGES
 *   contract.c, block.c, tile.c, matvec.c, vecmat.c    CONTRACT */
#ifndef HILO_KIR_LOWER_H
#define HILO_KIR_LOWER_H

#include "fuse/fuse.h"
#include "kir/kir.h"
#include "base/torture.h"

/* A parameter of the kernel: the memory of a value. Complex tensors are passed as twice as many parts. */
struct lower_param {
    ir_val v; /* none: a temporary */
    uint32_t temp;
    enum kir_role role; /* INOUT of a value: holds what it is made from before, see lower_updated */
    uint64_t overlay;   /* OUT: parameters (as bits) whose memory it may take over: read at the same index before */
};

struct lowered_kernel {
    struct kir *kernel;
    struct {
        struct lower_param *v;
        uint32_t n, cap;
    } params;
    double ns; /* estimated time of all of it on one thread */
};

/* Memory between the kernels of one cluster (an operand of a contraction in the order in which it is read), or of a loop. */
struct lower_temp {
    enum ir_dtype dtype;
    int64_t count;
};

enum { LOWER_KERNELS = 3 };
struct lowered {
    struct lowered_kernel kernels[LOWER_KERNELS]; /* the last one runs first */
    struct {
        struct lower_temp *v;
        uint32_t n, cap;
    } temps;
    uint32_t nkernels;
    struct kir *trial; /* of use during lowering only */
};

/* Whether kernels can compute the op: its kind, element types, static shapes, attributes. */
bool lower_supports(const struct ir_module *m, ir_op op);

/* The cluster as kernels, functions still by name (MATH). Memory of the parameters: `a`; the kernels have their own, see
   lowered_free. Exhaustion jumps to a->recover; what `out` has then is still the caller's. */
void lower_kernel(struct arena *a, const struct ir_module *m, const struct fuse_block *b, ir_block block,
                  const struct fuse_kernel *kernel, const struct kir_target *target, struct lowered *out);
/* A `while` whose body is little work, as one kernel: a native loop. `test` and `body`: the clusters of its regions. */
bool lower_can_loop(const struct ir_module *m, ir_op op, const struct fuse_block *test, const struct fuse_block *body);
void lower_loop(struct arena *a, const struct ir_module *m, ir_op op, const struct fuse_block *test,
                const struct fuse_block *body, const struct kir_target *target, struct lowered *out);
/* The value whose memory holds result `v` before: of an update what is updated, of a loop the state's first value. */
ir_val lower_updated(const struct ir_module *m, ir_val v);
void lowered_free(struct lowered *l); /* kernels that are NULL were taken over */

/* ---- between the files ------------------------------------------------------------------------ */

struct elem {
    kir_val re, im;
}; /* im: of complex numbers */

/* Where: one i64 a dimension, or the place in row-major order (n = 1). */
struct index {
    bool flat;
    uint32_t n;
    kir_val at[IR_MAX_RANK];
};

enum { LOWER_RESULTS = 16 }; /* most operands of a reduction */

struct lower_memo;
struct lower_memo *lower_memo_new(struct arena *a);

struct lower {
    struct arena *a;
    const struct ir_module *m;
    const struct fuse_block *fused;
    const struct fuse_kernel *kernel;
    const struct kir_target *target;
    struct kir *k;
    struct lowered_kernel *out; /* of `k` */
    struct lowered *all;
    ir_block block;      /* the ops that are pulled are of this block, or of `body` */
    ir_block body;       /* region that is being computed element by element */
    uint32_t generation; /* of the body's values */
    kir_val guard;       /* loads happen only where it holds; none = always */
    struct lower_memo *memo;
    struct opt_ids param_of; /* by value: 1 + parameter */
    struct opt_ids words_of; /* the same, of values that are read as words */
    uint32_t words;          /* integers of at most so many bits are taken out of words of 32 bits; 4, 8, or 0: none */
    struct lower_rows *rows; /* ROWS: scratch of the passes */
    struct lower_stages *stages; /* STAGES: scratch of the stages */
    bool native;             /* inside of a native loop */
};

typedef struct elem lower_fn(struct lower *l, ir_op op, uint32_t what, const struct index *at);

/* Element `at` of a value. */
struct elem lower_value(struct lower *l, ir_val v, const struct index *at);
struct elem lower_operand(struct lower *l, ir_op op, uint32_t i, const struct index *at); /* scalars: at no index */
/* Fixes the element of a value, as far as the place reaches where it was computed. */
void lower_know(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* An element from memory. */
struct elem lower_load(struct lower *l, ir_val v, const struct index *at);
/* Stores an element of an output. */
void lower_store(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* The buffer of a value, as a new parameter when it has none. */
uint32_t lower_param(struct lower *l, ir_val v, enum kir_role role);
/* Whether a value is in memory when the kernel runs: an argument of it, or of another one. */
bool lower_is_stored(const struct lower *l, ir_val v);
/* The memory of a value, in row-major order, as words of 32 bits; LOWER_NO_WORDS where it is computed, or is no integers. */
#define LOWER_NO_WORDS UINT32_MAX
uint32_t lower_words(struct lower *l, ir_val v);
uint32_t lower_temp(struct lower *l, uint32_t temp, enum kir_role role);
uint32_t lower_new_temp(struct lower *l, enum ir_dtype t, int64_t count);
/* The outermost loop of a kernel; a serial one inside of a native loop. */
kir_val lower_grid(struct lower *l, int64_t extent);
/* A kernel for the ops of the cluster, at the builder's place. */
void lower_schedule(struct lower *l, const struct fuse_kernel *kernel);
/* A kernel in `out` whose nodes l->k has from then on. */
void lower_begin(struct lower *l);
/* One more kernel of the cluster, which runs before those that are there, to be built through `out`. */
void lower_before(const struct lower *l, struct lower *out);
/* The one block of a region on scalar arguments; `out` gets the terminator's operands. */
void lower_region(struct lower *l, ir_region r, const struct elem *args, struct elem *out);

/* Rounded, or cut, to the element type as its arithmetic is. */
struct elem lower_finish(struct lower *l, enum ir_dtype t, struct elem e);
bool lower_is_complex(enum ir_dtype t);
static inline unsigned lower_sign(enum ir_dtype t) { /* the flag U of an element type */
    enum ir_dtype_class c = ir_dtype_get(t)->cls;
    return c == IR_UINT || c == IR_PRED ? KIR_U : 0;
}
/* The function (enum kir_math) that computes an op; -1 = the op is none. */
int lower_function(enum ir_op_kind kind);
/* The single op of a reduction's body as an ACC op of kernels; KIR_NONE when it is another body. */
enum kir_op lower_reducer(const struct ir_module *m, ir_op reduce);
/* The registers of a reduction, its values combined with an element of each operand, the result. */
struct elem lower_reduce_result(struct lower *l, ir_op op, uint32_t i, struct elem reg);
/* All of a reduction at an index of its result, with loops at the current place. */
void lower_reduce_here(struct lower *l, ir_op op, const struct index *at);

/* i64 arithmetic */
kir_val lower_add(struct lower *l, kir_val a, kir_val b);
kir_val lower_mul(struct lower *l, kir_val a, int64_t b);
kir_val lower_div(struct lower *l, kir_val a, int64_t b);
kir_val lower_rem(struct lower *l, kir_val a, int64_t b);
kir_val lower_linear(struct lower *l, const int64_t *dims, uint32_t rank, const struct index *at);
void lower_unflatten(struct lower *l, kir_val flat, const int64_t *dims, uint32_t rank, kir_val *out);
/* A loop over `size` places of a line from `begin` on, or as many as the line still has: the place in it. */
kir_val lower_part(struct lower *l, kir_val begin, int64_t size, int64_t length, enum kir_loop kind, uint32_t width);
/* The index of a value whose dimensions of more than one element are those of `dims`, in order, `from` and up. */
void lower_match(struct lower *l, const struct ir_type_data *t, const int64_t *dims, const kir_val *at, uint32_t rank,
                 struct index *out);

/* Lanes for elements of so many bytes, `registers` vector registers each. */
uint32_t lower_lanes(const struct lower *l, uint32_t bytes, uint32_t registers);
uint32_t lower_bytes(const struct lower *l); /* of the largest element that the kernel stores, at least 4 */

void lower_loops(struct lower *l);
void lower_into(struct lower *l);
void lower_rows(struct lower *l);
/* The passes for one row, whose indices of the domain are given. */
void lower_rows_at(struct lower *l, const kir_val *outer);
void lower_contract(struct lower *l);
void lower_stages(struct lower *l);
/* Takes over an output of a cluster in a native loop, which is not stored as others are. True when it did. */
bool lower_native_store(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* A value that stages leave in scratch: whether it is one; its element, and storing it there. */
bool lower_is_stage(const struct lower *l, ir_val v);
bool lower_stage_value(struct lower *l, ir_val v, const struct index *at, struct elem *out);
bool lower_stage_store(struct lower *l, ir_val v, const struct index *at, struct elem e);
bool lower_rows_kept(struct lower *l, ir_val v, const struct index *at, struct elem *out);

/* The handlers that column `lower` of ops.def names. */
#define NONE
#define REDUCTION
#define CONTRACTION
#define UPDATE
#define FLOW
#define ALU(x)
#define FUN(x)
#define ELT(x)                                                                          lower_fn elem_##x;
#define MOVE(x)                                                                         lower_fn elem_##x;
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower) lower
lower_fn elem_alu, elem_fun;
#include "ir/ops.def"
#undef NONE
#undef REDUCTION
#undef CONTRACTION
#undef UPDATE
#undef FLOW
#undef ALU
#undef FUN
#undef ELT
#undef MOVE

#endif
