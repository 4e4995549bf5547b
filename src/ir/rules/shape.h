/* Type inference: what the rules of ops.def share.
 *
 * A rule, `shape_<rule>`, checks the constraints of its ops and fills in their result types. It may
 * take for granted what the tables say of its op, for verify.c has checked that before: counts and
 * kinds of operands (and, while verifying, of results), number of regions, one block with a
 * terminator in each, presence, form and range of attributes. Everything else (traits, ranks of
 * lists, dimensions in range, block arguments …) is the rule's business.
 *
 *   verify.c        tables, symbols, order of definitions; calls the rules
 *   shape.c         these helpers; the table of rules
 *   shape_*.c       the rules, by family
 *
 * A constraint is reported under the specification's label, `<op>_c<n>`. */
#ifndef HILO_IR_SHAPE_H
#define HILO_IR_SHAPE_H

#include "ir/ir.h"

struct shape {
    struct ir_module *m;
    struct diag_list *d;
    ir_op op;
    const struct ir_op_data *o; /* of op */
    ir_type *out;               /* result types, to be filled in; none = cannot be inferred */
    uint32_t nout;              /* results of op, whatever the rule thinks: see shape_results */
    const char *out_label;      /* may be set: the constraint that defines the result types */
    bool verifying;             /* the declared result types are final: check what needs them */
    bool broken;                /* the module has errors, other than names that are not found */
    bool not_found;             /* set by shape_not_found */
};

typedef hilo_status shape_rule(struct shape *s);
#define OP(id, name, form, operands, results, regions, traits, cost, rule, ...)                   \
    shape_rule shape_##rule;
#include "ir/ops.def"

/* Runs the rule of s->op, with all of `out` none. A result that is quantised keeps its
   declared scales, zero points and axis, since operands do not determine them. */
hilo_status shape_run(struct shape *s);

/* ---- errors ---------------------------------------------------------------------------------- */

/* An error at the op; returns INVALID_ARGUMENT. `label` is "add_c1"; or "_c1", which stands for
   that constraint of the current op in rules that several ops share; or NULL where the
   specification has no number for it. */
hilo_status shape_fail(struct shape *s, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* An error: there is no such function, mesh or whatever `what` names. But none in a module with other
   errors, for it may be their consequence. */
hilo_status shape_not_found(struct shape *s, const char *label, const char *what, struct str name);

/* Texts for messages, in the module's arena: `tensor<2x?xf32>`, `[1, ?, 3]`, `?`. Only for the path
   of an error. */
const char *shape_type_text(struct shape *s, ir_type t);
const char *shape_list_text(struct shape *s, const int64_t *v, size_t n);
const char *shape_dim_text(struct shape *s, int64_t dim);

/* ---- operands, results, regions -------------------------------------------------------------- */

static inline ir_type shape_in_type(const struct shape *s, uint32_t i) {
    return ir_val_get(s->m, s->o->operands[i])->type;
}
static inline const struct ir_type_data *shape_in(const struct shape *s, uint32_t i) {
    return ir_type_get(s->m, shape_in_type(s, i));
}

/* All of a group's. In the module's arena. */
struct shape_range { uint32_t first, n; };
const ir_type *shape_in_types(struct shape *s, struct shape_range r);

/* Declared result types: look at them only while verifying, or where a rule cannot do without. */
static inline ir_type shape_res_type(const struct shape *s, uint32_t i) {
    return ir_val_get(s->m, ir_result(s->m, s->op, i))->type;
}
static inline const struct ir_type_data *shape_res(const struct shape *s, uint32_t i) {
    return ir_type_get(s->m, shape_res_type(s, i));
}

/* Operands (results) that the k-th word of the table's column stands for: reduce's inputs are group
   0, its initial values group 1. One word = one value unless it has a star. */
struct shape_range shape_in_group(struct shape *s, uint32_t k);
struct shape_range shape_res_group(struct shape *s, uint32_t k);

/* For ops with any number of results: an error unless the op has `n` of them. To be called before
   the first write to `out`. */
hilo_status shape_results(struct shape *s, const char *label, uint32_t n);

/* The block of region r, and the type of one of its arguments; the operands of its terminator. */
const struct ir_block_data *shape_block(const struct shape *s, uint32_t r);
ir_type shape_arg_type(const struct shape *s, uint32_t r, uint32_t i);
const struct ir_op_data *shape_yield(const struct shape *s, uint32_t r);
ir_type shape_yield_type(const struct shape *s, uint32_t r, uint32_t i);

/* The elements of a dense<…> or array<…> of integers of any width, index or i1, widened; false for
   any other attribute, and for absurdly many elements. The array is in the module's arena. */
bool shape_attr_ints(struct shape *s, ir_attr a, const int64_t **out, size_t *n);
/* The same for a value: when it is the result of a constant op. */
bool shape_const_i64s(struct shape *s, ir_val v, const int64_t **out, size_t *n);

/* Result 0 gets the sizes in operand i, a list: the values of a constant, or as many unknown sizes. */
hilo_status shape_by_operand(struct shape *s, const char *label, uint32_t i, ir_type elem);

/* The function that a symbol names; none when there is no such function. */
ir_op shape_lookup_func(const struct shape *s, ir_attr symbol);
/* For ops that run such a function: it exists, takes the operands and gives the results, which are
   inferred from it. Labels of these three constraints; all may be NULL. */
hilo_status shape_callee(struct shape *s, ir_attr symbol, const char *exists, const char *takes,
                         const char *gives);

/* ---- dimensions ------------------------------------------------------------------------------ */

static inline bool shape_known(int64_t dim) {
    return dim != IR_DYNAMIC;
}
static inline bool shape_dims_agree(int64_t a, int64_t b) {
    return !shape_known(a) || !shape_known(b) || a == b;
}
static inline int64_t shape_bound(const struct ir_type_data *t, uint32_t i) {
    return t->bounds ? t->bounds[i] : IR_DYNAMIC;
}

/* One is unranked, or both have one rank and no two known dimensions differ. False for what has no
   shape. */
bool shape_compatible(const struct ir_type_data *a, const struct ir_type_data *b);
/* The same for bare lists of dimensions. */
bool shape_lists_agree(const int64_t *a, size_t na, const int64_t *b, size_t nb);
/* All operands and, while verifying, all results have compatible shapes (IR_T_SAME_SHAPE). */
hilo_status shape_same_shape(struct shape *s, const char *label);

/* The operands of a group have one shape; `name` is theirs for the message. */
hilo_status shape_same_shapes(struct shape *s, const char *label, const char *name,
                              struct shape_range r);

/* Checks on lists of dimension numbers; `name` is the attribute's (or field's) for the message.
   in_range: each is in [0, upper).   unique: none occurs twice.   distinct: none occurs twice in
   both lists together.   sorted: none is less than the one before.   size: `want` elements. */
hilo_status shape_in_range(struct shape *s, const char *label, const char *name, const int64_t *v,
                           size_t n, int64_t upper);
hilo_status shape_unique(struct shape *s, const char *label, const char *name, const int64_t *v,
                         size_t n);
hilo_status shape_distinct(struct shape *s, const char *label, const char *name, const int64_t *v,
                           size_t n, const char *name2, const int64_t *w, size_t nw);
hilo_status shape_sorted(struct shape *s, const char *label, const char *name, const int64_t *v,
                         size_t n);
hilo_status shape_size(struct shape *s, const char *label, const char *name, size_t n, size_t want);
bool shape_contains(const int64_t *v, size_t n, int64_t x);

/* One dimension of several types: its size and bound (IR_DYNAMIC = none). */
struct shape_dim { int64_t size, bound; };
static inline struct shape_dim shape_dim_of(const struct ir_type_data *t, uint32_t i) {
    return (struct shape_dim){t->dims[i], shape_bound(t, i)};
}

/* What is known of a dimension that is both a and b: the known size, else the smaller bound. False
   when they exclude each other. */
bool shape_meet(struct shape_dim a, struct shape_dim b, struct shape_dim *out);
/* What is known of one that is either (branches): a size only when both have it, else the larger
   bound. False for two different sizes. */
bool shape_join(struct shape_dim a, struct shape_dim b, struct shape_dim *out);
/* a + b, as in concatenation. False when the sum overflows. */
bool shape_sum(struct shape_dim a, struct shape_dim b, struct shape_dim *out);

/* The type that meets (joins) all of `types`, by shape_meet (shape_join) on every dimension; the
   first one's element type. Tuples member by member. Unranked types say nothing to meet; one makes
   the join unranked. */
hilo_status shape_meet_types(struct shape *s, const char *label, const ir_type *types, uint32_t n,
                             ir_type *out);
hilo_status shape_join_types(struct shape *s, const char *label, const ir_type *types, uint32_t n,
                             ir_type *out);

/* ---- types ----------------------------------------------------------------------------------- */

static inline bool shape_ranked(const struct ir_type_data *t) {
    return t->kind == IR_TYPE_TENSOR || t->kind == IR_TYPE_MEMREF || t->kind == IR_TYPE_VECTOR;
}
static inline bool shape_is_quant(const struct ir_type_data *t) {
    return t->quant != NULL;
}
static inline bool shape_is_axis(const struct ir_type_data *t) {
    return t->quant && t->quant->kind == IR_QUANT_AXIS;
}

/* The same shape and encoding with other elements. */
ir_type shape_with_elem(struct shape *s, ir_type shaped, ir_type elem);
/* A tensor from dimensions with bounds. */
ir_type shape_tensor(struct shape *s, ir_type elem, const struct shape_dim *dims, uint32_t rank);
/* A tensor of rank 0. */
ir_type shape_scalar_of(struct shape *s, ir_type elem);
/* tensor<i1> */
bool shape_is_truth(const struct shape *s, ir_type t);
/* f32 for complex<f32>, itself for all others. */
ir_type shape_real_of(struct shape *s, ir_type elem);
/* Of the elements' type, of the storage when quantised. */
enum ir_dtype_class shape_class(const struct ir_type_data *t);
uint32_t shape_bits(const struct ir_type_data *t);

/* Elements that may stand for each other in inference: the same type, or quantised ones that differ
   in scales, zero points and axis only. */
bool shape_elems_compatible(const struct ir_module *m, ir_type a, ir_type b);
/* Types that may: compatible shapes within each other's bounds, compatible elements; other kinds of
   types are equal. */
bool shape_types_compatible(const struct ir_module *m, ir_type a, ir_type b);
/* The same element type; with `any_float` two floats of any precision are. */
bool shape_same_elem(const struct ir_type_data *a, const struct ir_type_data *b, bool any_float);
/* The elements of `a` widen to those of `b`: one class (i1 is an integer here; quantised: one
   expressed type), no fewer bits; floats may have any precision. */
bool shape_promotable(const struct ir_type_data *a, const struct ir_type_data *b);
/* While verifying: result i has elements that may stand for these. */
hilo_status shape_result_elem(struct shape *s, const char *label, uint32_t i, ir_type elem);
/* Two types quantised alike (both per tensor or both per axis) have the same scales and zero
   points, and per tensor the same element type; anything else passes. */
hilo_status shape_same_scales(struct shape *s, const char *label, ir_type a, ir_type b);

/* ---- regions that reduce (reduce.c) ---------------------------------------------------- */

struct shape_reducer {
    uint32_t region, n;
    const ir_type *inputs, *inits; /* n each: of what is reduced, of what that starts from */
    const int64_t *dims;           /* the region's values are scalars or have some of these */
    size_t ndims;
    const char *label, *init_label; /* of the region's type, of the initial values' */
};

/* The region takes n values so far and n values to come, and returns n. Each may be wider than the
   input and the initial value, and is what the result's elements are. */
hilo_status shape_reducer(struct shape *s, const struct shape_reducer *r);

/* ---- windows (window.c) ---------------------------------------------------------------- */

/* A window sliding along one dimension: one position is `stride` elements after the other, of the
   base with low and high padding; dilation puts dilation - 1 holes between two elements. */
struct shape_window { int64_t size, stride, low, high, base_dilation, window_dilation; };

/* Where an op has these attributes, and the constraints on their length and their values. A slot of
   0 stands for an attribute that the op does not have. */
struct shape_window_attr { enum ir_slot slot; const char *length, *value; };
struct shape_window_attrs {
    struct shape_window_attr sizes, stride, padding, base_dilation, window_dilation;
};

/* The windows of n dimensions; `sizes` may be unknown. Missing attributes are 1, padding 0. */
hilo_status shape_windows(struct shape *s, const struct shape_window_attrs *a, const int64_t *sizes,
                          size_t n, struct shape_window *out);
/* The number of positions along a dimension; what is not known stays so. False when it overflows. */
bool shape_window_count(const struct shape_window *w, struct shape_dim base, struct shape_dim *out);

/* ---- contractions (dot.c) -------------------------------------------------------------- */

/* No more entries in precision_config than there are operands. */
hilo_status shape_precision(struct shape *s, const char *label, enum ir_slot slot);

/* Constraints of products of operands 0 (lhs) and 1 (rhs) of which one, or the result, is quantised.
   While verifying only. */
struct shape_quant_labels {
    const char *which;       /* rhs is quantised, lhs and result both or neither */
    const char *storage;     /* one storage type of both operands */
    const char *expressed;   /* one expressed type of all */
    const char *granularity; /* the result is quantised per tensor where rhs is */
    const char *hybrid;      /* with lhs as it is: the types are what rhs expresses */
};
hilo_status shape_quant_product(struct shape *s, const struct shape_quant_labels *l);

#endif
