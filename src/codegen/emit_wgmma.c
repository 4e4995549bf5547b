/* Products by the four warps of a warpgroup: wgmma of GPUs, which LLVM has no intrinsics for. An op is a fence for its
 * registers, an instruction for each 16 terms, and the end of a group of them, in one piece of assembly, whose sums are inputs
 * and outputs of the same registers; the wait has them likewise, so that nothing reads them before it. */
#include "codegen/emit.h"

#include "kir/node.h"

#include <stdio.h>

enum {
    WGMMA_STEP = 16,     /* terms of an instruction */
    WGMMA_STEPS = KIR_WGMMA_TERMS / WGMMA_STEP,
    WGMMA_TEXT = 1 << 13 /* of a piece of assembly, with room */
};

/* Assembly with `n` operands of 64 bits after those registers, which it changes. */
static void wgmma_asm(struct emit *e, const char *text, struct emit_slot *sums, uint32_t nsums, LLVMValueRef *operands,
                      uint32_t n) {
    const struct llvm *l = e->l;
    LLVMTypeRef *types = ARENA_ARRAY(&e->arena, LLVMTypeRef, nsums + n + 1);
    LLVMValueRef *args = ARENA_ARRAY(&e->arena, LLVMValueRef, nsums + n + 1);
    char *constraints = ARENA_ARRAY(&e->arena, char, WGMMA_TEXT);
    size_t at = 0;
    for (uint32_t i = 0; i < nsums; i++)
        at += (size_t)snprintf(constraints + at, WGMMA_TEXT - at, "=f,");
    for (uint32_t i = 0; i < nsums + n; i++) {
        types[i] = i < nsums ? e->f32 : e->i64;
        args[i] = i < nsums ? sums[i].value : operands[i - nsums];
        at += (size_t)(i < nsums ? snprintf(constraints + at, WGMMA_TEXT - at, "%u,", (unsigned)i)
                                 : snprintf(constraints + at, WGMMA_TEXT - at, "l,"));
    }
    at += (size_t)snprintf(constraints + at, WGMMA_TEXT - at, "~{memory}");
    LLVMTypeRef results = nsums > 1   ? l->StructTypeInContext(e->context, types, nsums, false)
                          : nsums == 1 ? e->f32
                                       : l->VoidTypeInContext(e->context);
    LLVMTypeRef type = l->FunctionType(results, types, nsums + n, false);
    LLVMValueRef code = l->GetInlineAsm(type, text, strlen(text), constraints, at, true, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef all = l->BuildCall2(e->b, type, code, args, nsums + n, "");
    for (uint32_t i = 0; i < nsums; i++)
        sums[i].value = nsums > 1 ? l->BuildExtractValue(e->b, all, i, "") : all;
}

void emit_wgmma_fence(struct emit *e) {
    wgmma_asm(e, "fence.proxy.async.shared::cta;", NULL, 0, NULL, 0);
}

/* The descriptor of an operand: its address, the distances between groups of 64 rows or columns, of an operand that lies across
   the sum (else 1, as the manual has it), and between eight lines, in units of 16 bytes; lines of 128 bytes are swizzled. */
static LLVMValueRef wgmma_descriptor(struct emit *e, const struct kir_node *n, int i) {
    const uint64_t groups = kir_wgmma_across(n, i) ? 8192 >> 4 : 1, lines = 1024 >> 4, swizzled = 1;
    LLVMValueRef p = emit_address(e, kir_wgmma_buffer(n, i), n->arg[i]);
    LLVMValueRef at = e->l->BuildCast(e->b, LLVMPtrToInt, p, e->i64, "");
    at = emit_bin(e, LLVMLShr, emit_bin(e, LLVMAnd, at, emit_int(e, 0x3FFFF)), emit_int(e, 4));
    return emit_bin(e, LLVMOr, at, emit_int(e, (int64_t)(groups << 16 | lines << 32 | swizzled << 62)));
}

static void wgmma_group(struct emit *e, const struct kir_node *n) {
    const char *format = n->sub == KIR_TILE_BF16 ? "bf16" : "f16";
    uint32_t columns = n->width, nsums = columns / 2;
    char *text = ARENA_ARRAY(&e->arena, char, WGMMA_TEXT);
    LLVMValueRef operands[2 * WGMMA_STEPS];
    for (int i = 0; i < 2; i++) {
        /* 16 terms are 16 lines, or 32 bytes of each line */
        int64_t step = kir_wgmma_across(n, i) ? WGMMA_STEP * 128 >> 4 : WGMMA_STEP * 2 >> 4;
        LLVMValueRef first = wgmma_descriptor(e, n, i);
        for (uint32_t s = 0; s < WGMMA_STEPS; s++)
            operands[2 * s + (uint32_t)i] = emit_bin(e, LLVMAdd, first, emit_int(e, s * step));
    }
    size_t at = (size_t)snprintf(text, WGMMA_TEXT, "wgmma.fence.sync.aligned;\n");
    for (uint32_t s = 0; s < WGMMA_STEPS; s++) {
        at += (size_t)snprintf(text + at, WGMMA_TEXT - at, "\twgmma.mma_async.sync.aligned.m64n%uk16.f32.%s.%s {",
                               (unsigned)columns, format, format);
        for (uint32_t i = 0; i < nsums; i++)
            at += (size_t)snprintf(text + at, WGMMA_TEXT - at, "%s$%u", i ? ", " : "", (unsigned)i);
        at += (size_t)snprintf(text + at, WGMMA_TEXT - at, "}, $%u, $%u, 1, 1, 1, %d, %d;\n", (unsigned)(2 * nsums + 2 * s),
                               (unsigned)(2 * nsums + 2 * s + 1), kir_wgmma_across(n, 0), kir_wgmma_across(n, 1));
    }
    snprintf(text + at, WGMMA_TEXT - at, "\twgmma.commit_group.sync.aligned;");
    wgmma_asm(e, text, &e->slots[e->nodes[n->of].slot + kir_wgmma_first(n)], nsums, operands, 2 * WGMMA_STEPS);
}

void emit_wgmma(struct emit *e, const struct kir_node *n) {
    if (!e->blocks || !e->t->wgmma || !e->in_vector || e->mask) {
        emit_unsupported(e, "the target has no matrix unit for warpgroups");
        return;
    }
    if (e->launch.slab_bytes) {
        emit_fail(e, "factors of a warpgroup are not in shared memory");
        return;
    }
    if (n->op == KIR_WGMMA)
        wgmma_group(e, n);
    else
        wgmma_asm(e, "wgmma.wait_group.sync.aligned 0;", &e->slots[e->nodes[n->of].slot],
                  (uint32_t)kir_get(e->k, (kir_val){n->of})->imm, NULL, 0);
}
