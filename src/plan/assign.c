/* Offsets in the block: one class after the other into the smallest gap that it fits, between those of the same time. The best
 * of several orders is kept; largest first is the one of Pisarchyk and Lee, Efficient memory management for deep neural net
 * inference, 2020. */
#include "plan/build.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    ASSIGN_ALL = 4096,  /* more classes than this are placed in one order only, */
    ASSIGN_ONE = 11585  /* and more than this by plan_sweep, since placing takes n * n / 2 comparisons */
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

/* Most that lives at one time. */
static size_t most_live(struct plan_builder *b, const struct plan_item *items, uint32_t nitems) {
    size_t n = 0, live = 0, most = 0;
    for (uint32_t i = 0; i < nitems; i++)
        n += 2 * (size_t)items[i].nspans;
    struct event *e = ARENA_ARRAY(b->a, struct event, n);
    n = 0;
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
        if (live <= most)
            continue;
        most = live;
        b->fullest = e[i].point;
    }
    return most;
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
        items[n++] = (struct plan_item){.root = i, .bytes = bytes & ~(size_t)(ALIGN - 1), .begin = r->spans[0].begin,
                                   .end = r->spans[r->nspans - 1].end, .spans = r->spans, .nspans = r->nspans};
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
    w.n = gather(b, space, w.items);
    w.placed = ARENA_ARRAY(b->a, const struct plan_item *, w.n <= ASSIGN_ONE ? w.n : 0);
    b->live_bytes[space] = most_live(b, w.items, w.n);
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
