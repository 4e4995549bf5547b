/* hilo cache: lists and clears the compile cache. */
#include "cli/cli.h"

#include <inttypes.h>
#include <time.h>

static void list(const struct rt_store *s, const struct rt_store_file *v, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        char when[32] = "";
        time_t t = (time_t)(v[i].used / 1000000000);
        struct tm local;
        if (localtime_r(&t, &local))
            strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
        printf("%.16s  %12" PRIu64 "  %s\n", v[i].name, v[i].bytes, when);
        sum += v[i].bytes;
    }
    printf("%zu programs, %.1f MB of %.1f MB, in %s\n", n, (double)sum / 1e6, (double)s->most / 1e6, s->dir);
}

static int act(const struct rt_store *s, const char *what) {
    hilo_allocator al = mem_system_allocator();
    struct rt_store_file *v = NULL;
    size_t n = 0;
    if (!s->dir)
        return cli_error(CLI_ENVIRONMENT, "there is no compile cache: HILO_CACHE_DIR is empty, or HOME is not set");
    if (strcmp(what, "path") == 0) {
        puts(s->dir);
    } else if (strcmp(what, "clear") == 0) {
        printf("%zu programs deleted\n", rt_store_trim(s, &al, 0));
    } else if (strcmp(what, "list") == 0) {
        rt_store_list(s, &al, &v, &n);
        list(s, v, n);
        mem_free(&al, v, n * sizeof *v);
    } else {
        return cli_error(CLI_USAGE, "hilo cache %s: expected list, clear or path", what);
    }
    return CLI_OK;
}

static int cache_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_compile none = CLI_COMPILE_DEFAULTS;
    struct cli_texts operands;
    hilo_client *client = NULL;
    int code = cli_options(self, argc, argv, &none, &operands);
    if (code < 0)
        code = cli_client(&none, &client);
    if (client)
        code = act(rt_client_store(client), operands.n ? operands.v[0] : "list");
    hilo_client_release(client);
    cli_options_free(self, &none, &operands);
    return code;
}

static const struct cli_option options[] = {{0}};

const struct cli_command cli_cache = {
    .name = "cache", .operands = "[list|clear|path]", .least = 0, .most = 1, .options = options, .run = cache_main,
    .summary = "lists or clears the compile cache",
    .text =
        "list (the default) prints the compiled programs in the cache, with sizes and times of last use; clear deletes\n"
        "them; path prints the directory. HILO_CACHE_DIR and HILO_CACHE_SIZE configure it: `hilo help environment`.\n",
    .examples = "  hilo cache\n"
                "  hilo cache clear\n"
                "  HILO_CACHE_DIR= hilo run examples/mlp.mlir --input random:1\n",
};
