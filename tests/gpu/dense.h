/* Matrices as the stand-ins for cuSOLVER and cuBLAS have them: columns one after the other, of f32, f64, or complex numbers. */
#ifndef HILO_TESTS_GPU_DENSE_H
#define HILO_TESTS_GPU_DENSE_H

#include <complex.h>
#include <stddef.h>
#include <string.h>

/* As in the names of functions: S, D, C, Z. */
enum dense_type { DENSE_S, DENSE_D, DENSE_C, DENSE_Z };

struct dense {
    enum dense_type type;
    char *at;
    int step; /* from a column to the next */
};

static inline size_t dense_bytes(enum dense_type type) {
    static const size_t bytes[] = {4, 8, 8, 16};
    return bytes[type];
}

static inline double complex dense_get(const struct dense *m, int row, int column) {
    const char *p = m->at + ((size_t)column * (size_t)m->step + (size_t)row) * dense_bytes(m->type);
    float f[2] = {0, 0};
    double x[2] = {0, 0};
    if (m->type == DENSE_D || m->type == DENSE_Z)
        memcpy(x, p, dense_bytes(m->type));
    else
        memcpy(f, p, dense_bytes(m->type));
    return m->type == DENSE_D || m->type == DENSE_Z ? x[0] + I * x[1] : f[0] + I * f[1];
}

static inline void dense_set(const struct dense *m, int row, int column, double complex v) {
    char *p = m->at + ((size_t)column * (size_t)m->step + (size_t)row) * dense_bytes(m->type);
    const float f[2] = {(float)creal(v), (float)cimag(v)};
    const double x[2] = {creal(v), cimag(v)};
    memcpy(p, m->type == DENSE_D || m->type == DENSE_Z ? (const void *)x : f, dense_bytes(m->type));
}

#endif
