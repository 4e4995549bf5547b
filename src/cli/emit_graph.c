/* hilo emit: the programs that a language model runs, as StableHLO. */
#include "cli/model.h"

struct emit_options {
    const char *dir, *out;
    int precision, graph; /* enum llm_precision, llm_graph_kind */
    int64_t batch, context, tokens;
    bool logits;
};

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

static int write_module(hilo_client *client, hilo_module *m, const char *path) {
    if (path && cli_ends_with(path, ".bc"))
        return cli_emit_bytecode(client, m, NULL, path);
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    hilo_status status = hilo_module_print(m, NULL, append, &text);
    int code = status == HILO_OK ? cli_write(path, &text) : cli_fail(client, status);
    strbuf_free(&text);
    return code;
}

static int emit(const struct emit_options *o) {
    struct cli_compile c = CLI_COMPILE_DEFAULTS;
    struct llm_graph g = {.kind = (enum llm_graph_kind)o->graph, .batch = o->batch, .context = o->context, .tokens = o->tokens,
                          .sample = !o->logits, .grown = 2 * o->context};
    struct llm_model model;
    struct diag_list d;
    hilo_client *client;
    hilo_module *m;
    if (!o->dir)
        return cli_error(CLI_USAGE, "missing -m MODEL: a model directory");
    int code = cli_client(&c, &client);
    if (code)
        return code;
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = llm_model_describe(o->dir, (enum llm_precision)o->precision, *rt_client_allocator(client), &d, &model);
    status = rt_finish(client, &d, status);
    if (status == HILO_OK) {
        g.pooling = model.config.pooling;
        status = llm_session_module(client, &model, &g, &m);
        code = status == HILO_OK ? write_module(client, m, o->out) : cli_fail(client, status);
        if (status == HILO_OK)
            hilo_module_release(m);
        llm_model_close(&model);
    } else {
        code = cli_fail(client, status);
    }
    hilo_client_release(client);
    return code;
}

static int emit_main(const struct cli_command *self, int argc, char **argv) {
    struct emit_options o = {.graph = LLM_DECODE, .batch = 1, .context = 256, .tokens = 128};
    struct cli_texts none;
    int code = cli_options(self, argc, argv, &o, &none);
    if (code < 0)
        code = emit(&o);
    cli_options_free(self, &o, &none);
    return code;
}

#define AT(field) offsetof(struct emit_options, field)
static const struct cli_option options[] = {
    {"-m", "MODEL", CLI_TEXT, AT(dir), "model directory"},
    {"--graph", "G", CLI_GRAPH, AT(graph), "the program to write; default decode:"},
    {"-o", "FILE", CLI_TEXT, AT(out),
     "output file, as text, or as bytecode if its name ends in .bc;\ndefault: standard output"},
    {"--precision", "P", CLI_PRECISION, AT(precision), "of weights and products; default auto, as stored:"},
    {"--batch", "B", CLI_NUMBER, AT(batch), "number of sequences; default 1"},
    {"--context", "C", CLI_NUMBER, AT(context), "tokens that the cache holds; default 256"},
    {"--tokens", "T", CLI_NUMBER, AT(tokens), "tokens that prefill, score, logits and embed read; default 128"},
    {"--logits", NULL, CLI_FLAG, AT(logits), "return logits instead of the most probable token"},
    {0}};

const struct cli_command cli_emit = {
    .name = "emit", .operands = "", .least = 0, .most = 0, .options = options, .run = emit_main,
    .summary = "writes a language model as StableHLO",
    .text = "Writes the programs that `hilo generate` runs, for this or any other StableHLO compiler. Weights are\n"
            "parameters, named as in the model's files; so is the cache of keys and values, which is donated.\n",
    .examples = "  hilo emit -m Llama-3.2-1B --graph decode -o decode.mlir\n"
                "  hilo emit -m Llama-3.2-1B --graph prefill --tokens 512 --context 1024 --precision bf16 -o prefill.bc\n",
};
