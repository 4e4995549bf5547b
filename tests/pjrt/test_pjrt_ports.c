/* Parameters and results as the plugin sees them: layouts, donations, memories, shapes known only at run time. */
#include "pjrt_calls.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

static struct pjrt_layout tiled(const int64_t *minor_to_major, size_t rank) {
    struct pjrt_layout l = {.struct_size = sizeof l, .type = PJRT_TILED};
    l.tiled.minor_to_major = minor_to_major;
    l.tiled.minor_to_major_size = rank;
    return l;
}

/* The elements in memory order. */
static const float *memory_of(struct pjrt_buffer *b) {
    ARGS(Buffer_OpaqueDeviceMemoryDataPointer, .buffer = b);
    OK(api->Buffer_OpaqueDeviceMemoryDataPointer(&a));
    return a.pointer;
}

static struct pjrt_buffer *matrix(struct pjrt_client *c, struct pjrt_layout *layout) {
    const int64_t dims[] = {2, 3};
    ARGS(Client_BufferFromHostBuffer, .client = c, .data = six, .dtype = HILO_F32, .dims = dims, .rank = 2, .layout = layout);
    OK(api->Client_BufferFromHostBuffer(&a));
    assert_int_equal(await(a.done), HILO_OK);
    return a.buffer;
}

static void test_layouts_of_buffers(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    const int64_t columns[] = {0, 1}, strides[] = {4, 8}, gaps[] = {4, 16};
    struct pjrt_layout l = tiled(columns, 2), s = {.struct_size = sizeof s, .type = PJRT_STRIDES};
    s.strides.byte_strides = strides;
    s.strides.nbyte_strides = 2;
    for (int i = 0; i < 2; i++) {
        struct pjrt_buffer *b = matrix(c, i ? &s : &l);
        assert_memory_equal(memory_of(b), ((float[]){1, 4, 2, 5, 3, 6}), sizeof six);
        ARGS(Buffer_GetMemoryLayout, .buffer = b);
        OK(api->Buffer_GetMemoryLayout(&a));
        assert_memory_equal(a.layout.tiled.minor_to_major, columns, sizeof columns);
        float out[6];
        const int64_t rows[] = {1, 0};
        struct pjrt_layout host = tiled(rows, 2);
        struct pjrt_Buffer_ToHostBuffer down = {.struct_size = sizeof down, .buffer = b, .layout = &host, .dst = out,
                                                .dst_size = sizeof out};
        OK(api->Buffer_ToHostBuffer(&down));
        assert_int_equal(await(down.done), HILO_OK);
        assert_memory_equal(out, six, sizeof out);
        assert_int_equal(download(b, out, sizeof out), HILO_OK); /* without a layout: in memory order */
        assert_memory_equal(out, ((float[]){1, 4, 2, 5, 3, 6}), sizeof out);
        struct pjrt_Buffer_CopyToMemory copy = {.struct_size = sizeof copy, .buffer = b,
                                                .memory = c->list[0]->list[PJRT_MEMORY_PINNED]};
        OK(api->Buffer_CopyToMemory(&copy));
        assert_memory_equal(memory_of(copy.copy), ((float[]){1, 4, 2, 5, 3, 6}), sizeof six);
        buffer_destroy(b), buffer_destroy(copy.copy);
    }
    s.strides.byte_strides = gaps;
    const int64_t dims[] = {2, 3};
    ARGS(Client_CreateUninitializedBuffer, .client = c, .dtype = HILO_F32, .dims = dims, .rank = 2, .layout = &s);
    FAILS(HILO_UNIMPLEMENTED, api->Client_CreateUninitializedBuffer(&a));
    l.tiled.num_tiles = 1;
    a.layout = &l;
    FAILS(HILO_UNIMPLEMENTED, api->Client_CreateUninitializedBuffer(&a));
    client_destroy(c);
}

static void test_layouts_of_programs(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(
        c, "module @jit_f { func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) -> "
           "(tensor<3x2xf32> {mhlo.layout_mode = \"auto\", mhlo.memory_kind = \"pinned_host\"}) {\n"
           "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
           "return %0 : tensor<3x2xf32> } }");
    const int64_t columns[] = {0, 1};
    struct pjrt_layout layout = tiled(columns, 2);
    struct pjrt_buffer *rows = matrix(c, NULL), *x = matrix(c, &layout), *y;
    assert_int_equal(run(l, &rows, 1, &y), HILO_INVALID_ARGUMENT);
    assert_int_equal(run(l, &x, 1, &y), HILO_OK);
    assert_memory_equal(memory_of(y), ((float[]){1, 4, 2, 5, 3, 6}), sizeof six);
    assert_true(y->dims[0] == 3 && y->dims[1] == 2 && y->memory->kind == PJRT_MEMORY_PINNED);
    ARGS(Executable_OutputMemoryKinds, .executable = l->executable);
    OK(api->Executable_OutputMemoryKinds(&a));
    assert_true(a.n == 1 && a.kind_sizes[0] == 11 && memcmp(a.kinds[0], "pinned_host", 11) == 0);
    struct pjrt_Executable_OutputDimensions d = {.struct_size = sizeof d, .executable = l->executable};
    OK(api->Executable_OutputDimensions(&d));
    assert_true(d.dims[0] == 3 && d.dims[1] == 2);
    buffer_destroy(rows), buffer_destroy(x), buffer_destroy(y);
    loaded_destroy(l);
    static const char *const wrong[] = {"{0,0}", "{0}", "{0,1,2}", "{1,0", "{0,1:T(8,128)}", "{2,0}", "rows"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, "func.func @main(%%x: tensor<2x3xf32> {mhlo.layout_mode = \"%s\"}) -> tensor<2x3xf32> {\n"
                 "return %%x : tensor<2x3xf32> }", wrong[i]);
        FAILS(HILO_UNIMPLEMENTED, try_compile(c, text, "mlir", (struct str){NULL, 0}, &l));
    }
    const char *kind = "func.func @main(%x: tensor<2xf32> {mhlo.memory_kind = \"moon\"}) -> tensor<2xf32> {\n"
                       "return %x : tensor<2xf32> }";
    FAILS(HILO_UNIMPLEMENTED, try_compile(c, kind, "mlir", (struct str){NULL, 0}, &l));
    client_destroy(c);
}

/* A donation without a result that it fits. */
static void test_donors(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(c, "func.func @main(%x: tensor<6xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {\n"
                                       "%0 = stablehlo.slice %x [4:6] : (tensor<6xf32>) -> tensor<2xf32>\n"
                                       "return %0 : tensor<2xf32> }");
    struct pjrt_buffer *x = floats(c, 6, six), *y;
    float out[2];
    assert_int_equal(run(l, &x, 1, &y), HILO_OK);
    assert_int_equal(download(y, out, sizeof out), HILO_OK);
    assert_true(out[0] == 5 && out[1] == 6);
    ARGS(Buffer_IsDeleted, .buffer = x);
    OK(api->Buffer_IsDeleted(&a));
    assert_true(a.is_deleted);
    buffer_destroy(x), buffer_destroy(y);
    loaded_destroy(l);
    client_destroy(c);
}

/* Each run finds the shapes of its outputs. */
static void test_dynamic_results(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    struct pjrt_loaded *l = compile(
        c, "func.func @main(%n: tensor<2xi32>) -> tensor<?x?xf32> {\n%c = stablehlo.constant dense<1.5> : tensor<f32>\n"
           "%0 = stablehlo.dynamic_broadcast_in_dim %c, %n, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>\n"
           "return %0 : tensor<?x?xf32> }");
    for (int32_t k = 0; k < 3; k++) {
        const int32_t shape[] = {k, 2};
        const int64_t two = 2;
        struct pjrt_buffer *n = upload(c, HILO_S32, &two, 1, shape), *y;
        assert_int_equal(run(l, &n, 1, &y), HILO_OK);
        ARGS(Buffer_Dimensions, .buffer = y);
        OK(api->Buffer_Dimensions(&a));
        assert_true(a.rank == 2 && a.dims[0] == k && a.dims[1] == 2);
        float out[4] = {0};
        assert_int_equal(download(y, out, sizeof out), HILO_OK);
        for (int32_t i = 0; i < 4; i++)
            assert_true(out[i] == (i < 2 * k ? 1.5F : 0));
        buffer_destroy(n), buffer_destroy(y);
    }
    const int32_t wrong[] = {-1, 2};
    const int64_t two = 2;
    struct pjrt_buffer *n = upload(c, HILO_S32, &two, 1, wrong), *y;
    assert_int_not_equal(run(l, &n, 1, &y), HILO_OK);
    buffer_destroy(n);
    loaded_destroy(l);
    client_destroy(c);
}

/* CompileOptionsProto: what is obeyed, what is refused, what is named as without effect. */
static void options_row(uint32_t outer, uint32_t field, struct str bytes, int status, const char *ignored) {
    struct strbuf inner, options, names;
    struct pjrt_client_options defaults = {.devices = 1, .level = 2};
    struct pjrt_compile_options o;
    strbuf_init(&inner, mem_system_allocator());
    strbuf_init(&options, mem_system_allocator());
    strbuf_init(&names, mem_system_allocator());
    if (bytes.p)
        pjrt_proto_bytes(&inner, field, bytes);
    else
        pjrt_proto_varint(&inner, field, 1);
    if (outer)
        pjrt_proto_bytes(&options, outer, (struct str){inner.p, inner.n});
    const struct strbuf *all = outer ? &options : &inner;
    FAILS(status, pjrt_compile_options_read((struct str){all->p, all->n}, &defaults, &o, &names));
    assert_string_equal(names.n ? names.p : "", ignored);
    strbuf_free(&inner), strbuf_free(&options), strbuf_free(&names);
}

static void test_options(void **state) {
    (void)state;
    /* ShapeProto: field 5 is the layout, whose field 1 is the order of dimensions. */
    const struct str rows = {"\x2a\x04\x0a\x02\x01\x00", 6}, columns = {"\x2a\x04\x0a\x02\x00\x01", 6};
    const struct str tuple = {"\x22\x06\x2a\x04\x0a\x02\x00\x01", 8};
    options_row(0, 2, (struct str){NULL, 0}, HILO_OK, ""); /* parameter_is_tupled_arguments */
    options_row(0, 1, rows, HILO_OK, "");
    options_row(0, 1, columns, HILO_UNIMPLEMENTED, "");
    options_row(3, 2, rows, HILO_OK, "");
    options_row(3, 2, tuple, HILO_UNIMPLEMENTED, "");
    options_row(3, 7, (struct str){NULL, 0}, HILO_UNIMPLEMENTED, "");
    options_row(3, 14, STR("profile"), HILO_OK, "fdo_profile");
    options_row(0, 8, STR("x"), HILO_UNIMPLEMENTED, "");
    options_row(0, 7, (struct str){"\x0a\x0b" "hilo_fairly\x12\x02\x0a\x00", 17}, HILO_INVALID_ARGUMENT, "");
    options_row(0, 7, (struct str){"\x0a\x08" "xla_fast\x12\x02\x10\x01", 14}, HILO_OK, "xla_fast");
    options_row(0, 7, (struct str){"\x0a\x0a" "hilo_level\x12\x02\x18\x09", 16}, HILO_INVALID_ARGUMENT, "");
    options_row(0, 7, (struct str){"\x0a\x0a" "hilo_level\x12\x02\x18\x03", 16}, HILO_OK, "");
    options_row(0, 7, (struct str){"\x0a\x0b" "xla_dump_to\x12\x06\x0a\x04/tmp", 21}, HILO_OK, "");
    struct pjrt_client_options defaults = {.devices = 1, .level = 2};
    struct pjrt_compile_options o;
    OK(pjrt_compile_options_read((struct str){"\x1a\x03\xc0\x01\x27", 5}, &defaults, &o, NULL)); /* optimization_level: O3 */
    assert_int_equal(o.level, 3);
}

/* XLA_FLAGS, and what becomes of them: devices, threads, level, directory of dumps; the names of those without effect. */
static void flags_row(const char *flags, int status, struct pjrt_client_options expected, const char *ignored) {
    struct strbuf names;
    struct pjrt_client_options o;
    strbuf_init(&names, mem_system_allocator());
    setenv("XLA_FLAGS", flags, 1);
    FAILS(status, pjrt_client_options_read(NULL, 0, &o, &names));
    unsetenv("XLA_FLAGS");
    if (status == HILO_OK) {
        assert_true(o.devices == expected.devices && o.threads == expected.threads && o.level == expected.level);
        assert_string_equal(o.dump_to, expected.dump_to);
        assert_string_equal(names.n ? names.p : "", ignored);
    }
    strbuf_free(&names);
}

static void test_flags(void **state) {
    (void)state;
    const struct pjrt_client_options none = {.devices = 1, .level = 2};
    flags_row(" ", HILO_OK, none, "");
    flags_row("--xla_force_host_platform_device_count=8 --xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=3 "
              "--xla_dump_to='/tmp/a b'", HILO_OK,
              (struct pjrt_client_options){.devices = 8, .threads = 1, .level = 3, .dump_to = "/tmp/a b"}, "");
    flags_row("\t--xla_cpu_enable_fast_math --xla_gpu_autotune_level=0", HILO_OK, none,
              "xla_cpu_enable_fast_math, xla_gpu_autotune_level");
    flags_row("--xla_backend_optimization_level=9", HILO_INVALID_ARGUMENT, none, "");
    flags_row("--xla_force_host_platform_device_count=many", HILO_INVALID_ARGUMENT, none, "");
    flags_row("/no/such/file", HILO_NOT_FOUND, none, "");
    char path[] = "/tmp/hilo-flags-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "--xla_a=1\n--xla_b\n", 18), 18);
    close(fd);
    flags_row(path, HILO_OK, none, "xla_a, xla_b");
    unlink(path);
    setenv("HILO_NUM_DEVICES", "2", 1);
    flags_row("--xla_force_host_platform_device_count=8", HILO_OK, (struct pjrt_client_options){.devices = 2, .level = 2}, "");
    unsetenv("HILO_NUM_DEVICES");
}

static bool is_told(struct pjrt_client *c, const char *message) {
    size_t n = c->told.n;
    pjrt_log(c, HILO_LOG_WARNING, message);
    return c->told.n == n;
}

/* A client logs each warning once. */
static void test_log(void **state) {
    (void)state;
    struct pjrt_client *c = client_with(NULL, 0);
    assert_false(is_told(c, "one"));
    assert_true(is_told(c, "one"));
    assert_false(is_told(c, "two"));
    struct pjrt_client *other = client_with(NULL, 0);
    assert_false(is_told(other, "one"));
    client_destroy(other);
    client_destroy(c);
}

/* The devices share the memory of the machine. */
static void test_memory_limits(void **state) {
    (void)state;
    int64_t limits[2];
    for (int64_t n = 1; n <= 2; n++) {
        struct pjrt_named devices = named_int("cpu_device_count", 4 * n - 3); /* 1, then 5 */
        struct pjrt_client *c = client_with(&devices, 1);
        assert_int_equal(c->topology.ndevices, 4 * n - 3);
        ARGS(Device_MemoryStats, .device = c->list[0]);
        OK(api->Device_MemoryStats(&a));
        assert_true(a.bytes_limit_is_set && a.bytes_reservable_limit_is_set);
        assert_int_equal(a.bytes_reservable_limit, a.bytes_limit);
        limits[n - 1] = a.bytes_limit;
        client_destroy(c);
    }
    assert_int_equal(limits[1], limits[0] / 5);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_of_buffers), cmocka_unit_test(test_layouts_of_programs), cmocka_unit_test(test_donors),
        cmocka_unit_test(test_dynamic_results),    cmocka_unit_test(test_options),           cmocka_unit_test(test_flags),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_memory_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
