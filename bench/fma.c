/* What the processor does at best, for bench/conv.py and bench/bandwidth.py: multiply-adds, copies, reads and sums of one
 * thread. Compiled for this machine into a shared library: cc -O3 -march=native -shared -fPIC. */
#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
typedef float vector __attribute__((vector_size(BYTES)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

/* Gflop/s of independent multiply-adds in registers: the best of the runs that fit into the time. */
double fma_rate(double seconds) {
    enum { STEPS = 20000, CHAINS = 12 };
    vector x = (vector){0} + 0.999f, y = (vector){0} + 1e-4f;
#define DECLARE(i) vector a##i = (vector){0} + (float)(i)*1e-3f;
    EACH(DECLARE)
    double best = 1e9, end = now() + seconds;
    while (now() < end) {
        double begin = now();
        for (int k = 0; k < STEPS; k++) {
#define STEP(i)                                                                                                                \
    a##i = a##i * x + y;                                                                                                       \
    __asm__ volatile("" : "+v"(a##i));
            EACH(STEP)
        }
        double t = now() - begin;
        best = t < best ? t : best;
    }
    return 2.0 * STEPS * CHAINS * (BYTES / sizeof(float)) / best * 1e-9;
}

/* GB/s, read and written, of copies of `bytes` bytes: the best of the runs that fit into the time. */
double copy_rate(void *to, const void *from, int64_t bytes, double seconds) {
    double best = 1e9, end = now() + seconds;
    while (now() < end) {
        double begin = now();
        memcpy(to, from, (size_t)bytes);
        __asm__ volatile("" : : "r"(to) : "memory");
        double t = now() - begin;
        best = t < best ? t : best;
    }
    return 2.0 * (double)bytes / best * 1e-9;
}

/* Adds up a part of the memory in `streams` streams at once. */
static vector read_streams(const vector *from, int64_t n, int64_t streams) {
    vector sums[4] = {0};
    int64_t each = n / streams;
    for (int64_t i = 0; i < each; i++)
        for (int64_t k = 0; k < streams; k++)
            sums[k] += from[k * each + i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/* GB/s that are read: the best of one and of four streams, and of the runs that fit into the time. */
double read_rate(const void *from, int64_t bytes, double seconds) {
    double best = 1e9, end = now() + seconds;
    int64_t n = bytes / BYTES / 4 * 4;
    for (int run = 0; run < 2 || now() < end; run++) {
        double begin = now();
        vector sum = run % 2 ? read_streams(from, n, 4) : read_streams(from, n, 1);
        __asm__ volatile("" : : "x"(sum[0]) : "memory");
        double t = now() - begin;
        best = t < best ? t : best;
    }
    return (double)(n * BYTES) / best * 1e-9;
}

static void store_past_caches(vector *to, vector x) {
#if defined(__AVX512F__)
    _mm512_stream_ps((float *)to, (__m512)x);
#elif defined(__AVX__)
    _mm256_stream_ps((float *)to, (__m256)x);
#else
    *to = x;
#endif
}

/* GB/s, read and written, of to = a, or to = a + b: the best of stores in caches and past them, and of the runs that fit into
   the time. All are aligned to vectors. */
double store_rate(void *to, const void *a, const void *b, int64_t bytes, double seconds) {
    double best = 1e9, end = now() + seconds;
    int64_t n = bytes / BYTES;
    vector *out = to;
    const vector *x = a, *y = b;
    for (int run = 0; run < 2 || now() < end; run++) {
        double begin = now();
        if (run % 2)
            for (int64_t i = 0; i < n; i++)
                out[i] = y ? x[i] + y[i] : x[i];
        else
            for (int64_t i = 0; i < n; i++)
                store_past_caches(&out[i], y ? x[i] + y[i] : x[i]);
        __asm__ volatile("" : : "r"(to) : "memory");
        double t = now() - begin;
        best = t < best ? t : best;
    }
    return (b ? 3.0 : 2.0) * (double)(n * BYTES) / best * 1e-9;
}
