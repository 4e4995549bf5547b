/* Regions of scalars over many elements: see body.h. */
#include "eval/body.h"

#include "eval/contract.h"
#include "eval/eval_core.h"

static enum ir_dtype body_dtype(const struct eval *cx, ir_val v) {
    const struct ir_type_data *t = ir_val_type(cx->m, v);
    return cx->expressed && t->quant ? t->quant->expressed : t->dtype;
}

/* Scalars to hand to eval_region, one for each argument. */
static hilo_status body_boxes(struct body *b) {
    b->nboxes = 2 * (size_t)b->nargs + b->nresults;
    b->boxes = mem_alloc(&b->cx->al, b->nboxes * sizeof *b->boxes);
    if (!b->boxes)
        return HILO_RESOURCE_EXHAUSTED;
    memset(b->boxes, 0, b->nboxes * sizeof *b->boxes);
    for (uint32_t i = 0; i < b->nargs; i++)
        HILO_TRY(value_tensor(&b->cx->al, b->arg[i], NULL, 0, &b->boxes[i]));
    return HILO_OK;
}

hilo_status body_open(struct eval *cx, ir_op op, ir_region r, struct body *b) {
    const struct ir_module *m = cx->m;
    ir_block block = ir_region_get(m, r)->first;
    const struct ir_block_data *d = ir_block_get(m, block);
    const struct ir_op_data *ret = ir_op_get(m, ir_terminator(m, block));
    *b = (struct body){.cx = cx, .op = op, .region = r, .nargs = d->nargs, .nresults = ret->noperands};
    b->callee = eval_plan_body(cx->plan, ir_region_get(m, r)->parent);
    b->arg = mem_alloc(&cx->al, (b->nargs + b->nresults) * sizeof *b->arg);
    if (!b->arg)
        return HILO_RESOURCE_EXHAUSTED;
    b->result = b->arg + b->nargs;
    for (uint32_t i = 0; i < b->nargs; i++)
        b->arg[i] = body_dtype(cx, d->args[i]);
    for (uint32_t i = 0; i < b->nresults; i++)
        b->result[i] = body_dtype(cx, ret->operands[i]);
    hilo_status status = lanes_compile(cx, r, &b->lanes);
    if (status == HILO_OK && !b->lanes)
        status = cx->expressed ? EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "has a quantized body that is not elementwise")
                               : body_boxes(b);
    if (status != HILO_OK)
        body_close(b);
    return status;
}

void body_close(struct body *b) {
    if (b->lanes)
        lanes_free(b->lanes);
    for (uint32_t i = 0; b->boxes && i < b->nargs; i++)
        value_unref(b->boxes[i]);
    mem_free(&b->cx->al, b->boxes, b->nboxes * sizeof *b->boxes);
    mem_free(&b->cx->al, b->arg, (b->nargs + b->nresults) * sizeof *b->arg);
    *b = (struct body){.cx = b->cx};
}

/* One element through the region. A box that the region kept a reference to is replaced, since values do not change. */
static hilo_status body_one(struct body *b, const void *const *args, void *const *results, size_t i) {
    struct value **out = b->boxes + b->nargs;
    for (uint32_t k = 0; k < b->nargs; k++) {
        size_t size = ir_dtype_get(b->arg[k])->bytes;
        if (atomic_load(&b->boxes[k]->refs) > 1) {
            struct value *fresh;
            HILO_TRY(value_tensor(&b->cx->al, b->arg[k], NULL, 0, &fresh));
            value_unref(b->boxes[k]);
            b->boxes[k] = fresh;
        }
        memcpy(b->boxes[k]->data, (const char *)args[k] + i * size, size);
    }
    if (b->callee) {
        struct value **own = out + b->nresults;
        for (uint32_t k = 0; k < b->nargs; k++)
            own[k] = value_ref(b->boxes[k]);
        HILO_TRY(eval_body(b->cx, b->callee, own, out));
    } else {
        HILO_TRY(eval_region(b->cx, b->region, b->boxes, b->nargs, out, b->nresults));
    }
    for (uint32_t k = 0; k < b->nresults; k++) {
        size_t size = ir_dtype_get(b->result[k])->bytes;
        memcpy((char *)results[k] + i * size, out[k]->data, size);
        value_unref(out[k]);
    }
    return HILO_OK;
}

hilo_status body_run(struct body *b, const void *const *args, void *const *results, size_t n) {
    enum { BODY_CALL = 8 }; /* elements that take as long as the call */
    if (n <= lanes_most())
        HILO_TRY(eval_work(b->cx, b->op, n + BODY_CALL));
    if (!b->lanes) {
        for (size_t i = 0; i < n; i++)
            HILO_TRY(body_one(b, args, results, i));
        return HILO_OK;
    }
    if (n <= lanes_most()) {
        lanes_run(b->lanes, args, results, n);
        return HILO_OK;
    }
    const void *a[2 * IR_MAX_RANK];
    void *r[2 * IR_MAX_RANK];
    if (b->nargs > 2 * IR_MAX_RANK || b->nresults > 2 * IR_MAX_RANK)
        return EVAL_FAIL(b->cx, b->op, HILO_UNIMPLEMENTED, "has a body of more than %d arguments", 2 * IR_MAX_RANK);
    for (size_t at = 0; at < n; at += lanes_most()) {
        HILO_TRY(eval_work(b->cx, b->op, lanes_most()));
        for (uint32_t k = 0; k < b->nargs; k++)
            a[k] = (const char *)args[k] + at * ir_dtype_get(b->arg[k])->bytes;
        for (uint32_t k = 0; k < b->nresults; k++)
            r[k] = (char *)results[k] + at * ir_dtype_get(b->result[k])->bytes;
        lanes_run(b->lanes, a, r, n - at < lanes_most() ? n - at : lanes_most());
    }
    return HILO_OK;
}

hilo_status body_convert(struct eval *cx, struct value *v, enum ir_dtype t, struct value **out) {
    if (v->dtype == t) {
        *out = value_ref(v);
        return HILO_OK;
    }
    enum number kind = number_wider(number_of(v->dtype), number_of(t));
    void *numbers;
    HILO_TRY(value_tensor(&cx->al, t, v->dims, v->rank, out));
    hilo_status status = number_load(cx, v, NULL, kind, &numbers);
    if (status != HILO_OK) {
        value_unref(*out);
        *out = NULL;
        return status;
    }
    number_store(kind, numbers, *out);
    mem_free(&cx->al, numbers, v->count * number_bytes(kind));
    return HILO_OK;
}
