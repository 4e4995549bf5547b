/* sort and top_k against the evaluator. */
#include "library_test.h"

static const char *const types[] = {"i1",       "i4",   "i8",   "i32",      "i64",    "ui2",           "ui8",
                                    "ui16",     "ui32", "ui64", "f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ", "f8E8M0FNU",
                                    "f4E2M1FN", "bf16", "f16",  "f32",      "f64"};
enum { TYPES = sizeof types / sizeof *types };

static const char *compare_type(const char *type, bool total) {
    if (strchr(type, 'f'))
        return total ? ", TOTALORDER" : ", FLOAT";
    return type[0] == 'u' || strcmp(type, "i1") == 0 ? ", UNSIGNED" : ", SIGNED";
}

/* One key, the first operand; a payload of `payload` after it unless that is NULL. */
static void one_key(const char *type, const char *payload, const char *shape, int dim, const char *direction, bool total) {
    const char *t = type, *text;
    if (payload)
        text =
            program("func.func @main(%%a: tensor<%s%s>, %%b: tensor<%s%s>) -> (tensor<%s%s>, tensor<%s%s>) {\n"
                    "  %%r:2 = \"stablehlo.sort\"(%%a, %%b) <{dimension = %d : i64, is_stable = true}> ({\n"
                    "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>, %%p: tensor<%s>, %%q: tensor<%s>):\n"
                    "    %%c = stablehlo.compare %s, %%x, %%y%s : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                    "    stablehlo.return %%c : tensor<i1>\n"
                    "  }) : (tensor<%s%s>, tensor<%s%s>) -> (tensor<%s%s>, tensor<%s%s>)\n"
                    "  return %%r#0, %%r#1 : tensor<%s%s>, tensor<%s%s>\n}\n",
                    shape, t, shape, payload, shape, t, shape, payload, dim, t, t, payload, payload, direction,
                    compare_type(t, total), t, t, shape, t, shape, payload, shape, t, shape, payload, shape, t, shape, payload);
    else
        text = program("func.func @main(%%a: tensor<%s%s>) -> tensor<%s%s> {\n"
                       "  %%r = \"stablehlo.sort\"(%%a) <{dimension = %d : i64, is_stable = true}> ({\n"
                       "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n"
                       "    %%c = stablehlo.compare %s, %%x, %%y%s : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                       "    stablehlo.return %%c : tensor<i1>\n"
                       "  }) : (tensor<%s%s>) -> tensor<%s%s>\n"
                       "  return %%r : tensor<%s%s>\n}\n",
                       shape, t, shape, t, dim, t, t, direction, compare_type(t, total), t, t, shape, t, shape, t, shape, t);
    routine_check(&(struct routine_case){.text = text, .kind = IR_SORT, .fill = {FILL_SPECIAL}, .seed = 7});
}

/* Every type, direction and comparison, with a payload that shows the order of equal keys. */
static void test_types(void **state) {
    (void)state;
    static const char *const directions[] = {"LT", "GT", "LE", "GE"};
    for (int t = 0; t < TYPES; t++)
        for (int d = 0; d < 4; d++)
            for (int total = 0; total < 2; total++) {
                one_key(types[t], "i32", "300x", 0, directions[d], total);
                one_key(types[t], "i16", "70x", 0, directions[d], total);
            }
}

static void test_lengths(void **state) {
    (void)state;
    static const char *const shapes[] = {"0x",   "1x",   "2x",    "3x0x",  "17x",    "100x",
                                         "255x", "256x", "2047x", "2048x", "40000x", "5x37x"};
    static const char *const payloads[] = {NULL, "i8", "i32", "i64", "complex<f64>"};
    for (int s = 0; s < 12; s++)
        for (int p = 0; p < 5; p++) {
            one_key("f32", payloads[p], shapes[s], strchr(strchr(shapes[s], 'x') + 1, 'x') ? 1 : 0, "LT", true);
            one_key("f64", payloads[p], shapes[s], 0, "GT", false);
        }
}

static void test_packed_types(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        one_key(types[t], NULL, "2500x", 0, "LT", true);
        one_key(types[t], "ui16", "2500x", 0, "GE", true);
    }
    one_key("f32", NULL, "33000x", 0, "GE", true);
    one_key("f32", NULL, "33000x", 0, "LT", false);
}

static void test_dimensions(void **state) {
    (void)state;
    for (int dim = 0; dim < 3; dim++) {
        one_key("f32", "i32", "6x50x7x", dim, "LT", true);
        one_key("bf16", NULL, "3x4x90x", dim, "GT", false);
    }
    one_key("i32", "i32", "2100x3x", 0, "LT", true);
}

/* What JAX writes for `num_keys` keys of floats. */
#define CANONICAL(x, t, nan)                                                                                                   \
    "    %z" x " = stablehlo.constant dense<0.0> : tensor<" t ">\n"                                                            \
    "    %e" x " = stablehlo.compare EQ, %" x ", %z" x ", FLOAT : (tensor<" t ">, tensor<" t ">) -> tensor<i1>\n"              \
    "    %s" x " = stablehlo.select %e" x ", %z" x ", %" x " : tensor<i1>, tensor<" t ">\n"                                    \
    "    %n" x " = stablehlo.compare NE, %" x ", %" x ", FLOAT : (tensor<" t ">, tensor<" t ">) -> tensor<i1>\n"               \
    "    %q" x " = stablehlo.constant dense<" nan "> : tensor<" t ">\n"                                                        \
    "    %k" x " = stablehlo.select %n" x ", %q" x ", %s" x " : tensor<i1>, tensor<" t ">\n"

static void test_jax(void **state) {
    (void)state;
    static const char *const sizes[] = {"9", "500", "3000", "33000"};
    for (int i = 0; i < 4; i++) {
        const char *n = sizes[i];
        routine_check(&(struct routine_case){
            .kind = IR_SORT,
            .fill = {FILL_SPECIAL},
            .seed = 3,
            .text = program("func.func @main(%%a: tensor<%sxf32>) -> tensor<%sxf32> {\n"
                            "  %%r = \"stablehlo.sort\"(%%a) <{dimension = 0 : i64}> ({\n"
                            "  ^bb0(%%1: tensor<f32>, %%2: tensor<f32>):\n%s%s"
                            "    %%c = stablehlo.compare LT, %%k1, %%k2, TOTALORDER\n"
                            "      : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                            "    stablehlo.return %%c : tensor<i1>\n"
                            "  }) : (tensor<%sxf32>) -> tensor<%sxf32>\n  return %%r : tensor<%sxf32>\n}\n",
                            n, n, CANONICAL("1", "f32", "0x7FC00000"), CANONICAL("2", "f32", "0x7FC00000"), n, n, n)});
        routine_check(&(struct routine_case){
            .kind = IR_SORT,
            .fill = {FILL_SPECIAL, FILL_SMALL, FILL_PLAIN},
            .seed = 4,
            .text = program(
                "func.func @main(%%a: tensor<%sxbf16>, %%b: tensor<%sxi64>, %%c: tensor<%sxi8>)\n"
                "    -> (tensor<%sxbf16>, tensor<%sxi64>, tensor<%sxi8>) {\n"
                "  %%r:3 = \"stablehlo.sort\"(%%a, %%b, %%c) <{dimension = 0 : i64}> ({\n"
                "  ^bb0(%%1: tensor<bf16>, %%2: tensor<bf16>, %%3: tensor<i64>, %%4: tensor<i64>,\n"
                "    %%5: tensor<i8>, %%6: tensor<i8>):\n"
                "%s%s"
                "    %%l = stablehlo.compare LT, %%3, %%4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                "    %%f = stablehlo.compare LT, %%k1, %%k2, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>\n"
                "    %%e = stablehlo.compare EQ, %%k1, %%k2, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>\n"
                "    %%g = stablehlo.and %%e, %%l : tensor<i1>\n"
                "    %%h = stablehlo.or %%f, %%g : tensor<i1>\n"
                "    stablehlo.return %%h : tensor<i1>\n"
                "  }) : (tensor<%sxbf16>, tensor<%sxi64>, tensor<%sxi8>) -> (tensor<%sxbf16>, tensor<%sxi64>, tensor<%sxi8>)\n"
                "  return %%r#0, %%r#1, %%r#2 : tensor<%sxbf16>, tensor<%sxi64>, tensor<%sxi8>\n}\n",
                n, n, n, n, n, n, CANONICAL("1", "bf16", "0xFFC0"), CANONICAL("2", "bf16", "0xFFC0"), n, n, n, n, n, n, n, n,
                n)});
    }
}

/* By parts of complex numbers, the second one from large to small, by selects; equal pairs count as less. */
static void test_complex(void **state) {
    (void)state;
    routine_check(&(struct routine_case){
        .kind = IR_SORT,
        .fill = {FILL_SPECIAL},
        .seed = 5,
        .text = "func.func @main(%a: tensor<40x50xcomplex<f32>>) -> tensor<40x50xcomplex<f32>> {\n"
                "  %r = \"stablehlo.sort\"(%a) <{dimension = 1 : i64}> ({\n"
                "  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):\n"
                "    %p = stablehlo.real %x : (tensor<complex<f32>>) -> tensor<f32>\n"
                "    %q = stablehlo.real %y : (tensor<complex<f32>>) -> tensor<f32>\n"
                "    %s = stablehlo.imag %x : (tensor<complex<f32>>) -> tensor<f32>\n"
                "    %t = stablehlo.imag %y : (tensor<complex<f32>>) -> tensor<f32>\n"
                "    %e = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                "    %l = stablehlo.compare GT, %q, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                "    %m = stablehlo.compare GE, %s, %t, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                "    %c = stablehlo.select %e, %m, %l : tensor<i1>, tensor<i1>\n"
                "    stablehlo.return %c : tensor<i1>\n"
                "  }) : (tensor<40x50xcomplex<f32>>) -> tensor<40x50xcomplex<f32>>\n"
                "  return %r : tensor<40x50xcomplex<f32>>\n}\n"});
}

static void top_k(const char *type, const char *shape, const char *lines, int n, int k) {
    routine_check(&(struct routine_case){
        .kind = IR_TOP_K,
        .fill = {FILL_SPECIAL},
        .seed = 6,
        .text = program("func.func @main(%%a: tensor<%s%dx%s>) -> (tensor<%s%dx%s>, tensor<%s%dxi32>) {\n"
                        "  %%v, %%i = chlo.top_k(%%a, k = %d) : tensor<%s%dx%s> -> (tensor<%s%dx%s>, tensor<%s%dxi32>)\n"
                        "  return %%v, %%i : tensor<%s%dx%s>, tensor<%s%dxi32>\n}\n",
                        shape, n, type, lines, k, type, lines, k, k, shape, n, type, lines, k, type, lines, k, lines, k, type,
                        lines, k)});
}

static void test_top_k(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {7, 0}, {20, 20}, {1000, 1}, {1000, 64}, {3000, 300}, {3000, 2999}, {9000, 5}};
    for (int t = 0; t < TYPES; t++)
        for (int s = 0; s < 8; s++)
            top_k(types[t], "3x", "3x", sizes[s][0], sizes[s][1]);
    top_k("f32", "", "", 5000, 40);
    top_k("f32", "0x", "0x", 50, 4);
    top_k("i64", "2x70x", "2x70x", 33, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),      cmocka_unit_test(test_lengths), cmocka_unit_test(test_packed_types),
        cmocka_unit_test(test_dimensions), cmocka_unit_test(test_jax),     cmocka_unit_test(test_complex),
        cmocka_unit_test(test_top_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
