/* GPTQ and AWQ: see packed.h. */
#include "llm/packed.h"

#include "base/fp.h"

#include <stdio.h>

static uint32_t load32(const struct llm_tensor *t, int64_t i) {
    uint32_t x;
    memcpy(&x, (const char *)t->data + 4 * i, sizeof x);
    return x;
}

/* Numbers in a word. */
static int64_t per_word(const struct llm_packed *p) {
    return 32 / p->bits;
}

static uint32_t mask_of(const struct llm_packed *p) {
    return (1u << p->bits) - 1;
}

/* The place of each neighbour in AWQ's words. */
static const uint8_t awq_place[8] = {0, 4, 1, 5, 2, 6, 3, 7};

static uint32_t zero_of(const struct llm_packed *p, int64_t group, int64_t row) {
    int64_t n = per_word(p), k = row % n;
    uint32_t word = load32(p->zeros, group * (p->rows / n) + row / n);
    uint32_t at = p->layout == LLM_LAYOUT_AWQ ? awq_place[k] : (uint32_t)k;
    uint32_t zero = word >> at * p->bits & mask_of(p);
    return p->layout == LLM_LAYOUT_GPTQ ? (zero + 1) & mask_of(p) : zero;
}

static int64_t group_of(const struct llm_packed *p, int64_t col) {
    return p->scattered ? (int32_t)load32(p->order, col) : col / (p->cols / p->groups);
}

/* ---- finding --------------------------------------------------------------------------------- */

struct search {
    const struct llm_tensors *files;
    struct diag_list *d;
    const char *base;
};

static hilo_status refuse(const struct search *s, const struct llm_tensor *t, const char *suffix, const char *expected) {
    struct strbuf type;
    strbuf_init(&type, s->d->al);
    if (t)
        llm_tensor_type(t, &type);
    hilo_status status = diag_error(s->d, HILO_INVALID_ARGUMENT, "tensor '%s.%s' is %s; the config calls for %s", s->base,
                                    suffix, !t ? "missing" : type.p ? type.p : "", expected);
    strbuf_free(&type);
    return status;
}

/* A tensor of 32-bit words, or of floats where `is_float`; cols 0: a vector. */
static hilo_status find(const struct search *s, const char *suffix, bool is_float, int64_t rows, int64_t cols,
                        const struct llm_tensor **out) {
    char name[192], expected[96];
    snprintf(name, sizeof name, "%s.%s", s->base, suffix);
    const struct llm_tensor *t = *out = llm_tensors_find(s->files, name);
    bool typed = t && (is_float ? t->dtype == IR_F16_T || t->dtype == IR_BF16_T || t->dtype == IR_F32_T
                                : t->dtype == IR_I32_T || t->dtype == IR_UI32_T);
    if (typed && t->rank == (cols ? 2u : 1u) && t->dims[0] == rows && (!cols || t->dims[1] == cols))
        return HILO_OK;
    snprintf(expected, sizeof expected, cols ? "%s[%lld, %lld]" : "%s[%lld]", is_float ? "F16" : "I32", (long long)rows,
             (long long)cols);
    return refuse(s, t, suffix, expected);
}

/* Finds out whether all zero points are in the middle (symmetric), and whether the columns of a group are contiguous. */
static hilo_status look(const struct search *s, struct llm_packed *p) {
    uint32_t middle = 1u << (p->bits - 1);
    p->symmetric = true;
    for (int64_t g = 0; g < p->groups && p->symmetric; g++)
        for (int64_t r = 0; r < p->rows && p->symmetric; r++)
            p->symmetric = zero_of(p, g, r) == middle;
    for (int64_t c = 0; c < p->cols && p->order; c++) {
        int64_t g = (int32_t)load32(p->order, c);
        if (g < 0 || g >= p->groups)
            return diag_error(s->d, HILO_INVALID_ARGUMENT, "tensor '%s.g_idx' names the group %lld; there are %lld", s->base,
                              (long long)g, (long long)p->groups);
        if (g != c / (p->cols / p->groups))
            p->scattered = true;
    }
    return HILO_OK;
}

hilo_status llm_packed_find(const struct llm_tensors *files, const struct llm_config *c, const char *base, int64_t rows,
                            int64_t cols, struct diag_list *d, struct llm_packed *out) {
    char name[192];
    struct search s = {files, d, base};
    struct llm_packed p = {.layout = c->layout, .bits = c->bits, .rows = rows, .cols = cols};
    snprintf(name, sizeof name, "%s.qweight", base);
    *out = (struct llm_packed){.rows = rows};
    if (c->layout == LLM_LAYOUT_PLAIN || !llm_tensors_find(files, name))
        return HILO_OK;
    int64_t n = per_word(&p), group = c->group ? c->group : cols;
    bool awq = c->layout == LLM_LAYOUT_AWQ;
    if (rows % 8 || cols % 8 || cols % group || group % 2)
        return diag_error(d, HILO_INVALID_ARGUMENT, "tensor '%s' packs %lld rows of %lld in groups of %lld; multiples of 8, "
                          "and of the group, were expected", name, (long long)rows, (long long)cols, (long long)group);
    p.groups = cols / group;
    HILO_TRY(find(&s, "qweight", false, awq ? cols : cols / n, awq ? rows / n : rows, &p.values));
    HILO_TRY(find(&s, "qzeros", false, p.groups, rows / n, &p.zeros));
    HILO_TRY(find(&s, "scales", true, p.groups, rows, &p.scales));
    snprintf(name, sizeof name, "%s.g_idx", base);
    if (!awq && llm_tensors_find(files, name))
        HILO_TRY(find(&s, "g_idx", false, cols, 0, &p.order));
    HILO_TRY(look(&s, &p));
    *out = p;
    return HILO_OK;
}

/* ---- converting ------------------------------------------------------------------------------ */

/* Eight columns of eight rows as words of 4-bit values: word r has row r, the first column in the low bits. */
static void awq_block(const struct llm_packed *p, int64_t row, int64_t col, uint32_t out[8]) {
    memset(out, 0, 8 * sizeof *out);
    for (int64_t c = 0; c < 8; c++) {
        uint32_t word = load32(p->values, (col + c) * (p->rows / 8) + row / 8);
        for (int r = 0; r < 8; r++)
            out[r] |= (word >> 4 * awq_place[r] & 15) << 4 * c;
    }
}

static void block_values(const struct llm_packed *p, int64_t row, char *values) {
    int64_t n = per_word(p);
    size_t row_bytes = (size_t)p->cols * p->bits / 8;
    uint32_t flip = !p->symmetric ? 0 : p->bits == 4 ? 0x88888888u : 0x80808080u; /* minus the middle, in two's complement */
    for (int64_t col = 0; col < p->cols; col += n) {
        uint32_t words[8];
        if (p->layout == LLM_LAYOUT_AWQ)
            awq_block(p, row, col, words);
        else
            for (int64_t r = 0; r < 8; r++)
                words[r] = load32(p->values, col / n * p->rows + row + r);
        for (int64_t r = 0; r < 8; r++) {
            uint32_t word = words[r] ^ flip;
            memcpy(values + (size_t)(row + r) * row_bytes + (size_t)col * p->bits / 8, &word, sizeof word);
        }
    }
}

static float scale_of(const struct llm_packed *p, int64_t group, int64_t row) {
    const struct ir_dtype_info *type = ir_dtype_get(p->scales->dtype);
    float x;
    fp_decode_n_f32(type->fp, (const char *)p->scales->data + (size_t)(group * p->rows + row) * type->bytes, &x, 1);
    return x;
}

void llm_packed_rows(const struct llm_packed *p, int64_t begin, int64_t end, void *values, void *scales, float *offsets) {
    size_t size = ir_dtype_get(p->scales->dtype)->bytes;
    for (int64_t row = 8 * begin; row < 8 * end; row += 8) {
        block_values(p, row, values);
        for (int64_t r = row; r < row + 8; r++)
            for (int64_t g = 0; g < p->groups; g++) {
                size_t at = (size_t)(r * p->groups + g);
                memcpy((char *)scales + at * size, (const char *)p->scales->data + (size_t)(g * p->rows + r) * size, size);
                if (offsets)
                    offsets[at] = -(float)zero_of(p, g, r) * scale_of(p, g, r);
            }
    }
}

void llm_packed_numbers(const struct llm_packed *p, int64_t begin, int64_t end, uint16_t *out) {
    int64_t n = per_word(p);
    for (int64_t row = 8 * begin; row < 8 * end; row++)
        for (int64_t col = 0; col < p->cols; col++) {
            uint32_t word = load32(p->values, col / n * p->rows + row);
            int64_t g = group_of(p, col);
            float value = (float)(word >> (uint32_t)(col % n) * p->bits & mask_of(p));
            out[row * p->cols + col] = f32_to_f16((value - (float)zero_of(p, g, row)) * scale_of(p, g, row));
        }
}
