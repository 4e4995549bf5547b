/* Least-significant-digit radix sort of records, for sort.c, once for each kind of record:
 *
 *   REC        the record            KEY        unsigned integer of its key
 *   NAME(x)    x with a prefix       RAW(r)     bits of a record's key, before sort_map
 *
 * A pass goes over fixed blocks: their digits are counted, then each block moves its records to where they belong, so that
 * passes are stable and blocks are independent. */

struct NAME(map) {
    KEY magnitude, nan_above, nan_code, nan_keep, nan_set, zero_keep, sign, pos_xor, neg_xor;
};

static struct NAME(map) NAME(map_of)(const struct sort_map *m) {
    return (struct NAME(map)){(KEY)m->magnitude, (KEY)m->nan_above, (KEY)m->nan_code, (KEY)m->nan_keep, (KEY)m->nan_set,
                              (KEY)m->zero_keep, (KEY)m->sign,      (KEY)m->pos_xor,  (KEY)m->neg_xor};
}

/* One code for each key. */
static inline KEY NAME(canonical)(const struct NAME(map) * m, KEY raw) {
    KEY magnitude = raw & m->magnitude;
    KEY number = magnitude ? raw : raw & m->zero_keep;
    return magnitude > m->nan_above || raw == m->nan_code ? (raw & m->nan_keep) | m->nan_set : number;
}

/* The bits of a number as an unsigned integer that is larger where the number comes later. */
static inline KEY NAME(ordered)(const struct NAME(map) * m, KEY raw) {
    KEY bits = NAME(canonical)(m, raw);
    return bits ^ (bits & m->sign ? m->neg_xor : m->pos_xor);
}

struct NAME(pass) {
    const struct NAME(map) * map;
    const REC *from;
    REC *to;
    size_t n, blocks;
    unsigned shift;
    uint32_t (*at)[SORT_DIGITS]; /* by block: how many of each digit, then where the next one goes */
};

/* A record's key: as it is, or by the map where keys are sorted as they come from the operands. */
static inline __attribute__((always_inline)) KEY NAME(key)(const struct NAME(map) * map, REC r, bool mapped) {
    KEY raw = RAW(r);
    return mapped ? NAME(ordered)(map, raw) : raw;
}

static inline __attribute__((always_inline)) void NAME(count_by)(const struct NAME(pass) * p, int64_t block, bool mapped) {
    const struct NAME(map) map = *p->map;
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
    const struct NAME(map) map = *p->map;
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
static const REC *NAME(radix)(const struct sort_work *w, const struct sort_map *m, const REC *src, REC *a, REC *b, size_t n,
                              unsigned bits) {
    const struct NAME(map) map = NAME(map_of)(m ? m : &map_identity);
    struct NAME(pass) p = {.map = &map, .from = src, .to = a, .n = n, .blocks = w->blocks, .at = w->counts};
    for (p.shift = 0; p.shift < bits; p.shift += SORT_DIGIT_BITS) {
        lib_each(w->team, (int64_t)p.blocks, m ? NAME(count_mapped) : NAME(count), &p);
        if (!sort_places(p.at, p.blocks, n))
            continue;
        lib_each(w->team, (int64_t)p.blocks, m ? NAME(move_mapped) : NAME(move), &p);
        p.from = p.to;
        p.to = p.to == a ? b : a;
    }
    return p.from;
}

#undef REC
#undef KEY
#undef NAME
#undef RAW
