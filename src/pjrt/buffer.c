/* Buffers: their life, their properties, references from outside.
 *
 * A buffer is known before its data is: runs are asynchronous. Its event tells when the data is there, or why it never
 * will be. Deleting a buffer (or donating it) is at once visible to all; the data stays for the runs and
 * transfers that hold it. */
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

#include <stdlib.h>

/* ---- types ----------------------------------------------------------------------------------- */

hilo_dtype pjrt_dtype(int number) {
    if (number == PJRT_F6E2M3FN)
        return HILO_F6E2M3FN;
    if (number == PJRT_F6E3M2FN)
        return HILO_F6E3M2FN;
    bool known = number == HILO_TOKEN || (number > 0 && number < PJRT_F6E2M3FN && hilo_dtype_size((hilo_dtype)number));
    return known ? (hilo_dtype)number : HILO_DTYPE_INVALID;
}

int pjrt_dtype_number(hilo_dtype dtype) {
    return dtype == HILO_F6E2M3FN ? PJRT_F6E2M3FN : dtype == HILO_F6E3M2FN ? PJRT_F6E3M2FN : (int)dtype;
}

struct pjrt_error *pjrt_shape_bytes(int dtype, const int64_t *dims, size_t rank, size_t *out) {
    hilo_dtype t = pjrt_dtype(dtype);
    size_t bytes = hilo_dtype_size(t);
    if (!t)
        return pjrt_fail(HILO_UNIMPLEMENTED, "hilo has no element type with the number %d", dtype);
    if (rank && !dims)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the dimensions are missing");
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "dimension %zu is %lld, which no buffer can have", i, (long long)dims[i]);
    return mem_shape(dims, rank, bytes, out) ? NULL : pjrt_fail(HILO_INVALID_ARGUMENT, "no buffer can be so large");
}

/* ---- life ------------------------------------------------------------------------------------ */

struct pjrt_error *pjrt_buffer_new(struct pjrt_memory *memory, int dtype, const int64_t *dims, size_t rank,
                                   const int64_t *minor_to_major, struct pjrt_event *ready, struct pjrt_buffer **out) {
    size_t bytes;
    PJRT_TRY(pjrt_shape_bytes(dtype, dims, rank, &bytes));
    if (rank > 64)
        return pjrt_fail(HILO_UNIMPLEMENTED, "%zu dimensions are more than the 64 that are supported", rank);
    struct pjrt_buffer *b = pjrt_alloc(1, sizeof *b + 2 * rank * sizeof *b->dims);
    struct pjrt_event *event = !b ? NULL : ready ? pjrt_event_ref(ready) : pjrt_event_new();
    if (!event) {
        free(b);
        return pjrt_exhausted();
    }
    b->client = pjrt_client_ref(memory->device->client);
    b->memory = memory;
    b->ready = event;
    b->dtype = pjrt_dtype(dtype);
    b->rank = (uint32_t)rank;
    b->bytes = bytes;
    atomic_init(&b->refs, 1);
    if (rank)
        memcpy(b->dims, dims, rank * sizeof *dims);
    for (size_t i = 0; i < rank; i++)
        b->dims[rank + i] = minor_to_major ? minor_to_major[i] : (int64_t)(rank - 1 - i);
    b->minor_to_major = b->dims + rank;
    *out = b;
    return NULL;
}

void pjrt_buffer_physical_dims(const struct pjrt_buffer *b, int64_t *out) {
    for (uint32_t i = 0; i < b->rank; i++)
        out[i] = b->dims[b->minor_to_major[b->rank - 1 - i]];
}

struct pjrt_buffer *pjrt_buffer_ref(struct pjrt_buffer *b) {
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void pjrt_buffer_unref(struct pjrt_buffer *b) {
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct pjrt_client *client = b->client;
    hilo_buffer_release(b->data);
    pjrt_event_unref(b->ready);
    free(b);
    pjrt_client_unref(client);
}

/* The data when it is not needed any more, to be released without the lock; else NULL. */
static hilo_buffer *unneeded(struct pjrt_buffer *b) {
    hilo_buffer *data = b->deleted && !b->held ? b->data : NULL;
    if (data)
        b->data = NULL;
    return data;
}

void pjrt_buffer_fill(struct pjrt_buffer *b, hilo_buffer *data) {
    pthread_mutex_lock(&b->client->lock);
    hilo_buffer *old = b->data;
    b->data = data;
    hilo_buffer *needless = unneeded(b);
    pthread_mutex_unlock(&b->client->lock);
    hilo_buffer_release(old);
    hilo_buffer_release(needless);
}

void pjrt_buffer_delete(struct pjrt_buffer *b) {
    pthread_mutex_lock(&b->client->lock);
    b->deleted = true;
    hilo_buffer *data = unneeded(b);
    pthread_mutex_unlock(&b->client->lock);
    hilo_buffer_release(data);
}

struct pjrt_error *pjrt_buffer_hold(struct pjrt_buffer *b) {
    pthread_mutex_lock(&b->client->lock);
    bool ok = !b->deleted;
    b->held += ok;
    pthread_mutex_unlock(&b->client->lock);
    if (!ok)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the buffer was deleted or donated");
    pjrt_buffer_ref(b);
    return NULL;
}

void pjrt_buffer_unhold(struct pjrt_buffer *b) {
    pthread_mutex_lock(&b->client->lock);
    b->held--;
    hilo_buffer *data = unneeded(b);
    pthread_mutex_unlock(&b->client->lock);
    hilo_buffer_release(data);
    pjrt_buffer_unref(b);
}

static hilo_buffer *data_of(struct pjrt_buffer *b) {
    pthread_mutex_lock(&b->client->lock);
    hilo_buffer *data = b->data;
    pthread_mutex_unlock(&b->client->lock);
    return data;
}

bool pjrt_buffer_enqueued(struct pjrt_buffer *b) {
    return pjrt_event_ready(b->ready) || (b->client->gpu && data_of(b));
}

struct pjrt_error *pjrt_buffer_data(struct pjrt_buffer *b, hilo_buffer **out) {
    if (b->client->gpu && (*out = data_of(b)))
        return NULL;
    const struct pjrt_error *error = pjrt_event_wait(b->ready);
    if (error)
        return pjrt_error_copy(error);
    *out = data_of(b);
    return *out ? NULL : pjrt_fail(HILO_INTERNAL, "the buffer has no data");
}

bool pjrt_memory_on_device(const struct pjrt_memory *memory) {
    return memory->kind == PJRT_MEMORY_DEVICE;
}

struct pjrt_error *pjrt_buffer_place(struct pjrt_buffer *b, hilo_buffer *data) {
    struct pjrt_capture l;
    if (!b->client->gpu)
        return NULL;
    pjrt_capture_begin(b->client, &l);
    return pjrt_capture_end(b->client, &l, rt_buffer_move(data, pjrt_memory_on_device(b->memory)));
}

struct pjrt_memory *pjrt_place(struct pjrt_client *c, struct pjrt_device *device, struct pjrt_memory *memory) {
    return memory ? memory : (device ? device : c->list[c->first])->list[PJRT_MEMORY_DEVICE];
}

/* ---- the interface --------------------------------------------------------------------------- */

struct pjrt_error *pjrt_Buffer_Destroy(struct pjrt_Buffer_Destroy *a) {
    if (a->buffer)
        pjrt_buffer_delete(a->buffer);
    pjrt_buffer_unref(a->buffer);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_Delete(struct pjrt_Buffer_Delete *a) {
    pjrt_buffer_delete(a->buffer);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_IsDeleted(struct pjrt_Buffer_IsDeleted *a) {
    pthread_mutex_lock(&a->buffer->client->lock);
    a->is_deleted = a->buffer->deleted;
    pthread_mutex_unlock(&a->buffer->client->lock);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_ElementType(struct pjrt_Buffer_ElementType *a) {
    a->dtype = pjrt_dtype_number(a->buffer->dtype);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_Dimensions(struct pjrt_Buffer_Dimensions *a) {
    a->dims = a->buffer->dims;
    a->rank = a->buffer->rank;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_UnpaddedDimensions(struct pjrt_Buffer_UnpaddedDimensions *a) {
    a->dims = a->buffer->dims;
    a->rank = a->buffer->rank;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_DynamicDimensionIndices(struct pjrt_Buffer_DynamicDimensionIndices *a) {
    a->dynamic_dim_indices = NULL;
    a->ndynamic_dims = 0;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_OnDeviceSizeInBytes(struct pjrt_Buffer_OnDeviceSizeInBytes *a) {
    a->size = a->buffer->bytes;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_Device(struct pjrt_Buffer_Device *a) {
    a->device = a->buffer->memory->device;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_Memory(struct pjrt_Buffer_Memory *a) {
    a->memory = a->buffer->memory;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_ReadyEvent(struct pjrt_Buffer_ReadyEvent *a) {
    a->event = pjrt_event_ref(a->buffer->ready);
    return NULL;
}

/* A caller that learns that a buffer is in host memory reads its address next, possibly on a thread that the run that fills the
   buffer needs. So this is true only of buffers that are ready; others are copied when they are. The result never changes for a
   buffer: callers decide by it how to continue. */
struct pjrt_error *pjrt_Buffer_IsOnCpu(struct pjrt_Buffer_IsOnCpu *a) {
    struct pjrt_buffer *b = a->buffer;
    const struct pjrt_framework *f = pjrt_framework(b->client);
    bool there = !b->client->gpu && pjrt_event_ready(b->ready) && !b->ready->error && b->dtype != HILO_TOKEN &&
                 !(f && atomic_load_explicit(&f->host_guarded, memory_order_relaxed));
    pthread_mutex_lock(&b->client->lock);
    if (b->place == PJRT_UNASKED)
        b->place = there ? PJRT_ON_CPU : PJRT_ELSEWHERE;
    a->is_on_cpu = b->place == PJRT_ON_CPU;
    pthread_mutex_unlock(&b->client->lock);
    return NULL;
}

static struct pjrt_error *address(struct pjrt_buffer *b, void **out) {
    PJRT_TRY(pjrt_buffer_hold(b));
    hilo_buffer *data;
    struct pjrt_error *error = pjrt_buffer_data(b, &data);
    struct pjrt_capture l;
    pjrt_capture_begin(b->client, &l);
    hilo_status status = HILO_OK;
    if (!error && b->client->gpu && pjrt_memory_on_device(b->memory))
        status = rt_buffer_address(data, out);
    else if (!error)
        *out = hilo_buffer_data(data);
    struct pjrt_error *failed = pjrt_capture_end(b->client, &l, status);
    pjrt_buffer_unhold(b);
    return error ? error : failed;
}

struct pjrt_error *pjrt_Buffer_UnsafePointer(struct pjrt_Buffer_UnsafePointer *a) {
    void *p = NULL;
    PJRT_TRY(address(a->buffer, &p));
    a->pointer = (uintptr_t)p;
    return NULL;
}

struct pjrt_error *pjrt_Buffer_OpaqueDeviceMemoryDataPointer(struct pjrt_Buffer_OpaqueDeviceMemoryDataPointer *a) {
    return address(a->buffer, &a->pointer);
}

struct pjrt_error *pjrt_Buffer_IncreaseExternalReferenceCount(struct pjrt_Buffer_IncreaseExternalReferenceCount *a) {
    PJRT_TRY(pjrt_buffer_hold(a->buffer));
    pthread_mutex_lock(&a->buffer->client->lock);
    a->buffer->external++;
    pthread_mutex_unlock(&a->buffer->client->lock);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_DecreaseExternalReferenceCount(struct pjrt_Buffer_DecreaseExternalReferenceCount *a) {
    pthread_mutex_lock(&a->buffer->client->lock);
    bool ok = a->buffer->external > 0;
    a->buffer->external -= ok;
    pthread_mutex_unlock(&a->buffer->client->lock);
    if (!ok)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the buffer has no external references");
    pjrt_buffer_unhold(a->buffer);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_GetMemoryLayout(struct pjrt_Buffer_GetMemoryLayout *a) {
    size_t rank = a->buffer->rank;
    a->layout = (struct pjrt_layout){.struct_size = sizeof a->layout, .type = PJRT_TILED};
    a->layout.tiled.struct_size = sizeof a->layout.tiled;
    a->layout.tiled.minor_to_major = a->buffer->minor_to_major;
    a->layout.tiled.minor_to_major_size = rank;
    return NULL;
}
