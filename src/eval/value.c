/* Values: counted tensors, tokens, tuples and futures. A tensor that owns its data is one block: the struct, its dimensions,
 * then, from the next multiple of 64 bytes, the elements. Many elements are a block of their own. */
#include "eval/eval.h"
#include "base/torture.h"

#include <inttypes.h>

/* The runtime's allocator aligns a block of APART bytes to a page (runtime/cache.c). Were a header before the elements, a loop
   that stores them would store at offsets of a page that its next iterations load from, where its input begins with a page:
   processors compare the low 12 bits of addresses first, and loads wait for stores that they do not depend on. */
enum { VALUE_ALIGN = 64, VALUE_APART = TORTURED(VALUE_ALIGN, 4 << 20) };

static void value_keep(void *user, void *data) {
    (void)user;
    (void)data;
}

/* Bytes of the struct followed by `tail` bytes, up to where data may start; false on overflow. */
static bool value_head_bytes(size_t tail, size_t *out) {
    size_t n;
    if (!mem_add(sizeof(struct value), tail, &n) || !mem_add(n, VALUE_ALIGN - 1, &n))
        return false;
    *out = n & ~(size_t)(VALUE_ALIGN - 1);
    return true;
}

static size_t value_tail_bytes(const struct value *v) {
    return v->kind == EVAL_TENSOR ? v->rank * sizeof(int64_t) : v->nitems * sizeof(struct value *);
}

/* The offset from the boundary at which elements of the type begin: 0; in the torture build the smallest other legal one. */
static size_t value_shift(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return TORTURED(info->cls == IR_COMPLEX_CLASS ? info->bytes / 2 : info->bytes, 0);
}

/* Whether the elements of a tensor that owns them are a block of their own. */
static bool value_is_apart(size_t bytes) {
    return bytes >= VALUE_APART;
}

/* A block for `tail` bytes after the struct and `data` bytes from the next boundary on. */
static struct value *value_new(const hilo_allocator *al, enum eval_kind kind, size_t tail, size_t data) {
    size_t head, all;
    if (!value_head_bytes(tail, &head) || !mem_add(head, data, &all))
        return NULL;
    struct value *v = mem_alloc(al, all);
    if (!v)
        return NULL;
    *v = (struct value){.kind = kind, .al = *al};
    atomic_init(&v->refs, 1);
    return v;
}

/* Elements and bytes of a shape. A dimension of 0 makes both 0, however large the others are. */
static hilo_status value_size(enum ir_dtype t, const int64_t *dims, uint32_t rank, size_t *count, size_t *bytes) {
    size_t each = ir_dtype_get(t)->bytes;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return HILO_INVALID_ARGUMENT;
    *count = *bytes = 0;
    if (!mem_shape(dims, rank, each, bytes))
        return HILO_RESOURCE_EXHAUSTED;
    *count = each ? *bytes / each : 0;
    return HILO_OK;
}

static hilo_status value_shaped(const hilo_allocator *al, enum ir_dtype t, const int64_t *dims, uint32_t rank, bool own,
                                struct value **out) {
    size_t count, bytes;
    HILO_TRY(value_size(t, dims, rank, &count, &bytes));
    struct value *v = value_new(al, EVAL_TENSOR, rank * sizeof(int64_t),
                                own && !value_is_apart(bytes) ? bytes + value_shift(t) : 0);
    if (!v)
        return HILO_RESOURCE_EXHAUSTED;
    v->dtype = t;
    v->rank = rank;
    v->dims = (int64_t *)(v + 1);
    if (rank)
        memcpy(v->dims, dims, rank * sizeof *dims);
    v->count = count;
    v->bytes = bytes;
    *out = v;
    return HILO_OK;
}

hilo_status value_tensor(const hilo_allocator *al, enum ir_dtype t, const int64_t *dims, uint32_t rank, struct value **out) {
    struct value *v;
    HILO_TRY(value_shaped(al, t, dims, rank, true, &v));
    size_t head = 0;
    char *block = (char *)v;
    value_head_bytes(value_tail_bytes(v), &head);
    if (value_is_apart(v->bytes)) {
        block = mem_alloc(al, v->bytes + value_shift(t));
        if (!block) {
            mem_free(al, v, head);
            return HILO_RESOURCE_EXHAUSTED;
        }
        head = 0;
    }
    v->data = block + head + value_shift(t);
    if (TORTURE)
        memset(v->data, TORTURE_DEAD, v->bytes);
    *out = v;
    return HILO_OK;
}

hilo_status value_borrow(const hilo_allocator *al, enum ir_dtype t, const int64_t *dims, uint32_t rank, void *data,
                         void (*release)(void *user, void *data), void *user, struct value **out) {
    HILO_TRY(value_shaped(al, t, dims, rank, false, out));
    (*out)->data = data;
    (*out)->release = release ? release : value_keep;
    (*out)->user = user;
    return HILO_OK;
}

hilo_status value_token(const hilo_allocator *al, struct value **out) {
    struct value *v = value_new(al, EVAL_TOKEN, 0, 0);
    if (!v)
        return HILO_RESOURCE_EXHAUSTED;
    *out = v;
    return HILO_OK;
}

hilo_status value_group(const hilo_allocator *al, enum eval_kind kind, struct value *const *items, uint32_t n,
                        struct value **out) {
    struct value *v = value_new(al, kind, n * sizeof *items, 0);
    if (!v)
        return HILO_RESOURCE_EXHAUSTED;
    v->items = (struct value **)(v + 1);
    v->nitems = n;
    for (uint32_t i = 0; i < n; i++)
        v->items[i] = value_ref(items[i]);
    *out = v;
    return HILO_OK;
}

struct value *value_ref(struct value *v) {
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void value_unref(struct value *v) {
    if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < v->nitems; i++)
        value_unref(v->items[i]);
    if (v->release)
        v->release(v->user, v->data);
    size_t head = 0;
    value_head_bytes(value_tail_bytes(v), &head);
    hilo_allocator al = v->al;
    size_t shift = v->kind == EVAL_TENSOR ? value_shift(v->dtype) : 0;
    size_t own = v->kind == EVAL_TENSOR && !v->release ? v->bytes + shift : 0;
    if (own && value_is_apart(v->bytes)) {
        mem_free(&al, (char *)v->data - shift, own);
        own = 0;
    }
    mem_free(&al, v, head + own);
}

void value_strides(const int64_t *dims, uint32_t rank, int64_t *out) {
    uint64_t stride = 1; /* wraps where a shape without elements has large dimensions */
    for (uint32_t i = rank; i-- > 0;) {
        out[i] = (int64_t)stride;
        stride *= (uint64_t)dims[i];
    }
}

bool index_next(int64_t *index, const int64_t *dims, uint32_t rank) {
    for (uint32_t i = rank; i-- > 0;) {
        if (++index[i] < dims[i])
            return true;
        index[i] = 0;
    }
    return false;
}

bool value_is_integers(const struct value *v) {
    enum ir_dtype_class cls = v->kind == EVAL_TENSOR ? ir_dtype_get(v->dtype)->cls : IR_FLOAT;
    return cls != IR_FLOAT && cls != IR_COMPLEX_CLASS;
}

int64_t value_i64(const struct value *v, size_t i) {
    const struct ir_dtype_info *t = ir_dtype_get(v->dtype);
    bool is_signed = t->cls == IR_SINT || t->cls == IR_INDEX_CLASS;
    switch (t->bytes) {
    case 1:
        return is_signed ? ((const int8_t *)v->data)[i] : ((const uint8_t *)v->data)[i];
    case 2:
        return is_signed ? ((const int16_t *)v->data)[i] : ((const uint16_t *)v->data)[i];
    case 4:
        return is_signed ? ((const int32_t *)v->data)[i] : (int64_t)((const uint32_t *)v->data)[i];
    default:
        return ((const int64_t *)v->data)[i];
    }
}

void value_type_text(const struct value *v, struct strbuf *out) {
    static const char *const names[] = {"tensor", "token", "tuple", "future"};
    strbuf_puts(out, names[v->kind]);
    if (v->kind == EVAL_TOKEN)
        return;
    strbuf_putc(out, '<');
    for (uint32_t i = 0; i < v->rank; i++)
        strbuf_printf(out, "%" PRId64 "x", v->dims[i]);
    if (v->kind == EVAL_TENSOR)
        strbuf_puts(out, ir_dtype_get(v->dtype)->name);
    for (uint32_t i = 0; i < v->nitems; i++) {
        strbuf_puts(out, i ? ", " : "");
        value_type_text(v->items[i], out);
    }
    strbuf_putc(out, '>');
}
