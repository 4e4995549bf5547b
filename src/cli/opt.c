/* hilo opt: reads, verifies, optimises, prints. */
#include "cli/cli.h"
#include "kir/kir.h"
#include "opt/opt.h"

struct cli_opt_options {
    bool generic, locations;
    int64_t elide;
    int32_t level;
    const char *passes, *stop_after, *dump;
    int floats; /* enum opt_float */
    struct cli_texts disabled;
    int64_t rule_limit;
    bool stats, list, markdown, partition;
    int form; /* enum cli_opt_form */
    const char *target, *output;
};
#define AT(field) offsetof(struct cli_opt_options, field)

static const struct cli_option options[] = {
    {"-O", "0..3", CLI_LEVEL, AT(level), "run the passes of this level; default: none"},
    {"--passes", "LIST", CLI_PASSES, AT(passes), "run these passes instead, separated by commas, in this order"},
    {"--partition", NULL, CLI_FLAG, AT(partition),
     "first make it the program of one partition, with\ncollectives, by its shardings"},
    {"--stop-after", "PASS", CLI_PASS, AT(stop_after), "stop after the first run of this pass"},
    {"--dump", "after:PASS", CLI_TEXT, AT(dump),
     "print the program to standard error after each run of\nthis pass; after:all: after every pass"},
    {"--disable-rule", "RULE", CLI_RULES, AT(disabled), "do not apply this rewrite rule; repeatable"},
    {"--rule-limit", "N", CLI_NUMBER, AT(rule_limit), "apply at most N rewrites: bisects to a wrong rule"},
    {"--floats", "CLASS", CLI_FLOATS, AT(floats), "what rules may assume of floats; default exact:"},
    {"--stats", NULL, CLI_FLAG, AT(stats), "print what each pass changed to standard error"},
    {"--list-passes", NULL, CLI_FLAG, AT(list), "list passes and rewrite rules"},
    {"--markdown", NULL, CLI_FLAG, AT(markdown), "--list-passes as Markdown: docs/PASSES.md"},
    {"--emit", "FORM", CLI_OPT_FORM, AT(form), "what to write; default text:"},
    {"--target-version", "V", CLI_TEXT, AT(target),
     "version of StableHLO for --emit bytecode, such as\n1.9.0; default: the newest"},
    {"-o", "FILE", CLI_TEXT, AT(output), "output file; default: standard output"},
    {"--generic", NULL, CLI_FLAG, AT(generic),
     "print operations in the generic form"},
    {"--locations", NULL, CLI_FLAG, AT(locations), "print loc(…) after operations"},
    {"--elide", "N", CLI_NUMBER, AT(elide),
     "omit the data of constants with more than N elements;\nthe output cannot be read back"},
    {0}
};

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

/* ---- the list of passes ---------------------------------------------------------------------- */

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
               opt_pass_get(rule->pass)->name, cli_choice(CLI_FLOATS, rule->floats).name, rule->text);
}

static void list_kir_passes(bool markdown) {
    const struct kir_pass *p;
    printf(markdown ? "\n## Passes over kernels\n\nFrom `src/kir/passes.def`. A pass takes a kernel that "
                      "verifies and leaves one that verifies and computes the same\nbits; `hilo kir FILE --passes=A,B --dump` "
                      "runs any list and prints the "
                      "kernel after each.\n\n| pass | does |\n|---|---|\n"
                    : "\nover kernels (hilo kir --passes):\n");
    for (size_t i = 0; (p = kir_pass_get(i)); i++)
        printf(markdown ? "| `%s` | %s |\n" : "%-14s %s\n", p->name, p->text);
    printf(markdown ? "\nThe pipeline, between lowering and code generation: " : "in order: ");
    for (size_t i = 0; (p = kir_pass_step(i)); i++)
        printf("%s%s", i ? ", " : "", p->name);
    printf("\n");
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
    list_kir_passes(markdown);
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

static void dump(void *user, const struct ir_module *m, const char *pass, bool changed) {
    (void)changed;
    const struct cli_opt_options *o = user;
    struct ir_print_options p = {.generic = o->generic, .locations = o->locations, .elide_elements = (size_t)o->elide};
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    ir_print_module(m, &p, &text);
    fprintf(stderr, "// after %s\n%s", pass, text.p ? text.p : "");
    strbuf_free(&text);
}

/* The pass of "after:PASS", or "all"; NULL when there is none of that name. */
static const char *dump_pass(const char *text) {
    const char *name = strncmp(text, "after:", 6) == 0 ? text + 6 : text;
    bool known = strcmp(name, "all") == 0;
    for (int i = 0; i < OPT_PASS_COUNT && !known; i++)
        known = strcmp(name, opt_pass_get((enum opt_pass_id)i)->name) == 0;
    return known ? name : NULL;
}

static hilo_status optimise(hilo_client *client, hilo_module *module, struct cli_opt_options *with) {
    struct diag_list d;
    struct opt o;
    diag_init(&d, *rt_client_allocator(client));
    opt_init(&o, rt_module_ir(module), &d);
    o.options.level = with->level;
    o.options.passes = with->passes;
    o.options.stop_after = with->stop_after;
    o.options.verify = true;
    o.options.disabled = with->disabled.v;
    o.options.ndisabled = with->disabled.n;
    if (with->rule_limit >= 0)
        o.options.rule_limit = (uint64_t)with->rule_limit;
    o.options.floats = (enum opt_float)with->floats;
    o.options.dump = dump;
    o.options.dump_user = with;
    o.options.dump_after = with->dump ? dump_pass(with->dump) : NULL;
    hilo_status status = opt_run(&o);
    if (with->stats)
        print_stats(&o);
    opt_free(&o);
    return rt_finish(client, &d, status);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print(hilo_client *client, const hilo_module *module, const struct cli_opt_options *o) {
    hilo_print_options p;
    if (o->form == CLI_OPT_BYTECODE)
        return cli_emit_bytecode(client, module, o->target, o->output);
    if (o->form == CLI_OPT_HLO)
        return cli_emit_hlo(client, module, o->level, o->output);
    struct strbuf text;
    hilo_print_options_init(&p);
    p.generic = o->generic;
    p.locations = o->locations;
    p.elide_elements = (uint64_t)o->elide;
    strbuf_init(&text, mem_system_allocator());
    hilo_status status = hilo_module_print(module, &p, append, &text);
    int code = status == HILO_OK ? cli_write(o->output, &text) : cli_fail(client, status);
    strbuf_free(&text);
    return code;
}

static int run(const char *path, struct cli_opt_options *o) {
    struct cli_compile defaults = CLI_COMPILE_DEFAULTS;
    hilo_client *client;
    hilo_module *module = NULL;
    int code = cli_client(&defaults, &client);
    if (code)
        return code;
    code = cli_load(client, path, &module);
    if (code == CLI_OK && o->partition)
        code = cli_partition(client, module, NULL, 0);
    if (code == CLI_OK) {
        hilo_status status = optimise(client, module, o);
        code = status == HILO_OK ? print(client, module, o) : cli_fail(client, status);
    }
    hilo_module_release(module);
    hilo_client_release(client);
    return code;
}

static int opt_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_opt_options o = {.rule_limit = -1, .level = -1};
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && o.list)
        list_passes(o.markdown);
    if (code < 0 && !o.list && files.n == 0)
        code = cli_error(CLI_USAGE, "usage: hilo opt FILE; see: hilo opt --help");
    if (code < 0 && o.dump && !dump_pass(o.dump))
        code = cli_error(CLI_USAGE, "--dump %s: expected after:PASS or after:all; see: hilo opt --list-passes", o.dump);
    if (code < 0)
        code = o.list ? CLI_OK : run(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

const struct cli_command cli_opt = {
    .name = "opt", .operands = "FILE", .most = 1, .options = options, .run = opt_main,
    .summary = "optimises and prints a program",
    .text = "Reads a program, verifies it, runs passes, and prints the result, which reads back as the same program. FILE is\n"
            "StableHLO as text or bytecode, or HLO text; - is standard input.\n",
    .examples = "  hilo opt --elide 16 examples/mlp.mlir      # without weights\n"
                "  hilo opt -O2 --stats examples/mlp.mlir     # as it is compiled, and what each pass changed\n"
                "  hilo opt --passes=inline,cse examples/mlp.mlir\n"
                "  hilo opt --partition examples/sharded.mlir # by its shardings\n"
                "  hilo opt --generic examples/mlp.mlir       # for other MLIR tools\n"
                "  hilo opt --emit=bytecode --target-version=1.9.0 -o mlp.bc examples/mlp.mlir\n"
                "  hilo opt --emit=hlo -o mlp.hlo examples/mlp.mlir\n",
};
