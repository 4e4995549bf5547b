/* Tokenizers: text to token ids and back, as Hugging Face's tokenizer.json describes it.
 *
 *   tok_load.c     tokenizer.json                    tok_split.c    added tokens, normalizers, pieces
 *   tok_merge.c    byte-pair encoding of a piece     tok_text.c     ids to text, whole or as it streams
 *
 * Read are BPE models: byte-level ones with splits by regular expressions (Llama 3, Qwen, GPT-2), and those of SentencePiece
 * with byte fallback (Llama 2, Mistral, Gemma). Another kind is refused by name. A tokenizer does not change after it was
 * read: any number of threads may use it. */
#ifndef HILO_LLM_TOKENIZER_H
#define HILO_LLM_TOKENIZER_H

#include "base/diag.h"

/* Ids that grow; exhaustion is remembered, as in a strbuf. */
struct llm_ids {
    hilo_allocator al;
    int32_t *v;
    size_t n, cap;
    bool failed;
};
void llm_ids_init(struct llm_ids *ids, hilo_allocator al);
void llm_ids_free(struct llm_ids *ids);
void llm_ids_reserve(struct llm_ids *ids, size_t n); /* room for n in all */
void llm_ids_push(struct llm_ids *ids, int32_t id);

struct llm_tok;

/* NOT_FOUND, or INVALID_ARGUMENT with a diagnostic. llm_tok_free gives back; NULL is fine. */
hilo_status llm_tok_open(const char *path, hilo_allocator al, struct diag_list *d, struct llm_tok **out);
hilo_status llm_tok_parse(struct str json, const char *name, hilo_allocator al, struct diag_list *d, struct llm_tok **out);
void llm_tok_free(struct llm_tok *t);

enum {
    LLM_TOK_POST = 1,      /* with what the post-processor adds, such as the token that begins a text */
    LLM_TOK_NO_SPECIAL = 2 /* the spelling of a special token is text like any other */
};
/* Appends the ids of a text (UTF-8; bytes that are none become tokens too). `from_input`: of each byte, 1 = it is text of a user,
   no part of a special token; NULL = none is. RESOURCE_EXHAUSTED, or INVALID_ARGUMENT when an expression of the tokenizer gives
   up. */
hilo_status llm_tok_encode(const struct llm_tok *t, struct str text, const uint8_t *from_input, unsigned flags,
                           struct diag_list *d, struct llm_ids *out);

/* Ids are 0 … size - 1, perhaps with holes. */
size_t llm_tok_size(const struct llm_tok *t);
/* What a token stands for, in bytes; empty for an id that is none. */
struct str llm_tok_bytes(const struct llm_tok *t, int32_t id);
bool llm_tok_is_special(const struct llm_tok *t, int32_t id);
/* The id of a token by its spelling in the file; -1 when there is none. */
int32_t llm_tok_id(const struct llm_tok *t, struct str spelling);

/* Text from ids as they come. Special tokens are left out unless asked for. Only whole characters are given out: what is the
   beginning of one waits for the rest, which `flush` gives out as it is. */
struct llm_text {
    const struct llm_tok *t;
    bool special, begun;
    char wait[4];
    uint32_t nwait;
};
void llm_text_init(struct llm_text *x, const struct llm_tok *t, bool special);
void llm_text_put(struct llm_text *x, int32_t id, struct strbuf *out);
void llm_text_flush(struct llm_text *x, struct strbuf *out);
void llm_tok_decode(const struct llm_tok *t, const int32_t *ids, size_t n, bool special, struct strbuf *out);

/* Length of the UTF-8 character at p (1 … 4) and its code point; 0 when there is none. */
size_t llm_utf8(const char *p, const char *end, uint32_t *out);

#endif
