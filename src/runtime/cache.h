/* Memory that is used again: a caching allocator over the client's, for buffers, values and the blocks of runs. What is freed
 * is kept for the next of its size, because fresh pages cost six times what writing to used ones does. What is kept is
 * bounded: with what is in use, it is never more than what was in use at one time and 64 MB. */
#ifndef HILO_RUNTIME_CACHE_H
#define HILO_RUNTIME_CACHE_H

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

/* Sizes come in classes: multiples of 64 bytes up to 1 KB, then eight between a power of two and the next. */
enum { RT_CACHE_CLASSES = 16 + 8 * 54 };

struct rt_cache {
    hilo_allocator al;      /* where it comes from */
    pthread_mutex_t lock;   /* of what follows */
    void *idle[RT_CACHE_CLASSES]; /* chains, newest first */
    size_t idle_bytes, used_bytes, peak_bytes;
    atomic_ullong taken;    /* times that memory came from `al` */
};

void rt_cache_init(struct rt_cache *c, hilo_allocator al);
/* All blocks must have been returned. */
void rt_cache_free(struct rt_cache *c);
/* Gives what is idle back to where it came from. */
void rt_cache_trim(struct rt_cache *c);
/* An allocator over the cache, which must outlive what it gives. Any thread. */
hilo_allocator rt_cache_allocator(struct rt_cache *c);

#endif
