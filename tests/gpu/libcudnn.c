/* A stand-in for cuDNN's interface for graphs of operations, on top of that for the driver (libcuda.c), in whose streams its
 * convolutions and their gradients run, by sums in f64. It checks what the library's documentation demands: descriptors that
 * have all their attributes, of the right types, before they are finalized, and that none of them is used before; the sizes of
 * a convolution; memory of all that is read and written, its alignment, and the workspace. Its heuristics name engines whose
 * results differ from run to run, that round the elements, or transform them, before the plain one; running one of those ends
 * the process. It reports "convolutions N toward inputs N toward windows N handles N" (library.h). */
#include "base/fp.h"

#define FAKE_NAME "cuDNN"
#define FAKE_VARIABLE "CUDNN"
#include "gpu/library.h"

enum {
#define VALUE(name, value) name = value,
#include "external/cudnn.def"
};
enum { OK = 0, NOT_INITIALIZED = 1001, BAD_PARAM = 2000, NOT_SUPPORTED = 3000, EXECUTION_FAILED = 5000 };
enum { MOST_ATTRIBUTES = 8, MOST_VALUES = 8, WORKSPACE = 512, MOST_RANK = 5 };
/* What its heuristics name; the first three are not to be run. CHEAP: on matrix units, which round f32. */
enum engine { ATOMIC, WINOGRAD, CHEAP, PLAIN, ENGINES };

/* Of a kind of attribute. */
union value {
    int64_t i[MOST_VALUES];
    int32_t e[MOST_VALUES];
    float f;
    void *p[MOST_VALUES];
};

struct descriptor {
    const void *mark;
    int type, n, engine;
    bool whole; /* finalized */
    struct attribute { int name; int64_t n; union value v; } v[MOST_ATTRIBUTES];
};

static struct { int forward, to_input, to_window, handles; } seen;

EXPORT size_t cudnnGetVersion(void);
EXPORT const char *cudnnGetErrorString(int status);
EXPORT int cudnnCreate(void **handle);
EXPORT int cudnnDestroy(void *handle);
EXPORT int cudnnSetStream(void *handle, void *stream);
EXPORT int cudnnBackendCreateDescriptor(int type, void **descriptor);
EXPORT int cudnnBackendDestroyDescriptor(void *descriptor);
EXPORT int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *values);
EXPORT int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t room, int64_t *n, void *values);
EXPORT int cudnnBackendFinalize(void *descriptor);
EXPORT int cudnnBackendExecute(void *handle, void *plan, void *pack);

size_t cudnnGetVersion(void) {
    return 91900;
}

const char *cudnnGetErrorString(int status) {
    return status == NOT_SUPPORTED      ? "CUDNN_STATUS_NOT_SUPPORTED"
           : status == EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
                                        : "CUDNN_STATUS_BAD_PARAM";
}

int cudnnCreate(void **handle) {
    int error = handle_create(handle, NOT_INITIALIZED);
    count(&seen.handles, !error);
    return error;
}

int cudnnDestroy(void *handle) {
    return handle_destroy(handle);
}

int cudnnSetStream(void *handle, void *stream) {
    return handle_set_stream(handle, stream, BAD_PARAM);
}

/* ---- descriptors ------------------------------------------------------------------------------ */

/* What descriptors of a type must have: attributes of a name and a type, and whether of several values. */
static const struct { int type, name, of; bool several; } attributes[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, false},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, false},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, false},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, false},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, false},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, false},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, true},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, true},
#define OPERATION(descriptor, prefix, x, w, y)                                                     \
    {descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, false}, \
    {descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##x, CUDNN_TYPE_BACKEND_DESCRIPTOR, false},       \
    {descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##w, CUDNN_TYPE_BACKEND_DESCRIPTOR, false},       \
    {descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##y, CUDNN_TYPE_BACKEND_DESCRIPTOR, false},       \
    {descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA, CUDNN_TYPE_FLOAT, false},                  \
    {descriptor, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA, CUDNN_TYPE_FLOAT, false}
    OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, FORWARD, X, W, Y),
    OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, BWD_DATA, DX, W, DY),
    OPERATION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, BWD_FILTER, X, DW, DY),
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, false},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, false},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, false},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, false},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, false},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, false},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, false},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

static struct descriptor *descriptor_of(void *p) {
    struct descriptor *x = p;
    if (!x || x->mark != &seen)
        misuse("a descriptor that is none");
    return x;
}

static size_t bytes_of(int type) {
    return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE ||
                   type == CUDNN_TYPE_BACKEND_DESCRIPTOR
               ? 8
               : 4;
}

/* An attribute that is there. */
static const struct attribute *get(const struct descriptor *x, int name) {
    for (int i = 0; i < x->n; i++)
        if (x->v[i].name == name)
            return &x->v[i];
    misuse("an attribute that is not there");
    return NULL;
}

/* What an attribute refers to. */
static struct descriptor *get_one(const struct descriptor *x, int name, int type) {
    struct descriptor *to = descriptor_of(get(x, name)->v.p[0]);
    if (to->type != type || !to->whole)
        misuse("a descriptor of another type, or one that is not finalized");
    return to;
}

int cudnnBackendCreateDescriptor(int type, void **descriptor) {
    if (fails())
        return BAD_PARAM;
    struct descriptor *x = calloc(1, sizeof *x);
    *x = (struct descriptor){.mark = &seen, .type = type};
    *descriptor = x;
    count(&fake.live, 1);
    return OK;
}

int cudnnBackendDestroyDescriptor(void *descriptor) {
    struct descriptor *x = descriptor_of(descriptor);
    x->mark = NULL;
    free(x);
    count(&fake.live, -1);
    return OK;
}

int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *values) {
    struct descriptor *x = descriptor_of(descriptor);
    int i = 0;
    while (i < ATTRIBUTES && !(attributes[i].type == x->type && attributes[i].name == name))
        i++;
    if (i == ATTRIBUTES || attributes[i].of != type || (n != 1 && !attributes[i].several) || n < 1 || n > MOST_VALUES ||
        x->whole || x->n == MOST_ATTRIBUTES)
        misuse("an attribute that such a descriptor does not have");
    if (fails())
        return BAD_PARAM;
    struct attribute *a = &x->v[x->n++];
    *a = (struct attribute){.name = name, .n = n};
    memcpy(&a->v, values, (size_t)n * bytes_of(type));
    return OK;
}

/* ---- convolutions ----------------------------------------------------------------------------- */

/* Of the convolution, or that whose gradient it is: input, window, result. */
enum { X, W, Y, TENSORS };
struct tensor {
    int type;
    int64_t number, size[MOST_RANK], step[MOST_RANK];
    char *at;
};
struct problem {
    int operation, rank, compute;
    bool turned; /* windows are */
    struct tensor t[TENSORS];
    int64_t low[MOST_RANK], high[MOST_RANK], stride[MOST_RANK], dilation[MOST_RANK];
};

static const int operation_attributes[3][TENSORS + 3] = {
#define READ(prefix, x, w, y)                                                                          \
    {CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##x, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##w, \
     CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##y, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC, \
     CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA}
    READ(FORWARD, X, W, Y), READ(BWD_FILTER, X, DW, DY), READ(BWD_DATA, DX, W, DY)};

static void read_tensor(const struct descriptor *x, int rank, struct tensor *t) {
    const struct attribute *sizes = get(x, CUDNN_ATTR_TENSOR_DIMENSIONS), *steps = get(x, CUDNN_ATTR_TENSOR_STRIDES);
    *t = (struct tensor){.type = get(x, CUDNN_ATTR_TENSOR_DATA_TYPE)->v.e[0],
                         .number = get(x, CUDNN_ATTR_TENSOR_UNIQUE_ID)->v.i[0]};
    if (sizes->n != rank || steps->n != rank || get(x, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)->v.i[0] != 16)
        misuse("a tensor of another rank or alignment");
    for (int i = 0; i < rank; i++) {
        t->size[i] = sizes->v.i[i];
        t->step[i] = steps->v.i[i];
        if (t->size[i] < 1 || t->step[i] < 1)
            misuse("a tensor without elements or steps");
    }
}

static void read_spatial(const struct descriptor *shape, int name, int n, int64_t least, int64_t *to) {
    const struct attribute *a = get(shape, name);
    if (a->n != n)
        misuse("a number for each spatial dimension");
    for (int i = 0; i < n; i++)
        if ((to[i] = a->v.i[i]) < least)
            misuse("a shape that is none");
}

/* The problem of a finalized graph, whose sizes fit. */
static void read_problem(const struct descriptor *graph, struct problem *p) {
    const struct descriptor *op = descriptor_of(get(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->v.p[0]);
    const int *names = operation_attributes[op->type - CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR];
    const struct descriptor *shape = get_one(op, names[TENSORS], CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    int n = (int)get(shape, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)->v.i[0];
    if (!op->whole || n < 2 || n > 3 || get(op, names[TENSORS + 1])->v.f != 1 || get(op, names[TENSORS + 2])->v.f != 0)
        misuse("an operation that it does not have");
    *p = (struct problem){.operation = op->type, .rank = n + 2,
                          .compute = get(shape, CUDNN_ATTR_CONVOLUTION_COMP_TYPE)->v.e[0],
                          .turned = get(shape, CUDNN_ATTR_CONVOLUTION_CONV_MODE)->v.e[0] == CUDNN_CONVOLUTION};
    for (int t = 0; t < TENSORS; t++)
        read_tensor(get_one(op, names[t], CUDNN_BACKEND_TENSOR_DESCRIPTOR), p->rank, &p->t[t]);
    read_spatial(shape, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, n, 0, p->low);
    read_spatial(shape, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, n, 0, p->high);
    read_spatial(shape, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, n, 1, p->stride);
    read_spatial(shape, CUDNN_ATTR_CONVOLUTION_DILATIONS, n, 1, p->dilation);
    const struct tensor *x = &p->t[X], *w = &p->t[W], *y = &p->t[Y];
    int64_t groups = x->size[1] / w->size[1];
    if (x->size[0] != y->size[0] || w->size[0] != y->size[1] || x->size[1] % w->size[1] || w->size[0] % groups)
        misuse("images or features that do not fit");
    for (int i = 0; i < n; i++) {
        int64_t span = (w->size[i + 2] - 1) * p->dilation[i] + 1,
                room = x->size[i + 2] + p->low[i] + p->high[i] - span;
        if (room < 0 || room / p->stride[i] + 1 != y->size[i + 2])
            misuse("spatial sizes that do not fit");
    }
    if (p->compute != CUDNN_DATA_FLOAT || x->type != w->type || x->type != y->type || x->number == w->number ||
        x->number == y->number || w->number == y->number)
        misuse("types or numbers of tensors");
}

static double load(const struct tensor *t, int64_t at) {
    uint16_t h;
    float f;
    if (t->type == CUDNN_DATA_FLOAT)
        return memcpy(&f, t->at + 4 * at, sizeof f), (double)f;
    memcpy(&h, t->at + 2 * at, sizeof h);
    return (double)(t->type == CUDNN_DATA_HALF ? f16_to_f32(h) : bf16_to_f32(h));
}

static void store(const struct tensor *t, int64_t at, double x) {
    float f = (float)x;
    uint16_t h = t->type == CUDNN_DATA_HALF ? f32_to_f16(f) : f32_to_bf16(f);
    if (t->type == CUDNN_DATA_FLOAT)
        memcpy(t->at + 4 * at, &f, sizeof f);
    else
        memcpy(t->at + 2 * at, &h, sizeof h);
}

/* A convolution whose turn comes. */
struct task {
    struct problem p;
    char *workspace;
    double *sums; /* of the result's elements, dense */
};

static int64_t number_of(const struct tensor *t, int rank) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= t->size[i];
    return n;
}

/* The position of an element in a tensor, from its number. */
static void place(const struct tensor *t, int rank, int64_t n, int64_t *at) {
    for (int i = rank; i-- > 0; n /= t->size[i])
        at[i] = n % t->size[i];
}

static int64_t offset(const struct tensor *t, int rank, const int64_t *at, int64_t *dense) {
    int64_t n = 0;
    *dense = 0;
    for (int i = 0; i < rank; i++) {
        n += at[i] * t->step[i];
        *dense = *dense * t->size[i] + at[i];
    }
    return n;
}

static int result_of(const struct problem *p) {
    return p->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         ? Y
           : p->operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? X
                                                                                          : W;
}

/* The product of an element of the window and one of y's positions: added to that of the three that is the result. */
static void add_product(const struct task *k, const int64_t *w, const int64_t *y) {
    const struct problem *p = &k->p;
    int64_t groups = p->t[X].size[1] / p->t[W].size[1], x[MOST_RANK], dense[TENSORS], at[TENSORS];
    x[0] = y[0];
    x[1] = w[0] / (p->t[W].size[0] / groups) * p->t[W].size[1] + w[1];
    for (int i = 0; i + 2 < p->rank; i++) {
        int64_t tap = p->turned ? p->t[W].size[i + 2] - 1 - w[i + 2] : w[i + 2];
        x[i + 2] = y[i + 2] * p->stride[i] - p->low[i] + tap * p->dilation[i];
        if (x[i + 2] < 0 || x[i + 2] >= p->t[X].size[i + 2])
            return;
    }
    at[X] = offset(&p->t[X], p->rank, x, &dense[X]);
    at[W] = offset(&p->t[W], p->rank, w, &dense[W]);
    at[Y] = offset(&p->t[Y], p->rank, y, &dense[Y]);
    int out = result_of(p), a = out == X ? W : X, b = out == Y ? W : Y;
    k->sums[dense[out]] += load(&p->t[a], at[a]) * load(&p->t[b], at[b]);
}

static void run(void *user) {
    struct task *k = user;
    const struct problem *p = &k->p;
    const struct tensor *out = &p->t[result_of(p)];
    struct tensor places = p->t[Y]; /* of one feature */
    places.size[1] = 1;
    int64_t nw = number_of(&p->t[W], p->rank), ny = number_of(&places, p->rank), n = number_of(out, p->rank);
    int64_t w[MOST_RANK], y[MOST_RANK], dense;
    k->sums = calloc((size_t)n, sizeof *k->sums);
    for (int64_t i = 0; i < nw; i++) {
        place(&p->t[W], p->rank, i, w);
        for (int64_t j = 0; j < ny; j++) {
            place(&places, p->rank, j, y);
            y[1] = w[0];
            add_product(k, w, y);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        place(out, p->rank, i, y);
        store(out, offset(out, p->rank, y, &dense), k->sums[i]);
    }
    memset(k->workspace, 0x5A, WORKSPACE);
    free(k->sums);
    free(k);
}

/* ---- engines ---------------------------------------------------------------------------------- */

static bool is_graph(const struct descriptor *x) {
    return x->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
}

/* All attributes are there; graphs make sense. */
int cudnnBackendFinalize(void *descriptor) {
    struct descriptor *x = descriptor_of(descriptor);
    struct problem p;
    for (int i = 0; i < ATTRIBUTES; i++)
        if (attributes[i].type == x->type)
            (void)get(x, attributes[i].name);
    if (is_graph(x))
        read_problem(x, &p);
    if (fails())
        return NOT_SUPPORTED;
    x->whole = true;
    return OK;
}

/* Engines of a configuration have its graph and their own number. */
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t room, int64_t *n, void *values) {
    static const int notes[ENGINES][2] = {[ATOMIC] = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, -1},
                                          [WINOGRAD] = {CUDNN_NUMERICAL_NOTE_WINOGRAD, -1},
                                          [CHEAP] = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, -1},
                                          [PLAIN] = {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP, -1}};
    const struct descriptor *x = descriptor_of(descriptor);
    const int64_t bytes = WORKSPACE;
    if (fails())
        return NOT_SUPPORTED;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR && x->whole) {
        bool fallback = get(x, CUDNN_ATTR_ENGINEHEUR_MODE)->v.e[0] == CUDNN_HEUR_MODE_FALLBACK;
        *n = fallback ? 1 : ENGINES - 1; /* of a fast one the plain one is not among them */
        for (int64_t i = 0; i < *n && i < room; i++) {
            struct descriptor *config = descriptor_of(((void **)values)[i]);
            config->engine = fallback ? PLAIN : (int)i;
            config->whole = true;
            config->v[config->n++] = *get(x, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        }
    } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE && x->whole) {
        descriptor_of(*(void **)values)->engine = x->engine;
        descriptor_of(*(void **)values)->whole = true;
        *n = 1;
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE && x->whole) {
        *n = 1;
        memcpy(values, notes[x->engine], sizeof(int));
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 && x->whole) {
        *n = 1;
        memcpy(values, &bytes, sizeof bytes);
    } else {
        misuse("an attribute that is not asked of such a descriptor");
    }
    return OK;
}

/* The bytes of a tensor. */
static char *memory_of(const struct tensor *t, int rank, const struct descriptor *pack) {
    const struct attribute *numbers = get(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS),
                           *addresses = get(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    int64_t last = 0, i = 0;
    for (int d = 0; d < rank; d++)
        last += (t->size[d] - 1) * t->step[d];
    while (i < numbers->n && numbers->v.i[i] != t->number)
        i++;
    if (i == numbers->n || addresses->n != numbers->n || (uintptr_t)addresses->v.p[i] % 16)
        misuse("a tensor that is not in the pack, or not aligned");
    size_t bytes = (size_t)(last + 1) * (t->type == CUDNN_DATA_FLOAT ? 4 : 2);
    char *at = fake.cuda.bytes((uint64_t)(uintptr_t)addresses->v.p[i], bytes);
    if (!at)
        misuse("a tensor outside of device memory");
    return at;
}

int cudnnBackendExecute(void *handle, void *plan, void *pack) {
    const struct handle *h = handle_of(handle);
    const struct descriptor *x = descriptor_of(plan), *v = descriptor_of(pack);
    if (!x->whole || !v->whole || !h->stream || !fake.cuda.has_context())
        misuse("a plan that is not finalized, or without the context");
    const struct descriptor *config =
        get_one(x, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    struct task *k = calloc(1, sizeof *k);
    read_problem(descriptor_of(get(config, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->v.p[0]), &k->p);
    if (config->engine == ATOMIC || config->engine == WINOGRAD ||
        (config->engine == CHEAP && k->p.t[X].type == CUDNN_DATA_FLOAT))
        misuse("an engine that does not compute sums of products, or in any order");
    k->workspace = fake.cuda.bytes((uint64_t)(uintptr_t)get(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->v.p[0], WORKSPACE);
    if (!k->workspace)
        misuse("the workspace");
    for (int t = 0; t < TENSORS; t++)
        k->p.t[t].at = memory_of(&k->p.t[t], k->p.rank, v);
    if (fails()) {
        free(k);
        return EXECUTION_FAILED;
    }
    int out = result_of(&k->p);
    count(out == Y ? &seen.forward : out == X ? &seen.to_input : &seen.to_window, 1);
    fake.cuda.enqueue(h->stream, run, k);
    return OK;
}

__attribute__((destructor)) static void report(void) {
    report_line("convolutions %d toward inputs %d toward windows %d handles %d\n", seen.forward, seen.to_input, seen.to_window,
                seen.handles);
}
