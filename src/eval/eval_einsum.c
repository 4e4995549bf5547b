/* einsum and unary_einsum: sums over named indices, "ab,bc->ac". */
#include "eval/contract.h"

enum { EINSUM_LABELS = 52 };

/* The indices of an einsum: result indices first, then those that are summed over. */
struct einsum {
    int64_t size[EINSUM_LABELS];        /* -1 = not used */
    int64_t stride[2][EINSUM_LABELS];   /* of each operand; repeated indices add up */
    int order[EINSUM_LABELS];
    uint32_t nout, nall;
};

static int einsum_label(char c) {
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* One operand's indices, up to ',' or '-' or the end. */
static hilo_status einsum_operand(struct eval *cx, ir_op op, struct einsum *e, struct str *text, uint32_t k,
                                  const struct value *v) {
    int64_t strides[IR_MAX_RANK];
    value_strides(v->dims, v->rank, strides);
    uint32_t d = 0;
    while (text->n && text->p[0] != ',' && text->p[0] != '-') {
        int label = einsum_label(text->p[0]);
        text->p++, text->n--;
        if (label < 0 || d == v->rank)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a config that does not name the dimensions of operand %u", k);
        if (e->size[label] >= 0 && e->size[label] != v->dims[d])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has index '%c' of sizes %lld and %lld", text->p[-1],
                             (long long)e->size[label], (long long)v->dims[d]);
        e->size[label] = v->dims[d];
        e->stride[k][label] += strides[d++];
    }
    if (d != v->rank)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a config that names %u of %u dimensions of operand %u", d,
                         v->rank, k);
    return HILO_OK;
}

static hilo_status einsum_read(struct eval *cx, ir_op op, struct einsum *e, struct str text, struct value *const *in,
                               uint32_t n) {
    bool is_out[EINSUM_LABELS] = {false};
    for (int i = 0; i < EINSUM_LABELS; i++)
        e->size[i] = -1;
    for (uint32_t k = 0; k < n; k++) {
        HILO_TRY(einsum_operand(cx, op, e, &text, k, in[k]));
        if (k + 1 < n && (text.n == 0 || text.p[0] != ','))
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a config for %u operands, expected %u", k + 1, n);
        if (k + 1 < n)
            text.p++, text.n--;
    }
    if (text.n < 2 || text.p[0] != '-' || text.p[1] != '>')
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a config without '->'");
    for (size_t i = 2; i < text.n; i++) {
        int label = einsum_label(text.p[i]);
        if (label < 0 || e->size[label] < 0 || is_out[label])
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has result index '%c', which no operand has or which is repeated",
                             text.p[i]);
        is_out[label] = true;
        e->order[e->nall++] = label;
    }
    e->nout = e->nall;
    for (int i = 0; i < EINSUM_LABELS; i++)
        if (e->size[i] >= 0 && !is_out[i])
            e->order[e->nall++] = i;
    return HILO_OK;
}

/* Offset of an operand's element at an index over `order`. */
static size_t einsum_at(const struct einsum *e, uint32_t k, const int64_t *index) {
    int64_t at = 0;
    for (uint32_t i = 0; i < e->nall; i++)
        at += index[i] * e->stride[k][e->order[i]];
    return (size_t)at;
}

static hilo_status einsum_sums(struct eval *cx, ir_op op, const struct einsum *e, enum number kind, void *const *x, uint32_t n,
                               char *sums) {
    int64_t dims[EINSUM_LABELS], index[EINSUM_LABELS] = {0};
    size_t size = number_bytes(kind), terms = 1, count = 0;
    static const uint64_t one_int = 1;
    static const double one_real = 1;
    static const struct complex_number one_complex = {1, 0};
    const void *one = kind == NUM_INT ? (const void *)&one_int : kind == NUM_REAL ? (const void *)&one_real : &one_complex;
    for (uint32_t i = 0; i < e->nall; i++) {
        dims[i] = e->size[e->order[i]];
        if (dims[i] == 0)
            return HILO_OK;
        terms *= i < e->nout ? 1 : (size_t)dims[i];
    }
    do {
        const char *a = (const char *)x[0] + einsum_at(e, 0, index) * size;
        const void *b = n == 2 ? (const char *)x[1] + einsum_at(e, 1, index) * size : one;
        number_gemm(kind, 1, 1, 1, a, b, 1, sums);
        if (++count == terms) {
            count = 0;
            sums += size;
        }
        HILO_TRY(eval_work(cx, op, 2 * (size_t)e->nall)); /* of indices */
    } while (index_next(index, dims, e->nall));
    return HILO_OK;
}

hilo_status eval_einsum(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands;
    enum ir_slot slot = ir_kind(cx->m, op) == IR_EINSUM ? IR_EINSUM_einsum_config : IR_UNARY_EINSUM_einsum_config;
    struct einsum e = {0};
    int64_t dims[EINSUM_LABELS];
    HILO_TRY(einsum_read(cx, op, &e, ir_prop_str(cx->m, op, slot), in, n));
    for (uint32_t i = 0; i < e.nout; i++)
        dims[i] = e.size[e.order[i]];
    for (uint32_t k = 0; k < n; k++)
        HILO_TRY(number_check(cx, op, in[k]->dtype, eval_result_dtype(cx, op, 0)));
    HILO_TRY(eval_out(cx, op, 0, dims, e.nout, out));
    enum number kind = number_of((*out)->dtype);
    size_t size = number_bytes(kind), nbytes = (*out)->count * size;
    void *x[2] = {NULL, NULL};
    char *sums = mem_alloc(&cx->al, nbytes);
    hilo_status status = sums ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    for (uint32_t k = 0; k < n && status == HILO_OK; k++)
        status = number_load(cx, in[k], NULL, kind, &x[k]);
    if (status == HILO_OK) {
        memset(sums, 0, nbytes);
        status = einsum_sums(cx, op, &e, kind, x, n, sums);
    }
    if (status == HILO_OK)
        number_store(kind, sums, *out);
    for (uint32_t k = 0; k < n; k++)
        mem_free(&cx->al, x[k], in[k]->count * size);
    mem_free(&cx->al, sums, nbytes);
    return status;
}
