/* Conversions from one C type. Included by eval_convert.c with
 *   A        the type               REAL   1 for float and double, 0 for integers
 *   PREFIX   of the names defined here
 * which it undefines. */

#define NAME(x) PASTE(PREFIX, _, x)

/* From a real to an integer: truncated, clamped to the range in k->param, NaN to 0. A bound that is
   rounded on its way to A is rounded away from zero, so the comparisons stay right. */
#if REAL
#define TO_INT(name, D)                                                                            \
    ELT_LOOP(NAME(name), ELT_PLAIN, D, const A *a = in[0]; const D least = (D)k->param[0];         \
             const D most = (D)k->param[1]; const A low = (A)least; const A high = (A)most,        \
             const A x = a[i], (D)(x >= high ? most : x <= low ? least : x == x ? (D)x : 0))
#else
#define TO_INT(name, D) ELT_KERNEL1(NAME(name), ELT_SIMD, A, D, (D)x)
#endif

ELT_KERNEL1(NAME(to_pred), ELT_SIMD, A, uint8_t, x != 0)
TO_INT(to_i8, int8_t)
TO_INT(to_i16, int16_t)
TO_INT(to_i32, int32_t)
TO_INT(to_i64, int64_t)
TO_INT(to_u8, uint8_t)
TO_INT(to_u16, uint16_t)
TO_INT(to_u32, uint32_t)
TO_INT(to_u64, uint64_t)
ELT_KERNEL1(NAME(to_f32), ELT_SIMD, A, float, (float)x)
ELT_KERNEL1(NAME(to_f64), ELT_SIMD, A, double, (double)x)

static elt_run *const NAME(to)[CTYPES] = {
    [PRED] = NAME(to_pred), [I8] = NAME(to_i8),   [I16] = NAME(to_i16), [I32] = NAME(to_i32),
    [I64] = NAME(to_i64),   [U8] = NAME(to_u8),   [U16] = NAME(to_u16), [U32] = NAME(to_u32),
    [U64] = NAME(to_u64),   [F32] = NAME(to_f32), [F64] = NAME(to_f64),
};

#undef TO_INT
#undef NAME
#undef A
#undef REAL
#undef PREFIX
