/* numpy files: what numpy writes is read, what hilo writes is read back, and damage is refused with
 * a message with its place. */
#include "cli/npy.h"
#include "../test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* ---- files in memory ------------------------------------------------------------------------ */

struct blob {
    unsigned char bytes[8192];
    size_t n; /* bytes in use */
};

static void put(struct blob *b, const void *bytes, size_t n) {
    assert_true(n <= sizeof b->bytes - b->n);
    if (n)
        memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

static void put_int(struct blob *b, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; i++)
        put(b, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

/* A .npy file of format `major`.0 with any text as its header. */
static struct blob npy_file(int major, const char *header, const void *data, size_t n) {
    struct blob b = {.n = 0};
    put(&b, "\x93NUMPY", 6);
    put_int(&b, (uint64_t)major, 2);
    put_int(&b, strlen(header), major == 1 ? 2 : 4);
    put(&b, header, strlen(header));
    put(&b, data, n);
    return b;
}

/* How the archives of these tests differ from the plainest one. */
enum {
    DEFLATED = 1,
    DESCRIPTOR = 2,  /* sizes after the data, zeros in the local header */
    ZIP64 = 4,       /* sizes and offset in an extra field of the directory */
    HUGE_SIZE = 8,   /* claims 1 GB of plain bytes */
    BAD_CRC = 16,
    ENCRYPTED = 32,
    LZMA = 64,       /* claims an unknown method */
};

struct zip {
    struct blob file, directory;
    unsigned members;
};

static size_t deflate_bytes(const struct blob *in, unsigned char *out, size_t size) {
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)in->bytes, .avail_in = (uInt)in->n,
                  .next_out = out, .avail_out = (uInt)size};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return size - z.avail_out;
}

static void zip_add(struct zip *zip, const char *name, const struct blob *content, int how) {
    unsigned char packed[8192];
    size_t local = zip->file.n, n = content->n;
    uint64_t size = how & HUGE_SIZE ? 1000000000 : content->n;
    uint32_t crc = (uint32_t)crc32(0, content->bytes, (uInt)content->n) + (how & BAD_CRC ? 1 : 0);
    const unsigned char *data = content->bytes;
    if (how & DEFLATED) {
        n = deflate_bytes(content, packed, sizeof packed);
        data = packed;
    }
    struct blob common = {.n = 0}; /* flags, method, time, date */
    put_int(&common, (how & DESCRIPTOR ? 8u : 0u) | (how & ENCRYPTED ? 1u : 0u), 2);
    put_int(&common, how & LZMA ? 14 : how & DEFLATED ? 8 : 0, 2);
    put_int(&common, 33u << 16, 4);

    put(&zip->file, "PK\003\004\024\000", 6);
    put(&zip->file, common.bytes, common.n);
    put_int(&zip->file, how & DESCRIPTOR ? 0 : crc, 4);
    put_int(&zip->file, how & DESCRIPTOR ? 0 : n, 4);
    put_int(&zip->file, how & DESCRIPTOR ? 0 : size, 4);
    put_int(&zip->file, strlen(name), 2);
    put_int(&zip->file, 3, 2);
    put(&zip->file, name, strlen(name));
    put(&zip->file, "xyz", 3); /* an extra field that only the local header has */
    put(&zip->file, data, n);
    if (how & DESCRIPTOR) {
        put(&zip->file, "PK\007\010", 4);
        put_int(&zip->file, crc, 4);
        put_int(&zip->file, n, 4);
        put_int(&zip->file, size, 4);
    }

    put(&zip->directory, "PK\001\002\024\003\024\000", 8);
    put(&zip->directory, common.bytes, common.n);
    put_int(&zip->directory, crc, 4);
    put_int(&zip->directory, how & ZIP64 ? 0xffffffff : n, 4);
    put_int(&zip->directory, how & ZIP64 ? 0xffffffff : size, 4);
    put_int(&zip->directory, strlen(name), 2);
    put_int(&zip->directory, how & ZIP64 ? 6 + 28 : 0, 2);
    put(&zip->directory, "\0\0\0\0\0\0\0\0\0", 10); /* comment, disk, attributes */
    put_int(&zip->directory, how & ZIP64 ? 0xffffffff : local, 4);
    put(&zip->directory, name, strlen(name));
    if (how & ZIP64) {
        put(&zip->directory, "\x99\x99\002\000ab\001\000\030\000", 10); /* a foreign field first */
        put_int(&zip->directory, size, 8);
        put_int(&zip->directory, n, 8);
        put_int(&zip->directory, local, 8);
    }
    zip->members++;
}

static struct blob zip_finish(const struct zip *zip, bool zip64, const char *comment) {
    struct blob file = zip->file;
    size_t directory = file.n, end = directory + zip->directory.n;
    put(&file, zip->directory.bytes, zip->directory.n);
    if (zip64) {
        put(&file, "PK\006\006\054\000\000\000\000\000\000\000\055\003\055\000", 16);
        put_int(&file, 0, 8);
        put_int(&file, zip->members, 8);
        put_int(&file, zip->members, 8);
        put_int(&file, zip->directory.n, 8);
        put_int(&file, directory, 8);
        put(&file, "PK\006\007\000\000\000\000", 8);
        put_int(&file, end, 8);
        put_int(&file, 1, 4);
    }
    put(&file, "PK\005\006\000\000\000\000", 8);
    put_int(&file, zip64 ? 0xffff : zip->members, 2);
    put_int(&file, zip64 ? 0xffff : zip->members, 2);
    put_int(&file, zip64 ? 0xffffffff : zip->directory.n, 4);
    put_int(&file, zip64 ? 0xffffffff : directory, 4);
    put_int(&file, strlen(comment), 2);
    put(&file, comment, strlen(comment));
    return file;
}

/* ---- reading, the way the sanitizers like it ------------------------------------------------ */

/* Parses a copy of exactly n bytes, so that a read beyond them is seen. */
static int parse_npy(const void *bytes, size_t n, struct npy_array *a, struct npy_error *err) {
    void *copy = memcpy(malloc(n + 1), bytes, n);
    void *exact = realloc(copy, n ? n : 1);
    int rc = npy_parse(exact, n, "a.npy", a, err);
    free(exact);
    return rc;
}

static int parse_npz(const void *bytes, size_t n, struct npy_array **a, size_t *count,
                     struct npy_error *err) {
    void *copy = memcpy(malloc(n + 1), bytes, n);
    void *exact = realloc(copy, n ? n : 1);
    int rc = npz_parse(exact, n, "a.npz", a, count, err);
    free(exact);
    return rc;
}

static void expect_npy(const struct blob *b, const char *descr, int rank, const int64_t *dims,
                       const void *data, size_t nbytes) {
    struct npy_array a;
    struct npy_error err = {""};
    int rc = parse_npy(b->bytes, b->n, &a, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    assert_string_equal(a.descr, descr);
    assert_int_equal(a.rank, rank);
    for (int i = 0; i < rank; i++)
        assert_int_equal(a.dims[i], dims[i]);
    assert_int_equal(a.nbytes, nbytes);
    assert_non_null(a.data);
    if (nbytes)
        assert_memory_equal(a.data, data, nbytes);
    npy_free(&a);
    assert_null(a.data);
}

static void expect_refused(int rc, const struct npy_error *err, const char *message) {
    assert_int_equal(rc, -1);
    if (!strstr(err->message, message))
        fail_msg("expected \"%s\" in \"%s\"", message, err->message);
}

static void refuse_npz(const struct blob *b, const char *message) {
    struct npy_array *a;
    struct npy_error err;
    size_t n;
    expect_refused(parse_npz(b->bytes, b->n, &a, &n, &err), &err, message);
    assert_null(a);
    assert_int_equal(n, 0);
}

/* ---- .npy: reading -------------------------------------------------------------------------- */

static void reads_all_versions(void **state) {
    (void)state;
    const float data[] = {1, 2, 3, 4, 5, 6};
    for (int major = 1; major <= 3; major++) {
        struct blob b = npy_file(
            major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", data, 24);
        expect_npy(&b, "f4", 2, (int64_t[]){2, 3}, data, 24);
    }
}

static void reads_all_spellings_of_a_header(void **state) {
    (void)state;
    const int16_t data[] = {7, 8, 9};
    const char *const headers[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n",
        "{\"shape\":(3L,),\"fortran_order\":True,\"descr\":\"=i2\"}",
        " { 'fortran_order' : False , 'shape' : ( 3 , ) , 'descr' : 'i2' } \n",
    };
    for (size_t i = 0; i < 3; i++) {
        struct blob b = npy_file(1, headers[i], data, 6);
        expect_npy(&b, "i2", 1, (int64_t[]){3}, data, 6);
    }
}

static void reads_scalars_and_empty_arrays(void **state) {
    (void)state;
    struct blob b = npy_file(1, "{'descr': '<c16', 'fortran_order': False, 'shape': ()}",
                             (double[]){1, 2}, 16);
    expect_npy(&b, "c16", 0, NULL, (double[]){1, 2}, 16);
    b = npy_file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (4, 0, 3)}", NULL, 0);
    expect_npy(&b, "f8", 3, (int64_t[]){4, 0, 3}, NULL, 0);
}

static void converts_byte_order(void **state) {
    (void)state;
    struct blob b = npy_file(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}",
                             "\1\2\3\4", 4);
    expect_npy(&b, "i2", 1, (int64_t[]){2}, "\2\1\4\3", 4);
    b = npy_file(1, "{'descr': '>V2', 'fortran_order': False, 'shape': (2,)}", "\1\2\3\4", 4);
    expect_npy(&b, "V2", 1, (int64_t[]){2}, "\2\1\4\3", 4);
    b = npy_file(1, "{'descr': '>u4', 'fortran_order': False, 'shape': (1,)}", "\1\2\3\4", 4);
    expect_npy(&b, "u4", 1, (int64_t[]){1}, "\4\3\2\1", 4);
    b = npy_file(1, "{'descr': '>c8', 'fortran_order': False, 'shape': ()}", "\1\2\3\4\5\6\7\10",
                 8);
    expect_npy(&b, "c8", 0, NULL, "\4\3\2\1\10\7\6\5", 8);
    b = npy_file(1, "{'descr': '>f8', 'fortran_order': False, 'shape': ()}", "\1\2\3\4\5\6\7\10",
                 8);
    expect_npy(&b, "f8", 0, NULL, "\10\7\6\5\4\3\2\1", 8);
}

static void converts_fortran_order(void **state) {
    (void)state;
    /* Element (i, j, k) of a 2 x 3 x 4 array is 100 i + 10 j + k. */
    int32_t fortran[24], c[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                fortran[i + 2 * (j + 3 * k)] = c[(i * 3 + j) * 4 + k] = 100 * i + 10 * j + k;
    struct blob b = npy_file(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4)}",
                             fortran, sizeof fortran);
    expect_npy(&b, "i4", 3, (int64_t[]){2, 3, 4}, c, sizeof c);
    b = npy_file(1, "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 2)}", "\0\1\0\2\0\3\0\4",
                 8);
    expect_npy(&b, "u2", 2, (int64_t[]){2, 2}, "\1\0\3\0\2\0\4\0", 8);
}

static void makes_booleans_zero_or_one(void **state) {
    (void)state;
    struct blob b = npy_file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}",
                             "\0\1\2\377", 4);
    expect_npy(&b, "b1", 1, (int64_t[]){4}, "\0\1\1\1", 4);
}

static void hands_on_ml_dtypes(void **state) {
    (void)state;
    const struct {
        const char *spelling, *descr;
        size_t bytes;
    } types[] = {{"<V2", "V2", 2},           {"<V1", "V1", 1},   {"|V1", "V1", 1}, {"<f1", "f1", 1},
                 {"bfloat16", "bfloat16", 2}, {"int4", "int4", 1},
                 {"float8_e4m3b11fnuz", "float8_e4m3b11fnuz", 1}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char header[128];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,)}",
                 types[i].spelling);
        struct blob b = npy_file(1, header, "abcdef", 3 * types[i].bytes);
        expect_npy(&b, types[i].descr, 1, (int64_t[]){3}, "abcdef", 3 * types[i].bytes);
    }
}

static void refuses_bad_headers(void **state) {
    (void)state;
    const struct {
        const char *header, *message;
    } cases[] = {
        {"", "expected a Python dictionary"},
        {"[]", "expected a Python dictionary"},
        {"{", "expected a quoted key"},
        {"{'descr'", "expected a quoted key and a colon"},
        {"{'descr': '<f4', }", "expected 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': False, }", "expected 'shape'"},
        {"{'shape': (2,), 'fortran_order': False, }", "expected 'descr'"},
        {"{'shape': (2,), 'shape': (2,), }", "unexpected key 'shape'"},
        {"{'extra': 1}", "unexpected key 'extra'"},
        {"{'a key that is much too long': 1}", "expected a quoted key"},
        {"{'descr': '<f4' 'shape': (2,)}", "expected ',' or '}' after 'descr'"},
        {"{'descr': '<f4", "expected one element type"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "structured"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "element type '|O'"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", "element type '<U3'"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}", "element type '<f16'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", "element type ''"},
        {"{'descr': '\033[1m', 'fortran_order': False, 'shape': (2,)}", "element type '?[1m'"},
        {"{'descr': '<f4', 'fortran_order': None, 'shape': (2,)}", "expected True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "expected a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "expected a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "non-negative integers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 1)}", "non-negative integers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", "non-negative integers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "needs 12 bytes of data"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "needs 4 bytes of data"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "expected nothing after"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}",
         "needs 4000000000000 bytes of data, found 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ("
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)}",
         "at most 64 dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct blob b = npy_file(1, cases[i].header, "12345678", 8);
        struct npy_array a;
        struct npy_error err;
        expect_refused(parse_npy(b.bytes, b.n, &a, &err), &err, cases[i].message);
        assert_non_null(strstr(err.message, "a.npy: "));
        assert_null(a.data);
    }
}

static void refuses_what_is_not_npy(void **state) {
    (void)state;
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
    struct npy_array a;
    struct npy_error err;
    expect_refused(parse_npy("{\"not\": \"numpy\"}", 16, &a, &err), &err, "not a .npy array");
    struct blob b = npy_file(4, header, "12345678", 8);
    expect_refused(parse_npy(b.bytes, b.n, &a, &err), &err, "found 4.0");
    b = npy_file(2, header, "12345678", 8);
    b.bytes[11] = 0x7f;
    expect_refused(parse_npy(b.bytes, b.n, &a, &err), &err, "is longer than 65536");
    b = npy_file(1, header, "12345678", 8);
    b.bytes[20] = '\0';
    expect_refused(parse_npy(b.bytes, b.n, &a, &err), &err, "zero byte");
    for (size_t n = 0; n < b.n; n++) { /* no shorter file is whole */
        b = npy_file(1, header, "12345678", 8);
        assert_int_equal(parse_npy(b.bytes, n, &a, &err), -1);
    }
    expect_refused(npy_read("no/such/file.npy", &a, &err), &err, "cannot open: No such file");
    expect_refused(npy_read("/dev/null", &a, &err), &err, "expected a regular file");
}

static void survives_a_long_path(void **state) {
    (void)state;
    char path[2000];
    memset(path, 'p', sizeof path);
    strcpy(path + sizeof path - 7, "/b.npy");
    struct npy_array a;
    struct npy_error err;
    expect_refused(npy_parse("x", 1, path, &a, &err), &err, "pp/b.npy: not a .npy array");
}

/* ---- .npz: reading -------------------------------------------------------------------------- */

/* numpy 2.4 with ml_dtypes 0.6: savez(w=array([1, -2, .5], bfloat16)). */
static const char numpy_savez[] =
    "PK\003\004-\000\000\000\000\000\000\000!\000\254J\372 \377\377\377\377\377\377\377\377"
    "\005\000\024\000w.npy\001\000\020\000\206\000\000\000\000\000\000\000\206\000\000\000"
    "\000\000\000\000\223NUMPY\001\000v\000{'descr': '<V2', 'fortran_order': False, 'shape"
    "': (3,), }                                                            \012\200\077\000"
    "\300\000\077PK\001\002-\003-\000\000\000\000\000\000\000!\000\254J\372 \206\000\000\000"
    "\206\000\000\000\005\000\000\000\000\000\000\000\000\000\000\000\200\001\000\000\000\000"
    "w.npyPK\005\006\000\000\000\000\001\000\001\0003\000\000\000\275\000\000\000\000\000";

/* The same: savez_compressed(m=asfortranarray(arange(6, dtype='>i2').reshape(2, 3)), s=2.5). */
static const char numpy_savez_compressed[] =
    "PK\003\004-\000\000\000\010\000\000\000!\000\341\036\372\250\377\377\377\377\377\377\377"
    "\377\005\000\024\000m.npy\001\000\020\000\214\000\000\000\000\000\000\000Q\000\000\000"
    "\000\000\000\000\233\354\027\352\033\020\311\310P\306P\255\236\222Z\234\134\244n\245\240"
    "n\227i\244\256\243\240\236\226_TR\224\230\027\237_\224\222\012\022\017)*M\005\012\027"
    "g$\026\244\002\271\032F:\012\306\232:\012\265\012\344\003.\006\006\006f\006F\006\026\006"
    "&\006V\000PK\003\004-\000\000\000\010\000\000\000!\0005\264:\223\377\377\377\377\377\377"
    "\377\377\005\000\024\000s.npy\001\000\020\000\210\000\000\000\000\000\000\000G\000\000"
    "\000\000\000\000\000\233\354\027\352\033\020\311\310P\306P\255\236\222Z\234\134\244n\245"
    "\240n\223f\241\256\243\240\236\226_TR\224\230\027\237_\224\222\012\022wK\314)N\005\212"
    "\027g$\026\244\002\371\032\232:\012\265\012\024\001.\0060`q\000\000PK\001\002-\003-\000"
    "\000\000\010\000\000\000!\000\341\036\372\250Q\000\000\000\214\000\000\000\005\000\000"
    "\000\000\000\000\000\000\000\000\000\200\001\000\000\000\000m.npyPK\001\002-\003-\000"
    "\000\000\010\000\000\000!\0005\264:\223G\000\000\000\210\000\000\000\005\000\000\000\000"
    "\000\000\000\000\000\000\000\200\001\210\000\000\000s.npyPK\005\006\000\000\000\000\002"
    "\000\002\000f\000\000\000\006\001\000\000\000\000";

static void reads_what_numpy_writes(void **state) {
    (void)state;
    struct npy_array *a;
    struct npy_error err;
    size_t n;
    assert_int_equal(parse_npz(numpy_savez, sizeof numpy_savez - 1, &a, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_string_equal(a[0].name, "w");
    assert_string_equal(a[0].descr, "V2");
    assert_memory_equal(a[0].data, "\x80\x3f\x00\xc0\x00\x3f", 6);
    npz_free(a, n);

    assert_int_equal(
        parse_npz(numpy_savez_compressed, sizeof numpy_savez_compressed - 1, &a, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(a[0].name, "m");
    assert_string_equal(a[0].descr, "i2");
    assert_memory_equal(a[0].data, ((const int16_t[]){0, 1, 2, 3, 4, 5}), 12);
    assert_string_equal(a[1].name, "s");
    assert_int_equal(a[1].rank, 0);
    assert_memory_equal(a[1].data, &(const double){2.5}, 8);
    npz_free(a, n);
}

static struct blob small_array(void) {
    return npy_file(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n", "abcdef", 6);
}

static void reads_every_kind_of_archive(void **state) {
    (void)state;
    struct blob content = small_array();
    for (int how = 0; how < 8; how++)
        for (int end = 0; end < 2; end++) {
            struct zip zip = {.members = 0};
            zip_add(&zip, "first.npy", &content, 0);
            zip_add(&zip, "directory/", &(struct blob){.n = 0}, 0);
            zip_add(&zip, "directory/second", &content, how);
            struct blob file = zip_finish(&zip, /*zip64=*/end == 1,
                                          end ? "" : "PK\005\006 looks like the end");
            struct npy_array *a;
            struct npy_error err = {""};
            size_t n;
            int rc = parse_npz(file.bytes, file.n, &a, &n, &err);
            assert_string_equal(err.message, "");
            assert_int_equal(rc, 0);
            assert_int_equal(n, 2);
            assert_string_equal(a[0].name, "first");
            assert_string_equal(a[1].name, "directory/second");
            assert_memory_equal(a[1].data, "abcdef", 6);
            npz_free(a, n);
        }
}

static void reads_an_empty_archive(void **state) {
    (void)state;
    struct blob file = zip_finish(&(struct zip){.members = 0}, /*zip64=*/false, "");
    struct npy_array *a;
    struct npy_error err;
    size_t n = 1;
    assert_int_equal(parse_npz(file.bytes, file.n, &a, &n, &err), 0);
    assert_int_equal(n, 0);
    npz_free(a, n);
}

static void refuses_damaged_members(void **state) {
    (void)state;
    const struct {
        int how;
        const char *message;
    } cases[] = {
        {BAD_CRC, "a.npz: array 'w': checksum mismatch"},
        {BAD_CRC | DEFLATED, "a.npz: array 'w': checksum mismatch"},
        {HUGE_SIZE, "array 'w': is stored, but its sizes differ"},
        {HUGE_SIZE | DEFLATED, "deflated bytes cannot hold 1000000000 bytes"},
        {ENCRYPTED, "array 'w': is encrypted"},
        {LZMA, "array 'w': expected it stored or deflated, found zip method 14"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zip zip = {.members = 0};
        struct blob content = small_array();
        zip_add(&zip, "w.npy", &content, cases[i].how);
        struct blob file = zip_finish(&zip, /*zip64=*/false, "");
        refuse_npz(&file, cases[i].message);
    }
    struct zip zip = {.members = 0};
    struct blob text = {.n = 0};
    put(&text, "this is no array", 16);
    zip_add(&zip, "README", &text, 0);
    struct blob file = zip_finish(&zip, /*zip64=*/false, "");
    refuse_npz(&file, "a.npz: array 'README': not a .npy array");
}

static void refuses_damaged_directories(void **state) {
    (void)state;
    struct blob content = small_array();
    struct zip zip = {.members = 0};
    zip_add(&zip, "w.npy", &content, 0);
    zip_add(&zip, "w.npy", &content, 0);
    struct blob file = zip_finish(&zip, /*zip64=*/false, "");
    refuse_npz(&file, "two arrays are named 'w'");
    zip.members = 1;
    file = zip_finish(&zip, /*zip64=*/false, "");
    refuse_npz(&file, "holds more than 1 entries");
    zip.members = 2;
    zip.directory.bytes[0] = 'Q';
    file = zip_finish(&zip, /*zip64=*/false, "");
    refuse_npz(&file, "expected a directory entry");
    zip.members = 60000;
    file = zip_finish(&zip, /*zip64=*/true, "");
    refuse_npz(&file, "its directory does not fit");
    refuse_npz(&content, "not a .npz archive");

    /* Many entries that share one member: a bomb, were it not counted. */
    struct zip bomb = {.members = 0};
    zip_add(&bomb, "w.npy", &content, 0);
    struct blob entry = bomb.directory;
    for (int i = 0; i < 60; i++)
        put(&bomb.directory, entry.bytes, entry.n);
    bomb.members = 61;
    file = zip_finish(&bomb, /*zip64=*/false, "");
    refuse_npz(&file, "its members overlap");
}

static void survives_every_cut_and_flip(void **state) {
    (void)state;
    struct blob content = small_array();
    for (int kind = 0; kind < 2; kind++) {
        struct zip zip = {.members = 0};
        zip_add(&zip, "a.npy", &content, kind ? DEFLATED | DESCRIPTOR : 0);
        zip_add(&zip, "b.npy", &content, ZIP64);
        struct blob whole = zip_finish(&zip, kind == 1, "");
        struct npy_array *a;
        struct npy_error err;
        size_t n;
        for (size_t cut = 0; cut < whole.n; cut++)
            assert_int_equal(parse_npz(whole.bytes, cut, &a, &n, &err), -1);
        for (size_t bit = 0; bit < whole.n * 8; bit++) {
            struct blob flipped = whole;
            flipped.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            if (parse_npz(flipped.bytes, flipped.n, &a, &n, &err))
                continue;
            for (size_t i = 0; i < n; i++) /* a flip in a date may pass, one in data may not */
                assert_memory_equal(a[i].data, "abcdef", 6);
            npz_free(a, n);
        }
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

struct directory {
    char path[256];
    char file[300];
};

static int make_directory(void **state) {
    struct directory *f = calloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/hilo-npy-XXXXXX", tmp ? tmp : P_tmpdir);
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

/* Succeeds only if the test left nothing but f->file. */
static int remove_directory(void **state) {
    struct directory *f = *state;
    unlink(f->file);
    int rc = rmdir(f->path);
    free(f);
    return rc;
}

static const char *file_in(struct directory *f, const char *name) {
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
    return f->file;
}

static struct npy_array array_of(const char *name, const char *descr, size_t item_bytes,
                                 int64_t rows, int64_t columns, const void *data) {
    struct npy_array a = {.name = (char *)(uintptr_t)name, .rank = 2, .dims = {rows, columns},
                          .item_bytes = item_bytes,
                          .nbytes = item_bytes * (size_t)rows * (size_t)columns,
                          .data = (void *)(uintptr_t)data};
    snprintf(a.descr, sizeof a.descr, "%s", descr);
    return a;
}

static void expect_same(const struct npy_array *a, const struct npy_array *b) {
    assert_string_equal(a->descr, b->descr);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->dims, b->dims, sizeof a->dims);
    assert_int_equal(a->item_bytes, b->item_bytes);
    assert_int_equal(a->nbytes, b->nbytes);
    if (a->nbytes)
        assert_memory_equal(a->data, b->data, a->nbytes);
}

static void reads_back_what_it_wrote(void **state) {
    struct directory *f = *state;
    const struct {
        const char *descr;
        size_t bytes;
    } types[] = {{"b1", 1}, {"i1", 1}, {"i2", 2}, {"i4", 4}, {"i8", 8},  {"u1", 1},
                 {"u2", 2}, {"u4", 4}, {"u8", 8}, {"f2", 2}, {"f4", 4},  {"f8", 8},
                 {"c8", 8}, {"c16", 16}, {"V1", 1}, {"V2", 2}, {"bfloat16", 2}};
    enum { TYPES = sizeof types / sizeof types[0] };
    unsigned char data[96];
    struct npy_array in[TYPES], out, *all;
    struct npy_error err;
    size_t n;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = i & 1;
    for (size_t i = 0; i < TYPES; i++) {
        in[i] = array_of(types[i].descr, types[i].descr, types[i].bytes, 2, 3, data);
        assert_int_equal(npy_write(file_in(f, "one.npy"), &in[i], &err), 0);
        assert_int_equal(npy_read(f->file, &out, &err), 0);
        expect_same(&in[i], &out);
        assert_null(out.name);
        npy_free(&out);
    }
    unlink(f->file);
    in[3].dims[0] = 0; /* one of them empty, one a scalar */
    in[3].nbytes = 0;
    in[3].data = NULL;
    in[5].rank = 0;
    in[5].dims[0] = in[5].dims[1] = 0;
    in[5].nbytes = 1;
    assert_int_equal(npz_write(file_in(f, "all.npz"), in, TYPES, &err), 0);
    assert_int_equal(npz_read(f->file, &all, &n, &err), 0);
    assert_int_equal(n, TYPES);
    for (size_t i = 0; i < TYPES; i++) {
        assert_string_equal(all[i].name, in[i].name);
        expect_same(&in[i], &all[i]);
    }
    npz_free(all, n);
}

static void aligns_the_elements_in_a_file(void **state) {
    struct directory *f = *state;
    struct npy_error err;
    for (int rank = 0; rank <= NPY_MAX_RANK; rank++) {
        struct npy_array a = {.descr = "f4", .rank = rank, .item_bytes = 4, .nbytes = 4,
                              .data = (float[]){1}};
        struct stat st;
        for (int i = 0; i < rank; i++)
            a.dims[i] = 1;
        assert_int_equal(npy_write(file_in(f, "a.npy"), &a, &err), 0);
        assert_int_equal(stat(f->file, &st), 0);
        assert_int_equal(st.st_size % 64, 4);
        struct npy_array back;
        assert_int_equal(npy_read(f->file, &back, &err), 0);
        expect_same(&a, &back);
        npy_free(&back);
    }
}

static void replaces_a_file_in_one_step(void **state) {
    struct directory *f = *state;
    struct npy_array good = array_of("w", "f4", 4, 1, 2, (float[]){1, 2}), bad = good, *back;
    struct npy_error err;
    struct stat st;
    size_t n;
    assert_int_equal(npz_write(file_in(f, "w.npz"), &good, 1, &err), 0);
    bad.nbytes = 4;
    expect_refused(npz_write(f->file, (struct npy_array[]){good, [1] = bad}, 1 + 1, &err), &err,
                   "two arrays are named 'w'");
    bad.name = (char *)(uintptr_t)"bad";
    expect_refused(npz_write(f->file, (struct npy_array[]){good, [1] = bad}, 1 + 1, &err), &err,
                   "array 'bad': cannot write");
    expect_refused(npy_write(f->file, &bad, &err), &err, "cannot write");
    assert_int_equal(npz_read(f->file, &back, &n, &err), 0); /* the old one is still there */
    assert_int_equal(n, 1);
    npz_free(back, n);

    char link[300];
    snprintf(link, sizeof link, "%s/link", f->path);
    assert_int_equal(symlink(f->file, link), 0);
    assert_int_equal(npz_write(link, &good, 1, &err), 0);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    unlink(link);

    expect_refused(npz_write(f->path, &good, 1, &err), &err, "Is a directory");
    expect_refused(npz_write("no/such/directory.npz", &good, 1, &err), &err, "cannot write");
    assert_int_equal(npz_write("/dev/null", &good, 1, &err), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    if (stat("/dev/full", &st) == 0)
        expect_refused(npz_write("/dev/full", &good, 1, &err), &err, "No space left");
}

/* Sizes and offsets beyond 32 bits: needs 9 GB of disk, so only on request. */
static void writes_beyond_four_gigabytes(void **state) {
    struct directory *f = *state;
    if (!test_is_long())
        SKIP_BECAUSE("it needs 9 GB of disk; HILO_TEST_LONG=1 runs it");
    const int64_t n = INT64_C(0x110000000);
    unsigned char *large = calloc((size_t)n, 1);
    if (!large)
        SKIP_BECAUSE("there is no memory for 4 GB");
    large[n - 1] = 7;
    struct npy_array in[] = {array_of("large", "u1", 1, 1, n, large),
                             array_of("far", "i2", 2, 1, 3, "abcdef"),
                             array_of("farther", "i2", 2, 1, 3, "ghijkl")};
    struct npy_array *out;
    struct npy_error err = {""};
    size_t count;
    int rc = npz_write(file_in(f, "large.npz"), in, 3, &err);
    free(large);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    rc = npz_read(f->file, &out, &count, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    assert_int_equal(count, 3);
    assert_int_equal(out[0].nbytes, n);
    assert_int_equal(((unsigned char *)out[0].data)[n - 1], 7);
    assert_memory_equal(out[2].data, "ghijkl", 6);
    npz_free(out, count);
}

/* More members than 16 bits count. */
static void writes_beyond_65535_arrays(void **state) {
    struct directory *f = *state;
    enum { N = 66000 };
    struct npy_array *in = calloc(N, sizeof *in), *out;
    char (*names)[16] = calloc(N, sizeof *names);
    struct npy_error err = {""};
    size_t n;
    assert_non_null(in);
    assert_non_null(names);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        in[i] = (struct npy_array){.name = names[i], .descr = "u1", .item_bytes = 1, .nbytes = 1,
                                   .data = names[i]};
    }
    assert_int_equal(npz_write(file_in(f, "many.npz"), in, N, &err), 0);
    int rc = npz_read(f->file, &out, &n, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    assert_int_equal(n, N);
    assert_string_equal(out[N - 1].name, names[N - 1]);
    npz_free(out, n);
    free(in);
    free(names);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_versions),
        cmocka_unit_test(reads_all_spellings_of_a_header),
        cmocka_unit_test(reads_scalars_and_empty_arrays),
        cmocka_unit_test(converts_byte_order),
        cmocka_unit_test(converts_fortran_order),
        cmocka_unit_test(makes_booleans_zero_or_one),
        cmocka_unit_test(hands_on_ml_dtypes),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(refuses_what_is_not_npy),
        cmocka_unit_test(survives_a_long_path),
        cmocka_unit_test(reads_what_numpy_writes),
        cmocka_unit_test(reads_every_kind_of_archive),
        cmocka_unit_test(reads_an_empty_archive),
        cmocka_unit_test(refuses_damaged_members),
        cmocka_unit_test(refuses_damaged_directories),
        cmocka_unit_test(survives_every_cut_and_flip),
        IN_DIRECTORY(reads_back_what_it_wrote),
        IN_DIRECTORY(aligns_the_elements_in_a_file),
        IN_DIRECTORY(replaces_a_file_in_one_step),
        IN_DIRECTORY(writes_beyond_65535_arrays),
        IN_DIRECTORY(writes_beyond_four_gigabytes),
    };
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
