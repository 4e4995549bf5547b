/* Frames and dispatch: see eval_core.h for the idea. One loop over the steps of a block; regions and functions open further
 * blocks from within the handlers of their ops. */
#include "eval/eval_core.h"

#include <inttypes.h>

static eval_fn *const handlers[IR_OP_COUNT] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, ...) [IR_##id] = eval_##eval,
#include "ir/ops.def"
};

hilo_status eval_none(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)in;
    (void)out;
    return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "is not supported by the reference evaluator");
}

/* ---- types of values ------------------------------------------------------------------------------------------------- */

static bool tensor_fits(const struct ir_type_data *t, const struct value *v) {
    if (v->kind != EVAL_TENSOR || v->dtype != t->dtype)
        return false;
    if (t->kind == IR_TYPE_UNRANKED)
        return true;
    if (v->rank != t->rank)
        return false;
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t bound = t->bounds ? t->bounds[i] : IR_DYNAMIC;
        if (t->dims[i] == IR_DYNAMIC ? bound != IR_DYNAMIC && v->dims[i] > bound : v->dims[i] != t->dims[i])
            return false;
    }
    return true;
}

/* True when a value belongs to a type: kind, element type, rank, and dimensions where the type has them. */
static bool eval_fits(const struct ir_module *m, ir_type type, const struct value *v) {
    const struct ir_type_data *t = ir_type_get(m, type);
    switch (t->kind) {
    case IR_TYPE_SCALAR:
        return v->kind == EVAL_TENSOR && v->rank == 0 && v->dtype == t->dtype;
    case IR_TYPE_TENSOR:
    case IR_TYPE_UNRANKED:
    case IR_TYPE_MEMREF:
    case IR_TYPE_VECTOR:
        return tensor_fits(t, v);
    case IR_TYPE_TOKEN:
        return v->kind == EVAL_TOKEN;
    case IR_TYPE_TUPLE:
    case IR_TYPE_FUTURE:
        if (v->kind != (t->kind == IR_TYPE_TUPLE ? EVAL_TUPLE : EVAL_FUTURE) || v->nitems != t->ntypes)
            return false;
        for (uint32_t i = 0; i < t->ntypes; i++)
            if (!eval_fits(m, t->types[i], v->items[i]))
                return false;
        return true;
    default:
        return false;
    }
}

/* "argument 1 is tensor<3xf32>, its type tensor<4xf32>" */
static hilo_status type_error(struct eval *cx, ir_op op, const char *what, uint32_t i, ir_type type, const struct value *v) {
    struct strbuf is, should;
    strbuf_init(&is, cx->al);
    strbuf_init(&should, cx->al);
    value_type_text(v, &is);
    ir_print_type(cx->m, type, &should);
    hilo_status status = EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "%s %" PRIu32 " is %s, but its type is %s", what, i,
                                   is.p ? is.p : "", should.p ? should.p : "");
    strbuf_free(&is);
    strbuf_free(&should);
    return status;
}

static hilo_status results_fit(struct eval *cx, const struct plan_step *s, struct value *const *out) {
    for (uint32_t i = 0; i < s->nresults; i++) {
        ir_type type = ir_val_get(cx->m, ir_result(cx->m, s->op, i))->type;
        if (!eval_fits(cx->m, type, out[i]))
            return type_error(cx, s->op, "result", i, type, out[i]);
    }
    return HILO_OK;
}

/* ---- frames ---------------------------------------------------------------------------------------------------------- */

void eval_drop(struct value **v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        value_unref(v[i]);
        v[i] = NULL;
    }
}

static void drop_slots(struct eval *cx, uint32_t list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        eval_drop(&cx->frame->slots[cx->plan->lists[list + i]], 1);
}

struct value *eval_lookup(struct eval *cx, ir_val v) {
    return cx->frame->slots[cx->plan->slot_of[v.i]];
}

/* True when the op is the last to need a slot, and only as an operand. */
static bool step_ends(const struct eval *cx, const struct plan_step *s, uint32_t slot) {
    for (uint32_t i = 0; i < s->nloose; i++)
        if (cx->plan->lists[s->dead + i] == slot)
            return true;
    return false;
}

bool eval_reusable(const struct eval *cx, ir_op op, uint32_t k, const struct value *v) {
    const struct plan_step *s = cx->frame->step;
    if (!IR_SAME(s->op, op) || v->kind != EVAL_TENSOR || v->release || atomic_load(&v->refs) != 1)
        return false;
    const uint32_t *slots = cx->plan->lists + s->operands;
    for (uint32_t i = 0; i < s->noperands; i++)
        if (i != k && slots[i] == slots[k])
            return false;
    return step_ends(cx, s, slots[k]);
}

void eval_take(struct eval *cx, struct value *const *in, struct value **owned) {
    const struct plan_step *s = cx->frame->step;
    for (uint32_t i = 0; i < s->noperands; i++)
        owned[i] = value_ref(in[i]);
    for (uint32_t i = 0; i < s->noperands; i++) {
        uint32_t slot = cx->plan->lists[s->operands + i];
        if (step_ends(cx, s, slot))
            eval_drop(&cx->frame->slots[slot], 1);
    }
}

/* ---- results --------------------------------------------------------------------------------------------------------- */

enum ir_dtype eval_result_dtype(const struct eval *cx, ir_op op, uint32_t i) {
    const struct ir_type_data *t = ir_val_type(cx->m, ir_result(cx->m, op, i));
    return t->quant && cx->expressed ? t->quant->expressed : t->dtype;
}

hilo_status eval_out(struct eval *cx, ir_op op, uint32_t i, const int64_t *dims, uint32_t rank, struct value **out) {
    return value_tensor(&cx->al, eval_result_dtype(cx, op, i), dims, rank, out);
}

hilo_status eval_out_over(struct eval *cx, ir_op op, uint32_t i, struct value *const *in, uint32_t k, struct value **out) {
    enum ir_dtype t = eval_result_dtype(cx, op, i);
    if (!eval_reusable(cx, op, k, in[k]) || ir_dtype_get(t)->bytes != ir_dtype_get(in[k]->dtype)->bytes)
        return eval_out(cx, op, i, in[k]->dims, in[k]->rank, out);
    *out = value_ref(in[k]);
    (*out)->dtype = t;
    return HILO_OK;
}

/* ---- steps ----------------------------------------------------------------------------------------------------------- */

hilo_status eval_poll(struct eval *cx, ir_op op) {
    if (cx->hooks && cx->hooks->cancelled && cx->hooks->cancelled(cx->hooks->user))
        return EVAL_FAIL(cx, op, HILO_CANCELLED, "was not run to its end: the evaluation is cancelled");
    if (cx->process && eval_process_stopped(cx->process))
        return EVAL_FAIL(cx, op, HILO_ABORTED, "was not run to its end: another process has failed");
    return HILO_OK;
}

static hilo_status step_run(struct eval *cx, const struct plan_step *s) {
    struct eval_frame *f = cx->frame;
    struct value **in = f->top, **out = in + s->noperands;
    for (uint32_t i = 0; i < s->noperands; i++)
        in[i] = f->slots[cx->plan->lists[s->operands + i]];
    for (uint32_t i = 0; i < s->nresults; i++)
        out[i] = NULL;
    f->top = out + s->nresults + s->noperands;
    f->step = s;
    uint32_t errors = cx->d->errors;
    hilo_status status = eval_poll(cx, s->op);
    if (status == HILO_OK)
        status = s->quantised ? eval_quantised(cx, s->op, handlers[s->kind], in, out)
                              : handlers[s->kind](cx, s->op, in, out);
    if (status == HILO_OK)
        status = results_fit(cx, s, out);
    if (status == HILO_OK && cx->hooks && cx->hooks->computed)
        cx->hooks->computed(cx->hooks->user, cx->m, s->op, out, s->nresults);
    if (status != HILO_OK) {
        eval_drop(out, s->nresults);
        if (cx->d->errors == errors)
            EVAL_FAIL(cx, s->op, status, status == HILO_RESOURCE_EXHAUSTED ? "ran out of memory" : "failed");
    }
    for (uint32_t i = 0; i < s->nresults; i++)
        f->slots[s->result0 + i] = out[i];
    drop_slots(cx, s->dead, s->ndead);
    f->top = in;
    return status;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

static hilo_status args_fit(struct eval *cx, const struct plan_block *b) {
    const struct ir_block_data *bd = ir_block_get(cx->m, b->block);
    for (uint32_t i = 0; i < b->nargs; i++) {
        ir_type type = ir_val_get(cx->m, bd->args[i])->type;
        const struct value *v = cx->frame->slots[b->slot0 + i];
        if (!eval_fits(cx->m, type, v))
            return type_error(cx, ir_region_get(cx->m, bd->parent)->parent, "argument", i, type, v);
    }
    return HILO_OK;
}

hilo_status eval_block(struct eval *cx, const struct plan_block *b, struct value **args, struct value **results) {
    struct eval_frame *f = cx->frame;
    const struct plan_step *outer = f->step, *steps = cx->plan->steps + b->first, *end = &steps[b->nsteps - 1];
    if (cx->depth == EVAL_DEPTH) {
        eval_drop(args, b->nargs);
        return EVAL_FAIL(cx, steps->op, HILO_RESOURCE_EXHAUSTED, "is inside more than %d calls and regions", EVAL_DEPTH);
    }
    cx->depth++;
    if (b->nargs && args != f->slots + b->slot0) { /* eval_region puts them there itself */
        memcpy(f->slots + b->slot0, args, b->nargs * sizeof *args);
        memset(args, 0, b->nargs * sizeof *args);
    }
    hilo_status status = args_fit(cx, b);
    drop_slots(cx, b->dead, b->ndead);
    for (const struct plan_step *s = steps; s < end && status == HILO_OK; s++)
        status = step_run(cx, s);
    if (status == HILO_OK)
        for (uint32_t i = 0; i < end->noperands; i++)
            results[i] = value_ref(f->slots[cx->plan->lists[end->operands + i]]);
    eval_drop(f->slots + b->slot0, b->slot1 - b->slot0);
    f->step = outer;
    cx->depth--;
    return status;
}

const struct plan_block *eval_block_of(struct eval *cx, ir_region r, uint32_t nargs, uint32_t nresults) {
    uint32_t id = r.i < cx->plan->nregions ? cx->plan->block_of[r.i] : 0;
    const struct plan_block *b = &cx->plan->blocks[id];
    if (id && b->nargs == nargs && cx->plan->steps[b->first + b->nsteps - 1].noperands == nresults)
        return b;
    EVAL_FAIL(cx, ir_region_get(cx->m, r)->parent, HILO_INVALID_ARGUMENT,
              "has no region of %" PRIu32 " arguments and %" PRIu32 " results", nargs, nresults);
    return NULL;
}

hilo_status eval_region(struct eval *cx, ir_region r, struct value *const *args, uint32_t nargs, struct value **results,
                        uint32_t nresults) {
    const struct plan_block *b = eval_block_of(cx, r, nargs, nresults);
    if (!b)
        return HILO_INVALID_ARGUMENT;
    struct eval_frame *f = cx->frame;
    struct value **owned = f->slots + b->slot0; /* the slots of the block's arguments */
    for (uint32_t i = 0; i < nargs; i++)
        owned[i] = value_ref(args[i]);
    return eval_block(cx, b, owned, results);
}

hilo_status eval_body(struct eval *cx, uint32_t block, struct value **args, struct value **results) {
    const struct plan_block *b = &cx->plan->blocks[block];
    size_t n = (size_t)b->slot1 - b->slot0, bytes = sizeof(struct eval_frame) + (n + b->nscratch) * sizeof(struct value *);
    struct eval_frame *f = mem_alloc(&cx->al, bytes), *outer = cx->frame;
    if (!f) {
        eval_drop(args, b->nargs);
        return HILO_RESOURCE_EXHAUSTED;
    }
    memset(f, 0, bytes);
    f->slots = (struct value **)(f + 1);
    f->top = f->slots + n;
    cx->frame = f;
    hilo_status status = eval_block(cx, b, args, results);
    cx->frame = outer;
    mem_free(&cx->al, f, bytes);
    return status;
}

/* ---- functions ------------------------------------------------------------------------------------------------------- */

uint32_t eval_callee(struct eval *cx, ir_op op, struct str name, uint32_t nargs, uint32_t nresults) {
    uint32_t id = eval_plan_body(cx->plan, ir_module_symbol(cx->m, name));
    const struct plan_block *b = &cx->plan->blocks[id];
    if (id && b->nargs == nargs && cx->plan->steps[b->first + b->nsteps - 1].noperands == nresults)
        return id;
    EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs a function '%.*s' of %" PRIu32 " arguments and %" PRIu32 " results",
              (int)name.n, name.p, nargs, nresults);
    return 0;
}

/* Copies constants that are still stored in the module, so that results outlive it. */
static hilo_status detach(struct eval *cx, struct value **v) {
    struct value *old = *v, *fresh;
    if (old->kind == EVAL_TENSOR) {
        if (!old->release || old->user != cx->m)
            return HILO_OK;
        HILO_TRY(value_tensor(&cx->al, old->dtype, old->dims, old->rank, &fresh));
        memcpy(fresh->data, old->data, old->bytes);
    } else {
        if (old->nitems == 0)
            return HILO_OK;
        HILO_TRY(value_group(&cx->al, old->kind, old->items, old->nitems, &fresh));
    }
    value_unref(old);
    *v = fresh;
    for (uint32_t i = 0; i < fresh->nitems; i++)
        HILO_TRY(detach(cx, &fresh->items[i]));
    return HILO_OK;
}

static hilo_status run_function(struct eval *cx, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                                uint32_t nout) {
    uint32_t id = eval_plan_body(cx->plan, func);
    if (!id)
        return EVAL_FAIL(cx, func, HILO_UNIMPLEMENTED, "is not a function with a body");
    const struct plan_block *b = &cx->plan->blocks[id];
    uint32_t results = cx->plan->steps[b->first + b->nsteps - 1].noperands;
    if (nin != b->nargs || nout != results)
        return EVAL_FAIL(cx, func, HILO_INVALID_ARGUMENT,
                         "takes %" PRIu32 " arguments and gives %" PRIu32 " results, not %" PRIu32 " and %" PRIu32,
                         b->nargs, results, nin, nout);
    size_t bytes = ((size_t)nin + nout) * sizeof *in;
    struct value **own = mem_alloc(&cx->al, bytes);
    if (!own)
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < nin; i++)
        own[i] = value_ref(in[i]);
    memset(own + nin, 0, nout * sizeof *own);
    hilo_status status = eval_body(cx, id, own, own + nin);
    for (uint32_t i = 0; i < nout && status == HILO_OK; i++)
        status = detach(cx, &own[nin + i]);
    for (uint32_t i = 0; i < nout && status == HILO_OK; i++)
        out[i] = own[nin + i];
    if (status != HILO_OK)
        eval_drop(own + nin, nout);
    mem_free(&cx->al, own, bytes);
    return status;
}

void eval_session_end(struct eval_session *s) {
    eval_process_close(s->process);
    s->process = NULL;
}

hilo_status eval_plan_run_in(const struct eval_plan *p, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                             uint32_t nout, const hilo_allocator *al, const struct eval_hooks *hooks, struct diag_list *d,
                             struct eval_session *session) {
    struct eval cx = {.m = p->m, .d = d, .al = *al, .hooks = hooks, .plan = p, .process = session->process,
                      .rng_state = session->rng_state};
    uint32_t errors = d->errors;
    hilo_status status = run_function(&cx, func, in, nin, out, nout);
    if (status != HILO_OK && d->errors == errors)
        EVAL_FAIL(&cx, func, status, status == HILO_RESOURCE_EXHAUSTED ? "ran out of memory" : "failed");
    *session = (struct eval_session){cx.process, cx.rng_state};
    return status;
}

hilo_status eval_plan_run(const struct eval_plan *p, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                          uint32_t nout, const hilo_allocator *al, const struct eval_hooks *hooks, struct diag_list *d) {
    struct eval_session alone = {NULL, 0};
    hilo_status status = eval_plan_run_in(p, func, in, nin, out, nout, al, hooks, d, &alone);
    eval_session_end(&alone);
    return status;
}

hilo_status eval_func(const struct ir_module *m, ir_op func, struct value *const *in, uint32_t nin, struct value **out,
                      uint32_t nout, const hilo_allocator *al, const struct eval_hooks *hooks, struct diag_list *d) {
    struct eval_plan *p;
    HILO_TRY(eval_plan_new(m, al, d, &p));
    hilo_status status = eval_plan_run(p, func, in, nin, out, nout, al, hooks, d);
    eval_plan_free(p);
    return status;
}
