/* The formats of quantised tensors: see gguf.h. What the bits of a block mean is in github.com/ggml-org/ggml, src/ggml-common.h
 * (block_q4_0 …) and in the dequantisation of the package gguf (gguf-py/gguf/quants.py). Every format is repacked without
 * loss: scale * value + offset. Where a block has a scale and an offset, its units, by which those of its parts are multiplied,
 * these stay integers beside them, or become f32, which holds the products. */
#include "llm/gguf.h"

#include "base/fp.h"

enum { LARGE = 256, PARTS = 16 }; /* elements of a large block, and its parts at most */

static float half(const uint8_t *p) {
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return f16_to_f32(h);
}

/* ---- blocks of 32 ------------------------------------------------------------------------------ */

/* 32 values of 4 bits: the low halves of 16 bytes, then the high ones. */
static void nibbles(const uint8_t *q, int8_t *out) {
    for (int i = 0; i < 16; i++) {
        out[i] = (int8_t)(q[i] & 15);
        out[i + 16] = (int8_t)(q[i] >> 4);
    }
}

static void add(int8_t *v, int n, int by) {
    for (int i = 0; i < n; i++)
        v[i] = (int8_t)(v[i] + by);
}

static void fifth_bits(const uint8_t *p, int8_t *v) {
    uint32_t bits;
    memcpy(&bits, p, sizeof bits);
    for (int i = 0; i < 32; i++)
        v[i] = (int8_t)(v[i] | (int)(bits >> i & 1) << 4);
}

static void q4_0(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o, (void)u;
    s[0] = half(b);
    nibbles(b + 2, v);
    add(v, 32, -8);
}

/* A scale and an offset, the fifth bits if there are any, and the others. */
static void with_offset(const uint8_t *b, const uint8_t *fifth, const uint8_t *low, int8_t *v, float *s, float *o) {
    s[0] = half(b);
    o[0] = half(b + 2);
    nibbles(low, v);
    if (fifth)
        fifth_bits(fifth, v);
}

static void q4_1(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)u;
    with_offset(b, NULL, b + 4, v, s, o);
}

static void q5_0(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o, (void)u;
    s[0] = half(b);
    nibbles(b + 6, v);
    fifth_bits(b + 2, v);
    add(v, 32, -16);
}

static void q5_1(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)u;
    with_offset(b, b + 4, b + 8, v, s, o);
}

static void q8_0(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o, (void)u;
    s[0] = half(b);
    memcpy(v, b + 2, 32);
}

/* ---- tables of values ---------------------------------------------------------------------------- */

static const int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void look_up(const int8_t *table, int8_t *v, int n) {
    for (int i = 0; i < n; i++)
        v[i] = table[v[i]];
}

static void iq4_nl(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o, (void)u;
    s[0] = half(b);
    nibbles(b + 2, v);
    look_up(nonlinear, v, 32);
}

static void iq4_xs(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o;
    uint16_t high;
    u[0] = half(b);
    memcpy(&high, b + 2, sizeof high);
    for (int i = 0; i < 8; i++) {
        s[i] = (float)(((b[4 + i / 2] >> i % 2 * 4 & 15) | (high >> 2 * i & 3) << 4) - 32);
        nibbles(b + 8 + 16 * i, v + 32 * i);
    }
    look_up(nonlinear, v, LARGE);
}

/* The scale is a power of two, of which half is taken for the doubled values. */
static void mxfp4(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o, (void)u;
    uint32_t bits = b[0] < 2 ? 0x00200000u << b[0] : (uint32_t)(b[0] - 1) << 23;
    memcpy(s, &bits, sizeof bits);
    nibbles(b + 1, v);
    look_up(twice_e2m1, v, 32);
}

/* ---- blocks of 256 ----------------------------------------------------------------------------- */

/* 256 values of 2 bits: of each 32 bytes first the lowest bits, then the next. */
static void pairs(const uint8_t *q, int8_t *v) {
    for (int i = 0; i < LARGE; i++)
        v[i] = (int8_t)(q[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3);
}

/* 256 values of 4 bits: of each `run` bytes first the low halves. */
static void large_nibbles(const uint8_t *q, int run, int8_t *v) {
    for (int i = 0; i < LARGE; i++)
        v[i] = (int8_t)(q[i / (2 * run) * run + i % run] >> i / run % 2 * 4 & 15);
}

static void q2_k(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    u[0] = half(b + 80);
    u[1] = -half(b + 82);
    for (int i = 0; i < 16; i++) {
        s[i] = (float)(b[i] & 15);
        o[i] = (float)(b[i] >> 4);
    }
    pairs(b + 16, v);
}

static void q3_k(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o;
    u[0] = half(b + 108);
    const uint8_t *scales = b + 96;
    for (int i = 0; i < 16; i++) {
        int low = scales[i % 8] >> i / 8 * 4 & 15, high = scales[8 + i % 4] >> i / 4 * 2 & 3;
        s[i] = (float)((low | high << 4) - 32);
    }
    pairs(b + 32, v);
    for (int i = 0; i < LARGE; i++)
        v[i] = (int8_t)(v[i] - (b[i % 32] >> i / 32 & 1 ? 0 : 4));
}

/* Eight scales and eight minima of 6 bits in 12 bytes. */
static void scales_and_offsets(const uint8_t *b, float *s, float *o, float *u) {
    u[0] = half(b);
    u[1] = -half(b + 2);
    const uint8_t *p = b + 4;
    for (int i = 0; i < 4; i++) {
        s[i] = (float)(p[i] & 63);
        o[i] = (float)(p[4 + i] & 63);
        s[4 + i] = (float)((p[8 + i] & 15) | (p[i] >> 2 & 48));
        o[4 + i] = (float)(p[8 + i] >> 4 | (p[4 + i] >> 2 & 48));
    }
}

static void q4_k(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    scales_and_offsets(b, s, o, u);
    large_nibbles(b + 16, 32, v);
}

static void q5_k(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    scales_and_offsets(b, s, o, u);
    large_nibbles(b + 48, 32, v);
    for (int i = 0; i < LARGE; i++)
        v[i] = (int8_t)(v[i] | (b[16 + i % 32] >> i / 32 & 1) << 4);
}

static void q6_k(const uint8_t *b, int8_t *v, float *s, float *o, float *u) {
    (void)o;
    u[0] = half(b + 208);
    for (int i = 0; i < 16; i++)
        s[i] = (float)(int8_t)b[192 + i];
    large_nibbles(b, 64, v);
    for (int i = 0; i < LARGE; i++)
        v[i] = (int8_t)((v[i] | (b[128 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3) << 4) - 32);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static const struct gguf_format formats[] = {
    {"f32", 0, IR_F32_T, 1, 4, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"f16", 1, IR_F16_T, 1, 2, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"bf16", 30, IR_BF16_T, 1, 2, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"f64", 28, IR_F64_T, 1, 8, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"i8", 24, IR_I8_T, 1, 1, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"i16", 25, IR_I16_T, 1, 2, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"i32", 26, IR_I32_T, 1, 4, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"i64", 27, IR_I64_T, 1, 8, 0, 0, 0, false, IR_DTYPE_NONE, false, NULL},
    {"q4_0", 2, IR_DTYPE_NONE, 32, 18, 4, 32, 8, false, IR_F16_T, false, q4_0},
    {"q4_1", 3, IR_DTYPE_NONE, 32, 20, 4, 32, 15, true, IR_F16_T, false, q4_1},
    {"q5_0", 6, IR_DTYPE_NONE, 32, 22, 8, 32, 16, false, IR_F16_T, false, q5_0},
    {"q5_1", 7, IR_DTYPE_NONE, 32, 24, 8, 32, 31, true, IR_F16_T, false, q5_1},
    {"q8_0", 8, IR_DTYPE_NONE, 32, 34, 8, 32, 128, false, IR_F16_T, false, q8_0},
    {"q2_k", 10, IR_DTYPE_NONE, LARGE, 84, 4, 16, 3, true, IR_F32_T, true, q2_k},
    {"q3_k", 11, IR_DTYPE_NONE, LARGE, 110, 4, 16, 4, false, IR_F32_T, true, q3_k},
    {"q4_k", 12, IR_DTYPE_NONE, LARGE, 144, 4, 32, 15, true, IR_F32_T, true, q4_k},
    {"q5_k", 13, IR_DTYPE_NONE, LARGE, 176, 8, 32, 31, true, IR_F32_T, true, q5_k},
    {"q6_k", 14, IR_DTYPE_NONE, LARGE, 210, 8, 16, 32, false, IR_F32_T, true, q6_k},
    {"iq4_nl", 20, IR_DTYPE_NONE, 32, 18, 8, 32, 127, false, IR_F16_T, false, iq4_nl},
    {"iq4_xs", 23, IR_DTYPE_NONE, LARGE, 136, 8, 32, 127, false, IR_F32_T, true, iq4_xs},
    {"mxfp4", 39, IR_DTYPE_NONE, 32, 17, 8, 32, 12, false, IR_F32_T, false, mxfp4},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct gguf_format *gguf_format_numbered(uint32_t number) {
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].number == number)
            return &formats[i];
    return NULL;
}

const struct gguf_format *gguf_format_named(const char *name) {
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

const struct gguf_format *gguf_format_with_units(int64_t elements, uint32_t bits, int64_t group, bool offsets) {
    for (size_t i = 0; i < FORMATS; i++) {
        const struct gguf_format *f = &formats[i];
        if (f->units && f->elements == elements && f->bits == bits && f->group == group && f->offsets == offsets)
            return f;
    }
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static void put_values(const struct gguf_format *f, const int8_t *v, char *out) {
    if (f->bits == 8) {
        memcpy(out, v, f->elements);
        return;
    }
    for (uint32_t i = 0; i < f->elements / 2; i++)
        out[i] = (char)((v[2 * i] & 15) | (v[2 * i + 1] & 15) << 4);
}

/* The scales or offsets of block i, n of them: with units as integers. */
static void put_numbers(const struct gguf_format *f, const float *x, size_t n, float unit, size_t i, void *out, void *units) {
    const struct ir_dtype_info *t = ir_dtype_get(f->scale);
    float numbers[PARTS];
    if (units) {
        for (size_t k = 0; k < n; k++)
            ((int8_t *)out)[i * n + k] = (int8_t)x[k];
        ((uint16_t *)units)[i] = f32_to_f16(unit);
        return;
    }
    for (size_t k = 0; k < n; k++)
        numbers[k] = f->units ? unit * x[k] : x[k];
    fp_encode_n_f32(t->fp, numbers, (char *)out + i * n * t->bytes, n);
}

void gguf_unpack_rows(const struct gguf_rows *m, int64_t from, int64_t to) {
    const struct gguf_format *f = m->format;
    size_t blocks = (size_t)m->cols / f->elements, parts = f->elements / f->group;
    for (size_t i = (size_t)from * blocks; i < (size_t)to * blocks; i++) {
        int8_t v[LARGE];
        float s[PARTS], o[PARTS], u[2] = {1, 1};
        f->unpack((const uint8_t *)m->data + i * f->bytes, v, s, o, u);
        put_values(f, v, (char *)m->values + i * f->elements * f->bits / 8);
        put_numbers(f, s, parts, u[0], i, m->scales, m->units[0]);
        if (f->offsets)
            put_numbers(f, o, parts, u[1], i, m->offsets, m->units[1]);
    }
}
