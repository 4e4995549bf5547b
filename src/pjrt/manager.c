/* Buffers whose data comes later: piece by piece from the host, from another buffer, or never, because of an error. */
#include "pjrt/pjrt.h"

#include <stdlib.h>

/* ---- pieces from the host -------------------------------------------------------------------- */

struct slot {
    struct pjrt_buffer *buffer;
    hilo_buffer *data;      /* until the buffer has it */
    bool ended;             /* the last piece has come, or an error */
};

struct pjrt_manager {
    struct pjrt_client *client;
    struct pjrt_memory *memory;
    pthread_mutex_t lock;   /* of the slots */
    size_t n;
    struct slot slots[];
};

static void manager_free(struct pjrt_manager *m) {
    for (size_t i = 0; i < m->n; i++) {
        struct slot *s = &m->slots[i];
        if (s->buffer && !s->ended)
            pjrt_event_set(s->buffer->ready, pjrt_fail(HILO_CANCELLED, "the transfer of buffer %zu was cancelled", i));
        hilo_buffer_release(s->data);
        pjrt_buffer_unref(s->buffer);
    }
    struct pjrt_client *client = m->client;
    pthread_mutex_destroy(&m->lock);
    free(m);
    pjrt_client_unref(client);
}

static struct pjrt_error *slot_init(struct pjrt_manager *m, struct slot *s, const struct pjrt_shape_spec *given,
                                    const struct pjrt_layout *layout) {
    struct pjrt_shape_spec spec;
    pjrt_struct(&spec, sizeof spec, given);
    PJRT_TRY(pjrt_layout_row_major(layout, spec.dims, spec.rank, spec.dtype));
    PJRT_TRY(pjrt_buffer_new(m->memory, spec.dtype, spec.dims, spec.rank, NULL, NULL, &s->buffer));
    struct pjrt_capture l;
    pjrt_capture_begin(m->client, &l);
    return pjrt_capture_end(m->client, &l,
                      hilo_buffer_create(m->client->hilo, s->buffer->dtype, spec.dims, s->buffer->rank, &s->data));
}

/* The specs follow each other, each of its struct_size. */
struct pjrt_error *
pjrt_Client_CreateBuffersForAsyncHostToDevice(struct pjrt_Client_CreateBuffersForAsyncHostToDevice *a) {
    size_t n = a->nshape_specs, bytes;
    if (n && (!a->shape_specs || a->shape_specs->struct_size < sizeof(size_t)))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the shapes are missing");
    if (a->ndevice_layouts && (a->ndevice_layouts != n || !a->device_layouts))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there are %zu layouts for %zu shapes", a->ndevice_layouts, n);
    if (!mem_mul(n, sizeof(struct slot), &bytes) || !mem_add(bytes, sizeof(struct pjrt_manager), &bytes))
        return pjrt_exhausted();
    struct pjrt_manager *m = pjrt_alloc(1, bytes);
    if (!m)
        return pjrt_exhausted();
    m->client = pjrt_client_ref(a->client);
    m->memory = pjrt_place(a->client, NULL, a->memory);
    m->n = n;
    pthread_mutex_init(&m->lock, NULL);
    struct pjrt_error *error = NULL;
    const char *spec = (const char *)a->shape_specs;
    for (size_t i = 0; i < n && !error; i++, spec += a->shape_specs->struct_size)
        error = slot_init(m, &m->slots[i], (const struct pjrt_shape_spec *)(const void *)spec,
                          a->ndevice_layouts ? a->device_layouts[i] : NULL);
    if (error)
        manager_free(m);
    else
        a->manager = m;
    return error;
}

struct pjrt_error *pjrt_AsyncHostToDeviceTransferManager_Destroy(struct pjrt_AsyncHostToDeviceTransferManager_Destroy *a) {
    if (a->manager)
        manager_free(a->manager);
    return NULL;
}

static struct pjrt_error *slot_at(struct pjrt_manager *m, int index, struct slot **out) {
    if (index < 0 || (size_t)index >= m->n)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there is no buffer %d among the %zu of this transfer", index, m->n);
    *out = &m->slots[index];
    return NULL;
}

/* The last piece has come. */
static struct pjrt_error *slot_complete(struct slot *s) {
    PJRT_TRY(pjrt_buffer_place(s->buffer, s->data));
    pjrt_buffer_fill(s->buffer, s->data);
    s->data = NULL;
    s->ended = true;
    pjrt_event_set(s->buffer->ready, NULL);
    return NULL;
}

static struct pjrt_error *slot_write(struct slot *s, const void *data, int64_t offset, int64_t size, bool last) {
    if (s->ended)
        return pjrt_fail(HILO_FAILED_PRECONDITION, "the buffer has all of its data");
    if (offset < 0 || size < 0 || (uint64_t)offset > s->buffer->bytes || (uint64_t)size > s->buffer->bytes - (size_t)offset)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%lld bytes from byte %lld on are not in a buffer of %zu bytes",
                         (long long)size, (long long)offset, s->buffer->bytes);
    if (size && !data)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the data is missing");
    if (size)
        memcpy((char *)hilo_buffer_data(s->data) + offset, data, (size_t)size);
    return last ? slot_complete(s) : NULL;
}

struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_TransferData(struct pjrt_AsyncHostToDeviceTransferManager_TransferData *a) {
    struct slot *s = NULL;
    PJRT_TRY(slot_at(a->manager, a->buffer_index, &s));
    pthread_mutex_lock(&a->manager->lock);
    struct pjrt_error *error = slot_write(s, a->data, a->offset, a->size, a->is_last_transfer);
    pthread_mutex_unlock(&a->manager->lock);
    if (!error)
        a->done = pjrt_event_ref(a->manager->client->done);
    return error;
}

struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_TransferLiteral(struct pjrt_AsyncHostToDeviceTransferManager_TransferLiteral *a) {
    struct slot *s = NULL;
    size_t bytes;
    PJRT_TRY(slot_at(a->manager, a->buffer_index, &s));
    PJRT_TRY(pjrt_layout_row_major(a->layout, a->dims, a->rank, a->dtype));
    PJRT_TRY(pjrt_shape_bytes(a->dtype, a->dims, a->rank, &bytes));
    if (bytes != s->buffer->bytes)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%zu bytes were given for a buffer of %zu", bytes, s->buffer->bytes);
    pthread_mutex_lock(&a->manager->lock);
    struct pjrt_error *error = slot_write(s, a->data, 0, (int64_t)bytes, true);
    pthread_mutex_unlock(&a->manager->lock);
    if (!error)
        a->done = pjrt_event_ref(a->manager->client->done);
    return error;
}

struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_SetBufferError(struct pjrt_AsyncHostToDeviceTransferManager_SetBufferError *a) {
    struct slot *s = NULL;
    PJRT_TRY(slot_at(a->manager, a->buffer_index, &s));
    pthread_mutex_lock(&a->manager->lock);
    bool ended = s->ended;
    s->ended = true;
    pthread_mutex_unlock(&a->manager->lock);
    if (ended)
        return pjrt_fail(HILO_FAILED_PRECONDITION, "the buffer has all of its data");
    pjrt_event_set(s->buffer->ready, pjrt_fail_n(a->code, a->message ? a->message : "", a->message ? a->message_size : 0));
    return NULL;
}

/* Each buffer is returned once. */
struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer(struct pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer *a) {
    struct slot *s = NULL;
    PJRT_TRY(slot_at(a->manager, a->buffer_index, &s));
    a->buffer = pjrt_buffer_ref(s->buffer);
    return NULL;
}

struct pjrt_error *pjrt_AsyncHostToDeviceTransferManager_Device(struct pjrt_AsyncHostToDeviceTransferManager_Device *a) {
    a->device = a->manager->memory->device;
    return NULL;
}

struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_BufferCount(struct pjrt_AsyncHostToDeviceTransferManager_BufferCount *a) {
    a->buffer_count = a->manager->n;
    return NULL;
}

struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_BufferSize(struct pjrt_AsyncHostToDeviceTransferManager_BufferSize *a) {
    struct slot *s = NULL;
    PJRT_TRY(slot_at(a->manager, a->buffer_index, &s));
    a->buffer_size = s->buffer->bytes;
    return NULL;
}

struct pjrt_error *
pjrt_AsyncHostToDeviceTransferManager_AddMetadata(struct pjrt_AsyncHostToDeviceTransferManager_AddMetadata *a) {
    return a->nmetadata && !a->transfer_metadata ? pjrt_fail(HILO_INVALID_ARGUMENT, "the metadata is missing") : NULL;
}

/* ---- from another buffer --------------------------------------------------------------------- */

/* `to` gets the data that `from` has, or its error, once both that and the go-ahead are there. */
struct promise {
    struct pjrt_buffer *from; /* held */
    struct pjrt_buffer *to;
};

static void promise_fulfil(struct pjrt_error *error, void *user) {
    struct promise *p = user;
    hilo_buffer *data = NULL;
    if (!error)
        error = pjrt_buffer_data(p->from, &data);
    if (!error)
        pjrt_buffer_fill(p->to, hilo_buffer_retain(data));
    if (p->from)
        pjrt_buffer_unhold(p->from);
    pjrt_event_set(p->to->ready, error);
    pjrt_buffer_unref(p->to);
    free(p);
}

/* Takes over the promise. */
static void promise_when_ready(struct promise *p) {
    struct pjrt_error *error = pjrt_event_then(p->from->ready, promise_fulfil, p);
    if (error)
        promise_fulfil(error, p);
}

struct pjrt_alias {
    struct pjrt_buffer *to;
};

struct pjrt_error *pjrt_Client_CreateAliasBuffer(struct pjrt_Client_CreateAliasBuffer *a) {
    struct pjrt_buffer *b;
    PJRT_TRY(pjrt_layout_row_major(a->layout, a->dims, a->rank, a->dtype));
    PJRT_TRY(pjrt_buffer_new(pjrt_place(a->client, NULL, a->memory), a->dtype, a->dims, a->rank, NULL, NULL, &b));
    struct pjrt_alias *alias = pjrt_alloc(1, sizeof *alias);
    if (!alias) {
        pjrt_buffer_unref(b);
        return pjrt_exhausted();
    }
    alias->to = pjrt_buffer_ref(b);
    a->buffer = b;
    a->alias = alias;
    return NULL;
}

/* Dimensions and layout are one array. */
static bool same_type(const struct pjrt_buffer *a, const struct pjrt_buffer *b) {
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, 2 * a->rank * sizeof *a->dims) == 0;
}

/* Ends the life of the promise. */
struct pjrt_error *pjrt_Client_FulfillAliasBuffer(struct pjrt_Client_FulfillAliasBuffer *a) {
    struct pjrt_alias *alias = a->alias;
    if (!alias)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Client_FulfillAliasBuffer: the promise is missing");
    if (!a->code && (!a->buffer || !same_type(a->buffer, alias->to)))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "a buffer is fulfilled by one of its type");
    if (a->code) {
        pjrt_event_set(alias->to->ready, pjrt_fail_n(a->code, a->message ? a->message : "", a->message ? a->message_size : 0));
        pjrt_buffer_unref(alias->to);
    } else {
        struct promise *p = pjrt_alloc(1, sizeof *p);
        if (!p)
            return pjrt_exhausted();
        struct pjrt_error *error = pjrt_buffer_hold(a->buffer);
        if (error) {
            free(p);
            return error;
        }
        *p = (struct promise){a->buffer, alias->to};
        promise_when_ready(p);
    }
    free(alias);
    return NULL;
}

/* ---- after something else -------------------------------------------------------------------- */

static void dependency_ready(struct pjrt_dependency_done *args) {
    struct promise *p = args->callback_data;
    if (args->error_code)
        promise_fulfil(pjrt_fail_n(args->error_code, args->error_message ? args->error_message : "",
                                 args->error_message ? args->error_message_size : 0), p);
    else
        promise_when_ready(p);
}

struct pjrt_error *pjrt_Buffer_DonateWithControlDependency(struct pjrt_Buffer_DonateWithControlDependency *a) {
    struct pjrt_buffer *b = a->buffer, *to;
    PJRT_TRY(pjrt_buffer_hold(b));
    struct pjrt_error *error = pjrt_buffer_new(b->memory, pjrt_dtype_number(b->dtype), b->dims, b->rank, b->minor_to_major,
                                               NULL, &to);
    struct promise *p = error ? NULL : pjrt_alloc(1, sizeof *p);
    if (!p) {
        if (!error) {
            pjrt_buffer_unref(to);
            error = pjrt_exhausted();
        }
        pjrt_buffer_unhold(b);
        return error;
    }
    *p = (struct promise){b, pjrt_buffer_ref(to)};
    pjrt_buffer_delete(b);
    a->result = to;
    a->callback_data = p;
    a->callback = dependency_ready;
    return NULL;
}

/* ---- never ----------------------------------------------------------------------------------- */

struct pjrt_error *pjrt_Client_CreateErrorBuffer(struct pjrt_Client_CreateErrorBuffer *a) {
    struct pjrt_buffer *b;
    if (!a->code)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the buffer of an error needs an error");
    PJRT_TRY(pjrt_layout_row_major(a->layout, a->dims, a->rank, a->dtype));
    PJRT_TRY(pjrt_buffer_new(pjrt_place(a->client, NULL, a->memory), a->dtype, a->dims, a->rank, NULL, NULL, &b));
    pjrt_event_set(b->ready, pjrt_fail_n(a->code, a->message ? a->message : "", a->message ? a->message_size : 0));
    a->buffer = b;
    return NULL;
}
