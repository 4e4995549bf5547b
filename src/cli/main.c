/* hilo: finds the subcommand and hands over. */
#include "cli/cli.h"

static const struct cli_command *const commands[] = {
    &cli_run, &cli_compile, &cli_explain, &cli_check, &cli_bench, &cli_opt, &cli_ops, &cli_devices, &cli_kir, &cli_cache,
    &cli_calibrate, &cli_generate, &cli_tokenize, &cli_perplexity, &cli_emit, &cli_quantize, NULL};

static const char *command_name(const void *names, size_t i) {
    const struct cli_command *const *c = names;
    return c[i] ? c[i]->name : NULL;
}

static const struct cli_command *find_command(const char *name) {
    for (const struct cli_command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *nearest = cli_nearest(name, command_name, commands);
    return cli_error(CLI_USAGE, "unknown command '%s'%s%s%s; see: hilo help", name, nearest ? "; did you mean " : "",
                     nearest ? nearest : "", nearest ? "?" : "");
}

static int general_help(FILE *out, int code) {
    fputs("hilo reads, checks and runs StableHLO programs.\n\nusage: hilo COMMAND …\n\n", out);
    for (const struct cli_command *const *c = commands; *c; c++)
        fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fputs("  help       says more about a command: hilo help run\n"
          "\n"
          "  hilo --version prints the version.\n"
          "\n"
          "exit codes:\n"
          "  0  done\n"
          "  1  the program is wrong, its run failed, or a check did\n"
          "  2  the command line is wrong, or the inputs do not fit the program\n"
          "  3  a file cannot be read or written, or memory is exhausted\n"
          "  130  interrupted\n", out);
    return code;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return general_help(stderr, CLI_USAGE);
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        printf("hilo %s\n", hilo_version());
        return CLI_OK;
    }
    bool help = strcmp(word, "help") == 0;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2))
        return general_help(stdout, CLI_OK);
    const struct cli_command *c = find_command(help ? argv[2] : word);
    if (!c)
        return unknown_command(help ? argv[2] : word);
    if (help) {
        cli_help(c, stdout);
        return CLI_OK;
    }
    return c->run(c, argc - 2, argv + 2);
}
