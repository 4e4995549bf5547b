/* config.json: see config.h. */
#include "llm/config.h"

#include "llm/document.h"
#include "llm/gguf.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* What a model_type implies beyond its config. */
enum {
    QKV_BIAS = 1, QK_NORM = 2, POST_NORMS = 4, GEMMA = 8, SLIDES = 16, TIED = 32, QK_NORM_WIDE = 64, NO_PRE_NORMS = 128,
    SOME_UNROTATED = 256, EXPERTS = 512, CHOSEN_SUM = 1024, ENCODER = 2048, PADDED = 4096, /* positions follow padding's id */
    LOCAL_PLAIN = 8192, SINKS = 16384, QUERY_GROWS = 32768, VALUE_NORM = 65536, ALTUP = 1 << 17, RECURRENT = 1 << 18,
    SHARED_EXPERT = 1 << 19
};
static const struct { const char *type; unsigned flags; int64_t pattern; /* every n-th layer has full attention; 0 = none */
} families[] = {
    {"llama", 0, 0}, {"mistral", SLIDES, 0}, {"qwen2", QKV_BIAS, 0}, {"qwen3", QK_NORM, 0}, {"gemma", GEMMA | TIED, 0},
    {"gemma2", GEMMA | TIED | POST_NORMS | SLIDES, 2},
    {"gemma3_text", GEMMA | TIED | POST_NORMS | QK_NORM | SLIDES | LOCAL_PLAIN, 6},
    {"phi3", SLIDES, 0}, {"smollm3", TIED | SOME_UNROTATED, 0}, {"granite", 0, 0},
    {"olmo2", QK_NORM_WIDE | POST_NORMS | NO_PRE_NORMS, 0}, {"ministral", SLIDES, 0},
    {"qwen3_moe", QK_NORM | EXPERTS, 0}, {"mixtral", SLIDES | EXPERTS | CHOSEN_SUM, 0},
    {"gemma3n_text", GEMMA | TIED | POST_NORMS | QK_NORM | SLIDES | LOCAL_PLAIN | VALUE_NORM | ALTUP, 5},
    {"gemma4_text", GEMMA | TIED | POST_NORMS | QK_NORM | SLIDES | LOCAL_PLAIN | VALUE_NORM, 6},
    {"qwen3_5_text", QK_NORM | RECURRENT, 4},
    {"qwen3_5_moe_text", QK_NORM | RECURRENT | EXPERTS | CHOSEN_SUM | SHARED_EXPERT, 4},
    {"olmo3", QK_NORM_WIDE | POST_NORMS | NO_PRE_NORMS | SLIDES | LOCAL_PLAIN, 4}, {"ministral3", SLIDES | QUERY_GROWS, 0},
    {"gpt_oss", SLIDES | EXPERTS | CHOSEN_SUM | SINKS, 2},
    {"bert", ENCODER | TIED, 0}, {"roberta", ENCODER | TIED | PADDED, 0}, {"xlm-roberta", ENCODER | TIED | PADDED, 0},
};
enum { FAMILIES = sizeof families / sizeof *families };

struct reader {
    struct llm_json *j;
    struct llm_object o;     /* where the text model is described */
    struct llm_config *c;
    unsigned flags;
    int64_t pattern;
};

static hilo_status find_family(struct reader *r) {
    const char *type = llm_json_text(r->o, "model_type", "");
    static const struct { const char *type, *text; } multimodal[] = {{"gemma3", "gemma3_text"}, {"mistral3", "mistral"},
                                                                  {"gemma3n", "gemma3n_text"}, {"gemma4", "gemma4_text"},
                                                                  {"qwen3_5", "qwen3_5_text"},
                                                                  {"qwen3_5_moe", "qwen3_5_moe_text"}};
    for (size_t i = 0; i < sizeof multimodal / sizeof *multimodal; i++)
        if (strcmp(type, multimodal[i].type) == 0 && llm_json_has(r->o, "text_config")) { /* the text model of it */
            r->o = (struct llm_object){r->j, llm_json_object(r->o, "text_config"), "text_config."};
            type = llm_json_text(r->o, "model_type", multimodal[i].text);
            break;
        }
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(type, families[i].type) == 0) {
            r->c->family = families[i].type;
            r->flags = families[i].flags;
            r->pattern = families[i].pattern;
            return HILO_OK;
        }
    struct strbuf known;
    strbuf_init(&known, r->j->d->al);
    for (size_t i = 0; i < FAMILIES; i++)
        strbuf_printf(&known, "%s%s", i ? ", " : "", families[i].type);
    hilo_status status = llm_json_fail(r->j, "'model_type' is '%s'; this version knows %s", type, known.p ? known.p : "");
    strbuf_free(&known);
    return status;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

enum { MAX_WIDTH = 1 << 20 }; /* of any dimension: products of two fit easily */

/* A number of a list that has one for each layer. */
static int64_t list_int(struct reader *r, const char *name, int64_t layer, int64_t most) {
    const json_t *list = llm_json_array(r->o, name), *v = json_array_get(list, (size_t)layer);
    int64_t x = json_is_integer(v) ? json_integer_value(v) : 0;
    if (json_array_size(list) != (size_t)r->c->layers || x < 1 || x > most) {
        llm_json_fail(r->j, "'%s' is no list of %lld numbers from 1 to %lld", name, (long long)r->c->layers, (long long)most);
        return 1;
    }
    return x;
}

static void read_sizes(struct reader *r) {
    struct llm_config *c = r->c;
    struct llm_object o = r->o;
    c->layers = llm_json_int(o, "num_hidden_layers", 1, LLM_MAX_LAYERS, LLM_REQUIRED);
    c->hidden = llm_json_int(o, "hidden_size", 1, MAX_WIDTH, LLM_REQUIRED);
    c->heads = llm_json_int(o, "num_attention_heads", 1, 4096, LLM_REQUIRED);
    c->kv_heads = r->flags & ENCODER ? c->heads : llm_json_int(o, "num_key_value_heads", 1, 4096, c->heads);
    c->head_dim = llm_json_int(o, "head_dim", 2, 4096, c->hidden / c->heads);
    const json_t *widths = json_object_get(o.o, "intermediate_size"); /* a number, or one for each layer */
    bool moe = r->flags & SHARED_EXPERT;
    c->ffn = json_is_array(widths) ? list_int(r, "intermediate_size", 0, MAX_WIDTH)
                                   : llm_json_int(o, "intermediate_size", 1, MAX_WIDTH, moe ? 1 : LLM_REQUIRED);
    c->vocab = llm_json_int(o, "vocab_size", 1, 1 << 24, LLM_REQUIRED);
    c->positions = llm_json_int(o, "max_position_embeddings", 1, 1 << 24, LLM_REQUIRED);
    if (r->j->status != HILO_OK)
        return;
    if (c->heads % c->kv_heads)
        llm_json_fail(r->j, "'num_attention_heads' is %lld, no multiple of 'num_key_value_heads', %lld", (long long)c->heads,
                      (long long)c->kv_heads);
    if (c->head_dim % 2)
        llm_json_fail(r->j, "'head_dim' is %lld; an even number was expected", (long long)c->head_dim);
}

static void read_numbers(struct reader *r) {
    static const struct { const char *name; enum llm_activation a; } activations[] = {
        {"silu", LLM_SILU}, {"swish", LLM_SILU}, {"gelu_pytorch_tanh", LLM_GELU_TANH}, {"gelu_new", LLM_GELU_TANH},
        {"gelu", LLM_GELU},
    };
    struct llm_config *c = r->c;
    struct llm_object o = r->o;
    bool gemma = r->flags & GEMMA, encoder = r->flags & ENCODER;
    c->norm_eps = encoder ? llm_json_real(o, "layer_norm_eps", 1e-12) : llm_json_real(o, "rms_norm_eps", 1e-6);
    c->norm_plus_one = (gemma && !(r->flags & VALUE_NORM)) || r->flags & RECURRENT;
    bool tied = llm_json_bool(llm_json_root(r->j), "tie_word_embeddings", r->flags & TIED);
    c->tied = llm_json_bool(o, "tie_word_embeddings", tied);
    bool bias = llm_json_bool(o, "attention_bias", r->flags & SINKS);
    c->sinks = r->flags & SINKS;
    c->qkv_bias = bias || encoder || (r->flags & QKV_BIAS);
    c->o_bias = bias || encoder;
    c->mlp_bias = llm_json_bool(o, "mlp_bias", encoder);
    c->qk_norm = r->flags & QK_NORM;
    c->qk_norm_wide = r->flags & QK_NORM_WIDE;
    c->v_norm = r->flags & VALUE_NORM;
    c->gated_attention = r->flags & RECURRENT;
    c->pre_norms = !encoder && !(r->flags & NO_PRE_NORMS);
    c->post_norms = r->flags & POST_NORMS;
    c->embed_scale = llm_json_real(o, "embedding_multiplier", gemma ? sqrt((double)c->hidden) : 1);
    c->residual_scale = llm_json_real(o, "residual_multiplier", 1);
    double divisor = llm_json_real(o, "logits_scaling", 1);
    c->logit_scale = divisor != 0 ? 1 / divisor : 1;
    double scalar = llm_json_real(o, "query_pre_attn_scalar", (double)c->head_dim);
    c->attn_scale = llm_json_real(o, "attention_multiplier", scalar > 0 && !c->v_norm ? 1 / sqrt(scalar) : 1);
    c->attn_cap = llm_json_real(o, "attn_logit_softcapping", 0);
    c->final_cap = llm_json_real(o, "final_logit_softcapping", 0);
    const char *usual = gemma ? "gelu_new" : encoder ? "gelu" : "silu";
    const char *act = llm_json_text(o, "hidden_activation", llm_json_text(o, "hidden_act", usual));
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(act, activations[i].name) == 0) {
            c->activation = activations[i].a;
            if (gemma && c->activation == LLM_GELU) /* Gemma's first files name gelu and mean this */
                c->activation = LLM_GELU_TANH;
            return;
        }
    llm_json_fail(r->j, "'hidden_act' is '%s', which this version does not know", act);
}

/* ---- encoders -------------------------------------------------------------------------------- */

/* Whether there are logits: the class of the model says what it was trained for, if it says anything. */
static bool read_generates(struct reader *r) {
    const json_t *classes = llm_json_array(llm_json_root(r->j), "architectures");
    const char *class = json_string_value(json_array_get(classes, 0));
    return !r->c->bidirectional && (!class || strstr(class, "ForCausalLM") || strstr(class, "ForConditionalGeneration"));
}

static void read_encoder(struct reader *r) {
    struct llm_config *c = r->c;
    bool encoder = r->flags & ENCODER;
    c->bidirectional = encoder || llm_json_bool(r->o, "use_bidirectional_attention", false);
    c->generates = read_generates(r);
    c->pooling = c->bidirectional ? LLM_POOL_MEAN : LLM_POOL_LAST;
    int64_t pooling = llm_json_int(r->o, "gguf_pooling", 0, 4, 0); /* 1 to 3: the kinds in their order; else none of them */
    if (pooling >= 1 && pooling <= 3)
        c->pooling = (enum llm_pooling)(pooling - 1);
    if (!encoder)
        return;
    c->layer_norm = c->sum_norms = c->ungated = true;
    c->learned = c->positions;
    c->offset = r->flags & PADDED ? llm_json_int(r->o, "pad_token_id", 0, c->vocab - 1, 1) + 1 : 0;
    c->types = llm_json_int(r->o, "type_vocab_size", 0, MAX_WIDTH, 2);
    const char *kind = llm_json_text(r->o, "position_embedding_type", "absolute");
    if (strcmp(kind, "absolute") != 0)
        llm_json_fail(r->j, "'position_embedding_type' is '%s'; absolute was expected", kind);
    if (c->offset >= c->learned)
        llm_json_fail(r->j, "'max_position_embeddings' is %lld; positions begin at %lld", (long long)c->learned,
                      (long long)c->offset);
    c->positions -= c->offset;
    for (int64_t i = 0; i < c->layers; i++)
        c->layer[i].unrotated = true;
}

/* ---- experts ---------------------------------------------------------------------------------- */

static void read_experts(struct reader *r) {
    struct llm_config *c = r->c;
    if (!(r->flags & EXPERTS))
        return;
    int64_t named = llm_json_int(r->o, "num_local_experts", 1, 4096, 0);
    c->experts = llm_json_int(r->o, "num_experts", 1, 4096, named ? named : LLM_REQUIRED);
    c->chosen = llm_json_int(r->o, "num_experts_per_tok", 1, LLM_MAX_CHOSEN, LLM_REQUIRED);
    c->expert_ffn = llm_json_int(r->o, "moe_intermediate_size", 1, MAX_WIDTH, c->ffn);
    if (c->sinks) { /* gpt-oss */
        c->expert_bias = true;
        c->glu_alpha = llm_json_real(r->o, "swiglu_alpha", 1.702);
        c->glu_limit = llm_json_real(r->o, "swiglu_limit", 7);
    }
    if (r->flags & SHARED_EXPERT)
        c->shared_ffn = llm_json_int(r->o, "shared_expert_intermediate_size", 1, MAX_WIDTH, LLM_REQUIRED);
    c->chosen_sum = llm_json_bool(r->o, "norm_topk_prob", r->flags & CHOSEN_SUM);
    if (c->chosen > c->experts)
        llm_json_fail(r->j, "'num_experts_per_tok' is %lld; there are %lld experts", (long long)c->chosen,
                      (long long)c->experts);
    bool all = json_array_size(json_object_get(r->o.o, "mlp_only_layers")) == 0;
    if (!all || llm_json_int(r->o, "decoder_sparse_step", 1, 4096, 1) != 1)
        llm_json_fail(r->j, "'decoder_sparse_step' or 'mlp_only_layers' asks for layers without experts, which this version "
                            "does not know");
}

/* ---- sliding-window layers ----------------------------------------------------------------------- */

static void read_window(struct reader *r) {
    struct llm_config *c = r->c;
    const json_t *types = llm_json_array(r->o, "layer_types");
    int64_t window = llm_json_int(r->o, "sliding_window", 0, INT32_MAX, 0); /* 0 in files of Phi-4: none */
    bool slides = window && llm_json_bool(r->o, "use_sliding_window", r->flags & SLIDES);
    int64_t pattern = llm_json_int(r->o, "sliding_window_pattern", 1, 1024, r->pattern);
    int64_t first = llm_json_int(r->o, "max_window_layers", 0, 4096, 0); /* Qwen: layers before it have full attention */
    if (types && json_array_size(types) != (size_t)c->layers)
        llm_json_fail(r->j, "'layer_types' has %zu entries for %lld layers", json_array_size(types), (long long)c->layers);
    for (int64_t i = 0; i < c->layers && r->j->status == HILO_OK; i++) {
        const char *type = types ? json_string_value(json_array_get(types, (size_t)i)) : NULL;
        const char *other = r->flags & RECURRENT ? "linear_attention" : "sliding_attention";
        bool named = type && strcmp(type, other) == 0, full = type && strcmp(type, "full_attention") == 0;
        if (types && !named && !full)
            llm_json_fail(r->j, "'layer_types' names '%s'; %s or full_attention was expected", type ? type : "", other);
        bool counted = i >= first && (pattern == 0 || (i + 1) % pattern != 0);
        c->layer[i].sliding = slides && (types ? named : counted);
        c->layer[i].recurrent = r->flags & RECURRENT && (types ? named : counted);
    }
    c->window = slides ? window : 0;
    if (c->window && c->bidirectional) /* half of it on each side */
        c->window = c->window / 2 + 1;
}

/* ---- gated delta nets ---------------------------------------------------------------------------- */

static void read_delta(struct reader *r) {
    struct llm_delta *d = &r->c->delta;
    if (!(r->flags & RECURRENT))
        return;
    d->heads = llm_json_int(r->o, "linear_num_value_heads", 1, 4096, LLM_REQUIRED);
    d->key_heads = llm_json_int(r->o, "linear_num_key_heads", 1, 4096, LLM_REQUIRED);
    d->key_dim = llm_json_int(r->o, "linear_key_head_dim", 1, 4096, LLM_REQUIRED);
    d->value_dim = llm_json_int(r->o, "linear_value_head_dim", 1, 4096, LLM_REQUIRED);
    d->taps = llm_json_int(r->o, "linear_conv_kernel_dim", 2, 64, 4);
    if (r->j->status == HILO_OK && d->heads % d->key_heads)
        llm_json_fail(r->j, "'linear_num_value_heads' is %lld, no multiple of 'linear_num_key_heads', %lld",
                      (long long)d->heads, (long long)d->key_heads);
}

/* ---- what layers have of their own ------------------------------------------------------------- */

/* The number that a part p of a normal distribution is below. */
static double quantile(double p) {
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        double x = (low + high) / 2;
        *(0.5 * erfc(-x / sqrt(2)) < p ? &low : &high) = x;
    }
    return low;
}

/* What `per_layer_config` has under the number of a layer. */
static void read_own_heads(struct llm_object all, int64_t layer, struct llm_layer *at) {
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)layer);
    struct llm_object o = {all.j, llm_json_object(all, name), all.where};
    at->head_dim = llm_json_int(o, "head_dim", 2, 4096, at->head_dim);
    at->kv_heads = llm_json_int(o, "num_key_value_heads", 1, 4096, at->kv_heads);
}

/* Gemma 3n's and 4's layers: heads by kind, keys and values of earlier layers, widths, sparse gates. */
static void read_gemma_layers(struct reader *r) {
    struct llm_config *c = r->c;
    struct llm_object o = r->o;
    bool altup = r->flags & ALTUP, same = llm_json_bool(o, "attention_k_eq_v", false);
    const struct llm_object own_fields = {r->j, llm_json_object(o, "per_layer_config"), "per_layer_config."};
    int64_t dim = altup || own_fields.o ? c->head_dim : llm_json_int(o, "global_head_dim", 2, 4096, 512);
    int64_t kv = same ? llm_json_int(o, "num_global_key_value_heads", 1, 4096, c->kv_heads) : c->kv_heads;
    int64_t own = c->layers - llm_json_int(o, "num_kv_shared_layers", 0, c->layers - 1, altup ? 15 : 0);
    const json_t *widths = json_object_get(o.o, "intermediate_size");
    const json_t *sparse = llm_json_array(o, "activation_sparsity_pattern");
    bool wide = llm_json_bool(o, "use_double_wide_mlp", false);
    if (!altup)
        c->layer[c->layers - 1].sliding = false;
    for (int64_t i = 0; i < c->layers && r->j->status == HILO_OK; i++) {
        struct llm_layer *at = &c->layer[i];
        at->borrows = i >= own;
        at->one_key_value = same && !at->sliding;
        at->head_dim = at->sliding ? c->head_dim : dim;
        at->kv_heads = at->sliding ? c->kv_heads : kv;
        read_own_heads(own_fields, i, at);
        at->ffn = json_is_array(widths) ? list_int(r, "intermediate_size", i, MAX_WIDTH)
                                        : c->ffn * (wide && at->borrows ? 2 : 1);
        if (at->head_dim % 2 || c->heads % at->kv_heads)
            llm_json_fail(r->j, "the head dimension of layer %lld is odd, or 'num_attention_heads' no multiple of its heads of "
                                "keys", (long long)i);
        double part = sparse ? json_number_value(json_array_get(sparse, (size_t)i)) : 0;
        if (!(part >= 0) || !(part < 1) || (sparse && json_array_size(sparse) != (size_t)c->layers))
            llm_json_fail(r->j, "'activation_sparsity_pattern' is no list of %lld numbers, 0 to 1", (long long)c->layers);
        else if (part > 0)
            at->spread = quantile((double)(float)part);
    }
    c->side = llm_json_int(o, "hidden_size_per_layer_input", 0, MAX_WIDTH, 256);
    c->layer_scale = !altup;
    c->streams = altup ? llm_json_int(o, "altup_num_inputs", 2, LLM_MAX_STREAMS, 4) : 0;
    c->correct_scale = altup && llm_json_bool(o, "altup_correct_scale", true);
    c->rank = altup ? llm_json_int(o, "laurel_rank", 1, MAX_WIDTH, 64) : 0;
    int64_t rows = llm_json_int(o, "vocab_size_per_layer_input", 1, 1 << 24, c->vocab);
    if (altup && llm_json_int(o, "altup_active_idx", 0, LLM_MAX_STREAMS, 0) != 0)
        llm_json_fail(r->j, "'altup_active_idx' is not 0, which this version does not know");
    if (c->side && rows > c->vocab)
        llm_json_fail(r->j, "'vocab_size_per_layer_input' is %lld, more than 'vocab_size'", (long long)rows);
    c->side_rows = rows;
    if (!llm_json_bool(o, "enable_moe_block", false))
        return;
    c->joined_experts = c->parallel_experts = c->chosen_sum = true;
    c->experts = llm_json_int(o, "num_experts", 1, 4096, LLM_REQUIRED);
    c->chosen = llm_json_int(o, "top_k_experts", 1, LLM_MAX_CHOSEN < c->experts ? LLM_MAX_CHOSEN : c->experts, LLM_REQUIRED);
    c->expert_ffn = llm_json_int(o, "moe_intermediate_size", 1, MAX_WIDTH, LLM_REQUIRED);
}

/* After the kinds of layers are known. */
static void read_layers(struct reader *r) {
    struct llm_config *c = r->c;
    for (int64_t i = 0; i < c->layers; i++) {
        struct llm_layer *at = &c->layer[i];
        at->kv_heads = c->kv_heads;
        at->head_dim = c->head_dim;
        at->ffn = c->ffn;
    }
    if (r->flags & VALUE_NORM)
        read_gemma_layers(r);
    for (int64_t i = 0; i < c->layers; i++) {
        struct llm_layer *at = &c->layer[i];
        int64_t from = i;
        while (at->borrows && from > 0 && (c->layer[from].borrows || c->layer[from].sliding != at->sliding))
            from--;
        if (c->layer[from].borrows || c->layer[from].sliding != at->sliding) {
            llm_json_fail(r->j, "'num_kv_shared_layers' leaves no layer that layer %lld could share with", (long long)i);
            return;
        }
        at->cache = at->borrows ? c->layer[from].cache : c->arrays;
        c->arrays += at->borrows ? 0 : LLM_LAYER_ARRAYS;
    }
}

/* Layers without rotary embeddings: where `no_rope_layers` has a 0, or every n-th. */
static void read_unrotated(struct reader *r) {
    struct llm_config *c = r->c;
    const json_t *list = llm_json_array(r->o, "no_rope_layers");
    int64_t interval = llm_json_int(r->o, "no_rope_layer_interval", 1, 4096, 4);
    if (!(r->flags & SOME_UNROTATED))
        return;
    if (list && json_array_size(list) != (size_t)c->layers)
        llm_json_fail(r->j, "'no_rope_layers' has %zu entries for %lld layers", json_array_size(list), (long long)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        c->layer[i].unrotated = list ? json_integer_value(json_array_get(list, (size_t)i)) == 0 : (i + 1) % interval == 0;
}

/* ---- rotary embeddings ----------------------------------------------------------------------- */

static void read_llama3(struct reader *r, struct llm_object o, struct llm_rope *out) {
    out->low = llm_json_real(o, "low_freq_factor", 1);
    out->high = llm_json_real(o, "high_freq_factor", 4);
    out->original = llm_json_real(o, "original_max_position_embeddings", 8192);
    if (!(out->high > out->low) || !(out->low > 0) || !(out->original > 0))
        llm_json_fail(r->j, "'%shigh_freq_factor' is not above 'low_freq_factor'", o.where);
}

static double yarn_scale(double factor, double by) {
    return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1;
}

static void read_yarn(struct reader *r, struct llm_object o, struct llm_rope *out) {
    double all = llm_json_real(o, "mscale_all_dim", 0), some = llm_json_real(o, "mscale", 0);
    out->original = llm_json_real(o, "original_max_position_embeddings", (double)r->c->positions);
    if (out->original > 0)
        out->factor = llm_json_real(o, "factor", (double)r->c->positions / out->original);
    out->low = llm_json_real(o, "beta_slow", 1);
    out->high = llm_json_real(o, "beta_fast", 32);
    out->truncate = llm_json_bool(o, "truncate", !r->c->sinks);
    double derived = all != 0 && some != 0 ? yarn_scale(out->factor, some) / yarn_scale(out->factor, all)
                                           : yarn_scale(out->factor, 1);
    out->amplitude = llm_json_real(o, "attention_factor", derived);
    if (!(out->original > 0) || !(out->low > 0) || !(out->high > 0) || !(out->theta > 1))
        llm_json_fail(r->j, "'%soriginal_max_position_embeddings', 'beta_slow' or 'beta_fast' is not positive", o.where);
}

/* The length that a model was trained with is beside or in the parameters. */
static void read_long(struct reader *r, struct llm_object o, struct llm_rope *out) {
    static const char *const names[] = {"short_factor", "long_factor"};
    struct llm_config *c = r->c;
    double length = llm_json_real(r->o, "original_max_position_embeddings", (double)c->positions);
    out->original = llm_json_real(o, "original_max_position_embeddings", length);
    double factor = llm_json_real(o, "factor", out->original > 0 ? (double)c->positions / out->original : 1);
    bool scales = factor > 1 && out->original > 1;
    out->amplitude = llm_json_real(o, "attention_factor", scales ? sqrt(1 + log(factor) / log(out->original)) : 1);
    out->factor = 1;
    for (int k = 0; k < 2; k++) {
        const json_t *list = llm_json_array(o, names[k]);
        if (json_array_size(list) != (size_t)out->dim / 2 || json_array_size(list) > LLM_MAX_FREQUENCIES) {
            llm_json_fail(r->j, "'%s%s' has %zu numbers; %lld were expected", o.where, names[k], json_array_size(list),
                          (long long)out->dim / 2);
            return;
        }
        for (size_t i = 0; i < json_array_size(list); i++) {
            double v = json_number_value(json_array_get(list, i));
            out->factors[k][i] = (float)v;
            if (!(v > 0) || !isfinite(v))
                llm_json_fail(r->j, "'%s%s' has a number that is not positive", o.where, names[k]);
        }
    }
}

/* `part` of the `dim` numbers of a head are rotated. */
static void read_rope(struct reader *r, struct llm_object o, double theta, int64_t dim, double part, struct llm_rope *out) {
    static const struct { const char *name; enum llm_rope_kind kind;
                          void (*read)(struct reader *r, struct llm_object o, struct llm_rope *out); } kinds[] = {
        {"default", LLM_ROPE_PLAIN, NULL}, {"linear", LLM_ROPE_LINEAR, NULL}, {"llama3", LLM_ROPE_LLAMA3, read_llama3},
        {"yarn", LLM_ROPE_YARN, read_yarn}, {"longrope", LLM_ROPE_LONG, read_long}, {"su", LLM_ROPE_LONG, read_long},
        {"proportional", LLM_ROPE_PROPORTIONAL, NULL},
    };
    const char *kind = llm_json_text(o, "rope_type", llm_json_text(o, "type", "default"));
    size_t i = 0, n = sizeof kinds / sizeof *kinds;
    if (!(part > 0) || part > 1) {
        llm_json_fail(r->j, "'partial_rotary_factor' is %g; more than 0, at most 1 was expected", part);
        return;
    }
    *out = (struct llm_rope){.theta = llm_json_real(o, "rope_theta", theta), .amplitude = 1};
    out->factor = llm_json_real(o, "factor", 1);
    while (i < n && strcmp(kind, kinds[i].name) != 0)
        i++;
    if (i == n) {
        llm_json_fail(r->j, "'%srope_type' is '%s'; this version knows default, linear, llama3, yarn, longrope and "
                            "proportional", o.where, kind);
        return;
    }
    out->kind = kinds[i].kind;
    out->rotated = (int64_t)((double)dim * part) / 2;
    out->dim = out->kind == LLM_ROPE_PROPORTIONAL ? dim : 2 * out->rotated;
    if (out->rotated < 1 || out->dim > 2 * LLM_MAX_FREQUENCIES) {
        llm_json_fail(r->j, "%lld numbers of a head are rotated; 2 to %d were expected", (long long)out->dim,
                      2 * LLM_MAX_FREQUENCIES);
        return;
    }
    if (kinds[i].read)
        kinds[i].read(r, o, out);
    if (!(out->factor > 0) || !(out->theta > 0))
        llm_json_fail(r->j, "'%sfactor' and 'rope_theta' are not positive", o.where);
}

static void read_ropes(struct reader *r) {
    struct llm_config *c = r->c;
    const json_t *now = llm_json_object(r->o, "rope_parameters"), *before = llm_json_object(r->o, "rope_scaling");
    double theta = llm_json_real(r->o, "rope_theta", 10000);
    double local = llm_json_real(r->o, "rope_local_base_freq", r->flags & GEMMA && r->flags & LOCAL_PLAIN ? 10000 : theta);
    struct llm_object all = {r->j, now ? now : before, now ? "rope_parameters." : "rope_scaling."};
    struct llm_object full = {r->j, llm_json_object(all, "full_attention"), "rope_parameters.full_attention."};
    struct llm_object slide = {r->j, llm_json_object(all, "sliding_attention"), "rope_parameters.sliding_attention."};
    double part = llm_json_real(r->o, "partial_rotary_factor", llm_json_real(full.o ? full : all, "partial_rotary_factor", 1));
    if (r->j->status != HILO_OK)
        return;
    int64_t dim = c->head_dim;
    for (int64_t i = 0; i < c->layers; i++)
        dim = c->layer[i].sliding || c->layer[i].recurrent ? dim : c->layer[i].head_dim;
    read_rope(r, full.o ? full : all, theta, dim, part, &c->rope);
    if (r->flags & QUERY_GROWS)
        c->query_growth = llm_json_real(all, "llama_4_scaling_beta", 0);
    if (c->query_growth != 0 && !(c->rope.original > 0))
        llm_json_fail(r->j, "'%sllama_4_scaling_beta' needs 'original_max_position_embeddings'", all.where);
    if (full.o || r->flags & LOCAL_PLAIN)
        read_rope(r, slide, local, c->head_dim, llm_json_real(slide, "partial_rotary_factor", slide.o ? 1 : part),
                  &c->local_rope);
    else
        c->local_rope = c->rope;
    for (int64_t i = 0; i < c->layers; i++) {
        const struct llm_layer *at = &c->layer[i];
        int64_t dims = at->sliding ? c->local_rope.dim : c->rope.dim;
        if (dims > at->head_dim && !at->recurrent)
            llm_json_fail(r->j, "heads of layer %lld have %lld numbers, of which %lld should be rotated", (long long)i,
                          (long long)at->head_dim, (long long)dims);
    }
}

/* YaRN, arxiv.org/abs/2309.00071: the dimension that turns so often over the original length. */
static double yarn_dimension(const struct llm_rope *r, double turns, int64_t dim) {
    const double pi = 3.14159265358979323846;
    return (double)dim * log(r->original / (turns * 2 * pi)) / (2 * log(r->theta));
}

static double between(double x, double least, double most) {
    return x < least ? least : x > most ? most : x;
}

void llm_rope_frequencies(const struct llm_rope *r, bool lengthy, float *out) {
    for (int64_t i = 0; i < r->dim / 2; i++)
        out[i] = (float)(pow(r->theta, -2.0 * (double)i / (double)r->dim) / llm_rope_divisor(r, lengthy, i));
}

double llm_rope_divisor(const struct llm_rope *r, bool lengthy, int64_t i) {
    const int64_t dim = r->dim;
    const double pi = 3.14159265358979323846;
    double f = pow(r->theta, -2.0 * (double)i / (double)dim), keep = 1, low, high;
    switch (r->kind) {
    case LLM_ROPE_PLAIN: break;
    case LLM_ROPE_LONG: return (double)r->factors[lengthy][i];
    case LLM_ROPE_LINEAR: return r->factor;
    case LLM_ROPE_PROPORTIONAL: return i < r->rotated ? r->factor : INFINITY;
    case LLM_ROPE_LLAMA3: /* scales long wavelengths, interpolates medium ones */
        keep = between((r->original * f / (2 * pi) - r->low) / (r->high - r->low), 0, 1);
        break;
    case LLM_ROPE_YARN:
        low = yarn_dimension(r, r->high, dim);
        high = yarn_dimension(r, r->low, dim);
        low = fmax(r->truncate ? floor(low) : low, 0);
        high = fmin(r->truncate ? ceil(high) : high, (double)(dim - 1));
        high += low == high ? 0.001 : 0;
        keep = 1 - between(((double)i - low) / (high - low), 0, 1);
        break;
    }
    return 1 / ((1 - keep) / r->factor + keep);
}

/* ---- packed weights -------------------------------------------------------------------------- */

/* `quantization_config` names the method that packed the weights. Of `quantization`, which MLX and hilo write, only the mode is
   needed: the tensors next to the weights have the rest. */
static void read_layout(struct reader *r) {
    struct llm_config *c = r->c;
    struct llm_object root = llm_json_root(r->j);
    struct llm_object mlx = {r->j, llm_json_object(root, "quantization"), "quantization."};
    struct llm_object q = {r->j, llm_json_object(root, "quantization_config"), "quantization_config."};
    const char *mode = llm_json_text(mlx, "mode", "affine"), *method = llm_json_text(q, "quant_method", "");
    if (strcmp(mode, "affine") != 0)
        llm_json_fail(r->j, "'quantization.mode' is '%s'; this version knows affine", mode);
    if (!*method) /* MLX uses both names */
        return;
    bool gptq = strcmp(method, "gptq") == 0, awq = strcmp(method, "awq") == 0;
    const char *format = awq ? llm_json_text(q, "version", "gemm") : llm_json_text(q, "checkpoint_format", "gptq");
    if (!gptq && !awq)
        llm_json_fail(r->j, "'quantization_config.quant_method' is '%s'; this version knows gptq and awq", method);
    else if (gptq && (strcmp(format, "gptq") == 0 || strcmp(format, "gptq_v2") == 0))
        c->layout = strcmp(format, "gptq") == 0 ? LLM_LAYOUT_GPTQ : LLM_LAYOUT_GPTQ_V2;
    else if (awq && (strcmp(format, "gemm") == 0 || strcmp(format, "GEMM") == 0))
        c->layout = LLM_LAYOUT_AWQ;
    else
        llm_json_fail(r->j, "'quantization_config.%s' is '%s'; this version knows %s", awq ? "version" : "checkpoint_format",
                      format, awq ? "gemm" : "gptq and gptq_v2");
    c->bits = (uint32_t)llm_json_int(q, "bits", 1, 32, 4);
    if (c->bits != 4 && (awq || c->bits != 8))
        llm_json_fail(r->j, "'quantization_config.bits' is %u; %s was expected", c->bits, awq ? "4" : "4 or 8");
    int64_t group = llm_json_int(q, "group_size", -1, MAX_WIDTH, 128);
    c->group = group > 0 ? group : 0;
}

/* ---- tokens that end a text ------------------------------------------------------------------ */

static void read_eos(struct llm_json *j, const json_t *v, struct llm_config *c) {
    size_t n = json_is_array(v) ? json_array_size(v) : v && !json_is_null(v);
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_is_array(v) ? json_array_get(v, i) : v;
        json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value >= c->vocab || c->neos == LLM_MAX_EOS) {
            llm_json_fail(j, "'eos_token_id' is no id of a token, and no list of at most 16 of them");
            return;
        }
        bool known = false;
        for (size_t k = 0; k < c->neos; k++)
            known |= c->eos[k] == value;
        if (!known)
            c->eos[c->neos++] = (int32_t)value;
    }
}

static hilo_status read_config(struct reader *r) {
    struct llm_config *c = r->c;
    HILO_TRY(find_family(r));
    read_sizes(r);
    HILO_TRY(r->j->status);
    read_numbers(r);
    read_encoder(r);
    HILO_TRY(r->j->status);
    read_experts(r);
    read_window(r);
    read_unrotated(r);
    read_delta(r);
    read_layers(r);
    read_ropes(r);
    read_layout(r);
    c->interleaved = llm_json_bool(r->o, "gguf_interleaved", false);
    c->shifted_norms = llm_json_bool(r->o, "gguf_shifted_norms", false);
    c->bos = (int32_t)llm_json_int(r->o, "bos_token_id", 0, c->vocab - 1, -1);
    read_eos(r->j, json_object_get(r->o.o, "eos_token_id"), c);
    return r->j->status;
}

static hilo_status finish(struct llm_json *config, struct llm_json *generation, struct llm_config *out) {
    struct reader r = {.j = config, .o = llm_json_root(config), .c = out};
    *out = (struct llm_config){.bos = -1};
    hilo_status status = config->status;
    if (status == HILO_OK)
        status = read_config(&r);
    if (status == HILO_OK && generation->root) {
        read_eos(generation, json_object_get(generation->root, "eos_token_id"), out);
        status = generation->status;
    }
    llm_json_close(config);
    llm_json_close(generation);
    return status;
}

hilo_status llm_config_parse(struct str config, struct str generation, struct diag_list *d, struct llm_config *out) {
    struct llm_json c, g = {.d = d};
    llm_json_parse(&c, config, "config.json", d);
    if (generation.n && llm_json_parse(&g, generation, "generation_config.json", d) != HILO_OK) {
        llm_json_close(&c);
        return g.status;
    }
    return finish(&c, &g, out);
}

hilo_status llm_config_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_config *out) {
    char path[4096];
    struct llm_json c, g = {.d = d};
    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path)
        return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", dir);
    if (access(dir, F_OK) == 0 && access(path, F_OK) != 0 && !gguf_is_path(dir))
        return diag_error(d, HILO_NOT_FOUND, "'%s' is no model: a GGUF file, or a directory with config.json, tokenizer.json "
                                             "and model.safetensors was expected", dir);
    if (llm_document_open(dir, LLM_CONFIG_JSON, al, d, &c) == HILO_OK &&
        llm_document_open(dir, LLM_GENERATION_JSON, al, d, &g) != HILO_OK) {
        llm_json_close(&c);
        return g.status;
    }
    return finish(&c, &g, out);
}
