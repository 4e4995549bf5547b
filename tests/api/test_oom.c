/* Evaluates the programs of tests/op with allocations that fail: the first, the second, … until a run succeeds. Every failure
 * must return RESOURCE_EXHAUSTED and leak no memory. Run from the top of the checkout. */
#include "eval/eval.h"
#include "read/text/text.h"
#include "tests/tools/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <glob.h>

/* Runs every function without arguments of the module; RESOURCE_EXHAUSTED as soon as one meets it. */
static hilo_status run_module(const struct ir_module *m, const hilo_allocator *al, struct diag_list *d) {
    for (ir_op f = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(f); f = ir_op_get(m, f)->next) {
        if (ir_kind(m, f) != IR_FUNC)
            continue;
        const struct ir_type_data *t = ir_type_get(m, ir_attr_get(m, ir_prop(m, f, IR_FUNC_function_type))->type);
        uint32_t nout = t->ntypes - t->ninputs;
        struct value *out[64] = {NULL};
        if (t->ninputs || nout > 64)
            continue;
        hilo_status s = eval_func(m, f, NULL, 0, out, nout, al, NULL, d);
        for (uint32_t i = 0; s == HILO_OK && i < nout; i++)
            value_unref(out[i]);
        if (s != HILO_OK)
            return s;
    }
    return HILO_OK;
}

/* Small counts one by one, larger ones in steps that grow: failures late in a long loop repeat earlier ones. */
static void fail_in_turn(const struct ir_module *m, const char *path) {
    for (long k = 0;; k += 1 + k / 32) {
        struct meter meter;
        atomic_init(&meter.live, 0);
        atomic_init(&meter.left, k);
        hilo_allocator al = {meter_realloc, &meter};
        struct diag_list d;
        diag_init(&d, mem_system_allocator());
        hilo_status s = run_module(m, &al, &d);
        diag_clear(&d);
        long live = atomic_load(&meter.live);
        if (live != 0 || (s != HILO_OK && s != HILO_RESOURCE_EXHAUSTED))
            fail_msg("%s: allocation %ld: status %d, %ld allocations left", path, k, s, live);
        if (s == HILO_OK)
            return;
    }
}

static void test_file(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = malloc(1 << 20);
    size_t n = fread(text, 1, 1 << 20, f);
    fclose(f);
    struct str rest = {text, n}, chunk;
    uint32_t line = 1, first;
    while (read_next_part(&rest, &line, &chunk, &first)) {
        jmp_buf recover;
        struct diag_list d;
        diag_init(&d, mem_system_allocator());
        struct ir_module *m = ir_module_new(mem_system_allocator(), &recover);
        assert_non_null(m);
        if (setjmp(recover) == 0 && read_text(m, &d, chunk, first) == HILO_OK && ir_verify(m, &d) == HILO_OK) {
            struct diag_list quiet;
            hilo_allocator al = mem_system_allocator();
            diag_init(&quiet, al);
            if (run_module(m, &al, &quiet) == HILO_OK) /* programs that are meant to fail are not of interest here */
                fail_in_turn(m, path);
            diag_clear(&quiet);
        }
        diag_clear(&d);
        ir_module_free(m);
    }
    free(text);
}

static void test_ops(void **state) {
    (void)state;
    glob_t files;
    assert_int_equal(glob("tests/op/*.mlir", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        test_file(files.gl_pathv[i]);
    globfree(&files);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
