/* hilo.h — placeholder head of the public API; the full header follows. */
#ifndef HILO_H
#define HILO_H

#include <stdint.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define HILO_API
#else
#define HILO_API __attribute__((visibility("default")))
#endif

#define HILO_VERSION_MAJOR 0
#define HILO_VERSION_MINOR 1
#define HILO_VERSION_PATCH 0

/* Result of every call that can fail: the numbers of absl::Status and of PJRT. */
typedef enum hilo_status {
    HILO_OK = 0,
    HILO_CANCELLED = 1,
    HILO_UNKNOWN = 2,
    HILO_INVALID_ARGUMENT = 3,
    HILO_DEADLINE_EXCEEDED = 4,
    HILO_NOT_FOUND = 5,
    HILO_ALREADY_EXISTS = 6,
    HILO_PERMISSION_DENIED = 7,
    HILO_RESOURCE_EXHAUSTED = 8,
    HILO_FAILED_PRECONDITION = 9,
    HILO_ABORTED = 10,
    HILO_OUT_OF_RANGE = 11,
    HILO_UNIMPLEMENTED = 12,
    HILO_INTERNAL = 13,
    HILO_UNAVAILABLE = 14,
    HILO_DATA_LOSS = 15,
    HILO_UNAUTHENTICATED = 16
} hilo_status;

/* Where all memory of a client comes from. `realloc_fn(user, NULL, 0, n, align)` allocates, `realloc_fn(user, p, old, 0,
   align)` frees, everything else resizes; NULL answers exhaustion. Must be callable from any thread. */
typedef struct hilo_allocator {
    void *(*realloc_fn)(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align);
    void *user;
} hilo_allocator;

#ifdef __cplusplus
}
#endif
#endif
