/* The table of functions, and what holds for all of them: a caller's struct may be shorter than ours (of an older
 * version; what it lacks is zero, and is not written) or longer (of a newer one; the rest is ignored). */
#include "pjrt/pjrt.h"
#include "read/bytecode/bytecode.h"

void pjrt_struct(void *out, size_t size, const void *given) {
    memset(out, 0, size);
    if (!given)
        return;
    size_t n;
    memcpy(&n, given, sizeof n);
    memcpy(out, given, n < size ? n : size);
}

/* Copies the caller's struct. An error when it cannot hold what every caller must give. */
static struct pjrt_error *enter(void *out, size_t size, size_t least, const void *args, const char *name) {
    size_t n = 0;
    if (args)
        memcpy(&n, args, sizeof n);
    if (n < least)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%s: the argument struct has %zu bytes; at least %zu are needed", name, n,
                         least);
    pjrt_struct(out, size, args);
    return NULL;
}

/* Returns the results. */
static void leave(void *args, const void *in, size_t size, size_t least) {
    size_t n;
    memcpy(&n, args, sizeof n);
    if (n > size)
        n = size;
    if (n > least)
        memcpy((char *)args + least, (const char *)in + least, n - least);
}

static struct pjrt_error *missing(const char *name, const char *what) {
    return pjrt_fail(HILO_INVALID_ARGUMENT, "%s: the %s is missing", name, what);
}

#define ENTER(name)                                                                                    \
    struct pjrt_##name a;                                                                              \
    const size_t least = offsetof(struct pjrt_##name##_least, end);                                    \
    struct pjrt_error *error = enter(&a, sizeof a, least, args, #name);
#define LEAVE                                                                                          \
    if (!error)                                                                                        \
        leave(args, &a, sizeof a, least);
#define FN(name, handle, in, rest)                                                                     \
    static struct pjrt_error *entry_##name(struct pjrt_##name *args) {                                 \
        ENTER(name)                                                                                    \
        if (!error && !a.handle)                                                                       \
            error = missing(#name, #handle);                                                           \
        if (!error)                                                                                    \
            error = pjrt_##name(&a);                                                                   \
        LEAVE                                                                                          \
        return error;                                                                                  \
    }
#define FN_FREE(name, in, rest)                                                                        \
    static struct pjrt_error *entry_##name(struct pjrt_##name *args) {                                 \
        ENTER(name)                                                                                    \
        if (!error)                                                                                    \
            error = pjrt_##name(&a);                                                                   \
        LEAVE                                                                                          \
        return error;                                                                                  \
    }
#define FN_VOID(name, in, rest)                                                                        \
    static void entry_##name(struct pjrt_##name *args) {                                               \
        ENTER(name)                                                                                    \
        if (!error)                                                                                    \
            pjrt_##name(&a);                                                                           \
        LEAVE                                                                                          \
        pjrt_error_free(error);                                                                        \
    }
#include "pjrt/pjrt_api.def"

static const struct pjrt_api api = {
    .struct_size = sizeof api,
    .extension_start = &pjrt_extensions.base,
    .version = {.struct_size = sizeof api.version, .major_version = PJRT_MAJOR, .minor_version = PJRT_MINOR},
#define FN(name, handle, in, rest) .name = entry_##name,
#define FN_FREE(name, in, rest)    .name = entry_##name,
#define FN_VOID(name, in, rest)    .name = entry_##name,
#include "pjrt/pjrt_api.def"
};

HILO_API const struct pjrt_api *GetPjrtApi(void);
const struct pjrt_api *GetPjrtApi(void) {
    return &api;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

struct pjrt_error *pjrt_Plugin_Initialize(struct pjrt_Plugin_Initialize *a) {
    (void)a;
    return NULL;
}

/* The versions of StableHLO that hilo reads. A framework serialises programs for the newest that it shares with the plugin. */
static const int64_t oldest_version[] = {BC_OLDEST / 1000, BC_OLDEST % 1000, 0};
static const int64_t newest_version[] = {BC_STABLEHLO / 1000, BC_STABLEHLO % 1000, 0};

#define VERSION(key, v)                                                                                 \
    {.struct_size = sizeof(struct pjrt_named), .name = key, .name_size = sizeof(key) - 1,               \
     .type = PJRT_INT64_LIST, .int64_array_value = v, .value_size = 3}
static const struct pjrt_named plugin_attributes[] = {
    VERSION("stablehlo_current_version", newest_version),
    VERSION("stablehlo_minimum_version", oldest_version),
};

struct pjrt_error *pjrt_Plugin_Attributes(struct pjrt_Plugin_Attributes *a) {
    a->attributes = plugin_attributes;
    a->n = sizeof plugin_attributes / sizeof *plugin_attributes;
    return NULL;
}
