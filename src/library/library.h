/* Routines: the steps of a plan that no kernel is generated for, because they are library functions:
   sorting, FFT, linear algebra …
 *
 *   routines.def   the routines          match.c   which StableHLO op is which routine, with its parameters
 *   <routine>.c    one family each
 *
 * A routine is a function of its parameters (integers, so that a plan can be written to a file) over dense row-major buffers.
 * The results are the reference evaluator's, up to the rounding that the specification leaves open, and the same for any
 * number of threads: work is split by shape. */
#ifndef HILO_LIBRARY_LIBRARY_H
#define HILO_LIBRARY_LIBRARY_H

#include "ir/ir.h"

enum lib_routine {
    LIB_NONE,
#define ROUTINE(id, name, what) LIB_##id,
#include "library/routines.def"
    LIB_ROUTINE_COUNT
};
const char *lib_routine_name(enum lib_routine r);

/* Libraries that may be installed, and do what some routines do: externals.def, the component `external`. */
enum lib_external {
    LIB_OWN, /* none of them: hilo's code */
#define EXTERNAL(id, name, title, packages, device) LIB_##id,
#include "library/externals.def"
    LIB_EXTERNAL_COUNT
};

/* Whether its routines run on a GPU, with operands, results and scratch in the device's memory. */
bool lib_on_device(enum lib_external by);

/* Threads to work with. run(pool, n, task, user) calls task(user, i) for i = 0 … n-1, each once, on any thread, and returns
   when all are done; it may be called with threads == 1. It is called by the thread that called lib_run, not by a task. When
   the run is stopped it does not return: it jumps out of the routine, which holds nothing that would have to be freed. */
struct lib_pool {
    int threads;
    void (*run)(const struct lib_pool *pool, int64_t n, void (*task)(void *user, int64_t i), void *user);
};

enum { LIB_MOST_PARAMS = 64 };

struct lib_by;
struct gpu;

/* An op as a routine. */
struct lib_match {
    enum lib_routine routine;
    enum lib_external by;     /* provider, which takes the same parameters; hilo's code does where that cannot */
    const struct lib_by *how; /* of what is prepared (lib_prepare); NULL = nothing: hilo's code computes it */
    void *state;              /* what `by` has prepared */
    struct gpu *gpu;          /* of a library that runs on a GPU: which, while it is asked or prepares; NULL: there is none */
    uint32_t nparams;
    int64_t params[LIB_MOST_PARAMS];
    size_t scratch_bytes;  /* what a call needs besides its operands and results */
    bool in_place;         /* result 0 may alias operand 0 */
    bool alone;            /* there is nothing that threads could share */
    double ns;             /* estimated time of one call on one thread, for the choice of threads */
};
/* Fills `out` when a routine computes the op, with its static shapes; buffers are its operands and results in order. */
bool lib_match(const struct ir_module *m, ir_op op, struct lib_match *out);
/* The bytes of the operands, then the results, of a call, and of its scratch. */
struct lib_sizes {
    const size_t *bytes;
    uint32_t nin, nout;
    size_t scratch;
};
struct lib_call {
    const int64_t *params;
    uint32_t nparams;
    const void *const *in;
    void *const *out;
    void *scratch; /* 64-byte aligned */
    const struct lib_pool *pool;
    const struct lib_sizes *check; /* not NULL: only check that the parameters are valid and access nothing outside of these */
    struct diag_list *d; /* of a library that runs on a GPU, where it enqueues: what failed */
};
/* Whether the parameters are valid, and the routine accesses nothing outside of memory of these sizes. */
bool lib_fits(const struct lib_match *match, const struct lib_sizes *sizes);
/* Runs it by hilo's code. INVALID_ARGUMENT where the data cannot be worked on; allocates nothing. */
hilo_status lib_run(enum lib_routine r, const struct lib_call *c);

/* ---- installed libraries ---------------------------------------------------------------------- */

/* How a library does a routine. */
struct lib_by {
    enum lib_external by;
    enum lib_routine routine;
    /* Whether it can, from the parameters; then out->scratch_bytes is what it needs at most, and its own code. */
    bool (*can)(struct lib_match *out);
    /* What all runs share; NULL where it cannot be made, as on a GPU where it needs more scratch than match->scratch_bytes. It
       frees itself by `release`. */
    void *(*prepare)(const struct lib_match *match);
    void (*release)(void *state);
    /* UNIMPLEMENTED: not for these data; nothing was lost. Any number of threads may be at it at once. */
    hilo_status (*run)(void *state, const struct lib_call *c);
};

/* The rows of externals.def, and NULL after them; opens no library. The component `external` has them. */
typedef const struct lib_by *const *lib_rows_fn(void);

/* What computes it: "convolution", "onednn.convolution". */
const char *lib_match_name(const struct lib_match *match);
/* Finds the routine, and by whom, from that name; false when there is none. */
bool lib_match_named(const char *name, struct lib_match *out);
/* Prepares match->state where `by` is a library that is here and can; lib_release frees it. `rows` NULL: there are none; `gpu`
   NULL: nor is there a device. */
void lib_prepare(struct lib_match *match, lib_rows_fn *rows, struct gpu *gpu);
void lib_release(struct lib_match *match);
/* Runs it by whatever is prepared; else by lib_run. Not for libraries that run on a GPU. */
hilo_status lib_run_match(const struct lib_match *match, const struct lib_call *c);

#endif
