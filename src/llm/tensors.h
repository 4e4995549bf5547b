/* Files of named tensors: safetensors, one file or shards that an index lists, and GGUF (gguf.h). Files stay mapped; tensors
 * point into them and are not copied.
 *
 * safetensors (github.com/huggingface/safetensors, README): eight bytes with the length of a JSON header (little endian), the
 * header, then the data without holes. Anything else is refused, with the name of the tensor. */
#ifndef HILO_LLM_TENSORS_H
#define HILO_LLM_TENSORS_H

#include "base/file.h"
#include "ir/ir.h"
#include "llm/gguf.h"

#include <sys/types.h>

enum { LLM_TENSOR_RANK = 8 };

struct llm_tensor {
    struct str name;
    enum ir_dtype dtype; /* types of less than a byte are packed, the first element in the low bits */
    uint32_t rank;
    int64_t dims[LLM_TENSOR_RANK];
    const void *data;    /* possibly unaligned */
    size_t bytes;
    const struct gguf_format *format; /* in a GGUF file; the dtype is IR_DTYPE_NONE for blocks */
};

struct llm_file {
    struct file file;
    const char *path;    /* in the arena */
    dev_t dev;           /* of a mapped file, to recognise it under its path */
    ino_t ino;
};

struct llm_tensors {
    struct llm_tensor *v; /* sorted by name */
    size_t n;
    struct llm_file *files;
    size_t nfiles, files_bytes;
    size_t bytes;         /* of all tensors */
    bool gguf;            /* a GGUF file, which has other names */
    struct arena arena;
};

/* `path` is a file, or a directory with model.safetensors or model.safetensors.index.json. Free with llm_tensors_close, also
   after an error. */
hilo_status llm_tensors_open(const char *path, hilo_allocator al, struct diag_list *d, struct llm_tensors *out);
/* Reads one file from memory, which outlives `out`. */
hilo_status llm_tensors_parse(struct str bytes, const char *name, hilo_allocator al, struct diag_list *d,
                              struct llm_tensors *out);
void llm_tensors_close(struct llm_tensors *t);

/* Releases the memory of the pages of this data, if it is in a mapped file; reading it again reads the file again. */
void llm_tensors_release_pages(const struct llm_tensors *t, const void *data, size_t bytes);

/* DATA_LOSS if a mapped file is shorter than it was: reading what is missing would end the process (SIGBUS). Call it before the
   data is read; a file that shrinks during that reading is not caught. A file that was replaced or deleted is still there. */
hilo_status llm_tensors_check(const struct llm_tensors *t, struct diag_list *d);

/* NULL when there is none. */
const struct llm_tensor *llm_tensors_find(const struct llm_tensors *t, const char *name);
/* Appends its type as the file spells it, such as "BF16[2054, 128]", for messages. */
void llm_tensor_type(const struct llm_tensor *t, struct strbuf *out);

/* Writes one file; the `data` of each tensor is copied unchanged. */
hilo_status llm_tensors_write(const char *path, const struct llm_tensor *v, size_t n, hilo_allocator al, struct diag_list *d);

#endif
