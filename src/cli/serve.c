/* hilo serve: language models behind OpenAI's HTTP interface. */
#include "cli/model.h"
#include "serve/serve.h"

#include <signal.h>
#include <stdlib.h>

struct cli_serve {
    struct cli_texts models, keys;
    const char *host, *engine, *origin, *key_file;
    int precision;
    int64_t port, context, threads, slots, queue, connections, body, most, timeout;
    struct { int64_t processes, devices; } nodes;
    int32_t level;
    bool quiet, no_warm_up;
};

static atomic_int stops; /* other threads read it */

static void on_stop(int signal_number) {
    (void)signal_number;
    atomic_fetch_add(&stops, 1);
}

static void log_line(void *user, const char *line) {
    const struct cli_serve *o = user;
    if (!o->quiet)
        fprintf(stderr, "%s\n", line);
}

/* The keys of a file, a line each, besides those of --api-key; *text is to be freed after use. */
static int read_keys(struct cli_serve *o, struct strbuf *text) {
    if (!o->key_file)
        return CLI_OK;
    int code = cli_read_text(o->key_file, text);
    if (code)
        return code;
    for (char *p = text->p, *end; p && *p; p = end) {
        end = p + strcspn(p, "\r\n");
        bool last = !*end;
        *end = '\0';
        if (*p) {
            const char **v = cli_alloc(o->keys.n + 1, sizeof *v);
            if (o->keys.n)
                memcpy(v, o->keys.v, o->keys.n * sizeof *v);
            v[o->keys.n] = p;
            free(o->keys.v);
            o->keys.v = v;
            o->keys.n++;
        }
        end += !last;
    }
    return o->keys.n ? CLI_OK : cli_error(CLI_USAGE, "%s: it has no API key", o->key_file);
}

static int check(const struct cli_serve *o) {
    if (!o->models.n)
        return cli_error(CLI_USAGE, "missing -m MODEL: a model directory or a GGUF file");
    if (o->port > UINT16_MAX)
        return cli_error(CLI_USAGE, "--port %lld: expected 0 to 65535", (long long)o->port);
    if (o->slots < 1 || o->slots > 1024 || o->queue < 1 || o->connections < 1 || o->connections > 65536 || o->body < 1)
        return cli_error(CLI_USAGE, "--slots, --queue, --connections and --max-body are at least 1; slots at most 1024");
    if (o->threads > INT32_MAX || o->timeout > UINT32_MAX)
        return cli_error(CLI_USAGE, "--threads or --timeout: too many");
    if (o->models.n > 1 && (o->nodes.processes > 1 || cli_is_node()))
        return cli_error(CLI_USAGE, "--processes divides one model; several servers serve several");
    if (!llm_engine_known(o->engine))
        return cli_error(CLI_USAGE, "--engine %s: expected " LLM_ENGINES, o->engine ? o->engine : "");
    return CLI_OK;
}

static int serve(struct cli_serve *o) {
    char why[1024] = "";
    struct strbuf text;
    struct sigaction action = {.sa_handler = on_stop}, ignore = {.sa_handler = SIG_IGN};
    struct cli_nodes nodes;
    hilo_client_options co;
    int code = check(o);
    if (code)
        return code;
    strbuf_init(&text, mem_system_allocator());
    code = read_keys(o, &text);
    if (code == CLI_OK)
        code = cli_model_nodes(o->nodes.processes, o->nodes.devices, &nodes);
    else
        nodes = (struct cli_nodes){.n = 0};
    hilo_client_options_init(&co);
    co.threads = (int32_t)o->threads;
    if (code == CLI_OK && (o->nodes.devices || cli_is_node()))
        code = cli_node_options(o->nodes.devices ? o->nodes.devices : 1, &co);
    if (code) {
        strbuf_free(&text);
        return cli_end_nodes(&nodes, code);
    }
    if (co.node == 0) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
    }
    sigaction(SIGPIPE, &ignore, NULL);
    struct serve_options so = {
        .models = o->models.v, .nmodels = o->models.n, .host = o->host, .port = (uint16_t)o->port, .engine = o->engine,
        .precision = (enum llm_precision)o->precision, .level = o->level, .client = co, .context = o->context,
        .slots = (size_t)o->slots, .queue = (size_t)o->queue, .body_bytes = (size_t)o->body, .most_tokens = (size_t)o->most,
        .connections = (unsigned)o->connections, .timeout_s = (unsigned)o->timeout, .keys = o->keys.v, .nkeys = o->keys.n,
        .origin = o->origin, .no_warm_up = o->no_warm_up, .log = log_line, .user = o, .stop = &stops};
    hilo_status status = serve_run(&so, why, sizeof why);
    strbuf_free(&text);
    code = status == HILO_OK ? CLI_OK : cli_error(status == HILO_INVALID_ARGUMENT ? CLI_USAGE : CLI_ENVIRONMENT, "%s", why);
    return cli_end_nodes(&nodes, code);
}

static int serve_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_serve o = {.host = "127.0.0.1", .port = 8080, .slots = 8, .queue = 256, .connections = 256,
                          .body = 16 << 20, .level = 2};
    struct cli_texts none;
    int code = cli_options(self, argc, argv, &o, &none);
    if (code < 0)
        code = serve(&o);
    cli_options_free(self, &o, &none);
    return code;
}

#define AT(field) offsetof(struct cli_serve, field)
static const struct cli_option options[] = {
    {"-m", "MODEL", CLI_TEXTS, AT(models), "model directory or GGUF file; may be repeated"},
    {"--host", "ADDRESS", CLI_TEXT, AT(host), "numeric address to listen on; default 127.0.0.1"},
    {"--port", "N", CLI_NUMBER, AT(port), "default 8080; 0 = any free one, which is printed"},
    {"--slots", "N", CLI_NUMBER, AT(slots),
     "texts that a model writes at once; default 8. Each has a\ncache of keys and values"},
    {"--queue", "N", CLI_NUMBER, AT(queue),
     "texts that may wait for a slot; default 256. Further\nrequests are answered with 503"},
    {"--api-key", "KEY", CLI_TEXTS, AT(keys), "only requests with this key are answered; may be repeated"},
    {"--api-key-file", "FILE", CLI_TEXT, AT(key_file), "the same for keys in a file, a line each"},
    {"--cors-origin", "ORIGIN", CLI_TEXT, AT(origin), "web pages of this origin may ask, * = all; default: none"},
    {"--max-tokens", "N", CLI_NUMBER, AT(most), "limit of tokens per answer; default: the context"},
    {"--max-body", "BYTES", CLI_NUMBER, AT(body), "limit of a request's body; default 16 MB"},
    {"--timeout", "SECONDS", CLI_NUMBER, AT(timeout), "limit of a request, waiting included; default: none"},
    {"--connections", "N", CLI_NUMBER, AT(connections), "limit of open connections; default 256"},
    {"--precision", "P", CLI_PRECISION, AT(precision), "of weights and products; default auto, as stored:"},
    {"--engine", "E", CLI_TEXT, AT(engine),
     "what runs the models: hilo, hilo:gpu, reference or\npjrt:PATH; default: HILO_ENGINE, or hilo"},
    {"--context", "N", CLI_NUMBER, AT(context), "limit of tokens; default: the model's"},
    {"--threads", "N", CLI_NUMBER, AT(threads), "number of threads; default: one per core"},
    {"-O", "0..3", CLI_LEVEL, AT(level), "optimisation level; default 2"},
    CLI_MODEL_NODES(struct cli_serve, nodes),
    {"--no-warmup", NULL, CLI_FLAG, AT(no_warm_up),
     "compile programs when requests need them; default: before\nthe first one, for all numbers of texts at once"},
    {"--quiet", NULL, CLI_FLAG, AT(quiet), "log nothing"},
    {0}};

const struct cli_command cli_serve = {
    .name = "serve", .operands = "", .least = 0, .most = 0, .options = options, .run = serve_main,
    .summary = "answers OpenAI's HTTP interface with language models",
    .text =
        "Serves models over HTTP as OpenAI does: /v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings,\n"
        "/v1/models; and /tokenize, /detokenize, /apply-template, /health, /metrics, /slots, and a page to chat at /.\n"
        "docs/SERVE.md describes them.\n"
        "\n"
        "Requests are answered side by side: they join and leave between steps, and the tokens of each are those of a run of\n"
        "it alone. A client that closes its connection frees its slot. SIGTERM and Ctrl-C end the server when all requests\n"
        "are answered, a second time at once. A model that cannot be loaded is named in the log and by /health; the others\n"
        "are served.\n"
        "\n"
        "--processes and --devices divide the model, if it is one: this process is the server, the others compute with it.\n",
    .examples = "  hilo serve -m Llama-3.2-1B-Instruct --precision int4 --port 8080\n"
                "  hilo serve -m Llama-3.2-1B-Instruct -m Llama-3.2-1B --slots 16 --api-key secret\n",
};
