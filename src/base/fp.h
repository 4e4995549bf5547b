/* fp.h - floating-point formats from f4 to f64: facts, and conversion to and from float and double.
 *
 * Every format is a row of fpfmt.def and is converted by the same code. An element is stored in the
 * low bits of the smallest of 1, 2, 4 or 8 bytes that holds it: one byte for all f4, f6 and f8
 * formats, four for tf32 (19 bits).
 *
 * Conversions to a format round once, to nearest, ties to even. What is too large becomes infinity,
 * or NaN where there is no infinity, or the largest finite value where there is neither. A NaN
 * becomes the format's quiet NaN of the same sign; a format without NaN gives -0. f8E8M0FNU,
 * which has neither sign nor zero, gives NaN for negative values and zeros, and its smallest
 * value for what is smaller. These are the rules of ml_dtypes, and of APFloat where it has one.
 */
#ifndef HILO_BASE_FP_H
#define HILO_BASE_FP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum fp_kind {
#define FP_FORMAT(id, name, exp_bits, man_bits, bias, flavour) FP_##id,
#include "base/fpfmt.def"
    FP_COUNT
};

/* What the codes at the edges mean; see fpfmt.def. */
enum fp_flavour { FPF_IEEE, FPF_FN, FPF_FINITE, FPF_FNUZ, FPF_UNSIGNED };

/* A magnitude is a code without its sign bit; finite ones, 0..largest, are in order of value. */
struct fp_info {
    const char *name;        /* MLIR spelling */
    uint8_t bits;            /* width */
    uint8_t bytes;           /* storage of one element: 1, 2, 4 or 8 */
    uint8_t exp_bits;        /* exponent field */
    uint8_t man_bits;        /* mantissa field, without the implicit bit */
    int16_t bias;            /* of the exponent field */
    enum fp_flavour flavour; /* what the codes at the edges mean */
    uint64_t sign;           /* sign bit; 0 when unsigned */
    uint64_t largest;        /* magnitude of the largest finite value */
    uint64_t overflow;       /* answer to what is too large, without its sign */
    uint64_t nan;            /* answer to NaN, without its sign */
};

/* The row of `kind`; static storage. */
const struct fp_info *fp_get(enum fp_kind kind);

/* The value of a code, exactly; bits above the format's are ignored. A NaN is the quiet NaN of the
 * same sign; f64 is copied. */
double fp_decode(enum fp_kind kind, uint64_t bits);

/* The code nearest to `x`, by the rules above. A number that has the format already is copied. */
uint64_t fp_encode(enum fp_kind kind, double x);
uint64_t fp_encode_f32(enum fp_kind kind, float x);

/* The same for `n` elements; those of `kind` may have any alignment, `src` and `dst` are apart.
 * Only f64 does not fit a float: it is rounded. The payload of a NaN may survive decoding. */
void fp_decode_n_f32(enum fp_kind kind, const void *src, float *dst, size_t n);
void fp_decode_n_f64(enum fp_kind kind, const void *src, double *dst, size_t n);
void fp_encode_n_f32(enum fp_kind kind, const float *src, void *dst, size_t n);
void fp_encode_n_f64(enum fp_kind kind, const double *src, void *dst, size_t n);

/* One stored element as a code, and back. `p` may have any alignment. */
uint64_t fp_load(enum fp_kind kind, const void *p);
void fp_store(enum fp_kind kind, void *p, uint64_t bits);

bool fp_has_inf(enum fp_kind kind);
bool fp_has_nan(enum fp_kind kind);
bool fp_is_nan(enum fp_kind kind, uint64_t bits);

/* The code of the largest finite value. */
uint64_t fp_largest(enum fp_kind kind);

/* The code next to `from` in the direction of `to`, as C's nextafter: `to` when both are equal, NaN
 * when either is NaN. */
uint64_t fp_nextafter(enum fp_kind kind, uint64_t from, uint64_t to);

/* ---- Bit casts, and the 16-bit formats without branches, so that loops vectorise ---- */

static inline uint32_t fp_f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float fp_f32_from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline uint64_t fp_f64_bits(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double fp_f64_from_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* bf16 is the upper half of an f32; the payload of a NaN survives. */
static inline float bf16_to_f32(uint16_t h) {
    return fp_f32_from_bits((uint32_t)h << 16);
}

static inline uint16_t f32_to_bf16(float x) {
    uint32_t u = fp_f32_bits(x);
    uint32_t rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16;
    uint32_t nan = (u >> 16 & 0x8000) | 0x7FC0;
    return (uint16_t)((u & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
}

/* Normal numbers move the exponent by the difference of the biases, 112, infinity and NaN by twice
 * that; subnormals count units of 2^-24. */
static inline float f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t mag = h & 0x7FFF;
    uint32_t normal = (mag << 13) + (112u << 23);
    uint32_t special = normal + (112u << 23);
    uint32_t subnormal = fp_f32_bits((float)(int32_t)mag * 0x1p-24f);
    uint32_t u = mag >= 0x7C00 ? special : normal;
    return fp_f32_from_bits(sign | (mag < 0x0400 ? subnormal : u));
}

/* A sum with 0.5, whose unit in the last place is the 2^-24 of f16 subnormals, rounds to them. */
static inline uint16_t f32_to_f16(float x) {
    uint32_t u = fp_f32_bits(x);
    uint32_t mag = u & 0x7FFFFFFF;
    uint32_t normal = (mag - (112u << 23) + 0x0FFF + (mag >> 13 & 1)) >> 13;
    uint32_t subnormal = fp_f32_bits(fp_f32_from_bits(mag) + 0.5f) - 0x3F000000;
    uint32_t h = mag < 0x38800000 ? subnormal : normal; /* 2^-14, the smallest normal */
    h = mag >= 0x477FF000 ? 0x7C00 : h;                 /* 65520, half way beyond the largest */
    h = mag > 0x7F800000 ? 0x7E00 : h;
    return (uint16_t)((u >> 16 & 0x8000) | h);
}

#endif
