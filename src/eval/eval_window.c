/* reduce_window, with its window in attributes or in operands, and select_and_scatter. */
#include "eval/body.h"
#include "eval/eval_core.h"

/* A window sliding over a padded, dilated input. */
struct window {
    uint32_t rank;
    int64_t in[IR_MAX_RANK], size[IR_MAX_RANK], stride[IR_MAX_RANK], low[IR_MAX_RANK];
    int64_t base_dilation[IR_MAX_RANK], dilation[IR_MAX_RANK];
    int64_t out[IR_MAX_RANK]; /* positions of the window */
    int64_t strides[IR_MAX_RANK]; /* of the input, in elements */
};

/* What describes a window: a list for each property, short or NULL where the rest of it is as usual; padding in pairs. */
struct window_lists {
    const int64_t *size, *stride, *padding, *base_dilation, *dilation;
    size_t nsize, nstride, npadding, nbase_dilation, ndilation;
};

static int64_t window_item(const int64_t *v, size_t n, size_t i, int64_t missing) {
    return v && i < n ? v[i] : missing;
}

/* The extent of `count` elements that are `dilation` apart; false on overflow. */
static bool window_span(int64_t count, int64_t dilation, int64_t *span) {
    *span = 0;
    return count == 0 || (!__builtin_mul_overflow(count - 1, dilation, span) && !__builtin_add_overflow(*span, 1, span));
}

static hilo_status window_shape(struct eval *cx, ir_op op, const struct window_lists *l, const struct value *in,
                                struct window *w) {
    *w = (struct window){.rank = in->rank};
    value_strides(in->dims, in->rank, w->strides);
    for (uint32_t i = 0; i < in->rank; i++) {
        w->in[i] = in->dims[i];
        w->size[i] = window_item(l->size, l->nsize, i, 1);
        w->stride[i] = window_item(l->stride, l->nstride, i, 1);
        w->low[i] = window_item(l->padding, l->npadding, 2 * i, 0);
        w->base_dilation[i] = window_item(l->base_dilation, l->nbase_dilation, i, 1);
        w->dilation[i] = window_item(l->dilation, l->ndilation, i, 1);
        if (w->size[i] < 0 || w->stride[i] < 1 || w->base_dilation[i] < 1 || w->dilation[i] < 1)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a window out of range in dimension %u", i);
        int64_t grown, span, padded;
        if (!window_span(w->in[i], w->base_dilation[i], &grown) || !window_span(w->size[i], w->dilation[i], &span) ||
            __builtin_add_overflow(grown, w->low[i], &padded) ||
            __builtin_add_overflow(padded, window_item(l->padding, l->npadding, 2 * i + 1, 0), &padded))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has padding out of range in dimension %u", i);
        w->out[i] = padded <= 0 || span > padded ? 0 : (padded - span) / w->stride[i] + 1;
    }
    return HILO_OK;
}

struct window_slots {
    enum ir_slot dims, strides, padding, base_dilations, dilations; /* the last two: IR_SLOT_NONE where the op has none */
};

static hilo_status window_read(struct eval *cx, ir_op op, const struct window_slots *s, const struct value *in,
                               struct window *w) {
    const struct ir_module *m = cx->m;
    struct window_lists l = {0};
    l.size = ir_prop_i64s(m, op, s->dims, &l.nsize);
    l.stride = ir_prop_i64s(m, op, s->strides, &l.nstride);
    l.padding = ir_prop_i64s(m, op, s->padding, &l.npadding);
    if (s->base_dilations != IR_SLOT_NONE) {
        l.base_dilation = ir_prop_i64s(m, op, s->base_dilations, &l.nbase_dilation);
        l.dilation = ir_prop_i64s(m, op, s->dilations, &l.ndilation);
    }
    return window_shape(cx, op, &l, in, w);
}

/* The input element under window element k at position o; false on padding and in the holes of a dilated input. */
static bool window_at(const struct window *w, const int64_t *o, const int64_t *k, int64_t *offset) {
    int64_t at = 0;
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t p = o[i] * w->stride[i] + k[i] * w->dilation[i] - w->low[i];
        if (p < 0 || p % w->base_dilation[i] || p / w->base_dilation[i] >= w->in[i])
            return false;
        at += p / w->base_dilation[i] * w->strides[i];
    }
    *offset = at;
    return true;
}

/* ---- reduce_window ---------------------------------------------------------------------------------------------------- */

/* Positions that are reduced together: their accumulators and one element of each window stay in the first-level cache. */
enum { WINDOW_BLOCK = 256, WINDOW_MOST = 16 };

static char *window_element(const struct value *v, size_t i) {
    return (char *)v->data + i * ir_dtype_get(v->dtype)->bytes;
}

/* A reduction of n inputs: what the body takes as elements, what it takes where the window covers padding, and the results,
   which begin as the initial values. */
struct sliding {
    struct body *b;
    const struct window *w;
    uint32_t n;
    struct value *x[WINDOW_MOST], *pad[WINDOW_MOST], **out;
};

/* Padding counts: where the window covers it, the initial value is combined like any element. */
static hilo_status window_block(const struct sliding *s, int64_t (*pos)[IR_MAX_RANK], size_t count, size_t at, char *gathered) {
    const struct window *w = s->w;
    const void *args[2 * WINDOW_MOST];
    void *acc[WINDOW_MOST];
    int64_t k[IR_MAX_RANK] = {0}, offset;
    size_t lane_bytes = 16 * WINDOW_BLOCK;
    for (uint32_t i = 0; i < s->n; i++) {
        args[i] = acc[i] = window_element(s->out[i], at);
        args[s->n + i] = gathered + i * lane_bytes;
    }
    do {
        for (size_t j = 0; j < count; j++) {
            bool inside = window_at(w, pos[j], k, &offset);
            for (uint32_t i = 0; i < s->n; i++) {
                size_t size = ir_dtype_get(s->x[i]->dtype)->bytes;
                const void *from = inside ? window_element(s->x[i], (size_t)offset) : s->pad[i]->data;
                memcpy(gathered + i * lane_bytes + j * size, from, size);
            }
        }
        HILO_TRY(body_run(s->b, args, acc, count));
    } while (index_next(k, w->size, w->rank));
    return HILO_OK;
}

static hilo_status window_blocks(const struct sliding *s) {
    const struct window *w = s->w;
    struct eval *cx = s->b->cx;
    int64_t(*pos)[IR_MAX_RANK] = mem_alloc(&cx->al, WINDOW_BLOCK * sizeof *pos), o[IR_MAX_RANK] = {0};
    char *gathered = mem_alloc(&cx->al, (size_t)16 * WINDOW_BLOCK * s->n);
    hilo_status status = pos && gathered ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    for (size_t at = 0, total = s->out[0]->count; status == HILO_OK && at < total;) {
        size_t count = 0;
        for (; count < WINDOW_BLOCK && at + count < total; count++) {
            memcpy(pos[count], o, w->rank * sizeof *o);
            index_next(o, w->out, w->rank);
        }
        status = window_block(s, pos, count, at, gathered);
        at += count;
    }
    mem_free(&cx->al, pos, WINDOW_BLOCK * sizeof *pos);
    mem_free(&cx->al, gathered, (size_t)16 * WINDOW_BLOCK * s->n);
    return status;
}

/* The one dimension along which each window holds its own element and all before it, or all after it; the rank for other
   windows. */
static uint32_t window_cumulates(const struct window *w, bool *backwards) {
    uint32_t dim = w->rank;
    for (uint32_t i = 0; i < w->rank; i++) {
        if (w->out[i] != w->in[i] || w->stride[i] != 1 || w->base_dilation[i] != 1 || w->dilation[i] != 1)
            return w->rank;
        if (w->size[i] == 1 && w->low[i] == 0)
            continue;
        if (dim < w->rank || w->size[i] < w->in[i] || (w->low[i] != 0 && w->low[i] != w->size[i] - 1))
            return w->rank;
        *backwards = w->low[i] == 0;
        dim = i;
    }
    return dim;
}

/* Padding changes nothing: the body makes initial values of initial values, bit for bit. */
static hilo_status window_ignores_padding(const struct sliding *s, bool *ignores) {
    const void *args[2 * WINDOW_MOST];
    void *made[WINDOW_MOST];
    _Alignas(16) char cells[WINDOW_MOST][16];
    for (uint32_t i = 0; i < s->n; i++) {
        args[i] = args[s->n + i] = s->pad[i]->data;
        made[i] = cells[i];
    }
    HILO_TRY(body_run(s->b, args, made, 1));
    *ignores = true;
    for (uint32_t i = 0; i < s->n; i++)
        *ignores = *ignores && memcmp(made[i], s->pad[i]->data, s->pad[i]->bytes) == 0;
    return HILO_OK;
}

/* Each result from its neighbour's, which holds all but one element. From the front this is the very sequence of steps that a
   window takes by itself. From the back it begins with the last element. */
static hilo_status window_scan(const struct sliding *s, uint32_t dim, bool backwards) {
    const void *args[2 * WINDOW_MOST];
    void *made[WINDOW_MOST];
    size_t length = (size_t)s->w->in[dim], inner = (size_t)s->w->strides[dim], total = s->out[0]->count;
    for (size_t begin = 0; begin < total; begin += length * inner)
        for (size_t k = 0; k < length; k++) {
            size_t at = begin + (backwards ? length - 1 - k : k) * inner, next = backwards ? at + inner : at - inner;
            for (uint32_t i = 0; i < s->n; i++) {
                made[i] = window_element(s->out[i], at);
                args[backwards ? s->n + i : i] = k ? window_element(s->out[i], next) : made[i];
                args[backwards ? i : s->n + i] = window_element(s->x[i], at);
            }
            HILO_TRY(body_run(s->b, args, made, inner));
        }
    return HILO_OK;
}

static hilo_status window_reduce(const struct sliding *s) {
    bool backwards = false, scans = true;
    uint32_t dim = window_cumulates(s->w, &backwards);
    for (uint32_t i = 0; i < s->w->rank; i++)
        if (s->w->size[i] == 0)
            return HILO_OK;
    for (uint32_t i = 0; i < s->n; i++)
        scans = scans && s->x[i]->dtype == s->out[i]->dtype;
    if (dim == s->w->rank || !scans)
        return window_blocks(s);
    HILO_TRY(window_ignores_padding(s, &scans));
    return scans ? window_scan(s, dim, backwards) : window_blocks(s);
}

/* A result of the windows' shape that holds the initial value everywhere. */
static hilo_status window_begin(struct eval *cx, const struct window *w, struct value *init, enum ir_dtype t,
                                struct value **out) {
    struct value *converted;
    HILO_TRY(body_convert(cx, init, t, &converted));
    hilo_status status = value_tensor(&cx->al, t, w->out, w->rank, out);
    for (size_t i = 0; status == HILO_OK && i < (*out)->count; i++)
        memcpy(window_element(*out, i), converted->data, converted->bytes);
    value_unref(converted);
    return status;
}

static hilo_status window_run(struct eval *cx, ir_op op, ir_region region, const struct window *w, uint32_t n,
                              struct value *const *in, struct value **out) {
    struct body b;
    struct sliding s = {.b = &b, .w = w, .n = n, .out = out};
    HILO_TRY(body_open(cx, op, region, &b));
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; status == HILO_OK && i < n; i++) {
        status = body_convert(cx, in[i], b.arg[n + i], &s.x[i]);
        if (status == HILO_OK)
            status = body_convert(cx, in[n + i], b.arg[n + i], &s.pad[i]);
        if (status == HILO_OK)
            status = window_begin(cx, w, in[n + i], b.result[i], &out[i]);
    }
    if (status == HILO_OK)
        status = window_reduce(&s);
    for (uint32_t i = 0; i < n; i++) {
        value_unref(s.x[i]);
        value_unref(s.pad[i]);
    }
    body_close(&b);
    return status;
}

static hilo_status window_too_many(struct eval *cx, ir_op op) {
    return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "has more than %d inputs", WINDOW_MOST);
}

hilo_status eval_reduce_window(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    static const struct window_slots slots = {IR_REDUCE_WINDOW_window_dimensions, IR_REDUCE_WINDOW_window_strides,
                                              IR_REDUCE_WINDOW_padding, IR_REDUCE_WINDOW_base_dilations,
                                              IR_REDUCE_WINDOW_window_dilations};
    uint32_t n = ir_op_get(cx->m, op)->noperands / 2;
    struct window w;
    if (n > WINDOW_MOST)
        return window_too_many(cx, op);
    HILO_TRY(window_read(cx, op, &slots, in[0], &w));
    return window_run(cx, op, ir_op_region(cx->m, op, 0), &w, n, in, out);
}

/* ---- custom_call @stablehlo.dynamic_reduce_window ---------------------------------------------------------------------- */

static bool is_scalar_of(const struct eval *cx, ir_val v, enum ir_dtype t) {
    const struct ir_type_data *d = ir_val_type(cx->m, v);
    return d->kind == IR_TYPE_TENSOR && d->rank == 0 && !d->quant && d->dtype == t;
}

/* The body of the function that the op calls: scalars of the inputs' types in and out. None after a diagnostic. */
static ir_region window_callee(struct eval *cx, ir_op op, uint32_t n, struct value *const *in) {
    const struct ir_attr_data *names =
        ir_attr_get(cx->m, ir_prop(cx->m, op, IR_CUSTOM_CALL_called_computations));
    ir_op func = names->n == 1 ? ir_module_symbol(cx->m, ir_attr_as_str(cx->m, names->items[0])) : (ir_op){0};
    bool fits = eval_plan_body(cx->plan, func) != 0;
    if (fits) {
        const struct ir_block_data *block = ir_block_get(cx->m, ir_func_body(cx->m, func));
        const struct ir_op_data *ret = ir_op_get(cx->m, block->last);
        fits = block->nargs == 2 * n && ret->noperands == n;
        for (uint32_t i = 0; i < n && fits; i++)
            fits = in[i]->dtype == in[n + i]->dtype && is_scalar_of(cx, block->args[i], in[i]->dtype) &&
                   is_scalar_of(cx, block->args[n + i], in[i]->dtype) && is_scalar_of(cx, ret->operands[i], in[i]->dtype);
    }
    if (!fits)
        EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs a function that reduces two scalars of each input to one");
    return fits ? ir_op_region(cx->m, func, 0) : (ir_region){0};
}

/* The integers of an operand, `want` of them. */
static bool window_list(const struct value *v, size_t want, int64_t *out) {
    bool fits = value_is_integers(v) && v->count == want;
    for (size_t i = 0; i < want && fits; i++)
        out[i] = value_i64(v, i);
    return fits;
}

/* Operands: inputs, as many initial values, then what reduce_window has as attributes: window_dimensions, window_strides,
   base_dilations, window_dilations, padding. */
hilo_status eval_dynamic_reduce_window(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    uint32_t n = o->nresults;
    int64_t size[IR_MAX_RANK], stride[IR_MAX_RANK], base[IR_MAX_RANK], dilation[IR_MAX_RANK], padding[2 * IR_MAX_RANK];
    if (n > WINDOW_MOST)
        return window_too_many(cx, op);
    bool fits = n > 0 && o->noperands == 2 * n + 5;
    for (uint32_t i = 0; i < n && fits; i++)
        fits = in[i]->kind == EVAL_TENSOR && in[n + i]->kind == EVAL_TENSOR && in[n + i]->rank == 0 &&
               in[i]->rank == in[0]->rank &&
               (in[i]->rank == 0 || memcmp(in[i]->dims, in[0]->dims, in[i]->rank * sizeof *in[i]->dims) == 0);
    size_t rank = fits ? in[0]->rank : 0;
    fits = fits && window_list(in[2 * n], rank, size) && window_list(in[2 * n + 1], rank, stride) &&
           window_list(in[2 * n + 2], rank, base) && window_list(in[2 * n + 3], rank, dilation) &&
           window_list(in[2 * n + 4], 2 * rank, padding);
    if (!fits)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                         "must have inputs of one shape, as many initial values, and five lists of integers for a window");
    struct window_lists l = {size, stride, padding, base, dilation, rank, rank, 2 * rank, rank, rank};
    ir_region body = window_callee(cx, op, n, in);
    if (IR_NONE(body))
        return HILO_INVALID_ARGUMENT;
    struct window w;
    HILO_TRY(window_shape(cx, op, &l, in[0], &w));
    return window_run(cx, op, body, &w, n, in, out);
}

/* ---- select_and_scatter ------------------------------------------------------------------------------------------------- */

/* The element that `select` prefers in the window at o, as an offset; -1 when the window holds only padding. */
static hilo_status window_select(struct body *select, const struct window *w, const struct value *x, const int64_t *o,
                                 int64_t *chosen) {
    size_t size = ir_dtype_get(x->dtype)->bytes;
    int64_t k[IR_MAX_RANK] = {0}, offset;
    *chosen = -1;
    do {
        if (!window_at(w, o, k, &offset))
            continue;
        uint8_t keep = 0;
        if (*chosen >= 0) {
            const void *args[2] = {(char *)x->data + (size_t)*chosen * size, (char *)x->data + (size_t)offset * size};
            void *result[1] = {&keep};
            HILO_TRY(body_run(select, args, result, 1));
        }
        if (!keep)
            *chosen = offset;
    } while (index_next(k, w->size, w->rank));
    return HILO_OK;
}

static hilo_status scatter_selected(struct body *select, struct body *scatter, const struct window *w, const struct value *x,
                                    const struct value *source, struct value *out) {
    size_t size = ir_dtype_get(out->dtype)->bytes, at = 0;
    int64_t o[IR_MAX_RANK] = {0}, chosen;
    if (source->count)
        do {
            HILO_TRY(window_select(select, w, x, o, &chosen));
            if (chosen >= 0) {
                char *target = (char *)out->data + (size_t)chosen * size;
                const void *args[2] = {target, (char *)source->data + at * size};
                void *result[1] = {target};
                HILO_TRY(body_run(scatter, args, result, 1));
            }
            at++;
        } while (index_next(o, w->out, w->rank));
    return HILO_OK;
}

hilo_status eval_select_and_scatter(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    static const struct window_slots slots = {IR_SELECT_AND_SCATTER_window_dimensions, IR_SELECT_AND_SCATTER_window_strides,
                                              IR_SELECT_AND_SCATTER_padding, IR_SLOT_NONE, IR_SLOT_NONE};
    struct window w;
    struct body select, scatter;
    struct value *source = NULL, *init = NULL, *x = NULL;
    HILO_TRY(window_read(cx, op, &slots, in[0], &w));
    for (uint32_t i = 0; i < w.rank; i++)
        if (in[1]->rank != w.rank || in[1]->dims[i] != w.out[i])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a source whose shape is not that of the windows");
    HILO_TRY(body_open(cx, op, ir_op_region(cx->m, op, 0), &select));
    hilo_status status = body_open(cx, op, ir_op_region(cx->m, op, 1), &scatter);
    if (status != HILO_OK) {
        body_close(&select);
        return status;
    }
    status = body_convert(cx, in[0], select.arg[0], &x);
    if (status == HILO_OK)
        status = body_convert(cx, in[1], scatter.arg[1], &source);
    if (status == HILO_OK)
        status = body_convert(cx, in[2], scatter.arg[0], &init);
    if (status == HILO_OK)
        status = value_tensor(&cx->al, scatter.result[0], in[0]->dims, in[0]->rank, out);
    if (status == HILO_OK) {
        size_t size = ir_dtype_get((*out)->dtype)->bytes;
        for (size_t i = 0; i < (*out)->count; i++)
            memcpy((char *)(*out)->data + i * size, init->data, size);
        status = scatter_selected(&select, &scatter, &w, x, source, *out);
    }
    value_unref(x);
    value_unref(source);
    value_unref(init);
    body_close(&scatter);
    body_close(&select);
    return status;
}
