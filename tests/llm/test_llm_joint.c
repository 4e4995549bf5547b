/* Prompts of several sequences that one program reads: what each computes alone. */
#include "random_model.h"

enum { VOCAB = 2054 };

/* Portions of the prompts of forks that are read together, at different positions and of different lengths, and what follows:
   to the bit what each fork alone computes. */
static void check_joint(struct llm_session *s, const char *name) {
    enum { FORKS = 4, LONGEST = 200 };
    static float together[FORKS][VOCAB], alone[FORKS][VOCAB];
    static const size_t lengths[][FORKS] = {{128, 128, 97, 103}, {160, 32, 40, 128}};
    struct llm_session *forks[FORKS];
    int32_t ids[FORKS][LONGEST], tokens[FORKS];
    for (int i = 0; i < FORKS; i++) {
        assert_int_equal(llm_session_fork(s, &forks[i]), HILO_OK);
        tokens[i] = 3 + i;
        for (int k = 0; k < LONGEST; k++)
            ids[i][k] = (k * 577 + 13 + 131 * i) % VOCAB;
    }
    for (size_t row = 0; row < sizeof lengths / sizeof *lengths; row++) {
        const int32_t *p[FORKS];
        size_t count[FORKS], n = 0;
        for (int i = 0; i < FORKS; i++) {
            const int32_t *first = ids[i];
            llm_session_reset(forks[i]);
            assert_int_equal(llm_session_prefill(forks[i], &first, &lengths[row][i], NULL, alone[i]), HILO_OK);
            assert_int_equal(llm_session_decode(forks[i], &tokens[i], NULL, alone[i]), HILO_OK);
            llm_session_reset(forks[i]);
        }
        for (size_t done[FORKS] = {0};;) {
            struct llm_session *now[FORKS];
            size_t chunk = 0, which[FORKS];
            n = 0;
            for (size_t i = 0; i < FORKS; i++) {
                size_t left = lengths[row][i] - done[i], own = left ? llm_session_chunk(s, done[i], left) : 0;
                if (!left || (chunk && (own != chunk || chunk < LLM_LEAST_JOINT)))
                    continue;
                chunk = own;
                which[n] = i;
                now[n] = forks[i];
                p[n] = ids[i] + done[i];
                count[n++] = llm_session_portion(s, done[i], left);
            }
            if (n == 0)
                break;
            assert_int_equal(llm_session_prefill_apart(now, n, chunk, p, count, together[0]), HILO_OK);
            for (size_t i = 0; i < n; i++)
                done[which[i]] += count[i];
        }
        assert_int_equal(llm_session_decode_apart(forks, FORKS, tokens, together[0]), HILO_OK);
        for (int i = 0; i < FORKS; i++)
            if (memcmp(alone[i], together[i], sizeof *alone) != 0)
                fail_msg("%s, lengths %zu: sequence %d is not what it is alone", name, row, i);
    }
    for (int i = 0; i < FORKS; i++)
        llm_session_close(forks[i]);
}

/* Prompts that are read together, in all precisions, with keys and values in 8 bits, and with what families add. */
static void test_joint(void **state) {
    (void)state;
    static const struct { const char *name, *config; unsigned precisions; } cases[] = {
        {"llama", "\"model_type\":\"llama\"", ~0u},
        {"mixtral", "\"model_type\":\"mixtral\",\"num_local_experts\":6,\"num_experts_per_tok\":2",
         1u << LLM_INT8 | 1u << LLM_INT4},
        {"gpt_oss", "\"model_type\":\"gpt_oss\",\"head_dim\":32,\"sliding_window\":20,\"num_local_experts\":5,"
                    "\"num_experts_per_tok\":2", 1u << LLM_F32 | 1u << LLM_BF16},
        {"qwen3_5", "\"model_type\":\"qwen3_5_text\",\"head_dim\":32,\"linear_num_key_heads\":2,"
                    "\"linear_num_value_heads\":4,\"linear_key_head_dim\":16,\"linear_value_head_dim\":32,\"layer_types\":["
                    "\"linear_attention\",\"full_attention\"]", 1u << LLM_F32 | 1u << LLM_INT4},
        {"gemma3n", "\"model_type\":\"gemma3n_text\",\"head_dim\":32,\"sliding_window\":20,\"num_kv_shared_layers\":0,"
                    "\"laurel_rank\":32,\"hidden_size_per_layer_input\":64,\"layer_types\":[\"sliding_attention\","
                    "\"full_attention\"]", 1u << LLM_F32},
    };
    char dir[sizeof family_dir], config[1024];
    struct llm_session *s;
    struct llm_model m;
    hilo_client *client = open_directory(dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(config, sizeof config, "{%s,\"hidden_size\":128,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
                                        "\"num_key_value_heads\":2,\"intermediate_size\":128,\"vocab_size\":2054,"
                                        "\"max_position_embeddings\":512}", cases[i].config);
        make_model(dir, config, &m);
        llm_model_close(&m);
        for (enum llm_precision p = LLM_F32; p < LLM_PRECISIONS; p++) {
            if (!(cases[i].precisions >> p & 1))
                continue;
            const struct llm_session_options o = {.precision = p, .level = 2, .cache8 = p == LLM_INT8};
            assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_OK);
            check_joint(s, cases[i].name);
            llm_session_close(s);
        }
    }
    close_directory(dir, client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_joint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
