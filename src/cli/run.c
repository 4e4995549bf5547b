/* hilo run: runs a function of a program on inputs from the command line. */
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/processes.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { NOT_COMPARED = -1 };

struct run_options {
    struct cli_compile compile;
    const char *entry, *out, *trace;
    struct cli_texts inputs;
    int64_t timing; /* runs to time; 0 = none */
    int64_t processes, devices; /* nodes, devices of each; 0 = not said */
    bool json;
    int expected; /* hilo_backend of --compare, or NOT_COMPARED */
    double tolerance;
};

/* ---- while it runs --------------------------------------------------------------------------- */

static atomic_int interrupted; /* other threads read it */

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* From now on Ctrl-C cancels the run; files that are being written are completed. */
static void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
}

struct progress {
    bool terminal;
    double begin;
    atomic_llong shown; /* seconds */
};

/* Also shows the elapsed time after the first two seconds. */
static int poll_run(void *user) {
    struct progress *p = user;
    long long seconds = p->terminal ? (long long)((rt_now_ms() - p->begin) / 1e3) : 0;
    if (seconds > 1 && atomic_exchange(&p->shown, seconds) != seconds)
        fprintf(stderr, "\rrunning for %lld s", seconds);
    return interrupted;
}

static void clear_progress(struct progress *p) {
    if (atomic_load(&p->shown))
        fputs("\r\033[K", stderr);
    atomic_store(&p->shown, 0);
}

/* Devices of this node, where the program runs by several processes; else 0. */
static int64_t several(const struct run_options *o) {
    return o->devices ? o->devices : o->processes || cli_is_node() ? 1 : 0;
}

/* ---- running --------------------------------------------------------------------------------- */

struct session {
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer **inputs, **outputs;
    size_t ninputs, noutputs;
    double ready_ms; /* reading, verifying, compiling */
    struct cli_trace *trace; /* or NULL */
};

static void release_outputs(struct session *s) {
    for (size_t i = 0; i < s->noutputs; i++) {
        hilo_buffer_release(s->outputs[i]);
        s->outputs[i] = NULL;
    }
}

/* One run; the outputs of the previous one are released first. */
static int execute(struct session *s, double *ms) {
    struct progress p = {.terminal = cli_terminal(stderr), .begin = rt_now_ms()};
    hilo_timing timing = {0, 0};
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.timing = &timing;
    o.cancelled = poll_run;
    o.cancelled_user = &p;
    release_outputs(s);
    if (s->trace) {
        o.step = cli_trace_step;
        o.step_user = s->trace;
        cli_trace_begin(s->trace);
    }
    hilo_status status = hilo_execute(s->exe, &o, s->inputs, s->ninputs, s->outputs, s->noutputs);
    clear_progress(&p);
    if (s->trace)
        cli_trace_end(s->trace, timing.total_ms);
    *ms = timing.total_ms;
    if (status == HILO_OK)
        status = rt_buffer_fetch(s->outputs, s->noutputs);
    return status == HILO_OK ? CLI_OK : cli_fail(s->client, status);
}

static int time_runs(struct session *s, const struct run_options *o) {
    size_t n = (size_t)o->timing;
    double *ms = cli_alloc(n, sizeof *ms), warm_up;
    hilo_stats stats = {.struct_size = sizeof stats};
    int code = execute(s, &warm_up);
    for (size_t i = 0; i < n && code == CLI_OK; i++)
        code = execute(s, &ms[i]);
    if (code == CLI_OK) {
        hilo_executable_stats(s->exe, &stats);
        cli_timing_print(ms, n, s->ready_ms, &stats, o->json);
    }
    free(ms);
    return code;
}

static void print_outputs(const struct session *s, const struct run_options *o) {
    if (several(o))
        cli_processes_print(s->client, s->exe, s->outputs, several(o));
    else
        cli_output_print(s->exe, s->outputs);
}

static int run_program(struct session *s, const struct run_options *o) {
    double ms;
    int code = o->timing ? time_runs(s, o) : execute(s, &ms);
    if (code == CLI_OK && s->trace)
        code = cli_trace_write(s->trace, o->trace);
    if (code == CLI_OK && o->out)
        code = cli_output_write(s->exe, s->outputs, o->out);
    else if (code == CLI_OK && !o->timing && o->expected == NOT_COMPARED)
        print_outputs(s, o);
    return code == CLI_OK && interrupted ? CLI_INTERRUPTED : code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int compile(struct session *s, const char *file, const struct run_options *o) {
    double begin = rt_now_ms();
    int code = cli_compile_program(s->client, &o->compile, o->entry, file, &s->exe);
    s->ready_ms = rt_now_ms() - begin;
    return code == CLI_OK && o->out ? cli_output_check(s->exe, o->out) : code;
}

static int compare_results(const struct session *s, const struct session *expected, const char *file,
                           const struct cli_compile *how, const struct run_options *o) {
    struct progress p = {.terminal = cli_terminal(stderr), .begin = rt_now_ms()};
    hilo_compile_options compile_options;
    hilo_execute_options execute_options;
    cli_compile_options(how, o->entry, &compile_options);
    hilo_execute_options_init(&execute_options);
    execute_options.cancelled = poll_run;
    execute_options.cancelled_user = &p;
    struct cli_comparison c = {s->client, file, &compile_options, &execute_options, s->exe, s->inputs, s->ninputs,
                               s->outputs, expected->outputs, s->noutputs, o->tolerance};
    double **terms = cli_alloc(c.n, sizeof *terms);
    if (!cli_compare_close(&c))
        cli_compare_measure_terms(&c, terms);
    clear_progress(&p);
    int code = interrupted ? CLI_INTERRUPTED : cli_compare_print(&c, terms);
    for (size_t i = 0; i < c.n; i++)
        free(terms[i]);
    free(terms);
    return code;
}

/* Runs the program on the same inputs with the backend of --compare, and compares the results. */
static int compare(const struct session *s, const char *file, const struct run_options *o) {
    struct session other = {.client = s->client, .inputs = s->inputs, .ninputs = s->ninputs, .noutputs = s->noutputs};
    struct cli_compile how = o->compile;
    double ms;
    how.backend = o->expected;
    how.dump_dir = NULL;
    other.outputs = cli_alloc(other.noutputs, sizeof *other.outputs);
    int code = cli_compile_program(s->client, &how, o->entry, file, &other.exe);
    if (code == CLI_OK)
        code = execute(&other, &ms);
    if (code == CLI_OK)
        code = compare_results(s, &other, file, &how, o);
    release_outputs(&other);
    free(other.outputs);
    hilo_executable_release(other.exe);
    return code;
}

/* The inputs for each of the devices, which get the same ones. */
static hilo_buffer **repeat(hilo_buffer **inputs, size_t n, size_t devices) {
    hilo_buffer **all = cli_alloc(n * devices + 1, sizeof *all);
    for (size_t i = 0; i < n * devices; i++)
        all[i] = i < n ? inputs[i] : hilo_buffer_retain(inputs[i % n]);
    free(inputs);
    return all;
}

static int run_file(const char *file, const struct run_options *o) {
    struct session s = {0};
    hilo_client_options client;
    struct cli_log log;
    int code = cli_client_options(&o->compile, &client);
    if (code == CLI_OK && several(o))
        code = cli_node_options(several(o), &client);
    if (code == CLI_OK)
        code = cli_client_create(&client, &log, &s.client);
    if (code == CLI_OK)
        code = compile(&s, file, o);
    if (code == CLI_OK) {
        catch_interrupt();
        code = cli_inputs(s.client, s.exe, &o->inputs, file, &s.inputs);
    }
    if (code == CLI_OK) {
        size_t devices = several(o) ? (size_t)several(o) : 1, n = hilo_executable_input_count(s.exe);
        s.ninputs = devices * n;
        s.noutputs = devices * hilo_executable_output_count(s.exe);
        s.inputs = repeat(s.inputs, n, devices);
        s.outputs = cli_alloc(s.noutputs, sizeof *s.outputs);
        s.trace = o->trace ? cli_trace_new() : NULL;
        code = run_program(&s, o);
        cli_trace_free(s.trace);
        if (code == CLI_OK && o->expected != NOT_COMPARED)
            code = compare(&s, file, o);
        release_outputs(&s);
    }
    for (size_t i = 0; i < s.ninputs; i++)
        hilo_buffer_release(s.inputs[i]);
    free(s.inputs);
    free(s.outputs);
    hilo_executable_release(s.exe);
    hilo_client_release(s.client);
    return code;
}

static int run_main(const struct cli_command *self, int argc, char **argv) {
    struct run_options o = {.compile = CLI_COMPILE_DEFAULTS, .expected = NOT_COMPARED};
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && o.expected != NOT_COMPARED && (cli_ends_with(files.v[0], ".hilo") || strcmp(files.v[0], "-") == 0))
        code = cli_error(CLI_USAGE, "--compare compiles the program twice: %s cannot be", files.v[0]);
    if (code < 0 && o.json && !o.timing)
        code = cli_error(CLI_USAGE, "--json needs --timing N");
    if (code < 0 && several(&o) && (o.out || o.trace || o.expected != NOT_COMPARED))
        code = cli_error(CLI_USAGE, "-o, --trace and --compare are for one process");
    if (code < 0 && (o.processes > COMM_MOST_NODES || o.devices > COMM_MOST_DEVICES))
        code = cli_error(CLI_USAGE, "there are at most %d nodes of %d devices", COMM_MOST_NODES, COMM_MOST_DEVICES);
    if (code < 0)
        code = o.processes > 1 && !cli_is_node() ? cli_start_nodes(o.processes) : run_file(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

static const struct cli_option options[] = {
    {"--processes", "N", CLI_NUMBER, offsetof(struct run_options, processes),
     "run it by N nodes: processes of the operating system"},
    {"--devices", "N", CLI_NUMBER, offsetof(struct run_options, devices),
     "run it on N devices of each node at once"},
    {"--entry", "NAME", CLI_TEXT, offsetof(struct run_options, entry),
     "function to run; default: main, or the only public one"},
    {"--input", "X", CLI_TEXTS, offsetof(struct run_options, inputs),
     "value of the next parameter, as described above"},
    {"-o", "OUT", CLI_TEXT, offsetof(struct run_options, out),
     "write the results to a .npz file, or a single one to .npy"},
    {"--timing", "N", CLI_NUMBER, offsetof(struct run_options, timing),
     "time N runs after one that warms up"},
    {"--json", NULL, CLI_FLAG, offsetof(struct run_options, json), "print the figures of --timing as JSON"},
    {"--trace", "OUT", CLI_TEXT, offsetof(struct run_options, trace),
     "write the time of each step as JSON for\nhttps://ui.perfetto.dev or chrome://tracing"},
    {"--compare", "B", CLI_BACKEND, offsetof(struct run_options, expected),
     "also run with this backend, and compare the results;\nexit code 1 when they differ by more than the tolerance"},
    {"--tolerance", "T", CLI_REAL, offsetof(struct run_options, tolerance),
     "for --compare: tolerance of floats, relative to the\nmagnitude of the element and of what was added up to it;\n"
     "default: 16 units in the last place"},
    CLI_COMPILE_OPTIONS(struct run_options, compile),
    CLI_TIER_OPTION(struct run_options, compile, "auto"),
    CLI_CACHE_OPTION(struct run_options, compile),
    {0}
};

const struct cli_command cli_run = {
    .name = "run", .operands = "FILE", .least = 1, .most = 1, .options = options, .run = run_main,
    .summary = "runs a program",
    .text =
        "Runs a function of a program and prints its results. FILE is StableHLO as text or bytecode, HLO text, or an\n"
        "executable of `hilo compile`; - is standard input.\n"
        "\n"
        "Each --input gives the next parameter, or several:\n"
        "\n"
        "  x.npy           an array of numpy.save. Its type must be the parameter's; numpy writes types of\n"
        "                  ml_dtypes (bf16, f8…, i4) as raw bytes, which are read as the parameter's type\n"
        "  x.npz           arrays of numpy.savez: matched to parameters by name if all names match,\n"
        "                  otherwise in order\n"
        "  2x3xf32=1,2,…   elements in row-major order; a single element fills the array: 2x3xbf16=0. Complex\n"
        "                  numbers are (1,2). The bits of a float can be given as 0x7FC0\n"
        "  random:SEED     random numbers; as the only --input, for all parameters. Floats are in [0, 1), integers\n"
        "                  in 0..7 (within the type's range). Element k of parameter i is made from the bits\n"
        "                  splitmix64(splitmix64(SEED + i) + k), the same on every machine\n"
        "\n"
        "--timing prints the median and the minimum of N runs, the time to read, verify and compile the program, and\n"
        "the peak memory of all tensors; with --json as one line,\n"
        "\n"
        "  {\"median_ms\":…,\"min_ms\":…,\"compile_ms\":…,\"cached\":…,\"peak_bytes\":…,…}\n"
        "\n"
        "The first runs may have the code of the baseline generator, with the same results; --tier optimised times\n"
        "those of optimised code alone, as `hilo bench` does.\n",
    .examples = "  hilo run examples/add.mlir --input 4xf32=1,2,3,4 --input 4xf32=10\n"
                "  hilo run examples/digits/digits.mlir --input examples/digits/digits_weights.npz \\\n"
                "      --input examples/digits/digits_test_images.npy -o logits.npy\n"
                "  hilo run examples/mlp.mlir --input random:1 --compare reference\n"
                "  hilo run examples/mlp.mlir --input random:1 --timing 20 --json\n",
};
