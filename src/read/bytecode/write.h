/* The writer of portable artifacts: shared state of its parts.
 *
 *   write.c       the file: strings, sections      write_attr.c  attributes and types as VHLO has them
 *   write_op.c    ops, regions, values
 *
 * Attributes, types and strings are entries that are equal when their bytes are, so that each is written once. The data of
 * constants goes from the module to the file without a copy between. Memory: an arena of the call's own. */
#ifndef HILO_READ_BC_WRITE_H
#define HILO_READ_BC_WRITE_H

#include "ir/intern.h"
#include "read/bytecode/bytecode.h"

struct bc_bytes { uint8_t *v; uint32_t n, cap; };

/* An attribute, type or string of the file. */
struct bc_item {
    struct str head, data; /* data: of a constant, after the head; else empty */
    uint32_t dialect;
    bool custom;           /* as in struct bc_entry */
};
struct bc_items {
    struct { struct bc_item *v; uint32_t n, cap; } item; /* from 1; 0 is unused */
    struct intern set;
};

struct bc_writer {
    const struct ir_module *m;
    struct diag_list *d;
    int target;             /* StableHLO version, BC_V */
    struct arena arena;
    struct bc_items strings, attrs, types, records;
    struct { struct str *v; uint32_t n, cap; } dialects;
    struct { struct { uint32_t dialect, name; } *v; uint32_t n, cap; } op_names; /* name: index of a string */
    /* What was written before, by id: entry numbers, or 0; attributes as VHLO and as the builtin dialect have them. */
    struct { uint32_t *v; uint32_t cap; } attr_of[2], type_of[2], value_of;
    ir_op op;               /* that is being written, for messages */
    uint32_t depth;
};

/* ---- bytes (write.c) ---- */
void bc_put_byte(struct bc_writer *w, struct bc_bytes *to, uint8_t byte);
void bc_put_vi(struct bc_writer *w, struct bc_bytes *to, uint64_t v);
void bc_put_svi(struct bc_writer *w, struct bc_bytes *to, int64_t v);
void bc_put_flagged(struct bc_writer *w, struct bc_bytes *to, uint64_t v, bool flag);
void bc_put_bytes(struct bc_writer *w, struct bc_bytes *to, struct str s);
/* The index of an equal entry, or of a new one. */
uint32_t bc_item(struct bc_writer *w, struct bc_items *in, struct bc_item item);
uint32_t bc_string_index(struct bc_writer *w, struct str s);
uint32_t bc_dialect_index(struct bc_writer *w, const char *name);
/* The place for an id in a map, which grows. */
uint32_t *bc_map(struct bc_writer *w, uint32_t **v, uint32_t *cap, uint32_t id);
hilo_status bc_refuse(struct bc_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An error when something, NULL = the op itself, is not in the target yet. */
hilo_status bc_check_since(struct bc_writer *w, int since, const char *what);

/* ---- attributes and types (write_attr.c): their indices ---- */

/* As a dialect has it: BC_VHLO, or BC_BUILTIN. */
hilo_status bc_write_type(struct bc_writer *w, ir_type t, enum bc_dialect dialect, uint32_t *out);
hilo_status bc_write_attr(struct bc_writer *w, ir_attr a, enum bc_dialect dialect, uint32_t *out);
hilo_status bc_write_location(struct bc_writer *w, ir_attr loc, uint32_t *out); /* unknown when none */
/* A dictionary of the builtin dialect, with values as `dialect` has them. */
hilo_status bc_write_dict(struct bc_writer *w, ir_attr dict, enum bc_dialect dialect, uint32_t *out);
/* One attribute of the record of `op`. */
hilo_status bc_write_stored(struct bc_writer *w, ir_op op, const struct bc_stored *at, uint32_t *out);

/* ---- ops (write_op.c) ---- */

/* The module, as the IR section has it. */
hilo_status bc_write_module(struct bc_writer *w, struct bc_bytes *to);

#endif
