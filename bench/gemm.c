/* gemm [-t THREADS] [M N K]...: f32 matrix products by hilo and by OpenBLAS, alternating, in one process.
 *
 * Printed are GFLOP/s by the medians of wall time, and their ratio; then the same by the medians of processor time (of all
 * threads), which other programs on the machine disturb less. Without sizes: 512³ to 4096³ and some that are not square.
 * OpenBLAS is opened at run time; HILO_BLAS names another library with cblas_sgemm. To build it:
 *     cc -O2 -Iinclude bench/gemm.c -o build/gemm build/libhilo.so -Wl,-rpath,$PWD/build -ldl -lm */
#include "hilo.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RUNS = 1000 };
enum engine { HILO, BLAS, ENGINES };

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                      int ldb, float beta, float *c, int ldc);

struct gemm {
    int64_t m, n, k;
    float *a, *b, *c; /* c: OpenBLAS's result */
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer *in[2], *out;
    sgemm_fn *sgemm;
    double wall[ENGINES][MOST_RUNS], cpu[ENGINES][MOST_RUNS];
};

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void *open_blas(int threads) {
    const char *name = getenv("HILO_BLAS");
    void *lib = dlopen(name ? name : "libopenblas.so.0", RTLD_NOW);
    void (*set)(int) = lib ? (void (*)(int))dlsym(lib, "openblas_set_num_threads") : NULL;
    if (set)
        set(threads);
    return lib;
}

static bool failed(hilo_client *client, hilo_status status) {
    if (status != HILO_OK)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    return status != HILO_OK;
}

static bool prepare(struct gemm *g) {
    char text[512];
    long long m = (long long)g->m, n = (long long)g->n, k = (long long)g->k;
    int bytes = snprintf(text, sizeof text,
                         "func.func @main(%%a: tensor<%lldx%lldxf32>, %%b: tensor<%lldx%lldxf32>) -> tensor<%lldx%lldxf32> {\n"
                         "  %%0 = stablehlo.dot_general %%a, %%b, contracting_dims = [1] x [0]\n"
                         "    : (tensor<%lldx%lldxf32>, tensor<%lldx%lldxf32>) -> tensor<%lldx%lldxf32>\n"
                         "  return %%0 : tensor<%lldx%lldxf32>\n}\n",
                         m, k, k, n, m, n, m, k, k, n, m, n, m, n);
    hilo_module *module = NULL;
    bool bad = failed(g->client, hilo_module_parse(g->client, text, (size_t)bytes, NULL, &module)) ||
               failed(g->client, hilo_compile(g->client, module, NULL, &g->exe)) ||
               failed(g->client, hilo_buffer_wrap(g->client, HILO_F32, (int64_t[]){m, k}, 2, g->a, NULL, NULL, &g->in[0])) ||
               failed(g->client, hilo_buffer_wrap(g->client, HILO_F32, (int64_t[]){k, n}, 2, g->b, NULL, NULL, &g->in[1]));
    hilo_module_release(module);
    return !bad;
}

static bool run(struct gemm *g, enum engine e, int i) {
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    if (e == HILO) {
        hilo_buffer_release(g->out);
        g->out = NULL;
        if (failed(g->client, hilo_execute(g->exe, NULL, g->in, 2, &g->out, 1)))
            return false;
    } else {
        g->sgemm(101, 111, 111, (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)g->k, g->b, (int)g->n, 0, g->c, (int)g->n);
    }
    g->wall[e][i] = now(CLOCK_MONOTONIC) - wall;
    g->cpu[e][i] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return true;
}

static double difference(const struct gemm *g) {
    const float *mine = hilo_buffer_data(g->out);
    double most = 0;
    for (int64_t i = 0; i < g->m * g->n; i++)
        most = fmax(most, fabs((double)mine[i] - (double)g->c[i]));
    return most;
}

static bool compare(struct gemm *g) {
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k, end = now(CLOCK_MONOTONIC) + 3;
    int n = 0;
    g->a = malloc((size_t)(g->m * g->k) * sizeof(float));
    g->b = malloc((size_t)(g->k * g->n) * sizeof(float));
    g->c = malloc((size_t)(g->m * g->n) * sizeof(float));
    bool good = g->a && g->b && g->c;
    for (int64_t i = 0; good && i < g->m * g->k; i++)
        g->a[i] = (float)((i * 7919 + 13) % 1009) / 1009 - 0.5f;
    for (int64_t i = 0; good && i < g->k * g->n; i++)
        g->b[i] = (float)((i * 6101 + 29) % 1013) / 1013 - 0.5f;
    good = good && prepare(g) && run(g, HILO, 0) && (!g->sgemm || run(g, BLAS, 0));
    while (good && n < MOST_RUNS && (n < 3 || now(CLOCK_MONOTONIC) < end)) {
        good = run(g, HILO, n) && (!g->sgemm || run(g, BLAS, n));
        n++;
    }
    if (good) {
        double wall = median(g->wall[HILO], n), cpu = median(g->cpu[HILO], n);
        printf("%5lld %5lld %5lld  %8.1f", (long long)g->m, (long long)g->n, (long long)g->k, flops / wall * 1e-9);
        if (g->sgemm) {
            double theirs = median(g->wall[BLAS], n), theirs_cpu = median(g->cpu[BLAS], n);
            printf(" %8.1f %6.2f  %8.1f %8.1f %6.2f  %g", flops / theirs * 1e-9, theirs / wall, flops / cpu * 1e-9,
                   flops / theirs_cpu * 1e-9, theirs_cpu / cpu, difference(g));
        }
        printf("\n");
        fflush(stdout);
    }
    hilo_buffer_release(g->out);
    hilo_buffer_release(g->in[0]);
    hilo_buffer_release(g->in[1]);
    hilo_executable_release(g->exe);
    free(g->a);
    free(g->b);
    free(g->c);
    return good;
}

int main(int argc, char **argv) {
    static const int64_t sizes[][3] = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                                       {128, 3072, 768},   {128, 768, 3072},   {32, 768, 4096},    {32, 4096, 768},
                                       {1000, 1000, 1000}, {200, 3000, 77}};
    static struct gemm g; /* large */
    int threads = 2, at = 1;
    if (argc > 2 && strcmp(argv[1], "-t") == 0) {
        threads = atoi(argv[2]);
        at = 3;
    }
    hilo_client_options options;
    hilo_client_options_init(&options);
    options.threads = threads;
    hilo_client *client;
    if (hilo_client_create(&options, &client) != HILO_OK)
        return 1;
    void *blas = open_blas(threads);
    sgemm_fn *sgemm = blas ? (sgemm_fn *)dlsym(blas, "cblas_sgemm") : NULL;
    printf("    M     N     K      hilo OpenBLAS  ratio  hilo/cpu OpenBLAS  ratio  difference\n");
    size_t n = argc > at ? (size_t)(argc - at) / 3 : sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < n; i++) {
        char **v = argv + at + 3 * i;
        const int64_t *s = argc > at ? (int64_t[]){atoll(v[0]), atoll(v[1]), atoll(v[2])} : sizes[i];
        g = (struct gemm){.m = s[0], .n = s[1], .k = s[2], .client = client, .sgemm = sgemm};
        if (!compare(&g))
            return 1;
    }
    hilo_client_release(client);
    return 0;
}
