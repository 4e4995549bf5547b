/* Lowering: a cluster (struct fuse_kernel, fuse/fuse.h) to kernel IR.
 *
 * Values are pulled: computing an element of an output computes the elements of its operands at the indices that it needs.
 * Reshape, transpose, broadcast, slice, pad, reverse and iota are index arithmetic. The cluster's schedule opens the loops
 * around this.
 *
 *   lower.c     elements, indices, loads and stores; reductions      loops.c     loop nests over the domain
 *   elt.c       elementwise arithmetic                               rows.c      passes over rows (softmax, norms)
 *   move.c      index arithmetic; dynamic_update_slice               native.c    `while` loops as one kernel
 *   columns.c   reductions of long columns                           transpose.c transposes, in tiles and line by line
 *   window.c    windows reduced at each element (pooling)         threads.h   schedules for GPUs
 *   contract.h  matrix products and convolutions: contract.c, small.c, block.c, pack.c, tile.c, ranges.c, matvec.c, vecmat.c,
 *               stages.c, gemv.c, online.c, span.c, direct.c, winograd.c, depthwise.c
 *   conv.h      the geometry of convolutions */
#ifndef HILO_LOWER_LOWER_H
#define HILO_LOWER_LOWER_H

#include "fuse/fuse.h"
#include "kir/kir.h"
#include "target/target.h"
#include "base/torture.h"

/* A parameter of a kernel: the memory of a value, or of a temporary. A complex tensor is passed as twice as many reals. */
struct lower_param {
    ir_val v;           /* none: a temporary */
    uint32_t temp;      /* index in lowered.temps */
    enum kir_role role; /* INOUT of a value: holds lower_inplace_operand of it when the kernel starts */
    uint64_t overlay;   /* OUT: bit set of parameters whose memory it may share: each element is read before it is written */
};

struct lowered_kernel {
    struct kir *kernel;
    struct {
        struct lower_param *v;
        uint32_t n, cap;
    } params;
    double ns;  /* estimated time on one thread */
    bool packs; /* an operand of a contraction, for another kernel of the cluster */
};

/* Memory that one kernel of a cluster writes and another reads, such as the packed operand of a contraction. */
struct lower_temp {
    enum ir_dtype dtype;
    int64_t count;
};

enum { LOWER_KERNELS = 4 }; /* a convolution that packs its weights, and copies and transforms its input */
struct lowered {
    struct lowered_kernel kernels[LOWER_KERNELS]; /* in reverse order of execution */
    struct {
        struct lower_temp *v;
        uint32_t n, cap;
    } temps;
    uint32_t nkernels;
    struct kir *probe; /* while lowering only: see lower_probe_begin */
};

/* Whether kernels can compute the op: its kind, element types, static shapes and attributes. */
bool lower_supports(const struct ir_module *m, ir_op op);

/* Lowers a cluster; mathematical functions are still MATH nodes. The list of parameters is allocated in `a`; each kernel owns
   its memory. On exhaustion jumps to a->recover; the caller frees `out` in either case (lowered_free). */
void lower_kernel(struct arena *a, const struct ir_module *m, const struct fuse_block *b, ir_block block,
                  const struct fuse_kernel *kernel, const struct target *target, struct lowered *out);
/* A `while` whose body does little work, as one kernel. `test`, `body`: the clusters of its two regions. */
bool lower_supports_loop(const struct ir_module *m, ir_op op, const struct fuse_block *test, const struct fuse_block *body,
                         const struct target *target);
void lower_loop(struct arena *a, const struct ir_module *m, ir_op op, const struct fuse_block *test,
                const struct fuse_block *body, const struct target *target, struct lowered *out);
/* The operand whose memory result `v` is computed in: what dynamic_update_slice updates, the initial state of a `while`. */
ir_val lower_inplace_operand(const struct ir_module *m, ir_val v);
void lowered_free(struct lowered *l); /* ignores kernels set to NULL, which have another owner */

/* ---- between the files ------------------------------------------------------------------------ */

struct elem {
    kir_val re, im;
}; /* im: none unless complex */

/* An index: an i64 for each dimension, or one linear index in row-major order (flat, n = 1). */
struct index {
    bool flat;
    uint32_t n;
    kir_val at[IR_MAX_RANK];
};

enum { LOWER_RESULTS = 16 }; /* maximal number of results of a reduction */

struct lower_memo;

struct lower {
    struct arena *a;
    const struct ir_module *m;
    const struct fuse_block *fused;
    const struct fuse_kernel *kernel;
    const struct target *target;
    struct kir *k;
    struct lowered_kernel *out; /* of `k` */
    struct lowered *all;
    ir_block block;      /* the ops that are pulled are of this block, or of `body` */
    ir_block body;       /* region that is being computed element by element */
    uint32_t generation; /* counts evaluations of bodies, whose values differ each time */
    kir_val guard;       /* i1: loads and stores are masked by it; none = unmasked */
    struct lower_memo *memo;
    struct opt_sparse param_of;      /* by value: 1 + parameter */
    struct opt_sparse word_param_of; /* the same, of values that are read as 32-bit words */
    uint32_t word_bits;           /* numbers of at most this many bits are extracted from 32-bit words: integers of 4 and 8,
                                     and bf16 with 16; 0: none */
    struct lower_rows *rows;      /* schedule ROWS: state of the passes */
    struct lower_stages *stages;  /* schedule STAGES: scratch buffers of the stages */
    bool stores_once;             /* each element of a result is computed and stored once */
    bool splits_lines;            /* a cache line of a result is stored in parts, which do not follow one another */
    bool native;                  /* inside of a `while` kernel: no parallel loops */
};

typedef struct elem lower_fn(struct lower *l, ir_op op, uint32_t what, const struct index *at);

/* Element `at` of a value. */
struct elem lower_value(struct lower *l, ir_val v, const struct index *at);
/* Element `at` of an operand; a scalar is the same at every index. */
struct elem lower_operand(struct lower *l, ir_op op, uint32_t i, const struct index *at);
/* Defines an element of a value: lower_value returns `e` wherever the builder is inside the block that computed it. */
void lower_define(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* Whether a result is larger than what caches keep of it until it is read. Of kernels that store it in order, in whole
   lines. */
bool lower_goes_past_caches(const struct lower *l, ir_val v);
/* Loads an element of a value in memory. */
struct elem lower_load(struct lower *l, ir_val v, const struct index *at);
/* Element `at` of a buffer; 0, without a load, where the guard does not hold. */
kir_val lower_load_guarded(struct lower *l, uint32_t buffer, kir_val at);
/* Stores an element of an output. */
void lower_store(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* Computes and stores all outputs at an index of the domain. */
void lower_store_outputs(struct lower *l, const struct index *domain);
/* The parameter of a value; adds one with this role if there is none. */
uint32_t lower_param(struct lower *l, ir_val v, enum kir_role role);
/* Whether a value is in memory when the kernel runs: defined outside, or stored by another kernel. */
bool lower_is_stored(const struct lower *l, ir_val v);
/* The parameter of an integer value viewed as 32-bit words in row-major order; LOWER_NO_PARAM where it is not in memory. */
#define LOWER_NO_PARAM UINT32_MAX
uint32_t lower_word_param(struct lower *l, ir_val v);
/* Whether a value is the same whenever this kernel runs, in all runs of the program or in all iterations of the loop that it is
   in: it is computed from constants, unchanged arguments and what is defined outside of the loop. What is packed of it is
   packed once (plan_hoist); so the answer is no where that is not done. */
bool lower_is_invariant(const struct lower *l, ir_val v);
/* A parameter for a temporary; a new temporary of `count` elements. */
uint32_t lower_temp(struct lower *l, uint32_t temp, enum kir_role role);
uint32_t lower_new_temp(struct lower *l, enum ir_dtype t, int64_t count);
/* Opens the parallel loop of a kernel; a serial one inside of a `while` kernel. */
kir_val lower_grid(struct lower *l, int64_t extent);
/* The same over `rank` dimensions; at: their indices. */
void lower_grid_nd(struct lower *l, const int64_t *dims, uint32_t rank, kir_val *at);
/* An empty kernel of the cluster. */
void lower_begin(struct lower *l);
/* Lowers a cluster into l->k. */
void lower_schedule(struct lower *l, const struct fuse_kernel *kernel);
/* Adds a kernel to the cluster that runs before those it has; `out` builds it. */
void lower_begin_prologue(const struct lower *l, struct lower *out);
/* Between the two calls `out` builds a kernel that is thrown away, to inspect how a value is computed. Not nested. */
void lower_probe_begin(const struct lower *l, struct lower *out);
void lower_probe_end(struct lower *probe);
/* Closes `n` loops or branches. */
void lower_close(struct lower *l, uint32_t n);
/* Evaluates a region of one block on scalar arguments; `out` receives the terminator's operands. */
void lower_region(struct lower *l, ir_region r, const struct elem *args, struct elem *out);

/* A result of arithmetic as a value of element type t: narrow floats are rounded, narrow integers wrapped. */
struct elem lower_round(struct lower *l, enum ir_dtype t, struct elem e);
bool lower_is_complex(enum ir_dtype t);
static inline unsigned lower_sign(enum ir_dtype t) { /* KIR_U for unsigned element types */
    enum ir_dtype_class c = ir_dtype_get(t)->cls;
    return c == IR_UINT || c == IR_PRED ? KIR_U : 0;
}
/* The function (enum kir_math) that computes an op; -1 = none. */
int lower_function(enum ir_op_kind kind);
/* The ACC op that computes a reduction whose body is one commutative op; KIR_NONE for other bodies. */
enum kir_op lower_reducer(const struct ir_module *m, ir_op reduce);
/* Result i of a reduction from its accumulator. */
struct elem lower_reduce_result(struct lower *l, ir_op op, uint32_t i, struct elem reg);
/* Computes a reduction at an index of its results by loops at the builder's position, and defines them. */
void lower_reduce_inline(struct lower *l, ir_op op, const struct index *at);

/* Elements of dimensions [from, to) of the kernel's domain. */
int64_t lower_count(const struct lower *l, uint32_t from, uint32_t to);

/* i64 index arithmetic; division is unsigned. */
kir_val lower_add(struct lower *l, kir_val a, kir_val b);
kir_val lower_mul(struct lower *l, kir_val a, int64_t b);
kir_val lower_div(struct lower *l, kir_val a, int64_t b);
kir_val lower_rem(struct lower *l, kir_val a, int64_t b);
/* The linear index in row-major order, and back. */
kir_val lower_linear(struct lower *l, const int64_t *dims, uint32_t rank, const struct index *at);
void lower_unflatten(struct lower *l, kir_val flat, const int64_t *dims, uint32_t rank, kir_val *out);
/* min(size, length - begin), a constant where size divides length; begin is a multiple of size. */
kir_val lower_extent(struct lower *l, kir_val begin, int64_t size, int64_t length);
/* Opens a loop over [begin, min(begin + size, length)); returns the index. */
kir_val lower_chunk_loop(struct lower *l, kir_val begin, int64_t size, int64_t length, enum kir_loop kind, uint32_t width);
/* The index of a value whose dimensions, without those of size 1, are those of the first dimensions of `dims`, likewise. */
void lower_project_index(struct lower *l, const struct ir_type_data *t, const int64_t *dims, const kir_val *at, uint32_t rank,
                         struct index *out);

/* Lanes that fill `registers` vector registers with elements of `bytes` bytes; on GPUs those of a thread block. */
uint32_t lower_lanes(const struct lower *l, uint32_t bytes, uint32_t registers);
/* Lanes of strided loads of adjacent elements, as many as there are lanes or four, are squares of memory, which the code
   generator transposes in registers (codegen/emit_transpose.c). How many are loaded at once of what is left after `at_once`:
   four, then one, then 0. */
int64_t lower_next_square(int64_t at_once);
/* Bytes of the largest element that the kernel stores, at least 4. */
uint32_t lower_bytes(const struct lower *l);

/* The schedules of fuse.h. */
void lower_loops(struct lower *l);
/* Its reductions of long columns; elements of transposes; false where there are none. */
bool lower_columns(struct lower *l);
bool lower_transposes(struct lower *l);
void lower_into(struct lower *l);
void lower_rows(struct lower *l);
/* The passes of ROWS over one row; `outer`: its index in the outer dimensions of the domain. */
void lower_rows_at(struct lower *l, const kir_val *outer);
void lower_contract(struct lower *l);
void lower_stages(struct lower *l);
/* Inside of a `while` kernel: keeps a scalar output in a register (true), or gives a tensor a temporary (false). */
bool lower_native_store(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* Schedule STAGES: whether a value is in scratch memory; its element at the current row, also of values that are bound to one;
   stores it. The last two return false for other values. */
bool lower_is_stage(const struct lower *l, ir_val v);
bool lower_stage_value(struct lower *l, ir_val v, const struct index *at, struct elem *out);
bool lower_stage_store(struct lower *l, ir_val v, const struct index *at, struct elem e);
/* Loads an element that an earlier pass of ROWS cached; false if it did not. */
bool lower_rows_cached(struct lower *l, ir_val v, const struct index *at, struct elem *out);

/* The handlers that column `lower` of ops.def names. */
#define NONE
#define REDUCTION
#define CONTRACTION
#define UPDATE
#define FLOW
#define ALU(x)
#define FUN(x)
#define ELT(x)                                                                          lower_fn elem_##x;
#define ELT_IF(x)                                                                       lower_fn elem_##x;
#define MOVE(x)                                                                         lower_fn elem_##x;
#define WINDOW(x)                                                                         lower_fn elem_##x;
#define AS(x)
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, local, sharding) lower
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
#undef ELT_IF
#undef MOVE
#undef WINDOW
#undef AS

#endif
