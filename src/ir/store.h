/* How a module stores its tables: shared by ir.c, type.c and attr.c only. */
#ifndef HILO_IR_STORE_H
#define HILO_IR_STORE_H

#include "base/torture.h"
#include "ir/intern.h"
#include "ir/ir.h"

enum { PAGE_BITS = TORTURED(1, 8), PAGE_SIZE = 1 << PAGE_BITS };

/* A table whose entries never move: pages of PAGE_SIZE entries. Entry 0 stays zero ("none"). */
struct pages {
    struct { char **v; uint32_t n, cap; } page;
    uint32_t n; /* entries, including entry 0 */
};

static inline void *pages_at(const struct pages *p, uint32_t i, size_t size) {
    return p->page.v[i >> PAGE_BITS] + (size_t)(i & (PAGE_SIZE - 1)) * size;
}

struct str_entry {
    struct str s;
    ir_op symbol;       /* last op that took this string as its symbol name; a hint, checked on use */
    uint32_t resource;  /* first resource attribute with this key */
};

struct ir_tables {
    struct pages ops, vals, blocks, regions;
    struct { struct str_entry *v; uint32_t n, cap; } strs;                  /* from 1 */
    struct { const struct ir_type_data **v; uint32_t n, cap; } types;       /* from 1 */
    struct { struct ir_attr_data **v; uint32_t n, cap; } attrs;             /* from 1 */
    struct { struct ir_blob *v; uint32_t n, cap; } blobs;                   /* owned, freed with the module */
    struct { struct { ir_attr attr; uint32_t next; } *v; uint32_t n, cap; } resources; /* chains by key, from 1 */
    struct intern str_set, type_set, attr_set;
};

/* The string's id without adding it; none when the module has never seen it. */
ir_str ir_str_find(const struct ir_module *m, struct str s);
/* The id of an attribute equal to `key`, whose arrays are copied when it is new. */
ir_attr ir_attr_intern(struct ir_module *m, const struct ir_attr_data *key);

static inline uint64_t hash_mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

#endif
