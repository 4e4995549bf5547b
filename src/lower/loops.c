/* MAP: a loop nest over the domain; its body computes and stores every output. */
#include "lower/threads.h"

enum {
    LOOPS_LINE_BLOCK = TORTURED(TORTURE_PART, 1024), /* elements of a task where the domain has several lines */
    LOOPS_EVEN = 2,      /* tasks of even work, */
    LOOPS_UNEVEN = 16,   /* and of uneven work: times those of the target */
    LOOPS_LARGE = 128,   /* ops of a body */
    LOOPS_COMPUTES = 8,  /* nodes of a body for each of its loads, */
    LOOPS_FUNCTION = 20  /* and of a function */
};

/* Elements below which one thread computes all, and elements of a task where the domain is one line. */
static int64_t task_elements(const struct lower *l) {
    return TORTURED(TORTURE_PART, l->target->parallel_ops / 4);
}

/* Several vectors at once, however much is computed: an op waits for the one before, and other vectors have work meanwhile.
   Much code is not worth its compilation. */
static uint32_t lanes(const struct lower *l) {
    uint32_t code = l->kernel->nops + l->kernel->code_size_cost;
    return lower_lanes(l, lower_bytes(l), code <= LOOPS_LARGE ? 4 : 2);
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

/* Whether every result goes past the caches. */
static bool streams(const struct lower *l) {
    bool all = true;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++)
        all &= lower_goes_past_caches(l, l->kernel->outs.v[i]);
    return all;
}

/* In the body of a loop over streams that computes much for each element, prefetches what later iterations read: a processor
   sees few iterations ahead while it computes, and its own prefetchers do not follow a stream from page to page. Where a loop
   computes little, several streams take longer with it. */
static void prefetch_streams(struct lower *l, int64_t elements) {
    int64_t ahead = l->target->map_prefetch_bytes, line = l->target->line_bytes;
    uint32_t nodes = 0, loads = 0, last = l->k->nodes.n;
    for (kir_val v = kir_block_get(l->k, l->k->at)->first; v.i; v = kir_get(l->k, v)->next) {
        loads += kir_get(l->k, v)->op == KIR_LOAD;
        nodes += kir_get(l->k, v)->op == KIR_MATH ? LOOPS_FUNCTION : 1;
    }
    if (!ahead || nodes < LOOPS_COMPUTES * loads)
        return;
    for (kir_val v = kir_block_get(l->k, l->k->at)->first; v.i && v.i < last; v = kir_get(l->k, v)->next) {
        struct kir_node n = *kir_get(l->k, v); /* a copy: building moves the nodes */
        int64_t bytes = n.op == KIR_LOAD ? ir_dtype_get(l->k->buffers.v[n.of].dtype)->bytes : 0;
        for (int64_t at = 0; at < elements * bytes; at += line)
            kir_prefetch(l->k, n.of, lower_add(l, n.arg[0], kir_i64(l->k, (ahead + at) / bytes)));
    }
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
    if (streams(l))
        prefetch_streams(l, lanes(l));
    kir_close(l->k);
    if (n > size)
        kir_close(l->k);
}

/* ---- several dimensions ----------------------------------------------------------------------- */

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
    if ((l->kernel->nested && lower_columns(l)) || lower_transposes(l))
        return;
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
