/* Chat templates: from messages to the text that a model was trained on.
 *
 * A template is a program in Jinja. This is no interpreter of it: the template's family is recognised by the tokens that it
 * writes, and the family's text is written. Another template is refused; a prompt without it still works. */
#ifndef HILO_LLM_CHAT_H
#define HILO_LLM_CHAT_H

#include "base/file.h"

struct llm_message {
    struct str role;    /* "system" (the first only), "user", "assistant" */
    struct str content;
};

struct llm_chat {
    hilo_allocator al;
    struct strbuf template, bos, eos; /* empty when the model has none */
};

/* From tokenizer_config.json and chat_template.jinja in the directory; both may be missing. llm_chat_close in any case. */
hilo_status llm_chat_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_chat *out);
void llm_chat_close(struct llm_chat *c);

/* The name of the template's family; NULL when it is not known, "" when there is no template. */
const char *llm_chat_family(const struct llm_chat *c);
/* The text of a conversation, up to where the assistant answers. UNIMPLEMENTED for a template of no known family. */
hilo_status llm_chat_render(const struct llm_chat *c, const struct llm_message *m, size_t n, struct diag_list *d,
                            struct strbuf *out);

#endif
