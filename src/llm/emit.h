/* Programs of a model, as StableHLO that any compiler accepts.
 *
 *   PREFILL  (tokens i32[B, T], positions i32[B], lengths i32[B], weights…, cache…) → (next, positions + lengths, cache…)
 *   DECODE   (tokens i32[B], positions i32[B], weights…, cache…)                    → (next, positions + 1, cache…)
 *   VERIFY   (tokens i32[B, T], positions i32[B], weights…, cache…)                 → (i32[B, T], positions + T, cache…)
 *   SCORE    (tokens i32[B, T], positions i32[B], lengths i32[B], targets i32[B, T], weights…, cache…)
 *                                                                → (f32[B, T], positions + lengths, cache…)
 *   LOGITS   (tokens i32[B, T], positions i32[B], lengths i32[B], weights…, cache…)
 *                                                                → (f32[B, T, vocabulary], positions + lengths, cache…)
 *   EMBED    (tokens i32[B, T], lengths i32[B], weights…)                           → f32[B, hidden]
 *   GROW     (one array of the cache) → (array), for `grown` tokens instead of `context`
 *
 * tokens      at T consecutive positions, of which the first `lengths` are valid; results for the others are undefined, and
 *             their cache entries are overwritten later
 * positions   the position of the first of them, 0 for an empty cache; position + T must not exceed the context
 * next        `sample`: i32[B], the token with the greatest logit, the first of equals; else f32[B, vocabulary], the logits;
 *             both of the last valid token
 * f32[B, hidden]  the vector of each text, pooled over its tokens; not normalised
 * i32[B, T]   the token with the greatest logit after each token, to the bit that of as many decode steps: B T is at most
 *             LLM_MAX_APART
 * f32[B, T]   the negative logarithm of the target's probability after each token
 * f32[B, T, vocabulary]  the logits after each token
 * weights     in the order of weights.def, layer by layer; for each the values, scales and offsets (model.h)
 * cache       the arrays of each layer in turn (llm_cache_array): keys and values, [B, key-value heads, context, head
 *             dimension], of which sliding layers keep a ring of the last ones; of a gated delta net its state and the last
 *             inputs of its convolution, which count as 0 at position 0, and cannot be taken back
 *
 * Positions and cache have `tf.aliasing_output`: donated, they are updated in place; so are the tokens of a DECODE that
 * samples, whose results are the next call's arguments.
 *
 * The program of a shard (shard.h) has the weights and the cache of this shard. Its results are those of the model on all
 * devices, which add up sums, and gather logits, by collectives.
 *
 * Residuals, norms, rotary embeddings and softmax are computed in f32; products take inputs of the model's type (model.h) and
 * sum in f32. docs/adr/0006-low-precision.md explains how quantised weights are expressed. */
#ifndef HILO_LLM_EMIT_H
#define HILO_LLM_EMIT_H

#include "ir/ir.h"
#include "llm/model.h"

enum llm_graph_kind { LLM_PREFILL, LLM_DECODE, LLM_VERIFY, LLM_SCORE, LLM_LOGITS, LLM_EMBED, LLM_GROW };

struct llm_graph {
    enum llm_graph_kind kind;
    int64_t batch, context;
    int64_t tokens;         /* T; DECODE: 1 */
    int64_t grown;          /* GROW: the context of the result */
    int64_t array;          /* GROW: which array of the cache */
    bool sample;
    bool apart;             /* sequences have a cache each, [1, …]: that of the first one, then that of the second … */
    enum llm_pooling pooling; /* EMBED, which has no context */
};

/* An array of the cache. */
struct llm_array {
    enum ir_dtype dtype;
    int64_t dims[4];        /* what grows with the context is the third */
};
struct llm_array llm_cache_array(const struct llm_model *m, int64_t i, int64_t batch, int64_t context);
/* Tokens that sliding layers keep: a position's entry is at its remainder. A program writes LLM_MAX_CHUNK consecutive entries
   at most, which must not go beyond the end; what a token sees is still there afterwards. `context` itself if nothing
   wraps. */
int64_t llm_ring(const struct llm_config *c, int64_t context);

enum {
    LLM_MAX_CHUNK = 512, /* tokens of a program for prompts */
    LLM_MAX_INPUTS = 4, /* arguments before the weights */
    LLM_MAX_APART = 16, /* sequences with a cache each. Up to here the bits of one do not depend on the others: products take
                           few rows in one way (lower/matvec.c), experts those that a token chose. */
    LLM_LEAST_JOINT = 32 /* tokens of each of several sequences with a cache each in a PREFILL: so many rows and more are
                            multiplied in one way, too (lower/block.c) */
};
uint32_t llm_graph_inputs(const struct llm_graph *g);
/* How often the arrays of a cache are arguments and results: once, or for each sequence. */
int64_t llm_graph_caches(const struct llm_graph *g);

/* Fills an empty module with the function @main; its recovery point must be set. The module is verified. */
hilo_status llm_emit(const struct llm_model *model, const struct llm_graph *g, struct ir_module *m, struct diag_list *d);

#endif
