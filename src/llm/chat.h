/* Chat templates of models: what a directory has, and rendering of conversations by the Jinja engine (jinja/jinja.h). */
#ifndef HILO_LLM_CHAT_H
#define HILO_LLM_CHAT_H

#include "base/file.h"
#include "llm/jinja/jinja.h"

struct llm_message {
    struct str role;    /* "system", "user", "assistant", or another that the template supports */
    struct str content;
};

struct llm_chat {
    hilo_allocator al;
    struct strbuf template; /* empty when the model has none */
    struct strbuf tool_use; /* that for conversations with tools; empty when it is the same one */
    json_t *special;        /* spellings of special tokens by name: "bos_token" … */
};

/* Without templates. */
void llm_chat_init(struct llm_chat *c, hilo_allocator al);
/* Reads a file as the template `to` of the chat. */
hilo_status llm_chat_read(const char *path, struct diag_list *d, struct llm_chat *c, struct strbuf *to);
/* From tokenizer_config.json, chat_template.jinja and additional_chat_templates/tool_use.jinja in the directory, which all
   may be missing, or from a GGUF file. llm_chat_close in any case. */
hilo_status llm_chat_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_chat *out);
void llm_chat_close(struct llm_chat *c);

/* The variables of a template for a conversation up to where the assistant answers: `messages`, and add_generation_prompt =
   true. The caller adds others (`tools` …) and calls json_decref. NULL when memory is exhausted or a text is not UTF-8. */
json_t *llm_chat_input(const struct llm_message *m, size_t n);
/* The text of a conversation; jinja_text_free. `tools` and `documents` are none where the input has none. NOT_FOUND for a
   model without a template, else as jinja_parse and jinja_render. Its bytes that come from `input` are not to become special
   tokens: llm_tok_encode takes text->from_input. */
hilo_status llm_chat_render(const struct llm_chat *c, const json_t *input, struct diag_list *d, struct jinja_text *text);

#endif
