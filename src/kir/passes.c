/* The list of passes (passes.def), its runner, and the passes that rewrite values one by one. */
#include "kir/node.h"

/* ---- rewriting values ------------------------------------------------------------------------- */

struct rewrite {
    struct kir *k;
    kir_val *now; /* by node that was there: what its uses become */
    uint32_t old; /* nodes that were there */
    /* Makes a value that replaces a node, or returns none to keep it. */
    kir_val (*value)(struct kir *k, struct kir_node *n);
};

static kir_val value_now(const struct rewrite *r, kir_val v) {
    return v.i < r->old && KIR_IS(r->now[v.i]) ? r->now[v.i] : v;
}

/* Rewrites a block and the blocks inside of it in order, with the builder before the node that is visited: new values come
   before what is still to come, and equal values are used again. */
static void rewrite_block(struct rewrite *r, kir_block b) {
    struct kir *k = r->k;
    kir_val next;
    for (kir_val v = kir_block_get(k, b)->first; KIR_IS(v); v = next) {
        for (int i = 0; i < 3; i++)
            if (kir_get(k, v)->op != KIR_WHILE)
                kir_get(k, v)->arg[i] = value_now(r, kir_get(k, v)->arg[i]);
        struct kir_node n = *kir_get(k, v);
        kir_block_get(k, b)->open = v;
        k->at = b;
        if (n.other.i && n.op == KIR_WHILE)
            rewrite_block(r, n.other);
        if (n.op == KIR_WHILE)
            kir_get(k, v)->arg[0] = value_now(r, n.arg[0]);
        if (n.body.i)
            rewrite_block(r, n.body);
        if (n.other.i && n.op == KIR_IF)
            rewrite_block(r, n.other);
        k->at = b;
        kir_val value = r->value(k, &n);
        next = kir_get(k, v)->next;
        if (KIR_IS(value)) {
            r->now[v.i] = value;
            kir_unlink(k, v);
        } else if (n.op != KIR_CONST && (kir_is_pure(&n) || kir_is_const_load(k, &n))) {
            kir_remember(k, v);
        }
    }
    kir_block_get(k, b)->open = (kir_val){0};
}

static void rewrite(struct kir *k, kir_val (*value)(struct kir *k, struct kir_node *n)) {
    struct rewrite r = {k, ARENA_ARRAY(&k->arena, kir_val, k->nodes.n), k->nodes.n, value};
    kir_forget(k);
    rewrite_block(&r, (kir_block){1});
    k->at = (kir_block){1};
}

static kir_val expanded(struct kir *k, struct kir_node *n) {
    bool known = n->op == KIR_MATH && kir_math_known((enum kir_math)n->sub, (enum kir_type)n->type);
    return known ? kir_math_expand(k, (enum kir_math)n->sub, n->arg[0], n->arg[1]) : (kir_val){0};
}

void kir_expand_math(struct kir *k) {
    rewrite(k, expanded);
}

static kir_val folded(struct kir *k, struct kir_node *n) {
    return kir_is_pure(n) && n->op != KIR_CONST ? kir_pure(k, n) : (kir_val){0};
}

void kir_fold(struct kir *k) {
    rewrite(k, folded);
}

/* ---- the list --------------------------------------------------------------------------------- */

static const struct kir_pass passes[] = {
#define PASS(id, name, text) {name, text, kir_##id},
#include "kir/passes.def"
};

enum {
#define PASS(id, name, text) PASS_##id,
#include "kir/passes.def"
};

static const uint8_t steps[] = {
#define STEP(id) PASS_##id,
#include "kir/passes.def"
};

const struct kir_pass *kir_pass_get(size_t i) {
    return i < sizeof passes / sizeof *passes ? &passes[i] : NULL;
}

const struct kir_pass *kir_pass_step(size_t i) {
    return i < sizeof steps ? &passes[steps[i]] : NULL;
}

static const struct kir_pass *pass_named(struct str name) {
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (str_is(name, passes[i].name))
            return &passes[i];
    return NULL;
}

static void run_pass(struct kir *k, const struct kir_pass *pass, struct strbuf *dump) {
    pass->run(k);
    if (dump) {
        strbuf_printf(dump, "// after %s\n", pass->name);
        kir_print(k, dump);
    }
}

hilo_status kir_run_passes(struct kir *k, const char *names, struct strbuf *dump, struct diag_list *d) {
    for (size_t i = 0; !names && kir_pass_step(i); i++)
        run_pass(k, kir_pass_step(i), dump);
    for (size_t n; names && *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        const struct kir_pass *pass = pass_named((struct str){names, n});
        if (n && !pass)
            return diag_error(d, HILO_INVALID_ARGUMENT, "no pass over kernels is named '%.*s'", (int)(n < 64 ? n : 64), names);
        if (pass)
            run_pass(k, pass, dump);
    }
    return HILO_OK;
}
