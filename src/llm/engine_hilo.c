/* The engines of this library: compiled programs, for the processor or a GPU, and the reference evaluator. Arrays are
 * buffers, which a GPU has in its own memory, programs executables. */
#include "llm/engine.h"

#include "target/target.h"

struct hilo_engine {
    struct llm_engine engine;
    struct llm_engine_options o;
    hilo_backend backend;
    hilo_client *opener; /* engine.client, or where its diagnostics go */
};

/* ---- arrays ---------------------------------------------------------------------------------- */

/* An array is a buffer; with several devices here a list of them, one of each. */
static hilo_buffer **buffers_of(const struct llm_engine *e, void **array) {
    return e->devices == 1 ? (hilo_buffer **)(void *)array : *array;
}

static void release(struct llm_engine *e, void *array) {
    hilo_buffer **b = array ? buffers_of(e, &array) : NULL;
    for (uint32_t i = 0; i < e->devices && b; i++)
        hilo_buffer_release(b[i]);
    if (array && e->devices > 1)
        mem_free(rt_client_allocator(e->client), array, e->devices * sizeof *b);
}

/* A list without buffers. */
static hilo_status new_list(struct llm_engine *e, void **out) {
    *out = NULL;
    if (e->devices == 1)
        return HILO_OK;
    hilo_buffer **b = mem_alloc(rt_client_allocator(e->client), e->devices * sizeof *b);
    if (!b)
        return llm_error(e->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    for (uint32_t i = 0; i < e->devices; i++)
        b[i] = NULL;
    *out = b;
    return HILO_OK;
}

static hilo_status make_buffer(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                               bool persistent, hilo_buffer **out) {
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

/* Of data for each device, or, without `each`, of the same for all. */
static hilo_status make_array(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                              const void *const *each, void **out) {
    void *array;
    HILO_TRY(new_list(e, &array));
    hilo_buffer **b = buffers_of(e, &array);
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < e->devices && status == HILO_OK; i++)
        status = make_buffer(e, t, dims, rank, each ? each[i] : data, each != NULL, &b[i]);
    if (status == HILO_OK)
        *out = array;
    else
        release(e, array);
    return status;
}

static hilo_status upload(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                          void **out) {
    return data ? make_array(e, t, dims, rank, data, NULL, out) : llm_engine_upload_zeros(e, t, dims, rank, out);
}

static hilo_status keep(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *const *data,
                        void **out) {
    return make_array(e, t, dims, rank, NULL, data, out);
}

static hilo_status read(struct llm_engine *e, void *array, void *dst, size_t nbytes) {
    return hilo_buffer_to_host(*buffers_of(e, &array), dst, nbytes);
}

/* ---- programs -------------------------------------------------------------------------------- */

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

/* The arguments of all devices, one after the other, their results and donations; in one block. */
struct call {
    hilo_buffer **in, **out;
    uint8_t *donate;
    size_t bytes;
};

static hilo_status new_call(struct llm_engine *e, void *const *in, size_t nin, const uint8_t *donate, size_t nout,
                            struct call *c) {
    size_t n = e->devices, size = sizeof(hilo_buffer *);
    *c = (struct call){.bytes = 0};
    bool fits = mem_mul(nin, size + 1, &c->bytes) && mem_add(c->bytes, nout * size, &c->bytes) &&
                mem_mul(c->bytes, n, &c->bytes);
    c->in = fits ? mem_alloc(rt_client_allocator(e->client), c->bytes) : NULL;
    if (!c->in)
        return llm_error(e->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    c->out = c->in + n * nin;
    c->donate = (uint8_t *)(c->out + n * nout);
    for (size_t d = 0; d < n; d++)
        for (size_t i = 0; i < nin; i++) {
            c->in[d * nin + i] = ((hilo_buffer *const *)in[i])[d];
            c->donate[d * nin + i] = donate[i];
        }
    return HILO_OK;
}

/* Makes arrays of the results. */
static hilo_status take_results(struct llm_engine *e, const struct call *c, void **out, size_t nout) {
    hilo_status status = HILO_OK;
    for (size_t i = 0; i < nout; i++) {
        hilo_status own = new_list(e, &out[i]);
        status = own == HILO_OK ? status : own;
        for (size_t d = 0; d < e->devices; d++)
            if (out[i])
                ((hilo_buffer **)out[i])[d] = c->out[d * nout + i];
            else
                hilo_buffer_release(c->out[d * nout + i]);
    }
    for (size_t i = 0; i < nout && status != HILO_OK; i++) {
        release(e, out[i]);
        out[i] = NULL;
    }
    return status;
}

static hilo_status run(struct llm_engine *e, void *program, void *const *in, size_t nin, const uint8_t *donate, void **out,
                       size_t nout) {
    const struct hilo_engine *h = (const struct hilo_engine *)e;
    struct call c;
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.donate = donate;
    o.cancelled = h->o.cancelled;
    o.cancelled_user = h->o.user;
    if (e->devices == 1)
        return hilo_execute(program, &o, (hilo_buffer *const *)in, nin, (hilo_buffer **)out, nout);
    HILO_TRY(new_call(e, in, nin, donate, nout, &c));
    o.donate = c.donate;
    hilo_status status = hilo_execute(program, &o, c.in, e->devices * nin, c.out, e->devices * nout);
    if (status == HILO_OK)
        status = take_results(e, &c, out, nout);
    mem_free(rt_client_allocator(e->client), c.in, c.bytes);
    return status;
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
    "hilo", upload, keep, compile, run, read, release, release_program, stats, close,
}, on_gpu = {
    "hilo:gpu", upload, keep, compile, run, read, release, release_program, stats, close,
}, evaluated = {
    "reference", upload, keep, compile, run, read, release, release_program, stats, close,
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

/* How the processor multiplies the rows of prompts. It adds products of bytes up faster for whole rows than for groups where it
   has a matrix unit, or where kernels have no sums of groups for it (lower/matvec.c). Where nothing adds up four products of
   bytes, they are multiplied as words. */
static void choose_prompts(hilo_client *client, struct llm_engine *e) {
    struct diag_list d;
    struct target t = {.tile_i8 = false};
    diag_init(&d, *rt_client_allocator(client));
    bool known = target_host(&t, &d) == HILO_OK;
    diag_clear(&d);
    e->prompts_by_row = known && (t.tile_i8 || !(t.dot_i8 || t.dot2_i8));
    e->prompts_in_words = known && !t.tile_i8 && !t.dot_i8 && !t.dot_i8_signed;
}

hilo_status llm_engine_hilo(hilo_client *client, const char *device, bool reference, const struct llm_engine_options *o,
                            struct llm_engine **out) {
    struct hilo_engine *h = mem_alloc(rt_client_allocator(client), sizeof *h);
    if (!h)
        return llm_error(client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *h = (struct hilo_engine){.o = *o, .backend = reference ? HILO_BACKEND_REFERENCE : HILO_BACKEND_AUTO, .opener = client};
    h->engine.ops = reference ? &evaluated : device ? &on_gpu : &compiled;
    h->engine.prompts_by_row = device != NULL;
    if (!device)
        choose_prompts(client, &h->engine);
    hilo_status status = HILO_OK;
    if (device)
        status = open_device(h, device);
    else
        h->engine.client = rt_client_retain(client);
    rt_client_retain(client);
    rt_client_world(client, &h->engine.devices);
    if (status == HILO_OK)
        *out = &h->engine;
    else
        close(&h->engine);
    return status;
}
