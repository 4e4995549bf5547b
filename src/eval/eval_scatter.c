/* scatter: updates at places that index vectors name. What lies outside of the inputs is skipped, element by element.
 *
 * Windows are applied in the order of their index vectors. No two elements of a window meet in one place, so the body runs on
 * whole runs of them; a body that returns the updates is a copy. */
#include "eval/body.h"
#include "eval/move.h"
#include "eval/slices.h"

#include <inttypes.h>

struct scatter {
    struct body body;
    bool copies;               /* the body returns the updates as they are */
    uint32_t n;                /* inputs */
    const int64_t *dims;       /* of an input */
    struct value **results;    /* n, starting as the inputs */
    struct value **updates;    /* n, in the types of the body's arguments */
    const void **args;         /* 2n: places of results, of updates */
    void **places;             /* n: of results */
};

/* ---- applying a window ------------------------------------------------------------------------------------------------- */

/* The part of the current slice that lies within the inputs: where it begins in them and in the updates, and its sizes. False
   when there is none. */
static bool scatter_clip(const struct scatter *c, const struct slices *s, size_t *base, size_t *packed, int64_t *sizes) {
    *base = 0;
    *packed = s->packed;
    for (uint32_t d = 0; d < s->rank; d++) {
        int64_t start = s->start[d], size = s->sizes[d], dim = c->dims[d];
        if (start >= dim || start <= -size)
            return false;
        int64_t skip = start < 0 ? -start : 0;
        sizes[d] = (size < dim - start ? size : dim - start) - skip;
        *base += (size_t)((start + skip) * s->strides[d]);
        *packed += (size_t)(skip * s->packed_strides[d]);
    }
    return true;
}

static size_t scatter_bytes(const struct scatter *c, uint32_t k) {
    return ir_dtype_get(c->results[k]->dtype)->bytes;
}

/* Runs the body on each cell of a window. */
static hilo_status scatter_combine(struct scatter *c, const struct move *window, size_t base, size_t packed) {
    int64_t index[IR_MAX_RANK];
    memset(index, 0, window->rank * sizeof *index);
    do {
        size_t to = base, from = packed;
        for (uint32_t i = 0; i < window->rank; i++) {
            to += (size_t)(index[i] * window->dst[i]);
            from += (size_t)(index[i] * window->src[i]);
        }
        for (uint32_t k = 0; k < c->n; k++) {
            size_t size = scatter_bytes(c, k);
            c->args[k] = c->places[k] = (char *)c->results[k]->data + to * size;
            c->args[c->n + k] = (const char *)c->updates[k]->data + from * size;
        }
        HILO_TRY(body_run(&c->body, c->args, c->places, (size_t)window->cell));
    } while (index_next(index, window->dims, window->rank));
    return HILO_OK;
}

static hilo_status scatter_window(struct scatter *c, const struct move *window, size_t base, size_t packed) {
    if (!c->copies)
        return scatter_combine(c, window, base, packed);
    for (uint32_t k = 0; k < c->n; k++) {
        size_t size = scatter_bytes(c, k);
        move_run(window, (char *)c->results[k]->data + base * size, (const char *)c->updates[k]->data + packed * size, size);
    }
    return HILO_OK;
}

static hilo_status scatter_windows(struct scatter *c, struct slices *s) {
    struct move whole, part;
    size_t base, packed;
    int64_t sizes[IR_MAX_RANK];
    move_plan(&whole, s->sizes, s->strides, s->packed_strides, s->rank);
    while (slices_next(s)) {
        if (!scatter_clip(c, s, &base, &packed, sizes))
            continue;
        bool clipped = memcmp(sizes, s->sizes, s->rank * sizeof *sizes) != 0;
        if (clipped)
            move_plan(&part, sizes, s->strides, s->packed_strides, s->rank);
        HILO_TRY(scatter_window(c, clipped ? &part : &whole, base, packed));
    }
    return HILO_OK;
}

/* ---- preparing --------------------------------------------------------------------------------------------------------- */

/* The slices of the inputs, one window of the updates each. */
static hilo_status scatter_slices(struct eval *cx, ir_op op, const struct value *input, const struct value *indices,
                                  const struct value *update, struct slices *s) {
    struct slice_numbers numbers;
    int64_t sizes[IR_MAX_RANK];
    uint32_t k = 0;
    slice_numbers_read(cx->m, ir_prop(cx->m, op, IR_SCATTER_scatter_dimension_numbers), &numbers);
    for (uint32_t d = 0; d < input->rank; d++)
        sizes[d] = slice_is_window(&numbers, d) ? update->dims[numbers.offset[k++]] : 1;
    HILO_TRY(slices_init(s, cx, op, &numbers, input, indices, sizes));
    for (uint32_t d = 0; d < s->packed_rank; d++)
        if (s->packed_dims[d] != update->dims[d])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has updates of size %" PRId64 " in dimension %" PRIu32 " instead of %" PRId64, update->dims[d], d,
                             s->packed_dims[d]);
    return HILO_OK;
}

/* Inputs have one shape, updates have one shape. */
static hilo_status scatter_check(struct eval *cx, ir_op op, struct value *const *v, uint32_t n, const char *what) {
    for (uint32_t k = 1; k < n; k++)
        if (memcmp(v[k]->dims, v[0]->dims, v[0]->rank * sizeof *v[0]->dims) != 0)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %s of different shapes", what);
    return HILO_OK;
}

static bool scatter_copies(const struct ir_module *m, ir_region r, uint32_t n) {
    const struct ir_block_data *b = ir_block_get(m, ir_region_get(m, r)->first);
    const struct ir_op_data *ret = ir_op_get(m, b->last);
    for (uint32_t k = 0; k < n; k++)
        if (!IR_SAME(ret->operands[k], b->args[n + k]))
            return false;
    return true;
}

/* Result k, starting as input k; in its memory, where it is not used otherwise. */
static hilo_status scatter_start(struct eval *cx, ir_op op, struct value *const *in, uint32_t k, struct value **out) {
    if (in[k]->dtype != eval_result_dtype(cx, op, k))
        return body_convert(cx, in[k], eval_result_dtype(cx, op, k), out);
    HILO_TRY(eval_out_over(cx, op, k, in, k, out));
    if (*out != in[k] && in[k]->bytes)
        memcpy((*out)->data, in[k]->data, in[k]->bytes);
    return HILO_OK;
}

hilo_status eval_scatter(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    struct scatter c = {.n = (ir_op_get(cx->m, op)->noperands - 1) / 2, .dims = in[0]->dims, .results = out};
    struct value *const *updates = in + c.n + 1;
    struct slices s;
    HILO_TRY(scatter_check(cx, op, in, c.n, "inputs"));
    HILO_TRY(scatter_check(cx, op, updates, c.n, "updates"));
    HILO_TRY(scatter_slices(cx, op, in[0], in[c.n], updates[0], &s));
    size_t nbytes = 4 * (size_t)c.n * sizeof(void *);
    void **pointers = mem_alloc(&cx->al, nbytes);
    if (!pointers)
        return HILO_RESOURCE_EXHAUSTED;
    memset(pointers, 0, nbytes);
    c.updates = (struct value **)pointers;
    c.args = (const void **)(pointers + c.n);
    c.places = pointers + 3 * c.n;
    ir_region region = ir_op_region(cx->m, op, 0);
    c.copies = scatter_copies(cx->m, region, c.n);
    hilo_status status = body_open(cx, op, region, &c.body);
    bool opened = status == HILO_OK;
    for (uint32_t k = 0; status == HILO_OK && k < c.n; k++) {
        status = scatter_start(cx, op, in, k, &out[k]);
        if (status == HILO_OK)
            status = body_convert(cx, updates[k], c.body.arg[c.n + k], &c.updates[k]);
    }
    if (status == HILO_OK)
        status = scatter_windows(&c, &s);
    for (uint32_t k = 0; k < c.n; k++) {
        value_unref(c.updates[k]);
        if (status != HILO_OK) {
            value_unref(out[k]);
            out[k] = NULL;
        }
    }
    if (opened)
        body_close(&c.body);
    mem_free(&cx->al, pointers, nbytes);
    return status;
}
