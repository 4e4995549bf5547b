/* Asynchronous copies to scratch memory: cp.async of GPUs, groups of them and the wait for a group. On processors they take
 * place at once, which the IR allows: nothing accesses what is copied before the wait. */
#include "codegen/emit.h"

#include <stdio.h>

static uint32_t copy_bytes(const struct emit *e, const struct kir_node *n) {
    return kir_copy_elements(n) * ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
}

/* 16 bytes bypass the L1 cache. With a guard the number of bytes that are read is an operand; zeros follow them. */
static void copy_thread(struct emit *e, const struct kir_node *n) {
    uint32_t bytes = copy_bytes(e, n);
    bool guarded = emit_is(n->arg[2]);
    char name[64];
    LLVMValueRef args[3] = {emit_address(e, n->of, n->arg[0]), emit_address(e, kir_copy_from(n), n->arg[1])};
    LLVMValueRef all = e->l->ConstInt(e->i32, bytes, false);
    if (e->launch.slab_bytes) {
        emit_fail(e, "copies are not to shared memory");
        return;
    }
    if (guarded)
        args[2] = emit_select(e, emit_scalar(e, n->arg[2]), all, e->l->ConstInt(e->i32, 0, false));
    snprintf(name, sizeof name, "llvm.nvvm.cp.async.%s.shared.global.%u%s", bytes == 16 ? "cg" : "ca", bytes,
             guarded ? ".s" : "");
    emit_intrinsic(e, name, NULL, 0, args, guarded ? 3 : 2);
}

static void copy_lanes(struct emit *e, const struct kir_node *n) {
    uint32_t bytes = copy_bytes(e, n);
    LLVMTypeRef word = bytes == 4 ? e->i32 : e->i64, vector = e->l->VectorType(word, e->width);
    LLVMValueRef all = emit_like(e, e->l->VectorType(e->i1, e->width), 1);
    LLVMValueRef mask = emit_is(n->arg[2]) ? emit_lanes(e, n->arg[2]) : all;
    LLVMValueRef to = emit_element_addresses(e, n->of, n->arg[0]);
    LLVMValueRef from = emit_element_addresses(e, kir_copy_from(n), n->arg[1]);
    LLVMValueRef align = e->l->ConstInt(e->i32, bytes == 4 ? 4 : 8, false);
    LLVMTypeRef overloads[] = {vector, e->l->TypeOf(from)};
    for (uint32_t i = 0; i == 0 || 8 * i < bytes; i++) {
        LLVMValueRef at = emit_int(e, i);
        LLVMValueRef source = e->l->BuildGEP2(e->b, word, from, &at, 1, "");
        LLVMValueRef target = e->l->BuildGEP2(e->b, word, to, &at, 1, "");
        LLVMValueRef load[] = {source, align, mask, e->l->ConstNull(vector)};
        LLVMValueRef v = emit_intrinsic(e, "llvm.masked.gather", overloads, 2, load, 4), store[] = {v, target, align, all};
        emit_intrinsic(e, "llvm.masked.scatter", overloads, 2, store, 4);
    }
}

void emit_copy(struct emit *e, const struct kir_node *n) {
    LLVMValueRef groups = e->l->ConstInt(e->i32, (unsigned long long)n->imm, false);
    if (!e->blocks) {
        if (n->op == KIR_COPY_ASYNC)
            copy_lanes(e, n);
        return;
    }
    if (n->op == KIR_COPY_ASYNC)
        copy_thread(e, n);
    else if (n->op == KIR_COPY_COMMIT)
        emit_intrinsic(e, "llvm.nvvm.cp.async.commit.group", NULL, 0, NULL, 0);
    else
        emit_intrinsic(e, "llvm.nvvm.cp.async.wait.group", NULL, 0, &groups, 1);
}
