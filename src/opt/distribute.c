/* distribute: loop distribution
 * does       takes products out of loops that count, where one product over all iterations does their work: before the loop,
 *            those of a slice of an array in each iteration (the input of a scan); after it, those that each iteration stores
 *            into a slice of an array, or adds to a sum
 * requires   nothing
 * preserves  nothing
 * cost       linear, times the number of products and the depth of loops
 * example    while (%i) { … dot %x[%i], %w … }  ⇒  %p = dot %x, %w; while (%i) { … %p[%i] … }
 *            while (%i, %s) { … %s + dot %x[%i], %y … }  ⇒  while (%i, %ys) { … %ys[%i] = %y … }; dot %x, %ys
 *
 * A product of a few rows reads all weights in each iteration; the one product reads them once. What is stored in between must
 * not be more than that, and is bounded. The terms of a sum are added in the order of the one product, as those of any product
 * are; sums of floats narrower than f32 would be rounded less often, and stay in the loop. */
#include "opt/rewrite.h"

enum {
    DISTRIBUTE_BYTES = 64 << 20, /* that the arrays of a loop may take */
    DISTRIBUTE_LEAST = 8 << 10,  /* of weights, or of a sum: less stays in the fastest cache */
    DISTRIBUTE_DEPTH = 4         /* of ops between a slice and a product, and of invariant ones that are copied */
};

/* A value of the body is, in each iteration, a slice of an array: along dimension `dim`, which it lacks, at `index`. */
struct slices {
    uint32_t dim;
    ir_val index;           /* in the body: scale * counter + plus, each position once */
    int64_t scale, plus;
};

/* An array, stored by the loop, of a value of each iteration: along dimension 0. */
struct stored {
    ir_val v;
    struct slices at;
};

/* A product or sum that is computed after the loop. */
struct after {
    uint32_t variable;      /* whose result it is */
    ir_op op;               /* of the body: dot_general, or reduce */
    bool sum;               /* over all iterations; else stacked */
    uint32_t dim;           /* of the stacked result */
    uint32_t stored[2];     /* by operand: 1 + its number in `stored`; 0 = slices of what is outside, or invariant */
    struct slices at[2];    /* of operands that are */
    bool sliced[2];
};

struct distribute {
    struct opt_map map;     /* replaced values */
    struct opt_map copies;  /* values of the body to what they are outside, invariant or as arrays */
    ir_op loop;
    ir_block body;
    int64_t trips;
    size_t bytes;           /* that may still be taken */
    struct { struct stored *v; uint32_t n, cap; } stored;
    struct { struct after *v; uint32_t n, cap; } after;
};

/* ---- types and ops ----------------------------------------------------------------------------- */

static bool is_plain(const struct distribute *c, ir_val v) {
    const struct ir_type_data *t = ir_val_type(c->map.o->m, v);
    return t->kind == IR_TYPE_TENSOR && ir_type_is_static(t) && t->rank < IR_MAX_RANK && !t->quant && IR_NONE(t->encoding);
}

/* The type with another dimension at `dim`. */
static ir_type with_dim(const struct distribute *c, ir_type type, uint32_t dim, int64_t size) {
    struct ir_module *m = c->map.o->m;
    const struct ir_type_data *t = ir_type_get(m, type);
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0, k = 0; i <= t->rank; i++)
        dims[i] = i == dim ? size : t->dims[k++];
    return ir_type_with_dims(m, type, dims, t->rank + 1);
}

static ir_type array_type(const struct distribute *c, ir_val v, uint32_t dim) {
    return with_dim(c, ir_val_get(c->map.o->m, v)->type, dim, c->trips);
}

static size_t bytes_of(const struct distribute *c, ir_val v) {
    size_t bytes;
    return ir_type_bytes(ir_val_type(c->map.o->m, v), &bytes) ? bytes : SIZE_MAX;
}

/* Takes the bytes of an array of `v`; false when there are not so many left. */
static bool take_bytes(struct distribute *c, ir_val v) {
    size_t bytes;
    if (!mem_mul(bytes_of(c, v), (size_t)c->trips, &bytes) || bytes > c->bytes)
        return false;
    c->bytes -= bytes;
    return true;
}

static ir_op op_before(struct distribute *c, ir_op at, enum ir_op_kind kind, const ir_val *in, uint32_t n, ir_type type) {
    struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, at);
    ir_op op = ir_op_new(m, kind, in, n, &type, 1, 0);
    ir_set_loc(m, op, x->loc, x->line, x->col);
    ir_insert_before(m, at, op);
    c->map.o->changes++;
    return op;
}

static ir_val reshaped(struct distribute *c, ir_op at, ir_val v, ir_type type) {
    if (IR_SAME(ir_val_get(c->map.o->m, v)->type, type))
        return v;
    return ir_result(c->map.o->m, op_before(c, at, IR_RESHAPE, &v, 1, type), 0);
}

static ir_val zeros(struct distribute *c, ir_op at, ir_type type) {
    static const char zero[16];
    struct ir_module *m = c->map.o->m;
    ir_op op = op_before(c, at, IR_CONSTANT, NULL, 0, type);
    size_t size = ir_dtype_get(ir_type_get(m, type)->dtype)->bytes;
    ir_set_prop(m, op, IR_CONSTANT_value, ir_attr_dense(m, type, zero, size, true, false));
    return ir_result(m, op, 0);
}

/* A copy of the op with other operands and one result, before `at`. */
static ir_val remade(struct distribute *c, ir_op at, ir_op op, const ir_val *in, ir_type type) {
    struct ir_module *m = c->map.o->m;
    ir_op fresh = opt_remake(c->map.o, op, in, ir_op_get(m, op)->noperands, &type, 1);
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        opt_clone_region(&c->copies, ir_op_region(m, op, i), ir_op_region(m, fresh, i));
    ir_insert_before(m, at, fresh);
    c->map.o->changes++;
    return ir_result(m, fresh, 0);
}

/* The op of the body that defines the value; none for an argument, or when it is outside. */
static ir_op body_op(const struct distribute *c, ir_val v) {
    const struct ir_module *m = c->map.o->m;
    ir_op op = ir_val_get(m, v)->op;
    return !IR_NONE(op) && IR_SAME(ir_op_get(m, op)->parent, c->body) ? op : (ir_op){0};
}

static bool is_copied(enum ir_op_kind kind) {
    return ir_op_has(kind, IR_T_PURE) && !ir_op_has(kind, IR_T_MAY_FAIL);
}

/* ---- what is outside ----------------------------------------------------------------------------- */

/* Whether the value is the same in all iterations, and can be had before the loop. */
static bool is_invariant(const struct distribute *c, ir_val v, int depth) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_val_data *d = ir_val_get(m, v);
    if (!ir_is_inside(m, v, c->loop))
        return true;
    if (IR_NONE(d->op))
        return IR_SAME(d->block, c->body) && opt_loop_invariant(m, c->loop, d->index);
    const struct ir_op_data *x = ir_op_get(m, d->op);
    if (depth == 0 || !IR_SAME(x->parent, c->body) || x->nregions || !is_copied((enum ir_op_kind)x->kind))
        return false;
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!is_invariant(c, x->operands[i], depth - 1))
            return false;
    return true;
}

/* An invariant value, before the loop. */
static ir_val invariant(struct distribute *c, ir_val v) {
    struct ir_module *m = c->map.o->m;
    const struct ir_val_data *d = ir_val_get(m, v);
    if (!ir_is_inside(m, v, c->loop))
        return v;
    if (IR_NONE(d->op))
        return ir_operand(m, c->loop, d->index);
    ir_val known = opt_map_get(&c->copies, v);
    if (!IR_SAME(known, v))
        return known;
    for (uint32_t i = 0; i < ir_op_get(m, d->op)->noperands; i++) {
        ir_val in = ir_operand(m, d->op, i), out = invariant(c, in);
        if (!IR_SAME(in, out))
            opt_map_set(&c->copies, in, out);
    }
    ir_insert_before(m, c->loop, opt_clone(&c->copies, d->op));
    c->map.o->changes++;
    return opt_map_get(&c->copies, v);
}

/* ---- slices ---------------------------------------------------------------------------------------- */

/* `v` is a reshape of a slice, of size 1 in one dimension and whole in the others, of an invariant array. */
static bool is_slice(const struct distribute *c, ir_val v, struct slices *out) {
    const struct ir_module *m = c->map.o->m;
    ir_op shape = body_op(c, v), op;
    if (IR_NONE(shape) || ir_kind(m, shape) != IR_RESHAPE || IR_NONE(op = body_op(c, ir_operand(m, shape, 0))) ||
        ir_kind(m, op) != IR_DYNAMIC_SLICE || !is_invariant(c, ir_operand(m, op, 0), 0))
        return false;
    const struct ir_type_data *from = ir_val_type(m, ir_operand(m, op, 0)), *part = ir_val_type(m, ir_result(m, op, 0));
    const struct ir_type_data *t = ir_val_type(m, v);
    bool found = false;
    for (uint32_t i = 0; i < from->rank; i++)
        if (part->dims[i] != from->dims[i]) {
            if (found || part->dims[i] != 1 || from->dims[i] != c->trips)
                return false;
            found = true;
            out->dim = i;
        }
    bool dropped = found && t->rank + 1 == from->rank; /* else the array can be reshaped if it is sliced along dimension 0 */
    for (uint32_t i = 0; i < t->rank && dropped; i++)
        dropped = t->dims[i] == from->dims[i + (i >= out->dim)];
    if (!found || (!dropped && out->dim != 0))
        return false;
    out->index = ir_operand(m, op, 1 + out->dim);
    return opt_loop_covers(m, c->loop, out->index, c->trips, &out->scale, &out->plus);
}

static bool find_slices(const struct distribute *c, ir_val v, int depth, struct slices *out);

/* An elementwise op of slices at one place and of invariant values. */
static bool find_elementwise(const struct distribute *c, ir_op op, int depth, struct slices *out) {
    const struct ir_module *m = c->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    const struct ir_type_data *t = ir_val_type(m, ir_result(m, op, 0));
    bool found = false;
    for (uint32_t i = 0; i < x->noperands; i++) {
        const struct ir_type_data *in = ir_val_type(m, x->operands[i]);
        struct slices one;
        if (in->rank != t->rank)
            return false;
        if (is_invariant(c, x->operands[i], DISTRIBUTE_DEPTH))
            continue;
        if (!find_slices(c, x->operands[i], depth, &one) ||
            (found && (one.dim != out->dim || one.scale != out->scale || one.plus != out->plus)))
            return false;
        *out = one;
        found = true;
    }
    return found;
}

/* Whether the value is a slice of an array that can be had before the loop, and which. */
static bool find_slices(const struct distribute *c, ir_val v, int depth, struct slices *out) {
    const struct ir_module *m = c->map.o->m;
    ir_op op = body_op(c, v);
    if (IR_NONE(op) || !is_plain(c, v))
        return false;
    if (is_slice(c, v, out))
        return true;
    const struct ir_op_data *x = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    if (depth == 0 || x->nresults != 1 || x->nregions || !is_copied(kind))
        return false;
    if (kind == IR_TRANSPOSE)
        return find_slices(c, x->operands[0], depth - 1, out);
    return ir_op_has(kind, IR_T_ELEMENTWISE) && find_elementwise(c, op, depth - 1, out);
}

/* An invariant value in the type of the array whose slices have its type. */
static ir_val spread(struct distribute *c, ir_val v, ir_type array, uint32_t dim) {
    struct ir_module *m = c->map.o->m;
    uint32_t rank = ir_val_type(m, v)->rank;
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i + (i >= dim);
    ir_type type = ir_type_with_dims(m, ir_val_get(m, v)->type, ir_type_get(m, array)->dims, rank + 1);
    ir_op op = op_before(c, c->loop, IR_BROADCAST_IN_DIM, &v, 1, type);
    ir_set_prop(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(m, dims, rank));
    return ir_result(m, op, 0);
}

/* The array of which `v`, as found, is a slice. */
static ir_val array_of(struct distribute *c, ir_val v, uint32_t dim) {
    struct ir_module *m = c->map.o->m;
    ir_val known = opt_map_get(&c->copies, v);
    if (!IR_SAME(known, v))
        return known;
    ir_op op = body_op(c, v);
    ir_type type = array_type(c, v, dim);
    struct slices at;
    ir_val out;
    if (is_slice(c, v, &at)) {
        out = reshaped(c, c->loop, invariant(c, ir_operand(m, body_op(c, ir_operand(m, op, 0)), 0)), type);
    } else if (ir_kind(m, op) == IR_TRANSPOSE) {
        size_t n;
        const int64_t *perm = ir_prop_i64s(m, op, IR_TRANSPOSE_permutation, &n);
        int64_t all[IR_MAX_RANK];
        for (uint32_t i = 0, k = 0; i <= n; i++)
            all[i] = i == dim ? dim : perm[k] + (perm[k] >= dim), k += i != dim;
        ir_val in = array_of(c, ir_operand(m, op, 0), dim);
        op = op_before(c, c->loop, IR_TRANSPOSE, &in, 1, type);
        ir_set_prop(m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(m, all, (uint32_t)n + 1));
        out = ir_result(m, op, 0);
    } else {
        uint32_t n = ir_op_get(m, op)->noperands;
        ir_val *in = ARENA_ARRAY(&c->map.o->scratch, ir_val, n);
        for (uint32_t i = 0; i < n; i++) {
            ir_val x = ir_operand(m, op, i);
            in[i] = is_invariant(c, x, DISTRIBUTE_DEPTH) ? spread(c, invariant(c, x), type, dim) : array_of(c, x, dim);
        }
        out = remade(c, c->loop, op, in, type);
    }
    opt_map_set(&c->copies, v, out);
    return out;
}

/* The slice of an array of this iteration, in the body before `at`. */
static ir_val slice_of(struct distribute *c, ir_op at, ir_val array, const struct slices *s, ir_type type) {
    struct ir_module *m = c->map.o->m;
    const struct ir_type_data *t = ir_val_type(m, array);
    ir_val in[IR_MAX_RANK + 1], zero = zeros(c, at, ir_val_get(m, s->index)->type);
    int64_t sizes[IR_MAX_RANK];
    uint32_t rank = t->rank;
    in[0] = array;
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = i == s->dim ? 1 : t->dims[i];
        in[1 + i] = i == s->dim ? s->index : zero;
    }
    ir_op op = op_before(c, at, IR_DYNAMIC_SLICE, in, rank + 1, with_dim(c, type, s->dim, 1));
    ir_set_prop(m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(m, sizes, rank));
    return reshaped(c, at, ir_result(m, op, 0), type);
}

/* ---- products ------------------------------------------------------------------------------------ */

enum { BATCH, CONTRACTED };
static const enum ir_field_slot fields[2][2] = {
    {IR_DOT_lhs_batching_dimensions_F, IR_DOT_lhs_contracting_dimensions_F},
    {IR_DOT_rhs_batching_dimensions_F, IR_DOT_rhs_contracting_dimensions_F},
};

static const int64_t *dot_dims(const struct ir_module *m, ir_op op, uint32_t which, int list, size_t *n) {
    return ir_field_dims(m, ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers), fields[which][list], n);
}

/* The dimension of the result that a new free dimension of an operand, before its dimension `dim`, becomes. */
static uint32_t result_dim(const struct ir_module *m, ir_op op, uint32_t which, uint32_t dim) {
    uint32_t at = 0;
    for (uint32_t side = 0; side <= which; side++) {
        const struct ir_type_data *t = ir_val_type(m, ir_operand(m, op, side));
        bool taken[IR_MAX_RANK] = {false};
        for (int list = BATCH; list <= CONTRACTED; list++) {
            size_t n;
            const int64_t *dims = dot_dims(m, op, side, list, &n);
            for (size_t i = 0; i < n; i++)
                taken[dims[i]] = true;
            at += list == BATCH && side == 0 ? (uint32_t)n : 0;
        }
        for (uint32_t i = 0; i < (side == which ? dim : t->rank); i++)
            at += !taken[i];
    }
    return at;
}

/* The product of operands with new dimensions (`dims`, -1 = none), which are contracted when both have one. */
static ir_val product(struct distribute *c, ir_op at, ir_op op, const ir_val in[2], const int64_t dims[2], ir_type type) {
    struct ir_module *m = c->map.o->m;
    ir_val out = remade(c, at, op, in, type);
    ir_attr numbers = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers), parts[4];
    memcpy(parts, ir_attr_get(m, numbers)->items, sizeof parts);
    for (uint32_t side = 0; side < 2; side++)
        for (int list = BATCH; list <= CONTRACTED; list++) {
            size_t n;
            const int64_t *old = dot_dims(m, op, side, list, &n);
            int64_t all[IR_MAX_RANK + 1];
            uint32_t count = 0;
            if (list == CONTRACTED && dims[0] >= 0 && dims[1] >= 0)
                all[count++] = dims[side];
            for (size_t i = 0; i < n; i++)
                all[count++] = old[i] + (dims[side] >= 0 && old[i] >= dims[side]);
            parts[2 * list + (int)side] = ir_attr_i64s(m, all, count);
        }
    ir_set_prop(m, ir_val_get(m, out)->op, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(m, IR_STRUCT_DOT, parts));
    return out;
}

static bool is_product(const struct distribute *c, ir_op op) {
    return !IR_NONE(op) && ir_kind(c->map.o->m, op) == IR_DOT_GENERAL && is_plain(c, ir_operand(c->map.o->m, op, 0)) &&
           is_plain(c, ir_operand(c->map.o->m, op, 1)) && is_plain(c, ir_result(c->map.o->m, op, 0));
}

/* What an iteration stores is less than what it need not read any more, and that is much. */
static bool is_worth(size_t stores, size_t reads) {
    return stores <= reads && reads > DISTRIBUTE_LEAST;
}

/* ---- before the loop ------------------------------------------------------------------------------- */

/* A product of slices and an invariant value, which is read in each iteration. */
static bool hoist_product(struct distribute *c, ir_op op) {
    struct ir_module *m = c->map.o->m;
    ir_val result = ir_result(m, op, 0);
    for (uint32_t which = 0; which < 2; which++) {
        struct slices at, of;
        ir_val v = ir_operand(m, op, which), other = ir_operand(m, op, 1 - which), in[2];
        if (!is_invariant(c, other, DISTRIBUTE_DEPTH) || !find_slices(c, v, DISTRIBUTE_DEPTH, &at) ||
            !is_worth(bytes_of(c, result), bytes_of(c, other)) || !take_bytes(c, result))
            continue;
        in[which] = array_of(c, v, at.dim);
        in[1 - which] = invariant(c, other);
        int64_t dims[2] = {-1, -1};
        dims[which] = at.dim;
        of = at;
        of.dim = result_dim(m, op, which, at.dim);
        ir_val array = product(c, c->loop, op, in, dims, array_type(c, result, of.dim));
        ir_val slice = slice_of(c, op, array, &of, ir_val_get(m, result)->type);
        opt_replace(&c->map, op, &slice);
        return true;
    }
    return false;
}

/* Whether sums of this type may be added in another order: of integers, and of floats that are not rounded to few bits. */
static bool may_regroup(const struct distribute *c, ir_val v) {
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(c->map.o->m, v)->dtype);
    return t->cls == IR_SINT || t->cls == IR_UINT || (t->cls == IR_FLOAT && t->bits >= 32);
}

/* Rows or columns [begin, end) of an invariant operand along a contracted dimension. */
static ir_val cut(struct distribute *c, ir_val v, uint32_t dim, int64_t begin, int64_t end) {
    struct ir_module *m = c->map.o->m;
    const struct ir_type_data *t = ir_val_type(m, v);
    int64_t lists[4][IR_MAX_RANK]; /* starts, limits, strides, sizes */
    uint32_t rank = t->rank;
    for (uint32_t i = 0; i < rank; i++) {
        lists[0][i] = i == dim ? begin : 0;
        lists[1][i] = i == dim ? end : t->dims[i];
        lists[2][i] = 1;
        lists[3][i] = lists[1][i] - lists[0][i];
    }
    ir_op op = op_before(c, c->loop, IR_SLICE, &v, 1, ir_type_with_dims(m, ir_val_get(m, v)->type, lists[3], rank));
    ir_set_prop(m, op, IR_SLICE_start_indices, ir_attr_i64s(m, lists[0], rank));
    ir_set_prop(m, op, IR_SLICE_limit_indices, ir_attr_i64s(m, lists[1], rank));
    ir_set_prop(m, op, IR_SLICE_strides, ir_attr_i64s(m, lists[2], rank));
    return ir_result(m, op, 0);
}

/* The values i to end of a concatenation, concatenated, before `at`. */
static ir_val joined(struct distribute *c, ir_op at, ir_op join, uint32_t i, uint32_t end, int64_t *size) {
    struct ir_module *m = c->map.o->m;
    int64_t dim = ir_prop_i64(m, join, IR_CONCATENATE_dimension), dims[IR_MAX_RANK];
    const struct ir_type_data *t = ir_val_type(m, ir_operand(m, join, i));
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    uint32_t rank = t->rank;
    for (uint32_t k = i + 1; k < end; k++)
        dims[dim] += ir_val_type(m, ir_operand(m, join, k))->dims[dim];
    *size = dims[dim];
    if (end == i + 1)
        return ir_operand(m, join, i);
    ir_type type = ir_type_with_dims(m, ir_val_get(m, ir_operand(m, join, i))->type, dims, rank);
    ir_op op = op_before(c, at, IR_CONCATENATE, ir_op_get(m, join)->operands + i, end - i, type);
    ir_set_prop(m, op, IR_CONCATENATE_dimension, ir_attr_i64(m, dim));
    return ir_result(m, op, 0);
}

/* x, h times w, where x are slices: the sum of x times a part of w and h times the other. */
static bool split_product(struct distribute *c, ir_op op) {
    struct ir_module *m = c->map.o->m;
    ir_val result = ir_result(m, op, 0), sum = {0};
    for (uint32_t which = 0; which < 2; which++) {
        size_t n, n2;
        const int64_t *contracted = dot_dims(m, op, which, CONTRACTED, &n);
        const int64_t *others = dot_dims(m, op, 1 - which, CONTRACTED, &n2);
        ir_val other = ir_operand(m, op, 1 - which);
        ir_op join = body_op(c, ir_operand(m, op, which));
        if (n != 1 || IR_NONE(join) || ir_kind(m, join) != IR_CONCATENATE ||
            ir_prop_i64(m, join, IR_CONCATENATE_dimension) != contracted[0] || !is_invariant(c, other, DISTRIBUTE_DEPTH) ||
            !may_regroup(c, result))
            continue;
        uint32_t dim = (uint32_t)others[0], pieces = ir_op_get(m, join)->noperands;
        int64_t rows = ir_val_type(m, other)->dims[dim];
        size_t row = rows ? bytes_of(c, other) / (size_t)rows : 0; /* bytes of the weights */
        bool *sliced = ARENA_ARRAY(&c->map.o->scratch, bool, pieces), any = false;
        for (uint32_t i = 0; i < pieces; i++) {
            struct slices at;
            ir_val piece = ir_operand(m, join, i);
            sliced[i] = find_slices(c, piece, DISTRIBUTE_DEPTH, &at) &&
                        is_worth(bytes_of(c, result), row * (size_t)ir_val_type(m, piece)->dims[contracted[0]]);
            any = any || sliced[i];
        }
        if (!any)
            continue;
        ir_val whole = invariant(c, other), in[2];
        int64_t begin = 0, size;
        for (uint32_t i = 0, end; i < pieces; i = end, begin += size) {
            for (end = i + 1; end < pieces && !sliced[i] && !sliced[end];)
                end++;
            in[which] = joined(c, op, join, i, end, &size);
            in[1 - which] = cut(c, whole, dim, begin, begin + size);
            ir_val term = remade(c, op, op, in, ir_val_get(m, result)->type);
            ir_op product_op = ir_val_get(m, term)->op;
            if (sliced[i] && hoist_product(c, product_op))
                term = opt_map_get(&c->map, term);
            if (IR_NONE(sum)) {
                sum = term;
                continue;
            }
            ir_val both[2] = {sum, term};
            sum = ir_result(m, op_before(c, op, IR_ADD, both, 2, ir_val_get(m, result)->type), 0);
        }
        opt_replace(&c->map, op, &sum);
        return true;
    }
    return false;
}

/* ---- after the loop -------------------------------------------------------------------------------- */

/* The number, from 1, of the array in which the loop stores `v` at a place; 0 when it would be too large. */
static uint32_t store(struct distribute *c, ir_val v, const struct slices *at) {
    for (uint32_t i = 0; i < c->stored.n; i++)
        if (IR_SAME(c->stored.v[i].v, v) && c->stored.v[i].at.scale == at->scale && c->stored.v[i].at.plus == at->plus)
            return i + 1;
    if (!is_plain(c, v) || !take_bytes(c, v))
        return 0;
    struct stored s = {v, *at};
    s.at.dim = 0;
    ARENA_PUSH(&c->map.o->scratch, &c->stored, s);
    return c->stored.n;
}

/* The value is needed once in the body, by what looks at it. */
static bool once(const struct distribute *c, ir_val v) {
    return opt_uses_in(c->map.o->m, c->body, v) == 1;
}

/* What is stored in an array of the results of an invariant product: the array of its other operand is stored instead, if that
   is not more than what the product reads. */
static void sink_stacked(struct distribute *c, uint32_t variable, ir_val next) {
    struct ir_module *m = c->map.o->m;
    ir_op update = body_op(c, next), shape = body_op(c, ir_operand(m, update, 1));
    const struct ir_type_data *all = ir_val_type(m, next);
    struct after x = {.variable = variable};
    struct slices at;
    if (IR_NONE(shape) || ir_kind(m, shape) != IR_RESHAPE || !once(c, ir_result(m, shape, 0)))
        return;
    x.op = body_op(c, ir_operand(m, shape, 0));
    if (!is_product(c, x.op) || !once(c, ir_result(m, x.op, 0)))
        return;
    const struct ir_type_data *part = ir_val_type(m, ir_operand(m, update, 1)), *t = ir_val_type(m, ir_result(m, x.op, 0));
    while (x.dim < all->rank && part->dims[x.dim] == all->dims[x.dim])
        x.dim++;
    bool fits = x.dim < all->rank && all->rank == t->rank + 1 && all->dims[x.dim] == c->trips;
    for (uint32_t i = 0; i < t->rank && fits; i++)
        fits = t->dims[i] == all->dims[i + (i >= x.dim)];
    if (!fits)
        return;
    at.index = ir_operand(m, update, 2 + x.dim);
    if (!opt_loop_covers(m, c->loop, at.index, c->trips, &at.scale, &at.plus))
        return;
    for (uint32_t which = 0; which < 2; which++) {
        ir_val v = ir_operand(m, x.op, which), other = ir_operand(m, x.op, 1 - which);
        if (!is_invariant(c, other, DISTRIBUTE_DEPTH) || is_invariant(c, v, DISTRIBUTE_DEPTH) ||
            !is_worth(bytes_of(c, v), bytes_of(c, other)) || !(x.stored[which] = store(c, v, &at)))
            continue;
        ARENA_PUSH(&c->map.o->scratch, &c->after, x);
        return;
    }
}

/* A place that all iterations together cover: that of the slices among the operands, that where an operand is stored already,
   else the counter. */
static bool common_place(const struct distribute *c, struct after *x, uint32_t n, struct slices *out) {
    const struct ir_module *m = c->map.o->m;
    bool found = false;
    for (uint32_t i = 0; i < n; i++) {
        x->sliced[i] = find_slices(c, ir_operand(m, x->op, i), DISTRIBUTE_DEPTH, &x->at[i]);
        if (x->sliced[i] && found && (x->at[i].scale != out->scale || x->at[i].plus != out->plus))
            x->sliced[i] = false; /* it is stored again, in the other order */
        if (x->sliced[i])
            *out = x->at[i];
        found = found || x->sliced[i];
    }
    for (uint32_t i = 0; i < c->stored.n * n && !found; i++)
        if (IR_SAME(c->stored.v[i / n].v, ir_operand(m, x->op, i % n))) {
            *out = c->stored.v[i / n].at;
            found = true;
        }
    const struct ir_block_data *b = ir_block_get(m, c->body);
    for (uint32_t i = 0; i < b->nargs && !found; i++) {
        const struct ir_type_data *t = ir_val_type(m, b->args[i]);
        out->index = b->args[i];
        found = t->kind == IR_TYPE_TENSOR && t->rank == 0 &&
                opt_loop_covers(m, c->loop, out->index, c->trips, &out->scale, &out->plus);
    }
    return found;
}

/* A constant of zeros. */
static bool is_zero(const struct distribute *c, ir_val v) {
    const struct ir_module *m = c->map.o->m;
    ir_op op = ir_val_get(m, v)->op;
    const struct ir_attr_data *a = !IR_NONE(op) && ir_kind(m, op) == IR_CONSTANT
                                       ? ir_attr_get(m, ir_prop(m, op, IR_CONSTANT_value)) : NULL;
    bool zero = a && a->kind == IR_ATTR_DENSE;
    for (size_t i = 0; zero && i < a->nbytes; i++)
        zero = ((const char *)a->data)[i] == 0;
    return zero;
}

/* Reduces by addition from zero. */
static bool is_sum(const struct distribute *c, ir_op op) {
    const struct ir_module *m = c->map.o->m;
    if (IR_NONE(op) || ir_kind(m, op) != IR_REDUCE || ir_op_get(m, op)->nresults != 1 || !is_plain(c, ir_operand(m, op, 0)) ||
        !is_plain(c, ir_result(m, op, 0)))
        return false;
    ir_block b = ir_region_get(m, ir_op_region(m, op, 0))->first;
    ir_op add = ir_block_get(m, b)->first;
    const ir_val *args = ir_block_get(m, b)->args;
    bool adds = ir_kind(m, add) == IR_ADD && IR_SAME(ir_op_get(m, add)->next, ir_terminator(m, b));
    for (uint32_t i = 0; i < 2 && adds; i++)
        adds = IR_SAME(ir_operand(m, add, i), args[i]) || IR_SAME(ir_operand(m, add, i), args[1 - i]);
    adds = adds && !IR_SAME(ir_operand(m, add, 0), ir_operand(m, add, 1)) &&
           IR_SAME(ir_operand(m, ir_terminator(m, b), 0), ir_result(m, add, 0));
    return adds && is_zero(c, ir_operand(m, op, 1));
}

/* A sum over the iterations of products, or of sums: what it needs is stored, if that is not more than the sum, which is read
   and written. */
static void sink_sum(struct distribute *c, uint32_t variable, ir_val next) {
    struct ir_module *m = c->map.o->m;
    ir_val arg = ir_block_get(m, c->body)->args[variable];
    ir_op add = body_op(c, next), op;
    struct after x = {.variable = variable, .sum = true};
    struct slices at;
    if (IR_NONE(add) || ir_kind(m, add) != IR_ADD || !may_regroup(c, next) || !once(c, arg) || !once(c, next) ||
        opt_uses_in(m, ir_region_get(m, ir_op_region(m, c->loop, 0))->first, arg))
        return;
    uint32_t side = IR_SAME(ir_operand(m, add, 0), arg);
    if (!IR_SAME(ir_operand(m, add, 1 - side), arg))
        return;
    ir_val term = ir_operand(m, add, side);
    while (!IR_NONE(op = body_op(c, term)) && once(c, term) &&
           (ir_kind(m, op) == IR_RESHAPE || (ir_kind(m, op) == IR_ADD && is_zero(c, ir_operand(m, op, 1)))))
        term = ir_operand(m, op, 0);
    x.op = op;
    uint32_t n = is_product(c, op) ? 2 : is_sum(c, op) ? 1 : 0;
    if (!n || !once(c, term) || !common_place(c, &x, n, &at))
        return;
    size_t bytes = 0;
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        ir_val v = ir_operand(m, op, i);
        bool known = x.sliced[i];
        for (uint32_t k = 0; k < c->stored.n && !known; k++)
            known = IR_SAME(c->stored.v[k].v, v);
        all = all && known;
        if (is_invariant(c, v, DISTRIBUTE_DEPTH) || (!known && !mem_add(bytes, bytes_of(c, v), &bytes)))
            return;
    }
    if (!all && !is_worth(bytes, bytes_of(c, next)))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (!x.sliced[i] && !(x.stored[i] = store(c, ir_operand(m, op, i), &at)))
            return;
    ARENA_PUSH(&c->map.o->scratch, &c->after, x);
}

/* ---- another loop ---------------------------------------------------------------------------------- */

/* Moves a block into the loop that has more variables. */
static ir_block move_block(struct distribute *c, ir_op to, uint32_t region) {
    struct ir_module *m = c->map.o->m;
    ir_block old = ir_region_get(m, ir_op_region(m, c->loop, region))->first;
    ir_block fresh = ir_block_new(m, ir_op_region(m, to, region));
    const struct ir_block_data *b = ir_block_get(m, old);
    for (uint32_t i = 0; i < ir_op_get(m, to)->noperands; i++) {
        ir_val arg = ir_block_add_arg(m, fresh, ir_val_get(m, ir_operand(m, to, i))->type);
        if (i >= b->nargs)
            continue;
        ir_set_val_loc(m, arg, ir_val_get(m, b->args[i])->loc);
        opt_map_set(&c->map, b->args[i], arg);
    }
    for (ir_op op; !IR_NONE(op = b->first);) {
        ir_unlink(m, op);
        ir_append(m, fresh, op);
    }
    return fresh;
}

/* Stores the value of this iteration, before the end of the body. */
static ir_val stored_next(struct distribute *c, ir_op end, ir_val array, const struct stored *s) {
    struct ir_module *m = c->map.o->m;
    uint32_t rank = ir_val_type(m, array)->rank;
    ir_val in[IR_MAX_RANK + 2], index = opt_map_get(&c->map, s->at.index), v = opt_map_get(&c->map, s->v);
    ir_val zero = zeros(c, end, ir_val_get(m, index)->type);
    in[0] = array;
    in[1] = reshaped(c, end, v, with_dim(c, ir_val_get(m, v)->type, 0, 1));
    for (uint32_t i = 0; i < rank; i++)
        in[2 + i] = i ? zero : index;
    return ir_result(m, op_before(c, end, IR_DYNAMIC_UPDATE_SLICE, in, rank + 2, ir_val_get(m, array)->type), 0);
}

/* The loop with the stored arrays as further variables. */
static ir_op extended(struct distribute *c) {
    struct ir_module *m = c->map.o->m;
    uint32_t n = ir_op_get(m, c->loop)->noperands, all = n + c->stored.n;
    ir_val *in = ARENA_ARRAY(&c->map.o->scratch, ir_val, all), *next = ARENA_ARRAY(&c->map.o->scratch, ir_val, all);
    ir_type *types = ARENA_ARRAY(&c->map.o->scratch, ir_type, all);
    for (uint32_t i = 0; i < all; i++) {
        in[i] = i < n ? ir_operand(m, c->loop, i) : zeros(c, c->loop, array_type(c, c->stored.v[i - n].v, 0));
        types[i] = ir_val_get(m, in[i])->type;
    }
    ir_op to = opt_remake(c->map.o, c->loop, in, all, types, all);
    ir_insert_before(m, c->loop, to);
    move_block(c, to, 0);
    ir_block body = move_block(c, to, 1);
    ir_op end = ir_terminator(m, body);
    for (uint32_t i = 0; i < all; i++)
        next[i] = i < n ? ir_operand(m, end, i)
                        : stored_next(c, end, ir_block_get(m, body)->args[i], &c->stored.v[i - n]);
    ir_set_operands(m, end, next, all);
    for (uint32_t i = 0; i < n; i++)
        opt_map_set(&c->map, ir_result(m, c->loop, i), ir_result(m, to, i));
    ir_unlink(m, c->loop);
    opt_update_all(&c->map, to);
    return to;
}

/* The dimension `from` of a value becomes its dimension `to`. */
static ir_val moved(struct distribute *c, ir_op at, ir_val v, uint32_t from, uint32_t to, ir_type type) {
    struct ir_module *m = c->map.o->m;
    int64_t perm[IR_MAX_RANK];
    uint32_t rank = ir_val_type(m, v)->rank;
    if (from == to)
        return v;
    for (uint32_t i = 0, k = 0; i < rank; i++)
        if (i == to)
            perm[i] = from;
        else
            k += k == from, perm[i] = k++;
    ir_op op = op_before(c, at, IR_TRANSPOSE, &v, 1, type);
    ir_set_prop(m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(m, perm, rank));
    return ir_result(m, op, 0);
}

/* What the loop stacked or summed up, computed at once. `arrays`: by operand, what it is outside. */
static ir_val computed(struct distribute *c, ir_op at, const struct after *x, const ir_val arrays[2], ir_val first,
                       ir_type type) {
    struct ir_module *m = c->map.o->m;
    ir_val result = ir_result(m, x->op, 0);
    int64_t dims[2] = {-1, -1};
    for (uint32_t i = 0; i < 2; i++)
        dims[i] = x->stored[i] ? 0 : x->sliced[i] ? (int64_t)x->at[i].dim : -1;
    if (!x->sum) {
        uint32_t from = result_dim(m, x->op, x->stored[1] != 0, 0);
        return moved(c, at, product(c, at, x->op, arrays, dims, array_type(c, result, from)), from, x->dim, type);
    }
    ir_val out;
    if (ir_kind(m, x->op) == IR_DOT_GENERAL) {
        out = product(c, at, x->op, arrays, dims, ir_val_get(m, result)->type);
    } else {
        size_t n;
        const int64_t *old = ir_prop_i64s(m, x->op, IR_REDUCE_dimensions, &n);
        int64_t all[IR_MAX_RANK + 1] = {dims[0]};
        ir_val in[2] = {arrays[0], zeros(c, at, ir_val_get(m, ir_operand(m, x->op, 1))->type)};
        for (size_t i = 0; i < n; i++)
            all[i + 1] = old[i] + (old[i] >= dims[0]);
        out = remade(c, at, x->op, in, ir_val_get(m, result)->type);
        ir_set_prop(m, ir_val_get(m, out)->op, IR_REDUCE_dimensions, ir_attr_i64s(m, all, (uint32_t)n + 1));
    }
    ir_val both[2] = {first, reshaped(c, at, out, type)};
    return ir_result(m, op_before(c, at, IR_ADD, both, 2, type), 0);
}

static void sink(struct distribute *c) {
    struct ir_module *m = c->map.o->m;
    const struct ir_op_data *end = ir_op_get(m, ir_terminator(m, c->body));
    const bool *overwritten = opt_loop_overwrites(m, c->loop, &c->map.o->scratch);
    for (uint32_t i = 0; i < end->noperands; i++)
        if (!overwritten[i])
            sink_sum(c, i, end->operands[i]);
    for (uint32_t i = 0; i < end->noperands; i++)
        if (overwritten[i])
            sink_stacked(c, i, end->operands[i]);
    if (!c->after.n)
        return;
    ir_val (*arrays)[2] = arena_alloc(&c->map.o->scratch, c->after.n * sizeof *arrays, sizeof(ir_val));
    for (uint32_t i = 0; i < c->after.n; i++) /* while the operands are still those of the body that was looked at */
        for (uint32_t k = 0; k < (ir_kind(m, c->after.v[i].op) == IR_DOT_GENERAL ? 2 : 1); k++) {
            const struct after *x = &c->after.v[i];
            ir_val v = ir_operand(m, x->op, k);
            if (!x->stored[k])
                arrays[i][k] = x->sliced[k] ? array_of(c, v, x->at[k].dim) : invariant(c, v);
        }
    uint32_t n = ir_op_get(m, c->loop)->noperands;
    ir_op old = c->loop, to = extended(c), next = ir_op_get(m, to)->next;
    for (uint32_t i = 0; i < c->after.n; i++) {
        const struct after *x = &c->after.v[i];
        for (uint32_t k = 0; k < 2; k++)
            if (x->stored[k])
                arrays[i][k] = ir_result(m, to, n + x->stored[k] - 1);
        ir_val result = ir_result(m, old, x->variable);
        opt_map_set(&c->map, result,
                    computed(c, next, x, arrays[i], ir_operand(m, to, x->variable), ir_val_get(m, result)->type));
    }
}

/* ---- loops ------------------------------------------------------------------------------------------- */

static void loop(struct distribute *c, ir_op op) {
    struct opt *o = c->map.o;
    uint64_t trips;
    ir_op next;
    if (!opt_trip_count(o->m, op, &trips) || trips < 2 || trips > INT32_MAX)
        return;
    c->loop = op;
    c->body = ir_region_get(o->m, ir_op_region(o->m, op, 1))->first;
    c->trips = (int64_t)trips;
    c->bytes = DISTRIBUTE_BYTES;
    c->copies = opt_map_new(o);
    c->stored.n = c->after.n = 0;
    for (ir_op in = ir_block_get(o->m, c->body)->first; !IR_NONE(in); in = next) {
        next = ir_op_get(o->m, in)->next;
        opt_update_all(&c->map, in);
        if (is_product(c, in) && !hoist_product(c, in))
            split_product(c, in);
    }
    sink(c);
}

static void visit(struct distribute *c, ir_region r) {
    const struct ir_module *m = c->map.o->m;
    ir_op next;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = next) {
            opt_update(&c->map, op);
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                visit(c, ir_op_region(m, op, i));
            next = ir_op_get(m, op)->next;
            if (ir_kind(m, op) == IR_WHILE)
                loop(c, op);
        }
}

hilo_status opt_distribute(struct opt *o) {
    struct distribute c = {.map = opt_map_new(o)};
    visit(&c, ir_op_region(o->m, o->m->root, 0));
    return HILO_OK;
}
