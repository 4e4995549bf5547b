/* Sessions: a model on an engine, and what it has read so far.
 *
 * Weights are uploaded once. The cache of keys and values stays with the engine, is donated to every step and comes back from
 * it, so that an engine which takes donations updates it in place. Its room grows by doubling, up to the model's limit, as a
 * text needs it. Programs are made when first needed and kept.
 *
 * A session is used by one thread at a time. Functions answer a status; the reason is in the client's diagnostics. After an
 * error in a step (CANCELLED too) what was read is lost: llm_session_reset begins anew. */
#ifndef HILO_LLM_SESSION_H
#define HILO_LLM_SESSION_H

#include "llm/chat.h"
#include "llm/emit.h"
#include "llm/engine.h"
#include "llm/tokenizer.h"

struct llm_session_options {
    const char *engine;             /* see llm_engine_open */
    enum llm_precision precision;
    int32_t level;                  /* of optimisation, 0 … 3 */
    int64_t context;                /* the most tokens; 0 = the model's limit */
    int64_t batch;                  /* sequences that are read side by side; 0 = 1 */
    struct llm_progress progress;
    int (*cancelled)(void *user);   /* polled while it runs; NULL = never */
    void *cancelled_user;
};

struct llm_program { struct llm_graph graph; void *program; };

struct llm_session {
    hilo_client *client;
    struct llm_model model;
    struct llm_tok *tok;
    struct llm_chat chat;
    struct llm_engine *engine;
    struct llm_session_options o;
    int64_t batch, limit;           /* sequences; the longest context */
    int64_t context;                /* room in the cache now; 0 = there is none */
    void **weights;                 /* model.nparams arrays */
    void **cache;                   /* 2 * layers arrays */
    void *tokens, *positions;       /* i32[batch], of the last step; NULL = to be uploaded */
    int32_t *at;                    /* batch: tokens read so far */
    struct llm_ids seen;            /* of sequence 0, where llm_generate alone has read: at[0] of them */
    struct llm_program *programs;
    size_t nprograms;
    void **in, **out;               /* arguments and results of a step */
    uint8_t *donate;
    struct arena arena;
    double load_ms, compile_ms;
};

hilo_status llm_session_open(hilo_client *client, const char *dir, const struct llm_session_options *o,
                             struct llm_session **out);
void llm_session_close(struct llm_session *s); /* NULL is fine */

/* What it can do, for messages and front ends. */
struct llm_capabilities {
    const char *engine, *family;
    bool has_template;              /* of conversations */
    enum llm_precision precision;
    int64_t context, batch, vocab;
    size_t weight_bytes, cache_bytes;   /* cache_bytes: of a whole context */
};
struct llm_capabilities llm_session_capabilities(const struct llm_session *s);

/* What decode steps behind the first of each program took from the allocator, and copied: nothing, for they update the cache
   where it is. */
struct llm_traffic {
    bool known;     /* the engine says */
    uint64_t allocations, copied_bytes;
};
struct llm_traffic llm_session_traffic(const struct llm_session *s);

/* Forgets what was read; or of sequence 0 what is behind its first n tokens. */
void llm_session_reset(struct llm_session *s);
void llm_session_rewind(struct llm_session *s, size_t n);

/* Reads n[i] > 0 more tokens of each sequence. Answers the next token of each by the greatest logit in `next`, or with
   `logits` not NULL batch * vocabulary logits there. OUT_OF_RANGE when the context ends. */
hilo_status llm_session_prefill(struct llm_session *s, const int32_t *const *ids, const size_t *n, int32_t *next,
                                float *logits);
/* Reads one more token of each sequence; the same. `tokens` NULL: those that the last step answered, which are still where it
   put them. */
hilo_status llm_session_decode(struct llm_session *s, const int32_t *tokens, int32_t *next, float *logits);
/* Forgets, and reads n > 1 tokens into sequence 0: answers the negative logarithms of the probabilities of tokens 1 … n - 1. */
hilo_status llm_session_score(struct llm_session *s, const int32_t *ids, size_t n, float *out);

/* The module of a program, as llm_emit makes it. */
hilo_status llm_session_module(hilo_client *client, const struct llm_model *model, const struct llm_graph *g,
                               hilo_module **out);

#endif
