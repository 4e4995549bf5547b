/* The metadata of a GGUF file as config.json and tokenizer_config.json: see gguf.h. */
#include "llm/gguf.h"

#include "llm/config.h"

#include <math.h>
#include <stdio.h>

/* The first of a name or a type counts. */
static const struct gguf_arch architectures[] = {
    {"llama", "llama", GGUF_INTERLEAVED},     {"qwen2", "qwen2", 0},
    {"qwen3", "qwen3", 0},                    {"gemma", "gemma", GGUF_SHIFTED_NORMS},
    {"gemma2", "gemma2", GGUF_SHIFTED_NORMS}, {"gemma3", "gemma3_text", GGUF_SHIFTED_NORMS},
    {"phi3", "phi3", GGUF_MERGED | GGUF_LONG_ROPE},         {"granite", "granite", GGUF_INTERLEAVED},
    {"smollm3", "smollm3", GGUF_INTERLEAVED}, {"olmo2", "olmo2", 0},
    {"qwen3moe", "qwen3_moe", 0},             {"gpt-oss", "gpt_oss", GGUF_LATE_NORM},
    {"bert", "bert", 0},         {"qwen35", "qwen3_5_text", GGUF_SHIFTED_NORMS | GGUF_LATE_NORM},
    {"qwen35moe", "qwen3_5_moe_text", GGUF_SHIFTED_NORMS | GGUF_LATE_NORM},
    {"gemma3n", "gemma3n_text", 0},           {"gemma4", "gemma4_text", 0},
    {"llama", "mistral", GGUF_INTERLEAVED},   {"llama", "mixtral", GGUF_INTERLEAVED},
    {"bert", "roberta", 0},                   {"bert", "xlm-roberta", 0},
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const struct gguf_arch *gguf_arch_of(const char *type) {
    for (size_t i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].type, type) == 0)
            return &architectures[i];
    return NULL;
}

const struct gguf_field gguf_fields[] = {
    {"block_count", "num_hidden_layers", GGUF_INTEGER},
    {"context_length", "max_position_embeddings", GGUF_DESCRIBED},
    {"embedding_length", "hidden_size", GGUF_INTEGER},
    {"feed_forward_length", "intermediate_size", GGUF_DESCRIBED},
    {"attention.head_count", "num_attention_heads", GGUF_INTEGER},
    {"attention.head_count_kv", "num_key_value_heads", GGUF_DESCRIBED},
    {"attention.key_length", "head_dim", GGUF_DESCRIBED},
    {"attention.sliding_window", "sliding_window", GGUF_INTEGER},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", GGUF_REAL},
    {"attention.layer_norm_epsilon", "layer_norm_eps", GGUF_REAL},
    {"pooling_type", "gguf_pooling", GGUF_DESCRIBED},
    {"attn_logit_softcapping", "attn_logit_softcapping", GGUF_REAL},
    {"final_logit_softcapping", "final_logit_softcapping", GGUF_REAL},
    {"rope.freq_base", "rope_theta", GGUF_REAL},
    {"vocab_size", "vocab_size", GGUF_INTEGER},
    {"embedding_scale", "embedding_multiplier", GGUF_REAL},
    {"residual_scale", "residual_multiplier", GGUF_REAL},
    {"attention.scale", "attention_multiplier", GGUF_REAL},
    {"logit_scale", "logits_scaling", GGUF_REAL},
    {"expert_count", "num_experts", GGUF_DESCRIBED},
    {"expert_used_count", "num_experts_per_tok", GGUF_DESCRIBED},
    {"expert_used_count", "top_k_experts", GGUF_DESCRIBED},
    {"expert_feed_forward_length", "moe_intermediate_size", GGUF_DESCRIBED},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", GGUF_INTEGER},
    {"ssm.conv_kernel", "linear_conv_kernel_dim", GGUF_DESCRIBED},
    {"ssm.state_size", "linear_key_head_dim", GGUF_INTEGER},
    {"ssm.group_count", "linear_num_key_heads", GGUF_INTEGER},
    {"ssm.time_step_rank", "linear_num_value_heads", GGUF_INTEGER},
    {"embedding_length_per_layer_input", "hidden_size_per_layer_input", GGUF_DESCRIBED},
    {"attention.shared_kv_layers", "num_kv_shared_layers", GGUF_DESCRIBED},
    {"altup.num_inputs", "altup_num_inputs", GGUF_DESCRIBED},
    {"altup.active_idx", "altup_active_idx", GGUF_DESCRIBED},
    {"rope.freq_base_swa", "rope_local_base_freq", GGUF_REAL},
};
const size_t gguf_nfields = sizeof gguf_fields / sizeof *gguf_fields;

struct document {
    const struct gguf *g;
    json_t *o;
    struct str arch;
    bool failed, refused; /* refused: and the reason was reported */
};

static void set(struct document *d, json_t *o, const char *key, json_t *value) {
    d->failed |= json_object_set_new(o, key, value) != 0;
}

/* A number from a file; JSON has none that is not finite. `of`: what it is, or what it was computed from. */
static json_t *real(struct document *d, const char *of, double v) {
    if (!isfinite(v) && !d->refused) {
        gguf_fail(d->g, "'%s' is not a finite number", of);
        d->refused = true;
    }
    return json_real(v);
}

/* The same, as an integer where it is one that JSON can hold. */
static json_t *integer(struct document *d, const char *of, double v) {
    return v >= -0x1p53 && v <= 0x1p53 ? json_integer((json_int_t)v) : real(d, of, v);
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

static void set_value(struct document *d, json_t *o, const char *key, const char *suffix, double absent) {
    set(d, o, key, real(d, suffix, value_of(d, suffix, absent)));
}

static void copy_fields(struct document *d) {
    for (size_t i = 0; i < gguf_nfields; i++) {
        const struct gguf_entry *e = entry(d, gguf_fields[i].key);
        double v = e && e->type == GGUF_ARRAY ? gguf_element(e, 0) : value_of(d, gguf_fields[i].key, 0);
        if (!e)
            continue;
        const char *key = gguf_fields[i].key;
        set(d, d->o, gguf_fields[i].field, gguf_fields[i].kind == GGUF_REAL ? real(d, key, v) : integer(d, key, v));
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
        d->failed |= json_array_append_new(list, real(d, name, (double)x)) != 0;
    }
    return list;
}

/* Gemma 4's: frequencies of full layers that are divided by more than this are none. */
static void set_ropes(struct document *d, size_t n) {
    enum { NEVER = 1000000000 };
    json_t *list = factors(d, "rope_freqs.weight", n), *full = json_object(), *slide = json_object(), *o = json_object();
    size_t rotated = 0;
    while (rotated < json_array_size(list) && json_real_value(json_array_get(list, rotated)) < NEVER)
        rotated++;
    double part = list && rotated ? (double)rotated / (double)n : 1;
    if ((size_t)((double)(2 * n) * part) / 2 < rotated) /* rounded down */
        part = nextafter(part, 1);
    json_decref(list);
    set(d, full, "rope_type", json_string("proportional"));
    set(d, full, "partial_rotary_factor", json_real(part));
    set_value(d, full, "rope_theta", "rope.freq_base", 1e6);
    set(d, slide, "rope_type", json_string("default"));
    set_value(d, slide, "rope_theta", "rope.freq_base_swa", 1e4);
    set(d, o, "full_attention", full);
    set(d, o, "sliding_attention", slide);
    set(d, d->o, "rope_parameters", o);
}

/* A file has what the amplitude that follows from the factor is multiplied by. */
static void set_yarn(struct document *d, json_t *o) {
    double factor = value_of(d, "rope.scaling.factor", 1), usual = factor > 1 ? 0.1 * log(factor) + 1 : 1;
    if (entry(d, "rope.scaling.attn_factor"))
        set(d, o, "attention_factor", real(d, "rope.scaling.attn_factor", usual * value_of(d, "rope.scaling.attn_factor", 1)));
    if (entry(d, "rope.scaling.yarn_beta_fast"))
        set_value(d, o, "beta_fast", "rope.scaling.yarn_beta_fast", 32);
    if (entry(d, "rope.scaling.yarn_beta_slow"))
        set_value(d, o, "beta_slow", "rope.scaling.yarn_beta_slow", 1);
}

static void set_rope(struct document *d) {
    char key[128];
    double heads = value_of(d, "attention.head_count", 1), hidden = value_of(d, "embedding_length", 0);
    double dim = value_of(d, "rope.dimension_count", value_of(d, "attention.key_length", heads > 0 ? hidden / heads : 0));
    size_t n = dim >= 2 && dim <= 4096 ? (size_t)dim / 2 : 0;
    double whole = value_of(d, "attention.key_length", heads > 0 ? hidden / heads : 0);
    if (dim > 0 && dim < whole)
        set(d, d->o, "partial_rotary_factor", json_real(dim / whole));
    if (entry(d, "attention.key_length_swa")) { /* full layers and sliding ones have embeddings of their own */
        set_ropes(d, n);
        return;
    }
    json_t *all = factors(d, "rope_freqs.weight", n), *lengthy = factors(d, "rope_factors_long.weight", n);
    json_t *brief = lengthy ? factors(d, "rope_factors_short.weight", n) : all, *o = json_object();
    const char *length = "rope.scaling.original_context_length";
    double original = value_of(d, length, 0);
    snprintf(key, sizeof key, "%.*s.rope.scaling.type", (int)d->arch.n, d->arch.p);
    struct str type = gguf_text(d->g, key);
    if (brief) {
        set(d, o, "rope_type", json_string("longrope"));
        set(d, o, "short_factor", brief);
        set(d, o, "long_factor", lengthy ? lengthy : json_incref(brief));
        if (lengthy)
            set_value(d, o, "attention_factor", "rope.scaling.attn_factor", 1);
        else
            set(d, o, "attention_factor", json_real(1));
        if (original > 0)
            set(d, d->o, "original_max_position_embeddings", integer(d, length, original));
    } else if (type.p && !str_is(type, "none")) {
        set(d, o, "rope_type", json_stringn(type.p, type.n));
        set_value(d, o, "factor", "rope.scaling.factor", 1);
        if (str_is(type, "yarn"))
            set_yarn(d, o);
        if (original > 0)
            set(d, o, "original_max_position_embeddings", integer(d, length, original));
    }
    if (lengthy && all)
        json_decref(all);
    if (json_object_size(o))
        set(d, d->o, "rope_scaling", o);
    else
        json_decref(o);
}

/* ---- layers that differ ------------------------------------------------------------------------ */

static bool in_layer(const struct document *d, int64_t layer, const char *name) {
    char full[128];
    snprintf(full, sizeof full, "blk.%lld.%s", (long long)layer, name);
    return tensor(d->g, full) != NULL;
}

/* No more than a model can have: a file that says so is refused by what reads the document. */
static int64_t layers_of(const struct document *d) {
    int64_t n = json_integer_value(json_object_get(d->o, "num_hidden_layers"));
    return n < LLM_MAX_LAYERS ? n : LLM_MAX_LAYERS;
}

/* `layer_types`: where the list has true they are `other`. */
static void set_layer_types(struct document *d, const struct gguf_entry *list, const char *other) {
    json_t *types = json_array();
    for (int64_t i = 0; i < layers_of(d) && i < (int64_t)list->n; i++)
        d->failed |= json_array_append_new(types, json_string(gguf_element(list, (uint64_t)i) != 0 ? other
                                                                                                  : "full_attention")) != 0;
    set(d, d->o, "layer_types", types);
}

/* Gated delta nets, and the layers that a model has for predicting several tokens, which are not used. */
static void set_delta(struct document *d) {
    const struct gguf_entry *list = entry(d, "attention.recurrent_layers");
    double heads = value_of(d, "ssm.time_step_rank", 0), interval = value_of(d, "full_attention_interval", 4);
    if (heads > 0)
        set(d, d->o, "linear_value_head_dim", integer(d, "ssm.inner_size", value_of(d, "ssm.inner_size", 0) / heads));
    if (list && list->type == GGUF_ARRAY) {
        set_layer_types(d, list, "linear_attention");
        return;
    }
    json_t *types = json_array();
    for (int64_t i = 0; i < layers_of(d); i++)
        d->failed |= json_array_append_new(types, json_string(fmod((double)(i + 1), interval) == 0 ? "full_attention"
                                                                                                : "linear_attention")) != 0;
    set(d, d->o, "layer_types", types);
}

/* The first element of a list whose layer slides, or does not; the value where there is no list. */
static json_t *of_kind(struct document *d, const char *key, const struct gguf_entry *slides, bool sliding) {
    const struct gguf_entry *e = entry(d, key);
    bool list = e && e->type == GGUF_ARRAY;
    for (uint64_t i = 0; list && i < e->n; i++)
        if ((gguf_element(slides, i) != 0) == sliding)
            return integer(d, key, gguf_element(e, i));
    return integer(d, key, list ? gguf_element(e, 0) : value_of(d, key, 0));
}

/* `per_layer_config`, where full layers have different numbers of heads. */
static void set_own_heads(struct document *d, const struct gguf_entry *slides) {
    const struct gguf_entry *heads = entry(d, "attention.head_count_kv");
    json_t *own = json_object(), *usual = json_object_get(d->o, "num_global_key_value_heads");
    bool differs = false;
    for (int64_t i = 0; i < layers_of(d) && heads && heads->type == GGUF_ARRAY; i++) {
        char layer[24];
        if (gguf_element(slides, (uint64_t)i) != 0)
            continue;
        json_t *one = json_object();
        differs |= gguf_element(heads, (uint64_t)i) != json_number_value(usual);
        set(d, one, "num_key_value_heads", integer(d, "attention.head_count_kv", gguf_element(heads, (uint64_t)i)));
        set(d, one, "head_dim", integer(d, "attention.key_length", value_of(d, "attention.key_length", 0)));
        snprintf(layer, sizeof layer, "%lld", (long long)i);
        set(d, own, layer, one);
    }
    if (differs)
        set(d, d->o, "per_layer_config", json_incref(own));
    json_decref(own);
}

/* Gemma 4: heads of full layers and of sliding ones, widths, experts. */
static void set_gemma4(struct document *d, const struct gguf_entry *slides) {
    bool same = false;
    for (int64_t i = 0; i < layers_of(d); i++)
        same |= in_layer(d, i, "attn_k.weight") && !in_layer(d, i, "attn_v.weight");
    set(d, d->o, "attention_k_eq_v", json_boolean(same));
    set(d, d->o, "head_dim", integer(d, "attention.key_length_swa", value_of(d, "attention.key_length_swa", 0)));
    set(d, d->o, "global_head_dim", integer(d, "attention.key_length", value_of(d, "attention.key_length", 0)));
    set(d, d->o, "num_key_value_heads", of_kind(d, "attention.head_count_kv", slides, true));
    set(d, d->o, "num_global_key_value_heads", of_kind(d, "attention.head_count_kv", slides, false));
    set_own_heads(d, slides);
    set(d, d->o, "enable_moe_block", json_boolean(value_of(d, "expert_count", 0) > 0));
    const struct gguf_entry *widths = entry(d, "feed_forward_length");
    bool list = widths && widths->type == GGUF_ARRAY && widths->n;
    set(d, d->o, "use_double_wide_mlp", json_boolean(list && gguf_element(widths, widths->n - 1) != gguf_element(widths, 0)));
}

/* Gemma 3n: widths and sparsity of layers, and what only tensors tell. */
static void set_gemma3n(struct document *d) {
    const struct gguf_entry *widths = entry(d, "feed_forward_length"), *sparse = entry(d, "activation_sparsity_scale");
    const struct gguf_tensor *laurel = tensor(d->g, "blk.0.laurel_l.weight");
    json_t *list = json_array(), *parts = json_array();
    for (uint64_t i = 0; widths && widths->type == GGUF_ARRAY && i < widths->n; i++)
        d->failed |= json_array_append_new(list, integer(d, "feed_forward_length", gguf_element(widths, i))) != 0;
    for (uint64_t i = 0; sparse && sparse->type == GGUF_ARRAY && i < sparse->n; i++) { /* of a normal distribution below it */
        double part = erfc(-gguf_element(sparse, i) / sqrt(2)) / 2;
        d->failed |= json_array_append_new(parts, real(d, "activation_sparsity_scale", part)) != 0;
    }
    if (json_array_size(list))
        set(d, d->o, "intermediate_size", json_incref(list));
    if (json_array_size(parts))
        set(d, d->o, "activation_sparsity_pattern", json_incref(parts));
    json_decref(list);
    json_decref(parts);
    if (laurel && laurel->rank == 2)
        set(d, d->o, "laurel_rank", json_integer(laurel->dims[0]));
}

static void set_layers(struct document *d) {
    const struct gguf_entry *slides = entry(d, "attention.sliding_window_pattern");
    const struct gguf_tensor *side = tensor(d->g, "per_layer_token_embd.weight");
    double unused = value_of(d, "nextn_predict_layers", 0);
    json_int_t all = json_integer_value(json_object_get(d->o, "num_hidden_layers"));
    if (unused > 0 && unused < (double)all)
        set(d, d->o, "num_hidden_layers", json_integer(all - (json_int_t)unused));
    if (slides && slides->type == GGUF_ARRAY)
        set_layer_types(d, slides, "sliding_attention");
    if (entry(d, "ssm.group_count"))
        set_delta(d);
    if (slides && slides->type == GGUF_ARRAY && entry(d, "attention.key_length_swa"))
        set_gemma4(d, slides);
    if (entry(d, "altup.num_inputs"))
        set_gemma3n(d);
    if (side && side->rank == 2)
        set(d, d->o, "vocab_size_per_layer_input", json_integer(side->dims[0]));
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
            set(d, d->o, "query_pre_attn_scalar", real(d, "embedding_length", hidden / heads));
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
    set_layers(&d);
    set_rope(&d);
    set_derived(&d, type);
    set(&d, d.o, "gguf_interleaved", json_boolean(architectures[i].flags & GGUF_INTERLEAVED));
    set(&d, d.o, "gguf_shifted_norms", json_boolean(architectures[i].flags & GGUF_SHIFTED_NORMS));
    for (int k = 0; k < 2; k++) {
        int64_t id = gguf_int(g, k ? "tokenizer.ggml.eos_token_id" : "tokenizer.ggml.bos_token_id", -1);
        if (id >= 0)
            set(&d, d.o, k ? "eos_token_id" : "bos_token_id", json_integer(id));
    }
    if (!d.failed)
        return d.o;
    json_decref(d.o);
    if (!d.refused)
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
