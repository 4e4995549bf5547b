/* Shared by npy.c and npz.c only.
 *
 * One parser serves all readers. A source is a file or a piece of memory; a stream is the bytes of
 * one .npy image in it: the whole source (.npy), a part of it (stored in an archive), or inflated
 * from a part of it (deflated in an archive). Writers use file_create of base/file.h. */
#ifndef HILO_CLI_NPY_IMPL_H
#define HILO_CLI_NPY_IMPL_H

#include "base/file.h"
#include "cli/npy.h"

#include <stdbool.h>
#include <zlib.h>

/* Bytes that are read and checksummed in one step: they fit a level-2 cache. */
enum { NPY_PIECE = 1 << 18 };

/* What is being read or written, for messages. */
struct npy_place {
    const char *file;
    const char *array; /* its name in an archive, or NULL */
    struct npy_error *err;
};

/* Writes "file: array 'name': message" and returns -1. */
__attribute__((format(printf, 2, 3)))
int npy_fail(const struct npy_place *at, const char *format, ...);
int npy_fail_memory(const struct npy_place *at, uint64_t bytes);

struct npy_source {
    const unsigned char *bytes; /* or NULL: then fd is read */
    int fd;
    uint64_t size; /* bytes */
};

/* Opens a regular file for reading; the caller closes fd. */
int npy_open(struct npy_source *src, const struct npy_place *at);

/* Reads n bytes, all of which must be there. */
int npy_source_read(const struct npy_source *src, uint64_t offset, void *dst, size_t n,
                    const struct npy_place *at);

/* The bytes of one .npy image, in order. */
struct npy_stream {
    const struct npy_source *source;
    uint64_t at, end;      /* what is left in the source */
    uint64_t left;         /* bytes that have not been delivered */
    bool checked;          /* whether expected_crc is known */
    uint32_t expected_crc; /* of everything */
    uint32_t crc;          /* of what was delivered */
    bool deflated;         /* whether the fields below are in use */
    bool ended;            /* the deflated data has reached its end mark */
    z_stream z;            /* initialised by the opener of the stream */
    unsigned char *window; /* NPY_PIECE compressed bytes */
};

/* Reads a .npy image, which must fill the stream, into *out (its name stays NULL). On failure *out
 * is cleared. */
int npy_read_stream(struct npy_stream *s, struct npy_array *out, const struct npy_place *at);

/* What comes before the elements in a .npy image. The longest has 64 extents of 19 digits. */
struct npy_header_image {
    unsigned char bytes[2048];
    size_t size; /* bytes in use */
};

/* Refuses an array whose type, shape and sizes contradict each other. */
int npy_make_header(const struct npy_array *a, struct npy_header_image *image,
                    const struct npy_place *at);

/* file_create and file_commit with messages of this module; `rc` other than 0 discards the file and is returned. */
int npy_create(struct file_out *o, const struct npy_place *at);
int npy_commit(struct file_out *o, int rc, const struct npy_place *at);

#endif
