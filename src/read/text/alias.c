/* Aliases, `#name = attribute` and `!name = type`, and the locations that most of them stand for.
 *
 * MLIR prints the aliases of locations at the end of the file, after their uses. The first use of a name that is not
 * defined yet therefore reads all definitions that follow, which each start a line; among themselves they come in order. */
#include "base/decimal.h"
#include "ir/intern.h"
#include "read/text/text.h"

/* ---- aliases ----------------------------------------------------------------------------------------------------- */

struct alias {
    struct str name;      /* with its # or ! */
    const char *at, *end; /* the definition in the source */
    ir_attr attr;
    ir_type type;
};

struct text_aliases {
    struct { struct alias *v; uint32_t n, cap; } list; /* entry i has id i + 1 */
    struct intern set;
    bool read_ahead; /* what is not defined by now is not defined at all */
};

static bool alias_equal(const void *cx, uint32_t id, const void *key) {
    return str_eq(((const struct text_aliases *)cx)->list.v[id - 1].name, *(const struct str *)key);
}

static struct text_aliases *alias_table(struct text_parser *p) {
    if (!p->aliases)
        p->aliases = ARENA_NEW(&p->m->arena, struct text_aliases);
    return p->aliases;
}

static struct alias *alias_find(struct text_parser *p, struct str name) {
    struct text_aliases *t = alias_table(p);
    uint32_t id = intern_find(&t->set, str_hash(name.p, name.n, 0), alias_equal, t, &name);
    return id ? &t->list.v[id - 1] : NULL;
}

/* The name as it is written, with its # or !. */
static struct str alias_name(const struct text_parser *p) {
    return (struct str){p->tok.at, (size_t)(p->at - p->tok.at)};
}

hilo_status text_alias(struct text_parser *p) {
    struct alias a = {.name = alias_name(p), .at = p->tok.at};
    const struct alias *before = alias_find(p, a.name);
    if (before && before->at == a.at) { /* it was read ahead */
        text_resume(p, before->end);
        return HILO_OK;
    }
    if (before)
        return text_error(p, NULL, "'%.*s' is already defined", (int)a.name.n, a.name.p);
    if (memchr(a.name.p, '.', a.name.n))
        return text_error(p, NULL, "expected an alias without dots in its name");
    bool is_type = text_is(p, TEXT_BANG);
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_EQUAL));
    if (is_type)
        HILO_TRY(text_type(p, &a.type));
    else
        HILO_TRY(text_attr(p, (ir_type){0}, &a.attr));
    a.end = p->last;
    struct text_aliases *t = p->aliases;
    ARENA_PUSH(&p->m->arena, &t->list, a);
    intern_add(&t->set, &p->m->arena, str_hash(a.name.p, a.name.n, 0), t->list.n);
    return HILO_OK;
}

static bool alias_is_defined_here(const struct text_parser *p) {
    const char *s = p->at;
    while (s < p->end && (*s == ' ' || *s == '\t'))
        s++;
    return (text_is(p, TEXT_HASH) || text_is(p, TEXT_BANG)) && s < p->end && *s == '=';
}

static hilo_status alias_read_ahead(struct text_parser *p) {
    struct text_tok tok = p->tok;
    const char *at = p->at, *last = p->last, *nl;
    for (const char *s = at; (nl = memchr(s, '\n', (size_t)(p->end - s))) != NULL;) {
        s = nl + 1;
        if (s == p->end || (*s != '#' && *s != '!'))
            continue;
        text_resume(p, s);
        if (!alias_is_defined_here(p))
            continue;
        HILO_TRY(text_alias(p));
        s = p->last;
    }
    p->tok = tok;
    p->at = at;
    p->last = last;
    return HILO_OK;
}

static hilo_status alias_use(struct text_parser *p, const struct alias **out) {
    struct str name = alias_name(p);
    *out = alias_find(p, name);
    if (!*out && !p->aliases->read_ahead) {
        p->aliases->read_ahead = true;
        HILO_TRY(alias_read_ahead(p));
        *out = alias_find(p, name);
    }
    if (!*out)
        return text_error(p, NULL, "'%.*s' is not defined", (int)name.n, name.p);
    text_next(p);
    return HILO_OK;
}

hilo_status text_alias_attr(struct text_parser *p, ir_attr *out) {
    const struct alias *a;
    HILO_TRY(alias_use(p, &a));
    *out = a->attr;
    return HILO_OK;
}

hilo_status text_alias_type(struct text_parser *p, ir_type *out) {
    const struct alias *a;
    HILO_TRY(alias_use(p, &a));
    *out = a->type;
    return HILO_OK;
}

/* ---- locations --------------------------------------------------------------------------------------------------- */

static hilo_status loc_inside(struct text_parser *p, ir_attr *out);

static hilo_status loc_number(struct text_parser *p, uint32_t *out) {
    uint64_t n;
    const char *next;
    if (!text_is(p, TEXT_INT))
        return text_expected(p, "the number of a line or column");
    if (!dec_parse_u64(p->tok.at, p->at, &n, &next) || n > UINT32_MAX)
        return text_error(p, NULL, "the number of a line or column is out of range");
    *out = (uint32_t)n;
    text_next(p);
    return HILO_OK;
}

/* `"file":line:col`, perhaps with an end, `to line:col` or `to :col`, which is not kept; or `"name"` and a location. */
static hilo_status loc_string(struct text_parser *p, ir_attr *out) {
    struct str text;
    HILO_TRY(text_unescape(p, p->tok.text, &text));
    ir_str id = ir_str_of(p->m, text);
    text_next(p);
    if (text_accept(p, TEXT_COLON)) {
        uint32_t line = 0, col = 0, end;
        HILO_TRY(loc_number(p, &line));
        HILO_TRY(text_expect(p, TEXT_COLON));
        HILO_TRY(loc_number(p, &col));
        if (text_accept_word(p, "to")) {
            if (!text_is(p, TEXT_COLON))
                HILO_TRY(loc_number(p, &end));
            HILO_TRY(text_expect(p, TEXT_COLON));
            HILO_TRY(loc_number(p, &end));
        }
        *out = ir_attr_loc(p->m, IR_ATTR_LOC_FILE, id, (int64_t)((uint64_t)line << 32 | col), NULL, 0);
        return HILO_OK;
    }
    ir_attr child = {0};
    if (text_accept(p, TEXT_LPAREN)) {
        HILO_TRY(loc_inside(p, &child));
        HILO_TRY(text_expect(p, TEXT_RPAREN));
    }
    bool known = ir_attr_get(p->m, child)->kind != IR_ATTR_NONE && ir_attr_get(p->m, child)->kind != IR_ATTR_LOC_UNKNOWN;
    *out = ir_attr_loc(p->m, IR_ATTR_LOC_NAME, id, 0, &child, known);
    return HILO_OK;
}

/* `(callee at caller)` */
static hilo_status loc_callsite(struct text_parser *p, ir_attr *out) {
    ir_attr pair[2];
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    HILO_TRY(loc_inside(p, &pair[0]));
    HILO_TRY(text_expect_word(p, "at"));
    HILO_TRY(loc_inside(p, &pair[1]));
    *out = ir_attr_loc(p->m, IR_ATTR_LOC_CALL, (ir_str){0}, 0, pair, 2);
    return text_expect(p, TEXT_RPAREN);
}

/* `<metadata>[location, …]`, the metadata optional; it is kept after the locations. */
static hilo_status loc_fused(struct text_parser *p, ir_attr *out) {
    struct { ir_attr *v; uint32_t n, cap; } items = {0};
    ir_attr meta = {0}, item;
    if (text_accept(p, TEXT_LESS)) {
        HILO_TRY(text_attr(p, (ir_type){0}, &meta));
        HILO_TRY(text_expect(p, TEXT_GREATER));
    }
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_accept(p, TEXT_RSQUARE)) {
        if (items.n && !text_accept(p, TEXT_COMMA))
            return text_expected(p, "',' or ']'");
        HILO_TRY(loc_inside(p, &item));
        ARENA_PUSH(&p->m->arena, &items, item);
    }
    if (!IR_NONE(meta))
        ARENA_PUSH(&p->m->arena, &items, meta);
    *out = ir_attr_loc(p->m, IR_ATTR_LOC_FUSED, (ir_str){0}, !IR_NONE(meta), items.v, items.n);
    return HILO_OK;
}

static hilo_status loc_attr(struct text_parser *p, ir_attr *out) {
    const char *at = p->tok.at;
    HILO_TRY(text_attr(p, (ir_type){0}, out));
    switch (ir_attr_get(p->m, *out)->kind) {
    case IR_ATTR_LOC_UNKNOWN:
    case IR_ATTR_LOC_FILE:
    case IR_ATTR_LOC_NAME:
    case IR_ATTR_LOC_CALL:
    case IR_ATTR_LOC_FUSED:
    case IR_ATTR_OPAQUE:
        return HILO_OK;
    default:
        return text_error(p, at, "'%.*s' is not a location", (int)(p->last - at), at);
    }
}

static hilo_status loc_inside(struct text_parser *p, ir_attr *out) {
    hilo_status status;
    HILO_TRY(text_enter(p));
    if (text_is(p, TEXT_STRING)) {
        status = loc_string(p, out);
    } else if (text_is(p, TEXT_HASH)) {
        status = loc_attr(p, out);
    } else if (text_accept_word(p, "unknown")) {
        *out = ir_attr_loc(p->m, IR_ATTR_LOC_UNKNOWN, (ir_str){0}, 0, NULL, 0);
        status = HILO_OK;
    } else if (text_accept_word(p, "callsite")) {
        status = loc_callsite(p, out);
    } else if (text_accept_word(p, "fused")) {
        status = loc_fused(p, out);
    } else {
        status = text_expected(p, "a location: unknown, \"file\":line:col, \"name\", callsite or fused");
    }
    text_leave(p);
    return status;
}

hilo_status text_loc(struct text_parser *p, ir_attr *out) {
    HILO_TRY(text_expect_word(p, "loc"));
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    HILO_TRY(loc_inside(p, out));
    return text_expect(p, TEXT_RPAREN);
}
