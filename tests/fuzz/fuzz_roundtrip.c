/* libFuzzer target: what can be read prints, in both forms, to text that reads and prints the same. */
#include "read/text/text.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* Reads `text` and prints it. False when it is refused, with the reason in `why`, or memory ends. */
static bool fuzz_print(struct str text, bool generic, struct strbuf *out, struct strbuf *why) {
    jmp_buf recover;
    struct diag_list d;
    volatile bool done = false;
    diag_init(&d, mem_system_allocator());
    strbuf_init(out, mem_system_allocator());
    strbuf_init(why, mem_system_allocator());
    struct ir_module *volatile m = ir_module_new(mem_system_allocator(), &recover);
    if (m && setjmp(recover) == 0) {
        struct ir_print_options o = {.generic = generic, .locations = true};
        done = read_text(m, &d, text, 1) == HILO_OK;
        if (done)
            ir_print_module(m, &o, out);
        diag_render(&d, why, false);
    }
    ir_module_free(m);
    diag_clear(&d);
    return done && !out->failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    for (int generic = 0; generic < 2; generic++) {
        struct strbuf first, second, why;
        bool read = fuzz_print((struct str){(const char *)bytes, nbytes}, generic, &first, &why);
        strbuf_free(&why);
        if (read) {
            struct str text = {first.p, first.n};
            if (!fuzz_print(text, generic, &second, &why) || second.n != first.n || memcmp(second.p, first.p, first.n) != 0) {
                fprintf(stderr, "---- printed\n%s\n---- printed again\n%s\n%s\n", first.p, second.p ? second.p : "",
                        why.p ? why.p : "");
                abort();
            }
            strbuf_free(&second);
            strbuf_free(&why);
        }
        strbuf_free(&first);
    }
    return 0;
}
