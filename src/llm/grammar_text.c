/* Strings by expressions and numbers by bounds, as GBNF: see grammar_text.h. */
#include "llm/grammar_text.h"

#include "llm/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATTERN_DEPTH = 32 };

struct pattern {
    struct str s;
    size_t at;
    unsigned depth;
    struct diag_list *d;
    struct strbuf *out;
};

/* ---- formats --------------------------------------------------------------------------------- */

#define DATE "\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))"
#define TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define BYTE "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define PART "[A-Za-z0-9._~!$&'()*+,;=:@/?%-]*"

const char *grammar_format(const char *name) {
    static const struct { const char *name, *pattern; } formats[] = {
        {"date", "^" DATE "$"},
        {"time", "^" TIME "$"},
        {"date-time", "^" DATE "T" TIME "$"},
        {"duration", "^P(\\d{1,4}W|\\d{1,4}Y(\\d{1,2}M)?(\\d{1,2}D)?|\\d{1,2}M(\\d{1,2}D)?|\\d{1,4}D|"
                     "T(\\d{1,4}H(\\d{1,2}M)?|\\d{1,4}M(\\d{1,2}S)?|\\d{1,4}S))$"},
        {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
        {"hostname", "^" LABEL "(\\." LABEL "){0,8}$"},
        {"email", "^[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,32}){0,4}@" LABEL "(\\." LABEL "){1,4}$"},
        {"ipv4", "^" BYTE "(\\." BYTE "){3}$"},
        {"ipv6", "^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}$"},
        {"uri", "^[a-z][a-z0-9+.-]{1,15}://" LABEL "(\\." LABEL "){0,8}(:[1-9]\\d{0,3})?(/" PART ")?(#" PART ")?$"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0)
            return formats[i].pattern;
    return NULL;
}

/* ---- expressions ------------------------------------------------------------------------------ */

static hilo_status refuse(const struct pattern *p, const char *what) {
    return diag_error(p->d, HILO_INVALID_ARGUMENT, "the JSON schema has the pattern '%.*s', with %s, which is not supported",
                      (int)(p->s.n < 80 ? p->s.n : 80), p->s.p, what);
}

static char peek(const struct pattern *p) {
    return p->at < p->s.n ? p->s.p[p->at] : '\0';
}

static bool take(struct pattern *p, const char *text) {
    size_t n = strlen(text);
    bool found = p->s.n - p->at >= n && memcmp(p->s.p + p->at, text, n) == 0;
    p->at += found ? n : 0;
    return found;
}

/* A character as JSON writes it, as a literal of GBNF. */
static void put_character(struct strbuf *out, uint32_t c) {
    static const char plain[] = "\b\f\n\r\t", escaped[] = "bfnrt";
    const char *found = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
    if (c == '"')
        strbuf_puts(out, "\"\\\\\\\"\"");
    else if (c == '\\')
        strbuf_puts(out, "\"\\\\\\\\\"");
    else if (found)
        strbuf_printf(out, "\"\\\\%c\"", escaped[found - plain]);
    else if (c < 0x20 || c == 0x7F)
        strbuf_printf(out, "\"\\\\u%04x\"", c);
    else
        strbuf_printf(out, "\"\\U%08X\"", c);
}

/* The next character of the pattern, perhaps escaped; `*set` is d, D, w, W, s or S for a set of characters. */
static hilo_status next_character(struct pattern *p, uint32_t *c, char *set) {
    static const char names[] = "nrtfv0", values[] = "\n\r\t\f\v";
    *set = '\0';
    if (!take(p, "\\")) {
        size_t n = llm_utf8(p->s.p + p->at, p->s.p + p->s.n, c);
        p->at += n;
        return n ? HILO_OK : refuse(p, "bytes that are not UTF-8");
    }
    char e = peek(p);
    p->at += e != '\0';
    const char *found = e ? strchr(names, e) : NULL;
    if (e && strchr("dDwWsS", e)) {
        *set = e;
    } else if (found) {
        *c = (unsigned char)values[found - names];
    } else if (e == 'x' || e == 'u') {
        char digits[5] = {0}, *end;
        size_t n = e == 'x' ? 2 : 4;
        if (p->s.n - p->at < n)
            return refuse(p, "an escape that ends early");
        memcpy(digits, p->s.p + p->at, n);
        *c = (uint32_t)strtoul(digits, &end, 16);
        p->at += n;
        if (end != digits + n || (*c >= 0xD800 && *c <= 0xDFFF))
            return refuse(p, "an escape of half a character");
    } else if (!e || (e >= '0' && e <= '9') || (e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z')) {
        return refuse(p, "an escape of another kind");
    } else { /* a mark, which stands for itself */
        size_t n = llm_utf8(p->s.p + p->at - 1, p->s.p + p->s.n, c);
        p->at += n ? n - 1 : 0;
        return n ? HILO_OK : refuse(p, "bytes that are not UTF-8");
    }
    return HILO_OK;
}

/* Members of a set, for a class of GBNF. */
static const char *set_members(char set) {
    return set == 'd' || set == 'D' ? "0-9" : set == 'w' || set == 'W' ? "0-9A-Z_a-z" : " \\xA0";
}

/* What a class never matches, as JSON escapes it. */
#define ESCAPED "\\\"\\\\\\x00-\\x1F\\x7F"

/* […] after the bracket. Characters that JSON escapes are alternatives beside a class, where they are named one by one. */
static hilo_status put_class(struct pattern *p) {
    struct strbuf members, others;
    hilo_status status = HILO_OK;
    bool negated = take(p, "^");
    strbuf_init(&members, p->out->al);
    strbuf_init(&others, p->out->al);
    while (status == HILO_OK && peek(p) != ']') {
        uint32_t low = 0, high;
        char set = '\0', end_set = '\0';
        status = p->at < p->s.n ? next_character(p, &low, &set) : refuse(p, "a class without an end");
        high = low;
        if (status == HILO_OK && !set && peek(p) == '-' && p->at + 1 < p->s.n && p->s.p[p->at + 1] != ']') {
            p->at++;
            status = next_character(p, &high, &end_set);
        }
        if (status == HILO_OK && (end_set || (set >= 'A' && set <= 'Z') || low > high))
            status = refuse(p, "such a class");
        if (status != HILO_OK)
            break;
        if (set) {
            strbuf_puts(&members, set_members(set));
        } else if (low == high && (low < 0x20 || low == '"' || low == '\\' || low == 0x7F)) {
            strbuf_puts(&others, " | ");
            put_character(&others, low);
        } else { /* a range leaves out what JSON escapes */
            static const uint32_t gaps[][2] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}};
            for (size_t i = 0; i < 4 && low <= high; i++) {
                if (low < gaps[i][0] && high >= gaps[i][0])
                    strbuf_printf(&members, "\\U%08X-\\U%08X", low, gaps[i][0] - 1);
                if (high >= gaps[i][0] && low <= gaps[i][1])
                    low = gaps[i][1] + 1;
            }
            if (low <= high)
                strbuf_printf(&members, "\\U%08X-\\U%08X", low, high);
        }
    }
    p->at++;
    if (status == HILO_OK && !negated && !members.n && !others.n)
        status = refuse(p, "such a class");
    if (status == HILO_OK && negated)
        strbuf_printf(p->out, "[^" ESCAPED "%s]", members.n ? members.p : "");
    else if (status == HILO_OK && members.n)
        strbuf_printf(p->out, "([%s]%s)", members.p, others.n ? others.p : "");
    else if (status == HILO_OK)
        strbuf_printf(p->out, "(%s)", others.p + strlen(" | "));
    p->out->failed |= members.failed || others.failed;
    strbuf_free(&members);
    strbuf_free(&others);
    return status;
}

static hilo_status put_alternatives(struct pattern *p, bool outer);

static hilo_status put_group(struct pattern *p) {
    if (!take(p, "?:") && take(p, "?")) {
        const char *end = memchr(p->s.p + p->at, '>', p->s.n - p->at);
        if (!end || !take(p, "<") || peek(p) == '=' || peek(p) == '!')
            return refuse(p, "an assertion");
        p->at = (size_t)(end - p->s.p) + 1; /* after the group's name */
    }
    strbuf_putc(p->out, '(');
    HILO_TRY(put_alternatives(p, false));
    strbuf_putc(p->out, ')');
    return take(p, ")") ? HILO_OK : refuse(p, "a group without an end");
}

static hilo_status put_atom(struct pattern *p) {
    uint32_t c = 0;
    char set;
    if (take(p, "."))
        strbuf_puts(p->out, "[^" ESCAPED "]");
    else if (take(p, "["))
        return put_class(p);
    else if (take(p, "("))
        return put_group(p);
    else if (strchr("^$*+?{", peek(p)))
        return refuse(p, "'^', '$' or a repetition in another place");
    else {
        HILO_TRY(next_character(p, &c, &set));
        if (!set)
            put_character(p->out, c);
        else
            strbuf_printf(p->out, "[%s%s]", set >= 'A' && set <= 'Z' ? "^" ESCAPED : "", set_members(set));
    }
    return HILO_OK;
}

/* A repetition; a lazy one matches the same texts. */
static hilo_status put_repetition(struct pattern *p) {
    char c = peek(p);
    if (c == '*' || c == '+' || c == '?') {
        strbuf_putc(p->out, c);
        p->at++;
    } else if (c == '{') {
        size_t n = p->at + 1;
        while (n < p->s.n && ((p->s.p[n] >= '0' && p->s.p[n] <= '9') || p->s.p[n] == ','))
            n++;
        if (n == p->s.n || p->s.p[n] != '}')
            return refuse(p, "'{' as a character");
        strbuf_putn(p->out, p->s.p + p->at, n + 1 - p->at);
        p->at = n + 1;
    } else {
        return HILO_OK;
    }
    take(p, "?");
    return HILO_OK;
}

/* Up to the end, or a parenthesis. An outer alternative may have more text before and after it, unless ^ and $ say no. */
static hilo_status put_alternatives(struct pattern *p, bool outer) {
    bool more;
    if (++p->depth > PATTERN_DEPTH)
        return refuse(p, "too many groups within each other");
    do {
        bool ends = !outer;
        strbuf_puts(p->out, !outer || take(p, "^") ? "\"\"" : "char*");
        while (p->at < p->s.n && peek(p) != '|' && peek(p) != ')') {
            if (outer && peek(p) == '$' && (p->at + 1 == p->s.n || p->s.p[p->at + 1] == '|')) {
                p->at++;
                ends = true;
                break;
            }
            strbuf_putc(p->out, ' ');
            HILO_TRY(put_atom(p));
            HILO_TRY(put_repetition(p));
        }
        strbuf_puts(p->out, ends ? "" : " char*");
        more = take(p, "|");
        strbuf_puts(p->out, more ? " | " : "");
    } while (more);
    p->depth--;
    return outer && p->at < p->s.n ? refuse(p, "')' without a group") : HILO_OK;
}

hilo_status grammar_put_pattern(struct str pattern, struct diag_list *d, struct strbuf *out) {
    struct pattern p = {.s = pattern, .d = d, .out = out};
    return put_alternatives(&p, true);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

/* Numbers of as many digits: low … high, both of n. */
static void put_digits(const char *low, const char *high, size_t n, struct strbuf *out) {
    char zeros[20], nines[20];
    memset(zeros, '0', sizeof zeros);
    memset(nines, '9', sizeof nines);
    if (n == 0) {
        strbuf_puts(out, "\"\"");
        return;
    }
    if (memcmp(low, zeros, n) == 0 && memcmp(high, nines, n) == 0) {
        strbuf_printf(out, "[0-9]{%zu}", n);
        return;
    }
    if (*low == *high) {
        strbuf_printf(out, "\"%c\" (", *low);
        put_digits(low + 1, high + 1, n - 1, out);
        strbuf_putc(out, ')');
        return;
    }
    strbuf_printf(out, "\"%c\" (", *low);
    put_digits(low + 1, nines, n - 1, out);
    if (*high - *low > 1)
        strbuf_printf(out, ") | [%c-%c] ([0-9]{%zu}", *low + 1, *high - 1, n - 1);
    strbuf_printf(out, ") | \"%c\" (", *high);
    put_digits(zeros, high + 1, n - 1, out);
    strbuf_putc(out, ')');
}

/* The numbers low … high, which are not negative, as a group. */
static void put_natural(long long low, long long high, struct strbuf *out) {
    bool first = true;
    strbuf_putc(out, '(');
    for (long long begin = 0, end = 9; begin <= high; begin = end + 1, end = 10 * end + 9) { /* of as many digits */
        char a[24], b[24];
        long long from = low > begin ? low : begin, to = high < end ? high : end;
        if (from > to)
            continue;
        size_t n = (size_t)snprintf(a, sizeof a, "%lld", from);
        snprintf(b, sizeof b, "%lld", to);
        strbuf_puts(out, first ? "" : " | ");
        put_digits(a, b, n, out);
        first = false;
    }
    strbuf_putc(out, ')');
}

void grammar_put_integers(long long least, long long most, struct strbuf *out) {
    if (least < 0) {
        strbuf_puts(out, "\"-\" ");
        put_natural(most < 0 ? -most : 1, -least, out);
    }
    strbuf_puts(out, least < 0 && most >= 0 ? " | " : "");
    if (most >= 0)
        put_natural(least > 0 ? least : 0, most, out);
}

/* A fraction ends in another digit than 0: it is no integer. */
void grammar_put_numbers(long long least, long long most, long long low, long long high, struct strbuf *out) {
    static const char fraction[] = " \".\" [0-9]{0,15} [1-9]";
    bool before = least <= most;
    if (before)
        grammar_put_integers(least, most, out);
    if (low < 0 && low < high) { /* -n.f is between -n - 1 and -n */
        strbuf_puts(out, before ? " | \"-\" " : "\"-\" ");
        put_natural(high < 0 ? -high : 0, -low - 1, out);
        strbuf_puts(out, fraction);
        before = true;
    }
    if (high > 0 && low < high) {
        strbuf_puts(out, before ? " | " : "");
        put_natural(low > 0 ? low : 0, high - 1, out);
        strbuf_puts(out, fraction);
    }
}
