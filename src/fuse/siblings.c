/* Siblings: kernels over one domain that read the same large value and do not depend on each other, such as the sum and the
 * maximum of rows, become one that reads it once and has several outputs. The earlier one is moved to the later one, so
 * nothing between may read what it stores. */
#include "fuse/siblings.h"

enum {
    SIBLINGS_AHEAD = 12, /* steps in which a sibling is searched */
    SIBLINGS_OPS = 48,   /* of both: code is small; how many registers so many ops take depends on the ops */
    SIBLINGS_OUTS = 6
};

/* What a kernel loads. */
struct loads {
    ir_val *v;
    uint32_t n, cap;
    bool plain; /* at the indices of its domain, or broadcast along it: elementwise ops, broadcasts, reductions of rows */
};

struct siblings {
    struct arena *a;
    const struct ir_module *m;
    ir_block block;
    const struct target *target;
    const struct opt_ids *stored;
    struct opt_ids seen; /* by value: number of the search */
    uint32_t search;
};

static void load(struct siblings *s, const struct fuse_kernel *k, ir_val v, struct loads *out) {
    ir_op op = ir_val_get(s->m, v)->op;
    if (fuse_is_constant(s->m, v) || opt_ids_get(&s->seen, v.i) == s->search)
        return;
    opt_ids_set(&s->seen, v.i, s->search);
    bool own = false;
    for (uint32_t i = 0; i < k->outs.n; i++)
        own |= IR_SAME(k->outs.v[i], v);
    if (IR_NONE(op) || !IR_SAME(ir_op_get(s->m, op)->parent, s->block) || (opt_ids_get(s->stored, v.i) && !own)) {
        ARENA_PUSH(s->a, out, v);
        return;
    }
    enum fuse_class cls = fuse_class(ir_kind(s->m, op));
    bool reduces = cls == FUSE_REDUCTION && k->schedule == FUSE_ROWS;
    out->plain &= reduces || cls == FUSE_ELEMENT || ir_kind(s->m, op) == IR_BROADCAST_IN_DIM || fuse_is_alias(s->m, op);
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands; i++)
        load(s, k, ir_operand(s->m, op, i), out);
}

static struct loads loads_of(struct siblings *s, const struct fuse_kernel *k) {
    struct loads out = {.plain = true};
    s->search++;
    for (uint32_t i = 0; i < k->outs.n; i++)
        load(s, k, k->outs.v[i], &out);
    return out;
}

static bool reads(const struct loads *x, const struct fuse_kernel *k) {
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t j = 0; j < k->outs.n; j++)
            if (IR_SAME(x->v[i], k->outs.v[j]))
                return true;
    return false;
}

/* Whether a step that is no kernel may read an output: one with regions may. */
static bool op_reads(const struct siblings *s, ir_op op, const struct fuse_kernel *k) {
    const struct ir_op_data *x = ir_op_get(s->m, op);
    for (uint32_t i = 0; i < x->noperands; i++)
        for (uint32_t j = 0; j < k->outs.n; j++)
            if (IR_SAME(x->operands[i], k->outs.v[j]))
                return true;
    return x->nregions > 0;
}

static int64_t domain(const struct fuse_kernel *k) {
    int64_t n = 1;
    for (uint32_t i = 0; i < k->rank; i++)
        n *= k->dims[i];
    return n;
}

static bool fits(const struct siblings *s, const struct fuse_kernel *k) {
    return (k->schedule == FUSE_MAP || k->schedule == FUSE_ROWS) && !k->merged && !k->nested && !k->strict &&
           domain(k) >= s->target->kernel_ops;
}

/* Loops over the same elements; for kernels of rows also over the same rows. A map may become part of a kernel of rows that are
   enough for all threads. */
static bool agree(const struct siblings *s, const struct fuse_kernel *x, const struct fuse_kernel *y) {
    const struct fuse_kernel *of_rows = x->schedule == FUSE_ROWS ? x : y;
    int64_t rows = 1;
    if (x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) != 0)
        return false;
    for (uint32_t i = 0; i < of_rows->outer; i++)
        rows *= of_rows->dims[i];
    return x->schedule != y->schedule ? rows >= s->target->tasks : x->outer == y->outer;
}

/* A value of as many elements as the domain that both read. */
static bool share(const struct siblings *s, const struct loads *x, const struct loads *y, int64_t n) {
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t j = 0; j < y->n; j++)
            if (IR_SAME(x->v[i], y->v[j]) && (int64_t)ir_val_count(s->m, x->v[i]) == n)
                return true;
    return false;
}

static void merge(struct siblings *s, struct fuse_kernel *early, struct fuse_kernel *late) {
    for (uint32_t i = 0; i < early->outs.n; i++)
        ARENA_PUSH(s->a, &late->outs, early->outs.v[i]);
    for (uint32_t i = 0; i < early->reduces.n; i++)
        ARENA_PUSH(s->a, &late->reduces, early->reduces.v[i]);
    if (early->schedule == FUSE_ROWS) {
        late->schedule = FUSE_ROWS;
        late->outer = early->outer;
    }
    late->nops += early->nops;
    early->merged = true;
}

void fuse_siblings(struct arena *a, const struct ir_module *m, ir_block b, const struct target *target,
                   const struct fuse_step *const *steps, uint32_t n, const struct opt_ids *stored) {
    struct siblings s = {.a = a, .m = m, .block = b, .target = target, .stored = stored, .seen = {.a = a}};
    struct loads *loads = ARENA_ARRAY(a, struct loads, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (steps[i]->kernel && !steps[i]->kernel->merged)
            loads[i] = loads_of(&s, steps[i]->kernel);
    for (uint32_t i = 0; i < n; i++) {
        struct fuse_kernel *x = steps[i]->kernel;
        if (!x || !fits(&s, x) || !loads[i].plain)
            continue;
        for (uint32_t j = i + 1; j < n && j <= i + SIBLINGS_AHEAD; j++) {
            struct fuse_kernel *y = steps[j]->kernel;
            if (y && y->merged)
                continue;
            /* what kernels read that have become a part of it is not in its loads */
            if (y ? y->schedule == FUSE_STAGES || y->parts || reads(&loads[j], x) : op_reads(&s, steps[j]->op, x))
                break;
            if (!y || !fits(&s, y) || !loads[j].plain || !agree(&s, x, y) || !share(&s, &loads[i], &loads[j], domain(x)) ||
                x->nops + y->nops > SIBLINGS_OPS || x->outs.n + y->outs.n > SIBLINGS_OUTS ||
                x->reduces.n + y->reduces.n > SIBLINGS_OUTS)
                continue;
            merge(&s, x, y);
            loads[j] = loads_of(&s, y);
            break;
        }
    }
}
