/* Steps: what is evaluated by itself, what can be cancelled while it runs; diagnostics of several threads. */
#include "hilo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

static hilo_client *new_client(void) {
    hilo_client *client;
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.threads = 2;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

static int say_yes_in_step(void *user) {
    return ++*(int *)user > 2; /* asked before the step, and in it */
}

/* A single step that takes long ends on cancellation, whichever backend computes it. */
static void test_cancel_step(void **state) {
    (void)state;
    static const char product[] =
        "func.func @main(%x: tensor<1536x1536xf32>) -> tensor<1536x1536xf32> {\n"
        "  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] :\n"
        "      (tensor<1536x1536xf32>, tensor<1536x1536xf32>) -> tensor<1536x1536xf32>\n"
        "  return %0 : tensor<1536x1536xf32>\n"
        "}\n";
    static const char sorted[] = /* a routine of several phases, each of which reads what the one before computed */
        "func.func @main(%x: tensor<1536x1536xf32>) -> tensor<2359296xf32> {\n"
        "  %0 = stablehlo.reshape %x : (tensor<1536x1536xf32>) -> tensor<2359296xf32>\n"
        "  %1 = \"stablehlo.sort\"(%0) ({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    stablehlo.return %2 : tensor<i1>\n"
        "  }) {dimension = 0 : i64} : (tensor<2359296xf32>) -> tensor<2359296xf32>\n"
        "  return %1 : tensor<2359296xf32>\n"
        "}\n";
    static const char *const programs[] = {product, sorted};
    static const int64_t dims[] = {1536, 1536};
    static const hilo_backend backends[] = {HILO_BACKEND_REFERENCE, HILO_BACKEND_AUTO};
    for (size_t i = 0; i < 4; i++) {
        hilo_client *client = new_client();
        hilo_compile_options co;
        hilo_execute_options o;
        hilo_executable *exe;
        hilo_buffer *x, *out = NULL;
        int polled = 0;
        hilo_compile_options_init(&co);
        hilo_execute_options_init(&o);
        co.backend = backends[i % 2];
        co.level = 0;
        o.cancelled = say_yes_in_step;
        o.cancelled_user = &polled;
        assert_int_equal(hilo_buffer_create(client, HILO_F32, dims, 2, &x), HILO_OK);
        for (size_t k = 0; k < 1536 * 1536; k++)
            ((float *)hilo_buffer_data(x))[k] = (float)(k * 2654435761u % 1000003);
        assert_int_equal(hilo_compile_source(client, programs[i / 2], strlen(programs[i / 2]), NULL, &co, &exe), HILO_OK);
        assert_int_equal(hilo_execute(exe, &o, &x, 1, &out, 1), HILO_CANCELLED);
        assert_true(polled >= 3 && !out);
        hilo_buffer_release(x), hilo_executable_release(exe), hilo_client_release(client);
    }
}

/* An op that only the evaluator implements is a step by itself; the rest is compiled, and what is drawn is the same. */
static void test_evaluated_steps(void **state) {
    (void)state;
    static const char draws[] =
        "func.func @main(%x: tensor<4x4xf32>, %t: !stablehlo.token)\n"
        "    -> (tensor<4x4xf32>, !stablehlo.token, tensor<4xf32>, tensor<4xf32>) {\n"
        "  %t1 = stablehlo.after_all %t, %t : !stablehlo.token\n"
        "  %0 = stablehlo.add %x, %x : tensor<4x4xf32>\n"
        "  %lo = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %hi = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "  %s = stablehlo.constant dense<4> : tensor<1xi64>\n"
        "  %1 = stablehlo.rng %lo, %hi, %s, distribution = UNIFORM :\n"
        "      (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>\n"
        "  %2 = stablehlo.rng %lo, %hi, %s, distribution = UNIFORM :\n"
        "      (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>\n"
        "  return %0, %t1, %1, %2 : tensor<4x4xf32>, !stablehlo.token, tensor<4xf32>, tensor<4xf32>\n"
        "}\n";
    static const char reshapes[] =
        "func.func @main(%x: tensor<4x4xf32>, %n: tensor<2xi32>) -> (tensor<?x?xf32>, tensor<f32>) {\n"
        "  %0 = stablehlo.multiply %x, %x : tensor<4x4xf32>\n"
        "  %1 = stablehlo.dynamic_reshape %0, %n : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1] :\n"
        "      (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>\n"
        "  %3 = stablehlo.add %2, %2 : tensor<f32>\n"
        "  return %1, %3 : tensor<?x?xf32>, tensor<f32>\n"
        "}\n";
    static const struct {
        const char *text;
        size_t nout;
        uint32_t kernels; /* steps that are not evaluated */
    } programs[] = {{draws, 4, 1}, {reshapes, 2, 2}};
    static const hilo_backend backends[] = {HILO_BACKEND_REFERENCE, HILO_BACKEND_INTERPRETER};
    for (size_t p = 0; p < 2; p++) {
        hilo_client *client = new_client();
        hilo_buffer *in[2] = {NULL, NULL}, *out[2][4] = {{NULL}};
        float x[16];
        for (int i = 0; i < 16; i++)
            x[i] = (float)i;
        assert_int_equal(hilo_buffer_from_host(client, HILO_F32, (int64_t[]){4, 4}, 2, x, NULL, &in[0]), HILO_OK);
        if (p == 0)
            assert_int_equal(hilo_buffer_create(client, HILO_TOKEN, NULL, 0, &in[1]), HILO_OK);
        else
            assert_int_equal(hilo_buffer_from_host(client, HILO_S32, (int64_t[]){2}, 1, (int32_t[]){2, 8}, NULL, &in[1]),
                             HILO_OK);
        for (int b = 0; b < 2; b++) {
            hilo_executable *exe;
            hilo_compile_options co;
            hilo_stats stats = {.struct_size = sizeof stats};
            hilo_compile_options_init(&co);
            co.backend = backends[b];
            assert_int_equal(hilo_compile_source(client, programs[p].text, strlen(programs[p].text), NULL, &co, &exe), HILO_OK);
            assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
            assert_int_equal(stats.steps - stats.evaluated_steps, b ? programs[p].kernels : 0);
            for (int again = 0; again < 2; again++) { /* each run begins anew */
                for (size_t i = 0; i < programs[p].nout; i++)
                    hilo_buffer_release(out[b][i]);
                assert_int_equal(hilo_execute(exe, NULL, in, 2, out[b], programs[p].nout), HILO_OK);
            }
            hilo_executable_release(exe);
        }
        for (size_t i = 0; i < programs[p].nout; i++) {
            assert_int_equal(hilo_buffer_rank(out[0][i]), hilo_buffer_rank(out[1][i]));
            assert_int_equal(hilo_buffer_bytes(out[0][i]), hilo_buffer_bytes(out[1][i]));
            if (hilo_buffer_bytes(out[0][i]))
                assert_memory_equal(hilo_buffer_data(out[0][i]), hilo_buffer_data(out[1][i]), hilo_buffer_bytes(out[0][i]));
            hilo_buffer_release(out[0][i]), hilo_buffer_release(out[1][i]);
        }
        hilo_buffer_release(in[0]), hilo_buffer_release(in[1]), hilo_client_release(client);
    }
}

/* One thread adds and clears diagnostics while another reads them. */
static void *add_and_clear(void *user) {
    for (int i = 0; i < 2000; i++) {
        hilo_module *module = NULL;
        hilo_module_parse(user, "func", 4, NULL, &module);
        hilo_diagnostics_clear(user);
    }
    return NULL;
}

static void test_diagnostics_threads(void **state) {
    (void)state;
    hilo_client *client = new_client();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, add_and_clear, client), 0);
    for (int i = 0; i < 20000; i++) {
        hilo_diagnostic d = {.struct_size = sizeof d};
        hilo_status status = hilo_diagnostics_get(client, 0, &d);
        assert_true(status == HILO_OK || status == HILO_OUT_OF_RANGE);
        if (status == HILO_OK) /* of the node that was there, whatever became of it */
            assert_true(d.severity == HILO_SEVERITY_ERROR && d.status == HILO_INVALID_ARGUMENT);
    }
    pthread_join(thread, NULL);
    hilo_client_release(client);
}

static void count_warnings(void *user, hilo_log_level level, const char *message) {
    *(int *)user += level == HILO_LOG_WARNING && strstr(message, "libllvm19") != NULL;
}

/* Without LLVM programs are evaluated, and each client says so once. In a process of its own, before
   others, since a library is opened once. */
static void test_without_llvm(void **state) {
    (void)state;
    static const char *const programs[] = {
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %x, %x : tensor<2xf32>\n"
        "  return %0 : tensor<2xf32>\n}\n",
        "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n  %0 = stablehlo.negate %x : tensor<3xf32>\n"
        "  return %0 : tensor<3xf32>\n}\n"};
    int status;
    pid_t child = fork();
    if (child == 0) {
        int warnings = 0;
        bool good = setenv("HILO_LLVM_PATH", "/nowhere/libLLVM.so", 1) == 0 && setenv("HILO_TIER", "optimised", 1) == 0;
        hilo_client *client;
        hilo_client_options o;
        hilo_compile_options co;
        hilo_client_options_init(&o);
        hilo_compile_options_init(&co);
        co.cache = 0;
        o.log = count_warnings;
        o.log_user = &warnings;
        good &= hilo_client_create(&o, &client) == HILO_OK;
        for (int i = 0; good && i < 2; i++) {
            hilo_executable *exe = NULL;
            good &= hilo_compile_source(client, programs[i], strlen(programs[i]), NULL, &co, &exe) == HILO_OK;
            hilo_executable_release(exe);
        }
        hilo_client_release(client);
        _exit(good ? warnings : 100);
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_llvm), cmocka_unit_test(test_cancel_step),
                                       cmocka_unit_test(test_evaluated_steps), cmocka_unit_test(test_diagnostics_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
