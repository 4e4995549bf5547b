/* libFuzzer target: HLO text that can be read and verifies prints as a program that reads back and verifies; so does what is
 * written of it as HLO text. */
#include "read/hlo/write.h"
#include "read/text/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* Whether a text is a program that verifies; then it is printed and, where it can be, written as HLO text. */
static bool read_and_print(struct str text, bool hlo, struct strbuf *printed, struct strbuf *written) {
    jmp_buf recover;
    struct diag_list d;
    volatile bool good = false;
    diag_init(&d, mem_system_allocator());
    struct ir_module *volatile m = ir_module_new(mem_system_allocator(), &recover);
    if (m && setjmp(recover) == 0) {
        m->text = text;
        hilo_status status = hlo ? read_hlo(m, &d, text, 1) : read_text(m, &d, text, 1);
        if (status == HILO_OK && ir_verify(m, &d) == HILO_OK) {
            struct ir_print_options o = {.locations = true};
            ir_print_module(m, &o, printed);
            good = true;
            if (written && write_hlo(m, &d, written) != HILO_OK)
                written->n = 0;
        } else if (d.errors == 0) {
            abort();
        }
    }
    ir_module_free(m);
    diag_clear(&d);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct strbuf printed, again, written;
    strbuf_init(&printed, mem_system_allocator());
    strbuf_init(&again, mem_system_allocator());
    strbuf_init(&written, mem_system_allocator());
    if (read_and_print((struct str){(const char *)bytes, nbytes}, true, &printed, &written)) {
        if (!read_and_print((struct str){printed.p, printed.n}, false, &again, NULL))
            abort();
        if (written.n && !read_and_print((struct str){written.p, written.n}, true, &again, NULL))
            abort();
    }
    strbuf_free(&printed);
    strbuf_free(&again);
    strbuf_free(&written);
    return 0;
}
