/* Hash table of ids for interning: finds an equal entry or the slot for a new one. Open addressing, at most
   half full.
 * Entry i of the caller's table (from 1) has hash `hashes[i]`; the table stores ids only. */
#ifndef HILO_IR_INTERN_H
#define HILO_IR_INTERN_H

#include "base/mem.h"

struct intern {
    uint32_t *slots;   /* cap ids, 0 = free */
    uint64_t *hashes;  /* by id */
    uint32_t cap, n, hashes_cap;
};

typedef bool intern_equal(const void *cx, uint32_t id, const void *key);

/* The id whose hash and contents match, or 0. */
static inline uint32_t intern_find(const struct intern *t, uint64_t hash, intern_equal *equal, const void *cx,
                                   const void *key) {
    if (!t->cap)
        return 0;
    for (uint32_t i = (uint32_t)hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
        uint32_t id = t->slots[i];
        if (!id || (t->hashes[id] == hash && equal(cx, id, key)))
            return id;
    }
}

/* Adds id (which must be n + 1) under `hash`. */
void intern_add(struct intern *t, struct arena *a, uint64_t hash, uint32_t id);

#endif
