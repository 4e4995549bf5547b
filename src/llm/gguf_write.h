/* What gguf_write.c and gguf_write_vocab.c share: a GGUF file that is being written. */
#ifndef HILO_LLM_GGUF_WRITE_H
#define HILO_LLM_GGUF_WRITE_H

#include "llm/gguf.h"
#include "llm/model.h"

/* How a weight is written: as blocks that it is stored in, or not. */
struct gguf_plan { const struct gguf_format *f; bool same; };

struct gguf_out {
    const struct llm_model *m;
    struct diag_list *d;
    hilo_allocator al;
    const struct gguf_arch *arch;
    struct strbuf meta, tensors; /* the entries, and the list of tensors */
    uint64_t nmeta, ntensors, offset;
    struct gguf_plan *plans;          /* of each weight */
    struct file_out file;
    float *row, *other; /* of the widest matrix; the second in the order of a model, where that is another */
    uint8_t *blocks;
    size_t widest;
};

/* Numbers and texts as a file has them. */
void gguf_put_u32(struct strbuf *s, uint32_t v);
void gguf_put_u64(struct strbuf *s, uint64_t v);
void gguf_put_text(struct strbuf *s, struct str text);
/* Entries of the metadata; the value of gguf_put_key, and the n elements of gguf_put_array, follow. */
void gguf_put_key(struct gguf_out *o, const char *key, enum gguf_type type);
void gguf_put_array(struct gguf_out *o, const char *key, enum gguf_type element, uint64_t n);
void gguf_put_int(struct gguf_out *o, const char *key, int64_t v);
void gguf_put_real(struct gguf_out *o, const char *key, double v);
void gguf_put_bool(struct gguf_out *o, const char *key, bool v);
void gguf_put_string(struct gguf_out *o, const char *key, struct str v);
/* The vocabulary: of a tokenizer.json, and what tokenizer_config.json (NULL: there is none) names in it. */
hilo_status gguf_put_tokenizer(struct gguf_out *o, const json_t *root, const json_t *config);
/* Reports that no GGUF file is written for `what`. */
hilo_status gguf_refuse(const struct gguf_out *o, const char *what);

#endif
