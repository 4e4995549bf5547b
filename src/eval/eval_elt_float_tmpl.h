/* Arithmetic on one C floating-point type. Included by eval_elt_float.c with
 *   T          the type                      M(name)     the C library's function for it
 *   S          integer of its size           PREFIX      of the names defined here
 *   TO_BITS, FROM_BITS   its bits as the unsigned integer of its size, and back
 * which it undefines. */

#define NAME(x) PASTE(PREFIX, _, x)

/* NaN if either is NaN; -0 is less than 0, so of equal numbers the bits decide. */
static inline T NAME(max)(T x, T y) {
    T equal = FROM_BITS(TO_BITS(x) & TO_BITS(y));
    return x > y ? x : x < y ? y : x == y ? equal : x + y;
}

static inline T NAME(min)(T x, T y) {
    T equal = FROM_BITS(TO_BITS(x) | TO_BITS(y));
    return x < y ? x : x > y ? y : x == y ? equal : x + y;
}

/* A number in IEEE 754's total order: -NaN, -inf, ..., -0, +0, ..., inf, NaN. */
static inline S NAME(total)(T x) {
    S bits = (S)TO_BITS(x);
    return bits ^ (bits >> (8 * sizeof bits - 1) & (S)(~(uint64_t)0 >> (65 - 8 * sizeof bits)));
}

ELT_KERNEL1(NAME(abs), ELT_SIMD, T, T, M(fabs)(x))
ELT_KERNEL1(NAME(ceil), ELT_PLAIN, T, T, M(ceil)(x))
ELT_KERNEL1(NAME(copy), ELT_SIMD, T, T, x)
ELT_KERNEL1(NAME(floor), ELT_PLAIN, T, T, M(floor)(x))
ELT_KERNEL1(NAME(negate), ELT_SIMD, T, T, -x)
ELT_KERNEL1(NAME(round), ELT_PLAIN, T, T, M(round)(x))
ELT_KERNEL1(NAME(rint), ELT_PLAIN, T, T, M(rint)(x))
ELT_KERNEL1(NAME(sign), ELT_SIMD, T, T, x > 0 ? 1 : x < 0 ? -1 : x)
ELT_KERNEL1(NAME(sqrt), ELT_SIMD, T, T, M(sqrt)(x))
ELT_KERNEL1(NAME(square), ELT_SIMD, T, T, x * x)
ELT_KERNEL1(NAME(zero), ELT_SIMD, T, T, ((void)x, (T)0))

ELT_KERNEL1(NAME(is_finite), ELT_SIMD, T, uint8_t, M(fabs)(x) < (T)INFINITY)
ELT_KERNEL1(NAME(is_inf), ELT_SIMD, T, uint8_t, M(fabs)(x) == (T)INFINITY)
ELT_KERNEL1(NAME(is_pos_inf), ELT_SIMD, T, uint8_t, x == (T)INFINITY)
ELT_KERNEL1(NAME(is_neg_inf), ELT_SIMD, T, uint8_t, x == -(T)INFINITY)

ELT_KERNEL2(NAME(add), ELT_SIMD, T, T, x + y)
ELT_KERNEL2(NAME(subtract), ELT_SIMD, T, T, x - y)
ELT_KERNEL2(NAME(multiply), ELT_SIMD, T, T, x * y)
ELT_KERNEL2(NAME(divide), ELT_SIMD, T, T, x / y)
ELT_KERNEL2(NAME(remainder), ELT_PLAIN, T, T, M(fmod)(x, y))
ELT_KERNEL2(NAME(maximum), ELT_SIMD, T, T, NAME(max)(x, y))
ELT_KERNEL2(NAME(minimum), ELT_SIMD, T, T, NAME(min)(x, y))
ELT_KERNEL3(NAME(clamp), ELT_SIMD, T, T, NAME(min)(NAME(max)(y, x), z))

ELT_KERNEL2(NAME(eq), ELT_SIMD, T, uint8_t, x == y)
ELT_KERNEL2(NAME(ne), ELT_SIMD, T, uint8_t, x != y)
ELT_KERNEL2(NAME(ge), ELT_SIMD, T, uint8_t, x >= y)
ELT_KERNEL2(NAME(gt), ELT_SIMD, T, uint8_t, x > y)
ELT_KERNEL2(NAME(le), ELT_SIMD, T, uint8_t, x <= y)
ELT_KERNEL2(NAME(lt), ELT_SIMD, T, uint8_t, x < y)

ELT_KERNEL2(NAME(total_eq), ELT_SIMD, T, uint8_t, NAME(total)(x) == NAME(total)(y))
ELT_KERNEL2(NAME(total_ne), ELT_SIMD, T, uint8_t, NAME(total)(x) != NAME(total)(y))
ELT_KERNEL2(NAME(total_ge), ELT_SIMD, T, uint8_t, NAME(total)(x) >= NAME(total)(y))
ELT_KERNEL2(NAME(total_gt), ELT_SIMD, T, uint8_t, NAME(total)(x) > NAME(total)(y))
ELT_KERNEL2(NAME(total_le), ELT_SIMD, T, uint8_t, NAME(total)(x) <= NAME(total)(y))
ELT_KERNEL2(NAME(total_lt), ELT_SIMD, T, uint8_t, NAME(total)(x) < NAME(total)(y))

/* By total order or not, and direction. */
static const struct elt_row NAME(compare)[2][ELT_DIRECTIONS] = {
    {
        [IR_COMPARISON_DIRECTION_EQ] = {IR_COMPARE, NAME(eq), NULL},
        [IR_COMPARISON_DIRECTION_NE] = {IR_COMPARE, NAME(ne), NULL},
        [IR_COMPARISON_DIRECTION_GE] = {IR_COMPARE, NAME(ge), NULL},
        [IR_COMPARISON_DIRECTION_GT] = {IR_COMPARE, NAME(gt), NULL},
        [IR_COMPARISON_DIRECTION_LE] = {IR_COMPARE, NAME(le), NULL},
        [IR_COMPARISON_DIRECTION_LT] = {IR_COMPARE, NAME(lt), NULL},
    },
    {
        [IR_COMPARISON_DIRECTION_EQ] = {IR_COMPARE, NAME(total_eq), NULL},
        [IR_COMPARISON_DIRECTION_NE] = {IR_COMPARE, NAME(total_ne), NULL},
        [IR_COMPARISON_DIRECTION_GE] = {IR_COMPARE, NAME(total_ge), NULL},
        [IR_COMPARISON_DIRECTION_GT] = {IR_COMPARE, NAME(total_gt), NULL},
        [IR_COMPARISON_DIRECTION_LE] = {IR_COMPARE, NAME(total_le), NULL},
        [IR_COMPARISON_DIRECTION_LT] = {IR_COMPARE, NAME(total_lt), NULL},
    },
};

static const struct elt_row NAME(rows)[] = {
    {IR_ABS, NAME(abs), NULL},
    {IR_ADD, NAME(add), NULL},
    {IR_CEIL, NAME(ceil), NULL},
    {IR_CLAMP, NAME(clamp), NULL},
    {IR_CONJ, NAME(copy), NULL},
    {IR_DIVIDE, NAME(divide), NULL},
    {IR_FLOOR, NAME(floor), NULL},
    {IR_IMAG, NAME(zero), NULL},
    {IR_IS_FINITE, NAME(is_finite), NULL},
    {IR_IS_INF, NAME(is_inf), NULL},
    {IR_IS_NEG_INF, NAME(is_neg_inf), NULL},
    {IR_IS_POS_INF, NAME(is_pos_inf), NULL},
    {IR_MAXIMUM, NAME(maximum), NULL},
    {IR_MINIMUM, NAME(minimum), NULL},
    {IR_MULTIPLY, NAME(multiply), NULL},
    {IR_NEGATE, NAME(negate), NULL},
    {IR_REAL, NAME(copy), NULL},
    {IR_REMAINDER, NAME(remainder), NULL},
    {IR_ROUND_NEAREST_AFZ, NAME(round), NULL},
    {IR_ROUND_NEAREST_EVEN, NAME(rint), NULL},
    {IR_SIGN, NAME(sign), NULL},
    {IR_SQRT, NAME(sqrt), NULL},
    {IR_SQUARE, NAME(square), NULL},
    {IR_SUBTRACT, NAME(subtract), NULL},
    {IR_OP_NONE, NULL, NULL},
};

#undef NAME
#undef T
#undef S
#undef M
#undef PREFIX
#undef TO_BITS
#undef FROM_BITS
