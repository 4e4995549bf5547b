/* Random StableHLO programs that are valid, made from bytes: the same bytes make the same program. Of every result it is
 * known how far two right implementations may differ, from bounds that are kept along with the values: elementwise arithmetic
 * is exact, functions are within some ulp, sums may be in any order. Operations that jump (comparisons, rounding, conversions
 * to integers) are applied to exact values only. */
#ifndef HILO_TESTS_RANDOM_GRAPH_H
#define HILO_TESTS_RANDOM_GRAPH_H

#include "ir/ir.h"

/* Of the elements x of a tensor of floats: |x| ≤ mag, where it is finite (else there may be infinities and NaN too); two
   implementations differ by no more than rel |x| + abs. Exact where both are 0. */
struct graph_bound {
    double mag, rel, abs;
};

enum { GRAPH_PARAMS = 4, GRAPH_RESULTS = 6, GRAPH_RANK = 6 };

struct graph_type {
    enum ir_dtype dtype;
    uint32_t rank;
    int64_t dims[GRAPH_RANK];
};

struct graph {
    struct strbuf text;                      /* the program */
    struct graph_type params[GRAPH_PARAMS];
    bool wild[GRAPH_PARAMS];                 /* any bits; else small numbers */
    uint64_t seed;                           /* of the elements */
    uint32_t nparams, nresults;
    struct graph_bound bounds[GRAPH_RESULTS];
};

/* False when memory ends. graph_free in any case. */
bool graph_make(struct graph *g, const uint8_t *bytes, size_t nbytes);
void graph_free(struct graph *g);

/* Elements of parameter i, as many as its type has, each of the bytes of its element type. */
void graph_fill(const struct graph *g, uint32_t i, void *out);

#endif
