/* Memory: the allocator every component allocates through, arenas on top of it, and the one recovery point for exhaustion.
 *
 * Compiler components own all their memory in arenas; an arena that cannot grow jumps to the recovery point of the public
 * entry that was called (`MEM_GUARD`), which frees the arenas and returns HILO_RESOURCE_EXHAUSTED. Nothing can leak,
 * because nothing is owned elsewhere. The jump never crosses a user's callback or a foreign library. The runtime and the
 * evaluator do not use arenas for tensors: they call mem_alloc and return a status. */
#ifndef HILO_BASE_MEM_H
#define HILO_BASE_MEM_H

#include "hilo.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The one way to forward an error. */
#define HILO_TRY(expr)                      \
    do {                                    \
        hilo_status try_status_ = (expr);   \
        if (try_status_ != HILO_OK)         \
            return try_status_;             \
    } while (0)

/* malloc as a hilo_allocator; `user` is unused. */
hilo_allocator mem_system_allocator(void);

/* Bytes aligned to 64 or more (so that vectors never split a cache line); NULL when exhausted. n = 0 gives a valid
   pointer. */
void *mem_alloc(const hilo_allocator *al, size_t n);
void *mem_resize(const hilo_allocator *al, void *p, size_t old_n, size_t new_n);
void mem_free(const hilo_allocator *al, void *p, size_t n);

/* Overflow-checked arithmetic on sizes: false (and *out untouched) when the result does not fit. */
static inline bool mem_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool mem_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

/* Bytes of a shape with elements of `each` bytes: none when a dimension is 0, however large the others are. False (and *out
   untouched) when a dimension is negative, or they are more than PTRDIFF_MAX. */
static inline bool mem_shape(const int64_t *dims, size_t rank, size_t each, size_t *out) {
    bool fits = true, empty = false;
    size_t n = each;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return false;
        empty |= dims[i] == 0;
        fits = fits && mem_mul(n, (size_t)dims[i], &n);
    }
    if (!empty && (!fits || n > PTRDIFF_MAX))
        return false;
    *out = empty ? 0 : n;
    return true;
}

/* Memory that must not be accessed until it is unpoisoned or freed: AddressSanitizer checks this. */
#if defined(__SANITIZE_ADDRESS__)
#define MEM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEM_ASAN 1
#endif
#endif
#ifdef MEM_ASAN
#include <sanitizer/asan_interface.h>
#define MEM_POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define MEM_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define MEM_POISON(p, n)   ((void)(p), (void)(n))
#define MEM_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

struct arena_block;

/* A bump allocator. Zero-initialised memory, no individual free. Not thread-safe: one arena, one thread. */
struct arena {
    hilo_allocator al;
    jmp_buf *recover;          /* where exhaustion goes; never NULL while allocating */
    struct arena_block *head;  /* newest block */
    char *at, *end;            /* free part of the newest block */
    size_t bytes;              /* reserved from the allocator in all */
};

void arena_init(struct arena *a, hilo_allocator al, jmp_buf *recover);
void arena_free(struct arena *a);
/* Ends everything that was allocated, and keeps the newest block for what is allocated next. */
void arena_reset(struct arena *a);

/* Zeroed, aligned to `align` (a power of two, at most 64). Does not return when memory is exhausted. */
void *arena_alloc(struct arena *a, size_t n, size_t align);

/* n elements of `size` bytes, overflow-checked (an overflow counts as exhaustion). */
void *arena_array(struct arena *a, size_t n, size_t size, size_t align);
void *arena_dup(struct arena *a, const void *p, size_t n, size_t align);

/* For a foreign allocation that failed inside arena-owned code. */
_Noreturn void arena_exhausted(struct arena *a);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type), _Alignof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_array((a), (n), sizeof(type), _Alignof(type)))

/* A growable array in an arena: `struct { T *v; uint32_t n, cap; }`. Growing moves it (the old copy stays in the arena, so a
   stale pointer reads old data instead of crashing; under HILO_TORTURE every push moves, and the old copy is poisoned). */
#define ARENA_PUSH(a, vec, x)                                                                            \
    do {                                                                                                 \
        if ((vec)->n == (vec)->cap)                                                                      \
            (vec)->v = arena_grow((a), (vec)->v, (vec)->n, &(vec)->cap, sizeof *(vec)->v);               \
        (vec)->v[(vec)->n++] = (x);                                                                      \
    } while (0)

void *arena_grow(struct arena *a, void *old, uint32_t n, uint32_t *cap, size_t size);

#endif
