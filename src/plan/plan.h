/* The plan: what runs. A list of steps over numbered buffers in one block of memory, whose size and offsets are known before
 * the first run. Every backend is a way to fill in steps, so that any two of them can be compared step by step.
 *
 *   build.c     the builder: buffers, steps, nested lists           assign.c, sweep.c   offsets in the block
 *   live.c      where each buffer is needed; what is dead           print.c    as text
 *   coalesce.c  buffers that share memory                           plan.c     the whole function as one step
 *   group.c     small kernels that run at once                      init.c     kernels that need not run each time
 *   place.c     what is in the memory of a GPU, and transfers       overlap.c  exchanges while something is computed
 *
 * The builder states what is computed and in which order; plan_finish decides where everything is stored. Buffers are
 * variables: a step may write one that was written before (states of loops, results of branches). Then the plan is
 * not changed any more; any number of threads may run it at once. */
#ifndef HILO_PLAN_PLAN_H
#define HILO_PLAN_PLAN_H

#include "base/torture.h"
#include "eval/eval.h"
#include "hilo_kernel_abi.h"
#include "library/library.h"

#include <stdatomic.h>

/* ---- buffers --------------------------------------------------------------------------------- */

enum plan_place {
    PLAN_BLOCK,    /* at `offset` of the block of a run */
    PLAN_CONSTANT, /* at `data`; of a device: a copy of that, at `offset` of the executable's constants there */
    PLAN_ARGUMENT, /* of number `index`, `offset` bytes from its start; never written, but see plan.donors */
    PLAN_RESULT,   /* likewise */
    PLAN_VALUE,    /* none: a token, or a tensor whose size only a run determines; number `index` of the run's values. Steps of
                      kind REFERENCE and COPY alone use such buffers, and arguments that are tokens */
    PLAN_INIT      /* at `offset` of the memory of section `index`, which its init steps write, and others read */
};

/* Whose memory it is. */
enum plan_space { PLAN_HOST, PLAN_DEVICE /* of a GPU */, PLAN_SPACES };

struct plan_buffer {
    enum ir_dtype dtype;    /* NONE: a token */
    uint32_t rank;
    const int64_t *dims;
    size_t bytes;
    uint32_t root;          /* whose memory it is: itself, or what it is an alias of */
    size_t root_offset;     /* in it */
    enum plan_place place;
    enum plan_space space;
    uint32_t index;
    size_t offset;
    const void *data;
};

/* ---- steps ----------------------------------------------------------------------------------- */

struct kir;

/* What a library of a GPU computes in place of a kernel, which computes the same. */
struct plan_library {
    const char *name; /* "cuBLASLt" */
    void *state;
    size_t workspace_bytes; /* of device memory */
    /* Enqueues it, with the buffers of the step. UNIMPLEMENTED, and nothing is: not for these. */
    hilo_status (*run)(void *state, void *stream, void *const *buffers, void *workspace, struct diag_list *d);
};

/* Which code generator made a kernel's code: hilo's quick one, or LLVM. Both compute the same bits. */
enum plan_tier { PLAN_OPTIMISED, PLAN_BASELINE };

/* A kernel (hilo_kernel_abi.h). Several steps may share one; it outlives the plan. `fn` may be set after plan_finish, and be
   replaced while the plan runs. */
struct plan_kernel {
    const char *name;
    _Atomic(hilo_kernel_fn *) fn; /* runs read it by plan_kernel_fn */
    atomic_int tier;              /* enum plan_tier of fn, for readers */
    /* Where fn is NULL: what runs it instead, on one thread; false with a diagnostic when it fails. */
    bool (*interpret)(const struct kir *kir, void *const *buffers, void *scratch, int64_t begin, int64_t end,
                      struct diag_list *d);
    const struct kir *kir;
    uint32_t nparams;
    int64_t grid;           /* iterations; 0 = nothing to do */
    size_t scratch_bytes;
    double ns;              /* estimated time of all of it on one thread */
    bool packs;             /* it packs an operand of a contraction */
    /* Of a GPU (threads 0 = it is none), instead of fn: its launch, and its function, which may be set after plan_finish.
       scratch_bytes then is the slab of all blocks. */
    struct hilo_gpu_launch gpu;
    struct gpu_function *function;
    const struct plan_library *library; /* NULL: none. Not in files */
};

/* The code of a kernel as it is now; NULL = it has none. */
static inline hilo_kernel_fn *plan_kernel_fn(const struct plan_kernel *k) {
    return atomic_load_explicit(&k->fn, memory_order_acquire);
}

enum plan_role { PLAN_IN, PLAN_OUT, PLAN_INOUT };

/* A buffer as a step uses it. PLAN_OUT: all of it is written. PLAN_INOUT: read, and written in place. */
struct plan_use {
    uint32_t buffer;
    enum plan_role role;
    uint64_t overlay; /* KERNEL, of an OUT: bit i = it may alias parameter i exactly, an IN of as many bytes, because
                         each byte is read before it is written, and by the same iteration. REFERENCE, of a value that is
                         read: 1 = for the last time */
    uint64_t reads;   /* KERNEL, of an IN: the bytes of it that are read, at most; 0 = that is not known */
};

enum {
    PLAN_SHARED_NS = TORTURED(0, 20000), /* less work than this is done by one thread before hilo's pool has woken another */
    PLAN_GROUP_MOST = 64                 /* steps of a group */
};

enum plan_step_kind {
    PLAN_KERNEL,    /* uses: by parameter */
    PLAN_ROUTINE,   /* uses: operands, then results */
    PLAN_REFERENCE, /* a function of the plan's module, by the reference evaluator; uses: arguments, then results */
    PLAN_COPY,      /* uses: source, destination; a transfer where their spaces differ */
    PLAN_COLLECTIVE, /* blocks exchanged with other processes; uses: operands, then results. Or the first half of that */
    PLAN_DONE,      /* the second half: waits for the exchange of the same number; uses: operands, and results as INOUT */
    PLAN_TEST,      /* goes to targets[0] unless uses[0], an i1, is true; without uses, unless it has been passed fewer than
                       `trips` times since that */
    PLAN_SWITCH,    /* goes to targets[uses[0]]; of an i1, 1 is the first. Out of range is the last */
    PLAN_JUMP       /* goes to targets[0] */
};

/* What a step is, for readers. */
struct plan_note {
    const char *text;  /* a line; NULL = its kind and name say it */
    const char *ops;   /* "dot_general, add ×2" */
    const char *where; /* the place in the program that the last of them comes from; "" = unknown */
    double flops;      /* of all of them, about */
    uint32_t transposes;     /* among them, */
    double transposed_bytes; /* and of their results */
};

/* What a process sends to each member of its group, and gets of it: bytes of a whole buffer, or one of as many parts as there
   are members. */
enum plan_exchange {
    PLAN_ALL_GATHER, /* all; the results are what all members sent, in the order of the group */
    PLAN_ALL_TO_ALL, /* its part; likewise */
    PLAN_BROADCAST,  /* the first member: all. A process in no group gets zeros */
    PLAN_PERMUTE,    /* all, to the process that the pairs name; zeros where they name no source */
    PLAN_REPLICA_ID, /* nothing: the result is the process's replica, */
    PLAN_PARTITION_ID, /* its partition */
    PLAN_NEXCHANGES
};
enum { PLAN_EXCHANGES = 4 };
struct plan_collective {
    enum plan_exchange kind;
    uint32_t number; /* 0: the exchange is one step; else, below PLAN_EXCHANGES, it has two, and this number between them */
    struct ir_groups groups;
};

struct plan_step {
    enum plan_step_kind kind;
    uint32_t depth;               /* of nested lists, for reading */
    uint32_t group;               /* KERNEL: size of the group: this and the next steps are kernels that do not wait for each
                                     other and may run at once; 0 = it is alone, or not the first of a group */
    uint32_t init;                /* 0: it runs each time; else it is an init step, of section init - 1 */
    uint32_t nuses, ntargets;
    const struct plan_use *uses;
    const uint32_t *targets;      /* steps; nsteps = the end */
    uint64_t trips;               /* TEST without uses, whose count a run has in */
    uint32_t counter;             /* its counter of this number */
    const struct plan_kernel *kernel;
    const struct lib_match *routine;
    const struct plan_collective *collective;
    ir_op func;
    const struct plan_note *note; /* or NULL */
};

/* Init steps that read constants, and at most one argument. They run before the others: those of constants once for an
   executable, those of an argument when it is another buffer than before. */
struct plan_init {
    int32_t argument; /* or -1 */
    uint32_t nsteps;
    size_t bytes;     /* of the buffers of place INIT that they write */
};

/* Of the block: what is needed last by a step. */
struct plan_dead {
    const struct plan_region { size_t offset, bytes; } *v;
    uint32_t n;
};

struct plan {
    const struct ir_module *m;    /* outlives the plan */
    struct eval_plan *reference;  /* for the steps of kind REFERENCE; NULL when there are none */
    bool evaluated;               /* the plan is one REFERENCE step over values, not buffers: nothing else is known */
    uint32_t narguments, nresults, nbuffers, nsteps, nvalues, ncounters;
    const struct plan_buffer *buffers;
    const uint32_t *arguments, *results; /* buffer of each; UINT32_MAX: an argument that nothing reads */
    const int32_t *donors;        /* of each result: the argument whose memory it takes when that is donated, or -1 */
    const struct plan_step *steps;
    const struct plan_init *sections; /* of init steps, which come first; those of constants are the first section */
    uint32_t nsections, ninit;        /* ninit: steps of all sections */
    const struct plan_dead *dead; /* by step; NULL but in the torture build */
    size_t device_constants;      /* bytes of constants that are copied to a device */
    const char *placement;        /* on which of a processor and a GPU steps were placed, and why; NULL = it was not asked */
    struct plan_memory {
        size_t block_bytes;       /* a multiple of 64 */
        size_t live_bytes;        /* most that is live in the block at any time, the lower bound for block_bytes */
        size_t scratch_bytes;     /* most that a step needs, for each thread; of a device, for all blocks of a kernel */
    } memory[PLAN_SPACES];
};

/* ---- building -------------------------------------------------------------------------------- */

struct plan_builder;

/* A builder in `a`, where the plan's memory comes from too; exhaustion jumps to its recovery point. */
struct plan_builder *plan_new(struct arena *a, const struct ir_module *m, uint32_t narguments, uint32_t nresults);

/* Buffers: their numbers, one numbering for all lists. dims are copied. Sizes that overflow are exhaustion.
   plan_argument: the same number for the same index.
   plan_constant: the data is not copied and outlives the plan.
   plan_value: a token, or a tensor with dynamic dimensions; without memory, see PLAN_VALUE.
   plan_alias: bytes of another buffer as another type (reshape, bitcast), or a dense part of them (a slice of the outermost
     dimensions); both are one memory. To write a buffer in parts, through aliases, say plan_undefined first. */
uint32_t plan_argument(struct plan_builder *b, uint32_t index, enum ir_dtype t, uint32_t rank, const int64_t *dims);
uint32_t plan_constant(struct plan_builder *b, enum ir_dtype t, uint32_t rank, const int64_t *dims, const void *data);
uint32_t plan_temp(struct plan_builder *b, enum ir_dtype t, uint32_t rank, const int64_t *dims);
uint32_t plan_value(struct plan_builder *b, enum ir_dtype t, uint32_t rank, const int64_t *dims);
uint32_t plan_alias(struct plan_builder *b, uint32_t of, size_t byte_offset, enum ir_dtype t, uint32_t rank,
                    const int64_t *dims);
/* Whether it is no memory, but a value of the run. */
static inline bool plan_is_value(const struct plan_buffer *x) {
    return x->place == PLAN_VALUE || x->dtype == IR_DTYPE_NONE;
}
const struct plan_buffer *plan_buffer_get(const struct plan_builder *b, uint32_t buffer); /* until the next is made */

/* Steps, in the order in which they run. Arrays are copied. Arguments and constants may not be written, and nothing may be read
   that was not written before.
   plan_kernel: `uses` has k->nparams entries. For an op that changes a part of its operand in place: a plan_copy of the operand
     to the result, then the kernel with that as PLAN_INOUT; where the operand is not needed any more the copy costs nothing.
   plan_reference: `effect`: it does more than compute its results, and is kept when they are unused.
   plan_copy: all sources are read before a destination is written. Buffers of equal sizes; a copy is free where
     both can be the same memory. */
void plan_kernel(struct plan_builder *b, const struct plan_kernel *k, const struct plan_use *uses);
void plan_routine(struct plan_builder *b, const struct lib_match *match, uint32_t nin, const uint32_t *in, uint32_t nout,
                  const uint32_t *out);
void plan_reference(struct plan_builder *b, ir_op func, bool effect, uint32_t nin, const uint32_t *in, uint32_t nout,
                    const uint32_t *out);
/* Results are as large as operands or, of an all_gather, as those of all members together. */
void plan_exchange(struct plan_builder *b, const struct plan_collective *c, uint32_t nin, const uint32_t *in, uint32_t nout,
                   const uint32_t *out);
void plan_copy(struct plan_builder *b, uint32_t n, const uint32_t *from, const uint32_t *to);
void plan_undefined(struct plan_builder *b, uint32_t buffer);
/* What the steps that follow are; outlives them. NULL = nothing is said. */
void plan_note(struct plan_builder *b, const struct plan_note *note);

/* A loop: the steps after _begin compute the predicate, an i1, given to _body; those after _body run while it is true. A
   loop's states are buffers that a plan_copy fills before it and another at the end of the body. */
void plan_loop_begin(struct plan_builder *b);
/* The same of a body that runs `trips` times; there is no _body. */
void plan_loop_begin_counted(struct plan_builder *b, uint64_t trips);
void plan_loop_body(struct plan_builder *b, uint32_t predicate);
void plan_loop_end(struct plan_builder *b);
/* A branch of several lists, begun by _begin and each _next: an i1 chooses the first for 1 (`if`), an i32 that of its number,
   the last when there is none (`case`). What is computed is copied to buffers that all lists write. */
void plan_branch_begin(struct plan_builder *b, uint32_t selector);
void plan_branch_next(struct plan_builder *b);
void plan_branch_end(struct plan_builder *b);

/* Which buffer is a result. Any: an argument, a constant or a buffer that is another result as well is copied. */
void plan_result(struct plan_builder *b, uint32_t index, uint32_t buffer);
/* States that an argument is the same buffer in most runs, as weights are: what is computed from it alone may be kept. */
void plan_unchanged(struct plan_builder *b, uint32_t argument);
/* Moves kernels whose operands do not change before the loops that they are in, and those that read only constants, or an
   unchanged argument, to the init steps. Call it when all steps are there, before plan_group. */
void plan_hoist(struct plan_builder *b);
/* What an exchange takes, about. */
struct plan_link {
    double latency_ns, ns_per_byte;
};
/* Starts exchanges early and finishes them late, as steps of their own, where something can be computed between. Call it when
   all steps are there, before plan_group. */
void plan_overlap(struct plan_builder *b, const struct plan_link *link);
/* Lets small kernels that do not wait for each other run at once: puts them next to each other, in groups. Call it when all
   steps are there. */
void plan_group(struct plan_builder *b);
/* Kernels with threads run on a device, which has the arguments and results; routines and evaluations run on the host. Gives
   what both need a buffer in each memory, and inserts the transfers: where the other side wrote last, and before a loop what it
   does not change. Arguments that both sides read, and results that no step computes, are in the memory `shared`. Call it when
   all steps are there; then there are no groups. */
void plan_place(struct plan_builder *b, enum plan_space shared);
/* States that an argument is donated in most runs, and wishes that a result, UINT32_MAX = any, takes over its memory
   (tf.aliasing_output, jax.buffer_donor). Others are found where types are equal, and where the memory of the result is not of
   more use for temporaries. */
void plan_donor(struct plan_builder *b, uint32_t argument, uint32_t result);

/* The plan, with everything in its place. INTERNAL, with a diagnostic, when the steps are not as they must be; then, too,
   there is nothing for plan_free. `p` is cleared first. */
hilo_status plan_finish(struct plan_builder *b, struct plan *p, struct diag_list *d);

/* After plan_finish: the buffers, no aliases, that are in the block when the most of it is in use. Memory: the builder's
   arena. */
uint32_t plan_fullest(const struct plan_builder *b, const uint32_t **buffers);
/* The memory in which kernels work. */
enum plan_space plan_main_space(const struct plan *p);
/* Gives the constants of a device their offsets; roots come before their aliases. The bytes of all; SIZE_MAX when they are too
   many. */
size_t plan_place_constants(struct plan_buffer *v, uint32_t n);
/* Bytes of temporaries in a memory: the block, and scratch for one thread, or one kernel. At most SIZE_MAX. */
size_t plan_temp_bytes(const struct plan *p, enum plan_space space);
/* Bytes that a run takes besides arguments and constants, in all memories: results and temporaries. At most SIZE_MAX. */
size_t plan_needs(const struct plan *p);
/* Bytes that init steps write for the others. */
size_t plan_init_bytes(const struct plan *p);
/* Bytes of the constants that the plan holds, and of what init steps write. */
size_t plan_constant_bytes(const struct plan *p);

/* The plan of a function with a body as one step over values, for what cannot be planned: dynamic shapes, tokens. Memory:
   the arena, but for `reference`, which plan_free frees; also after an error, and when memory ran out in between. `p`
   is cleared first. */
hilo_status plan_evaluated(struct plan *p, struct arena *a, const struct ir_module *m, ir_op func, struct diag_list *d);
void plan_free(struct plan *p);

/* Whether a step runs on a device, and whether it is a copy from one memory to the other. */
bool plan_on_device(const struct plan *p, const struct plan_step *s);
/* The memory that a step's buffers and scratch are in, but for a copy's: by its kernel (or NULL), and its routine (or NULL). */
enum plan_space plan_space_of(const struct plan_kernel *k, const struct lib_match *routine);
bool plan_is_transfer(const struct plan *p, const struct plan_step *s);

/* A line a step, and the buffers. */
void plan_print(const struct plan *p, struct strbuf *out);
const char *plan_place_name(enum plan_place place);   /* "block", "constant", "argument", "result", "value", "init" */
const char *plan_kind_name(enum plan_step_kind kind); /* "kernel", "routine", "reference", "copy", "collective", "test", … */
const char *plan_exchange_name(enum plan_exchange kind);     /* "all_gather", … */

#endif
