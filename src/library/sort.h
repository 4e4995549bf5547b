/* sort: what the matcher (sort_match.c) tells the routine (sort.c). */
#ifndef HILO_LIBRARY_SORT_H
#define HILO_LIBRARY_SORT_H

#include "library/routine.h"

enum { SORT_MOST_KEYS = 8, SORT_MOST_OPERANDS = 32 };

enum sort_flags {
    SORT_DESCENDING = 1,
    SORT_ONE_ZERO = 2,     /* -0 and +0 are one key */
    SORT_ONE_NAN = 4,      /* all NaN are one key, above infinity */
    SORT_NEGATIVE_NAN = 8, /* with ONE_NAN: below -infinity */
    SORT_PARTIAL = 16      /* IEEE comparison: a NaN is neither before nor behind anything */
};

/* A number that lines are sorted by: operand, place in its element (the imaginary part of a complex number), type. */
struct sort_key {
    uint32_t operand, offset;
    enum ir_dtype dtype;
    unsigned flags;
};

struct sort {
    size_t length, outer, inner; /* of operands [outer][length][inner] */
    bool inclusive;              /* the comparison is true for equal keys: they end up in reversed order */
    uint32_t noperands, nkeys;
    size_t bytes[SORT_MOST_OPERANDS];    /* of an element */
    struct sort_key key[SORT_MOST_KEYS]; /* the first is the most significant */
};

/* Reads parameters; false when they make no sense. */
bool sort_read(struct lib_reader *r, struct sort *s);
/* Scratch of a call; false on overflow. */
bool sort_scratch(const struct sort *s, size_t *bytes);
/* True when a line is sorted as records that hold its operands, so that results may lie over operands. */
bool sort_packs(const struct sort *s);

#endif
