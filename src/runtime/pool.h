/* The threads of a client. They are started by the first piece of work that is worth sharing, spin for some microseconds when
 * it is done, and then sleep. Several callers may share a pool: while it works for one, the others work alone, so none
 * waits. A thread begins with the same range of the iterations in every job, and then takes pieces of the others': in no
 * fixed order, on which results never depend (hilo_kernel_abi.h). */
#ifndef HILO_RUNTIME_POOL_H
#define HILO_RUNTIME_POOL_H

#include "base/mem.h"

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

/* Work that may be stopped: the caller's thread calls `stop` between pieces, every few milliseconds, until it returns true;
   then no further pieces are begun, and `stopped` is set. */
struct rt_poll {
    bool (*stop)(void *user);
    void *user;
    bool stopped;
    int64_t last; /* ns; of the newest call */
};
/* As rt_pool_run; NULL = it is not stopped. */
void rt_pool_run_polled(struct rt_pool *t, int64_t n, int64_t piece, rt_piece_fn *fn, void *user, void *scratch,
                        struct rt_poll *poll);

/* Each task once, as pieces of one. */
void rt_pool_tasks(struct rt_pool *t, int64_t n, void (*task)(void *user, int64_t i), void *user, struct rt_poll *poll);
#endif
