/* numpy's .npz archives: see npy.h for what is read and written.
 *
 * A .npz is a zip file of .npy images. Only its central directory gives their offsets and how long
 * they are, so that data descriptors need no attention. Format: PKWARE's APPNOTE.TXT 6.3.10. */
#include "cli/npy_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* The records of a zip file: signature, size of the fixed part. */
    NPZ_LOCAL = 0x04034b50, NPZ_LOCAL_SIZE = 30,
    NPZ_CENTRAL = 0x02014b50, NPZ_CENTRAL_SIZE = 46,
    NPZ_END = 0x06054b50, NPZ_END_SIZE = 22,
    NPZ_END64 = 0x06064b50, NPZ_END64_SIZE = 56,
    NPZ_LOCATOR = 0x07064b50, NPZ_LOCATOR_SIZE = 20,

    NPZ_MAX_COMMENT = 0xffff,              /* bytes after the fixed part of NPZ_END */
    NPZ_EXTRA64 = 1,                       /* id of the extra field with 64-bit sizes */
    NPZ_ENCRYPTED = 1, NPZ_UTF8 = 1 << 11, /* flags of a member */
    NPZ_STORED = 0, NPZ_DEFLATED = 8,      /* methods of compression */
    NPZ_DEFLATE_RATIO = 1032,              /* deflate cannot shrink bytes further than this */
    NPZ_VERSION = 20, NPZ_VERSION64 = 45,  /* of zip that a reader must know: 2.0, 4.5 */
    NPZ_UNIX = 3 << 8,                     /* where the archive was made */
};

/* A field that holds this is too small: the value is in a zip64 record. */
#define NPZ_MAX16 UINT64_C(0xffff)
#define NPZ_MAX32 UINT64_C(0xffffffff)

/* ---- reading -------------------------------------------------------------------------------- */

static uint64_t npz_get(const unsigned char *p, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

/* One array of an archive, as the central directory describes it. */
struct npz_member {
    const char *name;    /* in the directory's bytes, not terminated */
    size_t name_size;    /* bytes */
    unsigned flags;      /* NPZ_ENCRYPTED ... */
    unsigned method;     /* NPZ_STORED or NPZ_DEFLATED */
    uint32_t crc;        /* of the plain bytes */
    uint64_t compressed; /* bytes in the archive */
    uint64_t size;       /* plain bytes */
    uint64_t local;      /* offset of the local header */
};

/* The central directory. */
struct npz_directory {
    unsigned char *bytes; /* owned */
    size_t size;          /* of bytes */
    uint64_t offset;      /* in the file; every member is before it */
    uint64_t members;     /* how many it describes */
};

/* Finds the record that ends the archive, NULL when there is none. Only a comment may follow it,
 * and that ends the file. `tail` holds the file's last n bytes. */
static const unsigned char *npz_find_end(const unsigned char *tail, size_t n) {
    for (size_t at = n < NPZ_END_SIZE ? 0 : n - NPZ_END_SIZE + 1; at-- > 0;)
        if (npz_get(tail + at, 4) == NPZ_END && npz_get(tail + at + 20, 2) == n - at - NPZ_END_SIZE)
            return tail + at;
    return NULL;
}

/* Fills in the directory, all but its bytes, from the end record or its zip64 form. */
static int npz_locate(const struct npy_source *src, struct npz_directory *dir,
                      const struct npy_place *at) {
    const size_t most = NPZ_LOCATOR_SIZE + NPZ_END_SIZE + NPZ_MAX_COMMENT;
    size_t n = src->size < most ? (size_t)src->size : most;
    unsigned char *tail = malloc(n + 1);
    if (!tail)
        return npy_fail_memory(at, n + 1);
    int rc = npy_source_read(src, src->size - n, tail, n, at);
    const unsigned char *end = rc ? NULL : npz_find_end(tail, n);
    if (rc == 0 && !end)
        rc = npy_fail(at, "not a .npz archive: no zip directory at its end");
    if (rc == 0) {
        unsigned char end64[NPZ_END64_SIZE];
        const unsigned char *locator = end - NPZ_LOCATOR_SIZE;
        uint64_t here = src->size - (uint64_t)(tail + n - end);
        dir->members = npz_get(end + 10, 2);
        dir->size = npz_get(end + 12, 4);
        dir->offset = npz_get(end + 16, 4);
        if (end - tail >= NPZ_LOCATOR_SIZE && npz_get(locator, 4) == NPZ_LOCATOR) {
            here = npz_get(locator + 8, 8);
            rc = npy_source_read(src, here, end64, sizeof end64, at);
            if (rc == 0 && npz_get(end64, 4) != NPZ_END64)
                rc = npy_fail(at, "expected a zip64 directory record at offset %llu",
                              (unsigned long long)here);
            dir->members = npz_get(end64 + 32, 8);
            dir->size = npz_get(end64 + 40, 8);
            dir->offset = npz_get(end64 + 48, 8);
        }
        if (rc == 0 && (dir->offset > here || dir->size > here - dir->offset ||
                        dir->members > dir->size / NPZ_CENTRAL_SIZE))
            rc = npy_fail(at, "damaged archive: its directory does not fit into the file");
    }
    free(tail);
    return rc;
}

static int npz_read_directory(const struct npy_source *src, struct npz_directory *dir,
                              const struct npy_place *at) {
    if (npz_locate(src, dir, at))
        return -1;
    dir->bytes = malloc(dir->size + 1);
    if (!dir->bytes)
        return npy_fail_memory(at, dir->size + 1);
    return npy_source_read(src, dir->offset, dir->bytes, dir->size, at);
}

/* Replaces the fields that did not fit 32 bits by those of the zip64 extra field. */
static bool npz_apply_extra64(struct npz_member *m, const unsigned char *extra, size_t size) {
    uint64_t *fields[] = {&m->size, &m->compressed, &m->local};
    for (size_t at = 0; size - at >= 4;) {
        size_t id = (size_t)npz_get(extra + at, 2), length = (size_t)npz_get(extra + at + 2, 2);
        at += 4;
        if (length > size - at)
            return false;
        for (size_t i = 0, used = 0; id == NPZ_EXTRA64 && i < 3; i++)
            if (*fields[i] == NPZ_MAX32) {
                if (length - used < 8)
                    return false;
                *fields[i] = npz_get(extra + at + used, 8);
                used += 8;
            }
        if (id == NPZ_EXTRA64)
            return true;
        at += length;
    }
    return true;
}

/* Reads the directory's entry at *pos and steps over it. */
static int npz_next_member(const struct npz_directory *dir, size_t *pos, struct npz_member *m,
                           const struct npy_place *at) {
    const unsigned char *p = dir->bytes + *pos;
    size_t left = dir->size - *pos;
    if (left < NPZ_CENTRAL_SIZE || npz_get(p, 4) != NPZ_CENTRAL)
        return npy_fail(at, "damaged archive: expected a directory entry");
    size_t extra_size = (size_t)npz_get(p + 30, 2), comment_size = (size_t)npz_get(p + 32, 2);
    *m = (struct npz_member){
        .name = (const char *)p + NPZ_CENTRAL_SIZE, .name_size = (size_t)npz_get(p + 28, 2),
        .flags = (unsigned)npz_get(p + 8, 2),       .method = (unsigned)npz_get(p + 10, 2),
        .crc = (uint32_t)npz_get(p + 16, 4),        .compressed = npz_get(p + 20, 4),
        .size = npz_get(p + 24, 4),                 .local = npz_get(p + 42, 4),
    };
    size_t total = NPZ_CENTRAL_SIZE + m->name_size + extra_size + comment_size;
    if (total > left || !npz_apply_extra64(m, p + NPZ_CENTRAL_SIZE + m->name_size, extra_size))
        return npy_fail(at, "damaged archive: a directory entry is cut short");
    *pos += total;
    return 0;
}

/* Opens a member; npz_close_stream releases it, also after a failure. */
static int npz_open_stream(const struct npy_source *src, const struct npz_directory *dir,
                           const struct npz_member *m, struct npy_stream *s,
                           const struct npy_place *at) {
    unsigned char local[NPZ_LOCAL_SIZE];
    *s = (struct npy_stream){.source = src, .left = m->size, .checked = true,
                             .expected_crc = m->crc};
    if (m->flags & NPZ_ENCRYPTED)
        return npy_fail(at, "is encrypted");
    if (m->method != NPZ_STORED && m->method != NPZ_DEFLATED)
        return npy_fail(at, "expected it stored or deflated, found zip method %u", m->method);
    if (npy_source_read(src, m->local, local, sizeof local, at))
        return -1;
    if (npz_get(local, 4) != NPZ_LOCAL)
        return npy_fail(at, "damaged archive: expected a local header at offset %llu",
                        (unsigned long long)m->local);
    s->at = m->local + NPZ_LOCAL_SIZE + npz_get(local + 26, 2) + npz_get(local + 28, 2);
    if (s->at > dir->offset || m->compressed > dir->offset - s->at)
        return npy_fail(at, "is cut short: expected %llu bytes at offset %llu",
                        (unsigned long long)m->compressed, (unsigned long long)s->at);
    s->end = s->at + m->compressed;
    if (m->method == NPZ_STORED)
        return m->compressed == m->size ? 0 : npy_fail(at, "is stored, but its sizes differ");
    if (m->size / NPZ_DEFLATE_RATIO > m->compressed)
        return npy_fail(at, "%llu deflated bytes cannot hold %llu bytes",
                        (unsigned long long)m->compressed, (unsigned long long)m->size);
    s->window = malloc(NPY_PIECE);
    if (!s->window || inflateInit2(&s->z, -MAX_WBITS) != Z_OK)
        return npy_fail_memory(at, NPY_PIECE);
    s->deflated = true;
    return 0;
}

static void npz_close_stream(struct npy_stream *s) {
    if (s->deflated)
        inflateEnd(&s->z);
    free(s->window);
}

static int npz_read_member(const struct npy_source *src, const struct npz_directory *dir,
                           const struct npz_member *m, struct npy_array *out,
                           const struct npy_place *archive) {
    static const char suffix[] = ".npy";
    size_t size = m->name_size, suffix_size = sizeof suffix - 1;
    if (size >= suffix_size && memcmp(m->name + size - suffix_size, suffix, suffix_size) == 0)
        size -= suffix_size;
    if (memchr(m->name, 0, size))
        return npy_fail(archive, "the name of an array holds a zero byte");
    char *name = strndup(m->name, size);
    if (!name)
        return npy_fail_memory(archive, size + 1);
    struct npy_place at = {archive->file, name, archive->err};
    struct npy_stream s;
    int rc = npz_open_stream(src, dir, m, &s, &at);
    if (rc == 0)
        rc = npy_read_stream(&s, out, &at);
    npz_close_stream(&s);
    if (rc)
        free(name);
    else
        out->name = name;
    return rc;
}

static int npz_compare_names(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static int npz_check_names(const struct npy_array *a, size_t n, const struct npy_place *at) {
    char **names = calloc(n + 1, sizeof *names);
    int rc = names ? 0 : npy_fail_memory(at, (n + 1) * sizeof *names);
    for (size_t i = 0; rc == 0 && i < n; i++)
        names[i] = a[i].name;
    if (rc == 0)
        qsort(names, n, sizeof *names, npz_compare_names);
    for (size_t i = 1; rc == 0 && i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = npy_fail(at, "two arrays are named '%.100s'", names[i]);
    free(names);
    return rc;
}

static int npz_read_source(const struct npy_source *src, struct npy_array **out, size_t *n,
                           const struct npy_place *at) {
    struct npz_directory dir = {.bytes = NULL};
    struct npy_array *arrays = NULL;
    size_t done = 0, pos = 0;
    uint64_t claimed = 0; /* bytes of all members so far: more than the file has if they overlap */
    int rc = npz_read_directory(src, &dir, at);
    if (rc == 0) {
        arrays = calloc((size_t)dir.members + 1, sizeof *arrays);
        if (!arrays)
            rc = npy_fail_memory(at, dir.members * sizeof *arrays);
    }
    for (uint64_t i = 0; rc == 0 && i < dir.members; i++) {
        struct npz_member m;
        rc = npz_next_member(&dir, &pos, &m, at);
        if (rc == 0 && m.name_size && m.name[m.name_size - 1] == '/')
            continue; /* a directory */
        if (rc == 0 && (__builtin_add_overflow(claimed, m.compressed, &claimed) ||
                        claimed > src->size))
            rc = npy_fail(at, "damaged archive: its members overlap");
        if (rc == 0)
            rc = npz_read_member(src, &dir, &m, &arrays[done], at);
        done += rc == 0;
    }
    if (rc == 0 && pos != dir.size)
        rc = npy_fail(at, "damaged archive: its directory holds more than %llu entries",
                      (unsigned long long)dir.members);
    if (rc == 0)
        rc = npz_check_names(arrays, done, at);
    free(dir.bytes);
    if (rc) {
        npz_free(arrays, done);
        return rc;
    }
    *out = arrays;
    *n = done;
    return 0;
}

int npz_read(const char *path, struct npy_array **out, size_t *n, struct npy_error *err) {
    struct npy_place at = {path, NULL, err};
    struct npy_source src;
    *out = NULL;
    *n = 0;
    if (npy_open(&src, &at))
        return -1;
    int rc = npz_read_source(&src, out, n, &at);
    close(src.fd);
    return rc;
}

int npz_parse(const void *bytes, size_t nbytes, const char *label, struct npy_array **out,
              size_t *n, struct npy_error *err) {
    *out = NULL;
    *n = 0;
    struct npy_source src = {.bytes = bytes, .fd = -1, .size = nbytes};
    return npz_read_source(&src, out, n, &(struct npy_place){label, NULL, err});
}

void npz_free(struct npy_array *a, size_t n) {
    for (size_t i = 0; a && i < n; i++)
        npy_free(&a[i]);
    free(a);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* An entry of the central directory. */
struct npz_entry {
    uint32_t crc;
    uint64_t size;  /* bytes of the .npy image */
    uint64_t local; /* offset of the local header */
};

static void npz_put(struct file_out *o, uint64_t value, int bytes) {
    unsigned char raw[8];
    for (int i = 0; i < bytes; i++)
        raw[i] = (unsigned char)(value >> 8 * i);
    file_put(o, raw, (size_t)bytes);
}

static uint64_t npz_clamp32(uint64_t value) {
    return value < NPZ_MAX32 ? value : NPZ_MAX32;
}

/* Writes the part that both headers of a member share: version needed ... length of the name. The
 * date is the first that zip can store, so that equal arrays give equal files. */
static void npz_put_common(struct file_out *o, const struct npz_entry *e, size_t name_size) {
    npz_put(o, e->size < NPZ_MAX32 && e->local < NPZ_MAX32 ? NPZ_VERSION : NPZ_VERSION64, 2);
    npz_put(o, NPZ_UTF8, 2);
    npz_put(o, NPZ_STORED, 2);
    npz_put(o, 0, 2);
    npz_put(o, 1 << 5 | 1, 2); /* January 1st, 1980 */
    npz_put(o, e->crc, 4);
    npz_put(o, npz_clamp32(e->size), 4);
    npz_put(o, npz_clamp32(e->size), 4);
    npz_put(o, name_size + 4, 2);
}

static int npz_put_member(struct file_out *o, const struct npy_array *a, struct npz_entry *e,
                          const struct npy_place *archive) {
    struct npy_place at = {archive->file, a->name, archive->err};
    struct npy_header_image image;
    size_t name_size = strlen(a->name);
    if (name_size + 4 > NPZ_MAX16)
        return npy_fail(&at, "name is too long");
    if (npy_make_header(a, &image, &at))
        return -1;
    uint32_t crc = (uint32_t)crc32_z(0, image.bytes, image.size);
    crc = a->nbytes ? (uint32_t)crc32_z(crc, a->data, a->nbytes) : crc;
    *e = (struct npz_entry){crc, image.size + a->nbytes, o->written};
    bool large = e->size >= NPZ_MAX32;
    npz_put(o, NPZ_LOCAL, 4);
    npz_put_common(o, e, name_size);
    npz_put(o, large ? 20 : 0, 2);
    file_put(o, a->name, name_size);
    file_put(o, ".npy", 4);
    if (large) {
        npz_put(o, NPZ_EXTRA64, 2);
        npz_put(o, 16, 2);
        npz_put(o, e->size, 8);
        npz_put(o, e->size, 8);
    }
    file_put(o, image.bytes, image.size);
    file_put(o, a->data, a->nbytes);
    return 0;
}

static void npz_put_directory_entry(struct file_out *o, const char *name,
                                    const struct npz_entry *e) {
    bool large = e->size >= NPZ_MAX32, far = e->local >= NPZ_MAX32;
    int extra = (large ? 16 : 0) + (far ? 8 : 0);
    npz_put(o, NPZ_CENTRAL, 4);
    npz_put(o, NPZ_UNIX | NPZ_VERSION64, 2);
    npz_put_common(o, e, strlen(name));
    npz_put(o, extra ? (uint64_t)extra + 4 : 0, 2);
    npz_put(o, 0, 2 + 2 + 2);               /* comment, disk, text or binary */
    npz_put(o, (uint64_t)0100644 << 16, 4); /* a file that all may read */
    npz_put(o, npz_clamp32(e->local), 4);
    file_put(o, name, strlen(name));
    file_put(o, ".npy", 4);
    if (extra) {
        npz_put(o, NPZ_EXTRA64, 2);
        npz_put(o, (uint64_t)extra, 2);
    }
    if (large) {
        npz_put(o, e->size, 8);
        npz_put(o, e->size, 8);
    }
    if (far)
        npz_put(o, e->local, 8);
}

static void npz_put_end(struct file_out *o, uint64_t n, uint64_t directory) {
    uint64_t end = o->written, size = end - directory;
    if (n >= NPZ_MAX16 || size >= NPZ_MAX32 || directory >= NPZ_MAX32) {
        npz_put(o, NPZ_END64, 4);
        npz_put(o, NPZ_END64_SIZE - 12, 8);
        npz_put(o, NPZ_UNIX | NPZ_VERSION64, 2);
        npz_put(o, NPZ_VERSION64, 2);
        npz_put(o, 0, 8); /* disks */
        npz_put(o, n, 8);
        npz_put(o, n, 8);
        npz_put(o, size, 8);
        npz_put(o, directory, 8);
        npz_put(o, NPZ_LOCATOR, 4);
        npz_put(o, 0, 4);
        npz_put(o, end, 8);
        npz_put(o, 1, 4);
    }
    npz_put(o, NPZ_END, 4);
    npz_put(o, 0, 4);
    npz_put(o, n < NPZ_MAX16 ? n : NPZ_MAX16, 2);
    npz_put(o, n < NPZ_MAX16 ? n : NPZ_MAX16, 2);
    npz_put(o, npz_clamp32(size), 4);
    npz_put(o, npz_clamp32(directory), 4);
    npz_put(o, 0, 2);
}

int npz_write(const char *path, const struct npy_array *a, size_t n, struct npy_error *err) {
    struct npy_place at = {path, NULL, err};
    struct file_out o;
    struct npz_entry *entries = calloc(n + 1, sizeof *entries);
    if (!entries)
        return npy_fail_memory(&at, (n + 1) * sizeof *entries);
    if (npz_check_names(a, n, &at) || npy_create(&o, &at)) {
        free(entries);
        return -1;
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = npz_put_member(&o, &a[i], &entries[i], &at);
    uint64_t directory = o.written;
    for (size_t i = 0; rc == 0 && i < n; i++)
        npz_put_directory_entry(&o, a[i].name, &entries[i]);
    npz_put_end(&o, n, directory);
    free(entries);
    return npy_commit(&o, rc, &at);
}
