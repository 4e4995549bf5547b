/* The metadata of a GGUF file as config.json and tokenizer_config.json: see gguf.h. */
#include "llm/gguf.h"

#include <stdio.h>

/* The first of a name or a type counts. */
static const struct gguf_arch architectures[] = {
    {"llama", "llama", true, false},        {"qwen2", "qwen2", false, false},     {"qwen3", "qwen3", false, false},
    {"gemma", "gemma", false, true},        {"gemma2", "gemma2", false, true},    {"gemma3", "gemma3_text", false, true},
    {"phi3", "phi3", false, false},         {"granite", "granite", true, false},  {"smollm3", "smollm3", true, false},
    {"olmo2", "olmo2", false, false},       {"qwen3moe", "qwen3_moe", false, false},
    {"gpt-oss", "gpt_oss", false, false},   {"bert", "bert", false, false},
    {"llama", "mistral", true, false},
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const struct gguf_arch *gguf_arch_of(const char *type) {
    static const char *const unwritten[] = {"phi3", "qwen3_moe", "gpt_oss", "bert"}; /* llama.cpp wants other tensors */
    for (size_t i = 0; i < sizeof unwritten / sizeof *unwritten; i++)
        if (strcmp(type, unwritten[i]) == 0)
            return NULL;
    for (size_t i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].type, type) == 0)
            return &architectures[i];
    return NULL;
}

const struct gguf_field gguf_fields[] = {
    {"block_count", "num_hidden_layers", false},
    {"context_length", "max_position_embeddings", false},
    {"embedding_length", "hidden_size", false},
    {"feed_forward_length", "intermediate_size", false},
    {"attention.head_count", "num_attention_heads", false},
    {"attention.head_count_kv", "num_key_value_heads", false},
    {"attention.key_length", "head_dim", false},
    {"attention.sliding_window", "sliding_window", false},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
    {"attention.layer_norm_epsilon", "layer_norm_eps", true},
    {"pooling_type", "gguf_pooling", false},
    {"attn_logit_softcapping", "attn_logit_softcapping", true},
    {"final_logit_softcapping", "final_logit_softcapping", true},
    {"rope.freq_base", "rope_theta", true},
    {"vocab_size", "vocab_size", false},
    {"embedding_scale", "embedding_multiplier", true},
    {"residual_scale", "residual_multiplier", true},
    {"attention.scale", "attention_multiplier", true},
    {"logit_scale", "logits_scaling", true},
    {"expert_count", "num_experts", false},
    {"expert_used_count", "num_experts_per_tok", false},
    {"expert_feed_forward_length", "moe_intermediate_size", false},
};
const size_t gguf_nfields = sizeof gguf_fields / sizeof *gguf_fields;

struct document {
    const struct gguf *g;
    json_t *o;
    struct str arch;
    bool failed;
};

static void set(struct document *d, json_t *o, const char *key, json_t *value) {
    d->failed |= json_object_set_new(o, key, value) != 0;
}

static const struct gguf_entry *entry(const struct document *d, const char *suffix) {
    char key[128];
    snprintf(key, sizeof key, "%.*s.%s", (int)d->arch.n, d->arch.p, suffix);
    return gguf_find(d->g, key);
}

static const struct gguf_tensor *tensor(const struct gguf *g, const char *name) {
    for (size_t i = 0; i < g->ntensors; i++)
        if (str_is(g->tensors[i].name, name))
            return &g->tensors[i];
    return NULL;
}

static double value_of(const struct document *d, const char *suffix, double absent) {
    char key[128];
    snprintf(key, sizeof key, "%.*s.%s", (int)d->arch.n, d->arch.p, suffix);
    return gguf_real(d->g, key, absent);
}

static void copy_fields(struct document *d) {
    for (size_t i = 0; i < gguf_nfields; i++) {
        const struct gguf_entry *e = entry(d, gguf_fields[i].key);
        double v = e && e->type == GGUF_ARRAY ? gguf_element(e, 0) : value_of(d, gguf_fields[i].key, 0);
        if (!e)
            continue;
        bool whole = !gguf_fields[i].real && v >= -0x1p53 && v <= 0x1p53;
        set(d, d->o, gguf_fields[i].field, whole ? json_integer((json_int_t)v) : json_real(v));
    }
}

/* Factors of the frequencies: `rope_freqs.weight` of Llama 3, or Phi-3's short and long ones. */
static json_t *factors(struct document *d, const char *name, size_t n) {
    const struct gguf_tensor *t = tensor(d->g, name);
    if (!t || t->format->dtype != IR_F32_T || t->bytes != n * sizeof(float))
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x);
        d->failed |= json_array_append_new(list, json_real((double)x)) != 0;
    }
    return list;
}

static void set_rope(struct document *d) {
    char key[128];
    double heads = value_of(d, "attention.head_count", 1), hidden = value_of(d, "embedding_length", 0);
    double dim = value_of(d, "rope.dimension_count", value_of(d, "attention.key_length", heads > 0 ? hidden / heads : 0));
    size_t n = dim >= 2 && dim <= 4096 ? (size_t)dim / 2 : 0;
    json_t *all = factors(d, "rope_freqs.weight", n), *lengthy = factors(d, "rope_factors_long.weight", n);
    json_t *brief = lengthy ? factors(d, "rope_factors_short.weight", n) : all, *o = json_object();
    double original = value_of(d, "rope.scaling.original_context_length", 0);
    snprintf(key, sizeof key, "%.*s.rope.scaling.type", (int)d->arch.n, d->arch.p);
    struct str type = gguf_text(d->g, key);
    if (brief) {
        set(d, o, "rope_type", json_string("longrope"));
        set(d, o, "short_factor", brief);
        set(d, o, "long_factor", lengthy ? lengthy : json_incref(brief));
        set(d, o, "attention_factor", json_real(lengthy ? value_of(d, "rope.scaling.attn_factor", 1) : 1));
        if (original > 0)
            set(d, d->o, "original_max_position_embeddings", json_integer((json_int_t)original));
    } else if (type.p && !str_is(type, "none")) {
        set(d, o, "rope_type", json_stringn(type.p, type.n));
        set(d, o, "factor", json_real(value_of(d, "rope.scaling.factor", 1)));
        if (original > 0)
            set(d, o, "original_max_position_embeddings", json_integer((json_int_t)original));
    }
    if (lengthy && all)
        json_decref(all);
    if (json_object_size(o))
        set(d, d->o, "rope_scaling", o);
    else
        json_decref(o);
}

/* Fields that follow from tensors, and from the family. */
static void set_derived(struct document *d, const char *type) {
    const struct gguf_tensor *embedding = tensor(d->g, "token_embd.weight");
    if (embedding && embedding->rank == 2)
        set(d, d->o, "vocab_size", json_integer(embedding->dims[0]));
    set(d, d->o, "tie_word_embeddings", json_boolean(!tensor(d->g, "output.weight")));
    set(d, d->o, "attention_bias", json_boolean(strcmp(type, "qwen2") != 0 && tensor(d->g, "blk.0.attn_q.bias")));
    set(d, d->o, "mlp_bias", json_boolean(tensor(d->g, "blk.0.ffn_up.bias") != NULL));
    const struct gguf_tensor *types = tensor(d->g, "token_types.weight");
    set(d, d->o, "type_vocab_size", json_integer(types && types->rank == 2 ? types->dims[0] : 0));
    if (strcmp(type, "granite") == 0) /* GGUF divides by it, too */
        return;
    if (strcmp(type, "gemma2") == 0) { /* of the model with 27 billion parameters alone, it is not that of a head */
        double heads = value_of(d, "attention.head_count", 1), hidden = value_of(d, "embedding_length", 1);
        if (value_of(d, "block_count", 0) == 46 && heads > 0)
            set(d, d->o, "query_pre_attn_scalar", json_real(hidden / heads));
    }
}

json_t *gguf_config(const struct gguf *g) {
    struct document d = {.g = g, .arch = gguf_text(g, "general.architecture")};
    size_t i = 0, n = ARCHITECTURES;
    while (i < n && !str_is(d.arch, architectures[i].name))
        i++;
    if (i == n) {
        gguf_fail(g, "'general.architecture' is '%.*s', which this version does not know", (int)d.arch.n,
                  d.arch.p ? d.arch.p : "");
        return NULL;
    }
    if (g->ntensors == 0) {
        gguf_fail(g, "the file has a vocabulary, but no weights");
        return NULL;
    }
    d.o = json_object();
    bool mixture = entry(&d, "expert_count") && value_of(&d, "expert_count", 0) > 0 && str_is(d.arch, "llama");
    const char *type = mixture ? "mixtral" : architectures[i].type;
    set(&d, d.o, "model_type", json_string(type));
    copy_fields(&d);
    set_rope(&d);
    set_derived(&d, type);
    set(&d, d.o, "gguf_interleaved", json_boolean(architectures[i].interleaved));
    set(&d, d.o, "gguf_shifted_norms", json_boolean(architectures[i].shifted_norms));
    for (int k = 0; k < 2; k++) {
        int64_t id = gguf_int(g, k ? "tokenizer.ggml.eos_token_id" : "tokenizer.ggml.bos_token_id", -1);
        if (id >= 0)
            set(&d, d.o, k ? "eos_token_id" : "bos_token_id", json_integer(id));
    }
    if (!d.failed)
        return d.o;
    json_decref(d.o);
    diag_error(g->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    return NULL;
}

json_t *gguf_tokenizer_config(const struct gguf *g) {
    static const struct { const char *key, *field; } tokens[] = {
        {"tokenizer.ggml.bos_token_id", "bos_token"},     {"tokenizer.ggml.eos_token_id", "eos_token"},
        {"tokenizer.ggml.unknown_token_id", "unk_token"}, {"tokenizer.ggml.padding_token_id", "pad_token"},
    };
    const struct gguf_entry *list = gguf_find(g, "tokenizer.ggml.tokens");
    struct str template = gguf_text(g, "tokenizer.chat_template"), s;
    struct str tool_use = gguf_text(g, "tokenizer.chat_template.tool_use");
    struct document d = {.g = g, .o = json_object()};
    json_t *one = template.p ? json_stringn(template.p, template.n) : NULL;
    json_t *two = template.p && tool_use.p ? json_stringn(tool_use.p, tool_use.n) : NULL;
    if (two)
        one = json_pack("[{s:s,s:o},{s:s,s:o}]", "name", "default", "template", one, "name", "tool_use", "template", two);
    if (template.p)
        set(&d, d.o, "chat_template", one);
    size_t at = 0;
    bool texts = list && list->type == GGUF_ARRAY && list->element == GGUF_STRING;
    for (int64_t id = 0; texts && gguf_next_text(list, &at, &s); id++)
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            if (gguf_int(g, tokens[i].key, -1) == id)
                set(&d, d.o, tokens[i].field, json_stringn(s.p, s.n));
    if (!d.failed)
        return d.o;
    json_decref(d.o);
    gguf_fail(g, "'tokenizer.chat_template' or a token is not UTF-8");
    return NULL;
}
