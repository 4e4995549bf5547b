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

static bool check_prompt(struct call *c, struct text *t) {
    if (t->prompt.n == 0)
        return serve_error(c, 400, NULL, NULL, "the prompt has no tokens");
    if (t->prompt.n >= (size_t)t->model->s->limit)
        return serve_error(c, 400, "context_length_exceeded", NULL, "the prompt has %zu tokens; the context has %lld",
                           t->prompt.n, (long long)t->model->s->limit);
    return true;
}

bool text_prompt(struct call *c, struct text *t, struct str prompt) {
    hilo_status status = llm_tok_encode(t->model->s->tok, prompt, NULL, LLM_TOK_POST, &c->d, &t->prompt);
    return status == HILO_OK ? check_prompt(c, t) : serve_failed(c, status, "prompt");
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
    return status == HILO_OK ? check_prompt(c, t) : serve_failed(c, status, "messages");
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
    bool ended = false;
    while (!ended && !http_gone(c->http)) {
        schedule_wait(t->model->x, &t->version, POLL_MS);
        ended = all_ended(t);
        schedule_release(t->model->x);
    }
    if (!ended)
        cancel(t);
    const struct serve_job *failed = failure(t);
    return !failed || serve_error(c, failure_status(failed), NULL, NULL, "%s", failure_text(failed));
}

/* ---- streams --------------------------------------------------------------------------------- */

struct stream {
    struct text *text;
    bool (*piece)(struct text *t, struct strbuf *out);
    bool ended;
};

/* Waits for a change that gives text. A client that has gone is not written to. */
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
        bool ended = all_ended(t);
        const struct serve_job *failed = ended ? failure(t) : NULL;
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
    for (size_t i = 0; i < t->n; i++) {
        t->choices[i].job.prompt = t->prompt.v;
        t->choices[i].job.nprompt = t->prompt.n;
    }
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
    json_int_t prompt = (json_int_t)t->prompt.n, cached = (json_int_t)t->choices[0].job.cached, tokens = 0;
    bool responses = t->api == SERVE_RESPONSES;
    for (size_t i = 0; i < t->n; i++)
        tokens += (json_int_t)t->choices[i].job.ids.n;
    return json_pack("{s:I,s:I,s:I,s:{s:I}}", responses ? "input_tokens" : "prompt_tokens", prompt,
                     responses ? "output_tokens" : "completion_tokens", tokens, "total_tokens", prompt + tokens,
                     responses ? "input_tokens_details" : "prompt_tokens_details", "cached_tokens", cached);
}

struct str text_visible(const struct choice *x) {
    return (struct str){x->job.visible ? x->job.text.p : "", x->job.visible};
}
