/* Buffers of a GPU's client, on a stand-in for its driver (HILO_CUDA_PATH). */
#include "hilo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers before it */
#include <cmocka.h>

enum { SIZE = 40 };

/* The first argument is used on the host alone, the second by a kernel. */
static const char sides[] =
    "func.func @main(%x: tensor<40xf32>, %y: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>) {\n"
    "  %0 = \"stablehlo.sort\"(%x) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<40xf32>) -> tensor<40xf32>\n"
    "  %2 = stablehlo.add %y, %y : tensor<40xf32>\n"
    "  return %0, %2 : tensor<40xf32>, tensor<40xf32>\n"
    "}\n";

/* One buffer is both arguments. */
static void one_buffer_on_both_sides(void **state) {
    static const int64_t dims[] = {SIZE};
    hilo_client *client;
    hilo_client_options o;
    hilo_executable *exe;
    hilo_buffer *x, *out[2] = {NULL, NULL};
    float values[SIZE];
    (void)state;
    if (!getenv("HILO_CUDA_PATH")) {
        print_message("skipped: HILO_CUDA_PATH names no driver\n");
        skip();
    }
    hilo_client_options_init(&o);
    o.device = "gpu";
    o.threads = 1;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    assert_int_equal(hilo_compile_source(client, sides, strlen(sides), NULL, NULL, &exe), HILO_OK);
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)(i * 7 % SIZE);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 1, values, NULL, &x), HILO_OK);
    hilo_buffer *const inputs[] = {x, x};
    for (int run = 0; run < 2; run++) {
        assert_int_equal(hilo_execute(exe, NULL, inputs, 2, out, 2), HILO_OK);
        const float *sorted = hilo_buffer_data(out[0]), *doubled = hilo_buffer_data(out[1]);
        for (int i = 0; i < SIZE; i++)
            assert_true(sorted[i] == (float)i && doubled[i] == 2 * values[i]);
        hilo_buffer_release(out[0]);
        hilo_buffer_release(out[1]);
    }
    hilo_buffer_release(x);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_buffer_on_both_sides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
