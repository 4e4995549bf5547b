/* libFuzzer target: random programs compute the same by the evaluator and compiled at every level, within what numbers allow
 * (random_graph.h), the same bits for 1 thread and for 3, and the same with less memory where that is possible. Of the
 * environment: LEVELS, such as 03, sets the levels, DEVICE where programs run, MACHINE the file of a machine whose units their
 * steps are placed on. TARGET, such as sm_80, makes kernels for another machine: these run by the interpreter and, with the
 * same bits, as this machine's code. */
#include "random_graph.h"

#include "runtime/runtime.h"
#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#include "runtime/code.h"
#endif

#include <hilo.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

static const struct graph *current; /* for the message of a crash */

/* ---- reports --------------------------------------------------------------------------------- */

static void on_crash(int number) {
    static const char head[] = "---- crashed on\n";
    ssize_t ignored = write(2, head, sizeof head - 1);
    if (current && current->text.p)
        ignored = write(2, current->text.p, current->text.n);
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void __attribute__((noreturn)) fail(hilo_client *client, const char *what, int level, uint32_t i) {
    fprintf(stderr, "%s", current->text.p);
    hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    fprintf(stderr, "---- %s at -O%d, result %u\n", what, level, i);
    for (uint32_t p = 0; p < current->nparams; p++)
        fprintf(stderr, "---- parameter %u: %s\n", p, current->wild[p] ? "any bits" : "small numbers");
    abort();
}

/* ---- running --------------------------------------------------------------------------------- */

struct client {
    hilo_client *client;
    hilo_module *module;
    hilo_buffer *inputs[GRAPH_PARAMS];
};

static void client_open(struct client *c, int threads, const struct graph *g) {
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.threads = threads;
    o.device = getenv("DEVICE") ? getenv("DEVICE") : o.device;
    if (hilo_client_create(&o, &c->client) != HILO_OK)
        abort();
    if (hilo_module_parse(c->client, g->text.p, g->text.n, NULL, &c->module) != HILO_OK)
        fail(c->client, "refused", 0, 0);
    for (uint32_t i = 0; i < g->nparams; i++) {
        const struct graph_type *t = &g->params[i];
        if (hilo_buffer_create(c->client, ir_dtype_get(t->dtype)->number, t->dims, t->rank, &c->inputs[i]) != HILO_OK)
            fail(c->client, "no buffer", 0, i);
        graph_fill(g, i, hilo_buffer_data(c->inputs[i]));
    }
}

static void client_close(struct client *c) {
    for (uint32_t i = 0; i < GRAPH_PARAMS; i++)
        hilo_buffer_release(c->inputs[i]);
    hilo_module_release(c->module);
    hilo_client_release(c->client);
}

/* With so much memory, 0 = any; false when that is too little. `peak`: what it took with its inputs. */
static bool run_within(struct client *c, const struct graph *g, hilo_backend backend, int level, size_t limit,
                       hilo_buffer **out, uint64_t *peak) {
    hilo_compile_options o;
    hilo_executable *exe = NULL;
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_compile_options_init(&o);
    o.level = level;
    o.backend = backend;
    o.memory_limit = limit;
    if (backend != HILO_BACKEND_REFERENCE)
        o.machine = getenv("MACHINE");
    hilo_status status = hilo_compile(c->client, c->module, &o, &exe);
    if (limit && status == HILO_RESOURCE_EXHAUSTED)
        return false;
    if (status != HILO_OK)
        fail(c->client, "not compiled", level, 0);
    memset(out, 0, GRAPH_RESULTS * sizeof(hilo_buffer *));
    if (hilo_execute(exe, NULL, c->inputs, g->nparams, out, g->nresults) != HILO_OK)
        fail(c->client, "not run", level, 0);
    hilo_executable_stats(exe, &stats);
    *peak = stats.peak_bytes;
    hilo_executable_release(exe);
    return true;
}

static uint64_t run(struct client *c, const struct graph *g, hilo_backend backend, int level, hilo_buffer **out) {
    uint64_t peak;
    run_within(c, g, backend, level, 0, out, &peak);
    return peak;
}

static void release(hilo_buffer **out) {
    for (uint32_t i = 0; i < GRAPH_RESULTS; i++)
        hilo_buffer_release(out[i]);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static enum ir_dtype dtype_of(hilo_dtype number) {
    for (int t = 1; t < IR_DTYPE_COUNT; t++)
        if (ir_dtype_get((enum ir_dtype)t)->number == number)
            return (enum ir_dtype)t;
    return IR_DTYPE_NONE;
}

/* One number, x, against the evaluator's, y. */
static bool near(enum fp_kind kind, const void *x, const void *y, const struct graph_bound *b) {
    uint64_t p = fp_load(kind, x), q = fp_load(kind, y);
    double a = fp_decode(kind, p), c = fp_decode(kind, q);
    if (p == q || (isnan(a) && isnan(c)))
        return true;
    return (b->rel > 0 || b->abs > 0) && fabs(a - c) <= b->rel * fabs(c) + b->abs;
}

static bool agree(const struct ir_dtype_info *t, const char *x, const char *y, size_t bytes, const struct graph_bound *b) {
    if (t->cls != IR_FLOAT && t->cls != IR_COMPLEX_CLASS)
        return memcmp(x, y, bytes) == 0;
    size_t part = t->cls == IR_FLOAT ? t->bytes : t->bytes / 2;
    for (size_t i = 0; i < bytes; i += part)
        if (!near(t->fp, x + i, y + i, b)) {
            fprintf(stderr, "---- element %zu of %zu: %.17g, by the evaluator %.17g; rel %g abs %g\n", i / part, bytes / part,
                    fp_decode(t->fp, fp_load(t->fp, x + i)), fp_decode(t->fp, fp_load(t->fp, y + i)), b->rel, b->abs);
            return false;
        }
    return true;
}

enum how { NEAR, SAME_NUMBERS, SAME_BITS }; /* any NaN is the same number */

static void compare(struct client *c, const struct graph *g, hilo_buffer **x, hilo_buffer **y, int level, enum how how) {
    static const char *const wrong[] = {"values differ", "interpreter and machine code differ", "1 and 3 threads differ"};
    static const struct graph_bound exact = {0};
    for (uint32_t i = 0; i < g->nresults; i++) {
        const struct ir_dtype_info *t = ir_dtype_get(dtype_of(hilo_buffer_dtype(x[i])));
        size_t n = hilo_buffer_bytes(x[i]);
        if (n != hilo_buffer_bytes(y[i]))
            fail(c->client, "sizes differ", level, i);
        const char *p = hilo_buffer_data(x[i]), *q = hilo_buffer_data(y[i]);
        if (how == SAME_BITS ? memcmp(p, q, n) != 0 : !agree(t, p, q, n, how == NEAR ? &g->bounds[i] : &exact))
            fail(c->client, wrong[how], level, i);
    }
}

#ifdef HILO_HAVE_LLVM
/* Machine code of a kernel, on this machine. */
static struct rt_code *code_of(struct client *c, const struct kir *k, int level) {
    struct target target;
    struct diag_list d;
    struct rt_code *code = NULL;
    hilo_allocator al = mem_system_allocator();
    void *object;
    size_t bytes;
    diag_init(&d, al);
    if (cg_open(&d) != HILO_OK || cg_target(NULL, &target, &d) != HILO_OK ||
        cg_compile(&k, 1, &target, CG_OPTIMISED, CG_OBJECT, &al, &d, &object, &bytes) != HILO_OK)
        fail(c->client, d.first ? d.first->message : "no code", level, 0);
    struct str text = {object, bytes};
    if (rt_code_load(&text, 1, 0, al, &d, &code) != HILO_OK)
        fail(c->client, "not loaded", level, 0);
    mem_free(&al, object, bytes);
    diag_clear(&d);
    return code;
}

/* Kernels for the machine of this name: by the interpreter against the evaluator, then as machine code against that. */
static void run_shaped(struct client *c, const struct graph *g, const char *target, int level, hilo_buffer **expected) {
    hilo_compile_options o;
    hilo_executable *exe;
    hilo_buffer *got[GRAPH_RESULTS] = {0}, *native[GRAPH_RESULTS] = {0};
    hilo_compile_options_init(&o);
    o.level = level;
    o.backend = HILO_BACKEND_INTERPRETER;
    o.target_cpu = target;
    if (hilo_compile(c->client, c->module, &o, &exe) != HILO_OK ||
        hilo_execute(exe, NULL, c->inputs, g->nparams, got, g->nresults) != HILO_OK)
        fail(c->client, "not compiled, or not run", level, 0);
    compare(c, g, got, expected, level, NEAR);
    struct rt_code **codes = calloc(exe->plan.nsteps + 1, sizeof(*codes));
    for (uint32_t i = exe->plan.ninit; i < exe->plan.nsteps; i++) {
        struct plan_kernel *k = (struct plan_kernel *)(uintptr_t)exe->plan.steps[i].kernel; /* no run is in progress */
        if (exe->plan.steps[i].kind != PLAN_KERNEL || k->fn)
            continue;
        codes[i] = code_of(c, k->kir, level);
        k->fn = rt_code_find(codes[i], k->kir->name);
    }
    if (hilo_execute(exe, NULL, c->inputs, g->nparams, native, g->nresults) != HILO_OK)
        fail(c->client, "not run", level, 0);
    compare(c, g, native, got, level, SAME_NUMBERS);
    for (uint32_t i = 0; i < exe->plan.nsteps; i++)
        rt_code_free(codes[i]);
    free(codes);
    release(got);
    release(native);
    hilo_executable_release(exe);
}
#else
static void run_shaped(struct client *c, const struct graph *g, const char *target, int level, hilo_buffer **expected) {
    (void)g, (void)expected;
    fail(c->client, target, level, 0);
}
#endif

/* Some parts of the memory that it takes when it may. */
static void squeeze(struct client *c, const struct graph *g, uint64_t peak, hilo_buffer **expected) {
    hilo_buffer *got[GRAPH_RESULTS];
    for (uint32_t i = 0; i < g->nparams; i++)
        peak -= hilo_buffer_bytes(c->inputs[i]);
    for (uint64_t part = 3; part <= 7; part += 2) {
        uint64_t ignored;
        if (!run_within(c, g, HILO_BACKEND_AUTO, 2, (size_t)(peak * part / 8 + 1), got, &ignored))
            continue;
        compare(c, g, got, expected, 2, NEAR);
        release(got);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct graph g;
    struct client one = {0}, three = {0};
    hilo_buffer *expected[GRAPH_RESULTS], *got[GRAPH_RESULTS], *threads[GRAPH_RESULTS];
    const char *levels = getenv("LEVELS"), *target = getenv("TARGET");
    signal(SIGSEGV, on_crash);
    if (graph_make(&g, bytes, nbytes)) {
        current = &g;
        client_open(&one, 1, &g);
        client_open(&three, 3, &g);
        run(&one, &g, HILO_BACKEND_REFERENCE, 0, expected);
        for (int level = 0; level <= 3; level++) {
            if (levels && !strchr(levels, '0' + level))
                continue;
            if (target) {
                run_shaped(&one, &g, target, level, expected);
                continue;
            }
            uint64_t peak = run(&one, &g, HILO_BACKEND_AUTO, level, got);
            run(&three, &g, HILO_BACKEND_AUTO, level, threads);
            compare(&one, &g, got, expected, level, NEAR);
            compare(&three, &g, threads, got, level, SAME_BITS);
            if (level == 2)
                squeeze(&three, &g, peak, expected);
            release(got);
            release(threads);
        }
        release(expected);
        client_close(&three);
        client_close(&one);
        current = NULL;
    }
    graph_free(&g);
    return 0;
}
