/* GGUF files: see gguf.h. */
#include "llm/gguf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "GGUF files are read as they lie in memory"
#endif

enum { DEFAULT_ALIGNMENT = 32, RANK_MOST = 4, KEY_MOST = 65535 };

static const uint8_t sizes[GGUF_TYPES] = {[GGUF_U8] = 1, [GGUF_I8] = 1, [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4,
                                          [GGUF_I32] = 4, [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8,
                                          [GGUF_F64] = 8};

struct reader {
    struct gguf *g;
    struct str rest;
    const char *begin;
    bool failed;
};

hilo_status gguf_fail(const struct gguf *g, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    hilo_status status = diag_vadd(g->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, (struct diag_loc){.file = str_of(g->file)},
                                   (struct str){NULL, 0}, fmt, ap);
    va_end(ap);
    return status;
}

bool gguf_is(struct str bytes) {
    return str_starts(bytes, "GGUF");
}

bool gguf_is_path(const char *path) {
    char magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic && gguf_is((struct str){magic, sizeof magic});
    if (fd >= 0)
        close(fd);
    return is;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static struct str take(struct reader *r, uint64_t n) {
    if (n > r->rest.n)
        r->failed = true;
    if (r->failed)
        return (struct str){"", 0};
    struct str s = {r->rest.p, (size_t)n};
    r->rest.p += n, r->rest.n -= (size_t)n;
    return s;
}

static uint64_t number(struct reader *r, size_t bytes) {
    uint64_t v = 0;
    struct str s = take(r, bytes);
    if (s.n)
        memcpy(&v, s.p, s.n);
    return v;
}

static struct str text(struct reader *r) {
    return take(r, number(r, 8));
}

/* ---- metadata -------------------------------------------------------------------------------- */

static hilo_status read_array(struct reader *r, struct gguf_entry *e) {
    uint64_t element = number(r, 4), bytes;
    e->n = number(r, 8);
    if (r->failed || element >= GGUF_TYPES || element == GGUF_ARRAY)
        return gguf_fail(r->g, "'%.*s' is not an array of numbers or strings", (int)e->key.n, e->key.p);
    e->element = (enum gguf_type)element;
    if (e->element != GGUF_STRING) {
        if (__builtin_mul_overflow(e->n, (uint64_t)sizes[element], &bytes))
            r->failed = true;
        e->data = take(r, r->failed ? 0 : bytes);
        return HILO_OK;
    }
    const char *begin = r->rest.p;
    for (uint64_t i = 0; i < e->n && !r->failed; i++)
        text(r);
    e->data = (struct str){begin, (size_t)(r->rest.p - begin)};
    return HILO_OK;
}

static hilo_status read_entry(struct reader *r, struct gguf_entry *e) {
    e->key = text(r);
    uint64_t type = number(r, 4);
    if (r->failed || type >= GGUF_TYPES || e->key.n > KEY_MOST)
        return gguf_fail(r->g, "metadata '%.*s' has the type %llu, which is not known", (int)(e->key.n > 64 ? 64 : e->key.n),
                         e->key.p, (unsigned long long)type);
    e->type = (enum gguf_type)type;
    if (e->type == GGUF_ARRAY)
        return read_array(r, e);
    e->data = e->type == GGUF_STRING ? text(r) : take(r, sizes[type]);
    return HILO_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Bytes of a tensor: rows of whole blocks. */
static bool tensor_bytes(const struct gguf_tensor *t, size_t *out) {
    const struct gguf_format *f = t->format;
    int64_t cols = t->rank ? t->dims[t->rank - 1] : 1;
    size_t n = (size_t)(cols / f->elements);
    for (uint32_t i = 0; i + 1 < t->rank; i++)
        if (!mem_mul(n, (size_t)t->dims[i], &n))
            return false;
    return cols % f->elements == 0 && mem_mul(n, f->bytes, out);
}

/* Reads a tensor's entry; the offset of its data in *offset. */
static hilo_status read_tensor(struct reader *r, struct gguf_tensor *t, uint64_t *offset) {
    struct str name = text(r);
    uint64_t rank = number(r, 4);
    t->name = (struct str){arena_dup(&r->g->arena, "", 1, 1), 0};
    if (r->failed || rank > RANK_MOST || name.n > KEY_MOST || memchr(name.p, 0, name.n))
        return gguf_fail(r->g, "a tensor has no name, or more than %d dimensions", RANK_MOST);
    char *copy = arena_alloc(&r->g->arena, name.n + 1, 1);
    memcpy(copy, name.p, name.n);
    copy[name.n] = '\0';
    t->name = (struct str){copy, name.n};
    t->rank = (uint32_t)rank;
    for (uint32_t i = 0; i < rank; i++) { /* the first varies fastest */
        uint64_t n = number(r, 8);
        if (n > INT64_MAX)
            return gguf_fail(r->g, "tensor '%s' has a dimension of %llu", copy, (unsigned long long)n);
        t->dims[rank - 1 - i] = (int64_t)n;
    }
    uint64_t type = number(r, 4);
    *offset = number(r, 8);
    t->format = type <= UINT32_MAX ? gguf_format_numbered((uint32_t)type) : NULL;
    if (r->failed)
        return HILO_OK;
    if (!t->format)
        return gguf_fail(r->g, "tensor '%s' has the type %llu, which this version does not know", copy,
                         (unsigned long long)type);
    if (!tensor_bytes(t, &t->bytes))
        return gguf_fail(r->g, "tensor '%s' of type %s has a size that is no number of blocks, or too large", copy,
                         t->format->name);
    return HILO_OK;
}

static hilo_status place_tensors(struct reader *r, const uint64_t *offsets) {
    struct gguf *g = r->g;
    int64_t alignment = gguf_int(g, "general.alignment", DEFAULT_ALIGNMENT);
    if (alignment < 1 || alignment > 1 << 20 || alignment % 8)
        return gguf_fail(g, "'general.alignment' is %lld; a multiple of 8 was expected", (long long)alignment);
    size_t skip = ((size_t)alignment - (size_t)(r->rest.p - r->begin) % (size_t)alignment) % (size_t)alignment;
    if (g->ntensors == 0)
        return HILO_OK;
    skip = skip < r->rest.n ? skip : r->rest.n; /* a file without data may end before */
    struct str data = {r->rest.p + skip, r->rest.n - skip};
    for (size_t i = 0; i < g->ntensors; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        if (offsets[i] % (uint64_t)alignment || offsets[i] > data.n || t->bytes > data.n - offsets[i])
            return gguf_fail(g, "tensor '%s' has %zu bytes at %llu, but there are %zu bytes of data", t->name.p, t->bytes,
                             (unsigned long long)offsets[i], data.n);
        t->data = data.p + offsets[i];
    }
    return HILO_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static hilo_status read_all(struct reader *r) {
    enum { ENTRY_LEAST = 13, TENSOR_LEAST = 24 }; /* bytes in a file */
    struct gguf *g = r->g;
    take(r, 4);
    uint64_t version = number(r, 4), ntensors = number(r, 8), nentries = number(r, 8);
    if (version != 2 && version != 3)
        return gguf_fail(g, "GGUF version %llu; this version reads 2 and 3, little endian", (unsigned long long)version);
    if (r->failed || nentries > r->rest.n / ENTRY_LEAST || ntensors > r->rest.n / TENSOR_LEAST)
        return gguf_fail(g, "cut off: %llu entries and %llu tensors do not fit the file", (unsigned long long)nentries,
                         (unsigned long long)ntensors);
    g->entries = ARENA_ARRAY(&g->arena, struct gguf_entry, nentries);
    g->tensors = ARENA_ARRAY(&g->arena, struct gguf_tensor, ntensors);
    uint64_t *offsets = ARENA_ARRAY(&g->arena, uint64_t, ntensors);
    for (; g->nentries < nentries && !r->failed; g->nentries++)
        HILO_TRY(read_entry(r, &g->entries[g->nentries]));
    for (; g->ntensors < ntensors && !r->failed; g->ntensors++)
        HILO_TRY(read_tensor(r, &g->tensors[g->ntensors], &offsets[g->ntensors]));
    if (r->failed)
        return gguf_fail(g, "cut off after %zu entries and %zu tensors", g->nentries, g->ntensors);
    return place_tensors(r, offsets);
}

hilo_status gguf_parse(struct str bytes, const char *name, hilo_allocator al, struct diag_list *d, struct gguf *out) {
    jmp_buf recover;
    hilo_status status;
    *out = (struct gguf){.file = name, .d = d};
    arena_init(&out->arena, al, NULL);
    struct reader r = {.g = out, .rest = bytes, .begin = bytes.p};
    if (!gguf_is(bytes))
        return gguf_fail(out, "not a GGUF file");
    out->arena.recover = &recover;
    if (!setjmp(recover))
        status = read_all(&r);
    else
        status = diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    out->arena.recover = NULL;
    return status;
}

void gguf_close(struct gguf *g) {
    arena_free(&g->arena);
    *g = (struct gguf){.file = NULL};
    arena_init(&g->arena, mem_system_allocator(), NULL);
}

/* ---- values ---------------------------------------------------------------------------------- */

const struct gguf_entry *gguf_find(const struct gguf *g, const char *key) {
    for (size_t i = 0; i < g->nentries; i++)
        if (str_is(g->entries[i].key, key))
            return &g->entries[i];
    return NULL;
}

static double number_at(enum gguf_type type, const char *p) {
    union { uint8_t u8; int8_t i8; uint16_t u16; int16_t i16; uint32_t u32; int32_t i32; uint64_t u64; int64_t i64; float f32;
            double f64; } v = {0};
    memcpy(&v, p, sizes[type]);
    switch (type) {
    case GGUF_U8: return v.u8;
    case GGUF_BOOL: return v.u8 != 0;
    case GGUF_I8: return v.i8;
    case GGUF_U16: return v.u16;
    case GGUF_I16: return v.i16;
    case GGUF_U32: return v.u32;
    case GGUF_I32: return v.i32;
    case GGUF_U64: return (double)v.u64;
    case GGUF_I64: return (double)v.i64;
    case GGUF_F32: return (double)v.f32;
    case GGUF_F64: return v.f64;
    default: return 0;
    }
}

double gguf_real(const struct gguf *g, const char *key, double absent) {
    const struct gguf_entry *e = gguf_find(g, key);
    return e && sizes[e->type] ? number_at(e->type, e->data.p) : absent;
}

int64_t gguf_int(const struct gguf *g, const char *key, int64_t absent) {
    double v = gguf_real(g, key, (double)absent);
    return v >= -0x1p53 && v <= 0x1p53 ? (int64_t)v : absent;
}

struct str gguf_text(const struct gguf *g, const char *key) {
    const struct gguf_entry *e = gguf_find(g, key);
    return e && e->type == GGUF_STRING ? e->data : (struct str){NULL, 0};
}

bool gguf_next_text(const struct gguf_entry *array, size_t *at, struct str *out) {
    uint64_t n;
    if (array->data.n - *at < 8) /* the lengths were checked when the file was read */
        return false;
    memcpy(&n, array->data.p + *at, 8);
    *out = (struct str){array->data.p + *at + 8, (size_t)n};
    *at += 8 + (size_t)n;
    return true;
}

double gguf_element(const struct gguf_entry *array, uint64_t i) {
    return array->type == GGUF_ARRAY && sizes[array->element] && i < array->n
               ? number_at(array->element, array->data.p + i * sizes[array->element]) : 0;
}
