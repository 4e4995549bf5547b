/* Launches a kernel's PTX on the machine of ptx.h, as the record of the code generator says. */
#ifndef HILO_TESTS_GPU_LAUNCH_H
#define HILO_TESTS_GPU_LAUNCH_H

#include "codegen/codegen.h"
#include "gpu/ptx.h"

#include <stdlib.h>
#include <string.h>

enum { LAUNCH_BUFFERS = 65 };

/* At most `blocks` blocks. buffers: of the kernel's parameters, n < LAUNCH_BUFFERS. As ptx_run. */
static inline bool launch_blocks(const struct ptx *code, const struct kir *k, const struct target *t,
                                 const struct ptx_buffer *buffers, uint32_t n, uint32_t blocks, uint64_t seed,
                                 struct ptx_counts *counts, char *why, size_t size) {
    struct ptx_buffer all[LAUNCH_BUFFERS];
    struct hilo_gpu_launch l;
    void *slab = NULL;
    cg_launch(k, t, &l);
    memcpy(all, buffers, n * sizeof *all);
    if (l.slab_bytes) {
        size_t bytes = (size_t)l.slab_bytes * l.blocks;
        slab = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
        all[n++] = (struct ptx_buffer){slab, bytes, 0};
    }
    bool ok = ptx_run(code, k->name, l.blocks < blocks ? l.blocks : blocks, l.shared_bytes, all, n, l.maps, l.nmaps, seed,
                      counts, why, size);
    free(slab);
    return ok;
}

static inline bool launch_ptx(const struct ptx *code, const struct kir *k, const struct target *t,
                              const struct ptx_buffer *buffers, uint32_t n, uint64_t seed, struct ptx_counts *counts, char *why,
                              size_t size) {
    return launch_blocks(code, k, t, buffers, n, UINT32_MAX, seed, counts, why, size);
}

#endif
