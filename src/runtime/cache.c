/* The cache: chains of idle memory by size class. */
#include "runtime/cache.h"
#include "base/torture.h"

#include <string.h>
#include <sys/mman.h>

enum { STEP = 64, SMALL = 1 << 10, HUGE_PAGE = 2 << 20 };
static const size_t slack = TORTURED(0, (size_t)64 << 20);

/* The class of a size, and the bytes of its members. False when there is none. */
static bool size_class(size_t n, uint32_t *class, size_t *bytes) {
    if (n <= SMALL) {
        *class = n ? (uint32_t)((n - 1) / STEP) : 0;
        *bytes = (*class + (size_t)1) * STEP;
        return true;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(n - 1); /* the largest power of two below n */
    size_t step = (size_t)1 << (power - 3), eighth = (n - 1 - ((size_t)1 << power)) / step;
    *class = SMALL / STEP + 8 * (power - 10) + (uint32_t)eighth;
    *bytes = ((size_t)1 << power) + (eighth + 1) * step;
    return n <= PTRDIFF_MAX && *class < RT_CACHE_CLASSES;
}

/* Large memory begins on a page of the size that the processor likes best. */
static size_t class_align(size_t bytes) {
    return bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : STEP;
}

/* ---- from and to the underlying allocator -------------------------------------------------------- */

static void drop(struct rt_cache *c, void *p, size_t bytes) {
    MEM_UNPOISON(p, bytes);
    c->al.realloc_fn(c->al.user, p, bytes, 0, class_align(bytes));
}

/* Frees a chain per class. */
static void drop_chains(struct rt_cache *c, void **chains) {
    for (uint32_t i = 0; i < RT_CACHE_CLASSES; i++) {
        size_t bytes = i < SMALL / STEP ? (i + (size_t)1) * STEP
                                        : ((size_t)8 + (i - SMALL / STEP) % 8 + 1) << ((i - SMALL / STEP) / 8 + 7);
        for (void *p = chains[i]; p;) {
            void *next = *(void **)p;
            drop(c, p, bytes);
            p = next;
        }
    }
}

void rt_cache_trim(struct rt_cache *c) {
    void *chains[RT_CACHE_CLASSES];
    pthread_mutex_lock(&c->lock);
    memcpy(chains, c->idle, sizeof chains);
    memset(c->idle, 0, sizeof c->idle);
    c->idle_bytes = 0;
    pthread_mutex_unlock(&c->lock);
    drop_chains(c, chains);
}

static void *fresh(struct rt_cache *c, size_t bytes) {
    size_t align = class_align(bytes);
    void *p = c->al.realloc_fn(c->al.user, NULL, 0, bytes, align);
    atomic_fetch_add_explicit(&c->taken, 1, memory_order_relaxed);
#ifdef MADV_HUGEPAGE
    if (p && align == HUGE_PAGE && c->al.realloc_fn == mem_system_allocator().realloc_fn)
        madvise(p, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE); /* a hint; failure does not matter */
#endif
    return p;
}

/* ---- the allocator --------------------------------------------------------------------------- */

static void *take(struct rt_cache *c, size_t n) {
    uint32_t class;
    size_t bytes;
    if (!size_class(n, &class, &bytes))
        return NULL;
    pthread_mutex_lock(&c->lock);
    void *p = c->idle[class];
    if (p) {
        c->idle[class] = *(void **)p;
        c->idle_bytes -= bytes;
    }
    c->used_bytes += bytes;
    if (c->peak_bytes < c->used_bytes)
        c->peak_bytes = c->used_bytes;
    bool others = c->idle_bytes != 0;
    pthread_mutex_unlock(&c->lock);
    if (p) {
        MEM_UNPOISON(p, n);
        return p;
    }
    p = fresh(c, bytes);
    if (!p && others) {
        rt_cache_trim(c);
        p = fresh(c, bytes);
    }
    if (!p) {
        pthread_mutex_lock(&c->lock);
        c->used_bytes -= bytes;
        pthread_mutex_unlock(&c->lock);
        return NULL;
    }
    MEM_POISON((char *)p + n, bytes - n);
    return p;
}

static void give(struct rt_cache *c, void *p, size_t n) {
    uint32_t class;
    size_t bytes;
    if (!size_class(n, &class, &bytes))
        return;
    pthread_mutex_lock(&c->lock);
    c->used_bytes -= bytes;
    bool fits = c->used_bytes + c->idle_bytes + bytes <= c->peak_bytes + slack;
    pthread_mutex_unlock(&c->lock);
    if (!fits) /* what is idle has been so for longest in all: sizes have changed */
        rt_cache_trim(c);
    MEM_UNPOISON(p, sizeof(void *));
    *(void **)p = NULL;
    MEM_POISON((char *)p + sizeof(void *), bytes - sizeof(void *));
    pthread_mutex_lock(&c->lock);
    *(void **)p = c->idle[class];
    c->idle[class] = p;
    c->idle_bytes += bytes;
    pthread_mutex_unlock(&c->lock);
}

static void *cache_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct rt_cache *c = user;
    (void)align; /* never more than STEP */
    if (!ptr)
        return new_bytes ? take(c, new_bytes) : NULL;
    if (!new_bytes) {
        give(c, ptr, old_bytes);
        return NULL;
    }
    void *p = take(c, new_bytes);
    if (!p)
        return NULL;
    memcpy(p, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
    give(c, ptr, old_bytes);
    return p;
}

hilo_allocator rt_cache_allocator(struct rt_cache *c) {
    return (hilo_allocator){cache_realloc, c};
}

void rt_cache_init(struct rt_cache *c, hilo_allocator al) {
    memset(c, 0, sizeof *c);
    c->al = al;
    pthread_mutex_init(&c->lock, NULL);
}

void rt_cache_free(struct rt_cache *c) {
    rt_cache_trim(c);
    pthread_mutex_destroy(&c->lock);
}
