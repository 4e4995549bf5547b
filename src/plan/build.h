/* Building a plan: a tree of nodes, which are steps or nested lists, over buffers whose memory is decided in turn by
 * live.c, coalesce.c and assign.c; finish.c writes the steps.
 *
 * Memory belongs to roots: buffers that are no alias. Time is counted in points: what the node at position p reads, it reads
 * at 2p; from there on, too, what it writes is taken, until 2p+1 at least. So an operand that ends at 2p and a result that
 * begins there overlap in that point alone, by which memory that they may share under a condition is told from the rest. */
#ifndef HILO_PLAN_BUILD_H
#define HILO_PLAN_BUILD_H

#include "plan/plan.h"

enum plan_node_kind { NODE_STEP, NODE_UNDEFINED, NODE_LOOP, NODE_BRANCH };

/* What a nested list does to a root. */
struct plan_touch {
    uint32_t root;
    uint32_t ndefs, def_in; /* parts of the node that write all of it; the one that did last, from 1 */
    bool up;                /* read before it is written */
    bool def;               /* written on every path */
    bool written;
    bool live_out, live_in; /* live.c */
    uint32_t outer_scope, outer_slot;
};

/* Kernels that run at once: next to each other in their list, and at one position. */
struct plan_group {
    struct plan_node **v;
    uint32_t n;
};

struct plan_list {
    struct { struct plan_node **v; uint32_t n, cap; } nodes;
    uint32_t begin, end;    /* positions of its own */
};

struct plan_node {
    enum plan_node_kind kind;
    enum plan_step_kind step;
    uint32_t at, end;       /* positions; end: of LOOP and BRANCH */
    uint32_t depth;
    bool effect, dead;
    uint32_t init;          /* as in plan_step */
    uint32_t nuses;
    struct plan_use *uses;  /* of a step; LOOP: the predicate, or none; BRANCH: the selector; COPY: n pairs of source and
                               destination */
    uint64_t trips;         /* LOOP without a predicate */
    const struct plan_kernel *kernel;
    const struct lib_match *routine;
    const struct plan_collective *collective;
    ir_op func;
    const struct plan_note *note;
    struct plan_list *outer; /* that contains it */
    const struct plan_group *group; /* that it is of; or NULL */
    struct { struct plan_list **v; uint32_t n, cap; } lists;     /* LOOP: test, body; BRANCH: by number */
    struct { struct plan_touch *v; uint32_t n, cap; } touched;
};

/* Points begin … end, both included. */
struct plan_span {
    uint32_t begin, end;
};

/* A root, and, where it stands for a class of roots that share memory, the class. */
struct plan_root {
    uint32_t until;          /* while live.c goes back in time: the end of the span that is open; 0 = dead */
    uint32_t newest;         /* span, and its number + 1 */
    uint32_t parent;         /* in its class; itself = it stands for it */
    struct plan_span *spans; /* ascending, apart from each other */
    const struct plan_span *own; /* of the root alone */
    uint32_t nspans, nown;
    int32_t result;          /* of the class; -1 = none */
    int32_t lender;          /* the result in whose memory the class is besides; -1 = none */
    size_t offset;           /* of the class in the block, or in that of its lender */
};

/* What gets an offset: a class of roots that is no result. */
struct plan_item {
    uint32_t root;
    size_t bytes;           /* a multiple of 64 */
    size_t offset;
    uint32_t begin, end;    /* first and last point */
    const struct plan_span *spans;
    uint32_t nspans;
};

struct plan_donor_hint {
    uint32_t argument, result;
};

struct plan_builder {
    struct arena *a;
    const struct ir_module *m;
    struct diag_list *d;
    struct { struct plan_buffer *v; uint32_t n, cap; } buffers;
    struct plan_list top;
    struct plan_list *list;  /* where steps go */
    const struct plan_note *note; /* of them */
    struct { struct plan_node **v; uint32_t n, cap; } opened; /* LOOPs and BRANCHes around it */
    uint32_t narguments, nresults, nvalues;
    uint32_t *arguments, *results; /* UINT32_MAX = none yet; from plan_finish on results are roots */
    uint32_t *types;         /* the buffers that were given for the results */
    struct { struct plan_donor_hint *v; uint32_t n, cap; } donor_hints;
    bool *unchanged, *donated; /* by argument: in most runs */
    struct plan_init *sections; /* of init steps; their nsteps: from plan_finish on */
    uint32_t nsections;
    /* from plan_finish on, by buffer */
    struct plan_root *roots;
    int32_t *donors;
    size_t block_bytes[PLAN_SPACES], live_bytes[PLAN_SPACES];
    uint32_t fullest;        /* the first point at which the most is live, on the device if there is one */
};

static inline const struct plan_buffer *plan_root_of(const struct plan_builder *b, uint32_t buffer) {
    return &b->buffers.v[b->buffers.v[buffer].root];
}

/* True when the buffer is all of its root's memory. */
static inline bool plan_is_full(const struct plan_builder *b, uint32_t buffer) {
    return b->buffers.v[buffer].bytes == plan_root_of(b, buffer)->bytes;
}

static inline uint32_t plan_class(struct plan_builder *b, uint32_t root) {
    while (b->roots[root].parent != root)
        root = b->roots[root].parent = b->roots[b->roots[root].parent].parent;
    return root;
}

/* Checks the steps, gives them positions, marks those whose results are unused, and finds the spans of the roots (live.c). */
hilo_status plan_liveness(struct plan_builder *b);
/* True when two lists of spans have points in common, other than single ones that `allowed` (may be NULL) allows. */
typedef bool plan_overlap_rule(void *user, uint32_t point);
bool plan_spans_overlap(const struct plan_span *x, uint32_t nx, const struct plan_span *y, uint32_t ny,
                        plan_overlap_rule *allowed, void *user);
/* Joins roots that can share memory to classes, and finds donors (coalesce.c). */
void plan_coalesce(struct plan_builder *b);
/* A node for a list that is built anew, next to one that is like it (build.c). */
struct plan_node *plan_node_like(struct plan_builder *b, const struct plan_node *like, enum plan_node_kind kind,
                                 uint32_t nuses);
/* Where the classes are that are no results: in the block, or in the memory of a result (assign.c). */
void plan_assign(struct plan_builder *b);
/* Offsets of items, which are sorted by begin, in time n log n; the bytes of the block (sweep.c). Spans are taken as one
   each. */
size_t plan_sweep(struct arena *a, struct plan_item *items, uint32_t n);
/* A temporary of a buffer's type, in the same memory. */
uint32_t plan_like(struct plan_builder *b, uint32_t buffer);

#endif
