/* hilo compile: a program as a .hilo file, or what it becomes on the way there. */
#include "cli/cli.h"

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
    hilo_status (*put)(const hilo_executable *exe, struct strbuf *out);
};
static const struct form forms[] = {
    {"hilo", true, false, put_file}, {"stablehlo", false, true, put_stablehlo}, {"plan", false, false, put_plan}, {0}
};

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

static int emit(hilo_client *client, const hilo_executable *exe, const struct form *f, const char *path) {
    struct strbuf bytes;
    strbuf_init(&bytes, mem_system_allocator());
    hilo_status status = f->put(exe, &bytes);
    if (status == HILO_OK && bytes.failed)
        status = HILO_RESOURCE_EXHAUSTED;
    int code = status == HILO_OK ? write_out(&bytes, path) : cli_fail(client, status);
    strbuf_free(&bytes);
    return code;
}

static int compile_file(const char *file, const struct compile_options *o, const struct form *f) {
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    int code = cli_client(&o->compile, &client);
    if (code == CLI_OK)
        code = cli_compile_program(client, &o->compile, o->entry, file, &exe);
    if (code == CLI_OK && f->program && !exe->module)
        code = cli_error(CLI_USAGE, "%s has no program in it; --emit %s is for programs", file, f->name);
    if (code == CLI_OK)
        code = emit(client, exe, f, o->out);
    hilo_executable_release(exe);
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
        "  plan       the steps that run and where their buffers lie, as text\n",
    .examples = "  hilo compile model.mlir -o model.hilo\n"
                "  hilo run model.hilo --input x.npy\n"
                "  hilo compile model.mlir --emit plan\n",
};
