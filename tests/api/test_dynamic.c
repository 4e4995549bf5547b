/* Programs of unknown sizes: compiled for the shapes that runs bring, once for each; evaluated where sizes depend on data. */
#include "hilo.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- programs -------------------------------------------------------------------------------- */

/* Sizes by get_dimension_size, through a call, and from types. */
static const char softmax[] =
    "func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x?xf32>) -> "
    "tensor<?x?xf32>\n"
    "  %1 = stablehlo.exponential %0 : tensor<?x?xf32>\n"
    "  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf32>, tensor<f32>) -> "
    "tensor<?xf32>\n"
    "  %3 = func.call @like(%2, %1) : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>\n"
    "  %4 = stablehlo.divide %1, %3 : tensor<?x?xf32>\n"
    "  return %4, %2 : tensor<?x?xf32>, tensor<?xf32>\n"
    "}\n"
    "func.func private @like(%s: tensor<?xf32>, %m: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
    "  %0 = stablehlo.get_dimension_size %m, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>\n"
    "  %1 = stablehlo.get_dimension_size %m, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>\n"
    "  %2 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>\n"
    "  %3 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>\n"
    "  %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
    "  %5 = stablehlo.dynamic_broadcast_in_dim %s, %4, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
    "  return %5 : tensor<?x?xf32>\n"
    "}\n";

/* A loop whose state has an unknown size, inside of it a branch, and a size that is the loop's invariant. */
static const char loop[] =
    "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
    "  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<?xf32>\n"
    "  cond {\n"
    "    %m = stablehlo.get_dimension_size %s, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
    "    %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %p : tensor<i1>\n"
    "  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %two = stablehlo.constant dense<2> : tensor<i32>\n"
    "    %r = stablehlo.remainder %i, %two : tensor<i32>\n"
    "    %odd = stablehlo.compare EQ, %r, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    %t = \"stablehlo.if\"(%odd) ({\n"
    "      %a = stablehlo.add %s, %s : tensor<?xf32>\n"
    "      stablehlo.return %a : tensor<?xf32>\n"
    "    }, {\n"
    "      %a = stablehlo.negate %s : tensor<?xf32>\n"
    "      stablehlo.return %a : tensor<?xf32>\n"
    "    }) : (tensor<i1>) -> tensor<?xf32>\n"
    "    stablehlo.return %j, %t : tensor<i32>, tensor<?xf32>\n"
    "  }\n"
    "  return %0#1 : tensor<?xf32>\n"
    "}\n";

/* What exporters call: a running sum, the largest, random bits, assertions; a sort, and bits of another width. */
static const char calls[] =
    "func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xui32>, tensor<?xf32>, tensor<?x4xui8>) {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<1xi32>\n"
    "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
    "  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
    "  %p = stablehlo.compare GE, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "  stablehlo.custom_call @shape_assertion(%p, %n) {error_message = \"{0} is too few\", has_side_effect = true} : "
    "(tensor<i1>, tensor<i32>) -> ()\n"
    "  %size = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
    "  %less = stablehlo.subtract %size, %one : tensor<1xi32>\n"
    "  %none = stablehlo.constant dense<0> : tensor<1x1xi32>\n"
    "  %low = stablehlo.reshape %less : (tensor<1xi32>) -> tensor<1x1xi32>\n"
    "  %pad = stablehlo.concatenate %low, %none, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>\n"
    "  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %z, %size, %one, %one, %one, %pad) "
    "{called_computations = [@plus]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, "
    "tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>\n"
    "  %1:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %two) : (tensor<?xf32>, tensor<i32>) -> "
    "(tensor<?xf32>, tensor<?xi32>)\n"
    "  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>\n"
    "  %2:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %size) "
    "{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>, tensor<1xi32>) -> "
    "(tensor<2xui64>, tensor<?xui32>)\n"
    "  %3 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  }) : (tensor<?xf32>) -> tensor<?xf32>\n"
    "  %4 = stablehlo.bitcast_convert %x : (tensor<?xf32>) -> tensor<?x4xui8>\n"
    "  return %0, %1#0, %2#1, %3, %4 : tensor<?xf32>, tensor<?xf32>, tensor<?xui32>, tensor<?xf32>, tensor<?x4xui8>\n"
    "}\n"
    "func.func private @plus(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
    "  %0 = stablehlo.add %a, %b : tensor<f32>\n"
    "  return %0 : tensor<f32>\n"
    "}\n";

/* The state grows: its size is not what it was at first. */
static const char growing[] =
    "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<?xf32>\n"
    "  cond {\n"
    "    %three = stablehlo.constant dense<3> : tensor<i32>\n"
    "    %p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %p : tensor<i1>\n"
    "  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %t = stablehlo.concatenate %s, %s, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
    "    stablehlo.return %j, %t : tensor<i32>, tensor<?xf32>\n"
    "  }\n"
    "  return %0#1 : tensor<?xf32>\n"
    "}\n";

/* A size that is an argument. */
static const char counted[] =
    "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
    "  %0 = stablehlo.convert %x : (tensor<?xf32>) -> tensor<?xi32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<1xi64>\n"
    "  %zero = stablehlo.constant dense<0> : tensor<1xi64>\n"
    "  %1 = stablehlo.real_dynamic_slice %0, %zero, %one, %one : (tensor<?xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) "
    "-> tensor<1xi32>\n"
    "  %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
    "  return %2 : tensor<?xf32>\n"
    "}\n";

/* ---- running --------------------------------------------------------------------------------- */

enum { MOST_RESULTS = 5 };

static hilo_client *new_client(void) {
    hilo_client *client = NULL;
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    return client;
}

static hilo_executable *build(hilo_client *client, const char *text, hilo_backend backend, int level) {
    hilo_module *module = NULL;
    hilo_executable *exe = NULL;
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.backend = backend;
    o.level = level;
    hilo_status status = hilo_module_parse(client, text, strlen(text), NULL, &module);
    if (status == HILO_OK)
        status = hilo_compile(client, module, &o, &exe);
    if (status != HILO_OK)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    assert_int_equal(status, HILO_OK);
    hilo_module_release(module);
    return exe;
}

/* Numbers from 1 on, over 4, in an order of their own. */
static hilo_buffer *input(hilo_client *client, const int64_t *dims, uint32_t rank) {
    hilo_buffer *b = NULL;
    assert_int_equal(hilo_buffer_create(client, HILO_F32, dims, rank, &b), HILO_OK);
    float *data = hilo_buffer_data(b);
    size_t n = hilo_buffer_bytes(b) / sizeof *data;
    for (size_t i = 0; i < n; i++)
        data[i] = (float)(1 + i * 7 % n) / (float)(4 * n);
    return b;
}

static hilo_status run(hilo_executable *exe, hilo_buffer *const *in, size_t nin, hilo_buffer **out) {
    memset(out, 0, MOST_RESULTS * sizeof(hilo_buffer *));
    return hilo_execute(exe, NULL, in, nin, out, hilo_executable_output_count(exe));
}

static void release(hilo_buffer **b, size_t n) {
    for (size_t i = 0; i < n; i++)
        hilo_buffer_release(b[i]);
}

static void compare(hilo_buffer **got, hilo_buffer **want, size_t n) {
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hilo_buffer_rank(got[i]), hilo_buffer_rank(want[i]));
        assert_memory_equal(hilo_buffer_dims(got[i]), hilo_buffer_dims(want[i]),
                            hilo_buffer_rank(want[i]) * sizeof(int64_t));
        const float *x = hilo_buffer_data(got[i]), *y = hilo_buffer_data(want[i]);
        if (hilo_buffer_dtype(want[i]) != HILO_F32)
            assert_memory_equal(x, y, hilo_buffer_bytes(want[i]));
        else
            for (size_t k = 0; k < hilo_buffer_bytes(want[i]) / sizeof *x; k++)
                assert_true(fabsf(x[k] - y[k]) <= 1e-5f * fabsf(y[k]));
    }
}

static uint64_t specialisations(const hilo_executable *exe) {
    hilo_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
    return stats.specialisations;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Each program with several shapes, twice, against the evaluator; the second time nothing is compiled. */
static void check(const char *text, size_t nin, int compiled) {
    static const hilo_backend backends[] = {HILO_BACKEND_INTERPRETER, HILO_BACKEND_AUTO};
    static const int64_t sizes[] = {3, 7, 2, 16};
    hilo_client *client = new_client();
    hilo_executable *reference = build(client, text, HILO_BACKEND_REFERENCE, 0);
    size_t nout = hilo_executable_output_count(reference);
    for (int b = 0; b < 2; b++)
        for (int level = 0; level <= 3; level++) {
            hilo_executable *exe = build(client, text, backends[b], level);
            for (int k = 0; k < 8; k++) {
                int64_t n = sizes[k % 4];
                hilo_buffer *in[2], *got[MOST_RESULTS], *want[MOST_RESULTS];
                in[0] = input(client, nin == 2 ? (int64_t[]){n, 4} : &n, (uint32_t)nin);
                in[1] = nin == 2 ? input(client, (int64_t[]){4, n + 1}, 2) : NULL;
                assert_int_equal(run(exe, in, nin, got), HILO_OK);
                assert_int_equal(run(reference, in, nin, want), HILO_OK);
                compare(got, want, nout);
                release(in, 2);
                release(got, nout);
                release(want, nout);
                if (backends[b] == HILO_BACKEND_INTERPRETER)
                    assert_int_equal(specialisations(exe), compiled ? (k < 4 ? k + 1 : 4) : 0);
            }
            hilo_executable_release(exe);
        }
    assert_int_equal(specialisations(reference), 0);
    hilo_executable_release(reference);
    hilo_client_release(client);
}

static void test_values(void **state) {
    (void)state;
    check(softmax, 2, 1);
    check(loop, 1, 1);
    check(calls, 1, 1);
}

static void test_evaluated(void **state) {
    (void)state;
    check(growing, 1, 0);
    check(counted, 1, 0);
}

/* Only the last shapes are kept. */
static void test_bounded(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, loop, HILO_BACKEND_INTERPRETER, 1);
    for (int64_t n = 1; n <= 40; n++) {
        hilo_buffer *in = input(client, &n, 1), *out[MOST_RESULTS];
        assert_int_equal(run(exe, &in, 1, out), HILO_OK);
        release(&in, 1);
        release(out, 1);
        assert_int_equal(specialisations(exe), n);
    }
    for (int64_t n = 40; n > 0; n -= 39) {
        hilo_buffer *in = input(client, &n, 1), *out[MOST_RESULTS];
        assert_int_equal(run(exe, &in, 1, out), HILO_OK);
        release(&in, 1);
        release(out, 1);
        assert_int_equal(specialisations(exe), n == 40 ? 40 : 41);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
}

/* The names in the options are the caller's again once the program is there. */
static void test_names(void **state) {
    static const char machine[] = "tests/target/machines/unified.machine", gone[] = "none";
    (void)state;
    hilo_client *client = new_client();
    for (int i = 0; i < 2; i++) {
        char name[64] = "native";
        hilo_compile_options o;
        hilo_executable *exe = NULL;
        int64_t n = 3;
        hilo_buffer *in = input(client, &n, 1), *out[MOST_RESULTS];
        hilo_compile_options_init(&o);
        if (i) {
            memcpy(name, machine, sizeof machine);
            o.machine = name;
        } else {
            o.target_cpu = name;
        }
        assert_int_equal(hilo_compile_source(client, loop, strlen(loop), NULL, &o, &exe), HILO_OK);
        memcpy(name, gone, sizeof gone);
        assert_int_equal(run(exe, &in, 1, out), HILO_OK);
        release(&in, 1);
        release(out, 1);
        hilo_executable_release(exe);
    }
    hilo_client_release(client);
}

/* What the program would refuse when it is evaluated is refused as well, with its reason. */
static void test_refused(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, calls, HILO_BACKEND_AUTO, 2);
    int64_t n = 1;
    hilo_buffer *in = input(client, &n, 1), *out[MOST_RESULTS];
    assert_int_equal(run(exe, &in, 1, out), HILO_INVALID_ARGUMENT);
    hilo_diagnostic d = {.struct_size = sizeof d};
    assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_OK);
    assert_non_null(strstr(d.message, "1 is too few"));
    release(&in, 1);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

struct job {
    hilo_executable *exe;
    hilo_buffer *in[2], *out[MOST_RESULTS];
    hilo_status status;
};

static void *job_run(void *user) {
    struct job *j = user;
    j->status = run(j->exe, j->in, 2, j->out);
    return NULL;
}

/* Threads that meet a new shape at once compile it once. */
static void test_threads(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, softmax, HILO_BACKEND_INTERPRETER, 2);
    for (int64_t n = 1; n <= 5; n++) {
        pthread_t threads[6];
        struct job jobs[6];
        for (int i = 0; i < 6; i++) {
            jobs[i].exe = exe;
            jobs[i].in[0] = input(client, (int64_t[]){n, 4}, 2);
            jobs[i].in[1] = input(client, (int64_t[]){4, 8}, 2);
            assert_int_equal(pthread_create(&threads[i], NULL, job_run, &jobs[i]), 0);
        }
        for (int i = 0; i < 6; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(jobs[i].status, HILO_OK);
            compare(jobs[i].out, jobs[0].out, 2);
        }
        for (int i = 0; i < 6; i++) {
            release(jobs[i].in, 2);
            release(jobs[i].out, 2);
        }
        assert_int_equal(specialisations(exe), n);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct limit {
    long left; /* allocations that succeed; below 0 = all */
};

static void *limited(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct limit *l = user;
    (void)old_bytes;
    (void)align;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    if (__atomic_load_n(&l->left, __ATOMIC_RELAXED) == 0)
        return NULL;
    if (__atomic_load_n(&l->left, __ATOMIC_RELAXED) > 0)
        __atomic_fetch_sub(&l->left, 1, __ATOMIC_RELAXED);
    void *p = NULL;
    if (posix_memalign(&p, 64, new_bytes))
        return NULL;
    if (ptr)
        memcpy(p, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
    free(ptr);
    return p;
}

/* Wherever memory ends while a run compiles, the run fails, nothing is lost, and the next one compiles. */
static void test_memory(void **state) {
    (void)state;
    struct limit limit = {-1};
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.allocator = (hilo_allocator){limited, &limit};
    o.threads = 1;
    for (long k = 0, done = 0; !done; k += 1 + k / 8) {
        hilo_client *client = NULL;
        limit.left = -1;
        assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
        hilo_executable *exe = build(client, loop, HILO_BACKEND_AUTO, 2);
        int64_t n = 3;
        hilo_buffer *in = input(client, &n, 1), *out[MOST_RESULTS];
        limit.left = k;
        hilo_status status = run(exe, &in, 1, out);
        done = limit.left > 0;
        limit.left = -1;
        assert_true(status == HILO_OK || status == HILO_RESOURCE_EXHAUSTED);
        if (status == HILO_OK)
            release(out, 1);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(run(exe, &in, 1, out), HILO_OK);
            assert_true(specialisations(exe) <= 1); /* 0 without a code generator */
            release(out, 1);
        }
        release(&in, 1);
        hilo_executable_release(exe);
        hilo_client_release(client);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_evaluated), cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_threads),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
