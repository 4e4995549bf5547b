/* The text reader's operations: every custom form means its generic form, names of values have their scopes, and
 * what is wrong is refused where it stands. */
#include "read/text/text.h"
#include "tests/tools/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- programs -------------------------------------------------------------------------------------------------- */

struct program {
    struct ir_module *m;
    struct diag_list d;
    hilo_status status;
};

static jmp_buf out_of_memory;

static struct program program_read(struct str text) {
    struct program x = {0};
    diag_init(&x.d, mem_system_allocator());
    x.m = ir_module_new(mem_system_allocator(), &out_of_memory);
    assert_non_null(x.m);
    x.m->name = STR("test.mlir");
    x.status = read_text(x.m, &x.d, text, 1);
    return x;
}

static void program_free(struct program *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
}

/* A program that must be right. */
static struct program program_ok(const char *text) {
    struct program x = program_read(str_of(text));
    if (x.status != HILO_OK)
        fail_msg("line %u column %u: %s\nin: %s", x.d.first->line, x.d.first->col, x.d.first->message, text);
    assert_null(x.d.first);
    return x;
}

/* The program in generic form; to be freed. */
static struct strbuf program_print(const struct program *x) {
    struct strbuf out;
    struct ir_print_options o = {.generic = true, .locations = true};
    strbuf_init(&out, mem_system_allocator());
    ir_print_module(x->m, &o, &out);
    assert_false(out.failed);
    return out;
}

static void assert_same_program(const char *a, const char *b) {
    struct program x = program_ok(a), y = program_ok(b);
    struct strbuf s = program_print(&x), t = program_print(&y);
    assert_string_equal(s.p, t.p);
    strbuf_free(&s);
    strbuf_free(&t);
    program_free(&x);
    program_free(&y);
}

/* The program is refused with one error at that place, whose message contains `part`. */
static void assert_refused(const char *text, uint32_t line, uint32_t col, const char *part) {
    struct program x = program_read(str_of(text));
    if (x.status != HILO_INVALID_ARGUMENT || x.d.errors != 1)
        fail_msg("status %d with %u errors for: %s", (int)x.status, x.d.errors, text);
    if (x.d.first->line != line || x.d.first->col != col || !strstr(x.d.first->message, part))
        fail_msg("%u:%u: %s\nexpected %u:%u: %s\nfor: %s", x.d.first->line, x.d.first->col, x.d.first->message, line, col,
                 part, text);
    program_free(&x);
}

/* An op in a function with arguments for most occasions. */
static void in_function(char *out, size_t size, const char *op) {
    int n = snprintf(out, size,
                     "func.func private @g(tensor<f32>) -> tensor<f32>\n"
                     "func.func @f(%%a: tensor<2x3xf32>, %%b: tensor<2x3xf32>, %%i: tensor<2x3xi32>, %%j: tensor<2x3xi32>,\n"
                     "             %%p: tensor<2x3xi1>, %%s: tensor<f32>, %%n: tensor<i64>, %%m: tensor<i64>,\n"
                     "             %%c: tensor<2x3xcomplex<f32>>, %%d: tensor<1xi64>, %%t: !stablehlo.token,\n"
                     "             %%q: tensor<2x2xf32>, %%u: tuple<tensor<f32>, tensor<i32>>, %%k: tensor<4x4x4x2xf32>,\n"
                     "             %%w: tensor<2x2x2x3xf32>, %%z: tensor<i32>) {\n"
                     "  %s\n"
                     "  return\n"
                     "}\n",
                     op);
    assert_in_range(n, 1, size - 1);
}

/* ---- forms ----------------------------------------------------------------------------------------------------- */

static void test_forms(void **state) {
    (void)state;
    static const struct { const char *custom, *generic; } rows[] = {
        {"%0 = stablehlo.abs %a : tensor<2x3xf32>", "%0 = \"stablehlo.abs\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.convert %a {x = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>",
         "%0 = \"stablehlo.convert\"(%a) {x = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>"},
        {"%0 = stablehlo.add %a, %b : tensor<2x3xf32>",
         "%0 = \"stablehlo.add\"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.create_token : !stablehlo.token", "%0 = \"stablehlo.create_token\"() : () -> !stablehlo.token"},
        {"%0 = stablehlo.after_all : !stablehlo.token", "%0 = \"stablehlo.after_all\"() : () -> !stablehlo.token"},
        {"%0 = stablehlo.after_all %t, %t : !stablehlo.token",
         "%0 = \"stablehlo.after_all\"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token"},
        {"%0 = stablehlo.iota dim = 1 : tensor<2x3xf32>",
         "%0 = \"stablehlo.iota\"() {iota_dimension = 1 : i64} : () -> tensor<2x3xf32>"},
        {"%0 = stablehlo.compare LT, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
         "%0 = \"stablehlo.compare\"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>"},
        {"%0 = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
         "%0 = \"stablehlo.compare\"(%a, %b) {compare_type = #stablehlo<comparison_type TOTALORDER>, "
         "comparison_direction = #stablehlo<comparison_direction GE>} : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>"},
        {"%0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>",
         "%0 = \"stablehlo.select\"(%p, %a, %b) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.complex %a, %b : tensor<2x3xcomplex<f32>>",
         "%0 = \"stablehlo.complex\"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>"},
        {"%0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>",
         "%0 = \"stablehlo.reduce_precision\"(%a) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : "
         "(tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>",
         "%0 = \"stablehlo.broadcast_in_dim\"(%s) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4xf32>"},
        {"%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>",
         "%0 = \"stablehlo.concatenate\"(%a, %b) {dimension = 0 : i64} : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>"},
        {"%0 = stablehlo.dynamic_slice %a, %n, %m, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> "
         "tensor<1x3xf32>",
         "%0 = \"stablehlo.dynamic_slice\"(%a, %n, %m) {slice_sizes = array<i64: 1, 3>} : "
         "(tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<1x3xf32>"},
        {"%0 = stablehlo.slice %a [0:1, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>",
         "%0 = \"stablehlo.slice\"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 3>, "
         "strides = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<1x2xf32>"},
        {"%0 = stablehlo.pad %a, %s, low = [0, 1], high = [2, 1], interior = [1, 2] : "
         "(tensor<2x3xf32>, tensor<f32>) -> tensor<5x9xf32>",
         "%0 = \"stablehlo.pad\"(%a, %s) {edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 2, 1>, "
         "interior_padding = array<i64: 1, 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x9xf32>"},
        {"%0 = stablehlo.dot %q, %a, precision = [HIGH, DEFAULT] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
         "%0 = \"stablehlo.dot\"(%q, %a) {precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : "
         "(tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>",
         "%0 = \"stablehlo.dot_general\"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
         "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>"},
        {"%0 = stablehlo.dot_general %q, %a, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = "
         "<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, "
         "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : "
         "(tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
         "%0 = \"stablehlo.dot_general\"(%q, %a) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
         "rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, "
         "#stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, "
         "rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
         "num_primitive_operations = 1, allow_imprecise_accumulation = false>} : "
         "(tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.convolution(%k, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = "
         "[1, 2], pad = [[0, 1], [2, 0]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 "
         ": i64} : (tensor<4x4x4x2xf32>, tensor<2x2x2x3xf32>) -> tensor<4x4x3x3xf32>",
         "%0 = \"stablehlo.convolution\"(%k, %w) {window_strides = array<i64: 1, 2>, padding = dense<[[0, 1], [2, 0]]> : "
         "tensor<2x2xi64>, window_reversal = array<i1: true, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, "
         "1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : "
         "(tensor<4x4x4x2xf32>, tensor<2x2x2x3xf32>) -> tensor<4x4x3x3xf32>"},
        {"%0 = stablehlo.cholesky %q, lower = true : tensor<2x2xf32>",
         "%0 = \"stablehlo.cholesky\"(%q) {lower = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>"},
        {"%0 = stablehlo.fft %c, type = FFT, length = [3] : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>",
         "%0 = \"stablehlo.fft\"(%c) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 3>} : "
         "(tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>"},
        {"%0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [1] : "
         "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>",
         "%0 = \"stablehlo.reduce\"(%a, %s) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
         "%1 = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %1 : tensor<f32>\n}) {dimensions = array<i64: 1>} : "
         "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>"},
        {"%0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [1] : "
         "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc(\"here\")",
         "%0 = \"stablehlo.reduce\"(%a, %s) ({\n^bb0(%x: tensor<f32> loc(\"here\"), %y: tensor<f32> loc(\"here\")):\n"
         "%1 = stablehlo.add %x, %y : tensor<f32> loc(\"here\")\nstablehlo.return %1 : tensor<f32> loc(\"here\")\n}) "
         "{dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc(\"here\")"},
        {"%0:2 = stablehlo.reduce(%a init: %s), (%i init: %z) across dimensions = [0, 1] {x} : (tensor<2x3xf32>, "
         "tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
         "reducer(%x: tensor<f32>, %y: tensor<f32>) (%v: tensor<i32>, %w1: tensor<i32>) {\n"
         "stablehlo.return %x, %w1 : tensor<f32>, tensor<i32>\n}",
         "%0:2 = \"stablehlo.reduce\"(%a, %i, %s, %z) ({\n"
         "^bb0(%x: tensor<f32>, %v: tensor<i32>, %y: tensor<f32>, %w1: tensor<i32>):\n"
         "\"stablehlo.return\"(%x, %w1) : (tensor<f32>, tensor<i32>) -> ()\n}) {dimensions = array<i64: 0, 1>, x} : "
         "(tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)"},
        {"%0:2 = stablehlo.while(%x = %n, %y = %s) : tensor<i64>, tensor<f32> attributes {l = 1 : i32} cond {\n"
         "%1 = stablehlo.compare LT, %x, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
         "stablehlo.return %1 : tensor<i1>\n} do {\nstablehlo.return %x, %y : tensor<i64>, tensor<f32>\n}",
         "%0:2 = \"stablehlo.while\"(%n, %s) ({\n^bb0(%x: tensor<i64>, %y: tensor<f32>):\n"
         "%1 = stablehlo.compare LT, %x, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
         "stablehlo.return %1 : tensor<i1>\n}, {\n^bb0(%x: tensor<i64>, %y: tensor<f32>):\n"
         "stablehlo.return %x, %y : tensor<i64>, tensor<f32>\n}) {l = 1 : i32} : "
         "(tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>)"},
        {"stablehlo.while() cond {\nstablehlo.return\n} do {\nstablehlo.return\n}",
         "\"stablehlo.while\"() ({\n\"stablehlo.return\"() : () -> ()\n}, {\n\"stablehlo.return\"() : () -> ()\n}) : () -> ()"},
        {"%0 = stablehlo.custom_call @\"a b\"(%a) {api_version = 2 : i32, y} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
         "%0 = \"stablehlo.custom_call\"(%a) {y, call_target_name = \"a b\", api_version = 2 : i32} : "
         "(tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = stablehlo.composite \"d.x\" %s {decomposition = @g, version = 3 : i32} : (tensor<f32>) -> tensor<f32>",
         "%0 = \"stablehlo.composite\"(%s) {name = \"d.x\", decomposition = @g, version = 3 : i32} : "
         "(tensor<f32>) -> tensor<f32>"},
        {"%0:2 = stablehlo.optimization_barrier %a, %s : tensor<2x3xf32>, tensor<f32>",
         "%0:2 = \"stablehlo.optimization_barrier\"(%a, %s) : (tensor<2x3xf32>, tensor<f32>) -> "
         "(tensor<2x3xf32>, tensor<f32>)"},
        {"stablehlo.optimization_barrier()", "\"stablehlo.optimization_barrier\"() : () -> ()"},
        {"%0 = stablehlo.tuple %s, %z : tuple<tensor<f32>, tensor<i32>>",
         "%0 = \"stablehlo.tuple\"(%s, %z) : (tensor<f32>, tensor<i32>) -> tuple<tensor<f32>, tensor<i32>>"},
        {"%0 = stablehlo.get_tuple_element %u[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>",
         "%0 = \"stablehlo.get_tuple_element\"(%u) {index = 1 : i32} : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>"},
        {"%0 = stablehlo.constant dense<1> : tensor<2xi32>",
         "%0 = \"stablehlo.constant\"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi32>"},
        {"%0 = stablehlo.constant {x = 2 : i64} dense<1> : tensor<2xi32>",
         "%0 = stablehlo.constant() {value = dense<1> : tensor<2xi32>, x = 2 : i64} : () -> tensor<2xi32>"},
        {"%0 = stablehlo.constant() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi32>",
         "%0 = stablehlo.constant dense<1> : tensor<2xi32>"},
        {"%0 = arith.constant 5 : i32", "%0 = \"arith.constant\"() {value = 5 : i32} : () -> i32"},
        {"%0 = call @g(%s) : (tensor<f32>) -> tensor<f32>",
         "%0 = \"func.call\"(%s) {callee = @g} : (tensor<f32>) -> tensor<f32>"},
        {"%0 = chlo.broadcast_add %a, %s {broadcast_dimensions = array<i64>} : (tensor<2x3xf32>, tensor<f32>) -> "
         "tensor<2x3xf32>",
         "%0 = \"chlo.broadcast_add\"(%a, %s) <{broadcast_dimensions = array<i64>}> : (tensor<2x3xf32>, tensor<f32>) -> "
         "tensor<2x3xf32>"},
        {"%0 = chlo.next_after %a, %b : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>",
         "%0 = \"chlo.next_after\"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = chlo.constant dense<1> : tensor<2xi32>",
         "%0 = \"chlo.constant\"() {value = dense<1> : tensor<2xi32>} : () -> tensor<2xi32>"},
        {"%0:2 = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)",
         "%0:2 = \"chlo.top_k\"(%a) {k = 2 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)"},
        {"%0:2 = chlo.top_k(%a, k = 2, is_stable = false) {x} : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)",
         "%0:2 = \"chlo.top_k\"(%a) <{is_stable = false, k = 2 : i64}> {x} : (tensor<2x3xf32>) -> "
         "(tensor<2x2xf32>, tensor<2x2xi32>)"},
        {"%0:2 = chlo.scan(%a) inits (%d) dimension=0 attributes {is_reverse = true} {\n"
         "^bb0(%x: tensor<3xf32>, %y: tensor<1xi64>):\nstablehlo.return %x, %y : tensor<3xf32>, tensor<1xi64>\n} : "
         "(tensor<2x3xf32>, tensor<1xi64>) -> (tensor<2x3xf32>, tensor<1xi64>)",
         "%0:2 = \"chlo.scan\"(%a, %d) <{dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, "
         "resultSegmentSizes = array<i32: 1, 1>}> ({\n"
         "^bb0(%x: tensor<3xf32>, %y: tensor<1xi64>):\nstablehlo.return %x, %y : tensor<3xf32>, tensor<1xi64>\n}) : "
         "(tensor<2x3xf32>, tensor<1xi64>) -> (tensor<2x3xf32>, tensor<1xi64>)"},
        {"check.expect_eq %a, %b : tensor<2x3xf32>",
         "\"check.expect_eq\"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()"},
        {"check.expect_eq_const %s, dense<1.0> : tensor<f32>",
         "\"check.expect_eq_const\"(%s) {value = dense<1.0> : tensor<f32>} : (tensor<f32>) -> ()"},
        {"check.expect_almost_eq_const %s, dense<1.0> : tensor<f32>, tolerance = 0.5",
         "\"check.expect_almost_eq_const\"(%s) {value = dense<1.0> : tensor<f32>, tolerance = 0.5 : f64} : "
         "(tensor<f32>) -> ()"},
        {"check.expect_close %a, %b, max_ulp_difference = 3 : tensor<2x3xf32>, tensor<2x3xf32>",
         "\"check.expect_close\"(%a, %b) {max_ulp_difference = 3 : ui64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()"},
        {"check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 1 : {x} tensor<2x3xf32>, tensor<2x3xf32>",
         "\"check.expect_close\"(%a, %b) {max_ulp_difference = 3 : ui64, min_ulp_difference = 1 : ui64, x} : "
         "(tensor<2x3xf32>, tensor<2x3xf32>) -> ()"},
        {"%0 = interpreter.probe %a, probe_id = \"p\" : tensor<2x3xf32>",
         "%0 = \"interpreter.probe\"(%a) {probe_id = \"p\"} : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"interpreter.print %a : tensor<2x3xf32>", "\"interpreter.print\"(%a) : (tensor<2x3xf32>) -> ()"},
        {"%0 = tensor.cast %a : tensor<2x3xf32> to tensor<?x?xf32>",
         "%0 = \"tensor.cast\"(%a) : (tensor<2x3xf32>) -> tensor<?x?xf32>"},
        {"%0 = sdy.sharding_constraint %a <@mesh, [{\"x\"}, {}]> : tensor<2x3xf32>",
         "%0 = \"sdy.sharding_constraint\"(%a) {sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>} : "
         "(tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}, {}]>] out_shardings=[<@mesh, [{\"x\"}, {}]>] "
         "manual_axes={\"x\"} (%x: tensor<1x3xf32>) {\nsdy.return %x : tensor<1x3xf32>\n} : "
         "(tensor<2x3xf32>) -> tensor<2x3xf32>",
         "%0 = \"sdy.manual_computation\"(%a) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>, "
         "manual_axes = #sdy<manual_axes{\"x\"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>]>}> ({\n"
         "^bb0(%x: tensor<1x3xf32>):\n\"sdy.return\"(%x) : (tensor<1x3xf32>) -> ()\n}) : "
         "(tensor<2x3xf32>) -> tensor<2x3xf32>"},
        {"%0, %1 = \"other.op\"(%a) {x} : (tensor<2x3xf32>) -> (!other.type<1>, index)",
         "%0:2 = \"other.op\"(%a) <{x}> : (tensor<2x3xf32>) -> (!other.type<1>, index)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char a[4096], b[4096];
        in_function(a, sizeof a, rows[i].custom);
        in_function(b, sizeof b, rows[i].generic);
        assert_same_program(a, b);
    }
}

/* Lists as programs before StableHLO 1.0 wrote them. */
static void test_legacy_lists(void **state) {
    (void)state;
    assert_same_program(
        "func.func @f(%a: tensor<2x3xf32>) {\n"
        "  %0 = \"stablehlo.transpose\"(%a) {permutation = dense<[1, 0]> : tensor<2xi64>} "
        ": (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
        "  %1 = \"stablehlo.slice\"(%a) {start_indices = dense<0> : tensor<2xi64>, limit_indices = dense<1> : tensor<2xi64>,\n"
        "    strides = dense<1> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<1x1xf32>\n"
        "  return\n}",
        "func.func @f(%a: tensor<2x3xf32>) {\n"
        "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
        "  %1 = stablehlo.slice %a [0:1, 0:1] : (tensor<2x3xf32>) -> tensor<1x1xf32>\n"
        "  return\n}");
}

/* ---- functions and modules ------------------------------------------------------------------------------------- */

static void test_functions(void **state) {
    (void)state;
    assert_same_program(
        "func.func public @f(%a: tensor<f32> {x = 1 : i32}, %b: tensor<i32>) -> (tensor<f32> {y}) attributes {z} {\n"
        "  return %a : tensor<f32>\n}\n"
        "func.func private @g(tensor<f32>, tensor<i32> {x}) -> tensor<f32>\n"
        "func @h() -> () { func.return }",
        "\"func.func\"() <{sym_name = \"f\", function_type = (tensor<f32>, tensor<i32>) -> tensor<f32>, "
        "sym_visibility = \"public\", arg_attrs = [{x = 1 : i32}, {}], res_attrs = [{y}]}> ({\n"
        "^bb0(%a: tensor<f32>, %b: tensor<i32>):\n  \"func.return\"(%a) : (tensor<f32>) -> ()\n}) {z} : () -> ()\n"
        "\"func.func\"() ({}) {sym_name = \"g\", function_type = (tensor<f32>, tensor<i32>) -> tensor<f32>, "
        "sym_visibility = \"private\", arg_attrs = [{}, {x}]} : () -> ()\n"
        "\"func.func\"() ({ \"func.return\"() : () -> () }) {sym_name = \"h\", function_type = () -> ()} : () -> ()");
}

static void test_modules(void **state) {
    (void)state;
    struct program x = program_ok("// a comment\nmodule @m attributes {a = 1 : i32} {\n  func.func private @f()\n"
                                  "  module @inner { func.func private @f() }\n} loc(\"here\")\n");
    assert_true(str_is(ir_prop_str(x.m, x.m->root, IR_MODULE_sym_name), "m"));
    assert_int_equal(ir_kind(x.m, ir_module_symbol(x.m, STR("f"))), IR_FUNC);
    assert_int_equal(ir_kind(x.m, ir_module_symbol(x.m, STR("inner"))), IR_MODULE);
    assert_int_equal(ir_attr_get(x.m, ir_op_get(x.m, x.m->root)->loc)->kind, IR_ATTR_LOC_NAME);
    program_free(&x);

    x = program_ok("module {}\nmodule {}"); /* neither is the whole file */
    assert_int_equal(ir_attr_get(x.m, ir_prop(x.m, x.m->root, IR_MODULE_sym_name))->kind, IR_ATTR_NONE);
    assert_false(IR_NONE(ir_block_get(x.m, ir_module_body(x.m))->first));
    program_free(&x);

    x = program_ok("");
    assert_true(IR_NONE(ir_block_get(x.m, ir_module_body(x.m))->first));
    program_free(&x);

    assert_same_program("\"builtin.module\"() ({}) {a} : () -> ()", "module attributes {a} {}");
}

static void test_meshes(void **state) {
    (void)state;
    assert_same_program("sdy.mesh @mesh = <[\"x\"=2]> {y}\nsdy.mesh @empty = <[]>",
                        "\"sdy.mesh\"() <{mesh = #sdy.mesh<[\"x\"=2]>, sym_name = \"mesh\"}> {y} : () -> ()\n"
                        "\"sdy.mesh\"() <{mesh = #sdy.mesh<[]>, sym_name = \"empty\"}> : () -> ()");
}

static void test_aliases(void **state) {
    (void)state;
    assert_same_program("!t = tensor<2xf32>\n#v = dense<1.0> : !t\n"
                        "func.func @f(%a: !t loc(#where)) {\n  %0 = stablehlo.constant #v loc(#where)\n  return\n}\n"
                        "#where = loc(\"f.py\":3:4)",
                        "func.func @f(%a: tensor<2xf32> loc(\"f.py\":3:4)) {\n"
                        "  %0 = stablehlo.constant dense<1.0> : tensor<2xf32> loc(\"f.py\":3:4)\n  return\n}");
}

static void test_resources(void **state) {
    (void)state;
    struct program x = program_ok(
        "%0 = stablehlo.constant dense_resource<a> : tensor<2xi16>\n"
        "{-#\n  dialect_resources: {\n    builtin: {\n      a: \"0x0400000001000200\"\n    },\n"
        "    other: { b: \"0x00\" }\n  },\n  external_resources: { mlir_reproducer: { c: true, d: [1, {}] } }\n#-}\n");
    ir_op op = ir_block_get(x.m, ir_module_body(x.m))->first;
    const struct ir_attr_data *a = ir_attr_get(x.m, ir_prop(x.m, op, IR_CONSTANT_value));
    assert_int_equal(a->kind, IR_ATTR_RESOURCE);
    assert_int_equal(a->nbytes, 4);
    assert_memory_equal(a->data, "\1\0\2\0", 4);
    program_free(&x);
}

/* ---- names of values ------------------------------------------------------------------------------------------- */

static void test_scopes(void **state) {
    (void)state;
    struct program x = program_ok( /* names of one function mean nothing in the next, nor those of one region */
        "func.func @f(%a: tensor<f32>) {\n"
        "  %0 = stablehlo.constant dense<true> : tensor<i1>\n"
        "  \"stablehlo.if\"(%0) ({\n    %1 = stablehlo.abs %a : tensor<f32>\n    stablehlo.return\n  }, {\n"
        "    %1 = stablehlo.sine %a : tensor<f32>\n    stablehlo.return\n  }) : (tensor<i1>) -> ()\n"
        "  %1 = stablehlo.abs %a : tensor<f32>\n  return\n}\n"
        "func.func @g(%a: tensor<i32>) {\n  %0:2, %1 = \"x.y\"(%a) : (tensor<i32>) -> (i1, i2, i4)\n"
        "  \"x.z\"(%0#1, %1, %0#0, %1#0, %0) : (i2, i4, i1, i4, i1) -> ()\n  return\n}");
    program_free(&x);
}

/* More names than any table starts with, defined in a region and outside. */
static void test_many_names(void **state) {
    (void)state;
    enum { NAMES = 100000 };
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    strbuf_puts(&b, "func.func @f(%x0: tensor<f32>) {\n");
    for (int i = 0; i < NAMES; i++)
        strbuf_printf(&b, "%%x%d = stablehlo.abs %%x%d : tensor<f32>\n", i + 1, i);
    strbuf_puts(&b, "return\n}\nfunc.func @g(%x0: tensor<f32>) {\nreturn %x1 : tensor<f32>\n}");
    assert_false(b.failed);
    struct program x = program_read((struct str){b.p, b.n});
    assert_int_equal(x.status, HILO_INVALID_ARGUMENT);
    assert_int_equal(x.d.first->line, NAMES + 5);
    assert_string_equal(x.d.first->message, "use of undeclared value '%x1'");
    program_free(&x);
    strbuf_free(&b);
}

static void test_places(void **state) {
    (void)state;
    struct program x = program_ok("func.func @f(%a: tensor<f32>) {\n  %0 =\n    stablehlo.abs %a : tensor<f32>\n  return\n}");
    ir_block b = ir_func_body(x.m, ir_module_symbol(x.m, STR("f")));
    const struct ir_op_data *abs = ir_op_get(x.m, ir_block_get(x.m, b)->first);
    assert_int_equal(abs->line, 3);
    assert_int_equal(abs->col, 5);
    assert_int_equal(ir_op_get(x.m, abs->next)->line, 4);
    program_free(&x);
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static void test_refused_ops(void **state) {
    (void)state;
    static const struct { const char *op; uint32_t line, col; const char *part; } rows[] = {
        /* the op begins in line 7, column 3 */
        {"%0 = stablehlo.nonexistent %a : tensor<2x3xf32>", 7, 8, "unknown op 'stablehlo.nonexistent'"},
        {"\"chlo.nonexistent\"() : () -> ()", 7, 3, "unknown op 'chlo.nonexistent'"},
        {"%0 = other.op %a : tensor<2x3xf32>", 7, 8, "generic form"},
        {"%0 = stablehlo.gather %a, %b : tensor<2x3xf32>", 7, 8, "generic form"},
        {"nothing", 7, 3, "unknown op 'nothing'"},
        {"%0 = stablehlo.abs %nix : tensor<2x3xf32>", 7, 22, "use of undeclared value '%nix'"},
        {"%0 = stablehlo.abs %a : tensor<2x4xf32>", 7, 22, "'%a' has type tensor<2x3xf32>, but is used as tensor<2x4xf32>"},
        {"%0 = stablehlo.abs %a#1 : tensor<2x3xf32>", 7, 22, "no result #1"},
        {"%a = stablehlo.abs %b : tensor<2x3xf32>", 7, 3, "value '%a' is already defined"},
        {"%0:2 = stablehlo.abs %b : tensor<2x3xf32>", 7, 3, "the op has 1 result, but 2 are named"},
        {"%0 = stablehlo.after_all %t, %t : (!stablehlo.token) -> !stablehlo.token", 7, 37, "2 operands, but 1 operand type"},
        {"%0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>", 7, 38, "two types"},
        {"%0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>", 7, 38, "two types"},
        {"%0 = stablehlo.complex %a, %b : tensor<2x3xf32>", 7, 35, "complex"},
        {"%0 = stablehlo.tuple %a : tensor<2x3xf32>", 7, 29, "tuple"},
        {"%0 = stablehlo.reduce_precision %a, format = m5e3 : tensor<2x3xf32>", 7, 48, "format"},
        {"%0 = stablehlo.dot %q, %a, [HIGH] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>", 7, 30, "'precision'"},
        {"%0 = stablehlo.slice %a [0:1, 0] : (tensor<2x3xf32>) -> tensor<1x2xf32>", 7, 34, "':'"},
        {"%0 = stablehlo.iota dim = 1 {iota_dimension = 1 : i64} : tensor<2x3xf32>", 7, 32, "given twice"},
        {"\"x.y\"() [^bb1] : () -> ()", 7, 11, "successor"},
        {"\"x.y\"() ({\n^a:\n  \"x.z\"() : () -> ()\n^b:\n}) : () -> ()", 10, 1, "several blocks"},
        {"\"stablehlo.if\"(%p) ({}) : (tensor<2x3xi1>) -> ()", 7, 3, "'stablehlo.if' has 2 regions, found 1"},
        {"%0 = stablehlo.reduce(%a init: %s) applies stablehlo.subtract across dimensions = [1] : "
         "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>", 7, 46, "commutative"},
        {"%0 = \"chlo.scan\"(%a) ({\n  %1 = stablehlo.abs %a : tensor<2x3xf32>\n}) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
         8, 22, "use of undeclared value '%a'"},
        {"%0 = stablehlo.convolution(%k, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1]]}",
         7, 110, "2 integers"},
        {"%0 = stablehlo.while(%x = %a) : tensor<2x3xf32>, tensor<f32> cond {} do {}", 7, 35, "1 operand, but 2 types"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4096];
        in_function(text, sizeof text, rows[i].op);
        assert_refused(text, rows[i].line, rows[i].col, rows[i].part);
    }
}

static void test_refused_files(void **state) {
    (void)state;
    assert_refused("func.func @f() {", 1, 17, "expected an operation");
    assert_refused("func.func @f() {}", 1, 16, "not empty");
    assert_refused("func.func @f(tensor<f32>) { return }", 1, 27, "names its arguments");
    assert_refused("func.func @f(%a: i1, i2)", 1, 22, "named or none");
    assert_refused("func.func @f(%a: i1, %a: i2) { return }", 1, 22, "already defined");
    assert_refused("func.func @f(%a: i1) attributes {sym_name = \"g\"} { return }", 1, 34, "given twice");
    assert_refused("func.func @f() {\n  return\n} }", 3, 3, "expected an operation");
    assert_refused("\"func.func\"() {sym_name = \"f\"} : () -> ()", 1, 1, "'func.func' has 1 region, found 0");
    assert_refused("{-# dialect_resources: { builtin: { a: \"0x0400\" } } #-}", 1, 40, "four bytes");
    assert_refused("{-# dialect_resources: { builtin: { a: \"0x04000000012\" } } #-}", 1, 40, "hexadecimal");
    assert_refused("module {\n  #a = 1 : i32\n}", 2, 3, "expected an operation");

    struct strbuf b; /* nested deeper than the reader follows */
    strbuf_init(&b, mem_system_allocator());
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&b, "\"x.y\"() ({\n");
    assert_refused(b.p, TEXT_DEPTH + 1, 1, "nested");
    strbuf_free(&b);
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static void test_parts(void **state) {
    (void)state;
    static const char file[] = "// -----\nfunc.func private @a()\n\n// -----\n\n"
                               "// ----- again\n\n\nfunc.func @b() {\n  oops\n}\n// -----";
    struct str rest = str_of(file), part;
    uint32_t line = 1, first;
    assert_true(read_next_part(&rest, &line, &part, &first));
    assert_int_equal(first, 2);
    assert_true(str_is(part, "func.func private @a()\n\n"));
    assert_true(read_next_part(&rest, &line, &part, &first));
    assert_int_equal(first, 7);

    struct program x = {0};
    diag_init(&x.d, mem_system_allocator());
    x.m = ir_module_new(mem_system_allocator(), &out_of_memory);
    x.m->text = str_of(file);
    assert_int_equal(read_text(x.m, &x.d, part, first), HILO_INVALID_ARGUMENT);
    assert_int_equal(x.d.first->line, 10);
    assert_int_equal(x.d.first->col, 3);
    assert_string_equal(x.d.first->source, "  oops");
    program_free(&x);
    assert_false(read_next_part(&rest, &line, &part, &first));
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* False when memory ended. */
static bool read_metered(struct str text, struct meter *meter) {
    jmp_buf recover;
    hilo_allocator al = {meter_realloc, meter};
    struct diag_list d;
    diag_init(&d, al);
    struct ir_module *volatile m = ir_module_new(al, &recover);
    volatile bool done = false;
    if (m && setjmp(recover) == 0) {
        read_text(m, &d, text, 1);
        done = !d.out_of_memory;
    }
    ir_module_free(m);
    diag_clear(&d);
    return done;
}

/* Whatever allocation fails, no memory leaks. */
static void test_out_of_memory(void **state) {
    (void)state;
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    strbuf_puts(&b, "module @m attributes {a = [1, 2]} {\n"
                    "func.func @f(%a: tensor<f32> {x}) -> tensor<f32> {\n"
                    "  %r = stablehlo.constant dense_resource<big> : tensor<5000xi32>\n"
                    "  %c = stablehlo.constant dense<[");
    for (int i = 0; i < 5000; i++)
        strbuf_printf(&b, i ? ", %d" : "%d", i);
    strbuf_puts(&b, "]> : tensor<5000xi32>\n");
    for (int i = 0; i < 500; i++)
        strbuf_printf(&b, "  %%x%d = \"stablehlo.case\"(%%c) ({ %%0 = stablehlo.abs %%a : tensor<f32> loc(#l%d) }) : "
                          "(tensor<5000xi32>) -> tensor<%dxf32>\n", i, i, i);
    strbuf_puts(&b, "  return %a : tensor<f32>\n}\n}\n");
    for (int i = 0; i < 500; i++)
        strbuf_printf(&b, "#l%d = loc(\"f%d\":1:2)\n", i, i);
    strbuf_puts(&b, "{-# dialect_resources: { builtin: { big: \"0x04000000");
    for (int i = 0; i < 5000; i++)
        strbuf_printf(&b, "%08X", (unsigned)i);
    strbuf_puts(&b, "\" } } #-}");
    assert_false(b.failed);
    struct program x = program_ok(b.p);
    program_free(&x);
    bool done = false;
    for (long k = 0; !done; k++) {
        struct meter meter = {.left = k};
        done = read_metered((struct str){b.p, b.n}, &meter);
        assert_int_equal(meter.live, 0);
    }
    strbuf_free(&b);
}

int main(void) {
    if (setjmp(out_of_memory))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),         cmocka_unit_test(test_legacy_lists),   cmocka_unit_test(test_functions),
        cmocka_unit_test(test_modules),       cmocka_unit_test(test_aliases),        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_scopes),        cmocka_unit_test(test_many_names),     cmocka_unit_test(test_places),
        cmocka_unit_test(test_refused_ops),   cmocka_unit_test(test_refused_files),  cmocka_unit_test(test_parts),
        cmocka_unit_test(test_meshes),         cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
