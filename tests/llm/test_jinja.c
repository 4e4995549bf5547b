/* The Jinja engine against what Jinja2 renders (jinja_cases.json, written by tests/tools/gen_jinja_cases.py), its bounds, and
 * where bytes come from. */
#include "llm/jinja/jinja.h"
#include "llm/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static hilo_status render(struct str template, const json_t *input, const json_t *trusted, const struct jinja_options *o,
                          struct diag_list *d, struct jinja_text *text) {
    struct jinja_template *t;
    *text = (struct jinja_text){.al = mem_system_allocator()};
    hilo_status status = jinja_parse(mem_system_allocator(), d, STR("template"), template, &t);
    if (status == HILO_OK)
        status = jinja_render(t, input, trusted, o, d, text);
    if (status != HILO_OK)
        assert_non_null(d->first);
    jinja_free(t);
    return status;
}

static struct str text_of(const json_t *v) {
    return (struct str){json_string_value(v), json_string_length(v)};
}

static void test_cases(void **state) {
    (void)state;
    struct diag_list d;
    struct llm_json j;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_json_open(&j, "tests/llm/jinja_cases.json", mem_system_allocator(), &d), HILO_OK);
    const json_t *cases = json_object_get(j.root, "cases"), *variables = json_object_get(j.root, "variables");
    const struct jinja_options o = {.now = json_integer_value(json_object_get(j.root, "now"))};
    json_t *trusted = json_pack("{s:s}", "bos_token", "<s>");
    setenv("TZ", "UTC", 1);
    assert_true(json_array_size(cases) > 50);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        const json_t *want = json_object_get(one, "text"), *error = json_object_get(one, "error");
        struct str template = text_of(json_object_get(one, "template"));
        struct jinja_text text;
        hilo_status status = render(template, variables, trusted, &o, &d, &text);
        if (want && (status != HILO_OK || !str_eq((struct str){text.p, text.n}, text_of(want))))
            fail_msg("%.*s\n  renders: %.*s\n  expected: %.*s\n  error: %s", (int)template.n, template.p, (int)text.n, text.p,
                     (int)text_of(want).n, text_of(want).p, d.first ? d.first->message : "");
        if (error && status == HILO_OK)
            fail_msg("%.*s\n  is refused by Jinja2, and renders: %.*s", (int)template.n, template.p, (int)text.n, text.p);
        if (error && text_of(error).n) {
            assert_int_equal(status, HILO_FAILED_PRECONDITION);
            assert_string_equal(d.first->message, text_of(error).p);
        }
        jinja_text_free(&text);
        diag_clear(&d);
    }
    json_decref(trusted);
    llm_json_close(&j);
}

/* Bytes of the input are marked, through whatever they pass; what the template and trusted variables write is not. */
static void test_origin(void **state) {
    (void)state;
    static const struct { const char *template, *text, *marks; } cases[] = {
        {"{{ bos_token }}[{{ user }}]", "<s>[ab<s>]", "....iiiii."},
        {"{{ user | upper ~ '-' ~ user[::-1] }}", "AB<S>->s<ba", "iiiii.iiiii"},
        {"{{ user | tojson }}{{ {'k': user} }}", "\"ab<s>\"{'k': 'ab<s>'}", ".iiiii........iiiii.."},
        {"{{ user.replace('b', '|') }}{{ '|'.join([user, 'x']) }}", "a|<s>ab<s>|x", "i.iiiiiiii.."},
        {"{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(user) | trim }}", "<ab<s>>", ".iiiii."},
        {"{% set b %}{{ user }}!{% endset %}{{ b.split('<')[1] }}", "s>!", "ii."},
        {"{% for c in user %}{{ c }}.{% endfor %}", "a.b.<.s.>.", "i.i.i.i.i."},
        {"{{ '%s=%s' % ('k', user) }}", "k=ab<s>", "..iiiii"},
    };
    json_t *input = json_pack("{s:s}", "user", "ab<s>"), *trusted = json_pack("{s:s}", "bos_token", "<s>");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag_list d;
        struct jinja_text text;
        diag_init(&d, mem_system_allocator());
        assert_int_equal(render(str_of(cases[i].template), input, trusted, NULL, &d, &text), HILO_OK);
        assert_int_equal(text.n, strlen(cases[i].text));
        assert_memory_equal(text.p, cases[i].text, text.n);
        for (size_t k = 0; k < text.n; k++)
            if (text.from_input[k] != (cases[i].marks[k] == 'i'))
                fail_msg("%s: byte %zu, '%c'", cases[i].template, k, text.p[k]);
        jinja_text_free(&text);
        diag_clear(&d);
    }
    json_decref(input);
    json_decref(trusted);
}

/* Templates of strangers end in time and memory. */
static void test_bounds(void **state) {
    (void)state;
    static const char *const hostile[] = {
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(1000) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
        "{{ 'x' * 1000000000 }}",
        "{{ range(1000000000) }}",
        "{{ '' | indent(1000000000, true) }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(1000) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
        ("{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}"
         "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}"),
        "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{{ 'y' in s }}{% endfor %}",
        "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{{ s == s }}{% endfor %}",
        "{% set s = 'x' * 1000000 %}{% for i in range(100000) %}{{ s.find('y') }}{% endfor %}",
        "{% set s = 'x' * 300000 %}{% set t = 'y' * 300000 ~ 'x' %}{{ s.strip(t) }}",
    };
    const struct jinja_options o = {.steps = 1000000, .bytes = 64 << 20};
    json_t *input = json_object();
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct diag_list d;
        struct jinja_text text;
        diag_init(&d, mem_system_allocator());
        hilo_status status = render(str_of(hostile[i]), input, NULL, &o, &d, &text);
        if (status != HILO_RESOURCE_EXHAUSTED && status != HILO_INVALID_ARGUMENT)
            fail_msg("%s: status %d", hostile[i], (int)status);
        diag_clear(&d);
    }
    char deep[4000];
    for (int kind = 0; kind < 3; kind++) { /* nested deeper than a stack is long */
        struct diag_list d;
        struct jinja_text text;
        diag_init(&d, mem_system_allocator());
        size_t n = 0;
        n += (size_t)snprintf(deep, sizeof deep, "{{ ");
        for (int i = 0; i < 900; i++)
            n += (size_t)snprintf(deep + n, sizeof deep - n, "%s", kind == 0 ? "(" : kind == 1 ? "[" : "not ");
        assert_int_equal(render((struct str){deep, n}, input, NULL, &o, &d, &text), HILO_INVALID_ARGUMENT);
        diag_clear(&d);
    }
    json_decref(input);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_origin),
                                       cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
