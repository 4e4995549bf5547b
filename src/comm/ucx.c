/* The transport between nodes: UCX's UCP, opened at run time: shared memory, TCP and InfiniBand behind one interface. Its
 * interface is declared here, as far as hilo needs it, from its documentation (openucx.readthedocs.io, API 1.10 and later).
 *
 * Blocks are active messages: the frame is the header. Small ones come with their bytes; of large ones the receiver is told,
 * and fetches them once it knows where to. Error handling of peers is on, so that a send to a node that has died ends.
 *
 * A worker is used by one thread at a time: the lock of the comm is held. UCX is one for a process, so the table of its
 * functions is the library's variable: written once. */
#include "comm/net.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- UCX's interface ------------------------------------------------------------------------- */

typedef int ucs_status_t; /* 0 = done, 1 = in progress, below 0: an error */
enum { UCS_OK = 0, UCS_INPROGRESS = 1, UCS_ERR_LAST = -100 };
enum { UCP_API_MAJOR = 1, UCP_API_MINOR = 10, UCS_THREAD_MODE_SERIALIZED = 1, UCP_EP_CLOSE_FLAG_FORCE = 1 };
enum { UCX_CLOSE_MS = 1000 };

struct ucp_params {
    uint64_t field_mask; /* 0: features */
    uint64_t features;   /* 4: wake-up, 6: active messages */
    size_t request_size;
    void (*request_init)(void *request);
    void (*request_cleanup)(void *request);
    uint64_t tag_sender_mask;
    int mt_workers_shared;
    size_t estimated_num_eps, estimated_num_ppn;
    const char *name;
};
struct ucp_worker_params {
    uint64_t field_mask; /* 0: thread_mode */
    int thread_mode;
    unsigned long cpu_mask[1024 / 8 / sizeof(unsigned long)];
    unsigned events;
    void *user_data;
    int event_fd;
    uint64_t flags;
    const char *name;
    size_t am_alignment;
    uint64_t client_id;
};
struct ucp_ep_params {
    uint64_t field_mask; /* 0: address, 1: err_mode, 2: err_handler */
    const void *address;
    int err_mode;        /* 1: of peers */
    struct {
        void (*cb)(void *arg, void *ep, ucs_status_t status);
        void *arg;
    } err_handler;
    void *user_data;
    unsigned flags;
    struct {
        const void *addr;
        unsigned addrlen;
    } sockaddr;
    void *conn_request;
    const char *name;
    struct {
        const void *addr;
        unsigned addrlen;
    } local_sockaddr;
};
struct ucp_request_param {
    uint32_t op_attr_mask; /* 1: cb, 2: user_data, 4: flags */
    uint32_t flags;
    void *request;
    union {
        void (*send)(void *request, ucs_status_t status, void *user);
        void (*recv_am)(void *request, ucs_status_t status, size_t length, void *user);
    } cb;
    uint64_t datatype;
    void *user_data, *reply_buffer;
    int memory_type;
    size_t *length;
    void *memh;
};
struct ucp_am_recv_param {
    uint64_t recv_attr; /* 17: the bytes are announced only */
    void *reply_ep;
};
typedef ucs_status_t ucp_am_recv_fn(void *arg, const void *header, size_t header_length, void *data, size_t length,
                                    const struct ucp_am_recv_param *param);
struct ucp_am_handler_param {
    uint64_t field_mask; /* 0: id, 1: flags, 2: cb, 3: arg */
    unsigned id;
    uint32_t flags;      /* 0: whole messages */
    ucp_am_recv_fn *cb;
    void *arg;
};
#define BIT(n) (UINT64_C(1) << (n))

#define UCX_FUNCTIONS(F)                                                                                                       \
    F(const char *, ucp_get_version_string, (void))                                                                            \
    F(ucs_status_t, ucp_config_read, (const char *prefix, const char *file, void **config))                                    \
    F(ucs_status_t, ucp_config_modify, (void *config, const char *name, const char *value))                                    \
    F(void, ucp_config_release, (void *config))                                                                                \
    F(ucs_status_t, ucp_init_version,                                                                                          \
      (unsigned major, unsigned minor, const struct ucp_params *params, const void *config, void **context))                   \
    F(void, ucp_cleanup, (void *context))                                                                                      \
    F(ucs_status_t, ucp_worker_create, (void *context, const struct ucp_worker_params *params, void **worker))                 \
    F(void, ucp_worker_destroy, (void *worker))                                                                                \
    F(ucs_status_t, ucp_worker_get_address, (void *worker, void **address, size_t *length))                                    \
    F(void, ucp_worker_release_address, (void *worker, void *address))                                                         \
    F(ucs_status_t, ucp_worker_get_efd, (void *worker, int *fd))                                                               \
    F(ucs_status_t, ucp_worker_arm, (void *worker))                                                                            \
    F(ucs_status_t, ucp_worker_signal, (void *worker))                                                                         \
    F(unsigned, ucp_worker_progress, (void *worker))                                                                           \
    F(ucs_status_t, ucp_worker_set_am_recv_handler, (void *worker, const struct ucp_am_handler_param *param))                  \
    F(ucs_status_t, ucp_ep_create, (void *worker, const struct ucp_ep_params *params, void **ep))                              \
    F(void *, ucp_ep_close_nbx, (void *ep, const struct ucp_request_param *param))                                             \
    F(void *, ucp_am_send_nbx,                                                                                                 \
      (void *ep, unsigned id, const void *header, size_t header_length, const void *data, size_t count,                        \
       const struct ucp_request_param *param))                                                                                 \
    F(void *, ucp_am_recv_data_nbx,                                                                                            \
      (void *worker, void *announced, void *data, size_t count, const struct ucp_request_param *param))                        \
    F(void, ucp_am_data_release, (void *worker, void *announced))                                                              \
    F(ucs_status_t, ucp_request_check_status, (void *request))                                                                 \
    F(void, ucp_request_free, (void *request))

/* ---- opening --------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    bool found;
    char why[256];
#define F(type, name, parameters) type(*name) parameters;
    UCX_FUNCTIONS(F)
#undef F
    const char *(*ucs_status_string)(ucs_status_t status);
    ucs_status_t (*ucs_global_opts_set_value)(const char *name, const char *value);
} ucx_state = {.once = PTHREAD_ONCE_INIT};

/* UCX's constructors install handlers of errors' signals, which are the program's own business. */
static void ucx_load(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction before[sizeof signals / sizeof *signals];
    const char *dir = secure_getenv("HILO_UCX_PATH");
    char path[4096];
    snprintf(path, sizeof path, "%s%slibucp.so.0", dir ? dir : "", dir ? "/" : "");
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], NULL, &before[i]);
    void *library = dir && !*dir ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &before[i], NULL);
    const char *why = library ? NULL : dir && !*dir ? "HILO_UCX_PATH is empty" : dlerror();
    ucx_state.found = library;
    void *p = NULL;
#define F(type, name, parameters)                                                                                              \
    if (ucx_state.found && (ucx_state.found = (p = dlsym(library, #name)) != NULL))                                            \
        memcpy(&ucx_state.name, &p, sizeof p);                                                                                 \
    else if (library && !why)                                                                                                  \
        why = "it has no " #name;
    UCX_FUNCTIONS(F)
    F(, ucs_status_string, )
    F(, ucs_global_opts_set_value, )
#undef F
    if (ucx_state.found && !getenv("UCX_LOG_LEVEL")) /* what fails is reported as a status: the library prints nothing */
        (void)ucx_state.ucs_global_opts_set_value("LOG_LEVEL", "fatal");
    snprintf(ucx_state.why, sizeof ucx_state.why, "%s", why ? why : "");
}

struct ucx_peer {
    void *ep;
    struct ucx *ucx;
    uint32_t node;
    void *closing; /* the request of that, at the end */
};

struct ucx {
    struct comm *comm;
    hilo_allocator al;
    void *context, *worker, *address;
    size_t address_bytes;
    void *arriving;        /* announced by the frame that is being received; NULL once it is dropped */
    int fd;
    uint32_t npeers;
    struct ucx_peer *peers;
};

static hilo_status ucx_fail(struct strbuf *why, const char *what, ucs_status_t status) {
    strbuf_printf(why, "UCX: %s: %s", what, ucx_state.ucs_status_string(status));
    return HILO_UNAVAILABLE;
}

static bool is_error(const void *p) {
    return (uintptr_t)p >= (uintptr_t)UCS_ERR_LAST;
}

static ucs_status_t on_frame(void *arg, const void *header, size_t header_length, void *data, size_t length,
                             const struct ucp_am_recv_param *param) {
    struct ucx *t = arg;
    struct comm_frame head;
    bool announced = param->recv_attr & BIT(17);
    if (header_length != sizeof head)
        return UCS_OK;
    memcpy(&head, header, sizeof head);
    t->arriving = announced ? data : NULL;
    comm_arrived(t->comm, &head, announced ? NULL : data, announced ? data : NULL, length);
    bool kept = t->arriving != NULL;
    t->arriving = NULL;
    return kept ? UCS_INPROGRESS : UCS_OK;
}

static void on_peer_error(void *arg, void *ep, ucs_status_t status) {
    const struct ucx_peer *p = arg;
    (void)ep;
    comm_node_failed(p->ucx->comm, p->node, ucx_state.ucs_status_string(status));
}

/* Shared memory reports a peer that has died only when it is told to; keep-alives find those that cannot be reached. What
   a version does not know is not set. */
static ucs_status_t ucx_context(struct ucx *t) {
    static const char *const settings[][2] = {{"MM_ERROR_HANDLING", "y"}, {"KEEPALIVE_INTERVAL", "1s"}};
    void *config;
    ucs_status_t status = ucx_state.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return status;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        (void)ucx_state.ucp_config_modify(config, settings[i][0], settings[i][1]);
    struct ucp_params params = {.field_mask = BIT(0), .features = BIT(4) | BIT(6)};
    status = ucx_state.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &t->context);
    ucx_state.ucp_config_release(config);
    return status;
}

static void ucx_close(void *transport);

static hilo_status ucx_open(struct comm *c, const hilo_allocator *al, uint32_t nnodes, struct strbuf *why, void **out) {
    pthread_once(&ucx_state.once, ucx_load);
    if (!ucx_state.found) {
        strbuf_printf(why, "several processes need UCX, of the package libucx0 (Debian): %s", ucx_state.why);
        return HILO_UNAVAILABLE;
    }
    size_t bytes = sizeof(struct ucx) + nnodes * sizeof(struct ucx_peer);
    struct ucx *t = mem_alloc(al, bytes);
    if (!t)
        return HILO_RESOURCE_EXHAUSTED;
    memset(t, 0, bytes);
    *t = (struct ucx){.comm = c, .al = *al, .npeers = nnodes, .peers = (struct ucx_peer *)(t + 1), .fd = -1};
    struct ucp_worker_params wp = {.field_mask = BIT(0), .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    struct ucp_am_handler_param handler = {.field_mask = BIT(4) - 1, .flags = 1, .cb = on_frame, .arg = t};
    ucs_status_t status = ucx_context(t);
    if (status == UCS_OK)
        status = ucx_state.ucp_worker_create(t->context, &wp, &t->worker);
    if (status == UCS_OK)
        status = ucx_state.ucp_worker_set_am_recv_handler(t->worker, &handler);
    if (status == UCS_OK)
        status = ucx_state.ucp_worker_get_efd(t->worker, &t->fd);
    if (status == UCS_OK)
        status = ucx_state.ucp_worker_get_address(t->worker, &t->address, &t->address_bytes);
    if (status == UCS_OK) {
        *out = t;
        return HILO_OK;
    }
    ucx_close(t);
    return ucx_fail(why, "cannot be started", status);
}

/* ---- peers ----------------------------------------------------------------------------------- */

static struct str ucx_address(void *transport) {
    const struct ucx *t = transport;
    return (struct str){t->address, t->address_bytes};
}

static hilo_status ucx_connect(void *transport, uint32_t node, struct str address, struct strbuf *why) {
    struct ucx *t = transport;
    struct ucx_peer *p = &t->peers[node];
    *p = (struct ucx_peer){.ucx = t, .node = node};
    struct ucp_ep_params params = {.field_mask = BIT(0) | BIT(1) | BIT(2), .address = address.p, .err_mode = 1,
                                   .err_handler = {on_peer_error, p}};
    ucs_status_t status = ucx_state.ucp_ep_create(t->worker, &params, &p->ep);
    return status == UCS_OK ? HILO_OK : ucx_fail(why, "cannot connect", status);
}

/* Begins to close the endpoint, without waiting for what has not left. The request, or NULL: it is closed. */
static void *close_start(struct ucx_peer *p) {
    struct ucp_request_param params = {.op_attr_mask = 1u << 4, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    void *request = p->ep ? ucx_state.ucp_ep_close_nbx(p->ep, &params) : NULL;
    p->ep = NULL;
    return is_error(request) ? NULL : request;
}

static void close_wait(struct ucx *t, void *request, int64_t end) {
    if (!request)
        return;
    while (ucx_state.ucp_request_check_status(request) == UCS_INPROGRESS && comm_now_ms() < end)
        ucx_state.ucp_worker_progress(t->worker);
    ucx_state.ucp_request_free(request);
}

/* What is under way on the endpoint ends with an error. */
static void peer_close(struct ucx *t, struct ucx_peer *p) {
    close_wait(t, close_start(p), comm_now_ms() + UCX_CLOSE_MS);
}

static void ucx_close(void *transport) {
    struct ucx *t = transport;
    int64_t end = comm_now_ms() + UCX_CLOSE_MS;
    for (uint32_t i = 0; t->worker && i < t->npeers; i++)
        t->peers[i].closing = close_start(&t->peers[i]);
    for (uint32_t i = 0; t->worker && i < t->npeers; i++)
        close_wait(t, t->peers[i].closing, end);
    if (t->address)
        ucx_state.ucp_worker_release_address(t->worker, t->address);
    if (t->worker)
        ucx_state.ucp_worker_destroy(t->worker);
    if (t->context)
        ucx_state.ucp_cleanup(t->context);
    hilo_allocator al = t->al;
    mem_free(&al, t, sizeof *t + t->npeers * sizeof *t->peers);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void on_sent(void *request, ucs_status_t status, void *user) {
    struct comm_request *r = user;
    ucx_state.ucp_request_free(request);
    r->handle = NULL;
    comm_request_done(r, status == UCS_OK ? HILO_OK : HILO_UNAVAILABLE);
}

/* A frame that no thread waits for, with its bytes. */
static void on_told(void *request, ucs_status_t status, void *user) {
    (void)status;
    ucx_state.ucp_request_free(request);
    free(user);
}

/* The header stays until the frame has left: as part of the request, or of a copy. */
static void ucx_send(void *transport, uint32_t node, const struct comm_frame *head, const void *data, size_t bytes,
                     struct comm_request *r) {
    struct ucx *t = transport;
    struct ucx_peer *p = &t->peers[node];
    struct ucp_request_param params = {.op_attr_mask = 1u << 1 | 1u << 2, .cb.send = r ? on_sent : on_told, .user_data = r};
    char *copy = r || !p->ep ? NULL : malloc(sizeof *head + bytes);
    if (!p->ep || (!r && !copy)) {
        if (r)
            comm_request_done(r, HILO_UNAVAILABLE);
        return;
    }
    if (copy) {
        memcpy(copy, head, sizeof *head);
        memcpy(copy + sizeof *head, data, bytes);
        head = (const struct comm_frame *)copy;
        data = copy + sizeof *head;
        params.user_data = copy;
    }
    void *request = ucx_state.ucp_am_send_nbx(p->ep, 0, head, sizeof *head, data, bytes, &params);
    if (request && !is_error(request)) {
        if (r)
            r->handle = request;
        return;
    }
    free(copy);
    if (r)
        comm_request_done(r, request ? HILO_UNAVAILABLE : HILO_OK);
}

static void on_received(void *request, ucs_status_t status, size_t length, void *user) {
    struct comm_request *r = user;
    (void)length;
    ucx_state.ucp_request_free(request);
    r->handle = NULL;
    comm_request_done(r, status == UCS_OK ? HILO_OK : HILO_UNAVAILABLE);
}

static void ucx_fetch(void *transport, void *announced, struct comm_request *r) {
    struct ucx *t = transport;
    struct ucp_request_param params = {.op_attr_mask = 1u << 1 | 1u << 2, .cb.recv_am = on_received, .user_data = r};
    void *request = ucx_state.ucp_am_recv_data_nbx(t->worker, announced, r->data, r->bytes, &params);
    if (request && !is_error(request))
        r->handle = request;
    else
        comm_request_done(r, request ? HILO_UNAVAILABLE : HILO_OK);
}

/* While its frame is being received, a block is dropped by what on_frame returns: it must not be released, too. */
static void ucx_drop(void *transport, void *announced) {
    struct ucx *t = transport;
    if (t->arriving == announced)
        t->arriving = NULL;
    else
        ucx_state.ucp_am_data_release(t->worker, announced);
}

/* A block that has left cannot be called back: the connection with its node ends. */
static void ucx_cancel(void *transport, struct comm_request *r) {
    struct ucx *t = transport;
    peer_close(t, &t->peers[r->node]);
    for (int64_t end = comm_now_ms() + 1000; !r->done && comm_now_ms() < end;)
        ucx_state.ucp_worker_progress(t->worker);
}

static bool ucx_progress(void *transport) {
    return ucx_state.ucp_worker_progress(((struct ucx *)transport)->worker) != 0;
}

static bool ucx_arm(void *transport, int *fd) {
    struct ucx *t = transport;
    *fd = t->fd;
    return ucx_state.ucp_worker_arm(t->worker) == UCS_OK;
}

static void ucx_signal(void *transport) {
    (void)ucx_state.ucp_worker_signal(((struct ucx *)transport)->worker);
}

const struct comm_transport comm_ucx = {"UCX", ucx_open, ucx_close, ucx_address, ucx_connect, ucx_send,
                                        ucx_fetch, ucx_drop, ucx_cancel, ucx_progress, ucx_arm, ucx_signal};
