/* Elementwise kernels: how they are written, and what the eval_elt_*.c files offer to the resolver in
 * eval_elt.c.
 *
 * A kernel is a loop over contiguous elements, resolved once and run often. Elements are canonical:
 * i1 is 0 or 1, and i2, i4, ui2, ui4 are sign- or zero-extended to their byte; every kernel leaves
 * them so. */
#ifndef HILO_EVAL_ELT_H
#define HILO_EVAL_ELT_H

#include "eval/eval.h"

typedef void elt_run(const struct elt_kernel *k, const void *const *in, void *out, size_t n);

/* ---- writing kernels ---- */

/* static void name(…): r[i] = expr for all n elements. The expression is in x, y and z, the elements
   of type A of the operands, and in k; its type is R. Such a loop may run in place. */
#define ELT_KERNEL1(name, how, A, R, expr)                                                         \
    ELT_LOOP(name, how, R, const A *a = in[0], const A x = a[i], expr)
#define ELT_KERNEL2(name, how, A, R, expr)                                                         \
    ELT_LOOP(name, how, R, const A *a = in[0]; const A *b = in[1],                                 \
             const A x = a[i]; const A y = b[i], expr)
#define ELT_KERNEL3(name, how, A, R, expr)                                                         \
    ELT_LOOP(name, how, R, const A *a = in[0]; const A *b = in[1]; const A *c = in[2],             \
             const A x = a[i]; const A y = b[i]; const A z = c[i], expr)

/* `how`: ELT_SIMD where the expression can be vectorised; then it is, without checks for overlap,
   because an iteration reads and writes its own elements only. */
#define ELT_SIMD _Pragma("omp simd")
#define ELT_PLAIN

#define ELT_LOOP(name, how, R, arrays, elements, expr)                                             \
    static void name(const struct elt_kernel *k, const void *const *in, void *out, size_t n)       \
    {                                                                                              \
        arrays;                                                                                    \
        R *r = out;                                                                                \
        (void)k;                                                                                   \
        how for (size_t i = 0; i < n; i++)                                                         \
        {                                                                                          \
            elements;                                                                              \
            r[i] = expr;                                                                           \
        }                                                                                          \
    }

/* Elements that a kernel converts at a time when it computes in another format, and how many of n are
   left from element i on. */
enum { ELT_BLOCK = 256 };

static inline size_t elt_block(size_t n, size_t i) {
    return n - i < ELT_BLOCK ? n - i : ELT_BLOCK;
}

/* ---- tables of kernels ---- */

/* One op of a table, which ends with IR_OP_NONE. `extra` goes into the kernel. */
struct elt_row {
    enum ir_op_kind op;
    elt_run *run;
    const void *extra;
};
/* The row of an op, or NULL. */
const struct elt_row *elt_find(const struct elt_row *table, enum ir_op_kind op);

/* Comparisons have a table of their own, by enum comparison_direction. */
enum { ELT_DIRECTIONS = 6 };

/* As elt_resolve, without a diagnostic. An op that is not elementwise may have a kernel, too: the
   broadcasting ops of CHLO for operands of one shape, bitcast_convert for types of one width. */
bool elt_lookup(const struct ir_module *m, ir_op op, const enum ir_dtype *in, uint32_t nin,
                enum ir_dtype out, struct elt_kernel *k);

/* Each fills in run, extra and param of a kernel whose op, in and out are set (and param too, for
   compare and reduce_precision); false when there is none. */
bool elt_int_resolve(struct elt_kernel *k);
bool elt_float_resolve(struct elt_kernel *k);
bool elt_complex_resolve(struct elt_kernel *k);
bool elt_convert_resolve(struct elt_kernel *k);

#endif
