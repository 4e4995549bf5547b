/* The writer of HLO text: shared state of its parts.
 *
 *   write.c     the module, computations, lines        write_attr.c  shapes, constants, attributes
 *   write_op.c  instructions
 *
 * A computation is written when something that uses it is, and so before that. Values from outside of a region become parts of
 * the tuple that a loop or a branch takes; to other computations only constants can come, which are written again inside.
 * Memory: an arena of the call's own. */
#ifndef HILO_READ_HLO_WRITE_H
#define HILO_READ_HLO_WRITE_H

#include "read/hlo/hlo.h"

struct hlo_vals { ir_val *v; uint32_t n, cap; };

/* A computation that is being written. */
struct hlo_scope {
    struct hlo_scope *outer;
    struct strbuf text;  /* its instructions */
    size_t line;         /* where the last one begins */
    struct { struct { ir_val of; struct str name; size_t line; } *v; uint32_t n, cap; } names;
    struct intern set;   /* of names, by value */
    bool clones;         /* constants from outside are written again inside */
};

struct hlo_writer {
    const struct ir_module *m;
    struct diag_list *d;
    struct arena arena;
    struct strbuf *out;  /* computations that are done */
    struct hlo_scope *scope;
    struct { struct { ir_op func; struct str name; } *v; uint32_t n, cap; } funcs; /* that are written; without a name: open */
    uint32_t counter;    /* of names */
    uint32_t depth;
    ir_op op;            /* that is being written, for messages */
};

hilo_status hlo_refuse(struct hlo_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- shapes, constants, attributes (write_attr.c) ---- */
hilo_status hlo_put_shape(struct hlo_writer *w, ir_type t, struct strbuf *out);
/* The one shape of a value, or with `tuple` all in parentheses; in the arena. */
hilo_status hlo_shape_of(struct hlo_writer *w, const ir_val *v, uint32_t n, bool tuple, struct str *out);
/* A text in the arena. */
struct str hlo_text(struct hlo_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What is between the parentheses of a constant; of equal elements, with `one`, the one element. */
hilo_status hlo_put_literal(struct hlo_writer *w, ir_attr value, bool one, struct strbuf *out);
/* `, name=value` for each attribute of the op by its rows. */
hilo_status hlo_put_attrs(struct hlo_writer *w, ir_op op);
/* `, metadata={…}`, shardings, and what frontends say. */
void hlo_put_common(struct hlo_writer *w, ir_op op);
/* … of these, what a dictionary and a location say. */
void hlo_put_discardable(struct hlo_writer *w, ir_attr dict);
void hlo_put_metadata(struct hlo_writer *w, ir_attr loc);
void hlo_put_string(struct str s, struct strbuf *out);
void hlo_put_i64s(const int64_t *v, size_t n, struct strbuf *out); /* {1,2} */

/* ---- computations, lines (write.c) ---- */
/* Opens the line of an instruction, `name = shape opcode(operands)`, whose value is `of` (may be none); returns its name.
   Ended by hlo_end_line. */
struct str hlo_line(struct hlo_writer *w, const char *opcode, ir_val of, struct str shape, const struct str *operands,
                    uint32_t n);
/* Takes the last characters off again, back to the last `ch` and that too. */
static inline void hlo_take_off(struct strbuf *b, char ch) {
    while (!b->failed && b->n && b->p[--b->n] != ch)
        ;
}
static inline void hlo_end_line(struct hlo_writer *w) { strbuf_putc(&w->scope->text, '\n'); }
/* `of` is what the value with this name is. */
void hlo_same_value(struct hlo_writer *w, ir_val of, ir_val as);
/* Names of values, in the arena. May write lines: constants from outside. */
hilo_status hlo_names_of(struct hlo_writer *w, const ir_val *v, uint32_t n, const struct str **out);
/* A tuple of values, and its name. */
hilo_status hlo_write_tuple(struct hlo_writer *w, const ir_val *v, uint32_t n, struct str *name);
/* Part `index` of a tuple, of type `t`; it is the value `of`. */
hilo_status hlo_write_part(struct hlo_writer *w, struct str tuple, uint32_t index, ir_val of);
/* The results of an op are what `name` is, or its parts when there is not one. */
hilo_status hlo_write_results(struct hlo_writer *w, ir_op op, struct str name);
/* The computation of a function, written once. */
hilo_status hlo_write_func(struct hlo_writer *w, ir_op func, struct str *name);
/* A computation with the arguments of the region's block as parameters; its name begins with `stem`. */
hilo_status hlo_write_region(struct hlo_writer *w, ir_region r, const char *stem, struct str *name);
/* A computation with one parameter, the tuple of the block's arguments and of captured values. Its result is a tuple when
   `tuple` or when there is not one; with `carries`, the captured values are parts of it too. */
hilo_status hlo_write_tupled(struct hlo_writer *w, ir_region r, const struct hlo_vals *captured, bool carries, bool tuple,
                             struct str *name);
/* Values that regions first … first + n - 1 of an op use and do not define. */
void hlo_captured(struct hlo_writer *w, ir_op op, uint32_t first, uint32_t n, struct hlo_vals *out);

/* ---- instructions (write_op.c) ---- */
hilo_status hlo_write_op(struct hlo_writer *w, ir_op op);

/* ---- entry ---- */
/* Writes the function @main, or the only public one, of a module that verifies, and what it calls. HILO_UNIMPLEMENTED, with
   a diagnostic at the op, for what HLO does not have. Scatters are written as XLA brings them to HLO, where windows that are
   partly outside are left out whole. */
hilo_status write_hlo(const struct ir_module *m, struct diag_list *d, struct strbuf *out);

#endif
