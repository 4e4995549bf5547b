/* libFuzzer target: HLO text that can be read and verifies prints as a program that reads back and verifies. */
#include "read/hlo.h"
#include "read/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* Whether a text is a program that verifies; then it is printed. */
static bool read_and_print(struct str text, bool hlo, struct strbuf *out) {
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
            ir_print_module(m, &o, out);
            good = true;
        } else if (d.errors == 0) {
            abort();
        }
    } else {
        good = !hlo; /* out of memory is no difference */
    }
    ir_module_free(m);
    diag_clear(&d);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct strbuf text, again;
    strbuf_init(&text, mem_system_allocator());
    strbuf_init(&again, mem_system_allocator());
    if (read_and_print((struct str){(const char *)bytes, nbytes}, true, &text) &&
        !read_and_print((struct str){text.p, text.n}, false, &again))
        abort();
    strbuf_free(&text);
    strbuf_free(&again);
    return 0;
}
