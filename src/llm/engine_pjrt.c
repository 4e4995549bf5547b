/* The engine `pjrt:PATH`: any vendor's PJRT plugin, through its C interface (src/pjrt/pjrt_api.h has the declarations, which
 * are our own). Programs go there as portable artifacts, of the StableHLO version that the plugin announces. */
#include "llm/engine.h"

#include "pjrt/pjrt_api.h"
#include "read/bytecode/bytecode.h"

#include <dlfcn.h>

struct pjrt_engine {
    struct llm_engine engine;
    void *library;
    const struct pjrt_api *api;
    struct pjrt_client *client;
    struct pjrt_device *device;
    int target;      /* version of StableHLO */
};

/* Arguments of a call with their size; the rest is zero. */
#define ARGS(name, ...) (struct pjrt_##name){.struct_size = sizeof(struct pjrt_##name), __VA_ARGS__}

/* The plugin's error as ours; NULL is success. */
static hilo_status check(const struct pjrt_engine *p, struct pjrt_error *error, const char *what) {
    if (!error)
        return HILO_OK;
    struct pjrt_Error_Message message = ARGS(Error_Message, .error = error);
    struct pjrt_Error_GetCode code = ARGS(Error_GetCode, .error = error);
    struct pjrt_Error_Destroy destroy = ARGS(Error_Destroy, .error = error);
    p->api->Error_Message(&message);
    p->api->Error_GetCode(&code); /* the numbers are ours too */
    hilo_status status = code.code > HILO_OK && code.code <= HILO_UNAUTHENTICATED ? (hilo_status)code.code : HILO_UNKNOWN;
    llm_error(p->engine.client, status, "the plugin cannot %s: %.*s", what, (int)message.text_size,
              message.text ? message.text : "");
    p->api->Error_Destroy(&destroy);
    return status;
}

/* Waits for an event, which is destroyed. */
static hilo_status await(const struct pjrt_engine *p, struct pjrt_event *event, const char *what) {
    struct pjrt_Event_Await wait = ARGS(Event_Await, .event = event);
    struct pjrt_Event_Destroy destroy = ARGS(Event_Destroy, .event = event);
    hilo_status status = check(p, p->api->Event_Await(&wait), what);
    p->api->Event_Destroy(&destroy);
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static hilo_status make_array(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                              bool persistent, void **out) {
    const struct pjrt_engine *p = (const struct pjrt_engine *)e;
    struct pjrt_Client_BufferFromHostBuffer a =
        ARGS(Client_BufferFromHostBuffer, .client = p->client, .data = data, .dtype = (int)t, .dims = dims, .rank = rank,
             .semantics = persistent ? PJRT_ZERO_COPY : PJRT_ONLY_DURING_CALL, .device = p->device);
    HILO_TRY(check(p, p->api->Client_BufferFromHostBuffer(&a), "take an array"));
    if (a.done) { /* nothing waits for the release of persistent memory */
        struct pjrt_Event_Destroy destroy = ARGS(Event_Destroy, .event = a.done);
        p->api->Event_Destroy(&destroy);
    }
    *out = a.buffer;
    return HILO_OK;
}

static hilo_status upload(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                          void **out) {
    return data ? make_array(e, t, dims, rank, data, false, out) : llm_engine_upload_zeros(e, t, dims, rank, out);
}

static hilo_status keep(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *const *data,
                        void **out) {
    return make_array(e, t, dims, rank, *data, true, out);
}

static hilo_status read(struct llm_engine *e, void *array, void *dst, size_t nbytes) {
    const struct pjrt_engine *p = (const struct pjrt_engine *)e;
    struct pjrt_Buffer_ToHostBuffer a = ARGS(Buffer_ToHostBuffer, .buffer = array, .dst = dst, .dst_size = nbytes);
    HILO_TRY(check(p, p->api->Buffer_ToHostBuffer(&a), "give an array back"));
    return a.done ? await(p, a.done, "run a program") : HILO_OK;
}

static void release(struct llm_engine *e, void *array) {
    const struct pjrt_engine *p = (const struct pjrt_engine *)e;
    struct pjrt_Buffer_Destroy a = ARGS(Buffer_Destroy, .buffer = array);
    if (array)
        p->api->Buffer_Destroy(&a);
}

/* ---- programs -------------------------------------------------------------------------------- */

static hilo_status compile(struct llm_engine *e, hilo_module *m, void **out) {
    /* A CompileOptionsProto (openxla/xla, pjrt/proto/compile_options.proto): executable_build_options (3) with
       device_ordinal (1) of -1, num_replicas (4) and num_partitions (5) of 1. */
    static const char options[] = "\x1A\x0F\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01";
    const struct pjrt_engine *p = (const struct pjrt_engine *)e;
    struct strbuf code;
    struct diag_list d;
    diag_init(&d, *rt_client_allocator(e->client));
    strbuf_init(&code, *rt_client_allocator(e->client));
    hilo_status status = rt_finish(e->client, &d, write_bytecode(rt_module_ir(m), &d, p->target, &code));
    if (status == HILO_OK) {
        struct pjrt_program program = {.struct_size = sizeof program, .code = code.p, .code_size = code.n, .format = "mlir",
                                       .format_size = 4};
        struct pjrt_Client_Compile a = ARGS(Client_Compile, .client = p->client, .program = &program, .options = options,
                                            .options_size = sizeof options - 1);
        status = check(p, p->api->Client_Compile(&a), "compile a program");
        *out = a.executable;
    }
    strbuf_free(&code);
    return status;
}

static hilo_status run(struct llm_engine *e, void *program, void *const *in, size_t nin, const uint8_t *donate, void **out,
                       size_t nout) {
    const struct pjrt_engine *p = (const struct pjrt_engine *)e;
    size_t bytes, nkept = 0;
    int64_t *kept = mem_mul(nin, sizeof *kept, &bytes) ? mem_alloc(rt_client_allocator(e->client), bytes) : NULL;
    if (!kept)
        return llm_error(e->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < nin; i++)
        if (!donate[i])
            kept[nkept++] = (int64_t)i;
    for (size_t i = 0; i < nout; i++)
        out[i] = NULL;
    struct pjrt_execute_options o = {.struct_size = sizeof o, .non_donatable_input_indices = kept,
                                     .num_non_donatable_input_indices = nkept};
    struct pjrt_buffer *const *arguments = (struct pjrt_buffer *const *)in;
    struct pjrt_buffer **results = (struct pjrt_buffer **)out;
    struct pjrt_LoadedExecutable_Execute a = ARGS(LoadedExecutable_Execute, .loaded = program, .options = &o,
                                                  .argument_lists = &arguments, .ndevices = 1, .nargs = nin,
                                                  .output_lists = &results);
    hilo_status status = check(p, p->api->LoadedExecutable_Execute(&a), "run a program");
    mem_free(rt_client_allocator(e->client), kept, bytes);
    return status;
}

static void release_program(struct llm_engine *e, void *program) {
    const struct pjrt_engine *p = (const struct pjrt_engine *)e;
    struct pjrt_LoadedExecutable_Destroy a = ARGS(LoadedExecutable_Destroy, .loaded = program);
    p->api->LoadedExecutable_Destroy(&a);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close(struct llm_engine *e) {
    struct pjrt_engine *p = (struct pjrt_engine *)e;
    hilo_client *client = e->client;
    if (p->client) {
        struct pjrt_Client_Destroy a = ARGS(Client_Destroy, .client = p->client);
        check(p, p->api->Client_Destroy(&a), "end");
    }
    if (p->library)
        dlclose(p->library);
    mem_free(rt_client_allocator(client), p, sizeof *p);
    hilo_client_release(client);
}

/* The last function that is called here: a plugin whose table ends before it is too old. */
static bool has_functions(const struct pjrt_api *api) {
    return api && api->struct_size >= offsetof(struct pjrt_api, Buffer_ToHostBuffer) + sizeof api->Buffer_ToHostBuffer &&
           api->version.major_version == PJRT_MAJOR;
}

static hilo_status open_library(struct pjrt_engine *p, const char *path) {
    const struct pjrt_api *(*get)(void);
    p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* plugins leave threads behind */
    if (!p->library)
        return llm_error(p->engine.client, HILO_NOT_FOUND,
                         "no plugin '%s': %s; a PJRT plugin is a shared library that comes with a vendor's JAX package, and "
                         "pjrt_hilo.so with this project", path, dlerror());
    void *symbol = dlsym(p->library, "GetPjrtApi");
    memcpy(&get, &symbol, sizeof get); /* as POSIX has it: an object pointer may be a function's */
    if (!symbol || !has_functions(p->api = get()))
        return llm_error(p->engine.client, HILO_NOT_FOUND, "'%s' is no PJRT plugin of major version %d", path, PJRT_MAJOR);
    return HILO_OK;
}

/* The newest StableHLO version that both know; a plugin that announces none gets the oldest that can be written. */
static void choose_target(struct pjrt_engine *p) {
    static const char name[] = "stablehlo_current_version";
    struct pjrt_Plugin_Attributes a = ARGS(Plugin_Attributes, .attributes = NULL);
    p->target = BC_V(1, 9);
    struct pjrt_error *error = p->api->Plugin_Attributes(&a);
    if (error) {
        struct pjrt_Error_Destroy destroy = ARGS(Error_Destroy, .error = error);
        p->api->Error_Destroy(&destroy);
        return;
    }
    for (size_t i = 0; i < a.n; i++) {
        const struct pjrt_named *v = &a.attributes[i];
        if (v->name_size != sizeof name - 1 || memcmp(v->name, name, v->name_size) != 0 || v->type != PJRT_INT64_LIST ||
            v->value_size < 2)
            continue;
        int64_t major = v->int64_array_value[0], minor = v->int64_array_value[1];
        bool newer = major > BC_STABLEHLO / 1000 || minor > BC_STABLEHLO % 1000;
        p->target = newer ? BC_STABLEHLO : BC_V((int)major, (int)minor);
    }
}

static hilo_status open_client(struct pjrt_engine *p) {
    struct pjrt_Plugin_Initialize init = ARGS(Plugin_Initialize, .extension_start = NULL);
    struct pjrt_Client_Create create = ARGS(Client_Create, .client = NULL);
    HILO_TRY(check(p, p->api->Plugin_Initialize(&init), "start"));
    HILO_TRY(check(p, p->api->Client_Create(&create), "make a client"));
    p->client = create.client;
    struct pjrt_Client_AddressableDevices devices = ARGS(Client_AddressableDevices, .client = p->client);
    HILO_TRY(check(p, p->api->Client_AddressableDevices(&devices), "list its devices"));
    if (devices.ndevices == 0)
        return llm_error(p->engine.client, HILO_NOT_FOUND, "the plugin has no device here");
    p->device = devices.devices[0];
    choose_target(p);
    return HILO_OK;
}

static const struct llm_engine_ops ops = {
    "pjrt", upload, keep, compile, run, read, release, release_program, NULL, close,
};

hilo_status llm_engine_pjrt(hilo_client *client, const char *path, struct llm_engine **out) {
    struct pjrt_engine *p = mem_alloc(rt_client_allocator(client), sizeof *p);
    if (!p)
        return llm_error(client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *p = (struct pjrt_engine){.engine = {.ops = &ops, .client = rt_client_retain(client), .devices = 1}};
    hilo_status status = open_library(p, path);
    if (status == HILO_OK)
        status = open_client(p);
    if (status == HILO_OK)
        *out = &p->engine;
    else
        close(&p->engine);
    return status;
}
