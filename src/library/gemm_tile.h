/* The micro-kernel of gemm.c, included for each type and instruction set:
 *
 *   T        the type                  V        vectors of it, of 32 bytes
 *   NAME(x)  x with a prefix           TARGET   attribute of the functions
 *   MADD(a, b, c)  c + a b of vectors  SPLAT(x) a vector of copies */

/* tile[i] += sum over p < k of a[p][i] b[p], for GEMM_ROWS rows of two vectors. */
TARGET static void NAME(tile)(const void *packed_a, const void *packed_b, size_t k, void *tile) {
    const T *a = packed_a, *b = packed_b;
    const size_t lanes = sizeof(V) / sizeof(T);
    V *t = tile, c[GEMM_ROWS][2];
    for (size_t i = 0; i < GEMM_ROWS; i++) {
        c[i][0] = t[2 * i];
        c[i][1] = t[2 * i + 1];
    }
    for (size_t p = 0; p < k; p++, a += GEMM_ROWS, b += 2 * lanes) {
        const V b0 = *(const V *)b, b1 = *(const V *)(b + lanes);
        for (size_t i = 0; i < GEMM_ROWS; i++) {
            const V x = SPLAT(a[i]);
            c[i][0] = MADD(x, b0, c[i][0]);
            c[i][1] = MADD(x, b1, c[i][1]);
        }
    }
    for (size_t i = 0; i < GEMM_ROWS; i++) {
        t[2 * i] = c[i][0];
        t[2 * i + 1] = c[i][1];
    }
}

#undef T
#undef V
#undef NAME
#undef TARGET
#undef MADD
#undef SPLAT
