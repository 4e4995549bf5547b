/* hilo opt: reads, verifies, optimises, prints. */
#include "cli/cli.h"
#include "opt/opt.h"

struct cli_opt_options {
    bool generic, locations;
    int64_t elide;
    int32_t level;
    const char *passes, *stop_after, *dump;
    const char *floats;
    struct cli_texts disabled;
    int64_t rule_limit;
    bool stats, list, markdown;
    const char *emit, *target, *output;
};
#define AT(field) offsetof(struct cli_opt_options, field)

static const struct cli_option options[] = {
    {"-O", "0..3", CLI_LEVEL, AT(level), "run the passes of this level; 0 by default, none"},
    {"--passes", "A,B,…", CLI_TEXT, AT(passes), "run these passes instead, in this order"},
    {"--stop-after", "PASS", CLI_TEXT, AT(stop_after), "the first pass of this name is the last"},
    {"--dump", "after:PASS", CLI_TEXT, AT(dump),
     "print the program to standard error behind every such\npass; all = behind every pass"},
    {"--disable-rule", "RULE", CLI_TEXTS, AT(disabled), "a rewrite rule not to apply; may be given several times"},
    {"--rule-limit", "N", CLI_NUMBER, AT(rule_limit), "apply rules N times at most, to find the one that is wrong"},
    {"--floats", "CLASS", CLI_TEXT, AT(floats),
     "what rules may assume of floats: exact (the default), nothing;\n"
     "no-nan, no NaN, infinity or negative zero; reassoc, any rounding"},
    {"--stats", NULL, CLI_FLAG, AT(stats), "what each pass did, to standard error"},
    {"--list-passes", NULL, CLI_FLAG, AT(list), "list passes and rules; with --markdown, as docs/PASSES.md"},
    {"--markdown", NULL, CLI_FLAG, AT(markdown), "see --list-passes"},
    {"--emit", "FORM", CLI_TEXT, AT(emit),
     "text; bytecode, a portable artifact, as JAX exports them;\nor hlo, HLO text, as XLA reads it"},
    {"--target-version", "V", CLI_TEXT, AT(target),
     "the oldest StableHLO that is to read the bytecode, such as 1.9.0;\nthe newest by default"},
    {"-o", "FILE", CLI_TEXT, AT(output), "where bytecode or HLO text goes, instead of standard output"},
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

static const char *const classes[] = {[OPT_EXACT] = "exact", [OPT_NO_NAN] = "no-nan", [OPT_REASSOC] = "reassoc"};

static void print_steps(void) {
    const struct opt_pass *p;
    for (size_t k = 0; (p = opt_step(k)); k++)
        printf("%s%s (-O%d)", k ? ", " : "", p->name, p->level);
    printf("\n");
}

static void list_rules(bool markdown) {
    const struct opt_rule_info *rule;
    for (size_t i = 0; (rule = opt_rule_get(i)); i++)
        printf(markdown ? "| `%s` | %s | %s | `%s` |\n" : "%-24s %-14s %-8s %s\n", rule->name,
               opt_pass_get(rule->pass)->name, classes[rule->floats], rule->text);
}

static void list_passes(bool markdown) {
    if (markdown)
        printf("# Passes\n\n"
               "What `hilo opt --list-passes --markdown` prints from `src/opt/passes.def` and `src/opt/rules.def`. A pass\n"
               "takes a module that verifies and leaves one that verifies and evaluates to the same values;\n"
               "`hilo opt FILE --passes=A,B` runs any list. How to write one: [ADD_A_PASS.md](ADD_A_PASS.md).\n\n"
               "| pass | from | does |\n|---|---|---|\n");
    for (int i = 0; i < OPT_PASS_COUNT; i++) {
        const struct opt_pass *p = opt_pass_get((enum opt_pass_id)i);
        if (p->level > OPT_LEVEL_MOST)
            printf(markdown ? "| `%s` | | %s |\n" : "%-14s      %s\n", p->name, p->text);
        else
            printf(markdown ? "| `%s` | -O%d | %s |\n" : "%-14s -O%d  %s\n", p->name, p->level, p->text);
    }
    printf(markdown ? "\nThe pipeline, in order: " : "\nin order: ");
    print_steps();
    printf(markdown ? "\n## Rules\n\nThe class says what a rule assumes of floats: `exact` nothing; `no-nan` that no NaN, "
                      "infinity or negative zero\noccurs; `reassoc` also that rounding may differ. "
                      "Compiling applies the exact ones.\n\n"
                      "| rule | of | class | algebra |\n|---|---|---|---|\n"
                    : "\n");
    list_rules(markdown);
}

/* ---- running passes -------------------------------------------------------------------------- */

static void print_stats(const struct opt *o) {
    fprintf(stderr, "%-14s %9s %9s %9s %9s\n", "pass", "ops", "then", "changes", "us");
    for (uint32_t i = 0; i < o->rows.n; i++) {
        const struct opt_row *r = &o->rows.v[i];
        fprintf(stderr, "%-14s %9u %9u %9u %9.0f\n", r->pass->name, r->before, r->after, r->changes, r->us);
    }
    for (size_t i = 0; i < OPT_RULE_COUNT; i++)
        if (o->hits[i])
            fprintf(stderr, "%-24s %9u\n", opt_rule_get(i)->name, o->hits[i]);
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

/* False when there is no such class. */
static bool floats_named(const char *name, enum opt_float *out) {
    for (size_t i = 0; name && i < sizeof classes / sizeof *classes; i++)
        if (strcmp(name, classes[i]) == 0)
            *out = (enum opt_float)i;
    return !name || strcmp(name, classes[*out]) == 0;
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
    o.options.disabled = with->disabled.v;
    o.options.ndisabled = with->disabled.n;
    if (with->rule_limit >= 0)
        o.options.rule_limit = (uint64_t)with->rule_limit;
    floats_named(with->floats, &o.options.floats);
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
    if (o->emit && strcmp(o->emit, "bytecode") == 0)
        return cli_emit_bytecode(client, module, o->target, o->output);
    if (o->emit && strcmp(o->emit, "hlo") == 0)
        return cli_emit_hlo(client, module, o->output);
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
    struct cli_opt_options o = {.rule_limit = -1};
    enum opt_float floats = OPT_EXACT;
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && o.list)
        list_passes(o.markdown);
    if (code < 0 && !o.list && files.n == 0)
        code = cli_error(CLI_USAGE, "usage: hilo opt FILE; see: hilo opt --help");
    if (code < 0 && !floats_named(o.floats, &floats))
        code = cli_error(CLI_USAGE, "wrong value '%s' for --floats; see: hilo opt --help", o.floats);
    if (code < 0 && o.emit && strcmp(o.emit, "text") != 0 && strcmp(o.emit, "bytecode") != 0 && strcmp(o.emit, "hlo") != 0)
        code = cli_error(CLI_USAGE, "wrong value '%s' for --emit; see: hilo opt --help", o.emit);
    if (code < 0)
        code = o.list ? CLI_OK : run(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

const struct cli_command cli_opt = {
    .name = "opt", .operands = "FILE", .most = 1, .options = options, .run = opt_main,
    .summary = "verifies a program, optimises it, prints it",
    .text = "Reads a program, verifies it against the specification, runs the passes that are asked for, and\n"
            "prints it. FILE is StableHLO, as text or bytecode, or HLO text; - is standard input. What is printed reads\n"
            "back as the same program.\n",
    .examples = "  hilo opt model.mlir                 # is it valid?\n"
                "  hilo opt --elide 16 model.mlir      # without its weights, to look at\n"
                "  hilo opt -O2 --stats model.mlir     # as it is compiled, and which pass did what\n"
                "  hilo opt --passes=inline,cse model.mlir\n"
                "  hilo opt --generic model.mlir       # in the form that every MLIR tool reads\n"
                "  hilo opt --emit=bytecode --target-version=1.9.0 -o model.bc model.mlir\n"
                "  hilo opt --emit=hlo -o model.hlo model.mlir\n",
};
