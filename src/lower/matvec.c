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
 * into bytes. A lane is then as many words as share scale and offset, up to four: their elements share a power of two, of which
 * each is a 24-bit integer, and so three signed bytes (digits). That is the precision of f32 for the largest of them; the
 * others are rounded to the same last bit, as an addition to it would. The sum of a lane is exact; for 8 bits it is the sum of
 * two, of the highest digits and of the others. Rows that are integers of 8 or 16 bits, times a scale that a lane shares, have
 * one or two digits, and no rounding. Of two the lower one has no sign, which takes elements of the matrix whose highest bit is
 * clear, as those of 4 bits are.
 *
 * Without DOT4, rows of one digit are multiplied by half bytes, whose products are added in 16 bits (DOT2_I8). That takes so
 * many instructions that few loads are in flight in a processor's reorder buffer: two lines at once, and bytes, scales and
 * offsets prefetched.
 *
 * The bits of a row do not depend on the number of rows. Many rows of bytes are multiplied iteration by iteration for a block
 * of lines, so that what an iteration takes of some rows stays in the L1 cache, and words are unpacked once for them; the
 * sums are in scratch memory meanwhile. Rows of one digit may be any number. Of others, some rows at a time are multiplied by
 * the lines of a block. */
#include "lower/contract.h"

#include <math.h>

enum {
    MATVEC_AT_ONCE = 8, /* most rows whose sums are in registers; of more rows, */
    MATVEC_PART = 4,    /* so many at a time. Of bytes, sums of more than these, of half bytes of several, are in memory, */
    MATVEC_LINES = 16,  /* of blocks of so many lines, */
    MATVEC_LINES_AT_ONCE = 2, /* of which at most so many have their bytes in registers, */
    MATVEC_ROWS = 32,         /* and of at most so many rows; */
    MATVEC_ROWS_AHEAD = 6,    /* rows whose epilogue is prefetched */
    MATVEC_UNIT = 32,   /* maximal number of elements of a word */
    MATVEC_WORDS = 4,   /* maximal number of words of a lane */
    MATVEC_DIGITS = 3,  /* maximal number of bytes of an element of a row */
    /* Of half bytes: lines at once, and how many bytes ahead they are prefetched, by measurement (docs/PERFORMANCE.md). */
    MATVEC_HALVES_TILE = 2,
    MATVEC_HALVES_AHEAD = 1024
};

struct matvec {
    struct contraction *c;
    uint32_t matrix;              /* the operand */
    uint32_t rows, lines;         /* axes of the result: rows (nresult = one row), lines of the matrix */
    int64_t nrows, nlines, size;  /* size: of the sum */
    int64_t lanes, steps;         /* an iteration takes `steps` vectors of `lanes` lanes */
    int64_t tile, line_step;          /* lines at once, line_step lines apart */
    int64_t prefetch;                /* prefetch distance in elements of the matrix's memory; 0: none */
    int64_t unit;                 /* elements of the matrix in a word; 1: it is not read by words */
    int64_t words;                /* of a lane: 1, as_bytes up to MATVEC_WORDS */
    int64_t digits;               /* as_bytes: of an element of a row; fewer than MATVEC_DIGITS: it is an integer, scaled */
    int64_t at_once;              /* rows whose sums are in registers */
    int64_t lines_at_once;        /* as_bytes: lines that have their bytes in registers */
    bool quantised;                 /* quantised: elements times a scale plus an offset, the same for all of a word */
    bool is_signed;               /* quantised: the elements */
    bool prepared;                /* rows are in `buffer`; quantised: sums, [row][word] or as scales, for a signed matrix times
                                     -2^(b - 1) */
    bool as_bytes;                   /* quantised: multiplied by DOT4, */
    bool halves;                  /* or, as half bytes, by DOT2_I8 */
    bool has_offset;              /* quantised */
    uint32_t buffer, sums;
    uint32_t scales, biases;      /* as_bytes: [iteration][row][lane], the power of two; signed: the sum times -2^(b - 1), for
                                     8 bits that of the highest digits, and after all of those that of the others */
};

/* Lanes of a line, and of one in whole iterations, as rows are prepared. */
static int64_t line_lanes(const struct matvec *v) {
    return v->size / (v->unit * v->words);
}

static int64_t whole_lanes(const struct matvec *v) {
    return ((line_lanes(v) - 1) / v->lanes + 1) * v->lanes;
}

/* Whether the sums of all rows are in memory, of a block of lines. */
static bool in_memory(const struct matvec *v) {
    return v->as_bytes && v->nrows > (v->halves ? 1 : MATVEC_PART);
}

static bool is_eligible(struct matvec *v) {
    const struct contraction *c = v->c;
    if (!contract_gemv_axes(c, v->matrix, &v->rows, &v->lines))
        return false;
    v->nrows = v->rows < c->nresult ? c->result[v->rows].size : 1;
    v->nlines = c->result[v->lines].size;
    v->size = c->sum[0].size;
    bool invariant = c->l->kernel->batch_invariant;
    int64_t least = invariant ? 0 : TORTURED(TORTURE_PART, c->l->target->kernel_ops), lines = invariant ? 1 : 8;
    return v->nrows <= fuse_fused_rows(c->l->kernel) && v->nlines >= lines && v->size > 0 && v->size >= least / v->nlines;
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

/* Element `step` from the beginning of a lane on. */
static kir_val element(struct matvec *v, kir_val lane, int64_t step) {
    struct contraction *c = v->c;
    c->sum[0].at = lower_add(c->l, lower_mul(c->l, lane, v->unit * v->words), kir_i64(c->l->k, step));
    return contract_factor(c, v->matrix);
}

/* Word `word` of a lane. */
static bool find_word(struct matvec *v, kir_val lane, int64_t word, struct parts *out) {
    kir_val a = element(v, lane, word * v->unit), b = element(v, lane, word * v->unit + 1);
    return find_parts(v->c->l->k, a, b, out);
}

/* The integer with a sign, of 8 or 16 bits, that times `scale` (none: of itself) is x; none if x is something else. */
static kir_val integer_of(const struct kir *k, kir_val x, kir_val scale) {
    const struct kir_node *n = kir_get(k, x);
    if (scale.i) {
        if (n->op != KIR_MUL || (n->arg[0].i != scale.i && n->arg[1].i != scale.i))
            return (kir_val){0};
        n = kir_get(k, n->arg[n->arg[0].i == scale.i]);
    }
    if (n->op != KIR_CONVERT || (n->flags & KIR_U))
        return (kir_val){0};
    const struct kir_node *q = kir_get(k, n->arg[0]);
    bool part = q->op == KIR_EXT && q->imm <= 8 && !(q->flags & KIR_U); /* of a word */
    return part || kir_type(k, n->arg[0]) == KIR_I8 || kir_type(k, n->arg[0]) == KIR_I16 ? n->arg[0] : (kir_val){0};
}

/* The digits of the n elements of a row that meet in a lane. Fewer than MATVEC_DIGITS: `x` becomes their integers. */
static int64_t find_digits(const struct matvec *v, kir_val *x, int64_t n, kir_val *scale) {
    struct kir *k = v->c->l->k;
    kir_val first = x[0], last = x[n - 1], q[MATVEC_WORDS * 8];
    int64_t digits = 1;
    *scale = (kir_val){0};
    (void)take_common(k, KIR_MUL, &first, &last, scale);
    for (int64_t i = 0; i < n; i++) {
        q[i] = integer_of(k, x[i], *scale);
        if (!q[i].i || (kir_type(k, q[i]) == KIR_I16 && v->unit != 8))
            return MATVEC_DIGITS;
        digits = kir_type(k, q[i]) == KIR_I16 ? 2 : digits;
    }
    memcpy(x, q, (size_t)n * sizeof *x);
    return digits;
}

/* The elements of a row that meet in a lane. */
static void lane_elements(const struct matvec *v, kir_val lane, kir_val *x) {
    struct contraction *c = v->c;
    for (int64_t n = v->unit * v->words, i = 0; i < n; i++) {
        c->sum[0].at = lower_add(c->l, lower_mul(c->l, lane, n), kir_i64(c->l->k, i));
        x[i] = contract_factor(c, !v->matrix);
    }
}

/* The most words that make a lane: they share scale and offset, sums of their products fit 32 bits, and, of several, lines are
   whole iterations. */
static void find_lane(struct matvec *v, bool is_signed) {
    struct kir *k = v->c->l->k;
    int64_t bits = 32 / v->unit;
    v->digits = MATVEC_DIGITS;
    for (v->words = MATVEC_WORDS; v->words; v->words /= 2) {
        struct parts first, last;
        kir_val x[MATVEC_WORDS * 8], unit;
        if (v->words > 1 && v->size % (contract_vector(v->c) * v->unit * v->words))
            continue;
        kir_val lane = kir_loop(k, KIR_SERIAL, line_lanes(v), 0), none = {0};
        lane_elements(v, lane, x);
        v->digits = find_digits(v, x, v->unit * v->words, &unit);
        bool same = find_word(v, lane, 0, &first);
        kir_val a = element(v, lane, 0), b = element(v, lane, v->unit * v->words - 1), scale = none, offset = none;
        (void)take_common(k, KIR_ADD, &a, &b, &offset);
        (void)take_common(k, KIR_MUL, &a, &b, &scale);
        same = same && find_word(v, lane, v->words - 1, &last) && scale.i == first.scale.i && offset.i == first.offset.i &&
               last.scale.i == scale.i && last.offset.i == offset.i;
        kir_close(k);
        bool fits = bits == 8 || is_signed || v->digits < MATVEC_DIGITS || v->words < MATVEC_WORDS;
        if (v->words == 1 || (same && fits))
            return;
    }
}

/* Inspects elements of both operands: whether the matrix is contiguous, and whether rows need a prologue. */
static bool inspect(struct matvec *v, bool as_bytes) {
    struct contraction *c = v->c;
    struct contract_kernel probe;
    int64_t stride = 0, one = 0;
    v->as_bytes = as_bytes;
    v->halves = as_bytes && !c->l->target->dot_i8;
    v->lines_at_once = c->l->target->vector_registers > 16 ? MATVEC_LINES_AT_ONCE : 1;
    v->words = 1;
    v->unit = contract_parts_of_word(c, v->matrix, as_bytes);
    if (v->size < v->unit || (as_bytes && (v->unit != 4 && v->unit != 8)))
        return false;
    c->l->word_bits = v->unit == 1 ? 0 : as_bytes && v->unit == 4 ? 8 : 4;
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
        v->at_once = v->nrows;
        if (v->nrows > MATVEC_AT_ONCE) /* passes of as many rows as possible, but not of 4 for 9 */
            v->at_once = (v->nrows - 1) / ((v->nrows - 1) / MATVEC_PART + 1) + 1;
        /* whatever the number of rows: the bits of a row do not depend on others */
        int64_t wide = v->unit == 1 ? contract_vectors(c, 2) : 1;
        v->lanes = vector * wide;
        v->steps = v->unit > 1 ? v->unit : c->l->target->line_bytes / (bytes * v->lanes);
        v->steps = v->steps < 1 ? 1 : v->steps;
        int64_t one_row = v->halves ? MATVEC_HALVES_TILE : 4, some = v->at_once <= 3 ? 3 : 1 + (v->at_once <= 5);
        int64_t tile = v->at_once == 1 ? one_row : in_memory(v) ? v->lines_at_once : some;
        int64_t fit = c->l->target->vector_registers * 3 / 4 / (v->at_once * wide); /* the others hold operands */
        v->tile = contract_tile_size(v->nlines, in_memory(v) || tile < fit ? tile : fit > 1 ? fit : 1);
        v->prefetch = (v->halves ? MATVEC_HALVES_AHEAD : c->l->target->prefetch_bytes) / bytes;
        v->line_step = c->l->target->stream_bytes / (v->size / v->unit * bytes);
        c->sum[0].at = lane;
        kir_val x = contract_factor(c, !v->matrix);
        v->prepared = v->unit > 1 || (v->nrows > 1 && c->is_narrow[!v->matrix]) || kir_get(k, x)->op != KIR_LOAD ||
                      !kir_linear(k, kir_get(k, x)->arg[0], lane, &one) || one != 1;
    }
    if (contiguous && as_bytes && v->quantised) {
        find_lane(v, v->is_signed);
        v->steps = v->unit * v->words;
    }
    contract_probe_end(c, &probe);
    int64_t iteration = v->lanes * v->steps;
    bool few = v->nrows <= fuse_few_rows(c->l->kernel), bytes = as_bytes && v->digits == 1;
    bool fits = contiguous && (bytes || (!v->halves && few)) &&
                (v->size >= iteration || c->l->kernel->batch_invariant) && v->size % v->unit == 0 &&
                v->unit <= MATVEC_UNIT && (v->quantised || !as_bytes);
    c->l->word_bits = !fits || v->unit == 1 ? 0 : as_bytes && v->unit == 4 ? 8 : 4;
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

/* The lane that the prologue reads for a lane of whole iterations: what it stores beyond the end of a line is not used. */
static kir_val lane_to_read(const struct matvec *v, kir_val lane) {
    struct lower *l = v->c->l;
    return v->unit > 1 && line_lanes(v) % v->lanes ? kir_op2(l->k, KIR_MIN, 0, lane, kir_i64(l->k, line_lanes(v) - 1)) : lane;
}

/* The prologue: rows in the type of the sum and the order in which they are read. */
static void prepare(struct matvec *v) {
    struct contraction *c = v->c;
    struct contract_kernel prologue;
    enum ir_dtype t = contract_acc_dtype(c);
    int64_t steps = v->unit, words = v->unit > 1 ? whole_lanes(v) : v->size, bits = 32 / v->unit;
    uint32_t temp = lower_new_temp(v->c->l, t, v->nrows * words * steps), sums = 0, sums_temp = 0;
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
    kir_val to = lower_add(l, lower_mul(l, row, words * steps), lower_mul(l, iteration, v->lanes * steps));
    kir_val from = lane_to_read(v, word);
    for (int64_t i = 0; i < steps; i++) {
        c->sum[0].at = lower_add(l, lower_mul(l, from, v->unit), kir_i64(l->k, i));
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

/* The digits of words of four bytes or eight half bytes of a row to `out` from `to` on. Three are those of q + DIGITS. */
static void store_digits(struct matvec *v, const kir_val *q, uint32_t out, kir_val to) {
    enum { SIGNS = -0x7F7F7F80 };
    struct lower *l = v->c->l;
    int64_t masks = v->unit / 4;
    for (int64_t i = 0; i < v->words * v->digits * masks; i++) {
        int64_t p = i % masks, d = i / masks % v->digits, word = i / masks / v->digits;
        kir_val all = {0};
        for (int64_t b = 0; b < 4; b++) {
            kir_val digit = op(l, KIR_SHR, q[word * v->unit + masks * b + p], 8 * (v->digits - 1 - d));
            digit = op(l, KIR_AND, digit, 255);
            all = b ? kir_op2(l->k, KIR_OR, 0, all, op(l, KIR_SHL, digit, 8 * b)) : digit;
        }
        all = v->digits == MATVEC_DIGITS ? op(l, KIR_XOR, all, SIGNS) : all;
        kir_store(l->k, out, lower_add(l, to, kir_i64(l->k, i * v->lanes)), all);
    }
}

/* What the prologue for DOT4 computes of the elements of a row that meet in a lane. */
struct row_lane {
    kir_val q[MATVEC_WORDS * 8];   /* I32, for store_digits */
    kir_val scale, sum;            /* f32; f32, of the elements */
    kir_val bias;                  /* I32, of q; halves: -8 times that, of the halves of words in the halves */
    kir_val high;                  /* of three digits, the sum of the highest ones */
};

/* Numbers: integers of 24 bits times a power of two. */
static void scale_numbers(const struct matvec *v, kir_val *x, int64_t n, struct row_lane *out) {
    enum { GREATEST = 0x7F7F7F, DIGITS = 0x808080, DOWN = 22 << 23 };
    struct lower *l = v->c->l;
    kir_val most = {0};
    for (int64_t i = 0; i < n; i++)
        out->sum = i ? kir_op2(l->k, KIR_ADD, 0, out->sum, x[i]) : x[i];
    kir_val field = shared_exponent(l, x, n, &most);
    kir_val up = kir_op2(l->k, KIR_SUB, 0, kir_int(l->k, KIR_I32, (int32_t)(276u << 23)), field);
    up = kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, up);
    for (int64_t i = 0; i < n; i++) {
        kir_val q = kir_op1(l->k, KIR_RINT, kir_op2(l->k, KIR_MUL, 0, x[i], up));
        q = kir_typed(l->k, KIR_CONVERT, 0, KIR_I32, q);
        q = kir_op2(l->k, KIR_MIN, 0, q, kir_int(l->k, KIR_I32, GREATEST)); /* infinity */
        q = kir_op2(l->k, KIR_MAX, 0, q, kir_int(l->k, KIR_I32, -GREATEST));
        out->bias = i ? kir_op2(l->k, KIR_ADD, 0, out->bias, q) : q;
        out->q[i] = op(l, KIR_ADD, q, DIGITS);
        kir_val digit = op(l, KIR_SHR, out->q[i], 16);
        out->high = i ? kir_op2(l->k, KIR_ADD, 0, out->high, digit) : digit;
    }
    kir_val down = kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, kir_op2(l->k, KIR_SUB, 0, field, kir_int(l->k, KIR_I32, DOWN)));
    kir_val finite = kir_cmp(l->k, KIR_LT, 0, most, kir_int(l->k, KIR_I32, 0x7F800000));
    out->scale = kir_select(l->k, finite, down, kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, most));
}

/* The same of integers, with their scale. */
static void scale_integers(const struct matvec *v, const kir_val *x, int64_t n, kir_val scale, struct row_lane *out) {
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    kir_val half[2] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        kir_val *sum = &half[i % v->unit >= v->unit / 2];
        out->q[i] = kir_type(k, x[i]) == KIR_I32 ? x[i] : kir_typed(k, KIR_CONVERT, 0, KIR_I32, x[i]);
        *sum = sum->i ? kir_op2(k, KIR_ADD, 0, *sum, out->q[i]) : out->q[i];
    }
    out->bias = kir_op2(k, KIR_ADD, 0, half[0], half[1]);
    out->scale = scale.i ? scale : number(v, 1);
    out->sum = kir_op2(k, KIR_MUL, 0, kir_typed(k, KIR_CONVERT, 0, KIR_F32, out->bias), out->scale);
    if (v->halves)
        out->bias = kir_op2(k, KIR_OR, 0, op(l, KIR_AND, op(l, KIR_MUL, half[0], -8), UINT16_MAX),
                            op(l, KIR_SHL, op(l, KIR_MUL, half[1], -8), 16));
}

/* The prologue for DOT4: rows as bytes, [iteration][row][word of a lane][digit, highest first][elements that one mask
   selects][lane]. */
static void prepare_bytes(struct matvec *v) {
    struct contraction *c = v->c;
    struct contract_kernel prologue;
    int64_t n = v->unit * v->words, lanes = whole_lanes(v), bits = 32 / v->unit, vectors = v->digits * n / 4;
    bool two = bits == 8 && v->digits == MATVEC_DIGITS;
    uint32_t temp = lower_new_temp(v->c->l, IR_I32_T, v->nrows * lanes * vectors);
    uint32_t scales = lower_new_temp(v->c->l, IR_F32_T, v->nrows * lanes), sums = 0, biases = 0;
    if (v->has_offset)
        sums = lower_new_temp(v->c->l, IR_F32_T, v->nrows * lanes);
    if (v->is_signed)
        biases = lower_new_temp(v->c->l, IR_I32_T, v->nrows * lanes * (two ? 2 : 1));
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    kir_val at[2], x[MATVEC_WORDS * 8], scale;
    lower_grid_nd(l, (int64_t[]){v->nrows, lanes / v->lanes}, 2, at);
    set_row(v, at[0]);
    kir_val in_vector = kir_loop(l->k, KIR_VECTOR, v->lanes, (uint32_t)v->lanes);
    kir_val lane = lower_add(l, lower_mul(l, at[1], v->lanes), in_vector);
    kir_val vector = lower_mul(l, lower_add(l, lower_mul(l, at[1], v->nrows), at[0]), v->lanes);
    kir_val place = lower_add(l, vector, in_vector);
    struct row_lane row = {.scale = {0}};
    lane_elements(v, lane_to_read(v, lane), x);
    if (v->digits < MATVEC_DIGITS) {
        (void)find_digits(v, x, n, &scale);
        scale_integers(v, x, n, scale, &row);
    } else {
        scale_numbers(v, x, n, &row);
    }
    store_digits(v, row.q, lower_temp(l, temp, KIR_OUT), lower_add(l, lower_mul(l, vector, vectors), in_vector));
    kir_store(l->k, lower_temp(l, scales, KIR_OUT), place, row.scale);
    if (v->has_offset)
        kir_store(l->k, lower_temp(l, sums, KIR_OUT), place, row.sum);
    if (v->is_signed && two) {
        row.high = op(l, KIR_SUB, row.high, 128 * n);
        row.bias = kir_op2(l->k, KIR_SUB, 0, row.bias, op(l, KIR_SHL, row.high, 16));
        kir_store(l->k, lower_temp(l, biases, KIR_OUT), place, op(l, KIR_MUL, row.high, -128));
        place = lower_add(l, place, kir_i64(l->k, v->nrows * lanes));
    }
    if (v->is_signed)
        kir_store(l->k, lower_temp(l, biases, KIR_OUT), place,
                  v->halves ? row.bias : op(l, KIR_MUL, row.bias, -((int64_t)1 << (bits - 1))));
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
static kir_val row_element(struct matvec *v, kir_val row, kir_val s, kir_val at) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    if (v->prepared) {
        int64_t size = v->unit > 1 ? whole_lanes(v) * v->unit : v->size;
        return kir_load(l->k, v->buffer, lower_add(l, at, lower_mul(l, row, size)));
    }
    set_row(v, row);
    c->sum[0].at = s;
    return contract_factor(c, !v->matrix);
}

/* ---- sums of products ------------------------------------------------------------------------- */

/* A position in lines: element `begin`, an iteration from there on, a lane; the first row. */
struct place {
    int64_t begin;
    kir_val iteration, lane, row;
};

static kir_val row_of_place(struct matvec *v, const struct place *p, int64_t i) {
    return lower_add(v->c->l, p->row, kir_i64(v->c->l->k, i));
}

static kir_val line_of_tile(struct matvec *v, kir_val first, int64_t i) {
    return lower_add(v->c->l, first, kir_i64(v->c->l->k, i * v->line_step));
}

/* Adds the products of one vector of each line of the tile and of each row. */
static void multiply(struct matvec *v, kir_val first, const struct place *p, int64_t step, kir_val sums, bool ahead) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    int64_t in_lane = v->unit > 1 ? step : step * v->lanes;
    kir_val from = lower_mul(l, p->iteration, v->steps * v->lanes), lanes = lower_mul(l, p->lane, v->unit), x[MATVEC_AT_ONCE];
    kir_val s = lower_add(l, from, lower_add(l, lanes, kir_i64(k, p->begin + in_lane)));
    kir_val at = lower_add(l, from, lower_add(l, p->lane, kir_i64(k, p->begin + step * v->lanes)));
    for (int64_t i = 0; i < v->at_once; i++)
        x[i] = row_element(v, row_of_place(v, p, i), s, at);
    c->sum[0].at = s;
    for (int64_t r = 0; r < v->tile; r++) {
        c->result[v->lines].at = line_of_tile(v, first, r);
        kir_val y = contract_factor(c, v->matrix), load = contract_load(k, y);
        if (ahead && v->prefetch)
            contract_prefetch(c, load, v->prefetch);
        for (int64_t i = 0; i < v->at_once; i++) {
            kir_val reg = kir_i64(k, r * v->at_once + i);
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
    kir_val dot[MOST * MATVEC_AT_ONCE], from = lower_mul(l, p->iteration, v->lanes);
    kir_val word = lower_add(l, from, p->lane), at = lower_add(l, lower_mul(l, from, v->unit), p->lane), total[MATVEC_AT_ONCE];
    int64_t bits = 32 / v->unit;
    for (int64_t i = 0; i < v->at_once; i++)
        total[i] = kir_load(k, v->sums, lower_add(l, word, lower_mul(l, row_of_place(v, p, i), whole_lanes(v))));
    for (int64_t r = 0; r < v->tile; r++) {
        c->result[v->lines].at = line_of_tile(v, first, r);
        (void)find_word(v, word, 0, &parts[r]);
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
            for (int64_t i = 0; i < v->at_once; i++) {
                kir_val from_row = lower_mul(l, row_of_place(v, p, i), whole_lanes(v) * v->unit);
                from_row = lower_add(l, from_row, kir_i64(k, step * v->lanes));
                kir_val *d = &dot[r * v->at_once + i], x = kir_load(k, v->buffer, lower_add(l, at, from_row));
                *d = step ? kir_fma(k, x, q, *d) : v->is_signed ? kir_fma(k, x, q, total[i]) : kir_op2(k, KIR_MUL, 0, x, q);
            }
        }
    for (int64_t r = 0; r < v->tile; r++) {
        kir_val z = parts[r].offset;
        if (z.i && v->is_signed) /* sums are times -2^(bits - 1) */
            z = kir_op2(k, KIR_MUL, 0, z, number(v, -ldexp(1, 1 - (int)bits)));
        for (int64_t i = 0; i < v->at_once; i++) {
            kir_val reg = kir_i64(k, r * v->at_once + i), sum = kir_get_reg(k, sums, reg), d = dot[r * v->at_once + i];
            sum = parts[r].scale.i ? kir_fma(k, d, parts[r].scale, sum) : kir_op2(k, KIR_ADD, 0, sum, d);
            kir_set_reg(k, sums, reg, z.i ? kir_fma(k, total[i], z, sum) : sum);
        }
    }
}

/* A lane of a line: the elements of each word, as bytes without a sign. */
struct line_bytes {
    struct parts parts; /* of the first word */
    kir_val bytes[MATVEC_WORDS * 2];
};

/* A lane of some lines and rows, and where the sums of its products are added, [line][row]. */
struct bytes {
    int64_t nlines, nrows; /* at most MATVEC_LINES_AT_ONCE, MATVEC_PART */
    struct line_bytes line[MATVEC_LINES_AT_ONCE];
    kir_val row[MATVEC_PART];
    kir_val reg; /* registers, or none: of `cells`, scratch memory */
    uint32_t cells;
    kir_val sum[MATVEC_LINES_AT_ONCE][MATVEC_PART]; /* register, element */
};

enum { MATVEC_SUMS = MATVEC_LINES_AT_ONCE * MATVEC_PART };

/* The place of a row's scale, sum and bias of a lane, and, times as many vectors, of its digits. */
static kir_val lane_place(struct matvec *v, const struct place *p, kir_val row, int64_t vectors) {
    struct lower *l = v->c->l;
    kir_val at = lower_add(l, lower_mul(l, p->iteration, v->nrows), row);
    return lower_add(l, lower_mul(l, at, v->lanes * vectors), p->lane);
}

/* Adds the products of the bytes of lines and a digit of the rows. */
static void dot_digit(struct matvec *v, const struct place *p, const struct bytes *b, int64_t word, int64_t digit,
                      kir_val *sums) {
    struct lower *l = v->c->l;
    int64_t masks = v->unit / 4, vectors = v->words * v->digits * masks;
    bool without_sign = v->digits == 2 && digit == 1;
    for (int64_t m = 0; m < masks; m++)
        for (int64_t i = 0; i < b->nrows; i++) {
            kir_val at = kir_i64(l->k, ((word * v->digits + digit) * masks + m) * v->lanes);
            kir_val x = kir_load(l->k, v->buffer, lower_add(l, lane_place(v, p, b->row[i], vectors), at));
            for (int64_t r = 0; r < b->nlines; r++) {
                kir_val *sum = &sums[r * b->nrows + i], y = b->line[r].bytes[word * masks + m];
                *sum = without_sign ? kir_dot4(l->k, KIR_U, x, y, *sum) : kir_dot4(l->k, KIR_U, y, x, *sum);
            }
        }
}

/* What is added to the sums of a lane's products because its elements are multiplied without a sign. */
static kir_val bias_of(struct matvec *v, const struct place *p, kir_val row, int64_t from) {
    struct lower *l = v->c->l;
    return v->is_signed ? kir_load(l->k, v->biases, lower_add(l, lane_place(v, p, row, 1), kir_i64(l->k, from)))
                        : kir_int(l->k, KIR_I32, 0);
}

/* The sums over a lane of products with the rows' digits from `first` to `last`. Few sums have a chain of additions for each
   digit, so that units need not wait for one another. */
static void dot_digits(struct matvec *v, const struct place *p, const struct bytes *b, int first, int last, kir_val *out) {
    struct lower *l = v->c->l;
    int64_t n = b->nlines * b->nrows, biases = first ? v->nrows * whole_lanes(v) : 0;
    bool apart = n < l->target->fma_in_flight;
    kir_val sums[MATVEC_DIGITS][MATVEC_SUMS];
    for (int d = first; d <= last; d++)
        for (int64_t i = 0; i < n; i++)
            sums[d][i] = first == last ? bias_of(v, p, b->row[i % b->nrows], biases) : kir_int(l->k, KIR_I32, 0);
    for (int64_t word = 0; word < v->words && apart; word++)
        for (int d = first; d <= last; d++)
            dot_digit(v, p, b, word, d, sums[d]);
    for (int d = first; d <= last; d++) {
        for (int64_t i = 0; i < n && d > first; i++) {
            kir_val higher = op(l, KIR_SHL, sums[d - 1][i], 8);
            sums[d][i] = apart ? kir_op2(l->k, KIR_ADD, 0, sums[d][i], higher) : higher;
        }
        for (int64_t word = 0; word < v->words && !apart; word++)
            dot_digit(v, p, b, word, d, sums[d]);
    }
    for (int64_t i = 0; i < n; i++) {
        kir_val sum = sums[last][i];
        if (first != last)
            sum = kir_op2(l->k, KIR_ADD, 0, sum, bias_of(v, p, b->row[i % b->nrows], biases));
        out[i] = kir_typed(l->k, KIR_CONVERT, 0, KIR_F32, sum);
    }
}

/* The same of one digit and half bytes: up to 8 sums of two products, each of at most 15 · 128 · 2, fit 16 bits. Bytes are 16
   times their upper half, whose sign it has, plus the lower one. */
static void dot_halves(struct matvec *v, const struct place *p, const struct bytes *b, kir_val *out) {
    enum { ONES = 0x00010001, SIXTEENS = 0x00100010 };
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    int64_t masks = v->unit / 4, vectors = v->words * masks, each = v->unit == 8 ? 1 : 2;
    kir_val sums[2][MATVEC_SUMS];
    for (int64_t i = 0; i < b->nlines * b->nrows; i++) {
        sums[0][i] = kir_int(k, KIR_I32, 0);
        sums[each - 1][i] = bias_of(v, p, b->row[i % b->nrows], 0);
    }
    for (int64_t word = 0; word < vectors; word++)
        for (int64_t i = 0; i < b->nrows; i++) {
            kir_val x = kir_load(k, v->buffer, lower_add(l, lane_place(v, p, b->row[i], vectors), kir_i64(k, word * v->lanes)));
            for (int64_t r = 0; r < b->nlines; r++)
                for (int64_t h = 0; h < each; h++) {
                    kir_val *sum = &sums[h][r * b->nrows + i];
                    *sum = kir_dot2_i8(k, b->line[r].bytes[word * each + h], x, *sum);
                }
        }
    for (int64_t i = 0; i < b->nlines * b->nrows; i++) {
        kir_val sum = kir_op2(k, KIR_DOT2, 0, sums[0][i], kir_int(k, KIR_I32, ONES));
        if (each == 2)
            sum = kir_op2(k, KIR_ADD, 0, sum, kir_op2(k, KIR_DOT2, 0, sums[1][i], kir_int(k, KIR_I32, SIXTEENS)));
        out[i] = kir_typed(k, KIR_CONVERT, 0, KIR_F32, sum);
    }
}

/* The same for all digits; of three, and 8 bits of the matrix, 32 bits do not hold it. */
static void dot_bytes(struct matvec *v, const struct place *p, const struct bytes *b, kir_val *out) {
    kir_val high[MATVEC_SUMS];
    if (v->halves) {
        dot_halves(v, p, b, out);
        return;
    }
    if (v->unit == 8 || v->digits < MATVEC_DIGITS) {
        dot_digits(v, p, b, 0, (int)v->digits - 1, out);
        return;
    }
    dot_digits(v, p, b, 0, 0, high);
    dot_digits(v, p, b, 1, MATVEC_DIGITS - 1, out);
    for (int64_t i = 0; i < b->nlines * b->nrows; i++)
        out[i] = kir_fma(v->c->l->k, high[i], kir_float(v->c->l->k, KIR_F32, 65536), out[i]);
}

/* The first lane of an iteration. */
static kir_val first_lane(struct matvec *v, const struct place *p, kir_val iteration) {
    return lower_add(v->c->l, lower_mul(v->c->l, iteration, v->lanes), p->lane);
}

/* Loads a lane of the line that is set, and takes its words apart. */
static void load_line(struct matvec *v, const struct place *p, struct line_bytes *out) {
    struct lower *l = v->c->l;
    int64_t bits = 32 / v->unit, masks = v->unit / 4;
    kir_val lane = first_lane(v, p, p->iteration);
    struct parts parts[MATVEC_WORDS];
    for (int64_t j = 0; j < v->words; j++) /* one after another, so that they are loaded together */
        (void)find_word(v, lane, j, &parts[j]);
    out->parts = parts[0];
    int64_t each = v->halves ? 2 : masks; /* of a word */
    for (int64_t i = 0; i < v->words * each; i++) {
        kir_val x = parts[i / each].word;
        x = v->is_signed ? op(l, KIR_XOR, x, bits == 8 ? -0x7F7F7F80 : -0x77777778) : x;
        out->bytes[i] = each == 1 ? x : op(l, KIR_AND, op(l, KIR_SHR, x, 4 * (i % 2)), 0x0F0F0F0F);
    }
}

/* Adds the products of lines and rows to their sums. */
static void multiply_lanes(struct matvec *v, const struct place *p, const struct bytes *b) {
    struct kir *k = v->c->l->k;
    kir_val d[MATVEC_SUMS];
    dot_bytes(v, p, b, d);
    for (int64_t i = 0; i < b->nrows; i++) {
        kir_val at = lane_place(v, p, b->row[i], 1), x = kir_load(k, v->scales, at), total = {0};
        if (v->has_offset)
            total = kir_load(k, v->sums, at);
        for (int64_t r = 0; r < b->nlines; r++) {
            const struct parts *parts = &b->line[r].parts;
            kir_val place = b->sum[r][i], sum = b->reg.i ? kir_get_reg(k, b->reg, place) : kir_load(k, b->cells, place);
            sum = kir_fma(k, d[r * b->nrows + i], parts->scale.i ? kir_op2(k, KIR_MUL, 0, x, parts->scale) : x, sum);
            sum = parts->offset.i ? kir_fma(k, total, parts->offset, sum) : sum;
            if (b->reg.i)
                kir_set_reg(k, b->reg, place, sum);
            else
                kir_store(k, b->cells, place, sum);
        }
    }
}

/* Prefetches the scale and the offset of a word. */
static void prefetch_scales(struct matvec *v, const struct parts *parts) {
    const kir_val scales[] = {parts->scale, parts->offset};
    for (int i = 0; i < 2; i++) {
        kir_val load = scales[i].i ? contract_load(v->c->l->k, scales[i]) : scales[i];
        if (load.i)
            contract_prefetch(v->c, load, 0);
    }
}

/* Prefetches what an iteration from `lane` on reads of the line that is set: words, scales and offsets. Lines of a file may
   begin anywhere in a cache line; `whole`: also the cache lines in which they end then, which no other prefetch takes. */
static void prefetch_iteration(struct matvec *v, kir_val lane, bool whole) {
    struct lower *l = v->c->l;
    int64_t line = l->target->line_bytes / 4;
    struct parts parts;
    (void)find_word(v, lane, 0, &parts);
    for (int64_t i = 0; i < v->lanes * v->words; i += line > v->lanes ? line : v->lanes)
        contract_prefetch(v->c, parts.word, i);
    prefetch_scales(v, &parts);
    if (!whole)
        return;
    (void)find_word(v, lower_add(l, lane, kir_i64(l->k, v->lanes - 1)), v->words - 1, &parts);
    contract_prefetch(v->c, parts.word, 0);
    prefetch_scales(v, &parts);
}

/* As multiply_words, by DOT4. */
static void multiply_bytes(struct matvec *v, kir_val first, const struct place *p, kir_val sums, bool ahead) {
    struct contraction *c = v->c;
    struct kir *k = c->l->k;
    struct bytes b = {.nrows = v->at_once, .reg = sums};
    kir_val far = lower_add(c->l, first_lane(v, p, p->iteration), kir_i64(k, v->prefetch / v->words));
    for (int64_t i = 0; i < v->at_once; i++)
        b.row[i] = row_of_place(v, p, i);
    for (int64_t from = 0; from < v->tile; from += b.nlines) {
        b.nlines = v->tile - from < v->lines_at_once ? v->tile - from : v->lines_at_once;
        for (int64_t r = 0; r < b.nlines; r++) {
            c->result[v->lines].at = line_of_tile(v, first, from + r);
            load_line(v, p, &b.line[r]);
            if (ahead && v->prefetch)
                prefetch_iteration(v, far, false);
            for (int64_t i = 0; i < v->at_once; i++)
                b.sum[r][i] = kir_i64(k, (from + r) * v->at_once + i);
        }
        multiply_lanes(v, p, &b);
    }
}

/* Adds `count` iterations of `steps` vectors of `lanes` from element `begin` of the lines to the registers `all`. */
static void sum_lines(struct matvec *v, kir_val all, kir_val first, kir_val row, int64_t begin, int64_t count, int64_t steps,
                      int64_t lanes) {
    struct lower *l = v->c->l;
    struct place p = {.lane = kir_loop(l->k, KIR_VECTOR, lanes, (uint32_t)v->lanes), .row = row};
    kir_val sums = kir_reg(l->k, contract_zero(v->c), v->tile * v->at_once);
    p.iteration = kir_loop(l->k, KIR_SERIAL, count, 0);
    if (v->unit > 1) /* words are at whole iterations */
        p.iteration = lower_add(l, p.iteration, kir_i64(l->k, begin / (v->lanes * v->steps)));
    else
        p.begin = begin;
    if (v->as_bytes)
        multiply_bytes(v, first, &p, sums, count > 1);
    else if (v->quantised)
        multiply_words(v, first, &p, sums, count > 1);
    for (int64_t i = 0; i < steps && !v->quantised; i++)
        multiply(v, first, &p, i, sums, i == 0 && count > 1);
    kir_close(l->k);
    for (int64_t i = 0; i < v->tile * v->at_once; i++)
        kir_acc(l->k, KIR_ADD, 0, all, kir_i64(l->k, i), kir_get_reg(l->k, sums, kir_i64(l->k, i)));
    kir_close(l->k);
}

/* The sums of a block of lines, [row][line]. */
struct line_block {
    kir_val first; /* line */
    int64_t size;  /* lines */
    uint32_t sums; /* scratch memory */
};

static kir_val sum_place(struct matvec *v, const struct line_block *b, kir_val row, kir_val line) {
    return lower_add(v->c->l, lower_mul(v->c->l, row, b->size), line);
}

/* The sums of the tiles whose first lines are line `place` of a block and those line_step later, of v->at_once rows. */
static void sum_tile(struct matvec *v, const struct line_block *b, kir_val place, kir_val row) {
    struct lower *l = v->c->l;
    int64_t iteration = v->lanes * v->steps, rest = v->size % iteration, n = v->tile * v->at_once;
    kir_val all = kir_reg(l->k, contract_zero(v->c), n), first = lower_add(l, b->first, place);
    if (v->size >= iteration)
        sum_lines(v, all, first, row, 0, v->size / iteration, v->steps, v->lanes);
    if (rest && v->unit > 1)
        sum_lines(v, all, first, row, v->size - rest, 1, v->steps, rest / v->steps);
    else if (rest)
        sum_lines(v, all, first, row, v->size - rest, 1, 1, rest);
    for (int64_t i = 0; i < n; i++) {
        kir_val line = lower_add(l, place, kir_i64(l->k, i / v->at_once * v->line_step));
        kir_val at = sum_place(v, b, lower_add(l, row, kir_i64(l->k, i % v->at_once)), line);
        kir_store(l->k, b->sums, at, kir_get_reg(l->k, all, kir_i64(l->k, i)));
    }
}

/* The sums of a block, rows after rows. */
static void sum_rows(struct matvec *v, const struct line_block *b) {
    struct lower *l = v->c->l;
    kir_val part = kir_loop(l->k, KIR_SERIAL, (v->nrows - 1) / v->at_once + 1, 0);
    kir_val row = contract_tile_begin(l, part, v->nrows, v->at_once);
    kir_val place = kir_loop(l->k, KIR_SERIAL, v->line_step, 0);
    sum_tile(v, b, place, row);
    lower_close(l, 2);
}

/* Prefetches what the block reads next from line `line`, which is set: the next of its `count` iterations, at last the first
   one of the line of the next block. The lines of a block are too many streams for hardware, whatever the target. */
static void prefetch_next(struct matvec *v, const struct line_block *b, const struct place *p, int64_t count, kir_val line) {
    struct lower *l = v->c->l;
    kir_val zero = kir_i64(l->k, 0), last = kir_cmp(l->k, KIR_EQ, 0, p->iteration, kir_i64(l->k, count - 1));
    kir_val next = kir_select(l->k, last, zero, lower_add(l, p->iteration, kir_i64(l->k, 1)));
    v->c->result[v->lines].at = lower_add(l, line, kir_select(l->k, last, kir_i64(l->k, b->size), zero));
    prefetch_iteration(v, first_lane(v, p, next), true);
}

/* Rows whose sums are in memory together. */
struct row_block {
    kir_val first;
    int64_t size;
};

/* Adds the products of the lines of `b`, which are those of the block from `line` on, and the rows of a block from `row` on. */
static void multiply_rows(struct matvec *v, const struct place *p, struct bytes *b, kir_val line, const struct row_block *rows,
                          kir_val row, int64_t nrows) {
    struct lower *l = v->c->l;
    b->nrows = nrows;
    for (int64_t i = 0; i < nrows; i++) {
        kir_val in_block = lower_add(l, row, kir_i64(l->k, i));
        b->row[i] = lower_add(l, rows->first, in_block);
        for (int64_t r = 0; r < b->nlines; r++) {
            kir_val at = lower_mul(l, lower_add(l, line, kir_i64(l->k, r)), rows->size);
            b->sum[r][i] = lower_add(l, lower_mul(l, lower_add(l, at, in_block), v->lanes), p->lane);
        }
    }
    multiply_lanes(v, p, b);
}

/* The sums of each of `lanes` lanes in `count` iterations from iteration `begin` on: scratch memory, [line][row][lane]. */
static uint32_t sum_lanes(struct matvec *v, const struct line_block *b, const struct row_block *rows, int64_t begin,
                          int64_t count, int64_t lanes) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    struct kir *k = l->k;
    int64_t size = b->size * rows->size * v->lanes;
    struct bytes now = {.nlines = v->tile, .cells = kir_scratch(k, contract_acc_dtype(c), size)};
    kir_store(k, now.cells, kir_loop(k, KIR_VECTOR, size, (uint32_t)v->lanes), contract_zero(c));
    kir_close(k);
    struct place p = {.iteration = lower_add(l, kir_loop(k, KIR_SERIAL, count, 0), kir_i64(k, begin))};
    kir_val first = lower_mul(l, kir_loop(k, KIR_SERIAL, b->size / v->tile, 0), v->tile);
    p.lane = kir_loop(k, KIR_VECTOR, lanes, (uint32_t)v->lanes);
    for (int64_t r = 0; r < v->tile; r++) {
        kir_val line = c->result[v->lines].at = lower_add(l, b->first, lower_add(l, first, kir_i64(k, r)));
        load_line(v, &p, &now.line[r]);
        if (lanes == v->lanes)
            prefetch_next(v, b, &p, count, line);
    }
    int64_t parts = rows->size / MATVEC_PART, rest = rows->size % MATVEC_PART;
    if (parts) {
        multiply_rows(v, &p, &now, first, rows, lower_mul(l, kir_loop(k, KIR_SERIAL, parts, 0), MATVEC_PART), MATVEC_PART);
        kir_close(k);
    }
    if (rest)
        multiply_rows(v, &p, &now, first, rows, kir_i64(k, rows->size - rest), rest);
    lower_close(l, 3);
    return now.cells;
}

/* The sums of a block, iteration after iteration: what it takes of some rows stays in the L1 cache. As in sum_tile, what is
   left of lines after whole iterations has a sum of its own. */
static void sum_iterations(struct matvec *v, const struct line_block *b) {
    struct lower *l = v->c->l;
    struct kir *k = l->k;
    int64_t whole = line_lanes(v) / v->lanes, lanes[] = {whole ? v->lanes : 0, line_lanes(v) % v->lanes};
    uint32_t cells[2] = {0};
    struct row_block rows = {.size = contract_tile_size(v->nrows, MATVEC_ROWS)};
    kir_val part = kir_loop(k, KIR_SERIAL, (v->nrows - 1) / rows.size + 1, 0);
    rows.first = contract_tile_begin(l, part, v->nrows, rows.size);
    if (lanes[0])
        cells[0] = sum_lanes(v, b, &rows, 0, whole, lanes[0]);
    if (lanes[1])
        cells[1] = sum_lanes(v, b, &rows, whole, 1, lanes[1]);
    kir_val line = kir_loop(k, KIR_SERIAL, b->size, 0), row = kir_loop(k, KIR_SERIAL, rows.size, 0);
    kir_val all = kir_reg(k, contract_zero(v->c), 1), none = {0};
    for (int i = 0; i < 2; i++)
        if (lanes[i]) {
            kir_val lane = kir_loop(k, KIR_VECTOR, lanes[i], (uint32_t)v->lanes);
            kir_val at = lower_mul(l, lower_add(l, lower_mul(l, line, rows.size), row), v->lanes);
            kir_acc(k, KIR_ADD, 0, all, none, kir_load(k, cells[i], lower_add(l, at, lane)));
            kir_close(k);
        }
    kir_store(k, b->sums, sum_place(v, b, lower_add(l, rows.first, row), line), kir_get_reg(k, all, none));
    lower_close(l, 3);
}

static void build(struct matvec *v) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    int64_t most = 2 * v->nlines / (v->tile * l->target->tasks); /* even for half as many threads */
    v->line_step = in_memory(v) ? MATVEC_LINES / v->tile : v->line_step;
    v->line_step = v->line_step > most ? most : v->line_step;
    v->line_step = v->line_step < 1 ? 1 : v->line_step;
    struct line_block b = {.size = v->line_step * v->tile};
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(l->k, 0);
    b.sums = kir_scratch(l->k, contract_acc_dtype(c), v->nrows * b.size);
    b.first = contract_tile_begin(l, lower_grid(l, (v->nlines + b.size - 1) / b.size), v->nlines, b.size);
    (in_memory(v) ? sum_iterations : sum_rows)(v, &b);
    kir_val row = kir_loop(l->k, KIR_SERIAL, v->nrows, 0);
    if (in_memory(v) && contract_epilogue_is_far(c)) {
        set_row(v, lower_add(l, row, kir_i64(l->k, MATVEC_ROWS_AHEAD)));
        c->result[v->lines].at = b.first;
        contract_prefetch_results(c);
    }
    kir_val lane = kir_loop(l->k, KIR_VECTOR, b.size, (uint32_t)contract_vector(c));
    set_row(v, row);
    c->result[v->lines].at = lower_add(l, b.first, lane);
    contract_finish(c, kir_load(l->k, b.sums, sum_place(v, &b, row, lane)));
    lower_close(l, 3);
}

bool contract_matvec(struct contraction *c) {
    struct matvec v = {.c = c};
    if (c->conv || c->nsum != 1 || !kir_is_float(c->acc) || c->l->kernel->strict || c->l->native)
        return false;
    bool bytes = c->acc == KIR_F32 && (c->l->target->dot_i8 || c->l->target->dot2_i8);
    for (uint32_t i = 0; i < 2; i++) { /* whatever the number of rows, weights are the matrix: the rhs */
        v.matrix = !i;
        if (is_eligible(&v) && ((bytes && inspect(&v, true)) || inspect(&v, false))) {
            if (v.as_bytes)
                prepare_bytes(&v);
            else if (v.prepared)
                prepare(&v);
            build(&v);
            c->l->word_bits = 0;
            return true;
        }
    }
    return false;
}
