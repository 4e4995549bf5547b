/* Roots that share memory. Where a copy's source is not needed any more when its destination begins, both become one memory
 * and the copy nothing: states of loops, operands that are changed in place, results of branches. Where an elementwise kernel
 * reads an operand for the last time, its result takes the place. What saves the most time is joined first (aggressive
 * coalescing, after Chaitin, Register allocation and spilling via graph coloring, 1982). */
#include "plan/build.h"

#include <stdlib.h>
#include <string.h>

/* Two roots that meet in a step and would like to be one. */
struct pair {
    const struct plan_node *node;
    uint32_t from, to; /* uses */
    double gain;
    uint32_t number;   /* keeps the order of equals */
};
struct pairs { struct pair *v; uint32_t n, cap; };

struct coalesce {
    struct plan_builder *b;
    struct pairs by_gain, by_place;
    bool *given; /* by argument: to a result */
};

static uint32_t root_of_use(const struct plan_builder *b, const struct plan_node *n, uint32_t use) {
    return b->buffers.v[n->uses[use].buffer].root;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static void pair_add(struct plan_builder *b, struct pairs *p, const struct plan_node *n, uint32_t from, uint32_t to) {
    uint32_t x = n->uses[from].buffer, y = n->uses[to].buffer;
    const struct plan_buffer *v = b->buffers.v, *of = plan_root_of(b, x);
    if (v[x].root == v[y].root || v[x].space != v[y].space || v[x].bytes != v[y].bytes || !plan_is_full(b, x) ||
        !plan_is_full(b, y) || of->place == PLAN_CONSTANT || of->place == PLAN_INIT || plan_is_value(&v[x]) ||
        plan_is_value(&v[y]))
        return;
    double gain = (double)v[x].bytes + 1; /* of an overlay: a copy is worth more, and more in a loop */
    if (n->step == PLAN_COPY)
        gain *= 1e3;
    for (uint32_t i = 0; i < n->depth && i < 8; i++)
        gain *= 10;
    struct pair fresh = {n, from, to, gain, p->n};
    ARENA_PUSH(b->a, p, fresh);
}

static void pairs_of_list(struct plan_builder *b, struct pairs *p, const struct plan_list *list) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct plan_node *n = list->nodes.v[i];
        if (n->dead)
            continue;
        for (uint32_t k = 0; k < n->lists.n; k++)
            pairs_of_list(b, p, n->lists.v[k]);
        if (n->kind != NODE_STEP)
            continue;
        if (n->step == PLAN_COPY)
            for (uint32_t k = 0; k < n->nuses; k += 2)
                pair_add(b, p, n, k, k + 1);
        for (uint32_t to = 0; to < n->nuses; to++)
            for (uint32_t from = 0; n->uses[to].overlay && from < n->nuses && from < 64; from++)
                if (n->uses[to].overlay >> from & 1 && n->uses[from].role == PLAN_IN)
                    pair_add(b, p, n, from, to);
    }
}

static int pair_order(const void *x, const void *y) {
    const struct pair *a = x, *b = y;
    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int pair_place(const void *x, const void *y) {
    const struct pair *a = x, *b = y;
    return a->node->at != b->node->at ? (a->node->at < b->node->at ? -1 : 1)
                                      : (a->number < b->number ? -1 : a->number > b->number);
}

/* ---- spans ----------------------------------------------------------------------------------- */

bool plan_spans_overlap(const struct plan_span *x, uint32_t nx, const struct plan_span *y, uint32_t ny,
                        plan_overlap_rule *allowed, void *user) {
    for (uint32_t i = 0, k = 0; i < nx && k < ny;) {
        uint32_t begin = x[i].begin > y[k].begin ? x[i].begin : y[k].begin;
        uint32_t end = x[i].end < y[k].end ? x[i].end : y[k].end;
        if (begin <= end && !(begin == end && allowed && allowed(user, begin)))
            return true;
        if (x[i].end < y[k].end)
            i++;
        else
            k++;
    }
    return false;
}

/* Both lists as one, ascending and apart. */
static void class_join(struct plan_builder *b, uint32_t x, uint32_t y) {
    struct plan_root *p = &b->roots[x], *q = &b->roots[y];
    struct plan_span *v = ARENA_ARRAY(b->a, struct plan_span, (size_t)p->nspans + q->nspans);
    uint32_t n = 0, i = 0, k = 0;
    while (i < p->nspans || k < q->nspans) {
        bool first = k == q->nspans || (i < p->nspans && p->spans[i].begin <= q->spans[k].begin);
        struct plan_span s = first ? p->spans[i++] : q->spans[k++];
        if (n && s.begin <= v[n - 1].end + 1)
            v[n - 1].end = s.end > v[n - 1].end ? s.end : v[n - 1].end;
        else
            v[n++] = s;
    }
    q->parent = x;
    p->spans = v;
    p->nspans = n;
    if (p->result < 0)
        p->result = q->result;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Whether a step that runs at the same time reads something in the class `c`. */
static bool others_read(struct plan_builder *b, const struct plan_node *n, uint32_t c) {
    for (uint32_t k = 0; n->group && k < n->group->n; k++) {
        const struct plan_node *x = n->group->v[k];
        for (uint32_t i = 0; x != n && !x->dead && i < x->nuses; i++)
            if (x->uses[i].role != PLAN_OUT && plan_class(b, b->buffers.v[x->uses[i].buffer].root) == c)
                return true;
    }
    return false;
}

/* True when everything that the step reads in the class `c` may share memory with the result `to`. */
static bool reads_allow(struct plan_builder *b, const struct pair *p, uint32_t c) {
    const struct plan_node *n = p->node;
    if (others_read(b, n, c))
        return false;
    for (uint32_t i = 0; i < n->nuses && n->step != PLAN_COPY; i++) {
        uint32_t x = n->uses[i].buffer;
        if (n->uses[i].role == PLAN_IN && plan_root_of(b, x)->place != PLAN_CONSTANT &&
            plan_class(b, b->buffers.v[x].root) == c &&
            (i >= 64 || !(n->uses[p->to].overlay >> i & 1) || !plan_is_full(b, x)))
            return false;
    }
    return true;
}

struct overlap {
    struct coalesce *c;
    uint32_t x, y; /* classes */
};

/* True when the classes meet at a point because a step may read one of them and write the other in one place. */
static bool overlap_allowed(void *user, uint32_t point) {
    struct overlap *m = user;
    const struct pairs *p = &m->c->by_place;
    uint32_t low = 0, high = p->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (2 * p->v[mid].node->at < point)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < p->n && 2 * p->v[low].node->at == point; low++) {
        const struct pair *q = &p->v[low];
        uint32_t from = plan_class(m->c->b, root_of_use(m->c->b, q->node, q->from));
        uint32_t to = plan_class(m->c->b, root_of_use(m->c->b, q->node, q->to));
        if (((from == m->x && to == m->y) || (from == m->y && to == m->x)) && reads_allow(m->c->b, q, from))
            return true;
    }
    return false;
}

static bool may_share(struct coalesce *c, uint32_t x, uint32_t y) {
    const struct plan_root *p = &c->b->roots[x], *q = &c->b->roots[y];
    struct overlap m = {c, x, y};
    return !plan_spans_overlap(p->spans, p->nspans, q->spans, q->nspans, overlap_allowed, &m);
}

static void pair_join(struct coalesce *c, const struct pair *p) {
    struct plan_builder *b = c->b;
    uint32_t x = plan_class(b, root_of_use(b, p->node, p->from)), y = plan_class(b, root_of_use(b, p->node, p->to));
    if (x != y && may_share(c, x, y))
        class_join(b, x, y);
}

/* ---- donors ---------------------------------------------------------------------------------- */

static int type_order(const struct plan_buffer *x, const struct plan_buffer *y) {
    if (x->dtype != y->dtype)
        return x->dtype < y->dtype ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->rank ? memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) : 0;
}

/* Argument `a` donates its memory to result `r` where it is not shared, both have one type and are in one memory, and the class
   of the result begins when the argument is not read any more. */
static void donor_give(struct coalesce *c, uint32_t a, uint32_t r) {
    struct plan_builder *b = c->b;
    uint32_t x = b->arguments[a];
    if (x == UINT32_MAX || c->given[a] || b->donors[r] >= 0 || !b->buffers.v[x].bytes ||
        b->buffers.v[x].space != b->buffers.v[b->results[r]].space ||
        type_order(&b->buffers.v[x], &b->buffers.v[b->types[r]]) != 0 || !may_share(c, x, plan_class(b, b->results[r])))
        return;
    b->donors[r] = (int32_t)a;
    c->given[a] = true;
}

/* An argument as it is sorted. */
struct sorted_argument {
    const struct plan_buffer *buffer;
    uint32_t argument;
};

static int argument_order(const void *x, const void *y) {
    const struct sorted_argument *a = x, *b = y;
    int order = type_order(a->buffer, b->buffer);
    return order ? order : a->argument < b->argument ? -1 : a->argument > b->argument;
}

/* Arguments that have a buffer, and are donated in most runs or not, sorted; the one after the last has none. */
static struct sorted_argument *sort_arguments(const struct plan_builder *b, bool donated, uint32_t *n) {
    struct sorted_argument *v = ARENA_ARRAY(b->a, struct sorted_argument, (size_t)b->narguments + 1);
    *n = 0;
    for (uint32_t i = 0; i < b->narguments; i++)
        if (b->arguments[i] != UINT32_MAX && b->donated[i] == donated)
            v[(*n)++] = (struct sorted_argument){&b->buffers.v[b->arguments[i]], i};
    if (*n)
        qsort(v, *n, sizeof *v, argument_order);
    return v;
}

/* The first place from `at` on whose argument was not given; paths are halved. */
static uint32_t not_given(const struct coalesce *c, const struct sorted_argument *v, uint32_t *next, uint32_t at) {
    for (;;) {
        while (next[at] != at)
            at = next[at] = next[next[at]];
        if (!v[at].buffer || !c->given[v[at].argument])
            return at;
        next[at] = at + 1;
    }
}

/* Any argument of the same type for the results that have none. Those that were given are skipped in amortised constant time;
   of those that do not fit, at most this many are considered for a result. */
static void find_any_donors(struct coalesce *c, bool donated) {
    enum { DONOR_TRIES = 256 };
    struct plan_builder *b = c->b;
    uint32_t n;
    const struct sorted_argument *v = sort_arguments(b, donated, &n);
    uint32_t *next = ARENA_ARRAY(b->a, uint32_t, n + 1); /* the first from there on that may not be given */
    for (uint32_t i = 0; i <= n; i++)
        next[i] = i;
    for (uint32_t r = 0; r < b->nresults; r++) {
        const struct plan_buffer *type = &b->buffers.v[b->types[r]];
        uint32_t low = 0, high = n;
        while (low < high) {
            uint32_t mid = low + (high - low) / 2;
            if (type_order(v[mid].buffer, type) < 0)
                low = mid + 1;
            else
                high = mid;
        }
        for (uint32_t tries = 0; tries < DONOR_TRIES && b->donors[r] < 0; low++, tries++) {
            low = not_given(c, v, next, low);
            if (low >= n || type_order(v[low].buffer, type) != 0)
                break;
            donor_give(c, v[low].argument, r);
        }
    }
}

/* Where a copy or an overlay gains, then any of the same type. */
static void find_donors_among(struct coalesce *c, bool donated) {
    struct plan_builder *b = c->b;
    for (uint32_t k = 0; k < c->by_gain.n; k++) {
        const struct pair *p = &c->by_gain.v[k];
        const struct plan_buffer *x = plan_root_of(b, p->node->uses[p->from].buffer);
        int32_t r = b->roots[plan_class(b, root_of_use(b, p->node, p->to))].result;
        if (x->place == PLAN_ARGUMENT && b->donated[x->index] == donated && r >= 0)
            donor_give(c, x->index, (uint32_t)r);
    }
    find_any_donors(c, donated);
}

/* Hints first, then those that are donated in most runs, then the others. */
static void find_donors(struct coalesce *c) {
    struct plan_builder *b = c->b;
    c->given = ARENA_ARRAY(b->a, bool, b->narguments);
    b->donors = ARENA_ARRAY(b->a, int32_t, b->nresults);
    for (uint32_t i = 0; i < b->nresults; i++)
        b->donors[i] = -1;
    for (uint32_t i = 0; i < b->donor_hints.n; i++)
        donor_give(c, b->donor_hints.v[i].argument, b->donor_hints.v[i].result);
    find_donors_among(c, true);
    find_donors_among(c, false);
}

void plan_coalesce(struct plan_builder *b) {
    struct coalesce c = {.b = b};
    struct pairs *p = &c.by_gain;
    pairs_of_list(b, p, &b->top);
    c.by_place = (struct pairs){arena_dup(b->a, p->v, p->n * sizeof *p->v, _Alignof(struct pair)), p->n, p->n};
    if (p->n) {
        qsort(p->v, p->n, sizeof *p->v, pair_order);
        qsort(c.by_place.v, p->n, sizeof *p->v, pair_place);
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (plan_root_of(b, p->v[i].node->uses[p->v[i].from].buffer)->place == PLAN_BLOCK)
            pair_join(&c, &p->v[i]);
    find_donors(&c);
}
