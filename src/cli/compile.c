/* hilo compile: a program as a .hilo file, or what it becomes on the way there. */
#include "cli/cli.h"
#include "compile/code.h"

#include <errno.h>

struct compile_options {
    struct cli_compile compile;
    const char *entry, *out, *emit;
};

/* ---- what can be written --------------------------------------------------------------------- */

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

static hilo_status put_file(const hilo_executable *exe, struct strbuf *out) {
    return hilo_executable_serialize(exe, append, out);
}

static hilo_status put_stablehlo(const hilo_executable *exe, struct strbuf *out) {
    ir_print_module(exe->optimised ? exe->optimised : exe->module->m, &(struct ir_print_options){0}, out);
    return HILO_OK;
}

static hilo_status put_plan(const hilo_executable *exe, struct strbuf *out) {
    plan_print(&exe->plan, out);
    return HILO_OK;
}

struct form {
    const char *name;
    bool binary;
    bool program; /* not of what was loaded from a .hilo file */
    hilo_status (*put)(const hilo_executable *exe, struct strbuf *out); /* of what was compiled; NULL = */
    enum code_form code;                                                /* the kernels, so far */
};
static const struct form forms[] = {{"hilo", true, false, put_file, CODE_KIR},
                                    {"stablehlo", false, true, put_stablehlo, CODE_KIR},
                                    {"plan", false, false, put_plan, CODE_KIR},
                                    {"kir", false, true, NULL, CODE_KIR},
                                    {"llvm", false, true, NULL, CODE_LLVM},
                                    {"asm", false, true, NULL, CODE_ASM},
                                    {"object", true, true, NULL, CODE_OBJECT},
                                    {0}};

static const char *form_name(const void *names, size_t i) {
    (void)names;
    return forms[i].name;
}

static const struct form *find_form(const char *name) {
    const struct form *f = forms;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    return f->name ? f : NULL;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_out(const struct strbuf *bytes, const char *path) {
    FILE *f = path ? fopen(path, "wb") : stdout;
    if (!f)
        return cli_error(CLI_ENVIRONMENT, "%s: %s", path, strerror(errno));
    bool failed = fwrite(bytes->p ? bytes->p : "", 1, bytes->n, f) != bytes->n;
    failed |= (path ? fclose(f) : fflush(f)) != 0;
    return failed ? cli_error(CLI_ENVIRONMENT, "%s: cannot be written", path ? path : "standard output") : CLI_OK;
}

static int put_executable(hilo_client *client, const char *file, const struct compile_options *o, const struct form *f,
                          struct strbuf *out) {
    hilo_executable *exe = NULL;
    int code = cli_compile_program(client, &o->compile, o->entry, file, &exe);
    if (code == CLI_OK && f->program && !exe->module)
        code = cli_error(CLI_USAGE, "%s has no program in it; --emit %s is for programs", file, f->name);
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
        code = bytes.failed ? cli_error(CLI_ENVIRONMENT, "out of memory") : write_out(&bytes, o->out);
    strbuf_free(&bytes);
    hilo_client_release(client);
    return code;
}

static int compile_main(const struct cli_command *self, int argc, char **argv) {
    struct compile_options o = {.compile = CLI_COMPILE_DEFAULTS, .emit = "hilo"};
    o.compile.no_cache = true;
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    const struct form *f = code < 0 ? find_form(o.emit) : NULL;
    if (code < 0 && !f) {
        const char *nearest = cli_nearest(o.emit, form_name, NULL);
        code = cli_error(CLI_USAGE, "there is no form '%s'%s%s%s", o.emit, nearest ? "; did you mean " : "",
                         nearest ? nearest : "", nearest ? "?" : "");
    }
    if (code < 0 && f->binary && !o.out && cli_terminal(stdout))
        code = cli_error(CLI_USAGE, "this is not for a terminal; see: -o OUT");
    if (code < 0)
        code = compile_file(files.v[0], &o, f);
    cli_options_free(self, &o, &files);
    return code;
}

static const struct cli_option options[] = {
    {"-o", "OUT", CLI_TEXT, offsetof(struct compile_options, out), "write to this file; standard output by default"},
    {"--emit", "FORM", CLI_TEXT, offsetof(struct compile_options, emit), "what is written; hilo by default"},
    {"--entry", "NAME", CLI_TEXT, offsetof(struct compile_options, entry),
     "function to compile; main by default, or the only public one"},
    CLI_COMPILE_OPTIONS(struct compile_options, compile),
    {0}
};

const struct cli_command cli_compile = {
    .name = "compile", .operands = "FILE", .least = 1, .most = 1, .options = options, .run = compile_main,
    .summary = "compiles a program to a file",
    .text =
        "Compiles a function of a program and writes it as a file that `hilo run` and hilo_executable_load take,\n"
        "also where there is no compiler. FILE may be - for standard input.\n"
        "\n"
        "Forms:\n"
        "  hilo       machine code, constants and plan, for processors of this kind and this version of hilo\n"
        "  stablehlo  the program behind optimisation\n"
        "  plan       the steps that run and where their buffers lie, as text\n"
        "  kir        the kernels, as loops over buffers (`hilo kir` reads it)\n"
        "  llvm, asm, object\n"
        "             the kernels as text of LLVM, as assembly, as an ELF object file\n"
        "\n"
        "--target-cpu takes names of LLVM's; a wrong one has them listed. A .hilo file for another processor is\n"
        "refused by one that lacks what it needs, which is said.\n",
    .examples = "  hilo compile model.mlir -o model.hilo\n"
                "  hilo run model.hilo --input x.npy\n"
                "  hilo compile model.mlir --emit plan\n"
                "  hilo compile model.mlir --emit asm --target-cpu sapphirerapids\n",
};
