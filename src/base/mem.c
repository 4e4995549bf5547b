/* Memory: see mem.h. */
#include "base/mem.h"
#include "base/torture.h"

#include <stdlib.h>
#include <string.h>

enum { MEM_ALIGN = 64 };

static void *mem_system_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    (void)user;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    void *fresh = NULL;
    if (posix_memalign(&fresh, align < sizeof(void *) ? sizeof(void *) : align, new_bytes) != 0)
        return NULL;
    if (ptr) {
        memcpy(fresh, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
        free(ptr);
    }
    return fresh;
}

hilo_allocator mem_system_allocator(void) {
    return (hilo_allocator){mem_system_realloc, NULL};
}

void *mem_alloc(const hilo_allocator *al, size_t n) {
    return al->realloc_fn(al->user, NULL, 0, n ? n : 1, MEM_ALIGN);
}

void *mem_resize(const hilo_allocator *al, void *p, size_t old_n, size_t new_n) {
    return al->realloc_fn(al->user, p, old_n, new_n ? new_n : 1, MEM_ALIGN);
}

void mem_free(const hilo_allocator *al, void *p, size_t n) {
    if (p)
        al->realloc_fn(al->user, p, n ? n : 1, 0, MEM_ALIGN);
}

struct arena_block {
    struct arena_block *next;
    size_t bytes;
    char pad[MEM_ALIGN - 2 * sizeof(size_t)];
};
_Static_assert(sizeof(struct arena_block) == MEM_ALIGN, "blocks start aligned");

enum { ARENA_FIRST = TORTURED(TORTURE_BLOCK, 16 << 10), ARENA_LARGEST = TORTURED(TORTURE_BLOCK, 4 << 20), ARENA_ROOM = 8 };

void arena_init(struct arena *a, hilo_allocator al, jmp_buf *recover) {
    *a = (struct arena){.al = al, .recover = recover};
}

static void arena_drop(struct arena *a, struct arena_block *b) {
    while (b) {
        struct arena_block *next = b->next;
        a->bytes -= b->bytes;
        mem_free(&a->al, b, b->bytes);
        b = next;
    }
}

void arena_free(struct arena *a) {
    arena_drop(a, a->head);
    a->head = NULL;
    a->at = a->end = NULL;
}

void arena_reset(struct arena *a) {
    if (!a->head)
        return;
    arena_drop(a, a->head->next);
    a->head->next = NULL;
    a->at = (char *)(a->head + 1);
    MEM_UNPOISON(a->at, (size_t)(a->end - a->at)); /* arrays that arena_grow moved */
}

_Noreturn void arena_exhausted(struct arena *a) {
    longjmp(*a->recover, 1);
}

/* Blocks double up to ARENA_LARGEST; a request that large gets a block of its own. */
static void arena_more(struct arena *a, size_t need) {
    size_t size = a->head ? a->head->bytes * 2 : ARENA_FIRST;
    if (size > ARENA_LARGEST)
        size = ARENA_LARGEST;
    size_t least;
    if (!mem_add(need, sizeof(struct arena_block) + MEM_ALIGN, &least))
        arena_exhausted(a);
    if (size < least)
        size = least;
    struct arena_block *b = mem_alloc(&a->al, size);
    if (!b)
        arena_exhausted(a);
    b->next = a->head;
    b->bytes = size;
    a->head = b;
    a->at = (char *)(b + 1);
    a->end = (char *)b + size;
    a->bytes += size;
}

void *arena_alloc(struct arena *a, size_t n, size_t align) {
    uintptr_t at = ((uintptr_t)a->at + (align - 1)) & ~(uintptr_t)(align - 1);
    if (!a->at || at > (uintptr_t)a->end || n > (uintptr_t)a->end - at) {
        arena_more(a, n);
        at = ((uintptr_t)a->at + (align - 1)) & ~(uintptr_t)(align - 1);
    }
    a->at = (char *)at + n;
    if (n)
        memset((void *)at, 0, n);
    return (void *)at;
}

void *arena_array(struct arena *a, size_t n, size_t size, size_t align) {
    size_t bytes;
    if (!mem_mul(n, size, &bytes))
        arena_exhausted(a);
    return arena_alloc(a, bytes, align);
}

void *arena_dup(struct arena *a, const void *p, size_t n, size_t align) {
    void *q = arena_alloc(a, n, align);
    if (n)
        memcpy(q, p, n);
    return q;
}

void *arena_grow(struct arena *a, void *old, uint32_t n, uint32_t *cap, size_t size) {
    if (*cap > UINT32_MAX / 2)
        arena_exhausted(a);
    *cap = TORTURE ? n + TORTURE_ROOM : *cap ? *cap * 2 : ARENA_ROOM;
    void *fresh = arena_array(a, *cap, size, 16);
    if (n)
        memcpy(fresh, old, n * size);
    if (TORTURE && n)
        MEM_POISON(old, n * size);
    return fresh;
}
