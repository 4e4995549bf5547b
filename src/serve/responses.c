/* /v1/responses: the same texts in OpenAI's newer form. Answers are not stored; `previous_response_id` is refused. */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- input ----------------------------------------------------------------------------------- */

/* Items as messages: a text is one of the user; function calls and their results become messages of chat. */
static json_t *item_message(const json_t *item) {
    const char *type = json_string_value(json_object_get(item, "type"));
    json_t *call_id = json_object_get(item, "call_id"), *content = json_object_get(item, "content");
    json_t *name = json_object_get(item, "name"), *arguments = json_object_get(item, "arguments");
    if (type && strcmp(type, "function_call") == 0)
        return json_pack("{s:s,s:s,s:[{s:O,s:s,s:{s:O,s:O}}]}", "role", "assistant", "content", "", "tool_calls", "id", call_id,
                         "type", "function", "function", "name", name, "arguments", arguments);
    if (type && strcmp(type, "function_call_output") == 0)
        return json_pack("{s:s,s:O,s:O}", "role", "tool", "tool_call_id", call_id, "content", json_object_get(item, "output"));
    if (type && strcmp(type, "message") != 0)
        return NULL;
    return json_pack("{s:O,s:O}", "role", json_object_get(item, "role"), "content", content);
}

static json_t *messages_of(struct call *c) {
    json_t *input = json_object_get(c->body, "input"), *instructions = json_object_get(c->body, "instructions"), *item;
    json_t *messages = json_array();
    size_t i;
    if (json_is_string(instructions))
        json_array_append_new(messages, json_pack("{s:s,s:O}", "role", "system", "content", instructions));
    if (json_is_string(input))
        json_array_append_new(messages, json_pack("{s:s,s:O}", "role", "user", "content", input));
    json_array_foreach(input, i, item) if (json_array_append_new(messages, item_message(item))) {
        serve_error(c, 400, NULL, "input", "item %zu of 'input' is not a message, a function call or its output", i);
        json_decref(messages);
        return NULL;
    }
    json_t *out = chat_messages(c, messages);
    json_decref(messages);
    return out;
}

/* {"type": "function", "name": …, …} as chat has it: {"type": "function", "function": {"name": …, …}}. */
static json_t *chat_form(const json_t *tools) {
    json_t *out = json_is_array(tools) ? json_array() : NULL, *tool;
    size_t i;
    json_array_foreach(tools, i, tool) {
        json_t *function = json_copy(tool);
        json_object_del(function, "type");
        json_array_append_new(out, json_pack("{s:s,s:o}", "type", "function", "function", function));
    }
    return out;
}

/* ---- output ---------------------------------------------------------------------------------- */

static json_t *part_of(struct str text) {
    return json_pack("{s:s,s:o,s:[]}", "type", "output_text", "text", serve_text(text), "annotations");
}

/* Takes the content over: a list of parts. */
static json_t *message_of(const struct text *t, json_t *content, const char *status) {
    return json_pack("{s:s,s:s+,s:s,s:s,s:o}", "type", "message", "id", "msg-", strchr(t->id, '-') + 1, "status", status,
                     "role", "assistant", "content", content);
}

/* The items of a text that has ended; the message is left out where there are only calls. */
static json_t *items_of(struct text *t) {
    struct choice *x = &t->choices[0];
    json_t *out = json_array(), *call;
    json_decref(x->calls);
    struct split s = text_split(t, text_visible(x), true, &x->calls);
    size_t i;
    if (s.reasoning.n)
        json_array_append_new(out, json_pack("{s:s,s:s+,s:[],s:[{s:s,s:o}]}", "type", "reasoning", "id", "rs-",
                                             strchr(t->id, '-') + 1, "summary", "content", "type", "reasoning_text", "text",
                                             serve_text(s.reasoning)));
    if (s.content.n || !x->calls)
        json_array_append_new(out, message_of(t, json_pack("[o]", part_of(s.content)), "completed"));
    json_array_foreach(x->calls, i, call) {
        json_t *function = json_object_get(call, "function");
        json_array_append_new(out, json_pack("{s:s,s:s,s:O,s:O,s:O,s:O}", "type", "function_call", "status", "completed", "id",
                                             json_object_get(call, "id"), "call_id", json_object_get(call, "id"), "name",
                                             json_object_get(function, "name"), "arguments",
                                             json_object_get(function, "arguments")));
    }
    return out;
}

static json_t *response(struct text *t, bool end) {
    const struct serve_job *j = &t->choices[0].job;
    bool cut = end && j->end == SERVE_END_LENGTH;
    json_t *v = json_pack("{s:s,s:s,s:I,s:s,s:s,s:o,s:n,s:b,s:o,s:o}", "id", t->id, "object", "response", "created_at",
                          (json_int_t)t->created, "model", t->model->id, "status",
                          !end  ? "in_progress"
                          : cut ? "incomplete"
                                : "completed",
                          "output", end ? items_of(t) : json_array(), "error", "parallel_tool_calls", 1, "usage",
                          end ? text_usage(t) : json_null(), "incomplete_details",
                          cut ? json_pack("{s:s}", "reason", "max_output_tokens") : json_null());
    json_object_update_missing(v, t->request);
    return v;
}

static json_t *whole(struct text *t) {
    return response(t, true);
}

static void put_event(struct text *t, struct strbuf *out, const char *type, json_t *v) {
    json_object_set_new(v, "type", json_string(type));
    json_object_set_new(v, "sequence_number", json_integer((json_int_t)t->choices[0].tokens++));
    serve_event(out, type, v);
}

/* Where the parts of the message are, in events. */
static json_t *place(const struct text *t, bool part) {
    json_t *v = json_pack("{s:i}", "output_index", 0);
    if (part) {
        json_object_set_new(v, "item_id", json_sprintf("msg-%s", strchr(t->id, '-') + 1));
        json_object_set_new(v, "content_index", json_integer(0));
    }
    return v;
}

static void put_begin(struct text *t, struct strbuf *out) {
    json_t *v = place(t, false);
    json_object_set_new(v, "item", message_of(t, json_array(), "in_progress"));
    put_event(t, out, "response.output_item.added", v);
    v = place(t, true);
    json_object_set_new(v, "part", part_of((struct str){"", 0}));
    put_event(t, out, "response.content_part.added", v);
}

static void put_end(struct text *t, struct strbuf *out, struct str text) {
    json_t *v = place(t, true);
    json_object_set_new(v, "text", serve_text(text));
    put_event(t, out, "response.output_text.done", v);
    v = place(t, true);
    json_object_set_new(v, "part", part_of(text));
    put_event(t, out, "response.content_part.done", v);
    v = place(t, false);
    json_object_set_new(v, "item", message_of(t, json_pack("[o]", part_of(text)), "completed"));
    put_event(t, out, "response.output_item.done", v);
}

/* Items other than the message come as a whole. */
static void put_items(struct text *t, struct strbuf *out) {
    json_t *items = items_of(t), *item;
    size_t i;
    json_array_foreach(items, i, item) {
        if (strcmp(json_string_value(json_object_get(item, "type")), "message") == 0)
            continue;
        put_event(t, out, "response.output_item.added", json_pack("{s:I,s:O}", "output_index", (json_int_t)i, "item", item));
        put_event(t, out, "response.output_item.done", json_pack("{s:I,s:O}", "output_index", (json_int_t)i, "item", item));
    }
    json_decref(items);
}

static bool pieces(struct text *t, struct strbuf *out) {
    struct choice *x = &t->choices[0];
    bool end = x->job.state == SERVE_DONE;
    if (!t->created_sent) {
        put_event(t, out, "response.created", json_pack("{s:o}", "response", response(t, false)));
        put_event(t, out, "response.in_progress", json_pack("{s:o}", "response", response(t, false)));
        t->created_sent = true;
    }
    struct split s = text_split(t, text_visible(x), end, &x->calls);
    if (!x->begun && s.content.n) {
        put_begin(t, out);
        x->begun = true;
    }
    if (s.content.n > x->content) {
        json_t *v = place(t, true);
        json_object_set_new(v, "delta", serve_text((struct str){s.content.p + x->content, s.content.n - x->content}));
        put_event(t, out, "response.output_text.delta", v);
        x->content = s.content.n;
    }
    if (!end)
        return true;
    if (x->begun)
        put_end(t, out, s.content);
    put_items(t, out);
    put_event(t, out, x->job.end == SERVE_END_LENGTH ? "response.incomplete" : "response.completed",
              json_pack("{s:o}", "response", response(t, true)));
    return false;
}

/* ---- the endpoint ---------------------------------------------------------------------------- */

static bool prepare(struct call *c, struct text *t, json_t *tools) {
    static const char *const repeated[] = {"instructions",      "metadata",    "temperature", "top_p",
                                           "max_output_tokens", "tool_choice", "tools"};
    if (json_object_get(c->body, "previous_response_id") && !json_is_null(json_object_get(c->body, "previous_response_id")))
        return serve_error(c, 400, NULL, "previous_response_id", "answers are not stored: send the whole conversation");
    if (t->kept != 1)
        return serve_error(c, 400, NULL, "n", "there is one answer");
    t->request = json_object();
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        json_t *v = json_object_get(c->body, repeated[i]);
        json_object_set_new(t->request, repeated[i],
                            v                                         ? json_incref(v)
                            : strcmp(repeated[i], "tools") == 0       ? json_array()
                            : strcmp(repeated[i], "tool_choice") == 0 ? json_string("auto")
                                                                      : json_null());
    }
    if (!chat_tools(c, t, tools, json_object_get(c->body, "tool_choice")))
        return false;
    json_t *messages = messages_of(c);
    json_t *input = messages ? json_pack("{s:o,s:b}", "messages", messages, "add_generation_prompt", 1) : NULL;
    if (t->tools && input)
        json_object_set(input, "tools", tools);
    bool good = input && text_prompt_chat(c, t, input);
    json_decref(input);
    return good;
}

void serve_responses(struct call *c) {
    struct text *t = text_new(c, SERVE_RESPONSES);
    if (!t)
        return;
    json_t *tools = chat_form(json_object_get(c->body, "tools"));
    bool good = prepare(c, t, tools);
    json_decref(tools);
    if (good)
        text_answer(c, t, whole, pieces);
    else
        text_free(t);
}
