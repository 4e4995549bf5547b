/* HTTP for the server, by libmicrohttpd, which is opened when a server starts: no other command needs it.
 *
 * Each connection has a thread of its own, on which a handler runs and may wait. A handler answers with a whole body, or with a
 * stream, whose `next` is called for one piece after the other until it returns false; it may wait, too. Bounded are the number
 * of connections, the size of a body (413) and the time for which a client neither sends nor takes anything. */
#ifndef HILO_SERVE_HTTP_H
#define HILO_SERVE_HTTP_H

#include "base/str.h"

struct http_call {
    const char *method, *path; /* the path without arguments */
    struct str body;
    const char *authorization, *origin; /* headers; NULL if absent */
    int fd;
    struct http_answer *answer;
};

struct http_answer {
    unsigned status;
    const char *type;                             /* "application/json" …; static storage */
    struct strbuf body;                           /* of a whole answer */
    bool (*next)(void *user, struct strbuf *out); /* appends a piece; false = the end. NULL: not a stream */
    void (*end)(void *user);                      /* called once, also when the client left before the end */
    void *user;
    const char *allowed_origin; /* of CORS; NULL = none */
    bool retry;                 /* with Retry-After */
    const char *allow;          /* methods, for 405 and 204; static storage */
};

struct http_options {
    const char *host; /* numeric address */
    uint16_t port;    /* 0 = any free one */
    unsigned connections, timeout_s;
    size_t body_bytes;
    void (*handle)(void *user, const struct http_call *call);
    void *user;
};

struct http;
/* Starts to listen. On failure the reason is in `why`. */
hilo_status http_start(const struct http_options *o, struct http **out, char *why, size_t size);
uint16_t http_port(const struct http *h);
/* Requests that are not answered to the end yet. */
unsigned http_active(const struct http *h);
/* Accepts no more connections; those that are there go on. */
void http_quiesce(struct http *h);
/* Waits for the handlers and ends all connections. */
void http_stop(struct http *h);
/* Whether the client has closed its connection. */
bool http_gone(const struct http_call *call);

#endif
