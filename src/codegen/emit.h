/* From the kernel IR to LLVM IR: what the files of the emitter share.
 *
 *   emit.c          functions, blocks, branches, serial and unrolled loops, registers
 *   emit_vector.c   VECTOR loops: which values differ between lanes, main loop and tail, reductions
 *   emit_block.c    for GPUs: thread blocks, barriers, reductions between threads
 *   emit_group.c    for GPUs: accesses of one thread to adjacent elements      launch.c   for GPUs: how kernels are launched
 *   emit_op.c       pure ops                        emit_div.c   quotients and remainders
 *   emit_mem.c      loads, stores, tiles            emit_fp.c    floating-point formats in memory
 *   emit_address.c  addresses in innermost loops    emit_copy.c  asynchronous copies to scratch memory
 *   emit_warp.c     products by the lanes of a warp  emit_wgmma.c  for GPUs: those by the lanes of a warpgroup
 *
 * Inside a VECTOR loop a value is one of three: UNIFORM, the same in all lanes, and computed once as a scalar; LINEAR, base + l
 * · stride in lane l (or per group of lanes), computed as the scalar of lane 0, from which the vector is made where it is
 * needed; or VARYING, a vector.
 * Registers become SSA values: control flow is structured, so a phi belongs exactly where a register that changes inside of
 * a construct meets its old value. Nothing is left to LLVM's passes, which cost more than code generation itself. */
#ifndef HILO_CODEGEN_EMIT_H
#define HILO_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "codegen/llvm.h"

struct emit_group;
struct emit_loop;
struct emit_pointer;
struct emit_hoisted;
enum emit_class { EMIT_UNIFORM, EMIT_LINEAR, EMIT_VARYING };

/* What is known of a node. */
struct emit_node {
    LLVMValueRef value; /* scalar; VARYING: vector */
    struct {            /* the value as a vector, where one was needed; [1]: i64 in 32 bits */
        LLVMValueRef v;
        uint32_t stamp; /* of the VECTOR loop in which it is valid */
    } lanes[2];
    LLVMValueRef code;                /* ROUND, LOAD: the bits in its format or its buffer's, so that a store need not round
                                         again; NULL: not known */
    LLVMValueRef together;            /* LOAD: its lanes, where an earlier load read them, too */
    struct emit_group *group;         /* LOAD, STORE: of accesses that are one; NULL = none */
    uint32_t slot;                    /* REG: its first register */
    const struct emit_slots *changes; /* LOOP, IF, WHILE: registers from outside that change inside */
    int64_t stride;                   /* LINEAR, or UNIFORM with 0 */
    int64_t every;                    /* LINEAR: lane l has base + l / every · stride; a power of two */
    uint8_t class;                    /* enum emit_class, in the VECTOR loop around it */
    bool as_vector;                   /* a LINEAR or UNIFORM value is needed as a vector inside of a VECTOR loop */
    bool hoisted;                     /* computed before the innermost loop, though not by its place in the kernel */
    bool narrow;                      /* VARYING i64, on GPUs any: kept as i32, see emit_fits */
};

struct emit_slots {
    uint32_t n;
    uint32_t *v;
};

/* A register. A floating-point minimum or maximum is accumulated in three: the one of what are numbers, bits that decide
   between zeros of both signs, and whether there was a NaN. */
struct emit_slot {
    LLVMValueRef value, zeros, nans; /* zeros, nans: NULL but during such a reduction */
};

struct emit {
    const struct llvm *l;
    const struct target *t;
    struct arena arena;
    struct diag_list *d;
    hilo_status status; /* the first error; what follows it is not emitted */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, i128, half, bfloat, f32, f64, ptr;
    unsigned md_nontemporal, md_invariant;
    LLVMValueRef md_one, md_none; /* !{i32 1}, !{} */
    bool unrolls;                 /* copies of loops that equal values should be shared between */
    bool inlines;                 /* functions that are to be inlined */
    bool hoists;                  /* what compiles this moves constants out of loops, and loads before what uses others */

    /* the kernel */
    const struct kir *k;
    LLVMValueRef fn, *buffers;
    struct emit_node *nodes;
    struct emit_slot *slots;
    const struct kir_node **accs; /* of each register: what the open VECTOR loop accumulates into it, or NULL */
    uint32_t nslots, nvectors; /* registers, VECTOR loops */
    bool streams;         /* has stores past the caches */
    bool tiles;           /* uses the matrix unit */
    bool swizzles;        /* factors of warpgroups or boxes of matrices are in its shared memory */
    LLVMValueRef warp_memory[3]; /* of processors: registers of a warp for products; NULL until needed */
    struct emit_loop *innermost; /* the open loop, when it has no loop inside; on processors */
    LLVMValueRef masked_access_dummy; /* eight bytes for the accesses of lanes that do not run; NULL until needed */

    /* the VECTOR loop that is open; width 0: none */
    uint32_t width, stamp;
    LLVMBasicBlockRef before; /* ends with the jump into it: values from outside become vectors there */
    kir_block vector_body;
    LLVMValueRef mask; /* of the lanes that run; NULL = all */
    const uint32_t *order; /* lane order[i] is at place i of vectors, and lane i at place order[i]; NULL: all are in order */
    kir_val sums;                 /* a REG of the loop that has all its values at some points: */
    uint32_t loads, loads_apart;  /* loads since the last one; from one to the next, 0 = there are none */

    /* thread blocks of a GPU */
    bool blocks;             /* the target is one */
    bool in_vector;          /* in a VECTOR loop, of which this thread is a lane */
    LLVMValueRef thread;     /* its number, i32 */
    struct hilo_gpu_launch launch; /* of the kernel */
    LLVMValueRef block_area; /* shared memory for reductions */
    int64_t copy;            /* of the body of the UNROLLED loop that is being emitted */
    bool *barriers;          /* by node: all threads wait before it */
    bool fences;             /* threads store what products of warpgroups read, or where boxes are copied to */
    LLVMValueRef expecting;  /* the address of the mbarrier that counts the boxes that follow */
};

static inline enum kir_type emit_type(const struct emit *e, kir_val v) {
    return (enum kir_type)kir_get(e->k, v)->type;
}
static inline bool emit_is(kir_val v) {
    return v.i != 0;
}

/* ---- emit.c ---------------------------------------------------------------------------------- */

/* Every error goes through here: the first one is kept. */
void emit_fail(struct emit *e, const char *what);
/* Code for the kernel cannot be made for the target; the first of these is reported, as UNIMPLEMENTED. */
void emit_unsupported(struct emit *e, const char *what);
/* A kernel as a function of the module. */
void emit_kernel(struct emit *e, const struct kir *k);
void emit_block(struct emit *e, kir_block b);
LLVMBasicBlockRef emit_new_block(struct emit *e, const char *name);

/* A loop from `start` to `end` in steps, tested at its end; guarded: it may have no iteration. Between the two calls the
   builder is in its body. */
struct emit_loop {
    LLVMBasicBlockRef before, head, after;
    LLVMValueRef index, start, end, step; /* of one type; the step may be another one from after the begin on */
    bool guarded;
    kir_val loop; /* none: no loop of the kernel */
    struct emit_loop *around; /* `innermost` outside of it */
    struct emit_pointer *pointers; /* emit_address.c */
    struct emit_hoisted *hoisted;
    const struct emit_slots *changes;
    struct emit_slot *old, *phi; /* of each change */
};
LLVMValueRef emit_loop_begin(struct emit *e, struct emit_loop *f, LLVMValueRef start, LLVMValueRef end, int64_t step,
                             bool guarded, kir_val loop, const struct emit_slots *changes);
void emit_loop_end(struct emit *e, struct emit_loop *f);
/* Whether a block has a loop that is one in machine code too. */
bool emit_has_loop(const struct emit *e, kir_block b);
/* The index of a loop as its body sees it. On GPUs it is opaque to loops inside: LLVM's strength reduction otherwise tries all
   ways to divide addresses among the indices of a nest. On processors emit_address.c takes its place. */
LLVMValueRef emit_index(struct emit *e, kir_val loop, LLVMValueRef index);

/* A branch over code that runs under a condition; registers that change in it are merged. */
struct emit_branch {
    LLVMBasicBlockRef before, after, other;
    const struct emit_slots *changes;
    struct emit_slot *old, *first;
};
void emit_branch_begin(struct emit *e, struct emit_branch *f, LLVMValueRef condition, bool other,
                       const struct emit_slots *changes);
void emit_branch_end(struct emit *e, struct emit_branch *f);

/* The register that GET, SET or ACC names. */
uint32_t emit_slot_of(struct emit *e, const struct kir_node *n, kir_val index);

/* ---- values ---------------------------------------------------------------------------------- */

LLVMTypeRef emit_scalar_type(const struct emit *e, enum kir_type t);
/* <lanes x t>, or t for 0 lanes. */
LLVMTypeRef emit_lanes_type(const struct emit *e, LLVMTypeRef t, uint32_t lanes);
uint32_t emit_lanes_of(const struct emit *e, LLVMValueRef v); /* 0 = scalar */
/* A constant of the type of `like`, in all its lanes. */
LLVMValueRef emit_like(struct emit *e, LLVMTypeRef like, uint64_t bits);
LLVMValueRef emit_int(const struct emit *e, int64_t v); /* i64 */
LLVMValueRef emit_const(struct emit *e, enum kir_type t, int64_t bits);
LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar, uint32_t lanes);
/* One half of a vector's lanes. */
LLVMValueRef emit_half(struct emit *e, LLVMValueRef v, bool upper);
/* The lanes of two vectors of one type, concatenated. */
LLVMValueRef emit_join(struct emit *e, LLVMValueRef low, LLVMValueRef high);
LLVMValueRef emit_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *lanes, uint32_t n);
LLVMValueRef emit_intrinsic(struct emit *e, const char *name, LLVMTypeRef *overloads, unsigned noverloads, LLVMValueRef *args,
                            unsigned nargs);
LLVMValueRef emit_bin(struct emit *e, LLVMOpcode op, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_cast(struct emit *e, LLVMOpcode op, LLVMValueRef a, LLVMTypeRef scalar_to); /* keeps the lanes */
LLVMValueRef emit_icmp(struct emit *e, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_select(struct emit *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b);

/* Whether a node is VARYING where it is used now; LINEAR and UNIFORM ones are known by their scalar. */
bool emit_varies(const struct emit *e, kir_val v);
LLVMValueRef emit_scalar(struct emit *e, kir_val v); /* not VARYING; LINEAR: of lane 0 */
LLVMValueRef emit_scalar32(struct emit *e, kir_val v); /* of an i64 that fits */
LLVMValueRef emit_lanes(struct emit *e, kir_val v);  /* in a VECTOR loop: as a vector */
void emit_lanes_here(struct emit *e, kir_val v);     /* makes the vector of a value, where it is defined */
/* A vector with its lanes in order as one of the loop's, and back. */
LLVMValueRef emit_reorder(struct emit *e, LLVMValueRef v);
/* Index arithmetic is i64, but what is known to fit 32 bits, by its range, is computed in lanes of 32: half the registers, and
   multiplications and quotients that processors have instructions for. */
static inline bool emit_fits(const struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    return n->type == KIR_I64 && n->lo >= INT32_MIN && n->hi <= INT32_MAX;
}
LLVMValueRef emit_lanes32(struct emit *e, kir_val v); /* of a value that fits */
/* Whether the lanes of an access are contiguous in memory, or, of a load, every second element. */
static inline bool emit_is_near(const struct emit *e, const struct kir_node *access) {
    const struct emit_node *index = &e->nodes[access->arg[0].i];
    return index->class == EMIT_LINEAR && index->every == 1 &&
           (index->stride == 1 || (index->stride == 2 && access->op == KIR_LOAD));
}
/* Scalar outside of VECTOR loops and for `scalar`, else lanes. */
static inline LLVMValueRef emit_value(struct emit *e, kir_val v, bool scalar) {
    return scalar ? emit_scalar(e, v) : emit_lanes(e, v);
}

/* ---- parts ----------------------------------------------------------------------------------- */

void emit_vector_loop(struct emit *e, kir_val v);
/* After a load. */
void emit_loaded(struct emit *e, kir_val load);
/* Class and uses of every node in VECTOR loops, for the whole kernel. */
void emit_classify(struct emit *e, kir_val loop);
void emit_acc(struct emit *e, const struct kir_node *n);
/* Registers from outside of the VECTOR loop with this body that it accumulates into begin with the neutral element. */
void emit_vector_accumulators(struct emit *e, kir_block body);

/* launch.c: bytes of the area for reductions, at the beginning of a block's shared memory; of a lane's value there. */
uint32_t cg_area_bytes(const struct kir *k, const struct target *t);
uint32_t cg_lane_bytes(enum kir_type t);

/* emit_block.c: in place of the same parts for processors. */
void emit_block_prepare(struct emit *e);
void emit_block_function(struct emit *e);
void emit_block_grid(struct emit *e, kir_val v);
void emit_block_vector(struct emit *e, kir_val v);
void emit_block_barrier(struct emit *e, kir_val v); /* where one is due before a node */
void emit_block_sync(struct emit *e);               /* all threads wait */
LLVMValueRef emit_block_any(struct emit *e, LLVMValueRef v);

/* emit_group.c: joins accesses of an UNROLLED loop, before its first copy. An element of a group as it is in memory, where
   `address` is its own; stores it. */
void emit_group_begin(struct emit *e, kir_val loop);
LLVMValueRef emit_group_load(struct emit *e, const struct kir_node *n, struct emit_group *g, LLVMValueRef address);
void emit_group_store(struct emit *e, const struct kir_node *n, struct emit_group *g, LLVMValueRef v, LLVMValueRef address);
unsigned emit_group_bytes(const struct emit *e, const struct kir_node *n, const struct emit_group *g);
/* On processors: an element of each lane. NULL until the last of a group, then all as integers, at the pointers of the
   first. */
LLVMValueRef emit_group_join(struct emit *e, const struct kir_node *n, struct emit_group *g, LLVMValueRef v,
                             LLVMValueRef *pointers);
/* emit_mem.c: whether a store scatters elements for which the processor has no instruction, though it has for larger ones. */
bool emit_scatters_parts(const struct emit *e, const struct kir_node *n);

/* Whether a VARYING i64 node is computed in 32 bits. */
bool emit_is_narrow(const struct emit *e, const struct kir_node *n);
LLVMValueRef emit_pure(struct emit *e, kir_val v, bool scalar);
/* a `op` b as the IR defines it, on scalars or vectors. */
LLVMValueRef emit_binary(struct emit *e, enum kir_op op, unsigned flags, enum kir_type t, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_divide(struct emit *e, bool rem, bool is_unsigned, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_fmod(struct emit *e, enum kir_type t, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_fma(struct emit *e, enum kir_type t, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* emit_address.c: a scalar of index arithmetic, computed before the innermost loop; NULL: not possible. */
LLVMValueRef emit_hoisted(struct emit *e, kir_val v);
/* The address of an element, or of that of lane 0. At the end of a loop: its pointers for the next iteration. */
LLVMValueRef emit_address(struct emit *e, uint32_t buffer, kir_val index);
void emit_address_advance(struct emit *e, struct emit_loop *f);

LLVMValueRef emit_load(struct emit *e, kir_val v, bool scalar);
/* A load that begins a block of strided loads (emit_transpose.c): true, with the lanes of each load in it. */
bool emit_transposed_loads(struct emit *e, kir_val v);
/* The lanes of a load that are read now, though it comes later, in the format of its buffer. */
void emit_loaded_together(struct emit *e, kir_val load, LLVMValueRef raw);
/* A load of `t` from an address in a buffer. */
LLVMValueRef emit_load_plain(struct emit *e, uint32_t buffer, LLVMTypeRef t, LLVMValueRef p, unsigned align);
/* The address of those of all lanes of a VECTOR loop. */
LLVMValueRef emit_element_addresses(struct emit *e, uint32_t buffer, kir_val index);
/* Elements of a buffer side by side from an index and an offset on, as `t`. */
LLVMValueRef emit_row(struct emit *e, uint32_t buffer, kir_val index, int64_t offset, LLVMTypeRef t);
/* An index as another value and a constant. */
kir_val emit_without_constant(const struct emit *e, kir_val index, int64_t *constant);
void emit_store(struct emit *e, kir_val v);
void emit_prefetch(struct emit *e, const struct kir_node *n);
void emit_tile(struct emit *e, const struct kir_node *n);
void emit_tile_config(struct emit *e);
void emit_warp(struct emit *e, const struct kir_node *n); /* LDMATRIX, MMA */
void emit_wgmma(struct emit *e, const struct kir_node *n); /* WGMMA, WGMMA_WAIT */
void emit_wgmma_fence(struct emit *e); /* what a thread stored to shared memory is seen by products after the next barrier */
void emit_copy(struct emit *e, const struct kir_node *n); /* COPY_ASYNC, COPY_COMMIT, COPY_WAIT */
void emit_tensor(struct emit *e, const struct kir_node *n); /* MBARRIER_EXPECT, COPY_TENSOR, MBARRIER_WAIT */
/* Around a VECTOR loop: all mbarriers of its body are in their first phase, are none any more. */
void emit_mbarriers_begin(struct emit *e, kir_val loop);
void emit_mbarriers_end(struct emit *e, kir_val loop);
/* Whether lanes can be masked cheaply in all accesses of a loop; else its tail runs one by one. */
bool emit_can_mask(const struct emit *e, kir_block body);

/* Elements in memory: the LLVM type of one; to and from values. */
LLVMTypeRef emit_memory_type(const struct emit *e, enum ir_dtype t);
LLVMValueRef emit_decode(struct emit *e, enum ir_dtype t, LLVMValueRef raw);
LLVMValueRef emit_encode(struct emit *e, enum ir_dtype t, LLVMValueRef value);
/* Floats as the integers that stand for them in a format, and back to f32 or f64. */
LLVMValueRef emit_fp_encode(struct emit *e, enum fp_kind f, LLVMValueRef value);
LLVMValueRef emit_fp_decode(struct emit *e, enum fp_kind f, LLVMValueRef code, enum kir_type to);

#endif
