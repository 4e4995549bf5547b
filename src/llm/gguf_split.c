/* Models that are split into several GGUF files: see gguf.h. The names end in -00001-of-00003.gguf; the first file has the
 * metadata, each has tensors. */
#include "llm/gguf.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PARTS = 9999 };

bool gguf_part_path(const char *first, size_t i, size_t n, char *out, size_t size) {
    char before[32], suffix[32];
    size_t length = strlen(first), end = (size_t)snprintf(before, sizeof before, "-00001-of-%05zu.gguf", n);
    if (n == 1)
        return snprintf(out, size, "%s", first) < (int)size;
    snprintf(suffix, sizeof suffix, "-%05zu-of-%05zu.gguf", i + 1, n);
    return length >= end && strcmp(first + length - end, before) == 0 &&
           snprintf(out, size, "%.*s%s", (int)(length - end), first, suffix) < (int)size;
}

/* The number of files, of a parsed one of them. */
static hilo_status count_parts(const struct gguf *g, const char *path, size_t *n) {
    char part[4096];
    int64_t count = gguf_int(g, "split.count", 1), number = gguf_int(g, "split.no", 0);
    *n = count < 1 ? 1 : (size_t)count;
    if (number != 0)
        return gguf_fail(g, "this is file %lld of %lld; name the first", (long long)number + 1, (long long)count);
    if (count > MOST_PARTS || !gguf_part_path(path, 0, *n, part, sizeof part))
        return gguf_fail(g, "the first of %lld files; a name that ends in -00001-of-%05lld.gguf was expected", (long long)count,
                         (long long)count);
    return HILO_OK;
}

/* NULL when memory is exhausted. */
static struct gguf_tensor *list_of(struct arena *a, size_t n) {
    jmp_buf recover;
    struct gguf_tensor *v = NULL;
    a->recover = &recover;
    if (!setjmp(recover))
        v = ARENA_ARRAY(a, struct gguf_tensor, n + 1);
    a->recover = NULL;
    return v;
}

/* Opens the other files and puts the tensors of all into one list. */
static hilo_status join_parts(struct gguf_files *f, const char *path, hilo_allocator al, struct diag_list *d) {
    size_t n = f->all.ntensors, parts = f->n;
    char part[4096];
    for (f->n = 1; f->n < parts; f->n++) {
        gguf_part_path(path, f->n, parts, part, sizeof part);
        HILO_TRY(file_open(part, al, d, &f->files[f->n]));
        hilo_status status = gguf_parse(f->files[f->n].text, path, al, d, &f->parts[f->n]);
        n += f->parts[f->n].ntensors;
        if (status != HILO_OK) {
            f->n++;
            return status;
        }
    }
    struct gguf_tensor *v = list_of(&f->all.arena, n);
    if (!v)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memcpy(v, f->all.tensors, f->all.ntensors * sizeof *v);
    f->all.tensors = v;
    for (size_t i = 1; i < f->n; i++) {
        memcpy(v + f->all.ntensors, f->parts[i].tensors, f->parts[i].ntensors * sizeof *v);
        f->all.ntensors += f->parts[i].ntensors;
    }
    return HILO_OK;
}

hilo_status gguf_files_open(const char *path, hilo_allocator al, struct diag_list *d, struct gguf_files *out) {
    struct file first;
    size_t n = 1;
    *out = (struct gguf_files){.al = al};
    HILO_TRY(file_open(path, al, d, &first));
    hilo_status status = gguf_parse(first.text, path, al, d, &out->all);
    if (status == HILO_OK)
        status = count_parts(&out->all, path, &n);
    out->bytes = n * (sizeof *out->files + sizeof *out->parts);
    out->files = status == HILO_OK ? mem_alloc(&al, out->bytes) : NULL;
    if (!out->files) {
        file_close(&first);
        return status == HILO_OK ? diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory") : status;
    }
    memset(out->files, 0, out->bytes);
    out->parts = (struct gguf *)(void *)(out->files + n);
    out->files[0] = first;
    out->n = n;
    return n > 1 ? join_parts(out, path, al, d) : HILO_OK;
}

void gguf_files_close(struct gguf_files *f) {
    for (size_t i = 0; i < f->n; i++) {
        if (i)
            gguf_close(&f->parts[i]);
        file_close(&f->files[i]);
    }
    gguf_close(&f->all);
    mem_free(&f->al, f->files, f->files ? f->bytes : 0);
    *f = (struct gguf_files){.n = 0};
}
