/* Kernels of complex numbers. Addition and multiplication round each real operation, as the
 * specification's formulas read; functions compute in a wider type and round each part once. */
#include "eval/eval_elt.h"
#include "eval/eval_math.h"

#include <math.h>

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)

/* clang-format off */
#define FUNCTIONS(F1, F2)                                                                          \
    F1(ACOS, acos)                                                                                 \
    F1(ACOSH, acosh)                                                                               \
    F1(ASIN, asin)                                                                                 \
    F1(ASIN_ACOS_KERNEL, asin_acos_kernel)                                                         \
    F1(ASINH, asinh)                                                                               \
    F1(ATAN, atan)                                                                                 \
    F1(ATANH, atanh)                                                                               \
    F1(CBRT, cbrt)                                                                                 \
    F1(CHLO_TAN, tan)                                                                              \
    F1(COSH, cosh)                                                                                 \
    F1(COSINE, cos)                                                                                \
    F1(EXPONENTIAL, exp)                                                                           \
    F1(EXPONENTIAL_MINUS_ONE, expm1)                                                               \
    F1(LOG, log)                                                                                   \
    F1(LOG_PLUS_ONE, log1p)                                                                        \
    F1(LOGISTIC, logistic)                                                                         \
    F1(RSQRT, rsqrt)                                                                               \
    F1(SIGN, sign)                                                                                 \
    F1(SINE, sin)                                                                                  \
    F1(SINH, sinh)                                                                                 \
    F1(SQRT, sqrt)                                                                                 \
    F1(TAN, tan)                                                                                   \
    F1(TANH, tanh)                                                                                 \
    F2(ATAN2, atan2)                                                                               \
    F2(DIVIDE, div)                                                                                \
    F2(POWER, pow)
/* clang-format on */

#define PREFIX   c64
#define T        float
#define M(name)  name##f
#define MW(name) name
#define F(name)  math_c64_##name
#define WIDE     struct math_c64
#include "eval/eval_elt_complex_tmpl.h"

#define PREFIX   c128
#define T        double
#define M(name)  name
#define MW(name) name##l
#define F(name)  math_c128_##name
#define WIDE     struct math_c128
#include "eval/eval_elt_complex_tmpl.h"

bool elt_complex_resolve(struct elt_kernel *k) {
    bool narrow = k->in == IR_C64_T || k->in == IR_F32_T; /* the parts, for complex */
    if (k->op == IR_COMPARE) {
        k->run = (narrow ? c64_compare : c128_compare)[k->param[0]];
        return true;
    }
    const struct elt_row *row = elt_find(narrow ? c64_rows : c128_rows, k->op);
    if (!row)
        return false;
    k->run = row->run;
    k->extra = row->extra;
    return true;
}
