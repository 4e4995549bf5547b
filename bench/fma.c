/* What the processor does at best, for bench/conv.py: multiply-adds and copies of one thread. Compiled for this machine into a
 * shared library: cc -O3 -march=native -shared -fPIC. */
#include <stdint.h>
#include <string.h>
#include <time.h>

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
