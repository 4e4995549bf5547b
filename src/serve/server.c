/* The server: models, routes, errors. */
#include "serve/server.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- answers --------------------------------------------------------------------------------- */

void serve_log(const struct server *s, const char *fmt, ...) {
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (s->o.log)
        s->o.log(s->o.user, line);
}

json_t *serve_text(struct str s) {
    json_t *v = json_stringn(s.p, s.n);
    if (v)
        return v;
    struct strbuf b;
    uint32_t c;
    strbuf_init(&b, mem_system_allocator());
    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = llm_utf8(s.p + i, s.p + s.n, &c);
        if (n)
            strbuf_putn(&b, s.p + i, n);
        else
            strbuf_puts(&b, "\xEF\xBF\xBD");
    }
    v = json_stringn(b.p ? b.p : "", b.n);
    strbuf_free(&b);
    return v;
}

json_t *serve_log_probability(double v) {
    return isnan(v) ? json_null() : json_real(v > -9999 ? v : -9999);
}

json_t *serve_error_object(unsigned status, const char *code, const char *param, const char *message) {
    const char *type = status == 401 ? "authentication_error" : status < 500 ? "invalid_request_error" : "server_error";
    return json_pack("{s:{s:o,s:s,s:s?,s:s?}}", "error", "message", serve_text(str_of(message)), "type", type, "param", param,
                     "code", code);
}

static void put_json(struct strbuf *out, json_t *v) {
    char *text = v ? json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (text)
        strbuf_puts(out, text);
    else
        out->failed = true;
    free(text);
    json_decref(v);
}

bool serve_error(struct call *c, unsigned status, const char *code, const char *param, const char *fmt, ...) {
    char message[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    c->answer->status = status;
    c->answer->retry = status == 503;
    c->answer->body.n = 0;
    put_json(&c->answer->body, serve_error_object(status, code, param, message));
    return false;
}

bool serve_failed(struct call *c, hilo_status status, const char *param) {
    char message[1024] = "";
    size_t n = 0;
    for (const struct diag *d = c->d.first; d && n < sizeof message; d = d->next)
        n += (size_t)snprintf(message + n, sizeof message - n, "%s%s", n ? "; " : "", d->message);
    bool ours = status != HILO_INVALID_ARGUMENT && status != HILO_FAILED_PRECONDITION && status != HILO_NOT_FOUND &&
                status != HILO_OUT_OF_RANGE;
    return serve_error(c, ours ? 500 : 400, NULL, param, "%s", n ? message : hilo_status_name(status));
}

void serve_json(struct call *c, json_t *v) {
    c->answer->status = 200;
    put_json(&c->answer->body, v);
}

void serve_event(struct strbuf *out, const char *name, json_t *v) {
    if (name)
        strbuf_printf(out, "event: %s\n", name);
    strbuf_puts(out, "data: ");
    put_json(out, v);
    strbuf_puts(out, "\n\n");
}

struct serve_model *serve_model_of(struct call *c) {
    const json_t *name = json_object_get(c->body, "model");
    struct server *s = c->server;
    struct serve_model *m = NULL;
    if (name && !json_is_string(name) && !json_is_null(name)) {
        serve_error(c, 400, NULL, "model", "'model' is not a string");
        return NULL;
    }
    for (size_t i = 0; i < s->o.nmodels && !m; i++)
        if (!json_is_string(name) ? s->models[i].s != NULL : strcmp(json_string_value(name), s->models[i].id) == 0)
            m = &s->models[i];
    if (!m)
        serve_error(c, 404, "model_not_found", "model", "there is no model '%.100s'",
                    json_is_string(name) ? json_string_value(name) : "");
    else if (!m->s)
        serve_error(c, 503, "model_not_loaded", "model", "the model '%s' was not loaded: %s", m->id, m->why);
    return m && m->s ? m : NULL;
}

/* ---- routes ---------------------------------------------------------------------------------- */

struct route {
    const char *method, *path;
    void (*handle)(struct call *c);
    bool open; /* without an API key, and while the server ends */
};

static const struct route routes[] = {
    {"POST", "/v1/chat/completions", serve_chat, false},
    {"POST", "/v1/completions", serve_completion, false},
    {"POST", "/v1/responses", serve_responses, false},
    {"POST", "/v1/embeddings", serve_embeddings, false},
    {"POST", "/completion", serve_llama_completion, false},
    {"GET", "/props", serve_props, false},
    {"GET", "/v1/models", serve_models, false},
    {"GET", "/v1/models/", serve_one_model, false},
    {"POST", "/tokenize", serve_tokenize, false},
    {"POST", "/detokenize", serve_detokenize, false},
    {"POST", "/apply-template", serve_template, false},
    {"GET", "/slots", serve_slots, false},
    {"GET", "/metrics", serve_metrics, false},
    {"GET", "/health", serve_health, true},
    {"GET", "/v1/health", serve_health, true},
    {"GET", "/", serve_page, true},
};

/* A route's path that ends with a slash, other than that of the page, stands for all names below it. Other paths may end with
   one. */
static bool leads_to(const char *path, const struct route *r) {
    size_t n = strlen(r->path), length = strlen(path);
    if (n > 1 && r->path[n - 1] == '/')
        return length > n && strncmp(path, r->path, n) == 0;
    return strncmp(path, r->path, n) == 0 && (length == n || (n > 1 && length == n + 1 && path[n] == '/'));
}

/* The time it takes says nothing about the keys. */
static bool has_key(const struct call *c) {
    const char *given = c->http->authorization;
    bool found = c->server->o.nkeys == 0;
    struct str key = {"", 0};
    if (given && strncmp(given, "Bearer ", 7) == 0)
        key = str_of(given + 7);
    for (size_t i = 0; i < c->server->o.nkeys; i++) {
        struct str want = str_of(c->server->o.keys[i]);
        unsigned char differ = want.n != key.n;
        for (size_t k = 0; k < want.n; k++)
            differ |= (unsigned char)(want.p[k] ^ (k < key.n ? key.p[k] : 0));
        found |= !differ;
    }
    return found;
}

static bool read_body(struct call *c) {
    json_error_t e;
    if (strcmp(c->http->method, "POST") != 0)
        return true;
    c->body = llm_json_load(c->http->body, JSON_REJECT_DUPLICATES, mem_system_allocator(), &e);
    if (!c->body)
        return serve_error(c, 400, "invalid_json", NULL, "the body is not JSON: %s at line %d, column %d", e.text, e.line,
                           e.column);
    return json_is_object(c->body) || serve_error(c, 400, "invalid_json", NULL, "the body is not a JSON object");
}

static void answer(struct call *c) {
    const char *path = c->http->path, *method = c->http->method;
    const struct route *found = NULL;
    bool path_known = false;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        bool same = leads_to(path, &routes[i]);
        path_known |= same;
        if (same)
            c->answer->allow = strcmp(routes[i].method, "GET") == 0 ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
        if (same && strcmp(strcmp(method, "HEAD") == 0 ? "GET" : method, routes[i].method) == 0)
            found = &routes[i];
    }
    if (strcmp(method, "OPTIONS") == 0 && path_known)
        c->answer->status = 204;
    else if (!found)
        serve_error(c, path_known ? 405 : 404, NULL, NULL, "there is no %.10s %.100s", method, path);
    else if (!found->open && !has_key(c))
        serve_error(c, 401, "invalid_api_key", NULL, "the API key is missing or wrong");
    else if (!found->open && c->server->draining)
        serve_error(c, 503, "shutting_down", NULL, "the server is shutting down");
    else if (read_body(c))
        found->handle(c);
}

void server_handle(void *user, const struct http_call *http) {
    struct server *s = user;
    struct call c = {.server = s, .http = http, .answer = http->answer};
    double begin = rt_now_ms();
    diag_init(&c.d, mem_system_allocator());
    if (http->origin && s->o.origin && (strcmp(s->o.origin, "*") == 0 || strcmp(s->o.origin, http->origin) == 0))
        http->answer->allowed_origin = s->o.origin;
    answer(&c);
    diag_clear(&c.d);
    json_decref(c.body);
    unsigned status = http->answer->status;
    s->answers[status / 100 < 6 ? status / 100 : 5]++;
    serve_log(s, "%s %.100s %u %.1f ms%s", http->method, http->path, status, rt_now_ms() - begin,
              http->answer->next ? ", then a stream" : "");
}

/* ---- models ---------------------------------------------------------------------------------- */

static void append_message(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

/* The last part of the path, without the end of a file's name. */
static void name_model(struct serve_model *m, const struct serve_model *others, size_t n) {
    char path[4096];
    snprintf(path, sizeof path, "%s", m->path);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
    length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".gguf") == 0)
        length -= 5;
    snprintf(m->id, sizeof m->id - 8, "%.*s", (int)length, name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(others[i].id, m->id) == 0) {
            snprintf(m->id + strlen(m->id), 8, "-%zu", n + 1);
            break;
        }
}

static int cancelled(void *user) {
    const struct server *s = user;
    return s->o.stop && *s->o.stop > 1;
}

struct warm_up {
    const struct server *server;
    const struct serve_model *model;
    double told; /* rt_now_ms() */
};

/* A line each second; SIGTERM ends it. */
static bool tell_warm_up(void *user, size_t done, size_t all) {
    enum { TELL_MS = 1000 };
    struct warm_up *w = user;
    if (done == 0 || rt_now_ms() - w->told > TELL_MS) {
        serve_log(w->server, "model %s: compiling program %zu of %zu", w->model->id, done + 1, all);
        w->told = rt_now_ms();
    }
    return !w->server->o.stop || !*w->server->o.stop;
}

/* Why there is no client is told by its log alone. */
static void on_client_log(void *user, hilo_log_level level, const char *message) {
    struct serve_model *m = user;
    if (level == HILO_LOG_ERROR && !m->client)
        snprintf(m->why, sizeof m->why, "%s", message);
}

/* The client's diagnostics become the model's reason. */
static void take_reason(struct serve_model *m, hilo_status status) {
    struct strbuf why;
    strbuf_init(&why, mem_system_allocator());
    hilo_diagnostics_write(m->client, 0, append_message, &why);
    while (why.n && why.p[why.n - 1] == '\n')
        why.p[--why.n] = '\0';
    snprintf(m->why, sizeof m->why, "%s", why.n ? why.p : hilo_status_name(status));
    strbuf_free(&why);
}

static void open_model(struct server *s, struct serve_model *m) {
    struct llm_session_options so = {.engine = s->o.engine,
                                     .precision = s->o.precision,
                                     .level = s->o.level,
                                     .context = s->o.context,
                                     .batch = 1,
                                     .cancelled = cancelled,
                                     .cancelled_user = s};
    struct warm_up w = {.server = s, .model = m};
    struct schedule_options xo = {
        .slots = s->o.slots, .queue = s->o.queue, .warm_up = s->o.no_warm_up ? NULL : tell_warm_up, .user = &w};
    hilo_client_options co = s->o.client;
    co.log = on_client_log;
    co.log_user = m;
    hilo_status status = hilo_client_create(&co, &m->client);
    if (status != HILO_OK && !*m->why)
        snprintf(m->why, sizeof m->why, "%s", hilo_status_name(status));
    if (status != HILO_OK)
        return;
    status = llm_session_open(m->client, m->path, &so, &m->s);
    if (status == HILO_OK && !llm_session_follows(m->s))
        status = schedule_open(m->s, &xo, &m->x);
    if (status == HILO_OK)
        return;
    take_reason(m, status);
    llm_session_close(m->s);
    m->s = NULL;
}

static void close_model(struct serve_model *m) {
    schedule_close(m->x);
    llm_session_close(m->s);
    if (m->client)
        hilo_client_release(m->client);
}

/* ---- the server's life ----------------------------------------------------------------------- */

static bool at_work(const struct server *s) {
    for (size_t i = 0; i < s->o.nmodels; i++) {
        struct serve_counts c = {0};
        if (s->models[i].x)
            c = schedule_counts(s->models[i].x);
        if (c.busy || c.queued)
            return true;
    }
    return false;
}

static void serve_until_stopped(struct server *s, struct http *h) {
    struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    while (!*s->o.stop)
        nanosleep(&pause, NULL);
    serve_log(s, "ending: no new requests");
    s->draining = true;
    while (*s->o.stop < 2 && (at_work(s) || http_active(h)))
        nanosleep(&pause, NULL);
    http_quiesce(h);
    for (size_t i = 0; i < s->o.nmodels; i++) /* handlers wait for jobs: those end first */
        schedule_stop(s->models[i].x);
}

hilo_status server_open(struct server *s, const struct serve_options *o, char *why, size_t size) {
    size_t loaded = 0;
    s->o = *o;
    s->started = time(NULL);
    s->models = calloc(o->nmodels, sizeof *s->models);
    for (size_t i = 0; i < o->nmodels && s->models; i++) {
        struct serve_model *m = &s->models[i];
        m->path = o->models[i];
        name_model(m, s->models, i);
        open_model(s, m);
        if (m->s)
            serve_log(s, "model %s: loaded from %s", m->id, m->path);
        else
            serve_log(s, "model %s: not loaded from %s: %s", m->id, m->path, m->why);
        loaded += m->s != NULL;
    }
    if (!loaded)
        snprintf(why, size, "no model was loaded: %s", s->models ? s->models[0].why : "out of memory");
    return loaded ? HILO_OK : HILO_NOT_FOUND;
}

void server_close(struct server *s) {
    for (size_t i = 0; i < s->o.nmodels && s->models; i++)
        close_model(&s->models[i]);
    free(s->models);
}

/* A node but the first. */
static hilo_status follow(const struct serve_options *o, char *why, size_t size) {
    struct server s = {.o = *o};
    struct serve_model m = {.path = o->models[0]};
    hilo_status status = HILO_NOT_FOUND;
    open_model(&s, &m);
    if (m.s) {
        status = llm_session_follow(m.s);
        if (status != HILO_OK)
            take_reason(&m, status);
    }
    close_model(&m);
    snprintf(why, size, "node %d: %s", (int)o->client.node, m.why);
    return status;
}

hilo_status serve_run(const struct serve_options *o, char *why, size_t size) {
    struct server s = {0};
    if (o->client.node > 0)
        return follow(o, why, size);
    struct http_options ho = {.host = o->host,
                              .port = o->port,
                              .connections = o->connections,
                              .timeout_s = 60,
                              .body_bytes = o->body_bytes,
                              .handle = server_handle,
                              .user = &s};
    struct http *h;
    hilo_status status = server_open(&s, o, why, size);
    if (status == HILO_OK)
        status = http_start(&ho, &h, why, size);
    if (status == HILO_OK) {
        bool six = strchr(o->host, ':') != NULL;
        serve_log(&s, "listening on http://%s%s%s:%u", six ? "[" : "", o->host, six ? "]" : "", http_port(h));
        serve_until_stopped(&s, h);
        http_stop(h);
    }
    server_close(&s);
    return status;
}
