/* See model.h. */
#include "compile/model.h"
#include "base/decimal.h"
#include "eval/factor.h"
#include "opt/cost.h"
#include "runtime/runtime.h"
#include "target/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODEL_MAGIC "hilo calibration 1\n"
enum { MODEL_PATH = 4096 };

bool model_path(const hilo_client *client, char *out, size_t size) {
    const char *of = client->gpu ? "-gpu" : "";
    int n = client->store.dir ? snprintf(out, size, "%s/calibration%s", client->store.dir, of) : -1;
    return n > 0 && (size_t)n < size;
}

/* The lines that must be as they are here: the processor, the GPU that is used, and the libraries that are there. */
static void put_here(const hilo_client *client, struct strbuf *out) {
    const char *gpu = rt_client_device_name(client);
    char features[2048];
    target_cpu_list(features, sizeof features);
    strbuf_printf(out, MODEL_MAGIC "machine %s %s", target_cpu_machine(), features);
    strbuf_printf(out, "\ncores %u\n", target_cores());
    if (gpu)
        strbuf_printf(out, "gpu %s %s\n", rt_client_gpu_target(client), gpu);
    for (int by = LIB_OWN + 1; by < LIB_EXTERNAL_COUNT; by++)
        if (gpu || !lib_on_device((enum lib_external)by))
            strbuf_printf(out, "library %s %s\n", ext_title((enum lib_external)by),
                          ext_missing((enum lib_external)by) ? "none" : ext_version((enum lib_external)by));
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Numbers after spaces, up to `end`, as every locale reads them; none may be below zero. */
static bool read_numbers(const char *s, const char *end, double *out, int n) {
    bool good = true;
    for (int i = 0; i < n && good; i++) {
        while (s < end && *s == ' ')
            s++;
        const char *from = s;
        good = dec_parse_double(from, end, &out[i], &s) && s > from && out[i] >= 0 && isfinite(out[i]);
    }
    return good && s == end;
}

static void put_number(struct strbuf *out, double x) {
    char text[DEC_PRINT_SIZE];
    strbuf_putn(out, " ", 1);
    strbuf_putn(out, text, dec_print_double(text, x));
}

/* "convolution f32 oneDNN 1200 0.03 0.1": false when it is something else. */
static bool read_cost(const char *line, const char *end, struct model *m) {
    char routine[32], type[32], title[32];
    struct lib_match match;
    double numbers[3];
    int n = 0;
    if (sscanf(line, "%31s %31s %31s%n", routine, type, title, &n) != 3 || !read_numbers(line + n, end, numbers, 3) ||
        !lib_match_named(routine, &match) || match.by != LIB_OWN ||
        ir_dtype_named(str_of(type)) == IR_DTYPE_NONE)
        return false;
    struct model_cost c = {true, numbers[0], numbers[1], numbers[2]};
    for (int by = LIB_OWN; by < LIB_EXTERNAL_COUNT; by++)
        if (strcmp(title, ext_title((enum lib_external)by)) == 0) {
            m->cost[match.routine][ir_dtype_named(str_of(type))][by] = c;
            return true;
        }
    return false;
}

static const char *read_text(char *text, const struct strbuf *here, struct model *m) {
    size_t magic = strlen(MODEL_MAGIC);
    if (strncmp(text, MODEL_MAGIC, magic) != 0)
        return "it is not of this version of hilo";
    if (strncmp(text, here->p, here->n) != 0)
        return "it was made with another processor or other libraries";
    char *save = NULL;
    for (char *line = strtok_r(text + here->n, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (!read_cost(line, strchr(line, '\0'), m) &&
            !(strncmp(line, "copy", 4) == 0 && read_numbers(line + 4, strchr(line, '\0'), &m->copy, 1)))
            return "it is damaged";
    m->there = true;
    return NULL;
}

const char *model_load(const hilo_client *client, struct model *out, char *why, size_t size) {
    char path[MODEL_PATH];
    struct file file;
    struct diag_list d;
    memset(out, 0, sizeof *out);
    snprintf(why, size, "there is none: `hilo calibrate` measures");
    if (!model_path(client, path, sizeof path) || access(path, R_OK) != 0)
        return why;
    diag_init(&d, client->al);
    if (file_open_regular(path, client->al, &d, &file) != HILO_OK) {
        diag_clear(&d);
        return why;
    }
    struct strbuf here, text;
    strbuf_init(&here, client->al);
    strbuf_init(&text, client->al);
    put_here(client, &here);
    strbuf_str(&text, file.text);
    const char *problem = here.failed || text.failed || !text.p ? "out of memory" : read_text(text.p, &here, out);
    if (problem)
        snprintf(why, size, "%s: %s", path, problem);
    strbuf_free(&here);
    strbuf_free(&text);
    file_close(&file);
    out->cores = client->gpu ? 1 : target_cores();
    return out->there ? NULL : why;
}

/* Appends it as it is kept, with what it depends on. */
static void model_print(const hilo_client *client, const struct model *m, struct strbuf *out) {
    put_here(client, out);
    strbuf_puts(out, "copy");
    put_number(out, m->copy);
    strbuf_puts(out, "\n");
    for (int r = 0; r < LIB_ROUTINE_COUNT; r++)
        for (int t = 0; t < IR_DTYPE_COUNT; t++)
            for (int by = 0; by < LIB_EXTERNAL_COUNT; by++) {
                const struct model_cost *c = &m->cost[r][t][by];
                if (!c->known)
                    continue;
                strbuf_printf(out, "%s %s %s", lib_routine_name((enum lib_routine)r), ir_dtype_get((enum ir_dtype)t)->name,
                              ext_title((enum lib_external)by));
                put_number(out, c->fixed);
                put_number(out, c->flop);
                put_number(out, c->byte);
                strbuf_puts(out, "\n");
            }
}

hilo_status model_store(const hilo_client *client, const struct model *m, struct diag_list *d) {
    char path[MODEL_PATH];
    struct strbuf text;
    if (!model_path(client, path, sizeof path) || !rt_store_make(&client->store))
        return diag_error(d, HILO_UNAVAILABLE, "there is no cache directory to keep it in");
    strbuf_init(&text, client->al);
    model_print(client, m, &text);
    hilo_status status = text.failed ? HILO_RESOURCE_EXHAUSTED : file_write(path, (struct str){text.p, text.n}, d);
    strbuf_free(&text);
    return status;
}

/* ---- what ops cost ---------------------------------------------------------------------------- */

struct model_work model_work(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    struct model_work w = {.flops = opt_flops(m, op)};
    size_t bytes;
    struct factor f;
    if (factor_of(m, op, &f)) /* the same for all of a kind is enough */
        w.flops = 2.0 * (double)f.batch * (double)f.m * (double)f.n * (double)f.k;
    for (uint32_t i = 0; i < x->noperands; i++)
        w.bytes += ir_type_bytes(ir_val_type(m, x->operands[i]), &bytes) ? (double)bytes : 0;
    for (uint32_t i = 0; i < x->nresults; i++)
        w.bytes += ir_type_bytes(ir_val_type(m, ir_result(m, op, i)), &bytes) ? (double)bytes : 0;
    return w;
}

double model_ns(const struct model_cost *c, const struct model_work *w) {
    return c->fixed + c->flop * w->flops + c->byte * w->bytes;
}

/* Least squares by the normal equations over the parts that `use` has as bits; false when they say nothing. */
static bool fit_parts(const struct model_work *work, const double *ns, size_t n, unsigned use, double out[3]) {
    double a[3][4] = {{0}};
    for (size_t i = 0; i < n; i++) {
        const double x[3] = {1 / ns[i], work[i].flops / ns[i], work[i].bytes / ns[i]};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                a[r][c] += x[r] * (c < 3 ? x[c] : 1);
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            if (!(use >> r & 1) || (c < 3 && !(use >> c & 1)))
                a[r][c] = r == c;
    for (int p = 0; p < 3; p++) {
        if (!(fabs(a[p][p]) > 0))
            return false;
        for (int r = 0; r < 3; r++) {
            double f = r == p ? 0 : a[r][p] / a[p][p];
            for (int c = p; c < 4; c++)
                a[r][c] -= f * a[p][c];
        }
    }
    for (int p = 0; p < 3; p++)
        out[p] = use >> p & 1 ? a[p][3] / a[p][p] : 0;
    return true;
}

struct model_cost model_fit(const struct model_work *work, const double *ns, size_t n) {
    struct model_cost best = {.known = false};
    double least = INFINITY;
    for (unsigned use = 1; use < 8; use++) {
        double v[3], error = 0;
        if (!fit_parts(work, ns, n, use, v) || v[0] < 0 || v[1] < 0 || v[2] < 0)
            continue;
        struct model_cost c = {true, v[0], v[1], v[2]};
        for (size_t i = 0; i < n; i++) {
            double e = model_ns(&c, &work[i]) / ns[i] - 1;
            error += e * e;
        }
        if (error < least) {
            least = error;
            best = c;
        }
    }
    return best;
}
