/* Matching of grammars: see grammar.h.
 *
 * A stack is the list of elements that are still to be matched, innermost first, as a chain of interned nodes. Every stack of a
 * state begins with an element BYTES; the stack without nodes (0) is a complete text. Stacks and states are numbered when they
 * are first seen, so that equal ones are one, and what a state allows is computed once. */
#include "llm/grammar_rules.h"

#include "llm/tokenizer.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_NODES = 1 << 18,
    MOST_STATES = 1 << 15,
    MOST_STACKS = 1 << 12, /* of one state */
    MOST_WORK = 1 << 22,   /* stacks that are looked at for one transition */
    NO_STATE = 0           /* the state that matches nothing */
};

struct node {
    uint32_t element, outer;
}; /* outer: the rest of the stack */

struct state {
    uint32_t first, n;  /* its stacks, sorted */
    uint32_t next[256]; /* by byte; UINT32_MAX = not known yet */
    uint8_t *mask;      /* of the vocabulary, in its order; NULL = not known yet */
    size_t allowed;     /* bits of the mask */
    bool complete;
};

/* Numbers by content: open addressing over indices + 1. */
struct table {
    uint32_t *v;
    uint32_t n, size;
};

struct llm_grammar_vocab {
    hilo_allocator al;
    const struct llm_tok *t;
    size_t n, all;
    int32_t *ids;
    uint32_t *common; /* bytes that a token shares with the one before it */
};

struct llm_grammar_state {
    hilo_allocator al;
    const struct llm_grammar *g;
    const struct llm_grammar_vocab *v;
    struct node *nodes;
    uint32_t nnodes, capnodes, nstates, capstates, nstacks, capstacks, nwork, capwork;
    struct state **states;
    uint32_t *stacks, *work; /* work: stacks of the state that is being made */
    struct table node_table, state_table;
    uint32_t now;
    size_t looked;
    bool failed; /* memory or a limit */
};

static void *grown(struct llm_grammar_state *s, void *v, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap)
        return v;
    uint32_t more = *cap ? 2 * *cap : 64;
    void *p = mem_resize(&s->al, v, *cap * size, more * size);
    if (p)
        *cap = more;
    return p;
}

/* ---- interning ------------------------------------------------------------------------------- */

static bool enlarge(struct llm_grammar_state *s, struct table *t,
                    uint64_t (*hash)(const struct llm_grammar_state *, uint32_t)) {
    struct table bigger = {.n = t->n, .size = t->size ? 2 * t->size : 256};
    if (4 * (t->n + 1) < 3 * t->size)
        return true;
    bigger.v = mem_alloc(&s->al, bigger.size * sizeof *bigger.v);
    if (!bigger.v)
        return false;
    memset(bigger.v, 0, bigger.size * sizeof *bigger.v);
    for (uint32_t i = 0; i < t->size; i++) {
        if (!t->v[i])
            continue;
        uint32_t at = (uint32_t)hash(s, t->v[i] - 1) & (bigger.size - 1);
        while (bigger.v[at])
            at = (at + 1) & (bigger.size - 1);
        bigger.v[at] = t->v[i];
    }
    mem_free(&s->al, t->v, t->size * sizeof *t->v);
    *t = bigger;
    return true;
}

static uint64_t hash_node(const struct llm_grammar_state *s, uint32_t i) {
    return str_hash(&s->nodes[i], sizeof *s->nodes, 1);
}

static uint64_t hash_state(const struct llm_grammar_state *s, uint32_t i) {
    const struct state *x = s->states[i];
    return str_hash(s->stacks + x->first, x->n * sizeof *s->stacks, 2);
}

/* The stack with this element on top of `outer`: its number, 0 on failure. */
static uint32_t stack_of(struct llm_grammar_state *s, uint32_t element, uint32_t outer) {
    struct node *v = s->nnodes < MOST_NODES ? grown(s, s->nodes, s->nnodes, &s->capnodes, sizeof *v) : NULL;
    s->failed |= !v || !enlarge(s, &s->node_table, hash_node);
    if (s->failed)
        return 0;
    s->nodes = v;
    v[s->nnodes] = (struct node){element, outer};
    uint32_t at = (uint32_t)hash_node(s, s->nnodes) & (s->node_table.size - 1);
    for (; s->node_table.v[at]; at = (at + 1) & (s->node_table.size - 1)) {
        const struct node *known = &v[s->node_table.v[at] - 1];
        if (known->element == element && known->outer == outer)
            return s->node_table.v[at] - 1;
    }
    s->node_table.v[at] = s->nnodes + 1;
    s->node_table.n++;
    return s->nnodes++;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The state of the stacks in `work`; NO_STATE for none, or on failure. */
static uint32_t state_of_work(struct llm_grammar_state *s) {
    if (!s->nwork || s->failed)
        return NO_STATE;
    if (s->nwork > 1)
        qsort(s->work, s->nwork, sizeof *s->work, by_number);
    struct state **v = s->nstates < MOST_STATES ? grown(s, s->states, s->nstates, &s->capstates, sizeof(struct state *)) : NULL;
    s->failed |= !v;
    if (s->failed || !enlarge(s, &s->state_table, hash_state)) {
        s->failed = true;
        return NO_STATE;
    }
    s->states = v;
    size_t bytes = s->nwork * sizeof *s->work;
    uint32_t at = (uint32_t)str_hash(s->work, bytes, 2) & (s->state_table.size - 1);
    for (; s->state_table.v[at]; at = (at + 1) & (s->state_table.size - 1)) {
        const struct state *known = v[s->state_table.v[at] - 1];
        if (known->n == s->nwork && memcmp(s->stacks + known->first, s->work, bytes) == 0)
            return s->state_table.v[at] - 1;
    }
    struct state *x = mem_alloc(&s->al, sizeof *x);
    while (x && s->nstacks + s->nwork > s->capstacks) {
        uint32_t *stacks = grown(s, s->stacks, s->capstacks, &s->capstacks, sizeof *stacks);
        if (!stacks) {
            mem_free(&s->al, x, sizeof *x);
            x = NULL;
        } else {
            s->stacks = stacks;
        }
    }
    s->failed |= !x;
    if (!x)
        return NO_STATE;
    *x = (struct state){.first = s->nstacks, .n = s->nwork, .complete = s->work[0] == 0};
    memset(x->next, 0xFF, sizeof x->next);
    memcpy(s->stacks + s->nstacks, s->work, bytes);
    s->nstacks += s->nwork;
    v[s->nstates] = x;
    s->state_table.v[at] = s->nstates + 1;
    s->state_table.n++;
    return s->nstates++;
}

/* ---- transitions ----------------------------------------------------------------------------- */

/* Adds the stacks that matching goes on with from `element` with `outer` below it. A stack is looked at once: `seen` are the
   numbers of those whose first element is a rule or an end. Depth-first over an explicit list, because grammars can be
   recursive on the left. */
static void expand(struct llm_grammar_state *s, uint32_t element, uint32_t outer, uint32_t **list, uint32_t *n, uint32_t *cap) {
    uint32_t stack = stack_of(s, element, outer);
    for (uint32_t i = 0; i < *n && !s->failed; i++)
        if ((*list)[i] == stack)
            return;
    s->looked += *n;
    uint32_t *v = *n < MOST_STACKS && s->looked < MOST_WORK ? grown(s, *list, *n, cap, sizeof *v) : NULL;
    s->failed |= !v;
    if (s->failed)
        return;
    *list = v;
    v[(*n)++] = stack;
}

/* Puts the stacks of `seen`, and all that their rules lead to, into `work` if they begin with BYTES or are empty. */
static void close_over(struct llm_grammar_state *s, uint32_t **seen, uint32_t *nseen, uint32_t *cap) {
    const struct grammar_element *e = s->g->elements;
    for (uint32_t i = 0; i < *nseen && !s->failed; i++) {
        struct node top = s->nodes[(*seen)[i]];
        const struct grammar_element *x = &e[top.element];
        if ((*seen)[i] == 0 || x->kind == GRAMMAR_BYTES) {
            uint32_t *work = grown(s, s->work, s->nwork, &s->capwork, sizeof *work);
            s->failed |= !work;
            if (work) {
                s->work = work;
                work[s->nwork++] = (*seen)[i];
            }
        } else if (x->kind == GRAMMAR_RULE) {
            /* What follows at the end of a rule is the rest of the stack already: recursion on the right needs no space. */
            bool last = e[top.element + 1].kind == GRAMMAR_END || e[top.element + 1].kind == GRAMMAR_ALTERNATIVE;
            uint32_t outer = last ? top.outer : stack_of(s, top.element + 1, top.outer);
            for (uint32_t at = s->g->rules[x->rule].first;; at++) {
                expand(s, at, outer, seen, nseen, cap);
                while (e[at].kind != GRAMMAR_ALTERNATIVE && e[at].kind != GRAMMAR_END)
                    at++;
                if (e[at].kind == GRAMMAR_END || s->failed)
                    break;
            }
        } else { /* the end of a rule */
            expand(s, s->nodes[top.outer].element, s->nodes[top.outer].outer, seen, nseen, cap);
        }
    }
}

static uint32_t step(struct llm_grammar_state *s, uint32_t from, uint8_t byte) {
    if (from == NO_STATE || s->failed)
        return NO_STATE;
    if (s->states[from]->next[byte] != UINT32_MAX)
        return s->states[from]->next[byte];
    uint32_t *seen = NULL, nseen = 0, cap = 0;
    s->nwork = 0;
    s->looked = 0;
    for (uint32_t i = 0; i < s->states[from]->n && !s->failed; i++) {
        uint32_t stack = s->stacks[s->states[from]->first + i];
        const struct grammar_element *x = &s->g->elements[s->nodes[stack].element];
        if (stack && byte >= x->low && byte <= x->high)
            expand(s, s->nodes[stack].element + 1, s->nodes[stack].outer, &seen, &nseen, &cap);
    }
    close_over(s, &seen, &nseen, &cap);
    mem_free(&s->al, seen, cap * sizeof *seen);
    uint32_t to = state_of_work(s);
    if (!s->failed)
        s->states[from]->next[byte] = to;
    return to;
}

/* ---- vocabularies ---------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b, void *user) {
    const struct llm_tok *t = user;
    struct str x = llm_tok_bytes(t, *(const int32_t *)a), y = llm_tok_bytes(t, *(const int32_t *)b);
    int order = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    return order ? order : x.n < y.n ? -1 : x.n > y.n;
}

struct llm_grammar_vocab *llm_grammar_vocab_open(const struct llm_tok *t, size_t n, hilo_allocator al) {
    struct llm_grammar_vocab *v = mem_alloc(&al, sizeof *v);
    if (!v)
        return NULL;
    *v = (struct llm_grammar_vocab){.al = al, .t = t, .all = n};
    v->ids = mem_alloc(&al, n * sizeof *v->ids);
    v->common = mem_alloc(&al, n * sizeof *v->common);
    if (!v->ids || !v->common) {
        llm_grammar_vocab_close(v);
        return NULL;
    }
    for (size_t i = 0; i < n && i < llm_tok_size(t); i++)
        if (!llm_tok_is_special(t, (int32_t)i) && llm_tok_bytes(t, (int32_t)i).n)
            v->ids[v->n++] = (int32_t)i;
    qsort_r(v->ids, v->n, sizeof *v->ids, by_bytes, (void *)(uintptr_t)t);
    for (size_t i = 0; i < v->n; i++) {
        struct str now = llm_tok_bytes(t, v->ids[i]), before = i ? llm_tok_bytes(t, v->ids[i - 1]) : STR("");
        uint32_t same = 0;
        while (same < now.n && same < before.n && now.p[same] == before.p[same])
            same++;
        v->common[i] = same;
    }
    return v;
}

void llm_grammar_vocab_close(struct llm_grammar_vocab *v) {
    if (!v)
        return;
    hilo_allocator al = v->al;
    mem_free(&al, v->ids, v->all * sizeof *v->ids);
    mem_free(&al, v->common, v->all * sizeof *v->common);
    mem_free(&al, v, sizeof *v);
}

/* ---- the interface --------------------------------------------------------------------------- */

struct llm_grammar_state *llm_grammar_begin(const struct llm_grammar *g, const struct llm_grammar_vocab *v) {
    hilo_allocator al = mem_system_allocator();
    struct llm_grammar_state *s = mem_alloc(&al, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct llm_grammar_state){.al = al, .g = g, .v = v};
    /* Stack 0 is an END that no rule reaches: complete. */
    uint32_t *seen = NULL, nseen = 0, cap = 0, end = g->rules[g->root].first;
    while (g->elements[end].kind != GRAMMAR_END)
        end++;
    stack_of(s, end, UINT32_MAX);
    s->states = mem_alloc(&al, 64 * sizeof(struct state *));
    struct state *none = mem_alloc(&al, sizeof *none);
    if (s->states && none) {
        s->capstates = 64;
        *none = (struct state){.n = 0};
        s->states[s->nstates++] = none; /* not in the table: no state has no stacks */
    } else {
        mem_free(&al, none, sizeof *none);
        s->failed = true;
    }
    for (uint32_t at = g->rules[g->root].first; !s->failed; at++) {
        expand(s, at, 0, &seen, &nseen, &cap);
        while (g->elements[at].kind != GRAMMAR_ALTERNATIVE && g->elements[at].kind != GRAMMAR_END)
            at++;
        if (g->elements[at].kind == GRAMMAR_END)
            break;
    }
    close_over(s, &seen, &nseen, &cap);
    mem_free(&al, seen, cap * sizeof *seen);
    s->now = state_of_work(s);
    if (!s->failed)
        return s;
    llm_grammar_end(s);
    return NULL;
}

void llm_grammar_end(struct llm_grammar_state *s) {
    if (!s)
        return;
    hilo_allocator al = s->al;
    for (uint32_t i = 0; i < s->nstates; i++) {
        if (s->states[i]->mask)
            mem_free(&al, s->states[i]->mask, (s->v->n + 7) / 8);
        mem_free(&al, s->states[i], sizeof *s->states[i]);
    }
    mem_free(&al, s->states, s->capstates * sizeof(struct state *));
    mem_free(&al, s->nodes, s->capnodes * sizeof *s->nodes);
    mem_free(&al, s->stacks, s->capstacks * sizeof *s->stacks);
    mem_free(&al, s->work, s->capwork * sizeof *s->work);
    mem_free(&al, s->node_table.v, s->node_table.size * sizeof *s->node_table.v);
    mem_free(&al, s->state_table.v, s->state_table.size * sizeof *s->state_table.v);
    mem_free(&al, s, sizeof *s);
}

/* The tokens that a state allows. The vocabulary is sorted: the states after the bytes that a token shares with the one before
   it are known, and where they end in NO_STATE so does the token. */
static bool make_mask(struct llm_grammar_state *s) {
    enum { LONGEST = 512 };                           /* bytes of a token; longer ones are not allowed */
    uint32_t after[LONGEST + 1] = {s->now}, good = 0; /* good: bytes of the last token that led somewhere */
    size_t bytes = (s->v->n + 7) / 8;
    uint8_t *mask = mem_alloc(&s->al, bytes);
    if (!mask) {
        s->failed = true;
        return false;
    }
    memset(mask, 0, bytes);
    size_t allowed = 0;
    for (size_t i = 0; i < s->v->n; i++) {
        struct str token = llm_tok_bytes(s->v->t, s->v->ids[i]);
        if (s->v->common[i] > good || token.n > LONGEST) {
            continue;
        }
        for (good = s->v->common[i]; good < token.n; good++)
            if ((after[good + 1] = step(s, after[good], (uint8_t)token.p[good])) == NO_STATE)
                break;
        if (good == token.n) {
            mask[i / 8] |= (uint8_t)(1 << i % 8);
            allowed++;
        }
    }
    s->states[s->now]->mask = mask;
    s->states[s->now]->allowed = allowed;
    return !s->failed;
}

bool llm_grammar_mask(struct llm_grammar_state *s, const int32_t *ends, size_t nends, float *logits) {
    float kept[16];
    size_t nkept = nends < 16 ? nends : 16;
    if (s->failed || (!s->states[s->now]->mask && s->now != NO_STATE && !make_mask(s)))
        return false;
    const struct state *x = s->states[s->now];
    for (size_t i = 0; i < nkept; i++)
        kept[i] = logits[ends[i]];
    size_t next = 0; /* ids that are no tokens of the vocabulary are not allowed either */
    float *out = mem_alloc(&s->al, s->v->all * sizeof *out);
    if (!out)
        return false;
    for (; next < s->v->all; next++)
        out[next] = -INFINITY;
    for (size_t i = 0; i < s->v->n && x->mask; i++)
        if (x->mask[i / 8] >> i % 8 & 1)
            out[s->v->ids[i]] = logits[s->v->ids[i]];
    memcpy(logits, out, s->v->all * sizeof *out);
    mem_free(&s->al, out, s->v->all * sizeof *out);
    for (size_t i = 0; i < nkept && x->complete; i++)
        logits[ends[i]] = kept[i];
    return x->allowed || (x->complete && nkept);
}

bool llm_grammar_accept_bytes(struct llm_grammar_state *s, struct str bytes) {
    for (size_t i = 0; i < bytes.n; i++)
        s->now = step(s, s->now, (uint8_t)bytes.p[i]);
    return s->now != NO_STATE && !s->failed;
}

bool llm_grammar_accept(struct llm_grammar_state *s, int32_t id) {
    return llm_grammar_accept_bytes(s, llm_tok_bytes(s->v->t, id));
}

bool llm_grammar_complete(struct llm_grammar_state *s) {
    return !s->failed && s->states[s->now]->complete;
}
