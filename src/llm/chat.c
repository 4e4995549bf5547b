/* Chat templates: see chat.h. */
#include "llm/chat.h"

#include "llm/document.h"

#include <stdio.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* The members of tokenizer_config.json that name special tokens: a string, or an object with it in `content`. */
static hilo_status read_tokens(json_t *config, struct llm_chat *out) {
    const char *key;
    json_t *v;
    json_object_foreach(config, key, v) {
        size_t n = strlen(key);
        json_t *text = json_is_object(v) ? json_object_get(v, "content") : v;
        if (n > 6 && strcmp(key + n - 6, "_token") == 0 && json_is_string(text) && json_object_set(out->special, key, text))
            return HILO_RESOURCE_EXHAUSTED;
    }
    return HILO_OK;
}

/* The template: a string, or of several the one that is named "default". */
static void read_template(const json_t *v, struct strbuf *out) {
    size_t i;
    json_t *one;
    json_array_foreach(v, i, one) {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strcmp(name, "default") == 0)
            v = json_object_get(one, "template");
    }
    if (json_is_string(v))
        strbuf_putn(out, json_string_value(v), json_string_length(v));
}

/* Whether the file `dir/name` exists; its path. False for a path that is too long. */
static bool file_in(const char *dir, const char *name, char *path, size_t size) {
    return snprintf(path, size, "%s/%s", dir, name) < (int)size && access(path, F_OK) == 0;
}

hilo_status llm_chat_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_chat *out) {
    char path[4096];
    struct llm_json j;
    struct file f;
    *out = (struct llm_chat){.al = al, .special = json_object()};
    strbuf_init(&out->template, al);
    if (!out->special)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    hilo_status status = llm_document_open(dir, LLM_TOKENIZER_CONFIG_JSON, al, d, &j);
    if (status == HILO_OK && j.root) {
        status = read_tokens(j.root, out);
        read_template(json_object_get(j.root, "chat_template"), &out->template);
    }
    llm_json_close(&j);
    HILO_TRY(status);
    if (file_in(dir, "chat_template.jinja", path, sizeof path)) {
        HILO_TRY(file_open(path, al, d, &f));
        out->template.n = 0;
        strbuf_str(&out->template, f.text);
        file_close(&f);
    }
    return out->template.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

void llm_chat_close(struct llm_chat *c) {
    strbuf_free(&c->template);
    json_decref(c->special);
    c->special = NULL;
}

/* ---- rendering ------------------------------------------------------------------------------- */

json_t *llm_chat_input(const struct llm_message *m, size_t n) {
    json_t *messages = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *one = json_pack("{s:s%,s:s%}", "role", m[i].role.p, m[i].role.n, "content", m[i].content.p, m[i].content.n);
        if (json_array_append_new(messages, one)) { /* NULL too */
            json_decref(messages);
            return NULL;
        }
    }
    return json_pack("{s:o,s:b}", "messages", messages, "add_generation_prompt", 1);
}

hilo_status llm_chat_render(const struct llm_chat *c, const json_t *input, struct diag_list *d, struct jinja_text *text) {
    struct jinja_template *t;
    *text = (struct jinja_text){.al = c->al};
    if (c->template.n == 0)
        return diag_error(d, HILO_NOT_FOUND, "the model has no chat template; a raw prompt works");
    HILO_TRY(jinja_parse(c->al, d, STR("chat template"), (struct str){c->template.p, c->template.n}, &t));
    hilo_status status = jinja_render(t, input, c->special, NULL, d, text);
    jinja_free(t);
    return status;
}
