/* Grammars that generated text obeys: tokens that would leave the language are masked before sampling.
 *
 * The form is GBNF, llama.cpp's: rules `name ::= alternatives` of literals "…", classes […], [^…] and ., names, groups, and * +
 * ? {m} {m,} {m,n}; # begins a comment; the text is a `root`. A grammar is compiled to rules over the bytes of UTF-8, so that a
 * token may end within a character. A JSON schema becomes such a grammar (grammar_schema.c).
 *
 * A text is matched by a pushdown automaton whose sets of stacks are interned: they are the states of an automaton that grows
 * as it is used, each with the mask of the tokens that it allows. Grammars come from strangers: all sizes are bounded. */
#ifndef HILO_LLM_GRAMMAR_H
#define HILO_LLM_GRAMMAR_H

#include "base/diag.h"

#include <jansson.h>

struct llm_tok;
struct llm_grammar; /* immutable, for any number of threads */

/* INVALID_ARGUMENT with a diagnostic at line and column, RESOURCE_EXHAUSTED when it is too large. Free with llm_grammar_free,
   which accepts NULL. */
hilo_status llm_grammar_parse(struct str text, hilo_allocator al, struct diag_list *d, struct llm_grammar **out);
void llm_grammar_free(struct llm_grammar *g);

/* Appends the grammar of the JSON texts that a schema describes, properties in the order of the schema; of all JSON objects for
   NULL. INVALID_ARGUMENT names a keyword that grammars cannot express or that is not supported. */
hilo_status llm_grammar_schema(const json_t *schema, struct diag_list *d, struct strbuf *out);

/* A vocabulary in the order of its bytes: n tokens, special ones left out. NULL when memory is exhausted. */
struct llm_grammar_vocab;
struct llm_grammar_vocab *llm_grammar_vocab_open(const struct llm_tok *t, size_t n, hilo_allocator al);
void llm_grammar_vocab_close(struct llm_grammar_vocab *v); /* NULL is fine */

/* A text that is being matched; one thread at a time. Grammar and vocabulary must outlive it. NULL when memory is exhausted. */
struct llm_grammar_state;
struct llm_grammar_state *llm_grammar_begin(const struct llm_grammar *g, const struct llm_grammar_vocab *v);
void llm_grammar_end(struct llm_grammar_state *s); /* NULL is fine */
/* Sets the logits of tokens that cannot continue the text to -infinity; the tokens `ends` may come where it is complete. False
   if no token is left, or a limit was reached. */
bool llm_grammar_mask(struct llm_grammar_state *s, const int32_t *ends, size_t nends, float *logits);
/* Appends a token to the text; false if it does not continue it, or a limit was reached. */
bool llm_grammar_accept(struct llm_grammar_state *s, int32_t id);
bool llm_grammar_accept_bytes(struct llm_grammar_state *s, struct str bytes);
/* Whether the text is a whole one. */
bool llm_grammar_complete(struct llm_grammar_state *s);

#endif
