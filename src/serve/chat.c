/* /v1/chat/completions. */
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- messages -------------------------------------------------------------------------------- */

/* A content as one string: itself, or the texts of its parts. NULL after answering why. */
static json_t *content_text(struct call *c, const json_t *content, size_t number) {
    struct strbuf all;
    json_t *part;
    size_t i;
    if (json_is_string(content))
        return json_incref((json_t *)(uintptr_t)content);
    if (!content || json_is_null(content))
        return json_string("");
    strbuf_init(&all, mem_system_allocator());
    json_array_foreach(content, i, part) {
        const char *type = json_string_value(json_object_get(part, "type"));
        const json_t *text = json_object_get(part, "text");
        bool known = type && (!strcmp(type, "text") || !strcmp(type, "input_text") || !strcmp(type, "output_text"));
        if (!known || !json_is_string(text)) {
            strbuf_free(&all);
            serve_error(c, 400, NULL, "messages", "message %zu: a part of the type '%.40s' is not supported; text is", number,
                        type ? type : "");
            return NULL;
        }
        strbuf_putn(&all, json_string_value(text), json_string_length(text));
    }
    json_t *v = json_is_array(content) ? serve_text((struct str){all.p ? all.p : "", all.n}) : NULL;
    strbuf_free(&all);
    if (!v)
        serve_error(c, 400, NULL, "messages", "message %zu: the content is not a string or a list of parts", number);
    return v;
}

/* Templates take the arguments of tool calls as objects, OpenAI's interface has them as text. */
static void parse_arguments(json_t *calls) {
    json_t *one;
    size_t i;
    json_array_foreach(calls, i, one) {
        json_t *function = json_object_get(one, "function"), *text = json_object_get(function, "arguments");
        json_t *object = json_is_string(text) ? json_loads(json_string_value(text), 0, NULL) : NULL;
        if (json_is_object(object))
            json_object_set(function, "arguments", object);
        json_decref(object);
    }
}

json_t *chat_messages(struct call *c, const json_t *messages) {
    if (!json_is_array(messages) || json_array_size(messages) == 0) {
        serve_error(c, 400, NULL, "messages", "'messages' is not a list of messages");
        return NULL;
    }
    json_t *out = json_deep_copy(messages), *one;
    size_t i;
    json_array_foreach(out, i, one) {
        const char *role = json_string_value(json_object_get(one, "role"));
        json_t *content = role ? content_text(c, json_object_get(one, "content"), i) : NULL;
        if (!role)
            serve_error(c, 400, NULL, "messages", "message %zu has no 'role'", i);
        if (!content) {
            json_decref(out);
            return NULL;
        }
        json_object_set_new(one, "content", content);
        if (strcmp(role, "developer") == 0)
            json_object_set_new(one, "role", json_string("system"));
        parse_arguments(json_object_get(one, "tool_calls"));
    }
    if (!out)
        serve_error(c, 500, NULL, NULL, "out of memory");
    return out;
}

/* ---- tools ----------------------------------------------------------------------------------- */

/* A schema of the calls that are allowed: {"name": …, "arguments": …} of any of the tools, or of the one with that name. */
static json_t *call_schema(const json_t *tools, const char *only) {
    json_t *any = json_array(), *tool, *defs = json_object();
    size_t i;
    json_array_foreach(tools, i, tool) {
        json_t *function = json_object_get(tool, "function"), *name = json_object_get(function, "name");
        json_t *parameters = json_object_get(function, "parameters"), *inner = json_object_get(parameters, "$defs");
        if (only && strcmp(json_string_value(name), only) != 0)
            continue;
        json_object_update_missing(defs, inner ? inner : defs);
        json_array_append_new(any, json_pack("{s:s,s:{s:{s:O},s:o},s:[s,s]}", "type", "object", "properties", "name", "const",
                                             name, "arguments",
                                             parameters ? json_incref(parameters) : json_pack("{s:s}", "type", "object"),
                                             "required", "name", "arguments"));
    }
    return json_pack("{s:o,s:o}", "anyOf", any, "$defs", defs);
}

bool chat_tools(struct call *c, struct text *t, const json_t *tools, const json_t *choice) {
    json_t *tool;
    size_t i;
    const char *word = json_string_value(choice), *only = NULL;
    if (!tools || json_is_null(tools))
        return true;
    if (!json_is_array(tools))
        return serve_error(c, 400, NULL, "tools", "'tools' is not a list");
    if (json_is_object(choice)) {
        const json_t *inner = json_object_get(choice, "function");
        only = json_string_value(json_object_get(inner ? inner : choice, "name"));
    }
    bool found = false;
    json_array_foreach(tools, i, tool) {
        const char *name = json_string_value(json_object_get(json_object_get(tool, "function"), "name"));
        if (!name)
            return serve_error(c, 400, NULL, "tools", "tool %zu is not a function with a name", i);
        found |= only && strcmp(name, only) == 0;
    }
    if ((choice && !json_is_null(choice) && !word && !found) ||
        (word && strcmp(word, "auto") && strcmp(word, "none") && strcmp(word, "required")))
        return serve_error(c, 400, NULL, "tool_choice", "'tool_choice' is not auto, none, required or one of the tools");
    t->tools = json_array_size(tools) && !(word && strcmp(word, "none") == 0);
    t->forced_tool = t->tools && (only || (word && strcmp(word, "required") == 0));
    if (!t->forced_tool)
        return true;
    json_t *schema = call_schema(tools, only);
    bool good = text_schema(c, t, schema, "tools");
    json_decref(schema);
    return good;
}

/* ---- answers --------------------------------------------------------------------------------- */

static json_t *token_bytes(struct str s) {
    json_t *out = json_array();
    for (size_t i = 0; i < s.n; i++)
        json_array_append_new(out, json_integer((unsigned char)s.p[i]));
    return out;
}

static json_t *token_score(const struct text *t, int32_t token, double log_probability, bool id) {
    struct str bytes = llm_tok_bytes(t->model->s->tok, token);
    json_t *v = json_pack("{s:o,s:o,s:o}", "token", serve_text(bytes), "logprob", serve_log_probability(log_probability),
                          "bytes", token_bytes(bytes));
    if (id)
        json_object_set_new(v, "id", json_integer(token));
    return v;
}

json_t *text_token_scores(const struct text *t, const struct serve_token *token, bool id) {
    json_t *one = token_score(t, token->id, token->log_probability, id), *top = json_array();
    for (size_t k = 0; k < t->task.ntop; k++)
        json_array_append_new(top, token_score(t, token->top[k].id, (double)token->top[k].x, id));
    json_object_set_new(one, "top_logprobs", top);
    return one;
}

/* The log probabilities of tokens `first` … last - 1. */
static json_t *scores(const struct text *t, const struct choice *x, size_t first, size_t last) {
    json_t *content = json_array();
    for (size_t i = first; i < last; i++)
        json_array_append_new(content, text_token_scores(t, &x->job.tokens.v[i], false));
    return json_pack("{s:o}", "content", content);
}

static json_t *envelope(const struct text *t, const char *object, json_t *choices) {
    return json_pack("{s:s,s:s,s:I,s:s,s:s,s:o}", "id", t->id, "object", object, "created", (json_int_t)t->created, "model",
                     t->model->id, "system_fingerprint", hilo_version(), "choices", choices);
}

static json_t *whole(struct text *t) {
    json_t *choices = json_array();
    for (size_t i = 0; i < t->n; i++) {
        struct choice *x = &t->choices[i];
        struct split s = text_split(t, text_visible(x), true, &x->calls);
        json_t *message = json_pack("{s:s,s:o}", "role", "assistant", "content",
                                    x->calls && !s.content.n ? json_null() : serve_text(s.content));
        if (s.reasoning.n)
            json_object_set_new(message, "reasoning_content", serve_text(s.reasoning));
        if (x->calls)
            json_object_set(message, "tool_calls", x->calls);
        json_t *choice =
            json_pack("{s:I,s:o,s:s}", "index", (json_int_t)i, "message", message, "finish_reason", text_finish(x));
        json_object_set_new(choice, "logprobs", t->task.score ? scores(t, x, 0, x->job.tokens.n) : json_null());
        json_array_append_new(choices, choice);
    }
    json_t *v = envelope(t, "chat.completion", choices);
    json_object_set_new(v, "usage", text_usage(t));
    return v;
}

static void put_chunk(struct text *t, struct strbuf *out, size_t index, json_t *delta, json_t *score, const char *finish) {
    json_t *choice = json_pack("{s:I,s:o,s:o,s:s?}", "index", (json_int_t)index, "delta", delta, "logprobs",
                               score ? score : json_null(), "finish_reason", finish);
    serve_event(out, NULL, envelope(t, "chat.completion.chunk", json_pack("[o]", choice)));
}

static json_t *delta_calls(const json_t *calls) {
    json_t *out = json_array(), *one;
    size_t i;
    json_array_foreach(calls, i, one) {
        json_t *copy = json_copy(one);
        json_object_set_new(copy, "index", json_integer((json_int_t)i));
        json_array_append_new(out, copy);
    }
    return out;
}

static void choice_pieces(struct text *t, struct strbuf *out, size_t index) {
    struct choice *x = &t->choices[index];
    const struct serve_job *j = &x->job;
    bool end = j->state == SERVE_DONE;
    if (x->ended)
        return;
    if (!x->begun && (end || j->visible))
        put_chunk(t, out, index, json_pack("{s:s,s:s}", "role", "assistant", "content", ""), NULL, NULL);
    x->begun |= end || j->visible;
    struct split s = text_split(t, text_visible(x), end, &x->calls);
    if (s.reasoning.n > x->reasoning) {
        struct str more = {s.reasoning.p + x->reasoning, s.reasoning.n - x->reasoning};
        put_chunk(t, out, index, json_pack("{s:o}", "reasoning_content", serve_text(more)), NULL, NULL);
        x->reasoning = s.reasoning.n;
    }
    if (s.content.n > x->content) {
        struct str more = {s.content.p + x->content, s.content.n - x->content};
        json_t *score = t->task.score ? scores(t, x, x->tokens, j->tokens.n) : NULL;
        put_chunk(t, out, index, json_pack("{s:o}", "content", serve_text(more)), score, NULL);
        x->content = s.content.n;
        x->tokens = j->tokens.n;
    }
    if (!end)
        return;
    if (x->calls)
        put_chunk(t, out, index, json_pack("{s:o}", "tool_calls", delta_calls(x->calls)), NULL, NULL);
    put_chunk(t, out, index, json_object(), NULL, text_finish(x));
    x->ended = true;
}

static bool pieces(struct text *t, struct strbuf *out) {
    bool ended = true;
    for (size_t i = 0; i < t->n; i++) {
        choice_pieces(t, out, i);
        ended &= t->choices[i].ended;
    }
    if (!ended)
        return true;
    if (t->usage) {
        json_t *v = envelope(t, "chat.completion.chunk", json_array());
        json_object_set_new(v, "usage", text_usage(t));
        serve_event(out, NULL, v);
    }
    strbuf_puts(out, "data: [DONE]\n\n");
    return false;
}

/* ---- the endpoint ---------------------------------------------------------------------------- */

/* The variables of the template. */
static json_t *template_input(struct call *c, const struct text *t) {
    const json_t *generates = json_object_get(c->body, "add_generation_prompt");
    if (generates && !json_is_boolean(generates) && !json_is_null(generates)) {
        serve_error(c, 400, NULL, "add_generation_prompt", "'add_generation_prompt' is not true or false");
        return NULL;
    }
    json_t *messages = chat_messages(c, json_object_get(c->body, "messages"));
    if (!messages)
        return NULL;
    json_t *input = json_pack("{s:o,s:b}", "messages", messages, "add_generation_prompt", !json_is_false(generates));
    json_t *more = json_object_get(c->body, "chat_template_kwargs"), *effort = json_object_get(c->body, "reasoning_effort");
    if (t && t->tools)
        json_object_set(input, "tools", json_object_get(c->body, "tools"));
    if (effort && !json_is_null(effort))
        json_object_set(input, "reasoning_effort", effort);
    if (json_is_object(more))
        json_object_update_missing(input, more);
    return input;
}

void serve_chat(struct call *c) {
    struct text *t = text_new(c, SERVE_CHAT);
    if (!t)
        return;
    json_t *input = chat_tools(c, t, json_object_get(c->body, "tools"), json_object_get(c->body, "tool_choice"))
                        ? template_input(c, t)
                        : NULL;
    bool good = input && text_prompt_chat(c, t, input);
    json_decref(input);
    if (good)
        text_answer(c, t, whole, pieces);
    else
        text_free(t);
}

void serve_template(struct call *c) {
    struct serve_model *m = serve_model_of(c);
    json_t *input = m ? template_input(c, NULL) : NULL;
    struct jinja_text text;
    if (!input)
        return;
    if (json_object_get(c->body, "tools"))
        json_object_set(input, "tools", json_object_get(c->body, "tools"));
    hilo_status status = llm_chat_render(&m->s->chat, input, &c->d, &text);
    if (status == HILO_OK)
        serve_json(c, json_pack("{s:o}", "prompt", serve_text((struct str){text.p, text.n})));
    else
        serve_failed(c, status, "messages");
    jinja_text_free(&text);
    json_decref(input);
}
