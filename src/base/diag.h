/* Diagnostics: what went wrong, where, and by which rule.
 *
 * A list belongs to one call or one client; nothing is global. The first error stays first: a list is never
 * overwritten.
 * Wording: one line, lower case, no full stop, states what was found and what was expected. */
#ifndef HILO_BASE_DIAG_H
#define HILO_BASE_DIAG_H

#include "base/str.h"

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

/* A place in a text; line and column count from 1, 0 = unknown. `length` is in bytes, for the caret. */
struct diag_loc {
    struct str file;
    uint32_t line, col, length;
};

struct diag {
    struct diag *next;
    enum diag_severity severity;
    hilo_status status;
    char label[32];     /* StableHLO constraint such as "dot_general_c10", or "" */
    char *file;         /* may be "" */
    uint32_t line, col, length;
    char *message;
    char *source;       /* the source line, without its newline, or NULL if the text is not available */
};

/* At most this many errors are kept; the rest are counted. */
enum { DIAG_MOST = 20 };

struct diag_list {
    hilo_allocator al;
    struct diag *first, *last;
    uint32_t errors;     /* including the ones that were not kept */
    uint32_t first_line; /* number of the first line of the texts that are quoted; 0 = 1 */
    bool out_of_memory;  /* a diagnostic could not be stored */
};

void diag_init(struct diag_list *d, hilo_allocator al);
void diag_clear(struct diag_list *d);
/* Appends all of `from` to `d`, leaving `from` empty; both use one allocator. */
void diag_move(struct diag_list *d, struct diag_list *from);

/* Adds one diagnostic and returns `status`, so that `return diag_error(...)` forwards it. `text` (may be empty) is the whole
   source that `loc` points into: the line is copied from it. `label` may be NULL. */
hilo_status diag_add(struct diag_list *d, enum diag_severity sev, hilo_status status, const char *label,
                     struct diag_loc loc, struct str text, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));
hilo_status diag_vadd(struct diag_list *d, enum diag_severity sev, hilo_status status, const char *label,
                      struct diag_loc loc, struct str text, const char *fmt, va_list ap)
    __attribute__((format(printf, 7, 0)));

/* An error without a place. */
hilo_status diag_error(struct diag_list *d, hilo_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* `file:line:col: error: [label] message`, the source line and a caret, for all diagnostics. With `colour`, ANSI
   colours. */
void diag_render(const struct diag_list *d, struct strbuf *out, bool colour);

/* "INVALID_ARGUMENT" and so on. */
const char *diag_status_name(hilo_status s);

#endif
