/* What the makers of random programs share: the state, choices, bounds, values that there are, and ops. */
#ifndef HILO_TESTS_RANDOM_GRAPH_MAKER_H
#define HILO_TESTS_RANDOM_GRAPH_MAKER_H

#include "random_graph.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_VALUES = 96, MOST_OPS = 20, MOST_ELEMENTS = 1 << 14 };

struct node {
    ir_val v;
    struct graph_bound b;
};

struct maker {
    struct ir_module *m;
    struct diag_list d;
    ir_block block;                 /* that ops are appended to */
    const uint8_t *bytes, *end;
    struct node pool[MOST_VALUES];
    uint32_t n;
};

/* ---- choices --------------------------------------------------------------------------------- */

/* One of n. When there are no bytes left, the first. */
static inline uint32_t take(struct maker *k, uint32_t n) {
    uint32_t v = k->bytes < k->end ? *k->bytes++ : 0;
    if (n > 256)
        v = v << 8 | (k->bytes < k->end ? *k->bytes++ : 0);
    return n ? v % n : 0;
}

static inline const struct ir_type_data *shape(const struct maker *k, ir_val v) { return ir_val_type(k->m, v); }
static inline const struct ir_dtype_info *info(const struct maker *k, ir_val v) { return ir_dtype_get(shape(k, v)->dtype); }
static inline bool is_float(const struct maker *k, ir_val v) { return info(k, v)->cls == IR_FLOAT; }
static inline bool is_complex(const struct maker *k, ir_val v) { return info(k, v)->cls == IR_COMPLEX_CLASS; }
static inline bool is_pred(const struct maker *k, ir_val v) { return info(k, v)->cls == IR_PRED; }
static inline bool is_int(const struct maker *k, ir_val v) { return info(k, v)->cls == IR_SINT || info(k, v)->cls == IR_UINT; }
static inline bool exact(const struct node *x) { return x->b.rel == 0 && x->b.abs == 0; }

static inline int64_t count_of(const struct ir_type_data *t) {
    size_t n = 0;
    ir_type_count(t, &n);
    return (int64_t)n;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static inline double ulp_of(const struct ir_dtype_info *t) {
    return t->cls == IR_FLOAT || t->cls == IR_COMPLEX_CLASS ? ldexp(1, -fp_get(t->fp)->man_bits) : 0;
}

/* Some ulp of numbers that are too small to be normal. */
static inline double small_of(const struct ir_dtype_info *t) {
    return ldexp(8, -fp_get(t->fp)->bias - fp_get(t->fp)->man_bits);
}

static inline double most_of(const struct ir_dtype_info *t) {
    switch (t->cls) {
    case IR_PRED: return 1;
    case IR_FLOAT:
    case IR_COMPLEX_CLASS: {
        const struct fp_info *f = fp_get(t->fp);
        return ldexp(1, (1 << (f->bits - 1 - (uint32_t)f->man_bits)) - 2 - f->bias);
    }
    default: return ldexp(1, (int)t->bits);
    }
}

static inline double error_of(const struct node *x) {
    return exact(x) ? 0 : x->b.rel * x->b.mag + x->b.abs;
}

static inline struct node *push(struct maker *k, ir_val v, struct graph_bound b) {
    const struct ir_dtype_info *t = info(k, v);
    if (t->cls != IR_FLOAT && t->cls != IR_COMPLEX_CLASS)
        b = (struct graph_bound){.mag = fmin(b.mag, most_of(t))};
    else if (!(b.mag < most_of(t) / 4))
        b.mag = INFINITY;
    if (k->n == MOST_VALUES) /* the oldest but parameters give way */
        memmove(&k->pool[GRAPH_PARAMS], &k->pool[GRAPH_PARAMS + 1], (--k->n - GRAPH_PARAMS) * sizeof *k->pool);
    k->pool[k->n] = (struct node){v, b};
    return &k->pool[k->n++];
}

static inline struct graph_bound either(struct graph_bound a, struct graph_bound b) {
    struct graph_bound r = {fmax(a.mag, b.mag), 0, 0};
    r.rel = fmax(a.rel, b.rel);
    r.abs = fmax(a.abs, b.abs);
    return r;
}

/* ---- finding --------------------------------------------------------------------------------- */

static inline struct node *any(struct maker *k) { return &k->pool[take(k, k->n)]; }

typedef bool test(const struct maker *k, const struct node *x);

/* A value that passes, from a random place on; NULL when none does. */
static inline struct node *find(struct maker *k, test *t) {
    uint32_t at = take(k, k->n);
    for (uint32_t i = 0; i < k->n; i++)
        if (t(k, &k->pool[(at + i) % k->n]))
            return &k->pool[(at + i) % k->n];
    return NULL;
}

static inline struct node *find_type(struct maker *k, ir_type type) {
    uint32_t at = take(k, k->n);
    for (uint32_t i = 0; i < k->n; i++) {
        struct node *x = &k->pool[(at + i) % k->n];
        if (IR_SAME(ir_val_get(k->m, x->v)->type, type))
            return x;
    }
    return NULL;
}

static inline bool t_pred(const struct maker *k, const struct node *x) { return is_pred(k, x->v); }
static inline bool t_index(const struct maker *k, const struct node *x) { return is_int(k, x->v) && info(k, x->v)->bits >= 8; }
static inline bool t_exact(const struct maker *k, const struct node *x) { (void)k; return exact(x); }
static inline bool t_float(const struct maker *k, const struct node *x) { return is_float(k, x->v); }
static inline bool t_complex(const struct maker *k, const struct node *x) { return is_complex(k, x->v); }
static inline bool t_number(const struct maker *k, const struct node *x) {
    return is_int(k, x->v) || (is_float(k, x->v) && isfinite(x->b.mag));
}
static inline bool t_ordered(const struct maker *k, const struct node *x) {
    return exact(x) && (is_int(k, x->v) || (is_float(k, x->v) && isfinite(x->b.mag)));
}
static inline bool t_ranked(const struct maker *k, const struct node *x) { return shape(k, x->v)->rank > 0; }

/* ---- building -------------------------------------------------------------------------------- */

static inline ir_op make(struct maker *k, enum ir_op_kind kind, const ir_val *in, uint32_t n, const ir_type *out,
                         uint32_t nout) {
    int regions = ir_op_info(kind)->nregions;
    ir_op op = ir_op_new(k->m, kind, in, n, out, nout, regions > 0 ? (uint32_t)regions : 0);
    ir_append(k->m, k->block, op);
    return op;
}

static inline ir_op make1(struct maker *k, enum ir_op_kind kind, const ir_val *in, uint32_t n, ir_type out) {
    return make(k, kind, in, n, &out, 1);
}

static inline ir_val result(const struct maker *k, ir_op op) { return ir_result(k->m, op, 0); }

static inline ir_type type_of(const struct maker *k, ir_val v) { return ir_val_get(k->m, v)->type; }

static inline void set_i64s(struct maker *k, ir_op op, enum ir_slot slot, const int64_t *v, uint32_t n) {
    ir_set_prop(k->m, op, slot, ir_attr_i64s(k->m, v, n));
}

static inline void set_i64(struct maker *k, ir_op op, enum ir_slot slot, int64_t v) {
    ir_set_prop(k->m, op, slot, ir_attr_i64(k->m, v));
}

/* A type with other dimensions; none where that would be too large. */
static inline ir_type with_dims(struct maker *k, ir_type t, const int64_t *dims, uint32_t rank) {
    double n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= (double)dims[i];
    return n > MOST_ELEMENTS || rank > GRAPH_RANK ? (ir_type){0} : ir_type_with_dims(k->m, t, dims, rank);
}

static inline ir_type with_dtype(struct maker *k, ir_val v, enum ir_dtype t) {
    return ir_type_of(k->m, t, shape(k, v)->dims, shape(k, v)->rank);
}

/* A constant whose elements are a number. */
static inline ir_val splat(struct maker *k, ir_type type, double x) {
    const struct ir_dtype_info *t = ir_dtype_get(ir_type_get(k->m, type)->dtype);
    char elem[16] = {0};
    if (t->cls == IR_FLOAT || t->cls == IR_COMPLEX_CLASS) {
        fp_store(t->fp, elem, fp_encode(t->fp, x));
    } else {
        int64_t i = t->cls == IR_PRED ? x != 0 : (int64_t)x & (int64_t)(~UINT64_C(0) >> (64 - t->bits));
        if (t->cls == IR_SINT && t->bits < 8 && x < 0)
            i = (int64_t)x;
        memcpy(elem, &i, t->bytes);
    }
    ir_op op = make1(k, IR_CONSTANT, NULL, 0, type);
    ir_attr a = ir_attr_dense(k->m, type, elem, t->bytes, /*splat=*/true, /*owned=*/false);
    if (count_of(ir_type_get(k->m, type)) == 0)
        a = ir_attr_dense(k->m, type, NULL, 0, false, false);
    ir_set_prop(k->m, op, IR_CONSTANT_value, a);
    return result(k, op);
}

static inline ir_type scalar_of(struct maker *k, ir_val v) { return ir_type_with_dims(k->m, type_of(k, v), NULL, 0); }

/* Small numbers, -3..3 or 0..6, of a type. */
static inline struct node *pattern(struct maker *k, ir_type type) {
    const struct ir_type_data *t = ir_type_get(k->m, type);
    const struct ir_dtype_info *d = ir_dtype_get(t->dtype);
    int64_t n = count_of(t);
    ir_type line = ir_type_of(k->m, IR_I32_T, &n, 1);
    ir_op iota = make1(k, IR_IOTA, NULL, 0, line);
    set_i64(k, iota, IR_IOTA_iota_dimension, 0);
    int64_t period = d->bits < 4 ? 2 : 7, low = d->cls == IR_UINT || d->cls == IR_PRED ? 0 : period / 2;
    ir_val v = result(k, make1(k, IR_REMAINDER, (ir_val[]){result(k, iota), splat(k, line, (double)period)}, 2, line));
    v = result(k, make1(k, IR_SUBTRACT, (ir_val[]){v, splat(k, line, (double)low)}, 2, line));
    v = result(k, make1(k, IR_CONVERT, &v, 1, ir_type_of(k->m, t->dtype, &n, 1)));
    return push(k, result(k, make1(k, IR_RESHAPE, &v, 1, type)), (struct graph_bound){.mag = 7});
}

/* A value of this type: one that there is, or a new one. */
static inline struct node *like(struct maker *k, ir_type type) {
    struct node *x = take(k, 4) ? find_type(k, type) : NULL;
    return x ? x : pattern(k, type);
}

/* A region of two scalars and one op of them. */
static inline void body2(struct maker *k, ir_op op, uint32_t region, enum ir_op_kind kind, ir_type scalar) {
    ir_block b = ir_block_new(k->m, ir_op_region(k->m, op, region)), outer = k->block;
    ir_val args[2] = {ir_block_add_arg(k->m, b, scalar), ir_block_add_arg(k->m, b, scalar)};
    k->block = b;
    ir_val v = kind == IR_OP_NONE ? args[1] : result(k, make1(k, kind, args, 2, scalar));
    make(k, IR_RETURN, &v, 1, NULL, 0);
    k->block = outer;
}

/* The types of an op's results, inferred; false where it would be too large. The op is taken out then. */
static inline bool infer(struct maker *k, ir_op op) {
    ir_type out[2] = {{0}, {0}};
    uint32_t n = ir_op_get(k->m, op)->nresults;
    bool done = ir_infer(k->m, &k->d, op, out, n) == HILO_OK;
    for (uint32_t i = 0; i < n && done; i++) {
        const struct ir_type_data *t = ir_type_get(k->m, out[i]);
        done = !IR_NONE(out[i]) && !IR_NONE(with_dims(k, out[i], t->dims, t->rank));
    }
    if (!done) {
        ir_unlink(k->m, op);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        ir_set_type(k->m, ir_result(k->m, op, i), out[i]);
    return true;
}

#endif
