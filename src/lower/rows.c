/* ROWS: outer loops over rows; within a row, passes over its elements. A pass computes everything that depends only on earlier
 * passes: reductions, outputs, and expensive values that later passes use again, which are cached in scratch memory of one
 * row. Softmax takes three passes: the maximum; the exponentials, which are cached, and their sum; the quotients. */
#include "lower/threads.h"

enum {
    ROWS_REDUCTIONS = 64, /* reductions in a kernel */
    ROWS_EXPENSIVE = 8,   /* cost from which an element is cached for later passes */
    ROWS_CACHED = 8,      /* values that are cached, each of a row that fits a quarter of the L2 cache */
    ROWS_TOGETHER = 4,    /* rows that are reduced side by side: more streams keep more cache lines in flight */
    ROWS_STREAM = 8192    /* bytes of such a row: a prefetcher follows one stream in a page of 4096 bytes */
};

struct cached_value {
    ir_val v;
    uint32_t buffer, pass;
    struct index at;
};

struct lower_rows {
    struct opt_sparse level; /* by value: 1 + the first pass that can compute it */
    struct opt_sparse used;  /* by value: bit set of the passes that use it */
    struct cached_value cached[ROWS_CACHED];
    uint32_t ncached, pass;
    bool inside;                                    /* inside the loops of a pass */
    kir_val place;                                  /* linear index in the row */
    uint32_t together;                              /* rows that are computed side by side */
    kir_val rows[ROWS_TOGETHER][IR_MAX_RANK];       /* their indices */
    const kir_val *outer;                           /* of the current one */
    kir_val inner[IR_MAX_RANK];                     /* index in the row */
};

static bool is_inlined(const struct lower *l, ir_val v) {
    ir_op op = ir_val_get(l->m, v)->op;
    if (IR_NONE(op) || lower_is_stage(l, v) || fuse_is_constant(l->m, v) || !IR_SAME(ir_op_get(l->m, op)->parent, l->block))
        return false;
    uint32_t step = opt_ids_get(&l->fused->kernel_of, v.i);
    return !step || l->fused->steps.v[step - 1].kernel == l->kernel;
}

static bool is_row_reduce(const struct lower *l, ir_op op) {
    for (uint32_t i = 0; i < l->kernel->reduces.n; i++)
        if (IR_SAME(l->kernel->reduces.v[i], op))
            return true;
    return false;
}

/* The first pass that can compute a value's elements; a reduction's result is available one pass later. */
static uint32_t level_of(struct lower *l, ir_val v) {
    uint32_t known = opt_sparse_get(&l->rows->level, v.i), most = 0;
    if (known)
        return known - 1;
    if (is_inlined(l, v)) {
        ir_op op = ir_val_get(l->m, v)->op;
        for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands; i++) {
            uint32_t n = level_of(l, ir_operand(l->m, op, i));
            most = n > most ? n : most;
        }
        most += is_row_reduce(l, op);
    }
    opt_sparse_set(&l->rows->level, v.i, most + 1);
    return most;
}

static uint32_t pass_of(struct lower *l, ir_op reduce) {
    return level_of(l, ir_result(l->m, reduce, 0)) - 1;
}

/* Whether a value has an element for each element of a row, not one for each row. */
static bool is_full(const struct lower *l, ir_val v) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n == lower_count(l, 0, l->kernel->rank);
}

static int64_t row_count(const struct lower *l) {
    return lower_count(l, l->kernel->outer, l->kernel->rank);
}

/* ---- cached values ----------------------------------------------------------------------------- */

static void mark_uses(struct lower *l, ir_val v, uint32_t pass) {
    uint32_t used = opt_sparse_get(&l->rows->used, v.i);
    if (used & 1u << pass || !is_inlined(l, v))
        return;
    opt_sparse_set(&l->rows->used, v.i, used | 1u << pass);
    ir_op op = ir_val_get(l->m, v)->op;
    if (is_row_reduce(l, op))
        return;
    int cost = ir_op_info(ir_kind(l->m, op))->cost;
    size_t bytes = 0;
    (void)ir_type_bytes(ir_val_type(l->m, v), &bytes);
    if (used && !(used & (used - 1)) && cost >= ROWS_EXPENSIVE && is_full(l, v) && l->rows->ncached < ROWS_CACHED &&
        !lower_is_complex(ir_val_type(l->m, v)->dtype) && row_count(l) * 8 <= (int64_t)l->target->l2_bytes / 4)
        l->rows->cached[l->rows->ncached++] = (struct cached_value){.v = v, .pass = (uint32_t)__builtin_ctz(used)};
    for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands; i++)
        mark_uses(l, ir_operand(l->m, op, i), pass);
}

/* The index of a value of the domain at the current row and element. */
static void element_index(struct lower *l, ir_val v, struct index *out) {
    kir_val domain[IR_MAX_RANK];
    memcpy(domain, l->rows->outer, l->kernel->outer * sizeof *domain);
    memcpy(domain + l->kernel->outer, l->rows->inner, (l->kernel->rank - l->kernel->outer) * sizeof *domain);
    lower_project_index(l, ir_val_type(l->m, v), l->kernel->dims, domain, l->kernel->rank, out);
}

bool lower_rows_cached(struct lower *l, ir_val v, const struct index *at, struct elem *out) {
    const struct lower_rows *r = l->rows;
    for (uint32_t i = 0; r->inside && i < r->ncached; i++) {
        const struct cached_value *x = &r->cached[i];
        if (!IR_SAME(x->v, v) || x->pass >= r->pass || l->guard.i)
            continue;
        struct index here;
        element_index(l, v, &here);
        if (at->flat || at->n != here.n || (here.n && memcmp(at->at, here.at, here.n * sizeof *here.at) != 0))
            continue;
        *out = (struct elem){kir_load(l->k, x->buffer, r->place), {0}};
        return true;
    }
    return false;
}

/* ---- passes ----------------------------------------------------------------------------------- */

/* The reduction's result index: the row. */
static void row_index(struct lower *l, ir_val v, struct index *out) {
    lower_project_index(l, ir_val_type(l->m, v), l->kernel->dims, l->rows->outer, l->kernel->outer, out);
}

/* Elements that a thread of a GPU takes at once. */
static int64_t row_unit(const struct lower *l) {
    int64_t line = 1;
    for (uint32_t i = l->kernel->outer; i < l->kernel->rank; i++)
        line = l->kernel->dims[i] != 1 ? l->kernel->dims[i] : line;
    return threads_unit(l, line, INT64_MAX);
}

/* Opens loops over the elements of a row, the innermost with `width` lanes (0 = serial). Returns how many. */
static uint32_t open_row(struct lower *l, uint32_t width) {
    struct lower_rows *r = l->rows;
    uint32_t n = l->kernel->rank - l->kernel->outer, last = 0;
    const int64_t *dims = l->kernel->dims + l->kernel->outer;
    for (uint32_t i = 0; i < n; i++)
        last = dims[i] != 1 ? i : last;
    r->inside = true;
    if (l->target->block_threads && width && !l->native) { /* all elements of the row side by side */
        int64_t count = row_count(l), unit = row_unit(l);
        kir_val step = kir_loop(l->k, KIR_VECTOR, count / unit, width);
        threads_place(l, dims, n, step, unit, r->inner);
        struct index at = {.n = n};
        memcpy(at.at, r->inner, n * sizeof *at.at);
        r->place = lower_linear(l, dims, n, &at);
        return 2;
    }
    for (uint32_t i = 0; i < n; i++)
        r->inner[i] = kir_loop(l->k, width && i == last ? KIR_VECTOR : KIR_SERIAL, dims[i], width);
    struct index at = {.n = n};
    memcpy(at.at, r->inner, n * sizeof *at.at);
    r->place = lower_linear(l, dims, n, &at);
    return n;
}

static void close_row(struct lower *l, uint32_t n) {
    lower_close(l, n);
    l->rows->inside = false;
}

struct row_reduce {
    ir_op op;
    enum kir_op acc;
    kir_val reg[ROWS_TOGETHER];
};

static void store_cached(struct lower *l) {
    for (uint32_t i = 0; i < l->rows->ncached; i++) {
        struct cached_value *x = &l->rows->cached[i];
        if (x->pass != l->rows->pass)
            continue;
        struct index at;
        element_index(l, x->v, &at);
        kir_store(l->k, x->buffer, l->rows->place, lower_value(l, x->v, &at).re);
    }
}

/* Everything of the current pass that one loop over the row can compute. */
static void shared_pass(struct lower *l, struct row_reduce *reduces, uint32_t n, uint32_t width) {
    struct lower_rows *r = l->rows;
    struct index at;
    bool any = false;
    kir_val none = {0};
    for (uint32_t i = 0; i < n; i++)
        any |= reduces[i].acc && pass_of(l, reduces[i].op) == r->pass;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++)
        any |= is_full(l, l->kernel->outs.v[i]) && level_of(l, l->kernel->outs.v[i]) == r->pass;
    for (uint32_t i = 0; i < r->ncached; i++)
        any |= r->cached[i].pass == r->pass;
    if (!any)
        return;
    uint32_t opened = open_row(l, width);
    store_cached(l);
    for (uint32_t row = 0; row < r->together; row++) {
        r->outer = r->rows[row];
        for (uint32_t i = 0; i < n; i++)
            if (reduces[i].acc && pass_of(l, reduces[i].op) == r->pass) {
                element_index(l, ir_operand(l->m, reduces[i].op, 0), &at);
                enum ir_dtype t = ir_val_type(l->m, ir_operand(l->m, reduces[i].op, 0))->dtype;
                kir_acc(l->k, reduces[i].acc, lower_sign(t), reduces[i].reg[row], none,
                        lower_value(l, ir_operand(l->m, reduces[i].op, 0), &at).re);
            }
    }
    for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
        ir_val v = l->kernel->outs.v[i];
        if (!is_full(l, v) || level_of(l, v) != r->pass)
            continue;
        element_index(l, v, &at);
        lower_store(l, v, &at, lower_value(l, v, &at));
    }
    close_row(l, opened);
}

/* A reduction's result in the current row, `row` of those side by side, after its pass. */
static void define_reduce(struct lower *l, const struct row_reduce *reduce, uint32_t row) {
    struct index at;
    kir_val none = {0};
    row_index(l, ir_result(l->m, reduce->op, 0), &at);
    if (!reduce->acc) {
        lower_reduce_inline(l, reduce->op, &at);
        return;
    }
    struct elem e = {kir_get_reg(l->k, reduce->reg[row], none), none};
    lower_define(l, ir_result(l->m, reduce->op, 0), &at, lower_reduce_result(l, reduce->op, 0, e));
}

static void one_pass(struct lower *l, struct row_reduce *reduces, uint32_t n, uint32_t width) {
    static const struct index scalar_index;
    struct lower_rows *r = l->rows;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t row = 0; row < r->together; row++)
            if (reduces[i].acc && pass_of(l, reduces[i].op) == r->pass)
                reduces[i].reg[row] = kir_reg(l->k, lower_value(l, ir_operand(l->m, reduces[i].op, 1), &scalar_index).re, 1);
    shared_pass(l, reduces, n, width);
    for (uint32_t row = 0; row < r->together; row++) {
        r->outer = r->rows[row];
        for (uint32_t i = 0; i < n; i++)
            if (pass_of(l, reduces[i].op) == r->pass)
                define_reduce(l, &reduces[i], row);
    }
}

/* Lanes of a pass. Those of a sum, whose order they decide, do not depend on how many rows there are; a minimum or maximum has
   more than one accumulator, and so fewer lanes where several rows are reduced. */
static uint32_t row_lanes(const struct lower *l, const struct row_reduce *first) {
    int64_t n = row_count(l);
    if (l->target->block_threads)
        return threads_lanes(l, n / row_unit(l));
    bool fewer = l->rows->together > 1 && (first->acc == KIR_MIN || first->acc == KIR_MAX);
    return lower_lanes(l, 4, n >= 256 ? (fewer ? 2 : 4) : n >= 64 ? 2 : 1);
}

/* What depends on the row alone, after the passes. */
static void store_rows(struct lower *l) {
    struct index at;
    for (uint32_t row = 0; row < l->rows->together; row++) {
        l->rows->outer = l->rows->rows[row];
        for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
            ir_val v = l->kernel->outs.v[i];
            if (is_full(l, v))
                continue;
            row_index(l, v, &at);
            lower_store(l, v, &at, lower_value(l, v, &at));
        }
    }
}

static void rows_at(struct lower *l, struct lower_rows *rows) {
    struct row_reduce reduces[ROWS_REDUCTIONS];
    uint32_t n = l->kernel->reduces.n < ROWS_REDUCTIONS ? l->kernel->reduces.n : ROWS_REDUCTIONS, passes = 0;
    l->rows = rows;
    rows->outer = rows->rows[0];
    for (uint32_t i = 0; i < n; i++) { /* in program order */
        ir_op op = l->kernel->reduces.v[l->kernel->reduces.n - 1 - i];
        reduces[i] = (struct row_reduce){.op = op, .acc = lower_reducer(l->m, op)};
        uint32_t p = pass_of(l, op) + 1;
        passes = p > passes ? p : passes;
        for (uint32_t k = 0; k < ir_op_get(l->m, op)->noperands / 2; k++)
            mark_uses(l, ir_operand(l->m, op, k), pass_of(l, op));
    }
    for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
        uint32_t p = level_of(l, l->kernel->outs.v[i]);
        passes = p + 1 > passes ? p + 1 : passes;
        mark_uses(l, l->kernel->outs.v[i], p);
    }
    for (uint32_t i = 0; i < rows->ncached; i++)
        rows->cached[i].buffer = kir_scratch(l->k, ir_val_type(l->m, rows->cached[i].v)->dtype, row_count(l));
    uint32_t width = row_lanes(l, reduces);
    for (rows->pass = 0; rows->pass < passes; rows->pass++)
        one_pass(l, reduces, n, width);
    store_rows(l);
    l->rows = NULL;
}

void lower_rows_at(struct lower *l, const kir_val *outer) {
    struct lower_rows rows = {.level = {.a = l->a}, .used = {.a = l->a}, .together = 1};
    if (l->kernel->outer)
        memcpy(rows.rows[0], outer, l->kernel->outer * sizeof *outer);
    rows_at(l, &rows);
}

/* Rows that an iteration reduces side by side: long ones, of which nothing else is computed, where enough iterations remain.
   The order of a sum does not depend on it. */
static uint32_t rows_together(const struct lower *l, int64_t count) {
    if (l->target->block_threads || l->native || count / ROWS_TOGETHER < l->target->tasks)
        return 1;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++)
        if (is_full(l, l->kernel->outs.v[i]))
            return 1;
    if (l->kernel->reduces.n != 1 || !lower_reducer(l->m, l->kernel->reduces.v[0]))
        return 1;
    ir_val operand = ir_operand(l->m, l->kernel->reduces.v[0], 0);
    int64_t bytes = ir_dtype_get(ir_val_type(l->m, operand)->dtype)->bytes;
    return !is_inlined(l, operand) && row_count(l) >= ROWS_STREAM / bytes ? ROWS_TOGETHER : 1;
}

void lower_rows(struct lower *l) {
    struct lower_rows rows = {.level = {.a = l->a}, .used = {.a = l->a}};
    int64_t count = lower_count(l, 0, l->kernel->outer);
    for (uint32_t i = 0; i < l->kernel->outer; i++)
        rows.rows[0][i] = kir_i64(l->k, 0);
    rows.together = rows_together(l, count);
    if (rows.together > 1) {
        kir_val group = lower_grid(l, (count + rows.together - 1) / rows.together), last = kir_i64(l->k, count - 1);
        for (uint32_t i = 0; i < rows.together; i++) { /* the last row again in place of those after it */
            kir_val row = lower_add(l, lower_mul(l, group, rows.together), kir_i64(l->k, i));
            row = count % rows.together ? kir_op2(l->k, KIR_MIN, 0, row, last) : row;
            lower_unflatten(l, row, l->kernel->dims, l->kernel->outer, rows.rows[i]);
        }
    } else if (count > 1) {
        lower_grid_nd(l, l->kernel->dims, l->kernel->outer, rows.rows[0]);
    }
    rows_at(l, &rows);
    if (count > 1)
        kir_close(l->k);
}
