/* fft against the evaluator. */
#include "library_test.h"

/* One transform: `dims` are the transformed lengths after a batch shape like "3x". */
static void fft(const char *type, const char *real, const char *batch, const int *n, int ndims) {
    char in[64] = "", out[64] = "", length[64] = "";
    bool from_real = strcmp(type, "RFFT") == 0, to_real = strcmp(type, "IRFFT") == 0, wide = strcmp(real, "f64") == 0;
    size_t total = 1;
    for (int i = 0; i < ndims; i++) {
        bool last = i + 1 == ndims;
        snprintf(in + strlen(in), sizeof in - strlen(in), "%dx", last && to_real ? n[i] / 2 + 1 : n[i]);
        snprintf(out + strlen(out), sizeof out - strlen(out), "%dx", last && from_real ? n[i] / 2 + 1 : n[i]);
        snprintf(length + strlen(length), sizeof length - strlen(length), "%s%d", i ? ", " : "", n[i]);
        total *= (size_t)n[i];
    }
    char a[96], b[96];
    snprintf(a, sizeof a, "tensor<%s%s%s%s%s>", batch, in, from_real ? "" : "complex<", real, from_real ? "" : ">");
    snprintf(b, sizeof b, "tensor<%s%s%s%s%s>", batch, out, to_real ? "" : "complex<", real, to_real ? "" : ">");
    double size = type[0] == 'I' ? 1 : sqrt((double)total); /* of what comes out */
    routine_check(&(struct routine_case){
        .kind = IR_FFT,
        .fill = {FILL_PLAIN},
        .seed = 41,
        .rule = {.how = CHECK_ALMOST, .tolerance = (wide ? 1e-13 : 2e-5) * (4 + size)},
        .text = program("func.func @main(%%a: %s) -> %s {\n"
                        "  %%r = stablehlo.fft %%a, type = %s, length = [%s] : (%s) -> %s\n  return %%r : %s\n}\n",
                        a, b, type, length, a, b, b)});
}

static const char *const kinds[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
static const char *const reals[] = {"f32", "f64"};

static void test_lengths(void **state) {
    (void)state;
    static const int lengths[] = {1,  2,  3,  4,  5,  6,   7,   8,   9,   12,  15,  16,  17,  24,  25,   31,   32,  37,
                                  60, 64, 74, 97, 99, 128, 210, 243, 256, 360, 509, 512, 720, 961, 1000, 1024, 2048};
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 2; r++)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                fft(kinds[k], reals[r], "", &lengths[i], 1);
                if (lengths[i] <= 64) {
                    fft(kinds[k], reals[r], "9x", &lengths[i], 1);
                    fft(kinds[k], reals[r], "2x16x", &lengths[i], 1);
                }
            }
}

static void test_long(void **state) {
    (void)state;
    static const int lengths[] = {4096, 5000, 6561, 8192, 8209, 10007};
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 2; r++)
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
                fft(kinds[k], reals[r], "2x", &lengths[i], 1);
}

static void test_dimensions(void **state) {
    (void)state;
    static const int shapes[][3] = {{8, 16, 32}, {5, 3, 7}, {1, 9, 4}, {4, 41, 2}, {2, 2, 300}, {300, 2, 2}};
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 2; r++)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                fft(kinds[k], reals[r], "", shapes[i], 3);
                fft(kinds[k], reals[r], "3x", shapes[i], 2);
                fft(kinds[k], reals[r], "0x", shapes[i], 2);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
