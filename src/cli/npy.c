/* numpy's .npy format: see npy.h for what is read and written, npy_impl.h for how the parts meet.
 *
 * The format is that of numpy.lib.format: a magic, a version, and a Python dictionary with
 * element type, order and shape, padded so that the elements after it are aligned. */
#include "cli/npy_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are kept little-endian");

enum {
    NPY_MAX_HEADER = 1 << 16, /* bytes of a header that is read; numpy's own limit is 10,000 */
    NPY_PREFIX = 10,          /* bytes before the header's text in format 1.0 */
    NPY_ALIGN = 64,           /* of the elements, in a file and in memory */
};

static const unsigned char npy_magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The element types that are understood: what ml_dtypes leaves of its own, then the table's. */
static const struct npy_type {
    char descr[20]; /* without byte order; empty where numpy has no such type */
    size_t bytes;   /* size of an element */
} npy_types[] = {
    {"V1", 1},
    {"V2", 2},
    {"f1", 1},
#define DTYPE(id, name, class, bits, bytes, fp, npy, hilo) {npy, bytes},
#include "ir/dtypes.def"
};

/* A descr without its byte order. */
static const char *npy_without_order(const char *descr) {
    return descr[0] != '\0' && strchr("<>|=", descr[0]) ? descr + 1 : descr;
}

static const struct npy_type *npy_find_type(const char *descr) {
    const char *bare = npy_without_order(descr);
    for (size_t i = 0; *bare && i < sizeof npy_types / sizeof npy_types[0]; i++)
        if (strcmp(npy_types[i].descr, bare) == 0)
            return &npy_types[i];
    return NULL;
}

/* The byte order to write before a type, as numpy does: a name (and not a letter and a size) has
 * none. */
static const char *npy_order(const struct npy_type *type) {
    bool named = type->descr[1] < '0' || type->descr[1] > '9';
    bool orderless = type->bytes == 1 && strchr("biu", type->descr[0]);
    return named ? "" : orderless ? "|" : "<";
}

/* Size of what byte order applies to: a complex element is two numbers. */
static size_t npy_number_bytes(const struct npy_type *type) {
    return type->descr[0] == 'c' ? type->bytes / 2 : type->bytes;
}

/* ---- messages ------------------------------------------------------------------------------- */

int npy_fail(const struct npy_place *at, const char *format, ...) {
    char *text = at->err->message;
    size_t size = sizeof at->err->message;
    /* The end of a long path is what tells most. */
    size_t skip = strlen(at->file) > 160 ? strlen(at->file) - 160 : 0;
    int used = at->array ? snprintf(text, size, "%s: array '%.100s': ", at->file + skip, at->array)
                         : snprintf(text, size, "%s: ", at->file + skip);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - (size_t)used, format, args);
    va_end(args);
    for (; *text; text++) /* names come from the file and may hold escape sequences */
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    return -1;
}

int npy_fail_memory(const struct npy_place *at, uint64_t bytes) {
    return npy_fail(at, "out of memory: %llu bytes were asked for", (unsigned long long)bytes);
}

/* ---- sources and streams -------------------------------------------------------------------- */

int npy_open(struct npy_source *src, const struct npy_place *at) {
    struct stat st;
    *src = (struct npy_source){.fd = open(at->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (src->fd < 0)
        return npy_fail(at, "cannot open: %s", strerror(errno));
    int rc = fstat(src->fd, &st) ? npy_fail(at, "cannot read: %s", strerror(errno)) : 0;
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = npy_fail(at, "expected a regular file");
    if (rc)
        close(src->fd);
    else
        src->size = (uint64_t)st.st_size;
    return rc;
}

int npy_source_read(const struct npy_source *src, uint64_t offset, void *dst, size_t n,
                    const struct npy_place *at) {
    if (offset > src->size || n > src->size - offset)
        return npy_fail(at, "file is cut short: expected %zu bytes at offset %llu of %llu", n,
                        (unsigned long long)offset, (unsigned long long)src->size);
    if (src->bytes) {
        if (n)
            memcpy(dst, src->bytes + offset, n);
        return 0;
    }
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(src->fd, (char *)dst + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return npy_fail(at, "cannot read: %s", strerror(errno));
        if (got == 0)
            return npy_fail(at, "file became shorter while it was read");
        done += (size_t)got;
    }
    return 0;
}

/* Inflates n bytes, or fewer if the stream ends before: *got tells. */
static int npy_inflate(struct npy_stream *s, unsigned char *dst, size_t n, size_t *got,
                       const struct npy_place *at) {
    s->z.next_out = dst;
    s->z.avail_out = (uInt)n;
    while (s->z.avail_out && !s->ended) {
        if (s->z.avail_in == 0) {
            size_t piece = s->end - s->at < NPY_PIECE ? (size_t)(s->end - s->at) : NPY_PIECE;
            if (piece == 0)
                return npy_fail(at, "deflated data is cut short");
            if (npy_source_read(s->source, s->at, s->window, piece, at))
                return -1;
            s->at += piece;
            s->z.next_in = s->window;
            s->z.avail_in = (uInt)piece;
        }
        int rc = inflate(&s->z, Z_NO_FLUSH);
        if (rc == Z_MEM_ERROR)
            return npy_fail(at, "out of memory while inflating");
        if (rc != Z_OK && rc != Z_STREAM_END)
            return npy_fail(at, "damaged deflated data: %s", s->z.msg ? s->z.msg : "no progress");
        s->ended = rc == Z_STREAM_END;
    }
    *got = n - s->z.avail_out;
    return 0;
}

static int npy_stream_read(struct npy_stream *s, void *dst, size_t n, const struct npy_place *at) {
    if (n > s->left)
        return npy_fail(at, "array is cut short: expected %zu more bytes, found %llu", n,
                        (unsigned long long)s->left);
    s->left -= n;
    for (unsigned char *p = dst; n;) {
        size_t piece = n < NPY_PIECE ? n : NPY_PIECE, got = piece;
        if (s->deflated ? npy_inflate(s, p, piece, &got, at)
                        : npy_source_read(s->source, s->at, p, piece, at))
            return -1;
        if (got < piece)
            return npy_fail(at, "deflated data ends %zu bytes early", n - got);
        if (!s->deflated)
            s->at += piece;
        if (s->checked)
            s->crc = (uint32_t)crc32(s->crc, p, (uInt)piece);
        p += piece;
        n -= piece;
    }
    return 0;
}

/* Call when every byte was read: the member must end here and its checksum must agree. */
static int npy_stream_finish(struct npy_stream *s, const struct npy_place *at) {
    unsigned char extra;
    size_t got = 0;
    if (s->deflated && npy_inflate(s, &extra, 1, &got, at))
        return -1;
    if (got)
        return npy_fail(at, "deflated data is longer than the archive says");
    if (s->checked && s->crc != s->expected_crc)
        return npy_fail(at, "checksum mismatch: expected %08x, found %08x", s->expected_crc,
                        s->crc);
    return 0;
}

/* ---- the header of a .npy image ------------------------------------------------------------- */

/* The header's dictionary. */
struct npy_header {
    char descr[64];             /* as it is spelled there */
    bool fortran_order;         /* first dimension varies fastest */
    int rank;                   /* number of dimensions */
    int64_t dims[NPY_MAX_RANK]; /* extents, outermost first */
};

static void npy_skip_space(const char **p) {
    *p += strspn(*p, " \t\r\n");
}

/* Consumes `token` after white space. */
static bool npy_take(const char **p, const char *token) {
    npy_skip_space(p);
    if (strncmp(*p, token, strlen(token)) != 0)
        return false;
    *p += strlen(token);
    return true;
}

/* 'text' or "text"; escapes do not occur in what numpy writes for the types that are understood. */
static bool npy_take_string(const char **p, char *out, size_t size) {
    npy_skip_space(p);
    char quote = **p;
    if (quote != '\'' && quote != '"')
        return false;
    const char *start = *p + 1, *end = strchr(start, quote);
    if (!end || (size_t)(end - start) >= size)
        return false;
    memcpy(out, start, (size_t)(end - start));
    out[end - start] = '\0';
    *p = end + 1;
    return true;
}

/* (), (3,), (3, 4): Python's tuple of integers; Python 2 wrote 3L. */
static int npy_take_shape(const char **p, struct npy_header *h, const struct npy_place *at) {
    if (!npy_take(p, "("))
        return npy_fail(at, "expected a tuple after 'shape'");
    bool comma = true;
    while (!npy_take(p, ")")) {
        if (!comma || **p < '0' || **p > '9')
            return npy_fail(at, "expected a tuple of non-negative integers after 'shape'");
        if (h->rank == NPY_MAX_RANK)
            return npy_fail(at, "expected at most %d dimensions", NPY_MAX_RANK);
        int64_t dim = 0;
        for (; **p >= '0' && **p <= '9'; (*p)++)
            if (__builtin_mul_overflow(dim, 10, &dim) ||
                __builtin_add_overflow(dim, **p - '0', &dim))
                return npy_fail(at, "dimension %d does not fit 64 bits", h->rank);
        h->dims[h->rank++] = dim;
        if (**p == 'L')
            (*p)++;
        comma = npy_take(p, ",");
    }
    if (h->rank == 1 && !comma)
        return npy_fail(at, "expected a tuple after 'shape', found an integer in parentheses");
    return 0;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } with the keys in any order. */
static int npy_parse_header(const char *text, struct npy_header *h, const struct npy_place *at) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *p = text;
    unsigned seen = 0;
    *h = (struct npy_header){.rank = 0};
    if (!npy_take(&p, "{"))
        return npy_fail(at, "expected a Python dictionary as header");
    while (!npy_take(&p, "}")) {
        char key[16];
        unsigned k = 0;
        if (!npy_take_string(&p, key, sizeof key) || !npy_take(&p, ":"))
            return npy_fail(at, "expected a quoted key and a colon in the header");
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || (seen & 1u << k))
            return npy_fail(at, "unexpected key '%s' in the header", key);
        seen |= 1u << k;
        if (k == 0 && !npy_take_string(&p, h->descr, sizeof h->descr))
            return npy_fail(at, "expected one element type after 'descr'; structured arrays are "
                                "not supported");
        if (k == 1) {
            h->fortran_order = npy_take(&p, "True");
            if (!h->fortran_order && !npy_take(&p, "False"))
                return npy_fail(at, "expected True or False after 'fortran_order'");
        }
        if (k == 2 && npy_take_shape(&p, h, at))
            return -1;
        if (!npy_take(&p, ",") && *p != '}')
            return npy_fail(at, "expected ',' or '}' after '%s' in the header", key);
    }
    npy_skip_space(&p);
    if (*p)
        return npy_fail(at, "expected nothing after the header's dictionary");
    for (unsigned k = 0; k < 3; k++)
        if (!(seen & 1u << k))
            return npy_fail(at, "expected '%s' in the header", keys[k]);
    return 0;
}

/* Reads the header and leaves the stream at the first element. */
static int npy_read_header(struct npy_stream *s, struct npy_header *h, const struct npy_place *at) {
    unsigned char prefix[NPY_PREFIX + 2];
    if (s->left < NPY_PREFIX)
        return npy_fail(at, "not a .npy array: only %llu bytes long", (unsigned long long)s->left);
    if (npy_stream_read(s, prefix, NPY_PREFIX, at))
        return -1;
    if (memcmp(prefix, npy_magic, sizeof npy_magic) != 0)
        return npy_fail(at, "not a .npy array: expected it to begin with \\x93NUMPY");
    unsigned major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0)
        return npy_fail(at, "expected format 1.0, 2.0 or 3.0, found %u.%u", major, minor);
    uint32_t length = (uint32_t)prefix[8] | (uint32_t)prefix[9] << 8;
    if (major > 1) {
        if (npy_stream_read(s, prefix + NPY_PREFIX, 2, at))
            return -1;
        length |= (uint32_t)prefix[10] << 16 | (uint32_t)prefix[11] << 24;
    }
    if (length > NPY_MAX_HEADER)
        return npy_fail(at, "header of %u bytes is longer than %d", length, NPY_MAX_HEADER);
    char *text = malloc((size_t)length + 1);
    if (!text)
        return npy_fail_memory(at, (uint64_t)length + 1);
    int rc = npy_stream_read(s, text, length, at);
    text[length] = '\0';
    if (rc == 0 && strlen(text) != length)
        rc = npy_fail(at, "header holds a zero byte");
    if (rc == 0)
        rc = npy_parse_header(text, h, at);
    free(text);
    return rc;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* NULL when there is no memory; 0 bytes give a valid pointer. */
static void *npy_alloc(size_t nbytes) {
    size_t padded;
    if (__builtin_add_overflow(nbytes, NPY_ALIGN, &padded))
        return NULL;
    return aligned_alloc(NPY_ALIGN, padded / NPY_ALIGN * NPY_ALIGN);
}

/* Size in bytes of an array. Zero extents are left out of the overflow check's product, so that the
 * strides of an array that passes it fit as well. */
static bool npy_size(const int64_t *dims, int rank, size_t item_bytes, size_t *nbytes) {
    size_t product = item_bytes;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= dims[i] == 0;
        if (dims[i] < 0 ||
            (dims[i] > 0 && __builtin_mul_overflow(product, (uint64_t)dims[i], &product)))
            return false;
    }
    *nbytes = empty ? 0 : product;
    return product <= PTRDIFF_MAX;
}

static void npy_swap_bytes(unsigned char *data, size_t nbytes, size_t number) {
    for (unsigned char *p = data; p < data + nbytes; p += number)
        for (size_t i = 0; i < number / 2; i++) {
            unsigned char byte = p[i];
            p[i] = p[number - 1 - i];
            p[number - 1 - i] = byte;
        }
}

/* Replaces a->data, which is in Fortran order, by the same array in C order. */
static int npy_to_c_order(struct npy_array *a, const struct npy_place *at) {
    size_t item = a->item_bytes, stride[NPY_MAX_RANK], index[NPY_MAX_RANK] = {0};
    int last = a->rank - 1;
    size_t step = item;
    for (int i = 0; i < a->rank; i++) {
        stride[i] = step;
        step *= (size_t)a->dims[i];
    }
    unsigned char *out = npy_alloc(a->nbytes), *dst = out;
    if (!out)
        return npy_fail_memory(at, a->nbytes);
    const unsigned char *src = a->data;
    while (dst < out + a->nbytes) {
        for (int64_t j = 0; j < a->dims[last]; j++, dst += item)
            memcpy(dst, src + (size_t)j * stride[last], item);
        for (int i = last - 1; i >= 0; i--) { /* to the next row */
            src += stride[i];
            if (++index[i] < (size_t)a->dims[i])
                break;
            src -= stride[i] * index[i];
            index[i] = 0;
        }
    }
    free(a->data);
    a->data = out;
    return 0;
}

int npy_read_stream(struct npy_stream *s, struct npy_array *out, const struct npy_place *at) {
    struct npy_header h;
    *out = (struct npy_array){.rank = 0};
    if (npy_read_header(s, &h, at))
        return -1;
    const struct npy_type *type = npy_find_type(h.descr);
    if (!type)
        return npy_fail(at, "element type '%s' is not supported: expected b1, i1 to i8, u1 to u8, "
                            "f2 to f8, c8, c16, V1, V2 or the name of an ml_dtypes type", h.descr);
    if (!npy_size(h.dims, h.rank, type->bytes, &out->nbytes))
        return npy_fail(at, "shape is too large");
    if (out->nbytes != s->left)
        return npy_fail(at, "shape needs %zu bytes of data, found %llu", out->nbytes,
                        (unsigned long long)s->left);
    strcpy(out->descr, type->descr);
    out->rank = h.rank;
    memcpy(out->dims, h.dims, sizeof h.dims);
    out->item_bytes = type->bytes;
    out->data = npy_alloc(out->nbytes);
    int rc = out->data ? npy_stream_read(s, out->data, out->nbytes, at)
                       : npy_fail_memory(at, out->nbytes);
    if (rc == 0)
        rc = npy_stream_finish(s, at);
    if (rc == 0 && h.descr[0] == '>')
        npy_swap_bytes(out->data, out->nbytes, npy_number_bytes(type));
    if (rc == 0 && strcmp(out->descr, "b1") == 0) /* any other byte would be undefined in C */
        for (size_t i = 0; i < out->nbytes; i++)
            ((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
    if (rc == 0 && h.fortran_order && h.rank > 1)
        rc = npy_to_c_order(out, at);
    if (rc)
        npy_free(out);
    return rc;
}

void npy_free(struct npy_array *a) {
    free(a->name);
    free(a->data);
    *a = (struct npy_array){.rank = 0};
}

/* ---- reading -------------------------------------------------------------------------------- */

static int npy_read_source(const struct npy_source *src, struct npy_array *out,
                           const struct npy_place *at) {
    struct npy_stream s = {.source = src, .end = src->size, .left = src->size};
    return npy_read_stream(&s, out, at);
}

int npy_read(const char *path, struct npy_array *out, struct npy_error *err) {
    struct npy_place at = {path, NULL, err};
    struct npy_source src;
    *out = (struct npy_array){.rank = 0};
    if (npy_open(&src, &at))
        return -1;
    int rc = npy_read_source(&src, out, &at);
    close(src.fd);
    return rc;
}

int npy_parse(const void *bytes, size_t nbytes, const char *label, struct npy_array *out,
              struct npy_error *err) {
    struct npy_source src = {.bytes = bytes, .fd = -1, .size = nbytes};
    return npy_read_source(&src, out, &(struct npy_place){label, NULL, err});
}

/* ---- writing -------------------------------------------------------------------------------- */

int npy_make_header(const struct npy_array *a, struct npy_header_image *image,
                    const struct npy_place *at) {
    const struct npy_type *type = npy_find_type(a->descr);
    size_t nbytes;
    if (!type || a->rank < 0 || a->rank > NPY_MAX_RANK || a->item_bytes != type->bytes ||
        !npy_size(a->dims, a->rank, type->bytes, &nbytes) || nbytes != a->nbytes)
        return npy_fail(at, "cannot write elements of type '%.23s': sizes and type disagree",
                        a->descr);
    char text[sizeof image->bytes];
    int n = snprintf(text, sizeof text, "{'descr': '%s%s', 'fortran_order': False, 'shape': (",
                     npy_order(type), type->descr);
    for (int i = 0; i < a->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", i ? ", " : "",
                      (long long)a->dims[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, "%s), }", a->rank == 1 ? "," : "");
    size_t text_size = (size_t)n;
    image->size = (NPY_PREFIX + text_size + 1 + NPY_ALIGN - 1) / NPY_ALIGN * NPY_ALIGN;
    size_t length = image->size - NPY_PREFIX;
    memcpy(image->bytes, npy_magic, sizeof npy_magic);
    memcpy(image->bytes + 6, (unsigned char[]){1, 0, length & 0xff, length >> 8 & 0xff}, 4);
    memset(image->bytes + NPY_PREFIX, ' ', length);
    memcpy(image->bytes + NPY_PREFIX, text, text_size);
    image->bytes[image->size - 1] = '\n';
    return 0;
}

/* The writer's diagnostic as a message. */
static int npy_fail_writing(struct diag_list *d, const struct npy_place *at) {
    snprintf(at->err->message, sizeof at->err->message, "%s",
             d->first && d->first->message ? d->first->message : "out of memory");
    diag_clear(d);
    return -1;
}

int npy_create(struct file_out *o, const struct npy_place *at) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    return file_create(at->file, &d, o) == HILO_OK ? 0 : npy_fail_writing(&d, at);
}

int npy_commit(struct file_out *o, int rc, const struct npy_place *at) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    return file_commit(o, rc == 0, &d) == HILO_OK ? rc : npy_fail_writing(&d, at);
}

int npy_write(const char *path, const struct npy_array *a, struct npy_error *err) {
    struct npy_place at = {path, NULL, err};
    struct npy_header_image image;
    struct file_out o;
    if (npy_make_header(a, &image, &at) || npy_create(&o, &at))
        return -1;
    file_put(&o, image.bytes, image.size);
    file_put(&o, a->data, a->nbytes);
    return npy_commit(&o, 0, &at);
}
