/* Quotients and remainders that never trap, and what a processor may lack: fma, fmod. */
#include "codegen/emit.h"

static LLVMValueRef div_num(struct emit *e, LLVMValueRef like, uint64_t bits) {
    return emit_like(e, e->l->TypeOf(like), bits);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Vectors of up to 32 bits through floats that hold every quotient: the quotient of two n-bit integers lies at least 2^-n of
   itself below the next integer, which rounding cannot cross. b is not 0, and not -1 when signed. */
static LLVMValueRef div_by_float(struct emit *e, bool is_unsigned, unsigned width, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef f = width <= 16 ? e->f32 : e->f64, wide = width <= 16 ? e->i32 : e->i64;
    LLVMTypeRef back = width == 8 ? e->i8 : width == 16 ? e->i16 : e->i32;
    LLVMOpcode to = is_unsigned ? LLVMUIToFP : LLVMSIToFP;
    LLVMValueRef q = emit_bin(e, LLVMFDiv, emit_cast(e, to, a, f), emit_cast(e, to, b, f));
    if (width == 32)
        return is_unsigned ? emit_cast(e, LLVMFPToUI, q, back) : emit_cast(e, LLVMFPToSI, q, back);
    return emit_cast(e, LLVMTrunc, emit_cast(e, LLVMFPToSI, q, wide), back);
}

/* Replaces divisors that would trap by 1. */
LLVMValueRef emit_divide(struct emit *e, bool rem, bool is_unsigned, LLVMValueRef a, LLVMValueRef b) {
    const struct llvm *l = e->l;
    LLVMTypeRef t = l->TypeOf(a);
    uint32_t lanes = emit_lanes_of(e, a);
    unsigned width = l->GetIntTypeWidth(lanes ? l->GetElementType(t) : t);
    LLVMValueRef one = div_num(e, a, 1), all = div_num(e, a, UINT64_MAX), q;
    LLVMValueRef zero = emit_icmp(e, LLVMIntEQ, b, div_num(e, a, 0)), minus = emit_icmp(e, LLVMIntEQ, b, all);
    bool is_const = l->IsConstant(b);
    LLVMValueRef special = is_unsigned ? zero : emit_bin(e, LLVMOr, zero, minus), safe = emit_select(e, special, one, b);
    if (lanes && !is_const && width <= 32)
        q = div_by_float(e, is_unsigned, width, a, safe);
    else
        q = emit_bin(e, is_unsigned ? LLVMUDiv : LLVMSDiv, a, safe);
    if (!is_unsigned)
        q = emit_select(e, minus, emit_bin(e, LLVMSub, div_num(e, a, 0), a), q);
    q = emit_select(e, zero, all, q);
    /* by zero this is a, by -1 it is 0 */
    return rem ? emit_bin(e, LLVMSub, a, emit_select(e, zero, div_num(e, a, 0), emit_bin(e, LLVMMul, q, b))) : q;
}

/* ---- fma ------------------------------------------------------------------------------------- */

/* Without fma instructions. The product of two f32 is exact in f64; the sum is rounded to odd, that is, its last bit is set
   when it is not exact, and so the second rounding, to f32, decides as the exact sum would (Boldo and Melquiond, Emulation of
   FMA and correctly rounded sums, 2008). */
static LLVMValueRef div_fma32(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    const struct llvm *l = e->l;
    LLVMValueRef p = emit_bin(e, LLVMFMul, emit_cast(e, LLVMFPExt, a, e->f64), emit_cast(e, LLVMFPExt, b, e->f64));
    LLVMValueRef z = emit_cast(e, LLVMFPExt, c, e->f64), s = emit_bin(e, LLVMFAdd, p, z);
    LLVMValueRef zz = emit_bin(e, LLVMFSub, s, p); /* the error of the sum: (p - (s - zz)) + (z - zz) */
    LLVMValueRef error =
        emit_bin(e, LLVMFAdd, emit_bin(e, LLVMFSub, p, emit_bin(e, LLVMFSub, s, zz)), emit_bin(e, LLVMFSub, z, zz));
    LLVMValueRef bits = emit_cast(e, LLVMBitCast, s, e->i64), none = div_num(e, error, 0);
    LLVMValueRef inexact = l->BuildFCmp(e->b, LLVMRealONE, error, none, "");
    LLVMValueRef even = emit_icmp(e, LLVMIntEQ, emit_bin(e, LLVMAnd, bits, div_num(e, bits, 1)), div_num(e, bits, 0));
    LLVMValueRef up = l->BuildFCmp(e->b, LLVMRealOGT, error, none, "");
    LLVMValueRef positive = emit_icmp(e, LLVMIntSGE, bits, div_num(e, bits, 0));
    LLVMValueRef away = emit_icmp(e, LLVMIntEQ, emit_cast(e, LLVMZExt, up, e->i8), emit_cast(e, LLVMZExt, positive, e->i8));
    LLVMValueRef step = emit_select(e, away, div_num(e, bits, 1), div_num(e, bits, UINT64_MAX));
    LLVMValueRef odd = emit_select(e, emit_bin(e, LLVMAnd, inexact, even), emit_bin(e, LLVMAdd, bits, step), bits);
    return emit_cast(e, LLVMFPTrunc, emit_cast(e, LLVMBitCast, odd, e->f64), e->f32);
}

LLVMValueRef emit_fma(struct emit *e, enum kir_type t, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMTypeRef type = e->l->TypeOf(a);
    LLVMValueRef args[] = {a, b, c};
    if (e->t->fma)
        return emit_intrinsic(e, "llvm.fma", &type, 1, args, 3);
    if (t == KIR_F32)
        return div_fma32(e, a, b, c);
    emit_unsupported(e, "fma of f64 on a processor without it");
    return a;
}

/* ---- fmod ------------------------------------------------------------------------------------ */

/* Fields of a float, and it as an integer. */
struct div_format {
    LLVMTypeRef bits, type;
    unsigned mantissa, exponent;
    uint64_t sign, infinity, implicit;
};

static LLVMValueRef div_function(struct emit *e, const char *name, LLVMTypeRef result, LLVMTypeRef param) {
    LLVMTypeRef params[] = {param, param};
    LLVMValueRef fn = e->l->AddFunction(e->module, name, e->l->FunctionType(result, params, 2, false));
    const char *attribute = e->blocks ? "alwaysinline" : "nounwind"; /* a call would take local memory of each thread */
    unsigned kind = e->l->GetEnumAttributeKindForName(attribute, strlen(attribute));
    e->l->AddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                              e->l->CreateEnumAttribute(e->context, kind, 0));
    e->inlines |= e->blocks;
    e->l->SetLinkage(fn, LLVMInternalLinkage);
    return fn;
}

/* Exponent (at least 1) and mantissa, normalised, of a magnitude that is finite and not zero. */
static void div_unpack(struct emit *e, const struct div_format *f, LLVMValueRef magnitude, LLVMValueRef *exponent,
                       LLVMValueRef *mantissa) {
    LLVMValueRef field = emit_bin(e, LLVMLShr, magnitude, div_num(e, magnitude, f->mantissa));
    LLVMValueRef low = emit_bin(e, LLVMAnd, magnitude, div_num(e, magnitude, f->implicit - 1));
    LLVMValueRef normal = emit_icmp(e, LLVMIntNE, field, div_num(e, field, 0));
    LLVMValueRef args[] = {low, e->l->ConstInt(e->i1, 0, false)};
    LLVMValueRef zeros = emit_intrinsic(e, "llvm.ctlz", (LLVMTypeRef[]){f->bits}, 1, args, 2);
    LLVMValueRef shift = emit_bin(e, LLVMSub, zeros, div_num(e, zeros, f->exponent)); /* to the place of the implicit bit */
    shift = emit_select(e, normal, div_num(e, shift, 0),
                        emit_bin(e, LLVMAnd, shift, div_num(e, shift, f->exponent == 8 ? 31 : 63)));
    LLVMValueRef with = emit_bin(e, LLVMOr, low, div_num(e, low, f->implicit));
    *mantissa = emit_select(e, normal, with, emit_bin(e, LLVMShl, low, shift));
    *exponent = emit_select(e, normal, field, emit_bin(e, LLVMSub, div_num(e, field, 1), shift));
}

/* The body for finite x and y, y not zero, |x| >= |y|: long division, a bit of the quotient at a time. Returns a magnitude. */
static LLVMValueRef div_long(struct emit *e, const struct div_format *f, LLVMValueRef fn, LLVMValueRef x, LLVMValueRef y) {
    const struct llvm *l = e->l;
    LLVMValueRef ex, ey, mx, my;
    div_unpack(e, f, x, &ex, &mx);
    div_unpack(e, f, y, &ey, &my);
    LLVMBasicBlockRef before = l->GetInsertBlock(e->b), head = l->AppendBasicBlockInContext(e->context, fn, "digit"),
                      after = l->AppendBasicBlockInContext(e->context, fn, "last");
    l->BuildBr(e->b, head);
    l->PositionBuilderAtEnd(e->b, head);
    LLVMValueRef left = l->BuildPhi(e->b, f->bits, ""), r = l->BuildPhi(e->b, f->bits, ""), fits, less;
    fits = emit_icmp(e, LLVMIntUGE, r, my);
    less = emit_select(e, fits, emit_bin(e, LLVMSub, r, my), r);
    LLVMValueRef more = emit_icmp(e, LLVMIntSGT, left, ey);
    LLVMValueRef doubled = emit_bin(e, LLVMShl, less, div_num(e, less, 1));
    LLVMValueRef next = emit_bin(e, LLVMSub, left, div_num(e, left, 1));
    l->BuildCondBr(e->b, more, head, after);
    l->AddIncoming(left, &ex, &before, 1);
    l->AddIncoming(left, &next, &head, 1);
    l->AddIncoming(r, &mx, &before, 1);
    l->AddIncoming(r, &doubled, &head, 1);
    l->PositionBuilderAtEnd(e->b, after);
    /* less < my counts units of exponent ey: shift its first bit to the implicit one, not below exponent 1 */
    LLVMValueRef args[] = {less, l->ConstInt(e->i1, 0, false)};
    LLVMValueRef zeros = emit_intrinsic(e, "llvm.ctlz", (LLVMTypeRef[]){f->bits}, 1, args, 2);
    LLVMValueRef up = emit_bin(e, LLVMSub, zeros, div_num(e, zeros, f->exponent));
    LLVMValueRef room = emit_bin(e, LLVMSub, ey, div_num(e, ey, 1)), two[] = {up, room};
    LLVMValueRef by = emit_intrinsic(e, "llvm.smin", (LLVMTypeRef[]){f->bits}, 1, two, 2); /* negative: a subnormal */
    LLVMValueRef down = emit_icmp(e, LLVMIntSLT, by, div_num(e, by, 0)), mask = div_num(e, by, f->exponent == 8 ? 31 : 63);
    LLVMValueRef shifted = emit_bin(e, LLVMShl, less, emit_bin(e, LLVMAnd, by, mask));
    LLVMValueRef minus = emit_bin(e, LLVMSub, div_num(e, by, 0), by);
    LLVMValueRef lowered = emit_bin(e, LLVMLShr, less, emit_bin(e, LLVMAnd, minus, mask));
    LLVMValueRef normal = emit_icmp(e, LLVMIntUGE, shifted, div_num(e, shifted, f->implicit));
    LLVMValueRef field = emit_bin(e, LLVMShl, emit_bin(e, LLVMSub, ey, by), div_num(e, by, f->mantissa));
    LLVMValueRef low = emit_bin(e, LLVMAnd, shifted, div_num(e, shifted, f->implicit - 1));
    LLVMValueRef packed = emit_select(e, normal, emit_bin(e, LLVMOr, low, field), shifted);
    packed = emit_select(e, down, lowered, packed);
    return emit_select(e, emit_icmp(e, LLVMIntEQ, less, div_num(e, less, 0)), div_num(e, less, 0), packed);
}

/* fmod of two scalars, as a function of the module: llvm.frem would call libm. */
static LLVMValueRef div_fmod_function(struct emit *e, enum kir_type t) {
    const struct llvm *l = e->l;
    bool wide = t == KIR_F64;
    const char *name = wide ? "hilo.fmod.f64" : "hilo.fmod.f32";
    LLVMValueRef fn = l->GetNamedFunction(e->module, name);
    if (fn)
        return fn;
    struct div_format f = {.bits = wide ? e->i64 : e->i32,
                           .type = wide ? e->f64 : e->f32,
                           .mantissa = wide ? 52 : 23,
                           .exponent = wide ? 11 : 8,
                           .sign = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31,
                           .infinity = wide ? UINT64_C(0x7FF) << 52 : UINT64_C(0xFF) << 23,
                           .implicit = UINT64_C(1) << (wide ? 52 : 23)};
    LLVMBasicBlockRef at = l->GetInsertBlock(e->b);
    fn = div_function(e, name, f.type, f.type);
    LLVMBasicBlockRef entry = l->AppendBasicBlockInContext(e->context, fn, ""),
                      small = l->AppendBasicBlockInContext(e->context, fn, ""),
                      other = l->AppendBasicBlockInContext(e->context, fn, ""),
                      strange = l->AppendBasicBlockInContext(e->context, fn, ""),
                      plain = l->AppendBasicBlockInContext(e->context, fn, "");
    l->PositionBuilderAtEnd(e->b, entry);
    LLVMValueRef x = l->GetParam(fn, 0), y = l->GetParam(fn, 1), ux = emit_cast(e, LLVMBitCast, x, f.bits),
                 uy = emit_cast(e, LLVMBitCast, y, f.bits), ax, ay;
    ax = emit_bin(e, LLVMAnd, ux, div_num(e, ux, f.sign - 1));
    ay = emit_bin(e, LLVMAnd, uy, div_num(e, uy, f.sign - 1));
    LLVMValueRef bad = emit_bin(e, LLVMOr, emit_icmp(e, LLVMIntEQ, ay, div_num(e, ay, 0)),
                                emit_bin(e, LLVMOr, emit_icmp(e, LLVMIntUGT, ay, div_num(e, ay, f.infinity)),
                                         emit_icmp(e, LLVMIntUGE, ax, div_num(e, ax, f.infinity))));
    l->BuildCondBr(e->b, bad, strange, other);
    l->PositionBuilderAtEnd(e->b, strange); /* NaN, as infinity · 0 is */
    LLVMValueRef nan = emit_like(e, f.type, f.infinity | f.implicit >> 1);
    l->BuildRet(e->b, nan);
    l->PositionBuilderAtEnd(e->b, other);
    l->BuildCondBr(e->b, emit_icmp(e, LLVMIntULT, ax, ay), small, plain);
    l->PositionBuilderAtEnd(e->b, small);
    l->BuildRet(e->b, x);
    l->PositionBuilderAtEnd(e->b, plain);
    LLVMValueRef r = div_long(e, &f, fn, ax, ay);
    r = emit_bin(e, LLVMOr, r, emit_bin(e, LLVMAnd, ux, div_num(e, ux, f.sign)));
    l->BuildRet(e->b, emit_cast(e, LLVMBitCast, r, f.type));
    l->PositionBuilderAtEnd(e->b, at);
    return fn;
}

/* Lane by lane, in a loop. */
LLVMValueRef emit_fmod(struct emit *e, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    static const struct emit_slots none = {0};
    const struct llvm *l = e->l;
    LLVMTypeRef type = emit_scalar_type(e, t), params[] = {type, type}, fn_type = l->FunctionType(type, params, 2, false);
    LLVMValueRef fn = div_fmod_function(e, t);
    uint32_t lanes = emit_lanes_of(e, a);
    if (lanes == 0)
        return l->BuildCall2(e->b, fn_type, fn, (LLVMValueRef[]){a, b}, 2, "");
    struct emit_loop f;
    LLVMBasicBlockRef before = l->GetInsertBlock(e->b);
    LLVMValueRef i = emit_loop_begin(e, &f, emit_int(e, 0), emit_int(e, lanes), 1, false, (kir_val){0}, &none);
    LLVMValueRef all = l->BuildPhi(e->b, l->TypeOf(a), ""), poison = l->GetPoison(l->TypeOf(a));
    LLVMValueRef args[] = {l->BuildExtractElement(e->b, a, i, ""), l->BuildExtractElement(e->b, b, i, "")};
    LLVMValueRef one = l->BuildCall2(e->b, fn_type, fn, args, 2, "");
    LLVMValueRef next = l->BuildInsertElement(e->b, all, one, i, "");
    LLVMBasicBlockRef last = l->GetInsertBlock(e->b);
    emit_loop_end(e, &f);
    l->AddIncoming(all, &poison, &before, 1);
    l->AddIncoming(all, &next, &last, 1);
    return next;
}
