/* hilo compile: a program as a .hilo file, or what it becomes on the way there. */
#include "cli/cli.h"
#include "compile/code.h"

struct compile_options {
    struct cli_compile compile;
    const char *entry, *out;
    int form; /* enum cli_compile_form */
    bool runtime_only;
};

/* ---- forms ----------------------------------------------------------------------------------- */

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

static hilo_status put_file(const hilo_executable *exe, struct strbuf *out) {
    return hilo_executable_serialize(exe, append, out);
}

static hilo_status put_stablehlo(const hilo_executable *exe, struct strbuf *out) {
    ir_print_module(rt_executable_program(exe), &(struct ir_print_options){0}, out);
    return HILO_OK;
}

static hilo_status put_plan(const hilo_executable *exe, struct strbuf *out) {
    plan_print(rt_executable_plan(exe), out);
    return HILO_OK;
}

static const struct form {
    bool binary;
    bool program; /* needs the program: not for what was loaded from a .hilo file */
    hilo_status (*put)(const hilo_executable *exe, struct strbuf *out); /* NULL: the kernels, in the form `code` */
    enum code_form code;
} forms[] = {[CLI_EMIT_HILO] = {true, false, put_file, CODE_KIR},
             [CLI_EMIT_STABLEHLO] = {false, true, put_stablehlo, CODE_KIR},
             [CLI_EMIT_PLAN] = {false, false, put_plan, CODE_KIR},
             [CLI_EMIT_KIR] = {false, true, NULL, CODE_KIR},
             [CLI_EMIT_LLVM] = {false, true, NULL, CODE_LLVM},
             [CLI_EMIT_ASM] = {false, true, NULL, CODE_ASM},
             [CLI_EMIT_OBJECT] = {true, true, NULL, CODE_OBJECT}};

/* ---- the command ----------------------------------------------------------------------------- */

/* libhilo-runtime has no reader for the program that the reference evaluator needs: a warning, or an error for
   --runtime-only. */
static int check_runtime(const hilo_executable *exe, const struct compile_options *o) {
    const struct plan *p = rt_executable_plan(exe);
    bool evaluated = p->evaluated;
    for (uint32_t i = 0; i < p->nsteps; i++)
        evaluated |= p->steps[i].kind == PLAN_REFERENCE;
    if (!evaluated || o->form != CLI_EMIT_HILO)
        return CLI_OK;
    cli_error(CLI_OK, "%slibhilo-runtime cannot load the executable: it has steps for the reference evaluator%s",
              o->runtime_only ? "" : "warning: ", p->evaluated ? " (dynamic shapes, or no LLVM)" : "");
    return o->runtime_only ? CLI_FAILED : CLI_OK;
}

static int put_executable(hilo_client *client, const char *file, const struct compile_options *o, const struct form *f,
                          struct strbuf *out) {
    hilo_executable *exe = NULL;
    int code = cli_compile_program(client, &o->compile, o->entry, file, &exe);
    if (code == CLI_OK && f->program && !rt_executable_module(exe))
        code = cli_error(CLI_USAGE, "--emit %s: %s holds compiled code, not a program",
                         cli_choice(CLI_COMPILE_FORM, (size_t)o->form).name, file);
    if (code == CLI_OK)
        code = check_runtime(exe, o);
    if (code == CLI_OK) {
        hilo_status status = f->put(exe, out);
        code = status == HILO_OK ? CLI_OK : cli_fail(client, status);
    }
    hilo_executable_release(exe);
    return code;
}

static int put_kernels(hilo_client *client, const char *file, const struct compile_options *o, const struct form *f,
                       struct strbuf *out) {
    hilo_module *module = NULL;
    hilo_compile_options c;
    cli_compile_options(&o->compile, o->entry, &c);
    int code = cli_load(client, file, &module);
    if (code == CLI_OK) {
        hilo_status status = compile_text(client, module, &c, f->code, out);
        code = status == HILO_OK ? CLI_OK : cli_fail(client, status);
        code = status == HILO_NOT_FOUND ? CLI_USAGE : code;
    }
    hilo_module_release(module);
    return code;
}

static int compile_file(const char *file, const struct compile_options *o, const struct form *f) {
    hilo_client *client = NULL;
    struct strbuf bytes;
    strbuf_init(&bytes, mem_system_allocator());
    int code = cli_client(&o->compile, &client);
    if (code == CLI_OK)
        code = (f->put ? put_executable : put_kernels)(client, file, o, f, &bytes);
    if (code == CLI_OK)
        code = cli_write(o->out, &bytes);
    strbuf_free(&bytes);
    hilo_client_release(client);
    return code;
}

static int compile_main(const struct cli_command *self, int argc, char **argv) {
    struct compile_options o = {.compile = CLI_COMPILE_DEFAULTS, .form = CLI_EMIT_HILO};
    o.compile.no_cache = true;
    o.compile.tier = HILO_TIER_OPTIMISED;
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && forms[o.form].binary && !o.out && cli_terminal(stdout))
        code = cli_error(CLI_USAGE, "refusing to write binary output to a terminal; see: -o OUT");
    if (code < 0)
        code = compile_file(files.v[0], &o, &forms[o.form]);
    cli_options_free(self, &o, &files);
    return code;
}

static const struct cli_option options[] = {
    {"-o", "OUT", CLI_TEXT, offsetof(struct compile_options, out), "output file; default: standard output"},
    {"--emit", "FORM", CLI_COMPILE_FORM, offsetof(struct compile_options, form), "what to write; default hilo:"},
    {"--entry", "NAME", CLI_TEXT, offsetof(struct compile_options, entry),
     "function to compile; default: main, or the only public one"},
    {"--runtime-only", NULL, CLI_FLAG, offsetof(struct compile_options, runtime_only),
     "fail if libhilo-runtime could not run the result"},
    CLI_COMPILE_OPTIONS(struct compile_options, compile),
    CLI_TIER_OPTION(struct compile_options, compile, "optimised"),
    {0}
};

const struct cli_command cli_compile = {
    .name = "compile", .operands = "FILE", .least = 1, .most = 1, .options = options, .run = compile_main,
    .summary = "compiles a program to a file",
    .text =
        "Compiles a function of a program and writes an executable, which `hilo run`, hilo_executable_load and\n"
        "libhilo-runtime load without a compiler; or another form of the program. An executable is tied to a version\n"
        "of hilo and to the processor features that it uses; elsewhere it is refused with the reason.\n"
        "\n"
        "libhilo-runtime cannot load an executable with steps for the reference evaluator, such as that of a program\n"
        "with dynamic shapes, or one that was compiled without LLVM: this is a warning, with --runtime-only an error.\n",
    .examples = "  hilo compile examples/mlp.mlir -o mlp.hilo\n"
                "  hilo run mlp.hilo --input random:1\n"
                "  hilo compile examples/mlp.mlir --emit plan\n"
                "  hilo compile examples/mlp.mlir --emit asm --target-cpu sapphirerapids\n",
};
