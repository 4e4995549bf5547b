/* Programs of a model: see emit.h. */
#include "llm/layer.h"

#include <stdio.h>

/* f32[n, vocabulary] of f32[n, hidden] */
static ir_val logits(struct emit *e, ir_val x) {
    const struct llm_weight *w = layer_weight(e, e->c->tied ? LLM_W_EMBED : LLM_W_HEAD, 0);
    x = build_scale(&e->b, layer_product(e, layer_norm(e, x, LLM_W_NORM, 0), w), e->c->logit_scale);
    x = layer_capped(e, x, e->c->final_cap);
    return w->rows < e->c->vocab ? build_all_gather(&e->b, x, 1, e->model->shard.count) : x;
}

/* The last valid row of each sequence in x [N, hidden]: [B, hidden]. */
static ir_val last_rows(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    if (e->T == 1)
        return x;
    int64_t dims[] = {e->B};
    ir_val at = build_binary(b, IR_SUBTRACT, e->lengths, build_splat(b, IR_I32_T, dims, 1, 1));
    if (e->B > 1)
        at = build_binary(b, IR_ADD, at, build_binary(b, IR_MULTIPLY, build_iota(b, IR_I32_T, dims, 1, 0),
                                                      build_splat(b, IR_I32_T, dims, 1, (double)e->T)));
    return build_rows(b, x, at);
}

/* log(sum(exp(x))) - x[target], of each row: f32[B, T]. */
static ir_val scores(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    const struct ir_type_data *t = build_type(b, x);
    const int64_t map[] = {0};
    ir_val most = build_reduce(b, IR_MAXIMUM, x, 1);
    ir_val shifted = build_binary(b, IR_SUBTRACT, x, build_broadcast_like(b, most, x, map));
    ir_val sum = build_unary(b, IR_LOG, build_reduce(b, IR_ADD, build_unary(b, IR_EXPONENTIAL, shifted), 1));
    ir_val wanted = build_broadcast(b, layer_reshape(e, e->targets, DIMS(e->N)), t->dims, 2, map);
    ir_val is = build_compare(b, IR_COMPARISON_DIRECTION_EQ, build_iota(b, IR_I32_T, t->dims, 2, 1), wanted);
    ir_val zero = build_splat(b, IR_F32_T, t->dims, 2, 0);
    ir_val got = build_reduce(b, IR_ADD, build_select(b, is, shifted, zero), 1);
    return layer_reshape(e, build_binary(b, IR_SUBTRACT, sum, got), DIMS(e->B, e->T));
}

/* The vector of each text: f32[B, hidden] of f32[N, hidden]. */
static ir_val pooled(struct emit *e, ir_val x) {
    struct build *b = &e->b;
    int64_t hidden = e->c->hidden, dims[] = {e->B, e->T, hidden}, all[] = {0, 1, 2};
    if (e->g->pooling == LLM_POOL_LAST)
        return last_rows(e, x);
    x = layer_reshape(e, x, 3, dims);
    if (e->g->pooling == LLM_POOL_FIRST)
        return layer_reshape(e, build_slice(b, x, 1, 0, 1), DIMS(e->B, hidden));
    ir_val length = build_broadcast(b, e->lengths, dims, 2, all);
    ir_val valid = build_compare(b, IR_COMPARISON_DIRECTION_LT, build_iota(b, IR_I32_T, dims, 2, 1), length);
    x = build_select(b, build_broadcast(b, valid, dims, 3, all), x, build_splat(b, IR_F32_T, dims, 3, 0));
    ir_val sum = build_reduce(b, IR_ADD, x, 1), count = build_convert(b, e->lengths, IR_F32_T);
    return build_binary(b, IR_DIVIDE, sum, build_broadcast_like(b, count, sum, all));
}

/* The program's results but the cache, which is in e->fresh: one of EMBED, else two. */
static void forward(struct emit *e, ir_val out[2]) {
    struct build *b = &e->b;
    if (e->g->kind == LLM_EMBED)
        e->positions = build_splat(b, IR_I32_T, &e->B, 1, 0);
    const ir_val positions = e->positions, lengths = e->lengths;
    layer_positions(e);
    ir_val x = layer_embedding(e, layer_reshape(e, e->tokens, DIMS(e->N)));
    layer_sides(e, x);
    layer_streams_open(e, x);
    for (int64_t i = 0; i < e->c->layers; i++)
        x = layer_run(e, x, i);
    x = layer_streams_close(e, x);
    if (e->g->kind == LLM_EMBED) {
        out[0] = pooled(e, e->c->sum_norms ? x : layer_norm(e, x, LLM_W_NORM, 0));
        return;
    }
    if (e->g->kind == LLM_SCORE) {
        out[0] = scores(e, logits(e, x));
    } else if (e->g->kind == LLM_LOGITS) {
        out[0] = layer_reshape(e, logits(e, x), DIMS(e->B, e->T, e->c->vocab));
    } else if (e->g->kind == LLM_VERIFY) {
        out[0] = layer_reshape(e, layer_greatest(e, logits(e, x)), DIMS(e->B, e->T));
    } else {
        ir_val y = logits(e, x); /* of one token of each sequence: layer_run has dropped the others */
        out[0] = e->g->sample ? layer_greatest(e, y) : y;
    }
    ir_val read = layer_decodes(e) ? build_splat(b, IR_I32_T, &e->B, 1, (double)e->T) : lengths;
    out[1] = build_binary(b, IR_ADD, positions, read);
}

/* ---- the cache ------------------------------------------------------------------------------- */

int64_t llm_ring(const struct llm_config *c, int64_t context) {
    int64_t ring = (c->window + 2 * LLM_MAX_CHUNK - 1) / LLM_MAX_CHUNK * LLM_MAX_CHUNK;
    return c->window && ring < context ? ring : context;
}

struct llm_array llm_cache_array(const struct llm_model *m, int64_t i, int64_t batch, int64_t context) {
    const struct llm_config *c = &m->config;
    const struct llm_delta *d = &c->delta;
    const struct llm_layer *at = c->layer;
    while (at->borrows || at->cache != i / LLM_LAYER_ARRAYS * LLM_LAYER_ARRAYS)
        at++;
    if (at->recurrent && i == at->cache)
        return (struct llm_array){IR_F32_T, {batch, d->heads, d->key_dim, d->value_dim}};
    if (at->recurrent)
        return (struct llm_array){IR_F32_T, {batch, 1, d->taps - 1, 2 * d->key_heads * d->key_dim + d->heads * d->value_dim}};
    return (struct llm_array){m->cache, {batch, at->kv_heads, at->sliding ? llm_ring(c, context) : context, at->head_dim}};
}

/* ---- the function ---------------------------------------------------------------------------- */

struct signature {
    struct ir_module *m;
    ir_block body;
    ir_attr *attrs;
    ir_type *types;
    ir_val *args;
    uint32_t n;
};

/* Adds an argument; `alias` is the result that takes its memory, -1 for none. */
static ir_val argument(struct signature *s, const char *name, ir_type type, int64_t alias) {
    struct ir_module *m = s->m;
    ir_str names[2] = {ir_str_of(m, STR("jax.arg_info")), ir_str_of(m, STR("tf.aliasing_output"))};
    ir_attr attrs[2] = {ir_attr_string(m, str_of(name)), ir_attr_int(m, ir_type_scalar(m, IR_I32_T), alias)};
    s->attrs[s->n] = ir_attr_dict(m, names, attrs, alias < 0 ? 1 : 2);
    s->types[s->n] = type;
    return s->args[s->n++] = ir_block_add_arg(m, s->body, type);
}

uint32_t llm_graph_inputs(const struct llm_graph *g) {
    static const uint32_t n[] = {[LLM_PREFILL] = 3, [LLM_DECODE] = 2, [LLM_VERIFY] = 2,
                                 [LLM_SCORE] = 4, [LLM_LOGITS] = 3, [LLM_EMBED] = 2, [LLM_GROW] = 0};
    return n[g->kind];
}

int64_t llm_graph_caches(const struct llm_graph *g) {
    return g->apart ? g->batch : 1;
}

static void inputs(struct emit *e, struct signature *s) {
    struct ir_module *m = s->m;
    bool decode = e->g->kind == LLM_DECODE;
    ir_type each = ir_type_of(m, IR_I32_T, &e->B, 1), all = ir_type_of(m, IR_I32_T, (int64_t[]){e->B, e->T}, 2);
    e->tokens = argument(s, "tokens", decode ? each : all, decode && e->g->sample ? 0 : -1);
    if (e->g->kind != LLM_EMBED)
        e->positions = argument(s, "positions", each, 1);
    if (!decode && e->g->kind != LLM_VERIFY)
        e->lengths = argument(s, "lengths", each, -1);
    if (e->g->kind == LLM_SCORE)
        e->targets = argument(s, "targets", all, -1);
}

static ir_type array_type(const struct emit *e, int64_t i, int64_t context) {
    struct llm_array a = llm_cache_array(e->model, i, e->g->apart ? 1 : e->B, context);
    return ir_type_of(e->b.m, a.dtype, a.dims, 4);
}

static void arguments(struct emit *e, struct signature *s) {
    struct ir_module *m = s->m;
    const struct llm_model *model = e->model;
    bool grow = e->g->kind == LLM_GROW;
    char name[32];
    if (!grow)
        inputs(e, s);
    e->params = s->args + s->n;
    for (size_t i = 0; i < model->nparams && !grow; i++) {
        const struct llm_param *p = &model->params[i];
        argument(s, p->name.p, ir_type_of(m, p->dtype, p->dims, p->rank), -1);
    }
    e->cache = s->args + s->n;
    if (e->g->kind == LLM_EMBED)
        return;
    if (grow)
        argument(s, "cache", array_type(e, e->g->array, e->C), -1);
    for (int64_t i = 0; i < llm_graph_caches(e->g) * e->c->arrays && !grow; i++) {
        snprintf(name, sizeof name, "%s.%lld", i % LLM_LAYER_ARRAYS ? "values" : "keys", (long long)(i / LLM_LAYER_ARRAYS));
        argument(s, name, array_type(e, i % e->c->arrays, e->C), 2 + i);
    }
}

static void emit_main(struct emit *e, struct ir_module *m) {
    uint32_t ncache = (uint32_t)(llm_graph_caches(e->g) * e->c->arrays), nout = 0;
    size_t most = LLM_MAX_INPUTS + e->model->nparams + ncache;
    struct arena *a = &m->arena;
    struct signature s = {.m = m, .attrs = ARENA_ARRAY(a, ir_attr, most), .types = ARENA_ARRAY(a, ir_type, most),
                          .args = ARENA_ARRAY(a, ir_val, most)};
    ir_val *out = ARENA_ARRAY(a, ir_val, 2 + ncache);
    ir_type *types = ARENA_ARRAY(a, ir_type, 2 + ncache);
    ir_op func = ir_op_new(m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_append(m, ir_module_body(m), func);
    e->b = (struct build){m, s.body = ir_block_new(m, ir_op_region(m, func, 0))};
    arguments(e, &s);
    if (e->g->kind == LLM_GROW) {
        struct llm_array grown = llm_cache_array(e->model, e->g->array, e->B, e->g->grown);
        out[nout++] = build_pad(&e->b, e->cache[0], 2, grown.dims[2]);
    } else {
        e->fresh = out + 2;
        forward(e, out);
        nout = e->g->kind == LLM_EMBED ? 1 : 2 + ncache;
    }
    for (uint32_t i = 0; i < nout; i++)
        types[i] = ir_val_get(m, out[i])->type;
    ir_append(m, s.body, ir_op_new(m, IR_FUNC_RETURN, out, nout, NULL, 0, 0));
    ir_set_prop(m, func, IR_FUNC_sym_name, ir_attr_string(m, STR("main")));
    ir_set_prop(m, func, IR_FUNC_sym_visibility, ir_attr_string(m, STR("public")));
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, ir_type_function(m, s.types, s.n, types, nout)));
    ir_set_prop(m, func, IR_FUNC_arg_attrs, ir_attr_array(m, s.attrs, s.n));
}

hilo_status llm_emit(const struct llm_model *model, const struct llm_graph *g, struct ir_module *m, struct diag_list *d) {
    static const char *const names[] = {[LLM_PREFILL] = "prefill", [LLM_DECODE] = "decode", [LLM_VERIFY] = "verify",
                                        [LLM_SCORE] = "score", [LLM_LOGITS] = "logits", [LLM_EMBED] = "embed",
                                        [LLM_GROW] = "grow"};
    const struct llm_config *c = &model->config;
    struct emit e = {.model = model, .c = c, .g = g, .B = g->batch, .T = g->kind == LLM_DECODE ? 1 : g->tokens, .H = c->heads};
    e.C = g->kind == LLM_EMBED ? e.T : g->context;
    if (!c->generates && g->kind != LLM_EMBED)
        return diag_error(d, HILO_INVALID_ARGUMENT, "the model makes embeddings of texts; it has no logits");
    if (g->kind == LLM_EMBED && e.T > c->positions)
        return diag_error(d, HILO_INVALID_ARGUMENT, "no program for texts of %lld tokens; the limit is %lld", (long long)e.T,
                          (long long)c->positions);
    bool fits = !g->apart || (g->batch <= LLM_MAX_APART && (e.T == 1 || e.T >= LLM_LEAST_JOINT));
    if (g->batch < 1 || e.T < 1 || e.C < e.T || (g->kind == LLM_GROW && g->grown < g->context) ||
        e.C > INT32_MAX || g->batch > INT32_MAX / e.C || !fits)
        return diag_error(d, HILO_INVALID_ARGUMENT, "no program for a batch of %lld, %lld tokens, a context of %lld",
                          (long long)g->batch, (long long)e.T, (long long)e.C);
    e.N = e.B * e.T;
    e.type = layer_decodes(&e) ? model->decode : model->prefill;
    if (g->kind == LLM_VERIFY && (g->apart || e.N > LLM_MAX_APART))
        return diag_error(d, HILO_INVALID_ARGUMENT, "no program that verifies %lld tokens; the limit is %d", (long long)e.N,
                          LLM_MAX_APART);
    char name[64];
    int n = snprintf(name, sizeof name, "%s_%s", c->family, names[g->kind]);
    m->name = (struct str){arena_dup(&m->arena, name, (size_t)n, 1), (size_t)n};
    ir_set_prop(m, m->root, IR_MODULE_sym_name, ir_attr_string(m, m->name));
    if (model->shard.count > 1) {
        ir_str count = ir_str_of(m, STR("mhlo.num_partitions"));
        ir_attr is = ir_attr_int(m, ir_type_scalar(m, IR_I32_T), model->shard.count);
        ir_set_attrs(m, m->root, ir_attr_dict(m, &count, &is, 1));
    }
    emit_main(&e, m);
    return ir_verify(m, d);
}
