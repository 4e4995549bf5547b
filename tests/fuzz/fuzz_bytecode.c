/* libFuzzer target: bytecode that can be read and verifies prints. */
#include "read/bytecode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    jmp_buf recover;
    struct diag_list d;
    struct strbuf out;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&out, mem_system_allocator());
    struct ir_module *volatile m = ir_module_new(mem_system_allocator(), &recover);
    if (m && setjmp(recover) == 0 && read_bytecode(m, &d, (struct str){(const char *)bytes, nbytes}) == HILO_OK &&
        ir_verify(m, &d) == HILO_OK) {
        struct ir_print_options o = {.locations = true};
        ir_print_module(m, &o, &out);
    }
    ir_module_free(m);
    strbuf_free(&out);
    diag_clear(&d);
    return 0;
}
