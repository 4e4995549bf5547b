/* Errors, and memory that callers free. */
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- memory ---------------------------------------------------------------------------------- */

void *pjrt_alloc(size_t n, size_t size) {
    return calloc(n ? n : 1, size ? size : 1);
}

char *pjrt_dup(const char *p, size_t n) {
    char *copy = n < SIZE_MAX ? malloc(n + 1) : NULL;
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, p, n);
    copy[n] = 0;
    return copy;
}

struct pjrt_bytes *pjrt_bytes_new(void (*release)(void *object), void *object) {
    struct pjrt_bytes *b = pjrt_alloc(1, sizeof *b);
    if (b)
        *b = (struct pjrt_bytes){release, object};
    return b;
}

struct pjrt_bytes *pjrt_bytes_copy(const char *p, size_t n, const char **bytes) {
    char *copy = pjrt_dup(p, n);
    struct pjrt_bytes *b = copy ? pjrt_bytes_new(free, copy) : NULL;
    if (!b)
        free(copy);
    *bytes = b ? copy : NULL;
    return b;
}

void pjrt_bytes_delete(struct pjrt_bytes *b) {
    if (!b)
        return;
    if (b->release)
        b->release(b->object);
    free(b);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *const payload_keys[PJRT_NPAYLOADS] = {
    [PJRT_PLACE] = "hilo.location", [PJRT_LABEL] = "hilo.constraint", [PJRT_SOURCE] = "hilo.source",
};

static void table_message(const struct pjrt_error *error, const char **message, size_t *message_size) {
    *message = error->text;
    *message_size = error->text_size;
}

static int table_code(const struct pjrt_error *error) {
    return error->code;
}

static void table_payloads(const struct pjrt_error *error, pjrt_visit_fn *visit, void *user) {
    for (int i = 0; i < PJRT_NPAYLOADS; i++)
        if (error->payloads[i])
            visit(payload_keys[i], strlen(payload_keys[i]), error->payloads[i], strlen(error->payloads[i]), user);
}

static const struct pjrt_error_table error_table = {
    .struct_size = sizeof error_table, .instance_size = sizeof(struct pjrt_error), .destroy = pjrt_error_free,
    .message = table_message, .get_code = table_code, .for_each_payload = table_payloads,
};

/* Needs no memory, and is never freed. */
static const struct pjrt_error error_exhausted = {
    .table = &error_table, .code = HILO_RESOURCE_EXHAUSTED, .text = (char *)(uintptr_t)"out of memory", .text_size = 13,
};

struct pjrt_error *pjrt_exhausted(void) {
    return (struct pjrt_error *)(uintptr_t)&error_exhausted;
}

struct pjrt_error *pjrt_fail_n(int code, const char *text, size_t n) {
    struct pjrt_error *e = pjrt_alloc(1, sizeof *e);
    char *copy = e ? pjrt_dup(text, n) : NULL;
    if (!copy) {
        free(e);
        return pjrt_exhausted();
    }
    *e = (struct pjrt_error){.table = &error_table, .code = code ? code : HILO_UNKNOWN, .text = copy, .text_size = n};
    return e;
}

struct pjrt_error *pjrt_fail(hilo_status status, const char *fmt, ...) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(&text, fmt, ap);
    va_end(ap);
    struct pjrt_error *e = text.failed ? pjrt_exhausted() : pjrt_fail_n((int)status, text.p ? text.p : "", text.n);
    strbuf_free(&text);
    return e;
}

struct pjrt_error *pjrt_error_copy(const struct pjrt_error *error) {
    if (!error || error == &error_exhausted)
        return (struct pjrt_error *)(uintptr_t)error;
    struct pjrt_error *e = pjrt_fail_n(error->code, error->text, error->text_size);
    for (int i = 0; i < PJRT_NPAYLOADS && e != &error_exhausted; i++)
        if (error->payloads[i])
            e->payloads[i] = pjrt_dup(error->payloads[i], strlen(error->payloads[i]));
    return e;
}

void pjrt_error_free(struct pjrt_error *error) {
    if (!error || error == &error_exhausted)
        return;
    for (int i = 0; i < PJRT_NPAYLOADS; i++)
        free(error->payloads[i]);
    free(error->text);
    free(error);
}

/* ---- the log --------------------------------------------------------------------------------- */

enum { LOG_TOLD = 1000 }; /* warnings that are kept in mind; more are repeated */

/* Whether the client logs this warning for the first time. */
static bool is_news(struct pjrt_client *c, const char *message) {
    uint64_t hash = str_hash(message, strlen(message), 0);
    pthread_mutex_lock(&c->lock);
    bool known = false;
    for (size_t i = 0; i < c->told.n && !known; i++)
        known = c->told.v[i] == hash;
    uint64_t *more = known || c->told.n == LOG_TOLD ? NULL : realloc(c->told.v, (c->told.n + 1) * sizeof *more);
    if (more) {
        c->told.v = more;
        c->told.v[c->told.n++] = hash;
    }
    pthread_mutex_unlock(&c->lock);
    return !known;
}

void pjrt_log(void *user, hilo_log_level level, const char *message) {
    const char *least = getenv("TF_CPP_MIN_LOG_LEVEL"); /* 0 = information, 1 = warnings, 2 = errors */
    const struct pjrt_client *client = user;
    struct pjrt_capture *l = level == HILO_LOG_ERROR && !client->hilo ? pthread_getspecific(client->listener) : NULL;
    if (l) /* why there is no client is told here alone */
        strbuf_printf(&l->text, "%s%s", l->text.n ? "\n" : "", message);
    int severity = level == HILO_LOG_WARNING ? 1 : 0;
    if (level != HILO_LOG_ERROR && severity >= (least && *least >= '0' && *least <= '9' ? atoi(least) : 1) &&
        (severity == 0 || is_news(user, message)))
        fprintf(stderr, PJRT_PLATFORM ": %s\n", message);
}

void pjrt_log_ignored(struct pjrt_client *client, const char *what, const struct strbuf *names) {
    struct strbuf text;
    if (!names->n)
        return;
    strbuf_init(&text, mem_system_allocator());
    strbuf_printf(&text, "%s: %.*s", what, (int)(names->n < 4000 ? names->n : 4000), names->p);
    if (!text.failed)
        pjrt_log(client, HILO_LOG_WARNING, text.p);
    strbuf_free(&text);
}

/* ---- hilo's diagnostics ---------------------------------------------------------------------- */

void pjrt_capture_begin(struct pjrt_client *client, struct pjrt_capture *l) {
    *l = (struct pjrt_capture){.outer = pthread_getspecific(client->listener)};
    strbuf_init(&l->text, mem_system_allocator());
    pthread_setspecific(client->listener, l);
}

static char *capture_text(const char *z) {
    return z && *z ? pjrt_dup(z, strlen(z)) : NULL;
}

void pjrt_on_diagnostic(void *user, const hilo_diagnostic *d) {
    const struct pjrt_client *client = user;
    struct pjrt_capture *l = pthread_getspecific(client->listener);
    if (!l || d->severity != HILO_SEVERITY_ERROR)
        return;
    char place[32] = "";
    if (d->line)
        snprintf(place, sizeof place, ":%u:%u", d->line, d->column);
    if (!l->text.n) {
        struct strbuf where;
        strbuf_init(&where, mem_system_allocator());
        strbuf_printf(&where, "%s%s", d->file, place);
        l->payloads[PJRT_PLACE] = d->line ? capture_text(where.p) : NULL;
        l->payloads[PJRT_LABEL] = capture_text(d->label);
        l->payloads[PJRT_SOURCE] = capture_text(d->source);
        strbuf_free(&where);
    } else {
        strbuf_putc(&l->text, '\n');
    }
    if (d->line)
        strbuf_printf(&l->text, "%s%s: ", d->file, place);
    if (*d->label)
        strbuf_printf(&l->text, "[%s] ", d->label);
    strbuf_puts(&l->text, d->message);
    if (*d->source)
        strbuf_printf(&l->text, "\n    %s", d->source);
}

struct pjrt_error *pjrt_capture_end(struct pjrt_client *client, struct pjrt_capture *l, hilo_status status) {
    pthread_setspecific(client->listener, l->outer);
    struct pjrt_error *e = NULL;
    if (status != HILO_OK && l->text.failed)
        e = pjrt_exhausted();
    else if (status != HILO_OK)
        e = l->text.n ? pjrt_fail_n((int)status, l->text.p, l->text.n) : pjrt_fail(status, "%s", hilo_status_name(status));
    for (int i = 0; i < PJRT_NPAYLOADS; i++)
        if (e && e != &error_exhausted)
            e->payloads[i] = l->payloads[i];
        else
            free(l->payloads[i]);
    strbuf_free(&l->text);
    return e;
}

/* ---- the interface --------------------------------------------------------------------------- */

void pjrt_Error_Destroy(struct pjrt_Error_Destroy *a) {
    pjrt_error_free(a->error);
}

void pjrt_Error_Message(struct pjrt_Error_Message *a) {
    a->text = a->error ? a->error->text : "";
    a->text_size = a->error ? a->error->text_size : 0;
}

struct pjrt_error *pjrt_Error_GetCode(struct pjrt_Error_GetCode *a) {
    a->code = a->error ? a->error->code : HILO_OK;
    return NULL;
}

struct pjrt_error *pjrt_Error_ForEachPayload(struct pjrt_Error_ForEachPayload *a) {
    if (a->error && a->visitor)
        table_payloads(a->error, a->visitor, a->user);
    return NULL;
}
