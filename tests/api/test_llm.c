/* Language models: what the tiny model answers is what was recorded of it (golden.json), on every engine, alone and in a
 * batch, however its text is cut. HILO_TEST_LONG in the environment: all cases, at all levels, and the precisions. */
#include "llm/json.h"
#include "llm/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MODEL "tests/llm/tiny-llama"
enum { MOST = 64 };

static bool is_long(void) {
    const char *v = getenv("HILO_TEST_LONG");
    return v && *v;
}

struct fixture {
    hilo_client *client;
    struct llm_json golden;
    struct diag_list d;
};

static int setup(void **state) {
    static struct fixture f;
    diag_init(&f.d, mem_system_allocator());
    assert_int_equal(hilo_client_create(NULL, &f.client), HILO_OK);
    assert_int_equal(llm_json_open(&f.golden, MODEL "/golden.json", mem_system_allocator(), &f.d), HILO_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    llm_json_close(&f->golden);
    hilo_client_release(f->client);
    return 0;
}

static void check(hilo_client *client, hilo_status status) {
    if (status == HILO_OK)
        return;
    hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    fail_msg("%s", hilo_status_name(status));
}

static struct llm_session *session(hilo_client *client, const struct llm_session_options *o) {
    struct llm_session *s = NULL;
    check(client, llm_session_open(client, MODEL, o, &s));
    return s;
}

struct text { int32_t v[MOST]; size_t n; };

static struct text ids_of(const json_t *a) {
    struct text t = {.n = json_array_size(a)};
    assert_true(t.n <= MOST);
    for (size_t i = 0; i < t.n; i++)
        t.v[i] = (int32_t)json_integer_value(json_array_get(a, i));
    return t;
}

struct golden { struct text prompt, answer; const json_t *logits; };

static struct golden golden(const struct fixture *f, size_t i) {
    const json_t *one = json_array_get(json_object_get(f->golden.root, "cases"), i);
    assert_non_null(one);
    return (struct golden){ids_of(json_object_get(one, "prompt_ids")), ids_of(json_object_get(one, "new_tokens")),
                           json_object_get(one, "last_logits_head")};
}

static void check_case(struct llm_session *s, const struct golden *g) {
    const int32_t *ids = g->prompt.v;
    int32_t next = -1;
    llm_session_reset(s);
    check(s->client, llm_session_prefill(s, &ids, &g->prompt.n, &next, NULL));
    for (size_t i = 0; i < g->answer.n; i++) {
        assert_int_equal(next, g->answer.v[i]);
        if (i + 1 < g->answer.n)
            check(s->client, llm_session_decode(s, NULL, &next, NULL));
    }
}

static void check_golden(const struct fixture *f, const char *engine, int32_t level, size_t from, size_t to) {
    const struct llm_session_options o = {.engine = engine, .precision = LLM_F32, .level = level};
    struct llm_session *s = session(f->client, &o);
    for (size_t i = from; i < to; i++) {
        const struct golden g = golden(f, i);
        check_case(s, &g);
    }
    llm_session_close(s);
}

static void test_golden(void **state) {
    const struct fixture *f = *state;
    check_golden(f, "hilo", 2, 0, is_long() ? 11 : 1);
    check_golden(f, "reference", 2, is_long() ? 0 : 10, 11);
    for (int32_t level = 0; level < 4 && is_long(); level++)
        check_golden(f, "hilo", level, 0, 11);
}

static void test_logits(void **state) {
    const struct fixture *f = *state;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    struct llm_session *s = session(f->client, &o);
    float logits[2054];
    for (size_t i = 0; i < 11; i++) {
        const struct golden g = golden(f, i);
        const int32_t *ids = g.prompt.v;
        llm_session_reset(s);
        check(s->client, llm_session_prefill(s, &ids, &g.prompt.n, NULL, logits));
        for (size_t k = 0; k < json_array_size(g.logits); k++)
            assert_true(fabs((double)logits[k] - json_number_value(json_array_get(g.logits, k))) < 1e-3);
    }
    llm_session_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_logits)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
