/* hilo explain: the steps that a program is compiled to, and their times. */
#include "cli/explain.h"
#include "fuse/fuse.h"
#include "kir/kir.h"
#include "target/target.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_PARTITIONS = 4096 }; /* that the partitioner takes */

struct explain_options {
    struct cli_compile compile;
    const char *entry, *out, *link;
    struct cli_texts inputs;
    int64_t runs, partitions;
    bool run, json, partition;
};

/* ---- the steps of a program ----------------------------------------------------------------- */

/* Bytes that a process of a group gets of the others, at most. */
static double received(const struct plan *p, const struct plan_step *s) {
    double in = 0, out = 0, members = (double)s->collective->groups.cols;
    for (uint32_t i = 0; i < s->nuses; i++)
        *(s->uses[i].role == PLAN_IN ? &in : &out) += (double)p->buffers[s->uses[i].buffer].bytes;
    switch (s->collective->kind) {
    case PLAN_ALL_GATHER: return out - in;
    case PLAN_ALL_TO_ALL: return members > 0 ? out - out / members : out; /* no groups: of all processes */
    case PLAN_BROADCAST:
    case PLAN_PERMUTE: return out;
    case PLAN_REPLICA_ID:
    case PLAN_PARTITION_ID:
    case PLAN_NEXCHANGES: break;
    }
    return 0;
}

/* A step that is not the processor's. */
static void row_on_gpu(struct explained *x, const struct plan *p, const struct target *t, struct explain_row *r) {
    const struct plan_step *s = &p->steps[r->step];
    if (plan_is_transfer(p, s)) {
        const struct plan_buffer *to = &p->buffers[s->uses[1].buffer];
        r->name = to->space == PLAN_DEVICE ? "to the GPU" : "to the host";
        r->bytes = (double)to->bytes;
        r->ms = r->bytes / t->link_rate * 1e-6;
        x->transfers++;
        x->transferred += r->bytes;
    } else if (s->kind == PLAN_KERNEL) {
        r->launch = s->kernel->library ? NULL : &s->kernel->gpu;
        r->name = s->kernel->library ? s->kernel->library->name : r->name;
        x->launches++;
    } else {
        r->name = s->routine ? r->name : "on the GPU";
        r->ms = r->bytes / t->memory_rate * 1e-6;
    }
}

static bool is_on_gpu(const struct plan *p, uint32_t step) {
    return !p->evaluated && (plan_on_device(p, &p->steps[step]) || plan_is_transfer(p, &p->steps[step]));
}

static struct explain_row row_of(const struct plan *p, uint32_t step) {
    const struct plan_step *s = &p->steps[step];
    struct explain_row r = {.step = step, .group = s->group,
                            .kind = s->init ? "init kernel" : plan_kind_name(s->kind), .name = "", .text = "",
                            .ops = "", .where = "", .times = 1};
    if (s->kind == PLAN_KERNEL) {
        r.name = s->kernel->name;
        r.ms = s->init ? 0 : s->kernel->ns * 1e-6; /* init steps do not run each time */
    } else if (s->kind == PLAN_ROUTINE) {
        r.name = lib_match_name(s->routine);
        r.ms = s->routine->ns * 1e-6;
    } else if (s->collective) {
        r.name = plan_exchange_name(s->collective->kind);
        r.half = s->collective->number;
        r.received = s->kind == PLAN_COLLECTIVE ? received(p, s) : 0;
    }
    if (s->note) {
        r.text = s->note->text ? s->note->text : "";
        r.ops = s->note->ops;
        r.where = s->note->where;
        r.flops = s->note->flops;
    }
    for (uint32_t i = 0; i < s->nuses && s->kind != PLAN_DONE; i++)
        r.bytes += s->uses[i].reads ? (double)s->uses[i].reads
                                    : (double)p->buffers[s->uses[i].buffer].bytes * (s->uses[i].role == PLAN_INOUT ? 2 : 1);
    if (s->kind == PLAN_COPY)
        r.ms = r.bytes * 1e-7; /* 10 GB/s */
    return r;
}

const char *explain_tier(const struct explained *x, const struct explain_row *r) {
    const struct plan_step *s = &rt_executable_plan(x->exe)->steps[r->step];
    if (s->kind != PLAN_KERNEL || !plan_kernel_fn(s->kernel))
        return "";
    return atomic_load(&s->kernel->tier) == PLAN_BASELINE ? "baseline" : "optimised";
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

/* The record of the machine that kernels are for. */
static void find_record(const char *target_cpu, struct target *out) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    bool named = target_cpu && strcmp(target_cpu, "native") != 0;
    if ((named ? target_named(target_cpu, out, &d) : target_host(out, &d)) != HILO_OK)
        target_portable(out);
    diag_clear(&d);
}

/* The steps that use each buffer. One that is used in a loop and before it is needed in all of it: it is a state, or every
   iteration reads it. */
static void live_ranges(const struct plan *p, struct explain_live *live) {
    for (uint32_t i = 0; i < p->nbuffers; i++)
        live[i] = (struct explain_live){UINT32_MAX, 0};
    for (uint32_t i = 0; i < p->nsteps; i++)
        for (uint32_t k = 0; k < p->steps[i].nuses; k++) {
            struct explain_live *l = &live[p->buffers[p->steps[i].uses[k].buffer].root];
            l->first = i < l->first ? i : l->first;
            l->last = i > l->last ? i : l->last;
        }
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].kind == PLAN_JUMP && p->steps[i].targets[0] <= i) /* the end of a loop */
            for (uint32_t k = 0; k < p->nbuffers; k++)
                if (live[k].first < p->steps[i].targets[0] && live[k].last >= p->steps[i].targets[0] && live[k].last < i)
                    live[k].last = i;
}

static void explain(const char *file, const hilo_executable *exe, const struct target *t, struct explained *x) {
    const struct plan *p = rt_executable_plan(exe);
    *x = (struct explained){.file = file, .exe = exe, .rows = cli_alloc(p->nsteps, sizeof *x->rows), .nrows = p->nsteps};
    x->gpu = rt_executable_gpu(exe);
    x->live = cli_alloc(p->nbuffers, sizeof *x->live);
    live_ranges(p, x->live);
    int32_t open = 0; /* exchanges between their halves */
    for (uint32_t i = 0; i < p->nsteps; i++) {
        x->rows[i] = p->evaluated ? (struct explain_row){.kind = plan_kind_name(PLAN_REFERENCE), .name = "", .text = "",
                                                         .ops = "", .where = "", .times = 1}
                                  : row_of(p, i);
        if (is_on_gpu(p, i))
            row_on_gpu(x, p, t, &x->rows[i]);
        x->total_ms += x->rows[i].ms;
        const struct plan_step *s = &p->steps[i];
        open += s->collective && s->collective->number ? (s->kind == PLAN_COLLECTIVE ? 1 : -1) : 0;
        x->overlapped += open > 0 && (s->kind == PLAN_KERNEL || s->kind == PLAN_ROUTINE);
        x->overlapped_ms += open > 0 ? x->rows[i].ms : 0;
    }
    x->arguments = port_bytes(exe, hilo_executable_input_type);
    x->results = port_bytes(exe, hilo_executable_output_type);
    for (uint32_t i = 0; i < p->nbuffers; i++)
        if (p->buffers[i].place == PLAN_CONSTANT && p->buffers[i].root == i)
            x->constants += p->buffers[i].bytes;
    x->constants += plan_init_bytes(p);
}

/* ---- tasks ------------------------------------------------------------------------------------- */

/* Of equal tasks, all threads taking the next one until none is left. */
static double speedup_of(double tasks, int32_t threads) {
    double rounds = ceil(tasks / threads);
    return tasks > 0 ? tasks / rounds : 1;
}

/* Fills in tasks and speed-ups, of rows by step. How a routine divides its work only a run shows; until then it has no
   tasks and does not count in the speed-up of all. */
static void predict(struct explained *x) {
    const struct plan *p = rt_executable_plan(x->exe);
    double one = 0, all = 0;
    int32_t most = (int32_t)target_threads();
    for (uint32_t i = 0, grouped = 0; i < x->nrows; i++) {
        struct explain_row *r = &x->rows[i];
        const struct plan_step *s = &p->steps[i];
        if (is_on_gpu(p, i)) {
            r->speedup = 1;
            continue;
        }
        if (grouped) { /* a member of a group: as its first */
            r->speedup = x->rows[i - 1].speedup;
            grouped--;
        } else {
            struct rt_split split = p->evaluated ? (struct rt_split){1, 1} : rt_step_split(p, i, x->threads);
            if (s->kind != PLAN_ROUTINE || s->routine->alone || s->routine->ns < PLAN_SHARED_NS)
                r->tasks = (double)split.pieces;
            r->speedup = speedup_of(r->tasks, x->threads);
            if (s->kind == PLAN_KERNEL && !s->group && split.pieces > 1) { /* the last task is shorter */
                int64_t rounds = (split.pieces + x->threads - 1) / x->threads, last = s->kernel->grid % split.each;
                bool alone = last && split.pieces % x->threads == 1;
                r->speedup = (double)s->kernel->grid / (double)(rounds * split.each - (alone ? split.each - last : 0));
            }
            grouped = s->group ? s->group - 1 : 0;
        }
        if (s->kind == PLAN_ROUTINE && r->tasks <= 0) {
            x->unknown++;
            continue;
        }
        double serial = r->ms * (x->runs > 0 ? fmin(r->speedup, most) : 1);
        one += serial;
        all += serial / r->speedup;
    }
    x->speedup = all > 0 ? one / all : 1;
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
    const struct explain_row *x = a, *y = b;
    return x->ms != y->ms ? (x->ms < y->ms) - (x->ms > y->ms) : (x->step > y->step) - (x->step < y->step);
}

static hilo_status run_once(hilo_executable *exe, const hilo_execute_options *o, hilo_buffer **inputs, hilo_buffer **outputs) {
    size_t n = hilo_executable_output_count(exe);
    hilo_status status = hilo_execute(exe, o, inputs, hilo_executable_input_count(exe), outputs, n);
    for (size_t i = 0; i < n && status == HILO_OK; i++)
        hilo_buffer_release(outputs[i]);
    return status;
}

/* Collects the tasks of a run, which several threads tell of. */
struct collector {
    pthread_mutex_t lock;
    struct explained *x;
    pthread_t threads[1024];
    uint32_t nthreads;
    size_t cap;
};

static void on_task(void *user, const hilo_task_event *e) {
    struct collector *c = user;
    struct explained *x = c->x;
    uint32_t thread = 0;
    pthread_mutex_lock(&c->lock);
    while (thread < c->nthreads && !pthread_equal(c->threads[thread], pthread_self()))
        thread++;
    if (thread == c->nthreads && c->nthreads < sizeof c->threads / sizeof *c->threads)
        c->threads[c->nthreads++] = pthread_self();
    if (x->ntasks == c->cap) {
        c->cap = 2 * c->cap + 256;
        struct explain_task *v = cli_alloc(c->cap, sizeof *v);
        if (x->ntasks)
            memcpy(v, x->tasks, x->ntasks * sizeof *v);
        free(x->tasks);
        x->tasks = v;
    }
    x->tasks[x->ntasks++] = (struct explain_task){e->step, thread, e->begin_ms, e->end_ms};
    pthread_mutex_unlock(&c->lock);
}

/* One more run, whose tasks are kept; those of routines count for an execution. Rows by step. */
static hilo_status collect(hilo_executable *exe, hilo_buffer **inputs, hilo_buffer **outputs, struct explained *x) {
    struct collector *c = cli_alloc(1, sizeof *c);
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    c->x = x;
    o.task = on_task;
    o.task_user = c;
    pthread_mutex_init(&c->lock, NULL);
    hilo_status status = run_once(exe, &o, inputs, outputs);
    pthread_mutex_destroy(&c->lock);
    free(c);
    const struct plan *p = rt_executable_plan(exe);
    for (size_t i = 0; i < x->ntasks; i++) {
        struct explain_row *r = &x->rows[x->tasks[i].step];
        if (p->steps[r->step].kind == PLAN_ROUTINE && r->times > 0)
            r->tasks += 1 / r->times;
    }
    return status;
}

/* The best time of some runs of a small program, in ms; 0 where it cannot be run. */
static double time_program(hilo_client *client, const char *text) {
    hilo_module *m = NULL;
    hilo_executable *exe = NULL;
    hilo_buffer *in[2] = {NULL}, *out[1];
    hilo_compile_options co;
    hilo_execute_options o;
    double best = 0;
    hilo_compile_options_init(&co);
    hilo_execute_options_init(&o);
    co.tier = HILO_TIER_OPTIMISED;
    hilo_status status = hilo_module_parse(client, text, strlen(text), NULL, &m);
    if (status == HILO_OK)
        status = hilo_compile(client, m, &co, &exe);
    for (size_t i = 0; i < 2 && status == HILO_OK; i++) {
        hilo_type t;
        status = hilo_executable_input_type(exe, i, &t);
        size_t bytes = status == HILO_OK ? (size_t)(t.dims[0] * t.dims[1]) * sizeof(float) : 0;
        void *zeros = cli_alloc(bytes, 1);
        if (status == HILO_OK)
            status = hilo_buffer_from_host(client, t.dtype, t.dims, t.rank, zeros, NULL, &in[i]);
        free(zeros);
    }
    for (int i = 0; i < 12 && status == HILO_OK; i++) {
        double begin = rt_now_ms();
        status = run_once(exe, &o, in, out);
        double ms = rt_now_ms() - begin;
        best = i == 0 || ms < best ? ms : best;
    }
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
    hilo_executable_release(exe);
    hilo_module_release(m);
    return status == HILO_OK ? best : 0;
}

/* The rates that a product and a sum of large matrices reach, with the threads of the client. */
static void measure_rates(hilo_client *client, struct explained *x) {
#define MATRICES(n, op)                                                                                              \
    "func.func @main(%a: tensor<" n "xf32>, %b: tensor<" n "xf32>) -> tensor<" n "xf32> {\n  %r = " op               \
    "tensor<" n "xf32>\n  return %r : tensor<" n "xf32>\n}\n"
    double product = time_program(client, MATRICES("768x768", "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
                                                              "(tensor<768x768xf32>, tensor<768x768xf32>) -> "));
    double sum = time_program(client, MATRICES("4096x4096", "stablehlo.add %a, %b : "));
    if (product > 0)
        x->flop_rate = 2 * 768.0 * 768 * 768 / product;
    if (sum > 0)
        x->byte_rate = 3 * 4096.0 * 4096 * sizeof(float) / sum;
}

/* Runs the program once to warm up, then several times. */
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
    if (code == CLI_OK && status == HILO_OK && (status = collect(exe, inputs, outputs, x)) != HILO_OK)
        code = cli_fail(client, status);
    if (code == CLI_OK && !x->gpu) /* whose runs end after they return */
        measure_rates(client, x);
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

static void put_gpu_code(const struct explained *x, struct strbuf *out) {
    const struct rt_gpu_code code = rt_executable_gpu_code(x->exe);
    char a[32], b[32];
    strbuf_printf(out, "code: %s of PTX", size_text((double)code.ptx_bytes, "B", a, sizeof a));
    if (code.cubin_bytes)
        strbuf_printf(out, ", %s of cubins", size_text((double)code.cubin_bytes, "B", b, sizeof b));
    strbuf_puts(out, code.runs_cubins ? "; the device runs the cubins\n"
                     : code.loaded    ? "; the driver has compiled the PTX\n"
                                      : "\n");
}

void explain_head(const struct explained *x, struct strbuf *out) {
    const struct plan *p = rt_executable_plan(x->exe);
    uint32_t n[PLAN_JUMP + 1] = {0}, transposes = 0;
    double transposed = 0;
    const struct plan_memory *memory = &p->memory[plan_main_space(p)];
    char a[32], b[32], c[32];
    double received = 0;
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const struct plan_note *note = p->steps[i].note;
        received += x->rows[i].received;
        n[p->steps[i].kind]++;
        transposes += note ? note->transposes : 0;
        transposed += note ? note->transposed_bytes : 0;
    }
    strbuf_printf(out, "%s: %u kernels, %u routines, %u reference steps, %u copies, %u branches\n", x->file, n[PLAN_KERNEL],
                  n[PLAN_ROUTINE], n[PLAN_REFERENCE], n[PLAN_COPY], n[PLAN_TEST] + n[PLAN_SWITCH] + n[PLAN_JUMP]);
    if (p->evaluated)
        strbuf_printf(out, "the program runs on the reference evaluator: %s\n", x->evaluated);
    strbuf_printf(out, "arguments %s, results %s, constants %s\n", size_text((double)x->arguments, "B", a, sizeof a),
                  size_text((double)x->results, "B", b, sizeof b), size_text((double)x->constants, "B", c, sizeof c));
    strbuf_printf(out, "temporaries %s; peak live %s; scratch %s per thread\n",
                  size_text((double)memory->block_bytes, "B", a, sizeof a),
                  size_text((double)memory->live_bytes, "B", b, sizeof b),
                  size_text((double)memory->scratch_bytes, "B", c, sizeof c));
    if (x->gpu)
        strbuf_printf(out, "for a GPU, %s: %u launches; %u transfers of %s\n", x->gpu, x->launches, x->transfers,
                      size_text(x->transferred, "B", a, sizeof a));
    if (x->gpu && !p->evaluated)
        put_gpu_code(x, out);
    if (transposes)
        strbuf_printf(out, "%u transposes, of %s; the layouts of convolutions are given at their steps\n", transposes,
                      size_text(transposed, "B", a, sizeof a));
    if (x->parts)
        strbuf_printf(out, "%s\n", x->parts);
    if (n[PLAN_COLLECTIVE])
        strbuf_printf(out, "%u collectives, by which a process receives %s\n", n[PLAN_COLLECTIVE],
                      size_text(received, "B", a, sizeof a));
    if (n[PLAN_DONE])
        strbuf_printf(out, "%u of them overlap with %u other steps, of %.3f ms\n", n[PLAN_DONE], x->overlapped,
                      x->overlapped_ms);
    if (x->link)
        strbuf_printf(out, "a model, link %s: %.3f ms on %d threads, of which %.3f ms are waits for exchanges; "
                      "%.3f ms without overlap\n", x->link, x->step_ms, x->threads, x->waits_ms, x->serial_ms);
    if (x->runs > 0)
        strbuf_printf(out, "%.3f ms in steps, mean of %.0f runs\n", x->total_ms, x->runs);
    else
        strbuf_printf(out, "%.3f ms in steps, estimated for one thread and one iteration of each loop; --run measures\n",
                      x->total_ms);
    strbuf_printf(out, "the tasks of the steps let %d threads be %.1f times as fast as one", x->threads, x->speedup);
    if (x->unknown)
        strbuf_printf(out, ", but for %u routine%s whose tasks a run shows", x->unknown, x->unknown > 1 ? "s" : "");
    strbuf_putc(out, '\n');
}

bool explain_is_shown(const struct explain_row *r) {
    return strcmp(r->kind, "test") != 0 && strcmp(r->kind, "switch") != 0 && strcmp(r->kind, "jump") != 0;
}

static double share(const struct explained *x, const struct explain_row *r) {
    return x->total_ms > 0 ? 100 * r->ms / x->total_ms : 0;
}

static void put_rates(const struct explain_row *r, struct strbuf *out, const char *between) {
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
void explain_reasons(const struct explained *x, struct strbuf *out,
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

/* What the interpreter counted, of one execution of each kernel. */
static void put_counts(const struct plan *p, struct strbuf *out) {
    bool any = false;
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const struct plan_kernel *k = p->steps[i].kind == PLAN_KERNEL ? p->steps[i].kernel : NULL;
        double iterations = k && k->interpret ? (double)atomic_load(&k->kir->counts[KIR_COUNT_ITERATIONS]) : 0;
        if (iterations == 0)
            continue;
        strbuf_printf(out, "%s  %s", any ? "" : "\nexecuted, elements:\n", k->name);
        any = true;
        for (enum kir_count c = 0; c < KIR_COUNT_ITERATIONS; c++) {
            double n = (double)atomic_load(&k->kir->counts[c]) / iterations * (double)k->grid;
            if (n > 0)
                strbuf_printf(out, ", %s %.0f", kir_count_name(c), n);
        }
        strbuf_putc(out, '\n');
    }
}

static void put_text(const struct explained *x, struct strbuf *out) {
    explain_head(x, out);
    if (rt_executable_plan(x->exe)->placement)
        strbuf_printf(out, "placement: %s\n", rt_executable_plan(x->exe)->placement);
    strbuf_puts(out, "\n   ms        %  step\n");
    for (uint32_t i = 0; i < x->nrows; i++) {
        const struct explain_row *r = &x->rows[i];
        char a[32], received[32];
        if (!explain_is_shown(r))
            continue;
        strbuf_printf(out, "%9.4f %5.1f  %u %s%s%s", r->ms, share(x, r), r->step, r->kind, *r->name ? " " : "", r->name);
        if (*explain_tier(x, r))
            strbuf_printf(out, ", %s", explain_tier(x, r));
        if (r->half)
            strbuf_printf(out, " %s%u", r->received > 0 ? "start " : "", r->half);
        if (r->times > 1)
            strbuf_printf(out, " (%.0f times)", r->times);
        if (r->group)
            strbuf_printf(out, " (concurrent with the next %u)", r->group - 1);
        strbuf_puts(out, "  ");
        put_rates(r, out, ", ");
        if (r->received > 0)
            strbuf_printf(out, ", %s received", size_text(r->received, "B", received, sizeof received));
        if (r->tasks > 0)
            strbuf_printf(out, ", %.0f task%s, speed-up %.1f of %d", r->tasks, r->tasks > 1 ? "s" : "", r->speedup, x->threads);
        strbuf_putc(out, '\n');
        if (*r->text)
            strbuf_printf(out, "%18s%s\n", "", r->text);
        if (r->launch)
            strbuf_printf(out, "%18son the GPU: %u block%s of %u threads, %s of shared memory\n", "", r->launch->blocks,
                          r->launch->blocks == 1 ? "" : "s", r->launch->threads,
                          size_text(r->launch->shared_bytes, "B", a, sizeof a));
        if (*r->ops || *r->where)
            strbuf_printf(out, "%18s%s%s%s\n", "", r->ops, *r->ops && *r->where ? "; " : "", r->where);
    }
    strbuf_puts(out, "\nwhy values are materialised:\n");
    explain_reasons(x, out, put_reason_line);
    put_counts(rt_executable_plan(x->exe), out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_with(void (*put)(const struct explained *, struct strbuf *), const struct explained *x, const char *path) {
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    put(x, &out);
    int code = cli_write(path, &out);
    strbuf_free(&out);
    return code;
}

/* By the rates of x; of a program for a GPU whose record is `t`, of the link for transfers, of the host for its steps. */
static void set_roofs(struct explained *x, const struct target *t) {
    const struct plan *p = rt_executable_plan(x->exe);
    struct target host;
    find_record(NULL, &host);
    for (uint32_t i = 0; i < x->nrows; i++) {
        struct explain_row *r = &x->rows[i];
        double flop_rate = x->flop_rate, byte_rate = x->byte_rate;
        if (x->gpu && !p->evaluated && plan_is_transfer(p, &p->steps[i])) {
            byte_rate = t->link_rate * 1e6;
        } else if (x->gpu && !is_on_gpu(p, i)) {
            flop_rate = host.compute_rate * 1e6;
            byte_rate = host.memory_rate * 1e6;
        }
        r->roof_ms = r->times * fmax(r->flops / flop_rate, r->bytes / byte_rate);
    }
}

/* What --run has filled in, and what follows from it. */
static int report(struct explained *x, const struct target *t, const struct explain_options *o) {
    predict(x);
    set_roofs(x, t);
    if (x->link) {
        struct explain_link link;
        if (!explain_link_read(x->link, &link))
            return cli_error(CLI_USAGE, "--link: '%s' is not LAT,BW or LAT,BW,MSG", x->link);
        explain_with_link(x, &link);
    }
    if (x->runs > 0)
        qsort(x->rows, x->nrows, sizeof *x->rows, slower);
    int code = o->out ? write_with(explain_page, x, o->out) : CLI_OK;
    if (code == CLI_OK && (o->json || !o->out))
        code = write_with(o->json ? explain_json : put_text, x, NULL);
    return code;
}

/* The program of one partition, compiled; what is divided is added to `parts`. */
static int compile_partition(hilo_client *client, const char *file, const struct explain_options *o, struct strbuf *parts,
                             hilo_executable **exe) {
    hilo_module *module = NULL;
    hilo_compile_options c;
    int code = cli_load(client, file, &module);
    if (code == CLI_OK)
        code = cli_partition(client, module, o->entry, o->partitions);
    if (code == CLI_OK) {
        cli_partition_text(module, parts);
        cli_compile_options(&o->compile, o->entry, &c);
        hilo_status status = hilo_compile(client, module, &c, exe);
        code = status == HILO_OK ? CLI_OK : cli_fail(client, status);
    }
    hilo_module_release(module);
    return code;
}

static int explain_file(const char *file, const struct explain_options *o) {
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    struct strbuf parts;
    int code = cli_client(&o->compile, &client);
    strbuf_init(&parts, mem_system_allocator());
    if (code == CLI_OK && o->partition)
        code = compile_partition(client, file, o, &parts, &exe);
    else if (code == CLI_OK)
        code = cli_compile_program(client, &o->compile, o->entry, file, &exe);
    if (code == CLI_OK) {
        struct explained x;
        struct target t;
        char why[512];
        find_record(rt_executable_gpu(exe) ? rt_executable_gpu(exe) : o->compile.target_cpu, &t);
        explain(file, exe, &t, &x);
        x.threads = hilo_client_threads(client);
        x.flop_rate = t.compute_rate * 1e6;
        x.byte_rate = t.memory_rate * 1e6;
        why_evaluated(&o->compile, why, sizeof why);
        x.link = o->link;
        strbuf_putc(&parts, '\0');
        x.parts = o->partition ? parts.p : NULL;
        x.evaluated = rt_executable_plan(exe)->evaluated ? why : "";
        if (o->run)
            code = measure(client, exe, o, &x);
        if (code == CLI_OK)
            code = report(&x, &t, o);
        free(x.rows);
        free(x.tasks);
        free(x.live);
    }
    strbuf_free(&parts);
    hilo_executable_release(exe);
    hilo_client_release(client);
    return code;
}

static int explain_main(const struct cli_command *self, int argc, char **argv) {
    struct explain_options o = {.compile = CLI_COMPILE_DEFAULTS};
    struct cli_texts files;
    o.compile.tier = HILO_TIER_OPTIMISED;
    o.compile.no_cache = true; /* a cached executable lacks the notes of its steps */
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0 && !o.run && (o.inputs.n || o.runs))
        code = cli_error(CLI_USAGE, "--input and --runs need --run");
    if (code < 0 && (o.partitions < 0 || o.partitions > MOST_PARTITIONS))
        code = cli_error(CLI_USAGE, "--partitions: a number from 1 to %d is expected", MOST_PARTITIONS);
    o.partition |= o.partitions > 0;
    if (code < 0 && o.run && o.partition)
        code = cli_error(CLI_USAGE, "--partition is for the compiler's estimates: --run would need all partitions");
    if (code < 0 && o.run && o.link)
        code = cli_error(CLI_USAGE, "--link is for the compiler's estimates; --run measures");
    if (code < 0)
        code = explain_file(files.v[0], &o);
    cli_options_free(self, &o, &files);
    return code;
}

static const struct cli_option options[] = {
    {"-o", "OUT", CLI_TEXT, offsetof(struct explain_options, out),
     "write an HTML page to this file: the steps as a graph,\ntheir times and limits, memory, and the tasks of threads"},
    {"--json", NULL, CLI_FLAG, offsetof(struct explain_options, json), "print all of it as JSON"},
    {"--run", NULL, CLI_FLAG, offsetof(struct explain_options, run), "run the program, measure its steps, sort them by time"},
    {"--runs", "N", CLI_NUMBER, offsetof(struct explain_options, runs),
     "number of measured runs, after one that warms up; default 5"},
    {"--input", "X", CLI_TEXTS, offsetof(struct explain_options, inputs),
     "value of the next parameter, as for `hilo run`;\ndefault random:1 for all"},
    {"--partition", NULL, CLI_FLAG, offsetof(struct explain_options, partition),
     "explain the program of one partition, by its shardings:\nwhat is divided, its collectives, and what they bring"},
    {"--partitions", "N", CLI_NUMBER, offsetof(struct explain_options, partitions),
     "the same as of N partitions: the first axis of its mesh\nbecomes as large as that takes"},
    {"--link", "LAT,BW", CLI_TEXT, offsetof(struct explain_options, link),
     "also what a step takes, by a model, with a link between the\nprocesses of this latency (microseconds) and rate (GB/s);\n"
     "LAT,BW,MSG: and with this time (microseconds) for each message"},
    {"--entry", "NAME", CLI_TEXT, offsetof(struct explain_options, entry),
     "function to explain; default: main, or the only public one"},
    CLI_COMPILE_OPTIONS(struct explain_options, compile),
    CLI_TIER_OPTION(struct explain_options, compile, "optimised"),
    {0}};

const struct cli_command cli_explain = {
    .name = "explain", .operands = "FILE", .least = 1, .most = 1, .options = options, .run = explain_main,
    .summary = "shows the steps of a compiled program and their times",
    .text =
        "Shows the steps that a program is compiled to: the operations of each and their source lines, its cost, the\n"
        "name of the pattern (softmax, attention), and why its results are materialised instead of being fused into\n"
        "their users; and the memory of the program: temporaries, and the most that is live at one time. Times are\n"
        "the compiler's estimates, or with --run measured. For each step it shows into how many tasks the given number of\n"
        "threads would divide it, and how many times as fast as one thread they would be, by the number and sizes of the\n"
        "tasks; --threads may be more than this machine has. How a routine is divided only a run shows.\n",
    .examples = "  hilo explain examples/mlp.mlir\n"
                "  hilo explain examples/mlp.mlir --run --threads 1\n"
                "  hilo explain examples/mlp.mlir --run --input random:7 -o report.html\n",
};
