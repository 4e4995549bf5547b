/* JSON files of models: see json.h. */
#include "llm/json.h"

#include "base/decimal.h"
#include "base/file.h"

#include <math.h>

hilo_status llm_json_fail(struct llm_json *j, const char *fmt, ...) {
    if (j->status != HILO_OK)
        return j->status;
    va_list ap;
    va_start(ap, fmt);
    j->status = diag_vadd(j->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, (struct diag_loc){.file = str_of(j->file)},
                          (struct str){NULL, 0}, fmt, ap);
    va_end(ap);
    return j->status;
}

/* Length of the integer at the beginning of s. */
static size_t integer_length(struct str s) {
    size_t n = s.n && s.p[0] == '-';
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n;
}

/* Loads a text with integers beyond 64 bits written as real numbers. */
static json_t *load_with_long_integers(struct str text, size_t flags, hilo_allocator al, json_error_t *error) {
    struct strbuf out;
    json_t *root = NULL;
    strbuf_init(&out, al);
    bool quoted = false;
    for (size_t i = 0; i < text.n;) {
        size_t n = quoted ? 0 : integer_length((struct str){text.p + i, text.n - i});
        char c = text.p[i];
        if (quoted && c == '\\' && i + 1 < text.n)
            n = 2;
        quoted ^= c == '"';
        const char *begin = text.p + i;
        strbuf_putn(&out, begin, n ? n : 1);
        i += n ? n : 1;
        if (!quoted && n >= 19 && !(i < text.n && strchr(".eE", text.p[i])) &&
            !dec_parse_i64(begin, begin + n, &(int64_t){0}, &(const char *){NULL}))
            strbuf_puts(&out, "e0");
    }
    if (!out.failed)
        root = json_loadb(out.p, out.n, flags, error);
    strbuf_free(&out);
    return root;
}

json_t *llm_json_load(struct str text, size_t flags, hilo_allocator al, json_error_t *error) {
    json_t *v = json_loadb(text.p ? text.p : "", text.n, flags, error);
    if (!v && json_error_code(error) == json_error_numeric_overflow)
        v = load_with_long_integers(text, flags, al, error);
    return v;
}

static hilo_status parse(struct llm_json *j, struct str text, const char *name, json_type type, struct diag_list *d) {
    json_error_t error;
    *j = (struct llm_json){.file = name, .d = d, .status = HILO_OK};
    j->root = llm_json_load(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, d->al, &error);
    if (!j->root) {
        struct diag_loc at = {.file = str_of(name)};
        if (error.line > 0)
            at.line = (uint32_t)error.line, at.col = error.column > 0 ? (uint32_t)error.column : 1;
        hilo_status status = json_error_code(&error) == json_error_out_of_memory ? HILO_RESOURCE_EXHAUSTED
                                                                                 : HILO_INVALID_ARGUMENT;
        j->status = diag_add(d, DIAG_ERROR, status, NULL, at, (struct str){NULL, 0}, "not JSON: %s", error.text);
    } else if (json_typeof(j->root) != type) {
        llm_json_fail(j, "a JSON %s was expected", type == JSON_OBJECT ? "object" : "array");
        llm_json_close(j);
    }
    return j->status;
}

hilo_status llm_json_parse(struct llm_json *j, struct str text, const char *name, struct diag_list *d) {
    return parse(j, text, name, JSON_OBJECT, d);
}

static hilo_status open_file(struct llm_json *j, const char *path, json_type type, hilo_allocator al, struct diag_list *d) {
    struct file f;
    *j = (struct llm_json){.file = path, .d = d};
    j->status = file_open(path, al, d, &f);
    if (j->status == HILO_OK) {
        parse(j, f.text, path, type, d);
        file_close(&f);
    }
    return j->status;
}

hilo_status llm_json_open(struct llm_json *j, const char *path, hilo_allocator al, struct diag_list *d) {
    return open_file(j, path, JSON_OBJECT, al, d);
}

hilo_status llm_json_open_array(struct llm_json *j, const char *path, hilo_allocator al, struct diag_list *d) {
    return open_file(j, path, JSON_ARRAY, al, d);
}

void llm_json_close(struct llm_json *j) {
    json_decref(j->root);
    j->root = NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* NULL when it is absent or null. */
static const json_t *field(struct llm_object o, const char *key) {
    const json_t *v = o.o ? json_object_get(o.o, key) : NULL;
    return v && !json_is_null(v) ? v : NULL;
}

static void wrong(struct llm_object o, const char *key, const char *expected) {
    llm_json_fail(o.j, "'%s%s' is not %s", o.where, key, expected);
}

int64_t llm_json_int(struct llm_object o, const char *key, int64_t least, int64_t most, int64_t absent) {
    const json_t *v = field(o, key);
    if (!v && absent == LLM_REQUIRED)
        llm_json_fail(o.j, "'%s%s' is missing", o.where, key);
    if (!v)
        return absent == LLM_REQUIRED ? least : absent;
    double real = json_is_real(v) ? json_real_value(v) : 0; /* 4.0 is an integer to some writers */
    bool whole = json_is_integer(v) || (json_is_real(v) && real == floor(real) && fabs(real) < 9e15);
    int64_t n = json_is_integer(v) ? (int64_t)json_integer_value(v) : whole ? (int64_t)real : 0;
    if (!whole)
        wrong(o, key, "an integer");
    else if (n < least || n > most)
        llm_json_fail(o.j, "'%s%s' is %lld; %lld to %lld was expected", o.where, key, (long long)n, (long long)least,
                      (long long)most);
    return o.j->status == HILO_OK ? n : least;
}

double llm_json_real(struct llm_object o, const char *key, double absent) {
    const json_t *v = field(o, key);
    if (v && !json_is_number(v))
        wrong(o, key, "a number");
    double x = v && json_is_number(v) ? json_number_value(v) : absent;
    if (!isfinite(x))
        wrong(o, key, "a finite number");
    return isfinite(x) ? x : 1;
}

bool llm_json_bool(struct llm_object o, const char *key, bool absent) {
    const json_t *v = field(o, key);
    if (v && !json_is_boolean(v))
        wrong(o, key, "true or false");
    return v ? json_is_true(v) : absent;
}

const char *llm_json_text(struct llm_object o, const char *key, const char *absent) {
    const json_t *v = field(o, key);
    if (v && !json_is_string(v))
        wrong(o, key, "a string");
    return v && json_is_string(v) ? json_string_value(v) : absent;
}

const json_t *llm_json_array(struct llm_object o, const char *key) {
    const json_t *v = field(o, key);
    if (v && !json_is_array(v))
        wrong(o, key, "an array");
    return v && json_is_array(v) ? v : NULL;
}

const json_t *llm_json_object(struct llm_object o, const char *key) {
    const json_t *v = field(o, key);
    if (v && !json_is_object(v))
        wrong(o, key, "an object");
    return v && json_is_object(v) ? v : NULL;
}

bool llm_json_has(struct llm_object o, const char *key) {
    return field(o, key) != NULL;
}
