/* reduce_window, its running forms, and select_and_scatter against the evaluator. */
#include "library_test.h"

static const struct check_rule same_numbers = {.how = CHECK_ULP};

struct pooling {
    const char *type, *op;
    const char *init; /* NULL: an argument */
    const char *in, *out;
    const char *size, *stride, *padding, *base, *dilation; /* the last two may be NULL */
};

static void reduce_window(const struct pooling *p, enum fill fill, const struct check_rule *rule) {
    static char text[4096];
    int rank = 1;
    char ones[64] = "1";
    for (const char *c = p->in; (c = strchr(c, 'x')) && strchr(c + 1, 'x'); c++, rank++)
        strcat(ones, ", 1");
    snprintf(
        text, sizeof text,
        "func.func @main(%%a: tensor<%s%s>%s%s%s) -> tensor<%s%s> {\n%s%s%s%s%s%s"
        "  %%r = \"stablehlo.reduce_window\"(%%a, %%i) <{window_dimensions = array<i64: %s>, window_strides = array<i64: %s>,\n"
        "    padding = dense<[%s]> : tensor<%dx2xi64>, base_dilations = array<i64: %s>, window_dilations = array<i64: %s>}> "
        "({\n"
        "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n"
        "    %%c = stablehlo.%s %%x, %%y : tensor<%s>\n"
        "    stablehlo.return %%c : tensor<%s>\n"
        "  }) : (tensor<%s%s>, tensor<%s>) -> tensor<%s%s>\n"
        "  return %%r : tensor<%s%s>\n}\n",
        p->in, p->type, p->init ? "" : ", %i: tensor<", p->init ? "" : p->type, p->init ? "" : ">", p->out, p->type,
        p->init ? "  %i = stablehlo.constant dense<" : "", p->init ? p->init : "", p->init ? "> : tensor<" : "",
        p->init ? p->type : "", p->init ? ">" : "", p->init ? "\n" : "", p->size, p->stride, p->padding, rank,
        p->base ? p->base : ones, p->dilation ? p->dilation : ones, p->type, p->type, p->op, p->type, p->type, p->in, p->type,
        p->type, p->out, p->type, p->out, p->type);
    routine_check(
        &(struct routine_case){.text = text, .kind = IR_REDUCE_WINDOW, .fill = {fill, FILL_SMALL}, .rule = *rule, .seed = 11});
}

static void test_pooling(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "bf16", "f8E5M2", "i32", "i8"};
    static const char *const ops[] = {"add", "maximum", "minimum", "multiply"};
    for (int t = 0; t < 6; t++)
        for (int o = 0; o < 4; o++)
            for (int init = 0; init < 2; init++) {
                const char *zero = !init ? NULL : t < 4 ? "0.0" : "0";
                const struct pooling shapes[] = {
                    {types[t], ops[o], zero, "2x7x9x5x", "2x4x5x5x", "1, 3, 3, 1", "1, 2, 2, 1",
                     "[0, 0], [1, 1], [1, 1], [0, 0]", NULL, NULL},
                    {types[t], ops[o], zero, "2x3x8x19x", "2x3x4x10x", "1, 1, 2, 3", "1, 1, 2, 2",
                     "[0, 0], [0, 0], [0, 0], [2, 0]", NULL, NULL},
                    {types[t], ops[o], zero, "5x6x", "6x14x", "2, 3", "1, 1", "[1, 1], [1, 4]", "1, 2", "1, 1"},
                    {types[t], ops[o], zero, "4x9x", "2x11x", "2, 3", "2, 3", "[-1, 1], [5, 6]", "1, 3", "1, 2"},
                    {types[t], ops[o], zero, "300x", "298x", "3", "1", "[0, 0]", NULL, NULL},
                    {types[t], ops[o], zero, "4x0x", "5x2x", "2, 3", "1, 1", "[1, 1], [2, 2]", NULL, NULL},
                    {types[t], ops[o], zero, "0x4x", "0x4x", "1, 1", "1, 1", "[0, 0], [0, 0]", NULL, NULL},
                };
                for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                    reduce_window(&shapes[s], FILL_SPECIAL, &same_numbers);
            }
    reduce_window(&(struct pooling){"f32", "maximum", "0xFF800000", "3x40x40x33x", "3x20x20x33x", "1, 3, 3, 1", "1, 2, 2, 1",
                                    "[0, 0], [0, 1], [0, 1], [0, 0]", NULL, NULL},
                  FILL_SPECIAL, &same_numbers);
    reduce_window(&(struct pooling){"f32", "add", "-0.0", "20000x", "19991x", "10", "1", "[0, 0]", NULL, NULL}, FILL_PLAIN,
                  &same_numbers);
    reduce_window(&(struct pooling){"i1", "or", "false", "9x9x", "9x9x", "3, 3", "1, 1", "[1, 1], [1, 1]", NULL, NULL},
                  FILL_PLAIN, &same_numbers);
    reduce_window(&(struct pooling){"complex<f32>", "add", NULL, "9x9x", "9x9x", "3, 3", "1, 1", "[1, 1], [1, 1]", NULL, NULL},
                  FILL_PLAIN, &same_numbers);
}

/* Along a dimension of n elements of [outer, n, inner], from the front or the back. */
static void cumulate(const char *type, const char *op, const char *init, int outer, int n, int inner, bool backwards,
                     enum fill fill, const struct check_rule *rule) {
    char shape[64], size[64], padding[64];
    snprintf(shape, sizeof shape, "%dx%dx%dx", outer, n, inner);
    snprintf(size, sizeof size, "1, %d, 1", n);
    snprintf(padding, sizeof padding, "[0, 0], [%d, %d], [0, 0]", backwards ? 0 : n - 1, backwards ? n - 1 : 0);
    reduce_window(&(struct pooling){type, op, init, shape, shape, size, "1, 1, 1", padding, NULL, NULL}, fill, rule);
}

static void test_cumulate(void **state) {
    (void)state;
    static const struct {
        const char *type, *op, *init;
        bool rounds;
    } forms[] = {
        {"f32", "add", "0.0", true},
        {"f32", "multiply", "1.0", true},
        {"f32", "maximum", "0xFF800000", false},
        {"f64", "add", "0.0", true},
        {"f64", "minimum", "0x7FF0000000000000", false},
        {"f64", "multiply", "1.0", true},
        {"f32", "minimum", "1.5", false},
        {"f64", "maximum", "-0.0", false},
        {"bf16", "add", "0.0", false},
        {"f16", "maximum", "0.0", false},
        {"i8", "add", "0", false},
        {"ui16", "add", "0", false},
        {"i32", "add", "0", false},
        {"i32", "multiply", "1", false},
        {"i32", "maximum", "-7", false},
        {"ui32", "add", "0", false},
        {"i32", "minimum", "9", false},
        {"i64", "add", "0", false},
        {"ui64", "minimum", "9", false},
        {"i64", "maximum", "-9", false},
        {"i64", "multiply", "1", false},
        {"i64", "minimum", "4", false},
        {"i1", "and", "true", false},
        {"i1", "or", "false", false},
        {"ui8", "xor", "0", false},
        {"complex<f32>", "add", "(0.0, 0.0)", false},
        {"i4", "add", "0", false},
    };
    static const int shapes[][3] = {{1, 1, 1},     {3, 50, 1},     {2, 20, 7}, {2, 40000, 1}, {1, 16384, 1},
                                    {1, 70000, 1}, {1, 300, 1100}, {0, 4, 1},  {2, 3, 0}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int backwards = 0; backwards < 2; backwards++) {
                bool rounds = forms[f].rounds && shapes[s][1] > 10000;
                bool product = strcmp(forms[f].op, "multiply") == 0;
                const struct check_rule close = {.how = CHECK_ALMOST, .tolerance = strcmp(forms[f].type, "f64") ? 0.1 : 1e-9};
                cumulate(forms[f].type, forms[f].op, forms[f].init, shapes[s][0], shapes[s][1], shapes[s][2], backwards,
                         rounds    ? FILL_PLAIN
                         : product ? FILL_SMALL
                                   : FILL_SPECIAL,
                         rounds ? &close : &same_numbers);
            }
}

static void select_and_scatter(const char *type, const char *direction, const char *scatter, const char *in, const char *source,
                               const char *size, const char *stride, const char *padding) {
    bool number = strchr(type, 'f') != NULL;
    int rank = 0;
    for (const char *c = in; (c = strchr(c, 'x')); c++)
        rank++;
    routine_check(&(struct routine_case){
        .kind = IR_SELECT_AND_SCATTER,
        .fill = {FILL_SPECIAL, FILL_PLAIN, FILL_SMALL},
        .rule = same_numbers,
        .seed = 12,
        .text = program("func.func @main(%%a: tensor<%s%s>, %%s: tensor<%s%s>, %%i: tensor<%s>) -> tensor<%s%s> {\n"
                        "  %%r = \"stablehlo.select_and_scatter\"(%%a, %%s, %%i) <{window_dimensions = array<i64: %s>,\n"
                        "    window_strides = array<i64: %s>, padding = dense<[%s]> : tensor<%dx2xi64>}> ({\n"
                        "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n"
                        "    %%c = stablehlo.compare %s, %%x, %%y, %s : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                        "    stablehlo.return %%c : tensor<i1>\n  }, {\n"
                        "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n"
                        "    %%c = stablehlo.%s %%x, %%y : tensor<%s>\n"
                        "    stablehlo.return %%c : tensor<%s>\n"
                        "  }) : (tensor<%s%s>, tensor<%s%s>, tensor<%s>) -> tensor<%s%s>\n"
                        "  return %%r : tensor<%s%s>\n}\n",
                        in, type, source, type, type, in, type, size, stride, padding, rank, type, type, direction,
                        number ? "FLOAT" : "SIGNED", type, type, type, type, scatter, type, type, in, type, source, type, type,
                        in, type, in, type)});
}

static void test_select_and_scatter(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "bf16", "i32", "i8"};
    static const char *const directions[] = {"GE", "LT", "GT", "EQ"};
    for (int t = 0; t < 5; t++)
        for (int d = 0; d < 4; d++) {
            select_and_scatter(types[t], directions[d], "add", "2x9x8x5x", "2x4x4x5x", "1, 3, 2, 1", "1, 2, 2, 1",
                               "[0, 0], [0, 0], [0, 0], [0, 0]");
            select_and_scatter(types[t], directions[d], "add", "2x7x8x300x", "2x4x4x300x", "1, 3, 3, 1", "1, 2, 2, 1",
                               "[0, 0], [1, 1], [1, 1], [0, 0]");
            select_and_scatter(types[t], directions[d], "add", "2x3x8x9x", "2x3x4x8x", "1, 1, 2, 2", "1, 1, 2, 1",
                               "[0, 0], [0, 0], [0, 0], [0, 0]");
            select_and_scatter(types[t], directions[d], "maximum", "700x", "351x", "2", "2", "[1, 1]");
            select_and_scatter(types[t], directions[d], "subtract", "5x6x", "5x5x", "3, 2", "1, 1", "[1, 1], [0, 0]");
        }
    select_and_scatter("f32", "GE", "add", "0x6x", "0x3x", "1, 2", "1, 2", "[0, 0], [0, 0]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_cumulate),
        cmocka_unit_test(test_select_and_scatter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
