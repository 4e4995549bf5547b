/* Rows in blocks of columns: the state of a row and what a block does to it; see fuse/online.c.
 *
 * For each row of the task the state has the results of its reductions so far and the sums of the second contraction. The
 * running maximum m stands for what the program subtracts in exponentials (the reference); while it is -inf, 0 does. When it
 * grows, sums of exponentials are multiplied by e^(old - new). In the end they are multiplied by e^(m - reference), which is 1
 * where the reference is the maximum, and makes rows without any score what the program makes them. */
#include "lower/stages.h"

#include <math.h>

static const struct fuse_online *online(const struct lower *l) {
    return l->stages->kernel->online;
}

static enum kir_type type_of(const struct lower *l, ir_val v) {
    return kir_type_of(ir_val_type(l->m, v)->dtype);
}

/* The element type of running results of a type. */
static enum ir_dtype state_dtype(const struct lower *l, ir_val v) {
    enum kir_type t = type_of(l, v);
    return t == KIR_F32 ? IR_F32_T : t == KIR_F64 ? IR_F64_T : ir_val_type(l->m, v)->dtype;
}

static ir_val result_of(const struct lower *l, ir_op op) {
    return ir_result(l->m, op, 0);
}

static bool is_max(const struct lower *l, uint32_t i) {
    return IR_SAME(online(l)->reduces[i].op, online(l)->max);
}

static kir_val initial(struct lower *l, uint32_t i) {
    static const struct index scalar;
    return lower_value(l, ir_operand(l->m, online(l)->reduces[i].op, 1), &scalar).re;
}

static int64_t task_rows(const struct lower *l) {
    return l->stages->rows * l->stages->blocks;
}

void online_begin(struct lower *l) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = online(l);
    enum ir_dtype sum = contract_acc_dtype(&s->out.c);
    s->sums_pitch = s->out.panels * s->out.lanes;
    s->sums = kir_scratch(l->k, sum, task_rows(l) * s->sums_pitch);
    s->scaled = !IR_NONE(o->reference);
    for (uint32_t i = 0; i < o->nreduces; i++) {
        s->reduces[i] = kir_scratch(l->k, state_dtype(l, result_of(l, o->reduces[i].op)), task_rows(l));
        if (is_max(l, i)) {
            s->max = s->reduces[i];
            s->reference = kir_scratch(l->k, state_dtype(l, result_of(l, o->max)), s->rows);
            s->factor = kir_scratch(l->k, state_dtype(l, result_of(l, o->max)), s->rows);
        }
    }
    kir_val row = kir_loop(l->k, KIR_VECTOR, task_rows(l), (uint32_t)s->vector);
    for (uint32_t i = 0; i < o->nreduces; i++)
        kir_store(l->k, s->reduces[i], row, initial(l, i));
    kir_close(l->k);
    kir_val at = kir_loop(l->k, KIR_VECTOR, task_rows(l) * s->sums_pitch, (uint32_t)s->vector);
    kir_store(l->k, s->sums, at, contract_zero(&s->out.c));
    kir_close(l->k);
}

/* ---- a block -------------------------------------------------------------------------------------- */

/* Opens a loop over the columns of the block. */
static void open_columns(struct lower *l, kir_val count) {
    struct lower_stages *s = l->stages;
    uint32_t registers = s->columns >= 256 ? 4 : s->columns >= 64 ? 2 : 1;
    uint32_t lanes = l->target->block_threads ? (uint32_t)s->scores.lanes : lower_lanes(l, 4, registers);
    s->column = kir_loop_to(l->k, KIR_VECTOR, count, lanes);
}

/* Adds the elements of a reduction's operand to its register, which is none for others than those wanted. */
static void accumulate(struct lower *l, const kir_val *regs) {
    const struct fuse_online *o = online(l);
    kir_val none = {0};
    for (uint32_t i = 0; i < o->nreduces; i++) {
        ir_val v = ir_operand(l->m, o->reduces[i].op, 0);
        if (regs[i].i)
            kir_acc(l->k, lower_reducer(l->m, o->reduces[i].op), lower_sign(ir_val_type(l->m, v)->dtype), regs[i], none,
                    stage_element(l, v));
    }
}

static void store_reduces(struct lower *l, const kir_val *regs, kir_val row) {
    kir_val none = {0};
    for (uint32_t i = 0; i < online(l)->nreduces; i++)
        if (regs[i].i)
            kir_store(l->k, l->stages->reduces[i], row, kir_get_reg(l->k, regs[i], none));
}

/* What is subtracted in exponentials while the maximum is m. */
static kir_val reference_of(struct lower *l, kir_val m) {
    enum kir_type t = kir_type(l->k, m);
    return kir_select(l->k, kir_cmp(l->k, KIR_EQ, 0, m, kir_float(l->k, t, -INFINITY)), kir_float(l->k, t, 0), m);
}

/* Opens a loop over the rows of the block. */
static void open_rows(struct lower *l, enum kir_loop kind) {
    struct lower_stages *s = l->stages;
    s->row = kir_loop_to(l->k, kind, s->nrows, kind == KIR_VECTOR ? (uint32_t)s->vector : 0);
}

/* The reductions of values of single scores. The maximum so far is kept in `reference`. */
static void first_pass(struct lower *l) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = online(l);
    kir_val regs[FUSE_ONLINE_REDUCES] = {{0}};
    bool any = false;
    for (uint32_t i = 0; i < o->nreduces; i++)
        any |= IR_NONE(o->reduces[i].reference);
    if (!any)
        return;
    open_rows(l, KIR_SERIAL);
    kir_val row = stage_task_row(l, s->row);
    for (uint32_t i = 0; i < o->nreduces; i++)
        if (IR_NONE(o->reduces[i].reference)) {
            kir_val x = kir_load(l->k, s->reduces[i], row);
            regs[i] = kir_reg(l->k, x, 1);
            if (is_max(l, i))
                kir_store(l->k, s->reference, s->row, x);
        }
    open_columns(l, s->ncolumns);
    accumulate(l, regs);
    kir_close(l->k);
    store_reduces(l, regs, row);
    kir_close(l->k);
}

/* From the maxima before and now: what exponentials so far are multiplied by, and the references, in lanes. */
static void rescale(struct lower *l) {
    struct lower_stages *s = l->stages;
    kir_val none = {0};
    open_rows(l, KIR_VECTOR);
    kir_val before = kir_load(l->k, s->reference, s->row), m = kir_load(l->k, s->max, stage_task_row(l, s->row));
    enum kir_type t = kir_type(l->k, m);
    kir_val now = reference_of(l, m), first = kir_cmp(l->k, KIR_EQ, 0, before, kir_float(l->k, t, -INFINITY));
    kir_val factor = kir_math(l->k, KIR_MATH_EXP, kir_op2(l->k, KIR_SUB, 0, before, now), none);
    kir_store(l->k, s->factor, s->row, kir_select(l->k, first, kir_float(l->k, t, 0), factor));
    kir_store(l->k, s->reference, s->row, now);
    kir_close(l->k);
}

static void bind_references(struct lower *l) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = online(l);
    kir_val x = kir_load(l->k, s->reference, s->row);
    for (uint32_t i = 0; i <= o->nreduces; i++) {
        ir_val v = i < o->nreduces ? o->reduces[i].reference : o->reference;
        if (!IR_NONE(v))
            stage_bind(l, v, stage_converted(l, x, type_of(l, v)));
    }
}

/* The term of the weight. Scores are not above their maximum, so that the exponential is simpler than that of any number. */
static kir_val term(struct lower *l) {
    const struct fuse_online *o = online(l);
    kir_val none = {0};
    if (IR_NONE(o->reference))
        return stage_element(l, o->term);
    ir_op difference = ir_val_get(l->m, ir_operand(l->m, ir_val_get(l->m, o->term)->op, 0))->op;
    if (!IR_SAME(ir_operand(l->m, difference, 0), ir_operand(l->m, o->max, 0)))
        return stage_element(l, o->term);
    kir_val x = kir_math(l->k, KIR_MATH_EXP_TERM, stage_element(l, result_of(l, difference)), none);
    stage_bind(l, o->term, lower_round(l, ir_val_type(l->m, o->term)->dtype, (struct elem){x, none}).re);
    return stage_element(l, o->term);
}

/* The weight at the current row and column, but for what is the same for the whole row. */
static kir_val weight(struct lower *l) {
    const struct fuse_online *o = online(l);
    kir_val x = term(l);
    for (uint32_t i = o->nsteps; i-- > 0;) {
        const struct fuse_online_step *step = &o->steps[i];
        ir_val in = ir_operand(l->m, step->op, step->operand);
        if (step->row)
            continue;
        stage_bind(l, in, stage_converted(l, x, type_of(l, in)));
        x = stage_element(l, result_of(l, step->op));
        l->stages->bound.n--;
    }
    return stage_converted(l, x, type_of(l, l->stages->v[1]));
}

void online_rows(struct lower *l) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = online(l);
    kir_val regs[FUSE_ONLINE_REDUCES] = {{0}};
    uint32_t bound = s->bound.n;
    first_pass(l);
    if (!IR_NONE(o->max))
        rescale(l);
    open_rows(l, KIR_SERIAL);
    kir_val row = stage_task_row(l, s->row);
    if (!IR_NONE(o->max))
        bind_references(l);
    for (uint32_t i = 0; i < o->nreduces; i++)
        if (!IR_NONE(o->reduces[i].reference)) {
            kir_val sum = kir_load(l->k, s->reduces[i], row), factor = kir_load(l->k, s->factor, s->row);
            regs[i] = kir_reg(l->k, kir_op2(l->k, KIR_MUL, 0, sum, stage_converted(l, factor, kir_type(l->k, sum))), 1);
        }
    open_columns(l, s->ncolumns);
    kir_val x = weight(l), at = lower_add(l, lower_mul(l, s->row, s->pitch), s->column);
    accumulate(l, regs);
    kir_store(l->k, s->buffer[1], at, x);
    kir_close(l->k);
    store_reduces(l, regs, row);
    kir_close(l->k);
    s->bound.n = bound;
}

/* ---- the end -------------------------------------------------------------------------------------- */

/* A value of the current row. */
static kir_val of_row(struct lower *l, ir_val v) {
    struct index at;
    stage_index(l, v, stage_row(l, l->stages->row), kir_i64(l->k, 0), &at);
    return lower_value(l, v, &at).re;
}

/* What sums of exponentials are multiplied by in the end: they were computed with another reference. */
static kir_val correction(struct lower *l, ir_val reference, kir_val m) {
    kir_val x = of_row(l, reference), none = {0}, now = stage_converted(l, reference_of(l, m), kir_type(l->k, x));
    return kir_math(l->k, KIR_MATH_EXP, kir_op2(l->k, KIR_SUB, 0, now, x), none);
}

static void bind_reduces(struct lower *l, kir_val m) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = online(l);
    for (uint32_t pass = 0; pass < 2; pass++) /* those on whose results references depend come first */
        for (uint32_t i = 0; i < o->nreduces; i++) {
            ir_op op = o->reduces[i].op;
            if (IR_NONE(o->reduces[i].reference) != (pass == 0))
                continue;
            kir_val x = kir_load(l->k, s->reduces[i], s->row);
            if (pass == 1)
                x = kir_op2(l->k, KIR_MUL, 0, x,
                            stage_converted(l, correction(l, o->reduces[i].reference, m), kir_type(l->k, x)));
            stage_bind(l, result_of(l, op), lower_reduce_result(l, op, 0, (struct elem){x, {0}}).re);
        }
}

void online_finish(struct lower *l) {
    struct lower_stages *s = l->stages;
    const struct fuse_online *o = online(l);
    struct contraction *c = &s->out.c;
    uint32_t bound = s->bound.n;
    kir_val rows = kir_i64(l->k, task_rows(l)), m = {0}, factor = {0};
    if (s->ragged_rows)
        rows = kir_op2(l->k, KIR_MIN, 0, rows, kir_op2(l->k, KIR_SUB, 0, s->end_row, s->first_row));
    s->block = kir_i64(l->k, 0);
    s->row = kir_loop_to(l->k, KIR_SERIAL, rows, 0);
    if (!IR_NONE(o->max))
        m = kir_load(l->k, s->max, s->row);
    bind_reduces(l, m);
    if (s->scaled)
        factor = stage_converted(l, correction(l, o->reference, m), c->acc);
    contract_set(c, &s->out.batch, s->batch);
    contract_set(c, &s->out.rows, stage_row(l, s->row));
    kir_val column = kir_loop(l->k, KIR_VECTOR, s->out.cols.size, (uint32_t)s->out.lanes);
    contract_set(c, &s->out.cols, column);
    kir_val x = kir_load(l->k, s->sums, lower_add(l, lower_mul(l, s->row, s->sums_pitch), column));
    if (s->scaled)
        x = kir_op2(l->k, KIR_MUL, 0, x, factor);
    for (uint32_t i = o->nsteps; i-- > 0;)
        if (o->steps[i].row) {
            ir_val in = ir_operand(l->m, o->steps[i].op, o->steps[i].operand);
            stage_bind(l, in, stage_converted(l, x, type_of(l, in)));
            x = of_row(l, result_of(l, o->steps[i].op));
        }
    contract_finish(c, stage_converted(l, x, c->acc));
    lower_close(l, 2);
    s->bound.n = bound;
}
