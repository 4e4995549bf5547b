/* .hilo files: what was written runs the same, and whatever else is in a file is refused, never believed. The kernels come
 * from an object file that the build makes of kernels.c. */
#include "base/file.h"
#include "base/hash.h"
#include "runtime/runtime.h"
#include "tests/gpu/stand_in.h"
#include "tests/tools/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

enum { N = 8 };

static const float two[1] = {2};
static const float weights[3 * N] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4};
static struct plan_kernel scale = {.name = "test_scale", .nparams = 3, .grid = N};
static struct plan_kernel below = {.name = "test_below", .nparams = 2, .grid = 1};

static hilo_client *new_client(void) {
    hilo_client *client;
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    return client;
}

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

static struct rt_port *port(struct arena *a, const struct plan_buffer *v, const char *name) {
    struct rt_port *p = ARENA_NEW(a, struct rt_port);
    *p = (struct rt_port){.type = {ir_dtype_get(v->dtype)->number, v->rank, v->dims}, .name = name, .alias = -1};
    return p;
}

/* results: x·2 + table until it is 100 or more; weights[1] (a part of a constant) */
static void build(hilo_executable *exe, struct diag_list *d) {
    struct arena *a = &exe->arena;
    int64_t n = N, rows[2] = {3, N};
    struct plan_builder *b = plan_new(a, NULL, 1, 2);
    uint32_t x = plan_argument(b, 0, IR_F32_T, 1, &n), by = plan_constant(b, IR_F32_T, 0, NULL, two);
    uint32_t state = plan_temp(b, IR_F32_T, 1, &n), next = plan_temp(b, IR_F32_T, 1, &n), go = plan_temp(b, IR_I1_T, 0, NULL);
    uint32_t row = plan_alias(b, plan_constant(b, IR_F32_T, 2, rows, weights), N * sizeof(float), IR_F32_T, 1, &n);
    plan_copy(b, 1, &x, &state);
    plan_loop_begin(b);
    plan_kernel(b, &below, (struct plan_use[]){{state, PLAN_IN, 0, 0}, {go, PLAN_OUT, 0, 0}});
    plan_loop_body(b, go);
    plan_kernel(b, &scale, (struct plan_use[]){{state, PLAN_IN, 0, 0}, {by, PLAN_IN, 0, 0}, {next, PLAN_OUT, 1, 0}});
    plan_copy(b, 1, &next, &state);
    plan_loop_end(b);
    plan_result(b, 0, state);
    plan_result(b, 1, row);
    plan_donor(b, 0, 0);
    assert_int_equal(plan_finish(b, &exe->plan, d), HILO_OK);
    exe->inputs = port(a, &exe->plan.buffers[x], "x");
    exe->outputs = ARENA_ARRAY(a, struct rt_port, 2);
    exe->outputs[0] = *port(a, &exe->plan.buffers[state], "y");
    exe->outputs[1] = *port(a, &exe->plan.buffers[row], "");
}

static hilo_executable *made(hilo_client *client) {
    struct diag_list d;
    struct file object;
    jmp_buf recover;
    diag_init(&d, mem_system_allocator());
    hilo_executable *exe = rt_executable_new(client, NULL);
    exe->arena.recover = &recover;
    if (setjmp(recover))
        fail_msg("out of memory");
    build(exe, &d);
    assert_int_equal(file_open(HILO_TEST_KERNELS, mem_system_allocator(), &d, &object), HILO_OK);
    scale.fn = below.fn = NULL;
    struct str *kept = ARENA_NEW(&exe->arena, struct str);
    *kept = (struct str){arena_dup(&exe->arena, object.text.p, object.text.n, 16), object.text.n};
    hilo_status status = rt_executable_link(exe, kept, 1, "+nothing-known,-avx512f", &d);
    if (status != HILO_OK)
        fail_msg("link: %s", d.first ? d.first->message : "");
    assert_int_equal(rt_executable_ready(exe, &d), HILO_OK);
    exe->arena.recover = NULL;
    file_close(&object);
    return exe;
}

static void check(hilo_executable *exe, hilo_client *client) {
    int64_t n = N;
    float x[N], want[N], got[N];
    for (int i = 0; i < N; i++)
        x[i] = want[i] = (float)i + 1;
    while (want[0] < 100)
        for (int i = 0; i < N; i++)
            want[i] = want[i] * 2 + (const float[]){0.5f, 0.25f, 0.125f, 1}[i % 4];
    hilo_buffer *in, *out[2];
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, &n, 1, x, NULL, &in), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &in, 1, out, 2), HILO_OK);
    assert_int_equal(hilo_buffer_to_host(out[0], got, sizeof got), HILO_OK);
    assert_memory_equal(want, got, sizeof got);
    assert_int_equal(hilo_buffer_to_host(out[1], got, sizeof got), HILO_OK);
    assert_memory_equal(weights + N, got, sizeof got);
    hilo_buffer_release(in);
    hilo_buffer_release(out[0]);
    hilo_buffer_release(out[1]);
}

static void serialized(struct strbuf *out) {
    hilo_client *client = new_client();
    hilo_executable *exe = made(client);
    check(exe, client);
    strbuf_init(out, mem_system_allocator());
    assert_int_equal(hilo_executable_serialize(exe, append, out), HILO_OK);
    assert_false(out->failed);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

static void test_round_trip(void **state) {
    (void)state;
    struct strbuf file, again;
    serialized(&file);
    hilo_client *client = new_client();
    hilo_executable *exe;
    assert_int_equal(hilo_executable_deserialize(client, file.p, file.n, &exe), HILO_OK);
    check(exe, client);
    assert_string_equal(hilo_executable_input_name(exe, 0), "x");
    assert_string_equal(hilo_executable_output_name(exe, 0), "y");
    strbuf_init(&again, mem_system_allocator());
    assert_int_equal(hilo_executable_serialize(exe, append, &again), HILO_OK);
    assert_int_equal(again.n, file.n);
    assert_memory_equal(again.p, file.p, file.n);
    hilo_executable_release(exe);

    char path[] = "/tmp/hilo-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, file.p, file.n) == (ssize_t)file.n);
    close(fd);
    assert_int_equal(hilo_executable_load(client, path, &exe), HILO_OK);
    unlink(path);
    check(exe, client);
    hilo_executable_release(exe);
    assert_int_equal(hilo_executable_load(client, path, &exe), HILO_NOT_FOUND);
    hilo_client_release(client);
    strbuf_free(&again);
    strbuf_free(&file);
}

static hilo_status load(hilo_client *client, const char *bytes, size_t n) {
    hilo_executable *exe = NULL;
    hilo_status status = hilo_executable_deserialize(client, bytes, n, &exe);
    hilo_executable_release(exe);
    hilo_diagnostics_clear(client);
    return status;
}

static void test_damage(void **state) {
    (void)state;
    struct strbuf file;
    serialized(&file);
    hilo_client *client = new_client();
    for (size_t n = 0; n < file.n; n++)
        assert_int_not_equal(load(client, file.p, n), HILO_OK);
    for (size_t i = 0; i < file.n; i++) {
        file.p[i] ^= 1;
        assert_int_not_equal(load(client, file.p, file.n), HILO_OK);
        file.p[i] ^= 1;
    }
    assert_int_equal(load(client, file.p, file.n), HILO_OK);
    hilo_client_release(client);
    strbuf_free(&file);
}

/* A hash that is right again: then the checks of the numbers are all there is. */
static void rehash(struct strbuf *file) {
    struct rt_file_head head;
    struct hash h = {{0, 0}};
    memcpy(&head, file->p, sizeof head);
    hash_add(&h, file->p + offsetof(struct rt_file_head, key), (size_t)head.table - offsetof(struct rt_file_head, key));
    hash_blocks(&h, file->p + head.table, file->n - (size_t)head.table);
    hash_add(&h, NULL, 0);
    memcpy(head.hash, h.v, sizeof head.hash);
    memcpy(file->p, &head, sizeof head);
}

/* How many of the files are refused that have one byte of the table wrong. */
static size_t wrong_bytes(struct strbuf *file, size_t most) {
    static const unsigned char values[] = {0xFF, 0x80, 0x01, 0x00};
    size_t refused = 0;
    struct rt_file_head head;
    memcpy(&head, file->p, sizeof head);
    hilo_client *client = new_client();
    for (size_t i = sizeof head; i < head.table && i < sizeof head + most; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            char old = file->p[i];
            file->p[i] = (char)values[k];
            rehash(file);
            refused += load(client, file->p, file->n) != HILO_OK;
            file->p[i] = old;
        }
    rehash(file);
    assert_int_equal(load(client, file->p, file->n), HILO_OK);
    hilo_client_release(client);
    strbuf_free(file);
    return refused;
}

static void test_wrong_numbers(void **state) {
    (void)state;
    struct strbuf file;
    serialized(&file);
    assert_true(wrong_bytes(&file, 1200) > 800);
}

/* A plan of one step, and one with steps for the evaluator between others: the program is in the file. */
static void test_programs(void **state) {
    (void)state;
    static const char *const programs[] = {
        "func.func @main(%x: tensor<?x2xf32>, %t: !stablehlo.token) -> (tensor<?x2xf32>, !stablehlo.token) {\n"
        "  %0 = stablehlo.add %x, %x : tensor<?x2xf32>\n"
        "  return %0, %t : tensor<?x2xf32>, !stablehlo.token }",
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.custom_call @one(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  %1 = stablehlo.custom_call @two(%0) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  return %1 : tensor<2xf32> }"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        hilo_client *client = new_client();
        hilo_module *module;
        hilo_executable *exe;
        struct strbuf file, again;
        strbuf_init(&file, mem_system_allocator());
        strbuf_init(&again, mem_system_allocator());
        assert_int_equal(hilo_module_parse(client, programs[i], strlen(programs[i]), NULL, &module), HILO_OK);
        assert_int_equal(hilo_compile(client, module, NULL, &exe), HILO_OK);
        hilo_module_release(module);
        assert_int_equal(hilo_executable_serialize(exe, append, &file), HILO_OK);
        hilo_executable_release(exe);
        assert_int_equal(hilo_executable_deserialize(client, file.p, file.n, &exe), HILO_OK);
        assert_int_equal(hilo_executable_serialize(exe, append, &again), HILO_OK);
        assert_int_equal(again.n, file.n);
        assert_memory_equal(again.p, file.p, file.n);
        hilo_executable_release(exe);
        hilo_client_release(client);
        strbuf_free(&again);
        assert_true(wrong_bytes(&file, 4096) > 100);
    }
}

/* A routine whose parameters do not fit its buffers: a line of 41 elements in buffers of 40. */
static void test_wrong_routine(void **state) {
    (void)state;
    static const char program[] = "func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {\n"
                                  "  %0 = \"stablehlo.sort\"(%x) ({\n"
                                  "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                                  "    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                                  "    stablehlo.return %1 : tensor<i1>\n"
                                  "  }) {dimension = 0 : i64} : (tensor<40xf32>) -> tensor<40xf32>\n"
                                  "  return %0 : tensor<40xf32> }";
    static const char name[] = "\4\0\0\0\0\0\0\0sort"; /* then the scratch, the time, the number of parameters: 20 bytes */
    hilo_client *client = new_client();
    hilo_executable *exe;
    struct strbuf file;
    strbuf_init(&file, mem_system_allocator());
    assert_int_equal(hilo_compile_source(client, program, strlen(program), NULL, NULL, &exe), HILO_OK);
    assert_int_equal(hilo_executable_serialize(exe, append, &file), HILO_OK);
    hilo_executable_release(exe);
    size_t at = 0;
    while (at + sizeof name + 28 < file.n && memcmp(file.p + at, name, sizeof name - 1) != 0)
        at++;
    char *length = file.p + at + sizeof name - 1 + 20;
    assert_int_equal(*length, 40);
    assert_int_equal(load(client, file.p, file.n), HILO_OK);
    for (int n = 0; n <= 41; n++) {
        *length = (char)n;
        rehash(&file);
        assert_int_equal(load(client, file.p, file.n), n <= 40 ? HILO_OK : HILO_DATA_LOSS);
    }
    hilo_client_release(client);
    strbuf_free(&file);
}

/* Where the numbers are in a file. */
static char *find(struct strbuf *file, const uint32_t *v, size_t n) {
    for (size_t at = file->n - n * sizeof *v; at > 0; at--)
        if (memcmp(file->p + at, v, n * sizeof *v) == 0)
            return file->p + at;
    fail_msg("the numbers are not there");
    return NULL;
}

static hilo_status load_with(hilo_client *client, struct strbuf *file, char *at, const uint32_t *v, size_t bytes) {
    memcpy(at, v, bytes);
    rehash(file);
    return load(client, file->p, file->n);
}

/* Results that are others' memory, or an argument's, and, of a program for a GPU, donors in the other memory. */
static void check_wrong_results(const char *device) {
    static const char program[] = STAND_IN_BOTH_SIDES;
    hilo_client *client;
    hilo_client_options o;
    hilo_executable *exe;
    struct strbuf file;
    hilo_client_options_init(&o);
    o.device = device;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    strbuf_init(&file, mem_system_allocator());
    assert_int_equal(hilo_compile_source(client, program, strlen(program), NULL, NULL, &exe), HILO_OK);
    assert_int_equal(hilo_executable_serialize(exe, append, &file), HILO_OK);
    hilo_executable_release(exe);
    assert_int_equal(hilo_executable_deserialize(client, file.p, file.n, &exe), HILO_OK);
    const struct plan *p = rt_executable_plan(exe);
    const uint32_t right[] = {p->results[0], (uint32_t)p->donors[0], p->results[1], (uint32_t)p->donors[1]};
    uint32_t argument = 0;
    while (p->buffers[argument].place != PLAN_ARGUMENT)
        argument++;
    const uint32_t swapped[] = {right[2], right[1], right[0], right[3]}, given[] = {argument, right[1], right[2], right[3]},
                   crossed[] = {right[0], 1, right[2], 0};
    char *at = find(&file, right, 4);
    assert_int_equal(load_with(client, &file, at, swapped, sizeof swapped), HILO_DATA_LOSS);
    assert_int_equal(load_with(client, &file, at, given, sizeof given), HILO_DATA_LOSS);
    assert_int_equal(load_with(client, &file, at, crossed, sizeof crossed),
                     strcmp(device, "gpu") == 0 ? HILO_DATA_LOSS : HILO_OK);
    assert_int_equal(load_with(client, &file, at, right, sizeof right), HILO_OK);
    hilo_executable_release(exe);
    hilo_client_release(client);
    strbuf_free(&file);
}

static void test_wrong_results(void **state) {
    (void)state;
    check_wrong_results("cpu");
    if (getenv("HILO_CUDA_PATH"))
        check_wrong_results("gpu");
}

/* Loading where the first allocation fails, the second, and so on until none does. */
static void test_exhaustion(void **state) {
    (void)state;
    struct strbuf file;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    serialized(&file);
    for (long k = 0; status != HILO_OK; k++) {
        struct meter m = {.left = 1000};
        hilo_client_options o;
        hilo_client *client;
        hilo_client_options_init(&o);
        o.allocator = (hilo_allocator){meter_realloc, &m};
        assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
        m.left = k;
        status = load(client, file.p, file.n);
        assert_true(status == HILO_OK || status == HILO_RESOURCE_EXHAUSTED);
        hilo_client_release(client);
        assert_int_equal(m.live, 0);
    }
    strbuf_free(&file);
}

static void test_hash(void **state) {
    (void)state;
    char bytes[256] = {0};
    struct hash whole = {{0, 0}}, parts = {{0, 0}}, other;
    hash_blocks(&whole, bytes, 256);
    hash_blocks(&parts, bytes, 96);
    hash_blocks(&parts, bytes + 96, 160);
    assert_memory_equal(&whole, &parts, sizeof whole);
    for (size_t n = 0; n < 200; n++) { /* zeros of different lengths, and every bit, count */
        struct hash a = {{0, 0}}, b = {{0, 0}};
        hash_add(&a, bytes, n);
        hash_add(&b, bytes, n + 1);
        assert_memory_not_equal(&a, &b, sizeof a);
        other = (struct hash){{0, 0}};
        bytes[n] = 1;
        hash_add(&other, bytes, n + 1);
        bytes[n] = 0;
        assert_memory_not_equal(&other, &b, sizeof b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_wrong_numbers), cmocka_unit_test(test_programs),
                                       cmocka_unit_test(test_wrong_routine), cmocka_unit_test(test_wrong_results),
                                       cmocka_unit_test(test_exhaustion),
                                       cmocka_unit_test(test_hash)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
