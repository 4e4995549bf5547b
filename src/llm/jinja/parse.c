/* Templates as trees: Jinja2's grammar with trim_blocks and lstrip_blocks on, loop controls, and the tag `generation`, which
 * renders what is inside. */
#include "llm/jinja/node.h"

#include "base/decimal.h"

#include <ctype.h>

enum { DEPTH_MOST = 100 }; /* of nested expressions and blocks */

enum token { T_END, T_DATA, T_BEGIN, T_CLOSE, T_NAME, T_STRING, T_INT, T_FLOAT, T_OP };

struct parser {
    struct jinja_template *t;
    struct diag_list *d;
    jmp_buf failed, recover;
    const char *p, *end;
    uint32_t depth;
    struct jnode *macro;       /* the innermost one that is being parsed */
    bool fresh_line;           /* nothing is between the last newline and p */
    /* the current token */
    enum token token;
    struct str text;           /* of a name, an operator, a number; of data */
    struct jstr string;
    const char *begin;         /* where it begins */
    char tag;                  /* BEGIN, CLOSE: '{' of an expression, '%' of a statement */
    uint32_t nesting;          /* of brackets within a tag */
    bool in_tag;
};

static _Noreturn void fail(struct parser *x, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void jinja_place(const struct jinja_template *t, const char *at, uint32_t *line, uint32_t *col) {
    *line = *col = 1;
    for (const char *p = t->text.p; p < at; p++) {
        *col = *p == '\n' ? 1 : *col + 1;
        *line += *p == '\n';
    }
}

static _Noreturn void fail(struct parser *x, const char *at, const char *fmt, ...) {
    struct diag_loc loc = {.file = x->t->name, .length = 1};
    va_list ap;
    jinja_place(x->t, at, &loc.line, &loc.col);
    va_start(ap, fmt);
    diag_vadd(x->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, loc, x->t->text, fmt, ap);
    va_end(ap);
    longjmp(x->failed, 1);
}

static struct jnode *node(struct parser *x, enum jop op) {
    struct jnode *n = ARENA_NEW(&x->t->arena, struct jnode);
    n->op = op;
    n->at = x->begin;
    return n;
}

static void push(struct parser *x, struct jnodes *list, struct jnode *n) {
    ARENA_PUSH(&x->t->arena, list, n);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool starts(const struct parser *x, const char *p, const char *z) {
    size_t n = strlen(z);
    return (size_t)(x->end - p) >= n && memcmp(p, z, n) == 0;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_space(const struct parser *x, const char *p) {
    while (p < x->end && is_space(*p))
        p++;
    return p;
}

/* Past the end of a tag: "-" takes all space after it, a statement's or comment's end takes one newline. */
static void after_tag(struct parser *x, const char *p, char sign, bool trims) {
    x->p = p;
    if (sign == '-')
        x->p = skip_space(x, p);
    else if (trims && sign != '+' && p < x->end && *p == '\n')
        x->p++;
    x->fresh_line = x->p > p && x->p[-1] == '\n';
}

/* The data before a tag at `tag`: "-" takes all space before it, a statement or comment alone on its line the indentation. */
static struct str before_tag(const struct parser *x, const char *tag) {
    const char *end = tag;
    char kind = tag[1], sign = tag + 2 < x->end ? tag[2] : ' ';
    if (sign == '-') {
        while (end > x->p && is_space(end[-1]))
            end--;
    } else if (sign != '+' && kind != '{') {
        const char *line = end;
        while (line > x->p && (line[-1] == ' ' || line[-1] == '\t'))
            line--;
        if (line == x->p ? x->fresh_line : line[-1] == '\n')
            end = line;
    }
    return (struct str){x->p, (size_t)(end - x->p)};
}

/* `{% name %}` at p: the place after it, and its signs; NULL when something else is there. */
static const char *bare_tag(const struct parser *x, const char *p, const char *name, char *sign) {
    if (!starts(x, p, "{%"))
        return NULL;
    p += 2;
    p += p < x->end && (*p == '-' || *p == '+');
    p = skip_space(x, p);
    if (!starts(x, p, name))
        return NULL;
    p = skip_space(x, p + strlen(name));
    *sign = p < x->end && (*p == '-' || *p == '+') ? *p : ' ';
    p += *sign != ' ';
    return starts(x, p, "%}") ? p + 2 : NULL;
}

/* The text of {% raw %} at `tag` as data. */
static bool read_raw(struct parser *x, const char *tag) {
    char sign, last;
    const char *inside = bare_tag(x, tag, "raw", &sign), *p, *after = NULL;
    if (!inside)
        return false;
    if (sign == '-')
        inside = skip_space(x, inside);
    for (p = inside; p < x->end && !after; p += !after)
        after = bare_tag(x, p, "endraw", &last);
    if (!after)
        fail(x, tag, "expected {%% endraw %%}");
    x->p = inside;
    x->fresh_line = false;
    x->text = before_tag(x, p);
    x->token = T_DATA;
    after_tag(x, after, last, true);
    return true;
}

/* Data up to the next tag, or that tag. */
static void next_outside(struct parser *x) {
    const char *p = x->p;
    while (p < x->end && !(starts(x, p, "{{") || starts(x, p, "{%") || starts(x, p, "{#")))
        p++;
    x->begin = x->p;
    if (p == x->end) {
        x->text = (struct str){x->p, (size_t)(x->end - x->p)};
        x->token = x->text.n ? T_DATA : T_END;
        x->p = x->end;
        return;
    }
    x->text = before_tag(x, p);
    if (x->text.n) {
        x->token = T_DATA;
        x->p = p;
        x->fresh_line = p[-1] == '\n';
        return;
    }
    x->begin = p;
    if (starts(x, p, "{#")) {
        const char *close = memmem(p + 2, (size_t)(x->end - p - 2), "#}", 2);
        if (!close)
            fail(x, p, "the comment has no end");
        after_tag(x, close + 2, close[-1], true);
        next_outside(x);
        return;
    }
    if (read_raw(x, p))
        return;
    x->tag = p[1];
    x->token = T_BEGIN;
    x->in_tag = true;
    x->nesting = 0;
    x->p = p + 2;
    x->p += x->p < x->end && (*x->p == '-' || *x->p == '+');
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The code point as UTF-8 at `out`; the place after it. */
static char *put_code(struct parser *x, char *out, const char *at, uint32_t c) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        fail(x, at, "no character has the code U+%04X", (unsigned)c);
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)(more ? (0xFF00 >> (more + 1) & 0xFF) | (int)(c >> 6 * more) : (int)c);
    while (more-- > 0)
        *out++ = (char)(0x80 | (c >> 6 * more & 0x3F));
    return out;
}

/* The escape at x->p, after its backslash; it is never longer than it is written. */
static char *read_escape(struct parser *x, char *out) {
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    const char *at = x->p, *known;
    char c = *x->p++;
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (digits) {
        for (int i = 0; i < digits; i++, x->p++) {
            if (x->p == x->end || !isxdigit((unsigned char)*x->p))
                fail(x, at, "expected %d hexadecimal digits", digits);
            code = code << 4 | (uint32_t)(isdigit((unsigned char)*x->p) ? *x->p - '0' : (*x->p | 32) - 'a' + 10);
        }
        return put_code(x, out, at, code);
    }
    if (c >= '0' && c <= '7') {
        for (code = (uint32_t)(c - '0'); x->p < at + 3 && x->p < x->end && *x->p >= '0' && *x->p <= '7'; x->p++)
            code = code << 3 | (uint32_t)(*x->p - '0');
        return put_code(x, out, at, code);
    }
    if ((known = memchr(from, c, sizeof from - 1))) {
        *out++ = to[known - from];
    } else if (c != '\n') { /* which joins lines */
        *out++ = '\\';
        *out++ = c;
    }
    return out;
}

static void read_string(struct parser *x) {
    char quote = *x->p++;
    const char *close = x->p;
    while (close < x->end && *close != quote)
        close += *close == '\\' && close + 1 < x->end ? 2 : 1;
    if (close >= x->end)
        fail(x, x->begin, "the string has no end");
    char *p = ARENA_ARRAY(&x->t->arena, char, (size_t)(close - x->p)), *out = p;
    while (x->p < close) {
        char c = *x->p++;
        if (c == '\\')
            out = read_escape(x, out);
        else
            *out++ = c;
    }
    x->string = jliteral((struct str){p, (size_t)(out - p)});
    x->p = close + 1;
    x->token = T_STRING;
}

static void read_number(struct parser *x) {
    const char *p = x->p;
    x->token = T_INT;
    while (p < x->end && (isdigit((unsigned char)*p) || *p == '_'))
        p++;
    if (p + 1 < x->end && *p == '.' && isdigit((unsigned char)p[1])) {
        x->token = T_FLOAT;
        for (p++; p < x->end && isdigit((unsigned char)*p);)
            p++;
    }
    if (p < x->end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        q += q < x->end && (*q == '+' || *q == '-');
        if (q < x->end && isdigit((unsigned char)*q)) {
            x->token = T_FLOAT;
            while (q < x->end && isdigit((unsigned char)*q))
                q++;
            p = q;
        }
    }
    x->text = (struct str){x->p, (size_t)(p - x->p)};
    x->p = p;
}

static void next(struct parser *x) {
    static const char *const ops[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "<", ">", "(", ")",
                                      "[",  "]",  "{",  "}",  ",",  ":",  ".", "=", "|", ";"};
    if (!x->in_tag) {
        next_outside(x);
        return;
    }
    x->p = skip_space(x, x->p);
    x->begin = x->p;
    if (x->p == x->end)
        fail(x, x->p, "the tag has no end");
    const char *close = x->tag == '{' ? "}}" : "%}";
    bool sign = *x->p == '-' || (*x->p == '+' && x->tag == '%');
    if (x->nesting == 0 && starts(x, x->p + sign, close)) {
        x->token = T_CLOSE;
        x->in_tag = false;
        after_tag(x, x->p + sign + 2, sign ? *x->p : ' ', x->tag == '%');
        return;
    }
    if (*x->p == '"' || *x->p == '\'') {
        read_string(x);
    } else if (isdigit((unsigned char)*x->p)) {
        read_number(x);
    } else if (is_name(*x->p)) {
        const char *p = x->p;
        while (p < x->end && is_name(*p))
            p++;
        x->token = T_NAME;
        x->text = (struct str){x->p, (size_t)(p - x->p)};
        x->p = p;
    } else {
        size_t i = 0;
        while (i < sizeof ops / sizeof *ops && !starts(x, x->p, ops[i]))
            i++;
        if (i == sizeof ops / sizeof *ops)
            fail(x, x->p, "unexpected character");
        x->token = T_OP;
        x->text = str_of(ops[i]);
        x->p += x->text.n;
        x->nesting += strchr("([{", *ops[i]) != NULL;
        x->nesting -= x->nesting && strchr(")]}", *ops[i]) != NULL;
    }
}

static bool is_op(const struct parser *x, const char *op) {
    return x->token == T_OP && str_is(x->text, op);
}

static bool is_word(const struct parser *x, const char *word) {
    return x->token == T_NAME && str_is(x->text, word);
}

static bool take_op(struct parser *x, const char *op) {
    bool found = is_op(x, op);
    if (found)
        next(x);
    return found;
}

static bool take_word(struct parser *x, const char *word) {
    bool found = is_word(x, word);
    if (found)
        next(x);
    return found;
}

static void expect_op(struct parser *x, const char *op) {
    if (!take_op(x, op))
        fail(x, x->begin, "expected '%s'", op);
}

static struct str expect_name(struct parser *x) {
    struct str name = x->text;
    if (x->token != T_NAME)
        fail(x, x->begin, "expected a name");
    next(x);
    return name;
}

/* ---- expressions ------------------------------------------------------------------------------ */

static struct jnode *expression(struct parser *x);
static struct jnode *unary(struct parser *x, bool filters);
static struct jnode *tuple(struct parser *x, bool conditional);

static void enter(struct parser *x) {
    if (++x->depth > DEPTH_MOST)
        fail(x, x->begin, "is nested deeper than %d levels", DEPTH_MOST);
}

static struct jnode *constant(struct parser *x, struct jval v) {
    struct jnode *n = node(x, JN_CONST);
    n->value = v;
    return n;
}

static struct jnode *binary(struct parser *x, enum jop op, struct jnode *a, struct jnode *b) {
    struct jnode *n = node(x, op);
    n->a = a;
    n->b = b;
    return n;
}

/* Arguments in parentheses, the first of which is the current token. */
static void arguments(struct parser *x, struct jnode *call) {
    expect_op(x, "(");
    while (!is_op(x, ")")) {
        if (is_op(x, "*") || is_op(x, "**"))
            fail(x, x->begin, "arguments that are unpacked are not supported");
        struct jnode *value = expression(x);
        if (is_op(x, "=") && value->op == JN_NAME) {
            struct jnode *named = node(x, JN_NAME);
            next(x);
            named->name = value->name;
            named->a = expression(x);
            push(x, &call->named, named);
        } else if (call->named.n) {
            fail(x, x->begin, "a positional argument follows keyword arguments");
        } else {
            push(x, &call->kids, value);
        }
        if (!is_op(x, ")"))
            expect_op(x, ",");
    }
    expect_op(x, ")");
}

static struct jnode *number(struct parser *x) {
    char digits[64];
    size_t n = 0;
    const char *after;
    for (size_t i = 0; i < x->text.n && n + 1 < sizeof digits; i++)
        if (x->text.p[i] != '_')
            digits[n++] = x->text.p[i];
    struct jval v = {.kind = x->token == T_INT ? J_INT : J_FLOAT};
    bool good = n + 1 < sizeof digits && (x->token == T_INT ? dec_parse_i64(digits, digits + n, &v.u.i, &after)
                                                             : dec_parse_double(digits, digits + n, &v.u.f, &after));
    if (!good || after != digits + n)
        fail(x, x->begin, "the number is too large");
    struct jnode *c = constant(x, v);
    next(x);
    return c;
}

static struct jnode *strings(struct parser *x) {
    struct jnode *n = constant(x, jstring(x->string));
    for (next(x); x->token == T_STRING; next(x)) {
        struct jstr a = n->value.u.s;
        char *p = ARENA_ARRAY(&x->t->arena, char, a.n + x->string.n);
        memcpy(p, a.p, a.n);
        memcpy(p + a.n, x->string.p, x->string.n);
        n->value.u.s = jliteral((struct str){p, a.n + x->string.n});
    }
    return n;
}

static struct jnode *name(struct parser *x) {
    static const struct { const char *name; enum jkind kind; bool b; } constants[] = {
        {"true", J_BOOL, true}, {"True", J_BOOL, true}, {"false", J_BOOL, false}, {"False", J_BOOL, false},
        {"none", J_NONE, false}, {"None", J_NONE, false}};
    struct jnode *n = node(x, JN_NAME);
    n->name = expect_name(x);
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (str_is(n->name, constants[i].name)) {
            n->op = JN_CONST;
            n->value = constants[i].kind == J_BOOL ? jbool(constants[i].b) : jnone();
        }
    if (x->macro) {
        x->macro->uses_varargs |= str_is(n->name, "varargs");
        x->macro->uses_kwargs |= str_is(n->name, "kwargs");
        x->macro->uses_caller |= str_is(n->name, "caller");
    }
    return n;
}

static struct jnode *primary(struct parser *x) {
    struct jnode *n;
    if (x->token == T_NAME)
        return name(x);
    if (x->token == T_STRING)
        return strings(x);
    if (x->token == T_INT || x->token == T_FLOAT)
        return number(x);
    n = node(x, JN_LIST);
    if (take_op(x, "(")) {
        if (is_op(x, ")"))
            n->op = JN_TUPLE;
        else
            n = tuple(x, true);
        expect_op(x, ")");
    } else if (take_op(x, "[")) {
        while (!is_op(x, "]")) {
            push(x, &n->kids, expression(x));
            if (!is_op(x, "]"))
                expect_op(x, ",");
        }
        expect_op(x, "]");
    } else if (take_op(x, "{")) {
        n->op = JN_DICT;
        while (!is_op(x, "}")) {
            push(x, &n->kids, expression(x));
            expect_op(x, ":");
            push(x, &n->kids, expression(x));
            if (!is_op(x, "}"))
                expect_op(x, ",");
        }
        expect_op(x, "}");
    } else {
        fail(x, x->begin, "expected an expression");
    }
    return n;
}

/* `[…]` of `a`: an item or a slice. */
static struct jnode *subscript(struct parser *x, struct jnode *a) {
    struct jnode *n = node(x, JN_ITEM), **part[] = {&n->a, &n->b, &n->c};
    expect_op(x, "[");
    size_t i = 0;
    bool slice = false;
    for (; i < 3; i++) {
        if (!is_op(x, ":") && !is_op(x, "]"))
            *part[i] = expression(x);
        if (!is_op(x, ":"))
            break;
        slice = true;
        next(x);
    }
    expect_op(x, "]");
    if (slice) {
        n->op = JN_SLICE;
        n->d = a;
    } else {
        if (!n->a)
            fail(x, x->begin, "expected an index");
        n->b = n->a;
        n->a = a;
    }
    return n;
}

static struct jnode *postfix(struct parser *x, struct jnode *a) {
    for (;;) {
        struct jnode *n = node(x, JN_ATTR);
        if (take_op(x, ".")) {
            n->a = a;
            if (x->token == T_INT) {
                n->op = JN_ITEM;
                n->b = number(x);
            } else {
                n->name = expect_name(x);
            }
        } else if (is_op(x, "[")) {
            n = subscript(x, a);
        } else if (is_op(x, "(")) {
            n->op = JN_CALL;
            n->a = a;
            arguments(x, n);
        } else {
            return a;
        }
        a = n;
    }
}

/* A filter's or test's name, with its dots. */
static struct str dotted_name(struct parser *x) {
    struct str name = expect_name(x);
    while (take_op(x, ".")) {
        struct str more = expect_name(x);
        name.n = (size_t)(more.p + more.n - name.p);
    }
    return name;
}

static struct jnode *filter(struct parser *x, struct jnode *a) {
    struct jnode *n = node(x, JN_FILTER);
    const char *at = x->begin;
    n->a = a;
    n->name = dotted_name(x);
    if (!jinja_filter(n->name))
        fail(x, at, "there is no filter '%.*s'", (int)n->name.n, n->name.p);
    if (is_op(x, "("))
        arguments(x, n);
    return n;
}

static bool begins_argument(const struct parser *x) {
    static const char *const words[] = {"else", "or", "and", "if", "not", "in", "is"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(x, words[i]))
            return false;
    return x->token == T_NAME || x->token == T_STRING || x->token == T_INT || x->token == T_FLOAT || is_op(x, "[") ||
           is_op(x, "{");
}

static struct jnode *test(struct parser *x, struct jnode *a) {
    struct jnode *n = node(x, JN_TEST);
    n->negated = take_word(x, "not");
    const char *at = x->begin;
    n->a = a;
    n->name = dotted_name(x);
    if (!jinja_test(n->name))
        fail(x, at, "there is no test '%.*s'", (int)n->name.n, n->name.p);
    if (is_op(x, "("))
        arguments(x, n);
    else if (begins_argument(x))
        push(x, &n->kids, postfix(x, primary(x)));
    return n;
}

static struct jnode *filters_of(struct parser *x, struct jnode *a) {
    for (;;) {
        if (take_op(x, "|"))
            a = filter(x, a);
        else if (take_word(x, "is"))
            a = test(x, a);
        else if (is_op(x, "("))
            a = postfix(x, a);
        else
            return a;
    }
}

static struct jnode *unary(struct parser *x, bool filters) {
    struct jnode *n;
    enter(x);
    bool minus = is_op(x, "-");
    if (minus || is_op(x, "+")) {
        n = node(x, minus ? JN_NEG : JN_POS);
        next(x);
        n->a = unary(x, false);
    } else {
        n = primary(x);
    }
    n = postfix(x, n);
    if (filters)
        n = filters_of(x, n);
    x->depth--;
    return n;
}

/* Binary operators by precedence, the loosest first; all associate to the left. */
static const struct { const char *text; enum jop op; int level; } operators[] = {
    {"+", JN_ADD, 0}, {"-", JN_SUB, 0},      {"~", JN_CONCAT, 1}, {"*", JN_MUL, 2},
    {"/", JN_DIV, 2}, {"//", JN_FLOORDIV, 2}, {"%", JN_MOD, 2},    {"**", JN_POW, 3},
};
enum { LEVELS = 4 };

static struct jnode *arithmetic(struct parser *x, int level) {
    if (level == LEVELS)
        return unary(x, true);
    struct jnode *a = arithmetic(x, level + 1);
    for (;;) {
        size_t i = 0, n = sizeof operators / sizeof *operators;
        while (i < n && !(operators[i].level == level && is_op(x, operators[i].text)))
            i++;
        if (i == n)
            return a;
        next(x);
        a = binary(x, operators[i].op, a, arithmetic(x, level + 1));
    }
}

static bool take_compare(struct parser *x, uint8_t *op) {
    static const char *const texts[] = {"==", "!=", "<", "<=", ">", ">="};
    for (uint8_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (take_op(x, texts[i])) {
            *op = i; /* enum jcompare */
            return true;
        }
    *op = JC_IN;
    if (take_word(x, "in"))
        return true;
    if (!is_word(x, "not"))
        return false;
    const char *begin = x->begin, *after = x->p; /* it may be the `not` of something else */
    struct str text = x->text;
    next(x);
    if (take_word(x, "in")) {
        *op = JC_NOT_IN;
        return true;
    }
    x->token = T_NAME;
    x->text = text;
    x->begin = begin;
    x->p = after;
    return false;
}

static struct jnode *comparison(struct parser *x) {
    struct jnode *a = arithmetic(x, 0), *n = NULL;
    struct { uint8_t *v; uint32_t n, cap; } ops = {NULL, 0, 0};
    for (uint8_t op; take_compare(x, &op);) {
        if (!n) {
            n = node(x, JN_COMPARE);
            push(x, &n->kids, a);
        }
        ARENA_PUSH(&x->t->arena, &ops, op);
        push(x, &n->kids, arithmetic(x, 0));
    }
    if (n)
        n->compare = ops.v;
    return n ? n : a;
}

static struct jnode *negation(struct parser *x) {
    if (!is_word(x, "not"))
        return comparison(x);
    struct jnode *n = node(x, JN_NOT);
    enter(x);
    next(x);
    n->a = negation(x);
    x->depth--;
    return n;
}

static struct jnode *conjunction(struct parser *x) {
    struct jnode *a = negation(x);
    while (take_word(x, "and"))
        a = binary(x, JN_AND, a, negation(x));
    return a;
}

static struct jnode *disjunction(struct parser *x) {
    struct jnode *a = conjunction(x);
    while (take_word(x, "or"))
        a = binary(x, JN_OR, a, conjunction(x));
    return a;
}

static struct jnode *expression(struct parser *x) {
    enter(x);
    struct jnode *a = disjunction(x);
    while (is_word(x, "if")) {
        struct jnode *n = node(x, JN_IF_EXPR);
        next(x);
        n->a = a;
        n->b = disjunction(x);
        n->c = take_word(x, "else") ? expression(x) : NULL;
        a = n;
    }
    x->depth--;
    return a;
}

/* `a` or `a, b, …`; not conditional: an `if` belongs to the statement. */
static struct jnode *tuple(struct parser *x, bool conditional) {
    struct jnode *first = conditional ? expression(x) : disjunction(x);
    if (!is_op(x, ","))
        return first;
    struct jnode *n = node(x, JN_TUPLE);
    push(x, &n->kids, first);
    while (take_op(x, ",") && !is_op(x, ")") && !is_op(x, "=") && x->token != T_CLOSE && !is_word(x, "in"))
        push(x, &n->kids, conditional ? expression(x) : disjunction(x));
    return n;
}

/* What is assigned to: a name, `name.attribute`, or names. */
static struct jnode *target(struct parser *x, bool attributes) {
    struct jnode *list = NULL, *one;
    bool parenthesis = take_op(x, "(");
    do {
        if (list && (is_op(x, "=") || is_word(x, "in") || is_op(x, ")")))
            break;
        if (is_op(x, "(")) {
            one = target(x, false);
        } else {
            one = node(x, JN_NAME);
            one->name = expect_name(x);
            if (attributes && take_op(x, ".")) {
                struct jnode *attr = node(x, JN_ATTR);
                attr->a = one;
                attr->name = expect_name(x);
                one = attr;
            }
        }
        if (!list && !is_op(x, ","))
            break;
        if (!list)
            list = node(x, JN_TUPLE);
        push(x, &list->kids, one);
    } while (take_op(x, ","));
    if (parenthesis)
        expect_op(x, ")");
    return list ? list : one;
}

/* ---- statements ------------------------------------------------------------------------------- */

static void body(struct parser *x, struct jnodes *out, const char *const *ends, const char *of, const char *at);

static void close_tag(struct parser *x) {
    take_op(x, ";");
    if (x->token != T_CLOSE)
        fail(x, x->begin, "expected the end of the tag");
    next(x);
}

/* The body of a statement up to its end tag, whose name is taken. */
static void block(struct parser *x, struct jnode *n, const char *end, const char *at) {
    const char *const ends[] = {end, NULL};
    body(x, &n->kids, ends, end, at);
    next(x);
    close_tag(x);
}

static struct jnode *statement_for(struct parser *x, const char *at) {
    static const char *const ends[] = {"else", "endfor", NULL};
    struct jnode *n = node(x, JN_FOR);
    n->d = target(x, false);
    if (!take_word(x, "in"))
        fail(x, x->begin, "expected 'in'");
    n->a = tuple(x, false);
    if (take_word(x, "if"))
        n->b = expression(x);
    if (is_word(x, "recursive"))
        fail(x, x->begin, "recursive loops are not supported");
    close_tag(x);
    body(x, &n->kids, ends, "endfor", at);
    if (take_word(x, "else")) {
        close_tag(x);
        body(x, &n->other, ends + 1, "endfor", at);
    }
    next(x);
    close_tag(x);
    return n;
}

static struct jnode *statement_if(struct parser *x, const char *at) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    struct jnode *first = node(x, JN_IF), *n = first;
    for (;;) {
        n->a = tuple(x, true);
        close_tag(x);
        body(x, &n->kids, ends, "endif", at);
        if (!is_word(x, "elif"))
            break;
        struct jnode *inner = node(x, JN_IF);
        next(x);
        push(x, &n->other, inner);
        n = inner;
    }
    if (take_word(x, "else")) {
        close_tag(x);
        body(x, &n->other, ends + 2, "endif", at);
    }
    next(x);
    close_tag(x);
    return first;
}

static struct jnode *statement_set(struct parser *x, const char *at) {
    struct jnode *n = node(x, JN_SET);
    n->d = target(x, true);
    if (take_op(x, "=")) {
        n->a = tuple(x, true);
        close_tag(x);
        return n;
    }
    n->op = JN_SET_BLOCK;
    struct jnode *text = node(x, JN_CONST); /* the block's text, which filters take */
    n->a = filters_of(x, text);
    n->b = text;
    close_tag(x);
    block(x, n, "endset", at);
    return n;
}

/* Parameters in parentheses, with their defaults. */
static void parameters(struct parser *x, struct jnode *n) {
    expect_op(x, "(");
    while (!is_op(x, ")")) {
        struct jnode *p = node(x, JN_NAME);
        p->name = expect_name(x);
        if (take_op(x, "="))
            p->a = expression(x);
        push(x, &n->named, p);
        if (!is_op(x, ")"))
            expect_op(x, ",");
    }
    expect_op(x, ")");
}

static struct jnode *statement_macro(struct parser *x, const char *at) {
    struct jnode *n = node(x, JN_MACRO), *outer = x->macro;
    n->name = expect_name(x);
    x->macro = n;
    parameters(x, n);
    close_tag(x);
    block(x, n, "endmacro", at);
    x->macro = outer;
    return n;
}

static struct jnode *statement_call(struct parser *x, const char *at) {
    struct jnode *n = node(x, JN_CALL_BLOCK);
    n->name = STR("caller");
    if (is_op(x, "("))
        parameters(x, n);
    n->a = unary(x, true);
    if (n->a->op != JN_CALL)
        fail(x, at, "expected a call");
    close_tag(x);
    block(x, n, "endcall", at);
    return n;
}

static struct jnode *statement_filter(struct parser *x, const char *at) {
    struct jnode *n = node(x, JN_FILTER_BLOCK);
    n->b = node(x, JN_CONST);
    n->a = filters_of(x, filter(x, n->b));
    close_tag(x);
    block(x, n, "endfilter", at);
    return n;
}

static struct jnode *statement_with(struct parser *x, const char *at) {
    struct jnode *n = node(x, JN_WITH);
    while (x->token != T_CLOSE) {
        struct jnode *p = node(x, JN_NAME);
        p->name = expect_name(x);
        expect_op(x, "=");
        p->a = expression(x);
        push(x, &n->named, p);
        if (x->token != T_CLOSE)
            expect_op(x, ",");
    }
    close_tag(x);
    block(x, n, "endwith", at);
    return n;
}

static struct jnode *statement_generation(struct parser *x, const char *at) {
    struct jnode *n = node(x, JN_WITH);
    close_tag(x);
    block(x, n, "endgeneration", at);
    return n;
}

static struct jnode *statement_break(struct parser *x, const char *at) {
    (void)at;
    struct jnode *n = node(x, JN_BREAK);
    close_tag(x);
    return n;
}

static struct jnode *statement_continue(struct parser *x, const char *at) {
    (void)at;
    struct jnode *n = node(x, JN_CONTINUE);
    close_tag(x);
    return n;
}

static struct jnode *statement(struct parser *x) {
    static const struct { const char *name; struct jnode *(*parse)(struct parser *x, const char *at); } statements[] = {
        {"for", statement_for},       {"if", statement_if},
        {"set", statement_set},       {"macro", statement_macro},
        {"call", statement_call},     {"filter", statement_filter},
        {"with", statement_with},     {"generation", statement_generation},
        {"break", statement_break},   {"continue", statement_continue},
    };
    const char *at = x->begin;
    struct str name = expect_name(x);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (str_is(name, statements[i].name))
            return statements[i].parse(x, at);
    fail(x, at, "the tag '%.*s' is not supported", (int)name.n, name.p);
}

static bool at_end(const struct parser *x, const char *const *ends) {
    for (; *ends; ends++)
        if (is_word(x, *ends))
            return true;
    return false;
}

/* Nodes up to a tag that is one of `ends`, whose name is the current token then; of none: up to the end of the text. */
static void body(struct parser *x, struct jnodes *out, const char *const *ends, const char *of, const char *at) {
    enter(x);
    for (;;) {
        if (x->token == T_END) {
            if (*ends)
                fail(x, at, "expected {%% %s %%} before the end of the template", of);
            break;
        }
        if (x->token == T_DATA) {
            struct jnode *n = node(x, JN_TEXT);
            n->value = jstring(jliteral(x->text));
            push(x, out, n);
            next(x);
            continue;
        }
        char tag = x->tag;
        next(x);
        if (tag == '{') {
            struct jnode *n = node(x, JN_OUTPUT);
            n->a = tuple(x, true);
            push(x, out, n);
            close_tag(x);
        } else if (at_end(x, ends)) {
            break;
        } else {
            push(x, out, statement(x));
        }
    }
    x->depth--;
}

/* ---- entry ------------------------------------------------------------------------------------- */

/* The text with "\n" for every line end, without a last one. */
static struct str normalise(struct arena *a, struct str text) {
    char *p = ARENA_ARRAY(a, char, text.n);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool cr = text.p[i] == '\r';
        p[n++] = cr ? '\n' : text.p[i];
        i += cr && i + 1 < text.n && text.p[i + 1] == '\n';
    }
    return (struct str){p, n - (n && p[n - 1] == '\n')};
}

hilo_status jinja_parse(hilo_allocator al, struct diag_list *d, struct str name, struct str text, struct jinja_template **out) {
    static const char *const no_ends[] = {NULL};
    struct jinja_template *t = mem_alloc(&al, sizeof *t);
    *out = NULL;
    if (!t)
        return HILO_RESOURCE_EXHAUSTED;
    *t = (struct jinja_template){.al = al};
    struct parser x = {.t = t, .d = d, .fresh_line = true};
    arena_init(&t->arena, al, &x.recover);
    if (setjmp(x.recover)) {
        jinja_free(t);
        return HILO_RESOURCE_EXHAUSTED;
    }
    if (setjmp(x.failed)) {
        jinja_free(t);
        return HILO_INVALID_ARGUMENT;
    }
    t->name = (struct str){arena_dup(&t->arena, name.p, name.n, 1), name.n};
    t->text = normalise(&t->arena, text);
    x.p = t->text.p;
    x.end = t->text.p + t->text.n;
    next(&x);
    body(&x, &t->body, no_ends, "", x.p);
    t->arena.recover = NULL;
    *out = t;
    return HILO_OK;
}

void jinja_free(struct jinja_template *t) {
    if (!t)
        return;
    hilo_allocator al = t->al;
    arena_free(&t->arena);
    mem_free(&al, t, sizeof *t);
}
