/* GEMV: few rows times a matrix that is contiguous along the result, line after line of the sum.
 *
 * A prologue splits the sum (split-K): a task takes a block of lines and a panel of columns, and adds a tile of lines at
 * once, each times its factor of each row, to partial sums that stay in the L1 cache. So memory is read line by line, and in
 * parallel even where the result has few columns. The kernel itself adds up the partial sums and the lines after the last
 * block, and has the epilogue. The blocks depend on sizes alone, so results do not depend on threads. With batch_invariant they
 * have a fixed length, so that they do not depend on how many zeros are at the end of the sum either. */
#include "lower/contract.h"

enum {
    VECMAT_ROWS = 4, /* most rows, whose sums and factors are in registers on any machine */
    VECMAT_LONG = 512, /* lines of a block from which there may be more tasks, */
    VECMAT_TASKS = 4, /* times those of the target */
    VECMAT_LINES = TORTURED(TORTURE_PART, 32), /* of a block, at least; */
    VECMAT_FIXED = 256, /* with batch_invariant, of which sizes of caches are multiples, */
    VECMAT_TILE = TORTURED(TORTURE_PART, 8) /* factors of rows in registers */
};

struct vecmat {
    struct contraction *c;
    uint32_t matrix, rows, columns; /* operand; axes of the result (rows: nresult = one row) */
    int64_t nrows, ncolumns, size;  /* size: of the sum, lines */
    int64_t panel, npanels;         /* columns at a time */
    int64_t tile, block, nblocks;   /* lines at once; lines of a block; blocks */
    uint32_t sums;                  /* temporary, partial sums: [block][row][column] */
};

static bool is_eligible(struct vecmat *v) {
    const struct contraction *c = v->c;
    if (!contract_gemv_axes(c, v->matrix, &v->rows, &v->columns) || c->result[v->columns].stride[v->matrix] != 1 ||
        c->sum[0].stride[v->matrix] == 0 || c->sum[0].stride[v->matrix] == 1)
        return false;
    v->nrows = v->rows < c->nresult ? c->result[v->rows].size : 1;
    v->ncolumns = c->result[v->columns].size;
    v->size = c->sum[0].size;
    bool invariant = c->l->kernel->batch_invariant;
    int64_t least = TORTURED(TORTURE_PART, c->l->target->parallel_ops / 4) / v->ncolumns;
    least = invariant ? VECMAT_FIXED : least > 2 * VECMAT_LINES ? least : 2 * VECMAT_LINES;
    return v->nrows <= VECMAT_ROWS && v->ncolumns >= 16 && v->size >= least;
}

static void divide(struct vecmat *v) {
    int64_t bytes = kir_type_bits(v->c->acc) / 8;
    int64_t most = (int64_t)v->c->l->target->l1_bytes / 3 / bytes / v->nrows; /* partial sums in the cache, of all rows */
    v->npanels = (v->ncolumns + most - 1) / most;
    v->panel = (v->ncolumns + v->npanels - 1) / v->npanels;
    if (v->c->l->kernel->batch_invariant) {
        for (v->tile = VECMAT_TILE / v->nrows; VECMAT_FIXED % v->tile;)
            v->tile--;
        v->block = VECMAT_FIXED;
        v->nblocks = v->size / v->block;
        return;
    }
    int64_t tasks = v->c->l->target->tasks, least = (tasks + v->npanels - 1) / v->npanels, many = v->size / VECMAT_LONG;
    v->nblocks = v->size / VECMAT_LINES < least ? v->size / VECMAT_LINES : least;
    if (many > v->nblocks)
        v->nblocks = many < VECMAT_TASKS * least ? many : VECMAT_TASKS * least;
    v->tile = VECMAT_TILE / v->nrows;
    v->block = v->size / v->nblocks / v->tile * v->tile;
}

static void at_row(struct vecmat *v, int64_t row) {
    if (v->rows < v->c->nresult)
        v->c->result[v->rows].at = kir_i64(v->c->l->k, row);
}

/* A VECTOR loop over the columns of a panel that begins at `begin`: the place in it. */
static kir_val columns_of(struct vecmat *v, kir_val begin) {
    struct lower *l = v->c->l;
    return kir_loop_to(l->k, KIR_VECTOR, lower_extent(l, begin, v->panel, v->ncolumns), (uint32_t)contract_vector(v->c));
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

/* The prologue. */
static void sum_blocks(struct vecmat *v) {
    struct contraction *c = v->c;
    struct contract_kernel prologue;
    kir_val at[2];
    const int64_t dims[] = {v->nblocks, v->npanels};
    contract_prologue_begin(c, &prologue);
    struct lower *l = c->l;
    struct kir *k = l->k;
    uint32_t scratch = kir_scratch(k, contract_acc_dtype(c), v->nrows * v->panel), out = lower_temp(l, v->sums, KIR_OUT);
    lower_grid_nd(l, dims, 2, at);
    kir_val begin = lower_mul(l, at[1], v->panel), zero = contract_zero(c);
    kir_store(k, scratch, kir_loop(k, KIR_VECTOR, v->nrows * v->panel, (uint32_t)contract_vector(c)), zero);
    kir_close(k);
    kir_val tile = lower_mul(l, kir_loop(k, KIR_SERIAL, v->block / v->tile, 0), v->tile);
    add_tile(v, lower_add(l, lower_mul(l, at[0], v->block), tile), begin, scratch);
    kir_close(k);
    kir_val i = columns_of(v, begin), to = lower_add(l, lower_mul(l, at[0], v->nrows * v->ncolumns), begin);
    for (int64_t r = 0; r < v->nrows; r++) {
        kir_val sum = kir_load(k, scratch, lower_add(l, i, kir_i64(k, r * v->panel)));
        kir_store(k, out, lower_add(l, to, lower_add(l, i, kir_i64(k, r * v->ncolumns))), sum);
    }
    lower_close(l, 2);
    contract_prologue_end(c, &prologue);
}

/* The sum of a column for each row from its partial sums and the remaining lines. */
static void sum_rest(struct vecmat *v, kir_val column, uint32_t sums, kir_val reg) {
    struct contraction *c = v->c;
    struct lower *l = v->c->l;
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
    struct lower *l = v->c->l;
    int64_t chunk = 8 * contract_vector(c);
    uint32_t sums = lower_temp(l, v->sums, KIR_IN);
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(l->k, 0);
    kir_val begin = lower_mul(l, lower_grid(l, (v->ncolumns + chunk - 1) / chunk), chunk);
    kir_val column = lower_chunk_loop(l, begin, chunk, v->ncolumns, KIR_VECTOR, (uint32_t)contract_vector(c));
    c->result[v->columns].at = column;
    kir_val reg = kir_reg(l->k, contract_zero(c), v->nrows);
    sum_rest(v, column, sums, reg);
    for (int64_t r = 0; r < v->nrows; r++) {
        at_row(v, r);
        contract_finish(c, kir_get_reg(l->k, reg, kir_i64(l->k, r)));
    }
    lower_close(l, 2);
}

bool contract_vecmat(struct contraction *c) {
    struct vecmat v = {.c = c};
    if (c->conv || c->nsum != 1 || !kir_is_float(c->acc) || c->l->kernel->strict || c->l->native)
        return false;
    for (v.matrix = 0; v.matrix < 2; v.matrix++)
        if (is_eligible(&v)) {
            divide(&v);
            v.sums = lower_new_temp(c->l, contract_acc_dtype(c), v.nblocks * v.nrows * v.ncolumns);
            sum_blocks(&v);
            build(&v);
            return true;
        }
    return false;
}
