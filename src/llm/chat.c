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

/* The template: a string, or of several the ones that are named "default" and "tool_use". */
static void read_templates(const json_t *v, struct llm_chat *out) {
    size_t i;
    json_t *one;
    if (json_is_string(v))
        strbuf_putn(&out->template, json_string_value(v), json_string_length(v));
    json_array_foreach(v, i, one) {
        const json_t *name = json_object_get(one, "name"), *text = json_object_get(one, "template");
        bool tools = json_is_string(name) && strcmp(json_string_value(name), "tool_use") == 0;
        if (json_is_string(text) && (tools || (json_is_string(name) && strcmp(json_string_value(name), "default") == 0)))
            strbuf_putn(tools ? &out->tool_use : &out->template, json_string_value(text), json_string_length(text));
    }
}

/* Whether the file `dir/name` exists; its path. False for a path that is too long. */
static bool file_in(const char *dir, const char *name, char *path, size_t size) {
    return snprintf(path, size, "%s/%s", dir, name) < (int)size && access(path, F_OK) == 0;
}

void llm_chat_init(struct llm_chat *c, hilo_allocator al) {
    *c = (struct llm_chat){.al = al};
    strbuf_init(&c->template, al);
    strbuf_init(&c->tool_use, al);
}

hilo_status llm_chat_read(const char *path, struct diag_list *d, struct llm_chat *c, struct strbuf *to) {
    struct file f;
    HILO_TRY(file_open(path, c->al, d, &f));
    to->n = 0;
    strbuf_str(to, f.text);
    file_close(&f);
    return to->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

hilo_status llm_chat_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_chat *out) {
    char path[4096];
    struct llm_json j;
    llm_chat_init(out, al);
    out->special = json_object();
    if (!out->special)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    hilo_status status = llm_document_open(dir, LLM_TOKENIZER_CONFIG_JSON, al, d, &j);
    if (status == HILO_OK && j.root) {
        status = read_tokens(j.root, out);
        read_templates(json_object_get(j.root, "chat_template"), out);
    }
    llm_json_close(&j);
    HILO_TRY(status);
    if (file_in(dir, "chat_template.jinja", path, sizeof path))
        HILO_TRY(llm_chat_read(path, d, out, &out->template));
    if (file_in(dir, "additional_chat_templates/tool_use.jinja", path, sizeof path))
        HILO_TRY(llm_chat_read(path, d, out, &out->tool_use));
    return out->template.failed || out->tool_use.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

void llm_chat_close(struct llm_chat *c) {
    strbuf_free(&c->template);
    strbuf_free(&c->tool_use);
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

/* The variables that transformers always passes. */
static json_t *with_defaults(const json_t *input) {
    static const char *const names[] = {"tools", "documents"};
    json_t *all = json_copy((json_t *)(uintptr_t)input);
    for (size_t i = 0; i < sizeof names / sizeof *names && all; i++)
        if (!json_object_get(all, names[i]) && json_object_set_new(all, names[i], json_null())) {
            json_decref(all);
            return NULL;
        }
    return all;
}

hilo_status llm_chat_render(const struct llm_chat *c, const json_t *input, struct diag_list *d, struct jinja_text *text) {
    bool tools = json_is_array(json_object_get(input, "tools")) && c->tool_use.n;
    const struct strbuf *from = tools ? &c->tool_use : &c->template;
    struct jinja_template *t;
    *text = (struct jinja_text){.al = c->al};
    if (from->n == 0)
        return diag_error(d, HILO_NOT_FOUND, "the model has no chat template; a raw prompt works");
    HILO_TRY(jinja_parse(c->al, d, STR("chat template"), (struct str){from->p, from->n}, &t));
    json_t *variables = with_defaults(input);
    hilo_status status = variables ? jinja_render(t, variables, c->special, NULL, d, text)
                                   : diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    json_decref(variables);
    jinja_free(t);
    return status;
}
