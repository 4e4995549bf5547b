/* dot_general, dot and ragged_dot: each is a batch of matrix products after its operands' dimensions are reordered.
 * Precision hints are not read: contract.h defines how sums are rounded. */
#include "eval/contract.h"

/* One operand's dimensions by their role. */
struct roles {
    const int64_t *batch, *contract;
    size_t nbatch, ncontract;
};

/* perm = batch, free, contracting (or batch, contracting, free); returns the number of free dimensions. */
static uint32_t dot_order(const struct roles *r, uint32_t rank, bool contract_last, uint32_t *perm, uint32_t *free_dims) {
    uint32_t n = 0, nfree = 0;
    bool taken[IR_MAX_RANK] = {false};
    for (size_t i = 0; i < r->nbatch; i++)
        taken[perm[n++] = (uint32_t)r->batch[i]] = true;
    for (size_t i = 0; i < r->ncontract; i++)
        taken[r->contract[i]] = true;
    for (uint32_t d = 0; d < rank; d++)
        if (!taken[d])
            free_dims[nfree++] = d;
    for (uint32_t i = 0; contract_last && i < nfree; i++)
        perm[n++] = free_dims[i];
    for (size_t i = 0; i < r->ncontract; i++)
        perm[n++] = (uint32_t)r->contract[i];
    for (uint32_t i = 0; !contract_last && i < nfree; i++)
        perm[n++] = free_dims[i];
    return nfree;
}

static size_t dot_product(const int64_t *dims, const uint32_t *which, uint32_t n) {
    size_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= (size_t)dims[which[i]];
    return p;
}

/* Run-time sizes of dimensions that the two operands share must agree; the verifier has seen the static ones. */
static hilo_status dot_check(struct eval *cx, ir_op op, const struct value *a, const struct value *b, const int64_t *da,
                             const int64_t *db, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a->dims[da[i]] != b->dims[db[i]])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "has lhs dimension %lld of size %lld but rhs dimension %lld of size %lld",
                             (long long)da[i], (long long)a->dims[da[i]], (long long)db[i], (long long)b->dims[db[i]]);
    return HILO_OK;
}

/* A batch of products being computed: operands widened and reordered, sums for the whole result. */
struct dot {
    enum number kind;
    size_t size;                 /* bytes of a number */
    size_t batches, m, n, k;
    uint32_t lperm[IR_MAX_RANK], rperm[IR_MAX_RANK];
    int64_t dims[2 * IR_MAX_RANK]; /* batch, lhs free, rhs free */
    uint32_t rank;
    void *a, *b, *c;
    size_t abytes, bbytes, cbytes;
    struct value *result;
};

static void dot_end(struct eval *cx, struct dot *d) {
    mem_free(&cx->al, d->a, d->abytes);
    mem_free(&cx->al, d->b, d->bbytes);
    mem_free(&cx->al, d->c, d->cbytes);
}

/* Sizes, and the order of both operands' dimensions; `group` >= 0 is a dimension of rhs that comes first, of its own role. */
static void dot_shape(struct dot *d, const struct value *lhs, const struct value *rhs, const struct roles *l,
                      const struct roles *r, int64_t group) {
    uint32_t lfree[IR_MAX_RANK], rfree[IR_MAX_RANK];
    struct roles grouped = *r;
    int64_t batch[IR_MAX_RANK + 1] = {group};
    if (group >= 0) { /* read as one more batch dimension of rhs, outermost */
        for (size_t i = 0; i < r->nbatch; i++)
            batch[i + 1] = r->batch[i];
        grouped.batch = batch;
        grouped.nbatch++;
    }
    uint32_t nl = dot_order(l, lhs->rank, true, d->lperm, lfree);
    uint32_t nr = dot_order(&grouped, rhs->rank, false, d->rperm, rfree);
    d->batches = d->k = 1;
    for (size_t i = 0; i < l->nbatch; i++)
        d->batches *= (size_t)(d->dims[d->rank++] = lhs->dims[l->batch[i]]);
    for (size_t i = 0; i < l->ncontract; i++)
        d->k *= (size_t)lhs->dims[l->contract[i]];
    for (uint32_t i = 0; i < nl; i++)
        d->dims[d->rank++] = lhs->dims[lfree[i]];
    for (uint32_t i = 0; i < nr; i++)
        d->dims[d->rank++] = rhs->dims[rfree[i]];
    d->m = dot_product(lhs->dims, lfree, nl);
    d->n = dot_product(rhs->dims, rfree, nr);
}

/* The result tensor, widened operands and zeroed sums. On an error nothing is left. */
static hilo_status dot_begin(struct eval *cx, ir_op op, struct dot *d, const struct value *lhs, const struct value *rhs) {
    HILO_TRY(number_contract(cx, op, lhs->dtype, rhs->dtype, eval_result_dtype(cx, op, 0), &d->kind));
    HILO_TRY(eval_out(cx, op, 0, d->dims, d->rank, &d->result));
    d->size = number_bytes(d->kind);
    d->abytes = lhs->count * d->size;
    d->bbytes = rhs->count * d->size;
    hilo_status status = number_load(cx, lhs, d->lperm, d->kind, &d->a);
    if (status == HILO_OK)
        status = number_load(cx, rhs, d->rperm, d->kind, &d->b);
    if (status == HILO_OK && (!mem_mul(d->result->count, d->size, &d->cbytes) || !(d->c = mem_alloc(&cx->al, d->cbytes))))
        status = HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK) {
        memset(d->c, 0, d->cbytes);
        return HILO_OK;
    }
    dot_end(cx, d);
    value_unref(d->result);
    return status;
}

/* Adds the products of all batches, with numbers `a` of the lhs and slab `slab` of a grouped rhs, to slab `to` of the sums. */
static hilo_status dot_add(struct eval *cx, ir_op op, struct dot *d, const void *a, size_t slab, size_t to) {
    enum { DOT_POLL = 1 << 24 }; /* products between two looks at whether the run is cancelled */
    size_t per_row = d->n * d->k + 1, rows = DOT_POLL / per_row + 1;
    size_t la = d->m * d->k * d->size, lb = d->k * d->n * d->size, lc = d->m * d->n * d->size;
    for (size_t i = 0, done = 0; i < d->batches; i++)
        for (size_t row = 0; row < d->m; row += rows) {
            size_t m = d->m - row < rows ? d->m - row : rows;
            if ((done += m * per_row) >= DOT_POLL) {
                HILO_TRY(eval_poll(cx, op));
                done = 0;
            }
            number_gemm(d->kind, m, d->n, d->k, (const char *)a + i * la + row * d->k * d->size,
                        (const char *)d->b + (slab * d->batches + i) * lb, d->n,
                        (char *)d->c + (to * d->batches + i) * lc + row * d->n * d->size);
        }
    return HILO_OK;
}

/* The result, unless adding failed. */
static hilo_status dot_finish(struct eval *cx, struct dot *d, hilo_status status, struct value **out) {
    if (status == HILO_OK) {
        number_store(d->kind, d->c, d->result);
        *out = d->result;
    } else {
        value_unref(d->result);
    }
    dot_end(cx, d);
    return status;
}

static hilo_status dot_run(struct eval *cx, ir_op op, const struct value *lhs, const struct value *rhs, const struct roles *l,
                           const struct roles *r, struct value **out) {
    struct dot d = {0};
    HILO_TRY(dot_check(cx, op, lhs, rhs, l->batch, r->batch, l->nbatch));
    HILO_TRY(dot_check(cx, op, lhs, rhs, l->contract, r->contract, l->ncontract));
    dot_shape(&d, lhs, rhs, l, r, -1);
    HILO_TRY(dot_begin(cx, op, &d, lhs, rhs));
    return dot_finish(cx, &d, dot_add(cx, op, &d, d.a, 0, 0), out);
}

hilo_status eval_dot_general(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_module *m = cx->m;
    struct roles l = {0}, r = {0};
    static const int64_t first[1] = {0};
    int64_t last[1] = {(int64_t)in[0]->rank - 1};
    if (ir_kind(m, op) == IR_DOT) { /* last dimension of lhs with the first of rhs */
        l.contract = last;
        r.contract = first;
        l.ncontract = r.ncontract = 1;
    } else {
        if (!IR_NONE(ir_prop(m, op, IR_DOT_GENERAL_algorithm)))
            return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "has an algorithm, which the pass 'fused' has not written out");
        ir_attr dims = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers);
        l.batch = ir_field_dims(m, dims, IR_DOT_lhs_batching_dimensions_F, &l.nbatch);
        r.batch = ir_field_dims(m, dims, IR_DOT_rhs_batching_dimensions_F, &r.nbatch);
        l.contract = ir_field_dims(m, dims, IR_DOT_lhs_contracting_dimensions_F, &l.ncontract);
        r.contract = ir_field_dims(m, dims, IR_DOT_rhs_contracting_dimensions_F, &r.ncontract);
    }
    return dot_run(cx, op, in[0], in[1], &l, &r, out);
}

/* ---- ragged_dot --------------------------------------------------------------------------------------------------- */

/* The ragged dimension of lhs and the dimensions that group_sizes has before its last, in their order. */
struct ragged {
    int64_t dim;
    int64_t prefix[IR_MAX_RANK];
    uint32_t nprefix;
    const struct value *sizes; /* [prefix…, groups], or [groups] for all prefixes alike */
};

/* First position after group g along the ragged dimension, for the prefix found in an index of lhs; and its first. */
static void ragged_range(const struct ragged *r, const int64_t *index, int64_t g, int64_t *begin, int64_t *end) {
    int64_t groups = r->sizes->dims[r->sizes->rank - 1], row = 0;
    for (uint32_t i = 0; r->sizes->rank > 1 && i < r->nprefix; i++)
        row = row * r->sizes->dims[i] + index[r->prefix[i]];
    *begin = 0;
    for (int64_t i = 0; i < g; i++)
        *begin += value_i64(r->sizes, (size_t)(row * groups + i));
    *end = *begin + value_i64(r->sizes, (size_t)(row * groups + g));
}

/* A copy of the widened lhs (whose dimensions are in the order perm) with zeros outside group g. */
static void ragged_mask(const struct ragged *r, const struct dot *d, const struct value *lhs, int64_t g, void *out) {
    int64_t dims[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, index[IR_MAX_RANK];
    for (uint32_t i = 0; i < lhs->rank; i++)
        dims[i] = lhs->dims[d->lperm[i]];
    const char *from = d->a;
    char *to = out;
    if (lhs->count)
        do {
            for (uint32_t i = 0; i < lhs->rank; i++)
                index[d->lperm[i]] = at[i];
            int64_t begin, end;
            ragged_range(r, index, g, &begin, &end);
            if (index[r->dim] >= begin && index[r->dim] < end)
                memcpy(to, from, d->size);
            else
                memset(to, 0, d->size);
            from += d->size;
            to += d->size;
        } while (index_next(at, dims, lhs->rank));
}

static bool ragged_has(const int64_t *list, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

/* Three modes by the role of the ragged dimension: a free dimension of lhs (each row meets its group's rhs), a contracting one
   (one product per group, stacked), a batch one (an ordinary dot_general). */
hilo_status eval_ragged_dot(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_module *m = cx->m;
    ir_attr dims = ir_prop(m, op, IR_RAGGED_DOT_ragged_dot_dimension_numbers);
    struct roles l = {0}, r = {0};
    size_t nragged, ngroup;
    l.batch = ir_field_dims(m, dims, IR_RAGGED_DOT_lhs_batching_dimensions_F, &l.nbatch);
    r.batch = ir_field_dims(m, dims, IR_RAGGED_DOT_rhs_batching_dimensions_F, &r.nbatch);
    l.contract = ir_field_dims(m, dims, IR_RAGGED_DOT_lhs_contracting_dimensions_F, &l.ncontract);
    r.contract = ir_field_dims(m, dims, IR_RAGGED_DOT_rhs_contracting_dimensions_F, &r.ncontract);
    const int64_t *ragged = ir_field_dims(m, dims, IR_RAGGED_DOT_lhs_ragged_dimensions_F, &nragged);
    const int64_t *group = ir_field_dims(m, dims, IR_RAGGED_DOT_rhs_group_dimensions_F, &ngroup);
    struct ragged rag = {.dim = ragged[0], .sizes = in[2]};
    if (ragged_has(l.batch, l.nbatch, rag.dim))
        return dot_run(cx, op, in[0], in[1], &l, &r, out);
    bool contracts = ragged_has(l.contract, l.ncontract, rag.dim);
    for (size_t i = 0; i < l.nbatch; i++)
        rag.prefix[rag.nprefix++] = l.batch[i];
    for (size_t i = 0; contracts && l.contract[i] != rag.dim; i++)
        rag.prefix[rag.nprefix++] = l.contract[i];
    for (int64_t i = 0; !contracts && i < rag.dim; i++)
        if (!ragged_has(l.batch, l.nbatch, i) && !ragged_has(l.contract, l.ncontract, i))
            rag.prefix[rag.nprefix++] = i;

    struct dot d = {0};
    HILO_TRY(dot_check(cx, op, in[0], in[1], l.batch, r.batch, l.nbatch));
    HILO_TRY(dot_check(cx, op, in[0], in[1], l.contract, r.contract, l.ncontract));
    dot_shape(&d, in[0], in[1], &l, &r, contracts || !ngroup ? -1 : group[0]);
    int64_t groups = in[2]->dims[in[2]->rank - 1];
    if (contracts) { /* the result's outermost dimension is the group */
        memmove(d.dims + 1, d.dims, d.rank * sizeof *d.dims);
        d.dims[0] = groups;
        d.rank++;
    }
    HILO_TRY(dot_begin(cx, op, &d, in[0], in[1]));
    void *masked = mem_alloc(&cx->al, d.abytes);
    if (!masked) {
        dot_end(cx, &d);
        value_unref(d.result);
        return HILO_RESOURCE_EXHAUSTED;
    }
    hilo_status status = HILO_OK;
    for (int64_t g = 0; g < groups && status == HILO_OK; g++) {
        ragged_mask(&rag, &d, in[0], g, masked);
        status = dot_add(cx, op, &d, masked, contracts ? 0 : (size_t)g, contracts ? (size_t)g : 0);
    }
    mem_free(&cx->al, masked, d.abytes);
    return dot_finish(cx, &d, status, out);
}
