/* oneDNN: opening it, and units of work.
 *
 * Versions 2 and 3 differ in how primitives are described: version 2 fills in the caller's structs, of which hilo only assumes
 * that they fit into DNN_DESCRIPTION_BYTES; version 3 returns handles. All else is the same.
 *
 * A unit has one primitive, made for one thread (OpenMP is set to one, for builds with it), and slots: what a call needs for
 * itself. A call claims a free slot, so that there are as many as concurrent calls, and runs after the first create none.
 */
#include "external/onednn.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

/* Numbers of the interface. */
enum { DNN_CPU = 1, DNN_IN_ORDER = 1, DNN_ANY = 1, DNN_USER_SCRATCHPAD = 1, DNN_INFERENCE = 96 };
enum { DNN_DIRECT = 1, DNN_MAX = 0x1ff, DNN_AVERAGE_OF_ALL = 0x2ff };
enum { DNN_BF16 = 2, DNN_F32 = 3, DNN_S32 = 4, DNN_S8 = 5 };
enum { DNN_ASK_NAME = 8, DNN_ASK_IN = 129, DNN_ASK_WEIGHTS = 131, DNN_ASK_OUT = 133, DNN_ASK_SCRATCHPAD = 136 };
enum { DNN_ARG_IN = 1, DNN_ARG_OUT = 17, DNN_ARG_WEIGHTS = 33, DNN_ARG_SCRATCHPAD = 80 };
enum { DNN_DIMS = 12, DNN_LAYOUT_BYTES = 1024, DNN_DESCRIPTION_BYTES = 16 << 10 /* at least as version 2 has them */ };
enum { DNN_SLOTS = 32 };

typedef int64_t dnn_dims[DNN_DIMS];
struct dnn_argument {
    int which;
    void *memory;
};
struct dnn_version {
    int major, minor, patch;
};

struct dnn {
    const struct dnn_version *(*version)(void);
    int (*engine_create)(void **engine, int kind, size_t index);
    int (*stream_create)(void **stream, void *engine, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*attr_create)(void **attr);
    int (*attr_scratchpad)(void *attr, int mode);
    int (*description_destroy)(void *pd);
    int (*query)(const void *pd, int what, int index, void *result);
    const void *(*query_layout)(const void *pd, int what, int index);
    int (*reorder)(void **pd, const void *from, void *from_engine, const void *to, void *to_engine, const void *attr);
    int (*primitive_create)(void **primitive, const void *pd);
    int (*primitive_execute)(const void *primitive, void *stream, int n, const struct dnn_argument *v);
    int (*primitive_destroy)(void *primitive);
    size_t (*layout_bytes)(const void *layout);
    int (*layout_equal)(const void *a, const void *b);
    int (*memory_create)(void **memory, const void *layout, void *engine, void *data);
    int (*memory_set)(void *memory, void *data);
    int (*memory_destroy)(void *memory);
    struct ext_omp omp;
    /* version 2 */
    int (*layout_strides)(void *layout, int rank, const dnn_dims dims, int type, const dnn_dims strides);
    int (*layout_tag)(void *layout, int rank, const dnn_dims dims, int type, int tag);
    int (*matmul)(void *description, const void *in, const void *weights, const void *bias, const void *out);
    int (*convolution)(void *description, int prop, int algorithm, const void *in, const void *weights, const void *bias,
                       const void *out, const dnn_dims strides, const dnn_dims dilates, const dnn_dims low,
                       const dnn_dims high);
    int (*pool)(void *description, int prop, int algorithm, const void *in, const void *out, const dnn_dims strides,
                const dnn_dims window, const dnn_dims dilates, const dnn_dims low, const dnn_dims high);
    int (*describe)(void **pd, const void *description, const void *attr, void *engine, const void *hint);
    /* version 3 */
    int (*layout_strides3)(void **layout, int rank, const dnn_dims dims, int type, const dnn_dims strides);
    int (*layout_tag3)(void **layout, int rank, const dnn_dims dims, int type, int tag);
    int (*layout_destroy3)(void *layout);
    int (*matmul3)(void **pd, void *engine, const void *in, const void *weights, const void *bias, const void *out,
                   const void *attr);
    int (*convolution3)(void **pd, void *engine, int prop, int algorithm, const void *in, const void *weights, const void *bias,
                        const void *out, const dnn_dims strides, const dnn_dims dilates, const dnn_dims low,
                        const dnn_dims high, const void *attr);
    int (*pool3)(void **pd, void *engine, int prop, int algorithm, const void *in, const void *out, const dnn_dims strides,
                 const dnn_dims window, const dnn_dims dilates, const dnn_dims low, const dnn_dims high, const void *attr);
    bool is3;
    void *engine, *attr;
};

#define FUNCTION(name, field, optional)                                                                                        \
    { "dnnl_" name, offsetof(struct dnn, field), optional }
static const struct ext_function dnn_functions[] = {
    FUNCTION("version", version, false),
    FUNCTION("engine_create", engine_create, false),
    FUNCTION("stream_create", stream_create, false),
    FUNCTION("stream_wait", stream_wait, false),
    FUNCTION("stream_destroy", stream_destroy, false),
    FUNCTION("primitive_attr_create", attr_create, false),
    FUNCTION("primitive_attr_set_scratchpad_mode", attr_scratchpad, false),
    FUNCTION("primitive_desc_destroy", description_destroy, false),
    FUNCTION("primitive_desc_query", query, false),
    FUNCTION("primitive_desc_query_md", query_layout, false),
    FUNCTION("reorder_primitive_desc_create", reorder, false),
    FUNCTION("primitive_create", primitive_create, false),
    FUNCTION("primitive_execute", primitive_execute, false),
    FUNCTION("primitive_destroy", primitive_destroy, false),
    FUNCTION("memory_desc_get_size", layout_bytes, false),
    FUNCTION("memory_desc_equal", layout_equal, false),
    FUNCTION("memory_create", memory_create, false),
    FUNCTION("memory_set_data_handle", memory_set, false),
    FUNCTION("memory_destroy", memory_destroy, false),
    EXT_OMP(struct dnn, omp),
    FUNCTION("memory_desc_init_by_strides", layout_strides, true),
    FUNCTION("memory_desc_init_by_tag", layout_tag, true),
    FUNCTION("matmul_desc_init", matmul, true),
    FUNCTION("dilated_convolution_forward_desc_init", convolution, true),
    FUNCTION("pooling_v2_forward_desc_init", pool, true),
    FUNCTION("primitive_desc_create", describe, true),
    FUNCTION("memory_desc_create_with_strides", layout_strides3, true),
    FUNCTION("memory_desc_create_with_tag", layout_tag3, true),
    FUNCTION("memory_desc_destroy", layout_destroy3, true),
    FUNCTION("matmul_primitive_desc_create", matmul3, true),
    FUNCTION("convolution_forward_primitive_desc_create", convolution3, true),
    FUNCTION("pooling_forward_primitive_desc_create", pool3, true),
};

/* ---- opening it ------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    struct dnn table;
    struct ext_opened opened;
} dnn_state = {.once = PTHREAD_ONCE_INIT};

static void dnn_open(void) {
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
    struct dnn *d = &dnn_state.table;
    struct ext_opened *o = &dnn_state.opened;
    if (!ext_open("HILO_ONEDNN_PATH", names, dnn_functions, sizeof dnn_functions / sizeof *dnn_functions, d, o))
        return;
    const struct dnn_version *v = d->version();
    snprintf(o->version, sizeof o->version, "%d.%d.%d", v->major, v->minor, v->patch);
    d->is3 = v->major == 3 && d->layout_strides3 && d->layout_tag3 && d->layout_destroy3 && d->matmul3 && d->convolution3 &&
             d->pool3;
    bool is2 = v->major == 2 && v->minor >= 6 && d->layout_strides && d->layout_tag && d->matmul && d->convolution && d->pool &&
               d->describe;
    if (!d->is3 && !is2)
        snprintf(o->why, sizeof o->why, "hilo knows versions 2.6 to 3, not %s", o->version);
    else if (d->engine_create(&d->engine, DNN_CPU, 0) || d->attr_create(&d->attr) ||
             d->attr_scratchpad(d->attr, DNN_USER_SCRATCHPAD))
        snprintf(o->why, sizeof o->why, "it cannot be started");
}

const struct ext_opened *ext_open_onednn(void) {
    pthread_once(&dnn_state.once, dnn_open);
    return &dnn_state.opened;
}

/* ---- descriptions ----------------------------------------------------------------------------- */

static int dnn_type(enum ir_dtype t) {
    return t == IR_F32_T ? DNN_F32 : t == IR_BF16_T ? DNN_BF16 : t == IR_I32_T ? DNN_S32 : DNN_S8;
}

static void layout_free(const struct dnn *d, void *layout) {
    hilo_allocator al = mem_system_allocator();
    if (layout && d->is3)
        d->layout_destroy3(layout);
    else if (layout)
        mem_free(&al, layout, DNN_LAYOUT_BYTES);
}

/* Of a tensor as stored in memory, or with `any` in a layout that is still to be chosen. */
static void *layout_new(const struct dnn *d, const struct dnn_tensor *t, bool any) {
    dnn_dims dims = {0}, strides = {0};
    hilo_allocator al = mem_system_allocator();
    void *layout = NULL;
    for (int i = 0; i < t->rank; i++) {
        dims[i] = t->dims[i];
        strides[i] = t->strides[i];
    }
    if (d->is3) {
        int failed = any ? d->layout_tag3(&layout, t->rank, dims, dnn_type(t->dtype), DNN_ANY)
                         : d->layout_strides3(&layout, t->rank, dims, dnn_type(t->dtype), strides);
        return failed ? NULL : layout;
    }
    layout = mem_alloc(&al, DNN_LAYOUT_BYTES);
    if (!layout)
        return NULL;
    memset(layout, 0, DNN_LAYOUT_BYTES);
    if (any ? d->layout_tag(layout, t->rank, dims, dnn_type(t->dtype), DNN_ANY)
            : d->layout_strides(layout, t->rank, dims, dnn_type(t->dtype), strides)) {
        layout_free(d, layout);
        return NULL;
    }
    return layout;
}

/* The primitive of a spec over these layouts; NULL when there is none, or only oneDNN's reference. */
static void *describe(const struct dnn *d, const struct dnn_spec *s, const void *in, const void *weights, const void *out) {
    dnn_dims stride = {0}, dilates = {0}, window = {0}, low = {0}, high = {0};
    _Alignas(64) char description[DNN_DESCRIPTION_BYTES] = {0};
    void *pd = NULL;
    int failed, algorithm = s->kind == DNN_CONVOLUTION ? DNN_DIRECT : s->kind == DNN_POOL_MAX ? DNN_MAX : DNN_AVERAGE_OF_ALL;
    for (int i = 0; i < DNN_MOST_PLACES; i++) {
        stride[i] = s->stride[i];
        dilates[i] = s->dilation[i] - 1;
        window[i] = s->window[i];
        low[i] = s->low[i];
        high[i] = s->high[i];
    }
    if (s->kind == DNN_MATMUL)
        failed = d->is3 ? d->matmul3(&pd, d->engine, in, weights, NULL, out, d->attr)
                        : d->matmul(description, in, weights, NULL, out);
    else if (s->kind == DNN_CONVOLUTION)
        failed =
            d->is3 ? d->convolution3(&pd, d->engine, DNN_INFERENCE, algorithm, in, weights, NULL, out, stride, dilates, low,
                                     high, d->attr)
                   : d->convolution(description, DNN_INFERENCE, algorithm, in, weights, NULL, out, stride, dilates, low, high);
    else
        failed = d->is3
                     ? d->pool3(&pd, d->engine, DNN_INFERENCE, algorithm, in, out, stride, window, dilates, low, high, d->attr)
                     : d->pool(description, DNN_INFERENCE, algorithm, in, out, stride, window, dilates, low, high);
    if (!failed && !d->is3)
        failed = d->describe(&pd, description, d->attr, d->engine, NULL);
    const char *name = "";
    if (failed)
        return NULL;
    if (d->query(pd, DNN_ASK_NAME, 0, &name) == 0 && strncmp(name, "ref", 3) != 0)
        return pd;
    d->description_destroy(pd);
    return NULL;
}

/* ---- units ------------------------------------------------------------------------------------ */

/* What one call needs. */
struct dnn_slot {
    void *stream, *in, *weights, *out, *scratchpad; /* memories */
    void *from, *to;                                /* the caller's, where they are reordered */
    char *memory;
    size_t bytes;
};

struct dnn_unit {
    const struct dnn *d;
    void *pd, *primitive;
    void *user_in, *user_weights, *user_out;             /* layouts, owned */
    const void *in_layout, *weights_layout, *out_layout; /* the primitive's */
    void *bring, *fetch, *pack;                          /* primitives that change orders; NULL = it is the same */
    size_t in_bytes, out_bytes, scratch_bytes, packed_bytes;
    atomic_uint busy; /* slots, by bit */
    struct dnn_slot slot[DNN_SLOTS];
};

/* From one order into another. */
static bool reorder_new(const struct dnn *d, const void *from, const void *to, void **out) {
    void *pd = NULL;
    *out = NULL;
    if (d->layout_equal(from, to))
        return true;
    if (d->reorder(&pd, from, d->engine, to, d->engine, NULL))
        return false;
    bool made = d->primitive_create(out, pd) == 0;
    d->description_destroy(pd);
    return made;
}

static bool unit_layouts(struct dnn_unit *u, const struct dnn_spec *s, const struct dnn_unit *like) {
    const struct dnn *d = u->d;
    bool weighs = s->kind == DNN_MATMUL || s->kind == DNN_CONVOLUTION;
    u->user_in = layout_new(d, &s->in, false);
    u->user_out = layout_new(d, &s->out, false);
    u->user_weights = weighs ? layout_new(d, &s->weights, false) : NULL;
    if (!u->user_in || !u->user_out || (weighs && !u->user_weights))
        return false;
    void *in = s->in.any ? layout_new(d, &s->in, true) : NULL, *out = s->out.any ? layout_new(d, &s->out, true) : NULL;
    void *weights = weighs && s->weights.any && !like ? layout_new(d, &s->weights, true) : NULL;
    bool fits = (in || !s->in.any) && (out || !s->out.any);
    if (fits)
        u->pd = describe(d, s, in ? in : u->user_in,
                         weights ? weights
                         : like  ? like->weights_layout
                                 : u->user_weights,
                         out ? out : u->user_out);
    layout_free(d, in);
    layout_free(d, out);
    layout_free(d, weights);
    if (!u->pd)
        return false;
    u->in_layout = d->query_layout(u->pd, DNN_ASK_IN, 0);
    u->out_layout = d->query_layout(u->pd, DNN_ASK_OUT, 0);
    u->weights_layout = weighs ? d->query_layout(u->pd, DNN_ASK_WEIGHTS, 0) : NULL;
    const void *scratchpad = d->query_layout(u->pd, DNN_ASK_SCRATCHPAD, 0);
    u->scratch_bytes = scratchpad ? d->layout_bytes(scratchpad) : 0;
    return u->in_layout && u->out_layout && (u->weights_layout || !weighs);
}

static bool unit_make(struct dnn_unit *u) {
    const struct dnn *d = u->d;
    if (d->primitive_create(&u->primitive, u->pd) || !reorder_new(d, u->user_in, u->in_layout, &u->bring) ||
        !reorder_new(d, u->out_layout, u->user_out, &u->fetch) ||
        (u->weights_layout && !reorder_new(d, u->user_weights, u->weights_layout, &u->pack)))
        return false;
    u->in_bytes = u->bring ? d->layout_bytes(u->in_layout) : 0;
    u->out_bytes = u->fetch ? d->layout_bytes(u->out_layout) : 0;
    u->packed_bytes = u->pack ? d->layout_bytes(u->weights_layout) : 0;
    return true;
}

static struct dnn_unit *unit_new(const struct dnn_spec *s, const struct dnn_unit *like, bool make) {
    hilo_allocator al = mem_system_allocator();
    struct dnn_unit *u = *ext_open_onednn()->why ? NULL : mem_alloc(&al, sizeof *u);
    if (!u)
        return NULL;
    memset(u, 0, sizeof *u);
    u->d = &dnn_state.table;
    atomic_init(&u->busy, 0);
    int threads = ext_omp_begin(&u->d->omp);
    bool made = unit_layouts(u, s, like) && (!make || unit_make(u));
    ext_omp_end(&u->d->omp, threads);
    if (made)
        return u;
    dnn_unit_free(u);
    return NULL;
}

struct dnn_unit *dnn_unit_look(const struct dnn_spec *s, const struct dnn_unit *like) {
    return unit_new(s, like, false);
}

struct dnn_unit *dnn_unit_new(const struct dnn_spec *s, const struct dnn_unit *like) {
    return unit_new(s, like, true);
}

bool dnn_can(const struct dnn_spec *s) {
    struct dnn_unit *u = dnn_unit_look(s, NULL);
    dnn_unit_free(u);
    return u != NULL;
}

static void slot_free(const struct dnn *d, struct dnn_slot *x) {
    hilo_allocator al = mem_system_allocator();
    void *const memories[] = {x->in, x->weights, x->out, x->scratchpad, x->from, x->to};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i])
            d->memory_destroy(memories[i]);
    if (x->stream)
        d->stream_destroy(x->stream);
    if (x->memory)
        mem_free(&al, x->memory, x->bytes);
    *x = (struct dnn_slot){0};
}

void dnn_unit_free(struct dnn_unit *u) {
    hilo_allocator al = mem_system_allocator();
    if (!u)
        return;
    const struct dnn *d = u->d;
    for (int i = 0; i < DNN_SLOTS; i++)
        slot_free(d, &u->slot[i]);
    void *const primitives[] = {u->primitive, u->bring, u->fetch, u->pack};
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        if (primitives[i])
            d->primitive_destroy(primitives[i]);
    if (u->pd)
        d->description_destroy(u->pd);
    layout_free(d, u->user_in);
    layout_free(d, u->user_weights);
    layout_free(d, u->user_out);
    mem_free(&al, u, sizeof *u);
}

/* ---- calls ------------------------------------------------------------------------------------ */

static bool slot_make(const struct dnn_unit *u, struct dnn_slot *x) {
    const struct dnn *d = u->d;
    hilo_allocator al = mem_system_allocator();
    size_t in, out, scratch;
    bool fits = lib_reserve(&x->bytes, u->in_bytes, 1, &in) && lib_reserve(&x->bytes, u->out_bytes, 1, &out) &&
                lib_reserve(&x->bytes, u->scratch_bytes, 1, &scratch);
    x->memory = fits ? mem_alloc(&al, x->bytes) : NULL;
    bool made = x->memory && !d->stream_create(&x->stream, d->engine, DNN_IN_ORDER) &&
                !d->memory_create(&x->in, u->in_layout, d->engine, x->memory + in) &&
                !d->memory_create(&x->out, u->out_layout, d->engine, x->memory + out) &&
                !(u->weights_layout && d->memory_create(&x->weights, u->weights_layout, d->engine, NULL)) &&
                !(u->bring && d->memory_create(&x->from, u->user_in, d->engine, NULL)) &&
                !(u->fetch && d->memory_create(&x->to, u->user_out, d->engine, NULL)) &&
                !(u->scratch_bytes && d->memory_create(&x->scratchpad, d->query_layout(u->pd, DNN_ASK_SCRATCHPAD, 0), d->engine,
                                                       x->memory + scratch));
    if (!made)
        slot_free(d, x);
    return made;
}

/* A slot that is the caller's until its bit is cleared; NULL when memory is exhausted. */
static struct dnn_slot *slot_get(struct dnn_unit *u) {
    for (;;) {
        unsigned busy = atomic_load_explicit(&u->busy, memory_order_relaxed);
        if (busy == UINT32_MAX) { /* more calls at once than slots */
            sched_yield();
            continue;
        }
        int i = __builtin_ctz(~busy);
        if (!atomic_compare_exchange_weak_explicit(&u->busy, &busy, busy | 1u << i, memory_order_acquire, memory_order_relaxed))
            continue;
        struct dnn_slot *x = &u->slot[i];
        if (x->memory || slot_make(u, x))
            return x;
        atomic_fetch_and_explicit(&u->busy, ~(1u << i), memory_order_release);
        return NULL;
    }
}

static void slot_put(struct dnn_unit *u, const struct dnn_slot *x) {
    atomic_fetch_and_explicit(&u->busy, ~(1u << (x - u->slot)), memory_order_release);
}

static bool change_order(const struct dnn *d, const void *primitive, void *stream, void *from, void *to) {
    const struct dnn_argument v[] = {{DNN_ARG_IN, from}, {DNN_ARG_OUT, to}};
    return d->primitive_execute(primitive, stream, 2, v) == 0;
}

static bool slot_run(const struct dnn_unit *u, const struct dnn_slot *x) {
    const struct dnn *d = u->d;
    struct dnn_argument v[4] = {{DNN_ARG_IN, x->in}, {DNN_ARG_OUT, x->out}};
    int n = 2;
    if (x->weights)
        v[n++] = (struct dnn_argument){DNN_ARG_WEIGHTS, x->weights};
    if (x->scratchpad)
        v[n++] = (struct dnn_argument){DNN_ARG_SCRATCHPAD, x->scratchpad};
    return (!u->bring || change_order(d, u->bring, x->stream, x->from, x->in)) &&
           d->primitive_execute(u->primitive, x->stream, n, v) == 0 &&
           (!u->fetch || change_order(d, u->fetch, x->stream, x->out, x->to)) && d->stream_wait(x->stream) == 0;
}

/* Data is only read where it comes in. */
static void *writable(const void *p) {
    return (void *)(uintptr_t)p;
}

bool dnn_unit_run(struct dnn_unit *u, const void *in, const void *weights, void *out) {
    const struct dnn *d = u->d;
    struct dnn_slot *x = slot_get(u);
    if (!x)
        return false;
    int threads = ext_omp_begin(&d->omp);
    bool done = !d->memory_set(u->bring ? x->from : x->in, writable(in)) && !d->memory_set(u->fetch ? x->to : x->out, out) &&
                !(x->weights && d->memory_set(x->weights, writable(weights))) && slot_run(u, x);
    ext_omp_end(&d->omp, threads);
    slot_put(u, x);
    return done;
}

size_t dnn_packed_bytes(const struct dnn_unit *u) {
    return u->packed_bytes;
}

bool dnn_pack(struct dnn_unit *u, const void *weights, void *packed) {
    const struct dnn *d = u->d;
    void *from = NULL, *to = NULL, *stream = NULL;
    int threads = ext_omp_begin(&d->omp);
    bool done = !d->stream_create(&stream, d->engine, DNN_IN_ORDER) &&
                !d->memory_create(&from, u->user_weights, d->engine, writable(weights)) &&
                !d->memory_create(&to, u->weights_layout, d->engine, packed) && change_order(d, u->pack, stream, from, to) &&
                d->stream_wait(stream) == 0;
    ext_omp_end(&d->omp, threads);
    if (from)
        d->memory_destroy(from);
    if (to)
        d->memory_destroy(to);
    if (stream)
        d->stream_destroy(stream);
    return done;
}
