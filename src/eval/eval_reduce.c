/* reduce: all results together, one step along the reduced dimensions at a time.
 *
 * Inputs are permuted to [reduced…, kept…] order, so that steps combine the accumulators with a contiguous run of elements.
 * A body that is one addition or multiplication of numbers is computed without intermediate rounding (contract.h). */
#include "eval/body.h"
#include "eval/contract.h"

struct reduction {
    uint32_t n;               /* inputs */
    uint32_t perm[IR_MAX_RANK]; /* reduced dimensions, then kept ones */
    int64_t dims[IR_MAX_RANK];  /* of a result */
    uint32_t rank;
    size_t steps, kept;       /* elements along the reduced, along the kept dimensions */
};

static hilo_status reduce_shape(struct eval *cx, ir_op op, struct value *const *in, struct reduction *r) {
    size_t ndims;
    const int64_t *dims = ir_prop_i64s(cx->m, op, IR_REDUCE_dimensions, &ndims);
    bool reduced[IR_MAX_RANK] = {false};
    uint32_t at = 0;
    r->n = ir_op_get(cx->m, op)->noperands / 2;
    for (uint32_t k = 1; k < r->n; k++)
        for (uint32_t d = 0; d < in[0]->rank; d++)
            if (in[k]->dims[d] != in[0]->dims[d])
                return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has inputs of different shapes");
    for (size_t i = 0; i < ndims; i++)
        reduced[dims[i]] = true;
    r->steps = r->kept = 1;
    for (uint32_t d = 0; d < in[0]->rank; d++)
        if (reduced[d]) {
            r->perm[at++] = d;
            r->steps *= (size_t)in[0]->dims[d];
        }
    for (uint32_t d = 0; d < in[0]->rank; d++)
        if (!reduced[d]) {
            r->perm[at++] = d;
            r->dims[r->rank++] = in[0]->dims[d];
            r->kept *= (size_t)in[0]->dims[d];
        }
    return HILO_OK;
}

/* One addition or multiplication, in wide numbers, rounded at the end. */
static hilo_status reduce_numbers(struct eval *cx, ir_op op, const struct reduction *r, bool add, struct value *const *in,
                                  struct value **out) {
    HILO_TRY(eval_out(cx, op, 0, r->dims, r->rank, out));
    enum number kind = number_wider(number_of((*out)->dtype), number_of(in[0]->dtype));
    size_t size = number_bytes(kind);
    void *x = NULL, *init = NULL;
    char *sums = NULL;
    hilo_status status = number_load(cx, in[0], r->perm, kind, &x);
    if (status == HILO_OK)
        status = number_load(cx, in[1], NULL, kind, &init);
    if (status == HILO_OK && !(sums = mem_alloc(&cx->al, r->kept * size)))
        status = HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK) {
        for (size_t i = 0; i < r->kept; i++)
            memcpy(sums + i * size, init, size);
        size_t n = r->kept * (kind == NUM_COMPLEX && add ? 2 : 1);
        for (size_t s = 0; s < r->steps && status == HILO_OK; s++) {
            const char *step = (const char *)x + s * r->kept * size;
            const double *re = (const void *)step;
            const uint64_t *u = (const void *)step;
            const struct complex_number *c = (const void *)step;
            double *sum = (void *)sums;
            uint64_t *usum = (void *)sums;
            struct complex_number *csum = (void *)sums;
            for (size_t i = 0; i < n; i++)
                if (kind == NUM_INT)
                    usum[i] = add ? usum[i] + u[i] : usum[i] * u[i];
                else if (kind == NUM_COMPLEX && !add)
                    csum[i] = complex_mul(csum[i], c[i]);
                else
                    sum[i] = add ? sum[i] + re[i] : sum[i] * re[i];
            status = eval_work(cx, op, n);
        }
        number_store(kind, sums, *out);
    }
    mem_free(&cx->al, x, in[0]->count * size);
    mem_free(&cx->al, init, in[1]->count * size);
    mem_free(&cx->al, sums, r->kept * size);
    return status;
}

/* Any body: accumulators start as copies of the initial values. */
static hilo_status reduce_body(struct eval *cx, ir_op op, const struct reduction *r, struct body *b, struct value *const *in,
                               struct value **out) {
    uint32_t n = r->n;
    hilo_status status = HILO_OK;
    struct value *x[IR_MAX_RANK] = {NULL};
    const void *args[2 * IR_MAX_RANK];
    void *acc[IR_MAX_RANK];
    if (n > IR_MAX_RANK)
        return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "has more than %d inputs", IR_MAX_RANK);
    for (uint32_t made = 0; made < n; made++) {
        struct value *init;
        HILO_TRY(value_tensor(&cx->al, b->result[made], r->dims, r->rank, &out[made]));
        HILO_TRY(body_convert(cx, in[n + made], b->result[made], &init));
        size_t size = ir_dtype_get(b->result[made])->bytes;
        for (size_t i = 0; i < r->kept; i++)
            memcpy((char *)out[made]->data + i * size, init->data, size);
        value_unref(init);
    }
    for (uint32_t k = 0; status == HILO_OK && k < n; k++) {
        struct value *own = NULL;
        status = body_convert(cx, in[k], b->arg[n + k], &own);
        if (status == HILO_OK)
            status = value_permute(own, r->perm, &x[k]);
        value_unref(own);
    }
    for (size_t s = 0; status == HILO_OK && s < r->steps; s++) {
        for (uint32_t k = 0; k < n; k++) {
            args[k] = acc[k] = out[k]->data;
            args[n + k] = (char *)x[k]->data + s * r->kept * ir_dtype_get(b->arg[n + k])->bytes;
        }
        status = body_run(b, args, acc, r->kept);
    }
    for (uint32_t k = 0; k < n; k++)
        value_unref(x[k]);
    return status;
}

hilo_status eval_reduce(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    struct reduction r = {0};
    ir_region region = ir_op_region(cx->m, op, 0);
    HILO_TRY(reduce_shape(cx, op, in, &r));
    enum ir_op_kind single = r.n == 1 ? lanes_single_op(cx->m, region) : IR_OP_NONE;
    if ((single == IR_ADD || single == IR_MULTIPLY) && in[0]->dtype != IR_I1_T)
        return reduce_numbers(cx, op, &r, single == IR_ADD, in, out);
    struct body b;
    HILO_TRY(body_open(cx, op, region, &b));
    hilo_status status = reduce_body(cx, op, &r, &b, in, out);
    body_close(&b);
    return status;
}
