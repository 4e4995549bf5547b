/* Quantising rows of weights: see model.h. */
#include "llm/model.h"

#include "base/fp.h"

#include <math.h>

/* ---- 8 bits: -127 … 127, one scale a row ----------------------------------------------------- */

static void row8(const float *x, int64_t n, int8_t *values, float *scale) {
    float most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    *scale = most / 127;
    float inverse = *scale > 0 ? 1 / *scale : 0;
    for (int64_t i = 0; i < n; i++)
        values[i] = (int8_t)fmaxf(-127, fminf(127, rintf(x[i] * inverse)));
}

/* ---- 4 bits ---------------------------------------------------------------------------------- */

static void pack(const int8_t *q, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i += 2)
        out[i / 2] = (uint8_t)((q[i] & 15) | (q[i + 1] & 15) << 4);
}

/* -8 … 7. The number farthest from zero becomes -8, so that all sixteen values are used; then the scale is the one with the
   least squared error for the values chosen. Both steps are tried from some scales nearby, and the best is kept. */
static void group4(const float *x, int64_t n, int8_t *q, uint16_t *scale) {
    static const float tries[] = {8, 7.4f, 8.6f, -7};
    float most = 0, best = INFINITY;
    int8_t now[256];
    for (int64_t i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    for (size_t t = 0; t < sizeof tries / sizeof *tries; t++) {
        float s = f16_to_f32(f32_to_f16(most / -tries[t])), product = 0, square = 0, error = 0;
        for (int pass = 0; pass < 2; pass++) {
            float inverse = s != 0 && isfinite(s) ? 1 / s : 0;
            product = square = error = 0;
            for (int64_t i = 0; i < n; i++) {
                float v = fmaxf(-8, fminf(7, rintf(x[i] * inverse)));
                now[i] = (int8_t)v;
                product += x[i] * v;
                square += v * v;
                error += (x[i] - v * s) * (x[i] - v * s);
            }
            if (pass == 0 && square > 0)
                s = f16_to_f32(f32_to_f16(product / square));
        }
        if (error < best) {
            best = error;
            *scale = f32_to_f16(s);
            memcpy(q, now, (size_t)n);
        }
    }
}

/* 0 … 15 times the scale, and the offset. */
static void group4z(const float *x, int64_t n, int8_t *q, uint16_t *scale, uint16_t *offset) {
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    *offset = f32_to_f16(low);
    *scale = f32_to_f16((high - low) / 15);
    float o = f16_to_f32(*offset), s = f16_to_f32(*scale), inverse = s > 0 && isfinite(s) ? 1 / s : 0;
    for (int64_t i = 0; i < n; i++)
        q[i] = (int8_t)fmaxf(0, fminf(15, rintf((x[i] - o) * inverse)));
}

void llm_quantise_row(const float *x, int64_t cols, int64_t groups, uint32_t bits, void *values, void *scales,
                      void *offsets) {
    int64_t n = cols / groups;
    int8_t q[256];
    uint16_t scale = 0, offset;
    if (bits == 8) {
        row8(x, cols, values, scales);
        return;
    }
    for (int64_t g = 0; g < groups; g++) {
        if (offsets) {
            group4z(x + g * n, n, q, &scale, &offset);
            memcpy((uint16_t *)offsets + g, &offset, sizeof offset);
        } else {
            memset(q, 0, sizeof q);
            group4(x + g * n, n, q, &scale);
        }
        memcpy((uint16_t *)scales + g, &scale, sizeof scale);
        pack(q, n, (uint8_t *)values + g * n / 2);
    }
}
