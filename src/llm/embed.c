/* Embeddings: see embed.h. */
#include "llm/embed.h"

#include "base/fp.h"
#include "llm/json.h"
#include "llm/session.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- the modules of a model -------------------------------------------------------------------- */

static const char *const pooling_names[] = {[LLM_POOL_MEAN] = "mean", [LLM_POOL_FIRST] = "cls", [LLM_POOL_LAST] = "last"};

bool llm_pooling_named(const char *name, enum llm_pooling *out) {
    for (size_t i = 0; i < sizeof pooling_names / sizeof *pooling_names; i++)
        if (strcmp(name, pooling_names[i]) == 0) {
            *out = (enum llm_pooling)i;
            return true;
        }
    return false;
}

struct modules {
    const char *dir, *path; /* of the model, and of the module below it */
    struct llm_embedding *e;
    struct diag_list *d;
};

static bool join(const struct modules *m, const char *name, char *out, size_t size) {
    return snprintf(out, size, "%s/%s%s%s", m->dir, m->path, *m->path ? "/" : "", name) < (int)size;
}

/* Opens a JSON file of a module; one that is not there has no root. */
static hilo_status open_json(const struct modules *m, const char *name, bool array, char *path, size_t size,
                             struct llm_json *out) {
    *out = (struct llm_json){.file = name, .d = m->d};
    if (!join(m, name, path, size))
        return diag_error(m->d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", m->dir);
    if (access(path, F_OK) != 0)
        return HILO_OK;
    return (array ? llm_json_open_array : llm_json_open)(out, path, m->e->al, m->d);
}

static hilo_status read_transformer(struct modules *m) {
    char path[4096];
    struct llm_json j;
    hilo_status status = open_json(m, "sentence_bert_config.json", false, path, sizeof path, &j);
    if (status == HILO_OK && j.root) {
        m->e->limit = llm_json_int(llm_json_root(&j), "max_seq_length", 1, m->e->limit, m->e->limit);
        status = j.status;
    }
    llm_json_close(&j);
    return status;
}

static hilo_status read_pooling(struct modules *m) {
    static const struct { const char *field; int pooling; } modes[] = {
        {"pooling_mode_mean_tokens", LLM_POOL_MEAN}, {"pooling_mode_cls_token", LLM_POOL_FIRST},
        {"pooling_mode_lasttoken", LLM_POOL_LAST},   {"pooling_mode_max_tokens", -1},
        {"pooling_mode_mean_sqrt_len_tokens", -1},   {"pooling_mode_weightedmean_tokens", -1},
    };
    char path[4096];
    struct llm_json j;
    hilo_status status = open_json(m, "config.json", false, path, sizeof path, &j);
    struct llm_object o = llm_json_root(&j);
    int n = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes && j.root; i++)
        if (llm_json_bool(o, modes[i].field, false)) {
            n++;
            if (modes[i].pooling < 0)
                llm_json_fail(&j, "'%s' is not known to this version", modes[i].field);
            else
                m->e->pooling = (enum llm_pooling)modes[i].pooling;
        }
    const char *mode = j.root ? llm_json_text(o, "pooling_mode", n ? "" : "mean") : "";
    mode = strcmp(mode, "lasttoken") == 0 ? "last" : mode;
    if (n > 1 || (*mode && !llm_pooling_named(mode, &m->e->pooling)))
        llm_json_fail(&j, "one pooling was expected: mean, cls or lasttoken");
    status = status == HILO_OK ? j.status : status;
    llm_json_close(&j);
    return status;
}

/* A tensor as f32; NULL when memory is exhausted. */
static float *decode(hilo_allocator al, const struct llm_tensor *t, size_t n) {
    float *x = mem_alloc(&al, n * sizeof *x);
    if (x)
        fp_decode_n_f32(ir_dtype_get(t->dtype)->fp, t->data, x, n);
    return x;
}

static bool is_float(const struct llm_tensor *t, uint32_t rank, int64_t rows, int64_t cols) {
    return t && t->dtype != IR_DTYPE_NONE && ir_dtype_get(t->dtype)->cls == IR_FLOAT && t->rank == rank && t->dims[0] == rows &&
           (rank == 1 || t->dims[1] == cols);
}

static hilo_status read_dense_weights(struct modules *m, struct llm_dense *x, bool biased) {
    char path[4096];
    struct llm_tensors files;
    if (!join(m, "model.safetensors", path, sizeof path))
        return diag_error(m->d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", m->dir);
    hilo_status status = llm_tensors_open(path, m->e->al, m->d, &files);
    if (status == HILO_OK) {
        const struct llm_tensor *w = llm_tensors_find(&files, "linear.weight"), *b = llm_tensors_find(&files, "linear.bias");
        if (!is_float(w, 2, x->out, x->in) || (biased && !is_float(b, 1, x->out, 0)))
            status = diag_error(m->d, HILO_INVALID_ARGUMENT, "%s: linear.weight of [%lld, %lld]%s was expected", path,
                                (long long)x->out, (long long)x->in, biased ? " and linear.bias" : "");
        else
            x->weight = decode(m->e->al, w, (size_t)(x->out * x->in));
        if (status == HILO_OK && biased)
            x->bias = decode(m->e->al, b, (size_t)x->out);
        if (status == HILO_OK && (!x->weight || (biased && !x->bias)))
            status = diag_error(m->d, HILO_RESOURCE_EXHAUSTED, "out of memory for '%s'", path);
    }
    llm_tensors_close(&files);
    return status;
}

static hilo_status read_dense(struct modules *m) {
    enum { WIDEST = 1 << 16 };
    char path[4096];
    struct llm_json j;
    struct llm_embedding *e = m->e;
    if (e->ndense == LLM_MAX_DENSE)
        return diag_error(m->d, HILO_INVALID_ARGUMENT, "modules.json has more than %d dense layers", LLM_MAX_DENSE);
    struct llm_dense *x = &e->dense[e->ndense++];
    hilo_status status = open_json(m, "config.json", false, path, sizeof path, &j);
    struct llm_object o = llm_json_root(&j);
    const char *act = llm_json_text(o, "activation_function", "torch.nn.modules.linear.Identity");
    const char *dot = strrchr(act, '.'), *name = dot ? dot + 1 : act;
    x->in = llm_json_int(o, "in_features", e->width, e->width, LLM_REQUIRED);
    x->out = llm_json_int(o, "out_features", 1, WIDEST, LLM_REQUIRED);
    x->tanh = strcmp(name, "Tanh") == 0;
    bool biased = llm_json_bool(o, "bias", true);
    if (!x->tanh && strcmp(name, "Identity") != 0)
        llm_json_fail(&j, "'activation_function' is '%s'; Identity or Tanh was expected", act);
    status = status == HILO_OK ? j.status : status;
    llm_json_close(&j);
    HILO_TRY(status);
    e->width = x->out;
    return read_dense_weights(m, x, biased);
}

static hilo_status read_normalise(struct modules *m) {
    m->e->normalise = true;
    return HILO_OK;
}

static hilo_status read_module(struct modules *m, const char *type) {
    static const struct { const char *name; hilo_status (*read)(struct modules *m); } known[] = {
        {"Transformer", read_transformer}, {"Pooling", read_pooling}, {"Dense", read_dense}, {"Normalize", read_normalise},
    };
    const char *dot = strrchr(type, '.'), *name = dot ? dot + 1 : type;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].read(m);
    return diag_error(m->d, HILO_INVALID_ARGUMENT, "modules.json has a '%s', which this version does not know", type);
}

static hilo_status read_modules(struct modules *m) {
    char path[4096];
    struct llm_json j;
    hilo_status status = open_json(m, "modules.json", true, path, sizeof path, &j);
    size_t n = json_array_size(j.root);
    m->e->normalise = !j.root;
    for (size_t i = 0; i < n && status == HILO_OK; i++) {
        const json_t *module = json_array_get(j.root, i);
        const char *type = json_string_value(json_object_get(module, "type"));
        m->path = json_string_value(json_object_get(module, "path"));
        if (!type || !m->path || m->path[0] == '.' || strchr(m->path, '/')) /* nothing outside of the model is read */
            status = llm_json_fail(&j, "a module has no 'type', or no 'path' to a directory of the model");
        else
            status = read_module(m, type);
    }
    llm_json_close(&j);
    return status;
}

hilo_status llm_embedding_open(const char *path, const struct llm_config *c, hilo_allocator al, struct diag_list *d,
                               struct llm_embedding *out) {
    *out = (struct llm_embedding){.al = al, .pooling = c->pooling, .normalise = true, .width = c->hidden,
                                  .limit = c->positions};
    struct modules m = {path, "", out, d};
    return gguf_is_path(path) ? HILO_OK : read_modules(&m);
}

static hilo_status no_prompt(struct llm_json *j, const json_t *prompts, const char *name) {
    const char *key;
    const json_t *v;
    struct strbuf known;
    strbuf_init(&known, j->d->al);
    json_object_foreach((json_t *)(uintptr_t)prompts, key, v)
        strbuf_printf(&known, "%s%s", known.n ? ", " : "", key);
    hilo_status status = diag_error(j->d, HILO_NOT_FOUND, "the model has no prompt '%s'; it has %s", name,
                                    known.n ? known.p : "none");
    strbuf_free(&known);
    return status;
}

hilo_status llm_embedding_prompt(const char *path, const char *name, hilo_allocator al, struct diag_list *d,
                                 struct strbuf *out) {
    struct llm_embedding unused = {.al = al};
    struct modules m = {path, "", &unused, d};
    struct llm_json j = {.d = d};
    char file[4096];
    hilo_status status = gguf_is_path(path) ? HILO_OK
                                            : open_json(&m, "config_sentence_transformers.json", false, file, sizeof file, &j);
    struct llm_object o = llm_json_root(&j);
    const json_t *prompts = j.root ? llm_json_object(o, "prompts") : NULL;
    const char *usual = j.root ? llm_json_text(o, "default_prompt_name", "") : "";
    name = name || !*usual ? name : usual;
    const json_t *text = name ? json_object_get(prompts, name) : NULL;
    status = status == HILO_OK ? j.status : status;
    if (status == HILO_OK && name && !json_is_string(text))
        status = no_prompt(&j, prompts, name);
    if (status == HILO_OK && text)
        strbuf_putn(out, json_string_value(text), json_string_length(text));
    llm_json_close(&j);
    return status;
}

void llm_embedding_close(struct llm_embedding *e) {
    for (size_t i = 0; i < e->ndense; i++) {
        struct llm_dense *x = &e->dense[i];
        mem_free(&e->al, x->weight, x->weight ? (size_t)(x->in * x->out) * sizeof *x->weight : 0);
        mem_free(&e->al, x->bias, x->bias ? (size_t)x->out * sizeof *x->bias : 0);
    }
    e->ndense = 0;
}

/* ---- vectors ------------------------------------------------------------------------------------ */

/* The tokens of the program for n: powers of two and their halves' thrice, so that at most a third is computed in vain. */
static int64_t size_for(int64_t n, int64_t limit) {
    int64_t size = 16;
    while (size < n)
        size = size % 3 ? size / 2 * 3 : size / 3 * 4;
    return size < limit ? size : limit;
}

static hilo_status pool(struct llm_session *s, const int32_t *ids, int32_t n, float *out) {
    struct llm_graph g = {.kind = LLM_EMBED, .batch = 1, .tokens = size_for(n, s->model.config.positions),
                          .pooling = s->embedding.pooling};
    const struct llm_engine_ops *ops = s->engine->ops;
    hilo_allocator al = *rt_client_allocator(s->client);
    size_t bytes = (size_t)g.tokens * sizeof *ids, nin = llm_graph_inputs(&g) + s->model.nparams;
    void *program, *result = NULL;
    HILO_TRY(llm_session_program(s, &g, &program));
    int32_t *padded = mem_alloc(&al, bytes);
    if (!padded)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memset(padded, 0, bytes);
    memcpy(padded, ids, (size_t)n * sizeof *ids);
    s->in[0] = s->in[1] = NULL;
    memset(s->donate, 0, nin);
    memcpy(s->in + 2, s->weights, s->model.nparams * sizeof *s->in);
    hilo_status status = ops->upload(s->engine, HILO_S32, (int64_t[]){1, g.tokens}, 2, padded, &s->in[0]);
    if (status == HILO_OK)
        status = ops->upload(s->engine, HILO_S32, (int64_t[]){1}, 1, &n, &s->in[1]);
    if (status == HILO_OK)
        status = ops->run(s->engine, program, s->in, nin, s->donate, &result, 1);
    if (status == HILO_OK)
        status = ops->read(s->engine, result, out, (size_t)s->model.config.hidden * sizeof *out);
    ops->release(s->engine, result);
    ops->release(s->engine, s->in[0]);
    ops->release(s->engine, s->in[1]);
    mem_free(&al, padded, bytes);
    return status;
}

static void apply_dense(const struct llm_dense *x, const float *in, float *out) {
    for (int64_t r = 0; r < x->out; r++) {
        double sum = x->bias ? (double)x->bias[r] : 0;
        for (int64_t k = 0; k < x->in; k++)
            sum += (double)x->weight[r * x->in + k] * (double)in[k];
        out[r] = (float)(x->tanh ? tanh(sum) : sum);
    }
}

static void normalise(float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    double by = sum > 0 ? 1 / sqrt(sum) : 0;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] * by);
}

hilo_status llm_session_embed(struct llm_session *s, const int32_t *ids, size_t n, float *out) {
    const struct llm_embedding *e = &s->embedding;
    hilo_allocator al = *rt_client_allocator(s->client);
    size_t widest = (size_t)s->model.config.hidden, at = 0;
    if (n < 1 || n > (size_t)e->limit)
        return llm_error(s->client, HILO_OUT_OF_RANGE, "a text has %zu tokens; 1 to %lld have an embedding", n,
                         (long long)e->limit);
    HILO_TRY(llm_session_check(s, ids, n));
    for (size_t i = 0; i < e->ndense; i++)
        widest = (size_t)e->dense[i].out > widest ? (size_t)e->dense[i].out : widest;
    size_t bytes = 2 * widest * sizeof(float);
    float *x = mem_alloc(&al, bytes);
    if (!x)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    hilo_status status = pool(s, ids, (int32_t)n, x);
    for (size_t i = 0; i < e->ndense && status == HILO_OK; i++, at = widest - at)
        apply_dense(&e->dense[i], x + at, x + widest - at);
    if (status == HILO_OK) {
        memcpy(out, x + at, (size_t)e->width * sizeof *out);
        if (e->normalise)
            normalise(out, e->kept ? e->kept : e->width);
    }
    mem_free(&al, x, bytes);
    return status;
}
