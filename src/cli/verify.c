/* hilo verify: whether programs are valid. */
#include "cli/cli.h"

static int verify_file(hilo_client *client, const char *file) {
    hilo_module *module = NULL;
    hilo_executable *exe = NULL;
    if (!cli_ends_with(file, ".hilo")) {
        int code = cli_load(client, file, &module);
        hilo_module_release(module);
        return code;
    }
    hilo_status status = hilo_executable_load(client, file, &exe);
    hilo_executable_release(exe);
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

static int verify_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_compile one = CLI_COMPILE_DEFAULTS;
    struct cli_texts files;
    hilo_client *client = NULL;
    one.threads = 1;
    int worst = cli_options(self, argc, argv, &one, &files);
    if (worst < 0)
        worst = cli_client(&one, &client);
    for (size_t i = 0; client && i < files.n; i++) {
        int code = verify_file(client, files.v[i]);
        hilo_diagnostics_clear(client);
        worst = code > worst ? code : worst;
    }
    hilo_client_release(client);
    cli_options_free(self, &one, &files);
    return worst;
}

static const struct cli_option options[] = {{0}};

const struct cli_command cli_verify = {
    .name = "verify", .operands = "FILE…", .least = 1, .most = SIZE_MAX, .options = options, .run = verify_main,
    .summary = "checks that programs are valid",
    .text = "Reads programs and verifies them against the specification. Prints nothing when all are valid, else the errors,\n"
            "with file, line and column. Executables (.hilo) are checked for damage and for fitting this machine.\n",
    .examples = "  hilo verify examples/add.mlir\n"
                "  hilo verify examples/*.mlir && echo valid\n",
};
