/* Runs as a trace in the JSON format of Chrome's trace viewer, which Perfetto opens: a slice for each run, which contains
 * one for each step. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>

struct slice {
    const char *kind, *name; /* name: of the executable, or NULL for a run */
    double begin_ms, end_ms;
    uint64_t bytes;
};

struct cli_trace {
    struct slice *v;
    size_t n, cap, runs;
    double origin; /* of the first run */
    double begin;  /* of this run, from there */
};

struct cli_trace *cli_trace_new(void) {
    return cli_alloc(1, sizeof(struct cli_trace));
}

void cli_trace_free(struct cli_trace *t) {
    if (t)
        free(t->v);
    free(t);
}

static void add(struct cli_trace *t, struct slice s) {
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 256;
        struct slice *v = cli_alloc(cap, sizeof *v);
        if (t->n)
            memcpy(v, t->v, t->n * sizeof *v);
        free(t->v);
        t->v = v;
        t->cap = cap;
    }
    t->v[t->n++] = s;
}

void cli_trace_begin(struct cli_trace *t) {
    double now = rt_now_ms();
    if (t->runs++ == 0)
        t->origin = now;
    t->begin = now - t->origin;
}

void cli_trace_step(void *trace, const hilo_step_event *e) {
    struct cli_trace *t = trace;
    add(t, (struct slice){e->kind, e->name, t->begin + e->begin_ms, t->begin + e->end_ms, e->bytes});
}

void cli_trace_end(struct cli_trace *t, double total_ms) {
    add(t, (struct slice){"run", NULL, t->begin, t->begin + total_ms, 0});
}

int cli_trace_write(const struct cli_trace *t, const char *path) {
    struct strbuf out;
    size_t run = 0;
    strbuf_init(&out, mem_system_allocator());
    strbuf_puts(&out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                      "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"hilo\"}}");
    for (size_t i = 0; i < t->n; i++) {
        const struct slice *s = &t->v[i];
        char name[32];
        if (!s->name)
            snprintf(name, sizeof name, "run %zu", run++);
        strbuf_printf(&out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":",
                      s->begin_ms * 1e3, (s->end_ms - s->begin_ms) * 1e3, s->kind);
        cli_json_string(&out, s->name ? s->name : name);
        if (s->name)
            strbuf_printf(&out, ",\"args\":{\"bytes\":%" PRIu64 "}", s->bytes);
        strbuf_putc(&out, '}');
    }
    strbuf_puts(&out, "\n]}\n");
    int code = cli_write(path, &out);
    strbuf_free(&out);
    return code;
}
