/* Strings: see str.h. */
#include "base/str.h"
#include "base/torture.h"

#include <stdio.h>

void strbuf_init(struct strbuf *b, hilo_allocator al) {
    *b = (struct strbuf){.al = al};
}

void strbuf_free(struct strbuf *b) {
    mem_free(&b->al, b->p, b->cap);
    *b = (struct strbuf){.al = b->al};
}

static bool strbuf_room(struct strbuf *b, size_t n) {
    size_t need;
    if (b->failed || !mem_add(b->n + 1, n, &need)) {
        b->failed = true;
        return false;
    }
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : TORTURED(TORTURE_ROOM, 256);
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    char *p = mem_resize(&b->al, b->p, b->cap, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void strbuf_reserve(struct strbuf *b, size_t n) {
    (void)strbuf_room(b, n);
}

void strbuf_putn(struct strbuf *b, const char *p, size_t n) {
    if (!strbuf_room(b, n))
        return;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void strbuf_putc(struct strbuf *b, char c) {
    strbuf_putn(b, &c, 1);
}

void strbuf_puts(struct strbuf *b, const char *z) {
    strbuf_putn(b, z, strlen(z));
}

void strbuf_str(struct strbuf *b, struct str s) {
    strbuf_putn(b, s.p, s.n);
}

void strbuf_i64(struct strbuf *b, int64_t v) {
    char text[20], *first = text + sizeof text; /* kernels are hashed as text: printf takes too long */
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        *--first = '-';
    strbuf_putn(b, first, (size_t)(text + sizeof text - first));
}

void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0 && strbuf_room(b, (size_t)n)) {
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(b, fmt, ap);
    va_end(ap);
}

uint64_t str_hash(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t h = 0xcbf29ce484222325u ^ seed;
    for (; n >= 8; s += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (; n; s++, n--)
        h = (h ^ *s) * 0x100000001b3u;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 33);
}
