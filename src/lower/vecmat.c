/* CONTRACT where few rows are multiplied by a matrix that is contiguous along the result, line after line of the sum.
 *
 * A kernel in front takes blocks of lines: a tile of lines at once, each times its number of each row, is added to sums of the
 * result's columns, which stay in the first caches. So memory is read line by line, and by threads side by side even where the
 * result has few columns. The kernel itself adds up the blocks' sums and the lines behind the last block, and goes on from
 * there. How lines are divided into blocks depends on sizes alone, so results do not depend on threads. */
#include "lower/contract.h"

enum {
    VECMAT_ROWS = 4, /* most rows */
    VECMAT_ELEMENTS = TORTURED(TORTURE_PART, 1 << 14), /* of the matrix, at least */
    VECMAT_COLUMNS = 4096, /* of sums in the cache, for all rows together */
    VECMAT_BLOCKS = 16, /* wanted, so that threads have work */
    VECMAT_LINES = TORTURED(TORTURE_PART, 32), /* of a block, at least */
    VECMAT_TILE = TORTURED(TORTURE_PART, 8) /* numbers of rows in registers */
};

struct vecmat {
    struct contraction *c;
    struct lower *l;
    uint32_t matrix, rows, columns; /* the side of the matrix; axes of the result, rows: nresult = one */
    int64_t nrows, ncolumns, size;  /* size: lines */
    int64_t panel, npanels;         /* columns at a time */
    int64_t tile, block, nblocks;   /* lines at once, lines of a block */
    uint32_t sums;                  /* temporary: [block][row][column] */
};

static bool is_eligible(struct vecmat *v) {
    const struct contraction *c = v->c;
    v->rows = v->columns = c->nresult;
    for (uint32_t i = 0; i < c->nresult; i++) {
        const struct axis *a = &c->result[i];
        bool still = a->stride[v->matrix] == 0;
        uint32_t *at = still ? &v->rows : &v->columns;
        if (a->size == 1)
            continue;
        if (*at < c->nresult || (!still && (a->stride[v->matrix] != 1 || a->stride[!v->matrix] != 0)))
            return false;
        *at = i;
    }
    if (v->columns == c->nresult || c->sum[0].stride[v->matrix] == 0 || c->sum[0].stride[v->matrix] == 1)
        return false;
    v->nrows = v->rows < c->nresult ? c->result[v->rows].size : 1;
    v->ncolumns = c->result[v->columns].size;
    v->size = c->sum[0].size;
    return v->nrows <= VECMAT_ROWS && v->ncolumns >= 16 && v->size >= 2 * VECMAT_LINES &&
           v->size >= VECMAT_ELEMENTS / v->ncolumns;
}

static void divide(struct vecmat *v) {
    int64_t most = VECMAT_COLUMNS / v->nrows;
    v->npanels = (v->ncolumns + most - 1) / most;
    v->panel = (v->ncolumns + v->npanels - 1) / v->npanels;
    v->nblocks = (VECMAT_BLOCKS + v->npanels - 1) / v->npanels;
    v->nblocks = v->size / VECMAT_LINES < v->nblocks ? v->size / VECMAT_LINES : v->nblocks;
    v->tile = VECMAT_TILE / v->nrows;
    v->block = v->size / v->nblocks / v->tile * v->tile;
}

static uint32_t vector_lanes(const struct vecmat *v) {
    return v->l->target->vector_bytes / (kir_type_bits(v->c->acc) / 8);
}

static enum ir_dtype sum_type(const struct vecmat *v) {
    return v->c->acc == KIR_F64 ? IR_F64_T : IR_F32_T;
}

static void at_row(struct vecmat *v, int64_t row) {
    if (v->rows < v->c->nresult)
        v->c->result[v->rows].at = kir_i64(v->c->l->k, row);
}

/* A VECTOR loop over the columns of a panel that begins at `begin`: the place in it. */
static kir_val columns_of(struct vecmat *v, kir_val begin) {
    struct lower *l = v->c->l;
    if (v->ncolumns % v->panel == 0)
        return kir_loop(l->k, KIR_VECTOR, v->panel, vector_lanes(v));
    kir_val rest = kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, v->ncolumns), begin);
    return kir_loop_to(l->k, KIR_VECTOR, kir_op2(l->k, KIR_MIN, 0, rest, kir_i64(l->k, v->panel)), vector_lanes(v));
}

/* A tile of lines from `first` on, added to the sums. */
static void add_tile(struct vecmat *v, kir_val first, kir_val begin, uint32_t scratch) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    kir_val i = columns_of(v, begin), sums[VECMAT_ROWS];
    c->result[v->columns].at = lower_add(l, begin, i);
    for (int64_t r = 0; r < v->nrows; r++)
        sums[r] = kir_load(l->k, scratch, lower_add(l, i, kir_i64(l->k, r * v->panel)));
    for (int64_t t = 0; t < v->tile; t++) {
        c->sum[0].at = lower_add(l, first, kir_i64(l->k, t));
        kir_val y = contract_factor(c, v->matrix);
        for (int64_t r = 0; r < v->nrows; r++) {
            at_row(v, r);
            sums[r] = kir_fma(l->k, contract_factor(c, !v->matrix), y, sums[r]);
        }
    }
    for (int64_t r = 0; r < v->nrows; r++)
        kir_store(l->k, scratch, lower_add(l, i, kir_i64(l->k, r * v->panel)), sums[r]);
    kir_close(l->k);
}

/* The kernel in front. */
static void sum_blocks(struct vecmat *v) {
    struct contraction *c = v->c;
    struct lower before;
    kir_val at[2];
    const int64_t dims[] = {v->nblocks, v->npanels};
    lower_begin_prologue(v->l, &before);
    struct kir *k = before.k;
    c->l = &before;
    uint32_t scratch = kir_scratch(k, sum_type(v), v->nrows * v->panel), out = lower_temp(&before, v->sums, KIR_OUT);
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(k, 0);
    lower_unflatten(&before, lower_grid(&before, v->nblocks * v->npanels), dims, 2, at);
    kir_val begin = lower_mul(&before, at[1], v->panel), zero = contract_zero(c);
    kir_store(k, scratch, kir_loop(k, KIR_VECTOR, v->nrows * v->panel, vector_lanes(v)), zero);
    kir_close(k);
    kir_val tile = lower_mul(&before, kir_loop(k, KIR_SERIAL, v->block / v->tile, 0), v->tile);
    add_tile(v, lower_add(&before, lower_mul(&before, at[0], v->block), tile), begin, scratch);
    kir_close(k);
    kir_val i = columns_of(v, begin), to = lower_add(&before, lower_mul(&before, at[0], v->nrows * v->ncolumns), begin);
    for (int64_t r = 0; r < v->nrows; r++) {
        kir_val sum = kir_load(k, scratch, lower_add(&before, i, kir_i64(k, r * v->panel)));
        kir_store(k, out, lower_add(&before, to, lower_add(&before, i, kir_i64(k, r * v->ncolumns))), sum);
    }
    kir_close(k);
    kir_close(k);
    c->l = v->l;
}

/* What the kernel itself has still to do for a column of each row. */
static void sum_rest(struct vecmat *v, kir_val column, uint32_t sums, kir_val reg) {
    struct contraction *c = v->c;
    struct lower *l = v->l;
    int64_t lines = v->nblocks * v->block;
    kir_val b = kir_loop(l->k, KIR_SERIAL, v->nblocks, 0);
    kir_val from = lower_add(l, lower_mul(l, b, v->nrows * v->ncolumns), column);
    for (int64_t r = 0; r < v->nrows; r++)
        kir_acc(l->k, KIR_ADD, 0, reg, kir_i64(l->k, r),
                kir_load(l->k, sums, lower_add(l, from, kir_i64(l->k, r * v->ncolumns))));
    kir_close(l->k);
    if (lines == v->size)
        return;
    c->sum[0].at = lower_add(l, kir_loop(l->k, KIR_SERIAL, v->size - lines, 0), kir_i64(l->k, lines));
    kir_val y = contract_factor(c, v->matrix);
    for (int64_t r = 0; r < v->nrows; r++) {
        at_row(v, r);
        kir_val i = kir_i64(l->k, r), x = contract_factor(c, !v->matrix);
        kir_set_reg(l->k, reg, i, kir_fma(l->k, x, y, kir_get_reg(l->k, reg, i)));
    }
    kir_close(l->k);
}

static void build(struct vecmat *v) {
    struct contraction *c = v->c;
    struct lower *l = v->l;
    int64_t chunk = 8 * (int64_t)vector_lanes(v);
    uint32_t sums = lower_temp(l, v->sums, KIR_IN);
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(l->k, 0);
    kir_val begin = lower_mul(l, lower_grid(l, (v->ncolumns + chunk - 1) / chunk), chunk);
    kir_val column = lower_chunk_loop(l, begin, chunk, v->ncolumns, KIR_VECTOR, vector_lanes(v));
    c->result[v->columns].at = column;
    kir_val reg = kir_reg(l->k, contract_zero(c), v->nrows);
    sum_rest(v, column, sums, reg);
    for (int64_t r = 0; r < v->nrows; r++) {
        at_row(v, r);
        contract_finish(c, kir_get_reg(l->k, reg, kir_i64(l->k, r)));
    }
    kir_close(l->k);
    kir_close(l->k);
}

bool lower_vecmat(struct contraction *c) {
    struct vecmat v = {.c = c, .l = c->l};
    if (c->conv || c->nsum != 1 || !kir_is_float(c->acc) || c->l->kernel->strict || c->l->native)
        return false;
    for (v.matrix = 0; v.matrix < 2; v.matrix++)
        if (is_eligible(&v)) {
            divide(&v);
            v.sums = lower_new_temp(c->l, sum_type(&v), v.nblocks * v.nrows * v.ncolumns);
            sum_blocks(&v);
            build(&v);
            return true;
        }
    return false;
}
