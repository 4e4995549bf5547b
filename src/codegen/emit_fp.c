/* Floating-point formats as integers, and back, from the rows of base/fpfmt.def; bit for bit what base/fp.c does, but for the
 * payload of a NaN. f16 goes through the processor's conversion where there is one. bf16 does not: vcvtneps2bf16 flushes
 * denormals to zero. */
#include "codegen/emit.h"

/* The format of the values being converted: f32 or f64, and integers of their width. */
struct fp_wide {
    LLVMTypeRef type, bits;
    unsigned width, mantissa;
    int bias;
    uint64_t infinity, nan;
    bool f64;
};

static struct fp_wide fp_wide_of(const struct emit *e, bool f64) {
    if (f64)
        return (struct fp_wide){e->f64, e->i64, 64, 52, 1023, UINT64_C(0x7FF) << 52, UINT64_C(0x7FF8) << 48, true};
    return (struct fp_wide){e->f32, e->i32, 32, 23, 127, UINT64_C(0xFF) << 23, 0x7FC00000, false};
}

static LLVMValueRef fp_num(struct emit *e, LLVMValueRef like, uint64_t bits) {
    return emit_like(e, e->l->TypeOf(like), bits);
}
static LLVMValueRef fp_and(struct emit *e, LLVMValueRef a, uint64_t b) {
    return emit_bin(e, LLVMAnd, a, fp_num(e, a, b));
}
static LLVMValueRef fp_add(struct emit *e, LLVMValueRef a, uint64_t b) {
    return emit_bin(e, LLVMAdd, a, fp_num(e, a, b));
}
static LLVMValueRef fp_shl(struct emit *e, LLVMValueRef a, unsigned by) {
    return emit_bin(e, LLVMShl, a, fp_num(e, a, by));
}
static LLVMValueRef fp_shr(struct emit *e, LLVMValueRef a, unsigned by) {
    return emit_bin(e, LLVMLShr, a, fp_num(e, a, by));
}
static LLVMValueRef fp_is(struct emit *e, LLVMIntPredicate p, LLVMValueRef a, uint64_t b) {
    return emit_icmp(e, p, a, fp_num(e, a, b));
}

static LLVMTypeRef fp_code_type(const struct emit *e, enum fp_kind f) {
    unsigned bytes = fp_get(f)->bytes;
    return bytes == 1 ? e->i8 : bytes == 2 ? e->i16 : bytes == 4 ? e->i32 : e->i64;
}

static bool fp_half_is_native(const struct emit *e) {
    return e->t->isa != TARGET_X86_64 || target_has(e->t, "f16c");
}

static bool fp_is_unsigned(const struct fp_info *f) {
    return f->flavour == FPF_UNSIGNED;
}

/* The magnitude without its lowest `by` bits, rounded to nearest even. */
static LLVMValueRef fp_rounded(struct emit *e, LLVMValueRef magnitude, unsigned by) {
    LLVMValueRef odd = fp_and(e, fp_shr(e, magnitude, by), 1);
    return fp_shr(e, emit_bin(e, LLVMAdd, fp_add(e, magnitude, ((uint64_t)1 << (by - 1)) - 1), odd), by);
}

/* A power of two in the wide format. */
static uint64_t fp_power(const struct fp_wide *w, int exponent) {
    return (uint64_t)(exponent + w->bias) << w->mantissa;
}

/* ---- values to codes ------------------------------------------------------------------------- */

/* Powers of two, no zero, no sign: a mantissa of a half and more rounds up, for 1 is odd. The smallest, 2^-127, is subnormal in
   f32. */
static LLVMValueRef fp_encode_power(struct emit *e, const struct fp_info *f, const struct fp_wide *w, LLVMValueRef bits) {
    uint64_t half = (uint64_t)1 << (w->mantissa - 1), low = w->f64 ? fp_power(w, -127) : UINT64_C(1) << 22;
    LLVMValueRef code = fp_shr(e, fp_add(e, bits, half), w->mantissa);
    code = fp_add(e, code, (uint64_t)(f->bias - w->bias));
    uint64_t normal = w->f64 ? low : UINT64_C(1) << 23, one = w->f64 ? low + half : low + low / 2;
    LLVMValueRef small = emit_select(e, fp_is(e, LLVMIntUGE, bits, one), fp_num(e, code, 1), fp_num(e, code, 0));
    code = emit_select(e, fp_is(e, LLVMIntULT, bits, normal), small, code);
    code = emit_select(e, fp_is(e, LLVMIntUGT, code, f->largest), fp_num(e, code, f->overflow), code);
    LLVMValueRef none = emit_bin(e, LLVMOr, fp_is(e, LLVMIntSLE, bits, 0), fp_is(e, LLVMIntUGT, bits, w->infinity));
    return emit_select(e, none, fp_num(e, code, f->nan), code);
}

/* Magnitudes below the smallest normal number: adding a number whose last place is their unit rounds them to it. */
static LLVMValueRef fp_encode_small(struct emit *e, const struct fp_info *f, const struct fp_wide *w, LLVMValueRef magnitude) {
    uint64_t magic = fp_power(w, 1 - f->bias - f->man_bits + (int)w->mantissa);
    LLVMValueRef x = emit_cast(e, LLVMBitCast, magnitude, w->type);
    LLVMValueRef sum = emit_cast(e, LLVMBitCast, emit_bin(e, LLVMFAdd, x, fp_num(e, x, magic)), w->bits);
    return fp_add(e, sum, -magic);
}

static LLVMValueRef fp_encode_code(struct emit *e, const struct fp_info *f, const struct fp_wide *w, LLVMValueRef bits) {
    if (fp_is_unsigned(f))
        return fp_encode_power(e, f, w, bits);
    unsigned by = w->mantissa - f->man_bits;
    uint64_t top = (uint64_t)1 << (w->width - 1);
    LLVMValueRef magnitude = fp_and(e, bits, top - 1), code = fp_rounded(e, magnitude, by);
    bool same = f->bias == w->bias; /* as many exponents: subnormals and infinity fall into place */
    if (!same) {
        code = fp_add(e, code, (uint64_t)(f->bias - w->bias) << f->man_bits);
        LLVMValueRef small = fp_is(e, LLVMIntULT, magnitude, fp_power(w, 1 - f->bias));
        code = emit_select(e, small, fp_encode_small(e, f, w, magnitude), code);
        LLVMValueRef over = fp_is(e, LLVMIntSGT, code, f->largest);
        code = emit_select(e, over, fp_num(e, code, f->overflow), code);
    }
    code = emit_select(e, fp_is(e, LLVMIntUGT, magnitude, w->infinity), fp_num(e, code, f->nan), code);
    unsigned sign_by = w->width - (unsigned)f->bits;
    LLVMValueRef sign = fp_and(e, sign_by ? fp_shr(e, bits, sign_by) : bits, f->sign);
    LLVMValueRef with = emit_bin(e, LLVMOr, code, sign);
    if (f->flavour == FPF_FNUZ) /* the code of -0 is NaN's */
        with = emit_select(e, fp_is(e, LLVMIntEQ, code, 0), code, with);
    return with;
}

LLVMValueRef emit_fp_encode(struct emit *e, enum fp_kind format, LLVMValueRef value) {
    const struct fp_info *f = fp_get(format);
    LLVMTypeRef t = e->l->TypeOf(value), code_type = fp_code_type(e, format);
    t = emit_lanes_of(e, value) ? e->l->GetElementType(t) : t;
    struct fp_wide w = fp_wide_of(e, t == e->f64);
    if (format == FP_F64 || (format == FP_F32 && !w.f64))
        return emit_cast(e, LLVMBitCast, value, w.bits);
    if (format == FP_F32)
        return emit_cast(e, LLVMBitCast, emit_cast(e, LLVMFPTrunc, value, e->f32), e->i32);
    if (format == FP_F16 && fp_half_is_native(e) && !w.f64)
        return emit_cast(e, LLVMBitCast, emit_cast(e, LLVMFPTrunc, value, e->half), e->i16);
    LLVMValueRef code = fp_encode_code(e, f, &w, emit_cast(e, LLVMBitCast, value, w.bits));
    return f->bytes * 8 < w.width ? emit_cast(e, LLVMTrunc, code, code_type) : code;
}

/* ---- codes to values ------------------------------------------------------------------------- */

static LLVMValueRef fp_decode_power(struct emit *e, const struct fp_info *f, const struct fp_wide *w, LLVMValueRef code) {
    LLVMValueRef bits = fp_shl(e, fp_add(e, code, (uint64_t)(w->bias - f->bias)), w->mantissa);
    if (!w->f64) /* 2^-127 */
        bits = emit_select(e, fp_is(e, LLVMIntEQ, code, 0), fp_num(e, code, UINT64_C(1) << 22), bits);
    return emit_select(e, fp_is(e, LLVMIntUGT, code, f->largest), fp_num(e, code, w->nan), bits);
}

/* Values of the codes for infinity, NaN and zero, by flavour. */
static LLVMValueRef fp_decode_edges(struct emit *e, const struct fp_info *f, const struct fp_wide *w, LLVMValueRef code,
                                    LLVMValueRef magnitude, LLVMValueRef bits) {
    switch (f->flavour) {
    case FPF_IEEE: {
        LLVMValueRef special =
            emit_select(e, fp_is(e, LLVMIntEQ, magnitude, f->overflow), fp_num(e, code, w->infinity), fp_num(e, code, w->nan));
        return emit_select(e, fp_is(e, LLVMIntUGT, magnitude, f->largest), special, bits);
    }
    case FPF_FN:
        return emit_select(e, fp_is(e, LLVMIntUGT, magnitude, f->largest), fp_num(e, code, w->nan), bits);
    case FPF_FNUZ:
        return emit_select(e, fp_is(e, LLVMIntEQ, code, f->sign), fp_num(e, code, w->nan), bits);
    default:
        return bits;
    }
}

static LLVMValueRef fp_decode_code(struct emit *e, const struct fp_info *f, const struct fp_wide *w, LLVMValueRef code) {
    if (fp_is_unsigned(f))
        return fp_decode_power(e, f, w, code);
    unsigned by = w->mantissa - f->man_bits, sign_by = w->width - (unsigned)f->bits;
    if (f->bias == w->bias) /* the upper part of the wide format; the payload of a NaN survives */
        return fp_shl(e, code, by);
    LLVMValueRef magnitude = fp_and(e, code, f->sign - 1), sign = fp_shl(e, fp_and(e, code, f->sign), sign_by);
    LLVMValueRef bits = fp_add(e, fp_shl(e, magnitude, by), (uint64_t)(w->bias - f->bias) << w->mantissa);
    LLVMValueRef units = emit_cast(e, LLVMSIToFP, magnitude, w->type);
    LLVMValueRef small = emit_bin(e, LLVMFMul, units, fp_num(e, units, fp_power(w, 1 - f->bias - f->man_bits)));
    LLVMValueRef is_small = fp_is(e, LLVMIntULT, magnitude, UINT64_C(1) << f->man_bits);
    bits = emit_select(e, is_small, emit_cast(e, LLVMBitCast, small, w->bits), bits);
    return emit_bin(e, LLVMOr, fp_decode_edges(e, f, w, code, magnitude, bits), sign);
}

LLVMValueRef emit_fp_decode(struct emit *e, enum fp_kind format, LLVMValueRef code, enum kir_type to) {
    const struct fp_info *f = fp_get(format);
    bool f64 = to == KIR_F64;
    if (format == FP_F64)
        return emit_cast(e, LLVMBitCast, code, e->f64);
    /* every other format is exact in f32 */
    LLVMValueRef v;
    struct fp_wide w = fp_wide_of(e, false);
    if (format == FP_F32) {
        v = emit_cast(e, LLVMBitCast, code, e->f32);
    } else if (format == FP_F16 && fp_half_is_native(e)) {
        v = emit_cast(e, LLVMFPExt, emit_cast(e, LLVMBitCast, code, e->half), e->f32);
    } else {
        if (f->bytes < 4)
            code = emit_cast(e, LLVMZExt, code, e->i32);
        v = emit_cast(e, LLVMBitCast, fp_decode_code(e, f, &w, code), e->f32);
    }
    return f64 ? emit_cast(e, LLVMFPExt, v, e->f64) : v;
}

/* ---- elements in memory ---------------------------------------------------------------------- */

LLVMTypeRef emit_memory_type(const struct emit *e, enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_FLOAT && info->fp == FP_F32)
        return e->f32;
    if (info->cls == IR_FLOAT && info->fp == FP_F64)
        return e->f64;
    return info->bytes == 1 ? e->i8 : info->bytes == 2 ? e->i16 : info->bytes == 4 ? e->i32 : e->i64;
}

LLVMValueRef emit_decode(struct emit *e, enum ir_dtype t, LLVMValueRef raw) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_PRED)
        return emit_icmp(e, LLVMIntNE, raw, fp_num(e, raw, 0));
    if (info->cls != IR_FLOAT || info->fp == FP_F32 || info->fp == FP_F64)
        return raw;
    return emit_fp_decode(e, info->fp, raw, KIR_F32);
}

LLVMValueRef emit_encode(struct emit *e, enum ir_dtype t, LLVMValueRef value) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_PRED)
        return emit_cast(e, LLVMZExt, value, e->i8);
    if (info->cls != IR_FLOAT || info->fp == FP_F32 || info->fp == FP_F64)
        return value;
    return emit_fp_encode(e, info->fp, value);
}
