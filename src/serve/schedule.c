/* Continuous batching: see schedule.h. */
#include "serve/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WHY = sizeof((struct serve_job *)0)->why };

struct slot {
    struct llm_session *s;
    struct serve_job *job;   /* NULL = free */
    struct llm_ids seen;     /* what the session has read */
    struct llm_ids portions; /* where the portions of `seen` end that it read as a prompt, from its beginning on */
    struct llm_text text;
    struct llm_grammar_state *grammar;
    uint64_t random, used; /* used: when it was last, in rounds */
    uint64_t joined;       /* a number that grows with each job */
    int32_t next;          /* chosen, not read yet */
};

struct schedule {
    struct llm_session *s;
    struct schedule_options o;
    hilo_allocator al;
    pthread_t thread;
    pthread_mutex_t mutex;          /* of all below, and of jobs that are queued or run */
    pthread_cond_t work, changed;   /* a job was submitted or cancelled; a job has changed */
    struct serve_job *first, *last; /* the queue */
    size_t nqueued;
    bool closing;
    uint64_t version, round, njoined; /* version: counts changes of jobs */
    int64_t warm_context; /* programs are compiled ahead for caches of so many tokens, … */
    size_t warm;          /* … so many of them */
    struct serve_counts counts;
    struct slot *slots, **writing;        /* o.slots each */
    struct llm_grammar_vocab *vocabulary; /* for grammars; NULL until the first one */
    float *logits;                        /* LLM_MAX_APART * vocab */
    struct llm_candidate *candidates;     /* vocab */
    uint32_t *occurrences;                /* vocab, zeros between uses */
    size_t vocab;
};

const double serve_bucket_seconds[SERVE_BUCKETS] = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 180, INFINITY};

/* ---- jobs ------------------------------------------------------------------------------------ */

void serve_job_init(struct serve_job *j) {
    *j = (struct serve_job){.state = SERVE_QUEUED};
    strbuf_init(&j->text, mem_system_allocator());
    llm_ids_init(&j->ids, mem_system_allocator());
}

void serve_job_free(struct serve_job *j) {
    strbuf_free(&j->text);
    llm_ids_free(&j->ids);
    free(j->tokens.v);
    free(j->prompt_scores);
    free(j->vector);
}

static void count_time(struct serve_histogram *h, double seconds) {
    size_t i = 0;
    while (i + 1 < SERVE_BUCKETS && seconds > serve_bucket_seconds[i])
        i++;
    h->n[i]++;
    h->count++;
    h->sum += seconds;
}

static void end_job(struct schedule *x, struct serve_job *j, enum serve_end end) {
    j->state = SERVE_DONE;
    j->end = end;
    j->finished = rt_now_ms();
    x->counts.jobs[end]++;
    if (end == SERVE_END_STOP || end == SERVE_END_LENGTH)
        count_time(&x->counts.whole, (j->finished - j->submitted) / 1e3);
    x->version++;
    pthread_cond_broadcast(&x->changed);
}

static void leave(struct schedule *x, struct slot *slot, enum serve_end end) {
    llm_text_flush(&slot->text, &slot->job->text);
    slot->job->visible = slot->job->text.n;
    llm_grammar_end(slot->grammar);
    slot->grammar = NULL;
    x->counts.busy--;
    slot->used = x->round;
    end_job(x, slot->job, end);
    slot->job = NULL;
}

__attribute__((format(printf, 3, 4))) static void fail(struct schedule *x, struct slot *slot, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(slot->job->why, WHY, fmt, ap);
    va_end(ap);
    leave(x, slot, SERVE_END_FAILED);
}

static void append_message(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

/* The job fails with the client's diagnostics; what the slot's session has read is lost. */
static void fail_step(struct schedule *x, struct slot *slot, hilo_status status) {
    struct strbuf why;
    strbuf_init(&why, x->al);
    hilo_diagnostics_write(x->s->client, 0, append_message, &why);
    while (why.n && why.p[why.n - 1] == '\n')
        why.p[--why.n] = '\0';
    const char *text = why.n ? why.p : hilo_status_name(status);
    slot->seen.n = slot->portions.n = 0;
    if (status == HILO_UNAVAILABLE && !*x->counts.lost)
        snprintf(x->counts.lost, sizeof x->counts.lost, "%s", text);
    fail(x, slot, "%s", text);
    strbuf_free(&why);
}

/* ---- choosing a token ------------------------------------------------------------------------ */

static void penalise(struct schedule *x, const struct serve_job *j, float *logits) {
    const struct serve_task *t = j->task;
    for (size_t i = 0; i < t->nbias; i++)
        logits[t->bias[i].id] += (float)t->bias[i].by;
    if (t->frequency == 0 && t->presence == 0)
        return;
    for (size_t i = 0; i < j->ids.n; i++)
        x->occurrences[j->ids.v[i]]++;
    for (size_t i = 0; i < j->ids.n; i++) {
        uint32_t *n = &x->occurrences[j->ids.v[i]];
        if (*n)
            logits[j->ids.v[i]] -= (float)(t->frequency * *n + t->presence);
        *n = 0;
    }
}

static double log_sum(const float *logits, size_t n) {
    double sum = 0;
    float most = logits[0];
    for (size_t i = 1; i < n; i++)
        most = logits[i] > most ? logits[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)(logits[i] - most));
    return (double)most + log(sum);
}

/* The k greatest logits as log probabilities, by insertion: k is small. */
static void find_top(const float *logits, size_t n, double sum, size_t k, struct llm_candidate *out) {
    size_t have = 0;
    for (size_t i = 0; i < n; i++) {
        if (have == k && !(logits[i] > out[have - 1].x))
            continue;
        size_t at = have < k ? have++ : k - 1;
        while (at && logits[i] > out[at - 1].x) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = (struct llm_candidate){logits[i], (int32_t)i};
    }
    for (size_t i = 0; i < have; i++)
        out[i].x = (float)((double)out[i].x - sum);
}

static struct serve_token *new_token(struct serve_job *j) {
    if (j->tokens.n == j->tokens.cap) {
        size_t cap = 2 * j->tokens.cap + 16;
        struct serve_token *v = realloc(j->tokens.v, cap * sizeof *v);
        if (!v)
            return NULL;
        j->tokens.v = v;
        j->tokens.cap = cap;
    }
    return &j->tokens.v[j->tokens.n++];
}

static bool is_end(const struct schedule *x, const struct serve_task *t, int32_t id) {
    const struct llm_config *c = &x->s->model.config;
    for (size_t i = 0; i < c->neos && !t->ignore_end; i++)
        if (id == c->eos[i])
            return true;
    return false;
}

/* Chooses the slot's next token from its logits, which are modified, and adds it to the job's text. */
static void choose(struct schedule *x, struct slot *slot, float *logits) {
    struct serve_job *j = slot->job;
    const struct serve_task *t = j->task;
    const struct llm_config *c = &x->s->model.config;
    double sum = t->score ? log_sum(logits, x->vocab) : 0;
    struct serve_token token = {.id = -1};
    if (t->score && t->ntop)
        find_top(logits, x->vocab, sum, t->ntop, token.top);
    float *raw = NULL;
    if (t->score && (raw = mem_alloc(&x->al, x->vocab * sizeof *raw)))
        memcpy(raw, logits, x->vocab * sizeof *raw);
    penalise(x, j, logits);
    for (size_t i = 0; i < c->neos && t->ignore_end; i++)
        logits[c->eos[i]] = -INFINITY;
    bool stuck = slot->grammar && !llm_grammar_mask(slot->grammar, c->eos, c->neos, logits);
    struct llm_ids *seen = &slot->seen;
    int32_t id = llm_sample(&t->sampling, logits, x->vocab, seen->v, seen->n, x->candidates, &slot->random);
    token.id = id;
    token.log_probability = raw ? (double)(float)((double)raw[id] - sum) : 0; /* as in `top` */
    if (raw)
        mem_free(&x->al, raw, x->vocab * sizeof *raw);
    pthread_mutex_lock(&x->mutex);
    if (j->state == SERVE_READING) {
        j->state = SERVE_WRITING;
        j->first = rt_now_ms();
        count_time(&x->counts.first, (j->first - j->submitted) / 1e3);
    }
    slot->next = id;
    x->counts.tokens++;
    x->version++;
    pthread_cond_broadcast(&x->changed);
    if (!stuck)
        llm_ids_push(&j->ids, id);
    if (stuck && !llm_grammar_complete(slot->grammar)) {
        fail(x, slot, "no token continues the text as the grammar wants it");
    } else if (stuck || is_end(x, t, id)) {
        leave(x, slot, SERVE_END_STOP);
    } else {
        size_t from = j->visible;
        llm_text_put(&slot->text, id, &j->text);
        struct str text = {j->text.p ? j->text.p : "", j->text.n};
        size_t stop = llm_stop_find(&t->stops, text, from);
        token.end = text.n;
        struct serve_token *kept = t->score ? new_token(j) : &token;
        if (kept)
            *kept = token;
        if (stop < text.n) {
            j->text.n = stop;
            j->text.p[stop] = '\0';
            j->visible = stop;
            slot->text.npending = 0;
            leave(x, slot, SERVE_END_STOP);
        } else if (!kept || j->ids.failed || j->text.failed || seen->failed) {
            fail(x, slot, "out of memory");
        } else {
            j->visible = llm_stop_safe(&t->stops, text, from);
            if (slot->grammar && !llm_grammar_accept(slot->grammar, id))
                fail(x, slot, "the grammar needs too much memory");
            else if (j->ids.n >= t->most || seen->n >= (size_t)x->s->limit)
                leave(x, slot, SERVE_END_LENGTH);
        }
    }
    pthread_mutex_unlock(&x->mutex);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* How much of a prompt a slot can take over. */
static size_t shared_prefix(const struct slot *slot, const struct serve_job *j, size_t *nportions) {
    return llm_session_shared(slot->s, &slot->seen, &slot->portions, j->prompt, j->nprompt, nportions);
}

/* The free slot that has most of the prompt, of equals the one that was not used for longest. NULL: none is free. */
static struct slot *free_slot(struct schedule *x, const struct serve_job *j, size_t *prefix, size_t *nportions) {
    struct slot *best = NULL;
    for (size_t i = 0; i < x->o.slots; i++) {
        struct slot *slot = &x->slots[i];
        size_t n, same = slot->job ? 0 : shared_prefix(slot, j, &n);
        if (slot->job || (best && (same < *prefix || (same == *prefix && slot->used >= best->used))))
            continue;
        best = slot;
        *prefix = same;
        *nportions = n;
    }
    return best;
}

/* Copies a longer prefix from a slot that is at work. */
static void copy_prefix(struct schedule *x, struct slot *to, const struct serve_job *j, size_t *prefix, size_t *nportions) {
    struct slot *from = NULL;
    for (size_t i = 0; i < x->o.slots; i++) {
        size_t n, same = shared_prefix(&x->slots[i], j, &n);
        if (same > *prefix) {
            from = &x->slots[i];
            *prefix = same;
            *nportions = n;
        }
    }
    if (!from || from == to)
        return;
    to->seen.n = to->portions.n = 0;
    if (llm_session_copy(from->s, *prefix, to->s) != HILO_OK) {
        hilo_diagnostics_clear(x->s->client);
        *prefix = *nportions = 0;
        return;
    }
    for (size_t i = 0; i < *prefix; i++)
        llm_ids_push(&to->seen, from->seen.v[i]);
    for (size_t i = 0; i < *nportions; i++)
        llm_ids_push(&to->portions, from->portions.v[i]);
}

/* Takes the score of the token after the i-th of the prompt, and those of the most probable ones there. */
static void take_logits(void *user, size_t i, float *logits) {
    const struct slot *slot = user;
    struct serve_job *j = slot->job;
    struct serve_token *token = &j->prompt_scores[i];
    size_t vocab = (size_t)slot->s->model.config.vocab;
    double sum = log_sum(logits, vocab);
    find_top(logits, vocab, sum, j->task->ntop, token->top);
    token->log_probability = (double)(float)((double)logits[token->id] - sum); /* as in `top` */
}

static hilo_status prompt_scores(struct schedule *x, struct slot *slot) {
    struct serve_job *j = slot->job;
    size_t bytes = j->nprompt * sizeof(float);
    if (j->task->ntop)
        return llm_session_logits(slot->s, j->prompt, j->nprompt, take_logits, slot);
    float *losses = mem_alloc(&x->al, bytes);
    hilo_status status = losses ? llm_session_score(slot->s, j->prompt, j->nprompt, losses) : HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i + 1 < j->nprompt && status == HILO_OK; i++)
        j->prompt_scores[i].log_probability = -(double)losses[i];
    mem_free(&x->al, losses, bytes);
    return status;
}

static bool score_prompt(struct schedule *x, struct slot *slot) {
    struct serve_job *j = slot->job;
    struct serve_token *scores = j->prompt_scores = calloc(j->nprompt, sizeof *scores);
    for (size_t i = 0; i + 1 < j->nprompt && scores; i++)
        scores[i].id = j->prompt[i + 1];
    hilo_status status = scores ? prompt_scores(x, slot) : HILO_RESOURCE_EXHAUSTED;
    slot->seen.n = slot->portions.n = 0;
    llm_session_reset(slot->s);
    if (status == HILO_OK)
        return true;
    pthread_mutex_lock(&x->mutex);
    j->prompt_scores = NULL; /* those that are missing are no zeros */
    fail_step(x, slot, status);
    pthread_mutex_unlock(&x->mutex);
    free(scores);
    return false;
}

static bool all_finite(const float *v, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(v[i]);
    return finite;
}

/* The vector of a job's prompt; what the slot has read stays. */
static void embed(struct schedule *x, struct slot *slot) {
    struct serve_job *j = slot->job;
    float *vector = calloc((size_t)x->s->embedding.width, sizeof *vector);
    hilo_status status = vector ? llm_session_embed(slot->s, j->prompt, j->nprompt, vector) : HILO_RESOURCE_EXHAUSTED;
    pthread_mutex_lock(&x->mutex);
    j->vector = vector;
    x->counts.prompt_tokens += j->nprompt;
    if (status != HILO_OK)
        fail_step(x, slot, status);
    else if (!all_finite(vector, (size_t)x->s->embedding.width))
        fail(x, slot, "the vector of the text has numbers that are not finite");
    else
        leave(x, slot, SERVE_END_STOP);
    pthread_mutex_unlock(&x->mutex);
}

/* A job takes a slot. The slots belong to the scheduler's thread; the mutex is not held. */
static void join(struct schedule *x, struct serve_job *j, struct slot *slot, size_t prefix, size_t nportions) {
    const struct serve_task *t = j->task;
    slot->job = j;
    slot->used = x->round;
    slot->joined = x->njoined++;
    slot->random = j->seed;
    llm_text_init(&slot->text, x->s->tok, t->special);
    if (t->embed) {
        embed(x, slot);
        return;
    }
    if (t->grammar && !x->vocabulary)
        x->vocabulary = llm_grammar_vocab_open(x->s->tok, x->vocab, x->al);
    if (t->grammar && (!x->vocabulary || !(slot->grammar = llm_grammar_begin(t->grammar, x->vocabulary)))) {
        pthread_mutex_lock(&x->mutex);
        fail(x, slot, "out of memory");
        pthread_mutex_unlock(&x->mutex);
        return;
    }
    if (t->score_prompt && j->nprompt > 1) {
        if (!score_prompt(x, slot))
            return;
        prefix = nportions = 0;
    } else {
        copy_prefix(x, slot, j, &prefix, &nportions);
    }
    llm_session_rewind(slot->s, prefix);
    slot->seen.n = prefix;
    slot->portions.n = nportions;
    pthread_mutex_lock(&x->mutex);
    j->state = SERVE_READING;
    j->cached = prefix;
    x->counts.prompt_tokens += j->nprompt;
    x->counts.cached_tokens += prefix;
    if (t->most == 0)
        leave(x, slot, SERVE_END_LENGTH);
    pthread_mutex_unlock(&x->mutex);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A slot has read n more tokens of its prompt. */
static void note_read(struct schedule *x, struct slot *slot, size_t n, float *logits) {
    for (size_t i = 0; i < n; i++)
        llm_ids_push(&slot->seen, slot->job->prompt[slot->seen.n]);
    llm_ids_push(&slot->portions, (int32_t)slot->seen.n);
    if (slot->seen.n == slot->job->nprompt)
        choose(x, slot, logits);
}

/* Reads a portion of each of n prompts, by one program. */
static void read_together(struct schedule *x, struct slot *const *slots, size_t n, size_t chunk) {
    struct llm_session *forks[LLM_MAX_JOINT];
    const int32_t *ids[LLM_MAX_JOINT];
    size_t counts[LLM_MAX_JOINT];
    for (size_t i = 0; i < n; i++) {
        size_t at = slots[i]->seen.n;
        forks[i] = slots[i]->s;
        ids[i] = slots[i]->job->prompt + at;
        counts[i] = llm_session_portion(x->s, at, slots[i]->job->nprompt - at);
    }
    hilo_status status = llm_session_prefill_apart(forks, n, chunk, ids, counts, x->logits);
    pthread_mutex_lock(&x->mutex);
    for (size_t i = 0; i < n && status != HILO_OK; i++)
        fail_step(x, slots[i], status);
    pthread_mutex_unlock(&x->mutex);
    for (size_t i = 0; i < n && status == HILO_OK; i++)
        note_read(x, slots[i], counts[i], x->logits + i * x->vocab);
}

static size_t next_chunk(const struct schedule *x, const struct slot *slot) {
    return llm_session_chunk(x->s, slot->seen.n, slot->job->nprompt - slot->seen.n);
}

/* The slot that reads and came first after `last`; NULL: none. */
static struct slot *next_reader(struct schedule *x, const struct slot *last) {
    struct slot *best = NULL;
    for (size_t i = 0; i < x->o.slots; i++) {
        struct slot *s = &x->slots[i];
        bool reads = s->job && s->job->state == SERVE_READING && (!last || s->joined > last->joined);
        if (reads && (!best || s->joined < best->joined))
            best = s;
    }
    return best;
}

/* The slot that came first, and others whose next portions are read by a program of the same size, with caches of the same: a
   power of two of them, with up to `most` tokens together. */
static size_t find_readers(struct schedule *x, size_t most, struct slot *out[LLM_MAX_JOINT]) {
    struct slot *slot = next_reader(x, NULL);
    size_t n = 0, chunk = slot ? next_chunk(x, slot) : 0, joint = 1;
    int64_t room = slot ? llm_session_room(slot->s, chunk) : 0;
    for (; slot && n < LLM_MAX_JOINT && (n + 1) * chunk <= most; slot = next_reader(x, slot))
        if (next_chunk(x, slot) == chunk && llm_session_room(slot->s, chunk) == room)
            out[n++] = slot;
    while (chunk >= LLM_LEAST_JOINT && 2 * joint <= n)
        joint *= 2;
    return n ? joint : 0;
}

/* Reads portions of prompts, those that came first first, as long as together they have no more tokens than the largest one: so
   long the others wait. */
static void read_portions(struct schedule *x) {
    struct slot *slots[LLM_MAX_JOINT];
    for (size_t left = LLM_MAX_CHUNK, n; (n = find_readers(x, left, slots)) > 0;) {
        size_t chunk = next_chunk(x, slots[0]);
        read_together(x, slots, n, chunk);
        left -= n * chunk;
    }
}

static void decode(struct schedule *x, struct slot *const *slots, size_t n) {
    struct llm_session *forks[LLM_MAX_APART];
    int32_t tokens[LLM_MAX_APART];
    for (size_t i = 0; i < n; i++) {
        forks[i] = slots[i]->s;
        tokens[i] = slots[i]->next;
    }
    hilo_status status = llm_session_decode_apart(forks, n, tokens, x->logits);
    pthread_mutex_lock(&x->mutex);
    x->counts.steps++;
    x->counts.rows += n;
    for (size_t i = 0; i < n && status != HILO_OK; i++)
        fail_step(x, slots[i], status);
    pthread_mutex_unlock(&x->mutex);
    for (size_t i = 0; i < n && status == HILO_OK; i++) {
        llm_ids_push(&slots[i]->seen, tokens[i]);
        choose(x, slots[i], x->logits + i * x->vocab);
    }
}

static int by_context(const void *a, const void *b) {
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
    if (x->s->context != y->s->context)
        return x->s->context < y->s->context ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Jobs that were cancelled, or whose time is over, leave. */
static void sweep(struct schedule *x) {
    double now = rt_now_ms();
    struct serve_job **p = &x->first;
    x->last = NULL;
    while (*p) {
        struct serve_job *j = *p;
        bool late = j->task->deadline > 0 && now > j->task->deadline;
        if (!j->cancelled && !late) {
            x->last = j;
            p = &j->next;
            continue;
        }
        *p = j->next;
        x->nqueued--;
        end_job(x, j, j->cancelled ? SERVE_END_CANCELLED : SERVE_END_TIME);
    }
    for (size_t i = 0; i < x->o.slots; i++) {
        struct serve_job *j = x->slots[i].job;
        if (j && (j->cancelled || (j->task->deadline > 0 && now > j->task->deadline)))
            leave(x, &x->slots[i], j->cancelled ? SERVE_END_CANCELLED : SERVE_END_TIME);
    }
}

/* Takes the first job of the queue if a slot is free; the mutex is held. */
static struct serve_job *take_job(struct schedule *x, struct slot **slot, size_t *prefix, size_t *nportions) {
    struct serve_job *j = x->first;
    if (!j || !(*slot = free_slot(x, j, prefix, nportions)))
        return NULL;
    x->first = j->next;
    x->last = x->first ? x->last : NULL;
    x->nqueued--;
    x->counts.busy++;
    return j;
}

static void run_round(struct schedule *x) {
    size_t n = 0;
    x->round++;
    hilo_diagnostics_clear(x->s->client); /* those of former rounds */
    read_portions(x);
    for (size_t i = 0; i < x->o.slots; i++)
        if (x->slots[i].job && x->slots[i].job->state == SERVE_WRITING)
            x->writing[n++] = &x->slots[i];
    qsort(x->writing, n, sizeof(struct slot *), by_context);
    for (size_t at = 0; at < n; at += LLM_MAX_APART)
        decode(x, x->writing + at, n - at < LLM_MAX_APART ? n - at : LLM_MAX_APART);
}

/* ---- compiling ahead --------------------------------------------------------------------------- */

/* Whether texts are written, and not only embedded: then programs decode. */
static bool writes(const struct schedule *x) {
    return !x->s->model.config.bidirectional;
}

/* Compiles the programs of steps with the smallest caches, and runs the first of them, so that weights are in memory. */
static hilo_status warm_up(struct schedule *x) {
    struct llm_graph g[LLM_MAX_GRAPHS];
    const int32_t token = 0;
    void *program;
    x->warm_context = llm_session_next_context(x->s, 0);
    x->warm = x->o.warm_up && writes(x) ? llm_session_graphs(x->s, x->o.slots, x->warm_context, g) : 0;
    for (size_t i = 0; i < x->warm && x->o.warm_up(x->o.user, i, x->warm); i++)
        HILO_TRY(llm_session_program(x->s, &g[i], &program));
    if (x->warm)
        HILO_TRY(llm_session_decode_apart(&x->slots[0].s, 1, &token, x->logits));
    llm_session_reset(x->slots[0].s);
    return HILO_OK;
}

/* Compiles one more program, of steps with caches that are twice as large as those that exist at most, or of 512 tokens; false:
   there is none. */
static bool warm_up_more(struct schedule *x) {
    struct llm_graph g[LLM_MAX_GRAPHS];
    int64_t most = llm_session_next_context(x->s, 0);
    void *program;
    for (size_t i = 0; i < x->o.slots; i++)
        most = x->slots[i].s->context > most ? x->slots[i].s->context : most;
    if (!x->o.warm_up || !writes(x))
        return false;
    size_t n = llm_session_graphs(x->s, x->o.slots, x->warm_context, g);
    if (x->warm == n) {
        int64_t next = llm_session_next_context(x->s, x->warm_context), largest = llm_session_next_context(x->s, most);
        if (!next || (largest && next > largest)) /* none is larger than caches at the limit */
            return false;
        x->warm_context = next;
        x->warm = 0;
        (void)llm_session_graphs(x->s, x->o.slots, next, g);
    }
    if (llm_session_program(x->s, &g[x->warm++], &program) == HILO_OK)
        return true;
    hilo_diagnostics_clear(x->s->client); /* the text that needs it will say why */
    x->o.warm_up = NULL;
    return false;
}

static void *run(void *user) {
    struct schedule *x = user;
    pthread_mutex_lock(&x->mutex);
    for (;;) {
        struct slot *slot;
        size_t prefix, nportions, nprograms = x->s->nprograms;
        struct serve_job *j;
        sweep(x);
        while ((j = take_job(x, &slot, &prefix, &nportions))) {
            pthread_mutex_unlock(&x->mutex);
            join(x, j, slot, prefix, nportions);
            pthread_mutex_lock(&x->mutex);
        }
        bool idle = !x->counts.busy;
        if (!idle) {
            pthread_mutex_unlock(&x->mutex);
            run_round(x);
            pthread_mutex_lock(&x->mutex);
        }
        x->counts.programs = x->s->nprograms;
        x->counts.late += x->s->nprograms - nprograms;
        if (idle && !x->first) {
            if (x->closing)
                break;
            pthread_mutex_unlock(&x->mutex);
            bool more = warm_up_more(x);
            pthread_mutex_lock(&x->mutex);
            if (!more && !x->first && !x->closing)
                pthread_cond_wait(&x->work, &x->mutex);
        }
    }
    pthread_mutex_unlock(&x->mutex);
    return NULL;
}

/* ---- the interface --------------------------------------------------------------------------- */

static void free_schedule(struct schedule *x) {
    for (size_t i = 0; i < x->o.slots && x->slots; i++) {
        llm_session_close(x->slots[i].s);
        llm_ids_free(&x->slots[i].seen);
        llm_ids_free(&x->slots[i].portions);
    }
    llm_grammar_vocab_close(x->vocabulary);
    mem_free(&x->al, x->slots, x->o.slots * sizeof *x->slots);
    mem_free(&x->al, x->writing, x->o.slots * sizeof(struct slot *));
    mem_free(&x->al, x->logits, LLM_MAX_APART * x->vocab * sizeof *x->logits);
    mem_free(&x->al, x->candidates, x->vocab * sizeof *x->candidates);
    mem_free(&x->al, x->occurrences, x->vocab * sizeof *x->occurrences);
    pthread_cond_destroy(&x->changed);
    pthread_cond_destroy(&x->work);
    pthread_mutex_destroy(&x->mutex);
    mem_free(&x->al, x, sizeof *x);
}

hilo_status schedule_open(struct llm_session *s, const struct schedule_options *o, struct schedule **out) {
    hilo_allocator al = *rt_client_allocator(s->client);
    struct schedule *x = mem_alloc(&al, sizeof *x);
    if (!x)
        return llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *x = (struct schedule){.s = s, .o = *o, .al = al, .vocab = (size_t)s->model.config.vocab};
    x->counts.slots = o->slots;
    pthread_mutex_init(&x->mutex, NULL);
    pthread_cond_init(&x->work, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&x->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    x->slots = mem_alloc(&al, o->slots * sizeof *x->slots);
    x->writing = mem_alloc(&al, o->slots * sizeof(struct slot *));
    x->logits = mem_alloc(&al, LLM_MAX_APART * x->vocab * sizeof *x->logits);
    x->candidates = mem_alloc(&al, x->vocab * sizeof *x->candidates);
    x->occurrences = mem_alloc(&al, x->vocab * sizeof *x->occurrences);
    bool ready = x->slots && x->writing && x->logits && x->candidates && x->occurrences;
    for (size_t i = 0; i < o->slots && x->slots; i++) {
        x->slots[i] = (struct slot){.s = NULL};
        llm_ids_init(&x->slots[i].seen, al);
        llm_ids_init(&x->slots[i].portions, al);
        ready = ready && llm_session_fork(s, &x->slots[i].s) == HILO_OK;
    }
    if (x->occurrences)
        memset(x->occurrences, 0, x->vocab * sizeof *x->occurrences);
    hilo_status status = ready ? warm_up(x) : llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    if (status == HILO_OK && pthread_create(&x->thread, NULL, run, x))
        status = llm_error(s->client, HILO_RESOURCE_EXHAUSTED, "no thread could be started");
    if (status == HILO_OK)
        *out = x;
    else
        free_schedule(x);
    return status;
}

void schedule_stop(struct schedule *x) {
    if (!x)
        return;
    pthread_mutex_lock(&x->mutex);
    bool first = !x->closing;
    x->closing = true;
    for (struct serve_job *j = x->first; j; j = j->next)
        j->cancelled = true;
    for (size_t i = 0; i < x->o.slots; i++)
        if (x->slots[i].job)
            x->slots[i].job->cancelled = true;
    pthread_cond_broadcast(&x->work);
    pthread_mutex_unlock(&x->mutex);
    if (first)
        pthread_join(x->thread, NULL);
}

void schedule_close(struct schedule *x) {
    if (!x)
        return;
    schedule_stop(x);
    free_schedule(x);
}

hilo_status schedule_submit(struct schedule *x, struct serve_job *const *jobs, size_t n) {
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&x->mutex);
    if (x->closing || x->counts.busy + x->nqueued + n > x->o.slots + x->o.queue)
        status = HILO_UNAVAILABLE;
    for (size_t i = 0; i < n && status == HILO_OK; i++) {
        jobs[i]->submitted = rt_now_ms();
        if (x->last)
            x->last->next = jobs[i];
        else
            x->first = jobs[i];
        x->last = jobs[i];
        x->nqueued++;
    }
    pthread_cond_signal(&x->work);
    pthread_mutex_unlock(&x->mutex);
    return status;
}

void schedule_wait(struct schedule *x, uint64_t *version, unsigned ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&x->mutex);
    while (x->version == *version)
        if (pthread_cond_timedwait(&x->changed, &x->mutex, &until) == ETIMEDOUT)
            break;
    *version = x->version;
}

void schedule_release(struct schedule *x) {
    pthread_mutex_unlock(&x->mutex);
}

void schedule_cancel(struct schedule *x, struct serve_job *j) {
    pthread_mutex_lock(&x->mutex);
    j->cancelled = true;
    pthread_cond_signal(&x->work);
    pthread_mutex_unlock(&x->mutex);
}

struct serve_counts schedule_counts(struct schedule *x) {
    pthread_mutex_lock(&x->mutex);
    struct serve_counts c = x->counts;
    c.queued = x->nqueued;
    pthread_mutex_unlock(&x->mutex);
    return c;
}

size_t schedule_slots(struct schedule *x, struct serve_slot_info *out, size_t most) {
    pthread_mutex_lock(&x->mutex);
    for (size_t i = 0; i < x->o.slots && i < most; i++) {
        const struct serve_job *j = x->slots[i].job;
        out[i] = j ? (struct serve_slot_info){j->state, j->cached, j->nprompt, j->ids.n}
                   : (struct serve_slot_info){.state = SERVE_DONE};
    }
    pthread_mutex_unlock(&x->mutex);
    return x->o.slots;
}
