/* libFuzzer target: any bytes are read as a program, or refused with a diagnostic; what was read is verified without harm. */
#include "ir/sdy.h"
#include "read/text/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    jmp_buf recover;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    struct ir_module *volatile m = ir_module_new(mem_system_allocator(), &recover);
    if (m && setjmp(recover) == 0) {
        hilo_status s = read_text(m, &d, (struct str){(const char *)bytes, nbytes}, 1);
        if ((s != HILO_OK) != (d.errors > 0))
            abort();
        if (s == HILO_OK && ir_verify(m, &d) == HILO_OK)
            sdy_verify(m, &d);
    }
    ir_module_free(m);
    diag_clear(&d);
    return 0;
}
