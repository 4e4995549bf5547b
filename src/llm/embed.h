/* Embeddings: one vector for a text, as sentence-transformers computes it.
 *
 * The states of the last layer are pooled over the tokens; then follow the model's dense layers, and the vector is normalised.
 * What a model asks for stands in its modules.json and the directories that this names (sbert.net, "Creating Custom Models");
 * without one the pooling is that of the config (config.h), and vectors are normalised. */
#ifndef HILO_LLM_EMBED_H
#define HILO_LLM_EMBED_H

#include "llm/config.h"

enum { LLM_MAX_DENSE = 4 };

struct llm_dense {
    int64_t in, out;
    float *weight, *bias; /* [out, in] and [out]; bias NULL: none */
    bool tanh;            /* applied to the result */
};

struct llm_embedding {
    hilo_allocator al;
    enum llm_pooling pooling;
    bool normalise;
    int64_t width;        /* of a vector */
    int64_t kept;         /* numbers of it that are normalised and count, the first ones (Matryoshka); 0 = all */
    int64_t limit;        /* of tokens */
    struct llm_dense dense[LLM_MAX_DENSE];
    size_t ndense;
};

/* `path`: a directory or a GGUF file. A module or an activation that is not known is refused by name. llm_embedding_close in
   any case. */
hilo_status llm_embedding_open(const char *path, const struct llm_config *c, hilo_allocator al, struct diag_list *d,
                               struct llm_embedding *out);
void llm_embedding_close(struct llm_embedding *e);

/* The text that the model wants before others of the kind `name`, such as "query": from the prompts in
   config_sentence_transformers.json; NULL: the default there, or none. NOT_FOUND names those that there are. */
hilo_status llm_embedding_prompt(const char *path, const char *name, hilo_allocator al, struct diag_list *d,
                                 struct strbuf *out);
/* "mean", "cls" or "last". */
bool llm_pooling_named(const char *name, enum llm_pooling *out);

struct llm_session;
/* The vector of a text of n > 0 tokens, special ones included: s->embedding.width numbers, of which the first `kept` count.
   What the session has read is kept, so that it can generate in between. OUT_OF_RANGE for a text that is longer than
   s->embedding.limit. */
hilo_status llm_session_embed(struct llm_session *s, const int32_t *ids, size_t n, float *out);

#endif
