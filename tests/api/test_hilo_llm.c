/* The language models of hilo.h: loading, tokens, conversations, generating, and what is refused. */
#include "hilo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL "tests/llm/tiny-llama"
static const char answer[] = "of the GNU General Public License, Version 2.";

struct fixture { hilo_client *client; hilo_llm *model; };

static int setup(void **state) {
    static struct fixture f;
    hilo_llm_options o;
    hilo_llm_options_init(&o);
    o.precision = "f32";
    o.context = 512;
    assert_int_equal(hilo_client_create(NULL, &f.client), HILO_OK);
    assert_int_equal(hilo_llm_load(f.client, MODEL, &o, &f.model), HILO_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    hilo_client_release(f->client); /* the model keeps it */
    hilo_llm_release(f->model);
    return 0;
}

struct text { char p[256]; size_t n; int most; };

static void put(void *user, const char *text, size_t n) {
    struct text *t = user;
    assert_true(t->n + n < sizeof t->p);
    memcpy(t->p + t->n, text, n);
    t->n += n;
    t->p[t->n] = '\0';
}

static int on_text(void *user, const char *text, size_t n) {
    struct text *t = user;
    put(user, text, n);
    return t->most && --t->most == 0;
}

static size_t prompt(const struct fixture *f, int32_t ids[64]) {
    const hilo_llm_message m = {"user", "Continue: Licensed under the Apache"};
    size_t n;
    assert_int_equal(hilo_llm_encode_chat(f->model, &m, 1, NULL, 0, &n), HILO_OK);
    assert_true(n <= 64);
    assert_int_equal(hilo_llm_encode_chat(f->model, &m, 1, ids, n, &n), HILO_OK);
    return n;
}

static void test_tokens(void **state) {
    const struct fixture *f = *state;
    int32_t ids[3];
    size_t n;
    struct text t = {.n = 0};
    assert_int_equal(hilo_llm_context(f->model), 512);
    assert_int_equal(hilo_llm_encode(f->model, "hello world", 11, ids, 3, &n), HILO_OK);
    assert_int_equal(n, 6); /* there was room for three */
    assert_int_equal(ids[0], 2048);
    assert_int_equal(hilo_llm_decode(f->model, ids + 1, 2, put, &t), HILO_OK);
    assert_string_equal(t.p, "hell");
    assert_int_equal(hilo_llm_encode(f->model, NULL, 1, ids, 3, &n), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_llm_encode_chat(f->model, &(hilo_llm_message){"user", "\xFF"}, 1, ids, 3, &n), HILO_INVALID_ARGUMENT);
    hilo_diagnostics_clear(f->client);
}

static void test_generate(void **state) {
    const struct fixture *f = *state;
    int32_t p[64], ids[64];
    size_t n = prompt(f, p);
    struct text t = {.n = 0};
    hilo_generated g = {.struct_size = sizeof g};
    hilo_generate_options o;
    hilo_generate_options_init(&o);
    o.on_text = on_text;
    o.on_text_user = &t;
    assert_int_equal(hilo_llm_generate(f->model, p, n, &o, ids, 64, &g), HILO_OK);
    assert_string_equal(t.p, answer);
    assert_int_equal(g.finish, HILO_FINISH_END);
    assert_int_equal(g.ntokens, 12);
    assert_int_equal(g.prompt_read + g.prompt_reused, n);
    assert_int_equal(ids[11], 2052);

    t = (struct text){.most = 3};
    assert_int_equal(hilo_llm_generate(f->model, p, n, &o, NULL, 0, &g), HILO_OK);
    assert_int_equal(g.finish, HILO_FINISH_CALLER);
    assert_int_equal(g.prompt_reused, 0); /* which takes over whole portions; this prompt is one */

    t = (struct text){.n = 0};
    o.stop = (const char *const[]){"nothing of the kind", "General Pub"};
    o.nstop = 2;
    assert_int_equal(hilo_llm_generate(f->model, p, n, &o, NULL, 0, &g), HILO_OK);
    assert_string_equal(t.p, "of the GNU ");
    assert_int_equal(g.finish, HILO_FINISH_STOP);
}

static void test_context(void **state) {
    const struct fixture *f = *state;
    int32_t p[512];
    hilo_generated g = {.struct_size = sizeof g};
    for (int i = 0; i < 512; i++)
        p[i] = 100;
    assert_int_equal(hilo_llm_generate(f->model, p, 510, NULL, NULL, 0, &g), HILO_OK);
    assert_int_equal(g.finish, HILO_FINISH_CONTEXT);
    assert_int_equal(g.ntokens, 3); /* two that are read, and the one after them */
    assert_int_equal(hilo_llm_generate(f->model, p, 512, NULL, NULL, 0, &g), HILO_OK);
    p[7] = 1 << 20;
    assert_int_equal(hilo_llm_generate(f->model, p, 9, NULL, NULL, 0, NULL), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_llm_generate(f->model, p, 0, NULL, NULL, 0, NULL), HILO_INVALID_ARGUMENT);
    hilo_diagnostics_clear(f->client);
}

static void test_refusals(void **state) {
    const struct fixture *f = *state;
    hilo_llm *m = NULL;
    hilo_llm_options o;
    hilo_llm_options_init(&o);
    assert_int_equal(hilo_llm_load(f->client, "absent", NULL, &m), HILO_NOT_FOUND);
    assert_int_equal(hilo_llm_load(f->client, NULL, NULL, &m), HILO_INVALID_ARGUMENT);
    o.precision = "f31";
    assert_int_equal(hilo_llm_load(f->client, MODEL, &o, &m), HILO_INVALID_ARGUMENT);
    o.precision = NULL, o.engine = "abacus";
    assert_int_equal(hilo_llm_load(f->client, MODEL, &o, &m), HILO_NOT_FOUND);
    o.engine = NULL, o.level = 4;
    assert_int_equal(hilo_llm_load(f->client, MODEL, &o, &m), HILO_INVALID_ARGUMENT);
    o.level = 2, o.context = 1 << 20;
    assert_int_equal(hilo_llm_load(f->client, MODEL, &o, &m), HILO_INVALID_ARGUMENT);
    assert_null(m);
    hilo_llm_release(NULL);
    hilo_diagnostics_clear(f->client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens), cmocka_unit_test(test_generate),
                                       cmocka_unit_test(test_context), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
