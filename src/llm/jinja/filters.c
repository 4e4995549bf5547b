/* Filters, tests, methods and global functions, as Jinja2's and Python's. What an immutable sandbox refuses is not here. */
#include "llm/jinja/node.h"

#include <math.h>
#include <stdio.h>
#include <utf8proc.h>

enum { RANGE_MOST = 100000 }; /* as Jinja's sandbox */

/* ---- arguments ---------------------------------------------------------------------------------- */

static const struct jval *argument(const struct jargs *a, uint32_t i, const char *name) {
    return jinja_argument(a, i, name);
}

static bool flag(const struct jargs *a, uint32_t i, const char *name, bool absent) {
    const struct jval *v = argument(a, i, name);
    return v ? jtrue(*v) : absent;
}

static int64_t number(struct jinja *j, const struct jargs *a, uint32_t i, const char *name, int64_t absent) {
    const struct jval *v = argument(a, i, name);
    if (!v || v->kind == J_NONE)
        return absent;
    if (v->kind != J_INT && v->kind != J_BOOL)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "argument '%s' is a %s, expected an int", name, jtype(*v));
    return v->kind == J_INT ? v->u.i : v->u.b;
}

static struct jval required(struct jinja *j, const struct jargs *a, uint32_t i, const char *name) {
    const struct jval *v = argument(a, i, name);
    if (!v)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "argument '%s' is missing", name);
    return *v;
}

static struct jstr text_of(struct jinja *j, const struct jargs *a, uint32_t i, const char *name) {
    struct jval v = required(j, a, i, name);
    if (v.kind != J_STR)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "argument '%s' is a %s, expected a str", name, jtype(v));
    return v.u.s;
}

/* ---- strings ------------------------------------------------------------------------------------ */

static bool is_space(utf8proc_int32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static utf8proc_int32_t code_at(struct jstr s, size_t i) {
    utf8proc_int32_t c;
    size_t n = jcode_end(s, i) - i;
    return utf8proc_iterate((const utf8proc_uint8_t *)s.p + i, (utf8proc_ssize_t)n, &c) > 0 ? c : (unsigned char)s.p[i];
}

static bool strips(struct jstr s, size_t i, const struct jstr *set) {
    if (!set)
        return is_space(code_at(s, i));
    return memmem(set->p, set->n, s.p + i, jcode_end(s, i) - i) != NULL;
}

enum { LEFT = 1, RIGHT = 2 };

static struct jval strip(struct jinja *j, struct jstr s, const struct jargs *a, int sides) {
    const struct jval *chars = argument(a, 0, "chars");
    struct jstr set = {0};
    bool given = chars && chars->kind != J_NONE;
    if (given)
        set = text_of(j, a, 0, "chars");
    size_t from = 0, to = s.n;
    j->steps += s.n / 64;
    for (; (sides & LEFT) && from < to && strips(s, from, given ? &set : NULL); from = jcode_end(s, from))
        jinja_work(j, set.n);
    for (; (sides & RIGHT) && to > from; jinja_work(j, set.n)) {
        size_t last = to - 1;
        while (last > from && (s.p[last] & 0xC0) == 0x80)
            last--;
        if (!strips(s, last, given ? &set : NULL))
            break;
        to = last;
    }
    return jstring(jslice(s, from, to - from));
}

/* Each code point by a function of utf8proc (simple case mappings: ß stays one letter); of `title`, what follows a letter by
   another. */
static struct jval map_case(struct jinja *j, struct jstr s, utf8proc_int32_t first(utf8proc_int32_t),
                            utf8proc_int32_t rest(utf8proc_int32_t), bool words) {
    struct jbuf b = {0};
    bool begin = true;
    for (size_t i = 0, end; i < s.n; i = end) {
        utf8proc_uint8_t bytes[4];
        uint8_t marks[4];
        utf8proc_int32_t c = code_at(s, i);
        end = jcode_end(s, i);
        jinja_step(j);
        utf8proc_category_t category = utf8proc_category(c);
        bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
        size_t n = (size_t)utf8proc_encode_char(begin ? first(c) : rest(c), bytes);
        memset(marks, s.input ? s.input[i] : 0, sizeof marks);
        jbuf_put(j, &b, (const char *)bytes, n, s.input ? marks : NULL);
        begin = words && !letter;
    }
    return jstring(jbuf_take(&b));
}

static struct jval upper(struct jinja *j, struct jstr s) {
    return map_case(j, s, utf8proc_toupper, utf8proc_toupper, false);
}

static struct jval lower(struct jinja *j, struct jstr s) {
    return map_case(j, s, utf8proc_tolower, utf8proc_tolower, false);
}

/* At most `most` replacements; < 0: all. */
static struct jval replace(struct jinja *j, struct jstr s, struct jstr old, struct jstr new, int64_t most) {
    struct jbuf b = {0};
    size_t at = 0;
    for (; at <= s.n && most != 0; most--) {
        const char *found = old.n ? (s.n ? memmem(s.p + at, s.n - at, old.p, old.n) : NULL) : s.p + at;
        if (!found)
            break;
        size_t n = (size_t)(found - s.p) - at;
        jinja_step(j);
        jbuf_str(j, &b, jslice(s, at, n));
        jbuf_str(j, &b, new);
        at += n + old.n;
        if (old.n == 0) { /* between all characters */
            size_t end = at < s.n ? jcode_end(s, at) : s.n + 1;
            if (at < s.n)
                jbuf_str(j, &b, jslice(s, at, end - at));
            at = end;
        }
    }
    if (at < s.n)
        jbuf_str(j, &b, jslice(s, at, s.n - at));
    return jstring(jbuf_take(&b));
}

static void split_spaces(struct jinja *j, struct jval out, struct jstr s, int64_t most) {
    size_t i = 0;
    for (;;) {
        while (i < s.n && is_space(code_at(s, i)))
            i = jcode_end(s, i);
        if (i == s.n)
            return;
        size_t begin = i;
        if (most >= 0 && out.u.list->n == (uint64_t)most) { /* the rest, without the space at its end */
            jlist_push(j, out, strip(j, jslice(s, i, s.n - i), &(struct jargs){0}, RIGHT));
            return;
        }
        while (i < s.n && !is_space(code_at(s, i)))
            i = jcode_end(s, i);
        jinja_step(j);
        jlist_push(j, out, jstring(jslice(s, begin, i - begin)));
    }
}

static struct jval split(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false);
    const struct jval *sep = argument(a, 0, "sep");
    int64_t most = number(j, a, 1, "maxsplit", -1);
    struct jstr s = self.u.s;
    if (!sep || sep->kind == J_NONE) {
        split_spaces(j, out, s, most);
        return out;
    }
    struct jstr by = text_of(j, a, 0, "sep");
    if (by.n == 0)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "split: the separator is empty");
    size_t at = 0;
    for (const char *found; most != 0 && s.n && (found = memmem(s.p + at, s.n - at, by.p, by.n)); most--) {
        size_t n = (size_t)(found - s.p) - at;
        jinja_step(j);
        jlist_push(j, out, jstring(jslice(s, at, n)));
        at += n + by.n;
    }
    jlist_push(j, out, jstring(jslice(s, at, s.n - at)));
    return out;
}

static struct jval rsplit(struct jinja *j, struct jval self, const struct jargs *a) {
    int64_t most = number(j, a, 1, "maxsplit", -1);
    struct jstr s = self.u.s, by = text_of(j, a, 0, "sep");
    struct jval parts = jlist_new(j, false), out = jlist_new(j, false);
    size_t end = s.n;
    if (by.n == 0)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "rsplit: the separator is empty");
    for (size_t i = s.n; i >= by.n && i > 0 && most != 0;) {
        jinja_step(j);
        if (i <= end && memcmp(s.p + i - by.n, by.p, by.n) == 0) {
            jlist_push(j, parts, jstring(jslice(s, i, end - i)));
            end = i -= by.n;
            most--;
        } else {
            i--;
        }
    }
    jlist_push(j, parts, jstring(jslice(s, 0, end)));
    for (uint32_t i = parts.u.list->n; i-- > 0;)
        jlist_push(j, out, parts.u.list->v[i]);
    return out;
}

static struct jval splitlines(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false);
    struct jstr s = self.u.s;
    bool keep = flag(a, 0, "keepends", false);
    for (size_t at = 0, i = 0; i < s.n || at < s.n; i++) {
        bool end = i == s.n, cr = !end && s.p[i] == '\r', line = end || cr || s.p[i] == '\n';
        if (!line)
            continue;
        size_t next = end ? i : i + 1 + (cr && i + 1 < s.n && s.p[i + 1] == '\n');
        jinja_step(j);
        jlist_push(j, out, jstring(jslice(s, at, (keep ? next : i) - at)));
        at = next;
        i = end ? i : next - 1;
    }
    return out;
}

static bool begins(struct jstr s, struct jstr with) {
    return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

static bool ends(struct jstr s, struct jstr with) {
    return s.n >= with.n && memcmp(s.p + s.n - with.n, with.p, with.n) == 0;
}

/* startswith, endswith: of one string, or of any in a tuple. */
static struct jval affix(struct jinja *j, struct jval self, const struct jargs *a, bool test(struct jstr, struct jstr)) {
    struct jval v = required(j, a, 0, "prefix");
    if (v.kind != J_LIST)
        return jbool(test(self.u.s, text_of(j, a, 0, "prefix")));
    for (uint32_t i = 0; i < v.u.list->n; i++)
        if (v.u.list->v[i].kind == J_STR && test(self.u.s, v.u.list->v[i].u.s))
            return jbool(true);
    return jbool(false);
}

static struct jval find(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr what = text_of(j, a, 0, "sub"), s = self.u.s;
    const char *found = what.n ? (s.n ? memmem(s.p, s.n, what.p, what.n) : NULL) : s.p;
    return jint(found ? (int64_t)jlength(jslice(s, 0, (size_t)(found - s.p))) : -1);
}

static struct jval count_text(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr what = text_of(j, a, 0, "sub"), s = self.u.s;
    int64_t n = 0;
    if (what.n == 0)
        return jint((int64_t)jlength(s) + 1);
    for (size_t at = 0; at < s.n; n++) {
        const char *found = memmem(s.p + at, s.n - at, what.p, what.n);
        if (!found)
            break;
        jinja_step(j);
        at = (size_t)(found - s.p) + what.n;
    }
    return jint(n);
}

static bool all_of(struct jstr s, bool test(utf8proc_category_t)) {
    for (size_t i = 0; i < s.n; i = jcode_end(s, i))
        if (!test(utf8proc_category(code_at(s, i))))
            return false;
    return s.n > 0;
}

static bool is_letter(utf8proc_category_t c) {
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

static bool is_digit(utf8proc_category_t c) {
    return c == UTF8PROC_CATEGORY_ND;
}

static bool is_alnum(utf8proc_category_t c) {
    return is_letter(c) || is_digit(c);
}

static struct jval join(struct jinja *j, struct jval list, struct jstr by) {
    struct jbuf b = {0};
    struct jlist *l = jsequence(j, list).u.list;
    for (uint32_t i = 0; i < l->n; i++) {
        jinja_step(j);
        if (i)
            jbuf_str(j, &b, by);
        jbuf_str(j, &b, jto_str(j, l->v[i]));
    }
    return jstring(jbuf_take(&b));
}

struct jval jinja_format(struct jinja *j, struct jstr form, const struct jval *v, uint32_t n) {
    struct jbuf b = {0};
    uint32_t used = 0;
    for (size_t i = 0; i < form.n; i++) {
        jinja_step(j);
        if (form.p[i] != '%') {
            jbuf_str(j, &b, jslice(form, i, 1));
            continue;
        }
        char kind = ++i < form.n ? form.p[i] : '\0';
        if (kind == '%') {
            jbuf_str(j, &b, jslice(form, i, 1));
        } else if (used == n) {
            jinja_fail(j, HILO_INVALID_ARGUMENT, "not enough values for the format");
        } else if (kind == 's') {
            struct jstr s = jto_str(j, v[used++]);
            jbuf_str(j, &b, form.markup ? jinja_escape(j, s) : s);
        } else if (kind == 'r') {
            jrepr(j, &b, v[used++], 0);
        } else if ((kind == 'd' || kind == 'i') && v[used].kind == J_INT) {
            jbuf_str(j, &b, jto_str(j, v[used++]));
        } else {
            jinja_fail(j, HILO_INVALID_ARGUMENT, "the format '%%%c' of a %s is not supported", kind, jtype(v[used]));
        }
    }
    return jstring(jbuf_take(&b));
}

/* str.format with {}, {0} and {name}. */
static struct jval format_braces(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jbuf b = {0};
    struct jstr s = self.u.s;
    uint32_t next = 0;
    for (size_t i = 0; i < s.n; i++) {
        jinja_step(j);
        bool open = s.p[i] == '{', twice = i + 1 < s.n && s.p[i + 1] == s.p[i];
        if ((open || s.p[i] == '}') && twice) {
            jbuf_str(j, &b, jslice(s, i++, 1));
            continue;
        }
        if (!open) {
            jbuf_str(j, &b, jslice(s, i, 1));
            continue;
        }
        const char *close = memchr(s.p + i, '}', s.n - i);
        char key[64];
        size_t n = close ? (size_t)(close - s.p) - i - 1 : sizeof key;
        if (n >= sizeof key)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "format: a field has no end");
        memcpy(key, s.p + i + 1, n);
        key[n] = '\0';
        char *after;
        uint32_t index = n ? (uint32_t)strtoul(key, &after, 10) : next++;
        const struct jval *v = n && *after ? argument(a, UINT32_MAX, key) : index < a->n ? &a->v[index] : NULL;
        if (!v)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "format: there is no value for '{%s}'", key);
        jbuf_str(j, &b, jto_str(j, *v));
        i += n + 1;
    }
    return jstring(jbuf_take(&b));
}

#define TEXT_METHOD(name, value)                                                                    \
    static struct jval name(struct jinja *j, struct jval self, const struct jargs *a) {             \
        (void)j, (void)a;                                                                           \
        return value;                                                                               \
    }
TEXT_METHOD(m_strip, strip(j, self.u.s, a, LEFT | RIGHT))
TEXT_METHOD(m_lstrip, strip(j, self.u.s, a, LEFT))
TEXT_METHOD(m_rstrip, strip(j, self.u.s, a, RIGHT))
TEXT_METHOD(m_upper, upper(j, self.u.s))
TEXT_METHOD(m_lower, lower(j, self.u.s))
TEXT_METHOD(m_title, map_case(j, self.u.s, utf8proc_totitle, utf8proc_tolower, true))
TEXT_METHOD(m_capitalize, map_case(j, self.u.s, utf8proc_totitle, utf8proc_tolower, false))
TEXT_METHOD(m_startswith, affix(j, self, a, begins))
TEXT_METHOD(m_endswith, affix(j, self, a, ends))
TEXT_METHOD(m_replace, replace(j, self.u.s, text_of(j, a, 0, "old"), text_of(j, a, 1, "new"), number(j, a, 2, "count", -1)))
TEXT_METHOD(m_join, join(j, required(j, a, 0, "iterable"), self.u.s))
TEXT_METHOD(m_isdigit, jbool(all_of(self.u.s, is_digit)))
TEXT_METHOD(m_isalpha, jbool(all_of(self.u.s, is_letter)))
TEXT_METHOD(m_isalnum, jbool(all_of(self.u.s, is_alnum)))

static struct jval m_removeprefix(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr s = self.u.s, with = text_of(j, a, 0, "prefix");
    return jstring(begins(s, with) ? jslice(s, with.n, s.n - with.n) : s);
}

static struct jval m_removesuffix(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr s = self.u.s, with = text_of(j, a, 0, "suffix");
    return jstring(ends(s, with) ? jslice(s, 0, s.n - with.n) : s);
}

/* ---- dicts and lists --------------------------------------------------------------------------------- */

static struct jval pair(struct jinja *j, struct jval a, struct jval b) {
    struct jval out = jlist_new(j, true);
    jlist_push(j, out, a);
    jlist_push(j, out, b);
    return out;
}

static struct jval items(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false);
    (void)a;
    if (self.kind == J_UNDEFINED)
        return out;
    if (self.kind != J_DICT)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "items: a %s is not a mapping", jtype(self));
    for (uint32_t i = 0; i < self.u.dict->n; i++) {
        jinja_step(j);
        jlist_push(j, out, pair(j, self.u.dict->keys[i], self.u.dict->values[i]));
    }
    return out;
}

static struct jval m_keys(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    return jsequence(j, self);
}

static struct jval m_values(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false);
    (void)a;
    for (uint32_t i = 0; i < self.u.dict->n; i++)
        jlist_push(j, out, self.u.dict->values[i]);
    return out;
}

static struct jval m_get(struct jinja *j, struct jval self, const struct jargs *a) {
    const struct jval *v = jdict_get(j, self.u.dict, required(j, a, 0, "key")), *absent = argument(a, 1, "default");
    return v ? *v : absent ? *absent : jnone();
}

static struct jval m_copy(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jdict_new(j);
    (void)a;
    for (uint32_t i = 0; i < self.u.dict->n; i++)
        jdict_set(j, out.u.dict, self.u.dict->keys[i], self.u.dict->values[i]);
    return out;
}

static struct jval m_index(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval v = required(j, a, 0, "value");
    for (uint32_t i = 0; i < self.u.list->n; i++)
        if (jequal(j, self.u.list->v[i], v))
            return jint(i);
    jinja_fail(j, HILO_INVALID_ARGUMENT, "index: the value is not in the list");
}

static struct jval m_count(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval v = required(j, a, 0, "value");
    int64_t n = 0;
    for (uint32_t i = 0; i < self.u.list->n; i++)
        n += jequal(j, self.u.list->v[i], v);
    return jint(n);
}

static struct jval m_immutable(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s cannot be changed in a template; use a namespace", jtype(self));
}

static struct jval m_cycle(struct jinja *j, struct jval self, const struct jargs *a) {
    if (a->n == 0)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "cycle: there are no values");
    return a->v[self.u.loop->index % a->n];
}

static struct jval m_changed(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jloop *loop = self.u.loop;
    struct jval now = jlist_new(j, true);
    for (uint32_t i = 0; i < a->n; i++)
        jlist_push(j, now, a->v[i]);
    bool changed = !loop->has_changed || !jequal(j, loop->changed, now);
    loop->changed = now;
    loop->has_changed = true;
    return jbool(changed);
}

static const struct jfunction text_methods[] = {
    {"split", split},         {"rsplit", rsplit},         {"splitlines", splitlines},   {"strip", m_strip},
    {"lstrip", m_lstrip},     {"rstrip", m_rstrip},       {"upper", m_upper},           {"lower", m_lower},
    {"title", m_title},       {"capitalize", m_capitalize}, {"startswith", m_startswith}, {"endswith", m_endswith},
    {"replace", m_replace},   {"join", m_join},           {"find", find},               {"count", count_text},
    {"isdigit", m_isdigit},   {"isalpha", m_isalpha},     {"isalnum", m_isalnum},       {"format", format_braces},
    {"removeprefix", m_removeprefix}, {"removesuffix", m_removesuffix}, {NULL, NULL},
};
static const struct jfunction dict_methods[] = {
    {"items", items},         {"keys", m_keys},           {"values", m_values},         {"get", m_get},
    {"copy", m_copy},         {"update", m_immutable},    {"pop", m_immutable},         {"clear", m_immutable},
    {"setdefault", m_immutable}, {"popitem", m_immutable}, {NULL, NULL},
};
static const struct jfunction list_methods[] = {
    {"index", m_index},       {"count", m_count},         {"append", m_immutable},      {"extend", m_immutable},
    {"insert", m_immutable},  {"pop", m_immutable},       {"remove", m_immutable},      {"reverse", m_immutable},
    {"sort", m_immutable},    {"clear", m_immutable},     {NULL, NULL},
};
static const struct jfunction loop_methods[] = {{"cycle", m_cycle}, {"changed", m_changed}, {NULL, NULL}};

static const struct jfunction *named(const struct jfunction *f, struct str name) {
    for (; f && f->name; f++)
        if (str_is(name, f->name))
            return f;
    return NULL;
}

const struct jfunction *jinja_method(enum jkind kind, struct str name) {
    return named(kind == J_STR    ? text_methods
                 : kind == J_DICT ? dict_methods
                 : kind == J_LIST ? list_methods
                 : kind == J_LOOP ? loop_methods
                                  : NULL,
                 name);
}

/* ---- filters: of sequences --------------------------------------------------------------------------- */

/* An attribute path, `a.b.0`, or an index. */
static struct jval by_path(struct jinja *j, struct jval v, struct jval path) {
    if (path.kind != J_STR)
        return jitem(j, v, path);
    struct jval parts = split(j, path, &(struct jargs){(struct jval[]){jtext(".")}, 1, NULL, 0});
    for (uint32_t i = 0; i < parts.u.list->n; i++) {
        struct jval key = parts.u.list->v[i];
        jinja_step(j);
        if (all_of(key.u.s, is_digit))
            key = jint(strtoll(jplain(key.u.s).p, NULL, 10));
        v = jitem(j, v, key);
    }
    return v;
}

/* A filter or test of that name on v, with the arguments after it. */
static struct jval apply(struct jinja *j, const struct jfunction *f, struct jval name, struct jval v, const struct jargs *a,
                         uint32_t skip) {
    struct jargs rest = {a->v + skip, a->n - skip, a->named, a->nnamed};
    if (!f)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "there is no filter or test '%.*s'", (int)name.u.s.n, name.u.s.p);
    return f->fn(j, v, &rest);
}

/* select, reject, selectattr, rejectattr. */
static struct jval choose(struct jinja *j, struct jval self, const struct jargs *a, bool attribute, bool keep) {
    struct jval out = jlist_new(j, false), list = jtrue(self) ? jsequence(j, self) : out; /* of none: nothing, as Jinja */
    uint32_t skip = attribute;
    struct jval path = attribute ? required(j, a, 0, "attribute") : jnone();
    for (uint32_t i = 0; i < list.u.list->n; i++) {
        struct jval v = attribute ? by_path(j, list.u.list->v[i], path) : list.u.list->v[i];
        jinja_step(j);
        bool holds = a->n > skip ? jtrue(apply(j, a->v[skip].kind == J_STR ? jinja_test(jplain(a->v[skip].u.s)) : NULL,
                                               a->v[skip].kind == J_STR ? a->v[skip] : jtext("?"), v, a, skip + 1))
                                 : jtrue(v);
        if (holds == keep)
            jlist_push(j, out, list.u.list->v[i]);
    }
    return out;
}

static struct jval map(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false), list = jtrue(self) ? jsequence(j, self) : out;
    const struct jval *path = argument(a, UINT32_MAX, "attribute"), *absent = argument(a, UINT32_MAX, "default");
    struct jval name = path ? jnone() : required(j, a, 0, "filter");
    for (uint32_t i = 0; i < list.u.list->n; i++) {
        struct jval v = list.u.list->v[i];
        jinja_step(j);
        if (path) {
            v = by_path(j, v, *path);
            v = v.kind == J_UNDEFINED && absent ? *absent : v;
        } else {
            v = apply(j, name.kind == J_STR ? jinja_filter(jplain(name.u.s)) : NULL,
                      name.kind == J_STR ? name : jtext("?"), v, a, 1);
        }
        jlist_push(j, out, v);
    }
    return out;
}

/* What an element is ordered by: itself or an attribute, in lower case unless case counts. */
static struct jval order_key(struct jinja *j, struct jval v, const struct jval *path, bool sensitive) {
    if (path && path->kind != J_NONE)
        v = by_path(j, v, *path);
    return v.kind == J_STR && !sensitive ? lower(j, v.u.s) : v;
}

/* A stable merge sort of elements by their keys. */
static void sort_by(struct jinja *j, struct jval *v, struct jval *keys, uint32_t n, bool down) {
    struct jval *w = jinja_alloc(j, n, sizeof *w), *wkeys = jinja_alloc(j, n, sizeof *wkeys);
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t at = 0; at < n; at += 2 * width) {
            uint32_t middle = n - at < width ? n : at + width, end = n - at < 2 * width ? n : at + 2 * width;
            for (uint32_t a = at, b = middle, k = at; k < end; k++) {
                jinja_step(j);
                int order = a < middle && b < end ? jorder(j, keys[a], keys[b]) : a < middle ? -1 : 1;
                bool both = a < middle && b < end, first = both && down ? order >= 0 : order <= 0;
                wkeys[k] = keys[first ? a : b];
                w[k] = v[first ? a++ : b++];
            }
        }
        memcpy(v, w, n * sizeof *v);
        memcpy(keys, wkeys, n * sizeof *keys);
        if (width > UINT32_MAX / 2)
            break;
    }
}

static struct jval sorted(struct jinja *j, struct jval list, const struct jval *path, bool sensitive, bool down) {
    struct jval out = jlist_new(j, false);
    for (uint32_t i = 0; i < list.u.list->n; i++)
        jlist_push(j, out, list.u.list->v[i]);
    uint32_t n = out.u.list->n;
    struct jval *keys = jinja_alloc(j, n, sizeof *keys);
    for (uint32_t i = 0; i < n; i++)
        keys[i] = order_key(j, out.u.list->v[i], path, sensitive);
    if (n > 1)
        sort_by(j, out.u.list->v, keys, n, down);
    return out;
}

static struct jval f_sort(struct jinja *j, struct jval self, const struct jargs *a) {
    return sorted(j, jsequence(j, self), argument(a, 2, "attribute"), flag(a, 1, "case_sensitive", false),
                  flag(a, 0, "reverse", false));
}

static struct jval f_dictsort(struct jinja *j, struct jval self, const struct jargs *a) {
    const struct jval *by = argument(a, 1, "by");
    struct jval place = jint(by && by->kind == J_STR && str_is(jplain(by->u.s), "value"));
    return sorted(j, items(j, self, a), &place, flag(a, 0, "case_sensitive", false), flag(a, 2, "reverse", false));
}

static struct jval f_unique(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false), keys = jlist_new(j, false), list = jsequence(j, self);
    for (uint32_t i = 0; i < list.u.list->n; i++) {
        struct jval key = order_key(j, list.u.list->v[i], argument(a, 1, "attribute"), flag(a, 0, "case_sensitive", false));
        j->steps += keys.u.list->n / 16;
        jinja_step(j);
        if (!jcontains(j, keys, key)) {
            jlist_push(j, keys, key);
            jlist_push(j, out, list.u.list->v[i]);
        }
    }
    return out;
}

static struct jval extreme(struct jinja *j, struct jval self, const struct jargs *a, int sign) {
    struct jval list = jsequence(j, self);
    const struct jval *path = argument(a, 1, "attribute");
    uint32_t best = 0;
    if (list.u.list->n == 0)
        return jundefined(STR("the extreme of nothing"));
    for (uint32_t i = 1; i < list.u.list->n; i++) {
        jinja_step(j);
        bool sensitive = flag(a, 0, "case_sensitive", false);
        if (jorder(j, order_key(j, list.u.list->v[i], path, sensitive), order_key(j, list.u.list->v[best], path, sensitive)) *
                sign > 0)
            best = i;
    }
    return list.u.list->v[best];
}

static struct jval f_sum(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval list = jsequence(j, self), path = jnone();
    const struct jval *attribute = argument(a, 0, "attribute"), *start = argument(a, 1, "start");
    struct jval total = start ? *start : jint(0);
    if (attribute)
        path = *attribute;
    for (uint32_t i = 0; i < list.u.list->n; i++) {
        struct jval v = path.kind == J_NONE ? list.u.list->v[i] : by_path(j, list.u.list->v[i], path);
        jinja_step(j);
        if (v.kind == J_INT && total.kind == J_INT && !__builtin_add_overflow(total.u.i, v.u.i, &total.u.i))
            continue;
        if ((v.kind != J_INT && v.kind != J_FLOAT) || (total.kind != J_INT && total.kind != J_FLOAT))
            jinja_fail(j, HILO_INVALID_ARGUMENT, "sum: a %s is not a number", jtype(v));
        total = jfloat((total.kind == J_INT ? (double)total.u.i : total.u.f) + (v.kind == J_INT ? (double)v.u.i : v.u.f));
    }
    return total;
}

static struct jval f_reverse(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval list = jsequence(j, self), out = jlist_new(j, false);
    (void)a;
    for (uint32_t i = list.u.list->n; i-- > 0;)
        jlist_push(j, out, list.u.list->v[i]);
    return self.kind == J_STR ? join(j, out, jliteral(STR(""))) : out;
}

static struct jval f_first(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval list = jsequence(j, self);
    (void)a;
    return list.u.list->n ? list.u.list->v[0] : jundefined(STR("the first of nothing"));
}

static struct jval f_last(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval list = jsequence(j, self);
    (void)a;
    return list.u.list->n ? list.u.list->v[list.u.list->n - 1] : jundefined(STR("the last of nothing"));
}

static struct jval f_length(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    if (self.kind == J_STR)
        return jint((int64_t)jlength(self.u.s));
    return jint(jsequence(j, self).u.list->n);
}

static struct jval f_list(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false), list = jsequence(j, self);
    (void)a;
    for (uint32_t i = 0; i < list.u.list->n; i++)
        jlist_push(j, out, list.u.list->v[i]);
    return out;
}

static struct jval f_join(struct jinja *j, struct jval self, const struct jargs *a) {
    const struct jval *by = argument(a, 0, "d"), *path = argument(a, 1, "attribute");
    if (path)
        self = map(j, self, &(struct jargs){NULL, 0, &(struct jbinding){STR("attribute"), *path}, 1});
    return join(j, self, by ? jto_str(j, *by) : jliteral(STR("")));
}

/* ---- filters: of single values ------------------------------------------------------------------------ */

static struct jval f_default(struct jinja *j, struct jval self, const struct jargs *a) {
    const struct jval *v = argument(a, 0, "default_value");
    (void)j;
    bool absent = self.kind == J_UNDEFINED || (flag(a, 1, "boolean", false) && !jtrue(self));
    return !absent ? self : v ? *v : jtext("");
}

static struct jval f_string(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    return jstring(jto_str(j, self));
}

static struct jval f_trim(struct jinja *j, struct jval self, const struct jargs *a) {
    return strip(j, jto_str(j, self), a, LEFT | RIGHT);
}

#define TEXT_FILTER(name, value)                                                                    \
    static struct jval name(struct jinja *j, struct jval self, const struct jargs *a) {             \
        struct jstr s = jto_str(j, self);                                                           \
        (void)a;                                                                                    \
        return value;                                                                               \
    }
TEXT_FILTER(f_upper, upper(j, s))
TEXT_FILTER(f_lower, lower(j, s))
TEXT_FILTER(f_title, map_case(j, s, utf8proc_totitle, utf8proc_tolower, true))
TEXT_FILTER(f_capitalize, map_case(j, s, utf8proc_totitle, utf8proc_tolower, false))
TEXT_FILTER(f_replace, replace(j, s, jto_str(j, required(j, a, 0, "old")), jto_str(j, required(j, a, 1, "new")),
                               number(j, a, 2, "count", -1)))
TEXT_FILTER(f_format, jinja_format(j, s, a->v, a->n))

static struct jval f_indent(struct jinja *j, struct jval self, const struct jargs *a) {
    const struct jval *width = argument(a, 0, "width");
    bool first = flag(a, 1, "first", false), blank = flag(a, 2, "blank", false);
    struct jbuf b = {0}, by = {0};
    struct jstr s = jto_str(j, self);
    int64_t n = width && width->kind == J_STR ? 0 : number(j, a, 0, "width", 4);
    for (; n > 0; n--) {
        jinja_step(j);
        jbuf_put(j, &by, " ", 1, NULL);
    }
    struct jstr indent = width && width->kind == J_STR ? width->u.s : jbuf_take(&by);
    for (size_t at = 0, line = 0; at <= s.n; line++) {
        const char *end = at < s.n ? memchr(s.p + at, '\n', s.n - at) : NULL;
        size_t length = end ? (size_t)(end - s.p) - at : s.n - at;
        jinja_step(j);
        if ((line || first) && (length || blank))
            jbuf_str(j, &b, indent);
        jbuf_str(j, &b, jslice(s, at, length + (end != NULL)));
        if (!end)
            break;
        at += length + 1;
    }
    return jstring(jbuf_take(&b));
}

struct jstr jinja_escape(struct jinja *j, struct jstr s) {
    static const char *const from[] = {"&", "<", ">", "'", "\""}, *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    for (size_t i = 0; i < sizeof from / sizeof *from && !s.markup; i++)
        s = replace(j, s, jtext(from[i]).u.s, jtext(to[i]).u.s, -1).u.s;
    s.markup = true;
    return s;
}

static struct jval f_escape(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    return jstring(jinja_escape(j, jto_str(j, self)));
}

static struct jval f_safe(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr s = jto_str(j, self);
    (void)a;
    s.markup = true;
    return jstring(s);
}

static struct jval f_tojson(struct jinja *j, struct jval self, const struct jargs *a) {
    return jstring(jjson(j, self, a));
}

static struct jval f_from_json(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    if (self.kind != J_STR)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "from_json: a %s is no text", jtype(self));
    return jparse_json(j, self.u.s);
}

/* The number that a string is, in a terminated copy; false when it is none. */
static bool parse_number(struct jinja *j, struct jval v, double *f, int64_t *i, bool *whole) {
    char text[64], *end;
    struct jstr s = v.kind == J_STR ? strip(j, v.u.s, &(struct jargs){0}, LEFT | RIGHT).u.s : (struct jstr){0};
    if (v.kind == J_INT || v.kind == J_BOOL) {
        *i = v.kind == J_INT ? v.u.i : v.u.b;
        *f = (double)*i;
        *whole = true;
        return true;
    }
    if (v.kind == J_FLOAT) {
        *f = v.u.f;
        *whole = false;
        return true;
    }
    if (s.n == 0 || s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    *i = strtoll(text, &end, 10);
    *whole = *end == '\0';
    *f = strtod(text, &end);
    return *end == '\0';
}

static struct jval f_int(struct jinja *j, struct jval self, const struct jargs *a) {
    double f;
    int64_t i;
    bool whole;
    const struct jval *absent = argument(a, 0, "default");
    if (!parse_number(j, self, &f, &i, &whole) || (!whole && !(fabs(f) < 9e18)))
        return absent ? *absent : jint(0);
    return jint(whole ? i : (int64_t)f);
}

static struct jval f_float(struct jinja *j, struct jval self, const struct jargs *a) {
    double f;
    int64_t i;
    bool whole;
    const struct jval *absent = argument(a, 0, "default");
    return parse_number(j, self, &f, &i, &whole) ? jfloat(f) : absent ? *absent : jfloat(0);
}

static struct jval f_abs(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)a;
    if (self.kind == J_INT && self.u.i != INT64_MIN)
        return jint(self.u.i < 0 ? -self.u.i : self.u.i);
    if (self.kind != J_FLOAT)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "abs: a %s is not a number", jtype(self));
    return jfloat(fabs(self.u.f));
}

static struct jval f_round(struct jinja *j, struct jval self, const struct jargs *a) {
    int64_t places = number(j, a, 0, "precision", 0);
    const struct jval *method = argument(a, 1, "method");
    if (self.kind != J_INT && self.kind != J_FLOAT)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "round: a %s is not a number", jtype(self));
    double f = self.kind == J_INT ? (double)self.u.i : self.u.f, scale = pow(10, (double)places);
    bool ceiling = method && method->kind == J_STR && str_is(jplain(method->u.s), "ceil");
    bool floored = method && method->kind == J_STR && str_is(jplain(method->u.s), "floor");
    f *= scale;
    return jfloat((ceiling ? ceil(f) : floored ? floor(f) : nearbyint(f)) / scale);
}

static struct jval f_select(struct jinja *j, struct jval self, const struct jargs *a) {
    return choose(j, self, a, false, true);
}
static struct jval f_reject(struct jinja *j, struct jval self, const struct jargs *a) {
    return choose(j, self, a, false, false);
}
static struct jval f_selectattr(struct jinja *j, struct jval self, const struct jargs *a) {
    return choose(j, self, a, true, true);
}
static struct jval f_rejectattr(struct jinja *j, struct jval self, const struct jargs *a) {
    return choose(j, self, a, true, false);
}
static struct jval f_min(struct jinja *j, struct jval self, const struct jargs *a) {
    return extreme(j, self, a, -1);
}
static struct jval f_max(struct jinja *j, struct jval self, const struct jargs *a) {
    return extreme(j, self, a, 1);
}

const struct jfunction *jinja_filter(struct str name) {
    static const struct jfunction filters[] = {
        {"abs", f_abs},           {"capitalize", f_capitalize}, {"count", f_length},      {"d", f_default},
        {"default", f_default},   {"dictsort", f_dictsort},     {"e", f_escape},          {"escape", f_escape},
        {"first", f_first},       {"float", f_float},           {"format", f_format},     {"from_json", f_from_json},
        {"fromjson", f_from_json}, {"indent", f_indent},        {"int", f_int},           {"items", items},
        {"join", f_join},         {"last", f_last},             {"length", f_length},     {"list", f_list},
        {"lower", f_lower},       {"map", map},                 {"max", f_max},           {"min", f_min},
        {"reject", f_reject},     {"rejectattr", f_rejectattr}, {"replace", f_replace},   {"reverse", f_reverse},
        {"round", f_round},       {"safe", f_safe},           {"select", f_select},     {"selectattr", f_selectattr},
        {"sort", f_sort},         {"string", f_string},         {"sum", f_sum},           {"title", f_title},
        {"tojson", f_tojson},     {"trim", f_trim},             {"unique", f_unique},     {"upper", f_upper},
        {NULL, NULL},
    };
    return named(filters, name);
}

/* ---- tests ---------------------------------------------------------------------------------------------- */

#define KIND_TEST(name, holds)                                                                      \
    static struct jval name(struct jinja *j, struct jval v, const struct jargs *a) {                \
        (void)j, (void)a;                                                                           \
        return jbool(holds);                                                                        \
    }
KIND_TEST(t_defined, v.kind != J_UNDEFINED)
KIND_TEST(t_undefined, v.kind == J_UNDEFINED)
KIND_TEST(t_none, v.kind == J_NONE)
KIND_TEST(t_string, v.kind == J_STR)
KIND_TEST(t_mapping, v.kind == J_DICT)
KIND_TEST(t_iterable, v.kind == J_STR || v.kind == J_LIST || v.kind == J_DICT || v.kind == J_UNDEFINED)
KIND_TEST(t_sequence, v.kind == J_STR || v.kind == J_LIST || v.kind == J_DICT || v.kind == J_UNDEFINED)
KIND_TEST(t_boolean, v.kind == J_BOOL)
KIND_TEST(t_number, v.kind == J_INT || v.kind == J_FLOAT || v.kind == J_BOOL)
KIND_TEST(t_integer, v.kind == J_INT)
KIND_TEST(t_float, v.kind == J_FLOAT)
KIND_TEST(t_true, v.kind == J_BOOL && v.u.b)
KIND_TEST(t_false, v.kind == J_BOOL && !v.u.b)
KIND_TEST(t_callable, v.kind == J_MACRO || v.kind == J_METHOD || v.kind == J_GLOBAL)
KIND_TEST(t_even, v.kind == J_INT && v.u.i % 2 == 0)
KIND_TEST(t_odd, v.kind == J_INT && v.u.i % 2 != 0)
KIND_TEST(t_lower, v.kind == J_STR && str_eq(jplain(lower(j, v.u.s).u.s), jplain(v.u.s)))
KIND_TEST(t_upper, v.kind == J_STR && str_eq(jplain(upper(j, v.u.s).u.s), jplain(v.u.s)))
KIND_TEST(t_eq, jequal(j, v, required(j, a, 0, "other")))
KIND_TEST(t_ne, !jequal(j, v, required(j, a, 0, "other")))
KIND_TEST(t_lt, jorder(j, v, required(j, a, 0, "other")) < 0)
KIND_TEST(t_le, jorder(j, v, required(j, a, 0, "other")) <= 0)
KIND_TEST(t_gt, jorder(j, v, required(j, a, 0, "other")) > 0)
KIND_TEST(t_ge, jorder(j, v, required(j, a, 0, "other")) >= 0)
KIND_TEST(t_in, jcontains(j, required(j, a, 0, "seq"), v))

static struct jval t_divisibleby(struct jinja *j, struct jval v, const struct jargs *a) {
    int64_t by = number(j, a, 0, "num", 0);
    if (by == 0 || v.kind != J_INT)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "divisibleby: expected integers, and not 0");
    return jbool(by == -1 || v.u.i % by == 0);
}

/* The same object; of numbers, strings and constants: equal and of one type. */
static struct jval t_sameas(struct jinja *j, struct jval v, const struct jargs *a) {
    struct jval other = required(j, a, 0, "other");
    if (v.kind != other.kind)
        return jbool(false);
    return jbool(v.kind == J_LIST ? v.u.list == other.u.list
                 : v.kind == J_DICT ? v.u.dict == other.u.dict : jequal(j, v, other));
}

const struct jfunction *jinja_test(struct str name) {
    static const struct jfunction tests[] = {
        {"defined", t_defined},   {"undefined", t_undefined}, {"none", t_none},           {"string", t_string},
        {"mapping", t_mapping},   {"iterable", t_iterable},   {"sequence", t_sequence},   {"boolean", t_boolean},
        {"number", t_number},     {"integer", t_integer},     {"float", t_float},         {"true", t_true},
        {"false", t_false},       {"callable", t_callable},   {"even", t_even},           {"odd", t_odd},
        {"lower", t_lower},       {"upper", t_upper},         {"eq", t_eq},               {"equalto", t_eq},
        {"==", t_eq},             {"ne", t_ne},               {"!=", t_ne},               {"lt", t_lt},
        {"lessthan", t_lt},       {"<", t_lt},                {"le", t_le},               {"<=", t_le},
        {"gt", t_gt},             {"greaterthan", t_gt},      {">", t_gt},                {"ge", t_ge},
        {">=", t_ge},             {"in", t_in},               {"divisibleby", t_divisibleby}, {"sameas", t_sameas},
        {NULL, NULL},
    };
    return named(tests, name);
}

/* ---- global functions -------------------------------------------------------------------------------------- */

static struct jval g_raise_exception(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr s = jto_str(j, required(j, a, 0, "message"));
    (void)self;
    jinja_fail(j, HILO_FAILED_PRECONDITION, "%.*s", (int)(s.n < 1000 ? s.n : 1000), s.p);
}

static struct jval g_strftime_now(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jstr form = text_of(j, a, 0, "format");
    char text[256], f[128];
    struct tm tm;
    time_t now = j->o.now ? j->o.now : time(NULL);
    (void)self;
    if (form.n >= sizeof f || !localtime_r(&now, &tm))
        jinja_fail(j, HILO_INVALID_ARGUMENT, "strftime_now: the format is too long");
    memcpy(f, form.p, form.n);
    f[form.n] = '\0';
    struct jbuf b = {0};
    jbuf_put(j, &b, text, strftime(text, sizeof text, f, &tm), NULL);
    return jstring(jbuf_take(&b));
}

static struct jval g_range(struct jinja *j, struct jval self, const struct jargs *a) {
    struct jval out = jlist_new(j, false);
    (void)self;
    int64_t first = number(j, a, 0, "start", 0), from = a->n > 1 ? first : 0;
    int64_t to = a->n > 1 ? number(j, a, 1, "stop", 0) : first;
    int64_t step = number(j, a, 2, "step", 1);
    if (step == 0)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "range: the step is 0");
    for (int64_t i = from; step > 0 ? i < to : i > to;) {
        if (out.u.list->n == RANGE_MOST)
            jinja_fail(j, HILO_RESOURCE_EXHAUSTED, "range: more than %d numbers", RANGE_MOST);
        jinja_step(j);
        jlist_push(j, out, jint(i));
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    return out;
}

/* namespace(…) and dict(…): of a dict, and of keyword arguments. */
static struct jval make_dict(struct jinja *j, const struct jargs *a, enum jkind kind) {
    struct jval out = jdict_new(j);
    for (uint32_t k = 0; k < a->n && a->v[k].kind == J_DICT; k++)
        for (uint32_t i = 0; i < a->v[k].u.dict->n; i++)
            jdict_set(j, out.u.dict, a->v[k].u.dict->keys[i], a->v[k].u.dict->values[i]);
    for (uint32_t i = 0; i < a->nnamed; i++)
        jdict_set(j, out.u.dict, jstring(jliteral(a->named[i].name)), a->named[i].value);
    out.kind = kind;
    return out;
}

static struct jval g_namespace(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)self;
    return make_dict(j, a, J_NAMESPACE);
}

static struct jval g_dict(struct jinja *j, struct jval self, const struct jargs *a) {
    (void)self;
    return make_dict(j, a, J_DICT);
}

const struct jfunction *jinja_global(struct str name) {
    static const struct jfunction globals[] = {
        {"raise_exception", g_raise_exception}, {"strftime_now", g_strftime_now}, {"range", g_range},
        {"namespace", g_namespace},             {"dict", g_dict},                 {NULL, NULL},
    };
    return named(globals, name);
}
