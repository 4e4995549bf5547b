/* Conversion between all element types, each value rounded at most once.
 *
 * Types that C has are converted by one loop a pair. The others take one step more on either side,
 * block by block: formats below f32 are exact in f32, and every integer has a double that rounds to
 * them as it does itself; of a complex number the real part is taken, or the imaginary one is zero. */
#include "eval/eval_elt.h"

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)

/* Types in memory. */
enum ctype { PRED, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, CTYPES };

#define PREFIX i8
#define A      int8_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX i16
#define A      int16_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX i32
#define A      int32_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX i64
#define A      int64_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX u8
#define A      uint8_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX u16
#define A      uint16_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX u32
#define A      uint32_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX u64
#define A      uint64_t
#define REAL   0
#include "eval/eval_convert_tmpl.h"

#define PREFIX f32
#define A      float
#define REAL   1
#include "eval/eval_convert_tmpl.h"

#define PREFIX f64
#define A      double
#define REAL   1
#include "eval/eval_convert_tmpl.h"

/* By type of the source; i1 reads as an integer. */
static elt_run *const *const conversions[CTYPES] = {
    [PRED] = u8_to, [I8] = i8_to,   [I16] = i16_to, [I32] = i32_to, [I64] = i64_to, [U8] = u8_to,
    [U16] = u16_to, [U32] = u32_to, [U64] = u64_to, [F32] = f32_to, [F64] = f64_to,
};

/* The type that elements are stored as, or, if C has none, the first one that holds them. */
static enum ctype ctype_of(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    switch (info->cls) {
    case IR_PRED: return PRED;
    case IR_SINT:
    case IR_INDEX_CLASS:
        return info->bytes == 1 ? I8 : info->bytes == 2 ? I16 : info->bytes == 4 ? I32 : I64;
    case IR_UINT: return info->bytes == 1 ? U8 : info->bytes == 2 ? U16 : info->bytes == 4 ? U32 : U64;
    case IR_FLOAT:
    case IR_COMPLEX_CLASS: return info->fp == FP_F64 ? F64 : F32;
    }
    return CTYPES;
}

static bool is_small_float(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return info->cls == IR_FLOAT && info->fp != FP_F32 && info->fp != FP_F64;
}

static bool is_small_int(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return (info->cls == IR_SINT || info->cls == IR_UINT) && info->bits < 8;
}

static bool is_complex(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_COMPLEX_CLASS;
}

/* ---- steps of a block ---- */

union block {
    float f32[ELT_BLOCK];
    double f64[ELT_BLOCK];
};

/* The source's elements as f32 or f64 when C has no such type: then `b` holds them. */
static const void *block_load(enum ir_dtype t, const void *src, union block *b, size_t n) {
    if (is_small_float(t)) {
        fp_decode_n_f32(ir_dtype_get(t)->fp, src, b->f32, n);
        return b;
    }
    if (!is_complex(t))
        return src;
    const float *parts32 = src;
    const double *parts64 = src;
    if (ctype_of(t) == F32)
        for (size_t i = 0; i < n; i++)
            b->f32[i] = parts32[2 * i];
    else
        for (size_t i = 0; i < n; i++)
            b->f64[i] = parts64[2 * i];
    return b;
}

/* A 64-bit magnitude with its last 11 bits folded into the lowest one above: exact in double, and on
   the same side of every number of up to 40 bits. */
static double fold(uint64_t m) {
    if (m >> 53 != 0)
        m = (m & ~UINT64_C(0x7FF)) | (uint64_t)((m & 0x7FF) != 0) << 11;
    return (double)m;
}

/* n elements to a format below f32. */
static void encode(const struct elt_kernel *k, enum ctype from, const void *src, void *dst, size_t n) {
    enum fp_kind fp = ir_dtype_get(k->out)->fp;
    double wide[ELT_BLOCK];
    if (from == F32) {
        fp_encode_n_f32(fp, src, dst, n);
        return;
    }
    if (from == I64) {
        const int64_t *v = src;
        for (size_t i = 0; i < n; i++)
            wide[i] = v[i] < 0 ? -fold(0 - (uint64_t)v[i]) : fold((uint64_t)v[i]);
    } else if (from == U64) {
        const uint64_t *v = src;
        for (size_t i = 0; i < n; i++)
            wide[i] = fold(v[i]);
    } else {
        conversions[from][F64](k, &src, wide, n);
    }
    fp_encode_n_f64(fp, wide, dst, n);
}

/* Real parts become complex numbers. */
static void spread(enum ir_dtype t, const union block *b, void *dst, size_t n) {
    float *parts32 = dst;
    double *parts64 = dst;
    for (size_t i = 0; i < n; i++) {
        if (ctype_of(t) == F32) {
            parts32[2 * i] = b->f32[i];
            parts32[2 * i + 1] = 0;
        } else {
            parts64[2 * i] = b->f64[i];
            parts64[2 * i + 1] = 0;
        }
    }
}

/* Integers of two and four bits keep their low bits. */
static void narrow(enum ir_dtype t, uint8_t *bytes, size_t n) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    unsigned shift = 8 - info->bits;
    for (size_t i = 0; i < n; i++) {
        uint8_t high = (uint8_t)(bytes[i] << shift);
        bytes[i] = (uint8_t)(info->cls == IR_SINT ? (int8_t)high >> shift : high >> shift);
    }
}

static void convert_blocks(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    size_t in_bytes = ir_dtype_get(k->in)->bytes, out_bytes = ir_dtype_get(k->out)->bytes;
    enum ctype from = ctype_of(k->in), to = ctype_of(k->out);
    for (size_t i = 0; i < n; i += ELT_BLOCK) {
        size_t m = elt_block(n, i);
        union block source, result;
        const void *src = block_load(k->in, (const uint8_t *)in[0] + i * in_bytes, &source, m);
        uint8_t *dst = (uint8_t *)out + i * out_bytes;
        if (is_small_float(k->out)) {
            encode(k, from, src, dst, m);
        } else if (is_complex(k->out)) {
            conversions[from][to](k, &src, &result, m);
            spread(k->out, &result, dst, m);
        } else {
            conversions[from][to](k, &src, dst, m);
            if (is_small_int(k->out))
                narrow(k->out, dst, m);
        }
    }
}

/* Between complex types both parts are converted. */
static void convert_parts(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    conversions[ctype_of(k->in)][ctype_of(k->out)](k, in, out, 2 * n);
}

bool elt_convert_resolve(struct elt_kernel *k) {
    const struct ir_dtype_info *out = ir_dtype_get(k->out);
    if (out->cls == IR_SINT || out->cls == IR_INDEX_CLASS) {
        k->param[0] = INT64_MIN >> (64 - out->bits);
        k->param[1] = ~k->param[0];
    } else if (out->cls == IR_UINT) {
        k->param[0] = 0;
        k->param[1] = (int64_t)(~UINT64_C(0) >> (64 - out->bits));
    }
    if (is_complex(k->in) && is_complex(k->out))
        k->run = convert_parts;
    else if (is_small_float(k->in) || is_small_float(k->out) || is_complex(k->in) ||
             is_complex(k->out) || is_small_int(k->out))
        k->run = convert_blocks;
    else
        k->run = conversions[ctype_of(k->in)][ctype_of(k->out)];
    return true;
}
