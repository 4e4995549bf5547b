/* See blake2.h. Words are read in the host's byte order: on a big-endian machine this would be another hash. */
#include "base/blake2.h"

#include <string.h>

static const uint64_t iv[8] = {0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
                               0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u};

static const unsigned char sigma[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

static inline uint64_t rotate(uint64_t x, int n) {
    return x >> n | x << (64 - n);
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = rotate(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 63);
}

static inline void round_of(uint64_t *v, const uint64_t *m, const unsigned char *s) {
    mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
}

static void compress(struct blake2 *b, const unsigned char *block, bool last) {
    uint64_t m[16], v[16];
    memcpy(m, block, sizeof m);
    memcpy(v, b->h, sizeof b->h);
    memcpy(v + 8, iv, sizeof iv);
    v[12] ^= b->nbytes; /* of at most 2^64 */
    v[14] = last ? ~v[14] : v[14];
    v[15] = last && b->last_node ? ~v[15] : v[15];
    for (int r = 0; r < 12; r++)
        round_of(v, m, sigma[r]);
    for (int i = 0; i < 8; i++)
        b->h[i] ^= v[i] ^ v[i + 8];
}

void blake2_init(struct blake2 *b) {
    *b = (struct blake2){.nbytes = 0};
    memcpy(b->h, iv, sizeof iv);
    b->h[0] ^= 0x01010000 ^ BLAKE2_BYTES; /* no key, fan-out and depth 1 */
}

/* The last block is compressed by blake2_end, even when it is full. */
void blake2_add(struct blake2 *b, const void *p, size_t n) {
    const unsigned char *at = p;
    while (n) {
        if (b->n == BLAKE2_BLOCK) {
            b->nbytes += BLAKE2_BLOCK;
            compress(b, b->block, false);
            b->n = 0;
        }
        for (; b->n == 0 && n > BLAKE2_BLOCK; at += BLAKE2_BLOCK, n -= BLAKE2_BLOCK) {
            b->nbytes += BLAKE2_BLOCK;
            compress(b, at, false);
        }
        size_t some = n < BLAKE2_BLOCK - b->n ? n : BLAKE2_BLOCK - b->n;
        memcpy(b->block + b->n, at, some);
        b->n += some;
        at += some;
        n -= some;
    }
}

void blake2_end(struct blake2 *b, uint8_t out[BLAKE2_BYTES]) {
    memset(b->block + b->n, 0, BLAKE2_BLOCK - b->n);
    b->nbytes += b->n;
    compress(b, b->block, true);
    memcpy(out, b->h, BLAKE2_BYTES);
}

/* ---- the tree ---------------------------------------------------------------------------------- */

typedef uint64_t lanes __attribute__((vector_size(8 * BLAKE2_LANES), aligned(8)));

/* *to = *to ^ *with, rotated. Vectors are passed by address: by value they would need AVX-512 in all callers. */
static inline __attribute__((always_inline)) void lanes_turn(lanes *to, const lanes *with, int n) {
    lanes x = *to ^ *with;
    *to = x >> n | x << (64 - n);
}

static inline __attribute__((always_inline)) void lanes_mix(lanes *a, lanes *b, lanes *c, lanes *d, const lanes *x,
                                                            const lanes *y) {
    *a += *b + *x;
    lanes_turn(d, a, 32);
    *c += *d;
    lanes_turn(b, c, 24);
    *a += *b + *y;
    lanes_turn(d, a, 16);
    *c += *d;
    lanes_turn(b, c, 63);
}

/* Adds a block to each leaf: the n-th of BLAKE2_LANES blocks to the n-th. `nbytes` of each are then hashed; none is its last
   block. */
static inline __attribute__((always_inline)) void lanes_compress(lanes h[8], const unsigned char *blocks, uint64_t nbytes) {
    lanes m[16], v[16];
    uint64_t word[BLAKE2_LANES];
    for (int i = 0; i < 16; i++) {
        for (int l = 0; l < BLAKE2_LANES; l++)
            memcpy(&word[l], blocks + l * BLAKE2_BLOCK + 8 * i, 8);
        memcpy(&m[i], word, sizeof word);
    }
    for (int i = 0; i < 8; i++) {
        v[i] = h[i];
        v[i + 8] = (lanes){0} + iv[i];
    }
    v[12] ^= (lanes){0} + nbytes;
#pragma GCC unroll 12
    for (int r = 0; r < 12; r++) {
        const unsigned char *s = sigma[r];
        lanes_mix(&v[0], &v[4], &v[8], &v[12], &m[s[0]], &m[s[1]]);
        lanes_mix(&v[1], &v[5], &v[9], &v[13], &m[s[2]], &m[s[3]]);
        lanes_mix(&v[2], &v[6], &v[10], &v[14], &m[s[4]], &m[s[5]]);
        lanes_mix(&v[3], &v[7], &v[11], &v[15], &m[s[6]], &m[s[7]]);
        lanes_mix(&v[0], &v[5], &v[10], &v[15], &m[s[8]], &m[s[9]]);
        lanes_mix(&v[1], &v[6], &v[11], &v[12], &m[s[10]], &m[s[11]]);
        lanes_mix(&v[2], &v[7], &v[8], &v[13], &m[s[12]], &m[s[13]]);
        lanes_mix(&v[3], &v[4], &v[9], &v[14], &m[s[14]], &m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

/* n blocks for each leaf; compiled for each kind of vectors. */
static inline __attribute__((always_inline)) void lanes_blocks(uint64_t (*state)[BLAKE2_LANES], const unsigned char *p,
                                                               size_t n) {
    lanes h[8];
    memcpy(h, state, sizeof h);
    for (size_t i = 0; i < n; i++)
        lanes_compress(h, p + i * BLAKE2_LANES * BLAKE2_BLOCK, (i + 1) * BLAKE2_BLOCK);
    memcpy(state, h, sizeof h);
}

static void lanes_plain(uint64_t (*state)[BLAKE2_LANES], const unsigned char *p, size_t n) {
    lanes_blocks(state, p, n);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void lanes_avx2(uint64_t (*state)[BLAKE2_LANES], const unsigned char *p, size_t n) {
    lanes_blocks(state, p, n);
}

__attribute__((target("avx512f"))) static void lanes_avx512(uint64_t (*state)[BLAKE2_LANES], const unsigned char *p, size_t n) {
    lanes_blocks(state, p, n);
}
#endif

static void lanes_run(uint64_t (*state)[BLAKE2_LANES], const unsigned char *p, size_t n) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        lanes_avx512(state, p, n);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        lanes_avx2(state, p, n);
        return;
    }
#endif
    lanes_plain(state, p, n);
}

static void node_init(struct blake2 *b, uint64_t depth, uint64_t offset, bool last) {
    blake2_init(b);
    b->h[0] = iv[0] ^ (BLAKE2_BYTES | BLAKE2_LANES << 16 | 2 << 24); /* fan-out, depth */
    b->h[1] ^= offset;
    b->h[2] ^= depth | BLAKE2_BYTES << 8;                            /* size of inner hashes */
    b->last_node = last;
}

void blake2_tree(const void *p, size_t n, uint8_t out[BLAKE2_BYTES]) {
    struct blake2 leaf[BLAKE2_LANES], root;
    uint64_t state[8][BLAKE2_LANES];
    const unsigned char *at = p;
    size_t stripe = BLAKE2_LANES * BLAKE2_BLOCK;
    size_t whole = n / stripe ? n / stripe - 1 : 0; /* each leaf keeps bytes to end with */
    for (int l = 0; l < BLAKE2_LANES; l++) {
        node_init(&leaf[l], 0, (uint64_t)l, l == BLAKE2_LANES - 1);
        for (int i = 0; i < 8; i++)
            state[i][l] = leaf[l].h[i];
    }
    lanes_run(state, at, whole);
    for (int l = 0; l < BLAKE2_LANES; l++) {
        leaf[l].nbytes = whole * BLAKE2_BLOCK;
        for (int i = 0; i < 8; i++)
            leaf[l].h[i] = state[i][l];
    }
    size_t done = whole * stripe;
    for (uint32_t k = 0; done < n; k++) {
        size_t some = n - done < BLAKE2_BLOCK ? n - done : BLAKE2_BLOCK;
        blake2_add(&leaf[k % BLAKE2_LANES], at + done, some);
        done += some;
    }
    node_init(&root, 1, 0, true);
    for (int l = 0; l < BLAKE2_LANES; l++) {
        uint8_t inner[BLAKE2_BYTES];
        blake2_end(&leaf[l], inner);
        blake2_add(&root, inner, sizeof inner);
    }
    blake2_end(&root, out);
}
