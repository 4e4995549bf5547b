/* PTX of GPU-shaped kernels on the machine of ptx.h: memory traffic of simple kernels, bugs that are planted in their text, and
 * every kernel of the programs of tests/op. */
#include "codegen/codegen.h"
#include "compile/code.h"
#include "gpu/launch.h"
#include "kir/node.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_BUFFERS = 64 };

static jmp_buf out_of_memory;
static struct target target;

static void set_target(const char *name) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(cg_target(name, &target, &d), HILO_OK);
    diag_clear(&d);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint64_t random_state = 1;
static uint64_t next_random(void) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB) >> 16;
}

/* Small numbers, which are valid indices more often than others. */
static void fill(enum ir_dtype t, unsigned char *p, int64_t count) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    for (int64_t i = 0; i < count; i++, p += info->bytes) {
        uint64_t bits = next_random() % (info->cls == IR_PRED ? 2 : 4);
        if (info->cls == IR_FLOAT)
            fp_store(info->fp, p, fp_encode(info->fp, ((double)(next_random() % 64) - 32) / 8));
        else
            memcpy(p, &bits, info->bytes); /* the host is little-endian, as GPUs are */
    }
}

static bool same(enum ir_dtype t, const unsigned char *a, const unsigned char *b) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return memcmp(a, b, info->bytes) == 0 ||
           (info->cls == IR_FLOAT && fp_is_nan(info->fp, fp_load(info->fp, a)) && fp_is_nan(info->fp, fp_load(info->fp, b)));
}

struct data {
    struct ptx_buffer buffers[MOST_BUFFERS];
    void *p[MOST_BUFFERS], *scratch;
    uint32_t n;
};

static void data_new(struct data *x, const struct kir *k) {
    *x = (struct data){.scratch = aligned_alloc(64, (k->scratch_bytes + 127) & ~(size_t)63)};
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        if (b->role == KIR_SCRATCH)
            continue;
        assert_true(x->n < MOST_BUFFERS);
        size_t bytes = (size_t)b->count * ir_dtype_get(b->dtype)->bytes;
        x->p[x->n] = malloc(bytes + 1);
        fill(b->dtype, x->p[x->n], b->count);
        x->buffers[x->n] = (struct ptx_buffer){x->p[x->n], bytes, 0};
        x->n++;
    }
}

static void data_free(struct data *x) {
    for (uint32_t i = 0; i < x->n; i++)
        free(x->p[i]);
    free(x->scratch);
}

static struct kir *parse(const char *text, size_t n, size_t *at) {
    struct diag_list d;
    struct kir *k = NULL;
    struct str s = {text, n};
    diag_init(&d, mem_system_allocator());
    hilo_status status = kir_parse(s, at, mem_system_allocator(), &out_of_memory, &d, &k);
    assert_true(status == HILO_OK || status == HILO_NOT_FOUND);
    diag_clear(&d);
    return k;
}

static char *ptx_of(const struct kir *k) {
    hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    void *text;
    size_t bytes;
    diag_init(&d, al);
    if (cg_compile(&k, 1, &target, CG_OPTIMISED, CG_ASSEMBLY, &al, &d, &text, &bytes) != HILO_OK)
        fail_msg("%s", d.first->message);
    char *copy = strndup(text, bytes);
    mem_free(&al, text, bytes);
    diag_clear(&d);
    return copy;
}

static int64_t most_blocks = INT32_MAX; /* of a kernel that are run */
static uint64_t most_steps = UINT64_C(1) << 24; /* of the interpreter */

/* Runs text in place of a kernel's PTX on the interpreter's data; NULL when the results are the interpreter's, else what is
   wrong. *refused: the interpreter refuses this data. */
static const char *run(const struct kir *k, const char *text, uint64_t seed, struct ptx_counts *counts, bool *refused) {
    static char why[256];
    const char *wrong = NULL;
    struct data a, b;
    struct diag_list d;
    uint64_t state = random_state;
    int64_t grid = kir_grid_extent(k) < most_blocks ? kir_grid_extent(k) : most_blocks;
    struct ptx *code = ptx_load(text, strlen(text), why, sizeof why);
    if (!code)
        return why;
    diag_init(&d, mem_system_allocator());
    data_new(&a, k);
    random_state = state;
    data_new(&b, k);
    *refused = !kir_run_within(k, a.p, a.scratch, 0, grid, most_steps, &d);
    if (!*refused && !launch_blocks(code, k, &target, b.buffers, b.n, (uint32_t)most_blocks, seed, counts, why, sizeof why))
        wrong = why;
    for (uint32_t i = 0, param = 0; i < k->buffers.n && !wrong && !*refused; i++) {
        const struct kir_buffer *of = &k->buffers.v[i];
        uint32_t bytes = ir_dtype_get(of->dtype)->bytes;
        if (of->role == KIR_SCRATCH)
            continue;
        for (int64_t j = 0; j < of->count && !wrong; j++)
            if (!same(of->dtype, (unsigned char *)a.p[param] + j * bytes, (unsigned char *)b.p[param] + j * bytes))
                wrong = "another value";
        param++;
    }
    data_free(&a);
    data_free(&b);
    diag_clear(&d);
    ptx_free(code);
    return wrong;
}

/* The text with occurrence `n` of `from` replaced; NULL when there are fewer. */
static char *planted(const char *text, const char *from, const char *to, int n) {
    const char *at = text;
    for (int i = 0; (at = strstr(at, from)) != NULL; at++, i++)
        if (i == n) {
            size_t size = strlen(text) + strlen(to) + 1;
            char *out = malloc(size);
            snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
            return out;
        }
    return NULL;
}

/* ---- memory traffic -------------------------------------------------------------------------- */

static const char ELEMENTWISE[] = "kernel add(b0: in f32[8192], b1: in f32[8192], b2: out f32[8192]) {\n"
                                  "    %1 = loop grid 8 {\n"
                                  "        %2: i64 = mul %1, 1024\n"
                                  "        %3 = loop vector 1024 by 256 {\n"
                                  "            %4: i64 = add %2, %3\n"
                                  "            %5: f32 = load b0[%4]\n"
                                  "            %6: f32 = load b1[%4]\n"
                                  "            %7: f32 = add %5, %6\n"
                                  "            store b2[%4], %7\n"
                                  "        }\n"
                                  "    }\n"
                                  "}\n";
/* Sums of rows, of which the maximum is subtracted; kept in scratch. */
/* Boxes of a matrix, twice, with mbarriers that begin anew. */
static const char BOXES[] = "kernel boxes(b0: scratch i16[1024], b1: in i16[792], b2: scratch i64[2], b3: out i16[1536], "
                            "m0: map b1[10 x 72 by 80] 8) {\n"
                            "    %1 = loop grid 8 {\n"
                            "        %2 = loop serial 2 {\n"
                            "            %3 = loop vector 64 by 64 {\n"
                            "                mbarrier_expect b2, 0, 1024\n"
                            "                copy_tensor b0[0], m0[%1, 0]\n"
                            "                %4 = loop serial 3 {\n"
                            "                    mbarrier_wait b2, %4\n"
                            "                    %5: i64 = add %4, 1\n"
                            "                    %6: i64 = rem %5, 2\n"
                            "                    %7: i64 = mul %6, 512\n"
                            "                    %8: i64 = mul %5, 24\n"
                            "                    %9: i64 = mul %4, -3\n"
                            "                    %10: i64 = add %9, %2\n"
                            "                    mbarrier_expect b2, %5, 1024\n"
                            "                    copy_tensor b0[%7], m0[%8, %10]\n"
                            "                    %11: i64 = rem %4, 2\n"
                            "                    %12: i64 = mul %11, 512\n"
                            "                    %13: i64 = mul %3, 8\n"
                            "                    %14: i64 = add %12, %13\n"
                            "                    %15: i64 = add %14, %2\n"
                            "                    %16: i16 = load b0[%15]\n"
                            "                    %17: i64 = mul %1, 192\n"
                            "                    %18: i64 = mul %4, 64\n"
                            "                    %19: i64 = add %17, %18\n"
                            "                    %20: i64 = add %19, %3\n"
                            "                    store b3[%20], %16\n"
                            "                }\n"
                            "                mbarrier_wait b2, 3\n"
                            "            }\n"
                            "        }\n"
                            "    }\n"
                            "}\n";

static const char ROWS[] = "kernel rows(b0: scratch f32[300], b1: in f32[1200], b2: out f32[1200]) {\n"
                           "    %1 = loop grid 4 {\n"
                           "        %2: i64 = mul %1, 300\n"
                           "        %3: f32 = reg 1, 1.000000e+00:f32\n"
                           "        %4 = loop vector 300 by 128 {\n"
                           "            %5: i64 = add %2, %4\n"
                           "            %6: f32 = load b1[%5]\n"
                           "            store b0[%4], %6\n"
                           "            acc.add %3, %6\n"
                           "        }\n"
                           "        %7: f32 = get %3\n"
                           "        store b0[17], %7\n"
                           "        %8 = loop vector 300 by 128 {\n"
                           "            %9: i64 = sub 299, %8\n"
                           "            %10: f32 = load b0[%9]\n"
                           "            %11: f32 = add %10, %7\n"
                           "            %12: i64 = add %2, %8\n"
                           "            store b2[%12], %11\n"
                           "        }\n"
                           "        store b0[3], %7\n"
                           "    }\n"
                           "}\n";

static void test_traffic(void **state) {
    (void)state;
    struct ptx_counts counts = {0};
    bool refused;
    size_t at = 0;
    struct kir *k = parse(ELEMENTWISE, strlen(ELEMENTWISE), &at);
    char *text = ptx_of(k);
    assert_null(run(k, text, 0, &counts, &refused));
    assert_false(refused);
    assert_int_equal(counts.sectors, 3 * 8192 * 4 / 32);
    assert_int_equal(counts.wanted, counts.sectors);
    assert_int_equal(counts.barriers, 0);
    free(text);
    kir_free(k);
    at = 0;
    k = parse(ROWS, strlen(ROWS), &at);
    text = ptx_of(k);
    counts = (struct ptx_counts){0};
    assert_null(run(k, text, 0, &counts, &refused));
    assert_false(refused);
    assert_int_equal(counts.conflicts, 0);
    free(text);
    kir_free(k);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* What all kernels of a program do, and the bytes of their parameters, which each is to access once. */
struct traffic {
    struct ptx_counts counts;
    double needed; /* sectors */
    uint32_t kernels;
    int64_t blocks; /* of the first kernel */
    double sectors; /* of all blocks, where those that run do what the others do */
    struct hilo_gpu_launch launch; /* of the last kernel */
    int wide, products, copies; /* accesses of 16 bytes, products of matrix units, asynchronous copies in the code */
    int grouped, boxes;         /* products of warpgroups, copies of boxes of matrices */
};

/* The kernels of a program. */
static void kernels_of(const char *program, struct strbuf *out) {
    hilo_client *client;
    hilo_module *module = NULL;
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.target_cpu = target.name;
    strbuf_init(out, mem_system_allocator());
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    assert_int_equal(hilo_module_parse(client, program, strlen(program), NULL, &module), HILO_OK);
    assert_int_equal(compile_text(client, module, &o, CODE_KIR, out), HILO_OK);
    hilo_module_release(module);
    hilo_client_release(client);
}

static struct traffic traffic_of(const char *program) {
    struct traffic t = {.needed = 0};
    struct strbuf kernels;
    struct kir *k;
    kernels_of(program, &kernels);
    for (size_t at = 0; (k = parse(kernels.p, kernels.n, &at)) != NULL; kir_free(k)) {
        char *text = ptx_of(k);
        bool refused;
        int64_t grid = kir_grid_extent(k);
        uint64_t before = t.counts.sectors;
        t.blocks = t.kernels ? t.blocks : grid;
        cg_launch(k, &target, &t.launch);
        const char *wrong = run(k, text, 7, &t.counts, &refused);
        if (wrong || refused)
            fail_msg("%s in\n%s", wrong ? wrong : "refused", text);
        t.sectors += (double)(t.counts.sectors - before) * (double)grid / (double)(grid < most_blocks ? grid : most_blocks);
        for (const char *p = text; (p = strstr(p, ".v4.")) != NULL; p++)
            t.wide++;
        for (const char *p = text; (p = strstr(p, "mma.sync.")) != NULL; p++)
            t.products++;
        for (const char *p = text; (p = strstr(p, "wgmma.mma_async.")) != NULL; p++)
            t.grouped++;
        for (const char *p = text; (p = strstr(p, ".shared.global ")) != NULL; p++)
            t.copies++;
        for (const char *p = text; (p = strstr(p, "cp.async.bulk.tensor")) != NULL; p++)
            t.boxes++;
        for (uint32_t i = 0; i < k->buffers.n; i++)
            if (k->buffers.v[i].role != KIR_SCRATCH)
                t.needed += (double)k->buffers.v[i].count * ir_dtype_get(k->buffers.v[i].dtype)->bytes / 32;
        t.kernels++;
        free(text);
    }
    strbuf_free(&kernels);
    return t;
}

/* Memory traffic of whole programs over what they need; no bank of shared memory is accessed twice by one access. */
static void test_shapes(void **state) {
    (void)state;
    if (TORTURE) /* whose tiles are of a few elements */
        skip();
    static const struct { const char *what; double most; bool wide; const char *program; } cases[] = {
        {"elementwise", 1.0, false, "func.func @main(%a: tensor<40x500xf32>, %b: tensor<40x500xf32>) -> tensor<40x500xf32> {"
         "%0 = stablehlo.add %a, %b : tensor<40x500xf32> return %0 : tensor<40x500xf32>}"},
        {"large elementwise", 1.0, true, "func.func @main(%a: tensor<512x512xf32>) -> tensor<512x512xf32> {"
         "%0 = stablehlo.negate %a : tensor<512x512xf32> return %0 : tensor<512x512xf32>}"},
        {"bf16", 1.0, true, "func.func @main(%a: tensor<512x512xbf16>) -> tensor<512x512xbf16> {"
         "%0 = stablehlo.add %a, %a : tensor<512x512xbf16> return %0 : tensor<512x512xbf16>}"},
        {"row sums", 1.05, true, "func.func @main(%a: tensor<16x4096xf32>, %z: tensor<f32>) -> tensor<16xf32> {"
         "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16x4096xf32>, tensor<f32>)"
         "-> tensor<16xf32> return %0 : tensor<16xf32>}"},
        {"column sums", 1.05, false, "func.func @main(%a: tensor<64x1024xf32>, %z: tensor<f32>) -> tensor<1024xf32> {"
         "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<64x1024xf32>, tensor<f32>)"
         "-> tensor<1024xf32> return %0 : tensor<1024xf32>}"},
        {"softmax", 1.10, true, "func.func @main(%a: tensor<32x512xf32>, %z: tensor<f32>, %i: tensor<f32>)"
         "-> tensor<32x512xf32> {"
         "%0 = stablehlo.reduce(%a init: %i) applies stablehlo.maximum across dimensions = [1] :"
         "(tensor<32x512xf32>, tensor<f32>)"
         "-> tensor<32xf32> %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<32xf32>) -> tensor<32x512xf32>"
         "%2 = stablehlo.subtract %a, %1 : tensor<32x512xf32> %3 = stablehlo.exponential %2 : tensor<32x512xf32>"
         "%4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<32x512xf32>, tensor<f32>)"
         "-> tensor<32xf32> %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<32xf32>) -> tensor<32x512xf32>"
         "%6 = stablehlo.divide %3, %5 : tensor<32x512xf32> return %6 : tensor<32x512xf32>}"},
        {"transpose f32", 1.10, false, "func.func @main(%a: tensor<256x128xf32>) -> tensor<128x256xf32> {"
         "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<256x128xf32>) -> tensor<128x256xf32>"
         "return %0 : tensor<128x256xf32>}"},
        {"transpose f64", 1.10, false, "func.func @main(%a: tensor<2x96x64xf64>) -> tensor<2x64x96xf64> {"
         "%0 = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<2x96x64xf64>) -> tensor<2x64x96xf64>"
         "return %0 : tensor<2x64x96xf64>}"},
        {"transpose bf16", 1.10, false, "func.func @main(%a: tensor<64x5x128xbf16>) -> tensor<128x5x64xbf16> {"
         "%0 = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<64x5x128xbf16>) -> tensor<128x5x64xbf16>"
         "return %0 : tensor<128x5x64xbf16>}"},
        {"fused transpose", 1.10, false, "func.func @main(%a: tensor<256x128xf32>, %b: tensor<128x256xf32>)"
         "-> tensor<128x256xf32> {"
         "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<256x128xf32>) -> tensor<128x256xf32>"
         "%1 = stablehlo.multiply %0, %b : tensor<128x256xf32> return %1 : tensor<128x256xf32>}"},
        {"transpose of parts", 1.6, false, "func.func @main(%a: tensor<50x70xf32>) -> tensor<70x50xf32> {"
         "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<50x70xf32>) -> tensor<70x50xf32>"
         "return %0 : tensor<70x50xf32>}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct traffic t = traffic_of(cases[i].program);
        double over = (double)t.counts.sectors / t.needed;
        print_message("%s: %u kernels, %.3f of the sectors, %d accesses of 16 bytes, %llu conflicts\n", cases[i].what,
                      t.kernels, over, t.wide, (unsigned long long)t.counts.conflicts);
        assert_true(over <= cases[i].most);
        assert_true(t.counts.conflicts == 0);
        assert_true(!cases[i].wide || t.wide >= 1);
    }
}

/* ---- products ---------------------------------------------------------------------------------- */

static struct traffic product_of(const char *a, const char *b, const char *numbers, const char *r) {
    char program[1024];
    snprintf(program, sizeof program,
             "func.func @main(%%a: tensor<%s>, %%b: tensor<%s>) -> tensor<%s> {"
             "%%0 = stablehlo.dot_general %%a, %%b, %s : (tensor<%s>, tensor<%s>) -> tensor<%s>"
             "return %%0 : tensor<%s>}",
             a, b, r, numbers, a, b, r, r);
    return traffic_of(program);
}

/* Products by tiles in shared memory: the interpreter's bits for all layouts and sizes that are no multiples of a tile; what is
   read of the operands. */
static void test_products(void **state) {
    (void)state;
    static const char *const numbers[] = {"contracting_dims = [1] x [0]", "contracting_dims = [1] x [1]",
                                          "contracting_dims = [0] x [0]", "contracting_dims = [0] x [1]"};
    static const char *const types[] = {"f32", "f64", "i32", "bf16", "f16", "i8"};
    static const struct { int m, n, k; } sizes[] = {{64, 48, 32}, {17, 33, 20}, {9, 130, 7}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int way = 0; way < 4; way++) {
                char a[32], b[32], r[32];
                int m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
                bool last = way < 2, first = way % 2 == 0; /* the sum is the last dimension of lhs, the first of rhs */
                if (s && t > 1 && way)
                    continue;
                snprintf(a, sizeof a, "%dx%dx%s", last ? m : k, last ? k : m, types[t]);
                snprintf(b, sizeof b, "%dx%dx%s", first ? k : n, first ? n : k, types[t]);
                snprintf(r, sizeof r, "%dx%dx%s", m, n, types[t]);
                struct ptx_counts counts = product_of(a, b, numbers[way], r).counts;
                assert_true(way != 2 || t > 2 || counts.conflicts == 0); /* tiles are stored as they are read */
                assert_true(counts.barriers > 0);
            }
    /* tiles of 16 by 16: each block reads its rows and columns once */
    struct ptx_counts counts = product_of("32x64xf32", "32x64xf32", numbers[2], "64x64xf32").counts;
    assert_int_equal(counts.sectors, (2 * 16 * (16 * 32) + 64 * 64) * 4 / 32);
    (void)product_of("3x20xi8", "20x4096xi8", numbers[0], "3x4096xi8"); /* lanes are threads, of which bytes have no more */
    (void)product_of("2x20x24xf32", "2x24x18xf32", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "2x20x18xf32");
    /* a padded operand is computed, not copied, though its first elements are those in memory */
    struct traffic padded = traffic_of("func.func @main(%a: tensor<20x96xf32>, %b: tensor<104x24xf32>) -> tensor<20x24xf32> {"
        "%z = stablehlo.constant dense<1.0> : tensor<f32>"
        "%0 = stablehlo.pad %a, %z, low = [0, 0], high = [0, 8], interior = [0, 0] : (tensor<20x96xf32>, tensor<f32>)"
        "-> tensor<20x104xf32> %1 = stablehlo.dot %0, %b : (tensor<20x104xf32>, tensor<104x24xf32>) -> tensor<20x24xf32>"
        "return %1 : tensor<20x24xf32>}");
    assert_int_equal(padded.kernels, 1);
    assert_int_equal(padded.copies, 0);
}

/* Products by matrix units: the interpreter's bits for all layouts, types and parts of tiles; of whole tiles no bank conflicts,
   and each operand is read once by each block. */
static void test_units(void **state) {
    (void)state;
    static const char *const numbers[] = {"contracting_dims = [1] x [0]", "contracting_dims = [1] x [1]",
                                          "contracting_dims = [0] x [0]", "contracting_dims = [0] x [1]"};
    static const char *const types[][3] = {{"bf16", "bf16", "bf16"}, {"f16", "f16", "f32"}, {"i8", "i8", "i32"},
                                           {"ui8", "i8", "i32"},     {"i8", "ui8", "i32"},  {"ui8", "ui8", "i32"}};
    static const struct { int m, n, k; } sizes[] = {{128, 128, 64}, {70, 33, 45}, {9, 300, 130}, {40, 72, 208}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int way = 0; way < 4; way++) {
                char a[32], b[32], r[32];
                int m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
                bool last = way < 2, first = way % 2 == 0;
                if (way != (int)t % 4 && (s || t))
                    continue;
                snprintf(a, sizeof a, "%dx%dx%s", last ? m : k, last ? k : m, types[t][0]);
                snprintf(b, sizeof b, "%dx%dx%s", first ? k : n, first ? n : k, types[t][1]);
                snprintf(r, sizeof r, "%dx%dx%s", m, n, types[t][2]);
                struct traffic x = product_of(a, b, numbers[way], r);
                assert_true(x.products > 0);
                /* where there are several slabs of aligned rows; bytes that are not contiguous along the sum are loaded */
                assert_true((x.copies > 0) == (t < 2 ? s == 0 || s == 3 : s == 3 && way == 1));
            }
    most_blocks = 1; /* of 128 by 128 */
    for (int way = 0; way < 4; way++) {
        struct traffic x = product_of(way < 2 ? "1024x64xbf16" : "64x1024xbf16", way % 2 == 0 ? "64x1024xbf16" : "1024x64xbf16",
                                      numbers[way], "1024x1024xbf16");
        assert_int_equal(x.products, 32);
        assert_int_equal(x.counts.conflicts, 0);
        /* eight rows are stored at once, half a sector of each */
        assert_int_equal(x.counts.sectors, (2 * 128 * 64 + 2 * 128 * 128) * 2 / 32);
    }
    most_blocks = INT32_MAX;
}

/* Products of warpgroups: the interpreter's bits for all layouts and types, for parts of tiles and of slabs, with batches; no
   bank conflicts in copies. Where an operand is computed or too small, those of warps. */
static void test_warpgroups(void **state) {
    (void)state;
    static const char *const numbers[] = {"contracting_dims = [1] x [0]", "contracting_dims = [1] x [1]",
                                          "contracting_dims = [0] x [0]", "contracting_dims = [0] x [1]"};
    static const char *const types[][2] = {{"bf16", "bf16"}, {"f16", "f32"}};
    static const struct { int m, n, k; } sizes[] = {{128, 64, 128}, {200, 136, 136}, {72, 264, 200}};
    set_target("sm_90a");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int way = 0; way < 4; way++) {
            char a[32], b[32], r[32];
            int m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
            bool last = way < 2, first = way % 2 == 0;
            const char *const *t = types[((int)s + way) % 2];
            snprintf(a, sizeof a, "%dx%dx%s", last ? m : k, last ? k : m, t[0]);
            snprintf(b, sizeof b, "%dx%dx%s", first ? k : n, first ? n : k, t[0]);
            snprintf(r, sizeof r, "%dx%dx%s", m, n, t[1]);
            struct traffic x = product_of(a, b, numbers[way], r);
            assert_int_equal(x.grouped, 4);
            assert_true(x.products == 0 && x.boxes > 0 && x.copies == 0 && x.counts.conflicts == 0);
        }
    /* batches in lines or in parts of lines; where terms end within a slab and another batch follows, copies of 16 bytes */
    static const struct { const char *a, *b, *numbers, *r; bool boxes; } batches[] = {
        {"2x72x3x128xbf16", "3x128x2x64xbf16", "batching_dims = [0, 2] x [2, 0], contracting_dims = [3] x [1]", "2x3x72x64xf32",
         true},
        {"2x72x3x136xbf16", "3x136x2x64xbf16", "batching_dims = [0, 2] x [2, 0], contracting_dims = [3] x [1]", "2x3x72x64xf32",
         false},
        {"2x64x128xbf16", "2x128x72xbf16", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "2x64x72xf32", true},
        {"2x64x136xbf16", "2x136x72xbf16", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "2x64x72xf32", false}};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        struct traffic x = product_of(batches[i].a, batches[i].b, batches[i].numbers, batches[i].r);
        assert_true(x.grouped == 4 && (x.boxes > 0) == batches[i].boxes && (x.copies > 0) != batches[i].boxes);
    }
    struct traffic part = traffic_of(
        "func.func @main(%a: tensor<100x256xbf16>, %b: tensor<256x104xbf16>) -> tensor<72x64xf32> {"
        "%0 = stablehlo.slice %a [16:88, 64:192] : (tensor<100x256xbf16>) -> tensor<72x128xbf16>"
        "%1 = stablehlo.slice %b [128:256, 8:72] : (tensor<256x104xbf16>) -> tensor<128x64xbf16>"
        "%2 = stablehlo.dot %0, %1 : (tensor<72x128xbf16>, tensor<128x64xbf16>) -> tensor<72x64xf32>"
        "return %2 : tensor<72x64xf32>}");
    assert_true(part.grouped == 4 && part.boxes > 0 && part.copies == 0);
    most_blocks = 1; /* of 128 by 256: factors are read once, half sectors are stored as by warps */
    struct traffic x = product_of("4096x128xbf16", "128x4096xbf16", numbers[0], "4096x4096xbf16");
    print_message("128 x 256: %u bytes of shared memory\n", x.launch.shared_bytes);
    assert_true(x.grouped == 4 && x.blocks == 32 * 16 && x.counts.conflicts == 0);
    assert_int_equal(x.counts.sectors, (384 * 128 + 2 * 128 * 256) * 2 / 32);
    most_blocks = INT32_MAX;
    assert_int_equal(product_of("128x64xbf16", "64x64xbf16", numbers[0], "128x64xbf16").grouped, 0); /* one slab */
    assert_int_equal(product_of("40x128xbf16", "128x64xbf16", numbers[0], "40x64xbf16").grouped, 0);
    assert_int_equal(product_of("64x130xbf16", "130x64xbf16", numbers[0], "64x64xbf16").grouped, 0); /* not aligned */
    assert_int_equal(product_of("64x128xi8", "128x64xi8", numbers[0], "64x64xi32").grouped, 0);
    set_target("sm_80");
    assert_int_equal(product_of("128x128xbf16", "128x64xbf16", numbers[0], "128x64xbf16").grouped, 0);
}

/* Boxes of matrices: the interpreter's bits, in any order of landing; also where a block computes many iterations. */
static void test_boxes(void **state) {
    (void)state;
    struct kir *k = parse(BOXES, strlen(BOXES), &(size_t){0});
    bool refused;
    set_target("sm_90a");
    char *text = ptx_of(k);
    for (uint64_t seed = 0; seed < 8; seed++) {
        const char *wrong = run(k, text, seed, NULL, &refused);
        if (wrong || refused)
            fail_msg("%s\n%s", wrong, text);
    }
    free(text);
    kir_free(k);
    set_target("sm_80");
}

/* Few rows: the interpreter's bits, for sizes that are no multiples of anything, and sums that are split. */
static void test_gemv(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "bf16", "f64", "f16"};
    static const struct { int m, n, k; } sizes[] = {
        {1, 8, 640}, {3, 100, 70}, {2, 9, 1001}, {1, 2000, 64}, {1, 24, 4096}, {7, 64, 256}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int along = 0; along < 2; along++) {
                char a[32], b[32], r[32];
                int m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
                if (t != s % 4 && s > 0)
                    continue;
                snprintf(a, sizeof a, "%dx%dx%s", m, k, types[t]);
                snprintf(b, sizeof b, "%dx%dx%s", along ? n : k, along ? k : n, types[t]);
                snprintf(r, sizeof r, "%dx%dx%s", m, n, types[t]);
                struct traffic x = product_of(a, b, along ? "contracting_dims = [1] x [1]" : "contracting_dims = [1] x [0]", r);
                assert_true(x.kernels <= 2);
            }
    /* scores and values of grouped queries */
    (void)product_of("2x3x4x40xbf16", "2x3x96x40xbf16", "batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]",
                     "2x3x4x96xf32");
    (void)product_of("2x3x4x96xf32", "2x3x96x40xf32", "batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]",
                     "2x3x4x40xf32");
}

/* A step of a language model of 10^9 weights: all multiprocessors have blocks, which read 16 bytes of the matrix at once, each
   byte once. */
static void test_decode(void **state) {
    (void)state;
    static const struct { int m, n, k; } sizes[] = {
        {1, 2048, 2048}, {1, 512, 2048}, {1, 8192, 2048}, {1, 2048, 8192}, {4, 2048, 2048}};
    most_blocks = 1;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int along = 0; along < 2; along++) {
            char a[32], b[32], r[32];
            int m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
            snprintf(a, sizeof a, "%dx%dxbf16", m, k);
            snprintf(b, sizeof b, "%dx%dxbf16", along ? n : k, along ? k : n);
            snprintf(r, sizeof r, "%dx%dxbf16", m, n);
            struct traffic x = product_of(a, b, along ? "contracting_dims = [1] x [1]" : "contracting_dims = [1] x [0]", r);
            double over = x.sectors * 32 / ((double)n * k * 2);
            print_message("%d x %d x %d %s: %lld blocks, %.3f of the matrix's bytes, %d wide accesses\n", m, n, k,
                          along ? "along" : "across", (long long)x.blocks, over, x.wide);
            assert_true(x.blocks >= target.cores && x.wide > 0 && x.counts.conflicts == 0);
            /* rows are read for four or two lines at once; parts of sums are stored */
            assert_true(over <= (along ? 1 + 1.01 * m / (n > 512 ? 4 : 2) : 1 + 0.2 * m));
        }
    most_blocks = INT32_MAX;
}

/* Attention in one kernel: blocks of threads for all multiprocessors, and all that is between operands and result in shared
   memory; the interpreter's bits, also where neither rows nor columns fill blocks. */
static void test_attention(void **state) {
    (void)state;
    static const struct { int heads, rows, columns, depth, run; bool fills; } cases[] = {
        {12, 512, 512, 64, 1, true}, {32, 1024, 512, 128, 1, true}, {2, 50, 300, 24, INT32_MAX, false}};
    most_steps = UINT64_C(1) << 27;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char q[32], k[32], s[32], r[32], program[2048];
        int h = cases[i].heads, n = cases[i].rows, m = cases[i].columns, d = cases[i].depth;
        snprintf(q, sizeof q, "tensor<%dx%dx%dxf32>", h, n, d);
        snprintf(k, sizeof k, "tensor<%dx%dx%dxf32>", h, m, d);
        snprintf(s, sizeof s, "tensor<%dx%dx%dxf32>", h, n, m);
        snprintf(r, sizeof r, "tensor<%dx%dxf32>", h, n);
        snprintf(program, sizeof program,
                 "func.func @main(%%q: %s, %%k: %s, %%v: %s) -> %s {"
                 "%%z = stablehlo.constant dense<0.0> : tensor<f32> %%i = stablehlo.constant dense<0xFF800000> : tensor<f32>"
                 "%%s = stablehlo.dot_general %%q, %%k, batching_dims = [0] x [0], contracting_dims = [2] x [2] :"
                 "(%s, %s) -> %s"
                 "%%m = stablehlo.reduce(%%s init: %%i) applies stablehlo.maximum across dimensions = [2] :"
                 "(%s, tensor<f32>) -> %s %%0 = stablehlo.broadcast_in_dim %%m, dims = [0, 1] : (%s) -> %s"
                 "%%1 = stablehlo.subtract %%s, %%0 : %s %%e = stablehlo.exponential %%1 : %s"
                 "%%u = stablehlo.reduce(%%e init: %%z) applies stablehlo.add across dimensions = [2] :"
                 "(%s, tensor<f32>) -> %s %%2 = stablehlo.broadcast_in_dim %%u, dims = [0, 1] : (%s) -> %s"
                 "%%w = stablehlo.divide %%e, %%2 : %s"
                 "%%o = stablehlo.dot_general %%w, %%v, batching_dims = [0] x [0], contracting_dims = [2] x [1] :"
                 "(%s, %s) -> %s"
                 "return %%o : %s}",
                 q, k, k, q, q, k, s, s, r, r, s, s, s, s, r, r, s, s, s, k, q, q);
        most_blocks = cases[i].run;
        struct traffic x = traffic_of(program);
        print_message("attention %d x %d x %d x %d: %lld blocks, %u bytes of shared memory\n", h, n, m, d, (long long)x.blocks,
                      x.launch.shared_bytes);
        assert_int_equal(x.kernels, 1);
        assert_true(x.launch.slab_bytes == 0 && 2 * x.launch.shared_bytes <= target.shared_bytes);
        assert_true(!cases[i].fills || x.blocks >= 2 * target.cores);
        assert_true(x.blocks > h);
    }
    most_blocks = INT32_MAX;
}

/* Updates in place: of one long line, and of whole lines. */
static void test_into(void **state) {
    (void)state;
    static const struct { const char *a, *u, *at; bool wide; } cases[] = {
        {"50000xf32", "40000xf32", "%i", false}, {"8x9x40x512xf32", "8x9x16x512xf32", "%z, %z, %i, %z", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char program[1024], types[64] = "tensor<i32>";
        for (const char *p = cases[i].at; (p = strchr(p, ',')) != NULL; p++)
            strcat(types, ", tensor<i32>");
        snprintf(program, sizeof program,
                 "func.func @main(%%a: tensor<%s>, %%u: tensor<%s>, %%i: tensor<i32>, %%z: tensor<i32>) -> tensor<%s> {"
                 "%%0 = stablehlo.dynamic_update_slice %%a, %%u, %s : (tensor<%s>, tensor<%s>, %s) -> tensor<%s>"
                 "return %%0 : tensor<%s>}",
                 cases[i].a, cases[i].u, cases[i].a, cases[i].at, cases[i].a, cases[i].u, types, cases[i].a, cases[i].a);
        struct traffic x = traffic_of(program);
        double least = i ? 2.0 * 8 * 9 * 16 * 512 / 8 : 2.0 * 40000 / 8;
        print_message("update %zu: %lld blocks, %.3f of the sectors, %d wide accesses\n", i, (long long)x.blocks,
                      x.sectors / least, x.wide);
        assert_true(x.blocks >= target.cores && (x.wide >= 2) == cases[i].wide);
        assert_true(x.sectors <= (i ? 1.07 : 1.26) * least); /* the start; stores that begin anywhere share sectors */
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Scratch memory beyond the shared memory of a block: few blocks with a slab each compute all iterations. */
static const char SLAB[] = "kernel slab(b0: scratch f32[50000], b1: in f32[700], b2: out f32[700]) {\n"
                           "    %1 = loop grid 700 {\n"
                           "        %2 = loop vector 40 by 64 {\n"
                           "            %3: f32 = load b1[%1]\n"
                           "            store b0[%2], %3\n"
                           "        }\n"
                           "        %4: f32 = load b0[39]\n"
                           "        store b2[%1], %4\n"
                           "    }\n"
                           "}\n";

static void test_launch(void **state) {
    (void)state;
    struct hilo_gpu_launch l;
    size_t at = 0;
    bool refused = true;
    struct kir *k = parse(ELEMENTWISE, strlen(ELEMENTWISE), &at);
    cg_launch(k, &target, &l);
    assert_true(l.blocks == 8 && l.threads == 256 && l.params == 3 && l.shared_bytes == 0 && l.slab_bytes == 0);
    kir_free(k);
    at = 0;
    k = parse(ROWS, strlen(ROWS), &at);
    cg_launch(k, &target, &l);
    assert_true(l.blocks == 4 && l.threads == 128 && l.params == 2);
    assert_int_equal(l.shared_bytes, 128 * 4 + 300 * 4 + 16); /* a sum of each thread, and a row in 64 bytes */
    kir_free(k);
    at = 0;
    k = parse(SLAB, strlen(SLAB), &at);
    cg_launch(k, &target, &l);
    assert_true(l.blocks == 2 * target.cores && l.threads == 64 && l.params == 3 && l.slab_bytes >= 50000 * 4);
    char *text = ptx_of(k);
    assert_null(run(k, text, 0, NULL, &refused));
    assert_false(refused);
    free(text);
    kir_free(k);
}

/* ---- planted bugs ---------------------------------------------------------------------------- */

/* Replaces each occurrence of `from` by `to` in turn; all have to be found. Returns how many. */
static int plant(const struct kir *k, const char *from, const char *to) {
    char *text = ptx_of(k), *bad;
    bool refused;
    int n = 0;
    assert_null(run(k, text, 0, NULL, &refused));
    assert_false(refused);
    for (; (bad = planted(text, from, to, n)) != NULL; n++) {
        bool seen = false;
        for (uint64_t seed = 0; seed < 4 && !seen; seed++)
            seen = run(k, bad, seed, NULL, &refused) != NULL;
        if (!seen)
            fail_msg("'%s' for '%s', occurrence %d, is not found in:\n%s", to, from, n, bad);
        free(bad);
    }
    free(text);
    return n;
}

/* A product whose operands are copied asynchronously: waits that are missing or for too few groups, groups that are not closed,
   the barrier that is missing. */
static int plant_in_copies(const char *type) {
    static const struct { const char *from, *to; int least; } bugs[] = {
        {"cp.async.wait_group", "// wait", 2}, {"cp.async.wait_group 1;", "cp.async.wait_group 2;", 1},
        {"cp.async.commit_group;", "", 3}, {"bar.sync \t0;", "", 1}};
    char program[512];
    struct strbuf kernels;
    size_t at = 0;
    int found = 0;
    snprintf(program, sizeof program,
             "func.func @main(%%a: tensor<20x104x%s>, %%b: tensor<104x24x%s>) -> tensor<20x24xf32> {"
             "%%0 = stablehlo.dot %%a, %%b : (tensor<20x104x%s>, tensor<104x24x%s>) -> tensor<20x24xf32>"
             "return %%0 : tensor<20x24xf32>}",
             type, type, type, type);
    kernels_of(program, &kernels);
    struct kir *k = parse(kernels.p, kernels.n, &at);
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        int n = plant(k, bugs[i].from, bugs[i].to);
        assert_true(n >= bugs[i].least);
        found += n;
    }
    kir_free(k);
    strbuf_free(&kernels);
    return found;
}

struct bug { const char *from, *to; int least; };

static int plant_all(const struct kir *k, const struct bug *bugs, size_t n) {
    int found = 0;
    for (size_t i = 0; i < n; i++) {
        int here = plant(k, bugs[i].from, bugs[i].to);
        if (here < bugs[i].least)
            fail_msg("'%s' occurs %d times", bugs[i].from, here);
        found += here;
    }
    return found;
}

/* The same in the first kernel of a program. */
static int plant_in_program(const char *program, const struct bug *bugs, size_t n) {
    struct strbuf kernels;
    size_t at = 0;
    kernels_of(program, &kernels);
    struct kir *k = parse(kernels.p, kernels.n, &at);
    int found = plant_all(k, bugs, n);
    kir_free(k);
    strbuf_free(&kernels);
    return found;
}

/* In products of warpgroups: the wait, a fence, the end of a group or the barrier that is missing, operands that are taken
   across the sum or not, another type. */
static int plant_in_warpgroups(void) {
    static const struct bug bugs[] = {
        {"wgmma.wait_group.sync.aligned 0;", "", 1}, {"sync.aligned 0;", "sync.aligned 1;", 1},
        {"wgmma.fence.sync.aligned;", "", 1}, {"wgmma.commit_group.sync.aligned;", "", 1},
        {"fence.proxy.async.shared::cta;", "", 1}, {"bar.sync \t0;", "", 1}, {"cp.async.wait_group", "// wait", 2},
        {", 1, 1, 1, 0, 1;", ", 1, 1, 1, 0, 0;", 4}, {", 1, 1, 1, 0, 1;", ", 1, 1, 1, 1, 1;", 4},
        {"k16.f32.bf16.bf16", "k16.f32.f16.f16", 4}};
    set_target("sm_90a");
    int found = plant_in_program(
        "func.func @main(%a: tensor<2x72x136xbf16>, %b: tensor<2x136x64xbf16>) -> tensor<2x72x64xf32> {"
        "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] :"
        "(tensor<2x72x136xbf16>, tensor<2x136x64xbf16>) -> tensor<2x72x64xf32> return %0 : tensor<2x72x64xf32>}",
        bugs, sizeof bugs / sizeof *bugs);
    set_target("sm_80");
    return found;
}

/* In copies of boxes: a wait, a fence, a barrier, an mbarrier's beginning that is missing; another parity, place or coordinate;
   too few or too many bytes; what all threads do, or all but one. */
static int plant_in_boxes(void) {
    static const struct bug bugs[] = {
        {"mbarrier.try_wait.parity.shared::cta.b64 p, ", "setp.eq.u32 p, 0, 0; // ", 3},
        {"fence.proxy.async.shared::cta;", "", 1}, {"bar.sync \t0;", "", 2},
        {"@p mbarrier.init", "@!p mbarrier.init", 2}, {"@p mbarrier.arrive", "mbarrier.arrive", 3},
        {"@p mbarrier.arrive", "@!p mbarrier.arrive", 3}, {"@p cp.async.bulk", "cp.async.bulk", 6},
        {"@p cp.async.bulk", "@!p cp.async.bulk", 6},
        {"], 24576;", "], 16384;", 3}, {"], 24576;", "], 24592;", 3},
        {", 64, 128;", ", 64, 129;", 1}, {", 16384;", ", 17408;", 1}};
    static const struct bug again[] = {
        {"@p mbarrier.inval", "@!p mbarrier.inval", 2}, {"], 1024;", "], 512;", 2},
        {", 1, 1;", ", 0, 1;", 1}, {", 24;", ", 25;", 1}, {"@p mbarrier.init", "@!p mbarrier.init", 2},
        {"fence.proxy.async.shared::cta;", "", 1},
        {"mbarrier.try_wait.parity.shared::cta.b64 p, ", "setp.eq.u32 p, 0, 0; // ", 2}};
    struct kir *k = parse(BOXES, strlen(BOXES), &(size_t){0});
    set_target("sm_90a");
    int found = plant_all(k, again, sizeof again / sizeof *again) +
                plant_in_program("func.func @main(%a: tensor<72x136xbf16>, %b: tensor<136x64xbf16>) -> tensor<72x64xf32> {"
                                 "%0 = stablehlo.dot %a, %b : (tensor<72x136xbf16>, tensor<136x64xbf16>) -> tensor<72x64xf32>"
                                 "return %0 : tensor<72x64xf32>}",
                                 bugs, sizeof bugs / sizeof *bugs);
    kir_free(k);
    set_target("sm_80");
    return found;
}

/* Every barrier that is removed, offset or comparison that is off by one, thread or block that is the wrong one, is found. */
static void test_planted(void **state) {
    (void)state;
    static const struct { const char *from, *to; } bugs[] = {
        {"bar.sync \t0;", ""}, {"%tid.x;", "%ctaid.x;"}, {"%ctaid.x;", "%tid.x;"}, {"setp.gt.u64", "setp.ge.u64"},
        {"st.shared.f32", "st.global.f32"}, {"setp.ne.s64", "setp.eq.s64"}, {"add.rn.f32", "sub.rn.f32"}, {", 128;", ", 127;"},
        {"ret;", "bar.sync 0;"}, {"+256]", "+252]"}};
    static const char product[] = /* a convolution, whose slabs go through registers */
        "func.func @main(%a: tensor<1x22x8xf32>, %b: tensor<3x8x18xf32>) -> tensor<1x20x18xf32> {"
        "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} :"
        "(tensor<1x22x8xf32>, tensor<3x8x18xf32>) -> tensor<1x20x18xf32> return %0 : tensor<1x20x18xf32>}";
    size_t at = 0;
    int found = 0;
    static const char unit[] = "func.func @main(%a: tensor<20x40xbf16>, %b: tensor<40x18xbf16>) -> tensor<20x18xf32> {"
                               "%0 = stablehlo.dot %a, %b : (tensor<20x40xbf16>, tensor<40x18xbf16>) -> tensor<20x18xf32>"
                               "return %0 : tensor<20x18xf32>}";
    struct strbuf kernels;
    struct kir *k = parse(ROWS, strlen(ROWS), &at);
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        found += plant(k, bugs[i].from, bugs[i].to);
    kir_free(k);
    at = 0;
    k = parse(SLAB, strlen(SLAB), &at);
    int barriers = plant(k, "bar.sync \t0;", ""); /* between storing and loading, and between iterations of a block */
    assert_true(barriers == 2);
    found += barriers;
    kir_free(k);
    kernels_of(product, &kernels);
    at = 0;
    k = parse(kernels.p, kernels.n, &at);
    barriers = plant(k, "bar.sync \t0;", ""); /* between storing slabs and loading them, both ways */
    assert_true(barriers >= 2);
    found += barriers + plant(k, "fma.rn.f32", "mul.rn.f32") + plant(k, "%ctaid.x;", "%tid.x;");
    kir_free(k);
    strbuf_free(&kernels);
    kernels_of(unit, &kernels);
    at = 0;
    k = parse(kernels.p, kernels.n, &at);
    barriers = plant(k, "bar.sync \t0;", "");
    assert_true(barriers >= 2);
    found += barriers + plant(k, "x4.shared", "x4.trans.shared") + plant(k, "x4.trans.shared", "x4.shared") +
             plant(k, "row.col.f32.bf16.bf16.f32", "row.col.f32.f16.bf16.f32");
    kir_free(k);
    strbuf_free(&kernels);
    found += plant_in_copies("f32") + plant_in_copies("bf16") + plant_in_warpgroups() + plant_in_boxes();
    print_message("%d planted bugs found\n", found);
    assert_true(found >= 20);
}

/* ---- the programs of tests/op ---------------------------------------------------------------- */

static size_t elements(const struct kir *k) {
    size_t n = 0;
    for (uint32_t i = 0; i < k->buffers.n; i++)
        n += (size_t)k->buffers.v[i].count;
    return n;
}

/* Kernels of a program as KIR text, each as PTX. */
static void check_kernels(const char *path, const char *text, size_t n, int *ran, int *left) {
    struct kir *k;
    for (size_t at = 0; (k = parse(text, n, &at)) != NULL; kir_free(k)) {
        bool refused = elements(k) > 1 << 14;
        if (!refused) {
            char *ptx = ptx_of(k);
            const char *wrong = run(k, ptx, (uint64_t)*ran, NULL, &refused);
            if (wrong)
                fail_msg("%s: %s\n%s", path, wrong, ptx);
            free(ptx);
        }
        *(refused ? left : ran) += 1;
    }
}

static void check_program(hilo_client *client, const char *path, const char *text, size_t n, int *ran, int *left) {
    hilo_module *module = NULL;
    hilo_compile_options o;
    struct strbuf kernels;
    hilo_compile_options_init(&o);
    o.target_cpu = target.name;
    o.level = 1;
    strbuf_init(&kernels, mem_system_allocator());
    if (hilo_module_parse(client, text, n, NULL, &module) == HILO_OK &&
        compile_text(client, module, &o, CODE_KIR, &kernels) == HILO_OK)
        check_kernels(path, kernels.p, kernels.n, ran, left);
    hilo_module_release(module);
    strbuf_free(&kernels);
    hilo_diagnostics_clear(client);
}

/* The programs of a file are divided by lines `// -----`. */
static void check_file(hilo_client *client, const char *path, int *ran, int *left) {
    static const char divider[] = "\n// -----";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20), *at = text, *end;
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    do {
        end = strstr(at, divider);
        check_program(client, path, at, end ? (size_t)(end - at) : strlen(at), ran, left);
        at = end + strlen(divider);
    } while (end);
    free(text);
}

static void test_programs(void **state) {
    (void)state;
    DIR *dir = opendir("tests/op");
    hilo_client *client;
    int ran = 0, left = 0;
    most_steps = UINT64_C(1) << 22;
    assert_non_null(dir);
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[512];
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".mlir") != 0)
            continue;
        snprintf(path, sizeof path, "tests/op/%s", e->d_name);
        check_file(client, path, &ran, &left);
    }
    closedir(dir);
    hilo_client_release(client);
    print_message("%d kernels ran as PTX, %d are too large or have indices that random data does not fit\n", ran, left);
    assert_true(ran > 2 * left);
}

static int open_target(void **state) {
    (void)state;
    set_target("sm_80");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic), cmocka_unit_test(test_shapes),  cmocka_unit_test(test_products),
        cmocka_unit_test(test_units),   cmocka_unit_test(test_warpgroups), cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_gemv),
        cmocka_unit_test(test_decode),  cmocka_unit_test(test_attention),  cmocka_unit_test(test_into),
        cmocka_unit_test(test_launch),  cmocka_unit_test(test_planted),    cmocka_unit_test(test_programs)};
    return setjmp(out_of_memory) ? 1 : cmocka_run_group_tests(tests, open_target, NULL);
}
