/* Diagnostics: see diag.h. */
#include "base/diag.h"

#include <stdio.h>

void diag_init(struct diag_list *d, hilo_allocator al) {
    *d = (struct diag_list){.al = al};
}

static void diag_free_text(struct diag_list *d, char *z) {
    if (z)
        mem_free(&d->al, z, strlen(z) + 1);
}

static void diag_free(struct diag_list *d, struct diag *x) {
    diag_free_text(d, x->file);
    diag_free_text(d, x->message);
    diag_free_text(d, x->source);
    mem_free(&d->al, x, sizeof *x);
}

void diag_clear(struct diag_list *d) {
    for (struct diag *x = d->first; x;) {
        struct diag *next = x->next;
        diag_free(d, x);
        x = next;
    }
    diag_init(d, d->al);
}

void diag_move(struct diag_list *d, struct diag_list *from) {
    uint32_t uncounted = from->errors;
    for (struct diag *x = from->first; x;) {
        struct diag *next = x->next;
        bool error = x->severity == DIAG_ERROR;
        uncounted -= error;
        d->errors += error;
        if (d->errors > DIAG_MOST) {
            diag_free(d, x);
        } else {
            x->next = NULL;
            *(d->last ? &d->last->next : &d->first) = x;
            d->last = x;
        }
        x = next;
    }
    d->errors += uncounted;
    d->out_of_memory |= from->out_of_memory;
    diag_init(from, from->al);
}

static char *diag_copy(struct diag_list *d, const char *p, size_t n) {
    const char *nul = n ? memchr(p, '\0', n) : NULL;
    if (nul)
        n = (size_t)(nul - p);
    char *z = mem_alloc(&d->al, n + 1);
    if (!z)
        return NULL;
    if (n)
        memcpy(z, p, n);
    z[n] = '\0';
    return z;
}

/* The line with number `line` (from 1), or an empty string. Lines that are mostly data are cut. */
static struct str diag_line(struct str text, uint32_t line) {
    const char *p = text.p, *end = text.p + text.n;
    for (uint32_t i = 1; i < line && p < end; i++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        p = nl ? nl + 1 : end;
    }
    if (p >= end)
        return (struct str){NULL, 0};
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    size_t n = (size_t)((nl ? nl : end) - p);
    return (struct str){p, n > 400 ? 400 : n};
}

hilo_status diag_vadd(struct diag_list *d, enum diag_severity sev, hilo_status status, const char *label,
                      struct diag_loc loc, struct str text, const char *fmt, va_list ap) {
    if (sev == DIAG_ERROR && ++d->errors > DIAG_MOST)
        return status;
    struct strbuf message;
    strbuf_init(&message, d->al);
    strbuf_vprintf(&message, fmt, ap);
    struct diag *x = mem_alloc(&d->al, sizeof *x);
    if (!x) {
        strbuf_free(&message);
        d->out_of_memory = true;
        return status;
    }
    *x = (struct diag){.severity = sev, .status = status, .line = loc.line, .col = loc.col, .length = loc.length};
    snprintf(x->label, sizeof x->label, "%s", label ? label : "");
    x->file = diag_copy(d, loc.file.p, loc.file.n);
    x->message = diag_copy(d, message.p, message.n);
    uint32_t first = d->first_line ? d->first_line : 1;
    struct str source = text.n && loc.line >= first ? diag_line(text, loc.line - first + 1) : (struct str){NULL, 0};
    if (source.p)
        x->source = diag_copy(d, source.p, source.n);
    d->out_of_memory |= !x->file || !x->message || (source.p && !x->source);
    strbuf_free(&message);
    if (d->last)
        d->last->next = x;
    else
        d->first = x;
    d->last = x;
    return status;
}

hilo_status diag_add(struct diag_list *d, enum diag_severity sev, hilo_status status, const char *label,
                     struct diag_loc loc, struct str text, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    diag_vadd(d, sev, status, label, loc, text, fmt, ap);
    va_end(ap);
    return status;
}

hilo_status diag_error(struct diag_list *d, hilo_status status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    diag_vadd(d, DIAG_ERROR, status, NULL, (struct diag_loc){0}, (struct str){NULL, 0}, fmt, ap);
    va_end(ap);
    return status;
}

static void diag_caret(const struct diag *x, struct strbuf *out) {
    strbuf_puts(out, "  ");
    strbuf_puts(out, x->source);
    strbuf_puts(out, "\n  ");
    size_t n = strlen(x->source);
    for (uint32_t i = 1; i < x->col && i <= n; i++)
        strbuf_putc(out, x->source[i - 1] == '\t' ? '\t' : ' ');
    strbuf_putc(out, '^');
    for (uint32_t i = 1; i < x->length && x->col + i <= n; i++)
        strbuf_putc(out, '~');
    strbuf_putc(out, '\n');
}

void diag_render(const struct diag_list *d, struct strbuf *out, bool colour) {
    static const char *const word[] = {"error", "warning", "note"};
    static const char *const paint[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
    for (const struct diag *x = d->first; x; x = x->next) {
        if (x->file && x->file[0])
            strbuf_printf(out, "%s:", x->file);
        if (x->line)
            strbuf_printf(out, "%u:%u:", x->line, x->col);
        if (out->n && out->p[out->n - 1] == ':')
            strbuf_putc(out, ' ');
        strbuf_printf(out, "%s%s:%s ", colour ? paint[x->severity] : "", word[x->severity], colour ? "\033[0m" : "");
        if (x->label[0])
            strbuf_printf(out, "[%s] ", x->label);
        strbuf_printf(out, "%s\n", x->message ? x->message : "");
        if (x->source && x->col)
            diag_caret(x, out);
    }
    if (d->errors > DIAG_MOST)
        strbuf_printf(out, "%u more errors\n", d->errors - DIAG_MOST);
}

const char *diag_status_name(hilo_status s) {
    static const char *const names[] = {
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
        "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "UNKNOWN";
}
