/* hilo devices: what programs can run on. */
#include "cli/cli.h"

struct devices_options {
    bool json;
};

/* The processor's name, as the system tells it, or "". */
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
    char processor[128];
    int code = cli_client(&defaults, &client);
    if (code)
        return code;
    processor_name(processor, sizeof processor);
    printf(json ? "[{\"name\":\"%s\",\"threads\":%d,\"processor\":\"%s\"}]\n" : "%s: %d threads, %s\n",
           hilo_client_device_name(client), hilo_client_threads(client), processor);
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
    {"--json", NULL, CLI_FLAG, offsetof(struct devices_options, json), "as JSON"},
    {0}
};

const struct cli_command cli_devices = {
    .name = "devices", .operands = "", .options = options, .run = devices_main,
    .summary = "lists the devices that programs can run on",
    .text = "Lists the devices that programs can run on.\n",
    .examples = "  hilo devices\n",
};
