/* Clustering of a block; see fuse.h. */
#include "fuse/fuse.h"
#include "fuse/parts.h"
#include "fuse/siblings.h"
#include "fuse/stages.h"

#include <math.h>

#define ALU(x)      FUSE_ELEMENT
#define FUN(x)      FUSE_ELEMENT
#define ELT(x)      FUSE_ELEMENT
#define ELT_IF(x)   FUSE_ELEMENT
#define MOVE(x)     FUSE_MOVE
#define WINDOW(x)   FUSE_WINDOW
#define AS(x)       FUSE_NONE
#define NONE        FUSE_NONE
#define REDUCTION   FUSE_REDUCTION
#define CONTRACTION FUSE_CONTRACTION
#define UPDATE      FUSE_UPDATE
#define FLOW        FUSE_FLOW
static const uint8_t classes[] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, local, sharding) [IR_##id] = lower,
#include "ir/ops.def"
};

enum fuse_class fuse_class(enum ir_op_kind kind) {
    return (enum fuse_class)classes[kind];
}

static const struct {
    const char *name, *text;
} reasons[] = {
#define REASON(id, name, text) [FUSE_##id] = {name, text},
#include "fuse/reasons.def"
};

const char *fuse_reason_name(enum fuse_reason r) {
    return reasons[r].name;
}

const char *fuse_reason_text(enum fuse_reason r) {
    return reasons[r].text;
}

enum fuse_reason fuse_reason(const struct fuse_block *b, ir_val v) {
    return (enum fuse_reason)opt_ids_get(&b->reasons, v.i);
}

enum {
    MAX_OWNERS = 4,            /* kernels that may each recompute an op */
    MAX_KERNEL_OPS = 256,      /* bounds compile time */
    CODE_SIZE_COST_MIN = 30,   /* cost from which an op expands to so much code that copies of it take time to compile */
    RECOMPUTE_COST_LIMIT = 8,  /* cost from which an op is not computed more often than it has elements */
    MAX_REDUCTIONS = 32,       /* of a kernel */
    MAX_OUTPUTS = 4,           /* of a kernel that stores what it computes anyway, */
    MAX_MERGED_OUTPUTS = 8     /* and of kernels that become one */
};

/* Where an op is computed. */
struct node {
    ir_op op;
    enum fuse_class cls; /* NONE also where kernels cannot compute it */
    bool needed;         /* something that is not a kernel reads its results */
    uint8_t why;         /* enum fuse_reason: why it is needed */
    bool stored;
    bool recomputed_at_multiple_indices; /* of a kernel */
    bool inside_inner_loop;              /* computed at each step of a contraction */
    uint32_t nowners, owners[MAX_OWNERS];
    uint32_t first_external_use; /* the first of its users outside of kernels */
    int8_t *maps[MAX_OWNERS];    /* there: domain dimension of each of its dimensions, -1 of size 1; NULL = another index */
};

/* A kernel whose one output only another one reads. */
struct feed {
    uint32_t kernel, reader;
};

struct fuse {
    struct arena *a;
    const struct ir_module *m;
    ir_block block;
    const struct fuse_options *o;
    struct fuse_block *out;
    struct node *nodes;
    uint32_t n;
    struct opt_ids index; /* by op: 1 + its place in nodes */
    struct opt_ids uses;  /* by value: operands that it is, also in regions */
    struct {
        struct fuse_kernel **v;
        uint32_t n, cap;
    } kernels;
    struct {
        uint32_t *v;
        uint32_t n, cap;
    } merged; /* by kernel: the one that it has become a part of, or itself */
    struct {
        struct fuse_step *v;
        uint32_t n, cap;
    } steps; /* last first */
    struct {
        struct feed *v;
        uint32_t n, cap;
    } feeds;
};

/* ---- facts about ops ------------------------------------------------------------------------- */

bool fuse_is_constant(const struct ir_module *m, ir_val v) {
    ir_op op = ir_val_get(m, v)->op;
    return !IR_NONE(op) && ir_op_has(ir_kind(m, op), IR_T_CONSTANT);
}

enum ir_op_kind fuse_reducer(const struct ir_module *m, ir_op reduce) {
    ir_block b = ir_region_get(m, ir_op_region(m, reduce, 0))->first;
    ir_op op = ir_block_get(m, b)->first, end = ir_terminator(m, b);
    if (ir_op_get(m, reduce)->nresults != 1 || IR_NONE(op) || !IR_SAME(ir_op_get(m, op)->next, end) ||
        ir_op_get(m, op)->noperands != 2 || !IR_SAME(ir_operand(m, end, 0), ir_result(m, op, 0)) ||
        !ir_op_has(ir_kind(m, op), IR_T_ASSOCIATIVE))
        return IR_OP_NONE;
    const ir_val *args = ir_block_get(m, b)->args;
    ir_val p = ir_operand(m, op, 0), q = ir_operand(m, op, 1);
    bool both = (IR_SAME(p, args[0]) && IR_SAME(q, args[1])) || (IR_SAME(p, args[1]) && IR_SAME(q, args[0]));
    return both ? ir_kind(m, op) : IR_OP_NONE;
}

static int64_t count_of(const struct ir_module *m, ir_val v) {
    return (int64_t)ir_val_count(m, v);
}

bool fuse_is_alias(const struct ir_module *m, ir_op op) {
    if (ir_kind(m, op) != IR_BROADCAST_IN_DIM)
        return ir_op_has(ir_kind(m, op), IR_T_ALIAS);
    size_t n;
    const int64_t *d = ir_prop_i64s(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    for (size_t i = 1; i < n; i++)
        if (d[i] < d[i - 1])
            return false;
    return count_of(m, ir_operand(m, op, 0)) == count_of(m, ir_result(m, op, 0));
}

/* Of a block's argument: a state that a loop passes on, or an argument of the program that is the same in most runs. */
static bool is_unchanged(const struct ir_module *m, const struct ir_val_data *x) {
    ir_op owner = ir_region_get(m, ir_block_get(m, x->block)->parent)->parent;
    if (ir_kind(m, owner) == IR_WHILE) {
        ir_block body = ir_region_get(m, ir_op_region(m, owner, 1))->first;
        return IR_SAME(ir_operand(m, ir_terminator(m, body), x->index), ir_block_get(m, body)->args[x->index]);
    }
    return ir_kind(m, owner) == IR_FUNC && ir_func_arg_is_unchanged(m, owner, x->index);
}

/* `ops`: how many may still be looked at. */
static bool is_invariant(const struct ir_module *m, ir_block b, ir_val v, uint32_t *ops) {
    const struct ir_val_data *x = ir_val_get(m, v);
    ir_op around = ir_region_get(m, ir_block_get(m, b)->parent)->parent;
    ir_block block = IR_NONE(x->op) ? x->block : ir_op_get(m, x->op)->parent;
    if (fuse_is_constant(m, v) || (!IR_SAME(block, b) && ir_kind(m, around) == IR_WHILE))
        return true;
    if (IR_NONE(x->op))
        return is_unchanged(m, x);
    enum fuse_class class = fuse_class(ir_kind(m, x->op));
    const struct ir_op_data *op = ir_op_get(m, x->op);
    if (*ops == 0 || (class != FUSE_ELEMENT && class != FUSE_MOVE && !fuse_is_alias(m, x->op)) || op->nregions)
        return false;
    --*ops;
    for (uint32_t i = 0; i < op->noperands; i++)
        if (!is_invariant(m, b, ir_operand(m, x->op, i), ops))
            return false;
    return op->noperands != 0;
}

bool fuse_is_invariant(const struct ir_module *m, ir_block b, ir_val v) {
    uint32_t ops = 64;
    return is_invariant(m, b, v, &ops);
}

static int cost_of(const struct ir_module *m, ir_op op) {
    int cost = ir_op_info(ir_kind(m, op))->cost;
    return cost < 0 ? RECOMPUTE_COST_LIMIT : cost;
}

/* How many operands of an op are not scalars, also broadcast ones, or constants; *last: the last of them. */
static int tensor_operands(const struct ir_module *m, ir_op op, ir_val *last) {
    int tensors = 0;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        ir_val v = ir_operand(m, op, i);
        ir_op def = ir_val_get(m, v)->op;
        bool scalar = count_of(m, v) == 1 || fuse_is_constant(m, v) ||
                      (!IR_NONE(def) && ir_kind(m, def) == IR_BROADCAST_IN_DIM && count_of(m, ir_operand(m, def, 0)) == 1);
        tensors += !scalar;
        *last = scalar ? *last : v;
    }
    return tensors;
}

/* Whether recomputing it in several kernels costs next to nothing: it moves data, or is a cheap function of one tensor. */
static bool is_cheap(const struct ir_module *m, const struct node *n) {
    enum ir_op_kind kind = ir_kind(m, n->op);
    ir_val tensor = {0};
    if (n->cls == FUSE_MOVE)
        return kind != IR_GATHER && kind != IR_CONCATENATE;
    return n->cls == FUSE_ELEMENT && kind != IR_MAP && cost_of(m, n->op) <= 1 && tensor_operands(m, n->op, &tensor) <= 1;
}

static struct node *node_of(struct fuse *f, ir_val v) {
    uint32_t i = opt_ids_get(&f->index, ir_val_get(f->m, v)->op.i);
    return i && !IR_NONE(ir_val_get(f->m, v)->op) ? &f->nodes[i - 1] : NULL;
}

/* The value that it is a copy of, in another shape. */
static ir_val moved_from(const struct ir_module *m, ir_val v) {
    for (ir_op op = ir_val_get(m, v)->op; !IR_NONE(op); op = ir_val_get(m, v)->op) {
        if (ir_kind(m, op) != IR_RESHAPE && ir_kind(m, op) != IR_BROADCAST_IN_DIM)
            break;
        v = ir_operand(m, op, 0);
    }
    return v;
}

/* Whether a value is converted from integers of at most `bits` bits, with a sign or of any kind. */
static bool is_integer(const struct ir_module *m, ir_val v, uint32_t bits, bool is_signed) {
    ir_op from = ir_val_get(m, moved_from(m, v))->op;
    if (IR_NONE(from) || ir_kind(m, from) != IR_CONVERT)
        return false;
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, ir_operand(m, from, 0))->dtype);
    return (t->cls == IR_SINT || (t->cls == IR_UINT && !is_signed)) && t->bits <= bits;
}

/* Whether the op multiplies integers with a sign by scales, each for several of them. */
static bool scales_integers(const struct ir_module *m, ir_op op, uint32_t bits) {
    enum { GROUP = 8 };
    for (uint32_t i = 0; i < 2 && ir_kind(m, op) == IR_MULTIPLY; i++) {
        if (is_integer(m, ir_operand(m, op, i), bits, true))
            return GROUP * count_of(m, moved_from(m, ir_operand(m, op, !i))) <= count_of(m, ir_result(m, op, 0));
    }
    return false;
}

/* The number of terms of a dot's sums. */
static int64_t terms_of(const struct ir_module *m, ir_op dot) {
    size_t n;
    ir_attr a = ir_prop(m, dot, IR_DOT_GENERAL_dot_dimension_numbers);
    const int64_t *sum = ir_field_dims(m, a, IR_DOT_lhs_contracting_dimensions_F, &n);
    int64_t terms = 1;
    for (size_t i = 0; i < n; i++)
        terms *= ir_val_type(m, ir_operand(m, dot, 0))->dims[sum[i]];
    return terms;
}

/* Whether v is integers of at most 8 bits, or those times scales, or plus offsets. */
static bool is_scaled_bytes(const struct ir_module *m, ir_val v) {
    enum { OPS = 2, BITS = 8 };
    for (int i = 0; i <= OPS; i++) {
        ir_op op = ir_val_get(m, moved_from(m, v))->op;
        if (is_integer(m, v, BITS, false))
            return true;
        if (IR_NONE(op) || (ir_kind(m, op) != IR_MULTIPLY && ir_kind(m, op) != IR_ADD))
            return false;
        v = ir_operand(m, op, 0);
    }
    return false;
}

/* Gives a kernel the contraction whose loops are its own. */
static void set_anchor(const struct fuse *f, struct fuse_kernel *k, ir_op op) {
    enum { BITS = 8 };
    const struct target *t = f->o->target;
    k->anchor = op;
    if (ir_kind(f->m, op) != IR_DOT_GENERAL || t->block_threads || (!t->dot_i8 && !t->dot2_i8))
        return;
    ir_op rows = ir_val_get(f->m, moved_from(f->m, ir_operand(f->m, op, 0)))->op;
    k->byte_rows = !IR_NONE(rows) && scales_integers(f->m, rows, BITS) && is_scaled_bytes(f->m, ir_operand(f->m, op, 1));
}

/* Whether a contraction of few rows reads integers and their scales instead of the numbers: it splits rows into bytes before
   it multiplies them (lower/matvec.c), and integers have fewer. */
static bool is_split(const struct fuse *f, const struct fuse_kernel *k, const struct node *n) {
    enum { BITS = 16 };
    return n->inside_inner_loop && k->schedule == FUSE_CONTRACT && ir_kind(f->m, k->anchor) == IR_DOT_GENERAL &&
           scales_integers(f->m, n->op, BITS) &&
           count_of(f->m, ir_result(f->m, n->op, 0)) / terms_of(f->m, k->anchor) <= fuse_fused_rows(k);
}

static bool is_split_by_owners(const struct fuse *f, const struct node *n) {
    for (uint32_t i = 0; i < n->nowners; i++)
        if (!is_split(f, f->kernels.v[n->owners[i]], n))
            return false;
    return true;
}

/* Whether it is recomputed in several kernels. Not so where what it is computed from, through cheap ops, is read by nothing
   else and takes as much memory: then its result is stored instead. */
static bool is_recomputed(struct fuse *f, const struct node *n) {
    size_t bytes, stored;
    if (is_split_by_owners(f, n))
        return true;
    if (!is_cheap(f->m, n) || n->cls != FUSE_ELEMENT || !ir_type_bytes(ir_val_type(f->m, ir_result(f->m, n->op, 0)), &stored))
        return is_cheap(f->m, n);
    for (const struct node *p = n;;) {
        ir_val v = {0};
        if (tensor_operands(f->m, p->op, &v) == 0 || opt_ids_get(&f->uses, v.i) > 1 ||
            !ir_type_bytes(ir_val_type(f->m, v), &bytes) || bytes < stored)
            return true;
        p = node_of(f, v);
        if (!p || p->cls == FUSE_NONE || p->cls == FUSE_FLOW || p->cls == FUSE_MOVE || p->cls == FUSE_UPDATE)
            return true;
        if (!is_cheap(f->m, p))
            return false;
    }
}

static uint32_t place_of(const struct fuse *f, ir_op op) {
    return opt_ids_get(&f->index, op.i) - 1;
}

/* Of two places where something is read; 0 = it is not read. */
static uint32_t earliest(uint32_t x, uint32_t y) {
    return x && (x < y || !y) ? x : y;
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void count_uses(struct fuse *f, ir_block b) {
    const struct ir_module *m = f->m;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
            uint32_t v = ir_operand(m, op, i).i;
            opt_ids_set(&f->uses, v, opt_ids_get(&f->uses, v) + 1);
        }
        for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
            for (ir_block in = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(in); in = ir_block_get(m, in)->next)
                count_uses(f, in);
    }
}

static void need(struct fuse *f, ir_val v, uint32_t at, enum fuse_reason why) {
    struct node *p = node_of(f, v);
    if (p) {
        p->why = p->needed ? p->why : (uint8_t)why;
        p->needed = true;
        p->first_external_use = at < p->first_external_use || !p->first_external_use ? at : p->first_external_use;
    }
}

/* Marks what the op's regions capture as needed. */
static void need_region(struct fuse *f, ir_region r, uint32_t at) {
    for (ir_block b = ir_region_get(f->m, r)->first; !IR_NONE(b); b = ir_block_get(f->m, b)->next)
        for (ir_op op = ir_block_get(f->m, b)->first; !IR_NONE(op); op = ir_op_get(f->m, op)->next) {
            for (uint32_t i = 0; i < ir_op_get(f->m, op)->noperands; i++)
                need(f, ir_operand(f->m, op, i), at, FUSE_REGION);
            for (uint32_t i = 0; i < ir_op_get(f->m, op)->nregions; i++)
                need_region(f, ir_op_region(f->m, op, i), at);
        }
}

static bool same_map(const int8_t *a, const int8_t *b, uint32_t rank) {
    return a == b || (a && b && (rank == 0 || memcmp(a, b, rank) == 0));
}

/* The kernel that a kernel has become. */
static uint32_t kernel_now(const struct fuse *f, uint32_t k) {
    while (f->merged.v[k] != k)
        k = f->merged.v[k] = f->merged.v[f->merged.v[k]];
    return k;
}

/* Where a kernel is in the program: all that it reads has to be stored before. */
static uint32_t runs_at(const struct fuse *f, uint32_t k) {
    return place_of(f, f->kernels.v[kernel_now(f, k)]->root);
}

static void remove_owner(struct node *n, uint32_t i) {
    n->nowners--;
    memmove(n->owners + i, n->owners + i + 1, (n->nowners - i) * sizeof *n->owners);
    memmove(n->maps + i, n->maps + i + 1, (n->nowners - i) * sizeof *n->maps);
}

static uint32_t rank_of(const struct fuse *f, const struct node *n) {
    return ir_val_type(f->m, ir_result(f->m, n->op, 0))->rank;
}

/* Follows kernels that were merged since the op's owners were noted. */
static void update_owners(const struct fuse *f, struct node *n) {
    for (uint32_t i = 0; i < n->nowners; i++) {
        uint32_t now = kernel_now(f, n->owners[i]), j = 0;
        if (now == n->owners[i])
            continue;
        while (j < n->nowners && n->owners[j] != now)
            j++;
        if (j == n->nowners) {
            n->owners[i] = now;
            continue;
        }
        n->recomputed_at_multiple_indices |= !n->maps[i] || !same_map(n->maps[i], n->maps[j], rank_of(f, n));
        remove_owner(n, i--);
    }
}

/* Op `user` (at place `at`), computed in kernel k, reads v at the index that `map` gives. */
static void use(struct fuse *f, const struct node *user, uint32_t at, ir_val v, uint32_t k, int8_t *map,
                bool inside_inner_loop) {
    struct node *p = node_of(f, v);
    if (!p)
        return;
    if (p->cls == FUSE_MOVE && ir_op_get(f->m, p->op)->nresults > 1) { /* a barrier, whose results need not be of one shape */
        need(f, v, at, FUSE_VIEW);
        return;
    }
    update_owners(f, p);
    uint32_t i = 0;
    while (i < p->nowners && p->owners[i] != k)
        i++;
    if (i == MAX_OWNERS) {
        need(f, v, at, FUSE_CAPTURED);
        return;
    }
    p->inside_inner_loop |= inside_inner_loop;
    if (i == p->nowners) {
        p->maps[i] = map;
        p->nowners++;
        p->owners[i] = k;
        p->recomputed_at_multiple_indices |= user->recomputed_at_multiple_indices;
        return;
    }
    if (!same_map(p->maps[i], map, ir_val_type(f->m, v)->rank) || !map || user->recomputed_at_multiple_indices) {
        p->maps[i] = NULL;
        p->recomputed_at_multiple_indices = true;
    }
}

/* ---- the index at which operands are read ---------------------------------------------------- */

static int8_t *new_map(struct fuse *f, uint32_t rank) {
    int8_t *map = ARENA_ARRAY(f->a, int8_t, rank ? rank : 1);
    memset(map, -1, rank);
    return map;
}

/* The map of an operand whose dimensions of more than one element are the result's, in order. */
static int8_t *map_reshape(struct fuse *f, ir_val from, ir_val to, const int8_t *map) {
    const struct ir_type_data *a = ir_val_type(f->m, from), *b = ir_val_type(f->m, to);
    int8_t *out = new_map(f, a->rank);
    uint32_t j = 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] == 1)
            continue;
        while (j < b->rank && b->dims[j] == 1)
            j++;
        if (j == b->rank || b->dims[j] != a->dims[i])
            return NULL;
        out[i] = map[j++];
    }
    while (j < b->rank)
        if (b->dims[j++] != 1)
            return NULL;
    return out;
}

/* The map of operand i of an op that is computed at `map` of its result; NULL = at some other index. */
static int8_t *operand_map(struct fuse *f, const struct node *n, uint32_t i, const int8_t *map) {
    const struct ir_module *m = f->m;
    ir_val v = ir_operand(m, n->op, i), r = ir_result(m, n->op, 0);
    const struct ir_type_data *t = ir_val_type(m, v);
    if (t->rank == 0)
        return new_map(f, 0);
    if (!map)
        return NULL;
    size_t count;
    int8_t *out;
    switch (ir_kind(m, n->op)) {
    case IR_BROADCAST_IN_DIM: {
        const int64_t *d = ir_prop_i64s(m, n->op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &count);
        out = new_map(f, t->rank);
        for (size_t k = 0; k < count; k++)
            if (t->dims[k] != 1)
                out[k] = map[d[k]];
        return out;
    }
    case IR_TRANSPOSE: {
        const int64_t *d = ir_prop_i64s(m, n->op, IR_TRANSPOSE_permutation, &count);
        out = new_map(f, t->rank);
        for (size_t k = 0; k < count; k++)
            out[d[k]] = map[k];
        return out;
    }
    case IR_RESHAPE:
        return map_reshape(f, v, r, map);
    default:
        return n->cls == FUSE_ELEMENT && t->rank == ir_val_type(m, r)->rank ? (int8_t *)(uintptr_t)map : NULL;
    }
}

/* The map of the operands of a reduction: kept dimensions as the result's, reduced ones are the rest of a row of kernel `rows`,
   but for those of one element. NULL unless they are in that order. */
static int8_t *reduce_map(struct fuse *f, ir_op op, const int8_t *map, const struct fuse_kernel *rows) {
    const struct ir_type_data *t = ir_val_type(f->m, ir_operand(f->m, op, 0));
    size_t n;
    const int64_t *d = ir_prop_i64s(f->m, op, IR_REDUCE_dimensions, &n);
    int8_t *out = new_map(f, t->rank);
    uint32_t kept = 0, next = rows->outer;
    bool any = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool reduced = false;
        for (size_t k = 0; k < n; k++)
            reduced |= d[k] == (int64_t)i;
        if (!reduced) {
            out[i] = map[kept++];
            if (any && t->dims[i] != 1)
                return NULL;
        } else if (t->dims[i] != 1) {
            while (rows->dims[next] == 1)
                next++;
            out[i] = (int8_t)next++;
            any = true;
        }
    }
    return out;
}

/* ---- reductions in kernels of rows ------------------------------------------------------------ */

/* The number of leading domain dimensions that `map` covers, all of them in order; -1 when it is no prefix. */
static int prefix_of(const struct fuse_kernel *k, const int8_t *map, const struct ir_type_data *t) {
    int at = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] == 1)
            continue;
        while (at < (int)k->rank && k->dims[at] == 1)
            at++;
        if (map[i] != at)
            return -1;
        at++;
    }
    return at;
}

static int64_t product(const int64_t *d, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= d[i];
    return p;
}

static bool only_ones(const struct fuse_kernel *k, uint32_t from) {
    return product(k->dims + from, k->rank - from) == 1;
}

/* The sizes of the reduced dimensions of more than one element; false unless they come after the kept ones. */
static bool trailing_sizes(const struct fuse *f, ir_op op, int64_t *sizes, uint32_t *n) {
    const struct ir_type_data *t = ir_val_type(f->m, ir_operand(f->m, op, 0));
    size_t count;
    const int64_t *d = ir_prop_i64s(f->m, op, IR_REDUCE_dimensions, &count);
    *n = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool reduced = false;
        for (size_t k = 0; k < count; k++)
            reduced |= d[k] == (int64_t)i;
        if (reduced && t->dims[i] != 1)
            sizes[(*n)++] = t->dims[i];
        else if (!reduced && t->dims[i] != 1 && *n)
            return false;
    }
    return true;
}

/* Computes the reduction, which kernel k reads at `map`, once for each row of k, which becomes row-wise; or returns why not. */
static enum fuse_reason fuse_rows(struct fuse *f, struct fuse_kernel *k, const struct node *n, const int8_t *map) {
    int64_t sizes[IR_MAX_RANK];
    uint32_t nsizes, matched = 0;
    struct fuse_kernel next = *k;
    if (n->inside_inner_loop)
        return FUSE_CONTRACTED;
    if (k->schedule == FUSE_CONTRACT || k->schedule == FUSE_INTO)
        return k->schedule == FUSE_INTO ? FUSE_PART : FUSE_ANCHOR;
    if (k->nested)
        return FUSE_NESTED;
    if (!map || n->recomputed_at_multiple_indices)
        return FUSE_REPEATED;
    if (!trailing_sizes(f, n->op, sizes, &nsizes) || nsizes == 0)
        return FUSE_ORDER;
    int p = prefix_of(k, map, ir_val_type(f->m, ir_result(f->m, n->op, 0)));
    if (p < 0)
        return FUSE_DOMAIN;
    if (k->schedule == FUSE_MAP && only_ones(k, (uint32_t)p)) { /* so far the kernel has one value a row */
        if (k->rank + nsizes > IR_MAX_RANK)
            return FUSE_ROWS_DIFFER;
        p = (int)k->rank;
        memcpy(next.dims + p, sizes, nsizes * sizeof *sizes);
        next.rank += nsizes;
    }
    for (uint32_t i = (uint32_t)p; i < next.rank; i++)
        if (next.dims[i] != 1 && (matched == nsizes || next.dims[i] != sizes[matched++]))
            return FUSE_ROWS_DIFFER;
    int64_t rows = product(next.dims, (uint32_t)p);
    if (matched != nsizes || (k->schedule == FUSE_ROWS && rows != product(k->dims, k->outer)))
        return FUSE_ROWS_DIFFER;
    if (k->reduces.n >= MAX_REDUCTIONS)
        return FUSE_REDUCTIONS;
    if (rows < f->o->target->tasks && count_of(f->m, ir_operand(f->m, n->op, 0)) > f->o->target->parallel_ops && k->nops > 0)
        return FUSE_LONG_ROWS;
    next.schedule = FUSE_ROWS;
    next.outer = k->schedule == FUSE_ROWS ? k->outer : (uint32_t)p;
    ARENA_PUSH(f->a, &next.reduces, n->op);
    *k = next;
    return FUSE_FUSED;
}

/* ---- joining --------------------------------------------------------------------------------- */

static bool covers(const struct fuse_kernel *k, const int8_t *map, const struct ir_type_data *t) {
    return map && prefix_of(k, map, t) >= 0 && only_ones(k, (uint32_t)prefix_of(k, map, t));
}

/* The dimension of a dot's result along which kernels have lanes: the last that is contiguous in its operand, or the last. */
static uint32_t lanes_dim(const struct fuse *f, ir_op op) {
    const struct ir_type_data *t = ir_val_type(f->m, ir_result(f->m, op, 0));
    ir_attr a = ir_prop(f->m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t nbatch, nsum;
    uint32_t dim = 0, at, last = 0;
    bool found = false;
    for (uint32_t i = 0; i < t->rank; i++)
        last = t->dims[i] != 1 ? i : last;
    const int64_t *batch[] = {ir_field_dims(f->m, a, IR_DOT_lhs_batching_dimensions_F, &nbatch),
                              ir_field_dims(f->m, a, IR_DOT_rhs_batching_dimensions_F, &nbatch)};
    const int64_t *sum[] = {ir_field_dims(f->m, a, IR_DOT_lhs_contracting_dimensions_F, &nsum),
                            ir_field_dims(f->m, a, IR_DOT_rhs_contracting_dimensions_F, &nsum)};
    at = (uint32_t)nbatch;
    for (uint32_t side = 0; side < 2; side++) {
        const struct ir_type_data *x = ir_val_type(f->m, ir_operand(f->m, op, side));
        bool free = false; /* the last dimension of more than one element */
        uint32_t free_at = 0;
        for (uint32_t i = 0; i < x->rank; i++) {
            bool taken = false;
            for (size_t k = 0; k < nbatch; k++)
                taken |= batch[side][k] == (int64_t)i;
            for (size_t k = 0; k < nsum; k++)
                taken |= sum[side][k] == (int64_t)i;
            free = x->dims[i] != 1 ? !taken : free;
            free_at = x->dims[i] != 1 && !taken ? at : free_at;
            at += !taken;
        }
        dim = free ? free_at : dim;
        found |= free;
    }
    return found ? dim : last;
}

/* Whether a dot is read at the whole domain of a kernel in another order, which does not change the dimension of lanes. */
static bool covers_transposed(const struct fuse *f, const struct fuse_kernel *k, const struct node *n, const int8_t *map) {
    const struct ir_type_data *t = ir_val_type(f->m, ir_result(f->m, n->op, 0));
    uint32_t read = 0, all = 0, last = 0;
    if (ir_kind(f->m, n->op) != IR_DOT_GENERAL || !map)
        return false;
    for (uint32_t i = 0; i < k->rank; i++) {
        all |= (uint32_t)(k->dims[i] != 1) << i;
        last = k->dims[i] != 1 ? i : last;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] != 1 && (map[i] < 0 || read >> map[i] & 1))
            return false;
        read |= t->dims[i] != 1 ? 1u << map[i] : 0;
    }
    return read == all && t->rank && map[lanes_dim(f, n->op)] == (int8_t)last;
}

/* Bytes in memory from which a value is computed, followed through `depth` ops. */
static double source_bytes(const struct fuse *f, ir_val v, int depth) {
    ir_op op = ir_val_get(f->m, v)->op;
    size_t bytes;
    if (fuse_is_constant(f->m, v))
        return 0;
    enum fuse_class cls = IR_NONE(op) ? FUSE_NONE : fuse_class(ir_kind(f->m, op));
    if ((cls != FUSE_ELEMENT && cls != FUSE_MOVE) || depth == 0)
        return ir_type_bytes(ir_val_type(f->m, v), &bytes) ? (double)bytes : INFINITY;
    double sum = 0;
    for (uint32_t i = 0; i < ir_op_get(f->m, op)->noperands; i++)
        sum += source_bytes(f, ir_operand(f->m, op, i), depth - 1);
    return sum;
}

/* Whether it takes at most half of the memory that a value would be stored in to compute the value: it is dequantised. */
static bool is_dequantised(const struct fuse *f, ir_val v) {
    size_t bytes;
    return ir_type_bytes(ir_val_type(f->m, v), &bytes) && 2 * source_bytes(f, v, 10) <= (double)bytes;
}

/* Whether a contraction multiplies each element of the op's result with so few others that it is cheaper to compute it each
   time than to store it: what dequantises a matrix for few rows. */
static bool has_few_uses(const struct fuse *f, const struct fuse_kernel *k, const struct node *n) {
    if (ir_kind(f->m, k->anchor) != IR_DOT_GENERAL || cost_of(f->m, n->op) > 1)
        return false;
    double products = (double)count_of(f->m, ir_result(f->m, k->anchor, 0)) * (double)terms_of(f->m, k->anchor);
    ir_val v = ir_result(f->m, n->op, 0);
    double count = (double)count_of(f->m, v);
    return products <= FUSE_FEW_ROWS * count || (products <= (double)fuse_fused_rows(k) * count && is_dequantised(f, v));
}

/* Whether a contraction packs each element once, or few times, and it is computed from much
   less memory than it would be stored in: what dequantises a matrix for many rows. */
static bool is_packed(const struct fuse *f, const struct fuse_kernel *k, const struct node *n) {
    int64_t least = f->o->target->packed_min;
    const struct ir_module *m = f->m;
    size_t nbatch, nsum;
    if (ir_kind(m, k->anchor) != IR_DOT_GENERAL || cost_of(m, n->op) > 1 || n->nowners != 1)
        return false;
    ir_attr a = ir_prop(m, k->anchor, IR_DOT_GENERAL_dot_dimension_numbers);
    for (uint32_t side = 0; side < 2; side++) {
        ir_val x = ir_operand(m, k->anchor, side);
        const int64_t *dims = ir_val_type(m, x)->dims, *batch, *sum;
        batch = ir_field_dims(m, a, side ? IR_DOT_rhs_batching_dimensions_F : IR_DOT_lhs_batching_dimensions_F, &nbatch);
        sum = ir_field_dims(m, a, side ? IR_DOT_rhs_contracting_dimensions_F : IR_DOT_lhs_contracting_dimensions_F, &nsum);
        int64_t terms = 1, others = count_of(m, x);
        for (size_t i = 0; i < nsum; i++)
            terms *= dims[sum[i]];
        for (size_t i = 0; i < nbatch && others > 0; i++)
            others /= dims[batch[i]];
        if (terms < least || others / terms < least)
            return false;
    }
    return is_dequantised(f, ir_result(m, n->op, 0));
}

static enum fuse_reason fuse_element(struct fuse *f, const struct fuse_kernel *k, const struct node *n, const int8_t *map) {
    int cost = cost_of(f->m, n->op);
    if (n->inside_inner_loop &&
        (ir_kind(f->m, n->op) == IR_CONVERT || has_few_uses(f, k, n) || is_packed(f, k, n) || is_split(f, k, n)))
        return FUSE_FUSED;
    if (n->inside_inner_loop)
        return FUSE_CONTRACTED;
    if ((n->recomputed_at_multiple_indices && !is_cheap(f->m, n)) || (cost >= RECOMPUTE_COST_LIMIT && !map))
        return FUSE_REPEATED;
    ir_val v = ir_result(f->m, n->op, 0);
    int64_t domain = product(k->dims, k->rank), count = count_of(f->m, v);
    bool expensive = cost >= RECOMPUTE_COST_LIMIT || (cost > 1 && map && domain - count > f->o->target->parallel_ops);
    if (expensive && domain > 2 * count && prefix_of(k, map, ir_val_type(f->m, v)) < 0) /* it is broadcast along the rows */
        return FUSE_SPREAD;
    return FUSE_FUSED;
}

/* Fuses the op into its owner `i`, or returns why not. */
static enum fuse_reason fuse_into(struct fuse *f, uint32_t i, struct node *n) {
    struct fuse_kernel *k = f->kernels.v[n->owners[i]];
    int8_t *map = n->maps[i];
    const struct ir_type_data *t = ir_val_type(f->m, ir_result(f->m, n->op, 0));
    bool parts = ir_kind(f->m, n->op) == IR_CONCATENATE;
    enum fuse_reason why;
    if (f->o->level < 2)
        return FUSE_LEVEL;
    if (k->nops >= MAX_KERNEL_OPS)
        return FUSE_SIZE;
    switch (n->cls) {
    case FUSE_MOVE:
        if (n->inside_inner_loop && !is_cheap(f->m, n))
            return FUSE_CONTRACTED;
        return parts && (n->recomputed_at_multiple_indices || ir_op_get(f->m, n->op)->noperands > 4) ? FUSE_PARTS : FUSE_FUSED;
    case FUSE_ELEMENT:
        return fuse_element(f, k, n, map);
    case FUSE_WINDOW:
        if (k->schedule != FUSE_MAP || n->recomputed_at_multiple_indices || !covers(k, map, t))
            return n->inside_inner_loop ? FUSE_CONTRACTED : k->schedule != FUSE_MAP ? FUSE_DOMAIN : FUSE_REPEATED;
        k->nested = true;
        return FUSE_FUSED;
    case FUSE_REDUCTION:
        why = fuse_rows(f, k, n, map);
        if (!why || k->schedule != FUSE_MAP || n->inside_inner_loop || n->recomputed_at_multiple_indices ||
            !covers(k, map, t) || k->reduces.n)
            return why;
        k->nested = true;
        return FUSE_FUSED;
    case FUSE_CONTRACTION:
        if (n->inside_inner_loop)
            return FUSE_CONTRACTED;
        if (k->schedule != FUSE_MAP)
            return k->schedule == FUSE_ROWS ? FUSE_ROWS_DIFFER : k->schedule == FUSE_INTO ? FUSE_PART : FUSE_ANCHOR;
        if (k->nested)
            return FUSE_NESTED;
        if (n->recomputed_at_multiple_indices)
            return FUSE_REPEATED;
        if (!covers(k, map, t)) {
            if (!covers_transposed(f, k, n, map))
                return FUSE_DOMAIN;
            k->anchor_map = map;
        }
        k->schedule = FUSE_CONTRACT;
        set_anchor(f, k, n->op);
        return FUSE_FUSED;
    default:
        return FUSE_IN_PLACE;
    }
}

/* Whether two kernels may become one, which runs where the later one does. */
static bool can_merge(const struct fuse *f, const struct fuse_kernel *early, const struct fuse_kernel *late) {
    return early->schedule == FUSE_MAP && late->schedule == FUSE_MAP && !early->nested && !late->nested &&
           early->rank == late->rank && memcmp(early->dims, late->dims, late->rank * sizeof *late->dims) == 0 &&
           early->outs.n + late->outs.n <= MAX_MERGED_OUTPUTS && early->nops + late->nops < MAX_KERNEL_OPS &&
           (!early->first_external_use || early->first_external_use > place_of(f, late->root));
}

/* Kernel `from` becomes a part of `to`, which computes all that it computed. */
static void merge(struct fuse *f, uint32_t from, uint32_t to) {
    struct fuse_kernel *early = f->kernels.v[from], *late = f->kernels.v[to];
    for (uint32_t i = 0; i < early->outs.n; i++)
        ARENA_PUSH(f->a, &late->outs, early->outs.v[i]);
    late->nops += early->nops;
    late->code_size_cost += early->code_size_cost;
    late->first_external_use = earliest(late->first_external_use, early->first_external_use);
    early->merged = true;
    f->merged.v[from] = to;
}

/* Two kernels that compute the op at the same element become one, so that it is computed once and not stored. */
static bool merge_owners(struct fuse *f, struct node *n) {
    const struct ir_type_data *t = ir_val_type(f->m, ir_result(f->m, n->op, 0));
    if (n->recomputed_at_multiple_indices || n->inside_inner_loop || ir_op_get(f->m, n->op)->nresults != 1)
        return false;
    for (uint32_t i = 0; i < n->nowners; i++)
        for (uint32_t j = 0; j < n->nowners; j++) {
            const struct fuse_kernel *early = f->kernels.v[n->owners[i]], *late = f->kernels.v[n->owners[j]];
            if (place_of(f, early->root) < place_of(f, late->root) && covers(late, n->maps[j], t) &&
                same_map(n->maps[i], n->maps[j], t->rank) && can_merge(f, early, late)) {
                merge(f, n->owners[i], n->owners[j]);
                update_owners(f, n);
                return true;
            }
        }
    return false;
}

/* Whether an op is computed once for each row of a kernel: a reduction, which may make it one of rows, or a value of a row. */
static bool is_of_rows(const struct fuse_kernel *k, const struct node *n, const int8_t *map, const struct ir_type_data *t) {
    if (n->cls == FUSE_REDUCTION)
        return true;
    int p = k->schedule == FUSE_ROWS && map ? prefix_of(k, map, t) : -1;
    return p >= 0 && product(k->dims, (uint32_t)p) == product(k->dims, k->outer);
}

/* The op's result as one more output of a kernel that computes it anyway, and runs before any other use. */
static bool fuse_as_output(struct fuse *f, struct node *n) {
    const struct ir_type_data *t = ir_val_type(f->m, ir_result(f->m, n->op, 0));
    if (ir_op_get(f->m, n->op)->nresults != 1 || n->inside_inner_loop || n->recomputed_at_multiple_indices ||
        n->cls == FUSE_CONTRACTION || fuse_is_alias(f->m, n->op))
        return false;
    for (uint32_t i = 0; i < n->nowners; i++) {
        struct fuse_kernel *k = f->kernels.v[n->owners[i]];
        uint32_t at = place_of(f, k->root);
        bool before = !n->needed || n->first_external_use > at;
        for (uint32_t j = 0; j < n->nowners; j++)
            before &= j == i || runs_at(f, n->owners[j]) > at;
        bool once = covers(k, n->maps[i], t) || is_of_rows(k, n, n->maps[i], t);
        if (!before || k->schedule == FUSE_INTO || k->outs.n >= MAX_OUTPUTS || !once || fuse_into(f, i, n))
            continue;
        k->first_external_use = earliest(k->first_external_use, n->needed ? n->first_external_use : 0);
        for (uint32_t j = 0; j < n->nowners; j++)
            k->first_external_use = earliest(k->first_external_use, j == i ? 0 : runs_at(f, n->owners[j]));
        n->owners[0] = n->owners[i];
        n->maps[0] = n->maps[i];
        n->nowners = 1;
        ARENA_PUSH(f->a, &k->outs, ir_result(f->m, n->op, 0));
        n->stored = true;
        return true;
    }
    return false;
}

/* Records at the operands of an op where it is computed. */
static void use_operands(struct fuse *f, struct node *n, uint32_t at) {
    const struct ir_op_data *x = ir_op_get(f->m, n->op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    for (uint32_t o = 0; o < n->nowners; o++) {
        struct fuse_kernel *k = f->kernels.v[n->owners[o]];
        const int8_t *map = n->maps[o];
        int8_t *inner = NULL;
        if (n->cls == FUSE_REDUCTION && k->schedule == FUSE_ROWS && map)
            inner = reduce_map(f, n->op, map, k);
        k->nops++;
        k->code_size_cost += cost_of(f->m, n->op) >= CODE_SIZE_COST_MIN ? (uint32_t)cost_of(f->m, n->op) : 0;
        for (uint32_t i = 0; i < x->noperands; i++) {
            enum fuse_reason stored = kind == IR_GATHER        ? FUSE_GATHERED
                                      : n->cls == FUSE_UPDATE ? FUSE_UPDATED
                                      : n->cls == FUSE_WINDOW ? FUSE_WINDOWED
                                                              : FUSE_FUSED;
            if (stored && i == 0) {
                need(f, x->operands[i], at, stored);
                continue;
            }
            bool contraction = n->cls == FUSE_CONTRACTION;
            int8_t *to = n->cls == FUSE_REDUCTION ? (i < x->noperands / 2 ? inner : NULL)
                         : contraction            ? NULL
                                                  : operand_map(f, n, i, map);
            use(f, n, at, x->operands[i], n->owners[o], to, n->inside_inner_loop || contraction);
        }
    }
    for (uint32_t i = 0; i < x->nregions; i++)
        need_region(f, ir_op_region(f->m, n->op, i), at);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void step(struct fuse *f, enum fuse_step_kind kind, ir_op op, struct fuse_kernel *k) {
    struct fuse_step s = {kind, op, k};
    ARENA_PUSH(f->a, &f->steps, s);
}

/* A kernel of its own for an op that must be stored. */
static void begin_kernel(struct fuse *f, struct node *n) {
    struct fuse_kernel *k = ARENA_NEW(f->a, struct fuse_kernel);
    bool into = n->cls == FUSE_UPDATE;
    const struct ir_type_data *t = ir_val_type(f->m, into ? ir_operand(f->m, n->op, 1) : ir_result(f->m, n->op, 0));
    k->root = n->op;
    k->strict = f->o->level == 0;
    k->batch_invariant = f->o->batch_invariant;
    k->rank = t->rank;
    if (t->rank)
        memcpy(k->dims, t->dims, t->rank * sizeof *t->dims);
    for (uint32_t i = 0; i < ir_op_get(f->m, n->op)->nresults; i++)
        ARENA_PUSH(f->a, &k->outs, ir_result(f->m, n->op, i));
    k->first_external_use = n->needed ? n->first_external_use : 0;
    for (uint32_t i = 0; i < n->nowners; i++)
        k->first_external_use = earliest(k->first_external_use, runs_at(f, n->owners[i]));
    n->nowners = 1;
    n->owners[0] = f->kernels.n;
    n->inside_inner_loop = n->recomputed_at_multiple_indices = false;
    n->stored = true;
    n->maps[0] = new_map(f, t->rank);
    for (uint32_t i = 0; i < t->rank; i++)
        n->maps[0][i] = t->dims[i] == 1 ? -1 : (int8_t)i;
    ARENA_PUSH(f->a, &f->merged, f->kernels.n);
    ARENA_PUSH(f->a, &f->kernels, k);
    if (into || n->cls == FUSE_CONTRACTION) {
        k->schedule = into ? FUSE_INTO : FUSE_CONTRACT;
        set_anchor(f, k, n->op);
    } else if (n->cls == FUSE_WINDOW || (n->cls == FUSE_REDUCTION && fuse_rows(f, k, n, n->maps[0]))) {
        k->nested = true;
    }
    step(f, FUSE_STEP_KERNEL, n->op, k);
}

static bool owners_are_full(const struct fuse *f, const struct node *n) {
    for (uint32_t i = 0; i < n->nowners; i++)
        if (f->kernels.v[n->owners[i]]->nops >= MAX_KERNEL_OPS)
            return true;
    return false;
}

static void visit(struct fuse *f, uint32_t at) {
    struct node *n = &f->nodes[at];
    const struct ir_op_data *x = ir_op_get(f->m, n->op);
    if (ir_op_has((enum ir_op_kind)x->kind, IR_T_CONSTANT))
        return;
    if (n->cls == FUSE_NONE || n->cls == FUSE_FLOW) {
        bool end = ir_op_has((enum ir_op_kind)x->kind, IR_T_TERMINATOR);
        for (uint32_t i = 0; i < x->noperands; i++)
            need(f, x->operands[i], at, end ? FUSE_RESULT : FUSE_STEP);
        for (uint32_t i = 0; i < x->nregions; i++)
            need_region(f, ir_op_region(f->m, n->op, i), at);
        n->why = FUSE_ROUTINE;
        if (!end)
            step(f, FUSE_STEP_OP, n->op, NULL);
        return;
    }
    if (!n->needed && n->nowners == 0)
        return; /* unused */
    update_owners(f, n);
    bool recomputed = n->nowners > 1 && f->o->level >= 2 && is_recomputed(f, n);
    while (n->nowners > 1 && f->o->level >= 2 && !recomputed && merge_owners(f, n)) {
    }
    if (!n->needed && n->nowners == 1) {
        n->why = (uint8_t)fuse_into(f, 0, n);
        if (!n->why) {
            use_operands(f, n, at);
            return;
        }
    } else if (!n->needed) {
        n->why = f->o->level < 2 ? FUSE_LEVEL : FUSE_SHARED;
        if (recomputed) {
            n->why = owners_are_full(f, n) ? FUSE_SIZE : FUSE_FUSED;
            if (!n->why) {
                use_operands(f, n, at);
                return;
            }
        }
    }
    if (fuse_is_alias(f->m, n->op)) {
        for (uint32_t i = 0; i < x->noperands; i++)
            need(f, x->operands[i], at, FUSE_VIEW);
        n->stored = true;
        step(f, FUSE_STEP_ALIAS, n->op, NULL);
        return;
    }
    if (f->o->level < 2 || !fuse_as_output(f, n)) {
        struct feed feed = {f->kernels.n, n->owners[0]};
        if (!n->needed && n->nowners == 1 && f->o->level >= 2)
            ARENA_PUSH(f->a, &f->feeds, feed);
        begin_kernel(f, n);
    }
    use_operands(f, n, at);
}

/* ---- kernels that become a part of another ----------------------------------------------------- */

/* The kernel is a part of the one that reads what it stores. */
static void merge_into_reader(struct fuse *f, struct fuse_kernel *k) {
    ir_val v = k->outs.v[0];
    k->merged = true;
    node_of(f, v)->why = FUSE_FUSED;
}

/* Whether a kernel stores a cheap function of one tensor that a contraction reads. */
static bool is_cheap_operand(struct fuse *f, const struct fuse_kernel *k) {
    const struct node *n = node_of(f, k->outs.v[0]);
    ir_val v = k->outs.v[0];
    if (k->schedule != FUSE_MAP || k->outs.n != 1 || n->why != FUSE_CONTRACTED)
        return false;
    do {
        if (!is_cheap(f->m, n))
            return false;
        n = tensor_operands(f->m, n->op, &v) ? node_of(f, v) : NULL;
    } while (n && !n->stored && n->cls != FUSE_NONE && n->cls != FUSE_FLOW);
    return true;
}

/* Kernels of stages compute cheap operands of their contractions as they pack them: rows (queries) for each block of columns,
   columns (keys, values) once for each task. */
static void merge_operands(struct fuse *f) {
    for (uint32_t i = 0; i < f->feeds.n; i++) {
        struct fuse_kernel *feed = f->kernels.v[f->feeds.v[i].kernel];
        struct fuse_kernel *reader = f->kernels.v[kernel_now(f, f->feeds.v[i].reader)];
        if (reader->schedule != FUSE_STAGES || feed->merged || !is_cheap_operand(f, feed))
            continue;
        reader->nops += feed->nops;
        reader->code_size_cost += feed->code_size_cost;
        merge_into_reader(f, feed);
    }
}

/* Merges chains of three kernels whose loops agree. Those that run first were begun last. */
static void merge_stages(struct fuse *f, const struct opt_ids *stored) {
    struct opt_ids feed_of = {.a = f->a}; /* by kernel: 1 + what it feeds */
    struct fuse_stages x = {
        .a = f->a, .m = f->m, .block = f->block, .target = f->o->target, .stored = stored, .uses = &f->uses};
    for (uint32_t i = 0; i < f->feeds.n; i++) {
        const struct feed *feed = &f->feeds.v[i];
        uint32_t to = kernel_now(f, feed->reader), next = opt_ids_get(&feed_of, to);
        opt_ids_set(&feed_of, feed->kernel, i + 1);
        if (!next)
            continue;
        struct fuse_kernel *first = f->kernels.v[feed->kernel], *second = f->kernels.v[to];
        struct fuse_kernel *third = f->kernels.v[kernel_now(f, f->feeds.v[next - 1].reader)];
        if (first->merged || second->merged || !fuse_stages(&x, third, second, first))
            continue;
        merge_into_reader(f, first);
        merge_into_reader(f, second);
        f->merged.v[feed->kernel] = f->merged.v[to] = kernel_now(f, f->feeds.v[next - 1].reader);
    }
}

/* Merges products with epilogues that read their columns in equal parts, then what else these read so. */
static void merge_parts(struct fuse *f, const struct opt_ids *stored) {
    struct fuse_stages x = {
        .a = f->a, .m = f->m, .block = f->block, .target = f->o->target, .stored = stored, .uses = &f->uses};
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < f->feeds.n; i++) {
            struct fuse_kernel *feed = f->kernels.v[f->feeds.v[i].kernel];
            struct fuse_kernel *reader = f->kernels.v[kernel_now(f, f->feeds.v[i].reader)];
            if (!feed->merged && !reader->merged &&
                (pass ? fuse_into_parts(&x, reader, feed) : fuse_parts(&x, f->o->hoists, reader, feed)))
                merge_into_reader(f, feed);
        }
}

static void merge_kernels(struct fuse *f) {
    struct opt_ids stored = {.a = f->a};
    const struct fuse_step **steps = ARENA_ARRAY(f->a, const struct fuse_step *, f->steps.n + 1);
    for (uint32_t i = 0; i < f->n; i++)
        for (uint32_t k = 0; k < ir_op_get(f->m, f->nodes[i].op)->nresults; k++)
            opt_ids_set(&stored, ir_result(f->m, f->nodes[i].op, k).i,
                        f->nodes[i].stored || f->nodes[i].cls == FUSE_NONE || f->nodes[i].cls == FUSE_FLOW);
    merge_stages(f, &stored);
    merge_operands(f);
    merge_parts(f, &stored);
    for (uint32_t i = 0; i < f->steps.n; i++)
        steps[i] = &f->steps.v[f->steps.n - 1 - i];
    fuse_siblings(f->a, f->m, f->block, f->o->target, steps, f->steps.n, &stored);
}

void fuse_block(struct arena *a, const struct ir_module *m, ir_block b, const struct fuse_options *o, struct fuse_block *out) {
    struct fuse f = {.a = a, .m = m, .o = o, .out = out, .index = {.a = a}, .uses = {.a = a}, .block = b};
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        f.n++;
    f.nodes = ARENA_ARRAY(a, struct node, f.n + 1);
    uint32_t i = 0;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        enum fuse_class cls = fuse_class(ir_kind(m, op));
        f.nodes[i] = (struct node){.op = op, .cls = cls == FUSE_FLOW || o->lowers(o->user, op) ? cls : FUSE_NONE};
        opt_ids_set(&f.index, op.i, ++i);
    }
    count_uses(&f, b);
    while (i-- > 0)
        visit(&f, i);
    if (o->level >= 2)
        merge_kernels(&f);
    *out = (struct fuse_block){.kernel_of = {.a = a}, .reasons = {.a = a}, .hoists = o->hoists};
    for (i = 0; i < f.n; i++)
        for (uint32_t k = 0; k < ir_op_get(m, f.nodes[i].op)->nresults; k++)
            opt_ids_set(&out->reasons, ir_result(m, f.nodes[i].op, k).i, f.nodes[i].why);
    for (i = f.steps.n; i-- > 0;) {
        const struct fuse_step *s = &f.steps.v[i];
        if (s->kernel && s->kernel->merged)
            continue;
        ARENA_PUSH(a, &out->steps, *s);
        if (s->kernel)
            for (uint32_t k = 0; k < s->kernel->outs.n; k++)
                opt_ids_set(&out->kernel_of, s->kernel->outs.v[k].i, out->steps.n);
        else
            for (uint32_t k = 0; k < ir_op_get(m, s->op)->nresults; k++)
                opt_ids_set(&out->kernel_of, ir_result(m, s->op, k).i, out->steps.n);
    }
}
