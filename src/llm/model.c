/* Models: see model.h. */
#include "llm/model.h"

#include "base/fp.h"
#include "llm/gpt_oss.h"
#include "llm/packed.h"
#include "runtime/pool.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const precision_names[LLM_PRECISIONS] = {
    [LLM_AS_STORED] = "auto", [LLM_F32] = "f32", [LLM_BF16] = "bf16", [LLM_F16] = "f16",
    [LLM_INT8] = "int8", [LLM_INT4] = "int4", [LLM_INT4Z] = "int4z",
};

const char *llm_precision_name(enum llm_precision p) {
    return precision_names[p];
}

bool llm_precision_named(const char *name, enum llm_precision *out) {
    for (int i = 0; i < LLM_PRECISIONS; i++)
        if (strcmp(precision_names[i], name) == 0) {
            *out = (enum llm_precision)i;
            return true;
        }
    return false;
}

/* ---- the table of weights -------------------------------------------------------------------- */

enum place { EMBED, LAYER, HEAD, OUTPUT };
enum kind { MATRIX, TABLE, NORM, BIAS, BARE };
enum division { WHOLE, ROWS, COLS, FIRST };
enum size {
    NONE, HIDDEN, FFN, VOCAB, Q, QUERIES, KV, DIM, HEADS, EXPERT, EXPERT_FFN, EXPERT_BOTH, EXPERT_HIDDEN, ONE_FFN, SHARED_FFN,
    PLACES, TYPES,
    SIDE, SIDES, SIDE_ROWS, STREAMS, SQUARE, RANK, ONE, DELTA_CHANNELS, DELTA_VALUES, DELTA_HEADS, DELTA_DIM, TAPS
};

static const struct row {
    const char *name, *gguf;
    enum place place;
    enum kind kind;
    enum size rows, cols;
    enum division shard;
} table[LLM_ROLES] = {
#define WEIGHT(id, name, gguf, place, kind, rows, cols, shard, when) {name, gguf, place, kind, rows, cols, shard},
#include "llm/weights.def"
};

void llm_weight_gguf_name(const struct llm_weight *w, char *out, size_t size) {
    const struct row *r = &table[w->role];
    const char *suffix = r->kind == BIAS ? ".bias" : r->kind == BARE ? "" : ".weight";
    if (r->place == LAYER)
        snprintf(out, size, "blk.%lld.%s%s", (long long)w->layer, r->gguf, suffix);
    else
        snprintf(out, size, "%s%s", r->gguf, suffix);
}

bool llm_weight_continues(const struct llm_weight *w) {
    const struct row *r = &table[w->role];
    return w->role > 0 && r->kind == MATRIX && r[-1].kind == MATRIX && strcmp(r[-1].gguf, r->gguf) == 0;
}

bool llm_role_is_shifted(enum llm_role role) {
    return table[role].kind == NORM && role != LLM_W_DELTA_NORM;
}

bool llm_role_is_table(enum llm_role role) {
    return table[role].kind == TABLE;
}

static bool has_weight(const struct llm_config *c, enum llm_role role, int64_t layer) {
    const struct llm_layer *at = &c->layer[layer];
    const bool mlp_bias = c->mlp_bias;
    const bool qk_norm_wide = c->qk_norm_wide, pre_norms = c->pre_norms, post_norms = c->post_norms, sum_norms = c->sum_norms;
    const bool always = true, final_norm = !sum_norms, untied = !c->tied && c->generates;
    const bool plain_norms = pre_norms && !post_norms, both_norms = pre_norms && post_norms;
    const bool experts = c->experts != 0, parallel = c->parallel_experts, dense = !experts || parallel;
    const bool joined = experts && c->joined_experts, apart = experts && !c->joined_experts;
    const bool gated = dense && !c->ungated, gate_bias = gated && mlp_bias;
    const bool expert_bias = c->expert_bias, sinks = c->sinks, learned = c->learned != 0, typed = c->types != 0;
    const bool recurrent = at->recurrent, attends = !recurrent, keys = attends && !at->borrows;
    const bool values = keys && !at->one_key_value, q_bias = attends && c->qkv_bias, k_bias = keys && c->qkv_bias;
    const bool v_bias = values && c->qkv_bias, attn_bias = attends && c->o_bias, q_norm = attends && c->qk_norm;
    const bool k_norm = keys && c->qk_norm;
    const bool side = c->side != 0, layer_scale = c->layer_scale, rank = c->rank != 0, shared = c->shared_ffn != 0;
    const int64_t streams = c->streams;
    switch (role) {
#define WEIGHT(id, name, gguf, place, kind, rows, cols, shard, when) case LLM_W_##id: return when;
#include "llm/weights.def"
    case LLM_ROLES: break;
    }
    return false;
}

static int64_t size_of(const struct llm_config *c, enum size s, int64_t layer) {
    const struct llm_layer *at = &c->layer[layer];
    const struct llm_delta *d = &c->delta;
    switch (s) {
    case NONE: return 0;
    case HIDDEN: return c->hidden;
    case FFN: return at->ffn;
    case VOCAB: return c->vocab;
    case Q: return c->heads * at->head_dim;
    case QUERIES: return c->heads * at->head_dim * (c->gated_attention ? 2 : 1);
    case KV: return at->kv_heads * at->head_dim;
    case DIM: return at->head_dim;
    case HEADS: return c->heads;
    case EXPERT: return c->experts;
    case EXPERT_FFN: return c->experts * c->expert_ffn;
    case EXPERT_BOTH: return 2 * c->experts * c->expert_ffn;
    case EXPERT_HIDDEN: return c->experts * c->hidden;
    case ONE_FFN: return c->expert_ffn;
    case SHARED_FFN: return c->shared_ffn;
    case PLACES: return c->learned;
    case TYPES: return c->types;
    case SIDE: return c->side;
    case SIDES: return c->layers * c->side;
    case SIDE_ROWS: return c->side_rows;
    case STREAMS: return c->streams;
    case SQUARE: return c->streams * c->streams;
    case RANK: return c->rank;
    case ONE: return 1;
    case DELTA_CHANNELS: return 2 * d->key_heads * d->key_dim + d->heads * d->value_dim;
    case DELTA_VALUES: return d->heads * d->value_dim;
    case DELTA_HEADS: return d->heads;
    case DELTA_DIM: return d->value_dim;
    case TAPS: return d->taps;
    }
    return 0;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Where a weight comes from that is not stored as programs take it: one of both, or none. */
struct source {
    struct llm_packed packed;        /* values NULL: none */
    const struct llm_tensor *blocks; /* of a GGUF file */
    bool owned;                      /* its data is a copy already, … */
    bool cut;                        /* … of what the shard has of it */
};

struct naming;
struct load {
    struct llm_model *m;
    struct diag_list *d;
    const struct llm_progress *progress;
    struct rt_pool *pool;
    struct { struct llm_weight *v; uint32_t n, cap; } weights;
    struct { struct llm_param *v; uint32_t n, cap; } params;
    struct { struct source *v; uint32_t n, cap; } sources; /* of each weight */
    enum llm_precision wanted;
    const struct naming *names, *written; /* of the files, and of safetensors files that are made of them */
};

/* Memory for data that is in no file; freed with the model. */
static void *own(struct llm_model *m, size_t n) {
    void *p = mem_alloc(&m->arena.al, n);
    if (p) {
        m->owned[m->nowned].p = p;
        m->owned[m->nowned++].n = n;
    }
    return p;
}

/* Runs `n` tasks on all threads. */
static void share(struct load *l, int64_t n, void (*work)(void *user, void *scratch, int64_t begin, int64_t end), void *user) {
    enum { PIECE = 16 };
    if (l->pool)
        rt_pool_run(l->pool, n, PIECE, work, user, NULL);
    else
        work(user, NULL, 0, n);
}

static bool is_float(enum ir_dtype t) {
    return t != IR_DTYPE_NONE && ir_dtype_get(t)->cls == IR_FLOAT;
}

static hilo_status fail(struct load *l, const struct llm_tensor *t, const char *name, const char *expected) {
    struct strbuf type;
    strbuf_init(&type, l->d->al);
    if (t)
        llm_tensor_type(t, &type);
    hilo_status status = diag_error(l->d, HILO_INVALID_ARGUMENT, "tensor '%s' is %s; the config calls for %s", name,
                                    t ? type.p ? type.p : "" : "missing", expected);
    strbuf_free(&type);
    return status;
}

static hilo_status misfit(struct load *l, const struct llm_tensor *t, const char *name, int64_t rows, int64_t cols) {
    char expected[96];
    snprintf(expected, sizeof expected, cols ? "[%lld, %lld]" : "[%lld]", (long long)rows, (long long)cols);
    return fail(l, t, name, expected);
}

/* Makes a tensor of the given type and shape a parameter. */
static void add_param(struct load *l, struct llm_weight *w, const struct llm_tensor *t, enum llm_part part,
                      enum ir_dtype dtype, int64_t rows, int64_t cols) {
    struct llm_param p = {.name = t->name, .part = part, .dtype = dtype, .rank = cols ? 2 : 1, .dims = {rows, cols},
                          .data = t->data, .bytes = t->bytes};
    ARENA_PUSH(&l->m->arena, &l->params, p);
    w->nparams++;
}

static const struct llm_tensor *find(struct load *l, const char *base, const char *suffix, char *name, size_t size) {
    snprintf(name, size, "%s%s%s", base, *suffix ? "." : "", suffix);
    return llm_tensors_find(&l->m->files, name);
}

static bool is_matrix(const struct llm_tensor *t, int64_t rows, int64_t cols) {
    return t && t->rank == 2 && t->dims[0] == rows && t->dims[1] == cols;
}

/* Scales or offsets: floats, or integers of 8 bits beside units. */
static bool has_type(const struct llm_tensor *t, const struct llm_tensor *units) {
    return units ? t->dtype == IR_I8_T : is_float(t->dtype);
}

/* A matrix with scales: its values take 4 or 8 bits, by the width of a row. */
static hilo_status add_quantised(struct load *l, const char *base, const struct llm_tensor *t, struct llm_weight *w) {
    char name[160];
    const struct llm_tensor *units = find(l, base, "scale_units", name, sizeof name), *others = NULL;
    const struct llm_tensor *scales = find(l, base, "scales", name, sizeof name);
    int64_t groups = scales && scales->rank == 2 ? scales->dims[1] : 1;
    if (!scales)
        return fail(l, t, t->name.p, "floats, or integers with '.scales' beside them");
    if (!has_type(scales, units) || scales->dims[0] != w->rows || scales->rank > 2 || scales->rank < 1 ||
        groups < 1 || w->cols % groups)
        return misfit(l, scales, name, w->rows, groups);
    const struct llm_tensor *offsets = find(l, base, "biases", name, sizeof name);
    if (offsets && (!has_type(offsets, units) || offsets->rank != scales->rank || offsets->dims[0] != w->rows ||
                    (offsets->rank == 2 && offsets->dims[1] != groups)))
        return misfit(l, offsets, name, w->rows, groups);
    int64_t nunits = units && units->rank == 2 && units->dims[1] > 0 ? units->dims[1] : 1;
    if (units && (groups % nunits || !is_float(units->dtype) || !is_matrix(units, w->rows, nunits)))
        return misfit(l, units, name, w->rows, groups);
    if (units && offsets && (!(others = find(l, base, "bias_units", name, sizeof name)) || !is_float(others->dtype) ||
                             !is_matrix(others, w->rows, nunits)))
        return misfit(l, others, name, w->rows, nunits);
    size_t bytes = t->rank == 2 && t->dims[0] == w->rows ? t->bytes / (size_t)w->rows : 0;
    w->bits = bytes == (size_t)w->cols ? 8 : bytes * 2 == (size_t)w->cols && w->cols % 2 == 0 ? 4 : 0;
    if (!w->bits || (w->bits == 4 && w->cols / groups % 2))
        return misfit(l, t, t->name.p, w->rows, w->cols);
    w->groups = groups;
    w->offsets = offsets != NULL;
    enum ir_dtype dtype = w->bits == 8 && !offsets ? IR_I8_T : IR_UI8_T;
    add_param(l, w, t, LLM_VALUES, dtype, w->rows, w->bits == 8 ? w->cols : w->cols / 2);
    add_param(l, w, scales, LLM_SCALES, scales->dtype, w->rows, groups);
    if (offsets)
        add_param(l, w, offsets, LLM_OFFSETS, offsets->dtype, w->rows, groups);
    w->units = units ? nunits : 0;
    const struct gguf_format *f = NULL;
    if (units)
        f = gguf_format_with_units(w->cols / nunits, w->bits, w->cols / groups, w->offsets);
    w->reach = f ? f->reach : 0; /* hilo writes units, of blocks of GGUF */
    if (units)
        add_param(l, w, units, LLM_SCALE_UNITS, units->dtype, w->rows, nunits);
    if (others)
        add_param(l, w, others, LLM_OFFSET_UNITS, others->dtype, w->rows, nunits);
    return HILO_OK;
}

/* How files of models name their tensors: what is before the names of the table. */
struct naming { const char *prefix, *layers, *output; bool bert; };
static const struct naming gguf_names = {"", "blk", "", false}, namings[] = {
    {"model.", "model.layers", "", false}, {"", "layers", "", false}, /* the second of models without a language's head */
    {"language_model.model.", "language_model.model.layers", "language_model.", false}, /* inside a multimodal one: before */
    {"model.language_model.", "model.language_model.layers", "", false},                /* and after transformers 4.52 */
    {"", "encoder.layer", "", true}, {"bert.", "bert.encoder.layer", "", true}, {"roberta.", "roberta.encoder.layer", "", true},
};

/* What BERT calls them. */
static const struct { const char *name, *bert; } bert_names[] = {
    {"embed_tokens", "embeddings.word_embeddings"}, {"self_attn.q_proj", "attention.self.query"},
    {"self_attn.k_proj", "attention.self.key"},     {"self_attn.v_proj", "attention.self.value"},
    {"self_attn.o_proj", "attention.output.dense"}, {"mlp.up_proj", "intermediate.dense"}, {"mlp.down_proj", "output.dense"},
};

static void base_name(const struct row *r, int64_t layer, const struct naming *n, char *out, size_t size) {
    const char *name = n == &gguf_names ? r->gguf : r->name;
    for (size_t i = 0; n->bert && i < sizeof bert_names / sizeof *bert_names; i++)
        name = strcmp(r->name, bert_names[i].name) == 0 ? bert_names[i].bert : name;
    if (r->place == LAYER)
        snprintf(out, size, "%s.%lld.%s", n->layers, (long long)layer, name);
    else
        snprintf(out, size, "%s%s", r->place == OUTPUT ? n->output : n->prefix, name);
}

/* The naming that the embeddings have; without any, the first that suits the family. */
static const struct naming *find_naming(struct load *l) {
    const size_t n = sizeof namings / sizeof *namings;
    const struct naming *first = NULL;
    char base[128], name[160];
    for (size_t i = 0; i < n; i++) {
        if (namings[i].bert != l->m->config.sum_norms)
            continue;
        first = first ? first : &namings[i];
        base_name(&table[LLM_W_EMBED], 0, &namings[i], base, sizeof base);
        if (find(l, base, "weight", name, sizeof name))
            return &namings[i];
    }
    return first;
}

/* A weight's name in safetensors files, in the arena. */
static struct str model_name(struct load *l, const struct row *r, int64_t layer, const char *suffix) {
    char base[128], name[160];
    base_name(r, layer, l->written, base, sizeof base);
    size_t n = (size_t)snprintf(name, sizeof name, "%s%s%s", base, *suffix ? "." : "", suffix);
    return (struct str){arena_dup(&l->m->arena, name, n + 1, 1), n};
}

/* Matrices that some files store one after the other in one. */
static const struct { enum llm_role role; const char *name, *gguf; enum size before[2], all[3]; } joined[] = {
    {LLM_W_STREAM_1, NULL, "altup_proj", {NONE, NONE}, {HIDDEN, HIDDEN, HIDDEN}},
    {LLM_W_STREAM_2, NULL, "altup_proj", {HIDDEN, NONE}, {HIDDEN, HIDDEN, HIDDEN}},
    {LLM_W_STREAM_3, NULL, "altup_proj", {HIDDEN, HIDDEN}, {HIDDEN, HIDDEN, HIDDEN}},
    {LLM_W_UNSTREAM_1, NULL, "altup_unembd_proj", {NONE, NONE}, {HIDDEN, HIDDEN, HIDDEN}},
    {LLM_W_UNSTREAM_2, NULL, "altup_unembd_proj", {HIDDEN, NONE}, {HIDDEN, HIDDEN, HIDDEN}},
    {LLM_W_UNSTREAM_3, NULL, "altup_unembd_proj", {HIDDEN, HIDDEN}, {HIDDEN, HIDDEN, HIDDEN}},
    {LLM_W_Q, "self_attn.qkv_proj", "attn_qkv", {NONE, NONE}, {Q, KV, KV}},
    {LLM_W_K, "self_attn.qkv_proj", "attn_qkv", {Q, NONE}, {Q, KV, KV}},
    {LLM_W_V, "self_attn.qkv_proj", "attn_qkv", {Q, KV}, {Q, KV, KV}},
    {LLM_W_GATE, "mlp.gate_up_proj", "ffn_up", {NONE, NONE}, {FFN, FFN, NONE}},
    {LLM_W_UP, "mlp.gate_up_proj", "ffn_up", {FFN, NONE}, {FFN, FFN, NONE}},
};

/* Rows from … from + rows - 1 of a tensor of `all` rows, perhaps in several matrices; NULL if it has others. */
static const struct llm_tensor *rows_of(struct load *l, const struct llm_tensor *t, int64_t from, int64_t rows, int64_t all) {
    bool several = t && t->rank == 3 && t->dims[1] > 0 && all % t->dims[1] == 0 && t->dims[0] == all / t->dims[1];
    if (!several && (!t || t->rank != 2 || t->dims[0] != all))
        return NULL;
    struct llm_tensor *view = arena_dup(&l->m->arena, t, sizeof *t, _Alignof(struct llm_tensor));
    size_t row = t->bytes / (size_t)all;
    view->dims[1] = t->dims[t->rank - 1];
    view->rank = 2;
    view->dims[0] = rows;
    view->data = (const char *)t->data + (size_t)from * row;
    view->bytes = (size_t)rows * row;
    return view;
}

/* The part of a joined matrix that is this weight; NULL if there is none. */
static const struct llm_tensor *find_joined(struct load *l, enum llm_role role, int64_t layer, int64_t rows) {
    const struct llm_config *c = &l->m->config;
    bool gguf = l->m->files.gguf;
    char name[160];
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++) {
        if (joined[i].role != role)
            continue;
        int64_t before = size_of(c, joined[i].before[0], layer) + size_of(c, joined[i].before[1], layer), all = 0;
        for (int k = 0; k < 3; k++)
            all += size_of(c, joined[i].all[k], layer);
        if (table[role].place == LAYER)
            snprintf(name, sizeof name, "%s.%lld.%s.weight", l->names->layers, (long long)layer,
                     gguf ? joined[i].gguf : joined[i].name);
        else
            snprintf(name, sizeof name, "%s.weight", gguf ? joined[i].gguf : "");
        return rows_of(l, llm_tensors_find(&l->m->files, name), before, rows, all);
    }
    return NULL;
}

/* Other names of the weights of experts: of single ones, and of Mixtral's. */
static const struct { enum llm_role role; const char *names[4]; } experts[] = {
    {LLM_W_ROUTER, {"block_sparse_moe.gate", "mlp.router", "router.proj"}},
    {LLM_W_GATES_UPS, {"experts.gate_up_proj", "mlp.experts.gate_up_proj"}},
    {LLM_W_GATES, {"mlp.experts.%d.gate_proj", "block_sparse_moe.experts.%d.w1"}},
    {LLM_W_UPS, {"mlp.experts.%d.up_proj", "block_sparse_moe.experts.%d.w3"}},
    {LLM_W_DOWNS, {"mlp.experts.%d.down_proj", "block_sparse_moe.experts.%d.w2", "experts.down_proj",
                   "mlp.experts.down_proj"}},
};

static const struct llm_tensor *expert_tensor(struct load *l, const char *name, int64_t layer, int64_t i) {
    char full[160];
    const char *number = strchr(name, '%');
    int before = number ? (int)(number - name) : (int)strlen(name);
    int n = snprintf(full, sizeof full, "%s.%lld.%.*s", l->names->layers, (long long)layer, before, name);
    if (number)
        n += snprintf(full + n, sizeof full - (size_t)n, "%lld%s", (long long)i, number + 2);
    const struct llm_tensor *plain = number ? NULL : llm_tensors_find(&l->m->files, full); /* of all experts */
    snprintf(full + n, sizeof full - (size_t)n, ".weight");
    return plain ? plain : llm_tensors_find(&l->m->files, full);
}

/* The matrices of all experts, one after the other, as one tensor: a view of a tensor of rank 3, or a copy of single ones; NULL
   if the files have none of that shape. */
static hilo_status join_experts(struct load *l, enum llm_role role, int64_t layer, const struct llm_tensor *t, int64_t rows,
                                int64_t cols, bool *copied, const struct llm_tensor **out) {
    struct llm_model *m = l->m;
    int64_t n = m->config.experts;
    struct llm_tensor *one = ARENA_ARRAY(&m->arena, struct llm_tensor, 1);
    *out = t;
    for (size_t i = 0; i < sizeof experts / sizeof *experts && !t; i++)
        for (size_t k = 0; k < 4 && experts[i].role == role && experts[i].names[k] && !*out; k++) {
            const char *name = experts[i].names[k];
            const struct llm_tensor *first = expert_tensor(l, name, layer, 0);
            if (first && !strchr(name, '%'))
                *out = first;
            if (!first || *out || !is_matrix(first, rows / n, cols) || !is_float(first->dtype))
                continue;
            *one = *first;
            one->dims[0] = rows;
            one->bytes = first->bytes * (size_t)n; /* it is in memory n times */
            char *data = m->described ? NULL : own(m, one->bytes);
            if (!data && !m->described)
                return diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory for the tensor '%s'", first->name.p);
            for (int64_t e = 0; e < n; e++) {
                const struct llm_tensor *from = expert_tensor(l, name, layer, e);
                if (!from || !is_matrix(from, rows / n, cols) || from->dtype != first->dtype)
                    return diag_error(l->d, HILO_INVALID_ARGUMENT, "tensor '%s' is not one of %lld experts, which the config "
                                      "calls for", first->name.p, (long long)n);
                if (data) {
                    memcpy(data + (size_t)e * first->bytes, from->data, first->bytes);
                    llm_tensors_release_pages(&m->files, from->data, from->bytes);
                }
            }
            one->data = data;
            *copied = true;
            *out = one;
        }
    t = *out;
    if (t && t->rank == 3 && t->dims[0] == n && t->dims[1] == rows / n && t->dims[2] == cols) {
        *one = *t;
        one->rank = 2, one->dims[0] = rows, one->dims[1] = cols;
        *out = one;
    }
    return HILO_OK;
}

struct gpt_oss_copy { const struct gpt_oss *from; void *to; };

static void copy_experts(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct gpt_oss_copy *c = user;
    (void)scratch;
    gpt_oss_copy(c->from, begin, end, c->to);
}

/* The same of gpt-oss, always a copy. */
static hilo_status join_gpt_oss(struct load *l, const struct llm_weight *w, bool *copied, const struct llm_tensor **out) {
    struct llm_model *m = l->m;
    char base[128];
    int64_t n = m->config.experts;
    snprintf(base, sizeof base, "%s.%lld.mlp.experts", l->names->layers, (long long)w->layer);
    struct gpt_oss x = gpt_oss_find(&m->files, base, w->role, n, w->rows / n, w->cols);
    if (!x.t)
        return HILO_OK;
    struct llm_tensor *one = arena_dup(&m->arena, &x.joined, sizeof x.joined, _Alignof(struct llm_tensor));
    struct gpt_oss_copy copy = {&x, m->described ? NULL : own(m, one->bytes)};
    if (!copy.to && !m->described)
        return diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory for the tensor '%s'", x.t->name.p);
    if (copy.to)
        share(l, n, copy_experts, &copy);
    one->data = copy.to;
    *copied = true;
    *out = one;
    return HILO_OK;
}

/* ---- shards ----------------------------------------------------------------------------------- */

/* What a shard has of a weight: of each of `blocks` equal blocks of rows `rows` of them, from `row` on, and of the columns one
   of `parts` equal parts, `part`. */
struct cut { int64_t blocks, row, rows, part, parts; };

/* False: all of it. */
static bool find_cut(const struct llm_model *m, const struct llm_weight *w, struct cut *out) {
    const struct llm_config *c = &m->config;
    const struct row *r = &table[w->role];
    struct llm_shard s = m->shard;
    *out = (struct cut){.blocks = 1, .rows = w->rows, .parts = 1};
    if (r->shard == COLS)
        out->part = s.index, out->parts = s.count;
    if (r->shard != ROWS || (r->rows == VOCAB && w->rows % s.count))
        return r->shard == COLS && s.count > 1;
    out->blocks = r->rows == EXPERT_FFN ? c->experts : r->rows == EXPERT_BOTH ? 2 * c->experts : 1;
    int64_t pieces = r->rows == KV ? c->layer[w->layer].kv_heads : w->rows / out->blocks, n = w->rows / out->blocks / pieces;
    out->rows = n * llm_shard_range(pieces, s, &out->row);
    out->row *= n;
    return s.count > 1;
}

static void disown(struct llm_model *m, const void *p) {
    for (size_t i = 0; i < m->nowned; i++)
        if (m->owned[i].p == p && p) {
            mem_free(&m->arena.al, m->owned[i].p, m->owned[i].n);
            m->owned[i].p = NULL, m->owned[i].n = 0;
        }
}

static bool is_owned(const struct llm_model *m, const void *p) {
    for (size_t i = 0; i < m->nowned; i++)
        if (m->owned[i].p == p && p)
            return true;
    return false;
}

/* Consecutive rows of a mapped file stay there; else the part is copied, and what it was copied from is not kept. */
static bool cut_param(struct llm_model *m, const struct cut *x, struct llm_param *p) {
    const char *from = p->data;
    size_t row = p->bytes / (size_t)p->dims[0], bytes = row / (size_t)x->parts, before = p->bytes;
    int64_t block = p->dims[0] / x->blocks;
    p->dims[0] = x->blocks * x->rows;
    if (p->rank == 2)
        p->dims[1] /= x->parts;
    p->bytes = (size_t)p->dims[0] * bytes;
    if (!from)
        return true;
    if (x->blocks == 1 && x->parts == 1 && !is_owned(m, from)) {
        p->data = from + (size_t)x->row * row;
        return true;
    }
    char *to = own(m, p->bytes);
    p->data = to;
    for (int64_t b = 0; b < x->blocks && to; b++)
        for (int64_t i = 0; i < x->rows; i++, to += bytes)
            memcpy(to, from + (size_t)(b * block + x->row + i) * row + (size_t)x->part * bytes, bytes);
    disown(m, from);
    llm_tensors_release_pages(&m->files, from, before);
    return p->data != NULL;
}

/* Columns are divided between groups, or blocks, of which a row has n. */
static hilo_status check_cols(struct load *l, struct str name, int64_t n, const char *what, int64_t parts) {
    return n % parts == 0 ? HILO_OK
                          : diag_error(l->d, HILO_UNIMPLEMENTED, "tensor '%s' has %lld %s in a row, which cannot be divided by "
                                       "%lld devices", name.p, (long long)n, what, (long long)parts);
}

/* Leaves of a weight what the shard has of it. */
static hilo_status cut_weight(struct load *l, struct llm_weight *w, struct llm_param *params, uint32_t n) {
    struct llm_model *m = l->m;
    struct cut x;
    bool fits = true;
    if (table[w->role].shard == FIRST && m->shard.index > 0 && !m->described) {
        void *zeros = own(m, params->bytes);
        if (zeros)
            params->data = memset(zeros, 0, params->bytes);
        fits = zeros != NULL;
    }
    if (find_cut(m, w, &x)) {
        bool grouped = w->groups > 1;
        int64_t pieces = grouped ? w->units ? w->units : w->groups : w->cols * (w->bits ? (int64_t)w->bits : 8) / 8;
        HILO_TRY(check_cols(l, params->name, pieces, grouped ? "groups" : "bytes", x.parts));
        for (uint32_t k = 0; k < n && fits; k++) {
            struct cut one = x;
            if (k && w->groups == 1) /* a scale of a whole row belongs to all parts */
                one.part = 0, one.parts = 1;
            fits = cut_param(m, &one, &params[k]);
        }
        w->rows = x.blocks * x.rows;
        w->cols /= x.parts;
        w->units = w->groups > 1 ? w->units / x.parts : w->units;
        w->groups = w->groups > 1 ? w->groups / x.parts : w->groups;
    }
    return fits ? HILO_OK : diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory for the tensor '%s'", params->name.p);
}

/* The same of a plain matrix before it is converted, where that needs no copy: only the rows of the shard are converted. */
static hilo_status cut_before(struct load *l, struct llm_weight *w, struct llm_param *from, bool *done) {
    struct cut x;
    *done = find_cut(l->m, w, &x) && x.blocks == 1 && x.parts == 1 && !is_owned(l->m, from->data);
    return *done ? cut_weight(l, w, from, 1) : HILO_OK;
}

/* The same of a copy of all experts. */
static hilo_status cut_copy(struct load *l, struct llm_weight *w, const struct llm_tensor **t) {
    struct llm_tensor *part = arena_dup(&l->m->arena, *t, sizeof **t, _Alignof(struct llm_tensor));
    struct llm_param p = {.name = part->name, .dtype = part->dtype, .rank = part->rank, .dims = {part->dims[0], part->dims[1]},
                          .data = part->data, .bytes = part->bytes};
    struct cut x;
    if (part->format && part->format->unpack && find_cut(l->m, w, &x))
        HILO_TRY(check_cols(l, part->name, w->cols / part->format->elements, "blocks", x.parts));
    HILO_TRY(cut_weight(l, w, &p, 1));
    part->dims[0] = p.dims[0], part->dims[1] = p.dims[1];
    part->data = p.data;
    part->bytes = p.bytes;
    *t = part;
    return HILO_OK;
}

static hilo_status add_weight(struct load *l, enum llm_role role, int64_t layer) {
    const struct row *r = &table[role];
    const struct llm_config *c = &l->m->config;
    struct llm_weight w = {.role = role, .layer = layer, .rows = size_of(c, r->rows, layer),
                           .cols = size_of(c, r->cols, layer)};
    char base[128], name[160];
    bool gguf = l->m->files.gguf;
    const char *suffix = r->kind == BIAS ? "bias" : r->kind == BARE ? "" : "weight";
    base_name(r, layer, l->names, base, sizeof base);
    const struct llm_tensor *t = find(l, base, suffix, name, sizeof name);
    if (!t && gguf && role == LLM_W_FFN_NORM) { /* gpt-oss calls it as families do that have one after attention */
        base_name(&table[LLM_W_POST_ATTN], layer, l->names, base, sizeof base);
        t = find(l, base, suffix, name, sizeof name);
    }
    bool copied = false;
    bool shared = r->kind == MATRIX || (r->rows == EXPERT && r->kind != BARE); /* a tensor for all experts, named its own way */
    /* Before others: a name of gpt-oss is one of Qwen 3.5, too, whose matrices are not transposed. */
    if (!t && c->glu_alpha != 0 && (r->rows == EXPERT_FFN || r->rows == EXPERT_HIDDEN))
        HILO_TRY(join_gpt_oss(l, &w, &copied, &t));
    if (shared && (r->rows == EXPERT || r->rows == EXPERT_FFN || r->rows == EXPERT_BOTH || r->rows == EXPERT_HIDDEN))
        HILO_TRY(join_experts(l, role, layer, t, w.rows, w.cols, &copied, &t));
    if (t && t->rank == 2 && !w.cols && t->dims[0] * t->dims[1] == w.rows) { /* biases of experts in GGUF files */
        struct llm_tensor *flat = arena_dup(&l->m->arena, t, sizeof *t, _Alignof(struct llm_tensor));
        flat->rank = 1, flat->dims[0] = w.rows;
        t = flat;
    }
    if (t && t->rank == 3 && t->dims[1] == 1 && r->kind == TABLE) { /* kernels of a depthwise convolution */
        struct llm_tensor *flat = arena_dup(&l->m->arena, t, sizeof *t, _Alignof(struct llm_tensor));
        flat->rank = 2, flat->dims[1] = t->dims[2];
        t = flat;
    }
    if (copied && t->rank == 2)
        HILO_TRY(cut_copy(l, &w, &t));
    if (t && t->rank == 1 && w.rows == 1 && w.cols == t->dims[0]) { /* a table of one row */
        struct llm_tensor *flat = arena_dup(&l->m->arena, t, sizeof *t, _Alignof(struct llm_tensor));
        flat->rank = 2, flat->dims[0] = 1, flat->dims[1] = w.cols;
        t = flat;
    }
    bool other = r->kind == MATRIX && (!t || t->dims[0] != w.rows);
    const struct llm_tensor *part = other ? find_joined(l, role, layer, w.rows) : NULL;
    t = part ? part : t;
    struct source source = {.blocks = t && t->format && t->format->unpack && r->kind == MATRIX ? t : NULL, .owned = copied,
                            .cut = copied && t->rank == 2};
    w.first = l->params.n;
    if (!t && r->kind == MATRIX)
        HILO_TRY(llm_packed_find(&l->m->files, c, base, w.rows, w.cols, l->d, &source.packed));
    ARENA_PUSH(&l->m->arena, &l->sources, source);
    if (source.blocks && !is_matrix(t, w.rows, w.cols))
        return misfit(l, t, name, w.rows, w.cols);
    if (source.packed.values || source.blocks) {
        add_param(l, &w, t ? t : source.packed.values, LLM_VALUES, IR_UI32_T, w.rows, w.cols);
        l->params.v[w.first].name = model_name(l, r, layer, suffix);
        ARENA_PUSH(&l->m->arena, &l->weights, w);
        return HILO_OK;
    }
    if (!t)
        return misfit(l, t, name, w.rows, w.cols);
    if (r->kind == MATRIX && !is_float(t->dtype)) {
        HILO_TRY(add_quantised(l, base, t, &w));
    } else {
        if (!is_float(t->dtype) || (w.cols ? !is_matrix(t, w.rows, w.cols) : t->rank != 1 || t->dims[0] != w.rows))
            return misfit(l, t, name, w.rows, w.cols);
        add_param(l, &w, t, LLM_VALUES, t->dtype, w.rows, w.cols);
        if (gguf || part || c->experts)
            l->params.v[w.first].name = model_name(l, r, layer, suffix);
    }
    ARENA_PUSH(&l->m->arena, &l->weights, w);
    return HILO_OK;
}

static hilo_status add_place(struct load *l, enum place place, int64_t layer) {
    for (int role = 0; role < LLM_ROLES; role++)
        if (table[role].place == place && has_weight(&l->m->config, (enum llm_role)role, layer))
            HILO_TRY(add_weight(l, (enum llm_role)role, layer));
    return HILO_OK;
}

const struct llm_weight *llm_model_weight(const struct llm_model *m, enum llm_role role, int64_t layer) {
    for (size_t i = 0; i < m->nweights; i++)
        if (m->weights[i].role == role && m->weights[i].layer == layer)
            return &m->weights[i];
    return NULL;
}

/* ---- converting and quantising --------------------------------------------------------------- */

/* X.weight, X.scales, X.biases */
static struct str part_name(struct llm_model *m, struct str weight, enum llm_part part) {
    static const char *const suffixes[] = {[LLM_VALUES] = "weight", [LLM_SCALES] = "scales", [LLM_OFFSETS] = "biases",
                                           [LLM_SCALE_UNITS] = "scale_units", [LLM_OFFSET_UNITS] = "bias_units"};
    size_t stem = weight.n - strlen("weight"), n = stem + strlen(suffixes[part]);
    char *p = arena_alloc(&m->arena, n + 1, 1);
    memcpy(p, weight.p, stem);
    memcpy(p + stem, suffixes[part], n - stem);
    return (struct str){p, n};
}

static bool set_owned(struct llm_model *m, struct llm_param *p, enum llm_part part, enum ir_dtype dtype, int64_t rows,
                      int64_t cols) {
    size_t bytes;
    p->name = part_name(m, p->name, part);
    p->part = part;
    p->dtype = dtype;
    p->rank = 2;
    p->dims[0] = rows;
    p->dims[1] = cols;
    if (!mem_mul((size_t)rows, (size_t)cols, &bytes) || !mem_mul(bytes, ir_dtype_get(dtype)->bytes, &bytes))
        return false;
    p->bytes = bytes;
    p->data = m->described ? NULL : own(m, bytes);
    return p->data || m->described;
}

static char *row_of(const struct llm_param *p, int64_t row) {
    return (char *)(uintptr_t)p->data + (size_t)row * (p->bytes / (size_t)p->dims[0]);
}

/* From a plain matrix to the parameters of `w`, one (another float type) or several. */
struct rows {
    const struct llm_param *from;
    const struct llm_weight *w;
    struct llm_param *to;
    hilo_allocator al;
    atomic_bool failed;
};

static void convert_rows(void *user, void *scratch, int64_t begin, int64_t end) {
    struct rows *v = user;
    const struct llm_weight *w = v->w;
    enum fp_kind in = ir_dtype_get(v->from->dtype)->fp, out = ir_dtype_get(v->to->dtype)->fp;
    size_t cols = (size_t)w->cols;
    float *x = mem_alloc(&v->al, cols * sizeof *x);
    (void)scratch;
    if (!x)
        atomic_store(&v->failed, true);
    for (int64_t r = begin; r < end && x; r++) {
        fp_decode_n_f32(in, row_of(v->from, r), x, cols);
        if (w->bits)
            llm_quantise_row(x, w->cols, w->bits, row_of(&v->to[0], r), row_of(&v->to[1], r),
                             w->offsets ? row_of(&v->to[2], r) : NULL);
        else
            fp_encode_n_f32(out, x, row_of(v->to, r), cols);
    }
    mem_free(&v->al, x, x ? cols * sizeof *x : 0);
}

static bool convert_matrix(struct load *l, const struct llm_param *from, const struct llm_weight *w, struct llm_param *to) {
    struct rows v = {.from = from, .w = w, .to = to, .al = l->m->arena.al};
    if (l->m->described)
        return true;
    atomic_init(&v.failed, false);
    share(l, w->rows, convert_rows, &v);
    llm_tensors_release_pages(&l->m->files, from->data, from->bytes); /* or memory would hold the model twice */
    return !atomic_load(&v.failed);
}

/* Converts a plain matrix to the requested precision. */
static hilo_status convert_weight(struct load *l, struct llm_weight *w, const struct llm_param *from) {
    struct llm_model *m = l->m;
    bool int4 = l->wanted == LLM_INT4 || l->wanted == LLM_INT4Z, whole = w->cols % LLM_INT4_GROUP == 0;
    enum ir_dtype plain = l->wanted == LLM_BF16 ? IR_BF16_T : l->wanted == LLM_F16 ? IR_F16_T : IR_DTYPE_NONE;
    struct llm_param to[3] = {*from, *from, *from};
    if (plain == from->dtype || l->wanted == LLM_F32 || l->wanted == LLM_AS_STORED) {
        ARENA_PUSH(&m->arena, &l->params, *from);
        return HILO_OK;
    }
    bool allocated;
    if (plain) {
        allocated = set_owned(m, &to[0], LLM_VALUES, plain, w->rows, w->cols);
    } else if (int4 && whole) {
        w->bits = 4;
        w->groups = w->cols / LLM_INT4_GROUP;
        w->offsets = l->wanted == LLM_INT4Z;
        allocated = set_owned(m, &to[0], LLM_VALUES, IR_UI8_T, w->rows, w->cols / 2) &&
               set_owned(m, &to[1], LLM_SCALES, IR_F16_T, w->rows, w->groups) &&
               (!w->offsets || set_owned(m, &to[2], LLM_OFFSETS, IR_F16_T, w->rows, w->groups));
    } else { /* a row that is no multiple of a group keeps 8 bits */
        w->bits = 8;
        w->groups = 1;
        allocated = set_owned(m, &to[0], LLM_VALUES, IR_I8_T, w->rows, w->cols) &&
               set_owned(m, &to[1], LLM_SCALES, IR_F32_T, w->rows, 1);
    }
    if (!allocated || !convert_matrix(l, from, w, to))
        return diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory for the tensor '%s'", from->name.p);
    w->nparams = w->bits == 0 ? 1 : w->offsets ? 3 : 2;
    for (uint32_t i = 0; i < w->nparams; i++)
        ARENA_PUSH(&m->arena, &l->params, to[i]);
    return HILO_OK;
}

struct unpack {
    const struct llm_packed *p;
    struct llm_param *to;
};

static void unpack_rows(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct unpack *u = user;
    void *data[3];
    (void)scratch;
    for (int i = 0; i < 3; i++)
        data[i] = (void *)(uintptr_t)u->to[i].data;
    if (u->p->scattered)
        llm_packed_numbers(u->p, begin, end, data[0]);
    else
        llm_packed_rows(u->p, begin, end, data[0], data[1], u->p->symmetric ? NULL : data[2]);
}

/* Unpacks a packed matrix, whatever the precision: see packed.h. */
static hilo_status convert_packed(struct load *l, struct llm_weight *w, const struct llm_param *from,
                                  const struct llm_packed *p) {
    struct llm_model *m = l->m;
    struct llm_param to[3] = {*from, *from, *from};
    const struct llm_tensor *done[] = {p->values, p->zeros, p->scales};
    bool allocated;
    w->offsets = !p->scattered && !p->symmetric;
    w->nparams = p->scattered ? 1 : w->offsets ? 3 : 2;
    if (p->scattered) {
        allocated = set_owned(m, &to[0], LLM_VALUES, IR_F16_T, w->rows, w->cols);
    } else {
        w->bits = p->bits;
        w->groups = p->groups;
        allocated = set_owned(m, &to[0], LLM_VALUES, w->bits == 8 && p->symmetric ? IR_I8_T : IR_UI8_T, w->rows,
                         w->cols * w->bits / 8) &&
               set_owned(m, &to[1], LLM_SCALES, p->scales->dtype, w->rows, w->groups) &&
               (!w->offsets || set_owned(m, &to[2], LLM_OFFSETS, IR_F32_T, w->rows, w->groups));
    }
    if (!allocated)
        return diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory for the tensor '%s'", from->name.p);
    struct unpack u = {p, to};
    if (!m->described)
        share(l, w->rows / 8, unpack_rows, &u);
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        llm_tensors_release_pages(&m->files, done[i]->data, done[i]->bytes);
    for (uint32_t i = 0; i < w->nparams; i++)
        ARENA_PUSH(&m->arena, &l->params, to[i]);
    return HILO_OK;
}

static void unpack_blocks(void *user, void *scratch, int64_t begin, int64_t end) {
    (void)scratch;
    gguf_unpack_rows(user, begin, end);
}

/* Whether neither an order of columns nor a shard takes blocks, of which a row has n, apart. */
static bool stays_whole(const struct load *l, const struct llm_weight *w, int64_t n) {
    struct llm_gguf_order order;
    struct cut x;
    bool moved = llm_gguf_order(&l->m->config, w, l->m->config.interleaved, &order) && order.columns;
    return (!moved || n % (order.a * order.b) == 0) && (!find_cut(l->m, w, &x) || n % x.parts == 0);
}

/* Repacks a matrix of blocks, whatever the precision: see gguf.h. */
static hilo_status convert_blocks(struct load *l, struct llm_weight *w, const struct llm_param *from,
                                  const struct llm_tensor *t) {
    struct llm_model *m = l->m;
    const struct gguf_format *f = t->format;
    void *data[LLM_PARTS] = {NULL};
    w->bits = f->bits;
    w->groups = w->cols / f->group;
    w->offsets = f->offsets;
    w->units = f->units && stays_whole(l, w, w->cols / f->elements) ? w->cols / f->elements : 0;
    w->reach = f->reach;
    w->nparams = 0;
    const struct { bool has; enum ir_dtype dtype; int64_t cols; } parts[LLM_PARTS] = {
        [LLM_VALUES] = {true, f->bits == 8 && !f->offsets ? IR_I8_T : IR_UI8_T, w->cols * f->bits / 8},
        [LLM_SCALES] = {true, w->units ? IR_I8_T : f->scale, w->groups},
        [LLM_OFFSETS] = {f->offsets, w->units ? IR_I8_T : f->scale, w->groups},
        [LLM_SCALE_UNITS] = {w->units, IR_F16_T, w->units},
        [LLM_OFFSET_UNITS] = {w->units && f->offsets, IR_F16_T, w->units},
    };
    for (int i = 0; i < LLM_PARTS; i++) {
        struct llm_param to = *from;
        if (!parts[i].has)
            continue;
        if (!set_owned(m, &to, (enum llm_part)i, parts[i].dtype, w->rows, parts[i].cols))
            return diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory for the tensor '%s'", from->name.p);
        data[i] = (void *)(uintptr_t)to.data;
        w->nparams++;
        ARENA_PUSH(&m->arena, &l->params, to);
    }
    struct gguf_rows rows = {f, t->data, w->rows, w->cols, data[LLM_VALUES], data[LLM_SCALES], data[LLM_OFFSETS],
                             {data[LLM_SCALE_UNITS], data[LLM_OFFSET_UNITS]}};
    if (!m->described)
        share(l, w->rows, unpack_blocks, &rows);
    llm_tensors_release_pages(&m->files, t->data, t->bytes);
    return HILO_OK;
}

/* ---- what converters to GGUF changed ----------------------------------------------------------- */

/* A copy of a parameter that is not owned yet, to be changed. */
static bool make_own(struct llm_model *m, struct llm_param *p, bool owned) {
    void *copy = owned ? (void *)(uintptr_t)p->data : own(m, p->bytes);
    if (copy && !owned)
        memcpy(copy, p->data, p->bytes);
    p->data = copy;
    return copy != NULL;
}

/* b x a pieces of a file to a x b; `before` has room for them. */
static void transpose_pieces(char *at, const struct llm_gguf_order *o, size_t piece, char *before) {
    int64_t n = o->a * o->b;
    memcpy(before, at, (size_t)n * piece);
    for (int64_t i = 0; i < n; i++)
        memcpy(at + (size_t)(i % o->a * o->b + i / o->a) * piece, before + (size_t)i * piece, piece);
}

/* Rows or columns of a parameter in the order of models. */
static bool undo_order(struct load *l, const struct llm_param *p, const struct llm_gguf_order *o) {
    hilo_allocator al = l->m->arena.al;
    size_t row = p->bytes / (size_t)p->dims[0], n = (size_t)(o->a * o->b), piece = o->columns ? row / n : (size_t)o->unit * row;
    if (o->columns && p->rank == 2 && p->dims[1] == 1) /* a scale of a whole row */
        return true;
    char *before = mem_alloc(&al, n * piece), *at = (char *)(uintptr_t)p->data;
    int64_t stretches = o->columns ? p->dims[0] : (p->dims[0] - o->first) / (o->a * o->b * o->unit); /* of a shard, fewer */
    at += o->columns ? 0 : (size_t)o->first * row;
    for (int64_t i = 0; before && i < stretches; i++, at += n * piece)
        transpose_pieces(at, o, piece, before);
    mem_free(&al, before, before ? n * piece : 0);
    return before != NULL;
}

/* Whether the pieces of a row are whole values and groups. */
static bool divides(const struct load *l, const struct llm_weight *w, const struct llm_gguf_order *o) {
    int64_t n = o->a * o->b;
    return !o->columns || !w->bits || ((w->groups == 1 || w->groups % n == 0) &&
                                       l->params.v[w->first].dims[1] % n == 0);
}

static hilo_status undo_changes(struct load *l, const struct llm_weight *w, bool owned) {
    struct llm_model *m = l->m;
    const struct llm_config *c = &m->config;
    struct llm_gguf_order order;
    bool moved = m->files.gguf && llm_gguf_order(c, w, c->interleaved, &order);
    bool norm = c->shifted_norms && llm_role_is_shifted(w->role), decay = m->files.gguf && w->role == LLM_W_DELTA_DECAY;
    if ((norm || decay) && l->params.v[w->first].dtype != IR_F32_T)
        return diag_error(l->d, HILO_INVALID_ARGUMENT, "tensor '%s' is not in F32", l->params.v[w->first].name.p);
    if (moved && !divides(l, w, &order))
        return diag_error(l->d, HILO_UNIMPLEMENTED, "tensor '%s': blocks are not whole in each of %lld heads",
                          l->params.v[w->first].name.p, (long long)(order.a * order.b));
    bool fits = true;
    for (uint32_t i = 0; i < w->nparams && (moved || norm || decay) && fits && !m->described; i++) {
        struct llm_param *p = &l->params.v[w->first + i];
        fits = make_own(m, p, owned) && (!moved || undo_order(l, p, &order));
        float *x = (float *)(uintptr_t)p->data;
        for (int64_t k = 0; (norm || decay) && fits && k < p->dims[0]; k++)
            x[k] = decay ? logf(-x[k]) : x[k] - 1;
    }
    return fits ? HILO_OK : diag_error(l->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
}

enum { STRETCH = 256 << 10 }; /* bytes */

static void want_stretches(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct llm_param *p = user;
    (void)scratch;
    size_t from = (size_t)begin * STRETCH, to = (size_t)end * STRETCH;
    file_pages_wanted((const char *)p->data + from, (to < p->bytes ? to : p->bytes) - from);
}

/* Reads and maps weights that are used as stored now, on all threads, instead of during the first prompt; unless memory may be
   too small for the model. */
static void want_stored(struct load *l, const struct llm_param *p) {
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (p->data && (double)l->m->files.bytes < memory / 2)
        share(l, (int64_t)((p->bytes + STRETCH - 1) / STRETCH), want_stretches, (void *)(uintptr_t)p);
}

static hilo_status convert(struct load *l) {
    struct llm_model *m = l->m;
    const struct llm_param *stored = l->params.v;
    l->params.v = NULL;
    l->params.n = l->params.cap = 0;
    for (uint32_t i = 0; i < l->weights.n; i++) {
        struct llm_weight *w = &l->weights.v[i];
        struct llm_param from[LLM_PARTS]; /* as many as are stored */
        memcpy(from, &stored[w->first], w->nparams * sizeof *from);
        size_t owned = m->nowned;
        bool cut = l->sources.v[i].cut;
        w->first = l->params.n;
        if (l->sources.v[i].packed.values)
            HILO_TRY(convert_packed(l, w, from, &l->sources.v[i].packed));
        else if (l->sources.v[i].blocks)
            HILO_TRY(convert_blocks(l, w, from, l->sources.v[i].blocks));
        else if (table[w->role].kind == MATRIX && !w->bits) {
            if (!cut)
                HILO_TRY(cut_before(l, w, from, &cut));
            HILO_TRY(convert_weight(l, w, from));
        } else {
            for (uint32_t k = 0; k < w->nparams; k++)
                ARENA_PUSH(&m->arena, &l->params, from[k]);
        }
        if (l->sources.v[i].owned && m->nowned != owned) /* converted from a copy */
            disown(m, from->data);
        HILO_TRY(undo_changes(l, w, m->nowned != owned));
        if (!cut)
            HILO_TRY(cut_weight(l, w, &l->params.v[w->first], w->nparams));
        for (uint32_t k = w->first; k < l->params.n && m->nowned == owned && !l->sources.v[i].owned; k++)
            want_stored(l, &l->params.v[k]);
        if (l->progress && l->progress->report)
            l->progress->report(l->progress->user, "loading", (double)(i + 1) / (double)l->weights.n);
    }
    return HILO_OK;
}

/* The types that programs compute in. A quantised model decodes in f32, where every value times its scale is exact and the time
   is spent reading weights; long prompts use bf16 products, which machines have units for. */
static void choose_types(struct llm_model *m, enum llm_precision wanted) {
    const struct llm_weight *q = llm_model_weight(m, LLM_W_DELTA_IN, 0);
    q = q ? q : llm_model_weight(m, LLM_W_Q, 0);
    enum ir_dtype stored = m->params[q->first].dtype;
    m->precision = wanted;
    if (wanted == LLM_AS_STORED)
        m->precision = q->bits == 8 ? LLM_INT8 : q->bits == 4 ? q->offsets ? LLM_INT4Z : LLM_INT4
                       : stored == IR_F32_T || stored == IR_F64_T ? LLM_F32 : stored == IR_F16_T ? LLM_F16 : LLM_BF16;
    bool narrow = m->precision == LLM_BF16 || m->precision == LLM_F16;
    enum ir_dtype type = m->precision == LLM_F16 ? IR_F16_T : IR_BF16_T;
    m->decode = narrow ? type : IR_F32_T;
    m->prefill = m->cache = m->precision == LLM_F32 ? IR_F32_T : type;
}

static hilo_status load_weights(struct load *l) {
    struct llm_model *m = l->m;
    enum { COPIES = 2 * LLM_PARTS + 1 }; /* of a weight: its parts, one that they are converted from, and those of a shard */
    size_t most = COPIES * LLM_ROLES * ((size_t)m->config.layers + 2);
    HILO_TRY(llm_shard_check(&m->config, m->shard.count, l->d));
    l->written = find_naming(l);
    l->names = m->files.gguf ? &gguf_names : l->written;
    if (m->files.gguf && m->config.experts && !m->config.sinks)
        m->config.joined_experts = expert_tensor(l, "ffn_gate_up_exps", 0, 0) != NULL;
    m->config.joined_experts |= m->config.experts && !m->config.sinks && (expert_tensor(l, "mlp.experts.gate_up_proj", 0, 0) ||
                                                                          expert_tensor(l, "experts.gate_up_proj", 0, 0));
    m->owned = arena_array(&m->arena, most, sizeof *m->owned, _Alignof(max_align_t));
    HILO_TRY(add_place(l, EMBED, 0));
    for (int64_t i = 0; i < m->config.layers; i++)
        HILO_TRY(add_place(l, LAYER, i));
    HILO_TRY(add_place(l, HEAD, 0));
    HILO_TRY(add_place(l, OUTPUT, 0));
    HILO_TRY(convert(l));
    m->weights = l->weights.v;
    m->nweights = l->weights.n;
    m->params = l->params.v;
    m->nparams = l->params.n;
    for (size_t i = 0; i < m->nparams; i++)
        m->bytes += m->params[i].bytes;
    choose_types(m, l->wanted);
    llm_shard_config(&m->config, m->shard.count);
    return HILO_OK;
}

static hilo_status load_guarded(struct load *l) {
    jmp_buf recover;
    hilo_status status;
    l->m->arena.recover = &recover;
    if (!setjmp(recover))
        status = load_weights(l);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    l->m->arena.recover = NULL;
    return status;
}

static hilo_status open_model(struct load *l, const char *dir, hilo_allocator al) {
    struct llm_model *m = l->m;
    arena_init(&m->arena, al, NULL);
    arena_init(&m->files.arena, al, NULL);
    hilo_status status = llm_config_open(dir, al, l->d, &m->config);
    if (status == HILO_OK)
        status = llm_tensors_open(dir, al, l->d, &m->files);
    if (status == HILO_OK)
        status = load_guarded(l);
    if (status != HILO_OK)
        llm_model_close(m);
    return status;
}

hilo_status llm_model_open(const char *dir, enum llm_precision precision, struct llm_shard shard,
                           const struct llm_progress *progress, struct rt_pool *pool, hilo_allocator al, struct diag_list *d,
                           struct llm_model *out) {
    struct load l = {.m = out, .d = d, .progress = progress, .pool = pool, .wanted = precision};
    *out = (struct llm_model){.shard = shard};
    return open_model(&l, dir, al);
}

hilo_status llm_model_describe(const char *dir, enum llm_precision precision, hilo_allocator al, struct diag_list *d,
                               struct llm_model *out) {
    struct load l = {.m = out, .d = d, .wanted = precision};
    *out = (struct llm_model){.shard = LLM_UNDIVIDED, .described = true};
    return open_model(&l, dir, al);
}

void llm_model_close(struct llm_model *m) {
    for (size_t i = 0; i < m->nowned; i++)
        mem_free(&m->arena.al, m->owned[i].p, m->owned[i].n);
    arena_free(&m->arena);
    llm_tensors_close(&m->files);
    *m = (struct llm_model){.nparams = 0};
    arena_init(&m->arena, mem_system_allocator(), NULL);
}
