/* The PJRT plugin on a stand-in for the driver of a GPU (HILO_CUDA_PATH) whose calls fail. */
#include "pjrt_calls.h"
#include "../gpu/stand_in.h"

static struct fake_cuda_functions fake;

static struct fake_cuda counts(void) {
    return stand_in_counts(&fake);
}

enum { SIDE = 4 };
static const int64_t square[] = {SIDE, SIDE};

/* x·w·w plus that with sorted columns, which the host does. */
static const char program[] = MAIN(
    "%x: tensor<4x4xf32>, %w: tensor<4x4xf32>", "tensor<4x4xf32>",
    "  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %s = \"stablehlo.sort\"(%b) ({\n"
    "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
    "    %1 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    "  %d = stablehlo.add %s, %b : tensor<4x4xf32>\n"
    "  return %d : tensor<4x4xf32>\n");

/* NULL where it fails; its bytes may follow later. */
static struct pjrt_buffer *try_upload(struct pjrt_client *c, const float *data, int *code) {
    ARGS(Client_BufferFromHostBuffer, .client = c, .data = data, .dtype = HILO_F32, .dims = square, .rank = 2);
    *code = code_of(api->Client_BufferFromHostBuffer(&a));
    if (*code)
        return NULL;
    *code = await(a.done);
    return a.buffer;
}

/* A copy in the last of the memories, pinned memory of the host, and its bytes. */
static int try_move(struct pjrt_client *c, struct pjrt_buffer *b, float *out) {
    ARGS(Client_AddressableMemories, .client = c);
    OK(api->Client_AddressableMemories(&a));
    struct pjrt_Buffer_CopyToMemory copy = {.struct_size = sizeof copy, .buffer = b, .memory = a.memories[a.nmemories - 1]};
    int code = code_of(api->Buffer_CopyToMemory(&copy));
    if (code)
        return code;
    code = download(copy.copy, out, SIDE * SIDE * sizeof *out);
    buffer_destroy(copy.copy);
    return code;
}

/* The results of a run, by two ways. */
struct outcome {
    float direct[SIDE * SIDE], moved[SIDE * SIDE];
};

static int run_once(struct pjrt_client *c, struct pjrt_loaded *l, struct outcome *got) {
    float x[SIDE * SIDE];
    struct pjrt_buffer *in[2] = {NULL, NULL}, *out = NULL;
    int code;
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] = (float)(i % 5 - 2);
    in[0] = try_upload(c, x, &code);
    if (!code)
        in[1] = try_upload(c, x, &code);
    if (!code)
        code = run(l, in, 2, &out);
    bool made = !code;
    if (!code)
        code = download(out, got->direct, sizeof got->direct);
    if (!code)
        code = try_move(c, out, got->moved);
    if (made)
        buffer_destroy(out);
    for (int i = 0; i < 2; i++)
        if (in[i])
            buffer_destroy(in[i]);
    return code;
}

/* From the client to results of three runs; the first status that is not OK. */
static int everything(struct outcome got[3]) {
    struct pjrt_named gpu = named_text("device", "gpu");
    struct pjrt_loaded *l = NULL;
    ARGS(Client_Create, .create_options = &gpu, .noptions = 1);
    int code = code_of(api->Client_Create(&a));
    if (code)
        return code;
    code = code_of(try_compile(a.client, program, "mlir", (struct str){NULL, 0}, &l));
    for (int i = 0; i < 3 && !code; i++)
        code = run_once(a.client, l, &got[i]);
    if (l)
        loaded_destroy(l);
    client_destroy(a.client);
    return code;
}

/* Every call of the driver fails once: a status, or the right results; nothing is left over. */
static void each_call_fails(void **state) {
    struct outcome want[3], got[3];
    int n = 0, told = 0;
    (void)state;
    fake = stand_in();
    assert_int_equal(everything(want), HILO_OK);
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(want[i].direct, want[0].direct, sizeof want[0].direct);
        assert_memory_equal(want[i].moved, want[0].direct, sizeof want[0].direct);
    }
    for (;; n++) {
        uint64_t failed = counts().failed;
        fake.let_fail((uint64_t)n);
        int code = everything(got);
        fake.let_fail(UINT64_MAX);
        assert_int_equal(counts().live, 0);
        assert_true(code || memcmp(got, want, sizeof got) == 0);
        if (counts().failed == failed)
            break;
        told += code != HILO_OK;
    }
    print_message("%d calls failed in turn, %d were told\n", n, told);
    assert_true(n > 50 && told > n / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_call_fails)};
    api = GetPjrtApi();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
