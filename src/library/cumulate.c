/* reduce_window whose windows hold an element and all before it, or all after it: running sums, products, minima, maxima.
 *
 * Along an inner dimension, rows are combined one after the other. A line of neighbours is a chain of dependent steps; a long
 * one is cut into stretches: their totals first, then what goes before each, then several stretches at once, whose chains
 * overlap in the processor. Stretches depend on the shape alone. Sums and products of narrow floats are rounded at each step,
 * as in the evaluator, and so are short lines of all types. */
#include "library/combine.h"

enum {
    CUM_STRETCH = 1040 /* no power of two: chains are not to meet in the cache */,
    CUM_CHAINS = 8,
    CUM_LONG = 2 * CUM_CHAINS * CUM_STRETCH,
    CUM_LANES = 80,
    CUM_CHUNK = 1024
};

/* ---- loops for a line of neighbours --------------------------------------------------------------------------------- */

/* Steps of a line: the elements are step, 1 or -1, apart. */
struct cum_loops {
    enum ir_dtype dtype;
    enum ir_op_kind op;
    /* As many chains of n elements; each begins `stretch` elements after the previous one. acc: where each begins and ends. */
    void (*chains)(const void *in, void *out, ptrdiff_t step, size_t n, ptrdiff_t stretch, size_t chains, void *acc);
};

#define CUM(name, T, expr)                                                                                                     \
    static void name##_chains(const void *in, void *out, ptrdiff_t step, size_t n, ptrdiff_t stretch, size_t chains,           \
                              void *accs) {                                                                                    \
        T *acc = accs;                                                                                                         \
        if (chains == CUM_CHAINS) {                                                                                            \
            T a[CUM_CHAINS];                                                                                                   \
            memcpy(a, acc, sizeof a);                                                                                          \
            const T *p = in;                                                                                                   \
            T *q = out;                                                                                                        \
            for (size_t i = 0; i < n; i++, p += step, q += step)                                                               \
                for (ptrdiff_t c = 0; c < CUM_CHAINS; c++) {                                                                   \
                    const T x = a[c], y = p[c * stretch];                                                                      \
                    q[c * stretch] = a[c] = (expr);                                                                            \
                }                                                                                                              \
            memcpy(acc, a, sizeof a);                                                                                          \
            return;                                                                                                            \
        }                                                                                                                      \
        for (size_t c = 0; c < chains; c++) {                                                                                  \
            const T *p = (const T *)in + (ptrdiff_t)c * stretch;                                                               \
            T *q = (T *)out + (ptrdiff_t)c * stretch, a = acc[c];                                                              \
            for (size_t i = 0; i < n; i++, p += step, q += step) {                                                             \
                const T x = a, y = *p;                                                                                         \
                *q = a = (expr);                                                                                               \
            }                                                                                                                  \
            acc[c] = a;                                                                                                        \
        }                                                                                                                      \
    }

CUM(f32_add, float, x + y)
CUM(f32_mul, float, x *y)
CUM(f32_max, float, f32_max(x, y))
CUM(f32_min, float, f32_min(x, y))
CUM(f64_add, double, x + y)
CUM(f64_mul, double, x *y)
CUM(f64_max, double, f64_max(x, y))
CUM(f64_min, double, f64_min(x, y))
CUM(i8_add, uint8_t, (uint8_t)(x + y))
CUM(i16_add, uint16_t, (uint16_t)(x + y))
CUM(i32_add, uint32_t, x + y)
CUM(i32_mul, uint32_t, x *y)
CUM(i32_max, int32_t, x > y ? x : y)
CUM(i32_min, int32_t, x < y ? x : y)
CUM(i64_add, uint64_t, x + y)
CUM(i64_mul, uint64_t, x *y)
CUM(i64_max, int64_t, x > y ? x : y)
CUM(i64_min, int64_t, x < y ? x : y)
CUM(pred_and, uint8_t, x &y)
CUM(pred_or, uint8_t, x | y)

#define LOOPS(type, OP, name)                                                                                                  \
    { IR_##type##_T, IR_##OP, name##_chains }
static const struct cum_loops loops[] = {
    LOOPS(F32, ADD, f32_add),      LOOPS(F32, MULTIPLY, f32_mul), LOOPS(F32, MAXIMUM, f32_max),  LOOPS(F32, MINIMUM, f32_min),
    LOOPS(F64, ADD, f64_add),      LOOPS(F64, MULTIPLY, f64_mul), LOOPS(F64, MAXIMUM, f64_max),  LOOPS(F64, MINIMUM, f64_min),
    LOOPS(I8, ADD, i8_add),        LOOPS(UI8, ADD, i8_add),       LOOPS(I16, ADD, i16_add),      LOOPS(UI16, ADD, i16_add),
    LOOPS(I32, ADD, i32_add),      LOOPS(UI32, ADD, i32_add),     LOOPS(I32, MULTIPLY, i32_mul), LOOPS(UI32, MULTIPLY, i32_mul),
    LOOPS(I32, MAXIMUM, i32_max),  LOOPS(I32, MINIMUM, i32_min),  LOOPS(I64, ADD, i64_add),      LOOPS(UI64, ADD, i64_add),
    LOOPS(I64, MULTIPLY, i64_mul), LOOPS(I64, MAXIMUM, i64_max),  LOOPS(I64, MINIMUM, i64_min),  LOOPS(I1, AND, pred_and),
    LOOPS(I1, OR, pred_or),
};

static const struct cum_loops *loops_of(enum ir_dtype dtype, enum ir_op_kind op) {
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (loops[i].dtype == dtype && loops[i].op == op)
            return &loops[i];
    return NULL;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

struct cum {
    const struct lib_call *c;
    size_t outer, length, inner; /* of operands [outer][length][inner] */
    bool backwards;
    struct combine combine;
    const struct cum_loops *loops; /* or NULL */
    size_t stretches, tasks;
    /* of the line being worked on */
    const char *in;
    char *out;
    ptrdiff_t step;
};

static bool cum_is_long(const struct cum *s) {
    return s->inner == 1 && s->loops && s->length >= CUM_LONG;
}

/* Rows of `inner` elements, in parts: [outer][parts of inner]. */
static void cum_rows(void *user, int64_t task) {
    const struct cum *s = user;
    const struct combine *c = &s->combine;
    size_t chunks = (s->inner + CUM_CHUNK - 1) / CUM_CHUNK, at, end;
    lib_part(s->outer * chunks, s->tasks, (size_t)task, &at, &end);
    for (; at < end; at++) {
        size_t from, to, row = s->inner * c->bytes;
        lib_part(s->inner, chunks, at % chunks, &from, &to);
        size_t base = at / chunks * s->length * row + from * c->bytes, n = to - from;
        const char *in = (const char *)s->c->in[0] + base;
        char *out = (char *)s->c->out[0] + base;
        if (s->loops && s->inner == 1) {
            _Alignas(16) char acc[16];
            ptrdiff_t last = s->backwards ? (ptrdiff_t)((s->length - 1) * c->bytes) : 0;
            memcpy(acc, s->c->in[1], c->bytes);
            s->loops->chains(in + last, out + last, s->backwards ? -1 : 1, s->length, 0, 1, acc);
            continue;
        }
        for (size_t k = 0; k < s->length; k++) {
            size_t here = (s->backwards ? s->length - 1 - k : k) * row;
            _Alignas(16) char init[16 * 64];
            if (k) {
                const void *operands[2] = {s->backwards ? out + here + row : out + here - row, in + here};
                c->kernel.run(&c->kernel, operands, out + here, n);
                continue;
            }
            for (size_t i = 0; i < n; i += 64) { /* from the initial value */
                size_t some = n - i < 64 ? n - i : 64;
                combine_fill(init, s->c->in[1], c->bytes, some);
                combine_run(c, init, in + here + i * c->bytes, some);
                memcpy(out + here + i * c->bytes, init, some * c->bytes);
            }
        }
    }
}

static size_t cum_stretch(const struct cum *s, size_t i) {
    return i + 1 < s->stretches ? CUM_STRETCH : s->length - i * CUM_STRETCH;
}

/* Totals of CUM_CHAINS stretches: lanes of a stretch first, by rows, then those of the lanes. */
static void cum_totals(void *user, int64_t task) {
    const struct cum *s = user;
    const struct combine *c = &s->combine;
    size_t bytes = c->bytes, from = (size_t)task * CUM_CHAINS, to = from + CUM_CHAINS;
    for (size_t i = from; i < to && i < s->stretches; i++) {
        _Alignas(64) char lanes[8 * CUM_LANES];
        char *total = (char *)s->c->scratch + i * bytes;
        size_t n = cum_stretch(s, i), rows = n / CUM_LANES, begin = i * CUM_STRETCH;
        const void *row[CUM_STRETCH / CUM_LANES];
        const char *x = s->step > 0 ? s->in + begin * bytes : s->in - (begin + n - 1) * bytes;
        for (size_t r = 0; r < rows; r++)
            row[r] = x + r * CUM_LANES * bytes;
        combine_fill(lanes, s->c->in[1], bytes, CUM_LANES);
        combine_rows(c, lanes, row, rows, 1, CUM_LANES);
        combine_rows(c, lanes, (const void *[]){x + rows * CUM_LANES * bytes}, 1, 1, n - rows * CUM_LANES);
        for (size_t lane = 1; lane < CUM_LANES; lane++)
            combine_run(c, lanes, lanes + lane * bytes, 1);
        memcpy(total, lanes, bytes);
    }
}

static void cum_chains(void *user, int64_t task) {
    const struct cum *s = user;
    size_t bytes = s->combine.bytes, from = (size_t)task * CUM_CHAINS, n = s->stretches - from;
    n = n < CUM_CHAINS ? n : CUM_CHAINS;
    size_t even = cum_stretch(s, from + n - 1) == CUM_STRETCH ? n : n - 1; /* the last one of the line may be shorter */
    for (size_t part = 0; part < 2; part++) {
        size_t first = part ? from + even : from, chains = part ? n - even : even;
        ptrdiff_t at = (ptrdiff_t)(first * CUM_STRETCH * bytes) * s->step;
        if (chains)
            s->loops->chains(s->in + at, s->out + at, s->step, cum_stretch(s, first), CUM_STRETCH * s->step, chains,
                             (char *)s->c->scratch + first * bytes);
    }
}

/* Each total becomes what goes before its stretch. */
static void cum_before(const struct cum *s) {
    size_t bytes = s->combine.bytes;
    _Alignas(16) char before[16], total[16];
    memcpy(before, s->c->in[1], bytes);
    for (size_t i = 0; i < s->stretches; i++) {
        char *at = (char *)s->c->scratch + i * bytes;
        memcpy(total, at, bytes);
        memcpy(at, before, bytes);
        combine_run(&s->combine, before, total, 1);
    }
}

static bool cum_read(struct lib_reader *r, struct cum *s) {
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(r, IR_OP_COUNT - 1);
    enum ir_dtype dtype = (enum ir_dtype)lib_get_size(r, IR_DTYPE_COUNT - 1);
    s->outer = lib_get_size(r, PTRDIFF_MAX);
    s->length = lib_get_size(r, PTRDIFF_MAX);
    s->inner = lib_get_size(r, PTRDIFF_MAX);
    s->backwards = lib_get(r) != 0;
    s->loops = loops_of(dtype, op);
    s->stretches = (s->length + CUM_STRETCH - 1) / CUM_STRETCH;
    return !r->short_ && combine_of(op, dtype, &s->combine);
}

hilo_status lib_cumulate(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct cum s = {.c = c};
    if (!cum_read(&r, &s))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t all = lib_times(lib_times(lib_times(s.outer, s.inner), s.length), s.combine.bytes);
        return lib_checked(c->check, 2, 1, (const size_t[]){all, s.combine.bytes, all},
                           cum_is_long(&s) ? lib_times(s.stretches, s.combine.bytes) : 0);
    }
    if (s.outer == 0 || s.length == 0 || s.inner == 0)
        return HILO_OK;
    size_t parts = s.outer * ((s.inner + CUM_CHUNK - 1) / CUM_CHUNK), groups = (s.stretches + CUM_CHAINS - 1) / CUM_CHAINS;
    s.tasks = lib_tasks(parts, LIB_TASKS);
    if (!cum_is_long(&s)) {
        lib_each(c->pool, (int64_t)s.tasks, cum_rows, &s);
        return HILO_OK;
    }
    s.step = s.backwards ? -1 : 1;
    for (size_t line = 0; line < s.outer; line++) {
        size_t first = (line * s.length + (s.backwards ? s.length - 1 : 0)) * s.combine.bytes;
        s.in = (const char *)c->in[0] + first;
        s.out = (char *)c->out[0] + first;
        lib_each(c->pool, (int64_t)groups, cum_totals, &s);
        cum_before(&s);
        lib_each(c->pool, (int64_t)groups, cum_chains, &s);
    }
    return HILO_OK;
}

/* ---- matching ------------------------------------------------------------------------------------------------------- */

/* The dimension along which each window holds its element and all before (after) it; -1 for other windows. */
static int64_t cum_dimension(const struct ir_module *m, ir_op op, const struct ir_type_data *t, bool *backwards) {
    size_t nsize, nlow;
    const int64_t *size = ir_prop_i64s(m, op, IR_REDUCE_WINDOW_window_dimensions, &nsize);
    const int64_t *low = ir_prop_i64s(m, op, IR_REDUCE_WINDOW_padding, &nlow);
    static const enum ir_slot ones[] = {IR_REDUCE_WINDOW_window_strides, IR_REDUCE_WINDOW_base_dilations,
                                        IR_REDUCE_WINDOW_window_dilations};
    int64_t dim = -1;
    for (size_t s = 0; s < sizeof ones / sizeof *ones; s++)
        if (!ir_prop_i64s_are(m, op, ones[s], 1))
            return -1;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t before = low && 2 * i < nlow ? low[2 * i] : 0, after = low && 2 * i + 1 < nlow ? low[2 * i + 1] : 0;
        int64_t all = i < nsize ? size[i] - 1 : 0;
        if (all == 0 && before == 0 && after == 0)
            continue;
        if (dim >= 0 || all + 1 < t->dims[i] || !((before == all && after == 0) || (before == 0 && after == all)))
            return -1;
        *backwards = before == 0;
        dim = i;
    }
    return dim;
}

bool lib_match_cumulate(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_REDUCE_WINDOW || ir_op_get(m, op)->noperands != 2 || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *t = ir_val_type(m, ir_operand(m, op, 0));
    enum ir_op_kind body = combine_body(m, ir_op_region(m, op, 0), t->dtype);
    bool backwards = false;
    int64_t dim = cum_dimension(m, op, t, &backwards);
    struct cum s = {0};
    uint64_t init, twice;
    if (dim < 0 || !ir_op_has(body, IR_T_ASSOCIATIVE) || ir_val_type(m, ir_operand(m, op, 1))->dtype != t->dtype ||
        ir_val_type(m, ir_result(m, op, 0))->dtype != t->dtype || !combine_of(body, t->dtype, &s.combine) ||
        !lib_constant(m, ir_operand(m, op, 1), &init))
        return false;
    twice = init; /* padding inside windows must change nothing */
    combine_run(&s.combine, &twice, &init, 1);
    if (twice != init)
        return false;
    s.outer = lib_product(t->dims, 0, (uint32_t)dim);
    s.length = (size_t)t->dims[dim];
    s.inner = lib_product(t->dims, (uint32_t)dim + 1, t->rank);
    s.loops = loops_of(t->dtype, body);
    s.stretches = (s.length + CUM_STRETCH - 1) / CUM_STRETCH;
    out->scratch_bytes = cum_is_long(&s) ? s.stretches * s.combine.bytes : 0;
    out->in_place = true;
    out->ns = 1.5 * (double)s.outer * (double)s.length * (double)s.inner;
    return lib_put(out, body) && lib_put(out, t->dtype) && lib_put(out, (int64_t)s.outer) && lib_put(out, (int64_t)s.length) &&
           lib_put(out, (int64_t)s.inner) && lib_put(out, backwards);
}
