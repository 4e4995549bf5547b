/* Writing a model as a GGUF file: see model.h. */
#include "llm/chat.h"
#include "llm/document.h"
#include "llm/embed.h"
#include "llm/gguf_write.h"

#include "base/fp.h"

#include <math.h>
#include <stdio.h>

enum { ALIGNMENT = 32, GROUP = 32 };

/* ---- metadata -------------------------------------------------------------------------------- */

void gguf_put_u32(struct strbuf *s, uint32_t v) {
    strbuf_putn(s, (const char *)&v, sizeof v);
}

void gguf_put_u64(struct strbuf *s, uint64_t v) {
    strbuf_putn(s, (const char *)&v, sizeof v);
}

void gguf_put_text(struct strbuf *s, struct str text) {
    gguf_put_u64(s, text.n);
    strbuf_str(s, text);
}

void gguf_put_key(struct gguf_out *o, const char *key, enum gguf_type type) {
    gguf_put_text(&o->meta, str_of(key));
    gguf_put_u32(&o->meta, type);
    o->nmeta++;
}

void gguf_put_array(struct gguf_out *o, const char *key, enum gguf_type element, uint64_t n) {
    gguf_put_key(o, key, GGUF_ARRAY);
    gguf_put_u32(&o->meta, element);
    gguf_put_u64(&o->meta, n);
}

void gguf_put_int(struct gguf_out *o, const char *key, int64_t v) {
    gguf_put_key(o, key, GGUF_U32);
    gguf_put_u32(&o->meta, (uint32_t)v);
}

void gguf_put_real(struct gguf_out *o, const char *key, double v) {
    float x = (float)v;
    gguf_put_key(o, key, GGUF_F32);
    strbuf_putn(&o->meta, (const char *)&x, sizeof x);
}

void gguf_put_bool(struct gguf_out *o, const char *key, bool v) {
    gguf_put_key(o, key, GGUF_BOOL);
    strbuf_putc(&o->meta, v);
}

void gguf_put_string(struct gguf_out *o, const char *key, struct str v) {
    gguf_put_key(o, key, GGUF_STRING);
    gguf_put_text(&o->meta, v);
}

hilo_status gguf_refuse(const struct gguf_out *o, const char *what) {
    return diag_error(o->d, HILO_INVALID_ARGUMENT, "this version writes no GGUF file for %s", what);
}

/* A key of the architecture. */
static const char *arch_key(const struct gguf_out *o, const char *suffix, char key[128]) {
    snprintf(key, 128, "%s.%s", o->arch->name, suffix);
    return key;
}

/* ---- layers that differ ------------------------------------------------------------------------ */

/* Both lists of LongRoPE, for short sequences and for long ones. */
static bool writes_long(const struct gguf_out *o) {
    return o->m->config.rope.kind == LLM_ROPE_LONG && o->arch->flags & GGUF_LONG_ROPE;
}

static bool is_gemma4(const struct llm_config *c) {
    return c->v_norm && !c->streams;
}

static int64_t ffn_of(const struct llm_layer *l) { return l->ffn; }
static int64_t heads_of(const struct llm_layer *l) { return l->kv_heads; }

/* A number, or a list where layers have others. */
static void put_layered(struct gguf_out *o, const char *suffix, int64_t (*of)(const struct llm_layer *l)) {
    const struct llm_config *c = &o->m->config;
    bool same = true;
    char key[128];
    for (int64_t i = 1; i < c->layers; i++)
        same &= of(&c->layer[i]) == of(&c->layer[0]);
    if (same) {
        gguf_put_int(o, arch_key(o, suffix, key), of(&c->layer[0]));
        return;
    }
    gguf_put_array(o, arch_key(o, suffix, key), GGUF_I32, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        gguf_put_u32(&o->meta, (uint32_t)of(&c->layer[i]));
}

static void put_kinds(struct gguf_out *o, const char *suffix, bool recurrent) {
    const struct llm_config *c = &o->m->config;
    char key[128];
    gguf_put_array(o, arch_key(o, suffix, key), GGUF_BOOL, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        strbuf_putc(&o->meta, recurrent ? c->layer[i].recurrent : c->layer[i].sliding);
}

/* The parts of heads that are rotated by each of a place's numbers are of no use here, but llama.cpp asks for them. */
static void put_delta(struct gguf_out *o, const json_t *config) {
    static const int32_t usual[4] = {11, 11, 10, 0};
    const struct llm_config *c = &o->m->config;
    const json_t *sections = json_object_get(json_object_get(config, "rope_parameters"), "mrope_section");
    char key[128];
    gguf_put_int(o, arch_key(o, "ssm.conv_kernel", key), c->delta.taps);
    gguf_put_int(o, arch_key(o, "ssm.inner_size", key), c->delta.heads * c->delta.value_dim);
    put_kinds(o, "attention.recurrent_layers", true);
    gguf_put_array(o, arch_key(o, "rope.dimension_sections", key), GGUF_I32, 4);
    for (size_t i = 0; i < 4; i++)
        gguf_put_u32(&o->meta, sections ? (uint32_t)json_integer_value(json_array_get(sections, i)) : (uint32_t)usual[i]);
}

static void put_gemma(struct gguf_out *o) {
    const struct llm_config *c = &o->m->config;
    int64_t borrow = 0;
    char key[128];
    for (int64_t i = 0; i < c->layers; i++)
        borrow += c->layer[i].borrows;
    gguf_put_int(o, arch_key(o, "attention.shared_kv_layers", key), borrow);
    gguf_put_int(o, arch_key(o, "embedding_length_per_layer_input", key), c->side);
    if (is_gemma4(c)) {
        gguf_put_int(o, arch_key(o, "attention.key_length_swa", key), c->head_dim);
        gguf_put_int(o, arch_key(o, "attention.value_length_swa", key), c->head_dim);
        gguf_put_int(o, arch_key(o, "rope.dimension_count_swa", key), c->local_rope.dim);
        return;
    }
    gguf_put_int(o, arch_key(o, "altup.num_inputs", key), c->streams);
    gguf_put_int(o, arch_key(o, "altup.active_idx", key), 0);
    gguf_put_array(o, arch_key(o, "activation_sparsity_scale", key), GGUF_F32, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++) {
        float x = c->layer[i].spread != 0 ? (float)c->layer[i].spread : -INFINITY;
        strbuf_putn(&o->meta, (const char *)&x, sizeof x);
    }
}

static void put_experts(struct gguf_out *o) {
    const struct llm_config *c = &o->m->config;
    char key[128];
    gguf_put_int(o, arch_key(o, "expert_count", key), c->experts);
    gguf_put_int(o, arch_key(o, "expert_used_count", key), c->chosen);
    gguf_put_int(o, arch_key(o, "expert_feed_forward_length", key), c->expert_ffn);
}

static void put_encoder(struct gguf_out *o) {
    const struct llm_config *c = &o->m->config;
    char key[128];
    gguf_put_bool(o, arch_key(o, "attention.causal", key), false);
    gguf_put_int(o, "tokenizer.ggml.token_type_count", c->types ? c->types : 1);
}

static void put_layers(struct gguf_out *o, const json_t *config) {
    const struct llm_config *c = &o->m->config;
    int64_t dim = c->head_dim;
    char key[128];
    gguf_put_int(o, arch_key(o, "context_length", key), c->positions);
    for (int64_t i = 0; i < c->layers; i++)
        dim = c->layer[i].sliding || c->layer[i].recurrent ? dim : c->layer[i].head_dim;
    if (json_object_get(config, "intermediate_size"))
        put_layered(o, "feed_forward_length", ffn_of);
    put_layered(o, "attention.head_count_kv", heads_of);
    gguf_put_int(o, arch_key(o, "attention.key_length", key), dim);
    gguf_put_int(o, arch_key(o, "attention.value_length", key), dim);
    if (c->window && c->local_rope.theta != c->rope.theta && !json_object_get(config, "rope_local_base_freq"))
        gguf_put_real(o, arch_key(o, "rope.freq_base_swa", key), c->local_rope.theta);
    if (c->window || c->v_norm)
        put_kinds(o, "attention.sliding_window_pattern", false);
    if (c->experts)
        put_experts(o);
    if (c->learned)
        put_encoder(o);
    if (c->delta.heads)
        put_delta(o, config);
    if (c->v_norm)
        put_gemma(o);
}

/* `theta`: the frequency is written already; newer configs have it among the parameters of RoPE. */
static void put_rope(struct gguf_out *o, bool theta) {
    const struct llm_rope *r = &o->m->config.rope;
    bool linear = r->kind == LLM_ROPE_LINEAR, yarn = r->kind == LLM_ROPE_YARN, lengthy = writes_long(o);
    char key[128];
    gguf_put_int(o, arch_key(o, "rope.dimension_count", key), r->dim);
    if (!theta)
        gguf_put_real(o, arch_key(o, "rope.freq_base", key), r->theta);
    if (linear || yarn) {
        gguf_put_string(o, arch_key(o, "rope.scaling.type", key), yarn ? STR("yarn") : STR("linear"));
        gguf_put_real(o, arch_key(o, "rope.scaling.factor", key), r->factor);
    }
    if (yarn || lengthy) {
        double usual = yarn && r->factor > 1 ? 0.1 * log(r->factor) + 1 : 1; /* a file has what it is multiplied by */
        gguf_put_int(o, arch_key(o, "rope.scaling.original_context_length", key), (int64_t)r->original);
        gguf_put_real(o, arch_key(o, "rope.scaling.attn_factor", key), r->amplitude / usual);
    }
    if (yarn) {
        gguf_put_real(o, arch_key(o, "rope.scaling.yarn_beta_fast", key), r->high);
        gguf_put_real(o, arch_key(o, "rope.scaling.yarn_beta_slow", key), r->low);
    }
}

static void put_config(struct gguf_out *o, const json_t *config) {
    const struct llm_config *c = &o->m->config;
    char key[128];
    const json_t *v;
    gguf_put_string(o, "general.architecture", str_of(o->arch->name));
    gguf_put_int(o, "general.alignment", ALIGNMENT);
    for (size_t i = 0; i < gguf_nfields; i++) {
        if (gguf_fields[i].kind == GGUF_DESCRIBED || !(v = json_object_get(config, gguf_fields[i].field)) || !json_is_number(v))
            continue;
        if (gguf_fields[i].kind == GGUF_REAL)
            gguf_put_real(o, arch_key(o, gguf_fields[i].key, key), json_number_value(v));
        else
            gguf_put_int(o, arch_key(o, gguf_fields[i].key, key), (int64_t)json_number_value(v));
    }
    put_layers(o, config);
    if (!c->learned)
        put_rope(o, json_object_get(config, "rope_theta") != NULL);
}

/* The chat templates, which may be in files of their own. */
static hilo_status put_templates(struct gguf_out *o, const char *from) {
    struct llm_chat chat;
    hilo_status status = llm_chat_open(from, o->al, o->d, &chat);
    if (status == HILO_OK && chat.template.n)
        gguf_put_string(o, "tokenizer.chat_template", (struct str){chat.template.p, chat.template.n});
    if (status == HILO_OK && chat.tool_use.n)
        gguf_put_string(o, "tokenizer.chat_template.tool_use", (struct str){chat.tool_use.p, chat.tool_use.n});
    llm_chat_close(&chat);
    return status;
}

/* How vectors of texts are made of their tokens, where the model says so. */
static hilo_status put_pooling(struct gguf_out *o, const char *from) {
    const struct llm_config *c = &o->m->config;
    struct llm_embedding e;
    char key[128];
    if (c->generates)
        return HILO_OK;
    hilo_status status = llm_embedding_open(from, c, o->al, o->d, &e);
    if (status == HILO_OK && e.ndense)
        status = gguf_refuse(o, "a model of embeddings with dense layers after pooling");
    if (status == HILO_OK) /* 1, 2 and 3: mean, first and last token */
        gguf_put_int(o, arch_key(o, "pooling_type", key), 1 + (int64_t)e.pooling);
    llm_embedding_close(&e);
    return status;
}

/* ---- weights --------------------------------------------------------------------------------------- */

static float number_of(const struct llm_param *p, size_t i) {
    const struct ir_dtype_info *t = ir_dtype_get(p->dtype);
    float x = 0;
    if (p->dtype == IR_I8_T)
        return (float)((const int8_t *)p->data)[i];
    fp_decode_n_f32(t->fp, (const char *)p->data + i * t->bytes, &x, 1);
    return x;
}

/* Row r of a weight in f32: value * scale + offset. */
static void read_row(const struct gguf_out *o, const struct llm_weight *w, int64_t r, float *x) {
    const struct llm_param *p = &o->m->params[w->first];
    int64_t cols = w->cols ? w->cols : w->rows;
    const char *data = (const char *)p->data + (w->cols ? (size_t)r * (p->bytes / (size_t)w->rows) : 0);
    if (!w->bits) {
        fp_decode_n_f32(ir_dtype_get(p->dtype)->fp, data, x, (size_t)cols);
        return;
    }
    const struct llm_param *units = p + (w->offsets ? LLM_OFFSETS : LLM_SCALES); /* before the first of them */
    for (int64_t i = 0; i < cols; i++) {
        float s, z;
        int v = w->bits == 8 ? (w->offsets ? (uint8_t)data[i] : (int8_t)data[i]) : (uint8_t)data[i / 2] >> i % 2 * 4 & 15;
        v -= w->bits == 4 && !w->offsets && v > 7 ? 16 : 0;
        size_t group = (size_t)(r * w->groups + i / (cols / w->groups));
        s = number_of(&p[LLM_SCALES], group);
        z = w->offsets ? number_of(&p[LLM_OFFSETS], group) : 0;
        if (w->units) {
            size_t unit = group / (size_t)(w->groups / w->units);
            s *= number_of(&units[1], unit);
            z *= w->offsets ? number_of(&units[2], unit) : 1;
        }
        x[i] = s * (float)v + z;
    }
}

/* MXFP4: twice what codes 0 to 7 mean, and the exponent in a file of half the scale of a group; -1: none. */
static const int8_t twice_e2m1[8] = {0, 1, 2, 3, 4, 6, 8, 12};

static int mxfp4_code(int v) {
    for (int i = 0; i < 8; i++)
        if (twice_e2m1[i] == (v < 0 ? -v : v))
            return v < 0 ? i | 8 : i;
    return -1;
}

static int mxfp4_exponent(float half) {
    uint32_t bits;
    memcpy(&bits, &half, sizeof bits);
    if (bits == 0x00200000u || bits == 0x00400000u) /* subnormal */
        return bits == 0x00400000u;
    return bits & 0x007FFFFFu || bits >> 23 == 0 || bits >> 23 > 254 ? -1 : (int)(bits >> 23) + 1;
}

/* Whether values of 8 bits with a scale for each 32 are those of MXFP4 blocks. */
static bool holds_mxfp4(const struct gguf_out *o, const struct llm_weight *w) {
    const struct llm_param *p = &o->m->params[w->first];
    const int8_t *v = p->data;
    const float *scales = p[LLM_SCALES].data;
    if (w->bits != 8 || w->offsets || w->cols / w->groups != GROUP || p[LLM_SCALES].dtype != IR_F32_T)
        return false;
    for (int64_t i = 0; i < w->rows * w->groups; i++)
        if (mxfp4_exponent(scales[i]) < 0)
            return false;
    for (int64_t i = 0; i < w->rows * w->cols; i++)
        if (mxfp4_code(v[i]) < 0)
            return false;
    return true;
}

/* The format that holds a weight as it is; NULL if none does. */
static const struct gguf_format *format_of(const struct gguf_out *o, const struct llm_weight *w) {
    const struct llm_param *p = &o->m->params[w->first];
    bool halves = w->bits && p[LLM_SCALES].dtype == IR_F16_T && (!w->offsets || p[LLM_OFFSETS].dtype == IR_F16_T);
    if (w->bits && (!halves || w->cols / w->groups != GROUP || (w->bits == 8 && w->offsets)))
        return holds_mxfp4(o, w) ? gguf_format_named("mxfp4") : NULL;
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
static void copy_group(const struct gguf_out *o, const struct llm_weight *w, int64_t r, int64_t g, uint8_t *out) {
    const struct llm_param *p = &o->m->params[w->first];
    const uint8_t *values = (const uint8_t *)p->data + ((size_t)r * (size_t)w->cols + (size_t)g * GROUP) * w->bits / 8;
    bool mxfp4 = p[LLM_SCALES].dtype == IR_F32_T;
    size_t at = (size_t)(r * w->groups + g), bytes = mxfp4 ? 1 : 2;
    if (mxfp4)
        out[0] = (uint8_t)mxfp4_exponent(((const float *)p[LLM_SCALES].data)[at]);
    else
        memcpy(out, (const char *)p[LLM_SCALES].data + at * bytes, bytes);
    if (w->offsets)
        memcpy(out + bytes, (const char *)p[LLM_OFFSETS].data + at * bytes, bytes);
    uint8_t *q = out + (w->offsets ? 2 : 1) * bytes;
    if (w->bits == 8 && !mxfp4)
        memcpy(q, values, GROUP);
    for (int i = 0; i < GROUP && (w->bits == 4 || mxfp4); i++) {
        int k = mxfp4 ? mxfp4_code((int8_t)values[i]) : (values[i / 2] >> i % 2 * 4 & 15) ^ (w->offsets ? 0 : 8);
        q[i % 16] = (uint8_t)(i < 16 ? k : q[i % 16] | k << 4);
    }
}

/* The order of a row's columns, or of a vector, in the file; false: that of the model. */
static bool moves_columns(const struct gguf_out *o, const struct llm_weight *w, struct llm_gguf_order *out) {
    return llm_gguf_order(&o->m->config, w, o->arch->flags & GGUF_INTERLEAVED, out) && (out->columns || !w->cols);
}

static void put_row(struct gguf_out *o, const struct llm_weight *w, struct gguf_plan plan, int64_t r) {
    const struct gguf_format *f = plan.f;
    int64_t cols = w->cols ? w->cols : w->rows;
    struct llm_gguf_order order;
    bool moved = moves_columns(o, w, &order);
    if (!plan.same)
        read_row(o, w, r, moved ? o->other : o->row);
    for (int64_t i = 0; i < cols && moved && !plan.same; i++)
        o->row[i] = o->other[llm_gguf_source(&order, i)];
    bool shifted = o->arch->flags & GGUF_SHIFTED_NORMS && llm_role_is_shifted(w->role), decay = w->role == LLM_W_DELTA_DECAY;
    for (int64_t i = 0; i < cols && (shifted || decay); i++)
        o->row[i] = decay ? -expf(o->row[i]) : o->row[i] + 1;
    for (int64_t g = 0; f->dtype == IR_DTYPE_NONE && g < cols / GROUP; g++) {
        if (plan.same)
            copy_group(o, w, r, moved ? llm_gguf_source(&order, g * GROUP) / GROUP : g, o->blocks + (size_t)g * f->bytes);
        else
            quantise(f->name, o->row + g * GROUP, o->blocks + (size_t)g * f->bytes);
    }
    if (f->dtype != IR_DTYPE_NONE)
        fp_encode_n_f32(ir_dtype_get(f->dtype)->fp, o->row, o->blocks, (size_t)cols);
    file_put(&o->file, o->blocks, (size_t)cols / f->elements * f->bytes);
}

/* Rows of a matrix in the file. Embeddings of layers have as many there as others have: a model takes the first for those that
   they lack. Of learned positions those before the first are left out. */
static int64_t rows_written(const struct gguf_out *o, const struct llm_weight *w) {
    const struct llm_config *c = &o->m->config;
    return w->role == LLM_W_SIDE_TABLE ? c->vocab : w->role == LLM_W_PLACES ? w->rows - c->offset : w->rows;
}

/* Row r of a matrix is written from this one. */
static int64_t source_row(const struct gguf_out *o, const struct llm_weight *w, int64_t r) {
    struct llm_gguf_order order;
    bool moved = llm_gguf_order(&o->m->config, w, o->arch->flags & GGUF_INTERLEAVED, &order) && !order.columns;
    r += w->role == LLM_W_PLACES ? o->m->config.offset : 0;
    return r >= w->rows ? 0 : moved ? llm_gguf_source(&order, r) : r;
}

/* NULL if a weight that is not to be rounded has no format. */
static const struct gguf_format *target(const struct gguf_out *o, const struct llm_weight *w,
                                        const struct gguf_format *wanted) {
    struct llm_gguf_order order;
    if (!w->cols || llm_role_is_table(w->role) || (wanted && w->role == LLM_W_ROUTER))
        return gguf_format_named("f32");
    if (!wanted && w->bits && llm_gguf_order(&o->m->config, w, false, &order) && order.columns && order.unit % GROUP)
        return NULL;
    if (!wanted)
        return format_of(o, w);
    return w->cols % wanted->elements ? gguf_format_named("f16") : wanted;
}

static size_t bytes_of(const struct gguf_out *o, const struct llm_weight *w, const struct gguf_format *f) {
    size_t cols = (size_t)(w->cols ? w->cols : w->rows), rows = w->cols ? (size_t)rows_written(o, w) : 1;
    return rows * (cols / f->elements * f->bytes);
}

static bool is_of_experts(enum llm_role role) {
    return role == LLM_W_GATES_UPS || role == LLM_W_GATES || role == LLM_W_UPS || role == LLM_W_DOWNS ||
           role == LLM_W_GATES_BIAS || role == LLM_W_UPS_BIAS || role == LLM_W_DOWNS_BIAS;
}

/* Whether a weight is a part of the matrix that the one before it begins. */
static bool is_merged(const struct gguf_out *o, const struct llm_weight *w) {
    return o->arch->flags & GGUF_MERGED && (w->role == LLM_W_K || w->role == LLM_W_V || w->role == LLM_W_UP);
}

/* Whether it is in the tensor of the one before it. */
static bool continues(const struct gguf_out *o, const struct llm_weight *w) {
    return is_merged(o, w) || llm_weight_continues(w);
}

static void tensor_name(const struct gguf_out *o, const struct llm_weight *w, char *out, size_t size) {
    static const struct { enum llm_role role; unsigned flag; const char *name; } others[] = {
        {LLM_W_FFN_NORM, GGUF_LATE_NORM, "post_attention_norm"}, {LLM_W_Q, GGUF_MERGED, "attn_qkv"},
        {LLM_W_GATE, GGUF_MERGED, "ffn_up"},
    };
    llm_weight_gguf_name(w, out, size);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (w->role == others[i].role && o->arch->flags & others[i].flag)
            snprintf(out, size, "blk.%lld.%s.weight", (long long)w->layer, others[i].name);
}

/* The entry of a tensor: of one matrix, of those of all experts, or of several weights one after the other. */
static void list_tensor(struct gguf_out *o, size_t i, const struct gguf_format *f) {
    const struct llm_weight *w = &o->m->weights[i];
    const struct llm_config *c = &o->m->config;
    int64_t several = is_of_experts(w->role) ? c->experts : 1, rows = rows_written(o, w) / several;
    char name[128];
    for (size_t k = 1; i + k < o->m->nweights && continues(o, &w[k]); k++) {
        rows += is_merged(o, &w[k]) ? w[k].rows : 0;
        several += !is_merged(o, &w[k]);
    }
    bool deep = is_of_experts(w->role) || several > 1;
    tensor_name(o, w, name, sizeof name);
    gguf_put_text(&o->tensors, str_of(name));
    gguf_put_u32(&o->tensors, (w->cols ? 2u : 1u) + deep);
    if (w->cols)
        gguf_put_u64(&o->tensors, (uint64_t)w->cols);
    gguf_put_u64(&o->tensors, (uint64_t)rows);
    if (deep)
        gguf_put_u64(&o->tensors, (uint64_t)several);
    gguf_put_u32(&o->tensors, f->number);
    gguf_put_u64(&o->tensors, o->offset);
    o->ntensors++;
}

static uint64_t aligned(uint64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static hilo_status list_weights(struct gguf_out *o, const struct gguf_format *wanted) {
    for (size_t i = 0; i < o->m->nweights; i++) {
        const struct llm_weight *w = &o->m->weights[i];
        const struct gguf_format *f = target(o, w, wanted);
        struct llm_gguf_order order;
        if (!f)
            return gguf_refuse(o, "weights with these scales as they are; --type names a format to convert them to");
        if (is_merged(o, w) && f != o->plans[i - 1].f)
            return gguf_refuse(o, "matrices in several formats that it has as one; --type names a format for all");
        bool whole = !moves_columns(o, w, &order) || order.unit % GROUP == 0; /* groups are moved whole */
        o->plans[i] = (struct gguf_plan){f, w->bits && whole && f == format_of(o, w)};
        if (!continues(o, w)) {
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

static void align(struct gguf_out *o, size_t n) {
    static const char zeros[ALIGNMENT];
    file_put(&o->file, zeros, (ALIGNMENT - n % ALIGNMENT) % ALIGNMENT);
}

/* The divisors of frequencies that Llama 3 and Gemma 4 have, `rope_freqs.weight`, or both lists of LongRoPE. */
static bool has_divisors(const struct llm_config *c) {
    return c->rope.kind == LLM_ROPE_LLAMA3 || c->rope.kind == LLM_ROPE_LONG || c->rope.kind == LLM_ROPE_PROPORTIONAL;
}

static size_t count_divisors(const struct gguf_out *o) {
    return has_divisors(&o->m->config) ? writes_long(o) ? 2 : 1 : 0;
}

static void list_divisors(struct gguf_out *o) {
    static const char *const names[] = {"rope_factors_short.weight", "rope_factors_long.weight"};
    uint64_t n = (uint64_t)o->m->config.rope.dim / 2;
    for (size_t i = 0; i < count_divisors(o); i++) {
        gguf_put_text(&o->tensors, writes_long(o) ? str_of(names[i]) : STR("rope_freqs.weight"));
        gguf_put_u32(&o->tensors, 1);
        gguf_put_u64(&o->tensors, n);
        gguf_put_u32(&o->tensors, gguf_format_named("f32")->number);
        gguf_put_u64(&o->tensors, o->offset);
        o->offset += aligned(n * sizeof(float));
        o->ntensors++;
    }
}

static void put_divisors(struct gguf_out *o) {
    const struct llm_config *c = &o->m->config;
    float f[LLM_MAX_FREQUENCIES];
    size_t bytes = (size_t)c->rope.dim / 2 * sizeof *f;
    for (size_t k = 0; k < count_divisors(o); k++) {
        for (int64_t i = 0; i < c->rope.dim / 2; i++)
            f[i] = (float)fmin(llm_rope_divisor(&c->rope, k, i), 1e30); /* as converters write it for infinity */
        file_put(&o->file, f, bytes);
        align(o, bytes);
    }
}

static void put_weights(struct gguf_out *o) {
    size_t n = 0;
    for (size_t i = 0; i < o->m->nweights; i++) {
        const struct llm_weight *w = &o->m->weights[i];
        if (!continues(o, w)) {
            align(o, n);
            n = 0;
        }
        n += bytes_of(o, w, o->plans[i].f);
        if (!w->cols) { /* its numbers are rows of one */
            put_row(o, w, o->plans[i], 0);
        } else {
            for (int64_t r = 0; r < rows_written(o, w); r++)
                put_row(o, w, o->plans[i], source_row(o, w, r));
        }
    }
    align(o, n);
}

/* What no architecture that a file names has. */
static hilo_status check(const struct gguf_out *o) {
    const struct llm_config *c = &o->m->config;
    if (!o->arch)
        return diag_error(o->d, HILO_INVALID_ARGUMENT, "this version writes no GGUF file for the model_type '%s'", c->family);
    if (o->arch->flags & GGUF_INTERLEAVED && (c->qkv_bias || c->rope.dim != c->head_dim))
        return gguf_refuse(o, "this family with biases of queries, or heads that are rotated in part");
    if (o->arch->flags & GGUF_MERGED && (c->qkv_bias || c->mlp_bias))
        return gguf_refuse(o, "this family with biases");
    return HILO_OK;
}

/* ---- what is read of the file ------------------------------------------------------------------ */

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-5 * fabs(a) || (fabs(a) < 1e-12 && fabs(b) < 1e-12);
}

static bool is_same_rope(const struct llm_rope *a, const struct llm_rope *b) {
    float f[LLM_MAX_FREQUENCIES], g[LLM_MAX_FREQUENCIES];
    bool lengthy = a->kind == LLM_ROPE_LONG && memcmp(a->factors[0], a->factors[1], sizeof a->factors[0]) != 0;
    if (a->dim != b->dim || !is_near(a->amplitude, b->amplitude) || (lengthy && a->original != b->original))
        return false;
    for (int k = 0; k <= lengthy; k++) {
        llm_rope_frequencies(a, k, f);
        llm_rope_frequencies(b, k, g);
        for (int64_t i = 0; i < a->dim / 2; i++)
            if (!is_near((double)f[i], (double)g[i]))
                return false;
    }
    return true;
}

static bool is_same_layer(const struct llm_layer *a, const struct llm_layer *b) {
    bool kind = a->sliding == b->sliding && a->unrotated == b->unrotated && a->recurrent == b->recurrent;
    bool cache = a->borrows == b->borrows && a->one_key_value == b->one_key_value;
    bool sizes = a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->ffn == b->ffn;
    return kind && cache && sizes && is_near(a->spread, b->spread);
}

/* What the descriptions of two models of equal weights differ in; NULL if in nothing. */
static const char *difference(const struct llm_config *a, const struct llm_config *b) {
    const struct { const char *what; double a, b; } numbers[] = {
        {"scale of embeddings", a->embed_scale, b->embed_scale}, {"scale of residuals", a->residual_scale, b->residual_scale},
        {"scale of logits", a->logit_scale, b->logit_scale}, {"scale of attention", a->attn_scale, b->attn_scale},
        {"cap of scores", a->attn_cap, b->attn_cap}, {"cap of logits", a->final_cap, b->final_cap},
        {"'rms_norm_eps'", a->norm_eps, b->norm_eps}, {"activation function", a->activation, b->activation},
        {"experts' activation function", a->glu_alpha, b->glu_alpha}, {"experts' limit", a->glu_limit, b->glu_limit},
        {"growth of queries", a->query_growth, b->query_growth},
        {"number of positions", (double)a->positions, (double)b->positions},
        {"number of chosen experts", (double)a->chosen, (double)b->chosen}, {"'norm_topk_prob'", a->chosen_sum, b->chosen_sum},
        {"window of attention", (double)a->window, (double)b->window},
        {"attention to later tokens", a->bidirectional, b->bidirectional},
        {"biases of queries", a->qkv_bias, b->qkv_bias}, {"biases of attention", a->o_bias, b->o_bias},
        {"biases of MLPs", a->mlp_bias, b->mlp_bias}, {"norms after attention", a->post_norms, b->post_norms},
        {"norms", a->norm_plus_one, b->norm_plus_one},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!is_near(numbers[i].a, numbers[i].b))
            return numbers[i].what;
    for (int64_t i = 0; i < a->layers; i++)
        if (!is_same_layer(&a->layer[i], &b->layer[i]))
            return "layers";
    bool rotates = !a->learned, slides = a->window != 0;
    if (rotates && (!is_same_rope(&a->rope, &b->rope) || (slides && !is_same_rope(&a->local_rope, &b->local_rope))))
        return "rotary embeddings";
    return NULL;
}

/* A file has no keys for all that a config.json can say: what is read of it must be the model. */
static hilo_status check_written(struct gguf_out *o) {
    struct llm_config *back = mem_alloc(&o->al, sizeof *back);
    if (!back)
        return diag_error(o->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    file_flush(&o->file);
    hilo_status status = llm_config_open(o->file.temporary, o->al, o->d, back);
    const char *what = status == HILO_OK ? difference(&o->m->config, back) : NULL;
    if (what)
        status = diag_error(o->d, HILO_INVALID_ARGUMENT, "this version writes no GGUF file for this model: GGUF has no key for "
                            "its %s", what);
    mem_free(&o->al, back, sizeof *back);
    return status;
}

static hilo_status write_file(struct gguf_out *o, const char *to) {
    struct strbuf head;
    list_divisors(o);
    strbuf_init(&head, o->al);
    strbuf_puts(&head, "GGUF");
    gguf_put_u32(&head, 3);
    gguf_put_u64(&head, o->ntensors);
    gguf_put_u64(&head, o->nmeta);
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
        put_weights(o);
        put_divisors(o);
        status = o->file.temporary[0] ? check_written(o) : HILO_OK; /* a pipe cannot be read again */
        hilo_status done = file_commit(&o->file, status == HILO_OK, o->d);
        status = status == HILO_OK ? done : status;
    }
    mem_free(&o->al, o->row, o->row ? o->widest * sizeof *o->row : 0);
    mem_free(&o->al, o->other, o->other ? o->widest * sizeof *o->row : 0);
    mem_free(&o->al, o->blocks, o->blocks ? o->widest * sizeof *o->row : 0);
    strbuf_free(&head);
    return status;
}

static hilo_status list_and_write(struct gguf_out *o, const char *to, const struct gguf_format *wanted) {
    size_t bytes = 0;
    o->plans = mem_mul(o->m->nweights, sizeof *o->plans, &bytes) ? mem_alloc(&o->al, bytes) : NULL;
    hilo_status status = o->plans ? list_weights(o, wanted) : diag_error(o->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    if (status == HILO_OK)
        status = write_file(o, to);
    mem_free(&o->al, o->plans, o->plans ? bytes : 0);
    return status;
}

hilo_status llm_model_write_gguf(const struct llm_model *m, const char *from, const char *to, const struct gguf_format *type,
                                 struct diag_list *d) {
    struct gguf_out o = {.m = m, .d = d, .al = m->arena.al, .arch = gguf_arch_of(m->config.family)};
    struct llm_json j[3];
    static const enum llm_document documents[] = {LLM_CONFIG_JSON, LLM_TOKENIZER_JSON, LLM_TOKENIZER_CONFIG_JSON};
    HILO_TRY(check(&o));
    strbuf_init(&o.meta, o.al);
    strbuf_init(&o.tensors, o.al);
    hilo_status status = HILO_OK;
    for (int i = 0; i < 3; i++) {
        hilo_status one = llm_document_open(from, documents[i], o.al, d, &j[i]);
        status = status == HILO_OK ? one : status;
    }
    if (status == HILO_OK) {
        const json_t *text = json_object_get(j[0].root, "text_config");
        put_config(&o, text ? text : j[0].root);
        status = gguf_put_tokenizer(&o, j[1].root, j[2].root);
    }
    if (status == HILO_OK)
        status = put_pooling(&o, from);
    if (status == HILO_OK)
        status = put_templates(&o, from);
    if (status == HILO_OK)
        status = list_and_write(&o, to, type);
    for (int i = 0; i < 3; i++)
        llm_json_close(&j[i]);
    strbuf_free(&o.meta);
    strbuf_free(&o.tensors);
    return status;
}
