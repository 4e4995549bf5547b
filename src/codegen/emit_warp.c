/* Products by the lanes of a warp together: instructions of a GPU's matrix units; on processors, vectors of the lanes of a
 * warp, in functions of their own, since many such products follow one another. */
#include "codegen/emit.h"

#include "kir/node.h"

#include <stdio.h>

static LLVMValueRef warp_word(const struct emit *e, uint32_t i) {
    return e->l->ConstInt(e->i32, i, false);
}

/* The registers of operand i of MMA: 0 the sums, 1 A, 2 B. */
static struct emit_slot *warp_slots(const struct emit *e, const struct kir_node *n, int i) {
    uint32_t reg = i ? n->arg[i - 1].i : n->of;
    return &e->slots[e->nodes[reg].slot + kir_mma_first(n, i)];
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static void warp_mma_unit(struct emit *e, const struct kir_node *n) {
    static const char *const products[] = {
        "llvm.nvvm.mma.m16n8k16.row.col.bf16", "llvm.nvvm.mma.m16n8k32.row.col.s8",    "llvm.nvvm.mma.m16n8k32.row.col.u8.s8",
        "llvm.nvvm.mma.m16n8k32.row.col.s8.u8", "llvm.nvvm.mma.m16n8k32.row.col.u8", "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"};
    struct emit_slot *sums = warp_slots(e, n, 0);
    LLVMTypeRef half = e->l->VectorType(e->half, 2);
    LLVMValueRef args[10];
    for (uint32_t i = 0; i < 10; i++) {
        args[i] = i < 4 ? warp_slots(e, n, 1)[i].value : i < 6 ? warp_slots(e, n, 2)[i - 4].value : sums[i - 6].value;
        if (n->sub == KIR_TILE_F16 && i < 6)
            args[i] = e->l->BuildCast(e->b, LLVMBitCast, args[i], half, "");
    }
    LLVMValueRef all = emit_intrinsic(e, products[n->sub], NULL, 0, args, 10);
    for (uint32_t i = 0; i < 4; i++)
        sums[i].value = e->l->BuildExtractValue(e->b, all, i, "");
}

static void warp_ldmatrix_unit(struct emit *e, const struct kir_node *n, struct emit_slot *to) {
    LLVMValueRef p = emit_address(e, n->of, n->arg[0]);
    LLVMTypeRef t = e->l->TypeOf(p);
    if (e->launch.slab_bytes) {
        emit_fail(e, "matrices of a warp are not in shared memory");
        return;
    }
    const char *name = n->flags & KIR_T ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                        : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16";
    LLVMValueRef all = emit_intrinsic(e, name, &t, 1, &p, 1);
    for (uint32_t i = 0; i < 4; i++)
        to[i].value = e->l->BuildExtractValue(e->b, all, i, "");
}

/* ---- processors ------------------------------------------------------------------------------ */

/* Factor i of a word or of each word of a vector, in the type of the sums. */
static LLVMValueRef warp_factor(struct emit *e, LLVMValueRef words, enum kir_tile format, uint32_t i, bool without_sign) {
    LLVMTypeRef t = e->l->TypeOf(words);
    unsigned bits = 32 / kir_tile_factors(format);
    if (format == KIR_TILE_BF16) {
        words = i ? emit_bin(e, LLVMAnd, words, emit_like(e, t, 0xFFFF0000)) : emit_bin(e, LLVMShl, words, emit_like(e, t, 16));
        return emit_cast(e, LLVMBitCast, words, e->f32);
    }
    if (format == KIR_TILE_F16) {
        words = i ? emit_bin(e, LLVMLShr, words, emit_like(e, t, 16)) : words;
        return emit_fp_decode(e, FP_F16, emit_cast(e, LLVMTrunc, words, e->i16), KIR_F32);
    }
    words = emit_bin(e, LLVMShl, words, emit_like(e, t, 32 - bits * (i + 1)));
    return emit_bin(e, without_sign ? LLVMLShr : LLVMAShr, words, emit_like(e, t, 32 - bits));
}

/* Element `at` plus a constant of an array of registers, each of the 32 lanes of a warp. */
static LLVMValueRef warp_at(struct emit *e, LLVMTypeRef t, LLVMValueRef array, LLVMValueRef at, uint32_t plus) {
    LLVMValueRef index = at ? emit_bin(e, LLVMAdd, at, emit_int(e, plus)) : emit_int(e, plus);
    return e->l->BuildGEP2(e->b, t, array, &index, 1, "");
}

/* One row of sums, a vector, plus its products; lane: the first of the four lanes that hold the row. */
static LLVMValueRef warp_row(struct emit *e, LLVMValueRef sums, LLVMValueRef a, LLVMValueRef lane, LLVMValueRef *columns,
                             enum kir_tile format) {
    uint32_t factors = kir_tile_factors(format);
    for (uint32_t w = 0; w < KIR_MMA_WORDS; w++) {
        LLVMValueRef word = e->l->BuildLoad2(e->b, e->i32, warp_at(e, e->i32, a, lane, w / 4 * 2 * KIR_WARP + w % 4), "");
        for (uint32_t f = 0; f < factors; f++) {
            LLVMValueRef x = emit_splat(e, warp_factor(e, word, format, f, kir_tile_unsigned(format, 0)), KIR_MMA_COLUMNS);
            LLVMValueRef y = columns[w * factors + f];
            sums = factors == 2 ? emit_fma(e, KIR_F32, x, y, sums) : emit_bin(e, LLVMAdd, sums, emit_bin(e, LLVMMul, x, y));
        }
    }
    return sums;
}

/* void (sums, a, b): arrays of registers, each of the 32 lanes of a warp. */
static LLVMValueRef warp_mma_function(struct emit *e, enum kir_tile format, LLVMTypeRef type) {
    static const uint32_t apart[] = {0, 4, 1, 5, 2, 6, 3, 7}, together[] = {0, 2, 4, 6, 1, 3, 5, 7};
    static const struct emit_slots none = {0};
    const struct llvm *l = e->l;
    uint32_t factors = kir_tile_factors(format), every[KIR_MMA_COLUMNS];
    LLVMTypeRef words = l->VectorType(e->i32, KIR_WARP), sum = factors == 2 ? e->f32 : e->i32, half = l->VectorType(sum, 4);
    LLVMValueRef columns[KIR_MMA_WORDS * 4], outer = e->fn;
    LLVMBasicBlockRef at = l->GetInsertBlock(e->b);
    char name[32]; /* no kernel has it: theirs are identifiers of C */
    snprintf(name, sizeof name, "mma.%s", kir_tile_name(format));
    LLVMValueRef fn = l->GetNamedFunction(e->module, name);
    if (fn)
        return fn;
    fn = e->fn = l->AddFunction(e->module, name, type);
    l->SetLinkage(fn, LLVMInternalLinkage);
    l->PositionBuilderAtEnd(e->b, emit_new_block(e, "entry"));
    for (uint32_t w = 0; w < KIR_MMA_WORDS; w++) { /* word w of the columns, of which each is in four lanes */
        LLVMValueRef all = l->BuildLoad2(e->b, words, warp_at(e, words, l->GetParam(fn, 2), NULL, w / 4), "");
        for (uint32_t i = 0; i < KIR_MMA_COLUMNS; i++)
            every[i] = 4 * i + w % 4;
        all = emit_shuffle(e, all, l->GetPoison(words), every, KIR_MMA_COLUMNS);
        for (uint32_t f = 0; f < factors; f++)
            columns[w * factors + f] = warp_factor(e, all, format, f, kir_tile_unsigned(format, 1));
    }
    struct emit_loop loop;
    LLVMValueRef row = emit_loop_begin(e, &loop, emit_int(e, 0), emit_int(e, KIR_WARP), 4, false, (kir_val){0}, &none);
    for (uint32_t i = 0; i < 2; i++) { /* rows 0 to 7, 8 to 15; even and odd columns are in different registers */
        LLVMValueRef a = warp_at(e, e->i32, l->GetParam(fn, 1), NULL, i * KIR_WARP), parts[2], p[2];
        for (uint32_t odd = 0; odd < 2; odd++) {
            p[odd] = warp_at(e, sum, l->GetParam(fn, 0), row, (2 * i + odd) * KIR_WARP);
            parts[odd] = l->BuildLoad2(e->b, half, p[odd], "");
        }
        LLVMValueRef sums = emit_shuffle(e, parts[0], parts[1], apart, KIR_MMA_COLUMNS);
        sums = warp_row(e, sums, a, row, columns, format);
        sums = emit_shuffle(e, sums, l->GetPoison(l->TypeOf(sums)), together, KIR_MMA_COLUMNS);
        for (uint32_t odd = 0; odd < 2; odd++)
            l->BuildStore(e->b, emit_half(e, sums, odd), p[odd]);
    }
    emit_loop_end(e, &loop);
    l->BuildRetVoid(e->b);
    e->fn = outer;
    l->PositionBuilderAtEnd(e->b, at);
    return fn;
}

/* Memory of the function for four registers of a warp. */
static LLVMValueRef warp_memory(struct emit *e, LLVMTypeRef t) {
    const struct llvm *l = e->l;
    LLVMBasicBlockRef at = l->GetInsertBlock(e->b);
    l->PositionBuilderBefore(e->b, l->GetFirstInstruction(l->GetEntryBasicBlock(e->fn)));
    LLVMValueRef memory = l->BuildAlloca(e->b, l->ArrayType(t, 4), "");
    l->PositionBuilderAtEnd(e->b, at);
    return memory;
}

static LLVMValueRef warp_part(struct emit *e, LLVMValueRef v, uint32_t warp) {
    uint32_t lanes[KIR_WARP];
    for (uint32_t l = 0; l < KIR_WARP; l++)
        lanes[l] = KIR_WARP * warp + l;
    return emit_shuffle(e, v, e->l->GetPoison(e->l->TypeOf(v)), lanes, KIR_WARP);
}

/* One warp after the other. */
static void warp_mma(struct emit *e, const struct kir_node *n) {
    const struct llvm *l = e->l;
    LLVMTypeRef params[] = {e->ptr, e->ptr, e->ptr}, type = l->FunctionType(l->VoidTypeInContext(e->context), params, 3, false);
    LLVMTypeRef words = l->VectorType(e->i32, KIR_WARP), sum = l->VectorType(e->f32, KIR_WARP);
    LLVMTypeRef lanes[3] = {kir_tile_factors((enum kir_tile)n->sub) == 2 ? sum : words, words, words};
    LLVMValueRef fn = warp_mma_function(e, (enum kir_tile)n->sub, type), memory[3], *out[4];
    struct emit_slot *sums = warp_slots(e, n, 0);
    uint32_t warps = e->width / KIR_WARP;
    for (int p = 0; p < 3; p++) {
        if (!e->warp_memory[p])
            e->warp_memory[p] = warp_memory(e, lanes[p]);
        memory[p] = e->warp_memory[p];
    }
    for (uint32_t i = 0; i < 4; i++)
        out[i] = ARENA_ARRAY(&e->arena, LLVMValueRef, warps);
    for (uint32_t w = 0; w < warps; w++) {
        for (int p = 0; p < 3; p++)
            for (uint32_t i = 0; i < (p == 2 ? 2U : 4U); i++) {
                LLVMValueRef part = warp_part(e, warp_slots(e, n, p)[i].value, w);
                l->BuildStore(e->b, part, warp_at(e, lanes[p], memory[p], NULL, i));
            }
        l->BuildCall2(e->b, type, fn, memory, 3, "");
        for (uint32_t i = 0; i < 4; i++)
            out[i][w] = l->BuildLoad2(e->b, lanes[0], warp_at(e, lanes[0], memory[0], NULL, i), "");
    }
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t parts = warps; parts > 1; parts /= 2)
            for (uint32_t w = 0; w < parts / 2; w++)
                out[i][w] = emit_join(e, out[i][2 * w], out[i][2 * w + 1]);
        sums[i].value = out[i][0];
    }
}

/* The elements of 32 bits at byte `offset` (of each lane) of the rows that lanes `from` name. */
static LLVMValueRef warp_gather(struct emit *e, LLVMValueRef rows, const uint32_t *from, const uint32_t *offset) {
    LLVMTypeRef overloads[] = {e->l->VectorType(e->i32, e->width), e->l->TypeOf(rows)};
    LLVMValueRef *at = ARENA_ARRAY(&e->arena, LLVMValueRef, e->width);
    for (uint32_t i = 0; i < e->width; i++)
        at[i] = emit_int(e, offset[i]);
    LLVMValueRef p = emit_shuffle(e, rows, e->l->GetPoison(e->l->TypeOf(rows)), from, e->width);
    LLVMValueRef index = e->l->ConstVector(at, e->width), all = emit_like(e, e->l->VectorType(e->i1, e->width), 1);
    p = e->l->BuildGEP2(e->b, e->i8, p, &index, 1, "");
    LLVMValueRef args[] = {p, warp_word(e, 4), all, e->l->ConstNull(overloads[0])};
    return emit_intrinsic(e, "llvm.masked.gather", overloads, 2, args, 4);
}

static void warp_ldmatrix(struct emit *e, const struct kir_node *n, struct emit_slot *to) {
    LLVMValueRef rows = emit_element_addresses(e, n->of, n->arg[0]);
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, e->width), *offset = ARENA_ARRAY(&e->arena, uint32_t, e->width);
    LLVMValueRef *shift = ARENA_ARRAY(&e->arena, LLVMValueRef, e->width);
    for (uint32_t i = 0; i < 4; i++) {
        LLVMValueRef parts[2];
        for (uint32_t half = 0; half < (n->flags & KIR_T ? 2U : 1U); half++) {
            for (uint32_t l = 0; l < e->width; l++) {
                uint32_t lane = l % KIR_WARP, row = n->flags & KIR_T ? 2 * (lane % 4) + half : lane / 4;
                from[l] = l - lane + 8 * i + row;
                offset[l] = n->flags & KIR_T ? lane / 8 * 4 : 4 * (lane % 4);
                shift[l] = warp_word(e, lane / 4 % 2 * 16);
            }
            parts[half] = warp_gather(e, rows, from, offset);
        }
        if (n->flags & KIR_T) { /* the half of each word that is of the lane's column */
            LLVMValueRef by = e->l->ConstVector(shift, e->width);
            LLVMTypeRef t = e->l->TypeOf(by);
            parts[0] = emit_bin(e, LLVMAnd, emit_bin(e, LLVMLShr, parts[0], by), emit_like(e, t, 0xFFFF));
            parts[1] = emit_bin(e, LLVMShl, emit_bin(e, LLVMLShr, parts[1], by), emit_like(e, t, 16));
            parts[0] = emit_bin(e, LLVMOr, parts[0], parts[1]);
        }
        to[i].value = parts[0];
    }
}

void emit_warp(struct emit *e, const struct kir_node *n) {
    bool whole = e->blocks ? e->in_vector && !e->mask : e->width && e->width % KIR_WARP == 0 && !e->mask;
    if (!whole) {
        emit_fail(e, "a warp is not complete");
        return;
    }
    if (n->op == KIR_MMA) {
        (e->blocks ? warp_mma_unit : warp_mma)(e, n);
        return;
    }
    struct emit_slot *to = &e->slots[e->nodes[n->arg[1].i].slot + (uint32_t)n->imm];
    (e->blocks ? warp_ldmatrix_unit : warp_ldmatrix)(e, n, to);
}
