/* hilo explain: the steps that a program is compiled to, and their times. */
#include "cli/cli.h"
#include "fuse/fuse.h"

#include <inttypes.h>
#include <stdlib.h>

struct explain_options {
    struct cli_compile compile;
    const char *entry, *out;
    struct cli_texts inputs;
    int64_t runs;
    bool run;
};

/* ---- the steps of a program ----------------------------------------------------------------- */

struct row {
    uint32_t step, group; /* group: steps that run concurrently, of which this is the first; 0: none */
    const char *kind, *name, *text, *ops, *where; /* "" = none */
    double flops, bytes; /* of one execution */
    double ms;           /* of all executions of a run: measured, or the compiler's estimate */
    double times;        /* executions per run */
};

struct explained {
    const char *file;
    const hilo_executable *exe;
    struct row *rows;  /* by step */
    uint32_t nrows;
    double total_ms;   /* of all rows */
    double runs;       /* that were measured; 0 = times are estimates for one thread, with one iteration of loops */
    const char *evaluated; /* why all of it runs on the reference evaluator; "" when it does not */
    uint64_t arguments, results, constants;
};

static struct row row_of(const struct plan *p, uint32_t step) {
    const struct plan_step *s = &p->steps[step];
    struct row r = {.step = step, .group = s->group,
                    .kind = plan_kind_name(s->kind), .name = "", .text = "", .ops = "", .where = "", .times = 1};
    if (s->kind == PLAN_KERNEL) {
        r.name = s->kernel->name;
        r.ms = s->kernel->ns * 1e-6;
    } else if (s->kind == PLAN_ROUTINE) {
        r.name = lib_match_name(s->routine);
        r.ms = s->routine->ns * 1e-6;
    }
    if (s->note) {
        r.text = s->note->text ? s->note->text : "";
        r.ops = s->note->ops;
        r.where = s->note->where;
        r.flops = s->note->flops;
    }
    for (uint32_t i = 0; i < s->nuses; i++)
        r.bytes += (double)p->buffers[s->uses[i].buffer].bytes * (s->uses[i].role == PLAN_INOUT ? 2 : 1);
    if (s->kind == PLAN_COPY)
        r.ms = r.bytes * 1e-7; /* 10 GB/s */
    return r;
}

/* Of the arguments or results whose types `get` returns; those of unknown sizes count as none. */
static uint64_t port_bytes(const hilo_executable *exe, hilo_status (*get)(const hilo_executable *, size_t, hilo_type *)) {
    uint64_t sum = 0;
    hilo_type t;
    for (size_t i = 0; get(exe, i, &t) == HILO_OK; i++) {
        uint64_t bytes = hilo_dtype_size(t.dtype);
        for (uint32_t k = 0; k < t.rank; k++)
            bytes *= t.dims[k] > 0 ? (uint64_t)t.dims[k] : 0;
        sum += bytes;
    }
    return sum;
}

/* Why the program is not compiled to kernels and routines. */
static void why_evaluated(const struct cli_compile *o, char *out, size_t size) {
    cli_codegen_missing(out, size);
    if (o->backend == HILO_BACKEND_REFERENCE)
        snprintf(out, size, "--backend reference");
    else if (!*out)
        snprintf(out, size, "it has dynamic shapes, which are compiled when a run brings them, or ops that have no kernels");
}

static void explain(const char *file, const hilo_executable *exe, struct explained *x) {
    const struct plan *p = rt_executable_plan(exe);
    *x = (struct explained){.file = file, .exe = exe, .rows = cli_alloc(p->nsteps, sizeof *x->rows), .nrows = p->nsteps};
    for (uint32_t i = 0; i < p->nsteps; i++) {
        x->rows[i] = p->evaluated
                         ? (struct row){.kind = plan_kind_name(PLAN_REFERENCE), .name = "", .text = "", .ops = "", .where = ""}
                         : row_of(p, i);
        x->total_ms += x->rows[i].ms;
    }
    x->arguments = port_bytes(exe, hilo_executable_input_type);
    x->results = port_bytes(exe, hilo_executable_output_type);
    for (uint32_t i = 0; i < p->nbuffers; i++)
        if (p->buffers[i].place == PLAN_CONSTANT && p->buffers[i].root == i)
            x->constants += p->buffers[i].bytes;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void on_step(void *user, const hilo_step_event *e) {
    struct explained *x = user;
    if (e->step >= x->nrows)
        return;
    x->rows[e->step].ms += e->end_ms - e->begin_ms;
    x->rows[e->step].times++;
}

static int slower(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    return x->ms != y->ms ? (x->ms < y->ms) - (x->ms > y->ms) : (x->step > y->step) - (x->step < y->step);
}

static hilo_status run_once(hilo_executable *exe, const hilo_execute_options *o, hilo_buffer **inputs, hilo_buffer **outputs) {
    size_t n = hilo_executable_output_count(exe);
    hilo_status status = hilo_execute(exe, o, inputs, hilo_executable_input_count(exe), outputs, n);
    for (size_t i = 0; i < n && status == HILO_OK; i++)
        hilo_buffer_release(outputs[i]);
    return status;
}

/* Runs the program once to warm up, then several times; sorts the rows by time. */
static int measure(hilo_client *client, hilo_executable *exe, const struct explain_options *o, struct explained *x) {
    static const char *const random[] = {"random:1"};
    struct cli_texts texts = o->inputs;
    if (!texts.n && hilo_executable_input_count(exe))
        texts = (struct cli_texts){(const char **)(uintptr_t)random, 1};
    hilo_buffer **inputs = NULL, **outputs = cli_alloc(hilo_executable_output_count(exe), sizeof *outputs);
    hilo_execute_options eo;
    hilo_execute_options_init(&eo);
    int code = cli_inputs(client, exe, &texts, x->file, &inputs);
    hilo_status status = code == CLI_OK ? run_once(exe, &eo, inputs, outputs) : HILO_OK;
    for (uint32_t i = 0; i < x->nrows; i++)
        x->rows[i].ms = x->rows[i].times = 0;
    eo.step = on_step;
    eo.step_user = x;
    x->runs = o->runs ? (double)o->runs : 5;
    for (int64_t i = 0; i < (int64_t)x->runs && code == CLI_OK && status == HILO_OK; i++) {
        if (cli_terminal(stderr))
            fprintf(stderr, "\r\033[Krun %lld of %.0f", (long long)i + 1, x->runs);
        status = run_once(exe, &eo, inputs, outputs);
    }
    if (cli_terminal(stderr))
        fputs("\r\033[K", stderr);
    if (status != HILO_OK)
        code = cli_fail(client, status);
    x->total_ms = 0;
    for (uint32_t i = 0; i < x->nrows; i++) {
        x->rows[i].ms /= x->runs;
        x->rows[i].times /= x->runs;
        x->total_ms += x->rows[i].ms;
    }
    qsort(x->rows, x->nrows, sizeof *x->rows, slower);
    for (size_t i = 0; inputs && i < hilo_executable_input_count(exe); i++)
        hilo_buffer_release(inputs[i]);
    free(inputs);
    free(outputs);
    return code;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "12.5 MB" */
static const char *size_text(double v, const char *unit, char *out, size_t size) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    int i = 0;
    for (; v >= 1000 && i < 4; i++)
        v /= 1000;
    snprintf(out, size, i ? "%.1f %s%s" : "%.0f %s%s", v, prefixes[i], unit);
    return out;
}

static void put_head(const struct explained *x, struct strbuf *out) {
    const struct plan *p = rt_executable_plan(x->exe);
    uint32_t n[PLAN_JUMP + 1] = {0};
    char a[32], b[32], c[32];
    for (uint32_t i = 0; i < p->nsteps; i++)
        n[p->steps[i].kind]++;
    strbuf_printf(out, "%s: %u kernels, %u routines, %u reference steps, %u copies, %u branches\n", x->file, n[PLAN_KERNEL],
                  n[PLAN_ROUTINE], n[PLAN_REFERENCE], n[PLAN_COPY], n[PLAN_TEST] + n[PLAN_SWITCH] + n[PLAN_JUMP]);
    if (p->evaluated)
        strbuf_printf(out, "the program runs on the reference evaluator: %s\n", x->evaluated);
    strbuf_printf(out, "arguments %s, results %s, constants %s\n", size_text((double)x->arguments, "B", a, sizeof a),
                  size_text((double)x->results, "B", b, sizeof b), size_text((double)x->constants, "B", c, sizeof c));
    strbuf_printf(out, "temporaries %s; peak live %s; scratch %s per thread\n",
                  size_text((double)p->block_bytes, "B", a, sizeof a), size_text((double)p->live_bytes, "B", b, sizeof b),
                  size_text((double)p->scratch_bytes, "B", c, sizeof c));
    if (x->runs > 0)
        strbuf_printf(out, "%.3f ms in steps, mean of %.0f runs\n", x->total_ms, x->runs);
    else
        strbuf_printf(out, "%.3f ms in steps, estimated for one thread and one iteration of each loop; --run measures\n",
                      x->total_ms);
}

static bool is_shown(const struct row *r) {
    return strcmp(r->kind, "test") != 0 && strcmp(r->kind, "switch") != 0 && strcmp(r->kind, "jump") != 0;
}

static double share(const struct explained *x, const struct row *r) {
    return x->total_ms > 0 ? 100 * r->ms / x->total_ms : 0;
}

static void put_rates(const struct row *r, struct strbuf *out, const char *between) {
    char a[32];
    bool timed = r->ms > 0 && r->times > 0;
    if (r->flops > 0) {
        strbuf_puts(out, size_text(r->flops, "flop", a, sizeof a));
        strbuf_puts(out, between);
    }
    if (r->flops > 0 && timed) {
        strbuf_puts(out, size_text(r->flops * r->times / r->ms * 1e3, "flop/s", a, sizeof a));
        strbuf_puts(out, between);
    }
    strbuf_puts(out, size_text(r->bytes, "B", a, sizeof a));
    if (timed) {
        strbuf_puts(out, between);
        strbuf_puts(out, size_text(r->bytes * r->times / r->ms * 1e3, "B/s", a, sizeof a));
    }
}

/* Explains the reasons after "materialised:", of those that occur. */
static void put_reasons(const struct explained *x, struct strbuf *out,
                        void (*put)(struct strbuf *out, const char *name, const char *text)) {
    for (int k = 0; k < FUSE_REASON_COUNT; k++) {
        const char *name = fuse_reason_name((enum fuse_reason)k);
        bool found = false;
        for (uint32_t i = 0; i < x->nrows && !found; i++) {
            const char *at = strstr(x->rows[i].text, "materialised:");
            size_t n = strlen(name);
            while (at && !found && (at = strstr(at + 1, name)) != NULL)
                found = at[-1] == ' ' && (at[-2] == ':' || at[-2] == ',') && strchr(",;", at[n]);
        }
        if (found)
            put(out, name, fuse_reason_text((enum fuse_reason)k));
    }
}

static void put_reason_line(struct strbuf *out, const char *name, const char *text) {
    strbuf_printf(out, "  %-24s %s\n", name, text);
}

static void put_text(const struct explained *x, struct strbuf *out) {
    put_head(x, out);
    strbuf_puts(out, "\n   ms        %  step\n");
    for (uint32_t i = 0; i < x->nrows; i++) {
        const struct row *r = &x->rows[i];
        if (!is_shown(r))
            continue;
        strbuf_printf(out, "%9.4f %5.1f  %u %s%s%s", r->ms, share(x, r), r->step, r->kind, *r->name ? " " : "", r->name);
        if (r->times > 1)
            strbuf_printf(out, " (%.0f times)", r->times);
        if (r->group)
            strbuf_printf(out, " (concurrent with the next %u)", r->group - 1);
        strbuf_puts(out, "  ");
        put_rates(r, out, ", ");
        strbuf_putc(out, '\n');
        if (*r->text)
            strbuf_printf(out, "%18s%s\n", "", r->text);
        if (*r->ops || *r->where)
            strbuf_printf(out, "%18s%s%s%s\n", "", r->ops, *r->ops && *r->where ? "; " : "", r->where);
    }
    strbuf_puts(out, "\nwhy values are materialised:\n");
    put_reasons(x, out, put_reason_line);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

static void put_html(struct strbuf *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<': strbuf_puts(out, "&lt;"); break;
        case '>': strbuf_puts(out, "&gt;"); break;
        case '&': strbuf_puts(out, "&amp;"); break;
        case '"': strbuf_puts(out, "&quot;"); break;
        default: strbuf_putc(out, *text);
        }
}

static void put_reason_row(struct strbuf *out, const char *name, const char *text) {
    strbuf_puts(out, "<tr><td>");
    put_html(out, name);
    strbuf_puts(out, "</td><td>");
    put_html(out, text);
    strbuf_puts(out, "</td></tr>\n");
}

static const char style[] =
    "body{font:14px/1.4 sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse}"
    "td,th{text-align:left;vertical-align:top;padding:.3em .8em;border-bottom:1px solid #ddd}"
    "td.n{text-align:right;white-space:nowrap}.bar{background:#48c;height:.5em}.dim{color:#666}"
    "pre{background:#f4f4f4;padding:1em}";

static void put_page(const struct explained *x, struct strbuf *out) {
    struct strbuf head;
    strbuf_init(&head, mem_system_allocator());
    put_head(x, &head);
    strbuf_printf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hilo explain</title>\n"
                       "<style>%s</style></head>\n<body>\n<h1>hilo explain</h1>\n<pre>", style);
    put_html(out, head.p ? head.p : "");
    strbuf_puts(out, "</pre>\n<table>\n<tr><th>step</th><th>ms</th><th>share</th><th>work</th><th>what</th></tr>\n");
    for (uint32_t i = 0; i < x->nrows; i++) {
        const struct row *r = &x->rows[i];
        if (!is_shown(r))
            continue;
        strbuf_printf(out, "<tr><td>%u %s ", r->step, r->kind);
        put_html(out, r->name);
        strbuf_printf(out, "</td><td class=\"n\">%.4f", r->ms);
        if (r->times > 1)
            strbuf_printf(out, "<br><span class=\"dim\">%.0f times</span>", r->times);
        strbuf_printf(out, "</td><td class=\"n\">%.1f %%<div class=\"bar\" style=\"width:%.1fpx\"></div></td><td class=\"n\">",
                      share(x, r), share(x, r));
        put_rates(r, out, "<br>");
        strbuf_puts(out, "</td><td>");
        put_html(out, r->text);
        strbuf_puts(out, *r->text ? "<br>" : "");
        put_html(out, r->ops);
        strbuf_puts(out, "<br><span class=\"dim\">");
        put_html(out, r->where);
        strbuf_puts(out, "</span></td></tr>\n");
    }
    strbuf_puts(out, "</table>\n<h2>Why values are materialised</h2>\n<table>\n");
    put_reasons(x, out, put_reason_row);
    strbuf_puts(out, "</table>\n</body></html>\n");
    out->failed |= head.failed;
    strbuf_free(&head);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int report(const struct explained *x, const char *path) {
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    (path ? put_page : put_text)(x, &out);
    int code = cli_write(path, &out);
    strbuf_free(&out);
    return code;
}

static int explain_file(const char *file, const struct explain_options *o) {
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    int code = cli_client(&o->compile, &client);
    if (code == CLI_OK)
        code = cli_compile_program(client, &o->compile, o->entry, file, &exe);
    if (code == CLI_OK) {
        struct explained x;
        char why[512];
        explain(file, exe, &x);
        why_evaluated(&o->compile, why, sizeof why);
        x.evaluated = rt_executable_plan(exe)->evaluated ? why : "";
        if (o->run)
            code = measure(client, exe, o, &x);
        if (code == CLI_OK)
            code = report(&x, o->out);
        free(x.rows);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
    return code;
}

static int explain_main(const struct cli_command *self, int argc, char **argv) {
    struct explain_options o = {.compile = CLI_COMPILE_DEFAULTS};
    struct cli_texts files;
    o.compile.no_cache = true; /* a cached executable lacks the notes of its steps */
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && !o.run && (o.inputs.n || o.runs))
        code = cli_error(CLI_USAGE, "--input and --runs need --run");
    if (code < 0)
        code = explain_file(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

static const struct cli_option options[] = {
    {"-o", "OUT", CLI_TEXT, offsetof(struct explain_options, out), "write an HTML page to this file"},
    {"--run", NULL, CLI_FLAG, offsetof(struct explain_options, run), "run the program, measure its steps, sort them by time"},
    {"--runs", "N", CLI_NUMBER, offsetof(struct explain_options, runs),
     "number of measured runs, after one that warms up; default 5"},
    {"--input", "X", CLI_TEXTS, offsetof(struct explain_options, inputs),
     "value of the next parameter, as for `hilo run`;\ndefault random:1 for all"},
    {"--entry", "NAME", CLI_TEXT, offsetof(struct explain_options, entry),
     "function to explain; default: main, or the only public one"},
    CLI_COMPILE_OPTIONS(struct explain_options, compile),
    {0}};

const struct cli_command cli_explain = {
    .name = "explain", .operands = "FILE", .least = 1, .most = 1, .options = options, .run = explain_main,
    .summary = "shows the steps of a compiled program and their times",
    .text =
        "Shows the steps that a program is compiled to: the operations of each and their source lines, its cost, the\n"
        "name of the pattern (softmax, attention), and why its results are materialised instead of being fused into\n"
        "their users; and the memory of the program: temporaries, and the most that is live at one time. Times are\n"
        "the compiler's estimates, or with --run measured.\n",
    .examples = "  hilo explain examples/mlp.mlir\n"
                "  hilo explain examples/mlp.mlir --run --threads 1\n"
                "  hilo explain examples/mlp.mlir --run --input random:7 -o report.html\n",
};
