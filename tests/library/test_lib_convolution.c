/* convolution and dot_general against the evaluator. */
#include "library_test.h"

struct convolution {
    const char *numbers, *window; /* window: what is between the braces */
    int feature_groups, batch_groups;
    const char *x, *w, *y; /* shapes */
};

static void convolve(const struct convolution *v, const char *type, const char *result) {
    double close = strcmp(type, "f64") == 0     ? 1e-12
                   : strcmp(result, "f32") == 0 ? 1e-4
                                                : 0.3; /* bf16 and f16 of sums around 50 */
    routine_check(&(struct routine_case){
        .kind = IR_CONVOLUTION,
        .fill = {FILL_PLAIN, FILL_PLAIN},
        .seed = 51,
        .rule = {.how = CHECK_ALMOST, .tolerance = close},
        .text = program("func.func @main(%%x: tensor<%s%s>, %%w: tensor<%s%s>) -> tensor<%s%s> {\n"
                        "  %%r = stablehlo.convolution(%%x, %%w) dim_numbers = %s, window = {%s}\n"
                        "    {batch_group_count = %d : i64, feature_group_count = %d : i64}\n"
                        "    : (tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n  return %%r : tensor<%s%s>\n}\n",
                        v->x, type, v->w, type, v->y, result, v->numbers, v->window, v->batch_groups, v->feature_groups, v->x,
                        type, v->w, type, v->y, result, v->y, result)});
}

static void test_convolution(void **state) {
    (void)state;
    static const struct convolution forms[] = {
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 1], pad = [[1, 1], [2, 0]]", 1, 1, "2x9x8x5x", "3x3x5x7x",
         "2x5x8x7x"},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [1, 1], pad = [[0, 0], [0, 0]]", 1, 1, "1x14x14x40x",
         "3x3x40x33x", "1x12x12x33x"},
        {"[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "stride = [1, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [2, 1]", 1, 1,
         "2x6x9x10x", "20x6x3x3x", "2x20x7x5x"},
        {"[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]", "pad = [[2, 1], [2, 2]], lhs_dilate = [2, 3], reverse = [true, false]", 1,
         1, "2x5x4x6x", "3x3x4x6x", "2x10x12x4x"},
        {"[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "stride = [1, 1]", 1, 1, "4x8x9x3x", "4x6x7x5x", "3x3x3x5x"},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1], pad = [[3, 3]]", 3, 1, "2x20x6x", "4x2x9x", "2x23x9x"},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 8, 1, "2x20x8x", "3x1x8x", "2x18x8x"},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 1, 3, "6x20x5x", "3x5x9x", "2x18x9x"},
        {"[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]", "stride = [1, 2, 1], pad = [[0, 0], [1, 0], [-1, 1]]", 1, 1,
         "1x5x6x7x3x", "2x3x2x3x4x", "1x4x3x6x4x"},
        {"[b, f]x[i, o]->[b, f]", "", 1, 1, "100x300x", "300x270x", "100x270x"},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 1, 1, "2x3x4x", "5x4x6x", "2x0x6x"},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 1, 1, "0x9x4x", "5x4x6x", "0x5x6x"},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 1, 1, "2x9x0x", "5x0x6x", "2x5x6x"},
    };
    static const char *const types[][2] = {{"f32", "f32"}, {"f64", "f64"}, {"bf16", "bf16"}, {"f16", "f16"}, {"bf16", "f32"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            convolve(&forms[i], types[t][0], types[t][1]);
}

static void dot(const char *type, const char *numbers, const char *a, const char *b, const char *r) {
    double close = strcmp(type, "complex<f32>") == 0 ? 3e-3 : 1e-11;
    routine_check(&(struct routine_case){
        .kind = IR_DOT_GENERAL,
        .fill = {FILL_PLAIN, FILL_PLAIN},
        .seed = 52,
        .rule = {.how = CHECK_ALMOST, .tolerance = close},
        .text = program("func.func @main(%%a: tensor<%s%s>, %%b: tensor<%s%s>) -> tensor<%s%s> {\n"
                        "  %%r = stablehlo.dot_general %%a, %%b, %s : (tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n"
                        "  return %%r : tensor<%s%s>\n}\n",
                        a, type, b, type, r, type, numbers, a, type, b, type, r, type, r, type)});
}

static void test_dot_general(void **state) {
    (void)state;
    static const char *const types[] = {"f64", "complex<f32>", "complex<f64>"};
    for (int t = 0; t < 3; t++) {
        dot(types[t], "contracting_dims = [1] x [0]", "7x9x", "9x5x", "7x5x");
        dot(types[t], "contracting_dims = [0] x [1]", "300x80x", "70x300x", "80x70x");
        dot(types[t], "contracting_dims = [1] x [0]", "75x131x", "131x290x", "75x290x");
        dot(types[t], "batching_dims = [1, 0] x [0, 2], contracting_dims = [3] x [1]", "3x2x5x6x", "2x6x3x4x", "2x3x5x4x");
        dot(types[t], "contracting_dims = [0, 2] x [2, 0]", "4x3x5x", "5x7x4x", "3x7x");
        dot(types[t], "contracting_dims = [1, 2] x [0, 1]", "3x4x5x", "4x5x2x2x", "3x2x2x");
        dot(types[t], "contracting_dims = [] x []", "3x", "4x", "3x4x");
        dot(types[t], "contracting_dims = [0] x [0]", "30x", "30x", "");
        dot(types[t], "contracting_dims = [1] x [0]", "3x0x", "0x4x", "3x4x");
        dot(types[t], "contracting_dims = [1] x [0]", "0x2x", "2x4x", "0x4x");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_convolution), cmocka_unit_test(test_dot_general)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
