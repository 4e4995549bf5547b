/* Results and timings, as text and as numpy's files. */
#include "cli/cli.h"
#include "cli/npy.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void cli_json_string(struct strbuf *out, const char *text) {
    strbuf_putc(out, '"');
    for (const char *p = text; *p; p++)
        if (*p == '"' || *p == '\\')
            strbuf_printf(out, "\\%c", *p);
        else if ((unsigned char)*p < 0x20 || *p == '<' || *p == 0x7f)
            strbuf_printf(out, "\\u%04x", (unsigned)*p);
        else
            strbuf_putc(out, *p);
    strbuf_putc(out, '"');
}

/* ---- text ------------------------------------------------------------------------------------ */

void cli_output_print(const hilo_executable *exe, hilo_buffer *const *outputs) {
    enum { MOST = 1000 }; /* elements; of larger arrays the middle is left out */
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    for (size_t i = 0; i < hilo_executable_output_count(exe); i++) {
        const char *name = hilo_executable_output_name(exe, i);
        const struct value *v = rt_buffer_value(outputs[i]);
        if (*name)
            strbuf_printf(&b, "%s: ", name);
        else
            strbuf_printf(&b, "%zu: ", i);
        rt_type_text(hilo_buffer_dtype(outputs[i]), hilo_buffer_rank(outputs[i]), hilo_buffer_dims(outputs[i]), &b);
        if (v->kind == EVAL_TENSOR) {
            strbuf_puts(&b, v->rank > 1 && v->count ? " =\n  " : " = ");
            rt_value_text(v, MOST, 2, &b);
        }
        strbuf_putc(&b, '\n');
    }
    if (b.n)
        fwrite(b.p, 1, b.n, stdout);
    strbuf_free(&b);
}

/* ---- files ----------------------------------------------------------------------------------- */

int cli_output_check(const hilo_executable *exe, const char *path) {
    size_t n = hilo_executable_output_count(exe);
    if (cli_ends_with(path, ".npz"))
        return CLI_OK;
    if (!cli_ends_with(path, ".npy"))
        return cli_error(CLI_USAGE, "-o %s: expected a name that ends in .npy or .npz", path);
    return n == 1 ? CLI_OK : cli_error(CLI_USAGE, "-o %s: a .npy file holds one array, the program has %zu results; use .npz",
                                       path, n);
}

/* Whether all results have names, no two of them equal. */
static bool names_tell_apart(const hilo_executable *exe) {
    size_t n = hilo_executable_output_count(exe);
    for (size_t i = 0; i < n; i++) {
        const char *name = hilo_executable_output_name(exe, i);
        if (!*name)
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(name, hilo_executable_output_name(exe, k)) == 0)
                return false;
    }
    return true;
}

/* The array of a result; its data remains the buffer's. Types that numpy lacks are written as V1 or V2, as ml_dtypes does. */
static struct npy_array array_of(const hilo_buffer *b) {
    const struct ir_dtype_info *t = ir_dtype_get(rt_dtype(hilo_buffer_dtype(b)));
    struct npy_array a = {.rank = (int)hilo_buffer_rank(b), .item_bytes = t->bytes, .nbytes = hilo_buffer_bytes(b),
                          .data = hilo_buffer_data(b)};
    if (cli_numpy_has(t))
        snprintf(a.descr, sizeof a.descr, "%s", t->npy);
    else
        snprintf(a.descr, sizeof a.descr, "V%u", t->bytes);
    for (int i = 0; i < a.rank; i++)
        a.dims[i] = hilo_buffer_dims(b)[i];
    return a;
}

int cli_output_write(const hilo_executable *exe, hilo_buffer *const *outputs, const char *path) {
    size_t n = hilo_executable_output_count(exe), used = 0;
    struct npy_array *arrays = cli_alloc(n, sizeof *arrays);
    struct npy_error e;
    char (*names)[256] = cli_alloc(n, sizeof *names);
    bool named = names_tell_apart(exe);
    for (size_t i = 0; i < n; i++) {
        if (hilo_buffer_dtype(outputs[i]) == HILO_TOKEN)
            continue;
        if (named)
            snprintf(names[i], sizeof *names, "%s", hilo_executable_output_name(exe, i));
        else
            snprintf(names[i], sizeof *names, "%zu", i);
        arrays[used] = array_of(outputs[i]);
        arrays[used++].name = names[i];
    }
    int failed = cli_ends_with(path, ".npz") ? npz_write(path, arrays, used, &e)
                 : used == 1                 ? npy_write(path, arrays, &e)
                             : (snprintf(e.message, sizeof e.message, "%s: the result is a token, not an array", path), -1);
    free(names);
    free(arrays);
    return failed ? cli_error(CLI_ENVIRONMENT, "%s", e.message) : CLI_OK;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static int compare_ms(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct cli_figures cli_figures(double *ms, size_t n) {
    qsort(ms, n, sizeof *ms, compare_ms);
    struct cli_figures f = {.median = n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2, .least = ms[0],
                            .p95 = ms[(n - 1) * 95 / 100], .p99 = ms[(n - 1) * 99 / 100]};
    for (size_t i = 0; i < n; i++)
        f.mean += ms[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        f.deviation += (ms[i] - f.mean) * (ms[i] - f.mean);
    f.deviation = n > 1 ? sqrt(f.deviation / (double)(n - 1)) : 0;
    return f;
}

void cli_timing_print(double *ms, size_t n, double ready_ms, const hilo_stats *stats, bool json) {
    struct cli_figures f = cli_figures(ms, n);
    if (json) {
        printf("{\"median_ms\":%.6f,\"min_ms\":%.6f,\"compile_ms\":%.6f,\"cached\":%s,\"peak_bytes\":%" PRIu64 ","
               "\"evaluated_steps\":%" PRIu32 ",\"baseline_kernels\":%" PRIu32 ",\"optimised_kernels\":%" PRIu32
               ",\"replaced_kernels\":%" PRIu32 "}\n",
               f.median, f.least, ready_ms, stats->cached ? "true" : "false", stats->peak_bytes, stats->evaluated_steps,
               stats->baseline_kernels, stats->optimised_kernels, stats->replaced_kernels);
        return;
    }
    printf("median %.3f ms, minimum %.3f ms of %zu runs; ready after %.3f ms%s; peak memory of tensors %.3f MB", f.median,
           f.least, n, ready_ms, stats->cached ? " from the compile cache" : "", (double)stats->peak_bytes / 1e6);
    if (stats->evaluated_steps)
        printf("; %" PRIu32 " of %" PRIu32 " steps by the reference evaluator", stats->evaluated_steps, stats->steps);
    if (stats->baseline_kernels || stats->replaced_kernels)
        printf("; %" PRIu32 " kernels have baseline code, %" PRIu32 " optimised code, which for %" PRIu32 " came later",
               stats->baseline_kernels, stats->optimised_kernels, stats->replaced_kernels);
    printf("\n");
}
