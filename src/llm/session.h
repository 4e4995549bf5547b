/* Sessions: a model on an engine, and what it has read so far.
 *
 * Weights are uploaded once. The cache of keys and values stays with the engine, is donated to every step and returned by
 * it, so that an engine that supports donation updates it in place. Its capacity doubles as needed, up to the model's limit.
 * Programs are compiled on first use and kept.
 *
 * A session is used by one thread at a time. Functions return a status; the reason is in the client's diagnostics. After an
 * error in a step (CANCELLED too) the tokens read are lost; continue with llm_session_reset. */
#ifndef HILO_LLM_SESSION_H
#define HILO_LLM_SESSION_H

#include "llm/chat.h"
#include "llm/embed.h"
#include "llm/emit.h"
#include "llm/engine.h"
#include "llm/tokenizer.h"

struct llm_session_options {
    const char *engine;             /* see llm_engine_open */
    enum llm_precision precision;
    int32_t level;                  /* of optimisation, 0 … 3 */
    int64_t context;                /* limit in tokens; 0 = the model's */
    bool cache8;                    /* keys and values are kept in 8 bits (f8E4M3FN) */
    int64_t batch;                  /* sequences that are read side by side; 0 = 1 */
    struct llm_progress progress;
    int (*cancelled)(void *user);   /* polled while it runs; NULL = never */
    void *cancelled_user;
};

struct llm_program { struct llm_graph graph; void *program; };

struct llm_session {
    struct llm_session *root;       /* of a fork: model, engine, weights and programs are those of `root`; else NULL */
    hilo_client *client;
    struct llm_model model;         /* the shard of the first device here, if there are several */
    struct llm_model *others;       /* those of the other devices here: engine->devices - 1 */
    struct llm_tok *tok;
    struct llm_chat chat;
    struct llm_embedding embedding; /* how llm_session_embed pools */
    struct llm_engine *engine;
    struct llm_session_options o;
    int64_t batch, limit;           /* sequences; the longest context */
    int64_t context;                /* capacity of the cache in tokens; 0 = no cache yet */
    void **weights;                 /* model.nparams arrays */
    void **cache;                   /* the model's arrays (llm_cache_array) */
    int32_t mark;                   /* a length of sequence 0 to which recurrent layers can be taken back; 0 = none */
    void **marked;                  /* their arrays of `cache` at that time, also the same ones; else NULL */
    void *tokens, *positions;       /* i32[batch], of the last step; NULL = to be uploaded */
    int32_t *at;                    /* batch: tokens read so far */
    int64_t written;                /* the end of what has been written to the cache of sequence 0 */
    struct llm_ids seen;            /* of sequence 0, where llm_generate alone has read: at[0] of them */
    struct llm_ids portions;        /* where the portions of `seen` end that were read as a prompt, from its beginning on */
    struct llm_program *programs;
    size_t nprograms;
    void **in, **out;               /* arguments and results of a step */
    uint8_t *donate;
    struct arena arena;
    double load_ms, compile_ms;
};

/* A client with several devices divides the model over them (shard.h). Where they belong to several nodes, each opens the same
   session: that of node 0 is used, the others follow it. */
hilo_status llm_session_open(hilo_client *client, const char *dir, const struct llm_session_options *o,
                             struct llm_session **out);
/* Whether the session is to follow that of node 0, and following it until that is closed. */
bool llm_session_follows(const struct llm_session *s);
hilo_status llm_session_follow(struct llm_session *s);
void llm_session_close(struct llm_session *s); /* NULL is fine */
/* One more sequence on the model, engine and programs of `s`, which has a batch of one and must outlive it: a session that has
   read nothing yet, with a cache of its own. */
hilo_status llm_session_fork(struct llm_session *s, struct llm_session **out);

/* Properties of the session, for messages and front ends. */
struct llm_capabilities {
    const char *engine, *family;
    bool has_template;              /* of conversations */
    enum llm_precision precision;
    int64_t context, batch, vocab;
    size_t weight_bytes, cache_bytes;   /* of all devices here; cache_bytes: of a whole context */
    int64_t devices;                /* of all nodes, over which the model is divided */
};
struct llm_capabilities llm_session_capabilities(const struct llm_session *s);

/* Allocations and copies of decode steps after the first of each program: none, because they update the cache in place. */
struct llm_traffic {
    bool known;     /* reported by the engine */
    uint64_t allocations, copied_bytes;
};
struct llm_traffic llm_session_traffic(const struct llm_session *s);

/* Tokens of sequence 0 that are left when those after the first n are forgotten: n, but 0 where the cache has moved on (a
   ring). The states of gated delta nets are kept only at the last mark: that, or 0 where it is none of the first n. */
size_t llm_session_reach(const struct llm_session *s, size_t n);
/* Forgets all tokens; or those of sequence 0 after the first llm_session_reach(s, n). */
void llm_session_reset(struct llm_session *s);
void llm_session_rewind(struct llm_session *s, size_t n);
/* Keeps the states of gated delta nets after the tokens read so far, instead of those of the last mark: a second set of these
   arrays. Other models can be taken back anyway. Only for a session with one sequence. */
void llm_session_mark(struct llm_session *s);

/* Reads n[i] > 0 more tokens of each sequence. Writes the token with the greatest logit of each to `next`, or, if `logits` is
   not NULL, batch * vocabulary logits there. OUT_OF_RANGE if the context is full. */
hilo_status llm_session_prefill(struct llm_session *s, const int32_t *const *ids, const size_t *n, int32_t *next,
                                float *logits);
/* Reads one more token of each sequence, with the same results. `tokens` NULL: the tokens that the last step chose, without
   uploading them. */
hilo_status llm_session_decode(struct llm_session *s, const int32_t *tokens, int32_t *next, float *logits);
/* The tokens that prefill reads at once after `at` tokens when `left` are left: reading a prompt in several calls that end at
   such boundaries computes what one call does, to the bit. */
size_t llm_session_portion(const struct llm_session *s, size_t at, size_t left);
/* How many tokens of a prompt the session has read in the portions in which the prompt would be read: what follows has the bits
   that it has in a session of its own. `seen`: what was read; `portions`: where portions end that were read as a prompt, from
   the beginning on; *nportions: how many of them are shared. The prompt's last portion never is: its logits are needed. */
size_t llm_session_shared(const struct llm_session *s, const struct llm_ids *seen, const struct llm_ids *portions,
                          const int32_t *prompt, size_t n, size_t *nportions);
/* The tokens of the program that reads that portion, of which it may fill only some. From LLM_LEAST_JOINT on, portions of
   several forks whose programs are equally large can be read together. */
size_t llm_session_chunk(const struct llm_session *s, size_t at, size_t left);
/* The capacity of the cache when `more` tokens have been read: forks are given a common one where they are read together. */
int64_t llm_session_room(const struct llm_session *s, size_t more);
/* Reads one portion each of n ≤ LLM_MAX_APART different forks of one session, counts[i] ≤ `chunk` = llm_session_chunk tokens of
   ids[i]. Writes n * vocabulary logits, those that llm_session_prefill of a fork alone would answer, to the bit. After an error
   all of them have lost their tokens. */
hilo_status llm_session_prefill_apart(struct llm_session *const *forks, size_t n, size_t chunk, const int32_t *const *ids,
                                      const size_t *counts, float *logits);
/* Reads one more token of each of n ≤ LLM_MAX_APART different forks of one session, which may be at any positions. Writes n *
   vocabulary logits, those that a fork alone would answer, to the bit. After an error all of them have lost their tokens. */
hilo_status llm_session_decode_apart(struct llm_session *const *forks, size_t n, const int32_t *tokens, float *logits);
/* Makes `to` what `from` is after its first n tokens; both are forks of one session, or that session. */
hilo_status llm_session_copy(struct llm_session *from, size_t n, struct llm_session *to);
/* Reads n tokens, at most LLM_MAX_APART, of the one sequence, and writes the token with the greatest logit after each: those
   that as many decode steps would have chosen. Rewind to drop tokens that are not wanted. */
hilo_status llm_session_verify(struct llm_session *s, const int32_t *tokens, size_t n, int32_t *next);
/* Resets the session and reads n > 1 tokens into sequence 0. Writes the negative logarithms of the probabilities of tokens
   1 to n - 1. */
hilo_status llm_session_score(struct llm_session *s, const int32_t *ids, size_t n, float *out);
/* The same, but calls `row` with the logits after each of tokens 0 to n - 2; its vocabulary numbers may be modified. */
hilo_status llm_session_logits(struct llm_session *s, const int32_t *ids, size_t n,
                               void (*row)(void *user, size_t i, float *logits), void *user);

/* The program of a graph, compiled when it is new; and OK if the files of the weights are whole and the ids are tokens. For
   what runs programs beside the functions above. */
hilo_status llm_session_program(struct llm_session *s, const struct llm_graph *g, void **out);
hilo_status llm_session_check(struct llm_session *s, const int32_t *ids, size_t n);

/* The programs that forks run which read prompts (with logits), up to LLM_MAX_JOINT together, and decode side by side, up to
   `forks` of them, while their caches have room for `context` tokens. Returns how many. */
enum {
    LLM_MAX_JOINT = 4, /* beyond 512 rows products gain nothing; for each power of two up to here there is a program */
    LLM_MAX_GRAPHS = LLM_MAX_APART + 12
};
size_t llm_session_graphs(const struct llm_session *s, size_t forks, int64_t context, struct llm_graph out[LLM_MAX_GRAPHS]);
/* The next larger size of caches than `context` tokens; 0 = none. Of 0 the first. */
int64_t llm_session_next_context(const struct llm_session *s, int64_t context);

/* Makes the module of a program with llm_emit. */
hilo_status llm_session_module(hilo_client *client, const struct llm_model *model, const struct llm_graph *g,
                               hilo_module **out);

#endif
