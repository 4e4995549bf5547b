/* Buffers: values that a caller holds. */
#include "runtime/device.h"

/* ---- creating -------------------------------------------------------------------------------- */

hilo_buffer *rt_buffer_new(hilo_client *client, struct value *v) {
    size_t bytes = sizeof(hilo_buffer) + v->rank * sizeof(int64_t);
    hilo_buffer *b = mem_alloc(&client->memory, bytes);
    if (!b)
        return NULL;
    *b = (hilo_buffer){.client = rt_client_retain(client), .value = v->device ? NULL : v, .device = v->device ? v : NULL,
                       .rank = v->rank, .bytes = v->bytes,
                       .dtype = v->kind == EVAL_TOKEN ? HILO_TOKEN : ir_dtype_get(v->dtype)->number};
    atomic_init(&b->refs, 1);
    b->id = atomic_fetch_add_explicit(&client->buffers, 1, memory_order_relaxed) + 1;
    if (v->rank)
        memcpy(b->dims, v->dims, v->rank * sizeof *v->dims);
    return b;
}

/* What all three ways to create a buffer ask of its type. */
static hilo_status check_type(struct diag_list *d, hilo_dtype dtype, const int64_t *dims, uint32_t rank) {
    if (dtype == HILO_TOKEN)
        return rank == 0 ? HILO_OK : diag_error(d, HILO_INVALID_ARGUMENT, "a token has no dimensions");
    if (!rt_dtype(dtype))
        return diag_error(d, HILO_INVALID_ARGUMENT, "%d is no element type", (int)dtype);
    if (rank > IR_MAX_RANK)
        return diag_error(d, HILO_INVALID_ARGUMENT, "%u dimensions are more than %d", rank, (int)IR_MAX_RANK);
    if (rank && !dims)
        return diag_error(d, HILO_INVALID_ARGUMENT, "the dimensions are missing");
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return diag_error(d, HILO_INVALID_ARGUMENT, "dimension %u is negative", i);
    return HILO_OK;
}

static hilo_status new_value(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                             struct diag_list *d, struct value **out) {
    HILO_TRY(check_type(d, dtype, dims, rank));
    if (dtype == HILO_TOKEN)
        return value_token(&client->memory, out);
    return value_tensor(&client->memory, rt_dtype(dtype), dims, rank, out);
}

hilo_status rt_buffer_adopt(hilo_client *client, struct value *v, hilo_buffer **out) {
    hilo_buffer *b = rt_buffer_new(client, v);
    if (!b) {
        value_unref(v);
        return HILO_RESOURCE_EXHAUSTED;
    }
    *out = b;
    return HILO_OK;
}

hilo_status hilo_buffer_create(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                               hilo_buffer **out) {
    if (!client || !out)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, client->al);
    struct value *v = NULL;
    hilo_status status = new_value(client, dtype, dims, rank, &d, &v);
    if (status == HILO_OK)
        status = rt_buffer_adopt(client, v, out);
    return rt_finish(client, &d, status);
}

/* ---- from the host --------------------------------------------------------------------------- */

/* n elements that are `stride` bytes apart. */
static void gather_row(char *dst, const char *src, size_t n, int64_t stride, size_t size) {
#define COPY(bytes)                                                  \
    case bytes:                                                      \
        for (size_t i = 0; i < n; i++, dst += bytes, src += stride)  \
            memcpy(dst, src, bytes);                                 \
        return;
    switch (size) {
        COPY(1)
        COPY(2)
        COPY(4)
        COPY(8)
        COPY(16)
    }
#undef COPY
}

static void gather(struct value *v, const char *src, const int64_t *strides) {
    size_t size = ir_dtype_get(v->dtype)->bytes;
    uint32_t outer = v->rank ? v->rank - 1 : 0;
    size_t n = v->rank ? (size_t)v->dims[outer] : 1;
    int64_t step = v->rank ? strides[outer] : (int64_t)size, index[IR_MAX_RANK] = {0};
    char *dst = v->data;
    do {
        int64_t offset = 0;
        for (uint32_t i = 0; i < outer; i++)
            offset += index[i] * strides[i];
        if (step == (int64_t)size)
            memcpy(dst, src + offset, n * size);
        else
            gather_row(dst, src + offset, n, step, size);
        dst += n * size;
    } while (index_next(index, v->dims, outer));
}

/* Elements of less than 8 bits, from bytes with anything in the upper ones. */
static void clean_elements(struct value *v) {
    const struct ir_dtype_info *info = ir_dtype_get(v->dtype);
    uint8_t *p = v->data, mask = (uint8_t)((1u << (info->bits & 7)) - 1);
    uint8_t sign = (uint8_t)(1u << ((info->bits - 1) & 7));
    if (info->cls == IR_PRED)
        for (size_t i = 0; i < v->count; i++)
            p[i] = p[i] != 0;
    else if (info->bits < 8 && info->cls == IR_SINT)
        for (size_t i = 0; i < v->count; i++)
            p[i] = (uint8_t)(((p[i] & mask) ^ sign) - sign);
    else if (info->bits < 8)
        for (size_t i = 0; i < v->count; i++)
            p[i] &= mask;
}

hilo_status hilo_buffer_from_host(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                                  const void *data, const int64_t *byte_strides, hilo_buffer **out) {
    if (!client || !out)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, client->al);
    struct value *v = NULL;
    hilo_status status = new_value(client, dtype, dims, rank, &d, &v);
    if (status == HILO_OK && v->bytes && !data) {
        value_unref(v);
        status = diag_error(&d, HILO_INVALID_ARGUMENT, "the data is missing");
    } else if (status == HILO_OK) {
        if (v->bytes && byte_strides)
            gather(v, data, byte_strides);
        else if (v->bytes)
            memcpy(v->data, data, v->bytes);
        if (v->bytes)
            clean_elements(v);
        status = rt_buffer_adopt(client, v, out);
    }
    return rt_finish(client, &d, status);
}

/* Complex numbers are aligned as their parts are. */
static size_t alignment(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return info->cls == IR_COMPLEX_CLASS ? info->bytes / 2 : info->bytes;
}

static hilo_status wrap(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                        void (*release)(void *user, void *data), void *user, struct diag_list *d, hilo_buffer **out) {
    HILO_TRY(check_type(d, dtype, dims, rank));
    enum ir_dtype t = rt_dtype(dtype);
    if (!t)
        return diag_error(d, HILO_INVALID_ARGUMENT, "a token has no data to wrap");
    if (!data || (uintptr_t)data % alignment(t))
        return diag_error(d, HILO_INVALID_ARGUMENT, "the data is missing, or not aligned to %zu bytes", alignment(t));
    struct value *v;
    HILO_TRY(value_borrow(&client->memory, t, dims, rank, data, NULL, NULL, &v));
    HILO_TRY(rt_buffer_adopt(client, v, out));
    if (release) { /* only now is the memory no longer the caller's */
        v->release = release;
        v->user = user;
    }
    return HILO_OK;
}

hilo_status hilo_buffer_wrap(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                             void (*release)(void *user, void *data), void *user, hilo_buffer **out) {
    if (!client || !out)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, client->al);
    return rt_finish(client, &d, wrap(client, dtype, dims, rank, data, release, user, &d, out));
}

/* ---- references and contents ----------------------------------------------------------------- */

hilo_buffer *hilo_buffer_retain(hilo_buffer *buffer) {
    if (buffer)
        atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

void hilo_buffer_release(hilo_buffer *buffer) {
    if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    hilo_client *client = buffer->client;
    if (buffer->packed)
        rt_packed_drop_buffer(client, buffer);
    value_unref(buffer->value);
    value_unref(buffer->device);
    mem_free(&client->memory, buffer, sizeof *buffer + buffer->rank * sizeof(int64_t));
    hilo_client_release(client);
}

hilo_dtype hilo_buffer_dtype(const hilo_buffer *buffer) {
    return buffer ? buffer->dtype : HILO_DTYPE_INVALID;
}

uint32_t hilo_buffer_rank(const hilo_buffer *buffer) {
    return buffer ? buffer->rank : 0;
}

const int64_t *hilo_buffer_dims(const hilo_buffer *buffer) {
    return buffer ? buffer->dims : NULL;
}

size_t hilo_buffer_bytes(const hilo_buffer *buffer) {
    return buffer ? buffer->bytes : 0;
}

/* One more reference to the value, on the host where it is there; NULL once donated. */
static struct value *take(const hilo_buffer *buffer) {
    pthread_mutex_lock(&buffer->client->lock);
    struct value *v = buffer->value && (buffer->truth != RT_DEVICE_FORM || !buffer->device) ? buffer->value : buffer->device;
    v = v ? value_ref(v) : NULL;
    pthread_mutex_unlock(&buffer->client->lock);
    return v;
}

static hilo_status copy_out(struct gpu *g, void *dst, const char *from, size_t bytes, struct diag_list *d) {
    HILO_TRY(gpu_copy(g, GPU_TO_HOST, dst, from, bytes, d));
    return gpu_wait(g, d);
}

static hilo_status read_bytes(const hilo_buffer *buffer, size_t offset, void *dst, size_t bytes, struct diag_list *d) {
    hilo_status status = HILO_OK;
    struct value *v = take(buffer);
    if (!v)
        return diag_error(d, HILO_FAILED_PRECONDITION, "the buffer was donated to a run and has no data");
    if (bytes && v->device)
        status = copy_out(buffer->client->gpu, dst, (const char *)v->data + offset, bytes, d);
    else if (bytes)
        memcpy(dst, (const char *)v->data + offset, bytes);
    value_unref(v);
    return status;
}

hilo_status rt_buffer_read(const hilo_buffer *buffer, size_t offset, void *dst, size_t bytes) {
    struct diag_list d;
    diag_init(&d, buffer->client->al);
    return rt_finish(buffer->client, &d, read_bytes(buffer, offset, dst, bytes, &d));
}

hilo_status hilo_buffer_to_host(const hilo_buffer *buffer, void *dst, size_t nbytes) {
    if (!buffer)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, buffer->client->al);
    hilo_status status;
    if (nbytes != buffer->bytes || (nbytes && !dst))
        status = diag_error(&d, HILO_INVALID_ARGUMENT, "the buffer has %zu bytes, not %zu", buffer->bytes, nbytes);
    else
        status = read_bytes(buffer, 0, dst, nbytes, &d);
    return rt_finish(buffer->client, &d, status);
}

void *hilo_buffer_data(const hilo_buffer *buffer) {
    if (!buffer)
        return NULL;
    hilo_buffer *b = (hilo_buffer *)(uintptr_t)buffer; /* what it has on the device, it may have on the host */
    if (rt_buffer_fetch(&b, 1) != HILO_OK)
        return NULL;
    pthread_mutex_lock(&buffer->client->lock);
    b->truth = RT_HOST_FORM;
    void *data = buffer->value && buffer->value->kind == EVAL_TENSOR ? buffer->value->data : NULL;
    pthread_mutex_unlock(&buffer->client->lock);
    return data;
}

void hilo_buffer_changed(hilo_buffer *buffer) {
    if (!buffer)
        return;
    pthread_mutex_lock(&buffer->client->lock);
    buffer->version++;
    pthread_mutex_unlock(&buffer->client->lock);
}

/* ---- as text --------------------------------------------------------------------------------- */

void rt_type_text(hilo_dtype dtype, uint32_t rank, const int64_t *dims, struct strbuf *out) {
    if (dtype == HILO_TOKEN) {
        strbuf_puts(out, "token");
        return;
    }
    strbuf_puts(out, "tensor<");
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == HILO_DYNAMIC)
            strbuf_putc(out, '?');
        else
            strbuf_i64(out, dims[i]);
        strbuf_putc(out, 'x');
    }
    strbuf_puts(out, hilo_dtype_name(dtype));
    strbuf_putc(out, '>');
}
