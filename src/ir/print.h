/* The printer's state and parts: print.c (types, attributes), print_op.c (operations, forms), print_custom.c (the hand-written
 * words of forms). */
#ifndef HILO_IR_PRINT_H
#define HILO_IR_PRINT_H

#include "ir/ir.h"

struct printer {
    const struct ir_module *m;
    struct ir_print_options o;
    struct strbuf *out;
    bool *resources;      /* by resource: something printed refers to it; or NULL */
    uint32_t *names;      /* by value id: number << 1 | is an argument; in print_op.c */
    size_t nnames;
    uint32_t next_result, next_arg; /* next free numbers in the function being printed */
    int indent;
};

void print_type(struct printer *p, ir_type t);
void print_attr(struct printer *p, ir_attr a);
/* `{a = 1, b}` with every entry, or nothing when there is none; `lead` comes before it. */
void print_dict_entry(struct printer *p, struct str name, ir_attr a);
/* The short form that custom assembly uses for an attribute of that form: `3`, `[1, 2]`, `EQ`. */
void print_attr_form(struct printer *p, ir_attr a, enum ir_attr_form form);
/* Whether the attribute is what its short form can say. */
bool print_form_fits(const struct ir_module *m, ir_attr a, const struct ir_slot_info *slot);
void print_dims(struct printer *p, const int64_t *dims, size_t n); /* [1, ?, 3] */
void print_conv_dims(struct printer *p, ir_attr a);                 /* [b, 0, f]x[0, i, o]->[b, 0, f] */
bool print_conv_fits(const struct ir_module *m, ir_attr a);         /* whether these can say it: every place is taken */
void print_string(struct printer *p, struct str s);                 /* quoted and escaped */
void print_symbol(struct printer *p, struct str s);                 /* @name, quoted where it must be */

/* ---- operations (print_op.c) ---- */

enum { PRINT_ARG = 1 };
void print_name(struct printer *p, ir_val v, uint32_t number, uint32_t arg); /* what a value is called from here on */
void print_name_args(struct printer *p, ir_block b);                          /* the next free names for a block's arguments */
void print_value(struct printer *p, ir_val v);
void print_values(struct printer *p, const ir_val *v, uint32_t n);            /* with commas */
void print_newline(struct printer *p);
void print_loc(struct printer *p, ir_attr loc);                               /* ` loc(…)` when locations are wanted */
void print_val_type(struct printer *p, ir_val v);
void print_operand_types(struct printer *p, const struct ir_op_data *o);
void print_result_types(struct printer *p, ir_op op);                         /* in parentheses unless there is one */
void print_fn_type(struct printer *p, ir_op op);                              /* (operands) -> results */
void print_block_args(struct printer *p, ir_block b);                         /* %arg0: type, … */
/* `{ … }`. Without `header` the block's arguments have their names already and stand elsewhere. */
void print_region(struct printer *p, ir_region r, bool header);
/* An op's attributes as a dictionary that begins with `lead`, or nothing: properties whose bit is not in `said`, then the
   discardable ones. */
void print_dict(struct printer *p, ir_op op, const char *lead, uint64_t said, bool props, bool discardable);

/* ---- words of forms (print_custom.c) ---- */

/* What a form is printed with: which properties it has said, and whether a separating blank is due. */
struct form {
    ir_op op;
    uint64_t said;
    bool blank;
    uint32_t next_operand;
};

void form_say(const struct printer *p, struct form *f, enum ir_slot slot); /* notes that a property has been printed */

struct word {
    const char *name;
    void (*print)(struct printer *p, struct form *f);
    bool (*fits)(const struct printer *p, ir_op op);
    bool tight; /* follows the op's name, or what is before it, without a blank */
    bool types; /* prints the types of operands and results */
    bool operands; /* names all operands */
};

const struct word *word_find(struct str name);
uint32_t print_table_results(enum ir_op_kind k); /* results that the table gives an op */
/* Whether the operands from `from_operand` on and the only result, if any, have one type. */
bool print_same_types(const struct printer *p, ir_op op, uint32_t from_operand);

#endif
