/* Chat templates: from messages to the text that a model was trained on.
 *
 * A template is a Jinja program. hilo does not interpret it: templates that it can render exactly are known by their hash, and
 * all others are refused; a prompt without a template still works. */
#ifndef HILO_LLM_CHAT_H
#define HILO_LLM_CHAT_H

#include "base/file.h"

struct llm_message {
    struct str role;    /* "system" (the first only), "user", "assistant" */
    struct str content;
};

struct llm_chat {
    hilo_allocator al;
    struct strbuf template, bos; /* empty when the model has none */
    const struct llm_chat_known *known; /* how to render it; NULL = refuse */
};

/* From tokenizer_config.json and chat_template.jinja in the directory; both may be missing. llm_chat_close in any case. */
hilo_status llm_chat_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_chat *out);
void llm_chat_close(struct llm_chat *c);

/* How to render the template of this hash (chat.c); NULL if it is not known. */
const struct llm_chat_known *llm_chat_find(uint64_t hash);
/* The name of the template's family; NULL if the template is not known, "" if there is none. */
const char *llm_chat_family(const struct llm_chat *c);
/* Appends the text of a conversation, up to where the assistant answers. UNIMPLEMENTED for a template that is not known;
   INVALID_ARGUMENT for roles that the template does not allow. */
hilo_status llm_chat_render(const struct llm_chat *c, const struct llm_message *m, size_t n, struct diag_list *d,
                            struct strbuf *out);

#endif
