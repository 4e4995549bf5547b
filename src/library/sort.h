/* sort: what the matcher (sort_match.c) tells the routine (sort.c). */
#ifndef HILO_LIBRARY_SORT_H
#define HILO_LIBRARY_SORT_H

#include "library/order.h"
#include "library/routine.h"

enum { SORT_MOST_KEYS = 8, SORT_MOST_OPERANDS = 32 };

/* A number that lines are sorted by: operand, place in its element (the imaginary part of a complex number), type. */
struct sort_key {
    uint32_t operand, offset;
    enum ir_dtype dtype;
    unsigned flags; /* enum order_flags */
};

struct sort {
    size_t length, outer, inner; /* of operands [outer][length][inner] */
    bool inclusive;              /* the comparison is true for equal keys: they end up in reversed order */
    uint32_t noperands, nkeys;
    size_t bytes[SORT_MOST_OPERANDS];    /* of an element */
    struct sort_key key[SORT_MOST_KEYS]; /* the first is the most significant */
};

/* Scratch of a call; false on overflow. */
bool sort_scratch(const struct sort *s, size_t *bytes);
/* True when a line is sorted as records that hold its operands, so that results may alias operands. */
bool sort_packs(const struct sort *s);

enum { SORT_DIGIT_BITS = 8, SORT_DIGITS = 1 << SORT_DIGIT_BITS };

/* Records of a key and what goes with it: in the upper and the lower half of a number, or a pair. */
struct sort_wide {
    uint64_t key, index;
};
/* Sorts n records in `a` by their keys, stable, on one thread. `b`: room for as many. The result is in one of both. */
const uint64_t *sort_records(uint64_t *a, uint64_t *b, size_t n, uint32_t counts[SORT_DIGITS]);
const struct sort_wide *sort_wide_records(struct sort_wide *a, struct sort_wide *b, size_t n, uint32_t counts[SORT_DIGITS]);

#endif
