/* Convolution and pooling by oneDNN, in f32 and bf16.
 *
 * Images are split into runs, and where there are few of them their results into rows of the first place, by shape alone; a
 * unit for each size that occurs. Where features are innermost oneDNN works on tensors as they are; else on copies in its own
 * order, a piece at a time. The weights of a convolution are packed at the start of each call, for all pieces. */
#include "external/onednn.h"
#include "library/combine.h"
#include "library/conv.h"
#include "library/window.h"

#include <float.h>

enum {
    WINDOW_PIECES = 16,    /* at most, of images and of rows */
    WINDOW_WORK = 1 << 20, /* multiplications that are worth a piece */
    WINDOW_LEAST = 1 << 14
};

struct dnn_place {
    int64_t in, out, window, stride, dilation, low;
    int64_t in_step, out_step, w_step;
};

struct dnn_window {
    enum dnn_kind kind;
    enum ir_dtype in, out;
    int places;
    struct dnn_place at[DNN_MOST_PLACES];
    int64_t images, in_image, out_image;
    int64_t features_in, in_feature, features_out, out_feature; /* of all groups */
    int64_t groups, w_in, w_out;
    double work;
    int64_t run, runs, parts;                /* images of a run; parts of rows */
    struct dnn_unit *unit[2][WINDOW_PIECES]; /* of whole runs and the last one, by part; some are the same */
};

/* ---- pieces ----------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t reach(const struct dnn_place *p) {
    return (p->window - 1) * p->dilation + 1;
}

/* Rows [from, to) of part i, and the rows of the input that they need. */
struct dnn_rows {
    int64_t from, to, in_from, in_to;
};

static struct dnn_rows rows_of(const struct dnn_window *w, int64_t i) {
    const struct dnn_place *p = &w->at[0];
    size_t from, to;
    lib_part((size_t)p->out, (size_t)w->parts, (size_t)i, &from, &to);
    struct dnn_rows r = {.from = (int64_t)from, .to = (int64_t)to, .in_to = p->in};
    if (w->parts == 1)
        return r;
    r.in_from = r.from * p->stride - p->low < 0 ? 0 : r.from * p->stride - p->low;
    r.in_to = smaller((r.to - 1) * p->stride - p->low + reach(p), p->in);
    return r;
}

/* Into up to `most` pieces. */
static bool window_split(struct dnn_window *w, int64_t most) {
    bool fits = w->work >= WINDOW_LEAST && w->images > 0 && w->features_in > 0 && w->features_out > 0 && w->places > 0;
    for (int i = 0; i < w->places && fits; i++) {
        const struct dnn_place *p = &w->at[i];
        int64_t high = (p->out - 1) * p->stride + reach(p) - p->in - p->low;
        fits = p->in > 0 && p->out > 0 && p->window > 0 && p->low >= 0 && p->low < reach(p) && high > -p->stride &&
               high < reach(p);
    }
    if (!fits)
        return false;
    w->run = most < w->images ? (w->images + most - 1) / most : 1;
    w->runs = (w->images + w->run - 1) / w->run;
    w->parts = smaller(most / w->runs, w->at[0].out / 2);
    w->parts = w->parts < 1 || w->run > 1 ? 1 : w->parts;
    for (int64_t i = 0; i < w->parts; i++) {
        struct dnn_rows r = rows_of(w, i);
        if (r.in_from >= r.in_to)
            return false;
    }
    return true;
}

static int64_t run_images(const struct dnn_window *w, int last) {
    return last ? w->images - (w->runs - 1) * w->run : w->run;
}

/* Images, features, places; the stride of a single image is that of a dense one. */
static void tensor(struct dnn_tensor *t, enum ir_dtype dtype, int64_t images, int64_t image, int64_t features, int64_t feature,
                   int places, const int64_t *sizes, const int64_t *steps) {
    *t = (struct dnn_tensor){.dtype = dtype, .rank = 2 + places, .dims = {images, features}, .strides = {image, feature}};
    int64_t dense = features * feature;
    for (int i = 0; i < places; i++) {
        t->dims[2 + i] = sizes[i];
        t->strides[2 + i] = steps[i];
        dense = dense > sizes[i] * steps[i] ? dense : sizes[i] * steps[i];
    }
    if (images == 1)
        t->strides[0] = dense;
}

static void weights(const struct dnn_window *w, struct dnn_tensor *t) {
    int64_t out = w->features_out / w->groups, in = w->features_in / w->groups;
    int at = 0;
    *t = (struct dnn_tensor){.dtype = w->in, .rank = 2 + (w->groups > 1) + w->places, .any = true};
    if (w->groups > 1) {
        t->dims[at] = w->groups;
        t->strides[at++] = out * w->w_out;
    }
    t->dims[at] = out;
    t->strides[at++] = w->w_out;
    t->dims[at] = in;
    t->strides[at++] = w->w_in;
    for (int i = 0; i < w->places; i++) {
        t->dims[at] = w->at[i].window;
        t->strides[at++] = w->at[i].w_step;
    }
}

static struct dnn_spec spec_of(const struct dnn_window *w, int last, int64_t part) {
    struct dnn_spec s = {.kind = w->kind};
    struct dnn_rows r = rows_of(w, part);
    int64_t in[DNN_MOST_PLACES], out[DNN_MOST_PLACES], in_step[DNN_MOST_PLACES], out_step[DNN_MOST_PLACES];
    for (int i = 0; i < w->places; i++) {
        const struct dnn_place *p = &w->at[i];
        int64_t first = i == 0 ? r.from * p->stride - p->low : -p->low;
        in[i] = i == 0 ? r.in_to - r.in_from : p->in;
        out[i] = i == 0 ? r.to - r.from : p->out;
        in_step[i] = p->in_step;
        out_step[i] = p->out_step;
        s.window[i] = p->window;
        s.stride[i] = p->stride;
        s.dilation[i] = p->dilation;
        s.low[i] = first < 0 ? -first : 0;
        s.high[i] = (out[i] - 1) * p->stride + reach(p) - in[i] - s.low[i];
    }
    tensor(&s.in, w->in, run_images(w, last), w->in_image, w->features_in, w->in_feature, w->places, in, in_step);
    tensor(&s.out, w->out, run_images(w, last), w->out_image, w->features_out, w->out_feature, w->places, out, out_step);
    s.in.any = s.out.any = w->in_feature != 1 || w->out_feature != 1;
    if (w->kind == DNN_CONVOLUTION)
        weights(w, &s.weights);
    return s;
}

/* Whether the last run is smaller than others. */
static bool has_last(const struct dnn_window *w) {
    return run_images(w, 1) != w->run;
}

static bool same_shape(const struct dnn_spec *a, const struct dnn_spec *b) {
    return a->in.dims[0] == b->in.dims[0] && a->in.dims[2] == b->in.dims[2] && a->out.dims[2] == b->out.dims[2] &&
           a->low[0] == b->low[0] && a->high[0] == b->high[0];
}

/* The part whose unit a part takes: itself, or one before it of the same shape. */
static int64_t part_like(const struct dnn_window *w, int last, int64_t part) {
    struct dnn_spec s = spec_of(w, last, part);
    for (int64_t i = 0; i < part; i++) {
        struct dnn_spec other = spec_of(w, last, i);
        if (same_shape(&s, &other))
            return i;
    }
    return part;
}

/* Whether oneDNN has units for all pieces, whose weights are packed alike. */
static bool window_can(const struct dnn_window *w) {
    struct dnn_spec first = spec_of(w, 0, 0);
    struct dnn_unit *like = dnn_unit_look(&first, NULL);
    bool can = like != NULL;
    for (int last = 0; last <= has_last(w); last++)
        for (int64_t i = 0; i < w->parts && can; i++) {
            if ((last == 0 && i == 0) || part_like(w, last, i) != i)
                continue;
            struct dnn_spec s = spec_of(w, last, i);
            struct dnn_unit *u = dnn_unit_look(&s, like);
            can = u != NULL;
            dnn_unit_free(u);
        }
    dnn_unit_free(like);
    return can;
}

/* Splits it into as many pieces as are worth it and can be done. */
static bool window_find(struct dnn_window *w) {
    double pieces = w->work / WINDOW_WORK;
    for (int64_t most = pieces < 1 ? 1 : pieces > WINDOW_PIECES ? WINDOW_PIECES : (int64_t)pieces; most; most /= 2)
        if (window_split(w, most) && window_can(w))
            return true;
    return false;
}

static void window_free(struct dnn_window *w) {
    hilo_allocator al = mem_system_allocator();
    for (int last = 0; last < 2; last++)
        for (int64_t i = 0; i < w->parts; i++)
            if (part_like(w, last, i) == i)
                dnn_unit_free(w->unit[last][i]);
    mem_free(&al, w, sizeof *w);
}

static struct dnn_window *window_new(const struct dnn_window *from) {
    hilo_allocator al = mem_system_allocator();
    struct dnn_window *w = mem_alloc(&al, sizeof *w);
    if (!w)
        return NULL;
    *w = *from;
    for (int last = 0; last <= has_last(w); last++)
        for (int64_t i = 0; i < w->parts; i++) {
            struct dnn_spec s = spec_of(w, last, i);
            int64_t like = part_like(w, last, i);
            bool first = last == 0 && i == 0;
            w->unit[last][i] = like < i ? w->unit[last][like] : dnn_unit_new(&s, first ? NULL : w->unit[0][0]);
            if (!w->unit[last][i]) {
                window_free(w);
                return NULL;
            }
        }
    return w;
}

/* ---- calls ------------------------------------------------------------------------------------ */

struct window_run {
    const struct dnn_window *w;
    const struct lib_call *c;
    const void *weights;
    atomic_bool failed;
};

static void window_piece(void *user, int64_t i) {
    struct window_run *r = user;
    const struct dnn_window *w = r->w;
    int64_t run = i / w->parts, part = i % w->parts;
    struct dnn_rows rows = rows_of(w, part);
    int64_t in = run * w->run * w->in_image + rows.in_from * w->at[0].in_step;
    int64_t out = run * w->run * w->out_image + rows.from * w->at[0].out_step;
    struct dnn_unit *u = w->unit[has_last(w) && run + 1 == w->runs][part];
    if (!dnn_unit_run(u, (const char *)r->c->in[0] + (size_t)in * ir_dtype_get(w->in)->bytes, r->weights,
                      (char *)r->c->out[0] + (size_t)out * ir_dtype_get(w->out)->bytes))
        atomic_store(&r->failed, true);
}

static hilo_status window_run(const struct dnn_window *w, const struct lib_call *c, const void *weights_) {
    struct window_run r = {.w = w, .c = c, .weights = weights_};
    atomic_init(&r.failed, false);
    lib_each(c->pool, w->runs * w->parts, window_piece, &r);
    return atomic_load(&r.failed) ? HILO_UNIMPLEMENTED : HILO_OK;
}

/* ---- convolution ------------------------------------------------------------------------------ */

static bool convolution_read(const struct lib_match *match, struct dnn_window *w) {
    struct conv v;
    if (!conv_read(match->params, match->nparams, &v) || v.batch_groups != 1 || (v.in != IR_F32_T && v.in != IR_BF16_T) ||
        (v.out != IR_F32_T && v.out != v.in) || v.nspatial == 0)
        return false;
    *w = (struct dnn_window){.kind = DNN_CONVOLUTION,
                             .in = v.in,
                             .out = v.out,
                             .places = (int)v.nspatial,
                             .images = v.out_batch,
                             .in_image = v.in_batch,
                             .out_image = v.out_batch_step,
                             .features_in = v.group_in * v.feature_groups,
                             .in_feature = v.in_feature,
                             .features_out = v.group_out * v.feature_groups,
                             .out_feature = v.out_feature,
                             .groups = v.feature_groups,
                             .w_in = v.w_in,
                             .w_out = v.w_out,
                             .work = (double)v.out_batch * (double)v.group_out * (double)v.feature_groups * (double)v.group_in};
    for (uint32_t i = 0; i < v.nspatial; i++) {
        const struct conv_dim *d = &v.dim[i];
        if (d->base != 1 || (d->reverse && d->window > 1))
            return false;
        w->at[i] =
            (struct dnn_place){d->in, d->out, d->window, d->stride, d->dilation, d->low, d->in_step, d->out_step, d->w_step};
        w->work *= (double)d->out * (double)d->window;
    }
    return true;
}

/* A bound for what packed weights take, which only units know: each dimension of features in blocks of up to 64. */
static size_t packed_most(const struct dnn_window *w) {
    double n = (double)w->groups * (double)(w->features_in / w->groups + 64) * (double)(w->features_out / w->groups + 64);
    for (int i = 0; i < w->places; i++)
        n *= (double)w->at[i].window;
    n *= (double)ir_dtype_get(w->in)->bytes;
    return n < 1e15 ? (size_t)n + 4096 : 0;
}

bool ext_onednn_convolution_can(struct lib_match *out) {
    struct dnn_window w;
    if (!convolution_read(out, &w) || !window_find(&w) || !packed_most(&w))
        return false;
    out->scratch_bytes = out->scratch_bytes < packed_most(&w) ? packed_most(&w) : out->scratch_bytes;
    out->alone = w.runs * w.parts == 1;
    out->ns = 0.02 * w.work;
    return true;
}

void *ext_onednn_convolution_prepare(const struct lib_match *match) {
    struct dnn_window w, *made = convolution_read(match, &w) && window_find(&w) ? window_new(&w) : NULL;
    if (made && dnn_packed_bytes(made->unit[0][0]) > match->scratch_bytes) {
        window_free(made);
        return NULL;
    }
    return made;
}

void ext_onednn_convolution_release(void *state) {
    window_free(state);
}

hilo_status ext_onednn_convolution_run(void *state, const struct lib_call *c) {
    const struct dnn_window *w = state;
    bool packs = dnn_packed_bytes(w->unit[0][0]) > 0;
    if (packs && !dnn_pack(w->unit[0][0], c->in[1], c->scratch))
        return HILO_UNIMPLEMENTED;
    return window_run(w, c, packs ? c->scratch : c->in[1]);
}

/* ---- pooling ---------------------------------------------------------------------------------- */

static bool pool_read(const struct lib_match *match, struct dnn_window *w) {
    struct lib_reader r = lib_reader_of(match->params, match->nparams);
    enum ir_op_kind op = (enum ir_op_kind)lib_get_size(&r, IR_OP_COUNT - 1);
    enum ir_dtype dtype = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    struct window x;
    if (!window_get(&r, &x) || (op != IR_MAXIMUM && op != IR_ADD) || dtype != IR_F32_T)
        return false;
    const struct window_dim *last = &x.dim[x.rank - 1];
    uint32_t from = x.rank > 1 && window_is_elements(&x.dim[0]) ? 1u : 0u;
    uint32_t to = x.rank > from && window_is_elements(last) ? x.rank - 1 : x.rank;
    if (to <= from || to - from > DNN_MOST_PLACES)
        return false;
    int64_t out_steps[WINDOW_MOST_RANK], all = 1;
    for (uint32_t i = x.rank; i-- > 0; all *= x.dim[i].out)
        out_steps[i] = all;
    int64_t features = to < x.rank ? last->out : 1;
    *w = (struct dnn_window){.kind = op == IR_MAXIMUM ? DNN_POOL_MAX : DNN_POOL_SUM,
                             .in = dtype,
                             .out = dtype,
                             .places = (int)(to - from),
                             .images = from ? x.dim[0].out : 1,
                             .in_image = from ? x.strides[0] : 0,
                             .out_image = from ? out_steps[0] : 0,
                             .features_in = features,
                             .in_feature = 1,
                             .features_out = features,
                             .out_feature = 1,
                             .groups = 1,
                             .work = (double)x.rows * (double)x.length};
    for (uint32_t i = from; i < to; i++) {
        const struct window_dim *d = &x.dim[i];
        if (d->base != 1)
            return false;
        w->at[i - from] =
            (struct dnn_place){d->in, d->out, d->size, d->stride, d->dilation, d->low, x.strides[i], out_steps[i], 0};
        w->work *= (double)d->size;
    }
    return true;
}

bool ext_onednn_reduce_window_can(struct lib_match *out) {
    struct dnn_window w;
    if (!pool_read(out, &w) || !window_find(&w))
        return false;
    out->alone = w.runs * w.parts == 1;
    return true;
}

void *ext_onednn_reduce_window_prepare(const struct lib_match *match) {
    struct dnn_window w;
    return pool_read(match, &w) && window_find(&w) ? window_new(&w) : NULL;
}

void ext_onednn_reduce_window_release(void *state) {
    window_free(state);
}

struct pool_scan {
    const float *v;
    size_t n, tasks;
    atomic_bool odd;
};

/* NaN and the lowest of all numbers are not as in StableHLO. */
static void pool_look(void *user, int64_t i) {
    struct pool_scan *s = user;
    size_t from, to;
    unsigned odd = 0;
    lib_part(s->n, s->tasks, (size_t)i, &from, &to);
    for (; from < to; from++)
        odd |= !(s->v[from] >= -FLT_MAX) ? 1u : 0u;
    if (odd)
        atomic_store(&s->odd, true);
}

struct pool_scale {
    float *v, factor;
    size_t n, tasks;
};

static void pool_multiply(void *user, int64_t i) {
    const struct pool_scale *s = user;
    size_t from, to;
    lib_part(s->n, s->tasks, (size_t)i, &from, &to);
    for (; from < to; from++)
        s->v[from] *= s->factor;
}

hilo_status ext_onednn_reduce_window_run(void *state, const struct lib_call *c) {
    const struct dnn_window *w = state;
    float first = *(const float *)c->in[1];
    struct pool_scan scan = {.v = c->in[0], .n = (size_t)(w->images * w->features_in), .tasks = WINDOW_PIECES};
    struct pool_scale scale = {.v = c->out[0], .factor = 1, .n = (size_t)(w->images * w->features_out), .tasks = WINDOW_PIECES};
    for (int i = 0; i < w->places; i++) {
        scan.n *= (size_t)w->at[i].in;
        scale.n *= (size_t)w->at[i].out;
        scale.factor *= (float)w->at[i].window;
    }
    if (w->kind == DNN_POOL_SUM ? first != 0 : first >= -FLT_MAX)
        return HILO_UNIMPLEMENTED;
    if (w->kind == DNN_POOL_MAX) {
        atomic_init(&scan.odd, false);
        lib_each(c->pool, (int64_t)scan.tasks, pool_look, &scan);
        if (atomic_load(&scan.odd) || first != first)
            return HILO_UNIMPLEMENTED;
    }
    HILO_TRY(window_run(w, c, NULL));
    if (w->kind == DNN_POOL_SUM)
        lib_each(c->pool, (int64_t)scale.tasks, pool_multiply, &scale);
    return HILO_OK;
}
