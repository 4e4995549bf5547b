/* llama-server's own endpoints, for its clients: /completion and /props. */
#include "serve/server.h"

static json_t *settings(const struct serve_task *t, uint64_t seed, bool stream) {
    const struct llm_sampling *s = &t->sampling;
    json_t *stops = json_array();
    for (size_t i = 0; i < t->stops.n; i++)
        json_array_append_new(stops, json_string(t->stops.v[i]));
    return json_pack("{s:I,s:f,s:I,s:f,s:f,s:f,s:f,s:f,s:I,s:o,s:b,s:b,s:I}", "seed", (json_int_t)seed, "temperature",
                     s->temperature, "top_k", (json_int_t)s->top_k, "top_p", s->top_p, "min_p", s->min_p, "repeat_penalty",
                     s->repetition, "frequency_penalty", t->frequency, "presence_penalty", t->presence, "n_predict",
                     t->most == SIZE_MAX ? (json_int_t)-1 : (json_int_t)t->most, "stop", stops, "ignore_eos", t->ignore_end,
                     "stream", stream, "n_probs", (json_int_t)t->ntop);
}

/* ---- /completion ------------------------------------------------------------------------------ */

/* The stop string that ended the text, or NULL: it follows the text that is shown. */
static const char *stop_word(const struct text *t, const struct choice *x) {
    const struct serve_job *j = &x->job;
    const char *found = NULL;
    struct strbuf all;
    strbuf_init(&all, mem_system_allocator());
    llm_tok_decode(t->model->s->tok, j->ids.v, j->ids.n, t->task.special, &all);
    for (size_t i = 0; i < t->stops.n && !found && j->end == SERVE_END_STOP; i++) {
        size_t n = strlen(t->stops.v[i]);
        if (j->visible + n <= all.n && memcmp(all.p + j->visible, t->stops.v[i], n) == 0)
            found = t->stops.v[i];
    }
    strbuf_free(&all);
    return found;
}

/* What took how long: milliseconds, and tokens in one, and tokens in a second. */
static void put_times(json_t *v, const char *what, size_t tokens, double ms) {
    char name[64];
    const struct {
        const char *end;
        double number;
    } all[] = {{"ms", ms},
               {"per_token_ms", tokens ? ms / (double)tokens : 0},
               {"per_second", ms > 0 ? 1e3 * (double)tokens / ms : 0}};
    snprintf(name, sizeof name, "%s_n", what);
    json_object_set_new(v, name, json_integer((json_int_t)tokens));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(name, sizeof name, "%s_%s", what, all[i].end);
        json_object_set_new(v, name, json_real(all[i].number));
    }
}

static json_t *timings(const struct serve_job *j) {
    double first = j->first > 0 ? j->first : j->finished;
    json_t *v = json_pack("{s:I}", "cache_n", (json_int_t)j->cached);
    put_times(v, "prompt", j->nprompt - j->cached, first - j->submitted);
    put_times(v, "predicted", j->ids.n, j->finished - first);
    return v;
}

/* The tokens from `first` on. */
static json_t *ids_from(const struct serve_job *j, size_t first) {
    json_t *out = json_array();
    for (size_t i = first; i < j->ids.n; i++)
        json_array_append_new(out, json_integer(j->ids.v[i]));
    return out;
}

static void put_probabilities(const struct text *t, json_t *v, const struct choice *x, size_t first) {
    json_t *all = json_array();
    for (size_t i = first; i < x->job.tokens.n; i++)
        json_array_append_new(all, text_token_scores(t, &x->job.tokens.v[i], true));
    if (t->scored)
        json_object_set(v, "completion_probabilities", all);
    json_decref(all);
}

/* A part of a text, or its end. */
static json_t *part(const struct text *t, size_t index, struct str content, json_t *tokens, bool end) {
    const struct serve_job *j = &t->choices[index].job;
    return json_pack("{s:I,s:o,s:o,s:b,s:I,s:I}", "index", (json_int_t)index, "content", serve_text(content), "tokens", tokens,
                     "stop", end, "tokens_predicted", (json_int_t)j->ids.n, "tokens_evaluated", (json_int_t)j->nprompt);
}

static json_t *final(const struct text *t, size_t index, struct str content, json_t *tokens) {
    const struct choice *x = &t->choices[index];
    const struct serve_job *j = &x->job;
    const char *word = stop_word(t, x);
    struct strbuf prompt;
    strbuf_init(&prompt, mem_system_allocator());
    llm_tok_decode(t->model->s->tok, j->prompt, j->nprompt, true, &prompt);
    json_t *v = part(t, index, content, tokens, true);
    json_object_set_new(v, "model", json_string(t->model->id));
    json_object_set_new(v, "prompt", serve_text((struct str){prompt.p ? prompt.p : "", prompt.n}));
    json_object_set_new(v, "generation_settings", settings(&t->task, j->seed, t->stream));
    json_object_set_new(v, "truncated", json_false());
    json_object_set_new(v, "stop_type", json_string(j->end == SERVE_END_LENGTH ? "limit" : word ? "word" : "eos"));
    json_object_set_new(v, "stopping_word", json_string(word ? word : ""));
    json_object_set_new(v, "tokens_cached", json_integer((json_int_t)j->cached));
    json_object_set_new(v, "timings", timings(j));
    strbuf_free(&prompt);
    return v;
}

static json_t *whole(struct text *t) {
    json_t *all = json_array();
    for (size_t i = 0; i < t->n; i++) {
        json_t *v = final(t, i, text_visible(&t->choices[i]), ids_from(&t->choices[i].job, 0));
        put_probabilities(t, v, &t->choices[i], 0);
        json_array_append_new(all, v);
    }
    if (t->n > 1)
        return all;
    json_t *one = json_incref(json_array_get(all, 0));
    json_decref(all);
    return one;
}

static bool pieces(struct text *t, struct strbuf *out) {
    bool ended = true;
    for (size_t i = 0; i < t->n; i++) {
        struct choice *x = &t->choices[i];
        const struct serve_job *j = &x->job;
        struct str text = text_visible(x), more = {text.p + x->content, text.n - x->content};
        if (!x->ended && more.n) {
            json_t *v = part(t, i, more, ids_from(j, x->tokens), false);
            put_probabilities(t, v, x, x->tokens);
            serve_event(out, NULL, v);
            x->content = text.n;
            x->tokens = j->ids.n;
        }
        if (!x->ended && j->state == SERVE_DONE) {
            serve_event(out, NULL, final(t, i, (struct str){"", 0}, json_array()));
            x->ended = true;
        }
        ended &= x->ended;
    }
    return !ended;
}

void serve_llama_completion(struct call *c) {
    struct text *t = text_new(c, SERVE_LLAMA);
    if (!t)
        return;
    if (text_prompts(c, t, json_object_get(c->body, "prompt")))
        text_answer(c, t, whole, pieces);
    else
        text_free(t);
}

/* ---- /props ------------------------------------------------------------------------------------ */

/* Of the first model that was loaded. */
void serve_props(struct call *c) {
    struct serve_model *m = serve_model_of(c);
    if (!m)
        return;
    const struct llm_chat *chat = &m->s->chat;
    struct serve_task task = {.most = SIZE_MAX, .sampling = {.temperature = 1, .top_p = 1, .repetition = 1}};
    struct str source = {chat->template.p ? chat->template.p : "", chat->template.n};
    json_t *v = json_pack("{s:{s:I,s:o},s:I,s:s,s:o,s:o,s:s,s:b,s:{s:b,s:b}}", "default_generation_settings", "n_ctx",
                          (json_int_t)m->s->limit, "params", settings(&task, 0, false), "total_slots",
                          (json_int_t)c->server->o.slots, "model_alias", m->id, "model_path", serve_text(str_of(m->path)),
                          "chat_template", serve_text(source), "build_info", hilo_version(), "is_sleeping", 0, "modalities",
                          "vision", 0, "audio", 0);
    static const char *const names[] = {"bos_token", "eos_token"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *token = json_object_get(chat->special, names[i]);
        json_object_set_new(v, names[i], token ? json_incref(token) : json_string(""));
    }
    serve_json(c, v);
}
