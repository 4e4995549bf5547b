/* An allocator that counts, and fails where it is told to. */
#ifndef HILO_TESTS_METER_H
#define HILO_TESTS_METER_H

#include "base/mem.h"

#include <stdatomic.h>

/* From several threads, too. */
struct meter {
    atomic_long live, left; /* allocations held; allocations until the first that fails */
};

static inline void *meter_realloc(void *user, void *p, size_t old, size_t n, size_t align) {
    struct meter *m = user;
    hilo_allocator sys = mem_system_allocator();
    if (n && atomic_fetch_sub(&m->left, 1) <= 0)
        return NULL;
    atomic_fetch_add(&m->live, (n && !p) - (!n && p != NULL));
    return sys.realloc_fn(sys.user, p, old, n, align);
}

#endif
