/* Offsets in the block: one class after the other into the smallest gap that it fits, between those of the same time. The best
 * of several orders is kept; largest first is the one of Pisarchyk and Lee, Efficient memory management for deep neural net
 * inference, 2020.
 *
 * Before that, where the most is live, classes are moved into the memory of results while these are not written yet, as XLA
 * does. Only there, because the block's memory is in the caches, and the results' is not. */
#include "plan/build.h"
#include "base/torture.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    ASSIGN_ALL = 4096,  /* more classes than this are placed in one order only, */
    ASSIGN_ONE = 11585, /* and more than this by plan_sweep, since placing takes n * n / 2 comparisons */
    ASSIGN_TRIES = 1 << 16 /* places in results that are looked at */
};

struct block {
    struct plan_builder *b;
    enum plan_space space;
    struct plan_item *items; /* in the order in which they are placed */
    const struct plan_item **placed; /* by offset */
    uint32_t n, nplaced;
    size_t bytes;
};

/* ---- orders ---------------------------------------------------------------------------------- */

static int by_size(const void *x, const void *y) {
    const struct plan_item *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->root < b->root ? -1 : a->root > b->root;
}

static int by_time(const void *x, const void *y) {
    const struct plan_item *a = x, *b = y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return by_size(x, y);
}

static int by_area(const void *x, const void *y) {
    const struct plan_item *a = x, *b = y;
    double p = (double)a->bytes * (a->end - a->begin + 1.0), q = (double)b->bytes * (b->end - b->begin + 1.0);
    return p != q ? (p > q ? -1 : 1) : by_size(x, y);
}

static int by_length(const void *x, const void *y) {
    const struct plan_item *a = x, *b = y;
    uint32_t p = a->end - a->begin, q = b->end - b->begin;
    return p != q ? (p > q ? -1 : 1) : by_size(x, y);
}

/* ---- placing --------------------------------------------------------------------------------- */

static bool overlap_in_time(const struct plan_item *x, const struct plan_item *y) {
    return x->begin <= y->end && y->begin <= x->end &&
           plan_spans_overlap(x->spans, x->nspans, y->spans, y->nspans, NULL, NULL);
}

static size_t end_of(struct block *w, const struct plan_item *x) {
    size_t end;
    if (!mem_add(x->offset, x->bytes, &end) || end > PTRDIFF_MAX)
        arena_exhausted(w->b->a);
    return end;
}

/* The smallest gap between what lives at the same time, or after all of it. */
static void place(struct block *w, struct plan_item *x) {
    size_t at = 0, best = SIZE_MAX;
    for (uint32_t i = 0; i < w->nplaced; i++) {
        const struct plan_item *y = w->placed[i];
        if (y->offset + y->bytes <= at || !overlap_in_time(x, y))
            continue;
        if (y->offset > at && y->offset - at >= x->bytes && y->offset - at < best) {
            best = y->offset - at;
            x->offset = at;
        }
        at = y->offset + y->bytes;
    }
    if (best == SIZE_MAX)
        x->offset = at;
    size_t end = end_of(w, x);
    if (w->bytes < end)
        w->bytes = end;
    uint32_t i = w->nplaced++;
    for (; i > 0 && w->placed[i - 1]->offset > x->offset; i--)
        w->placed[i] = w->placed[i - 1];
    w->placed[i] = x;
}

static void place_all(struct block *w, int (*order)(const void *, const void *)) {
    qsort(w->items, w->n, sizeof *w->items, order);
    w->nplaced = 0;
    w->bytes = 0;
    for (uint32_t i = 0; i < w->n; i++)
        place(w, &w->items[i]);
}

/* ---- the lower bound ------------------------------------------------------------------------- */

struct event {
    uint32_t point;
    bool ends;
    size_t bytes;
};

static int event_order(const void *x, const void *y) {
    const struct event *a = x, *b = y;
    return a->point != b->point ? (a->point < b->point ? -1 : 1) : (int)b->ends - (int)a->ends;
}

/* Room for the events of all items. */
static struct event *events_new(const struct plan_builder *b, const struct plan_item *items, uint32_t nitems) {
    size_t n = 0;
    for (uint32_t i = 0; i < nitems; i++)
        n += 2 * (size_t)items[i].nspans;
    return ARENA_ARRAY(b->a, struct event, n);
}

/* Most that lives at one time, and the first and the last point of it. `e` has room for the events. */
static size_t most_live(struct plan_builder *b, struct event *e, const struct plan_item *items, uint32_t nitems,
                        uint32_t *first, uint32_t *last) {
    size_t n = 0, live = 0, most = 0;
    for (uint32_t i = 0; i < nitems; i++)
        for (uint32_t k = 0; k < items[i].nspans; k++) {
            e[n++] = (struct event){items[i].spans[k].begin, false, items[i].bytes};
            e[n++] = (struct event){items[i].spans[k].end + 1, true, items[i].bytes};
        }
    if (n)
        qsort(e, n, sizeof *e, event_order);
    for (size_t i = 0; i < n; i++) {
        if (e[i].ends)
            live -= e[i].bytes;
        else if (!mem_add(live, e[i].bytes, &live))
            arena_exhausted(b->a);
        if (e[i].ends || live < most)
            continue;
        *first = live > most ? e[i].point : *first;
        *last = e[i].point;
        most = live;
    }
    return most;
}

/* ---- memory of results ----------------------------------------------------------------------- */

/* A result, and what is in its memory: the class of the result, the argument that donates it in most runs, and what is moved
   there. */
struct lender {
    size_t bytes;
    struct { struct plan_item *v; uint32_t n, cap; } items;
};

static struct plan_item item_of(const struct plan_builder *b, uint32_t root, size_t bytes) {
    const struct plan_root *r = &b->roots[root];
    return (struct plan_item){.root = root, .bytes = bytes, .begin = r->nspans ? r->spans[0].begin : 0,
                              .end = r->nspans ? r->spans[r->nspans - 1].end : 0, .spans = r->spans, .nspans = r->nspans};
}

static struct lender *find_lenders(struct plan_builder *b, enum plan_space space) {
    struct lender *v = arena_array(b->a, b->nresults, sizeof *v, _Alignof(struct lender));
    for (uint32_t i = 0; i < b->nresults; i++) {
        const struct plan_buffer *x = &b->buffers.v[b->results[i]];
        if (plan_is_value(x) || x->space != space || x->bytes < ALIGN)
            continue;
        v[i].bytes = x->bytes;
        struct plan_item own = item_of(b, plan_class(b, b->results[i]), x->bytes);
        ARENA_PUSH(b->a, &v[i].items, own);
        if (b->donors[i] < 0 || !b->donated[b->donors[i]])
            continue;
        struct plan_item argument = item_of(b, b->arguments[b->donors[i]], x->bytes);
        ARENA_PUSH(b->a, &v[i].items, argument);
    }
    return v;
}

/* Finds a place for `bytes` in the result, the first that fits; its items are by offset. */
static bool find_place(const struct lender *l, struct plan_item *x, size_t bytes) {
    size_t at = 0;
    for (uint32_t i = 0; i < l->items.n; i++) {
        const struct plan_item *y = &l->items.v[i];
        if (y->offset + y->bytes <= at || !overlap_in_time(x, y))
            continue;
        if (y->offset >= at && y->offset - at >= bytes)
            break;
        at = (y->offset + y->bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    }
    x->offset = at;
    return at <= l->bytes && l->bytes - at >= bytes;
}

/* Into the smallest result that has a place for it; *donor: of that, before. */
static bool lend(struct plan_builder *b, struct lender *lenders, struct plan_item *x, uint32_t *tries, int32_t *donor) {
    size_t bytes = b->buffers.v[x->root].bytes, offset = 0;
    struct lender *best = NULL;
    for (uint32_t i = 0; i < b->nresults; i++) {
        struct lender *l = &lenders[i];
        if (l->bytes < bytes || (best && best->bytes <= l->bytes))
            continue;
        if (TORTURE && b->buffers.v[b->types[i]].dtype != b->buffers.v[x->root].dtype) /* it is aligned as its elements are */
            continue;
        *tries += l->items.n;
        if (!find_place(l, x, bytes))
            continue;
        best = l;
        offset = x->offset;
    }
    if (!best)
        return false;
    x->offset = offset;
    struct plan_item moved = *x;
    moved.bytes = bytes;
    ARENA_PUSH(b->a, &best->items, moved);
    for (uint32_t i = best->items.n - 1; i > 0 && best->items.v[i - 1].offset > offset; i--) {
        best->items.v[i] = best->items.v[i - 1];
        best->items.v[i - 1] = moved;
    }
    int32_t result = (int32_t)(best - lenders);
    b->roots[x->root].lender = result;
    b->roots[x->root].offset = offset;
    *donor = b->donors[result];
    if (*donor >= 0) { /* what is moved would overwrite an argument that is still read */
        struct plan_item argument = item_of(b, b->arguments[*donor], best->bytes);
        b->donors[result] = overlap_in_time(x, &argument) ? -1 : *donor;
    }
    return true;
}

static bool is_live(const struct plan_item *x, uint32_t point) {
    for (uint32_t i = 0; i < x->nspans; i++)
        if (x->spans[i].begin <= point && point <= x->spans[i].end)
            return true;
    return false;
}

/* Init steps run without results: the first point after them. */
static uint32_t after_init(const struct plan_builder *b) {
    uint32_t n = 0;
    while (n < b->top.nodes.n && b->top.nodes.v[n]->init)
        n++;
    return n ? 2 * b->top.nodes.v[n - 1]->at + 2 : 0;
}

/* The largest, of these the one that is needed longest, first. */
static int by_use(const void *x, const void *y) {
    const struct plan_item *a = x, *b = y;
    return a->bytes == b->bytes && a->end != b->end ? (a->end > b->end ? -1 : 1) : by_size(x, y);
}

/* Moves classes of the fullest point to results while there are any that fit; of several such points of the last, from where on
   the results are written. What did not lower the most that is live goes back. What is left. */
static uint32_t move_to_results(struct plan_builder *b, enum plan_space space, struct event *e, struct plan_item *items,
                                uint32_t n) {
    struct lender *lenders = find_lenders(b, space);
    int32_t *donors = ARENA_ARRAY(b->a, int32_t, n); /* by place of what was moved: of its lender before that */
    uint32_t first = after_init(b), tries = 0, any, last, kept = n;
    size_t least = SIZE_MAX, live;
    qsort(items, n, sizeof *items, by_use);
    for (bool moved = true; moved && (live = most_live(b, e, items, n, &any, &last)) != 0;) {
        kept = live < least ? n : kept;
        least = live < least ? live : least;
        moved = false;
        for (uint32_t i = 0; i < n && !moved && tries < ASSIGN_TRIES; i++) {
            if (items[i].begin < first || !is_live(&items[i], last) || !lend(b, lenders, &items[i], &tries, &donors[n - 1]))
                continue;
            struct plan_item x = items[i];
            memmove(&items[i], &items[i + 1], (--n - i) * sizeof *items);
            items[n] = x;
            moved = true;
        }
    }
    if (!live)
        return n;
    for (; n < kept; n++) {
        struct plan_root *r = &b->roots[items[n].root];
        b->donors[r->lender] = donors[n];
        r->lender = -1;
    }
    return n;
}

/* ---- all ------------------------------------------------------------------------------------- */

static uint32_t gather(struct plan_builder *b, enum plan_space space, struct plan_item *items) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->buffers.n; i++) {
        const struct plan_root *r = &b->roots[i];
        const struct plan_buffer *x = &b->buffers.v[i];
        if (x->root != i || x->place != PLAN_BLOCK || x->space != space || r->parent != i || r->result >= 0 || !r->nspans ||
            !x->bytes)
            continue;
        size_t bytes;
        if (!mem_add(x->bytes, ALIGN - 1, &bytes))
            arena_exhausted(b->a);
        items[n++] = item_of(b, i, bytes & ~(size_t)(ALIGN - 1));
    }
    return n;
}

uint32_t plan_fullest(const struct plan_builder *b, const uint32_t **buffers) {
    uint32_t *v = ARENA_ARRAY(b->a, uint32_t, b->buffers.n), n = 0;
    for (uint32_t i = 0; i < b->buffers.n; i++)
        for (uint32_t k = 0; b->buffers.v[i].place == PLAN_BLOCK && k < b->roots[i].nown; k++)
            if (b->roots[i].own[k].begin <= b->fullest && b->roots[i].own[k].end >= b->fullest)
                v[n++] = i;
    *buffers = v;
    return n;
}

static void keep_best(struct block *w) {
    if (w->bytes >= w->b->block_bytes[w->space])
        return;
    w->b->block_bytes[w->space] = w->bytes;
    for (uint32_t i = 0; i < w->n; i++)
        w->b->roots[w->items[i].root].offset = w->items[i].offset;
}

static void assign_space(struct plan_builder *b, enum plan_space space) {
    static int (*const orders[])(const void *, const void *) = {by_size, by_area, by_length, by_time};
    struct block w = {.b = b, .space = space, .items = ARENA_ARRAY(b->a, struct plan_item, b->buffers.n)};
    uint32_t last;
    w.n = gather(b, space, w.items);
    struct event *e = events_new(b, w.items, w.n);
    if (w.n <= ASSIGN_ALL)
        w.n = move_to_results(b, space, e, w.items, w.n);
    w.placed = ARENA_ARRAY(b->a, const struct plan_item *, w.n <= ASSIGN_ONE ? w.n : 0);
    b->live_bytes[space] = most_live(b, e, w.items, w.n, &b->fullest, &last);
    b->block_bytes[space] = SIZE_MAX;
    if (w.n > ASSIGN_ONE) {
        qsort(w.items, w.n, sizeof *w.items, by_time);
        w.bytes = plan_sweep(b->a, w.items, w.n);
        keep_best(&w);
        return;
    }
    uint32_t tries = w.n > ASSIGN_ALL ? 1 : sizeof orders / sizeof *orders;
    for (uint32_t k = 0; k < tries && b->block_bytes[space] > b->live_bytes[space]; k++) {
        place_all(&w, orders[k]);
        keep_best(&w);
    }
}

void plan_assign(struct plan_builder *b) {
    for (int space = 0; space < PLAN_SPACES; space++)
        assign_space(b, (enum plan_space)space);
}
