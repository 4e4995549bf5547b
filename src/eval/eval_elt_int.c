/* Kernels of integers and i1. Arithmetic wraps; the cases that the specification leaves undefined are XLA's:
 * x / 0 has all bits set, x % 0 = x, MIN / -1 = MIN, and shifts by the width or more leave nothing but
 * the sign. Both two-bit and four-bit types share one compilation each for signed and unsigned, with
 * the width in k->param[0]. */
#include "eval/eval_elt.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)

#define PREFIX  sub
#define SIZE    8
#define SIGNED  1
#define PARTIAL 1
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  usub
#define SIZE    8
#define SIGNED  0
#define PARTIAL 1
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  i8
#define SIZE    8
#define SIGNED  1
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  u8
#define SIZE    8
#define SIGNED  0
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  i16
#define SIZE    16
#define SIGNED  1
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  u16
#define SIZE    16
#define SIGNED  0
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  i32
#define SIZE    32
#define SIGNED  1
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  u32
#define SIZE    32
#define SIGNED  0
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  i64
#define SIZE    64
#define SIGNED  1
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

#define PREFIX  u64
#define SIZE    64
#define SIGNED  0
#define PARTIAL 0
#include "eval/eval_elt_int_tmpl.h"

/* Booleans: addition is or, multiplication and, as their maximum and minimum. */
ELT_KERNEL1(pred_not, ELT_SIMD, uint8_t, uint8_t, x ^ 1)

static const struct elt_row pred_rows[] = {
    {IR_ADD, u8_or, NULL},
    {IR_AND, u8_and, NULL},
    {IR_CLAMP, u8_clamp, NULL},
    {IR_MAXIMUM, u8_or, NULL},
    {IR_MINIMUM, u8_and, NULL},
    {IR_MULTIPLY, u8_and, NULL},
    {IR_NOT, pred_not, NULL},
    {IR_OR, u8_or, NULL},
    {IR_XOR, u8_xor, NULL},
    {IR_OP_NONE, NULL, NULL},
};

static const struct {
    const struct elt_row *rows;
    elt_run *const *compare;
} int_tables[IR_DTYPE_COUNT] = {
    [IR_I1_T] = {pred_rows, u8_compare},   [IR_I2_T] = {sub_rows, i8_compare},
    [IR_I4_T] = {sub_rows, i8_compare},    [IR_I8_T] = {i8_rows, i8_compare},
    [IR_I16_T] = {i16_rows, i16_compare},  [IR_I32_T] = {i32_rows, i32_compare},
    [IR_I64_T] = {i64_rows, i64_compare},  [IR_UI2_T] = {usub_rows, u8_compare},
    [IR_UI4_T] = {usub_rows, u8_compare},  [IR_UI8_T] = {u8_rows, u8_compare},
    [IR_UI16_T] = {u16_rows, u16_compare}, [IR_UI32_T] = {u32_rows, u32_compare},
    [IR_UI64_T] = {u64_rows, u64_compare}, [IR_INDEX_T] = {i64_rows, i64_compare},
};

bool elt_int_resolve(struct elt_kernel *k) {
    if (k->op == IR_COMPARE) {
        k->run = int_tables[k->in].compare[k->param[0]];
        return true;
    }
    const struct elt_row *row = elt_find(int_tables[k->in].rows, k->op);
    if (!row)
        return false;
    k->run = row->run;
    k->param[0] = ir_dtype_get(k->in)->bits;
    return true;
}
