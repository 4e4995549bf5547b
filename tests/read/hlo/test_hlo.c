/* HLO text that is wrong is refused where it is wrong, with what was expected. (What is right is in tests/read/hlo.) */
#include "read/hlo/write.h"
#include "tests/tools/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct program {
    struct ir_module *m;
    struct diag_list d;
    hilo_status status;
};

static jmp_buf out_of_memory;

static struct program program_read(struct str text) {
    struct program x = {.m = ir_module_new(mem_system_allocator(), &out_of_memory)};
    assert_non_null(x.m);
    diag_init(&x.d, mem_system_allocator());
    x.m->name = STR("test.hlo");
    x.m->text = text;
    x.status = read_hlo(x.m, &x.d, text, 1);
    if (x.status == HILO_OK)
        x.status = ir_verify(x.m, &x.d);
    return x;
}

static void program_free(struct program *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
}

/* One error, at that place, whose message contains `part`. */
static void assert_refused(const char *text, uint32_t line, uint32_t col, const char *part) {
    struct program x = program_read(str_of(text));
    if (x.status != HILO_INVALID_ARGUMENT || x.d.errors != 1)
        fail_msg("status %d with %u errors for: %s", (int)x.status, x.d.errors, text);
    if (x.d.first->line != line || x.d.first->col != col || !strstr(x.d.first->message, part))
        fail_msg("%u:%u: %s\nexpected %u:%u: %s\nfor: %s", x.d.first->line, x.d.first->col, x.d.first->message, line, col,
                 part, text);
    program_free(&x);
}

static void test_is_hlo(void **state) {
    (void)state;
    assert_true(read_is_hlo(STR("HloModule m")));
    assert_true(read_is_hlo(STR("// a comment\n /* and one */ HloModule m, is_scheduled=true\n")));
    assert_false(read_is_hlo(STR("")));
    assert_false(read_is_hlo(STR("HloModules m")));
    assert_false(read_is_hlo(STR("module {}")));
    assert_false(read_is_hlo(STR("/* HloModule")));
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static void test_file(void **state) {
    (void)state;
    static const struct { const char *text; uint32_t line, col; const char *part; } rows[] = {
        {"HloModule", 1, 10, "expected the name of the module, found the end of the text"},
        {"HloModule m,\n  is_scheduled true\n", 2, 16, "expected '=', found 'true'"},
        {"HloModule m\n", 2, 1, "expected a computation, found the end of the text"},
        {"HloModule m\nENTRY e {\n}\n", 3, 1, "expected the name of an instruction, found '}'"},
        {"HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n", 4, 1, "expected the name of an instruction"},
        {"HloModule m\ne {\n  x = f32[] parameter(0)\n}\ne {", 5, 1, "there are two computations 'e'"},
        {"HloModule m\nENTRY e { x = f32[] parameter(0) }\nENTRY f {", 3, 1, "two computations marked ENTRY"},
        {"HloModule m\ne {\n  ROOT x = f32[] parameter(0)\n  ROOT y = f32[] add(x, x)\n}", 4, 3, "marked ROOT"},
        {"HloModule m, a={1\ne {\n}", 1, 16, "the bracket is not closed"},
        {"HloModule m, a={1)}\ne {\n}", 1, 18, "')' closes what '{' opened"},
        {"HloModule m, a=\"x\ne", 1, 16, "the string does not end"},
        {"HloModule m, entry_computation_layout={()->f32[]}\ne {\n  x = f32[] parameter(0)\n}", 1, 39, "other parameters"},
        {"HloModule m, input_output_alias={{}: (1, {})}\ne {\n  x = f32[] parameter(0)\n}", 1, 39, "there is no parameter 1"},
        {"HloModule m, num_partitions=x\ne {\n  x = f32[] parameter(0)\n}", 1, 29, "expected an integer, found 'x'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(rows[i].text, rows[i].line, rows[i].col, rows[i].part);
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

/* An instruction in line 10, after parameters and computations that it may name. */
static void test_instructions(void **state) {
    (void)state;
    static const char head[] = "HloModule m\n"
                               "plus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
                               "self { a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=self }\n"
                               "ENTRY e {\n"
                               "  x = f32[2,3]{1,0} parameter(0)\n"
                               "  s = f32[] parameter(1)\n"
                               "  n = s32[] parameter(2)\n"
                               "  t = (f32[2,3]{1,0}, s32[]) tuple(x, n)\n"
                               "  k = token[] after-all()\n"
                               "  ROOT r = ";
    static const struct { const char *instr; uint32_t col; const char *part; } rows[] = {
        {"f33[2] abs(x)", 12, "expected a shape, such as f32[2,3], found 'f33'"},
        {"f32[2,-3] abs(x)", 18, "cannot be negative"},
        {"f32[2,3 abs(x)", 20, "expected ',', found 'abs'"},
        {"f32[2,3]{1} abs(x)", 22, "expected ','"},
        {"f32[2,3]{1,1} abs(x)", 23, "expected an order of the 2 dimensions"},
        {"f32[99999999999999999999] abs(x)", 16, "out of range"},
        {"f32[2,3] absolute(x)", 21, "there is no opcode 'absolute'"},
        {"f32[2,3] abs x", 25, "expected '(' and operands, found 'x'"},
        {"f32[2,3] abs(y)", 25, "there is no instruction 'y' before this one"},
        {"f32[2,3] abs(r)", 25, "there is no instruction 'r' before this one"},
        {"f32[2,3] abs(x s)", 27, "expected ',', found 's'"},
        {"f32[2,3] abs(x), color=red", 29, "abs has no attribute 'color'"},
        {"f32[2,3] abs(x), metadata={}, metadata={}", 42, "two attributes 'metadata'"},
        {"f32[2,3] abs(x), metadata={op_name=3}", 47, "expected a string, found '3'"},
        {"f32[2,3] abs(x, x)", 21, "'stablehlo.abs' op"},
        {"f32[3] abs(x)", 19, "'stablehlo.abs' op"},
        {"pred[2,3] compare(x, x)", 22, "compare needs an attribute 'direction'"},
        {"pred[2,3] compare(x, x), direction=XX", 47, "expected one of EQ NE GE GT LE LT, found 'XX'"},
        {"f32[3,2] transpose(x), dimensions={1,a}", 49, "expected an integer, found 'a'"},
        {"f32[3,2] transpose(x), dimensions={1,0}x", 51, "expected the end of the value, found 'x'"},
        {"f32[] get-tuple-element(t), index=2", 18, "no such part of a tuple"},
        {"s32[] get-tuple-element(t), index=0", 18, "another shape"},
        {"f32[] get-tuple-element(x), index=0", 18, "no such part of a tuple"},
        {"(f32[], s32[]) tuple(x, n)", 27, "another shape"},
        {"f32[2] reduce(x, s), dimensions={1}, to_apply=minus", 58, "there is no computation 'minus'"},
        {"f32[2] reduce(x, s), dimensions={1}", 19, "reduce needs an attribute 'to_apply'"},
        {"f32[] call(s), to_apply=self", 0, "computation 'self' uses itself"},
        {"f32[2,3] call(x), to_apply=plus", 21, "'func.call' op"},
        {"f32[2] constant({1, 2, 3})", 33, "expected '}'"},
        {"f32[2] constant({1})", 30, "expected ','"},
        {"f32[2] constant({...})", 29, "the data of this constant was left out"},
        {"f32[1000000000000] constant({...})", 40, "the data of this constant was left out"},
        {"f32[1000000000000] constant({1, 2})", 40, "expected 1000000000000 elements"},
        {"u8[] constant(256)", 26, "out of range for ui8"},
        {"s4[] constant(-9)", 26, "out of range for i4"},
        {"pred[] constant(2)", 28, "expected true or false, found '2'"},
        {"f32[] constant(one)", 27, "expected a number, found 'one'"},
        {"f32[] constant(nan(0))", 31, "expected the payload of a NaN"},
        {"f32[0] constant({1})", 29, "expected no elements"},
        {"f32[<=2] constant({1, 2})", 30, "a constant cannot have this shape"},
        {"f32[2,3] pad(x, s), padding=0_0x", 44, "expected an integer"},
        {"f32[2,3] slice(x), slice={[0:2], [0-3]}", 47, "expected ':', found '-3'"},
        {"f32[2,3] reduce-window(x, s), window={sise=1x1}, to_apply=plus", 50, "expected size, stride, pad"},
        {"f32[2,3] dot(x, x), algorithm=dot_f8", 42, "expected an algorithm of a dot"},
        {"f32[2,3] convolution(x, x), dim_labels=bf_io", 56, "expected '->'"},
        {"f32[2,3] convolution(x, x), dim_labels=b0f_0io->bb0", 61, "once each"},
        {"f32[2,3] conditional(n, x), true_computation=plus", 21, "needs an attribute 'branch_computations'"},
        {"f32[] conditional(n, s), branch_computations={plus}", 18, "needs branches of one parameter"},
        {"f32[2,3] copy-done(x)", 21, "completes no instruction"},
        {"f32[2,3] copy-start(x)", 21, "needs a tuple of operands and results"},
        {"f32[2,3] all-gather(x), dimensions={0}, replica_groups=[2,2]<=[3]", 67, "of as many devices"},
        {"f32[2,3] all-gather(x), dimensions={0}, replica_groups=[2,2]<=[4]T(1)", 67, "expected a permutation"},
        {"f32[2,3] collective-permute(x), source_target_pairs={{0}}", 64, "expected pairs"},
        {"f32[2,3] custom-call(x)", 21, "needs an attribute 'custom_call_target'"},
        {"f32[2,3] custom-call(x), custom_call_target=\"f\", api_version=API_VERSION_5", 73, "expected API_VERSION_ORIGINAL"},
        {"f32[2,4] bitcast(x)", 21, "needs arrays of one size"},
        {"f32[6]{0:T(8)} bitcast(x)", 27, "tiled layouts"},
        {"f32[2,3] parameter(4)", 31, "parameter 4 of a computation with 4 parameters"},
        {"f32[2,3] parameter(1)", 31, "there are two parameters 1"},
        {"f32[] rng(s, s, s), distribution=rng_uniform", 18, "rng needs 2 operands, not 3"},
        {"f32[1] topk(x), k=1, largest=false", 19, "of the smallest elements is not supported"},
        {"f32[2,3] stochastic-convert(x, x)", 21, "there is no opcode 'stochastic-convert'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s\n}\n", head, rows[i].instr);
        bool outside = rows[i].col == 0; /* in the computation that it names */
        assert_refused(text, outside ? 3 : 10, outside ? 1 : rows[i].col, rows[i].part);
    }
}

/* Nothing grows beyond its bounds: nesting, and computations that are used twice by one that is used twice … */
static void test_bounds(void **state) {
    (void)state;
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    strbuf_puts(&text, "HloModule m\nENTRY e {\n  x = ");
    for (int i = 0; i < 1000; i++)
        strbuf_putc(&text, '(');
    assert_refused(text.p, 3, 208, "nested more than 200 levels deep");
    text.n = 0;
    strbuf_puts(&text, "HloModule m\nc0 { ROOT x = f32[] parameter(0) }\n");
    for (int i = 1; i < 100; i++)
        strbuf_printf(&text, "c%d { x = f32[] parameter(0) n = s32[] constant(0) "
                             "ROOT y = f32[] conditional(n, x, x), branch_computations={c%d,c%d} }\n", i, i - 1, i - 1);
    struct program x = program_read((struct str){text.p, text.n});
    assert_int_equal(x.status, HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(x.d.first->message, "computations are used too often"));
    program_free(&x);
    strbuf_free(&text);
}

/* ---- damaged files ----------------------------------------------------------------------------------------------- */

static const char whole[] =
    "HloModule m, entry_computation_layout={(f32[2,2]{0,1})->(f32[2]{0}, s32[])}, num_partitions=2\n"
    "FileNames\n1 \"a.py\"\nFunctionNames\n1 \"f\"\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=2 column=3}\n"
    "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
    "%plus (a: f32[], b: f32[]) -> f32[] {\n"
    "  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %c = f32[] add(%a, %b)\n}\n"
    "%body (s: (s32[], f32[2])) -> (s32[], f32[2]) {\n"
    "  %s = (s32[], f32[2]{0}) parameter(0)\n  %n = s32[] get-tuple-element(%s), index=0\n"
    "  %v = f32[2]{0} get-tuple-element(%s), index=1\n  %one = s32[] constant(1)\n  %m = s32[] add(%n, %one)\n"
    "  ROOT %t = (s32[], f32[2]{0}) tuple(%m, %v)\n}\n"
    "%cond (s: (s32[], f32[2])) -> pred[] {\n"
    "  %s = (s32[], f32[2]{0}) parameter(0)\n  %n = s32[] get-tuple-element(%s), index=0\n  %k = s32[] constant(3)\n"
    "  ROOT %p = pred[] compare(%n, %k), direction=LT\n}\n"
    "ENTRY %main (x: f32[2,2]) -> (f32[2], s32[]) {\n"
    "  %x = f32[2,2]{0,1} parameter(0), sharding={replicated}\n"
    "  %zero = f32[] constant(0), metadata={op_name=\"z\" stack_frame_id=1}\n"
    "  %c = f32[2,2]{1,0} constant({ {1, nan}, {-inf, 2e3} })\n  %y = f32[2,2]{1,0} add(%x, %c)\n"
    "  %win = f32[2,2]{1,0} reduce-window(%y, %zero), window={size=2x1 pad=0_1x0_0}, to_apply=%plus\n"
    "  %sum = f32[2]{0} reduce(%win, %zero), dimensions={1}, to_apply=%plus\n  %i = s32[] constant(0)\n"
    "  %init = (s32[], f32[2]{0}) tuple(%i, %sum)\n"
    "  %w = (s32[], f32[2]{0}) while(%init), condition=%cond, body=%body, backend_config={\"a\":[1]}\n"
    "  %v = f32[2]{0} get-tuple-element(%w), index=1\n  %n = s32[] get-tuple-element(%w), index=0\n"
    "  ROOT %out = (f32[2]{0}, s32[]) tuple(%v, %n)\n}\n";

/* What is read is right, or there is a message. The text has its exact size, so that a sanitizer sees reads after it. */
static void read_damaged(const char *text, size_t n) {
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    struct program x = program_read((struct str){exact, n});
    if (x.status != HILO_OK && x.d.errors == 0)
        fail_msg("no message for: %.*s", (int)n, text);
    program_free(&x);
    free(exact);
}

static void test_damaged(void **state) {
    (void)state;
    static const char values[] = "\0 {}()[],\"%=-9<x/";
    size_t size = sizeof whole - 1;
    struct program good = program_read((struct str){whole, size});
    if (good.status != HILO_OK)
        fail_msg("%u:%u: %s", good.d.first->line, good.d.first->col, good.d.first->message);
    program_free(&good);
    char text[sizeof whole];
    memcpy(text, whole, sizeof whole);
    for (size_t n = 0; n < size; n++)
        read_damaged(text, n);
    for (size_t i = 0; i < size; i++) {
        for (size_t k = 0; k < sizeof values - 1; k++) {
            text[i] = values[k];
            read_damaged(text, size);
        }
        text[i] = whole[i];
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Reads and writes the program with an allocator. */
static hilo_status read_and_write(hilo_allocator al) {
    struct diag_list d;
    struct strbuf out;
    jmp_buf recover;
    volatile hilo_status status = HILO_RESOURCE_EXHAUSTED;
    diag_init(&d, al);
    strbuf_init(&out, al);
    struct ir_module *volatile m = ir_module_new(al, &recover);
    if (m && setjmp(recover) == 0) {
        status = read_hlo(m, &d, (struct str){whole, sizeof whole - 1}, 1);
        if (status == HILO_OK)
            status = write_hlo(m, &d, &out);
    }
    strbuf_free(&out);
    ir_module_free(m);
    diag_clear(&d);
    return status;
}

/* Whichever allocation fails, that is the answer, and nothing is left. */
static void test_memory(void **state) {
    (void)state;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    for (long k = 0; status != HILO_OK; k++) {
        struct meter meter = {.left = k};
        status = read_and_write((hilo_allocator){meter_realloc, &meter});
        if (meter.live != 0 || (status != HILO_OK && status != HILO_RESOURCE_EXHAUSTED))
            fail_msg("allocation %ld: status %d, %ld allocations left", k, (int)status, meter.live);
    }
}

int main(void) {
    if (setjmp(out_of_memory))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_hlo),       cmocka_unit_test(test_file),   cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_bounds),       cmocka_unit_test(test_damaged), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
