/* Integer kernels over one storage type. Included by eval_elt_int.c with
 *   SIZE     bits of the storage type         SIGNED   1 or 0
 *   PARTIAL  1 when elements are narrower: then k->param[0] is their width
 *   PREFIX   of the names defined here
 * which it undefines. */

#define NAME(x) PASTE(PREFIX, _, x)
#if SIGNED
#define T PASTE(int, SIZE, _t)
#else
#define T PASTE(uint, SIZE, _t)
#endif
#if SIZE == 64
#define W uint64_t /* to compute in, without promotion to int */
#define S int64_t
#else
#define W uint32_t
#define S int32_t
#endif
#if PARTIAL
#define BITS ((unsigned)k->param[0])
#else
#define BITS ((unsigned)SIZE)
#endif

/* What BITS bits of a number mean, with and without a sign. */
static inline W NAME(zext)(const struct elt_kernel *k, W x) {
    (void)k;
    const unsigned s = (unsigned)(8 * sizeof x) - BITS;
    return x << s >> s;
}

static inline S NAME(sext)(const struct elt_kernel *k, W x) {
    (void)k;
    const unsigned s = (unsigned)(8 * sizeof x) - BITS;
    return (S)(x << s) >> s;
}

/* The element that has the low bits of a number. */
static inline T NAME(wrap)(const struct elt_kernel *k, W x) {
#if !PARTIAL
    (void)k;
    return (T)x;
#elif SIGNED
    return (T)NAME(sext)(k, x);
#else
    return (T)NAME(zext)(k, x);
#endif
}

/* Division by zero gives all bits set; the one quotient that is too large wraps. */
static inline T NAME(quotient)(const struct elt_kernel *k, T x, T y) {
    if (y == 0)
        return NAME(wrap)(k, ~(W)0);
#if SIGNED
    if (y == -1)
        return NAME(wrap)(k, 0 - (W)x);
#endif
    return (T)(x / y);
}

/* The remainder of a division by zero is the dividend. */
static inline T NAME(modulo)(T x, T y) {
    if (y == 0)
        return x;
#if SIGNED
    if (y == -1)
        return 0;
#endif
    return (T)(x % y);
}

/* Modulo 2^BITS; of negative powers only those of 1 and -1 are not zero. */
static inline T NAME(raise)(const struct elt_kernel *k, T x, T y) {
    W base = (W)x, exponent = (W)y, result = 1;
#if SIGNED
    if (y < 0) {
        if (x != 1 && x != -1)
            return 0;
        exponent = 0 - exponent;
    }
#endif
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return NAME(wrap)(k, result);
}

static inline T NAME(high)(const struct elt_kernel *k, T x, T y) {
    (void)k;
#if SIZE == 64 && SIGNED
    return (T)((int128)x * y >> BITS);
#elif SIZE == 64
    return (T)((uint128)x * y >> BITS);
#elif SIGNED
    return (T)((int64_t)x * y >> BITS);
#else
    return (T)((uint64_t)x * y >> BITS);
#endif
}

static inline unsigned NAME(ones)(W x) {
    return (unsigned)__builtin_popcountll((unsigned long long)x);
}

static inline unsigned NAME(zeros)(const struct elt_kernel *k, W x) {
    (void)k;
    return x == 0 ? BITS : (unsigned)__builtin_clzll((unsigned long long)x) - (64 - BITS);
}

/* Amounts are unsigned; from BITS on, nothing but the sign is left. */
static inline T NAME(left)(const struct elt_kernel *k, W x, W amount) {
    return amount < BITS ? NAME(wrap)(k, x << amount) : 0;
}

static inline T NAME(right)(const struct elt_kernel *k, W x, W amount) {
    return amount < BITS ? NAME(wrap)(k, NAME(zext)(k, x) >> amount) : 0;
}

static inline T NAME(right_signed)(const struct elt_kernel *k, W x, W amount) {
    return NAME(wrap)(k, (W)(NAME(sext)(k, x) >> (amount < BITS ? amount : BITS - 1)));
}

#define WRAP(x) NAME(wrap)(k, x)
#define ZEXT(x) NAME(zext)(k, (W)(x))

ELT_KERNEL1(NAME(negate), ELT_SIMD, T, T, WRAP(0 - (W)x))
ELT_KERNEL1(NAME(not), ELT_SIMD, T, T, WRAP(~(W)x))
ELT_KERNEL1(NAME(popcnt), ELT_PLAIN, T, T, WRAP(NAME(ones)(ZEXT(x))))
ELT_KERNEL1(NAME(clz), ELT_PLAIN, T, T, WRAP(NAME(zeros)(k, ZEXT(x))))
#if SIGNED
ELT_KERNEL1(NAME(abs), ELT_SIMD, T, T, WRAP(x < 0 ? 0 - (W)x : (W)x))
ELT_KERNEL1(NAME(sign), ELT_SIMD, T, T, (T)((x > 0) - (x < 0)))
#endif

ELT_KERNEL2(NAME(add), ELT_SIMD, T, T, WRAP((W)x + (W)y))
ELT_KERNEL2(NAME(subtract), ELT_SIMD, T, T, WRAP((W)x - (W)y))
ELT_KERNEL2(NAME(multiply), ELT_SIMD, T, T, WRAP((W)x * (W)y))
ELT_KERNEL2(NAME(and), ELT_SIMD, T, T, (T)(x & y))
ELT_KERNEL2(NAME(or), ELT_SIMD, T, T, (T)(x | y))
ELT_KERNEL2(NAME(xor), ELT_SIMD, T, T, (T)(x ^ y))
ELT_KERNEL2(NAME(maximum), ELT_SIMD, T, T, x > y ? x : y)
ELT_KERNEL2(NAME(minimum), ELT_SIMD, T, T, x < y ? x : y)
ELT_KERNEL2(NAME(divide), ELT_PLAIN, T, T, NAME(quotient)(k, x, y))
ELT_KERNEL2(NAME(remainder), ELT_PLAIN, T, T, NAME(modulo)(x, y))
ELT_KERNEL2(NAME(power), ELT_PLAIN, T, T, NAME(raise)(k, x, y))
ELT_KERNEL2(NAME(mulhi), ELT_PLAIN, T, T, NAME(high)(k, x, y))

ELT_KERNEL2(NAME(shift_left), ELT_PLAIN, T, T, NAME(left)(k, (W)x, ZEXT(y)))
ELT_KERNEL2(NAME(shift_right_logical), ELT_PLAIN, T, T, NAME(right)(k, (W)x, ZEXT(y)))
ELT_KERNEL2(NAME(shift_right_arithmetic), ELT_PLAIN, T, T, NAME(right_signed)(k, (W)x, ZEXT(y)))

ELT_KERNEL3(NAME(clamp), ELT_SIMD, T, T, (y > x ? y : x) < z ? (y > x ? y : x) : z)

ELT_KERNEL2(NAME(eq), ELT_SIMD, T, uint8_t, x == y)
ELT_KERNEL2(NAME(ne), ELT_SIMD, T, uint8_t, x != y)
ELT_KERNEL2(NAME(ge), ELT_SIMD, T, uint8_t, x >= y)
ELT_KERNEL2(NAME(gt), ELT_SIMD, T, uint8_t, x > y)
ELT_KERNEL2(NAME(le), ELT_SIMD, T, uint8_t, x <= y)
ELT_KERNEL2(NAME(lt), ELT_SIMD, T, uint8_t, x < y)

static const struct elt_row NAME(rows)[] = {
#if SIGNED
    {IR_ABS, NAME(abs), NULL},
    {IR_SIGN, NAME(sign), NULL},
#endif
    {IR_ADD, NAME(add), NULL},
    {IR_AND, NAME(and), NULL},
    {IR_CLAMP, NAME(clamp), NULL},
    {IR_COUNT_LEADING_ZEROS, NAME(clz), NULL},
    {IR_DIVIDE, NAME(divide), NULL},
    {IR_MAXIMUM, NAME(maximum), NULL},
    {IR_MINIMUM, NAME(minimum), NULL},
    {IR_MULHI, NAME(mulhi), NULL},
    {IR_MULTIPLY, NAME(multiply), NULL},
    {IR_NEGATE, NAME(negate), NULL},
    {IR_NOT, NAME(not), NULL},
    {IR_OR, NAME(or), NULL},
    {IR_POPCNT, NAME(popcnt), NULL},
    {IR_POWER, NAME(power), NULL},
    {IR_REMAINDER, NAME(remainder), NULL},
    {IR_SHIFT_LEFT, NAME(shift_left), NULL},
    {IR_SHIFT_RIGHT_ARITHMETIC, NAME(shift_right_arithmetic), NULL},
    {IR_SHIFT_RIGHT_LOGICAL, NAME(shift_right_logical), NULL},
    {IR_SUBTRACT, NAME(subtract), NULL},
    {IR_XOR, NAME(xor), NULL},
    {IR_OP_NONE, NULL, NULL},
};

static elt_run *const NAME(compare)[ELT_DIRECTIONS] = {
    [IR_COMPARISON_DIRECTION_EQ] = NAME(eq), [IR_COMPARISON_DIRECTION_NE] = NAME(ne),
    [IR_COMPARISON_DIRECTION_GE] = NAME(ge), [IR_COMPARISON_DIRECTION_GT] = NAME(gt),
    [IR_COMPARISON_DIRECTION_LE] = NAME(le), [IR_COMPARISON_DIRECTION_LT] = NAME(lt),
};

#undef WRAP
#undef ZEXT
#undef BITS
#undef NAME
#undef T
#undef W
#undef S
#undef SIZE
#undef SIGNED
#undef PARTIAL
#undef PREFIX
