/* Language models where every allocation fails in turn: loading, reading a prompt, generating. Each failure is answered with
 * RESOURCE_EXHAUSTED, and leaks no memory. What jansson and PCRE2 allocate themselves is not among them. */
#include "hilo.h"
#include "base/mem.h"
#include "llm/tokenizer.h"
#include "tests/tools/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static hilo_status generate(hilo_client *client, const char *precision, int32_t *out) {
    hilo_llm *model = NULL;
    hilo_llm_options o;
    hilo_generate_options g;
    const hilo_llm_message m = {"user", "What is a free licence?"};
    int32_t ids[64];
    size_t n = 0;
    hilo_llm_options_init(&o);
    hilo_generate_options_init(&g);
    o.precision = precision;
    g.max_tokens = 2;
    hilo_status status = hilo_llm_load(client, "tests/llm/tiny-llama", &o, &model);
    if (status == HILO_OK)
        status = hilo_llm_encode_chat(model, &m, 1, ids, 64, &n);
    if (status == HILO_OK)
        status = hilo_llm_generate(model, ids, n, &g, out, 2, NULL);
    hilo_llm_release(model);
    return status;
}

/* Where in a run allocations fail: one by one at first, then in steps that grow, so that the test ends. */
static void fail_in_turn(const char *precision) {
    for (long k = 0;; k += 1 + k / 8) {
        struct meter meter;
        hilo_client *client = NULL;
        hilo_client_options co;
        int32_t out[2];
        atomic_init(&meter.live, 0);
        atomic_init(&meter.left, k);
        hilo_client_options_init(&co);
        co.allocator = (hilo_allocator){meter_realloc, &meter};
        hilo_status status = hilo_client_create(&co, &client);
        if (status == HILO_OK)
            status = generate(client, precision, out);
        hilo_client_release(client);
        if (atomic_load(&meter.live) != 0 || (status != HILO_OK && status != HILO_RESOURCE_EXHAUSTED))
            fail_msg("allocation %ld: status %d, %ld allocations left", k, (int)status, atomic_load(&meter.live));
        if (status == HILO_OK)
            return;
    }
}

static void test_stored(void **state) {
    (void)state;
    fail_in_turn(NULL);
}

static void test_quantised(void **state) {
    (void)state;
    fail_in_turn("int4");
}

/* A tokenizer whose merges are larger than a block of memory, so that some allocation fails between two of them. */
static void test_merges(void **state) {
    (void)state;
    enum { SIDE = 400, MERGES = 200 };
    hilo_allocator al = mem_system_allocator();
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    struct strbuf text;
    char a[SIDE + 1] = "", b[SIDE + 1] = "";
    memset(a, 'a', SIDE);
    memset(b, 'b', SIDE);
    strbuf_init(&text, al);
    strbuf_printf(&text, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\","
                         "\"vocab\":{\"%s\":0,\"%s\":1,\"%s%s\":2},\"merges\":[", a, b, a, b);
    for (int i = 0; i < MERGES; i++)
        strbuf_printf(&text, "%s\"%s %s\"", i ? "," : "", a, b);
    strbuf_puts(&text, "]}}");
    assert_false(text.failed);
    for (long k = 0; status != HILO_OK; k++) {
        struct meter meter;
        struct diag_list d;
        struct llm_tok *t = NULL;
        atomic_init(&meter.live, 0);
        atomic_init(&meter.left, k);
        diag_init(&d, al);
        status = llm_tok_parse((struct str){text.p, text.n}, "merges", (hilo_allocator){meter_realloc, &meter}, &d, &t);
        llm_tok_free(t);
        if (atomic_load(&meter.live) != 0 || (status != HILO_OK && status != HILO_RESOURCE_EXHAUSTED))
            fail_msg("allocation %ld: status %d, %ld allocations left; %s", k, (int)status, atomic_load(&meter.live),
                     d.first ? d.first->message : "");
        diag_clear(&d);
    }
    strbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored), cmocka_unit_test(test_quantised),
                                       cmocka_unit_test(test_merges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
