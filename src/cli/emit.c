/* Writes programs as bytecode and as HLO text. */
#include "cli/cli.h"
#include "compile/code.h"
#include "read/bytecode/bytecode.h"
#include "read/hlo/write.h"

int cli_emit_bytecode(hilo_client *client, const hilo_module *module, const char *version, const char *path) {
    int target = BC_STABLEHLO;
    struct diag_list d;
    struct strbuf bytes;
    if (version && !bc_version_named(str_of(version), &target))
        return cli_error(CLI_USAGE, "--target-version %s: expected a version of StableHLO such as 1.9.0", version);
    if (!path && cli_terminal(stdout))
        return cli_error(CLI_USAGE, "refusing to write binary output to a terminal; see: -o FILE");
    diag_init(&d, *rt_client_allocator(client));
    strbuf_init(&bytes, *rt_client_allocator(client));
    hilo_status status = rt_finish(client, &d, write_bytecode(rt_module_ir(module), &d, target, &bytes));
    int code = status == HILO_OK ? cli_write(path, &bytes) : cli_fail(client, status);
    strbuf_free(&bytes);
    return code;
}

int cli_emit_hlo(hilo_client *client, const hilo_module *module, int level, const char *path) {
    struct diag_list d;
    struct strbuf text;
    diag_init(&d, *rt_client_allocator(client));
    strbuf_init(&text, *rt_client_allocator(client));
    hilo_status status = level >= 2 ? compile_fusions(rt_module_ir(module), level, &d) : HILO_OK;
    status = rt_finish(client, &d, status == HILO_OK ? write_hlo(rt_module_ir(module), &d, &text) : status);
    int code = status == HILO_OK ? cli_write(path, &text) : cli_fail(client, status);
    strbuf_free(&text);
    return code;
}
