/* Quantising rows of weights: see model.h. */
#include "llm/model.h"

#include "base/fp.h"

#include <math.h>

/* To the nearest integer, ties to even, for |x| < 2^22: the sum with 1.5 * 2^23 leaves no fraction bits. Unlike rintf it is two
   additions on every target, so that loops vectorise. */
static inline float nearest(float x) {
    return (x + 12582912.0f) - 12582912.0f;
}

static inline float between(float x, float low, float high) {
    x = x > low ? x : low; /* NaN too */
    return x < high ? x : high;
}

/* ---- 8 bits: -127 … 127, one scale a row ----------------------------------------------------- */

static void row8(const float *x, int64_t n, int8_t *values, float *scale) {
    float most = 0;
    for (int64_t i = 0; i < n; i++) {
        float size = fabsf(x[i]);
        most = size > most ? size : most;
    }
    *scale = most / 127;
    float inverse = *scale > 0 ? 1 / *scale : 0;
    for (int64_t i = 0; i < n; i++)
        values[i] = (int8_t)nearest(between(x[i] * inverse, -127, 127));
}

/* ---- 4 bits ---------------------------------------------------------------------------------- */

enum { LANES = 8 };

static void pack(const float *q, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n / 2; i++)
        out[i] = (uint8_t)(((int)q[2 * i] & 15) | ((int)q[2 * i + 1] & 15) << 4);
}

/* Rounds a scale to f16, as it is stored. */
static uint16_t stored(float *scale) {
    uint16_t h = f32_to_f16(*scale);
    *scale = f16_to_f32(h);
    return h;
}

static float sum(const float *lanes) {
    float s = 0;
    for (int j = 0; j < LANES; j++)
        s += lanes[j];
    return s;
}

/* Quantises with a scale; returns the scale with the least squared error for these values. */
static float round4(const float *x, float scale, float *q) {
    float inverse = scale != 0 && isfinite(scale) ? 1 / scale : 0, product[LANES] = {0}, square[LANES] = {0};
    for (int i = 0; i < LLM_INT4_GROUP; i += LANES)
        for (int j = 0; j < LANES; j++) {
            float v = nearest(between(x[i + j] * inverse, -8, 7));
            q[i + j] = v;
            product[j] += x[i + j] * v;
            square[j] += v * v;
        }
    float total = sum(square);
    return total > 0 ? sum(product) / total : 0;
}

static float error4(const float *x, float scale, const float *q) {
    float error[LANES] = {0};
    for (int i = 0; i < LLM_INT4_GROUP; i += LANES)
        for (int j = 0; j < LANES; j++) {
            float e = x[i + j] - q[i + j] * scale;
            error[j] += e * e;
        }
    return sum(error);
}

/* -8 … 7. The number farthest from zero becomes -8, so that all sixteen values are used, or it is half a step beyond 7; then
   the scale is refitted to the resulting values. The better of both is kept. */
static void group4(const float *x, uint8_t *values, uint16_t *scale) {
    static const float ends[] = {-8, 7.5f};
    float most = 0, least = INFINITY, q[LLM_INT4_GROUP];
    for (int i = 0; i < LLM_INT4_GROUP; i++)
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
    for (size_t t = 0; t < sizeof ends / sizeof *ends; t++) {
        float s = round4(x, most / ends[t], q);
        uint16_t h = stored(&s);
        float error = error4(x, s, q);
        if (error < least || t == 0) {
            least = error;
            *scale = h;
            pack(q, LLM_INT4_GROUP, values);
        }
    }
}

/* 0 … 15 times the scale, and the offset. */
static void group4z(const float *x, uint8_t *values, uint16_t *scale, uint16_t *offset) {
    float low = x[0], high = x[0], q[LLM_INT4_GROUP];
    for (int i = 1; i < LLM_INT4_GROUP; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float s = (high - low) / 15, o = low;
    *scale = stored(&s);
    *offset = stored(&o);
    float inverse = s > 0 && isfinite(s) ? 1 / s : 0;
    for (int i = 0; i < LLM_INT4_GROUP; i++)
        q[i] = nearest(between((x[i] - o) * inverse, 0, 15));
    pack(q, LLM_INT4_GROUP, values);
}

void llm_quantise_row(const float *x, int64_t cols, uint32_t bits, void *values, void *scales, void *offsets) {
    if (bits == 8) {
        row8(x, cols, values, scales);
        return;
    }
    for (int64_t g = 0; g < cols / LLM_INT4_GROUP; g++) {
        const float *from = x + g * LLM_INT4_GROUP;
        uint8_t *to = (uint8_t *)values + g * LLM_INT4_GROUP / 2;
        if (offsets)
            group4z(from, to, (uint16_t *)scales + g, (uint16_t *)offsets + g);
        else
            group4(from, to, (uint16_t *)scales + g);
    }
}
