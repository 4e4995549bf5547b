/* hilo serve: language models behind OpenAI's HTTP interface. docs/SERVE.md describes it.
 *
 *   http.c       HTTP, by libmicrohttpd            task.c       parameters of a request
 *   schedule.c   continuous batching               text.c       a request from its prompt to its answer
 *   server.c     models, routes, errors            split.c      reasoning and tool calls in a text
 *   chat.c, completion.c, llama.c, responses.c, misc.c      the endpoints */
#ifndef HILO_SERVE_SERVE_H
#define HILO_SERVE_SERVE_H

#include "llm/model.h"

#include <stdatomic.h>

struct serve_options {
    const char *const *models; /* directories and GGUF files */
    size_t nmodels;
    const char *host; /* numeric */
    uint16_t port;    /* 0 = any free one */
    const char *engine;
    enum llm_precision precision;
    int32_t level;
    hilo_client_options client;      /* of each model; with several devices or nodes these divide the model, nodes only one */
    int64_t context;
    bool no_warm_up;                 /* programs of steps are compiled when they are needed, not before */
    size_t slots, queue;             /* of each model */
    size_t body_bytes, most_tokens;  /* most_tokens: of an answer; 0 = the context */
    unsigned connections, timeout_s; /* timeout_s: of a request; 0 = none */
    const char *const *keys;         /* API keys; none: everybody may ask */
    size_t nkeys;
    const char *origin; /* that browsers may ask from; NULL = none, "*" = any */
    void (*log)(void *user, const char *line);
    void *user;
    const atomic_int *stop; /* 1: end when all requests are answered; 2: at once; not NULL for serve_run */
};

/* Serves until *stop. An error's reason is in `why`. A node but the first (client.node) computes what that one asks for, until
   that ends. */
hilo_status serve_run(const struct serve_options *o, char *why, size_t size);

#endif
