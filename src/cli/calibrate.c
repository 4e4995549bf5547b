/* hilo calibrate: measures hilo's own routines and the installed libraries on this machine. */
#include "cli/calibrate.h"
#include "compile/model.h"

#include <stdlib.h>

enum { CALIBRATE_MOST = 12 /* samples of one routine and type */, CALIBRATE_RUNS = 400 };
#define CALIBRATE_MS 12.0 /* of measured runs of one sample */
/* A run that takes so long is the last of its sample, and on a GPU, where sizes are ascending, of its type after three. */
#define CALIBRATE_LONG_MS 100.0

struct calibrate_options {
    bool show;
    const char *machine;
    struct cli_compile compile; /* its device and threads */
};

/* ---- samples ---------------------------------------------------------------------------------- */

/* A routine for several types and sizes; the function `text` defines what the sizes mean. */
struct sample {
    enum lib_routine routine;
    enum ir_op_kind kind;
    const char *types[6]; /* of elements; after a blank, that of the result if it differs */
    void (*text)(const int *size, const char *in, const char *out, char *to, size_t n);
    int sizes[CALIBRATE_MOST][6]; /* all zero = the end */
};

static void dot_text(const int *s, const char *in, const char *out, char *to, size_t n) {
    snprintf(to, n,
             "func.func @main(%%a: tensor<%dx%dx%dx%s>, %%b: tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s> {\n"
             "  %%r = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [2] x [1]\n"
             "    : (tensor<%dx%dx%dx%s>, tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s>\n"
             "  return %%r : tensor<%dx%dx%dx%s>\n}\n",
             s[0], s[1], s[3], in, s[0], s[3], s[2], in, s[0], s[1], s[2], out, s[0], s[1], s[3], in, s[0], s[3], s[2], in,
             s[0], s[1], s[2], out, s[0], s[1], s[2], out);
}

/* Sizes: images, spatial size, input and output features, window. */
static void convolution_text(const int *s, const char *in, const char *out, char *to, size_t n) {
    char x[64], w[64], y[64];
    snprintf(x, sizeof x, "%dx%dx%dx%dx%s", s[0], s[1], s[1], s[2], in);
    snprintf(w, sizeof w, "%dx%dx%dx%dx%s", s[4], s[4], s[2], s[3], in);
    snprintf(y, sizeof y, "%dx%dx%dx%dx%s", s[0], s[1], s[1], s[3], out);
    snprintf(to, n,
             "func.func @main(%%x: tensor<%s>, %%w: tensor<%s>) -> tensor<%s> {\n"
             "  %%r = stablehlo.convolution(%%x, %%w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n"
             "    window = {pad = [[%d, %d], [%d, %d]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
             "    : (tensor<%s>, tensor<%s>) -> tensor<%s>\n  return %%r : tensor<%s>\n}\n",
             x, w, y, s[4] / 2, s[4] / 2, s[4] / 2, s[4] / 2, x, w, y, y);
}

/* Sizes: images, spatial size, features, window, stride. */
static void pool_text(const int *s, const char *in, const char *out, char *to, size_t n) {
    char x[64], y[64];
    int places = (s[1] - s[3]) / s[4] + 1;
    snprintf(x, sizeof x, "%dx%dx%dx%dx%s", s[0], s[1], s[1], s[2], in);
    snprintf(y, sizeof y, "%dx%dx%dx%dx%s", s[0], places, places, s[2], out);
    snprintf(to, n,
             "func.func @main(%%x: tensor<%s>) -> tensor<%s> {\n"
             "  %%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
             "  %%r = \"stablehlo.reduce_window\"(%%x, %%i) ({\n"
             "  ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
             "    %%c = stablehlo.maximum %%a, %%b : tensor<f32>\n"
             "    stablehlo.return %%c : tensor<f32>\n"
             "  }) {window_dimensions = array<i64: 1, %d, %d, 1>, window_strides = array<i64: 1, %d, %d, 1>}\n"
             "    : (tensor<%s>, tensor<f32>) -> tensor<%s>\n  return %%r : tensor<%s>\n}\n",
             x, y, s[3], s[3], s[4], s[4], x, y, y);
}

static void cholesky_text(const int *s, const char *in, const char *out, char *to, size_t n) {
    snprintf(to, n,
             "func.func @main(%%a: tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s> {\n"
             "  %%r = stablehlo.cholesky %%a, lower = true : tensor<%dx%dx%dx%s>\n  return %%r : tensor<%dx%dx%dx%s>\n}\n",
             s[0], s[1], s[1], in, s[0], s[1], s[1], out, s[0], s[1], s[1], in, s[0], s[1], s[1], out);
}

static void solve_text(const int *s, const char *in, const char *out, char *to, size_t n) {
    snprintf(to, n,
             "func.func @main(%%a: tensor<%dx%dx%dx%s>, %%b: tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s> {\n"
             "  %%r = \"stablehlo.triangular_solve\"(%%a, %%b) {left_side = true, lower = true, unit_diagonal = false,\n"
             "    transpose_a = #stablehlo<transpose NO_TRANSPOSE>}\n"
             "    : (tensor<%dx%dx%dx%s>, tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s>\n  return %%r : tensor<%dx%dx%dx%s>\n}\n",
             s[0], s[1], s[1], in, s[0], s[1], s[2], in, s[0], s[1], s[2], out, s[0], s[1], s[1], in, s[0], s[1], s[2], in,
             s[0], s[1], s[2], out, s[0], s[1], s[2], out);
}

static void fft_text(const int *s, const char *in, const char *out, char *to, size_t n) {
    bool real = strcmp(in, out) != 0;
    int width = real ? s[1] / 2 + 1 : s[1];
    snprintf(to, n,
             "func.func @main(%%x: tensor<%dx%dx%s>) -> tensor<%dx%dx%s> {\n"
             "  %%r = stablehlo.fft %%x, type = %s, length = [%d] : (tensor<%dx%dx%s>) -> tensor<%dx%dx%s>\n"
             "  return %%r : tensor<%dx%dx%s>\n}\n",
             s[0], s[1], in, s[0], width, out, real ? "RFFT" : "FFT", s[1], s[0], s[1], in, s[0], width, out, s[0], width, out);
}

/* LAPACK's functions of n×n matrices. Sizes: matrices, n. */
static void factor_text(enum lib_routine r, const int *s, const char *in, char *to, size_t n) {
    const bool complex = in[0] == 'c', wide = strstr(in, "64") != NULL;
    const char *real = wide ? "f64" : "f32";
    const char letter = complex ? (wide ? 'z' : 'c') : wide ? 'd' : 's';
    char matrix[64], line[64], values[64], number[32], results[320] = "", operands[192], types[192];
    snprintf(matrix, sizeof matrix, "tensor<%dx%dx%dx%s>", s[0], s[1], s[1], in);
    snprintf(line, sizeof line, "tensor<%dx%dx%s>", s[0], s[1], in);
    snprintf(values, sizeof values, "tensor<%dx%dx%s>", s[0], s[1], real);
    snprintf(number, sizeof number, "tensor<%dxi32>", s[0]);
    snprintf(operands, sizeof operands, r == LIB_REFLECTORS ? "%%a: %s, %%t: %s" : "%%a: %s", matrix, line);
    snprintf(types, sizeof types, r == LIB_REFLECTORS ? "%s, %s" : "%s", matrix, line);
    if (r == LIB_LU)
        snprintf(results, sizeof results, ", tensor<%dx%dxi32>, %s", s[0], s[1], number);
    else if (r == LIB_QR)
        snprintf(results, sizeof results, ", %s", line);
    else if (r == LIB_EIGH)
        snprintf(results, sizeof results, ", %s, %s", values, number);
    else if (r == LIB_SVD)
        snprintf(results, sizeof results, ", %s, %s, %s, %s", values, matrix, matrix, number);
    const char *name = r == LIB_LU            ? "getrf"
                       : r == LIB_QR          ? "geqrf"
                       : r == LIB_REFLECTORS  ? (complex ? "ungqr" : "orgqr")
                       : r == LIB_EIGH        ? (complex ? "heevd" : "syevd")
                                              : "gesdd";
    int count = r == LIB_LU || r == LIB_EIGH ? 3 : r == LIB_QR ? 2 : r == LIB_SVD ? 5 : 1;
    snprintf(to, n,
             "func.func @main(%s) -> %s {\n"
             "  %%r:%d = stablehlo.custom_call @lapack_%c%s_ffi(%%a%s)\n"
             "    {mhlo.backend_config = {mode = %d : ui8, uplo = 76 : ui8}} : (%s) -> (%s%s)\n  return %%r#0 : %s\n}\n",
             operands, matrix, count, letter, name, r == LIB_REFLECTORS ? ", %t" : "", r == LIB_SVD ? 'S' : 'V', types, matrix,
             results, matrix);
}

#define FACTOR_TEXT(ID, name)                                                                                                  \
    static void name##_text(const int *s, const char *in, const char *out, char *to, size_t n) {                               \
        (void)out;                                                                                                             \
        factor_text(LIB_##ID, s, in, to, n);                                                                                   \
    }
FACTOR_TEXT(LU, lu)
FACTOR_TEXT(QR, qr)
FACTOR_TEXT(REFLECTORS, reflectors)
FACTOR_TEXT(EIGH, eigh)
FACTOR_TEXT(SVD, svd)

static const struct sample samples[] = {
    {LIB_DOT_GENERAL, IR_DOT_GENERAL,
     {"f32", "bf16", "i8 i32", "f64", "complex<f32>", "complex<f64>"},
     dot_text,
     {{1, 32, 32, 32},
      {1, 1, 768, 768},
      {1, 1, 2048, 2048},
      {1, 64, 64, 256},
      {1, 128, 768, 768},
      {1, 256, 256, 256},
      {1, 512, 512, 512},
      {24, 64, 64, 64},
      {24, 128, 128, 32}}},
    {LIB_CONVOLUTION, IR_CONVOLUTION,
     {"f32", "bf16"},
     convolution_text,
     {{1, 14, 32, 32, 3},
      {1, 56, 64, 64, 1},
      {1, 56, 64, 64, 3},
      {4, 28, 128, 128, 3},
      {1, 7, 256, 256, 3},
      {1, 112, 3, 32, 7}}},
    {LIB_REDUCE_WINDOW, IR_REDUCE_WINDOW,
     {"f32"},
     pool_text,
     {{1, 28, 32, 2, 2}, {1, 56, 64, 3, 2}, {4, 56, 64, 3, 1}, {2, 112, 32, 2, 2}, {1, 28, 256, 5, 1}}},
    {LIB_CHOLESKY, IR_CHOLESKY,
     {"f32", "f64", "complex<f32>", "complex<f64>"},
     cholesky_text,
     {{1, 16}, {64, 16}, {1, 64}, {8, 64}, {1, 160}, {1, 320}}},
    {LIB_TRIANGULAR_SOLVE, IR_TRIANGULAR_SOLVE,
     {"f32", "f64", "complex<f32>", "complex<f64>"},
     solve_text,
     {{1, 16, 16}, {64, 16, 4}, {1, 64, 64}, {1, 200, 1}, {1, 200, 200}, {1, 320, 64}}},
    {LIB_FFT, IR_FFT,
     {"complex<f32>", "complex<f64>", "f32 complex<f32>", "f64 complex<f64>"},
     fft_text,
     {{1, 64}, {1, 1024}, {64, 256}, {16, 1000}, {64, 1024}, {4, 16384}, {1, 65536}}},
};

/* Of a GPU: what its libraries do. The host's routines with their transfers are measured, too. */
static const struct sample gpu_samples[] = {
    {LIB_DOT_GENERAL, IR_DOT_GENERAL,
     {"f32", "bf16", "f16", "i8 i32", "f64"},
     dot_text,
     {{1, 16, 16, 32},
      {1, 32, 32, 64},
      {1, 1, 256, 256},
      {4, 64, 64, 64},
      {1, 256, 256, 256},
      {1, 1, 4096, 4096},
      {1, 1024, 1024, 1024},
      {32, 512, 512, 128},
      {1, 2048, 2048, 2048},
      {1, 4096, 4096, 4096}}},
    {LIB_CONVOLUTION, IR_CONVOLUTION,
     {"f32", "bf16", "f16"},
     convolution_text,
     {{1, 6, 8, 8, 3},
      {1, 8, 16, 16, 1},
      {2, 8, 16, 16, 3},
      {1, 56, 64, 64, 3},
      {8, 28, 128, 128, 3},
      {32, 56, 64, 256, 1},
      {32, 14, 512, 512, 3},
      {8, 224, 3, 64, 7}}},
    {LIB_CHOLESKY, IR_CHOLESKY,
     {"f32", "f64", "complex<f32>", "complex<f64>"},
     cholesky_text,
     {{1, 16}, {1, 48}, {2, 64}, {1, 256}, {16, 128}, {1, 1024}, {1, 4096}}},
    {LIB_TRIANGULAR_SOLVE, IR_TRIANGULAR_SOLVE,
     {"f32", "f64", "complex<f32>", "complex<f64>"},
     solve_text,
     {{1, 16, 16}, {1, 48, 8}, {2, 64, 64}, {1, 256, 256}, {1, 1024, 1}, {1, 1024, 1024}, {1, 4096, 1024}}},
#define FACTOR_SAMPLE(ID, name)                                                                                                \
    {LIB_##ID, IR_CUSTOM_CALL, {"f32", "f64", "complex<f32>", "complex<f64>"}, name##_text,                                    \
     {{1, 16}, {1, 32}, {2, 48}, {1, 96}}}
    FACTOR_SAMPLE(LU, lu),
    FACTOR_SAMPLE(QR, qr),
    FACTOR_SAMPLE(REFLECTORS, reflectors),
    FACTOR_SAMPLE(EIGH, eigh),
    FACTOR_SAMPLE(SVD, svd),
    {LIB_FFT, IR_FFT,
     {"complex<f32>", "complex<f64>", "f32 complex<f32>", "f64 complex<f64>"},
     fft_text,
     {{1, 64}, {4, 128}, {16, 256}, {1, 4096}, {64, 1000}, {256, 4096}, {1, 1048576}}},
};

/* ---- measuring -------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Small numbers; the diagonals of square matrices are large, so that factors exist. */
static void fill(const hilo_type *t, char *data, size_t nbytes) {
    const struct ir_dtype_info *info = ir_dtype_get(rt_dtype(t->dtype));
    size_t parts = info->cls == IR_COMPLEX_CLASS ? 2 : 1, bytes = info->bytes / parts, n = nbytes / bytes;
    size_t side = t->rank ? (size_t)t->dims[t->rank - 1] : 1;
    bool square = t->rank > 2 && t->dims[t->rank - 2] == t->dims[t->rank - 1];
    uint32_t seed = 1;
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1664525 + 1013904223;
        double x = (double)(seed >> 16) / 65536 - 0.5;
        size_t at = k / parts;
        if (square && at / side % side == at % side)
            x = k % parts ? 0 : (double)side;
        if (info->cls == IR_SINT)
            data[k] = (char)(seed >> 24);
        else
            fp_encode_n_f64(info->fp, &x, data + k * bytes, 1);
    }
}

/* The arguments; a GPU's are in its memory. */
static int make_inputs(hilo_client *client, const hilo_executable *exe, hilo_buffer **in) {
    hilo_status status = HILO_OK;
    for (size_t i = 0; i < hilo_executable_input_count(exe) && status == HILO_OK; i++) {
        hilo_type t;
        status = hilo_executable_input_type(exe, i, &t);
        status = status == HILO_OK ? hilo_buffer_create(client, t.dtype, t.dims, t.rank, &in[i]) : status;
        size_t bytes = status == HILO_OK ? hilo_buffer_bytes(in[i]) : 0;
        if (status == HILO_OK && !rt_client_on_device(client)) {
            fill(&t, hilo_buffer_data(in[i]), bytes);
        } else if (status == HILO_OK) {
            char *data = cli_alloc(bytes, 1);
            fill(&t, data, bytes);
            hilo_buffer_release(in[i]);
            in[i] = NULL;
            status = hilo_buffer_from_host(client, t.dtype, t.dims, t.rank, data, NULL, &in[i]);
            free(data);
        }
    }
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

/* One run, until the device is done. */
static hilo_status run(hilo_client *client, hilo_executable *exe, hilo_buffer **in, double *ms) {
    struct rt_mark *mark = NULL;
    hilo_buffer *out = NULL;
    double begin = rt_now_ms();
    hilo_status status = hilo_execute(exe, NULL, in, hilo_executable_input_count(exe), &out, 1);
    if (status == HILO_OK)
        status = rt_client_mark(client, &mark);
    if (mark)
        status = rt_mark_wait(client, mark);
    *ms = rt_now_ms() - begin;
    hilo_buffer_release(out);
    return status;
}

int calibrate_measure(hilo_client *client, hilo_executable *exe, double *ns) {
    hilo_buffer *in[2] = {NULL, NULL};
    double ms[CALIBRATE_RUNS], total = 0;
    int code = make_inputs(client, exe, in), n = -3; /* negative: runs that warm up */
    while (code == CLI_OK && n < CALIBRATE_RUNS && (n < 3 || total < CALIBRATE_MS)) {
        double one;
        hilo_status status = run(client, exe, in, &one);
        code = status == HILO_OK ? CLI_OK : cli_fail(client, status);
        n = one > CALIBRATE_LONG_MS && n < 0 ? 0 : n;
        if (n >= 0) {
            ms[n] = one;
            total += one;
        }
        n++;
        if (one > CALIBRATE_LONG_MS)
            break;
    }
    if (code == CLI_OK) {
        qsort(ms, (size_t)n, sizeof *ms, ascending);
        *ns = ms[n / 2] * 1e6;
    }
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
    return code;
}

/* Whether a library computes the op where the client's programs run, or in place of a kernel there. */
static bool can(hilo_client *client, const struct ir_module *m, ir_op op, enum lib_external by) {
    struct lib_match match;
    enum lib_external instead = rt_client_on_device(client) ? ext_instead(ir_kind(m, op)) : LIB_OWN;
    return instead != LIB_OWN ? by == instead && !ext_missing(by) : ext_match(m, op, by, rt_client_gpu(client), &match);
}

static ir_op op_of(const hilo_module *module, enum ir_op_kind kind) {
    const struct ir_module *m = rt_module_ir(module);
    ir_op op = ir_block_get(m, ir_func_body(m, rt_module_functions(module)[0]))->first;
    while (ir_kind(m, op) != kind)
        op = ir_op_get(m, op)->next;
    return op;
}

/* Makes of a sample's @main a function that is called with what a kernel has computed, and whose result a kernel reads: so what
   the host computes takes the transfers that it takes in programs. */
static void call_between_kernels(const hilo_module *module, ir_op op, const char *sample, struct strbuf *out) {
    static const char name[] = "@main";
    const struct ir_module *m = rt_module_ir(module);
    const char *at = strstr(sample, name);
    uint32_t n = ir_op_get(m, op)->noperands;
    ir_type result = ir_val_get(m, ir_result(m, op, 0))->type;
    strbuf_printf(out, "%.*sprivate @sample%sfunc.func @main(", (int)(at - sample), sample, at + sizeof name - 1);
    for (uint32_t i = 0; i < n; i++) {
        strbuf_printf(out, "%s%%x%u: ", i ? ", " : "", i);
        ir_print_type(m, ir_val_get(m, ir_operand(m, op, i))->type, out);
    }
    strbuf_puts(out, ") -> ");
    ir_print_type(m, result, out);
    strbuf_puts(out, " {\n");
    for (uint32_t i = 0; i < n; i++) {
        strbuf_printf(out, "  %%y%u = stablehlo.add %%x%u, %%x%u : ", i, i, i);
        ir_print_type(m, ir_val_get(m, ir_operand(m, op, i))->type, out);
        strbuf_puts(out, "\n");
    }
    strbuf_printf(out, "  %%r = call @sample(%%y0%s) : (", n > 1 ? ", %y1" : "");
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(out, i ? ", " : "");
        ir_print_type(m, ir_val_get(m, ir_operand(m, op, i))->type, out);
    }
    strbuf_puts(out, ") -> ");
    ir_print_type(m, result, out);
    strbuf_puts(out, "\n  %s = stablehlo.add %r, %r : ");
    ir_print_type(m, result, out);
    strbuf_puts(out, "\n  return %s : ");
    ir_print_type(m, result, out);
    strbuf_puts(out, "\n}\n");
}

/* The program of a sample. */
static int parse(hilo_client *client, const struct sample *s, const char *text, hilo_module **out) {
    hilo_status status = hilo_module_parse(client, text, strlen(text), NULL, out);
    if (status == HILO_OK && rt_client_on_device(client) && ext_instead(s->kind) == LIB_OWN) {
        struct strbuf whole;
        strbuf_init(&whole, *rt_client_allocator(client));
        call_between_kernels(*out, op_of(*out, s->kind), text, &whole);
        hilo_module_release(*out);
        *out = NULL;
        status = whole.failed ? HILO_RESOURCE_EXHAUSTED : hilo_module_parse(client, whole.p, whole.n, NULL, out);
        strbuf_free(&whole);
    }
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

/* Times of one size for each provider; 0 for those that do not support it. */
static int measure_size(hilo_client *client, const struct sample *s, const int *size, const char *in, const char *out,
                        struct model_work *work, double *ns) {
    char text[2048];
    hilo_module *module = NULL;
    s->text(size, in, out, text, sizeof text);
    int code = parse(client, s, text, &module);
    if (code != CLI_OK)
        return code;
    const struct ir_module *m = rt_module_ir(module);
    ir_op op = op_of(module, s->kind);
    *work = model_work(m, op);
    for (int by = LIB_OWN; by < LIB_EXTERNAL_COUNT && code == CLI_OK; by++) {
        hilo_executable *exe = NULL;
        ns[by] = 0;
        if (by != LIB_OWN && !can(client, m, op, (enum lib_external)by))
            continue;
        hilo_status status = model_compile(client, module, (enum lib_external)by, &exe);
        code = status == HILO_OK ? calibrate_measure(client, exe, &ns[by]) : cli_fail(client, status);
        hilo_executable_release(exe);
    }
    hilo_module_release(module);
    return code;
}

/* One routine and type: fits the cost of each provider. */
static int measure_type(hilo_client *client, const struct sample *s, const char *types, struct model *m) {
    struct model_work work[CALIBRATE_MOST], theirs[CALIBRATE_MOST];
    double ns[CALIBRATE_MOST][LIB_EXTERNAL_COUNT], times[CALIBRATE_MOST];
    char in[32];
    size_t n = strcspn(types, " "), count = 0;
    const char *out = types[n] ? types + n + 1 : types;
    snprintf(in, sizeof in, "%.*s", (int)n, types);
    int code = CLI_OK;
    for (bool more = true; count < CALIBRATE_MOST && s->sizes[count][0] && more && code == CLI_OK; count++) {
        code = measure_size(client, s, s->sizes[count], in, out, &work[count], ns[count]);
        for (int by = LIB_OWN; by < LIB_EXTERNAL_COUNT && code == CLI_OK && rt_client_on_device(client); by++)
            more &= count < 2 || ns[count][by] < CALIBRATE_LONG_MS * 1e6;
    }
    for (int by = LIB_OWN; by < LIB_EXTERNAL_COUNT && code == CLI_OK; by++) {
        size_t k = 0;
        for (size_t i = 0; i < count; i++)
            if (ns[i][by] > 0) {
                theirs[k] = work[i];
                times[k++] = ns[i][by];
            }
        if (k > 2)
            m->cost[s->routine][ir_dtype_named(str_of(in))][by] = model_fit(theirs, times, k);
    }
    return code;
}

static double measure_copy(void) {
    enum { BYTES = 32 << 20 };
    char *a = cli_alloc(BYTES, 1), *b = cli_alloc(BYTES, 1);
    double least = 0;
    memset(b, 1, BYTES);
    for (int i = 0; i < 4; i++) {
        double begin = rt_now_ms();
        memcpy(a, b, BYTES);
        double ms = rt_now_ms() - begin;
        least = i == 0 || ms < least ? ms : least;
    }
    free(a);
    free(b);
    return least * 1e6 / BYTES;
}

static int measure_all(hilo_client *client, struct model *m) {
    int code = CLI_OK;
    double begin = rt_now_ms();
    bool live = cli_terminal(stderr), gpu = rt_client_on_device(client);
    const struct sample *s = gpu ? gpu_samples : samples;
    size_t n = gpu ? sizeof gpu_samples / sizeof *gpu_samples : sizeof samples / sizeof *samples;
    m->copy = measure_copy();
    for (size_t i = 0; i < n && code == CLI_OK; i++)
        for (size_t t = 0; t < 6 && s[i].types[t] && code == CLI_OK; t++) {
            fprintf(stderr, live ? "\r\033[Kmeasuring %s %s, %.0f s" : "measuring %s %s, %.0f s\n",
                    lib_routine_name(s[i].routine), s[i].types[t], (rt_now_ms() - begin) * 1e-3);
            code = measure_type(client, &s[i], s[i].types[t], m);
        }
    if (live)
        fputs("\r\033[K", stderr);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------ */

/* The rate 1/ns as text; "-" for no cost. */
static const char *rate(double ns, char *out, size_t size) {
    snprintf(out, size, ns > 0 ? "%.3g" : "-", 1 / ns);
    return out;
}

static void show(const hilo_client *client, const struct model *m) {
    char a[32], b[32];
    for (enum lib_external by = LIB_OWN + 1; by < LIB_EXTERNAL_COUNT; by++)
        if (!lib_on_device(by) || rt_client_on_device(client))
            printf("%-9s %s\n", ext_title(by), ext_missing(by) ? ext_missing(by) : ext_version(by));
    printf("copies    %s GB/s\n\n%-17s %-13s %-9s %10s %10s %10s\n", rate(m->copy, a, sizeof a), "routine", "type", "by",
           "fixed us", "Gflop/s", "GB/s");
    for (int r = 0; r < LIB_ROUTINE_COUNT; r++)
        for (int t = 0; t < IR_DTYPE_COUNT; t++)
            for (int by = LIB_OWN; by < LIB_EXTERNAL_COUNT; by++) {
                const struct model_cost *c = &m->cost[r][t][by];
                if (c->known)
                    printf("%-17s %-13s %-9s %10.2f %10s %10s\n", lib_routine_name((enum lib_routine)r),
                           ir_dtype_get((enum ir_dtype)t)->name, ext_title((enum lib_external)by), c->fixed * 1e-3,
                           rate(c->flop, a, sizeof a), rate(c->byte, b, sizeof b));
            }
}

static int calibrate(hilo_client *client, const struct calibrate_options *o) {
    struct model *m = cli_alloc(1, sizeof *m);
    char why[4500];
    int code = CLI_OK;
    if (o->show) {
        const char *missing = model_load(client, m, why, sizeof why);
        if (missing)
            code = cli_error(CLI_FAILED, "calibration: %s", missing);
    } else {
        code = measure_all(client, m);
        struct diag_list d;
        diag_init(&d, *rt_client_allocator(client));
        hilo_status status = code == CLI_OK ? model_store(client, m, &d) : HILO_OK;
        if (status != HILO_OK)
            code = cli_error(CLI_ENVIRONMENT, "%s", d.first && d.first->message ? d.first->message : "out of memory");
        diag_clear(&d);
    }
    if (code == CLI_OK)
        show(client, m);
    free(m);
    return code;
}

static int calibrate_main(const struct cli_command *self, int argc, char **argv) {
    struct calibrate_options o = {.compile = CLI_COMPILE_DEFAULTS};
    struct cli_texts operands;
    hilo_client *client = NULL;
    int code = cli_options(self, argc, argv, &o, &operands);
    o.compile.threads = !o.compile.device || strcmp(o.compile.device, "cpu") == 0; /* beside a GPU the host has all of them */
    if (code < 0 && o.machine)
        code = calibrate_machine(&o.compile, o.machine);
    else if (code < 0)
        code = cli_client(&o.compile, &client);
    if (client)
        code = calibrate(client, &o);
    hilo_client_release(client);
    cli_options_free(self, &o, &operands);
    return code;
}

static const struct cli_option options[] = {
    CLI_DEVICE_OPTION(struct calibrate_options, compile),
    {"--machine", "FILE", CLI_TEXT, offsetof(struct calibrate_options, machine),
     "measure the processor, the GPU and the link\nbetween them, and write the file that other\ncommands take by --machine"},
    {"--show", NULL, CLI_FLAG, offsetof(struct calibrate_options, show), "print the stored measurements"}, {0}};

const struct cli_command cli_calibrate = {
    .name = "calibrate",
    .operands = "",
    .least = 0,
    .most = 0,
    .options = options,
    .run = calibrate_main,
    .summary = "measures which installed libraries are faster",
    .text = "Measures matrix products, convolutions, pooling, Cholesky factors, triangular solves and Fourier transforms on\n"
            "one thread, with hilo's own code and with the installed libraries (oneDNN, OpenBLAS, FFTW), and stores the\n"
            "costs in the directory of the compile cache. From then on --backend auto assigns each step to the provider\n"
            "with the lowest expected time, which `hilo explain` shows. It takes about ten seconds on an idle machine.\n"
            "Repeat it after an upgrade: measurements of another processor or of other library versions are ignored.\n"
            "\n"
            "With --device gpu it measures, for programs that run there, products by kernels and by cuBLASLt, convolutions\n"
            "by kernels and by cuDNN; and factors, solves and transforms by cuSOLVER, cuBLAS and cuFFT, and on the host with\n"
            "their transfers.\n"
            "\n"
            "With --machine, too, it measures instead what a step takes at least, memory, arithmetic in f32 and transfers,\n"
            "and writes them to a file, by which --machine of other commands places programs on processor and GPU.\n"
            "\n"
            "To remove the measurements, delete the files `calibration` and `calibration-gpu` in the directory that\n"
            "`hilo cache path` prints.\n",
    .examples = "  hilo calibrate\n"
                "  hilo calibrate --show\n",
};
