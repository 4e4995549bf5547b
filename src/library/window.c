/* Windows that slide over a tensor: see window.h. */
#include "library/window.h"

static int64_t window_item(const int64_t *v, size_t n, size_t i, int64_t missing) {
    return v && i < n ? v[i] : missing;
}

bool window_is_elements(const struct window_dim *d) {
    return d->in == d->out && d->size == 1 && d->stride == 1 && d->low == 0 && d->base == 1;
}

/* Every place that a tap can reach is a number. */
static bool dim_fits(const struct window_dim *d) {
    int64_t reach, span, period, limit = INT64_MAX / 4;
    return d->in >= 0 && d->out >= 0 && d->size >= 1 && d->stride >= 1 && d->base >= 1 && d->dilation >= 1 && d->low < limit &&
           d->low > -limit && !__builtin_mul_overflow(d->out, d->stride, &reach) &&
           !__builtin_mul_overflow(d->size, d->dilation, &span) && !__builtin_mul_overflow(d->base, d->stride, &period) &&
           reach < limit && span < limit && period < limit;
}

static bool window_finish(struct window *w) {
    size_t total = 1;
    w->rows = 1;
    for (uint32_t i = w->rank; i-- > 0;) {
        if (!dim_fits(&w->dim[i]) || !mem_mul(total, (size_t)w->dim[i].in, &total) || total > PTRDIFF_MAX)
            return false;
        w->strides[i] = i + 1 < w->rank ? w->strides[i + 1] * w->dim[i + 1].in : 1;
        if (i + 1 < w->rank && !mem_mul(w->rows, (size_t)w->dim[i].out, &w->rows))
            return false;
    }
    w->length = (size_t)w->dim[w->rank - 1].out;
    return true;
}

size_t window_in(const struct window *w) {
    size_t n = 1;
    for (uint32_t i = 0; i < w->rank; i++)
        n = lib_times(n, (size_t)w->dim[i].in);
    return n;
}

size_t window_out(const struct window *w) {
    return lib_times(w->rows, w->length);
}

bool window_match(const struct ir_module *m, ir_op op, const struct window_slots *s, const struct ir_type_data *in,
                  const struct ir_type_data *out, struct window *w) {
    size_t nsize, nstride, npadding, nbase = 0, ndilation = 0;
    const int64_t *size = ir_prop_i64s(m, op, s->size, &nsize), *stride = ir_prop_i64s(m, op, s->stride, &nstride);
    const int64_t *padding = ir_prop_i64s(m, op, s->padding, &npadding), *base = NULL, *dilation = NULL;
    if (s->base != IR_SLOT_NONE) {
        base = ir_prop_i64s(m, op, s->base, &nbase);
        dilation = ir_prop_i64s(m, op, s->dilation, &ndilation);
    }
    *w = (struct window){0};
    for (uint32_t i = 0; i < in->rank; i++) {
        struct window_dim d = {.in = in->dims[i],
                               .out = out->dims[i],
                               .size = window_item(size, nsize, i, 1),
                               .stride = window_item(stride, nstride, i, 1),
                               .low = window_item(padding, npadding, 2 * i, 0),
                               .base = window_item(base, nbase, i, 1),
                               .dilation = window_item(dilation, ndilation, i, 1)};
        struct window_dim *last = w->rank ? &w->dim[w->rank - 1] : NULL;
        if (last && window_is_elements(&d) && window_is_elements(last)) {
            last->in = last->out = last->in * d.in;
            continue;
        }
        if (w->rank == WINDOW_MOST_RANK)
            return false;
        w->dim[w->rank++] = d;
    }
    if (w->rank == 0)
        w->dim[w->rank++] = (struct window_dim){1, 1, 1, 1, 0, 1, 1};
    return window_finish(w);
}

bool window_put(struct lib_match *out, const struct window *w) {
    bool fits = lib_put(out, w->rank);
    for (uint32_t i = 0; i < w->rank; i++) {
        const struct window_dim *d = &w->dim[i];
        fits = fits && lib_put(out, d->in) && lib_put(out, d->out) && lib_put(out, d->size) && lib_put(out, d->stride) &&
               lib_put(out, d->low) && lib_put(out, d->base) && lib_put(out, d->dilation);
    }
    return fits;
}

bool window_get(struct lib_reader *r, struct window *w) {
    *w = (struct window){.rank = (uint32_t)lib_get_size(r, WINDOW_MOST_RANK)};
    for (uint32_t i = 0; i < w->rank; i++) {
        struct window_dim *d = &w->dim[i];
        d->in = lib_get(r);
        d->out = lib_get(r);
        d->size = lib_get(r);
        d->stride = lib_get(r);
        d->low = lib_get(r);
        d->base = lib_get(r);
        d->dilation = lib_get(r);
    }
    return !r->short_ && w->rank > 0 && window_finish(w);
}

struct window_taps window_row(const struct window *w, size_t row) {
    struct window_taps t = {.w = w, .more = true};
    for (uint32_t i = w->rank - 1; i-- > 0;) {
        t.o[i] = (int64_t)(row % (size_t)w->dim[i].out);
        row /= (size_t)w->dim[i].out;
    }
    return t;
}

bool window_next(struct window_taps *t) {
    const struct window *w = t->w;
    if (!t->more)
        return false;
    t->inside = true;
    t->offset = 0;
    for (uint32_t i = 0; i + 1 < w->rank; i++) {
        const struct window_dim *d = &w->dim[i];
        int64_t p = t->o[i] * d->stride + t->k[i] * d->dilation - d->low;
        if (d->base > 1) { /* divisions are slow, and rare */
            t->inside = t->inside && p % d->base == 0;
            p = p < 0 ? p : p / d->base;
        }
        t->inside = t->inside && p >= 0 && p < d->in;
        t->offset += p * w->strides[i];
    }
    t->more = false;
    for (uint32_t i = w->rank - 1; i-- > 0 && !t->more;) {
        t->more = ++t->k[i] < w->dim[i].size;
        if (!t->more)
            t->k[i] = 0;
    }
    return true;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

struct window_span window_span(const struct window *w, int64_t k) {
    const struct window_dim *d = &w->dim[w->rank - 1];
    int64_t divisor = greatest_divisor(d->stride, d->base), shift = k * d->dilation - d->low;
    int64_t period = d->base / divisor, first = shift < 0 ? (-shift + d->stride - 1) / d->stride : 0;
    struct window_span s = {.period = (size_t)period, .advance = (size_t)(d->stride / divisor)};
    for (int64_t i = 0; i < period; i++, first++) {
        int64_t p = first * d->stride + shift;
        if (p % d->base)
            continue;
        s.first = (size_t)first;
        s.at = p / d->base;
        if (first < d->out && s.at < d->in) {
            int64_t places = (d->out - 1 - first) / period + 1, elements = (d->in - 1 - s.at) / (int64_t)s.advance + 1;
            s.count = (size_t)(places < elements ? places : elements);
        }
        break;
    }
    return s;
}
