/* safetensors files: see tensors.h. */
#include "llm/tensors.h"

#include "llm/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* As the header spells element types. */
static const struct { const char *name; enum ir_dtype dtype; } spellings[] = {
    {"F64", IR_F64_T}, {"F32", IR_F32_T}, {"F16", IR_F16_T}, {"BF16", IR_BF16_T}, {"F8_E5M2", IR_F8E5M2_T},
    {"F8_E4M3", IR_F8E4M3FN_T}, {"F8_E8M0", IR_F8E8M0FNU_T}, {"F6_E2M3", IR_F6E2M3FN_T}, {"F6_E3M2", IR_F6E3M2FN_T},
    {"F4", IR_F4E2M1FN_T}, {"I64", IR_I64_T}, {"I32", IR_I32_T}, {"I16", IR_I16_T}, {"I8", IR_I8_T}, {"I4", IR_I4_T},
    {"U64", IR_UI64_T}, {"U32", IR_UI32_T}, {"U16", IR_UI16_T}, {"U8", IR_UI8_T}, {"U4", IR_UI4_T}, {"BOOL", IR_I1_T},
    {"C64", IR_C64_T},
};
enum {
    LENGTH_BYTES = 8,       /* of the header's length, before it */
    MAX_HEADER = 100000000, /* bytes, as in the format's own library */
    DATA_ALIGNMENT = 64     /* bytes, of files that are written */
};
enum { SPELLINGS = sizeof spellings / sizeof *spellings };

static enum ir_dtype dtype_named(const char *name) {
    for (size_t i = 0; i < SPELLINGS; i++)
        if (strcmp(spellings[i].name, name) == 0)
            return spellings[i].dtype;
    return IR_DTYPE_NONE;
}

static const char *dtype_spelling(enum ir_dtype t) {
    for (size_t i = 0; i < SPELLINGS; i++)
        if (spellings[i].dtype == t)
            return spellings[i].name;
    return "?";
}

/* BOOL takes a byte. */
static size_t dtype_bits(enum ir_dtype t) {
    return t == IR_I1_T ? 8 : ir_dtype_get(t)->bits;
}

void llm_tensor_type(const struct llm_tensor *t, struct strbuf *out) {
    strbuf_puts(out, t->format ? t->format->name : dtype_spelling(t->dtype));
    strbuf_putc(out, '[');
    for (uint32_t i = 0; i < t->rank; i++)
        strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
    strbuf_putc(out, ']');
}

/* ---- one file -------------------------------------------------------------------------------- */

struct header {
    struct llm_json json;
    struct str data;           /* after the header */
    struct llm_tensor *v;      /* in the arena; one for each entry */
    size_t n;
};

static hilo_status tensor_fail(struct header *h, const char *name, const char *what) {
    return llm_json_fail(&h->json, "tensor '%s' %s", name, what);
}

/* The size of the shape in bytes. */
static bool tensor_size(const struct llm_tensor *t, size_t *out) {
    size_t n = dtype_bits(t->dtype);
    for (uint32_t i = 0; i < t->rank; i++)
        if (!mem_mul(n, (size_t)t->dims[i], &n))
            return false;
    *out = n / 8;
    return n % 8 == 0;
}

static hilo_status tensor_shape(struct header *h, const char *name, const json_t *shape, struct llm_tensor *t) {
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > LLM_TENSOR_RANK)
        return tensor_fail(h, name, "has no 'shape' of at most 8 dimensions");
    for (size_t i = 0; i < rank; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return tensor_fail(h, name, "has a 'shape' with something that is no dimension");
        t->dims[t->rank++] = (int64_t)json_integer_value(dim);
    }
    return HILO_OK;
}

static hilo_status tensor_entry(struct header *h, const char *name, const json_t *entry, struct llm_tensor *t) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *from = json_array_get(offsets, 0), *to = json_array_get(offsets, 1);
    if (!dtype)
        return tensor_fail(h, name, "has no 'dtype'");
    t->dtype = dtype_named(dtype);
    if (t->dtype == IR_DTYPE_NONE)
        return llm_json_fail(&h->json, "tensor '%s' has the dtype '%s', which is not known", name, dtype);
    HILO_TRY(tensor_shape(h, name, json_object_get(entry, "shape"), t));
    if (json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to))
        return tensor_fail(h, name, "has no 'data_offsets' [begin, end]");
    json_int_t a = json_integer_value(from), b = json_integer_value(to);
    size_t bytes = 0;
    if (!tensor_size(t, &bytes))
        return tensor_fail(h, name, "has a size that is no number of bytes, or too large");
    if (a < 0 || b < a || (unsigned long long)b > h->data.n)
        return llm_json_fail(&h->json, "tensor '%s' has data_offsets [%lld, %lld], but there are %zu bytes of data", name,
                             (long long)a, (long long)b, h->data.n);
    if ((size_t)(b - a) != bytes)
        return llm_json_fail(&h->json, "tensor '%s' has %lld bytes of data, but its type takes %zu", name,
                             (long long)(b - a), bytes);
    t->data = h->data.p + a;
    t->bytes = bytes;
    return HILO_OK;
}

static int by_place(const void *a, const void *b) {
    const struct llm_tensor *x = a, *y = b;
    if (x->data != y->data)
        return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b) {
    const struct llm_tensor *x = a, *y = b;
    size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int c = memcmp(x->name.p, y->name.p, n);
    return c ? c : x->name.n < y->name.n ? -1 : x->name.n > y->name.n;
}

/* The tensors cover the data without holes or overlaps. */
static hilo_status check_cover(struct header *h) {
    const char *at = h->data.p;
    if (h->n)
        qsort(h->v, h->n, sizeof *h->v, by_place);
    for (size_t i = 0; i < h->n; i++) {
        const char *begin = h->v[i].data;
        if (begin != at)
            return tensor_fail(h, h->v[i].name.p, begin < at ? "overlaps another one" : "leaves a hole before it");
        at += h->v[i].bytes;
    }
    if (at != h->data.p + h->data.n)
        return llm_json_fail(&h->json, "%zu bytes after the last tensor belong to none",
                             (size_t)(h->data.p + h->data.n - at));
    return HILO_OK;
}

static hilo_status read_entries(struct header *h, struct arena *arena) {
    const char *name;
    json_t *entry;
    h->v = ARENA_ARRAY(arena, struct llm_tensor, json_object_size(h->json.root));
    json_object_foreach(h->json.root, name, entry) {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        struct llm_tensor *t = &h->v[h->n];
        size_t n = strlen(name);
        t->name = (struct str){arena_dup(arena, name, n + 1, 1), n};
        HILO_TRY(tensor_entry(h, name, entry, t));
        h->n++;
    }
    return check_cover(h);
}

/* Reads the header's tensors. The caller closes h->json in any case. */
static hilo_status read_header(struct header *h, struct arena *arena, struct str bytes, const char *name,
                               struct diag_list *d) {
    uint64_t n = 0;
    for (size_t i = 0; i < LENGTH_BYTES && bytes.n >= LENGTH_BYTES; i++)
        n |= (uint64_t)(unsigned char)bytes.p[i] << 8 * i;
    if (bytes.n < LENGTH_BYTES || n > bytes.n - LENGTH_BYTES)
        return diag_add(d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, (struct diag_loc){.file = str_of(name)},
                        (struct str){NULL, 0}, "no safetensors file: a header of %llu bytes in a file of %zu",
                        (unsigned long long)n, bytes.n);
    if (n > MAX_HEADER)
        return diag_add(d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, (struct diag_loc){.file = str_of(name)},
                        (struct str){NULL, 0}, "a header of %llu bytes; at most %d were expected", (unsigned long long)n,
                        MAX_HEADER);
    h->data = (struct str){bytes.p + LENGTH_BYTES + n, bytes.n - LENGTH_BYTES - (size_t)n};
    HILO_TRY(llm_json_parse(&h->json, (struct str){bytes.p + LENGTH_BYTES, (size_t)n}, name, d));
    return read_entries(h, arena);
}

/* Allocation from the arena may jump to its recovery point: everything else that needs freeing is in `h`. */
static hilo_status parse_one(struct header *h, struct arena *arena, struct str bytes, const char *name,
                             struct diag_list *d) {
    jmp_buf recover;
    hilo_status status;
    arena->recover = &recover;
    if (!setjmp(recover))
        status = read_header(h, arena, bytes, name, d);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    arena->recover = NULL;
    llm_json_close(&h->json);
    return status;
}

hilo_status llm_tensors_parse(struct str bytes, const char *name, hilo_allocator al, struct diag_list *d,
                              struct llm_tensors *out) {
    struct header h = {.n = 0};
    *out = (struct llm_tensors){.n = 0};
    arena_init(&out->arena, al, NULL);
    HILO_TRY(parse_one(&h, &out->arena, bytes, name, d));
    out->v = h.v;
    out->n = h.n;
    for (size_t i = 0; i < h.n; i++)
        out->bytes += h.v[i].bytes;
    if (h.n)
        qsort(h.v, h.n, sizeof *h.v, by_name);
    return HILO_OK;
}

/* ---- several files --------------------------------------------------------------------------- */

/* The tensors of a GGUF file, as the header of a safetensors file has them. */
static hilo_status parse_gguf(struct llm_tensors *t, struct header *h, struct str bytes, const char *name,
                              struct diag_list *d) {
    struct gguf g;
    jmp_buf recover;
    t->gguf = true;
    hilo_status status = gguf_parse(bytes, name, t->arena.al, d, &g);
    t->arena.recover = &recover;
    if (status == HILO_OK && setjmp(recover))
        status = HILO_RESOURCE_EXHAUSTED;
    else if (status == HILO_OK)
        h->v = ARENA_ARRAY(&t->arena, struct llm_tensor, g.ntensors);
    for (; status == HILO_OK && h->n < g.ntensors; h->n++) {
        const struct gguf_tensor *from = &g.tensors[h->n];
        struct llm_tensor *to = &h->v[h->n];
        *to = (struct llm_tensor){.dtype = from->format->dtype, .rank = from->rank, .data = from->data, .bytes = from->bytes,
                                  .format = from->format};
        to->name = (struct str){arena_dup(&t->arena, from->name.p, from->name.n + 1, 1), from->name.n};
        memcpy(to->dims, from->dims, sizeof from->dims);
    }
    t->arena.recover = NULL;
    gguf_close(&g);
    return status;
}

/* Adds the tensors of a file. */
static hilo_status add_file(struct llm_tensors *t, const char *path, struct diag_list *d) {
    hilo_allocator al = t->arena.al;
    struct header h = {.n = 0};
    struct llm_file *f = &t->files[t->nfiles];
    *f = (struct llm_file){.path = NULL};
    HILO_TRY(file_open(path, al, d, &f->file));
    t->nfiles++;
    struct str bytes = f->file.text;
    HILO_TRY(gguf_is(bytes) ? parse_gguf(t, &h, bytes, path, d) : parse_one(&h, &t->arena, bytes, path, d));
    struct stat st;
    if (f->file.mapped && stat(path, &st) == 0)
        f->dev = st.st_dev, f->ino = st.st_ino;
    if (bytes.p && f->file.mapped) /* weights are read at random, and more than once */
        madvise((void *)(uintptr_t)bytes.p, bytes.n, MADV_NORMAL);
    size_t n;
    jmp_buf recover;
    t->arena.recover = &recover;
    if (!mem_add(t->n, h.n, &n) || setjmp(recover)) {
        t->arena.recover = NULL;
        return HILO_RESOURCE_EXHAUSTED;
    }
    struct llm_tensor *v = ARENA_ARRAY(&t->arena, struct llm_tensor, n);
    f->path = arena_dup(&t->arena, path, strlen(path) + 1, 1);
    t->arena.recover = NULL;
    if (t->n)
        memcpy(v, t->v, t->n * sizeof *v);
    if (h.n)
        memcpy(v + t->n, h.v, h.n * sizeof *v);
    t->v = v;
    t->n = n;
    for (size_t i = 0; i < h.n; i++)
        t->bytes += h.v[i].bytes;
    return HILO_OK;
}

static bool alloc_files(struct llm_tensors *t, size_t n) {
    if (!mem_mul(n, sizeof *t->files, &t->files_bytes))
        return false;
    t->files = mem_alloc(&t->arena.al, t->files_bytes);
    return t->files != NULL;
}

/* Adds the files that the index names, each once, from its directory. */
static hilo_status add_shards(struct llm_tensors *t, const char *dir, struct llm_json *index) {
    const json_t *map = llm_json_object(llm_json_root(index), "weight_map");
    const char *tensor;
    json_t *value, *seen = json_object();
    char path[4096];
    hilo_status status = !map ? llm_json_fail(index, "'weight_map' is missing")
                         : seen && alloc_files(t, json_object_size(map)) ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    json_object_foreach((json_t *)(uintptr_t)map, tensor, value) {
        const char *file = json_string_value(value);
        if (status != HILO_OK || (file && json_object_get(seen, file)))
            continue;
        if (!file || !*file || file[0] == '.' || strchr(file, '/') ||
            snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path)
            status = llm_json_fail(index, "tensor '%s' is in no file of this directory", tensor);
        else if (json_object_set(seen, file, json_true()) != 0)
            status = HILO_RESOURCE_EXHAUSTED;
        else
            status = add_file(t, path, index->d);
    }
    json_decref(seen);
    if (status != HILO_OK)
        return status;
    if (t->n)
        qsort(t->v, t->n, sizeof *t->v, by_name);
    for (size_t i = 1; i < t->n; i++)
        if (str_eq(t->v[i - 1].name, t->v[i].name))
            return llm_json_fail(index, "tensor '%s' is in two files", t->v[i].name.p);
    json_object_foreach((json_t *)(uintptr_t)map, tensor, value)
        if (!llm_tensors_find(t, tensor))
            return llm_json_fail(index, "tensor '%s' is not in '%s'", tensor, json_string_value(value));
    return HILO_OK;
}

static hilo_status open_dir(struct llm_tensors *t, const char *dir, struct diag_list *d) {
    char one[4096], many[4096];
    struct stat st;
    if (snprintf(one, sizeof one, "%s/model.safetensors", dir) >= (int)sizeof one ||
        snprintf(many, sizeof many, "%s/model.safetensors.index.json", dir) >= (int)sizeof many)
        return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", dir);
    if (stat(one, &st) == 0)
        return alloc_files(t, 1) ? add_file(t, one, d) : HILO_RESOURCE_EXHAUSTED;
    if (stat(many, &st) != 0)
        return diag_error(d, HILO_NOT_FOUND,
                          "there is neither model.safetensors nor model.safetensors.index.json in '%s'", dir);
    struct llm_json index;
    hilo_status status = llm_json_open(&index, many, t->arena.al, d);
    if (status == HILO_OK)
        status = add_shards(t, dir, &index);
    llm_json_close(&index);
    return status;
}

/* A GGUF file, and those that it is continued in. */
static hilo_status add_parts(struct llm_tensors *t, const char *path, struct diag_list *d) {
    struct gguf_files f;
    char part[4096];
    hilo_status status = gguf_files_open(path, t->arena.al, d, &f);
    size_t n = f.n;
    gguf_files_close(&f);
    HILO_TRY(status);
    if (!alloc_files(t, n))
        return HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        gguf_part_path(path, i, n, part, sizeof part);
        HILO_TRY(add_file(t, part, d));
    }
    if (t->n)
        qsort(t->v, t->n, sizeof *t->v, by_name);
    for (size_t i = 1; i < t->n; i++)
        if (str_eq(t->v[i - 1].name, t->v[i].name))
            return diag_error(d, HILO_INVALID_ARGUMENT, "%s: tensor '%s' is there twice", path, t->v[i].name.p);
    return HILO_OK;
}

hilo_status llm_tensors_open(const char *path, hilo_allocator al, struct diag_list *d, struct llm_tensors *out) {
    struct stat st;
    *out = (struct llm_tensors){.n = 0};
    arena_init(&out->arena, al, NULL);
    if (stat(path, &st) != 0)
        return diag_error(d, HILO_NOT_FOUND, "there is no '%s'", path);
    if (S_ISDIR(st.st_mode))
        HILO_TRY(open_dir(out, path, d));
    else if (gguf_is_path(path))
        HILO_TRY(add_parts(out, path, d));
    else if (!alloc_files(out, 1))
        return HILO_RESOURCE_EXHAUSTED;
    else
        HILO_TRY(add_file(out, path, d));
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_name);
    return HILO_OK;
}

void llm_tensors_close(struct llm_tensors *t) {
    for (size_t i = 0; i < t->nfiles; i++)
        file_close(&t->files[i].file);
    mem_free(&t->arena.al, t->files, t->files ? t->files_bytes : 0);
    arena_free(&t->arena);
    *t = (struct llm_tensors){.n = 0};
    arena_init(&t->arena, mem_system_allocator(), NULL);
}

void llm_tensors_release_pages(const struct llm_tensors *t, const void *data, size_t bytes) {
    uintptr_t at = (uintptr_t)data;
    for (size_t i = 0; i < t->nfiles; i++) {
        const struct file *f = &t->files[i].file;
        uintptr_t from = (uintptr_t)f->text.p;
        if (f->mapped && at >= from && at - from < f->text.n)
            file_pages_done(data, bytes);
    }
}

hilo_status llm_tensors_check(const struct llm_tensors *t, struct diag_list *d) {
    struct stat st;
    for (size_t i = 0; i < t->nfiles; i++) {
        const struct llm_file *f = &t->files[i];
        if (f->file.mapped && f->path && stat(f->path, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino &&
            (uintmax_t)st.st_size < f->file.text.n)
            return diag_error(d, HILO_DATA_LOSS, "'%s' was cut off while it was in use: it had %zu bytes and has %lld", f->path,
                              f->file.text.n, (long long)st.st_size);
    }
    return HILO_OK;
}

const struct llm_tensor *llm_tensors_find(const struct llm_tensors *t, const char *name) {
    struct llm_tensor key = {.name = str_of(name)};
    return t->n ? bsearch(&key, t->v, t->n, sizeof *t->v, by_name) : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_header(const struct llm_tensor *v, size_t n, struct strbuf *out) {
    size_t at = 0;
    strbuf_puts(out, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) { /* names come from files that were read: anything may be in them */
        strbuf_puts(out, ",\"");
        for (size_t k = 0; k < v[i].name.n; k++) {
            char c = v[i].name.p[k];
            if (c == '"' || c == '\\')
                strbuf_printf(out, "\\%c", c);
            else if ((unsigned char)c < 0x20)
                strbuf_printf(out, "\\u%04x", (unsigned)c);
            else
                strbuf_putc(out, c);
        }
        strbuf_printf(out, "\":{\"dtype\":\"%s\",\"shape\":[", dtype_spelling(v[i].dtype));
        for (uint32_t k = 0; k < v[i].rank; k++)
            strbuf_printf(out, "%s%lld", k ? "," : "", (long long)v[i].dims[k]);
        strbuf_printf(out, "],\"data_offsets\":[%zu,%zu]}", at, at + v[i].bytes);
        at += v[i].bytes;
    }
    strbuf_putc(out, '}');
    while ((LENGTH_BYTES + out->n) % DATA_ALIGNMENT) /* loads of a mapped tensor cross fewer cache lines then */
        strbuf_putc(out, ' ');
}

hilo_status llm_tensors_write(const char *path, const struct llm_tensor *v, size_t n, hilo_allocator al,
                              struct diag_list *d) {
    struct strbuf header;
    struct file_out o;
    unsigned char length[LENGTH_BYTES];
    strbuf_init(&header, al);
    write_header(v, n, &header);
    hilo_status status = header.failed ? HILO_RESOURCE_EXHAUSTED : file_create(path, d, &o);
    if (status == HILO_OK) {
        for (size_t i = 0; i < sizeof length; i++)
            length[i] = (unsigned char)((uint64_t)header.n >> 8 * i);
        file_put(&o, length, sizeof length);
        file_put(&o, header.p, header.n);
        for (size_t i = 0; i < n; i++)
            file_put(&o, v[i].data, v[i].bytes);
        status = file_commit(&o, true, d);
    }
    strbuf_free(&header);
    return status;
}
