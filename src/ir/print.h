/* The printer's state, shared by print.c (types, attributes) and print_op.c (operations). */
#ifndef HILO_IR_PRINT_H
#define HILO_IR_PRINT_H

#include "ir/ir.h"

struct printer {
    const struct ir_module *m;
    struct ir_print_options o;
    struct strbuf *out;
    uint32_t *names;      /* by value id: number << 1 | is an argument; in print_op.c */
    size_t nnames;
    uint32_t next_result, next_arg; /* next free numbers in the function being printed */
    int indent;
};

void print_type(struct printer *p, ir_type t);
void print_types(struct printer *p, const ir_type *t, uint32_t n); /* with commas */
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

#endif
