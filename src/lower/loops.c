/* MAP: a loop nest over the domain; its body computes and stores every output. */
#include "lower/threads.h"

enum {
    LOOPS_LINE_BLOCK = TORTURED(TORTURE_PART, 1024), /* elements of a task where the domain has several lines */
    LOOPS_EVEN = 2,    /* tasks of even work, */
    LOOPS_UNEVEN = 16, /* and of uneven work: times those of the target */
    LOOPS_TILE = TORTURED(TORTURE_TILE, 32),     /* rows of a tile that is transposed, */
    LOOPS_FAR_TILE = TORTURED(TORTURE_TILE, 64), /* where caches do not hold what is read and written, */
    LOOPS_PART = TORTURED(1, 16),                /* vectors of each, */
    LOOPS_SQUARE = 64,                           /* and ops that a square of it may take */
    LOOPS_TRANSPOSES = 4,
    LOOPS_SEARCH = 64 /* ops between an output and a transpose */
};

/* Elements below which one thread computes all, and elements of a task where the domain is one line. */
static int64_t task_elements(const struct lower *l) {
    return TORTURED(TORTURE_PART, l->target->parallel_ops / 4);
}

static uint32_t lanes(const struct lower *l) {
    uint32_t code = l->kernel->nops + l->kernel->code_size_cost;
    return lower_lanes(l, lower_bytes(l), code <= 8 ? 4 : code <= 32 ? 2 : 1);
}

/* Whether a value of n elements can be computed from linear indices alone. */
static bool is_flat(struct lower *l, ir_val v, size_t n, struct opt_sparse *seen) {
    ir_op op = ir_val_get(l->m, v)->op;
    if (ir_val_count(l->m, v) == 1 && n != 1)
        return true;
    if (ir_val_count(l->m, v) != n)
        return false;
    if (IR_NONE(op) || fuse_is_constant(l->m, v) || !IR_SAME(ir_op_get(l->m, op)->parent, l->block) ||
        opt_sparse_get(seen, v.i))
        return true;
    uint32_t step = opt_ids_get(&l->fused->kernel_of, v.i);
    if (step && l->fused->steps.v[step - 1].kernel != l->kernel)
        return true;
    opt_sparse_set(seen, v.i, 1);
    enum fuse_class cls = fuse_class(ir_kind(l->m, op));
    if (ir_kind(l->m, op) == IR_BROADCAST_IN_DIM && ir_val_count(l->m, ir_operand(l->m, op, 0)) == 1)
        return true;
    if (cls != FUSE_ELEMENT && !fuse_is_alias(l->m, op))
        return false;
    for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands; i++)
        if (!is_flat(l, ir_operand(l->m, op, i), n, seen))
            return false;
    return true;
}

static void flat_loops(struct lower *l, int64_t n) {
    struct index at = {.flat = true, .n = 1};
    int64_t size = task_elements(l);
    if (n <= size) {
        at.at[0] = kir_loop(l->k, KIR_VECTOR, n, lanes(l));
    } else {
        kir_val begin = lower_mul(l, lower_grid(l, (n + size - 1) / size), size);
        at.at[0] = lower_chunk_loop(l, begin, size, n, KIR_VECTOR, lanes(l));
    }
    lower_store_outputs(l, &at);
    kir_close(l->k);
    if (n > size)
        kir_close(l->k);
}

/* ---- several dimensions ----------------------------------------------------------------------- */

/* The transposes that elements of a kernel are computed from. An operand is contiguous along a dimension that is not the last:
   the dimensions from `first` on are one line, as are those from `begin` to `other`, which is that dimension. */
struct transposed {
    const int64_t *order[LOOPS_TRANSPOSES]; /* permutations */
    uint32_t n;
    bool mixed; /* something else is read, at other indices than those of the domain */
    uint32_t first, last, begin, other;
    int64_t line, rows; /* elements of both */
};

/* Finds the transposes that an element of a value is computed from at its own index. */
static void find_transposes(const struct lower *l, struct transposed *t, ir_val v, uint32_t *ops) {
    ir_op op = ir_val_get(l->m, v)->op;
    const struct ir_type_data *type = ir_val_type(l->m, v);
    size_t n;
    if (*ops == 0 || type->rank != l->kernel->rank ||
        memcmp(type->dims, l->kernel->dims, type->rank * sizeof *type->dims) != 0) {
        t->mixed = true;
        return;
    }
    if (fuse_is_constant(l->m, v) || lower_is_stored(l, v))
        return;
    --*ops;
    if (ir_kind(l->m, op) == IR_TRANSPOSE) {
        ir_val from = ir_operand(l->m, op, 0);
        while (!fuse_is_constant(l->m, from) && !lower_is_stored(l, from) && fuse_is_alias(l->m, ir_val_get(l->m, from)->op))
            from = ir_operand(l->m, ir_val_get(l->m, from)->op, 0);
        t->mixed |= t->n == LOOPS_TRANSPOSES || !(fuse_is_constant(l->m, from) || lower_is_stored(l, from));
        if (t->n < LOOPS_TRANSPOSES)
            t->order[t->n++] = ir_prop_i64s(l->m, op, IR_TRANSPOSE_permutation, &n);
        return;
    }
    t->mixed |= fuse_class(ir_kind(l->m, op)) != FUSE_ELEMENT;
    for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands && fuse_class(ir_kind(l->m, op)) == FUSE_ELEMENT; i++)
        find_transposes(l, t, ir_operand(l->m, op, i), ops);
}

/* Whether dimensions i - 1 and i of the domain are one in all that is read, too. */
static bool continues(const struct transposed *t, uint32_t i) {
    bool all = !t->mixed;
    for (uint32_t k = 0; k < t->n; k++)
        all &= t->order[k][i] == t->order[k][i - 1] + 1;
    return all;
}

static bool is_transposed(const struct lower *l, struct transposed *t) {
    const int64_t *dims = l->kernel->dims;
    uint32_t ops = LOOPS_SEARCH, rank = l->kernel->rank;
    bool found = false;
    *t = (struct transposed){.line = 1, .rows = 1};
    for (uint32_t i = 0; i < rank; i++)
        t->last = dims[i] != 1 ? i : t->last;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++)
        find_transposes(l, t, l->kernel->outs.v[i], &ops);
    for (uint32_t k = 0; k < t->n && !found; k++)
        for (uint32_t i = 0; i < rank && !found; i++) {
            found = t->order[k][i] == (int64_t)rank - 1 && i != t->last;
            t->other = i;
        }
    for (t->first = t->last; found && t->first > 0 && t->first - 1 != t->other && continues(t, t->first);)
        t->first--;
    for (t->begin = t->other; found && t->begin > 0 && t->begin - 1 != t->last && continues(t, t->begin);)
        t->begin--;
    for (uint32_t i = t->first; i <= t->last; i++)
        t->line *= dims[i];
    for (uint32_t i = t->begin; i <= t->other; i++)
        t->rows *= dims[i];
    return found && t->line >= 8 && t->rows >= 8;
}

/* Stores `at_once` rows from `row` on, `lanes` elements of each from `column` on. */
static void store_rows(struct lower *l, const struct transposed *t, struct index *at, kir_val column, int64_t lanes,
                       kir_val row, int64_t at_once) {
    const int64_t *dims = l->kernel->dims;
    kir_val lane = kir_loop(l->k, KIR_VECTOR, lanes, lower_lanes(l, lower_bytes(l), 1));
    lower_unflatten(l, lower_add(l, column, lane), dims + t->first, t->last - t->first + 1, at->at + t->first);
    for (int64_t i = 0; i < at_once; i++) {
        kir_val here = lower_add(l, row, kir_i64(l->k, i));
        lower_unflatten(l, here, dims + t->begin, t->other - t->begin + 1, at->at + t->begin);
        lower_store_outputs(l, at);
    }
    kir_close(l->k);
}

/* Stores `count` rows from `row` on: as many at once as make a square, which the code generator transposes
   (emit_transpose.c); of the rest, four. */
static void store_squares(struct lower *l, const struct transposed *t, struct index *at, kir_val column, int64_t lanes,
                          kir_val row, kir_val count) {
    int64_t square = (int64_t)lower_lanes(l, lower_bytes(l), 1), code = (int64_t)l->kernel->nops + l->kernel->code_size_cost;
    square = square * 4 == l->target->vector_bytes ? square : 1;
    for (int64_t at_once = square; at_once > 0; at_once = at_once > 4 ? 4 : at_once > 1 ? 1 : 0) {
        int64_t known;
        kir_val n = lower_div(l, count, at_once);
        if ((at_once > 1 && at_once * code > LOOPS_SQUARE) || (kir_is_const(l->k, n, &known) && known == 0))
            continue;
        kir_val i = kir_loop_to(l->k, KIR_SERIAL, n, 0);
        store_rows(l, t, at, column, lanes, lower_add(l, row, lower_mul(l, i, at_once)), at_once);
        kir_close(l->k);
        row = lower_add(l, row, lower_mul(l, n, at_once));
        count = lower_rem(l, count, at_once);
    }
}

/* Rows of a tile: more read longer parts of lines from memory, but their results are in fewer sets of the L1 cache. */
static int64_t tile_rows(const struct lower *l) {
    size_t bytes = 0, most = l->target->nontemporal_bytes;
    for (uint32_t i = 0; i < l->kernel->outs.n && most; i++)
        if (!ir_type_bytes(ir_val_type(l->m, l->kernel->outs.v[i]), &bytes) || bytes > most / 2)
            return LOOPS_FAR_TILE;
    return LOOPS_TILE;
}

/* Tiles of rows by parts of the line, so that all of a cache line that is read across rows is used while it is cached. What is
   stored of a row at once is a cache line, where a vector is less: stores past the caches are of whole lines. */
static void tiled_loops(struct lower *l, const struct transposed *t) {
    const int64_t *dims = l->kernel->dims;
    struct index at = {.n = l->kernel->rank};
    int64_t outer[IR_MAX_RANK + 1], width = (int64_t)lower_lanes(l, lower_bytes(l), 1), part = LOOPS_PART * width;
    int64_t stored = (int64_t)(l->target->line_bytes / lower_bytes(l));
    width = stored > width && part % stored == 0 ? stored : width;
    int64_t tile = tile_rows(l);
    uint32_t rank = l->kernel->rank, n = 0;
    kir_val out[IR_MAX_RANK + 1];
    l->splits_lines = (size_t)t->line * lower_bytes(l) % l->target->line_bytes != 0;
    for (uint32_t i = 0; i < rank; i++)
        if (i != t->other)
            outer[n++] = (i >= t->first && i <= t->last) || (i >= t->begin && i < t->other) ? 1 : dims[i];
    outer[n++] = (t->line + part - 1) / part; /* tiles of rows follow one another: they read on where the one before ends */
    outer[n] = (t->rows + tile - 1) / tile;
    lower_grid_nd(l, outer, rank + 1, out);
    for (uint32_t i = 0; i < rank; i++)
        at.at[i] = out[i < t->other ? i : i == t->other ? rank : i - 1];
    kir_val row = lower_mul(l, out[rank], tile), rows = lower_extent(l, row, tile, t->rows);
    kir_val begin = lower_mul(l, out[rank - 1], part), whole = lower_extent(l, begin, part, t->line);
    kir_val column = kir_loop_to(l->k, KIR_SERIAL, lower_div(l, whole, width), 0);
    store_squares(l, t, &at, lower_add(l, begin, lower_mul(l, column, width)), width, row, rows);
    kir_close(l->k);
    if (t->line % width) {
        kir_if(l->k, kir_cmp(l->k, KIR_EQ, 0, out[rank - 1], kir_i64(l->k, outer[rank - 1] - 1)));
        store_squares(l, t, &at, kir_i64(l->k, t->line / width * width), t->line % width, row, rows);
        kir_close(l->k);
    }
    kir_close(l->k);
    l->splits_lines = false;
}

/* Lanes of a line whose elements are column reductions: whole cache lines, unless that leaves too few tasks. */
static uint32_t nested_lanes(const struct lower *l, int64_t grid, int64_t line) {
    uint32_t registers = l->kernel->nops <= 4 ? 8 : l->kernel->nops <= 16 ? 2 : 1;
    while (registers > 1 && lower_lanes(l, lower_bytes(l), registers / 2) >= line)
        registers /= 2;
    while (registers > 1 && grid * line / lower_lanes(l, lower_bytes(l), registers) < LOOPS_EVEN * l->target->tasks)
        registers /= 2;
    return lower_lanes(l, lower_bytes(l), registers);
}

static void nested_loops(struct lower *l) {
    const int64_t *dims = l->kernel->dims;
    struct index at = {.n = l->kernel->rank};
    uint32_t last = 0, opened = 0, split = 0;
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        last = dims[i] != 1 ? i : last;
    struct transposed t;
    if (l->kernel->nested && lower_columns(l))
        return;
    if (is_transposed(l, &t)) {
        tiled_loops(l, &t);
        return;
    }
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        at.at[i] = kir_i64(l->k, 0);
    bool parallel = lower_count(l, 0, l->kernel->rank) > task_elements(l) || l->kernel->nested;
    int64_t grid = 1, line = dims[last], block = LOOPS_LINE_BLOCK, tasks = LOOPS_UNEVEN * l->target->tasks;
    uint32_t first = last; /* a line has the dimensions from `first` on: several where the last fills no register */
    while (!l->kernel->nested && first > 0 && line < lower_lanes(l, lower_bytes(l), 1))
        line *= dims[--first];
    while (parallel && split < first && grid < tasks)
        grid *= dims[split++];
    bool split_line = parallel && grid < tasks / 4 && line >= 2 * block && !l->kernel->nested;
    uint32_t width = l->kernel->nested ? nested_lanes(l, grid, line) : lanes(l);
    while (width > lower_lanes(l, lower_bytes(l), 1) && width / 2 >= line)
        width /= 2;
    if (l->kernel->nested && parallel && split == first) { /* each element is expensive: a vector of them is a task */
        block = (int64_t)width;
        split_line = line > block;
    }
    int64_t chunks = split_line ? (line + block - 1) / block : 1;
    kir_val begin = kir_i64(l->k, 0);
    if (grid * chunks > 1) {
        kir_val g = lower_grid(l, grid * chunks);
        opened++;
        lower_unflatten(l, lower_div(l, g, chunks), dims, split, at.at);
        begin = lower_mul(l, lower_rem(l, g, chunks), block);
    }
    for (uint32_t i = split; i < first; i++)
        if (dims[i] != 1) {
            at.at[i] = kir_loop(l->k, KIR_SERIAL, dims[i], 0);
            opened++;
        }
    kir_val lane = split_line ? lower_chunk_loop(l, begin, block, line, KIR_VECTOR, width)
                              : kir_loop(l->k, KIR_VECTOR, line, width);
    lower_unflatten(l, lane, dims + first, last - first + 1, at.at + first);
    lower_store_outputs(l, &at);
    lower_close(l, opened + 1);
}

void lower_loops(struct lower *l) {
    struct opt_sparse seen = {.a = l->a};
    size_t n = (size_t)lower_count(l, 0, l->kernel->rank);
    bool flat = !l->kernel->nested;
    for (uint32_t i = 0; i < l->kernel->outs.n && flat; i++)
        flat = is_flat(l, l->kernel->outs.v[i], n, &seen);
    if (l->kernel->rank == 0 || n == 1) {
        struct index at = {.n = l->kernel->rank};
        for (uint32_t i = 0; i < at.n; i++)
            at.at[i] = kir_i64(l->k, 0);
        lower_store_outputs(l, &at);
    } else if (l->target->block_threads && n) {
        threads_map(l, flat);
    } else if (flat) {
        flat_loops(l, (int64_t)n);
    } else {
        nested_loops(l);
    }
}
