/* Simplification of pure values: ranges of integers, constants, algebra that holds bit for bit, and index arithmetic.
 *
 * Sums of i64 have one form: the part of the outermost loops to the left, the part of the innermost to the right, a constant
 * last: ((outer + inner) + innermost) + 16. So what a loop does not change is added before it, and addresses that differ
 * by a constant share all but that. */
#include "kir/node.h"

static const kir_val none = {0};

static const struct kir_node *at(const struct kir *k, kir_val v) { return kir_get(k, v); }

static bool is_int(enum kir_type t) { return t != KIR_VOID && !kir_is_float(t); }
static int64_t least(enum kir_type t) {
    return t == KIR_I1 ? 0 : -((int64_t)1 << (kir_type_bits(t) - 2)) - ((int64_t)1 << (kir_type_bits(t) - 2));
}
static int64_t greatest(enum kir_type t) { return t == KIR_I1 ? 1 : -1 - least(t); }

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Both ends; unknown when one overflowed or is not of the type. */
struct range {
    int64_t lo, hi;
    bool over;
};

static struct range range_of(const struct kir *k, kir_val v) { return (struct range){at(k, v)->lo, at(k, v)->hi, false}; }

static struct range range_add(struct range a, struct range b) {
    struct range r = {0, 0, a.over || b.over};
    r.over = __builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi) || r.over;
    return r;
}

static struct range range_sub(struct range a, struct range b) {
    struct range r = {0, 0, a.over || b.over};
    r.over = __builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi) || r.over;
    return r;
}

static struct range range_mul(struct range a, struct range b) {
    int64_t p[4];
    struct range r = {0, 0, a.over || b.over};
    r.over = __builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
             __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]) || r.over;
    if (r.over)
        return r;
    r.lo = r.hi = p[0];
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

/* Quotient and remainder by something positive. */
static struct range range_div(struct range a, struct range b, bool rem, bool is_unsigned) {
    if (b.lo < 1 || (is_unsigned && a.lo < 0))
        return (struct range){.over = true};
    if (!rem)
        return (struct range){a.lo < 0 ? a.lo / b.lo : a.lo / b.hi, a.hi < 0 ? a.hi / b.hi : a.hi / b.lo, false};
    int64_t most = b.hi - 1;
    if (a.lo >= 0 && a.hi < b.lo)
        return a;
    return (struct range){a.lo >= 0 ? 0 : a.lo > -most ? a.lo : -most, a.hi < 0 ? 0 : a.hi < most ? a.hi : most, false};
}

static struct range range_minmax(struct range a, struct range b, bool max, bool is_unsigned) {
    if (is_unsigned && (a.lo < 0 || b.lo < 0)) {
        if (max || (a.lo < 0 && b.lo < 0))
            return (struct range){.over = true};
        return (struct range){0, a.lo < 0 ? b.hi : a.hi, false};
    }
    if (max)
        return (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, false};
    return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi, false};
}

static struct range range_bits(uint8_t op, struct range a, struct range b) {
    if (op == KIR_AND && (a.lo >= 0 || b.lo >= 0))
        return (struct range){0, b.lo < 0 || (a.lo >= 0 && a.hi < b.hi) ? a.hi : b.hi, false};
    if (op == KIR_AND || a.lo < 0 || b.lo < 0)
        return (struct range){.over = true};
    uint64_t most = (uint64_t)(a.hi | b.hi);
    while (most & (most + 1))
        most |= most >> 1;
    return (struct range){0, (int64_t)most, false};
}

static struct range range_shift(const struct kir_node *n, enum kir_type t, struct range a, struct range by) {
    if (by.lo != by.hi || by.lo < 0 || by.lo >= (int64_t)kir_type_bits(t))
        return (struct range){.over = true};
    if (n->op == KIR_SHL) {
        if (by.lo >= 62)
            return (struct range){.over = true};
        int64_t factor = (int64_t)1 << by.lo;
        return range_mul(a, (struct range){factor, factor, false});
    }
    if ((n->flags & KIR_U) && a.lo < 0)
        return by.lo ? (struct range){0, (int64_t)((2 * (uint64_t)greatest(t) + 1) >> by.lo), false} : a;
    return (struct range){a.lo >> by.lo, a.hi >> by.lo, false};
}

static struct range range_convert(const struct kir *k, const struct kir_node *n) {
    enum kir_type from = kir_type(k, n->arg[0]), to = (enum kir_type)n->type;
    struct range a = range_of(k, n->arg[0]);
    if (!is_int(from))
        return (struct range){.over = true};
    if ((n->flags & KIR_U) && a.lo < 0)
        return from == KIR_I64 ? (struct range){.over = true}
                               : (struct range){0, 2 * greatest(from) + 1, kir_type_bits(to) <= kir_type_bits(from)};
    return to == KIR_I1 ? (struct range){.over = true} : a;
}

static struct range range_ext(const struct kir_node *n, struct range a) {
    if (n->imm >= 64)
        return a;
    int64_t half = (int64_t)1 << (n->imm - 1), lo = -half, hi = half - 1;
    if (n->flags & KIR_U)
        lo = 0, hi = 2 * (half - 1) + 1;
    return a.lo >= lo && a.hi <= hi ? a : (struct range){lo, hi, false};
}

static struct range range_op(const struct kir *k, const struct kir_node *n, enum kir_type t) {
    struct range a = {0, 0, false}, b = {0, 0, false}, unknown = {0, 0, true};
    bool is_unsigned = (n->flags & KIR_U) != 0;
    if (KIR_IS(n->arg[0]))
        a = range_of(k, n->arg[0]);
    if (KIR_IS(n->arg[1]))
        b = range_of(k, n->arg[1]);
    if (t == KIR_I1 && n->op != KIR_CONST && n->op != KIR_SELECT)
        return unknown;
    switch (n->op) {
    case KIR_CONST: return (struct range){n->imm, n->imm, false};
    case KIR_LOOP: {
        int64_t extent = KIR_IS(n->arg[0]) ? a.hi : n->imm;
        return (struct range){0, extent > 1 ? extent - 1 : 0, false};
    }
    case KIR_ADD: return range_add(a, b);
    case KIR_SUB: return range_sub(a, b);
    case KIR_MUL: return range_mul(a, b);
    case KIR_DIV: return range_div(a, b, false, is_unsigned);
    case KIR_REM: return range_div(a, b, true, is_unsigned);
    case KIR_MIN: return range_minmax(a, b, false, is_unsigned);
    case KIR_MAX: return range_minmax(a, b, true, is_unsigned);
    case KIR_NEG: return range_sub((struct range){0, 0, false}, a);
    case KIR_ABS: return a.lo >= 0 ? a : a.lo == least(t) ? unknown : (struct range){0, -a.lo > a.hi ? -a.lo : a.hi, false};
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR: return range_bits(n->op, a, b);
    case KIR_NOT: return (struct range){~a.hi, ~a.lo, false};
    case KIR_SHL:
    case KIR_SHR: return range_shift(n, t, a, b);
    case KIR_CLZ:
    case KIR_POPCNT: return (struct range){0, kir_type_bits(t), false};
    case KIR_EXT: return range_ext(n, a);
    case KIR_SELECT: {
        struct range c = range_of(k, n->arg[2]);
        return (struct range){b.lo < c.lo ? b.lo : c.lo, b.hi > c.hi ? b.hi : c.hi, false};
    }
    case KIR_CONVERT: return range_convert(k, n);
    case KIR_BITCAST: return is_int(kir_type(k, n->arg[0])) ? a : unknown;
    default: return unknown;
    }
}

void kir_set_range(const struct kir *k, struct kir_node *n) {
    enum kir_type t = (enum kir_type)n->type;
    n->lo = n->hi = 0;
    if (!is_int(t))
        return;
    struct range r = range_op(k, n, t);
    bool known = !r.over && r.lo >= least(t) && r.hi <= greatest(t);
    n->lo = known ? r.lo : least(t);
    n->hi = known ? r.hi : greatest(t);
}

static uint32_t zeros_within(const struct kir *k, kir_val v, uint32_t depth) {
    const struct kir_node *n = at(k, v);
    uint32_t most = kir_type_bits((enum kir_type)n->type), a, b;
    if (n->op == KIR_CONST)
        return n->imm ? (uint32_t)__builtin_ctzll((uint64_t)n->imm) : most;
    if (!depth || !is_int((enum kir_type)n->type))
        return 0;
    switch (n->op) {
    case KIR_ADD:
    case KIR_SUB:
    case KIR_MUL:
    case KIR_REM:
    case KIR_MIN:
    case KIR_MAX:
    case KIR_AND:
        a = zeros_within(k, n->arg[0], depth - 1);
        b = zeros_within(k, n->arg[1], depth - 1);
        break;
    case KIR_SELECT:
        a = zeros_within(k, n->arg[1], depth - 1);
        b = zeros_within(k, n->arg[2], depth - 1);
        break;
    default: return 0;
    }
    if (n->op == KIR_MUL)
        return a + b < most ? a + b : most;
    return (a < b) == (n->op != KIR_AND) ? a : b;
}

uint32_t kir_zeros(const struct kir *k, kir_val v) {
    return zeros_within(k, v, 8);
}

/* ---- constants and algebra ------------------------------------------------------------------- */

static bool is_const(const struct kir *k, kir_val v, int64_t *out) { return KIR_IS(v) && kir_is_const(k, v, out); }

static bool is_value(const struct kir *k, kir_val v, double x) {
    int64_t bits;
    if (!is_const(k, v, &bits))
        return false;
    enum kir_type t = kir_type(k, v);
    if (!kir_is_float(t))
        return bits == (int64_t)x;
    return bits == kir_narrow(t, fp_encode(t == KIR_F32 ? FP_F32 : FP_F64, x)); /* -0 is not 0 */
}

static kir_val constant(struct kir *k, enum kir_type t, int64_t bits) {
    struct kir_node n = {.op = KIR_CONST, .type = (uint8_t)t, .imm = bits};
    return kir_pure(k, &n);
}

static bool all_bits(const struct kir *k, kir_val v) {
    int64_t bits;
    return is_const(k, v, &bits) && bits == (kir_type(k, v) == KIR_I1 ? 1 : -1);
}

/* All operands constant: the value. MATH has none until it is expanded. */
static kir_val fold_constant(struct kir *k, const struct kir_node *n) {
    int64_t x[3] = {0, 0, 0};
    if (!kir_is_pure(n) || n->op == KIR_MATH || n->op == KIR_CONST)
        return none;
    for (int i = 0; i < 3; i++)
        if (KIR_IS(n->arg[i]) && !kir_is_const(k, n->arg[i], &x[i]))
            return none;
    return constant(k, (enum kir_type)n->type, kir_eval(n, kir_type(k, n->arg[0]), x[0], x[1], x[2]));
}

static bool commutes(const struct kir_node *n) {
    switch (n->op) {
    case KIR_ADD:
    case KIR_MUL:
    case KIR_MIN:
    case KIR_MAX:
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR:
    case KIR_MULHI:
    case KIR_DOT2:
    case KIR_CMP: return true; /* with the other relation */
    default: return false;
    }
}

static uint8_t mirrored(uint8_t cmp) {
    static const uint8_t of[] = {[KIR_EQ] = KIR_EQ, [KIR_NE] = KIR_NE, [KIR_LT] = KIR_GT,
                                 [KIR_LE] = KIR_GE, [KIR_GT] = KIR_LT, [KIR_GE] = KIR_LE};
    return of[cmp];
}

/* Constants go last, else the older value first. */
static void order_operands(const struct kir *k, struct kir_node *n) {
    bool first = is_const(k, n->arg[0], NULL), second = is_const(k, n->arg[1], NULL);
    if (!commutes(n) || second || (!first && n->arg[0].i <= n->arg[1].i))
        return;
    kir_val a = n->arg[0];
    n->arg[0] = n->arg[1];
    n->arg[1] = a;
    if (n->op == KIR_CMP)
        n->sub = mirrored(n->sub);
}

/* x + 0 and the like: values whose bits are those of an operand, for floats too. */
static kir_val fold_neutral(const struct kir *k, const struct kir_node *n) {
    kir_val a = n->arg[0], b = n->arg[1];
    bool f = kir_is_float((enum kir_type)n->type);
    switch (n->op) {
    case KIR_ADD: return is_value(k, b, f ? -0.0 : 0.0) ? a : none;
    case KIR_SUB: return is_value(k, b, 0) ? a : none;
    case KIR_MUL:
        if (!f && is_value(k, b, 0))
            return b;
        return is_value(k, b, 1) ? a : none;
    case KIR_DIV: return is_value(k, b, 1) && n->type != KIR_I1 ? a : none;
    case KIR_AND: return a.i == b.i || all_bits(k, b) ? a : is_value(k, b, 0) ? b : none;
    case KIR_OR: return a.i == b.i || is_value(k, b, 0) ? a : all_bits(k, b) ? b : none;
    case KIR_XOR: return is_value(k, b, 0) ? a : none;
    case KIR_SHL:
    case KIR_SHR: return is_value(k, b, 0) ? a : none;
    case KIR_MIN:
    case KIR_MAX: return a.i == b.i ? a : none;
    case KIR_NEG:
    case KIR_NOT: return at(k, a)->op == n->op ? at(k, a)->arg[0] : none;
    case KIR_ABS: return !f && at(k, a)->lo >= 0 ? a : none;
    case KIR_EXT: return n->imm >= (int64_t)kir_type_bits((enum kir_type)n->type) ? a : none;
    case KIR_ROUND: return at(k, a)->op == KIR_ROUND && at(k, a)->imm == n->imm ? a : none;
    case KIR_ANY: return at(k, a)->op == KIR_ANY ? a : none;
    case KIR_CONVERT:
    case KIR_BITCAST: return n->type == at(k, a)->type ? a : none;
    default: return none;
    }
}

/* An integer that was truncated without loss and is extended again. */
static kir_val fold_widened(struct kir *k, const struct kir_node *n) {
    const struct kir_node *narrow = at(k, n->arg[0]);
    enum kir_type t = (enum kir_type)narrow->type;
    if (n->op != KIR_CONVERT || n->type == KIR_I1 || narrow->op != KIR_CONVERT || !is_int(t) || t == KIR_I1)
        return none;
    const struct kir_node *x = at(k, narrow->arg[0]);
    bool wider = is_int((enum kir_type)x->type) && kir_type_bits((enum kir_type)x->type) > kir_type_bits(t);
    if (!wider || x->lo < ((n->flags & KIR_U) ? 0 : least(t)) || x->hi > greatest(t))
        return none;
    return kir_typed(k, KIR_CONVERT, 0, (enum kir_type)n->type, narrow->arg[0]);
}

static kir_val fold_select(struct kir *k, const struct kir_node *n) {
    int64_t c;
    kir_val a = n->arg[1], b = n->arg[2];
    if (is_const(k, n->arg[0], &c))
        return c ? a : b;
    if (a.i == b.i)
        return a;
    if (n->type == KIR_I1 && is_value(k, a, 1) && is_value(k, b, 0))
        return n->arg[0];
    if (n->type == KIR_I1 && is_value(k, a, 0) && is_value(k, b, 1))
        return kir_op1(k, KIR_NOT, n->arg[0]);
    return none;
}

/* A comparison or select that ranges decide. */
static kir_val fold_by_range(struct kir *k, const struct kir_node *n) {
    enum kir_type t = kir_type(k, n->arg[0]);
    if (!is_int(t) || !KIR_IS(n->arg[1]))
        return none;
    const struct kir_node *a = at(k, n->arg[0]), *b = at(k, n->arg[1]);
    if ((n->flags & KIR_U) && (a->lo < 0 || b->lo < 0))
        return n->op == KIR_CMP && n->arg[0].i == n->arg[1].i
                   ? constant(k, KIR_I1, n->sub == KIR_EQ || n->sub == KIR_LE || n->sub == KIR_GE) : none;
    bool below = a->hi < b->lo, above = a->lo > b->hi, same = n->arg[0].i == n->arg[1].i;
    bool at_most = same || a->hi <= b->lo, at_least = same || a->lo >= b->hi;
    if (n->op == KIR_MIN || n->op == KIR_MAX)
        return at_most || at_least ? n->arg[(n->op == KIR_MIN) != at_most] : none;
    if (n->op == KIR_REM)
        return a->lo >= 0 && below ? n->arg[0] : none;
    if (n->op != KIR_CMP)
        return none;
    switch (n->sub) {
    case KIR_EQ:
    case KIR_NE: return same || below || above ? constant(k, KIR_I1, same == (n->sub == KIR_EQ)) : none;
    case KIR_LT: return below || at_least ? constant(k, KIR_I1, below) : none;
    case KIR_LE: return at_most || above ? constant(k, KIR_I1, at_most) : none;
    case KIR_GT: return above || at_most ? constant(k, KIR_I1, above) : none;
    default: return at_least || below ? constant(k, KIR_I1, at_least) : none;
    }
}

/* not (a < b) is a >= b, but for floats, where NaN makes both false. */
static kir_val fold_not(struct kir *k, const struct kir_node *n) {
    static const uint8_t inverse[] = {[KIR_EQ] = KIR_NE, [KIR_NE] = KIR_EQ, [KIR_LT] = KIR_GE,
                                      [KIR_LE] = KIR_GT, [KIR_GT] = KIR_LE, [KIR_GE] = KIR_LT};
    const struct kir_node *c = at(k, n->arg[0]);
    if (c->op != KIR_CMP || (kir_is_float(kir_type(k, c->arg[0])) && c->sub != KIR_EQ && c->sub != KIR_NE))
        return none;
    return kir_cmp(k, (enum kir_cmp)inverse[c->sub], c->flags, c->arg[0], c->arg[1]);
}

/* ---- index arithmetic ------------------------------------------------------------------------ */

static kir_val add(struct kir *k, kir_val a, kir_val b) { return kir_op2(k, KIR_ADD, 0, a, b); }
static kir_val times(struct kir *k, kir_val a, int64_t c) { return kir_op2(k, KIR_MUL, 0, a, kir_i64(k, c)); }
static uint32_t depth_of(const struct kir *k, kir_val v) { return kir_block_get(k, kir_scope(k, v))->depth; }

static bool is_sum(const struct kir *k, kir_val v, kir_val *a, kir_val *b) {
    const struct kir_node *n = at(k, v);
    *a = n->arg[0], *b = n->arg[1];
    return n->op == KIR_ADD;
}

/* v = a + c, c a constant. */
static bool is_offset(const struct kir *k, kir_val v, kir_val *a, int64_t *c) {
    kir_val b;
    return is_sum(k, v, a, &b) && is_const(k, b, c);
}

static kir_val fold_sum(struct kir *k, struct kir_node *n) {
    int64_t c, d;
    kir_val x, p, q, a = n->arg[0], b = n->arg[1];
    if (is_const(k, b, &c))
        return is_offset(k, a, &x, &d) ? add(k, x, kir_i64(k, (int64_t)((uint64_t)c + (uint64_t)d))) : none;
    if (is_offset(k, a, &x, &c))
        return add(k, add(k, x, b), kir_i64(k, c));
    if (is_offset(k, b, &x, &c))
        return add(k, add(k, a, x), kir_i64(k, c));
    if (a.i == b.i)
        return times(k, a, 2);
    if (depth_of(k, a) > depth_of(k, b)) {
        x = a, a = b, b = x;
        n->arg[0] = a, n->arg[1] = b;
    }
    uint32_t da = depth_of(k, a), db = depth_of(k, b);
    if (is_sum(k, b, &p, &q) && depth_of(k, p) < db)
        return da < db ? add(k, add(k, a, p), q) : add(k, p, add(k, a, q));
    if (da == db && is_sum(k, a, &p, &q) && depth_of(k, p) < da)
        return add(k, p, add(k, q, b));
    return none;
}

static kir_val fold_product(struct kir *k, kir_val a, int64_t c) {
    const struct kir_node *n = at(k, a);
    int64_t d;
    kir_val p = n->arg[0], q = n->arg[1];
    if (n->op == KIR_MUL && is_const(k, q, &d))
        return times(k, p, (int64_t)((uint64_t)c * (uint64_t)d));
    if (n->op == KIR_ADD && is_const(k, q, &d))
        return add(k, times(k, p, c), kir_i64(k, (int64_t)((uint64_t)c * (uint64_t)d)));
    if (n->op == KIR_ADD && depth_of(k, p) != depth_of(k, q))
        return add(k, times(k, p, c), times(k, q, c));
    return none;
}

/* A value as a sum of factor · term, and a constant. */
enum { MOST_TERMS = 12 };
struct terms {
    uint32_t n, work;
    kir_val v[MOST_TERMS];
    int64_t factor[MOST_TERMS], constant;
};

/* Adds factor · v; false when there are too many terms, or a factor overflows. */
static bool collect(const struct kir *k, kir_val v, int64_t factor, struct terms *t) {
    const struct kir_node *n = at(k, v);
    int64_t c, product;
    if (t->work++ > 8 * MOST_TERMS)
        return false;
    if (is_const(k, v, &c))
        return !__builtin_mul_overflow(c, factor, &product) && !__builtin_add_overflow(t->constant, product, &t->constant);
    if (n->op == KIR_ADD)
        return collect(k, n->arg[0], factor, t) && collect(k, n->arg[1], factor, t);
    if (n->op == KIR_SUB && factor > -INT64_MAX)
        return collect(k, n->arg[0], factor, t) && collect(k, n->arg[1], -factor, t);
    if (n->op == KIR_MUL && is_const(k, n->arg[1], &c))
        return !__builtin_mul_overflow(factor, c, &product) && collect(k, n->arg[0], product, t);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->v[i].i == v.i)
            return !__builtin_add_overflow(t->factor[i], factor, &t->factor[i]);
    if (t->n == MOST_TERMS)
        return false;
    t->v[t->n] = v;
    t->factor[t->n++] = factor;
    return true;
}

static struct range range_terms(const struct kir *k, const struct terms *t) {
    struct range r = {t->constant, t->constant, false};
    for (uint32_t i = 0; i < t->n; i++)
        r = range_add(r, range_mul(range_of(k, t->v[i]), (struct range){t->factor[i], t->factor[i], false}));
    return r;
}

static kir_val sum_terms(struct kir *k, const struct terms *t, int64_t divisor) {
    kir_val sum = kir_i64(k, t->constant / divisor);
    for (uint32_t i = 0; i < t->n; i++)
        sum = add(k, sum, times(k, t->v[i], t->factor[i] / divisor));
    return sum;
}

/* Quotient or remainder of a sum by c where a factor of c divides some terms, and the others are less than it. */
static kir_val fold_factor(struct kir *k, const struct terms *all, int64_t c, bool rem) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct terms whole = {.constant = all->constant}, rest = {0};
        int64_t f = all->factor[i];
        if (f < 2 || c % f)
            continue;
        rest.constant = whole.constant % f;
        whole.constant -= rest.constant;
        for (uint32_t j = 0; j < all->n; j++) {
            struct terms *t = all->factor[j] % f == 0 ? &whole : &rest;
            t->v[t->n] = all->v[j];
            t->factor[t->n++] = all->factor[j];
        }
        struct range w = range_terms(k, &whole), r = range_terms(k, &rest);
        if (w.over || r.over || w.lo < 0 || r.lo < 0 || r.hi >= f)
            continue;
        kir_val q = kir_op2(k, rem ? KIR_REM : KIR_DIV, 0, sum_terms(k, &whole, f), kir_i64(k, c / f));
        return rem ? add(k, times(k, q, f), sum_terms(k, &rest, 1)) : q;
    }
    return none;
}

/* Quotient or remainder of a sum by a positive constant: what is divisible is taken out, when neither part is negative. Of both
   parts sums are exact: their ranges do not overflow. */
static kir_val fold_division(struct kir *k, kir_val a, int64_t c, bool rem) {
    struct terms all = {0}, whole = {0}, rest = {0};
    if (c < 2 || at(k, a)->lo < 0 || !collect(k, a, 1, &all))
        return none;
    for (uint32_t i = 0; i < all.n; i++) {
        struct terms *t = all.factor[i] % c == 0 ? &whole : &rest;
        t->v[t->n] = all.v[i];
        t->factor[t->n++] = all.factor[i];
    }
    whole.constant = all.constant - all.constant % c;
    rest.constant = all.constant % c;
    struct range w = range_terms(k, &whole), r = range_terms(k, &rest), sum = range_add(w, r);
    if (sum.over || w.lo < 0 || r.lo < 0)
        return none;
    bool divides = whole.n || whole.constant;
    if (r.hi < c)
        return rem ? sum_terms(k, &rest, 1) : sum_terms(k, &whole, c);
    if (!divides)
        return fold_factor(k, &rest, c, rem);
    kir_val left = kir_op2(k, rem ? KIR_REM : KIR_DIV, 0, sum_terms(k, &rest, 1), kir_i64(k, c));
    return rem ? left : add(k, sum_terms(k, &whole, c), left);
}

/* (x / a) / b = x / (a b), for x that is not negative. */
static kir_val fold_quotient(struct kir *k, kir_val a, int64_t c) {
    const struct kir_node *n = at(k, a);
    int64_t d, product;
    kir_val x = n->arg[0];
    if (n->op == KIR_DIV && is_const(k, n->arg[1], &d) && d > 0 && c > 0 && at(k, x)->lo >= 0 &&
        !__builtin_mul_overflow(c, d, &product))
        return kir_op2(k, KIR_DIV, 0, x, kir_i64(k, product));
    return none;
}

/* Whether quotients (1), remainders (2) are among the first terms of a sum. */
static unsigned division_terms(const struct kir *k, kir_val v, int depth) {
    const struct kir_node *n = at(k, v);
    if (n->op == KIR_ADD && depth > 0)
        return division_terms(k, n->arg[0], depth - 1) | division_terms(k, n->arg[1], depth - 1);
    if (n->op == KIR_MUL)
        n = at(k, n->arg[0]);
    return n->op == KIR_DIV ? 1 : n->op == KIR_REM ? 2 : 0;
}

/* f c (x / c) + f (x % c) = f x, for x that is not negative. */
static kir_val fold_parts(struct kir *k, kir_val a, kir_val b) {
    enum { DEPTH = 4 };
    struct terms t = {0};
    int64_t c, d, product;
    if ((division_terms(k, a, DEPTH) | division_terms(k, b, DEPTH)) != 3 || !collect(k, a, 1, &t) || !collect(k, b, 1, &t))
        return none;
    for (uint32_t i = 0; i < t.n; i++)
        for (uint32_t j = 0; j < t.n; j++) {
            const struct kir_node *rem = at(k, t.v[i]), *div = at(k, t.v[j]);
            if (rem->op != KIR_REM || div->op != KIR_DIV || rem->arg[0].i != div->arg[0].i || at(k, rem->arg[0])->lo < 0 ||
                !is_const(k, rem->arg[1], &c) || !is_const(k, div->arg[1], &d) || c != d || c < 1 ||
                __builtin_mul_overflow(c, t.factor[i], &product) || product != t.factor[j])
                continue;
            t.v[i] = rem->arg[0];
            t.v[j] = t.v[--t.n];
            t.factor[j] = t.factor[t.n];
            return sum_terms(k, &t, 1);
        }
    return none;
}

static kir_val fold_index(struct kir *k, struct kir_node *n) {
    int64_t c;
    kir_val a = n->arg[0], v = none;
    bool constant_right = is_const(k, n->arg[1], &c);
    switch (n->op) {
    case KIR_ADD:
        v = fold_parts(k, a, n->arg[1]);
        return KIR_IS(v) ? v : fold_sum(k, n);
    case KIR_SUB:
        if (a.i == n->arg[1].i)
            return kir_i64(k, 0);
        return constant_right ? add(k, a, kir_i64(k, (int64_t)(0 - (uint64_t)c))) : none;
    case KIR_MUL: return constant_right ? fold_product(k, a, c) : none;
    case KIR_DIV:
    case KIR_REM:
        if (!constant_right || ((n->flags & KIR_U) && at(k, a)->lo < 0))
            return none;
        v = fold_division(k, a, c, n->op == KIR_REM);
        return KIR_IS(v) || n->op == KIR_REM ? v : fold_quotient(k, a, c);
    default: return none;
    }
}

kir_val kir_simplify(struct kir *k, struct kir_node *n) {
    if (n->op == KIR_CONST || n->op == KIR_LOAD || n->op == KIR_MATH)
        return none;
    kir_val v = fold_constant(k, n);
    if (KIR_IS(v))
        return v;
    order_operands(k, n);
    v = n->op == KIR_SELECT ? fold_select(k, n) : fold_neutral(k, n);
    if (!KIR_IS(v))
        v = fold_by_range(k, n);
    if (!KIR_IS(v) && n->op == KIR_CONVERT)
        v = fold_widened(k, n);
    if (!KIR_IS(v) && n->op == KIR_NOT)
        v = fold_not(k, n);
    if (!KIR_IS(v) && n->type == KIR_I64)
        v = fold_index(k, n);
    if (KIR_IS(v))
        return v;
    struct kir_node ranged = *n;
    kir_set_range(k, &ranged);
    if (is_int((enum kir_type)n->type) && ranged.lo == ranged.hi)
        return constant(k, (enum kir_type)n->type, ranged.lo);
    return none;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* `fuel` bounds the work on values that are used often. */
static bool linear(const struct kir *k, kir_val v, kir_val loop, uint32_t *fuel, int64_t *out) {
    const struct kir_node *n = at(k, v);
    int64_t a, b, c;
    *out = 0;
    if (v.i == loop.i) {
        *out = 1;
        return true;
    }
    if (!kir_block_within(k, kir_scope(k, v), at(k, loop)->body))
        return true;
    if (*fuel == 0)
        return false;
    --*fuel;
    switch (n->op) {
    case KIR_ADD:
    case KIR_SUB:
        if (!linear(k, n->arg[0], loop, fuel, &a) || !linear(k, n->arg[1], loop, fuel, &b))
            return false;
        return n->op == KIR_ADD ? !__builtin_add_overflow(a, b, out) : !__builtin_sub_overflow(a, b, out);
    case KIR_MUL:
        return is_const(k, n->arg[1], &c) && linear(k, n->arg[0], loop, fuel, &a) && !__builtin_mul_overflow(a, c, out);
    case KIR_NEG: return linear(k, n->arg[0], loop, fuel, &a) && !__builtin_sub_overflow(0, a, out);
    case KIR_SHL:
        return is_const(k, n->arg[1], &c) && c >= 0 && c < 62 && linear(k, n->arg[0], loop, fuel, &a) &&
               !__builtin_mul_overflow(a, (int64_t)1 << c, out);
    case KIR_LOOP: return true; /* an index inside of the loop */
    default: return false;
    }
}

bool kir_linear(const struct kir *k, kir_val v, kir_val loop, int64_t *out_stride) {
    uint32_t fuel = 1000;
    return kir_type(k, v) == KIR_I64 && linear(k, v, loop, &fuel, out_stride);
}

kir_val kir_neutral(struct kir *k, enum kir_op op, unsigned flags, enum kir_type t) {
    return constant(k, t, kir_neutral_bits(op, flags, t));
}
