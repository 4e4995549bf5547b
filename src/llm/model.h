/* A model: its description, and its weights as arguments of programs.
 *
 * A weight is one parameter of a program, or several: a quantised one has values, scales and perhaps offsets. A matrix is
 * stored
 *   plain      [rows, cols] of a float type
 *   8 bits     [rows, cols] of i8, or of ui8 with offsets
 *   4 bits     [rows, cols / 2] of ui8, each two neighbours, the first in the low bits: i4, or ui4 with offsets
 * with scales, and offsets, [rows, groups] of a float type: a number is value * scale + offset of its group, which are cols /
 * groups neighbours in a row. MLX uses the same layout, so its files need no conversion; those of GPTQ and AWQ are converted
 * (packed.h).
 *
 * Blocks of GGUF files are repacked to this layout without loss (gguf.h).
 *
 * Weights that need no conversion are never copied: parameters point into the mapped files. */
#ifndef HILO_LLM_MODEL_H
#define HILO_LLM_MODEL_H

#include "llm/config.h"
#include "llm/shard.h"
#include "llm/tensors.h"

enum llm_role {
#define WEIGHT(id, name, gguf, place, kind, rows, cols, shard, when) LLM_W_##id,
#include "llm/weights.def"
    LLM_ROLES
};

enum llm_precision {
    LLM_AS_STORED,
    LLM_F32,    /* products in f32, whatever the weights are stored in */
    LLM_BF16, LLM_F16, /* the inputs of products, and weights; sums in f32 */
    LLM_INT8,   /* a scale a row */
    LLM_INT4,   /* a scale for each 32 in a row */
    LLM_INT4Z,  /* the same, and an offset */
    LLM_PRECISIONS
};
const char *llm_precision_name(enum llm_precision p); /* "auto", "f32" … */
bool llm_precision_named(const char *name, enum llm_precision *out);

enum { LLM_INT4_GROUP = 32 };

enum llm_part { LLM_VALUES, LLM_SCALES, LLM_OFFSETS, LLM_SCALE_UNITS, LLM_OFFSET_UNITS, LLM_PARTS };

struct llm_param {
    struct str name;       /* of the tensor in files, terminated */
    enum llm_part part;
    enum ir_dtype dtype;
    uint32_t rank;
    int64_t dims[2];
    const void *data;      /* NULL in a model without data (llm_model_describe) */
    size_t bytes;
};

struct llm_weight {
    enum llm_role role;
    int64_t layer;         /* 0 outside of layers */
    int64_t rows, cols;    /* cols 0: a vector */
    uint32_t bits;         /* 4 or 8; 0 = plain */
    int64_t groups;        /* in a row; 0 = plain */
    bool offsets;
    int64_t units;         /* in a row: factors of the scales of equally many groups, and others of their offsets; 0 = none */
    uint32_t reach;        /* the greatest magnitude of a quantised value; 0 = what the bits allow */
    uint32_t first, nparams;
};

struct llm_model {
    struct llm_config config;   /* heads and widths are those of the shard */
    struct llm_shard shard;
    struct llm_tensors files;
    struct llm_weight *weights; /* in the order of weights.def, layer by layer */
    size_t nweights;
    struct llm_param *params;
    size_t nparams;
    size_t bytes;               /* of all parameters */
    enum llm_precision precision; /* never LLM_AS_STORED */
    enum ir_dtype decode, prefill; /* the inputs of products, by graph */
    enum ir_dtype cache;        /* elements of keys and values */
    bool prompts_by_row, prompts_in_words; /* see product.h; those of the engine */
    struct arena arena;
    struct { void *p; size_t n; } *owned; /* data that is in no file */
    size_t nowned;
    bool described;             /* without data: see llm_model_describe */
};

struct llm_progress {
    void (*report)(void *user, const char *what, double done); /* done: 0 to 1; NULL = not reported */
    void *user;
};

struct rt_pool;

/* Reads a model: a directory, or a GGUF file; only a shard of it, unless `shard` is LLM_UNDIVIDED. The diagnostic names a
   weight that is missing, has another type than the config calls for, or cannot be divided. `progress` and the thread pool,
   which convert weights, may be NULL. */
hilo_status llm_model_open(const char *dir, enum llm_precision precision, struct llm_shard shard,
                           const struct llm_progress *progress, struct rt_pool *pool, hilo_allocator al, struct diag_list *d,
                           struct llm_model *out);
/* The same, to emit programs: weights that would be converted have a type but no data. */
hilo_status llm_model_describe(const char *dir, enum llm_precision precision, hilo_allocator al, struct diag_list *d,
                               struct llm_model *out);
void llm_model_close(struct llm_model *m);
/* Returns the weight in that role, or NULL if the model has none. */
const struct llm_weight *llm_model_weight(const struct llm_model *m, enum llm_role role, int64_t layer);
/* ---- weights in GGUF files (gguf_order.c) ------------------------------------------------------ */

/* The name of a weight; and whether it continues the tensor of the one before it. */
void llm_weight_gguf_name(const struct llm_weight *w, char *out, size_t size);
bool llm_weight_continues(const struct llm_weight *w);
/* Whether architectures with shifted norms store it with 1 added; whether it is a table, which is not quantised. */
bool llm_role_is_shifted(enum llm_role role);
bool llm_role_is_table(enum llm_role role);
/* Rows or columns that are in another order: from the first on, each of `count` stretches has a x b pieces of `unit` rows in a
   model, and b x a of them in a file. */
struct llm_gguf_order { bool columns; int64_t first, count, a, b, unit; };
/* False if the order is the same. `interleaved`: GGUF_INTERLEAVED. */
bool llm_gguf_order(const struct llm_config *c, const struct llm_weight *w, bool interleaved, struct llm_gguf_order *out);
/* The row or column of a model that is at place i of a file. */
int64_t llm_gguf_source(const struct llm_gguf_order *o, int64_t i);
/* Writes the model as a GGUF file with the tokenizer and template of `from`: matrices in the format `type`, f32, f16, bf16,
   q8_0, q4_0 or q4_1, or, if it is NULL, as they are in memory. Families and tokenizers that have no place there are
   refused. */
hilo_status llm_model_write_gguf(const struct llm_model *m, const char *from, const char *to, const struct gguf_format *type,
                                 struct diag_list *d);
/* Writes the model to a directory: config and tokenizer are copied, the weights are written as they are in memory. */
hilo_status llm_model_write(const struct llm_model *m, const char *from, const char *to, struct diag_list *d);

/* ---- quantising (quant.c) -------------------------------------------------------------------- */

/* Quantises one row. 4 bits: values, packed, and a scale and an offset (NULL: none) in f16 for each LLM_INT4_GROUP of the
   columns, which are a multiple of that; 8 bits: values, and one scale in f32. */
void llm_quantise_row(const float *x, int64_t cols, uint32_t bits, void *values, void *scales, void *offsets);

#endif
