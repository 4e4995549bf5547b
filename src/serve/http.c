/* HTTP: see http.h. */
#include "serve/http.h"

#include <stdio.h>

#ifdef HILO_HAVE_MICROHTTPD
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

struct mhd {
#define MHD(name) __typeof__(&MHD_##name) name;
#include "serve/mhd.def"
};

static const struct {
    const char *name;
    size_t offset;
} mhd_functions[] = {
#define MHD(name) {"MHD_" #name, offsetof(struct mhd, name)},
#include "serve/mhd.def"
};

struct http {
    struct http_options o;
    struct mhd mhd;
    void *library;
    struct MHD_Daemon *daemon;
    int listening; /* the socket, after http_quiesce; else -1 */
    uint16_t port;
    atomic_uint active;
};

/* A request that is being received, and then the stream that answers it. */
struct exchange {
    struct http *http;
    struct MHD_Connection *connection;
    struct strbuf body, piece;
    size_t taken; /* bytes of `piece` */
    bool too_large, ended;
    struct http_answer answer;
};

/* While a handler or a stream works, the client need not be active. Setting a limit where there was none begins its time. */
static void limit_time(struct exchange *x, bool on) {
    x->http->mhd.set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT, on ? x->http->o.timeout_s : 0U);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void free_answer(struct http_answer *a) {
    strbuf_free(&a->body);
    if (a->end)
        a->end(a->user);
    a->end = NULL;
}

static void free_exchange(void *user) {
    struct exchange *x = user;
    hilo_allocator al = mem_system_allocator();
    x->http->active--;
    free_answer(&x->answer);
    strbuf_free(&x->body);
    strbuf_free(&x->piece);
    mem_free(&al, x, sizeof *x);
}

/* Bytes of a stream, of which `next` makes one piece at a time. */
static ssize_t read_stream(void *user, uint64_t at, char *out, size_t size) {
    struct exchange *x = user;
    (void)at;
    while (x->taken == x->piece.n) {
        if (x->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        x->taken = x->piece.n = 0;
        limit_time(x, false);
        x->ended = !x->answer.next(x->answer.user, &x->piece);
        limit_time(x, true);
        if (x->piece.failed)
            return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t n = x->piece.n - x->taken < size ? x->piece.n - x->taken : size;
    memcpy(out, x->piece.p + x->taken, n);
    x->taken += n;
    return (ssize_t)n;
}

static void add_headers(const struct mhd *m, struct MHD_Response *r, const struct http_answer *a) {
    m->add_response_header(r, "Content-Type", a->type);
    if (a->next)
        m->add_response_header(r, "Cache-Control", "no-cache");
    if (a->retry)
        m->add_response_header(r, "Retry-After", "1");
    if (a->status == 405 || a->status == 204)
        m->add_response_header(r, "Allow", a->allow);
    if (a->status == 401)
        m->add_response_header(r, "WWW-Authenticate", "Bearer");
    if (a->allowed_origin) {
        m->add_response_header(r, "Access-Control-Allow-Origin", a->allowed_origin);
        m->add_response_header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type");
        m->add_response_header(r, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
        m->add_response_header(r, "Vary", "Origin");
    }
}

/* Queues what the handler answered. A stream belongs to the response from here on, else to the request. */
static enum MHD_Result reply(struct exchange *x, struct MHD_Connection *c, void **request) {
    enum { BLOCK = 16 << 10 };
    const struct mhd *m = &x->http->mhd;
    struct http_answer *a = &x->answer;
    struct MHD_Response *r;
    if (a->next) {
        r = m->create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, x, free_exchange);
        if (r)
            *request = NULL;
    } else {
        r = a->body.failed ? NULL
                           : m->create_response_from_buffer(a->body.n, a->body.n ? a->body.p : (char *)(uintptr_t) "",
                                                            MHD_RESPMEM_MUST_COPY);
    }
    if (!r)
        return MHD_NO;
    add_headers(m, r, a);
    enum MHD_Result result = m->queue_response(c, a->status, r);
    m->destroy_response(r);
    return result;
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct exchange *new_exchange(struct http *h) {
    hilo_allocator al = mem_system_allocator();
    struct exchange *x = mem_alloc(&al, sizeof *x);
    if (!x)
        return NULL;
    h->active++;
    *x = (struct exchange){.http = h, .answer = {.status = 500, .type = "application/json"}};
    strbuf_init(&x->body, al);
    strbuf_init(&x->piece, al);
    strbuf_init(&x->answer.body, al);
    return x;
}

static void handle(struct exchange *x, struct MHD_Connection *c, const char *path, const char *method) {
    const struct mhd *m = &x->http->mhd;
    const union MHD_ConnectionInfo *info = m->get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_call call = {.method = method,
                             .path = path,
                             .body = {x->body.p ? x->body.p : "", x->body.n},
                             .fd = info ? info->connect_fd : -1,
                             .authorization = m->lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
                             .origin = m->lookup_connection_value(c, MHD_HEADER_KIND, "Origin"),
                             .answer = &x->answer};
    if (x->too_large || x->body.failed) {
        x->answer.status = 413;
        strbuf_printf(&x->answer.body,
                      "{\"error\":{\"message\":\"the body is larger than %zu bytes\",\"type\":\"invalid_request_error\","
                      "\"param\":null,\"code\":\"request_too_large\"}}",
                      x->http->o.body_bytes);
        return;
    }
    limit_time(x, false);
    x->http->o.handle(x->http->o.user, &call);
    limit_time(x, true);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *data, size_t *n, void **request) {
    struct exchange *x = *request;
    (void)version;
    if (!x) {
        *request = new_exchange(user);
        return *request ? MHD_YES : MHD_NO;
    }
    if (*n) { /* what is too large is read and dropped, so that the client reads the answer */
        x->too_large |= *n > x->http->o.body_bytes || x->body.n > x->http->o.body_bytes - *n;
        if (!x->too_large)
            strbuf_putn(&x->body, data, *n);
        *n = 0;
        return MHD_YES;
    }
    x->connection = c;
    handle(x, c, path, method);
    return reply(x, c, request);
}

static void on_completed(void *user, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode code) {
    (void)user;
    (void)c;
    (void)code;
    if (*request)
        free_exchange(*request);
    *request = NULL;
}

bool http_gone(const struct http_call *call) {
    char byte;
    ssize_t n = recv(call->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static bool open_library(struct http *h, char *why, size_t size) {
    h->library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!h->library) {
        const char *reason = dlerror();
        snprintf(why, size, "libmicrohttpd is missing (Debian: libmicrohttpd12): %s", reason ? reason : "not found");
        return false;
    }
    for (size_t i = 0; i < sizeof mhd_functions / sizeof *mhd_functions; i++) {
        void *p = dlsym(h->library, mhd_functions[i].name);
        memcpy((char *)&h->mhd + mhd_functions[i].offset, &p, sizeof p);
        if (!p) {
            snprintf(why, size, "libmicrohttpd has no %s", mhd_functions[i].name);
            return false;
        }
    }
    return true;
}

static bool find_address(const struct http_options *o, struct addrinfo **out, char *why, size_t size) {
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    snprintf(port, sizeof port, "%u", o->port);
    int code = getaddrinfo(o->host, port, &hints, out);
    if (code)
        snprintf(why, size, "%s: expected a numeric address: %s", o->host, gai_strerror(code));
    return code == 0;
}

static hilo_status start(struct http *h, char *why, size_t size) {
    struct addrinfo *address;
    if (!open_library(h, why, size))
        return HILO_NOT_FOUND;
    if (!find_address(&h->o, &address, why, size))
        return HILO_INVALID_ARGUMENT;
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC |
                     (address->ai_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0);
    errno = 0;
    h->daemon = h->mhd.start_daemon(flags, h->o.port, NULL, NULL, on_request, h, MHD_OPTION_SOCK_ADDR, address->ai_addr,
                                    MHD_OPTION_CONNECTION_LIMIT, h->o.connections, MHD_OPTION_CONNECTION_TIMEOUT,
                                    h->o.timeout_s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
    freeaddrinfo(address);
    if (!h->daemon) {
        snprintf(why, size, "cannot listen on %s, port %u: %s", h->o.host, h->o.port, errno ? strerror(errno) : "no reason");
        return HILO_UNAVAILABLE;
    }
    const union MHD_DaemonInfo *info = h->mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
    h->port = info ? info->port : h->o.port;
    return HILO_OK;
}

hilo_status http_start(const struct http_options *o, struct http **out, char *why, size_t size) {
    hilo_allocator al = mem_system_allocator();
    struct http *h = mem_alloc(&al, sizeof *h);
    if (!h)
        return HILO_RESOURCE_EXHAUSTED;
    *h = (struct http){.o = *o, .listening = -1};
    hilo_status status = start(h, why, size);
    if (status == HILO_OK)
        *out = h;
    else
        mem_free(&al, h, sizeof *h); /* a library stays open: it may leave threads behind */
    return status;
}

uint16_t http_port(const struct http *h) {
    return h->port;
}

unsigned http_active(const struct http *h) {
    return h->active;
}

void http_quiesce(struct http *h) {
    h->listening = h->mhd.quiesce_daemon(h->daemon);
}

void http_stop(struct http *h) {
    hilo_allocator al = mem_system_allocator();
    h->mhd.stop_daemon(h->daemon);
    if (h->listening >= 0)
        close(h->listening);
    mem_free(&al, h, sizeof *h);
}

#else /* built without its headers */

hilo_status http_start(const struct http_options *o, struct http **out, char *why, size_t size) {
    (void)o;
    (void)out;
    snprintf(why, size, "hilo was built without libmicrohttpd (Debian: libmicrohttpd-dev)");
    return HILO_UNIMPLEMENTED;
}

uint16_t http_port(const struct http *h) {
    (void)h;
    return 0;
}

unsigned http_active(const struct http *h) {
    (void)h;
    return 0;
}

void http_quiesce(struct http *h) {
    (void)h;
}

void http_stop(struct http *h) {
    (void)h;
}

bool http_gone(const struct http_call *call) {
    (void)call;
    return true;
}

#endif
