/* hilo opt: reads, verifies, prints. */
#include "cli/cli.h"

struct opt_options {
    bool generic, locations;
    int64_t elide;
};

static const struct cli_option options[] = {
    {"--generic", NULL, CLI_FLAG, offsetof(struct opt_options, generic),
     "every operation as \"dialect.op\"(…) : type"},
    {"--locations", NULL, CLI_FLAG, offsetof(struct opt_options, locations), "with loc(…) behind operations"},
    {"--elide", "N", CLI_NUMBER, offsetof(struct opt_options, elide),
     "leave out the data of constants with more than N elements;\nwhat is printed then cannot be run"},
    {0}
};

static void to_stdout(void *user, const char *text, size_t n) {
    (void)user;
    fwrite(text, 1, n, stdout);
}

static int print(const char *path, const struct opt_options *o) {
    struct cli_compile defaults = CLI_COMPILE_DEFAULTS;
    hilo_client *client;
    hilo_module *module;
    int code = cli_client(&defaults, &client);
    if (code)
        return code;
    code = cli_load(client, path, &module);
    if (code == CLI_OK) {
        hilo_print_options p;
        hilo_print_options_init(&p);
        p.generic = o->generic;
        p.locations = o->locations;
        p.elide_elements = (uint64_t)o->elide;
        hilo_status status = hilo_module_print(module, &p, to_stdout, NULL);
        if (status != HILO_OK)
            code = cli_fail(client, status);
        else if (fflush(stdout) != 0 || ferror(stdout))
            code = cli_error(CLI_ENVIRONMENT, "cannot write to standard output");
        hilo_module_release(module);
    }
    hilo_client_release(client);
    return code;
}

static int opt_main(const struct cli_command *self, int argc, char **argv) {
    struct opt_options o = {0};
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0)
        code = print(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

const struct cli_command cli_opt = {
    .name = "opt", .operands = "FILE", .least = 1, .most = 1, .options = options, .run = opt_main,
    .summary = "verifies a program and prints it",
    .text = "Reads a program, verifies it against the specification, and prints it. FILE may be - for\n"
            "standard input. What is printed reads back as the same program.\n",
    .examples = "  hilo opt model.mlir                 # is it valid?\n"
                "  hilo opt --elide 16 model.mlir      # without its weights, to look at\n"
                "  hilo opt --generic model.mlir       # in the form that every MLIR tool reads\n",
};
