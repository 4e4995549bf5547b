/* Shapes, layouts and constants of HLO text. */
#include "read/hlo/hlo.h"

#include "base/decimal.h"

#include <math.h>
#include <stdio.h>

/* ---- element types --------------------------------------------------------------------------- */

void hlo_dtype_name(enum ir_dtype t, struct strbuf *out) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    switch (info->cls) {
    case IR_PRED: strbuf_puts(out, "pred"); break;
    case IR_SINT: strbuf_printf(out, "s%u", info->bits); break;
    case IR_UINT: strbuf_printf(out, "u%u", info->bits); break;
    case IR_COMPLEX_CLASS: strbuf_printf(out, "c%u", info->bits); break;
    default:
        for (const char *s = info->name; *s; s++)
            strbuf_putc(out, *s >= 'A' && *s <= 'Z' ? (char)(*s + 'a' - 'A') : *s);
    }
}

/* The same spelling, without memory. */
static bool dtype_is_named(enum ir_dtype t, struct str name) {
    static const char letters[] = {[IR_SINT] = 's', [IR_UINT] = 'u', [IR_COMPLEX_CLASS] = 'c'};
    const struct ir_dtype_info *info = ir_dtype_get(t);
    char text[24];
    if (info->cls == IR_INDEX_CLASS || info->number == HILO_DTYPE_INVALID)
        return false;
    if (info->cls == IR_PRED)
        return str_is(name, "pred");
    if (info->cls == IR_FLOAT) {
        size_t n = strlen(info->name);
        for (size_t i = 0; i < n && name.n == n; i++)
            if ((info->name[i] | 0x20) != name.p[i] && info->name[i] != name.p[i])
                return false;
        return name.n == n;
    }
    snprintf(text, sizeof text, "%c%u", letters[info->cls], info->bits);
    return str_is(name, text);
}

/* The element type of an HLO spelling. */
static enum ir_dtype hlo_dtype_named(struct str name) {
    for (int t = IR_DTYPE_NONE + 1; t < IR_DTYPE_COUNT; t++)
        if (dtype_is_named((enum ir_dtype)t, name))
            return (enum ir_dtype)t;
    return IR_DTYPE_NONE;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* `[2,<=5,?]` */
static hilo_status shape_dims(struct hlo *h, struct hlo_cursor *c, enum ir_dtype t, struct hlo_shape *out, uint32_t *rank) {
    int64_t dims[IR_MAX_RANK], bounds[IR_MAX_RANK];
    bool bounded = false;
    HILO_TRY(hlo_expect(h, c, "["));
    for (*rank = 0; !hlo_accept(c, "]"); ++*rank) {
        if (*rank)
            HILO_TRY(hlo_expect(h, c, ","));
        hlo_space(c);
        const char *at = c->at;
        if (*rank == IR_MAX_RANK)
            return hlo_error(h, at, "more than %d dimensions", (int)IR_MAX_RANK);
        dims[*rank] = bounds[*rank] = IR_DYNAMIC;
        if (hlo_accept(c, "?"))
            continue;
        int64_t *to = hlo_accept(c, "<=") ? &bounds[*rank] : &dims[*rank];
        HILO_TRY(hlo_i64(h, c, to));
        if (*to < 0)
            return hlo_error(h, at, "the size of a dimension cannot be negative");
        bounded = bounded || to == &bounds[*rank];
    }
    ir_type elem = ir_type_scalar(h->m, t);
    out->type = bounded ? ir_type_bounded(h->m, elem, dims, bounds, *rank) : ir_type_of(h->m, t, dims, *rank);
    return HILO_OK;
}

/* `{1,0:T(8,128)S(1)}`: the order of dimensions from minor to major; after the colon, tiles and the memory space. */
static hilo_status shape_layout(struct hlo *h, struct hlo_cursor *c, uint32_t rank, struct hlo_shape *out) {
    struct str inside;
    const char *at = c->at;
    HILO_TRY(hlo_brackets(h, c, &inside));
    struct hlo_cursor in = hlo_over(inside);
    const char *colon = memchr(inside.p, ':', inside.n);
    struct hlo_cursor list = {at, colon ? colon : c->at - 1};
    for (const char *s = colon; s && s < in.end; s++)
        out->tiled = out->tiled || *s == 'T';
    list.at++;
    hlo_space(&list);
    if (list.at == list.end && colon)
        return HILO_OK; /* the order is not always said */
    int64_t *order = ARENA_ARRAY(&h->m->arena, int64_t, rank);
    uint64_t seen = 0;
    bool row_major = true;
    for (uint32_t i = 0; i < rank; i++) {
        if (i)
            HILO_TRY(hlo_expect(h, &list, ","));
        hlo_space(&list);
        at = list.at;
        HILO_TRY(hlo_i64(h, &list, &order[i]));
        if (order[i] < 0 || order[i] >= rank || (seen >> order[i] & 1))
            return hlo_error(h, at, "expected an order of the %u dimensions", rank);
        seen |= (uint64_t)1 << order[i];
        row_major = row_major && order[i] == (int64_t)(rank - 1 - i);
    }
    HILO_TRY(hlo_end(h, &list));
    if (!row_major)
        out->layout = order;
    return HILO_OK;
}

static hilo_status shape_tuple(struct hlo *h, struct hlo_cursor *c, struct hlo_shape *out) {
    struct { struct hlo_shape *v; uint32_t n, cap; } items = {NULL, 0, 0};
    HILO_TRY(hlo_enter(h, c->at));
    while (!hlo_accept(c, ")")) {
        struct hlo_shape item;
        if (items.n)
            HILO_TRY(hlo_expect(h, c, ","));
        HILO_TRY(hlo_shape(h, c, &item));
        item.first = out->nleaves;
        out->nleaves += item.nleaves;
        ARENA_PUSH(&h->m->arena, &items, item);
    }
    hlo_leave(h);
    out->tuple = true;
    out->items = items.v;
    out->nitems = items.n;
    return HILO_OK;
}

hilo_status hlo_shape(struct hlo *h, struct hlo_cursor *c, struct hlo_shape *out) {
    struct str name;
    uint32_t rank;
    *out = (struct hlo_shape){.nleaves = 0};
    if (hlo_accept(c, "("))
        return shape_tuple(h, c, out);
    struct hlo_cursor start = *c;
    if (!hlo_word(c, &name))
        return hlo_expected(h, c, "a shape");
    out->nleaves = 1;
    if (str_is(name, "token")) {
        HILO_TRY(hlo_expect(h, c, "["));
        out->type = ir_type_simple(h->m, IR_TYPE_TOKEN);
        HILO_TRY(hlo_expect(h, c, "]"));
        rank = 0;
    } else {
        enum ir_dtype t = hlo_dtype_named(name);
        if (t == IR_DTYPE_NONE)
            return hlo_expected(h, &start, "a shape, such as f32[2,3]");
        HILO_TRY(shape_dims(h, c, t, out, &rank));
    }
    /* A layout follows immediately; a brace after white space is something else. */
    return c->at < c->end && *c->at == '{' ? shape_layout(h, c, rank, out) : HILO_OK;
}

void hlo_leaves(const struct hlo_shape *s, ir_type *out) {
    if (!s->tuple)
        *out = s->type;
    for (uint32_t i = 0; i < s->nitems; i++) {
        hlo_leaves(&s->items[i], out);
        out += s->items[i].nleaves;
    }
}

const struct hlo_shape *hlo_leaf(const struct hlo_shape *s, uint32_t leaf) {
    while (s->tuple) {
        uint32_t low = 0, high = s->nitems; /* the last item that does not begin after it */
        while (high - low > 1) {
            uint32_t mid = low + (high - low) / 2;
            if (s->items[mid].first <= leaf)
                low = mid;
            else
                high = mid;
        }
        s = &s->items[low];
        leaf -= s->first;
    }
    return s;
}

/* ---- elements -------------------------------------------------------------------------------- */

struct literal {
    struct hlo *h;
    struct hlo_cursor *c;
    const struct ir_type_data *t;
    const struct ir_dtype_info *elem;
    size_t count, n; /* elements in all, and read */
    char *data;
};

static hilo_status element_int(const struct literal *l, void *out) {
    const struct ir_dtype_info *e = l->elem;
    struct hlo_cursor *c = l->c;
    const char *at = c->at, *next = at;
    uint64_t u = 0, most = e->bits == 64 ? UINT64_MAX : ((uint64_t)1 << e->bits) - 1;
    int64_t v = 0;
    bool good;
    if (e->cls == IR_UINT) {
        good = dec_parse_u64(at, c->end, &u, &next) && u <= most;
    } else {
        int64_t high = (int64_t)(most >> 1);
        good = dec_parse_i64(at, c->end, &v, &next) && v <= high && v >= -high - 1;
        u = (uint64_t)v;
    }
    if (!good)
        return next == at ? hlo_expected(l->h, c, "an integer")
                          : hlo_error(l->h, at, "the integer is out of range for %s", e->name);
    c->at = next;
    memcpy(out, &u, e->bytes);
    return HILO_OK;
}

/* NaN with its payload, `nan(0x400001)`, where it has one. */
static hilo_status element_nan(const struct literal *l, enum fp_kind kind, bool negative, void *out) {
    const struct fp_info *f = fp_get(kind);
    uint64_t bits = f->nan, payload;
    const char *next;
    if (l->c->at < l->c->end && *l->c->at == '(') {
        l->c->at++;
        uint64_t mantissa = ((uint64_t)1 << f->man_bits) - 1;
        if (!dec_parse_u64(l->c->at, l->c->end, &payload, &next) || payload > mantissa || payload == 0)
            return hlo_expected(l->h, l->c, "the payload of a NaN");
        l->c->at = next;
        if (f->flavour == FPF_IEEE)
            bits = (bits & ~mantissa) | payload;
        HILO_TRY(hlo_expect(l->h, l->c, ")"));
    }
    fp_store(kind, out, bits | (negative ? f->sign : 0));
    return HILO_OK;
}

static hilo_status element_float(const struct literal *l, enum fp_kind kind, void *out) {
    struct hlo_cursor *c = l->c;
    const char *next;
    bool negative = hlo_next_is(c, '-');
    struct hlo_cursor word = {c->at + negative, c->end};
    float f;
    double d;
    if (word.end - word.at >= 3 && memcmp(word.at, "nan", 3) == 0) {
        c->at = word.at + 3;
        return element_nan(l, kind, negative, out);
    }
    if (word.end - word.at >= 3 && memcmp(word.at, "inf", 3) == 0) {
        c->at = word.at + 3;
        fp_store(kind, out, fp_encode(kind, negative ? -INFINITY : INFINITY));
        return HILO_OK;
    }
    if (kind == FP_F32 && dec_parse_float(c->at, c->end, &f, &next)) {
        fp_store(kind, out, fp_f32_bits(f));
    } else if (kind != FP_F32 && dec_parse_double(c->at, c->end, &d, &next)) {
        fp_store(kind, out, fp_encode(kind, d));
    } else {
        return hlo_expected(l->h, c, "a number");
    }
    c->at = next;
    return HILO_OK;
}

static hilo_status element(const struct literal *l, char *out) {
    hlo_space(l->c);
    switch (l->elem->cls) {
    case IR_PRED:
        *out = hlo_accept(l->c, "true") || hlo_accept(l->c, "1");
        return *out || hlo_accept(l->c, "false") || hlo_accept(l->c, "0") ? HILO_OK : hlo_expected(l->h, l->c, "true or false");
    case IR_FLOAT:
        return element_float(l, l->elem->fp, out);
    case IR_COMPLEX_CLASS:
        HILO_TRY(hlo_expect(l->h, l->c, "("));
        HILO_TRY(element_float(l, l->elem->fp, out));
        HILO_TRY(hlo_expect(l->h, l->c, ","));
        HILO_TRY(element_float(l, l->elem->fp, out + l->elem->bytes / 2));
        return hlo_expect(l->h, l->c, ")");
    default:
        return element_int(l, out);
    }
}

/* ---- constants ------------------------------------------------------------------------------- */

/* `{ {1, 2}, {3, 4} }`: dimension `axis` and what is inside of it. */
static hilo_status literal_list(struct literal *l, uint32_t axis) {
    if (axis == l->t->rank) {
        HILO_TRY(element(l, l->data + l->n * l->elem->bytes));
        l->n++;
        return HILO_OK;
    }
    HILO_TRY(hlo_expect(l->h, l->c, "{"));
    const char *at = l->c->at;
    if (hlo_accept(l->c, "..."))
        return hlo_error(l->h, at, "the data of this constant was left out when the text was printed");
    for (int64_t i = 0; i < l->t->dims[axis]; i++) {
        if (i)
            HILO_TRY(hlo_expect(l->h, l->c, ","));
        HILO_TRY(literal_list(l, axis + 1));
    }
    return hlo_expect(l->h, l->c, "}");
}

/* A constant without elements: braces of any form. */
static hilo_status literal_empty(struct literal *l) {
    struct str inside;
    if (!hlo_next_is(l->c, '{'))
        return hlo_expected(l->h, l->c, "'{'");
    HILO_TRY(hlo_brackets(l->h, l->c, &inside));
    for (size_t i = 0; i < inside.n; i++)
        if (!strchr("{}, \t\r\n", inside.p[i]))
            return hlo_error(l->h, inside.p + i, "expected no elements");
    return HILO_OK;
}

static bool literal_is_splat(const struct literal *l) {
    return l->count > 1 && memcmp(l->data, l->data + l->elem->bytes, (l->count - 1) * l->elem->bytes) == 0;
}

hilo_status hlo_literal(struct hlo *h, struct hlo_cursor *c, ir_type type, ir_attr *out) {
    struct literal l = {.h = h, .c = c, .t = ir_type_get(h->m, type)};
    size_t nbytes;
    hlo_space(c);
    if (l.t->kind != IR_TYPE_TENSOR || !ir_type_count(l.t, &l.count) || !ir_type_bytes(l.t, &nbytes))
        return hlo_error(h, c->at, "a constant cannot have this shape");
    l.elem = ir_dtype_get(l.t->dtype);
    if (l.count == 0) {
        HILO_TRY(literal_empty(&l));
        *out = ir_attr_dense(h->m, type, NULL, 0, false, false);
        return HILO_OK;
    }
    if (l.count > (size_t)(c->end - c->at)) { /* nothing is allocated for what cannot be there */
        struct hlo_cursor inside = *c;
        if (hlo_accept(&inside, "{") && hlo_accept(&inside, "..."))
            return hlo_error(h, c->at, "the data of this constant was left out when the text was printed");
        return hlo_error(h, c->at, "expected %zu elements, found %zu bytes", l.count, (size_t)(c->end - c->at));
    }
    char small[IR_BLOB_BYTES];
    l.data = nbytes <= sizeof small ? small : ir_blob_new(h->m, nbytes);
    HILO_TRY(literal_list(&l, 0));
    bool splat = l.count == 1 || literal_is_splat(&l);
    *out = ir_attr_dense(h->m, type, l.data, splat ? l.elem->bytes : nbytes, splat, false);
    return HILO_OK;
}
