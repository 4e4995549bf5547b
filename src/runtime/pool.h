/* The threads of a client. They are started by the first piece of work that is worth sharing, spin for some microseconds when
 * it is done, and then sleep. Several callers may share a pool: while it works for one, the others work alone, so nobody
 * waits. Who does which piece is left to chance; results never depend on it (hilo_kernel_abi.h). */
#ifndef HILO_RUNTIME_POOL_H
#define HILO_RUNTIME_POOL_H

#include "base/mem.h"
#include "library/library.h"

struct rt_pool;

/* Threads: how many work at once, callers included; at least 1. NULL when memory is exhausted. */
struct rt_pool *rt_pool_new(const hilo_allocator *al, int32_t threads);
/* No work may be going on. NULL is fine. */
void rt_pool_free(struct rt_pool *t);
int32_t rt_pool_threads(const struct rt_pool *t);

/* From now on every thread but the callers has that much scratch memory. RESOURCE_EXHAUSTED. */
hilo_status rt_pool_reserve(struct rt_pool *t, size_t scratch_bytes);

/* Calls fn for pieces of 0 … n-1 that together are all of it, of `piece` iterations each but the last, and returns when all are
   done. `scratch` is the caller's own. */
typedef void rt_piece_fn(void *user, void *scratch, int64_t begin, int64_t end);
void rt_pool_run(struct rt_pool *t, int64_t n, int64_t piece, rt_piece_fn *fn, void *user, void *scratch);

/* The same threads for routines; belongs to the pool. */
const struct lib_pool *rt_pool_library(const struct rt_pool *t);

#endif
