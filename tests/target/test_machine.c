/* Files that describe machines: what is read of them, and what is said of those that are wrong. */
#include "target/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the four headers before it */
#include <cmocka.h>

#define GPU "gpu sm_90a\n"
#define UNITS "processor 1000 200 2000\ndevice 4000 3352 66900 80e9\n"
#define LINK "link 10000 50\n"

static void good_files(void **state) {
    struct diag_list d;
    struct machine m;
    (void)state;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(machine_read(STR(GPU UNITS LINK "arguments device"), "m", &d, &m), HILO_OK);
    assert_string_equal(m.gpu, "sm_90a");
    assert_true(m.processor.least_ns == 1000 && m.processor.memory_rate == 200 && m.processor.compute_rate == 2000);
    assert_true(m.device.least_ns == 4000 && m.device.memory_rate == 3352 && m.device.compute_rate == 66900);
    assert_true(m.device_bytes == 80e9 && m.link_ns == 10000 && m.link_rate == 50 && m.arguments_on_device);
    assert_int_equal(machine_read(STR("# a comment\r\n\n\targuments host # so\r\nlink 0 0\n" UNITS GPU), "m", &d, &m), HILO_OK);
    assert_true(m.link_rate == 0 && !m.arguments_on_device && m.processor_kept == 1 && m.device_kept == 1);
    assert_int_equal(machine_read(STR(GPU UNITS LINK "arguments host\ntogether 0.5 0.75"), "m", &d, &m), HILO_OK);
    assert_true(m.processor_kept == 0.5 && m.device_kept == 0.75);
    diag_clear(&d);
}

static void wrong_files(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "m: there is no line 'processor'"},
        {UNITS LINK "arguments host\n", "m: there is no line 'gpu'"},
        {GPU "\nprocesor 1 2 3\n", "m:3: expected gpu, processor, device, link, together or arguments"},
        {GPU "processor 1 2\n", "m:2: expected after 'processor': ns, bytes/ns, operations/ns"},
        {GPU "processor 1 2 3 4\n", "m:2: expected after 'processor': ns, bytes/ns, operations/ns"},
        {GPU "link 1 2x\n", "m:2: expected after 'link': ns, bytes/ns"},
        {GPU "link 1 -2\n", "m:2: expected after 'link': ns, bytes/ns"},
        {GPU "link 1 1e300\n", "m:2: expected after 'link': ns, bytes/ns"},
        {GPU "link 1 nan\n", "m:2: expected after 'link': ns, bytes/ns"},
        {GPU "link 1e-9 1\n", "m:2: expected after 'link': ns, bytes/ns"},
        {"gpu\n", "m:1: expected after 'gpu': the name of a GPU, sm_90a"},
        {"gpu sm_9000000000000000\n", "m:1: expected after 'gpu': the name of a GPU, sm_90a"},
        {"gpu sm_90a;\n", "m:1: expected after 'gpu': the name of a GPU, sm_90a"},
        {"arguments there\n", "m:1: expected after 'arguments': host or device"},
        {GPU LINK GPU, "m:3: there is a line 'gpu' already"},
        {GPU "processor 1 0 1\ndevice 1 1 1 1\nlink 0 0\narguments host", "m: rates must be above 0"},
        {GPU "processor 1 1 1\ndevice 1 1 0 1\nlink 0 0\narguments host", "m: rates must be above 0"},
        {GPU UNITS LINK "arguments host\ntogether 1 0", "m: after 'together' are shares above 0, at most 1"},
        {GPU UNITS LINK "arguments host\ntogether 1.5 1", "m: after 'together' are shares above 0, at most 1"},
        {"together 1\n", "m:1: expected after 'together': two shares, at most 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag_list d;
        struct machine m;
        diag_init(&d, mem_system_allocator());
        assert_int_equal(machine_read(str_of(cases[i].text), "m", &d, &m), HILO_INVALID_ARGUMENT);
        assert_string_equal(d.first->message, cases[i].message);
        diag_clear(&d);
    }
}

/* A name does not end at a zero byte. */
static void zero_bytes(void **state) {
    struct diag_list d;
    struct machine m;
    (void)state;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(machine_read(STR(UNITS LINK "arguments host\ngpu \0sm_80\n"), "m", &d, &m), HILO_INVALID_ARGUMENT);
    diag_clear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_files), cmocka_unit_test(wrong_files),
                                       cmocka_unit_test(zero_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
