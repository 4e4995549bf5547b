/* Requests of the server without HTTP: the first byte chooses the path, the others are the body. Answers are JSON, or streams
 * that end. */
#include "serve/server.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const paths[] = {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/tokenize",
                                    "/detokenize",          "/apply-template",  "/completion"};

/* Opened once for the process. */
static struct server *open_server(void) {
    static const char *const models[] = {"tests/llm/tiny-llama"};
    static struct server s;
    char why[512];
    struct serve_options o = {
        .models = models, .nmodels = 1, .level = 2, .context = 256, .slots = 4, .queue = 64, .most_tokens = 3,
        .no_warm_up = true};
    hilo_client_options_init(&o.client);
    if (!s.models && server_open(&s, &o, why, sizeof why) != HILO_OK)
        abort();
    return &s;
}

static void check(const struct http_answer *a, struct str text) {
    json_error_t e;
    if (strcmp(a->type, "application/json") == 0) {
        json_t *v = json_loadb(text.p, text.n, 0, &e);
        if (!v || (a->status != 200) != (json_object_get(v, "error") && json_is_object(json_object_get(v, "error"))))
            abort();
        json_decref(v);
    } else if (!str_starts(text, "data: ") && !str_starts(text, "event: ")) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    int ends[2];
    struct http_answer a = {.status = 500, .type = "application/json"};
    if (!size || size > 1 << 14 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 0;
    struct http_call call = {.method = "POST",
                             .path = paths[data[0] % (sizeof paths / sizeof *paths)],
                             .body = {(const char *)data + 1, size - 1},
                             .fd = ends[0],
                             .answer = &a};
    strbuf_init(&a.body, mem_system_allocator());
    server_handle(open_server(), &call);
    while (a.next && a.next(a.user, &a.body))
        ;
    check(&a, (struct str){a.body.p ? a.body.p : "", a.body.n});
    if (a.end)
        a.end(a.user);
    strbuf_free(&a.body);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
