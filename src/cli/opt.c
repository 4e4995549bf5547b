/* hilo opt: reads, verifies, optimises, prints. */
#include "cli/cli.h"
#include "opt/opt.h"

struct cli_opt_options {
    bool generic, locations;
    int64_t elide;
    int32_t level;
    const char *passes, *stop_after, *dump;
    bool stats, list, markdown;
};
#define AT(field) offsetof(struct cli_opt_options, field)

static const struct cli_option options[] = {
    {"-O", "0..3", CLI_LEVEL, AT(level), "run the passes of this level; 0 by default, none"},
    {"--passes", "A,B,…", CLI_TEXT, AT(passes), "run these passes instead, in this order"},
    {"--stop-after", "PASS", CLI_TEXT, AT(stop_after), "the first pass of this name is the last"},
    {"--dump", "after:PASS", CLI_TEXT, AT(dump),
     "print the program to standard error behind every such\npass; all = behind every pass"},
    {"--stats", NULL, CLI_FLAG, AT(stats), "what each pass did, to standard error"},
    {"--list-passes", NULL, CLI_FLAG, AT(list), "list the passes; with --markdown, as docs/PASSES.md"},
    {"--markdown", NULL, CLI_FLAG, AT(markdown), "see --list-passes"},
    {"--generic", NULL, CLI_FLAG, AT(generic),
     "every operation as \"dialect.op\"(…) : type"},
    {"--locations", NULL, CLI_FLAG, AT(locations), "with loc(…) behind operations"},
    {"--elide", "N", CLI_NUMBER, AT(elide),
     "leave out the data of constants with more than N elements;\nwhat is printed then cannot be run"},
    {0}
};

static void to_stdout(void *user, const char *text, size_t n) {
    (void)user;
    fwrite(text, 1, n, stdout);
}

/* ---- the list of passes ---------------------------------------------------------------------- */

static void print_steps(void) {
    const struct opt_pass *p;
    for (size_t k = 0; (p = opt_step(k)); k++)
        printf("%s%s (-O%d)", k ? ", " : "", p->name, p->level);
    printf("\n");
}

static void list_passes(bool markdown) {
    if (markdown)
        printf("# Passes\n\n"
               "What `hilo opt --list-passes --markdown` prints from `src/opt/passes.def`. A pass takes a module that\n"
               "verifies and leaves one that verifies and evaluates to the same values; `hilo opt FILE --passes=A,B` runs\n"
               "any list.\n\n"
               "| pass | from | does |\n|---|---|---|\n");
    for (int i = 0; i < OPT_PASS_COUNT; i++) {
        const struct opt_pass *p = opt_pass_get((enum opt_pass_id)i);
        printf(markdown ? "| `%s` | -O%d | %s |\n" : "%-14s -O%d  %s\n", p->name, p->level, p->text);
    }
    printf(markdown ? "\nThe pipeline, in order: " : "\nin order: ");
    print_steps();
}

/* ---- running passes -------------------------------------------------------------------------- */

static void print_stats(const struct opt *o) {
    fprintf(stderr, "%-14s %9s %9s %9s %9s\n", "pass", "ops", "then", "changes", "us");
    for (uint32_t i = 0; i < o->rows.n; i++) {
        const struct opt_row *r = &o->rows.v[i];
        fprintf(stderr, "%-14s %9u %9u %9u %9.0f\n", r->pass->name, r->before, r->after, r->changes, r->us);
    }
}

static void dump(void *user, const struct ir_module *m, const char *pass) {
    const struct cli_opt_options *o = user;
    struct ir_print_options p = {.generic = o->generic, .locations = o->locations, .elide_elements = (size_t)o->elide};
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    ir_print_module(m, &p, &text);
    fprintf(stderr, "// after %s\n%s", pass, text.p ? text.p : "");
    strbuf_free(&text);
}

static hilo_status optimise(hilo_client *client, hilo_module *module, struct cli_opt_options *with) {
    struct diag_list d;
    struct opt o;
    diag_init(&d, client->al);
    opt_init(&o, module->m, &d);
    o.options.level = with->level;
    o.options.passes = with->passes;
    o.options.stop_after = with->stop_after;
    o.options.verify = true;
    o.options.dump = dump;
    o.options.dump_user = with;
    o.options.dump_after = with->dump;
    if (with->dump && strncmp(with->dump, "after:", 6) == 0)
        o.options.dump_after += 6;
    hilo_status status = opt_run(&o);
    if (with->stats)
        print_stats(&o);
    opt_free(&o);
    return rt_finish(client, &d, status);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print(hilo_client *client, const hilo_module *module, const struct cli_opt_options *o) {
    hilo_print_options p;
    hilo_print_options_init(&p);
    p.generic = o->generic;
    p.locations = o->locations;
    p.elide_elements = (uint64_t)o->elide;
    hilo_status status = hilo_module_print(module, &p, to_stdout, NULL);
    if (status != HILO_OK)
        return cli_fail(client, status);
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_error(CLI_ENVIRONMENT, "cannot write to standard output");
    return CLI_OK;
}

static int run(const char *path, struct cli_opt_options *o) {
    struct cli_compile defaults = CLI_COMPILE_DEFAULTS;
    hilo_client *client;
    hilo_module *module;
    int code = cli_client(&defaults, &client);
    if (code)
        return code;
    code = cli_load(client, path, &module);
    if (code == CLI_OK) {
        hilo_status status = optimise(client, module, o);
        code = status == HILO_OK ? print(client, module, o) : cli_fail(client, status);
        hilo_module_release(module);
    }
    hilo_client_release(client);
    return code;
}

static int opt_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_opt_options o = {0};
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && o.list)
        list_passes(o.markdown);
    if (code < 0 && !o.list && files.n == 0)
        code = cli_error(CLI_USAGE, "usage: hilo opt FILE; see: hilo opt --help");
    if (code < 0)
        code = o.list ? CLI_OK : run(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

const struct cli_command cli_opt = {
    .name = "opt", .operands = "FILE", .most = 1, .options = options, .run = opt_main,
    .summary = "verifies a program, optimises it, prints it",
    .text = "Reads a program, verifies it against the specification, runs the passes that are asked for, and\n"
            "prints it. FILE may be - for standard input. What is printed reads back as the same program.\n",
    .examples = "  hilo opt model.mlir                 # is it valid?\n"
                "  hilo opt --elide 16 model.mlir      # without its weights, to look at\n"
                "  hilo opt -O2 --stats model.mlir     # as it is compiled, and which pass did what\n"
                "  hilo opt --passes=inline,cse model.mlir\n"
                "  hilo opt --generic model.mlir       # in the form that every MLIR tool reads\n",
};
