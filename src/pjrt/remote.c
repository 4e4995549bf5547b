/* Transfers between processes: the extension for transfers between hosts. Both sides name a transfer by its key and its
 * devices. A call is a thread until it is done, because it waits for the other process, and must not hold up the queue of a
 * device meanwhile. */
#include "comm/comm.h"
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

#include <stdlib.h>

enum { REMOTE_MOST = 1 << 16 }; /* transfers of a call */

struct remote {
    struct pjrt_client *client;
    bool receives;
    size_t n;
    struct comm_transfer *transfers;
    struct pjrt_buffer **buffers; /* held, or a reference */
    struct pjrt_event **events;   /* set when a transfer has ended */
    hilo_buffer **data;           /* of what is received */
};

static void remote_free(struct remote *x) {
    for (size_t i = 0; i < x->n; i++) {
        if (x->buffers[i] && x->receives)
            pjrt_buffer_unref(x->buffers[i]);
        else if (x->buffers[i])
            pjrt_buffer_unhold(x->buffers[i]);
        if (x->events && x->events[i])
            pjrt_event_unref(x->events[i]);
        hilo_buffer_release(x->data[i]);
    }
    pjrt_client_unref(x->client);
    free(x->transfers);
    free(x->buffers);
    free(x->events);
    free(x->data);
    free(x);
}

static struct pjrt_error *remote_new(struct pjrt_client *c, size_t n, bool receives, struct remote **out) {
    if (n > REMOTE_MOST)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%zu transfers; at most %d are supported in one call", n, REMOTE_MOST);
    struct remote *x = pjrt_alloc(1, sizeof *x);
    if (!x)
        return pjrt_exhausted();
    *x = (struct remote){.client = pjrt_client_ref(c), .receives = receives};
    x->transfers = pjrt_alloc(n + 1, sizeof *x->transfers);
    x->buffers = pjrt_alloc(n + 1, sizeof *x->buffers);
    x->events = pjrt_alloc(n + 1, sizeof *x->events);
    x->data = pjrt_alloc(n + 1, sizeof *x->data);
    if (x->transfers && x->buffers && x->events && x->data) {
        x->n = n;
        *out = x;
        return NULL;
    }
    remote_free(x);
    return pjrt_exhausted();
}

/* What is sent has to be there first. */
static struct pjrt_error *find_data(struct remote *x) {
    for (size_t i = 0; i < x->n; i++) {
        hilo_buffer *data = x->data[i];
        if (!x->receives)
            PJRT_TRY(pjrt_buffer_data(x->buffers[i], &data));
        const struct value *v = rt_buffer_value(data);
        if (!v || v->kind != EVAL_TENSOR)
            return pjrt_fail(HILO_UNIMPLEMENTED, "only tensors can be sent to other processes");
        x->transfers[i].data = v->data;
        x->transfers[i].bytes = v->bytes;
    }
    return NULL;
}

/* Events are set when this thread has let go of the client: what waits for them may end it, and the process. */
static void *remote_run(void *user) {
    struct remote *x = user;
    struct pjrt_error *error = find_data(x);
    if (!error) {
        struct strbuf why;
        strbuf_init(&why, mem_system_allocator());
        hilo_status status = comm_transfer(rt_client_comm(x->client->hilo), x->transfers, (uint32_t)x->n, &why);
        if (status != HILO_OK)
            error = pjrt_fail(status, "a transfer between processes: %s", why.p ? why.p : "out of memory");
        strbuf_free(&why);
    }
    for (size_t i = 0; i < x->n && x->receives && !error; i++) {
        pjrt_buffer_fill(x->buffers[i], x->data[i]);
        x->data[i] = NULL;
    }
    struct pjrt_event **events = x->events;
    size_t n = x->n;
    x->events = NULL;
    remote_free(x);
    for (size_t i = 0; i < n; i++) {
        pjrt_event_set(events[i], pjrt_error_copy(error));
        pjrt_event_unref(events[i]);
    }
    free(events);
    pjrt_error_free(error);
    return NULL;
}

static struct pjrt_error *remote_start(struct remote *x) {
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return pjrt_exhausted();
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attr, remote_run, x) == 0;
    pthread_attr_destroy(&attr);
    return started ? NULL : pjrt_fail(HILO_RESOURCE_EXHAUSTED, "there is no thread for a transfer");
}

/* The node of a device of another process. */
static struct pjrt_error *node_of(const struct pjrt_client *c, int device, uint32_t *out) {
    const struct comm *comm = rt_client_comm(c->hilo);
    if (!comm || device < 0 || (size_t)device >= c->topology.ndevices || c->list[device]->local >= 0)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "device %d is not one of another process", device);
    *out = comm_node_of_device(comm, (uint32_t)device);
    return NULL;
}

static struct pjrt_error *fill_send(struct remote *x, const struct pjrt_remote_send *a) {
    for (size_t i = 0; i < a->n; i++) {
        struct pjrt_buffer *b = a->buffers[i];
        struct comm_transfer *t = &x->transfers[i];
        *t = (struct comm_transfer){.key = (uint64_t)a->keys[i], .from = (uint32_t)b->memory->device->description->id,
                                    .to = (uint32_t)a->devices[i]};
        PJRT_TRY(node_of(a->client, a->devices[i], &t->node));
        if (!pjrt_is_row_major(b->minor_to_major, b->rank))
            return pjrt_fail(HILO_UNIMPLEMENTED, "only row-major buffers can be sent to other processes");
        PJRT_TRY(pjrt_buffer_hold(b));
        x->buffers[i] = b;
        if (!(x->events[i] = pjrt_event_new()))
            return pjrt_exhausted();
    }
    return NULL;
}

struct pjrt_error *pjrt_remote_send(struct pjrt_remote_send *a) {
    struct remote *x;
    PJRT_TRY(remote_new(a->client, a->n, false, &x));
    struct pjrt_error *error = fill_send(x, a);
    for (size_t i = 0; i < a->n && !error; i++)
        a->events[i] = pjrt_event_ref(x->events[i]);
    if (!error && (error = remote_start(x)))
        for (size_t i = 0; i < a->n; i++)
            pjrt_event_unref(a->events[i]);
    if (error)
        remote_free(x);
    return error;
}

static struct pjrt_error *fill_receive(struct remote *x, const struct pjrt_remote_receive *a) {
    for (size_t i = 0; i < a->n; i++) {
        struct comm_transfer *t = &x->transfers[i];
        *t = (struct comm_transfer){.key = (uint64_t)a->keys[i], .from = (uint32_t)a->devices[i],
                                    .to = (uint32_t)a->device->description->id, .receives = true};
        PJRT_TRY(node_of(a->client, a->devices[i], &t->node));
        if (a->layouts && a->layouts[i])
            PJRT_TRY(pjrt_layout_row_major(a->layouts[i], a->dims[i], a->ranks[i], a->dtypes[i]));
        PJRT_TRY(pjrt_buffer_new(a->device->list[PJRT_MEMORY_DEVICE], a->dtypes[i], a->dims[i], a->ranks[i], NULL, NULL,
                                 &x->buffers[i]));
        x->events[i] = pjrt_event_ref(x->buffers[i]->ready);
        hilo_status status = hilo_buffer_create(a->client->hilo, x->buffers[i]->dtype, a->dims[i], (uint32_t)a->ranks[i],
                                                &x->data[i]);
        if (status != HILO_OK)
            return pjrt_fail(status, "there is no memory for a buffer of another process");
    }
    return NULL;
}

struct pjrt_error *pjrt_remote_receive(struct pjrt_remote_receive *a) {
    struct remote *x;
    if (a->device->local < 0)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "device %d is another process's", a->device->description->id);
    PJRT_TRY(remote_new(a->client, a->n, true, &x));
    struct pjrt_error *error = fill_receive(x, a);
    for (size_t i = 0; i < a->n && !error; i++)
        a->buffers[i] = pjrt_buffer_ref(x->buffers[i]);
    if (!error && (error = remote_start(x)))
        for (size_t i = 0; i < a->n; i++)
            pjrt_buffer_unref(a->buffers[i]);
    if (error)
        remote_free(x);
    return error;
}

/* Frameworks use descriptors only where there are no functions for keys. */
struct pjrt_error *pjrt_remote_make_receive_buffers(struct pjrt_remote_make_receive_buffers *a) {
    (void)a;
    return pjrt_fail(HILO_UNIMPLEMENTED, "transfers by descriptors are not supported");
}

struct pjrt_error *pjrt_remote_copy_to_device(struct pjrt_remote_copy_to_device *a) {
    (void)a;
    return pjrt_fail(HILO_UNIMPLEMENTED, "transfers by descriptors are not supported");
}
