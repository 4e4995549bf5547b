/* BLAKE2b with 256 bits (RFC 7693): a collision-resistant hash. */
#ifndef HILO_BASE_BLAKE2_H
#define HILO_BASE_BLAKE2_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2_BYTES = 32, BLAKE2_BLOCK = 128 };

struct blake2 {
    uint64_t h[8], nbytes;
    size_t n; /* in `block` */
    unsigned char block[BLAKE2_BLOCK];
};

void blake2_init(struct blake2 *b);
/* It does not matter into how many pieces the content is cut. */
void blake2_add(struct blake2 *b, const void *p, size_t n);
void blake2_end(struct blake2 *b, uint8_t out[BLAKE2_BYTES]);

#endif
