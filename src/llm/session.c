/* Sessions: see session.h. */
#include "llm/session.h"

#include <stdio.h>

/* ---- modules --------------------------------------------------------------------------------- */

/* Everything that allocates from the module's arena. */
static hilo_status fill(hilo_client *client, const struct llm_model *model, const struct llm_graph *g, struct ir_module *m,
                        struct diag_list *d, hilo_module **out) {
    HILO_TRY(llm_emit(model, g, m, d));
    *out = rt_module_new(client, m);
    return *out ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

hilo_status llm_session_module(hilo_client *client, const struct llm_model *model, const struct llm_graph *g,
                               hilo_module **out) {
    jmp_buf recover;
    struct diag_list d;
    diag_init(&d, *rt_client_allocator(client));
    struct ir_module *m = ir_module_new(*rt_client_allocator(client), &recover);
    if (!m)
        return rt_finish(client, &d, HILO_RESOURCE_EXHAUSTED);
    hilo_module *module = NULL;
    hilo_status status;
    if (!setjmp(recover))
        status = fill(client, model, g, m, &d, &module);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    m->arena.recover = NULL;
    if (status == HILO_OK)
        *out = module;
    else
        ir_module_free(m);
    return rt_finish(client, &d, status);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void report(struct llm_session *s, const char *what, double done) {
    if (s->o.progress.report)
        s->o.progress.report(s->o.progress.user, what, done);
}

/* The shards of the devices here. */
static hilo_status open_shards(struct llm_session *s, const char *dir, hilo_allocator al, struct diag_list *d) {
    struct comm *comm = rt_client_comm(s->client);
    uint32_t here = s->engine->devices, first = comm ? comm_node_get(comm, comm_self(comm))->first_device : 0;
    struct llm_shard shard = {first, rt_client_world(s->client, NULL)};
    struct rt_pool *pool = rt_client_pool(s->client);
    HILO_TRY(llm_model_open(dir, s->o.precision, shard, &s->o.progress, pool, al, d, &s->model));
    s->others = here > 1 ? mem_alloc(&al, (here - 1) * sizeof *s->others) : NULL;
    if (here > 1 && !s->others)
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 1; i < here; i++) /* which can be closed, also after an error */
        s->others[i - 1] = (struct llm_model){.nparams = 0};
    for (uint32_t i = 1; i < here; i++) {
        shard.index++;
        HILO_TRY(llm_model_open(dir, s->o.precision, shard, &s->o.progress, pool, al, d, &s->others[i - 1]));
    }
    return HILO_OK;
}

static hilo_status read_files(struct llm_session *s, const char *dir) {
    hilo_allocator al = *rt_client_allocator(s->client);
    struct diag_list d;
    diag_init(&d, al);
    hilo_status status = open_shards(s, dir, al, &d);
    if (status == HILO_OK)
        status = llm_tok_open(dir, al, &d, &s->tok);
    if (status == HILO_OK)
        status = llm_chat_open(dir, al, &d, &s->chat);
    if (status == HILO_OK)
        status = llm_embedding_open(dir, &s->model.config, al, &d, &s->embedding);
    const struct llm_config *c = &s->model.config;
    if (status == HILO_OK && llm_tok_size(s->tok) > (size_t)c->vocab)
        status = diag_error(&d, HILO_INVALID_ARGUMENT, "the tokenizer has %zu tokens, but the config's 'vocab_size' is %lld",
                            llm_tok_size(s->tok), (long long)c->vocab);
    if (status == HILO_OK && s->o.context > c->positions)
        status = diag_error(&d, HILO_INVALID_ARGUMENT, "a context of %lld tokens was asked for; the model's limit is %lld",
                            (long long)s->o.context, (long long)c->positions);
    return rt_finish(s->client, &d, status);
}

static hilo_status upload_weights(struct llm_session *s) {
    const struct llm_model *m = &s->model;
    uint32_t here = s->engine->devices;
    const void **data = mem_alloc(rt_client_allocator(s->client), here * sizeof *data);
    hilo_status status = data ? HILO_OK : llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < m->nparams && status == HILO_OK; i++) {
        const struct llm_param *p = &m->params[i];
        for (uint32_t k = 0; k < here; k++)
            data[k] = k ? s->others[k - 1].params[i].data : p->data;
        status = s->engine->ops->keep(s->engine, ir_dtype_get(p->dtype)->number, p->dims, p->rank, data, &s->weights[i]);
        report(s, "uploading", (double)(i + 1) / (double)m->nparams);
    }
    if (data)
        mem_free(rt_client_allocator(s->client), data, here * sizeof *data);
    return status;
}

static bool make_room(struct llm_session *s) {
    jmp_buf recover;
    size_t nparams = s->model.nparams, ncache = (size_t)s->model.config.arrays;
    s->arena.recover = &recover;
    if (setjmp(recover)) {
        s->arena.recover = NULL;
        return false;
    }
    s->weights = ARENA_ARRAY(&s->arena, void *, nparams);
    s->cache = ARENA_ARRAY(&s->arena, void *, ncache);
    s->marked = ARENA_ARRAY(&s->arena, void *, ncache);
    s->in = ARENA_ARRAY(&s->arena, void *, LLM_MAX_INPUTS + nparams + ncache);
    s->out = ARENA_ARRAY(&s->arena, void *, 2 + ncache);
    s->donate = ARENA_ARRAY(&s->arena, uint8_t, LLM_MAX_INPUTS + nparams + ncache);
    s->at = ARENA_ARRAY(&s->arena, int32_t, (size_t)s->batch);
    s->arena.recover = NULL;
    return true;
}

static hilo_status open_session(struct llm_session *s, const char *dir) {
    struct llm_engine_options eo = {s->o.level, s->o.cancelled, s->o.cancelled_user};
    HILO_TRY(llm_engine_open(s->client, s->o.engine, &eo, &s->engine));
    HILO_TRY(read_files(s, dir));
    s->model.prompts_by_row = s->engine->prompts_by_row;
    s->model.prompts_in_words = s->engine->prompts_in_words;
    if (s->o.cache8)
        s->model.cache = IR_F8E4M3FN_T;
    s->limit = s->o.context ? s->o.context : s->model.config.positions;
    if (!make_room(s))
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    return upload_weights(s);
}

hilo_status llm_session_open(hilo_client *client, const char *dir, const struct llm_session_options *o,
                             struct llm_session **out) {
    double begin = rt_now_ms();
    if (o->batch < 0 || o->batch > 1024 || o->context < 0)
        return llm_error(client, HILO_INVALID_ARGUMENT, "a batch of 1 to 1024 and a context of at least 1 were expected");
    struct llm_session *s = mem_alloc(rt_client_allocator(client), sizeof *s);
    if (!s)
        return llm_error(client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *s = (struct llm_session){.client = rt_client_retain(client), .o = *o, .batch = o->batch ? o->batch : 1};
    arena_init(&s->arena, *rt_client_allocator(client), NULL);
    arena_init(&s->model.arena, *rt_client_allocator(client), NULL);
    arena_init(&s->model.files.arena, *rt_client_allocator(client), NULL);
    llm_ids_init(&s->seen, *rt_client_allocator(client));
    llm_ids_init(&s->portions, *rt_client_allocator(client));
    llm_chat_init(&s->chat, *rt_client_allocator(client));
    hilo_status status = open_session(s, dir);
    s->load_ms = rt_now_ms() - begin;
    if (status == HILO_OK)
        *out = s;
    else
        llm_session_close(s);
    return status;
}

bool llm_session_follows(const struct llm_session *s) {
    struct comm *comm = rt_client_comm(s->client);
    return comm && comm_self(comm) > 0;
}

hilo_status llm_session_follow(struct llm_session *s) {
    return llm_engine_follow(s->engine);
}

hilo_status llm_session_fork(struct llm_session *s, struct llm_session **out) {
    struct llm_session *f = mem_alloc(rt_client_allocator(s->client), sizeof *f);
    if (!f)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *f = *s;
    f->root = s->root ? s->root : s;
    f->programs = NULL;
    f->nprograms = 0;
    f->context = 0;
    f->tokens = f->positions = NULL;
    f->at = NULL;
    f->written = 0;
    f->cache = f->marked = NULL;
    f->mark = 0;
    rt_client_retain(s->client);
    llm_ids_init(&f->seen, *rt_client_allocator(s->client));
    llm_ids_init(&f->portions, *rt_client_allocator(s->client));
    arena_init(&f->arena, *rt_client_allocator(s->client), NULL);
    if (make_room(f)) {
        f->weights = f->root->weights;
        *out = f;
        return HILO_OK;
    }
    llm_session_close(f);
    return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
}

static void release_array(struct llm_session *s, void **array) {
    if (*array)
        s->engine->ops->release(s->engine, *array);
    *array = NULL;
}

/* Whether an array of the cache is also that of the mark, which owns it. */
static bool is_marked(const struct llm_session *s, int64_t i) {
    return s->marked[i] && s->marked[i] == s->cache[i];
}

static void release_cached(struct llm_session *s, int64_t i) {
    if (is_marked(s, i))
        s->cache[i] = NULL;
    else
        release_array(s, &s->cache[i]);
}

static void release_mark(struct llm_session *s) {
    for (int64_t i = 0; i < s->model.config.arrays && s->marked; i++)
        if (is_marked(s, i))
            s->marked[i] = NULL;
        else
            release_array(s, &s->marked[i]);
    s->mark = 0;
}

static void release_cache(struct llm_session *s) {
    release_mark(s);
    for (int64_t i = 0; i < s->model.config.arrays && s->cache; i++)
        release_array(s, &s->cache[i]);
    s->context = 0;
}

void llm_session_close(struct llm_session *s) {
    if (!s)
        return;
    hilo_client *client = s->client;
    if (s->engine) {
        release_cache(s);
        release_array(s, &s->tokens);
        release_array(s, &s->positions);
        for (size_t i = 0; i < s->model.nparams && s->weights && !s->root; i++)
            release_array(s, &s->weights[i]);
        for (size_t i = 0; i < s->nprograms; i++)
            s->engine->ops->release_program(s->engine, s->programs[i].program);
    }
    if (!s->root) {
        uint32_t others = s->others ? s->engine->devices - 1 : 0;
        llm_engine_close(s->engine);
        llm_tok_free(s->tok);
        llm_chat_close(&s->chat);
        llm_embedding_close(&s->embedding);
        llm_model_close(&s->model);
        for (uint32_t i = 0; i < others; i++)
            llm_model_close(&s->others[i]);
        mem_free(rt_client_allocator(client), s->others, others * sizeof *s->others);
    }
    mem_free(rt_client_allocator(client), s->programs, s->nprograms * sizeof *s->programs);
    llm_ids_free(&s->seen);
    llm_ids_free(&s->portions);
    arena_free(&s->arena);
    mem_free(rt_client_allocator(client), s, sizeof *s);
    hilo_client_release(client);
}

static size_t array_bytes(const struct llm_array *a) { /* config.c bounds the factors */
    size_t n = ir_dtype_get(a->dtype)->bytes;
    for (int i = 0; i < 4; i++)
        n *= (size_t)a->dims[i];
    return n;
}

static size_t cache_bytes(const struct llm_session *s, int64_t context) {
    size_t n = 0;
    for (int64_t i = 0; i < s->model.config.arrays; i++) {
        struct llm_array a = llm_cache_array(&s->model, i, s->batch, context);
        n += array_bytes(&a);
    }
    return n;
}

struct llm_capabilities llm_session_capabilities(const struct llm_session *s) {
    size_t here = s->engine->devices, bytes = s->model.bytes;
    for (size_t i = 1; i < here; i++)
        bytes += s->others[i - 1].bytes;
    return (struct llm_capabilities){
        .engine = s->engine->ops->name, .family = s->model.config.family, .has_template = s->chat.template.n > 0,
        .precision = s->model.precision, .context = s->limit, .batch = s->batch, .vocab = s->model.config.vocab,
        .weight_bytes = bytes, .cache_bytes = here * cache_bytes(s, s->limit), .devices = s->model.shard.count};
}

struct llm_traffic llm_session_traffic(const struct llm_session *s) {
    struct llm_traffic t = {.known = s->engine->ops->stats != NULL};
    for (size_t i = 0; i < s->nprograms && t.known; i++) {
        hilo_stats stats;
        if (s->programs[i].graph.kind != LLM_DECODE)
            continue;
        s->engine->ops->stats(s->engine, s->programs[i].program, &stats);
        t.allocations += stats.allocations;
        t.copied_bytes += stats.copied_bytes;
    }
    return t;
}

void llm_session_reset(struct llm_session *s) {
    memset(s->at, 0, (size_t)s->batch * sizeof *s->at);
    llm_session_rewind(s, 0);
}

size_t llm_session_reach(const struct llm_session *s, size_t n) {
    const struct llm_config *c = &s->model.config;
    int64_t ring = llm_ring(c, s->context), at = s->at[0];
    if (n >= (size_t)at)
        return (size_t)at;
    if (c->delta.heads)
        n = (size_t)s->mark <= n ? (size_t)s->mark : 0;
    return s->written <= ring || (int64_t)n - c->window + 1 >= s->written - ring ? n : 0;
}

/* The first of the two arrays of a recurrent layer, or the second. */
static bool is_state(const struct llm_session *s, int64_t i) {
    const struct llm_layer *at = s->model.config.layer;
    while (at->borrows || at->cache != i / LLM_LAYER_ARRAYS * LLM_LAYER_ARRAYS)
        at++;
    return at->recurrent;
}

void llm_session_mark(struct llm_session *s) {
    release_mark(s);
    if (s->model.config.delta.heads == 0 || s->at[0] == 0)
        return;
    s->mark = s->at[0];
    for (int64_t i = 0; i < s->model.config.arrays; i++)
        s->marked[i] = is_state(s, i) ? s->cache[i] : NULL;
}

void llm_session_rewind(struct llm_session *s, size_t n) {
    n = llm_session_reach(s, n);
    for (int64_t i = 0; i < s->model.config.arrays && n < (size_t)s->at[0]; i++)
        if (n && s->marked[i]) {
            release_cached(s, i);
            s->cache[i] = s->marked[i];
        }
    if (n < (size_t)s->mark)
        release_mark(s);
    s->at[0] = (int32_t)n;
    s->written = n ? s->written : 0;
    s->seen.n = n < s->seen.n ? n : s->seen.n;
    while (s->portions.n && (size_t)s->portions.v[s->portions.n - 1] > n)
        s->portions.n--;
    release_array(s, &s->tokens);
    release_array(s, &s->positions);
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool same_graph(const struct llm_graph *a, const struct llm_graph *b) {
    return a->kind == b->kind && a->batch == b->batch && a->context == b->context && a->tokens == b->tokens &&
           a->grown == b->grown && a->array == b->array && a->sample == b->sample && a->apart == b->apart &&
           a->pooling == b->pooling;
}

static hilo_status compile(struct llm_session *s, const struct llm_graph *g, void **out) {
    double begin = rt_now_ms();
    hilo_module *m;
    report(s, "compiling", 0);
    size_t bytes = s->nprograms * sizeof *s->programs;
    HILO_TRY(llm_session_module(s->engine->client, &s->model, g, &m));
    hilo_status status = s->engine->ops->compile(s->engine, m, out);
    hilo_module_release(m);
    HILO_TRY(status);
    struct llm_program *p = mem_resize(rt_client_allocator(s->client), s->programs, bytes, bytes + sizeof *p);
    if (!p) {
        s->engine->ops->release_program(s->engine, *out);
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    }
    s->programs = p;
    p[s->nprograms++] = (struct llm_program){*g, *out};
    s->compile_ms += rt_now_ms() - begin;
    report(s, "compiling", 1);
    return HILO_OK;
}

hilo_status llm_session_program(struct llm_session *s, const struct llm_graph *g, void **out) {
    s = s->root ? s->root : s;
    for (size_t i = 0; i < s->nprograms; i++)
        if (same_graph(&s->programs[i].graph, g)) {
            *out = s->programs[i].program;
            return HILO_OK;
        }
    return compile(s, g, out);
}

/* ---- the cache ------------------------------------------------------------------------------- */

enum { LEAST_CONTEXT = 256 };

/* Tokens that can follow `at` without going beyond the end of a ring. */
static int64_t room_after(const struct llm_session *s, int64_t at) {
    int64_t ring = llm_ring(&s->model.config, s->limit);
    return ring - at % ring;
}

static int64_t most_read(const struct llm_session *s) {
    int64_t most = 0;
    for (int64_t i = 0; i < s->batch; i++)
        most = s->at[i] > most ? s->at[i] : most;
    return most;
}

/* Zeros: entries that are not written yet are multiplied by probabilities of 0, and must be finite. */
static hilo_status new_cache(struct llm_session *s, int64_t context) {
    hilo_status status = HILO_OK;
    release_cache(s);
    for (int64_t i = 0; i < s->model.config.arrays && status == HILO_OK; i++) {
        struct llm_array a = llm_cache_array(&s->model, i, s->batch, context);
        status = s->engine->ops->upload(s->engine, ir_dtype_get(a.dtype)->number, a.dims, 4, NULL, &s->cache[i]);
    }
    if (status == HILO_OK)
        s->context = context;
    else
        release_cache(s);
    return status;
}

/* A copy of array i of the cache, which is `from`, for `context` tokens. Arrays of one shape share a program. */
static hilo_status copy_array(struct llm_session *s, int64_t i, void *from, int64_t context, void **out) {
    const struct llm_array a = llm_cache_array(&s->model, i, s->batch, s->context);
    struct llm_graph g = {.kind = LLM_GROW, .batch = s->batch, .context = s->context, .tokens = 1, .grown = context};
    const uint8_t keep = 0;
    void *p;
    for (;; g.array++) {
        struct llm_array first = llm_cache_array(&s->model, g.array, s->batch, s->context);
        struct llm_array grown = llm_cache_array(&s->model, g.array, s->batch, context);
        if (memcmp(first.dims, a.dims, sizeof a.dims) == 0 && first.dtype == a.dtype &&
            grown.dims[2] == llm_cache_array(&s->model, i, s->batch, context).dims[2])
            break;
    }
    HILO_TRY(llm_session_program(s, &g, &p));
    return s->engine->ops->run(s->engine, p, &from, 1, &keep, out, 1);
}

/* One array after the other, so that only one exists twice at a time. */
static hilo_status grow_cache(struct llm_session *s, int64_t context) {
    for (int64_t i = 0; i < s->model.config.arrays; i++) {
        int64_t now = llm_cache_array(&s->model, i, s->batch, s->context).dims[2];
        void *grown;
        if (llm_cache_array(&s->model, i, s->batch, context).dims[2] == now)
            continue;
        hilo_status status = copy_array(s, i, s->cache[i], context, &grown);
        if (status != HILO_OK) {
            release_cache(s);
            llm_session_reset(s);
            return status;
        }
        release_array(s, &s->cache[i]);
        s->cache[i] = grown;
    }
    s->context = context;
    return HILO_OK;
}

/* The size of a cache for `need` tokens, at most the limit. */
static int64_t context_for(const struct llm_session *s, int64_t need) {
    int64_t context = s->context;
    while (context < need && context < s->limit)
        context = llm_session_next_context(s, context);
    return context;
}

int64_t llm_session_room(const struct llm_session *s, size_t more) {
    return context_for(s, more < (size_t)s->limit ? s->at[0] + (int64_t)more : s->limit);
}

/* Grows the cache to `need` tokens, which is at most the limit. */
static hilo_status reserve(struct llm_session *s, int64_t need) {
    if (need <= s->context)
        return HILO_OK;
    int64_t context = context_for(s, need);
    return s->context && most_read(s) > 0 ? grow_cache(s, context) : new_cache(s, context);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static hilo_status upload_i32(struct llm_session *s, const int32_t *v, int64_t rows, int64_t cols, void **out) {
    return s->engine->ops->upload(s->engine, HILO_S32, (int64_t[]){rows, cols}, cols ? 2 : 1, v, out);
}

static hilo_status check_weights(struct llm_session *s) {
    struct diag_list d;
    diag_init(&d, *rt_client_allocator(s->client));
    return rt_finish(s->client, &d, llm_tensors_check(&s->model.files, &d));
}

/* A program has written entries of `tokens` tokens. */
static void note_written(struct llm_session *s, int64_t tokens) {
    s->written = s->at[0] + tokens > s->written ? s->at[0] + tokens : s->written;
}

/* Runs a program on its inputs in s->in, which are released, and replaces cache and positions with its results. */
static hilo_status run_step(struct llm_session *s, const struct llm_graph *g, void **result) {
    size_t ninputs = llm_graph_inputs(g), nweights = s->model.nparams, ncache = (size_t)s->model.config.arrays;
    size_t n = ninputs + nweights + ncache;
    void *p = NULL;
    hilo_status status = check_weights(s);
    if (status == HILO_OK)
        status = llm_session_program(s, g, &p);
    if (status == HILO_OK) {
        memcpy(s->in + ninputs, s->weights, nweights * sizeof *s->in);
        memcpy(s->in + ninputs + nweights, s->cache, ncache * sizeof *s->in);
        memset(s->donate, 0, n);
        for (size_t i = 0; i < ncache; i++)
            s->donate[ninputs + nweights + i] = !is_marked(s, (int64_t)i);
        s->donate[0] = g->kind == LLM_DECODE && g->sample;
        s->donate[1] = 1;
        status = s->engine->ops->run(s->engine, p, s->in, n, s->donate, s->out, 2 + ncache);
        for (size_t i = 0; i < ncache; i++) /* donated, even if the run failed */
            release_cached(s, (int64_t)i);
    }
    for (size_t i = 0; i < ninputs; i++)
        release_array(s, &s->in[i]);
    if (status != HILO_OK) {
        release_cache(s);
        llm_session_reset(s);
        return status;
    }
    *result = s->out[0];
    s->positions = s->out[1];
    memcpy(s->cache, s->out + 2, ncache * sizeof *s->cache);
    note_written(s, g->tokens);
    return HILO_OK;
}

/* The positions of a step: the result of the last step, else uploaded from the host. */
static hilo_status take_positions(struct llm_session *s, void **out) {
    if (!s->positions)
        return upload_i32(s, s->at, s->batch, 0, out);
    *out = s->positions;
    s->positions = NULL;
    return HILO_OK;
}

static void release_inputs(struct llm_session *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        release_array(s, &s->in[i]);
}

static hilo_status context_ends(struct llm_session *s) {
    return llm_error(s->client, HILO_OUT_OF_RANGE, "the context of %lld tokens is full", (long long)s->limit);
}

/* ---- decode ---------------------------------------------------------------------------------- */

static hilo_status decode_inputs(struct llm_session *s, const int32_t *tokens) {
    s->in[0] = s->in[1] = NULL;
    if (tokens || !s->tokens) {
        if (!tokens)
            return llm_error(s->client, HILO_FAILED_PRECONDITION, "no step before this one has answered tokens");
        HILO_TRY(upload_i32(s, tokens, s->batch, 0, &s->in[0]));
        release_array(s, &s->tokens);
    } else {
        s->in[0] = s->tokens;
        s->tokens = NULL;
    }
    return take_positions(s, &s->in[1]);
}

/* The result of a step: tokens are read and kept on the engine, logits are read and released. */
static hilo_status take_result(struct llm_session *s, void *result, int32_t *next, float *logits) {
    size_t n = (size_t)s->batch;
    if (!logits) {
        release_array(s, &s->tokens);
        s->tokens = result;
        return s->engine->ops->read(s->engine, result, next, n * sizeof *next);
    }
    hilo_status status = s->engine->ops->read(s->engine, result, logits, n * (size_t)s->model.config.vocab * sizeof *logits);
    release_array(s, &result);
    return status;
}

static hilo_status check_ids(struct llm_session *s, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= s->model.config.vocab)
            return llm_error(s->client, HILO_INVALID_ARGUMENT, "%d is no token; there are %lld", (int)ids[i],
                             (long long)s->model.config.vocab);
    return HILO_OK;
}

hilo_status llm_session_check(struct llm_session *s, const int32_t *ids, size_t n) {
    HILO_TRY(check_weights(s));
    return check_ids(s, ids, n);
}

hilo_status llm_session_decode(struct llm_session *s, const int32_t *tokens, int32_t *next, float *logits) {
    void *result = NULL;
    if (tokens)
        HILO_TRY(check_ids(s, tokens, (size_t)s->batch));
    if (most_read(s) >= s->limit)
        return context_ends(s);
    HILO_TRY(reserve(s, most_read(s) + 1));
    hilo_status status = decode_inputs(s, tokens);
    if (status != HILO_OK) {
        release_inputs(s, 2);
        return status;
    }
    struct llm_graph g = {.kind = LLM_DECODE, .batch = s->batch, .context = s->context, .tokens = 1, .sample = !logits};
    HILO_TRY(run_step(s, &g, &result));
    for (int64_t i = 0; i < s->batch; i++)
        s->at[i]++;
    return take_result(s, result, next, logits);
}

/* At the end of a ring. */
static hilo_status verify_singly(struct llm_session *s, const int32_t *tokens, size_t n, int32_t *next) {
    for (size_t i = 0; i < n; i++)
        HILO_TRY(llm_session_decode(s, &tokens[i], &next[i], NULL));
    return HILO_OK;
}

hilo_status llm_session_verify(struct llm_session *s, const int32_t *tokens, size_t n, int32_t *next) {
    struct llm_graph g = {.kind = LLM_VERIFY, .batch = 1, .tokens = (int64_t)n};
    void *result = NULL;
    HILO_TRY(check_ids(s, tokens, n));
    if (s->at[0] + g.tokens > s->limit)
        return context_ends(s);
    if (g.tokens > room_after(s, s->at[0]))
        return verify_singly(s, tokens, n, next);
    HILO_TRY(reserve(s, s->at[0] + g.tokens));
    g.context = s->context;
    s->in[0] = s->in[1] = NULL;
    release_array(s, &s->tokens);
    hilo_status status = upload_i32(s, tokens, 1, g.tokens, &s->in[0]);
    if (status == HILO_OK)
        status = take_positions(s, &s->in[1]);
    if (status != HILO_OK) {
        release_inputs(s, 2);
        return status;
    }
    HILO_TRY(run_step(s, &g, &result));
    s->at[0] += (int32_t)n;
    status = s->engine->ops->read(s->engine, result, next, n * sizeof *next);
    release_array(s, &result);
    return status;
}

/* ---- prefill --------------------------------------------------------------------------------- */

/* Tokens that one program reads at once. */
static const int64_t chunks[] = {1, 8, 32, 128, LLM_MAX_CHUNK};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

/* The next chunk for `left` tokens after `at`: the largest that they fill at least to three quarters, or the small one; none
   that exceeds the limit, or the room at the end of a ring. Computing the missing tokens of a less full chunk would cost more
   than reading the weights once more for another chunk. */
static int64_t chunk_for(const struct llm_session *s, int64_t left, int64_t at, int64_t room) {
    enum { SMALL = 8 };
    int64_t best = 1;
    for (int i = 1; i < CHUNKS && at + chunks[i] <= s->limit && chunks[i] <= room && best < left; i++)
        if (chunks[i] - left <= chunks[i] / 4 || chunks[i] == SMALL)
            best = chunks[i];
    return best;
}

/* A part of a text: `take[i]` tokens of each sequence, at most `chunk`. */
struct portion {
    int64_t chunk;
    int32_t *tokens, *targets, *take; /* batch * chunk, the same, batch */
};

static hilo_status run_portion(struct llm_session *s, const struct portion *p, enum llm_graph_kind kind, bool sample,
                               void **result) {
    struct llm_graph g = {.kind = kind, .batch = s->batch, .tokens = p->chunk, .sample = sample};
    HILO_TRY(reserve(s, most_read(s) + p->chunk));
    g.context = s->context;
    for (size_t i = 0; i < LLM_MAX_INPUTS; i++)
        s->in[i] = NULL;
    hilo_status status = upload_i32(s, p->tokens, s->batch, p->chunk, &s->in[0]);
    if (status == HILO_OK)
        status = take_positions(s, &s->in[1]);
    if (status == HILO_OK)
        status = upload_i32(s, p->take, s->batch, 0, &s->in[2]);
    if (status == HILO_OK && kind == LLM_SCORE)
        status = upload_i32(s, p->targets, s->batch, p->chunk, &s->in[3]);
    if (status != HILO_OK) {
        release_inputs(s, LLM_MAX_INPUTS);
        return status;
    }
    HILO_TRY(run_step(s, &g, result));
    for (int64_t i = 0; i < s->batch; i++)
        s->at[i] += p->take[i];
    return HILO_OK;
}

struct prefill {
    const int32_t *const *ids;
    const size_t *n;
    size_t *done;       /* of each sequence */
    int32_t *next, *some_next;  /* batch each */
    float *logits, *some_logits; /* batch * vocab each, or NULL */
};

/* The next portion; false if nothing is left. */
static bool next_portion(struct llm_session *s, struct prefill *p, struct portion *out) {
    int64_t left = 0, room = s->limit;
    for (int64_t i = 0; i < s->batch; i++)
        if (left < (int64_t)(p->n[i] - p->done[i]))
            left = (int64_t)(p->n[i] - p->done[i]);
    if (left == 0)
        return false;
    for (int64_t i = 0; i < s->batch; i++)
        room = room_after(s, s->at[i]) < room ? room_after(s, s->at[i]) : room;
    out->chunk = chunk_for(s, left, most_read(s), room);
    memset(out->tokens, 0, (size_t)(s->batch * out->chunk) * sizeof *out->tokens);
    for (int64_t i = 0; i < s->batch; i++) {
        int64_t rest = (int64_t)(p->n[i] - p->done[i]);
        out->take[i] = (int32_t)(rest < out->chunk ? rest : out->chunk);
        if (out->take[i])
            memcpy(out->tokens + i * out->chunk, p->ids[i] + p->done[i], (size_t)out->take[i] * sizeof *out->tokens);
        p->done[i] += (size_t)out->take[i];
    }
    return true;
}

/* Sequences whose last token was in this portion have their result. */
static void keep_answers(struct llm_session *s, struct prefill *p, const struct portion *now) {
    size_t vocab = (size_t)s->model.config.vocab;
    for (size_t i = 0; i < (size_t)s->batch; i++) {
        if (!now->take[i] || p->done[i] != p->n[i])
            continue;
        if (p->logits && p->logits != p->some_logits)
            memcpy(p->logits + i * vocab, p->some_logits + i * vocab, vocab * sizeof *p->logits);
        else if (!p->logits)
            p->next[i] = p->some_next[i];
    }
}

static hilo_status run_prefill(struct llm_session *s, struct prefill *p, struct portion *now) {
    while (next_portion(s, p, now)) {
        void *result = NULL;
        if (now->chunk == 1 && s->batch == 1) { /* the same, and there is a program for it anyway */
            HILO_TRY(llm_session_decode(s, now->tokens, p->some_next, p->some_logits));
        } else {
            HILO_TRY(run_portion(s, now, LLM_PREFILL, !p->logits, &result));
            HILO_TRY(take_result(s, result, p->some_next, p->some_logits));
        }
        keep_answers(s, p, now);
    }
    if (s->batch > 1) /* earlier portions have results, too */
        release_array(s, &s->tokens);
    return HILO_OK;
}

hilo_status llm_session_prefill(struct llm_session *s, const int32_t *const *ids, const size_t *n, int32_t *next,
                                float *logits) {
    size_t batch = (size_t)s->batch, vocab = (size_t)s->model.config.vocab, longest = 0;
    for (size_t i = 0; i < batch; i++) {
        HILO_TRY(n[i] ? check_ids(s, ids[i], n[i])
                      : llm_error(s->client, HILO_INVALID_ARGUMENT, "a prompt has no tokens"));
        longest = n[i] > longest ? n[i] : longest;
    }
    /* Sequences of a batch end at different positions, and each needs space for a whole chunk. */
    if (longest > (size_t)(s->limit - most_read(s)))
        return context_ends(s);
    size_t words = batch * (size_t)chunks[CHUNKS - 1] + 2 * batch, floats = logits && batch > 1 ? batch * vocab : 0;
    size_t bytes = words * sizeof(int32_t) + batch * sizeof(size_t) + floats * sizeof(float);
    char *block = mem_alloc(rt_client_allocator(s->client), bytes);
    if (!block)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memset(block, 0, bytes);
    struct prefill p = {.ids = ids, .n = n, .done = (size_t *)(void *)block, .next = next, .logits = logits};
    struct portion now = {.take = (int32_t *)(void *)(p.done + batch)};
    p.some_next = now.take + batch;
    now.tokens = p.some_next + batch;
    p.some_logits = floats ? (float *)(void *)(now.tokens + batch * (size_t)chunks[CHUNKS - 1]) : logits;
    hilo_status status = run_prefill(s, &p, &now);
    mem_free(rt_client_allocator(s->client), block, bytes);
    return status;
}

size_t llm_session_chunk(const struct llm_session *s, size_t at, size_t left) {
    const size_t most = 2 * LLM_MAX_CHUNK;
    return (size_t)chunk_for(s, (int64_t)(left < most ? left : most), (int64_t)at, room_after(s, (int64_t)at));
}

size_t llm_session_portion(const struct llm_session *s, size_t at, size_t left) {
    size_t chunk = llm_session_chunk(s, at, left);
    return left < chunk ? left : chunk;
}

size_t llm_session_shared(const struct llm_session *s, const struct llm_ids *seen, const struct llm_ids *portions,
                          const int32_t *prompt, size_t n, size_t *nportions) {
    size_t same = 0, at = 0, kept = 0;
    *nportions = 0;
    while (same < seen->n && same < n && seen->v[same] == prompt[same])
        same++;
    for (size_t i = 0; i < portions->n; i++) {
        size_t to = at + llm_session_portion(s, at, n - at);
        if ((size_t)portions->v[i] != to || to > same || to >= n)
            break;
        at = to;
        if (llm_session_reach(s, at) == at) {
            kept = at;
            *nportions = i + 1;
        }
    }
    return kept;
}

size_t llm_session_graphs(const struct llm_session *s, size_t forks, int64_t context, struct llm_graph out[LLM_MAX_GRAPHS]) {
    struct llm_graph g = {.kind = LLM_DECODE, .context = context, .tokens = 1};
    size_t n = 0;
    for (g.batch = 1; g.batch <= LLM_MAX_APART && (size_t)g.batch <= forks; g.batch++) {
        g.apart = g.batch > 1;
        out[n++] = g;
    }
    for (int i = 1; i < CHUNKS && chunks[i] <= context && chunks[i] <= room_after(s, 0); i++) {
        int64_t most = chunks[i] < LLM_LEAST_JOINT ? 1 : LLM_MAX_CHUNK / chunks[i];
        for (g.batch = 1; g.batch <= most && g.batch <= LLM_MAX_JOINT && (size_t)g.batch <= forks; g.batch *= 2)
            out[n++] = (struct llm_graph){.kind = LLM_PREFILL, .batch = g.batch, .context = context, .tokens = chunks[i],
                                          .apart = g.batch > 1};
    }
    return n;
}

int64_t llm_session_next_context(const struct llm_session *s, int64_t context) {
    int64_t next = context ? 2 * context : LEAST_CONTEXT;
    next = next < s->limit ? next : s->limit;
    return next > context ? next : 0;
}

/* ---- forks ----------------------------------------------------------------------------------- */

/* A copy with space for `context` tokens, by the program that grows a cache. */
hilo_status llm_session_copy(struct llm_session *from, size_t n, struct llm_session *to) {
    release_cache(to);
    llm_session_reset(to);
    if (from->context == 0)
        return HILO_OK;
    if (n < (size_t)from->at[0] && llm_session_reach(from, n) < n)
        return llm_error(to->client, HILO_FAILED_PRECONDITION, "the state after %zu tokens is not kept", n);
    for (int64_t i = 0; i < from->model.config.arrays; i++) {
        void *array = n < (size_t)from->at[0] && from->marked[i] ? from->marked[i] : from->cache[i];
        hilo_status status = copy_array(from, i, array, from->context, &to->cache[i]);
        if (status != HILO_OK) {
            release_cache(to);
            return status;
        }
    }
    to->context = from->context;
    to->written = from->written;
    to->at[0] = n < (size_t)from->at[0] ? (int32_t)n : from->at[0];
    return HILO_OK;
}

/* A step of n forks: DECODE, or PREFILL. */
struct apart {
    struct llm_session *const *forks;
    size_t n;
    int64_t chunk;          /* tokens of the program, of each fork; 1: a decode step */
    const int32_t *tokens;  /* n * chunk */
    const int32_t *take;    /* n: how many of them count */
    void **in, **out;       /* arguments and results */
    uint8_t *donate;
};

/* All with the same context, since a program knows one. */
static hilo_status reserve_apart(const struct apart *a) {
    int64_t context = 0;
    for (size_t i = 0; i < a->n; i++) {
        HILO_TRY(reserve(a->forks[i], a->forks[i]->at[0] + a->chunk));
        context = a->forks[i]->context > context ? a->forks[i]->context : context;
    }
    for (size_t i = 0; i < a->n; i++)
        HILO_TRY(reserve(a->forks[i], context));
    return HILO_OK;
}

/* What comes before the weights. */
static hilo_status upload_apart(const struct apart *a) {
    struct llm_session *s = a->forks[0];
    int32_t at[LLM_MAX_APART];
    for (size_t i = 0; i < a->n; i++)
        at[i] = a->forks[i]->at[0];
    HILO_TRY(upload_i32(s, a->tokens, (int64_t)a->n, a->chunk > 1 ? a->chunk : 0, &a->in[0]));
    HILO_TRY(upload_i32(s, at, (int64_t)a->n, 0, &a->in[1]));
    return a->chunk > 1 ? upload_i32(s, a->take, (int64_t)a->n, 0, &a->in[2]) : HILO_OK;
}

static hilo_status run_apart(const struct apart *a, float *logits) {
    struct llm_session *s = a->forks[0];
    struct llm_graph g = {.kind = a->chunk > 1 ? LLM_PREFILL : LLM_DECODE, .batch = (int64_t)a->n, .context = s->context,
                          .tokens = a->chunk, .apart = a->n > 1};
    size_t ninputs = llm_graph_inputs(&g), nweights = s->model.nparams, ncache = (size_t)s->model.config.arrays;
    void *p = NULL;
    for (size_t i = 0; i < a->n; i++)
        release_mark(a->forks[i]); /* all arrays are donated */
    HILO_TRY(check_weights(s));
    HILO_TRY(llm_session_program(s, &g, &p));
    hilo_status status = upload_apart(a);
    memcpy(a->in + ninputs, s->weights, nweights * sizeof *a->in);
    a->donate[1] = 1;
    for (size_t i = 0; i < a->n; i++)
        memcpy(a->in + ninputs + nweights + i * ncache, a->forks[i]->cache, ncache * sizeof *a->in);
    memset(a->donate + ninputs + nweights, 1, a->n * ncache);
    if (status == HILO_OK)
        status = s->engine->ops->run(s->engine, p, a->in, ninputs + nweights + a->n * ncache, a->donate, a->out,
                                     2 + a->n * ncache);
    for (size_t i = 0; i < ninputs; i++)
        release_array(s, &a->in[i]);
    HILO_TRY(status);
    for (size_t i = 0; i < a->n; i++) {
        struct llm_session *fork = a->forks[i];
        for (size_t k = 0; k < ncache; k++)
            release_array(s, &fork->cache[k]); /* donated */
        memcpy(fork->cache, a->out + 2 + i * ncache, ncache * sizeof *a->out);
        note_written(fork, a->chunk);
        fork->at[0] += a->take[i];
        release_array(s, &fork->tokens);
        release_array(s, &fork->positions);
    }
    status = s->engine->ops->read(s->engine, a->out[0], logits, a->n * (size_t)s->model.config.vocab * sizeof *logits);
    release_array(s, &a->out[0]);
    release_array(s, &a->out[1]);
    return status;
}

/* Runs the step, with memory for its arguments and results. */
static hilo_status step_apart(struct apart *a, float *logits) {
    struct llm_session *s = a->forks[0];
    size_t ncache = (size_t)s->model.config.arrays, nin = LLM_MAX_INPUTS + s->model.nparams + a->n * ncache;
    size_t nout = 2 + a->n * ncache, bytes = (nin + nout) * sizeof(void *) + nin; /* config.c bounds the factors */
    void **block = mem_alloc(rt_client_allocator(s->client), bytes);
    if (!block)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memset(block, 0, bytes);
    a->in = block;
    a->out = block + nin;
    a->donate = (uint8_t *)(block + nin + nout);
    hilo_status status = reserve_apart(a);
    if (status == HILO_OK)
        status = run_apart(a, logits);
    for (size_t i = 0; i < a->n && status != HILO_OK; i++) {
        release_cache(a->forks[i]);
        llm_session_reset(a->forks[i]);
    }
    mem_free(rt_client_allocator(s->client), block, bytes);
    return status;
}

hilo_status llm_session_decode_apart(struct llm_session *const *forks, size_t n, const int32_t *tokens, float *logits) {
    int32_t take[LLM_MAX_APART];
    HILO_TRY(check_ids(forks[0], tokens, n));
    for (size_t i = 0; i < n; i++) {
        if (forks[i]->at[0] >= forks[0]->limit)
            return context_ends(forks[0]);
        take[i] = 1;
    }
    return step_apart(&(struct apart){.forks = forks, .n = n, .chunk = 1, .tokens = tokens, .take = take}, logits);
}

hilo_status llm_session_prefill_apart(struct llm_session *const *forks, size_t n, size_t chunk, const int32_t *const *ids,
                                      const size_t *counts, float *logits) {
    struct llm_session *s = forks[0];
    int32_t take[LLM_MAX_APART];
    size_t bytes = n * chunk * sizeof(int32_t);
    if (n == 1)
        return llm_session_prefill(s, ids, counts, NULL, logits);
    if (chunk < LLM_LEAST_JOINT || chunk > LLM_MAX_CHUNK)
        return llm_error(s->client, HILO_INVALID_ARGUMENT, "portions of %zu tokens are not read together", chunk);
    for (size_t i = 0; i < n; i++) {
        HILO_TRY(check_ids(s, ids[i], counts[i]));
        if (counts[i] == 0 || counts[i] > chunk || (int64_t)chunk > room_after(s, forks[i]->at[0]))
            return llm_error(s->client, HILO_INVALID_ARGUMENT, "%zu tokens are no portion of %zu", counts[i], chunk);
        if (forks[i]->at[0] + (int64_t)chunk > s->limit)
            return context_ends(s);
        take[i] = (int32_t)counts[i];
    }
    int32_t *tokens = mem_alloc(rt_client_allocator(s->client), bytes);
    if (!tokens)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memset(tokens, 0, bytes);
    for (size_t i = 0; i < n; i++)
        memcpy(tokens + i * chunk, ids[i], counts[i] * sizeof *tokens);
    struct apart a = {.forks = forks, .n = n, .chunk = (int64_t)chunk, .tokens = tokens, .take = take};
    hilo_status status = step_apart(&a, logits);
    mem_free(rt_client_allocator(s->client), tokens, bytes);
    return status;
}

/* ---- score ----------------------------------------------------------------------------------- */

/* What is wanted of a text that is scored: of each of its tokens `width` numbers, the result of a program. */
struct scored {
    enum llm_graph_kind kind;
    size_t width;
    float *losses; /* SCORE */
    void (*row)(void *user, size_t i, float *logits); /* LOGITS */
    void *user;
};

static void take_scores(const struct scored *w, size_t from, size_t n, float *numbers) {
    if (w->losses)
        memcpy(w->losses + from, numbers, n * sizeof *numbers);
    for (size_t i = 0; i < n && w->row; i++)
        w->row(w->user, from + i, numbers + i * w->width);
}

/* Resets the session and reads n tokens, but the last one. */
static hilo_status read_scored(struct llm_session *s, const int32_t *ids, size_t n, const struct scored *w) {
    enum { CHUNK = 128 }; /* logits of all its tokens are computed at once */
    if (n < 2 || n > (size_t)s->limit)
        return llm_error(s->client, HILO_INVALID_ARGUMENT, "%zu tokens cannot be scored; 2 to %lld can", n,
                         (long long)s->limit);
    HILO_TRY(check_ids(s, ids, n));
    size_t batch = (size_t)s->batch, words = batch * (2 * CHUNK + 1);
    size_t bytes;
    bool fits = mem_mul(w->width, batch * CHUNK * sizeof(float), &bytes) && mem_add(bytes, words * sizeof(int32_t), &bytes);
    int32_t *block = fits ? mem_alloc(rt_client_allocator(s->client), bytes) : NULL;
    if (!block)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    struct portion p = {.tokens = block, .targets = block + batch * CHUNK, .take = block + 2 * batch * CHUNK};
    float *numbers = (float *)(void *)(block + words);
    hilo_status status = HILO_OK;
    llm_session_reset(s);
    for (size_t from = 0; from + 1 < n && status == HILO_OK; from += (size_t)p.take[0]) {
        size_t left = n - 1 - from;
        void *result = NULL;
        memset(block, 0, words * sizeof *block);
        p.chunk = from + CHUNK <= (size_t)s->limit ? CHUNK : chunk_for(s, (int64_t)left, (int64_t)from, CHUNK);
        p.take[0] = (int32_t)(left < (size_t)p.chunk ? left : (size_t)p.chunk);
        memcpy(p.tokens, ids + from, (size_t)p.take[0] * sizeof *ids);
        memcpy(p.targets, ids + from + 1, (size_t)p.take[0] * sizeof *ids);
        status = run_portion(s, &p, w->kind, false, &result);
        if (status == HILO_OK)
            status = s->engine->ops->read(s->engine, result, numbers, batch * (size_t)p.chunk * w->width * sizeof *numbers);
        if (status == HILO_OK)
            take_scores(w, from, (size_t)p.take[0], numbers);
        release_array(s, &result);
    }
    mem_free(rt_client_allocator(s->client), block, bytes);
    return status;
}

hilo_status llm_session_score(struct llm_session *s, const int32_t *ids, size_t n, float *out) {
    return read_scored(s, ids, n, &(struct scored){.kind = LLM_SCORE, .width = 1, .losses = out});
}

hilo_status llm_session_logits(struct llm_session *s, const int32_t *ids, size_t n,
                               void (*row)(void *user, size_t i, float *logits), void *user) {
    return read_scored(s, ids, n,
                       &(struct scored){.kind = LLM_LOGITS, .width = (size_t)s->model.config.vocab, .row = row, .user = user});
}
