/* The record of the machine: named targets, machines without code generator, what control groups allow. */
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka wants the four headers before it */
#include <cmocka.h>

static void named(void **state) {
    struct diag_list d;
    struct target t;
    (void)state;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(target_named("x86-64-v2", &t, &d), HILO_OK);
    assert_int_equal(t.vector_bytes, 16);
    assert_int_equal(t.vector_registers, 16);
    assert_true(!t.fma && t.dot2_i8);
    assert_int_equal(target_named("x86-64-v3", &t, &d), HILO_OK);
    assert_true(t.dot2_i8 && !t.dot_i8);
    assert_int_equal(target_named("sapphirerapids", &t, &d), HILO_OK);
    assert_int_equal(t.isa, TARGET_X86_64);
    assert_int_equal(t.vector_bytes, 64);
    assert_int_equal(t.vector_registers, 32);
    assert_true(t.fma && t.dot_i8 && t.dot_bf16 && t.tile_i8 && t.tile_bf16);
    assert_int_equal(t.tile_rows * t.tile_row_bytes * t.tile_registers, 8 << 10);
    assert_true(target_has(&t, "avx2") && target_has(&t, "sse3") && !target_has(&t, "avx51"));
    assert_null(t.tune);
    assert_int_equal(target_named("x86-64-v3", &t, &d), HILO_OK);
    assert_string_equal(t.tune, "x86-64-v3");
    assert_int_equal(target_named("znver4", &t, &d), HILO_OK);
    assert_true(t.dot_bf16 && !t.tile_bf16 && t.tile_rows == 0);
    assert_int_equal(target_named("alderlake", &t, &d), HILO_OK);
    assert_true(t.dot_i8 && !t.dot_i8_signed && !t.dot_bf16 && t.vector_bytes == 32);
    assert_int_equal(target_named("lunarlake", &t, &d), HILO_OK);
    assert_true(t.dot_i8 && t.dot_i8_signed);
    assert_int_equal(target_named("neoverse-v1", &t, &d), HILO_OK);
    assert_true(t.dot_i8 && t.dot_i8_signed && !t.dot2_i8 && t.dot_bf16 && t.vector_bytes == 16);
    assert_int_equal(target_named("aarch64", &t, &d), HILO_OK);
    assert_int_equal(t.isa, TARGET_AARCH64);
    assert_string_equal(t.triple, "aarch64-unknown-linux-gnu");
    assert_int_equal(t.vector_registers, 32);
    assert_int_equal(target_named("sm_100", &t, &d), HILO_OK); /* LLVM knows sm_90, and PTX up to another version */
    assert_string_equal(t.cpu, "sm_90");
    assert_string_equal(t.ptx_version, "8.6");
    assert_true(t.block_threads % t.warp_threads == 0 && t.cores == 148 && t.shared_bytes == 227 << 10);
    assert_int_equal(target_named("pdp11", &t, &d), HILO_NOT_FOUND);
    assert_non_null(strstr(d.first->message, "znver4"));
    diag_clear(&d);
}

static void machines(void **state) {
    struct diag_list d;
    enum target_isa isa = TARGET_NO_ISA;
    (void)state;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(target_isa_named("x86_64", &isa, &d), HILO_OK);
    assert_int_equal(isa, TARGET_X86_64);
    assert_int_equal(target_isa_named("aarch64", &isa, &d), HILO_OK);
    assert_int_equal(isa, TARGET_AARCH64);
    assert_int_equal(target_isa_named("riscv64", &isa, &d), HILO_UNAVAILABLE);
    assert_string_equal(d.first->message, "no code generator for riscv64");
    diag_clear(&d);
}

static void host(void **state) {
    struct diag_list d;
    struct target t;
    struct strbuf a, b;
    (void)state;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&a, mem_system_allocator());
    strbuf_init(&b, mem_system_allocator());
    assert_int_equal(target_host(&t, &d), HILO_OK);
    assert_true(t.vector_bytes >= 16 && t.l1_bytes && t.l2_bytes && t.cores >= 1 && t.tasks);
    target_print(&t, &a);
    t.l2_bytes *= 2; /* whatever code depends on is printed */
    target_print(&t, &b);
    assert_string_not_equal(a.p, b.p);
    b.n = 0;
    t.l2_bytes /= 2;
    t.cores++;
    target_print(&t, &b);
    assert_string_not_equal(a.p, b.p);
    b.n = 0;
    t.cores--;
    t.tune = t.tune ? NULL : "x86-64-v3";
    target_print(&t, &b);
    assert_string_not_equal(a.p, b.p);
    assert_true(target_threads() >= 1);
    strbuf_free(&a);
    strbuf_free(&b);
    diag_clear(&d);
}

static void put(const char *root, const char *path, const char *text) {
    char name[512];
    int n = snprintf(name, sizeof name, "%s/", root);
    for (const char *p = path; *p; p++) { /* directories first */
        if (*p == '/')
            mkdir(name, 0700);
        name[n++] = *p;
        name[n] = '\0';
    }
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static uint32_t cpus(const char *root, const char *groups) {
    return target_cgroup_cpus(root, str_of(groups));
}

static void quotas(void **state) {
    char root[] = "/tmp/hilo_cgroup_XXXXXX", command[64];
    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(cpus(root, "0::/\n"), 0);
    assert_int_equal(cpus(root, ""), 0);
    put(root, "cpu.max", "max 100000\n");
    assert_int_equal(cpus(root, "0::/\n"), 0);
    put(root, "cpu.max", "350000 100000\n");
    assert_int_equal(cpus(root, "0::/\n"), 4); /* of the container, rounded up */
    put(root, "a/cpu.max", "max 100000\n");
    put(root, "a/b/cpu.max", "100000 50000\n");
    assert_int_equal(cpus(root, "0::/a\n"), 4);
    assert_int_equal(cpus(root, "0::/a/b\n"), 2);
    assert_int_equal(cpus(root, "0::/a/gone"), 4);
    put(root, "cpu.max", "50000 100000\n"); /* a group around it */
    assert_int_equal(cpus(root, "0::/a/b\n"), 1);
    put(root, "cpu.max", "garbage\n");
    assert_int_equal(cpus(root, "0::/a\n"), 0);
    put(root, "cpu,cpuacct/x/cpu.cfs_quota_us", "300000\n");
    put(root, "cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpus(root, "5:memory:/x\n4:cpu,cpuacct:/x\n0::/\n"), 3);
    put(root, "cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cpus(root, "4:cpu,cpuacct:/x\n"), 0);
    assert_int_equal(cpus(root, "4:cpuset:/x\nbroken\n:\n"), 0);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* PTX runs on later GPUs, what was compiled to the end on those of the same major version, code for an `a` on that one
   alone. */
static void code_of_gpus(void **state) {
    static const struct {
        const char *cpu;
        int32_t major, minor;
        bool ptx, cubin;
    } cases[] = {{"sm_80", 8, 0, true, true},   {"sm_80", 8, 9, true, true},   {"sm_80", 9, 0, true, false},
                 {"sm_89", 8, 6, false, false}, {"sm_90a", 9, 0, true, true},  {"sm_90a", 10, 0, false, false},
                 {"sm_100", 10, 3, true, true}, {"sm_100", 12, 0, true, false}, {"native", 9, 0, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(target_gpu_runs(cases[i].cpu, cases[i].major, cases[i].minor), cases[i].ptx);
        assert_int_equal(target_gpu_runs_cubin(cases[i].cpu, cases[i].major, cases[i].minor), cases[i].cubin);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named),
        cmocka_unit_test(machines),
        cmocka_unit_test(host),
        cmocka_unit_test(quotas),
        cmocka_unit_test(code_of_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
