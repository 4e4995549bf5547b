/* Arithmetic of lanes and of floating-point numbers. */
#include "x86/parts.h"

struct x86_type *x86_ints_like(struct x86_module *m, const struct x86_type *t, uint32_t bits) {
    return x86_type_like(m, x86_type_int(m, bits), t);
}

struct x86_value *x86_as(struct x86_module *m, struct x86_value *v, struct x86_type *t) {
    if (v->kind == X86_CONSTANT && t->lanes == v->type->lanes && t->bits == v->type->bits)
        return x86_const(m, t, v->lanes);
    struct x86_value *as = x86_value_new(m, t, X86_PARTS);
    as->parts = x86_parts(m, v);
    as->nparts = v->nparts;
    return as;
}

struct x86_value *x86_new_parts(struct x86_module *m, struct x86_type *t, uint8_t *size) {
    struct x86_value *v = x86_value_new(m, t, X86_PARTS);
    *size = 16;
    v->nparts = t->lanes ? x86_nparts(t->lanes, t->bits, size) : 1;
    v->parts = ARENA_ARRAY(m->arena, struct x86_ins *, v->nparts);
    return v;
}

static struct x86_value *vector_each(struct x86_module *m, enum x86_op op, struct x86_value *a, struct x86_value *b) {
    uint8_t size;
    struct x86_value *v = x86_new_parts(m, a->type, &size);
    struct x86_ins **x = x86_parts(m, a), **y = x86_parts(m, b);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins2(m, op, size, x[i], y[i], 0);
    return v;
}

static struct x86_value *vector_each1(struct x86_module *m, enum x86_op op, struct x86_value *a, int64_t imm) {
    uint8_t size;
    struct x86_value *v = x86_new_parts(m, a->type, &size);
    struct x86_ins **x = x86_parts(m, a);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins1(m, op, size, x[i], imm);
    return v;
}

/* ---- wider lanes -------------------------------------------------------------------------------- */

struct x86_ins *x86_upper(struct x86_module *m, struct x86_ins *part, uint32_t bytes) {
    if (bytes >= 16)
        part = x86_ins1(m, X86_VEXTRACTF128, 32, part, 1);
    return bytes % 16 ? x86_ins1(m, X86_VPSRLDQ, 16, part, bytes % 16) : part;
}

struct x86_ins **x86_widen(struct x86_module *m, struct x86_ins *const *parts, uint32_t lanes, uint32_t from, uint32_t to,
                           bool is_signed) {
    static const enum x86_op ops[2][3][3] = {{{X86_VPMOVZXBW, X86_VPMOVZXBD, X86_VPMOVZXBQ},
                                              {X86_NONE, X86_VPMOVZXWD, X86_VPMOVZXWQ},
                                              {X86_NONE, X86_NONE, X86_VPMOVZXDQ}},
                                             {{X86_VPMOVSXBW, X86_VPMOVSXBD, X86_VPMOVSXBQ},
                                              {X86_NONE, X86_VPMOVSXWD, X86_VPMOVSXWQ},
                                              {X86_NONE, X86_NONE, X86_VPMOVSXDQ}}};
    uint8_t size, narrow;
    uint32_t n = x86_nparts(lanes, to, &size);
    x86_nparts(lanes, from, &narrow);
    enum x86_op op = ops[is_signed][from == 8 ? 0 : from == 16 ? 1 : 2][to == 16 ? 0 : to == 32 ? 1 : 2];
    struct x86_ins **wide = ARENA_ARRAY(m->arena, struct x86_ins *, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t byte = i * size * from / to;
        wide[i] = x86_ins1(m, op, size, x86_upper(m, parts[byte / narrow], byte % narrow), 0);
    }
    return wide;
}

/* With lanes of 32 bits, where those of 8 or 16 have no instruction. */
static struct x86_value *vector_in_wider(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b,
                                         uint32_t bits) {
    bool is_signed = op == X86_OP_ASHR || op == X86_OP_SDIV || op == X86_OP_SMAX || op == X86_OP_SMIN;
    struct x86_type *wide = x86_ints_like(m, a->type, bits);
    enum x86_cast extend = is_signed ? X86_TO_SEXT : X86_TO_ZEXT;
    struct x86_value *x = x86_build_cast(m, extend, a, wide), *y = x86_build_cast(m, extend, b, wide);
    return x86_build_cast(m, X86_TO_TRUNC, x86_build_binary(m, op, x, y), a->type);
}

/* ---- products, quotients, shifts ----------------------------------------------------------------- */

static struct x86_value *vector_multiply64(struct x86_module *m, struct x86_value *a, struct x86_value *b) {
    struct x86_value *ah = vector_each1(m, X86_VPSRLQI, a, 32), *bh = vector_each1(m, X86_VPSRLQI, b, 32);
    struct x86_value *mixed =
        vector_each(m, X86_VPADDQ, vector_each(m, X86_VPMULUDQ, a, bh), vector_each(m, X86_VPMULUDQ, ah, b));
    return vector_each(m, X86_VPADDQ, vector_each(m, X86_VPMULUDQ, a, b), vector_each1(m, X86_VPSLLQI, mixed, 32));
}

static struct x86_value *vector_multiply(struct x86_module *m, struct x86_value *a, struct x86_value *b) {
    uint64_t c;
    if (x86_all_lanes(b, &c) && c && (c & (c - 1)) == 0 && a->type->bits >= 16)
        return x86_build_binary(m, X86_OP_SHL, a, x86_const_all(m, a->type, (uint64_t)__builtin_ctzll(c)));
    switch (a->type->bits) {
    case 8:
        return vector_in_wider(m, X86_OP_MUL, a, b, 16);
    case 16:
        return vector_each(m, X86_VPMULLW, a, b);
    case 32:
        return vector_each(m, X86_VPMULLD, a, b);
    default:
        return vector_multiply64(m, a, b);
    }
}

/* The upper halves of products of 32 bits. */
static struct x86_value *vector_mulhi32(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_value *b) {
    enum x86_op op = is_signed ? X86_VPMULDQ : X86_VPMULUDQ;
    uint8_t size;
    struct x86_value *v = x86_new_parts(m, a->type, &size);
    struct x86_ins **x = x86_parts(m, a), **y = x86_parts(m, b);
    for (uint32_t i = 0; i < v->nparts; i++) {
        struct x86_ins *even = x86_ins2(m, op, size, x[i], y[i], 0);
        struct x86_ins *odd = x86_ins2(m, op, size, x86_ins1(m, X86_VPSRLQI, size, x[i], 32), y[i], 0);
        v->parts[i] = x86_ins2(m, X86_VPBLENDD, size, x86_ins1(m, X86_VPSRLQI, size, even, 32), odd, 0xAA);
    }
    return v;
}

static struct x86_value *vector_shifted(struct x86_module *m, enum x86_binary op, struct x86_value *a, uint64_t by) {
    return x86_build_binary(m, op, a, x86_const_all(m, a->type, by));
}

/* By a constant, of 32 bits. */
static struct x86_value *vector_divide_const(struct x86_module *m, bool is_signed, struct x86_value *a, int64_t d) {
    uint64_t magnitude = is_signed && d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
    bool power = (magnitude & (magnitude - 1)) == 0;
    uint32_t by = (uint32_t)__builtin_ctzll(magnitude);
    struct x86_value *q;
    if (!is_signed) {
        if (power)
            return vector_shifted(m, X86_OP_LSHR, a, by);
        struct x86_magic g = x86_magic_unsigned(magnitude, 32);
        struct x86_value *t = vector_mulhi32(m, false, a, x86_const_all(m, a->type, g.multiplier));
        q = vector_shifted(m, X86_OP_LSHR, x86_build_binary(m, X86_OP_SUB, a, t), g.first);
        return vector_shifted(m, X86_OP_LSHR, x86_build_binary(m, X86_OP_ADD, q, t), g.second);
    }
    struct x86_value *sign = vector_shifted(m, X86_OP_ASHR, a, 31);
    if (power) {
        q = by ? x86_build_binary(m, X86_OP_ADD, a, vector_shifted(m, X86_OP_LSHR, sign, 32 - by)) : a;
        q = vector_shifted(m, X86_OP_ASHR, q, by);
    } else {
        struct x86_magic g = x86_magic_signed(d, 32);
        q = vector_mulhi32(m, true, a, x86_const_all(m, a->type, g.multiplier));
        q = vector_shifted(m, X86_OP_ASHR, x86_build_binary(m, X86_OP_ADD, a, q), g.second);
        q = x86_build_binary(m, X86_OP_SUB, q, sign);
    }
    return d < 0 ? x86_build_binary(m, X86_OP_SUB, x86_const_all(m, a->type, 0), q) : q;
}

static struct x86_value *vector_lane_binary(struct x86_module *m, struct x86_value *const *args, int what,
                                            struct x86_type *to) {
    (void)to;
    return x86_build_binary(m, (enum x86_binary)what, args[0], args[1]);
}

static struct x86_value *vector_divide(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    uint64_t d;
    if (a->type->bits < 32)
        return vector_in_wider(m, op, a, b, 32);
    if (a->type->bits == 32 && x86_all_lanes(b, &d) && d != 0)
        return vector_divide_const(m, op == X86_OP_SDIV, a, op == X86_OP_SDIV ? x86_extend(d, 32) : (int64_t)d);
    return x86_by_lanes(m, vector_lane_binary, (int)op, a->type, (struct x86_value *[]){a, b}, 2);
}

static struct x86_value *vector_shift_const(struct x86_module *m, enum x86_binary op, struct x86_value *a, uint64_t by) {
    static const enum x86_op ops[3][3] = {
        {X86_VPSLLWI, X86_VPSLLDI, X86_VPSLLQI}, {X86_VPSRLWI, X86_VPSRLDI, X86_VPSRLQI}, {X86_VPSRAWI, X86_VPSRADI, X86_NONE}};
    int which = op == X86_OP_SHL ? 0 : op == X86_OP_LSHR ? 1 : 2;
    uint32_t bits = a->type->bits;
    if (bits == 8) {
        uint64_t keep = op == X86_OP_SHL ? (UINT64_C(0xFF) << by) & 0xFF : UINT64_C(0xFF) >> by;
        struct x86_value *v = vector_each1(m, ops[which == 0 ? 0 : 1][0], a, (int64_t)by);
        v = x86_build_binary(m, X86_OP_AND, v, x86_const_all(m, a->type, keep));
        if (which < 2)
            return v;
        struct x86_value *sign = x86_const_all(m, a->type, 0x80u >> by);
        return x86_build_binary(m, X86_OP_SUB, x86_build_binary(m, X86_OP_XOR, v, sign), sign);
    }
    if (bits == 64 && which == 2) {
        struct x86_value *v = vector_each1(m, X86_VPSRLQI, a, (int64_t)by);
        struct x86_value *sign = x86_const_all(m, a->type, (UINT64_C(1) << 63) >> by);
        return x86_build_binary(m, X86_OP_SUB, x86_build_binary(m, X86_OP_XOR, v, sign), sign);
    }
    return vector_each1(m, ops[which][bits == 16 ? 0 : bits == 32 ? 1 : 2], a, (int64_t)by);
}

static struct x86_value *vector_shift(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    static const enum x86_op ops[3][2] = {{X86_VPSLLVD, X86_VPSLLVQ}, {X86_VPSRLVD, X86_VPSRLVQ}, {X86_VPSRAVD, X86_NONE}};
    int which = op == X86_OP_SHL ? 0 : op == X86_OP_LSHR ? 1 : 2;
    uint32_t bits = a->type->bits;
    uint64_t by;
    if (x86_all_lanes(b, &by) && by < bits)
        return vector_shift_const(m, op, a, by);
    if (bits < 32)
        return vector_in_wider(m, op, a, b, 32);
    if (bits == 64 && which == 2) { /* (x >> by ^ sign) - sign, with sign = the sign bit >> by */
        struct x86_value *sign = vector_each(m, X86_VPSRLVQ, x86_const_all(m, a->type, UINT64_C(1) << 63), b);
        struct x86_value *v = vector_each(m, X86_VPSRLVQ, a, b);
        return x86_build_binary(m, X86_OP_SUB, x86_build_binary(m, X86_OP_XOR, v, sign), sign);
    }
    return vector_each(m, ops[which][bits == 64], a, b);
}

static struct x86_value *vector_extreme(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    static const enum x86_op ops[4][3] = {{X86_VPMINSB, X86_VPMINSW, X86_VPMINSD},
                                          {X86_VPMAXSB, X86_VPMAXSW, X86_VPMAXSD},
                                          {X86_VPMINUB, X86_VPMINUW, X86_VPMINUD},
                                          {X86_VPMAXUB, X86_VPMAXUW, X86_VPMAXUD}};
    static const int predicates[] = {X86_SLT, X86_SGT, X86_ULT, X86_UGT};
    uint32_t bits = a->type->bits, which = (uint32_t)op - X86_OP_SMIN;
    if (bits == 64)
        return x86_build_select(m, x86_build_compare(m, predicates[which], false, a, b), a, b);
    return vector_each(m, ops[which][bits == 8 ? 0 : bits == 16 ? 1 : 2], a, b);
}

/* ---- two operands -------------------------------------------------------------------------------- */

static struct x86_value *vector_mask_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a,
                                            struct x86_value *b) {
    uint32_t bits = a->kind == X86_CONSTANT ? b->mask_bits : a->mask_bits;
    uint8_t size = 16;
    struct x86_value *v = x86_value_new(m, a->type, X86_PARTS);
    v->mask_bits = bits;
    v->nparts = a->type->lanes ? x86_nparts(a->type->lanes, bits, &size) : 1;
    v->parts = ARENA_ARRAY(m->arena, struct x86_ins *, v->nparts);
    struct x86_ins **x = x86_mask(m, a, bits), **y = x86_mask(m, b, bits);
    enum x86_op code = op == X86_OP_AND ? X86_VAND : op == X86_OP_OR ? X86_VOR : X86_VXOR;
    if (op != X86_OP_AND && op != X86_OP_OR && op != X86_OP_XOR)
        x86_refuse(m, "arithmetic of single bits");
    if (!bits)
        code = op == X86_OP_AND ? X86_AND : op == X86_OP_OR ? X86_OR : X86_XOR;
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins2(m, code, bits ? size : 4, x[i], y[i], 0);
    return v;
}

static enum x86_op vector_float_op(enum x86_op ps, const struct x86_type *t) {
    return (enum x86_op)(ps + (t->bits == 64 ? 1u : 0u) + (t->lanes == 0 ? 2u : 0u));
}

static struct x86_value *vector_float(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    enum x86_op ps = op == X86_OP_FADD   ? X86_VADDPS
                     : op == X86_OP_FSUB ? X86_VSUBPS
                     : op == X86_OP_FMUL ? X86_VMULPS
                                         : X86_VDIVPS;
    return vector_each(m, vector_float_op(ps, a->type), a, b);
}

struct x86_value *x86_build_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b) {
    static const enum x86_op add[] = {X86_VPADDB, X86_VPADDW, X86_VPADDD, X86_VPADDQ};
    static const enum x86_op sub[] = {X86_VPSUBB, X86_VPSUBW, X86_VPSUBD, X86_VPSUBQ};
    struct x86_value *v = x86_fold_binary(m, op, a, b);
    uint32_t bits = a->type->bits, log = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    v = v ? v : x86_fold_neutral(op, a, b);
    if (v)
        return v;
    if (op >= X86_OP_FADD && op <= X86_OP_FDIV)
        return vector_float(m, op, a, b);
    if (bits == 128)
        return x86_wide_binary(m, op, a, b);
    if (bits == 1)
        return vector_mask_binary(m, op, a, b);
    if (!a->type->lanes)
        return x86_scalar_binary(m, op, a, b);
    switch (op) {
    case X86_OP_ADD:
        return vector_each(m, add[log], a, b);
    case X86_OP_SUB:
        return vector_each(m, sub[log], a, b);
    case X86_OP_MUL:
        return vector_multiply(m, a, b);
    case X86_OP_UDIV:
    case X86_OP_SDIV:
        return vector_divide(m, op, a, b);
    case X86_OP_AND:
        return vector_each(m, X86_VAND, a, b);
    case X86_OP_OR:
        return vector_each(m, X86_VOR, a, b);
    case X86_OP_XOR:
        return vector_each(m, X86_VXOR, a, b);
    case X86_OP_SHL:
    case X86_OP_LSHR:
    case X86_OP_ASHR:
        return vector_shift(m, op, a, b);
    default:
        return vector_extreme(m, op, a, b);
    }
}

/* ---- one operand --------------------------------------------------------------------------------- */

static uint64_t vector_sign(const struct x86_type *t) {
    return UINT64_C(1) << (t->bits - 1);
}

static struct x86_value *vector_lane_unary(struct x86_module *m, struct x86_value *const *args, int what, struct x86_type *to) {
    (void)to;
    return x86_build_unary(m, (enum x86_unary)what, args[0]);
}

static struct x86_value *vector_integer_unary(struct x86_module *m, enum x86_unary op, struct x86_value *a) {
    uint32_t bits = a->type->bits;
    struct x86_value *zero = x86_const_all(m, a->type, 0);
    if (op == X86_OP_ABS && a->type->lanes && bits < 64)
        return vector_each1(m, bits == 8 ? X86_VPABSB : bits == 16 ? X86_VPABSW : X86_VPABSD, a, 0);
    if (op == X86_OP_ABS)
        return x86_build_select(m, x86_build_compare(m, X86_SLT, false, a, zero), x86_build_binary(m, X86_OP_SUB, zero, a), a);
    if (a->type->lanes)
        return x86_by_lanes(m, vector_lane_unary, (int)op, a->type, &a, 1);
    struct x86_ins *i = x86_extended(m, a, false);
    if (op == X86_OP_CTPOP)
        return x86_value_of(m, a->type, x86_ins1(m, X86_POPCNT, 8, i, 0));
    i = x86_ins1(m, X86_LZCNT, 8, i, 0);
    return x86_value_of(m, a->type, bits < 64 ? x86_ins2(m, X86_SUB, 4, i, x86_const_g(m, 64 - bits), 0) : i);
}

/* The bits of a number with a mask. */
static struct x86_value *vector_bits(struct x86_module *m, enum x86_op op, struct x86_value *a, uint64_t mask) {
    return vector_each(m, op, a, x86_const_all(m, a->type, mask));
}

struct x86_value *x86_build_unary(struct x86_module *m, enum x86_unary op, struct x86_value *a) {
    const struct x86_type *t = a->type;
    switch (op) {
    case X86_OP_FABS:
        return vector_bits(m, X86_VAND, a, vector_sign(t) - 1);
    case X86_OP_FNEG:
        return vector_bits(m, X86_VXOR, a, vector_sign(t));
    case X86_OP_SQRT:
        return vector_each1(m, vector_float_op(X86_VSQRTPS, t), a, 0);
    case X86_OP_FLOOR:
        return vector_each1(m, vector_float_op(X86_VROUNDPS, t), a, 9);
    case X86_OP_CEIL:
        return vector_each1(m, vector_float_op(X86_VROUNDPS, t), a, 10);
    case X86_OP_FTRUNC:
        return vector_each1(m, vector_float_op(X86_VROUNDPS, t), a, 11);
    case X86_OP_RINT:
        return vector_each1(m, vector_float_op(X86_VROUNDPS, t), a, 8);
    default:
        return vector_integer_unary(m, op, a);
    }
}

struct x86_value *x86_build_copysign(struct x86_module *m, struct x86_value *a, struct x86_value *b) {
    struct x86_value *magnitude = vector_bits(m, X86_VAND, a, vector_sign(a->type) - 1);
    return vector_each(m, X86_VOR, magnitude, vector_bits(m, X86_VAND, b, vector_sign(a->type)));
}

struct x86_value *x86_build_fma(struct x86_module *m, struct x86_value *a, struct x86_value *b, struct x86_value *c) {
    uint8_t size;
    struct x86_value *v = x86_new_parts(m, a->type, &size);
    struct x86_ins **x = x86_parts(m, a), **y = x86_parts(m, b), **z = x86_parts(m, c);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins3(m, vector_float_op(X86_VFMAPS, a->type), size, x[i], y[i], z[i], 0);
    return v;
}

/* Sums of two products of 16 bits. */
struct x86_value *x86_build_madd(struct x86_module *m, struct x86_value *a, struct x86_value *b, struct x86_type *to) {
    return x86_as(m, vector_each(m, X86_VPMADDWD, a, b), to);
}

/* ---- comparisons --------------------------------------------------------------------------------- */

static struct x86_value *vector_new_mask(struct x86_module *m, struct x86_value *a, uint8_t *size) {
    struct x86_value *v = x86_new_parts(m, a->type, size);
    v->type = x86_ints_like(m, a->type, 1);
    v->mask_bits = a->type->bits;
    return v;
}

static struct x86_value *vector_compare_floats(struct x86_module *m, int predicate, struct x86_value *a, struct x86_value *b) {
    /* by LLVM's numbers, whose bits are: unordered, less, greater, equal */
    static const uint8_t codes[] = {0x0B, 0x00, 0x1E, 0x1D, 0x11, 0x12, 0x0C, 0x07,
                                    0x03, 0x08, 0x16, 0x15, 0x19, 0x1A, 0x04, 0x0F};
    uint8_t size;
    struct x86_value *v = vector_new_mask(m, a, &size);
    struct x86_ins **x = x86_parts(m, a), **y = x86_parts(m, b);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins2(m, vector_float_op(X86_VCMPPS, a->type), size, x[i], y[i], codes[predicate]);
    return v;
}

static struct x86_value *vector_not(struct x86_module *m, struct x86_value *v, uint8_t size) {
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins2(m, X86_VXOR, size, v->parts[i], x86_ones(m), 0);
    return v;
}

static struct x86_value *vector_compare_ints(struct x86_module *m, int p, struct x86_value *a, struct x86_value *b) {
    static const enum x86_op equal[] = {X86_VPCMPEQB, X86_VPCMPEQW, X86_VPCMPEQD, X86_VPCMPEQQ};
    static const enum x86_op greater[] = {X86_VPCMPGTB, X86_VPCMPGTW, X86_VPCMPGTD, X86_VPCMPGTQ};
    uint32_t log = a->type->bits == 8 ? 0 : a->type->bits == 16 ? 1 : a->type->bits == 32 ? 2 : 3;
    bool swap = p == X86_SLT || p == X86_SGE || p == X86_ULT || p == X86_UGE, equality = p == X86_EQ || p == X86_NEQ;
    bool negate = p == X86_NEQ || p == X86_SGE || p == X86_SLE || p == X86_UGE || p == X86_ULE;
    if (p >= X86_UGT && p <= X86_ULE) { /* as signed numbers */
        struct x86_value *sign = x86_const_all(m, a->type, vector_sign(a->type));
        a = x86_build_binary(m, X86_OP_XOR, a, sign);
        b = x86_build_binary(m, X86_OP_XOR, b, sign);
    }
    uint8_t size;
    struct x86_value *v = vector_new_mask(m, a, &size);
    struct x86_ins **x = x86_parts(m, swap ? b : a), **y = x86_parts(m, swap ? a : b);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins2(m, equality ? equal[log] : greater[log], size, x[i], y[i], 0);
    return negate ? vector_not(m, v, size) : v;
}

/* Of i1, which is unsigned. */
static struct x86_value *vector_compare_bits(struct x86_module *m, int p, struct x86_value *a, struct x86_value *b) {
    struct x86_value *one = x86_const_all(m, a->type, 1);
    switch (p) {
    case X86_EQ:
        return x86_build_binary(m, X86_OP_XOR, x86_build_binary(m, X86_OP_XOR, a, b), one);
    case X86_NEQ:
        return x86_build_binary(m, X86_OP_XOR, a, b);
    case X86_UGT:
        return x86_build_binary(m, X86_OP_AND, a, x86_build_binary(m, X86_OP_XOR, b, one));
    case X86_ULT:
        return x86_build_binary(m, X86_OP_AND, b, x86_build_binary(m, X86_OP_XOR, a, one));
    case X86_UGE:
        return x86_build_binary(m, X86_OP_OR, a, x86_build_binary(m, X86_OP_XOR, b, one));
    case X86_ULE:
        return x86_build_binary(m, X86_OP_OR, b, x86_build_binary(m, X86_OP_XOR, a, one));
    default:
        x86_refuse(m, "a comparison of single bits with a sign");
        return a;
    }
}

struct x86_value *x86_build_compare(struct x86_module *m, int predicate, bool is_float, struct x86_value *a,
                                    struct x86_value *b) {
    struct x86_value *v = is_float ? NULL : x86_fold_compare(m, predicate, a, b);
    if (v)
        return v;
    if (!is_float && a->type->bits == 1)
        return vector_compare_bits(m, predicate, a, b);
    if (!is_float && !a->type->lanes)
        return x86_scalar_compare(m, predicate, a, b);
    v = is_float ? vector_compare_floats(m, predicate, a, b) : vector_compare_ints(m, predicate, a, b);
    v->compared = ARENA_NEW(m->arena, struct x86_compare);
    *v->compared = (struct x86_compare){a, b, predicate, is_float};
    return v;
}

/* ---- selection ----------------------------------------------------------------------------------- */

static bool vector_same(const struct x86_value *a, const struct x86_value *b) {
    if (a == b)
        return true;
    if (a->kind == X86_CONSTANT && b->kind == X86_CONSTANT && x86_lanes(a->type) == x86_lanes(b->type))
        return memcmp(a->lanes, b->lanes, x86_lanes(a->type) * sizeof *a->lanes) == 0;
    bool same = a->kind == X86_PARTS && b->kind == X86_PARTS && a->nparts == b->nparts;
    for (uint32_t i = 0; same && i < a->nparts; i++)
        same = a->parts[i] == b->parts[i];
    return same;
}

/* A number that is not zero: no other one is equal to it. */
static bool vector_distinct(const struct x86_value *v) {
    uint64_t c;
    return x86_all_lanes(v, &c) && (c & (vector_sign(v->type) - 1)) != 0;
}

/* The instructions give the second operand where one is a NaN, or both are zeros: a > b ? a : b. */
static struct x86_value *vector_float_extreme(struct x86_module *m, struct x86_value *c, struct x86_value *a,
                                              struct x86_value *b) {
    enum { OGT = 2, OLT = 4, UGT = 10, UGE = 11, ULT = 12, ULE = 13 };
    const struct x86_compare *k = c->compared;
    if (!k || !k->is_float || !vector_same(k->a, a) || !vector_same(k->b, b))
        return NULL;
    bool max = k->predicate == OGT || k->predicate == UGT || k->predicate == UGE;
    enum x86_op op = vector_float_op(max ? X86_VMAXPS : X86_VMINPS, a->type);
    switch (k->predicate) {
    case OGT:
    case OLT:
        return vector_each(m, op, a, b);
    case UGT:
    case UGE:
    case ULT:
    case ULE: /* not (a <= b) ? a : b, where equal numbers are the same: b > a ? b : a */
        return vector_distinct(b) ? vector_each(m, op, b, a) : NULL;
    default:
        return NULL;
    }
}

static struct x86_ins *vector_blend(struct x86_module *m, uint32_t bits, uint8_t size, struct x86_ins *mask, struct x86_ins *a,
                                    struct x86_ins *b) {
    if (a == b || x86_is_ones(mask))
        return a;
    if (x86_is_zero(mask))
        return b;
    if (mask->op == X86_VXOR && x86_is_ones(mask->arg[1]))
        return vector_blend(m, bits, size, mask->arg[0], b, a);
    if (x86_is_zero(b))
        return x86_ins2(m, X86_VAND, size, mask, a, 0);
    if (x86_is_zero(a))
        return x86_ins2(m, X86_VANDN, size, mask, b, 0);
    enum x86_op op = bits == 32 ? X86_VBLENDVPS : bits == 64 ? X86_VBLENDVPD : X86_VPBLENDVB;
    return x86_ins3(m, op, size, b, a, mask, 0);
}

static struct x86_value *vector_select_bits(struct x86_module *m, struct x86_value *c, struct x86_value *a,
                                            struct x86_value *b) {
    struct x86_value *none = x86_build_binary(m, X86_OP_XOR, c, x86_const_all(m, c->type, 1));
    return x86_build_binary(m, X86_OP_OR, x86_build_binary(m, X86_OP_AND, c, a), x86_build_binary(m, X86_OP_AND, none, b));
}

struct x86_value *x86_spread(struct x86_module *m, struct x86_value *c, uint32_t lanes) {
    struct x86_type *t = x86_type_vector(m, c->type, lanes);
    struct x86_value *v = x86_value_new(m, t, X86_PARTS);
    uint8_t size;
    v->mask_bits = 32;
    v->nparts = x86_nparts(lanes, 32, &size);
    v->parts = ARENA_ARRAY(m->arena, struct x86_ins *, v->nparts);
    struct x86_ins *one = x86_mask(m, c, 32)[0];
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_ins1(m, X86_VBROADCASTSS, size, one, 0);
    return v;
}

struct x86_value *x86_build_select(struct x86_module *m, struct x86_value *c, struct x86_value *a, struct x86_value *b) {
    struct x86_type *t = a->type;
    uint64_t known;
    if (x86_all_lanes(c, &known))
        return known ? a : b;
    if (c->kind == X86_CONSTANT && a->kind == X86_CONSTANT && b->kind == X86_CONSTANT && c->type->lanes == t->lanes) {
        struct x86_value *v = x86_const_all(m, t, 0);
        for (uint32_t i = 0; i < x86_lanes(t); i++)
            v->lanes[i] = c->lanes[i] ? a->lanes[i] : b->lanes[i];
        return v;
    }
    if (t->lanes && !c->type->lanes)
        c = x86_spread(m, c, t->lanes);
    if (t->bits == 1)
        return vector_select_bits(m, c, a, b);
    if (!t->lanes && !x86_is_float(t))
        return x86_scalar_select(m, c, a, b);
    struct x86_value *v = x86_is_float(t) ? vector_float_extreme(m, c, a, b) : NULL;
    if (v)
        return v;
    uint8_t size;
    v = x86_new_parts(m, t, &size);
    struct x86_ins **mask = x86_mask(m, c, t->bits), **x = x86_parts(m, a), **y = x86_parts(m, b);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = vector_blend(m, t->bits, size, mask[i], x[i], y[i]);
    return v;
}

/* Whether any lane of a mask is set; of integers, the "or" of all. */
struct x86_value *x86_build_any(struct x86_module *m, struct x86_value *v) {
    if (v->type->bits == 1) {
        uint32_t bits = v->kind == X86_CONSTANT ? 32 : v->mask_bits;
        uint8_t size;
        uint32_t n = x86_nparts(v->type->lanes, bits, &size);
        struct x86_ins **p = x86_mask(m, v, bits), *all = p[0];
        uint32_t bytes = v->type->lanes * bits / 8;
        for (uint32_t i = 1; i < n; i++)
            all = x86_ins2(m, X86_VOR, size, all, p[i], 0);
        all = x86_ins1(m, X86_VPMOVMSKB, size, all, 0);
        if (bytes < 16)
            all = x86_ins2(m, X86_AND, 4, all, x86_const_g(m, ((int64_t)1 << bytes) - 1), 0);
        struct x86_ins *args[] = {all, all};
        return x86_value_of(m, x86_type_int(m, 1), x86_ins_cc(m, X86_SETCC, 4, X86_NE, true, args, 2));
    }
    uint32_t lanes = v->type->lanes;
    for (; lanes > 1; lanes /= 2) {
        uint64_t *low = ARENA_ARRAY(m->arena, uint64_t, lanes);
        for (uint32_t i = 0; i < lanes; i++)
            low[i] = i;
        struct x86_value *a = x86_build_shuffle(m, v, v, low, lanes / 2),
                         *b = x86_build_shuffle(m, v, v, low + lanes / 2, lanes / 2);
        v = x86_build_binary(m, X86_OP_OR, a, b);
    }
    return x86_build_extract(m, v, x86_const_all(m, x86_type_int(m, 32), 0));
}
