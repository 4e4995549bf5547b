/* sort: a stable merge sort of positions along one dimension, by the comparator's region. */
#include "eval/body.h"

/* One line of the inputs along the sorted dimension, gathered so that elements are contiguous. */
struct sort_line {
    struct body *less;
    uint32_t n;             /* inputs */
    char **line;            /* per input: its elements on this line, in the type of the comparator's arguments */
    size_t *size;           /* per input: bytes of an element */
    const void **args;      /* 2n pointers for the comparator */
    hilo_status status;     /* first failure of the comparator */
};

static bool sort_less(struct sort_line *s, uint32_t a, uint32_t b) {
    uint8_t answer = 0;
    void *result[1] = {&answer};
    if (s->status != HILO_OK)
        return false;
    for (uint32_t k = 0; k < s->n; k++) {
        s->args[2 * k] = s->line[k] + a * s->size[k];
        s->args[2 * k + 1] = s->line[k] + b * s->size[k];
    }
    hilo_status status = body_run(s->less, s->args, result, 1);
    if (status != HILO_OK)
        s->status = status;
    return status == HILO_OK && answer;
}

/* Bottom-up: runs of doubling length, merged between two buffers. Returns the buffer that holds the result. */
static uint32_t *sort_positions(struct sort_line *s, uint32_t *a, uint32_t *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        a[i] = i;
    for (size_t run = 1; run < n && s->status == HILO_OK; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t i = at, mid = at + run < n ? at + run : n, j = mid, end = at + 2 * run < n ? at + 2 * run : n;
            for (size_t to = at; to < end; to++)
                b[to] = i < mid && (j >= end || !sort_less(s, a[j], a[i])) ? a[i++] : a[j++];
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Copies between a tensor's line (elements `stride` apart) and contiguous memory, permuted by `order` when it is given. */
static void line_gather(const char *from, size_t stride, size_t size, size_t n, char *to) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * size, from + i * stride * size, size);
}

static void line_scatter(const char *from, const uint32_t *order, size_t stride, size_t size, size_t n, char *to) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * stride * size, from + order[i] * size, size);
}

static hilo_status sort_lines(struct eval *cx, struct sort_line *s, struct value *const *in, struct value **out, uint32_t dim) {
    const struct value *x = in[0];
    size_t n = (size_t)x->dims[dim], inner = 1, outer = 1;
    for (uint32_t d = 0; d < dim; d++)
        outer *= (size_t)x->dims[d];
    for (uint32_t d = dim + 1; d < x->rank; d++)
        inner *= (size_t)x->dims[d];
    uint32_t *positions = mem_alloc(&cx->al, 2 * n * sizeof *positions);
    hilo_status status = positions ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    for (size_t line = 0; status == HILO_OK && n && line < outer * inner; line++) {
        size_t at = line / inner * n * inner + line % inner;
        for (uint32_t k = 0; k < s->n; k++)
            line_gather((const char *)in[k]->data + at * s->size[k], inner, s->size[k], n, s->line[k]);
        uint32_t *order = sort_positions(s, positions, positions + n, (uint32_t)n);
        for (uint32_t k = 0; k < s->n; k++)
            line_scatter(s->line[k], order, inner, s->size[k], n, (char *)out[k]->data + at * s->size[k]);
        status = s->status;
    }
    mem_free(&cx->al, positions, 2 * n * sizeof *positions);
    return status;
}

hilo_status eval_sort(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands, made = 0;
    int64_t dim = ir_prop_i64(cx->m, op, IR_SORT_dimension);
    const struct value *x = in[0];
    dim += dim < 0 ? x->rank : 0;
    for (uint32_t k = 1; k < n; k++)
        for (uint32_t d = 0; d < x->rank; d++)
            if (in[k]->dims[d] != x->dims[d])
                return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has inputs of different shapes");
    if (x->dims[dim] > UINT32_MAX)
        return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "sorts more than 2^32 elements");
    size_t length = (size_t)x->dims[dim], scratch_bytes = n * (sizeof(char *) + sizeof(size_t) + 2 * sizeof(void *));
    struct body less;
    HILO_TRY(body_open(cx, op, ir_op_region(cx->m, op, 0), &less));
    char *scratch = mem_alloc(&cx->al, scratch_bytes);
    hilo_status status = scratch ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    struct sort_line s = {.less = &less, .n = n};
    if (scratch) {
        memset(scratch, 0, scratch_bytes);
        s.line = (void *)scratch;
        s.size = (void *)(s.line + n);
        s.args = (void *)(s.size + n);
    }
    for (; status == HILO_OK && made < n; made++) {
        s.size[made] = ir_dtype_get(in[made]->dtype)->bytes;
        status = eval_out(cx, op, made, x->dims, x->rank, &out[made]);
        if (status != HILO_OK)
            break;
        s.line[made] = mem_alloc(&cx->al, length * s.size[made]);
        if (!s.line[made])
            status = HILO_RESOURCE_EXHAUSTED;
    }
    if (status == HILO_OK)
        status = sort_lines(cx, &s, in, out, (uint32_t)dim);
    for (uint32_t k = 0; k < made; k++)
        mem_free(&cx->al, s.line[k], length * s.size[k]);
    mem_free(&cx->al, scratch, scratch_bytes);
    body_close(&less);
    return status;
}
