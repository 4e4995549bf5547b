/* Bodies of one binary op (add, maximum …) over many elements: for windows, running results, scatter.
 *
 * Any op and type takes the evaluator's kernel for it, so that results are its bits; sums, products, minima and maxima of
 * common types have loops of their own that keep what they accumulate in registers. */
#ifndef HILO_LIBRARY_COMBINE_H
#define HILO_LIBRARY_COMBINE_H

#include "eval/eval.h"
#include "library/routine.h"

struct combine {
    enum ir_op_kind op;
    enum ir_dtype dtype;
    size_t bytes; /* of an element */
    struct elt_kernel kernel;
    /* acc[i] = (acc[i] op rows[0][i]) op rows[1][i] …; NULL where there is no loop of its own */
    void (*rows)(void *acc, const void *const *rows, size_t nrows, size_t n);
    /* as combine_at; NULL likewise */
    void (*at)(void *acc, const int64_t *to, const void *x, const int64_t *from, size_t n);
};

/* False when there is no such kernel. For IR_COMPARE use combine_compare. */
bool combine_of(enum ir_op_kind op, enum ir_dtype dtype, struct combine *out);
/* A comparison of numbers of a type, by enum comparison_direction and comparison_type; its results are bytes 0 and 1. */
bool combine_compare(enum ir_dtype dtype, int64_t direction, int64_t type, struct elt_kernel *out);

/* The op of a body that is one binary op on scalars of `dtype`; IR_OP_NONE else. */
enum ir_op_kind combine_body(const struct ir_module *m, ir_region r, enum ir_dtype dtype);

/* acc[i] = acc[i] op x[i]. */
static inline void combine_run(const struct combine *c, void *acc, const void *x, size_t n) {
    const void *in[2] = {acc, x};
    c->kernel.run(&c->kernel, in, acc, n);
}

/* The same with several rows, in order, whose elements are `stride` apart. */
void combine_rows(const struct combine *c, void *acc, const void *const *rows, size_t nrows, size_t stride, size_t n);

/* acc[to[i]] = acc[to[i]] op x[from[i]], in order. */
void combine_at(const struct combine *c, void *acc, const int64_t *to, const void *x, const int64_t *from, size_t n);
/* acc[to[i]] = x[from[i]], in order, of elements of so many bytes. */
void combine_copy_at(void *acc, const int64_t *to, const void *x, const int64_t *from, size_t bytes, size_t n);

/* n elements that are `stride` apart, packed. */
void combine_pack(const void *from, size_t stride, size_t bytes, size_t n, void *to);
/* n copies of an element. */
void combine_fill(void *to, const void *element, size_t bytes, size_t n);

/* True when (x op y) op y = x op y for all x and y: maximum, minimum, and, or. */
static inline bool combine_idempotent(enum ir_op_kind op) {
    return ir_op_has(op, IR_T_IDEMPOTENT) || op == IR_MAXIMUM || op == IR_MINIMUM || op == IR_AND || op == IR_OR;
}
/* True when x op `element` is x, bit for bit, for all x that are results of the op from `element` on. */
bool combine_neutral(const struct combine *c, const void *element);
/* The element from which a combination of any values has the bits of that of the values alone, in up to eight bytes; false
   where none is known: only ops and types with loops of their own have one. */
bool combine_start(const struct combine *c, void *element);

/* ---- minimum and maximum ------------------------------------------------------------------------- */

/* The evaluator's rules: NaN if either is NaN; of equal numbers, which are zeros, the bits decide. `p` and `q` are the same
   number unless the comparison is unordered; then each is one of both. */
static inline float f32_min(float x, float y) {
    float p = x < y ? x : y, q = y < x ? y : x;
    return fp_f32_from_bits(fp_f32_bits(p) | fp_f32_bits(q));
}
static inline double f64_min(double x, double y) {
    double p = x < y ? x : y, q = y < x ? y : x;
    return fp_f64_from_bits(fp_f64_bits(p) | fp_f64_bits(q));
}
static inline float f32_max(float x, float y) {
    return -f32_min(-x, -y);
}
static inline double f64_max(double x, double y) {
    return -f64_min(-x, -y);
}

#endif
