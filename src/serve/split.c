/* Reasoning and tool calls in a text.
 *
 * Reasoning is <think>…</think> at the beginning. Tool calls are what the families write: <tool_call>{…}</tool_call>
 * (Hermes, Qwen), or a text that is nothing but an object or a list of objects with a name and arguments or parameters
 * (Llama 3, Mistral). */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>

static const char think[] = "<think>", unthink[] = "</think>", call_tag[] = "<tool_call>", uncall_tag[] = "</tool_call>";

static struct str from(struct str s, size_t at) {
    return (struct str){s.p + at, s.n - at};
}

static struct str trim(struct str s, bool left, bool right) {
    while (left && s.n && strchr(" \t\r\n", *s.p))
        s = from(s, 1);
    while (right && s.n && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Where the tag begins; the length of the text if it does not. */
static size_t find(struct str s, const char *tag) {
    const char *p = s.n ? memmem(s.p, s.n, tag, strlen(tag)) : NULL;
    return p ? (size_t)(p - s.p) : s.n;
}

/* The text without a suffix that may begin the tag. */
static struct str before(struct str s, const char *tag) {
    size_t most = strlen(tag) - 1;
    for (size_t n = s.n < most ? s.n : most; n; n--)
        if (memcmp(s.p + s.n - n, tag, n) == 0)
            return (struct str){s.p, s.n - n};
    return s;
}

/* ---- tool calls ------------------------------------------------------------------------------ */

/* {"name": …, "arguments" or "parameters": …} as OpenAI's tool call; NULL if it is none. */
static json_t *call_of(const json_t *v, const struct text *t, size_t number) {
    const json_t *name = json_object_get(v, "name"), *arguments = json_object_get(v, "arguments");
    if (!arguments)
        arguments = json_object_get(v, "parameters");
    if (!json_is_string(name) || !(json_is_object(arguments) || json_is_string(arguments)))
        return NULL;
    char id[80], *dumped = json_is_string(arguments) ? NULL : json_dumps(arguments, JSON_COMPACT);
    snprintf(id, sizeof id, "call_%s_%zu", strchr(t->id, '-') + 1, number);
    const char *text = dumped ? dumped : json_string_value(arguments);
    json_t *call = text ? json_pack("{s:s,s:s,s:{s:s,s:s}}", "id", id, "type", "function", "function", "name",
                                    json_string_value(name), "arguments", text)
                        : NULL;
    free(dumped);
    return call;
}

/* Appends the calls of a JSON text; false if it is something else. */
static bool add_calls(struct str s, const struct text *t, json_t *calls) {
    json_error_t e;
    json_t *v = llm_json_load(trim(s, true, true), 0, mem_system_allocator(), &e), *one;
    size_t n = json_is_array(v) ? json_array_size(v) : v != NULL, before_these = json_array_size(calls);
    for (size_t i = 0; i < n; i++) {
        one = call_of(json_is_array(v) ? json_array_get(v, i) : v, t, json_array_size(calls));
        if (!one || json_array_append_new(calls, one))
            break;
    }
    json_decref(v);
    return n && json_array_size(calls) == before_these + n;
}

/* The calls of a whole text, whose content is what stands before them; NULL if there are none. */
static json_t *find_calls(const struct text *t, struct str *content) {
    json_t *calls = json_array();
    struct str s = trim(*content, true, true);
    if (s.n && (*s.p == '{' || *s.p == '[') && add_calls(s, t, calls)) {
        *content = (struct str){"", 0};
        return calls;
    }
    size_t first = find(*content, call_tag);
    for (s = from(*content, first); s.n; s = from(s, find(s, call_tag))) {
        s = from(s, strlen(call_tag));
        size_t end = find(s, uncall_tag);
        if (!add_calls((struct str){s.p, end}, t, calls))
            break;
    }
    if (json_array_size(calls)) {
        *content = trim((struct str){content->p, first}, false, true);
        return calls;
    }
    json_decref(calls);
    return NULL;
}

/* ---- splitting ------------------------------------------------------------------------------- */

struct split text_split(const struct text *t, struct str text, bool end, json_t **calls) {
    struct split out = {{"", 0}, text};
    struct str start = trim(text, true, false);
    bool thinking = t->thinking || str_starts(start, think);
    *calls = NULL;
    if (t->api == SERVE_COMPLETION)
        return out;
    if (!thinking && !end && start.n < strlen(think) && memcmp(start.p, think, start.n) == 0) {
        out.content.n = 0; /* may still begin with reasoning */
        return out;
    }
    if (thinking) {
        struct str s = str_starts(start, think) ? from(start, strlen(think)) : text;
        size_t at = find(s, unthink);
        bool closed = at < s.n;
        out.reasoning = trim(closed || end ? (struct str){s.p, at} : before(s, unthink), true, true);
        out.content = closed ? trim(from(s, at + strlen(unthink)), true, false) : (struct str){"", 0};
    }
    if (!t->tools)
        return out;
    if (end) {
        *calls = find_calls(t, &out.content);
        return out;
    }
    struct str first = trim(out.content, true, false);
    if (first.n == 0 || *first.p == '{' || *first.p == '[')
        out.content.n = 0;
    size_t at = find(out.content, call_tag);
    out.content = trim(at < out.content.n ? (struct str){out.content.p, at} : before(out.content, call_tag), false, true);
    return out;
}
