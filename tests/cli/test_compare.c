/* run --compare: floats are compared with their own magnitudes, not with the largest of a tensor. */
#include "cli/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static bool close_f32(float x, float y, double tolerance) {
    hilo_client *client;
    hilo_buffer *a, *b;
    int64_t dims[] = {2};
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 1, (float[]){1e6f, x}, NULL, &a), HILO_OK);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 1, (float[]){1e6f, y}, NULL, &b), HILO_OK);
    struct cli_comparison c = {.client = client, .results = &a, .expected = &b, .n = 1, .tolerance = tolerance};
    bool close = cli_compare_close(&c);
    hilo_buffer_release(a);
    hilo_buffer_release(b);
    hilo_client_release(client);
    return close;
}

static void is_relative_to_each_element(void **state) {
    (void)state;
    assert_true(close_f32(1e-3f, 1e-3f, 0));
    assert_true(close_f32(1e-3f, 1.000001e-3f, 0));
    assert_false(close_f32(1e-3f, 1.1e-3f, 0));
    assert_true(close_f32(1e-3f, 1.1e-3f, 0.2));
    assert_false(close_f32(1e-3f, 0, 0));
    assert_false(close_f32((float)INFINITY, 1, 0.5));
    assert_true(close_f32((float)NAN, (float)NAN, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_relative_to_each_element)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
