/* Parameters and results as the plugin sees them: layouts, donations, memories, shapes that only a run knows. */
#include "pjrt_calls.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

static struct pjrt_layout tiled(const int64_t *minor_to_major, size_t rank) {
    struct pjrt_layout l = {.struct_size = sizeof l, .type = PJRT_TILED};
    l.tiled.minor_to_major = minor_to_major;
    l.tiled.minor_to_major_size = rank;
    return l;
}

/* The elements as they lie in memory. */
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
        assert_int_equal(download(b, out, sizeof out), HILO_OK); /* without a layout: as it lies */
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
    FAILS(HILO_UNIMPLEMENTED, try_compile(c, "func.func @main(%x: tensor<2xf32> {mhlo.memory_kind = \"moon\"}) -> tensor<2xf32> {\n"
                                          "return %x : tensor<2xf32> }", "mlir", (struct str){NULL, 0}, &l));
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

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_of_buffers), cmocka_unit_test(test_layouts_of_programs), cmocka_unit_test(test_donors),
        cmocka_unit_test(test_dynamic_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
