/* The number of cores may decide how work is divided, but never the order of a sum: bits are those of a machine of one core. */
#include "lower/lower.h"
#include "read/text/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BYTES = 1 << 21 };

struct tried {
    uint8_t *out;
    size_t bytes;
    int64_t tasks; /* of the last kernel */
};

static bool lowers(void *user, ir_op op) {
    return lower_supports(user, op);
}

static float first_number(size_t byte) {
    return (float)(byte * 2654435761u % 2001) / 997.0f - 1.0f;
}

/* The memory of a value or temporary, at first numbers whose sums are rounded. */
static void *memory_of(struct arena *a, void **memory, size_t bytes) {
    if (*memory)
        return *memory;
    uint8_t *p = *memory = arena_alloc(a, bytes, 64);
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        float x = first_number(i);
        memcpy(p + i, &x, 4);
    }
    return p;
}

/* Runs the kernels of the first cluster of `text` for a machine, on numbers that do not depend on it; of the last kernel only
   the first of `parts` of the tasks. */
static void run(const char *text, const struct target *t, int64_t parts, struct tried *out) {
    struct diag_list d;
    struct arena a;
    struct lowered lowered = {.nkernels = 0};
    jmp_buf here;
    diag_init(&d, mem_system_allocator());
    arena_init(&a, mem_system_allocator(), &here);
    if (setjmp(here) != 0)
        fail_msg("out of memory");
    struct ir_module *m = ir_module_new(mem_system_allocator(), &here);
    assert_int_equal(read_text(m, &d, str_of(text), 1), HILO_OK);
    ir_block block = ir_region_get(m, ir_op_region(m, ir_module_symbol(m, STR("main")), 0))->first;
    struct fuse_block f;
    struct fuse_options o = {.level = 2, .target = t, .lowers = lowers, .user = m};
    fuse_block(&a, m, block, &o, &f);
    assert_int_equal(f.steps.n, 1);
    lower_kernel(&a, m, &f, block, f.steps.v[0].kernel, t, &lowered);
    void *value[256] = {NULL}, *temp[16] = {NULL};
    for (uint32_t i = lowered.nkernels; i-- > 0;) {
        const struct lowered_kernel *l = &lowered.kernels[i];
        void *buffers[32] = {NULL};
        assert_true(l->params.n <= 32 && kir_run_passes(l->kernel, NULL, NULL, &d) == HILO_OK);
        for (uint32_t j = 0, at = 0; j < l->params.n; j++, at++) {
            const struct lower_param *p = &l->params.v[j];
            while (l->kernel->buffers.v[at].role == KIR_SCRATCH)
                at++;
            bool is_temp = IR_NONE(p->v);
            size_t bytes = (size_t)l->kernel->buffers.v[at].count * ir_dtype_get(l->kernel->buffers.v[at].dtype)->bytes;
            assert_true(bytes <= BYTES && (is_temp ? p->temp < 16 : p->v.i < 256));
            buffers[j] = memory_of(&a, is_temp ? &temp[p->temp] : &value[p->v.i], bytes);
            if (i == 0 && p->role == KIR_OUT) {
                out->bytes = bytes;
                out->out = buffers[j];
            }
        }
        out->tasks = kir_grid_extent(l->kernel);
        int64_t end = i == 0 ? out->tasks / parts : out->tasks;
        assert_true(kir_run(l->kernel, buffers, arena_alloc(&a, l->kernel->scratch_bytes + 64, 64), 0, end, &d));
    }
    uint8_t *copy = malloc(out->bytes);
    assert_non_null(copy);
    memcpy(copy, out->out, out->bytes);
    out->out = copy;
    lowered_free(&lowered);
    ir_module_free(m);
    arena_free(&a);
    diag_clear(&d);
}

static const struct {
    const char *name, *text;
    bool divided; /* with narrow vectors into more tasks for 64 cores than for one */
} programs[] = {
    {"blocks",
     "func.func @main(%a: tensor<30x8xf32>, %b: tensor<8x1600xf32>) -> tensor<30x1600xf32> {\n"
     "  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
     "      : (tensor<30x8xf32>, tensor<8x1600xf32>) -> tensor<30x1600xf32>\n"
     "  return %c : tensor<30x1600xf32>\n}\n", true},
    {"slabs",
     "func.func @main(%a: tensor<30x500xf32>, %b: tensor<500x20xf32>) -> tensor<30x20xf32> {\n"
     "  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
     "      : (tensor<30x500xf32>, tensor<500x20xf32>) -> tensor<30x20xf32>\n"
     "  return %c : tensor<30x20xf32>\n}\n", false},
    {"transposed blocks",
     "func.func @main(%a: tensor<90x30xf32>, %b: tensor<40x90xf32>) -> tensor<30x40xf32> {\n"
     "  %c = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1]\n"
     "      : (tensor<90x30xf32>, tensor<40x90xf32>) -> tensor<30x40xf32>\n"
     "  return %c : tensor<30x40xf32>\n}\n", false},
    {"few rows",
     "func.func @main(%a: tensor<2x1000xf32>, %b: tensor<1000x40xf32>) -> tensor<2x40xf32> {\n"
     "  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
     "      : (tensor<2x1000xf32>, tensor<1000x40xf32>) -> tensor<2x40xf32>\n"
     "  return %c : tensor<2x40xf32>\n}\n", false},
    {"few rows, along the sum",
     "func.func @main(%a: tensor<3x700xf32>, %b: tensor<90x700xf32>) -> tensor<3x90xf32> {\n"
     "  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]\n"
     "      : (tensor<3x700xf32>, tensor<90x700xf32>) -> tensor<3x90xf32>\n"
     "  return %c : tensor<3x90xf32>\n}\n", false},
    {"batch",
     "func.func @main(%a: tensor<9x12x20xf32>, %b: tensor<9x20x12xf32>) -> tensor<9x12x12xf32> {\n"
     "  %c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]\n"
     "      : (tensor<9x12x20xf32>, tensor<9x20x12xf32>) -> tensor<9x12x12xf32>\n"
     "  return %c : tensor<9x12x12xf32>\n}\n", false},
    {"convolution",
     "func.func @main(%a: tensor<1x14x15x8xf32>, %b: tensor<3x3x8x70xf32>) -> tensor<1x14x15x70xf32> {\n"
     "  %c = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n"
     "      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
     "      : (tensor<1x14x15x8xf32>, tensor<3x3x8x70xf32>) -> tensor<1x14x15x70xf32>\n"
     "  return %c : tensor<1x14x15x70xf32>\n}\n", true},
    {"depthwise convolution",
     "func.func @main(%a: tensor<1x14x70x40xf32>, %b: tensor<3x3x1x40xf32>) -> tensor<1x14x70x40xf32> {\n"
     "  %c = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n"
     "      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 40 : i64}\n"
     "      : (tensor<1x14x70x40xf32>, tensor<3x3x1x40xf32>) -> tensor<1x14x70x40xf32>\n"
     "  return %c : tensor<1x14x70x40xf32>\n}\n", true},
    {"depthwise convolution, channels first",
     "func.func @main(%a: tensor<1x6x75x70xf32>, %b: tensor<6x1x3x3xf32>) -> tensor<1x6x38x35xf32> {\n"
     "  %c = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],\n"
     "      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64}\n"
     "      : (tensor<1x6x75x70xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x38x35xf32>\n"
     "  return %c : tensor<1x6x38x35xf32>\n}\n", true},
    {"rows",
     "func.func @main(%a: tensor<3x1500xf32>) -> tensor<3xf32> {\n"
     "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "  %c = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]\n"
     "      : (tensor<3x1500xf32>, tensor<f32>) -> tensor<3xf32>\n"
     "  return %c : tensor<3xf32>\n}\n", false},
};

static void cores(void **state) {
    static const char *const names[] = {"x86-64-v2", "x86-64-v4"};
    static const uint32_t counts[] = {1, 2, 16, 64};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
            struct diag_list d;
            struct target t;
            struct tried first = {NULL, 0, 0}, other;
            diag_init(&d, mem_system_allocator());
            assert_int_equal(target_named(names[n], &t, &d), HILO_OK);
            t.l2_bytes = 48 << 10; /* blocks are small, so that there are several */
            for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
                t.cores = counts[k];
                run(programs[i].text, &t, 1, k ? &other : &first);
                if (!k)
                    continue;
                if (other.bytes != first.bytes || memcmp(other.out, first.out, first.bytes) != 0)
                    fail_msg("%s, %s: other bits for %u cores", programs[i].name, names[n], counts[k]);
                if (!TORTURE && counts[k] == 64 && programs[i].divided && t.vector_bytes == 16)
                    assert_true(other.tasks > first.tasks);
                free(other.out);
            }
            free(first.out);
            diag_clear(&d);
        }
}

/* The first half of a grid, which the first of two threads begins with, is the first half of an image that is larger than the
   weights, and of the features where these are. */
static void halves(void **state) {
    static const struct {
        const char *text;
        size_t pixels, features;
        bool by_rows;
    } images[] = {
        {"func.func @main(%a: tensor<1x16x16x32xf32>, %b: tensor<1x1x32x128xf32>) -> tensor<1x16x16x128xf32> {\n"
         "  %c = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}\n"
         "      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
         "      : (tensor<1x16x16x32xf32>, tensor<1x1x32x128xf32>) -> tensor<1x16x16x128xf32>\n"
         "  return %c : tensor<1x16x16x128xf32>\n}\n", 256, 128, true},
        {"func.func @main(%a: tensor<1x4x4x512xf32>, %b: tensor<1x1x512x128xf32>) -> tensor<1x4x4x128xf32> {\n"
         "  %c = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}\n"
         "      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
         "      : (tensor<1x4x4x512xf32>, tensor<1x1x512x128xf32>) -> tensor<1x4x4x128xf32>\n"
         "  return %c : tensor<1x4x4x128xf32>\n}\n", 16, 128, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        size_t pixels = images[i].pixels, features = images[i].features, all = pixels * features, written[2] = {0, 0};
        struct diag_list d;
        struct target t;
        struct tried half = {NULL, 0, 0};
        diag_init(&d, mem_system_allocator());
        assert_int_equal(target_named("x86-64-v4", &t, &d), HILO_OK);
        t.cores = 2;
        run(images[i].text, &t, 2, &half);
        assert_true(half.tasks > 1 && half.bytes == all * sizeof(float));
        for (size_t k = 0; k < all; k++) {
            float x, before = first_number(k * sizeof x);
            memcpy(&x, half.out + k * sizeof x, sizeof x);
            written[images[i].by_rows ? k / features >= pixels / 2 : k % features >= features / 2] += x != before;
        }
        assert_true(written[0] > all * 3 / 8 && written[1] < all / 8); /* a task may be in both */
        free(half.out);
        diag_clear(&d);
    }
}

/* Long rows are reduced several at once, the last ones too where their number is not a multiple of that; the sum of a row does
   not depend on the number of rows. */
static void rows_together(void **state) {
    static const char *const reduces[] = {
        "func.func @main(%a: tensor<67x2100xf32>) -> tensor<67xf32> {\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %c = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]\n"
        "      : (tensor<67x2100xf32>, tensor<f32>) -> tensor<67xf32>\n"
        "  return %c : tensor<67xf32>\n}\n",
        "func.func @main(%a: tensor<7x2100xf32>) -> tensor<7xf32> {\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %c = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]\n"
        "      : (tensor<7x2100xf32>, tensor<f32>) -> tensor<7xf32>\n"
        "  return %c : tensor<7xf32>\n}\n",
    };
    struct diag_list d;
    struct target t;
    struct tried many, few;
    (void)state;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(target_named("x86-64-v4", &t, &d), HILO_OK);
    run(reduces[0], &t, 1, &many);
    run(reduces[1], &t, 1, &few);
    assert_true(many.tasks == 17 && few.tasks == 7);
    assert_true(many.bytes == 67 * sizeof(float) && few.bytes == 7 * sizeof(float));
    assert_memory_equal(many.out, few.out, few.bytes);
    float last, before = first_number(66 * sizeof(float));
    memcpy(&last, many.out + 66 * sizeof last, sizeof last);
    assert_true(last != before);
    free(many.out);
    free(few.out);
    diag_clear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cores), cmocka_unit_test(halves), cmocka_unit_test(rows_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
