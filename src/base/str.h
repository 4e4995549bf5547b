/* Strings: views that own nothing, and a growable output buffer.
 *
 * `struct strbuf` never fails while writing: exhaustion is remembered (`failed`) and answered once, at the end. */
#ifndef HILO_BASE_STR_H
#define HILO_BASE_STR_H

#include "base/mem.h"

#include <stdarg.h>
#include <string.h>

struct str {
    const char *p; /* not terminated */
    size_t n;      /* bytes */
};

#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})

static inline struct str str_of(const char *z) { return (struct str){z, z ? strlen(z) : 0}; }
static inline bool str_eq(struct str a, struct str b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }
static inline bool str_is(struct str a, const char *z) { return str_eq(a, str_of(z)); }
static inline bool str_starts(struct str a, const char *z) {
    size_t n = strlen(z);
    return a.n >= n && memcmp(a.p, z, n) == 0;
}
/* Removes z from the beginning of *a; false where it is not there. */
static inline bool str_take(struct str *a, const char *z) {
    size_t n = strlen(z);
    if (!str_starts(*a, z))
        return false;
    *a = (struct str){a->p + n, a->n - n};
    return true;
}

struct strbuf {
    hilo_allocator al;
    char *p; /* always terminated once anything was written */
    size_t n, cap;
    bool failed; /* memory ran out; what is there is incomplete */
};

void strbuf_init(struct strbuf *b, hilo_allocator al);
void strbuf_free(struct strbuf *b);
void strbuf_reserve(struct strbuf *b, size_t n); /* room for n more bytes */
void strbuf_putn(struct strbuf *b, const char *p, size_t n);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_puts(struct strbuf *b, const char *z);
void strbuf_str(struct strbuf *b, struct str s);
void strbuf_i64(struct strbuf *b, int64_t v);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* FNV-1a with a final mix: hashing of names and of interned contents. */
uint64_t str_hash(const void *p, size_t n, uint64_t seed);

#endif
