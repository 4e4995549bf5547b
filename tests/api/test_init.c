/* Operands that do not change are packed once: constants when the program is compiled, unchanged arguments when their buffer is
 * first seen, what a loop does not change before it. */
#include "base/torture.h"
#include "hilo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, DEPTH = 64, COLUMNS = 96 };

/* An allocator that counts the bytes in use. */
struct heap {
    size_t live;
};

static void *heap_realloc(void *user, void *p, size_t old_bytes, size_t new_bytes, size_t align) {
    struct heap *h = user;
    void *fresh = NULL;
    if (new_bytes && posix_memalign(&fresh, align < sizeof(void *) ? sizeof(void *) : align, new_bytes) != 0)
        return NULL;
    if (fresh && p)
        memcpy(fresh, p, old_bytes < new_bytes ? old_bytes : new_bytes);
    __atomic_add_fetch(&h->live, new_bytes - old_bytes, __ATOMIC_SEQ_CST);
    free(p);
    return fresh;
}

static hilo_client *client_new(struct heap *h) {
    hilo_client *client;
    hilo_client_options o;
    hilo_client_options_init(&o);
    if (h)
        o.allocator = (hilo_allocator){heap_realloc, h};
    o.threads = 2;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

static float element(size_t i, uint32_t seed) {
    return (float)((uint32_t)(i + seed) * 2654435761u >> 20) / 1024 - 2;
}

static hilo_buffer *matrix(hilo_client *client, int64_t rows, int64_t columns, uint32_t seed) {
    hilo_buffer *b;
    assert_int_equal(hilo_buffer_create(client, HILO_F32, (int64_t[]){rows, columns}, 2, &b), HILO_OK);
    for (size_t i = 0; i < (size_t)(rows * columns); i++)
        ((float *)hilo_buffer_data(b))[i] = element(i, seed);
    return b;
}

/* x · w, w being a constant, or an argument with these attributes. */
static char *product(const char *attributes) {
    size_t size = 1024 + (size_t)DEPTH * COLUMNS * 8, n = 0;
    char *text = malloc(size);
    assert_non_null(text);
    n += (size_t)snprintf(text + n, size - n, "func.func @main(%%x: tensor<%dx%dxf32>%s%s) -> tensor<%dx%dxf32> {\n", ROWS,
                          DEPTH, attributes ? ", %w: tensor<64x96xf32> " : "", attributes ? attributes : "", ROWS, COLUMNS);
    if (!attributes) {
        n += (size_t)snprintf(text + n, size - n, "  %%w = stablehlo.constant dense<\"0x");
        for (size_t i = 0; i < (size_t)DEPTH * COLUMNS; i++) {
            float x = element(i, 7);
            for (size_t k = 0; k < sizeof x; k++)
                n += (size_t)snprintf(text + n, size - n, "%02X", ((unsigned char *)&x)[k]);
        }
        n += (size_t)snprintf(text + n, size - n, "\"> : tensor<64x96xf32>\n");
    }
    snprintf(text + n, size - n, "  %%0 = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] :\n"
             "      (tensor<%dx%dxf32>, tensor<64x96xf32>) -> tensor<%dx%dxf32>\n  return %%0 : tensor<%dx%dxf32>\n}\n",
             ROWS, DEPTH, ROWS, COLUMNS, ROWS, COLUMNS);
    return text;
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

static hilo_stats stats_of(const hilo_executable *exe) {
    hilo_stats s = {.struct_size = sizeof s};
    assert_int_equal(hilo_executable_stats(exe, &s), HILO_OK);
    return s;
}

/* Runs it, and compares the result with `want`, bit for bit, or fills it. */
static void run(hilo_executable *exe, hilo_buffer *const *in, size_t nin, float *want, bool fill) {
    hilo_buffer *out;
    assert_int_equal(hilo_execute(exe, NULL, in, nin, &out, 1), HILO_OK);
    if (fill)
        memcpy(want, hilo_buffer_data(out), hilo_buffer_bytes(out));
    assert_memory_equal(hilo_buffer_data(out), want, hilo_buffer_bytes(out));
    hilo_buffer_release(out);
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

/* A constant is packed by hilo_compile, in the torture build by the first run; a .hilo file has it packed, and not as it was;
   where memory is limited it is not kept. */
static void test_constant(void **state) {
    (void)state;
    hilo_client *client = client_new(NULL);
    char *text = product(NULL);
    hilo_executable *exe = compile(client, text, 0), *limited = compile(client, text, 1 << 20), *loaded;
    hilo_buffer *x = matrix(client, ROWS, DEPTH, 1);
    float want[ROWS * COLUMNS];
    for (int i = 0; i < 3; i++)
        run(exe, &x, 1, want, i == 0);
    assert_int_equal(stats_of(exe).init_steps, 1);
    assert_int_equal(stats_of(exe).packs, TORTURED(1, 0));
    run(limited, &x, 1, want, false);
    assert_int_equal(stats_of(limited).init_steps, 0);
    struct file f = {NULL, 0};
    assert_int_equal(hilo_executable_serialize(exe, append, &f), HILO_OK);
    assert_int_equal(hilo_executable_deserialize(client, f.p, f.n, &loaded), HILO_OK);
    for (int i = 0; i < 2; i++)
        run(loaded, &x, 1, want, false);
    assert_int_equal(stats_of(loaded).init_steps, 0);
    assert_int_equal(stats_of(loaded).packs, 0);
    assert_int_equal(stats_of(loaded).constant_bytes, stats_of(exe).constant_bytes - DEPTH * COLUMNS * sizeof(float));
    free(f.p);
    free(text);
    hilo_buffer_release(x);
    hilo_executable_release(loaded);
    hilo_executable_release(limited);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

/* An unchanged argument is packed when its buffer is another one, or was changed; what was packed ends with the buffer. */
static void test_argument(void **state) {
    (void)state;
    struct heap heap = {0};
    hilo_client *client = client_new(&heap);
    char *plain = product(""), *marked = product("{hilo.unchanged}");
    hilo_executable *each = compile(client, plain, 0), *once = compile(client, marked, 0), *loaded;
    hilo_buffer *x = matrix(client, ROWS, DEPTH, 1);
    hilo_buffer *v = matrix(client, DEPTH, COLUMNS, 7), *w = matrix(client, DEPTH, COLUMNS, 9);
    float of_v[ROWS * COLUMNS], of_w[ROWS * COLUMNS];
    hilo_buffer *with_v[] = {x, v}, *with_w[] = {x, w};
    run(each, with_v, 2, of_v, true);
    run(each, with_w, 2, of_w, true);
    for (int i = 0; i < 3; i++)
        run(once, with_v, 2, of_v, false);
    assert_int_equal(stats_of(once).packs, 1);
    run(once, with_w, 2, of_w, false);
    run(once, with_w, 2, of_w, false);
    assert_int_equal(stats_of(once).packs, 2);
    memcpy(hilo_buffer_data(w), hilo_buffer_data(v), hilo_buffer_bytes(v));
    hilo_buffer_changed(w);
    run(once, with_w, 2, of_v, false);
    run(once, with_w, 2, of_v, false);
    assert_int_equal(stats_of(once).packs, 3);
    size_t live = heap.live, packed = stats_of(once).constant_bytes;
    assert_true(packed >= DEPTH * COLUMNS * sizeof(float));
    hilo_buffer_release(w);
    assert_true(live - heap.live >= packed || heap.live <= live); /* it may be kept for reuse by the client */
    run(once, with_v, 2, of_v, false);
    run(once, with_v, 2, of_v, false);
    assert_int_equal(stats_of(once).packs, 4);
    struct file f = {NULL, 0};
    assert_int_equal(hilo_executable_serialize(once, append, &f), HILO_OK);
    assert_int_equal(hilo_executable_deserialize(client, f.p, f.n, &loaded), HILO_OK);
    for (int i = 0; i < 2; i++)
        run(loaded, with_v, 2, of_v, false);
    assert_int_equal(stats_of(loaded).packs, 1);
    free(f.p);
    free(plain);
    free(marked);
    hilo_executable_release(loaded); /* before its buffer */
    hilo_buffer_release(v);
    hilo_buffer_release(x);
    hilo_executable_release(once);
    hilo_executable_release(each);
    hilo_client_release(client);
    assert_int_equal(heap.live, 0);
}

/* What is packed for a product in a loop is packed before it. */
static void test_loop(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x64xf32>) -> tensor<40x64xf32> {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %n = stablehlo.constant dense<9> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<40x64xf32>\n"
        "  cond {\n"
        "    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n"
        "  } do {\n"
        "    %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] :\n"
        "        (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>\n"
        "    %t = stablehlo.tanh %z : tensor<40x64xf32>\n"
        "    %j = stablehlo.add %i, %one : tensor<i32>\n"
        "    stablehlo.return %j, %t : tensor<i32>, tensor<40x64xf32>\n"
        "  }\n"
        "  return %r#1 : tensor<40x64xf32>\n"
        "}\n";
    hilo_client *client = client_new(NULL);
    hilo_executable *exe = compile(client, text, 0), *limited = compile(client, text, 1 << 20);
    hilo_buffer *in[] = {matrix(client, ROWS, DEPTH, 1), matrix(client, DEPTH, DEPTH, 7)};
    float want[ROWS * DEPTH];
    run(limited, in, 2, want, true);
    run(exe, in, 2, want, false);
    /* In the kernel itself, without memory for all of it; the torture build packs all of it, in each of 9 iterations. */
    assert_int_equal(stats_of(limited).packs, TORTURED(9, 0));
    assert_int_equal(stats_of(exe).packs, 1);
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
    hilo_executable_release(limited);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant), cmocka_unit_test(test_argument),
                                       cmocka_unit_test(test_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
