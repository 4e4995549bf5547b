/* The planner on random programs: see random_plan.h. An argument is the first seed, for a longer run. */
#include "random_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t splitmix(uint64_t *s) {
    uint64_t z = *s += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t first_seed, seeds = 2000;

static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        uint64_t s = seed;
        uint8_t bytes[1024];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)splitmix(&s);
        struct strbuf why;
        strbuf_init(&why, mem_system_allocator());
        if (!random_plan_check(bytes, sizeof bytes, &why))
            fail_msg("seed %llu: %.*s", (unsigned long long)seed, (int)why.n, why.p ? why.p : "");
        strbuf_free(&why);
    }
}

int main(int argc, char **argv) {
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : seeds;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
