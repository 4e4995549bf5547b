/* canonicalize: elementwise ops that follow a matrix product, but for a reshape, are computed before it, in the dimensions of
 * the product, with which they are fused then: the rows of a product are often several dimensions of what is computed with it,
 * batches and tokens, or rows and columns of images. */
#include "opt/rules.h"

enum { RESHAPE_DEPTH = 128 }; /* elementwise ops between a product and a reshape */

/* Whether a value is computed element by element from a matrix product of its shape. */
static bool follows_product(const struct rules *r, ir_val v) {
    for (uint32_t depth = 0; depth < RESHAPE_DEPTH; depth++) {
        ir_op op = ir_val_get(r->m, v)->op;
        if (IR_NONE(op))
            return false;
        if (ir_kind(r->m, op) == IR_DOT_GENERAL)
            return true;
        if (!ir_op_has(ir_kind(r->m, op), IR_T_ELEMENTWISE))
            return false;
        uint32_t i = 0, n = ir_op_get(r->m, op)->noperands;
        while (i + 1 < n && (rules_constant(r, rules_in(r, op, i)) ||
                             !IR_NONE(rules_def(r, rules_in(r, op, i), IR_BROADCAST_IN_DIM))))
            i++;
        v = rules_in(r, op, i);
    }
    return false;
}

/* By dimension of `to`: the dimension of `from` that is the same in a reshape between them; -1 where it is one of several that
   become others. Dimensions of size 1 have none. */
static void same_dims(const struct ir_type_data *from, const struct ir_type_data *to, int64_t *out) {
    uint32_t i = 0, j = 0;
    for (uint32_t k = 0; k < to->rank; k++)
        out[k] = -1;
    while (i < from->rank && j < to->rank) {
        if (from->dims[i] == 1 || to->dims[j] == 1) {
            i += from->dims[i] == 1;
            j += to->dims[j] == 1 && (i == from->rank || from->dims[i] != 1);
            continue;
        }
        int64_t p = from->dims[i++], q = to->dims[j++];
        if (p == q)
            out[j - 1] = i - 1;
        while (p != q)
            if (p < q)
                p *= from->dims[i++];
            else
                q *= to->dims[j++];
    }
}

/* The operand of a broadcast and where its dimensions go, when its result is reshaped to `shape`; false where it is broadcast
   to dimensions that become others. */
static bool move_broadcast(const struct rules *r, ir_op op, const struct ir_type_data *shape, int64_t *sizes, int64_t *dims,
                           uint32_t *n) {
    const struct ir_type_data *t = rules_shape(r, rules_in(r, op, 0)), *old = rules_shape(r, ir_result(r->m, op, 0));
    int64_t same[IR_MAX_RANK];
    size_t count;
    const int64_t *to = ir_prop_i64s(r->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &count);
    same_dims(shape, old, same);
    *n = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] == 1)
            continue;
        if (same[to[i]] < 0)
            return false;
        sizes[*n] = t->dims[i];
        dims[(*n)++] = same[to[i]];
    }
    return true;
}

/* Whether an operand can be had in the dimensions of x, which is reshaped to its own. */
static bool can_move(const struct rules *r, ir_val v, ir_val x) {
    const struct ir_attr_data *a = rules_constant(r, v);
    ir_op reshape = rules_def(r, v, IR_RESHAPE), broadcast = rules_def(r, v, IR_BROADCAST_IN_DIM);
    int64_t sizes[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t n;
    if (a)
        return a->kind == IR_ATTR_DENSE && a->splat && a->data;
    if (!IR_NONE(broadcast))
        return rules_static(r, rules_in(r, broadcast, 0)) &&
               move_broadcast(r, broadcast, rules_shape(r, x), sizes, dims, &n);
    const struct ir_type_data *s = rules_shape(r, x);
    if (IR_NONE(reshape) || rules_shape(r, rules_in(r, reshape, 0))->rank != s->rank)
        return false;
    return memcmp(rules_shape(r, rules_in(r, reshape, 0))->dims, s->dims, s->rank * sizeof *s->dims) == 0;
}

static ir_val move(struct rules *r, ir_op at, ir_val v, ir_val x) {
    const struct ir_attr_data *a = rules_constant(r, v);
    const struct ir_type_data *s = rules_shape(r, x);
    ir_op broadcast = rules_def(r, v, IR_BROADCAST_IN_DIM);
    ir_type type = ir_type_with_dims(r->m, rules_type(r, v), s->dims, s->rank);
    int64_t sizes[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t n;
    if (a)
        return rules_make_splat(r, at, type, a->data);
    if (IR_NONE(broadcast))
        return rules_in(r, rules_def(r, v, IR_RESHAPE), 0);
    ir_val from = rules_in(r, broadcast, 0);
    (void)move_broadcast(r, broadcast, s, sizes, dims, &n);
    if (n != rules_shape(r, from)->rank) {
        ir_type less = ir_type_with_dims(r->m, rules_type(r, from), sizes, n);
        from = ir_result(r->m, rules_make(r, at, IR_RESHAPE, &from, 1, less), 0);
    }
    ir_op fresh = rules_make(r, at, IR_BROADCAST_IN_DIM, &from, 1, type);
    ir_set_prop(r->m, fresh, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(r->m, dims, n));
    return ir_result(r->m, fresh, 0);
}

bool opt_rule_reshape_after(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    ir_val source = {0}, in[3];
    size_t count = 0;
    if (!ir_op_has((enum ir_op_kind)x->kind, IR_T_ELEMENTWISE) || x->nresults != 1 || x->nregions || x->noperands > 3 ||
        !rules_static(r, ir_result(r->m, op, 0)) ||
        !ir_type_count(rules_shape(r, ir_result(r->m, op, 0)), &count) || count == 0)
        return false;
    const struct ir_type_data *t = rules_shape(r, ir_result(r->m, op, 0));
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_op reshape = rules_def(r, x->operands[i], IR_RESHAPE);
        if (rules_shape(r, x->operands[i])->rank != t->rank) /* a scalar */
            return false;
        if (!source.i && !IR_NONE(reshape) && rules_static(r, rules_in(r, reshape, 0)) &&
            follows_product(r, rules_in(r, reshape, 0)))
            source = rules_in(r, reshape, 0);
    }
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!source.i || !can_move(r, x->operands[i], source))
            return false;
    for (uint32_t i = 0; i < x->noperands; i++)
        in[i] = move(r, op, ir_operand(r->m, op, i), source);
    const struct ir_type_data *s = rules_shape(r, source);
    ir_type type = ir_type_with_dims(r->m, rules_result(r, op), s->dims, s->rank);
    ir_op fresh = opt_remake(r->o, op, in, ir_op_get(r->m, op)->noperands, &type, 1);
    ir_insert_before(r->m, op, fresh);
    ir_val out = ir_result(r->m, fresh, 0);
    rules_become_op(r, op, IR_RESHAPE, &out, 1);
    return true;
}
