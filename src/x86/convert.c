/* Conversions between types. */
#include "x86/parts.h"

static struct x86_value *convert_lane(struct x86_module *m, struct x86_value *const *args, int what, struct x86_type *to) {
    return x86_build_cast(m, (enum x86_cast)what, args[0], to);
}

/* ---- integers ------------------------------------------------------------------------------------ */

static struct x86_value *convert_fold(struct x86_module *m, enum x86_cast op, struct x86_value *a, struct x86_type *to) {
    if (a->kind != X86_CONSTANT || a->poison || a->type->bits > 64 || to->bits > 64)
        return NULL;
    bool ints = x86_element(a->type)->kind == X86_INT && x86_element(to)->kind == X86_INT;
    bool same = op == X86_TO_BITCAST && a->type->bits == to->bits && a->type->lanes == to->lanes;
    if (same)
        return x86_const(m, to, a->lanes);
    if (!ints || (op != X86_TO_TRUNC && op != X86_TO_ZEXT && op != X86_TO_SEXT))
        return NULL;
    struct x86_value *v = x86_const_all(m, to, 0);
    for (uint32_t i = 0; i < x86_lanes(to); i++) {
        uint64_t x = op == X86_TO_SEXT ? (uint64_t)x86_extend(a->lanes[i], a->type->bits) : a->lanes[i];
        v->lanes[i] = to->bits < 64 ? x & (((uint64_t)1 << to->bits) - 1) : x;
    }
    return v;
}

static struct x86_value *convert_from_mask(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_type *to) {
    struct x86_value *v;
    if (!to->lanes) {
        struct x86_ins *i = x86_mask(m, a, 0)[0];
        return x86_value_of(m, to, is_signed ? x86_ins1(m, X86_NEG, 8, i, 0) : i);
    }
    v = x86_value_new(m, to, X86_PARTS);
    uint8_t size;
    v->nparts = x86_nparts(to->lanes, to->bits, &size);
    v->parts = x86_mask(m, a, to->bits);
    return is_signed ? v : x86_build_binary(m, X86_OP_AND, v, x86_const_all(m, to, 1));
}

static struct x86_value *convert_to_mask(struct x86_module *m, struct x86_value *a) {
    struct x86_value *one = x86_const_all(m, a->type, 1);
    if (!a->type->lanes)
        return x86_value_of(m, x86_type_int(m, 1), x86_ins2(m, X86_AND, 4, x86_part(m, a), x86_const_g(m, 1), 0));
    return x86_build_compare(m, X86_EQ, false, x86_build_binary(m, X86_OP_AND, a, one), one);
}

/* Every second lane of lanes of half the width: of dwords by a shuffle, of words after the upper halves were cleared. */
static struct x86_value *convert_halve(struct x86_module *m, struct x86_value *a, struct x86_type *to) {
    uint8_t wide, size;
    uint32_t lanes = to->lanes, n = x86_nparts(lanes, a->type->bits, &wide);
    struct x86_value *v = x86_new_parts(m, to, &size);
    struct x86_value *low =
        a->type->bits == 64 ? a : x86_build_binary(m, X86_OP_AND, a, x86_const_all(m, a->type, ((uint64_t)1 << to->bits) - 1));
    struct x86_ins **from = x86_parts(m, low);
    enum x86_op op = a->type->bits == 64 ? X86_VSHUFPS : a->type->bits == 32 ? X86_VPACKUSDW : X86_VPACKUSWB;
    int64_t imm = op == X86_VSHUFPS ? 0x88 : 0;
    for (uint32_t i = 0; i < v->nparts; i++) {
        if (n == 1) {
            struct x86_ins *upper = wide == 32 ? x86_ins1(m, X86_VEXTRACTF128, 32, from[0], 1) : from[0];
            v->parts[i] = x86_ins2(m, op, 16, from[0], upper, imm);
        } else {
            v->parts[i] = x86_ins1(m, X86_VPERMQ, 32, x86_ins2(m, op, 32, from[2 * i], from[2 * i + 1], imm), 0xD8);
        }
    }
    return v;
}

static struct x86_value *convert_trunc(struct x86_module *m, struct x86_value *a, struct x86_type *to) {
    if (a->type->bits == 128)
        return x86_wide_trunc(m, a, to);
    if (to->bits == 1)
        return convert_to_mask(m, a);
    if (!to->lanes)
        return x86_value_of(m, to, x86_part(m, a));
    while (a->type->bits > to->bits)
        a = convert_halve(m, a, x86_ints_like(m, to, a->type->bits / 2));
    return a;
}

static struct x86_value *convert_extend(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_type *to) {
    if (to->bits == 128) {
        struct x86_value *v = x86_value_new(m, to, X86_WIDE);
        v->a = a;
        v->is_signed = is_signed;
        return v;
    }
    if (a->type->bits == 1)
        return convert_from_mask(m, is_signed, a, to);
    if (!to->lanes)
        return x86_value_of(m, to, x86_extended(m, a, is_signed));
    struct x86_value *v = x86_value_new(m, to, X86_PARTS);
    uint8_t size;
    v->nparts = x86_nparts(to->lanes, to->bits, &size);
    v->parts = x86_widen(m, x86_parts(m, a), to->lanes, a->type->bits, to->bits, is_signed);
    return v;
}

/* ---- bits ------------------------------------------------------------------------------------------ */

static bool convert_in_vector(const struct x86_type *t) {
    return t->lanes || x86_is_float(t) || t->kind == X86_HALF;
}

static struct x86_value *convert_bits(struct x86_module *m, struct x86_value *a, struct x86_type *to) {
    uint32_t bits = x86_lanes(to) * to->bits;
    if (a->type->bits == 1 || to->bits == 1) {
        x86_refuse(m, "the bits of a mask");
        return x86_poison(m, to);
    }
    if (convert_in_vector(a->type) == convert_in_vector(to))
        return x86_as(m, a, to);
    if (convert_in_vector(to))
        return x86_value_of(m, to, x86_ins1(m, bits == 64 ? X86_VMOVQ_VG : X86_VMOVD_VG, 16, x86_part(m, a), 0));
    return x86_value_of(m, to, x86_ins1(m, bits == 64 ? X86_VMOVQ_GV : X86_VMOVD_GV, bits == 64 ? 8 : 4, x86_part(m, a), 0));
}

/* ---- integers to floating point --------------------------------------------------------------------- */

static struct x86_value *convert_parts(struct x86_module *m, enum x86_op op, struct x86_value *a, struct x86_type *to) {
    uint8_t size, from;
    struct x86_value *v = x86_new_parts(m, to, &size);
    struct x86_ins **x = x86_parts(m, a);
    x86_nparts(x86_lanes(a->type), a->type->bits, &from);
    if (to->bits >= a->type->bits) { /* each part from a fraction of one */
        for (uint32_t i = 0; i < v->nparts; i++) {
            uint32_t byte = i * size * a->type->bits / to->bits;
            v->parts[i] = x86_ins1(m, op, size, x86_upper(m, x[byte / from], byte % from), 0);
        }
        return v;
    }
    for (uint32_t i = 0; i < v->nparts; i++) { /* from two */
        v->parts[i] = x86_ins1(m, op, from, x[size == 32 ? 2 * i : 0], 0);
        if (size == 32)
            v->parts[i] = x86_ins2(m, X86_VINSERTF128, 32, v->parts[i], x86_ins1(m, op, 32, x[2 * i + 1], 0), 1);
    }
    return v;
}

static struct x86_value *convert_scalar_to_float(struct x86_module *m, bool is_signed, struct x86_value *a,
                                                 struct x86_type *to) {
    enum x86_op op = to->bits == 32 ? X86_VCVTSI2SS : X86_VCVTSI2SD, add = to->bits == 32 ? X86_VADDSS : X86_VADDSD;
    struct x86_ins *i = x86_extended(m, a, is_signed);
    if (is_signed || a->type->bits < 64)
        return x86_value_of(m, to, x86_ins1(m, op, 16, i, 0));
    /* half of it, with its last bit kept for rounding, twice */
    struct x86_ins *half =
        x86_ins2(m, X86_OR, 8, x86_ins1(m, X86_SHRI, 8, i, 1), x86_ins2(m, X86_AND, 8, i, x86_const_g(m, 1), 0), 0);
    struct x86_ins *large = x86_ins1(m, op, 16, half, 0), *small = x86_ins1(m, op, 16, i, 0);
    large = x86_ins2(m, add, 16, large, large, 0);
    struct x86_value *sign = x86_build_compare(m, X86_SLT, false, a, x86_const_all(m, a->type, 0));
    return x86_build_select(m, sign, x86_value_of(m, to, large), x86_value_of(m, to, small));
}

/* 32 bits without a sign: the upper and the lower half are exact; one sum is rounded. */
static struct x86_value *convert_unsigned(struct x86_module *m, struct x86_value *a, struct x86_type *to) {
    if (to->bits == 64) {
        struct x86_value *x = x86_build_binary(m, X86_OP_XOR, a, x86_const_all(m, a->type, UINT64_C(1) << 31));
        x = convert_parts(m, X86_VCVTDQ2PD, x, to);
        return x86_build_binary(m, X86_OP_FADD, x, x86_const_all(m, to, UINT64_C(0x41E) << 52));
    }
    struct x86_value *high = x86_build_binary(m, X86_OP_LSHR, a, x86_const_all(m, a->type, 16));
    struct x86_value *low = x86_build_binary(m, X86_OP_AND, a, x86_const_all(m, a->type, 0xFFFF));
    high = x86_build_binary(m, X86_OP_FMUL, convert_parts(m, X86_VCVTDQ2PS, high, to), x86_const_all(m, to, 0x47800000));
    return x86_build_binary(m, X86_OP_FADD, high, convert_parts(m, X86_VCVTDQ2PS, low, to));
}

static struct x86_value *convert_to_float(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_type *to) {
    if (!to->lanes)
        return convert_scalar_to_float(m, is_signed, a, to);
    if (a->type->bits < 32) {
        a = convert_extend(m, is_signed, a, x86_ints_like(m, a->type, 32));
        is_signed = true;
    }
    if (a->type->bits == 64)
        return x86_by_lanes(m, convert_lane, is_signed ? X86_TO_SITOFP : X86_TO_UITOFP, to, &a, 1);
    if (!is_signed)
        return convert_unsigned(m, a, to);
    return convert_parts(m, to->bits == 32 ? X86_VCVTDQ2PS : X86_VCVTDQ2PD, a, to);
}

/* ---- floating point to integers --------------------------------------------------------------------- */

static struct x86_value *convert_scalar_to_int(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_type *to) {
    enum x86_op op = a->type->bits == 32 ? X86_VCVTTSS2SI : X86_VCVTTSD2SI;
    struct x86_value *small = x86_value_of(m, to, x86_ins1(m, op, 8, x86_part(m, a), 0));
    if (is_signed || to->bits < 64)
        return small;
    struct x86_value *end = x86_const_all(m, a->type, a->type->bits == 32 ? 0x5F000000 : UINT64_C(0x43E) << 52); /* 2^63 */
    struct x86_value *large = x86_value_of(m, to, x86_ins1(m, op, 8, x86_part(m, x86_build_binary(m, X86_OP_FSUB, a, end)), 0));
    large = x86_build_binary(m, X86_OP_XOR, large, x86_const_all(m, to, UINT64_C(1) << 63));
    enum { OLT = 4 };
    return x86_build_select(m, x86_build_compare(m, OLT, true, a, end), small, large);
}

static struct x86_value *convert_to_int(struct x86_module *m, bool is_signed, struct x86_value *a, struct x86_type *to) {
    enum { OLT = 4 };
    if (!to->lanes)
        return convert_scalar_to_int(m, is_signed, a, to);
    if (to->bits == 64)
        return x86_by_lanes(m, convert_lane, is_signed ? X86_TO_FPTOSI : X86_TO_FPTOUI, to, &a, 1);
    struct x86_type *wide = x86_ints_like(m, to, 32);
    enum x86_op op = a->type->bits == 32 ? X86_VCVTTPS2DQ : X86_VCVTTPD2DQ;
    struct x86_value *v = convert_parts(m, op, a, wide);
    if (!is_signed && to->bits == 32) {
        struct x86_value *end = x86_const_all(m, a->type, a->type->bits == 32 ? 0x4F000000 : UINT64_C(0x41E) << 52); /* 2^31 */
        struct x86_value *large = convert_parts(m, op, x86_build_binary(m, X86_OP_FSUB, a, end), wide);
        large = x86_build_binary(m, X86_OP_XOR, large, x86_const_all(m, wide, UINT64_C(1) << 31));
        v = x86_build_select(m, x86_build_compare(m, OLT, true, a, end), v, large);
    }
    return to->bits < 32 ? convert_trunc(m, v, to) : v;
}

/* Numbers beyond the integers become the last one, NaN becomes 0. */
struct x86_value *x86_build_saturate(struct x86_module *m, bool is_signed, struct x86_value *x, struct x86_type *to) {
    enum { OGE = 3, OGT = 2, ULE = 13, UNO = 8 };
    uint32_t bits = to->bits - is_signed;
    bool f64 = x->type->bits == 64;
    uint64_t bias = f64 ? 1023 : 127, mantissa = f64 ? 52 : 23;
    struct x86_value *end = x86_const_all(m, x->type, (bits + bias) << mantissa), *zero = x86_const_all(m, to, 0);
    struct x86_value *low =
        x86_const_all(m, x->type, is_signed ? ((bits + bias) << mantissa) | UINT64_C(1) << (x->type->bits - 1) : 0);
    struct x86_value *q = convert_scalar_to_int(m, is_signed, x, to->bits < 64 ? x86_type_int(m, 64) : to);
    q = to->bits < 64 ? x86_value_of(m, to, x86_part(m, q)) : q;
    uint64_t least = is_signed ? UINT64_C(1) << bits : 0, most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    q = x86_build_select(m, x86_build_compare(m, OGE, true, x, end), x86_const_all(m, to, most), q);
    q = x86_build_select(m, x86_build_compare(m, ULE, true, x, low), x86_const_all(m, to, least), q);
    return x86_build_select(m, x86_build_compare(m, UNO, true, x, x), zero, q);
}

/* ---- floating-point formats ------------------------------------------------------------------------- */

static struct x86_value *convert_format(struct x86_module *m, struct x86_value *a, struct x86_type *to) {
    uint32_t from = a->type->bits, bits = to->bits;
    if (from == 16 && bits == 32)
        return convert_parts(m, X86_VCVTPH2PS, a, to);
    if (from == 32 && bits == 16) {
        uint8_t size, wide;
        struct x86_value *v = x86_new_parts(m, to, &size);
        struct x86_ins **x = x86_parts(m, a);
        x86_nparts(x86_lanes(a->type), 32, &wide);
        for (uint32_t i = 0; i < v->nparts; i++) {
            v->parts[i] = x86_ins1(m, X86_VCVTPS2PH, wide, x[size == 32 ? 2 * i : 0], 0);
            if (size == 32)
                v->parts[i] = x86_ins2(m, X86_VINSERTF128, 32, v->parts[i], x86_ins1(m, X86_VCVTPS2PH, 32, x[2 * i + 1], 0), 1);
        }
        return v;
    }
    if (from == 16 || bits == 16) {
        x86_refuse(m, "a conversion of half precision");
        return x86_poison(m, to);
    }
    if (!to->lanes)
        return x86_value_of(m, to, x86_ins1(m, bits == 64 ? X86_VCVTSS2SD : X86_VCVTSD2SS, 16, x86_part(m, a), 0));
    return convert_parts(m, bits == 64 ? X86_VCVTPS2PD : X86_VCVTPD2PS, a, to);
}

struct x86_value *x86_build_cast(struct x86_module *m, enum x86_cast op, struct x86_value *a, struct x86_type *to) {
    struct x86_value *v = convert_fold(m, op, a, to);
    if (v)
        return v;
    if (a->type == to)
        return a;
    switch (op) {
    case X86_TO_TRUNC:
        return convert_trunc(m, a, to);
    case X86_TO_ZEXT:
    case X86_TO_SEXT:
        return convert_extend(m, op == X86_TO_SEXT, a, to);
    case X86_TO_FPTOUI:
    case X86_TO_FPTOSI:
        return convert_to_int(m, op == X86_TO_FPTOSI, a, to);
    case X86_TO_UITOFP:
    case X86_TO_SITOFP:
        return convert_to_float(m, op == X86_TO_SITOFP, a, to);
    case X86_TO_FPTRUNC:
    case X86_TO_FPEXT:
        return convert_format(m, a, to);
    case X86_TO_PTRTOINT:
        if (a->kind == X86_POINTERS)
            break;
        return x86_value_of(m, to, x86_part(m, a));
    case X86_TO_INTTOPTR:
        v = x86_value_new(m, to, X86_ADDRESS);
        v->base = x86_part(m, a);
        return v;
    default:
        return convert_bits(m, a, to);
    }
    x86_refuse(m, "a vector of addresses as integers");
    return x86_poison(m, to);
}
