/* Generating text: a session's steps in a loop, with greedy or random sampling, and streamed text. */
#ifndef HILO_LLM_GENERATE_H
#define HILO_LLM_GENERATE_H

#include "llm/session.h"

/* ---- choosing a token (sample.c) ------------------------------------------------------------- */

/* In the order in which they apply. All off: greedy, in the engine itself. */
struct llm_sampling {
    double repetition;   /* logits of tokens that occurred are divided (positive) or multiplied by this; 1 = off */
    double temperature;  /* 0 = the greatest logit */
    int64_t top_k;       /* the k most probable only; 0 = off */
    double top_p;        /* the most probable that together reach this; 1 = off */
    double min_p;        /* those at least this probable, relative to the most probable; 0 = off */
    uint64_t seed;
};
#define LLM_GREEDY {.repetition = 1, .top_p = 1}
bool llm_sampling_greedy(const struct llm_sampling *o);
/* NULL, or what is wrong with the options. */
const char *llm_sampling_flaw(const struct llm_sampling *o);

struct llm_candidate { float x; int32_t id; };
/* Samples a token. `logits` is modified; `seen` are the tokens that repetition looks at; `candidates` has space for n; `state`
   is the random state, the seed at first. */
int32_t llm_sample(const struct llm_sampling *o, float *logits, size_t n, const int32_t *seen, size_t nseen,
                   struct llm_candidate *candidates, uint64_t *state);

/* ---- stop strings (stop.c) -------------------------------------------------------------------- */

struct llm_stops { const char *const *v; size_t n; }; /* empty strings stop nothing */
/* The index of the first stop string at or after `from`; the length of the text if there is none. */
size_t llm_stop_find(const struct llm_stops *stops, struct str text, size_t from);
/* The length of what can be shown after `from`: a suffix that may begin a stop string is held back. */
size_t llm_stop_safe(const struct llm_stops *stops, struct str text, size_t from);

/* ---- generating (generate.c) ----------------------------------------------------------------- */

enum llm_end {
    LLM_END_LENGTH,  /* the requested number of tokens */
    LLM_END_TOKEN,   /* the model ended its text */
    LLM_END_STOP,    /* a stop string */
    LLM_END_CONTEXT, /* the context is full */
    LLM_END_CALLER   /* on_text said so */
};

struct llm_generate_options {
    size_t most;                 /* tokens; 0 = up to the end of the context */
    struct llm_sampling sampling;
    const char *const *stop;     /* the text ends before the first of these */
    size_t nstop;
    bool special;                /* special tokens are part of the text */
    size_t speculate;            /* tokens that are proposed at a time, with greedy sampling; 0 = none */
    struct llm_session *draft;   /* a smaller model that proposes them; NULL = what followed the same tokens before */
    /* Called after each token with the text that it adds, perhaps none; non-zero ends the text. May be NULL. */
    int (*on_text)(void *user, const char *text, size_t n);
    void *user;
};

struct llm_generated {
    struct llm_ids ids;          /* with the token that ended the text */
    struct strbuf text;
    enum llm_end end;
    size_t read, reused;         /* tokens of the prompt that were read, and that were in the cache already */
    double prefill_ms, decode_ms; /* for the prompt, and for all ids after the first */
    struct llm_traffic decode;   /* of the latter */
    size_t proposed, accepted;   /* tokens by speculation */
};
void llm_generated_init(struct llm_generated *g, hilo_allocator al);
void llm_generated_free(struct llm_generated *g);

/* Continues the prompt in sequence 0 of a session with a batch of one. A prefix that the prompt shares with the previous text
   is taken from the cache. After an error `out` has what was generated before it. */
hilo_status llm_generate(struct llm_session *s, const int32_t *prompt, size_t n, const struct llm_generate_options *o,
                         struct llm_generated *out);

/* ---- speculation (speculate.c) ---------------------------------------------------------------- */

enum { LLM_MAX_SPECULATION = 64 };

struct llm_speculation {
    struct llm_session *draft;
    size_t most, proposed, accepted;
    int32_t tokens[LLM_MAX_SPECULATION]; /* that may follow the last one seen: n of them, from `from` on */
    size_t from, n;
};

/* Proposes tokens that may follow those seen; returns how many, at most `most`. */
size_t llm_propose_lookup(const struct llm_ids *seen, size_t most, int32_t *out);
/* INVALID_ARGUMENT when the vocabulary of the draft model, if there is one, is another. */
hilo_status llm_speculation_begin(struct llm_session *s, size_t most, struct llm_session *draft, struct llm_speculation *out);
/* Reads the tokens of s->seen that the session has not read, the last one at least, and proposed ones: writes *n tokens, at
   least one and at most LLM_MAX_APART, to `next`. The session has then read all of s->seen and of these but the last; or, with
   gated delta nets, fewer, which the next call reads again. At most `most` proposals are used. */
hilo_status llm_speculate(struct llm_session *s, struct llm_speculation *p, size_t most, int32_t *next, size_t *n);

#endif
