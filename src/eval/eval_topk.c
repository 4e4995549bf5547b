/* chlo.top_k: the k largest elements of each line of the last dimension, largest first, equal ones in their order. Floats are
 * in total order: -0 below 0, positive NaN above infinity, negative NaN below -infinity. */
#include "eval/eval_core.h"

#include <inttypes.h>

/* A number as an unsigned integer that is larger where the number is larger. What would be -0 is the only NaN of some formats,
   and a negative one. */
static uint64_t topk_key(const struct value *v, size_t i) {
    const struct ir_dtype_info *t = ir_dtype_get(v->dtype);
    if (t->cls != IR_FLOAT)
        return (uint64_t)value_i64(v, i) ^ (t->cls == IR_UINT ? 0 : (uint64_t)1 << 63);
    uint64_t bits = fp_load(t->fp, (const char *)v->data + i * t->bytes), sign = fp_get(t->fp)->sign;
    if (bits == sign && fp_is_nan(t->fp, bits))
        return 0;
    return bits & sign ? ~bits & (sign - 1) : bits | sign;
}

struct topk_entry {
    uint64_t key;
    uint32_t index;
};

static bool topk_before(struct topk_entry a, struct topk_entry b) {
    return a.key != b.key ? a.key > b.key : a.index < b.index;
}

/* Puts `e` at the root of a heap of n whose root is its last entry in the order, after the root was taken out. */
static void topk_sift(struct topk_entry *heap, uint32_t n, struct topk_entry e) {
    uint32_t at = 0;
    for (uint32_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && topk_before(heap[child], heap[child + 1]))
            child++;
        if (!topk_before(e, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = e;
}

/* The first k of n elements from `base` on, in order. */
static void topk_line(const struct value *v, size_t base, uint32_t n, struct topk_entry *heap, uint32_t k) {
    for (uint32_t i = 0; i < n; i++) {
        struct topk_entry e = {topk_key(v, base + i), i};
        if (i < k) { /* until it is full: from the last place up to where it belongs */
            uint32_t at = i;
            for (; at && topk_before(heap[(at - 1) / 2], e); at = (at - 1) / 2)
                heap[at] = heap[(at - 1) / 2];
            heap[at] = e;
        } else if (topk_before(e, heap[0])) {
            topk_sift(heap, k, e);
        }
    }
    for (uint32_t left = k; left > 1; left--) {
        struct topk_entry last = heap[0];
        topk_sift(heap, left - 1, heap[left - 1]);
        heap[left - 1] = last;
    }
}

static void topk_lines(const struct value *v, uint32_t n, struct topk_entry *heap, uint32_t k, struct value *values,
                       struct value *indices) {
    size_t size = ir_dtype_get(v->dtype)->bytes;
    char *to = values->data;
    int32_t *index = indices->data;
    for (size_t base = 0; k && base < v->count; base += n) {
        topk_line(v, base, n, heap, k);
        for (uint32_t i = 0; i < k; i++, to += size) {
            memcpy(to, (const char *)v->data + (base + heap[i].index) * size, size);
            *index++ = (int32_t)heap[i].index;
        }
    }
}

static hilo_status topk_run(struct eval *cx, ir_op op, const struct value *v, int64_t k, struct value **out) {
    int64_t n = v->rank ? v->dims[v->rank - 1] : 0, dims[IR_MAX_RANK];
    if (v->rank == 0 || k < 0 || k > n || n > INT32_MAX)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "cannot take %" PRId64 " of %" PRId64 " elements", k, n);
    if (ir_dtype_get(v->dtype)->cls == IR_COMPLEX_CLASS)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "cannot order complex numbers");
    memcpy(dims, v->dims, v->rank * sizeof *dims);
    dims[v->rank - 1] = k;
    size_t nbytes = (size_t)k * sizeof(struct topk_entry);
    struct topk_entry *heap = mem_alloc(&cx->al, nbytes);
    if (!heap)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = value_tensor(&cx->al, v->dtype, dims, v->rank, &out[0]);
    if (status == HILO_OK)
        status = value_tensor(&cx->al, IR_I32_T, dims, v->rank, &out[1]);
    if (status == HILO_OK)
        topk_lines(v, (uint32_t)n, heap, (uint32_t)k, out[0], out[1]);
    mem_free(&cx->al, heap, nbytes);
    return status;
}

hilo_status eval_top_k(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    return topk_run(cx, op, in[0], ir_prop_i64(cx->m, op, IR_TOP_K_k), out);
}

/* custom_call @stablehlo.dynamic_top_k: k is the second operand. */
hilo_status eval_dynamic_top_k(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    if (o->noperands != 2 || o->nresults != 2 || in[0]->kind != EVAL_TENSOR || !value_is_integers(in[1]) || in[1]->count != 1)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "must have a tensor, one integer, and two results");
    return topk_run(cx, op, in[0], value_i64(in[1], 0), out);
}
