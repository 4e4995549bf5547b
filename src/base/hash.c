/* Two lanes of multiply and fold, as in wyhash (Wang Yi), each step keeping its operands so that a zero does not end it. */
#include "base/hash.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t keys[4] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u, 0x8BB84B93962EACC9u, 0x2D358DCCAA6C78A5u};

static uint64_t fold(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return a ^ b ^ (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void add_block(struct hash *h, const char *p) {
    uint64_t w[4];
    memcpy(w, p, sizeof w);
    uint64_t x = fold(h->v[0] ^ w[0], w[1] ^ keys[0]), y = fold(h->v[1] ^ w[2], w[3] ^ keys[1]);
    h->v[0] = x + (y << 32 | y >> 32);
    h->v[1] = y ^ (x << 17 | x >> 47);
}

void hash_blocks(struct hash *h, const void *p, size_t n) {
    const char *at = p;
    for (size_t left = n; left >= HASH_BLOCK; left -= HASH_BLOCK, at += HASH_BLOCK)
        add_block(h, at);
}

void hash_add(struct hash *h, const void *p, size_t n) {
    h->v[0] ^= keys[2];
    h->v[1] += n * keys[3];
    hash_blocks(h, p, n - n % HASH_BLOCK);
    char last[HASH_BLOCK] = {0};
    if (n % HASH_BLOCK)
        memcpy(last, (const char *)p + (n - n % HASH_BLOCK), n % HASH_BLOCK);
    last[HASH_BLOCK - 1] ^= (char)(n % HASH_BLOCK);
    add_block(h, last);
    for (int i = 0; i < 2; i++) {
        uint64_t x = fold(h->v[0] ^ keys[0], h->v[1] ^ keys[3]), y = fold(h->v[1] ^ keys[1], h->v[0] + keys[2]);
        h->v[0] = x;
        h->v[1] = y;
    }
}
