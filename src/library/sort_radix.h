/* Least-significant-digit radix sort of records, for sort.c, once for each kind of record:
 *
 *   REC        the record            KEY        unsigned integer of its key
 *   NAME(x)    x with a prefix       RAW(r)     bits of a record's key
 *   MAP        order32 or order64   ORDERED(map, raw)  the key
 *
 * A pass goes over fixed blocks: their digits are counted, then each block moves its records to where they belong, so that
 * passes are stable and blocks are independent. */

struct NAME(pass) {
    const MAP *map;
    const REC *from;
    REC *to;
    size_t n, blocks;
    unsigned shift;
    uint32_t (*at)[SORT_DIGITS]; /* by block: how many of each digit, then where the next one goes */
};

/* A record's key: as it is, or by the map where keys are sorted as they come from the operands. */
static inline __attribute__((always_inline)) KEY NAME(key)(const MAP *map, REC r, bool mapped) {
    KEY raw = RAW(r);
    return mapped ? ORDERED(map, raw) : raw;
}

static inline __attribute__((always_inline)) void NAME(count_by)(const struct NAME(pass) * p, int64_t block, bool mapped) {
    const MAP map = mapped ? *p->map : (MAP){0};
    const REC *from = p->from;
    uint32_t *counts = p->at[block];
    const unsigned shift = p->shift;
    size_t i, to;
    lib_part(p->n, p->blocks, (size_t)block, &i, &to);
    memset(counts, 0, sizeof p->at[block]);
    for (; i < to; i++)
        counts[NAME(key)(&map, from[i], mapped) >> shift & (SORT_DIGITS - 1)]++;
}

static inline __attribute__((always_inline)) void NAME(move_by)(const struct NAME(pass) * p, int64_t block, bool mapped) {
    const MAP map = mapped ? *p->map : (MAP){0};
    uint32_t *at = p->at[block];
    const unsigned shift = p->shift;
    const REC *from = p->from;
    REC *out = p->to;
    size_t i, to;
    lib_part(p->n, p->blocks, (size_t)block, &i, &to);
    for (; i < to; i++) {
        REC r = from[i];
        out[at[NAME(key)(&map, r, mapped) >> shift & (SORT_DIGITS - 1)]++] = r;
    }
}

static void NAME(count)(void *user, int64_t block) {
    NAME(count_by)(user, block, false);
}
static void NAME(move)(void *user, int64_t block) {
    NAME(move_by)(user, block, false);
}
static void NAME(count_mapped)(void *user, int64_t block) {
    NAME(count_by)(user, block, true);
}
static void NAME(move_mapped)(void *user, int64_t block) {
    NAME(move_by)(user, block, true);
}

/* Sorts n records by `bits` bits of their keys, mapped unless m is NULL. They are in `src`, and stay there when there is
   nothing to move; else passes go to a, b, a … Returns where the result is. */
static const REC *NAME(radix)(const struct sort_work *w, const MAP *m, const REC *src, REC *a, REC *b, size_t n,
                              unsigned bits) {
    struct NAME(pass) p = {.map = m, .from = src, .to = a, .n = n, .blocks = w->blocks, .at = w->counts};
    for (p.shift = 0; p.shift < bits; p.shift += SORT_DIGIT_BITS) {
        lib_each(w->pool, (int64_t)p.blocks, m ? NAME(count_mapped) : NAME(count), &p);
        if (!sort_places(p.at, p.blocks, n))
            continue;
        lib_each(w->pool, (int64_t)p.blocks, m ? NAME(move_mapped) : NAME(move), &p);
        p.from = p.to;
        p.to = p.to == a ? b : a;
    }
    return p.from;
}

#undef REC
#undef KEY
#undef NAME
#undef RAW
#undef MAP
#undef ORDERED
