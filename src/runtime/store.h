/* The compile cache: executables under a key of all that they depend on (compile/cached.c). See docs/adr/0009-cache.md.
 *
 * In memory are the executables still in use: a further request returns another handle to the same plan and code.
 * On disk is a directory of .hilo files by key, used by any number of processes at once: files appear whole or not at all, are
 * never changed, and may go at any time. Whatever is wrong there is a miss, at worst with a warning. */
#ifndef HILO_RUNTIME_STORE_H
#define HILO_RUNTIME_STORE_H

#include "base/blake2.h"
#include "base/diag.h"

#include <stdatomic.h>

enum { RT_KEY_BYTES = BLAKE2_BYTES };

struct rt_store {
    char *dir;              /* terminated; NULL = nothing is kept on disk */
    size_t dir_bytes;       /* of that allocation */
    uint64_t most;          /* bytes of all files */
    bool bad_size;          /* HILO_CACHE_SIZE is set and is no size */
    bool named;             /* the directory was set explicitly: its errors are warnings */
    atomic_uint temporaries; /* that were begun */
    bool asked, known;      /* what follows is there; this build and machine can be told from others: guarded likewise */
    uint8_t here[RT_KEY_BYTES]; /* their hash */
    bool warned;            /* guarded by the client's lock */
    hilo_executable *loaded; /* those with a key, newest first; guarded by the client's lock */
};

/* The bytes that "500M" means; 0 when the text is no size. */
uint64_t rt_store_size(const char *text);
/* The directory: `dir`, or where that is NULL what HILO_CACHE_DIR names, or the user's usual place; "" = none. `most` 0: what
   HILO_CACHE_SIZE specifies (bytes, with a suffix K, M or G), or 1 GB. False when memory is exhausted. */
bool rt_store_init(struct rt_store *s, const hilo_allocator *al, const char *dir, uint64_t most);
/* Makes the directory where it is missing; false when there is none, or it cannot be made. */
bool rt_store_make(const struct rt_store *s);
void rt_store_free(struct rt_store *s, const hilo_allocator *al);

/* A new executable for the key; NULL when there is none. */
hilo_executable *rt_store_get(hilo_client *client, const uint8_t *key);
/* Keeps the executable under the key: in memory, and as a file, once it has the code to keep. No other thread has it. */
void rt_store_put(hilo_client *client, hilo_executable *exe, const uint8_t *key);
/* The second part of that. */
void rt_store_write(hilo_client *client, const hilo_executable *exe, const uint8_t *key);
/* Takes an executable that ends out of the memory's list. */
void rt_store_forget(hilo_client *client, hilo_executable *exe);

/* Identifies this build of hilo, of which another may compile otherwise; empty when the linker left no trace of it. */
struct str rt_build_id(void);

/* ---- maintenance of the directory ------------------------------------------------------------- */

struct rt_store_file {
    char name[80];
    uint64_t bytes;
    int64_t used;           /* when it was used last, ns since 1970 */
};
/* The cached files, and how many; the caller frees v[0 … n-1] by mem_free. NOT_FOUND when there is no directory. */
hilo_status rt_store_list(const struct rt_store *s, const hilo_allocator *al, struct rt_store_file **v, size_t *n);
/* Deletes files, oldest first, until at most `most` bytes are left. Returns the number deleted. */
size_t rt_store_trim(const struct rt_store *s, const hilo_allocator *al, uint64_t most);

#endif
