/* What each pure op computes, on one value of each operand: used by folding and the interpreter.
 *
 * A value is 64 bits: an integer extended by its sign, 0 or 1 for i1, the bits of a float extended as an integer of its
 * width. */
#include "kir/node.h"

#include <math.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

int64_t kir_narrow(enum kir_type t, uint64_t bits) {
    unsigned width = kir_type_bits(t);
    if (width == 1)
        return (int64_t)(bits & 1);
    uint64_t sign = (uint64_t)1 << (width - 1), low = bits & (sign | (sign - 1));
    return (int64_t)((low ^ sign) - sign);
}

/* The value as an unsigned integer of its width. */
static uint64_t unsigned_of(enum kir_type t, int64_t v) {
    unsigned width = kir_type_bits(t);
    return width == 64 ? (uint64_t)v : (uint64_t)v & (((uint64_t)1 << width) - 1);
}

/* Whether an op takes integers of the type without their sign. */
static bool takes_unsigned(const struct kir_node *n, enum kir_type t) { return (n->flags & KIR_U) || t == KIR_I1; }

/* ---- integers -------------------------------------------------------------------------------- */

static uint64_t divide(const struct kir_node *n, enum kir_type t, int64_t a, int64_t b, bool rem) {
    if (b == 0)
        return rem ? (uint64_t)a : ~(uint64_t)0;
    if (takes_unsigned(n, t)) {
        uint64_t x = unsigned_of(t, a), y = unsigned_of(t, b);
        return rem ? x % y : x / y;
    }
    if (b == -1)
        return rem ? 0 : -(uint64_t)a;
    return (uint64_t)(rem ? a % b : a / b);
}

static uint64_t shift(const struct kir_node *n, enum kir_type t, int64_t a, int64_t b) {
    uint64_t by = unsigned_of(t, b);
    bool beyond = by >= kir_type_bits(t);
    if (n->op == KIR_SHL)
        return beyond ? 0 : (uint64_t)a << by;
    if (takes_unsigned(n, t))
        return beyond ? 0 : unsigned_of(t, a) >> by;
    return (uint64_t)(a >> (beyond ? 63 : by));
}

static uint64_t high_half(const struct kir_node *n, enum kir_type t, int64_t a, int64_t b) {
    unsigned width = kir_type_bits(t);
    if (takes_unsigned(n, t))
        return (uint64_t)((uint128)unsigned_of(t, a) * unsigned_of(t, b) >> width);
    return (uint64_t)((int128)a * b >> width);
}

static uint64_t leading_zeros(enum kir_type t, int64_t a) {
    uint64_t u = unsigned_of(t, a);
    return u ? (uint64_t)__builtin_clzll(u) - (64 - kir_type_bits(t)) : kir_type_bits(t);
}

static uint64_t extend(const struct kir_node *n, int64_t a) {
    uint64_t sign = (uint64_t)1 << (n->imm - 1), low = (uint64_t)a & (sign | (sign - 1));
    return n->flags & KIR_U ? low : (low ^ sign) - sign;
}

static bool less_int(const struct kir_node *n, enum kir_type t, int64_t a, int64_t b) {
    return takes_unsigned(n, t) ? unsigned_of(t, a) < unsigned_of(t, b) : a < b;
}

static uint64_t dot4(const struct kir_node *n, int64_t a, int64_t b, int64_t sum) {
    for (unsigned i = 0; i < 32; i += 8) {
        int64_t x = n->flags & KIR_U ? (int64_t)((uint64_t)a >> i & 255) : (int8_t)((uint64_t)a >> i);
        sum += x * (int8_t)((uint64_t)b >> i);
    }
    return (uint64_t)sum;
}

/* In each half: the saturated sum of two products, and what is added to it. */
static uint64_t dot2_i8(uint32_t a, uint32_t b, uint32_t sum) {
    uint32_t out = 0;
    for (unsigned i = 0; i < 32; i += 16) {
        int32_t pair = (int32_t)(a >> i & 255) * (int8_t)(b >> i) + (int32_t)(a >> (i + 8) & 255) * (int8_t)(b >> (i + 8));
        pair = pair < INT16_MIN ? INT16_MIN : pair > INT16_MAX ? INT16_MAX : pair;
        out |= (((sum >> i) + (uint32_t)pair) & UINT16_MAX) << i;
    }
    return out;
}

static float dot2_bf16(uint32_t a, uint32_t b, float sum) {
    sum = __builtin_fmaf(fp_f32_from_bits(a & 0xFFFF0000), fp_f32_from_bits(b & 0xFFFF0000), sum);
    return __builtin_fmaf(fp_f32_from_bits(a << 16), fp_f32_from_bits(b << 16), sum);
}

static uint64_t eval_int(const struct kir_node *n, enum kir_type t, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (n->op) {
    case KIR_ADD: return t == KIR_I1 ? x | y : x + y;
    case KIR_SUB: return x - y;
    case KIR_MUL: return x * y;
    case KIR_DIV: return divide(n, t, a, b, false);
    case KIR_REM: return divide(n, t, a, b, true);
    case KIR_MIN: return less_int(n, t, b, a) ? y : x;
    case KIR_MAX: return less_int(n, t, a, b) ? y : x;
    case KIR_NEG: return -x;
    case KIR_ABS: return a < 0 ? -x : x;
    case KIR_AND: return x & y;
    case KIR_OR: return x | y;
    case KIR_XOR: return x ^ y;
    case KIR_NOT: return ~x;
    case KIR_SHL:
    case KIR_SHR: return shift(n, t, a, b);
    case KIR_MULHI: return high_half(n, t, a, b);
    case KIR_DOT2: return (uint64_t)((int64_t)(int16_t)a * (int16_t)b + (int64_t)(int16_t)(a >> 16) * (int16_t)(b >> 16));
    case KIR_CLZ: return leading_zeros(t, a);
    case KIR_POPCNT: return (uint64_t)__builtin_popcountll(unsigned_of(t, a));
    case KIR_EXT: return extend(n, a);
    default: return x; /* ANY */
    }
}

/* ---- floats ---------------------------------------------------------------------------------- */

static float f32_of(int64_t v) { return fp_f32_from_bits((uint32_t)v); }
static double f64_of(int64_t v) { return fp_f64_from_bits((uint64_t)v); }

/* NaN when either is NaN; of equal numbers, zeros of both signs, the bits decide. */
static float least_f32(float x, float y) {
    return x < y ? x : y < x ? y : x == y ? fp_f32_from_bits(fp_f32_bits(x) | fp_f32_bits(y)) : x + y;
}
static float greatest_f32(float x, float y) {
    return x > y ? x : y > x ? y : x == y ? fp_f32_from_bits(fp_f32_bits(x) & fp_f32_bits(y)) : x + y;
}
static double least_f64(double x, double y) {
    return x < y ? x : y < x ? y : x == y ? fp_f64_from_bits(fp_f64_bits(x) | fp_f64_bits(y)) : x + y;
}
static double greatest_f64(double x, double y) {
    return x > y ? x : y > x ? y : x == y ? fp_f64_from_bits(fp_f64_bits(x) & fp_f64_bits(y)) : x + y;
}

#define EVAL_FLOAT(name, T, F, to_bits, round)                                   \
    static T name(const struct kir_node *n, T x, T y, T z) {                     \
        switch (n->op) {                                                         \
        case KIR_ADD: return x + y;                                              \
        case KIR_SUB: return x - y;                                              \
        case KIR_MUL: return x * y;                                              \
        case KIR_DIV: return x / y;                                              \
        case KIR_REM: return F(fmod)(x, y);                                      \
        case KIR_MIN: return least_##to_bits(x, y);                              \
        case KIR_MAX: return greatest_##to_bits(x, y);                           \
        case KIR_NEG: return -x;                                                 \
        case KIR_ABS: return F(fabs)(x);                                         \
        case KIR_FMA: return F(fma)(x, y, z);                                    \
        case KIR_SQRT: return F(sqrt)(x);                                        \
        case KIR_FLOOR: return F(floor)(x);                                      \
        case KIR_CEIL: return F(ceil)(x);                                        \
        case KIR_TRUNC: return F(trunc)(x);                                      \
        case KIR_RINT: return F(rint)(x);                                        \
        case KIR_COPYSIGN: return F(copysign)(x, y);                             \
        default: return (T)fp_decode((enum fp_kind)n->imm, round((enum fp_kind)n->imm, x)); /* ROUND */ \
        }                                                                        \
    }
#define PLAIN(name) name
#define SUFFIX_F(name) name##f
EVAL_FLOAT(eval_f32, float, SUFFIX_F, f32, fp_encode_f32)
EVAL_FLOAT(eval_f64, double, PLAIN, f64, fp_encode)

/* ---- comparison, conversion ------------------------------------------------------------------ */

static bool compare(const struct kir_node *n, enum kir_type t, int64_t a, int64_t b) {
    bool less, equal, ordered = true;
    if (kir_is_float(t)) {
        double x = t == KIR_F32 ? (double)f32_of(a) : f64_of(a), y = t == KIR_F32 ? (double)f32_of(b) : f64_of(b);
        less = x < y, equal = x == y, ordered = x <= y || x >= y;
    } else {
        less = less_int(n, t, a, b), equal = a == b;
    }
    switch (n->sub) {
    case KIR_EQ: return equal;
    case KIR_NE: return !equal;
    case KIR_LT: return less;
    case KIR_LE: return less || equal;
    case KIR_GT: return ordered && !less && !equal;
    default: return ordered && !less;
    }
}

/* Rounds towards zero and saturates; NaN becomes 0. Both bounds are exact in double. */
static int64_t clamp_to_int(double x, enum kir_type t, bool is_unsigned) {
    unsigned width = kir_type_bits(t);
    double low = is_unsigned ? 0 : -ldexp(1, (int)width - 1), end = ldexp(1, (int)width - !is_unsigned);
    if (x != x)
        return 0;
    if (x <= low)
        return is_unsigned ? 0 : (int64_t)low;
    if (x >= end)
        return kir_narrow(t, is_unsigned ? ~(uint64_t)0 : ((uint64_t)1 << (width - 1)) - 1);
    return kir_narrow(t, is_unsigned ? (uint64_t)x : (uint64_t)(int64_t)x);
}

static int64_t convert(const struct kir_node *n, enum kir_type from, int64_t a) {
    enum kir_type to = (enum kir_type)n->type;
    bool without_sign = takes_unsigned(n, from);
    double x = from == KIR_F32 ? (double)f32_of(a) : from == KIR_F64 ? f64_of(a) : 0;
    if (kir_is_float(from)) {
        if (to == KIR_I1)
            return x != 0;
        if (to == KIR_F64)
            return (int64_t)fp_f64_bits(x);
        if (to == KIR_F32)
            return kir_narrow(to, fp_f32_bits((float)x));
        return clamp_to_int(x, to, n->flags & KIR_U);
    }
    if (to == KIR_I1)
        return a != 0;
    uint64_t u = unsigned_of(from, a);
    if (to == KIR_F32)
        return kir_narrow(to, fp_f32_bits(without_sign ? (float)u : (float)a));
    if (to == KIR_F64)
        return (int64_t)fp_f64_bits(without_sign ? (double)u : (double)a);
    return kir_narrow(to, without_sign ? u : (uint64_t)a);
}

int64_t kir_eval(const struct kir_node *n, enum kir_type from, int64_t a, int64_t b, int64_t c) {
    switch (n->op) {
    case KIR_CONST: return n->imm;
    case KIR_CMP: return compare(n, from, a, b);
    case KIR_SELECT: return a ? b : c;
    case KIR_CONVERT: return convert(n, from, a);
    case KIR_BITCAST: return a;
    case KIR_DOT4: return kir_narrow(KIR_I32, dot4(n, a, b, c));
    case KIR_DOT2_I8: return kir_narrow(KIR_I32, dot2_i8((uint32_t)a, (uint32_t)b, (uint32_t)c));
    case KIR_DOT2_BF16:
        return kir_narrow(KIR_F32, fp_f32_bits(dot2_bf16((uint32_t)a, (uint32_t)b, fp_f32_from_bits((uint32_t)c))));
    default: break;
    }
    enum kir_type t = (enum kir_type)n->type;
    if (t == KIR_F32)
        return kir_narrow(t, fp_f32_bits(eval_f32(n, f32_of(a), f32_of(b), f32_of(c))));
    if (t == KIR_F64)
        return (int64_t)fp_f64_bits(eval_f64(n, f64_of(a), f64_of(b), f64_of(c)));
    return kir_narrow(t, eval_int(n, t, a, b));
}

int64_t kir_combine(const struct kir_node *acc, enum kir_type t, int64_t a, int64_t b) {
    struct kir_node n = {.op = acc->sub, .type = (uint8_t)t, .flags = acc->flags};
    return kir_eval(&n, t, a, b, 0);
}

int64_t kir_neutral_bits(enum kir_op op, unsigned flags, enum kir_type t) {
    int64_t highest = kir_narrow(t, ((uint64_t)1 << (kir_type_bits(t) - 1)) - 1), lowest = kir_narrow(t, ~(uint64_t)highest);
    bool is_unsigned = (flags & KIR_U) || t == KIR_I1;
    if (kir_is_float(t)) {
        double inf = (double)INFINITY, x = op == KIR_ADD ? -0.0 : op == KIR_MUL ? 1 : op == KIR_MIN ? inf : -inf;
        return kir_narrow(t, fp_encode(t == KIR_F32 ? FP_F32 : FP_F64, x));
    }
    switch (op) {
    case KIR_MUL: return 1;
    case KIR_AND: return kir_narrow(t, ~(uint64_t)0);
    case KIR_MIN: return is_unsigned ? kir_narrow(t, ~(uint64_t)0) : highest;
    case KIR_MAX: return is_unsigned ? 0 : lowest;
    default: return 0;
    }
}
