/* test_fp.c - numeric formats and numbers as text, against enumeration and the C library. */
#include "base/decimal.h"
#include "base/fp.h"
#include "base/str.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the four headers before it */
#include <cmocka.h>

#define ENUMERABLE FP_TF32 /* the last format with few enough codes to try them all */
#define RANDOM_ROUNDS 1000000

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static double with_sign(double x, bool negative) {
    return negative ? -x : x;
}

/* ---- Formats ---- */

static void test_known_formats(void **state) {
    (void)state;
    static const struct {
        enum fp_kind kind;
        const char *name;
        int bits, bytes;
        double largest, smallest;
        bool inf, nan;
    } known[] = {
        {FP_F4E2M1FN, "f4E2M1FN", 4, 1, 6, 0.5, false, false},
        {FP_F6E2M3FN, "f6E2M3FN", 6, 1, 7.5, 0.125, false, false},
        {FP_F6E3M2FN, "f6E3M2FN", 6, 1, 28, 0.0625, false, false},
        {FP_F8E3M4, "f8E3M4", 8, 1, 15.5, 0x1p-6, true, true},
        {FP_F8E4M3, "f8E4M3", 8, 1, 240, 0x1p-9, true, true},
        {FP_F8E4M3B11FNUZ, "f8E4M3B11FNUZ", 8, 1, 30, 0x1p-13, false, true},
        {FP_F8E4M3FN, "f8E4M3FN", 8, 1, 448, 0x1p-9, false, true},
        {FP_F8E4M3FNUZ, "f8E4M3FNUZ", 8, 1, 240, 0x1p-10, false, true},
        {FP_F8E5M2, "f8E5M2", 8, 1, 57344, 0x1p-16, true, true},
        {FP_F8E5M2FNUZ, "f8E5M2FNUZ", 8, 1, 57344, 0x1p-17, false, true},
        {FP_F8E8M0FNU, "f8E8M0FNU", 8, 1, 0x1p127, 0x1p-127, false, true},
        {FP_BF16, "bf16", 16, 2, 0x1.FEp127, 0x1p-133, true, true},
        {FP_F16, "f16", 16, 2, 65504, 0x1p-24, true, true},
        {FP_TF32, "tf32", 19, 4, 0x1.FFCp127, 0x1p-136, true, true},
        {FP_F32, "f32", 32, 4, (double)FLT_MAX, 0x1p-149, true, true},
        {FP_F64, "f64", 64, 8, DBL_MAX, 0x1p-1074, true, true},
    };
    assert_int_equal(sizeof known / sizeof *known, FP_COUNT);
    for (int i = 0; i < FP_COUNT; i++) {
        enum fp_kind kind = known[i].kind;
        const struct fp_info *f = fp_get(kind);
        assert_int_equal(kind, i);
        assert_string_equal(f->name, known[i].name);
        assert_int_equal(f->bits, known[i].bits);
        assert_int_equal(f->bytes, known[i].bytes);
        assert_true(fp_decode(kind, fp_largest(kind)) == known[i].largest);
        assert_true(fp_decode(kind, kind == FP_F8E8M0FNU ? 0 : 1) == known[i].smallest);
        assert_int_equal(fp_has_inf(kind), known[i].inf);
        assert_int_equal(fp_has_nan(kind), known[i].nan);
    }
}

static void test_special_values(void **state) {
    (void)state;
    static const struct {
        enum fp_kind kind;
        uint64_t inf, minus_inf, nan, minus_nan, minus_zero, tiny;
    } known[] = {
        {FP_F4E2M1FN, 0x7, 0xF, 0x8, 0x8, 0x8, 0},
        {FP_F6E2M3FN, 0x1F, 0x3F, 0x20, 0x20, 0x20, 0},
        {FP_F8E3M4, 0x70, 0xF0, 0x78, 0xF8, 0x80, 0},
        {FP_F8E4M3, 0x78, 0xF8, 0x7C, 0xFC, 0x80, 0},
        {FP_F8E4M3B11FNUZ, 0x80, 0x80, 0x80, 0x80, 0, 0},
        {FP_F8E4M3FN, 0x7F, 0xFF, 0x7F, 0xFF, 0x80, 0},
        {FP_F8E5M2, 0x7C, 0xFC, 0x7E, 0xFE, 0x80, 0},
        {FP_F8E5M2FNUZ, 0x80, 0x80, 0x80, 0x80, 0, 0},
        {FP_F8E8M0FNU, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0},
        {FP_BF16, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x8000, 0},
        {FP_F16, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x8000, 0},
        {FP_TF32, 0x3FC00, 0x7FC00, 0x3FE00, 0x7FE00, 0x40000, 0},
        {FP_F32, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x80000000, 0},
    };
    double payload = fp_f64_from_bits(UINT64_C(0x7FF0000000000123));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        enum fp_kind kind = known[i].kind;
        assert_int_equal(fp_encode(kind, HUGE_VAL), known[i].inf);
        assert_int_equal(fp_encode(kind, -HUGE_VAL), known[i].minus_inf);
        assert_int_equal(fp_encode(kind, DBL_MAX), known[i].inf);
        assert_int_equal(fp_encode(kind, payload), known[i].nan);
        assert_int_equal(fp_encode(kind, copysign(payload, -1)), known[i].minus_nan);
        assert_int_equal(fp_encode(kind, -0.0), known[i].minus_zero);
        assert_int_equal(fp_encode(kind, 0x1p-1074), known[i].tiny);
        assert_int_equal(fp_is_nan(kind, known[i].nan), fp_has_nan(kind));
        assert_int_equal(isnan(fp_decode(kind, known[i].minus_nan)) != 0, fp_has_nan(kind));
    }
    assert_int_equal(fp_encode(FP_F8E8M0FNU, -1), 0xFF);
    assert_int_equal(fp_encode(FP_F8E8M0FNU, 1.5), 128); /* a tie goes up: 1 bit is always odd */
    assert_int_equal(fp_encode(FP_F8E8M0FNU, 0x1.7FFFFFp-127), 0);
    assert_int_equal(fp_encode(FP_F8E8M0FNU, 0x1.8p127), 0xFF);
}

/* Every code is the nearest to its own value. */
static void test_decode_encode(void **state) {
    (void)state;
    for (enum fp_kind kind = 0; kind <= ENUMERABLE; kind++)
        for (uint64_t code = 0; code < UINT64_C(1) << fp_get(kind)->bits; code++) {
            double x = fp_decode(kind, code);
            uint64_t again = fp_encode(kind, x);
            assert_int_equal(isnan(x) != 0, fp_is_nan(kind, code));
            if (isnan(x)) {
                assert_true(fp_is_nan(kind, again));
                assert_int_equal(fp_encode(kind, fp_decode(kind, again)), again);
            } else {
                assert_int_equal(again, code);
            }
            assert_int_equal(fp_encode_f32(kind, (float)x), again);
        }
}

/* Numbers half way between two neighbours go to the even code, others to the nearer one. */
static void test_encode_nearest(void **state) {
    (void)state;
    for (enum fp_kind kind = 0; kind <= ENUMERABLE; kind++) {
        const struct fp_info *f = fp_get(kind);
        for (uint64_t code = 0; code <= f->largest; code++) {
            double low = fp_decode(kind, code);
            double high = code < f->largest ? fp_decode(kind, code + 1)
                                            : 2 * low - fp_decode(kind, code - 1);
            if (kind == FP_F8E8M0FNU)
                high = 2 * low;
            double half = low + (high - low) / 2;
            uint64_t up = code < f->largest ? code + 1 : f->overflow;
            uint64_t even = kind == FP_F8E8M0FNU || code % 2 ? up : code;
            for (int negative = 0; negative <= (f->sign != 0); negative++) {
                uint64_t sign = negative ? f->sign : 0;
                uint64_t down_code = code == 0 && f->flavour == FPF_FNUZ ? 0 : code | sign;
                uint64_t even_code = even == code ? down_code : even | sign;
                double below = nextafter(half, 0), above = nextafter(half, HUGE_VAL);
                assert_int_equal(fp_encode(kind, with_sign(below, negative)), down_code);
                assert_int_equal(fp_encode(kind, with_sign(half, negative)), even_code);
                assert_int_equal(fp_encode(kind, with_sign(above, negative)), up | sign);
            }
        }
    }
}

static void test_encode_f32_against_hardware(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        double x = fp_f64_from_bits(next_random(&seed));
        if (i % 2) /* in the range of float more often */
            x = ldexp(1 + (double)(next_random(&seed) >> 11) * 0x1p-53, i % 300 - 160);
        if (!isnan(x))
            assert_int_equal(fp_encode(FP_F32, x), fp_f32_bits((float)x));
    }
}

static bool same_f32(float a, float b) {
    return fp_f32_bits(a) == fp_f32_bits(b) ||
           (isnan(a) && isnan(b) && signbit(a) == signbit(b));
}

static void test_inline_16_bit(void **state) {
    (void)state;
    for (unsigned code = 0; code < 0x10000; code++) {
        assert_true(same_f32(f16_to_f32((uint16_t)code), (float)fp_decode(FP_F16, code)));
        assert_true(same_f32(bf16_to_f32((uint16_t)code), (float)fp_decode(FP_BF16, code)));
    }
    uint64_t seed = 2;
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        uint64_t r = next_random(&seed);
        /* Patterns near half way between two codes are the ones that matter. */
        if (i % 2)
            r = (r & 0xFFFFF000) - (r >> 63);
        float x = fp_f32_from_bits((uint32_t)r);
        assert_int_equal(f32_to_f16(x), fp_encode_f32(FP_F16, x));
        assert_int_equal(f32_to_bf16(x), fp_encode_f32(FP_BF16, x));
    }
}

static void test_bulk(void **state) {
    (void)state;
    enum { N = 3000 };
    uint8_t *codes = malloc(8 * N + 1);
    float *f32 = malloc(N * sizeof *f32);
    double *f64 = malloc(N * sizeof *f64);
    assert_true(codes && f32 && f64);
    uint64_t seed = 3;
    for (enum fp_kind kind = 0; kind < FP_COUNT; kind++) {
        size_t bytes = fp_get(kind)->bytes;
        uint8_t *p = codes + 1; /* unaligned */
        for (size_t n = 0; n <= N; n = 3 * n + 7) {
            for (size_t i = 0; i < n; i++)
                fp_store(kind, p + bytes * i, next_random(&seed));
            fp_decode_n_f32(kind, p, f32, n);
            fp_decode_n_f64(kind, p, f64, n);
            for (size_t i = 0; i < n; i++) {
                double x = fp_decode(kind, fp_load(kind, p + bytes * i));
                assert_true(same_f32(f32[i], (float)x));
                assert_true(f64[i] == x || (isnan(f64[i]) && isnan(x)));
            }
            fp_encode_n_f32(kind, f32, p, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(fp_load(kind, p + bytes * i), fp_encode_f32(kind, f32[i]));
            fp_encode_n_f64(kind, f64, p, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(fp_load(kind, p + bytes * i), fp_encode(kind, f64[i]));
        }
    }
    free(codes);
    free(f32);
    free(f64);
}

static void test_nextafter(void **state) {
    (void)state;
    for (enum fp_kind kind = 0; kind <= FP_F16; kind++) {
        const struct fp_info *f = fp_get(kind);
        uint64_t top = fp_has_inf(kind) ? f->overflow : f->largest;
        uint64_t bottom = f->sign ? top | f->sign : 0, code = bottom;
        unsigned steps = 0;
        for (; code != top; steps++) {
            uint64_t next = fp_nextafter(kind, code, top);
            assert_true(fp_decode(kind, next) > fp_decode(kind, code));
            uint64_t back = fp_nextafter(kind, next, bottom);
            assert_true(fp_decode(kind, back) == fp_decode(kind, code));
            code = next;
        }
        assert_int_equal(steps, f->sign ? 2 * top : top);
        assert_int_equal(fp_nextafter(kind, top, top), top);
        if (fp_has_nan(kind))
            assert_true(fp_is_nan(kind, fp_nextafter(kind, top, f->nan)));
    }
    uint64_t seed = 4;
    for (int i = 0; i < 10000; i++) {
        double a = fp_f64_from_bits(next_random(&seed)), b = fp_f64_from_bits(next_random(&seed));
        if (!isnan(a) && !isnan(b))
            assert_true(fp_nextafter(FP_F64, fp_f64_bits(a), fp_f64_bits(b)) ==
                        fp_f64_bits(nextafter(a, b)));
    }
}

/* ---- Text to floating point ---- */

/* Parses all of `text` from a copy that ends where the text does, and compares with strtod. */
static void check_parse(const char *text) {
    size_t n = strlen(text);
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    copy[n] = '7'; /* must not be read */
    double d = 0, want_d = strtod(text, NULL);
    float f = 0, want_f = strtof(text, NULL);
    const char *next;
    bool same = dec_parse_double(copy, copy + n, &d, &next) && next == copy + n &&
                fp_f64_bits(d) == fp_f64_bits(want_d);
    same = dec_parse_float(copy, copy + n, &f, &next) && next == copy + n &&
           fp_f32_bits(f) == fp_f32_bits(want_f) && same;
    free(copy);
    if (!same)
        fail_msg("%s read as %a and %a, not %a and %a", text, d, (double)f, want_d, (double)want_f);
}

static void test_parse_known(void **state) {
    (void)state;
    static const char *const texts[] = {
        "0", "-0", "+1", "1.", ".5", "-0.5", "1.234567e+00", "1e0", "1E5",
        "123456789012345678901234567890",
        "9007199254740993", "9007199254740993.0", "9007199254740992.9999999999999999999999999",
        "9007199254740993.00000000000000000000000000000000000001", "16777217.0", "16777219e0",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309",
        "1e400",
        "-1e999999999999999999999", "1e-999999999999999999999", "0e999999999999", "0.0e-5000",
        "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-323",
        "2.2250738585072011e-308", "2.2250738585072014e-308", "2.225073858507201e-308",
        "1.1754943508222875e-38", "1.17549429e-38", "1.4012984643e-45", "7.0064923216240853e-46",
        "7.0064923216240854e-46", "3.4028234663852886e38",
        "3.40282356779733661637539395458142568447e38",
        "3.40282356779733661637539395458142568448e38", "8.5e-46", "1e-45", "1e38", "1e39",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000001e80",
        "10000000000000000000000000000000000000000000000000000000000000000000000000e-70",
        "7.2057594037927933e16", "3.518437208883201171875e13", "6.631236846766476e-316",
        "1.00000005960464477539", "1.000000059604644775390625",
        "1.0000000596046447753906250000000000000000000000000000000000000000000000000000000000001",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_parse(texts[i]);

    char zeros[2000] = "1";
    memset(zeros + 1, '0', 900);
    strcpy(zeros + 901, "e-900");
    check_parse(zeros);
    strcpy(zeros + 901, "1e-900");
    check_parse(zeros);
    memcpy(zeros, "0.", 2);
    check_parse(zeros);
}

static void test_parse_ends(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int read;    /* characters, -1 if it is no number */
        double value;
    } known[] = {
        {"", -1, 0},       {"-", -1, 0},      {".", -1, 0},    {"e5", -1, 0},
        {"nan", -1, 0},    {"-.e1", -1, 0},   {" 1", -1, 0},   {"--1", -1, 0},
        {"1e", 1, 1},      {"1e+", 1, 1},     {"2, 3", 1, 2},  {"1.5e-x", 3, 1.5},
        {"1.5.5", 3, 1.5}, {"1e5e5", 3, 1e5}, {"0x10", 1, 0},  {"12]", 2, 12},
        {"3.f32", 2, 3},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *s = known[i].text, *next;
        double x = 42;
        bool ok = dec_parse_double(s, s + strlen(s), &x, &next);
        assert_int_equal(ok, known[i].read >= 0);
        assert_ptr_equal(next, s + (ok ? known[i].read : 0));
        assert_true(x == (ok ? known[i].value : 42));
    }
}

static void test_parse_random(void **state) {
    (void)state;
    uint64_t seed = 5;
    char text[64];
    for (int i = 0; i < RANDOM_ROUNDS / 4; i++) {
        uint64_t r = next_random(&seed);
        int digits = 1 + (int)(r % 24), point = (int)(r >> 8) % (digits + 1), n = 0;
        for (int k = 0; k < digits; k++) {
            if (k == point)
                text[n++] = '.';
            text[n++] = (char)('0' + next_random(&seed) % 10);
        }
        int range = r >> 60 & 1 ? 360 : 50;
        snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)(r >> 32) % range);
        check_parse(text);
    }
}

/* Decimals of hundreds of digits that are half way between two numbers, or next to that. */
static void test_parse_half_way(void **state) {
    (void)state;
    uint64_t seed = 6;
    char text[1200];
    for (int i = 0; i < 20000; i++) {
        double low = fabs(fp_f64_from_bits(next_random(&seed)));
        if (i % 2)
            low = (double)fabsf(fp_f32_from_bits((uint32_t)next_random(&seed)));
        if (i % 7 == 0)
            low *= 0x1p-1000;
        double high = i % 2 ? (double)nextafterf((float)low, HUGE_VALF) : nextafter(low, HUGE_VAL);
        if (!isfinite(high))
            continue;
        long double half = ((long double)low + (long double)high) / 2;
        int n = snprintf(text, sizeof text, "%.*Le", i % 3 ? 780 : 40, half);
        char *e = strchr(text, 'e');
        if (i % 5 == 0) /* a little more */
            e[-1] = '1';
        check_parse(text);
        memmove(e + 30, e, (size_t)(text + n + 1 - e));
        memset(e, '0', 30);
        check_parse(text);
    }
}

/* ---- Floating point to text ---- */

static uint64_t read_printed(const char *text, enum fp_kind kind) {
    const char *end = text + strlen(text), *next;
    uint64_t bits;
    if (text[0] == '0' && text[1] == 'x') {
        assert_true(dec_parse_u64(text, end, &bits, &next) && next == end);
        return bits;
    }
    assert_non_null(strchr(text, '.')); /* what MLIR reads as a float */
    float f;
    double d;
    if (kind == FP_F32) {
        assert_true(dec_parse_float(text, end, &f, &next) && next == end);
        return fp_f32_bits(f);
    }
    assert_true(dec_parse_double(text, end, &d, &next) && next == end);
    return fp_encode(kind, d);
}

static void check_print(enum fp_kind kind, uint64_t bits) {
    char buf[DEC_PRINT_SIZE];
    size_t n = dec_print_fp(buf, kind, bits);
    assert_int_equal(n, strlen(buf));
    if (read_printed(buf, kind) != bits)
        fail_msg("%s 0x%llx printed as %s", fp_get(kind)->name, (unsigned long long)bits, buf);
}

static void test_print_read(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (enum fp_kind kind = 0; kind <= ENUMERABLE; kind++)
        for (uint64_t code = 0; code < UINT64_C(1) << fp_get(kind)->bits; code++)
            check_print(kind, code);
    for (int i = 0; i < RANDOM_ROUNDS; i++) {
        uint64_t r = next_random(&seed);
        check_print(FP_F64, r);
        check_print(FP_F32, r >> 32);
    }
    for (int i = 0; i < RANDOM_ROUNDS / 4; i++) { /* of moderate size, round decimals, integers */
        int64_t v = (int64_t)next_random(&seed) >> (i % 60);
        check_print(FP_F64, fp_f64_bits((double)v));
        check_print(FP_F64, fp_f64_bits((double)v * 1e-5));
        check_print(FP_F32, fp_f32_bits((float)v));
        check_print(FP_F32, fp_f32_bits((float)v * 1e-5f));
    }
}

static void test_print_known(void **state) {
    (void)state;
    static const struct {
        enum fp_kind kind;
        uint64_t bits;
        const char *text;
    } known[] = {
        {FP_F32, 0x00000000, "0.000000e+00"},   {FP_F32, 0x80000000, "-0.000000e+00"},
        {FP_F32, 0x3F800000, "1.000000e+00"},   {FP_F32, 0xBF000000, "-5.000000e-01"},
        {FP_F32, 0x3DCCCCCD, "1.000000e-01"},   {FP_F32, 0x3EAAAAAB, "0.333333343"},
        {FP_F32, 0x40490FDB, "3.14159274"},     {FP_F32, 0x3F9E0651, "1.23456776"},
        {FP_F32, 0x2F9B1CD2, "2.82148138E-10"}, {FP_F32, 0x4B800000, "0x4B800000"},
        {FP_F32, 0x7F7FFFFF, "3.40282347E+38"}, {FP_F32, 0x00000001, "1.401300e-45"},
        {FP_F32, 0x7F800000, "0x7F800000"},     {FP_F32, 0xFFC00000, "0xFFC00000"},
        {FP_F32, 0x5F000000, "9.22337203E+18"}, {FP_F32, 0x49742400, "1.000000e+06"},
        {FP_F32, 0x3C23D70B, "0.0100000007"},   {FP_F32, 0x3F333333, "0.699999988"},
        {FP_F32, 0x4B189680, "1.000000e+07"},   {FP_F32, 0x4E0F0D18, "6.000000e+08"},
        {FP_F64, 0x3FF0000000000000, "1.000000e+00"},
        {FP_F64, 0x3FD5555555555555, "0.33333333333333331"},
        {FP_F64, 0x400921FB54442D18, "3.1415926535897931"},
        {FP_F64, 0x7FEFFFFFFFFFFFFF, "1.7976931348623157E+308"},
        {FP_F64, 0x0000000000000001, "4.940660e-324"},
        {FP_F64, 0x4132D68700000000, "0x4132D68700000000"},
        {FP_F64, 0xFFF0000000000000, "0xFFF0000000000000"},
        {FP_BF16, 0x4049, "3.140630e+00"},      {FP_BF16, 0x7F80, "0x7F80"},
        {FP_BF16, 0x3F33, "6.992180e-01"},
        {FP_F16, 0x3555, "3.332520e-01"},       {FP_F16, 0x7BFF, "6.550400e+04"},
        {FP_TF32, 0x3FE00, "0x3FE00"},          {FP_F8E4M3FN, 0x7F, "0x7F"},
        {FP_F8E4M3FNUZ, 0x80, "0x80"},          {FP_F4E2M1FN, 0xF, "-6.000000e+00"},
        {FP_F8E8M0FNU, 0, "5.877470e-39"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char buf[DEC_PRINT_SIZE];
        dec_print_fp(buf, known[i].kind, known[i].bits);
        assert_string_equal(buf, known[i].text);
    }
    char buf[DEC_PRINT_SIZE];
    assert_int_equal(dec_print_float(buf, 1.5f), 12);
    assert_string_equal(buf, "1.500000e+00");
    dec_print_double(buf, -2.5);
    assert_string_equal(buf, "-2.500000e+00");
}

/* The 17 digits are those of printf, but for what begins with 7.2 and more: MLIR cuts that off. */
static void test_print_against_printf(void **state) {
    (void)state;
    uint64_t seed = 8;
    for (int i = 0; i < RANDOM_ROUNDS / 4; i++) {
        double x = ldexp((double)next_random(&seed), i % 600 - 360);
        char buf[DEC_PRINT_SIZE], want[64];
        dec_print_double(buf, x);
        if (strchr(buf, 'x') || !strchr(buf, 'E') || buf[0] >= '7')
            continue;
        snprintf(want, sizeof want, "%.16e", x);
        char *got_exp = strchr(buf, 'E'), *want_exp = strchr(want, 'e');
        assert_int_equal(strtol(got_exp + 1, NULL, 10), strtol(want_exp + 1, NULL, 10));
        while (want_exp[-1] == '0')
            want_exp--;
        assert_int_equal(got_exp - buf, want_exp - want);
        assert_memory_equal(buf, want, (size_t)(got_exp - buf));
    }
}

/* ---- Integers and hexadecimal ---- */

static void test_parse_integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int read; /* characters; negative: that many, but out of range */
        int64_t i64;
    } known_i64[] = {
        {"0", 1, 0}, {"-0", 2, 0}, {"+7", 2, 7}, {"00012", 5, 12}, {"12,", 2, 12},
        {"9223372036854775807", 19, INT64_MAX},
        {"9223372036854775808", -19, 0}, {"-9223372036854775808", 20, INT64_MIN},
        {"-9223372036854775809", -20, 0}, {"0x7FFFFFFFFFFFFFFF", 18, INT64_MAX},
        {"0x8000000000000000", -18, 0}, {"-0x8000000000000000", 19, INT64_MIN}, {"-0X1f", 5, -31},
        {"0x", 1, 0}, {"0xg", 1, 0}, {"-", 0, 0}, {"", 0, 0}, {"x1", 0, 0}, {"- 1", 0, 0},
        {"99999999999999999999999", -23, 0},
    }, known_u64[] = {
        {"18446744073709551615", 20, -1}, {"18446744073709551616", -20, 0},
        {"18446744073709551620", -20, 0}, {"184467440737095516150", -21, 0},
        {"0xFFFFFFFFFFFFFFFF", 18, -1}, {"0x10000000000000000", -19, 0},
        {"0x00000000000000000000001", 25, 1}, {"7", 1, 7}, {"-1", 0, 0}, {"+1", 0, 0},
        {"abc", 0, 0},
    };
    for (size_t i = 0; i < sizeof known_i64 / sizeof *known_i64; i++) {
        const char *s = known_i64[i].text, *next;
        int64_t v = 42;
        bool ok = dec_parse_i64(s, s + strlen(s), &v, &next);
        assert_int_equal(ok, known_i64[i].read > 0);
        assert_int_equal(next - s, abs(known_i64[i].read));
        assert_true(v == (ok ? known_i64[i].i64 : 42));
    }
    for (size_t i = 0; i < sizeof known_u64 / sizeof *known_u64; i++) {
        const char *s = known_u64[i].text, *next;
        uint64_t v = 42;
        bool ok = dec_parse_u64(s, s + strlen(s), &v, &next);
        assert_int_equal(ok, known_u64[i].read > 0);
        assert_int_equal(next - s, abs(known_u64[i].read));
        assert_true(v == (ok ? (uint64_t)known_u64[i].i64 : 42));
    }
    uint64_t seed = 9;
    for (int i = 0; i < 100000; i++) {
        char text[32];
        const char *next;
        int64_t want = (int64_t)next_random(&seed) >> (i % 64), v;
        int n = snprintf(text, sizeof text, "%lld", (long long)want);
        assert_true(dec_parse_i64(text, text + n, &v, &next) && v == want && next == text + n);
    }
}

static void test_hex_decode(void **state) {
    (void)state;
    enum { N = 256 };
    char text[2 * N + 1];
    uint8_t bytes[N];
    for (unsigned i = 0; i < N; i++)
        snprintf(text + 2 * i, 3, i % 2 ? "%02x" : "%02X", i);
    for (size_t n = 0; n <= N; n++) {
        memset(bytes, 0xEE, N);
        assert_true(hex_decode(text, 2 * n, bytes));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(bytes[i], i < n ? i : 0xEE);
    }
    assert_false(hex_decode(text, 2 * N - 1, bytes));
    for (int c = 0; c < 256; c++)
        for (size_t at = 100; at < 102; at++) {
            char kept = text[at];
            text[at] = (char)c;
            bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
            assert_int_equal(hex_decode(text, 2 * N, bytes), digit);
            text[at] = kept;
        }
}

/* Integers as strbuf writes them, against the C library. */
static void test_integers(void **state) {
    (void)state;
    static const int64_t edges[] = {0, 1, -1, 9, 10, -10, 99, 100, INT64_MAX, INT64_MIN};
    struct strbuf text;
    char expected[32];
    uint64_t seed = 1;
    strbuf_init(&text, mem_system_allocator());
    for (size_t i = 0; i < 1000; i++) {
        uint64_t random = next_random(&seed);
        int64_t v = i < sizeof edges / sizeof *edges ? edges[i] : (int64_t)random >> (i % 64);
        text.n = 0;
        strbuf_i64(&text, v);
        snprintf(expected, sizeof expected, "%lld", (long long)v);
        assert_string_equal(text.p, expected);
    }
    strbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_formats),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_decode_encode),
        cmocka_unit_test(test_encode_nearest),
        cmocka_unit_test(test_encode_f32_against_hardware),
        cmocka_unit_test(test_inline_16_bit),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_nextafter),
        cmocka_unit_test(test_parse_known),
        cmocka_unit_test(test_parse_ends),
        cmocka_unit_test(test_parse_random),
        cmocka_unit_test(test_parse_half_way),
        cmocka_unit_test(test_print_read),
        cmocka_unit_test(test_print_known),
        cmocka_unit_test(test_print_against_printf),
        cmocka_unit_test(test_parse_integers),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_hex_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
