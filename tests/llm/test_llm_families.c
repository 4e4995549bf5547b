/* Families of models: programs of small random models compute what a plain transformer computes, written here with loops and in
 * double, from the description alone; read at once, and token by token. */
#include "llm/gpt_oss.h"
#include "random_model.h"

#include <math.h>

enum { TOKENS = 11, VOCAB = 2054, HIDDEN = 32, ROOM = 4096, LAYERS = 3, SIDE = 12 };

/* ---- a model on disk ------------------------------------------------------------------------- */

#define SIZES "\"hidden_size\":32,\"num_hidden_layers\":3,\"num_attention_heads\":4,\"num_key_value_heads\":2," \
              "\"intermediate_size\":64,\"vocab_size\":2054,\"max_position_embeddings\":64"

/* `refused`: why no GGUF file is written of it. */
static const struct { const char *name, *config, *refused; } families[] = {
    {"llama", "\"model_type\":\"llama\",\"rope_theta\":10000,\"tie_word_embeddings\":false", NULL},
    {"llama with biases", "\"model_type\":\"llama\",\"attention_bias\":true,\"mlp_bias\":true,\"head_dim\":12,"
                          "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}", "biases of queries"},
    {"llama 3", "\"model_type\":\"llama\",\"tie_word_embeddings\":true,\"rope_parameters\":{\"rope_type\":\"llama3\","
                "\"rope_theta\":500000,\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
                "\"original_max_position_embeddings\":16}", NULL},
    {"mistral", "\"model_type\":\"mistral\",\"sliding_window\":4", "window of attention"},
    {"qwen2", "\"model_type\":\"qwen2\",\"tie_word_embeddings\":true,\"use_sliding_window\":false,\"sliding_window\":4", NULL},
    {"qwen3", "\"model_type\":\"qwen3\",\"head_dim\":16,\"rms_norm_eps\":1e-6", NULL},
    {"gemma", "\"model_type\":\"gemma\",\"head_dim\":16,\"hidden_act\":\"gelu\"", NULL},
    {"gemma2", "\"model_type\":\"gemma2\",\"head_dim\":16,\"sliding_window\":4,\"query_pre_attn_scalar\":24,"
               "\"attn_logit_softcapping\":5.0,\"final_logit_softcapping\":3.0,\"hidden_activation\":\"gelu_pytorch_tanh\"",
     "scale of attention"},
    {"ministral", "\"model_type\":\"ministral\",\"head_dim\":16,\"sliding_window\":4,"
                  "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\"]", "'ministral'"},
    {"llama with yarn", "\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,"
                        "\"original_max_position_embeddings\":8}", NULL},
    {"phi3", "\"model_type\":\"phi3\",\"partial_rotary_factor\":0.5,\"original_max_position_embeddings\":6,\"rope_scaling\":"
             "{\"type\":\"longrope\",\"short_factor\":[1,1.5],\"long_factor\":[1,1.5]}", NULL},
    {"smollm3", "\"model_type\":\"smollm3\",\"no_rope_layers\":[1,0,1]", "layers"},
    {"granite", "\"model_type\":\"granite\",\"embedding_multiplier\":3,\"attention_multiplier\":0.2,"
                "\"residual_multiplier\":0.5,\"logits_scaling\":2,\"attention_bias\":true", "biases of queries"},
    {"olmo2", "\"model_type\":\"olmo2\"", NULL},
    {"qwen3_moe", "\"model_type\":\"qwen3_moe\",\"head_dim\":16,\"num_experts\":6,\"num_experts_per_tok\":2,"
                  "\"moe_intermediate_size\":16,\"norm_topk_prob\":false", NULL},
    {"mixtral", "\"model_type\":\"mixtral\",\"num_local_experts\":5,\"num_experts_per_tok\":3", NULL},
    {"olmo3", "\"model_type\":\"olmo3\",\"sliding_window\":4,\"rope_theta\":500000,\"rope_scaling\":{\"rope_type\":\"yarn\","
              "\"factor\":4,\"original_max_position_embeddings\":8},\"layer_types\":[\"sliding_attention\","
              "\"full_attention\",\"full_attention\"]", "'olmo3'"},
    {"ministral3", "\"model_type\":\"ministral3\",\"head_dim\":16,\"rope_parameters\":{\"rope_type\":\"yarn\","
                   "\"rope_theta\":10000,\"factor\":4,\"original_max_position_embeddings\":4,\"llama_4_scaling_beta\":0.5}",
     "'ministral3'"},
    {"gpt_oss", "\"model_type\":\"gpt_oss\",\"head_dim\":16,\"sliding_window\":4,\"num_local_experts\":5,"
                "\"num_experts_per_tok\":2,\"swiglu_limit\":0.05", "experts' limit"},
    {"qwen3_5", "\"model_type\":\"qwen3_5_text\",\"head_dim\":16,\"partial_rotary_factor\":0.5,\"linear_num_key_heads\":2,"
                "\"linear_num_value_heads\":4,\"linear_key_head_dim\":8,\"linear_value_head_dim\":12,\"layer_types\":["
                "\"linear_attention\",\"full_attention\",\"linear_attention\"]", NULL},
    {"qwen3_5_moe", "\"model_type\":\"qwen3_5_moe_text\",\"head_dim\":16,\"linear_num_key_heads\":2,\"num_experts\":5,"
                    "\"linear_num_value_heads\":2,\"linear_key_head_dim\":8,\"linear_value_head_dim\":8,"
                    "\"num_experts_per_tok\":2,\"moe_intermediate_size\":16,\"shared_expert_intermediate_size\":24,"
                    "\"layer_types\":[\"linear_attention\",\"linear_attention\",\"full_attention\"]", NULL},
    {"gemma3n", "\"model_type\":\"gemma3n_text\",\"head_dim\":16,\"sliding_window\":4,\"laurel_rank\":6,"
                "\"hidden_size_per_layer_input\":12,\"num_kv_shared_layers\":1,\"vocab_size_per_layer_input\":2000,"
                "\"activation_sparsity_pattern\":[0.9,0,0.5],\"layer_types\":[\"sliding_attention\",\"full_attention\","
                "\"sliding_attention\"]", NULL},
    {"gemma4", "\"model_type\":\"gemma4_text\",\"head_dim\":16,\"sliding_window\":4,\"global_head_dim\":24,"
               "\"hidden_size_per_layer_input\":12,\"num_kv_shared_layers\":1,\"use_double_wide_mlp\":true,"
               "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.25,"
               "\"rope_theta\":1000000},\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":10000}},"
               "\"layer_types\":[\"sliding_attention\",\"full_attention\",\"full_attention\"]", NULL},
    {"gemma4 with experts", "\"model_type\":\"gemma4_text\",\"head_dim\":16,\"global_head_dim\":16,\"enable_moe_block\":true,"
                            "\"hidden_size_per_layer_input\":0,\"num_experts\":5,\"top_k_experts\":2,"
                            "\"moe_intermediate_size\":12", NULL},
    {"gemma4 with values as keys", "\"model_type\":\"gemma4_text\",\"head_dim\":16,\"sliding_window\":4,"
                                   "\"hidden_size_per_layer_input\":0,\"attention_k_eq_v\":true,\"per_layer_config\":{\"1\":{"
                                   "\"head_dim\":20,\"num_key_value_heads\":1},\"2\":{\"head_dim\":20}},\"layer_types\":["
                                   "\"sliding_attention\",\"full_attention\",\"full_attention\"]", NULL},
    {"gemma3", "\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\",\"head_dim\":16,\"sliding_window\":4,"
               "\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\"],\"rope_theta\":1000000,"
               "\"rope_local_base_freq\":10000,\"query_pre_attn_scalar\":16," SIZES "}", NULL},
};

static const struct { const char *name, *config; } encoders[] = {
    {"bert", "\"model_type\":\"bert\",\"architectures\":[\"BertModel\"]"},
    {"xlm-roberta", "\"model_type\":\"xlm-roberta\",\"type_vocab_size\":1,\"pad_token_id\":1,"
                    "\"hidden_act\":\"gelu_new\""},
    {"qwen3", "\"model_type\":\"qwen3\",\"head_dim\":16"},
    {"embedding gemma", "\"model_type\":\"gemma3_text\",\"head_dim\":16,\"sliding_window\":4,"
                        "\"use_bidirectional_attention\":true"},
};

/* ---- the plain transformer ------------------------------------------------------------------- */

struct plain {
    const struct llm_model *m;
    const struct llm_config *c;
    int64_t layer;
    const struct llm_layer *at;
    double (*stream)[TOKENS][HIDDEN];      /* residual streams but the first */
    double (*sides)[LAYERS * SIDE];        /* of each token */
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
    int64_t D = p->at->head_dim;
    const struct llm_rope *rope = p->at->sliding ? &p->c->local_rope : &p->c->rope;
    float f[ROOM];
    int64_t half = rope->dim / 2;
    llm_rope_frequencies(rope, false, f);
    if (p->c->qk_norm_wide)
        normalise(p, role == LLM_W_Q_NORM ? LLM_W_Q_WIDE : LLM_W_K_WIDE, p->layer, x, heads * D, x);
    for (int64_t h = 0; h < heads; h++, x += D) {
        if (p->c->qk_norm)
            normalise(p, role, p->layer, x, D, x);
        for (int64_t i = 0; i < half && !p->at->unrotated; i++) {
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
    int64_t D = p->at->head_dim, from = head / (p->c->heads / p->at->kv_heads) * D;
    const float *sinks = data_of(p, LLM_W_SINKS, p->layer);
    double s[TOKENS], sum = sinks ? exp((double)sinks[head]) : 0;
    for (int64_t i = 0; i < D && p->c->query_growth != 0; i++)
        q[i] *= 1 + p->c->query_growth * log(1 + floor((double)place / p->c->rope.original));
    int64_t end = p->c->bidirectional ? TOKENS : place + 1;
    for (int64_t t = 0; t < end; t++) {
        bool seen = !p->at->sliding || llabs((long long)(place - t)) < p->c->window;
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

/* What of the gates is far enough above their mean. */
static void thin_out(const struct plain *p, double *gate, int64_t n) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
        mean += gate[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (gate[i] - mean) * (gate[i] - mean) / (double)n;
    for (int64_t i = 0; i < n; i++)
        gate[i] = fmax(gate[i] - mean - sqrt(square) * p->at->spread, 0);
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
        if (k == 2 && p->at->spread != 0)
            thin_out(p, gate, ffn);
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

/* Expert `which` of those whose gates and ups are one matrix. */
static void run_joined(const struct plain *p, int64_t which, const double *x, double *out) {
    int64_t F = p->c->expert_ffn;
    const float *both = data_of(p, LLM_W_GATES_UPS, p->layer) + which * 2 * F * HIDDEN;
    const float *down = data_of(p, LLM_W_DOWNS, p->layer) + which * HIDDEN * F;
    double h[ROOM];
    for (int64_t r = 0; r < 2 * F; r++) {
        h[r] = 0;
        for (int i = 0; i < HIDDEN; i++)
            h[r] += (double)both[r * HIDDEN + i] * x[i];
    }
    for (int64_t r = 0; r < HIDDEN; r++) {
        out[r] = 0;
        for (int64_t i = 0; i < F; i++)
            out[r] += (double)down[r * F + i] * activate(p, h[i]) * h[F + i];
    }
}

/* The experts with the greatest probabilities, weighted by them; `asked` decides which. */
static void run_experts(const struct plain *p, const double *asked, const double *x, double *out) {
    static const enum llm_role roles[] = {LLM_W_GATES, LLM_W_UPS, LLM_W_DOWNS};
    static const enum llm_role biases[] = {LLM_W_GATES_BIAS, LLM_W_UPS_BIAS, LLM_W_DOWNS_BIAS};
    const struct llm_config *c = p->c;
    double s[ROOM], total = 0, taken = 0, y[HIDDEN];
    int64_t which[LLM_MAX_CHOSEN];
    const float *scales = data_of(p, LLM_W_CHOICE_SCALE, p->layer);
    multiply(p, LLM_W_ROUTER, LLM_W_ROUTER_BIAS, asked, c->experts, HIDDEN, s);
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
    if (c->shared_ffn) {
        static const enum llm_role shared[] = {LLM_W_SHARED_GATE, LLM_W_SHARED_UP, LLM_W_SHARED_DOWN};
        static const enum llm_role none[] = {LLM_ROLES, LLM_ROLES, LLM_ROLES};
        double gate;
        multiply(p, LLM_W_SHARED_ROUTER, LLM_ROLES, x, 1, HIDDEN, &gate);
        run_mlp(p, shared, none, 0, c->shared_ffn, x, y);
        for (int i = 0; i < HIDDEN; i++)
            out[i] = y[i] / (1 + exp(-gate));
    }
    for (int64_t k = 0; k < c->chosen; k++) {
        if (c->joined_experts)
            run_joined(p, which[k], x, y);
        else
            run_mlp(p, roles, biases, which[k], c->expert_ffn, x, y);
        for (int i = 0; i < HIDDEN; i++)
            out[i] += y[i] * -s[which[k]] / (c->chosen_sum ? taken : total) * (scales ? (double)scales[which[k]] : 1);
    }
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static void unit(const double *x, int64_t n, double eps, double scale, double *out) {
    double sum = eps;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] / sqrt(sum) * scale;
}

/* Attention of all tokens, h to y. */
static void attend(const struct plain *p, double h[TOKENS][HIDDEN], double y[TOKENS][HIDDEN]) {
    static double keys[LAYERS][TOKENS][ROOM], values[LAYERS][TOKENS][ROOM];
    const struct llm_config *c = p->c;
    int64_t D = p->at->head_dim, Q = c->heads * D, KV = p->at->kv_heads * D, own = p->at->cache / LLM_LAYER_ARRAYS;
    double q[ROOM], both[ROOM], out[ROOM];
    for (int64_t t = 0; t < TOKENS && !p->at->borrows; t++) {
        bool same = p->at->one_key_value;
        multiply(p, LLM_W_K, LLM_W_K_BIAS, h[t], KV, HIDDEN, keys[own][t]);
        multiply(p, same ? LLM_W_K : LLM_W_V, same ? LLM_W_K_BIAS : LLM_W_V_BIAS, h[t], KV, HIDDEN, values[own][t]);
        rotate(p, keys[own][t], p->at->kv_heads, LLM_W_K_NORM, t);
        for (int64_t i = 0; i < p->at->kv_heads && c->v_norm; i++)
            unit(values[own][t] + i * D, D, c->norm_eps * (double)D, sqrt((double)D), values[own][t] + i * D);
    }
    for (int64_t t = 0; t < TOKENS; t++) {
        int64_t each = c->gated_attention ? 2 * D : D;
        multiply(p, LLM_W_Q, LLM_W_Q_BIAS, h[t], c->heads * each, HIDDEN, both);
        for (int64_t i = 0; i < Q; i++)
            q[i] = both[i / D * each + i % D];
        rotate(p, q, c->heads, LLM_W_Q_NORM, t);
        for (int64_t i = 0; i < c->heads; i++)
            look(p, q + i * D, keys[own], values[own], i, t, out + i * D);
        for (int64_t i = 0; i < Q && c->gated_attention; i++)
            out[i] *= logistic(both[i / D * each + D + i % D]);
        multiply(p, LLM_W_O, LLM_W_O_BIAS, out, HIDDEN, Q, y[t]);
    }
}

/* A gated delta net, token by token. */
static void recur(const struct plain *p, double h[TOKENS][HIDDEN], double y[TOKENS][HIDDEN]) {
    static double s[8][16][16], in[TOKENS][ROOM];
    const struct llm_delta *d = &p->c->delta;
    int64_t K = d->key_dim, V = d->value_dim, keys = d->key_heads * K, all = 2 * keys + d->heads * V;
    const float *taps = data_of(p, LLM_W_DELTA_CONV, p->layer), *bias = data_of(p, LLM_W_DELTA_TIME_BIAS, p->layer);
    const float *speed = data_of(p, LLM_W_DELTA_DECAY, p->layer), *norm = data_of(p, LLM_W_DELTA_NORM, p->layer);
    double x[ROOM], q[16], k[16], rate[8], time[8], gate[ROOM], out[ROOM];
    memset(s, 0, sizeof s);
    for (int64_t t = 0; t < TOKENS; t++) {
        multiply(p, LLM_W_DELTA_IN, LLM_ROLES, h[t], all, HIDDEN, in[t]);
        multiply(p, LLM_W_DELTA_BETA, LLM_ROLES, h[t], d->heads, HIDDEN, rate);
        multiply(p, LLM_W_DELTA_TIME, LLM_ROLES, h[t], d->heads, HIDDEN, time);
        multiply(p, LLM_W_DELTA_GATE, LLM_ROLES, h[t], d->heads * V, HIDDEN, gate);
        for (int64_t i = 0; i < all; i++) {
            x[i] = 0;
            for (int64_t n = 0; n < d->taps; n++)
                x[i] += t - d->taps + 1 + n < 0 ? 0 : in[t - d->taps + 1 + n][i] * (double)taps[i * d->taps + n];
            x[i] *= logistic(x[i]);
        }
        for (int64_t g = 0; g < d->heads; g++) {
            int64_t from = g / (d->heads / d->key_heads) * K;
            double keep = exp(-exp((double)speed[g]) * log(1 + exp(time[g] + (double)bias[g])));
            unit(x + from, K, 1e-6, 1 / sqrt((double)K), q);
            unit(x + keys + from, K, 1e-6, 1, k);
            for (int64_t v = 0; v < V; v++) {
                double known = 0, *o = &out[g * V + v];
                *o = 0;
                for (int64_t i = 0; i < K; i++)
                    known += k[i] * (s[g][i][v] *= keep);
                for (int64_t i = 0; i < K; i++)
                    *o += q[i] * (s[g][i][v] += k[i] * logistic(rate[g]) * (x[2 * keys + g * V + v] - known));
            }
            unit(out + g * V, V, p->c->norm_eps * (double)V, sqrt((double)V), out + g * V);
            for (int64_t v = 0; v < V; v++)
                out[g * V + v] *= (double)norm[v] * gate[g * V + v] * logistic(gate[g * V + v]);
        }
        multiply(p, LLM_W_DELTA_OUT, LLM_ROLES, out, HIDDEN, d->heads * V, y[t]);
    }
}

static double mean_square(const double *x) {
    double sum = 0;
    for (int i = 0; i < HIDDEN; i++)
        sum += x[i] * x[i] / HIDDEN;
    return sum;
}

/* out[HIDDEN] = W x with the strength of `like`. */
static void project(const struct plain *p, enum llm_role role, const double *x, const double *like, double *out) {
    multiply(p, role, LLM_ROLES, x, HIDDEN, HIDDEN, out);
    double by = sqrt(mean_square(like) / fmax(mean_square(out), 1e-5));
    for (int i = 0; i < HIDDEN; i++)
        out[i] *= by;
}

/* Weights for the streams, out[n], that the first one chooses. */
static void route(const struct plain *p, const double *x, enum llm_role role, int64_t n, double *out) {
    double h[HIDDEN], chosen[LLM_MAX_STREAMS];
    normalise(p, LLM_W_ROUTE_NORM, p->layer, x, HIDDEN, h);
    for (int i = 0; i < HIDDEN; i++)
        h[i] /= HIDDEN;
    multiply(p, LLM_W_ROUTE, LLM_ROLES, h, p->c->streams, HIDDEN, chosen);
    for (int64_t i = 0; i < p->c->streams; i++)
        chosen[i] = tanh(chosen[i]);
    multiply(p, role, LLM_ROLES, chosen, n, p->c->streams, out);
}

static void predict(const struct plain *p, double *x, int64_t t) {
    double by[LLM_MAX_STREAMS * LLM_MAX_STREAMS], before[LLM_MAX_STREAMS][HIDDEN];
    int64_t n = p->c->streams;
    route(p, x, LLM_W_PREDICT, n * n, by);
    for (int64_t k = 0; k < n; k++)
        memcpy(before[k], k ? p->stream[k][t] : x, sizeof *before);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int h = 0; h < HIDDEN; h++)
                (i ? p->stream[i][t] : x)[h] += by[i * n + k] * before[k][h];
}

/* out[HIDDEN]: the layer's embedding, as much of it as x asks for. */
static void ask_side(const struct plain *p, const double *x, int64_t t, double *out) {
    double gate[SIDE];
    multiply(p, LLM_W_SIDE_IN, LLM_ROLES, x, SIDE, HIDDEN, gate);
    for (int i = 0; i < SIDE; i++)
        gate[i] = activate(p, gate[i]) * p->sides[t][p->layer * SIDE + i];
    multiply(p, LLM_W_SIDE_OUT, LLM_ROLES, gate, HIDDEN, SIDE, out);
    normalise(p, LLM_W_SIDE_POST, p->layer, out, HIDDEN, out);
}

static void correct(const struct plain *p, double *x, const double *predicted, int64_t t) {
    const float *scale = data_of(p, LLM_W_CORRECT_SCALE, p->layer);
    double by[LLM_MAX_STREAMS], asked[HIDDEN], side[HIDDEN];
    route(p, x, LLM_W_CORRECT, p->c->streams, by);
    for (int64_t i = p->c->streams; i-- > 0;)
        for (int h = 0; h < HIDDEN; h++)
            *(i ? &p->stream[i][t][h] : &x[h]) = (i ? p->stream[i][t][h] : predicted[h]) + (x[h] - predicted[h]) * (by[i] + 1);
    for (int h = 0; h < HIDDEN; h++)
        asked[h] = x[h] * (double)scale[h];
    ask_side(p, asked, t, side);
    for (int64_t i = 1; i < p->c->streams; i++)
        for (int h = 0; h < HIDDEN; h++)
            p->stream[i][t][h] += side[h];
}

/* What is added after the MLP, and the scale of the whole. */
static void finish_layer(const struct plain *p, double *x, const double *predicted, int64_t t) {
    double side[HIDDEN];
    if (p->c->streams) {
        correct(p, x, predicted, t);
        return;
    }
    if (p->c->side) {
        ask_side(p, x, t, side);
        for (int i = 0; i < HIDDEN; i++)
            x[i] += side[i];
    }
    for (int i = 0; i < HIDDEN && p->c->layer_scale; i++)
        x[i] *= (double)data_of(p, LLM_W_SCALE, p->layer)[0];
}

/* Experts beside the MLP, whose result is y. */
static void add_experts(const struct plain *p, const double *x, double *y) {
    const float *scale = data_of(p, LLM_W_ROUTER_SCALE, p->layer);
    double asked[HIDDEN], h[HIDDEN], out[HIDDEN];
    unit(x, HIDDEN, p->c->norm_eps * HIDDEN, 1, asked);
    for (int i = 0; i < HIDDEN; i++)
        asked[i] *= (double)scale[i];
    normalise(p, LLM_W_POST_MLP, p->layer, y, HIDDEN, y);
    normalise(p, LLM_W_PRE_EXPERTS, p->layer, x, HIDDEN, h);
    run_experts(p, asked, h, out);
    normalise(p, LLM_W_POST_EXPERTS, p->layer, out, HIDDEN, out);
    for (int i = 0; i < HIDDEN; i++)
        y[i] += out[i];
}

static void run_layer(const struct plain *p, double x[TOKENS][HIDDEN]) {
    static const enum llm_role roles[] = {LLM_W_GATE, LLM_W_UP, LLM_W_DOWN};
    static const enum llm_role biases[] = {LLM_W_GATE_BIAS, LLM_W_UP_BIAS, LLM_W_DOWN_BIAS};
    const struct llm_config *c = p->c;
    double all[TOKENS][HIDDEN], found[TOKENS][HIDDEN], predicted[TOKENS][HIDDEN], h[HIDDEN], y[HIDDEN], low[ROOM];
    for (int64_t t = 0; t < TOKENS; t++) {
        if (c->streams)
            predict(p, x[t], t);
        memcpy(predicted[t], x[t], sizeof *x);
        normalise_input(p, LLM_W_ATTN_NORM, x[t], all[t]);
    }
    (p->at->recurrent ? recur : attend)(p, all, found);
    for (int64_t t = 0; t < TOKENS; t++) {
        memcpy(h, found[t], sizeof h);
        if (c->post_norms)
            normalise(p, LLM_W_POST_ATTN, p->layer, h, HIDDEN, h);
        add(p, x[t], h);
        if (c->rank) {
            multiply(p, LLM_W_LAUREL_IN, LLM_ROLES, all[t], c->rank, HIDDEN, low);
            multiply(p, LLM_W_LAUREL_OUT, LLM_ROLES, low, HIDDEN, c->rank, h);
            normalise(p, LLM_W_LAUREL_NORM, p->layer, h, HIDDEN, h);
            for (int i = 0; i < HIDDEN; i++)
                x[t][i] = (x[t][i] + all[t][i] + h[i]) / sqrt(2);
        }
        if (c->sum_norms)
            normalise(p, LLM_W_ATTN_SUM, p->layer, x[t], HIDDEN, x[t]);
        normalise_input(p, c->post_norms ? LLM_W_PRE_FFN : LLM_W_FFN_NORM, x[t], h);
        if (c->experts && !c->parallel_experts)
            run_experts(p, h, h, y);
        else
            run_mlp(p, roles, biases, 0, p->at->ffn, h, y);
        if (c->parallel_experts)
            add_experts(p, x[t], y);
        memcpy(h, y, sizeof h);
        if (c->post_norms)
            normalise(p, LLM_W_POST_FFN, p->layer, h, HIDDEN, h);
        add(p, x[t], h);
        if (c->sum_norms)
            normalise(p, LLM_W_FFN_SUM, p->layer, x[t], HIDDEN, x[t]);
        finish_layer(p, x[t], predicted[t], t);
    }
}

/* Embeddings of the layers, and the streams, of a token. */
static void begin_token(const struct plain *p, int32_t id, int64_t t, const double *x) {
    static const enum llm_role opening[] = {LLM_ROLES, LLM_W_STREAM_1, LLM_W_STREAM_2, LLM_W_STREAM_3};
    const struct llm_config *c = p->c;
    double *side = p->sides[t];
    for (int64_t i = 1; i < c->streams; i++)
        project(p, opening[i], x, x, p->stream[i][t]);
    if (!c->side)
        return;
    multiply(p, LLM_W_SIDE_MODEL, LLM_ROLES, x, LAYERS * SIDE, HIDDEN, side);
    const float *own = data_of(p, LLM_W_SIDE_TABLE, 0) + (id < c->side_rows ? id : 0) * LAYERS * SIDE;
    for (int i = 0; i < LAYERS * SIDE; i++)
        side[i] /= sqrt(HIDDEN);
    for (int i = 0; i < LAYERS; i++)
        normalise(p, LLM_W_SIDE_NORM, 0, side + i * SIDE, SIDE, side + i * SIDE);
    for (int i = 0; i < LAYERS * SIDE; i++)
        side[i] = (side[i] + (double)own[i] * sqrt(SIDE)) / sqrt(2);
}

/* The mean of the streams. */
static void join_streams(const struct plain *p, int64_t t, double *x) {
    static const enum llm_role closing[] = {LLM_ROLES, LLM_W_UNSTREAM_1, LLM_W_UNSTREAM_2, LLM_W_UNSTREAM_3};
    double sum[HIDDEN], y[HIDDEN];
    memcpy(sum, x, sizeof sum);
    for (int64_t i = 1; i < p->c->streams; i++) {
        project(p, closing[i], p->stream[i][t], x, y);
        for (int h = 0; h < HIDDEN; h++)
            sum[h] += y[h];
    }
    for (int h = 0; h < HIDDEN && p->c->streams; h++)
        x[h] = sum[h] / (double)p->c->streams;
}

/* The states after the last layer, and its norm. */
static void run_layers(const struct llm_model *m, const int32_t *ids, double x[TOKENS][HIDDEN]) {
    static double stream[LLM_MAX_STREAMS][TOKENS][HIDDEN], sides[TOKENS][LAYERS * SIDE];
    struct plain p = {m, &m->config, 0, m->config.layer, stream, sides};
    const float *table = data_of(&p, LLM_W_EMBED, 0), *places = data_of(&p, LLM_W_PLACES, 0);
    const float *types = data_of(&p, LLM_W_TYPES, 0);
    for (int t = 0; t < TOKENS; t++) {
        for (int i = 0; i < HIDDEN; i++) {
            x[t][i] = (double)table[ids[t] * HIDDEN + i] * m->config.embed_scale + (types ? (double)types[i] : 0);
            x[t][i] += places ? (double)places[(t + m->config.offset) * HIDDEN + i] : 0;
        }
        if (m->config.sum_norms)
            normalise(&p, LLM_W_START, 0, x[t], HIDDEN, x[t]);
        begin_token(&p, ids[t], t, x[t]);
    }
    for (; p.layer < m->config.layers; p.layer++, p.at++)
        run_layer(&p, x);
    p.layer = 0;
    for (int t = 0; t < TOKENS; t++)
        join_streams(&p, t, x[t]);
    for (int t = 0; t < TOKENS && !m->config.sum_norms; t++)
        normalise(&p, LLM_W_NORM, 0, x[t], HIDDEN, x[t]);
}

static void run_plain(const struct llm_model *m, const int32_t *ids, double *logits) {
    struct plain p = {.m = m, .c = &m->config};
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

/* Sequences with a cache each, at different positions, answer what each alone does, to the bit. */
static void check_apart(struct llm_session *s, const int32_t *ids, int n_forks) {
    static float together[LLM_MAX_APART][VOCAB], alone[VOCAB];
    struct llm_session *forks[LLM_MAX_APART];
    int32_t tokens[LLM_MAX_APART];
    for (int i = 0; i < n_forks; i++) {
        const int32_t *p = ids + i % 3;
        size_t n = (size_t)i % 3 + 1;
        assert_int_equal(llm_session_fork(s, &forks[i]), HILO_OK);
        assert_int_equal(llm_session_prefill(forks[i], &p, &n, NULL, alone), HILO_OK);
        tokens[i] = ids[(2 * i + 1) % TOKENS];
    }
    for (int step = 0; step < 2; step++)
        assert_int_equal(llm_session_decode_apart(forks, (size_t)n_forks, tokens, together[0]), HILO_OK);
    for (int i = 0; i < n_forks; i++) {
        const int32_t *p = ids + i % 3;
        size_t n = (size_t)i % 3 + 1;
        llm_session_reset(forks[i]);
        assert_int_equal(llm_session_prefill(forks[i], &p, &n, NULL, alone), HILO_OK);
        for (int step = 0; step < 2; step++)
            assert_int_equal(llm_session_decode(forks[i], &tokens[i], NULL, alone), HILO_OK);
        if (memcmp(alone, together[i], sizeof alone) != 0)
            fail_msg("%s: sequence %d of %d is not what it is alone", s->model.config.family, i, n_forks);
        llm_session_close(forks[i]);
    }
}

/* `whole`: the model; the client may have several devices. */
static void check_family(hilo_client *client, const struct llm_model *whole, const char *dir, const char *name) {
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
    run_plain(whole, ids, want);
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
static void check_embeddings(hilo_client *client, const struct llm_model *whole, const char *dir, const char *name) {
    struct llm_session *s;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_OK);
    int32_t ids[TOKENS], next = 0, again = 0;
    const int32_t *p = ids;
    double x[TOKENS][HIDDEN];
    float got[HIDDEN], logits[VOCAB];
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    run_layers(whole, ids, x);
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

/* A client with several devices, over which models are divided; `threads` of them for all. */
static hilo_client *open_devices(int32_t devices) {
    hilo_client_options o;
    hilo_client *client;
    hilo_client_options_init(&o);
    o.devices = devices;
    o.threads = devices;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

/* Sparse gates of all inner values cannot be divided. */
static void check_refused(hilo_client *client, const char *dir) {
    struct llm_session *s;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    hilo_diagnostic d = {.struct_size = sizeof d};
    hilo_diagnostics_clear(client);
    assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_UNIMPLEMENTED);
    assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_OK);
    assert_non_null(strstr(d.message, "the gates of layer 0"));
    hilo_diagnostics_clear(client);
}

/* Each family, undivided and over devices; that of 4 has more devices than heads of keys, and a vocabulary that is not
   divided. */
static void test_families(void **state) {
    (void)state;
    char dir[sizeof family_dir], config[1024];
    hilo_client *client = open_directory(dir), *devices[] = {open_devices(2), open_devices(4)};
    struct llm_model m;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        bool whole = strstr(families[i].config, SIZES);
        snprintf(config, sizeof config, "{%s%s%s}", families[i].config, whole ? "" : ",", whole ? "" : SIZES);
        make_model(dir, config, &m);
        check_gguf(&m, dir, families[i].name, families[i].refused);
        check_family(client, &m, dir, families[i].name);
        if (strstr(families[i].config, "sparsity"))
            check_refused(devices[0], dir);
        else
            check_family(devices[i % 2], &m, dir, families[i].name);
        llm_model_close(&m);
    }
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        snprintf(config, sizeof config, "{%s," SIZES "}", encoders[i].config);
        make_model(dir, config, &m);
        check_embeddings(client, &m, dir, encoders[i].name);
        check_embeddings(devices[i % 2], &m, dir, encoders[i].name);
        llm_model_close(&m);
    }
    hilo_client_release(devices[0]);
    hilo_client_release(devices[1]);
    close_directory(dir, client);
}

/* Families whose layers differ, and quantised matrices of sizes that are no whole vectors. */
static void test_apart(void **state) {
    (void)state;
    static const char *const configs[] = {
        "\"model_type\":\"mixtral\",\"num_local_experts\":5,\"num_experts_per_tok\":2",
        "\"model_type\":\"gpt_oss\",\"head_dim\":32,\"sliding_window\":4,\"num_local_experts\":5,\"num_experts_per_tok\":2",
        "\"model_type\":\"qwen3_5_text\",\"head_dim\":32,\"linear_num_key_heads\":4,\"linear_num_value_heads\":8,"
        "\"linear_key_head_dim\":16,\"linear_value_head_dim\":32,\"layer_types\":[\"linear_attention\","
        "\"full_attention\"]",
        "\"model_type\":\"gemma4_text\",\"head_dim\":32,\"global_head_dim\":64,\"sliding_window\":4,"
        "\"num_kv_shared_layers\":0,"
        "\"hidden_size_per_layer_input\":64,\"layer_types\":[\"sliding_attention\",\"full_attention\"]",
        "\"model_type\":\"gemma3n_text\",\"head_dim\":32,\"sliding_window\":4,\"num_kv_shared_layers\":0,"
        "\"laurel_rank\":32,"
        "\"hidden_size_per_layer_input\":64,\"layer_types\":[\"sliding_attention\",\"full_attention\"]",
    };
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    char dir[sizeof family_dir], config[1024];
    int32_t ids[TOKENS];
    struct llm_session *s;
    struct llm_model m;
    hilo_client *client = open_directory(dir);
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        snprintf(config, sizeof config, "{%s,\"hidden_size\":256,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
                                        "\"num_key_value_heads\":2,\"intermediate_size\":512,\"vocab_size\":2054,"
                                        "\"max_position_embeddings\":64}", configs[i]);
        make_model(dir, config, &m);
        llm_model_close(&m);
        assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_OK);
        check_apart(s, ids, 3);
        llm_session_close(s);
    }
    /* quantised matrices of few lines, and of lines that are no whole iterations of a product */
    make_model(dir, "{\"model_type\":\"mixtral\",\"num_local_experts\":6,\"num_experts_per_tok\":4,\"hidden_size\":96,"
                    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":160,"
                    "\"vocab_size\":2054,\"max_position_embeddings\":64}", &m);
    llm_model_close(&m);
    for (enum llm_precision p = LLM_INT8; p < LLM_PRECISIONS; p++) {
        const struct llm_session_options few = {.precision = p, .level = 2};
        assert_int_equal(llm_session_open(client, dir, &few, &s), HILO_OK);
        check_apart(s, ids, 5);
        check_apart(s, ids, LLM_MAX_APART);
        llm_session_close(s);
    }
    close_directory(dir, client);
}

/* Matrices of groups over two devices: the weights are those of one, and sequences side by side are what they are alone. */
static void test_quantised_shards(void **state) {
    (void)state;
    char dir[sizeof family_dir];
    static float got[VOCAB], want[VOCAB];
    int32_t ids[TOKENS];
    const int32_t *p = ids;
    struct llm_session *s, *whole;
    struct llm_model m;
    hilo_client *client = open_directory(dir), *devices = open_devices(2);
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    make_model(dir, "{\"model_type\":\"mixtral\",\"num_local_experts\":3,\"num_experts_per_tok\":2,\"hidden_size\":64,"
                    "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":128,"
                    "\"vocab_size\":2054,\"max_position_embeddings\":64}", &m);
    llm_model_close(&m);
    for (enum llm_precision q = LLM_INT8; q < LLM_PRECISIONS; q++) {
        const struct llm_session_options o = {.precision = q, .level = 2};
        double squares = 0, error = 0;
        assert_int_equal(llm_session_open(client, dir, &o, &whole), HILO_OK);
        assert_int_equal(llm_session_open(devices, dir, &o, &s), HILO_OK);
        assert_int_equal(s->model.precision, whole->model.precision);
        for (int i = 0; i < TOKENS; i++) {
            assert_int_equal(llm_session_decode(whole, &ids[i], NULL, want), HILO_OK);
            assert_int_equal(llm_session_decode(s, &ids[i], NULL, got), HILO_OK);
        }
        for (int i = 0; i < VOCAB; i++) {
            squares += (double)want[i] * (double)want[i];
            error += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        }
        if (!(error < 1e-6 * squares)) /* rounding to other weights would be greater */
            fail_msg("%s: error %g", llm_precision_name(q), sqrt(error / squares));
        llm_session_reset(s);
        assert_int_equal(llm_session_prefill(s, &p, (size_t[]){TOKENS}, NULL, got), HILO_OK);
        check_apart(s, ids, 3);
        llm_session_close(s);
        llm_session_close(whole);
    }
    hilo_client_release(devices);
    close_directory(dir, client);
}

enum { LENGTH = 1300, RING = 1024, BACK = 10 };

/* The logits after the last token, from a program that has no cache. */
static void compare_uncached(struct llm_session *s, const int32_t *ids, size_t n, const float *got) {
    static double want[VOCAB];
    float vector[HIDDEN];
    const float *table = s->model.params[llm_model_weight(&s->model, LLM_W_EMBED, 0)->first].data;
    s->embedding.pooling = LLM_POOL_LAST;
    s->embedding.normalise = false;
    assert_int_equal(llm_session_embed(s, ids, n, vector), HILO_OK);
    for (int i = 0; i < VOCAB; i++) {
        want[i] = 0;
        for (int k = 0; k < HIDDEN; k++)
            want[i] += (double)table[i * HIDDEN + k] * (double)vector[k];
    }
    compare("ring", got, want);
}

/* A text longer than the ring of a sliding layer, in portions that end anywhere. Tokens can be taken back only as far as the
   ring reaches. */
static void test_ring(void **state) {
    (void)state;
    static int32_t ids[LENGTH];
    static float logits[VOCAB], again[VOCAB];
    static const size_t portions[] = {600, 3, 420, LENGTH - RING + 1}; /* the last begins at the end of the ring */
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    char dir[sizeof family_dir];
    int32_t decoded[LLM_MAX_APART], verified[LLM_MAX_APART];
    const int32_t *p = ids;
    struct llm_session *s, *fork;
    struct llm_model m;
    hilo_client *client = open_directory(dir);
    make_model(dir, "{\"model_type\":\"gemma2\",\"head_dim\":16,\"sliding_window\":500,\"hidden_size\":32,"
                    "\"num_hidden_layers\":2,"
                    "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":64,\"vocab_size\":2054,"
                    "\"max_position_embeddings\":4096}", &m);
    llm_model_close(&m);
    assert_int_equal(llm_session_open(client, dir, &o, &s), HILO_OK);
    assert_int_equal(llm_session_fork(s, &fork), HILO_OK);
    for (int i = 0; i < LENGTH; i++)
        ids[i] = (i * 577 + 13) % VOCAB;
    for (size_t i = 0; i < 4; p += portions[i++])
        assert_int_equal(llm_session_prefill(s, &p, &portions[i], NULL, logits), HILO_OK);
    assert_int_equal(s->at[0], LENGTH);
    compare_uncached(s, ids, LENGTH, logits);
    assert_int_equal(llm_cache_array(&s->model, 0, 1, s->context).dims[2], RING);
    assert_int_equal(llm_cache_array(&s->model, LLM_LAYER_ARRAYS, 1, s->context).dims[2], 2048);
    assert_int_equal(llm_session_reach(s, LENGTH - 500), LENGTH - 500);
    assert_int_equal(llm_session_reach(s, LENGTH - 600), 0);
    assert_int_equal(llm_session_copy(s, LENGTH - BACK, fork), HILO_OK);
    p = ids + LENGTH - BACK;
    assert_int_equal(llm_session_prefill(fork, &p, (size_t[]){BACK}, NULL, again), HILO_OK);
    for (int i = 0; i < VOCAB; i++)
        assert_true(fabsf(again[i] - logits[i]) < 1e-4f);
    assert_int_equal(llm_session_copy(s, LENGTH - 600, fork), HILO_FAILED_PRECONDITION);
    hilo_diagnostics_clear(client);
    /* Tokens that are verified over the end of the ring, as they are decoded. */
    for (int pass = 0; pass < 2; pass++) {
        p = ids;
        llm_session_reset(s);
        assert_int_equal(llm_session_prefill(s, &p, (size_t[]){RING - 2}, NULL, logits), HILO_OK);
        for (int i = 0; i < LLM_MAX_APART && pass == 0; i++)
            assert_int_equal(llm_session_decode(s, &ids[RING - 2 + i], &decoded[i], NULL), HILO_OK);
    }
    assert_int_equal(llm_session_verify(s, ids + RING - 2, LLM_MAX_APART, verified), HILO_OK);
    assert_memory_equal(decoded, verified, sizeof decoded);
    llm_session_close(fork);
    llm_session_close(s);
    close_directory(dir, client);
}

static void refuse_with(const char *config, const char *generation, const char *why) {
    struct llm_config c;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_config_parse(str_of(config), str_of(generation), &d, &c), HILO_INVALID_ARGUMENT);
    if (!strstr(d.first->message, why))
        fail_msg("'%s' expected in: %s", why, d.first->message);
    diag_clear(&d);
}

static void refuse(const char *config, const char *why) {
    refuse_with(config, "", why);
}

static void test_refusals(void **state) {
    (void)state;
    refuse_with("{}", "[]", "a JSON object was expected");
    refuse("{}", "'model_type' is ''");
    refuse("{\"model_type\":\"gemma4_text\",\"sliding_window\":4,\"num_kv_shared_layers\":2,\"layer_types\":["
           "\"sliding_attention\",\"full_attention\",\"full_attention\"]," SIZES "}", "'num_kv_shared_layers' leaves no layer");
    refuse("{\"model_type\":\"gemma4_text\",\"enable_moe_block\":true," SIZES "}", "'num_experts' is missing");
    refuse("{\"model_type\":\"gemma4_text\",\"enable_moe_block\":true,\"num_experts\":3,\"top_k_experts\":4,"
           "\"moe_intermediate_size\":8," SIZES "}", "1 to 3");
    refuse("{\"model_type\":\"gemma3n_text\",\"num_kv_shared_layers\":0,\"activation_sparsity_pattern\":[1,0,0]," SIZES "}",
           "'activation_sparsity_pattern'");
    refuse("{\"model_type\":\"gemma4_text\",\"per_layer_config\":{\"2\":{\"head_dim\":7}}," SIZES "}", "layer 2 is odd");
    refuse("{\"model_type\":\"qwen3_5_text\"," SIZES "}", "'linear_num_value_heads' is missing");
    refuse("{\"model_type\":\"qwen3_5_text\",\"linear_num_value_heads\":3,\"linear_num_key_heads\":2,"
           "\"linear_key_head_dim\":8,\"linear_value_head_dim\":8," SIZES "}", "multiple of 'linear_num_key_heads'");
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

static struct ir_module *emit_module(const struct llm_model *m, const struct llm_graph *g, struct diag_list *d) {
    jmp_buf recover;
    struct ir_module *ir = ir_module_new(d->al, &recover);
    assert_non_null(ir);
    if (setjmp(recover))
        fail_msg("out of memory");
    assert_int_equal(llm_emit(m, g, ir, d), HILO_OK);
    ir->arena.recover = NULL;
    return ir;
}

/* A prompt is multiplied by the experts that its tokens chose: no product is as wide as all of them. */
static void test_grouped_experts(void **state) {
    (void)state;
    enum { EXPERTS = 6, WIDTH = 16 };
    const struct llm_graph g = {.kind = LLM_PREFILL, .batch = 1, .context = 64, .tokens = 32};
    char dir[sizeof family_dir];
    struct llm_model m;
    struct diag_list d;
    uint32_t products = 0, loops = 0;
    hilo_client *client = open_directory(dir);
    diag_init(&d, mem_system_allocator());
    make_model(dir, "{\"model_type\":\"qwen3_moe\",\"head_dim\":16,\"num_experts\":6,\"num_experts_per_tok\":2,"
                    "\"moe_intermediate_size\":16," SIZES "}", &m);
    struct ir_module *ir = emit_module(&m, &g, &d);
    ir_block body = ir_func_body(ir, ir_block_get(ir, ir_module_body(ir))->first);
    for (ir_op op = ir_block_get(ir, body)->first; !IR_NONE(op); op = ir_op_get(ir, op)->next) {
        loops += ir_kind(ir, op) == IR_WHILE;
        if (ir_kind(ir, op) != IR_DOT_GENERAL)
            continue;
        const struct ir_type_data *t = ir_val_type(ir, ir_result(ir, op, 0));
        assert_int_not_equal(t->dims[t->rank - 1], EXPERTS * WIDTH);
        products++;
    }
    assert_int_equal(loops, m.config.layers - 1); /* of the last layer only the last token is wanted */
    assert_true(products > 0);
    ir_module_free(ir);
    llm_model_close(&m);
    close_directory(dir, client);
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

/* Outputs of experts as such models are published: transposed, and square, under a name of other families. */
static void test_transposed_experts(void **state) {
    (void)state;
    enum { E = 3, N = 32 };
    static const char name[] = "model.layers.0.mlp.experts.down_proj";
    static struct llm_tensor v[MOST_TENSORS];
    static float want[E][N][N], turned[E][N][N];
    char dir[sizeof family_dir], path[256];
    struct llm_model m;
    struct diag_list d;
    hilo_client *client = open_directory(dir);
    make_model(dir, "{\"model_type\":\"gpt_oss\",\"head_dim\":16,\"num_local_experts\":3,\"num_experts_per_tok\":2,"
                    "\"hidden_size\":32,\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":2,"
                    "\"intermediate_size\":32,\"vocab_size\":2054,\"max_position_embeddings\":64}", &m);
    diag_init(&d, mem_system_allocator());
    size_t n = m.files.n, found = 0;
    assert_true(n <= MOST_TENSORS);
    for (size_t i = 0; i < n; i++) {
        struct llm_tensor *t = &v[i];
        *t = m.files.v[i];
        char *text = malloc(t->name.n);
        t->name.p = memcpy(text, t->name.p, t->name.n);
        t->data = memcpy(malloc(t->bytes), t->data, t->bytes);
        if (t->name.n <= sizeof name - 1 || memcmp(text, name, sizeof name - 1) != 0 || t->bytes != sizeof want)
            continue;
        memcpy(want, t->data, sizeof want);
        for (int k = 0; k < E * N * N; k++)
            turned[k / N / N][k % N][k / N % N] = want[k / N / N][k / N % N][k % N];
        memcpy((void *)(uintptr_t)t->data, turned, sizeof turned);
        t->name.n = sizeof name - 1;
        t->rank = 3, t->dims[0] = E, t->dims[1] = t->dims[2] = N;
        found++;
    }
    llm_model_close(&m);
    assert_int_equal(found, 1);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    assert_int_equal(llm_tensors_write(path, v, n, d.al, &d), HILO_OK);
    assert_int_equal(llm_model_open(dir, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &m), HILO_OK);
    assert_memory_equal(m.params[llm_model_weight(&m, LLM_W_DOWNS, 0)->first].data, want, sizeof want);
    llm_model_close(&m);
    while (n--) {
        free((void *)(uintptr_t)v[n].name.p);
        free((void *)(uintptr_t)v[n].data);
    }
    close_directory(dir, client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families), cmocka_unit_test(test_ring),
                                       cmocka_unit_test(test_apart), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_gpt_oss), cmocka_unit_test(test_grouped_experts),
                                       cmocka_unit_test(test_quantised_shards),
                                       cmocka_unit_test(test_transposed_experts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
