/* Routines: the steps of a plan that no kernel is generated for, because they are libraries by nature:
   sorting, FFT, linear algebra …
 *
 *   routines.def   the routines          match.c   which StableHLO op is which routine, with its parameters
 *   <routine>.c    one family each
 *
 * A routine is a function of its parameters (integers, so that a plan can be written to a file) over dense
 * row-major buffers. The
 * results are the reference evaluator's, up to the rounding that the specification leaves open, and the same for any number of
 * threads: work is split by shape. */
#ifndef HILO_LIBRARY_LIBRARY_H
#define HILO_LIBRARY_LIBRARY_H

#include "ir/ir.h"

enum lib_routine {
    LIB_NONE,
#define ROUTINE(id, name, what) LIB_##id,
#include "library/routines.def"
    LIB_ROUTINE_COUNT,
    LIB_EXTERNAL = LIB_BLAS
};
const char *lib_routine_name(enum lib_routine r);

/* Threads to work with. run(team, n, task, user) calls task(user, i) for i = 0 … n-1, each once, on any
   thread, and returns when
   all are done; it may be called with threads == 1. */
struct lib_team {
    int threads;
    void (*run)(const struct lib_team *team, int64_t n, void (*task)(void *user, int64_t i), void *user);
};

enum { LIB_MOST_PARAMS = 64 };

/* An op as a routine. */
struct lib_match {
    enum lib_routine routine;
    uint32_t nparams;
    int64_t params[LIB_MOST_PARAMS];
    size_t scratch_bytes;  /* what a call needs besides its operands and results */
    bool in_place;         /* result 0 may lie over operand 0 */
    double ns;             /* estimated time of one call on one thread, for the choice of threads */
};
/* Fills `out` when a routine computes the op, with its static shapes; buffers are its operands and results in order. */
bool lib_match(const struct ir_module *m, ir_op op, struct lib_match *out);
/* The same with routines of installed libraries only. */
bool lib_match_external(const struct ir_module *m, ir_op op, struct lib_match *out);
/* Opens the libraries; UNAVAILABLE, with a diagnostic, where one is missing. */
hilo_status lib_external_open(struct diag_list *d);

struct lib_call {
    const int64_t *params;
    uint32_t nparams;
    const void *const *in;
    void *const *out;
    void *scratch;         /* 64-byte aligned */
    const struct lib_team *team;
};
/* Runs it. INVALID_ARGUMENT where the data cannot be worked on; allocates nothing. */
hilo_status lib_run(enum lib_routine r, const struct lib_call *c);

#endif
