/* A request for text from its prompt to its answer. */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>

void text_free(struct text *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++) {
        serve_job_free(&t->choices[i].job);
        json_decref(t->choices[i].calls);
    }
    for (size_t i = 0; i < t->stops.n; i++)
        free(t->stops.v[i]);
    free(t->stops.v);
    free(t->choices);
    llm_grammar_free(t->grammar);
    llm_ids_free(&t->prompt);
    json_decref(t->request);
    free(t);
}

/* ---- prompts --------------------------------------------------------------------------------- */

/* The last of the prompts, which begins at id `from`. */
static bool check_prompt(struct call *c, struct text *t, size_t from) {
    size_t n = t->prompt.n - from;
    if (t->prompt.failed)
        return serve_error(c, 500, NULL, NULL, "out of memory");
    if (n == 0)
        return serve_error(c, 400, NULL, NULL, "the prompt has no tokens");
    if (n >= (size_t)t->model->s->limit)
        return serve_error(c, 400, "context_length_exceeded", NULL, "the prompt has %zu tokens; the context has %lld", n,
                           (long long)t->model->s->limit);
    return true;
}

bool text_choices(struct call *c, struct text *t, const size_t *ends, size_t n) {
    t->choices = calloc(n * t->tried, sizeof *t->choices);
    if (!t->choices)
        return serve_error(c, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < n * t->tried; i++) {
        struct serve_job *j = &t->choices[t->n++].job;
        size_t which = i / t->tried, from = which ? ends[which - 1] : 0;
        serve_job_init(j);
        j->task = &t->task;
        j->seed = t->seed + i % t->tried;
        j->prompt = t->prompt.v + from;
        j->nprompt = ends[which] - from;
    }
    return true;
}

/* The ids that a list has, and of llama-server's the texts between them; appended to the prompts. */
static bool read_ids(struct call *c, struct text *t, const json_t *list) {
    const json_t *one;
    size_t i;
    json_array_foreach(list, i, one) {
        json_int_t id = json_integer_value(one);
        if (t->api == SERVE_LLAMA && json_is_string(one)) {
            struct str text = {json_string_value(one), json_string_length(one)};
            hilo_status status = llm_tok_encode(t->model->s->tok, text, NULL, i ? 0 : LLM_TOK_POST, &c->d, &t->prompt);
            if (status != HILO_OK)
                return serve_failed(c, status, "prompt");
            continue;
        }
        if (!json_is_integer(one) || id < 0 || id >= t->model->s->model.config.vocab)
            return serve_error(c, 400, NULL, "prompt", "'prompt' has something else than ids of tokens");
        llm_ids_push(&t->prompt, (int32_t)id);
    }
    return true;
}

static bool read_prompt(struct call *c, struct text *t, const json_t *v) {
    struct str text = {json_string_value(v), json_string_length(v)};
    size_t before = t->prompt.n;
    hilo_status status = HILO_OK;
    if (json_is_string(v))
        status = llm_tok_encode(t->model->s->tok, text, NULL, LLM_TOK_POST, &c->d, &t->prompt);
    else if (!json_is_array(v))
        return serve_error(c, 400, NULL, "prompt", "'prompt' is not a text, a list of ids, or a list of those");
    else if (!read_ids(c, t, v))
        return false;
    return status == HILO_OK ? check_prompt(c, t, before) : serve_failed(c, status, "prompt");
}

bool text_prompts(struct call *c, struct text *t, const json_t *prompts) {
    const json_t *one, *first = json_array_get(prompts, 0);
    size_t n = 0, i, *ends;
    bool mixed = false, good = true;
    json_array_foreach(prompts, i, one) mixed |= t->api == SERVE_LLAMA && json_is_integer(one);
    bool list = json_is_array(prompts) && !json_is_integer(first) && !mixed, empty = list && !first;
    n = list ? json_array_size(prompts) : 1;
    if (empty || n > c->server->o.queue / t->tried)
        return serve_error(c, 400, NULL, "prompt", "'prompt' has %zu texts; 1 to %zu are possible", n,
                           c->server->o.queue / t->tried);
    ends = calloc(n, sizeof *ends);
    for (i = 0; i < n && ends && good; i++) {
        good = read_prompt(c, t, list ? json_array_get(prompts, i) : prompts);
        ends[i] = t->prompt.n;
    }
    good = good && (ends || serve_error(c, 500, NULL, NULL, "out of memory")) && text_choices(c, t, ends, n);
    free(ends);
    return good;
}

/* Whether the text ends within the model's reasoning: the template has begun it. */
static bool ends_thinking(const struct jinja_text *text) {
    size_t n = text->n;
    while (n && strchr(" \t\r\n", text->p[n - 1]))
        n--;
    return n >= 7 && memcmp(text->p + n - 7, "<think>", 7) == 0 && !text->from_input[n - 1];
}

bool text_prompt_chat(struct call *c, struct text *t, const json_t *input) {
    struct jinja_text text;
    hilo_status status = llm_chat_render(&t->model->s->chat, input, &c->d, &text);
    if (status == HILO_OK)
        status = llm_tok_encode(t->model->s->tok, (struct str){text.p, text.n}, text.from_input, 0, &c->d, &t->prompt);
    t->thinking = status == HILO_OK && ends_thinking(&text);
    jinja_text_free(&text);
    if (status != HILO_OK)
        return serve_failed(c, status, "messages");
    return check_prompt(c, t, 0) && text_choices(c, t, &t->prompt.n, 1);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool all_ended(const struct text *t) {
    for (size_t i = 0; i < t->n; i++)
        if (t->choices[i].job.state != SERVE_DONE)
            return false;
    return true;
}

/* The jobs are the scheduler's until they have ended. */
static void cancel(struct text *t) {
    bool ended = !t->submitted;
    for (size_t i = 0; i < t->n && !ended; i++)
        schedule_cancel(t->model->x, &t->choices[i].job);
    while (!ended) {
        schedule_wait(t->model->x, &t->version, 1000);
        ended = all_ended(t);
        schedule_release(t->model->x);
    }
}

enum { POLL_MS = 200 }; /* how soon it is noticed that a client has gone */

/* ---- whole answers --------------------------------------------------------------------------- */

/* The first of the choices that have ended without a text, so far. */
static const struct serve_job *failure(const struct text *t) {
    for (size_t i = 0; i < t->n; i++)
        if (t->choices[i].job.end > SERVE_END_LENGTH)
            return &t->choices[i].job;
    return NULL;
}

static unsigned failure_status(const struct serve_job *j) {
    return j->end == SERVE_END_TIME ? 504 : j->end == SERVE_END_CANCELLED ? 503 : 500;
}

static const char *failure_text(const struct serve_job *j) {
    return j->end == SERVE_END_TIME        ? "the time for this request is over"
           : j->end == SERVE_END_CANCELLED ? "the request was cancelled"
                                           : j->why;
}

bool text_wait(struct call *c, struct text *t) {
    const struct serve_job *failed = NULL;
    bool ended = false;
    while (!ended && !failed && !http_gone(c->http)) {
        schedule_wait(t->model->x, &t->version, POLL_MS);
        ended = all_ended(t);
        failed = failure(t);
        schedule_release(t->model->x);
    }
    if (!ended)
        cancel(t);
    failed = failed ? failed : failure(t);
    return !failed || serve_error(c, failure_status(failed), NULL, NULL, "%s", failure_text(failed));
}

/* ---- streams --------------------------------------------------------------------------------- */

struct stream {
    struct text *text;
    bool (*piece)(struct text *t, struct strbuf *out);
    bool ended;
};

/* Waits for a change that gives text. The first choice that fails ends the stream with an error. A client that has gone is not
   written to. */
static bool next_piece(void *user, struct strbuf *out) {
    enum { QUIET = 15 }; /* seconds after which a comment keeps the connection alive */
    struct stream *s = user;
    struct text *t = s->text;
    double begin = rt_now_ms();
    size_t before = out->n;
    while (!s->ended && out->n == before) {
        if (http_gone(&t->http))
            return false;
        schedule_wait(t->model->x, &t->version, POLL_MS);
        const struct serve_job *failed = failure(t);
        if (failed) {
            serve_event(out, t->api == SERVE_RESPONSES ? "error" : NULL,
                        serve_error_object(failure_status(failed), NULL, NULL, failure_text(failed)));
            s->ended = true;
        } else {
            s->ended = !s->piece(t, out);
        }
        schedule_release(t->model->x);
        if (out->n == before && rt_now_ms() - begin > 1e3 * QUIET)
            strbuf_puts(out, ": waiting\n\n");
    }
    return !s->ended;
}

static void end_stream(void *user) {
    struct stream *s = user;
    cancel(s->text);
    text_free(s->text);
    free(s);
}

bool text_submit(struct call *c, struct text *t) {
    struct serve_job **jobs = malloc(t->n * sizeof *jobs);
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < t->n && jobs; i++)
        jobs[i] = &t->choices[i].job;
    if (jobs)
        status = schedule_submit(t->model->x, jobs, t->n);
    free(jobs);
    t->submitted = status == HILO_OK;
    if (status == HILO_UNAVAILABLE)
        return serve_error(c, 503, "overloaded", NULL, "too many requests are waiting");
    return t->submitted || serve_error(c, 500, NULL, NULL, "out of memory");
}

void text_answer(struct call *c, struct text *t, json_t *(*whole)(struct text *t),
                 bool (*piece)(struct text *t, struct strbuf *out)) {
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        serve_error(c, 500, NULL, NULL, "out of memory");
    if (s && text_submit(c, t) && t->stream) {
        *s = (struct stream){.text = t, .piece = piece};
        c->answer->status = 200;
        c->answer->type = "text/event-stream";
        c->answer->next = next_piece;
        c->answer->end = end_stream;
        c->answer->user = s;
        return;
    }
    if (t->submitted && text_wait(c, t))
        serve_json(c, whole(t));
    free(s);
    text_free(t);
}

/* ---- parts of answers ------------------------------------------------------------------------ */

const char *text_finish(const struct choice *x) {
    return x->calls ? "tool_calls" : x->job.end == SERVE_END_LENGTH ? "length" : "stop";
}

json_t *text_usage(const struct text *t) {
    json_int_t prompt = (json_int_t)t->prompt.n, cached = 0, tokens = 0;
    bool responses = t->api == SERVE_RESPONSES;
    for (size_t i = 0; i < t->n; i++) {
        tokens += (json_int_t)t->choices[i].job.ids.n;
        cached += i % t->tried ? 0 : (json_int_t)t->choices[i].job.cached;
    }
    return json_pack("{s:I,s:I,s:I,s:{s:I}}", responses ? "input_tokens" : "prompt_tokens", prompt,
                     responses ? "output_tokens" : "completion_tokens", tokens, "total_tokens", prompt + tokens,
                     responses ? "input_tokens_details" : "prompt_tokens_details", "cached_tokens", cached);
}

struct str text_visible(const struct choice *x) {
    return (struct str){x->job.visible ? x->job.text.p : "", x->job.visible};
}
