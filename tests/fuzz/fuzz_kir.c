/* libFuzzer target: a kernel that parses prints as a text that parses and prints the same; one that verifies runs, with bounded
 * work and memory, touches nothing outside of its buffers, and computes the same after passes. */
#include "kir/node.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

enum { MOST_BUFFERS = 64, MOST_BYTES = 1 << 20, MOST_STEPS = 200000 };

/* Memory of a kernel's parameters, zeroed; scratch is the last of it. */
static void *memory[2][MOST_BUFFERS + 1];

static bool run(const struct kir *k, void **memory_of, struct diag_list *d) {
    uint32_t n = 0;
    size_t total = k->scratch_bytes;
    bool ok = k->buffers.n <= MOST_BUFFERS && total <= MOST_BYTES;
    for (uint32_t i = 0; ok && i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        if (b->role == KIR_SCRATCH)
            continue;
        ok = b->count <= MOST_BYTES && (total += (size_t)b->count * ir_dtype_get(b->dtype)->bytes) <= MOST_BYTES &&
             (memory_of[n++] = calloc((size_t)b->count, ir_dtype_get(b->dtype)->bytes));
    }
    void **scratch = &memory_of[MOST_BUFFERS];
    return ok && (!k->scratch_bytes || (*scratch = calloc(1, k->scratch_bytes))) &&
           kir_run_within(k, memory_of, *scratch, 0, kir_grid_extent(k), MOST_STEPS, d);
}

static bool same(const struct kir *k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        if (b->role == KIR_SCRATCH)
            continue;
        if (b->count && memcmp(memory[0][n], memory[1][n], (size_t)b->count * ir_dtype_get(b->dtype)->bytes) != 0)
            return false;
        n++;
    }
    return true;
}

static void run_both(const struct kir *k, struct kir *again, struct diag_list *d) {
    kir_fold(again);
    kir_split(again);
    kir_clean(again);
    if (kir_verify(again, d) != HILO_OK)
        abort();
    if (run(k, memory[0], d) && (!run(again, memory[1], d) || !same(k)))
        abort();
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
        if (kernels[1] && kir_verify(kernels[0], &d) == HILO_OK) {
            kir_expand_math(kernels[0]);
            kir_expand_math(kernels[1]);
            run_both(kernels[0], kernels[1], &d);
        }
    }
    for (int i = 0; i < 2 * (MOST_BUFFERS + 1); i++) {
        free(memory[i / (MOST_BUFFERS + 1)][i % (MOST_BUFFERS + 1)]);
        memory[i / (MOST_BUFFERS + 1)][i % (MOST_BUFFERS + 1)] = NULL;
    }
    kir_free(kernels[0]);
    kir_free(kernels[1]);
    strbuf_free(&first);
    strbuf_free(&second);
    diag_clear(&d);
    return 0;
}
