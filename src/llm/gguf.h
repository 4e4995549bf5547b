/* GGUF files, which llama.cpp uses: metadata, vocabulary and tensors of a model in one file. Version 2 and 3, little endian.
 *
 *   gguf.c            the container            gguf_block.c       the formats of quantised tensors
 *   gguf_document.c   metadata as config.json and tokenizer_config.json     gguf_vocab.c   the vocabulary as tokenizer.json
 *   gguf_write.c      writing a model      gguf_write_vocab.c   and its vocabulary
 *   gguf_split.c      models that are split into several files
 *
 * Format: github.com/ggml-org/ggml, docs/gguf.md. Everything in a file is checked: sizes, offsets and counts come from
 * strangers. */
#ifndef HILO_LLM_GGUF_H
#define HILO_LLM_GGUF_H

#include "base/diag.h"
#include "base/file.h"
#include "ir/ir.h"

#include <jansson.h>

enum gguf_type {
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING, GGUF_ARRAY, GGUF_U64, GGUF_I64,
    GGUF_F64, GGUF_TYPES
};

struct gguf_entry {
    struct str key;
    enum gguf_type type, element; /* element: of arrays */
    uint64_t n;                   /* elements of an array */
    struct str data;              /* of a string its text; of an array its elements */
};

/* How a tensor is stored: elements of a type, or blocks of quantised ones. */
struct gguf_format {
    const char *name;
    uint32_t number;          /* in files: ggml_type */
    enum ir_dtype dtype;      /* of elements; IR_DTYPE_NONE: blocks */
    uint32_t elements, bytes; /* of a block */
    uint32_t bits;            /* of a value as programs take it: 4 or 8 */
    uint32_t group;           /* elements that share a scale */
    uint32_t reach;           /* the greatest magnitude of a value */
    bool offsets;             /* a number is value * scale + offset; else value * scale */
    enum ir_dtype scale;      /* of scales and offsets, which it represents exactly */
    bool units;               /* they are integers of 8 bits times two numbers of f16 that the block has, their units */
    /* Writes a block's values (0 … 15 or 0 … 255 with offsets, else signed), scales and offsets, and their units. */
    void (*unpack)(const uint8_t *block, int8_t *values, float *scales, float *offsets, float units[2]);
};
const struct gguf_format *gguf_format_numbered(uint32_t number); /* NULL: not known */
const struct gguf_format *gguf_format_named(const char *name);   /* "q8_0" …; NULL: not known */
/* The one with units whose blocks have so many elements, and values and scales of this form; NULL: none. */
const struct gguf_format *gguf_format_with_units(int64_t elements, uint32_t bits, int64_t group, bool offsets);

struct gguf_tensor {
    struct str name; /* terminated */
    const struct gguf_format *format;
    uint32_t rank;
    int64_t dims[4]; /* row-major: the last is contiguous */
    const void *data;
    size_t bytes;
};

struct gguf {
    struct arena arena;
    const char *file;  /* for messages */
    struct diag_list *d;
    struct gguf_entry *entries;
    size_t nentries;
    struct gguf_tensor *tensors;
    size_t ntensors;
};

/* Whether a file begins as GGUF does. */
bool gguf_is(struct str bytes);
bool gguf_is_path(const char *path);
/* Reads a file from memory, which outlives `out`; `name` is for messages. gguf_close in any case. */
hilo_status gguf_parse(struct str bytes, const char *name, hilo_allocator al, struct diag_list *d, struct gguf *out);
void gguf_close(struct gguf *g);

/* The files of a model, which is split into several or is not: the metadata of the first, and the tensors of all. */
struct gguf_files {
    hilo_allocator al;
    struct gguf all;
    struct file *files;
    struct gguf *parts; /* the first is in `all` */
    size_t n, bytes;
};
/* `path` is the first file. gguf_files_close in any case. */
hilo_status gguf_files_open(const char *path, hilo_allocator al, struct diag_list *d, struct gguf_files *out);
void gguf_files_close(struct gguf_files *f);
/* The path of file i of n; false if the first is not named as one of n, or the path is too long. */
bool gguf_part_path(const char *first, size_t i, size_t n, char *out, size_t size);

const struct gguf_entry *gguf_find(const struct gguf *g, const char *key);
/* An integer or boolean; `absent` when there is none or its value does not fit. */
int64_t gguf_int(const struct gguf *g, const char *key, int64_t absent);
double gguf_real(const struct gguf *g, const char *key, double absent);
struct str gguf_text(const struct gguf *g, const char *key); /* p NULL: none */
/* The next element of an array of strings, from *at = 0. */
bool gguf_next_text(const struct gguf_entry *array, size_t *at, struct str *out);
/* Element i of an array of numbers or booleans; 0 outside. */
double gguf_element(const struct gguf_entry *array, uint64_t i);
hilo_status gguf_fail(const struct gguf *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What converters do to the weights of an architecture. */
enum {
    GGUF_INTERLEAVED = 1,   /* rows of queries and keys are in another order: pairs of rotary embeddings are neighbours */
    GGUF_SHIFTED_NORMS = 2, /* 1 is added to norms */
    GGUF_LATE_NORM = 4,     /* the norm before the MLP has the name of one after attention */
    GGUF_MERGED = 8,        /* queries, keys and values are one matrix, gates and ups another */
    GGUF_LONG_ROPE = 16     /* both lists of LongRoPE are in the file */
};
/* Architectures by their names here and in config.json. */
struct gguf_arch { const char *name, *type; unsigned flags; };
const struct gguf_arch *gguf_arch_of(const char *type); /* NULL: none is written */
/* Keys after "ARCHITECTURE.", and the fields of config.json; a key may have several, all of them are read.
   GGUF_DESCRIBED: integers that are written from the description of a model, as layers may differ or config.json may leave out
   what is usual. */
struct gguf_field { const char *key, *field; enum { GGUF_INTEGER, GGUF_REAL, GGUF_DESCRIBED } kind; };
extern const struct gguf_field gguf_fields[];
extern const size_t gguf_nfields;
/* The splits of a name, n of them; NULL if it is not known. */
const char *const *gguf_pre_expressions(const char *name, size_t *n);
/* The first name for a list of splits; NULL if there is none. */
const char *gguf_pre_named(const char *const *expressions, size_t n);

/* The documents of a model directory, as new objects; NULL after a diagnostic. */
json_t *gguf_config(const struct gguf *g);
json_t *gguf_tokenizer(const struct gguf *g);
json_t *gguf_tokenizer_config(const struct gguf *g);
/* The expressions by which such documents remove spaces as SentencePiece does, after its rules: all but one between words, and
   all around a text. */
#define GGUF_SPACES_BETWEEN " {2,}"
#define GGUF_SPACES_AROUND "\\A +|(?<![ \xE2\x96\x81])[ \xE2\x96\x81]+\\z"
/* A matrix of blocks, unpacked: values of format->bits each, two of 4 bits in a byte, the first in the low bits; scales and
   offsets (unused without) as integers of 8 bits beside their units in f16, or, where units are NULL, of format->scale. */
struct gguf_rows {
    const struct gguf_format *format;
    const void *data;
    int64_t rows, cols;
    void *values, *scales, *offsets, *units[2];
};
/* Unpacks rows from … to - 1. */
void gguf_unpack_rows(const struct gguf_rows *m, int64_t from, int64_t to);

#endif
