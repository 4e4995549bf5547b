/* Buffers of a GPU's client, on a stand-in for its driver (HILO_CUDA_PATH). */
#include "../gpu/libcuda.h"
#include "hilo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Kernels, a loop that is one, and a routine of the host. */
static const char mixed[] =
    "func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %n = stablehlo.constant dense<3> : tensor<i32>\n"
    "  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %y = %b) : tensor<i32>, tensor<8x8xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %t = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "    stablehlo.return %j, %t : tensor<i32>, tensor<8x8xf32>\n"
    "  }\n"
    "  %s = \"stablehlo.sort\"(%b) ({\n"
    "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
    "    %1 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  return %r#1, %s : tensor<8x8xf32>, tensor<8x8xf32>\n"
    "}\n";

static struct fake_cuda_functions fake;

/* Skips the test where there is no stand-in. */
static void find_driver(void) {
    fake = fake_cuda_find();
    if (!fake.let_fail) {
        print_message("skipped: HILO_CUDA_PATH names no stand-in\n");
        skip();
    }
}

static struct fake_cuda counts(void) {
    struct fake_cuda c;
    fake.read(&c);
    return c;
}

static hilo_status open_client(hilo_client **client) {
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.device = "gpu";
    o.threads = 1;
    return hilo_client_create(&o, client);
}

/* One buffer is both arguments. */
static void one_buffer_on_both_sides(void **state) {
    static const int64_t dims[] = {SIZE};
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer *x, *out[2] = {NULL, NULL};
    float values[SIZE];
    (void)state;
    find_driver();
    assert_int_equal(open_client(&client), HILO_OK);
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

/* ---- several runs ---------------------------------------------------------------------------- */

enum { SIDE = 8, RUNS = 4 };
static const int64_t square[] = {SIDE, SIDE};

static void multiply(const float *x, const float *w, float *out) {
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += x[i * SIDE + k] * w[k * SIDE + j]; /* small whole numbers: any order gives the same */
            out[i * SIDE + j] = sum;
        }
}

/* Input `run` of `mixed`, and its first result. */
static void values_of(int run, float *x, float *w, float *want) {
    float y[SIDE * SIDE], z[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        x[i] = (float)((i * 5 + run) % 7 - 3);
        w[i] = (float)(i % 3 - 1);
    }
    memcpy(y, x, sizeof y);
    for (int i = 0; i < 5; i++) {
        multiply(y, w, z);
        memcpy(y, z, sizeof y);
    }
    memcpy(want, y, sizeof y);
}

/* Runs after the first launch graphs, whose addresses follow the buffers: here results are kept, so each run has others. */
static void graphs_follow_their_buffers(void **state) {
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer *in[2], *out[RUNS][2];
    float x[SIDE * SIDE], w[SIDE * SIDE], want[SIDE * SIDE];
    (void)state;
    find_driver();
    assert_int_equal(open_client(&client), HILO_OK);
    assert_int_equal(hilo_compile_source(client, mixed, strlen(mixed), NULL, NULL, &exe), HILO_OK);
    uint64_t launches = 0;
    struct fake_cuda before = counts();
    for (int run = 0; run < RUNS; run++) {
        values_of(run, x, w, want);
        assert_int_equal(hilo_buffer_from_host(client, HILO_F32, square, 2, x, NULL, &in[0]), HILO_OK);
        assert_int_equal(hilo_buffer_from_host(client, HILO_F32, square, 2, w, NULL, &in[1]), HILO_OK);
        assert_int_equal(hilo_execute(exe, NULL, in, 2, out[run], 2), HILO_OK);
        hilo_buffer_release(in[0]);
        hilo_buffer_release(in[1]);
        if (run == 0)
            launches = counts().launches;
    }
    struct fake_cuda after = counts();
    assert_true(launches > before.launches);
    assert_int_equal(after.launches, launches); /* of the first run alone */
    assert_int_equal(after.graphs, before.graphs + RUNS - 1);
    assert_true(after.updates > before.updates);
    for (int run = 0; run < RUNS; run++) {
        values_of(run, x, w, want);
        assert_memory_equal(hilo_buffer_data(out[run][0]), want, sizeof want);
        hilo_buffer_release(out[run][0]);
        hilo_buffer_release(out[run][1]);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
    assert_int_equal(counts().live, 0);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* From the client to results on the host, three runs; the first status that is not OK. */
static hilo_status everything(bool *right) {
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    float x[SIDE * SIDE], w[SIDE * SIDE], want[SIDE * SIDE];
    hilo_status status = open_client(&client);
    if (status == HILO_OK)
        status = hilo_compile_source(client, mixed, strlen(mixed), NULL, NULL, &exe);
    for (int run = 0; run < 3 && status == HILO_OK; run++) {
        hilo_buffer *in[2] = {NULL, NULL}, *out[2] = {NULL, NULL};
        values_of(run, x, w, want);
        status = hilo_buffer_from_host(client, HILO_F32, square, 2, x, NULL, &in[0]);
        if (status == HILO_OK)
            status = hilo_buffer_from_host(client, HILO_F32, square, 2, w, NULL, &in[1]);
        if (status == HILO_OK)
            status = hilo_execute(exe, NULL, in, 2, out, 2);
        const void *data = out[0] ? hilo_buffer_data(out[0]) : NULL;
        if (status == HILO_OK && !data)
            status = HILO_INTERNAL;
        *right &= !data || memcmp(data, want, sizeof want) == 0;
        hilo_buffer_release(in[0]);
        hilo_buffer_release(in[1]);
        hilo_buffer_release(out[0]);
        hilo_buffer_release(out[1]);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
    return status;
}

/* Every call of the driver fails once: a status, right results or none, nothing left over. */
static void each_call_fails(void **state) {
    bool right = true;
    uint64_t n = 0, told = 0;
    (void)state;
    find_driver();
    for (;; n++) {
        uint64_t failed = counts().failed;
        fake.let_fail(n);
        hilo_status status = everything(&right);
        fake.let_fail(UINT64_MAX);
        assert_int_equal(counts().live, 0);
        assert_true(right);
        if (counts().failed == failed) {
            assert_int_equal(status, HILO_OK);
            break;
        }
        told += status != HILO_OK;
    }
    print_message("%d calls failed in turn, %d were told\n", (int)n, (int)told);
    assert_true(n > 100 && told > n / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_buffer_on_both_sides),
                                       cmocka_unit_test(graphs_follow_their_buffers),
                                       cmocka_unit_test(each_call_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
