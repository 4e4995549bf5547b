/* Rules of canonicalize about matrix products: see rules.def. */
#include "opt/rules.h"

/* One operand of a dot_general: its dimensions by what becomes of them. */
struct side {
    ir_val v;
    const struct ir_type_data *t;
    const int64_t *batch, *contracted;
    size_t nbatch, ncontracted;
    int64_t free[IR_MAX_RANK];   /* the others, in order */
    size_t nfree;
};

static const enum ir_field_slot fields[2][2] = {
    {IR_DOT_lhs_batching_dimensions_F, IR_DOT_lhs_contracting_dimensions_F},
    {IR_DOT_rhs_batching_dimensions_F, IR_DOT_rhs_contracting_dimensions_F},
};

static struct side side_of(const struct rules *r, ir_op op, uint32_t which) {
    ir_attr numbers = ir_prop(r->m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    struct side s = {.v = rules_in(r, op, which), .t = rules_shape(r, rules_in(r, op, which))};
    bool other[IR_MAX_RANK] = {0};
    s.batch = ir_field_dims(r->m, numbers, fields[which][0], &s.nbatch);
    s.contracted = ir_field_dims(r->m, numbers, fields[which][1], &s.ncontracted);
    for (size_t i = 0; i < s.nbatch; i++)
        other[s.batch[i]] = true;
    for (size_t i = 0; i < s.ncontracted; i++)
        other[s.contracted[i]] = true;
    for (uint32_t i = 0; i < s.t->rank; i++)
        if (!other[i])
            s.free[s.nfree++] = i;
    return s;
}

/* The dimensions of an operand that is a transpose are those of what is transposed, unless its free ones were to change their
   order, which is the result's. */
bool opt_rule_dot_transpose(struct rules *r, ir_op op) {
    for (uint32_t which = 0; which < 2; which++) {
        ir_op t = rules_def(r, rules_in(r, op, which), IR_TRANSPOSE);
        if (IR_NONE(t))
            continue;
        struct side s = side_of(r, op, which);
        size_t n;
        const int64_t *p = ir_prop_i64s(r->m, t, IR_TRANSPOSE_permutation, &n);
        bool ordered = true;
        for (size_t i = 1; i < s.nfree; i++)
            ordered &= p[s.free[i - 1]] < p[s.free[i]];
        if (!ordered)
            continue;
        ir_attr numbers = ir_prop(r->m, op, IR_DOT_GENERAL_dot_dimension_numbers), parts[4];
        int64_t dims[IR_MAX_RANK];
        memcpy(parts, ir_attr_get(r->m, numbers)->items, sizeof parts);
        for (int k = 0; k < 2; k++) {
            const int64_t *from = k ? s.contracted : s.batch;
            size_t count = k ? s.ncontracted : s.nbatch;
            for (size_t i = 0; i < count; i++)
                dims[i] = p[from[i]];
            parts[2 * k + (int)which] = ir_attr_i64s(r->m, dims, (uint32_t)count);
        }
        ir_set_operand(r->m, op, which, rules_in(r, t, 0));
        ir_set_prop(r->m, op, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(r->m, IR_STRUCT_DOT, parts));
        return true;
    }
    return false;
}

/* Whether an op other than `user` needs the value; it is in the block or in regions of its ops. */
static bool needed_elsewhere(const struct rules *r, ir_block b, ir_val v, ir_op user) {
    for (ir_op op = ir_block_get(r->m, b)->first; !IR_NONE(op); op = ir_op_get(r->m, op)->next) {
        const struct ir_op_data *x = ir_op_get(r->m, op);
        for (uint32_t i = 0; i < x->noperands; i++)
            if (!IR_SAME(op, user) && IR_SAME(opt_map_get(&r->map, x->operands[i]), v))
                return true;
        for (uint32_t i = 0; i < x->nregions; i++)
            for (ir_block in = ir_region_get(r->m, ir_op_region(r->m, op, i))->first; !IR_NONE(in);
                 in = ir_block_get(r->m, in)->next)
                if (needed_elsewhere(r, in, v, user))
                    return true;
    }
    return false;
}

/* The operands change places when the free dimensions do, as gradients of layers have it; then nothing has to be moved. Rows of
   the product that would be shorter than a vector are left as they are. */
bool opt_rule_transpose_dot(struct rules *r, ir_op op) {
    enum { SHORT_ROW = 16 };
    ir_op dot = rules_def(r, rules_in(r, op, 0), IR_DOT_GENERAL);
    size_t n;
    const int64_t *p = ir_prop_i64s(r->m, op, IR_TRANSPOSE_permutation, &n);
    if (IR_NONE(dot) || !IR_NONE(ir_prop(r->m, dot, IR_DOT_GENERAL_algorithm)) || !rules_static(r, rules_in(r, op, 0)))
        return false;
    struct side a = side_of(r, dot, 0), b = side_of(r, dot, 1);
    int64_t row = 1;
    for (size_t i = 0; i < n; i++) {
        size_t from = i < a.nbatch ? i : i < a.nbatch + b.nfree ? i + a.nfree : i - b.nfree;
        if (p[i] != (int64_t)from)
            return false;
    }
    for (size_t i = 0; i < a.nfree; i++)
        row *= a.t->dims[a.free[i]];
    if (!a.nfree || !b.nfree || row < SHORT_ROW || needed_elsewhere(r, ir_op_get(r->m, dot)->parent, rules_in(r, op, 0), op))
        return false;
    ir_attr numbers = ir_prop(r->m, dot, IR_DOT_GENERAL_dot_dimension_numbers), parts[4];
    ir_attr config = ir_prop(r->m, dot, IR_DOT_GENERAL_precision_config), swapped[2];
    const struct ir_attr_data *both = ir_attr_get(r->m, config);
    for (int i = 0; i < 4; i++)
        parts[i] = ir_attr_get(r->m, numbers)->items[i ^ 1];
    ir_op fresh = rules_become_op(r, op, IR_DOT_GENERAL, (ir_val[]){b.v, a.v}, 2);
    ir_set_prop(r->m, fresh, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(r->m, IR_STRUCT_DOT, parts));
    if (both->kind == IR_ATTR_ARRAY && both->n == 2) {
        swapped[0] = both->items[1];
        swapped[1] = both->items[0];
        config = ir_attr_array(r->m, swapped, 2);
    }
    ir_set_prop(r->m, fresh, IR_DOT_GENERAL_precision_config, config);
    return true;
}

/* ---- products that are no matrix products ---------------------------------------------------- */

static int64_t sizes(const struct ir_type_data *t, const int64_t *dims, size_t n) {
    int64_t product = 1;
    for (size_t i = 0; i < n; i++)
        product *= t->dims[dims[i]];
    return product;
}

/* What products are computed in: the result's element type, but f32 for floats narrower than that. None where it would not
   hold the operands. */
static enum ir_dtype computed_in(const struct rules *r, ir_op op) {
    enum ir_dtype out = rules_shape(r, ir_result(r->m, op, 0))->dtype;
    const struct ir_dtype_info *t = ir_dtype_get(out);
    enum ir_dtype in = t->cls == IR_FLOAT && t->bits < 32 ? IR_F32_T : out;
    if ((t->cls != IR_SINT && t->cls != IR_UINT && t->cls != IR_FLOAT) ||
        !IR_NONE(ir_prop(r->m, op, IR_DOT_GENERAL_algorithm)) || !rules_static(r, ir_result(r->m, op, 0)))
        return IR_DTYPE_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        const struct ir_dtype_info *a = ir_dtype_get(rules_shape(r, rules_in(r, op, i))->dtype);
        if (!rules_static(r, rules_in(r, op, i)) || a->cls != t->cls || a->bits > ir_dtype_get(in)->bits)
            return IR_DTYPE_NONE;
    }
    return in;
}

static ir_val make_convert(struct rules *r, ir_op at, ir_val v, enum ir_dtype to) {
    const struct ir_type_data *t = rules_shape(r, v);
    if (t->dtype == to)
        return v;
    ir_type type = ir_type_of(r->m, to, t->dims, t->rank);
    return ir_result(r->m, rules_make(r, at, IR_CONVERT, &v, 1, type), 0);
}

static ir_val make_reshape(struct rules *r, ir_op at, ir_val v, const int64_t *dims, uint32_t rank) {
    ir_type type = ir_type_with_dims(r->m, rules_type(r, v), dims, rank);
    if (IR_SAME(type, rules_type(r, v)))
        return v;
    return ir_result(r->m, rules_make(r, at, IR_RESHAPE, &v, 1, type), 0);
}

/* The operand's dimensions in the order batch, contracted, free. */
static ir_val in_order(struct rules *r, ir_op at, const struct side *s) {
    int64_t p[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t n = 0;
    bool ascending = true;
    for (size_t i = 0; i < s->nbatch; i++)
        p[n++] = s->batch[i];
    for (size_t i = 0; i < s->ncontracted; i++)
        p[n++] = s->contracted[i];
    for (size_t i = 0; i < s->nfree; i++)
        p[n++] = s->free[i];
    for (uint32_t i = 0; i < n; i++) {
        ascending &= p[i] == i;
        dims[i] = s->t->dims[p[i]];
    }
    if (ascending)
        return s->v;
    ir_op op = rules_make(r, at, IR_TRANSPOSE, &s->v, 1, ir_type_with_dims(r->m, rules_type(r, s->v), dims, n));
    ir_set_prop(r->m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(r->m, p, n));
    return ir_result(r->m, op, 0);
}

/* Replaces the op by the value, converted and reshaped to its type. */
static bool finish(struct rules *r, ir_op op, ir_val v) {
    const struct ir_type_data *t = rules_shape(r, ir_result(r->m, op, 0));
    v = make_reshape(r, op, make_convert(r, op, v, t->dtype), t->dims, t->rank);
    return rules_become(r, op, v);
}

/* Nothing is summed up. The sum of one product has 0 before it, so that -0 does not occur. */
bool opt_rule_dot_outer(struct rules *r, ir_op op) {
    enum ir_dtype in = computed_in(r, op);
    struct side s[2] = {side_of(r, op, 0), side_of(r, op, 1)};
    ir_val x[2], product;
    int64_t dims[2][IR_MAX_RANK], out[2 * IR_MAX_RANK];
    uint32_t n = 0;
    if (in == IR_DTYPE_NONE || sizes(s[0].t, s[0].contracted, s[0].ncontracted) != 1)
        return false;
    if (s[0].nbatch + s[0].nfree + s[1].nfree > IR_MAX_RANK)
        return false;
    for (size_t i = 0; i < s[0].nbatch; i++, n++) {
        out[n] = s[0].t->dims[s[0].batch[i]];
        dims[0][i] = dims[1][i] = n;
    }
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < s[k].nfree; i++, n++) {
            out[n] = s[k].t->dims[s[k].free[i]];
            dims[k][s[k].nbatch + i] = n;
        }
    ir_type full = ir_type_of(r->m, in, out, n);
    for (int k = 0; k < 2; k++) {
        uint32_t m = (uint32_t)(s[k].nbatch + s[k].nfree);
        int64_t kept[IR_MAX_RANK];
        for (uint32_t i = 0; i < m; i++)
            kept[i] = out[dims[k][i]];
        ir_val v = make_reshape(r, op, in_order(r, op, &s[k]), kept, m);
        v = make_convert(r, op, v, in);
        ir_op b = rules_make(r, op, IR_BROADCAST_IN_DIM, &v, 1, full);
        ir_set_prop(r->m, b, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(r->m, dims[k], m));
        x[k] = ir_result(r->m, b, 0);
    }
    product = ir_result(r->m, rules_make(r, op, IR_MULTIPLY, x, 2, full), 0);
    if (ir_dtype_get(in)->cls == IR_FLOAT) {
        ir_val sum[2] = {product, rules_make_float(r, op, full, 0)};
        product = ir_result(r->m, rules_make(r, op, IR_ADD, sum, 2, full), 0);
    }
    return finish(r, op, product);
}

/* Vectors by vectors: a product of elements that is summed up. */
bool opt_rule_dot_vectors(struct rules *r, ir_op op) {
    enum ir_dtype in = computed_in(r, op);
    struct side s[2] = {side_of(r, op, 0), side_of(r, op, 1)};
    int64_t dims[IR_MAX_RANK], summed[IR_MAX_RANK];
    uint32_t nbatch = (uint32_t)s[0].nbatch, n = nbatch + (uint32_t)s[0].ncontracted;
    if (in == IR_DTYPE_NONE || sizes(s[0].t, s[0].free, s[0].nfree) != 1 || sizes(s[1].t, s[1].free, s[1].nfree) != 1)
        return false;
    for (uint32_t i = 0; i < n; i++)
        dims[i] = s[0].t->dims[i < nbatch ? s[0].batch[i] : s[0].contracted[i - nbatch]];
    for (uint32_t i = nbatch; i < n; i++)
        summed[i - nbatch] = i;
    ir_val x[2];
    for (int k = 0; k < 2; k++)
        x[k] = make_convert(r, op, make_reshape(r, op, in_order(r, op, &s[k]), dims, n), in);
    ir_type full = ir_type_of(r->m, in, dims, n), scalar = ir_type_of(r->m, in, NULL, 0);
    ir_type sums = ir_type_of(r->m, in, dims, nbatch);
    static const char zero[8];
    ir_val args[2] = {ir_result(r->m, rules_make(r, op, IR_MULTIPLY, x, 2, full), 0), rules_make_splat(r, op, scalar, zero)};
    ir_op reduce = rules_make_reduce(r, op, IR_ADD, args, sums);
    ir_set_prop(r->m, reduce, IR_REDUCE_dimensions, ir_attr_i64s(r->m, summed, n - nbatch));
    return finish(r, op, ir_result(r->m, reduce, 0));
}

/* ---- the identity matrix --------------------------------------------------------------------- */

/* n x n zeros, but ones in the diagonal. */
static bool identity(const struct rules *r, ir_val v) {
    const struct ir_type_data *t = rules_shape(r, v);
    const struct ir_attr_data *a = rules_constant(r, v);
    const struct ir_dtype_info *d = ir_dtype_get(t->dtype);
    if (!a || !ir_type_is_static(t) || t->rank != 2 || t->dims[0] != t->dims[1] || a->splat != (t->dims[0] == 1) ||
        d->cls != IR_FLOAT || d->bytes > 8)
        return false;
    size_t n = (size_t)t->dims[0];
    uint64_t one = fp_encode(d->fp, 1);
    for (size_t i = 0; i < n * n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)a->data + i * d->bytes, d->bytes);
        if (bits != (i % (n + 1) == 0 ? one : 0))
            return false;
    }
    return true;
}

/* On the right, where the one dimension that is summed up is the last one of x, and its place is taken. */
bool opt_rule_dot_identity(struct rules *r, ir_op op) {
    struct side x = side_of(r, op, 0), y = side_of(r, op, 1);
    return x.nbatch == 0 && x.ncontracted == 1 && y.t->rank == 2 && x.contracted[0] + 1 == (int64_t)x.t->rank &&
           identity(r, y.v) && rules_become(r, op, x.v);
}
