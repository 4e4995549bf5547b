/* Optimises the programs of tests/pass, and of tests/op, with allocations that fail: the first, the second, and so on until
 * none fails. Every failure must return RESOURCE_EXHAUSTED and leak no memory; the module that was copied
 * stays as it is. Run from the top of the checkout. */
#include "opt/opt.h"
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

/* An optimised copy comes and goes. */
static hilo_status optimise(const struct ir_module *source, const hilo_allocator *al, struct diag_list *d) {
    struct ir_module *m = ir_module_clone(source, *al, NULL);
    struct opt o;
    if (!m)
        return HILO_RESOURCE_EXHAUSTED;
    opt_init(&o, m, d);
    o.options.level = 3;
    hilo_status status = opt_run(&o);
    opt_free(&o);
    ir_module_free(m);
    return status;
}

/* Small counts one by one, larger ones in steps that grow. */
static void fail_in_turn(const struct ir_module *m, const char *path) {
    for (long k = 0;; k += 1 + k / 16) {
        struct meter meter = {.left = k};
        hilo_allocator al = {meter_realloc, &meter};
        struct diag_list d;
        diag_init(&d, mem_system_allocator());
        hilo_status status = optimise(m, &al, &d);
        diag_clear(&d);
        if (meter.live != 0 || (status != HILO_OK && status != HILO_RESOURCE_EXHAUSTED))
            fail_msg("%s: allocation %ld: status %d, %ld allocations left", path, k, status, meter.live);
        if (status == HILO_OK)
            return;
    }
}

static void print(const struct ir_module *m, struct strbuf *out) {
    strbuf_init(out, mem_system_allocator());
    ir_print_module(m, &(struct ir_print_options){0}, out);
}

static void test_part(struct str part, uint32_t first, const char *path) {
    jmp_buf recover;
    struct diag_list d;
    struct strbuf before, after;
    diag_init(&d, mem_system_allocator());
    struct ir_module *m = ir_module_new(mem_system_allocator(), &recover);
    assert_non_null(m);
    if (setjmp(recover))
        fail_msg("%s: out of memory", path);
    assert_int_equal(read_text(m, &d, part, first), HILO_OK);
    assert_int_equal(ir_verify(m, &d), HILO_OK);
    m->text = (struct str){NULL, 0};
    print(m, &before);
    fail_in_turn(m, path);
    print(m, &after);
    assert_string_equal(before.p, after.p);
    strbuf_free(&before);
    strbuf_free(&after);
    ir_module_free(m);
    diag_clear(&d);
}

static void test_folder(const char *pattern) {
    glob_t paths;
    assert_int_equal(glob(pattern, 0, NULL, &paths), 0);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        FILE *f = fopen(paths.gl_pathv[i], "rb");
        assert_non_null(f);
        char *text = malloc(1 << 20);
        assert_non_null(text);
        struct str rest = {text, fread(text, 1, 1 << 20, f)}, part;
        uint32_t line = 1, first;
        fclose(f);
        while (read_next_part(&rest, &line, &part, &first))
            if (!memmem(part.p, part.n, "expected-error", 14))
                test_part(part, first, paths.gl_pathv[i]);
        free(text);
    }
    globfree(&paths);
}

static void test_pass(void **state) {
    (void)state;
    test_folder("tests/pass/*.mlir");
}

static void test_op(void **state) {
    (void)state;
    test_folder("tests/op/*.mlir");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pass), cmocka_unit_test(test_op)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
