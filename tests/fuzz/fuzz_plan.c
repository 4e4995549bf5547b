/* The planner: bytes as a program, planned and run (tests/plan/random_plan.h). */
#include "../plan/random_plan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    struct strbuf why;
    strbuf_init(&why, mem_system_allocator());
    if (!random_plan_check(bytes, n < 4096 ? n : 4096, &why))
        abort();
    strbuf_free(&why);
    return 0;
}
