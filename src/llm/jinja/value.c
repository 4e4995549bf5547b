/* Values of templates, with Python's rules: truth, equality, order, text and repr, JSON as json.dumps writes it. */
#include "llm/jinja/node.h"
#include "llm/json.h"

#include <math.h>
#include <stdio.h>
#include <utf8proc.h>

enum { VALUE_DEPTH = 100 }; /* of nested lists and dicts that are compared or printed */

/* ---- containers -------------------------------------------------------------------------------- */

struct jval jlist_new(struct jinja *j, bool tuple) {
    struct jlist *l = jinja_alloc(j, 1, sizeof *l);
    l->tuple = tuple;
    return (struct jval){.kind = J_LIST, .u.list = l};
}

/* Room for one more element of `size` bytes. */
static void *grow(struct jinja *j, void *v, uint32_t n, uint32_t cap, size_t size) {
    void *more = jinja_alloc(j, cap, size);
    if (n)
        memcpy(more, v, n * size);
    return more;
}

void jlist_push(struct jinja *j, struct jval list, struct jval v) {
    struct jlist *l = list.u.list;
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? 2 * l->cap : 4;
        l->v = grow(j, l->v, l->n, cap, sizeof *l->v);
        l->cap = cap;
    }
    l->v[l->n++] = v;
}

struct jval jdict_new(struct jinja *j) {
    return (struct jval){.kind = J_DICT, .u.dict = jinja_alloc(j, 1, sizeof(struct jdict))};
}

static int find_key(struct jinja *j, const struct jdict *d, struct jval key) {
    for (uint32_t i = 0; i < d->n; i++)
        if (jequal(j, d->keys[i], key))
            return (int)i;
    return -1;
}

const struct jval *jdict_get(struct jinja *j, const struct jdict *d, struct jval key) {
    int i = find_key(j, d, key);
    j->steps += d->n / 16; /* the search is linear */
    return i < 0 ? NULL : &d->values[i];
}

void jdict_set(struct jinja *j, struct jdict *d, struct jval key, struct jval value) {
    int i = find_key(j, d, key);
    jinja_step(j);
    j->steps += d->n / 16;
    if (i >= 0) {
        d->values[i] = value;
        return;
    }
    if (key.kind == J_LIST || key.kind == J_DICT)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s cannot be the key of a dict", jtype(key));
    if (d->n == d->cap) {
        uint32_t cap = d->cap ? 2 * d->cap : 4;
        d->keys = grow(j, d->keys, d->n, cap, sizeof *d->keys);
        d->values = grow(j, d->values, d->n, cap, sizeof *d->values);
        d->cap = cap;
    }
    d->keys[d->n] = key;
    d->values[d->n++] = value;
}

/* ---- text ---------------------------------------------------------------------------------------- */

void jbuf_put(struct jinja *j, struct jbuf *b, const char *p, size_t n, const uint8_t *input) {
    if (b->cap - b->n < n || (input && !b->input)) {
        size_t cap = b->cap - b->n < n ? 2 * b->cap + n + 64 : b->cap;
        char *text = jinja_alloc(j, cap, 1);
        uint8_t *marks = input || b->input ? jinja_alloc(j, cap, 1) : NULL;
        if (b->n)
            memcpy(text, b->p, b->n);
        if (b->n && b->input)
            memcpy(marks, b->input, b->n);
        *b = (struct jbuf){text, marks, b->n, cap};
    }
    if (n)
        memcpy(b->p + b->n, p, n);
    if (n && b->input && input)
        memcpy(b->input + b->n, input, n);
    else if (n && b->input)
        memset(b->input + b->n, 0, n);
    j->steps += n / 64;
    b->n += n;
}

void jbuf_str(struct jinja *j, struct jbuf *b, struct jstr s) {
    jbuf_put(j, b, s.p, s.n, s.input);
}

static void puts_plain(struct jinja *j, struct jbuf *b, const char *z) {
    jbuf_put(j, b, z, strlen(z), NULL);
}

struct jstr jbuf_take(const struct jbuf *b) {
    return (struct jstr){b->p, b->input, b->n, false};
}

struct jstr jslice(struct jstr s, size_t at, size_t n) {
    return (struct jstr){n ? s.p + at : "", s.input && n ? s.input + at : NULL, n, s.markup};
}

size_t jcode_end(struct jstr s, size_t at) {
    for (at++; at < s.n && (s.p[at] & 0xC0) == 0x80;)
        at++;
    return at;
}

size_t jlength(struct jstr s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xC0) != 0x80;
    return n;
}

/* repr() of a float: the shortest digits that give it back. */
static void float_text(double f, char out[40]) {
    char digits[40];
    int precision = 1;
    if (!isfinite(f)) {
        snprintf(out, 40, "%s", isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    do
        snprintf(digits, sizeof digits, "%.*e", precision - 1, f);
    while (strtod(digits, NULL) != f && ++precision <= 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        int places = precision - 1 - exponent;
        snprintf(out, 40, "%.*f%s", places > 0 ? places : 0, f, places > 0 ? "" : ".0");
    } else {
        snprintf(out, 40, "%.*se%c%02d", (int)(strchr(digits, 'e') - digits), digits, exponent < 0 ? '-' : '+', abs(exponent));
    }
}

const char *jtype(struct jval v) {
    static const char *const names[] = {"undefined", "none", "bool", "int",   "float", "str",    "list",
                                        "dict",      "namespace", "macro", "loop", "method", "function"};
    return v.kind == J_LIST && v.u.list->tuple ? "tuple" : names[v.kind];
}

/* The string in quotes, as repr() chooses them. */
static void repr_string(struct jinja *j, struct jbuf *b, struct jstr s) {
    char quote = s.n && memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n) ? '"' : '\'', text[8];
    jbuf_put(j, b, &quote, 1, NULL);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        const uint8_t *mark = s.input ? s.input + i : NULL;
        if (c == quote || c == '\\' || c == '\n' || c == '\r' || c == '\t') {
            snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c);
            puts_plain(j, b, text);
        } else if ((unsigned char)c < 0x20 || c == 0x7F) {
            snprintf(text, sizeof text, "\\x%02x", (unsigned)c);
            puts_plain(j, b, text);
        } else {
            jbuf_put(j, b, &c, 1, mark);
        }
    }
    jbuf_put(j, b, &quote, 1, NULL);
}

void jrepr(struct jinja *j, struct jbuf *b, struct jval v, uint32_t depth) {
    jinja_step(j);
    if (depth > VALUE_DEPTH)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a value is nested deeper than %d levels", VALUE_DEPTH);
    if (v.kind == J_STR) {
        repr_string(j, b, v.u.s);
    } else if (v.kind == J_LIST) {
        bool tuple = v.u.list->tuple;
        puts_plain(j, b, tuple ? "(" : "[");
        for (uint32_t i = 0; i < v.u.list->n; i++) {
            puts_plain(j, b, i ? ", " : "");
            jrepr(j, b, v.u.list->v[i], depth + 1);
        }
        puts_plain(j, b, tuple ? v.u.list->n == 1 ? ",)" : ")" : "]");
    } else if (v.kind == J_DICT || v.kind == J_NAMESPACE) {
        puts_plain(j, b, v.kind == J_DICT ? "{" : "<Namespace {");
        for (uint32_t i = 0; i < v.u.dict->n; i++) {
            puts_plain(j, b, i ? ", " : "");
            jrepr(j, b, v.u.dict->keys[i], depth + 1);
            puts_plain(j, b, ": ");
            jrepr(j, b, v.u.dict->values[i], depth + 1);
        }
        puts_plain(j, b, v.kind == J_DICT ? "}" : "}>");
    } else {
        jbuf_str(j, b, jto_str(j, v));
    }
}

struct jstr jto_str(struct jinja *j, struct jval v) {
    char text[64] = "";
    struct jbuf b = {0};
    switch (v.kind) {
    case J_STR:
        return v.u.s;
    case J_NONE:
        return jliteral(STR("None"));
    case J_UNDEFINED:
        return jliteral(STR(""));
    case J_BOOL:
        return jtext(v.u.b ? "True" : "False").u.s;
    case J_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.u.i);
        break;
    case J_FLOAT:
        float_text(v.u.f, text);
        break;
    case J_LIST:
    case J_DICT:
    case J_NAMESPACE:
        jrepr(j, &b, v, 0);
        return jbuf_take(&b);
    default:
        snprintf(text, sizeof text, "<%s>", jtype(v));
        break;
    }
    puts_plain(j, &b, text);
    return jbuf_take(&b);
}

/* ---- truth and order ----------------------------------------------------------------------------- */

bool jtrue(struct jval v) {
    switch (v.kind) {
    case J_UNDEFINED:
    case J_NONE:
        return false;
    case J_BOOL:
        return v.u.b;
    case J_INT:
        return v.u.i != 0;
    case J_FLOAT:
        return v.u.f != 0;
    case J_STR:
        return v.u.s.n != 0;
    case J_LIST:
        return v.u.list->n != 0;
    case J_DICT:
        return v.u.dict->n != 0;
    default:
        return true;
    }
}

static bool is_number(struct jval v) {
    return v.kind == J_BOOL || v.kind == J_INT || v.kind == J_FLOAT;
}

static int order_numbers(struct jval a, struct jval b) {
    if (a.kind != J_FLOAT && b.kind != J_FLOAT) {
        int64_t x = a.kind == J_BOOL ? a.u.b : a.u.i, y = b.kind == J_BOOL ? b.u.b : b.u.i;
        return (x > y) - (x < y);
    }
    double x = a.kind == J_FLOAT ? a.u.f : a.kind == J_BOOL ? a.u.b : (double)a.u.i;
    double y = b.kind == J_FLOAT ? b.u.f : b.kind == J_BOOL ? b.u.b : (double)b.u.i;
    return (x > y) - (x < y);
}

static int order_text(struct jstr a, struct jstr b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0; /* the order of UTF-8 is that of code points */
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* Lists may share elements, so that a short template makes values of any size: each comparison of elements is a step. */
static bool equal_within(struct jinja *j, struct jval a, struct jval b, uint32_t depth) {
    if (depth)
        jinja_step(j);
    if (is_number(a) && is_number(b))
        return (a.kind != J_FLOAT || !isnan(a.u.f)) && (b.kind != J_FLOAT || !isnan(b.u.f)) && order_numbers(a, b) == 0;
    if (a.kind != b.kind || depth > VALUE_DEPTH)
        return false;
    switch (a.kind) {
    case J_UNDEFINED:
    case J_NONE:
        return true;
    case J_STR:
        j->steps += a.u.s.n == b.u.s.n ? a.u.s.n / 64 : 0;
        return str_eq(jplain(a.u.s), jplain(b.u.s));
    case J_LIST:
        if (a.u.list->n != b.u.list->n || a.u.list->tuple != b.u.list->tuple)
            return false;
        for (uint32_t i = 0; i < a.u.list->n; i++)
            if (!equal_within(j, a.u.list->v[i], b.u.list->v[i], depth + 1))
                return false;
        return true;
    case J_DICT:
        if (a.u.dict->n != b.u.dict->n)
            return false;
        for (uint32_t i = 0; i < a.u.dict->n; i++) {
            int k = find_key(j, b.u.dict, a.u.dict->keys[i]);
            if (k < 0 || !equal_within(j, a.u.dict->values[i], b.u.dict->values[k], depth + 1))
                return false;
        }
        return true;
    default:
        return a.u.dict == b.u.dict; /* the same object */
    }
}

bool jequal(struct jinja *j, struct jval a, struct jval b) {
    return equal_within(j, a, b, 0);
}

int jorder(struct jinja *j, struct jval a, struct jval b) {
    if (is_number(a) && is_number(b))
        return order_numbers(a, b);
    if (a.kind == J_STR && b.kind == J_STR) {
        jinja_work(j, a.u.s.n < b.u.s.n ? a.u.s.n : b.u.s.n);
        return order_text(a.u.s, b.u.s);
    }
    if (a.kind == J_LIST && b.kind == J_LIST) {
        uint32_t n = a.u.list->n < b.u.list->n ? a.u.list->n : b.u.list->n;
        for (uint32_t i = 0; i < n; i++)
            if (!jequal(j, a.u.list->v[i], b.u.list->v[i])) {
                jinja_step(j);
                if (++j->depth > VALUE_DEPTH)
                    jinja_fail(j, HILO_INVALID_ARGUMENT, "a value is nested deeper than %d levels", VALUE_DEPTH);
                int c = jorder(j, a.u.list->v[i], b.u.list->v[i]);
                j->depth--;
                return c;
            }
        return (a.u.list->n > b.u.list->n) - (a.u.list->n < b.u.list->n);
    }
    jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s and a %s have no order", jtype(a), jtype(b));
}

bool jcontains(struct jinja *j, struct jval container, struct jval v) {
    switch (container.kind) {
    case J_UNDEFINED:
        return false;
    case J_STR:
        if (v.kind != J_STR)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "'in' of a str wants a str, not a %s", jtype(v));
        jinja_work(j, container.u.s.n);
        return v.u.s.n == 0 || (container.u.s.n && memmem(container.u.s.p, container.u.s.n, v.u.s.p, v.u.s.n));
    case J_LIST:
        for (uint32_t i = 0; i < container.u.list->n; i++)
            if (jequal(j, container.u.list->v[i], v))
                return true;
        return false;
    case J_DICT:
        return jdict_get(j, container.u.dict, v) != NULL;
    default:
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s contains nothing", jtype(container));
    }
}

struct jval jsequence(struct jinja *j, struct jval v) {
    struct jval out = jlist_new(j, false);
    switch (v.kind) {
    case J_LIST:
        return v;
    case J_UNDEFINED:
        return out;
    case J_STR:
        for (size_t i = 0, end; i < v.u.s.n; i = end) {
            end = jcode_end(v.u.s, i);
            jinja_step(j);
            jlist_push(j, out, jstring(jslice(v.u.s, i, end - i)));
        }
        return out;
    case J_DICT:
        for (uint32_t i = 0; i < v.u.dict->n; i++)
            jlist_push(j, out, v.u.dict->keys[i]);
        return out;
    default:
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s cannot be iterated over", jtype(v));
    }
}

/* ---- attributes and items ------------------------------------------------------------------------ */

static struct jval loop_attr(const struct jloop *l, struct str name) {
    uint32_t i = l->index, n = l->items->n;
    const struct { const char *name; struct jval value; } attrs[] = {
        {"index", jint(i + 1)},     {"index0", jint(i)},         {"first", jbool(i == 0)},
        {"last", jbool(i + 1 == n)}, {"length", jint(n)},        {"revindex", jint(n - i)},
        {"revindex0", jint(n - i - 1)}, {"depth", jint(1)},      {"depth0", jint(0)},
        {"previtem", i ? l->items->v[i - 1] : jundefined(name)},
        {"nextitem", i + 1 < n ? l->items->v[i + 1] : jundefined(name)},
    };
    for (size_t k = 0; k < sizeof attrs / sizeof *attrs; k++)
        if (str_is(name, attrs[k].name))
            return attrs[k].value;
    return jundefined(name);
}

static struct jval bound_method(struct jinja *j, struct jval v, const struct jfunction *f) {
    struct jmethod *method = jinja_alloc(j, 1, sizeof *method);
    *method = (struct jmethod){v, f};
    return (struct jval){.kind = J_METHOD, .u.method = method};
}

struct jval jattr(struct jinja *j, struct jval v, struct str name) {
    const struct jval *item = NULL;
    const struct jfunction *f = jinja_method(v.kind, name);
    if (v.kind == J_UNDEFINED)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "'%.*s' is undefined, it has no attribute '%.*s'", (int)v.u.s.n, v.u.s.p,
                   (int)name.n, name.p);
    if (f)
        return bound_method(j, v, f);
    if (v.kind == J_LOOP)
        return loop_attr(v.u.loop, name);
    if (v.kind == J_MACRO && str_is(name, "name"))
        return jstring(jliteral(v.u.macro->node->name));
    if (v.kind == J_DICT || v.kind == J_NAMESPACE)
        item = jdict_get(j, v.u.dict, jstring(jliteral(name)));
    return item ? *item : jundefined(name);
}

struct jval jitem(struct jinja *j, struct jval v, struct jval key) {
    struct jstr text = jto_str(j, key);
    if (v.kind == J_UNDEFINED)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "'%.*s' is undefined, it has no items", (int)v.u.s.n, v.u.s.p);
    if (v.kind == J_DICT) {
        const struct jval *item = jdict_get(j, v.u.dict, key);
        if (item)
            return *item;
    }
    if ((v.kind == J_LIST || v.kind == J_STR) && (key.kind == J_INT || key.kind == J_BOOL)) {
        int64_t i = key.kind == J_INT ? key.u.i : key.u.b;
        int64_t n = v.kind == J_LIST ? (int64_t)v.u.list->n : (int64_t)jlength(v.u.s);
        i += i < 0 ? n : 0;
        if (i < 0 || i >= n)
            return jundefined(jplain(text));
        if (v.kind == J_LIST)
            return v.u.list->v[i];
        size_t at = 0;
        for (j->steps += (size_t)i / 16; i > 0; i--)
            at = jcode_end(v.u.s, at);
        return jstring(jslice(v.u.s, at, jcode_end(v.u.s, at) - at));
    }
    return key.kind == J_STR && v.kind != J_STR ? jattr(j, v, jplain(key.u.s)) : jundefined(jplain(text));
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static struct jstr copy_text(struct jinja *j, const char *p, size_t n, bool input) {
    struct jbuf b = {0};
    uint8_t *marks = NULL;
    if (input && n) {
        marks = jinja_alloc(j, n, 1);
        memset(marks, 1, n);
    }
    jbuf_put(j, &b, p, n, NULL);
    return (struct jstr){b.p ? b.p : "", marks, n, false};
}

static struct jval value_of(struct jinja *j, const json_t *v, bool input, uint32_t depth) {
    struct jval out;
    const char *key;
    json_t *item;
    size_t i;
    if (depth > VALUE_DEPTH)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a value is nested deeper than %d levels", VALUE_DEPTH);
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        out = jdict_new(j);
        for (void *at = json_object_iter((json_t *)(uintptr_t)v); at; at = json_object_iter_next((json_t *)(uintptr_t)v, at)) {
            key = json_object_iter_key(at);
            jdict_set(j, out.u.dict, jstring(copy_text(j, key, json_object_iter_key_len(at), input)),
                      value_of(j, json_object_iter_value(at), input, depth + 1));
        }
        return out;
    case JSON_ARRAY:
        out = jlist_new(j, false);
        json_array_foreach(v, i, item)
            jlist_push(j, out, value_of(j, item, input, depth + 1));
        return out;
    case JSON_STRING:
        return jstring(copy_text(j, json_string_value(v), json_string_length(v), input));
    case JSON_INTEGER:
        return jint(json_integer_value(v));
    case JSON_REAL:
        return jfloat(json_real_value(v));
    case JSON_NULL:
        return jnone();
    default:
        return jbool(json_is_true(v));
    }
}

struct jval jfrom_json(struct jinja *j, const json_t *v, bool input) {
    return value_of(j, v, input, 0);
}

struct jval jparse_json(struct jinja *j, struct jstr s) {
    json_error_t error;
    j->json = llm_json_load((struct str){s.p, s.n}, JSON_DECODE_ANY, j->t->al, &error);
    if (!j->json)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "from_json: %s", error.text);
    struct jval v = value_of(j, j->json, s.input != NULL, 0);
    json_decref(j->json);
    j->json = NULL;
    return v;
}

struct dump {
    struct jinja *j;
    struct jbuf out;
    const char *item, *key;  /* separators */
    size_t nitem, nkey;
    const uint8_t *item_input, *key_input;
    struct jstr indent;      /* of one level */
    bool pretty, ascii, sorted;
};

static void dump_string(struct dump *x, struct jstr s) {
    static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
    puts_plain(x->j, &x->out, "\"");
    for (size_t i = 0, end; i < s.n; i = end) {
        char text[16], *known = s.p[i] ? memchr(from, s.p[i], sizeof from - 1) : NULL;
        utf8proc_int32_t c = (unsigned char)s.p[i];
        end = jcode_end(s, i);
        if (end - i > 1)
            utf8proc_iterate((const utf8proc_uint8_t *)s.p + i, (utf8proc_ssize_t)(end - i), &c);
        if (known) {
            snprintf(text, sizeof text, "\\%c", to[known - from]);
            puts_plain(x->j, &x->out, text);
        } else if (c < 0x20 || (x->ascii && c > 0x7E && c < 0x10000)) {
            snprintf(text, sizeof text, "\\u%04x", (unsigned)c);
            puts_plain(x->j, &x->out, text);
        } else if (x->ascii && c >= 0x10000) {
            snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xD800 + (((unsigned)c - 0x10000) >> 10), 0xDC00 + (c & 0x3FF));
            puts_plain(x->j, &x->out, text);
        } else {
            jbuf_put(x->j, &x->out, s.p + i, end - i, s.input ? s.input + i : NULL);
        }
    }
    puts_plain(x->j, &x->out, "\"");
}

static void new_line(struct dump *x, uint32_t depth) {
    if (!x->pretty)
        return;
    puts_plain(x->j, &x->out, "\n");
    for (uint32_t i = 0; i < depth; i++)
        jbuf_str(x->j, &x->out, x->indent);
}

static void dump_key(struct dump *x, struct jval key) {
    char text[40];
    if (key.kind == J_STR) {
        dump_string(x, key.u.s);
    } else if (key.kind == J_BOOL || key.kind == J_NONE) {
        dump_string(x, jtext(key.kind == J_NONE ? "null" : key.u.b ? "true" : "false").u.s);
    } else {
        struct jstr s = jto_str(x->j, key);
        snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
        dump_string(x, jtext(text).u.s);
    }
}

static void dump_value(struct dump *x, struct jval v, uint32_t depth);

static void dump_dict(struct dump *x, const struct jdict *d, uint32_t depth) {
    uint32_t *order = jinja_alloc(x->j, d->n, sizeof *order);
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t at = i;
        for (; x->sorted && at > 0 && jorder(x->j, d->keys[order[at - 1]], d->keys[i]) > 0; at--) {
            jinja_step(x->j);
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    puts_plain(x->j, &x->out, "{");
    for (uint32_t i = 0; i < d->n; i++) {
        if (i)
            jbuf_put(x->j, &x->out, x->item, x->nitem, x->item_input);
        new_line(x, depth + 1);
        dump_key(x, d->keys[order[i]]);
        jbuf_put(x->j, &x->out, x->key, x->nkey, x->key_input);
        dump_value(x, d->values[order[i]], depth + 1);
    }
    if (d->n)
        new_line(x, depth);
    puts_plain(x->j, &x->out, "}");
}

static void dump_value(struct dump *x, struct jval v, uint32_t depth) {
    jinja_step(x->j);
    if (depth > VALUE_DEPTH)
        jinja_fail(x->j, HILO_INVALID_ARGUMENT, "a value is nested deeper than %d levels", VALUE_DEPTH);
    if (v.kind == J_STR) {
        dump_string(x, v.u.s);
    } else if (v.kind == J_LIST) {
        puts_plain(x->j, &x->out, "[");
        for (uint32_t i = 0; i < v.u.list->n; i++) {
            if (i)
                jbuf_put(x->j, &x->out, x->item, x->nitem, x->item_input);
            new_line(x, depth + 1);
            dump_value(x, v.u.list->v[i], depth + 1);
        }
        if (v.u.list->n)
            new_line(x, depth);
        puts_plain(x->j, &x->out, "]");
    } else if (v.kind == J_DICT) {
        dump_dict(x, v.u.dict, depth);
    } else if (v.kind == J_BOOL || v.kind == J_NONE) {
        puts_plain(x->j, &x->out, v.kind == J_NONE ? "null" : v.u.b ? "true" : "false");
    } else if (v.kind == J_FLOAT && !isfinite(v.u.f)) {
        puts_plain(x->j, &x->out, isnan(v.u.f) ? "NaN" : v.u.f < 0 ? "-Infinity" : "Infinity");
    } else if (v.kind == J_INT || v.kind == J_FLOAT) {
        jbuf_str(x->j, &x->out, jto_str(x->j, v));
    } else {
        jinja_fail(x->j, HILO_INVALID_ARGUMENT, "tojson: a %s cannot be written as JSON", jtype(v));
    }
}

/* tojson(indent=None, separators=None, ensure_ascii=False, sort_keys=False), as transformers defines it. */
struct jstr jjson(struct jinja *j, struct jval v, const struct jargs *a) {
    const struct jval *indent = jinja_argument(a, 0, "indent"), *separators = jinja_argument(a, 1, "separators");
    const struct jval *ascii = jinja_argument(a, 2, "ensure_ascii"), *sorted = jinja_argument(a, 3, "sort_keys");
    struct dump x = {.j = j, .item = ", ", .nitem = 2, .key = ": ", .nkey = 2};
    x.ascii = ascii && jtrue(*ascii);
    x.sorted = sorted && jtrue(*sorted);
    if (indent && (indent->kind == J_INT || indent->kind == J_STR)) {
        struct jbuf b = {0};
        for (int64_t i = 0; indent->kind == J_INT && i < indent->u.i && i < 1000; i++)
            puts_plain(j, &b, " ");
        x.pretty = true;
        x.nitem = 1;
        x.indent = indent->kind == J_INT ? jbuf_take(&b) : indent->u.s;
    }
    if (separators && separators->kind == J_LIST && separators->u.list->n == 2) {
        struct jstr item = jto_str(j, separators->u.list->v[0]), key = jto_str(j, separators->u.list->v[1]);
        x.item = item.p, x.nitem = item.n, x.item_input = item.input;
        x.key = key.p, x.nkey = key.n, x.key_input = key.input;
    }
    dump_value(&x, v, 0);
    return jbuf_take(&x.out);
}
