/* /v1/completions. */
#include "serve/server.h"

#include <math.h>
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

static void set_score(const struct text *t, json_t *top, int32_t id, double score) {
    json_t *name = token_text(t, id);
    json_object_set_new(top, json_string_value(name), serve_log_probability(score));
    json_decref(name);
}

/* The most probable tokens at the place of a token; of a prompt's token that one, too. */
static json_t *top_of(const struct text *t, const struct serve_token *token, bool itself) {
    json_t *top = json_object();
    for (size_t k = 0; k < t->task.ntop; k++)
        set_score(t, top, token->top[k].id, (double)token->top[k].x);
    if (itself)
        set_score(t, top, token->id, token->log_probability);
    return top;
}

/* The columns of `logprobs` for tokens `first` … last - 1; before them those of the prompt with `echo`. */
static json_t *scores(const struct text *t, const struct choice *x, size_t first, size_t last, bool echo) {
    struct columns out = {json_array(), json_array(), json_array(), json_array()};
    const struct serve_job *j = &x->job;
    size_t offset = 0;
    for (size_t i = 0; i < j->nprompt && echo; i++) {
        /* NULL: of the first token there is none, or the job failed before */
        const struct serve_token *token = i && j->prompt_scores ? &j->prompt_scores[i - 1] : NULL;
        struct str bytes = llm_tok_bytes(t->model->s->tok, j->prompt[i]);
        add_token(t, &out, j->prompt[i], token ? serve_log_probability(token->log_probability) : json_null(),
                  token ? top_of(t, token, true) : json_null(), offset);
        offset += llm_tok_is_special(t->model->s->tok, j->prompt[i]) ? 0 : bytes.n;
    }
    for (size_t i = first; i < last; i++) {
        const struct serve_token *token = &j->tokens.v[i];
        add_token(t, &out, token->id, serve_log_probability(token->log_probability), top_of(t, token, false),
                  offset + (i ? j->tokens.v[i - 1].end : 0));
    }
    return json_pack("{s:o,s:o,s:o,s:o}", "tokens", out.tokens, "token_logprobs", out.scores, "top_logprobs", out.tops,
                     "text_offset", out.offsets);
}

static json_t *choice_of(size_t index, json_t *text, json_t *score, const char *finish) {
    return json_pack("{s:I,s:o,s:o,s:s?}", "index", (json_int_t)index, "text", text, "logprobs", score ? score : json_null(),
                     "finish_reason", finish);
}

/* The text of the prompt's tokens, with `echo`. */
static void put_prompt(const struct text *t, const struct choice *x, struct strbuf *out) {
    if (t->echo)
        llm_tok_decode(t->model->s->tok, x->job.prompt, x->job.nprompt, false, out);
}

/* The mean log probability of a text's tokens; an empty text, and one whose mean is no number, are the worst. */
static double quality(const struct choice *x) {
    double sum = 0;
    for (size_t i = 0; i < x->job.tokens.n; i++)
        sum += x->job.tokens.v[i].log_probability;
    return x->job.tokens.n && !isnan(sum) ? sum / (double)x->job.tokens.n : -INFINITY;
}

/* The i-th choice of the answer: of as many as were written the next one, else the best that was not taken yet. */
static const struct choice *take_choice(struct text *t, size_t i) {
    struct choice *all = &t->choices[i / t->kept * t->tried], *best = NULL;
    if (t->tried == t->kept)
        return &all[i % t->kept];
    for (size_t k = 0; k < t->tried; k++)
        if (!all[k].ended && (!best || quality(&all[k]) > quality(best)))
            best = &all[k];
    best->ended = true;
    return best;
}

static json_t *whole(struct text *t) {
    json_t *choices = json_array();
    for (size_t i = 0; i < t->n / t->tried * t->kept; i++) {
        const struct choice *x = take_choice(t, i);
        struct strbuf all;
        strbuf_init(&all, mem_system_allocator());
        put_prompt(t, x, &all);
        strbuf_str(&all, text_visible(x));
        json_t *score = t->scored ? scores(t, x, 0, x->job.tokens.n, t->echo) : NULL;
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
            put_prompt(t, x, &piece);
        strbuf_putn(&piece, text.p + x->content, text.n - x->content);
        json_t *score = t->scored ? scores(t, x, x->tokens, j->tokens.n, t->echo && !x->begun) : NULL;
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

void serve_completion(struct call *c) {
    const json_t *suffix = json_object_get(c->body, "suffix");
    struct text *t = text_new(c, SERVE_COMPLETION);
    if (!t)
        return;
    t->echo = json_is_true(json_object_get(c->body, "echo"));
    t->task.score_prompt = t->echo && t->scored;
    bool good = json_string_length(suffix) == 0 ||
                serve_error(c, 400, NULL, "suffix", "'suffix' is not supported: texts are continued at their end");
    if (good && text_prompts(c, t, json_object_get(c->body, "prompt")))
        text_answer(c, t, whole, pieces);
    else
        text_free(t);
}
