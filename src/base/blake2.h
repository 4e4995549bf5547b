/* BLAKE2b with 256 bits (RFC 7693): a collision-resistant hash, of a sequence of pieces or, several times faster, of one long
 * piece. */
#ifndef HILO_BASE_BLAKE2_H
#define HILO_BASE_BLAKE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLAKE2_BYTES = 32, BLAKE2_BLOCK = 128 };

struct blake2 {
    uint64_t h[8], nbytes;
    size_t n;       /* in `block` */
    bool last_node; /* of a tree: the last one of its depth */
    unsigned char block[BLAKE2_BLOCK];
};

void blake2_init(struct blake2 *b);
/* It does not matter into how many pieces the content is cut. */
void blake2_add(struct blake2 *b, const void *p, size_t n);
void blake2_end(struct blake2 *b, uint8_t out[BLAKE2_BYTES]);
/* BLAKE2b in its tree mode ("BLAKE2: simpler, smaller, fast as MD5", section 2.10) with depth 2 and BLAKE2_LANES leaves, block
   k of the content belonging to leaf k modulo BLAKE2_LANES, as in BLAKE2bp: the leaves are computed in the lanes of vectors. */
enum { BLAKE2_LANES = 8 };
void blake2_tree(const void *p, size_t n, uint8_t out[BLAKE2_BYTES]);

#endif
