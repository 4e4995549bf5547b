/* Constants, calls, branches, loops, composites, custom calls, tuples, tokens, and ops that only forward values. */
#include "eval/eval_core.h"

#include "base/decimal.h"

#include <inttypes.h>

/* ---- constants ------------------------------------------------------------------------------------------------------- */

static hilo_status resource_error(struct eval *cx, ir_op op, const struct ir_attr_data *a) {
    struct str key = ir_str_get(cx->m, a->str);
    if (str_is(key, "__elided__"))
        return EVAL_FAIL(cx, op, HILO_FAILED_PRECONDITION,
                         "has no data: its constant was left out when the program was printed; print it without eliding "
                         "large constants");
    return EVAL_FAIL(cx, op, HILO_FAILED_PRECONDITION, "has no data: the program's file section lacks the resource '%.*s'",
                     (int)key.n, key.p);
}

/* One number without a shape, as arith.constant has it. */
static hilo_status literal_number(struct eval *cx, const struct ir_attr_data *a, struct value **out) {
    enum ir_dtype t = a->kind == IR_ATTR_BOOL ? IR_I1_T : ir_type_get(cx->m, a->type)->dtype;
    HILO_TRY(value_tensor(&cx->al, t, NULL, 0, out));
    uint64_t bits = a->kind == IR_ATTR_FLOAT ? fp_encode(ir_dtype_get(t)->fp, a->f) : (uint64_t)a->i;
    memcpy((*out)->data, &bits, (*out)->bytes);
    return HILO_OK;
}

static hilo_status literal_dense(struct eval *cx, ir_op op, const struct ir_attr_data *a, struct value **out) {
    const struct ir_type_data *t = ir_type_get(cx->m, a->type);
    size_t size = ir_dtype_get(t->dtype)->bytes, bytes;
    if (!ir_type_bytes(t, &bytes) || (a->nbytes != bytes && a->nbytes != size))
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a constant whose data is not of the size of its type");
    bool whole = a->nbytes == bytes, aligned = (uintptr_t)a->data % (size < 8 ? size : 8) == 0;
    if (whole && aligned && bytes)
        return value_borrow(&cx->al, t->dtype, t->dims, t->rank, (void *)(uintptr_t)a->data, NULL,
                            (void *)(uintptr_t)cx->m, out);
    HILO_TRY(value_tensor(&cx->al, t->dtype, t->dims, t->rank, out));
    if (whole && bytes)
        memcpy((*out)->data, a->data, bytes);
    else
        for (size_t i = 0; i < bytes; i += size)
            memcpy((char *)(*out)->data + i, a->data, size);
    return HILO_OK;
}

hilo_status eval_literal(struct eval *cx, ir_op op, ir_attr attr, struct value **out) {
    const struct ir_attr_data *a = ir_attr_get(cx->m, attr);
    switch (a->kind) {
    case IR_ATTR_BOOL:
    case IR_ATTR_INT:
    case IR_ATTR_FLOAT:
        return literal_number(cx, a, out);
    case IR_ATTR_RESOURCE:
        if (!a->data)
            return resource_error(cx, op, a);
        return literal_dense(cx, op, a, out);
    case IR_ATTR_DENSE:
        return literal_dense(cx, op, a, out);
    default:
        return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "has a constant of a kind that is not supported");
    }
}

hilo_status eval_constant(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)in;
    return eval_literal(cx, op, ir_constant_value(cx->m, op), out);
}

/* ---- calls, branches, loops ------------------------------------------------------------------------------------------ */

hilo_status eval_call(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct plan_step *s = cx->frame->step;
    const struct plan_block *b = &cx->plan->blocks[s->callee];
    if (!s->callee || b->nargs != s->noperands ||
        cx->plan->steps[b->first + b->nsteps - 1].noperands != s->nresults)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "calls no function with a body and that many arguments and results");
    struct value **args = out + s->nresults; /* see plan_block.nscratch */
    eval_take(cx, in, args);
    return eval_body(cx, s->callee, args, out);
}

hilo_status eval_composite(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    return eval_call(cx, op, in, out);
}

hilo_status eval_if(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t branch = value_i64(in[0], 0) ? 0 : 1;
    return eval_region(cx, ir_op_region(cx->m, op, branch), NULL, 0, out, ir_op_get(cx->m, op)->nresults);
}

/* Any index that is not a branch's stands for the last branch. */
hilo_status eval_case(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    int64_t index = value_i64(in[0], 0);
    if (o->nregions == 0)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has no branches");
    uint32_t branch = index < 0 || index >= o->nregions ? o->nregions - 1u : (uint32_t)index;
    return eval_region(cx, ir_op_region(cx->m, op, branch), NULL, 0, out, o->nresults);
}

hilo_status eval_fusion(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    return eval_region(cx, ir_op_region(cx->m, op, 0), in, o->noperands, out, o->nresults);
}

static hilo_status while_condition(struct eval *cx, ir_op op, struct value *const *state, uint32_t n, bool *more) {
    struct value *pred;
    HILO_TRY(eval_region(cx, ir_op_region(cx->m, op, 0), state, n, &pred, 1));
    bool sound = pred->kind == EVAL_TENSOR && pred->rank == 0 && pred->dtype == IR_I1_T;
    *more = sound && value_i64(pred, 0) != 0;
    value_unref(pred);
    return sound ? HILO_OK : EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a condition that is not tensor<i1>");
}

/* The state moves into the body and what the body returns becomes the state: nothing is held twice, and the body may update
   in place what it gets. */
hilo_status eval_while(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands;
    const struct plan_block *body = eval_block_of(cx, ir_op_region(cx->m, op, 1), n, n);
    if (!body || ir_op_get(cx->m, op)->nresults != n)
        return HILO_INVALID_ARGUMENT;
    eval_take(cx, in, out);
    bool more = true;
    for (;;) {
        hilo_status status = while_condition(cx, op, out, n, &more);
        if (status != HILO_OK) {
            eval_drop(out, n);
            return status;
        }
        if (!more)
            return HILO_OK;
        HILO_TRY(eval_block(cx, body, out, out));
    }
}

/* ---- custom calls ---------------------------------------------------------------------------------------------------- */

/* Marks for partitioners and placement: on one device their results are their operands. */
static const char *const custom_forward[] = {
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding", "LayoutConstraint",
    "annotate_device_placement", "MoveToHost", "MoveToDevice", "stablehlo.shape_refinement_operand_wrapper",
    "Pin", "Unpin",
};

static bool custom_is_forward(struct str target) {
    for (size_t i = 0; i < sizeof custom_forward / sizeof *custom_forward; i++)
        if (str_is(target, custom_forward[i]))
            return true;
    return false;
}

/* A buffer's contents are undefined; zeros are the same every time. */
static hilo_status custom_buffer(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)in;
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    const struct ir_type_data *t = o->nresults == 1 ? ir_val_type(cx->m, ir_result(cx->m, op, 0)) : NULL;
    if (!t || !ir_type_is_shaped(t) || !ir_type_is_static(t))
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "must create one buffer of a known size");
    HILO_TRY(eval_out(cx, op, 0, t->dims, t->rank, out));
    memset((*out)->data, 0, (*out)->bytes);
    return HILO_OK;
}

/* The message of a broken assertion: {0}, {1} … stand for the operands after the first. */
static void assertion_text(struct str message, struct value *const *in, uint32_t n, struct strbuf *out) {
    const char *end = message.p + message.n, *close;
    for (const char *p = message.p; p < end; p++) {
        uint64_t k;
        bool number = *p == '{' && dec_parse_u64(p + 1, end, &k, &close) && close < end && *close == '}' && k < n - 1;
        if (number && value_is_integers(in[k + 1]) && in[k + 1]->count == 1) {
            strbuf_i64(out, value_i64(in[k + 1], 0));
            p = close;
        } else {
            strbuf_putc(out, *p);
        }
    }
}

/* What an exported program takes for granted about dynamic dimensions: its first operand is true. */
static hilo_status custom_assertion(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)out;
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    if (o->noperands == 0 || !value_is_integers(in[0]) || in[0]->count != 1 || o->nresults != 0)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "must assert one truth value, and have no results");
    if (value_i64(in[0], 0) != 0)
        return HILO_OK;
    struct strbuf text;
    strbuf_init(&text, cx->al);
    assertion_text(ir_attr_as_str(cx->m, ir_dict_find(cx->m, o->attrs, STR("error_message"))), in, o->noperands, &text);
    hilo_status status = text.failed ? HILO_RESOURCE_EXHAUSTED
                                     : EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "shape assertion failed: %.*s", (int)text.n,
                                                 text.p ? text.p : "");
    strbuf_free(&text);
    return status;
}

static const struct {
    const char *target;
    eval_fn *run;
} custom_ops[] = {
    {"AllocateBuffer", custom_buffer},
    {"CreateBuffer", custom_buffer},
    {"ProductOfElementaryHouseholderReflectors", eval_householder_product},
    {"shape_assertion", custom_assertion},
    {"stablehlo.dynamic_reduce_window", eval_dynamic_reduce_window},
    {"stablehlo.dynamic_rng_bit_generator", eval_dynamic_rng_bit_generator},
    {"stablehlo.dynamic_top_k", eval_dynamic_top_k},
};

static hilo_status custom_hook(struct eval *cx, ir_op op, struct str target, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    hilo_status status = HILO_UNIMPLEMENTED;
    if (cx->hooks && cx->hooks->custom_call)
        status = cx->hooks->custom_call(cx->hooks->user, target, cx->m, op, in, o->noperands, out, o->nresults, cx->d);
    if (status == HILO_UNIMPLEMENTED) /* what is registered goes first: it may be LAPACK itself */
        status = eval_factor(cx, op, in, out);
    if (status == HILO_UNIMPLEMENTED)
        return EVAL_FAIL(cx, op, status,
                         "calls '%.*s', which is not built in; register an implementation of it, or export the program "
                         "without it", (int)target.n, target.p);
    for (uint32_t i = 0; i < o->nresults && status == HILO_OK; i++)
        if (!out[i])
            status = EVAL_FAIL(cx, op, HILO_INTERNAL, "got no result %" PRIu32 " from the implementation of '%.*s'", i,
                               (int)target.n, target.p);
    return status;
}

hilo_status eval_custom_call(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    struct str target = ir_prop_str(cx->m, op, IR_CUSTOM_CALL_call_target_name);
    hilo_status status;
    if (eval_check_call(cx, op, target, in, out, &status))
        return status;
    for (size_t i = 0; i < sizeof custom_ops / sizeof *custom_ops; i++)
        if (str_is(target, custom_ops[i].target))
            return custom_ops[i].run(cx, op, in, out);
    if (custom_is_forward(target) && o->nresults <= o->noperands)
        return eval_forward(cx, op, in, out);
    return custom_hook(cx, op, target, in, out);
}

/* ---- tuples, tokens, dimension sizes --------------------------------------------------------------------------------- */

hilo_status eval_forward(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    if (o->nresults > o->noperands)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has more results than operands");
    for (uint32_t i = 0; i < o->nresults; i++)
        out[i] = value_ref(in[i]);
    return HILO_OK;
}

hilo_status eval_tuple(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    return value_group(&cx->al, EVAL_TUPLE, in, ir_op_get(cx->m, op)->noperands, out);
}

hilo_status eval_get_tuple_element(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t i = ir_prop_i64(cx->m, op, IR_GET_TUPLE_ELEMENT_index);
    if (i < 0 || i >= (int64_t)in[0]->nitems)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "takes element %" PRId64 " of a tuple of %" PRIu32, i, in[0]->nitems);
    out[0] = value_ref(in[0]->items[i]);
    return HILO_OK;
}

hilo_status eval_token(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)op;
    (void)in;
    return value_token(&cx->al, out);
}

hilo_status eval_get_dimension_size(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dim = ir_prop_i64(cx->m, op, IR_GET_DIMENSION_SIZE_dimension);
    if (dim < 0 || dim >= (int64_t)in[0]->rank || in[0]->dims[dim] > INT32_MAX)
        return EVAL_FAIL(cx, op, HILO_OUT_OF_RANGE, "asks for dimension %" PRId64 ", which is not there or beyond i32", dim);
    HILO_TRY(eval_out(cx, op, 0, NULL, 0, out));
    *(int32_t *)(*out)->data = (int32_t)in[0]->dims[dim];
    return HILO_OK;
}

void eval_copy_slab(const struct value *src, int64_t from, struct value *dst, int64_t to, int64_t n, uint32_t dim) {
    size_t outer = 1, inner = ir_dtype_get(src->dtype)->bytes;
    for (uint32_t i = 0; i < dim; i++)
        outer *= (size_t)src->dims[i];
    for (uint32_t i = dim + 1; i < src->rank; i++)
        inner *= (size_t)src->dims[i];
    if (inner == 0 || n == 0)
        return;
    const char *s = (const char *)src->data + (size_t)from * inner;
    char *d = (char *)dst->data + (size_t)to * inner;
    for (size_t i = 0; i < outer; i++) {
        memcpy(d, s, (size_t)n * inner);
        s += (size_t)src->dims[dim] * inner;
        d += (size_t)dst->dims[dim] * inner;
    }
}

/* The first entries along the dimension; memory holds no more than that size. */
hilo_status eval_set_dimension_size(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dim = ir_prop_i64(cx->m, op, IR_SET_DIMENSION_SIZE_dimension), size = value_i64(in[1], 0);
    if (dim < 0 || dim >= (int64_t)in[0]->rank || size < 0 || size > in[0]->dims[dim])
        return EVAL_FAIL(cx, op, HILO_OUT_OF_RANGE, "sets dimension %" PRId64 " to %" PRId64 ", more than there is", dim, size);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, in[0]->dims, in[0]->rank * sizeof *dims);
    dims[dim] = size;
    HILO_TRY(eval_out(cx, op, 0, dims, in[0]->rank, out));
    eval_copy_slab(in[0], 0, *out, 0, size, (uint32_t)dim);
    return HILO_OK;
}

/* ---- print and probe ------------------------------------------------------------------------------------------------- */

hilo_status eval_print(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)out;
    if (!cx->hooks || !cx->hooks->print)
        return HILO_OK;
    eval_process_lock(cx->process);
    cx->hooks->print(cx->hooks->user, cx->m, ir_val_get(cx->m, ir_operand(cx->m, op, 0))->type, in[0]);
    eval_process_unlock(cx->process);
    return HILO_OK;
}

hilo_status eval_probe(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    hilo_status status = HILO_OK;
    if (cx->hooks && cx->hooks->probe) {
        eval_process_lock(cx->process);
        status = cx->hooks->probe(cx->hooks->user, ir_prop_str(cx->m, op, IR_PROBE_probe_id), in[0]);
        eval_process_unlock(cx->process);
    }
    if (status != HILO_OK)
        return EVAL_FAIL(cx, op, status, "could not be written by the probe");
    out[0] = value_ref(in[0]);
    return HILO_OK;
}
