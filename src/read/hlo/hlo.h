/* HLO text, as XLA dumps it: `HloModule name, …`, computations of instructions.
 *
 *   lex.c    characters, names, numbers, lists     attr.c     attributes of instructions, by the tables of hlo.def
 *   parse.c  the file as a tree of instructions    build.c    functions and regions, from computations
 *   shape.c  shapes, layouts, constants            op.c       instructions
 *
 * The file is read into a tree first; a computation becomes a function or a region where it is used. The module is StableHLO:
 * tuples are flattened into their parts, so that a loop over a tuple is a loop over several values; async ops are calls; what
 * starts an operation that another instruction ends is the whole operation. Layouts say nothing about values except where an
 * instruction is a bitcast; those of the entry's parameters and results are kept as `mhlo.layout_mode` where they are not
 * row-major, shardings as `mhlo.sharding`, the names and places in `metadata` as locations.
 *
 * The file is untrusted: nesting is bounded by HLO_DEPTH, and what becomes of computations that are used several
 * times by HLO_OPS. The first error ends the reading; it points at line and column. Memory: the module's arena. */
#ifndef HILO_READ_HLO_H
#define HILO_READ_HLO_H

#include "ir/intern.h"
#include "ir/ir.h"

enum {
    HLO_DEPTH = 200,       /* levels of shapes, constants, computations */
    HLO_OPS = 1 << 20,     /* ops that copies of computations add */
    HLO_DEVICES = 1 << 20  /* in a list of groups */
};

/* A stretch of the text that is not read yet. */
struct hlo_cursor { const char *at, *end; };

struct hlo_shape {
    bool tuple;
    bool tiled;                    /* its layout has tiles */
    ir_type type;                  /* tensor or token; none for a tuple */
    const int64_t *layout;         /* minor to major, one a dimension; NULL = row-major */
    const struct hlo_shape *items; /* of a tuple */
    uint32_t nitems;
    uint32_t nleaves;              /* 1, or those of the items */
    uint32_t first;                /* of an item: how many leaves of its tuple come before */
};

struct hlo_attr { struct str name, value; };

struct hlo_instr {
    struct str name, opcode;
    struct hlo_shape shape;
    struct str inside;             /* of the parentheses */
    const uint32_t *operands;      /* instructions of the computation */
    uint32_t noperands;
    uint32_t param;                /* of a parameter: its number */
    struct hlo_attr *attrs;
    uint32_t nattrs;
    uint64_t taken;                /* bit i: attribute i is known to mean something here */
    uint32_t line, col;
};

struct hlo_comp {
    struct str name;
    struct hlo_instr *v;
    uint32_t n, root;
    const uint32_t *params;        /* instructions, by number */
    uint32_t nparams;
    ir_attr symbol;                /* of its function, or none */
    bool open;                     /* it is being built; what uses it now is in a cycle */
};

struct hlo_texts { struct str *v; uint32_t n, cap; };
struct hlo_place { uint32_t file, function, line, col; };
struct hlo_frame { uint32_t place, parent; ir_attr loc; };

struct hlo {
    struct ir_module *m;
    struct diag_list *d;
    struct str text;
    uint32_t first_line;
    struct hlo_cursor c;
    const char *line_at, *line_begin;  /* line_at is in line line_no, which begins at line_begin */
    uint32_t line_no;
    uint32_t depth;
    uint64_t nops, max_ops; /* built so far, in all computations; max_ops: HLO_OPS and two for each instruction of the file */
    struct str name;
    struct { struct hlo_attr *v; uint32_t n, cap; } attrs; /* of the module */
    struct { struct hlo_comp *v; uint32_t n, cap; } comps;
    struct intern comp_names;
    uint32_t entry;                    /* computation */
    /* Numbered from 1: what `stack_frame_id` refers to. */
    struct hlo_texts files, functions;
    struct { struct hlo_place *v; uint32_t n, cap; } places;
    struct { struct hlo_frame *v; uint32_t n, cap; } frames;
};

/* ---- characters (lex.c) ---- */
hilo_status hlo_error(struct hlo *h, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "expected `what`, found …" at the cursor. */
hilo_status hlo_expected(struct hlo *h, const struct hlo_cursor *c, const char *what);
void hlo_locate(struct hlo *h, const char *at, uint32_t *line, uint32_t *col);
hilo_status hlo_enter(struct hlo *h, const char *at);
static inline void hlo_leave(struct hlo *h) { h->depth--; }
void hlo_space(struct hlo_cursor *c);                  /* skips white space and comments */
bool hlo_accept(struct hlo_cursor *c, const char *s);  /* … and `s`, if it comes next */
bool hlo_next_is(struct hlo_cursor *c, char ch);       /* skips white space only */
hilo_status hlo_expect(struct hlo *h, struct hlo_cursor *c, const char *s);
hilo_status hlo_end(struct hlo *h, struct hlo_cursor *c); /* nothing but white space may be left */
bool hlo_word(struct hlo_cursor *c, struct str *out);  /* letters, digits, _ . - : the longest; false when there is none */
hilo_status hlo_name(struct hlo *h, struct hlo_cursor *c, const char *what, struct str *out); /* with a % or without */
hilo_status hlo_i64(struct hlo *h, struct hlo_cursor *c, int64_t *out);
hilo_status hlo_u32(struct hlo *h, struct hlo_cursor *c, uint32_t *out);
hilo_status hlo_i64s(struct hlo *h, struct hlo_cursor *c, const char *open, const char *close, const int64_t **out,
                     uint32_t *n);
/* The contents of "…", its escapes resolved. */
hilo_status hlo_string(struct hlo *h, struct hlo_cursor *c, struct str *out);
/* The longest stretch that ends before white space or a comma outside of brackets and strings. */
hilo_status hlo_balanced(struct hlo *h, struct hlo_cursor *c, struct str *out);
/* What is between the brackets at the cursor. */
hilo_status hlo_brackets(struct hlo *h, struct hlo_cursor *c, struct str *inside);
static inline struct hlo_cursor hlo_over(struct str s) { return (struct hlo_cursor){s.p, s.p ? s.p + s.n : NULL}; }

/* ---- shapes, constants (shape.c) ---- */
hilo_status hlo_shape(struct hlo *h, struct hlo_cursor *c, struct hlo_shape *out);
/* The HLO spelling of an element type, `s32`. */
void hlo_dtype_name(enum ir_dtype t, struct strbuf *out);
/* One leaf's data. */
hilo_status hlo_literal(struct hlo *h, struct hlo_cursor *c, ir_type type, ir_attr *out);
/* The types of all leaves, in order, to `out`. */
void hlo_leaves(const struct hlo_shape *s, ir_type *out);
/* Layout of a leaf, by its number. */
const struct hlo_shape *hlo_leaf(const struct hlo_shape *s, uint32_t leaf);

/* ---- the tree (parse.c) ---- */
hilo_status hlo_parse(struct hlo *h);
hilo_status hlo_comp_named(struct hlo *h, struct hlo_cursor *c, struct hlo_comp **out);

/* ---- attributes (attr.c) ---- */
enum hlo_syntax {
    HLO_INT, HLO_I32, HLO_F32, HLO_BOOL, HLO_UNIT, HLO_DIMS, HLO_FIRST, HLO_ENUM, HLO_ENUMS, HLO_GROUPS, HLO_PAIRS, HLO_CHANNEL,
    HLO_ALGORITHM, HLO_SLICE, HLO_PADDING, HLO_WINDOW, HLO_LABELS, HLO_STRING
};
enum { HLO_NEED = -1, HLO_NONE = -2 };
struct hlo_attr_row {
    enum ir_op_kind op;
    uint32_t slot, field; /* field: IR_FIELD_NONE when it is the whole attribute */
    const char *name;
    enum hlo_syntax syntax;
    int64_t dflt;         /* HLO_NEED, HLO_NONE, or the value */
};
const struct hlo_attr_row *hlo_attr_rows(enum ir_op_kind op, uint32_t *n); /* consecutive */
const char *hlo_region_name(enum ir_op_kind op, uint32_t region);          /* NULL when there is none */
/* Parts of a window, and the attribute of an op that holds one; IR_SLOT_NONE: it has no such part. */
enum hlo_window_part {
    HLO_WINDOW_SIZE, HLO_WINDOW_STRIDE, HLO_WINDOW_PAD, HLO_WINDOW_LHS_DILATE, HLO_WINDOW_RHS_DILATE, HLO_WINDOW_REVERSAL,
    HLO_WINDOW_PARTS
};
const char *hlo_window_part(enum hlo_window_part part);
uint32_t hlo_window_slot(enum ir_op_kind op, enum hlo_window_part part);
/* Rows of HLO_ALGORITHM; NULL at the end. */
struct hlo_algorithm {
    const char *name;
    enum ir_dtype lhs, rhs, sum;
    int64_t components, operations;
    bool imprecise;
};
const struct hlo_algorithm *hlo_algorithm(size_t i);
/* The value of an attribute, which counts as known from now on; a cursor whose `at` is NULL when it is absent. */
struct hlo_cursor hlo_take(struct hlo_instr *i, const char *name);
struct str hlo_find(const struct hlo_attr *v, uint32_t n, const char *name); /* p is NULL when it is absent */
hilo_status hlo_set_props(struct hlo *h, struct hlo_instr *i, ir_op op);
hilo_status hlo_check_attrs(struct hlo *h, const struct hlo_instr *i);  /* an error for one that is not known */
hilo_status hlo_location(struct hlo *h, const struct hlo_instr *i, ir_attr *out);
/* Discardable attributes of an op or of a parameter: shardings and what frontends say. */
hilo_status hlo_discardable(struct hlo *h, const struct hlo_instr *i, bool sharding, ir_attr *out);

/* ---- functions and regions (build.c) ---- */
/* The leaves of an instruction; one may be none where StableHLO has no such value. */
struct hlo_value { ir_val *v; uint32_t n; };

struct hlo_body {
    struct hlo *h;
    struct hlo_comp *comp;
    ir_block block;
    struct hlo_value *values;  /* by instruction */
    const struct hlo_value *params;
    struct hlo_instr *instr;   /* that is being built */
    ir_attr loc;               /* of that */
};
hilo_status hlo_func(struct hlo *h, struct hlo_comp *comp, bool entry);
/* The region of `op` from a computation, which ends with `stablehlo.return`. With `captured`, the parameters are these values;
   else they are arguments of the block. */
hilo_status hlo_region(struct hlo_body *b, ir_region r, struct hlo_comp *comp, const struct hlo_value *captured);

/* ---- instructions (op.c) ---- */
hilo_status hlo_instruction(struct hlo_body *b, struct hlo_value *out);

/* ---- entry ----------------------------------------------------------------------------------- */

/* Whether a file is HLO text, by its first word. */
bool read_is_hlo(struct str text);
/* Reads a module. Diagnostics count and quote the lines of `text`, from `first_line` on. */
hilo_status read_hlo(struct ir_module *m, struct diag_list *d, struct str text, uint32_t first_line);

#endif
