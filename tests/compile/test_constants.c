/* Large constants stay in the file that a program is read from: nothing is copied that no step needs elsewhere, results are
 * those of a program whose constants are copied, and the file may go. */
#include "base/file.h"
#include "read/bytecode/bytecode.h"
#include "runtime/runtime.h"
#include "tests/test.h"

#include <stdio.h>
#include <unistd.h>

/* LITTLE: more than what compilation takes, which is much in the torture build. */
enum { SIDE = 1024, BYTES = SIDE * SIDE * 4, LITTLE = TORTURED(5, 1) * (BYTES / 2), SHIFTS = 4 };

static char dir[] = "/tmp/hilo-test-constants-XXXXXX", path[64];

/* ---- memory ---------------------------------------------------------------------------------- */

struct held {
    atomic_size_t now, most;
};

static void *held_realloc(void *user, void *p, size_t old, size_t n, size_t align) {
    struct held *h = user;
    hilo_allocator sys = mem_system_allocator();
    size_t now = atomic_fetch_add(&h->now, n - (p ? old : 0)) + n - (p ? old : 0);
    if (atomic_load(&h->most) < now) /* nearly: of several threads, one may be missed */
        atomic_store(&h->most, now);
    return sys.realloc_fn(sys.user, p, old, n, align);
}

static hilo_client *client_with(struct held *h) {
    hilo_client_options o;
    hilo_client *client;
    hilo_client_options_init(&o);
    o.threads = 2;
    o.cache_dir = "";
    o.allocator = (hilo_allocator){held_realloc, h};
    atomic_init(&h->now, 0);
    atomic_init(&h->most, 0);
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

/* ---- programs -------------------------------------------------------------------------------- */

#define T "tensor<1024x1024xf32>"

/* Of a constant %c: it is packed by an init step; kernels read it in each run; a routine does. */
static const char packed[] = "%0 = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (" T ", " T ") -> " T "\n";
static const char read_by_kernel[] = "%0 = stablehlo.add %x, %c : " T "\n";
static const char read_by_routine[] =
    "%1:2 = \"stablehlo.sort\"(%x, %c) ({\n"
    "^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):\n"
    "  %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "  stablehlo.return %2 : tensor<i1>\n"
    "}) {dimension = 0 : i64, is_stable = true} : (" T ", " T ") -> (" T ", " T ")\n"
    "%0 = stablehlo.add %1#0, %1#1 : " T "\n";
/* Kernels read a few lines of it, */
#define GATHER(ROWS) \
    "%f = stablehlo.slice %x [0:" ROWS ", 0:1] : (" T ") -> tensor<" ROWS "x1xf32>\n" \
    "%i = stablehlo.convert %f : (tensor<" ROWS "x1xf32>) -> tensor<" ROWS "x1xi32>\n" \
    "%r = \"stablehlo.gather\"(%c, %i) {\n" \
    "    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],\n" \
    "    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1024>}\n" \
    "    : (" T ", tensor<" ROWS "x1xi32>) -> tensor<" ROWS "x1024xf32>\n" \
    "%z = stablehlo.constant dense<0> : tensor<i32>\n"
static const char gathered[] = GATHER("16")
    "%0 = stablehlo.dynamic_update_slice %x, %r, %z, %z : (" T ", tensor<16x1024xf32>, tensor<i32>, tensor<i32>) -> " T "\n";
/* or somewhat less than half of it, and compute for longer than they read. */
static const char computed[] = GATHER("400")
    "%s = stablehlo.sine %r : tensor<400x1024xf32>\n"
    "%t = stablehlo.cosine %s : tensor<400x1024xf32>\n"
    "%u = stablehlo.sine %t : tensor<400x1024xf32>\n"
    "%v = stablehlo.cosine %u : tensor<400x1024xf32>\n"
    "%0 = stablehlo.dynamic_update_slice %x, %v, %z, %z : (" T ", tensor<400x1024xf32>, tensor<i32>, tensor<i32>) -> " T "\n";
static const char *const programs[] = {packed, read_by_kernel, read_by_routine, gathered, computed};

/* As bytecode; the constant begins `shift` bytes later than without, for the producer's name is longer. */
static struct strbuf bytecode(hilo_client *client, const char *ops, size_t shift) {
    enum { HEAD = 5 }; /* magic and version, before the name */
    static const char digit[] = "0123456789ABCDEF";
    struct strbuf text, plain, out;
    struct diag_list d;
    hilo_module *module;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&text, d.al);
    strbuf_init(&plain, d.al);
    strbuf_init(&out, d.al);
    strbuf_puts(&text, "func.func @main(%x: " T ") -> " T " {\n%c = stablehlo.constant dense<\"0x");
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        float x = (float)(i * 37 % 101) - 50;
        uint8_t b[sizeof x];
        memcpy(b, &x, sizeof x);
        for (size_t k = 0; k < sizeof x; k++) {
            strbuf_putc(&text, digit[b[k] >> 4]);
            strbuf_putc(&text, digit[b[k] & 15]);
        }
    }
    strbuf_printf(&text, "\"> : " T "\n%sreturn %%0 : " T "\n}\n", ops);
    assert_int_equal(hilo_module_parse(client, text.p, text.n, NULL, &module), HILO_OK);
    assert_int_equal(write_bytecode(rt_module_ir(module), &d, BC_STABLEHLO, &plain), HILO_OK);
    strbuf_str(&out, (struct str){plain.p, HEAD});
    strbuf_str(&out, (struct str){"xxx", shift});
    strbuf_str(&out, (struct str){plain.p + HEAD, plain.n - HEAD});
    hilo_module_release(module);
    strbuf_free(&text);
    strbuf_free(&plain);
    diag_clear(&d);
    return out;
}

static void write_file(struct str bytes) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(file_write(path, bytes, &d), HILO_OK);
}

static const void *constant_of(const hilo_module *module) {
    const struct ir_module *m = rt_module_ir(module);
    ir_op op = ir_block_get(m, ir_func_body(m, rt_module_functions(module)[0]))->first;
    assert_int_equal(ir_kind(m, op), IR_CONSTANT);
    return ir_attr_get(m, ir_constant_value(m, op))->data;
}

static hilo_executable *compile(hilo_client *client, hilo_module *module, hilo_backend backend) {
    hilo_compile_options o;
    hilo_executable *exe;
    hilo_compile_options_init(&o);
    o.backend = backend;
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_OK);
    return exe;
}

static hilo_buffer *run(hilo_client *client, hilo_executable *exe) {
    static const int64_t dims[] = {SIDE, SIDE};
    hilo_buffer *in, *out = NULL;
    float *x = malloc(BYTES);
    assert_non_null(x);
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        x[i] = (float)(i * 13 % 31);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, x, NULL, &in), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &in, 1, &out, 1), HILO_OK);
    hilo_buffer_release(in);
    free(x);
    return out;
}

static void expect_equal(hilo_buffer *x, hilo_buffer *y) {
    assert_memory_equal(hilo_buffer_data(x), hilo_buffer_data(y), BYTES);
    hilo_buffer_release(x);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* What the program computes when nothing stays in the bytes. */
static hilo_buffer *expected(hilo_client *client, struct str bytes) {
    hilo_module *module;
    char *own = malloc(bytes.n);
    assert_non_null(own);
    memcpy(own, bytes.p, bytes.n);
    assert_int_equal(hilo_module_parse(client, own, bytes.n, NULL, &module), HILO_OK);
    free(own);
    hilo_executable *exe = compile(client, module, HILO_BACKEND_AUTO);
    hilo_buffer *out = run(client, exe);
    hilo_executable_release(exe);
    hilo_module_release(module);
    return out;
}

static void check_program(const char *ops, size_t shift, bool *seen) {
    struct held held, other;
    hilo_client *client = client_with(&held), *reader = client_with(&other);
    struct strbuf bytes = bytecode(reader, ops, shift);
    hilo_buffer *want = expected(reader, (struct str){bytes.p, bytes.n});
    hilo_module *module;
    write_file((struct str){bytes.p, bytes.n});
    size_t before = atomic_load(&held.now);
    atomic_store(&held.most, before);
    assert_int_equal(hilo_module_load(client, path, NULL, &module), HILO_OK);
    assert_true(atomic_load(&held.most) - before < LITTLE); /* no copy, not even for a moment */
    unlink(path);
    unsigned at = (unsigned)((uintptr_t)constant_of(module) % SHIFTS);
    seen[at] = true;
    hilo_executable *exe = compile(client, module, HILO_BACKEND_AUTO);
    size_t once = atomic_load(&held.now) - before;
    if (ops == gathered || ops == computed || (ops == read_by_kernel && at == 0))
        assert_true(once < LITTLE);
    assert_true(once < BYTES + LITTLE); /* one copy: what is packed, or is where C wants it */
    expect_equal(run(client, exe), want);
    before = atomic_load(&held.now);
    hilo_executable *again = compile(client, module, HILO_BACKEND_AUTO);
    if (ops != packed)
        assert_true(atomic_load(&held.now) - before < LITTLE); /* executables of a module share it */
    hilo_executable *evaluated = compile(client, module, HILO_BACKEND_REFERENCE);
    hilo_module_release(module);
    hilo_executable_release(exe);
    expect_equal(run(client, again), want);
    if (ops == read_by_kernel) /* the evaluator takes its time */
        expect_equal(run(client, evaluated), want);
    hilo_executable_release(again);
    hilo_executable_release(evaluated);
    hilo_buffer_release(want);
    strbuf_free(&bytes);
    hilo_client_release(client);
    hilo_client_release(reader);
    assert_int_equal(atomic_load(&held.now), 0);
}

static void test_stays(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        bool seen[SHIFTS] = {false};
        for (size_t shift = 0; shift < SHIFTS; shift++)
            check_program(programs[i], shift, seen);
        for (int k = 0; k < SHIFTS; k++)
            assert_true(seen[k]);
    }
}

/* A file that ends anywhere is refused. */
static void test_truncated(void **state) {
    (void)state;
    struct held held;
    hilo_client *client = client_with(&held);
    struct strbuf bytes = bytecode(client, read_by_kernel, 0);
    for (size_t i = 1; i < 8; i++) {
        hilo_module *module = NULL;
        write_file((struct str){bytes.p, bytes.n * i / 8});
        assert_int_equal(hilo_module_load(client, path, NULL, &module), HILO_INVALID_ARGUMENT);
        assert_null(module);
    }
    unlink(path);
    strbuf_free(&bytes);
    hilo_client_release(client);
    assert_int_equal(atomic_load(&held.now), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stays), cmocka_unit_test(test_truncated)};
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/program.bc", dir);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return failed;
}
