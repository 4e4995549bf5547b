/* MAP: reductions of long columns, as of the rows of a large matrix to their sum. A task takes many columns that lie side by
 * side, whose results so far are in scratch memory, and goes down the rows, of which it reads long parts. Results in registers
 * would read a few cache lines of each row, every one of another page. Each column is reduced in the order of its elements. */
#include "lower/lower.h"

enum {
    COLUMNS_ROWS = TORTURED(TORTURE_TILE, 8), /* at once: a result so far is loaded and stored once for so many elements */
    COLUMNS_LEAST = TORTURED(8, 1024),        /* columns of a task: registers read fewer as fast, */
    COLUMNS_MOST = TORTURED(24, 4096),        /* and more do not stay in the L1 cache */
    COLUMNS_SEARCH = 64                       /* ops between an output and the reduction */
};

/* The only reduction that a value is computed from in this kernel; false where there are others, or ops that do not compute
   element by element. */
static bool find_reduction(const struct lower *l, ir_val v, ir_op *found, uint32_t *ops) {
    if (fuse_is_constant(l->m, v) || lower_is_stored(l, v))
        return true;
    if (*ops == 0)
        return false;
    --*ops;
    ir_op op = ir_val_get(l->m, v)->op;
    enum fuse_class class = fuse_class(ir_kind(l->m, op));
    if (class == FUSE_REDUCTION) {
        bool first = IR_NONE(*found);
        *found = first ? op : *found;
        return IR_SAME(op, *found);
    }
    for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands; i++)
        if ((class != FUSE_ELEMENT && class != FUSE_MOVE) || !find_reduction(l, ir_operand(l->m, op, i), found, ops))
            return false;
    return true;
}

/* Whether an op reduces the first dimensions of a large operand to the domain of the kernel, in numbers of 32 bits and more. */
static bool reduces_columns(const struct lower *l, ir_op op) {
    if (IR_NONE(op) || ir_kind(l->m, op) != IR_REDUCE || ir_op_get(l->m, op)->nresults != 1 ||
        lower_reducer(l->m, op) == KIR_NONE)
        return false;
    const struct ir_type_data *t = ir_val_type(l->m, ir_operand(l->m, op, 0)), *r = ir_val_type(l->m, ir_result(l->m, op, 0));
    size_t n, bytes;
    const int64_t *d = ir_prop_i64s(l->m, op, IR_REDUCE_dimensions, &n);
    for (size_t i = 0; i < n; i++)
        if (d[i] >= (int64_t)n)
            return false;
    return r->rank == l->kernel->rank && memcmp(r->dims, l->kernel->dims, r->rank * sizeof *r->dims) == 0 &&
           ir_dtype_get(r->dtype)->bits >= 32 && ir_type_bytes(t, &bytes) &&
           bytes >= TORTURED(1, 2 * l->target->l2_bytes);
}

/* Reduces `n` rows from `row` on: all columns of the task, whose results so far are in `buffer`. */
static void reduce_rows(struct lower *l, ir_op op, uint32_t buffer, kir_val begin, kir_val count, kir_val row, int64_t n) {
    const struct fuse_kernel *k = l->kernel;
    const struct ir_type_data *t = ir_val_type(l->m, ir_operand(l->m, op, 0));
    struct index at = {.n = t->rank};
    kir_val none = {0};
    kir_val column = kir_loop_to(l->k, KIR_VECTOR, count, lower_lanes(l, lower_bytes(l), 2));
    kir_val reg = kir_reg(l->k, kir_load(l->k, buffer, column), 1);
    lower_unflatten(l, lower_add(l, begin, column), k->dims, k->rank, at.at + (t->rank - k->rank));
    for (int64_t i = 0; i < n; i++) {
        lower_unflatten(l, lower_add(l, row, kir_i64(l->k, i)), t->dims, t->rank - k->rank, at.at);
        kir_acc(l->k, lower_reducer(l->m, op), lower_sign(t->dtype), reg, none,
                lower_value(l, ir_operand(l->m, op, 0), &at).re);
    }
    kir_store(l->k, buffer, column, kir_get_reg(l->k, reg, none));
    kir_close(l->k);
}

bool lower_columns(struct lower *l) {
    const struct fuse_kernel *k = l->kernel;
    ir_op op = {0};
    uint32_t ops = COLUMNS_SEARCH;
    for (uint32_t i = 0; i < k->outs.n; i++)
        if (!find_reduction(l, k->outs.v[i], &op, &ops))
            return false;
    if (l->native || !reduces_columns(l, op))
        return false;
    int64_t columns = lower_count(l, 0, k->rank), cores = l->target->cores ? (int64_t)l->target->cores : 1;
    int64_t lanes = lower_lanes(l, lower_bytes(l), 2), tasks = ((columns - 1) / COLUMNS_MOST / cores + 1) * cores;
    int64_t part = (columns - 1) / tasks / lanes * lanes + lanes; /* few long parts, as many for each core */
    if (part < COLUMNS_LEAST)
        return false;
    const struct ir_type_data *r = ir_val_type(l->m, ir_result(l->m, op, 0));
    int64_t rows = (int64_t)ir_val_count(l->m, ir_operand(l->m, op, 0)) / columns;
    struct index at = {.n = k->rank}, scalar = {0};
    uint32_t buffer = kir_scratch(l->k, r->dtype, part);
    kir_val begin = lower_mul(l, lower_grid(l, (columns - 1) / part + 1), part);
    kir_val count = lower_extent(l, begin, part, columns);
    kir_val column = kir_loop_to(l->k, KIR_VECTOR, count, (uint32_t)lanes);
    kir_store(l->k, buffer, column, lower_value(l, ir_operand(l->m, op, 1), &scalar).re);
    kir_close(l->k);
    int64_t whole = rows / COLUMNS_ROWS;
    if (whole) {
        kir_val group = kir_loop(l->k, KIR_SERIAL, whole, 0);
        reduce_rows(l, op, buffer, begin, count, lower_mul(l, group, COLUMNS_ROWS), COLUMNS_ROWS);
        kir_close(l->k);
    }
    if (rows % COLUMNS_ROWS)
        reduce_rows(l, op, buffer, begin, count, kir_i64(l->k, whole * COLUMNS_ROWS), rows % COLUMNS_ROWS);
    column = kir_loop_to(l->k, KIR_VECTOR, count, (uint32_t)lanes);
    lower_unflatten(l, lower_add(l, begin, column), k->dims, k->rank, at.at);
    struct elem e = {kir_load(l->k, buffer, column), {0}};
    lower_define(l, ir_result(l->m, op, 0), &at, lower_reduce_result(l, op, 0, e));
    lower_store_outputs(l, &at);
    lower_close(l, 2);
    return true;
}
