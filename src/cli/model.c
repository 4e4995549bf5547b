/* What the commands on language models share: see model.h. */
#include "cli/model.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

atomic_int cli_interrupts;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    atomic_fetch_add(&cli_interrupts, 1);
}

void cli_catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    cli_interrupts = 0;
    sigaction(SIGINT, &action, NULL);
}

/* The first Ctrl-C ends a text after the current token, the second cancels the step. */
static int cancelled(void *user) {
    (void)user;
    return cli_interrupts > 1;
}

/* `user`: a bool that suppresses the line while it is set; NULL = never. */
static void show_progress(void *user, const char *what, double done) {
    const bool *silent = user;
    if (!(silent && *silent) && cli_terminal(stderr))
        fprintf(stderr, "\r\033[K%s %.0f %%", what, 100 * done);
}

void cli_progress_end(void) {
    if (cli_terminal(stderr))
        fputs("\r\033[K", stderr);
}

int cli_model_nodes(int64_t processes, int64_t devices, struct cli_nodes *out) {
    *out = (struct cli_nodes){.n = 0};
    if (processes > COMM_MOST_NODES || devices > COMM_MOST_DEVICES)
        return cli_error(CLI_USAGE, "there are at most %d nodes of %d devices", COMM_MOST_NODES, COMM_MOST_DEVICES);
    return processes > 1 && !cli_is_node() ? cli_lead_nodes(processes, out) : CLI_OK;
}

/* A client with the devices of this node, or an ordinary one. */
static int open_client(const struct cli_model *o, hilo_client **out) {
    struct cli_compile c = {.threads = o->threads};
    hilo_client_options options;
    if (!o->log || (!o->devices && !cli_is_node()))
        return cli_client(&c, out);
    int code = cli_client_options(&c, &options);
    if (code == CLI_OK)
        code = cli_node_options(o->devices ? o->devices : 1, &options);
    return code == CLI_OK ? cli_client_create(&options, o->log, out) : code;
}

int cli_another_session(const struct cli_model *o, hilo_client *client, struct llm_session **out) {
    struct llm_session_options so = {.engine = o->engine, .precision = (enum llm_precision)o->precision, .level = o->level,
                                     .context = o->context, .cache8 = o->cache8, .cancelled = cancelled,
                                     .progress = {show_progress, NULL}};
    hilo_status status = llm_session_open(client, o->dir, &so, out);
    cli_progress_end();
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

int cli_session(const struct cli_model *o, hilo_client **client, struct llm_session **out) {
    if (!o->dir)
        return cli_error(CLI_USAGE, "missing -m MODEL: a model directory");
    if (!llm_engine_known(o->engine))
        return cli_error(CLI_USAGE, "%s %s: expected " LLM_ENGINES, o->engine ? "--engine" : "HILO_ENGINE",
                         o->engine ? o->engine : getenv("HILO_ENGINE"));
    int code = open_client(o, client);
    if (code)
        return code;
    code = cli_another_session(o, *client, out);
    if (code)
        hilo_client_release(*client);
    return code;
}

int cli_read_text(const char *path, struct strbuf *out) {
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char buffer[4096];
    strbuf_init(out, mem_system_allocator());
    if (!f)
        return cli_error(CLI_ENVIRONMENT, "%s: %s", path, strerror(errno));
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        strbuf_putn(out, buffer, n);
    bool failed = ferror(f) || out->failed;
    if (f != stdin)
        fclose(f);
    if (!failed)
        return CLI_OK;
    strbuf_free(out);
    return cli_error(CLI_ENVIRONMENT, "%s: cannot be read", path);
}

int cli_encode(hilo_client *client, const struct llm_tok *t, struct str text, const uint8_t *from_input, unsigned flags,
               struct llm_ids *out) {
    struct diag_list d;
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = rt_finish(client, &d, llm_tok_encode(t, text, from_input, flags, &d, out));
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

void cli_json_text(FILE *f, struct str s) {
    fputc('"', f);
    for (size_t i = 0; i < s.n;) {
        uint32_t c;
        size_t n = llm_utf8(s.p + i, s.p + s.n, &c);
        if (n == 0)
            fputs("\\ufffd", f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", (int)c);
        else if (c < 0x20 || c == 0x7F)
            fprintf(f, "\\u%04x", (unsigned)c);
        else
            fwrite(s.p + i, 1, n, f);
        i += n ? n : 1;
    }
    fputc('"', f);
}

void cli_json_ids(FILE *f, const int32_t *ids, size_t n) {
    fputc('[', f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s%d", i ? "," : "", (int)ids[i]);
    fputc(']', f);
}
