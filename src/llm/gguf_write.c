/* Writing a model as a GGUF file: see model.h. */
#include "llm/chat.h"
#include "llm/document.h"
#include "llm/gguf.h"
#include "llm/model.h"

#include "base/fp.h"

#include <math.h>
#include <stdio.h>

enum { ALIGNMENT = 32, GROUP = 32 };

struct out {
    const struct llm_model *m;
    struct diag_list *d;
    hilo_allocator al;
    const struct gguf_arch *arch;
    struct strbuf meta, tensors; /* the entries, and the list of tensors */
    uint64_t nmeta, ntensors, offset;
    struct file_out file;
    float *row, *other; /* of the widest matrix; the second in the order of a model, where that is another */
    uint8_t *blocks;
    size_t widest;
};

/* ---- metadata -------------------------------------------------------------------------------- */

static void put_u32(struct strbuf *s, uint32_t v) {
    strbuf_putn(s, (const char *)&v, sizeof v);
}

static void put_u64(struct strbuf *s, uint64_t v) {
    strbuf_putn(s, (const char *)&v, sizeof v);
}

static void put_text(struct strbuf *s, struct str text) {
    put_u64(s, text.n);
    strbuf_str(s, text);
}

static void begin(struct out *o, const char *key, enum gguf_type type) {
    put_text(&o->meta, str_of(key));
    put_u32(&o->meta, type);
    o->nmeta++;
}

static void begin_array(struct out *o, const char *key, enum gguf_type element, uint64_t n) {
    begin(o, key, GGUF_ARRAY);
    put_u32(&o->meta, element);
    put_u64(&o->meta, n);
}

static void put_int(struct out *o, const char *key, int64_t v) {
    begin(o, key, GGUF_U32);
    put_u32(&o->meta, (uint32_t)v);
}

static void put_real(struct out *o, const char *key, double v) {
    float x = (float)v;
    begin(o, key, GGUF_F32);
    strbuf_putn(&o->meta, (const char *)&x, sizeof x);
}

static void put_bool(struct out *o, const char *key, bool v) {
    begin(o, key, GGUF_BOOL);
    strbuf_putc(&o->meta, v);
}

static void put_string(struct out *o, const char *key, struct str v) {
    begin(o, key, GGUF_STRING);
    put_text(&o->meta, v);
}

/* A key of the architecture. */
static const char *arch_key(const struct out *o, const char *suffix, char key[128]) {
    snprintf(key, 128, "%s.%s", o->arch->name, suffix);
    return key;
}

/* ---- layers that differ ------------------------------------------------------------------------ */

static bool is_gemma4(const struct llm_config *c) {
    return c->v_norm && !c->streams;
}

static int64_t ffn_of(const struct llm_layer *l) { return l->ffn; }
static int64_t heads_of(const struct llm_layer *l) { return l->kv_heads; }

/* A number, or a list where layers have others. */
static void put_layered(struct out *o, const char *suffix, int64_t (*of)(const struct llm_layer *l)) {
    const struct llm_config *c = &o->m->config;
    bool same = true;
    char key[128];
    for (int64_t i = 1; i < c->layers; i++)
        same &= of(&c->layer[i]) == of(&c->layer[0]);
    if (same) {
        put_int(o, arch_key(o, suffix, key), of(&c->layer[0]));
        return;
    }
    begin_array(o, arch_key(o, suffix, key), GGUF_I32, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        put_u32(&o->meta, (uint32_t)of(&c->layer[i]));
}

static void put_kinds(struct out *o, const char *suffix, bool recurrent) {
    const struct llm_config *c = &o->m->config;
    char key[128];
    begin_array(o, arch_key(o, suffix, key), GGUF_BOOL, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        strbuf_putc(&o->meta, recurrent ? c->layer[i].recurrent : c->layer[i].sliding);
}

/* The parts of heads that are rotated by each of a place's numbers are of no use here, but llama.cpp asks for them. */
static void put_delta(struct out *o, const json_t *config) {
    static const int32_t usual[4] = {11, 11, 10, 0};
    const struct llm_config *c = &o->m->config;
    const json_t *sections = json_object_get(json_object_get(config, "rope_parameters"), "mrope_section");
    char key[128];
    put_int(o, arch_key(o, "ssm.conv_kernel", key), c->delta.taps);
    put_int(o, arch_key(o, "ssm.inner_size", key), c->delta.heads * c->delta.value_dim);
    put_kinds(o, "attention.recurrent_layers", true);
    begin_array(o, arch_key(o, "rope.dimension_sections", key), GGUF_I32, 4);
    for (size_t i = 0; i < 4; i++)
        put_u32(&o->meta, sections ? (uint32_t)json_integer_value(json_array_get(sections, i)) : (uint32_t)usual[i]);
}

static void put_gemma(struct out *o) {
    const struct llm_config *c = &o->m->config;
    int64_t borrow = 0;
    char key[128];
    for (int64_t i = 0; i < c->layers; i++)
        borrow += c->layer[i].borrows;
    put_int(o, arch_key(o, "attention.shared_kv_layers", key), borrow);
    put_int(o, arch_key(o, "embedding_length_per_layer_input", key), c->side);
    if (is_gemma4(c)) {
        put_int(o, arch_key(o, "attention.key_length_swa", key), c->head_dim);
        put_int(o, arch_key(o, "attention.value_length_swa", key), c->head_dim);
        put_int(o, arch_key(o, "rope.dimension_count_swa", key), c->local_rope.dim);
        return;
    }
    put_int(o, arch_key(o, "altup.num_inputs", key), c->streams);
    put_int(o, arch_key(o, "altup.active_idx", key), 0);
    begin_array(o, arch_key(o, "activation_sparsity_scale", key), GGUF_F32, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++) {
        float x = c->layer[i].spread != 0 ? (float)c->layer[i].spread : -INFINITY;
        strbuf_putn(&o->meta, (const char *)&x, sizeof x);
    }
}

static void put_layers(struct out *o, const json_t *config) {
    const struct llm_config *c = &o->m->config;
    int64_t dim = c->head_dim;
    char key[128];
    for (int64_t i = 0; i < c->layers; i++)
        dim = c->layer[i].sliding || c->layer[i].recurrent ? dim : c->layer[i].head_dim;
    if (json_object_get(config, "intermediate_size"))
        put_layered(o, "feed_forward_length", ffn_of);
    put_layered(o, "attention.head_count_kv", heads_of);
    put_int(o, arch_key(o, "attention.key_length", key), dim);
    put_int(o, arch_key(o, "attention.value_length", key), dim);
    if (c->window && c->local_rope.theta != c->rope.theta && !json_object_get(config, "rope_local_base_freq"))
        put_real(o, arch_key(o, "rope.freq_base_swa", key), c->local_rope.theta);
    if (c->window || c->v_norm)
        put_kinds(o, "attention.sliding_window_pattern", false);
    if (c->delta.heads)
        put_delta(o, config);
    if (c->v_norm)
        put_gemma(o);
}

static void put_config(struct out *o, const json_t *config) {
    const struct llm_config *c = &o->m->config;
    char key[128];
    const json_t *v;
    const char *last = "";
    put_string(o, "general.architecture", str_of(o->arch->name));
    put_int(o, "general.alignment", ALIGNMENT);
    for (size_t i = 0; i < gguf_nfields; i++) {
        if (gguf_fields[i].kind == GGUF_DESCRIBED || !(v = json_object_get(config, gguf_fields[i].field)) || !json_is_number(v))
            continue;
        if (strcmp(gguf_fields[i].key, last) == 0) /* a config made of a GGUF file has all names of a field */
            continue;
        last = gguf_fields[i].key;
        if (gguf_fields[i].kind == GGUF_REAL)
            put_real(o, arch_key(o, gguf_fields[i].key, key), json_number_value(v));
        else
            put_int(o, arch_key(o, gguf_fields[i].key, key), (int64_t)json_number_value(v));
    }
    put_layers(o, config);
    put_int(o, arch_key(o, "rope.dimension_count", key), c->rope.dim);
    if (!json_object_get(config, "rope_theta")) /* newer files have it among the parameters of RoPE */
        put_real(o, arch_key(o, "rope.freq_base", key), c->rope.theta);
    if (c->rope.kind == LLM_ROPE_LINEAR || c->rope.kind == LLM_ROPE_YARN) {
        put_string(o, arch_key(o, "rope.scaling.type", key), c->rope.kind == LLM_ROPE_YARN ? STR("yarn") : STR("linear"));
        put_real(o, arch_key(o, "rope.scaling.factor", key), c->rope.factor);
        if (c->rope.kind == LLM_ROPE_YARN)
            put_int(o, arch_key(o, "rope.scaling.original_context_length", key), (int64_t)c->rope.original);
    }
}

/* The chat templates, which may be in files of their own. */
static hilo_status put_templates(struct out *o, const char *from) {
    struct llm_chat chat;
    hilo_status status = llm_chat_open(from, o->al, o->d, &chat);
    if (status == HILO_OK && chat.template.n)
        put_string(o, "tokenizer.chat_template", (struct str){chat.template.p, chat.template.n});
    if (status == HILO_OK && chat.tool_use.n)
        put_string(o, "tokenizer.chat_template.tool_use", (struct str){chat.tool_use.p, chat.tool_use.n});
    llm_chat_close(&chat);
    return status;
}

/* ---- the vocabulary ------------------------------------------------------------------------------ */

static hilo_status refuse(const struct out *o, const char *what) {
    return diag_error(o->d, HILO_INVALID_ARGUMENT, "this version writes no GGUF file for %s", what);
}

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };

struct vocab { struct str text; int32_t type; float score; };

static void take(struct vocab *v, size_t n, const json_t *id, struct str text, int32_t type) {
    json_int_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (i >= 0 && (size_t)i < n)
        v[i].text = text, v[i].type = type;
}

/* "a b" or ["a", "b"] as "a b". */
static void merge_text(const json_t *merge, struct strbuf *out) {
    out->n = 0;
    if (json_is_string(merge)) {
        strbuf_putn(out, json_string_value(merge), json_string_length(merge));
        return;
    }
    for (size_t k = 0; k < 2; k++) {
        const json_t *side = json_array_get(merge, k);
        strbuf_putn(out, k ? " " : "", k);
        strbuf_putn(out, json_string_value(side), json_string_length(side));
    }
}

/* SentencePiece's scores are the order of merges: the first that makes a token counts. */
static void score_merges(struct out *o, const json_t *model, struct vocab *v, size_t n) {
    struct strbuf text;
    size_t i;
    json_t *merge;
    strbuf_init(&text, o->al);
    for (i = 0; i < n; i++)
        v[i].score = -1e6f;
    json_array_foreach(json_object_get(model, "merges"), i, merge) {
        merge_text(merge, &text);
        char *space = text.n ? memchr(text.p, ' ', text.n) : NULL;
        if (!space)
            continue;
        memmove(space, space + 1, (size_t)(text.p + text.n - space - 1));
        const json_t *id = json_object_getn(json_object_get(model, "vocab"), text.p, text.n - 1);
        json_int_t k = json_is_integer(id) ? json_integer_value(id) : -1;
        if (k >= 0 && (size_t)k < n && v[k].score == -1e6f)
            v[k].score = -(float)i;
    }
    strbuf_free(&text);
}

static void put_vocab(struct out *o, const json_t *root, const struct vocab *v, size_t n, bool byte_level) {
    struct strbuf text;
    size_t i;
    json_t *merge;
    const json_t *merges = json_object_get(json_object_get(root, "model"), "merges");
    begin_array(o, "tokenizer.ggml.tokens", GGUF_STRING, n);
    for (i = 0; i < n; i++)
        put_text(&o->meta, v[i].text);
    begin_array(o, "tokenizer.ggml.token_type", GGUF_I32, n);
    for (i = 0; i < n; i++)
        put_u32(&o->meta, (uint32_t)v[i].type);
    if (!byte_level) {
        begin_array(o, "tokenizer.ggml.scores", GGUF_F32, n);
        for (i = 0; i < n; i++)
            strbuf_putn(&o->meta, (const char *)&v[i].score, sizeof v[i].score);
        return;
    }
    strbuf_init(&text, o->al);
    begin_array(o, "tokenizer.ggml.merges", GGUF_STRING, json_array_size(merges));
    json_array_foreach(merges, i, merge) {
        merge_text(merge, &text);
        put_text(&o->meta, (struct str){text.p ? text.p : "", text.n});
    }
    o->meta.failed |= text.failed;
    strbuf_free(&text);
}

/* The name for the splits of a byte-level pre-tokenizer; NULL if they have none. */
static const char *pre_name(const json_t *root) {
    const json_t *pre = json_object_get(root, "pre_tokenizer"), *list = json_object_get(pre, "pretokenizers");
    const char *found[8] = {NULL};
    size_t i, n = 0;
    json_t *one;
    json_array_foreach(list, i, one) {
        const char *re = json_string_value(json_object_get(json_object_get(one, "pattern"), "Regex"));
        if (re && n < 8)
            found[n++] = re;
    }
    return n ? gguf_pre_named(found, n) : "gpt-2"; /* ByteLevel's own expression */
}

/* The token that is put before a text; -1 = none. */
static int64_t token_before(const json_t *root) {
    const json_t *post = json_object_get(root, "post_processor"), *list = json_object_get(post, "processors");
    size_t i, count = json_is_array(list) ? json_array_size(list) : 1;
    for (i = 0; i < count; i++) {
        const json_t *one = json_is_array(list) ? json_array_get(list, i) : post;
        const json_t *first = json_array_get(json_object_get(one, "single"), 0);
        const char *name = json_string_value(json_object_get(json_object_get(first, "SpecialToken"), "id"));
        const json_t *ids = json_object_get(json_object_get(json_object_get(one, "special_tokens"), name ? name : ""), "ids");
        if (name && json_is_integer(json_array_get(ids, 0)))
            return json_integer_value(json_array_get(ids, 0));
    }
    return -1;
}

static hilo_status put_tokenizer(struct out *o, const json_t *root) {
    const struct llm_config *c = &o->m->config;
    const json_t *model = json_object_get(root, "model"), *vocab = json_object_get(model, "vocab");
    const char *type = json_string_value(json_object_get(model, "type")), *key;
    bool byte_level = !json_is_true(json_object_get(model, "byte_fallback"));
    size_t n = (size_t)c->vocab, i, bytes;
    json_t *id;
    if ((type && strcmp(type, "BPE") != 0) || !json_is_object(vocab))
        return refuse(o, "a tokenizer that is not BPE");
    const char *pre = byte_level ? pre_name(root) : "default";
    if (!pre)
        return refuse(o, "a tokenizer with these splits, for which GGUF has no name");
    struct vocab *v = mem_mul(n, sizeof *v, &bytes) ? mem_alloc(&o->al, bytes) : NULL;
    if (!v)
        return HILO_RESOURCE_EXHAUSTED;
    for (i = 0; i < n; i++)
        v[i] = (struct vocab){.text = STR("[unused]"), .type = UNUSED};
    json_object_foreach((json_t *)(uintptr_t)vocab, key, id) {
        bool byte = !byte_level && strlen(key) == 6 && strncmp(key, "<0x", 3) == 0;
        take(v, n, id, str_of(key), byte ? BYTE : NORMAL);
    }
    json_array_foreach(json_object_get(root, "added_tokens"), i, id) {
        const json_t *text = json_object_get(id, "content");
        take(v, n, json_object_get(id, "id"), (struct str){json_string_value(text), json_string_length(text)},
             json_is_true(json_object_get(id, "special")) ? CONTROL : USER_DEFINED);
    }
    if (!byte_level)
        score_merges(o, model, v, n);
    put_string(o, "tokenizer.ggml.model", byte_level ? STR("gpt2") : STR("llama"));
    put_string(o, "tokenizer.ggml.pre", str_of(pre));
    put_vocab(o, root, v, n, byte_level);
    int64_t before = token_before(root), bos = before >= 0 ? before : c->bos; /* the tokenizer's, where configs differ */
    put_bool(o, "tokenizer.ggml.add_bos_token", before >= 0);
    put_bool(o, "tokenizer.ggml.add_eos_token", false);
    if (bos >= 0)
        put_int(o, "tokenizer.ggml.bos_token_id", bos);
    if (c->neos)
        put_int(o, "tokenizer.ggml.eos_token_id", c->eos[0]);
    const char *unk = json_string_value(json_object_get(model, "unk_token"));
    if (unk && json_is_integer(json_object_get(vocab, unk)))
        put_int(o, "tokenizer.ggml.unknown_token_id", (int64_t)json_integer_value(json_object_get(vocab, unk)));
    mem_free(&o->al, v, bytes);
    return HILO_OK;
}

/* ---- weights --------------------------------------------------------------------------------------- */

/* Row r of a weight in f32: value * scale + offset. */
static void read_row(const struct out *o, const struct llm_weight *w, int64_t r, float *x) {
    const struct llm_param *p = &o->m->params[w->first];
    int64_t cols = w->cols ? w->cols : w->rows;
    const char *data = (const char *)p->data + (w->cols ? (size_t)r * (p->bytes / (size_t)w->rows) : 0);
    if (!w->bits) {
        fp_decode_n_f32(ir_dtype_get(p->dtype)->fp, data, x, (size_t)cols);
        return;
    }
    for (int64_t i = 0; i < cols; i++) {
        float s, z = 0;
        int v = w->bits == 8 ? (w->offsets ? (uint8_t)data[i] : (int8_t)data[i]) : (uint8_t)data[i / 2] >> i % 2 * 4 & 15;
        v -= w->bits == 4 && !w->offsets && v > 7 ? 16 : 0;
        size_t group = (size_t)(r * w->groups + i / (cols / w->groups));
        const struct ir_dtype_info *t = ir_dtype_get(p[LLM_SCALES].dtype);
        fp_decode_n_f32(t->fp, (const char *)p[LLM_SCALES].data + group * t->bytes, &s, 1);
        if (w->offsets) {
            t = ir_dtype_get(p[LLM_OFFSETS].dtype);
            fp_decode_n_f32(t->fp, (const char *)p[LLM_OFFSETS].data + group * t->bytes, &z, 1);
        }
        x[i] = s * (float)v + z;
    }
}

/* The format that holds a weight as it is; NULL if none does. */
static const struct gguf_format *format_of(const struct out *o, const struct llm_weight *w) {
    const struct llm_param *p = &o->m->params[w->first];
    bool halves = w->bits && p[LLM_SCALES].dtype == IR_F16_T && (!w->offsets || p[LLM_OFFSETS].dtype == IR_F16_T);
    if (w->bits && (!halves || w->cols / w->groups != GROUP || (w->bits == 8 && w->offsets)))
        return NULL;
    if (w->bits)
        return gguf_format_named(w->bits == 8 ? "q8_0" : w->offsets ? "q4_1" : "q4_0");
    return gguf_format_named(p->dtype == IR_F32_T ? "f32" : p->dtype == IR_F16_T ? "f16" : p->dtype == IR_BF16_T ? "bf16" : "");
}

/* Quantises 32 numbers as ggml does (ggml-quants.c, quantize_row_q8_0_ref …). */
static void quantise(const char *format, const float *x, uint8_t *out) {
    float least = x[0], most = x[0], far = 0;
    for (int i = 0; i < GROUP; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
        far = fabsf(x[i]) > fabsf(far) ? x[i] : far;
    }
    bool eight = format[1] == '8', offset = format[3] == '1';
    float d = eight ? fabsf(far) / 127 : offset ? (most - least) / 15 : far / -8, inverse = d != 0 ? 1 / d : 0;
    uint16_t h = f32_to_f16(d), z = f32_to_f16(least);
    memcpy(out, &h, 2);
    if (offset)
        memcpy(out + 2, &z, 2);
    uint8_t *q = out + (offset ? 4 : 2);
    for (int i = 0; i < GROUP; i++) {
        float v = eight ? roundf(x[i] * inverse) : offset ? floorf((x[i] - least) * inverse + 0.5f)
                                                          : floorf(x[i] * inverse + 8.5f);
        int k = (int)(eight ? v : v < 0 ? 0 : v > 15 ? 15 : v);
        if (eight)
            q[i] = (uint8_t)(int8_t)k;
        else
            q[i % 16] = (uint8_t)(i < 16 ? k : q[i % 16] | k << 4);
    }
}

/* Copies the values and the scale of a group that is stored with them already. */
static void copy_group(const struct out *o, const struct llm_weight *w, int64_t r, int64_t g, uint8_t *out) {
    const struct llm_param *p = &o->m->params[w->first];
    const uint8_t *values = (const uint8_t *)p->data + ((size_t)r * (size_t)w->cols + (size_t)g * GROUP) * w->bits / 8;
    size_t at = (size_t)(r * w->groups + g) * 2;
    memcpy(out, (const char *)p[LLM_SCALES].data + at, 2);
    if (w->offsets)
        memcpy(out + 2, (const char *)p[LLM_OFFSETS].data + at, 2);
    uint8_t *q = out + (w->offsets ? 4 : 2);
    if (w->bits == 8)
        memcpy(q, values, GROUP);
    for (int i = 0; i < GROUP && w->bits == 4; i++) {
        int k = (values[i / 2] >> i % 2 * 4 & 15) ^ (w->offsets ? 0 : 8);
        q[i % 16] = (uint8_t)(i < 16 ? k : q[i % 16] | k << 4);
    }
}

static void put_row(struct out *o, const struct llm_weight *w, const struct gguf_format *f, int64_t r) {
    int64_t cols = w->cols ? w->cols : w->rows;
    struct llm_gguf_order order;
    bool moved = llm_gguf_order(&o->m->config, w, o->arch->flags & GGUF_INTERLEAVED, &order) && (order.columns || !w->cols);
    bool same = w->bits && f == format_of(o, w) && !(moved && order.unit % GROUP); /* groups are moved whole */
    if (!same)
        read_row(o, w, r, moved ? o->other : o->row);
    for (int64_t i = 0; i < cols && moved && !same; i++)
        o->row[i] = o->other[llm_gguf_source(&order, i)];
    bool shifted = o->arch->flags & GGUF_SHIFTED_NORMS && llm_role_is_shifted(w->role), decay = w->role == LLM_W_DELTA_DECAY;
    for (int64_t i = 0; i < cols && (shifted || decay); i++)
        o->row[i] = decay ? -expf(o->row[i]) : o->row[i] + 1;
    for (int64_t g = 0; f->dtype == IR_DTYPE_NONE && g < cols / GROUP; g++) {
        if (same)
            copy_group(o, w, r, moved ? llm_gguf_source(&order, g * GROUP) / GROUP : g, o->blocks + (size_t)g * f->bytes);
        else
            quantise(f->name, o->row + g * GROUP, o->blocks + (size_t)g * f->bytes);
    }
    if (f->dtype != IR_DTYPE_NONE)
        fp_encode_n_f32(ir_dtype_get(f->dtype)->fp, o->row, o->blocks, (size_t)cols);
    file_put(&o->file, o->blocks, (size_t)cols / f->elements * f->bytes);
}

/* Rows of a matrix in the file. Embeddings of layers have as many there as others have: a model takes the first for those that
   they lack. */
static int64_t rows_written(const struct out *o, const struct llm_weight *w) {
    return w->role == LLM_W_SIDE_TABLE ? o->m->config.vocab : w->rows;
}

/* Row r of a matrix is written from this one. */
static int64_t source_row(const struct out *o, const struct llm_weight *w, int64_t r) {
    struct llm_gguf_order order;
    bool moved = llm_gguf_order(&o->m->config, w, o->arch->flags & GGUF_INTERLEAVED, &order) && !order.columns;
    return r >= w->rows ? 0 : moved ? llm_gguf_source(&order, r) : r;
}

/* NULL if a weight that is not to be rounded has no format. */
static const struct gguf_format *target(const struct out *o, const struct llm_weight *w, const struct gguf_format *wanted) {
    struct llm_gguf_order order;
    if (!w->cols || llm_role_is_table(w->role))
        return gguf_format_named("f32");
    if (!wanted && w->bits && llm_gguf_order(&o->m->config, w, false, &order) && order.columns && order.unit % GROUP)
        return NULL;
    if (!wanted)
        return format_of(o, w);
    return w->cols % wanted->elements ? gguf_format_named("f16") : wanted;
}

static size_t bytes_of(const struct out *o, const struct llm_weight *w, const struct gguf_format *f) {
    size_t cols = (size_t)(w->cols ? w->cols : w->rows), rows = w->cols ? (size_t)rows_written(o, w) : 1;
    return rows * (cols / f->elements * f->bytes);
}

/* The entry of a tensor: of one matrix, of those of all experts, or of several weights one after the other. */
static void list_tensor(struct out *o, size_t i, const struct gguf_format *f) {
    const struct llm_weight *w = &o->m->weights[i];
    const struct llm_config *c = &o->m->config;
    bool experts = w->cols && c->experts && (w->role == LLM_W_GATES_UPS || w->role == LLM_W_GATES || w->role == LLM_W_UPS ||
                                             w->role == LLM_W_DOWNS);
    int64_t several = experts ? c->experts : 1, rows = rows_written(o, w);
    char name[128];
    if (!experts)
        while (i + (size_t)several < o->m->nweights && llm_weight_continues(&w[several]))
            several++;
    rows = experts ? rows / several : rows;
    bool deep = experts || several > 1;
    if (w->role == LLM_W_FFN_NORM && o->arch->flags & GGUF_LATE_NORM)
        snprintf(name, sizeof name, "blk.%lld.post_attention_norm.weight", (long long)w->layer);
    else
        llm_weight_gguf_name(w, name, sizeof name);
    put_text(&o->tensors, str_of(name));
    put_u32(&o->tensors, deep ? 3 : w->cols ? 2 : 1);
    if (w->cols)
        put_u64(&o->tensors, (uint64_t)w->cols);
    put_u64(&o->tensors, (uint64_t)rows);
    if (deep)
        put_u64(&o->tensors, (uint64_t)several);
    put_u32(&o->tensors, f->number);
    put_u64(&o->tensors, o->offset);
    o->ntensors++;
}

static uint64_t aligned(uint64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static hilo_status list_weights(struct out *o, const struct gguf_format *wanted) {
    for (size_t i = 0; i < o->m->nweights; i++) {
        const struct llm_weight *w = &o->m->weights[i];
        const struct gguf_format *f = target(o, w, wanted);
        if (!f)
            return refuse(o, "weights with scales for a whole row, as they are; --type names a format to convert them to");
        if (!llm_weight_continues(w)) {
            o->offset = aligned(o->offset);
            list_tensor(o, i, f);
        }
        size_t cols = (size_t)(w->cols ? w->cols : w->rows);
        o->offset += bytes_of(o, w, f);
        o->widest = cols > o->widest ? cols : o->widest;
    }
    o->offset = aligned(o->offset);
    return HILO_OK;
}

static void align(struct out *o, size_t n) {
    static const char zeros[ALIGNMENT];
    file_put(&o->file, zeros, (ALIGNMENT - n % ALIGNMENT) % ALIGNMENT);
}

/* The divisors of frequencies that Llama 3 and Gemma 4 have: `rope_freqs.weight`. */
static bool has_divisors(const struct llm_config *c) {
    return c->rope.kind == LLM_ROPE_LLAMA3 || c->rope.kind == LLM_ROPE_LONG || c->rope.kind == LLM_ROPE_PROPORTIONAL;
}

static void list_divisors(struct out *o) {
    const struct llm_config *c = &o->m->config;
    put_text(&o->tensors, STR("rope_freqs.weight"));
    put_u32(&o->tensors, 1);
    put_u64(&o->tensors, (uint64_t)c->rope.dim / 2);
    put_u32(&o->tensors, gguf_format_named("f32")->number);
    put_u64(&o->tensors, o->offset);
    o->ntensors++;
}

static void put_divisors(struct out *o) {
    const struct llm_config *c = &o->m->config;
    float f[LLM_MAX_FREQUENCIES];
    for (int64_t i = 0; i < c->rope.dim / 2; i++)
        f[i] = (float)fmin(llm_rope_divisor(&c->rope, false, i), 1e30); /* as converters write it for infinity */
    file_put(&o->file, f, (size_t)c->rope.dim / 2 * sizeof *f);
}

static void put_weights(struct out *o, const struct gguf_format *wanted) {
    size_t n = 0;
    for (size_t i = 0; i < o->m->nweights; i++) {
        const struct llm_weight *w = &o->m->weights[i];
        const struct gguf_format *f = target(o, w, wanted);
        if (!llm_weight_continues(w)) {
            align(o, n);
            n = 0;
        }
        n += bytes_of(o, w, f);
        if (!w->cols) { /* its numbers are rows of one */
            put_row(o, w, f, 0);
        } else {
            for (int64_t r = 0; r < rows_written(o, w); r++)
                put_row(o, w, f, source_row(o, w, r));
        }
    }
    align(o, n);
}

static hilo_status check(const struct out *o) {
    const struct llm_config *c = &o->m->config;
    if (!o->arch)
        return diag_error(o->d, HILO_INVALID_ARGUMENT, "this version writes no GGUF file for the model_type '%s'", c->family);
    if (c->window && strcmp(o->arch->name, "llama") == 0)
        return refuse(o, "a Mistral model with sliding windows");
    if (o->arch->flags & GGUF_INTERLEAVED && (c->qkv_bias || c->rope.dim != c->head_dim))
        return refuse(o, "this family with biases of queries, or heads that are rotated in part");
    bool same = memcmp(c->rope.factors[0], c->rope.factors[1], sizeof c->rope.factors[0]) == 0;
    if (has_divisors(c) && (c->rope.amplitude != 1 || !same))
        return refuse(o, "LongRoPE");
    return HILO_OK;
}

static hilo_status write_file(struct out *o, const char *to, const struct gguf_format *wanted) {
    struct strbuf head;
    HILO_TRY(list_weights(o, wanted));
    if (has_divisors(&o->m->config))
        list_divisors(o);
    strbuf_init(&head, o->al);
    strbuf_puts(&head, "GGUF");
    put_u32(&head, 3);
    put_u64(&head, o->ntensors);
    put_u64(&head, o->nmeta);
    o->row = mem_alloc(&o->al, o->widest * sizeof *o->row);
    o->other = mem_alloc(&o->al, o->widest * sizeof *o->row);
    o->blocks = mem_alloc(&o->al, o->widest * sizeof *o->row);
    bool failed = head.failed || o->meta.failed || o->tensors.failed || !o->row || !o->other || !o->blocks;
    hilo_status status = failed ? diag_error(o->d, HILO_RESOURCE_EXHAUSTED, "out of memory") : file_create(to, o->d, &o->file);
    if (status == HILO_OK) {
        file_put(&o->file, head.p, head.n);
        file_put(&o->file, o->meta.p, o->meta.n);
        file_put(&o->file, o->tensors.p, o->tensors.n);
        align(o, head.n + o->meta.n + o->tensors.n);
        put_weights(o, wanted);
        if (has_divisors(&o->m->config))
            put_divisors(o);
        status = file_commit(&o->file, true, o->d);
    }
    mem_free(&o->al, o->row, o->row ? o->widest * sizeof *o->row : 0);
    mem_free(&o->al, o->other, o->other ? o->widest * sizeof *o->row : 0);
    mem_free(&o->al, o->blocks, o->blocks ? o->widest * sizeof *o->row : 0);
    strbuf_free(&head);
    return status;
}

hilo_status llm_model_write_gguf(const struct llm_model *m, const char *from, const char *to, const struct gguf_format *type,
                                 struct diag_list *d) {
    struct out o = {.m = m, .d = d, .al = m->arena.al, .arch = gguf_arch_of(m->config.family)};
    struct llm_json j[2];
    static const enum llm_document documents[] = {LLM_CONFIG_JSON, LLM_TOKENIZER_JSON};
    HILO_TRY(check(&o));
    strbuf_init(&o.meta, o.al);
    strbuf_init(&o.tensors, o.al);
    hilo_status status = HILO_OK;
    for (int i = 0; i < 2; i++) {
        hilo_status one = llm_document_open(from, documents[i], o.al, d, &j[i]);
        status = status == HILO_OK ? one : status;
    }
    if (status == HILO_OK) {
        const json_t *text = json_object_get(j[0].root, "text_config");
        put_config(&o, text ? text : j[0].root);
        status = put_tokenizer(&o, j[1].root);
    }
    if (status == HILO_OK)
        status = put_templates(&o, from);
    if (status == HILO_OK)
        status = write_file(&o, to, type);
    for (int i = 0; i < 2; i++)
        llm_json_close(&j[i]);
    strbuf_free(&o.meta);
    strbuf_free(&o.tensors);
    return status;
}
