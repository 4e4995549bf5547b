/* libFuzzer target: any bytes, read as a .npy file and as a .npz archive, are read or refused, and
 * nothing leaks. What was read is touched, so that a sanitizer sees whether it is all there. */
#include "cli/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* What an array that was read promises. */
static void fuzz_npy_check(const struct npy_array *a) {
    size_t expected = a->item_bytes;
    unsigned sum = 0;
    for (int i = 0; i < a->rank; i++)
        expected *= (size_t)a->dims[i];
    for (size_t i = 0; i < a->nbytes; i++)
        sum += ((const unsigned char *)a->data)[i];
    if (expected != a->nbytes || !a->data || sum > a->nbytes * 255)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct npy_error err;
    struct npy_array one, *many;
    size_t n;
    if (npy_parse(bytes, nbytes, "fuzz.npy", &one, &err) == 0) {
        fuzz_npy_check(&one);
        npy_free(&one);
    }
    if (npz_parse(bytes, nbytes, "fuzz.npz", &many, &n, &err) == 0) {
        for (size_t i = 0; i < n; i++)
            fuzz_npy_check(&many[i]);
        npz_free(many, n);
    }
    return 0;
}
