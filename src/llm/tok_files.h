/* Tokenizer files of other kinds as a tokenizer.json. */
#ifndef HILO_LLM_TOK_FILES_H
#define HILO_LLM_TOK_FILES_H

#include "llm/json.h"

/* Makes the document of a tiktoken file: `text` is lines of a token in base 64 and its rank. The vocabulary is recognised by
   its size, because such a file has no expression and no special tokens; others are refused. */
hilo_status tok_from_tiktoken(struct llm_json *j, struct str text, hilo_allocator al);
/* Makes the document of a SentencePiece model; tok_is_spm: whether a file is one, by its first byte. */
bool tok_is_spm(struct str text);
hilo_status tok_from_spm(struct llm_json *j, struct str text, hilo_allocator al);
/* Replaces Mistral's tekken.json in j->root. */
hilo_status tok_from_tekken(struct llm_json *j, hilo_allocator al);

#endif
