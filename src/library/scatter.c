/* scatter by one binary op, or by copies: updates at places that index vectors name, in their order; what lies outside is
 * skipped.
 *
 * Tasks have stretches of one dimension of the result for themselves. Each goes over all updates and applies what falls into
 * its stretch, so that every element takes its updates in order, however many tasks there are. Updates are looked through
 * block by block, without branches, because where they fall cannot be predicted. Where indices are sorted, a task searches for
 * the updates of its stretch instead.
 *
 * A small result that takes many updates is privatised: each task applies consecutive updates to a copy of its own, and the
 * copies are combined in the order of their updates. How many there are follows from the shapes. */
#include "library/combine.h"
#include "library/slots.h"

enum {
    SCATTER_BYTES_PER_TASK = 1 << 16,
    SCATTER_PRIVATE_BYTES = 1 << 15,   /* of a private copy at most, so that it stays in the L1 cache */
    SCATTER_PRIVATE_UPDATES = 1 << 14, /* of a task with a private copy at least, */
    SCATTER_PRIVATE_REUSE = 8          /* and so many times the elements of the copy */
};

struct scatter {
    const struct lib_call *c;
    struct slots s;
    bool copies; /* updates replace what is there */
    bool single; /* slices have one element */
    bool sorted; /* starts in the dimension that is cut do not decrease */
    struct combine combine;
    size_t bytes, total; /* of an element; elements of the result */
    uint32_t split;      /* the dimension that is cut */
    size_t tasks;
    size_t copies_of_result; /* private ones, the result among them; 1 = none */
};

/* Updates cells [from dimension d on); sizes are clipped already. */
static void scatter_cells(const struct scatter *x, const int64_t *sizes, uint32_t d, char *to, const char *from) {
    const struct slots_dim *dim = &x->s.dim[d];
    ptrdiff_t bytes = (ptrdiff_t)x->bytes;
    if (d + 1 < x->s.rank) {
        for (int64_t i = 0; i < sizes[d]; i++)
            scatter_cells(x, sizes, d + 1, to + i * dim->stride * bytes, from + i * dim->packed * bytes);
        return;
    }
    bool row = dim->packed == 1 || sizes[d] == 1;
    int64_t cells = row ? 1 : sizes[d], n = row ? sizes[d] : 1;
    for (int64_t i = 0; i < cells; i++) {
        if (x->copies)
            memcpy(to + i * bytes, from + i * dim->packed * bytes, (size_t)(n * bytes));
        else
            combine_rows(&x->combine, to + i * bytes, (const void *[]){from + i * dim->packed * bytes}, 1, 1, (size_t)n);
    }
}

/* The stretch of a task in a dimension. */
struct scatter_range {
    int64_t first, last;
};

/* The part of slice k of a block that lies in the stretch. */
static void scatter_slice(const struct scatter *x, const struct slots_block *b, size_t k, const struct scatter_range *range,
                          char *out) {
    int64_t sizes[SLOTS_MOST_RANK], packed = b->packed + (int64_t)k * b->step, to = 0;
    for (uint32_t d = 0; d < x->s.rank; d++) {
        const struct slots_dim *dim = &x->s.dim[d];
        int64_t start = b->start[d][k], skip = start < range[d].first ? range[d].first - start : 0;
        sizes[d] = (dim->size < range[d].last - start ? dim->size : range[d].last - start) - skip;
        to += (start + skip) * dim->stride;
        packed += skip * dim->packed;
    }
    scatter_cells(x, sizes, 0, out + to * (ptrdiff_t)x->bytes, (const char *)x->c->in[2] + packed * (ptrdiff_t)x->bytes);
}

/* The slices of a block that meet the stretch; returns how many. */
static size_t scatter_meets(const struct scatter *x, const struct slots_block *b, const struct scatter_range *range,
                            uint32_t *meets) {
    size_t n = b->n;
    for (size_t i = 0; i < n; i++)
        meets[i] = (uint32_t)i;
    for (uint32_t d = 0; d < x->s.rank; d++) {
        const struct slots_dim *dim = &x->s.dim[d];
        if (d != x->split && dim->from < 0 && !dim->batching) /* all of them begin at 0 */
            continue;
        uint64_t before = (uint64_t)range[d].first - (uint64_t)dim->size, length = (uint64_t)range[d].last - before;
        size_t all = n;
        n = 0;
        for (size_t i = 0; i < all; i++) { /* before < start < last */
            uint32_t k = meets[i];
            meets[n] = k;
            n += (uint64_t)b->start[d][k] - before - 1 < length - 1;
        }
    }
    return n;
}

/* Applies what falls into the stretch of a block. */
static void scatter_block(const struct scatter *x, const struct slots_block *b, const struct scatter_range *range, char *out) {
    uint32_t meets[SLOTS_BLOCK];
    size_t n = scatter_meets(x, b, range, meets);
    if (!x->single) {
        for (size_t i = 0; i < n; i++)
            scatter_slice(x, b, meets[i], range, out);
        return;
    }
    int64_t to[SLOTS_BLOCK], from[SLOTS_BLOCK];
    for (size_t i = 0; i < n; i++) {
        to[i] = b->start[0][meets[i]] * x->s.dim[0].stride;
        from[i] = b->packed + (int64_t)meets[i] * b->step;
    }
    for (uint32_t d = 1; d < x->s.rank; d++)
        for (size_t i = 0; i < n; i++)
            to[i] += b->start[d][meets[i]] * x->s.dim[d].stride;
    if (x->copies)
        combine_copy_at(out, to, x->c->in[2], from, x->bytes, n);
    else
        combine_at(&x->combine, out, to, x->c->in[2], from, n);
}

/* Applies updates first … last - 1 as far as they fall into the stretch. */
static void scatter_updates(const struct scatter *x, size_t first, size_t last, const struct scatter_range *range, char *out) {
    struct slots_block b;
    for (size_t i = first; i < last; i += b.n) {
        slots_block(&x->s, x->c->in[1], i, last - i, &b);
        scatter_block(x, &b, range, out);
    }
}

/* How many updates start before `at`, of sorted ones. */
static size_t scatter_search(const struct scatter *x, int64_t at) {
    size_t lo = 0, hi = x->s.count;
    struct slots_block b;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        slots_block(&x->s, x->c->in[1], middle, 1, &b);
        if (b.start[x->split][0] < at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static void scatter_whole(const struct scatter *x, struct scatter_range *range) {
    for (uint32_t d = 0; d < x->s.rank; d++)
        range[d] = (struct scatter_range){0, x->s.dim[d].dim};
}

/* A stretch of the result. */
static void scatter_stretch(void *user, int64_t task) {
    const struct scatter *x = user;
    const struct slots_dim *split = &x->s.dim[x->split];
    struct scatter_range range[SLOTS_MOST_RANK];
    size_t lo, hi, first = 0, last = x->s.count, row = (size_t)split->stride * x->bytes;
    lib_part((size_t)split->dim, x->tasks, (size_t)task, &lo, &hi);
    if (x->c->out[0] != x->c->in[0]) /* dimensions before the split one have one place */
        memcpy((char *)x->c->out[0] + lo * row, (const char *)x->c->in[0] + lo * row, (hi - lo) * row);
    scatter_whole(x, range);
    range[x->split] = (struct scatter_range){(int64_t)lo, (int64_t)hi};
    if (x->sorted) {
        first = scatter_search(x, (int64_t)lo - split->size + 1);
        last = scatter_search(x, (int64_t)hi);
    }
    scatter_updates(x, first, last, range, x->c->out[0]);
}

static char *scatter_copy(const struct scatter *x, size_t i) {
    return i == 0 ? x->c->out[0] : (char *)x->c->scratch + (i - 1) * x->total * x->bytes;
}

/* Consecutive updates in a copy of the result. The first copy has what the result had, as others may where that changes
   nothing; else they begin with the neutral element. */
static void scatter_private(void *user, int64_t task) {
    const struct scatter *x = user;
    struct scatter_range range[SLOTS_MOST_RANK];
    _Alignas(uint64_t) unsigned char neutral[sizeof(uint64_t)];
    char *out = scatter_copy(x, (size_t)task);
    size_t first, last;
    lib_part(x->s.count, x->copies_of_result, (size_t)task, &first, &last);
    if (task > 0) {
        combine_start(&x->combine, neutral);
        combine_fill(out, neutral, x->bytes, x->total);
    } else if (x->c->out[0] != x->c->in[0]) {
        memcpy(out, x->c->in[0], x->total * x->bytes);
    }
    scatter_whole(x, range);
    scatter_updates(x, first, last, range, out);
}

static void scatter_privatised(struct scatter *x) {
    const void *rows[LIB_SCRATCH_TASKS];
    lib_each(x->c->pool, (int64_t)x->copies_of_result, scatter_private, x);
    for (size_t i = 1; i < x->copies_of_result; i++)
        rows[i - 1] = scatter_copy(x, i);
    combine_rows(&x->combine, x->c->out[0], rows, x->copies_of_result - 1, 1, x->total);
}

/* Elements of all updates. */
static size_t scatter_elements(const struct scatter *x) {
    size_t n = x->s.count;
    for (uint32_t d = 0; d < x->s.rank; d++)
        n = lib_times(n, (size_t)x->s.dim[d].size);
    return n;
}

/* How many copies of the result its updates are worth. Sorted updates need none: tasks find their own. */
static size_t scatter_copies_of_result(const struct scatter *x) {
    _Alignas(uint64_t) unsigned char neutral[sizeof(uint64_t)];
    size_t bytes = lib_times(x->total, x->bytes), each = lib_times(x->total, SCATTER_PRIVATE_REUSE);
    if (x->copies || x->sorted || bytes == 0 || bytes > SCATTER_PRIVATE_BYTES || !combine_start(&x->combine, neutral))
        return 1;
    size_t n = scatter_elements(x) / (each > SCATTER_PRIVATE_UPDATES ? each : SCATTER_PRIVATE_UPDATES);
    n = lib_tasks(n, x->s.count);
    return n > 1 ? lib_tasks(n, LIB_SCRATCH_TASKS) : 1;
}

/* Sorted index vectors are so in one dimension if they are of that one alone. */
static bool scatter_can_search(const struct scatter *x) {
    bool alone = x->s.nbatch == 1;
    for (uint32_t d = 0; d < x->s.rank; d++) {
        bool named = x->s.dim[d].from >= 0 && !x->s.dim[d].batching;
        alone &= !x->s.dim[d].batching && named == (d == x->split);
    }
    return alone;
}

static bool scatter_read(struct lib_reader *r, struct scatter *x) {
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(r, IR_OP_COUNT - 1);
    enum ir_dtype dtype = (enum ir_dtype)lib_get_size(r, IR_DTYPE_COUNT - 1);
    x->sorted = lib_get(r) != 0;
    x->copies = op == IR_OP_NONE;
    x->bytes = ir_dtype_get(dtype)->bytes;
    if (!slots_get(r, &x->s) || x->s.rank == 0 || (!x->copies && !combine_of(op, dtype, &x->combine)))
        return false;
    x->total = 1;
    x->single = true;
    for (uint32_t d = 0; d < x->s.rank; d++)
        x->single &= x->s.dim[d].size == 1;
    for (uint32_t d = 0; d < x->s.rank; d++)
        if (!mem_mul(x->total, (size_t)x->s.dim[d].dim, &x->total))
            return false;
    while (x->split + 1 < x->s.rank && x->s.dim[x->split].dim == 1)
        x->split++;
    x->sorted &= scatter_can_search(x);
    x->copies_of_result = scatter_copies_of_result(x);
    return true;
}

hilo_status lib_scatter(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct scatter x = {.c = c, .tasks = 1};
    if (!scatter_read(&r, &x))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t all = lib_times(x.total, x.bytes), updates = lib_times(slots_packed(&x.s), x.bytes);
        return lib_checked(c->check, 3, 1, (const size_t[]){all, slots_indices(&x.s), updates, all},
                           lib_times(all, x.copies_of_result - 1));
    }
    if (x.total == 0)
        return HILO_OK;
    if (x.copies_of_result > 1) {
        scatter_privatised(&x);
        return HILO_OK;
    }
    size_t work = (scatter_elements(&x) + (c->out[0] == c->in[0] ? 0 : x.total)) * x.bytes / SCATTER_BYTES_PER_TASK + 1;
    if (x.sorted)
        x.tasks = LIB_TASKS;
    else if (c->pool && c->pool->threads > 1) /* more tasks read the indices more often; they do not change the results */
        x.tasks = (size_t)c->pool->threads;
    x.tasks = x.tasks < work ? x.tasks : work;
    x.tasks = x.tasks < (size_t)x.s.dim[x.split].dim ? x.tasks : (size_t)x.s.dim[x.split].dim;
    lib_each(c->pool, (int64_t)x.tasks, scatter_stretch, &x);
    return HILO_OK;
}

/* Returns its second argument. */
static bool scatter_copies(const struct ir_module *m, ir_region r, enum ir_dtype t) {
    const struct ir_block_data *b = ir_block_get(m, ir_region_get(m, r)->first);
    return b->nargs == 2 && IR_SAME(ir_operand(m, b->last, 0), b->args[1]) && ir_val_type(m, b->args[1])->dtype == t;
}

bool lib_match_scatter(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_SCATTER || ir_op_get(m, op)->noperands != 3 || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *base = ir_val_type(m, ir_operand(m, op, 0)), *indices = ir_val_type(m, ir_operand(m, op, 1));
    const struct ir_type_data *updates = ir_val_type(m, ir_operand(m, op, 2));
    ir_region body = ir_op_region(m, op, 0);
    ir_attr numbers = ir_prop(m, op, IR_SCATTER_scatter_dimension_numbers);
    bool copies = scatter_copies(m, body, base->dtype);
    enum ir_op_kind kind = copies ? IR_OP_NONE : combine_body(m, body, base->dtype);
    struct scatter x;
    struct slots s;
    size_t nwindow;
    const int64_t *window = ir_field_dims(m, numbers, IR_SCATTER_update_window_dims_F, &nwindow);
    int64_t sizes[IR_MAX_RANK];
    for (size_t i = 0; i < nwindow; i++)
        sizes[i] = updates->dims[window[i]];
    if (base->rank == 0 || base->dtype != updates->dtype || ir_val_type(m, ir_result(m, op, 0))->dtype != base->dtype ||
        (!copies && kind == IR_OP_NONE) || !slots_match(m, numbers, base, indices, updates, sizes, &s))
        return false;
    int64_t sorted = 0;
    (void)ir_attr_as_i64(m, ir_prop(m, op, IR_SCATTER_indices_are_sorted), &sorted);
    bool fits = lib_put(out, kind) && lib_put(out, base->dtype) && lib_put(out, sorted) && slots_put(out, &s);
    struct lib_reader r = lib_reader_of(out->params, out->nparams);
    x = (struct scatter){.tasks = 1};
    if (!fits || !scatter_read(&r, &x))
        return false;
    out->scratch_bytes = x.total * x.bytes * (x.copies_of_result - 1);
    out->in_place = true;
    out->ns = 10.0 * (double)s.count + 0.5 * (double)lib_product(updates->dims, 0, updates->rank) +
              0.3 * (double)lib_product(base->dims, 0, base->rank);
    return lib_put(out, kind) && lib_put(out, base->dtype) && slots_put(out, &s);
}
