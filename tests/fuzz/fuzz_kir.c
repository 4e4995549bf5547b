/* libFuzzer target: a kernel that parses prints as a text that parses and prints the same; one that verifies runs, with bounded
 * work and memory, and touches nothing outside of its buffers. */
#include "kir/node.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

enum { MOST_BUFFERS = 64, MOST_BYTES = 1 << 20, MOST_STEPS = 200000 };

static void run(const struct kir *k, struct diag_list *d) {
    void *memory[MOST_BUFFERS] = {NULL}, *scratch = NULL;
    uint32_t n = 0;
    size_t total = k->scratch_bytes;
    bool ok = k->buffers.n <= MOST_BUFFERS && total <= MOST_BYTES;
    for (uint32_t i = 0; ok && i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        if (b->role == KIR_SCRATCH)
            continue;
        ok = b->count <= MOST_BYTES && (total += (size_t)b->count * ir_dtype_get(b->dtype)->bytes) <= MOST_BYTES &&
             (memory[n++] = calloc((size_t)b->count, ir_dtype_get(b->dtype)->bytes));
    }
    if (ok && (!k->scratch_bytes || (scratch = calloc(1, k->scratch_bytes))))
        kir_run_within(k, memory, scratch, 0, kir_grid_extent(k), MOST_STEPS, d);
    for (uint32_t i = 0; i < n; i++)
        free(memory[i]);
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct str text = {(const char *)bytes, nbytes};
    struct strbuf first, second;
    struct diag_list d;
    jmp_buf recover;
    size_t at = 0, again_at = 0;
    struct kir *volatile kernels[2] = {NULL, NULL};
    strbuf_init(&first, mem_system_allocator());
    strbuf_init(&second, mem_system_allocator());
    diag_init(&d, mem_system_allocator());
    if (setjmp(recover) == 0 &&
        kir_parse(text, &at, mem_system_allocator(), &recover, &d, (struct kir **)&kernels[0]) == HILO_OK) {
        kir_print(kernels[0], &first);
        if (!first.failed) {
            struct str printed = {first.p, first.n};
            if (kir_parse(printed, &again_at, mem_system_allocator(), &recover, &d, (struct kir **)&kernels[1]) != HILO_OK)
                abort();
            kir_print(kernels[1], &second);
            if (!second.failed && strcmp(first.p, second.p) != 0)
                abort();
        }
        if (kir_verify(kernels[0], &d) == HILO_OK)
            run(kernels[0], &d);
    }
    kir_free(kernels[0]);
    kir_free(kernels[1]);
    strbuf_free(&first);
    strbuf_free(&second);
    diag_clear(&d);
    return 0;
}
