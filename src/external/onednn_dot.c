/* Products of matrices by oneDNN: f32, bf16, and i8 with sums in i32.
 *
 * A product is split into tiles by its shape, small products of a batch into runs of some; what is left over at the ends is
 * smaller, so that there are up to two sizes in each direction, and a unit for each that occurs. */
#include "external/onednn.h"
#include "library/dot.h"

enum {
    DNN_TILE_ROWS = 256,
    DNN_TILE_COLUMNS = 512,
    DNN_LEAST = 1 << 14, /* multiplications that are worth a call */
    DNN_RUN = 1 << 18,   /* of a run of small products, at least */
    DNN_SIZES = 2,       /* whole, and what is left */
    DNN_UNITS = 8
};

/* One direction: `n` in parts of `size`, the last of `last`. */
struct dnn_split {
    size_t n, size, last, parts;
};

struct dnn_dot {
    struct dot_axes x;
    struct dnn_split batch, rows, columns;
    size_t in_bytes, out_bytes;       /* of elements */
    struct dnn_unit *unit[DNN_UNITS]; /* bit 0, 1, 2: the last of batch, rows, columns */
};

static struct dnn_split split(size_t n, size_t size) {
    size_t parts = n ? (n + size - 1) / size : 0;
    return (struct dnn_split){n, size, parts ? n - (parts - 1) * size : 0, parts};
}

static int64_t step(const struct dot_dims *d, bool left) {
    return d->n == 0 ? 1 : left ? d->dim[0].a : d->dim[0].b;
}

/* Sums of products of bytes are exact only where the processor adds four of them into 32 bits. */
static bool dot_type(enum ir_dtype t) {
#if LIB_X86
    if (t == IR_I8_T)
        return __builtin_cpu_supports("avx512vnni");
#endif
    return t == IR_F32_T || t == IR_BF16_T;
}

static bool dot_split(const struct lib_match *match, struct dnn_dot *v) {
    struct dot_axes *x = &v->x;
    if (!dot_read(match->params, match->nparams, x) || !dot_type(x->in) || x->batch.n > 1 || x->rows.n > 1 ||
        x->columns.n > 1 || x->depth.n > 1 || !x->depth.count)
        return false;
    v->in_bytes = ir_dtype_get(x->in)->bytes;
    v->out_bytes = ir_dtype_get(x->out)->bytes;
    v->rows = split(x->rows.count, DNN_TILE_ROWS);
    v->columns = split(x->columns.count, DNN_TILE_COLUMNS);
    double one = (double)x->rows.count * (double)x->columns.count * (double)x->depth.count;
    size_t run = v->rows.parts * v->columns.parts > 1 || one >= DNN_RUN ? 1 : 1 + (size_t)(DNN_RUN / (one + 1));
    v->batch = split(x->batch.count, run);
    return one * (double)x->batch.count >= DNN_LEAST;
}

static bool has_unit(const struct dnn_dot *v, int i) {
    const struct dnn_split *all[] = {&v->batch, &v->rows, &v->columns};
    for (int k = 0; k < 3; k++)
        if (i >> k & 1 ? all[k]->last == all[k]->size : all[k]->parts == 1 && all[k]->last != all[k]->size)
            return false;
    return true;
}

static void tensor(struct dnn_tensor *t, enum ir_dtype dtype, size_t batch, int64_t batch_step, size_t rows, int64_t row_step,
                   size_t columns, int64_t column_step) {
    bool runs = batch > 1;
    const int64_t dims[] = {(int64_t)batch, (int64_t)rows, (int64_t)columns}, steps[] = {batch_step, row_step, column_step};
    *t = (struct dnn_tensor){.dtype = dtype, .rank = runs ? 3 : 2};
    for (int i = 0; i < t->rank; i++) {
        t->dims[i] = dims[i + !runs];
        t->strides[i] = steps[i + !runs];
    }
    if (columns == 1) /* any stride will do; one is taken for dense */
        t->strides[t->rank - 1] = 1;
    if (rows == 1)
        t->strides[t->rank - 2] = columns == 1 ? 1 : (int64_t)columns * t->strides[t->rank - 1];
}

static struct dnn_spec spec_of(const struct dnn_dot *v, int i) {
    const struct dot_axes *x = &v->x;
    struct dnn_spec s = {.kind = DNN_MATMUL};
    size_t g = i & 1 ? v->batch.last : v->batch.size, m = i & 2 ? v->rows.last : v->rows.size;
    size_t n = i & 4 ? v->columns.last : v->columns.size;
    int64_t width = (int64_t)x->columns.count;
    tensor(&s.in, x->in, g, step(&x->batch, true), m, step(&x->rows, true), x->depth.count, step(&x->depth, true));
    tensor(&s.weights, x->in, g, step(&x->batch, false), x->depth.count, step(&x->depth, false), n, step(&x->columns, false));
    tensor(&s.out, x->out, g, (int64_t)x->rows.count * width, m, width, n, 1);
    return s;
}

bool ext_onednn_dot_general_can(struct lib_match *out) {
    struct dnn_dot v = {0};
    if (!dot_split(out, &v))
        return false;
    for (int i = 0; i < DNN_UNITS; i++) {
        struct dnn_spec s = spec_of(&v, i);
        if (has_unit(&v, i) && !dnn_can(&s))
            return false;
    }
    out->alone = v.batch.parts * v.rows.parts * v.columns.parts == 1;
    out->ns = 0.02 * (double)v.x.batch.count * (double)v.x.rows.count * (double)v.x.columns.count * (double)v.x.depth.count;
    return true;
}

void ext_onednn_dot_general_release(void *state) {
    struct dnn_dot *v = state;
    hilo_allocator al = mem_system_allocator();
    for (int i = 0; i < DNN_UNITS; i++)
        dnn_unit_free(v->unit[i]);
    mem_free(&al, v, sizeof *v);
}

void *ext_onednn_dot_general_prepare(const struct lib_match *match) {
    hilo_allocator al = mem_system_allocator();
    struct dnn_dot *v = mem_alloc(&al, sizeof *v);
    if (!v)
        return NULL;
    *v = (struct dnn_dot){0};
    bool made = dot_split(match, v);
    for (int i = 0; i < DNN_UNITS && made; i++)
        if (has_unit(v, i)) {
            struct dnn_spec s = spec_of(v, i);
            v->unit[i] = dnn_unit_new(&s, NULL);
            made = v->unit[i] != NULL;
        }
    if (made)
        return v;
    ext_onednn_dot_general_release(v);
    return NULL;
}

struct dot_run {
    const struct dnn_dot *v;
    const struct lib_call *c;
    atomic_bool failed;
};

static void dot_tile(void *user, int64_t i) {
    struct dot_run *r = user;
    const struct dnn_dot *v = r->v;
    size_t tiles = v->rows.parts * v->columns.parts, run = (size_t)i / tiles, tile = (size_t)i % tiles;
    size_t down = tile / v->columns.parts, across = tile % v->columns.parts, group = run * v->batch.size;
    size_t row = down * v->rows.size, column = across * v->columns.size;
    int which = (run + 1 == v->batch.parts && v->batch.last != v->batch.size) |
                (down + 1 == v->rows.parts && v->rows.last != v->rows.size) << 1 |
                (across + 1 == v->columns.parts && v->columns.last != v->columns.size) << 2;
    int64_t a, b;
    dims_at(&v->x.batch, group, &a, &b);
    a += (int64_t)row * (v->x.rows.n ? v->x.rows.dim[0].a : 0);
    b += (int64_t)column * (v->x.columns.n ? v->x.columns.dim[0].b : 0);
    size_t c = (group * v->x.rows.count + row) * v->x.columns.count + column;
    if (!dnn_unit_run(v->unit[which], (const char *)r->c->in[0] + (size_t)a * v->in_bytes,
                      (const char *)r->c->in[1] + (size_t)b * v->in_bytes, (char *)r->c->out[0] + c * v->out_bytes))
        atomic_store(&r->failed, true);
}

hilo_status ext_onednn_dot_general_run(void *state, const struct lib_call *c) {
    struct dot_run r = {.v = state, .c = c};
    atomic_init(&r.failed, false);
    lib_each(c->pool, (int64_t)(r.v->batch.parts * r.v->rows.parts * r.v->columns.parts), dot_tile, &r);
    return atomic_load(&r.failed) ? HILO_UNIMPLEMENTED : HILO_OK;
}
