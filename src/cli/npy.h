/* Arrays in numpy's files: .npy (one array) and .npz (a zip archive of them).
 *
 * Reads what numpy and Python write: formats 1.0, 2.0 and 3.0, C and Fortran order, little- and
 * big-endian, archives that are stored or deflated, with or without data descriptors and zip64.
 * Whatever was in the file, the caller sees little-endian elements in C order. Writes format 1.0
 * and stored archives, which numpy.load reads.
 *
 * Element types that numpy lacks: numpy.save and numpy.savez write an array of ml_dtypes with this
 * descr:
 *
 *     bfloat16                                            '<V2'
 *     float8_*, float6_*, float4_*, int1/2/4, uint1/2/4   '<V1'  a byte each, value in the low bits
 *     float8_e5m2                                         '<f1'  which numpy.load refuses to read
 *
 * So the file gives the width of an element, not its type: the reader passes on "V2", "V1" or "f1",
 * and the caller decides by the type that the program wants. The unused high bits of an element
 * smaller than a byte mean nothing. Some programs write the type's name instead ('bfloat16',
 * 'float8_e4m3fn' ...), and numpy.load takes that once ml_dtypes is imported; such a name is passed
 * on unchanged. "V2" and "V1" are the portable choice, for float8_e5m2 too: every numpy can read
 * them.
 *
 * Functions that return int return 0, or -1 with a message in *err that names the file, the array
 * and what was expected. After -1 there is nothing to free and no file was written. Files may be
 * hostile: memory is asked for only after the sizes that a file claims were checked against each
 * other and against its length. */
#ifndef HILO_CLI_NPY_H
#define HILO_CLI_NPY_H

#include <stddef.h>
#include <stdint.h>

#define NPY_MAX_RANK 64 /* numpy's own limit */

struct npy_array {
    char *name;                 /* in an archive, without ".npy"; NULL in a lone .npy file */
    char descr[24];             /* element type without byte order: "f4", "b1", "V2", "int4" */
    int rank;                   /* number of dimensions, 0 for a scalar */
    int64_t dims[NPY_MAX_RANK]; /* extents, outermost first */
    size_t item_bytes;          /* size of an element in bytes */
    size_t nbytes;              /* size of data in bytes: item_bytes times the product of dims */
    void *data;                 /* when read: aligned to 64 bytes, not NULL even if nbytes is 0 */
};

struct npy_error {
    char message[512];
};

/* Reads the array of a .npy file. Bytes after it are an error. npy_free releases it. */
int npy_read(const char *path, struct npy_array *out, struct npy_error *err);

/* npy_read from memory; `label` stands for the file's name in messages. */
int npy_parse(const void *bytes, size_t nbytes, const char *label, struct npy_array *out,
              struct npy_error *err);

/* Reads every array of a .npz file, in the archive's order, and verifies the checksums. npz_free
 * releases them. */
int npz_read(const char *path, struct npy_array **out, size_t *n, struct npy_error *err);

/* npz_read from memory; `label` stands for the file's name in messages. */
int npz_parse(const void *bytes, size_t nbytes, const char *label, struct npy_array **out,
              size_t *n, struct npy_error *err);

/* Writes one array; `name` is ignored. A regular file is replaced in one step, when it is complete
 * (file_create in base/file.h); a pipe or a device is written directly. */
int npy_write(const char *path, const struct npy_array *a, struct npy_error *err);

/* Writes n arrays as an archive, with the same care; every one needs a name, unlike the others. */
int npz_write(const char *path, const struct npy_array *a, size_t n, struct npy_error *err);

/* Releases an array that was read, and clears it; a cleared one may be freed again. */
void npy_free(struct npy_array *a);

/* Releases what npz_read or npz_parse answered; NULL is allowed. */
void npz_free(struct npy_array *a, size_t n);

#endif
