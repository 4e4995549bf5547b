/* decimal.h - numbers as text: decimal and hexadecimal to binary, and floats printed as MLIR does.
 *
 * Every decimal becomes the nearest binary number, ties to even, and what is printed parses back to
 * the same bits. Nothing here depends on the locale or allocates memory; the floating-point
 * environment must be the default one.
 *
 * The parsers read the longest number at `s` that ends before `end`; no terminator is needed. On
 * success they store the value and the end of what was read. On failure `*out` is untouched, and
 * `*next` is `s` when there is no number and the end of the number when it is out of range.
 */
#ifndef HILO_BASE_DECIMAL_H
#define HILO_BASE_DECIMAL_H

#include "base/fp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [+-] digits [. digits] [(e|E) [+-] digits], with a digit on either side of the point. Too large
 * gives infinity, too small zero. dec_parse_float rounds once, straight to float. */
bool dec_parse_double(const char *s, const char *end, double *out, const char **next);
bool dec_parse_float(const char *s, const char *end, float *out, const char **next);

/* Decimal digits, or 0x and hexadecimal digits; [+-] before the signed form. Fails out of range. */
bool dec_parse_i64(const char *s, const char *end, int64_t *out, const char **next);
bool dec_parse_u64(const char *s, const char *end, uint64_t *out, const char **next);

/* Room for any printed number with its terminating NUL. */
#define DEC_PRINT_SIZE 32

/* Prints a number into `buf` (DEC_PRINT_SIZE bytes) to the letter as MLIR prints it in an
 * attribute, and returns its length: six significant digits, 1.500000e+00, where they parse back to
 * the same value, else as many as tell all values of the format apart, 0.333333343 or
 * 1.23456791E-9. Infinity, NaN, and what would then look like an integer, are the bits of the
 * format, 0x4B800000: read those with dec_parse_u64. */
size_t dec_print_double(char *buf, double x);
size_t dec_print_float(char *buf, float x);
size_t dec_print_fp(char *buf, enum fp_kind kind, uint64_t bits);

/* Decodes `nchars` hexadecimal digits (no prefix), the first digit of a pair the high one, into
 * nchars / 2 bytes. False when nchars is odd or something is not a digit; `out` is then garbage. */
bool hex_decode(const char *hex, size_t nchars, uint8_t *out);

#endif
