/* Overlap: exchanges start early and finish late, and what does not need them is computed between (XLA: latency hiding
 * scheduler). A list is scheduled anew, forward, in its order with these exceptions: an exchange starts as many steps earlier
 * as take about as long as it does; it is finished when as much was computed since, and when nothing else can be; what
 * waits for it is passed by what does not, as far as that needs no more memory than the exchange, or little. So blocks are not
 * held longer than it takes to hide them. The exchanges, and whatever has an effect, start in their order, which is that of all
 * processes. An exchange with nothing between its halves stays one step. */
#include "plan/build.h"

#include <string.h>

enum {
    OVERLAP_AHEAD = 256, /* items that are looked at for one that can go on */
    OVERLAP_MOST = PLAN_EXCHANGES - 1,
    OVERLAP_ROOM = 256 << 10 /* bytes that may be written ahead of their place whatever the exchange brings */
};

enum part { WHOLE, START, DONE };

/* A node of the list, or half of an exchange. */
struct item {
    struct plan_node *node;
    enum part part;
    bool issued, nested;     /* nested: a list that has exchanges of its own, which are open alone */
    uint32_t waits;          /* items that it depends on, and that are not issued */
    struct { uint32_t *v; uint32_t n, cap; } next; /* those that depend on it */
    double ns;               /* START: of the exchange; else of what is computed */
    size_t bytes;            /* that it writes */
};

/* An exchange between its halves. */
struct open {
    uint32_t start;          /* item; the next one is its end */
    double left;             /* ns that are not hidden yet */
    size_t room;             /* bytes that may still be written ahead of their place */
};

struct root_state {
    bool result;             /* whose memory is there in all of the run */
    uint32_t writer;         /* the last item, and 1 more; 0 = none */
    struct { uint32_t *v; uint32_t n, cap; } readers; /* since */
};

struct overlap {
    struct plan_builder *b;
    const struct plan_link *link;
    struct root_state *roots; /* and one more: effects */
    struct item *items;
    uint32_t nitems, first;  /* first: that is not issued */
    uint32_t *order, norder;
    struct open open[OVERLAP_MOST];
    uint32_t nopen;
};

/* ---- what depends on what -------------------------------------------------------------------- */

static bool is_exchange(const struct plan_node *n) {
    return n->kind == NODE_STEP && n->step == PLAN_COLLECTIVE && n->collective->kind < PLAN_REPLICA_ID;
}

/* Exchanges of several blocks stay whole, and those that bring nothing from others. */
static bool can_split(const struct plan_builder *b, const struct plan_node *n) {
    return is_exchange(n) && n->nuses == 2 && n->collective->groups.cols != 1 && n->uses[0].buffer < b->buffers.n &&
           n->uses[1].buffer < b->buffers.n;
}

static void depend(struct overlap *o, uint32_t item, uint32_t on) {
    ARENA_PUSH(o->b->a, &o->items[on].next, item);
    o->items[item].waits++;
}

static void access_root(struct overlap *o, uint32_t item, uint32_t root, bool writes) {
    struct root_state *r = &o->roots[root];
    if (r->writer && r->writer - 1 != item)
        depend(o, item, r->writer - 1);
    if (!writes) {
        ARENA_PUSH(o->b->a, &r->readers, item);
        return;
    }
    for (uint32_t i = 0; i < r->readers.n; i++)
        if (r->readers.v[i] != item)
            depend(o, item, r->readers.v[i]);
    r->readers.n = 0;
    r->writer = item + 1;
}

static uint32_t root_of(const struct overlap *o, const struct plan_use *u) {
    uint32_t n = o->b->buffers.n;
    return u->buffer < n ? o->b->buffers.v[u->buffer].root : n; /* unknown: live.c reports it */
}

static void access_node(struct overlap *o, uint32_t item, const struct plan_node *n) {
    struct item *x = &o->items[item];
    for (uint32_t i = 0; i < n->nuses; i++) {
        bool writes = n->uses[i].role != PLAN_IN;
        uint32_t root = root_of(o, &n->uses[i]);
        access_root(o, item, root, writes);
        if (writes && root < o->b->buffers.n && !o->roots[root].result &&
            !mem_add(x->bytes, o->b->buffers.v[n->uses[i].buffer].bytes, &x->bytes))
            x->bytes = SIZE_MAX;
    }
    if (is_exchange(n) || (n->effect && n->step != PLAN_COLLECTIVE))
        access_root(o, item, o->b->buffers.n, true);
    x->ns += n->kernel ? n->kernel->ns : n->routine ? n->routine->ns : 0;
    for (uint32_t k = 0; k < n->lists.n; k++)
        for (uint32_t i = 0; i < n->lists.v[k]->nodes.n; i++) {
            const struct plan_node *inner = n->lists.v[k]->nodes.v[i];
            x->nested |= is_exchange(inner);
            access_node(o, item, inner);
        }
}

static void add_item(struct overlap *o, struct plan_node *n, enum part part) {
    uint32_t number = o->nitems++;
    struct item *x = &o->items[number];
    *x = (struct item){.node = n, .part = part};
    if (part != DONE) {
        access_node(o, number, n);
    } else {
        access_root(o, number, root_of(o, &n->uses[0]), false);
        access_root(o, number, root_of(o, &n->uses[1]), true);
    }
    if (part == START) {
        size_t in = o->b->buffers.v[n->uses[0].buffer].bytes, out = o->b->buffers.v[n->uses[1].buffer].bytes;
        x->bytes = in > out ? in : out;
        x->ns = o->link->latency_ns + (double)x->bytes * o->link->ns_per_byte;
    }
}

/* ---- the order ------------------------------------------------------------------------------- */

static void issue(struct overlap *o, uint32_t i) {
    struct item *x = &o->items[i];
    x->issued = true;
    o->order[o->norder++] = i;
    for (uint32_t k = 0; k < x->next.n; k++)
        o->items[x->next.v[k]].waits--;
    while (o->first < o->nitems && o->items[o->first].issued)
        o->first++;
    if (x->part == START) {
        o->open[o->nopen++] = (struct open){i, x->ns, x->bytes > OVERLAP_ROOM ? x->bytes : OVERLAP_ROOM};
        return;
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < o->nopen; k++) {
        o->open[k].left -= x->part == WHOLE ? x->ns : 0;
        if (x->part != DONE || o->open[k].start + 1 != i)
            o->open[kept++] = o->open[k];
    }
    o->nopen = kept;
}

/* The next exchange, if it should start now: if what comes before it does not take longer. */
static bool start_early(struct overlap *o) {
    double ns = 0;
    for (uint32_t i = o->first; i < o->nitems && i - o->first < OVERLAP_AHEAD && o->nopen < OVERLAP_MOST; i++) {
        const struct item *x = &o->items[i];
        if (x->issued)
            continue;
        if (x->nested)
            return false;
        if (x->part == START) {
            if (x->waits || ns > x->ns)
                return false;
            issue(o, i);
            return true;
        }
        ns += x->part == WHOLE ? x->ns : 0;
    }
    return false;
}

static const struct open *open_of(const struct overlap *o, uint32_t done) {
    uint32_t i = 0;
    while (o->open[i].start + 1 != done)
        i++;
    return &o->open[i];
}

/* Whether the item can be issued, at its place or ahead of it. */
static bool can_go(struct overlap *o, uint32_t i) {
    const struct item *x = &o->items[i];
    if (x->issued || x->waits || (x->nested && o->nopen) || (x->part == START && o->nopen == OVERLAP_MOST))
        return false;
    if (x->part == DONE)
        return open_of(o, i)->left <= 0;
    if (x->part == START || i == o->first || !o->nopen)
        return true;
    if (x->bytes > o->open[0].room)
        return false;
    o->open[0].room -= x->bytes;
    return true;
}

static void schedule(struct overlap *o) {
    while (o->first < o->nitems) {
        if (start_early(o))
            continue;
        uint32_t i = o->first;
        while (i < o->nitems && i - o->first < OVERLAP_AHEAD && !can_go(o, i))
            i++;
        issue(o, i < o->nitems && i - o->first < OVERLAP_AHEAD ? i : o->open[0].start + 1);
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

static struct plan_node *done_node(struct overlap *o, const struct plan_node *n) {
    struct plan_node *done = plan_node_like(o->b, n, NODE_STEP, 2);
    done->step = PLAN_DONE;
    done->effect = true;
    done->note = n->note;
    done->collective = n->collective;
    done->uses[0] = (struct plan_use){n->uses[0].buffer, PLAN_IN, 0, 0};
    done->uses[1] = (struct plan_use){n->uses[1].buffer, PLAN_INOUT, 0, 0};
    return done;
}

/* A number that no open exchange has. */
static uint32_t free_number(bool *taken) {
    uint32_t i = 1;
    while (taken[i])
        i++;
    taken[i] = true;
    return i;
}

/* Appends the items in their order. */
static void write_list(struct overlap *o, struct plan_list *list) {
    bool taken[PLAN_EXCHANGES] = {false};
    for (uint32_t k = 0; k < o->norder; k++) {
        const struct item *x = &o->items[o->order[k]];
        struct plan_node *n = x->node;
        bool whole = x->part == START && k + 1 < o->norder && o->order[k + 1] == o->order[k] + 1;
        if (x->part == START && !whole) {
            struct plan_collective *half = arena_dup(o->b->a, n->collective, sizeof *half, _Alignof(struct plan_collective));
            half->number = free_number(taken);
            n->collective = half;
        } else if (x->part == DONE) {
            taken[n->collective->number] = false;
            n = done_node(o, n);
        }
        ARENA_PUSH(o->b->a, &list->nodes, n);
        k += whole;
    }
}

static void overlap_list(struct overlap *o, struct plan_list *list) {
    uint32_t n = 0, splits = 0;
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        for (uint32_t k = 0; k < list->nodes.v[i]->lists.n; k++)
            overlap_list(o, list->nodes.v[i]->lists.v[k]);
        splits += can_split(o->b, list->nodes.v[i]);
    }
    if (!splits)
        return;
    for (uint32_t i = 0; i <= o->b->buffers.n; i++) {
        o->roots[i].writer = 0;
        o->roots[i].readers.n = 0;
    }
    o->items = arena_array(o->b->a, (size_t)list->nodes.n + splits, sizeof *o->items, _Alignof(struct item));
    o->order = ARENA_ARRAY(o->b->a, uint32_t, (size_t)list->nodes.n + splits);
    o->nitems = o->norder = o->first = o->nopen = 0;
    while (n < list->nodes.n && list->nodes.v[n]->init) /* these stay before the others */
        n++;
    struct plan_list fresh = {.begin = 0};
    for (uint32_t i = 0; i < n; i++)
        ARENA_PUSH(o->b->a, &fresh.nodes, list->nodes.v[i]);
    for (; n < list->nodes.n; n++) {
        struct plan_node *x = list->nodes.v[n];
        add_item(o, x, can_split(o->b, x) ? START : WHOLE);
        if (can_split(o->b, x))
            add_item(o, x, DONE);
    }
    schedule(o);
    write_list(o, &fresh);
    list->nodes = fresh.nodes;
}

void plan_overlap(struct plan_builder *b, const struct plan_link *link) {
    struct overlap o = {.b = b, .link = link};
    o.roots = arena_array(b->a, (size_t)b->buffers.n + 1, sizeof *o.roots, _Alignof(struct root_state));
    for (uint32_t i = 0; i < b->nresults; i++)
        if (b->results[i] < b->buffers.n)
            o.roots[b->buffers.v[b->results[i]].root].result = true;
    overlap_list(&o, &b->top);
}
