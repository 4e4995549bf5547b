/* Families of models: programs of small random models compute what a plain transformer computes, written here with loops and in
 * double, from the description alone; read at once, and token by token. */
#include "llm/generate.h"
#include "llm/gpt_oss.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { TOKENS = 11, VOCAB = 2054, HIDDEN = 32, MOST = 80, ROOM = 4096 };

/* ---- a model on disk ------------------------------------------------------------------------- */

#define SIZES "\"hidden_size\":32,\"num_hidden_layers\":3,\"num_attention_heads\":4,\"num_key_value_heads\":2," \
              "\"intermediate_size\":64,\"vocab_size\":2054,\"max_position_embeddings\":64"

static const struct { const char *name, *config; } families[] = {
    {"llama", "\"model_type\":\"llama\",\"rope_theta\":10000,\"tie_word_embeddings\":false"},
    {"llama with biases", "\"model_type\":\"llama\",\"attention_bias\":true,\"mlp_bias\":true,\"head_dim\":12,"
                          "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}"},
    {"llama 3", "\"model_type\":\"llama\",\"tie_word_embeddings\":true,\"rope_parameters\":{\"rope_type\":\"llama3\","
                "\"rope_theta\":500000,\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
                "\"original_max_position_embeddings\":16}"},
    {"mistral", "\"model_type\":\"mistral\",\"sliding_window\":4"},
    {"qwen2", "\"model_type\":\"qwen2\",\"tie_word_embeddings\":true,\"use_sliding_window\":false,\"sliding_window\":4"},
    {"qwen3", "\"model_type\":\"qwen3\",\"head_dim\":16,\"rms_norm_eps\":1e-6"},
    {"gemma", "\"model_type\":\"gemma\",\"head_dim\":16,\"hidden_act\":\"gelu\""},
    {"gemma2", "\"model_type\":\"gemma2\",\"head_dim\":16,\"sliding_window\":4,\"query_pre_attn_scalar\":24,"
               "\"attn_logit_softcapping\":5.0,\"final_logit_softcapping\":3.0,\"hidden_activation\":\"gelu_pytorch_tanh\""},
    {"ministral", "\"model_type\":\"ministral\",\"head_dim\":16,\"sliding_window\":4,"
                  "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\"]"},
    {"llama with yarn", "\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,"
                        "\"original_max_position_embeddings\":8}"},
    {"phi3", "\"model_type\":\"phi3\",\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":6,\"rope_scaling\":"
             "{\"type\":\"longrope\",\"short_factor\":[1,1.5],\"long_factor\":[1,1.5]}"},
    {"smollm3", "\"model_type\":\"smollm3\",\"no_rope_layers\":[1,0,1]"},
    {"granite", "\"model_type\":\"granite\",\"embedding_multiplier\":3,\"attention_multiplier\":0.2,"
                "\"residual_multiplier\":0.5,\"logits_scaling\":2,\"attention_bias\":true"},
    {"olmo2", "\"model_type\":\"olmo2\""},
    {"qwen3_moe", "\"model_type\":\"qwen3_moe\",\"head_dim\":16,\"num_experts\":6,\"num_experts_per_tok\":2,"
                  "\"moe_intermediate_size\":16,\"norm_topk_prob\":false"},
    {"mixtral", "\"model_type\":\"mixtral\",\"num_local_experts\":5,\"num_experts_per_tok\":3"},
    {"olmo3", "\"model_type\":\"olmo3\",\"sliding_window\":4,\"rope_theta\":500000,\"rope_scaling\":{\"rope_type\":\"yarn\","
              "\"factor\":4,\"original_max_position_embeddings\":8},\"layer_types\":[\"sliding_attention\","
              "\"full_attention\",\"full_attention\"]"},
    {"ministral3", "\"model_type\":\"ministral3\",\"head_dim\":16,\"rope_parameters\":{\"rope_type\":\"yarn\","
                   "\"rope_theta\":10000,\"factor\":4,\"original_max_position_embeddings\":4,\"llama_4_scaling_beta\":0.5}"},
    {"gpt_oss", "\"model_type\":\"gpt_oss\",\"head_dim\":16,\"sliding_window\":4,\"num_local_experts\":5,"
                "\"num_experts_per_tok\":2,\"swiglu_limit\":0.05"},
    {"gemma3", "\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\",\"head_dim\":16,\"sliding_window\":4,"
               "\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\"],\"rope_theta\":1000000,"
               "\"rope_local_base_freq\":10000,\"query_pre_attn_scalar\":16," SIZES "}"},
};

static const struct { const char *name, *config; } encoders[] = {
    {"bert", "\"model_type\":\"bert\",\"architectures\":[\"BertModel\"]"},
    {"xlm-roberta", "\"model_type\":\"xlm-roberta\",\"type_vocab_size\":1,\"pad_token_id\":1,"
                    "\"hidden_act\":\"gelu_new\""},
    {"qwen3", "\"model_type\":\"qwen3\",\"head_dim\":16"},
    {"embedding gemma", "\"model_type\":\"gemma3_text\",\"head_dim\":16,\"sliding_window\":4,"
                        "\"use_bidirectional_attention\":true"},
};

static float random_number(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (float)((double)(*x >> 11) * 0x1p-53 - 0.5) * 0.5f;
}

static void put_file(const char *dir, const char *name, const char *text) {
    char path[256];
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write(path, str_of(text), &d), HILO_OK);
}

/* The model reports the tensors that it needs, one after the other: each that is missing is made. */
static void make_model(const char *dir, const char *config, struct llm_model *m) {
    static struct llm_tensor v[MOST];
    static char names[MOST][160];
    char path[256];
    struct diag_list d;
    size_t n = 0;
    uint64_t x = 88172645463325252u;
    diag_init(&d, mem_system_allocator());
    put_file(dir, "config.json", config);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    for (;;) {
        assert_int_equal(llm_tensors_write(path, v, n, d.al, &d), HILO_OK);
        if (llm_model_open(dir, LLM_AS_STORED, NULL, NULL, d.al, &d, m) == HILO_OK)
            break;
        long long rows, cols = 1;
        assert_true(n < MOST);
        static const char missing[] = "tensor '%159[^']' is missing; the config calls for [%lld, %lld]";
        int got = sscanf(d.first->message, missing, names[n], &rows, &cols);
        if (got < 2)
            fail_msg("%s", d.first->message);
        size_t count = (size_t)(rows * cols);
        float *data = malloc(count * sizeof *data);
        for (size_t i = 0; i < count; i++)
            data[i] = random_number(&x) + (got == 2 && strstr(names[n], "norm") ? 1.0f : 0.0f);
        v[n] = (struct llm_tensor){.name = str_of(names[n]), .dtype = IR_F32_T, .rank = (uint32_t)got - 1, .dims = {rows, cols},
                                   .data = data, .bytes = count * sizeof *data};
        n++;
        diag_clear(&d);
    }
    while (n)
        free((void *)(uintptr_t)v[--n].data);
}

/* ---- the plain transformer ------------------------------------------------------------------- */

struct plain {
    const struct llm_model *m;
    const struct llm_config *c;
    int64_t layer;
};

static const float *data_of(const struct plain *p, enum llm_role role, int64_t layer) {
    const struct llm_weight *w = llm_model_weight(p->m, role, layer);
    return w ? p->m->params[w->first].data : NULL;
}

/* out[rows] = W x + b */
static void multiply(const struct plain *p, enum llm_role role, enum llm_role bias, const double *x, int64_t rows, int64_t cols,
                     double *out) {
    const float *w = data_of(p, role, p->layer), *b = bias == LLM_ROLES ? NULL : data_of(p, bias, p->layer);
    for (int64_t r = 0; r < rows; r++) {
        out[r] = b ? (double)b[r] : 0;
        for (int64_t k = 0; k < cols; k++)
            out[r] += (double)w[r * cols + k] * x[k];
    }
}

static void normalise(const struct plain *p, enum llm_role role, int64_t layer, const double *x, int64_t n, double *out) {
    const float *w = data_of(p, role, layer), *b = p->c->layer_norm ? data_of(p, role + 1, layer) : NULL;
    double sum = 0, mean = 0;
    for (int64_t i = 0; i < n; i++)
        mean += p->c->layer_norm ? x[i] / (double)n : 0;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    double r = 1 / sqrt(sum / (double)n + p->c->norm_eps);
    for (int64_t i = 0; i < n; i++)
        out[i] = (x[i] - mean) * r * ((double)w[i] + (p->c->norm_plus_one ? 1 : 0)) + (b ? (double)b[i] : 0);
}

/* Heads of queries or keys at a position: normalised, rotated. */
static void rotate(const struct plain *p, double *x, int64_t heads, enum llm_role role, int64_t place) {
    int64_t D = p->c->head_dim;
    const struct llm_rope *rope = p->c->sliding[p->layer] ? &p->c->local_rope : &p->c->rope;
    float f[ROOM];
    int64_t half = p->c->rotary / 2;
    llm_rope_frequencies(rope, 2 * half, false, f);
    if (p->c->qk_norm_wide)
        normalise(p, role == LLM_W_Q_NORM ? LLM_W_Q_WIDE : LLM_W_K_WIDE, p->layer, x, heads * D, x);
    for (int64_t h = 0; h < heads; h++, x += D) {
        if (p->c->qk_norm)
            normalise(p, role, p->layer, x, D, x);
        for (int64_t i = 0; i < half && !p->c->unrotated[p->layer]; i++) {
            double a = (double)place * (double)f[i], re = x[i] * rope->amplitude, im = x[i + half] * rope->amplitude;
            x[i] = re * cos(a) - im * sin(a);
            x[i + half] = im * cos(a) + re * sin(a);
        }
    }
}

static double capped(double x, double cap) {
    return cap != 0 ? tanh(x / cap) * cap : x;
}

/* What a head of the token at `place` sees. */
static void look(const struct plain *p, double *q, double keys[][ROOM], double values[][ROOM], int64_t head,
                 int64_t place, double *out) {
    int64_t D = p->c->head_dim, from = head / (p->c->heads / p->c->kv_heads) * D;
    const float *sinks = data_of(p, LLM_W_SINKS, p->layer);
    double s[TOKENS], sum = sinks ? exp((double)sinks[head]) : 0;
    for (int64_t i = 0; i < D && p->c->query_growth != 0; i++)
        q[i] *= 1 + p->c->query_growth * log(1 + floor((double)place / p->c->rope.original));
    int64_t end = p->c->bidirectional ? TOKENS : place + 1;
    for (int64_t t = 0; t < end; t++) {
        bool seen = !p->c->sliding[p->layer] || llabs((long long)(place - t)) < p->c->window;
        s[t] = 0;
        for (int64_t i = 0; i < D; i++)
            s[t] += q[i] * keys[t][from + i];
        s[t] = seen ? exp(capped(s[t] * p->c->attn_scale, p->c->attn_cap)) : 0;
        sum += s[t];
    }
    for (int64_t i = 0; i < D; i++) {
        out[i] = 0;
        for (int64_t t = 0; t < end; t++)
            out[i] += s[t] / sum * values[t][from + i];
    }
}

static double activate(const struct plain *p, double x) {
    if (p->c->activation == LLM_SILU)
        return x / (1 + exp(-x));
    if (p->c->activation == LLM_GELU)
        return x / 2 * (1 + erf(x / sqrt(2)));
    return x / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/* The inner value of an expert of gpt-oss. */
static double clamped(const struct plain *p, double gate, double up) {
    double most = p->c->glu_limit;
    gate = fmin(gate, most);
    return (fmax(fmin(up, most), -most) + 1) * gate / (1 + exp(-p->c->glu_alpha * gate));
}

static void add(const struct plain *p, double *x, const double *y) {
    for (int i = 0; i < HIDDEN; i++)
        x[i] += y[i] * p->c->residual_scale;
}

/* The norm before attention or MLP, if there is one. */
static void normalise_input(const struct plain *p, enum llm_role role, const double *x, double *out) {
    if (p->c->pre_norms)
        normalise(p, role, p->layer, x, HIDDEN, out);
    else
        memcpy(out, x, HIDDEN * sizeof *out);
}

/* out[HIDDEN] = W2 (act(W x) * (V x)): the MLP, or one expert's part of the weights. */
static void run_mlp(const struct plain *p, const enum llm_role roles[3], const enum llm_role biases[3], int64_t which,
                    int64_t ffn, const double *x, double *out) {
    double gate[ROOM], up[ROOM];
    const struct { enum llm_role role, bias; const double *x; int64_t rows, cols; double *out; } steps[] = {
        {roles[0], biases[0], x, p->c->ungated ? 0 : ffn, HIDDEN, gate}, {roles[1], biases[1], x, ffn, HIDDEN, up},
        {roles[2], biases[2], gate, HIDDEN, ffn, out}};
    for (int k = 0; k < 3; k++) {
        const float *all = data_of(p, steps[k].role, p->layer), *w = all ? all + which * steps[k].rows * steps[k].cols : NULL;
        const float *biases_of_all = steps[k].bias == LLM_ROLES ? NULL : data_of(p, steps[k].bias, p->layer);
        const float *b = biases_of_all ? biases_of_all + which * steps[k].rows : NULL;
        for (int64_t i = 0; i < ffn && k == 2; i++)
            gate[i] = p->c->glu_limit != 0 ? clamped(p, gate[i], up[i])
                      : p->c->ungated ? activate(p, up[i]) : activate(p, gate[i]) * up[i];
        for (int64_t r = 0; r < steps[k].rows; r++) {
            double sum = b ? (double)b[r] : 0;
            for (int64_t i = 0; i < steps[k].cols; i++)
                sum += (double)w[r * steps[k].cols + i] * steps[k].x[i];
            steps[k].out[r] = sum;
        }
    }
}

/* The experts with the greatest probabilities, weighted by them. */
static void run_experts(const struct plain *p, const double *x, double *out) {
    static const enum llm_role roles[] = {LLM_W_GATES, LLM_W_UPS, LLM_W_DOWNS};
    static const enum llm_role biases[] = {LLM_W_GATES_BIAS, LLM_W_UPS_BIAS, LLM_W_DOWNS_BIAS};
    const struct llm_config *c = p->c;
    double s[ROOM], total = 0, taken = 0, y[HIDDEN];
    int64_t which[LLM_MAX_CHOSEN];
    multiply(p, LLM_W_ROUTER, LLM_W_ROUTER_BIAS, x, c->experts, HIDDEN, s);
    for (int64_t i = 0; i < c->experts; i++)
        total += s[i] = exp(s[i]);
    for (int64_t k = 0; k < c->chosen; k++) {
        which[k] = 0;
        for (int64_t i = 1; i < c->experts; i++)
            which[k] = s[i] > s[which[k]] ? i : which[k];
        taken += s[which[k]];
        s[which[k]] = -s[which[k]];
    }
    memset(out, 0, HIDDEN * sizeof *out);
    for (int64_t k = 0; k < c->chosen; k++) {
        run_mlp(p, roles, biases, which[k], c->expert_ffn, x, y);
        for (int i = 0; i < HIDDEN; i++)
            out[i] += y[i] * -s[which[k]] / (c->chosen_sum ? taken : total);
    }
}

static void run_layer(const struct plain *p, double x[TOKENS][HIDDEN]) {
    static const enum llm_role roles[] = {LLM_W_GATE, LLM_W_UP, LLM_W_DOWN};
    static const enum llm_role biases[] = {LLM_W_GATE_BIAS, LLM_W_UP_BIAS, LLM_W_DOWN_BIAS};
    static double keys[TOKENS][ROOM], values[TOKENS][ROOM];
    const struct llm_config *c = p->c;
    int64_t Q = c->heads * c->head_dim, KV = c->kv_heads * c->head_dim;
    double h[HIDDEN], q[ROOM], y[ROOM];
    for (int64_t t = 0; t < TOKENS; t++) {
        normalise_input(p, LLM_W_ATTN_NORM, x[t], h);
        multiply(p, LLM_W_K, LLM_W_K_BIAS, h, KV, HIDDEN, keys[t]);
        multiply(p, LLM_W_V, LLM_W_V_BIAS, h, KV, HIDDEN, values[t]);
        rotate(p, keys[t], c->kv_heads, LLM_W_K_NORM, t);
    }
    for (int64_t t = 0; t < TOKENS; t++) {
        normalise_input(p, LLM_W_ATTN_NORM, x[t], h);
        multiply(p, LLM_W_Q, LLM_W_Q_BIAS, h, Q, HIDDEN, q);
        rotate(p, q, c->heads, LLM_W_Q_NORM, t);
        for (int64_t i = 0; i < c->heads; i++)
            look(p, q + i * c->head_dim, keys, values, i, t, y + i * c->head_dim);
        multiply(p, LLM_W_O, LLM_W_O_BIAS, y, HIDDEN, Q, h);
        if (c->post_norms)
            normalise(p, LLM_W_POST_ATTN, p->layer, h, HIDDEN, h);
        add(p, x[t], h);
        if (c->sum_norms)
            normalise(p, LLM_W_ATTN_SUM, p->layer, x[t], HIDDEN, x[t]);
        normalise_input(p, c->post_norms ? LLM_W_PRE_FFN : LLM_W_FFN_NORM, x[t], h);
        if (c->experts)
            run_experts(p, h, y);
        else
            run_mlp(p, roles, biases, 0, c->ffn, h, y);
        memcpy(h, y, sizeof h);
        if (c->post_norms)
            normalise(p, LLM_W_POST_FFN, p->layer, h, HIDDEN, h);
        add(p, x[t], h);
        if (c->sum_norms)
            normalise(p, LLM_W_FFN_SUM, p->layer, x[t], HIDDEN, x[t]);
    }
}

/* The states after the last layer, and its norm. */
static void run_layers(const struct llm_model *m, const int32_t *ids, double x[TOKENS][HIDDEN]) {
    struct plain p = {m, &m->config, 0};
    const float *table = data_of(&p, LLM_W_EMBED, 0), *places = data_of(&p, LLM_W_PLACES, 0);
    const float *types = data_of(&p, LLM_W_TYPES, 0);
    for (int t = 0; t < TOKENS; t++) {
        for (int i = 0; i < HIDDEN; i++) {
            x[t][i] = (double)table[ids[t] * HIDDEN + i] * m->config.embed_scale + (types ? (double)types[i] : 0);
            x[t][i] += places ? (double)places[(t + m->config.offset) * HIDDEN + i] : 0;
        }
        if (m->config.sum_norms)
            normalise(&p, LLM_W_START, 0, x[t], HIDDEN, x[t]);
    }
    for (; p.layer < m->config.layers; p.layer++)
        run_layer(&p, x);
    for (int t = 0; t < TOKENS && !m->config.sum_norms; t++)
        normalise(&p, LLM_W_NORM, 0, x[t], HIDDEN, x[t]);
}

static void run_plain(const struct llm_model *m, const int32_t *ids, double *logits) {
    struct plain p = {m, &m->config, 0};
    double x[TOKENS][HIDDEN];
    run_layers(m, ids, x);
    multiply(&p, m->config.tied ? LLM_W_EMBED : LLM_W_HEAD, LLM_ROLES, x[TOKENS - 1], VOCAB, HIDDEN, logits);
    for (int i = 0; i < VOCAB; i++)
        logits[i] = capped(logits[i] * m->config.logit_scale, m->config.final_cap);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void compare(const char *name, const float *got, const double *want) {
    for (int i = 0; i < VOCAB; i++)
        if (!(fabs((double)got[i] - want[i]) < 1e-4 * (1 + fabs(want[i]))))
            fail_msg("%s: logit %d is %g, %g expected", name, i, (double)got[i], want[i]);
}

static void check_family(hilo_client *client, const char *dir, const char *name) {
    struct llm_session *s;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    if (llm_session_open(client, dir, &o, &s) != HILO_OK) {
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
        fail_msg("%s", name);
    }
    int32_t ids[TOKENS];
    const int32_t *p = ids;
    double want[VOCAB];
    float got[VOCAB];
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    run_plain(&s->model, ids, want);
    assert_int_equal(llm_session_prefill(s, &p, (size_t[]){TOKENS}, NULL, got), HILO_OK);
    compare(name, got, want);
    llm_session_reset(s);
    for (int i = 0; i < TOKENS; i++)
        assert_int_equal(llm_session_decode(s, &ids[i], NULL, got), HILO_OK);
    compare(name, got, want);
    int32_t next[TOKENS], verified[LLM_MAX_APART];
    llm_session_reset(s);
    for (int i = 0; i < TOKENS; i++)
        assert_int_equal(llm_session_decode(s, &ids[i], &next[i], NULL), HILO_OK);
    llm_session_reset(s);
    for (int i = 0; i < TOKENS; i += LLM_MAX_APART) {
        size_t n = TOKENS - i < LLM_MAX_APART ? (size_t)(TOKENS - i) : LLM_MAX_APART;
        assert_int_equal(llm_session_verify(s, ids + i, n, verified), HILO_OK);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(verified[k], next[(size_t)i + k]);
    }
    llm_session_close(s);
}

/* The vector of a text with each pooling; what the session has read stays. */
static void check_embeddings(hilo_client *client, const char *dir, const char *name) {
    struct llm_session *s;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_OK);
    int32_t ids[TOKENS], next = 0, again = 0;
    const int32_t *p = ids;
    double x[TOKENS][HIDDEN];
    float got[HIDDEN], logits[VOCAB];
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    run_layers(&s->model, ids, x);
    bool generates = s->model.config.generates;
    assert_int_equal(llm_session_prefill(s, &p, (size_t[]){TOKENS}, &next, NULL) == HILO_OK, generates);
    s->embedding.normalise = false;
    for (int pooling = LLM_POOL_MEAN; pooling <= LLM_POOL_LAST; pooling++) {
        s->embedding.pooling = (enum llm_pooling)pooling;
        assert_int_equal(llm_session_embed(s, ids, TOKENS, got), HILO_OK);
        for (int i = 0; i < HIDDEN; i++) {
            double want = pooling == LLM_POOL_FIRST ? x[0][i] : pooling == LLM_POOL_LAST ? x[TOKENS - 1][i] : 0;
            for (int t = 0; t < TOKENS && pooling == LLM_POOL_MEAN; t++)
                want += x[t][i] / TOKENS;
            if (!(fabs((double)got[i] - want) < 1e-5 * (1 + fabs(want))))
                fail_msg("%s, pooling %d: number %d is %g, %g expected", name, pooling, i, (double)got[i], want);
        }
    }
    assert_int_equal(llm_session_embed(s, ids, (size_t)s->embedding.limit + 1, got), HILO_OUT_OF_RANGE);
    if (generates) {
        assert_int_equal(llm_session_decode(s, NULL, &again, NULL), HILO_OK);
        llm_session_reset(s);
        assert_int_equal(llm_session_prefill(s, &p, (size_t[]){TOKENS}, NULL, logits), HILO_OK);
        assert_int_equal(llm_session_decode(s, &next, &next, NULL), HILO_OK);
        assert_int_equal(again, next);
    }
    llm_session_close(s);
}

static void test_families(void **state) {
    (void)state;
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    char dir[] = "/tmp/hilo-llm-XXXXXX", config[1024], path[256];
    struct diag_list d;
    struct file tokenizer;
    hilo_client *client;
    diag_init(&d, mem_system_allocator());
    assert_non_null(mkdtemp(dir));
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    assert_int_equal(file_open("tests/llm/tiny-llama/tokenizer.json", d.al, &d, &tokenizer), HILO_OK);
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    assert_int_equal(file_write(path, tokenizer.text, &d), HILO_OK);
    file_close(&tokenizer);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        struct llm_model m;
        snprintf(config, sizeof config, "{%s%s%s}", families[i].config, strstr(families[i].config, SIZES) ? "" : ",",
                 strstr(families[i].config, SIZES) ? "" : SIZES);
        make_model(dir, config, &m);
        llm_model_close(&m);
        check_family(client, dir, families[i].name);
    }
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        struct llm_model m;
        snprintf(config, sizeof config, "{%s," SIZES "}", encoders[i].config);
        make_model(dir, config, &m);
        llm_model_close(&m);
        check_embeddings(client, dir, encoders[i].name);
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
    hilo_client_release(client);
}

static void refuse(const char *config, const char *why) {
    struct llm_config c;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_config_parse(str_of(config), (struct str){NULL, 0}, &d, &c), HILO_INVALID_ARGUMENT);
    if (!strstr(d.first->message, why))
        fail_msg("'%s' expected in: %s", why, d.first->message);
    diag_clear(&d);
}

static void test_refusals(void **state) {
    (void)state;
    refuse("{}", "'model_type' is ''");
    refuse("{\"model_type\":\"mamba\"," SIZES "}", "'mamba'");
    refuse("{\"model_type\":\"mixtral\",\"num_local_experts\":2,\"num_experts_per_tok\":3," SIZES "}", "there are 2 experts");
    refuse("{\"model_type\":\"llama\"}", "'num_hidden_layers' is missing");
    refuse("{\"model_type\":\"llama\",\"num_hidden_layers\":\"3\"}", "'num_hidden_layers' is not an integer");
    refuse("{\"model_type\":\"llama\",\"num_hidden_layers\":1e9}", "1 to 512");
    refuse("{\"model_type\":\"llama\",\"hidden_act\":\"relu\"," SIZES "}", "'relu'");
    refuse("{\"model_type\":\"llama\",\"head_dim\":7," SIZES "}", "even");
    refuse("{\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"ntk\"}," SIZES "}",
           "rope_scaling.rope_type' is 'ntk'");
    refuse("{\"model_type\":\"phi3\",\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1]}," SIZES "}",
           "rope_scaling.short_factor' has 1 numbers");
    refuse("{\"model_type\":\"phi3\",\"partial_rotary_factor\":2," SIZES "}", "partial_rotary_factor");
    refuse("{\"model_type\":\"smollm3\",\"no_rope_layers\":[1]," SIZES "}", "'no_rope_layers' has 1 entries");
    refuse("{\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"llama3\",\"low_freq_factor\":9}," SIZES "}",
           "high_freq_factor");
    refuse("{\"model_type\":\"llama\",\"eos_token_id\":5000," SIZES "}", "'eos_token_id'");
    refuse("{\"model_type\":\"llama\",\"tie_word_embeddings\":1," SIZES "}", "true or false");
    refuse("{\"model_type\":\"gemma2\",\"layer_types\":[]," SIZES "}", "'layer_types' has 0 entries");
    refuse("{\"model_type\":\"llama\",\"num_attention_heads\":5,\"num_key_value_heads\":2,\"hidden_size\":32,"
           "\"num_hidden_layers\":3,\"intermediate_size\":64,\"vocab_size\":99,\"max_position_embeddings\":64}", "multiple");
}

/* Experts in the layouts of gpt-oss: gates and ups in turn, transposed, and as MXFP4. */
static void test_gpt_oss(void **state) {
    (void)state;
    enum { E = 2, ROWS = 3, COLS = 32 };
    static float plain[E][COLS][2 * ROWS], got[E][ROWS][COLS];
    static uint8_t blocks[E][2 * ROWS][1][16], scales[E][2 * ROWS][1], packed[E][ROWS][17];
    static struct llm_tensor v[] = {
        {.name = {"x.down_proj", 11}, .dtype = IR_F32_T, .rank = 3, .dims = {E, ROWS, COLS}},
        {.name = {"x.gate_up_proj", 14}, .dtype = IR_F32_T, .rank = 3, .dims = {E, COLS, 2 * ROWS}, .data = plain,
         .bytes = sizeof plain},
        {.name = {"y.gate_up_proj_blocks", 21}, .dtype = IR_UI8_T, .rank = 4, .dims = {E, 2 * ROWS, 1, 16}, .data = blocks,
         .bytes = sizeof blocks},
        {.name = {"y.gate_up_proj_scales", 21}, .dtype = IR_UI8_T, .rank = 3, .dims = {E, 2 * ROWS, 1}, .data = scales,
         .bytes = sizeof scales},
    };
    const struct llm_tensors files = {.v = v, .n = 4};
    for (int e = 0; e < E; e++)
        for (int r = 0; r < 2 * ROWS; r++) {
            scales[e][r][0] = (uint8_t)(120 + e * 10 + r);
            for (int c = 0; c < COLS; c++) {
                plain[e][c][r] = (float)(e * 1000 + r * 100 + c);
                blocks[e][r][0][c / 2] |= (uint8_t)((c + r) % 16 << c % 2 * 4);
            }
        }
    struct gpt_oss x = gpt_oss_find(&files, "x", LLM_W_UPS, E, ROWS, COLS);
    assert_ptr_equal(x.t, &v[1]);
    assert_int_equal(x.joined.bytes, sizeof got);
    gpt_oss_copy(&x, 0, E, got);
    assert_true(got[1][2][31] == 1531 && got[0][1][7] == 307 && got[0][0][0] == 100);
    x = gpt_oss_find(&files, "y", LLM_W_GATES, E, ROWS, COLS);
    assert_ptr_equal(x.t, &v[2]);
    assert_int_equal(x.joined.bytes, sizeof packed);
    gpt_oss_copy(&x, 0, 1, packed);
    gpt_oss_copy(&x, 1, E, packed);
    for (int e = 0; e < E; e++)
        for (int r = 0; r < ROWS; r++) {
            assert_int_equal(packed[e][r][0], 120 + e * 10 + 2 * r);
            for (int c = 0; c < COLS; c++)
                assert_int_equal(packed[e][r][1 + c % 16] >> c / 16 * 4 & 15, (c + 2 * r) % 16);
        }
    assert_null(gpt_oss_find(&files, "y", LLM_W_GATES, E, ROWS + 1, COLS).t);
    assert_null(gpt_oss_find(&files, "x", LLM_W_DOWNS, E, ROWS, COLS).t);
    assert_null(gpt_oss_find(&files, "z", LLM_W_GATES, E, ROWS, COLS).t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_gpt_oss)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
