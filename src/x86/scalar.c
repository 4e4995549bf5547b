/* Integers in general registers, of which the bits above their width are anything; folding of constants; conditions. */
#include "x86/parts.h"

__extension__ typedef unsigned __int128 scalar_wide;

/* ---- folding ------------------------------------------------------------------------------------ */

static bool scalar_fold(enum x86_binary op, uint32_t bits, uint64_t a, uint64_t b, uint64_t *out) {
    int64_t x = x86_extend(a, bits), y = x86_extend(b, bits);
    switch (op) {
    case X86_OP_ADD:
        *out = a + b;
        return true;
    case X86_OP_SUB:
        *out = a - b;
        return true;
    case X86_OP_MUL:
        *out = a * b;
        return true;
    case X86_OP_AND:
        *out = a & b;
        return true;
    case X86_OP_OR:
        *out = a | b;
        return true;
    case X86_OP_XOR:
        *out = a ^ b;
        return true;
    case X86_OP_SHL:
        *out = b < bits ? a << b : 0;
        return true;
    case X86_OP_LSHR:
        *out = b < bits ? a >> b : 0;
        return true;
    case X86_OP_ASHR:
        *out = (uint64_t)(x >> (b < bits ? b : bits - 1));
        return true;
    case X86_OP_UDIV:
        *out = b ? a / b : 0;
        return b != 0;
    case X86_OP_SDIV:
        if (y == 0 || y == -1)
            return false;
        *out = (uint64_t)(x / y);
        return true;
    case X86_OP_SMIN:
    case X86_OP_SMAX:
        *out = (op == X86_OP_SMAX) == (x > y) ? a : b;
        return true;
    case X86_OP_UMIN:
    case X86_OP_UMAX:
        *out = (op == X86_OP_UMAX) == (a > b) ? a : b;
        return true;
    default:
        return false;
    }
}

struct x86_value *x86_fold_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    if (a->kind != X86_CONSTANT || b->kind != X86_CONSTANT || x86_element(a->type)->kind != X86_INT || a->type->bits > 64)
        return NULL;
    uint32_t n = x86_lanes(a->type);
    struct x86_value *v = x86_const_all(m, a->type, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (!scalar_fold(op, a->type->bits, a->lanes[i], b->lanes[i], &v->lanes[i]))
            return NULL;
        v->lanes[i] &= a->type->bits < 64 ? ((uint64_t)1 << a->type->bits) - 1 : UINT64_MAX;
    }
    return v;
}

static bool scalar_fold_compare(int p, uint32_t bits, uint64_t a, uint64_t b) {
    int64_t x = x86_extend(a, bits), y = x86_extend(b, bits);
    switch (p) {
    case X86_EQ:
        return a == b;
    case X86_NEQ:
        return a != b;
    case X86_UGT:
        return a > b;
    case X86_UGE:
        return a >= b;
    case X86_ULT:
        return a < b;
    case X86_ULE:
        return a <= b;
    case X86_SGT:
        return x > y;
    case X86_SGE:
        return x >= y;
    case X86_SLT:
        return x < y;
    default:
        return x <= y;
    }
}

struct x86_value *x86_fold_compare(struct x86_module *m, int predicate, struct x86_value *a, struct x86_value *b) {
    if (a->kind != X86_CONSTANT || b->kind != X86_CONSTANT || x86_element(a->type)->kind != X86_INT)
        return NULL;
    struct x86_value *v = x86_const_all(m, x86_type_like(m, x86_type_int(m, 1), a->type), 0);
    for (uint32_t i = 0; i < x86_lanes(a->type); i++)
        v->lanes[i] = scalar_fold_compare(predicate, a->type->bits, a->lanes[i], b->lanes[i]);
    return v;
}

/* x + 0, x · 1 and the like; NULL = none of them. */
struct x86_value *x86_fold_neutral(enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    uint64_t c;
    if (op >= X86_OP_FADD)
        return NULL;
    if (x86_all_lanes(a, &c) &&
        ((c == 0 && (op == X86_OP_ADD || op == X86_OP_OR || op == X86_OP_XOR)) || (c == 1 && op == X86_OP_MUL)))
        return b;
    if (!x86_all_lanes(b, &c))
        return NULL;
    if (c == 0 && (op == X86_OP_ADD || op == X86_OP_SUB || op == X86_OP_OR || op == X86_OP_XOR || op == X86_OP_SHL ||
                   op == X86_OP_LSHR || op == X86_OP_ASHR))
        return a;
    if (c == 0 && (op == X86_OP_MUL || op == X86_OP_AND))
        return b;
    if (c == 1 && (op == X86_OP_MUL || op == X86_OP_UDIV || op == X86_OP_SDIV))
        return a;
    uint64_t all = a->type->bits < 64 ? ((uint64_t)1 << a->type->bits) - 1 : UINT64_MAX;
    return c == all && op == X86_OP_AND ? a : NULL;
}

/* ---- quotients ---------------------------------------------------------------------------------- */

/* By constants: Granlund and Montgomery, Division by invariant integers using multiplication, 1994. */
struct x86_magic x86_magic_unsigned(uint64_t d, uint32_t bits) {
    uint32_t l = d > 1 ? 64 - (uint32_t)__builtin_clzll(d - 1) : 0;
    scalar_wide one = 1, m = (((one << l) - d) << bits) / d + 1;
    return (struct x86_magic){(uint64_t)m, l > 1 ? 1 : l, l > 1 ? l - 1 : 0};
}

struct x86_magic x86_magic_signed(int64_t d, uint32_t bits) {
    uint64_t magnitude = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
    uint32_t l = magnitude > 1 ? 64 - (uint32_t)__builtin_clzll(magnitude - 1) : 0;
    l = l ? l : 1;
    scalar_wide one = 1, m = (one << (bits + l - 1)) / magnitude + 1 - (one << bits);
    return (struct x86_magic){(uint64_t)m, 0, l - 1};
}

static struct x86_ins *scalar_shift(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, uint32_t by) {
    return by ? x86_ins1(m, op, size, a, by) : a;
}

static struct x86_ins *scalar_add(struct x86_module *m, uint8_t size, struct x86_ins *a, struct x86_ins *b) {
    return x86_ins2(m, X86_ADD, size, a, b, 0);
}
static struct x86_ins *scalar_sub(struct x86_module *m, uint8_t size, struct x86_ins *a, struct x86_ins *b) {
    return x86_ins2(m, X86_SUB, size, a, b, 0);
}

static struct x86_ins *scalar_divide_const(struct x86_module *m, bool is_signed, struct x86_ins *n, int64_t d) {
    if (!is_signed) { /* of 64 bits */
        if ((d & (d - 1)) == 0)
            return scalar_shift(m, X86_SHRI, 8, n, (uint32_t)__builtin_ctzll((uint64_t)d));
        struct x86_magic g = x86_magic_unsigned((uint64_t)d, 64);
        struct x86_ins *t = x86_ins2(m, X86_MULHIU, 8, n, x86_const_g(m, (int64_t)g.multiplier), 0);
        struct x86_ins *s = scalar_shift(m, X86_SHRI, 8, scalar_sub(m, 8, n, t), g.first);
        return scalar_shift(m, X86_SHRI, 8, scalar_add(m, 8, s, t), g.second);
    }
    uint64_t magnitude = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
    struct x86_ins *q, *sign = x86_ins1(m, X86_SARI, 8, n, 63);
    if ((magnitude & (magnitude - 1)) == 0) {
        uint32_t by = (uint32_t)__builtin_ctzll(magnitude);
        q = by ? scalar_add(m, 8, n, x86_ins1(m, X86_SHRI, 8, sign, 64 - by)) : n;
        q = scalar_shift(m, X86_SARI, 8, q, by);
    } else {
        struct x86_magic g = x86_magic_signed(d, 64);
        q = scalar_add(m, 8, n, x86_ins2(m, X86_MULHIS, 8, n, x86_const_g(m, (int64_t)g.multiplier), 0));
        q = scalar_sub(m, 8, scalar_shift(m, X86_SARI, 8, q, g.second), sign);
    }
    return d < 0 ? x86_ins1(m, X86_NEG, 8, q, 0) : q;
}

/* Narrow numbers are extended to 64 bits. */
static struct x86_ins *scalar_divide(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_value *b) {
    struct x86_ins *n = x86_extended(m, a, is_signed), *d = x86_extended(m, b, is_signed);
    if (d->op == X86_CONST_G && d->imm != 0)
        return scalar_divide_const(m, is_signed, n, d->imm);
    return x86_ins2(m, is_signed ? X86_IDIV : X86_DIV, 8, n, d, 0);
}

/* ---- two operands -------------------------------------------------------------------------------- */

static struct x86_ins *scalar_extreme(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    bool is_signed = op == X86_OP_SMIN || op == X86_OP_SMAX, max = op == X86_OP_SMAX || op == X86_OP_UMAX;
    struct x86_ins *x = x86_extended(m, a, is_signed), *y = x86_extended(m, b, is_signed);
    enum x86_cc cc = is_signed ? (max ? X86_GREATER : X86_L) : (max ? X86_A : X86_B);
    if (x->op == X86_CONST_G) {
        struct x86_ins *t = x;
        x = y, y = t;
    }
    struct x86_ins *args[] = {x, y, x, y};
    return x86_ins_cc(m, X86_CMOV, 8, cc, false, args, 4);
}

static struct x86_ins *scalar_shifted(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    static const enum x86_op by_const[] = {X86_SHLI, X86_SHRI, X86_SARI}, by_value[] = {X86_SHLX, X86_SHRX, X86_SARX};
    int which = op == X86_OP_SHL ? 0 : op == X86_OP_LSHR ? 1 : 2;
    uint8_t size = a->type->bits == 64 ? 8 : 4;
    struct x86_ins *x = which == 0 || a->type->bits >= 32 ? x86_part(m, a) : x86_extended(m, a, which == 2);
    uint64_t by;
    if (x86_all_lanes(b, &by))
        return x86_ins1(m, by_const[which], size, x, (int64_t)(by & (size == 8 ? 63 : 31)));
    return x86_ins2(m, by_value[which], size, x, x86_part(m, b), 0);
}

static struct x86_ins *scalar_times(struct x86_module *m, uint8_t size, struct x86_ins *a, struct x86_ins *b) {
    if (a->op == X86_CONST_G) {
        struct x86_ins *t = a;
        a = b, b = t;
    }
    if (b->op == X86_CONST_G && b->imm > 0 && (b->imm & (b->imm - 1)) == 0)
        return scalar_shift(m, X86_SHLI, size, a, (uint32_t)__builtin_ctzll((uint64_t)b->imm));
    return x86_ins2(m, X86_IMUL, size, a, b, 0);
}

struct x86_value *x86_scalar_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    uint8_t size = a->type->bits == 64 ? 8 : 4;
    struct x86_ins *r;
    switch (op) {
    case X86_OP_UDIV:
    case X86_OP_SDIV:
        r = scalar_divide(m, op == X86_OP_SDIV, a, b);
        break;
    case X86_OP_SHL:
    case X86_OP_LSHR:
    case X86_OP_ASHR:
        r = scalar_shifted(m, op, a, b);
        break;
    case X86_OP_SMIN:
    case X86_OP_SMAX:
    case X86_OP_UMIN:
    case X86_OP_UMAX:
        r = scalar_extreme(m, op, a, b);
        break;
    case X86_OP_MUL:
        r = scalar_times(m, size, x86_part(m, a), x86_part(m, b));
        break;
    default: {
        enum x86_op code = op == X86_OP_ADD   ? X86_ADD
                           : op == X86_OP_SUB ? X86_SUB
                           : op == X86_OP_AND ? X86_AND
                           : op == X86_OP_OR  ? X86_OR
                                              : X86_XOR;
        struct x86_ins *x = x86_part(m, a), *y = x86_part(m, b);
        if (x->op == X86_CONST_G && op != X86_OP_SUB) {
            struct x86_ins *t = x;
            x = y, y = t;
        }
        r = x86_ins2(m, code, size, x, y, 0);
        break;
    }
    }
    return x86_value_of(m, a->type, r);
}

/* ---- 128 bits: only products, of which the upper half is taken -------------------------------------- */

struct x86_value *x86_wide_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    uint64_t by;
    struct x86_value *v = x86_value_new(m, a->type, X86_WIDE);
    *v = *a;
    if (op == X86_OP_MUL && a->kind == X86_WIDE && b->kind == X86_WIDE && !a->b && !b->b)
        v->b = b->a;
    else if (op == X86_OP_LSHR && a->kind == X86_WIDE && x86_all_lanes(b, &by))
        v->number = (int64_t)by;
    else
        x86_refuse(m, "arithmetic of 128 bits");
    return v;
}

static struct x86_value *wide_upper(struct x86_module *m, struct x86_value *const *args, int what, struct x86_type *to) {
    return x86_value_of(m, to, x86_ins2(m, what ? X86_MULHIS : X86_MULHIU, 8, x86_part(m, args[0]), x86_part(m, args[1]), 0));
}

struct x86_value *x86_wide_trunc(struct x86_module *m, struct x86_value *v, struct x86_type *to) {
    if (v->kind != X86_WIDE || !v->b || v->number != 64) {
        x86_refuse(m, "arithmetic of 128 bits");
        return x86_poison(m, to);
    }
    struct x86_value *args[] = {v->a, v->b};
    return to->lanes ? x86_by_lanes(m, wide_upper, v->is_signed, to, args, 2) : wide_upper(m, args, v->is_signed, to);
}

/* ---- conditions ---------------------------------------------------------------------------------- */

struct x86_value *x86_scalar_compare(struct x86_module *m, int predicate, struct x86_value *a, struct x86_value *b) {
    static const uint8_t codes[2][10] = { /* the second: of exchanged operands */
        {X86_E, X86_NE, X86_A, X86_AE, X86_B, X86_BE, X86_GREATER, X86_GE, X86_L, X86_LE},
        {X86_E, X86_NE, X86_B, X86_BE, X86_A, X86_AE, X86_L, X86_LE, X86_GREATER, X86_GE}};
    bool is_signed = predicate >= X86_SGT, narrow = a->type->bits < 32, swap = a->kind == X86_CONSTANT;
    struct x86_ins *args[] = {narrow ? x86_extended(m, a, is_signed) : x86_part(m, a),
                              narrow ? x86_extended(m, b, is_signed) : x86_part(m, b)};
    if (swap) {
        struct x86_ins *t = args[0];
        args[0] = args[1], args[1] = t;
    }
    enum x86_cc code = (enum x86_cc)codes[swap][predicate - X86_EQ];
    struct x86_ins *i =
        x86_ins_cc(m, X86_SETCC, a->type->bits == 64 || a->type->kind == X86_POINTER ? 8 : 4, code, false, args, 2);
    return x86_value_of(m, x86_type_int(m, 1), i);
}

struct x86_value *x86_scalar_select(struct x86_module *m, struct x86_value *c, struct x86_value *a, struct x86_value *b) {
    struct x86_ins *i = x86_mask(m, c, 0)[0], *x = x86_part(m, a), *y = x86_part(m, b);
    struct x86_ins *args[] = {i, i, x, y};
    if (i->op == X86_SETCC) {
        args[0] = i->arg[0], args[1] = i->arg[1];
        return x86_value_of(m, a->type, x86_ins_cc(m, X86_CMOV, i->size, (enum x86_cc)i->cc, i->test, args, 4));
    }
    return x86_value_of(m, a->type, x86_ins_cc(m, X86_CMOV, 4, X86_NE, true, args, 4));
}
