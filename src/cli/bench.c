/* hilo bench: times programs. */
#include "cli/bench.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct bench_options {
    struct cli_compile compile;
    struct cli_texts inputs;
    const char *entry, *page, *save, *before;
    int64_t runs, timeout;
    double seconds;
    bool json, csv;
};

/* ---- interruption ---------------------------------------------------------------------------- */

static atomic_int interrupted; /* other threads read it */

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
    double first_ms;                         /* the same with the first run */
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

/* The first run, then with optimised code --runs, or as many as begin within --seconds. */
static int time_runs(struct bench *b) {
    double ms, begin;
    int code = execute(b, &ms);
    b->first_ms = b->ready_ms + ms;
    if (code == CLI_OK) {
        hilo_status status = hilo_executable_optimise(b->exe);
        code = status == HILO_OK ? CLI_OK : cli_fail(b->client, status);
        code = status == HILO_UNAVAILABLE ? CLI_OK : code; /* it was told that the code is the baseline's */
    }
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

/* The program that is being measured, where there is no other sign of life. */
static void show_progress(const char *file) {
    if (cli_terminal(stderr))
        fprintf(stderr, "\r\033[K%s", file ? base_name(file) : "");
}

static void print(const struct strbuf *text) {
    fwrite(text->p ? text->p : "", 1, text->n, stdout);
    fflush(stdout);
}

/* Measures a program; what is known of it goes to *r, which takes over the times. */
static int result_of(const char *file, const struct bench_options *o, struct bench_result *r) {
    struct bench b = {.o = o};
    int code = cli_client(&o->compile, &b.client);
    if (code == CLI_OK)
        code = bench_file(&b, file);
    *r = (struct bench_result){.name = base_name(file), .failed = code != CLI_OK};
    if (code == CLI_OK) {
        hilo_stats stats = {.struct_size = sizeof stats};
        hilo_executable_stats(b.exe, &stats);
        *r = (struct bench_result){.name = base_name(file), .ms = b.ms.v, .n = b.ms.n, .figures = cli_figures(b.ms.v, b.ms.n),
                                   .ready_ms = b.ready_ms, .first_ms = b.first_ms, .peak_bytes = stats.peak_bytes};
        b.ms.v = NULL;
    }
    release(&b);
    hilo_client_release(b.client);
    return code;
}

static int write_files(const struct bench_options *o, const struct bench_result *v, size_t n) {
    int code = o->save ? bench_save(o->save, v, n) : CLI_OK;
    return code == CLI_OK && o->page ? bench_page(o->page, v, n, o->before) : code;
}

static int bench_all(const struct cli_texts *files, const struct bench_options *o) {
    enum bench_form form = o->json ? BENCH_JSON : o->csv ? BENCH_CSV : BENCH_TEXT;
    struct bench_result *v = cli_alloc(files->n, sizeof *v);
    struct bench_before *before = NULL;
    struct strbuf text;
    int worst = o->before ? bench_before_open(o->before, &before) : CLI_OK;
    size_t n = 0;
    if (worst) {
        bench_before_close(before);
        free(v);
        return worst;
    }
    strbuf_init(&text, mem_system_allocator());
    bench_begin(form, before, &text);
    print(&text);
    for (; n < files->n && !interrupted; n++) {
        show_progress(files->v[n]);
        int code = result_of(files->v[n], o, &v[n]);
        show_progress(NULL);
        if (before)
            bench_before_find(before, &v[n]);
        text.n = 0;
        bench_row(form, &v[n], before, n == 0, &text);
        print(&text);
        worst = code > worst ? code : worst;
    }
    text.n = 0;
    bench_end(form, v, n, &text);
    print(&text);
    int code = write_files(o, v, n);
    worst = code > worst ? code : worst;
    for (size_t i = 0; i < n; i++)
        free(v[i].ms);
    strbuf_free(&text);
    bench_before_close(before);
    free(v);
    return interrupted ? CLI_INTERRUPTED : worst;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int bench_main(const struct cli_command *self, int argc, char **argv) {
    struct bench_options o = {.compile = CLI_COMPILE_DEFAULTS, .seconds = 1};
    o.compile.no_cache = true; /* compiling is timed, too */
    struct cli_texts files;
    struct sigaction action = {.sa_handler = on_interrupt};
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && o.json && o.csv)
        code = cli_error(CLI_USAGE, "--json or --csv, not both");
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
    {"--csv", NULL, CLI_FLAG, offsetof(struct bench_options, csv), "print them as comma-separated values"},
    {"-o", "OUT", CLI_TEXT, offsetof(struct bench_options, page), "write an HTML page with plots to this file"},
    {"--save", "FILE", CLI_TEXT, offsetof(struct bench_options, save), "write the figures to this file, for --compare"},
    {"--compare", "FILE", CLI_TEXT, offsetof(struct bench_options, before),
     "compare with the figures of this file: ratios of medians,\nabove 1 it is faster now, and their geometric mean"},
    CLI_COMPILE_OPTIONS(struct bench_options, compile),
    CLI_TIER_OPTION(struct bench_options, compile, "auto"),
    {0}
};

const struct cli_command cli_bench = {
    .name = "bench", .operands = "FILE…", .least = 1, .most = SIZE_MAX, .options = options, .run = bench_main,
    .summary = "times programs",
    .text =
        "Compiles each program once, runs it once, waits until its code is optimised, times runs of it, and prints the\n"
        "median, the minimum, the mean, the standard deviation and the 95th and 99th percentiles, the time to read,\n"
        "verify and compile it, the same with the first run, and the peak memory of all tensors. A program that fails is\n"
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
        "  hilo bench --runs 20 --threads 2 --json examples/add.mlir examples/mlp.mlir\n"
        "  hilo bench --runs 20 --save before.json examples/mlp.mlir\n"
        "  hilo bench --runs 20 --compare before.json -o report.html examples/mlp.mlir\n",
};
