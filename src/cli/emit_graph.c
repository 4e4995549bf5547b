/* hilo emit: the programs that a language model runs, as StableHLO. */
#include "cli/model.h"

struct emit_options {
    const char *dir, *precision, *graph, *out;
    int64_t batch, context, tokens, grown;
    bool logits;
};

static void write_piece(void *user, const char *text, size_t n) {
    fwrite(text, 1, n, user);
}

static int write_module(hilo_client *client, hilo_module *m, const char *path) {
    if (path && cli_ends_with(path, ".bc"))
        return cli_emit_bytecode(client, m, NULL, path);
    FILE *f = path ? fopen(path, "w") : stdout;
    if (!f)
        return cli_error(CLI_ENVIRONMENT, "cannot write '%s'", path);
    hilo_status status = hilo_module_print(m, NULL, write_piece, f);
    bool written = fflush(f) == 0 && !ferror(f);
    if (path && fclose(f) != 0)
        written = false;
    if (status != HILO_OK)
        return cli_fail(client, status);
    return written ? CLI_OK : cli_error(CLI_ENVIRONMENT, "cannot write '%s'", path ? path : "standard output");
}

static bool read_graph(const struct emit_options *o, struct llm_graph *g) {
    static const struct { const char *name; enum llm_graph_kind kind; } kinds[] = {
        {"prefill", LLM_PREFILL}, {"decode", LLM_DECODE}, {"score", LLM_SCORE}, {"grow", LLM_GROW}};
    *g = (struct llm_graph){.batch = o->batch, .context = o->context, .tokens = o->tokens, .sample = !o->logits,
                            .grown = 2 * o->context};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(o->graph, kinds[i].name) == 0) {
            g->kind = kinds[i].kind;
            return true;
        }
    return false;
}

static int emit(const struct emit_options *o) {
    struct cli_compile c = CLI_COMPILE_DEFAULTS;
    enum llm_precision precision = LLM_AS_STORED;
    struct llm_graph g;
    struct llm_model model;
    struct diag_list d;
    hilo_client *client;
    hilo_module *m;
    if (!o->dir)
        return cli_error(CLI_USAGE, "name a model: -m DIRECTORY");
    if (!read_graph(o, &g))
        return cli_error(CLI_USAGE, "there is no graph '%s'; there are prefill, decode, score, grow", o->graph);
    if (o->precision && !llm_precision_named(o->precision, &precision))
        return cli_error(CLI_USAGE, "there is no precision '%s'", o->precision);
    int code = cli_client(&c, &client);
    if (code)
        return code;
    diag_init(&d, client->al);
    hilo_status status = llm_model_describe(o->dir, precision, client->al, &d, &model);
    status = rt_finish(client, &d, status);
    if (status == HILO_OK) {
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
    struct emit_options o = {.graph = "decode", .batch = 1, .context = 256, .tokens = 128};
    struct cli_texts none;
    int code = cli_options(self, argc, argv, &o, &none);
    if (code < 0)
        code = emit(&o);
    cli_options_free(self, &o, &none);
    return code;
}

#define AT(field) offsetof(struct emit_options, field)
static const struct cli_option options[] = {
    {"-m", "MODEL", CLI_TEXT, AT(dir), "directory of the model"},
    {"--graph", "G", CLI_TEXT, AT(graph), "decode (the default), prefill, score, or grow"},
    {"-o", "FILE", CLI_TEXT, AT(out), "where to; text, or bytecode for a name that ends in .bc"},
    {"--precision", "P", CLI_TEXT, AT(precision), "f32, bf16, f16, int8, int4 or int4z"},
    {"--batch", "B", CLI_NUMBER, AT(batch), "sequences; 1 by default"},
    {"--context", "C", CLI_NUMBER, AT(context), "room for tokens in the cache; 256 by default"},
    {"--tokens", "T", CLI_NUMBER, AT(tokens), "tokens that prefill and score read at once; 128 by default"},
    {"--logits", NULL, CLI_FLAG, AT(logits), "answer logits instead of the token with the greatest"},
    {0}
};

const struct cli_command cli_emit = {
    .name = "emit", .operands = "", .least = 0, .most = 0, .options = options, .run = emit_main,
    .summary = "writes a language model as StableHLO",
    .text = "Writes the programs that `hilo generate` runs, for this or any other StableHLO compiler. Weights are\n"
            "arguments, named as in the model's files; keys and values of earlier tokens too, to be donated.\n",
    .examples = "  hilo emit -m Llama-3.2-1B --graph decode -o decode.mlir\n"
                "  hilo emit -m Llama-3.2-1B --graph prefill --tokens 512 --context 1024 --precision bf16 -o prefill.bc\n",
};
