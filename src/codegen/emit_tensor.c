/* Copies of boxes of matrices by the tensor memory accelerator of GPUs, counted by mbarriers: thread 0 begins them, all threads
 * wait. LLVM has no intrinsics for most of this. What thread 0 does alone is predicated in assembly: a branch between products
 * of a warpgroup and the wait for them would make them wait. */
#include "codegen/emit.h"

#include "kir/node.h"

#include <stdio.h>

enum { TENSOR_TEXT = 256, TENSOR_OPERANDS = 6 };

/* Assembly with operands, of 32 or 64 bits; `result`: of 32 bits, operand 0. */
static LLVMValueRef tensor_asm(struct emit *e, const char *text, bool result, LLVMValueRef *operands, uint32_t n) {
    const struct llvm *l = e->l;
    LLVMTypeRef types[TENSOR_OPERANDS];
    char constraints[TENSOR_TEXT];
    size_t at = (size_t)snprintf(constraints, sizeof constraints, "%s", result ? "=r," : "");
    for (uint32_t i = 0; i < n; i++) {
        types[i] = l->TypeOf(operands[i]);
        at += (size_t)snprintf(constraints + at, sizeof constraints - at, "%s,", types[i] == e->i64 ? "l" : "r");
    }
    at += (size_t)snprintf(constraints + at, sizeof constraints - at, "~{memory}");
    LLVMTypeRef type = l->FunctionType(result ? e->i32 : l->VoidTypeInContext(e->context), types, n, false);
    LLVMValueRef code = l->GetInlineAsm(type, text, strlen(text), constraints, at, true, false, LLVMInlineAsmDialectATT, false);
    return l->BuildCall2(e->b, type, code, operands, n, "");
}

/* An instruction of thread 0; of its operands, $0 is the thread. */
static void tensor_first(struct emit *e, const char *instruction, LLVMValueRef *operands, uint32_t n) {
    char text[2 * TENSOR_TEXT];
    snprintf(text, sizeof text, "{\n\t.reg .pred p;\n\tsetp.eq.u32 p, $0, 0;\n\t@p %s;\n\t}", instruction);
    (void)tensor_asm(e, text, false, operands, n);
}

/* An address in shared memory; copies and mbarriers take 32 bits. */
static LLVMValueRef tensor_shared(struct emit *e, LLVMValueRef p) {
    return e->l->BuildCast(e->b, LLVMPtrToInt, p, e->i32, "");
}

static LLVMValueRef mbarrier_at(struct emit *e, uint32_t buffer, LLVMValueRef i) {
    return tensor_shared(e, e->l->BuildGEP2(e->b, e->i64, e->buffers[buffer], &i, 1, ""));
}

/* A group as a number of 32 bits where it fits; what divides it. */
static LLVMValueRef tensor_group(struct emit *e, const struct kir_node *n, LLVMValueRef *count) {
    LLVMValueRef group = emit_fits(e, n->arg[0]) ? emit_scalar32(e, n->arg[0]) : emit_scalar(e, n->arg[0]);
    *count = emit_like(e, e->l->TypeOf(group), (uint64_t)e->k->buffers.v[n->of].count);
    return group;
}

static void mbarrier_expect(struct emit *e, const struct kir_node *n) {
    char text[TENSOR_TEXT];
    LLVMValueRef count, group = tensor_group(e, n, &count);
    e->expecting = mbarrier_at(e, n->of, emit_bin(e, LLVMURem, group, count));
    LLVMValueRef operands[] = {e->thread, e->expecting};
    snprintf(text, sizeof text, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], %u", (unsigned)n->imm);
    tensor_first(e, text, operands, 2);
}

static void copy_box(struct emit *e, const struct kir_node *n) {
    LLVMValueRef map = e->l->GetParam(e->fn, e->launch.params + (uint32_t)n->imm);
    LLVMValueRef operands[] = {e->thread,
                               tensor_shared(e, emit_address(e, n->of, n->arg[0])),
                               e->l->BuildCast(e->b, LLVMPtrToInt, map, e->i64, ""),
                               emit_scalar32(e, n->arg[1]),
                               emit_scalar32(e, n->arg[2]),
                               e->expecting};
    tensor_first(e,
                 "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$1], [$2, {$3, $4}], [$5]",
                 operands, 6);
}

/* The instruction waits for a while: it is tried until the phase is over. */
static void mbarrier_wait(struct emit *e, const struct kir_node *n) {
    const struct llvm *l = e->l;
    LLVMValueRef count, group = tensor_group(e, n, &count);
    LLVMValueRef phase = emit_bin(e, LLVMUDiv, group, count);
    LLVMValueRef parity = emit_bin(e, LLVMAnd, phase, emit_like(e, l->TypeOf(phase), 1));
    LLVMValueRef operands[] = {mbarrier_at(e, n->of, emit_bin(e, LLVMURem, group, count)),
                               l->TypeOf(parity) == e->i32 ? parity : emit_cast(e, LLVMTrunc, parity, e->i32)};
    LLVMBasicBlockRef again = emit_new_block(e, "wait"), after = emit_new_block(e, "landed");
    l->BuildBr(e->b, again);
    l->PositionBuilderAtEnd(e->b, again);
    LLVMValueRef over = tensor_asm(e,
                                   "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2;\n"
                                   "\tselp.u32 $0, 1, 0, p;\n\t}",
                                   true, operands, 2);
    l->BuildCondBr(e->b, emit_icmp(e, LLVMIntNE, over, emit_like(e, e->i32, 0)), after, again);
    l->PositionBuilderAtEnd(e->b, after);
}

void emit_tensor(struct emit *e, const struct kir_node *n) {
    if (!e->blocks || !e->t->wgmma || !e->in_vector || e->mask) {
        emit_unsupported(e, "the target has no tensor memory accelerator");
        return;
    }
    if (e->launch.slab_bytes) {
        emit_fail(e, "boxes are not copied to shared memory");
        return;
    }
    if (n->op == KIR_MBARRIER_EXPECT)
        mbarrier_expect(e, n);
    else if (n->op == KIR_COPY_TENSOR)
        copy_box(e, n);
    else
        mbarrier_wait(e, n);
}

/* ---- mbarriers of a loop --------------------------------------------------------------------- */

/* Thread 0 does something with each; returns how many there are. */
static int64_t mbarriers_of(struct emit *e, kir_val loop, const char *instruction) {
    const struct kir *k = e->k;
    int64_t found = 0;
    for (uint32_t b = 0; b < k->buffers.n; b++) {
        bool used = false;
        for (uint32_t i = 1; i < k->nodes.n && !used; i++) {
            const struct kir_node *n = &k->nodes.v[i];
            used = n->op == KIR_MBARRIER_EXPECT && n->of == b && kir_block_within(k, n->block, kir_get(k, loop)->body);
        }
        for (int64_t i = 0; used && i < k->buffers.v[b].count; i++, found++) {
            LLVMValueRef operands[] = {e->thread, mbarrier_at(e, b, emit_int(e, i))};
            tensor_first(e, instruction, operands, 2);
        }
    }
    return found;
}

/* One arrival, that of thread 0, ends a phase, once the bytes that it expects are there. */
void emit_mbarriers_begin(struct emit *e, kir_val loop) {
    if (e->blocks && e->t->wgmma && mbarriers_of(e, loop, "mbarrier.init.shared::cta.b64 [$1], 1")) {
        if (!e->fences)
            emit_wgmma_fence(e);
        emit_block_sync(e);
    }
}

/* Where a block does not come here again, nothing has to be done. */
void emit_mbarriers_end(struct emit *e, kir_val loop) {
    kir_val grid = kir_grid(e->k);
    bool once = kir_get(e->k, loop)->block.i == (emit_is(grid) ? kir_get(e->k, grid)->body.i : 1);
    bool strides = kir_grid_extent(e->k) > e->launch.blocks, any = false;
    for (uint32_t i = 1; i < e->k->nodes.n && !(once && !strides); i++) {
        const struct kir_node *n = &e->k->nodes.v[i];
        any |= n->op == KIR_MBARRIER_EXPECT && kir_block_within(e->k, n->block, kir_get(e->k, loop)->body);
    }
    if (!any)
        return;
    emit_block_sync(e);
    (void)mbarriers_of(e, loop, "mbarrier.inval.shared::cta.b64 [$1]");
}
