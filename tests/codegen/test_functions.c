/* The functions of the kernel IR, written out, as machine code. */
#include "harness.h"

static void test_functions(void **state) {
    (void)state;
    enum { N = 333, WIDTH = 16 };
    for (int type = KIR_F32; type <= KIR_F64; type++) {
        struct harness_batch batch = {.n = 0};
        enum ir_dtype t = type == KIR_F32 ? IR_F32_T : IR_F64_T;
        for (int f = 0; f < KIR_MATH_COUNT; f++) {
            if (!kir_math_known((enum kir_math)f, (enum kir_type)type))
                continue;
            struct kir *k = harness_new(&batch);
            uint32_t a = kir_param(k, KIR_IN, t, N), b = kir_param(k, KIR_IN, t, N), out = kir_param(k, KIR_OUT, t, N);
            kir_val i = kir_loop(k, KIR_VECTOR, N, WIDTH), x = kir_load(k, a, i), y = {0};
            if (kir_math_get((enum kir_math)f)->nargs == 2)
                y = kir_load(k, b, i);
            kir_store(k, out, i, kir_math(k, (enum kir_math)f, x, y));
            kir_close(k);
            kir_expand_math(k);
        }
        assert_true(batch.n > 15);
        harness_flush(&batch, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions)};
    return setjmp(harness_memory) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
