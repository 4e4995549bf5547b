/* chlo.top_k: the k largest elements of each line of the last dimension, largest first, equal ones in their order.
 *
 * Elements become records of a key, smaller for larger elements, and a position. Those below the k-th best so far are kept in a
 * buffer; when it is full it is sorted, cut down to k, and the threshold falls. Later elements that equal it lose, since they
 * come later; so most of a line is one comparison per element. */
#include "library/sort.h"

enum { TOPK_ROOM = 256, TOPK_BLOCK = 64 };

struct topk {
    const struct lib_call *c;
    size_t lines, n, k, room, tasks;
    size_t a, b, counts, stride; /* offsets in a task's scratch, and its size */
    enum ir_dtype dtype;
    size_t bytes;
    struct order64 order; /* the larger an element, the smaller its key */
    bool wide;
};

struct topk_line {
    const struct topk *t;
    const char *from; /* the line */
    void *a, *b;      /* records, in a */
    uint32_t *counts;
    size_t have;        /* records */
    uint64_t threshold; /* keys from here on are not among the best; 0 = there is none yet */
    bool full;          /* k records are known */
};

/* Sorts the records and keeps the first k. */
static void topk_cut(struct topk_line *l) {
    const struct topk *t = l->t;
    size_t keep = l->have < t->k ? l->have : t->k;
    if (t->wide) {
        const struct sort_wide *r = sort_wide_records(l->a, l->b, l->have, l->counts);
        if (r != l->a)
            memcpy(l->a, r, keep * sizeof *r);
    } else {
        const uint64_t *r = sort_records(l->a, l->b, l->have, l->counts);
        if (r != l->a)
            memcpy(l->a, r, keep * sizeof *r);
    }
    l->have = keep;
    l->full = keep == t->k;
    if (l->full)
        l->threshold = t->wide ? ((struct sort_wide *)l->a)[keep - 1].key : ((uint64_t *)l->a)[keep - 1] >> 32;
}

static void topk_add(struct topk_line *l, uint64_t key, size_t i) {
    if (l->full && key >= l->threshold)
        return;
    if (l->t->wide)
        ((struct sort_wide *)l->a)[l->have++] = (struct sort_wide){key, i};
    else
        ((uint64_t *)l->a)[l->have++] = key << 32 | i;
    if (l->have == l->t->room)
        topk_cut(l);
}

/* True when one of n f32 is above the threshold. */
static bool topk_any_f32(const int32_t *x, size_t n, int32_t threshold) {
    int32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= (x[i] ^ (int32_t)((uint32_t)(x[i] >> 31) >> 1)) > threshold;
    return any;
}

static void topk_line(struct topk_line *l) {
    const struct topk *t = l->t;
    const struct order32 order = order32_from(&t->order);
    bool skips = t->dtype == IR_F32_T;
    for (size_t at = 0; at < t->n; at += TOPK_BLOCK) {
        size_t n = t->n - at < TOPK_BLOCK ? t->n - at : TOPK_BLOCK;
        if (skips && l->full) { /* the threshold as an f32 in total order, a signed number */
            int32_t threshold = (int32_t)(~(uint32_t)l->threshold ^ UINT32_C(0x80000000));
            if (!topk_any_f32((const int32_t *)l->from + at, n, threshold))
                continue;
        }
        for (size_t i = at; i < at + n; i++) {
            uint64_t bits = order_load(l->from + i * t->bytes, t->bytes);
            topk_add(l, t->wide ? order64_key(&t->order, bits) : order32_key(&order, (uint32_t)bits), i);
        }
    }
    topk_cut(l);
}

static void topk_lines(void *user, int64_t task) {
    const struct topk *t = user;
    char *scratch = (char *)t->c->scratch + (size_t)task * t->stride;
    size_t from, to;
    lib_part(t->lines, t->tasks, (size_t)task, &from, &to);
    for (size_t line = from; line < to; line++) {
        struct topk_line l = {.t = t,
                              .a = scratch + t->a,
                              .b = scratch + t->b,
                              .counts = (void *)(scratch + t->counts),
                              .from = (const char *)t->c->in[0] + line * t->n * t->bytes};
        topk_line(&l);
        char *values = (char *)t->c->out[0] + line * t->k * t->bytes;
        int32_t *indices = (int32_t *)t->c->out[1] + line * t->k;
        for (size_t i = 0; i < t->k; i++) {
            size_t at = t->wide ? (size_t)((struct sort_wide *)l.a)[i].index : (uint32_t)((uint64_t *)l.a)[i];
            memcpy(values + i * t->bytes, l.from + at * t->bytes, t->bytes);
            indices[i] = (int32_t)at;
        }
    }
}

static bool topk_layout(struct topk *t) {
    t->bytes = ir_dtype_get(t->dtype)->bytes;
    t->wide = t->bytes > 4;
    t->order = order64_of(t->dtype, ORDER_DESCENDING);
    t->tasks = lib_tasks(t->lines, LIB_SCRATCH_TASKS);
    t->room = t->k > t->n / 2 ? t->n : 2 * t->k;
    t->room = t->room < TOPK_ROOM ? TOPK_ROOM : t->room;
    size_t record = t->wide ? sizeof(struct sort_wide) : sizeof(uint64_t);
    return t->k <= t->n && lib_reserve(&t->stride, t->room, record, &t->a) && lib_reserve(&t->stride, t->room, record, &t->b) &&
           lib_reserve(&t->stride, SORT_DIGITS, sizeof(uint32_t), &t->counts);
}

bool lib_match_top_k(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_TOP_K || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *in = ir_val_type(m, ir_operand(m, op, 0));
    int64_t k = ir_prop_i64(m, op, IR_TOP_K_k);
    if (in->rank == 0 || in->dims[in->rank - 1] > INT32_MAX || k < 0 || ir_dtype_get(in->dtype)->cls == IR_COMPLEX_CLASS ||
        ir_val_type(m, ir_result(m, op, 1))->dtype != IR_I32_T)
        return false;
    struct topk t = {.lines = lib_product(in->dims, 0, in->rank - 1),
                     .n = (size_t)in->dims[in->rank - 1],
                     .k = (size_t)k,
                     .dtype = in->dtype};
    out->ns = 2.0 * (double)t.lines * (double)t.n;
    return topk_layout(&t) && mem_mul(t.stride, t.tasks, &out->scratch_bytes) && lib_put(out, (int64_t)t.lines) &&
           lib_put(out, (int64_t)t.n) && lib_put(out, k) && lib_put(out, t.dtype);
}

hilo_status lib_top_k(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct topk t = {.c = c};
    t.lines = lib_get_size(&r, PTRDIFF_MAX);
    t.n = lib_get_size(&r, INT32_MAX);
    t.k = lib_get_size(&r, INT32_MAX);
    t.dtype = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    size_t bytes = ir_dtype_get(t.dtype)->bytes;
    if (r.short_ || bytes == 0 || bytes > 8 || !topk_layout(&t))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t best = lib_times(t.lines, t.k);
        const size_t need[] = {lib_times(lib_times(t.lines, t.n), bytes), lib_times(best, bytes), lib_times(best, 4)};
        return lib_checked(c->check, 1, 2, need, lib_times(t.stride, t.tasks));
    }
    if (t.lines && t.k)
        lib_each(c->pool, (int64_t)t.tasks, topk_lines, &t);
    return HILO_OK;
}
