/* hilo convert: a language model from one kind of files to the other. */
#include "cli/model.h"

struct convert_options {
    const char *out, *type;
};

static hilo_status convert(const char *from, const struct convert_options *o, const struct gguf_format *type,
                           hilo_client *client, struct diag_list *d) {
    struct llm_model m;
    hilo_allocator al = *rt_client_allocator(client);
    HILO_TRY(llm_model_open(from, LLM_AS_STORED, LLM_UNDIVIDED, NULL, rt_client_pool(client), al, d, &m));
    hilo_status status = cli_ends_with(o->out, ".gguf") ? llm_model_write_gguf(&m, from, o->out, type, d)
                                                        : llm_model_write(&m, from, o->out, d);
    llm_model_close(&m);
    return status;
}

static int run(const char *from, const struct convert_options *o) {
    struct cli_compile c = CLI_COMPILE_DEFAULTS;
    static const char *const types[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1"};
    const struct gguf_format *type = NULL;
    struct diag_list d;
    hilo_client *client;
    if (!o->out)
        return cli_error(CLI_USAGE, "missing -o OUT: a directory, or FILE.gguf");
    if (o->type && !cli_ends_with(o->out, ".gguf"))
        return cli_error(CLI_USAGE, "--type is for GGUF files; hilo quantize writes directories with other precisions");
    for (size_t i = 0; i < sizeof types / sizeof *types && o->type; i++)
        if (strcmp(types[i], o->type) == 0)
            type = gguf_format_named(types[i]);
    if (o->type && !type)
        return cli_error(CLI_USAGE, "--type %s: expected f32, f16, bf16, q8_0, q4_0 or q4_1", o->type);
    int code = cli_client(&c, &client);
    if (code)
        return code;
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = rt_finish(client, &d, convert(from, o, type, client, &d));
    code = status == HILO_OK ? CLI_OK : cli_fail(client, status);
    hilo_client_release(client);
    return code;
}

static int convert_main(const struct cli_command *self, int argc, char **argv) {
    struct convert_options o = {.out = NULL};
    struct cli_texts from;
    int code = cli_options(self, argc, argv, &o, &from);
    if (code < 0)
        code = run(from.v[0], &o);
    cli_options_free(self, &o, &from);
    return code;
}

static const struct cli_option options[] = {
    {"-o", "OUT", CLI_TEXT, offsetof(struct convert_options, out), "FILE.gguf, or a directory that is created if missing"},
    {"--type", "T", CLI_TEXT, offsetof(struct convert_options, type),
     "format of the matrices of a GGUF file: f32, f16, bf16,\nq8_0, q4_0 or q4_1; default: as they are"},
    {0}
};

const struct cli_command cli_convert = {
    .name = "convert", .operands = "MODEL", .least = 1, .most = 1, .options = options, .run = convert_main,
    .summary = "converts a language model between safetensors and GGUF",
    .text = "Writes MODEL, a directory in the Hugging Face layout or a GGUF file, as the other: weights, configuration,\n"
            "tokenizer and chat template. Without --type no weight is rounded; what a format cannot hold is refused.\n",
    .examples = "  hilo convert Llama-3.2-1B -o Llama-3.2-1B-q8.gguf --type q8_0\n"
                "  hilo convert Llama-3.2-1B-Q4_K_M.gguf -o Llama-3.2-1B-q4\n",
};
