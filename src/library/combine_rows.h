/* Loops of combine.c over rows, once for each instruction set:
 *
 *   NAME(x)   x with a prefix      TARGET    attribute of the functions
 *
 * Several vectors of accumulators go through all rows before they are stored. Comparisons of vectors are masks of all bits. */

#define MIN_(I, V, x, y) (V)(((I)(x) & ~((y) < (x))) | ((I)(y) & ~((x) < (y))))
#define MAX_(I, V, x, y) (-(MIN_(I, V, -(x), -(y))))
#define PICK(m, x, y)    (((x) & (m)) | ((y) & ~(m)))

/* vector: of vectors x and y; scalar: of numbers. U is V at any place of an array. */
#define ROWS(name, T, V, U, vector, scalar)                                                                                    \
    TARGET static void NAME(name)(void *acc, const void *const *rows, size_t nrows, size_t n) {                                \
        enum { VECTORS = 4, LANES = sizeof(V) / sizeof(T) };                                                                   \
        T *a = acc;                                                                                                            \
        size_t i = 0;                                                                                                          \
        for (; i + VECTORS * LANES <= n; i += VECTORS * LANES) {                                                               \
            V v[VECTORS];                                                                                                      \
            for (size_t j = 0; j < VECTORS; j++)                                                                               \
                v[j] = *(const U *)(a + i + j * LANES);                                                                        \
            for (size_t r = 0; r < nrows; r++) {                                                                               \
                const T *row = (const T *)rows[r] + i;                                                                         \
                for (size_t j = 0; j < VECTORS; j++) {                                                                         \
                    const V x = v[j], y = *(const U *)(row + j * LANES);                                                       \
                    v[j] = (vector);                                                                                           \
                }                                                                                                              \
            }                                                                                                                  \
            for (size_t j = 0; j < VECTORS; j++)                                                                               \
                *(U *)(a + i + j * LANES) = v[j];                                                                              \
        }                                                                                                                      \
        for (; i < n; i++)                                                                                                     \
            for (size_t r = 0; r < nrows; r++) {                                                                               \
                const T x = a[i], y = ((const T *)rows[r])[i];                                                                 \
                a[i] = (scalar);                                                                                               \
            }                                                                                                                  \
    }                                                                                                                          \
    TARGET static void NAME(name##_at)(void *acc, const int64_t *to, const void *in, const int64_t *from, size_t n) {          \
        T *a = acc, v = 0;                                                                                                     \
        for (size_t i = 0; i < n; i++) { /* what is met again and again stays in a register */                                 \
            if (i == 0 || to[i] != to[i - 1])                                                                                  \
                v = a[to[i]];                                                                                                  \
            const T x = v, y = ((const T *)in)[from[i]];                                                                       \
            v = (scalar);                                                                                                      \
            a[to[i]] = v;                                                                                                      \
        }                                                                                                                      \
    }
ROWS(f32_add, float, v8f, u8f, x + y, x + y)
ROWS(f32_mul, float, v8f, u8f, x *y, x *y)
ROWS(f32_max, float, v8f, u8f, MAX_(v8i, v8f, x, y), f32_max(x, y))
ROWS(f32_min, float, v8f, u8f, MIN_(v8i, v8f, x, y), f32_min(x, y))
ROWS(f64_add, double, v4d, u4d, x + y, x + y)
ROWS(f64_mul, double, v4d, u4d, x *y, x *y)
ROWS(f64_max, double, v4d, u4d, MAX_(v4l, v4d, x, y), f64_max(x, y))
ROWS(f64_min, double, v4d, u4d, MIN_(v4l, v4d, x, y), f64_min(x, y))
ROWS(i32_add, uint32_t, v8u, u8u, x + y, x + y)
ROWS(i32_max, int32_t, v8i, u8i, PICK(x > y, x, y), x > y ? x : y)
ROWS(i32_min, int32_t, v8i, u8i, PICK(x < y, x, y), x < y ? x : y)

#define LOOP(dtype, op, name) {dtype, op, NAME(name), NAME(name##_at)}
static const struct row_loop NAME(loops)[] = {
    LOOP(IR_F32_T, IR_ADD, f32_add),     LOOP(IR_F32_T, IR_MULTIPLY, f32_mul), LOOP(IR_F32_T, IR_MAXIMUM, f32_max),
    LOOP(IR_F32_T, IR_MINIMUM, f32_min), LOOP(IR_F64_T, IR_ADD, f64_add),      LOOP(IR_F64_T, IR_MULTIPLY, f64_mul),
    LOOP(IR_F64_T, IR_MAXIMUM, f64_max), LOOP(IR_F64_T, IR_MINIMUM, f64_min),  LOOP(IR_I32_T, IR_ADD, i32_add),
    LOOP(IR_UI32_T, IR_ADD, i32_add),    LOOP(IR_I32_T, IR_MAXIMUM, i32_max),  LOOP(IR_I32_T, IR_MINIMUM, i32_min),
};

#undef LOOP
#undef ROWS
#undef PICK
#undef MAX_
#undef MIN_
#undef NAME
#undef TARGET
