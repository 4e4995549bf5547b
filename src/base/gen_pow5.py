#!/usr/bin/env python3
"""Writes pow5.inc, the 128-bit powers of five of decimal.c: ./gen_pow5.py > pow5.inc

Row i holds the 128 leading bits of 5^q, q = i - 342: 2^127 <= T < 2^128 and 5^q ~ T * 2^e. The bits
are cut off where q > 55 (up to there T is exact) and rounded up where q < 0, so that T is off by less
than one unit, in a known direction. The range serves parsing down to 2^-1074 from 19 digits, and
printing of it with 17 digits.
"""

Q_MIN, Q_MAX = -342, 340


def row(q):
    p = 5 ** abs(q)
    if q < 0:
        t = (1 << (p.bit_length() + 127)) // p + 1
        e = -p.bit_length() - 127
    else:
        e = p.bit_length() - 128
        t = p << -e if e < 0 else p >> e
    assert 1 << 127 <= t < 1 << 128
    assert q + e == (217706 * q >> 16) - 127  # the exponent that decimal.c computes for 10^q
    return f"{{0x{t >> 64:016X}, 0x{t & (1 << 64) - 1:016X}}},"


print("/* Written by gen_pow5.py: the 128 leading bits of 5^q, high and low half, q from "
      f"{Q_MIN} to {Q_MAX}. */")
rows = [row(q) for q in range(Q_MIN, Q_MAX + 1)]
for i in range(0, len(rows), 2):
    print("    " + " ".join(rows[i:i + 2]))
