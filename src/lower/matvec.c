/* GEMV: few rows times a matrix that is contiguous along the sum. Each of its elements is used so seldom that the time is
 * that of reading it.
 *
 * Lanes run along the sum. A tile of lines of the matrix is read at once, a cache line of each in turn. The lines of a
 * tile are `line_step` apart, and consecutive tiles take the next ones: few long streams suit hardware prefetchers best. A
 * prologue computes the rows once (conversion, rounding) unless they are loads. The sums of a block of lines go to scratch
 * memory, from which the epilogue reads lanes of lines.
 *
 * A matrix of 8-bit integers or less is read as 32-bit words: a lane is a word, a step one of its `unit` elements, so that
 * elements are shifted out without crossing lanes; the prologue puts the rows into that order. Of a quantised matrix,
 *   sum over k of x[k] (q[k] s + z)  for elements q of a word  =  s (sum of x[k] q[k]) + z (sum of x[k]),
 * the prologue computes the sums of x[k]. And q = ((word >> b k) & m) needs no shift: word & (m << b k) is q 2^(b k),
 * multiplied by x[k] 2^(-b k), both exact. Signed elements are taken as unsigned ones, less 2^(b - 1) times the sum of x[k].
 *
 * Where there are products of bytes (DOT4), elements of 4 and 8 bits are multiplied by them, and the prologue splits rows
 * into bytes: the elements of a word share a power of two, of which each is a 24-bit integer, and so three signed bytes
 * (digits). That is the precision of f32 for the largest of them; the others are rounded to the same last bit, as an
 * addition to it would. The sum of a word is exact; for 8 bits it is the sum of two, of the highest digits and of the
 * others. */
#include "lower/contract.h"

#include <math.h>

enum {
    MATVEC_ROWS = 8, /* maximal number of rows: with more, each element is used often enough to be packed */
    MATVEC_UNIT = 32 /* maximal number of elements of a word */
};

struct matvec {
    struct contraction *c;
    uint32_t matrix;              /* the operand */
    uint32_t rows, lines;         /* axes of the result: rows (nresult = one row), lines of the matrix */
    int64_t nrows, nlines, size;  /* size: of the sum */
    int64_t lanes, steps;         /* an iteration takes `steps` vectors of `lanes` lanes */
    int64_t tile, line_step;          /* lines at once, line_step lines apart */
    int64_t prefetch;                /* prefetch distance in elements of the matrix's memory */
    int64_t unit;                 /* elements of the matrix in a lane: 1, or those of a word */
    bool quantised;                 /* quantised: elements times a scale plus an offset, the same for all of a word */
    bool is_signed;               /* quantised: the elements */
    bool prepared;                /* rows are in `buffer`; quantised: sums[row][word], for a signed matrix times -2^(b - 1) */
    bool as_bytes;                   /* quantised: multiplied by DOT4 */
    bool has_offset;              /* quantised */
    uint32_t buffer, sums;
    uint32_t scales, biases;      /* as_bytes: [row][word], the power of two; signed: the sum times -2^(b - 1), for 8 bits
                                     that of the highest digits, and after all of those that of the others */
};

enum { MATVEC_DIGITS = 3 }; /* bytes of an element of a row */

static bool is_eligible(struct matvec *v) {
    const struct contraction *c = v->c;
    if (!contract_gemv_axes(c, v->matrix, &v->rows, &v->lines))
        return false;
    v->nrows = v->rows < c->nresult ? c->result[v->rows].size : 1;
    v->nlines = c->result[v->lines].size;
    v->size = c->sum[0].size;
    int64_t least = TORTURED(TORTURE_PART, c->l->target->kernel_ops);
    return v->nrows <= MATVEC_ROWS && v->nlines >= 8 && v->size > 0 && v->size >= least / v->nlines;
}

/* ---- quantised elements of the matrix -------------------------------------------------- */

/* Whether two values are both x op y of a commutative op with a common operand: replaces them by the other operands. */
static bool take_common(const struct kir *k, enum kir_op op, kir_val *a, kir_val *b, kir_val *common) {
    const struct kir_node *x = kir_get(k, *a), *y = kir_get(k, *b);
    if (x->op != op || y->op != op)
        return false;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (x->arg[i].i == y->arg[j].i) {
                *common = x->arg[i];
                *a = x->arg[!i];
                *b = y->arg[!j];
                return true;
            }
    return false;
}

/* An element of a word as (part of word) · scale + offset, from the first two of the word. */
struct parts {
    kir_val word, scale, offset; /* scale, offset: none if absent */
    int64_t bits;
    bool is_signed;
};

static bool find_parts(const struct kir *k, kir_val a, kir_val b, struct parts *out) {
    *out = (struct parts){.bits = 0};
    (void)take_common(k, KIR_ADD, &a, &b, &out->offset);
    (void)take_common(k, KIR_MUL, &a, &b, &out->scale);
    const struct kir_node *x = kir_get(k, a), *y = kir_get(k, b);
    if (x->op != KIR_CONVERT || y->op != KIR_CONVERT)
        return false;
    x = kir_get(k, x->arg[0]);
    y = kir_get(k, y->arg[0]);
    if (x->op != KIR_EXT || y->op != KIR_EXT)
        return false;
    out->word = x->arg[0];
    out->bits = x->imm;
    out->is_signed = !(x->flags & KIR_U);
    const struct kir_node *shift = kir_get(k, y->arg[0]);
    int64_t by;
    return kir_get(k, out->word)->op == KIR_LOAD && shift->op == KIR_SHR && shift->arg[0].i == out->word.i &&
           kir_is_const(k, shift->arg[1], &by) && by == out->bits;
}

/* ---- the choice ------------------------------------------------------------------------------- */

static kir_val element(struct matvec *v, kir_val lane, int64_t step) {
    struct contraction *c = v->c;
    c->sum[0].at = lower_add(c->l, lower_mul(c->l, lane, v->unit), kir_i64(c->l->k, step));
    return contract_factor(c, v->matrix);
}

/* Inspects elements of both operands: whether the matrix is contiguous, and whether rows need a prologue. */
static bool inspect(struct matvec *v, bool as_bytes) {
    struct contraction *c = v->c;
    struct contract_kernel probe;
    int64_t stride = 0, one = 0;
    v->as_bytes = as_bytes;
    v->unit = contract_parts_of_word(c, v->matrix, as_bytes);
    if (v->size < v->unit || (as_bytes && (v->unit != 4 && v->unit != 8)))
        return false;
    c->l->word_bits = v->unit == 1 ? 0 : as_bytes ? 8 : 4;
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    kir_val lane = kir_loop(k, KIR_SERIAL, v->size / v->unit, 0);
    kir_val y = element(v, lane, 0), load = contract_load(k, y);
    bool contiguous = load.i && kir_linear(k, kir_get(k, load)->arg[0], lane, &stride) && stride == 1;
    if (contiguous) {
        struct parts parts;
        int64_t bytes = ir_dtype_get(k->buffers.v[kir_get(k, load)->of].dtype)->bytes;
        int64_t vector = contract_vector(c);
        v->quantised = v->unit > 1 && find_parts(k, y, element(v, lane, 1), &parts);
        v->is_signed = v->quantised && parts.is_signed;
        v->has_offset = v->quantised && parts.offset.i;
        int64_t wide = v->unit == 1 ? 2 : 1; /* whatever the number of rows: the bits of a row do not depend on others */
        v->lanes = vector * wide;
        v->steps = v->unit > 1 ? v->unit : c->l->target->line_bytes / (bytes * v->lanes);
        v->steps = v->steps < 1 ? 1 : v->steps;
        int64_t tile = v->nrows == 1 ? 4 : v->nrows <= 3 ? 3 : v->nrows <= 5 ? 2 : 1;
        int64_t fit = c->l->target->vector_registers * 3 / 4 / (v->nrows * wide); /* the others hold operands */
        v->tile = contract_tile_size(v->nlines, tile < fit ? tile : fit > 1 ? fit : 1);
        v->prefetch = c->l->target->vector_bytes == 64 ? v->size / v->unit : 0;
        v->line_step = c->l->target->stream_bytes / (v->size / v->unit * bytes);
        c->sum[0].at = lane;
        kir_val x = contract_factor(c, !v->matrix);
        v->prepared = v->unit > 1 || (v->nrows > 1 && c->is_narrow[!v->matrix]) || kir_get(k, x)->op != KIR_LOAD ||
                      !kir_linear(k, kir_get(k, x)->arg[0], lane, &one) || one != 1;
    }
    contract_probe_end(c, &probe);
    int64_t iteration = v->lanes * v->steps;
    bool fits = contiguous && v->size >= iteration && (v->unit == 1 || v->size % iteration == 0) && v->unit <= MATVEC_UNIT &&
                (v->quantised || !as_bytes);
    c->l->word_bits = !fits || v->unit == 1 ? 0 : as_bytes ? 8 : 4;
    return fits;
}

/* ---- the rows --------------------------------------------------------------------------------- */

static void set_row(struct matvec *v, kir_val row) {
    if (v->rows < v->c->nresult)
        v->c->result[v->rows].at = row;
}

static kir_val number(const struct matvec *v, double x) {
    return kir_float(v->c->l->k, v->c->acc, x);
}

/* The prologue: rows in the type of the sum and the order in which they are read. */
static void prepare(struct matvec *v) {
    struct contraction *c = v->c;
    struct contract_kernel prologue;
    enum ir_dtype t = contract_acc_dtype(c);
    int64_t steps = v->unit, words = v->size / v->unit, bits = 32 / v->unit;
    uint32_t temp = lower_new_temp(v->c->l, t, v->nrows * v->size), sums = 0, sums_temp = 0;
    if (v->quantised)
        sums_temp = lower_new_temp(v->c->l, t, v->nrows * words);
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    uint32_t out = lower_temp(l, temp, KIR_OUT);
    if (v->quantised)
        sums = lower_temp(l, sums_temp, KIR_OUT);
    kir_val row = lower_grid(l, v->nrows);
    set_row(v, row);
    kir_val iteration = kir_loop(l->k, KIR_SERIAL, v->unit > 1 ? words / v->lanes : 1, 0);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, v->unit > 1 ? v->lanes : v->size, (uint32_t)v->lanes), sum = {0};
    kir_val word = lower_add(l, lower_mul(l, iteration, v->lanes), lane);
    kir_val to = lower_add(l, lower_mul(l, row, v->size), lower_mul(l, iteration, v->lanes * steps));
    for (int64_t i = 0; i < steps; i++) {
        c->sum[0].at = lower_add(l, lower_mul(l, word, v->unit), kir_i64(l->k, i));
        kir_val x = contract_factor(c, !v->matrix);
        sum = i ? kir_op2(l->k, KIR_ADD, 0, sum, x) : x;
        if (v->quantised && i + 1 < steps)
            x = kir_op2(l->k, KIR_MUL, 0, x, number(v, ldexp(1, (int)(-bits * i))));
        kir_store(l->k, out, lower_add(l, to, lower_add(l, lane, kir_i64(l->k, i * v->lanes))), x);
    }
    if (v->is_signed)
        sum = kir_op2(l->k, KIR_MUL, 0, sum, number(v, -ldexp(1, (int)bits - 1)));
    if (v->quantised)
        kir_store(l->k, sums, lower_add(l, lower_mul(l, row, words), word), sum);
    lower_close(l, 3);
    contract_prologue_end(c, &prologue);
    v->buffer = lower_temp(v->c->l, temp, KIR_IN);
    if (v->quantised)
        v->sums = lower_temp(v->c->l, sums_temp, KIR_IN);
}

/* An op on i32. */
static kir_val op(struct lower *l, enum kir_op op, kir_val a, int64_t b) {
    return kir_op2(l->k, op, KIR_U, a, kir_int(l->k, KIR_I32, b));
}

/* The exponent field of the power of two that the elements of a word share, so that each of them, after rounding, fits three
   signed bytes; and their greatest magnitude, as bits. */
static kir_val shared_exponent(struct lower *l, const kir_val *x, int64_t n, kir_val *most) {
    enum { ROUND_UP = 0x10101, FIELD = 0x7F800000, LEAST = 23 << 23 };
    for (int64_t i = 0; i < n; i++) {
        kir_val size = op(l, KIR_AND, kir_typed(l->k, KIR_BITCAST, 0, KIR_I32, x[i]), INT32_MAX);
        *most = i ? kir_op2(l->k, KIR_MAX, 0, *most, size) : size;
    }
    kir_val field = op(l, KIR_AND, op(l, KIR_ADD, *most, ROUND_UP), FIELD);
    return kir_op2(l->k, KIR_MAX, 0, field, kir_int(l->k, KIR_I32, LEAST));
}

/* The prologue for DOT4: rows as bytes, [row][iteration][digit, highest first][elements that one mask selects][word]. */
static void prepare_bytes(struct matvec *v) {
    enum { GREATEST = 0x7F7F7F, DIGITS = 0x808080, SIGNS = -0x7F7F7F80, DOWN = 22 << 23 };
    struct contraction *c = v->c;
    struct contract_kernel prologue;
    int64_t words = v->size / v->unit, iterations = words / v->lanes, masks = v->unit / 4, bits = 32 / v->unit;
    uint32_t temp = lower_new_temp(v->c->l, IR_I32_T, v->nrows * words * MATVEC_DIGITS * masks);
    uint32_t scales = lower_new_temp(v->c->l, IR_F32_T, v->nrows * words), sums = 0, biases = 0;
    if (v->has_offset)
        sums = lower_new_temp(v->c->l, IR_F32_T, v->nrows * words);
    if (v->is_signed)
        biases = lower_new_temp(v->c->l, IR_I32_T, v->nrows * words * (bits == 8 ? 2 : 1));
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    kir_val at[2], x[8], q[8], most = {0}, sum = {0}, bias = {0}, high = {0};
    lower_grid_nd(l, (int64_t[]){v->nrows, iterations}, 2, at);
    set_row(v, at[0]);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, v->lanes, (uint32_t)v->lanes);
    kir_val word = lower_add(l, lower_mul(l, at[1], v->lanes), lane), place = lower_add(l, lower_mul(l, at[0], words), word);
    for (int64_t i = 0; i < v->unit; i++) {
        c->sum[0].at = lower_add(l, lower_mul(l, word, v->unit), kir_i64(l->k, i));
        x[i] = contract_factor(c, !v->matrix);
        sum = i ? kir_op2(l->k, KIR_ADD, 0, sum, x[i]) : x[i];
    }
    kir_val field = shared_exponent(l, x, v->unit, &most);
    kir_val up = kir_op2(l->k, KIR_SUB, 0, kir_int(l->k, KIR_I32, (int32_t)(276u << 23)), field);
    up = kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, up);
    for (int64_t i = 0; i < v->unit; i++) {
        q[i] = kir_op1(l->k, KIR_RINT, kir_op2(l->k, KIR_MUL, 0, x[i], up));
        q[i] = kir_typed(l->k, KIR_CONVERT, 0, KIR_I32, q[i]);
        q[i] = kir_op2(l->k, KIR_MIN, 0, q[i], kir_int(l->k, KIR_I32, GREATEST)); /* infinity */
        q[i] = kir_op2(l->k, KIR_MAX, 0, q[i], kir_int(l->k, KIR_I32, -GREATEST));
        bias = i ? kir_op2(l->k, KIR_ADD, 0, bias, q[i]) : q[i];
        q[i] = op(l, KIR_ADD, q[i], DIGITS);
        kir_val digit = op(l, KIR_SHR, q[i], 16);
        high = i ? kir_op2(l->k, KIR_ADD, 0, high, digit) : digit;
    }
    uint32_t out = lower_temp(l, temp, KIR_OUT);
    kir_val to = lower_add(l, lower_mul(l, at[0], words), lower_mul(l, at[1], v->lanes));
    to = lower_add(l, lower_mul(l, to, MATVEC_DIGITS * masks), lane);
    for (int64_t d = 0; d < MATVEC_DIGITS; d++)
        for (int64_t p = 0; p < masks; p++) {
            kir_val all = {0};
            for (int64_t b = 0; b < 4; b++) {
                kir_val digit = op(l, KIR_AND, op(l, KIR_SHR, q[masks * b + p], 8 * (MATVEC_DIGITS - 1 - d)), 255);
                all = b ? kir_op2(l->k, KIR_OR, 0, all, op(l, KIR_SHL, digit, 8 * b)) : digit;
            }
            kir_store(l->k, out, lower_add(l, to, kir_i64(l->k, (d * masks + p) * v->lanes)), op(l, KIR_XOR, all, SIGNS));
        }
    kir_val down = kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, kir_op2(l->k, KIR_SUB, 0, field, kir_int(l->k, KIR_I32, DOWN)));
    kir_val finite = kir_cmp(l->k, KIR_LT, 0, most, kir_int(l->k, KIR_I32, 0x7F800000));
    down = kir_select(l->k, finite, down, kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, most));
    kir_store(l->k, lower_temp(l, scales, KIR_OUT), place, down);
    if (v->has_offset)
        kir_store(l->k, lower_temp(l, sums, KIR_OUT), place, sum);
    if (v->is_signed && bits == 8) {
        high = op(l, KIR_SUB, high, 128 * v->unit);
        bias = kir_op2(l->k, KIR_SUB, 0, bias, op(l, KIR_SHL, high, 16));
        kir_store(l->k, lower_temp(l, biases, KIR_OUT), place, op(l, KIR_MUL, high, -128));
        place = lower_add(l, place, kir_i64(l->k, v->nrows * words));
    }
    if (v->is_signed)
        kir_store(l->k, lower_temp(l, biases, KIR_OUT), place, op(l, KIR_MUL, bias, -((int64_t)1 << (bits - 1))));
    lower_close(l, 2);
    contract_prologue_end(c, &prologue);
    v->buffer = lower_temp(v->c->l, temp, KIR_IN);
    v->scales = lower_temp(v->c->l, scales, KIR_IN);
    if (v->has_offset)
        v->sums = lower_temp(v->c->l, sums, KIR_IN);
    if (v->is_signed)
        v->biases = lower_temp(v->c->l, biases, KIR_IN);
}

/* Element `s` of a row; if rows are prepared, that at `at` of `buffer`. */
static kir_val row_element(struct matvec *v, int64_t row, kir_val s, kir_val at) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    if (v->prepared)
        return kir_load(l->k, v->buffer, lower_add(l, at, kir_i64(l->k, row * v->size)));
    set_row(v, kir_i64(l->k, row));
    c->sum[0].at = s;
    return contract_factor(c, !v->matrix);
}

/* ---- sums of products ------------------------------------------------------------------------- */

/* A position in lines: element `begin`, an iteration from there on, a lane. */
struct place {
    int64_t begin;
    kir_val iteration, lane;
};

static kir_val line_of_tile(struct matvec *v, kir_val first, int64_t i) {
    return lower_add(v->c->l, first, kir_i64(v->c->l->k, i * v->line_step));
}

/* Adds the products of one vector of each line of the tile and of each row. */
static void multiply(struct matvec *v, kir_val first, const struct place *p, int64_t step, kir_val sums, bool ahead) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    int64_t in_lane = v->unit > 1 ? step : step * v->lanes;
    kir_val from = lower_mul(l, p->iteration, v->steps * v->lanes), lanes = lower_mul(l, p->lane, v->unit), x[MATVEC_ROWS];
    kir_val s = lower_add(l, from, lower_add(l, lanes, kir_i64(k, p->begin + in_lane)));
    kir_val at = lower_add(l, from, lower_add(l, p->lane, kir_i64(k, p->begin + step * v->lanes)));
    for (int64_t i = 0; i < v->nrows; i++)
        x[i] = row_element(v, i, s, at);
    c->sum[0].at = s;
    for (int64_t r = 0; r < v->tile; r++) {
        c->result[v->lines].at = line_of_tile(v, first, r);
        kir_val y = contract_factor(c, v->matrix), load = contract_load(k, y);
        if (ahead && v->prefetch)
            contract_prefetch(c, load, v->prefetch);
        for (int64_t i = 0; i < v->nrows; i++) {
            kir_val reg = kir_i64(k, r * v->nrows + i);
            kir_set_reg(k, sums, reg, kir_fma(k, x[i], y, kir_get_reg(k, sums, reg)));
        }
    }
}

/* Element `step` of a word as a number of type c->acc, times 2^(bits · step) except for the last. */
static kir_val part_of_word(struct matvec *v, kir_val word, int64_t step, int64_t bits) {
    struct kir *k = v->c->l->k;
    uint64_t mask = (((uint64_t)1 << bits) - 1) << (bits * step);
    kir_val q = step + 1 < v->unit ? kir_op2(k, KIR_AND, 0, word, kir_int(k, KIR_I32, (int32_t)mask))
                                   : kir_op2(k, KIR_SHR, KIR_U, word, kir_int(k, KIR_I32, bits * step));
    return kir_typed(k, KIR_CONVERT, 0, v->c->acc, q);
}

/* Adds the products of a word of each line of the tile and the elements of each row. */
static void multiply_words(struct matvec *v, kir_val first, const struct place *p, kir_val sums, bool ahead) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    enum { MOST = 8 };
    struct parts parts[MOST];
    kir_val dot[MOST * MATVEC_ROWS], from = lower_mul(l, p->iteration, v->lanes);
    kir_val word = lower_add(l, from, p->lane), at = lower_add(l, lower_mul(l, from, v->unit), p->lane), total[MATVEC_ROWS];
    int64_t bits = 32 / v->unit;
    for (int64_t i = 0; i < v->nrows; i++)
        total[i] = kir_load(k, v->sums, lower_add(l, word, kir_i64(k, i * (v->size / v->unit))));
    for (int64_t r = 0; r < v->tile; r++) {
        c->result[v->lines].at = line_of_tile(v, first, r);
        (void)find_parts(k, element(v, word, 0), element(v, word, 1), &parts[r]);
        if (ahead && v->prefetch)
            contract_prefetch(c, parts[r].word, v->prefetch);
        uint64_t signs = 0;
        for (int64_t i = 1; i <= v->unit; i++)
            signs |= (uint64_t)1 << (bits * i - 1);
        if (v->is_signed)
            parts[r].word = kir_op2(k, KIR_XOR, 0, parts[r].word, kir_int(k, KIR_I32, (int32_t)(uint32_t)signs));
    }
    for (int64_t step = 0; step < v->unit; step++)
        for (int64_t r = 0; r < v->tile; r++) {
            kir_val q = part_of_word(v, parts[r].word, step, bits);
            for (int64_t i = 0; i < v->nrows; i++) {
                kir_val *d = &dot[r * v->nrows + i], x = kir_load(k, v->buffer, lower_add(l, at, kir_i64(k, i * v->size +
                                                                                                     step * v->lanes)));
                *d = step ? kir_fma(k, x, q, *d) : v->is_signed ? kir_fma(k, x, q, total[i]) : kir_op2(k, KIR_MUL, 0, x, q);
            }
        }
    for (int64_t r = 0; r < v->tile; r++) {
        kir_val z = parts[r].offset;
        if (z.i && v->is_signed) /* sums are times -2^(bits - 1) */
            z = kir_op2(k, KIR_MUL, 0, z, number(v, -ldexp(1, 1 - (int)bits)));
        for (int64_t i = 0; i < v->nrows; i++) {
            kir_val reg = kir_i64(k, r * v->nrows + i), sum = kir_get_reg(k, sums, reg), d = dot[r * v->nrows + i];
            sum = parts[r].scale.i ? kir_fma(k, d, parts[r].scale, sum) : kir_op2(k, KIR_ADD, 0, sum, d);
            kir_set_reg(k, sums, reg, z.i ? kir_fma(k, total[i], z, sum) : sum);
        }
    }
}

/* A word of a row, as prepare_bytes stored it. */
struct row_bytes {
    kir_val digits[2 * MATVEC_DIGITS], scale, sum, bias[2];
};

static void load_bytes(struct matvec *v, const struct place *p, int64_t row, struct row_bytes *out) {
    struct lower *l = v->c->l;
    int64_t words = v->size / v->unit, n = MATVEC_DIGITS * v->unit / 4;
    kir_val from = lower_add(l, lower_mul(l, p->iteration, v->lanes), kir_i64(l->k, row * words));
    kir_val word = lower_add(l, from, p->lane);
    for (int64_t i = 0; i < n; i++)
        out->digits[i] = kir_load(l->k, v->buffer, lower_add(l, lower_mul(l, from, n),
                                                             lower_add(l, p->lane, kir_i64(l->k, i * v->lanes))));
    out->scale = kir_load(l->k, v->scales, word);
    if (v->has_offset)
        out->sum = kir_load(l->k, v->sums, word);
    if (v->is_signed)
        for (int64_t i = 0; i < (v->unit == 4 ? 2 : 1); i++)
            out->bias[i] = kir_load(l->k, v->biases, lower_add(l, word, kir_i64(l->k, i * v->nrows * words)));
}

/* The sum over a word of elements times a row's digits from `first` to `last`. */
static kir_val dot_digits(const struct matvec *v, const kir_val *parts, const struct row_bytes *x, int first, int last,
                          kir_val bias) {
    struct lower *l = v->c->l;
    int64_t masks = v->unit / 4;
    kir_val sum = kir_int(l->k, KIR_I32, 0);
    for (int64_t d = first; d <= last; d++) {
        if (d > first)
            sum = op(l, KIR_SHL, sum, 8);
        if (d == last && v->is_signed)
            sum = kir_op2(l->k, KIR_ADD, 0, sum, bias);
        for (int64_t p = 0; p < masks; p++)
            sum = kir_dot4(l->k, KIR_U, parts[p], x->digits[d * masks + p], sum);
    }
    return kir_typed(l->k, KIR_CONVERT, 0, KIR_F32, sum);
}

/* The same for all digits; for 8 bits 32 bits do not hold it. */
static kir_val dot_bytes(const struct matvec *v, const kir_val *parts, const struct row_bytes *x) {
    if (v->unit == 8)
        return dot_digits(v, parts, x, 0, MATVEC_DIGITS - 1, x->bias[0]);
    kir_val high = dot_digits(v, parts, x, 0, 0, x->bias[0]), low = dot_digits(v, parts, x, 1, MATVEC_DIGITS - 1, x->bias[1]);
    return kir_fma(v->c->l->k, high, kir_float(v->c->l->k, KIR_F32, 65536), low);
}

/* As multiply_words, by DOT4. */
static void multiply_bytes(struct matvec *v, kir_val first, const struct place *p, kir_val sums, bool ahead) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    enum { MOST = 8 };
    struct parts parts[MOST];
    kir_val part[MOST][2], word = lower_add(l, lower_mul(l, p->iteration, v->lanes), p->lane);
    int64_t bits = 32 / v->unit;
    for (int64_t r = 0; r < v->tile; r++) {
        c->result[v->lines].at = line_of_tile(v, first, r);
        (void)find_parts(k, element(v, word, 0), element(v, word, 1), &parts[r]);
        if (ahead && v->prefetch)
            contract_prefetch(c, parts[r].word, v->prefetch);
        part[r][0] = part[r][1] = parts[r].word;
        for (int64_t i = 0; i < v->unit / 4; i++) {
            part[r][i] = bits == 8 ? part[r][i] : op(l, KIR_AND, op(l, KIR_SHR, part[r][i], bits * i), 0x0F0F0F0F);
            if (v->is_signed)
                part[r][i] = op(l, KIR_XOR, part[r][i], bits == 8 ? -0x7F7F7F80 : 0x08080808);
        }
    }
    for (int64_t i = 0; i < v->nrows; i++) { /* registers hold the words of all lines, and of one row */
        struct row_bytes x;
        load_bytes(v, p, i, &x);
        for (int64_t r = 0; r < v->tile; r++) {
            kir_val reg = kir_i64(k, r * v->nrows + i), sum = kir_get_reg(k, sums, reg), d = dot_bytes(v, part[r], &x);
            kir_val scale = parts[r].scale.i ? kir_op2(k, KIR_MUL, 0, x.scale, parts[r].scale) : x.scale;
            sum = kir_fma(k, d, scale, sum);
            kir_set_reg(k, sums, reg, parts[r].offset.i ? kir_fma(k, x.sum, parts[r].offset, sum) : sum);
        }
    }
}

/* Adds `count` iterations of `steps` vectors from element `begin` of the lines to the registers `all`. */
static void sum_lines(struct matvec *v, kir_val all, kir_val first, int64_t begin, int64_t count, int64_t steps,
                      int64_t lanes) {
    struct lower *l = v->c->l;
    struct place p = {.begin = begin, .lane = kir_loop(l->k, KIR_VECTOR, lanes, (uint32_t)v->lanes)};
    kir_val sums = kir_reg(l->k, contract_zero(v->c), v->tile * v->nrows);
    p.iteration = kir_loop(l->k, KIR_SERIAL, count, 0);
    if (v->as_bytes)
        multiply_bytes(v, first, &p, sums, count > 1);
    else if (v->quantised)
        multiply_words(v, first, &p, sums, count > 1);
    for (int64_t i = 0; i < steps && !v->quantised; i++)
        multiply(v, first, &p, i, sums, i == 0 && count > 1);
    kir_close(l->k);
    for (int64_t i = 0; i < v->tile * v->nrows; i++)
        kir_acc(l->k, KIR_ADD, 0, all, kir_i64(l->k, i), kir_get_reg(l->k, sums, kir_i64(l->k, i)));
    kir_close(l->k);
}

/* The sums of the tile whose first line is `first`, to `place` of scratch memory: [row][line of the block]. */
static void sum_tile(struct matvec *v, kir_val first, kir_val place, uint32_t scratch, int64_t block) {
    struct lower *l = v->c->l;
    int64_t iteration = v->lanes * v->steps, rest = v->size % iteration, n = v->tile * v->nrows;
    kir_val all = kir_reg(l->k, contract_zero(v->c), n);
    sum_lines(v, all, first, 0, v->size / iteration, v->steps, v->lanes);
    if (rest)
        sum_lines(v, all, first, v->size - rest, 1, 1, rest);
    for (int64_t i = 0; i < n; i++) {
        kir_val at = lower_add(l, place, kir_i64(l->k, i % v->nrows * block + i / v->nrows * v->line_step));
        kir_store(l->k, scratch, at, kir_get_reg(l->k, all, kir_i64(l->k, i)));
    }
}

static void build(struct matvec *v) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    int64_t most = 2 * v->nlines / (v->tile * l->target->tasks); /* even for half as many threads */
    v->line_step = v->line_step > most ? most : v->line_step;
    v->line_step = v->line_step < 1 ? 1 : v->line_step;
    int64_t block = v->line_step * v->tile;
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(l->k, 0);
    uint32_t scratch = kir_scratch(l->k, contract_acc_dtype(c), v->nrows * block);
    kir_val b = lower_grid(l, (v->nlines + block - 1) / block), first = contract_tile_begin(l, b, v->nlines, block);
    kir_val place = kir_loop(l->k, KIR_SERIAL, v->line_step, 0);
    sum_tile(v, lower_add(l, first, place), place, scratch, block);
    kir_close(l->k);
    kir_val row = kir_loop(l->k, KIR_SERIAL, v->nrows, 0);
    kir_val lane = kir_loop(l->k, KIR_VECTOR, block, (uint32_t)contract_vector(c));
    set_row(v, row);
    c->result[v->lines].at = lower_add(l, first, lane);
    contract_finish(c, kir_load(l->k, scratch, lower_add(l, lower_mul(l, row, block), lane)));
    lower_close(l, 3);
}

bool contract_matvec(struct contraction *c) {
    struct matvec v = {.c = c};
    if (c->conv || c->nsum != 1 || !kir_is_float(c->acc) || c->l->kernel->strict || c->l->native)
        return false;
    bool bytes = c->acc == KIR_F32 && c->l->target->dot_i8;
    for (v.matrix = 0; v.matrix < 2; v.matrix++)
        if (is_eligible(&v) && ((bytes && inspect(&v, true)) || inspect(&v, false))) {
            if (v.as_bytes)
                prepare_bytes(&v);
            else if (v.prepared)
                prepare(&v);
            build(&v);
            c->l->word_bits = 0;
            return true;
        }
    return false;
}
