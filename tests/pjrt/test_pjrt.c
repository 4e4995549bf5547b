/* The PJRT plugin through its table, as a framework calls it: every function with good and bad arguments, short and long
 * structs, and from several threads. */
#include "pjrt_calls.h"
#include "runtime/runtime.h"
#include "tests/test.h"

/* ---- what all functions do ------------------------------------------------------------------- */

static void test_table(void **state) {
    (void)state;
    assert_int_equal(api->struct_size, sizeof *api);
    assert_int_equal(api->version.major_version, 0);
    assert_int_equal(api->version.minor_version, 112);
    void *entries[138];
    memcpy(entries, (const char *)api + 40, sizeof entries);
    for (size_t i = 0; i < 138; i++)
        assert_non_null(entries[i]);
    int n = 0;
    for (const struct pjrt_extension *x = api->extension_start; x; x = x->next, n++)
        assert_true(x->struct_size > sizeof *x);
    assert_int_equal(n, 4);
}

/* A struct that is too short for what must be given, or none at all. */
static void test_short_structs(void **state) {
    (void)state;
#define FN_FREE(name, in, rest)                                                              \
    {                                                                                        \
        struct pjrt_##name a;                                                                \
        memset(&a, 0, sizeof a);                                                             \
        a.struct_size = offsetof(struct pjrt_##name##_least, end) - 1;                       \
        FAILS(HILO_INVALID_ARGUMENT, api->name(&a));                                         \
        FAILS(HILO_INVALID_ARGUMENT, api->name(NULL));                                       \
    }
#define FN(name, handle, in, rest) FN_FREE(name, in, rest)
#define FN_VOID(name, in, rest)                                                              \
    {                                                                                        \
        struct pjrt_##name a;                                                                \
        memset(&a, 0, sizeof a);                                                             \
        a.struct_size = 8;                                                                   \
        api->name(&a);                                                                       \
        api->name(NULL);                                                                     \
    }
#include "pjrt/pjrt_api.def"
}

static void test_missing_handles(void **state) {
    (void)state;
#define FN(name, handle, in, rest)                                                           \
    {                                                                                        \
        struct pjrt_##name a;                                                                \
        memset(&a, 0, sizeof a);                                                             \
        a.struct_size = sizeof a;                                                            \
        FAILS(HILO_INVALID_ARGUMENT, api->name(&a));                                         \
    }
#define FN_FREE(name, in, rest)
#define FN_VOID(name, in, rest)
#include "pjrt/pjrt_api.def"
}

/* Where there may be no handle, nothing happens. */
static void test_no_handle(void **state) {
    (void)state;
#define NOTHING(name)                                \
    {                                                \
        ARGS(name);                                  \
        OK(api->name(&a));                           \
    }
    NOTHING(Event_Destroy)
    NOTHING(Client_Destroy)
    NOTHING(Executable_Destroy)
    NOTHING(LoadedExecutable_Destroy)
    NOTHING(Buffer_Destroy)
    NOTHING(TopologyDescription_Destroy)
    NOTHING(ExecuteContext_Destroy)
    NOTHING(AsyncHostToDeviceTransferManager_Destroy)
    NOTHING(AsyncTrackingEvent_Destroy)
    NOTHING(Plugin_Initialize)
#undef NOTHING
    ARGS(Error_GetCode, .code = 7);
    OK(api->Error_GetCode(&a));
    assert_int_equal(a.code, HILO_OK);
}

/* ---- a client -------------------------------------------------------------------------------- */

static void test_client_options(void **state) {
    (void)state;
    struct { struct pjrt_named option; int status; } rows[] = {
        {named_int("num_devices", 3), HILO_OK},
        {named_int("num_devices", 0), HILO_INVALID_ARGUMENT},
        {named_int("num_devices", 100000), HILO_INVALID_ARGUMENT},
        {named_text("num_devices", "2"), HILO_OK},
        {named_text("num_devices", "two"), HILO_INVALID_ARGUMENT},
        {named_text("num_devices", ""), HILO_INVALID_ARGUMENT},
        {named_text("hilo_backend", "reference"), HILO_OK},
        {named_text("hilo_backend", "fastest"), HILO_INVALID_ARGUMENT},
        {named_int("hilo_backend", 1), HILO_INVALID_ARGUMENT},
        {named_text("optimized_program", "false"), HILO_OK},
        {named_text("optimized_program", "maybe"), HILO_INVALID_ARGUMENT},
        {named_int("hilo_level", 4), HILO_INVALID_ARGUMENT},
        {named_int("no such option", 4), HILO_INVALID_ARGUMENT},
        {{.struct_size = sizeof(struct pjrt_named), .name = "threads", .name_size = 7, .type = PJRT_FLOAT},
         HILO_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ARGS(Client_Create, .create_options = &rows[i].option, .noptions = 1);
        FAILS(rows[i].status, api->Client_Create(&a));
        if (rows[i].status == HILO_OK)
            client_destroy(a.client);
    }
    ARGS(Client_Create, .noptions = 1);
    FAILS(HILO_INVALID_ARGUMENT, api->Client_Create(&a));
}

static void test_devices(void **state) {
    (void)state;
    struct pjrt_named two = named_int("num_devices", 2);
    struct pjrt_client *c = client_with(&two, 1);
    struct pjrt_Client_Devices d = {.struct_size = sizeof d, .client = c};
    OK(api->Client_Devices(&d));
    assert_int_equal(d.ndevices, 2);
    struct pjrt_Client_AddressableMemories m = {.struct_size = sizeof m, .client = c};
    OK(api->Client_AddressableMemories(&m));
    assert_int_equal(m.nmemories, 2 * PJRT_NKINDS);
    for (int i = -1; i < 3; i++) {
        struct pjrt_Client_LookupDevice l = {.struct_size = sizeof l, .client = c, .id = i};
        FAILS(i == 0 || i == 1 ? HILO_OK : HILO_INVALID_ARGUMENT, api->Client_LookupDevice(&l));
        assert_ptr_equal(l.device, i == 0 || i == 1 ? d.devices[i] : NULL);
    }
    /* A result that the caller's struct has no room for is not written. */
    struct pjrt_Client_LookupDevice old = {.struct_size = offsetof(struct pjrt_Client_LookupDevice, device), .client = c};
    OK(api->Client_LookupDevice(&old));
    assert_null(old.device);
    struct { struct pjrt_Client_LookupDevice a; char more[16]; } newer = {{.client = c}, "untouched"};
    newer.a.struct_size = sizeof newer;
    OK(api->Client_LookupDevice(&newer.a));
    assert_ptr_equal(newer.a.device, d.devices[0]);
    assert_string_equal(newer.more, "untouched");

    struct pjrt_Device_GetDescription g = {.struct_size = sizeof g, .device = d.devices[1]};
    OK(api->Device_GetDescription(&g));
    struct pjrt_DeviceDescription_Id id = {.struct_size = sizeof id, .description = g.device_description};
    OK(api->DeviceDescription_Id(&id));
    assert_int_equal(id.id, 1);
    struct pjrt_DeviceDescription_ToString text = {.struct_size = sizeof text, .description = g.device_description};
    OK(api->DeviceDescription_ToString(&text));
    assert_string_equal(text.text, "HILO_1");
    struct pjrt_Device_DefaultMemory memory = {.struct_size = sizeof memory, .device = d.devices[1]};
    OK(api->Device_DefaultMemory(&memory));
    struct pjrt_Memory_Kind kind = {.struct_size = sizeof kind, .memory = memory.memory};
    OK(api->Memory_Kind(&kind));
    assert_string_equal(kind.text, "device");
    int freed = 0, key;
    const struct pjrt_memory_table *table = memory.memory->table;
    table->set_user_data(memory.memory, &key, &freed, NULL);
    assert_ptr_equal(table->get_user_data(memory.memory, &key), &freed);
    assert_null(table->get_user_data(memory.memory, &freed));

    int assignment[2] = {-1, -1};
    struct pjrt_Client_DefaultDeviceAssignment f = {.struct_size = sizeof f, .client = c, .num_replicas = 2,
                                                    .num_partitions = 1, .size = 2, .assignment = assignment};
    OK(api->Client_DefaultDeviceAssignment(&f));
    assert_int_equal(assignment[1], 1);
    f.size = 1;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_DefaultDeviceAssignment(&f));
    f.num_replicas = 3;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_DefaultDeviceAssignment(&f));
    struct pjrt_Device_MemoryStats stats = {.struct_size = offsetof(struct pjrt_Device_MemoryStats, num_allocs),
                                            .device = d.devices[0]};
    OK(api->Device_MemoryStats(&stats));
    struct pjrt_Device_MemoryStats full = {.struct_size = sizeof full, .device = d.devices[0], .pool_bytes_is_set = true};
    OK(api->Device_MemoryStats(&full));
    assert_true(full.num_allocs_is_set && !full.pool_bytes_is_set);
    assert_true(stats.bytes_in_use > 0 && stats.peak_bytes_in_use_is_set && !stats.num_allocs_is_set);
    client_destroy(c);
}

static void test_topology(void **state) {
    (void)state;
    struct pjrt_named three = named_int("num_devices", 3);
    struct pjrt_TopologyDescription_Create t = {.struct_size = sizeof t, .create_options = &three, .noptions = 1};
    OK(api->TopologyDescription_Create(&t));
    struct pjrt_TopologyDescription_Serialize s = {.struct_size = sizeof s, .topology = t.topology};
    OK(api->TopologyDescription_Serialize(&s));
    struct pjrt_TopologyDescription_Deserialize d = {.struct_size = sizeof d, .bytes = s.bytes, .nbytes = s.nbytes};
    OK(api->TopologyDescription_Deserialize(&d));
    struct pjrt_TopologyDescription_GetDeviceDescriptions g = {.struct_size = sizeof g, .topology = d.topology};
    OK(api->TopologyDescription_GetDeviceDescriptions(&g));
    assert_int_equal(g.ndescriptions, 3);
    struct pjrt_TopologyDescription_Fingerprint one = {.struct_size = sizeof one, .topology = t.topology}, two = one;
    two.topology = d.topology;
    OK(api->TopologyDescription_Fingerprint(&one));
    OK(api->TopologyDescription_Fingerprint(&two));
    assert_true(one.fingerprint == two.fingerprint);
    for (size_t n = 0; n < s.nbytes; n++) { /* every shorter text is refused */
        struct pjrt_TopologyDescription_Deserialize bad = {.struct_size = sizeof bad, .bytes = s.bytes, .nbytes = n};
        FAILS(HILO_INVALID_ARGUMENT, api->TopologyDescription_Deserialize(&bad));
    }
    s.deleter(s.owner);
    struct pjrt_TopologyDescription_Destroy x = {.struct_size = sizeof x, .topology = t.topology};
    OK(api->TopologyDescription_Destroy(&x));
    x.topology = d.topology;
    OK(api->TopologyDescription_Destroy(&x));
}

/* ---- events ---------------------------------------------------------------------------------- */

struct heard {
    atomic_int calls, code;
};

static void hear(struct pjrt_error *error, void *user) {
    struct heard *h = user;
    atomic_store(&h->code, code_of(error));
    atomic_fetch_add(&h->calls, 1);
}

static void test_events(void **state) {
    (void)state;
    for (int failing = 0; failing < 2; failing++) {
        struct heard h = {0};
        struct pjrt_Event_Create c = {.struct_size = sizeof c};
        OK(api->Event_Create(&c));
        struct pjrt_Event_IsReady r = {.struct_size = sizeof r, .event = c.event};
        OK(api->Event_IsReady(&r));
        assert_false(r.is_ready);
        struct pjrt_Event_Error e = {.struct_size = sizeof e, .event = c.event};
        FAILS(HILO_FAILED_PRECONDITION, api->Event_Error(&e));
        struct pjrt_Event_OnReady on = {.struct_size = sizeof on, .event = c.event, .callback = hear, .user = &h};
        OK(api->Event_OnReady(&on));
        on.callback = NULL;
        FAILS(HILO_INVALID_ARGUMENT, api->Event_OnReady(&on));
        assert_int_equal(h.calls, 0);
        struct pjrt_Event_Set s = {.struct_size = sizeof s, .event = c.event, .code = failing ? HILO_ABORTED : 0,
                                   .message = "why", .message_size = 3};
        OK(api->Event_Set(&s));
        FAILS(HILO_FAILED_PRECONDITION, api->Event_Set(&s));
        on.callback = hear;
        OK(api->Event_OnReady(&on));
        assert_int_equal(h.calls, 2);
        assert_int_equal(h.code, failing ? HILO_ABORTED : HILO_OK);
        FAILS(failing ? HILO_ABORTED : HILO_OK, api->Event_Error(&e));
        assert_int_equal(await(c.event), failing ? HILO_ABORTED : HILO_OK);
    }
    struct heard h = {0}; /* an event that is never set is cancelled when it is destroyed */
    struct pjrt_Event_Create c = {.struct_size = sizeof c};
    OK(api->Event_Create(&c));
    struct pjrt_Event_OnReady on = {.struct_size = sizeof on, .event = c.event, .callback = hear, .user = &h};
    OK(api->Event_OnReady(&on));
    event_destroy(c.event);
    assert_int_equal(h.code, HILO_CANCELLED);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static bool is_deleted(struct pjrt_buffer *b) {
    ARGS(Buffer_IsDeleted, .buffer = b);
    OK(api->Buffer_IsDeleted(&a));
    return a.is_deleted;
}

static const float six[] = {1, 2, 3, 4, 5, 6};

static void test_host_buffers(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    const int64_t dims[] = {2, 3}, columns[] = {4, 8}, backwards[] = {-12, -4};
    float out[6] = {0};
    struct pjrt_Client_BufferFromHostBuffer up = {.struct_size = sizeof up, .client = c, .data = six, .dtype = HILO_F32,
                                                  .dims = dims, .rank = 2, .byte_strides = columns, .nbyte_strides = 2};
    OK(api->Client_BufferFromHostBuffer(&up));
    assert_int_equal(await(up.done), HILO_OK);
    assert_int_equal(download(up.buffer, out, sizeof out), HILO_OK);
    assert_memory_equal(out, ((float[]){1, 3, 5, 2, 4, 6}), sizeof out);
    /* Back to columns, by an order of dimensions and by strides. */
    const int64_t order[] = {0, 1};
    struct pjrt_layout l = {.struct_size = sizeof l, .type = PJRT_TILED};
    l.tiled.minor_to_major = order;
    l.tiled.minor_to_major_size = 2;
    struct pjrt_Buffer_ToHostBuffer down = {.struct_size = sizeof down, .buffer = up.buffer, .layout = &l, .dst = out,
                                            .dst_size = sizeof out};
    OK(api->Buffer_ToHostBuffer(&down));
    assert_int_equal(await(down.done), HILO_OK);
    assert_memory_equal(out, six, sizeof out);
    l.tiled.minor_to_major_size = 1;
    FAILS(HILO_INVALID_ARGUMENT, api->Buffer_ToHostBuffer(&down));
    l.tiled.minor_to_major_size = 0; /* no order: row-major */
    OK(api->Buffer_ToHostBuffer(&down));
    assert_int_equal(await(down.done), HILO_OK);
    assert_memory_equal(out, ((float[]){1, 3, 5, 2, 4, 6}), sizeof out);
    down.layout = NULL;
    down.dst = NULL;
    OK(api->Buffer_ToHostBuffer(&down)); /* queries the size */
    assert_int_equal(down.dst_size, sizeof out);
    assert_int_equal(download(up.buffer, out, sizeof out - 1), HILO_INVALID_ARGUMENT);
    buffer_destroy(up.buffer);
    up.data = six + 5;
    up.byte_strides = backwards;
    OK(api->Client_BufferFromHostBuffer(&up));
    assert_int_equal(await(up.done), HILO_OK);
    assert_int_equal(download(up.buffer, out, sizeof out), HILO_OK);
    assert_memory_equal(out, ((float[]){6, 5, 4, 3, 2, 1}), sizeof out);
    struct pjrt_Buffer_Delete del = {.struct_size = sizeof del, .buffer = up.buffer};
    OK(api->Buffer_Delete(&del));
    assert_true(is_deleted(up.buffer));
    assert_int_equal(download(up.buffer, out, sizeof out), HILO_INVALID_ARGUMENT);
    buffer_destroy(up.buffer);

    up.nbyte_strides = 1;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_BufferFromHostBuffer(&up));
    up.nbyte_strides = 0;
    up.data = NULL;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_BufferFromHostBuffer(&up));
    up.semantics = 9;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_BufferFromHostBuffer(&up));
    up.semantics = 0;
    up.dtype = 30;
    FAILS(HILO_UNIMPLEMENTED, api->Client_BufferFromHostBuffer(&up));
    up.dtype = HILO_F32;
    up.dims = (int64_t[]){-1, 3};
    FAILS(HILO_INVALID_ARGUMENT, api->Client_BufferFromHostBuffer(&up));
    up.dims = (int64_t[]){INT64_MAX, INT64_MAX};
    FAILS(HILO_INVALID_ARGUMENT, api->Client_BufferFromHostBuffer(&up));
    client_destroy(c);
}

/* Memory that the buffer uses is free when the event is ready: after the buffer has ended. */
static void test_zero_copy(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    const int64_t n = 4096;
    float *data = aligned_alloc(64, (size_t)n * sizeof *data), out[2];
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)i;
    struct pjrt_Client_BufferFromHostBuffer up = {.struct_size = sizeof up, .client = c, .data = data, .dtype = HILO_F32,
                                                  .dims = &n, .rank = 1, .semantics = PJRT_ZERO_COPY};
    OK(api->Client_BufferFromHostBuffer(&up));
    struct pjrt_Event_IsReady r = {.struct_size = sizeof r, .event = up.done};
    OK(api->Event_IsReady(&r));
    assert_false(r.is_ready);
    struct pjrt_Buffer_UnsafePointer p = {.struct_size = sizeof p, .buffer = up.buffer};
    OK(api->Buffer_UnsafePointer(&p));
    assert_true(p.pointer == (uintptr_t)data);
    struct pjrt_Buffer_IncreaseExternalReferenceCount more = {.struct_size = sizeof more, .buffer = up.buffer};
    struct pjrt_Buffer_DecreaseExternalReferenceCount less = {.struct_size = sizeof less, .buffer = up.buffer};
    FAILS(HILO_INVALID_ARGUMENT, api->Buffer_DecreaseExternalReferenceCount(&less));
    OK(api->Buffer_IncreaseExternalReferenceCount(&more));
    struct pjrt_Buffer_CopyRawToHost raw = {.struct_size = sizeof raw, .buffer = up.buffer, .dst = out, .offset = 8,
                                            .size = 8};
    OK(api->Buffer_CopyRawToHost(&raw));
    assert_int_equal(await(raw.event), HILO_OK);
    assert_true(out[0] == 2 && out[1] == 3);
    raw.offset = n * 4 - 4;
    FAILS(HILO_INVALID_ARGUMENT, api->Buffer_CopyRawToHost(&raw));
    buffer_destroy(up.buffer);
    OK(api->Event_IsReady(&r));
    assert_false(r.is_ready); /* somebody outside still looks at it */
    OK(api->Buffer_DecreaseExternalReferenceCount(&less));
    OK(api->Event_IsReady(&r));
    assert_true(r.is_ready);
    assert_int_equal(await(up.done), HILO_OK);
    free(data);
    client_destroy(c);
}

static void count_delete(void *pointer, void *user) {
    (void)pointer;
    ++*(int *)user;
}

static void test_views(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    _Alignas(64) float data[6];
    memcpy(data, six, sizeof data);
    int deleted = 0;
    const int64_t dims[] = {6}, twelve[] = {12};
    struct pjrt_Client_CreateViewOfDeviceBuffer v = {.struct_size = sizeof v, .client = c, .pointer = data, .dims = dims,
                                                     .rank = 1, .dtype = HILO_F32, .on_delete = count_delete,
                                                     .on_delete_user = &deleted};
    OK(api->Client_CreateViewOfDeviceBuffer(&v));
    struct pjrt_Buffer_Bitcast cast = {.struct_size = sizeof cast, .buffer = v.buffer, .dtype = HILO_U16, .dims = twelve,
                                       .rank = 1};
    OK(api->Buffer_Bitcast(&cast));
    buffer_destroy(v.buffer);
    assert_int_equal(deleted, 0);
    uint16_t out[12];
    assert_int_equal(download(cast.result, out, sizeof out), HILO_OK);
    assert_memory_equal(out, six, sizeof out);
    cast.buffer = cast.result;
    cast.dims = dims;
    FAILS(HILO_INVALID_ARGUMENT, api->Buffer_Bitcast(&cast));
    buffer_destroy(cast.buffer);
    assert_int_equal(deleted, 1);
    v.pointer = NULL;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_CreateViewOfDeviceBuffer(&v));
    assert_int_equal(deleted, 1);
    client_destroy(c);
}

static void test_copies(void **state) {
    (void)state;
    struct pjrt_named two = named_int("num_devices", 2);
    struct pjrt_client *c = client_with(&two, 1);
    struct pjrt_buffer *x = floats(c, 6, six);
    struct pjrt_Client_LookupDevice d = {.struct_size = sizeof d, .client = c, .id = 1};
    OK(api->Client_LookupDevice(&d));
    struct pjrt_Buffer_CopyToDevice copy = {.struct_size = sizeof copy, .buffer = x, .device = d.device};
    OK(api->Buffer_CopyToDevice(&copy));
    struct pjrt_Buffer_Device where = {.struct_size = sizeof where, .buffer = copy.copy};
    OK(api->Buffer_Device(&where));
    assert_ptr_equal(where.device, d.device);
    buffer_destroy(x);
    float out[6];
    assert_int_equal(download(copy.copy, out, sizeof out), HILO_OK);
    assert_memory_equal(out, six, sizeof out);
    copy.buffer = copy.copy;
    FAILS(HILO_INVALID_ARGUMENT, api->Buffer_CopyToDevice(&copy));
    copy.device = NULL;
    FAILS(HILO_INVALID_ARGUMENT, api->Buffer_CopyToDevice(&copy));
    buffer_destroy(copy.buffer);
    client_destroy(c);
}

/* ---- buffers that are filled later ----------------------------------------------------------- */

static void test_pieces(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    const int64_t dims[] = {6};
    struct pjrt_shape_spec specs[2] = {
        {.struct_size = sizeof *specs, .dims = dims, .rank = 1, .dtype = HILO_F32},
        {.struct_size = sizeof *specs, .dims = dims, .rank = 1, .dtype = HILO_F32},
    };
    struct pjrt_Client_CreateBuffersForAsyncHostToDevice m = {.struct_size = sizeof m, .client = c, .shape_specs = specs,
                                                              .nshape_specs = 2};
    OK(api->Client_CreateBuffersForAsyncHostToDevice(&m));
    struct pjrt_AsyncHostToDeviceTransferManager_RetrieveBuffer get = {.struct_size = sizeof get, .manager = m.manager};
    OK(api->AsyncHostToDeviceTransferManager_RetrieveBuffer(&get));
    struct pjrt_buffer *first = get.buffer;
    get.buffer_index = 1;
    OK(api->AsyncHostToDeviceTransferManager_RetrieveBuffer(&get));
    get.buffer_index = 2;
    FAILS(HILO_INVALID_ARGUMENT, api->AsyncHostToDeviceTransferManager_RetrieveBuffer(&get));
    struct pjrt_Buffer_ToHostBuffer down = {.struct_size = sizeof down, .buffer = first, .dst_size = 24};
    float out[6];
    down.dst = out;
    OK(api->Buffer_ToHostBuffer(&down)); /* waits for what comes */
    struct pjrt_AsyncHostToDeviceTransferManager_TransferData t = {.struct_size = sizeof t, .manager = m.manager,
                                                                   .data = six + 3, .offset = 12, .size = 12};
    OK(api->AsyncHostToDeviceTransferManager_TransferData(&t));
    assert_int_equal(await(t.done), HILO_OK);
    t.offset = 16;
    FAILS(HILO_INVALID_ARGUMENT, api->AsyncHostToDeviceTransferManager_TransferData(&t));
    t.offset = 0;
    t.data = six;
    t.is_last_transfer = true;
    OK(api->AsyncHostToDeviceTransferManager_TransferData(&t));
    assert_int_equal(await(t.done), HILO_OK);
    FAILS(HILO_FAILED_PRECONDITION, api->AsyncHostToDeviceTransferManager_TransferData(&t));
    assert_int_equal(await(down.done), HILO_OK);
    assert_memory_equal(out, six, sizeof out);
    struct pjrt_AsyncHostToDeviceTransferManager_Destroy x = {.struct_size = sizeof x, .manager = m.manager};
    OK(api->AsyncHostToDeviceTransferManager_Destroy(&x));
    assert_int_equal(download(get.buffer, out, sizeof out), HILO_CANCELLED); /* it was never sent */
    buffer_destroy(first);
    buffer_destroy(get.buffer);
    client_destroy(c);
}

static void test_promises(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    const int64_t dims[] = {6};
    float out[6];
    struct pjrt_Client_CreateAliasBuffer p = {.struct_size = sizeof p, .client = c, .dims = dims, .rank = 1,
                                              .dtype = HILO_F32};
    OK(api->Client_CreateAliasBuffer(&p));
    struct pjrt_buffer *x = floats(c, 6, six), *short_one = floats(c, 5, six);
    struct pjrt_Client_FulfillAliasBuffer f = {.struct_size = sizeof f, .client = c, .buffer = short_one, .alias = p.alias};
    FAILS(HILO_INVALID_ARGUMENT, api->Client_FulfillAliasBuffer(&f));
    f.buffer = x;
    OK(api->Client_FulfillAliasBuffer(&f));
    assert_int_equal(download(p.buffer, out, sizeof out), HILO_OK);
    assert_memory_equal(out, six, sizeof out);
    buffer_destroy(p.buffer);
    OK(api->Client_CreateAliasBuffer(&p));
    f = (struct pjrt_Client_FulfillAliasBuffer){.struct_size = sizeof f, .client = c, .code = HILO_DATA_LOSS,
                                                .message = "gone", .message_size = 4, .alias = p.alias};
    OK(api->Client_FulfillAliasBuffer(&f));
    assert_int_equal(download(p.buffer, out, sizeof out), HILO_DATA_LOSS);
    buffer_destroy(p.buffer);

    struct pjrt_Buffer_DonateWithControlDependency d = {.struct_size = sizeof d, .buffer = x};
    OK(api->Buffer_DonateWithControlDependency(&d));
    assert_true(is_deleted(x));
    struct pjrt_Buffer_IsOnCpu cpu = {.struct_size = sizeof cpu, .buffer = d.result};
    OK(api->Buffer_IsOnCpu(&cpu));
    assert_false(cpu.is_on_cpu);
    d.callback(&(struct pjrt_dependency_done){.struct_size = sizeof(struct pjrt_dependency_done),
                                              .callback_data = d.callback_data});
    OK(api->Buffer_IsOnCpu(&cpu));
    assert_false(cpu.is_on_cpu); /* the answer stays */
    assert_int_equal(download(d.result, out, sizeof out), HILO_OK);
    buffer_destroy(d.result);
    buffer_destroy(x);
    buffer_destroy(short_one);

    struct pjrt_Client_CreateErrorBuffer e = {.struct_size = sizeof e, .client = c, .code = HILO_UNAVAILABLE,
                                              .message = "no", .message_size = 2, .dims = dims, .rank = 1,
                                              .dtype = HILO_F32};
    OK(api->Client_CreateErrorBuffer(&e));
    assert_int_equal(download(e.buffer, out, sizeof out), HILO_UNAVAILABLE);
    buffer_destroy(e.buffer);
    e.code = 0;
    FAILS(HILO_INVALID_ARGUMENT, api->Client_CreateErrorBuffer(&e));
    client_destroy(c);
}

/* ---- programs -------------------------------------------------------------------------------- */

static const char doubles[] = MAIN("%a: tensor<6xf32>", "tensor<6xf32>",
                                   "  %0 = stablehlo.add %a, %a : tensor<6xf32>\n  return %0 : tensor<6xf32>\n");
static const char donates[] = MAIN("%a: tensor<6xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<6xf32>", "tensor<6xf32>",
                                   "  %0 = stablehlo.multiply %a, %b : tensor<6xf32>\n  return %0 : tensor<6xf32>\n");
static const char wrong[] = MAIN("%a: tensor<6xf32>", "tensor<9xf32>",
                                 "  %0 = stablehlo.slice %a [0:9] : (tensor<6xf32>) -> tensor<9xf32>\n"
                                 "  return %0 : tensor<9xf32>\n");

static void test_run(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(c, doubles);
    struct pjrt_buffer *x = floats(c, 6, six), *y = NULL, *none = NULL, *small = floats(c, 5, six);
    for (int i = 0; i < 3; i++) { /* the first time on the device's thread, then at once */
        float out[6];
        assert_int_equal(run(l, &x, 1, &y), HILO_OK);
        assert_int_equal(download(y, out, sizeof out), HILO_OK);
        assert_memory_equal(out, ((float[]){2, 4, 6, 8, 10, 12}), sizeof out);
        buffer_destroy(y);
    }
    assert_int_equal(run(l, &x, 0, &y), HILO_INVALID_ARGUMENT);
    assert_int_equal(run(l, &none, 1, &y), HILO_INVALID_ARGUMENT);
    assert_int_equal(run(l, &small, 1, &y), HILO_INVALID_ARGUMENT);
    struct pjrt_LoadedExecutable_GetExecutable g = {.struct_size = sizeof g, .loaded = l};
    OK(api->LoadedExecutable_GetExecutable(&g));
    struct pjrt_Executable_Name name = {.struct_size = sizeof name, .executable = g.executable};
    OK(api->Executable_Name(&name));
    assert_string_equal(name.text, "jit_f");
    struct pjrt_Executable_OutputDimensions dims = {.struct_size = sizeof dims, .executable = g.executable};
    OK(api->Executable_OutputDimensions(&dims));
    assert_true(dims.n == 1 && dims.ranks[0] == 1 && dims.dims[0] == 6);
    struct pjrt_Executable_GetCompiledMemoryStats stats = {.struct_size = sizeof stats, .executable = g.executable,
                                                           .host_temp_size_in_bytes = 9}; /* what was there is not kept */
    OK(api->Executable_GetCompiledMemoryStats(&stats));
    assert_int_equal(stats.argument_size_in_bytes, 24);
    assert_int_equal(stats.output_size_in_bytes, 24);
    assert_int_equal(stats.host_temp_size_in_bytes, 0);
    struct pjrt_Executable_GetCostAnalysis cost = {.struct_size = sizeof cost, .executable = g.executable};
    OK(api->Executable_GetCostAnalysis(&cost));
    assert_int_equal(cost.n, 3);
    assert_true(cost.properties[0].float_value == 6 && cost.properties[1].float_value == 72); /* two operands, one result */
    struct pjrt_program program = {.struct_size = sizeof program};
    struct pjrt_Executable_OptimizedProgram o = {.struct_size = sizeof o, .executable = g.executable, .program = &program};
    OK(api->Executable_OptimizedProgram(&o));
    char code[4096];
    assert_in_range(program.code_size, 1, sizeof code - 1);
    program.code = code;
    program.code_size = 3;
    FAILS(HILO_INVALID_ARGUMENT, api->Executable_OptimizedProgram(&o));
    program.code_size = sizeof code;
    OK(api->Executable_OptimizedProgram(&o));
    code[program.code_size] = 0;
    assert_non_null(strstr(code, "stablehlo.add %arg0, %arg0 : tensor<6xf32>"));
    struct pjrt_LoadedExecutable_Delete del = {.struct_size = sizeof del, .loaded = l};
    OK(api->LoadedExecutable_Delete(&del));
    assert_int_equal(run(l, &x, 1, &y), HILO_INVALID_ARGUMENT);
    struct pjrt_Executable_Destroy d = {.struct_size = sizeof d, .executable = g.executable};
    OK(api->Executable_Destroy(&d));
    loaded_destroy(l);
    buffer_destroy(x);
    buffer_destroy(small);
    client_destroy(c);
}

static void test_donation(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(c, donates);
    for (int i = 0; i < 3; i++) {
        struct pjrt_buffer *in[2] = {floats(c, 6, six), floats(c, 6, six)}, *y;
        struct pjrt_buffer *same[2] = {in[0], in[0]};
        float out[6];
        assert_int_equal(run(l, same, 2, &y), HILO_INVALID_ARGUMENT);
        assert_false(is_deleted(in[0]));
        assert_int_equal(run(l, in, 2, &y), HILO_OK);
        assert_true(is_deleted(in[0]) && !is_deleted(in[1]));
        assert_int_equal(download(y, out, sizeof out), HILO_OK);
        assert_memory_equal(out, ((float[]){1, 4, 9, 16, 25, 36}), sizeof out);
        struct pjrt_buffer *z;
        assert_int_equal(run(l, in, 2, &z), HILO_INVALID_ARGUMENT); /* it is gone */
        buffer_destroy(y), buffer_destroy(in[0]), buffer_destroy(in[1]);
    }
    struct pjrt_buffer *in[2] = {floats(c, 6, six), floats(c, 6, six)}, *y, **outs = &y, *const *ins = in;
    int64_t keep = 0;
    struct pjrt_event *done = NULL;
    struct pjrt_execute_options o = {.struct_size = sizeof o, .non_donatable_input_indices = &keep,
                                     .num_non_donatable_input_indices = 1};
    ARGS(LoadedExecutable_Execute, .loaded = l, .options = &o, .argument_lists = &ins, .ndevices = 1, .nargs = 2,
         .output_lists = &outs, .device_complete_events = &done);
    OK(api->LoadedExecutable_Execute(&a));
    assert_int_equal(await(done), HILO_OK);
    assert_false(is_deleted(in[0]));
    float out[6];
    assert_int_equal(download(in[0], out, sizeof out), HILO_OK);
    assert_memory_equal(out, six, sizeof out);
    buffer_destroy(y), buffer_destroy(in[0]), buffer_destroy(in[1]);
    loaded_destroy(l);
    client_destroy(c);
}

static void find_label(const char *key, size_t key_size, const char *value, size_t value_size, void *user) {
    (void)value;
    if (key_size == strlen("hilo.constraint") && memcmp(key, "hilo.constraint", key_size) == 0 && value_size)
        ++*(int *)user;
}

static void test_errors(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l;
    int labels = 0;
    struct pjrt_error *error = try_compile(c, wrong, "mlir", (struct str){NULL, 0}, &l);
    assert_non_null(error);
    assert_int_equal(error->code, HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(error->text, "slice"));
    struct pjrt_Error_ForEachPayload f = {.struct_size = sizeof f, .error = error, .visitor = find_label, .user = &labels};
    OK(api->Error_ForEachPayload(&f));
    assert_int_equal(labels, 1);
    assert_int_equal(code_of(error), HILO_INVALID_ARGUMENT);
    FAILS(HILO_UNIMPLEMENTED, try_compile(c, doubles, "hlo", (struct str){NULL, 0}, &l));
    FAILS(HILO_INVALID_ARGUMENT, try_compile(c, "", "mlir", (struct str){NULL, 0}, &l));
    FAILS(HILO_INVALID_ARGUMENT, try_compile(c, doubles, "mlir", STR("\xff\xff"), &l));
    struct pjrt_buffer *y;
    const int64_t dims[] = {6};
    struct pjrt_Client_CreateErrorBuffer e = {.struct_size = sizeof e, .client = c, .code = HILO_UNAVAILABLE,
                                              .message = "no", .message_size = 2, .dims = dims, .rank = 1,
                                              .dtype = HILO_F32};
    OK(api->Client_CreateErrorBuffer(&e));
    l = compile(c, doubles);
    assert_int_equal(run(l, &e.buffer, 1, &y), HILO_UNAVAILABLE); /* an error propagates */
    buffer_destroy(e.buffer);
    loaded_destroy(l);
    client_destroy(c);
}

/* ---- options of a compilation ---------------------------------------------------------------- */

static struct strbuf option_bytes(const char *name, const char *text) {
    struct strbuf value, entry, all;
    strbuf_init(&value, mem_system_allocator());
    strbuf_init(&entry, mem_system_allocator());
    strbuf_init(&all, mem_system_allocator());
    pjrt_proto_bytes(&value, 1, str_of(text));
    pjrt_proto_bytes(&entry, 1, str_of(name));
    pjrt_proto_bytes(&entry, 2, (struct str){value.p, value.n});
    pjrt_proto_bytes(&all, 7, (struct str){entry.p, entry.n});
    strbuf_free(&value);
    strbuf_free(&entry);
    return all;
}

static void test_compile_options(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    static const struct { const char *name, *value; int status; } rows[] = {
        {"hilo_level", "0", HILO_OK},          {"hilo_level", "7", HILO_INVALID_ARGUMENT},
        {"hilo_backend", "reference", HILO_OK}, {"xla_whatever", "x", HILO_OK},
        {"no_such_option", "1", HILO_INVALID_ARGUMENT}, {"num_devices", "2", HILO_INVALID_ARGUMENT},
        {"hilo_memory_limit", "4096", HILO_OK}, {"hilo_memory_limit", "-1", HILO_INVALID_ARGUMENT},
        {"hilo_memory_limit", "1", HILO_RESOURCE_EXHAUSTED},
        {"hilo_unchanged", "", HILO_OK},        {"hilo_unchanged", "0", HILO_OK},
        {"hilo_unchanged", "0-1", HILO_INVALID_ARGUMENT}, {"hilo_unchanged", "1-0", HILO_INVALID_ARGUMENT},
        {"hilo_unchanged", "0,", HILO_INVALID_ARGUMENT},  {"hilo_unchanged", "0 0", HILO_INVALID_ARGUMENT},
        {"hilo_unchanged", "-", HILO_INVALID_ARGUMENT},   {"hilo_unchanged", "4294967295", HILO_INVALID_ARGUMENT},
        {"xla_embed_ir_in_executable", "true", HILO_OK},
        {"xla_embed_ir_in_executable", "invalid_value", HILO_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf b = option_bytes(rows[i].name, rows[i].value);
        struct pjrt_loaded *l;
        FAILS(rows[i].status, try_compile(c, doubles, "mlir", (struct str){b.p, b.n}, &l));
        if (rows[i].status == HILO_OK)
            loaded_destroy(l);
        for (size_t n = 1; n < b.n; n++) /* no part of a message is one */
            FAILS(HILO_INVALID_ARGUMENT, try_compile(c, doubles, "mlir", (struct str){b.p, n}, &l));
        strbuf_free(&b);
    }
    client_destroy(c);
}

/* Of a parameter that is the same buffer in most runs, an operand is packed once; else in each run. */
static void test_unchanged(void **state) {
    (void)state;
    enum { ROWS = 40, DEPTH = 64, COLUMNS = 96, RUNS = 3 };
    static const char product[] = MAIN("%x: tensor<40x64xf32>, %w: tensor<64x96xf32>", "tensor<40x96xf32>",
                                       "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] :\n"
                                       "      (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>\n"
                                       "  return %0 : tensor<40x96xf32>\n");
    static float values[DEPTH * COLUMNS], result[2][ROWS * COLUMNS];
    const int64_t x_dims[] = {ROWS, DEPTH}, w_dims[] = {DEPTH, COLUMNS};
    uint64_t packs[2];
    for (int i = 0; i < DEPTH * COLUMNS; i++)
        values[i] = (float)(i % 37) / 16 - 1;
    struct pjrt_client *c = client_with(NULL, 0);
    for (int marked = 0; marked < 2; marked++) {
        struct strbuf b = option_bytes("hilo_unchanged", marked ? "1" : "");
        struct pjrt_loaded *l;
        OK(try_compile(c, product, "mlir", (struct str){b.p, b.n}, &l));
        struct pjrt_buffer *in[] = {upload(c, HILO_F32, x_dims, 2, values), upload(c, HILO_F32, w_dims, 2, values)}, *y;
        for (int i = 0; i < RUNS; i++) {
            assert_int_equal(run(l, in, 2, &y), HILO_OK);
            assert_int_equal(download(y, result[marked], sizeof result[marked]), HILO_OK);
            buffer_destroy(y);
        }
        hilo_stats s = {.struct_size = sizeof s};
        hilo_executable_stats(l->executable->hilo, &s);
        packs[marked] = s.packs;
        assert_int_equal(s.init_steps, marked);
        buffer_destroy(in[0]);
        buffer_destroy(in[1]);
        loaded_destroy(l);
        strbuf_free(&b);
    }
    assert_int_equal(packs[1], 1);
    assert_true(packs[0] == 0 || packs[0] == RUNS);
    assert_memory_equal(result[0], result[1], sizeof result[0]);
    client_destroy(c);
}

static void test_assignment(void **state) {
    (void)state;
    int ids[6] = {5, 4, 3, 2, 1, 0}, back[6];
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    pjrt_assignment_write(&b, 3, 2, ids);
    struct str bytes = {b.p, b.n};
    OK(pjrt_assignment_read(bytes, 3, 2, back));
    assert_memory_equal(ids, back, sizeof ids);
    FAILS(HILO_INVALID_ARGUMENT, pjrt_assignment_read(bytes, 2, 3, back));
    FAILS(HILO_INVALID_ARGUMENT, pjrt_assignment_read((struct str){bytes.p, bytes.n - 1}, 3, 2, back));
    static const char packed[] = "\x08\x02\x10\x01\x1a\x04\x0a\x02\x07\x09"; /* as frameworks write it */
    OK(pjrt_assignment_read(STR(packed), 2, 1, back));
    assert_true(back[0] == 7 && back[1] == 9);
    strbuf_free(&b);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Loads in a client of its own what was saved, runs it, and returns how many programs that client read and compiled. */
static unsigned load_and_run(const char *bytes, size_t nbytes, struct str options) {
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_Executable_DeserializeAndLoad d = {.struct_size = sizeof d, .client = c, .bytes = bytes, .nbytes = nbytes,
                                                   .options = options.p, .options_size = options.n};
    OK(api->Executable_DeserializeAndLoad(&d));
    struct pjrt_buffer *x = floats(c, 6, six), *y;
    assert_int_equal(run(d.loaded, &x, 1, &y), HILO_OK);
    unsigned made = c->hilo->read + c->hilo->compiled;
    buffer_destroy(x), buffer_destroy(y);
    loaded_destroy(d.loaded);
    client_destroy(c);
    return made;
}

/* Changes the .hilo file in a saved executable, and the hash of all, which precedes the message. */
static void damage_compiled(char *bytes, size_t nbytes) {
    char *message = (char *)memchr(bytes, '\n', nbytes) + 1 + sizeof(uint64_t), *end = bytes + nbytes, *file = message;
    while (file + 8 <= end && memcmp(file, RT_FILE_MAGIC, 8) != 0)
        file++;
    assert_true(file + 8 <= end);
    file[8] ^= 1;
    uint64_t hash = str_hash(message, (size_t)(end - message), 0);
    memcpy(message - sizeof hash, &hash, sizeof hash);
}

static void test_saving(void **state) {
    (void)state;
    setenv("HILO_TIER", "optimised", 1); /* what is kept is optimised code, which follows later otherwise */
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(c, doubles);
    struct pjrt_LoadedExecutable_GetExecutable g = {.struct_size = sizeof g, .loaded = l};
    OK(api->LoadedExecutable_GetExecutable(&g));
    struct pjrt_Executable_Serialize s = {.struct_size = sizeof s, .executable = g.executable};
    OK(api->Executable_Serialize(&s));
    struct pjrt_Executable_DeserializeAndLoad d = {.struct_size = sizeof d, .client = c, .bytes = s.bytes,
                                                   .nbytes = s.nbytes};
    OK(api->Executable_DeserializeAndLoad(&d));
    struct pjrt_LoadedExecutable_Fingerprint one = {.struct_size = sizeof one, .loaded = l}, two = one;
    two.loaded = d.loaded;
    OK(api->LoadedExecutable_Fingerprint(&one));
    OK(api->LoadedExecutable_Fingerprint(&two));
    assert_string_equal(one.text, two.text);
    struct pjrt_Executable_Name name = {.struct_size = sizeof name, .executable = d.loaded->executable};
    OK(api->Executable_Name(&name));
    assert_string_equal(name.text, "jit_f");
    loaded_destroy(d.loaded);
    char *copy = malloc(s.nbytes);
    memcpy(copy, s.bytes, s.nbytes);
    d.bytes = copy;
    for (size_t n = 0; n < s.nbytes; n += 7) { /* what ends early or is damaged is refused */
        d.nbytes = n;
        FAILS(HILO_INVALID_ARGUMENT, api->Executable_DeserializeAndLoad(&d));
        d.nbytes = s.nbytes;
        copy[n] ^= 1;
        FAILS(HILO_INVALID_ARGUMENT, api->Executable_DeserializeAndLoad(&d));
        copy[n] ^= 1;
    }
    struct pjrt_LoadedExecutable_GetDeviceAssignment w = {.struct_size = sizeof w, .loaded = l};
    OK(api->LoadedExecutable_GetDeviceAssignment(&w));
    int id = -1;
    OK(pjrt_assignment_read((struct str){w.bytes, w.nbytes}, 1, 1, &id));
    assert_int_equal(id, 0);
    w.deleter(w.owner);

    /* What was compiled is loaded; where it is of no use, or for other options, the program is compiled again. */
    static const char level0[] = "\x3a\x10\x0a\x0ahilo_level\x12\x02\x18\x00"; /* env_option_overrides */
    damage_compiled(copy, s.nbytes);
    assert_int_equal(load_and_run(s.bytes, s.nbytes, (struct str){NULL, 0}), 0);
    assert_int_equal(load_and_run(copy, s.nbytes, (struct str){NULL, 0}), 2);
    assert_int_equal(load_and_run(s.bytes, s.nbytes, (struct str){level0, sizeof level0 - 1}), 2);
    free(copy);
    s.deleter(s.owner);
    struct pjrt_Executable_Destroy x2 = {.struct_size = sizeof x2, .executable = g.executable};
    OK(api->Executable_Destroy(&x2));
    loaded_destroy(l);
    client_destroy(c);
    unsetenv("HILO_TIER");
}

/* A second client, as a second process would, finds the program by its bytes and reads nothing. */
static void test_cache(void **state) {
    (void)state;
    if (TORTURE)
        SKIP_BECAUSE("nothing is found in the compile cache of the torture build");
    setenv("HILO_TIER", "optimised", 1); /* what is kept is optimised code, which follows later otherwise */
    char dir[] = "/tmp/hilo-pjrt-XXXXXX", command[64];
    assert_non_null(mkdtemp(dir));
    setenv("HILO_CACHE_DIR", dir, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct pjrt_client *c = client_with(NULL, 0);
        loaded_destroy(compile(c, doubles));
        assert_int_equal(c->hilo->read, !i);
        assert_int_equal(c->hilo->compiled, !i);
        client_destroy(c);
    }
    setenv("HILO_CACHE_DIR", "", 1);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    unsetenv("HILO_TIER");
}

/* ---- threads --------------------------------------------------------------------------------- */

struct work {
    struct pjrt_client *client;
    struct pjrt_loaded *loaded;
    struct pjrt_buffer *shared;
    int failures;
};

/* Compiles, uploads, runs and fails, concurrently with others that do the same; every failure is its own. */
static void *work(void *user) {
    struct work *w = user;
    for (int i = 0; i < 20; i++) {
        struct pjrt_loaded *l;
        struct pjrt_error *error = try_compile(w->client, wrong, "mlir", (struct str){NULL, 0}, &l);
        w->failures += !error || !strstr(error->text, "slice") || strstr(error->text, "\n") != strrchr(error->text, '\n');
        code_of(error);
        struct pjrt_buffer *x = floats(w->client, 6, six), *y = NULL, *z = NULL;
        float out[6] = {0};
        w->failures += run(w->loaded, &x, 1, &y) != HILO_OK;
        w->failures += run(w->loaded, &y, 1, &z) != HILO_OK;
        buffer_destroy(y);
        w->failures += download(z, out, sizeof out) != HILO_OK || out[5] != 24;
        buffer_destroy(z), buffer_destroy(x);
        w->failures += run(w->loaded, &w->shared, 1, &y) != HILO_OK;
        buffer_destroy(y);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(c, doubles);
    struct pjrt_buffer *shared = floats(c, 6, six);
    struct work works[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        works[i] = (struct work){c, l, shared, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &works[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(works[i].failures, 0);
    }
    buffer_destroy(shared);
    loaded_destroy(l);
    client_destroy(c);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_short_structs), cmocka_unit_test(test_missing_handles),
        cmocka_unit_test(test_no_handle),      cmocka_unit_test(test_client_options), cmocka_unit_test(test_devices),
        cmocka_unit_test(test_topology),       cmocka_unit_test(test_events),        cmocka_unit_test(test_host_buffers),
        cmocka_unit_test(test_zero_copy),      cmocka_unit_test(test_views),         cmocka_unit_test(test_copies),
        cmocka_unit_test(test_pieces),         cmocka_unit_test(test_promises),      cmocka_unit_test(test_run),
        cmocka_unit_test(test_donation),       cmocka_unit_test(test_errors),        cmocka_unit_test(test_compile_options),
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_assignment),     cmocka_unit_test(test_saving),        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
