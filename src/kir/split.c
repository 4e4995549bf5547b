/* Splits loops at the comparisons of their index with constants (index set splitting): in each part they are known, so what is
 * computed under a condition, such as the operands of a concatenation or what a pad surrounds, needs neither masks nor all of
 * its alternatives. Of innermost loops that compute and store. The order of iterations stays; a vector loop is split between
 * its steps only. */
#include "kir/node.h"

enum {
    SPLIT_PARTS = 16,   /* of a loop */
    SPLIT_NODES = 2048  /* of all parts, before they are simplified */
};

struct parts {
    int64_t begin[SPLIT_PARTS + 1]; /* ascending; the last is the extent */
    uint32_t n;
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

/* Where the outcome of a comparison changes. */
static bool boundary(const struct kir *k, const struct kir_node *n, kir_val loop, int64_t extent, int64_t *at) {
    int64_t plus, bound;
    bool after = n->sub == KIR_LE || n->sub == KIR_GT;
    return n->op == KIR_CMP && !(n->flags & KIR_U) && n->sub != KIR_EQ && n->sub != KIR_NE &&
           is_index(k, n->arg[0], loop, &plus) && kir_is_const(k, n->arg[1], &bound) &&
           !__builtin_sub_overflow(bound, plus, at) && *at >= 0 && *at < extent && (*at += after) > 0 && *at < extent;
}

/* The parts of a loop; one where it stays. */
static void find_parts(const struct kir *k, kir_val loop, struct parts *out) {
    const struct kir_node *l = kir_get(k, loop);
    uint32_t nodes = 0;
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
        if (boundary(k, n, loop, l->imm, &at) && (l->sub == KIR_SERIAL || at % l->width == 0))
            add_boundary(out, at);
    }
    add_boundary(out, 0);
    out->begin[out->n] = l->imm;
    if (nodes > SPLIT_NODES / out->n)
        out->n = 1;
}

struct copy {
    struct kir *k;
    kir_val *now; /* by node: its copy in this part */
    uint32_t old; /* nodes that were there */
};

static kir_val copy_now(const struct copy *c, kir_val v) {
    return v.i < c->old && KIR_IS(c->now[v.i]) ? c->now[v.i] : v;
}

static kir_val copy_node(struct copy *c, const struct kir_node *from) {
    struct kir *k = c->k;
    struct kir_node n = *from;
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
        kir_val index = kir_loop(k, (enum kir_loop)l.sub, p->begin[i + 1] - p->begin[i], l.width);
        c->now[loop.i] = kir_op2(k, KIR_ADD, 0, index, kir_i64(k, p->begin[i]));
        for (kir_val v = kir_block_get(k, body)->first; KIR_IS(v); v = kir_get(k, v)->next) {
            struct kir_node n = *kir_get(k, v);
            c->now[v.i] = copy_node(c, &n);
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
        find_parts(k, v, &p);
        if (p.n > 1)
            split(c, v, &p);
        else if (n.op != KIR_CONST && (kir_is_pure(&n) || kir_is_const_load(k, &n)))
            kir_remember(k, v);
    }
    kir_block_get(k, b)->open = (kir_val){0};
}

void kir_split(struct kir *k) {
    struct copy c = {k, ARENA_ARRAY(&k->arena, kir_val, k->nodes.n), k->nodes.n};
    kir_forget(k);
    split_block(&c, (kir_block){1});
    k->at = (kir_block){1};
}
