/* Generating text: see generate.h. */
#include "llm/generate.h"

void llm_generated_init(struct llm_generated *g, hilo_allocator al) {
    *g = (struct llm_generated){.end = LLM_END_LENGTH};
    llm_ids_init(&g->ids, al);
    strbuf_init(&g->text, al);
}

void llm_generated_free(struct llm_generated *g) {
    llm_ids_free(&g->ids);
    strbuf_free(&g->text);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct output {
    const struct llm_generate_options *o;
    struct llm_generated *g;
    struct llm_text text;
    struct llm_stops stops;
    size_t shown; /* bytes of g->text */
};

static bool show(struct output *x, size_t upto) {
    size_t n = upto - x->shown;
    const char *p = n ? x->g->text.p + x->shown : "";
    x->shown = upto;
    return x->o->on_text && x->o->on_text(x->o->user, p, n) != 0;
}

/* Appends a token; true if the text ends with it. */
static bool put_token(struct output *x, const struct llm_session *s, int32_t id) {
    struct llm_generated *g = x->g;
    const struct llm_config *c = &s->model.config;
    llm_ids_push(&g->ids, id);
    for (size_t i = 0; i < c->neos; i++)
        if (id == c->eos[i]) {
            g->end = LLM_END_TOKEN;
            return true;
        }
    llm_text_put(&x->text, id, &g->text);
    struct str text = {g->text.p, g->text.n};
    size_t stop = llm_stop_find(&x->stops, text, x->shown);
    if (stop < g->text.n) {
        g->text.n = stop;
        g->text.p[stop] = '\0';
        g->end = LLM_END_STOP;
        return true;
    }
    if (show(x, llm_stop_safe(&x->stops, text, x->shown))) {
        g->end = LLM_END_CALLER;
        return true;
    }
    g->end = LLM_END_LENGTH;
    return x->o->most && g->ids.n == x->o->most;
}

static void end_text(struct output *x) {
    if (x->g->end != LLM_END_STOP)
        llm_text_flush(&x->text, &x->g->text);
    if (x->g->text.n > x->shown)
        show(x, x->g->text.n);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

struct chooser {
    const struct llm_sampling *o;
    uint64_t state;
    float *logits;              /* NULL: the engine chooses */
    struct llm_candidate *candidates;
    size_t bytes, vocab;
};

static hilo_status choose_begin(struct llm_session *s, const struct llm_sampling *o, struct chooser *out) {
    *out = (struct chooser){.o = o, .state = o->seed, .vocab = (size_t)s->model.config.vocab};
    if (llm_sampling_greedy(o))
        return HILO_OK;
    out->bytes = out->vocab * (sizeof *out->logits + sizeof *out->candidates);
    out->candidates = mem_alloc(rt_client_allocator(s->client), out->bytes);
    out->logits = (float *)(void *)(out->candidates + (out->candidates ? out->vocab : 0));
    return out->candidates ? HILO_OK : llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
}

static void choose(struct chooser *c, const struct llm_ids *seen, int32_t *next) {
    if (c->logits)
        *next = llm_sample(c->o, c->logits, c->vocab, seen->v, seen->n, c->candidates, &c->state);
}

/* How many tokens of the prompt are in the cache as a session of its own would read them. */
static size_t reuse(struct llm_session *s, const int32_t *prompt, size_t n) {
    size_t nportions;
    if (s->seen.n != (size_t)s->at[0])
        s->seen.n = 0;
    size_t same = llm_session_shared(s, &s->seen, &s->portions, prompt, n, &nportions);
    llm_session_rewind(s, same);
    s->portions.n = nportions;
    return same;
}

/* Notes the portions of a prompt of n tokens from the `at`-th on; returns where the last one begins. */
static size_t note_portions(struct llm_session *s, size_t at, size_t n) {
    size_t last = at;
    while (at < n) {
        last = at;
        at += llm_session_portion(s, at, n - at);
        llm_ids_push(&s->portions, (int32_t)at);
    }
    return last;
}

/* Reserves memory for the expected tokens, so that decode steps allocate none. */
static void make_room(struct llm_session *s, const struct output *x, size_t prompt) {
    enum { MOST = 4096, TOKEN = 8 /* bytes of text */ };
    size_t left = prompt < (size_t)s->limit ? (size_t)s->limit - prompt + 1 : 0;
    size_t most = x->o->most && x->o->most < left ? x->o->most : left;
    most = most < MOST ? most : MOST;
    llm_ids_reserve(&s->seen, prompt + most);
    llm_ids_reserve(&x->g->ids, most);
    strbuf_reserve(&x->g->text, TOKEN * most);
}

static hilo_status read_prompt(struct llm_session *s, const int32_t *prompt, size_t n, struct chooser *c,
                               struct llm_generated *out, int32_t *next) {
    double begin = rt_now_ms(), compiling = s->compile_ms;
    out->reused = reuse(s, prompt, n);
    out->read = n - out->reused;
    const int32_t *rest = prompt + out->reused;
    size_t read = out->read, whole = 0;
    if (n <= (size_t)s->limit) /* else it is refused */
        whole = note_portions(s, out->reused, n) - out->reused;
    if (whole) { /* what a longer prompt shares with this one */
        HILO_TRY(llm_session_prefill(s, &rest, &whole, next, c->logits));
        llm_session_mark(s);
        rest += whole;
        read -= whole;
    }
    HILO_TRY(llm_session_prefill(s, &rest, &read, next, c->logits));
    for (size_t i = out->reused; i < n; i++)
        llm_ids_push(&s->seen, prompt[i]);
    out->prefill_ms = rt_now_ms() - begin - (s->compile_ms - compiling);
    choose(c, &s->seen, next);
    return HILO_OK;
}

static hilo_status continue_text(struct llm_session *s, struct chooser *c, struct output *x, int32_t next) {
    double begin = rt_now_ms(), compiling = s->compile_ms;
    struct llm_traffic before = llm_session_traffic(s), *traffic = &x->g->decode;
    hilo_status status = HILO_OK;
    while (status == HILO_OK && !put_token(x, s, next)) {
        if (s->at[0] >= s->limit) {
            x->g->end = LLM_END_CONTEXT;
            break;
        }
        llm_ids_push(&s->seen, next);
        status = llm_session_decode(s, c->logits ? &next : NULL, &next, c->logits);
        if (status == HILO_OK)
            choose(c, &s->seen, &next);
    }
    x->g->decode_ms = rt_now_ms() - begin - (s->compile_ms - compiling);
    *traffic = llm_session_traffic(s);
    traffic->allocations -= before.allocations;
    traffic->copied_bytes -= before.copied_bytes;
    return status;
}

/* The same with speculation: each step gives one token or several. */
static hilo_status speculate_text(struct llm_session *s, struct output *x, int32_t first) {
    struct llm_speculation p;
    int32_t next[LLM_MAX_APART] = {first};
    size_t n = 1;
    double begin = rt_now_ms(), compiling = s->compile_ms;
    hilo_status status = llm_speculation_begin(s, x->o->speculate, x->o->draft, &p);
    for (bool ended = false; status == HILO_OK && !ended;) {
        for (size_t i = 0; i < n && !ended; i++) {
            if (i) /* the session has read it, or reads it again with the next step */
                llm_ids_push(&s->seen, next[i - 1]);
            ended = put_token(x, s, next[i]);
        }
        if (!ended && s->seen.n >= (size_t)s->limit) {
            x->g->end = LLM_END_CONTEXT;
            ended = true;
        }
        if (ended)
            break;
        llm_ids_push(&s->seen, next[n - 1]);
        size_t left = x->o->most ? x->o->most - x->g->ids.n - 1 : LLM_MAX_SPECULATION;
        status = s->seen.failed ? HILO_RESOURCE_EXHAUSTED : llm_speculate(s, &p, left, next, &n);
    }
    if (status == HILO_OK) /* the text may have ended amid a step */
        llm_session_rewind(s, s->seen.n);
    x->g->proposed = p.proposed;
    x->g->accepted = p.accepted;
    x->g->decode_ms = rt_now_ms() - begin - (s->compile_ms - compiling);
    return status;
}

hilo_status llm_generate(struct llm_session *s, const int32_t *prompt, size_t n, const struct llm_generate_options *o,
                         struct llm_generated *out) {
    const char *flaw = s->batch != 1 ? "the session reads several sequences" : n == 0 ? "the prompt has no tokens"
                                                                               : llm_sampling_flaw(&o->sampling);
    struct output x = {.o = o, .g = out, .stops = {o->stop, o->nstop}};
    struct chooser c;
    int32_t next = 0;
    if (flaw)
        return llm_error(s->client, HILO_INVALID_ARGUMENT, "%s", flaw);
    HILO_TRY(choose_begin(s, &o->sampling, &c));
    llm_text_init(&x.text, s->tok, o->special);
    make_room(s, &x, n);
    hilo_status status = read_prompt(s, prompt, n, &c, out, &next);
    if (status == HILO_OK)
        status = o->speculate && !c.logits ? speculate_text(s, &x, next) : continue_text(s, &c, &x, next);
    end_text(&x);
    mem_free(rt_client_allocator(s->client), c.candidates, c.bytes);
    if (status == HILO_OK && (s->seen.failed || s->portions.failed || out->ids.failed || out->text.failed))
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    return status;
}
