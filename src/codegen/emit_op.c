/* Pure ops, on scalars and on vectors alike. */
#include "codegen/emit.h"

#include <math.h>
#include <stdio.h>

static LLVMValueRef op_zero(struct emit *e, LLVMValueRef like) {
    return e->l->ConstNull(e->l->TypeOf(like));
}
static LLVMValueRef op_num(struct emit *e, LLVMValueRef like, uint64_t bits) {
    return emit_like(e, e->l->TypeOf(like), bits);
}
static LLVMValueRef op_not(struct emit *e, LLVMValueRef a) {
    return emit_bin(e, LLVMXor, a, op_num(e, a, UINT64_MAX));
}

/* An intrinsic that is overloaded on its operands' type. */
static LLVMValueRef op_call(struct emit *e, const char *name, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMTypeRef t = e->l->TypeOf(a);
    LLVMValueRef args[] = {a, b, c};
    return emit_intrinsic(e, name, &t, 1, args, b ? c ? 3 : 2 : 1);
}

/* ctlz, abs: the second operand is whether the result is undefined for 0 (ctlz) or the least integer (abs). */
static LLVMValueRef op_call_defined(struct emit *e, const char *name, LLVMValueRef a) {
    LLVMTypeRef t = e->l->TypeOf(a);
    LLVMValueRef args[] = {a, e->l->ConstInt(e->i1, 0, false)};
    return emit_intrinsic(e, name, &t, 1, args, 2);
}

/* ---- floats: minimum, maximum ---------------------------------------------------------------- */

/* The constant in all lanes of `v`, as bits. */
static bool op_const_bits(struct emit *e, kir_val v, int64_t *out) {
    return kir_is_const(e->k, v, out);
}

/* With a constant number c one comparison and one select are exact: x is selected where it wins or is NaN. Whether it wins
   when equal depends on the sign of a zero c. */
static LLVMValueRef op_extreme_const(struct emit *e, bool max, LLVMValueRef x, LLVMValueRef c, bool strict) {
    LLVMRealPredicate p = max ? strict ? LLVMRealUGT : LLVMRealUGE : strict ? LLVMRealULT : LLVMRealULE;
    return emit_select(e, e->l->BuildFCmp(e->b, p, x, c, ""), x, c);
}

/* x + y is NaN where either is; equal numbers are zeros of any sign, or the same. */
static LLVMValueRef op_extreme(struct emit *e, bool max, enum kir_type t, LLVMValueRef x, LLVMValueRef y) {
    const struct llvm *l = e->l;
    LLVMTypeRef bits = t == KIR_F64 ? e->i64 : e->i32;
    LLVMValueRef wins = l->BuildFCmp(e->b, max ? LLVMRealOGT : LLVMRealOLT, x, y, "");
    LLVMValueRef equal = l->BuildFCmp(e->b, LLVMRealOEQ, x, y, ""), nan = l->BuildFCmp(e->b, LLVMRealUNO, x, y, "");
    LLVMValueRef joined =
        emit_bin(e, max ? LLVMAnd : LLVMOr, emit_cast(e, LLVMBitCast, x, bits), emit_cast(e, LLVMBitCast, y, bits));
    LLVMValueRef best = emit_select(e, wins, x, y);
    best = emit_select(e, equal, emit_cast(e, LLVMBitCast, joined, emit_scalar_type(e, t)), best);
    return emit_select(e, nan, emit_bin(e, LLVMFAdd, x, y), best);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* i1 is unsigned, with one bit. */
static LLVMValueRef op_bool(struct emit *e, enum kir_op op, LLVMValueRef a, LLVMValueRef b) {
    switch (op) {
    case KIR_ADD:
    case KIR_MAX:
    case KIR_OR:
        return emit_bin(e, LLVMOr, a, b);
    case KIR_MUL:
    case KIR_MIN:
    case KIR_AND:
        return emit_bin(e, LLVMAnd, a, b);
    case KIR_SUB:
    case KIR_XOR:
        return emit_bin(e, LLVMXor, a, b);
    case KIR_DIV:
        return emit_bin(e, LLVMOr, a, op_not(e, b));
    case KIR_REM:
    case KIR_SHL:
    case KIR_SHR:
        return emit_bin(e, LLVMAnd, a, op_not(e, b));
    default:
        return op_zero(e, a); /* MULHI */
    }
}

static LLVMValueRef op_shift(struct emit *e, enum kir_op op, bool is_unsigned, LLVMValueRef a, LLVMValueRef by) {
    LLVMTypeRef t = e->l->TypeOf(a);
    bool vector = emit_lanes_of(e, a) != 0;
    unsigned width = e->l->GetIntTypeWidth(vector ? e->l->GetElementType(t) : t);
    LLVMOpcode code = op == KIR_SHL ? LLVMShl : is_unsigned ? LLVMLShr : LLVMAShr;
    LLVMValueRef beyond = emit_icmp(e, LLVMIntUGE, by, op_num(e, by, width));
    if (code == LLVMAShr)
        return emit_bin(e, code, a, emit_select(e, beyond, op_num(e, by, width - 1), by));
    return emit_select(e, beyond, op_zero(e, a), emit_bin(e, code, a, emit_select(e, beyond, op_zero(e, by), by)));
}

static LLVMValueRef op_shift_const(struct emit *e, enum kir_op op, bool is_unsigned, enum kir_type t, LLVMValueRef a,
                                   LLVMValueRef by, int64_t n) {
    unsigned width = kir_type_bits(t);
    uint64_t amount = width == 64 ? (uint64_t)n : (uint64_t)n & (((uint64_t)1 << width) - 1);
    LLVMOpcode code = op == KIR_SHL ? LLVMShl : is_unsigned ? LLVMLShr : LLVMAShr;
    if (amount < width)
        return emit_bin(e, code, a, op_num(e, by, amount));
    return code == LLVMAShr ? emit_bin(e, code, a, op_num(e, by, width - 1)) : op_zero(e, a);
}

static LLVMValueRef op_mulhi(struct emit *e, bool is_unsigned, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef wide = t == KIR_I64 ? e->i128 : t == KIR_I32 ? e->i64 : e->i32;
    LLVMOpcode extend = is_unsigned ? LLVMZExt : LLVMSExt;
    LLVMValueRef product = emit_bin(e, LLVMMul, emit_cast(e, extend, a, wide), emit_cast(e, extend, b, wide));
    LLVMValueRef by = op_num(e, product, kir_type_bits(t));
    return emit_cast(e, LLVMTrunc, emit_bin(e, LLVMLShr, product, by), emit_scalar_type(e, t));
}

/* 32-bit lanes of x86's widest instruction on integers of 8 and 16 bits. */
static uint32_t op_narrow_lanes(const struct emit *e) {
    return target_has(e->t, "avx512bw") ? 16 : target_has(e->t, "avx2") ? 8 : 4;
}

/* Sums of two products of 16-bit halves: one x86 instruction per register, else two products. */
static LLVMValueRef op_dot2(struct emit *e, LLVMValueRef a, LLVMValueRef b) {
    uint32_t lanes = emit_lanes_of(e, a), most = op_narrow_lanes(e);
    if (lanes > most) {
        LLVMValueRef low = op_dot2(e, emit_half(e, a, false), emit_half(e, b, false));
        LLVMValueRef high = op_dot2(e, emit_half(e, a, true), emit_half(e, b, true));
        return emit_join(e, low, high);
    }
    if (lanes >= 4 && e->t->isa == TARGET_X86_64) {
        static const char *const names[] = {"llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw.d.512"};
        LLVMTypeRef halves = e->l->VectorType(e->i16, 2 * lanes);
        LLVMValueRef args[] = {e->l->BuildCast(e->b, LLVMBitCast, a, halves, ""),
                               e->l->BuildCast(e->b, LLVMBitCast, b, halves, "")};
        return emit_intrinsic(e, names[lanes / 8], NULL, 0, args, 2);
    }
    LLVMValueRef by = op_num(e, a, 16), high = emit_bin(e, LLVMMul, emit_bin(e, LLVMAShr, a, by), emit_bin(e, LLVMAShr, b, by));
    a = emit_bin(e, LLVMAShr, emit_bin(e, LLVMShl, a, by), by);
    b = emit_bin(e, LLVMAShr, emit_bin(e, LLVMShl, b, by), by);
    return emit_bin(e, LLVMAdd, emit_bin(e, LLVMMul, a, b), high);
}

/* Sums of products of narrow numbers by the processor's instruction, of vectors of 16, 32 and 64 bytes on x86. */
static LLVMValueRef op_dot_unit(struct emit *e, const char *x86, const char *aarch64, LLVMTypeRef narrow, LLVMValueRef a,
                                LLVMValueRef b, LLVMValueRef sum) {
    uint32_t lanes = emit_lanes_of(e, a);
    LLVMTypeRef types[] = {e->l->TypeOf(sum), narrow};
    char name[64];
    if (narrow) {
        a = e->l->BuildCast(e->b, LLVMBitCast, a, narrow, "");
        b = e->l->BuildCast(e->b, LLVMBitCast, b, narrow, "");
    }
    LLVMValueRef args[] = {sum, a, b};
    if (e->t->isa == TARGET_AARCH64)
        return emit_intrinsic(e, aarch64, types, 2, args, 3);
    snprintf(name, sizeof name, "%s.%u", x86, 32 * lanes);
    return emit_intrinsic(e, name, NULL, 0, args, 3);
}

/* Sums of four products of bytes: without the instruction, even and odd bytes as halves. */
static LLVMValueRef op_dot4(struct emit *e, bool is_unsigned, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum) {
    uint32_t lanes = emit_lanes_of(e, a), most = e->t->vector_bytes / 4;
    if (lanes > most) {
        LLVMValueRef low = op_dot4(e, is_unsigned, emit_half(e, a, false), emit_half(e, b, false), emit_half(e, sum, false));
        LLVMValueRef high = op_dot4(e, is_unsigned, emit_half(e, a, true), emit_half(e, b, true), emit_half(e, sum, true));
        return emit_join(e, low, high);
    }
    if (lanes >= 4 && (is_unsigned ? e->t->dot_i8 : e->t->dot_i8_signed)) {
        bool arm = e->t->isa == TARGET_AARCH64;
        LLVMTypeRef bytes = arm ? e->l->VectorType(e->i8, 4 * lanes) : NULL; /* x86 takes words */
        if (is_unsigned && arm) /* takes the factor without a sign first, as KIR does */
            return op_dot_unit(e, NULL, "llvm.aarch64.neon.usdot", bytes, a, b, sum);
        const char *x86 = is_unsigned ? "llvm.x86.avx512.vpdpbusd" : "llvm.x86.avx2.vpdpbssd";
        return op_dot_unit(e, x86, "llvm.aarch64.neon.sdot", bytes, a, b, sum);
    }
    LLVMTypeRef t = e->l->TypeOf(a), halves = e->l->VectorType(e->i16, lanes ? 2 * lanes : 2);
    LLVMValueRef byte = emit_like(e, halves, 8), low = emit_like(e, halves, 255);
    a = e->l->BuildCast(e->b, LLVMBitCast, a, halves, "");
    b = e->l->BuildCast(e->b, LLVMBitCast, b, halves, "");
    LLVMValueRef even = is_unsigned ? emit_bin(e, LLVMAnd, a, low) : emit_bin(e, LLVMAShr, emit_bin(e, LLVMShl, a, byte), byte);
    LLVMValueRef odd = emit_bin(e, is_unsigned ? LLVMLShr : LLVMAShr, a, byte);
    LLVMValueRef pairs[] = {even, emit_bin(e, LLVMAShr, emit_bin(e, LLVMShl, b, byte), byte), odd,
                            emit_bin(e, LLVMAShr, b, byte)};
    for (int i = 0; i < 4; i++)
        pairs[i] = e->l->BuildCast(e->b, LLVMBitCast, pairs[i], t, "");
    sum = emit_bin(e, LLVMAdd, sum, op_dot2(e, pairs[0], pairs[1]));
    return emit_bin(e, LLVMAdd, sum, op_dot2(e, pairs[2], pairs[3]));
}

/* Sums of two products of bytes in each half: without the instruction, even and odd bytes as halves. */
static LLVMValueRef op_dot2_i8(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum) {
    uint32_t lanes = emit_lanes_of(e, a), most = op_narrow_lanes(e);
    if (lanes > most) {
        LLVMValueRef low = op_dot2_i8(e, emit_half(e, a, false), emit_half(e, b, false), emit_half(e, sum, false));
        return emit_join(e, low, op_dot2_i8(e, emit_half(e, a, true), emit_half(e, b, true), emit_half(e, sum, true)));
    }
    LLVMTypeRef t = e->l->TypeOf(a), halves = e->l->VectorType(e->i16, lanes ? 2 * lanes : 2), bytes = NULL;
    bool unit = lanes >= 4 && e->t->dot2_i8;
    if (unit)
        bytes = e->l->VectorType(e->i8, 4 * lanes);
    a = e->l->BuildCast(e->b, LLVMBitCast, a, unit ? bytes : halves, "");
    b = e->l->BuildCast(e->b, LLVMBitCast, b, unit ? bytes : halves, "");
    sum = e->l->BuildCast(e->b, LLVMBitCast, sum, halves, "");
    LLVMValueRef pairs;
    if (unit) {
        static const char *const names[] = {"llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.avx2.pmadd.ub.sw",
                                            "llvm.x86.avx512.pmaddubs.w.512"};
        pairs = emit_intrinsic(e, names[lanes / 8], NULL, 0, (LLVMValueRef[]){a, b}, 2);
    } else {
        LLVMValueRef by = emit_like(e, halves, 8), low = emit_like(e, halves, 255);
        LLVMValueRef even = emit_bin(e, LLVMMul, emit_bin(e, LLVMAnd, a, low),
                                     emit_bin(e, LLVMAShr, emit_bin(e, LLVMShl, b, by), by));
        LLVMValueRef odd = emit_bin(e, LLVMMul, emit_bin(e, LLVMLShr, a, by), emit_bin(e, LLVMAShr, b, by));
        pairs = op_call(e, "llvm.sadd.sat", even, odd, NULL);
    }
    return e->l->BuildCast(e->b, LLVMBitCast, emit_bin(e, LLVMAdd, sum, pairs), t, "");
}

/* Sums of two products of bf16: without the instruction, two multiply-adds of the halves of words. */
static LLVMValueRef op_dot2_bf16(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum) {
    uint32_t lanes = emit_lanes_of(e, a), most = e->t->vector_bytes / 4;
    if (lanes > most) {
        LLVMValueRef low = op_dot2_bf16(e, emit_half(e, a, false), emit_half(e, b, false), emit_half(e, sum, false));
        return emit_join(e, low, op_dot2_bf16(e, emit_half(e, a, true), emit_half(e, b, true), emit_half(e, sum, true)));
    }
    if (lanes >= 4 && e->t->dot_bf16) {
        LLVMTypeRef halves = e->l->VectorType(e->bfloat, 2 * lanes);
        return op_dot_unit(e, "llvm.x86.avx512bf16.dpbf16ps", "llvm.aarch64.neon.bfdot", halves, a, b, sum);
    }
    LLVMValueRef high = op_num(e, a, 0xFFFF0000), by = op_num(e, a, 16);
    LLVMValueRef x[] = {emit_bin(e, LLVMAnd, a, high), emit_bin(e, LLVMShl, a, by)};
    LLVMValueRef y[] = {emit_bin(e, LLVMAnd, b, high), emit_bin(e, LLVMShl, b, by)};
    LLVMTypeRef f32 = emit_scalar_type(e, KIR_F32);
    for (int i = 0; i < 2; i++)
        sum = emit_fma(e, KIR_F32, emit_cast(e, LLVMBitCast, x[i], f32), emit_cast(e, LLVMBitCast, y[i], f32), sum);
    return sum;
}

static LLVMValueRef op_int_extreme(struct emit *e, bool max, bool is_unsigned, LLVMValueRef a, LLVMValueRef b) {
    static const char *const names[2][2] = {{"llvm.smin", "llvm.umin"}, {"llvm.smax", "llvm.umax"}};
    return op_call(e, names[max][is_unsigned], a, b, NULL);
}

/* ---- two operands ---------------------------------------------------------------------------- */

static LLVMValueRef op_float(struct emit *e, enum kir_op op, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    switch (op) {
    case KIR_ADD:
        return emit_bin(e, LLVMFAdd, a, b);
    case KIR_SUB:
        return emit_bin(e, LLVMFSub, a, b);
    case KIR_MUL:
        return emit_bin(e, LLVMFMul, a, b);
    case KIR_DIV:
        return emit_bin(e, LLVMFDiv, a, b);
    case KIR_REM:
        return emit_fmod(e, t, a, b);
    case KIR_MIN:
    case KIR_MAX:
        return op_extreme(e, op == KIR_MAX, t, a, b);
    case KIR_COPYSIGN:
        return op_call(e, "llvm.copysign", a, b, NULL);
    default:
        emit_fail(e, "an op that floats do not have");
        return a;
    }
}

LLVMValueRef emit_binary(struct emit *e, enum kir_op op, unsigned flags, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    bool is_unsigned = flags & KIR_U;
    if (kir_is_float(t))
        return op_float(e, op, t, a, b);
    if (t == KIR_I1)
        return op_bool(e, op, a, b);
    switch (op) {
    case KIR_ADD:
        return emit_bin(e, LLVMAdd, a, b);
    case KIR_SUB:
        return emit_bin(e, LLVMSub, a, b);
    case KIR_MUL:
        return emit_bin(e, LLVMMul, a, b);
    case KIR_DIV:
    case KIR_REM:
        return emit_divide(e, op == KIR_REM, is_unsigned, a, b);
    case KIR_MIN:
    case KIR_MAX:
        return op_int_extreme(e, op == KIR_MAX, is_unsigned, a, b);
    case KIR_AND:
        return emit_bin(e, LLVMAnd, a, b);
    case KIR_OR:
        return emit_bin(e, LLVMOr, a, b);
    case KIR_XOR:
        return emit_bin(e, LLVMXor, a, b);
    case KIR_SHL:
    case KIR_SHR:
        return op_shift(e, op, is_unsigned, a, b);
    case KIR_MULHI:
        return op_mulhi(e, is_unsigned, t, a, b);
    case KIR_DOT2:
        return op_dot2(e, a, b);
    default:
        emit_fail(e, "an op that integers do not have");
        return a;
    }
}

/* With a constant operand. NULL: no better form than the general one. */
static LLVMValueRef op_with_const(struct emit *e, const struct kir_node *n, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    enum kir_op op = (enum kir_op)n->op;
    bool max = op == KIR_MAX, second;
    int64_t bits;
    if (kir_is_float(t) && (op == KIR_MIN || max)) {
        second = op_const_bits(e, n->arg[1], &bits);
        if (!second && !op_const_bits(e, n->arg[0], &bits))
            return NULL;
        uint64_t magnitude = (uint64_t)bits << (64 - kir_type_bits(t)) << 1;
        uint64_t infinity = t == KIR_F64 ? UINT64_C(0x7FF) << 53 : UINT64_C(0xFF) << 56;
        if (magnitude > infinity)
            return NULL;
        return op_extreme_const(e, max, second ? a : b, second ? b : a, magnitude != 0 || (bits < 0) != max);
    }
    if ((op == KIR_SHL || op == KIR_SHR) && t != KIR_I1 && op_const_bits(e, n->arg[1], &bits))
        return op_shift_const(e, op, n->flags & KIR_U, t, a, b, bits);
    return NULL;
}

/* ---- one operand ----------------------------------------------------------------------------- */

static LLVMValueRef op_ext(struct emit *e, const struct kir_node *n, LLVMValueRef a) {
    unsigned width = kir_type_bits((enum kir_type)n->type), bits = (unsigned)n->imm;
    if (bits >= width)
        return a;
    if (n->flags & KIR_U)
        return emit_bin(e, LLVMAnd, a, op_num(e, a, ((uint64_t)1 << bits) - 1));
    LLVMValueRef by = op_num(e, a, width - bits);
    return emit_bin(e, LLVMAShr, emit_bin(e, LLVMShl, a, by), by);
}

static LLVMValueRef op_round(struct emit *e, kir_val v, LLVMValueRef a) {
    const struct kir_node *n = kir_get(e->k, v);
    e->nodes[v.i].code = NULL;
    if (n->imm == FP_F64 || (n->imm == FP_F32 && n->type == KIR_F32))
        return a;
    LLVMValueRef code = emit_fp_encode(e, (enum fp_kind)n->imm, a);
    e->nodes[v.i].code = code;
    return emit_fp_decode(e, (enum fp_kind)n->imm, code, (enum kir_type)n->type);
}

/* Whether it holds in any lane that runs. A value that is the same in all lanes holds in those that run. */
static LLVMValueRef op_any(struct emit *e, const struct kir_node *n) {
    if (e->in_vector)
        return emit_block_any(e, emit_scalar(e, n->arg[0]));
    if (!emit_varies(e, n->arg[0]))
        return emit_scalar(e, n->arg[0]);
    LLVMValueRef lanes = emit_lanes(e, n->arg[0]);
    if (e->mask)
        lanes = emit_bin(e, LLVMAnd, lanes, e->mask);
    LLVMTypeRef t = e->l->TypeOf(lanes);
    return emit_intrinsic(e, "llvm.vector.reduce.or", &t, 1, &lanes, 1);
}

static LLVMValueRef op_unary(struct emit *e, kir_val v, LLVMValueRef a) {
    const struct kir_node *n = kir_get(e->k, v);
    bool is_float = kir_is_float((enum kir_type)n->type), is_bool = n->type == KIR_I1;
    switch ((enum kir_op)n->op) {
    case KIR_NEG:
        return is_float ? e->l->BuildFNeg(e->b, a, "") : emit_bin(e, LLVMSub, op_zero(e, a), a);
    case KIR_ABS:
        return is_float ? op_call(e, "llvm.fabs", a, NULL, NULL) : is_bool ? a : op_call_defined(e, "llvm.abs", a);
    case KIR_SQRT:
        return op_call(e, "llvm.sqrt", a, NULL, NULL);
    case KIR_FLOOR:
        return op_call(e, "llvm.floor", a, NULL, NULL);
    case KIR_CEIL:
        return op_call(e, "llvm.ceil", a, NULL, NULL);
    case KIR_TRUNC:
        return op_call(e, "llvm.trunc", a, NULL, NULL);
    case KIR_RINT:
        return op_call(e, "llvm.roundeven", a, NULL, NULL);
    case KIR_NOT:
        return op_not(e, a);
    case KIR_CLZ:
        return is_bool ? op_not(e, a) : op_call_defined(e, "llvm.ctlz", a);
    case KIR_POPCNT:
        return is_bool ? a : op_call(e, "llvm.ctpop", a, NULL, NULL);
    case KIR_EXT:
        return op_ext(e, n, a);
    case KIR_ROUND:
        return op_round(e, v, a);
    default:
        emit_fail(e, "an op that code generation does not know");
        return a;
    }
}

/* ---- conversion, comparison ------------------------------------------------------------------ */

/* Clamps lanes by comparing, since LLVM splits fptosi.sat into scalars. Bounds that are no floats are applied after
   the conversion. NaN becomes the lower bound, and 0 at the end. */
static LLVMValueRef op_to_int_lanes(struct emit *e, bool is_unsigned, enum kir_type from, enum kir_type to, LLVMValueRef x) {
    const struct llvm *l = e->l;
    enum fp_kind f = from == KIR_F64 ? FP_F64 : FP_F32;
    unsigned width = kir_type_bits(to), bits = width - !is_unsigned;
    double least = is_unsigned ? 0 : -ldexp(1, (int)bits), end = ldexp(1, (int)bits);
    bool exact = bits <= fp_get(f)->man_bits + 1u;
    uint64_t most = exact ? fp_encode(f, end - 1) : fp_encode(f, end) - 1;
    LLVMValueRef low = op_num(e, x, fp_encode(f, least)), high = op_num(e, x, most);
    LLVMValueRef y = emit_select(e, l->BuildFCmp(e->b, LLVMRealOGT, x, low, ""), x, low);
    y = emit_select(e, l->BuildFCmp(e->b, LLVMRealOLT, y, high, ""), y, high);
    LLVMTypeRef wide = width < 32 ? e->i32 : emit_scalar_type(e, to);
    LLVMValueRef q = emit_cast(e, is_unsigned && width >= 32 ? LLVMFPToUI : LLVMFPToSI, y, wide);
    if (!exact) {
        LLVMValueRef over = l->BuildFCmp(e->b, LLVMRealOGE, x, op_num(e, x, fp_encode(f, end)), "");
        q = emit_select(e, over, op_num(e, q, is_unsigned ? UINT64_MAX : ((uint64_t)1 << bits) - 1), q);
    }
    if (!is_unsigned)
        q = emit_select(e, l->BuildFCmp(e->b, LLVMRealUNO, x, x, ""), op_zero(e, q), q);
    return width < 32 ? emit_cast(e, LLVMTrunc, q, emit_scalar_type(e, to)) : q;
}

static LLVMValueRef op_to_int(struct emit *e, bool is_unsigned, enum kir_type from, enum kir_type to, LLVMValueRef a) {
    if (emit_lanes_of(e, a))
        return op_to_int_lanes(e, is_unsigned, from, to, a);
    LLVMTypeRef overloads[] = {emit_scalar_type(e, to), e->l->TypeOf(a)};
    return emit_intrinsic(e, is_unsigned ? "llvm.fptoui.sat" : "llvm.fptosi.sat", overloads, 2, &a, 1);
}

static LLVMValueRef op_convert(struct emit *e, const struct kir_node *n, enum kir_type from, enum kir_type to, LLVMValueRef a) {
    bool is_unsigned = (n->flags & KIR_U) || from == KIR_I1;
    LLVMTypeRef t = emit_scalar_type(e, to);
    if (from == to)
        return a;
    if (to == KIR_I1)
        return kir_is_float(from) ? e->l->BuildFCmp(e->b, LLVMRealUNE, a, op_zero(e, a), "")
                                  : emit_icmp(e, LLVMIntNE, a, op_zero(e, a));
    if (kir_is_float(from))
        return kir_is_float(to) ? emit_cast(e, to == KIR_F64 ? LLVMFPExt : LLVMFPTrunc, a, t)
                                : op_to_int(e, is_unsigned, from, to, a);
    if (kir_is_float(to))
        return emit_cast(e, is_unsigned ? LLVMUIToFP : LLVMSIToFP, a, t);
    if (kir_type_bits(to) < kir_type_bits(from))
        return emit_cast(e, LLVMTrunc, a, t);
    return emit_cast(e, is_unsigned ? LLVMZExt : LLVMSExt, a, t);
}

static LLVMValueRef op_cmp(struct emit *e, const struct kir_node *n, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT, LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    static const LLVMIntPredicate ints[2][6] = {{LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE},
                                                {LLVMIntEQ, LLVMIntNE, LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE}};
    if (kir_is_float(t))
        return e->l->BuildFCmp(e->b, reals[n->sub], a, b, "");
    return emit_icmp(e, ints[(n->flags & KIR_U) || t == KIR_I1][n->sub], a, b);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Ops that give the same result in 32 as in 64 bits, if operands and result fit 32. */
bool emit_is_narrow(const struct emit *e, const struct kir_node *n) {
    bool is_unsigned = n->flags & KIR_U;
    switch ((enum kir_op)n->op) {
    case KIR_DIV:
    case KIR_REM:
    case KIR_SHR: /* a negative number is another one as unsigned */
        if (is_unsigned && (kir_get(e->k, n->arg[0])->lo < 0 || kir_get(e->k, n->arg[1])->lo < 0))
            return false;
        break;
    case KIR_ADD:
    case KIR_SUB:
    case KIR_MUL:
    case KIR_MIN:
    case KIR_MAX:
    case KIR_NEG:
    case KIR_ABS:
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR:
    case KIR_NOT:
    case KIR_SHL:
    case KIR_SELECT:
        break;
    case KIR_CONVERT: {
        enum kir_type from = emit_type(e, n->arg[0]);
        return !kir_is_float(from) && n->lo >= INT32_MIN && n->hi <= INT32_MAX;
    }
    default:
        return false;
    }
    for (int i = n->op == KIR_SELECT; i < 3; i++)
        if (emit_is(n->arg[i]) && !emit_fits(e, n->arg[i]))
            return false;
    return n->lo >= INT32_MIN && n->hi <= INT32_MAX;
}

/* Whether the i64 operands of a VARYING node, on GPUs of any, are used in 32 bits. */
static bool op_takes_narrow(const struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    if (n->op == KIR_CMP)
        return emit_fits(e, n->arg[0]) && emit_fits(e, n->arg[1]);
    if (n->op == KIR_CONVERT && n->type != KIR_I64)
        return emit_fits(e, n->arg[0]) && (!(n->flags & KIR_U) || kir_get(e->k, n->arg[0])->lo >= 0);
    return e->nodes[v.i].narrow;
}

/* KIR_U for a quotient or remainder of numbers that are never negative: fewer instructions. */
static unsigned op_signless(const struct emit *e, const struct kir_node *n) {
    bool divides = (n->op == KIR_DIV || n->op == KIR_REM) && !kir_is_float((enum kir_type)n->type);
    return divides && kir_get(e->k, n->arg[0])->lo >= 0 && kir_get(e->k, n->arg[1])->lo >= 0 ? KIR_U : 0;
}

static LLVMValueRef op_operand(struct emit *e, kir_val v, bool scalar, bool narrow) {
    if (!emit_is(v))
        return NULL;
    if (narrow && emit_type(e, v) == KIR_I64)
        return scalar ? emit_scalar32(e, v) : emit_lanes32(e, v);
    return emit_value(e, v, scalar);
}

LLVMValueRef emit_pure(struct emit *e, kir_val v, bool scalar) {
    const struct kir_node *n = kir_get(e->k, v);
    if (n->op == KIR_CONST)
        return emit_const(e, (enum kir_type)n->type, n->imm);
    if (n->op == KIR_ANY)
        return op_any(e, n);
    bool narrow = (!scalar || e->blocks) && op_takes_narrow(e, v);
    enum kir_type t = (enum kir_type)n->type, from = emit_is(n->arg[0]) ? emit_type(e, n->arg[0]) : t;
    if (narrow) {
        t = t == KIR_I64 ? KIR_I32 : t;
        from = from == KIR_I64 ? KIR_I32 : from;
    }
    /* one condition for all lanes chooses between vectors */
    bool one = scalar || (n->op == KIR_SELECT && !emit_varies(e, n->arg[0]));
    LLVMValueRef a = op_operand(e, n->arg[0], one, narrow), b = op_operand(e, n->arg[1], scalar, narrow),
                 c = op_operand(e, n->arg[2], scalar, narrow);
    if (e->status != HILO_OK)
        return NULL;
    switch ((enum kir_op)n->op) {
    case KIR_CMP:
        return op_cmp(e, n, from, a, b);
    case KIR_SELECT:
        return emit_select(e, a, b, c);
    case KIR_CONVERT:
        return op_convert(e, n, from, t, a);
    case KIR_BITCAST:
        return emit_cast(e, LLVMBitCast, a, emit_scalar_type(e, t));
    case KIR_FMA:
        return emit_fma(e, t, a, b, c);
    case KIR_DOT4:
        return op_dot4(e, n->flags & KIR_U, a, b, c);
    case KIR_DOT2_I8:
        return op_dot2_i8(e, a, b, c);
    case KIR_DOT2_BF16:
        return op_dot2_bf16(e, a, b, c);
    default:
        break;
    }
    if (!b)
        return op_unary(e, v, a);
    LLVMValueRef r = op_with_const(e, n, t, a, b);
    return r ? r : emit_binary(e, (enum kir_op)n->op, n->flags | op_signless(e, n), t, a, b);
}
