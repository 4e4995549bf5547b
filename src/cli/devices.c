/* hilo devices: what programs can run on; and the version. */
#include "cli/cli.h"
#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#endif

struct devices_options {
    bool json;
};

void cli_codegen_missing(char *out, size_t size) {
#ifdef HILO_HAVE_LLVM
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    out[0] = '\0';
    if (cg_open(&d) != HILO_OK)
        snprintf(out, size, "%s", d.first && d.first->message ? d.first->message : "LLVM cannot be opened");
    diag_clear(&d);
#else
    snprintf(out, size, "this hilo was built without LLVM");
#endif
}

static void print_codegen(const char *missing) {
    printf("machine code: %s%s\n", *missing ? "none, programs run on the slow reference evaluator: " : "by LLVM", missing);
}

int cli_version(void) {
    char missing[512];
    cli_codegen_missing(missing, sizeof missing);
    printf("hilo %s\n", hilo_version());
    print_codegen(missing);
    return CLI_OK;
}

/* The processor's name as the system reports it, or "". */
static void processor_name(char *out, size_t size) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    while (f && fgets(line, sizeof line, f) && !out[0]) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon)
            snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (f)
        fclose(f);
}

static int print_devices(bool json) {
    struct cli_compile defaults = CLI_COMPILE_DEFAULTS;
    hilo_client *client;
    char processor[128], missing[512];
    int code = cli_client(&defaults, &client);
    if (code)
        return code;
    processor_name(processor, sizeof processor);
    cli_codegen_missing(missing, sizeof missing);
    if (json) {
        printf("[{\"name\":\"%s\",\"threads\":%d,\"processor\":\"%s\",\"machine_code\":%s}]\n", hilo_client_device_name(client),
               hilo_client_threads(client), processor, *missing ? "false" : "true");
    } else {
        printf("%s: %d threads, %s\n", hilo_client_device_name(client), hilo_client_threads(client), processor);
        print_codegen(missing);
    }
    hilo_client_release(client);
    return CLI_OK;
}

static int devices_main(const struct cli_command *self, int argc, char **argv) {
    struct devices_options o = {0};
    struct cli_texts operands;
    int code = cli_options(self, argc, argv, &o, &operands);
    if (code < 0)
        code = print_devices(o.json);
    cli_options_free(self, &o, &operands);
    return code;
}

static const struct cli_option options[] = {
    {"--json", NULL, CLI_FLAG, offsetof(struct devices_options, json), "print JSON"},
    {0}
};

const struct cli_command cli_devices = {
    .name = "devices", .operands = "", .options = options, .run = devices_main,
    .summary = "lists the devices that programs can run on",
    .text = "Lists the devices that programs can run on, and reports whether programs are compiled to machine code.\n",
    .examples = "  hilo devices\n",
};
