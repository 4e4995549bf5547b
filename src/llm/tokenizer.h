/* Tokenizers: text to token ids and back, as Hugging Face's tokenizer.json describes it.
 *
 *   tok_load.c     tokenizer.json                    tok_steps.c    its normalizer and pre-tokenizer
 *   tok_split.c    added tokens, pieces              tok_norm.c     normalizers
 *   tok_merge.c    byte-pair encoding of a piece     tok_words.c    Unigram, WordPiece, WordLevel
 *   tok_text.c     ids to text, whole or as it streams
 *
 * The models are BPE (Llama, Qwen, GPT-2, CLIP; with byte fallback: Llama 2, Mistral, Gemma), Unigram (T5), WordPiece (BERT)
 * and WordLevel. A component that is not known is refused by name. A tokenizer is immutable after loading; any number of
 * threads may use it. */
#ifndef HILO_LLM_TOKENIZER_H
#define HILO_LLM_TOKENIZER_H

#include "base/diag.h"

/* A growing array of ids; a failed allocation sets `failed`, as in a strbuf. */
struct llm_ids {
    hilo_allocator al;
    int32_t *v;
    size_t n, cap;
    bool failed;
};
void llm_ids_init(struct llm_ids *ids, hilo_allocator al);
void llm_ids_free(struct llm_ids *ids);
void llm_ids_reserve(struct llm_ids *ids, size_t n); /* space for n in all */
void llm_ids_push(struct llm_ids *ids, int32_t id);

struct llm_tok;

/* Opens the tokenizer of a model, a directory or a GGUF file, or a file tokenizer.json. NOT_FOUND, or INVALID_ARGUMENT with a
   diagnostic. Free with llm_tok_free, which accepts NULL. */
hilo_status llm_tok_open(const char *path, hilo_allocator al, struct diag_list *d, struct llm_tok **out);
hilo_status llm_tok_parse(struct str json, const char *name, hilo_allocator al, struct diag_list *d, struct llm_tok **out);
struct llm_json;
/* Makes a tokenizer of what was read, whose status may be an error, and closes it. */
hilo_status llm_tok_read(struct llm_json *json, hilo_allocator al, struct llm_tok **out);
void llm_tok_free(struct llm_tok *t);

enum {
    LLM_TOK_POST = 1,      /* with what the post-processor adds, such as the token that begins a text */
    LLM_TOK_NO_SPECIAL = 2 /* the spelling of a special token is text like any other */
};
/* Appends the ids of a text (UTF-8; bytes that are none become tokens too). `from_input`: for each byte, 1 = it is user text,
   which never becomes a special token; NULL = none is. RESOURCE_EXHAUSTED, or INVALID_ARGUMENT if the normalizer or an
   expression exceeds its limits. */
hilo_status llm_tok_encode(const struct llm_tok *t, struct str text, const uint8_t *from_input, unsigned flags,
                           struct diag_list *d, struct llm_ids *out);

/* Ids are 0 … size - 1, possibly with unused ids. */
size_t llm_tok_size(const struct llm_tok *t);
/* The bytes of a token; empty for an unused id. */
struct str llm_tok_bytes(const struct llm_tok *t, int32_t id);
bool llm_tok_is_special(const struct llm_tok *t, int32_t id);
/* The id of a token by its spelling in the file; -1 if there is none. */
int32_t llm_tok_id(const struct llm_tok *t, struct str spelling);

/* Streams text from ids. Special tokens are left out unless `special`. Only complete characters are written: the beginning of
   one is held until the rest arrives, or until `flush` writes it unchanged. */
struct llm_text {
    const struct llm_tok *t;
    bool special, begun, space; /* space: to be written before the next token */
    char pending[4];
    uint32_t npending;
};
void llm_text_init(struct llm_text *x, const struct llm_tok *t, bool special);
void llm_text_put(struct llm_text *x, int32_t id, struct strbuf *out);
void llm_text_flush(struct llm_text *x, struct strbuf *out);
void llm_tok_decode(const struct llm_tok *t, const int32_t *ids, size_t n, bool special, struct strbuf *out);

/* Length of the UTF-8 character at p (1 … 4) and its code point; 0 if it is invalid. */
size_t llm_utf8(const char *p, const char *end, uint32_t *out);

#endif
