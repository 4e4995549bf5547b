/* Splits loops at the comparisons of their index with constants (index set splitting): in each part they are known, so what is
 * computed under a condition, such as the operands of a concatenation or what a pad surrounds, needs neither masks nor all of
 * its alternatives. Of innermost loops that compute and store. The order of iterations stays; a vector loop is split between
 * its steps only. */
#include "kir/node.h"

enum {
    SPLIT_PARTS = 128,     /* of a loop */
    SPLIT_NODES = 4096,    /* of all parts together, */
    SPLIT_VISITS = 1 << 18 /* and nodes that are visited to find them */
};

struct parts {
    int64_t begin[SPLIT_PARTS + 1]; /* ascending; the last is the extent */
    uint32_t n;
};

/* A node of the body in the part that is copied. */
struct state {
    kir_val now;  /* its copy; none for nodes that have none */
    int8_t known; /* 1 + the outcome of a condition that is the same in all of the part, else 0 */
    bool needed;
};

struct copy {
    struct kir *k;
    struct state *at; /* by node */
    uint32_t old;     /* nodes that were there */
};

static void add_boundary(struct parts *p, int64_t at) {
    uint32_t i = p->n;
    while (i > 0 && p->begin[i - 1] > at)
        i--;
    if (p->n + (at != 0) >= SPLIT_PARTS || (i > 0 && p->begin[i - 1] == at))
        return;
    memmove(&p->begin[i + 1], &p->begin[i], (p->n - i) * sizeof *p->begin);
    p->begin[i] = at;
    p->n++;
}

/* The value is the loop's index plus a constant. */
static bool is_index(const struct kir *k, kir_val v, kir_val loop, int64_t *plus) {
    const struct kir_node *n = kir_get(k, v);
    *plus = 0;
    return v.i == loop.i || (n->op == KIR_ADD && n->arg[0].i == loop.i && kir_is_const(k, n->arg[1], plus));
}

/* A comparison of the index with a constant: whether its outcome changes inside of the loop, and then where. */
static bool is_bound(const struct kir *k, const struct kir_node *n, kir_val loop, int64_t *at) {
    int64_t plus, bound;
    bool after = n->sub == KIR_LE || n->sub == KIR_GT;
    return n->op == KIR_CMP && !(n->flags & KIR_U) && n->sub != KIR_EQ && n->sub != KIR_NE &&
           is_index(k, n->arg[0], loop, &plus) && kir_is_const(k, n->arg[1], &bound) &&
           !__builtin_sub_overflow(bound, plus, at) && !__builtin_add_overflow(*at, after, at);
}

/* ---- what a part needs ------------------------------------------------------------------------ */

static int8_t outcome(const struct copy *c, kir_val v) {
    int64_t x;
    if (KIR_IS(v) && kir_is_const(c->k, v, &x))
        return x ? 2 : 1;
    return v.i < c->old ? c->at[v.i].known : 0;
}

/* Of a condition where the index is `from` … `to` - 1. */
static int8_t find_outcome(const struct copy *c, const struct kir_node *n, kir_val loop, int64_t from, int64_t to) {
    int64_t at;
    if (n->type != KIR_I1)
        return 0;
    if (is_bound(c->k, n, loop, &at)) {
        bool less = n->sub == KIR_LT || n->sub == KIR_LE;
        return to <= at ? 1 + less : from >= at ? 1 + !less : 0;
    }
    if (n->op != KIR_AND && n->op != KIR_OR)
        return 0;
    int8_t a = outcome(c, n->arg[0]), b = outcome(c, n->arg[1]), decides = n->op == KIR_AND ? 1 : 2;
    return a == decides || b == decides ? decides : a && b ? 3 - decides : 0;
}

/* The operand that a select or a guarded load is equal to; none where both may be. */
static kir_val chosen(const struct copy *c, const struct kir_node *n) {
    if (n->op == KIR_SELECT && outcome(c, n->arg[0]))
        return n->arg[outcome(c, n->arg[0]) == 2 ? 1 : 2];
    if (n->op == KIR_LOAD && outcome(c, n->arg[1]) == 1)
        return n->arg[2];
    return (kir_val){0};
}

static void need(struct copy *c, kir_val v) {
    if (v.i < c->old)
        c->at[v.i].needed = true;
}

/* Marks the nodes of a body that are needed where the index is `from` … `to` - 1: how many. */
static uint32_t find_needed(struct copy *c, kir_val loop, int64_t from, int64_t to) {
    const struct kir *k = c->k;
    kir_block body = kir_get(k, loop)->body;
    uint32_t count = 0;
    for (kir_val v = kir_block_get(k, body)->first; KIR_IS(v); v = kir_get(k, v)->next)
        c->at[v.i] = (struct state){.known = find_outcome(c, kir_get(k, v), loop, from, to)};
    for (kir_val v = kir_block_get(k, body)->last; KIR_IS(v); v = kir_get(k, v)->prev) {
        const struct kir_node *n = kir_get(k, v);
        if (!c->at[v.i].needed && n->op != KIR_STORE && (n->op != KIR_LOAD || kir_is_const_load(k, n)))
            continue;
        c->at[v.i].needed = true;
        count++;
        kir_val only = chosen(c, n);
        if (KIR_IS(only))
            need(c, only);
        for (int i = 0; i < 3 && !KIR_IS(only) && !c->at[v.i].known; i++)
            need(c, n->arg[i]);
    }
    return count;
}

/* The parts of a loop; one where it stays. */
static void find_parts(struct copy *c, kir_val loop, struct parts *out) {
    const struct kir *k = c->k;
    const struct kir_node *l = kir_get(k, loop);
    uint32_t nodes = 0, all = 0;
    int64_t at;
    *out = (struct parts){.n = 0};
    if (l->op != KIR_LOOP || (l->sub != KIR_VECTOR && l->sub != KIR_SERIAL) || KIR_IS(l->arg[0]))
        return;
    for (kir_val v = kir_block_get(k, l->body)->first; KIR_IS(v); v = kir_get(k, v)->next, nodes++) {
        const struct kir_node *n = kir_get(k, v);
        if (!kir_is_pure(n) && n->op != KIR_LOAD && n->op != KIR_STORE) {
            out->n = 0;
            return;
        }
        if (is_bound(k, n, loop, &at) && at > 0 && at < l->imm && (l->sub == KIR_SERIAL || at % l->width == 0))
            add_boundary(out, at);
    }
    add_boundary(out, 0);
    out->begin[out->n] = l->imm;
    if (nodes > SPLIT_VISITS / out->n)
        out->n = 1;
    for (uint32_t i = 0; i < out->n && out->n > 1; i++)
        all += find_needed(c, loop, out->begin[i], out->begin[i + 1]);
    if (all > SPLIT_NODES)
        out->n = 1;
}

/* ---- copies ----------------------------------------------------------------------------------- */

static kir_val copy_now(const struct copy *c, kir_val v) {
    return v.i < c->old && KIR_IS(c->at[v.i].now) ? c->at[v.i].now : v;
}

static kir_val copy_node(struct copy *c, const struct kir_node *from) {
    struct kir *k = c->k;
    struct kir_node n = *from;
    kir_val only = chosen(c, from);
    if (KIR_IS(only))
        return copy_now(c, only);
    for (int i = 0; i < 3; i++)
        n.arg[i] = copy_now(c, n.arg[i]);
    if (n.op == KIR_LOAD)
        return kir_load_if(k, n.of, n.arg[0], n.arg[1], n.arg[2]);
    if (n.op != KIR_STORE)
        return kir_pure(k, &n);
    unsigned flags = k->store_flags;
    kir_store_flags(k, n.flags);
    kir_store_if(k, n.of, n.arg[0], n.arg[1], n.arg[2]);
    kir_store_flags(k, flags);
    return (kir_val){0};
}

/* The parts of a loop before it, which is removed. */
static void split(struct copy *c, kir_val loop, const struct parts *p) {
    struct kir *k = c->k;
    kir_block body = kir_get(k, loop)->body;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct kir_node l = *kir_get(k, loop);
        (void)find_needed(c, loop, p->begin[i], p->begin[i + 1]);
        kir_val index = kir_loop(k, (enum kir_loop)l.sub, p->begin[i + 1] - p->begin[i], l.width);
        c->at[loop.i].now = kir_op2(k, KIR_ADD, 0, index, kir_i64(k, p->begin[i]));
        for (kir_val v = kir_block_get(k, body)->first; KIR_IS(v); v = kir_get(k, v)->next) {
            const struct kir_node n = *kir_get(k, v);
            struct state *s = &c->at[v.i];
            if (s->needed)
                s->now = s->known ? kir_int(k, KIR_I1, s->known - 1) : copy_node(c, &n);
        }
        kir_close(k);
    }
    while (KIR_IS(kir_block_get(k, body)->first))
        kir_unlink(k, kir_block_get(k, body)->first);
    kir_unlink(k, loop);
}

static void split_block(struct copy *c, kir_block b) {
    struct kir *k = c->k;
    kir_val next;
    for (kir_val v = kir_block_get(k, b)->first; KIR_IS(v); v = next) {
        const struct kir_node n = *kir_get(k, v);
        struct parts p;
        next = n.next;
        kir_block_get(k, b)->open = v;
        if (n.body.i)
            split_block(c, n.body);
        if (n.other.i)
            split_block(c, n.other);
        k->at = b;
        find_parts(c, v, &p);
        if (p.n > 1)
            split(c, v, &p);
        else if (n.op != KIR_CONST && (kir_is_pure(&n) || kir_is_const_load(k, &n)))
            kir_remember(k, v);
    }
    kir_block_get(k, b)->open = (kir_val){0};
}

void kir_split(struct kir *k) {
    struct copy c = {k, ARENA_ARRAY(&k->arena, struct state, k->nodes.n), k->nodes.n};
    kir_forget(k);
    split_block(&c, (kir_block){1});
    k->at = (kir_block){1};
}
