/* Tokens of MLIR's text, and the small pieces of grammar that everything above is made of.
 *
 * The source is not terminated: every look ahead is checked against p->end. A token is lexed when the one before it is
 * consumed; what is no token becomes TEXT_BAD, which no rule of the grammar expects, so that it is reported at its place. */
#include "base/decimal.h"
#include "read/text/text.h"

#include <stdio.h>

/* ---- characters -------------------------------------------------------------------------------------------------- */

static inline bool lex_digit(char c) { return (unsigned)(c - '0') < 10; }
static inline bool lex_letter(char c) { return (unsigned)((c | 0x20) - 'a') < 26; }
static inline bool lex_hex(char c) { return lex_digit(c) || (unsigned)((c | 0x20) - 'a') < 6; }
static inline bool lex_word(char c) { return lex_letter(c) || lex_digit(c) || c == '_' || c == '$' || c == '.'; }

/* The name after %, ^, # and !: digits, or a word that may contain dashes. */
static const char *lex_name_end(const char *s, const char *end) {
    if (s < end && lex_digit(*s)) {
        while (s < end && lex_digit(*s))
            s++;
        return s;
    }
    while (s < end && (lex_word(*s) || *s == '-'))
        s++;
    return s;
}

/* A word: a letter or _, then also digits, $ and dots. Returns `s` when there is none. */
static const char *lex_word_end(const char *s, const char *end) {
    if (s == end || !(lex_letter(*s) || *s == '_'))
        return s;
    while (s < end && lex_word(*s))
        s++;
    return s;
}

/* The closing quote of a string whose inside starts at `s`; NULL when its line or the source ends before. The first two
   searches find the end of strings of any length at the speed of memory, unless they contain escapes. */
static const char *lex_string_end(const char *s, const char *end) {
    const char *quote = memchr(s, '"', (size_t)(end - s));
    if (!quote)
        return NULL;
    if (memchr(s, '\\', (size_t)(quote - s))) {
        for (quote = s; quote < end && *quote != '"' && *quote != '\n'; quote++)
            if (*quote == '\\' && ++quote == end)
                return NULL;
        return quote < end && *quote == '"' ? quote : NULL;
    }
    return memchr(s, '\n', (size_t)(quote - s)) ? NULL : quote;
}

static const char *lex_line_end(const char *s, const char *end) {
    const char *nl = memchr(s, '\n', (size_t)(end - s));
    return nl ? nl : end;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static void lex_take(struct text_parser *p, enum text_kind kind, const char *at, const char *from, const char *to,
                     const char *next) {
    p->tok = (struct text_tok){.kind = kind, .text = {from, (size_t)(to - from)}, .at = at};
    p->at = next;
}

static void lex_bad(struct text_parser *p, const char *at) {
    lex_take(p, TEXT_BAD, at, at, at + 1, at + 1);
}

/* The value of the escape whose backslash is at `s`; -1 when it is none. */
static int lex_escape(const char *s, const char *end, const char **next) {
    if (end - s < 2)
        return -1;
    *next = s + 2;
    switch (s[1]) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case '"':
    case '\\':
        return s[1];
    }
    uint8_t byte;
    if (end - s < 3 || !hex_decode(s + 1, 2, &byte))
        return -1;
    *next = s + 3;
    return byte;
}

/* Resolves escapes; NULL, or the place of the one that is wrong. */
static const char *lex_unescape(struct text_parser *p, struct str raw, struct str *out) {
    *out = raw;
    if (!raw.n || !memchr(raw.p, '\\', raw.n))
        return NULL;
    char *to = arena_alloc(&p->m->arena, raw.n, 1);
    out->p = to;
    for (const char *s = raw.p, *end = raw.p + raw.n; s < end;) {
        if (*s != '\\') {
            *to++ = *s++;
            continue;
        }
        const char *at = s;
        int c = lex_escape(s, end, &s);
        if (c < 0)
            return at;
        *to++ = (char)c;
    }
    out->n = (size_t)(to - out->p);
    return NULL;
}

static void lex_string(struct text_parser *p, const char *s) {
    const char *quote = lex_string_end(s + 1, p->end);
    if (quote)
        lex_take(p, TEXT_STRING, s, s + 1, quote, quote + 1);
    else
        lex_bad(p, s);
}

static void lex_symbol(struct text_parser *p, const char *s) {
    const char *end = lex_word_end(s + 1, p->end);
    if (end > s + 1) {
        lex_take(p, TEXT_AT, s, s + 1, end, end);
        return;
    }
    const char *quote = s + 1 < p->end && s[1] == '"' ? lex_string_end(s + 2, p->end) : NULL;
    struct str name;
    if (!quote || lex_unescape(p, (struct str){s + 2, (size_t)(quote - s - 2)}, &name)) {
        lex_bad(p, s);
        return;
    }
    lex_take(p, TEXT_AT, s, name.p, name.p + name.n, quote + 1);
}

static void lex_number(struct text_parser *p, const char *s) {
    const char *end = p->end, *q = s + 1;
    if (*s == '0' && end - s > 2 && s[1] == 'x' && lex_hex(s[2])) {
        q = s + 2;
        while (q < end && lex_hex(*q))
            q++;
        lex_take(p, TEXT_INT, s, s, q, q);
        return;
    }
    while (q < end && lex_digit(*q))
        q++;
    if (q == end || *q != '.') {
        lex_take(p, TEXT_INT, s, s, q, q);
        return;
    }
    q++;
    while (q < end && lex_digit(*q))
        q++;
    if (q < end && (*q | 0x20) == 'e') {
        const char *e = q + 1;
        e += e < end && (*e == '+' || *e == '-');
        while (e < end && lex_digit(*e))
            q = ++e;
    }
    lex_take(p, TEXT_FLOAT, s, s, q, q);
}

static void lex_prefixed(struct text_parser *p, enum text_kind kind, const char *s) {
    const char *end = lex_name_end(s + 1, p->end);
    if (end == s + 1)
        lex_bad(p, s);
    else
        lex_take(p, kind, s, s + 1, end, end);
}

/* Punctuation of one character. */
#define LEX_MARKS(X)                                                                                               \
    X('(', LPAREN) X(')', RPAREN) X('{', LBRACE) X('}', RBRACE) X('[', LSQUARE) X(']', RSQUARE) X('<', LESS)       \
    X('>', GREATER) X(',', COMMA) X(':', COLON) X('=', EQUAL) X('-', MINUS) X('+', PLUS) X('*', STAR)              \
    X('?', QUESTION) X('/', SLASH)

static void lex_mark(struct text_parser *p, const char *s) {
#define MARK(c, kind) [c] = TEXT_##kind,
    static const uint8_t kinds[128] = {LEX_MARKS(MARK)};
#undef MARK
    size_t n = (size_t)(p->end - s);
    unsigned char c = (unsigned char)*s;
    if (n >= 2 && memcmp(s, "->", 2) == 0)
        lex_take(p, TEXT_ARROW, s, s, s + 2, s + 2);
    else if (n >= 2 && memcmp(s, "::", 2) == 0)
        lex_take(p, TEXT_COLON2, s, s, s + 2, s + 2);
    else if (n >= 3 && memcmp(s, "...", 3) == 0)
        lex_take(p, TEXT_ELLIPSIS, s, s, s + 3, s + 3);
    else if (n >= 3 && memcmp(s, "{-#", 3) == 0)
        lex_take(p, TEXT_FILE_META_BEGIN, s, s, s + 3, s + 3);
    else if (n >= 3 && memcmp(s, "#-}", 3) == 0)
        lex_take(p, TEXT_FILE_META_END, s, s, s + 3, s + 3);
    else if (c < sizeof kinds && kinds[c])
        lex_take(p, (enum text_kind)kinds[c], s, s, s + 1, s + 1);
    else
        lex_bad(p, s);
}

/* The token at or after `s`. */
static void lex_at(struct text_parser *p, const char *s) {
    const char *end = p->end;
    for (; s < end; s++) {
        if (*s == '/' && end - s > 1 && s[1] == '/') {
            s = lex_line_end(s, end);
            if (s == end)
                break;
        } else if (*s != ' ' && *s != '\n' && *s != '\t' && *s != '\r') {
            break;
        }
    }
    if (s == end) {
        lex_take(p, TEXT_EOF, s, s, s, s);
        return;
    }
    const char *word = lex_word_end(s, end);
    if (word > s) {
        lex_take(p, TEXT_IDENT, s, s, word, word);
        return;
    }
    if (lex_digit(*s)) {
        lex_number(p, s);
        return;
    }
    switch (*s) {
    case '"':
        lex_string(p, s);
        return;
    case '@':
        lex_symbol(p, s);
        return;
    case '%':
        lex_prefixed(p, TEXT_PERCENT, s);
        return;
    case '^':
        lex_prefixed(p, TEXT_CARET, s);
        return;
    case '!':
        lex_prefixed(p, TEXT_BANG, s);
        return;
    case '#':
        if (!(end - s > 2 && s[1] == '-' && s[2] == '}')) {
            lex_prefixed(p, TEXT_HASH, s);
            return;
        }
        break;
    }
    lex_mark(p, s);
}

void text_lex_init(struct text_parser *p, struct ir_module *m, struct diag_list *d, struct str source) {
    const char *begin = source.n ? source.p : "";
    *p = (struct text_parser){.m = m, .d = d, .begin = begin, .end = begin + source.n, .line_at = begin, .line_begin = begin,
                              .line_no = 1};
    text_resume(p, begin);
}

void text_next(struct text_parser *p) {
    p->last = p->at;
    lex_at(p, p->at);
}

void text_resume(struct text_parser *p, const char *at) {
    p->last = at;
    lex_at(p, at);
}

bool text_is_word(const struct text_parser *p, const char *word) {
    return p->tok.kind == TEXT_IDENT && str_is(p->tok.text, word);
}

bool text_accept(struct text_parser *p, enum text_kind k) {
    if (p->tok.kind != k)
        return false;
    text_next(p);
    return true;
}

bool text_accept_word(struct text_parser *p, const char *word) {
    if (!text_is_word(p, word))
        return false;
    text_next(p);
    return true;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

void text_place(struct text_parser *p, const char *at, uint32_t *line, uint32_t *col) {
    const char *s = p->line_at;
    while (s < at) {
        const char *nl = memchr(s, '\n', (size_t)(at - s));
        if (!nl)
            break;
        s = p->line_at = p->line_begin = nl + 1;
        p->line_no++;
    }
    if (at < p->line_begin) {
        for (const char *nl = p->line_begin; (nl = memrchr(at, '\n', (size_t)(nl - at))) != NULL;)
            p->line_no--;
        const char *nl = memrchr(p->begin, '\n', (size_t)(at - p->begin));
        p->line_begin = nl ? nl + 1 : p->begin;
        p->line_at = at;
    } else if (at > p->line_at) {
        p->line_at = at;
    }
    *line = p->line_no;
    *col = (uint32_t)(at - p->line_begin) + 1;
}

static hilo_status lex_error(struct text_parser *p, const char *at, const char *label, const char *fmt, va_list ap) {
    if (!at)
        at = p->tok.at;
    struct diag_loc loc = {.file = p->m->name, .length = at == p->tok.at ? (uint32_t)(p->at - at) : 1};
    text_place(p, at, &loc.line, &loc.col);
    struct str source = {p->begin, (size_t)(p->end - p->begin)};
    return diag_vadd(p->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, label, loc, source, fmt, ap);
}

hilo_status text_error(struct text_parser *p, const char *at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    hilo_status status = lex_error(p, at, NULL, fmt, ap);
    va_end(ap);
    return status;
}

hilo_status text_constraint(struct text_parser *p, const char *at, const char *label, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    hilo_status status = lex_error(p, at, label, fmt, ap);
    va_end(ap);
    return status;
}

hilo_status text_expected(struct text_parser *p, const char *what) {
    enum { SHOWN = 40 };
    const char *at = p->tok.at;
    bool new_line = p->last > p->begin && memchr(p->last, '\n', (size_t)(at - p->last));
    const char *place = new_line ? p->last : at;
    unsigned char c = at < p->end ? (unsigned char)*at : 0;
    if (p->tok.kind == TEXT_EOF)
        return text_error(p, place, "expected %s, found the end of the text", what);
    if (p->tok.kind == TEXT_BAD && c == '"')
        return text_error(p, place, "expected %s, found a string without its closing quote", what);
    if (c < 0x20 || c > 0x7E)
        return text_error(p, place, "expected %s, found the byte 0x%02X", what, (unsigned)c);
    size_t n = (size_t)(p->at - at);
    return text_error(p, place, "expected %s, found '%.*s%s'", what, (int)(n > SHOWN ? SHOWN : n), at,
                      n > SHOWN ? "…" : "");
}

hilo_status text_expect(struct text_parser *p, enum text_kind k) {
    if (text_accept(p, k))
        return HILO_OK;
#define MARK(c, kind) [TEXT_##kind] = {'\'', c, '\''},
    static const char names[][24] = {
        [TEXT_EOF] = "the end of the text", [TEXT_IDENT] = "a word", [TEXT_PERCENT] = "a value", [TEXT_AT] = "a symbol",
        [TEXT_CARET] = "a block", [TEXT_HASH] = "an attribute", [TEXT_BANG] = "a type", [TEXT_INT] = "an integer",
        [TEXT_FLOAT] = "a number", [TEXT_STRING] = "a string", [TEXT_COLON2] = "'::'", [TEXT_ARROW] = "'->'",
        [TEXT_ELLIPSIS] = "'...'", [TEXT_FILE_META_END] = "'#-}'", LEX_MARKS(MARK)
    };
#undef MARK
    return text_expected(p, names[k]);
}

hilo_status text_expect_word(struct text_parser *p, const char *word) {
    if (text_accept_word(p, word))
        return HILO_OK;
    char what[64];
    snprintf(what, sizeof what, "'%s'", word);
    return text_expected(p, what);
}

hilo_status text_enter(struct text_parser *p) {
    if (p->depth == TEXT_DEPTH)
        return text_error(p, NULL, "nested more than %d levels deep", (int)TEXT_DEPTH);
    p->depth++;
    return HILO_OK;
}

/* ---- small values ------------------------------------------------------------------------------------------------ */

hilo_status text_unescape(struct text_parser *p, struct str raw, struct str *out) {
    const char *wrong = lex_unescape(p, raw, out);
    if (wrong)
        return text_error(p, wrong, "unknown escape in a string; expected \\n, \\t, \\\\, \\\" or two hexadecimal digits");
    return HILO_OK;
}

hilo_status text_i64(struct text_parser *p, int64_t *out) {
    const char *at = p->tok.at, *next;
    bool negative = text_accept(p, TEXT_MINUS);
    if (!text_is(p, TEXT_INT))
        return text_expected(p, "an integer");
    uint64_t u, limit = (uint64_t)INT64_MAX + negative;
    if (!dec_parse_u64(p->tok.text.p, p->at, &u, &next) || u > limit)
        return text_error(p, at, "integer is out of the range of 64 bits");
    *out = (int64_t)(negative ? 0 - u : u);
    text_next(p);
    return HILO_OK;
}

hilo_status text_f64(struct text_parser *p, double *out) {
    bool negative = text_accept(p, TEXT_MINUS);
    const char *s = p->tok.at, *next;
    uint64_t bits;
    if (!text_is(p, TEXT_INT) && !text_is(p, TEXT_FLOAT))
        return text_expected(p, "a number");
    if (p->at - s > 2 && s[1] == 'x') { /* infinity and NaN are written as the bits of an f64 */
        if (!dec_parse_u64(s, p->at, &bits, &next))
            return text_error(p, NULL, "the bits of a number need at most 16 hexadecimal digits");
        *out = fp_f64_from_bits(bits);
    } else if (!dec_parse_double(s, p->at, out, &next)) {
        return text_expected(p, "a number");
    }
    if (negative)
        *out = -*out;
    text_next(p);
    return HILO_OK;
}

hilo_status text_bool(struct text_parser *p, bool *out) {
    *out = text_is_word(p, "true");
    if (text_accept_word(p, "true") || text_accept_word(p, "false"))
        return HILO_OK;
    return text_expected(p, "'true' or 'false'");
}

hilo_status text_dims(struct text_parser *p, const int64_t **out, uint32_t *n) {
    struct { int64_t *v; uint32_t n, cap; } dims = {0};
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_is(p, TEXT_RSQUARE)) {
        if (dims.n)
            HILO_TRY(text_expect(p, TEXT_COMMA));
        int64_t x = IR_DYNAMIC;
        if (!text_accept(p, TEXT_QUESTION))
            HILO_TRY(text_i64(p, &x));
        ARENA_PUSH(&p->m->arena, &dims, x);
    }
    text_next(p);
    *out = dims.v;
    *n = dims.n;
    return HILO_OK;
}

hilo_status text_balanced(struct text_parser *p, enum text_kind stop, struct str *out) {
    char open[TEXT_DEPTH];
    int depth = 0;
    const char *s = p->tok.at;
    for (; s < p->end; s++) {
        char c = *s;
        if (c == '"') {
            const char *quote = lex_string_end(s + 1, p->end);
            if (!quote)
                return text_error(p, s, "string without its closing quote");
            s = quote;
        } else if (c == '/' && p->end - s > 1 && s[1] == '/') {
            s = lex_line_end(s, p->end) - 1;
        } else if (c == '-' && p->end - s > 1 && s[1] == '>') {
            s++;
        } else if (c == '(' || c == '[' || c == '{' || c == '<') {
            if (depth == TEXT_DEPTH)
                return text_error(p, s, "nested more than %d levels deep", (int)TEXT_DEPTH);
            open[depth++] = c;
        } else if (depth == 0 && ((c == ',' && stop == TEXT_COMMA) || c == ')' || c == ']' || c == '}' || c == '>')) {
            break;
        } else if (c == ')' || c == ']' || c == '}' || c == '>') {
            char o = open[--depth];
            if (c != (o == '(' ? ')' : (char)(o + 2))) /* [ ], { } and < > are two apart */
                return text_error(p, s, "'%c' does not close '%c'", c, o);
        }
    }
    *out = (struct str){p->tok.at, (size_t)(s - p->tok.at)};
    text_resume(p, s);
    return text_is(p, stop) ? HILO_OK : text_expect(p, stop);
}

hilo_status text_opaque(struct text_parser *p, struct str *out) {
    const char *at = p->tok.at;
    text_next(p);
    if (text_accept(p, TEXT_LESS)) {
        HILO_TRY(text_balanced(p, TEXT_GREATER, out));
        text_next(p);
    }
    *out = (struct str){at, (size_t)(p->last - at)};
    return HILO_OK;
}
