/* reduce_window by one binary op: max, min, sum … pooling over any window.
 *
 * Each row of the result starts as the initial value and takes the taps of its windows in row-major order, as the evaluator
 * does; so the results are its bits. Where a window covers padding the initial value is combined, unless that changes nothing.
 */
#include "library/combine.h"
#include "library/window.h"

enum { POOL_TAPS = 64, POOL_CHUNK = 1 << 13 };
#define POOL_MOST_NS 1e11

struct pooling {
    const struct lib_call *c;
    struct window w;
    struct combine combine;
    bool neutral;         /* padding changes nothing */
    bool whole;           /* the last dimension has one tap, which is always inside: rows are taken as they are */
    size_t chunks, tasks; /* of a row; of all chunks of all rows */
};

struct pool_part {
    const struct pooling *p;
    char *acc; /* of the row's positions [from, to) */
    size_t from, to;
    const void *row[POOL_TAPS]; /* whole: those that are still to be combined */
    size_t rows;
};

static void pool_flush(struct pool_part *q) {
    combine_rows(&q->p->combine, q->acc, q->row, q->rows, (size_t)q->p->w.dim[q->p->w.rank - 1].stride, q->to - q->from);
    q->rows = 0;
}

/* The initial value for positions [from, to), which are padding. */
static void pool_pad(const struct pool_part *q, size_t from, size_t to) {
    const struct combine *c = &q->p->combine;
    from = from < q->from ? q->from : from;
    to = to > q->to ? q->to : to;
    for (size_t i = from; i < to; i++)
        combine_run(c, q->acc + (i - q->from) * c->bytes, q->p->c->in[1], 1);
}

/* Tap k of the last dimension, from the row of the input whose first element is at `offset`. */
static void pool_tap(const struct pool_part *q, int64_t offset, int64_t k) {
    const struct combine *c = &q->p->combine;
    const char *in = (const char *)q->p->c->in[0];
    struct window_span s = window_span(&q->p->w, k);
    size_t begin = 0, end = s.count; /* of the span's positions, those in [from, to) */
    if (s.first < q->from)
        begin = (q->from - s.first + s.period - 1) / s.period;
    if (s.count && s.first + (s.count - 1) * s.period >= q->to)
        end = q->to > s.first ? (q->to - s.first + s.period - 1) / s.period : 0;
    if (!q->p->neutral && begin >= end)
        pool_pad(q, q->from, q->to);
    if (begin >= end)
        return;
    size_t first = s.first + begin * s.period;
    const void *row = in + (size_t)(offset + s.at + (int64_t)(begin * s.advance)) * c->bytes;
    if (!q->p->neutral)
        pool_pad(q, q->from, first);
    if (s.period == 1) {
        combine_rows(c, q->acc + (first - q->from) * c->bytes, &row, 1, s.advance, end - begin);
    } else {
        for (size_t i = 0; i < end - begin; i++)
            combine_run(c, q->acc + (first + i * s.period - q->from) * c->bytes, (const char *)row + i * s.advance * c->bytes,
                        1);
        for (size_t i = 0; i + 1 < end - begin && !q->p->neutral; i++) /* the holes */
            pool_pad(q, first + i * s.period + 1, first + (i + 1) * s.period);
    }
    if (!q->p->neutral)
        pool_pad(q, first + (end - 1 - begin) * s.period + 1, q->to);
}

static void pool_task(void *user, int64_t task) {
    const struct pooling *p = user;
    size_t bytes = p->combine.bytes, at, end;
    lib_part(p->w.rows * p->chunks, p->tasks, (size_t)task, &at, &end);
    for (; at < end; at++) {
        size_t row = at / p->chunks;
        struct pool_part q = {.p = p};
        lib_part(p->w.length, p->chunks, at % p->chunks, &q.from, &q.to);
        q.acc = (char *)p->c->out[0] + (row * p->w.length + q.from) * bytes;
        combine_fill(q.acc, p->c->in[1], bytes, q.to - q.from);
        for (struct window_taps t = window_row(&p->w, row); window_next(&t);) {
            if (!t.inside && p->neutral)
                continue;
            if (p->whole && t.inside) {
                size_t from = (size_t)t.offset + q.from * (size_t)p->w.dim[p->w.rank - 1].stride;
                q.row[q.rows++] = (const char *)p->c->in[0] + from * bytes;
                if (q.rows == POOL_TAPS)
                    pool_flush(&q);
                continue;
            }
            if (q.rows)
                pool_flush(&q);
            for (int64_t k = 0; k < p->w.dim[p->w.rank - 1].size; k++)
                if (t.inside)
                    pool_tap(&q, t.offset, k);
                else
                    pool_pad(&q, q.from, q.to);
        }
        if (q.rows)
            pool_flush(&q);
    }
}

bool lib_match_reduce_window(const struct ir_module *m, ir_op op, struct lib_match *out) {
    static const struct window_slots slots = {IR_REDUCE_WINDOW_window_dimensions, IR_REDUCE_WINDOW_window_strides,
                                              IR_REDUCE_WINDOW_padding, IR_REDUCE_WINDOW_base_dilations,
                                              IR_REDUCE_WINDOW_window_dilations};
    if (ir_kind(m, op) != IR_REDUCE_WINDOW || ir_op_get(m, op)->noperands != 2 || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *in = ir_val_type(m, ir_operand(m, op, 0)), *init = ir_val_type(m, ir_operand(m, op, 1));
    const struct ir_type_data *result = ir_val_type(m, ir_result(m, op, 0));
    enum ir_op_kind body = combine_body(m, ir_op_region(m, op, 0), in->dtype);
    struct window w;
    struct combine c;
    if (init->dtype != in->dtype || result->dtype != in->dtype || !combine_of(body, in->dtype, &c) ||
        !window_match(m, op, &slots, in, result, &w))
        return false;
    double taps = 1;
    for (uint32_t i = 0; i < w.rank; i++)
        taps *= (double)w.dim[i].size;
    out->ns = (double)w.rows * (double)w.length * (0.5 + 0.2 * taps);
    if (out->ns > POOL_MOST_NS) /* a running result that is not seen to be one; the evaluator may see it */
        return false;
    return lib_put(out, body) && lib_put(out, in->dtype) && window_put(out, &w);
}

hilo_status lib_reduce_window(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct pooling p = {.c = c};
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(&r, IR_OP_COUNT - 1);
    enum ir_dtype dtype = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    if (!window_get(&r, &p.w) || !combine_of(op, dtype, &p.combine))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t bytes = p.combine.bytes;
        const size_t need[] = {lib_times(window_in(&p.w), bytes), bytes, lib_times(window_out(&p.w), bytes)};
        return lib_checked(c->check, 2, 1, need, 0);
    }
    if (p.w.rows == 0 || p.w.length == 0)
        return HILO_OK;
    const struct window_dim *last = &p.w.dim[p.w.rank - 1];
    p.neutral = combine_neutral(&p.combine, c->in[1]);
    p.whole = last->size == 1 && window_span(&p.w, 0).first == 0 && window_span(&p.w, 0).count == p.w.length &&
              last->base == 1 && last->low == 0;
    p.chunks = (p.w.length + POOL_CHUNK - 1) / POOL_CHUNK;
    p.tasks = lib_tasks(p.w.rows * p.chunks, LIB_TASKS);
    lib_each(c->pool, (int64_t)p.tasks, pool_task, &p);
    return HILO_OK;
}
