/* chlo.scan: a loop over one dimension that carries values along.
 *
 * Step i passes the body slice i of every input (without the scanned dimension) and the carries; the body returns slice i of
 * every output and the next carries. */
#include "eval/eval.h"

/* Slices of one tensor along a dimension: `outer` runs of `run` bytes, a whole dimension apart. */
struct slices {
    int64_t dims[IR_MAX_RANK]; /* of a slice */
    uint32_t rank;
    size_t outer, run, pitch;
};

static struct slices slices_of(const int64_t *dims, uint32_t rank, uint32_t dim, size_t elem) {
    struct slices s = {.rank = rank - 1, .outer = 1, .run = elem};
    for (uint32_t d = 0, to = 0; d < rank; d++) {
        if (d != dim)
            s.dims[to++] = dims[d];
        if (d < dim)
            s.outer *= (size_t)dims[d];
        if (d > dim)
            s.run *= (size_t)dims[d];
    }
    s.pitch = s.run * (size_t)dims[dim];
    return s;
}

static void slices_get(const struct slices *s, const struct value *v, size_t i, void *slice) {
    for (size_t o = 0; o < s->outer; o++)
        memcpy((char *)slice + o * s->run, (const char *)v->data + o * s->pitch + i * s->run, s->run);
}

static void slices_set(const struct slices *s, struct value *v, size_t i, const void *slice) {
    for (size_t o = 0; o < s->outer; o++)
        memcpy((char *)v->data + o * s->pitch + i * s->run, (const char *)slice + o * s->run, s->run);
}

struct scan {
    struct eval *cx;
    ir_op op;
    uint32_t nin, ncarry, nout, dim;
    int64_t length;
    struct value **args;    /* slices and carries */
    struct value **results; /* output slices and next carries */
};

/* Output o, allocated at the first step when its slice's shape is known. */
static hilo_status scan_store(struct scan *s, struct value **out, uint32_t o, int64_t i, const struct value *slice) {
    int64_t dims[IR_MAX_RANK];
    for (uint32_t d = 0, from = 0; d <= slice->rank; d++)
        dims[d] = d == s->dim ? s->length : slice->dims[from++];
    if (!out[o])
        HILO_TRY(eval_out(s->cx, s->op, o, dims, slice->rank + 1, &out[o]));
    struct slices at = slices_of(dims, slice->rank + 1, s->dim, ir_dtype_get(slice->dtype)->bytes);
    slices_set(&at, out[o], (size_t)i, slice->data);
    return HILO_OK;
}

static hilo_status scan_step(struct scan *s, int64_t i, struct value *const *in, struct value **out) {
    for (uint32_t k = 0; k < s->nin; k++) {
        struct slices at = slices_of(in[k]->dims, in[k]->rank, s->dim, ir_dtype_get(in[k]->dtype)->bytes);
        value_unref(s->args[k]);
        s->args[k] = NULL;
        HILO_TRY(value_tensor(&s->cx->al, in[k]->dtype, at.dims, at.rank, &s->args[k]));
        slices_get(&at, in[k], (size_t)i, s->args[k]->data);
    }
    uint32_t nresults = s->nout + s->ncarry;
    HILO_TRY(eval_region(s->cx, ir_op_region(s->cx->m, s->op, 0), s->args, s->nin + s->ncarry, s->results, nresults));
    hilo_status status = HILO_OK;
    for (uint32_t o = 0; o < s->nout; o++) {
        if (status == HILO_OK)
            status = scan_store(s, out, o, i, s->results[o]);
        value_unref(s->results[o]);
    }
    for (uint32_t c = 0; c < s->ncarry; c++) {
        value_unref(s->args[s->nin + c]);
        s->args[s->nin + c] = s->results[s->nout + c];
    }
    return status;
}

/* Without steps an output has the declared shape. */
static hilo_status scan_empty(struct scan *s, struct value **out) {
    for (uint32_t o = 0; o < s->nout; o++) {
        const struct ir_type_data *t = ir_val_type(s->cx->m, ir_result(s->cx->m, s->op, o));
        int64_t dims[IR_MAX_RANK];
        for (uint32_t d = 0; d < t->rank; d++)
            dims[d] = d == s->dim || t->dims[d] == IR_DYNAMIC ? 0 : t->dims[d];
        HILO_TRY(eval_out(s->cx, s->op, o, dims, t->rank, &out[o]));
    }
    return HILO_OK;
}

static int64_t scan_length(const struct scan *s, struct value *const *in) {
    const struct ir_module *m = s->cx->m;
    if (s->nin)
        return in[0]->dims[s->dim];
    if (!IR_NONE(ir_prop(m, s->op, IR_SCAN_scan_dim_size)))
        return ir_prop_i64(m, s->op, IR_SCAN_scan_dim_size);
    const struct ir_type_data *t = s->nout ? ir_val_type(m, ir_result(m, s->op, 0)) : NULL;
    return t && t->dims[s->dim] != IR_DYNAMIC ? t->dims[s->dim] : -1;
}

hilo_status eval_scan(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_module *m = cx->m;
    const struct ir_op_data *o = ir_op_get(m, op);
    const int32_t *sizes = ir_attr_get(m, ir_prop(m, op, IR_SCAN_operandSegmentSizes))->data;
    struct scan s = {.cx = cx, .op = op, .nin = (uint32_t)sizes[0], .ncarry = (uint32_t)sizes[1],
                     .dim = (uint32_t)ir_prop_i64(m, op, IR_SCAN_dimension)};
    s.nout = o->nresults - s.ncarry;
    s.length = scan_length(&s, in);
    if (s.length < 0)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has no input and no size to scan");
    for (uint32_t k = 0; k < s.nin; k++)
        if (in[k]->dims[s.dim] != s.length)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has inputs of %lld and %lld elements in dimension %u",
                             (long long)s.length, (long long)in[k]->dims[s.dim], s.dim);
    size_t nbytes = (o->noperands + o->nresults) * sizeof *s.args;
    s.args = mem_alloc(&cx->al, nbytes);
    if (!s.args)
        return HILO_RESOURCE_EXHAUSTED;
    memset(s.args, 0, nbytes);
    s.results = s.args + o->noperands;
    for (uint32_t c = 0; c < s.ncarry; c++)
        s.args[s.nin + c] = value_ref(in[s.nin + c]);
    bool reverse = ir_prop_i64(m, op, IR_SCAN_is_reverse) != 0;
    hilo_status status = s.length ? HILO_OK : scan_empty(&s, out);
    for (int64_t i = 0; status == HILO_OK && i < s.length; i++)
        status = scan_step(&s, reverse ? s.length - 1 - i : i, in, out);
    for (uint32_t k = 0; k < s.nin; k++)
        value_unref(s.args[k]);
    for (uint32_t c = 0; c < s.ncarry; c++)
        out[s.nout + c] = s.args[s.nin + c];
    mem_free(&cx->al, s.args, nbytes);
    return status;
}
