/* How kernels are launched on GPUs: blocks, threads, shared memory. A block has as many threads as the widest VECTOR loop has
 * lanes, at least a warp. Its shared memory is an area for reductions between warps, then the kernel's scratch memory; what
 * does not fit is a slab of device memory, of which few blocks take one each and compute many iterations. */
#include "codegen/emit.h"

#include "kir/node.h"

enum {
    LAUNCH_AREA = 8 << 10,  /* bytes of shared memory for reductions, at most: for 1024 lanes of 8 bytes */
    LAUNCH_SLAB_BLOCKS = 2  /* blocks of a multiprocessor, where each has a slab */
};

uint32_t cg_lane_bytes(enum kir_type t) {
    return t == KIR_I1 ? 1 : kir_type_bits(t) / 8;
}

/* Whether a node reduces over the lanes of the loop with this body into a register for which no earlier node does. */
static bool begins_reduction(const struct kir *k, kir_block body, kir_val v) {
    const struct kir_node *n = kir_get(k, v);
    if (n->op != KIR_ACC || kir_block_within(k, k->nodes.v[n->of].block, body))
        return false;
    for (uint32_t i = n->of; i < v.i; i++) {
        const struct kir_node *x = &k->nodes.v[i];
        if (x->op == KIR_ACC && x->of == n->of && kir_block_within(k, x->block, body))
            return false;
    }
    return true;
}

/* Bytes of all sums of a lane. */
static uint64_t reduced_bytes(const struct kir *k, kir_block body, kir_block b) {
    uint64_t bytes = 0;
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v), *reg = &k->nodes.v[n->of];
        if (begins_reduction(k, body, v))
            bytes += (uint64_t)reg->imm * cg_lane_bytes((enum kir_type)reg->type);
        if (n->body.i)
            bytes += reduced_bytes(k, body, n->body);
        if (n->other.i)
            bytes += reduced_bytes(k, body, n->other);
    }
    return bytes;
}

/* Threads, bytes of the area, and what its size is a multiple of: factors of WGMMA and boxes of matrices follow it. */
struct survey {
    uint32_t threads;
    uint64_t area, align;
};

static void survey(const struct kir *k, kir_block b, struct survey *s) {
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        if (n->op == KIR_LOOP && n->sub == KIR_VECTOR) {
            uint64_t bytes = reduced_bytes(k, n->body, n->body) * n->width;
            s->threads = n->width > s->threads ? n->width : s->threads;
            s->area = bytes > s->area ? bytes : s->area;
        }
        s->align = n->op == KIR_WGMMA || n->op == KIR_COPY_TENSOR ? KIR_WGMMA_ALIGN : s->align;
        if (n->body.i)
            survey(k, n->body, s);
        if (n->other.i)
            survey(k, n->other, s);
    }
}

uint32_t cg_area_bytes(const struct kir *k, const struct target *t) {
    struct survey s = {t->warp_threads, 0, 64};
    survey(k, (kir_block){1}, &s);
    s.area = s.threads == t->warp_threads ? 0 : s.area < LAUNCH_AREA ? s.area : LAUNCH_AREA;
    return (uint32_t)((s.area + s.align - 1) / s.align * s.align);
}

void cg_launch(const struct kir *k, const struct target *t, struct hilo_gpu_launch *out) {
    struct survey s = {t->warp_threads, 0, 64};
    int64_t extent = kir_grid_extent(k), most = INT32_MAX;
    survey(k, (kir_block){1}, &s);
    *out = (struct hilo_gpu_launch){.threads = s.threads, .params = kir_param_count(k)};
    out->shared_bytes = cg_area_bytes(k, t);
    if (k->scratch_bytes > t->shared_bytes - out->shared_bytes) {
        out->slab_bytes = k->scratch_bytes;
        out->params++;
        most = (int64_t)t->cores * LAUNCH_SLAB_BLOCKS;
    } else {
        out->shared_bytes += (uint32_t)k->scratch_bytes;
    }
    for (uint32_t i = 0; i < k->maps.n && i < HILO_GPU_MAPS; i++) {
        const struct kir_map *m = &k->maps.v[i];
        uint32_t bytes = ir_dtype_get(k->buffers.v[m->buffer].dtype)->bytes, param = 0;
        for (uint32_t b = 0; b < m->buffer; b++)
            param += k->buffers.v[b].role != KIR_SCRATCH;
        out->maps[out->nmaps++] = (struct hilo_gpu_map){param, bytes, m->box, (uint64_t)m->columns, (uint64_t)m->lines,
                                                        (uint64_t)m->stride * bytes};
    }
    out->blocks = (uint32_t)(extent < 0 ? 0 : extent < most ? extent : most);
}
