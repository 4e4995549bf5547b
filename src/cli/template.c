/* hilo template: what a chat template makes of messages. */
#include "cli/model.h"
#include "llm/json.h"

#include <stdlib.h>

struct template_options {
    const char *model, *messages, *tools;
    struct cli_texts arguments;
    bool no_generation_prompt, spans;
};

/* ---- variables ------------------------------------------------------------------------------- */

json_t *cli_read_json(const char *path) {
    struct strbuf text;
    json_error_t error;
    if (cli_read_text(path, &text) != CLI_OK)
        return NULL;
    json_t *v = llm_json_load((struct str){text.p, text.n}, JSON_DECODE_ANY, mem_system_allocator(), &error);
    if (!v)
        cli_error(CLI_FAILED, "%s:%d:%d: not JSON: %s", path, error.line, error.column, error.text);
    strbuf_free(&text);
    return v;
}

int cli_template_variables(json_t *input, const struct cli_texts *arguments, const char *tools) {
    json_error_t error;
    for (size_t i = 0; i < arguments->n; i++) {
        const char *text = arguments->v[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return cli_error(CLI_USAGE, "'%s': expected NAME=VALUE", text);
        json_t *v = llm_json_load(str_of(equals + 1), JSON_DECODE_ANY, mem_system_allocator(), &error);
        if (!v)
            v = json_string(equals + 1);
        if (!v || json_object_setn_new(input, text, (size_t)(equals - text), v))
            return cli_error(CLI_USAGE, "'%s' is not UTF-8 text", text);
    }
    json_t *list = tools ? cli_read_json(tools) : NULL;
    if (tools && !json_is_array(list)) {
        json_decref(list);
        return list ? cli_error(CLI_FAILED, "%s: expected a JSON array of tools", tools) : CLI_FAILED;
    }
    return list && json_object_set_new(input, "tools", list) ? cli_error(CLI_ENVIRONMENT, "out of memory") : CLI_OK;
}

/* The variables of a conversation: a file with an array of messages, or with an object that has them among others. */
static int read_input(const struct template_options *o, json_t **out) {
    json_t *v = cli_read_json(o->messages);
    *out = NULL;
    if (!v)
        return CLI_FAILED;
    if (json_is_array(v))
        v = json_pack("{s:o}", "messages", v);
    if (!json_is_array(json_object_get(v, "messages"))) {
        json_decref(v);
        return cli_error(CLI_FAILED, "%s: expected a JSON array of messages, or an object with 'messages'", o->messages);
    }
    *out = v;
    if (o->no_generation_prompt || !json_object_get(v, "add_generation_prompt"))
        json_object_set_new(v, "add_generation_prompt", json_boolean(!o->no_generation_prompt));
    return cli_template_variables(v, &o->arguments, o->tools);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The template of a model directory, or of a file. */
static hilo_status open_template(const char *path, struct diag_list *d, struct llm_chat *out) {
    hilo_allocator al = mem_system_allocator();
    if (!cli_ends_with(path, ".jinja"))
        return llm_chat_open(path, al, d, out);
    llm_chat_init(out, al);
    return llm_chat_read(path, d, out, &out->template);
}

/* The text; with --spans, what comes from the input between marks. */
static void print_text(const struct jinja_text *text, bool spans) {
    for (size_t i = 0, end; i < text->n; i = end) {
        for (end = i; end < text->n && text->from_input[end] == text->from_input[i];)
            end++;
        bool marked = spans && text->from_input[i];
        fputs(marked ? "⟦" : "", stdout);
        fwrite(text->p + i, 1, end - i, stdout);
        fputs(marked ? "⟧" : "", stdout);
    }
}

static int run_template(const struct template_options *o) {
    struct cli_compile c = CLI_COMPILE_DEFAULTS;
    struct llm_chat chat;
    struct jinja_text text = {.al = mem_system_allocator()};
    struct diag_list d;
    hilo_client *client;
    json_t *input = NULL;
    if (!o->model || !o->messages)
        return cli_error(CLI_USAGE, o->model ? "missing --messages FILE: a JSON array of messages"
                                             : "missing -m MODEL: a model directory or a .jinja file");
    llm_chat_init(&chat, mem_system_allocator());
    c.threads = 1;
    int code = cli_client(&c, &client);
    if (code)
        return code;
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = open_template(o->model, &d, &chat);
    code = status == HILO_OK ? read_input(o, &input) : CLI_OK;
    if (status == HILO_OK && code == CLI_OK)
        status = llm_chat_render(&chat, input, &d, &text);
    status = rt_finish(client, &d, status);
    if (status != HILO_OK)
        code = cli_fail(client, status);
    else
        print_text(&text, o->spans);
    jinja_text_free(&text);
    json_decref(input);
    llm_chat_close(&chat);
    hilo_client_release(client);
    return code;
}

static int template_main(const struct cli_command *self, int argc, char **argv) {
    struct template_options o = {.model = NULL};
    struct cli_texts none;
    int code = cli_options(self, argc, argv, &o, &none);
    if (code < 0)
        code = run_template(&o);
    cli_options_free(self, &o, &none);
    return code;
}

#define AT(field) offsetof(struct template_options, field)
static const struct cli_option options[] = {
    {"-m", "MODEL", CLI_TEXT, AT(model), "model directory, or a .jinja file"},
    {"--messages", "FILE", CLI_TEXT, AT(messages),
     "JSON array of messages, or an object with `messages` and\nother variables; - is standard input"},
    {"--tools", "FILE", CLI_TEXT, AT(tools), "JSON array of tools"},
    {"--arg", "NAME=VALUE", CLI_TEXTS, AT(arguments), "another variable: JSON, or else a string; may be repeated"},
    {"--no-generation-prompt", NULL, CLI_FLAG, AT(no_generation_prompt), "end after the last message"},
    {"--spans", NULL, CLI_FLAG, AT(spans),
     "enclose in ⟦ ⟧ what comes from the input, in which no\nspecial token is recognised"},
    {0}};

const struct cli_command cli_template = {
    .name = "template",
    .operands = "",
    .least = 0,
    .most = 0,
    .options = options,
    .run = template_main,
    .summary = "renders a conversation with a chat template",
    .text = "Prints the text that a model's chat template makes of messages, up to where the assistant answers. Templates are\n"
            "Jinja, rendered as Hugging Face's transformers does, within bounds of steps, depth and memory.\n",
    .examples =
        "  hilo template -m Llama-3.2-1B-Instruct --messages examples/llm/chat.json\n"
        "  hilo template -m examples/llm/chatml.jinja --messages examples/llm/chat.json --tools examples/llm/tools.json \\\n"
        "      --arg enable_thinking=false\n",
};
