/* MLIR bytecode: StableHLO portable artifacts (VHLO) of every version, and StableHLO as it is.
 *
 *   read.c    the file: sections, strings, dialects, tables        bytecode.def  codes of attributes and types
 *   attr.c    attributes and constants                            vhlo.def      versions of ops and their attributes
 *   type.c    types                                               schema.c   what a record of attributes holds, by both
 *   op.c      ops, regions, values                              sdy.c      attributes of Shardy
 *
 * Attributes and types are read when they are first needed, each once. What is read from VHLO is StableHLO of today at once:
 * an attribute that an older version lacks is absent, and so is one that holds what its absence means.
 *
 * The file is untrusted: a count is checked against the bytes that are left before memory is taken for it, nesting
 * is bounded by BC_DEPTH, and shared parts by BC_PARTS when expanded. The first error ends the reading;
 * it names the byte. Memory: the module's arena. */
#ifndef HILO_READ_BYTECODE_H
#define HILO_READ_BYTECODE_H

#include "ir/ir.h"

enum {
    BC_NEWEST = 6,       /* version of the bytecode that is read */
    BC_DEPTH = 256,      /* levels of regions, and of attributes and types */
    BC_PARTS = 1 << 20,  /* attributes and types that one is made of */
    BC_RECORD_MOST = 24, /* attributes in a record */
    BC_FIELDS_MOST = 16  /* of a struct */
};

/* Versions of StableHLO, in order. */
#define BC_V(major, minor) ((major) * 1000 + (minor))
enum {
    BC_STABLEHLO = BC_V(1, 20),   /* the newest that is known */
    BC_OLDEST = BC_V(0, 9),       /* that is read */
    BC_OLDEST_TARGET = BC_V(1, 0) /* that is written */
};

enum bc_dialect { BC_OTHER, BC_BUILTIN, BC_VHLO, BC_STABLEHLO_DIALECT, BC_CHLO, BC_FUNC, BC_QUANT_DIALECT, BC_SDY };

enum bc_form {
    BC_NO_FORM,
    /* attributes */
    BC_ARRAY, BC_DICT, BC_STRING, BC_STRING_TYPED, BC_SYMBOL, BC_SYMBOL_NESTED, BC_TYPE_OF, BC_UNIT, BC_BOOL, BC_INT, BC_FLOAT,
    BC_ENUM, BC_API_VERSION, BC_STRUCT, BC_SUB_AXIS, BC_DENSE, BC_DENSE_ARRAY, BC_RESOURCE, BC_LOC_CALL, BC_LOC_FILE,
    BC_LOC_RANGE, BC_LOC_FUSED, BC_LOC_FUSED_META, BC_LOC_NAME, BC_LOC_UNKNOWN, BC_SDY_TEXT,
    /* types */
    BC_SCALAR, BC_INTEGER, BC_COMPLEX, BC_FUNCTION, BC_TENSOR, BC_TENSOR_ENCODED, BC_UNRANKED, BC_MEMREF, BC_BUFFER, BC_VECTOR,
    BC_TUPLE, BC_TOKEN, BC_FUTURE, BC_QUANT, BC_QUANT_AXIS, BC_NOTHING
};

struct bc_code { /* a row of bytecode.def */
    enum bc_dialect dialect;
    uint32_t code;
    int since;
    enum bc_form form;
    int of;
};

/* ---- what a record holds (schema.c) ------------------------------------------------------- */

/* One attribute of an op as it is stored: a whole one, or a field of one. */
struct bc_stored {
    const char *name;
    uint32_t slot;  /* IR_SLOT_NONE: an attribute that is not in attrs.def */
    uint32_t field; /* of the slot's struct, where the fields are stored one by one; else IR_FIELD_NONE */
    int k;          /* version of the op that has it first; 2 where its own dialect did not have it always */
    bool dropped;   /* it is there, and what the op is read as lacks it */
};
struct bc_schema {
    struct bc_stored v[BC_RECORD_MOST];
    uint32_t n;
};

/* Version k of a StableHLO op in VHLO; in the order of the record. */
void bc_schema_vhlo(enum ir_op_kind kind, int k, struct bc_schema *out);
/* The op as its own dialect stores it. */
void bc_schema_plain(enum ir_op_kind kind, struct bc_schema *out);
/* Shardy's collectives that leave a value the same, read as reshards; false for other ops. */
bool bc_schema_moving(struct str name, struct bc_schema *out);
/* The op that is version `k` of VHLO's `name` in a region of an op of kind `parent`; IR_OP_NONE when there is none. */
enum ir_op_kind bc_vhlo_op(const struct ir_module *m, struct str name, int k, enum ir_op_kind parent);
/* The StableHLO version that writes version k of an op first; 0 when there is no such version. */
int bc_vhlo_since(enum ir_op_kind kind, int k);
/* Whether the fields of a struct are stored one by one in VHLO. */
bool bc_is_spread(enum ir_struct s);
/* Whether an absent list stands for one with an equal value for each dimension, and which. */
bool bc_fill(uint32_t slot, int64_t *value);

/* Rows by what they are for: NULL when the dialect has none. */
const struct bc_code *bc_attr_form(enum bc_dialect dialect, enum bc_form form, int of);
const struct bc_code *bc_type_form(enum bc_dialect dialect, enum bc_form form, int of);
const struct bc_code *bc_attr_code(enum bc_dialect dialect, uint64_t code);
const struct bc_code *bc_type_code(enum bc_dialect dialect, uint64_t code);

/* ---- the reader ------------------------------------------------------------------------------ */

struct bc_cursor { const uint8_t *at, *end; };

enum bc_state { BC_UNREAD, BC_OPEN /* being read: what refers to it now is a cycle */, BC_DONE };

/* An attribute or type of the file. */
struct bc_entry {
    const uint8_t *at;
    size_t n;
    uint32_t dialect; /* index in the file */
    uint32_t id;      /* of the ir_attr or ir_type, once it is read */
    uint32_t parts;   /* number of parts when expanded */
    uint8_t state;    /* enum bc_state */
    bool custom;      /* encoded by its dialect; else text */
};
struct bc_entries { struct bc_entry *v; uint32_t n; };

struct bc_op_name {
    uint32_t dialect;
    struct str name;   /* without the dialect */
    bool registered;   /* its dialect stores its properties; else they are a dictionary */
    bool resolved;     /* the fields below are filled in */
    bool cast;         /* builtin.unrealized_conversion_cast */
    int version;       /* VHLO: k of `_vk` */
    enum ir_op_kind kind;
    const struct bc_schema *schema;
};

struct bc {
    struct ir_module *m;
    struct diag_list *d;
    struct str file;
    struct str producer;
    uint64_t version; /* of the bytecode */
    struct { struct str *v; uint32_t n; } strings;
    struct { struct { struct str name; enum bc_dialect id; } *v; uint32_t n; } dialects;
    struct { struct bc_op_name *v; uint32_t n, cap; } op_names;
    struct { struct str *v; uint32_t n; } records; /* of properties */
    struct { struct { struct str key, data; } *v; uint32_t n, cap; } resources;
    struct bc_entries attrs, types;
    uint32_t depth, parts;
    struct bc_ir *ir; /* op.c */
};

/* ---- primitives (read.c): false or an error leave the cursor anywhere ---- */

hilo_status bc_error(struct bc *b, const void *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static inline size_t bc_left(const struct bc_cursor *c) { return (size_t)(c->end - c->at); }
/* Whether data of n bytes is large enough to stay in the file, which stays, too (struct ir_module). */
bool bc_stays(const struct bc *b, size_t n);
hilo_status bc_byte(struct bc *b, struct bc_cursor *c, uint8_t *out);
hilo_status bc_vi(struct bc *b, struct bc_cursor *c, uint64_t *out);
hilo_status bc_svi(struct bc *b, struct bc_cursor *c, int64_t *out);
hilo_status bc_flagged(struct bc *b, struct bc_cursor *c, uint64_t *out, bool *flag);
/* A number of things that take at least one byte each of what is left. */
hilo_status bc_count(struct bc *b, struct bc_cursor *c, uint32_t *out);
/* The next n bytes. */
hilo_status bc_take(struct bc *b, struct bc_cursor *c, uint64_t n, struct str *out);
/* An index below n of `what`. */
hilo_status bc_check_index(struct bc *b, const uint8_t *at, uint64_t i, uint32_t n, const char *what);
hilo_status bc_index(struct bc *b, struct bc_cursor *c, uint32_t n, const char *what, uint32_t *out);
hilo_status bc_string(struct bc *b, struct bc_cursor *c, struct str *out);
/* A section at the cursor; `id` and `inside`. */
hilo_status bc_section(struct bc *b, struct bc_cursor *c, uint8_t *id, struct bc_cursor *inside);
/* What the file uses is newer than what is known: an error that names both versions. */
hilo_status bc_newer(struct bc *b, const void *at, const char *what);

/* ---- attributes and types (attr.c, type.c): by index at the cursor ---- */

hilo_status bc_attr(struct bc *b, struct bc_cursor *c, ir_attr *out);
hilo_status bc_attr_kind(struct bc *b, struct bc_cursor *c, enum ir_attr_kind kind, const char *what, ir_attr *out);
hilo_status bc_optional_attr(struct bc *b, struct bc_cursor *c, ir_attr *out); /* none when absent */
/* None for an unknown location. */
hilo_status bc_location(struct bc *b, struct bc_cursor *c, ir_attr *out);
hilo_status bc_type(struct bc *b, struct bc_cursor *c, ir_type *out);
hilo_status bc_flagged_type(struct bc *b, struct bc_cursor *c, ir_type *out, bool *flag);
hilo_status bc_types(struct bc *b, struct bc_cursor *c, const ir_type **out, uint32_t *n);
hilo_status bc_i64s(struct bc *b, struct bc_cursor *c, const int64_t **out, uint32_t *n);
hilo_status bc_f64(struct bc *b, struct bc_cursor *c, double *out);
/* An attribute of Shardy, as text (sdy.c). */
hilo_status bc_sdy_attr(struct bc *b, struct bc_cursor *c, const struct bc_code *code, ir_attr *out);

/* Both are read through this: entry `index` of the file, by `decode` when it is needed for the first time; `at` names it. */
typedef hilo_status bc_decode(struct bc *b, struct bc_cursor *c, const struct bc_code *code, uint32_t *id);
struct bc_kind {
    const char *one, *many;
    const struct bc_code *(*code)(enum bc_dialect dialect, uint64_t code);
    bc_decode *decode, *from_text;
};
hilo_status bc_entry(struct bc *b, const uint8_t *at, uint64_t index, struct bc_entries *in, const struct bc_kind *kind,
                     uint32_t *id);

/* ---- ops (op.c) ---- */

hilo_status bc_module(struct bc *b, struct bc_cursor ir);

/* ---- entry ----------------------------------------------------------------------------------- */

/* Whether a file is MLIR bytecode, by its first bytes. */
bool read_is_bytecode(struct str bytes);
/* Whether a file is what jax.export serialises; then *artifact is the bytecode within it. */
bool read_is_exported(struct str file, struct str *artifact);
/* Reads a module. Constants are copied out of `bytes`, which need not outlive the call unless m->bytes_stay. */
hilo_status read_bytecode(struct ir_module *m, struct diag_list *d, struct str bytes);

/* A version as `1.9.0` or `1.9`, as BC_V has it; false when it is none. */
bool bc_version_named(struct str text, int *out);
/* Writes a module that verifies as a portable artifact that StableHLO `target` and later read. HILO_UNIMPLEMENTED, with a
   diagnostic at the op, for what the target does not have. */
hilo_status write_bytecode(const struct ir_module *m, struct diag_list *d, int target, struct strbuf *out);

#endif
