/* The reference evaluator: runs a module op by op. It is the definition of every result (docs/ARCHITECTURE.md, Numbers),
 * so clarity comes first; but it works on typed, contiguous data, never on a boxed value per element.
 *
 *   value.c          tensors, tokens, tuples
 *   eval_plan.c      slots and last uses of a module's values (eval_core.h)
 *   eval.c           frames, dispatch
 *   eval_quant.c     quantise, dequantise, quantised ops by dequantise-compute-quantise
 *   eval_control.c   constants, calls, if, case, while, composite, custom calls, tuples, tokens
 *   eval_process.c   several processes: run_parallel, rendezvous, infeed
 *   eval_collective.c  process groups, collectives, send and recv, asynchronous ops
 *   eval_elt*.c      elementwise ops as kernels over n elements, shared by whole tensors and by region bodies
 *   eval_math*.c     the functions themselves
 *   eval_lanes.c     a region of scalar ops as a small program over n lanes (bodies of reduce, sort, scatter, map …)
 *   eval_reduce.c, eval_window.c, eval_sort.c, eval_move.c, eval_gather.c, eval_dot.c, eval_conv.c, eval_linalg.c,
 *   eval_fft.c, eval_rng.c …
 *   eval_check.c     check.*
 *
 * Thread-safety: a module may be evaluated by several threads at once, each with its own `struct eval`. Errors: a
 * status, with a diagnostic at the op in cx->d. No arenas here: tensors are counted references, allocated through cx->al. */
#ifndef HILO_EVAL_EVAL_H
#define HILO_EVAL_EVAL_H

#include "ir/ir.h"

#include <stdatomic.h>

/* ---- values ---------------------------------------------------------------------------------- */

enum eval_kind { EVAL_TENSOR, EVAL_TOKEN, EVAL_TUPLE, EVAL_FUTURE };

/* A value, shared by counting. Immutable once more than one reference exists. */
struct value {
    atomic_int refs;
    enum eval_kind kind;
    hilo_allocator al;
    /* EVAL_TENSOR */
    enum ir_dtype dtype;      /* quantised tensors: the storage type; the parameters are in the IR type */
    uint32_t rank;
    int64_t *dims;            /* after this struct */
    size_t count, bytes;      /* elements; bytes of data */
    void *data;               /* row-major, ir_dtype_get(dtype)->bytes an element, 64-byte aligned unless borrowed,
                                 and in the torture build */
    void (*release)(void *user, void *data); /* borrowed data: called at the end; NULL = data belongs to the value */
    void *user;
    void *device;             /* whose memory the data is in, which the host may not access; NULL = the host's */
    /* EVAL_TUPLE, EVAL_FUTURE */
    struct value **items;
    uint32_t nitems;
};

/* A fresh tensor with uninitialised data. RESOURCE_EXHAUSTED when the size overflows or memory ends, INVALID_ARGUMENT
   for a negative dimension. `*out` has one reference. */
hilo_status value_tensor(const hilo_allocator *al, enum ir_dtype t, const int64_t *dims, uint32_t rank, struct value **out);
/* A tensor over memory that it does not own. */
hilo_status value_borrow(const hilo_allocator *al, enum ir_dtype t, const int64_t *dims, uint32_t rank, void *data,
                         void (*release)(void *user, void *data), void *user, struct value **out);
hilo_status value_token(const hilo_allocator *al, struct value **out);
/* Takes a new reference to each item. */
hilo_status value_group(const hilo_allocator *al, enum eval_kind kind, struct value *const *items, uint32_t n,
                        struct value **out);
struct value *value_ref(struct value *v);    /* one more reference; returns v */
void value_unref(struct value *v);           /* NULL is fine */

/* Row-major strides in elements. */
void value_strides(const int64_t *dims, uint32_t rank, int64_t *out);
/* Steps a row-major index; false after the last one. Rank 0 has one index. */
bool index_next(int64_t *index, const int64_t *dims, uint32_t rank);
/* True for a tensor of integers or i1, which value_i64 may read. */
bool value_is_integers(const struct value *v);
/* Element i of an integer tensor (or i1) as int64 (ui64 keeps its bits). */
int64_t value_i64(const struct value *v, size_t i);
/* Its type as text, for messages: `tensor<2x3xf32>`. */
void value_type_text(const struct value *v, struct strbuf *out);

/* ---- evaluation ------------------------------------------------------------------------------ */

struct eval_frame;
struct eval_plan;     /* slots and last uses of a module (eval_plan.c) */
struct eval_process;  /* place in a group of processes (eval_process.c); NULL until it is needed */

/* What the embedder may supply; all optional. */
struct eval_hooks {
    /* custom_call: UNIMPLEMENTED to decline. `results` are to be filled with owned references. */
    hilo_status (*custom_call)(void *user, struct str target, const struct ir_module *m, ir_op op, struct value *const *in,
                               uint32_t nin, struct value **results, uint32_t nresults, struct diag_list *d);
    /* interpreter.print */
    void (*print)(void *user, const struct ir_module *m, ir_type type, const struct value *v);
    /* interpreter.probe: writes the value; check.expect_serialized_eq: reads what was probed. */
    hilo_status (*probe)(void *user, struct str id, const struct value *v);
    hilo_status (*probed)(void *user, struct str id, uint32_t iteration, const struct value *like, struct value **out);
    /* Called after each op that succeeds; may replace its results by values of the same types. */
    void (*computed)(void *user, const struct ir_module *m, ir_op op, struct value **results, uint32_t n);
    /* Polled between ops, and during long ones; true = stop with HILO_CANCELLED. */
    bool (*cancelled)(void *user);
    void *user;
};

struct eval {
    const struct ir_module *m;
    struct diag_list *d;
    hilo_allocator al;
    const struct eval_hooks *hooks;
    const struct eval_plan *plan;
    struct eval_process *process;
    struct eval_frame *frame;   /* of the function being run */
    uint32_t depth;             /* of calls; bounded */
    uint64_t rng_state;         /* stablehlo.rng draws from here */
    bool expressed;             /* the current op is quantised and computes in the expressed type */
    uint64_t work;              /* since it was polled whether the run is cancelled; see eval_work */
};

/* Runs function `func` of module `m`. `in`: its arguments (borrowed), compared with their types; `out`: owned
   references, one per result, that outlive the module. Hooks may be called by several threads at once where the program
   starts several processes (print and probe never are). */
hilo_status eval_func(const struct ir_module *m, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                      uint32_t nout, const hilo_allocator *al, const struct eval_hooks *hooks, struct diag_list *d);

/* The same in two steps, for a module that is evaluated often. A plan may be used by several threads; it ends with the
   module's next change. */
hilo_status eval_plan_new(const struct ir_module *m, const hilo_allocator *al, struct diag_list *d, struct eval_plan **out);
void eval_plan_free(struct eval_plan *p); /* NULL is fine */
hilo_status eval_plan_run(const struct eval_plan *p, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                          uint32_t nout, const hilo_allocator *al, const struct eval_hooks *hooks, struct diag_list *d);

/* Processes of one program that an embedder runs, each on a thread of its own: replicas x partitions, process (r, p) has the
   index r * partitions + p. Collectives wait for all members; when one process fails, or when none can make progress, all waits
   end with an error. Values that they exchange are copied, in the memory of `al`, which any thread may use at any time. */
struct eval_process_group;
/* NULL if memory is exhausted. */
struct eval_process_group *eval_process_group_new(const hilo_allocator *al, uint32_t replicas, uint32_t partitions);
struct eval_process *eval_process_group_get(struct eval_process_group *g, uint32_t index); /* the group's */
/* To be called once for each process, when it comes to no more ops, also for one that never began. Errors stop the others. */
void eval_process_end(struct eval_process *p, hilo_status status);
/* Before the others run: it runs on another node. Ops that wait for it fail (UNIMPLEMENTED). */
void eval_process_elsewhere(struct eval_process *p);
/* True once another process has failed and this one is to stop. */
bool eval_process_stopped(const struct eval_process *p);
void eval_process_group_free(struct eval_process_group *g); /* all processes have ended; NULL is fine */
/* Shared by the evaluations of one run. Initialise as {process}, the run's place among others or NULL; end it. */
struct eval_session {
    struct eval_process *process; /* NULL: the run is alone, until something communicates; then one of the session's own */
    uint64_t rng_state;
};
void eval_session_end(struct eval_session *s);
/* As eval_plan_run, as a part of a run. */
hilo_status eval_plan_run_in(const struct eval_plan *p, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                             uint32_t nout, const hilo_allocator *al, const struct eval_hooks *hooks, struct diag_list *d,
                             struct eval_session *session);

/* ---- for the families ------------------------------------------------------------------------ */

/* CANCELLED or ABORTED, with a diagnostic at the op, when the run is to stop. */
hilo_status eval_poll(struct eval *cx, ir_op op);
/* The same, polled each time that so much work was done, some ten milliseconds: for ops that take long. `units` are scalar
   operations, about. */
enum { EVAL_POLL_WORK = 1 << 22 };
static inline hilo_status eval_work(struct eval *cx, ir_op op, size_t units) {
    if ((cx->work += units) < EVAL_POLL_WORK)
        return HILO_OK;
    cx->work = 0;
    return eval_poll(cx, op);
}

/* Every evaluator function has this form: operands borrowed, results owned by the caller. `out` comes filled with NULL; what is
   in it after an error is dropped by the caller. */
typedef hilo_status eval_fn(struct eval *cx, ir_op op, struct value *const *in, struct value **out);
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, ...) eval_fn eval_##eval;
#include "ir/ops.def"

/* An error at the op. */
#define EVAL_FAIL(cx, op, status, ...) ir_op_error((cx)->m, (cx)->d, (op), (status), NULL, __VA_ARGS__)

/* Element type that the op is to compute result i (operand i) in: of the IR type, or the expressed type of a quantised
   one while cx->expressed. */
enum ir_dtype eval_result_dtype(const struct eval *cx, ir_op op, uint32_t i);
/* A tensor for result i with that element type and the given shape. */
hilo_status eval_out(struct eval *cx, ir_op op, uint32_t i, const int64_t *dims, uint32_t rank, struct value **out);

/* True when the handler may write into operand k: it is not needed after this op, nothing else refers to it, its data is
   its own. */
bool eval_reusable(const struct eval *cx, ir_op op, uint32_t k, const struct value *v);
/* As eval_out with the shape of operand `in[k]`, but over that operand's memory where it is reusable and an element of
   the result takes as many bytes: then *out is in[k] itself, with one more reference and the result's element type. */
hilo_status eval_out_over(struct eval *cx, ir_op op, uint32_t i, struct value *const *in, uint32_t k, struct value **out);

/* Runs a region's only block on `args` (borrowed); `results` get owned references to the terminator's operands. Values
   from outside are seen through the frame. */
hilo_status eval_region(struct eval *cx, ir_region r, struct value *const *args, uint32_t nargs, struct value **results,
                        uint32_t nresults);
/* The current value of an IR value in the frame (borrowed), for captured values. */
struct value *eval_lookup(struct eval *cx, ir_val v);

/* ---- quantised numbers (eval_quant.c) ---- */

/* Stored integers to numbers of the expressed type, and back: rounded to nearest even and clamped to the storage range.
   INVALID_ARGUMENT when the parameters do not fit the shape. */
hilo_status eval_dequantize(const hilo_allocator *al, const struct ir_quant *q, const struct value *v, struct value **out);
hilo_status eval_quantize(const hilo_allocator *al, const struct ir_quant *q, const struct value *v, struct value **out);

/* ---- kernels over n elements (eval_elt.c) ---- */

/* An elementwise op resolved for its element types. `in[k]` points to n elements of operand k's type. In-place is
   allowed where sizes agree (out == in[k]). */
struct elt_kernel {
    void (*run)(const struct elt_kernel *k, const void *const *in, void *out, size_t n);
    enum ir_op_kind op;
    enum ir_dtype in, out;      /* of operand 0 (for select: of on_true) and the result */
    int64_t param[2];           /* compare: direction and type; reduce_precision: bits … */
    const void *extra;
    uint32_t nin;               /* operands */
};
/* Resolves any op with IR_T_ELEMENTWISE for given operand element types (compute types, i.e. expressed when quantised).
   UNIMPLEMENTED with a diagnostic when there is no kernel. */
hilo_status elt_resolve(const struct ir_module *m, struct diag_list *d, ir_op op, const enum ir_dtype *in, uint32_t nin,
                        enum ir_dtype out, struct elt_kernel *k);

/* ---- region bodies as programs over lanes (eval_lanes.c) ---- */

struct lanes; /* a region of scalar elementwise ops, constants and captured scalars, compiled once */
/* HILO_OK and *out = NULL when the region is not of that kind: then run it with eval_region, element by element. */
hilo_status lanes_compile(struct eval *cx, ir_region r, struct lanes **out);
/* args[k] points to n elements of block argument k, results[k] to room for n elements of terminator operand k (no
   overlap with args unless n = 1 or identical pointers). No allocation: n must be at most lanes_most(). */
void lanes_run(struct lanes *l, const void *const *args, void *const *results, size_t n);
size_t lanes_most(void);
void lanes_free(struct lanes *l);
/* A body that is one binary elementwise op of its two arguments, in order or, where the op commutes, swapped: its kind,
   else IR_OP_NONE. */
enum ir_op_kind lanes_single_op(const struct ir_module *m, ir_region r);

/* ---- comparison for checks, used by tests and --compare too (eval_check.c) ---- */

struct check_rule {
    enum { CHECK_EXACT, CHECK_ALMOST, CHECK_ULP } how;
    double tolerance;           /* ALMOST: absolute, as check.expect_almost_eq */
    uint64_t min_ulp, max_ulp;  /* ULP */
    /* ULP: for each element the sum of the magnitudes that it was added up from, or NULL. A sum in another order may differ by
       CHECK_SUM_EPSILONS roundings of that sum. Real, of the shape of what is compared. */
    const struct value *terms;
};
enum { CHECK_SUM_EPSILONS = 4 };
/* True when every element agrees. Else false, and `why` (may be NULL) names the element, both values and how many
   differ. */
bool check_values(const struct value *got, const struct value *want, const struct check_rule *rule, struct strbuf *why);

#endif
