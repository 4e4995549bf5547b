/* decimal.c - correctly rounded conversion between decimal text and binary numbers.
 *
 * Both directions multiply a 64-bit integer by a power of ten that is known to 128 bits (scale10),
 * which is enough to round all but numbers within 2^-60 of half way between two results (Lemire,
 * "Number parsing at a gigabyte per second", 2021); those are compared exactly, with integers of as
 * many bits as it takes (compare_exact). What is short enough is one floating-point operation
 * (Clinger, "How to read floating point numbers accurately", 1990). One table, one multiplication
 * and one comparison serve reading and printing, float and double.
 */
#include "base/decimal.h"

#include <assert.h>
#include <float.h>

__extension__ typedef unsigned __int128 u128;

#define POW5_MIN (-342)
#define POW5_MAX 340

static const struct {
    uint64_t hi, lo;
} pow5[POW5_MAX - POW5_MIN + 1] = {
#include "base/pow5.inc"
};

/* floor(log2(10^q)) and floor(log10(2^e)), for |q| <= 342 and |e| <= 1100. */
static inline int log2_pow10(int q) {
    return (217706 * q) >> 16;
}

static inline int log10_pow2(int e) {
    return (78913 * e) >> 18;
}

/* ---- Scaling by a power of ten ---- */

/* sig * 2^exp, where the true sig may be less than 1 smaller or less than 2 larger. */
struct scaled {
    u128 sig;
    int exp;
};

/* w * 10^q, 0 < w; sig has 127 or 128 bits. */
static inline struct scaled scale10(uint64_t w, int q) {
    int lz = __builtin_clzll(w);
    w <<= lz;
    u128 hi = (u128)w * pow5[q - POW5_MIN].hi;
    u128 lo = (u128)w * pow5[q - POW5_MIN].lo;
    return (struct scaled){hi + (uint64_t)(lo >> 64), log2_pow10(q) - 63 - lz};
}

/* sig >> shift rounded to nearest, 0 < shift < 127; `*known` is false, and the result rounded down,
 * when the true sig may be on either side of half way. */
static inline uint64_t round_scaled(struct scaled x, int shift, bool *known) {
    u128 half = (u128)1 << (shift - 1);
    u128 fraction = x.sig & (2 * half - 1);
    *known = fraction != half && fraction != half - 1;
    return (uint64_t)(x.sig >> shift) + (fraction > half);
}

/* ---- Exact comparison ---- */

/* MAX_DIGITS digits, scaled to the size of a number that they approximate: below 2,800 bits. */
#define BIG_WORDS 64

struct big {
    int n; /* words in use, the last of them not 0 */
    uint64_t word[BIG_WORDS];
};

/* b = b * factor + add */
static void big_mul_add(struct big *b, uint64_t factor, uint64_t add) {
    u128 carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (u128)b->word[i] * factor;
        b->word[i] = (uint64_t)carry;
        carry >>= 64;
    }
    if (carry) {
        assert(b->n < BIG_WORDS);
        b->word[b->n++] = (uint64_t)carry;
    }
}

static void big_mul_pow5(struct big *b, int e) {
    const uint64_t pow5_27 = UINT64_C(7450580596923828125); /* the largest in 64 bits */
    for (; e >= 27; e -= 27)
        big_mul_add(b, pow5_27, 0);
    for (; e > 0; e--)
        big_mul_add(b, 5, 0);
}

static void big_shift_left(struct big *b, int bits) {
    int words = bits / 64;
    assert(b->n + words <= BIG_WORDS);
    memmove(b->word + words, b->word, (size_t)b->n * sizeof *b->word);
    memset(b->word, 0, (size_t)words * sizeof *b->word);
    b->n += words;
    big_mul_add(b, UINT64_C(1) << bits % 64, 0);
}

static int big_compare(const struct big *a, const struct big *b) {
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int i = a->n; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

/* Sign of d * 10^q - m * 2^e; d and m not 0. */
static int compare_exact(const struct big *d, int q, uint64_t m, int e) {
    struct big a = *d, b = {.n = 1, .word = {m}};
    big_mul_pow5(q > 0 ? &a : &b, q > 0 ? q : -q);
    int shift = e - q;
    big_shift_left(shift > 0 ? &b : &a, shift > 0 ? shift : -shift);
    return big_compare(&a, &b);
}

/* ---- Decimal text to floating point ---- */

/* The text of a number: w * 10^exp, or a little more when there are digits beyond those in w. */
struct decimal {
    uint64_t w;        /* the first 19 significant digits, or fewer */
    int64_t exp;       /* power of ten that w counts */
    bool negative;     /* there is a minus sign */
    bool more;         /* there are more digits */
    const char *first; /* the digits, with perhaps a point among them */
    const char *last;  /* after them */
    int64_t last_exp;  /* power of ten of the last digit */
};

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* Takes w from the first 19 significant digits, when there are more than fit in 64 bits. */
static void scan_long(struct decimal *d) {
    int64_t rest = 0;
    int n = 0;
    d->w = 0;
    for (const char *p = d->first; p < d->last; p++) {
        if (!is_digit(*p) || (n == 0 && *p == '0'))
            continue;
        if (n < 19) {
            d->w = d->w * 10 + (uint64_t)(*p - '0');
            n++;
        } else {
            rest++;
        }
    }
    d->exp += rest;
    d->more = rest > 0;
}

/* Returns the end of the number, NULL if there is none. */
static inline const char *scan(const char *p, const char *end, struct decimal *d) {
    d->negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');

    uint64_t w = 0;
    d->first = p;
    for (; p < end && is_digit(*p); p++)
        w = w * 10 + (uint64_t)(*p - '0');
    ptrdiff_t n = p - d->first;
    int64_t exp = 0;
    if (p < end && *p == '.') {
        const char *point = p++;
        for (; p < end && is_digit(*p); p++)
            w = w * 10 + (uint64_t)(*p - '0');
        exp = point + 1 - p;
        n += p - point - 1;
    }
    if (n == 0)
        return NULL;
    d->last = p;

    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        bool negative = q < end && *q == '-';
        q += q < end && (*q == '-' || *q == '+');
        int64_t e = 0;
        for (; q < end && is_digit(*q); q++, p = q)
            if (e < INT32_MAX)
                e = e * 10 + (*q - '0');
        exp += negative ? -e : e;
    }
    d->w = w;
    d->exp = d->last_exp = exp;
    d->more = false;
    if (n > 19)
        scan_long(d);
    return p;
}

/* Layout of the target: mantissa bits, exponent of the smallest normal, code of infinity. */
struct target {
    int man_bits, min_exp;
    uint64_t inf;
};

#define TARGET_F64 ((struct target){52, -1022, UINT64_C(0x7FF) << 52})
#define TARGET_F32 ((struct target){23, -126, UINT64_C(0xFF) << 23})

/* The code nearest to w * 10^q; false, and a code near it, when that needs more precision. */
static inline bool round_decimal(uint64_t w, int64_t q, struct target t, uint64_t *code) {
    *code = q < 0 || w == 0 ? 0 : t.inf;
    if (w == 0 || q < POW5_MIN || q > 308)
        return true;
    struct scaled x = scale10(w, (int)q);
    int exp = x.exp + 126 + (int)(x.sig >> 127);  /* of the leading bit */
    int unit = exp > t.min_exp ? exp : t.min_exp; /* exponent that the mantissa field counts in */
    int shift = unit - t.man_bits - x.exp;
    if (shift > 126) { /* far below the smallest subnormal, or just about half of it */
        *code = 0;
        return shift > 130;
    }
    bool known;
    uint64_t rounded = round_scaled(x, shift, &known);
    *code = ((uint64_t)(unit - t.min_exp) << t.man_bits) + rounded;
    if (*code > t.inf)
        *code = t.inf;
    return known;
}

/* Sign of digits * 10^q - (the number half way between `code` and the next). */
static int compare_half_way(const struct big *digits, int q, struct target t, uint64_t code) {
    uint64_t hidden = UINT64_C(1) << t.man_bits;
    uint64_t man = code & (hidden - 1);
    int exp = (int)(code >> t.man_bits);
    if (exp > 0) {
        man |= hidden;
        exp--;
    }
    return compare_exact(digits, q, 2 * man + 1, exp + t.min_exp - t.man_bits - 1);
}

/* The code nearest to digits * 10^q, from one near it. */
static uint64_t round_exact(const struct big *digits, int q, struct target t, uint64_t code) {
    bool up = false;
    for (; code < t.inf; code++, up = true) {
        int c = compare_half_way(digits, q, t, code);
        if (c < 0 || (c == 0 && code % 2 == 0))
            break;
    }
    for (; code > 0 && !up; code--) {
        int c = compare_half_way(digits, q, t, code - 1);
        if (c > 0 || (c == 0 && code % 2 == 0))
            break;
    }
    return code;
}

/* No number half way between two doubles has more significant digits than this; those after it count
 * only in that they are not all 0. */
#define MAX_DIGITS 780

/* The digits of the text as an integer; returns the power of ten of its last digit. */
static int big_from_text(const struct decimal *d, struct big *b) {
    int64_t q = d->last_exp;
    int n = 0;
    bool rest = false;
    *b = (struct big){0};
    for (const char *p = d->first; p < d->last; p++) {
        if (!is_digit(*p) || (n == 0 && *p == '0'))
            continue;
        if (n < MAX_DIGITS) {
            big_mul_add(b, 10, (uint64_t)(*p - '0'));
            n++;
        } else {
            rest |= *p != '0';
            q++;
        }
    }
    if (rest) {
        big_mul_add(b, 10, 1);
        q--;
    }
    return (int)q;
}

/* The powers of ten that are exact in double. */
static const double pow10_f64[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
_Static_assert(FLT_EVAL_METHOD == 0, "double arithmetic must round to double");

/* Clinger's case: w and 10^|q| are both exact in double, so that one operation rounds once. As a
 * float that is rounded again, which is right unless the first rounding led to half way between two
 * floats. */
static inline bool round_short(uint64_t w, int64_t q, struct target t, uint64_t *code) {
    if (w >> 53 || q < -22 || q > 22)
        return false;
    double x = q < 0 ? (double)w / pow10_f64[-q] : (double)w * pow10_f64[q];
    uint64_t u = fp_f64_bits(x);
    *code = t.man_bits == 52 ? u : fp_f32_bits((float)x);
    return t.man_bits == 52 || (u & 0x1FFFFFFF) != 0x10000000;
}

/* The code nearest to w * 10^q. */
static inline uint64_t nearest(uint64_t w, int64_t q, struct target t) {
    uint64_t code;
    if (round_short(w, q, t, &code) || round_decimal(w, q, t, &code))
        return code;
    return round_exact(&(struct big){.n = 1, .word = {w}}, (int)q, t, code);
}

/* The code nearest to a number of more digits than are in d->w. */
static uint64_t nearest_long(const struct decimal *d, struct target t) {
    uint64_t code, above;
    bool known = round_decimal(d->w, d->exp, t, &code);
    if (known && round_decimal(d->w + 1, d->exp, t, &above) && code == above)
        return code;
    struct big digits;
    int q = big_from_text(d, &digits);
    return round_exact(&digits, q, t, code);
}

static inline bool parse(const char *s, const char *end, struct target t, uint64_t *code,
                         bool *negative, const char **next) {
    struct decimal d;
    const char *p = scan(s, end, &d);
    *next = p ? p : s;
    if (!p)
        return false;
    *code = d.more ? nearest_long(&d, t) : nearest(d.w, d.exp, t);
    *negative = d.negative;
    return true;
}

bool dec_parse_double(const char *s, const char *end, double *out, const char **next) {
    uint64_t code;
    bool negative;
    if (!parse(s, end, TARGET_F64, &code, &negative, next))
        return false;
    *out = fp_f64_from_bits(code | (uint64_t)negative << 63);
    return true;
}

bool dec_parse_float(const char *s, const char *end, float *out, const char **next) {
    uint64_t code;
    bool negative;
    if (!parse(s, end, TARGET_F32, &code, &negative, next))
        return false;
    *out = fp_f32_from_bits((uint32_t)code | (uint32_t)negative << 31);
    return true;
}

/* ---- Integers and hexadecimal ---- */

/* 16 + value of a hexadecimal digit, 0 of anything else. */
static const uint8_t hex_digit[256] = {
    ['0'] = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ['A'] = 26, 27, 28, 29, 30, 31,
    ['a'] = 26, 27, 28, 29, 30, 31,
};

static inline uint8_t hex_value(char c) {
    return hex_digit[(unsigned char)c];
}

/* Returns the end of the digits, NULL if there are none. */
static const char *scan_u64(const char *p, const char *end, uint64_t *out, bool *overflow) {
    uint64_t v = 0;
    *overflow = false;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X') && hex_value(p[2])) {
        for (p += 2; p < end && hex_value(*p); p++) {
            *overflow |= v >> 60 != 0;
            v = v << 4 | (hex_value(*p) & 15);
        }
        *out = v;
        return p;
    }
    const char *first = p;
    for (; p < end && is_digit(*p); p++) {
        *overflow |= __builtin_mul_overflow(v, 10, &v);
        *overflow |= __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    }
    *out = v;
    return p > first ? p : NULL;
}

bool dec_parse_u64(const char *s, const char *end, uint64_t *out, const char **next) {
    uint64_t v;
    bool overflow;
    const char *p = scan_u64(s, end, &v, &overflow);
    *next = p ? p : s;
    if (!p || overflow)
        return false;
    *out = v;
    return true;
}

bool dec_parse_i64(const char *s, const char *end, int64_t *out, const char **next) {
    uint64_t v;
    bool overflow;
    bool negative = s < end && *s == '-';
    const char *p = scan_u64(s + (s < end && (*s == '-' || *s == '+')), end, &v, &overflow);
    *next = p ? p : s;
    if (!p || overflow || v > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool hex_decode(const char *hex, size_t nchars, uint8_t *out) {
    unsigned valid = 16;
    for (size_t i = 0; i < nchars / 2; i++) {
        unsigned hi = hex_value(hex[2 * i]), lo = hex_value(hex[2 * i + 1]);
        valid &= hi & lo;
        out[i] = (uint8_t)(hi << 4 | (lo & 15));
    }
    return valid && nchars % 2 == 0;
}

/* ---- Floating point to text ---- */

static uint64_t pow10_u64(int n) {
    uint64_t p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

/* Bits of the integer m * 5^n, m > 0. */
static int bits_times_pow5(uint64_t m, int n) {
    int exp = 0;
    while (n > 0) {
        int step = n < POW5_MAX ? n : POW5_MAX;
        struct scaled x = scale10(m, step);
        m = (uint64_t)(x.sig >> 64);
        exp += x.exp + 64 - step;
        n -= step;
    }
    return 64 - __builtin_clzll(m) + exp;
}

/* Whether MLIR cuts off m * 2^e, whose first digit stands for 10^exp10, after n digits, rather
 * than rounding it half up. It takes the number as an integer times a power of ten, drops as many
 * of the integer's last digits as its length in bits shows to be superfluous, and rounds what is
 * left: six digits of 0.7 as f32 are 699999, which is not 0.7, so it prints as 0.699999988. */
static bool is_cut_off(uint64_t m, int e, int n, int exp10) {
    int zeros = __builtin_ctzll(m);
    m >>= zeros;
    e += zeros;
    int scale = e < 0 ? -e : 0; /* m * 2^e = integer / 10^scale */
    int bits = e < 0 ? bits_times_pow5(m, scale) : 64 - __builtin_clzll(m) + e;
    int dropped = (bits - (n * 196 + 58) / 59) * 59 / 196;
    return dropped > 0 && exp10 + 1 + scale - dropped <= n;
}

/* m * 2^e, m > 0, as n digits, cut off or rounded half up as MLIR does; `*exp10` is the power of
 * ten of the first digit. */
static uint64_t round_digits(uint64_t m, int e, int n, int *exp10) {
    uint64_t limit = pow10_u64(n);
    *exp10 = log10_pow2(e + 63 - __builtin_clzll(m)); /* or one more */
    for (;; ++*exp10) {
        int q = n - 1 - *exp10;
        struct scaled x = scale10(m, q);
        int shift = -(x.exp + e);
        bool cut = is_cut_off(m, e, n, *exp10);
        if (cut) /* rounding half a unit less */
            x.sig -= (u128)1 << (shift - 1);
        bool known;
        uint64_t digits = round_scaled(x, shift, &known);
        if (!known) {
            struct big boundary = {.n = 1, .word = {2 * digits + 1 + cut}};
            digits += compare_exact(&boundary, -q, m, e + 1) <= 0;
        }
        if (digits < limit)
            return digits;
    }
}

static char *put_digits(char *p, uint64_t v, int n) {
    for (int i = n; i-- > 0; v /= 10)
        p[i] = (char)('0' + v % 10);
    return p + n;
}

static char *put_exponent(char *p, char letter, int exp, int min_digits) {
    unsigned v = (unsigned)(exp < 0 ? -exp : exp);
    int n = v >= 100 ? 3 : v >= 10 ? 2 : 1;
    *p++ = letter;
    *p++ = exp < 0 ? '-' : '+';
    return put_digits(p, v, n > min_digits ? n : min_digits);
}

/* d.ddd..., a point after the first of n digits. */
static char *put_mantissa(char *p, uint64_t digits, int n) {
    put_digits(p + 1, digits, n);
    p[0] = p[1];
    p[1] = '.';
    return p + 1 + n;
}

/* n digits, trailing zeros dropped, in the form that MLIR chooses; NULL if that has no point. */
static char *put_shorter(char *p, uint64_t digits, int n, int exp10) {
    int precision = n;
    for (; n > 1 && digits % 10 == 0; n--)
        digits /= 10;
    int last = exp10 - (n - 1); /* power of ten of the last digit */
    bool scientific = last >= 0 ? last > 3 || n + last > precision : exp10 < -3;
    if (scientific) {
        p = put_mantissa(p, digits, n);
        if (n == 1)
            *p++ = '0';
        return put_exponent(p, 'E', exp10, 1);
    }
    if (last >= 0)
        return NULL;
    int leading = exp10 < 0 ? -exp10 : 0; /* zeros */
    put_digits(p + 1, digits, n + leading);
    int whole = exp10 < 0 ? 1 : exp10 + 1;
    memmove(p, p + 1, (size_t)whole);
    p[whole] = '.';
    return p + 1 + n + leading;
}

static char *put_hex(char *p, uint64_t bits, int width) {
    *p++ = '0';
    *p++ = 'x';
    for (int shift = (width + 3) / 4 * 4; (shift -= 4) >= 0;)
        *p++ = "0123456789ABCDEF"[bits >> shift & 15];
    return p;
}

/* Whether digits * 10^q is read as the value `x` >= 0 of the format. */
static bool reads_back(enum fp_kind kind, double x, uint64_t digits, int q) {
    if (kind == FP_F32)
        return nearest(digits, q, TARGET_F32) == fp_f32_bits((float)x);
    double y = fp_f64_from_bits(nearest(digits, q, TARGET_F64));
    return fp_encode(kind, y) == fp_encode(kind, x);
}

/* Prints a finite value; NULL if only its bits will do. */
static char *put_finite(char *p, enum fp_kind kind, double value) {
    uint64_t u = fp_f64_bits(value);
    if (u >> 63)
        *p++ = '-';
    u &= UINT64_MAX >> 1;
    uint64_t man = u & (UINT64_MAX >> 12);
    int exp = (int)(u >> 52);
    if (exp > 0)
        man |= UINT64_C(1) << 52;
    exp = (exp > 0 ? exp : 1) - 1023 - 52;

    int exp10 = 0;
    uint64_t digits = man ? round_digits(man, exp, 6, &exp10) : 0;
    if (reads_back(kind, fp_f64_from_bits(u), digits, exp10 - 5))
        return put_exponent(put_mantissa(p, digits * 10, 7), 'e', exp10, 2);

    /* As many digits as tell all values of the format apart. */
    int n = 2 + (fp_get(kind)->man_bits + 1) * 59 / 196;
    digits = round_digits(man, exp, n, &exp10);
    return put_shorter(p, digits, n, exp10);
}

size_t dec_print_fp(char *buf, enum fp_kind kind, uint64_t bits) {
    double value = fp_decode(kind, bits);
    bool finite = (fp_f64_bits(value) >> 52 & 0x7FF) != 0x7FF;
    char *end = finite ? put_finite(buf, kind, value) : NULL;
    if (!end) {
        int width = fp_get(kind)->bits;
        end = put_hex(buf, bits & UINT64_MAX >> (64 - width), width);
    }
    *end = '\0';
    return (size_t)(end - buf);
}

size_t dec_print_double(char *buf, double x) {
    return dec_print_fp(buf, FP_F64, fp_f64_bits(x));
}

size_t dec_print_float(char *buf, float x) {
    return dec_print_fp(buf, FP_F32, fp_f32_bits(x));
}
