/* GEMV on GPUs, also of batches: few rows times a matrix, of which threads read 16 bytes at once. Its lines are contiguous
 * along the sum, or across it, along the result.
 *
 *   along   the threads of a block share some lines; each adds up every so many terms of them, and the block its threads' sums
 *   across  a warp reads a piece of a line; the eight warps of a block take lines in turn, and their sums meet in shared memory
 *
 * There are as many threads as keep enough loads in flight. Where that needs more blocks than the result gives, the sum is
 * split (split-K): a prologue stores the sums of the parts, which the kernel itself adds up in order. All of this follows from
 * the sizes of the matrix alone: the bits of a row do not depend on the number of rows for which it is used. */
#include "lower/contract.h"

enum {
    GEMV_ACCESS = 16,       /* bytes */
    GEMV_UNIT = 8,          /* elements of an access, at most */
    GEMV_LINES = 4,         /* lines that are read at once */
    GEMV_IN_FLIGHT = 2048,  /* accesses of a multiprocessor that hide the latency of memory: 32 KiB */
    GEMV_BLOCKS = 2,        /* blocks for each multiprocessor from which the sum is not split */
    GEMV_ADDED = 64,        /* threads of a block that add up parts */
    GEMV_PRODUCTS = 4096,   /* of a row and a matrix, at least */
    GEMV_OPS = 16           /* ops of an element of a row, with those of its index, at most */
};

struct gemv {
    struct contraction *c;
    uint32_t matrix, lines;        /* operand; axis of the result */
    struct contract_axes rows, batch;
    int64_t nlines, size;          /* size: of the sum */
    bool across;
    int64_t unit;                  /* elements that a thread reads at once */
    int64_t threads, warp;         /* of a block, of a warp */
    int64_t tile;                  /* lines of a block, or pieces of lines across in it */
    int64_t blocks, splits, steps; /* of the result, of the sum, of a part of it */
    bool guarded;                  /* threads reach beyond the matrix */
    uint32_t sums;                 /* temporary, or the parameter for it: [part][batch][row][line] */
};

/* ---- the choice ------------------------------------------------------------------------------- */

/* Bytes of an element of the matrix in memory; 0 where elements are not loads, or those of rows take more than a few ops, which
   each block would repeat. */
static int64_t matrix_bytes(const struct gemv *v) {
    struct contraction *c = v->c;
    struct contract_kernel probe;
    contract_probe_begin(c, &probe);
    const struct kir *k = c->l->k;
    kir_val load = contract_load(k, contract_factor(c, v->matrix));
    int64_t bytes = 0;
    if (load.i)
        bytes = ir_dtype_get(k->buffers.v[kir_get(k, load)->of].dtype)->bytes;
    uint32_t n = k->nodes.n;
    (void)contract_factor(c, !v->matrix);
    bytes = k->nodes.n - n > GEMV_OPS ? 0 : bytes;
    for (; n < k->nodes.n; n++)
        bytes = k->nodes.v[n].op == KIR_MATH || k->nodes.v[n].op == KIR_LOOP ? 0 : bytes;
    contract_probe_end(c, &probe);
    return bytes;
}

static bool is_eligible(struct gemv *v) {
    const struct contraction *c = v->c;
    v->lines = c->nresult;
    v->rows.n = v->batch.n = 0;
    v->rows.size = v->batch.size = 1;
    for (uint32_t i = 0; i < c->nresult; i++) {
        const struct axis *a = &c->result[i];
        if (a->size == 1)
            continue;
        if (a->stride[v->matrix] == 0 || a->stride[!v->matrix] != 0)
            contract_add_axis(c, a->stride[v->matrix] == 0 ? &v->rows : &v->batch, i);
        else if (v->lines < c->nresult)
            return false;
        else
            v->lines = i;
    }
    if (v->lines == c->nresult || contract_parts_of_word(c, v->matrix, false) > 1)
        return false;
    v->nlines = c->result[v->lines].size;
    v->size = c->sum[0].size;
    v->across = c->result[v->lines].stride[v->matrix] == 1;
    v->warp = c->l->target->warp_threads;
    bool invariant = c->l->kernel->batch_invariant;
    int64_t least = invariant ? 0 : TORTURED(TORTURE_PART, GEMV_PRODUCTS), lines = invariant ? 1 : 8;
    return (v->across || c->sum[0].stride[v->matrix] == 1) && v->rows.size <= fuse_few_rows(c->l->kernel) &&
           v->nlines >= lines && v->size >= v->warp && v->size >= least / v->nlines;
}

/* The parts of a sum of `steps`: a divisor of them, so that as many blocks as possible, but not more than `most`, have one. */
static int64_t parts_of(const struct gemv *v, int64_t steps) {
    int64_t most = (int64_t)v->c->l->target->cores * GEMV_BLOCKS / (v->batch.size * v->blocks);
    int64_t parts = most < steps ? most : steps;
    while (parts > 1 && steps % parts)
        parts--;
    return parts > 1 ? parts : 1;
}

static bool divide(struct gemv *v) {
    const struct target *t = v->c->l->target;
    int64_t bytes = matrix_bytes(v), length = v->across ? v->nlines : v->size; /* what is contiguous */
    if (bytes == 0)
        return false;
    v->unit = GEMV_ACCESS / bytes < GEMV_UNIT ? GEMV_ACCESS / bytes : GEMV_UNIT;
    while (v->unit > 1 && length % (v->unit * v->warp))
        v->unit /= 2;
    int64_t groups = t->block_threads / v->warp;
    if (v->across) {
        v->threads = t->block_threads;
        v->tile = v->warp * v->unit;
        v->blocks = (v->nlines - 1) / v->tile + 1;
        v->splits = parts_of(v, (v->size - 1) / groups + 1);
        v->steps = ((v->size - 1) / groups + 1) / v->splits;
        v->guarded = v->nlines % v->tile || v->size % groups;
        return true;
    }
    v->threads = v->warp;
    while (v->threads < t->block_threads && v->batch.size * v->nlines * v->threads < (int64_t)t->cores * GEMV_IN_FLIGHT &&
           v->size % (2 * v->threads * v->unit) == 0)
        v->threads *= 2;
    v->tile = GEMV_LINES;
    while (v->tile > 1 && (v->nlines % v->tile || v->batch.size * v->nlines / v->tile < GEMV_BLOCKS * t->cores))
        v->tile /= 2;
    v->blocks = v->nlines / v->tile;
    int64_t steps = (v->size - 1) / (v->threads * v->unit) + 1;
    v->splits = parts_of(v, steps);
    v->steps = steps / v->splits;
    v->guarded = v->size % (v->threads * v->unit) != 0;
    return true;
}

/* ---- elements --------------------------------------------------------------------------------- */

static void at_row(const struct gemv *v, kir_val row) {
    contract_set(v->c, &v->rows, row);
}

static kir_val below(struct lower *l, kir_val x, int64_t end) {
    return kir_cmp(l->k, KIR_LT, 0, x, kir_i64(l->k, end));
}

/* An element of an operand at the axes' indices, 0 where it does not exist. `guard`: whether it does; none = yes. */
static kir_val factor(const struct gemv *v, uint32_t side, kir_val guard) {
    struct lower *l = v->c->l;
    kir_val outer = l->guard;
    l->guard = guard;
    kir_val x = contract_factor(v->c, side);
    l->guard = outer;
    return guard.i ? kir_select(l->k, guard, x, contract_zero(v->c)) : x;
}

/* What a block computes: a part of the sum, a matrix of the batch, some of its lines. */
struct place {
    kir_val part, batch, block;
};

/* The part's sum of a row and a line, or what the sum is for. guard: around the store; none = there is none. */
static void finish(const struct gemv *v, const struct place *p, kir_val row, kir_val line, kir_val sum, kir_val guard) {
    struct lower *l = v->c->l;
    kir_val outer = l->guard;
    if (v->splits > 1) {
        kir_val at = lower_add(l, lower_mul(l, p->part, v->batch.size), p->batch);
        at = lower_add(l, lower_mul(l, at, v->rows.size), row);
        at = lower_add(l, lower_mul(l, at, v->nlines), line);
        if (guard.i)
            kir_store_if(l->k, v->sums, at, sum, guard);
        else
            kir_store(l->k, v->sums, at, sum);
        return;
    }
    at_row(v, row);
    v->c->result[v->lines].at = line;
    l->guard = guard;
    contract_finish(v->c, sum);
    l->guard = outer;
}

/* ---- contiguous along the sum ----------------------------------------------------------------- */

/* Adds the products of one access of each line and each row. */
static void multiply_along(const struct gemv *v, kir_val first, kir_val term, kir_val sums) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    kir_val e = kir_loop(l->k, KIR_UNROLLED, v->unit, 0), x[FUSE_INVARIANT_ROWS], guard = {0};
    c->sum[0].at = lower_add(l, term, e);
    if (v->guarded)
        guard = below(l, c->sum[0].at, v->size);
    for (int64_t i = 0; i < v->rows.size; i++) {
        at_row(v, kir_i64(l->k, i));
        x[i] = factor(v, !v->matrix, guard);
    }
    for (int64_t r = 0; r < v->tile; r++) {
        c->result[v->lines].at = lower_add(l, first, kir_i64(l->k, r));
        kir_val y = factor(v, v->matrix, guard);
        for (int64_t i = 0; i < v->rows.size; i++) {
            kir_val at = kir_i64(l->k, i * v->tile + r);
            kir_set_reg(l->k, sums, at, kir_fma(l->k, x[i], y, kir_get_reg(l->k, sums, at)));
        }
    }
    kir_close(l->k);
}

static void build_along(const struct gemv *v, const struct place *p) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    int64_t n = v->tile * v->rows.size;
    kir_val first = lower_mul(l, p->block, v->tile), all = kir_reg(l->k, contract_zero(c), n);
    uint32_t cells = kir_scratch(l->k, contract_acc_dtype(c), n); /* [row][line] */
    kir_val lane = kir_loop(l->k, KIR_VECTOR, v->threads, (uint32_t)v->threads);
    kir_val sums = kir_reg(l->k, contract_zero(c), n);
    kir_val step = lower_add(l, lower_mul(l, p->part, v->steps), kir_loop(l->k, KIR_SERIAL, v->steps, 0));
    multiply_along(v, first, lower_mul(l, lower_add(l, lower_mul(l, step, v->threads), lane), v->unit), sums);
    kir_close(l->k);
    for (int64_t i = 0; i < n; i++)
        kir_acc(l->k, KIR_ADD, 0, all, kir_i64(l->k, i), kir_get_reg(l->k, sums, kir_i64(l->k, i)));
    kir_close(l->k);
    for (int64_t i = 0; i < n; i++)
        kir_store(l->k, cells, kir_i64(l->k, i), kir_get_reg(l->k, all, kir_i64(l->k, i)));
    kir_val i = kir_loop(l->k, KIR_VECTOR, n, (uint32_t)v->warp), none = {0};
    kir_val line = lower_add(l, first, lower_rem(l, i, v->tile));
    finish(v, p, lower_div(l, i, v->tile), line, kir_load(l->k, cells, i), none);
    kir_close(l->k);
}

/* ---- contiguous along the result -------------------------------------------------------------- */

/* The sums of a warp's columns over its lines, [row][element of an access]. */
static kir_val sum_across(const struct gemv *v, kir_val part, kir_val column, kir_val group) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    int64_t groups = v->threads / v->warp;
    kir_val sums = kir_reg(l->k, contract_zero(c), v->rows.size * v->unit), x[FUSE_INVARIANT_ROWS], guard = {0};
    kir_val step = lower_add(l, lower_mul(l, part, v->steps), kir_loop(l->k, KIR_SERIAL, v->steps, 0));
    c->sum[0].at = lower_add(l, lower_mul(l, step, groups), group);
    if (v->guarded)
        guard = below(l, c->sum[0].at, v->size);
    for (int64_t i = 0; i < v->rows.size; i++) {
        at_row(v, kir_i64(l->k, i));
        x[i] = factor(v, !v->matrix, guard);
    }
    kir_val e = kir_loop(l->k, KIR_UNROLLED, v->unit, 0);
    c->result[v->lines].at = lower_add(l, column, e);
    if (v->guarded)
        guard = kir_op2(l->k, KIR_AND, 0, guard, below(l, c->result[v->lines].at, v->nlines));
    kir_val y = factor(v, v->matrix, guard);
    for (int64_t i = 0; i < v->rows.size; i++) {
        kir_val at = lower_add(l, kir_i64(l->k, i * v->unit), e);
        kir_set_reg(l->k, sums, at, kir_fma(l->k, x[i], y, kir_get_reg(l->k, sums, at)));
    }
    lower_close(l, 2);
    return sums;
}

/* Where a sum of a row is: accesses of 16 bytes of threads are side by side, first the first ones of all threads. The second
   ones are half of all banks further, so that those who read sums side by side do not meet in a bank. */
struct cells {
    uint32_t scratch;
    int64_t access, pitch; /* sums of an access; from the first ones to the second ones */
    int64_t row;           /* sums of a row */
};

static struct cells cells_of(const struct gemv *v) {
    enum { HALF = 64 }; /* bytes */
    int64_t bytes = kir_type_bits(v->c->acc) / 8, access = GEMV_ACCESS / bytes < v->unit ? GEMV_ACCESS / bytes : v->unit;
    struct cells s = {.access = access, .pitch = v->warp * access + HALF / bytes};
    s.row = v->unit / access * s.pitch;
    s.scratch = kir_scratch(v->c->l->k, contract_acc_dtype(v->c), v->threads / v->warp * v->rows.size * s.row);
    return s;
}

/* Of column `lane` of the tile. */
static kir_val cell_of(const struct gemv *v, const struct cells *s, kir_val lane) {
    struct lower *l = v->c->l;
    kir_val at = lower_mul(l, lower_div(l, lower_rem(l, lane, v->unit), s->access), s->pitch);
    at = lower_add(l, at, lower_mul(l, lower_div(l, lane, v->unit), s->access));
    return lower_add(l, at, lower_rem(l, lane, s->access));
}

static void build_across(const struct gemv *v, const struct place *p) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    int64_t groups = v->threads / v->warp;
    struct cells cells = cells_of(v); /* [warp][row][column] */
    kir_val first = lower_mul(l, p->block, v->tile), lane = kir_loop(l->k, KIR_VECTOR, v->threads, (uint32_t)v->threads);
    kir_val group = lower_div(l, lane, v->warp), thread = lower_rem(l, lane, v->warp), guard = {0};
    kir_val sums = sum_across(v, p->part, lower_add(l, first, lower_mul(l, thread, v->unit)), group);
    kir_val row = lower_mul(l, group, v->rows.size * cells.row);
    for (int64_t i = 0; i < v->rows.size * v->unit; i += cells.access) {
        kir_val e = kir_loop(l->k, KIR_UNROLLED, cells.access, 0);
        kir_val from = kir_i64(l->k, i / v->unit * cells.row + i % v->unit / cells.access * cells.pitch);
        kir_val to = lower_add(l, lower_add(l, lower_add(l, row, lower_mul(l, thread, cells.access)), from), e);
        kir_store(l->k, cells.scratch, to, kir_get_reg(l->k, sums, lower_add(l, kir_i64(l->k, i), e)));
        kir_close(l->k);
    }
    kir_val column = lower_add(l, first, lane), place = cell_of(v, &cells, lane);
    if (v->tile < v->threads)
        guard = below(l, lane, v->tile);
    if (v->nlines % v->tile) {
        kir_val inside = below(l, column, v->nlines);
        guard = guard.i ? kir_op2(l->k, KIR_AND, 0, guard, inside) : inside;
    }
    for (int64_t i = 0; i < v->rows.size; i++) {
        kir_val sum = contract_zero(c);
        for (int64_t g = 0; g < groups; g++) {
            kir_val at = lower_add(l, place, kir_i64(l->k, (g * v->rows.size + i) * cells.row));
            kir_val x = guard.i ? kir_load_if(l->k, cells.scratch, at, guard, contract_zero(c))
                                : kir_load(l->k, cells.scratch, at);
            sum = g ? kir_op2(l->k, KIR_ADD, 0, sum, x) : x;
        }
        finish(v, p, kir_i64(l->k, i), column, sum, guard);
    }
    kir_close(l->k);
}

/* ---- the kernels ------------------------------------------------------------------------------ */

/* The products: of a prologue, or of the kernel itself. */
static void build(struct gemv *v) {
    struct lower *l = v->c->l;
    uint32_t temp = v->sums;
    kir_val at[3];
    for (uint32_t i = 0; i < v->c->nresult; i++)
        v->c->result[i].at = kir_i64(l->k, 0);
    if (v->splits > 1)
        v->sums = lower_temp(l, temp, KIR_OUT);
    lower_grid_nd(l, (int64_t[]){v->splits, v->batch.size, v->blocks}, 3, at);
    contract_set(v->c, &v->batch, at[1]);
    (v->across ? build_across : build_along)(v, &(struct place){at[0], at[1], at[2]});
    kir_close(l->k);
    v->sums = temp;
}

/* The sums of all parts. */
static void add_parts(struct gemv *v) {
    struct contraction *c = v->c;
    struct lower *l = c->l;
    uint32_t sums = lower_temp(l, v->sums, KIR_IN);
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(l->k, 0);
    kir_val at[2];
    lower_grid_nd(l, (int64_t[]){v->batch.size, (v->nlines - 1) / GEMV_ADDED + 1}, 2, at);
    contract_set(c, &v->batch, at[0]);
    kir_val begin = lower_mul(l, at[1], GEMV_ADDED);
    kir_val line = lower_chunk_loop(l, begin, GEMV_ADDED, v->nlines, KIR_VECTOR, GEMV_ADDED);
    kir_val reg = kir_reg(l->k, contract_zero(c), v->rows.size);
    kir_val part = kir_loop(l->k, KIR_SERIAL, v->splits, 0), none = {0};
    for (int64_t i = 0; i < v->rows.size; i++) {
        kir_val row = lower_add(l, lower_mul(l, part, v->batch.size), at[0]);
        row = lower_add(l, lower_mul(l, row, v->rows.size), kir_i64(l->k, i));
        kir_acc(l->k, KIR_ADD, 0, reg, kir_i64(l->k, i),
                kir_load(l->k, sums, lower_add(l, lower_mul(l, row, v->nlines), line)));
    }
    kir_close(l->k);
    v->splits = 1;
    for (int64_t i = 0; i < v->rows.size; i++)
        finish(v, NULL, kir_i64(l->k, i), line, kir_get_reg(l->k, reg, kir_i64(l->k, i)), none);
    lower_close(l, 2);
}

bool contract_gemv(struct contraction *c) {
    const struct target *t = c->l->target;
    struct gemv v = {.c = c};
    if (!t->block_threads || c->conv || c->nsum != 1 || !kir_is_float(c->acc) || c->l->kernel->strict || c->l->native)
        return false;
    for (uint32_t i = 0; i < 2; i++) { /* whatever the number of rows, weights are the matrix: the rhs */
        struct contract_kernel prologue;
        v.matrix = !i;
        if (!is_eligible(&v) || !divide(&v))
            continue;
        if (v.splits == 1) {
            build(&v);
            return true;
        }
        v.sums = lower_new_temp(c->l, contract_acc_dtype(c), v.splits * v.batch.size * v.rows.size * v.nlines);
        contract_prologue_begin(c, &prologue);
        build(&v);
        contract_prologue_end(c, &prologue);
        add_parts(&v);
        return true;
    }
    return false;
}
