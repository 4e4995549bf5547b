/* A language model over several devices and nodes (llm/shard.h): shards are the model; the recorded tokens; the same bits on
 * one node with two devices and on two nodes with one. HILO_TEST_LONG: in more precisions, with four devices, by the
 * evaluator. */
#include "llm/generate.h"
#include "llm/json.h"
#include "../test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char MODEL[] = "tests/llm/tiny-llama";

enum { MOST = 64, VOCAB = 2054, TEXTS = 3, STEPS = 12, NO_UCX = 77 };

static hilo_status open_shard(enum llm_precision precision, int64_t index, int64_t count, struct llm_model *out) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    hilo_status status = llm_model_open(MODEL, precision, (struct llm_shard){index, count}, NULL, NULL, d.al, &d, out);
    diag_clear(&d);
    return status;
}

/* ---- shards ---------------------------------------------------------------------------------- */

/* Of a part of a weight, as plain bytes: where it is in the whole one. */
static size_t row_bytes(const struct llm_param *p) {
    return p->bytes / (size_t)p->dims[0];
}

/* Rows or columns of shard k of n are those of the whole parameter; true if it is divided. */
static bool check_param(const struct llm_param *whole, const struct llm_param *part, size_t k, size_t n) {
    const char *w = whole->data, *p = part->data;
    assert_int_equal(whole->dtype, part->dtype);
    assert_int_equal(whole->rank, part->rank);
    if (part->bytes == whole->bytes) {
        assert_memory_equal(w, p, whole->bytes);
        return false;
    }
    assert_int_equal(part->bytes * n, whole->bytes);
    if (part->dims[0] < whole->dims[0]) {
        assert_memory_equal(w + k * part->bytes, p, part->bytes);
        return true;
    }
    for (size_t i = 0; i < (size_t)whole->dims[0]; i++)
        assert_memory_equal(w + i * row_bytes(whole) + k * row_bytes(part), p + i * row_bytes(part), row_bytes(part));
    return true;
}

/* All of it is somewhere, and no device has more than its share and what all need: norms, and scales of whole rows. */
static void test_shards(void **state) {
    (void)state;
    static const enum llm_precision precisions[] = {LLM_F32, LLM_BF16, LLM_INT8};
    struct llm_model whole, part;
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        assert_int_equal(open_shard(precisions[i], 0, 1, &whole), HILO_OK);
        for (int64_t k = 0; k < 2; k++) {
            size_t divided = 0, all = 0;
            assert_int_equal(open_shard(precisions[i], k, 2, &part), HILO_OK);
            assert_int_equal(part.nparams, whole.nparams);
            for (size_t j = 0; j < whole.nparams; j++) {
                if (check_param(&whole.params[j], &part.params[j], (size_t)k, 2))
                    divided += part.params[j].bytes;
                else
                    all += part.params[j].bytes;
            }
            assert_int_equal(part.bytes, divided + all);
            assert_true(all < whole.bytes / 50);
            assert_int_equal(part.config.heads, 4);
            assert_int_equal(part.config.layer[0].kv_heads, 1);
            llm_model_close(&part);
        }
        llm_model_close(&whole);
    }
}

/* More devices than heads of keys: neighbours have the same ones. A vocabulary of 2,054 is not divided by 4. */
static void test_repeated_heads(void **state) {
    (void)state;
    struct llm_model whole, part;
    assert_int_equal(open_shard(LLM_F32, 0, 1, &whole), HILO_OK);
    for (int64_t k = 0; k < 4; k++) {
        assert_int_equal(open_shard(LLM_F32, k, 4, &part), HILO_OK);
        const struct llm_weight *w = llm_model_weight(&whole, LLM_W_K, 1), *p = llm_model_weight(&part, LLM_W_K, 1);
        const struct llm_param *from = &whole.params[w->first], *to = &part.params[p->first];
        assert_int_equal(p->rows, 16);
        assert_memory_equal((const char *)from->data + (size_t)(k / 2) * to->bytes, to->data, to->bytes);
        assert_int_equal(llm_model_weight(&part, LLM_W_EMBED, 0)->rows, VOCAB);
        llm_model_close(&part);
    }
    llm_model_close(&whole);
}

static void refuse(enum llm_precision precision, int64_t count, const char *why) {
    struct llm_model m;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_model_open(MODEL, precision, (struct llm_shard){0, count}, NULL, NULL, d.al, &d, &m),
                     HILO_UNIMPLEMENTED);
    if (!strstr(d.first->message, why))
        fail_msg("'%s' expected in: %s", why, d.first->message);
    diag_clear(&d);
}

static void test_refusals(void **state) {
    (void)state;
    refuse(LLM_F32, 3, "8 heads in layer 0 cannot be divided by 3 devices");
    refuse(LLM_F32, 16, "8 heads in layer 0");
    refuse(LLM_INT4, 2, "'model.layers.0.mlp.down_proj.weight' has 11 groups in a row, which cannot be divided by 2 devices");
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static hilo_client *client_of(int32_t devices, int32_t nodes, int32_t node, const char *dir) {
    hilo_client_options o;
    hilo_client *client = NULL;
    hilo_client_options_init(&o);
    o.threads = devices;
    o.devices = devices;
    o.nodes = nodes;
    o.node = node;
    o.node_dir = dir;
    return hilo_client_create(&o, &client) == HILO_OK ? client : NULL;
}

static size_t ids_of(const json_t *a, int32_t ids[MOST]) {
    size_t n = json_array_size(a);
    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(a, i));
    return n;
}

/* All recorded texts, 48 tokens each, by a model over devices. */
static void check_texts(int32_t devices, enum llm_precision precision, const char *engine) {
    const struct llm_session_options o = {.precision = precision, .level = 2, .engine = engine};
    struct llm_session *s;
    struct llm_json golden;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    hilo_client *client = client_of(devices, 0, 0, NULL);
    assert_non_null(client);
    assert_int_equal(llm_json_open(&golden, "tests/llm/tiny-llama/golden.json", d.al, &d), HILO_OK);
    assert_int_equal(llm_session_open(client, MODEL, &o, &s), HILO_OK);
    assert_int_equal(llm_session_capabilities(s).devices, devices);
    const json_t *cases = json_object_get(golden.root, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        int32_t prompt[MOST], want[MOST];
        size_t n = ids_of(json_object_get(json_array_get(cases, i), "prompt_ids"), prompt);
        size_t most = ids_of(json_object_get(json_array_get(cases, i), "new_tokens"), want);
        const struct llm_generate_options go = {.most = most, .sampling = LLM_GREEDY};
        struct llm_generated g;
        llm_generated_init(&g, d.al);
        assert_int_equal(llm_generate(s, prompt, n, &go, &g), HILO_OK);
        assert_int_equal(g.ids.n, most);
        assert_memory_equal(g.ids.v, want, most * sizeof *want);
        assert_true(!g.decode.known || g.decode.copied_bytes == 0); /* caches are updated in place */
        llm_generated_free(&g);
    }
    llm_session_close(s);
    llm_json_close(&golden);
    hilo_client_release(client);
}

static void test_texts(void **state) {
    (void)state;
    check_texts(2, LLM_F32, "hilo");
    if (test_is_long()) {
        check_texts(4, LLM_F32, "hilo");
        check_texts(2, LLM_F32, "reference");
    }
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* What a session computes in the ways that sessions do: logits of prompts and steps, alone and side by side, copies, scores,
   verified tokens, a vector. */
struct results {
    float logits[TEXTS + 2][VOCAB], scores[STEPS], vector[128];
    int32_t verified[STEPS];
    int done;
};

static bool compute(struct llm_session *s, struct results *r) {
    int32_t ids[300], next[TEXTS] = {5, 6, 7};
    const int32_t *p = ids;
    struct llm_session *forks[TEXTS] = {NULL};
    bool good = true;
    for (int i = 0; i < 300; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    for (size_t i = 0; i < TEXTS; i++) { /* the last one makes the caches grow */
        size_t n = i == 2 ? 250 : 9 * i + 3;
        good = good && llm_session_fork(s, &forks[i]) == HILO_OK &&
               llm_session_prefill(forks[i], &p, &n, NULL, r->logits[i]) == HILO_OK;
    }
    for (int step = 0; step < STEPS && good; step++)
        good = llm_session_decode_apart(forks, TEXTS, next, r->logits[0]) == HILO_OK;
    good = good && llm_session_copy(forks[0], 5, forks[1]) == HILO_OK &&
           llm_session_decode(forks[1], &next[1], NULL, r->logits[TEXTS]) == HILO_OK &&
           llm_session_verify(forks[2], ids, STEPS, r->verified) == HILO_OK &&
           llm_session_score(s, ids, STEPS, r->scores) == HILO_OK && s->embedding.width == 128 &&
           llm_session_embed(s, ids, STEPS, r->vector) == HILO_OK &&
           llm_session_decode(s, next, NULL, r->logits[TEXTS + 1]) == HILO_OK;
    for (int i = 0; i < TEXTS; i++)
        llm_session_close(forks[i]);
    r->done = good;
    return good;
}

static int node_main(int32_t devices, int32_t nodes, int32_t node, const char *dir, enum llm_precision precision,
                     struct results *r) {
    const struct llm_session_options o = {.precision = precision, .level = 2};
    struct llm_session *s = NULL;
    hilo_client *client = client_of(devices, nodes, node, dir);
    if (!client)
        return NO_UCX;
    bool good = llm_session_open(client, MODEL, &o, &s) == HILO_OK && llm_session_follows(s) == (node > 0) &&
                (node ? llm_session_follow(s) == HILO_OK : compute(s, r));
    if (!good)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    llm_session_close(s);
    hilo_client_release(client);
    return good ? 0 : 1;
}

/* `r` is shared with node 0. False: there is no UCX. */
static bool run_nodes(int32_t devices, int32_t nodes, enum llm_precision precision, struct results *r) {
    char dir[] = "/tmp/hilo-test-XXXXXX", command[64];
    pid_t pids[4];
    int worst = 0;
    assert_non_null(mkdtemp(dir));
    for (int32_t i = 0; i < nodes; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(node_main(devices, nodes, i, dir, precision, r));
    }
    for (int32_t i = 0; i < nodes; i++) {
        int status = 0;
        waitpid(pids[i], &status, 0);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        worst = worst ? worst : code;
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    if (worst != NO_UCX)
        assert_int_equal(worst, 0);
    return worst == 0;
}

static void test_bits(void **state) {
    (void)state;
    static const enum llm_precision precisions[] = {LLM_INT8, LLM_F32, LLM_BF16};
    size_t bytes = 3 * sizeof(struct results), some = test_is_long() ? 3 : 1;
    struct results *r = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool any = true;
    assert_true(r != MAP_FAILED);
    for (size_t i = 0; i < some && any; i++) {
        memset(r, 0, bytes);
        assert_int_equal(node_main(2, 0, 0, NULL, precisions[i], &r[0]), 0);
        any = run_nodes(1, 2, precisions[i], &r[1]);
        if (any)
            assert_memory_equal(&r[0], &r[1], sizeof *r);
        if (any && i == 1) { /* four parts of the sums */
            assert_int_equal(node_main(4, 0, 0, NULL, precisions[i], &r[0]), 0);
            assert_true(run_nodes(2, 2, precisions[i], &r[2]));
            assert_memory_equal(&r[0], &r[2], sizeof *r);
        }
    }
    munmap(r, bytes);
    if (!any)
        SKIP_BECAUSE("UCX (libucx0) is not installed");
}

/* Other engines have one device, and the C API has no node that follows. */
static void test_engines(void **state) {
    (void)state;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2, .engine = "pjrt:none"};
    struct llm_session *s;
    hilo_client *client = client_of(2, 0, 0, NULL);
    assert_non_null(client);
    assert_int_equal(llm_session_open(client, MODEL, &o, &s), HILO_UNIMPLEMENTED);
    hilo_client_release(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits), /* first: it forks */
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_repeated_heads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_engines),
    };
    return cmocka_run_group_tests_name("test_llm_nodes", tests, NULL, NULL);
}
