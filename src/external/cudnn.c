/* cuDNN 9: convolutions, and their gradients, on a GPU.
 *
 * It is asked through its interface for graphs of operations, of which there is one: a convolution, its gradient towards the
 * input, or towards the window. StableHLO has convolutions alone, so the operation is found from the shape: a dilated input or
 * a reversed window are those of a gradient towards the input, and where features of the input are further apart in memory than
 * images, both have changed places, as in a gradient towards the window. Of the engines that its heuristics name the first is
 * taken whose notes exclude nothing that is required here: the same bits each time, sums of products of the elements as they
 * are. It depends on the shape, the device and the version of the library alone. */
#include "external/cudnn.h"

#include "external/external.h"
#include "external/handle.h"

#include <stdio.h>

enum {
#define VALUE(name, value) name = value,
#include "external/cudnn.def"
};
enum { ALIGN = 16, WORKSPACE_ALIGN = 256, MOST_WORKSPACE = 128 << 20, MOST_CONFIGS = 16, MOST_NOTES = 32, MOST_RANK = 5 };

struct cudnn {
    size_t (*version)(void);
    const char *(*error)(int status);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*stream)(void *handle, void *stream);
    int (*make)(int type, void **descriptor);
    int (*end)(void *descriptor);
    int (*set)(void *descriptor, int attribute, int type, int64_t n, const void *values);
    int (*get)(void *descriptor, int attribute, int type, int64_t room, int64_t *n, void *values);
    int (*finalize)(void *descriptor);
    int (*execute)(void *handle, void *plan, void *pack);
};
#define FUNCTION(name, field) {"cudnn" name, offsetof(struct cudnn, field), false}
static const struct ext_function cudnn_functions[] = {
    FUNCTION("GetVersion", version),
    FUNCTION("GetErrorString", error),
    FUNCTION("Create", create),
    FUNCTION("Destroy", destroy),
    FUNCTION("SetStream", stream),
    FUNCTION("BackendCreateDescriptor", make),
    FUNCTION("BackendDestroyDescriptor", end),
    FUNCTION("BackendSetAttribute", set),
    FUNCTION("BackendGetAttribute", get),
    FUNCTION("BackendFinalize", finalize),
    FUNCTION("BackendExecute", execute),
};

static struct {
    pthread_once_t once;
    struct cudnn table;
    struct ext_opened opened;
} cudnn_state = {.once = PTHREAD_ONCE_INIT};

static void cudnn_open(void) {
    static const char *const names[] = {"libcudnn.so.9", NULL};
    if (ext_open("HILO_CUDNN_PATH", names, cudnn_functions, sizeof cudnn_functions / sizeof *cudnn_functions,
                 &cudnn_state.table, &cudnn_state.opened))
        snprintf(cudnn_state.opened.version, sizeof cudnn_state.opened.version, "%zu", cudnn_state.table.version());
}

const struct ext_opened *ext_open_cudnn(void) {
    pthread_once(&cudnn_state.once, cudnn_open);
    return &cudnn_state.opened;
}

static hilo_status check(int error, const char *call, struct diag_list *d) {
    return error ? diag_error(d, HILO_INTERNAL, "cudnn%s: %s", call, cudnn_state.table.error(error)) : HILO_OK;
}

static hilo_status cudnn_make(struct gpu *g, struct diag_list *d, void **out) {
    const struct cudnn *l = &cudnn_state.table;
    const struct ext_handle_maker m = {l->create, l->destroy, l->stream, check, "Create", "SetStream"};
    return ext_handle_make(g, &m, d, out);
}

static const struct gpu_library cudnn_library = {cudnn_make, ext_handle_release};

/* ---- which operation a convolution is --------------------------------------------------------- */

enum kind { FORWARD, TO_INPUT, TO_WINDOW, KINDS };
enum tensor { LEFT, RIGHT, RESULT, TENSORS }; /* of the convolution; their unique numbers */

/* The attributes of an operation: of its tensors, its shape, and the factors of what is computed and what was there. */
static const struct { int descriptor, tensor[TENSORS], shape, alpha, beta; } operations[KINDS] = {
    [FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                 {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [TO_INPUT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                  {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX},
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [TO_WINDOW] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                   {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW},
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/* As the library has it: dimensions are images (or features of a result), features, spatial ones. */
struct problem {
    enum kind kind;
    int64_t rank, mode;
    struct { int64_t size[MOST_RANK], step[MOST_RANK]; } tensor[TENSORS];
    int64_t low[MOST_RANK - 2], high[MOST_RANK - 2], stride[MOST_RANK - 2], dilation[MOST_RANK - 2];
};

/* Windows that are reversed in all dimensions of which they have more than one place, or in none. */
static bool one_mode(const struct conv *v, bool *reversed) {
    bool any[2] = {false, false};
    for (uint32_t i = 0; i < v->nspatial; i++)
        any[v->dim[i].reverse != 0] |= v->dim[i].window > 1;
    *reversed = any[1];
    return !(any[0] && any[1]);
}

static bool is_kind(const struct conv *v, enum kind kind, bool reversed) {
    bool dense = true, single = true; /* the input is not dilated; windows move by one */
    for (uint32_t i = 0; i < v->nspatial; i++) {
        dense = dense && v->dim[i].base == 1;
        single = single && v->dim[i].stride == 1;
    }
    return kind == FORWARD    ? dense && v->batch_groups == 1
           : kind == TO_INPUT ? single && v->batch_groups == 1
                              : dense && v->feature_groups == 1 && !reversed;
}

/* What it most likely is. */
static enum kind likely(const struct conv *v, bool reversed) {
    if (v->batch_groups > 1 || v->in_feature > v->in_batch)
        return TO_WINDOW;
    for (uint32_t i = 0; i < v->nspatial; i++)
        reversed |= v->dim[i].base > 1;
    return reversed ? TO_INPUT : FORWARD;
}

static void put(struct problem *p, enum tensor t, int64_t i, int64_t size, int64_t step) {
    p->tensor[t].size[i] = size;
    p->tensor[t].step[i] = step;
}

/* Images and features. False where groups of the window are not laid out so that strides can say it. */
static bool put_features(struct problem *p, const struct conv *v) {
    int64_t groups = v->feature_groups, features = groups * v->group_in, results = groups * v->batch_groups * v->group_out;
    if (p->kind == TO_WINDOW) {
        put(p, LEFT, 0, v->group_in, v->in_feature);
        put(p, LEFT, 1, v->batch_groups * v->out_batch, v->in_batch);
        put(p, RIGHT, 0, v->group_in, v->w_in);
        put(p, RIGHT, 1, results, v->w_out);
        put(p, RESULT, 0, results, v->out_feature);
        put(p, RESULT, 1, v->out_batch, v->out_batch_step);
        return true;
    }
    put(p, LEFT, 0, v->out_batch, v->in_batch);
    put(p, LEFT, 1, features, v->in_feature);
    put(p, RESULT, 0, v->out_batch, v->out_batch_step);
    put(p, RESULT, 1, results, v->out_feature);
    if (p->kind == FORWARD) {
        put(p, RIGHT, 0, results, v->w_out);
        put(p, RIGHT, 1, v->group_in, v->w_in);
        return true;
    }
    int64_t next = v->group_out * v->w_out; /* from a group to the next */
    put(p, RIGHT, 0, features, v->group_in == 1 ? next : v->w_in);
    put(p, RIGHT, 1, v->group_out, v->w_out);
    return groups == 1 || v->group_in == 1 || v->group_in * v->w_in == next;
}

/* The padding behind, of the convolution or that whose gradient it is: as much as makes the sizes fit, which round down. */
static bool put_padding(struct problem *p, int i, int64_t in, int64_t window, int64_t out, int64_t low) {
    int64_t span = (window - 1) * p->dilation[i] + 1, high = (out - 1) * p->stride[i] + span - low - in;
    p->low[i] = low;
    p->high[i] = high < 0 ? 0 : high;
    return low >= 0 && high > -p->stride[i];
}

static bool put_spatial(struct problem *p, int i, const struct conv_dim *d) {
    put(p, LEFT, i + 2, d->in, d->in_step);
    put(p, RIGHT, i + 2, d->window, d->w_step);
    put(p, RESULT, i + 2, d->out, d->out_step);
    p->stride[i] = p->kind == TO_INPUT ? d->base : p->kind == TO_WINDOW ? d->dilation : d->stride;
    p->dilation[i] = p->kind == TO_WINDOW ? d->stride : d->dilation;
    switch (p->kind) {
    case TO_INPUT:
        return put_padding(p, i, d->out, d->window, d->in, (d->window - 1) * d->dilation - d->low);
    case TO_WINDOW:
        return put_padding(p, i, d->in, d->out, d->window, d->low);
    default:
        return put_padding(p, i, d->in, d->window, d->out, d->low);
    }
}

/* False where it is none of that kind, or one that the library does not have. */
static bool read_problem(const struct conv *v, enum kind kind, bool reversed, struct problem *p) {
    static const struct conv_dim none = {.in = 1, .window = 1, .out = 1, .stride = 1, .base = 1, .dilation = 1};
    bool flips_window = kind != TO_WINDOW && reversed == (kind == FORWARD);
    *p = (struct problem){.kind = kind, .mode = flips_window ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION};
    if (!is_kind(v, kind, reversed) || !put_features(p, v))
        return false;
    int n = 0;
    if (v->nspatial == 1) { /* it has two or three */
        struct conv_dim first = none;
        first.in_step = v->dim[0].in * v->dim[0].in_step;
        first.w_step = v->dim[0].window * v->dim[0].w_step;
        first.out_step = v->dim[0].out * v->dim[0].out_step;
        (void)put_spatial(p, n++, &first);
    }
    for (uint32_t i = 0; i < v->nspatial; i++)
        if (!put_spatial(p, n++, &v->dim[i]))
            return false;
    p->rank = n + 2;
    for (int t = 0; t < TENSORS; t++)
        for (int i = 0; i < p->rank; i++)
            if (p->tensor[t].size[i] < 1)
                return false;
    return true;
}

/* ---- descriptors ------------------------------------------------------------------------------ */

enum { MOST_KEPT = TENSORS + 3 + 2 * (2 * MOST_CONFIGS + 1) + 1 };

struct convolution {
    struct ext_convolution c;
    struct ext_handle *handle; /* the device's; its lock is held while the library is called */
    size_t workspace_bytes;
    void *plan, *kept[MOST_KEPT]; /* descriptors, in the order in which they were made: later ones are made of earlier ones */
    uint32_t nkept;
};

static int data_type(enum ir_dtype t) {
    return t == IR_F16_T ? CUDNN_DATA_HALF : t == IR_BF16_T ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

static hilo_status make(struct convolution *x, int type, struct diag_list *d, void **out) {
    HILO_TRY(check(cudnn_state.table.make(type, out), "BackendCreateDescriptor", d));
    x->kept[x->nkept++] = *out;
    return HILO_OK;
}

/* The attributes of a descriptor. */
struct attribute {
    int name, type;
    int64_t n;
    const void *values;
};

static hilo_status describe(void *descriptor, const struct attribute *v, size_t n, struct diag_list *d) {
    int error = 0;
    for (size_t i = 0; i < n && !error; i++)
        error = cudnn_state.table.set(descriptor, v[i].name, v[i].type, v[i].n, v[i].values);
    HILO_TRY(check(error, "BackendSetAttribute", d));
    return check(cudnn_state.table.finalize(descriptor), "BackendFinalize", d);
}
#define DESCRIBE(descriptor, v, d) describe(descriptor, v, sizeof(v) / sizeof *(v), d)

static hilo_status make_tensor(struct convolution *x, const struct problem *p, enum tensor t, struct diag_list *d, void **out) {
    const int type = data_type(x->c.shape.in);
    const int64_t align = ALIGN, number = t;
    const struct attribute v[] = {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
                                  {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, p->rank, p->tensor[t].size},
                                  {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, p->rank, p->tensor[t].step},
                                  {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number},
                                  {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align}};
    HILO_TRY(make(x, CUDNN_BACKEND_TENSOR_DESCRIPTOR, d, out));
    return DESCRIBE(*out, v, d);
}

static hilo_status make_shape(struct convolution *x, const struct problem *p, struct diag_list *d, void **out) {
    const int compute = CUDNN_DATA_FLOAT, mode = (int)p->mode;
    const int64_t n = p->rank - 2;
    const struct attribute v[] = {{CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &n},
                                  {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute},
                                  {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
                                  {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, n, p->low},
                                  {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, n, p->high},
                                  {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, n, p->stride},
                                  {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, n, p->dilation}};
    HILO_TRY(make(x, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, d, out));
    return DESCRIBE(*out, v, d);
}

/* The graph of the operation. */
static hilo_status make_graph(struct convolution *x, const struct problem *p, struct diag_list *d, void **out) {
    static const float one = 1, zero = 0;
    const int *names = operations[p->kind].tensor;
    void *tensor[TENSORS], *shape, *operation;
    for (int t = 0; t < TENSORS; t++)
        HILO_TRY(make_tensor(x, p, (enum tensor)t, d, &tensor[t]));
    HILO_TRY(make_shape(x, p, d, &shape));
    const struct attribute v[] = {{names[LEFT], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor[LEFT]},
                                  {names[RIGHT], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor[RIGHT]},
                                  {names[RESULT], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor[RESULT]},
                                  {operations[p->kind].shape, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &shape},
                                  {operations[p->kind].alpha, CUDNN_TYPE_FLOAT, 1, &one},
                                  {operations[p->kind].beta, CUDNN_TYPE_FLOAT, 1, &zero}};
    HILO_TRY(make(x, operations[p->kind].descriptor, d, &operation));
    HILO_TRY(DESCRIBE(operation, v, d));
    const struct attribute whole[] = {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &x->handle->handle},
                                      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation}};
    HILO_TRY(make(x, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, d, out));
    return DESCRIBE(*out, whole, d);
}

/* ---- engines ---------------------------------------------------------------------------------- */

/* Whether an engine gives the same bits each time, by sums of products of the elements as they are; those of f32 on matrix
   units would round them. Notes that are not known exclude it. */
static bool suits(const int *notes, int64_t n, enum ir_dtype type) {
    for (int64_t i = 0; i < n; i++)
        if (notes[i] != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP &&
            !(notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && type != IR_F32_T))
            return false;
    return true;
}

/* Whether the configuration's engine does; unless some call fails. */
static hilo_status is_suitable(struct convolution *x, void *config, struct diag_list *d, bool *out) {
    const struct cudnn *l = &cudnn_state.table;
    void *engine;
    int notes[MOST_NOTES];
    int64_t n = 0;
    HILO_TRY(make(x, CUDNN_BACKEND_ENGINE_DESCRIPTOR, d, &engine));
    int error = l->get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine);
    if (!error)
        error = l->get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &n, notes);
    *out = !error && n <= MOST_NOTES && suits(notes, n, x->c.shape.in);
    return check(error, "BackendGetAttribute", d);
}

/* The plan of a configuration; UNIMPLEMENTED where it takes too much memory. */
static hilo_status make_plan(struct convolution *x, void *config, struct diag_list *d) {
    const struct cudnn *l = &cudnn_state.table;
    const struct attribute v[] = {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &x->handle->handle},
                                  {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config}};
    void *plan;
    int64_t bytes = 0, n = 0;
    HILO_TRY(check(l->make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan), "BackendCreateDescriptor", d));
    hilo_status status = DESCRIBE(plan, v, d);
    if (status == HILO_OK)
        status = check(l->get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &bytes),
                       "BackendGetAttribute", d);
    if (status == HILO_OK && (bytes < 0 || bytes > MOST_WORKSPACE))
        status = HILO_UNIMPLEMENTED;
    if (status != HILO_OK) {
        (void)l->end(plan);
        return status;
    }
    x->plan = plan;
    x->workspace_bytes = (size_t)bytes;
    return HILO_OK;
}

/* The first configuration of a heuristic that suits; UNIMPLEMENTED where none does. */
static hilo_status choose(struct convolution *x, void *graph, int mode, struct diag_list *d) {
    const struct cudnn *l = &cudnn_state.table;
    const struct attribute v[] = {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
                                  {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode}};
    void *heuristic, *configs[MOST_CONFIGS];
    int64_t n = 0;
    HILO_TRY(make(x, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, d, &heuristic));
    HILO_TRY(DESCRIBE(heuristic, v, d));
    int error = l->get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL);
    int64_t most = n < MOST_CONFIGS ? n : MOST_CONFIGS;
    for (int64_t i = 0; i < most && !error; i++)
        HILO_TRY(make(x, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, d, &configs[i]));
    if (!error && most > 0)
        error = l->get(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &n, configs);
    HILO_TRY(check(error, "BackendGetAttribute", d));
    for (int64_t i = 0; i < n && i < most; i++) {
        bool suitable;
        HILO_TRY(is_suitable(x, configs[i], d, &suitable));
        if (suitable && make_plan(x, configs[i], d) == HILO_OK)
            return HILO_OK;
    }
    return diag_error(d, HILO_UNIMPLEMENTED, "no engine of cuDNN suits");
}

static void drop(struct convolution *x) {
    if (x->plan)
        (void)cudnn_state.table.end(x->plan);
    while (x->nkept)
        (void)cudnn_state.table.end(x->kept[--x->nkept]);
    x->plan = NULL;
}

static hilo_status prepare_as(struct convolution *x, const struct problem *p, struct diag_list *d) {
    void *graph;
    hilo_status status = make_graph(x, p, d, &graph);
    if (status == HILO_OK)
        status = choose(x, graph, CUDNN_HEUR_MODE_A, d);
    if (status == HILO_UNIMPLEMENTED)
        status = choose(x, graph, CUDNN_HEUR_MODE_FALLBACK, d);
    if (status != HILO_OK)
        drop(x);
    return status;
}

/* As what it most likely is; where no engine does that, as one of the others that it may be. */
static hilo_status prepare(struct convolution *x, struct diag_list *d) {
    const struct conv *v = &x->c.shape;
    bool reversed;
    struct problem p;
    bool typed = v->out == v->in && (v->in == IR_F32_T || v->in == IR_F16_T || v->in == IR_BF16_T);
    if (typed && one_mode(v, &reversed) && v->nspatial >= 1 && v->nspatial <= MOST_RANK - 2) {
        enum kind first = likely(v, reversed);
        for (int i = 0; i < KINDS; i++)
            if (read_problem(v, (enum kind)(((int)first + i) % KINDS), reversed, &p) && prepare_as(x, &p, d) == HILO_OK)
                return HILO_OK;
    }
    return diag_error(d, HILO_UNIMPLEMENTED, "a convolution that cuDNN does not have");
}

hilo_status ext_convolution_prepare(const struct ext_convolution *c, struct gpu *g, struct diag_list *d, void **out) {
    const hilo_allocator al = mem_system_allocator();
    const char *why = ext_missing(LIB_CUDNN);
    void *handle, *stream;
    if (why)
        return diag_error(d, HILO_UNAVAILABLE, "no cuDNN: %s", why);
    HILO_TRY(gpu_library(g, &cudnn_library, d, &handle));
    HILO_TRY(gpu_stream(g, d, &stream)); /* its context */
    struct convolution *x = mem_alloc(&al, sizeof *x);
    if (!x)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *x = (struct convolution){.c = *c, .handle = handle};
    pthread_mutex_lock(&x->handle->lock);
    hilo_status status = prepare(x, d);
    pthread_mutex_unlock(&x->handle->lock);
    if (status == HILO_OK)
        *out = x;
    else
        ext_convolution_release(x);
    return status;
}

void ext_convolution_release(void *state) {
    const hilo_allocator al = mem_system_allocator();
    drop(state);
    mem_free(&al, state, sizeof(struct convolution));
}

size_t ext_convolution_workspace(const void *state) {
    const struct convolution *x = state;
    return x->workspace_bytes ? x->workspace_bytes + WORKSPACE_ALIGN : 0;
}

static bool is_aligned(const void *p) {
    return (uintptr_t)p % ALIGN == 0;
}

static hilo_status execute(struct convolution *x, void *const *addresses, void *workspace, struct diag_list *d) {
    static const int64_t numbers[TENSORS] = {LEFT, RIGHT, RESULT};
    const struct cudnn *l = &cudnn_state.table;
    const struct attribute v[] = {{CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, TENSORS, addresses},
                                  {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, TENSORS, numbers},
                                  {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace}};
    void *pack;
    HILO_TRY(check(l->make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack), "BackendCreateDescriptor", d));
    hilo_status status = DESCRIBE(pack, v, d);
    if (status == HILO_OK)
        status = check(l->execute(x->handle->handle, x->plan, pack), "BackendExecute", d);
    (void)l->end(pack);
    return status;
}

hilo_status ext_convolution_run(void *state, void *stream, void *const *buffers, void *workspace, struct diag_list *d) {
    struct convolution *x = state;
    void *const addresses[TENSORS] = {buffers[x->c.a], buffers[x->c.b], buffers[x->c.out]};
    if (!is_aligned(addresses[LEFT]) || !is_aligned(addresses[RIGHT]) || !is_aligned(addresses[RESULT]) ||
        addresses[RESULT] == addresses[LEFT] || addresses[RESULT] == addresses[RIGHT])
        return HILO_UNIMPLEMENTED;
    (void)stream; /* that of the handle */
    uintptr_t at = ((uintptr_t)workspace + WORKSPACE_ALIGN - 1) & ~(uintptr_t)(WORKSPACE_ALIGN - 1);
    pthread_mutex_lock(&x->handle->lock);
    hilo_status status = execute(x, addresses, x->workspace_bytes ? (void *)at : NULL, d);
    pthread_mutex_unlock(&x->handle->lock);
    return status;
}
