/* GGUF files that are written: the models and the vocabularies that are read of them are the same, or they are refused. */
#include "random_model.h"

#include "llm/gguf_write.h"
#include "llm/json.h"
#include "llm/tokenizer.h"

#include <string.h>

#define SIZES "\"hidden_size\":32,\"num_hidden_layers\":3,\"num_attention_heads\":4,\"num_key_value_heads\":2," \
              "\"intermediate_size\":64,\"vocab_size\":2054,\"max_position_embeddings\":64"

/* ---- models ------------------------------------------------------------------------------------ */

/* `refused`: a part of the message; NULL: the file is written. */
static const struct { const char *config, *refused; } models[] = {
    {"\"model_type\":\"phi3\",\"sliding_window\":20", NULL},
    {"\"model_type\":\"phi3\",\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":16,\"rope_scaling\":"
     "{\"type\":\"longrope\",\"short_factor\":[1,1.5],\"long_factor\":[2,3.5]}", NULL},
    {"\"model_type\":\"phi3\",\"attention_bias\":true", "this family with biases"},
    {"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1,1,1.5],\"long_factor\":"
     "[2,3,4,3.5]}", "rotary embeddings"},
    {"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":8,"
     "\"beta_fast\":20,\"beta_slow\":2,\"attention_factor\":1.5}", NULL},
    {"\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
     "\"original_max_position_embeddings\":4096,\"truncate\":false}", "rotary embeddings"},
    {"\"model_type\":\"llama\",\"hidden_act\":\"gelu\"", "activation function"},
    {"\"model_type\":\"mistral\",\"sliding_window\":4", "window of attention"},
    {"\"model_type\":\"mixtral\",\"num_local_experts\":5,\"num_experts_per_tok\":2", NULL},
    {"\"model_type\":\"gpt_oss\",\"head_dim\":16,\"sliding_window\":4,\"num_local_experts\":5,\"num_experts_per_tok\":2,"
     "\"rope_parameters\":{\"rope_type\":\"yarn\",\"rope_theta\":150000,\"factor\":32,\"original_max_position_embeddings\":2,"
     "\"truncate\":false}", NULL},
    {"\"model_type\":\"gpt_oss\",\"num_local_experts\":5,\"num_experts_per_tok\":2,\"swiglu_limit\":5", "experts' limit"},
    {"\"model_type\":\"gemma2\",\"head_dim\":16,\"sliding_window\":4,\"query_pre_attn_scalar\":16", NULL},
    {"\"model_type\":\"gemma2\",\"head_dim\":16,\"sliding_window\":4,\"query_pre_attn_scalar\":24", "scale of attention"},
    {"\"model_type\":\"smollm3\"", NULL},
    {"\"model_type\":\"smollm3\",\"no_rope_layers\":[1,0,1]", "layers"},
    {"\"model_type\":\"bert\",\"architectures\":[\"BertModel\"]", NULL},
    {"\"model_type\":\"bert\",\"hidden_act\":\"gelu_new\"", "activation function"},
    {"\"model_type\":\"xlm-roberta\",\"type_vocab_size\":1,\"pad_token_id\":1", NULL},
    {"\"model_type\":\"gemma3_text\",\"use_bidirectional_attention\":true", "attention to later tokens"},
};

static void test_models(void **state) {
    (void)state;
    char dir[sizeof family_dir], config[1024];
    hilo_client *client = open_directory(dir);
    struct llm_model m;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(config, sizeof config, "{%s," SIZES "}", models[i].config);
        make_model(dir, config, &m);
        check_gguf(&m, dir, models[i].config, models[i].refused);
        llm_model_close(&m);
    }
    close_directory(dir, client);
}

/* ---- MXFP4 --------------------------------------------------------------------------------------- */

enum { EXPERTS = 2, HIDDEN = 32, GROUPS = 2, SCALES = EXPERTS * HIDDEN * GROUPS, LAYERS = 3 };

/* Writes the model again with the downs of experts in MXFP4, each layer with other exponents. */
static void write_downs(const struct llm_model *m, const char *dir, const char *config, struct llm_model *out) {
    static struct llm_tensor v[MOST_TENSORS];
    static uint8_t blocks[LAYERS][SCALES][16], scales[LAYERS][SCALES];
    static char names[LAYERS][2][80];
    char path[256];
    struct diag_list d;
    size_t n = 0;
    diag_init(&d, mem_system_allocator());
    for (size_t i = 0; i < m->nweights; i++) {
        const struct llm_param *p = &m->params[m->weights[i].first];
        if (m->weights[i].role != LLM_W_DOWNS)
            v[n++] = (struct llm_tensor){.name = p->name, .dtype = p->dtype, .rank = p->rank, .dims = {p->dims[0], p->dims[1]},
                                         .data = p->data, .bytes = p->bytes};
    }
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < SCALES; i++) {
            scales[l][i] = (uint8_t)((l * SCALES + i) % 255); /* 255 is no number */
            for (int k = 0; k < 16; k++)
                blocks[l][i][k] = (uint8_t)(i * 37 + k * 17 + k);
        }
        for (int k = 0; k < 2; k++)
            snprintf(names[l][k], sizeof names[l][k], "model.layers.%d.mlp.experts.down_proj_%s", l, k ? "scales" : "blocks");
        v[n++] = (struct llm_tensor){.name = str_of(names[l][0]), .dtype = IR_UI8_T, .rank = 4,
                                     .dims = {EXPERTS, HIDDEN, GROUPS, 16}, .data = blocks[l], .bytes = sizeof blocks[l]};
        v[n++] = (struct llm_tensor){.name = str_of(names[l][1]), .dtype = IR_UI8_T, .rank = 3,
                                     .dims = {EXPERTS, HIDDEN, GROUPS}, .data = scales[l], .bytes = sizeof scales[l]};
    }
    snprintf(path, sizeof path, "%s/config.json", dir);
    assert_int_equal(file_write(path, str_of(config), &d), HILO_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    assert_int_equal(llm_tensors_write(path, v, n, d.al, &d), HILO_OK);
    assert_int_equal(llm_model_open(dir, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, out), HILO_OK);
    assert_int_equal(llm_model_weight(out, LLM_W_DOWNS, 0)->bits, 8);
}

/* Blocks of MXFP4 are written as they are, also those of a directory that hilo made of them. */
static void test_mxfp4(void **state) {
    (void)state;
    static const char config[] = "{\"model_type\":\"gpt_oss\",\"head_dim\":16,\"sliding_window\":4,\"num_local_experts\":2,"
                                 "\"num_experts_per_tok\":2," SIZES "}";
    char dir[sizeof family_dir], second[sizeof family_dir];
    struct llm_model m, downs, back;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    hilo_client *client = open_directory(dir), *other = open_directory(second);
    make_model(dir, config, &m);
    write_downs(&m, second, config, &downs);
    check_gguf(&downs, second, "mxfp4", NULL);
    assert_int_equal(llm_model_write(&downs, second, dir, &d), HILO_OK);
    assert_int_equal(llm_model_open(dir, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &back), HILO_OK);
    check_gguf(&back, dir, "mxfp4 in a directory", NULL);
    llm_model_close(&back);
    llm_model_close(&downs);
    llm_model_close(&m);
    diag_clear(&d);
    close_directory(dir, client);
    close_directory(second, other);
}

/* ---- large blocks -------------------------------------------------------------------------------- */

#define LARGE_SIZES "\"hidden_size\":512,\"num_hidden_layers\":1,\"num_attention_heads\":4,\"num_key_value_heads\":2," \
                    "\"intermediate_size\":512,\"vocab_size\":2054,\"max_position_embeddings\":64"

/* Where a block has its numbers of 16 bits. */
static const struct { const char *name; size_t unit; int units; } large[] = {
    {"q2_k", 80, 2}, {"q3_k", 108, 1}, {"q4_k", 0, 2}, {"q5_k", 0, 2}, {"q6_k", 208, 1}, {"iq4_xs", 0, 1},
};

/* Gives the matrices of a file of f32 large blocks of each format in turn, in the place of their numbers. */
static void put_blocks(const char *path) {
    struct file file;
    struct gguf g;
    struct diag_list d;
    size_t matrices = 0, n;
    uint32_t x = 1;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(file_open(path, d.al, &d, &file), HILO_OK);
    n = file.text.n;
    char *bytes = malloc(n);
    memcpy(bytes, file.text.p, n);
    assert_int_equal(gguf_parse(file.text, path, d.al, &d, &g), HILO_OK);
    for (size_t i = 0; i < g.ntensors; i++) {
        const struct gguf_tensor *t = &g.tensors[i];
        if (t->rank < 2 || strstr(t->name.p, "gate_inp"))
            continue;
        size_t which = matrices++ % (sizeof large / sizeof *large), name = 0;
        const struct gguf_format *f = gguf_format_named(large[which].name);
        char length[8] = {(char)t->name.n};
        while (memcmp(bytes + name, length, 8) != 0 || memcmp(bytes + name + 8, t->name.p, t->name.n) != 0)
            name++;
        memcpy(bytes + name + 8 + t->name.n + 4 + 8 * t->rank, &f->number, 4); /* after the rank and the dimensions */
        char *data = bytes + ((const char *)t->data - file.text.p);
        size_t blocks = t->bytes / sizeof(float) / f->elements;
        for (size_t k = 0; k < blocks * f->bytes; k++)
            data[k] = (char)((x = x * 1664525 + 1013904223) >> 24);
        for (size_t k = 0; k < blocks; k++)
            for (int u = 0; u < large[which].units; u++)
                data[k * f->bytes + large[which].unit + 2 * (size_t)u + 1] = (char)(4 | (data[k * f->bytes] & 3));
    }
    assert_true(matrices >= 5);
    gguf_close(&g);
    file_close(&file);
    assert_int_equal(file_write(path, (struct str){bytes, n}, &d), HILO_OK);
    free(bytes);
}

/* All parameters of two models, to the bit: how many of their weights have units. */
static size_t check_same(const struct llm_model *a, const struct llm_model *b) {
    size_t units = 0;
    assert_int_equal(a->nweights, b->nweights);
    assert_int_equal(a->nparams, b->nparams);
    for (size_t i = 0; i < a->nweights; i++) {
        const struct llm_weight *v = &a->weights[i], *w = &b->weights[i];
        assert_true(v->role == w->role && v->rows == w->rows && v->cols == w->cols && v->bits == w->bits);
        assert_true(v->groups == w->groups && v->offsets == w->offsets && v->units == w->units && v->nparams == w->nparams);
        assert_int_equal(v->reach, w->reach);
        units += v->units > 0;
    }
    for (size_t i = 0; i < a->nparams; i++) {
        assert_int_equal(a->params[i].dtype, b->params[i].dtype);
        assert_int_equal(a->params[i].bytes, b->params[i].bytes);
        if (memcmp(a->params[i].data, b->params[i].data, a->params[i].bytes) != 0)
            fail_msg("%s is another", a->params[i].name.p);
    }
    return units;
}

enum { READ = 40, LARGE_VOCAB = 2054 }; /* tokens of a prompt: more than a decode step has lines */

/* The logits after a prompt, and after one more token. */
static void run_model(hilo_client *client, const char *path, float logits[2][LARGE_VOCAB]) {
    struct llm_session *s;
    int32_t ids[READ];
    const int32_t *p = ids;
    for (int i = 0; i < READ; i++)
        ids[i] = (i * 577 + 13) % LARGE_VOCAB;
    assert_int_equal(llm_session_open(client, path, &(struct llm_session_options){.precision = LLM_AS_STORED, .level = 2}, &s),
                     HILO_OK);
    assert_int_equal(llm_session_prefill(s, &p, (size_t[]){READ}, NULL, logits[0]), HILO_OK);
    assert_int_equal(llm_session_decode(s, ids, NULL, logits[1]), HILO_OK);
    llm_session_close(s);
}

/* Columns or rows of the second of two shards are the second half of those of the whole parameter, in each expert. */
static void check_half(const struct llm_param *whole, const struct llm_param *half, size_t experts) {
    const char *w = whole->data, *h = half->data;
    if (whole->bytes == half->bytes) {
        assert_memory_equal(w, h, whole->bytes);
        return;
    }
    assert_int_equal(whole->bytes, 2 * half->bytes);
    size_t pieces = half->dims[0] < whole->dims[0] ? experts : (size_t)whole->dims[0], n = half->bytes / pieces;
    for (size_t i = 0; i < pieces; i++)
        assert_memory_equal(w + (2 * i + 1) * n, h + i * n, n);
}

/* Scales of large blocks are bytes beside units of f16: of a file, of the directory that is written of it, and of shards. The
   file and the directory compute the same. */
static void test_units(void **state) {
    (void)state;
    static const struct { const char *config; size_t experts; } families[] = {
        {"{\"model_type\":\"llama\"," LARGE_SIZES "}", 1},
        {"{\"model_type\":\"mixtral\",\"num_local_experts\":3,\"num_experts_per_tok\":2," LARGE_SIZES "}", 3},
    };
    static float want[2][LARGE_VOCAB], got[2][LARGE_VOCAB];
    char dir[sizeof family_dir], second[sizeof family_dir], path[256];
    struct llm_model m, whole, half, back;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    hilo_client *client = open_directory(dir), *other = open_directory(second);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        make_model(dir, families[i].config, &m);
        assert_int_equal(llm_model_write_gguf(&m, dir, path, NULL, &d), HILO_OK);
        llm_model_close(&m);
        put_blocks(path);
        assert_int_equal(llm_model_open(path, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &whole), HILO_OK);
        assert_int_equal(llm_model_write(&whole, path, second, &d), HILO_OK);
        assert_int_equal(llm_model_open(second, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &back), HILO_OK);
        assert_true(check_same(&whole, &back) >= 5);
        llm_model_close(&back);
        run_model(client, path, want);
        run_model(client, second, got);
        assert_true(isfinite(want[0][0]) && isfinite(want[1][0]) && want[0][0] != want[1][0]);
        assert_memory_equal(want, got, sizeof want);
        struct llm_shard shard = {1, 2};
        assert_int_equal(llm_model_open(path, LLM_AS_STORED, shard, NULL, NULL, d.al, &d, &half), HILO_OK);
        assert_int_equal(llm_model_open(second, LLM_AS_STORED, shard, NULL, NULL, d.al, &d, &back), HILO_OK);
        assert_true(check_same(&half, &back) >= 5);
        assert_int_equal(whole.nweights, half.nweights);
        for (size_t k = 0; k < whole.nweights; k++) {
            const struct llm_weight *w = &whole.weights[k];
            bool experts = w->role == LLM_W_GATES || w->role == LLM_W_UPS;
            for (uint32_t p = 0; p < w->nparams; p++)
                if (w->role != LLM_W_EMBED)
                    check_half(&whole.params[w->first + p], &half.params[half.weights[k].first + p],
                               experts ? families[i].experts : 1);
        }
        llm_model_close(&back);
        llm_model_close(&half);
        llm_model_close(&whole);
        unlink(path);
    }
    diag_clear(&d);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", second);
    unlink(path);
    close_directory(dir, client);
    close_directory(second, other);
}

/* ---- vocabularies --------------------------------------------------------------------------------- */

/* Which of the kinds of tests/tools/gen_tokenizer_cases.py a file can have; others are refused. */
static const char *const written[] = {"bert", "bert-cased", "t5", "roberta"};

/* A file with nothing but a vocabulary; what llm_tok_open says of it. */
static hilo_status open_written(const json_t *tokenizer, size_t n, const char *path, struct diag_list *d,
                                struct llm_tok **out) {
    static struct llm_model m;
    struct strbuf file;
    m.config = (struct llm_config){.family = "bert", .vocab = (int64_t)n, .bos = -1};
    struct gguf_out o = {.m = &m, .d = d, .al = d->al};
    strbuf_init(&o.meta, d->al);
    strbuf_init(&file, d->al);
    hilo_status status = gguf_put_tokenizer(&o, tokenizer, NULL);
    if (status == HILO_OK) {
        strbuf_puts(&file, "GGUF");
        gguf_put_u32(&file, 3);
        gguf_put_u64(&file, 0);
        gguf_put_u64(&file, o.nmeta);
        strbuf_putn(&file, o.meta.p, o.meta.n);
        assert_int_equal(file_write(path, (struct str){file.p, file.n}, d), HILO_OK);
        assert_int_equal(llm_tok_open(path, d->al, d, out), HILO_OK);
    }
    strbuf_free(&o.meta);
    strbuf_free(&file);
    return status;
}

static void check_texts(const char *name, const struct llm_tok *t, const json_t *cases, struct diag_list *d) {
    size_t i;
    json_t *one;
    json_array_foreach(cases, i, one) {
        const json_t *text = json_array_get(one, 0), *want = json_array_get(one, 1);
        struct llm_ids ids;
        /* Rules of published SentencePiece models make spaces of all white space; those of this one do not. */
        if (strcmp(name, "t5") == 0 && strpbrk(json_string_value(text), "\t\n\r"))
            continue;
        if (strstr(json_string_value(text), "<mask>")) /* a file cannot say that spaces before it belong to it */
            continue;
        llm_ids_init(&ids, d->al);
        struct str s = {json_string_value(text), json_string_length(text)};
        assert_int_equal(llm_tok_encode(t, s, NULL, LLM_TOK_POST, d, &ids), HILO_OK);
        bool same = ids.n == json_array_size(want);
        for (size_t k = 0; same && k < ids.n; k++)
            same = ids.v[k] == json_integer_value(json_array_get(want, k));
        if (!same)
            fail_msg("%s: the ids of '%s' are others", name, json_string_value(text));
        llm_ids_free(&ids);
    }
}

static void test_vocabularies(void **state) {
    (void)state;
    char path[] = "/tmp/hilo-vocab-XXXXXX";
    struct diag_list d;
    struct llm_json j;
    const char *name;
    json_t *one;
    size_t n = 0;
    diag_init(&d, mem_system_allocator());
    close(mkstemp(path));
    assert_int_equal(llm_json_open(&j, "tests/llm/tokenizer_cases.json", d.al, &d), HILO_OK);
    json_object_foreach(j.root, name, one) {
        const json_t *tokenizer = json_object_get(one, "tokenizer");
        const json_t *vocab = json_object_get(json_object_get(tokenizer, "model"), "vocab");
        size_t size = json_is_array(vocab) ? json_array_size(vocab) : json_object_size(vocab);
        struct llm_tok *t;
        bool expected = false;
        for (size_t i = 0; i < sizeof written / sizeof *written; i++)
            expected |= strcmp(name, written[i]) == 0;
        hilo_status status = open_written(tokenizer, size, path, &d, &t);
        if ((status == HILO_OK) != expected)
            fail_msg("%s: %s", name, status == HILO_OK ? "is written" : d.first->message);
        if (status == HILO_OK) {
            check_texts(name, t, json_object_get(one, "cases"), &d);
            llm_tok_free(t);
            n++;
        } else {
            assert_non_null(strstr(d.first->message, "writes no GGUF file for"));
        }
        diag_clear(&d);
    }
    assert_int_equal(n, sizeof written / sizeof *written);
    llm_json_close(&j);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models), cmocka_unit_test(test_mxfp4),
                                       cmocka_unit_test(test_units), cmocka_unit_test(test_vocabularies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
