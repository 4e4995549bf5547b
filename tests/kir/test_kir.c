/* The builder of the kernel IR: where values are placed, what is kept once, how indices are simplified. */
#include "kir/kir.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

struct fixture {
    struct kir *k;
    jmp_buf recover;
    struct strbuf text;
};

static int begin(void **state) {
    struct fixture *f = test_calloc(1, sizeof *f);
    strbuf_init(&f->text, mem_system_allocator());
    f->k = kir_new("test", mem_system_allocator(), &f->recover);
    *state = f;
    return f->k ? 0 : -1;
}

static int end(void **state) {
    struct fixture *f = *state;
    kir_free(f->k);
    strbuf_free(&f->text);
    test_free(f);
    return 0;
}

static const char *text_of(struct fixture *f) {
    f->text.n = 0;
    kir_print(f->k, &f->text);
    return f->text.p;
}

/* An index below `extent`, in a loop that stays open. */
static kir_val index_below(struct kir *k, int64_t extent) { return kir_loop(k, KIR_SERIAL, extent, 0); }
static kir_val add(struct kir *k, kir_val a, kir_val b) { return kir_op2(k, KIR_ADD, 0, a, b); }
static kir_val mul(struct kir *k, kir_val a, int64_t c) { return kir_op2(k, KIR_MUL, 0, a, kir_i64(k, c)); }
static kir_val quotient(struct kir *k, kir_val a, int64_t c) { return kir_op2(k, KIR_DIV, 0, a, kir_i64(k, c)); }
static kir_val rest(struct kir *k, kir_val a, int64_t c) { return kir_op2(k, KIR_REM, 0, a, kir_i64(k, c)); }

#define SAME(a, b) assert_int_equal((a).i, (b).i)

static void test_placement(void **state) {
    struct fixture *f = *state;
    struct kir *k = f->k;
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, 4096), y = kir_param(k, KIR_OUT, IR_BF16_T, 4096);
    uint32_t s = kir_scratch(k, IR_F32_T, 3), t = kir_scratch(k, IR_I8_T, 1);
    assert_int_equal(k->buffers.v[s].offset, 0);
    assert_int_equal(k->buffers.v[t].offset, 64);
    assert_int_equal(k->scratch_bytes, 128);
    assert_int_equal(kir_param_count(k), 2);
    kir_val i = kir_loop(k, KIR_GRID, 64, 0);
    kir_val j = kir_loop(k, KIR_VECTOR, 64, 16);
    kir_val at = add(k, j, mul(k, i, 64));
    kir_val scale = kir_load(k, x, i);
    kir_val product = kir_op2(k, KIR_MUL, 0, kir_load(k, x, at), scale);
    kir_store(k, y, at, kir_op2(k, KIR_ADD, 0, product, kir_float(k, KIR_F32, 0.1)));
    kir_close(k);
    kir_close(k);
    assert_string_equal(text_of(f),
                        "kernel test(b0: in f32[4096], b1: out bf16[4096], b2: scratch f32[3], b3: scratch i8[1]) {\n"
                        "    %1 = loop grid 64 {\n"
                        "        %2: i64 = mul %1, 64\n"
                        "        %3: f32 = load b0[%1]\n"
                        "        %4 = loop vector 64 by 16 {\n"
                        "            %5: i64 = add %2, %4\n"
                        "            %6: f32 = load b0[%5]\n"
                        "            %7: f32 = mul %3, %6\n"
                        "            %8: f32 = add %7, 1.000000e-01:f32\n"
                        "            store b1[%5], %8\n"
                        "        }\n"
                        "    }\n"
                        "}\n");
    assert_int_equal(kir_grid_extent(k), 64);
    SAME(kir_grid(k), i);
}

/* What a kernel reads of a buffer is no more than the buffer has, nor than its loops allow. */
static void test_read_elements(void **state) {
    struct kir *k = ((struct fixture *)*state)->k;
    uint32_t table = kir_param(k, KIR_IN, IR_F32_T, 1 << 20), rows = kir_param(k, KIR_IN, IR_I32_T, 8);
    uint32_t whole = kir_param(k, KIR_IN, IR_F32_T, 100), out = kir_param(k, KIR_OUT, IR_F32_T, 8 * 64);
    kir_val i = kir_loop(k, KIR_GRID, 8, 0);
    kir_val row = kir_typed(k, KIR_CONVERT, 0, KIR_I64, kir_load(k, rows, i));
    kir_val to = kir_op2(k, KIR_MIN, 0, kir_op2(k, KIR_MAX, 0, row, kir_i64(k, 0)), kir_i64(k, 63));
    kir_val j = kir_loop_to(k, KIR_SERIAL, to, 0), l = kir_loop(k, KIR_SERIAL, 1000, 0);
    kir_load(k, whole, rest(k, l, 100));
    kir_close(k);
    kir_if(k, kir_cmp(k, KIR_LT, 0, j, row));
    kir_store(k, out, add(k, mul(k, i, 64), j), kir_load(k, table, j));
    kir_close(k);
    kir_close(k);
    kir_close(k);
    assert_int_equal(kir_read_elements(k, table), 8 * 63);
    assert_int_equal(kir_read_elements(k, rows), 8);
    assert_int_equal(kir_read_elements(k, whole), 100);
    assert_int_equal(kir_read_elements(k, out), 0);
}

static void test_equal_values(void **state) {
    struct fixture *f = *state;
    struct kir *k = f->k;
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, 8), y = kir_param(k, KIR_INOUT, IR_F32_T, 8);
    kir_val i = index_below(k, 8);
    SAME(mul(k, i, 3), mul(k, i, 3));
    SAME(add(k, i, mul(k, i, 3)), add(k, mul(k, i, 3), i));
    kir_val c = kir_cmp(k, KIR_EQ, 0, i, kir_i64(k, 3));
    SAME(c, kir_cmp(k, KIR_EQ, 0, kir_i64(k, 3), i));
    assert_int_not_equal(kir_load(k, y, i).i, kir_load(k, y, i).i);
    /* A load in a branch is not reused after it, but one before it is reused inside. */
    kir_if(k, c);
    kir_val inside = kir_load(k, x, i);
    SAME(inside, kir_load(k, x, i));
    kir_else(k);
    kir_val other = kir_load(k, x, i);
    assert_int_not_equal(inside.i, other.i);
    kir_close(k);
    kir_val after = kir_load(k, x, i);
    assert_int_not_equal(inside.i, after.i);
    kir_if(k, c);
    SAME(after, kir_load(k, x, i));
    kir_close(k);
    kir_close(k);
    /* What a loop does not change leaves it, unless the loop may not run. */
    kir_val n = kir_typed(k, KIR_CONVERT, 0, KIR_I64, kir_load(k, kir_param(k, KIR_IN, IR_I32_T, 1), kir_i64(k, 0)));
    kir_loop_to(k, KIR_SERIAL, n, 0);
    kir_val first = kir_load(k, x, kir_i64(k, 5));
    assert_int_equal(kir_get(k, first)->block.i, k->at.i);
    kir_close(k);
    index_below(k, 4);
    assert_int_equal(kir_get(k, kir_load(k, x, kir_i64(k, 5)))->block.i, 1);
    kir_close(k);
}

static void test_goto(void **state) {
    struct fixture *f = *state;
    struct kir *k = f->k;
    uint32_t y = kir_param(k, KIR_OUT, IR_I64_T, 100);
    kir_val i = kir_loop(k, KIR_SERIAL, 10, 0);
    kir_val j = kir_loop(k, KIR_SERIAL, 7, 0);
    kir_block back = kir_goto(k, kir_get(k, i)->body);
    kir_val l = kir_loop(k, KIR_SERIAL, 5, 0);
    kir_store(k, y, add(k, i, l), l);
    kir_close(k);
    kir_val reg = kir_reg(k, mul(k, i, 2), 1);
    kir_goto(k, back);
    kir_set_reg(k, reg, (kir_val){0}, j);
    kir_close(k);
    kir_store(k, y, i, kir_get_reg(k, reg, (kir_val){0}));
    kir_close(k);
    assert_string_equal(text_of(f), "kernel test(b0: out i64[100]) {\n"
                                    "    %1 = loop serial 10 {\n"
                                    "        %2 = loop serial 5 {\n"
                                    "            %3: i64 = add %1, %2\n"
                                    "            store b0[%3], %2\n"
                                    "        }\n"
                                    "        %4: i64 = mul %1, 2\n"
                                    "        %5: i64 = reg 1, %4\n"
                                    "        %6 = loop serial 7 {\n"
                                    "            set %5, %6\n"
                                    "        }\n"
                                    "        %7: i64 = get %5\n"
                                    "        store b0[%1], %7\n"
                                    "    }\n"
                                    "}\n");
}

static void test_flow(void **state) {
    struct fixture *f = *state;
    struct kir *k = f->k;
    uint32_t y = kir_param(k, KIR_INOUT, IR_I32_T, 4);
    kir_val none = {0};
    SAME(kir_loop(k, KIR_VECTOR, 1, 8), kir_i64(k, 0));
    kir_val reg = kir_reg(k, kir_int(k, KIR_I32, 0), 1);
    kir_while(k);
    kir_do(k, kir_cmp(k, KIR_LT, KIR_U, kir_get_reg(k, reg, none), kir_int(k, KIR_I32, 9)));
    kir_acc(k, KIR_ADD, 0, reg, none, kir_int(k, KIR_I32, 2));
    kir_close(k);
    kir_close(k);
    kir_val guard = kir_cmp(k, KIR_NE, 0, kir_get_reg(k, reg, none), kir_int(k, KIR_I32, 4));
    kir_val v = kir_load_if(k, y, kir_i64(k, 1), guard, kir_int(k, KIR_I32, -1));
    kir_store_flags(k, KIR_NT);
    kir_store_if(k, y, kir_i64(k, 2), kir_op1(k, KIR_POPCNT, v), guard);
    assert_string_equal(text_of(f), "kernel test(b0: inout i32[4]) {\n"
                                    "    %1: i32 = reg 1, 0:i32\n"
                                    "    while {\n"
                                    "        %2: i32 = get %1\n"
                                    "        %3: i1 = cmp.lt.u %2, 9:i32\n"
                                    "    } do %3 {\n"
                                    "        acc.add %1, 2:i32\n"
                                    "    }\n"
                                    "    %4: i32 = get %1\n"
                                    "    %5: i1 = cmp.ne %4, 4:i32\n"
                                    "    %6: i32 = load b0[1] when %5 else -1:i32\n"
                                    "    %7: i32 = popcnt %6\n"
                                    "    store.nt b0[2], %7 when %5\n"
                                    "}\n");
}

static void test_index(void **state) {
    struct kir *k = ((struct fixture *)*state)->k;
    kir_val i = index_below(k, 10), j = index_below(k, 20), l = index_below(k, 30);
    kir_val at = add(k, add(k, mul(k, i, 600), mul(k, j, 30)), l);
    SAME(quotient(k, at, 30), add(k, mul(k, i, 20), j));
    SAME(rest(k, at, 30), l);
    SAME(rest(k, quotient(k, at, 30), 20), j);
    SAME(quotient(k, quotient(k, at, 30), 20), i);
    SAME(quotient(k, at, 600), i);
    SAME(rest(k, at, 6000), at);
    SAME(quotient(k, at, 15), add(k, add(k, mul(k, i, 40), mul(k, j, 2)), quotient(k, l, 15)));
    SAME(rest(k, at, 15), rest(k, l, 15));
    SAME(quotient(k, mul(k, i, 12), 4), mul(k, i, 3));
    SAME(mul(k, mul(k, i, 3), 4), mul(k, i, 12));
    SAME(add(k, add(k, i, kir_i64(k, 3)), kir_i64(k, -3)), i);
    SAME(kir_op2(k, KIR_SUB, 0, at, at), kir_i64(k, 0));
    /* Sums are grouped by loop: the part of i and j is outside of the innermost one. */
    kir_val sum = add(k, add(k, l, kir_i64(k, 5)), add(k, j, i));
    SAME(sum, add(k, add(k, add(k, i, j), l), kir_i64(k, 5)));
    SAME(add(k, add(k, i, l), j), add(k, add(k, i, j), l));
    /* What may be negative stays. */
    kir_val down = kir_op2(k, KIR_SUB, 0, mul(k, i, 8), kir_i64(k, 1));
    assert_int_equal(kir_get(k, quotient(k, down, 8))->op, KIR_DIV);
    kir_val up = kir_op2(k, KIR_SUB, 0, add(k, mul(k, i, 8), kir_i64(k, 8)), rest(k, j, 5));
    assert_int_equal(kir_get(k, quotient(k, up, 8))->op, KIR_DIV);
    assert_int_equal(kir_get(k, at)->hi, 5999);
    assert_int_equal(kir_get(k, down)->lo, -1);
    assert_int_equal(kir_get(k, rest(k, add(k, at, i), 7))->hi, 6);
    /* What are multiples of powers of two. */
    assert_int_equal(kir_zeros(k, kir_i64(k, 80)), 4);
    assert_int_equal(kir_zeros(k, i), 0);
    assert_int_equal(kir_zeros(k, mul(k, i, 80)), 4);
    kir_val left = kir_op2(k, KIR_SUB, 0, kir_i64(k, 144), mul(k, i, 80));
    assert_int_equal(kir_zeros(k, left), 4);
    assert_int_equal(kir_zeros(k, kir_op2(k, KIR_MIN, 0, left, kir_i64(k, 24))), 3);
    assert_int_equal(kir_zeros(k, add(k, mul(k, i, 80), j)), 0);
    /* Ranges decide guards. */
    SAME(kir_cmp(k, KIR_LT, 0, at, kir_i64(k, 6000)), kir_int(k, KIR_I1, 1));
    SAME(kir_cmp(k, KIR_GE, 0, down, kir_i64(k, -1)), kir_int(k, KIR_I1, 1));
    SAME(kir_cmp(k, KIR_EQ, 0, down, kir_i64(k, 72)), kir_int(k, KIR_I1, 0));
    assert_int_equal(kir_get(k, kir_cmp(k, KIR_GE, 0, down, kir_i64(k, 0)))->op, KIR_CMP);
    SAME(kir_op2(k, KIR_MIN, 0, at, kir_i64(k, 5999)), at);
    SAME(kir_op2(k, KIR_MAX, 0, kir_i64(k, 0), at), at);
    assert_int_equal(kir_get(k, kir_op2(k, KIR_MAX, KIR_U, kir_i64(k, 0), down))->op, KIR_MAX);
}

static void test_linear(void **state) {
    struct kir *k = ((struct fixture *)*state)->k;
    int64_t stride;
    uint32_t x = kir_param(k, KIR_INOUT, IR_I64_T, 8);
    kir_val i = index_below(k, 10), outer = kir_load(k, x, i), j = index_below(k, 20), l = index_below(k, 30);
    kir_val at = add(k, add(k, mul(k, outer, 600), mul(k, j, 30)), kir_op2(k, KIR_SHL, 0, l, kir_i64(k, 2)));
    assert_true(kir_linear(k, at, l, &stride) && stride == 4);
    assert_true(kir_linear(k, at, j, &stride) && stride == 30);
    assert_false(kir_linear(k, at, i, &stride));
    assert_true(kir_linear(k, kir_op2(k, KIR_SUB, 0, outer, j), j, &stride) && stride == -1);
    assert_false(kir_linear(k, quotient(k, l, 3), l, &stride));
    assert_true(kir_linear(k, quotient(k, j, 3), l, &stride) && stride == 0);
}

static void test_folding(void **state) {
    struct kir *k = ((struct fixture *)*state)->k;
    kir_val x = kir_load(k, kir_param(k, KIR_INOUT, IR_F32_T, 1), kir_i64(k, 0));
    kir_val n = kir_load(k, kir_param(k, KIR_INOUT, IR_I32_T, 1), kir_i64(k, 0));
    kir_val yes = kir_int(k, KIR_I1, 1), zero = kir_float(k, KIR_F32, 0), one = kir_float(k, KIR_F32, 1);
    int64_t bits;
    assert_true(kir_is_const(k, yes, &bits) && bits == 1);
    assert_true(kir_is_const(k, kir_float(k, KIR_F32, -0.0), &bits) && bits == INT32_MIN);
    SAME(kir_float(k, KIR_F32, 1.0 + 0x1p-30), one);
    /* x + 0 is not x where x is -0; x + -0 and x - 0 are. */
    assert_int_equal(kir_get(k, add(k, x, zero))->op, KIR_ADD);
    SAME(add(k, x, kir_float(k, KIR_F32, -0.0)), x);
    SAME(kir_op2(k, KIR_SUB, 0, x, zero), x);
    SAME(kir_op2(k, KIR_MUL, 0, x, one), x);
    assert_int_equal(kir_get(k, kir_op2(k, KIR_MUL, 0, x, zero))->op, KIR_MUL);
    SAME(kir_op2(k, KIR_DIV, 0, x, one), x);
    SAME(kir_op1(k, KIR_NEG, kir_op1(k, KIR_NEG, x)), x);
    SAME(kir_op2(k, KIR_MUL, 0, n, kir_int(k, KIR_I32, 0)), kir_int(k, KIR_I32, 0));
    SAME(kir_op2(k, KIR_REM, 0, n, kir_int(k, KIR_I32, 1)), kir_int(k, KIR_I32, 0));
    SAME(kir_op2(k, KIR_AND, 0, n, kir_int(k, KIR_I32, -1)), n);
    SAME(kir_select(k, yes, x, zero), x);
    kir_val less = kir_cmp(k, KIR_LT, 0, x, one);
    SAME(kir_select(k, less, x, x), x);
    SAME(kir_select(k, less, yes, kir_int(k, KIR_I1, 0)), less);
    SAME(kir_op2(k, KIR_AND, 0, yes, less), less);
    /* Not less is not at least, for NaN. */
    assert_int_equal(kir_get(k, kir_op1(k, KIR_NOT, less))->op, KIR_NOT);
    kir_val four = kir_int(k, KIR_I32, 4);
    SAME(kir_op1(k, KIR_NOT, kir_cmp(k, KIR_LT, 0, n, four)), kir_cmp(k, KIR_GE, 0, n, four));
    SAME(kir_typed(k, KIR_CONVERT, 0, KIR_F32, kir_int(k, KIR_I32, 16777217)), kir_float(k, KIR_F32, 16777216));
    SAME(kir_typed(k, KIR_CONVERT, KIR_U, KIR_I8, kir_float(k, KIR_F32, 300)), kir_int(k, KIR_I8, 255));
    SAME(kir_typed(k, KIR_CONVERT, 0, KIR_I8, kir_float(k, KIR_F32, NAN)), kir_int(k, KIR_I8, 0));
    SAME(kir_op2(k, KIR_DIV, 0, kir_int(k, KIR_I8, -128), kir_int(k, KIR_I8, -1)), kir_int(k, KIR_I8, -128));
    SAME(kir_op2(k, KIR_DIV, KIR_U, kir_int(k, KIR_I8, 7), kir_int(k, KIR_I8, 0)), kir_int(k, KIR_I8, -1));
    SAME(kir_op2(k, KIR_MULHI, KIR_U, kir_int(k, KIR_I32, -1), kir_int(k, KIR_I32, -1)), kir_int(k, KIR_I32, -2));
    SAME(kir_imm(k, KIR_EXT, 0, 4, kir_int(k, KIR_I8, 9)), kir_int(k, KIR_I8, -7));
    SAME(kir_imm(k, KIR_ROUND, 0, FP_BF16, kir_float(k, KIR_F32, 1.00390625)), one);
    SAME(kir_fma(k, kir_float(k, KIR_F32, 1 + 0x1p-23), kir_float(k, KIR_F32, 1 - 0x1p-23), kir_float(k, KIR_F32, -1)),
         kir_float(k, KIR_F32, -0x1p-46));
}

static void test_neutral(void **state) {
    struct kir *k = ((struct fixture *)*state)->k;
    SAME(kir_neutral(k, KIR_ADD, 0, KIR_F32), kir_float(k, KIR_F32, -0.0));
    SAME(kir_neutral(k, KIR_MAX, 0, KIR_F64), kir_float(k, KIR_F64, -INFINITY));
    SAME(kir_neutral(k, KIR_MAX, 0, KIR_I8), kir_int(k, KIR_I8, -128));
    SAME(kir_neutral(k, KIR_MIN, KIR_U, KIR_I8), kir_int(k, KIR_I8, 255));
    SAME(kir_neutral(k, KIR_MIN, 0, KIR_I1), kir_int(k, KIR_I1, 1));
    SAME(kir_neutral(k, KIR_AND, 0, KIR_I1), kir_int(k, KIR_I1, 1));
    SAME(kir_neutral(k, KIR_XOR, 0, KIR_I64), kir_i64(k, 0));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_placement), TEST(test_read_elements), TEST(test_equal_values), TEST(test_goto), TEST(test_flow),
        TEST(test_index),     TEST(test_linear),       TEST(test_folding), TEST(test_neutral),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
