/* Chat templates: see chat.h. */
#include "llm/chat.h"

#include "llm/json.h"

#include <stdio.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* A token's spelling: a string, or an object with it in `content`. */
static void read_token(const json_t *v, struct strbuf *out) {
    const json_t *text = json_is_object(v) ? json_object_get(v, "content") : v;
    if (json_is_string(text))
        strbuf_putn(out, json_string_value(text), json_string_length(text));
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

/* `dir/name`, when there is such a file; false for a path that is too long too. */
static bool file_in(const char *dir, const char *name, char *path, size_t size) {
    return snprintf(path, size, "%s/%s", dir, name) < (int)size && access(path, F_OK) == 0;
}

hilo_status llm_chat_open(const char *dir, hilo_allocator al, struct diag_list *d, struct llm_chat *out) {
    char path[4096];
    struct llm_json j;
    struct file f;
    out->al = al;
    strbuf_init(&out->template, al);
    strbuf_init(&out->bos, al);
    strbuf_init(&out->eos, al);
    if (file_in(dir, "tokenizer_config.json", path, sizeof path)) {
        hilo_status status = llm_json_open(&j, path, al, d);
        read_token(json_object_get(j.root, "bos_token"), &out->bos);
        read_token(json_object_get(j.root, "eos_token"), &out->eos);
        read_template(json_object_get(j.root, "chat_template"), &out->template);
        llm_json_close(&j);
        HILO_TRY(status);
    }
    if (file_in(dir, "chat_template.jinja", path, sizeof path)) {
        HILO_TRY(file_open(path, al, d, &f));
        out->template.n = 0;
        strbuf_str(&out->template, f.text);
        file_close(&f);
    }
    return out->template.failed || out->bos.failed || out->eos.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

void llm_chat_close(struct llm_chat *c) {
    strbuf_free(&c->template);
    strbuf_free(&c->bos);
    strbuf_free(&c->eos);
}

/* ---- rendering ------------------------------------------------------------------------------- */

static bool has(const struct llm_chat *c, const char *text) {
    return c->template.p && strstr(c->template.p, text) != NULL;
}

static bool is(const struct llm_message *m, const char *role) {
    return str_is(m->role, role);
}

static struct str trimmed(struct str s) {
    while (s.n && strchr(" \t\r\n", s.p[0]))
        s.p++, s.n--;
    while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

static struct str content(const struct llm_chat *c, const struct llm_message *m) {
    return has(c, "trim") ? trimmed(m->content) : m->content;
}

static void put_bos(const struct llm_chat *c, struct strbuf *out) {
    if (has(c, "bos_token"))
        strbuf_putn(out, c->bos.p, c->bos.n);
}

/* <|start_header_id|>role<|end_header_id|>, an empty line, the content, <|eot_id|>. Templates since 3.1 begin with dates; where
   they ask for today's, the one that they fall back to is written, so that a prompt means the same every day. */
static void render_llama3(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    bool dates = has(c, "Cutting Knowledge Date"), system = n && is(m, "system");
    put_bos(c, out);
    if (dates) {
        strbuf_puts(out, "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
                         "Today Date: 26 Jul 2024\n\n");
        if (system)
            strbuf_str(out, content(c, m));
        strbuf_puts(out, "<|eot_id|>");
    }
    for (size_t i = dates && system; i < n; i++) {
        strbuf_puts(out, "<|start_header_id|>");
        strbuf_str(out, m[i].role);
        strbuf_puts(out, "<|end_header_id|>\n\n");
        strbuf_str(out, content(c, &m[i]));
        strbuf_puts(out, "<|eot_id|>");
    }
    strbuf_puts(out, "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

/* The system message that a ChatML template writes when there is none: the text between `system\n` and `<|im_end|>`. */
static struct str default_system(const struct llm_chat *c) {
    static const char *const begins[] = {"<|im_start|>system\\n", "<|im_start|>system\n"};
    for (size_t i = 0; i < 2; i++)
        for (const char *p = c->template.p; (p = strstr(p, begins[i]));) {
            p += strlen(begins[i]);
            const char *end = strstr(p, "<|im_end|>");
            size_t length = strcspn(p, "'\"{}+");
            if (end && p < end && p + length > end)
                return (struct str){p, (size_t)(end - p)};
        }
    return (struct str){NULL, 0};
}

static void render_chatml(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    struct str system = default_system(c);
    put_bos(c, out);
    if (system.n && !(n && is(m, "system"))) {
        strbuf_puts(out, "<|im_start|>system\n");
        strbuf_str(out, system);
        strbuf_puts(out, "<|im_end|>\n");
    }
    for (size_t i = 0; i < n; i++) {
        strbuf_puts(out, "<|im_start|>");
        strbuf_str(out, m[i].role);
        strbuf_puts(out, "\n");
        strbuf_str(out, content(c, &m[i]));
        strbuf_puts(out, "<|im_end|>\n");
    }
    strbuf_puts(out, "<|im_start|>assistant\n");
}

/* [INST] user [/INST] assistant</s>. Spaces inside the brackets are there or not, as in the template; the system message goes
   before the first question, in the brackets of Llama 2 where the template has them. */
static void render_mistral(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    bool sys = has(c, "<<SYS>>");
    const char *open = has(c, "[INST] ") || sys ? "[INST] " : "[INST]";
    const char *shut = has(c, " [/INST]") || sys ? " [/INST]" : "[/INST]";
    struct str system = n && is(m, "system") ? m->content : (struct str){NULL, 0};
    if (!sys)
        put_bos(c, out);
    for (size_t i = system.p != NULL; i < n; i++) {
        if (is(&m[i], "assistant")) {
            strbuf_puts(out, sys || has(c, " ' + message['content']") ? " " : "");
            strbuf_str(out, content(c, &m[i]));
            strbuf_puts(out, sys ? " " : "");
            strbuf_putn(out, c->eos.p, c->eos.n);
            continue;
        }
        if (sys)
            put_bos(c, out);
        strbuf_puts(out, open);
        if (system.n) {
            strbuf_puts(out, sys ? "<<SYS>>\n" : "");
            strbuf_str(out, system);
            strbuf_puts(out, sys ? "\n<</SYS>>\n\n" : "\n\n");
            system.n = 0;
        }
        strbuf_str(out, content(c, &m[i]));
        strbuf_puts(out, shut);
    }
}

static void render_gemma(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    struct str system = n && is(m, "system") ? m->content : (struct str){NULL, 0};
    put_bos(c, out);
    for (size_t i = system.p != NULL; i < n; i++) {
        bool model = is(&m[i], "assistant");
        strbuf_puts(out, model ? "<start_of_turn>model\n" : "<start_of_turn>user\n");
        if (system.n && !model) {
            strbuf_str(out, trimmed(system));
            strbuf_puts(out, "\n\n");
            system.n = 0;
        }
        strbuf_str(out, trimmed(m[i].content));
        strbuf_puts(out, "<end_of_turn>\n");
    }
    strbuf_puts(out, "<start_of_turn>model\n");
}

static const struct family {
    const char *marker, *name;
    void (*render)(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out);
} families[] = {
    {"<|start_header_id|>", "Llama 3", render_llama3},
    {"<|im_start|>", "ChatML", render_chatml},
    {"<start_of_turn>", "Gemma", render_gemma},
    {"[INST]", "Mistral", render_mistral},
};
enum { FAMILIES = sizeof families / sizeof *families };

static const struct family *family(const struct llm_chat *c) {
    for (size_t i = 0; i < FAMILIES; i++)
        if (has(c, families[i].marker))
            return &families[i];
    return NULL;
}

const char *llm_chat_family(const struct llm_chat *c) {
    const struct family *f = family(c);
    return c->template.n == 0 ? "" : f ? f->name : NULL;
}

hilo_status llm_chat_render(const struct llm_chat *c, const struct llm_message *m, size_t n, struct diag_list *d,
                            struct strbuf *out) {
    const struct family *f = family(c);
    if (c->template.n == 0)
        return diag_error(d, HILO_UNIMPLEMENTED, "the model has no chat template; a raw prompt works");
    if (!f)
        return diag_error(d, HILO_UNIMPLEMENTED, "the model's chat template is of no known family (Llama 3, ChatML, Mistral, "
                                                 "Gemma); a raw prompt works");
    for (size_t i = 0; i < n; i++)
        if (!is(&m[i], "user") && !is(&m[i], "assistant") && !(i == 0 && is(&m[i], "system")))
            return diag_error(d, HILO_INVALID_ARGUMENT, "message %zu has the role '%.*s'; user, assistant, and system for the "
                                                        "first, were expected", i, (int)m[i].role.n, m[i].role.p);
    f->render(c, m, n, out);
    return out->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}
