/* What commands share: client, errors, output files, terminal, memory. */
#include "base/file.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

int cli_error(int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("hilo: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return code;
}

static int exit_code(hilo_status status) {
    switch (status) {
    case HILO_OK:
        return CLI_OK;
    case HILO_NOT_FOUND:
    case HILO_PERMISSION_DENIED:
    case HILO_RESOURCE_EXHAUSTED:
    case HILO_UNAVAILABLE:
        return CLI_ENVIRONMENT;
    case HILO_CANCELLED:
        return CLI_INTERRUPTED;
    default:
        return CLI_FAILED;
    }
}

int cli_fail(hilo_client *client, hilo_status status) {
    fflush(stdout);
    hilo_diagnostics_write(client, cli_colour(stderr), hilo_write_stderr, NULL);
    return exit_code(status);
}

static void on_log(void *user, hilo_log_level level, const char *message) {
    const struct cli_log *log = user;
    if (level == HILO_LOG_ERROR && log && !log->created) /* later ones are diagnostics, too */
        fprintf(stderr, "hilo: %s\n", message);
    if ((level == HILO_LOG_INFO || level == HILO_LOG_WARNING) && !(log && log->quiet))
        fprintf(stderr, "%s%s\n", level == HILO_LOG_WARNING ? "hilo: warning: " : "", message);
}

int cli_client_options(const struct cli_compile *o, hilo_client_options *out) {
    const char *size = getenv("HILO_CACHE_SIZE");
    hilo_tier tier;
    hilo_client_options_init(out);
    if (size && *size && !rt_store_size(size))
        return cli_error(CLI_USAGE, "HILO_CACHE_SIZE=%s: expected a size in bytes, such as 500M or 2G", size);
    if (!rt_tier_named(getenv("HILO_TIER"), &tier))
        return cli_error(CLI_USAGE, "HILO_TIER=%s: expected auto, baseline or optimised", getenv("HILO_TIER"));
    if (o->threads > INT32_MAX)
        return cli_error(CLI_USAGE, "--threads %lld: too many", (long long)o->threads);
    out->threads = (int32_t)o->threads;
    if (o->device)
        out->device = o->device;
    out->log = o->quiet ? NULL : on_log;
    return CLI_OK;
}

int cli_client_create(hilo_client_options *o, struct cli_log *log, hilo_client **out) {
    *log = (struct cli_log){.quiet = !o->log};
    o->log = on_log;
    o->log_user = log;
    hilo_status status = hilo_client_create(o, out);
    log->created = status == HILO_OK;
    return log->created ? CLI_OK : cli_error(exit_code(status), "cannot create a client: %s", hilo_status_name(status));
}

int cli_client(const struct cli_compile *o, hilo_client **out) {
    hilo_client_options options;
    struct cli_log log = {0};
    int code = cli_client_options(o, &options);
    if (code != CLI_OK)
        return code;
    hilo_status status = hilo_client_create(&options, out);
    if (status == HILO_OK)
        return CLI_OK;
    code = cli_client_create(&options, &log, out); /* says why */
    if (code != CLI_OK)
        return code;
    hilo_client_release(*out); /* `log` does not live as long */
    *out = NULL;
    return cli_error(exit_code(status), "cannot create a client: %s", hilo_status_name(status));
}

/* The path of a program, and its name in messages. */
static const char *program_path(const char *path, hilo_module_options *out) {
    hilo_module_options_init(out);
    if (strcmp(path, "-") != 0)
        return path;
    out->name = "<stdin>";
    return "/dev/stdin";
}

int cli_load(hilo_client *client, const char *path, hilo_module **out) {
    hilo_module_options options;
    path = program_path(path, &options);
    hilo_status status = hilo_module_load(client, path, &options, out);
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

void cli_compile_options(const struct cli_compile *o, const char *entry, hilo_compile_options *out) {
    hilo_compile_options_init(out);
    out->level = o->level;
    out->backend = (hilo_backend)o->backend;
    out->passes = o->passes;
    out->cache = !o->no_cache;
    out->memory_limit = (size_t)o->memory_limit;
    out->batch_invariant = o->batch_invariant;
    out->tier = (hilo_tier)o->tier;
    out->target_cpu = o->target_cpu;
    out->machine = o->machine;
    out->dump_dir = o->dump_dir;
    out->entry = entry;
}

int cli_compile_program(hilo_client *client, const struct cli_compile *o, const char *entry, const char *path,
                        hilo_executable **out) {
    hilo_module_options mo;
    hilo_compile_options c;
    cli_compile_options(o, entry, &c);
    if (cli_ends_with(path, ".hilo")) {
        hilo_status status = hilo_executable_load(client, path, out);
        return status == HILO_OK ? CLI_OK : cli_fail(client, status);
    }
    path = program_path(path, &mo);
    hilo_status status = hilo_compile_file(client, path, &mo, &c, out);
    if (status == HILO_OK)
        return CLI_OK;
    int code = cli_fail(client, status);
    return status == HILO_NOT_FOUND && access(path, F_OK) == 0 ? CLI_USAGE : code; /* the entry is missing, not the file */
}

int cli_write(const char *path, const struct strbuf *bytes) {
    struct diag_list d;
    struct str text = {bytes->p ? bytes->p : "", bytes->n};
    if (bytes->failed)
        return cli_error(CLI_ENVIRONMENT, "out of memory");
    if (!path || strcmp(path, "-") == 0) {
        fwrite(text.p, 1, text.n, stdout);
        return CLI_OK; /* main() reports what could not be written */
    }
    diag_init(&d, mem_system_allocator());
    hilo_status status = file_write(path, text, &d);
    if (status != HILO_OK)
        cli_error(CLI_ENVIRONMENT, "%s", d.first && d.first->message ? d.first->message : "out of memory");
    diag_clear(&d);
    return status == HILO_OK ? CLI_OK : CLI_ENVIRONMENT;
}

bool cli_terminal(FILE *f) {
    return isatty(fileno(f)) == 1;
}

bool cli_colour(FILE *f) {
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return cli_terminal(f) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

void *cli_alloc(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p)
        exit(cli_error(CLI_ENVIRONMENT, "out of memory"));
    return p;
}

bool cli_ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}
