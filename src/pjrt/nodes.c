/* Several processes: nodes meet in the key-value store of the framework. */
#include "comm/comm.h"
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

/* ---- the store ------------------------------------------------------------------------------- */

typedef struct pjrt_error *callback_error(int code, const char *message, size_t message_size);

struct kv_get {
    PJRT_HEAD
    const char *key;
    size_t key_size;
    int timeout_in_ms;
    callback_error **error;
    void *user;
    char *value; /* from here on set by the callback */
    size_t value_size;
    void (*deleter)(char *value);
};
struct kv_put {
    PJRT_HEAD
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
    callback_error **error;
    void *user;
};
typedef struct pjrt_error *kv_get_fn(struct kv_get *a);
typedef struct pjrt_error *kv_put_fn(struct kv_put *a);

/* What callbacks make their errors with. */
static struct pjrt_error *make_error(int code, const char *message, size_t message_size) {
    return pjrt_fail_n(code, message, message_size);
}

static hilo_status store_error(struct pjrt_error *error, struct strbuf *why) {
    if (!error)
        return HILO_OK;
    hilo_status status = (hilo_status)error->code;
    strbuf_printf(why, "the key-value store: %.*s", (int)error->text_size, error->text);
    pjrt_error_free(error);
    return status == HILO_OK ? HILO_UNKNOWN : status;
}

static hilo_status store_put(void *user, const char *key, const void *value, size_t n, struct strbuf *why) {
    const struct pjrt_store *s = user;
    callback_error *error = make_error;
    struct kv_put a = {.struct_size = sizeof a, .key = key, .key_size = strlen(key), .value = value, .value_size = n,
                       .error = &error, .user = s->put_user};
    kv_put_fn *put = (kv_put_fn *)s->put;
    if (!put)
        return store_error(pjrt_fail(HILO_INVALID_ARGUMENT, "there is no callback to put values"), why);
    return store_error(put(&a), why);
}

static hilo_status store_get(void *user, const char *key, int64_t timeout_ms, struct strbuf *value, struct strbuf *why) {
    const struct pjrt_store *s = user;
    callback_error *error = make_error;
    struct kv_get a = {.struct_size = sizeof a, .key = key, .key_size = strlen(key), .timeout_in_ms = (int)timeout_ms,
                       .error = &error, .user = s->get_user};
    kv_get_fn *get = (kv_get_fn *)s->get;
    if (!get)
        return store_error(pjrt_fail(HILO_INVALID_ARGUMENT, "there is no callback to get values"), why);
    hilo_status status = store_error(get(&a), why);
    if (status != HILO_OK)
        return status;
    strbuf_putn(value, a.value, a.value_size);
    if (a.deleter)
        a.deleter(a.value);
    return value->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

struct comm_store pjrt_store(struct pjrt_store *store) {
    return (struct comm_store){store_put, store_get, store};
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct pjrt_error *pjrt_connect(struct pjrt_client *c, const struct comm_store *store) {
    struct comm_options o = {.node = (uint32_t)c->options.node, .nnodes = (uint32_t)c->options.nodes,
                             .ndevices = (uint32_t)c->here, .store = *store};
    struct strbuf why;
    strbuf_init(&why, mem_system_allocator());
    hilo_status status = rt_client_connect(c->hilo, &o, &why);
    struct pjrt_error *error = status == HILO_OK ? NULL
                               : why.n           ? pjrt_fail_n((int)status, why.p, why.n)
                                                 : pjrt_fail(status, "the nodes cannot be connected");
    strbuf_free(&why);
    return error;
}

/* What the framework knows of other processes is known here too: from their connections. An error would end the process. */
struct pjrt_error *pjrt_Client_UpdateGlobalProcessInfo(struct pjrt_Client_UpdateGlobalProcessInfo *a) {
    (void)a;
    return NULL;
}
