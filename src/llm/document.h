/* The JSON documents of a model: files of a directory, or made of the metadata of a GGUF file. */
#ifndef HILO_LLM_DOCUMENT_H
#define HILO_LLM_DOCUMENT_H

#include "llm/json.h"

enum llm_document { LLM_CONFIG_JSON, LLM_GENERATION_JSON, LLM_TOKENIZER_JSON, LLM_TOKENIZER_CONFIG_JSON, LLM_DOCUMENTS };
const char *llm_document_name(enum llm_document which);

/* Opens a document of the model `path`, a directory or a GGUF file. A tokenizer may also be named directly: a file
   tokenizer.json, or one of those that tokenizer files of other kinds are read from (tok_files.c). An optional document that is
   absent has no root, and the status OK; config and tokenizer are required. llm_json_close in any case. */
hilo_status llm_document_open(const char *path, enum llm_document which, hilo_allocator al, struct diag_list *d,
                              struct llm_json *out);

#endif
