/* Complex functions, written once (eval_math_complex_tmpl.h) and compiled over double and long double.
 *
 * Each part is within 1 ulp of complex<f32>, and of complex<f64> where long double has more digits
 * than double, with these exceptions: the real part of expm1 and both parts of pow and atan2 next to
 * the curves where they vanish, and of pow in proportion to |b log a|. There the error is a few units
 * of the wider type relative to what cancels. */
#include "eval/eval_math.h"

#include <float.h>
#include <math.h>

#define R        double
#define COMPLEX  struct math_c64
#define M(name)  name
#define F(name)  math_c64_##name
#define R_MAX    DBL_MAX
#define R_MIN    DBL_MIN
#define R_DIGITS DBL_MANT_DIG
#include "eval/eval_math_complex_tmpl.h"
#undef R
#undef COMPLEX
#undef M
#undef F
#undef R_MAX
#undef R_MIN
#undef R_DIGITS

#define R        long double
#define COMPLEX  struct math_c128
#define M(name)  name##l
#define F(name)  math_c128_##name
#define R_MAX    LDBL_MAX
#define R_MIN    LDBL_MIN
#define R_DIGITS LDBL_MANT_DIG
#include "eval/eval_math_complex_tmpl.h"
