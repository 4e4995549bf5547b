/* Clients, their devices and memories. */
#include "comm/comm.h"
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- memory counts --------------------------------------------------------------------------- */

static void atomic_max(atomic_size_t *most, size_t value) {
    size_t seen = atomic_load_explicit(most, memory_order_relaxed);
    while (value > seen && !atomic_compare_exchange_weak(most, &seen, value))
        ;
}

static void *counted_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct pjrt_alloc_stats *m = user;
    void *p = m->al.realloc_fn(m->al.user, ptr, old_bytes, new_bytes, align);
    if (!p && new_bytes)
        return NULL;
    size_t now = atomic_fetch_add_explicit(&m->now, new_bytes - old_bytes, memory_order_relaxed) + new_bytes - old_bytes;
    if (!ptr) {
        atomic_fetch_add_explicit(&m->count, 1, memory_order_relaxed);
        atomic_max(&m->largest, new_bytes);
    }
    atomic_max(&m->peak, now);
    return p;
}

/* ---- memories -------------------------------------------------------------------------------- */

const char *const pjrt_memory_kinds[PJRT_NKINDS] = {
#define M(id, name) name,
    PJRT_MEMORY_KINDS(M)
#undef M
};

/* What a framework keeps with a memory, by key. */
struct pjrt_user_data {
    struct pjrt_user_data *next;
    const void *key;
    void *data;
    void (*destroy)(void *data);
};

static void *memory_get(struct pjrt_memory *memory, const void *key) {
    pthread_mutex_lock(&memory->lock);
    struct pjrt_user_data *x = memory->data;
    while (x && x->key != key)
        x = x->next;
    void *data = x ? x->data : NULL;
    pthread_mutex_unlock(&memory->lock);
    return data;
}

static void user_data_free(struct pjrt_user_data *x) {
    if (x && x->destroy)
        x->destroy(x->data);
    free(x);
}

static void memory_set(struct pjrt_memory *memory, const void *key, void *data, void (*destroy)(void *data)) {
    struct pjrt_user_data *fresh = pjrt_alloc(1, sizeof *fresh), *old;
    if (!fresh) { /* the interface has no error for this; the data is not kept */
        if (destroy)
            destroy(data);
        return;
    }
    pthread_mutex_lock(&memory->lock);
    struct pjrt_user_data **at = &memory->data;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    if ((old = *at))
        *at = old->next;
    *fresh = (struct pjrt_user_data){memory->data, key, data, destroy};
    memory->data = fresh;
    pthread_mutex_unlock(&memory->lock);
    user_data_free(old);
}

static const struct pjrt_memory_table memory_table = {
    .struct_size = sizeof memory_table, .instance_size = sizeof(struct pjrt_memory), .get_user_data = memory_get,
    .set_user_data = memory_set,
};

struct pjrt_error *pjrt_Memory_Id(struct pjrt_Memory_Id *a) {
    a->id = a->memory->id;
    return NULL;
}

struct pjrt_error *pjrt_Memory_Kind(struct pjrt_Memory_Kind *a) {
    a->text = pjrt_memory_kinds[a->memory->kind];
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Memory_Kind_Id(struct pjrt_Memory_Kind_Id *a) {
    a->kind_id = (int)a->memory->kind;
    return NULL;
}

struct pjrt_error *pjrt_Memory_DebugString(struct pjrt_Memory_DebugString *a) {
    a->text = a->memory->text;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Memory_ToString(struct pjrt_Memory_ToString *a) {
    a->text = a->memory->text;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Memory_AddressableByDevices(struct pjrt_Memory_AddressableByDevices *a) {
    struct pjrt_device *device = a->memory->device;
    a->devices = &device->client->list[device->description->id];
    a->ndevices = 1;
    return NULL;
}

/* ---- clients --------------------------------------------------------------------------------- */

static bool device_init(struct pjrt_client *c, size_t i) {
    struct pjrt_device *d = &c->devices[i];
    bool ok = true;
    d->client = c;
    d->description = &c->topology.descriptions[i];
    c->list[i] = d;
    d->local = i >= c->first && i - c->first < c->here ? (int)(i - c->first) : -1;
    pjrt_queue_init(&d->queue);
    pjrt_queue_init(&d->marks);
    for (int k = 0; k < PJRT_NKINDS; k++) {
        struct pjrt_memory *m = d->list[k] = &d->memories[k];
        char text[64];
        int n = snprintf(text, sizeof text, "%s(%s)", pjrt_memory_kinds[k], d->description->text);
        *m = (struct pjrt_memory){.table = &memory_table, .device = d, .kind = (enum pjrt_memory_kind)k,
                                  .id = (int)i * PJRT_NKINDS + k, .text = pjrt_dup(text, (size_t)n)};
        pthread_mutex_init(&m->lock, NULL);
        if (d->local >= 0)
            c->memories[(size_t)d->local * PJRT_NKINDS + (size_t)k] = m;
        ok = ok && m->text;
    }
    return ok;
}

static void device_free(struct pjrt_device *d) {
    for (int k = 0; k < PJRT_NKINDS; k++) {
        struct pjrt_memory *m = &d->memories[k];
        while (m->data) {
            struct pjrt_user_data *x = m->data;
            m->data = x->next;
            user_data_free(x);
        }
        pthread_mutex_destroy(&m->lock);
        free(m->text);
    }
}

struct pjrt_client *pjrt_client_ref(struct pjrt_client *c) {
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void pjrt_client_unref(struct pjrt_client *c) {
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; c->devices && i < c->topology.ndevices; i++)
        device_free(&c->devices[i]);
    hilo_buffer_release(c->token);
    hilo_client_release(c->hilo);
    pjrt_event_unref(c->done);
    free(c->devices);
    free(c->list);
    free(c->memories);
    pjrt_topology_free(&c->topology);
    for (size_t i = 0; c->workers && i < c->nworkers; i++)
        pjrt_queue_end(&c->workers[i]);
    free(c->workers);
    free(c->told.v);
    pthread_key_delete(c->listener);
    pthread_key_delete(c->running);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->launch);
    free(c);
}

/* The devices of all nodes, once these have met. */
static struct pjrt_error *devices_fill(struct pjrt_client *c) {
    const struct comm *comm = rt_client_comm(c->hilo);
    size_t n = comm ? comm_ndevices(comm) : c->here;
    PJRT_TRY(pjrt_topology_init(&c->topology, n, rt_client_gpu_target(c->hilo)));
    for (size_t i = 0; i < n && c->gpu; i++)
        c->topology.descriptions[i].kind = rt_client_device_name(c->hilo);
    if (comm) {
        pjrt_topology_of_nodes(&c->topology, comm);
        c->first = comm_node_get(comm, comm_self(comm))->first_device;
    }
    c->list = pjrt_alloc(n, sizeof *c->list);
    c->memories = pjrt_alloc(c->here * PJRT_NKINDS, sizeof *c->memories);
    c->devices = c->list && c->memories ? pjrt_alloc(n, sizeof *c->devices) : NULL;
    bool ok = c->devices;
    for (size_t i = 0; i < n && c->devices; i++)
        ok = device_init(c, i) && ok;
    return ok ? NULL : pjrt_exhausted();
}

static struct pjrt_error *client_fill(struct pjrt_client *c, const hilo_node_store *store) {
    c->here = (size_t)c->options.devices;
    c->done = pjrt_event_new();
    if (!c->done)
        return pjrt_exhausted();
    pjrt_event_set(c->done, NULL);
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.threads = (int32_t)c->options.threads;
    o.log = pjrt_log;
    o.log_user = c;
    o.diagnostic = pjrt_on_diagnostic;
    o.diagnostic_user = c;
    c->alloc_stats.al = mem_system_allocator();
    o.allocator = (hilo_allocator){counted_realloc, &c->alloc_stats};
    if (*c->options.device)
        o.device = c->options.device;
    o.devices = (int32_t)c->options.devices;
    o.nodes = (int32_t)c->options.nodes;
    o.node = (int32_t)c->options.node;
    o.node_store = *store;
    struct pjrt_capture l;
    pjrt_capture_begin(c, &l);
    hilo_status status = hilo_client_create(&o, &c->hilo);
    PJRT_TRY(pjrt_capture_end(c, &l, status));
    c->gpu = status == HILO_OK && rt_client_on_device(c->hilo);
    if (status == HILO_OK)
        PJRT_TRY(devices_fill(c));
    if (status == HILO_OK) {
        pjrt_call_init(c);
        c->nworkers = (size_t)hilo_client_threads(c->hilo);
        c->workers = pjrt_alloc(c->nworkers, sizeof *c->workers);
        status = c->workers ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
        for (size_t i = 0; c->workers && i < c->nworkers; i++)
            pjrt_queue_init(&c->workers[i]);
    }
    if (status == HILO_OK)
        status = hilo_buffer_create(c->hilo, HILO_TOKEN, NULL, 0, &c->token);
    return status == HILO_OK ? NULL : pjrt_fail(status, "the client cannot be created");
}

static struct pjrt_error *client_new(const struct pjrt_client_options *options, const hilo_node_store *store,
                                     struct pjrt_client **out) {
    struct pjrt_client *c = pjrt_alloc(1, sizeof *c);
    if (!c)
        return pjrt_exhausted();
    c->options = *options;
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->launch, NULL);
    bool listener = pthread_key_create(&c->listener, NULL) == 0;
    if (!listener || pthread_key_create(&c->running, NULL) != 0) {
        if (listener)
            pthread_key_delete(c->listener);
        pthread_mutex_destroy(&c->lock);
        pthread_mutex_destroy(&c->launch);
        free(c);
        return pjrt_fail(HILO_RESOURCE_EXHAUSTED, "the process has no more room for data of its threads");
    }
    struct pjrt_error *error = client_fill(c, store);
    if (error)
        pjrt_client_unref(c);
    else
        *out = c;
    return error;
}

struct pjrt_error *pjrt_Client_Create(struct pjrt_Client_Create *a) {
    struct pjrt_client_options options;
    struct strbuf ignored;
    strbuf_init(&ignored, mem_system_allocator());
    struct pjrt_error *error = pjrt_client_options_read(a->create_options, a->noptions, &options, &ignored);
    struct pjrt_store store = {a->kv_get_callback, a->kv_get_user, a->kv_put_callback, a->kv_put_user};
    hilo_node_store kv = pjrt_store(&store);
    if (!error && options.node >= options.nodes)
        error = pjrt_fail(HILO_INVALID_ARGUMENT, "node_id is %lld of %lld", (long long)options.node, (long long)options.nodes);
    if (!error)
        error = client_new(&options, &kv, &a->client);
    if (!error)
        pjrt_log_ignored(a->client, "XLA_FLAGS without effect", &ignored);
    strbuf_free(&ignored);
    return error;
}

struct pjrt_error *pjrt_Client_Destroy(struct pjrt_Client_Destroy *a) {
    for (size_t i = 0; a->client && i < a->client->topology.ndevices; i++) {
        pjrt_queue_end(&a->client->devices[i].queue);
        pjrt_queue_end(&a->client->devices[i].marks);
    }
    pjrt_client_unref(a->client);
    return NULL;
}

struct pjrt_error *pjrt_Client_PlatformName(struct pjrt_Client_PlatformName *a) {
    a->text = a->client->topology.platform;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Client_PlatformVersion(struct pjrt_Client_PlatformVersion *a) {
    a->text = a->client->topology.version;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Client_ProcessIndex(struct pjrt_Client_ProcessIndex *a) {
    a->process_index = (int)a->client->options.node;
    return NULL;
}

struct pjrt_error *pjrt_Client_TopologyDescription(struct pjrt_Client_TopologyDescription *a) {
    a->topology = &a->client->topology;
    return NULL;
}

struct pjrt_error *pjrt_Client_Devices(struct pjrt_Client_Devices *a) {
    a->devices = a->client->list;
    a->ndevices = a->client->topology.ndevices;
    return NULL;
}

struct pjrt_error *pjrt_Client_AddressableDevices(struct pjrt_Client_AddressableDevices *a) {
    a->devices = a->client->list + a->client->first;
    a->ndevices = a->client->here;
    return NULL;
}

struct pjrt_error *pjrt_Client_AddressableMemories(struct pjrt_Client_AddressableMemories *a) {
    a->memories = a->client->memories;
    a->nmemories = a->client->here * PJRT_NKINDS;
    return NULL;
}

static struct pjrt_error *lookup(struct pjrt_client *c, int id, struct pjrt_device **out) {
    if (id < 0 || (size_t)id >= c->topology.ndevices)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there is no device %d; there are %zu", id, c->topology.ndevices);
    *out = c->list[id];
    return NULL;
}

struct pjrt_error *pjrt_Client_LookupDevice(struct pjrt_Client_LookupDevice *a) {
    return lookup(a->client, a->id, &a->device);
}

struct pjrt_error *pjrt_Client_LookupAddressableDevice(struct pjrt_Client_LookupAddressableDevice *a) {
    const struct pjrt_client *c = a->client;
    if (a->local_hardware_id < 0 || (size_t)a->local_hardware_id >= c->here)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there is no device %d in this process; there are %zu", a->local_hardware_id,
                         c->here);
    a->device = c->list[c->first + (size_t)a->local_hardware_id];
    return NULL;
}

struct pjrt_error *pjrt_Client_DefaultDeviceAssignment(struct pjrt_Client_DefaultDeviceAssignment *a) {
    size_t n;
    if (a->num_replicas < 1 || a->num_partitions < 1 ||
        !mem_mul((size_t)a->num_replicas, (size_t)a->num_partitions, &n) || n > a->client->topology.ndevices)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%d replicas of %d partitions do not fit on %zu devices", a->num_replicas,
                         a->num_partitions, a->client->topology.ndevices);
    if (!a->assignment || a->size < n)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there is room for %zu devices; %zu are needed", a->size, n);
    for (size_t i = 0; i < n; i++)
        a->assignment[i] = (int)i;
    return NULL;
}

/* All memory is the host's. */
struct pjrt_error *pjrt_Client_DmaMap(struct pjrt_Client_DmaMap *a) {
    return a->data ? NULL : pjrt_fail(HILO_INVALID_ARGUMENT, "Client_DmaMap: the data is missing");
}

struct pjrt_error *pjrt_Client_DmaUnmap(struct pjrt_Client_DmaUnmap *a) {
    return a->data ? NULL : pjrt_fail(HILO_INVALID_ARGUMENT, "Client_DmaUnmap: the data is missing");
}

/* ---- devices --------------------------------------------------------------------------------- */

struct pjrt_error *pjrt_Device_GetDescription(struct pjrt_Device_GetDescription *a) {
    a->device_description = a->device->description;
    return NULL;
}

struct pjrt_error *pjrt_Device_IsAddressable(struct pjrt_Device_IsAddressable *a) {
    a->is_addressable = a->device->local >= 0;
    return NULL;
}

struct pjrt_error *pjrt_Device_LocalHardwareId(struct pjrt_Device_LocalHardwareId *a) {
    a->local_hardware_id = a->device->local;
    return NULL;
}

struct pjrt_error *pjrt_Device_AddressableMemories(struct pjrt_Device_AddressableMemories *a) {
    a->memories = a->device->list;
    a->nmemories = PJRT_NKINDS;
    return NULL;
}

struct pjrt_error *pjrt_Device_DefaultMemory(struct pjrt_Device_DefaultMemory *a) {
    a->memory = a->device->list[PJRT_MEMORY_DEVICE];
    return NULL;
}

struct pjrt_error *pjrt_Device_GetAttributes(struct pjrt_Device_GetAttributes *a) {
    a->attributes = NULL;
    a->n = 0;
    a->owner = NULL;
    a->deleter = pjrt_bytes_delete;
    return NULL;
}

/* Bytes that the process may use: of the machine, or of its control group; 0 = not known. */
static int64_t memory_limit(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t limit = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    char text[32] = "", *end;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
    if (f && fgets(text, sizeof text, f)) {
        long long most = strtoll(text, &end, 10); /* "max" = no limit */
        if (end > text && most > 0 && (!limit || most < limit))
            limit = most;
    }
    if (f)
        fclose(f);
    return limit;
}

/* The devices share the memory of the client or its GPU: each reports an equal part, so that the sum of all is true. */
struct pjrt_error *pjrt_Device_MemoryStats(struct pjrt_Device_MemoryStats *a) {
    struct pjrt_client *c = a->device->client;
    int64_t n = (int64_t)c->here;
    *a = (struct pjrt_Device_MemoryStats){.struct_size = a->struct_size, .device = a->device};
    a->bytes_in_use = (int64_t)atomic_load(&c->alloc_stats.now) / n;
    a->peak_bytes_in_use = (int64_t)atomic_load(&c->alloc_stats.peak) / n;
    a->num_allocs = (int64_t)atomic_load(&c->alloc_stats.count) / n;
    a->largest_alloc_size = (int64_t)atomic_load(&c->alloc_stats.largest);
    a->bytes_limit = memory_limit() / n;
    a->peak_bytes_in_use_is_set = a->num_allocs_is_set = a->largest_alloc_size_is_set = !c->gpu;
    if (c->gpu) {
        struct rt_device_memory m = rt_client_device_memory(c->hilo);
        a->bytes_in_use = (int64_t)m.used / n;
        a->peak_bytes_in_use = (int64_t)m.peak / n;
        a->bytes_limit = (int64_t)m.all / n;
        a->peak_bytes_in_use_is_set = true;
    }
    a->bytes_reservable_limit = a->bytes_limit; /* nothing is set aside for others */
    a->bytes_limit_is_set = a->bytes_reservable_limit_is_set = a->bytes_limit > 0;
    return NULL;
}

struct pjrt_error *pjrt_Device_ClearMemoryStats(struct pjrt_Device_ClearMemoryStats *a) {
    struct pjrt_alloc_stats *m = &a->device->client->alloc_stats;
    atomic_store(&m->peak, atomic_load(&m->now));
    atomic_store(&m->largest, 0);
    atomic_store(&m->count, 0);
    return NULL;
}

/* A span of time that a framework records in a profile. */
struct pjrt_tracker {
    char *text;
};

struct pjrt_error *pjrt_Device_CreateAsyncTrackingEvent(struct pjrt_Device_CreateAsyncTrackingEvent *a) {
    struct pjrt_tracker *t = pjrt_alloc(1, sizeof *t);
    if (t)
        t->text = pjrt_dup(a->text ? a->text : "", a->text ? a->text_size : 0);
    if (!t || !t->text) {
        free(t);
        return pjrt_exhausted();
    }
    a->event = t;
    return NULL;
}

struct pjrt_error *pjrt_AsyncTrackingEvent_Destroy(struct pjrt_AsyncTrackingEvent_Destroy *a) {
    if (a->tracker)
        free(a->tracker->text);
    free(a->tracker);
    return NULL;
}
