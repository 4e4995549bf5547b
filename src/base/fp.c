/* fp.c - conversions between floating-point formats, driven by the rows of fpfmt.def.
 *
 * All formats share one shape: within a sign, codes 0..largest enumerate the values in order, so
 * that rounding may carry from mantissa into exponent by plain addition, and what is beyond
 * `largest` after rounding has overflowed. The rest of a flavour is a few codes in its row.
 */
#include "base/fp.h"

#include <assert.h>

/* Codes of a format with e exponent and m mantissa bits. */
#define ALL(e, m) ((UINT64_C(1) << ((e) + (m))) - 1) /* all bits of a magnitude */
#define INF(e, m)  (((UINT64_C(1) << (e)) - 1) << (m))
#define QNAN(e, m) (INF(e, m) | UINT64_C(1) << ((m) - 1))

/* clang-format off */
#define BYTES(width) ((width) <= 8 ? 1 : (width) <= 16 ? 2 : (width) <= 32 ? 4 : 8)
#define CODES(e, m, has_sign, max, over, not_a_number)                                            \
    .bits = (e) + (m) + (has_sign), .bytes = BYTES((e) + (m) + (has_sign)),                       \
    .sign = UINT64_C(has_sign) << ((e) + (m)),                                                    \
    .largest = (max), .overflow = (over), .nan = (not_a_number)

/*                                       sign  largest        overflow       NaN */
#define CODES_IEEE(e, m)     CODES(e, m, 1,    INF(e, m) - 1, INF(e, m),     QNAN(e, m))
#define CODES_FN(e, m)       CODES(e, m, 1,    ALL(e, m) - 1, ALL(e, m),     ALL(e, m))
#define CODES_FINITE(e, m)   CODES(e, m, 1,    ALL(e, m),     ALL(e, m),     ALL(e, m) + 1)
#define CODES_FNUZ(e, m)     CODES(e, m, 1,    ALL(e, m),     ALL(e, m) + 1, ALL(e, m) + 1)
#define CODES_UNSIGNED(e, m) CODES(e, m, 0,    ALL(e, m) - 1, ALL(e, m),     ALL(e, m))

static const struct fp_info fp_table[FP_COUNT] = {
#define FP_FORMAT(id, str, e, m, b, kind_of_codes)                                                \
    [FP_##id] = {.name = str, .exp_bits = e, .man_bits = m, .bias = b,                            \
                 .flavour = FPF_##kind_of_codes, CODES_##kind_of_codes(e, m)},
#include "base/fpfmt.def"
};
/* clang-format on */

#define F64_MAN_BITS 52
#define F64_BIAS     1023
#define F64_SIGN     (UINT64_C(1) << 63)
#define F64_INF      INF(11, 52)
#define F64_NAN      QNAN(11, 52)

const struct fp_info *fp_get(enum fp_kind kind) {
    assert((unsigned)kind < FP_COUNT);
    return &fp_table[kind];
}

/* Exponent of the smallest normal number. */
static inline int min_exp(const struct fp_info *f) {
    return (f->flavour == FPF_UNSIGNED ? 0 : 1) - f->bias;
}

static inline uint64_t magnitude(const struct fp_info *f, uint64_t bits) {
    return bits & ALL(f->exp_bits, f->man_bits);
}

static inline bool is_nan(const struct fp_info *f, uint64_t bits) {
    uint64_t mag = magnitude(f, bits);
    switch (f->flavour) {
    case FPF_IEEE: return mag > f->overflow;
    case FPF_FN: return mag > f->largest;
    case FPF_FINITE: return false;
    case FPF_FNUZ: return mag == 0 && (bits & f->sign) != 0;
    case FPF_UNSIGNED: return mag > f->largest;
    }
    return false;
}

static inline double decode(const struct fp_info *f, uint64_t bits) {
    if (f == &fp_table[FP_F64])
        return fp_f64_from_bits(bits);
    uint64_t mag = magnitude(f, bits);
    uint64_t sign = bits & f->sign ? F64_SIGN : 0;
    if (is_nan(f, bits))
        return fp_f64_from_bits(sign | F64_NAN);
    if (mag > f->largest)
        return fp_f64_from_bits(sign | F64_INF);

    int man_bits = f->man_bits;
    uint64_t man = mag & ALL(0, man_bits);
    int exp = (int)(mag >> man_bits);
    if (exp == 0 && f->flavour != FPF_UNSIGNED) { /* zeros and subnormals count units */
        uint64_t unit = (uint64_t)(min_exp(f) - man_bits + F64_BIAS) << F64_MAN_BITS;
        double v = (double)man * fp_f64_from_bits(unit);
        return fp_f64_from_bits(sign | fp_f64_bits(v));
    }
    uint64_t exp64 = (uint64_t)(exp - f->bias + F64_BIAS);
    return fp_f64_from_bits(sign | exp64 << F64_MAN_BITS | man << (F64_MAN_BITS - man_bits));
}

/* `sig >> shift`, rounded to nearest even; 0 < shift, sig < 2^62. */
static inline uint64_t shift_round(uint64_t sig, int shift) {
    if (shift > 62)
        return 0;
    uint64_t half = UINT64_C(1) << (shift - 1);
    return (sig + half - 1 + (sig >> shift & 1)) >> shift;
}

static inline uint64_t encode(const struct fp_info *f, double x) {
    uint64_t u = fp_f64_bits(x);
    if (f == &fp_table[FP_F64])
        return u;
    uint64_t mag = u & ~F64_SIGN;
    uint64_t sign = u & F64_SIGN ? f->sign : 0;
    bool no_code = f->flavour == FPF_UNSIGNED && (mag == 0 || (u & F64_SIGN));
    if (mag > F64_INF || no_code)
        return f->nan | sign;

    /* Subnormal doubles take this path too, as numbers just as far below every other format. */
    int exp = (int)(mag >> F64_MAN_BITS) - F64_BIAS;
    uint64_t sig = (mag & ALL(0, F64_MAN_BITS)) | UINT64_C(1) << F64_MAN_BITS;
    int unit = exp > min_exp(f) ? exp : min_exp(f); /* exponent that the mantissa field counts in */
    uint64_t code = shift_round(sig, F64_MAN_BITS - f->man_bits + (unit - exp));
    code += (uint64_t)(unit - min_exp(f)) << f->man_bits;
    if (f->flavour == FPF_UNSIGNED)
        code = exp < unit ? 0 : code - 1; /* exponent field 0 is a normal number */
    if (code > f->largest)
        return f->overflow | sign;
    if (code == 0 && f->flavour == FPF_FNUZ)
        return 0;
    return code | sign;
}

double fp_decode(enum fp_kind kind, uint64_t bits) {
    return decode(fp_get(kind), bits);
}

uint64_t fp_encode(enum fp_kind kind, double x) {
    return encode(fp_get(kind), x);
}

uint64_t fp_encode_f32(enum fp_kind kind, float x) {
    return kind == FP_F32 ? fp_f32_bits(x) : encode(fp_get(kind), (double)x);
}

static inline uint64_t load(const struct fp_info *f, const void *p) {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (f->bytes) {
    case 1: return memcpy(&u8, p, sizeof u8), u8;
    case 2: return memcpy(&u16, p, sizeof u16), u16;
    case 4: return memcpy(&u32, p, sizeof u32), u32;
    default: return memcpy(&u64, p, sizeof u64), u64;
    }
}

static inline void store(const struct fp_info *f, void *p, uint64_t bits) {
    uint8_t u8 = (uint8_t)bits;
    uint16_t u16 = (uint16_t)bits;
    uint32_t u32 = (uint32_t)bits;
    switch (f->bytes) {
    case 1: memcpy(p, &u8, sizeof u8); break;
    case 2: memcpy(p, &u16, sizeof u16); break;
    case 4: memcpy(p, &u32, sizeof u32); break;
    default: memcpy(p, &bits, sizeof bits); break;
    }
}

uint64_t fp_load(enum fp_kind kind, const void *p) {
    return load(fp_get(kind), p);
}

void fp_store(enum fp_kind kind, void *p, uint64_t bits) {
    store(fp_get(kind), p, bits);
}

static inline uint16_t load16(const uint8_t *p, size_t i) {
    uint16_t u;
    memcpy(&u, p + 2 * i, sizeof u);
    return u;
}

static inline void store16(uint8_t *p, size_t i, uint16_t u) {
    memcpy(p + 2 * i, &u, sizeof u);
}

#define BLOCK 1024 /* elements from which a table of all 256 codes pays off */

static void decode_bytes(const struct fp_info *f, const uint8_t *src, float *dst, size_t n) {
    if (n < BLOCK) {
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)decode(f, src[i]);
        return;
    }
    float value[256];
    for (unsigned code = 0; code < 256; code++)
        value[code] = (float)decode(f, code);
    for (size_t i = 0; i < n; i++)
        dst[i] = value[src[i]];
}

void fp_decode_n_f32(enum fp_kind kind, const void *src, float *dst, size_t n) {
    const struct fp_info *f = fp_get(kind);
    const uint8_t *p = src;
    if (n == 0)
        return;
    if (f->bytes == 1) {
        decode_bytes(f, p, dst, n);
    } else if (kind == FP_BF16) {
        for (size_t i = 0; i < n; i++)
            dst[i] = bf16_to_f32(load16(p, i));
    } else if (kind == FP_F16) {
        for (size_t i = 0; i < n; i++)
            dst[i] = f16_to_f32(load16(p, i));
    } else if (kind == FP_F32) {
        memcpy(dst, src, n * sizeof *dst);
    } else {
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)decode(f, load(f, p + f->bytes * i));
    }
}

void fp_decode_n_f64(enum fp_kind kind, const void *src, double *dst, size_t n) {
    const struct fp_info *f = fp_get(kind);
    const uint8_t *p = src;
    if (n == 0)
        return;
    if (kind == FP_F64) {
        memcpy(dst, src, n * sizeof *dst);
        return;
    }
    float block[BLOCK]; /* every other format is exact in float */
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        fp_decode_n_f32(kind, p + f->bytes * i, block, m);
        for (size_t j = 0; j < m; j++)
            dst[i + j] = (double)block[j];
    }
}

void fp_encode_n_f32(enum fp_kind kind, const float *src, void *dst, size_t n) {
    const struct fp_info *f = fp_get(kind);
    uint8_t *p = dst;
    if (n == 0)
        return;
    if (kind == FP_BF16) {
        for (size_t i = 0; i < n; i++)
            store16(p, i, f32_to_bf16(src[i]));
    } else if (kind == FP_F16) {
        for (size_t i = 0; i < n; i++)
            store16(p, i, f32_to_f16(src[i]));
    } else if (kind == FP_F32) {
        memcpy(dst, src, n * sizeof *src);
    } else {
        for (size_t i = 0; i < n; i++)
            store(f, p + f->bytes * i, encode(f, (double)src[i]));
    }
}

void fp_encode_n_f64(enum fp_kind kind, const double *src, void *dst, size_t n) {
    const struct fp_info *f = fp_get(kind);
    uint8_t *p = dst;
    if (n == 0)
        return;
    if (kind == FP_F64)
        memcpy(dst, src, n * sizeof *src);
    else
        for (size_t i = 0; i < n; i++)
            store(f, p + f->bytes * i, encode(f, src[i]));
}

bool fp_has_inf(enum fp_kind kind) {
    return fp_get(kind)->flavour == FPF_IEEE;
}

bool fp_has_nan(enum fp_kind kind) {
    return fp_get(kind)->flavour != FPF_FINITE;
}

bool fp_is_nan(enum fp_kind kind, uint64_t bits) {
    return is_nan(fp_get(kind), bits);
}

uint64_t fp_largest(enum fp_kind kind) {
    return fp_get(kind)->largest;
}

uint64_t fp_nextafter(enum fp_kind kind, uint64_t from, uint64_t to) {
    const struct fp_info *f = fp_get(kind);
    if (is_nan(f, from) || is_nan(f, to))
        return f->nan;
    from &= f->sign | ALL(f->exp_bits, f->man_bits);
    double a = decode(f, from), b = decode(f, to);
    if (a == b)
        return to;
    if (a == 0)
        return (b < 0 ? f->sign : 0) | 1;
    uint64_t next = (a < b) == (a > 0) ? from + 1 : from - 1;
    return next == f->sign && f->flavour == FPF_FNUZ ? 0 : next; /* the code of -0 is NaN there */
}
