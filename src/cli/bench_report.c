/* The reports of `hilo bench`: a table, JSON, CSV, a page; and figures that were saved before. */
#include "cli/bench.h"
#include "llm/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Of a time before and now: above 1 the program is faster now. 0: not known. */
static double ratio(const struct bench_result *r) {
    return !r->failed && r->before_ms > 0 && r->figures.median > 0 ? r->before_ms / r->figures.median : 0;
}

/* ---- lists ------------------------------------------------------------------------------------- */

void bench_begin(enum bench_form form, bool compared, struct strbuf *out) {
    if (form == BENCH_JSON)
        strbuf_puts(out, "[");
    else if (form == BENCH_CSV)
        strbuf_printf(out, "name,median_ms,min_ms,mean_ms,deviation_ms,p95_ms,p99_ms,runs,compile_ms,first_ms,peak_bytes%s\n",
                      compared ? ",before_ms,ratio" : "");
    else
        strbuf_printf(out, "%-32s %12s %12s %12s %12s %12s %12s %7s %12s %12s %12s%s\n", "program", "median ms", "minimum ms",
                      "mean ms", "deviation", "95 % ms", "99 % ms", "runs", "compile ms", "first ms", "peak MB",
                      compared ? "    before ms    ratio" : "");
}

/* A field of CSV. */
static void put_field(struct strbuf *out, const char *text) {
    strbuf_putc(out, '"');
    for (; *text; text++)
        strbuf_puts(out, *text == '"' ? "\"\"" : (char[]){*text, 0});
    strbuf_putc(out, '"');
}

static void put_json(const struct bench_result *r, bool compared, struct strbuf *out) {
    const struct cli_figures *f = &r->figures;
    strbuf_puts(out, "{\"name\":");
    cli_json_string(out, r->name);
    if (r->failed) {
        strbuf_puts(out, ",\"failed\":true}");
        return;
    }
    strbuf_printf(out,
                  ",\"median_ms\":%.6f,\"min_ms\":%.6f,\"mean_ms\":%.6f,\"deviation_ms\":%.6f,\"p95_ms\":%.6f,\"p99_ms\":%.6f,"
                  "\"runs\":%zu,\"compile_ms\":%.6f,\"first_ms\":%.6f,\"peak_bytes\":%" PRIu64,
                  f->median, f->least, f->mean, f->deviation, f->p95, f->p99, r->n, r->ready_ms, r->first_ms,
                  r->peak_bytes);
    if (compared && r->before_ms > 0)
        strbuf_printf(out, ",\"before_ms\":%.6f,\"ratio\":%.4f", r->before_ms, ratio(r));
    strbuf_putc(out, '}');
}

void bench_row(enum bench_form form, const struct bench_result *r, bool compared, bool first, struct strbuf *out) {
    const struct cli_figures *f = &r->figures;
    if (form == BENCH_JSON) {
        strbuf_puts(out, first ? "" : ",\n");
        put_json(r, compared, out);
    } else if (form == BENCH_CSV) {
        put_field(out, r->name);
        if (r->failed)
            strbuf_puts(out, ",,,,,,,,,,");
        else
            strbuf_printf(out, ",%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%zu,%.6f,%.6f,%" PRIu64, f->median, f->least, f->mean,
                          f->deviation, f->p95, f->p99, r->n, r->ready_ms, r->first_ms, r->peak_bytes);
        if (compared && ratio(r) > 0)
            strbuf_printf(out, ",%.6f,%.4f", r->before_ms, ratio(r));
        else if (compared)
            strbuf_puts(out, ",,");
        strbuf_putc(out, '\n');
    } else if (r->failed) {
        strbuf_printf(out, "%-32s failed\n", r->name);
    } else {
        strbuf_printf(out, "%-32s %12.4f %12.4f %12.4f %12.4f %12.4f %12.4f %7zu %12.2f %12.2f %12.3f", r->name, f->median,
                      f->least, f->mean, f->deviation, f->p95, f->p99, r->n, r->ready_ms, r->first_ms,
                      (double)r->peak_bytes / 1e6);
        if (compared && ratio(r) > 0)
            strbuf_printf(out, " %12.4f %8.3f", r->before_ms, ratio(r));
        strbuf_putc(out, '\n');
    }
}

void bench_end(enum bench_form form, const struct bench_result *v, size_t n, struct strbuf *out) {
    double logs = 0, least = INFINITY;
    size_t compared = 0;
    if (form == BENCH_JSON)
        strbuf_puts(out, "]\n");
    for (size_t i = 0; i < n; i++)
        if (ratio(&v[i]) > 0) {
            logs += log(ratio(&v[i]));
            least = fmin(least, ratio(&v[i]));
            compared++;
        }
    if (form == BENCH_TEXT && compared)
        strbuf_printf(out, "%zu programs: %.3f times as fast as before (geometric mean), least %.3f\n", compared,
                      exp(logs / (double)compared), least);
}

/* ---- files ------------------------------------------------------------------------------------- */

int bench_save(const char *path, const struct bench_result *v, size_t n) {
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    strbuf_puts(&out, "{\"programs\":");
    bench_begin(BENCH_JSON, false, &out);
    for (size_t i = 0; i < n; i++)
        bench_row(BENCH_JSON, &v[i], false, i == 0, &out);
    strbuf_puts(&out, "]}\n");
    int code = cli_write(path, &out);
    strbuf_free(&out);
    return code;
}

struct bench_before {
    struct llm_json json;
    struct diag_list d;
    const json_t *programs;
};

int bench_before_open(const char *path, struct bench_before **out) {
    struct bench_before *b = cli_alloc(1, sizeof *b);
    diag_init(&b->d, mem_system_allocator());
    *out = b;
    if (llm_json_open(&b->json, path, mem_system_allocator(), &b->d) == HILO_OK)
        b->programs = llm_json_array(llm_json_root(&b->json), "programs");
    if (b->json.status == HILO_OK && !b->programs)
        llm_json_fail(&b->json, "it has no programs: --save writes such a file");
    if (b->json.status == HILO_OK)
        return CLI_OK;
    return cli_error(CLI_ENVIRONMENT, "%s", b->d.first && b->d.first->message ? b->d.first->message : "out of memory");
}

void bench_before_find(const struct bench_before *before, struct bench_result *r) {
    for (size_t i = 0; i < json_array_size(before->programs); i++) {
        const json_t *p = json_array_get(before->programs, i);
        const char *name = json_string_value(json_object_get(p, "name"));
        const json_t *median = json_object_get(p, "median_ms");
        if (name && strcmp(name, r->name) == 0 && json_is_number(median))
            r->before_ms = json_number_value(median);
    }
}

void bench_before_close(struct bench_before *before) {
    if (before) {
        llm_json_close(&before->json);
        diag_clear(&before->d);
    }
    free(before);
}

/* ---- a page ------------------------------------------------------------------------------------ */

static void put_html(struct strbuf *out, const char *text) {
    for (; *text; text++)
        if (strchr("<>&\"", *text))
            strbuf_printf(out, "&#%d;", *text);
        else
            strbuf_putc(out, *text);
}

/* The runs from the fastest to the slowest: how many take at most as long. What is slower than the 99th percentile is left out;
   the red line is the median before. */
static void put_plot(const struct bench_result *r, struct strbuf *out) {
    enum { WIDTH = 420, HEIGHT = 80, MOST = 200 /* points */ };
    double from = r->figures.least, to = fmax(r->figures.p99, from);
    size_t points = r->n < MOST ? r->n : MOST;
    if (r->before_ms > 0) {
        from = fmin(from, r->before_ms);
        to = fmax(to, r->before_ms);
    }
    double scale = to > from ? WIDTH / (to - from) : 0;
    strbuf_printf(out, "<svg width=\"%d\" height=\"%d\">", WIDTH, HEIGHT);
    strbuf_puts(out, "<polyline fill=\"none\" stroke=\"#48c\" stroke-width=\"2\" points=\"");
    for (size_t i = 0; i < points; i++) {
        size_t at = points > 1 ? i * (r->n - 1) / (points - 1) : 0;
        double x = fmin((r->ms[at] - from) * scale, WIDTH);
        strbuf_printf(out, "%s%.1f,%.1f", i ? " " : "", x, HEIGHT - (double)HEIGHT * ((double)at + 1) / (double)r->n);
    }
    strbuf_puts(out, "\"/>");
    if (r->before_ms > 0)
        strbuf_printf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" stroke=\"#c33\"/>", (r->before_ms - from) * scale,
                      (r->before_ms - from) * scale, HEIGHT);
    strbuf_printf(out, "<title>%.4f to %.4f ms</title></svg>", from, to);
}

int bench_page(const char *path, const struct bench_result *v, size_t n, bool compared) {
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    strbuf_printf(&out,
                  "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hilo bench</title>\n"
                  "<style>body{font:14px/1.4 sans-serif;margin:2em}table{border-collapse:collapse}svg{background:#f4f4f4}\n"
                  "td,th{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:right}td:first-child{text-align:left}"
                  "</style></head>\n<body>\n<h1>hilo bench</h1>\n"
                  "<p>Times in ms. The curve shows the share of runs that take at most "
                  "as long.%s</p>\n<table>\n<tr><th>program</th><th>median</th><th>minimum</th><th>mean</th><th>deviation</th>"
                  "<th>95 %%</th><th>99 %%</th><th>runs</th>%s<th>runs by time</th></tr>\n",
                  compared ? " Red: the median before." : "", compared ? "<th>before</th><th>ratio</th>" : "");
    for (size_t i = 0; i < n; i++) {
        const struct bench_result *r = &v[i];
        const struct cli_figures *f = &r->figures;
        strbuf_puts(&out, "<tr><td>");
        put_html(&out, r->name);
        if (r->failed) {
            strbuf_puts(&out, "</td><td>failed</td></tr>\n");
            continue;
        }
        strbuf_printf(&out, "</td><td>%.4f</td><td>%.4f</td><td>%.4f</td><td>%.4f</td><td>%.4f</td><td>%.4f</td><td>%zu</td>",
                      f->median, f->least, f->mean, f->deviation, f->p95, f->p99, r->n);
        if (compared && ratio(r) > 0)
            strbuf_printf(&out, "<td>%.4f</td><td>%.3f</td>", r->before_ms, ratio(r));
        else if (compared)
            strbuf_puts(&out, "<td></td><td></td>");
        strbuf_puts(&out, "<td>");
        put_plot(r, &out);
        strbuf_puts(&out, "</td></tr>\n");
    }
    strbuf_puts(&out, "</table>\n</body></html>\n");
    int code = cli_write(path, &out);
    strbuf_free(&out);
    return code;
}
