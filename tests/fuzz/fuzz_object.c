/* libFuzzer target: any bytes as an object file, of this processor or another, are loaded or refused with a diagnostic; what
 * was loaded is not run. */
#include "runtime/code.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    hilo_allocator al = mem_system_allocator();
    struct str twice[] = {{(const char *)bytes, nbytes}, {(const char *)bytes, nbytes}};
    for (uint32_t n = 1; n <= 2; n++) {
        struct diag_list d;
        struct rt_code *c;
        diag_init(&d, al);
        hilo_status s = rt_code_load(twice, n, RT_CODE_FOREIGN, al, &d, &c);
        if ((s == HILO_OK) != (d.errors == 0))
            abort();
        if (s == HILO_OK) {
            rt_code_find(c, "kernel");
            rt_code_free(c);
        }
        diag_clear(&d);
    }
    return 0;
}
