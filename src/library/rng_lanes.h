/* Counter-based generators for rng.c, several counters at once; once for each instruction set:
 *
 *   NAME(x)      x with a prefix          TARGET   attribute of the functions
 *   MUL32(a, b)  64-bit products of the lower halves of 64-bit lanes
 *
 * Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */

/* Threefry 2x32-20 of RNG_BLOCK counters from `counter` on: first and second words. */
TARGET static void NAME(threefry)(uint64_t key, uint64_t counter, uint32_t *low, uint32_t *high) {
    static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), UINT32_C(0x1BD11BDA) ^ (uint32_t)key ^ (uint32_t)(key >> 32)};
    uint32_t first[RNG_BLOCK], second[RNG_BLOCK];
    for (uint32_t i = 0; i < RNG_BLOCK; i++) {
        first[i] = (uint32_t)(counter + i);
        second[i] = (uint32_t)((counter + i) >> 32);
    }
    for (size_t at = 0; at < RNG_BLOCK; at += 32) {
        v8u x[4], y[4]; /* several chains at a time */
        for (size_t j = 0; j < 4; j++) {
            x[j] = *(const u8u *)(first + at + 8 * j) + k[0];
            y[j] = *(const u8u *)(second + at + 8 * j) + k[1];
        }
        for (uint32_t round = 0; round < 5; round++) {
            for (uint32_t i = 0; i < 4; i++) {
                const int by = rotation[round % 2 * 4 + i];
                for (size_t j = 0; j < 4; j++) {
                    x[j] += y[j];
                    y[j] = (y[j] << by | y[j] >> (32 - by)) ^ x[j];
                }
            }
            for (size_t j = 0; j < 4; j++) {
                x[j] += k[(round + 1) % 3];
                y[j] += k[(round + 2) % 3] + round + 1;
            }
        }
        for (size_t j = 0; j < 4; j++) {
            *(u8u *)(low + at + 8 * j) = x[j];
            *(u8u *)(high + at + 8 * j) = y[j];
        }
    }
}

/* Philox 4x32-10 of RNG_BLOCK counters: first and second 64 bits. */
TARGET static void NAME(philox)(uint64_t key, const uint64_t counter[2], uint64_t *low, uint64_t *high) {
    const v4ul mask = (v4ul){0} + UINT32_MAX, m0 = (v4ul){0} + UINT32_C(0xD2511F53), m1 = (v4ul){0} + UINT32_C(0xCD9E8D57);
    for (uint32_t at = 0; at < RNG_BLOCK; at += 8) {
        uint64_t word[4][8];
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        for (uint32_t j = 0; j < 8; j++) {
            uint64_t c0 = counter[0] + at + j, c1 = counter[1] + (c0 < counter[0]);
            word[0][j] = (uint32_t)c0;
            word[1][j] = c0 >> 32;
            word[2][j] = (uint32_t)c1;
            word[3][j] = c1 >> 32;
        }
        v4ul x[2][4];
        for (size_t g = 0; g < 2; g++)
            for (size_t i = 0; i < 4; i++)
                x[g][i] = *(const u4ul *)(word[i] + 4 * g);
        for (int round = 0; round < 10; round++, k0 += UINT32_C(0x9E3779B9), k1 += UINT32_C(0xBB67AE85))
            for (size_t g = 0; g < 2; g++) {
                const v4ul a = MUL32(x[g][0], m0), b = MUL32(x[g][2], m1);
                x[g][0] = (b >> 32) ^ x[g][1] ^ k0;
                x[g][1] = b & mask;
                x[g][2] = (a >> 32) ^ x[g][3] ^ k1;
                x[g][3] = a & mask;
            }
        for (size_t g = 0; g < 2; g++) {
            *(u4ul *)(low + at + 4 * g) = x[g][0] | x[g][1] << 32;
            *(u4ul *)(high + at + 4 * g) = x[g][2] | x[g][3] << 32;
        }
    }
}

#undef NAME
#undef TARGET
#undef MUL32
