/* Constants: `dense<…> : type`, from hexadecimal and from decimal text, at the speed of memory and of base/decimal.h.
 *
 * The text of a constant may be most of a file of gigabytes, so it is never made into tokens: the body is found by a search
 * for its end, and its numbers go straight into the buffer that the module keeps. */
#include "base/decimal.h"
#include "read/text/text.h"

/* ---- one element ------------------------------------------------------------------------------------------------- */

static const char *dense_space(const char *s, const char *end) {
    for (; s < end; s++) {
        if (*s == '/' && end - s > 1 && s[1] == '/') {
            const char *nl = memchr(s, '\n', (size_t)(end - s));
            s = nl ? nl : end - 1;
        } else if (*s != ' ' && *s != '\n' && *s != '\t' && *s != '\r') {
            break;
        }
    }
    return s;
}

static inline const char *element_sign(const char *s, const char *end, bool *negative) {
    *negative = s < end && *s == '-';
    return *negative ? dense_space(s + 1, end) : s;
}

/* Integers without a sign in their type may be written as either: i8 takes -128 to 255. */
static hilo_status element_int(struct text_parser *p, const struct ir_dtype_info *t, const char *at, const char *end,
                               void *out, const char **next) {
    bool negative;
    const char *s = element_sign(at, end, &negative);
    uint64_t u, half = (uint64_t)1 << (t->bits - 1), most = half - 1 + half;
    bool fits = dec_parse_u64(s, end, &u, next);
    if (*next == s)
        return text_error(p, at, "expected an integer for a constant of type %s", t->name);
    if (*next < end && **next == '.')
        return text_error(p, at, "expected an integer for a constant of type %s, found a float", t->name);
    if (fits && negative)
        fits = u <= (t->cls == IR_UINT ? 0 : half);
    else if (fits)
        fits = u <= (t->cls == IR_INDEX_CLASS ? half - 1 : most);
    if (!fits)
        return text_error(p, at, "integer constant out of range for %s", t->name);
    if (negative)
        u = 0 - u;
    if (t->cls == IR_PRED)
        u &= 1;
    else if (t->cls == IR_SINT)
        u = (u & most) >> (t->bits - 1) ? u | ~most : u;
    memcpy(out, &u, t->bytes);
    return HILO_OK;
}

static hilo_status element_bool(struct text_parser *p, const struct ir_dtype_info *t, const char *s, const char *end,
                                void *out, const char **next) {
    struct str rest = {s, (size_t)(end - s)};
    bool yes = str_starts(rest, "true");
    if (!yes && !str_starts(rest, "false"))
        return element_int(p, t, s, end, out, next);
    *(uint8_t *)out = yes;
    *next = s + (yes ? 4 : 5);
    return HILO_OK;
}

/* Formats other than f32 and f64 are rounded twice, through double, as MLIR does: the result differs from the nearest only
   for decimals within 2^-53 of half way between two values of the format. */
static hilo_status element_float(struct text_parser *p, const struct ir_dtype_info *t, const char *at, const char *end,
                                 void *out, const char **next) {
    bool negative;
    const char *s = element_sign(at, end, &negative), *q = s;
    while (q < end && *q >= '0' && *q <= '9')
        q++;
    if (q == s)
        return text_error(p, at, "expected a float for a constant of type %s", t->name);
    if (q < end && *q == 'x' && q == s + 1 && *s == '0') {
        uint64_t bits;
        uint32_t width = fp_get(t->fp)->bits;
        if (!dec_parse_u64(s, end, &bits, next) || negative || (width < 64 && bits >> width))
            return text_error(p, at, "hexadecimal bits are out of range for %s", fp_get(t->fp)->name);
        fp_store(t->fp, out, bits);
        return HILO_OK;
    }
    if (q == end || *q != '.')
        return text_error(p, at, "a float is written with a point, as '%.*s.0'", (int)(q - at > 40 ? 0 : q - at), at);
    if (t->fp == FP_F32) {
        float x = 0;
        dec_parse_float(s, end, &x, next);
        x = negative ? -x : x;
        memcpy(out, &x, sizeof x);
    } else {
        double x = 0;
        dec_parse_double(s, end, &x, next);
        fp_store(t->fp, out, fp_encode(t->fp, negative ? -x : x));
    }
    return HILO_OK;
}

static hilo_status element_complex(struct text_parser *p, const struct ir_dtype_info *t, const char *s, const char *end,
                                   void *out, const char **next) {
    for (int part = 0; part < 2; part++) {
        char before = part ? ',' : '(';
        if (s == end || *s != before)
            return text_error(p, s, "expected '%c' of a complex number (real, imaginary)", before);
        s = dense_space(s + 1, end);
        HILO_TRY(element_float(p, t, s, end, (char *)out + (part ? t->bytes / 2 : 0), next));
        s = dense_space(*next, end);
    }
    if (s == end || *s != ')')
        return text_error(p, s, "expected ')' after a complex number");
    *next = s + 1;
    return HILO_OK;
}

hilo_status text_element(struct text_parser *p, enum ir_dtype dtype, const char *s, const char *end, void *out,
                         const char **next) {
    const struct ir_dtype_info *t = ir_dtype_get(dtype);
    switch (t->cls) {
    case IR_PRED:
        return element_bool(p, t, s, end, out, next);
    case IR_FLOAT:
        return element_float(p, t, s, end, out, next);
    case IR_COMPLEX_CLASS:
        return element_complex(p, t, s, end, out, next);
    case IR_SINT:
    case IR_UINT:
    case IR_INDEX_CLASS:
        break;
    }
    return element_int(p, t, s, end, out, next);
}

/* ---- lists and splats -------------------------------------------------------------------------------------------- */

struct dense {
    struct text_parser *p;
    const struct ir_type_data *t;
    const struct ir_dtype_info *elem;
    struct str body;   /* between < and >, or the inside of the string */
    struct str spelt;  /* the type, for messages */
    size_t count;      /* elements */
    ir_type type;
    _Alignas(64) char small[IR_BLOB_BYTES];
};

/* Room for n elements: what is small is copied when it is interned. */
static char *dense_room(struct dense *d, size_t n) {
    size_t nbytes = n * d->elem->bytes;
    return nbytes <= sizeof d->small ? d->small : ir_blob_new(d->p->m, nbytes);
}

static ir_attr dense_attr(struct dense *d, const char *data, size_t n) {
    return ir_attr_dense(d->p->m, d->type, data, n * d->elem->bytes, n == 1, /*owned=*/false);
}

static hilo_status dense_end(struct dense *d, const char *s) {
    s = dense_space(s, d->body.p + d->body.n);
    return s == d->body.p + d->body.n ? HILO_OK : text_error(d->p, s, "expected '>' after a constant");
}

/* Where an element or a list is expected after `n` others of the list that is open at `level`. */
static hilo_status dense_check_item(struct dense *d, const char *s, uint32_t level, int64_t n) {
    const char *end = d->body.p + d->body.n;
    if (level > 0 && n == d->t->dims[level - 1])
        return text_error(d->p, s, "more than the %lld elements of dimension %u of %.*s", (long long)n,
                          (unsigned)(level - 1), (int)d->spelt.n, d->spelt.p);
    if (s < end && *s == '[' && level == d->t->rank)
        return text_error(d->p, s, "list nested deeper than the rank of %.*s", (int)d->spelt.n, d->spelt.p);
    if (s == end || (*s != '[' && level < d->t->rank))
        return text_error(d->p, s, "expected a list of %lld for dimension %u of %.*s", (long long)d->t->dims[level],
                          (unsigned)level, (int)d->spelt.n, d->spelt.p);
    return HILO_OK;
}

/* Nested lists from `s`, which is at `[`. An item is an element, at level rank, or a list; what closes a list ends an item
   of the list around it. */
static hilo_status dense_lists(struct dense *d, const char *s, char *out) {
    const char *end = d->body.p + d->body.n;
    int64_t items[IR_MAX_RANK + 1] = {0};
    for (uint32_t level = 0;;) {
        s = dense_space(s, end);
        HILO_TRY(dense_check_item(d, s, level, items[level]));
        if (level == d->t->rank) {
            HILO_TRY(text_element(d->p, d->t->dtype, s, end, out, &s));
            out += d->elem->bytes;
        } else {
            items[++level] = 0;
            s = dense_space(s + 1, end);
            if (s == end || *s != ']')
                continue;
            items[level]--; /* an empty list: undo the item that is counted below */
        }
        for (;; s++, level--) {
            items[level]++;
            s = dense_space(s, end);
            if (level == 0)
                return dense_end(d, s);
            if (s < end && *s == ',')
                break;
            if (s == end || *s != ']')
                return text_error(d->p, s, "expected ',' or ']' after an element");
            if (items[level] != d->t->dims[level - 1])
                return text_error(d->p, s, "expected %lld elements in dimension %u of %.*s, found %lld",
                                  (long long)d->t->dims[level - 1], (unsigned)(level - 1), (int)d->spelt.n,
                                  d->spelt.p, (long long)items[level]);
        }
        s++;
    }
}

static hilo_status dense_decimal(struct dense *d, ir_attr *out) {
    const char *s = dense_space(d->body.p, d->body.p + d->body.n), *end = d->body.p + d->body.n, *next;
    char *data = d->small;
    if (s == end && d->count == 0) {
        *out = dense_attr(d, NULL, 0);
        return HILO_OK;
    }
    if (s == end)
        return text_error(d->p, s, "expected the elements of %.*s", (int)d->spelt.n, d->spelt.p);
    if (*s != '[') { /* one element stands for all */
        HILO_TRY(text_element(d->p, d->t->dtype, s, end, data, &next));
        HILO_TRY(dense_end(d, next));
        *out = dense_attr(d, data, 1);
        return HILO_OK;
    }
    if (d->count > d->body.n) /* nothing is allocated for what cannot be there */
        return text_error(d->p, s, "expected the %zu elements of %.*s", d->count, (int)d->spelt.n, d->spelt.p);
    data = dense_room(d, d->count);
    HILO_TRY(dense_lists(d, s, data));
    *out = dense_attr(d, data, d->count);
    return HILO_OK;
}

/* Digits that are decoded at a time; what is decoded need not stay in memory. */
enum { DENSE_STRETCH = 4 << 20 };

static void dense_done(const struct text_parser *p, const char *from, size_t n) {
    if (n >= DENSE_STRETCH && p->m->text_done)
        p->m->text_done(from, n);
}

/* The body was skipped before it is decoded, and its lines were counted then: counting later would page it in again. */
static void dense_passed(struct text_parser *p, struct str body) {
    uint32_t line, col;
    if (body.n >= DENSE_STRETCH)
        text_place(p, body.p + body.n, &line, &col);
    dense_done(p, body.p, body.n);
}

/* ---- hexadecimal ------------------------------------------------------------------------------------------------- */

static hilo_status dense_digits(struct dense *d, struct str digits, char *out) {
    bool good = true;
    for (size_t at = 0; good && at < digits.n; at += DENSE_STRETCH) {
        size_t n = digits.n - at < DENSE_STRETCH ? digits.n - at : DENSE_STRETCH;
        good = hex_decode(digits.p + at, n, (uint8_t *)out + at / 2);
        dense_done(d->p, digits.p + at, n);
    }
    if (good)
        return HILO_OK;
    const char *s = digits.p;
    uint8_t byte;
    while (digits.p + digits.n - s >= 2 && hex_decode(s, 2, &byte))
        s += 2;
    return text_error(d->p, s, "expected two hexadecimal digits for each byte");
}

/* Types of less than a byte have one for each element, with whatever was left in the rest of it. */
static void dense_clean(const struct ir_dtype_info *t, char *data, size_t n) {
    if (t->bits >= 8)
        return;
    unsigned mask = (1u << t->bits) - 1, sign = t->cls == IR_SINT ? 1u << (t->bits - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        unsigned x = t->cls == IR_PRED ? data[i] != 0 : (unsigned)data[i] & mask;
        data[i] = (char)((x ^ sign) - sign);
    }
}

/* The string is the elements in memory, little endian, or one for all. Of i1 there are two layouts: a byte for each element,
   and, from older versions of MLIR, a bit. Bits are decoded into the end of the buffer and spread from there: bit i is at
   or after byte i, and is read before it is written over. */
static hilo_status dense_hex(struct dense *d, ir_attr *out) {
    if (!str_starts(d->body, "0x"))
        return text_error(d->p, d->body.p, "expected hexadecimal data that starts with 0x");
    struct str digits = {d->body.p + 2, d->body.n - 2};
    size_t nbytes = digits.n / 2, size = d->elem->bytes, full = 0;
    bool known = mem_mul(d->count, size, &full), packed = false;
    size_t n = d->count;
    if (digits.n % 2 == 0 && known && nbytes == full)
        n = d->count;
    else if (digits.n % 2 == 0 && d->elem->cls == IR_PRED && nbytes == d->count / 8 + (d->count % 8 != 0))
        packed = true;
    else if (digits.n % 2 == 0 && nbytes == size && d->count)
        n = 1;
    else
        return text_error(d->p, d->body.p, "expected %zu hexadecimal digits for %.*s, or %zu for one element, found %zu",
                          full * 2, (int)d->spelt.n, d->spelt.p, size * 2, digits.n);
    char *data = dense_room(d, n), *bits = data + (n * size - nbytes);
    HILO_TRY(dense_digits(d, digits, bits));
    for (size_t i = 0; packed && i < n; i++)
        data[i] = (char)(bits[i / 8] >> i % 8 & 1);
    dense_clean(d->elem, data, n);
    *out = dense_attr(d, data, n);
    return HILO_OK;
}

/* ---- the whole literal ------------------------------------------------------------------------------------------- */

/* Passes over the body, up to its `>`. There is none in numbers and brackets, and no colon: one that comes first belongs to
   the type, and the `>` is missing. Comments and strings may contain anything. */
static hilo_status dense_skip(struct text_parser *p, struct str *body) {
    const char *s = p->tok.at, *end = memchr(s, '>', (size_t)(p->end - s));
    size_t n = (size_t)((end ? end : p->end) - s);
    if (memchr(s, '/', n) || memchr(s, '"', n))
        return text_balanced(p, TEXT_GREATER, body);
    const char *colon = memchr(s, ':', n);
    if (colon)
        n = (size_t)(colon - s);
    *body = (struct str){s, n};
    text_resume(p, s + n);
    return HILO_OK;
}

hilo_status text_dense(struct text_parser *p, ir_type expected, ir_attr *out) {
    struct dense d;
    d.p = p;
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_LESS));
    bool hex = text_is(p, TEXT_STRING);
    if (hex) {
        d.body = p->tok.text;
        text_next(p);
    } else {
        HILO_TRY(dense_skip(p, &d.body));
    }
    HILO_TRY(text_expect(p, TEXT_GREATER));
    const char *at = p->last - 1;
    d.type = expected;
    d.spelt = STR("the expected type");
    if (IR_NONE(expected) || text_is(p, TEXT_COLON)) {
        HILO_TRY(text_expect(p, TEXT_COLON));
        at = p->tok.at;
        HILO_TRY(text_type(p, &d.type));
        d.spelt = (struct str){at, (size_t)(p->last - at)};
    }
    d.t = ir_type_get(p->m, d.type);
    d.elem = ir_dtype_get(d.t->dtype);
    if ((d.t->kind != IR_TYPE_TENSOR && d.t->kind != IR_TYPE_VECTOR) || !ir_type_is_static(d.t))
        return text_error(p, at, "expected a tensor of static shape for a constant, found '%.*s'", (int)d.spelt.n,
                          d.spelt.p);
    if (d.t->dtype == IR_DTYPE_NONE)
        return text_error(p, at, "constants of '%.*s' are not supported", (int)d.spelt.n, d.spelt.p);
    if (!ir_type_count(d.t, &d.count))
        return text_error(p, at, "'%.*s' has too many elements", (int)d.spelt.n, d.spelt.p);
    dense_passed(p, d.body);
    return hex ? dense_hex(&d, out) : dense_decimal(&d, out);
}
