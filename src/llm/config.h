/* What a model is: the description that the emitter builds programs from, read from config.json.
 *
 * One description covers all families: where they differ there are fields here, not code elsewhere. The field names of old
 * and new files are both known (`rope_scaling` and `rope_theta`, `rope_parameters`). */
#ifndef HILO_LLM_CONFIG_H
#define HILO_LLM_CONFIG_H

#include "base/diag.h"

enum llm_rope_kind { LLM_ROPE_PLAIN, LLM_ROPE_LINEAR, LLM_ROPE_LLAMA3, LLM_ROPE_YARN, LLM_ROPE_LONG, LLM_ROPE_PROPORTIONAL };

enum { LLM_MAX_LAYERS = 512, LLM_MAX_EOS = 16, LLM_MAX_FREQUENCIES = 512, LLM_MAX_CHOSEN = 64, LLM_MAX_STREAMS = 4,
       LLM_LAYER_ARRAYS = 2 /* of a layer in the cache: keys and values, or the states of a gated delta net */ };

struct llm_rope {
    enum llm_rope_kind kind;
    int64_t dim;                          /* numbers of a head that are rotated; the others are not */
    int64_t rotated;                      /* PROPORTIONAL: pairs of them that are; the others have a frequency of 0 */
    double theta;
    double factor, low, high, original; /* LINEAR: the factor; LLAMA3: all; YARN: all, low and high are its betas */
    double amplitude;                   /* of sines and cosines */
    bool truncate;                      /* YARN: whole dimensions */
    float factors[2][LLM_MAX_FREQUENCIES]; /* LONG: divisors of frequencies, [1] where a sequence is longer than `original` */
};

enum llm_activation { LLM_SILU, LLM_GELU_TANH, LLM_GELU };

/* What the vector of a text is: a mean over its tokens, or that of the first or last one. */
enum llm_pooling { LLM_POOL_MEAN, LLM_POOL_FIRST, LLM_POOL_LAST };

/* How files store matrices: PLAIN, also with separate scales (model.h), or packed (packed.h). */
enum llm_layout { LLM_LAYOUT_PLAIN, LLM_LAYOUT_GPTQ, LLM_LAYOUT_GPTQ_V2, LLM_LAYOUT_AWQ };

/* Where layers differ. */
struct llm_layer {
    bool sliding;                /* attends to a window */
    bool unrotated;              /* has no rotary embeddings */
    bool recurrent;              /* a gated delta net, not attention */
    bool borrows;                /* attends to the keys and values of an earlier layer: that with the same `cache` */
    bool one_key_value;          /* the values are the keys before their norm */
    int64_t cache;               /* the first of its two arrays of the cache */
    int64_t kv_heads, head_dim, ffn;
    double spread;               /* gates count from the mean plus this many standard deviations on; 0 = all */
};

/* A gated delta net, arxiv.org/abs/2412.06464. */
struct llm_delta {
    int64_t heads, key_heads;    /* of values; of keys and queries */
    int64_t key_dim, value_dim;  /* of a head */
    int64_t taps;                /* of the convolution along the text */
};

struct llm_config {
    const char *family;          /* "llama", "qwen2" …; static storage */
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t positions;           /* the longest context */
    double norm_eps;
    bool norm_plus_one;          /* norms multiply by 1 + weight */
    bool layer_norm;             /* norms subtract the mean, too, and add a bias */
    bool tied;                   /* the output projection is the embedding */
    bool qkv_bias, o_bias, mlp_bias;
    bool qk_norm;                /* norms of queries and keys, over a head */
    bool v_norm;                 /* a norm of values, without weights */
    bool gated_attention;        /* results of attention times the logistic function of a gate, which is beside the queries */
    bool qk_norm_wide;           /* the same over all heads */
    bool pre_norms;              /* norms of the inputs of attention and MLP */
    bool post_norms;             /* norms of their results, before they are added */
    bool sum_norms;              /* norms of embeddings, and of sums: those of BERT, an encoder */
    bool ungated;                /* the MLP has no gate */
    bool bidirectional;          /* tokens attend to later ones */
    bool generates;              /* has logits; else only embeddings of texts */
    enum llm_pooling pooling;    /* of these */
    int64_t learned, offset;     /* rows of a table of positions, and the row of the first; 0 = none */
    int64_t types;               /* rows of a table of kinds of tokens, of which the first is used; 0 = none */
    int64_t experts;             /* MLPs of a layer, of which each token takes some; 0 = one that all take */
    int64_t chosen;              /* how many */
    int64_t expert_ffn;
    bool expert_bias;            /* they and the choice between them have biases */
    bool chosen_sum;             /* the weights of the chosen are divided by their sum */
    enum llm_activation activation;
    double embed_scale;          /* of embeddings; 1 = none */
    double residual_scale;       /* of the results of attention and MLP */
    double logit_scale;          /* of logits */
    double attn_scale;           /* of query times key */
    double glu_alpha, glu_limit; /* of experts: x * sigmoid(alpha x) * (up + 1), both within the limit; 0 = none */
    bool sinks;                  /* each head has a score that takes a part of the softmax, and no value */
    double query_growth;         /* queries are scaled by 1 + this * log(1 + floor(position / rope.original)); 0 = none */
    double attn_cap, final_cap;  /* tanh(x / cap) * cap on scores and logits; 0 = none */
    int64_t window;              /* of sliding layers: tokens that a token attends to, itself included */
    struct llm_layer layer[LLM_MAX_LAYERS];
    int64_t arrays;              /* of the cache */
    struct llm_delta delta;      /* of recurrent layers; heads 0: there are none */
    int64_t side, side_rows;     /* width of a layer's own embedding of each token, of the first `side_rows` ones; 0 = none */
    bool layer_scale;            /* results of layers are scaled by a weight */
    int64_t streams;             /* copies of the residual stream, AltUp (arxiv.org/abs/2301.13310); 0 = one */
    bool correct_scale;          /* what a layer's embedding is asked with is scaled by weights */
    int64_t rank;                /* of the product beside attention, LAuReL (arxiv.org/abs/2411.07501); 0 = none */
    bool joined_experts;         /* gates and ups of an expert are one matrix */
    bool parallel_experts;       /* they are beside the MLP that all tokens take, with norms and scales of their own */
    int64_t shared_ffn;          /* width of an MLP that all tokens take, beside the experts, with a gate; 0 = none */
    struct llm_rope rope, local_rope; /* of full and of sliding layers */
    bool interleaved, shifted_norms; /* GGUF files whose rows of queries and keys are in another order; with 1 added to norms */
    enum llm_layout layout;
    uint32_t bits;               /* of packed weights */
    int64_t group;               /* columns that share a scale; 0 = all */
    int32_t bos;                 /* -1 = none */
    int32_t eos[LLM_MAX_EOS];
    size_t neos;
};

/* Reads config.json and, if there is one, generation_config.json of a directory. */
hilo_status llm_config_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_config *out);
/* `generation` may be empty. */
hilo_status llm_config_parse(struct str config, struct str generation, struct diag_list *d, struct llm_config *out);

/* The dim / 2 frequencies of a rotary embedding, in radians per position; `lengthy`: for a sequence longer than r->original. */
void llm_rope_frequencies(const struct llm_rope *r, bool lengthy, float *out);
/* What frequency i of the plain embedding is divided by for that. */
double llm_rope_divisor(const struct llm_rope *r, bool lengthy, int64_t i);

#endif
