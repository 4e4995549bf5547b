/* Plans and frames: what eval_plan.c makes of a module, and what eval.c and the families that run regions or functions
 * (eval_control.c, eval_process.c) share. Other families need eval.h only.
 *
 * A function's values have numbered slots in a frame, those of its nested regions too. A value leaves its slot, and memory,
 * right after the last op that needs it: this is what keeps a program's memory at what is live, and what lets an op take over
 * an operand that no other op reads. */
#ifndef HILO_EVAL_CORE_H
#define HILO_EVAL_CORE_H

#include "eval/eval.h"

/* Blocks (bodies of functions, regions) that may be open at once: keeps recursion and nesting within the C stack. */
enum { EVAL_DEPTH = 1000 };

/* An op. Lists of slots are stretches of plan->lists. */
struct plan_step {
    ir_op op;
    uint32_t operands, noperands; /* list: slots of the operands */
    uint32_t result0, nresults;   /* slots of the results */
    uint32_t dead, ndead;         /* list: slots that are dead after this op */
    uint32_t nloose;              /* the first of them that are not needed inside the op's regions either */
    uint32_t callee;              /* call, composite: block of the function's body, 0 = there is none */
    uint16_t kind;                /* enum ir_op_kind */
    bool quantised;               /* computes in the expressed type */
};

struct plan_block {
    ir_block block;
    uint32_t first, nsteps;       /* plan->steps; the last one is the terminator */
    uint32_t slot0, nargs, slot1; /* slots from slot0 to before slot1, the arguments' first; with nested blocks */
    uint32_t dead, ndead;         /* list: unused arguments */
    uint32_t nscratch;            /* pointers that open ops take: operands, results, and as many as operands again, which
                                     handlers of the core use after `out` */
};

struct eval_plan {
    hilo_allocator al;
    const struct ir_module *m;
    size_t bytes;                 /* of the one allocation that holds all of it */
    struct plan_step *steps;
    struct plan_block *blocks;    /* from 1 */
    uint32_t *lists;
    uint32_t *slot_of;            /* by value id */
    uint32_t *block_of;           /* by region id; 0 = region without a block */
    uint32_t nvalues, nregions;
};

/* The block of a function's body; 0 when `op` is none, or not a function with a body. */
uint32_t eval_plan_body(const struct eval_plan *p, ir_op op);

struct eval_frame {
    struct value **slots;
    struct value **top;           /* free part of the scratch for operands and results */
    const struct plan_step *step; /* the op being run */
};

/* Runs a block in the current frame. `args` are owned references that pass to the block and are cleared, also on an error;
   `results` get owned references to the terminator's operands and may be the same array. The caller has compared counts. */
hilo_status eval_block(struct eval *cx, const struct plan_block *b, struct value **args, struct value **results);
/* The same for the body of a function, in a frame of its own. */
hilo_status eval_body(struct eval *cx, uint32_t block, struct value **args, struct value **results);
/* The block of a region; NULL after a diagnostic when there is none or the counts are others. */
const struct plan_block *eval_block_of(struct eval *cx, ir_region r, uint32_t nargs, uint32_t nresults);
/* Block of a function with that many arguments and results; 0 after a diagnostic at `op`. */
uint32_t eval_callee(struct eval *cx, ir_op op, struct str name, uint32_t nargs, uint32_t nresults);

/* Owned references to the operands of the op being run. Operands that die at this op leave the frame now, so that the one that
   gets the references may hold the last one. */
void eval_take(struct eval *cx, struct value *const *in, struct value **owned);
/* Drops n references and clears them. */
void eval_drop(struct value **v, uint32_t n);

/* Copies n entries along dimension `dim`, from `from` on in src to `to` on in dst. Their other dimensions are equal. */
void eval_copy_slab(const struct value *src, int64_t from, struct value *dst, int64_t to, int64_t n, uint32_t dim);

/* A constant's value: borrowed from the module where it has all elements there. At `op`, of the type of its result or, where
   there is none, of the attribute. */
hilo_status eval_literal(struct eval *cx, ir_op op, ir_attr a, struct value **out);

/* The handler's results in the expressed type, from dequantised operands, quantised again (eval_quant.c). */
hilo_status eval_quantised(struct eval *cx, ir_op op, eval_fn *fn, struct value *const *in, struct value **out);

/* Processes (eval_process.c). Serialises an embedder's callbacks among processes. NULL is fine. */
void eval_process_lock(struct eval_process *p);
void eval_process_unlock(struct eval_process *p);
/* Ends the group of one process that a collective op outside of interpreter.run_parallel has opened. NULL is fine. */
void eval_process_close(struct eval_process *p);

/* What JAX has no op for where sizes are dynamic: targets of custom_call (eval_window.c, eval_rng.c, eval_topk.c). */
eval_fn eval_dynamic_reduce_window, eval_dynamic_rng_bit_generator, eval_dynamic_top_k, eval_householder_product;
/* custom_call @lapack_…: UNIMPLEMENTED, without a diagnostic, for other calls (eval_factor.c). */
eval_fn eval_factor;

/* custom_call @check.…: true when `target` is one (eval_check.c). */
bool eval_check_call(struct eval *cx, ir_op op, struct str target, struct value *const *in, struct value **out,
                     hilo_status *status);

#endif
