/* hilo bench: times programs. */
#include "cli/cli.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct bench_options {
    struct cli_compile compile;
    struct cli_texts inputs;
    const char *entry;
    int64_t runs, timeout;
    double seconds;
    bool json;
};

/* ---- interruption ---------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* ---- one program ----------------------------------------------------------------------------- */

struct bench {
    const struct bench_options *o;
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer **inputs, **outputs;
    size_t ninputs, noutputs;
    struct { double *v; size_t n, cap; } ms; /* of runs */
    double ready_ms;                         /* reading, verifying, compiling */
    double deadline;                         /* 0 = none */
    bool late;
};

static int poll_run(void *user) {
    struct bench *b = user;
    b->late = b->deadline > 0 && rt_now_ms() > b->deadline;
    return interrupted || b->late;
}

static void release_outputs(struct bench *b) {
    for (size_t i = 0; i < b->noutputs; i++) {
        hilo_buffer_release(b->outputs[i]);
        b->outputs[i] = NULL;
    }
}

/* One run; the outputs of the previous one are released first, so that their memory is reused. */
static int execute(struct bench *b, double *ms) {
    hilo_timing timing = {0, 0};
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.timing = &timing;
    o.cancelled = poll_run;
    o.cancelled_user = b;
    release_outputs(b);
    hilo_status status = hilo_execute(b->exe, &o, b->inputs, b->ninputs, b->outputs, b->noutputs);
    *ms = timing.total_ms;
    if (status == HILO_CANCELLED && b->late && !interrupted)
        return cli_error(CLI_FAILED, "did not finish within %" PRId64 " s", b->o->timeout);
    return status == HILO_OK ? CLI_OK : cli_fail(b->client, status);
}

static void add(struct bench *b, double ms) {
    if (b->ms.n == b->ms.cap) {
        double *v = cli_alloc(b->ms.cap * 2 + 64, sizeof *v);
        for (size_t i = 0; i < b->ms.n; i++)
            v[i] = b->ms.v[i];
        free(b->ms.v);
        b->ms.v = v;
        b->ms.cap = b->ms.cap * 2 + 64;
    }
    b->ms.v[b->ms.n++] = ms;
}

/* A run to warm up, then --runs, or as many as begin within --seconds. */
static int time_runs(struct bench *b) {
    double ms, begin;
    int code = execute(b, &ms);
    begin = rt_now_ms();
    while (code == CLI_OK) {
        size_t n = b->ms.n;
        if (b->o->runs ? n >= (size_t)b->o->runs : n > 0 && rt_now_ms() - begin > b->o->seconds * 1e3)
            break;
        code = execute(b, &ms);
        if (code == CLI_OK)
            add(b, ms);
    }
    return code;
}

static int compile(struct bench *b, const char *file) {
    double begin = rt_now_ms();
    int code = cli_compile_program(b->client, &b->o->compile, b->o->entry, file, &b->exe);
    b->ready_ms = rt_now_ms() - begin;
    return code;
}

/* From --input; else from the recipe next to the program; else random. */
static int make_inputs(struct bench *b, const char *file) {
    static const char *random = "random:1";
    struct cli_texts texts = {&random, 1};
    struct strbuf recipe;
    b->ninputs = hilo_executable_input_count(b->exe);
    b->inputs = cli_alloc(b->ninputs, sizeof(hilo_buffer *));
    if (b->o->inputs.n)
        texts = b->o->inputs;
    const char *dot = strrchr(file, '.');
    strbuf_init(&recipe, mem_system_allocator());
    strbuf_printf(&recipe, "%.*s.json", (int)(dot ? dot - file : (ptrdiff_t)strlen(file)), file);
    int code;
    if (!b->o->inputs.n && access(recipe.p, R_OK) == 0) {
        code = cli_recipe_inputs(b->client, b->exe, recipe.p, b->inputs);
    } else {
        free(b->inputs);
        b->inputs = NULL;
        code = cli_inputs(b->client, b->exe, &texts, file, &b->inputs);
        if (code)
            b->ninputs = 0;
    }
    strbuf_free(&recipe);
    return code;
}

static int bench_file(struct bench *b, const char *file) {
    int code = compile(b, file);
    if (code == CLI_OK)
        code = make_inputs(b, file);
    if (code == CLI_OK) {
        b->noutputs = hilo_executable_output_count(b->exe);
        b->outputs = cli_alloc(b->noutputs, sizeof(hilo_buffer *));
        if (b->o->timeout)
            b->deadline = rt_now_ms() + (double)b->o->timeout * 1e3;
        code = time_runs(b);
    }
    return code;
}

static void release(struct bench *b) {
    if (b->outputs)
        release_outputs(b);
    for (size_t i = 0; i < b->ninputs; i++)
        hilo_buffer_release(b->inputs[i]);
    free(b->inputs);
    free(b->outputs);
    free(b->ms.v);
    hilo_executable_release(b->exe);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static void print_failure(const char *file, bool json, bool first) {
    if (json)
        printf("%s{\"name\":\"%s\",\"failed\":true}", first ? "" : ",\n", base_name(file));
    else
        printf("%-32s failed\n", base_name(file));
}

static void print_row(struct bench *b, const char *file, bool first) {
    struct cli_figures f = cli_figures(b->ms.v, b->ms.n);
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_executable_stats(b->exe, &stats);
    if (b->o->json)
        printf("%s{\"name\":\"%s\",\"median_ms\":%.6f,\"min_ms\":%.6f,\"runs\":%zu,\"compile_ms\":%.6f,"
               "\"peak_bytes\":%" PRIu64 "}",
               first ? "" : ",\n", base_name(file), f.median, f.least, b->ms.n, b->ready_ms, stats.peak_bytes);
    else
        printf("%-32s %12.4f %12.4f %6zu %12.2f %12.3f\n", base_name(file), f.median, f.least, b->ms.n, b->ready_ms,
               (double)stats.peak_bytes / 1e6);
}

/* The program that is being measured, where there is no other sign of life. */
static void show_progress(const char *file) {
    if (cli_terminal(stderr))
        fprintf(stderr, "\r\033[K%s", file ? base_name(file) : "");
}

static int bench_all(const struct cli_texts *files, const struct bench_options *o) {
    int worst = CLI_OK;
    if (o->json)
        fputs("[", stdout);
    else
        printf("%-32s %12s %12s %6s %12s %12s\n", "program", "median ms", "minimum ms", "runs", "compile ms", "peak MB");
    for (size_t i = 0; i < files->n && !interrupted; i++) {
        struct bench b = {.o = o};
        show_progress(files->v[i]);
        int code = cli_client(&o->compile, &b.client);
        if (code == CLI_OK)
            code = bench_file(&b, files->v[i]);
        show_progress(NULL);
        if (code == CLI_OK)
            print_row(&b, files->v[i], i == 0);
        else
            print_failure(files->v[i], o->json, i == 0);
        fflush(stdout);
        release(&b);
        hilo_client_release(b.client);
        worst = code > worst ? code : worst;
    }
    if (o->json)
        fputs("]\n", stdout);
    return interrupted ? CLI_INTERRUPTED : worst;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int bench_main(const struct cli_command *self, int argc, char **argv) {
    struct bench_options o = {.compile = CLI_COMPILE_DEFAULTS, .seconds = 1};
    o.compile.no_cache = true; /* compiling is timed, too */
    struct cli_texts files;
    struct sigaction action = {.sa_handler = on_interrupt};
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0) {
        sigaction(SIGINT, &action, NULL);
        code = bench_all(&files, &o);
    }
    cli_options_free(self, &o, &files);
    return code;
}

static const struct cli_option options[] = {
    {"--runs", "N", CLI_NUMBER, offsetof(struct bench_options, runs), "time N runs instead"},
    {"--seconds", "S", CLI_REAL, offsetof(struct bench_options, seconds),
     "time the runs that begin within S seconds; default 1"},
    {"--timeout", "S", CLI_NUMBER, offsetof(struct bench_options, timeout),
     "limit in seconds for all runs of a program; default: none"},
    {"--input", "X", CLI_TEXTS, offsetof(struct bench_options, inputs), "value of the next parameter, as for `hilo run`"},
    {"--entry", "NAME", CLI_TEXT, offsetof(struct bench_options, entry),
     "function to run; default: main, or the only public one"},
    {"--json", NULL, CLI_FLAG, offsetof(struct bench_options, json), "print the figures as JSON"},
    CLI_COMPILE_OPTIONS(struct bench_options, compile),
    {0}
};

const struct cli_command cli_bench = {
    .name = "bench", .operands = "FILE…", .least = 1, .most = SIZE_MAX, .options = options, .run = bench_main,
    .summary = "times programs",
    .text =
        "Compiles each program once, runs it once to warm up, times runs of it, and prints the median, the minimum,\n"
        "the time to read, verify and compile it, and the peak memory of all tensors. A program that fails is\n"
        "reported, and the next one is run.\n"
        "\n"
        "Inputs are those of --input; else of a recipe X.json next to X.mlir; else random. A recipe is\n"
        "\n"
        "  {\"inputs\": [{\"shape\": [2, 3], \"kind\": \"uniform\", \"lo\": 0, \"hi\": 1}, …]}\n"
        "\n"
        "with the kinds uniform and randint (lo, hi), normal (std), const (lo), tril (a well-conditioned triangular\n"
        "matrix) and spd (a symmetric positive definite one).\n",
    .examples =
        "  hilo bench examples/mlp.mlir\n"
        "  hilo bench --runs 20 --threads 2 --json examples/add.mlir examples/mlp.mlir\n",
};
