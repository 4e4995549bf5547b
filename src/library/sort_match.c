/* Which sorts are by keys: the comparator is taken apart into comparisons of one and the same function of both sides.
 *
 *   order   compare LT|GT|LE|GE (key a, key b)
 *           or (strict, and (equal, order))        select (equal, order, strict)      select (unequal, strict, order)
 *   key     an argument, or its real or imaginary part; through
 *           select (compare EQ (x, 0), 0, x)   which makes zeros equal
 *           select (compare NE (x, x), NaN, x) which makes NaNs equal */
#include "library/sort.h"

struct comparator {
    const struct ir_module *m;
    ir_block block;
    struct sort *s;
};

/* ---- keys ---------------------------------------------------------------------------------------------------------- */

static bool is_compare(const struct ir_module *m, ir_val v, int64_t direction, ir_op *op) {
    *op = lib_made_by(m, v, IR_COMPARE);
    return !IR_NONE(*op) && ir_prop_i64(m, *op, IR_COMPARE_comparison_direction) == direction;
}

/* The argument that a value is, or of which it is a part. */
static bool key_base(const struct comparator *c, ir_val v, struct sort_key *k, bool *second) {
    const struct ir_module *m = c->m;
    k->dtype = ir_val_type(m, v)->dtype;
    const struct ir_dtype_info *t = ir_dtype_get(k->dtype);
    ir_op real = lib_made_by(m, v, IR_REAL), imag = lib_made_by(m, v, IR_IMAG);
    ir_op part = IR_NONE(real) ? imag : real;
    if (!IR_NONE(part)) {
        v = ir_operand(m, part, 0);
        if (ir_dtype_get(ir_val_type(m, v)->dtype)->cls != IR_COMPLEX_CLASS)
            return false;
        k->offset = IR_NONE(imag) ? 0 : t->bytes;
    }
    const struct ir_val_data *d = ir_val_get(m, v);
    if (!IR_SAME(d->block, c->block) || t->cls == IR_COMPLEX_CLASS)
        return false;
    k->operand = d->index / 2;
    *second = d->index % 2;
    return true;
}

static bool same_base(const struct comparator *c, ir_val v, const struct sort_key *k, bool second) {
    struct sort_key other = {0};
    bool other_second;
    return key_base(c, v, &other, &other_second) && other.operand == k->operand && other.offset == k->offset &&
           other_second == second;
}

static bool key_of_value(const struct comparator *c, ir_val v, struct sort_key *k, bool *second) {
    const struct ir_module *m = c->m;
    ir_op select = lib_made_by(m, v, IR_SELECT), compare;
    if (IR_NONE(select))
        return key_base(c, v, k, second);
    ir_val pred = ir_operand(m, select, 0), to = ir_operand(m, select, 1);
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, v)->dtype);
    uint64_t bits, zero;
    if (!key_of_value(c, ir_operand(m, select, 2), k, second) || t->cls != IR_FLOAT || !lib_constant(m, to, &bits))
        return false;
    uint64_t sign = fp_get(t->fp)->sign;
    if (is_compare(m, pred, IR_COMPARISON_DIRECTION_NE, &compare) && fp_is_nan(t->fp, bits) &&
        ir_prop_i64(m, compare, IR_COMPARE_compare_type) != IR_COMPARISON_TYPE_TOTALORDER) {
        k->flags |= ORDER_ONE_NAN | (bits & sign ? ORDER_NEGATIVE_NAN : 0u);
        return same_base(c, ir_operand(m, compare, 0), k, *second) && same_base(c, ir_operand(m, compare, 1), k, *second);
    }
    if (is_compare(m, pred, IR_COMPARISON_DIRECTION_EQ, &compare) && (bits & ~sign) == 0 && !fp_is_nan(t->fp, bits) &&
        ir_prop_i64(m, compare, IR_COMPARE_compare_type) != IR_COMPARISON_TYPE_TOTALORDER) {
        k->flags |= ORDER_ONE_ZERO;
        return same_base(c, ir_operand(m, compare, 0), k, *second) && lib_constant(m, ir_operand(m, compare, 1), &zero) &&
               (zero & ~sign) == 0 && t->fp != FP_F8E8M0FNU;
    }
    return false;
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

/* A comparison of one key of both sides; `swapped`: the second side is first. */
static bool key_compare(const struct comparator *c, ir_val v, struct sort_key *k, int64_t *direction, bool *swapped) {
    const struct ir_module *m = c->m;
    ir_op op = lib_made_by(m, v, IR_COMPARE);
    struct sort_key b = {0};
    bool a_second, b_second;
    *k = (struct sort_key){0};
    if (IR_NONE(op) || !key_of_value(c, ir_operand(m, op, 0), k, &a_second) ||
        !key_of_value(c, ir_operand(m, op, 1), &b, &b_second) || a_second == b_second || k->operand != b.operand ||
        k->offset != b.offset || k->flags != b.flags)
        return false;
    *direction = ir_prop_i64(m, op, IR_COMPARE_comparison_direction);
    *swapped = a_second;
    if (ir_dtype_get(k->dtype)->cls == IR_FLOAT && ir_prop_i64(m, op, IR_COMPARE_compare_type) != IR_COMPARISON_TYPE_TOTALORDER)
        k->flags |= ORDER_PARTIAL | ORDER_ONE_ZERO;
    return true;
}

/* A key that an order compares: not equality. */
static bool key_order(const struct comparator *c, ir_val v, struct sort_key *k, bool *inclusive) {
    int64_t direction;
    bool swapped;
    if (!key_compare(c, v, k, &direction, &swapped))
        return false;
    bool less = direction == IR_COMPARISON_DIRECTION_LT || direction == IR_COMPARISON_DIRECTION_LE;
    bool greater = direction == IR_COMPARISON_DIRECTION_GT || direction == IR_COMPARISON_DIRECTION_GE;
    *inclusive = direction == IR_COMPARISON_DIRECTION_LE || direction == IR_COMPARISON_DIRECTION_GE;
    if (less ? swapped : !swapped)
        k->flags |= ORDER_DESCENDING;
    return less || greater;
}

/* True when `v` tests whether both sides have (not: differ in) key k. */
static bool key_equality(const struct comparator *c, ir_val v, const struct sort_key *k, int64_t wanted) {
    struct sort_key e;
    int64_t direction;
    bool swapped;
    return key_compare(c, v, &e, &direction, &swapped) && direction == wanted && e.operand == k->operand &&
           e.offset == k->offset && e.flags == (k->flags & ~(unsigned)ORDER_DESCENDING);
}

static bool order_of(struct comparator *c, ir_val v);

/* `strict` decides, and `rest` where `equal` (`unequal`) holds. */
static bool order_then(struct comparator *c, ir_val strict, ir_val equality, int64_t wanted, ir_val rest) {
    struct sort_key k;
    bool inclusive;
    if (c->s->nkeys == SORT_MOST_KEYS || !key_order(c, strict, &k, &inclusive) || inclusive ||
        !key_equality(c, equality, &k, wanted))
        return false;
    c->s->key[c->s->nkeys++] = k;
    return order_of(c, rest);
}

static bool order_of(struct comparator *c, ir_val v) {
    const struct ir_module *m = c->m;
    const int64_t eq = IR_COMPARISON_DIRECTION_EQ, ne = IR_COMPARISON_DIRECTION_NE;
    ir_op op = ir_val_get(m, v)->op;
    uint32_t nkeys = c->s->nkeys;
    if (IR_NONE(op) || nkeys == SORT_MOST_KEYS)
        return false;
    switch (ir_kind(m, op)) {
    case IR_COMPARE:
        c->s->nkeys++;
        return key_order(c, v, &c->s->key[nkeys], &c->s->inclusive);
    case IR_SELECT: {
        ir_val p = ir_operand(m, op, 0), a = ir_operand(m, op, 1), b = ir_operand(m, op, 2);
        return order_then(c, b, p, eq, a) || (c->s->nkeys = nkeys, order_then(c, a, p, ne, b));
    }
    case IR_OR:
        for (uint32_t side = 0; side < 2; side++) {
            ir_op both = lib_made_by(m, ir_operand(m, op, 1 - side), IR_AND);
            for (uint32_t e = 0; e < 2 && !IR_NONE(both); e++) {
                c->s->nkeys = nkeys;
                if (order_then(c, ir_operand(m, op, side), ir_operand(m, both, e), eq, ir_operand(m, both, 1 - e)))
                    return true;
            }
        }
        return false;
    default:
        return false;
    }
}

/* ---- the op -------------------------------------------------------------------------------------------------------- */

static bool sort_write(const struct sort *s, struct lib_match *out) {
    bool fits = lib_put(out, (int64_t)s->length) && lib_put(out, (int64_t)s->outer) && lib_put(out, (int64_t)s->inner) &&
                lib_put(out, s->inclusive) && lib_put(out, s->noperands) && lib_put(out, s->nkeys);
    for (uint32_t i = 0; i < s->noperands; i++)
        fits = fits && lib_put(out, (int64_t)s->bytes[i]);
    for (uint32_t i = 0; i < s->nkeys; i++)
        fits = fits && lib_put(out, s->key[i].operand) && lib_put(out, s->key[i].offset) && lib_put(out, s->key[i].dtype) &&
               lib_put(out, s->key[i].flags);
    return fits;
}

bool lib_match_sort(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_SORT || !lib_tensors(m, op))
        return false;
    const struct ir_op_data *o = ir_op_get(m, op);
    const struct ir_type_data *t = ir_val_type(m, o->operands[0]);
    int64_t dim = ir_prop_i64(m, op, IR_SORT_dimension);
    dim += dim < 0 ? t->rank : 0;
    if (o->noperands > SORT_MOST_OPERANDS || dim < 0 || dim >= t->rank || t->dims[dim] > UINT32_MAX)
        return false;
    struct sort s = {.length = (size_t)t->dims[dim], .noperands = o->noperands};
    s.outer = lib_product(t->dims, 0, (uint32_t)dim);
    s.inner = lib_product(t->dims, (uint32_t)dim + 1, t->rank);
    for (uint32_t i = 0; i < o->noperands; i++)
        s.bytes[i] = ir_dtype_get(ir_val_type(m, o->operands[i])->dtype)->bytes;
    struct comparator c = {m, ir_region_get(m, ir_op_region(m, op, 0))->first, &s};
    ir_op ret = ir_terminator(m, c.block);
    if (!order_of(&c, ir_operand(m, ret, 0)) || !sort_write(&s, out) || !sort_scratch(&s, &out->scratch_bytes))
        return false;
    out->in_place = sort_packs(&s);
    out->ns = 30.0 * (double)s.length * (double)s.outer * (double)s.inner * s.nkeys;
    return true;
}
