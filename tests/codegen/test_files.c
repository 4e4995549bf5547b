/* The kernels that tests/kir has as text, as machine code. Run from the top of the checkout. */
#include "harness.h"

#include <glob.h>

/* What a processor cannot do, or the data does not let run, is left out. */
static uint32_t check(const struct kir *k, enum cg_tier tier) {
    struct target targets[4];
    const char *names[4];
    uint32_t ntargets = harness_targets(targets, names), compared = 0;
    hilo_allocator al = mem_system_allocator();
    for (uint32_t t = 0; t < ntargets; t++) {
        struct diag_list d;
        void *object;
        size_t bytes;
        struct rt_code *code;
        diag_init(&d, al);
        hilo_status s = cg_compile(&k, 1, &targets[t], tier, CG_OBJECT, &al, &d, &object, &bytes);
        if (s == HILO_OK) {
            struct str text = {object, bytes};
            harness_must(rt_code_load(&text, 1, 0, al, &d, &code), &d, k, names[t]);
            for (int i = 0; i < 4; i++) {
                static const int64_t zeros[RIG_BUFFERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
                compared += harness_try(k, names[t], rt_code_find(code, k->name), i < 2 ? NULL : zeros, i & 1);
            }
            rt_code_free(code);
            mem_free(&al, object, bytes);
        } else if (s != HILO_UNIMPLEMENTED) {
            harness_must(s, &d, k, names[t]);
        }
        diag_clear(&d);
    }
    return compared;
}

static void test_file(const char *path, uint32_t *kernels, uint32_t *compared, uint32_t *baseline) {
    hilo_allocator al = mem_system_allocator();
    jmp_buf recover;
    char *text = malloc(1 << 20);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, 1 << 20, f), at = 0;
    fclose(f);
    for (hilo_status s = HILO_OK; s != HILO_NOT_FOUND;) {
        struct kir *k = NULL;
        struct diag_list d;
        diag_init(&d, al);
        assert_int_equal(setjmp(recover), 0);
        s = kir_parse((struct str){text, n}, &at, al, &recover, &d, &k);
        if (s != HILO_OK && s != HILO_NOT_FOUND)
            fail_msg("%s: %s", path, d.first->message);
        if (s == HILO_OK && kir_verify(k, &d) == HILO_OK) {
            bool known = true;
            for (uint32_t i = 1; i < k->nodes.n; i++)
                known &= k->nodes.v[i].op != KIR_MATH;
            *kernels += known;
            *compared += known && check(k, CG_OPTIMISED) > 0;
            *baseline += known && check(k, CG_BASELINE) > 0;
        }
        kir_free(k);
        diag_clear(&d);
    }
    free(text);
}

static void test_kernels(void **state) {
    (void)state;
    glob_t files;
    uint32_t kernels = 0, compared = 0, baseline = 0;
    struct target host;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(cg_target(NULL, &host, &d), HILO_OK);
    assert_int_equal(glob("tests/kir/*.kir", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (!strstr(files.gl_pathv[i], "invalid"))
            test_file(files.gl_pathv[i], &kernels, &compared, &baseline);
    globfree(&files);
    print_message("%u kernels, %u of them run, %u by the baseline tier\n", kernels, compared, baseline);
    assert_true(compared > 10 && 4 * compared >= 3 * kernels);
    assert_true(!cg_has_baseline(&host) || 2 * baseline >= kernels);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
