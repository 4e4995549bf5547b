/* Buffers of a GPU's client as components above runtime place them, and marks in what is enqueued: see internal.h. */
#include "runtime/device.h"

#include <string.h>

enum { ALIGNMENT = 16 /* of what kernels access at once */ };

bool rt_client_on_device(const hilo_client *client) {
    return client->gpu != NULL;
}

const char *rt_client_device_name(const hilo_client *client) {
    return client->gpu ? gpu_properties(client->gpu)->name : NULL;
}

struct rt_device_memory rt_client_device_memory(const hilo_client *client) {
    if (!client->gpu)
        return (struct rt_device_memory){0};
    struct gpu_memory m = gpu_memory(client->gpu);
    return (struct rt_device_memory){m.used_bytes, m.peak_bytes, gpu_properties(client->gpu)->memory_bytes};
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void pinned_release(void *gpu, void *data) {
    gpu_host_free(gpu, data);
}

/* A copy in pinned memory, from and to which the device copies by itself. */
static hilo_status pin(hilo_client *client, const struct value *v, struct diag_list *d, struct value **out) {
    struct value *made;
    void *data = NULL;
    HILO_TRY(gpu_host_alloc(client->gpu, v->bytes, d, &data));
    hilo_status status = value_borrow(&client->memory, v->dtype, v->dims, v->rank, data, pinned_release, client->gpu, &made);
    if (status != HILO_OK) {
        gpu_host_free(client->gpu, data);
        return status;
    }
    if (v->device) {
        status = gpu_copy(client->gpu, GPU_TO_HOST, data, v->data, v->bytes, d);
        hilo_status waited = gpu_wait(client->gpu, d);
        status = status == HILO_OK ? waited : status;
    } else if (v->bytes) {
        memcpy(data, v->data, v->bytes);
    }
    if (status == HILO_OK)
        *out = made;
    else
        value_unref(made);
    return status;
}

static struct value *take_form(const hilo_buffer *b, bool device) {
    pthread_mutex_lock(&b->client->lock);
    struct value *v = device ? b->device : b->value;
    v = v ? value_ref(v) : NULL;
    pthread_mutex_unlock(&b->client->lock);
    return v;
}

/* Makes the host's form anew, in pinned memory, unless it is there already. */
static hilo_status pin_form(hilo_buffer *b, struct diag_list *d) {
    struct value *from = take_form(b, b->truth != RT_HOST_FORM), *made, *old;
    if (!from)
        from = take_form(b, false);
    if (!from || from->release == pinned_release) {
        value_unref(from);
        return HILO_OK;
    }
    hilo_status status = pin(b->client, from, d, &made);
    value_unref(from);
    HILO_TRY(status);
    pthread_mutex_lock(&b->client->lock);
    old = b->value;
    b->value = made;
    pthread_mutex_unlock(&b->client->lock);
    value_unref(old);
    return HILO_OK;
}

static hilo_status move(hilo_buffer *b, bool device, struct diag_list *d) {
    struct value *dropped = NULL;
    if (b->dtype == HILO_TOKEN)
        return HILO_OK;
    HILO_TRY(device ? rt_buffer_form(b, true, d) : pin_form(b, d));
    pthread_mutex_lock(&b->client->lock);
    struct value **kept = device ? &b->device : &b->value, **other = device ? &b->value : &b->device;
    if (*kept) { /* else it was donated */
        dropped = *other;
        *other = NULL;
        b->truth = RT_EITHER;
    }
    pthread_mutex_unlock(&b->client->lock);
    value_unref(dropped);
    return HILO_OK;
}

hilo_status rt_buffer_move(hilo_buffer *buffer, bool device) {
    struct diag_list d;
    if (!buffer->client->gpu)
        return HILO_OK;
    diag_init(&d, buffer->client->al);
    return rt_finish(buffer->client, &d, move(buffer, device, &d));
}

hilo_status rt_buffer_address(hilo_buffer *buffer, void **out) {
    bool device = buffer->client->gpu != NULL;
    HILO_TRY(rt_buffer_move(buffer, true));
    pthread_mutex_lock(&buffer->client->lock);
    const struct value *v = device ? buffer->device : buffer->value;
    *out = v && v->kind == EVAL_TENSOR ? v->data : NULL;
    buffer->truth = device ? RT_DEVICE_FORM : RT_HOST_FORM;
    pthread_mutex_unlock(&buffer->client->lock);
    return *out || !buffer->bytes ? HILO_OK : HILO_FAILED_PRECONDITION;
}

static hilo_status copy_value(hilo_buffer *b, bool device, struct diag_list *d, struct value **out) {
    hilo_client *client = b->client;
    struct value *from = take_form(b, client->gpu && b->truth != RT_HOST_FORM), *made = NULL;
    hilo_status status;
    if (!from && !(from = take_form(b, false)) && !(from = take_form(b, client->gpu)))
        return diag_error(d, HILO_FAILED_PRECONDITION, "the buffer was donated to a run and has no data");
    if (from->kind != EVAL_TENSOR) {
        status = value_token(&client->memory, &made);
    } else if (device && client->gpu && !from->device) {
        status = rt_device_put(client, from, "a copy", d, &made);
    } else if (device && client->gpu) {
        status = rt_device_tensor(client, from->dtype, from->dims, from->rank, "a copy", d, &made);
        if (status == HILO_OK)
            status = gpu_copy(client->gpu, GPU_ON_DEVICE, made->data, from->data, from->bytes, d);
    } else if (from->device) {
        status = rt_device_get(client, from, d, &made);
    } else {
        status = value_tensor(&client->memory, from->dtype, from->dims, from->rank, &made);
        if (status == HILO_OK && from->bytes)
            memcpy(made->data, from->data, from->bytes);
    }
    value_unref(from);
    if (status == HILO_OK)
        *out = made;
    else
        value_unref(made);
    return status;
}

hilo_status rt_buffer_copy(hilo_buffer *buffer, bool device, hilo_buffer **out) {
    struct diag_list d;
    struct value *v = NULL;
    diag_init(&d, buffer->client->al);
    hilo_status status = copy_value(buffer, device, &d, &v);
    if (status == HILO_OK)
        status = rt_buffer_adopt(buffer->client, v, out);
    return rt_finish(buffer->client, &d, status);
}

/* ---- memory of the caller's ------------------------------------------------------------------ */

static hilo_status wrap_device(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                               struct diag_list *d, struct value **out) {
    enum ir_dtype t = rt_dtype(dtype);
    struct value *v, *aligned = NULL;
    if (!t || !data)
        return diag_error(d, HILO_INVALID_ARGUMENT, "a tensor in the device's memory was expected");
    HILO_TRY(value_borrow(&client->memory, t, dims, rank, data, NULL, NULL, &v));
    v->device = client->gpu;
    *out = v;
    if ((uintptr_t)data % ALIGNMENT == 0)
        return HILO_OK;
    hilo_status status = rt_device_tensor(client, t, dims, rank, "a view that is not aligned", d, &aligned);
    if (status == HILO_OK)
        status = gpu_copy(client->gpu, GPU_ON_DEVICE, aligned->data, data, v->bytes, d);
    value_unref(v);
    if (status == HILO_OK)
        *out = aligned;
    else
        value_unref(aligned);
    return status;
}

hilo_status rt_buffer_wrap_device(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                                  void (*release)(void *user, void *data), void *user, hilo_buffer **out) {
    struct diag_list d;
    struct value *v = NULL;
    if (!client->gpu)
        return hilo_buffer_wrap(client, dtype, dims, rank, data, release, user, out);
    diag_init(&d, client->al);
    hilo_status status = wrap_device(client, dtype, dims, rank, data, &d, &v);
    bool copied = status == HILO_OK && v->data != data;
    if (copied) /* before the memory may end */
        status = gpu_wait(client->gpu, &d);
    if (status == HILO_OK)
        status = rt_buffer_adopt(client, v, out);
    if (status == HILO_OK && copied && release)
        release(user, data);
    else if (status == HILO_OK && !copied && release) {
        v->release = release;
        v->user = user;
    }
    return rt_finish(client, &d, status);
}

/* ---- marks ----------------------------------------------------------------------------------- */

hilo_status rt_client_mark(hilo_client *client, struct rt_mark **out) {
    struct diag_list d;
    struct gpu_event *e = NULL;
    *out = NULL;
    if (!client->gpu)
        return HILO_OK;
    diag_init(&d, client->al);
    hilo_status status = gpu_event_record(client->gpu, &d, &e);
    *out = (struct rt_mark *)e;
    return rt_finish(client, &d, status);
}

hilo_status rt_mark_wait(hilo_client *client, struct rt_mark *mark) {
    struct diag_list d;
    if (!mark)
        return HILO_OK;
    diag_init(&d, client->al);
    return rt_finish(client, &d, gpu_event_wait(client->gpu, (struct gpu_event *)mark, &d));
}
