/* Content hashes: 128 bits that tell different contents apart, at the speed of memory. Against damage and chance, not
 * malice. */
#ifndef HILO_BASE_HASH_H
#define HILO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash {
    uint64_t v[2];
};

/* Adds bytes to a hash; a new one is {{0, 0}}. Adding two pieces is not the same as adding them as one. */
void hash_add(struct hash *h, const void *p, size_t n);
/* Adds a part of something long: it does not matter into how many parts it is cut, as long as each has a multiple of
   HASH_BLOCK bytes. A hash_add ends it. */
enum { HASH_BLOCK = 32 };
void hash_blocks(struct hash *h, const void *p, size_t n);

#endif
