/* Chat templates: see chat.h. */
#include "llm/chat.h"

#include "base/blake2.h"
#include "llm/json.h"
#include "llm/tokenizer.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* ---- known templates ------------------------------------------------------------------------- */

enum {
    BOS = 1,        /* begins with bos_token */
    TRIM = 2,       /* contents are trimmed */
    DATES = 4,      /* a system message with the knowledge cutoff and today's date precedes the conversation */
    NO_SYSTEM = 8,  /* raises an exception for a system message */
    ALTERNATE = 16, /* raises an exception unless user and assistant take turns */
    THINK = 32      /* the reasoning of earlier answers is left out */
};

struct llm_chat_known {
    uint64_t hash;
    const char *family;
    void (*render)(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out);
    unsigned flags;
    const char *system; /* the system message of conversations that have none, or NULL */
};

static void render_llama3(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out);
static void render_chatml(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out);
static void render_gemma(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out);

/* The output for each was compared with that of Jinja2. */
static const struct llm_chat_known known[] = {
    {0x05facb19f527d33e, "Llama 3", render_llama3, BOS | TRIM, NULL},
    {0x62f5e3d1828551d4, "Llama 3", render_llama3, BOS | TRIM, NULL}, /* its revision, which also ends finished conversations */
    {0x1bed01aa49fe653f, "Llama 3", render_llama3, BOS | TRIM, NULL}, /* tests/llm/tiny-llama */
    {0x51e68c9f98946757, "Llama 3.2", render_llama3, BOS | TRIM | DATES, NULL},
    {0xef0829bf42c538a9, "Qwen 2.5", render_chatml, 0, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    {0xb9dfc3e866d8e136, "Qwen 3", render_chatml, THINK, NULL},
    {0x0f3056a4748e3d4f, "Gemma 2", render_gemma, BOS | TRIM | NO_SYSTEM | ALTERNATE, NULL}, /* and Gemma */
    {0xe2e50dcf2ef8038f, "Gemma 3", render_gemma, BOS | TRIM | ALTERNATE, NULL},
};

const struct llm_chat_known *llm_chat_find(uint64_t hash) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].hash == hash)
            return &known[i];
    return NULL;
}

/* The first 8 bytes of the BLAKE2b hash, without a newline at the end. */
static uint64_t hash_of(const struct strbuf *text) {
    struct blake2 b;
    uint8_t bytes[BLAKE2_BYTES];
    uint64_t hash = 0;
    blake2_init(&b);
    blake2_add(&b, text->p, text->p[text->n - 1] == '\n' ? text->n - 1 : text->n);
    blake2_end(&b, bytes);
    for (size_t i = 0; i < 8; i++)
        hash = hash << 8 | bytes[i];
    return hash;
}

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
    out->known = NULL;
    if (file_in(dir, "tokenizer_config.json", path, sizeof path)) {
        hilo_status status = llm_json_open(&j, path, al, d);
        read_token(json_object_get(j.root, "bos_token"), &out->bos);
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
    if (out->template.failed || out->bos.failed)
        return HILO_RESOURCE_EXHAUSTED;
    if (out->template.n)
        out->known = llm_chat_find(hash_of(&out->template));
    return HILO_OK;
}

void llm_chat_close(struct llm_chat *c) {
    strbuf_free(&c->template);
    strbuf_free(&c->bos);
}

/* ---- rendering ------------------------------------------------------------------------------- */

static bool is(const struct llm_message *m, const char *role) {
    return str_is(m->role, role);
}

/* The bytes of the white space, as Python's str.strip has it, at the beginning of s; 0 if there is none. */
static size_t space_at(struct str s) {
    uint32_t c;
    size_t n = llm_utf8(s.p, s.p + s.n, &c);
    bool space = (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= ' ') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
                 (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
    return n && space ? n : 0;
}

static struct str trimmed(struct str s) {
    for (size_t n; (n = space_at(s)) > 0; s.n -= n)
        s.p += n;
    for (size_t n = 1; n <= 3 && n <= s.n; n++) /* the last character has at most 3 bytes, if it is a space */
        if (space_at((struct str){s.p + s.n - n, n}) == n)
            s.n -= n, n = 0;
    return s;
}

/* What follows the last `</think>`, without newlines at its beginning. */
static struct str without_reasoning(struct str s) {
    static const char end[] = "</think>";
    for (size_t i = s.n; i >= sizeof end - 1; i--) {
        if (memcmp(s.p + i - (sizeof end - 1), end, sizeof end - 1) != 0)
            continue;
        for (s.p += i, s.n -= i; s.n && *s.p == '\n'; s.n--)
            s.p++;
        break;
    }
    return s;
}

static struct str content(const struct llm_chat *c, const struct llm_message *m) {
    if ((c->known->flags & THINK) && is(m, "assistant"))
        return without_reasoning(m->content);
    return c->known->flags & TRIM ? trimmed(m->content) : m->content;
}

static void put_bos(const struct llm_chat *c, struct strbuf *out) {
    if (c->known->flags & BOS)
        strbuf_putn(out, c->bos.p, c->bos.n);
}

/* "26 Jul 2024", in English whatever the locale. */
static void put_today(struct strbuf *out) {
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm t;
    if (localtime_r(&now, &t))
        strbuf_printf(out, "%02d %s %d", t.tm_mday, months[t.tm_mon], t.tm_year + 1900);
}

/* <|start_header_id|>role<|end_header_id|>, an empty line, the content, <|eot_id|>. */
static void render_llama3(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    bool dates = c->known->flags & DATES, system = n && is(m, "system");
    put_bos(c, out);
    if (dates) {
        strbuf_puts(out, "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: ");
        put_today(out);
        strbuf_puts(out, "\n\n");
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

static void render_chatml(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    put_bos(c, out);
    if (c->known->system && !(n && is(m, "system")))
        strbuf_printf(out, "<|im_start|>system\n%s<|im_end|>\n", c->known->system);
    for (size_t i = 0; i < n; i++) {
        strbuf_puts(out, "<|im_start|>");
        strbuf_str(out, m[i].role);
        strbuf_puts(out, "\n");
        strbuf_str(out, content(c, &m[i]));
        strbuf_puts(out, "<|im_end|>\n");
    }
    strbuf_puts(out, "<|im_start|>assistant\n");
}

static void render_gemma(const struct llm_chat *c, const struct llm_message *m, size_t n, struct strbuf *out) {
    bool system = n && is(m, "system");
    put_bos(c, out);
    for (size_t i = system; i < n; i++) {
        strbuf_puts(out, is(&m[i], "assistant") ? "<start_of_turn>model\n" : "<start_of_turn>user\n");
        if (system && i == 1) {
            strbuf_str(out, m->content);
            strbuf_puts(out, "\n\n");
        }
        strbuf_str(out, content(c, &m[i]));
        strbuf_puts(out, "<end_of_turn>\n");
    }
    strbuf_puts(out, "<start_of_turn>model\n");
}

const char *llm_chat_family(const struct llm_chat *c) {
    return c->template.n == 0 ? "" : c->known ? c->known->family : NULL;
}

/* A message of the user that is surely not the response of a tool. */
static bool is_query(const struct llm_message *m) {
    return is(m, "user") && !str_starts(m->content, "<tool_response>");
}

hilo_status llm_chat_render(const struct llm_chat *c, const struct llm_message *m, size_t n, struct diag_list *d,
                            struct strbuf *out) {
    if (c->template.n == 0)
        return diag_error(d, HILO_UNIMPLEMENTED, "the model has no chat template; a raw prompt works");
    if (!c->known)
        return diag_error(d, HILO_UNIMPLEMENTED, "the model's chat template is not one that this version renders exactly; a "
                                                 "raw prompt works");
    size_t system = n && is(m, "system");
    for (size_t i = system; i < n; i++) {
        if (!is(&m[i], "user") && !is(&m[i], "assistant"))
            return diag_error(d, HILO_INVALID_ARGUMENT, "message %zu has the role '%.*s'; user, assistant, and system for the "
                                                        "first, were expected", i, (int)m[i].role.n, m[i].role.p);
        if ((c->known->flags & ALTERNATE) && is(&m[i], "assistant") != ((i - system) % 2 != 0))
            return diag_error(d, HILO_INVALID_ARGUMENT, "the model's chat template expects user and assistant to take turns; "
                                                        "message %zu has the role '%.*s'", i, (int)m[i].role.n, m[i].role.p);
    }
    for (size_t i = n; (c->known->flags & THINK) && i-- > 0 && !is_query(&m[i]);)
        if (is(&m[i], "assistant"))
            return diag_error(d, HILO_INVALID_ARGUMENT, "the model's chat template expects a question as the last message");
    if (system && (c->known->flags & NO_SYSTEM))
        return diag_error(d, HILO_INVALID_ARGUMENT, "the model's chat template allows no system message");
    c->known->render(c, m, n, out);
    return out->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}
