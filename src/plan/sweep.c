/* Offsets for too many buffers to compare each pair: in order of time, as a heap allocates.
 * What is free is found by size class in constant time (two-level segregated fit; Masmano et al., TLSF: a new dynamic memory
 * allocator for real-time systems, 2004), and joined with its free neighbours. */
#include "plan/build.h"

#include <stdlib.h>

enum {
    SWEEP_UNIT = 64,   /* all sizes are multiples of it */
    SWEEP_LEVELS = 58, /* powers of two of units */
    SWEEP_STEPS = 8,   /* classes between a power of two and the next */
    SWEEP_TRIES = 8    /* chunks of its own class that are looked at for a size */
};

/* A piece of the block, in use or free; numbers of others, 0 = none. */
struct chunk {
    size_t offset, units;
    uint32_t before, after;  /* its neighbours */
    uint32_t next, previous; /* in the list of its class, when it is free; next: of chunks that are not used */
    bool free;
};

struct sweep {
    struct chunk *v;
    uint32_t n, spare, last; /* spare: a list of chunks that are not used; last: the one with the highest offset */
    uint32_t lists[SWEEP_LEVELS][SWEEP_STEPS];
    uint8_t steps[SWEEP_LEVELS]; /* of each level: lists that are not empty, by bit */
    uint64_t levels;             /* that have any */
    size_t units;                /* of the block */
};

/* ---- free chunks by class -------------------------------------------------------------------- */

static uint32_t *list_of(struct sweep *s, size_t units, uint32_t *level, uint32_t *step) {
    *level = 63 - (uint32_t)__builtin_clzll(units);
    size_t above = units - ((size_t)1 << *level);
    *step = (uint32_t)(*level >= 3 ? above >> (*level - 3) : above << (3 - *level));
    return &s->lists[*level][*step];
}

static void insert(struct sweep *s, uint32_t chunk) {
    uint32_t level, step, *list = list_of(s, s->v[chunk].units, &level, &step);
    s->v[chunk].free = true;
    s->v[chunk].previous = 0;
    s->v[chunk].next = *list;
    if (*list)
        s->v[*list].previous = chunk;
    *list = chunk;
    s->steps[level] |= (uint8_t)(1u << step);
    s->levels |= UINT64_C(1) << level;
}

static void take_out(struct sweep *s, uint32_t chunk) {
    uint32_t level, step, *list = list_of(s, s->v[chunk].units, &level, &step);
    struct chunk *c = &s->v[chunk];
    c->free = false;
    if (c->next)
        s->v[c->next].previous = c->previous;
    if (c->previous)
        s->v[c->previous].next = c->next;
    else
        *list = c->next;
    if (*list)
        return;
    s->steps[level] &= (uint8_t)~(1u << step);
    if (!s->steps[level])
        s->levels &= ~(UINT64_C(1) << level);
}

/* A free chunk of that size or more; 0 = there is none. */
static uint32_t find(struct sweep *s, size_t units) {
    uint32_t level, step, tries = SWEEP_TRIES;
    for (uint32_t c = *list_of(s, units, &level, &step); c && tries; c = s->v[c].next, tries--)
        if (s->v[c].units >= units)
            return c;
    uint32_t larger = s->steps[level] & ~((2u << step) - 1);
    if (larger)
        return s->lists[level][__builtin_ctz(larger)];
    uint64_t levels = s->levels & ~((UINT64_C(2) << level) - 1);
    if (!levels)
        return 0;
    level = (uint32_t)__builtin_ctzll(levels);
    return s->lists[level][__builtin_ctz(s->steps[level])];
}

/* ---- allocating ------------------------------------------------------------------------------ */

/* A chunk in use at the offset, between two others. */
static uint32_t chunk_new(struct sweep *s, size_t offset, size_t units, uint32_t before, uint32_t after) {
    uint32_t c = s->spare ? s->spare : ++s->n;
    if (s->spare)
        s->spare = s->v[c].next;
    s->v[c] = (struct chunk){.offset = offset, .units = units, .before = before, .after = after};
    if (before)
        s->v[before].after = c;
    if (after)
        s->v[after].before = c;
    else
        s->last = c;
    return c;
}

/* At the end of the block, which grows by what is missing there. */
static uint32_t extend(struct sweep *s, struct arena *a, size_t units) {
    uint32_t c = s->last;
    if (c && s->v[c].free) {
        take_out(s, c);
        s->v[c].units = units;
    } else {
        c = chunk_new(s, s->units, units, s->last, 0);
    }
    if (!mem_add(s->v[c].offset, units, &s->units) || s->units > PTRDIFF_MAX / SWEEP_UNIT)
        arena_exhausted(a);
    return c;
}

static uint32_t allocate(struct sweep *s, struct arena *a, size_t units) {
    uint32_t c = find(s, units);
    if (!c)
        return extend(s, a, units);
    take_out(s, c);
    size_t rest = s->v[c].units - units;
    s->v[c].units = units;
    if (rest)
        insert(s, chunk_new(s, s->v[c].offset + units, rest, c, s->v[c].after));
    return c;
}

/* Adds the chunk after `c`, which is free, to it. */
static void swallow(struct sweep *s, uint32_t c) {
    uint32_t x = s->v[c].after;
    take_out(s, x);
    s->v[c].units += s->v[x].units;
    s->v[c].after = s->v[x].after;
    if (s->v[c].after)
        s->v[s->v[c].after].before = c;
    else
        s->last = c;
    s->v[x].next = s->spare;
    s->spare = x;
}

static void release(struct sweep *s, uint32_t c) {
    uint32_t before = s->v[c].before, after = s->v[c].after;
    if (after && s->v[after].free)
        swallow(s, c);
    s->v[c].free = true;
    insert(s, c);
    if (before && s->v[before].free) {
        take_out(s, before);
        swallow(s, before);
        insert(s, before);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* When an item ends. */
struct ending {
    uint32_t point, item;
};

static int ending_order(const void *x, const void *y) {
    const struct ending *a = x, *b = y;
    return a->point != b->point ? (a->point < b->point ? -1 : 1) : a->item < b->item ? -1 : a->item > b->item;
}

size_t plan_sweep(struct arena *a, struct plan_item *items, uint32_t n) {
    struct sweep *s = ARENA_NEW(a, struct sweep);
    struct ending *ends = ARENA_ARRAY(a, struct ending, n);
    uint32_t *chunks = ARENA_ARRAY(a, uint32_t, n), ended = 0;
    s->v = ARENA_ARRAY(a, struct chunk, 2 * (size_t)n + 2);
    for (uint32_t i = 0; i < n; i++)
        ends[i] = (struct ending){items[i].end, i};
    qsort(ends, n, sizeof *ends, ending_order);
    for (uint32_t i = 0; i < n; i++) {
        while (ends[ended].point < items[i].begin)
            release(s, chunks[ends[ended++].item]);
        chunks[i] = allocate(s, a, items[i].bytes / SWEEP_UNIT);
        items[i].offset = s->v[chunks[i]].offset * SWEEP_UNIT;
    }
    return s->units * SWEEP_UNIT;
}
