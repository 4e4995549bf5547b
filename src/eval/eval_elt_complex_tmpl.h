/* Complex kernels over one C floating-point type. Included by eval_elt_complex.c with
 *   T        type of a part                    WIDE   complex type of the functions (eval_math.h)
 *   M(name)  the C library's function for T    F(name)   a complex function
 *   MW(name) the same for a part of WIDE       PREFIX    of the names defined here
 * which it undefines. */

#define NAME(x) PASTE(PREFIX, _, x)
#define C       struct NAME(number)

C {
    T re, im;
};

/* Ordered by real, then imaginary part. */
static inline bool NAME(less)(C x, C y) {
    return x.re == y.re ? x.im < y.im : x.re < y.re;
}

static inline bool NAME(equal)(C x, C y) {
    return x.re == y.re && x.im == y.im;
}

static inline C NAME(max)(C x, C y) {
    return NAME(less)(y, x) ? x : y;
}

static inline C NAME(min)(C x, C y) {
    return NAME(less)(x, y) ? x : y;
}

/* x^2 - y^2 as a product keeps its digits when the parts are close. */
static inline C NAME(times_itself)(C z) {
    T re = M(fabs)(z.re) == M(fabs)(z.im) && M(fabs)(z.re) < (T)INFINITY
               ? 0
               : (z.re - z.im) * (z.re + z.im);
    return (C){re, 2 * (z.re * z.im)};
}

ELT_KERNEL1(NAME(abs), ELT_PLAIN, C, T, (T)MW(hypot)(x.re, x.im))
ELT_KERNEL1(NAME(conj), ELT_PLAIN, C, C, ((C){x.re, -x.im}))
ELT_KERNEL1(NAME(imag), ELT_PLAIN, C, T, x.im)
ELT_KERNEL1(NAME(negate), ELT_PLAIN, C, C, ((C){-x.re, -x.im}))
ELT_KERNEL1(NAME(real), ELT_PLAIN, C, T, x.re)
ELT_KERNEL1(NAME(square), ELT_PLAIN, C, C, NAME(times_itself)(x))

ELT_KERNEL2(NAME(add), ELT_PLAIN, C, C, ((C){x.re + y.re, x.im + y.im}))
ELT_KERNEL2(NAME(subtract), ELT_PLAIN, C, C, ((C){x.re - y.re, x.im - y.im}))
ELT_KERNEL2(NAME(multiply), ELT_PLAIN, C, C,
            ((C){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}))
ELT_KERNEL2(NAME(maximum), ELT_PLAIN, C, C, NAME(max)(x, y))
ELT_KERNEL2(NAME(minimum), ELT_PLAIN, C, C, NAME(min)(x, y))
ELT_KERNEL2(NAME(complex), ELT_PLAIN, T, C, ((C){x, y}))
ELT_KERNEL3(NAME(clamp), ELT_PLAIN, C, C, NAME(min)(NAME(max)(y, x), z))

ELT_KERNEL2(NAME(eq), ELT_PLAIN, C, uint8_t, NAME(equal)(x, y))
ELT_KERNEL2(NAME(ne), ELT_PLAIN, C, uint8_t, !NAME(equal)(x, y))
ELT_KERNEL2(NAME(ge), ELT_PLAIN, C, uint8_t, NAME(less)(y, x) || NAME(equal)(x, y))
ELT_KERNEL2(NAME(gt), ELT_PLAIN, C, uint8_t, NAME(less)(y, x))
ELT_KERNEL2(NAME(le), ELT_PLAIN, C, uint8_t, NAME(less)(x, y) || NAME(equal)(x, y))
ELT_KERNEL2(NAME(lt), ELT_PLAIN, C, uint8_t, NAME(less)(x, y))

static elt_run *const NAME(compare)[ELT_DIRECTIONS] = {
    [IR_COMPARISON_DIRECTION_EQ] = NAME(eq), [IR_COMPARISON_DIRECTION_NE] = NAME(ne),
    [IR_COMPARISON_DIRECTION_GE] = NAME(ge), [IR_COMPARISON_DIRECTION_GT] = NAME(gt),
    [IR_COMPARISON_DIRECTION_LE] = NAME(le), [IR_COMPARISON_DIRECTION_LT] = NAME(lt),
};

struct NAME(function1) {
    WIDE (*f)(WIDE);
};
struct NAME(function2) {
    WIDE (*f)(WIDE, WIDE);
};
#define F1(op, name) static const struct NAME(function1) NAME(function_##op) = {F(name)};
#define F2(op, name) static const struct NAME(function2) NAME(function_##op) = {F(name)};
FUNCTIONS(F1, F2)
#undef F1
#undef F2

static void NAME(call1)(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    const struct NAME(function1) *f = k->extra;
    const C *a = in[0];
    C *r = out;
    for (size_t i = 0; i < n; i++) {
        WIDE z = f->f((WIDE){a[i].re, a[i].im});
        r[i] = (C){(T)z.re, (T)z.im};
    }
}

static void NAME(call2)(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    const struct NAME(function2) *f = k->extra;
    const C *a = in[0], *b = in[1];
    C *r = out;
    for (size_t i = 0; i < n; i++) {
        WIDE z = f->f((WIDE){a[i].re, a[i].im}, (WIDE){b[i].re, b[i].im});
        r[i] = (C){(T)z.re, (T)z.im};
    }
}

static const struct elt_row NAME(rows)[] = {
    {IR_ABS, NAME(abs), NULL},
    {IR_ADD, NAME(add), NULL},
    {IR_CLAMP, NAME(clamp), NULL},
    {IR_COMPLEX, NAME(complex), NULL},
    {IR_CONJ, NAME(conj), NULL},
    {IR_IMAG, NAME(imag), NULL},
    {IR_MAXIMUM, NAME(maximum), NULL},
    {IR_MINIMUM, NAME(minimum), NULL},
    {IR_MULTIPLY, NAME(multiply), NULL},
    {IR_NEGATE, NAME(negate), NULL},
    {IR_REAL, NAME(real), NULL},
    {IR_SQUARE, NAME(square), NULL},
    {IR_SUBTRACT, NAME(subtract), NULL},
#define F1(op, name) {IR_##op, NAME(call1), &NAME(function_##op)},
#define F2(op, name) {IR_##op, NAME(call2), &NAME(function_##op)},
    FUNCTIONS(F1, F2){IR_OP_NONE, NULL, NULL},
#undef F1
#undef F2
};

#undef NAME
#undef C
#undef T
#undef M
#undef MW
#undef F
#undef WIDE
#undef PREFIX
