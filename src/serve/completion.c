/* /v1/completions. */
#include "serve/server.h"

#include <stdlib.h>

static json_t *envelope(const struct text *t, json_t *choices) {
    return json_pack("{s:s,s:s,s:I,s:s,s:o}", "id", t->id, "object", "text_completion", "created", (json_int_t)t->created,
                     "model", t->model->id, "choices", choices);
}

static json_t *token_text(const struct text *t, int32_t id) {
    return serve_text(llm_tok_bytes(t->model->s->tok, id));
}

struct columns {
    json_t *tokens, *scores, *tops, *offsets;
};

static void add_token(const struct text *t, struct columns *x, int32_t id, json_t *score, json_t *top, size_t offset) {
    json_array_append_new(x->tokens, token_text(t, id));
    json_array_append_new(x->scores, score);
    json_array_append_new(x->tops, top);
    json_array_append_new(x->offsets, json_integer((json_int_t)offset));
}

/* The columns of `logprobs` for tokens `first` … last - 1; before them those of the prompt with `echo`. */
static json_t *scores(const struct text *t, const struct choice *x, size_t first, size_t last, bool echo) {
    struct columns out = {json_array(), json_array(), json_array(), json_array()};
    size_t offset = 0;
    for (size_t i = 0; i < t->prompt.n && echo; i++) {
        const double *score = i && x->job.prompt_scores ? &x->job.prompt_scores[i - 1] : NULL; /* NULL: the job failed before */
        json_t *top = score ? json_object() : json_null();
        struct str bytes = llm_tok_bytes(t->model->s->tok, t->prompt.v[i]);
        if (score) { /* of all tokens at this place only the prompt's was computed */
            json_t *name = serve_text(bytes);
            json_object_set_new(top, json_string_value(name), json_real(*score));
            json_decref(name);
        }
        add_token(t, &out, t->prompt.v[i], score ? json_real(*score) : json_null(), top, offset);
        offset += llm_tok_is_special(t->model->s->tok, t->prompt.v[i]) ? 0 : bytes.n;
    }
    for (size_t i = first; i < last; i++) {
        const struct serve_token *token = &x->job.tokens.v[i];
        json_t *top = json_object();
        for (size_t k = 0; k < t->task.ntop; k++) {
            json_t *name = token_text(t, token->top[k].id);
            json_object_set_new(top, json_string_value(name), json_real((double)token->top[k].x));
            json_decref(name);
        }
        add_token(t, &out, token->id, json_real(token->log_probability), top, offset + (i ? x->job.tokens.v[i - 1].end : 0));
    }
    return json_pack("{s:o,s:o,s:o,s:o}", "tokens", out.tokens, "token_logprobs", out.scores, "top_logprobs", out.tops,
                     "text_offset", out.offsets);
}

static json_t *choice_of(size_t index, json_t *text, json_t *score, const char *finish) {
    return json_pack("{s:I,s:o,s:o,s:s?}", "index", (json_int_t)index, "text", text, "logprobs", score ? score : json_null(),
                     "finish_reason", finish);
}

/* The text of the prompt's tokens, with `echo`. */
static void put_prompt(const struct text *t, struct strbuf *out) {
    if (t->echo)
        llm_tok_decode(t->model->s->tok, t->prompt.v, t->prompt.n, false, out);
}

static json_t *whole(struct text *t) {
    json_t *choices = json_array();
    for (size_t i = 0; i < t->n; i++) {
        const struct choice *x = &t->choices[i];
        struct strbuf all;
        strbuf_init(&all, mem_system_allocator());
        put_prompt(t, &all);
        strbuf_str(&all, text_visible(x));
        json_t *score = t->task.score ? scores(t, x, 0, x->job.tokens.n, t->echo) : NULL;
        json_array_append_new(choices,
                              choice_of(i, serve_text((struct str){all.p ? all.p : "", all.n}), score, text_finish(x)));
        strbuf_free(&all);
    }
    json_t *v = envelope(t, choices);
    json_object_set_new(v, "usage", text_usage(t));
    return v;
}

static bool pieces(struct text *t, struct strbuf *out) {
    bool ended = true;
    for (size_t i = 0; i < t->n; i++) {
        struct choice *x = &t->choices[i];
        const struct serve_job *j = &x->job;
        bool end = j->state == SERVE_DONE;
        struct str text = text_visible(x);
        if (x->ended || (!end && text.n == x->content))
            continue;
        struct strbuf piece;
        strbuf_init(&piece, mem_system_allocator());
        if (!x->begun)
            put_prompt(t, &piece);
        strbuf_putn(&piece, text.p + x->content, text.n - x->content);
        json_t *score = t->task.score ? scores(t, x, x->tokens, j->tokens.n, t->echo && !x->begun) : NULL;
        json_t *choice =
            choice_of(i, serve_text((struct str){piece.p ? piece.p : "", piece.n}), score, end ? text_finish(x) : NULL);
        serve_event(out, NULL, envelope(t, json_pack("[o]", choice)));
        strbuf_free(&piece);
        x->begun = true;
        x->content = text.n;
        x->tokens = j->tokens.n;
        x->ended = end;
    }
    for (size_t i = 0; i < t->n; i++)
        ended &= t->choices[i].ended;
    if (!ended)
        return true;
    if (t->usage) {
        json_t *v = envelope(t, json_array());
        json_object_set_new(v, "usage", text_usage(t));
        serve_event(out, NULL, v);
    }
    strbuf_puts(out, "data: [DONE]\n\n");
    return false;
}

/* A string, a list of one, or a list of ids. */
static bool read_prompt(struct call *c, struct text *t) {
    const json_t *prompt = json_object_get(c->body, "prompt"), *one;
    size_t i;
    if (json_is_array(prompt) && json_array_size(prompt) == 1 && !json_is_integer(json_array_get(prompt, 0)))
        prompt = json_array_get(prompt, 0);
    if (json_is_string(prompt))
        return text_prompt(c, t, (struct str){json_string_value(prompt), json_string_length(prompt)});
    if (!json_is_array(prompt))
        return serve_error(c, 400, NULL, "prompt", "'prompt' is not one text or one list of tokens");
    json_array_foreach(prompt, i, one) {
        json_int_t id = json_integer_value(one);
        if (!json_is_integer(one) || id < 0 || id >= t->model->s->model.config.vocab)
            return serve_error(c, 400, NULL, "prompt", "'prompt' has something else than ids of tokens");
        llm_ids_push(&t->prompt, (int32_t)id);
    }
    if (t->prompt.failed)
        return serve_error(c, 500, NULL, NULL, "out of memory");
    if (t->prompt.n == 0 || t->prompt.n >= (size_t)t->model->s->limit)
        return serve_error(c, 400, "context_length_exceeded", "prompt", "the prompt has %zu tokens; the context has %lld",
                           t->prompt.n, (long long)t->model->s->limit);
    return true;
}

void serve_completion(struct call *c) {
    struct text *t = text_new(c, SERVE_COMPLETION);
    if (!t)
        return;
    const json_t *echo = json_object_get(c->body, "echo");
    t->echo = json_is_true(echo);
    t->task.score_prompt = t->echo && t->task.score;
    if (!t->task.most)
        t->task.most = 16; /* OpenAI's default */
    if (read_prompt(c, t))
        text_answer(c, t, whole, pieces);
    else
        text_free(t);
}
