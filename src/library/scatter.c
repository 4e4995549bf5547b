/* scatter by one binary op, or by copies: updates at places that index vectors name, in their order; what lies outside is
 * skipped.
 *
 * Tasks have stretches of one dimension of the result for themselves. Each goes over all updates and applies what falls into
 * its stretch, so that every element takes its updates in order, however many tasks there are. Updates are looked through
 * block by block, without branches, because where they fall cannot be predicted. */
#include "library/combine.h"
#include "library/slots.h"

enum { SCATTER_BYTES_PER_TASK = 1 << 16 };

struct scatter {
    const struct lib_call *c;
    struct slots s;
    bool copies; /* updates replace what is there */
    bool single; /* slices have one element */
    struct combine combine;
    size_t bytes, total; /* of an element; elements of the result */
    uint32_t split;      /* the dimension that is cut */
    size_t tasks;
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
static void scatter_slice(const struct scatter *x, const struct slots_block *b, size_t k, const struct scatter_range *range) {
    int64_t sizes[SLOTS_MOST_RANK], packed = b->packed + (int64_t)k * b->step, to = 0;
    for (uint32_t d = 0; d < x->s.rank; d++) {
        const struct slots_dim *dim = &x->s.dim[d];
        int64_t start = b->start[d][k], skip = start < range[d].first ? range[d].first - start : 0;
        sizes[d] = (dim->size < range[d].last - start ? dim->size : range[d].last - start) - skip;
        to += (start + skip) * dim->stride;
        packed += skip * dim->packed;
    }
    scatter_cells(x, sizes, 0, (char *)x->c->out[0] + to * (ptrdiff_t)x->bytes,
                  (const char *)x->c->in[2] + packed * (ptrdiff_t)x->bytes);
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
static void scatter_block(const struct scatter *x, const struct slots_block *b, const struct scatter_range *range) {
    uint32_t meets[SLOTS_BLOCK];
    size_t n = scatter_meets(x, b, range, meets);
    if (!x->single) {
        for (size_t i = 0; i < n; i++)
            scatter_slice(x, b, meets[i], range);
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
        combine_copy_at(x->c->out[0], to, x->c->in[2], from, x->bytes, n);
    else
        combine_at(&x->combine, x->c->out[0], to, x->c->in[2], from, n);
}

static void scatter_task(void *user, int64_t task) {
    const struct scatter *x = user;
    const struct slots_dim *split = &x->s.dim[x->split];
    struct scatter_range range[SLOTS_MOST_RANK];
    struct slots_block b;
    size_t lo, hi, row = (size_t)split->stride * x->bytes;
    lib_part((size_t)split->dim, x->tasks, (size_t)task, &lo, &hi);
    if (x->c->out[0] != x->c->in[0]) /* dimensions before the split one have one place */
        memcpy((char *)x->c->out[0] + lo * row, (const char *)x->c->in[0] + lo * row, (hi - lo) * row);
    for (uint32_t d = 0; d < x->s.rank; d++)
        range[d] = d == x->split ? (struct scatter_range){(int64_t)lo, (int64_t)hi}
                                 : (struct scatter_range){0, x->s.dim[d].dim};
    for (size_t i = 0; i < x->s.count; i += b.n) {
        slots_block(&x->s, x->c->in[1], i, x->s.count - i, &b);
        scatter_block(x, &b, range);
    }
}

static bool scatter_read(struct lib_reader *r, struct scatter *x) {
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(r, IR_OP_COUNT - 1);
    enum ir_dtype dtype = (enum ir_dtype)lib_get_size(r, IR_DTYPE_COUNT - 1);
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
    return true;
}

hilo_status lib_scatter(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct scatter x = {.c = c, .tasks = 1};
    if (!scatter_read(&r, &x))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t all = lib_times(x.total, x.bytes), updates = lib_times(slots_packed(&x.s), x.bytes);
        return lib_checked(c->check, 3, 1, (const size_t[]){all, slots_indices(&x.s), updates, all}, 0);
    }
    if (x.total == 0)
        return HILO_OK;
    while (x.split + 1 < x.s.rank && x.s.dim[x.split].dim == 1)
        x.split++;
    size_t updates = x.s.count, work;
    for (uint32_t d = 0; d < x.s.rank; d++)
        updates *= (size_t)x.s.dim[d].size;
    work = (updates + (c->out[0] == c->in[0] ? 0 : x.total)) * x.bytes / SCATTER_BYTES_PER_TASK + 1;
    if (c->pool && c->pool->threads > 1) /* more tasks read the indices more often; they do not change the results */
        x.tasks = (size_t)c->pool->threads;
    x.tasks = x.tasks < work ? x.tasks : work;
    x.tasks = x.tasks < (size_t)x.s.dim[x.split].dim ? x.tasks : (size_t)x.s.dim[x.split].dim;
    lib_each(c->pool, (int64_t)x.tasks, scatter_task, &x);
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
    struct combine c;
    struct slots s;
    size_t nwindow;
    const int64_t *window = ir_field_dims(m, numbers, IR_SCATTER_update_window_dims_F, &nwindow);
    int64_t sizes[IR_MAX_RANK];
    for (size_t i = 0; i < nwindow; i++)
        sizes[i] = updates->dims[window[i]];
    if (base->rank == 0 || base->dtype != updates->dtype || ir_val_type(m, ir_result(m, op, 0))->dtype != base->dtype ||
        (!copies && !combine_of(kind, base->dtype, &c)) || !slots_match(m, numbers, base, indices, updates, sizes, &s))
        return false;
    out->in_place = true;
    out->ns = 10.0 * (double)s.count + 0.5 * (double)lib_product(updates->dims, 0, updates->rank) +
              0.3 * (double)lib_product(base->dims, 0, base->rank);
    return lib_put(out, kind) && lib_put(out, base->dtype) && slots_put(out, &s);
}
