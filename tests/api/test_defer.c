/* Large constants are packed by runs: by the first one for itself, by the next one to keep them. All runs, and files, have the
 * results of a program that keeps nothing, bit for bit. */
#include "base/torture.h"
#include "hilo.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 24, SIDE = 512, THREADS = 4 };

#define X "tensor<24x512xf32>"
#define W "tensor<512x512xf32>"

/* Bodies of @main(%x), with constants %v and %w: a product of each; both in one loop; a branch, of which one side is taken. */
static const char products[] =
    "%0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n"
    "%1 = stablehlo.tanh %0 : " X "\n"
    "%2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n"
    "return %2 : " X "\n";
static const char loop[] =
    "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "%n = stablehlo.constant dense<3> : tensor<i32>\n"
    "%one = stablehlo.constant dense<1> : tensor<i32>\n"
    "%r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, " X "\n"
    "cond {\n"
    "  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "  stablehlo.return %p : tensor<i1>\n"
    "} do {\n"
    "  %0 = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n"
    "  %1 = stablehlo.tanh %0 : " X "\n"
    "  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n"
    "  %3 = stablehlo.tanh %2 : " X "\n"
    "  %j = stablehlo.add %i, %one : tensor<i32>\n"
    "  stablehlo.return %j, %3 : tensor<i32>, " X "\n"
    "}\n"
    "return %r#1 : " X "\n";
static const char branch[] =
    "%s = stablehlo.slice %x [0:1, 0:1] : (" X ") -> tensor<1x1xf32>\n"
    "%t = stablehlo.reshape %s : (tensor<1x1xf32>) -> tensor<f32>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "%p = stablehlo.compare LT, %t, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "%r = \"stablehlo.if\"(%p) ({\n"
    "  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n"
    "  stablehlo.return %0 : " X "\n"
    "}, {\n"
    "  %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (" X ", " W ") -> " X "\n"
    "  stablehlo.return %1 : " X "\n"
    "}) : (tensor<i1>) -> " X "\n"
    "return %r : " X "\n";

static float element(size_t i, uint32_t seed) {
    return (float)((uint32_t)(i + seed) * 2654435761u >> 20) / 16384 - 0.125f;
}

static size_t put_constant(char *at, const char *name, uint32_t seed) {
    static const char digit[] = "0123456789ABCDEF";
    size_t n = (size_t)sprintf(at, "%s = stablehlo.constant dense<\"0x", name);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) {
        float x = element(i, seed);
        unsigned char b[sizeof x];
        memcpy(b, &x, sizeof x);
        for (size_t k = 0; k < sizeof x; k++) {
            at[n++] = digit[b[k] >> 4];
            at[n++] = digit[b[k] & 15];
        }
    }
    return n + (size_t)sprintf(at + n, "\"> : " W "\n");
}

static char *program(const char *body) {
    char *text = malloc((size_t)2 * SIDE * SIDE * 8 + 4096);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "func.func @main(%%x: " X ") -> " X " {\n");
    n += put_constant(text + n, "%v", 7);
    n += put_constant(text + n, "%w", 1234567);
    sprintf(text + n, "%s}\n", body);
    return text;
}

static hilo_client *client_new(void) {
    hilo_client *client;
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.threads = 2;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

static hilo_executable *compile(hilo_client *client, const char *text, uint64_t memory_limit) {
    hilo_compile_options o;
    hilo_executable *exe;
    hilo_compile_options_init(&o);
    o.cache = 0;
    o.memory_limit = memory_limit;
    assert_int_equal(hilo_compile_source(client, text, strlen(text), NULL, &o, &exe), HILO_OK);
    return exe;
}

static hilo_buffer *input(hilo_client *client) {
    hilo_buffer *b;
    assert_int_equal(hilo_buffer_create(client, HILO_F32, (int64_t[]){ROWS, SIDE}, 2, &b), HILO_OK);
    for (size_t i = 0; i < (size_t)ROWS * SIDE; i++)
        ((float *)hilo_buffer_data(b))[i] = element(i, 99);
    return b;
}

static hilo_buffer *run(hilo_executable *exe, hilo_buffer *x) {
    hilo_buffer *out;
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &out, 1), HILO_OK);
    return out;
}

static void expect(hilo_executable *exe, hilo_buffer *x, hilo_buffer *want) {
    hilo_buffer *out = run(exe, x);
    assert_memory_equal(hilo_buffer_data(out), hilo_buffer_data(want), hilo_buffer_bytes(want));
    hilo_buffer_release(out);
}

static uint64_t packs(const hilo_executable *exe) {
    hilo_stats s = {.struct_size = sizeof s};
    assert_int_equal(hilo_executable_stats(exe, &s), HILO_OK);
    return s.packs;
}

/* What the program computes when it keeps nothing. */
static hilo_buffer *expected(hilo_client *client, const char *text, hilo_buffer *x) {
    hilo_executable *limited = compile(client, text, 64 << 20);
    hilo_buffer *want = run(limited, x);
    hilo_stats s = {.struct_size = sizeof s};
    assert_int_equal(hilo_executable_stats(limited, &s), HILO_OK);
    assert_int_equal(s.init_steps, 0);
    hilo_executable_release(limited);
    return want;
}

/* How often operands are packed by the end of each run. */
static void check_counts(const char *body, const uint64_t *counts, int n) {
    hilo_client *client = client_new();
    char *text = program(body);
    hilo_buffer *x = input(client), *want = expected(client, text, x);
    hilo_executable *exe = compile(client, text, 0);
    assert_int_equal(packs(exe), 0);
    for (int i = 0; i < n; i++) {
        expect(exe, x, want);
        assert_int_equal(packs(exe), counts[i]);
    }
    hilo_executable_release(exe);
    hilo_buffer_release(x);
    hilo_buffer_release(want);
    free(text);
    hilo_client_release(client);
}

/* The first run packs both for itself; the second packs them to keep them. What a loop reads, or one side of a branch, is kept
   at once, as is everything in the torture build, where the memory that the first run shares is too small; what the branch did
   not need is made by the second run. */
static void test_counts(void **state) {
    enum { BOTH = TORTURED(2, 4) };
    (void)state;
    check_counts(products, (const uint64_t[]){2, BOTH, BOTH, BOTH}, 4);
    check_counts(loop, (const uint64_t[]){2, 2, 2}, 3);
    check_counts(branch, (const uint64_t[]){1, 2, 2}, 3);
}

struct file {
    char *p;
    size_t n;
};

static void append(void *user, const char *bytes, size_t n) {
    struct file *f = user;
    f->p = realloc(f->p, f->n + n);
    assert_non_null(f->p);
    memcpy(f->p + f->n, bytes, n);
    f->n += n;
}

/* A file has them packed, whether or not the program ran before; then runs have nothing to pack. */
static void test_file(void **state) {
    (void)state;
    hilo_client *client = client_new();
    char *text = program(products);
    hilo_buffer *x = input(client), *want = expected(client, text, x);
    for (int runs = 0; runs < 3; runs++) {
        hilo_executable *exe = compile(client, text, 0), *loaded;
        struct file f = {NULL, 0};
        for (int i = 0; i < runs; i++)
            expect(exe, x, want);
        assert_int_equal(hilo_executable_serialize(exe, append, &f), HILO_OK);
        uint64_t before = packs(exe);
        expect(exe, x, want);
        assert_int_equal(packs(exe), before);
        assert_int_equal(hilo_executable_deserialize(client, f.p, f.n, &loaded), HILO_OK);
        expect(loaded, x, want);
        assert_int_equal(packs(loaded), 0);
        free(f.p);
        hilo_executable_release(loaded);
        hilo_executable_release(exe);
    }
    hilo_buffer_release(x);
    hilo_buffer_release(want);
    free(text);
    hilo_client_release(client);
}

struct runner {
    pthread_t thread;
    hilo_executable *exe;
    hilo_buffer *x, *out;
    hilo_status status;
};

static void *run_once(void *user) {
    struct runner *r = user;
    r->status = hilo_execute(r->exe, NULL, &r->x, 1, &r->out, 1);
    return NULL;
}

/* Runs that begin at once: one of them is the first, and they make what is kept together. */
static void test_threads(void **state) {
    (void)state;
    static const char *const bodies[] = {products, loop, branch};
    hilo_client *client = client_new();
    hilo_buffer *x = input(client);
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char *text = program(bodies[k]);
        hilo_buffer *want = expected(client, text, x);
        hilo_executable *exe = compile(client, text, 0);
        struct runner r[THREADS];
        for (int i = 0; i < THREADS; i++) {
            r[i] = (struct runner){.exe = exe, .x = x};
            assert_int_equal(pthread_create(&r[i].thread, NULL, run_once, &r[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(r[i].thread, NULL), 0);
            assert_int_equal(r[i].status, HILO_OK);
            assert_memory_equal(hilo_buffer_data(r[i].out), hilo_buffer_data(want), hilo_buffer_bytes(want));
            hilo_buffer_release(r[i].out);
        }
        assert_true(packs(exe) <= 4);
        hilo_executable_release(exe);
        hilo_buffer_release(want);
        free(text);
    }
    hilo_buffer_release(x);
    hilo_client_release(client);
}

static int cancelled_later(void *user) {
    return --*(int *)user < 0;
}

/* A run that ends early, the first or the next, leaves nothing behind. */
static void test_cancelled(void **state) {
    (void)state;
    hilo_client *client = client_new();
    char *text = program(products);
    hilo_buffer *x = input(client), *want = expected(client, text, x);
    for (int polls = 0; polls < 8; polls++) {
        hilo_executable *exe = compile(client, text, 0);
        for (int i = 0; i < 2; i++) {
            int left = polls;
            hilo_buffer *out = NULL;
            hilo_execute_options o;
            hilo_execute_options_init(&o);
            o.cancelled = cancelled_later;
            o.cancelled_user = &left;
            hilo_status status = hilo_execute(exe, &o, &x, 1, &out, 1);
            assert_true(status == HILO_OK || status == HILO_CANCELLED);
            if (polls == 0)
                assert_int_equal(status, HILO_CANCELLED);
            hilo_buffer_release(out);
        }
        expect(exe, x, want);
        expect(exe, x, want);
        hilo_executable_release(exe);
    }
    hilo_buffer_release(x);
    hilo_buffer_release(want);
    free(text);
    hilo_client_release(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_cancelled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
