/* Random programs: see random_graph.h. Each maker adds an op, or a few, of one kind to the program, or returns false where
 * what there is does not allow it. */
#include "random_graph_maker.h"

/* ---- elementwise ----------------------------------------------------------------------------- */

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

/* Functions within some ulp of exact operands. */
static bool function(struct maker *k, const struct node *x) {
    static const enum ir_op_kind kinds[] = {
        IR_TANH, IR_LOGISTIC, IR_SINE, IR_COSINE, IR_EXPONENTIAL, IR_EXPONENTIAL_MINUS_ONE, IR_ERF, IR_CBRT, IR_RSQRT,
        IR_LOG, IR_LOG_PLUS_ONE, IR_TAN, IR_ATAN, IR_ASINH,
    };
    const struct ir_dtype_info *t = info(k, x->v);
    enum ir_op_kind kind = kinds[take(k, COUNT(kinds))];
    double m = x->b.mag, e = error_of(x), ulp = ulp_of(t);
    struct graph_bound b = {INFINITY, 4 * ulp, small_of(t)};
    bool flat = kind == IR_TANH || kind == IR_LOGISTIC || kind == IR_SINE || kind == IR_COSINE, exp = kind == IR_EXPONENTIAL;
    if (t->bits < 16)
        return false;
    if (flat && isfinite(m))
        b.mag = 1;
    if (exp && m < 20)
        b.mag = ceil(expf((float)m));
    if (kind == IR_ERF || kind == IR_ATAN)
        b.mag = isfinite(m) ? 2 : INFINITY;
    if (!exact(x)) {
        if (!isfinite(b.mag) || !(flat || (exp && m < 6)))
            return false;
        b.abs += e * (exp ? b.mag * 2 : 1);
    }
    push(k, result(k, make1(k, kind, &x->v, 1, type_of(k, x->v))), b);
    return true;
}

static bool unary(struct maker *k) {
    static const enum ir_op_kind ints[] = {IR_NOT, IR_NEGATE, IR_POPCNT, IR_COUNT_LEADING_ZEROS, IR_ABS, IR_SIGN};
    static const enum ir_op_kind floats[] = {
        IR_NEGATE, IR_ABS, IR_CEIL, IR_FLOOR, IR_ROUND_NEAREST_AFZ, IR_ROUND_NEAREST_EVEN, IR_SIGN, IR_SQRT, IR_IS_FINITE,
    };
    const struct node *x = any(k);
    struct graph_bound b = x->b;
    enum ir_op_kind kind;
    if (is_float(k, x->v)) {
        uint32_t which = take(k, COUNT(floats) + 6);
        if (which >= COUNT(floats))
            return function(k, x);
        kind = floats[exact(x) ? which : which % 2];
        if (which > 1)
            b.mag = kind == IR_SQRT ? INFINITY : b.mag + 1;
    } else if (is_complex(k, x->v)) {
        kind = IR_NEGATE;
    } else {
        kind = is_pred(k, x->v) ? IR_NOT : ints[take(k, info(k, x->v)->cls == IR_SINT ? 6 : 4)];
        b.mag = INFINITY;
    }
    ir_type out = kind == IR_IS_FINITE ? with_dtype(k, x->v, IR_I1_T) : type_of(k, x->v);
    push(k, result(k, make1(k, kind, &x->v, 1, out)), b);
    return true;
}

/* The bound of a float operation; false where it must not be. */
static bool arithmetic(const struct maker *k, enum ir_op_kind kind, const struct node *x, const struct node *y,
                       struct graph_bound *b) {
    double ulp = ulp_of(info(k, x->v)) * (is_complex(k, x->v) ? 4 : 1), mx = x->b.mag, my = y->b.mag;
    bool both = exact(x) && exact(y) && !(is_complex(k, x->v) && kind == IR_MULTIPLY);
    *b = (struct graph_bound){INFINITY, 0, 0};
    switch (kind) {
    case IR_ADD:
    case IR_SUBTRACT: b->mag = mx + my; break;
    case IR_MULTIPLY: b->mag = mx * my * (is_complex(k, x->v) ? 2 : 1); break;
    case IR_MAXIMUM:
    case IR_MINIMUM: b->mag = fmax(mx, my); break;
    case IR_REMAINDER:
    case IR_DIVIDE: return both;
    case IR_ATAN2:
        *b = (struct graph_bound){isfinite(mx + my) ? 4 : INFINITY, 4 * ulp, small_of(info(k, x->v))};
        return both && info(k, x->v)->bits >= 16;
    default: return false;
    }
    if (both)
        return true;
    if (!isfinite(b->mag) || b->mag >= most_of(info(k, x->v)) / 4)
        return false;
    double ex = error_of(x), ey = error_of(y);
    if (kind == IR_MULTIPLY)
        *b = (struct graph_bound){b->mag, 0, 2 * (ex * my + ey * mx + ex * ey) + 4 * ulp * b->mag};
    else
        *b = (struct graph_bound){b->mag, kind == IR_MAXIMUM || kind == IR_MINIMUM ? 0 : ulp, ex + ey};
    return true;
}

static bool binary(struct maker *k) {
    static const enum ir_op_kind ints[] = {
        IR_ADD, IR_SUBTRACT, IR_MULTIPLY, IR_MAXIMUM, IR_MINIMUM, IR_DIVIDE, IR_REMAINDER, IR_AND, IR_OR, IR_XOR, IR_SHIFT_LEFT,
        IR_SHIFT_RIGHT_LOGICAL, IR_SHIFT_RIGHT_ARITHMETIC, IR_POWER,
    };
    static const enum ir_op_kind preds[] = {IR_AND, IR_OR, IR_XOR, IR_MAXIMUM, IR_MINIMUM, IR_ADD, IR_MULTIPLY};
    static const enum ir_op_kind floats[] = {
        IR_ADD, IR_SUBTRACT, IR_MULTIPLY, IR_MAXIMUM, IR_MINIMUM, IR_DIVIDE, IR_REMAINDER, IR_ATAN2,
    };
    struct node x = *any(k), y = *like(k, type_of(k, x.v));
    struct graph_bound b = {INFINITY, 0, 0};
    enum ir_op_kind kind;
    if (is_float(k, x.v))
        kind = floats[take(k, COUNT(floats))];
    else if (is_complex(k, x.v))
        kind = floats[take(k, 3)];
    else
        kind = is_pred(k, x.v) ? preds[take(k, COUNT(preds))] : ints[take(k, COUNT(ints))];
    if ((is_float(k, x.v) || is_complex(k, x.v)) && !arithmetic(k, kind, &x, &y, &b))
        return false;
    push(k, result(k, make1(k, kind, (ir_val[]){x.v, y.v}, 2, type_of(k, x.v))), b);
    return true;
}

static bool compare(struct maker *k) {
    struct node *x = find(k, t_exact);
    if (!x || is_complex(k, x->v))
        return false;
    ir_val v = x->v;
    struct node *y = like(k, type_of(k, v));
    if (!exact(y))
        return false;
    ir_op op = make1(k, IR_COMPARE, (ir_val[]){v, y->v}, 2, with_dtype(k, v, IR_I1_T));
    ir_set_prop(k->m, op, IR_COMPARE_comparison_direction, ir_attr_enum(k->m, IR_ENUM_COMPARISON_DIRECTION, take(k, 6)));
    push(k, result(k, op), (struct graph_bound){1, 0, 0});
    return true;
}

static bool select_(struct maker *k) {
    struct node *p = find(k, t_pred);
    if (!p)
        return false;
    ir_val pred = p->v;
    struct node x = *any(k);
    if (shape(k, pred)->rank)
        x = *like(k, with_dtype(k, pred, shape(k, x.v)->dtype));
    struct node y = *like(k, type_of(k, x.v));
    push(k, result(k, make1(k, IR_SELECT, (ir_val[]){pred, x.v, y.v}, 3, type_of(k, x.v))), either(x.b, y.b));
    return true;
}

static bool clamp(struct maker *k) {
    struct node x = *any(k);
    if (is_complex(k, x.v) || is_pred(k, x.v))
        return false;
    ir_val low = splat(k, scalar_of(k, x.v), 1), high = splat(k, scalar_of(k, x.v), info(k, x.v)->bits < 4 ? 1 : 3);
    struct graph_bound b = {isfinite(x.b.mag) ? 3 : INFINITY, 0, error_of(&x)};
    if (!exact(&x) && !isfinite(x.b.mag))
        return false;
    push(k, result(k, make1(k, IR_CLAMP, (ir_val[]){low, x.v, high}, 3, type_of(k, x.v))), b);
    return true;
}

static const enum ir_dtype dtypes[] = { /* the first ones more often */
    IR_F32_T, IR_F32_T, IR_I32_T, IR_F32_T, IR_BF16_T, IR_F16_T, IR_F64_T, IR_I64_T, IR_I8_T, IR_UI8_T, IR_I16_T, IR_UI16_T,
    IR_UI32_T, IR_UI64_T, IR_I1_T, IR_I4_T, IR_UI4_T, IR_F8E4M3FN_T, IR_F8E5M2_T,
};

static bool convert(struct maker *k) {
    struct node x = *any(k);
    enum ir_dtype to = dtypes[take(k, COUNT(dtypes))];
    const struct ir_dtype_info *t = ir_dtype_get(to);
    struct graph_bound b = x.b;
    if (is_complex(k, x.v))
        return false;
    if (t->cls == IR_SINT && is_float(k, x.v) && !(exact(&x) && x.b.mag < ldexp(1, (int)t->bits - 1)))
        return false;
    if ((t->cls == IR_UINT || t->cls == IR_PRED) && is_float(k, x.v) &&
        !(t->cls == IR_PRED && exact(&x) && isfinite(x.b.mag)))
        return false;
    if (!exact(&x)) {
        if (!isfinite(x.b.mag) || x.b.mag >= most_of(t) / 4)
            return false;
        b.rel += 2 * ulp_of(t);
        b.abs += ldexp(1, -fp_get(t->fp)->bias - fp_get(t->fp)->man_bits);
    }
    push(k, result(k, make1(k, IR_CONVERT, &x.v, 1, with_dtype(k, x.v, to))), b);
    return true;
}

static bool parts(struct maker *k) {
    struct node *z = find(k, t_complex);
    if (z && take(k, 2)) {
        struct node x = *z;
        ir_type out = with_dtype(k, x.v, shape(k, x.v)->dtype == IR_C64_T ? IR_F32_T : IR_F64_T);
        push(k, result(k, make1(k, take(k, 2) ? IR_REAL : IR_IMAG, &x.v, 1, out)), x.b);
        return true;
    }
    struct node *f = find(k, t_float);
    if (!f || (shape(k, f->v)->dtype != IR_F32_T && shape(k, f->v)->dtype != IR_F64_T))
        return false;
    struct node x = *f, y = *like(k, type_of(k, x.v));
    ir_type out = with_dtype(k, x.v, shape(k, x.v)->dtype == IR_F32_T ? IR_C64_T : IR_C128_T);
    push(k, result(k, make1(k, IR_COMPLEX, (ir_val[]){x.v, y.v}, 2, out)), either(x.b, y.b));
    return true;
}

/* ---- movement -------------------------------------------------------------------------------- */

static bool reshape(struct maker *k) {
    struct node x = *any(k);
    const struct ir_type_data *t = shape(k, x.v);
    int64_t dims[GRAPH_RANK + 1], n = count_of(t);
    uint32_t rank = 0;
    if (take(k, 2) || t->rank == 0) { /* in one piece, or cut where it can be */
        int64_t cut = take(k, 2) && n % 2 == 0 && n ? 2 : 1;
        if (take(k, 2))
            dims[rank++] = 1;
        dims[rank++] = cut;
        dims[rank++] = n / cut;
    } else { /* two neighbours in one */
        uint32_t at = take(k, t->rank);
        for (uint32_t i = 0; i < t->rank; i++)
            if (i == at && i > 0)
                dims[rank - 1] *= t->dims[i];
            else
                dims[rank++] = t->dims[i];
    }
    ir_type out = with_dims(k, type_of(k, x.v), dims, rank);
    if (IR_NONE(out))
        return false;
    push(k, result(k, make1(k, IR_RESHAPE, &x.v, 1, out)), x.b);
    return true;
}

static void shuffle(struct maker *k, int64_t *p, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        p[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = take(k, i);
        int64_t other = p[j];
        p[j] = p[i - 1];
        p[i - 1] = other;
    }
}

static bool transpose(struct maker *k) {
    struct node x = *any(k);
    const struct ir_type_data *t = shape(k, x.v);
    int64_t p[GRAPH_RANK], dims[GRAPH_RANK];
    shuffle(k, p, t->rank);
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[p[i]];
    ir_op op = make1(k, IR_TRANSPOSE, &x.v, 1, ir_type_with_dims(k->m, type_of(k, x.v), dims, t->rank));
    set_i64s(k, op, IR_TRANSPOSE_permutation, p, t->rank);
    push(k, result(k, op), x.b);
    return true;
}

static int64_t size(struct maker *k) {
    static const int64_t sizes[] = {2, 3, 1, 8, 5, 16, 7, 4, 33, 17, 64, 130, 0};
    return sizes[take(k, take(k, 4) ? 8 : COUNT(sizes))];
}

static bool broadcast(struct maker *k) {
    struct node x = *any(k);
    const struct ir_type_data *t = shape(k, x.v);
    int64_t dims[GRAPH_RANK + 2], map[GRAPH_RANK];
    uint32_t rank = 0, added = 0;
    for (uint32_t i = 0; i <= t->rank; i++) {
        if (take(k, 3) == 0 && added++ < 2)
            dims[rank++] = size(k);
        if (i == t->rank)
            break;
        map[i] = rank;
        dims[rank++] = t->dims[i] == 1 && take(k, 2) ? size(k) : t->dims[i];
    }
    ir_type out = with_dims(k, type_of(k, x.v), dims, rank);
    if (IR_NONE(out))
        return false;
    ir_op op = make1(k, IR_BROADCAST_IN_DIM, &x.v, 1, out);
    set_i64s(k, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, map, t->rank);
    push(k, result(k, op), x.b);
    return true;
}

static bool slice(struct maker *k) {
    struct node x = *any(k);
    const struct ir_type_data *t = shape(k, x.v);
    int64_t start[GRAPH_RANK], limit[GRAPH_RANK], stride[GRAPH_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        start[i] = take(k, 2) ? (int64_t)take(k, (uint32_t)t->dims[i] + 1) : 0;
        limit[i] = take(k, 2) ? start[i] + (int64_t)take(k, (uint32_t)(t->dims[i] - start[i]) + 1) : t->dims[i];
        stride[i] = take(k, 3) == 2 ? 1 + take(k, 3) : 1;
    }
    ir_op op = make1(k, IR_SLICE, &x.v, 1, type_of(k, x.v));
    set_i64s(k, op, IR_SLICE_start_indices, start, t->rank);
    set_i64s(k, op, IR_SLICE_limit_indices, limit, t->rank);
    set_i64s(k, op, IR_SLICE_strides, stride, t->rank);
    if (!infer(k, op))
        return false;
    push(k, result(k, op), x.b);
    return true;
}

static bool pad(struct maker *k) {
    struct node x = *any(k), v = *like(k, scalar_of(k, x.v));
    const struct ir_type_data *t = shape(k, x.v);
    int64_t low[GRAPH_RANK], high[GRAPH_RANK], inside[GRAPH_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        low[i] = (int64_t)take(k, 5) - 1;
        high[i] = (int64_t)take(k, 5) - 1;
        inside[i] = take(k, 3) == 2 ? take(k, 3) : 0;
    }
    ir_op op = make1(k, IR_PAD, (ir_val[]){x.v, v.v}, 2, type_of(k, x.v));
    set_i64s(k, op, IR_PAD_edge_padding_low, low, t->rank);
    set_i64s(k, op, IR_PAD_edge_padding_high, high, t->rank);
    set_i64s(k, op, IR_PAD_interior_padding, inside, t->rank);
    if (!infer(k, op))
        return false;
    push(k, result(k, op), either(x.b, v.b));
    return true;
}

static bool concatenate(struct maker *k) {
    struct node *found = find(k, t_ranked);
    if (!found)
        return false;
    struct node x = *found;
    ir_val in[3] = {x.v, x.v, x.v};
    struct graph_bound b = x.b;
    uint32_t n = 1 + take(k, 3), dim = take(k, shape(k, x.v)->rank);
    for (uint32_t i = 1; i < n; i++) {
        struct node y = *like(k, type_of(k, x.v));
        in[i] = y.v;
        b = either(b, y.b);
    }
    ir_op op = make1(k, IR_CONCATENATE, in, n, type_of(k, x.v));
    set_i64(k, op, IR_CONCATENATE_dimension, dim);
    if (!infer(k, op))
        return false;
    push(k, result(k, op), b);
    return true;
}

static bool reverse(struct maker *k) {
    struct node x = *any(k);
    int64_t dims[GRAPH_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < shape(k, x.v)->rank; i++)
        if (take(k, 2))
            dims[n++] = i;
    ir_op op = make1(k, IR_REVERSE, &x.v, 1, type_of(k, x.v));
    set_i64s(k, op, IR_REVERSE_dimensions, dims, n);
    push(k, result(k, op), x.b);
    return true;
}

/* Scalar integers for the places of dynamic slices. */
static void places(struct maker *k, uint32_t rank, ir_val *out) {
    static const enum ir_dtype kinds[] = {IR_I32_T, IR_I64_T, IR_UI8_T};
    ir_type t = ir_type_of(k->m, kinds[take(k, COUNT(kinds))], NULL, 0);
    for (uint32_t i = 0; i < rank; i++) {
        struct node *x = take(k, 2) ? find_type(k, t) : NULL;
        out[i] = x ? x->v : splat(k, t, take(k, 6));
    }
}

static bool dynamic_slice(struct maker *k) {
    struct node x = *any(k);
    const struct ir_type_data *t = shape(k, x.v);
    int64_t sizes[GRAPH_RANK];
    ir_val in[2 + GRAPH_RANK] = {x.v};
    bool update = take(k, 2);
    for (uint32_t i = 0; i < t->rank; i++)
        sizes[i] = take(k, 2) ? (int64_t)take(k, (uint32_t)t->dims[i] + 1) : t->dims[i];
    ir_type part = ir_type_with_dims(k->m, type_of(k, x.v), sizes, t->rank);
    if (update) {
        struct node y = *like(k, part);
        in[1] = y.v;
        places(k, t->rank, in + 2);
        push(k, result(k, make1(k, IR_DYNAMIC_UPDATE_SLICE, in, 2 + t->rank, type_of(k, x.v))), either(x.b, y.b));
        return true;
    }
    places(k, t->rank, in + 1);
    ir_op op = make1(k, IR_DYNAMIC_SLICE, in, 1 + t->rank, part);
    set_i64s(k, op, IR_DYNAMIC_SLICE_slice_sizes, sizes, t->rank);
    push(k, result(k, op), x.b);
    return true;
}

static bool iota(struct maker *k) {
    int64_t dims[3];
    uint32_t rank = 1 + take(k, 3);
    enum ir_dtype t = dtypes[take(k, 14)];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = size(k);
    uint32_t dim = take(k, rank);
    ir_type type = with_dims(k, ir_type_of(k->m, t, NULL, 0), dims, rank);
    if (IR_NONE(type) || t == IR_I1_T || (double)dims[dim] > most_of(ir_dtype_get(t)) / 4)
        return false;
    ir_op op = make1(k, IR_IOTA, NULL, 0, type);
    set_i64(k, op, IR_IOTA_iota_dimension, dim);
    push(k, result(k, op), (struct graph_bound){(double)dims[dim], 0, 0});
    return true;
}

/* ---- indexed access -------------------------------------------------------------------------- */

/* Indices of entries along a dimension, and what is taken there: whole entries, by their number. */
static ir_attr numbers(struct maker *k, enum ir_struct kind, uint32_t rank, uint32_t dim, uint32_t nindex) {
    int64_t window[GRAPH_RANK], one = dim;
    ir_attr fields[8] = {{0}};
    uint32_t n = 0;
    for (uint32_t i = 0; i + 1 < rank; i++)
        window[n++] = nindex + i;
    ir_attr none = ir_attr_i64s(k->m, NULL, 0);
    fields[0] = ir_attr_i64s(k->m, window, n);
    fields[1] = ir_attr_i64s(k->m, &one, 1);
    fields[2] = fields[3] = none;
    fields[4] = fields[1];
    fields[5] = ir_attr_i64(k->m, nindex);
    return ir_attr_struct(k->m, kind, fields);
}

static bool gather(struct maker *k) {
    struct node *found = find(k, t_ranked), *where = find(k, t_index);
    if (!found || !where)
        return false;
    struct node x = *found;
    ir_val index = where->v;
    const struct ir_type_data *t = shape(k, x.v);
    uint32_t dim = take(k, t->rank);
    int64_t sizes[GRAPH_RANK];
    if (t->dims[dim] == 0 || shape(k, index)->rank + t->rank > GRAPH_RANK)
        return false;
    memcpy(sizes, t->dims, t->rank * sizeof *sizes);
    sizes[dim] = 1;
    ir_op op = make1(k, IR_GATHER, (ir_val[]){x.v, index}, 2, type_of(k, x.v));
    ir_set_prop(k->m, op, IR_GATHER_dimension_numbers, numbers(k, IR_STRUCT_GATHER, t->rank, dim, shape(k, index)->rank));
    set_i64s(k, op, IR_GATHER_slice_sizes, sizes, t->rank);
    if (!infer(k, op))
        return false;
    push(k, result(k, op), x.b);
    return true;
}

static bool scatter(struct maker *k) {
    struct node *found = find(k, t_ranked), *where = find(k, t_index);
    if (!found || !where || is_complex(k, found->v))
        return false;
    struct node x = *found;
    ir_val index = where->v;
    const struct ir_type_data *t = shape(k, x.v), *it = shape(k, index);
    uint32_t dim = take(k, t->rank), rank = it->rank;
    int64_t dims[2 * GRAPH_RANK];
    if (rank + t->rank > GRAPH_RANK)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = it->dims[i];
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != dim)
            dims[rank++] = t->dims[i];
    ir_type updates = with_dims(k, type_of(k, x.v), dims, rank);
    if (IR_NONE(updates))
        return false;
    struct node y = *like(k, updates);
    static const enum ir_op_kind kinds[] = {IR_ADD, IR_MAXIMUM, IR_MINIMUM};
    enum ir_op_kind kind = kinds[take(k, COUNT(kinds))];
    struct graph_bound b = either(x.b, y.b);
    if (is_float(k, x.v) && kind == IR_ADD) {
        double n = 1 + (double)count_of(it), m = n * b.mag;
        if (!isfinite(b.mag) || m >= most_of(info(k, x.v)) / 4)
            return false;
        b = (struct graph_bound){m, 0, n * (error_of(&x) + error_of(&y)) + n * ulp_of(info(k, x.v)) * m};
    } else if (!exact(&x) || !exact(&y)) {
        return false;
    }
    ir_op op = make1(k, IR_SCATTER, (ir_val[]){x.v, index, y.v}, 3, type_of(k, x.v));
    ir_set_prop(k->m, op, IR_SCATTER_scatter_dimension_numbers, numbers(k, IR_STRUCT_SCATTER, t->rank, dim, it->rank));
    body2(k, op, 0, kind, scalar_of(k, x.v));
    push(k, result(k, op), b);
    return true;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* An op to combine elements by, and the bound of what n of them come to; false where there is none. */
static bool reducer(struct maker *k, const struct node *x, double n, enum ir_op_kind *kind, struct graph_bound *b) {
    static const enum ir_op_kind ints[] = {IR_ADD, IR_MAXIMUM, IR_MINIMUM, IR_MULTIPLY, IR_AND, IR_OR, IR_XOR};
    static const enum ir_op_kind floats[] = {IR_ADD, IR_MAXIMUM, IR_MINIMUM};
    static const enum ir_op_kind preds[] = {IR_AND, IR_OR, IR_MAXIMUM};
    *b = x->b;
    if (is_complex(k, x->v))
        return false;
    if (!is_float(k, x->v)) {
        *kind = is_pred(k, x->v) ? preds[take(k, 3)] : ints[take(k, COUNT(ints))];
        b->mag = INFINITY;
        return true;
    }
    *kind = floats[take(k, COUNT(floats))];
    if (*kind != IR_ADD) {
        b->abs = error_of(x);
        b->rel = 0;
        b->mag = fmax(b->mag, 1);
        return exact(x) || isfinite(x->b.mag);
    }
    const struct ir_dtype_info *t = info(k, x->v);
    double m = (n + 1) * fmax(x->b.mag, 1), step = t->bits < 32 ? 0x1p-23 : ulp_of(t);
    *b = (struct graph_bound){m, 2 * ulp_of(t), n * error_of(x) + n * step * m};
    b->abs += ldexp(1, -fp_get(t->fp)->bias - fp_get(t->fp)->man_bits);
    return m < most_of(t) / 4;
}

static bool reduce(struct maker *k) {
    struct node *found = find(k, t_ranked);
    if (!found)
        return false;
    struct node x = *found;
    const struct ir_type_data *t = shape(k, x.v);
    int64_t dims[GRAPH_RANK];
    uint32_t n = 0;
    double each = 1;
    struct graph_bound b;
    enum ir_op_kind kind;
    for (uint32_t i = 0; i < t->rank; i++)
        if (take(k, 2)) {
            dims[n++] = i;
            each *= (double)t->dims[i];
        }
    if (!reducer(k, &x, each, &kind, &b))
        return false;
    ir_val init = splat(k, scalar_of(k, x.v), take(k, 2));
    ir_op op = make1(k, IR_REDUCE, (ir_val[]){x.v, init}, 2, type_of(k, x.v));
    set_i64s(k, op, IR_REDUCE_dimensions, dims, n);
    body2(k, op, 0, kind, scalar_of(k, x.v));
    if (!infer(k, op))
        return false;
    push(k, result(k, op), b);
    return true;
}

/* The greatest element and its first index. */
static bool arg_reduce(struct maker *k) {
    struct node *found = find(k, t_ordered);
    if (!found || shape(k, found->v)->rank == 0)
        return false;
    struct node x = *found;
    const struct ir_type_data *t = shape(k, x.v);
    int64_t dim = take(k, t->rank), how = take(k, 2) ? IR_COMPARISON_DIRECTION_GT : IR_COMPARISON_DIRECTION_LT;
    ir_type index = with_dtype(k, x.v, IR_I32_T), scalar = scalar_of(k, x.v), at = ir_type_of(k->m, IR_I32_T, NULL, 0);
    ir_op iota = make1(k, IR_IOTA, NULL, 0, index);
    set_i64(k, iota, IR_IOTA_iota_dimension, dim);
    ir_val in[4] = {x.v, result(k, iota), splat(k, scalar, 0), splat(k, at, 0)};
    ir_op op = make(k, IR_REDUCE, in, 4, (ir_type[]){type_of(k, x.v), index}, 2);
    set_i64s(k, op, IR_REDUCE_dimensions, &dim, 1);
    ir_block b = ir_block_new(k->m, ir_op_region(k->m, op, 0)), outer = k->block;
    ir_val a = ir_block_add_arg(k->m, b, scalar), i = ir_block_add_arg(k->m, b, at);
    ir_val c = ir_block_add_arg(k->m, b, scalar), j = ir_block_add_arg(k->m, b, at);
    ir_type pred = ir_type_of(k->m, IR_I1_T, NULL, 0);
    k->block = b;
    int64_t hows[3] = {how, IR_COMPARISON_DIRECTION_EQ, IR_COMPARISON_DIRECTION_LT};
    ir_val operands[3][2] = {{a, c}, {a, c}, {i, j}}, p[3], out[2];
    for (int q = 0; q < 3; q++) {
        ir_op cmp = make1(k, IR_COMPARE, operands[q], 2, pred);
        ir_set_prop(k->m, cmp, IR_COMPARE_comparison_direction, ir_attr_enum(k->m, IR_ENUM_COMPARISON_DIRECTION, hows[q]));
        p[q] = result(k, cmp);
    }
    ir_val tie = result(k, make1(k, IR_AND, (ir_val[]){p[1], p[2]}, 2, pred));
    ir_val first = result(k, make1(k, IR_OR, (ir_val[]){p[0], tie}, 2, pred));
    out[0] = result(k, make1(k, IR_SELECT, (ir_val[]){p[0], a, c}, 3, scalar));
    out[1] = result(k, make1(k, IR_SELECT, (ir_val[]){first, i, j}, 3, at));
    make(k, IR_RETURN, out, 2, NULL, 0);
    k->block = outer;
    if (!infer(k, op))
        return false;
    push(k, ir_result(k->m, op, 0), x.b);
    push(k, ir_result(k->m, op, 1), (struct graph_bound){(double)MOST_ELEMENTS, 0, 0});
    return true;
}

static bool window(struct maker *k) {
    struct node *found = find(k, t_ranked);
    if (!found)
        return false;
    struct node x = *found;
    const struct ir_type_data *t = shape(k, x.v);
    int64_t sizes[GRAPH_RANK], strides[GRAPH_RANK], dilate[GRAPH_RANK], pads[2 * GRAPH_RANK];
    double each = 1;
    struct graph_bound b;
    enum ir_op_kind kind;
    for (uint32_t i = 0; i < t->rank; i++) {
        sizes[i] = take(k, 2) ? 1 + take(k, 3) : 1;
        strides[i] = 1 + take(k, 2);
        dilate[i] = 1 + (take(k, 4) == 3);
        pads[2 * i] = take(k, 3) == 2;
        pads[2 * i + 1] = take(k, 3) == 2 ? 2 : 0;
        each *= (double)sizes[i];
    }
    if (!reducer(k, &x, each, &kind, &b))
        return false;
    ir_val init = splat(k, scalar_of(k, x.v), 0);
    ir_op op = make1(k, IR_REDUCE_WINDOW, (ir_val[]){x.v, init}, 2, type_of(k, x.v));
    set_i64s(k, op, IR_REDUCE_WINDOW_window_dimensions, sizes, t->rank);
    set_i64s(k, op, IR_REDUCE_WINDOW_window_strides, strides, t->rank);
    set_i64s(k, op, IR_REDUCE_WINDOW_window_dilations, dilate, t->rank);
    ir_set_prop(k->m, op, IR_REDUCE_WINDOW_padding, ir_attr_dense_i64s(k->m, pads, (int64_t[]){t->rank, 2}, 2));
    body2(k, op, 0, kind, scalar_of(k, x.v));
    if (!infer(k, op))
        return false;
    push(k, result(k, op), b);
    return true;
}

static bool sort(struct maker *k) {
    struct node *found = find(k, t_ordered);
    if (!found || shape(k, found->v)->rank == 0)
        return false;
    struct node x = *found;
    uint32_t n = 1 + take(k, 2), dim = take(k, shape(k, x.v)->rank);
    ir_type types[2] = {type_of(k, x.v), with_dtype(k, x.v, IR_I32_T)};
    ir_val in[2] = {x.v, {0}};
    if (n == 2) {
        ir_op iota = make1(k, IR_IOTA, NULL, 0, types[1]);
        set_i64(k, iota, IR_IOTA_iota_dimension, dim);
        in[1] = result(k, iota);
    }
    ir_op op = make(k, IR_SORT, in, n, types, n);
    set_i64(k, op, IR_SORT_dimension, dim);
    ir_set_prop(k->m, op, IR_SORT_is_stable, ir_attr_bool(k->m, true));
    ir_block b = ir_block_new(k->m, ir_op_region(k->m, op, 0)), outer = k->block;
    ir_val args[4];
    for (uint32_t i = 0; i < 2 * n; i++)
        args[i] = ir_block_add_arg(k->m, b, ir_type_with_dims(k->m, types[i / 2], NULL, 0));
    k->block = b;
    ir_op cmp = make1(k, IR_COMPARE, args, 2, ir_type_of(k->m, IR_I1_T, NULL, 0));
    int64_t how = take(k, 2) ? IR_COMPARISON_DIRECTION_LT : IR_COMPARISON_DIRECTION_GT;
    ir_set_prop(k->m, cmp, IR_COMPARE_comparison_direction, ir_attr_enum(k->m, IR_ENUM_COMPARISON_DIRECTION, how));
    ir_val before = result(k, cmp);
    make(k, IR_RETURN, &before, 1, NULL, 0);
    k->block = outer;
    push(k, ir_result(k->m, op, 0), x.b);
    if (n == 2)
        push(k, ir_result(k->m, op, 1), (struct graph_bound){(double)MOST_ELEMENTS, 0, 0});
    return true;
}

/* ---- contractions ---------------------------------------------------------------------------- */

/* The bound of sums of n products in a type; false where they may be too large. */
static bool products(const struct maker *k, const struct node *x, const struct node *y, double n, struct graph_bound *b) {
    const struct ir_dtype_info *t = info(k, x->v);
    *b = (struct graph_bound){INFINITY, 0, 0};
    if (!is_float(k, x->v))
        return true;
    double mx = x->b.mag, my = y->b.mag, m = (n + 1) * mx * my, step = t->bits < 32 ? 0x1p-23 : ulp_of(t);
    double e = error_of(x) * my + error_of(y) * mx + error_of(x) * error_of(y);
    *b = (struct graph_bound){m, 2 * ulp_of(t), n * e + 2 * n * step * m};
    b->abs += ldexp(1, -fp_get(t->fp)->bias - fp_get(t->fp)->man_bits);
    return m < most_of(t) / 4;
}

static bool dot(struct maker *k) {
    struct node *found = find(k, t_number);
    if (!found)
        return false;
    struct node x = *found, y = x;
    for (int i = 0; i < 4; i++) {
        struct node *other = find(k, t_number);
        if (shape(k, other->v)->dtype == shape(k, x.v)->dtype)
            y = *other;
    }
    if (shape(k, x.v)->rank && take(k, 3) == 0) { /* a matrix of many columns, or rows */
        int64_t size = shape(k, x.v)->dims[take(k, shape(k, x.v)->rank)], columns = 8 + take(k, 120), by_columns = take(k, 2);
        ir_type t = with_dims(k, type_of(k, x.v), (int64_t[]){by_columns ? columns : size, by_columns ? size : columns}, 2);
        y = IR_NONE(t) ? y : *pattern(k, t);
    }
    const struct ir_type_data *a = shape(k, x.v), *c = shape(k, y.v);
    int64_t dims[4][GRAPH_RANK];
    uint32_t n[2] = {0, 0};
    bool used[GRAPH_RANK] = {false};
    double each = 1;
    for (uint32_t i = 0; i < a->rank; i++)
        for (uint32_t j = 0, how = take(k, 3); j < c->rank && how < 2; j++)
            if (!used[j] && a->dims[i] == c->dims[j]) {
                used[j] = true;
                dims[2 * how][n[how]] = i;
                dims[2 * how + 1][n[how]++] = j;
                each *= how ? 1 : (double)a->dims[i];
                break;
            }
    struct graph_bound b;
    if (!products(k, &x, &y, each, &b))
        return false;
    ir_attr f[4] = {ir_attr_i64s(k->m, dims[2], n[1]), ir_attr_i64s(k->m, dims[3], n[1]), ir_attr_i64s(k->m, dims[0], n[0]),
                    ir_attr_i64s(k->m, dims[1], n[0])};
    ir_op op = make1(k, IR_DOT_GENERAL, (ir_val[]){x.v, y.v}, 2, type_of(k, x.v));
    ir_set_prop(k->m, op, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(k->m, IR_STRUCT_DOT, f));
    double out = each;
    for (uint32_t i = 0; i < a->rank; i++)
        out *= (double)a->dims[i];
    if (out * (double)count_of(c) > 1 << 24 || !infer(k, op)) {
        ir_unlink(k->m, op);
        return false;
    }
    push(k, result(k, op), b);
    return true;
}

/* A constant of small numbers. */
static struct node *weights(struct maker *k, ir_type type) {
    static float data[MOST_ELEMENTS];
    size_t n = (size_t)count_of(ir_type_get(k->m, type));
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(i * 5 % 7) - 3;
    ir_op op = make1(k, IR_CONSTANT, NULL, 0, type);
    ir_set_prop(k->m, op, IR_CONSTANT_value, ir_attr_dense(k->m, type, data, n * sizeof *data, false, false));
    return push(k, result(k, op), (struct graph_bound){.mag = 7});
}

/* A convolution of x with a pattern. `in`, `kernel`, `out`: batch and features, input and output features, batch and features;
   then spatial dimensions. `few`: one of f32 that may be computed with fewer multiplications. */
static struct node *convolve(struct maker *k, struct node x, const int64_t *in, const int64_t *kernel, const int64_t *out,
                             int64_t most_features, bool few) {
    const struct ir_type_data *t = shape(k, x.v);
    uint32_t rank = t->rank, spatial = rank - 2;
    int64_t dims[4], strides[2], pads[4], dilate[2], base[2], features = t->dims[in[1]], groups = 1, batches = 1;
    bool reverse[2];
    if (features == 0)
        return NULL;
    if (!few && take(k, 3) == 0)
        groups = features % 2 || take(k, 2) ? features : 2;
    else if (!few && t->dims[in[0]] % 2 == 0 && take(k, 4) == 0)
        batches = 2;
    dims[kernel[0]] = features / groups;
    dims[kernel[1]] = groups * batches * (few ? 32 + take(k, 9) : take(k, 4) ? 1 + take(k, (uint32_t)most_features) : 24);
    double each = (double)(features / groups);
    for (uint32_t i = 0; i < spatial; i++) {
        dims[kernel[2 + i]] = few ? 3 : 1 + take(k, 3);
        strides[i] = few ? 1 : 1 + take(k, 2);
        dilate[i] = few ? 1 : 1 + (take(k, 4) == 3);
        base[i] = few ? 1 : 1 + (take(k, 4) == 3);
        pads[2 * i] = (int64_t)take(k, 4) - 1;
        pads[2 * i + 1] = (int64_t)take(k, 4) - 1;
        reverse[i] = take(k, 4) == 3;
        each *= (double)dims[kernel[2 + i]];
    }
    ir_type type = with_dims(k, type_of(k, x.v), dims, rank);
    struct graph_bound b;
    if (IR_NONE(type))
        return NULL;
    struct node y = few ? *weights(k, type) : *pattern(k, type);
    if (!products(k, &x, &y, each, &b))
        return NULL;
    ir_op op = make1(k, IR_CONVOLUTION, (ir_val[]){x.v, y.v}, 2, type_of(k, x.v));
    ir_attr f[9] = {ir_attr_i64(k->m, in[0]), ir_attr_i64(k->m, in[1]), ir_attr_i64s(k->m, in + 2, spatial),
                    ir_attr_i64(k->m, kernel[0]), ir_attr_i64(k->m, kernel[1]), ir_attr_i64s(k->m, kernel + 2, spatial),
                    ir_attr_i64(k->m, out[0]), ir_attr_i64(k->m, out[1]), ir_attr_i64s(k->m, out + 2, spatial)};
    ir_set_prop(k->m, op, IR_CONVOLUTION_dimension_numbers, ir_attr_struct(k->m, IR_STRUCT_CONV, f));
    set_i64s(k, op, IR_CONVOLUTION_window_strides, strides, spatial);
    set_i64s(k, op, IR_CONVOLUTION_rhs_dilation, dilate, spatial);
    set_i64s(k, op, IR_CONVOLUTION_lhs_dilation, base, spatial);
    ir_set_prop(k->m, op, IR_CONVOLUTION_window_reversal,
                ir_attr_dense_array(k->m, ir_type_scalar(k->m, IR_I1_T), reverse, spatial));
    ir_set_prop(k->m, op, IR_CONVOLUTION_padding, ir_attr_dense_i64s(k->m, pads, (int64_t[]){spatial, 2}, 2));
    set_i64(k, op, IR_CONVOLUTION_feature_group_count, groups);
    set_i64(k, op, IR_CONVOLUTION_batch_group_count, batches);
    if (!infer(k, op)) {
        ir_unlink(k->m, op);
        return NULL;
    }
    return push(k, result(k, op), b);
}

static bool convolution(struct maker *k) {
    struct node *found = find(k, t_number);
    if (!found || shape(k, found->v)->rank < 3 || shape(k, found->v)->rank > 4)
        return false;
    struct node x = *found;
    int64_t in[4], kernel[4], out[4];
    shuffle(k, in, shape(k, x.v)->rank);
    shuffle(k, kernel, shape(k, x.v)->rank);
    shuffle(k, out, shape(k, x.v)->rank);
    return convolve(k, x, in, kernel, out, 5, false) != NULL;
}

/* Some layers: images in one layout, now and then in another, that are large enough for layouts to matter. Between convolutions
   there are elementwise ops, which join them with what was before. */
static bool layers(struct maker *k) {
    static const enum ir_dtype types[] = {IR_F32_T, IR_F32_T, IR_I32_T, IR_BF16_T, IR_F64_T};
    int64_t layout[4], next[4], kernel[4], dims[4];
    shuffle(k, layout, 4);
    shuffle(k, kernel, 4);
    bool few = take(k, 2);
    dims[layout[0]] = 1 + take(k, 2);
    dims[layout[1]] = few ? 32 : 8 * (1 + take(k, 3));
    dims[layout[2]] = (few ? 13 : 5) + take(k, 9);
    dims[layout[3]] = (few ? 13 : 5) + take(k, 9);
    struct node x = *pattern(k, ir_type_of(k->m, few ? IR_F32_T : types[take(k, COUNT(types))], dims, 4));
    for (uint32_t n = 1 + take(k, 3); n > 0; n--, few = false) {
        memcpy(next, layout, sizeof next);
        if (take(k, 4) == 0)
            shuffle(k, next, 4);
        struct node *y = convolve(k, x, layout, kernel, next, 16, few);
        if (!y)
            return false;
        struct node made = *y;
        ir_type type = type_of(k, made.v);
        if (take(k, 2)) { /* one half of it, or more */
            ir_val in[2] = {made.v, splat(k, type, 2)};
            made = *push(k, result(k, make1(k, IR_MAXIMUM, in, 2, type)),
                         (struct graph_bound){fmax(made.b.mag, 2), made.b.rel, made.b.abs});
        }
        x = made;
        memcpy(layout, next, sizeof layout);
    }
    return true;
}

/* ---- control --------------------------------------------------------------------------------- */

/* A few exact steps from x, with values from outside. */
static ir_val steps(struct maker *k, ir_val x) {
    static const enum ir_op_kind floats[] = {IR_ADD, IR_MAXIMUM, IR_SUBTRACT, IR_MULTIPLY}, preds[] = {IR_XOR, IR_OR, IR_AND};
    static const enum ir_op_kind ints[] = {IR_ADD, IR_MULTIPLY, IR_XOR, IR_MINIMUM, IR_SUBTRACT};
    ir_type t = type_of(k, x);
    for (uint32_t n = 1 + take(k, 3); n > 0; n--) {
        struct node *y = find_type(k, t);
        ir_val in[2] = {x, y && exact(y) ? y->v : splat(k, t, 1)};
        enum ir_op_kind kind = is_float(k, x) ? floats[take(k, COUNT(floats))] : is_pred(k, x) ? preds[take(k, 3)]
                                                                               : ints[take(k, COUNT(ints))];
        x = result(k, make1(k, kind, in, 2, t));
    }
    return x;
}

static bool loop(struct maker *k) {
    struct node *found = find(k, t_exact);
    if (!found || is_complex(k, found->v))
        return false;
    struct node x = *found, y = *like(k, type_of(k, x.v));
    if (!exact(&y))
        return false;
    ir_type i32 = ir_type_of(k->m, IR_I32_T, NULL, 0), types[3] = {i32, type_of(k, x.v), type_of(k, y.v)};
    uint32_t n = 2 + take(k, 2);
    ir_val in[3] = {splat(k, i32, 0), x.v, y.v}, args[2][3], out[3];
    ir_op op = make(k, IR_WHILE, in, n, types, n);
    ir_block blocks[2], outer = k->block;
    for (uint32_t r = 0; r < 2; r++) {
        blocks[r] = ir_block_new(k->m, ir_op_region(k->m, op, r));
        for (uint32_t i = 0; i < n; i++)
            args[r][i] = ir_block_add_arg(k->m, blocks[r], types[i]);
    }
    k->block = blocks[0];
    ir_op cmp = make1(k, IR_COMPARE, (ir_val[]){args[0][0], splat(k, i32, take(k, 5))}, 2, ir_type_of(k->m, IR_I1_T, NULL, 0));
    ir_attr lt = ir_attr_enum(k->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_LT);
    ir_set_prop(k->m, cmp, IR_COMPARE_comparison_direction, lt);
    ir_val more = result(k, cmp);
    make(k, IR_RETURN, &more, 1, NULL, 0);
    k->block = blocks[1];
    out[0] = result(k, make1(k, IR_ADD, (ir_val[]){args[1][0], splat(k, i32, 1)}, 2, i32));
    out[1] = steps(k, args[1][1]);
    uint32_t how = take(k, 3); /* the other variable changes places, stays, or makes steps */
    if (n == 3)
        out[2] = how == 0 ? args[1][1] : how == 1 ? args[1][2] : steps(k, args[1][2]);
    make(k, IR_RETURN, out, n, NULL, 0);
    k->block = outer;
    for (uint32_t i = 0; i < n; i++)
        push(k, ir_result(k->m, op, i), (struct graph_bound){INFINITY, 0, 0});
    return true;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static bool t_scanned(const struct maker *k, const struct node *x) {
    const struct ir_type_data *t = shape(k, x->v);
    bool wide = is_int(k, x->v) || (is_float(k, x->v) && info(k, x->v)->bits >= 32);
    return wide && info(k, x->v)->bits >= 8 && t->rank == 3 && count_of(t) > 0;
}

static ir_val dot2(struct maker *k, ir_val x, ir_val y, int64_t i, int64_t j, ir_type type) {
    ir_attr none = ir_attr_i64s(k->m, NULL, 0);
    ir_attr f[4] = {none, none, ir_attr_i64s(k->m, &i, 1), ir_attr_i64s(k->m, &j, 1)};
    ir_op op = make1(k, IR_DOT_GENERAL, (ir_val[]){x, y}, 2, type);
    ir_set_prop(k->m, op, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(k->m, IR_STRUCT_DOT, f));
    return result(k, op);
}

/* The slice of x at `index` along a dimension, without it. */
static ir_val scanned(struct maker *k, ir_val x, uint32_t dim, ir_val index, ir_val zero, ir_type row) {
    const struct ir_type_data *t = shape(k, x);
    int64_t sizes[GRAPH_RANK];
    ir_val in[GRAPH_RANK + 1] = {x};
    for (uint32_t i = 0; i < t->rank; i++) {
        sizes[i] = i == dim ? 1 : t->dims[i];
        in[i + 1] = i == dim ? index : zero;
    }
    ir_op op = make1(k, IR_DYNAMIC_SLICE, in, t->rank + 1, ir_type_with_dims(k->m, type_of(k, x), sizes, t->rank));
    set_i64s(k, op, IR_DYNAMIC_SLICE_slice_sizes, sizes, t->rank);
    ir_val part = result(k, op);
    return result(k, make1(k, IR_RESHAPE, &part, 1, row));
}

/* A recurrence over a dimension of x, forwards or backwards: h becomes the maximum of h and x_t w, in the sum of both or of
   their concatenation; h w' is stacked, x_t' h is summed up, and so are the columns of h. */
static bool scan(struct maker *k) {
    struct node *found = find(k, t_scanned);
    if (!found)
        return false;
    struct node x = *found;
    const struct ir_type_data *t = shape(k, x.v);
    uint32_t dim = take(k, 3), backwards = take(k, 2), joined = take(k, 3) == 0;
    int64_t trips = t->dims[dim], rows = t->dims[dim == 0], inner = t->dims[dim == 2 ? 1 : 2];
    int64_t bytes = info(k, x.v)->bits / 8, outs = 2 + inner; /* weights that stay in the fastest cache, and others */
    int64_t columns = take(k, 3) ? (12 << 10) / (inner * bytes) : 1 + take(k, 5);
    ir_type elem = scalar_of(k, x.v), i32 = ir_type_of(k->m, IR_I32_T, NULL, 0);
#define TYPE(...) ir_type_with_dims(k->m, elem, (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
    ir_type xt = TYPE(rows, inner), ht = TYPE(rows, columns), wt = TYPE(inner + joined, columns), ut = TYPE(columns, outs);
    ir_type st = TYPE(inner, columns), ct = TYPE(columns), zt = TYPE(trips, rows, outs), zpart = TYPE(1, rows, outs);
    ir_type yt = TYPE(rows, outs), jt = TYPE(rows, inner + 1), one = TYPE(rows, 1);
#undef TYPE
    struct node w = *pattern(k, wt), u = *pattern(k, ut);
    struct graph_bound p, y, s, c;
    struct node h = {.v = x.v}; /* the bounds of the recurrence, in which only the types of values count */
    if (!products(k, &x, &w, (double)(inner + joined), &p))
        return false;
    p.mag += w.b.mag;
    h.b = p;
    if (!products(k, &h, &u, (double)columns, &y) || !products(k, &x, &h, (double)(trips * rows), &s) ||
        !products(k, &h, &(struct node){x.v, {1, 0, 0}}, (double)(trips * rows), &c))
        return false;
    ir_type types[5] = {i32, ht, st, ct, zt};
    ir_val f = splat(k, elem, 0), in[5], args[2][5], out[5];
    for (uint32_t i = 0; i < 5; i++)
        in[i] = splat(k, types[i], 0);
    ir_op op = make(k, IR_WHILE, in, 5, types, 5);
    ir_block blocks[2], outer = k->block;
    for (uint32_t r = 0; r < 2; r++) {
        blocks[r] = ir_block_new(k->m, ir_op_region(k->m, op, r));
        for (uint32_t i = 0; i < 5; i++)
            args[r][i] = ir_block_add_arg(k->m, blocks[r], types[i]);
    }
    k->block = blocks[0];
    ir_val all = splat(k, i32, (double)trips);
    ir_op cmp = make1(k, IR_COMPARE, (ir_val[]){args[0][0], all}, 2, ir_type_of(k->m, IR_I1_T, NULL, 0));
    ir_set_prop(k->m, cmp, IR_COMPARE_comparison_direction,
                ir_attr_enum(k->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_LT));
    ir_val more = result(k, cmp);
    make(k, IR_RETURN, &more, 1, NULL, 0);
    k->block = blocks[1];
    ir_val zero = splat(k, i32, 0), index = args[1][0];
    if (backwards)
        index = result(k, make1(k, IR_SUBTRACT, (ir_val[]){splat(k, i32, (double)(trips - 1)), index}, 2, i32));
    ir_val row = scanned(k, x.v, dim, index, zero, xt), lhs = row;
    if (joined) {
        ir_op join = make1(k, IR_CONCATENATE, (ir_val[]){row, splat(k, one, 1)}, 2, jt);
        set_i64(k, join, IR_CONCATENATE_dimension, 1);
        lhs = result(k, join);
    }
    ir_val next = result(k, make1(k, IR_MAXIMUM, (ir_val[]){dot2(k, lhs, w.v, 1, 0, ht), args[1][1]}, 2, ht));
    ir_val stacked = dot2(k, next, u.v, 1, 0, yt);
    stacked = result(k, make1(k, IR_RESHAPE, &stacked, 1, zpart));
    ir_op sum = ir_op_new(k->m, IR_REDUCE, (ir_val[]){next, f}, 2, &ct, 1, 1);
    ir_append(k->m, k->block, sum);
    set_i64s(k, sum, IR_REDUCE_dimensions, (int64_t[]){0}, 1);
    body2(k, sum, 0, IR_ADD, elem);
    out[0] = result(k, make1(k, IR_ADD, (ir_val[]){args[1][0], splat(k, i32, 1)}, 2, i32));
    out[1] = next;
    out[2] = result(k, make1(k, IR_ADD, (ir_val[]){args[1][2], dot2(k, row, next, 0, 0, st)}, 2, st));
    out[3] = result(k, make1(k, IR_ADD, (ir_val[]){args[1][3], result(k, sum)}, 2, ct));
    out[4] = result(k, make1(k, IR_DYNAMIC_UPDATE_SLICE, (ir_val[]){args[1][4], stacked, index, zero, zero}, 5, zt));
    make(k, IR_RETURN, out, 5, NULL, 0);
    k->block = outer;
    push(k, ir_result(k->m, op, 1), p);
    push(k, ir_result(k->m, op, 2), s);
    push(k, ir_result(k->m, op, 3), c);
    push(k, ir_result(k->m, op, 4), y);
    return true;
}

static bool branch(struct maker *k) {
    struct node *found = find(k, t_exact);
    if (!found || is_complex(k, found->v))
        return false;
    struct node x = *found;
    bool is_case = take(k, 2);
    ir_type t = ir_type_of(k->m, is_case ? IR_I32_T : IR_I1_T, NULL, 0), type = type_of(k, x.v);
    struct node *chosen = find_type(k, t);
    ir_val which = chosen ? chosen->v : splat(k, t, take(k, 4));
    uint32_t n = is_case ? 1 + take(k, 3) : 2;
    ir_op op = ir_op_new(k->m, is_case ? IR_CASE : IR_IF, &which, 1, &type, 1, n);
    ir_append(k->m, k->block, op);
    ir_block outer = k->block;
    for (uint32_t i = 0; i < n; i++) {
        k->block = ir_block_new(k->m, ir_op_region(k->m, op, i));
        ir_val v = take(k, 4) ? steps(k, x.v) : x.v;
        make(k, IR_RETURN, &v, 1, NULL, 0);
    }
    k->block = outer;
    push(k, result(k, op), (struct graph_bound){INFINITY, 0, 0});
    return true;
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool (*const makers[])(struct maker *k) = { /* twice: more often */
    unary, binary, binary, unary, binary, compare, select_, clamp, convert, parts, reshape, transpose, broadcast, broadcast,
    slice, pad, concatenate, reverse, dynamic_slice, iota, gather, scatter, reduce, reduce, arg_reduce, window, sort, dot, dot,
    convolution, layers, loop, branch, scan, scan,
};

static void parameters(struct maker *k, struct graph *g) {
    int64_t common[3] = {size(k), size(k), size(k)};
    g->nparams = 1 + take(k, GRAPH_PARAMS);
    for (uint32_t i = 0; i < g->nparams; i++) {
        struct graph_type *t = &g->params[i];
        t->dtype = dtypes[take(k, COUNT(dtypes))];
        t->rank = take(k, 5);
        g->wild[i] = take(k, 4) == 3;
        double n = 1;
        for (uint32_t d = 0; d < t->rank; d++) {
            t->dims[d] = take(k, 3) ? common[take(k, 3)] : size(k);
            if (n * (double)t->dims[d] > MOST_ELEMENTS)
                t->dims[d] = 1;
            n *= (double)t->dims[d];
        }
        ir_val v = ir_block_add_arg(k->m, k->block, ir_type_of(k->m, t->dtype, t->dims, t->rank));
        push(k, v, (struct graph_bound){g->wild[i] ? INFINITY : 8, 0, 0});
    }
}

static void program(struct maker *k, struct graph *g) {
    ir_op func = ir_op_new(k->m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_append(k->m, ir_module_body(k->m), func);
    k->block = ir_block_new(k->m, ir_op_region(k->m, func, 0));
    g->seed = (uint64_t)take(k, 65536);
    parameters(k, g);
    for (uint32_t i = 0, n = 1 + take(k, MOST_OPS), tries = 0; i < n && tries < 4 * MOST_OPS; tries++)
        i += makers[take(k, COUNT(makers))](k);
    ir_val values[GRAPH_RESULTS];
    ir_type ins[GRAPH_PARAMS], outs[GRAPH_RESULTS];
    g->nresults = k->n < GRAPH_RESULTS ? k->n : GRAPH_RESULTS;
    for (uint32_t i = 0; i < g->nresults; i++) { /* the last ones, and any */
        const struct node *x = i < 4 ? &k->pool[k->n - 1 - i] : any(k);
        values[i] = x->v;
        outs[i] = type_of(k, x->v);
        g->bounds[i] = x->b;
    }
    make(k, IR_FUNC_RETURN, values, g->nresults, NULL, 0);
    for (uint32_t i = 0; i < g->nparams; i++)
        ins[i] = type_of(k, ir_block_get(k->m, k->block)->args[i]);
    ir_type type = ir_type_function(k->m, ins, g->nparams, outs, g->nresults);
    ir_set_prop(k->m, func, IR_FUNC_sym_name, ir_attr_string(k->m, str_of("main")));
    ir_set_prop(k->m, func, IR_FUNC_function_type, ir_attr_of_type(k->m, type));
}

bool graph_make(struct graph *g, const uint8_t *bytes, size_t nbytes) {
    jmp_buf recover;
    struct maker *volatile k = calloc(1, sizeof *k);
    volatile bool done = false;
    *g = (struct graph){.nparams = 0};
    strbuf_init(&g->text, mem_system_allocator());
    if (!k)
        return false;
    diag_init(&k->d, mem_system_allocator());
    k->bytes = bytes;
    k->end = bytes + nbytes;
    k->m = ir_module_new(mem_system_allocator(), &recover);
    if (k->m && setjmp(recover) == 0) {
        struct ir_print_options o = {.generic = false};
        program(k, g);
        ir_print_module(k->m, &o, &g->text);
        done = !g->text.failed;
    }
    ir_module_free(k->m);
    diag_clear(&k->d);
    free(k);
    return done;
}

void graph_free(struct graph *g) {
    strbuf_free(&g->text);
}

/* ---- elements -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

void graph_fill(const struct graph *g, uint32_t i, void *out) {
    const struct ir_dtype_info *t = ir_dtype_get(g->params[i].dtype);
    size_t n = 1;
    for (uint32_t d = 0; d < g->params[i].rank; d++)
        n *= (size_t)g->params[i].dims[d];
    for (size_t e = 0; e < n; e++) {
        uint64_t bits = mix(mix(g->seed + i) + e), mask = ~UINT64_C(0) >> (64 - t->bits);
        if (t->cls == IR_PRED) {
            bits &= 1;
        } else if (t->cls == IR_FLOAT) {
            double x = ldexp((double)(int64_t)bits, -62); /* -2..2 */
            bits = g->wild[i] && bits % 3 ? mix(bits) & mask : fp_encode(t->fp, x);
        } else if (!g->wild[i] || t->bits < 8) {
            int64_t most = t->bits < 4 ? 1 : 7, v = (int64_t)(bits >> 32) % (most + 1);
            bits = (uint64_t)(t->cls == IR_SINT && bits & 1 ? -v : v);
        }
        memcpy((char *)out + e * t->bytes, &bits, t->bytes);
    }
}
