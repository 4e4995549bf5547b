/* scatter by one binary op, or by copies: updates at places that index vectors name, in their order; what lies outside is
 * skipped.
 *
 * Tasks have stretches of one dimension of the result for themselves. Each goes over all updates and applies what falls into
 * its stretch, so that every element takes its updates in order, however many tasks there are. */
#include "library/combine.h"
#include "library/slots.h"

enum { SCATTER_BYTES_PER_TASK = 1 << 16 };

struct scatter {
    const struct lib_call *c;
    struct slots s;
    bool copies; /* updates replace what is there */
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

/* Slice i within [lo, hi) of the split dimension. */
static void scatter_slice(const struct scatter *x, size_t i, int64_t lo, int64_t hi) {
    int64_t start[SLOTS_MOST_RANK], sizes[SLOTS_MOST_RANK], packed, to = 0;
    slots_start(&x->s, x->c->in[1], i, start, &packed);
    for (uint32_t d = 0; d < x->s.rank; d++) {
        const struct slots_dim *dim = &x->s.dim[d];
        int64_t first = d == x->split ? lo : 0, last = d == x->split ? hi : dim->dim;
        if (start[d] >= last || start[d] <= first - dim->size)
            return;
        int64_t skip = start[d] < first ? first - start[d] : 0;
        sizes[d] = (dim->size < last - start[d] ? dim->size : last - start[d]) - skip;
        to += (start[d] + skip) * dim->stride;
        packed += skip * dim->packed;
    }
    scatter_cells(x, sizes, 0, (char *)x->c->out[0] + to * (ptrdiff_t)x->bytes,
                  (const char *)x->c->in[2] + packed * (ptrdiff_t)x->bytes);
}

static void scatter_task(void *user, int64_t task) {
    const struct scatter *x = user;
    const struct slots_dim *d = &x->s.dim[x->split];
    size_t lo, hi, row = (size_t)d->stride * x->bytes;
    lib_part((size_t)d->dim, x->tasks, (size_t)task, &lo, &hi);
    if (x->c->out[0] != x->c->in[0]) /* dimensions before the split one have one place */
        memcpy((char *)x->c->out[0] + lo * row, (const char *)x->c->in[0] + lo * row, (hi - lo) * row);
    for (size_t i = 0; i < x->s.count; i++)
        scatter_slice(x, i, (int64_t)lo, (int64_t)hi);
}

static bool scatter_read(struct lib_reader *r, struct scatter *x) {
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(r, IR_OP_COUNT - 1);
    enum ir_dtype dtype = (enum ir_dtype)lib_get_size(r, IR_DTYPE_COUNT - 1);
    x->copies = op == IR_OP_NONE;
    x->bytes = ir_dtype_get(dtype)->bytes;
    if (!slots_get(r, &x->s) || x->s.rank == 0 || (!x->copies && !combine_of(op, dtype, &x->combine)))
        return false;
    x->total = 1;
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
