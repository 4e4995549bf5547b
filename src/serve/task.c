/* Parameters of requests for text: a table of the numbers, and those that need more. */
#include "serve/server.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_CHOICES = 16, MOST_STOPS = 16, COMPLETION_TOKENS = 16 /* OpenAI's default */ };

/* ---- numbers --------------------------------------------------------------------------------- */

struct number {
    const char *name;
    size_t at;  /* in struct serve_task */
    bool whole; /* size_t or int64_t, else double */
    double least, most;
};

#define TASK(field) offsetof(struct serve_task, field)
static const struct number numbers[] = {
    {"temperature", TASK(sampling.temperature), false, 0, 100},
    {"top_p", TASK(sampling.top_p), false, 0, 1},
    {"min_p", TASK(sampling.min_p), false, 0, 1},
    {"repetition_penalty", TASK(sampling.repetition), false, 0.01, 100},
    {"repeat_penalty", TASK(sampling.repetition), false, 0.01, 100},
    {"frequency_penalty", TASK(frequency), false, -2, 2},
    {"presence_penalty", TASK(presence), false, -2, 2},
    {"top_k", TASK(sampling.top_k), true, 0, 1e9},
    {"max_tokens", TASK(most), true, 0, 1e9},
    {"max_completion_tokens", TASK(most), true, 1, 1e9},
    {"max_output_tokens", TASK(most), true, 1, 1e9},
    {"n_predict", TASK(most), true, -1, 1e9}, /* -1: SIZE_MAX */
};

static bool number(struct call *c, const json_t *v, const struct number *n, double *out) {
    *out = json_number_value(v);
    if (n->whole ? !json_is_integer(v) : !json_is_number(v))
        return serve_error(c, 400, NULL, n->name, "'%s' is not %s", n->name, n->whole ? "an integer" : "a number");
    if (!(*out >= n->least && *out <= n->most))
        return serve_error(c, 400, NULL, n->name, "'%s' is not %g to %g", n->name, n->least, n->most);
    return true;
}

static bool read_numbers(struct call *c, enum serve_api api, struct serve_task *t) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct number *n = &numbers[i];
        const json_t *v = json_object_get(c->body, n->name);
        double x;
        if (!v || json_is_null(v))
            continue;
        if (!number(c, v, n, &x))
            return false;
        if (n->whole)
            *(int64_t *)(void *)((char *)t + n->at) = (int64_t)x; /* size_t fields have its size */
        else
            *(double *)(void *)((char *)t + n->at) = x;
    }
    if (t->most == 0 && api != SERVE_COMPLETION && api != SERVE_LLAMA)
        return serve_error(c, 400, NULL, "max_tokens", "no tokens are asked for");
    if (t->sampling.top_p == 0)
        t->sampling.top_k = 1; /* nothing but the most probable token */
    t->sampling.top_p = t->sampling.top_p > 0 ? t->sampling.top_p : 1;
    return true;
}
_Static_assert(sizeof(size_t) == sizeof(int64_t), "whole numbers are written as int64_t");

static bool integer(struct call *c, const char *name, int64_t least, int64_t most, int64_t *out) {
    const json_t *v = json_object_get(c->body, name);
    if (!v || json_is_null(v))
        return true;
    if (!json_is_integer(v) || json_integer_value(v) < least || json_integer_value(v) > most)
        return serve_error(c, 400, NULL, name, "'%s' is not an integer from %lld to %lld", name, (long long)least,
                           (long long)most);
    *out = json_integer_value(v);
    return true;
}

static bool flag(struct call *c, const json_t *object, const char *name, bool *out) {
    const json_t *v = json_object_get(object, name);
    if (v && !json_is_null(v) && !json_is_boolean(v))
        return serve_error(c, 400, NULL, name, "'%s' is not true or false", name);
    *out = v ? json_is_true(v) : *out;
    return true;
}

/* ---- others ---------------------------------------------------------------------------------- */

static bool read_stops(struct call *c, struct text *t) {
    const json_t *stop = json_object_get(c->body, "stop");
    size_t n = json_is_array(stop) ? json_array_size(stop) : stop && !json_is_null(stop);
    if (n > MOST_STOPS)
        return serve_error(c, 400, NULL, "stop", "there are %zu stop strings; at most %d are possible", n, MOST_STOPS);
    t->stops.v = calloc(n + 1, sizeof *t->stops.v);
    if (!t->stops.v)
        return serve_error(c, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(stop) ? json_array_get(stop, i) : stop;
        const char *text = json_string_value(one);
        if (!text || !*text)
            return serve_error(c, 400, NULL, "stop", "'stop' is not a string with characters, or a list of them");
        if (!(t->stops.v[i] = strdup(text)))
            return serve_error(c, 500, NULL, NULL, "out of memory");
        t->stops.n++;
    }
    t->task.stops = (struct llm_stops){(const char *const *)t->stops.v, t->stops.n};
    return true;
}

static bool read_bias(struct call *c, struct text *t) {
    const json_t *bias = json_object_get(c->body, "logit_bias");
    const char *key;
    json_t *v;
    if (!bias || json_is_null(bias))
        return true;
    if (!json_is_object(bias) || json_object_size(bias) > SERVE_MAX_BIAS)
        return serve_error(c, 400, NULL, "logit_bias", "'logit_bias' is not an object of at most %d tokens", SERVE_MAX_BIAS);
    json_object_foreach((json_t *)(uintptr_t)bias, key, v) {
        char *end;
        long long id = strtoll(key, &end, 10);
        double by = json_number_value(v);
        if (*end || end == key || id < 0 || id >= t->model->s->model.config.vocab || !json_is_number(v) ||
            !(by >= -100 && by <= 100))
            return serve_error(c, 400, NULL, "logit_bias", "'logit_bias' does not map ids of tokens to -100 to 100: '%.20s'",
                               key);
        t->task.bias[t->task.nbias++] = (struct serve_bias){(int32_t)id, by <= -100 ? -INFINITY : by};
    }
    return true;
}

/* Chat: `logprobs` is a flag and `top_logprobs` a number; completions: `logprobs` is the number; llama-server: `n_probs`, of
   which 0 is none. */
static bool read_scores(struct call *c, struct text *t) {
    const char *name = t->api == SERVE_LLAMA ? "n_probs" : "logprobs";
    const json_t *v = json_object_get(c->body, name);
    int64_t top = 0;
    if (t->api == SERVE_COMPLETION || t->api == SERVE_LLAMA) {
        if (!integer(c, name, 0, SERVE_MAX_TOP, &top))
            return false;
        t->task.score = t->api == SERVE_LLAMA ? top > 0 : v && !json_is_null(v);
    } else {
        if (!flag(c, c->body, "logprobs", &t->task.score) || !integer(c, "top_logprobs", 0, SERVE_MAX_TOP, &top))
            return false;
        if (top && !t->task.score)
            return serve_error(c, 400, NULL, "top_logprobs", "'top_logprobs' needs 'logprobs'");
    }
    t->task.ntop = (size_t)top;
    return true;
}

bool text_grammar(struct call *c, struct text *t, struct str grammar, const char *param) {
    llm_grammar_free(t->grammar);
    t->grammar = NULL;
    hilo_status status = llm_grammar_parse(grammar, mem_system_allocator(), &c->d, &t->grammar);
    t->task.grammar = t->grammar;
    return status == HILO_OK || serve_failed(c, status, param);
}

bool text_schema(struct call *c, struct text *t, const json_t *schema, const char *param) {
    struct strbuf grammar;
    strbuf_init(&grammar, mem_system_allocator());
    hilo_status status = llm_grammar_schema(schema, &c->d, &grammar);
    bool good =
        status == HILO_OK ? text_grammar(c, t, (struct str){grammar.p, grammar.n}, param) : serve_failed(c, status, param);
    strbuf_free(&grammar);
    return good;
}

/* `response_format`, or `text.format` of the responses API: {"type": "json_schema", "json_schema": {"schema": …}}, or the
   schema in the format itself. */
static bool read_format(struct call *c, struct text *t) {
    const json_t *format = json_object_get(c->body, "response_format"), *grammar = json_object_get(c->body, "grammar");
    const json_t *schema_of_llama = json_object_get(c->body, "json_schema");
    if (t->api == SERVE_RESPONSES)
        format = json_object_get(json_object_get(c->body, "text"), "format");
    if (grammar && !json_is_null(grammar)) {
        if (!json_is_string(grammar))
            return serve_error(c, 400, NULL, "grammar", "'grammar' is not a string");
        return text_grammar(c, t, (struct str){json_string_value(grammar), json_string_length(grammar)}, "grammar");
    }
    if (t->api == SERVE_LLAMA && schema_of_llama && !json_is_null(schema_of_llama))
        return text_schema(c, t, schema_of_llama, "json_schema");
    if (!format || json_is_null(format))
        return true;
    const char *type = json_string_value(json_object_get(format, "type"));
    const json_t *inner = json_object_get(format, "json_schema"), *schema = json_object_get(inner ? inner : format, "schema");
    if (type && strcmp(type, "text") == 0)
        return true;
    if (type && strcmp(type, "json_object") == 0)
        return text_schema(c, t, schema, "response_format");
    if (!type || strcmp(type, "json_schema") != 0)
        return serve_error(c, 400, NULL, "response_format",
                           "the type of 'response_format' is not text, json_object or json_schema");
    if (!json_is_object(schema))
        return serve_error(c, 400, NULL, "response_format", "'response_format' has no 'json_schema' with an object 'schema'");
    return text_schema(c, t, schema, "response_format");
}

/* What is not obeyed is named in the log. */
static void log_unknown(const struct call *c, const struct text *t) {
    enum { ANY = ~0 };
    static const struct {
        const char *name;
        int apis; /* bits, 1 << enum serve_api */
    } others[] = {
        {"model", ANY},
        {"messages", ANY},
        {"prompt", ANY},
        {"input", ANY},
        {"instructions", ANY},
        {"stream", ANY},
        {"stream_options", ANY},
        {"stop", ANY},
        {"n", ANY},
        {"seed", ANY},
        {"logit_bias", ANY},
        {"logprobs", ANY},
        {"top_logprobs", ANY},
        {"response_format", ANY},
        {"grammar", ANY},
        {"text", ANY},
        {"tools", ANY},
        {"tool_choice", ANY},
        {"chat_template_kwargs", ANY},
        {"echo", ANY},
        {"ignore_eos", ANY},
        {"user", ANY},
        {"parallel_tool_calls", ANY},
        {"store", ANY},
        {"metadata", ANY},
        {"reasoning_effort", ANY},
        {"previous_response_id", ANY},
        {"encoding_format", ANY},
        {"best_of", 1 << SERVE_COMPLETION},
        {"suffix", 1 << SERVE_COMPLETION},
        {"n_probs", 1 << SERVE_LLAMA},
        {"json_schema", 1 << SERVE_LLAMA},
        {"cache_prompt", 1 << SERVE_LLAMA},
        {"return_tokens", 1 << SERVE_LLAMA},
        {"add_generation_prompt", 1 << SERVE_CHAT},
        {"dimensions", ANY},
    };
    const char *key;
    json_t *v;
    json_object_foreach(c->body, key, v) {
        bool known = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known |= (others[i].apis & 1 << t->api) != 0 && strcmp(key, others[i].name) == 0;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            known |= strcmp(key, numbers[i].name) == 0;
        if (!known)
            serve_log(c->server, "%s: '%.60s' is not supported and was ignored", t->id, key);
    }
}

/* A seed for a request that brings none. */
static uint64_t any_seed(struct server *s) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t parts[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, s->number};
    return str_hash(parts, sizeof parts, 0);
}

static bool read_task(struct call *c, struct text *t) {
    int64_t n = 1, best = 0, seed = -1;
    const json_t *stream = json_object_get(c->body, "stream_options");
    if (!read_numbers(c, t->api, &t->task) || !integer(c, "n", 1, MOST_CHOICES, &n) ||
        (t->api == SERVE_COMPLETION && !integer(c, "best_of", 1, MOST_CHOICES, &best)) ||
        !integer(c, "seed", INT64_MIN, INT64_MAX, &seed) || !flag(c, c->body, "stream", &t->stream) ||
        !flag(c, stream, "include_usage", &t->usage) || !flag(c, c->body, "ignore_eos", &t->task.ignore_end) ||
        !read_stops(c, t) || !read_bias(c, t) || !read_scores(c, t) || !read_format(c, t))
        return false;
    const char *flaw = llm_sampling_flaw(&t->task.sampling);
    if (flaw)
        return serve_error(c, 400, NULL, NULL, "%s", flaw);
    const struct serve_options *o = &c->server->o;
    if (o->most_tokens && t->task.most > o->most_tokens)
        t->task.most = o->most_tokens;
    if (o->timeout_s)
        t->task.deadline = rt_now_ms() + 1e3 * o->timeout_s;
    t->kept = (size_t)n;
    t->tried = (size_t)(best ? best : n);
    if (t->tried < t->kept)
        return serve_error(c, 400, NULL, "best_of", "'best_of' is less than 'n'");
    if (t->tried > t->kept && t->stream)
        return serve_error(c, 400, NULL, "best_of", "the best of several texts cannot be streamed");
    t->scored = t->task.score;
    t->task.score |= t->tried > t->kept;
    const json_t *given = json_object_get(c->body, "seed");
    bool any = !json_is_integer(given) || (t->api == SERVE_LLAMA && seed == -1);
    t->seed = any ? any_seed(c->server) : (uint64_t)seed;
    log_unknown(c, t);
    return true;
}

struct text *text_new(struct call *c, enum serve_api api) {
    static const char *const prefixes[] = {
        [SERVE_CHAT] = "chatcmpl", [SERVE_COMPLETION] = "cmpl", [SERVE_LLAMA] = "cmpl", [SERVE_RESPONSES] = "resp",
        [SERVE_EMBEDDINGS] = "embd"};
    struct serve_model *m = serve_model_of(c);
    if (!m)
        return NULL;
    if (api != SERVE_EMBEDDINGS && !m->s->model.config.generates) {
        serve_error(c, 400, NULL, "model", "the model '%s' makes embeddings, no text", m->id);
        return NULL;
    }
    struct text *t = calloc(1, sizeof *t);
    if (!t) {
        serve_error(c, 500, NULL, NULL, "out of memory");
        return NULL;
    }
    t->server = c->server;
    t->model = m;
    t->api = api;
    t->http = *c->http;
    t->created = time(NULL);
    t->task.sampling = (struct llm_sampling){.temperature = 1, .top_p = 1, .repetition = 1};
    t->task.most = api == SERVE_COMPLETION ? COMPLETION_TOKENS : SIZE_MAX;
    llm_ids_init(&t->prompt, mem_system_allocator());
    snprintf(t->id, sizeof t->id, "%s-%llx%llx", prefixes[api], (unsigned long long)t->created,
             (unsigned long long)++c->server->number);
    if (read_task(c, t))
        return t;
    text_free(t);
    return NULL;
}
