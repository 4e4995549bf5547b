/* Kernels that become an object file of their own, to stand for what a code generator makes. */
#include "hilo_kernel_abi.h"

hilo_kernel_fn test_scale, test_below;

/* v[2][i] = v[0][i] * v[1][0] + table[i % 4] */
void test_scale(void *const *v, void *scratch, int64_t begin, int64_t end) {
    static const float table[4] = {0.5f, 0.25f, 0.125f, 1};
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        ((float *)v[2])[i] = ((const float *)v[0])[i] * *(const float *)v[1] + table[i % 4];
}

/* v[1] = v[0][0] < 100 */
void test_below(void *const *v, void *scratch, int64_t begin, int64_t end) {
    (void)scratch, (void)begin, (void)end;
    *(uint8_t *)v[1] = *(const float *)v[0] < 100;
}
