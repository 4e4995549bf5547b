/* A program in another form, to a file or standard output. */
#include "cli/cli.h"
#include "read/bytecode/bytecode.h"
#include "read/hlo/write.h"
#include "runtime/runtime.h"

#include <errno.h>

static int emit_write(const char *path, const struct strbuf *bytes) {
    FILE *f = path ? fopen(path, "wb") : stdout;
    const char *name = path ? path : "standard output";
    if (!f)
        return cli_error(CLI_ENVIRONMENT, "%s: %s", name, strerror(errno));
    bool written = fwrite(bytes->p, 1, bytes->n, f) == bytes->n && fflush(f) == 0;
    int reason = errno;
    if (path && fclose(f) != 0 && written) {
        reason = errno;
        written = false;
    }
    return written ? CLI_OK : cli_error(CLI_ENVIRONMENT, "%s: %s", name, strerror(reason));
}

int cli_emit_bytecode(hilo_client *client, const hilo_module *module, const char *version, const char *path) {
    int target = BC_STABLEHLO;
    struct diag_list d;
    struct strbuf bytes;
    if (version && !bc_version_named(str_of(version), &target))
        return cli_error(CLI_USAGE, "'%s' is no version such as 1.9.0", version);
    if (!path && cli_terminal(stdout))
        return cli_error(CLI_USAGE, "bytecode is not for a terminal; see: -o FILE");
    diag_init(&d, client->al);
    strbuf_init(&bytes, client->al);
    hilo_status status = rt_finish(client, &d, write_bytecode(module->m, &d, target, &bytes));
    int code = status == HILO_OK ? emit_write(path, &bytes) : cli_fail(client, status);
    strbuf_free(&bytes);
    return code;
}

int cli_emit_hlo(hilo_client *client, const hilo_module *module, const char *path) {
    struct diag_list d;
    struct strbuf text;
    diag_init(&d, client->al);
    strbuf_init(&text, client->al);
    hilo_status status = rt_finish(client, &d, write_hlo(module->m, &d, &text));
    int code = status == HILO_OK ? emit_write(path, &text) : cli_fail(client, status);
    strbuf_free(&text);
    return code;
}
