/* hilo calibrate --machine: the rates by which programs are placed on processor and GPU. */
#include "cli/calibrate.h"

#include "base/file.h"
#include "gpu/gpu.h"
#include "target/machine.h"

#include <math.h>
#include <stdlib.h>

enum {
    MACHINE_STEPS = 16,         /* of the program whose steps do next to nothing */
    MACHINE_LINK_RUNS = 5,      /* of which the fastest counts */
    MACHINE_LINK_BYTES = 64 << 20,
    MACHINE_MOST_RUNS = 64      /* on the GPU beside one on the processor */
};
#define MACHINE_LONG_NS 5e7 /* no larger size is measured that is expected to take longer */
#define MACHINE_LEAST 0.001 /* numbers of the file */

/* ---- programs --------------------------------------------------------------------------------- */

static void steps_text(struct strbuf *out) {
    static const char type[] = "tensor<8x8xf32>";
    strbuf_printf(out, "func.func @main(%%x0: %s, %%w: %s) -> %s {\n", type, type, type);
    for (int i = 0; i < MACHINE_STEPS; i++)
        strbuf_printf(out, "  %%x%d = stablehlo.dot_general %%x%d, %%w, contracting_dims = [1] x [0] : (%s, %s) -> %s\n", i + 1,
                      i, type, type, type);
    strbuf_printf(out, "  return %%x%d : %s\n}\n", MACHINE_STEPS, type);
}

static void stream_text(int64_t n, struct strbuf *out) {
    strbuf_printf(out, "func.func @main(%%x: tensor<%lldxf32>, %%y: tensor<%lldxf32>) -> tensor<%lldxf32> {\n"
                       "  %%z = stablehlo.add %%x, %%y : tensor<%lldxf32>\n  return %%z : tensor<%lldxf32>\n}\n",
                  (long long)n, (long long)n, (long long)n, (long long)n, (long long)n);
}

static void product_text(int64_t n, struct strbuf *out) {
    char type[64];
    snprintf(type, sizeof type, "tensor<%lldx%lldxf32>", (long long)n, (long long)n);
    strbuf_printf(out, "func.func @main(%%x: %s, %%w: %s) -> %s {\n"
                       "  %%z = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (%s, %s) -> %s\n"
                       "  return %%z : %s\n}\n", type, type, type, type, type, type, type);
}

static int told(int code, const struct diag_list *d) {
    return cli_error(code, "%s", d->first && d->first->message ? d->first->message : "out of memory");
}

static int compiled(hilo_client *client, struct strbuf *text, hilo_executable **out) {
    hilo_status status = text->failed ? HILO_RESOURCE_EXHAUSTED
                                      : hilo_compile_source(client, text->p, text->n, NULL, NULL, out);
    strbuf_free(text);
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

/* ---- a unit ----------------------------------------------------------------------------------- */

/* The rate of the largest size that does not take too long: smaller ones may fit a cache, or leave cores idle. */
static int measure_rate(hilo_client *client, void (*text)(int64_t n, struct strbuf *out), int64_t n, int64_t most,
                        double (*work)(double n), double least_ns, double *rate) {
    int code = CLI_OK;
    double ns = 0;
    for (; n <= most && ns * work(4) / work(1) < MACHINE_LONG_NS && code == CLI_OK; n *= 4) {
        struct strbuf program;
        hilo_executable *exe = NULL;
        strbuf_init(&program, *rt_client_allocator(client));
        text(n, &program);
        code = compiled(client, &program, &exe);
        if (code == CLI_OK)
            code = calibrate_measure(client, exe, &ns);
        if (code == CLI_OK)
            *rate = fmax(work((double)n) / fmax(ns - least_ns, 1), MACHINE_LEAST);
        hilo_executable_release(exe);
    }
    return code;
}

static double stream_bytes(double n) {
    return 12 * n;
}

static double product_flops(double n) {
    return 2 * n * n * n;
}

static int measure_unit(hilo_client *client, struct machine_unit *out) {
    struct strbuf program;
    hilo_executable *exe = NULL;
    strbuf_init(&program, *rt_client_allocator(client));
    steps_text(&program);
    int code = compiled(client, &program, &exe);
    if (code == CLI_OK)
        code = calibrate_measure(client, exe, &out->least_ns);
    hilo_executable_release(exe);
    out->least_ns = fmax(out->least_ns / MACHINE_STEPS, MACHINE_LEAST);
    if (code == CLI_OK)
        code = measure_rate(client, stream_text, 1 << 13, 1 << 25, stream_bytes, out->least_ns, &out->memory_rate);
    if (code == CLI_OK)
        code = measure_rate(client, product_text, 64, 4096, product_flops, out->least_ns, &out->compute_rate);
    return code;
}

/* ---- the link --------------------------------------------------------------------------------- */

/* There and back, of memory that is not pinned, as that of callers is; the fastest of a few. */
static hilo_status copy_ns(struct gpu *g, void *device, char *host, size_t bytes, struct diag_list *d, double *ns) {
    *ns = INFINITY;
    for (int i = 0; i < MACHINE_LINK_RUNS; i++) {
        double begin = rt_now_ms();
        HILO_TRY(gpu_copy(g, GPU_TO_DEVICE, device, host, bytes, d));
        HILO_TRY(gpu_copy(g, GPU_TO_HOST, host, device, bytes, d));
        HILO_TRY(gpu_wait(g, d));
        *ns = fmin(*ns, (rt_now_ms() - begin) * 1e6 / 2);
    }
    return HILO_OK;
}

static int measure_link(hilo_client *client, struct machine *out) {
    struct gpu *g = rt_client_gpu(client);
    struct diag_list d;
    void *device = NULL;
    double all = 0;
    char *host = cli_alloc(MACHINE_LINK_BYTES, 1);
    memset(host, 1, MACHINE_LINK_BYTES);
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = gpu_alloc(g, MACHINE_LINK_BYTES, "the measurement of copies", &d, &device);
    if (status == HILO_OK)
        status = copy_ns(g, device, host, 4, &d, &out->link_ns);
    if (status == HILO_OK)
        status = copy_ns(g, device, host, MACHINE_LINK_BYTES, &d, &all);
    gpu_free(g, device, MACHINE_LINK_BYTES);
    free(host);
    out->link_ns = fmax(out->link_ns, MACHINE_LEAST);
    out->link_rate = fmax(MACHINE_LINK_BYTES / fmax(all - out->link_ns, 1), MACHINE_LEAST);
    out->device_bytes = (double)gpu_properties(g)->memory_bytes;
    int code = status == HILO_OK ? CLI_OK : told(CLI_FAILED, &d);
    diag_clear(&d);
    return code;
}

/* ---- both at once ----------------------------------------------------------------------------- */

static int make_product(hilo_client *client, int64_t n, hilo_executable **exe, double *ns) {
    struct strbuf program;
    strbuf_init(&program, *rt_client_allocator(client));
    product_text(n, &program);
    int code = compiled(client, &program, exe);
    return code == CLI_OK ? calibrate_measure(client, *exe, ns) : code;
}

static hilo_status start(hilo_executable *exe, hilo_buffer *x) {
    hilo_buffer *out = NULL, *in[] = {x, x};
    hilo_status status = hilo_execute(exe, NULL, in, 2, &out, 1);
    hilo_buffer_release(out);
    return status;
}

/* The GPU has products for longer than the processor has one. */
static hilo_status run_together(hilo_client *client, hilo_executable *there, hilo_buffer *x, int n, hilo_executable *here,
                                hilo_buffer *y, double *here_ns, double *there_ns) {
    struct rt_mark *mark = NULL;
    hilo_status status = start(there, x), other = HILO_OK;
    if (status == HILO_OK)
        status = start(here, y); /* what they take for the first time */
    double begin = rt_now_ms();
    for (int i = 0; i < n && status == HILO_OK; i++)
        status = start(there, x);
    double middle = rt_now_ms();
    if (status == HILO_OK)
        status = start(here, y);
    *here_ns = (rt_now_ms() - middle) * 1e6;
    if (status == HILO_OK)
        status = rt_client_mark(client, &mark);
    if (mark)
        other = rt_mark_wait(client, mark);
    *there_ns = (rt_now_ms() - begin) * 1e6;
    return status == HILO_OK ? other : status;
}

static double kept(double alone, double together) {
    return fmin(fmax(alone / fmax(together, 1), MACHINE_LEAST), 1);
}

static int measure_together(hilo_client *processor, hilo_client *gpu, struct machine *out) {
    const int64_t n = 256, dims[] = {n, n};
    hilo_executable *here = NULL, *there = NULL;
    hilo_buffer *x = NULL, *y = NULL;
    double here_ns = 0, there_ns = 0, both[2] = {0, 0};
    char *data = cli_alloc((size_t)(n * n), sizeof(float));
    memset(data, 0, (size_t)(n * n) * sizeof(float));
    int code = make_product(processor, n, &here, &here_ns);
    if (code == CLI_OK)
        code = make_product(gpu, n, &there, &there_ns);
    hilo_status status = code == CLI_OK ? hilo_buffer_from_host(processor, HILO_F32, dims, 2, data, NULL, &y) : HILO_OK;
    if (status == HILO_OK && code == CLI_OK)
        status = hilo_buffer_from_host(gpu, HILO_F32, dims, 2, data, NULL, &x);
    int runs = (int)fmin(1 + 2 * here_ns / fmax(there_ns, 1), MACHINE_MOST_RUNS);
    if (status == HILO_OK && code == CLI_OK)
        status = run_together(gpu, there, x, runs, here, y, &both[0], &both[1]);
    if (status != HILO_OK)
        code = cli_fail(gpu, status);
    if (code == CLI_OK) {
        out->processor_kept = kept(here_ns, both[0]);
        out->device_kept = kept(runs * there_ns, both[1]);
    }
    hilo_buffer_release(x);
    hilo_buffer_release(y);
    hilo_executable_release(here);
    hilo_executable_release(there);
    free(data);
    return code;
}

/* ---- the file --------------------------------------------------------------------------------- */

static int write_text(const char *path, struct str text) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    int code = file_write(path, text, &d) == HILO_OK ? CLI_OK : told(CLI_ENVIRONMENT, &d);
    diag_clear(&d);
    return code;
}

static int write_machine(const struct machine *x, const char *name, const char *path) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    strbuf_printf(&text, "# Measured by `hilo calibrate`: %s and the processor beside it.\ngpu %s\n", name, x->gpu);
    strbuf_printf(&text, "processor %.4g %.4g %.4g\n", x->processor.least_ns, x->processor.memory_rate,
                  x->processor.compute_rate);
    strbuf_printf(&text, "device %.4g %.4g %.4g %.4g\n", x->device.least_ns, x->device.memory_rate, x->device.compute_rate,
                  x->device_bytes);
    strbuf_printf(&text, "link %.4g %.4g\ntogether %.3g %.3g\n", x->link_ns, x->link_rate, x->processor_kept, x->device_kept);
    strbuf_puts(&text, "arguments device # or host: where callers have them\n");
    int code = text.failed ? cli_error(CLI_ENVIRONMENT, "out of memory") : write_text(path, (struct str){text.p, text.n});
    if (code == CLI_OK)
        printf("%s", text.p);
    strbuf_free(&text);
    return code;
}

int calibrate_machine(const struct cli_compile *options, const char *path) {
    struct cli_compile both = *options;
    struct machine x = {.arguments_on_device = true};
    hilo_client *processor = NULL, *gpu = NULL;
    both.threads = 0;
    int code = cli_client(&both, &gpu);
    if (code == CLI_OK && !rt_client_on_device(gpu))
        code = cli_error(CLI_USAGE, "--machine is for a GPU: --device gpu");
    if (code == CLI_OK) /* before it takes the time to measure */
        code = write_text(path, STR("# not measured yet\n"));
    both.device = "cpu";
    if (code == CLI_OK)
        code = cli_client(&both, &processor);
    if (code == CLI_OK)
        code = measure_unit(processor, &x.processor);
    if (code == CLI_OK)
        code = measure_unit(gpu, &x.device);
    if (code == CLI_OK)
        code = measure_link(gpu, &x);
    if (code == CLI_OK)
        code = measure_together(processor, gpu, &x);
    if (code == CLI_OK) {
        snprintf(x.gpu, sizeof x.gpu, "%s", rt_client_gpu_target(gpu));
        code = write_machine(&x, rt_client_device_name(gpu), path);
    }
    hilo_client_release(processor);
    hilo_client_release(gpu);
    return code;
}
