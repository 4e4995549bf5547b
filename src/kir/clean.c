/* Removes what a kernel does not need: values that nothing uses, registers that are never read, loops and branches in which
 * nothing is left. Branches on constants become the side that is taken. */
#include "kir/node.h"

struct clean {
    struct kir *k;
    bool *live; /* by node */
    struct { kir_val *v; uint32_t n, cap; } work;
};

static void mark(struct clean *c, kir_val v) {
    if (!KIR_IS(v) || c->live[v.i])
        return;
    c->live[v.i] = true;
    ARENA_PUSH(&c->k->arena, &c->work, v);
}

/* Marks what a node needs: operands, its register, the loops and branches around it. */
static void mark_needed(struct clean *c) {
    while (c->work.n) {
        const struct kir_node *n = kir_get(c->k, c->work.v[--c->work.n]);
        for (int i = 0; i < 3; i++)
            mark(c, n->arg[i]);
        mark(c, (kir_val){n->op == KIR_GET ? n->of : kir_changes(n)});
        mark(c, kir_block_get(c->k, n->block)->owner);
    }
}

/* Memory that is written, tiles; a while that computes nothing may still not terminate, and the grid is the
   kernel's. */
static bool is_root(const struct kir_node *n) {
    if (kir_changes(n))
        return false;
    switch (n->op) {
    case KIR_WHILE: return true;
    case KIR_LOOP: return n->sub == KIR_GRID;
    default: return kir_op_get((enum kir_op)n->op)->shape == KIR_SHAPE_EFFECT;
    }
}

static void mark_all(struct clean *c) {
    struct kir *k = c->k;
    for (uint32_t i = 1; i < k->nodes.n; i++)
        if (k->nodes.v[i].block.i && is_root(&k->nodes.v[i]))
            mark(c, (kir_val){i});
    /* A register that is read needs what is written to it. */
    for (bool again = true; again;) {
        mark_needed(c);
        again = false;
        for (uint32_t i = 1; i < k->nodes.n; i++) {
            const struct kir_node *n = &k->nodes.v[i];
            if (n->block.i && kir_changes(n) && c->live[kir_changes(n)] && !c->live[i]) {
                mark(c, (kir_val){i});
                again = true;
            }
        }
    }
}

/* A block and those in it, under a new parent. */
static void reparent(struct kir *k, kir_block b, kir_block parent) {
    kir_block_get(k, b)->parent = parent;
    kir_block_get(k, b)->depth = kir_block_get(k, parent)->depth + 1;
    for (kir_val v = kir_block_get(k, b)->first; KIR_IS(v); v = kir_get(k, v)->next) {
        if (kir_get(k, v)->body.i)
            reparent(k, kir_get(k, v)->body, b);
        if (kir_get(k, v)->other.i)
            reparent(k, kir_get(k, v)->other, b);
    }
}

static void drop(struct kir *k, kir_block b) {
    kir_val v;
    while (b.i && KIR_IS(v = kir_block_get(k, b)->first)) {
        drop(k, kir_get(k, v)->body);
        drop(k, kir_get(k, v)->other);
        kir_unlink(k, v);
    }
}

/* Moves the nodes of one block of `owner`, or of none, before it and removes it with what is left. */
static void splice(struct kir *k, kir_val owner, kir_block from) {
    kir_block to = kir_get(k, owner)->block;
    while (from.i && KIR_IS(kir_block_get(k, from)->first)) {
        kir_val v = kir_block_get(k, from)->first;
        kir_unlink(k, v);
        kir_link(k, to, owner, v);
        if (kir_get(k, v)->body.i)
            reparent(k, kir_get(k, v)->body, to);
        if (kir_get(k, v)->other.i)
            reparent(k, kir_get(k, v)->other, to);
    }
    drop(k, kir_get(k, owner)->body);
    drop(k, kir_get(k, owner)->other);
    kir_unlink(k, owner);
}

static void take_branches(struct kir *k, kir_block b) {
    kir_val next;
    for (kir_val v = kir_block_get(k, b)->first; KIR_IS(v); v = next) {
        const struct kir_node *n = kir_get(k, v);
        int64_t holds;
        next = n->next;
        if (n->body.i)
            take_branches(k, n->body);
        if (n->other.i)
            take_branches(k, n->other);
        if (n->op == KIR_IF && kir_is_const(k, n->arg[0], &holds))
            splice(k, v, holds ? n->body : n->other);
        else if (n->op == KIR_LOOP && n->sub != KIR_GRID && !KIR_IS(n->arg[0]) && n->imm == 0)
            splice(k, v, (kir_block){0});
    }
}

static void sweep(struct clean *c, kir_block b) {
    kir_val next;
    for (kir_val v = kir_block_get(c->k, b)->first; KIR_IS(v); v = next) {
        const struct kir_node *n = kir_get(c->k, v);
        next = n->next;
        if (!c->live[v.i]) {
            kir_unlink(c->k, v);
            continue;
        }
        if (n->body.i)
            sweep(c, n->body);
        if (n->other.i)
            sweep(c, n->other);
    }
}

void kir_clean(struct kir *k) {
    struct clean c = {.k = k, .live = ARENA_ARRAY(&k->arena, bool, k->nodes.n)};
    take_branches(k, (kir_block){1});
    mark_all(&c);
    sweep(&c, (kir_block){1});
}
