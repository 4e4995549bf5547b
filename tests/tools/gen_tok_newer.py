#!/usr/bin/env python3
"""Writes src/llm/tok_newer.def: characters that the expressions of Hugging Face's tokenizers (PyPI: tokenizers 0.23.3, Unicode
16) know and PCRE2 10.42 (Unicode 14) does not, or knows in another category. Usage: gen_tok_newer.py OUT; needs tokenizers and
PCRE2 10.42."""
import ctypes
import sys

from tokenizers import Regex, pre_tokenizers

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Cc Cf Co Zs Zl Zp".split()
CODES = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, CODES))
WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]"
UTF_UCP, NO_UTF_CHECK = 0x00080000 | 0x00020000, 0x40000000
HEADER = """/* Characters that came after Unicode 14, which PCRE2 10.42 has, up to Unicode 16, which Hugging Face's tokenizers and tiktoken
 * have. Expressions match them as the nearest character that PCRE2 knows with the same general category, Han or not, of words
 * or not, and of the same length in UTF-8. tests/tools/gen_tok_newer.py wrote the rows.
 *
 * RANGE(first, last, like), in ascending order. Include with RANGE defined; it is undefined at the end. */
"""


def theirs(expression):
    split = pre_tokenizers.Split(Regex(expression.replace("sc:", "")), "removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str(TEXT) for c in piece}


def ours(expression):
    lib, size = ctypes.CDLL("libpcre2-8.so.0"), ctypes.c_size_t
    lib.pcre2_compile_8.restype = lib.pcre2_match_data_create_8.restype = ctypes.c_void_p
    lib.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(size)
    end, code, at, pattern, text, out = 0, ctypes.c_int(), size(), expression.encode(), TEXT.encode(), set()
    re = ctypes.c_void_p(lib.pcre2_compile_8(pattern, size(len(pattern)), UTF_UCP, ctypes.byref(code), ctypes.byref(at), None))
    assert re, expression
    data = ctypes.c_void_p(lib.pcre2_match_data_create_8(1, None))
    span = lib.pcre2_get_ovector_pointer_8(data)
    while lib.pcre2_match_8(re, text, size(len(text)), size(end), NO_UTF_CHECK, data, None) > 0:
        end = span[1]
        out.add(ord(text[span[0]:end].decode()))
    return out


def properties(classes):
    """By code point what tells characters apart in expressions."""
    out = {c: [None, False, False] for c in CODES}
    for name in CATEGORIES:
        for c in classes(rf"\p{{{name}}}"):
            out[c][0] = name
    for i, expression in enumerate((r"\p{sc:Han}", WORD), 1):
        for c in classes(expression):
            out[c][i] = True
    return {c: (*p, len(chr(c).encode())) for c, p in out.items() if p[0]}


def main():
    new, old = properties(theirs), properties(ours)
    known = {}
    for c, p in old.items():
        if new.get(c) == p:
            known.setdefault(p, []).append(c)
    rows = []
    for c, p in sorted(new.items()):
        if old.get(c) == p:
            continue
        if rows and rows[-1][1] == c - 1 and rows[-1][3] == p:
            rows[-1][1] = c
        else:
            rows.append([c, c, min(known[p], key=lambda k: abs(k - c)), p])
    lines = [""]
    for first, last, like, _ in rows:
        row = f"RANGE(0x{first:X}, 0x{last:X}, 0x{like:X})"
        if len(lines[-1]) + len(row) > 125:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + row
    with open(sys.argv[1], "w") as f:
        f.write(HEADER + "\n".join(lines) + "\n#undef RANGE\n")


main()
