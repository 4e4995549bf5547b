/* Extensions of the interface: layouts, custom calls, transfers between processes. */
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- layouts --------------------------------------------------------------------------------- */

struct pjrt_error *pjrt_layout_new(size_t rank, const int64_t *minor_to_major, struct pjrt_layout_text **out) {
    enum { DIGITS = 4 };
    if (rank > 64)
        return pjrt_fail(HILO_UNIMPLEMENTED, "%zu dimensions are more than the 64 that are supported", rank);
    size_t size = 3 + rank * DIGITS;
    struct pjrt_layout_text *l = pjrt_alloc(1, sizeof *l + size);
    if (!l)
        return pjrt_exhausted();
    l->text[l->n++] = '{';
    for (size_t i = 0; i < rank; i++)
        l->n += (size_t)snprintf(l->text + l->n, size - l->n, "%s%zu", i ? "," : "",
                                 minor_to_major ? (size_t)minor_to_major[i] : rank - 1 - i);
    l->text[l->n++] = '}';
    *out = l;
    return NULL;
}

static struct pjrt_error *layout_destroy(struct pjrt_layout_destroy *a) {
    free(a->layout);
    return NULL;
}

static struct pjrt_error *layout_serialize(struct pjrt_layout_serialize *a) {
    if (!a->layout)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the layout is missing");
    a->owner = pjrt_bytes_copy(a->layout->text, a->layout->n, &a->bytes);
    a->nbytes = a->layout->n;
    a->deleter = pjrt_bytes_delete;
    return a->owner ? NULL : pjrt_exhausted();
}

static struct pjrt_error *layout_client_default(struct pjrt_layout_client_default *a) {
    return pjrt_layout_new(a->rank, NULL, &a->layout);
}

static struct pjrt_error *layout_topology_default(struct pjrt_layout_topology_default *a) {
    return pjrt_layout_new(a->rank, NULL, &a->layout);
}

static struct pjrt_error *layout_of_buffer(struct pjrt_layout_of_buffer *a) {
    if (!a->buffer)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the buffer is missing");
    return pjrt_layout_new(a->buffer->rank, a->buffer->minor_to_major, &a->layout);
}

static struct pjrt_error *layout_of_outputs(struct pjrt_layout_of_outputs *a) {
    struct pjrt_executable *x = a->executable;
    if (!x)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the executable is missing");
    a->layouts = x->layouts + x->ninputs;
    a->n = x->noutputs;
    return NULL;
}

static struct pjrt_error *layout_of_parameters(struct pjrt_layout_of_parameters *a) {
    struct pjrt_executable *x = a->executable;
    if (!x)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the executable is missing");
    a->layouts = x->layouts;
    a->n = x->ninputs;
    return NULL;
}

/* ---- struct sizes ---------------------------------------------------------------------------- */

/* As in api.c, for the functions of extensions: all of their structs have had one size since they exist. */
#define CHECKED(name, function)                                                                          \
    static struct pjrt_error *entry_##name(struct pjrt_##name *args) {                                   \
        size_t n = 0;                                                                                    \
        if (args)                                                                                        \
            memcpy(&n, args, sizeof n);                                                                  \
        if (n < offsetof(struct pjrt_##name##_least, end))                                               \
            return pjrt_fail(HILO_INVALID_ARGUMENT, #name ": the argument struct has %zu bytes", n);     \
        return function(args);                                                                           \
    }
#define LEAST(name, ...) struct pjrt_##name##_least { PJRT_HEAD __VA_ARGS__ char end; };
#define LAYOUT_LEAST(name, ...) LEAST(layout_##name, __VA_ARGS__)
#define LAYOUT_ENTRY(name, ...) CHECKED(layout_##name, layout_##name)
#define REMOTE_LEAST(name, ...) LEAST(remote_##name, __VA_ARGS__)
#define REMOTE_ENTRY(name, ...) CHECKED(remote_##name, pjrt_remote_##name)
PJRT_LAYOUT_FUNCTIONS(LAYOUT_LEAST)
PJRT_LAYOUT_FUNCTIONS(LAYOUT_ENTRY)
PJRT_REMOTE_FUNCTIONS(REMOTE_LEAST)
PJRT_REMOTE_FUNCTIONS(REMOTE_ENTRY)

/* ---- the chain ------------------------------------------------------------------------------- */

#define REMOTE(name, ...) .name = entry_remote_##name,
static const struct pjrt_remote_extension remote = {
    .base = {sizeof remote, PJRT_EXT_REMOTE, NULL}, PJRT_REMOTE_FUNCTIONS(REMOTE)
};

static const struct {
    struct pjrt_extension base;
    struct pjrt_error *(*type_register)(struct pjrt_ffi_type_register *a);
    struct pjrt_error *(*user_data_add)(struct pjrt_ffi_user_data_add *a);
    struct pjrt_error *(*register_handler)(struct pjrt_ffi_register_handler *a);
    struct pjrt_error *(*register_stages)(struct pjrt_ffi_register_stages *a);
} ffi = {
    .base = {sizeof ffi, PJRT_EXT_FFI, &remote.base}, .type_register = pjrt_ffi_type_register,
    .user_data_add = pjrt_ffi_user_data_add, .register_handler = pjrt_ffi_register_handler,
    .register_stages = pjrt_ffi_register_stages,
};

static const struct {
    struct pjrt_extension base;
    struct pjrt_error *(*divider_register)(struct pjrt_divider_register *a);
    struct pjrt_error *(*batched_register)(struct pjrt_batched_register *a);
} partitioner = {
    .base = {sizeof partitioner, PJRT_EXT_PARTITIONER, &ffi.base}, .divider_register = pjrt_divider_register,
    .batched_register = pjrt_batched_register,
};

#define NAMED(name, ...)  .name = entry_layout_##name,
const struct pjrt_extensions pjrt_extensions = {
    .base = {sizeof pjrt_extensions, PJRT_EXT_LAYOUTS, &partitioner.base}, PJRT_LAYOUT_FUNCTIONS(NAMED)
};
