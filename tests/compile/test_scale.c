/* What compiling takes grows with the size of the program, and no faster: counted in bytes and kernels, not in seconds. */
#include "runtime/runtime.h"
#include "../test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FEW = 1000 };

struct count {
    hilo_allocator al;
    atomic_size_t now, peak, total; /* bytes: in use, at most, and ever asked for */
};

static void *count_realloc(void *user, void *p, size_t old_bytes, size_t new_bytes, size_t align) {
    struct count *c = user;
    void *fresh = c->al.realloc_fn(c->al.user, p, old_bytes, new_bytes, align);
    if (!fresh && new_bytes)
        return NULL;
    atomic_fetch_add(&c->total, new_bytes);
    size_t now = atomic_fetch_add(&c->now, new_bytes - (p ? old_bytes : 0)) + new_bytes - (p ? old_bytes : 0);
    if (atomic_load(&c->peak) < now)
        atomic_store(&c->peak, now);
    return fresh;
}

#define T "tensor<4xf32>"

/* n sums that do not depend on each other, each of an argument of its own, all returned. */
static void independent(struct strbuf *out, int n) {
    strbuf_puts(out, "func.func @main(");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, "%s%%a%d: " T, i ? ", " : "", i);
    strbuf_puts(out, ") -> (");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, "%s" T, i ? ", " : "");
    strbuf_puts(out, ") {\n");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, "  %%%d = stablehlo.add %%a%d, %%a%d : " T "\n", i, i, i);
    strbuf_puts(out, "  return ");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, "%s%%%d", i ? ", " : "", i);
    strbuf_puts(out, " : ");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, "%s" T, i ? ", " : "");
    strbuf_puts(out, "\n}\n");
}

/* n operations, each of the result of the one before. */
static void chain(struct strbuf *out, int n) {
    static const char *const ops[] = {"add", "multiply", "subtract", "maximum"};
    strbuf_puts(out, "func.func @main(%a: " T ", %b: " T ") -> " T " {\n  %0 = stablehlo.add %a, %b : " T "\n");
    for (int i = 1; i < n; i++)
        strbuf_printf(out, "  %%%d = stablehlo.%s %%%d, %%b : " T "\n", i, ops[i % 4], i - 1);
    strbuf_printf(out, "  return %%%d : " T "\n}\n", n - 1);
}

/* All of them live at one time, and added up one after the other. */
static void fan(struct strbuf *out, int n) {
    strbuf_puts(out, "func.func @main(%a: " T ") -> " T " {\n");
    for (int i = 0; i < n; i++)
        strbuf_printf(out, "  %%%d = stablehlo.%s %%%s : " T "\n", i, i ? "sine" : "cosine", i ? "0" : "a");
    strbuf_puts(out, "  %s0 = stablehlo.negate %0 : " T "\n");
    for (int i = 1; i < n; i++)
        strbuf_printf(out, "  %%s%d = stablehlo.add %%s%d, %%%d : " T "\n", i, i - 1, i);
    strbuf_printf(out, "  return %%s%d : " T "\n}\n", n - 1);
}

static const struct {
    const char *name;
    void (*make)(struct strbuf *out, int n);
    int32_t level;
    uint32_t kernels; /* at most this many different ones */
} programs[] = {{"independent", independent, 0, 1}, {"independent", independent, 2, 1}, {"chain", chain, 0, 4},
                {"chain", chain, 2, 8},             {"fan", fan, 0, 4}};

static uint32_t count_kernels(const hilo_executable *exe) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < exe->plan.nsteps; i++) {
        const struct plan_kernel *k = exe->plan.steps[i].kernel;
        bool seen = !k;
        for (uint32_t j = 0; j < i && !seen && n < 16; j++)
            seen = exe->plan.steps[j].kernel == k;
        n += !seen;
    }
    return n;
}

/* Counts bytes while n operations are compiled. */
static void compile_counted(size_t program, int n, size_t *peak, size_t *total) {
    struct count c = {.al = mem_system_allocator()};
    hilo_client_options o;
    hilo_compile_options co;
    hilo_client *client;
    hilo_module *module;
    hilo_executable *exe;
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    programs[program].make(&text, n);
    hilo_client_options_init(&o);
    hilo_compile_options_init(&co);
    o.allocator = (hilo_allocator){count_realloc, &c};
    o.threads = 1;
    o.cache_dir = "";
    co.level = programs[program].level;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    assert_int_equal(hilo_module_parse(client, text.p, text.n, NULL, &module), HILO_OK);
    atomic_store(&c.peak, 0);
    atomic_store(&c.total, 0);
    assert_int_equal(hilo_compile(client, module, &co, &exe), HILO_OK);
    *peak = atomic_load(&c.peak);
    *total = atomic_load(&c.total);
    if (count_kernels(exe) > programs[program].kernels)
        fail_msg("%s of %d at level %d: %u kernels", programs[program].name, n, (int)co.level, count_kernels(exe));
    hilo_executable_release(exe);
    hilo_module_release(module);
    hilo_client_release(client);
    strbuf_free(&text);
}

static void test_memory(void **state) {
    (void)state;
    if (TORTURE)
        SKIP_BECAUSE("arrays grow by one element at a time in the torture build");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        size_t few[2], many[2];
        compile_counted(i, FEW, &few[0], &few[1]);
        compile_counted(i, 8 * FEW, &many[0], &many[1]);
        for (int k = 0; k < 2; k++)
            if (many[k] > 11 * few[k])
                fail_msg("%s at level %d: %d operations take %zu bytes%s, 8 times as many %zu", programs[i].name,
                         (int)programs[i].level, (int)FEW, few[k], k ? " in all" : " at once", many[k]);
    }
}

/* Code is generated in batches while the plan is built. Which thread has which does not show in it. */
static void test_batches(void **state) {
    (void)state;
    enum { SUMS = 480, LENGTH = 300, CLIENTS = 3 };
    struct strbuf text;
    hilo_client *client[CLIENTS];
    hilo_executable *exe[CLIENTS];
    hilo_compile_options co;
    strbuf_init(&text, mem_system_allocator());
    strbuf_puts(&text, "func.func @main(%a: tensor<1000xf32>) -> tensor<300xf32> {\n");
    for (int i = 0; i < SUMS; i++)
        strbuf_printf(&text, "  %%%d = stablehlo.slice %%a [%d:%d] : (tensor<1000xf32>) -> tensor<300xf32>\n", i, i,
                      i + LENGTH);
    strbuf_puts(&text, "  %s0 = stablehlo.negate %0 : tensor<300xf32>\n");
    for (int i = 1; i < SUMS; i++)
        strbuf_printf(&text, "  %%s%d = stablehlo.add %%s%d, %%%d : tensor<300xf32>\n", i, i - 1, i);
    strbuf_printf(&text, "  return %%s%d : tensor<300xf32>\n}\n", SUMS - 1);
    hilo_compile_options_init(&co);
    co.level = 0;
    for (int i = 0; i < CLIENTS; i++) {
        hilo_client_options o;
        hilo_client_options_init(&o);
        o.threads = i + 1;
        o.cache_dir = "";
        assert_int_equal(hilo_client_create(&o, &client[i]), HILO_OK);
        assert_int_equal(hilo_compile_source(client[i], text.p, text.n, NULL, &co, &exe[i]), HILO_OK);
    }
    if (exe[0]->nobjects) { /* there is a code generator */
        assert_true(exe[1]->nobjects > 1);
        assert_int_equal(exe[1]->nobjects, exe[2]->nobjects);
    }
    for (uint32_t i = 0; i < exe[1]->nobjects; i++)
        assert_true(str_eq(exe[1]->objects[i], exe[2]->objects[i]));
    for (int i = 0; i < CLIENTS; i++) {
        hilo_executable_release(exe[i]);
        hilo_client_release(client[i]);
    }
    strbuf_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
