/* libFuzzer target: bytecode that can be read and verifies prints, and where it can be written it reads back as the same. */
#include "read/bytecode/bytecode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* Whether the bytes, or an artifact within them, are a program that verifies; its text. With `again`, also the bytes that hilo
   writes for it, if any. */
static bool read_and_print(struct str bytes, struct strbuf *text, struct strbuf *again) {
    jmp_buf recover;
    struct diag_list d;
    volatile bool good = false;
    struct str artifact;
    if (read_is_exported(bytes, &artifact))
        bytes = artifact;
    diag_init(&d, mem_system_allocator());
    struct ir_module *volatile m = ir_module_new(mem_system_allocator(), &recover);
    if (m)
        m->bytes_stay = true;
    if (m && setjmp(recover) == 0 && read_bytecode(m, &d, bytes) == HILO_OK && ir_verify(m, &d) == HILO_OK) {
        struct ir_print_options o = {.locations = true};
        ir_print_module(m, &o, text);
        if (again && write_bytecode(m, &d, BC_STABLEHLO, again) != HILO_OK)
            again->n = 0;
        good = true;
    }
    ir_module_free(m);
    diag_clear(&d);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct strbuf text[2], written[2];
    for (int i = 0; i < 2; i++) {
        strbuf_init(&text[i], mem_system_allocator());
        strbuf_init(&written[i], mem_system_allocator());
    }
    /* What travels through the writer once may lose what it has no form for; then it is a fixed point. */
    if (read_and_print((struct str){(const char *)bytes, nbytes}, &text[0], &written[0]) && written[0].n) {
        text[0].n = 0;
        if (!read_and_print((struct str){written[0].p, written[0].n}, &text[0], &written[1]) || !written[1].n)
            abort();
        if (!read_and_print((struct str){written[1].p, written[1].n}, &text[1], NULL) || text[0].n != text[1].n ||
            memcmp(text[0].p, text[1].p, text[0].n) != 0)
            abort();
    }
    for (int i = 0; i < 2; i++) {
        strbuf_free(&text[i]);
        strbuf_free(&written[i]);
    }
    return 0;
}
