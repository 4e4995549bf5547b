/* Several processes: nodes meet in the key-value store of the framework. */
#include "comm/comm.h"
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

/* ---- the store ------------------------------------------------------------------------------- */

/* What callbacks make their errors with. */
static struct pjrt_error *make_error(int code, const char *message, size_t message_size) {
    return pjrt_fail_n(code, message, message_size);
}

static hilo_status store_error(struct pjrt_error *error, hilo_write_fn write, void *user) {
    static const char prefix[] = "the key-value store: ";
    if (!error)
        return HILO_OK;
    hilo_status status = (hilo_status)error->code;
    write(user, prefix, sizeof prefix - 1);
    write(user, error->text, error->text_size);
    pjrt_error_free(error);
    return status == HILO_OK ? HILO_UNKNOWN : status;
}

static hilo_status store_put(void *user, const char *key, const void *value, size_t n, hilo_write_fn write, void *writer) {
    const struct pjrt_store *s = user;
    pjrt_kv_error *error = make_error;
    struct pjrt_kv_put a = {.struct_size = sizeof a, .key = key, .key_size = strlen(key), .value = value, .value_size = n,
                       .error = &error, .user = s->put_user};
    pjrt_kv_put_fn *put = (pjrt_kv_put_fn *)s->put;
    if (!put)
        return store_error(pjrt_fail(HILO_INVALID_ARGUMENT, "there is no callback to put values"), write, writer);
    return store_error(put(&a), write, writer);
}

static hilo_status store_get(void *user, const char *key, int64_t timeout_ms, hilo_write_fn write, void *writer) {
    const struct pjrt_store *s = user;
    pjrt_kv_error *error = make_error;
    struct pjrt_kv_get a = {.struct_size = sizeof a, .key = key, .key_size = strlen(key), .timeout_in_ms = (int)timeout_ms,
                       .error = &error, .user = s->get_user};
    pjrt_kv_get_fn *get = (pjrt_kv_get_fn *)s->get;
    if (!get)
        return store_error(pjrt_fail(HILO_INVALID_ARGUMENT, "there is no callback to get values"), write, writer);
    hilo_status status = store_error(get(&a), write, writer);
    if (status != HILO_OK)
        return status;
    write(writer, a.value, a.value_size);
    if (a.deleter)
        a.deleter(a.value);
    return HILO_OK;
}

hilo_node_store pjrt_store(struct pjrt_store *store) {
    return (hilo_node_store){store_put, store_get, store};
}

/* What the framework knows of other processes is known here too: from their connections. An error would end the process. */
struct pjrt_error *pjrt_Client_UpdateGlobalProcessInfo(struct pjrt_Client_UpdateGlobalProcessInfo *a) {
    (void)a;
    return NULL;
}
