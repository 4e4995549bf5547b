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

hilo_status llm_engine_open(hilo_client *client, const char *name, const struct llm_engine_options *o,
                            struct llm_engine **out) {
    if (!name || !*name)
        name = getenv("HILO_ENGINE");
    if (!name || !*name || strcmp(name, "hilo") == 0 || device_of(name))
        return llm_engine_hilo(client, name && *name ? device_of(name) : NULL, false, o, out);
    if (strcmp(name, "reference") == 0)
        return llm_engine_hilo(client, NULL, true, o, out);
    if (strncmp(name, "pjrt:", 5) == 0)
        return llm_engine_pjrt(client, name + 5, out);
    return llm_error(client, HILO_NOT_FOUND, "there is no engine '%s'; expected " LLM_ENGINES, name);
}

void llm_engine_close(struct llm_engine *e) {
    if (e)
        e->ops->close(e);
}
