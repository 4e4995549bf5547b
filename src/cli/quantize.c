/* hilo quantize: writes a language model with quantised weights. */
#include "cli/model.h"

struct quantize_options {
    const char *out;
    bool int8, int4, int4z, bf16, f16;
};

static int quantize(const char *dir, const struct quantize_options *o) {
    struct cli_compile c = CLI_COMPILE_DEFAULTS;
    enum llm_precision p = o->int8 ? LLM_INT8 : o->int4 ? LLM_INT4 : o->int4z ? LLM_INT4Z : o->bf16 ? LLM_BF16 : LLM_F16;
    struct llm_model model;
    struct diag_list d;
    hilo_client *client;
    if (!o->out)
        return cli_error(CLI_USAGE, "missing -o OUT: a directory");
    if (o->int8 + o->int4 + o->int4z + o->bf16 + o->f16 != 1)
        return cli_error(CLI_USAGE, "expected exactly one of --int8, --int4, --int4z, --bf16, --f16");
    int code = cli_client(&c, &client);
    if (code)
        return code;
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = llm_model_open(dir, p, LLM_UNDIVIDED, NULL, rt_client_pool(client), *rt_client_allocator(client), &d,
                                        &model);
    if (status == HILO_OK) {
        status = llm_model_write(&model, dir, o->out, &d);
        if (status == HILO_OK)
            printf("%.1f MB; was %.1f MB\n", (double)model.bytes / 1e6, (double)model.files.bytes / 1e6);
        llm_model_close(&model);
    }
    status = rt_finish(client, &d, status);
    code = status == HILO_OK ? CLI_OK : cli_fail(client, status);
    hilo_client_release(client);
    return code;
}

static int quantize_main(const struct cli_command *self, int argc, char **argv) {
    struct quantize_options o = {.out = NULL};
    struct cli_texts dir;
    int code = cli_options(self, argc, argv, &o, &dir);
    if (code < 0)
        code = quantize(dir.v[0], &o);
    cli_options_free(self, &o, &dir);
    return code;
}

#define AT(field) offsetof(struct quantize_options, field)
static const struct cli_option options[] = {
    {"-o", "OUT", CLI_TEXT, AT(out), "directory for the new model; created if missing"},
    {"--int8", NULL, CLI_FLAG, AT(int8), "8 bits, a scale per row"},
    {"--int4", NULL, CLI_FLAG, AT(int4), "4 bits, a scale per 32 elements of a row"},
    {"--int4z", NULL, CLI_FLAG, AT(int4z), "4 bits, a scale and an offset per 32 elements, as MLX"},
    {"--bf16", NULL, CLI_FLAG, AT(bf16), "16 bits: range of f32, 8 significant bits"},
    {"--f16", NULL, CLI_FLAG, AT(f16), "16 bits: 11 significant bits"},
    {0}
};

const struct cli_command cli_quantize = {
    .name = "quantize", .operands = "MODEL", .least = 1, .most = 1, .options = options, .run = quantize_main,
    .summary = "writes a model with quantised weights",
    .text = "Writes a copy of MODEL with quantised matrices; configuration and tokenizer are copied. `hilo perplexity`\n"
            "measures the loss of accuracy.\n",
    .examples = "  hilo quantize Llama-3.2-1B -o Llama-3.2-1B-int4 --int4\n",
};
