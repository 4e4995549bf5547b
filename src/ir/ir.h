/* The IR: StableHLO modules as tables of 32-bit ids in one arena.
 *
 * A module owns everything it holds: ops, values, blocks, regions, interned types, attributes and strings. An id is a
 * one-field struct (a value cannot be passed where a type is expected); id 0 is "none". Ids stay valid for the life of the
 * module. Pointers obtained from ids (ir_op_get …) stay valid too, because tables grow by pages, but an op's operand,
 * successor and attribute arrays move when they are replaced: ids across calls, pointers only between calls.
 *
 * Not thread-safe while it is being changed; any number of threads may read. All allocation is from the module's arena: when
 * memory ends, the arena's recovery point is taken (base/mem.h) and the caller of the public entry frees the module. */
#ifndef HILO_IR_IR_H
#define HILO_IR_IR_H

#include "base/diag.h"
#include "base/fp.h"
#include "base/mem.h"
#include "base/str.h"

struct ir_module;

/* ---- ids ------------------------------------------------------------------------------------- */

typedef struct { uint32_t i; } ir_str;    /* interned string */
typedef struct { uint32_t i; } ir_type;   /* interned: equal types have equal ids */
typedef struct { uint32_t i; } ir_attr;   /* interned, except large constants (see ir_attr_dense) */
typedef struct { uint32_t i; } ir_val;    /* result of an op or argument of a block */
typedef struct { uint32_t i; } ir_op;
typedef struct { uint32_t i; } ir_block;
typedef struct { uint32_t i; } ir_region;

#define IR_NONE(id) ((id).i == 0)
#define IR_SAME(a, b) ((a).i == (b).i)

/* ---- tables ---------------------------------------------------------------------------------- */

enum ir_op_kind {
    IR_OP_NONE,
#define OP(id, ...) IR_##id,
#include "ir/ops.def"
    IR_OP_COUNT
};

/* Attribute slots: IR_<op>_<name>, for ir_prop(). */
enum ir_slot {
    IR_SLOT_NONE,
#define ATTR(op, name, kind, of, flags, value) IR_##op##_##name,
#include "ir/attrs.def"
    IR_SLOT_COUNT
};

enum ir_dtype {
    IR_DTYPE_NONE,
#define DTYPE(id, name, class, bits, bytes, fp, npy, hilo) IR_##id##_T,
#include "ir/dtypes.def"
    IR_DTYPE_COUNT
};

enum ir_dtype_class { IR_PRED, IR_SINT, IR_UINT, IR_FLOAT, IR_COMPLEX_CLASS, IR_INDEX_CLASS };

struct ir_dtype_info {
    const char *name;
    enum ir_dtype_class cls;
    uint32_t bits, bytes;
    enum fp_kind fp;       /* of the value, or of both parts of a complex number */
    const char *npy;
    hilo_dtype number;     /* in the public API; HILO_DTYPE_INVALID for what has no place there */
};
const struct ir_dtype_info *ir_dtype_get(enum ir_dtype t);
enum ir_dtype ir_dtype_named(struct str name); /* IR_DTYPE_NONE when unknown */

enum ir_enum {
    IR_ENUM_NONE,
#define ENUM(id, dialect, mnemonic, angle) IR_ENUM_##id,
#define ENUM_ALIAS(id, dialect, mnemonic, of) IR_ENUM_##id,
#include "ir/enums.def"
    IR_ENUM_COUNT
};

/* Cases: IR_<enum>_<case>, e.g. IR_COMPARISON_DIRECTION_EQ. */
enum ir_enum_case {
#define CASE(id, name, value) IR_##id##_##name = (value),
#include "ir/enums.def"
    IR_ENUM_CASE_MAX = 255
};

struct ir_enum_info {
    const char *dialect, *mnemonic;
    enum ir_enum cases_of; /* itself, or the one whose cases an alias shares */
    bool angle;            /* printed as #dialect.mnemonic<CASE>, not #dialect<mnemonic CASE>; both are read */
};
const struct ir_enum_info *ir_enum_get(enum ir_enum e);
const char *ir_enum_case_name(enum ir_enum e, int64_t value);                 /* NULL when there is none */
bool ir_enum_case_named(enum ir_enum e, struct str name, int64_t *out_value);

enum ir_struct {
    IR_STRUCT_NONE,
#define STRUCT(id, dialect, mnemonic, form) IR_STRUCT_##id,
#include "ir/structs.def"
    IR_STRUCT_COUNT
};

/* Fields: IR_<struct>_<field>, for ir_field(). */
enum ir_field_slot {
    IR_FIELD_NONE,
#define FIELD(struct_, name, kind, flags) IR_##struct_##_##name##_F,
#include "ir/structs.def"
    IR_FIELD_COUNT
};

enum ir_struct_form { IR_FORM_LIST, IR_FORM_ALL, IR_FORM_CONV };
enum ir_field_kind { IR_FK_DIMS, IR_FK_I64, IR_FK_BOOL, IR_FK_F64, IR_FK_TYPE, IR_FK_STR, IR_FK_ATTR, IR_FK_SUBAXIS };

struct ir_field_info {
    enum ir_struct of;
    const char *name;
    enum ir_field_kind kind;
    bool optional;
};
struct ir_struct_info {
    const char *dialect, *mnemonic;
    enum ir_struct_form form;
    uint32_t first_field, nfields; /* range of enum ir_field_slot */
};
const struct ir_struct_info *ir_struct_get(enum ir_struct s);
const struct ir_field_info *ir_field_get(uint32_t slot);

enum ir_attr_form { /* what a slot holds: the kinds of attrs.def */
    IR_AF_I64, IR_AF_I32, IR_AF_UI64, IR_AF_UI32, IR_AF_I64S, IR_AF_I32S, IR_AF_BOOL, IR_AF_UNIT, IR_AF_STR, IR_AF_F32,
    IR_AF_F64, IR_AF_BOOLS, IR_AF_ENUM, IR_AF_ENUMS, IR_AF_STRUCT, IR_AF_ELEMENTS, IR_AF_I64ELEMS, IR_AF_GROUPS, IR_AF_SYM,
    IR_AF_SYMS, IR_AF_SYMSS, IR_AF_DICT, IR_AF_ARRAY, IR_AF_TYPE, IR_AF_ANY
};
enum { IR_REQ = 1, IR_OPT = 2, IR_DEF = 4, IR_GE0 = 8, IR_GT0 = 16, IR_PER_DIM = 32, IR_DIMS = 64 };
#define IR_C(n) ((unsigned)(n) << 8) /* with a range: the constraint of the op, <op>_c<n>, that demands it */

struct ir_slot_info {
    enum ir_op_kind op;
    const char *name;
    enum ir_attr_form form;
    int of;              /* enum or struct id, by form */
    unsigned flags;
    int64_t value;       /* default, with IR_DEF */
};
const struct ir_slot_info *ir_slot_get(uint32_t slot);
/* What the value of an integer slot must be by its flags, "positive" or "non-negative", when `v` is not; else NULL. */
static inline const char *ir_slot_range(const struct ir_slot_info *s, int64_t v) {
    if ((s->flags & IR_GT0) && v <= 0)
        return "positive";
    return (s->flags & IR_GE0) && v < 0 ? "non-negative" : NULL;
}

enum ir_trait {
    IR_T_PURE = 1 << 0,         /* no effect but its results */
    /* r[i] depends on operands' [i] only (or on their scalar, where the op allows scalars) */
    IR_T_ELEMENTWISE = 1 << 1,
    IR_T_COMMUTATIVE = 1 << 2,
    IR_T_ASSOCIATIVE = 1 << 3,  /* in exact arithmetic */
    IR_T_IDEMPOTENT = 1 << 4,   /* f(f(a)) = f(a) */
    IR_T_SAME_SHAPE = 1 << 5,   /* operands and results have one shape */
    IR_T_SAME_TYPE = 1 << 6,    /* operands and results have compatible types */
    IR_T_MOVEMENT = 1 << 7,     /* results are rearranged operands */
    IR_T_REDUCTION = 1 << 8,
    IR_T_CONTRACTION = 1 << 9,
    IR_T_CONTROL = 1 << 10,     /* runs regions or functions; as pure as they are */
    IR_T_COLLECTIVE = 1 << 11,  /* talks to other processes */
    IR_T_EFFECT = 1 << 12,
    IR_T_TERMINATOR = 1 << 13,
    IR_T_SYMBOL = 1 << 14,      /* defines a symbol in the enclosing module, named by its first attribute */
    IR_T_ISOLATED = 1 << 15,    /* its regions see no values from outside */
    IR_T_CONSTANT = 1 << 16,    /* its value is its first attribute */
    IR_T_RANDOM = 1 << 17,      /* two equal ops may give different results */
    IR_T_BROADCASTING = 1 << 18, /* operands broadcast to one shape, as numpy */
    IR_T_MAY_FAIL = 1 << 19,    /* its operands give sizes, which a run checks; the verifier does where they are constant */
    IR_T_SELECTION = 1 << 20,   /* every element of the result is one of the first operand */
    IR_T_VIEW = 1 << 21,        /* … at an affine index, so that computing it at its uses is free */
    IR_T_ALIAS = 1 << 22,       /* result i has the elements of operand i in the same order */
    /* Result i belongs with certain operands, region arguments and returned values, and can be removed with them (dce.c). */
    IR_T_SLOTS = 1 << 23,
    IR_T_PREDICATE = 1 << 24,   /* its first region returns a predicate, not results */
    IR_T_ASYNC = 1 << 25,       /* may be the body of async_start */
    IR_T_RUN_STATE = 1 << 26    /* its effect depends on what the evaluator did before in the same run */
};

struct ir_op_info {
    const char *name;      /* "stablehlo.add" */
    const char *form;      /* see ops.def */
    const char *operands;  /* type kinds */
    const char *results;
    int nregions;          /* -1 = any */
    unsigned traits;
    int cost;              /* see ops.def; -1 for BY(f) too */
    enum ir_op_kind base;  /* what a broadcasting op applies to each element; IR_OP_NONE for others */
    uint32_t first_slot, nslots; /* range of enum ir_slot */
};
const struct ir_op_info *ir_op_info(enum ir_op_kind k);
/* One hash look-up: a module's first interned strings are the op names, in order. IR_OP_NONE when unknown. */
enum ir_op_kind ir_op_named(const struct ir_module *m, struct str name);
uint32_t ir_slot_named(enum ir_op_kind k, struct str name); /* IR_SLOT_NONE when the op has no such attribute */
static inline bool ir_op_has(enum ir_op_kind k, unsigned traits) { return (ir_op_info(k)->traits & traits) != 0; }

/* ---- types ----------------------------------------------------------------------------------- */

#define IR_DYNAMIC INT64_MIN /* size of a dimension that is not known */
enum { IR_MAX_RANK = 64 };   /* more is refused when read */

enum ir_type_kind {
    IR_TYPE_NONE,
    IR_TYPE_SCALAR,    /* dtype: an element type, `index`, or the type of an integer or float attribute */
    IR_TYPE_QUANT,     /* !quant.uniform<…>: an element type */
    IR_TYPE_TENSOR,    /* ranked */
    IR_TYPE_UNRANKED,  /* tensor<*xT> */
    IR_TYPE_MEMREF,    /* the buffers of StableHLO */
    IR_TYPE_VECTOR,
    IR_TYPE_TUPLE,
    IR_TYPE_TOKEN,
    IR_TYPE_FUTURE,    /* !stablehlo.future<T, …> */
    IR_TYPE_FUNCTION,
    IR_TYPE_OPAQUE     /* text of another dialect, `!x.y<…>`, kept as it is */
};

enum ir_quant_kind { IR_QUANT_TENSOR, IR_QUANT_AXIS, IR_QUANT_BLOCK };

struct ir_quant {
    enum ir_quant_kind kind;
    enum ir_dtype storage, expressed;
    int64_t storage_min, storage_max;  /* of the values that occur */
    bool has_range;                    /* the range is spelled out in the type */
    bool signed_storage;               /* the storage is spelled si8, not i8: a type that no op takes */
    uint32_t naxes;                    /* BLOCK: quantised axes; AXIS: 1 */
    const int64_t *axes, *block_sizes; /* naxes each; block_sizes NULL for AXIS */
    uint32_t nscales;                  /* 1, the size of the axis, or of the scale tensor */
    const int64_t *scale_dims;         /* BLOCK: shape of the scale tensor, of the rank of the tensor; else NULL */
    uint32_t scale_rank;
    const double *scales;
    const int64_t *zero_points;
};

struct ir_type_data {
    enum ir_type_kind kind;
    enum ir_dtype dtype;         /* SCALAR; shaped types: of the element (storage type when quantised) */
    uint32_t rank;               /* shaped types */
    const int64_t *dims;         /* rank sizes, IR_DYNAMIC where unknown */
    const int64_t *bounds;       /* rank bounds (IR_DYNAMIC = none), or NULL when the type has no bounds */
    ir_type elem;                /* shaped types */
    ir_attr encoding;            /* TENSOR: `tensor<…, encoding>`; MEMREF: layout; or none */
    const struct ir_quant *quant; /* QUANT, and shaped types with quantised elements; else NULL */
    const ir_type *types;        /* TUPLE, FUTURE: members; FUNCTION: ninputs then results */
    uint32_t ntypes, ninputs;
    ir_str text;                 /* OPAQUE, with its `!` */
};

const struct ir_type_data *ir_type_get(const struct ir_module *m, ir_type t);
ir_type ir_type_scalar(struct ir_module *m, enum ir_dtype t);
ir_type ir_type_quant(struct ir_module *m, const struct ir_quant *q);             /* copied */
ir_type ir_type_tensor(struct ir_module *m, ir_type elem, const int64_t *dims, uint32_t rank, ir_attr encoding);
ir_type ir_type_shaped(struct ir_module *m, enum ir_type_kind kind, ir_type elem, const int64_t *dims, uint32_t rank,
                       ir_attr encoding);
ir_type ir_type_of(struct ir_module *m, enum ir_dtype t, const int64_t *dims, uint32_t rank); /* tensor of scalars */
/* same element, no bounds */
ir_type ir_type_with_dims(struct ir_module *m, ir_type shaped, const int64_t *dims, uint32_t rank);
/* With bounds (IR_DYNAMIC = none); an encoding `#stablehlo.bounds<…>` when any is known. `bounds` may be NULL. */
ir_type ir_type_bounded(struct ir_module *m, ir_type elem, const int64_t *dims, const int64_t *bounds, uint32_t rank);
/* TUPLE, FUTURE */
ir_type ir_type_group(struct ir_module *m, enum ir_type_kind kind, const ir_type *types, uint32_t n);
ir_type ir_type_function(struct ir_module *m, const ir_type *ins, uint32_t nins, const ir_type *outs, uint32_t nouts);
ir_type ir_type_simple(struct ir_module *m, enum ir_type_kind kind);               /* TOKEN */
ir_type ir_type_opaque(struct ir_module *m, struct str text);

bool ir_type_is_shaped(const struct ir_type_data *t);   /* TENSOR, UNRANKED, MEMREF, VECTOR */
bool ir_type_is_static(const struct ir_type_data *t);   /* ranked, all dimensions known */
/* Number of elements; false when a dimension is unknown or the product overflows. */
bool ir_type_count(const struct ir_type_data *t, size_t *out);
/* Bytes of the elements in memory; false likewise. */
bool ir_type_bytes(const struct ir_type_data *t, size_t *out);
/* The type of a complex number's parts; another type itself. */
enum ir_dtype ir_dtype_part(enum ir_dtype t);

/* ---- attributes ------------------------------------------------------------------------------ */

enum ir_attr_kind {
    IR_ATTR_NONE,
    IR_ATTR_UNIT,
    IR_ATTR_BOOL,      /* i */
    IR_ATTR_INT,       /* i (two's complement for 64-bit unsigned), type */
    IR_ATTR_FLOAT,     /* f (the value as double), type */
    IR_ATTR_COMPLEX,   /* type, items = real and imaginary part as FLOAT */
    IR_ATTR_STRING,    /* str */
    IR_ATTR_TYPE,      /* type */
    IR_ATTR_ARRAY,     /* items, n */
    IR_ATTR_DICT,      /* names, items, n; sorted by nothing: order of writing */
    IR_ATTR_SYMBOL,    /* str (root), items = nested symbols as STRING */
    /* type (shaped), data; splat: all elements are equal, and data has one of them or all (see nbytes) */
    IR_ATTR_DENSE,
    IR_ATTR_DENSE_ARRAY, /* type (SCALAR of the elements), data, n elements: array<i64: 1, 2> */
    IR_ATTR_RESOURCE,  /* type (shaped), str = key, data once the file section was read, else NULL */
    IR_ATTR_ENUM,      /* sub = enum ir_enum, i */
    IR_ATTR_STRUCT,    /* sub = enum ir_struct, items = fields in table order (none where absent), n */
    IR_ATTR_OPAQUE,    /* str: text of another dialect (`#x.y<…>`), affine maps …; kept as it is */
    IR_ATTR_LOC_UNKNOWN,
    IR_ATTR_LOC_FILE,  /* str = file, i = line << 32 | col */
    IR_ATTR_LOC_NAME,  /* str = name, items[0] = child or none */
    IR_ATTR_LOC_CALL,  /* items = callee, caller */
    IR_ATTR_LOC_FUSED, /* items = locations; type unused; meta in items[n-1] when i = 1 */
};

struct ir_attr_data {
    enum ir_attr_kind kind;
    uint16_t sub;           /* enum ir_enum or enum ir_struct */
    bool splat;
    ir_type type;
    ir_str str;
    uint32_t n;             /* items or elements */
    int64_t i;
    double f;
    const ir_attr *items;
    const ir_str *names;
    const void *data;       /* elements, packed as dtype's bytes, row-major, little endian */
    size_t nbytes;          /* of data */
};

const struct ir_attr_data *ir_attr_get(const struct ir_module *m, ir_attr a);

ir_attr ir_attr_unit(struct ir_module *m);
ir_attr ir_attr_bool(struct ir_module *m, bool v);
ir_attr ir_attr_int(struct ir_module *m, ir_type t, int64_t v);
ir_attr ir_attr_i64(struct ir_module *m, int64_t v);
ir_attr ir_attr_float(struct ir_module *m, ir_type t, double v);
ir_attr ir_attr_complex(struct ir_module *m, enum ir_dtype t, double re, double im); /* t: C64 or C128 */
ir_attr ir_attr_string(struct ir_module *m, struct str s);
ir_attr ir_attr_of_type(struct ir_module *m, ir_type t);
ir_attr ir_attr_array(struct ir_module *m, const ir_attr *items, uint32_t n);
ir_attr ir_attr_dict(struct ir_module *m, const ir_str *names, const ir_attr *items, uint32_t n);
ir_attr ir_attr_symbol(struct ir_module *m, struct str root, const ir_attr *nested, uint32_t n);
ir_attr ir_attr_dense_array(struct ir_module *m, ir_type elem, const void *data, uint32_t n);
ir_attr ir_attr_i64s(struct ir_module *m, const int64_t *v, uint32_t n); /* array<i64: …> */
ir_attr ir_attr_enum(struct ir_module *m, enum ir_enum e, int64_t v);
ir_attr ir_attr_struct(struct ir_module *m, enum ir_struct s, const ir_attr *fields); /* nfields of them */
ir_attr ir_attr_opaque(struct ir_module *m, struct str text);
ir_attr ir_attr_loc(struct ir_module *m, enum ir_attr_kind kind, ir_str str, int64_t i, const ir_attr *items, uint32_t n);

/* Whether elements at this address may be the data of a constant: all code takes floats of 4 bytes or more at any
   address, and all others where C wants them. */
bool ir_data_may_stay(enum ir_dtype t, const void *data);
/* Memory for the data of a large constant, freed with the module; aligned to 64 bytes and not cleared. For ir_attr_dense and
   ir_resource_set with owned = false. Does not return when memory is exhausted. */
void *ir_blob_new(struct ir_module *m, size_t nbytes);

/* A dense constant: `data` holds one element (splat) or all of them. Small data is copied and interned. From IR_BLOB_BYTES on
   it is a blob: never compared, never copied; the module takes it over when `owned` (allocated by mem_alloc from the module's
   allocator), else the caller keeps it alive as long as the module. A tensor with one element is always a splat, one with
   none has no data. */
enum { IR_BLOB_BYTES = 1024 };
ir_attr ir_attr_dense(struct ir_module *m, ir_type shaped, const void *data, size_t nbytes, bool splat, bool owned);
ir_attr ir_attr_dense_i64s(struct ir_module *m, const int64_t *v, const int64_t *dims, uint32_t rank);
ir_attr ir_attr_resource(struct ir_module *m, ir_type shaped, struct str key);
/* The file section's data for a resource: seen through every attribute with that key. `data` as in ir_attr_dense. */
void ir_resource_set(struct ir_module *m, struct str key, const void *data, size_t nbytes, bool owned);

/* Readers. The pointer forms answer NULL / n = 0 for an attribute of another kind or none. */
bool ir_attr_as_i64(const struct ir_module *m, ir_attr a, int64_t *out);              /* INT, BOOL, ENUM */
/* Integers of an array<i64: …> or of a dense<…> of i64. */
const int64_t *ir_attr_as_i64s(const struct ir_module *m, ir_attr a, size_t *n);
struct str ir_attr_as_str(const struct ir_module *m, ir_attr a);                      /* STRING, SYMBOL; empty else */
ir_attr ir_dict_find(const struct ir_module *m, ir_attr dict, struct str name);       /* none when absent */
/* none when absent or another struct */
ir_attr ir_field(const struct ir_module *m, ir_attr s, enum ir_field_slot f);
const int64_t *ir_field_dims(const struct ir_module *m, ir_attr s, enum ir_field_slot f, size_t *n);
int64_t ir_field_i64(const struct ir_module *m, ir_attr s, enum ir_field_slot f);     /* 0 when absent */

/* What is wrong with a structured attribute whatever op it is on (check_struct.c), and the constraint of the specification that
   is violated, or NULL; NULL when nothing is wrong. */
const char *ir_attr_flaw(const struct ir_module *m, ir_attr a, const char **label);

/* ---- ops, values, blocks, regions ------------------------------------------------------------ */

struct ir_op_data {
    uint16_t kind;          /* enum ir_op_kind */
    uint16_t nregions;
    uint32_t noperands, nresults;
    ir_val *operands;
    ir_val result0;         /* results are consecutive ids */
    ir_region region0;      /* likewise */
    ir_attr *props;         /* one per slot of the kind's range; none = absent */
    ir_attr attrs;          /* DICT of the discardable attributes, or none */
    ir_str name;            /* UNREGISTERED: full name */
    ir_attr loc;            /* MLIR location, or none */
    uint32_t line, col;     /* place in the module's text, from 1; 0 = none */
    ir_block parent;
    ir_op prev, next;
};

struct ir_val_data {
    ir_type type;
    ir_op op;               /* defining op, or none for a block argument */
    ir_block block;         /* of an argument, else none */
    uint32_t index;         /* which result or argument */
    ir_attr loc;            /* arguments: location, or none */
};

struct ir_block_data {
    ir_region parent;
    ir_block next;
    ir_op first, last;
    ir_val *args;
    uint32_t nargs;
};

struct ir_region_data {
    ir_op parent;
    ir_block first, last;
};

const struct ir_op_data *ir_op_get(const struct ir_module *m, ir_op op);
const struct ir_val_data *ir_val_get(const struct ir_module *m, ir_val v);
const struct ir_block_data *ir_block_get(const struct ir_module *m, ir_block b);
const struct ir_region_data *ir_region_get(const struct ir_module *m, ir_region r);

static inline enum ir_op_kind ir_kind(const struct ir_module *m, ir_op op) { return (enum ir_op_kind)ir_op_get(m, op)->kind; }
static inline ir_val ir_operand(const struct ir_module *m, ir_op op, uint32_t i) { return ir_op_get(m, op)->operands[i]; }
static inline ir_val ir_result(const struct ir_module *m, ir_op op, uint32_t i) {
    return (ir_val){ir_op_get(m, op)->result0.i + i};
}
static inline ir_region ir_op_region(const struct ir_module *m, ir_op op, uint32_t i) {
    return (ir_region){ir_op_get(m, op)->region0.i + i};
}
/* Data of a value's type. */
const struct ir_type_data *ir_val_type(const struct ir_module *m, ir_val v);
/* Number of a value's elements; 0 when it is not known. */
size_t ir_val_count(const struct ir_module *m, ir_val v);
struct str ir_op_name(const struct ir_module *m, ir_op op); /* full name, also of UNREGISTERED */

/* Attribute in a slot of the op's kind; none when absent. `slot` must belong to the op's kind. */
ir_attr ir_prop(const struct ir_module *m, ir_op op, enum ir_slot slot);
/* Its integer, boolean or enum value; the table's default (else 0) when absent. */
int64_t ir_prop_i64(const struct ir_module *m, ir_op op, enum ir_slot slot);
const int64_t *ir_prop_i64s(const struct ir_module *m, ir_op op, enum ir_slot slot, size_t *n);
/* Integer i of a list; `absent` where there is no list, or a shorter one. */
int64_t ir_prop_i64_at(const struct ir_module *m, ir_op op, enum ir_slot slot, size_t i, int64_t absent);
/* Whether all integers of a list are x, or there is no list. */
bool ir_prop_i64s_are(const struct ir_module *m, ir_op op, enum ir_slot slot, int64_t x);
struct str ir_prop_str(const struct ir_module *m, ir_op op, enum ir_slot slot);
/* Whether a value is defined in one of the op's regions, however deep. */
bool ir_is_inside(const struct ir_module *m, ir_val v, ir_op op);
/* What an op with IR_T_CONSTANT gives. */
ir_attr ir_constant_value(const struct ir_module *m, ir_op op);

/* ---- building -------------------------------------------------------------------------------- */

/* A new op, not yet in a block: results get their types, regions are empty, all attributes absent. Arrays are
   copied. */
ir_op ir_op_new(struct ir_module *m, enum ir_op_kind kind, const ir_val *operands, uint32_t noperands,
                const ir_type *results, uint32_t nresults, uint32_t nregions);
void ir_set_prop(struct ir_module *m, ir_op op, enum ir_slot slot, ir_attr a);
void ir_set_attrs(struct ir_module *m, ir_op op, ir_attr dict);
void ir_set_name(struct ir_module *m, ir_op op, ir_str name);
void ir_set_loc(struct ir_module *m, ir_op op, ir_attr loc, uint32_t line, uint32_t col);
void ir_set_operand(struct ir_module *m, ir_op op, uint32_t i, ir_val v);
void ir_set_operands(struct ir_module *m, ir_op op, const ir_val *v, uint32_t n);
void ir_set_type(struct ir_module *m, ir_val v, ir_type t);
void ir_set_val_loc(struct ir_module *m, ir_val v, ir_attr loc);

/* appended to the region; none = in no region yet */
ir_block ir_block_new(struct ir_module *m, ir_region r);
void ir_block_append(struct ir_module *m, ir_region r, ir_block b);      /* of a block that is in no region */
ir_val ir_block_add_arg(struct ir_module *m, ir_block b, ir_type t);
void ir_append(struct ir_module *m, ir_block b, ir_op op);
void ir_insert_before(struct ir_module *m, ir_op before, ir_op op);
/* takes it out of its block; its id stays valid */
void ir_unlink(struct ir_module *m, ir_op op);

ir_str ir_str_of(struct ir_module *m, struct str s);
struct str ir_str_get(const struct ir_module *m, ir_str s);

/* Iteration: for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) */

/* ---- modules --------------------------------------------------------------------------------- */

struct ir_blob { void *p; size_t n; };

struct ir_module {
    struct arena arena;
    ir_op root;                /* builtin.module */
    struct str name;           /* where it was read from, for diagnostics; in the arena */
    struct str text;           /* its text while it is being read and verified, else empty; not owned */
    /* Called for long ranges of the text that are not read again soon; may be NULL. */
    void (*text_done)(const char *p, size_t n);
    bool bytes_stay;           /* what it is read from stays as it is as long as the module: large constants may stay in it */
    bool bytes_used;           /* some do; their address need not be a multiple of anything, but see ir_data_may_stay */
    struct ir_tables *t;       /* pages, intern tables (ir.c) */
};

/* `recover` is where exhaustion jumps (base/mem.h); it may be changed between calls by setting m->arena.recover. The module
   starts with an empty builtin.module as root. NULL when even that does not fit. */
struct ir_module *ir_module_new(hilo_allocator al, jmp_buf *recover);
/* A copy with the same ids, to be changed while `src` is kept: it shares the source's strings, types, attributes and constants,
   so `src` must outlive it and stay as it is. NULL when memory is exhausted. */
struct ir_module *ir_module_clone(const struct ir_module *src, hilo_allocator al, jmp_buf *recover);
void ir_module_free(struct ir_module *m);
/* Copies the ops of a block of another module, but for its terminator, before `at`; `args` stand for its arguments, `results`
   get what it returns. The ops may refer to no symbols. Neither module keeps anything of the other. */
void ir_import(struct ir_module *m, const struct ir_module *from, ir_block body, const ir_val *args, ir_op at, ir_val *results,
               struct arena *scratch);

ir_block ir_module_body(const struct ir_module *m);            /* of the root */
/* The symbol `name` in the root module; none when absent. */
ir_op ir_module_symbol(const struct ir_module *m, struct str name);
/* The function @main, or the only public one; none when there is neither. */
ir_op ir_module_entry(const struct ir_module *m);
/* Attribute of an argument of a function, or none. */
ir_attr ir_func_arg_attr(const struct ir_module *m, ir_op func, uint32_t i, struct str name);
/* Whether an argument has the attribute `hilo.unchanged`: it is the same buffer in most runs, as weights are. */
bool ir_func_arg_is_unchanged(const struct ir_module *m, ir_op func, uint32_t i);
/* Gives that attribute to arguments first … end - 1, which exist, beside those that they have. */
void ir_func_mark_unchanged(struct ir_module *m, ir_op func, uint32_t first, uint32_t end);
ir_block ir_func_body(const struct ir_module *m, ir_op func);  /* none for a declaration */
ir_op ir_terminator(const struct ir_module *m, ir_block b);    /* last op; none when empty */

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* An error at an op: its place in the text, else its MLIR location. Message: "'stablehlo.add' op …". Returns
   `status`. */
hilo_status ir_op_error(const struct ir_module *m, struct diag_list *d, ir_op op, hilo_status status, const char *label,
                        const char *fmt, ...) __attribute__((format(printf, 6, 7)));
hilo_status ir_op_verror(const struct ir_module *m, struct diag_list *d, ir_op op, hilo_status status, const char *label,
                         const char *fmt, va_list ap) __attribute__((format(printf, 6, 0)));
/* A warning likewise, which clients log. */
void ir_op_warn(const struct ir_module *m, struct diag_list *d, ir_op op, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- printing (print.c) ---------------------------------------------------------------------- */

/* Where an op comes from, "name file:line", as far as it is known, in `a`; long names are cut. */
const char *ir_op_place(const struct ir_module *m, ir_op op, struct arena *a);

struct ir_print_options {
    bool generic;          /* "dialect.op"(...) form throughout */
    bool locations;        /* loc(...) after every op that has one */
    size_t elide_elements; /* constants with more elements are printed as dense_resource<__elided__>; 0 = never */
    ir_op declare;         /* a function that is printed without its body; none = all have theirs */
    bool portable;         /* custom calls that name something of this process (hilo.of_process) without mhlo.backend_config */
};
void ir_print_module(const struct ir_module *m, const struct ir_print_options *o, struct strbuf *out);
void ir_print_type(const struct ir_module *m, ir_type t, struct strbuf *out);
void ir_print_attr(const struct ir_module *m, ir_attr a, struct strbuf *out);

/* ---- verification (verify.c, shape_*.c) ------------------------------------------------------ */

/* Checks the whole module against the table and the specification's constraints. Reports up to DIAG_MOST errors and returns
   HILO_INVALID_ARGUMENT when there was one. */
hilo_status ir_verify(struct ir_module *m, struct diag_list *d);

/* The result types of an op from its operands, attributes and regions, checking their constraints on the way. `out` has room
   for `nout` types; an entry of "none" means that the op's result cannot be inferred (reshape, constant, custom_call …). */
hilo_status ir_infer(struct ir_module *m, struct diag_list *d, ir_op op, ir_type *out, uint32_t nout);

/* ---- processes of collectives (groups.c) ------------------------------------------------------- */

/* What the ids of replica groups stand for. */
enum ir_groups_how { IR_CROSS_REPLICA, IR_CROSS_PARTITION, IR_CROSS_BOTH, IR_FLATTENED_IDS };

/* The replica groups of a collective, as rows of ids of which -1 fills up short ones; or its source_target_pairs, as rows of
   two. No rows: one group of all. */
struct ir_groups {
    enum ir_groups_how how;
    int64_t channel;
    const int64_t *ids; /* the module's, or: */
    size_t n, cols;
    int64_t *own;       /* computed from a mesh; else NULL */
    size_t bytes;
};
/* Of a collective, `send` or `recv` that has them. To be freed in any case. */
hilo_status ir_groups_read(const struct ir_module *m, ir_op op, const hilo_allocator *al, struct diag_list *d,
                           struct ir_groups *out);
void ir_groups_free(const hilo_allocator *al, struct ir_groups *g);
int64_t ir_groups_channel(const struct ir_module *m, ir_op op); /* 0 = none */
/* Processes are numbered replica * partitions + partition. Most members that a group can have. */
size_t ir_groups_most(const struct ir_groups *g, uint32_t replicas, uint32_t partitions);
/* The group of process `index`, and its position in it; *n = 0: it is in none. Returns NULL, or what is wrong with the
   groups. */
const char *ir_groups_find(const struct ir_groups *g, uint32_t index, uint32_t replicas, uint32_t partitions, uint32_t *members,
                           uint32_t *n, uint32_t *rank);
/* The process that this one sends to (side 0 is its own) or receives from (side 1 is); UINT32_MAX: none. */
const char *ir_groups_partner(const struct ir_groups *g, uint32_t index, uint32_t replicas, uint32_t partitions, int side,
                              uint32_t *out);

#endif
