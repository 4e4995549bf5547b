/* Optimisation: passes over a StableHLO module. A pass takes a module that verifies and leaves one that verifies and
 * evaluates to the same values, so that any list of passes can be run, tested with text files, and bisected.
 *
 *   passes.def   the passes and the pipeline           opt.c       the driver, analyses
 *   <pass>.c     one pass each                          rewrite.c   what passes change modules with
 *   loops.c      trip counts                            refine.c    programs of unknown sizes, for arguments of known ones
 *   rules.def    the rules of passes that are sets of them                rules.c   their engine
 *
 * A pass does not print, read the environment or keep state; its memory is o->scratch, which is empty when it begins. When
 * memory ends it is left by a jump to opt_run, so it owns nothing else across a call that may allocate from an arena. */
#ifndef HILO_OPT_OPT_H
#define HILO_OPT_OPT_H

#include "ir/ir.h"
#include "target/target.h"

struct opt;

/* ---- passes and analyses --------------------------------------------------------------------- */

enum opt_pass_id {
#define PASS(id, name, level, requires, preserves, text) OPT_PASS_##id,
#include "opt/passes.def"
    OPT_PASS_COUNT
};

/* Analyses, as a mask. */
enum { OPT_NOTHING = 0, OPT_USES = 1 << 0, OPT_CALLS = 1 << 1, OPT_ALL = OPT_USES | OPT_CALLS };

enum { OPT_LEVEL_MOST = 3 }; /* passes of a higher level are run by their names alone */

struct opt_pass {
    const char *name;
    int level;
    unsigned requires, preserves;
    const char *text;
    hilo_status (*run)(struct opt *o);
};
const struct opt_pass *opt_pass_get(enum opt_pass_id id);
/* The k-th step of the pipeline; NULL after the last. */
const struct opt_pass *opt_step(size_t k);

/* ---- rules ----------------------------------------------------------------------------------- */

enum { /* how many there are */
#define RULE(pass, name, root, class, text) OPT_RULE_##name,
#include "opt/rules.def"
    OPT_RULE_COUNT
};

/* What a rewrite of floating-point arithmetic may assume; each class includes those before it. */
enum opt_float {
    OPT_EXACT,    /* nothing: the result has the same bits, up to the payload of a NaN */
    OPT_NO_NAN,   /* no NaN, infinity or negative zero occurs */
    OPT_REASSOC   /* and rounding may differ */
};

struct opt_rule_info {
    const char *name, *text;
    enum opt_pass_id pass;
    enum ir_op_kind root;           /* IR_OP_NONE = any */
    enum opt_float floats;
};
const struct opt_rule_info *opt_rule_get(size_t i); /* NULL after the last */

/* ---- tables by id ---------------------------------------------------------------------------- */

/* A number for every id of one kind (values, ops …), 0 until it is set. Grows as ids come. */
struct opt_ids {
    struct arena *a;
    uint32_t *v;
    uint32_t cap;
};
static inline uint32_t opt_ids_get(const struct opt_ids *t, uint32_t id) { return id < t->cap ? t->v[id] : 0; }
void opt_ids_set(struct opt_ids *t, uint32_t id, uint32_t number);

/* The same for few of the ids of a module: memory by how many are set. */
struct opt_sparse {
    struct arena *a;
    struct opt_sparse_entry {
        uint32_t id, number; /* id 0: free */
    } *v;
    uint32_t n, cap; /* a power of two */
};
uint32_t opt_sparse_get(const struct opt_sparse *t, uint32_t id);
void opt_sparse_set(struct opt_sparse *t, uint32_t id, uint32_t number);

/* ---- analyses on request --------------------------------------------------------------------- */

/* How often each value is an operand. */
struct opt_uses {
    struct opt_ids count; /* by value */
};

/* Functions, callees before their callers (where there is recursion, some call must be the exception). */
struct opt_func {
    ir_op op;
    uint32_t nops;        /* in its body, nested ones too */
    bool reached;         /* from a root, see opt_is_root */
    bool effects;         /* a call of it may do more than compute results */
};
struct opt_calls {
    struct opt_func *v;
    uint32_t n;
    struct opt_ids index; /* by op of a function: 1 + its index */
    struct opt_ids refs;  /* by op of a function: references to it */
};
const struct opt_uses *opt_uses(struct opt *o);
const struct opt_calls *opt_calls(struct opt *o);

/* ---- arguments and results of a call of opt_run --------------------------------------------- */

/* A custom call of a program that is divided. By operand, then result: its type before, its sharding as HLO writes it. */
struct opt_custom_call {
    const struct ir_module *m;
    ir_op op;
    const ir_type *types;
    const struct str *shardings;
};

/* What becomes of it: the function @main of a program without other functions, on local shards; NULL: the operands themselves.
   By operand, then result: the sharding. */
struct opt_division {
    const struct ir_module *program;
    const struct str *shardings;
    struct str error;               /* why not */
};

/* Divides custom calls whose partitions only their framework knows; for the pass `partition`. */
struct opt_partitioner {
    void *user;
    bool (*knows)(void *user, struct str target);
    /* What it gives lives until it is called again. */
    hilo_status (*divide)(void *user, const struct opt_custom_call *call, struct opt_division *out);
};

/* With batch_invariant: products of up to so many rows. */
enum { OPT_INVARIANT_ROWS = 16 };

struct opt_options {
    int level;                      /* of the pipeline */
    const char *passes;             /* "dce,cse": these instead of the pipeline; NULL = the pipeline */
    const char *stop_after;         /* the first pass of this name is the last that is run; or NULL */
    bool verify;                    /* after every pass; opt_init sets it in debug builds */
    enum opt_float floats;          /* rules beyond this class are not applied */
    const char *const *disabled;    /* names of rules that are not applied either */
    size_t ndisabled;
    bool batch_invariant;           /* the bits of a row of a product do not depend on the number of rows */
    size_t strip_bytes;             /* what the pass strip-mine takes for large: more bytes; 0: 1 MB */
    uint64_t rule_limit;            /* applications in all, to bisect for the one that is wrong; opt_init: no limit */
    ir_op entry;                    /* only this function is called from outside; none = every public one */
    const struct opt_partitioner *partitioner; /* or NULL */
    const struct target *target;    /* the machine that costs are for; NULL = the portable one */
    const char *dump_after;         /* a pass's name or "all": then call `dump`; or NULL */
    void (*dump)(void *user, const struct ir_module *m, const char *pass, bool changed);
    void *dump_user;
};

/* One pass that was run. */
struct opt_row {
    const struct opt_pass *pass;
    uint32_t before, after;         /* ops in the module */
    uint32_t changes;               /* what the pass counts: ops folded, calls inlined … */
    double us;
};

struct opt {
    struct ir_module *m;
    struct diag_list *d;
    struct opt_options options;
    struct arena scratch;           /* of the pass that runs */
    struct arena arena;             /* of what follows */
    struct { struct opt_row *v; uint32_t n, cap; } rows;
    uint32_t hits[OPT_RULE_COUNT];  /* how often each rule was applied */
    uint64_t applied;               /* all of them */
    uint32_t ops;                   /* in the module when the pass began */
    uint32_t changes;               /* of the pass that runs; 0 at its end = the module is as it was */
    unsigned valid;                 /* analyses that are */
    struct arena facts;             /* of the analyses */
    struct opt_uses uses;
    struct opt_calls calls;
};

/* `m` and `d` must outlive `o`. Fill in the options after it; the level is 0. */
void opt_init(struct opt *o, struct ir_module *m, struct diag_list *d);
/* Runs the passes. INVALID_ARGUMENT for names that do not exist; INTERNAL when a module does not verify after a pass;
   RESOURCE_EXHAUSTED. After an error the module is of no use. m->arena.recover is changed. */
hilo_status opt_run(struct opt *o);
void opt_free(struct opt *o);

/* ---- sizes ------------------------------------------------------------------------------------ */

/* `type` is `than` with the sizes of some more dimensions. */
bool opt_refines(const struct ir_module *m, ir_type type, ir_type than);
/* What a cast from a more precise type is of; the value itself when it is something else. */
ir_val opt_precise(const struct ir_module *m, ir_val v);
/* Follows the types of arguments, one for each parameter of `func`, through the program, by the passes `inline`, `shapes` and
   `fold`. The module is as good as before when all of it has known sizes then and it verifies, for calls with such arguments;
   else it is of no use, as after an error. Before opt_run, with the same options. */
hilo_status opt_refine(struct opt *o, ir_op func, const ir_type *types);

/* ---- loops and constants, without a pass ----------------------------------------------------- */

/* The integer (or boolean) that all elements of a constant are; false for anything else. */
bool opt_integer(const struct ir_module *m, ir_val v, int64_t *out);
/* How often a value is an operand in a block, nested ones too. */
uint32_t opt_uses_in(const struct ir_module *m, ir_block b, ir_val v);
/* The body of a while yields variable i unchanged. */
bool opt_loop_invariant(const struct ir_module *m, ir_op loop, uint32_t i);
/* The trip count of a while, where it counts by a constant from one to another; false when that is not known. */
bool opt_trip_count(const struct ir_module *m, ir_op loop, uint64_t *n);
/* In each iteration of a while the value `at`, of its body, is another position of a dimension of that size, and all positions
   occur: it is scale * counter + plus. */
bool opt_loop_covers(const struct ir_module *m, ir_op loop, ir_val at, int64_t size, int64_t *scale, int64_t *plus);
/* By variable of a while: whether its iterations write all of it, a part each (dynamic_update_slice), and read none of it, so
   that its initial value does not matter. In `a`. */
const bool *opt_loop_overwrites(const struct ir_module *m, ir_op loop, struct arena *a);

/* Whether the module has ops that the pass `fused` writes out or checks. */
bool opt_has_fused(const struct ir_module *m);

/* ---- for passes ------------------------------------------------------------------------------ */

/* Called from outside of the module. */
bool opt_is_root(const struct opt *o, ir_op func);
/* The function that a call or composite runs; none for other ops and where it has no body. */
ir_op opt_callee(const struct opt *o, ir_op op);
/* The op, with everything inside of it, may do more than compute its results. */
bool opt_has_effect(struct opt *o, ir_op op);

#define PASS(id, name, level, requires, preserves, text) hilo_status opt_##id(struct opt *o);
#include "opt/passes.def"

#endif
