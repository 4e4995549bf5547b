/* libFuzzer target: .hilo files of compiled programs with some bytes changed, and a content hash that is right again, are
 * loaded or refused; what was loaded is not run, since its machine code is trusted. The first byte of the input selects the
 * program, and, where HILO_CUDA_PATH names a driver, whether it is for a GPU; then three bytes each, up to four times, are a
 * place, as 16 bits that wrap around the table, and what is written. */
#include "base/hash.h"
#include "runtime/runtime.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* A routine each, and a loop. */
static const char *const programs[] = {
    "func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {\n"
    "  %0 = \"stablehlo.sort\"(%x) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  }) {dimension = 0 : i64, is_stable = true} : (tensor<40xf32>) -> tensor<40xf32>\n"
    "  return %0 : tensor<40xf32> }",
    "func.func @main(%x: tensor<9x3xf32>, %i: tensor<5x1xi32>) -> tensor<5x3xf32> {\n"
    "  %0 = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],\n"
    "    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,\n"
    "    slice_sizes = array<i64: 1, 3>} : (tensor<9x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>\n"
    "  return %0 : tensor<5x3xf32> }",
    "func.func @main(%x: tensor<2x12xcomplex<f32>>) -> tensor<2x12xcomplex<f32>> {\n"
    "  %0 = stablehlo.fft %x, type = FFT, length = [12] : (tensor<2x12xcomplex<f32>>) -> tensor<2x12xcomplex<f32>>\n"
    "  return %0 : tensor<2x12xcomplex<f32>> }",
    "func.func @main(%x: tensor<8x8xf32>) -> tensor<4x4xf32> {\n"
    "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = \"stablehlo.reduce_window\"(%x, %c) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %1 = stablehlo.add %a, %b : tensor<f32>\n"
    "    stablehlo.return %1 : tensor<f32>\n"
    "  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}\n"
    "    : (tensor<8x8xf32>, tensor<f32>) -> tensor<4x4xf32>\n"
    "  return %0 : tensor<4x4xf32> }",
    "func.func @main(%x: tensor<1x6x6x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32> {\n"
    "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}\n"
    "    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
    "    : (tensor<1x6x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>\n"
    "  return %0 : tensor<1x4x4x4xf32> }",
    "func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
    "  %c = stablehlo.constant dense<100> : tensor<i32>\n"
    "  %0 = stablehlo.while(%a = %x) : tensor<i32>\n"
    "  cond {\n"
    "    %1 = stablehlo.compare LT, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  } do {\n"
    "    %1 = stablehlo.add %a, %c : tensor<i32>\n"
    "    stablehlo.return %1 : tensor<i32>\n"
    "  }\n"
    "  return %0 : tensor<i32> }",
};
enum { PROGRAMS = sizeof programs / sizeof *programs, MOST_CHANGES = 4 };

static struct strbuf files[2 * PROGRAMS]; /* of the second half: for a GPU */

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

/* The file of a program; nothing where there is no code generator. */
static const struct strbuf *file_of(hilo_client *client, size_t i) {
    hilo_module *module;
    hilo_executable *exe;
    if (files[i].n)
        return &files[i];
    const char *program = programs[i % PROGRAMS];
    if (hilo_module_parse(client, program, strlen(program), NULL, &module) != HILO_OK)
        abort();
    hilo_compile_options ahead;
    hilo_compile_options_init(&ahead);
    ahead.target_cpu = "sm_90a"; /* with cubins, where HILO_NVJITLINK_PATH names the library */
    hilo_status status = hilo_compile(client, module, i < PROGRAMS ? NULL : &ahead, &exe);
    hilo_module_release(module);
    if (status != HILO_OK)
        return NULL;
    strbuf_init(&files[i], mem_system_allocator());
    if (hilo_executable_serialize(exe, append, &files[i]) != HILO_OK)
        strbuf_free(&files[i]);
    hilo_executable_release(exe);
    return files[i].n ? &files[i] : NULL;
}

static void rehash(char *p, size_t n) {
    struct rt_file_head head;
    struct hash h = {{0, 0}};
    memcpy(&head, p, sizeof head);
    hash_add(&h, p + offsetof(struct rt_file_head, key), (size_t)head.table - offsetof(struct rt_file_head, key));
    hash_blocks(&h, p + head.table, n - (size_t)head.table);
    hash_add(&h, NULL, 0);
    memcpy(head.hash, h.v, sizeof head.hash);
    memcpy(p, &head, sizeof head);
}

/* Memory of one gigabyte at most: what a file asks for beyond that is refused, as where memory is exhausted. */
static void *bounded_realloc(void *user, void *p, size_t old, size_t new, size_t align) {
    const hilo_allocator al = mem_system_allocator();
    (void)user;
    return new > (size_t)1 << 30 ? NULL : al.realloc_fn(al.user, p, old, new, align);
}

static hilo_status load(hilo_client *client, const char *p, size_t n) {
    hilo_executable *exe = NULL;
    hilo_status status = hilo_executable_deserialize(client, p, n, &exe);
    if (status == HILO_OK)
        hilo_executable_release(exe);
    return status;
}

/* The first place of `text` from `at` on; `end` when it is not there. */
static size_t find(const char *p, size_t at, size_t end, const char *text) {
    size_t n = strlen(text);
    while (at + n <= end && memcmp(p + at, text, n) != 0)
        at++;
    return at + n <= end ? at : end;
}

/* What is changed: the table after the head; for a GPU without code, which is trusted: up to PTX, and the count, the size and
   the head of the first cubin. */
struct places {
    size_t first, n, cubin; /* cubin: from there on, after n */
};
enum { CUBIN_BEFORE = 12, CUBIN_PLACES = CUBIN_BEFORE + 64 };

static struct places places_of(const char *p, size_t table, bool gpu) {
    struct places x = {sizeof(struct rt_file_head), table - sizeof(struct rt_file_head), 0};
    if (!gpu)
        return x;
    size_t code = find(p, x.first, table, ".version"), cubin = find(p, code, table, "\177ELF");
    x.n = code - x.first;
    x.cubin = cubin < table ? cubin - CUBIN_BEFORE : 0;
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    hilo_client *client;
    hilo_client_options o;
    struct rt_file_head head;
    hilo_client_options_init(&o);
    o.allocator = (hilo_allocator){.realloc_fn = bounded_realloc};
    size_t which = nbytes ? bytes[0] % (size_t)(getenv("HILO_CUDA_PATH") ? 2 * PROGRAMS : PROGRAMS) : 0;
    o.device = which < PROGRAMS ? "cpu" : "gpu";
    if (nbytes == 0)
        return 0;
    if (hilo_client_create(&o, &client) != HILO_OK)
        abort();
    const struct strbuf *file = file_of(client, which);
    char *copy = file ? malloc(file->n) : NULL;
    if (copy) {
        memcpy(copy, file->p, file->n);
        memcpy(&head, copy, sizeof head);
        rehash(copy, file->n);
        if (load(client, copy, file->n) != HILO_OK)
            abort();
        const struct places x = places_of(copy, (size_t)head.table, which >= PROGRAMS);
        for (size_t i = 1; i + 2 < nbytes && i < 1 + 3 * MOST_CHANGES; i += 3) {
            size_t at = ((size_t)bytes[i] << 8 | bytes[i + 1]) % (x.n + (x.cubin ? CUBIN_PLACES : 0));
            copy[at < x.n ? x.first + at : x.cubin + at - x.n] = (char)bytes[i + 2];
        }
        rehash(copy, file->n);
        load(client, copy, file->n);
    }
    free(copy);
    hilo_client_release(client);
    return 0;
}
