#!/usr/bin/env python3
"""Writes src/llm/tok_unicode.def: where Hugging Face's tokenizers (PyPI: tokenizers 0.23.3) classifies characters otherwise than
utf8proc. Usage: gen_tok_unicode.py OUT; needs tokenizers and libutf8proc."""
import ctypes
import sys

from tokenizers import normalizers, pre_tokenizers

proc = ctypes.CDLL("libutf8proc.so.2")
proc.utf8proc_category_string.restype = ctypes.c_char_p
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORY = {c: proc.utf8proc_category_string(c).decode() for c in CODES}
HEADER = """/* Characters that Hugging Face's tokenizers classifies otherwise than the Unicode that this library reads: the tables of its
 * normalizers and pre-tokenizers are those of Unicode 8 and 9. tests/tools/gen_tok_unicode.py wrote the rows.
 *
 * RANGE(class, belongs, first, last): whether the characters belong to the class. Include with RANGE defined; it is undefined
 * at the end. */
"""


def dropped(normalizer):
    return {c for c in CODES if normalizer.normalize_str("a" + chr(c) + "b") == "ab"}


def bert(**flags):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **flags})


def ranges(codes):
    out = []
    for c in sorted(codes):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def rows(name, theirs, categories, extra=()):
    ours = {c for c in CODES if CATEGORY[c] in categories} | set(extra)
    for belongs, codes in (("false", ours - theirs), ("true", theirs - ours)):
        for first, last in ranges(codes):
            yield f"RANGE({name}, {belongs}, 0x{first:X}, 0x{last:X})"


def main():
    split = pre_tokenizers.Punctuation()
    punctuation = {c for c in CODES if len(split.pre_tokenize_str("a" + chr(c) + "b")) == 3}
    every = [*rows("CONTROL", dropped(bert(clean_text=True)) | {9, 10, 13}, ("Cc", "Cf", "Co"), [0xFFFD]),
             *rows("NONSPACING", dropped(bert(strip_accents=True)), ("Mn",)),
             *rows("MARK", dropped(normalizers.StripAccents()), ("Mn", "Mc", "Me")),
             *rows("PUNCTUATION", punctuation, ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"), map(ord, "$+<=>^`|~"))]
    lines = [""]
    for row in every:
        if len(lines[-1]) + len(row) > 125:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + row
    with open(sys.argv[1], "w") as f:
        f.write(HEADER + "\n".join(lines) + "\n#undef RANGE\n")


main()
