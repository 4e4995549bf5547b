/* The characters of HLO text. */
#include "read/hlo/hlo.h"

#include "base/decimal.h"

#include <stdio.h>

/* ---- places and errors ----------------------------------------------------------------------- */

/* Places come mostly in rising order. */
void hlo_locate(struct hlo *h, const char *at, uint32_t *line, uint32_t *col) {
    if (at < h->line_at) {
        h->line_at = h->line_begin = h->text.p;
        h->line_no = h->first_line;
    }
    for (const char *nl; (nl = memchr(h->line_at, '\n', (size_t)(at - h->line_at))) != NULL;) {
        h->line_at = h->line_begin = nl + 1;
        h->line_no++;
    }
    h->line_at = at;
    *line = h->line_no;
    *col = (uint32_t)(at - h->line_begin) + 1;
}

hilo_status hlo_error(struct hlo *h, const char *at, const char *fmt, ...) {
    struct diag_loc loc = {.file = h->m->name, .length = 1};
    va_list ap;
    hlo_locate(h, at, &loc.line, &loc.col);
    va_start(ap, fmt);
    hilo_status status = diag_vadd(h->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, loc, h->text, fmt, ap);
    va_end(ap);
    return status;
}

hilo_status hlo_expected(struct hlo *h, const struct hlo_cursor *c, const char *what) {
    struct hlo_cursor found = *c;
    struct str word;
    hlo_space(&found);
    const char *at = found.at;
    if (at == h->text.p + h->text.n)
        return hlo_error(h, at, "expected %s, found the end of the text", what);
    if (at == found.end)
        return hlo_error(h, at, "expected %s", what);
    if (hlo_word(&found, &word))
        return hlo_error(h, at, "expected %s, found '%.*s'", what, (int)(word.n < 40 ? word.n : 40), word.p);
    return hlo_error(h, at, "expected %s, found '%c'", what, *at);
}

hilo_status hlo_enter(struct hlo *h, const char *at) {
    return ++h->depth <= HLO_DEPTH ? HILO_OK : hlo_error(h, at, "nested more than %d levels deep", (int)HLO_DEPTH);
}

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_blank(char ch) {
    return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

static bool is_word(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' ||
           ch == '-';
}

void hlo_space(struct hlo_cursor *c) {
    for (;;) {
        while (c->at < c->end && is_blank(*c->at))
            c->at++;
        if (c->end - c->at < 2 || *c->at != '/' || (c->at[1] != '*' && c->at[1] != '/'))
            return;
        if (c->at[1] == '/') {
            while (c->at < c->end && *c->at != '\n')
                c->at++;
            continue;
        }
        const char *s = c->at + 2;
        while (c->end - s >= 2 && (s[0] != '*' || s[1] != '/'))
            s++;
        c->at = c->end - s >= 2 ? s + 2 : c->end;
    }
}

bool hlo_accept(struct hlo_cursor *c, const char *s) {
    size_t n = strlen(s);
    hlo_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, s, n) != 0)
        return false;
    if (n > 1 && is_word(s[n - 1]) && c->at + n < c->end && is_word(c->at[n]))
        return false; /* it goes on */
    c->at += n;
    return true;
}

bool hlo_next_is(struct hlo_cursor *c, char ch) {
    hlo_space(c);
    return c->at < c->end && *c->at == ch;
}

hilo_status hlo_expect(struct hlo *h, struct hlo_cursor *c, const char *s) {
    char what[32];
    if (hlo_accept(c, s))
        return HILO_OK;
    snprintf(what, sizeof what, "'%s'", s);
    return hlo_expected(h, c, what);
}

hilo_status hlo_end(struct hlo *h, struct hlo_cursor *c) {
    hlo_space(c);
    return c->at == c->end ? HILO_OK : hlo_expected(h, c, "the end of the value");
}

bool hlo_word(struct hlo_cursor *c, struct str *out) {
    hlo_space(c);
    const char *s = c->at;
    while (s < c->end && is_word(*s))
        s++;
    *out = (struct str){c->at, (size_t)(s - c->at)};
    c->at = s;
    return out->n != 0;
}

hilo_status hlo_name(struct hlo *h, struct hlo_cursor *c, const char *what, struct str *out) {
    if (hlo_next_is(c, '%'))
        c->at++;
    else if (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        return hlo_expected(h, c, what);
    return hlo_word(c, out) ? HILO_OK : hlo_expected(h, c, what);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Decimal: in `1_0x2_0` the x divides. */
hilo_status hlo_i64(struct hlo *h, struct hlo_cursor *c, int64_t *out) {
    const char *next;
    hlo_space(c);
    const char *end = c->at + (c->at < c->end && (*c->at == '-' || *c->at == '+'));
    while (end < c->end && *end >= '0' && *end <= '9')
        end++;
    *out = 0;
    if (!dec_parse_i64(c->at, end, out, &next))
        return next == c->at ? hlo_expected(h, c, "an integer") : hlo_error(h, c->at, "the integer is out of range");
    c->at = next;
    return HILO_OK;
}

hilo_status hlo_u32(struct hlo *h, struct hlo_cursor *c, uint32_t *out) {
    int64_t v;
    hlo_space(c);
    const char *at = c->at;
    HILO_TRY(hlo_i64(h, c, &v));
    if (v < 0 || v > UINT32_MAX / 2)
        return hlo_error(h, at, "the number %lld is out of range", (long long)v);
    *out = (uint32_t)v;
    return HILO_OK;
}

hilo_status hlo_i64s(struct hlo *h, struct hlo_cursor *c, const char *open, const char *close, const int64_t **out,
                     uint32_t *n) {
    struct { int64_t *v; uint32_t n, cap; } list = {NULL, 0, 0};
    int64_t v;
    HILO_TRY(hlo_expect(h, c, open));
    while (!hlo_accept(c, close)) {
        if (list.n)
            HILO_TRY(hlo_expect(h, c, ","));
        HILO_TRY(hlo_i64(h, c, &v));
        ARENA_PUSH(&h->m->arena, &list, v);
    }
    *out = list.v;
    *n = list.n;
    return HILO_OK;
}

/* ---- strings, stretches ---------------------------------------------------------------------- */

/* The end of the string at `s`, after its quotation mark; NULL if it has none. */
static const char *string_end(const char *s, const char *end) {
    for (s++; s < end; s++) {
        if (*s == '\\')
            s++;
        else if (*s == '"')
            return s + 1;
    }
    return NULL;
}

/* One escape, after its backslash: a letter, three octal digits, x and two hexadecimal ones, or the character itself. */
static char string_escape(const char **s, const char *end) {
    static const char letters[] = "n\nt\tr\r";
    uint8_t byte;
    char ch = *(*s)++;
    for (size_t i = 0; i + 1 < sizeof letters; i += 2)
        if (ch == letters[i])
            return letters[i + 1];
    if (ch == 'x' && end - *s >= 2 && hex_decode(*s, 2, &byte)) {
        *s += 2;
        return (char)byte;
    }
    if (ch < '0' || ch > '7')
        return ch;
    unsigned v = (unsigned)(ch - '0');
    for (int i = 0; i < 2 && *s < end && **s >= '0' && **s <= '7'; i++)
        v = v * 8 + (unsigned)(*(*s)++ - '0');
    return (char)(v & 0xFF);
}

hilo_status hlo_string(struct hlo *h, struct hlo_cursor *c, struct str *out) {
    if (!hlo_next_is(c, '"'))
        return hlo_expected(h, c, "a string");
    const char *end = string_end(c->at, c->end), *s = c->at + 1;
    if (!end)
        return hlo_error(h, c->at, "the string does not end");
    c->at = end--;
    *out = (struct str){s, (size_t)(end - s)};
    if (!memchr(s, '\\', out->n))
        return HILO_OK;
    char *p = arena_alloc(&h->m->arena, out->n, 1);
    out->p = p;
    while (s < end)
        if (*s != '\\')
            *p++ = *s++;
        else if (++s < end)
            *p++ = string_escape(&s, end);
    out->n = (size_t)(p - out->p);
    return HILO_OK;
}

/* From `s` to the place where brackets are closed and, with `whole`, a comma or white space follows. */
static hilo_status scan(struct hlo *h, struct hlo_cursor *c, bool whole, const char **end) {
    char open[HLO_DEPTH];
    uint32_t depth = 0;
    const char *s = c->at;
    while (s < c->end) {
        char ch = *s;
        if (ch == '"') {
            const char *next = string_end(s, c->end);
            if (!next)
                return hlo_error(h, s, "the string does not end");
            s = next;
            continue;
        }
        if (ch == '/' && c->end - s >= 2 && s[1] == '*') {
            struct hlo_cursor comment = {s, c->end};
            hlo_space(&comment);
            s = comment.at;
            continue;
        }
        if (depth == 0 && whole && (ch == ',' || is_blank(ch)))
            break;
        if (ch == '(' || ch == '{' || ch == '[') {
            if (depth == HLO_DEPTH)
                return hlo_error(h, s, "nested more than %d levels deep", (int)HLO_DEPTH);
            open[depth++] = ch;
        } else if (ch == ')' || ch == '}' || ch == ']') {
            if (depth == 0)
                break;
            if ((open[--depth] == '(') != (ch == ')') || (open[depth] == '{') != (ch == '}'))
                return hlo_error(h, s, "'%c' closes what '%c' opened", ch, open[depth]);
            if (depth == 0 && !whole) {
                *end = s + 1;
                return HILO_OK;
            }
        }
        s++;
    }
    if (depth || !whole)
        return hlo_error(h, c->at, "the bracket is not closed");
    *end = s;
    return HILO_OK;
}

hilo_status hlo_balanced(struct hlo *h, struct hlo_cursor *c, struct str *out) {
    const char *end;
    hlo_space(c);
    HILO_TRY(scan(h, c, true, &end));
    *out = (struct str){c->at, (size_t)(end - c->at)};
    if (out->n == 0)
        return hlo_expected(h, c, "a value");
    c->at = end;
    return HILO_OK;
}

hilo_status hlo_brackets(struct hlo *h, struct hlo_cursor *c, struct str *inside) {
    const char *end;
    HILO_TRY(scan(h, c, false, &end));
    *inside = (struct str){c->at + 1, (size_t)(end - c->at) - 2};
    c->at = end;
    return HILO_OK;
}
