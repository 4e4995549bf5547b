/* Plans as text: what is joined, its offsets, and what is refused. The random programs (test_random_plan.c) check that plans
 * are right; this, that they are good. */
#include "plan/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing(void *const *v, void *scratch, int64_t begin, int64_t end) {
    (void)v, (void)scratch, (void)begin, (void)end;
}
static const struct plan_kernel unary = {.name = "unary", .fn = nothing, .nparams = 2, .grid = 16};
static const struct plan_kernel inplace = {.name = "inplace", .fn = nothing, .nparams = 1, .grid = 16, .scratch_bytes = 128};
static const int64_t dims[1] = {32}; /* f32: 128 bytes */

static uint32_t temp(struct plan_builder *b) {
    return plan_temp(b, IR_F32_T, 1, dims);
}

/* to = unary(from); may they alias? */
static void put(struct plan_builder *b, uint32_t from, uint32_t to, bool over) {
    plan_kernel(b, &unary, (struct plan_use[]){{from, PLAN_IN, 0, 0}, {to, PLAN_OUT, over, 0}});
}

/* x → t1 → t2 → t3 → result, none of which may alias another: the result and one more place are enough. */
static void chain(struct plan_builder *b) {
    uint32_t at = plan_argument(b, 0, IR_F32_T, 1, dims);
    for (int i = 0; i < 4; i++) {
        uint32_t next = temp(b);
        put(b, at, next, false);
        at = next;
    }
    plan_result(b, 0, at);
}

/* The same where the argument is donated: the result's memory is the argument's. */
static void chain_donated(struct plan_builder *b) {
    chain(b);
    plan_donor(b, 0, UINT32_MAX);
}

/* The same where each may: everything is the result's memory, and the argument's when it is donated. */
static void chain_over(struct plan_builder *b) {
    uint32_t at = plan_argument(b, 0, IR_F32_T, 1, dims);
    for (int i = 0; i < 3; i++) {
        uint32_t next = temp(b);
        put(b, at, next, true);
        at = next;
    }
    plan_result(b, 0, at);
}

/* Init steps run when there are no results: what they write is in the block. */
static void init_step(struct plan_builder *b) {
    static const float data[32];
    uint32_t c = plan_constant(b, IR_F32_T, 1, dims, data), t = temp(b), u = temp(b), out = temp(b);
    put(b, c, t, false);
    put(b, t, u, false);
    put(b, u, out, false);
    plan_result(b, 0, out);
    plan_hoist(b);
}

/* A change in place of what is needed later: a copy that stays. What is unused is dropped. */
static void copied(struct plan_builder *b) {
    uint32_t x = plan_argument(b, 0, IR_F32_T, 1, dims), t = temp(b), u = temp(b);
    put(b, x, t, false);
    plan_copy(b, 1, &t, &u);
    plan_kernel(b, &inplace, (struct plan_use[]){{u, PLAN_INOUT, 0, 0}});
    put(b, t, temp(b), false);
    plan_result(b, 0, u);
    plan_result(b, 1, t);
}

/* while: the states change places in every iteration, which takes a place on the side. */
static void swap(struct plan_builder *b) {
    uint32_t x = plan_argument(b, 0, IR_F32_T, 1, dims), s[2] = {temp(b), temp(b)}, go = plan_temp(b, IR_I1_T, 0, NULL);
    plan_copy(b, 2, (uint32_t[]){x, x}, s);
    plan_loop_begin(b);
    put(b, s[0], go, false);
    plan_loop_body(b, go);
    plan_copy(b, 2, (uint32_t[]){s[1], s[0]}, s);
    plan_loop_end(b);
    plan_result(b, 0, s[0]);
    plan_result(b, 1, x);
}

/* The same where the argument is donated: until it is read last, the result that has its memory takes nothing else. */
static void swap_donated(struct plan_builder *b) {
    swap(b);
    plan_donor(b, 0, 1);
}

static void unwritten(struct plan_builder *b) {
    uint32_t from = temp(b), to = temp(b);
    put(b, from, to, false);
    plan_result(b, 0, to);
}

static void writes_argument(struct plan_builder *b) {
    uint32_t x = plan_argument(b, 0, IR_F32_T, 1, dims);
    plan_kernel(b, &inplace, (struct plan_use[]){{x, PLAN_INOUT, 0, 0}});
    plan_result(b, 0, x);
}

static const struct {
    void (*make)(struct plan_builder *b);
    uint32_t nresults;
    const char *text; /* of the plan, or of the diagnostic */
} programs[] = {
    {chain, 1, "plan of 1 arguments, 1 results: temporaries 128 bytes (block 128, scratch 0), peak live 128\n"
               "  b0 = tensor<32xf32> argument 0\n  b1 = tensor<32xf32> block+0\n  b2 = tensor<32xf32> result 0\n"
               "  b3 = tensor<32xf32> block+0\n  b4 = tensor<32xf32> result 0\n"
               "  result 0 may alias argument 0\n"
               "   0  kernel unary in b0 out b1 grid 16\n   1  kernel unary in b1 out b2 grid 16\n"
               "   2  kernel unary in b2 out b3 grid 16\n   3  kernel unary in b3 out b4 grid 16\n"},
    {chain_donated, 1, "plan of 1 arguments, 1 results: temporaries 128 bytes (block 128, scratch 0), peak live 128\n"
                       "  b0 = tensor<32xf32> argument 0\n  b1 = tensor<32xf32> block+0\n  b2 = tensor<32xf32> result 0\n"
                       "  b3 = tensor<32xf32> block+0\n  b4 = tensor<32xf32> result 0\n"
                       "  result 0 may alias argument 0\n"
                       "   0  kernel unary in b0 out b1 grid 16\n   1  kernel unary in b1 out b2 grid 16\n"
                       "   2  kernel unary in b2 out b3 grid 16\n   3  kernel unary in b3 out b4 grid 16\n"},
    {init_step, 1, "plan of 1 arguments, 1 results: temporaries 128 bytes (block 128, scratch 0), peak live 128\n"
                   "  b0 = tensor<32xf32> constant\n  b1 = tensor<32xf32> block+0\n  b2 = tensor<32xf32> init 0\n"
                   "  b3 = tensor<32xf32> result 0\n   0  kernel unary in b0 out b1 grid 16 init\n"
                   "   1  kernel unary in b1 out b2 grid 16 init\n   2  kernel unary in b2 out b3 grid 16\n"},
    {chain_over, 1, "plan of 1 arguments, 1 results: temporaries 0 bytes (block 0, scratch 0), peak live 0\n"
                    "  b0 = tensor<32xf32> argument 0\n  b1 = tensor<32xf32> result 0\n  b2 = tensor<32xf32> result 0\n"
                    "  b3 = tensor<32xf32> result 0\n  result 0 may alias argument 0\n"
                    "   0  kernel unary in b0 out b1 grid 16\n   1  kernel unary in b1 out b2 grid 16\n"
                    "   2  kernel unary in b2 out b3 grid 16\n"},
    {copied, 2, "plan of 1 arguments, 2 results: temporaries 128 bytes (block 0, scratch 128), peak live 0\n"
                "  b0 = tensor<32xf32> argument 0\n  b1 = tensor<32xf32> result 1\n  b2 = tensor<32xf32> result 0\n"
                "  result 0 may alias argument 0\n"
                "   0  kernel unary in b0 out b1 grid 16\n   1  copy in b1 out b2\n"
                "   2  kernel inplace inout b2 grid 16 scratch 128\n"},
    {swap, 2, "plan of 1 arguments, 2 results: temporaries 192 bytes (block 192, scratch 0), peak live 64\n"
              "  b0 = tensor<32xf32> argument 0\n  b1 = tensor<32xf32> result 0\n  b2 = tensor<32xf32> result 1\n"
              "  b3 = tensor<i1> block+0\n  b4 = tensor<32xf32> result 1\n  b5 = tensor<32xf32> block+64\n"
              "   0  copy in b0 out b1\n   1  copy in b0 out b2\n   2    kernel unary in b1 out b3 grid 16\n"
              "   3  test in b3 to 8\n   4    copy in b2 out b5\n   5    copy in b1 out b2\n   6    copy in b5 out b1\n"
              "   7  jump to 2\n   8  copy in b0 out b4\n"},
    {swap_donated, 2, "plan of 1 arguments, 2 results: temporaries 320 bytes (block 320, scratch 0), peak live 192\n"
                      "  b0 = tensor<32xf32> argument 0\n  b1 = tensor<32xf32> result 0\n  b2 = tensor<32xf32> block+0\n"
                      "  b3 = tensor<i1> block+128\n  b4 = tensor<32xf32> result 1\n  b5 = tensor<32xf32> block+192\n"
                      "  result 1 may alias argument 0\n"
                      "   0  copy in b0 out b1\n   1  copy in b0 out b2\n   2    kernel unary in b1 out b3 grid 16\n"
                      "   3  test in b3 to 8\n   4    copy in b2 out b5\n   5    copy in b1 out b2\n"
                      "   6    copy in b5 out b1\n   7  jump to 2\n   8  copy in b0 out b4\n"},
    {unwritten, 1, "the plan reads buffer 0 before it is written"},
    {writes_argument, 1, "step 2 of the plan writes the argument or constant in buffer 0"},
};

static void test_programs(void **state) {
    (void)state;
    for (volatile size_t i = 0; i < sizeof programs / sizeof *programs; i++) { /* lives across setjmp */
        struct arena a;
        struct plan p;
        struct diag_list d;
        struct strbuf text;
        jmp_buf recover;
        if (setjmp(recover))
            fail_msg("out of memory");
        arena_init(&a, mem_system_allocator(), &recover);
        diag_init(&d, mem_system_allocator());
        strbuf_init(&text, mem_system_allocator());
        struct plan_builder *b = plan_new(&a, NULL, 1, programs[i].nresults);
        programs[i].make(b);
        hilo_status status = plan_finish(b, &p, &d);
        if (status == HILO_OK)
            plan_print(&p, &text);
        else
            strbuf_puts(&text, d.first->message);
        assert_true(status == HILO_OK || status == HILO_INTERNAL);
        assert_string_equal(text.p, programs[i].text);
        strbuf_free(&text);
        diag_clear(&d);
        arena_free(&a);
    }
}

/* Random items of many sizes: what is live at one time does not overlap, and the block is not much more than the peak. */
static void test_sweep(void **state) {
    enum { N = 20000, LIVE = 64 };
    (void)state;
    struct arena a;
    jmp_buf recover;
    volatile uint32_t seed = 1; /* lives across setjmp */
    if (setjmp(recover))
        fail_msg("out of memory");
    arena_init(&a, mem_system_allocator(), &recover);
    struct plan_item *items = ARENA_ARRAY(&a, struct plan_item, N);
    size_t most = 0, live[N + 4 * LIVE] = {0};
    for (uint32_t i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        items[i] = (struct plan_item){.begin = i, .end = i + 1 + (seed >> 8) % (2 * LIVE),
                                      .bytes = (size_t)64 << (seed >> 16) % 10};
        items[i].bytes += (seed >> 20) % 16 * 64;
        for (uint32_t t = items[i].begin; t <= items[i].end; t++)
            most = most > (live[t] += items[i].bytes) ? most : live[t];
    }
    size_t bytes = plan_sweep(&a, items, N);
    assert_true(bytes >= most && bytes < most + most / 2);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(items[i].offset % 64 == 0 && items[i].offset + items[i].bytes <= bytes);
        for (uint32_t k = i + 1; k < N && items[k].begin <= items[i].end; k++)
            assert_true(items[k].offset + items[k].bytes <= items[i].offset ||
                        items[i].offset + items[i].bytes <= items[k].offset);
    }
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_sweep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
