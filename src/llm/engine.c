/* Engines by name: see engine.h. */
#include "llm/engine.h"

#include <stdlib.h>

hilo_status llm_error(hilo_client *client, hilo_status status, const char *fmt, ...) {
    struct diag_list d;
    va_list ap;
    diag_init(&d, *rt_client_allocator(client));
    va_start(ap, fmt);
    diag_vadd(&d, DIAG_ERROR, status, NULL, (struct diag_loc){0}, (struct str){NULL, 0}, fmt, ap);
    va_end(ap);
    return rt_finish(client, &d, status);
}

/* The device of hilo:DEVICE; NULL = another engine. */
static const char *device_of(const char *name) {
    return strncmp(name, "hilo:gpu", 8) == 0 && (!name[8] || name[8] == ':') ? name + 5 : NULL;
}

bool llm_engine_known(const char *name) {
    if (!name || !*name)
        name = getenv("HILO_ENGINE");
    return !name || !*name || strcmp(name, "hilo") == 0 || device_of(name) || strcmp(name, "reference") == 0 ||
           strncmp(name, "pjrt:", 5) == 0;
}

/* Programs for several devices are run by the client itself; the evaluator's collectives do not leave a process. */
static hilo_status check_devices(hilo_client *client, const char *name) {
    bool reference = name && strcmp(name, "reference") == 0, own = !name || strcmp(name, "hilo") == 0;
    if (own || rt_client_world(client, NULL) == 1 || (reference && !rt_client_comm(client)))
        return HILO_OK;
    return llm_error(client, HILO_UNIMPLEMENTED, "the engine '%s' is for one %s, not for %u; hilo is for more", name,
                     reference ? "process" : "device", rt_client_world(client, NULL));
}

static hilo_status open_engine(hilo_client *client, const char *name, const struct llm_engine_options *o,
                               struct llm_engine **out) {
    HILO_TRY(check_devices(client, name));
    if (!name || strcmp(name, "hilo") == 0 || device_of(name))
        return llm_engine_hilo(client, name ? device_of(name) : NULL, false, o, out);
    if (strcmp(name, "reference") == 0)
        return llm_engine_hilo(client, NULL, true, o, out);
    if (strncmp(name, "pjrt:", 5) == 0)
        return llm_engine_pjrt(client, name + 5, out);
    return llm_error(client, HILO_NOT_FOUND, "there is no engine '%s'; expected " LLM_ENGINES, name);
}

hilo_status llm_engine_open(hilo_client *client, const char *name, const struct llm_engine_options *o,
                            struct llm_engine **out) {
    struct llm_engine *e;
    if (!name || !*name)
        name = getenv("HILO_ENGINE");
    HILO_TRY(open_engine(client, name && *name ? name : NULL, o, &e));
    if (rt_client_comm(client))
        return llm_engine_nodes(e, rt_client_comm(client), out);
    *out = e;
    return HILO_OK;
}

hilo_status llm_engine_upload_zeros(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, void **out) {
    size_t bytes = hilo_dtype_size(t);
    bool fits = true;
    for (uint32_t i = 0; i < rank; i++)
        fits = fits && mem_mul(bytes, (size_t)dims[i], &bytes);
    void *zeros = fits ? mem_alloc(rt_client_allocator(e->client), bytes) : NULL;
    if (!zeros)
        return llm_error(e->client, HILO_RESOURCE_EXHAUSTED, "out of memory for zeros");
    memset(zeros, 0, bytes);
    hilo_status status = e->ops->upload(e, t, dims, rank, zeros, out);
    mem_free(rt_client_allocator(e->client), zeros, bytes);
    return status;
}

void llm_engine_close(struct llm_engine *e) {
    if (e)
        e->ops->close(e);
}
