/* gather: slices of the operand at places that index vectors name, clamped so that a slice lies within the operand. */
#include "library/slots.h"

enum { GATHER_BYTES_PER_TASK = 1 << 15 };

struct gather {
    const struct lib_call *c;
    struct slots s;
    size_t bytes, tasks;
};

/* Copies cells [from dimension d on). */
static void gather_cells(const struct gather *x, uint32_t d, char *to, const char *from) {
    const struct slots_dim *dim = &x->s.dim[d];
    ptrdiff_t bytes = (ptrdiff_t)x->bytes;
    if (d + 1 == x->s.rank && (dim->packed == 1 || dim->size == 1)) {
        memcpy(to, from, (size_t)(dim->size * bytes));
        return;
    }
    for (int64_t i = 0; i < dim->size; i++)
        if (d + 1 < x->s.rank)
            gather_cells(x, d + 1, to + i * dim->packed * bytes, from + i * dim->stride * bytes);
        else
            memcpy(to + i * dim->packed * bytes, from + i * bytes, (size_t)bytes);
}

static void gather_task(void *user, int64_t task) {
    const struct gather *x = user;
    struct slots_block b;
    size_t i, to;
    lib_part(x->s.count, x->tasks, (size_t)task, &i, &to);
    for (; i < to; i += b.n) {
        int64_t from[SLOTS_BLOCK] = {0};
        slots_block(&x->s, x->c->in[1], i, to - i, &b);
        for (uint32_t d = 0; d < x->s.rank; d++) {
            int64_t most = x->s.dim[d].dim - x->s.dim[d].size, stride = x->s.dim[d].stride;
            for (size_t k = 0; k < b.n; k++) {
                int64_t start = b.start[d][k];
                from[k] += (start < 0 ? 0 : start > most ? most : start) * stride;
            }
        }
        for (size_t k = 0; k < b.n; k++)
            gather_cells(x, 0, (char *)x->c->out[0] + (b.packed + (int64_t)k * b.step) * (ptrdiff_t)x->bytes,
                         (const char *)x->c->in[0] + from[k] * (ptrdiff_t)x->bytes);
    }
}

hilo_status lib_gather(const struct lib_call *c) {
    struct lib_reader r = lib_reader_of(c->params, c->nparams);
    struct gather x = {.c = c};
    x.bytes = lib_get_size(&r, 16);
    if (!slots_get(&r, &x.s) || x.s.rank == 0)
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        for (uint32_t d = 0; d < x.s.rank; d++)
            if (x.s.dim[d].size > x.s.dim[d].dim)
                return HILO_INVALID_ARGUMENT;
        return lib_checked(
            c->check, 2, 1,
            (const size_t[]){lib_times(slots_base(&x.s), x.bytes), slots_indices(&x.s), lib_times(slots_packed(&x.s), x.bytes)},
            0);
    }
    size_t moved = x.s.count * x.bytes;
    for (uint32_t d = 0; d < x.s.rank; d++)
        moved *= (size_t)x.s.dim[d].size;
    if (moved == 0)
        return HILO_OK;
    x.tasks = lib_tasks(lib_tasks(moved / GATHER_BYTES_PER_TASK + 1, x.s.count), LIB_TASKS);
    lib_each(c->pool, (int64_t)x.tasks, gather_task, &x);
    return HILO_OK;
}

bool lib_match_gather(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_GATHER || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *base = ir_val_type(m, ir_operand(m, op, 0)), *indices = ir_val_type(m, ir_operand(m, op, 1));
    const struct ir_type_data *result = ir_val_type(m, ir_result(m, op, 0));
    ir_attr numbers = ir_prop(m, op, IR_GATHER_dimension_numbers);
    size_t noffset, nsizes;
    const int64_t *offset = ir_field_dims(m, numbers, IR_GATHER_offset_dims_F, &noffset);
    const int64_t *slice = ir_prop_i64s(m, op, IR_GATHER_slice_sizes, &nsizes);
    int64_t sizes[IR_MAX_RANK];
    struct slots s;
    for (size_t i = 0; i < noffset; i++)
        sizes[i] = result->dims[offset[i]];
    for (uint32_t d = 0; d < base->rank; d++)
        if (slice[d] > base->dims[d] || base->dims[d] == 0) /* an empty dimension has no place to offer */
            return false;
    if (base->rank == 0 || result->dtype != base->dtype || !slots_match(m, numbers, base, indices, result, sizes, &s))
        return false;
    out->ns = 10.0 * (double)s.count + 0.3 * (double)lib_product(result->dims, 0, result->rank);
    return lib_put(out, ir_dtype_get(base->dtype)->bytes) && slots_put(out, &s);
}
