/* The core of the reference evaluator: values, frames and last uses, control flow, processes, checks, quantised numbers, and
 * what happens when things go wrong. */
#include "base/torture.h"
#include "eval/eval.h"
#include "read/text/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- an allocator that counts and fails ---------------------------------------------------------------------------- */

struct counter {
    atomic_size_t calls; /* allocations asked for */
    atomic_size_t live;  /* bytes */
    atomic_size_t peak;
    size_t fail_at;      /* the allocation that fails, from 1; 0 = none */
};

static void *counter_realloc(void *user, void *p, size_t old_bytes, size_t new_bytes, size_t align) {
    struct counter *c = user;
    if (new_bytes > 0 && atomic_fetch_add(&c->calls, 1) + 1 == c->fail_at)
        return NULL;
    hilo_allocator system = mem_system_allocator();
    void *fresh = system.realloc_fn(system.user, p, old_bytes, new_bytes, align);
    size_t live = atomic_fetch_add(&c->live, new_bytes - old_bytes) + new_bytes - old_bytes;
    for (size_t peak = atomic_load(&c->peak); live > peak && !atomic_compare_exchange_weak(&c->peak, &peak, live);)
        ;
    return fresh;
}

static hilo_allocator counter_allocator(struct counter *c) {
    return (hilo_allocator){counter_realloc, c};
}

/* ---- programs -------------------------------------------------------------------------------------------------------- */

struct program {
    struct ir_module *m;
    struct diag_list d;
};

static jmp_buf out_of_memory;

static struct program program_read(const char *text) {
    struct program x;
    diag_init(&x.d, mem_system_allocator());
    x.m = ir_module_new(mem_system_allocator(), &out_of_memory);
    assert_non_null(x.m);
    x.m->name = STR("test.mlir");
    if (read_text(x.m, &x.d, str_of(text), 1) != HILO_OK)
        fail_msg("line %u: %s\nin: %s", x.d.first->line, x.d.first->message, text);
    return x;
}

static void program_free(struct program *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
}

static hilo_status program_eval(struct program *x, struct value *const *in, uint32_t nin, struct value **out, uint32_t nout,
                                const hilo_allocator *al, const struct eval_hooks *hooks) {
    return eval_func(x->m, ir_module_symbol(x->m, STR("main")), in, nin, out, nout, al, hooks, &x->d);
}

/* Runs `main` without arguments; the program must go through. */
static void runs(const char *text) {
    struct program x = program_read(text);
    hilo_allocator al = mem_system_allocator();
    if (program_eval(&x, NULL, 0, NULL, 0, &al, NULL) != HILO_OK)
        fail_msg("line %u: %s\nin: %s", x.d.first->line, x.d.first->message, text);
    assert_int_equal(x.d.errors, 0);
    program_free(&x);
}

/* Runs `main` without arguments; it must end with that status and a message that contains `says` at that line. */
static void fails_with(const char *text, hilo_status status, uint32_t line, const char *says,
                       const struct eval_hooks *hooks) {
    struct program x = program_read(text);
    hilo_allocator al = mem_system_allocator();
    assert_int_equal(program_eval(&x, NULL, 0, NULL, 0, &al, hooks), status);
    assert_non_null(x.d.first);
    if (!strstr(x.d.first->message, says))
        fail_msg("'%s' does not say '%s'", x.d.first->message, says);
    assert_int_equal(x.d.first->line, line);
    program_free(&x);
}

static void fails(const char *text, hilo_status status, uint32_t line, const char *says) {
    fails_with(text, status, line, says, NULL);
}

/* An i64 tensor of rank 1. */
static struct value *i64s(const hilo_allocator *al, const int64_t *v, int64_t n) {
    struct value *out;
    assert_int_equal(value_tensor(al, IR_I64_T, &n, 1, &out), HILO_OK);
    memcpy(out->data, v, (size_t)n * sizeof *v);
    return out;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static void value_sizes(void **state) {
    (void)state;
    struct counter c = {0};
    hilo_allocator al = counter_allocator(&c);
    struct value *v;
    const int64_t dims[] = {2, 3};
    assert_int_equal(value_tensor(&al, IR_F32_T, dims, 2, &v), HILO_OK);
    assert_int_equal(v->count, 6);
    assert_int_equal(v->bytes, 24);
    assert_int_equal((uintptr_t)v->data % 64, TORTURED(4, 0));
    value_unref(v);
    const int64_t empty[] = {INT64_MAX, 0, INT64_MAX};
    assert_int_equal(value_tensor(&al, IR_C128_T, empty, 3, &v), HILO_OK);
    assert_int_equal(v->count, 0);
    assert_int_equal(v->bytes, 0);
    int64_t strides[3];
    value_strides(v->dims, v->rank, strides);
    value_unref(v);
    const int64_t huge[] = {INT64_MAX, 4}, large[] = {INT64_MAX}, negative[] = {3, -1};
    assert_int_equal(value_tensor(&al, IR_I8_T, huge, 2, &v), HILO_RESOURCE_EXHAUSTED);
    assert_int_equal(value_tensor(&al, IR_I64_T, large, 1, &v), HILO_RESOURCE_EXHAUSTED);
    assert_int_equal(value_tensor(&al, IR_I64_T, negative, 2, &v), HILO_INVALID_ARGUMENT);
    c.fail_at = c.calls + 1;
    assert_int_equal(value_tensor(&al, IR_I64_T, dims, 2, &v), HILO_RESOURCE_EXHAUSTED);
    assert_int_equal(c.live, 0);
}

static void count_release(void *user, void *data) {
    assert_non_null(data);
    ++*(int *)user;
}

static void value_references(void **state) {
    (void)state;
    struct counter c = {0};
    hilo_allocator al = counter_allocator(&c);
    int64_t data[3] = {1, 2, 3}, n = 3;
    int released = 0;
    struct value *v, *token, *tuple, *outer;
    assert_int_equal(value_borrow(&al, IR_I64_T, &n, 1, data, count_release, &released, &v), HILO_OK);
    assert_ptr_equal(v->data, data);
    assert_int_equal(value_token(&al, &token), HILO_OK);
    assert_int_equal(value_group(&al, EVAL_TUPLE, (struct value *[]){v, token, v}, 3, &tuple), HILO_OK);
    assert_int_equal(value_group(&al, EVAL_TUPLE, &tuple, 1, &outer), HILO_OK);
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    value_type_text(outer, &text);
    assert_string_equal(text.p, "tuple<tuple<tensor<3xi64>, token, tensor<3xi64>>>");
    strbuf_free(&text);
    value_unref(v);
    value_unref(token);
    value_unref(tuple);
    assert_int_equal(released, 0);
    value_unref(outer);
    assert_int_equal(released, 1);
    value_unref(NULL);
    assert_int_equal(c.live, 0);
}

static void value_indices(void **state) {
    (void)state;
    const int64_t dims[] = {2, 1, 3};
    int64_t strides[3], index[3] = {0};
    value_strides(dims, 3, strides);
    assert_int_equal(strides[0], 3);
    assert_int_equal(strides[1], 3);
    assert_int_equal(strides[2], 1);
    int n = 1;
    while (index_next(index, dims, 3))
        n++;
    assert_int_equal(n, 6);
    assert_false(index_next(NULL, NULL, 0));
}

static void value_integers(void **state) {
    (void)state;
    static const struct { enum ir_dtype t; uint64_t bits; int64_t value; } rows[] = {
        {IR_I1_T, 1, 1},           {IR_I2_T, 0xfe, -2},          {IR_I4_T, 0xf8, -8},
        {IR_I8_T, 0x80, -128},     {IR_I16_T, 0x8000, -32768},   {IR_I32_T, 0x80000000, INT32_MIN},
        {IR_I64_T, UINT64_MAX, -1}, {IR_UI2_T, 3, 3},            {IR_UI4_T, 15, 15},
        {IR_UI8_T, 0xff, 255},     {IR_UI16_T, 0xffff, 65535},   {IR_UI32_T, UINT32_MAX, UINT32_MAX},
        {IR_UI64_T, UINT64_MAX, -1}, {IR_INDEX_T, UINT64_MAX, -1},
    };
    hilo_allocator al = mem_system_allocator();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct value *v;
        assert_int_equal(value_tensor(&al, rows[i].t, NULL, 0, &v), HILO_OK);
        memcpy(v->data, &rows[i].bits, v->bytes);
        assert_int_equal(value_i64(v, 0), rows[i].value);
        value_unref(v);
    }
}

/* ---- functions ------------------------------------------------------------------------------------------------------- */

static void arguments_and_results(void **state) {
    (void)state;
    struct program x = program_read("func.func @main(%a: tensor<?xi64>, %b: tensor<2xi64>)\n"
                                    "  -> (tensor<?xi64>, tensor<2xi64>) {\n"
                                    "  return %a, %b : tensor<?xi64>, tensor<2xi64>\n"
                                    "}\n"
                                    "func.func private @declared() -> tensor<i64>\n");
    hilo_allocator al = mem_system_allocator();
    struct value *a = i64s(&al, (int64_t[]){1, 2, 3}, 3), *b = i64s(&al, (int64_t[]){4, 5}, 2), *out[2];
    assert_int_equal(program_eval(&x, (struct value *[]){a, b}, 2, out, 2, &al, NULL), HILO_OK);
    assert_ptr_equal(out[0], a);
    assert_ptr_equal(out[1], b);
    value_unref(out[0]);
    value_unref(out[1]);
    assert_int_equal(x.d.errors, 0);
    assert_int_equal(program_eval(&x, (struct value *[]){a, a}, 2, out, 2, &al, NULL), HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(x.d.first->message, "argument 1 is tensor<3xi64>, but its type is tensor<2xi64>"));
    assert_int_equal(program_eval(&x, &a, 1, out, 2, &al, NULL), HILO_INVALID_ARGUMENT);
    assert_int_equal(program_eval(&x, (struct value *[]){a, b}, 2, out, 1, &al, NULL), HILO_INVALID_ARGUMENT);
    ir_op declared = ir_module_symbol(x.m, STR("declared"));
    assert_int_equal(eval_func(x.m, declared, NULL, 0, out, 1, &al, NULL, &x.d), HILO_UNIMPLEMENTED);
    value_unref(a);
    value_unref(b);
    program_free(&x);
}

static void results_outlive_the_module(void **state) {
    (void)state;
    struct program x = program_read("func.func @main() -> (tensor<3xi64>, tuple<tensor<2xi64>, tensor<2xi64>>) {\n"
                                    "  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>\n"
                                    "  %1 = stablehlo.constant dense<7> : tensor<2xi64>\n"
                                    "  %2 = stablehlo.tuple %1, %1 : tuple<tensor<2xi64>, tensor<2xi64>>\n"
                                    "  return %0, %2 : tensor<3xi64>, tuple<tensor<2xi64>, tensor<2xi64>>\n"
                                    "}\n");
    hilo_allocator al = mem_system_allocator();
    struct value *out[2];
    assert_int_equal(program_eval(&x, NULL, 0, out, 2, &al, NULL), HILO_OK);
    program_free(&x);
    assert_int_equal(value_i64(out[0], 2), 3);
    assert_int_equal(value_i64(out[1]->items[1], 1), 7);
    value_unref(out[0]);
    value_unref(out[1]);
}

static void constants(void **state) {
    (void)state;
    runs("func.func @main() {\n"
         "  %0 = stablehlo.constant dense<3> : tensor<1000xi64>\n"
         "  check.expect_eq_const %0, dense<3> : tensor<1000xi64>\n"
         "  %1 = stablehlo.constant dense<> : tensor<0x4xf32>\n"
         "  check.expect_eq_const %1, dense<> : tensor<0x4xf32>\n"
         "  %2 = stablehlo.constant dense_resource<weights> : tensor<2xi32>\n"
         "  check.expect_eq_const %2, dense<[1, 2]> : tensor<2xi32>\n"
         "  return\n"
         "}\n"
         "{-#\n"
         "  dialect_resources: { builtin: { weights: \"0x040000000100000002000000\" } }\n"
         "#-}\n");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense_resource<__elided__> : tensor<2xi32>\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 2, "without eliding");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense_resource<lost> : tensor<2xi32>\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 2, "lacks the resource 'lost'");
}

static void control_flow(void **state) {
    (void)state;
    runs("func.func @twice(%x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {\n"
         "  %0 = stablehlo.add %x, %x : tensor<i64>\n"
         "  return %0, %x : tensor<i64>, tensor<i64>\n"
         "}\n"
         "func.func @main() {\n"
         "  %two = stablehlo.constant dense<2> : tensor<i64>\n"
         "  %true = stablehlo.constant dense<true> : tensor<i1>\n"
         "  %far = stablehlo.constant dense<-5> : tensor<i32>\n"
         "  %a:2 = call @twice(%two) : (tensor<i64>) -> (tensor<i64>, tensor<i64>)\n"
         "  %b = \"stablehlo.if\"(%true) ({\n"
         "    %1:2 = func.call @twice(%a#0) : (tensor<i64>) -> (tensor<i64>, tensor<i64>)\n"
         "    stablehlo.return %1#0 : tensor<i64>\n"
         "  }, {\n"
         "    stablehlo.return %two : tensor<i64>\n"
         "  }) : (tensor<i1>) -> tensor<i64>\n"
         "  %c = \"stablehlo.case\"(%far) ({\n"
         "    stablehlo.return %two : tensor<i64>\n"
         "  }, {\n"
         "    %2 = stablehlo.add %a#1, %b : tensor<i64>\n"
         "    stablehlo.return %2 : tensor<i64>\n"
         "  }) : (tensor<i32>) -> tensor<i64>\n"
         "  %d = stablehlo.composite \"x.y\" %c {decomposition = @half} : (tensor<i64>) -> tensor<i64>\n"
         "  %t = stablehlo.tuple %b, %d : tuple<tensor<i64>, tensor<i64>>\n"
         "  %e = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i64>, tensor<i64>>) -> tensor<i64>\n"
         "  check.expect_eq_const %e, dense<5> : tensor<i64>\n"
         "  return\n"
         "}\n"
         "func.func private @half(%x: tensor<i64>) -> tensor<i64> {\n"
         "  %2 = stablehlo.constant dense<2> : tensor<i64>\n"
         "  %0 = stablehlo.divide %x, %2 : tensor<i64>\n"
         "  return %0 : tensor<i64>\n"
         "}\n");
}

/* Counts to the argument, carrying 64 KiB along; the condition looks at a captured value. */
static const char counting[] =
    "func.func @main(%n: tensor<1xi64>) -> tensor<8192xi64> {\n"
    "  %limit = stablehlo.reshape %n : (tensor<1xi64>) -> tensor<i64>\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i64>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i64>\n"
    "  %start = stablehlo.constant dense<0> : tensor<8192xi64>\n"
    "  %step = stablehlo.constant dense<2> : tensor<8192xi64>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %acc = %start) : tensor<i64>, tensor<8192xi64>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %next = stablehlo.add %i, %one : tensor<i64>\n"
    "    %sum = stablehlo.add %acc, %step : tensor<8192xi64>\n"
    "    stablehlo.return %next, %sum : tensor<i64>, tensor<8192xi64>\n"
    "  }\n"
    "  return %r#1 : tensor<8192xi64>\n"
    "}\n";

/* The peak of memory of `counting`. */
static size_t count_to(int64_t n) {
    struct program x = program_read(counting);
    struct counter c = {0};
    hilo_allocator al = counter_allocator(&c);
    struct value *limit = i64s(&al, &n, 1), *out;
    assert_int_equal(program_eval(&x, &limit, 1, &out, 1, &al, NULL), HILO_OK);
    assert_int_equal(value_i64(out, 8191), 2 * n);
    value_unref(out);
    value_unref(limit);
    assert_int_equal(c.live, 0);
    program_free(&x);
    return c.peak;
}

static void loops_take_constant_memory(void **state) {
    (void)state;
    assert_int_equal(count_to(3), count_to(3000));
    assert_true(count_to(3) < 3 * 65536); /* what is carried, updated in place, and the step */
}

/* An operand that the op's own region looks at as well: it stays until the op is done, and is not overwritten. */
static void operands_seen_inside_stay(void **state) {
    (void)state;
    runs("func.func @main() {\n"
         "  %zero = stablehlo.constant dense<0> : tensor<i64>\n"
         "  %one = stablehlo.add %zero, %zero : tensor<i64>\n"
         "  %r:2 = stablehlo.while(%i = %one, %a = %one) : tensor<i64>, tensor<i64>\n"
         "  cond {\n"
         "    %c = stablehlo.compare LE, %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
         "    stablehlo.return %c : tensor<i1>\n"
         "  } do {\n"
         "    %k = stablehlo.constant dense<1> : tensor<i64>\n"
         "    %next = stablehlo.add %i, %k : tensor<i64>\n"
         "    %b = stablehlo.add %a, %one : tensor<i64>\n"
         "    stablehlo.return %next, %b : tensor<i64>, tensor<i64>\n"
         "  }\n"
         "  check.expect_eq_const %r#0, dense<1> : tensor<i64>\n"
         "  %x = stablehlo.constant dense<[5, 7]> : tensor<2xi64>\n"
         "  %y = stablehlo.add %x, %x : tensor<2xi64>\n"
         "  %s = \"stablehlo.map\"(%y) <{dimensions = array<i64: 0>}> ({\n"
         "  ^bb0(%e: tensor<i64>):\n"
         "    %first = stablehlo.slice %y [0:1] : (tensor<2xi64>) -> tensor<1xi64>\n"
         "    %f = stablehlo.reshape %first : (tensor<1xi64>) -> tensor<i64>\n"
         "    %d = stablehlo.subtract %e, %f : tensor<i64>\n"
         "    stablehlo.return %d : tensor<i64>\n"
         "  }) : (tensor<2xi64>) -> tensor<2xi64>\n"
         "  check.expect_eq_const %s, dense<[0, 4]> : tensor<2xi64>\n"
         "  return\n"
         "}\n");
}

/* Results may take over the memory of operands, but only of those that are dead. */
static void what_is_needed_is_not_overwritten(void **state) {
    (void)state;
    struct program x = program_read("func.func @main(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) {\n"
                                    "  %c = stablehlo.constant dense<[3, 4]> : tensor<2xi64>\n"
                                    "  %0 = stablehlo.add %c, %x : tensor<2xi64>\n"
                                    "  %1 = stablehlo.optimization_barrier %0 : tensor<2xi64>\n"
                                    "  %2 = stablehlo.add %1, %x : tensor<2xi64>\n"
                                    "  %3 = func.call @f(%2) : (tensor<2xi64>) -> tensor<2xi64>\n"
                                    "  %4 = stablehlo.add %2, %3 : tensor<2xi64>\n"
                                    "  return %0, %3, %4 : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>\n"
                                    "}\n"
                                    "func.func @f(%x: tensor<2xi64>) -> tensor<2xi64> {\n"
                                    "  %0 = stablehlo.add %x, %x : tensor<2xi64>\n"
                                    "  return %0 : tensor<2xi64>\n"
                                    "}\n");
    hilo_allocator al = mem_system_allocator();
    struct value *in = i64s(&al, (int64_t[]){1, 2}, 2), *out[3];
    for (int i = 0; i < 2; i++) { /* the constant is the same the second time */
        assert_int_equal(program_eval(&x, &in, 1, out, 3, &al, NULL), HILO_OK);
        assert_memory_equal(in->data, ((int64_t[]){1, 2}), 16);
        assert_memory_equal(out[0]->data, ((int64_t[]){4, 6}), 16);
        assert_memory_equal(out[1]->data, ((int64_t[]){10, 16}), 16);
        assert_memory_equal(out[2]->data, ((int64_t[]){15, 24}), 16);
        for (int k = 0; k < 3; k++)
            value_unref(out[k]);
    }
    value_unref(in);
    program_free(&x);
}

static void values_leave_at_their_last_use(void **state) {
    (void)state;
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    strbuf_puts(&text, "func.func @main(%v0: tensor<8192xi64>) -> tensor<8192xi64> {\n");
    for (int i = 0; i < 50; i++)
        strbuf_printf(&text, "  %%v%d = stablehlo.add %%v%d, %%v%d : tensor<8192xi64>\n", i + 1, i, i);
    strbuf_puts(&text, "  return %v50 : tensor<8192xi64>\n}\n");
    struct program x = program_read(text.p);
    struct counter c = {0};
    hilo_allocator al = counter_allocator(&c);
    struct value *in, *out;
    const int64_t n = 8192;
    assert_int_equal(value_tensor(&al, IR_I64_T, &n, 1, &in), HILO_OK);
    memset(in->data, 0, in->bytes);
    assert_int_equal(program_eval(&x, &in, 1, &out, 1, &al, NULL), HILO_OK);
    assert_true(c.peak < 4 * 65536); /* the argument, an operand and a result */
    value_unref(in);
    value_unref(out);
    assert_int_equal(c.live, 0);
    program_free(&x);
    strbuf_free(&text);
}

static void recursion_ends(void **state) {
    (void)state;
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<0> : tensor<i64>\n"
          "  %1 = call @again(%0) : (tensor<i64>) -> tensor<i64>\n"
          "  return\n"
          "}\n"
          "func.func @again(%x: tensor<i64>) -> tensor<i64> {\n"
          "  %t = stablehlo.constant dense<true> : tensor<i1>\n"
          "  %0 = \"stablehlo.if\"(%t) ({\n"
          "    %1 = func.call @again(%x) : (tensor<i64>) -> tensor<i64>\n"
          "    stablehlo.return %1 : tensor<i64>\n"
          "  }, {\n"
          "    stablehlo.return %x : tensor<i64>\n"
          "  }) : (tensor<i1>) -> tensor<i64>\n"
          "  return %0 : tensor<i64>\n"
          "}\n", HILO_RESOURCE_EXHAUSTED, 9, "calls and regions");
}

static void plans_are_shared(void **state) {
    (void)state;
    struct program x = program_read(counting);
    hilo_allocator al = mem_system_allocator();
    struct eval_plan *p;
    assert_int_equal(eval_plan_new(x.m, &al, &x.d, &p), HILO_OK);
    for (int64_t n = 0; n < 3; n++) {
        struct value *limit = i64s(&al, &n, 1), *out;
        ir_op main = ir_module_symbol(x.m, STR("main"));
        assert_int_equal(eval_plan_run(p, main, &limit, 1, &out, 1, &al, NULL, &x.d), HILO_OK);
        assert_int_equal(value_i64(out, 0), 2 * n);
        value_unref(out);
        value_unref(limit);
    }
    eval_plan_free(p);
    program_free(&x);
}

/* ---- hooks ----------------------------------------------------------------------------------------------------------- */

static bool cancel_soon(void *user) {
    return ++*(int *)user > 3;
}

static hilo_status triple(void *user, struct str target, const struct ir_module *m, ir_op op, struct value *const *in,
                          uint32_t nin, struct value **results, uint32_t nresults, struct diag_list *d) {
    (void)m;
    (void)op;
    (void)d;
    if (!str_is(target, "triple"))
        return HILO_UNIMPLEMENTED;
    assert_int_equal(nin, 1);
    assert_int_equal(nresults, 1);
    hilo_allocator al = mem_system_allocator();
    ++*(int *)user;
    HILO_TRY(value_tensor(&al, IR_I64_T, NULL, 0, results));
    *(int64_t *)results[0]->data = 3 * value_i64(in[0], 0);
    return HILO_OK;
}

static void evaluation_can_be_cancelled(void **state) {
    (void)state;
    int polls = 0;
    struct eval_hooks hooks = {.cancelled = cancel_soon, .user = &polls};
    struct program x = program_read(counting);
    hilo_allocator al = mem_system_allocator();
    struct value *limit = i64s(&al, (int64_t[]){INT64_MAX}, 1), *out;
    assert_int_equal(program_eval(&x, &limit, 1, &out, 1, &al, &hooks), HILO_CANCELLED);
    assert_int_equal(polls, 4);
    value_unref(limit);
    program_free(&x);
}

struct polled {
    int polls, computed;
};

static bool cancel_in_op(void *user) {
    return ++((struct polled *)user)->polls > 1; /* asked before the op, and in it */
}

static void count_computed(void *user, const struct ir_module *m, ir_op op, struct value **results, uint32_t n) {
    (void)m, (void)op, (void)results, (void)n;
    ((struct polled *)user)->computed++;
}

/* An op that takes long ends in its midst: the first poll in it finds the run cancelled, and it has no result. */
static void long_ops_can_be_cancelled(void **state) {
    (void)state;
#define CANCEL_ADD "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  %s = stablehlo.add %a, %b : tensor<f32>\n" \
                   "  stablehlo.return %s : tensor<f32>\n})"
#define CANCEL_MAX "({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  %s = stablehlo.maximum %a, %b : tensor<f32>\n" \
                   "  stablehlo.return %s : tensor<f32>\n})"
    static const struct {
        int64_t rows, columns;
        const char *op;
    } cases[] = {
        {2048, 2048, "stablehlo.exponential %x : tensor<2048x2048xf32>"},
        {4096, 4096, "\"stablehlo.reduce\"(%x, %z) " CANCEL_ADD
         " {dimensions = array<i64: 0, 1>} : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<f32>"},
        {4096, 4096, "\"stablehlo.reduce\"(%x, %z) " CANCEL_MAX
         " {dimensions = array<i64: 0>} : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>"},
        {1024, 1024, "\"stablehlo.reduce_window\"(%x, %z) " CANCEL_MAX
         " {window_dimensions = array<i64: 3, 3>, padding = dense<1> : tensor<2x2xi64>} :"
         " (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>"},
        {1, 1 << 20, "\"stablehlo.sort\"(%x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
         "  %s = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
         "  stablehlo.return %s : tensor<i1>\n})"
         " {dimension = 1 : i64} : (tensor<1x1048576xf32>) -> tensor<1x1048576xf32>"},
        {512, 512, "stablehlo.convolution(%x, %x) dim_numbers = [b, f]x[i, o]->[b, f],"
         " window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :"
         " (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>"},
        {512, 512, "stablehlo.cholesky %x, lower = true : tensor<512x512xf32>"},
        {512, 512, "\"stablehlo.triangular_solve\"(%x, %x) {left_side = true, lower = true, unit_diagonal = true,"
         " transpose_a = #stablehlo<transpose NO_TRANSPOSE>} :"
         " (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>"},
        {512, 512, "stablehlo.einsum %x, %x, config = \"ij,jk->ik\" :"
         " (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>"},
        {1024, 1024, "stablehlo.fft %x, type = RFFT, length = [1024] :"
         " (tensor<1024x1024xf32>) -> tensor<1024x513xcomplex<f32>>"},
    };
    hilo_allocator al = mem_system_allocator();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        const char *type = strrchr(cases[i].op, '>');
        while (type > cases[i].op && strncmp(type, "tensor<", 7) != 0)
            type--;
        snprintf(text, sizeof text, "func.func @main(%%x: tensor<%lldx%lldxf32>, %%z: tensor<f32>) -> %s {\n  %%r = %s\n"
                 "  return %%r : %s\n}\n", (long long)cases[i].rows, (long long)cases[i].columns, type, cases[i].op, type);
        struct polled polled = {0, 0};
        struct eval_hooks hooks = {.cancelled = cancel_in_op, .computed = count_computed, .user = &polled};
        struct program p = program_read(text);
        struct value *in[2], *out = NULL;
        assert_int_equal(value_tensor(&al, IR_F32_T, (int64_t[]){cases[i].rows, cases[i].columns}, 2, &in[0]), HILO_OK);
        assert_int_equal(value_tensor(&al, IR_F32_T, NULL, 0, &in[1]), HILO_OK);
        memset(in[0]->data, 0, in[0]->bytes);
        memset(in[1]->data, 0, in[1]->bytes);
        assert_int_equal(program_eval(&p, in, 2, &out, 1, &al, &hooks), HILO_CANCELLED);
        assert_int_equal(polled.polls, 2);
        assert_int_equal(polled.computed, 0);
        value_unref(in[0]);
        value_unref(in[1]);
        program_free(&p);
    }
}

static void custom_calls(void **state) {
    (void)state;
    static const char text[] = "func.func @main() {\n"
                               "  %0 = stablehlo.constant dense<2> : tensor<i64>\n"
                               "  %1 = stablehlo.custom_call @Sharding(%0) : (tensor<i64>) -> tensor<i64>\n"
                               "  %2 = stablehlo.custom_call @triple(%1) : (tensor<i64>) -> tensor<i64>\n"
                               "  check.expect_eq_const %2, dense<6> : tensor<i64>\n"
                               "  %3 = stablehlo.custom_call @nobody(%1) : (tensor<i64>) -> tensor<i64>\n"
                               "  return\n"
                               "}\n";
    int calls = 0;
    struct eval_hooks hooks = {.custom_call = triple, .user = &calls};
    fails_with(text, HILO_UNIMPLEMENTED, 6, "'nobody', which is not built in", &hooks);
    assert_int_equal(calls, 1);
    fails(text, HILO_UNIMPLEMENTED, 4, "'triple', which is not built in");
}

static void broken_assertions(void **state) {
    (void)state;
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<false> : tensor<i1>\n"
          "  %1 = stablehlo.constant dense<-7> : tensor<i32>\n"
          "  %2 = stablehlo.constant dense<2.0> : tensor<f32>\n"
          "  stablehlo.custom_call @shape_assertion(%0, %1, %2)\n"
          "      {error_message = \"{0} is not {}, {x} {1} {2} {18446744073709551615} or {0\", has_side_effect = true}\n"
          "      : (tensor<i1>, tensor<i32>, tensor<f32>) -> ()\n"
          "  return\n"
          "}\n", HILO_INVALID_ARGUMENT, 5, "shape assertion failed: -7 is not {}, {x} {1} {2} {18446744073709551615} or {0");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<[true, true]> : tensor<2xi1>\n"
          "  stablehlo.custom_call @shape_assertion(%0) {has_side_effect = true} : (tensor<2xi1>) -> ()\n"
          "  return\n"
          "}\n", HILO_INVALID_ARGUMENT, 3, "must assert one truth value");
}

/* Targets that are ops in all but form are checked when they run. */
static void malformed_custom_calls(void **state) {
    (void)state;
    static const char reducer[] = "func.func @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
                                  "  %0 = stablehlo.add %a, %b : tensor<f32>\n"
                                  "  return %0 : tensor<f32>\n"
                                  "}\n"
                                  "func.func @main() {\n"
                                  "  %x = stablehlo.constant dense<1.0> : tensor<3xf32>\n"
                                  "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                                  "  %d = stablehlo.constant dense<0.0> : tensor<f64>\n"
                                  "  %1 = stablehlo.constant dense<1> : tensor<1xi32>\n"
                                  "  %0 = stablehlo.constant dense<0> : tensor<1xi32>\n"
                                  "  %p = stablehlo.constant dense<0> : tensor<1x2xi32>\n"
                                  "  %most = stablehlo.constant dense<9223372036854775807> : tensor<1xi64>\n"
                                  "  %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>\n";
    static const struct { const char *op, *says; } calls[] = {
        {"%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %z, %1, %1, %1, %1, %p) "
         "{called_computations = [@main]}"
         " : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>)"
         " -> tensor<3xf32>", "reduces two scalars"},
        {"%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %d, %1, %1, %1, %1, %p) "
         "{called_computations = [@sum]}"
         " : (tensor<3xf32>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>)"
         " -> tensor<3xf32>", "reduces two scalars"},
        {"%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %z, %1, %1, %1, %1, %1) "
         "{called_computations = [@sum]}"
         " : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)"
         " -> tensor<3xf32>", "five lists of integers"},
        {"%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %z, %1, %0, %1, %1, %p) "
         "{called_computations = [@sum]}"
         " : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>)"
         " -> tensor<3xf32>", "a window out of range in dimension 0"},
        {"%r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %z, %1, %1, %most, %1, %p) "
         "{called_computations = [@sum]}"
         " : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi64>, tensor<1xi32>, tensor<1x2xi32>)"
         " -> tensor<3xf32>", "padding out of range in dimension 0"},
        {"%r:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %z) : (tensor<3xf32>, tensor<f32>)"
         " -> (tensor<1xf32>, tensor<1xi32>)", "one integer"},
        {"%r:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %0) : (tensor<3xf32>, tensor<1xi32>)"
         " -> (tensor<0xf64>, tensor<0xi32>)", "result 0"},
        {"%r:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %1) : (tensor<2xui64>, tensor<1xi32>)"
         " -> (tensor<2xui64>, tensor<1xui32>)", "an rng_algorithm"},
        {"%r:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%1, %1)"
         " {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<1xi32>, tensor<1xi32>)"
         " -> (tensor<1xi32>, tensor<1xui32>)", "a state of 4 bytes"},
        {"%r = stablehlo.custom_call @AllocateBuffer() : () -> tensor<?xf32>", "one buffer of a known size"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct strbuf text;
        strbuf_init(&text, mem_system_allocator());
        strbuf_printf(&text, "%s  %s\n  return\n}\n", reducer, calls[i].op);
        fails(text.p, HILO_INVALID_ARGUMENT, 14, calls[i].says);
        strbuf_free(&text);
    }
}

/* No result has room for more than its elements. */
static void results_of_a_lesser_kind(void **state) {
    (void)state;
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<(1.0, 2.0)> : tensor<3xcomplex<f32>>\n"
          "  %1 = stablehlo.dot_general %0, %0, contracting_dims = [] x []\n"
          "      : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3x3xf32>\n"
          "  return\n"
          "}\n", HILO_UNIMPLEMENTED, 3, "an operand of complex<f32>, but a result of f32");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<2> : tensor<1x4x1xi32>\n"
          "  %1 = stablehlo.constant dense<0.5> : tensor<1x1x1xf32>\n"
          "  %2 = stablehlo.dot_general %0, %1, contracting_dims = [2] x [0]\n"
          "      : (tensor<1x4x1xi32>, tensor<1x1x1xf32>) -> tensor<1x4x1x1xi8>\n"
          "  return\n"
          "}\n", HILO_UNIMPLEMENTED, 4, "an operand of f32, but a result of i8");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<0.5> : tensor<1x4x1xf32>\n"
          "  %1 = stablehlo.constant dense<0.5> : tensor<1x1x1xf32>\n"
          "  %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}\n"
          "      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}\n"
          "      : (tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x4x1xi8>\n"
          "  return\n"
          "}\n", HILO_UNIMPLEMENTED, 4, "an operand of f32, but a result of i8");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<(1.0, 2.0)> : tensor<3xcomplex<f32>>\n"
          "  %1 = \"stablehlo.unary_einsum\"(%0) {einsum_config = \"i->i\"} : (tensor<3xcomplex<f32>>) -> tensor<3xf32>\n"
          "  return\n"
          "}\n", HILO_UNIMPLEMENTED, 3, "an operand of complex<f32>, but a result of f32");
}

struct probe_log {
    struct value *last;
    int prints;
};

static hilo_status probe_note(void *user, struct str id, const struct value *v) {
    struct probe_log *log = user;
    assert_true(str_is(id, "here"));
    hilo_allocator al = mem_system_allocator();
    value_unref(log->last);
    HILO_TRY(value_tensor(&al, v->dtype, v->dims, v->rank, &log->last));
    memcpy(log->last->data, v->data, v->bytes);
    return HILO_OK;
}

static hilo_status probe_read(void *user, struct str id, uint32_t iteration, const struct value *like, struct value **out) {
    struct probe_log *log = user;
    (void)id;
    (void)like;
    if (iteration > 0)
        return HILO_NOT_FOUND;
    *out = value_ref(log->last);
    return HILO_OK;
}

static void print_note(void *user, const struct ir_module *m, ir_type type, const struct value *v) {
    (void)m;
    (void)type;
    (void)v;
    ((struct probe_log *)user)->prints++;
}

static void probes(void **state) {
    (void)state;
    struct probe_log log = {0};
    struct eval_hooks hooks = {.probe = probe_note, .probed = probe_read, .print = print_note, .user = &log};
    fails_with("func.func @main() {\n"
               "  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
               "  interpreter.print %0 : tensor<2xi64>\n"
               "  %1 = interpreter.probe %0, probe_id = \"here\" : tensor<2xi64>\n"
               "  check.expect_serialized_eq %1, probe_id = \"here\" : tensor<2xi64>\n"
               "  check.expect_serialized_eq %1, probe_id = \"here\", iter = 1 : tensor<2xi64>\n"
               "  return\n"
               "}\n", HILO_NOT_FOUND, 6, "no value 1 of probe 'here'", &hooks);
    assert_int_equal(log.prints, 1);
    value_unref(log.last);
}

/* ---- checks ---------------------------------------------------------------------------------------------------------- */

static struct value *scalar(enum ir_dtype t, const void *data) {
    hilo_allocator al = mem_system_allocator();
    struct value *v;
    assert_int_equal(value_tensor(&al, t, NULL, 0, &v), HILO_OK);
    memcpy(v->data, data, v->bytes);
    return v;
}

static bool agree_f32(float a, float b, struct check_rule rule) {
    struct value *x = scalar(IR_F32_T, &a), *y = scalar(IR_F32_T, &b);
    bool same = check_values(x, y, &rule, NULL);
    value_unref(x);
    value_unref(y);
    return same;
}

static void check_rules(void **state) {
    (void)state;
    const struct check_rule exact = {.how = CHECK_EXACT}, almost = {.how = CHECK_ALMOST, .tolerance = 0.5},
                            ulp = {.how = CHECK_ULP, .max_ulp = 2}, apart = {.how = CHECK_ULP, .min_ulp = 1, .max_ulp = 2};
    float tiny = FLT_TRUE_MIN, past = nextafterf(1, 2), far = nextafterf(past, 2), farther = nextafterf(far, 2);
    assert_true(agree_f32(0.0f, -0.0f, exact));
    assert_false(agree_f32(NAN, NAN, exact));
    assert_true(agree_f32(INFINITY, INFINITY, exact));
    assert_true(agree_f32(1.0f, 1.5f, almost));
    assert_false(agree_f32(1.0f, 1.75f, almost));
    assert_true(agree_f32(NAN, NAN, almost));
    assert_false(agree_f32(NAN, 1, almost));
    assert_false(agree_f32(INFINITY, FLT_MAX, almost));
    assert_false(agree_f32(INFINITY, -INFINITY, almost));
    assert_true(agree_f32(1, far, ulp));
    assert_false(agree_f32(1, farther, ulp));
    assert_true(agree_f32(-tiny, tiny, ulp));
    assert_true(agree_f32(NAN, -NAN, ulp));
    assert_false(agree_f32(FLT_MAX, INFINITY, ulp));
    assert_true(agree_f32(1, past, apart));
    assert_false(agree_f32(1, 1, apart));
    assert_false(agree_f32(NAN, NAN, apart));
}

/* Codes of each float format: neighbours are one ulp apart, zeros of both signs none, NaN agrees with NaN. */
static void check_formats(void **state) {
    (void)state;
    for (int t = 1; t < IR_DTYPE_COUNT; t++) {
        const struct ir_dtype_info *info = ir_dtype_get((enum ir_dtype)t);
        if (info->cls != IR_FLOAT)
            continue;
        uint64_t one = fp_encode(info->fp, 1.0), next = one + 1, nan = fp_encode(info->fp, NAN);
        uint64_t zero = fp_encode(info->fp, 0.0), negative = fp_encode(info->fp, -0.0);
        struct value *a = scalar((enum ir_dtype)t, &one), *b = scalar((enum ir_dtype)t, &next),
                     *n = scalar((enum ir_dtype)t, &nan), *z = scalar((enum ir_dtype)t, &zero),
                     *y = scalar((enum ir_dtype)t, &negative);
        const struct check_rule none = {.how = CHECK_ULP}, ulp = {.how = CHECK_ULP, .min_ulp = 1, .max_ulp = 1};
        assert_true(check_values(a, b, &ulp, NULL));
        assert_false(check_values(a, b, &none, NULL));
        assert_true(check_values(n, n, &none, NULL));
        assert_true(check_values(z, y, &none, NULL));
        if (fp_has_nan(info->fp))
            assert_false(check_values(n, a, &(struct check_rule){.how = CHECK_ULP, .max_ulp = UINT64_MAX - 1}, NULL));
        value_unref(a);
        value_unref(b);
        value_unref(n);
        value_unref(z);
        value_unref(y);
    }
}

static void checks_say_why(void **state) {
    (void)state;
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
          "  check.expect_eq_const %0, dense<[[1, 2], [0, 0]]> : tensor<2x2xi32>\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 3, "element [1, 0] is 3, expected 0; 2 of 4 differ");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<(1.0, 0x7FC00000)> : tensor<complex<f32>>\n"
          "  %1 = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>\n"
          "  check.expect_almost_eq %0, %1 : tensor<complex<f32>>\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 4,
          "element [] is (1.000000e+00, nan), expected (1.000000e+00, 2.000000e+00) within 0.0001");
    fails("func.func @main() {\n"
          "  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
          "  %1 = stablehlo.constant dense<0x3F800009> : tensor<f32>\n"
          "  stablehlo.custom_call @check.expect_close(%0, %1) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 4, "(9 ulp apart)");
    runs("func.func @main() {\n"
         "  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
         "  %1 = stablehlo.constant dense<1.00009> : tensor<f32>\n"
         "  %2 = stablehlo.custom_call @check.eq(%0, %1) : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
         "  check.expect_eq_const %2, dense<true> : tensor<i1>\n"
         "  %3 = stablehlo.constant dense<1.0009> : tensor<f32>\n"
         "  stablehlo.custom_call @check.expect_almost_eq(%0, %3) : (tensor<f32>, tensor<f32>) -> ()\n"
         "  return\n"
         "}\n");
}

/* ---- quantised numbers ----------------------------------------------------------------------------------------------- */

static void quantise_per_block(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    const int64_t axes[] = {0, 1}, blocks[] = {1, 2}, scale_dims[] = {2, 2}, dims[] = {2, 4}, zero[4] = {0, 0, 0, 1};
    const double scales[] = {1, 2, 4, 8};
    struct ir_quant q = {.kind = IR_QUANT_BLOCK, .storage = IR_I8_T, .expressed = IR_F32_T, .storage_min = -128,
                         .storage_max = 127, .naxes = 2, .axes = axes, .block_sizes = blocks, .nscales = 4,
                         .scale_dims = scale_dims, .scale_rank = 2, .scales = scales, .zero_points = zero};
    struct value *v, *numbers, *back;
    assert_int_equal(value_tensor(&al, IR_I8_T, dims, 2, &v), HILO_OK);
    memcpy(v->data, (int8_t[]){1, 2, 3, 4, 5, 6, 7, -128}, 8);
    assert_int_equal(eval_dequantize(&al, &q, v, &numbers), HILO_OK);
    assert_memory_equal(numbers->data, ((float[]){1, 2, 6, 8, 20, 24, 48, -1032}), 32);
    assert_int_equal(eval_quantize(&al, &q, numbers, &back), HILO_OK);
    assert_memory_equal(back->data, v->data, 8);
    value_unref(back);
    q.block_sizes = (int64_t[]){1, 3};
    assert_int_equal(eval_dequantize(&al, &q, v, &back), HILO_INVALID_ARGUMENT);
    value_unref(v);
    value_unref(numbers);
}

static void quantise_rounds_and_clamps(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    const double scale = 0.5;
    const int64_t zero = 10, n = 8;
    struct ir_quant q = {.kind = IR_QUANT_TENSOR, .storage = IR_I8_T, .expressed = IR_F32_T, .storage_min = -128,
                         .storage_max = 127, .nscales = 1, .scales = &scale, .zero_points = &zero};
    struct value *v, *back;
    assert_int_equal(value_tensor(&al, IR_F32_T, &n, 1, &v), HILO_OK);
    memcpy(v->data, (float[]){0, 0.25f, 0.75f, 1e9f, -1e9f, INFINITY, -INFINITY, NAN}, 32);
    assert_int_equal(eval_quantize(&al, &q, v, &back), HILO_OK);
    assert_memory_equal(back->data, ((int8_t[]){10, 10, 12, 127, -128, 127, -128, 0}), 8);
    value_unref(back);
    q.storage = IR_I32_T; /* bounds that f32 cannot hold */
    q.storage_min = INT32_MIN;
    q.storage_max = INT32_MAX;
    assert_int_equal(eval_quantize(&al, &q, v, &back), HILO_OK);
    assert_int_equal(value_i64(back, 5), INT32_MAX);
    assert_int_equal(value_i64(back, 6), INT32_MIN);
    value_unref(back);
    value_unref(v);
}

/* ---- processes ------------------------------------------------------------------------------------------------------- */

/* Two processes that share one text of a function over tensor<2xi64>, and what must come out of them. */
static void parallel(const char *body, const char *first, const char *second) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    strbuf_printf(&text,
                  "func.func @p(%%x: tensor<2xi64>) -> tensor<2xi64> {\n%s}\n"
                  "func.func @main() {\n"
                  "  %%0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
                  "  %%1 = stablehlo.constant dense<[10, 20]> : tensor<2xi64>\n"
                  "  %%r:2 = \"interpreter.run_parallel\"(%%0, %%1) {programs = [[@p], [@p]]}\n"
                  "    : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)\n"
                  "  check.expect_eq_const %%r#0, dense<%s> : tensor<2xi64>\n"
                  "  check.expect_eq_const %%r#1, dense<%s> : tensor<2xi64>\n"
                  "  return\n"
                  "}\n", body, first, second);
    runs(text.p);
    strbuf_free(&text);
}

#define ADD                                                                                             \
    "({^bb0(%a: tensor<i64>, %b: tensor<i64>): %s = stablehlo.add %a, %b : tensor<i64>\n"              \
    " stablehlo.return %s : tensor<i64>})"

static void collectives(void **state) {
    (void)state;
    parallel("  %0 = \"stablehlo.all_reduce\"(%x) " ADD " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}\n"
             "    : (tensor<2xi64>) -> tensor<2xi64>\n  return %0 : tensor<2xi64>\n", "[11, 22]", "[11, 22]");
    parallel("  %0 = \"stablehlo.all_reduce\"(%x) " ADD " {replica_groups = dense<> : tensor<0x0xi64>}\n"
             "    : (tensor<2xi64>) -> tensor<2xi64>\n  return %0 : tensor<2xi64>\n", "[11, 22]", "[11, 22]");
    parallel("  %0 = \"stablehlo.cross-replica-sum\"(%x) {replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}\n"
             "    : (tensor<2xi64>) -> tensor<2xi64>\n  return %0 : tensor<2xi64>\n", "[1, 2]", "[10, 20]");
    parallel("  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64,\n"
             "    split_count = 2 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}\n"
             "    : (tensor<2xi64>) -> tensor<2xi64>\n  return %0 : tensor<2xi64>\n", "[20, 2]", "[10, 1]");
    parallel("  %0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}\n"
             "    : (tensor<2xi64>) -> tensor<2xi64>\n  return %0 : tensor<2xi64>\n", "[0, 0]", "[1, 2]");
    parallel("  %t = stablehlo.create_token : !stablehlo.token\n"
             "  %u = \"stablehlo.send\"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>,\n"
             "    is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}\n"
             "    : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token\n"
             "  %0:2 = \"stablehlo.recv\"(%u) {channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>,\n"
             "    is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}\n"
             "    : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)\n"
             "  return %0#0 : tensor<2xi64>\n", "[10, 20]", "[1, 2]");
    parallel("  %f = \"stablehlo.async_start\"(%x) ({\n"
             "  ^bb0(%y: tensor<2xi64>):\n"
             "    %1 = \"stablehlo.collective_broadcast\"(%y) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}\n"
             "      : (tensor<2xi64>) -> tensor<2xi64>\n"
             "    stablehlo.return %1 : tensor<2xi64>\n"
             "  }) : (tensor<2xi64>) -> !stablehlo.future<tensor<2xi64>>\n"
             "  %0 = \"stablehlo.async_done\"(%f) : (!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>\n"
             "  return %0 : tensor<2xi64>\n", "[10, 20]", "[10, 20]");
}

/* Groups by the axes of a 2x2 mesh, over four processes. */
static void mesh_groups(void **state) {
    (void)state;
    static const struct { const char *axes, *results[4]; } rows[] = {
        {"#stablehlo.axis_ref<name = \"x\">", {"5", "10", "5", "10"}},
        {"#stablehlo.axis_ref<name = \"y\">", {"3", "3", "12", "12"}},
        {"#stablehlo.axis_ref<name = \"y\">, #stablehlo.axis_ref<name = \"x\">", {"15", "15", "15", "15"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text;
        strbuf_init(&text, mem_system_allocator());
        strbuf_puts(&text, "func.func @p(%x: tensor<i64>) -> tensor<i64> {\n  %0 = \"stablehlo.all_reduce\"(%x) " ADD);
        strbuf_printf(&text,
                      " {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [\n"
                      "    #stablehlo.mesh_axis<name = \"x\", size = 2>, #stablehlo.mesh_axis<name = \"y\", size = 2>]>,\n"
                      "    axes = [%s]>} : (tensor<i64>) -> tensor<i64>\n"
                      "  return %%0 : tensor<i64>\n"
                      "}\n"
                      "func.func @main() {\n", rows[i].axes);
        for (int k = 0; k < 4; k++)
            strbuf_printf(&text, "  %%%d = stablehlo.constant dense<%d> : tensor<i64>\n", k, 1 << k);
        strbuf_puts(&text, "  %r:4 = \"interpreter.run_parallel\"(%0, %1, %2, %3) {programs = [[@p], [@p], [@p], [@p]]}\n"
                           "    : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)\n"
                           "    -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)\n");
        for (int k = 0; k < 4; k++)
            strbuf_printf(&text, "  check.expect_eq_const %%r#%d, dense<%s> : tensor<i64>\n", k, rows[i].results[k]);
        strbuf_puts(&text, "  return\n}\n");
        runs(text.p);
        strbuf_free(&text);
    }
}

static void one_process_alone(void **state) {
    (void)state;
    runs("func.func @main() {\n"
         "  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
         "  %0 = \"stablehlo.all_reduce\"(%x) " ADD " {replica_groups = dense<0> : tensor<1x1xi64>}\n"
         "    : (tensor<2xi64>) -> tensor<2xi64>\n"
         "  check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi64>\n"
         "  %id = stablehlo.replica_id : tensor<ui32>\n"
         "  check.expect_eq_const %id, dense<0> : tensor<ui32>\n"
         "  %t = stablehlo.create_token : !stablehlo.token\n"
         "  %u = \"stablehlo.send\"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>,\n"
         "    is_host_transfer = true} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token\n"
         "  return\n"
         "}\n");
    fails("func.func @main() {\n"
          "  %t = stablehlo.create_token : !stablehlo.token\n"
          "  %0:2 = \"stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>,\n"
          "    is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 3, "deadlock: process (0, 0) waits for a process that does not join");
    fails("func.func @main() {\n"
          "  %t = stablehlo.create_token : !stablehlo.token\n"
          "  %0:2 = \"stablehlo.infeed\"(%t) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)\n"
          "  return\n"
          "}\n", HILO_FAILED_PRECONDITION, 3, "finds the infeed empty");
}

/* One process fails, or does not join: the others do not wait for ever, and the error is the one that explains it. */
static void processes_do_not_hang(void **state) {
    (void)state;
    static const char text[] =
        "func.func @meets(%x: tensor<2xi64>) -> tensor<2xi64> {\n"
        "  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}\n"
        "    : (tensor<2xi64>) -> tensor<4xi64>\n"
        "  return %x : tensor<2xi64>\n"
        "}\n"
        "func.func @fails(%x: tensor<2xi64>) -> tensor<2xi64> {\n"
        "  check.expect_eq_const %x, dense<0> : tensor<2xi64>\n"
        "  return %x : tensor<2xi64>\n"
        "}\n"
        "func.func @leaves(%x: tensor<2xi64>) -> tensor<2xi64> {\n"
        "  return %x : tensor<2xi64>\n"
        "}\n"
        "func.func @main() {\n"
        "  %%x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
        "  %%r:2 = \"interpreter.run_parallel\"(%%x, %%x) {programs = [[@meets], [@%s]]}\n"
        "    : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)\n"
        "  return\n"
        "}\n";
    struct strbuf program;
    for (int i = 0; i < 20; i++) {
        strbuf_init(&program, mem_system_allocator());
        const char *main = strstr(text, "func.func @main");
        strbuf_putn(&program, text, (size_t)(main - text));
        strbuf_printf(&program, main, i % 2 ? "fails" : "leaves");
        if (i % 2)
            fails(program.p, HILO_FAILED_PRECONDITION, 7, "element [0] is 1, expected 0");
        else
            fails(program.p, HILO_FAILED_PRECONDITION, 2, "deadlock: process (0, 0) waits for a process that does not join");
        strbuf_free(&program);
    }
}

/* ---- memory that ends ------------------------------------------------------------------------------------------------ */

static const char everything[] =
    "func.func @p(%x: tensor<2xi64>) -> tensor<2xi64> {\n"
    "  %0 = \"stablehlo.all_reduce\"(%x) " ADD " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}\n"
    "    : (tensor<2xi64>) -> tensor<2xi64>\n"
    "  %1 = \"stablehlo.collective_permute\"(%0) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}\n"
    "    : (tensor<2xi64>) -> tensor<2xi64>\n"
    "  return %1 : tensor<2xi64>\n"
    "}\n"
    "func.func @main() -> (tensor<2xi64>, tuple<tensor<2xi64>, tensor<2xi64>>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i64>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i64>\n"
    "  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
    "  %r:2 = \"interpreter.run_parallel\"(%x, %x) {programs = [[@p], [@p]]}\n"
    "    : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)\n"
    "  %w:2 = stablehlo.while(%i = %zero, %a = %r#1) : tensor<i64>, tensor<2xi64>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i64>\n"
    "    %b = stablehlo.add %a, %a : tensor<2xi64>\n"
    "    stablehlo.return %j, %b : tensor<i64>, tensor<2xi64>\n"
    "  }\n"
    "  %f = stablehlo.constant dense<[4.0, 15.0]> : tensor<2xf32>\n"
    "  %q = stablehlo.uniform_quantize %f : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>\n"
    "  %s = stablehlo.add %q, %q : tensor<2x!quant.uniform<i8:f32, 0.5:-20>>\n"
    "  %g = stablehlo.uniform_dequantize %s : (tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xf32>\n"
    "  check.expect_eq_const %g, dense<[8.0, 30.0]> : tensor<2xf32>\n"
    "  %t = stablehlo.tuple %w#1, %x : tuple<tensor<2xi64>, tensor<2xi64>>\n"
    "  return %w#1, %t : tensor<2xi64>, tuple<tensor<2xi64>, tensor<2xi64>>\n"
    "}\n";

/* Every allocation fails in turn: the status says so, and nothing is left. */
static void out_of_memory_is_an_answer(void **state) {
    (void)state;
    size_t n = 1;
    for (hilo_status status = HILO_RESOURCE_EXHAUSTED; status != HILO_OK; n++) {
        struct program x = program_read(everything);
        struct counter c = {.fail_at = n};
        hilo_allocator al = counter_allocator(&c);
        struct value *out[2];
        status = program_eval(&x, NULL, 0, out, 2, &al, NULL);
        if (status == HILO_OK) {
            assert_int_equal(value_i64(out[0], 1), 8);
            value_unref(out[0]);
            value_unref(out[1]);
        } else {
            assert_int_equal(status, HILO_RESOURCE_EXHAUSTED);
            assert_true(x.d.errors > 0);
        }
        assert_int_equal(c.live, 0);
        program_free(&x);
        assert_true(n < 1000);
    }
    assert_true(n > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_sizes),
        cmocka_unit_test(value_references),
        cmocka_unit_test(value_indices),
        cmocka_unit_test(value_integers),
        cmocka_unit_test(arguments_and_results),
        cmocka_unit_test(results_outlive_the_module),
        cmocka_unit_test(constants),
        cmocka_unit_test(control_flow),
        cmocka_unit_test(loops_take_constant_memory),
        cmocka_unit_test(operands_seen_inside_stay),
        cmocka_unit_test(what_is_needed_is_not_overwritten),
        cmocka_unit_test(values_leave_at_their_last_use),
        cmocka_unit_test(recursion_ends),
        cmocka_unit_test(plans_are_shared),
        cmocka_unit_test(evaluation_can_be_cancelled), cmocka_unit_test(long_ops_can_be_cancelled),
        cmocka_unit_test(custom_calls),
        cmocka_unit_test(broken_assertions),
        cmocka_unit_test(malformed_custom_calls),
        cmocka_unit_test(results_of_a_lesser_kind),
        cmocka_unit_test(probes),
        cmocka_unit_test(check_rules),
        cmocka_unit_test(check_formats),
        cmocka_unit_test(checks_say_why),
        cmocka_unit_test(quantise_per_block),
        cmocka_unit_test(quantise_rounds_and_clamps),
        cmocka_unit_test(collectives),
        cmocka_unit_test(mesh_groups),
        cmocka_unit_test(one_process_alone),
        cmocka_unit_test(processes_do_not_hang),
        cmocka_unit_test(out_of_memory_is_an_answer),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
