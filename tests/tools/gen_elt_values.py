#!/usr/bin/env python3
"""Writes tests/eval/elt_values.inc: values of the elementwise functions, computed with 3,000 bits.

    python3 -m venv env && env/bin/pip install mpmath
    env/bin/python tests/tools/gen_elt_values.py > tests/eval/elt_values.inc

Most arguments have at most 8 significant bits, so that every format but the smallest holds them and
one row serves all formats; the others are where digits are lost easily and serve f64 alone.
"""
import re

import mpmath as mp

mp.mp.prec = 3000  # so that 1 + 1e-200 is not 1

SMALL = [0.0078125, -0.0859375, 0.34375, -0.6875, 0.984375, -1.1875, 2.71875, -5.5, 13.25, -47.0]


def odd(f):
    return lambda x: f(x) if x >= 0 else -f(-x)


def log_gamma(x):
    return mp.log(abs(mp.gamma(x)))


def zeta(x, q):
    terms = max(0, int(mp.ceil(-q)))
    return mp.zeta(x, q + terms) + sum(1 / (q + k) ** int(x) for k in range(terms))


REAL = {
    "ACOS": (mp.acos, [x for x in SMALL if abs(x) <= 1] + [1 - 2.0**-53, -1 + 2.0**-52, 1e-300]),
    "ACOSH": (mp.acosh, [1.0078125, 1.375, 2.71875, 100.0, 1 + 2.0**-52, 1e300]),
    "ASIN": (mp.asin, [x for x in SMALL if abs(x) <= 1] + [1 - 2.0**-53, 1e-300]),
    "ASINH": (mp.asinh, SMALL + [1e-300, -1e300, 1 / 3]),
    "ATAN": (mp.atan, SMALL + [1e-300, 1e300, 1 / 3]),
    "ATANH": (mp.atanh, [x for x in SMALL if abs(x) < 1] + [1 - 2.0**-53, 1e-300, 1 / 3]),
    "BESSEL_I1E": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), SMALL + [24.75, 25.25, 1e-300, 1e10]),
    "CBRT": (odd(mp.cbrt), SMALL + [1e-300, 1e300, 1 / 3]),
    "COSH": (mp.cosh, SMALL + [1e-300, 710.0]),
    "COSINE": (mp.cos, SMALL + [1.5707963267948966, 1e22, 1e300]),
    "DIGAMMA": (mp.digamma, SMALL[:-1] + [1.4616321449683622, 1.4616321449683625, 1.5, -1e-300, 1e300, 1 / 3]),
    "ERF": (mp.erf, SMALL + [1e-300, 0.8]),
    "ERFC": (mp.erfc, SMALL[:8] + [13.25, 26.5, 0.8]),
    "ERF_INV": (mp.erfinv, [x for x in SMALL if abs(x) < 1] + [1 - 2.0**-53, 1e-300, 1 / 3]),
    "EXPONENTIAL": (mp.exp, SMALL + [709.5, -745.0, 1e-300]),
    "EXPONENTIAL_MINUS_ONE": (mp.expm1, SMALL + [1e-300, -40.0]),
    "LGAMMA": (log_gamma, SMALL[:8] + [0.9921875, 2.015625, 1 + 2.0**-30, 2 - 2.0**-30, 1e-300, 1e300]),
    "LOG": (mp.log, [abs(x) for x in SMALL] + [1 - 2.0**-53, 5e-324, 1e300]),
    "LOG_PLUS_ONE": (mp.log1p, [x for x in SMALL if x > -1] + [1e-300, -1 + 2.0**-53]),
    "LOGISTIC": (lambda x: 1 / (1 + mp.exp(-x)), SMALL + [-744.0, 40.0, 1 / 3]),
    "RSQRT": (lambda x: 1 / mp.sqrt(x), [abs(x) for x in SMALL] + [5e-324, 1 / 3]),
    "SINE": (mp.sin, SMALL + [3.141592653589793, 1e22, 1e-300]),
    "SINH": (mp.sinh, SMALL + [1e-300, 710.0]),
    "SQRT": (mp.sqrt, [abs(x) for x in SMALL] + [5e-324, 1 / 3]),
    "TAN": (mp.tan, SMALL + [1.5707963267948966, 1e22, 1e-300]),
    "TANH": (mp.tanh, SMALL + [1e-300, 1 / 3]),
}

REAL2 = {
    "ATAN2": (mp.atan2, [(1.5, -2.0), (-0.34375, 5.5), (1e-300, -1e300), (-3.0, 1 / 3), (0.75, 0.0078125)]),
    "POLYGAMMA": (lambda n, x: mp.polygamma(int(n), x) if x > 0 else
                  (-1) ** (int(n) + 1) * mp.factorial(n) * zeta(n + 1, x),
                  [(1.0, 0.34375), (2.0, 1.1875), (5.0, 13.25), (3.0, -0.6875), (4.0, -5.5), (0.0, 1 / 3),
                   (170.0, 40.0)]),
    "POWER": (mp.power, [(2.71875, -5.5), (0.34375, 13.25), (0.984375, -47.0), (1 / 3, 100.0),
                         (1 + 2.0**-52, 1e15), (10.0, -323.0)]),
    "ZETA": (zeta, [(2.0, 0.34375), (1.0078125, 1.1875), (13.25, 0.984375), (5.0, -0.6875), (2.0, -5.5),
                    (47.0, 0.0859375), (3.5, 1000.0)]),
}

PLANE = [(0.34375, -0.6875), (-1.1875, 2.71875), (2.71875, 0.0078125), (-0.984375, -0.0859375), (5.5, -13.25)]
NEAR = [(0.6, 0.8), (-0.6, 0.8000000000000002), (1e-200, -1e-200), (1e200, 1e199), (-3e-5, -0.9999999995)]


def complex_rows(more):
    return PLANE + NEAR + more


COMPLEX = {
    "ACOS": (mp.acos, complex_rows([(1.0, 1e-18)])),
    "ACOSH": (mp.acosh, complex_rows([(1.0, 1e-18)])),
    "ASIN": (mp.asin, complex_rows([(1.0, 1e-18)])),
    "ASINH": (mp.asinh, complex_rows([(1e-18, 1.0)])),
    "ATAN": (mp.atan, complex_rows([(1e-18, 1.0)])),
    "ATANH": (mp.atanh, complex_rows([(1.0, 1e-18)])),
    "CBRT": (mp.cbrt, complex_rows([])),
    "COSH": (mp.cosh, PLANE + NEAR[:3] + [(720.0, 1e-8)]),
    "COSINE": (mp.cos, PLANE + NEAR[:3] + [(1e-8, 720.0)]),
    "EXPONENTIAL": (mp.exp, PLANE + NEAR[:3] + [(720.0, 1e-8)]),
    "EXPONENTIAL_MINUS_ONE": (mp.expm1, PLANE + NEAR[:3]),
    "LOG": (mp.log, complex_rows([(5e-324, 5e-324)])),
    "LOG_PLUS_ONE": (mp.log1p, complex_rows([(-0.005, 0.1), (-1.9999, 0.01), (1e-18, 1e-18)])),
    "LOGISTIC": (lambda z: 1 / (1 + mp.exp(-z)), PLANE + NEAR[:3] + [(1e-9, 3.14159), (-700.0, 2.0)]),
    "RSQRT": (lambda z: 1 / mp.sqrt(z), complex_rows([])),
    "SIGN": (lambda z: z / abs(z), complex_rows([])),
    "SINE": (mp.sin, PLANE + NEAR[:3] + [(1e-8, 720.0)]),
    "SINH": (mp.sinh, PLANE + NEAR[:3] + [(720.0, 1e-8)]),
    "SQRT": (mp.sqrt, complex_rows([(5e-324, 5e-324), (-1e308, 1e308)])),
    "TAN": (mp.tan, PLANE + NEAR[:3] + [(1.5, 400.0)]),
    "TANH": (mp.tanh, PLANE + NEAR[:3] + [(400.0, 1.5)]),
}

COMPLEX2 = {
    "ATAN2": (lambda y, x: -1j * mp.log((x + 1j * y) / mp.sqrt(x * x + y * y)),
              [((0.34375, -0.6875), (2.71875, 0.5)), ((1.5, 0.25), (-2.0, 0.125))]),
    "DIVIDE": (lambda a, b: a / b, [((0.34375, -0.6875), (2.71875, 0.5)), ((1e300, 1e300), (1e301, -1e300)),
                                    ((1e-300, 2e-300), (3e-305, 1e-305))]),
    "POWER": (mp.power, [((0.34375, -0.6875), (2.71875, 0.75)), ((-1.1875, 2.0), (-5.5, 13.25)),
                         ((2.0, 0.0), (0.5, 0.0))]),
}


def c(x):
    x = float(x)
    if abs(x) == mp.inf:
        return "INFINITY" if x > 0 else "-INFINITY"
    return re.sub(r"\.?0*p", "p", x.hex())


print("/* Made by tests/tools/gen_elt_values.py. REAL(op, x, y, value), y = 0 where the op takes one number;")
print(" * COMPLEX(op, x, y, value), each as real and imaginary part. */")
for op, (f, xs) in REAL.items():
    for x in xs:
        print(f"REAL({op}, {c(x)}, 0, {c(f(mp.mpf(x)))})")
for op, (f, pairs) in REAL2.items():
    for x, y in pairs:
        print(f"REAL({op}, {c(x)}, {c(y)}, {c(f(mp.mpf(x), mp.mpf(y)))})")


def row(op, z, w, value):
    print(f"COMPLEX({op}, {c(z[0])}, {c(z[1])}, {c(w[0])}, {c(w[1])}, {c(mp.re(value))}, {c(mp.im(value))})")


for op, (f, zs) in COMPLEX.items():
    for z in zs:
        row(op, z, (0, 0), f(mp.mpc(*z)))
for op, (f, pairs) in COMPLEX2.items():
    for z, w in pairs:
        row(op, z, w, f(mp.mpc(*z), mp.mpc(*w)))
