/* dot_general. Reals narrower than f64 are left to generated kernels, which fuse producers and consumers, unless a library is
 * requested: then this computes them where the library is missing.
 *
 * A product of matrices (gemm.h) for each batch. A complex one is a real one of twice the depth and twice the columns: rows of
 * the left side and of the result are pairs of reals as in memory, and of b = x + i y there are the rows (x, y) and
 * (-y, x). */
#include "library/dot.h"
#include "library/gemm.h"

struct dot {
    const struct lib_call *c;
    struct dot_axes x;
    bool narrow;          /* elements are converted to the type of the sum */
    size_t parts, number; /* reals of an element, bytes of a real */
    struct gemm g;
};

static bool dims_add(struct dot_dims *d, int64_t size, int64_t a, int64_t b) {
    if (d->n && d->dim[d->n - 1].a == a * size && d->dim[d->n - 1].b == b * size) {
        d->dim[d->n - 1].size *= size;
        d->dim[d->n - 1].a = a;
        d->dim[d->n - 1].b = b;
        return true;
    }
    if (d->n == DOT_MOST)
        return false;
    d->dim[d->n].size = size;
    d->dim[d->n].a = a;
    d->dim[d->n++].b = b;
    return true;
}

void dims_at(const struct dot_dims *d, size_t i, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (uint32_t k = d->n; k-- > 0; i /= (size_t)d->dim[k].size) {
        int64_t at = (int64_t)(i % (size_t)d->dim[k].size);
        *a += at * d->dim[k].a;
        *b += at * d->dim[k].b;
    }
}

/* Fills in the count; false on overflow. */
static bool dims_finish(struct dot_dims *d) {
    d->count = 1;
    for (uint32_t k = 0; k < d->n; k++)
        if (d->dim[k].size < 0 || !mem_mul(d->count, (size_t)d->dim[k].size, &d->count))
            return false;
    return true;
}

/* Elements of the depth that have one stride from element p on. */
static size_t dot_run(const struct dot *v, size_t p) {
    size_t last = v->x.depth.n ? (size_t)v->x.depth.dim[v->x.depth.n - 1].size : 1;
    return last - p % last;
}

static double dot_narrow(const struct dot *v, const void *from, size_t i) {
    return v->x.in == IR_I8_T ? (double)((const int8_t *)from)[i] : (double)bf16_to_f32(((const uint16_t *)from)[i]);
}

static double dot_real(const struct dot *v, const void *from, size_t i) {
    return v->narrow ? dot_narrow(v, from, i) : v->g.wide ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void dot_put(const struct dot *v, void *to, size_t i, double x) {
    if (v->g.wide)
        ((double *)to)[i] = x;
    else
        ((float *)to)[i] = (float)x;
}

static void dot_pack_a(const void *user, size_t group, size_t row, size_t nrows, size_t from, size_t to, void *packed) {
    const struct dot *v = user;
    int64_t base, a, unused;
    memset(packed, 0, (to - from) * GEMM_ROWS * v->number);
    dims_at(&v->x.batch, group, &base, &unused);
    for (size_t i = 0; i < nrows; i++) {
        dims_at(&v->x.rows, row + i, &a, &unused);
        int64_t first = base + a;
        for (size_t p = from; p < to;) { /* p counts reals, and begins with a real part */
            size_t k = p / v->parts, run = dot_run(v, k), n = (to - p) / v->parts < run ? (to - p) / v->parts : run;
            int64_t step = v->x.depth.n ? v->x.depth.dim[v->x.depth.n - 1].a : 0;
            dims_at(&v->x.depth, k, &a, &unused);
            for (size_t j = 0; j < n; j++)
                for (size_t part = 0; part < v->parts; part++)
                    dot_put(v, packed, (p - from + j * v->parts + part) * GEMM_ROWS + i,
                            dot_real(v, v->c->in[0], (size_t)(first + a + (int64_t)j * step) * v->parts + part));
            p += n * v->parts;
        }
    }
}

static void dot_pack_b(const void *user, size_t group, size_t column, size_t ncolumns, size_t width, void *packed) {
    const struct dot *v = user;
    int64_t base, b, unused, first[GEMM_WIDEST];
    memset(packed, 0, v->g.depth * width * v->number);
    dims_at(&v->x.batch, group, &unused, &base);
    for (size_t j = 0; j < ncolumns; j += v->parts) { /* a panel begins with a real part */
        dims_at(&v->x.columns, (column + j) / v->parts, &unused, &b);
        first[j] = base + b;
    }
    for (size_t k = 0; k < v->x.depth.count; k++) {
        dims_at(&v->x.depth, k, &unused, &b);
        for (size_t j = 0; j < ncolumns; j += v->parts) {
            size_t at = (size_t)(first[j] + b) * v->parts, to = k * v->parts * width + j;
            dot_put(v, packed, to, dot_real(v, v->c->in[1], at));
            if (v->parts == 1)
                continue;
            dot_put(v, packed, to + 1, dot_real(v, v->c->in[1], at + 1));
            dot_put(v, packed, to + width, -dot_real(v, v->c->in[1], at + 1));
            dot_put(v, packed, to + width + 1, dot_real(v, v->c->in[1], at));
        }
    }
}

static void dot_unpack_c(const void *user, size_t group, size_t row, size_t nrows, size_t column, size_t ncolumns, size_t width,
                         const void *tile) {
    const struct dot *v = user;
    for (size_t i = 0; i < nrows; i++) {
        size_t at = (group * v->g.rows + row + i) * v->g.columns + column;
        const char *line = (const char *)tile + i * width * v->number;
        if (v->x.out == IR_I32_T) { /* sums of less than 2^38 products are exact; the result wraps */
            for (size_t j = 0; j < ncolumns; j++)
                ((uint32_t *)v->c->out[0])[at + j] = (uint32_t)(int64_t)((const double *)(const void *)line)[j];
            continue;
        }
        if (v->x.out == IR_BF16_T) {
            for (size_t j = 0; j < ncolumns; j++)
                ((uint16_t *)v->c->out[0])[at + j] = f32_to_bf16(((const float *)(const void *)line)[j]);
            continue;
        }
        memcpy((char *)v->c->out[0] + at * v->number, line, ncolumns * v->number);
    }
}

static bool dot_types(enum ir_dtype in, enum ir_dtype out) {
    return in == IR_F32_T || in == IR_F64_T || in == IR_C64_T || in == IR_C128_T ? out == in
           : in == IR_BF16_T                                                     ? out == IR_BF16_T || out == IR_F32_T
                                                                                 : in == IR_I8_T && out == IR_I32_T;
}

static bool dot_plan(struct dot *v) {
    enum ir_dtype in = v->x.in;
    v->narrow = in == IR_BF16_T || in == IR_I8_T;
    v->parts = in == IR_C64_T || in == IR_C128_T ? 2 : 1;
    v->number = in == IR_F64_T || in == IR_C128_T || in == IR_I8_T ? 8 : 4;
    v->g =
        (struct gemm){.wide = v->number == 8, .user = v, .pack_a = dot_pack_a, .pack_b = dot_pack_b, .unpack_c = dot_unpack_c};
    v->g.groups = v->x.batch.count;
    v->g.rows = v->x.rows.count;
    return mem_mul(v->x.columns.count, v->parts, &v->g.columns) && mem_mul(v->x.depth.count, v->parts, &v->g.depth);
}

static bool dims_put(struct lib_match *out, const struct dot_dims *d) {
    bool fits = lib_put(out, d->n);
    for (uint32_t k = 0; k < d->n; k++)
        fits = fits && lib_put(out, d->dim[k].size) && lib_put(out, d->dim[k].a) && lib_put(out, d->dim[k].b);
    return fits;
}

static void dims_get(struct lib_reader *r, struct dot_dims *d) {
    d->n = (uint32_t)lib_get_size(r, DOT_MOST);
    for (uint32_t k = 0; k < d->n; k++) {
        d->dim[k].size = lib_get(r);
        d->dim[k].a = lib_get(r);
        d->dim[k].b = lib_get(r);
    }
}

bool dot_read(const int64_t *params, uint32_t nparams, struct dot_axes *out) {
    struct lib_reader r = lib_reader_of(params, nparams);
    *out = (struct dot_axes){.in = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1)};
    out->out = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1);
    dims_get(&r, &out->batch);
    dims_get(&r, &out->rows);
    dims_get(&r, &out->columns);
    dims_get(&r, &out->depth);
    return !r.short_ && dot_types(out->in, out->out) && dims_finish(&out->batch) && dims_finish(&out->rows) &&
           dims_finish(&out->columns) && dims_finish(&out->depth);
}

static void dims_reach(const struct dot_dims *d, struct lib_extent *a, struct lib_extent *b) {
    for (uint32_t k = 0; k < d->n; k++) {
        lib_reach(a, d->dim[k].size, d->dim[k].a);
        lib_reach(b, d->dim[k].size, d->dim[k].b);
    }
}

static hilo_status dot_check(const struct dot *v, const struct lib_sizes *have) {
    struct lib_extent a = {0}, b = {0}, unused = {0};
    size_t scratch, number = ir_dtype_get(v->x.in)->bytes, all;
    dims_reach(&v->x.batch, &a, &b);
    dims_reach(&v->x.depth, &a, &b);
    dims_reach(&v->x.rows, &a, &unused);
    dims_reach(&v->x.columns, &unused, &b);
    all = lib_times(lib_times(v->x.batch.count, v->x.rows.count), v->x.columns.count);
    if (!gemm_scratch(&v->g, &scratch))
        return HILO_INVALID_ARGUMENT;
    return lib_checked(have, 2, 1,
                       (const size_t[]){lib_extent_bytes(&a, number), lib_extent_bytes(&b, number),
                                        lib_times(all, ir_dtype_get(v->x.out)->bytes)},
                       scratch);
}

hilo_status lib_dot_general(const struct lib_call *c) {
    struct dot v = {.c = c};
    if (!dot_read(c->params, c->nparams, &v.x) || !dot_plan(&v))
        return HILO_INVALID_ARGUMENT;
    if (c->check)
        return dot_check(&v, c->check);
    gemm_run(&v.g, c->scratch, c->pool);
    return HILO_OK;
}

static int64_t stride_of(const struct ir_type_data *t, int64_t dim) {
    return (int64_t)lib_product(t->dims, (uint32_t)dim + 1, t->rank);
}

/* The dimensions of one side that are in neither list. */
static bool dot_free(const struct ir_type_data *t, const int64_t *x, size_t nx, const int64_t *y, size_t ny, bool left,
                     struct dot_dims *out) {
    for (uint32_t d = 0; d < t->rank; d++) {
        bool bound = false;
        for (size_t i = 0; i < nx; i++)
            bound = bound || x[i] == d;
        for (size_t i = 0; i < ny; i++)
            bound = bound || y[i] == d;
        if (!bound && !dims_add(out, t->dims[d], left ? stride_of(t, d) : 0, left ? 0 : stride_of(t, d)))
            return false;
    }
    return true;
}

bool dot_axes_of(const struct ir_module *m, ir_op op, struct dot_axes *x) {
    if (ir_kind(m, op) != IR_DOT_GENERAL || !lib_tensors(m, op) || !IR_NONE(ir_prop(m, op, IR_DOT_GENERAL_algorithm)))
        return false;
    const struct ir_type_data *a = ir_val_type(m, ir_operand(m, op, 0)), *b = ir_val_type(m, ir_operand(m, op, 1));
    ir_attr numbers = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t nbatch, ndepth, unused;
    const int64_t *a_batch = ir_field_dims(m, numbers, IR_DOT_lhs_batching_dimensions_F, &nbatch);
    const int64_t *b_batch = ir_field_dims(m, numbers, IR_DOT_rhs_batching_dimensions_F, &unused);
    const int64_t *a_depth = ir_field_dims(m, numbers, IR_DOT_lhs_contracting_dimensions_F, &ndepth);
    const int64_t *b_depth = ir_field_dims(m, numbers, IR_DOT_rhs_contracting_dimensions_F, &unused);
    *x = (struct dot_axes){.in = a->dtype, .out = ir_val_type(m, ir_result(m, op, 0))->dtype};
    bool fits = b->dtype == a->dtype;
    for (size_t i = 0; i < nbatch && fits; i++)
        fits = dims_add(&x->batch, a->dims[a_batch[i]], stride_of(a, a_batch[i]), stride_of(b, b_batch[i]));
    for (size_t i = 0; i < ndepth && fits; i++)
        fits = dims_add(&x->depth, a->dims[a_depth[i]], stride_of(a, a_depth[i]), stride_of(b, b_depth[i]));
    return fits && dot_free(a, a_batch, nbatch, a_depth, ndepth, true, &x->rows) &&
           dot_free(b, b_batch, nbatch, b_depth, ndepth, false, &x->columns) && dims_finish(&x->batch) &&
           dims_finish(&x->rows) && dims_finish(&x->columns) && dims_finish(&x->depth);
}

bool dot_match(const struct ir_module *m, ir_op op, struct lib_match *out) {
    struct dot v = {.c = NULL};
    const struct dot_axes *x = &v.x;
    if (!dot_axes_of(m, op, &v.x) || !dot_types(x->in, x->out) || !dot_plan(&v))
        return false;
    *out = (struct lib_match){.routine = LIB_DOT_GENERAL};
    out->ns = 0.1 * (double)v.g.groups * (double)v.g.rows * (double)v.g.columns * (double)v.g.depth;
    return gemm_scratch(&v.g, &out->scratch_bytes) && lib_put(out, x->in) && lib_put(out, x->out) && dims_put(out, &x->batch) &&
           dims_put(out, &x->rows) && dims_put(out, &x->columns) && dims_put(out, &x->depth);
}

bool lib_match_dot_general(const struct ir_module *m, ir_op op, struct lib_match *out) {
    return dot_match(m, op, out) && (out->params[0] == IR_F64_T || out->params[0] == IR_C64_T || out->params[0] == IR_C128_T);
}
