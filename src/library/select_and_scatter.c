/* select_and_scatter: in each window the element that a comparison prefers takes the window's source element; the gradient of
 * pooling by maximum or minimum.
 *
 * Windows of one row are worked on together, tap by tap: of each the element preferred so far and its place. They then scatter
 * one after the other, as in the evaluator. Tasks have batches, or channels, for themselves. */
#include "library/combine.h"
#include "library/window.h"

#include <string.h>

enum { SELECT_LANES = 256, SELECT_CHUNK = 64 };

struct selection {
    const struct lib_call *c;
    struct window w;
    struct elt_kernel prefers; /* compare (preferred so far, element) */
    struct combine scatter;
    bool apart;             /* windows of one row have no element in common */
    size_t batches, chunks; /* first dimension, parts of the last one, where windows are single elements */
};

/* Of the windows [from, to) of a row. */
struct select_lanes {
    const struct selection *s;
    size_t n;
    int64_t at[SELECT_LANES]; /* place of what is preferred; -1 = none yet */
    _Alignas(64) char best[16 * SELECT_LANES], x[16 * SELECT_LANES];
    uint8_t keep[SELECT_LANES];
};

#define SELECT(T)                                                                                                              \
    do {                                                                                                                       \
        T *best = (T *)(void *)l->best + lane;                                                                                 \
        const T *x = (const T *)(const void *)l->x;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                                       \
            bool take = l->at[lane + i] < 0 || !l->keep[i];                                                                    \
            best[i] = take ? x[i] : best[i];                                                                                   \
            l->at[lane + i] = take ? first + (int64_t)(i * advance) : l->at[lane + i];                                         \
        }                                                                                                                      \
    } while (0)

/* Elements from `first` on, `advance` apart, are a tap of n windows from `lane` on. */
static void select_tap(struct select_lanes *l, size_t lane, int64_t first, size_t advance, size_t n) {
    struct pair {
        uint64_t a, b;
    };
    const struct selection *s = l->s;
    size_t bytes = s->scatter.bytes;
    combine_pack((const char *)s->c->in[0] + (size_t)first * bytes, advance, bytes, n, l->x);
    const void *in[2] = {l->best + lane * bytes, l->x};
    s->prefers.run(&s->prefers, in, l->keep, n);
    switch (bytes) {
    case 1:
        SELECT(uint8_t);
        break;
    case 2:
        SELECT(uint16_t);
        break;
    case 4:
        SELECT(uint32_t);
        break;
    case 8:
        SELECT(uint64_t);
        break;
    default:
        SELECT(struct pair);
        break;
    }
}

/* Source elements into the elements that were chosen. */
static void select_scatter(struct select_lanes *l, const char *source) {
    const struct combine *c = &l->s->scatter;
    char *out = l->s->c->out[0];
    if (!l->s->apart) {
        for (size_t i = 0; i < l->n; i++)
            if (l->at[i] >= 0)
                combine_run(c, out + (size_t)l->at[i] * c->bytes, source + i * c->bytes, 1);
        return;
    }
    size_t n = 0; /* all at once: lanes without an element are left out */
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i] >= 0) {
            memcpy(l->best + n * c->bytes, out + (size_t)l->at[i] * c->bytes, c->bytes);
            memcpy(l->x + n * c->bytes, source + i * c->bytes, c->bytes);
            l->at[n++] = l->at[i];
        }
    combine_run(c, l->best, l->x, n);
    for (size_t i = 0; i < n; i++)
        memcpy(out + (size_t)l->at[i] * c->bytes, l->best + i * c->bytes, c->bytes);
}

/* Windows [from, to) of a row, at most SELECT_LANES. */
static void select_row(const struct selection *s, size_t row, size_t from, size_t to) {
    const struct window *w = &s->w;
    struct select_lanes l = {.s = s, .n = to - from};
    for (size_t i = 0; i < l.n; i++)
        l.at[i] = -1;
    for (struct window_taps t = window_row(w, row); window_next(&t);)
        for (int64_t k = 0; t.inside && k < w->dim[w->rank - 1].size; k++) {
            struct window_span span = window_span(w, k);
            size_t first = span.first < from ? from : span.first,
                   end = span.first + span.count < to ? span.first + span.count : to;
            if (first < end)
                select_tap(&l, first - from, t.offset + span.at + (int64_t)((first - span.first) * span.advance), span.advance,
                           end - first);
        }
    select_scatter(&l, (const char *)s->c->in[1] + (row * w->length + from) * s->scatter.bytes);
}

static void select_task(void *user, int64_t task) {
    const struct selection *s = user;
    const struct window *w = &s->w;
    size_t batch = (size_t)task / s->chunks, bytes = s->scatter.bytes, row_in = (size_t)w->dim[w->rank - 1].in;
    size_t from = 0, to = w->length, out_from = 0, out_to = row_in, rows_in = 1;
    if (s->chunks > 1) {
        lib_part(w->length, s->chunks, (size_t)task % s->chunks, &from, &to);
        out_from = from;
        out_to = to;
    }
    for (uint32_t i = 0; i + 1 < w->rank; i++)
        rows_in *= (size_t)w->dim[i].in;
    for (size_t r = batch * rows_in / s->batches; r < (batch + 1) * rows_in / s->batches; r++)
        combine_fill((char *)s->c->out[0] + (r * row_in + out_from) * bytes, s->c->in[2], bytes, out_to - out_from);
    for (size_t row = batch * w->rows / s->batches; row < (batch + 1) * w->rows / s->batches; row++)
        for (size_t at = from; at < to; at += SELECT_LANES)
            select_row(s, row, at, at + SELECT_LANES < to ? at + SELECT_LANES : to);
}

bool lib_match_select_and_scatter(const struct ir_module *m, ir_op op, struct lib_match *out) {
    static const struct window_slots slots = {IR_SELECT_AND_SCATTER_window_dimensions, IR_SELECT_AND_SCATTER_window_strides,
                                              IR_SELECT_AND_SCATTER_padding, IR_SLOT_NONE, IR_SLOT_NONE};
    if (ir_kind(m, op) != IR_SELECT_AND_SCATTER || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *in = ir_val_type(m, ir_operand(m, op, 0)), *source = ir_val_type(m, ir_operand(m, op, 1));
    enum ir_dtype t = in->dtype;
    ir_region select = ir_op_region(m, op, 0);
    if (source->dtype != t || ir_val_type(m, ir_operand(m, op, 2))->dtype != t ||
        ir_val_type(m, ir_result(m, op, 0))->dtype != t || combine_body(m, select, t) != IR_COMPARE)
        return false;
    const struct ir_block_data *block = ir_block_get(m, ir_region_get(m, select)->first);
    if (!IR_SAME(ir_operand(m, block->first, 0), block->args[0]))
        return false;
    int64_t direction = ir_prop_i64(m, block->first, IR_COMPARE_comparison_direction);
    int64_t type = ir_prop_i64(m, block->first, IR_COMPARE_compare_type);
    enum ir_op_kind scatter = combine_body(m, ir_op_region(m, op, 1), t);
    struct window w;
    struct combine c;
    struct elt_kernel prefers;
    if (!combine_of(scatter, t, &c) || !combine_compare(t, direction, type, &prefers) ||
        !window_match(m, op, &slots, in, source, &w))
        return false;
    out->ns = 5.0 * (double)w.rows * (double)w.length;
    return lib_put(out, t) && lib_put(out, direction) && lib_put(out, type) && lib_put(out, scatter) && window_put(out, &w);
}

hilo_status lib_select_and_scatter(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct selection s = {.c = c, .batches = 1, .chunks = 1};
    enum ir_dtype t = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    int64_t direction = lib_get(&r), type = lib_get(&r);
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(&r, IR_OP_COUNT - 1);
    if (!window_get(&r, &s.w) || !combine_of(op, t, &s.scatter) || !combine_compare(t, direction, type, &s.prefers))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t bytes = s.scatter.bytes, in = lib_times(window_in(&s.w), bytes);
        return lib_checked(c->check, 3, 1, (const size_t[]){in, lib_times(window_out(&s.w), bytes), bytes, in}, 0);
    }
    const struct window_dim *first = &s.w.dim[0], *last = &s.w.dim[s.w.rank - 1];
    s.apart = last->stride >= (last->size - 1) * last->dilation + 1;
    if (s.w.rank > 1 && window_is_elements(first) && first->in > 0)
        s.batches = (size_t)first->in;
    if (window_is_elements(last) && s.w.length >= 2 * SELECT_CHUNK && s.batches < 16)
        s.chunks = s.w.length / SELECT_CHUNK;
    lib_each(c->pool, (int64_t)(s.batches * s.chunks), select_task, &s);
    return HILO_OK;
}
