/* Calls of custom calls: a program's op as a call frame. A handler sees dense buffers in the layouts that the op requests,
 * and the op's attributes; a result that aliases an operand starts as a copy of it. */
#include "pjrt/ffi.h"
#include "runtime/internal.h"

#include <stdlib.h>

/* Memory of one call: a list of blocks, freed at its end. */
struct block {
    struct block *next;
    _Alignas(64) char bytes[];
};

struct call {
    struct ffi_context context; /* first: what handlers see of it */
    struct pjrt_client *client;
    const struct ir_module *m;
    ir_op op;
    struct diag_list *d;
    struct block *blocks;
};

static void *call_alloc(struct call *c, size_t n, size_t size) {
    size_t bytes;
    void *p = NULL;
    if (!mem_mul(n, size, &bytes) || !mem_add(bytes, sizeof(struct block), &bytes) || posix_memalign(&p, 64, bytes) != 0)
        return NULL;
    struct block *b = p;
    memset(b, 0, bytes);
    b->next = c->blocks;
    c->blocks = b;
    return b->bytes;
}

static void call_free(struct call *c) {
    while (c->blocks) {
        struct block *next = c->blocks->next;
        free(c->blocks);
        c->blocks = next;
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

static hilo_status attr_value(struct call *c, ir_attr attr, int *type, void **out);

static hilo_status refuse(struct call *c, const char *what) {
    return ir_op_error(c->m, c->d, c->op, HILO_UNIMPLEMENTED, NULL, "has an attribute of the kind %s, which custom calls lack",
                       what);
}

/* The elements of a constant, expanded, in memory order. */
static hilo_status attr_array(struct call *c, enum ir_dtype t, const struct ir_attr_data *a, size_t n, struct ffi_array **out) {
    size_t size = ir_dtype_get(t)->bytes;
    struct ffi_array *array = call_alloc(c, 1, sizeof *array);
    char *data = call_alloc(c, n, size);
    if (!array || !data)
        return HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n && a->nbytes >= size; i++)
        memcpy(data + i * size, (const char *)a->data + (a->splat ? 0 : i * size), size);
    *array = (struct ffi_array){pjrt_ffi_dtype(ir_dtype_get(t)->number), n, data};
    *out = array;
    return HILO_OK;
}

static hilo_status attr_scalar(struct call *c, enum ir_dtype t, uint64_t bits, struct ffi_scalar **out) {
    struct ffi_scalar *scalar = call_alloc(c, 1, sizeof *scalar);
    uint64_t *value = call_alloc(c, 1, sizeof *value);
    if (!scalar || !value)
        return HILO_RESOURCE_EXHAUSTED;
    *value = bits; /* little endian: the low bytes come first */
    *scalar = (struct ffi_scalar){pjrt_ffi_dtype(ir_dtype_get(t)->number), value};
    *out = scalar;
    return HILO_OK;
}

static int by_name(const void *a, const void *b) {
    const struct ffi_bytes *x = *(struct ffi_bytes *const *)a, *y = *(struct ffi_bytes *const *)b;
    int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* A dictionary, sorted by name: the names first, then each one's value. */
static hilo_status attr_dict(struct call *c, ir_attr dict, struct ffi_attrs *out) {
    const struct ir_attr_data *d = ir_attr_get(c->m, dict);
    size_t n = d->kind == IR_ATTR_DICT ? d->n : 0;
    *out = (struct ffi_attrs){.struct_size = sizeof *out, .n = (int64_t)n};
    out->types = call_alloc(c, n, sizeof *out->types);
    out->names = call_alloc(c, n, sizeof *out->names);
    out->items = call_alloc(c, n, sizeof *out->items);
    struct ffi_bytes *names = call_alloc(c, n, sizeof *names);
    if (!out->types || !out->names || !out->items || !names)
        return HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        struct str name = ir_str_get(c->m, d->names[i]);
        names[i] = (struct ffi_bytes){name.p, name.n};
        out->names[i] = &names[i];
    }
    qsort(out->names, n, sizeof *out->names, by_name);
    for (size_t i = 0; i < n; i++)
        HILO_TRY(attr_value(c, d->items[out->names[i] - names], &out->types[i], &out->items[i]));
    return HILO_OK;
}

static uint64_t float_bits(enum ir_dtype t, double f) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return fp_encode(info->fp, f);
}

static hilo_status attr_value(struct call *c, ir_attr attr, int *type, void **out) {
    const struct ir_attr_data *a = ir_attr_get(c->m, attr);
    const struct ir_type_data *t = ir_type_get(c->m, a->type);
    struct ffi_scalar *scalar = NULL;
    struct ffi_array *array = NULL;
    struct ffi_bytes *bytes;
    size_t n = a->n;
    switch (a->kind) {
    case IR_ATTR_BOOL:
    case IR_ATTR_INT:
    case IR_ATTR_FLOAT: {
        enum ir_dtype dtype = a->kind == IR_ATTR_BOOL ? IR_I1_T : t->dtype;
        HILO_TRY(attr_scalar(c, dtype, a->kind == IR_ATTR_FLOAT ? float_bits(dtype, a->f) : (uint64_t)a->i, &scalar));
        *type = FFI_SCALAR;
        *out = scalar;
        return HILO_OK;
    }
    case IR_ATTR_STRING:
        bytes = call_alloc(c, 1, sizeof *bytes);
        if (!bytes)
            return HILO_RESOURCE_EXHAUSTED;
        *bytes = (struct ffi_bytes){ir_str_get(c->m, a->str).p, ir_str_get(c->m, a->str).n};
        *type = FFI_STRING;
        *out = bytes;
        return HILO_OK;
    case IR_ATTR_DENSE:
        if (!ir_type_count(t, &n))
            return refuse(c, "tensor");
        /* fall through */
    case IR_ATTR_DENSE_ARRAY:
        HILO_TRY(attr_array(c, t->dtype, a, n, &array));
        *type = FFI_ARRAY;
        *out = array;
        return HILO_OK;
    case IR_ATTR_DICT:
        *type = FFI_DICTIONARY;
        *out = call_alloc(c, 1, sizeof(struct ffi_attrs));
        return *out ? attr_dict(c, attr, *out) : HILO_RESOURCE_EXHAUSTED;
    default:
        return refuse(c, "array or symbol");
    }
}

/* Where frameworks put the attributes of typed custom calls. */
static hilo_status call_attrs(struct call *c, struct ffi_attrs *out) {
    ir_attr dict = ir_prop(c->m, c->op, IR_CUSTOM_CALL_backend_config);
    if (ir_attr_get(c->m, dict)->kind != IR_ATTR_DICT)
        dict = ir_dict_find(c->m, ir_op_get(c->m, c->op)->attrs, STR("mhlo.backend_config"));
    return attr_dict(c, dict, out);
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* The strides of an op's layout for a value, in bytes; false when it is dense with the last dimension fastest. */
static bool layout_strides(const struct call *c, enum ir_slot slot, uint32_t index, const struct value *v, int64_t *out) {
    const struct ir_attr_data *layouts = ir_attr_get(c->m, ir_prop(c->m, c->op, slot));
    if (layouts->kind != IR_ATTR_ARRAY || index >= layouts->n || v->kind != EVAL_TENSOR)
        return false;
    const struct ir_attr_data *a = ir_attr_get(c->m, layouts->items[index]); /* dense<[0, 1]> : tensor<2xindex> */
    size_t n = v->rank;
    int64_t order[IR_MAX_RANK];
    if (a->kind != IR_ATTR_DENSE || a->nbytes != n * sizeof *order || (a->splat && n != 1))
        return false;
    if (n)
        memcpy(order, a->data, a->nbytes);
    int64_t step = (int64_t)ir_dtype_get(v->dtype)->bytes;
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        same = same && order[i] == (int64_t)(n - 1 - i);
        if (order[i] < 0 || order[i] >= (int64_t)n)
            return false;
        out[order[i]] = step;
        step *= v->dims[order[i]];
    }
    return !same;
}

/* Between row-major order and strides. */
static void reorder(const struct value *v, char *dense, char *strided, const int64_t *strides, bool to_dense) {
    size_t size = ir_dtype_get(v->dtype)->bytes;
    int64_t index[IR_MAX_RANK] = {0};
    if (!v->count)
        return;
    do {
        int64_t offset = 0;
        for (uint32_t i = 0; i < v->rank; i++)
            offset += index[i] * strides[i];
        memcpy(to_dense ? dense : strided + offset, to_dense ? strided + offset : dense, size);
        dense += size;
    } while (index_next(index, v->dims, v->rank));
}

/* Operands, or results, as handlers see them. `strides` has IR_MAX_RANK for each. */
struct view {
    enum ir_slot slot;
    uint32_t n;
    struct value *const *values;
    struct ffi_buffer *buffers;
    int64_t (*strides)[IR_MAX_RANK];
    bool *strided;
};

static hilo_status view_make(struct call *c, struct view *w, struct ffi_buffers *out) {
    *out = (struct ffi_buffers){.struct_size = sizeof *out, .n = w->n};
    out->types = call_alloc(c, w->n, sizeof *out->types);
    out->items = call_alloc(c, w->n, sizeof *out->items);
    w->buffers = call_alloc(c, w->n, sizeof *w->buffers);
    w->strides = call_alloc(c, w->n, sizeof *w->strides);
    w->strided = call_alloc(c, w->n, sizeof *w->strided);
    if (!out->types || !out->items || !w->buffers || !w->strides || !w->strided)
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct value *v = w->values[i];
        bool tensor = v->kind == EVAL_TENSOR;
        w->buffers[i] = (struct ffi_buffer){.struct_size = sizeof *w->buffers, .rank = tensor ? v->rank : 0,
                                            .dims = tensor ? v->dims : NULL, .data = tensor ? v->data : NULL,
                                            .dtype = pjrt_ffi_dtype(tensor ? ir_dtype_get(v->dtype)->number : HILO_TOKEN)};
        w->strided[i] = layout_strides(c, w->slot, i, v, w->strides[i]);
        if (w->strided[i] && !(w->buffers[i].data = call_alloc(c, v->bytes, 1)))
            return HILO_RESOURCE_EXHAUSTED;
        out->types[i] = FFI_BUFFER;
        out->items[i] = &w->buffers[i];
    }
    return HILO_OK;
}

/* Results that alias operands start with the operand's data, and share its memory for the handler. */
static void copy_aliases(const struct call *c, const struct view *in, const struct view *out) {
    const struct ir_attr_data *list = ir_attr_get(c->m, ir_prop(c->m, c->op, IR_CUSTOM_CALL_output_operand_aliases));
    for (uint32_t i = 0; list->kind == IR_ATTR_ARRAY && i < list->n; i++) {
        const struct ir_attr_data *s = ir_attr_get(c->m, list->items[i]);
        int64_t operand = -1;
        size_t n = 0;
        if (s->kind != IR_ATTR_STRUCT || s->sub != IR_STRUCT_OUTPUT_OPERAND_ALIAS || s->n < 2)
            continue;
        const int64_t *at = ir_attr_as_i64s(c->m, s->items[0], &n);
        uint32_t result = n && at[0] >= 0 && at[0] < out->n ? (uint32_t)at[0] : 0;
        if (!ir_attr_as_i64(c->m, s->items[1], &operand) || operand < 0 || operand >= in->n || result >= out->n)
            continue;
        const struct value *from = in->values[operand], *to = out->values[result];
        if (from->kind != EVAL_TENSOR || to->kind != EVAL_TENSOR || from->bytes != to->bytes)
            continue;
        if (to->bytes)
            memcpy(out->buffers[result].data, in->buffers[operand].data, to->bytes);
        in->buffers[operand].data = out->buffers[result].data;
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

static hilo_status answer(struct call *c, struct str target, struct ffi_error *error) {
    if (!error)
        return HILO_OK;
    struct ffi_Error_GetMessage message = {.struct_size = sizeof message, .error = error};
    struct ffi_Error_Destroy destroy = {.struct_size = sizeof destroy, .error = error};
    pjrt_ffi_api.Error_GetMessage(&message);
    hilo_status status = error->code > 0 && error->code <= HILO_UNAUTHENTICATED ? (hilo_status)error->code : HILO_UNKNOWN;
    ir_op_error(c->m, c->d, c->op, status, NULL, "calls '%.*s', which failed: %s", (int)target.n, target.p, message.message);
    pjrt_ffi_api.Error_Destroy(&destroy);
    return status == HILO_UNIMPLEMENTED ? HILO_INTERNAL : status; /* it is there: it has only failed */
}

static hilo_status run_stage(struct call *c, struct str target, ffi_handler *handler, enum ffi_stage stage,
                             struct ffi_frame *f) {
    if (!handler)
        return HILO_OK;
    f->stage = (int)stage;
    f->future = NULL;
    struct ffi_error *error = handler(f);
    if (!error && f->future)
        error = pjrt_ffi_wait(f->future);
    return answer(c, target, error);
}

/* What a call of an executable's has set when it was instantiated. */
struct pjrt_call_state {
    struct pjrt_call_state *next;
    const struct ir_module *m;
    ir_op op;
    struct ffi_state state;
};

void pjrt_call_states_free(struct pjrt_executable *x) {
    for (struct pjrt_call_state *s = x->states, *next; s; s = next) {
        next = s->next;
        pjrt_ffi_delete(s->state.type, s->state.value);
        free(s);
    }
    x->states = NULL;
}

/* Instantiates the op for its executable when this has not happened yet; without one, for this call. */
static hilo_status instantiate(struct call *c, struct str target, ffi_handler *handler, struct ffi_frame frame,
                               struct ffi_state *own) {
    const struct pjrt_running *r = c->context.running;
    c->context.states[FFI_INSTANTIATE] = own;
    if (!handler)
        return HILO_OK;
    frame.arguments.n = frame.results.n = 0;
    if (!r)
        return run_stage(c, target, handler, FFI_INSTANTIATE, &frame);
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&r->executable->states_lock);
    struct pjrt_call_state *s = r->executable->states;
    while (s && !(s->m == c->m && IR_SAME(s->op, c->op)))
        s = s->next;
    if (!s) {
        s = pjrt_alloc(1, sizeof *s);
        status = s ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
        if (s) {
            c->context.states[FFI_INSTANTIATE] = &s->state;
            status = run_stage(c, target, handler, FFI_INSTANTIATE, &frame);
            *s = (struct pjrt_call_state){r->executable->states, c->m, c->op, s->state};
            if (status == HILO_OK)
                r->executable->states = s;
            else {
                pjrt_ffi_delete(s->state.type, s->state.value);
                c->context.states[FFI_INSTANTIATE] = NULL;
                free(s);
            }
        }
    }
    if (status == HILO_OK)
        c->context.states[FFI_INSTANTIATE] = &s->state;
    pthread_mutex_unlock(&r->executable->states_lock);
    return status;
}

static hilo_status run_handlers(struct call *c, struct str target, const struct ffi_handlers *h, struct view *in,
                                struct view *out) {
    struct ffi_frame frame = {.struct_size = offsetof(struct ffi_frame, future), /* as the interface counts */
                              .api = &pjrt_ffi_api, .context = &c->context};
    struct ffi_state states[FFI_EXECUTE] = {{0, NULL}};
    HILO_TRY(view_make(c, in, &frame.arguments));
    HILO_TRY(view_make(c, out, &frame.results));
    HILO_TRY(call_attrs(c, &frame.attrs));
    for (uint32_t i = 0; i < in->n; i++)
        if (in->strided[i])
            reorder(in->values[i], in->values[i]->data, in->buffers[i].data, in->strides[i], false);
    copy_aliases(c, in, out);
    hilo_status status = instantiate(c, target, h->stages[FFI_INSTANTIATE], frame, &states[FFI_INSTANTIATE]);
    for (int stage = FFI_PREPARE; stage <= FFI_EXECUTE && status == HILO_OK; stage++) {
        if (stage < FFI_EXECUTE)
            c->context.states[stage] = &states[stage];
        status = run_stage(c, target, h->stages[stage], (enum ffi_stage)stage, &frame);
    }
    for (int stage = 0; stage < FFI_EXECUTE; stage++)
        pjrt_ffi_delete(states[stage].type, states[stage].value);
    HILO_TRY(status);
    for (uint32_t i = 0; i < out->n; i++)
        if (out->strided[i])
            reorder(out->values[i], out->values[i]->data, out->buffers[i].data, out->strides[i], true);
    return HILO_OK;
}

static hilo_status make_result(struct call *c, uint32_t i, struct value **out) {
    const hilo_allocator *al = rt_client_allocator(c->client->hilo);
    const struct ir_type_data *t = ir_type_get(c->m, ir_val_get(c->m, ir_result(c->m, c->op, i))->type);
    if (t->kind == IR_TYPE_TOKEN)
        return value_token(al, out);
    if (t->kind != IR_TYPE_TENSOR)
        return ir_op_error(c->m, c->d, c->op, HILO_UNIMPLEMENTED, NULL, "has a result that is neither a tensor nor a token");
    for (uint32_t k = 0; k < t->rank; k++)
        if (t->dims[k] < 0)
            return ir_op_error(c->m, c->d, c->op, HILO_UNIMPLEMENTED, NULL, "has a result of unknown shape");
    return value_tensor(al, t->dtype, t->dims, t->rank, out);
}

static hilo_status on_call(void *user, struct str target, const struct ir_module *m, ir_op op, struct value *const *in,
                           uint32_t nin, struct value **results, uint32_t nresults, struct diag_list *d) {
    struct pjrt_client *client = user;
    struct ffi_handlers handlers;
    if (!pjrt_ffi_find(target, &handlers))
        return HILO_UNIMPLEMENTED;
    struct call c = {.client = client, .m = m, .op = op, .d = d,
                     .context = {.client = client, .running = pthread_getspecific(client->running)}};
    struct view operands = {.slot = IR_CUSTOM_CALL_operand_layouts, .n = nin, .values = in};
    struct view outputs = {.slot = IR_CUSTOM_CALL_result_layouts, .n = nresults, .values = results};
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < nin && status == HILO_OK; i++)
        if (in[i]->kind != EVAL_TENSOR && in[i]->kind != EVAL_TOKEN)
            status = ir_op_error(m, d, op, HILO_UNIMPLEMENTED, NULL, "has an operand that is neither a tensor nor a token");
    for (uint32_t i = 0; i < nresults && status == HILO_OK; i++)
        status = make_result(&c, i, &results[i]);
    if (status == HILO_OK)
        status = run_handlers(&c, target, &handlers, &operands, &outputs);
    call_free(&c);
    return status;
}

void pjrt_call_init(struct pjrt_client *c) {
    rt_client_on_custom_call(c->hilo, on_call, c);
}
