/* The engines of this library: compiled programs, for the processor or a GPU, and the reference evaluator. Arrays are
 * buffers, which a GPU has in its own memory, programs executables. */
#include "llm/engine.h"

struct hilo_engine {
    struct llm_engine engine;
    struct llm_engine_options o;
    hilo_backend backend;
    hilo_client *opener; /* engine.client, or where its diagnostics go */
};

static hilo_status upload(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                          bool persistent, void **out) {
    size_t size = hilo_dtype_size(t);
    hilo_buffer *b;
    hilo_status status = HILO_OK;
    if (persistent && (uintptr_t)data % size == 0) /* files may not align their tensors */
        status = hilo_buffer_wrap(e->client, t, dims, rank, (void *)(uintptr_t)data, NULL, NULL, &b);
    else
        status = hilo_buffer_from_host(e->client, t, dims, rank, data, NULL, &b);
    if (status == HILO_OK && (status = rt_buffer_move(b, true)) != HILO_OK)
        hilo_buffer_release(b);
    if (status == HILO_OK)
        *out = b;
    return status;
}

static hilo_status compile(struct llm_engine *e, hilo_module *m, void **out) {
    const struct hilo_engine *h = (const struct hilo_engine *)e;
    hilo_compile_options o;
    hilo_executable *exe;
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_compile_options_init(&o);
    o.level = h->o.level;
    o.backend = h->backend;
    o.batch_invariant = 1;
    HILO_TRY(hilo_compile(e->client, m, &o, &exe));
    if (hilo_executable_stats(exe, &stats) == HILO_OK && stats.cached)
        e->ncached++;
    *out = exe;
    return HILO_OK;
}

static hilo_status run(struct llm_engine *e, void *program, void *const *in, size_t nin, const uint8_t *donate, void **out,
                       size_t nout) {
    const struct hilo_engine *h = (const struct hilo_engine *)e;
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.donate = donate;
    o.cancelled = h->o.cancelled;
    o.cancelled_user = h->o.user;
    return hilo_execute(program, &o, (hilo_buffer *const *)in, nin, (hilo_buffer **)out, nout);
}

static hilo_status read(struct llm_engine *e, void *array, void *dst, size_t nbytes) {
    (void)e;
    return hilo_buffer_to_host(array, dst, nbytes);
}

static void release(struct llm_engine *e, void *array) {
    (void)e;
    hilo_buffer_release(array);
}

static void release_program(struct llm_engine *e, void *program) {
    (void)e;
    hilo_executable_release(program);
}

static void stats(struct llm_engine *e, void *program, hilo_stats *out) {
    (void)e;
    *out = (hilo_stats){.struct_size = sizeof *out};
    hilo_executable_stats(program, out);
}

static void close(struct llm_engine *e) {
    hilo_client *client = e->client, *opener = ((struct hilo_engine *)e)->opener;
    hilo_client_release(client);
    mem_free(rt_client_allocator(opener), e, sizeof(struct hilo_engine));
    hilo_client_release(opener);
}

static const struct llm_engine_ops compiled = {
    "hilo", upload, compile, run, read, release, release_program, stats, close,
}, on_gpu = {
    "hilo:gpu", upload, compile, run, read, release, release_program, stats, close,
}, evaluated = {
    "reference", upload, compile, run, read, release, release_program, stats, close,
};

static void forward_diagnostic(void *user, const hilo_diagnostic *d) {
    if (d->severity == HILO_SEVERITY_ERROR)
        llm_error(user, d->status, "%s", d->message);
}

/* Why there is no client is told by its log alone. */
static void pass_on_log(void *user, hilo_log_level level, const char *message) {
    struct hilo_engine *h = user;
    if (level == HILO_LOG_ERROR && !h->engine.client)
        llm_error(h->opener, HILO_UNAVAILABLE, "%s", message);
}

/* A client for a GPU. */
static hilo_status open_device(struct hilo_engine *h, const char *device) {
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.device = device;
    o.allocator = *rt_client_allocator(h->opener);
    o.threads = hilo_client_threads(h->opener);
    o.diagnostic = forward_diagnostic;
    o.diagnostic_user = h->opener;
    o.log = pass_on_log;
    o.log_user = h;
    return hilo_client_create(&o, &h->engine.client);
}

hilo_status llm_engine_hilo(hilo_client *client, const char *device, bool reference, const struct llm_engine_options *o,
                            struct llm_engine **out) {
    struct hilo_engine *h = mem_alloc(rt_client_allocator(client), sizeof *h);
    if (!h)
        return llm_error(client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *h = (struct hilo_engine){.o = *o, .backend = reference ? HILO_BACKEND_REFERENCE : HILO_BACKEND_AUTO, .opener = client};
    h->engine.ops = reference ? &evaluated : device ? &on_gpu : &compiled;
    hilo_status status = HILO_OK;
    if (device)
        status = open_device(h, device);
    else
        h->engine.client = rt_client_retain(client);
    rt_client_retain(client);
    if (status == HILO_OK)
        *out = &h->engine;
    else
        close(&h->engine);
    return status;
}
