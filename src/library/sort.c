/* sort: stable, line by line.
 *
 * Keys become unsigned integers in the order of the comparison. Long lines go through radix passes over records of a key and
 * the position it came from, short ones are merged; then each operand is gathered in the order of the positions. More keys than
 * one are sorted by one after the other, the least significant first. Where all operands of a line fit into the record itself,
 * it holds them instead of a position, and nothing is gathered.
 *
 * An IEEE comparison does not order NaN, so that what comes out depends on which elements are compared: such lines take the
 * very steps of the evaluator's merge sort. */
#include "library/sort.h"

enum {
    SORT_BLOCKS = 32,      /* of a long line */
    SORT_LONG = 1 << 15,   /* from here on the pool works on one line */
    SORT_PACKED = 1 << 11, /* from here on it pays to sort the operands themselves */
    SORT_RADIX = 256,      /* from here on radix passes beat merging */
    SORT_RUN = 16          /* merging begins with sorted runs of this length */
};

/* What works on a line: the pool, or one thread of it. */
struct sort_work {
    const struct lib_pool *pool; /* NULL: alone */
    size_t blocks;               /* that passes are cut into */
    uint32_t (*counts)[SORT_DIGITS];
    void *a, *b; /* `length` records each */
};

/* From counts to places: of each digit all blocks' records in order. False when one digit has all n: nothing moves. */
static bool sort_places(uint32_t (*at)[SORT_DIGITS], size_t blocks, size_t n) {
    uint32_t place = 0;
    for (size_t d = 0; d < SORT_DIGITS; d++) {
        uint32_t before = place;
        for (size_t b = 0; b < blocks; b++) {
            uint32_t count = at[b][d];
            at[b][d] = place;
            place += count;
        }
        if ((uint32_t)(place - before) == n)
            return false;
    }
    return true;
}

#define REC     uint32_t
#define KEY     uint32_t
#define MAP     struct order32
#define ORDERED order32_key
#define NAME(x) one_##x
#define RAW(r)  (r)
#include "library/sort_radix.h"

#define REC     uint64_t
#define KEY     uint32_t
#define MAP     struct order32
#define ORDERED order32_key
#define NAME(x) two_##x
#define RAW(r)  ((uint32_t)((r) >> 32))
#include "library/sort_radix.h"

#define REC     struct sort_wide
#define KEY     uint64_t
#define MAP     struct order64
#define ORDERED order64_key
#define NAME(x) wide_##x
#define RAW(r)  ((r).key)
#include "library/sort_radix.h"

/* ---- elements ------------------------------------------------------------------------------------------------------ */

static inline void store_bits(char *p, size_t bytes, uint32_t v) {
    uint16_t v16 = (uint16_t)v;
    switch (bytes) {
    case 1:
        *p = (char)v;
        break;
    case 2:
        memcpy(p, &v16, 2);
        break;
    default:
        memcpy(p, &v, 4);
        break;
    }
}

/* ---- a line by position -------------------------------------------------------------------------------------------- */

/* One line of a call: element i of operand k is at k's data + (base + i * inner) * bytes. */
struct sort_line {
    const struct sort *s;
    const struct lib_call *c;
    const struct sort_work *w;
    size_t base;
    const void *order; /* records in the order so far; NULL = as they come */
    const struct sort_key *key;
    struct order64 map;
    bool wide;
    atomic_bool unordered; /* NaN in a key that is compared by IEEE's rules */
    atomic_bool ambiguous; /* packed: elements of one key may differ in their bits */
};

static const char *line_key(const struct sort_line *l, const struct sort_key *k, size_t i) {
    size_t bytes = l->s->bytes[k->operand];
    return (const char *)l->c->in[k->operand] + (l->base + i * l->s->inner) * bytes + k->offset;
}

static size_t line_position(const struct sort_line *l, size_t i) {
    if (!l->order)
        return l->s->inclusive ? l->s->length - 1 - i : i;
    return l->wide ? (size_t)((const struct sort_wide *)l->order)[i].index : (uint32_t)((const uint64_t *)l->order)[i];
}

/* Records of the key and the position, in the order so far, which they may overwrite. */
static void line_records(void *user, int64_t block) {
    struct sort_line *l = user;
    size_t bytes = ir_dtype_get(l->key->dtype)->bytes, i, to;
    const struct order32 map = order32_from(&l->map);
    struct sort_wide *wide = l->w->a;
    uint64_t *two = l->w->a;
    bool nan = false, partial = l->key->flags & ORDER_PARTIAL;
    lib_part(l->s->length, l->w->blocks, (size_t)block, &i, &to);
    for (; i < to; i++) {
        size_t at = line_position(l, i);
        uint64_t bits = order_load(line_key(l, l->key, at), bytes);
        nan = nan || (partial && order64_nan(&l->map, bits));
        if (l->wide)
            wide[i] = (struct sort_wide){order64_key(&l->map, bits), at};
        else
            two[i] = (uint64_t)order32_key(&map, (uint32_t)bits) << 32 | at;
    }
    if (nan)
        atomic_store(&l->unordered, true);
}

/* Merges sorted runs, stable: of records of eight bytes by number, since equal keys are in order of position. */
static void merge_two(uint64_t *a, uint64_t *b, size_t n) {
    for (size_t at = 0; at < n; at += SORT_RUN) {
        size_t end = at + SORT_RUN < n ? at + SORT_RUN : n;
        for (size_t i = at + 1; i < end; i++) {
            uint64_t r = a[i];
            size_t j = i;
            for (; j > at && a[j - 1] >> 32 > r >> 32; j--)
                a[j] = a[j - 1];
            a[j] = r;
        }
    }
    for (size_t run = SORT_RUN; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t i = at, mid = at + run < n ? at + run : n, j = mid, end = at + 2 * run < n ? at + 2 * run : n;
            for (size_t to = at; to < end; to++) {
                bool right = i == mid || (j < end && a[j] >> 32 < a[i] >> 32);
                b[to] = right ? a[j] : a[i];
                j += right;
                i += !right;
            }
        }
        memcpy(a, b, n * sizeof *a);
    }
}

static void merge_wide(struct sort_wide *a, struct sort_wide *b, size_t n) {
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t i = at, mid = at + run < n ? at + run : n, j = mid, end = at + 2 * run < n ? at + 2 * run : n;
            for (size_t to = at; to < end; to++)
                b[to] = i == mid || (j < end && a[j].key < a[i].key) ? a[j++] : a[i++];
        }
        memcpy(a, b, n * sizeof *a);
    }
}

const uint64_t *sort_records(uint64_t *a, uint64_t *b, size_t n, uint32_t counts[SORT_DIGITS]) {
    struct sort_work w = {.blocks = 1, .counts = (void *)counts};
    if (n >= SORT_RADIX)
        return two_radix(&w, NULL, a, b, a, n, 32);
    merge_two(a, b, n);
    return a;
}

const struct sort_wide *sort_wide_records(struct sort_wide *a, struct sort_wide *b, size_t n, uint32_t counts[SORT_DIGITS]) {
    struct sort_work w = {.blocks = 1, .counts = (void *)counts};
    if (n >= SORT_RADIX)
        return wide_radix(&w, NULL, a, b, a, n, 64);
    merge_wide(a, b, n);
    return a;
}

/* The comparison itself, on positions. */
static bool line_less(const struct sort_line *l, uint32_t a, uint32_t b) {
    for (uint32_t k = 0; k < l->s->nkeys; k++) {
        const struct sort_key *key = &l->s->key[k];
        const struct order64 m = order64_of(key->dtype, key->flags);
        size_t bytes = ir_dtype_get(key->dtype)->bytes;
        uint64_t x = order_load(line_key(l, key, a), bytes), y = order_load(line_key(l, key, b), bytes);
        if ((key->flags & ORDER_PARTIAL) && (order64_nan(&m, x) || order64_nan(&m, y)))
            return false;
        x = order64_key(&m, x);
        y = order64_key(&m, y);
        if (x != y)
            return x < y;
    }
    return l->s->inclusive;
}

/* The evaluator's merge sort, where the order is none. Leaves records with positions in w->a. */
static void line_as_evaluated(struct sort_line *l) {
    size_t n = l->s->length;
    uint32_t *a = l->w->b, *b = a + n;
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t i = at, mid = at + run < n ? at + run : n, j = mid, end = at + 2 * run < n ? at + 2 * run : n;
            for (size_t to = at; to < end; to++)
                b[to] = i < mid && (j >= end || !line_less(l, a[j], a[i])) ? a[i++] : a[j++];
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    for (size_t i = 0; i < n; i++)
        if (l->wide)
            ((struct sort_wide *)l->w->a)[i].index = a[i];
        else
            ((uint64_t *)l->w->a)[i] = a[i];
    l->order = l->w->a;
}

typedef uint64_t sort_u64 __attribute__((aligned(4))); /* complex numbers are aligned as their parts are */

#define GATHER(T)                                                                                                              \
    do {                                                                                                                       \
        const T *from = (const T *)l->c->in[k] + l->base;                                                                      \
        T *out = (T *)l->c->out[k] + l->base;                                                                                  \
        for (; i < to; i++)                                                                                                    \
            out[i * inner] = from[line_position(l, i) * inner];                                                                \
    } while (0)

/* Operands in the order of the records. */
static void line_gather(void *user, int64_t block) {
    const struct sort_line *l = user;
    size_t inner = l->s->inner;
    for (uint32_t k = 0; k < l->s->noperands; k++) {
        size_t i, to;
        lib_part(l->s->length, l->w->blocks, (size_t)block, &i, &to);
        switch (l->s->bytes[k]) {
        case 1:
            GATHER(uint8_t);
            break;
        case 2:
            GATHER(uint16_t);
            break;
        case 4:
            GATHER(uint32_t);
            break;
        case 8:
            GATHER(sort_u64);
            break;
        default:
            GATHER(struct sort_wide);
            break; /* complex<f64> */
        }
    }
}

static void line_by_position(struct sort_line *l) {
    size_t n = l->s->length, blocks = l->w->blocks;
    for (uint32_t k = l->s->nkeys; k-- > 0;) {
        l->key = &l->s->key[k];
        l->map = order64_of(l->key->dtype, l->key->flags);
        unsigned bits = 8 * ir_dtype_get(l->key->dtype)->bytes;
        lib_each(l->w->pool, (int64_t)blocks, line_records, l);
        if (atomic_load(&l->unordered)) {
            line_as_evaluated(l);
            break;
        }
        void *a = l->w->a, *b = l->w->b;
        if (n < SORT_RADIX && l->wide)
            merge_wide(a, b, n), l->order = a;
        else if (n < SORT_RADIX)
            merge_two(a, b, n), l->order = a;
        else if (l->wide)
            l->order = wide_radix(l->w, NULL, a, b, a, n, bits);
        else
            l->order = two_radix(l->w, NULL, a, b, a, n, bits);
        if (k && l->order != a) { /* the next key's records are made in place */
            memcpy(a, b, n * (l->wide ? sizeof(struct sort_wide) : sizeof(uint64_t)));
            l->order = a;
        }
    }
    lib_each(l->w->pool, (int64_t)blocks, line_gather, l);
}

/* ---- a line of packed operands ------------------------------------------------------------------------------------- */

bool sort_packs(const struct sort *s) {
    const struct sort_key *k = &s->key[0];
    return s->nkeys == 1 && s->length >= SORT_PACKED && s->noperands <= 2 && s->bytes[k->operand] <= 4 &&
           !(k->flags & ORDER_PARTIAL) && (s->noperands == 1 || s->bytes[1 - k->operand] <= 4);
}

/* A record: the key, with another operand that one in the lower half. Keys are in order, but bits as they are once a line is
   known to have elements with one key and different bits. */
static void line_pack(void *user, int64_t block) {
    struct sort_line *l = user;
    size_t i, to, key = l->key->operand, inner = l->s->inner, bytes = l->s->bytes[key];
    size_t other_bytes = l->s->noperands == 2 ? l->s->bytes[1 - key] : 0;
    lib_part(l->s->length, l->w->blocks, (size_t)block, &i, &to);
    const char *from = (const char *)l->c->in[key] + l->base * bytes;
    const char *other = other_bytes ? (const char *)l->c->in[1 - key] + l->base * other_bytes : NULL;
    const struct order64 order = atomic_load(&l->ambiguous) ? order64_identity() : l->map;
    const struct order32 map = order32_from(&order);
    bool ambiguous = false;
    uint32_t *one = l->w->a;
    uint64_t *two = l->w->a;
    for (; i < to; i++) {
        size_t at = line_position(l, i) * inner;
        uint32_t bits = (uint32_t)order_load(from + at * bytes, bytes), r = order32_key(&map, bits);
        ambiguous = ambiguous || order32_canonical(&map, bits) != bits;
        if (other)
            two[i] = (uint64_t)r << 32 | order_load(other + at * other_bytes, other_bytes);
        else
            one[i] = r;
    }
    if (ambiguous)
        atomic_store(&l->ambiguous, true);
}

static void line_unpack(void *user, int64_t block) {
    const struct sort_line *l = user;
    size_t i, to, key = l->key->operand, inner = l->s->inner, bytes = l->s->bytes[key];
    size_t other_bytes = l->s->noperands == 2 ? l->s->bytes[1 - key] : 0;
    lib_part(l->s->length, l->w->blocks, (size_t)block, &i, &to);
    char *out = (char *)l->c->out[key] + l->base * bytes;
    char *other = other_bytes ? (char *)l->c->out[1 - key] + l->base * other_bytes : NULL;
    const struct order64 order = atomic_load(&l->ambiguous) ? order64_identity() : l->map;
    const struct order32 map = order32_from(&order);
    const uint32_t *one = l->order;
    const uint64_t *two = l->order;
    for (; i < to; i++) {
        if (other)
            store_bits(other + i * inner * other_bytes, other_bytes, (uint32_t)two[i]);
        store_bits(out + i * inner * bytes, bytes, order32_code(&map, other ? (uint32_t)(two[i] >> 32) : one[i]));
    }
}

static void line_packed(struct sort_line *l) {
    const struct sort_work *w = l->w;
    l->key = &l->s->key[0];
    l->map = order64_of(l->key->dtype, l->key->flags);
    unsigned bits = 8 * (unsigned)l->s->bytes[l->key->operand];
    lib_each(w->pool, (int64_t)w->blocks, line_pack, l);
    const struct order32 order = order32_from(&l->map), *map = atomic_load(&l->ambiguous) ? &order : NULL;
    if (map)
        lib_each(w->pool, (int64_t)w->blocks, line_pack, l);
    l->order = l->s->noperands == 1 ? (const void *)one_radix(w, map, w->a, w->b, w->a, l->s->length, bits)
                                    : (const void *)two_radix(w, map, w->a, w->b, w->a, l->s->length, bits);
    lib_each(w->pool, (int64_t)w->blocks, line_unpack, l);
}

/* ---- calls --------------------------------------------------------------------------------------------------------- */

/* Reads parameters; false when they make no sense. */
static bool sort_read(struct lib_reader *r, struct sort *s) {
    *s = (struct sort){0};
    s->length = lib_get_size(r, UINT32_MAX);
    s->outer = lib_get_size(r, PTRDIFF_MAX);
    s->inner = lib_get_size(r, PTRDIFF_MAX);
    s->inclusive = lib_get(r) != 0;
    s->noperands = (uint32_t)lib_get_size(r, SORT_MOST_OPERANDS);
    s->nkeys = (uint32_t)lib_get_size(r, SORT_MOST_KEYS);
    for (uint32_t i = 0; i < s->noperands; i++)
        s->bytes[i] = lib_get_size(r, 16);
    for (uint32_t i = 0; i < s->nkeys; i++) {
        struct sort_key *k = &s->key[i];
        k->operand = (uint32_t)lib_get_size(r, s->noperands ? s->noperands - 1 : 0);
        k->offset = (uint32_t)lib_get_size(r, 8);
        k->dtype = (enum ir_dtype)lib_get_size(r, IR_DTYPE_COUNT - 1);
        k->flags = (unsigned)lib_get_size(r, 31);
    }
    return !r->short_ && s->nkeys && s->noperands;
}

struct sort_layout {
    bool packed, wide;
    size_t tasks, blocks, record; /* bytes of a record */
    size_t a, b, counts, stride;  /* offsets in a task's scratch, and its size */
};

static bool sort_layout(const struct sort *s, struct sort_layout *l) {
    size_t lines;
    *l = (struct sort_layout){.packed = sort_packs(s), .tasks = 1, .blocks = 1};
    if (!mem_mul(s->outer, s->inner, &lines))
        return false;
    for (uint32_t k = 0; k < s->nkeys; k++)
        l->wide = l->wide || ir_dtype_get(s->key[k].dtype)->bytes > 4;
    if (s->length >= SORT_LONG)
        l->blocks = SORT_BLOCKS;
    else
        l->tasks = lib_tasks(lines, LIB_SCRATCH_TASKS);
    l->record = l->packed && s->noperands == 1 ? 4 : l->wide ? sizeof(struct sort_wide) : 8;
    return lib_reserve(&l->stride, s->length, l->record, &l->a) && lib_reserve(&l->stride, s->length, l->record, &l->b) &&
           lib_reserve(&l->stride, l->blocks, sizeof(uint32_t[SORT_DIGITS]), &l->counts);
}

bool sort_scratch(const struct sort *s, size_t *bytes) {
    struct sort_layout l;
    return sort_layout(s, &l) && mem_mul(l.stride, l.tasks, bytes);
}

struct sort_run {
    const struct sort *s;
    const struct lib_call *c;
    struct sort_layout layout;
};

/* Every tasks-th part of the lines. */
static void sort_lines(void *user, int64_t task) {
    const struct sort_run *r = user;
    const struct sort_layout *y = &r->layout;
    char *scratch = (char *)r->c->scratch + (size_t)task * y->stride;
    bool shared = y->blocks > 1;
    struct sort_work w = {
        .pool = shared ? r->c->pool : NULL, .a = scratch + y->a, .b = scratch + y->b, .counts = (void *)(scratch + y->counts)};
    w.blocks = shared && w.pool && w.pool->threads > 1 ? y->blocks : 1;
    size_t from, to;
    lib_part(r->s->outer * r->s->inner, y->tasks, (size_t)task, &from, &to);
    for (size_t line = from; line < to; line++) {
        struct sort_line l = {.s = r->s,
                              .c = r->c,
                              .w = &w,
                              .wide = y->wide,
                              .base = line / r->s->inner * r->s->length * r->s->inner + line % r->s->inner};
        if (y->packed)
            line_packed(&l);
        else
            line_by_position(&l);
    }
}

/* Keys lie within their elements, which are of sizes that can be sorted. */
static hilo_status sort_check(const struct sort *s, const struct sort_layout *l, const struct lib_sizes *have) {
    size_t need[2 * SORT_MOST_OPERANDS], total = lib_times(lib_times(s->outer, s->inner), s->length);
    for (uint32_t i = 0; i < s->noperands; i++) {
        if (s->bytes[i] == 0 || s->bytes[i] & (s->bytes[i] - 1))
            return HILO_INVALID_ARGUMENT;
        need[i] = need[s->noperands + i] = lib_times(total, s->bytes[i]);
    }
    for (uint32_t i = 0; i < s->nkeys; i++) {
        size_t bytes = ir_dtype_get(s->key[i].dtype)->bytes, element = s->bytes[s->key[i].operand];
        if (bytes == 0 || bytes > 8 || s->key[i].offset % bytes || s->key[i].offset + bytes > element ||
            (l->packed && bytes != element))
            return HILO_INVALID_ARGUMENT;
    }
    return lib_checked(have, s->noperands, s->noperands, need, lib_times(l->stride, l->tasks));
}

hilo_status lib_sort(const struct lib_call *c) {
    struct lib_reader reader = lib_reader_of(c->params, c->nparams);
    struct sort s;
    struct sort_run r = {.s = &s, .c = c};
    if (!sort_read(&reader, &s) || !sort_layout(&s, &r.layout))
        return HILO_INVALID_ARGUMENT;
    if (c->check)
        return sort_check(&s, &r.layout, c->check);
    if (s.length && s.outer && s.inner)
        lib_each(c->pool, (int64_t)r.layout.tasks, sort_lines, &r);
    return HILO_OK;
}
