/* The layers of a model, in StableHLO: what emit.c makes programs of. Shapes are written next to the values: B sequences, T
 * tokens of each, N = B T rows, H heads of D numbers, Hk heads of keys and values, G = H / Hk, C positions in the cache. */
#ifndef HILO_LLM_LAYER_H
#define HILO_LLM_LAYER_H

#include "llm/emit.h"
#include "llm/product.h"

struct emit {
    struct build b;
    const struct llm_model *model;
    const struct llm_config *c;
    const struct llm_graph *g;
    enum ir_dtype type;          /* of the inputs of products */
    int64_t B, T, N, H, C;
    int64_t Hk, G, D;            /* of the layer */
    ir_val tokens, positions, lengths, targets;
    const ir_val *params, *cache; /* arguments: weights; cache (llm_cache_array) */
    ir_val *fresh;               /* the cache after this program */
    ir_val rope_cos[2], rope_sin[2]; /* f32[B, T, dim / 2] of the rotary embedding; [1] of sliding layers */
    ir_val growth;               /* f32[B, T]: of queries; unset if they do not grow */
    ir_val mask[2];              /* i1[B, T, C]: what a token sees; [1]: of the ring, if there is one */
    ir_val sides;                /* f32[N, layers * side] */
    ir_val stream[LLM_MAX_STREAMS]; /* f32[N, hidden]: the residual streams but the first */
};

/* Dimensions for a function that takes a rank and a list. */
#define DIMS(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}
ir_val layer_reshape(struct emit *e, ir_val x, uint32_t rank, const int64_t *dims);

/* Whether rows are those of decode steps: the tokens of sequences at their ends, or proposed ones. */
static inline bool layer_decodes(const struct emit *e) {
    return e->g->kind == LLM_DECODE || e->g->kind == LLM_VERIFY;
}

/* NULL if the model has none in that role. */
const struct llm_weight *layer_weight(const struct emit *e, enum llm_role role, int64_t layer);
ir_val layer_part(const struct emit *e, const struct llm_weight *w, enum llm_part part);
/* The sum over the shards of the model, of what each of them has computed a part of; x itself of an undivided one. */
ir_val layer_sum(struct emit *e, ir_val x);
/* x f32[n, cols] times the transposed matrix: f32[n, rows]. With one row for each sequence, products take the inputs of a
   decode step. */
ir_val layer_product(struct emit *e, ir_val x, const struct llm_weight *w);
/* The product with a matrix of a layer, plus its bias if it has one. */
ir_val layer_linear(struct emit *e, ir_val x, enum llm_role role, enum llm_role bias, int64_t layer);
/* A vector of a layer along the last dimension of `like`, in f32. */
ir_val layer_vector(struct emit *e, ir_val v, ir_val like);
/* f32[n, cols] of i32[n]: rows of a matrix, times `scale`. */
ir_val layer_rows(struct emit *e, const struct llm_weight *w, ir_val ids, double scale);
/* f32[N, hidden] of i32[N] */
ir_val layer_embedding(struct emit *e, ir_val ids);
/* x / sqrt(mean(x²) + eps), along the last dimension, of which each of `shards` devices has a part. */
ir_val layer_unit(struct emit *e, ir_val x, int64_t shards);
/* The same times the weight; layer norms: of x less its mean, plus a bias. */
ir_val layer_norm(struct emit *e, ir_val x, enum llm_role role, int64_t layer);
ir_val layer_activation(struct emit *e, ir_val x);
/* tanh(x / cap) * cap; x itself for 0 */
ir_val layer_capped(struct emit *e, ir_val x, double cap);
/* i32[n]: the index of the first maximum of each row. */
ir_val layer_greatest(struct emit *e, ir_val x);

/* Masks and rotary embeddings of the tokens, which layers share; before the first layer. */
void layer_positions(struct emit *e);
/* A layer, x f32[N, hidden] to the same; its keys and values are in e->fresh. In a PREFILL the last layer that writes to the
   cache leaves one token of each sequence, the last valid one, and e->T is 1 from there on: nothing else needs the others. */
ir_val layer_run(struct emit *e, ir_val x, int64_t layer);
/* The MLP of a layer with experts (experts.c); x decides which. */
ir_val layer_mixture(struct emit *e, ir_val h, ir_val x, int64_t layer);
/* The activation of the gates times the others, as dense layers have it. */
ir_val layer_gated(struct emit *e, ir_val gate, ir_val up);
/* A gated delta net instead of attention (delta.c). */
ir_val layer_delta(struct emit *e, ir_val x, int64_t layer);
/* The emitter of one of the sequences with a cache each, i; its inputs are row i. */
struct emit layer_alone(struct emit *e, int64_t i);

/* What Gemma 3n and 4 add (streams.c): embeddings of each layer; residual streams, of which a layer computes the first from
   what it predicts for all of them; a product beside attention. `x` is f32[N, hidden]; without them nothing happens. */
void layer_sides(struct emit *e, ir_val x);
ir_val layer_add_side(struct emit *e, ir_val x, int64_t layer);
void layer_streams_open(struct emit *e, ir_val x);
ir_val layer_streams_close(struct emit *e, ir_val x);
/* From the first stream to what the layer takes instead; `predicted` are all streams before the layer. */
ir_val layer_predict(struct emit *e, ir_val x, int64_t layer, ir_val predicted[LLM_MAX_STREAMS]);
ir_val layer_correct(struct emit *e, ir_val x, int64_t layer, const ir_val predicted[LLM_MAX_STREAMS]);
ir_val layer_laurel(struct emit *e, ir_val x, int64_t layer);

#endif
