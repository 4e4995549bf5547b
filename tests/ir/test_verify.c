/* The verifier on what no text can say (passes can), and type inference by itself. What texts can
 * say is tested by the files in tests/verify. */
#include "base/torture.h"
#include "read/text/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct program {
    struct ir_module *m;
    struct diag_list d;
};

static jmp_buf out_of_memory;

static struct program program_read(const char *text) {
    struct program x = {0};
    diag_init(&x.d, mem_system_allocator());
    x.m = ir_module_new(mem_system_allocator(), &out_of_memory);
    assert_non_null(x.m);
    if (read_text(x.m, &x.d, str_of(text), 1) != HILO_OK)
        fail_msg("line %u: %s", x.d.first->line, x.d.first->message);
    return x;
}

static void program_free(struct program *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
}

/* The n-th op of a function. */
static ir_op program_op(const struct program *x, const char *func, uint32_t n) {
    ir_op op = ir_block_get(x->m, ir_func_body(x->m, ir_module_symbol(x->m, str_of(func))))->first;
    while (n--)
        op = ir_op_get(x->m, op)->next;
    return op;
}

/* One error, whose message contains `part`. */
static void assert_refused(struct program *x, const char *part) {
    assert_int_equal(ir_verify(x->m, &x->d), HILO_INVALID_ARGUMENT);
    assert_int_equal(x->d.errors, 1);
    if (!strstr(x->d.first->message, part))
        fail_msg("%s\nexpected: %s", x->d.first->message, part);
    program_free(x);
}

/* ---- places of definitions ------------------------------------------------------------------- */

static const char chain[] = "func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
                            "  %0 = stablehlo.negate %a : tensor<f32>\n"
                            "  %1 = stablehlo.abs %0 : tensor<f32>\n"
                            "  func.return %1 : tensor<f32>\n"
                            "}\n"
                            "func.func @g(%a: tensor<f32>) -> tensor<f32> {\n"
                            "  func.return %a : tensor<f32>\n"
                            "}\n";

static void accepts_what_was_read(void **state) {
    (void)state;
    struct program x = program_read(chain);
    assert_int_equal(ir_verify(x.m, &x.d), HILO_OK);
    assert_int_equal(ir_verify(x.m, &x.d), HILO_OK); /* and leaves it as it is */
    assert_null(x.d.first);
    program_free(&x);
}

static void refuses_a_use_before_the_definition(void **state) {
    (void)state;
    struct program x = program_read(chain);
    ir_op negate = program_op(&x, "f", 0), end = program_op(&x, "f", 2);
    ir_unlink(x.m, negate);
    ir_insert_before(x.m, end, negate);
    assert_refused(&x, "'stablehlo.abs' op operand 0 is not defined before it is used");
}

static void refuses_a_use_of_an_op_taken_out(void **state) {
    (void)state;
    struct program x = program_read(chain);
    ir_unlink(x.m, program_op(&x, "f", 0));
    assert_refused(&x, "operand 0 is not defined before it is used");
}

static void refuses_a_value_of_another_function(void **state) {
    (void)state;
    struct program x = program_read(chain);
    ir_set_operand(x.m, program_op(&x, "g", 0), 0, ir_result(x.m, program_op(&x, "f", 1), 0));
    assert_refused(&x, "'func.return' op operand 0 is not defined before it is used");
}

static void refuses_a_missing_terminator(void **state) {
    (void)state;
    struct program x = program_read(chain);
    ir_unlink(x.m, program_op(&x, "g", 0));
    assert_refused(&x, "region 0 must end with 'func.return'");
}

static const char branches[] = "func.func @f(%p: tensor<i1>, %a: tensor<f32>) -> tensor<f32> {\n"
                               "  %0 = \"stablehlo.if\"(%p) ({\n"
                               "    stablehlo.return %a : tensor<f32>\n"
                               "  }, {\n"
                               "    %1 = stablehlo.abs %a : tensor<f32>\n"
                               "    stablehlo.return %1 : tensor<f32>\n"
                               "  }) : (tensor<i1>) -> tensor<f32>\n"
                               "  func.return %0 : tensor<f32>\n"
                               "}\n";

static void refuses_an_op_that_sees_its_own_result(void **state) {
    (void)state;
    struct program x = program_read(branches);
    ir_op branch = program_op(&x, "f", 0);
    ir_block b = ir_region_get(x.m, ir_op_region(x.m, branch, 0))->first;
    ir_set_operand(x.m, ir_terminator(x.m, b), 0, ir_result(x.m, branch, 0));
    assert_refused(&x, "'stablehlo.return' op operand 0 is not defined before it is used");
}

static void refuses_a_value_of_another_branch(void **state) {
    (void)state;
    struct program x = program_read(branches);
    ir_op branch = program_op(&x, "f", 0);
    ir_block first = ir_region_get(x.m, ir_op_region(x.m, branch, 0))->first;
    ir_block second = ir_region_get(x.m, ir_op_region(x.m, branch, 1))->first;
    ir_set_operand(x.m, ir_terminator(x.m, first), 0,
                   ir_result(x.m, ir_block_get(x.m, second)->first, 0));
    assert_refused(&x, "'stablehlo.return' op operand 0 is not defined before it is used");
}

/* ---- how much is too much -------------------------------------------------------------------- */

static void stops_after_some_errors(void **state) {
    (void)state;
    char text[4096] = "func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {\n";
    for (int i = 0; i < 2 * DIAG_MOST; i++)
        strcat(text, "  stablehlo.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n");
    strcat(text, "  func.return\n}\n");
    struct program x = program_read(text);
    assert_int_equal(ir_verify(x.m, &x.d), HILO_INVALID_ARGUMENT);
    assert_int_equal(x.d.errors, DIAG_MOST);
    program_free(&x);
}

static void refuses_bottomless_nesting(void **state) {
    (void)state;
    struct program x = program_read(branches);
    ir_op end = program_op(&x, "f", 1);
    ir_val p = ir_operand(x.m, program_op(&x, "f", 0), 0);
    ir_val a = ir_operand(x.m, ir_terminator(x.m, ir_region_get(x.m, ir_op_region(
                                   x.m, program_op(&x, "f", 0), 0))->first), 0);
    ir_type t = ir_val_get(x.m, a)->type;
    for (int depth = 0; depth < TORTURED(1000, 100000); depth++) { /* an if in an if in an if … */
        ir_op branch = ir_op_new(x.m, IR_IF, &p, 1, &t, 1, 2);
        ir_insert_before(x.m, end, branch);
        ir_op ends[2];
        for (uint32_t r = 0; r < 2; r++) {
            ends[r] = ir_op_new(x.m, IR_RETURN, &a, 1, NULL, 0, 0);
            ir_append(x.m, ir_block_new(x.m, ir_op_region(x.m, branch, r)), ends[r]);
        }
        end = ends[0];
    }
    assert_int_equal(ir_verify(x.m, &x.d), HILO_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(x.d.first->message, "is nested too deep"));
    program_free(&x);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* An op that takes a tensor of such elements is refused for breaking that constraint. */
static void assert_bad_quant(const struct ir_quant *q, const char *label) {
    struct program x = program_read("func.func @f(%a: tensor<2xf32>) {\n"
                                    "  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>\n"
                                    "  func.return\n"
                                    "}\n");
    ir_op op = program_op(&x, "f", 0);
    int64_t dims[1] = {2};
    ir_type t = ir_type_tensor(x.m, ir_type_quant(x.m, q), dims, 1, (ir_attr){0}), inferred;
    ir_set_type(x.m, ir_operand(x.m, op, 0), t);
    assert_int_equal(ir_infer(x.m, &x.d, op, &inferred, 1), HILO_INVALID_ARGUMENT);
    assert_int_equal(x.d.errors, 1);
    assert_string_equal(x.d.first->label, label);
    program_free(&x);
}

static void refuses_bad_quantized_types(void **state) {
    (void)state;
    int64_t axis = 0, before = -1, zero = 0, nine = 9;
    double half = 0.5, none = 0, infinite = 1e300 * 1e300;
    struct ir_quant good = {.kind = IR_QUANT_TENSOR, .storage = IR_I4_T, .expressed = IR_F32_T,
                            .storage_min = -8, .storage_max = 7, .nscales = 1, .scales = &half,
                            .zero_points = &zero};
    struct ir_quant q = good;
    q.storage_max = 8;
    assert_bad_quant(&q, "quantized_type_c3");
    q = good;
    q.storage_min = q.storage_max;
    assert_bad_quant(&q, "quantized_type_c3");
    q = good;
    q.scales = &none;
    assert_bad_quant(&q, "quantized_type_c5");
    q = good;
    q.scales = &infinite;
    assert_bad_quant(&q, "quantized_type_c6");
    q = good;
    q.zero_points = &nine;
    assert_bad_quant(&q, "quantized_type_c7");
    q = good;
    q.kind = IR_QUANT_AXIS;
    q.naxes = 1;
    q.axes = &before;
    assert_bad_quant(&q, "quantized_type_c11");
    q.axes = &axis;
    assert_bad_quant(&q, "quantized_type_c13"); /* one scale for two slices */
}

/* ---- inference ------------------------------------------------------------------------------- */

/* The inferred type of the only result of the n-th op of @f, as text; "" when there is none. */
static void assert_infers(struct program *x, uint32_t n, const char *want) {
    ir_type t;
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    assert_int_equal(ir_infer(x->m, &x->d, program_op(x, "f", n), &t, 1), HILO_OK);
    if (!IR_NONE(t))
        ir_print_type(x->m, t, &text);
    assert_string_equal(text.p ? text.p : "", want);
    strbuf_free(&text);
}

static void infers_more_than_is_declared(void **state) {
    (void)state;
    struct program x = program_read(
        "func.func @f(%a: tensor<2x?xf32>, %b: tensor<?x3xf32>, %c: tensor<6xf32>) {\n"
        "  %0 = stablehlo.add %a, %b : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<?x?xf32>\n"
        "  %n = stablehlo.constant dense<[4, 2, 3]> : tensor<3xi32>\n"
        "  %1 = stablehlo.dynamic_broadcast_in_dim %a, %n, dims = [1, 2] : (tensor<2x?xf32>,"
        " tensor<3xi32>) -> tensor<?x?x?xf32>\n"
        "  %2 = stablehlo.convert %a : (tensor<2x?xf32>) -> tensor<?x?xi8>\n"
        "  %3 = stablehlo.reshape %c : (tensor<6xf32>) -> tensor<2x3xf32>\n"
        "  func.return\n"
        "}\n");
    assert_infers(&x, 0, "tensor<2x3xf32>");
    assert_infers(&x, 1, "tensor<3xi32>");
    assert_infers(&x, 2, "tensor<4x2x3xf32>");
    assert_infers(&x, 3, "tensor<2x?xi8>");
    assert_infers(&x, 4, "");
    program_free(&x);
}

static void keeps_declared_quantization(void **state) {
    (void)state;
    struct program x = program_read(
        "func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {\n"
        "  %0 = stablehlo.tanh %a : (tensor<2x!quant.uniform<i8:f32, 0.5>>)"
        " -> tensor<?x!quant.uniform<i8:f32, 0.25:1>>\n"
        "  func.return\n"
        "}\n");
    assert_infers(&x, 0, "tensor<2x!quant.uniform<i8:f32, 2.500000e-01:1>>");
    program_free(&x);
}

static void checks_operands_before_it_infers(void **state) {
    (void)state;
    struct program x = program_read("func.func @f(%a: tensor<2xf32>, %p: tensor<2xi1>) {\n"
                                    "  %0 = stablehlo.tanh %a : tensor<2xf32>\n"
                                    "  func.return\n"
                                    "}\n");
    ir_op op = program_op(&x, "f", 0);
    ir_block body = ir_func_body(x.m, ir_module_symbol(x.m, STR("f")));
    ir_type t;
    ir_set_operand(x.m, op, 0, ir_block_get(x.m, body)->args[1]);
    assert_int_equal(ir_infer(x.m, &x.d, op, &t, 1), HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(x.d.first->message, "operand 0 must be a tensor of floats"));
    program_free(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_was_read),
        cmocka_unit_test(refuses_a_use_before_the_definition),
        cmocka_unit_test(refuses_a_use_of_an_op_taken_out),
        cmocka_unit_test(refuses_a_value_of_another_function),
        cmocka_unit_test(refuses_a_missing_terminator),
        cmocka_unit_test(refuses_an_op_that_sees_its_own_result),
        cmocka_unit_test(refuses_a_value_of_another_branch),
        cmocka_unit_test(stops_after_some_errors),
        cmocka_unit_test(refuses_bottomless_nesting),
        cmocka_unit_test(refuses_bad_quantized_types),
        cmocka_unit_test(infers_more_than_is_declared),
        cmocka_unit_test(keeps_declared_quantization),
        cmocka_unit_test(checks_operands_before_it_infers),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
