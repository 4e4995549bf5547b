/* Transfers: from the host, to the host, from buffer to buffer. */
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

#include <stdlib.h>

/* ---- layouts --------------------------------------------------------------------------------- */

/* NULL, which is row-major, where a layout has no order: that is how frameworks give a shape without a layout. */
static const struct pjrt_layout *ordered(const struct pjrt_layout *layout) {
    struct pjrt_layout l;
    pjrt_struct(&l, sizeof l, layout);
    return l.type == PJRT_TILED && !l.tiled.minor_to_major_size && !l.tiled.num_tiles ? NULL : layout;
}

/* The strides in bytes of a layout on the host. */
static struct pjrt_error *pjrt_layout_strides(const struct pjrt_layout *layout, const int64_t *dims, size_t rank, size_t size,
                                              int64_t *out) {
    int64_t step = (int64_t)size;
    struct pjrt_layout l;
    layout = ordered(layout);
    pjrt_struct(&l, sizeof l, layout);
    if (l.type == PJRT_STRIDES && layout) {
        if (l.strides.nbyte_strides != rank || (rank && !l.strides.byte_strides))
            return pjrt_fail(HILO_INVALID_ARGUMENT, "the layout has %zu strides; the buffer has %zu dimensions",
                             l.strides.nbyte_strides, rank);
        if (rank)
            memcpy(out, l.strides.byte_strides, rank * sizeof *out);
        return NULL;
    }
    if (layout && l.tiled.num_tiles)
        return pjrt_fail(HILO_UNIMPLEMENTED, "tiled layouts are not supported");
    if (layout && (l.tiled.minor_to_major_size != rank || (rank && !l.tiled.minor_to_major)))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the layout has %zu dimensions; the buffer has %zu",
                         l.tiled.minor_to_major_size, rank);
    uint64_t seen = 0;
    for (size_t i = 0; i < rank; i++) {
        int64_t d = layout ? l.tiled.minor_to_major[i] : (int64_t)(rank - 1 - i);
        if (d < 0 || (size_t)d >= rank || seen >> d & 1)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "the layout is no order of %zu dimensions", rank);
        seen |= UINT64_C(1) << d;
        out[d] = step;
        step *= dims[d] > 0 ? dims[d] : 1;
    }
    return NULL;
}

/* Whether elements are contiguous, the last dimension fastest. */
static bool dense(const int64_t *strides, const int64_t *dims, size_t rank, size_t size) {
    int64_t step = (int64_t)size;
    for (size_t i = rank; i-- > 0;) {
        if (dims[i] == 0)
            return true;
        if (dims[i] != 1 && strides[i] != step)
            return false;
        step *= dims[i];
    }
    return true;
}

bool pjrt_is_row_major(const int64_t *minor_to_major, size_t rank) {
    for (size_t i = 0; i < rank; i++)
        if (minor_to_major[i] != (int64_t)(rank - 1 - i))
            return false;
    return true;
}

/* Strides, or dimensions, in the order of memory. */
static void to_physical(const int64_t *logical, const int64_t *minor_to_major, size_t rank, int64_t *out) {
    for (size_t i = 0; i < rank; i++)
        out[i] = logical[minor_to_major[rank - 1 - i]];
}

/* The order of dimensions in a dense layout: `rank` of them, the fastest varying first. NULL is row-major. Tiles, and strides
   with gaps, are UNIMPLEMENTED. */
static struct pjrt_error *pjrt_layout_order(const struct pjrt_layout *layout, const int64_t *dims, size_t rank, int dtype,
                                            int64_t *minor_to_major) {
    int64_t strides[64], physical[64], sizes[64];
    size_t bytes;
    PJRT_TRY(pjrt_shape_bytes(dtype, dims, rank, &bytes));
    if (rank > 64)
        return pjrt_fail(HILO_UNIMPLEMENTED, "a buffer of %zu dimensions; at most 64 are supported", rank);
    size_t size = hilo_dtype_size(pjrt_dtype(dtype));
    layout = ordered(layout);
    PJRT_TRY(pjrt_layout_strides(layout, dims, rank, size, strides));
    for (size_t i = 0; i < rank; i++)
        minor_to_major[i] = (int64_t)(rank - 1 - i);
    if (!layout)
        return NULL;
    struct pjrt_layout l;
    pjrt_struct(&l, sizeof l, layout);
    if (l.type == PJRT_TILED && rank)
        memcpy(minor_to_major, l.tiled.minor_to_major, rank * sizeof *minor_to_major);
    for (size_t i = 1; i < rank && l.type == PJRT_STRIDES; i++) /* by stride, ascending; stable */
        for (size_t k = i; k > 0 && strides[minor_to_major[k]] < strides[minor_to_major[k - 1]]; k--) {
            int64_t swap = minor_to_major[k];
            minor_to_major[k] = minor_to_major[k - 1];
            minor_to_major[k - 1] = swap;
        }
    to_physical(strides, minor_to_major, rank, physical);
    to_physical(dims, minor_to_major, rank, sizes);
    if (!dense(physical, sizes, rank, size))
        return pjrt_fail(HILO_UNIMPLEMENTED, "buffers are dense; a layout whose strides leave gaps is not supported");
    return NULL;
}

struct pjrt_error *pjrt_layout_row_major(const struct pjrt_layout *layout, const int64_t *dims, size_t rank, int dtype) {
    int64_t order[64];
    PJRT_TRY(pjrt_layout_order(layout, dims, rank, dtype, order));
    return pjrt_is_row_major(order, rank) ? NULL : pjrt_fail(HILO_UNIMPLEMENTED, "only the row-major layout is supported here");
}

/* ---- from the host --------------------------------------------------------------------------- */

/* Memory of the host that a buffer uses until it ends. */
static void host_memory_done(void *user, void *data) {
    (void)data;
    pjrt_event_set(user, NULL);
    pjrt_event_unref(user);
}

/* Whether a buffer may use the host's memory as it is. Small data is sooner copied than kept track of; types of less than
   8 bits may have anything in their upper bits. */
static bool usable(const struct pjrt_Client_BufferFromHostBuffer *a, size_t bytes, bool is_dense) {
    enum { LEAST = 4096, ALIGNMENT = 16 };
    hilo_dtype t = pjrt_dtype(a->dtype);
    bool whole = t != HILO_S4 && t != HILO_U4 && t != HILO_S2 && t != HILO_U2 && t != HILO_F4E2M1FN && t != HILO_F6E2M3FN &&
                 t != HILO_F6E3M2FN;
    return a->semantics >= PJRT_ZERO_COPY && bytes >= LEAST && is_dense && whole && (uintptr_t)a->data % ALIGNMENT == 0;
}

static struct pjrt_error *from_host(struct pjrt_Client_BufferFromHostBuffer *a, const struct pjrt_buffer *b,
                                    struct pjrt_event **done, hilo_buffer **out) {
    struct pjrt_client *c = a->client;
    hilo_dtype t = b->dtype;
    uint32_t rank = b->rank;
    int64_t dims[64], host[64], strides[64];
    pjrt_buffer_physical_dims(b, dims);
    if (a->nbyte_strides)
        memcpy(host, a->byte_strides, rank * sizeof *host);
    else
        PJRT_TRY(pjrt_layout_strides(NULL, b->dims, rank, hilo_dtype_size(t), host));
    to_physical(host, b->minor_to_major, rank, strides);
    bool is_dense = dense(strides, dims, rank, hilo_dtype_size(t));
    struct pjrt_capture l;
    pjrt_capture_begin(c, &l);
    if (usable(a, b->bytes, is_dense)) {
        struct pjrt_event *event = pjrt_event_new();
        if (!event)
            return pjrt_capture_end(c, &l, HILO_RESOURCE_EXHAUSTED);
        hilo_status status = hilo_buffer_wrap(c->hilo, t, dims, rank, (void *)(uintptr_t)a->data, host_memory_done,
                                              pjrt_event_ref(event), out);
        if (status == HILO_OK) {
            *done = event;
        } else {
            pjrt_event_unref(event);
            pjrt_event_unref(event);
        }
        return pjrt_capture_end(c, &l, status);
    }
    *done = pjrt_event_ref(c->done);
    hilo_status status = hilo_buffer_from_host(c->hilo, t, dims, rank, a->data, is_dense ? NULL : strides, out);
    if (status != HILO_OK)
        pjrt_event_unref(*done);
    return pjrt_capture_end(c, &l, status);
}

struct pjrt_error *pjrt_Client_BufferFromHostBuffer(struct pjrt_Client_BufferFromHostBuffer *a) {
    int64_t order[64];
    PJRT_TRY(pjrt_layout_order(a->layout, a->dims, a->rank, a->dtype, order));
    if (a->semantics < PJRT_ONLY_DURING_CALL || a->semantics > PJRT_MUTABLE_ZERO_COPY)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "unknown host buffer semantics %d", a->semantics);
    if (a->nbyte_strides && (a->nbyte_strides != a->rank || !a->byte_strides))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there are %zu strides and %zu dimensions", a->nbyte_strides, a->rank);
    struct pjrt_memory *memory = pjrt_place(a->client, a->device, a->memory);
    struct pjrt_buffer *b;
    struct pjrt_event *done = NULL;
    hilo_buffer *data = NULL;
    PJRT_TRY(pjrt_buffer_new(memory, a->dtype, a->dims, a->rank, order, a->client->done, &b));
    struct pjrt_error *error = from_host(a, b, &done, &data);
    if (!error && (error = pjrt_buffer_place(b, data))) {
        hilo_buffer_release(data);
        pjrt_event_unref(done);
    }
    if (error) {
        pjrt_buffer_unref(b);
        return error;
    }
    pjrt_buffer_fill(b, data);
    a->done = done;
    a->buffer = b;
    return NULL;
}

/* ---- memory of the caller's ------------------------------------------------------------------ */

struct view {
    void (*on_delete)(void *pointer, void *user);
    void *user;
};

static void view_done(void *user, void *data) {
    struct view *v = user;
    if (v->on_delete)
        v->on_delete(data, v->user);
    free(v);
}

struct pjrt_error *pjrt_Client_CreateViewOfDeviceBuffer(struct pjrt_Client_CreateViewOfDeviceBuffer *a) {
    int64_t order[64], dims[64];
    PJRT_TRY(pjrt_layout_order(a->layout, a->dims, a->rank, a->dtype, order));
    struct pjrt_client *c = a->client;
    struct pjrt_buffer *b;
    PJRT_TRY(pjrt_buffer_new(pjrt_place(c, a->device, a->memory), a->dtype, a->dims, a->rank, order, c->done, &b));
    pjrt_buffer_physical_dims(b, dims);
    struct view *v = pjrt_alloc(1, sizeof *v);
    struct pjrt_capture l;
    pjrt_capture_begin(c, &l);
    hilo_buffer *data;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (v) {
        *v = (struct view){a->on_delete, a->on_delete_user};
        status = (pjrt_memory_on_device(b->memory) ? rt_buffer_wrap_device : hilo_buffer_wrap)(
            c->hilo, b->dtype, dims, b->rank, a->pointer, view_done, v, &data);
    }
    struct pjrt_error *error = pjrt_capture_end(c, &l, status);
    if (error) {
        free(v);
        pjrt_buffer_unref(b);
        return error;
    }
    pjrt_buffer_fill(b, data);
    a->buffer = b;
    return NULL;
}

struct pjrt_error *pjrt_Client_CreateUninitializedBuffer(struct pjrt_Client_CreateUninitializedBuffer *a) {
    int64_t order[64], dims[64];
    PJRT_TRY(pjrt_layout_order(a->layout, a->dims, a->rank, a->dtype, order));
    struct pjrt_client *c = a->client;
    struct pjrt_buffer *b;
    PJRT_TRY(pjrt_buffer_new(pjrt_place(c, a->device, a->memory), a->dtype, a->dims, a->rank, order, c->done, &b));
    pjrt_buffer_physical_dims(b, dims);
    struct pjrt_capture l;
    hilo_buffer *data;
    pjrt_capture_begin(c, &l);
    struct pjrt_error *error = pjrt_capture_end(c, &l, hilo_buffer_create(c->hilo, b->dtype, dims, b->rank, &data));
    if (!error && (error = pjrt_buffer_place(b, data)))
        hilo_buffer_release(data);
    if (error) {
        pjrt_buffer_unref(b);
        return error;
    }
    pjrt_buffer_fill(b, data);
    a->buffer = b;
    return NULL;
}

/* ---- to the host ----------------------------------------------------------------------------- */

/* A copy that waits for its buffer. */
struct copy {
    struct pjrt_buffer *from;   /* held */
    struct pjrt_event *done;
    char *to;
    size_t offset, bytes;
    bool strided;
    int64_t strides[64];
};

/* From the buffer's order of memory to strides, which are in that order, too. */
static void scatter_bytes(const struct pjrt_buffer *b, const char *src, char *dst, const int64_t *strides) {
    size_t size = hilo_dtype_size(b->dtype);
    int64_t index[64] = {0}, dims[64];
    pjrt_buffer_physical_dims(b, dims);
    for (size_t left = b->bytes / size; left > 0; left--) {
        int64_t offset = 0;
        for (uint32_t i = 0; i < b->rank; i++)
            offset += index[i] * strides[i];
        memcpy(dst + offset, src, size);
        src += size;
        for (uint32_t i = b->rank; i-- > 0 && ++index[i] == dims[i];)
            index[i] = 0;
    }
}

static struct pjrt_error *read_bytes(const struct copy *c, const hilo_buffer *data, char *to) {
    struct pjrt_capture l;
    pjrt_capture_begin(c->from->client, &l);
    return pjrt_capture_end(c->from->client, &l, rt_buffer_read(data, c->offset, to, c->bytes));
}

static struct pjrt_error *scatter(const struct copy *c, const hilo_buffer *data) {
    char *bytes = pjrt_alloc(1, c->bytes);
    if (!bytes)
        return pjrt_exhausted();
    struct pjrt_error *error = read_bytes(c, data, bytes);
    if (!error)
        scatter_bytes(c->from, bytes, c->to, c->strides);
    free(bytes);
    return error;
}

static void copy_run(struct pjrt_error *error, void *user) {
    struct copy *c = user;
    hilo_buffer *data = NULL;
    if (!error)
        error = pjrt_buffer_data(c->from, &data);
    if (!error && c->bytes)
        error = c->strided ? scatter(c, data) : read_bytes(c, data, c->to);
    pjrt_buffer_unhold(c->from);
    pjrt_event_set(c->done, error);
    pjrt_event_unref(c->done);
    free(c);
}

/* Copies when the buffer is ready: at once, or on the thread that makes it ready. Takes over `c`. */
static struct pjrt_error *copy_start(struct pjrt_buffer *b, struct copy *c, struct pjrt_event **done) {
    struct pjrt_error *error = pjrt_buffer_hold(b);
    if (error) {
        free(c);
        return error;
    }
    c->from = b;
    c->done = pjrt_event_new();
    struct pjrt_event *event = c->done ? pjrt_event_ref(c->done) : NULL;
    error = event ? pjrt_event_then(b->ready, copy_run, c) : pjrt_exhausted();
    if (error) { /* the copy was not begun */
        pjrt_buffer_unhold(b);
        pjrt_event_unref(event);
        pjrt_event_unref(event);
        free(c);
        return error;
    }
    *done = event;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_ToHostBuffer(struct pjrt_Buffer_ToHostBuffer *a) {
    struct pjrt_buffer *b = a->buffer;
    size_t size = hilo_dtype_size(b->dtype);
    struct copy *c = pjrt_alloc(1, sizeof *c);
    if (!c)
        return pjrt_exhausted();
    int64_t dims[64], strides[64];
    struct pjrt_error *error = pjrt_layout_strides(a->layout, b->dims, b->rank, size, strides);
    if (!error && a->dst && a->dst_size < b->bytes)
        error = pjrt_fail(HILO_INVALID_ARGUMENT, "there is room for %zu bytes; the buffer has %zu", a->dst_size, b->bytes);
    if (error || !a->dst) {
        free(c);
        a->dst_size = b->bytes;
        return error;
    }
    c->to = a->dst;
    c->bytes = b->bytes;
    if (a->layout) { /* without one, the bytes as they are */
        pjrt_buffer_physical_dims(b, dims);
        to_physical(strides, b->minor_to_major, b->rank, c->strides);
        c->strided = !dense(c->strides, dims, b->rank, size);
    }
    return copy_start(b, c, &a->done);
}

/* Checks a range of bytes of a buffer. */
static struct pjrt_error *range(const struct pjrt_buffer *b, int64_t offset, int64_t size) {
    if (offset < 0 || size < 0 || (uint64_t)offset > b->bytes || (uint64_t)size > b->bytes - (size_t)offset)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%lld bytes from byte %lld on are not in a buffer of %zu bytes",
                         (long long)size, (long long)offset, b->bytes);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_CopyRawToHost(struct pjrt_Buffer_CopyRawToHost *a) {
    PJRT_TRY(range(a->buffer, a->offset, a->size));
    if (a->size && !a->dst)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the destination is missing");
    struct copy *c = pjrt_alloc(1, sizeof *c);
    if (!c)
        return pjrt_exhausted();
    c->to = a->dst;
    c->offset = (size_t)a->offset;
    c->bytes = (size_t)a->size;
    return copy_start(a->buffer, c, &a->event);
}

/* The destination comes later, by the callback; or an error. */
struct future_copy {
    struct pjrt_buffer *from; /* held */
    struct pjrt_event *done;
    size_t offset, bytes;
};

static void future_forward(struct pjrt_error *error, void *user) {
    pjrt_event_set(user, error);
    pjrt_event_unref(user);
}

static void future_ready(struct pjrt_copy_done *args) {
    struct future_copy *f = args->callback_data;
    struct copy *c = args->error_code ? NULL : pjrt_alloc(1, sizeof *c);
    struct pjrt_event *event = NULL;
    struct pjrt_error *error;
    if (args->error_code) {
        error = pjrt_fail_n(args->error_code, args->error_message ? args->error_message : "",
                            args->error_message ? args->error_message_size : 0);
    } else if (!c) {
        error = pjrt_exhausted();
    } else {
        c->to = args->dst;
        c->offset = f->offset;
        c->bytes = f->bytes;
        error = copy_start(f->from, c, &event);
    }
    pjrt_buffer_unhold(f->from);
    if (!error) {
        error = pjrt_event_then(event, future_forward, f->done);
        pjrt_event_unref(event);
    }
    if (error)
        future_forward(error, f->done);
    free(f);
}

struct pjrt_error *pjrt_Buffer_CopyRawToHostFuture(struct pjrt_Buffer_CopyRawToHostFuture *a) {
    PJRT_TRY(range(a->buffer, a->offset, a->size));
    PJRT_TRY(pjrt_buffer_hold(a->buffer));
    struct future_copy *f = pjrt_alloc(1, sizeof *f);
    struct pjrt_event *done = f ? pjrt_event_new() : NULL;
    if (!done) {
        free(f);
        pjrt_buffer_unhold(a->buffer);
        return pjrt_exhausted();
    }
    *f = (struct future_copy){a->buffer, pjrt_event_ref(done), (size_t)a->offset, (size_t)a->size};
    a->event = done;
    a->callback_data = f;
    a->callback = future_ready;
    return NULL;
}

/* ---- from buffer to buffer ------------------------------------------------------------------- */

/* A buffer that will have a copy of another's data. */
struct buffer_copy {
    struct pjrt_buffer *from; /* held */
    struct pjrt_buffer *to;
};

static struct pjrt_error *copy_data(const struct buffer_copy *t, hilo_buffer *data, hilo_buffer **out) {
    struct pjrt_client *c = t->from->client;
    struct pjrt_capture l;
    pjrt_capture_begin(c, &l);
    return pjrt_capture_end(c, &l, rt_buffer_copy(data, pjrt_memory_on_device(t->to->memory), out));
}

static void buffer_copy_run(struct pjrt_error *error, void *user) {
    struct buffer_copy *t = user;
    hilo_buffer *data = NULL, *copy = NULL;
    if (!error)
        error = pjrt_buffer_data(t->from, &data);
    if (!error)
        error = copy_data(t, data, &copy);
    if (!error)
        pjrt_buffer_fill(t->to, copy);
    pjrt_buffer_unhold(t->from);
    pjrt_event_set(t->to->ready, error);
    pjrt_buffer_unref(t->to);
    free(t);
}

static struct pjrt_error *copy_to(struct pjrt_buffer *b, struct pjrt_memory *memory, struct pjrt_buffer **out) {
    if (memory->device->client != b->client)
        return pjrt_fail(HILO_UNIMPLEMENTED, "buffers cannot be copied to another client");
    struct pjrt_buffer *to;
    PJRT_TRY(pjrt_buffer_hold(b));
    struct pjrt_error *error = pjrt_buffer_new(memory, pjrt_dtype_number(b->dtype), b->dims, b->rank, b->minor_to_major,
                                               NULL, &to);
    struct buffer_copy *t = error ? NULL : pjrt_alloc(1, sizeof *t);
    if (!error && !t) {
        pjrt_buffer_unref(to);
        error = pjrt_exhausted();
    }
    if (error) {
        pjrt_buffer_unhold(b);
        return error;
    }
    *t = (struct buffer_copy){b, pjrt_buffer_ref(to)};
    error = pjrt_event_then(b->ready, buffer_copy_run, t);
    if (error)
        buffer_copy_run(error, t);
    *out = to;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_CopyToDevice(struct pjrt_Buffer_CopyToDevice *a) {
    if (!a->device)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Buffer_CopyToDevice: the device is missing");
    if (a->device == a->buffer->memory->device)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the buffer is on that device");
    return copy_to(a->buffer, a->device->list[PJRT_MEMORY_DEVICE], &a->copy);
}

struct pjrt_error *pjrt_Buffer_CopyToMemory(struct pjrt_Buffer_CopyToMemory *a) {
    if (!a->memory)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Buffer_CopyToMemory: the memory is missing");
    return copy_to(a->buffer, a->memory, &a->copy);
}

/* The same bytes as elements of another type or in another shape. */
static void bitcast_done(void *user, void *data) {
    (void)data;
    hilo_buffer_release(user);
}

struct pjrt_error *pjrt_Buffer_Bitcast(struct pjrt_Buffer_Bitcast *a) {
    size_t bytes;
    PJRT_TRY(pjrt_layout_row_major(a->layout, a->dims, a->rank, a->dtype));
    PJRT_TRY(pjrt_shape_bytes(a->dtype, a->dims, a->rank, &bytes));
    struct pjrt_buffer *b = a->buffer, *to;
    struct pjrt_client *c = b->client;
    if (bytes != b->bytes || !bytes)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "a buffer of %zu bytes cannot become one of %zu", b->bytes, bytes);
    PJRT_TRY(pjrt_buffer_hold(b));
    hilo_buffer *data, *cast;
    struct pjrt_error *error = pjrt_buffer_data(b, &data);
    if (!error)
        error = pjrt_buffer_new(b->memory, a->dtype, a->dims, a->rank, NULL, c->done, &to);
    if (!error) {
        struct pjrt_capture l;
        pjrt_capture_begin(c, &l);
        void *address = NULL;
        hilo_status status = rt_buffer_address(data, &address);
        if (status == HILO_OK)
            status = rt_buffer_wrap_device(c->hilo, to->dtype, a->dims, to->rank, address, bitcast_done,
                                           hilo_buffer_retain(data), &cast);
        else
            hilo_buffer_retain(data);
        if (status != HILO_OK) {
            hilo_buffer_release(data);
            pjrt_buffer_unref(to);
        }
        error = pjrt_capture_end(c, &l, status);
    }
    pjrt_buffer_unhold(b);
    if (error)
        return error;
    pjrt_buffer_fill(to, cast);
    a->result = to;
    return NULL;
}
