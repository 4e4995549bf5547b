/* Continuous batching: many texts at once on one model.
 *
 * A scheduler has a thread and a number of slots, each with a fork of the model's session. Between two steps texts join free
 * slots and leave them. In each round slots read portions of their prompts, up to LLM_MAX_CHUNK tokens in all, those of
 * one size and size of caches up to LLM_MAX_JOINT together, and all slots that write decode a token, up to LLM_MAX_APART of
 * them in a step. The tokens of a text are those of a run of it alone, to the
 * bit: portions end where they would end alone, and a prompt that begins like what a slot has read takes over only whole
 * portions of it.
 *
 * A job is filled by its owner, submitted, and read while it runs; its memory belongs to the owner, who waits for its end
 * before it is freed. Functions may be called from any thread. */
#ifndef HILO_SERVE_SCHEDULE_H
#define HILO_SERVE_SCHEDULE_H

#include "llm/generate.h"
#include "llm/grammar.h"

#include <pthread.h>

struct serve_bias {
    int32_t id;
    double by;
};
enum { SERVE_MAX_BIAS = 300, SERVE_MAX_TOP = 20 };

/* What to write; constant while a job runs. */
struct serve_task {
    size_t most; /* tokens; SIZE_MAX = up to the end of the context; 0: nothing is written, the prompt is scored at most */
    struct llm_sampling sampling;
    double frequency, presence;             /* subtracted from logits of generated tokens: for each occurrence, once */
    struct serve_bias bias[SERVE_MAX_BIAS]; /* added to logits */
    size_t nbias;
    struct llm_stops stops;
    bool special;                      /* special tokens are part of the text */
    bool ignore_end;                   /* tokens that end a text do not */
    bool score;                        /* log probabilities of tokens … */
    size_t ntop;                       /* … and of so many of the most probable */
    bool embed;                        /* nothing is written: the prompt's vector is wanted */
    bool score_prompt;                 /* of the prompt's tokens but the first one, too */
    const struct llm_grammar *grammar; /* NULL = any text */
    double deadline;                   /* rt_now_ms() at which it is given up; 0 = never */
};

struct serve_token {
    int32_t id;
    size_t end; /* of the text with this token */
    double log_probability;
    struct llm_candidate top[SERVE_MAX_TOP]; /* x: log probability, greatest first */
};

enum serve_state { SERVE_QUEUED, SERVE_READING, SERVE_WRITING, SERVE_DONE };
enum serve_end { SERVE_END_STOP, SERVE_END_LENGTH, SERVE_END_CANCELLED, SERVE_END_TIME, SERVE_END_FAILED };

struct serve_job {
    const struct serve_task *task;
    const int32_t *prompt;
    size_t nprompt;
    uint64_t seed;
    /* Results: written by the scheduler; read between serve_wait and the next one, or after the end. */
    enum serve_state state;
    enum serve_end end;
    bool cancelled;
    struct strbuf text; /* the first `visible` bytes stay as they are */
    size_t visible;
    struct llm_ids ids; /* with the token that ended the text */
    struct {
        struct serve_token *v;
        size_t n, cap;
    } tokens;                          /* task->score: of ids but the one that ended the text */
    struct serve_token *prompt_scores; /* task->score_prompt: nprompt - 1 of them, of tokens 1 … */
    float *vector;                     /* task->embed: s->embedding.width numbers */
    size_t cached;                     /* tokens of the prompt that were there already */
    char why[256];                     /* SERVE_END_FAILED */
    double submitted, first, finished; /* rt_now_ms() */
    struct serve_job *next;
};

/* What a scheduler has done so far. */
enum { SERVE_BUCKETS = 12 };
extern const double serve_bucket_seconds[SERVE_BUCKETS]; /* upper bounds of the histograms */
struct serve_histogram {
    uint64_t n[SERVE_BUCKETS], count;
    double sum;
};
struct serve_counts {
    uint64_t jobs[SERVE_END_FAILED + 1]; /* by end */
    uint64_t prompt_tokens, cached_tokens, tokens, steps, rows;
    uint64_t programs, late; /* late: those of them that were compiled while texts waited for them */
    struct serve_histogram first, whole; /* seconds to the first token, and to the end */
    size_t slots, busy, queued;
    char lost[256]; /* why no step can be run any more: a node of the model has ended; else "" */
};
struct serve_slot_info {
    enum serve_state state;
    size_t read, prompt, written;
};

struct schedule;
struct schedule_options {
    size_t slots, queue;
    /* Compiles the programs of steps ahead: those with the smallest caches at the beginning, telling how many of them are done
       (false = no more); those with the next larger caches when nothing is to be done. NULL: each when it is needed. It is
       called by schedule_open only. */
    bool (*warm_up)(void *user, size_t done, size_t all);
    void *user;
};
/* The session, with a batch of one, belongs to the scheduler's thread until schedule_close. */
hilo_status schedule_open(struct llm_session *s, const struct schedule_options *o, struct schedule **out);
/* Cancels all jobs and ends the thread; jobs can no longer be submitted. NULL is fine, and a second call. */
void schedule_stop(struct schedule *x);
/* The same, and frees the scheduler, which no thread may use any more. */
void schedule_close(struct schedule *x);

void serve_job_init(struct serve_job *j);
void serve_job_free(struct serve_job *j);
/* UNAVAILABLE when the slots and the queue are full. All of the jobs or none. */
hilo_status schedule_submit(struct schedule *x, struct serve_job *const *jobs, size_t n);
/* Waits until one of the jobs has changed since `*version`, or `ms` have passed; updates it. The jobs do not change until
   schedule_release. */
void schedule_wait(struct schedule *x, uint64_t *version, unsigned ms);
void schedule_release(struct schedule *x);
void schedule_cancel(struct schedule *x, struct serve_job *j);
struct serve_counts schedule_counts(struct schedule *x);
/* Of the first `most` slots; returns how many there are. */
size_t schedule_slots(struct schedule *x, struct serve_slot_info *out, size_t most);

#endif
