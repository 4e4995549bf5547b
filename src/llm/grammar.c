/* Grammars: parsing GBNF, see grammar.h; grammar_match.c matches. */
#include "llm/grammar_rules.h"

#include "llm/tokenizer.h"

#include <stdio.h>

struct parser {
    struct llm_grammar *g;
    struct diag_list *d;
    struct str text;
    size_t at, depth;
    hilo_status status;
};

static bool failed(struct parser *p, const char *what) {
    if (p->status != HILO_OK)
        return false;
    uint32_t line = 1, col = 1;
    for (size_t i = 0; i < p->at && i < p->text.n; i++) {
        col = p->text.p[i] == '\n' ? 1 : col + 1;
        line += p->text.p[i] == '\n';
    }
    p->status = diag_add(p->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, (struct diag_loc){STR("grammar"), line, col, 1},
                         p->text, "%s", what);
    return false;
}

static bool exhausted(struct parser *p) {
    if (p->status == HILO_OK)
        p->status = diag_error(p->d, HILO_RESOURCE_EXHAUSTED, "the grammar is too large");
    return false;
}

/* ---- elements and rules ---------------------------------------------------------------------- */

static void *grown(struct llm_grammar *g, void *v, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap)
        return v;
    uint32_t more = *cap ? 2 * *cap : 64;
    void *p = mem_resize(&g->al, v, *cap * size, more * size);
    if (p)
        *cap = more;
    return p;
}

static bool push(struct parser *p, struct grammar_element e) {
    struct llm_grammar *g = p->g;
    struct grammar_element *v = g->n < GRAMMAR_MOST ? grown(g, g->elements, g->n, &g->cap, sizeof *v) : NULL;
    if (!v)
        return exhausted(p);
    g->elements = v;
    v[g->n++] = e;
    return true;
}

/* A rule of that name, perhaps one without alternatives yet; "" makes one that has no name. UINT32_MAX on failure. */
static uint32_t rule_named(struct parser *p, struct str name) {
    struct llm_grammar *g = p->g;
    for (uint32_t i = 0; i < g->nrules && name.n; i++)
        if (str_eq(g->rules[i].name, name))
            return i;
    struct grammar_rule *v = g->nrules < GRAMMAR_MOST ? grown(g, g->rules, g->nrules, &g->rulecap, sizeof *v) : NULL;
    if (!v) {
        exhausted(p);
        return UINT32_MAX;
    }
    g->rules = v;
    v[g->nrules] = (struct grammar_rule){.name = name, .first = UINT32_MAX, .place = p->at};
    return g->nrules++;
}

/* A list of elements that is being written: they move to the grammar as a whole, because rules within it come first. */
struct list {
    struct grammar_element *v;
    uint32_t n, cap;
};

static bool add(struct parser *p, struct list *l, struct grammar_element e) {
    struct grammar_element *v = l->n < GRAMMAR_MOST ? grown(p->g, l->v, l->n, &l->cap, sizeof *v) : NULL;
    if (!v)
        return exhausted(p);
    l->v = v;
    v[l->n++] = e;
    return true;
}

static void drop(struct parser *p, struct list *l) {
    mem_free(&p->g->al, l->v, l->cap * sizeof *l->v);
}

static struct grammar_element of_kind(enum grammar_kind kind, uint32_t rule) {
    return (struct grammar_element){.kind = (uint8_t)kind, .rule = rule};
}

static struct grammar_element of_bytes(uint32_t low, uint32_t high) {
    return (struct grammar_element){.kind = GRAMMAR_BYTES, .low = (uint8_t)low, .high = (uint8_t)high};
}

static bool define(struct parser *p, uint32_t rule, const struct list *l) {
    p->g->rules[rule].first = p->g->n;
    for (uint32_t i = 0; i < l->n; i++)
        if (!push(p, l->v[i]))
            return false;
    return push(p, of_kind(GRAMMAR_END, 0));
}

/* ---- characters ------------------------------------------------------------------------------ */

static uint32_t encode(uint32_t c, uint8_t *out) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    uint32_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t i = n - 1; i; i--) {
        out[i] = (uint8_t)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (uint8_t)((0xF00u >> n & 0xFF) | c);
    return n;
}

static bool alternative(struct parser *p, struct list *l) {
    return l->n == 0 || add(p, l, of_kind(GRAMMAR_ALTERNATIVE, 0));
}

/* The alternatives of the characters low … high as sequences of byte ranges. A range is split where the number of bytes
   changes, and then where a continuation byte does not run over all its values (Russ Cox, Regular Expression Matching in the
   Wild). */
static bool add_range(struct parser *p, struct list *l, uint32_t low, uint32_t high) {
    static const uint32_t limits[] = {0x7F, 0x7FF, 0xFFFF};
    uint8_t a[4], b[4];
    if (low > high)
        return true;
    if (low <= 0xDFFF && high >= 0xD800) /* surrogates are no characters */
        return (low >= 0xD800 || add_range(p, l, low, 0xD7FF)) && (high <= 0xDFFF || add_range(p, l, 0xE000, high));
    for (int i = 0; i < 3; i++)
        if (low <= limits[i] && high > limits[i])
            return add_range(p, l, low, limits[i]) && add_range(p, l, limits[i] + 1, high);
    for (uint32_t i = 1; i < 4 && high > 0x7F; i++) {
        uint32_t m = (1u << 6 * i) - 1;
        if ((low & ~m) == (high & ~m))
            continue;
        if (low & m)
            return add_range(p, l, low, low | m) && add_range(p, l, (low | m) + 1, high);
        if ((high & m) != m)
            return add_range(p, l, low, (high & ~m) - 1) && add_range(p, l, high & ~m, high);
    }
    uint32_t n = encode(low, a);
    encode(high, b);
    if (!alternative(p, l))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!add(p, l, of_bytes(a[i], b[i])))
            return false;
    return true;
}

static int hex(struct parser *p, size_t digits, uint32_t *out) {
    *out = 0;
    for (size_t i = 0; i < digits; i++, p->at++) {
        char c = p->at < p->text.n ? p->text.p[p->at] : ' ';
        uint32_t v = c >= '0' && c <= '9'                 ? (uint32_t)(c - '0')
                     : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint32_t)((c | 32) - 'a') + 10
                                                          : 99;
        if (v == 99)
            return failed(p, "expected a hexadecimal digit");
        *out = *out << 4 | v;
    }
    return *out <= 0x10FFFF || failed(p, "there is no such character");
}

/* A character of a literal or a class, perhaps escaped. */
static bool character(struct parser *p, uint32_t *out) {
    if (p->at >= p->text.n)
        return failed(p, "the grammar ends within a literal");
    if (p->text.p[p->at] != '\\') {
        size_t n = llm_utf8(p->text.p + p->at, p->text.p + p->text.n, out);
        p->at += n;
        return n || failed(p, "the grammar is not UTF-8");
    }
    char c = ++p->at < p->text.n ? p->text.p[p->at++] : '\0';
    static const char names[] = "nrt\\\"[]^-/", values[] = "\n\r\t\\\"[]^-/";
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        *out = (uint8_t)values[found - names];
        return true;
    }
    if (c == 'x' || c == 'u' || c == 'U')
        return hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    return failed(p, "unknown escape");
}

enum { CLASS_MOST = 256 };

struct ranges {
    uint32_t n, v[CLASS_MOST + 1][2];
};

static bool add_class_range(struct parser *p, struct ranges *r, uint32_t low, uint32_t high) {
    if (low > high)
        return failed(p, "a range ends before it begins");
    if (r->n == CLASS_MOST)
        return exhausted(p);
    uint32_t i = r->n++; /* sorted by insertion */
    for (; i && r->v[i - 1][0] > low; i--)
        memcpy(r->v[i], r->v[i - 1], sizeof r->v[i]);
    r->v[i][0] = low;
    r->v[i][1] = high;
    return true;
}

/* […] or [^…], after the bracket: a rule with the alternatives of its bytes. */
static bool class(struct parser *p, uint32_t *rule) {
    struct ranges r = {.n = 0};
    struct list l = {0};
    bool negated = p->at < p->text.n && p->text.p[p->at] == '^';
    p->at += negated;
    while (p->at < p->text.n && p->text.p[p->at] != ']') {
        uint32_t low, high;
        if (!character(p, &low))
            return false;
        high = low;
        if (p->at + 1 < p->text.n && p->text.p[p->at] == '-' && p->text.p[p->at + 1] != ']') {
            p->at++;
            if (!character(p, &high))
                return false;
        }
        if (!add_class_range(p, &r, low, high))
            return false;
    }
    if (p->at++ >= p->text.n)
        return failed(p, "expected ']'");
    uint32_t next = 0;
    bool good = true;
    for (uint32_t i = 0; i < r.n && good; i++) {
        uint32_t low = r.v[i][0] > next ? r.v[i][0] : next;
        if (negated)
            good = r.v[i][0] <= next || add_range(p, &l, next, r.v[i][0] - 1);
        else
            good = add_range(p, &l, low, r.v[i][1]);
        next = r.v[i][1] >= next ? r.v[i][1] + 1 : next;
    }
    if (negated && good)
        good = add_range(p, &l, next, 0x10FFFF);
    if (good && l.n == 0)
        good = failed(p, "the class has no characters");
    *rule = good ? rule_named(p, (struct str){NULL, 0}) : UINT32_MAX;
    good = *rule != UINT32_MAX && define(p, *rule, &l);
    drop(p, &l);
    return good;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void skip_space(struct parser *p, bool lines) {
    while (p->at < p->text.n) {
        char c = p->text.p[p->at];
        if (c == '#') {
            while (p->at < p->text.n && p->text.p[p->at] != '\n')
                p->at++;
        } else if (c == ' ' || c == '\t' || ((c == '\n' || c == '\r') && lines)) {
            p->at++;
        } else {
            break;
        }
    }
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static struct str name(struct parser *p) {
    size_t from = p->at;
    while (p->at < p->text.n && is_name(p->text.p[p->at]))
        p->at++;
    return (struct str){p->text.p + from, p->at - from};
}

static bool number(struct parser *p, uint32_t *out) {
    size_t from = p->at;
    *out = 0;
    while (p->at < p->text.n && p->text.p[p->at] >= '0' && p->text.p[p->at] <= '9' && *out <= GRAMMAR_REPEAT)
        *out = 10 * *out + (uint32_t)(p->text.p[p->at++] - '0');
    return (p->at > from && *out <= GRAMMAR_REPEAT) || failed(p, "expected a number of repetitions up to 1024");
}

/* Repeats what the list has from `from` on: at least `least` times, at most `most`, UINT32_MAX without an end. What is optional
   is R ::= x R | (nothing), or without R for the last one. */
static bool repeat(struct parser *p, struct list *l, uint32_t from, uint32_t least, uint32_t most) {
    struct list one = {0}, rest = {0};
    uint32_t n = l->n - from, rule = UINT32_MAX;
    bool good = true;
    for (uint32_t i = 0; i < n && good; i++)
        good = add(p, &one, l->v[from + i]);
    l->n = from;
    for (uint32_t k = 0; k < least && good; k++)
        for (uint32_t i = 0; i < n && good; i++)
            good = add(p, l, one.v[i]);
    for (uint32_t k = least; k < most && good; k++) {
        uint32_t outer = rule_named(p, (struct str){NULL, 0});
        uint32_t inner = most == UINT32_MAX ? outer : rule;
        good = outer != UINT32_MAX;
        rest.n = 0;
        for (uint32_t i = 0; i < n && good; i++)
            good = add(p, &rest, one.v[i]);
        if (good && inner != UINT32_MAX)
            good = add(p, &rest, of_kind(GRAMMAR_RULE, inner));
        good = good && add(p, &rest, of_kind(GRAMMAR_ALTERNATIVE, 0)) && define(p, outer, &rest);
        rule = outer;
        if (most == UINT32_MAX)
            break;
    }
    if (rule != UINT32_MAX)
        good = good && add(p, l, of_kind(GRAMMAR_RULE, rule));
    drop(p, &one);
    drop(p, &rest);
    return good;
}

static bool postfix(struct parser *p, struct list *l, uint32_t from) {
    char c = p->text.p[p->at];
    uint32_t least = c == '+', most = c == '?' ? 1 : UINT32_MAX;
    p->at++;
    if (c == '{') {
        skip_space(p, false);
        if (!number(p, &least))
            return false;
        skip_space(p, false);
        most = least;
        if (p->at < p->text.n && p->text.p[p->at] == ',') {
            p->at++;
            skip_space(p, false);
            most = UINT32_MAX;
            if (p->at < p->text.n && p->text.p[p->at] != '}' && !number(p, &most))
                return false;
            skip_space(p, false);
        }
        if (p->at >= p->text.n || p->text.p[p->at++] != '}')
            return failed(p, "expected '}'");
        if (most < least)
            return failed(p, "a repetition ends before it begins");
    }
    return repeat(p, l, from, least, most);
}

static bool alternatives(struct parser *p, uint32_t rule, bool nested);

static bool literal(struct parser *p, struct list *l) {
    while (p->at < p->text.n && p->text.p[p->at] != '"') {
        uint32_t c;
        uint8_t bytes[4];
        if (!character(p, &c))
            return false;
        uint32_t n = encode(c, bytes);
        for (uint32_t i = 0; i < n; i++)
            if (!add(p, l, of_bytes(bytes[i], bytes[i])))
                return false;
    }
    return p->at++ < p->text.n || failed(p, "expected '\"'");
}

/* One item of a sequence; *more = false at its end. */
static bool item(struct parser *p, struct list *l, bool nested, bool *more) {
    uint32_t from = l->n, rule = UINT32_MAX;
    size_t begin = p->at;
    char c = p->at < p->text.n ? p->text.p[p->at] : '\0';
    bool good = true;
    if (is_name(c)) {
        struct str called = name(p);
        size_t end = p->at;
        skip_space(p, true);
        if (!nested && str_starts((struct str){p->text.p + p->at, p->text.n - p->at}, "::=")) { /* the next rule */
            p->at = begin;
            *more = false;
            return true;
        }
        p->at = end;
        rule = rule_named(p, called);
        good = rule != UINT32_MAX;
    } else if (c == '"') {
        p->at++;
        good = literal(p, l);
    } else if (c == '[') {
        p->at++;
        good = class(p, &rule);
    } else if (c == '.') {
        struct list any = {0};
        p->at++;
        rule = rule_named(p, (struct str){NULL, 0});
        good = rule != UINT32_MAX && add_range(p, &any, 0, 0x10FFFF) && define(p, rule, &any);
        drop(p, &any);
    } else if (c == '(') {
        p->at++;
        rule = rule_named(p, (struct str){NULL, 0});
        good = rule != UINT32_MAX && alternatives(p, rule, true);
        if (good && (p->at >= p->text.n || p->text.p[p->at++] != ')'))
            good = failed(p, "expected ')'");
    } else {
        *more = false;
        return true;
    }
    if (good && rule != UINT32_MAX)
        good = add(p, l, of_kind(GRAMMAR_RULE, rule));
    while (good && p->at < p->text.n && memchr("*+?{", p->text.p[p->at], 4))
        good = postfix(p, l, from);
    return good;
}

/* A rule ends before the next name that `::=` follows; lines end a rule's sequence only there. */
static bool alternatives(struct parser *p, uint32_t rule, bool nested) {
    struct list l = {0};
    bool good = ++p->depth <= GRAMMAR_DEPTH || failed(p, "groups are nested too deeply");
    while (good) {
        bool more = true;
        while (good && more) {
            skip_space(p, true);
            good = item(p, &l, nested, &more);
        }
        if (!good || p->at >= p->text.n || p->text.p[p->at] != '|')
            break;
        p->at++;
        good = add(p, &l, of_kind(GRAMMAR_ALTERNATIVE, 0));
    }
    p->depth--;
    good = good && define(p, rule, &l);
    drop(p, &l);
    return good;
}

static bool rules(struct parser *p) {
    for (skip_space(p, true); p->at < p->text.n; skip_space(p, true)) {
        struct str called = name(p);
        if (!called.n)
            return failed(p, "expected the name of a rule");
        skip_space(p, true);
        if (!str_starts((struct str){p->text.p + p->at, p->text.n - p->at}, "::="))
            return failed(p, "expected '::='");
        uint32_t rule = rule_named(p, called);
        if (rule == UINT32_MAX)
            return false;
        if (p->g->rules[rule].first != UINT32_MAX)
            return failed(p, "this rule has been defined before");
        p->g->rules[rule].first = 0; /* not again within itself */
        p->at += 3;
        if (!alternatives(p, rule, false))
            return false;
    }
    p->g->root = rule_named(p, STR("root"));
    for (uint32_t i = 0; i < p->g->nrules; i++)
        if (p->g->rules[i].first == UINT32_MAX) {
            char what[128];
            snprintf(what, sizeof what, "there is no rule '%.*s'",
                     (int)(p->g->rules[i].name.n < 64 ? p->g->rules[i].name.n : 64), p->g->rules[i].name.p);
            p->at = p->g->rules[i].place;
            return failed(p, what);
        }
    return p->g->root != UINT32_MAX;
}

hilo_status llm_grammar_parse(struct str text, hilo_allocator al, struct diag_list *d, struct llm_grammar **out) {
    struct llm_grammar *g = text.n <= GRAMMAR_BYTES_MOST ? mem_alloc(&al, sizeof *g) : NULL;
    if (!g)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "the grammar is too large");
    *g = (struct llm_grammar){.al = al};
    struct parser p = {.g = g, .d = d, .text = text};
    rules(&p);
    for (uint32_t i = 0; i < g->nrules; i++)
        g->rules[i].name = (struct str){NULL, 0}; /* the text is the caller's */
    struct llm_grammar_state *start = p.status == HILO_OK ? llm_grammar_begin(g, NULL) : NULL;
    if (p.status == HILO_OK && !start)
        p.status = diag_error(d, HILO_INVALID_ARGUMENT, "the grammar is recursive on the left, or too large");
    llm_grammar_end(start);
    if (p.status == HILO_OK)
        *out = g;
    else
        llm_grammar_free(g);
    return p.status;
}

void llm_grammar_free(struct llm_grammar *g) {
    if (!g)
        return;
    hilo_allocator al = g->al;
    mem_free(&al, g->elements, g->cap * sizeof *g->elements);
    mem_free(&al, g->rules, g->rulecap * sizeof *g->rules);
    mem_free(&al, g, sizeof *g);
}
