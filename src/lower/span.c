/* Values over spans of indices: what a block of scores is known to be before it is computed, so that a block that is masked
 * altogether can be skipped.
 *
 * Integers are intervals and truth values are two bits, "may hold" and "holds for certain", as values of the kernel that is
 * built: they are computed when it runs, from the indices of the block and from scalars in memory. */
#include "lower/stages.h"

#include <math.h>

enum { SPAN_VISITS = 256 }; /* values that an answer may take: one that is read twice is visited twice */

/* lo … hi, i64; truth values: lo holds for certain, hi may hold. valid: when it can be relied upon; none: always. */
struct range {
    bool known;
    kir_val lo, hi, valid;
};

static kir_val both(struct lower *l, kir_val a, kir_val b) {
    return !a.i ? b : !b.i ? a : kir_op2(l->k, KIR_AND, 0, a, b);
}

static kir_val truth(struct lower *l, bool x) {
    return kir_int(l->k, KIR_I1, x);
}

static struct range unknown(struct lower *l, ir_val v) {
    struct range r = {.known = ir_val_type(l->m, v)->dtype == IR_I1_T, .lo = truth(l, false), .hi = truth(l, true)};
    return r;
}

/* Spans of one shape as those of another, to which dimensions of one element come, or go; false if others differ. */
static bool reshaped_span(struct lower *l, const struct ir_type_data *from, const struct lower_span *at,
                          const struct ir_type_data *to, struct lower_span *out) {
    uint32_t j = 0;
    for (uint32_t i = 0; i < to->rank; i++) {
        out[i] = (struct lower_span){kir_i64(l->k, 0), kir_i64(l->k, 0)};
        while (to->dims[i] != 1 && j < from->rank && from->dims[j] == 1)
            j++;
        if (to->dims[i] != 1 && (j == from->rank || from->dims[j] != to->dims[i]))
            return false;
        if (to->dims[i] != 1)
            out[i] = at[j++];
    }
    return true;
}

/* The span of an operand of an op that moves elements; false for what is not followed. */
static bool operand_span(struct lower *l, ir_op op, const struct lower_span *at, struct lower_span *out) {
    if (!ir_op_get(l->m, op)->noperands)
        return false;
    const struct ir_type_data *t = ir_val_type(l->m, ir_operand(l->m, op, 0)), *r = ir_val_type(l->m, ir_result(l->m, op, 0));
    struct lower_span zero = {kir_i64(l->k, 0), kir_i64(l->k, 0)};
    const int64_t *d;
    size_t n;
    switch (ir_kind(l->m, op)) {
    case IR_BROADCAST_IN_DIM:
        d = ir_prop_i64s(l->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
        for (uint32_t i = 0; i < t->rank; i++)
            out[i] = t->dims[i] == 1 ? zero : at[d[i]];
        return true;
    case IR_TRANSPOSE:
        d = ir_prop_i64s(l->m, op, IR_TRANSPOSE_permutation, &n);
        for (uint32_t i = 0; i < t->rank; i++)
            out[d[i]] = at[i];
        return true;
    case IR_SLICE:
        d = ir_prop_i64s(l->m, op, IR_SLICE_start_indices, &n);
        for (uint32_t i = 0; i < t->rank; i++) {
            size_t strides;
            int64_t stride = ir_prop_i64s(l->m, op, IR_SLICE_strides, &strides)[i];
            out[i].lo = lower_add(l, lower_mul(l, at[i].lo, stride), kir_i64(l->k, d[i]));
            out[i].hi = lower_add(l, lower_mul(l, at[i].hi, stride), kir_i64(l->k, d[i]));
        }
        return true;
    case IR_RESHAPE:
        return reshaped_span(l, r, at, t, out);
    default:
        return false;
    }
}

static struct range range_of(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits);

/* Numbers of an op's result that wrap where they leave the type. */
static struct range wrapped(struct lower *l, ir_val v, struct range r) {
    const struct ir_dtype_info *d = ir_dtype_get(ir_val_type(l->m, v)->dtype);
    int64_t most = d->bits >= 63 ? INT64_MAX / 4 : ((int64_t)1 << (d->bits - (d->cls == IR_SINT))) - 1;
    int64_t least = d->cls == IR_SINT ? -most - 1 : 0;
    const struct kir_node *lo = kir_get(l->k, r.lo), *hi = kir_get(l->k, r.hi);
    if (lo->lo >= least && hi->hi <= most)
        return r;
    r.valid = both(l, r.valid, kir_cmp(l->k, KIR_GE, 0, r.lo, kir_i64(l->k, least)));
    r.valid = both(l, r.valid, kir_cmp(l->k, KIR_LE, 0, r.hi, kir_i64(l->k, most)));
    return r;
}

/* The range of an integer or truth value at an index. */
static struct range point(struct lower *l, ir_val v, const struct index *at) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    kir_val x = lower_value(l, v, at).re;
    if (t->dtype != IR_I1_T && kir_type(l->k, x) != KIR_I64)
        x = kir_typed(l->k, KIR_CONVERT, lower_sign(t->dtype), KIR_I64, x);
    return (struct range){true, x, x, {0}};
}

static struct range constant(struct lower *l, ir_val v) {
    const struct ir_dtype_info *d = ir_dtype_get(ir_val_type(l->m, v)->dtype);
    const struct ir_attr_data *a = ir_attr_get(l->m, ir_constant_value(l->m, ir_val_get(l->m, v)->op));
    static const struct index none;
    bool splat = a->kind == IR_ATTR_DENSE && a->splat && a->data;
    return splat && (d->cls == IR_SINT || d->cls == IR_UINT || d->cls == IR_PRED) ? point(l, v, &none) : unknown(l, v);
}

/* An integer in memory at one index. */
static struct range stored(struct lower *l, ir_val v, const struct lower_span *at) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    const struct ir_dtype_info *d = ir_dtype_get(t->dtype);
    struct index here = {.n = t->rank};
    for (uint32_t i = 0; i < t->rank; i++) {
        here.at[i] = at[i].lo;
        if (at[i].lo.i != at[i].hi.i)
            return unknown(l, v);
    }
    if ((d->cls != IR_SINT && d->cls != IR_UINT) || d->bits < 8 || (d->cls == IR_UINT && d->bits == 64))
        return unknown(l, v);
    return point(l, v, &here);
}

static struct range compare(struct lower *l, ir_op op, struct range a, struct range b) {
    struct kir *k = l->k;
    int64_t direction = ir_prop_i64(l->m, op, IR_COMPARE_comparison_direction);
    struct range r = {.known = true, .valid = both(l, a.valid, b.valid)};
    if (direction == IR_COMPARISON_DIRECTION_GT || direction == IR_COMPARISON_DIRECTION_GE) { /* the other way round */
        struct range x = a;
        a = b;
        b = x;
    }
    if (direction == IR_COMPARISON_DIRECTION_EQ || direction == IR_COMPARISON_DIRECTION_NE) {
        bool equal = direction == IR_COMPARISON_DIRECTION_EQ;
        kir_val may = kir_op2(k, KIR_AND, 0, kir_cmp(k, KIR_LE, 0, a.lo, b.hi), kir_cmp(k, KIR_GE, 0, a.hi, b.lo));
        kir_val must = kir_op2(k, KIR_AND, 0, kir_cmp(k, KIR_EQ, 0, a.lo, b.hi), kir_cmp(k, KIR_EQ, 0, a.hi, b.lo));
        must = kir_op2(k, KIR_AND, 0, must, kir_cmp(k, KIR_EQ, 0, a.lo, a.hi));
        r.lo = equal ? must : kir_op1(k, KIR_NOT, may);
        r.hi = equal ? may : kir_op1(k, KIR_NOT, must);
    } else {
        bool strict = direction == IR_COMPARISON_DIRECTION_LT || direction == IR_COMPARISON_DIRECTION_GT;
        r.lo = kir_cmp(k, strict ? KIR_LT : KIR_LE, 0, a.hi, b.lo);
        r.hi = kir_cmp(k, strict ? KIR_LT : KIR_LE, 0, a.lo, b.hi);
    }
    if (r.valid.i) { /* else anything may be */
        r.lo = kir_op2(k, KIR_AND, 0, r.lo, r.valid);
        r.hi = kir_op2(k, KIR_OR, 0, r.hi, kir_op1(k, KIR_NOT, r.valid));
    }
    r.valid = (kir_val){0};
    return r;
}

static struct range range_of(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits) {
    struct kir *k = l->k;
    ir_op op = ir_val_get(l->m, v)->op;
    struct lower_span moved[IR_MAX_RANK];
    struct range r[3], none = unknown(l, v);
    bool truths = ir_val_type(l->m, v)->dtype == IR_I1_T;
    if (fuse_is_constant(l->m, v))
        return constant(l, v);
    if (lower_is_stored(l, v))
        return stored(l, v, at);
    if (*visits == 0)
        return none;
    --*visits;
    enum ir_op_kind kind = ir_kind(l->m, op);
    if (kind == IR_IOTA) {
        const struct lower_span *s = &at[ir_prop_i64(l->m, op, IR_IOTA_iota_dimension)];
        enum ir_dtype_class cls = ir_dtype_get(ir_val_type(l->m, v)->dtype)->cls;
        return cls == IR_SINT || cls == IR_UINT ? wrapped(l, v, (struct range){true, s->lo, s->hi, {0}}) : none;
    }
    if (operand_span(l, op, at, moved))
        return range_of(l, ir_operand(l->m, op, 0), moved, visits);
    uint32_t n = ir_op_get(l->m, op)->noperands;
    if (fuse_class(kind) != FUSE_ELEMENT || n > 3)
        return none;
    for (uint32_t i = 0; i < n; i++) {
        enum ir_dtype_class cls = ir_dtype_get(ir_val_type(l->m, ir_operand(l->m, op, i))->dtype)->cls;
        if (cls != IR_PRED && cls != IR_SINT && cls != IR_UINT)
            return none;
        r[i] = range_of(l, ir_operand(l->m, op, i), at, visits);
        if (!r[i].known)
            return none;
    }
    none = (struct range){.known = true, .valid = n > 1 && !truths ? both(l, r[0].valid, r[1].valid) : r[0].valid};
    switch (kind) {
    case IR_COMPARE:
        return ir_val_type(l->m, ir_operand(l->m, op, 0))->dtype == IR_I1_T ? unknown(l, v) : compare(l, op, r[0], r[1]);
    case IR_ADD:
        none.lo = lower_add(l, r[0].lo, r[1].lo), none.hi = lower_add(l, r[0].hi, r[1].hi);
        return truths ? unknown(l, v) : wrapped(l, v, none);
    case IR_SUBTRACT:
        none.lo = kir_op2(k, KIR_SUB, 0, r[0].lo, r[1].hi), none.hi = kir_op2(k, KIR_SUB, 0, r[0].hi, r[1].lo);
        return truths ? unknown(l, v) : wrapped(l, v, none);
    case IR_CONVERT:
        if (truths || ir_val_type(l->m, ir_operand(l->m, op, 0))->dtype == IR_I1_T)
            return unknown(l, v);
        return wrapped(l, v, r[0]);
    case IR_AND:
    case IR_OR:
        none.lo = kir_op2(k, kind == IR_AND ? KIR_AND : KIR_OR, 0, r[0].lo, r[1].lo);
        none.hi = kir_op2(k, kind == IR_AND ? KIR_AND : KIR_OR, 0, r[0].hi, r[1].hi);
        return truths ? none : unknown(l, v);
    case IR_NOT:
        none.lo = kir_op1(k, KIR_NOT, r[0].hi), none.hi = kir_op1(k, KIR_NOT, r[0].lo);
        return truths ? none : unknown(l, v);
    case IR_SELECT:
        if (!truths)
            return unknown(l, v);
        none.hi = kir_op2(k, KIR_OR, 0, kir_op2(k, KIR_AND, 0, r[0].hi, r[1].hi),
                          kir_op2(k, KIR_AND, 0, kir_op1(k, KIR_NOT, r[0].lo), r[2].hi));
        none.lo = kir_op2(k, KIR_OR, 0, kir_op2(k, KIR_AND, 0, r[0].lo, r[1].lo),
                          kir_op2(k, KIR_AND, 0, kir_op1(k, KIR_NOT, r[0].hi), r[2].lo));
        none.valid = (kir_val){0};
        return none;
    default:
        return unknown(l, v);
    }
}

/* ---- masks ---------------------------------------------------------------------------------------- */

enum { FAR = 100 }; /* powers of two by which what is added to a score exceeds all others */

/* The number that all elements of a constant are. */
static bool number(const struct lower *l, ir_val v, double *out) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    if (!fuse_is_constant(l->m, v) || ir_dtype_get(t->dtype)->cls != IR_FLOAT)
        return false;
    const struct ir_attr_data *a = ir_attr_get(l->m, ir_constant_value(l->m, ir_val_get(l->m, v)->op));
    if (a->kind != IR_ATTR_DENSE || !a->splat || !a->data)
        return false;
    *out = fp_decode(ir_dtype_get(t->dtype)->fp, fp_load(ir_dtype_get(t->dtype)->fp, a->data));
    return true;
}

/* *out is set when the answer is true. `stored`: also where v, or what it is computed from, is stored by another kernel. */
static bool unmasked(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits, bool stored,
                     struct lower_mask *out) {
    ir_op op = ir_val_get(l->m, v)->op;
    struct lower_span moved[IR_MAX_RANK];
    struct lower_mask side[2];
    bool found[2];
    double x;
    if (*visits == 0 || IR_NONE(op) || fuse_is_constant(l->m, v) || (!stored && lower_is_stored(l, v)) || lower_is_stage(l, v))
        return false;
    --*visits;
    if (ir_kind(l->m, op) == IR_SELECT) {
        struct range p = range_of(l, ir_operand(l->m, op, 0), at, visits);
        for (uint32_t i = 0; i < 2; i++) { /* the branches */
            ir_val branch = ir_operand(l->m, op, 1 + i);
            found[i] = number(l, branch, &x) && x < 0;
            if (found[i])
                side[i] = (struct lower_mask){truth(l, false), x, true};
            else if (!(found[i] = unmasked(l, branch, at, visits, stored, &side[i])))
                side[i] = (struct lower_mask){.possible = truth(l, true)};
            side[i].possible = kir_op2(l->k, KIR_AND, 0, side[i].possible, i ? kir_op1(l->k, KIR_NOT, p.lo) : p.hi);
        }
        *out = side[!found[0]];
        out->possible = kir_op2(l->k, KIR_OR, 0, side[0].possible, side[1].possible);
        if (found[0] && found[1]) {
            out->exact = side[0].exact && side[1].exact && side[0].bound == side[1].bound;
            out->bound = fmax(side[0].bound, side[1].bound);
        }
        return found[0] || found[1];
    }
    if (ir_kind(l->m, op) == IR_ADD) { /* of something so low that the other summand does not matter */
        for (uint32_t i = 0; i < 2; i++)
            found[i] = unmasked(l, ir_operand(l->m, op, i), at, visits, stored, &side[i]) &&
                       side[i].bound <= -ldexp(1, FAR);
        if (!found[0] && !found[1])
            return false;
        *out = found[0] ? side[0] : side[1];
        out->exact = out->exact && isinf(out->bound);
        out->bound /= 2;
        return true;
    }
    if (ir_kind(l->m, op) == IR_CONVERT) {
        bool any = unmasked(l, ir_operand(l->m, op, 0), at, visits, stored, out);
        out->exact = any && out->exact && isinf(out->bound);
        return any;
    }
    return operand_span(l, op, at, moved) && unmasked(l, ir_operand(l->m, op, 0), moved, visits, stored, out);
}

bool lower_unmasked(struct lower *l, ir_val v, const struct lower_span *at, struct lower_mask *out) {
    uint32_t visits = SPAN_VISITS;
    return unmasked(l, v, at, &visits, false, out) && !kir_is_const(l->k, out->possible, &(int64_t){0});
}

/* ---- weights of attention --------------------------------------------------------------------------- */

enum { WEIGHT_LOW = 1000 /* below other scores: its exponential is 0 */ };

/* Whether an op's result has elements of its only operand. */
static bool moves_elements(enum ir_op_kind kind) {
    return kind == IR_CONVERT || kind == IR_RESHAPE || kind == IR_TRANSPOSE || kind == IR_BROADCAST_IN_DIM || kind == IR_SLICE;
}

/* Whether some elements of v may be very low since a mask makes them so. */
static bool is_masked(const struct lower *l, ir_val v, uint32_t *visits) {
    ir_op op = ir_val_get(l->m, v)->op;
    double x;
    if (IR_NONE(op) || fuse_is_constant(l->m, v) || *visits == 0)
        return false;
    --*visits;
    enum ir_op_kind kind = ir_kind(l->m, op);
    if (kind == IR_SELECT)
        for (uint32_t i = 1; i <= 2; i++)
            if ((number(l, ir_operand(l->m, op, i), &x) && x <= -WEIGHT_LOW) ||
                is_masked(l, ir_operand(l->m, op, i), visits))
                return true;
    if (kind == IR_ADD && is_masked(l, ir_operand(l->m, op, 1), visits))
        return true;
    return (kind == IR_ADD || kind == IR_SUBTRACT || moves_elements(kind)) && is_masked(l, ir_operand(l->m, op, 0), visits);
}

/* Whether elements of v are 0 where a mask is: v is computed from the exponential of something masked. */
static bool is_weight(const struct lower *l, ir_val v, uint32_t *visits) {
    ir_op op = ir_val_get(l->m, v)->op;
    double x;
    if (IR_NONE(op) || fuse_is_constant(l->m, v))
        return number(l, v, &x) && x == 0;
    if (*visits == 0 || !ir_op_get(l->m, op)->noperands)
        return false;
    --*visits;
    enum ir_op_kind kind = ir_kind(l->m, op);
    ir_val first = ir_operand(l->m, op, 0);
    switch (kind) {
    case IR_EXPONENTIAL:
        return is_masked(l, first, visits);
    case IR_MULTIPLY:
        return is_weight(l, first, visits) || is_weight(l, ir_operand(l->m, op, 1), visits);
    case IR_ADD:
    case IR_SUBTRACT:
        return is_weight(l, first, visits) && is_weight(l, ir_operand(l->m, op, 1), visits);
    case IR_SELECT:
        return is_weight(l, ir_operand(l->m, op, 1), visits) && is_weight(l, ir_operand(l->m, op, 2), visits);
    default:
        return (moves_elements(kind) || kind == IR_NEGATE || kind == IR_DIVIDE) && is_weight(l, first, visits);
    }
}

bool lower_is_masked_weight(const struct lower *l, ir_val v) {
    uint32_t visits = SPAN_VISITS;
    return !fuse_is_constant(l->m, v) && is_weight(l, v, &visits);
}

/* ---- uses that a mask ends -------------------------------------------------------------------------- */

enum { USES_OPS = 4096 /* after a value: more are not searched for what reads it */ };

/* Whether some scores are -inf since a mask makes them so: *possible says whether others may be in the span. A maximum that is
   subtracted changes nothing of that, or makes NaN of it. */
static bool is_low(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits, kir_val *possible) {
    ir_op op = ir_val_get(l->m, v)->op;
    struct lower_span moved[IR_MAX_RANK];
    struct lower_mask mask;
    if (*visits == 0 || IR_NONE(op) || fuse_is_constant(l->m, v))
        return false;
    --*visits;
    if (ir_kind(l->m, op) == IR_SUBTRACT)
        return is_low(l, ir_operand(l->m, op, 0), at, visits, possible);
    if (operand_span(l, op, at, moved))
        return is_low(l, ir_operand(l->m, op, 0), moved, visits, possible);
    if (!unmasked(l, v, at, visits, true, &mask) || !mask.exact || !isinf(mask.bound))
        return false;
    *possible = mask.possible;
    return true;
}

/* Whether elements of v are 0, or NaN, where a mask is: *possible says whether others may be in the span. */
static bool is_zero(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits, kir_val *possible) {
    ir_op op = ir_val_get(l->m, v)->op;
    struct lower_span moved[IR_MAX_RANK];
    double x;
    if (*visits == 0 || IR_NONE(op) || !ir_op_get(l->m, op)->noperands)
        return false;
    --*visits;
    ir_val first = ir_operand(l->m, op, 0);
    switch (ir_kind(l->m, op)) {
    case IR_EXPONENTIAL:
        return is_low(l, first, at, visits, possible);
    case IR_MULTIPLY:
        return is_zero(l, first, at, visits, possible) || is_zero(l, ir_operand(l->m, op, 1), at, visits, possible);
    case IR_NEGATE:
    case IR_DIVIDE:
        return is_zero(l, first, at, visits, possible);
    case IR_SELECT:
        for (uint32_t i = 1; i <= 2; i++)
            if (number(l, ir_operand(l->m, op, i), &x) && x == 0)
                return is_zero(l, ir_operand(l->m, op, 3 - i), at, visits, possible);
        return false;
    default:
        return operand_span(l, op, at, moved) && is_zero(l, first, moved, visits, possible);
    }
}

/* Whether a region of the op may read v; `ops`: how many may still be looked at. */
static bool is_captured(const struct ir_module *m, ir_op of, ir_val v, uint32_t *ops) {
    for (uint32_t r = 0; r < ir_op_get(m, of)->nregions; r++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, of, r))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
                for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
                    if (IR_SAME(ir_operand(m, op, i), v))
                        return true;
                if (*ops == 0)
                    return true;
                --*ops;
                if (is_captured(m, op, v, ops))
                    return true;
            }
    return false;
}

static bool masked_uses(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits, kir_val *possible);

/* Whether it does not matter what operand i of an op is where a mask is, if it is finite: something very low is added to it, or
   another value selected instead, or it is multiplied by a weight that is 0. */
static bool is_masked_use(struct lower *l, ir_op op, uint32_t i, const struct lower_span *at, uint32_t *visits,
                          kir_val *possible) {
    enum ir_op_kind kind = ir_kind(l->m, op);
    struct lower_span moved[IR_MAX_RANK];
    struct lower_mask mask;
    if (ir_op_get(l->m, op)->nresults != 1)
        return false;
    ir_val r = ir_result(l->m, op, 0);
    if ((kind == IR_ADD || kind == IR_SELECT) && unmasked(l, r, at, visits, true, &mask)) {
        *possible = mask.possible;
        return true;
    }
    switch (kind) {
    case IR_MULTIPLY:
        return is_zero(l, ir_operand(l->m, op, 1 - i), at, visits, possible) || masked_uses(l, r, at, visits, possible);
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_NEGATE:
    case IR_CONVERT:
        return masked_uses(l, r, at, visits, possible);
    case IR_DIVIDE:
        return i == 0 && masked_uses(l, r, at, visits, possible);
    case IR_SELECT:
        return i != 0 && masked_uses(l, r, at, visits, possible);
    case IR_RESHAPE:
        return reshaped_span(l, ir_val_type(l->m, ir_operand(l->m, op, 0)), at, ir_val_type(l->m, r), moved) &&
               masked_uses(l, r, moved, visits, possible);
    default:
        return false;
    }
}

static bool masked_uses(struct lower *l, ir_val v, const struct lower_span *at, uint32_t *visits, kir_val *possible) {
    const struct ir_module *m = l->m;
    uint32_t ops = USES_OPS;
    kir_val any = {0}, one;
    if (*visits == 0)
        return false;
    --*visits;
    for (ir_op op = ir_op_get(m, ir_val_get(m, v)->op)->next; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        if (ops == 0 || is_captured(m, op, v, &ops))
            return false;
        ops -= ops != 0;
        for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
            if (!IR_SAME(ir_operand(m, op, i), v))
                continue;
            if (!is_masked_use(l, op, i, at, visits, &one))
                return false;
            any = any.i ? kir_op2(l->k, KIR_OR, 0, any, one) : one;
        }
    }
    *possible = any;
    return any.i != 0;
}

bool lower_masked_uses(struct lower *l, ir_val v, const struct lower_span *at, kir_val *possible) {
    uint32_t visits = SPAN_VISITS;
    return masked_uses(l, v, at, &visits, possible) && !kir_is_const(l->k, *possible, &(int64_t){0});
}
