/* Gated delta nets: what they have read is taken back to marks, and speculation gives the tokens of plain decoding. */
#include "random_model.h"

#include <math.h>

enum { TOKENS = 11, VOCAB = 2054 };

#define CONFIG "{\"model_type\":\"qwen3_5_text\",\"head_dim\":32,\"linear_num_key_heads\":2,\"linear_num_value_heads\":4," \
               "\"linear_key_head_dim\":16,\"linear_value_head_dim\":32,\"layer_types\":[\"linear_attention\"," \
               "\"linear_attention\",\"full_attention\"],\"hidden_size\":128,\"num_hidden_layers\":3," \
               "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":128,\"vocab_size\":2054," \
               "\"max_position_embeddings\":64}"

static hilo_client *open_model(char dir[sizeof family_dir]) {
    struct llm_model m;
    hilo_client *client = open_directory(dir);
    make_model(dir, CONFIG, &m);
    llm_model_close(&m);
    return client;
}

static struct llm_session *open_session(hilo_client *client, const char *dir, enum llm_precision precision) {
    const struct llm_session_options o = {.precision = precision, .level = 2};
    struct llm_session *s;
    assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_OK);
    return s;
}

static void make_text(int text, int32_t ids[TOKENS]) {
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (i * 577 + 13 + text * 41) % VOCAB;
}

static void check_near(const float *got, const float *want) {
    for (int i = 0; i < VOCAB; i++)
        if (!(fabsf(got[i] - want[i]) < 1e-4f * (1 + fabsf(want[i]))))
            fail_msg("logit %d is %g, %g expected", i, (double)got[i], (double)want[i]);
}

/* Portions of a text, with tokens that do not count; and texts that are taken back to where they were marked. */
static void test_marks(void **state) {
    (void)state;
    static float want[VOCAB], got[VOCAB], again[VOCAB];
    char dir[sizeof family_dir];
    int32_t ids[TOKENS];
    const int32_t *p = ids, *rest = ids + 7;
    hilo_client *client = open_model(dir);
    struct llm_session *s = open_session(client, dir, LLM_F32), *fork;
    make_text(0, ids);
    assert_int_equal(llm_session_prefill(s, &p, (size_t[]){TOKENS}, NULL, want), HILO_OK);
    llm_session_reset(s);
    assert_int_equal(llm_session_prefill(s, &p, (size_t[]){7}, NULL, got), HILO_OK); /* a program of eight tokens */
    assert_int_equal(llm_session_reach(s, 7), 7);
    assert_int_equal(llm_session_reach(s, 6), 0);
    llm_session_mark(s);
    assert_int_equal(llm_session_prefill(s, &rest, (size_t[]){TOKENS - 7}, NULL, got), HILO_OK);
    check_near(got, want);
    assert_int_equal(llm_session_reach(s, 8), 7);
    assert_int_equal(llm_session_reach(s, 6), 0);
    assert_int_equal(llm_session_fork(s, &fork), HILO_OK);
    assert_int_equal(llm_session_copy(s, 8, fork), HILO_FAILED_PRECONDITION);
    assert_int_equal(llm_session_copy(s, 7, fork), HILO_OK);
    for (int pass = 0; pass < 3; pass++) { /* a mark can be used more than once */
        struct llm_session *one = pass ? s : fork;
        llm_session_rewind(one, pass == 2 ? 9 : 7);
        assert_int_equal(one->at[0], 7);
        assert_int_equal(llm_session_prefill(one, &rest, (size_t[]){TOKENS - 7}, NULL, again), HILO_OK);
        assert_memory_equal(got, again, sizeof got);
    }
    llm_session_mark(s);
    llm_session_rewind(s, 7); /* before the mark */
    assert_int_equal(s->at[0], 0);
    assert_int_equal(s->mark, 0);
    assert_int_equal(llm_session_prefill(s, &p, (size_t[]){TOKENS}, NULL, again), HILO_OK);
    assert_memory_equal(want, again, sizeof want);
    llm_session_mark(s);
    assert_int_equal(llm_session_decode_apart((struct llm_session *const[]){s, fork}, 2, ids, (float[2 * VOCAB]){0}), HILO_OK);
    assert_int_equal(llm_session_reach(s, TOKENS), 0);
    llm_session_close(fork);
    llm_session_close(s);
    close_directory(dir, client);
}

/* By look-up, and by a draft of another precision, which errs. */
static void test_speculation(void **state) {
    (void)state;
    enum { WRITTEN = 45 };
    char dir[sizeof family_dir];
    int32_t ids[TOKENS];
    size_t accepted = 0, proposed = 0; /* tokens of the draft */
    hilo_client *client = open_model(dir);
    struct llm_session *draft = open_session(client, dir, LLM_INT4);
    for (int precise = 0; precise < 2; precise++) {
        struct llm_session *s = open_session(client, dir, precise ? LLM_F32 : LLM_INT8);
        for (int text = 0; text < 3; text++) {
            struct llm_generate_options go = {.most = WRITTEN + (size_t)text, .sampling = LLM_GREEDY};
            struct llm_generated want, got;
            make_text(text, ids);
            llm_session_reset(s);
            llm_generated_init(&want, mem_system_allocator());
            assert_int_equal(llm_generate(s, ids, TOKENS, &go, &want), HILO_OK);
            for (int drafted = 0; drafted < 2; drafted++) {
                go.speculate = drafted ? 3 : 7;
                go.draft = drafted ? draft : NULL;
                llm_session_reset(s);
                llm_generated_init(&got, mem_system_allocator());
                assert_int_equal(llm_generate(s, ids, TOKENS, &go, &got), HILO_OK);
                assert_int_equal(got.ids.n, want.ids.n);
                assert_memory_equal(got.ids.v, want.ids.v, got.ids.n * sizeof *got.ids.v);
                assert_int_equal(s->seen.n, s->at[0]);
                accepted += drafted ? got.accepted : 0;
                proposed += drafted ? got.proposed : 0;
                llm_generated_free(&got);
            }
            llm_generated_free(&want);
        }
        llm_session_close(s);
    }
    assert_true(accepted > 10 && accepted < proposed);
    llm_session_close(draft);
    close_directory(dir, client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks), cmocka_unit_test(test_speculation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
