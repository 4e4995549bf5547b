/* Functions, blocks, branches, loops, registers. */
#include "codegen/emit.h"

#include "kir/node.h"

void emit_fail(struct emit *e, const char *what) {
    if (e->status == HILO_OK)
        e->status = diag_error(e->d, HILO_INTERNAL, "kernel '%s': %s", e->k->name, what);
}

void emit_unsupported(struct emit *e, const char *what) {
    if (e->status == HILO_OK)
        e->status = diag_error(e->d, HILO_UNIMPLEMENTED, "kernel '%s': %s", e->k->name, what);
}

LLVMBasicBlockRef emit_new_block(struct emit *e, const char *name) {
    return e->l->AppendBasicBlockInContext(e->context, e->fn, name);
}

/* ---- values ---------------------------------------------------------------------------------- */

LLVMTypeRef emit_scalar_type(const struct emit *e, enum kir_type t) {
    switch (t) {
    case KIR_I1:
        return e->i1;
    case KIR_I8:
        return e->i8;
    case KIR_I16:
        return e->i16;
    case KIR_I32:
        return e->i32;
    case KIR_F32:
        return e->f32;
    case KIR_F64:
        return e->f64;
    default:
        return e->i64;
    }
}

LLVMTypeRef emit_lanes_type(const struct emit *e, LLVMTypeRef t, uint32_t lanes) {
    return lanes ? e->l->VectorType(t, lanes) : t;
}

static uint32_t emit_type_lanes(const struct emit *e, LLVMTypeRef t) {
    return e->l->GetTypeKind(t) == LLVMVectorTypeKind ? e->l->GetVectorSize(t) : 0;
}

uint32_t emit_lanes_of(const struct emit *e, LLVMValueRef v) {
    return emit_type_lanes(e, e->l->TypeOf(v));
}

LLVMValueRef emit_int(const struct emit *e, int64_t v) {
    return e->l->ConstInt(e->i64, (unsigned long long)v, true);
}

static LLVMValueRef emit_const_splat(struct emit *e, LLVMValueRef c, uint32_t lanes) {
    if (lanes == 0)
        return c;
    LLVMValueRef *all = ARENA_ARRAY(&e->arena, LLVMValueRef, lanes);
    for (uint32_t i = 0; i < lanes; i++)
        all[i] = c;
    return e->l->ConstVector(all, lanes);
}

LLVMValueRef emit_like(struct emit *e, LLVMTypeRef like, uint64_t bits) {
    uint32_t lanes = emit_type_lanes(e, like);
    LLVMTypeRef t = lanes ? e->l->GetElementType(like) : like;
    LLVMValueRef c;
    switch (e->l->GetTypeKind(t)) {
    case LLVMFloatTypeKind:
        c = e->l->ConstBitCast(e->l->ConstInt(e->i32, bits & UINT32_MAX, false), t);
        break;
    case LLVMDoubleTypeKind:
        c = e->l->ConstBitCast(e->l->ConstInt(e->i64, bits, false), t);
        break;
    default: {
        unsigned width = e->l->GetIntTypeWidth(t);
        c = e->l->ConstInt(t, width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits, width > 64);
    }
    }
    return emit_const_splat(e, c, lanes);
}

LLVMValueRef emit_const(struct emit *e, enum kir_type t, int64_t bits) {
    return emit_like(e, emit_scalar_type(e, t), (uint64_t)bits);
}

LLVMValueRef emit_splat(struct emit *e, LLVMValueRef scalar, uint32_t lanes) {
    if (e->l->IsConstant(scalar))
        return emit_const_splat(e, scalar, lanes);
    LLVMTypeRef t = e->l->VectorType(e->l->TypeOf(scalar), lanes);
    LLVMValueRef one = e->l->BuildInsertElement(e->b, e->l->GetPoison(t), scalar, e->l->ConstInt(e->i32, 0, false), "");
    return e->l->BuildShuffleVector(e->b, one, e->l->GetPoison(t), e->l->ConstNull(e->l->VectorType(e->i32, lanes)), "");
}

LLVMValueRef emit_shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *lanes, uint32_t n) {
    LLVMValueRef *mask = ARENA_ARRAY(&e->arena, LLVMValueRef, n);
    for (uint32_t i = 0; i < n; i++)
        mask[i] = e->l->ConstInt(e->i32, lanes[i], false);
    return e->l->BuildShuffleVector(e->b, a, b, e->l->ConstVector(mask, n), "");
}

LLVMValueRef emit_half(struct emit *e, LLVMValueRef v, bool upper) {
    uint32_t n = emit_lanes_of(e, v) / 2, *lanes = ARENA_ARRAY(&e->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        lanes[i] = upper ? n + i : i;
    return emit_shuffle(e, v, e->l->GetPoison(e->l->TypeOf(v)), lanes, n);
}

LLVMValueRef emit_join(struct emit *e, LLVMValueRef low, LLVMValueRef high) {
    uint32_t n = 2 * emit_lanes_of(e, low), *lanes = ARENA_ARRAY(&e->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        lanes[i] = i;
    return emit_shuffle(e, low, high, lanes, n);
}

LLVMValueRef emit_intrinsic(struct emit *e, const char *name, LLVMTypeRef *overloads, unsigned noverloads, LLVMValueRef *args,
                            unsigned nargs) {
    unsigned id = e->l->LookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = e->l->GetIntrinsicDeclaration(e->module, id, overloads, noverloads);
    return e->l->BuildCall2(e->b, e->l->IntrinsicGetType(e->context, id, overloads, noverloads), fn, args, nargs, "");
}

LLVMValueRef emit_bin(struct emit *e, LLVMOpcode op, LLVMValueRef a, LLVMValueRef b) {
    return e->l->BuildBinOp(e->b, op, a, b, "");
}

LLVMValueRef emit_cast(struct emit *e, LLVMOpcode op, LLVMValueRef a, LLVMTypeRef scalar_to) {
    return e->l->BuildCast(e->b, op, a, emit_lanes_type(e, scalar_to, emit_lanes_of(e, a)), "");
}

LLVMValueRef emit_icmp(struct emit *e, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b) {
    return e->l->BuildICmp(e->b, p, a, b, "");
}

LLVMValueRef emit_select(struct emit *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
    return e->l->BuildSelect(e->b, c, a, b, "");
}

/* ---- registers ------------------------------------------------------------------------------- */

uint32_t emit_slot_of(struct emit *e, const struct kir_node *n, kir_val index) {
    const struct kir_node *reg = &e->k->nodes.v[n->of];
    LLVMValueRef i = emit_is(index) ? emit_scalar(e, index) : emit_int(e, 0);
    int64_t at = e->l->IsAConstantInt(i) ? e->l->ConstIntGetSExtValue(i) : -1;
    if (at < 0 || at >= reg->imm) {
        emit_fail(e, "a register's number is not a constant within its range");
        at = 0;
    }
    return e->nodes[n->of].slot + (uint32_t)at;
}

static void emit_reg(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_node *en = &e->nodes[v.i];
    LLVMValueRef init = emit_value(e, n->arg[0], !emit_varies(e, v));
    for (int64_t i = 0; i < n->imm; i++)
        e->slots[en->slot + (uint32_t)i] = (struct emit_slot){.value = init};
}

/* The registers of `changes` as they are now. */
static struct emit_slot *emit_now(struct emit *e, const struct emit_slots *changes) {
    struct emit_slot *now = ARENA_ARRAY(&e->arena, struct emit_slot, changes->n + 1);
    for (uint32_t i = 0; i < changes->n; i++)
        now[i] = e->slots[changes->v[i]];
    return now;
}

static void emit_put_back(struct emit *e, const struct emit_slots *changes, const struct emit_slot *values) {
    for (uint32_t i = 0; i < changes->n; i++)
        e->slots[changes->v[i]] = values[i];
}

static LLVMValueRef emit_phi(struct emit *e, LLVMValueRef like) {
    return like ? e->l->BuildPhi(e->b, e->l->TypeOf(like), "") : NULL;
}

static void emit_incoming(struct emit *e, LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from) {
    if (phi)
        e->l->AddIncoming(phi, &value, &from, 1);
}

/* A phi for each part of each register, all of the shape of `like`; values come later. */
static struct emit_slot *emit_phis(struct emit *e, const struct emit_slots *changes, const struct emit_slot *like) {
    struct emit_slot *phi = ARENA_ARRAY(&e->arena, struct emit_slot, changes->n + 1);
    for (uint32_t i = 0; i < changes->n; i++)
        phi[i] = (struct emit_slot){emit_phi(e, like[i].value), emit_phi(e, like[i].zeros), emit_phi(e, like[i].nans)};
    return phi;
}

static void emit_incomings(struct emit *e, const struct emit_slots *changes, const struct emit_slot *phi,
                           const struct emit_slot *values, LLVMBasicBlockRef from) {
    for (uint32_t i = 0; i < changes->n; i++) {
        emit_incoming(e, phi[i].value, values[i].value, from);
        emit_incoming(e, phi[i].zeros, values[i].zeros, from);
        emit_incoming(e, phi[i].nans, values[i].nans, from);
    }
}

/* ---- loops, branches ------------------------------------------------------------------------- */

LLVMValueRef emit_loop_begin(struct emit *e, struct emit_loop *f, LLVMValueRef start, LLVMValueRef end, int64_t step,
                             bool guarded, kir_val loop, const struct emit_slots *changes) {
    const struct llvm *l = e->l;
    *f = (struct emit_loop){.before = l->GetInsertBlock(e->b),
                            .head = emit_new_block(e, "loop"),
                            .after = emit_new_block(e, "end"),
                            .start = start,
                            .end = end,
                            .loop = loop,
                            .around = e->innermost,
                            .step = l->ConstInt(l->TypeOf(start), (uint64_t)step, true),
                            .guarded = guarded,
                            .changes = changes};
    bool innermost = emit_is(loop) && !e->blocks && !emit_has_loop(e, kir_get(e->k, loop)->body);
    e->innermost = innermost ? f : NULL;
    f->old = emit_now(e, changes);
    if (guarded)
        l->BuildCondBr(e->b, emit_icmp(e, LLVMIntSLT, start, end), f->head, f->after);
    else
        l->BuildBr(e->b, f->head);
    l->PositionBuilderAtEnd(e->b, f->head);
    f->index = l->BuildPhi(e->b, l->TypeOf(start), "");
    emit_incoming(e, f->index, start, f->before);
    f->phi = emit_phis(e, changes, f->old);
    emit_incomings(e, changes, f->phi, f->old, f->before);
    emit_put_back(e, changes, f->phi);
    return f->index;
}

void emit_loop_end(struct emit *e, struct emit_loop *f) {
    const struct llvm *l = e->l;
    LLVMValueRef next = l->BuildNSWAdd(e->b, f->index, f->step, "");
    if (!e->blocks)
        next = l->BuildFreeze(e->b, next, ""); /* see emit_address.c */
    emit_address_advance(e, f);
    e->innermost = f->around;
    LLVMBasicBlockRef last = l->GetInsertBlock(e->b);
    struct emit_slot *now = emit_now(e, f->changes);
    l->BuildCondBr(e->b, emit_icmp(e, LLVMIntSLT, next, f->end), f->head, f->after);
    emit_incoming(e, f->index, next, last);
    emit_incomings(e, f->changes, f->phi, now, last);
    l->MoveBasicBlockAfter(f->after, last);
    l->PositionBuilderAtEnd(e->b, f->after);
    if (!f->guarded)
        return;
    struct emit_slot *merged = emit_phis(e, f->changes, now);
    emit_incomings(e, f->changes, merged, f->old, f->before);
    emit_incomings(e, f->changes, merged, now, last);
    emit_put_back(e, f->changes, merged);
}

void emit_branch_begin(struct emit *e, struct emit_branch *f, LLVMValueRef condition, bool other,
                       const struct emit_slots *changes) {
    const struct llvm *l = e->l;
    LLVMBasicBlockRef body = emit_new_block(e, "then");
    *f = (struct emit_branch){.before = l->GetInsertBlock(e->b), .changes = changes};
    f->other = other ? emit_new_block(e, "else") : NULL;
    f->after = emit_new_block(e, "join");
    f->old = emit_now(e, changes);
    l->BuildCondBr(e->b, condition, body, other ? f->other : f->after);
    l->PositionBuilderAtEnd(e->b, body);
}

static void emit_branch_other(struct emit *e, struct emit_branch *f) {
    f->first = emit_now(e, f->changes);
    f->before = e->l->GetInsertBlock(e->b);
    e->l->BuildBr(e->b, f->after);
    e->l->PositionBuilderAtEnd(e->b, f->other);
    emit_put_back(e, f->changes, f->old);
}

/* Merges registers as the block before the branch, or its first arm, left them with their values now. */
void emit_branch_end(struct emit *e, struct emit_branch *f) {
    const struct llvm *l = e->l;
    struct emit_slot *now = emit_now(e, f->changes);
    LLVMBasicBlockRef last = l->GetInsertBlock(e->b);
    l->BuildBr(e->b, f->after);
    l->MoveBasicBlockAfter(f->after, last);
    l->PositionBuilderAtEnd(e->b, f->after);
    struct emit_slot *merged = emit_phis(e, f->changes, now);
    emit_incomings(e, f->changes, merged, f->other ? f->first : f->old, f->before);
    emit_incomings(e, f->changes, merged, now, last);
    emit_put_back(e, f->changes, merged);
}

static void emit_if(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_branch f;
    if (emit_varies(e, n->arg[0])) {
        emit_fail(e, "a condition differs between lanes");
        return;
    }
    emit_branch_begin(e, &f, emit_scalar(e, n->arg[0]), n->other.i != 0, e->nodes[v.i].changes);
    emit_block(e, n->body);
    if (n->other.i) {
        emit_branch_other(e, &f);
        emit_block(e, n->other);
    }
    emit_branch_end(e, &f);
}

static void emit_while(struct emit *e, kir_val v) {
    const struct llvm *l = e->l;
    const struct kir_node *n = kir_get(e->k, v);
    const struct emit_slots *changes = e->nodes[v.i].changes;
    LLVMBasicBlockRef before = l->GetInsertBlock(e->b), head = emit_new_block(e, "test"), body = emit_new_block(e, "while"),
                      after = emit_new_block(e, "end");
    struct emit_slot *old = emit_now(e, changes);
    l->BuildBr(e->b, head);
    l->PositionBuilderAtEnd(e->b, head);
    struct emit_slot *phi = emit_phis(e, changes, old);
    emit_incomings(e, changes, phi, old, before);
    emit_put_back(e, changes, phi);
    emit_block(e, n->other);
    if (e->status != HILO_OK || emit_varies(e, n->arg[0])) {
        emit_fail(e, "a condition differs between lanes");
        return;
    }
    struct emit_slot *tested = emit_now(e, changes);
    l->BuildCondBr(e->b, emit_scalar(e, n->arg[0]), body, after);
    l->MoveBasicBlockAfter(body, l->GetInsertBlock(e->b));
    l->PositionBuilderAtEnd(e->b, body);
    emit_block(e, n->body);
    LLVMBasicBlockRef last = l->GetInsertBlock(e->b);
    emit_incomings(e, changes, phi, emit_now(e, changes), last);
    l->BuildBr(e->b, head);
    l->MoveBasicBlockAfter(after, last);
    l->PositionBuilderAtEnd(e->b, after);
    emit_put_back(e, changes, tested);
}

/* A VECTOR loop without a branch back. */
static bool emit_is_one_step(const struct emit *e, const struct kir_node *n) {
    bool fixed = n->sub == KIR_VECTOR && !emit_is(n->arg[0]) && !e->blocks;
    return fixed && (n->imm == n->width || (n->imm < n->width && emit_can_mask(e, n->body)));
}

bool emit_has_loop(const struct emit *e, kir_block b) {
    for (kir_val v = kir_block_get(e->k, b)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *n = kir_get(e->k, v);
        bool loops = n->op == KIR_LOOP && n->sub != KIR_UNROLLED && !emit_is_one_step(e, n);
        if (loops || (n->body.i && emit_has_loop(e, n->body)) || (n->other.i && emit_has_loop(e, n->other)))
            return true;
    }
    return false;
}

LLVMValueRef emit_index(struct emit *e, kir_val loop, LLVMValueRef index) {
    bool opaque = e->blocks && !e->l->IsConstant(index) && emit_has_loop(e, kir_get(e->k, loop)->body);
    return opaque ? e->l->BuildFreeze(e->b, index, "") : index;
}

static void emit_counted(struct emit *e, kir_val v, LLVMValueRef start, LLVMValueRef end, bool guarded) {
    struct emit_loop f;
    if (e->nodes[v.i].narrow) {
        start = emit_cast(e, LLVMTrunc, start, e->i32);
        end = emit_cast(e, LLVMTrunc, end, e->i32);
    }
    e->nodes[v.i].value = emit_index(e, v, emit_loop_begin(e, &f, start, end, 1, guarded, v, e->nodes[v.i].changes));
    emit_block(e, kir_get(e->k, v)->body);
    emit_loop_end(e, &f);
}

static void emit_loop(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    LLVMValueRef extent = emit_is(n->arg[0]) ? emit_scalar(e, n->arg[0]) : NULL;
    if (extent && e->width && emit_varies(e, n->arg[0])) {
        emit_fail(e, "the extent of a loop differs between lanes");
        return;
    }
    switch ((enum kir_loop)n->sub) {
    case KIR_GRID:
        if (e->blocks)
            emit_block_grid(e, v);
        else
            emit_counted(e, v, e->l->GetParam(e->fn, 2), e->l->GetParam(e->fn, 3), true);
        break;
    case KIR_VECTOR:
        if (e->blocks)
            emit_block_vector(e, v);
        else
            emit_vector_loop(e, v);
        break;
    case KIR_UNROLLED:
        emit_group_begin(e, v);
        for (int64_t i = 0; i < n->imm && e->status == HILO_OK; i++) {
            e->nodes[v.i].value = emit_int(e, i);
            e->copy = i;
            emit_block(e, n->body);
        }
        break;
    default:
        if (extent || n->imm > 0)
            emit_counted(e, v, emit_int(e, 0), extent ? extent : emit_int(e, n->imm), extent != NULL);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void emit_node(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_node *en = &e->nodes[v.i];
    bool scalar = !emit_varies(e, v);
    if (e->blocks)
        emit_block_barrier(e, v);
    switch ((enum kir_op)n->op) {
    case KIR_LOOP:
        emit_loop(e, v);
        return;
    case KIR_IF:
        emit_if(e, v);
        return;
    case KIR_WHILE:
        emit_while(e, v);
        return;
    case KIR_REG:
        emit_reg(e, v);
        return;
    case KIR_SET: {
        uint32_t slot = emit_slot_of(e, n, n->arg[1]);
        bool varies = emit_varies(e, (kir_val){n->of});
        e->slots[slot].value = emit_value(e, n->arg[0], !varies);
        return;
    }
    case KIR_ACC:
        emit_acc(e, n);
        return;
    case KIR_STORE:
        emit_store(e, v);
        return;
    case KIR_PREFETCH:
        emit_prefetch(e, n);
        return;
    case KIR_LDMATRIX:
    case KIR_MMA:
        emit_warp(e, n);
        return;
    case KIR_WGMMA:
    case KIR_WGMMA_WAIT:
        emit_wgmma(e, n);
        return;
    case KIR_COPY_ASYNC:
    case KIR_COPY_COMMIT:
    case KIR_COPY_WAIT:
        emit_copy(e, n);
        return;
    case KIR_MBARRIER_EXPECT:
    case KIR_COPY_TENSOR:
    case KIR_MBARRIER_WAIT:
        emit_tensor(e, n);
        return;
    case KIR_TZERO:
    case KIR_TLOAD:
    case KIR_TSTORE:
    case KIR_TMUL:
        emit_tile(e, n);
        return;
    case KIR_GET:
        en->value = e->slots[emit_slot_of(e, n, n->arg[0])].value;
        break;
    case KIR_LOAD:
        en->value = emit_load(e, v, scalar);
        emit_loaded(e, v);
        break;
    default:
        en->value = scalar ? emit_hoisted(e, v) : NULL;
        en->hoisted = en->value != NULL;
        if (!en->value)
            en->value = emit_pure(e, v, scalar);
        break;
    }
    en->lanes[0].stamp = en->lanes[1].stamp = 0;
    if (e->width && en->as_vector && scalar)
        emit_lanes_here(e, v);
}

void emit_block(struct emit *e, kir_block b) {
    for (kir_val v = kir_block_get(e->k, b)->first; emit_is(v) && e->status == HILO_OK; v = kir_get(e->k, v)->next)
        emit_node(e, v);
}

/* ---- what changes where ---------------------------------------------------------------------- */

static void emit_note_reg(struct emit *e, struct emit_slots *found, uint32_t reg, bool *seen) {
    uint32_t n = (uint32_t)e->k->nodes.v[reg].imm, slot = e->nodes[reg].slot;
    if (seen[slot])
        return;
    seen[slot] = true;
    for (uint32_t i = 0; i < n; i++)
        found->v[found->n++] = slot + i;
}

/* Registers declared outside of `owner` that nodes below a block change. */
static void emit_find_changes(struct emit *e, kir_block owner, kir_block b, struct emit_slots *found, bool *seen) {
    const struct kir *k = e->k;
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        uint32_t reg = kir_changes(n);
        if (reg && kir_block_within(k, owner, k->nodes.v[reg].block))
            emit_note_reg(e, found, reg, seen);
        if (n->body.i)
            emit_find_changes(e, owner, n->body, found, seen);
        if (n->other.i)
            emit_find_changes(e, owner, n->other, found, seen);
    }
}

static const struct emit_slots *emit_changes(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_slots *found = ARENA_NEW(&e->arena, struct emit_slots);
    bool *seen = ARENA_ARRAY(&e->arena, bool, e->nslots + 1);
    found->v = ARENA_ARRAY(&e->arena, uint32_t, e->nslots + 1);
    if (n->body.i)
        emit_find_changes(e, n->block, n->body, found, seen);
    if (n->other.i)
        emit_find_changes(e, n->block, n->other, found, seen);
    return found;
}

/* Numbers registers, notes what the kernel needs. */
static void emit_survey(struct emit *e, kir_block b) {
    for (kir_val v = kir_block_get(e->k, b)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *n = kir_get(e->k, v);
        if (n->op == KIR_REG) {
            e->nodes[v.i].slot = e->nslots;
            if (n->imm < 0 || n->imm > KIR_MOST_REGISTERS || e->nslots > 1 << 20)
                emit_fail(e, "too many registers");
            else
                e->nslots += (uint32_t)n->imm;
        }
        e->unrolls |= n->op == KIR_LOOP && n->sub == KIR_UNROLLED;
        e->nvectors += n->op == KIR_LOOP && n->sub == KIR_VECTOR;
        e->tiles |= n->op == KIR_TZERO || n->op == KIR_TLOAD;
        e->swizzles |= n->op == KIR_WGMMA || n->op == KIR_COPY_TENSOR;
        if (n->body.i)
            emit_survey(e, n->body);
        if (n->other.i)
            emit_survey(e, n->other);
    }
}

static void emit_prepare(struct emit *e, kir_block b) {
    for (kir_val v = kir_block_get(e->k, b)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *n = kir_get(e->k, v);
        if (n->body.i || n->other.i)
            e->nodes[v.i].changes = emit_changes(e, v);
        if (n->op == KIR_LOOP && n->sub == KIR_VECTOR && !e->blocks)
            emit_classify(e, v);
        if (n->body.i)
            emit_prepare(e, n->body);
        if (n->other.i)
            emit_prepare(e, n->other);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void emit_attribute(struct emit *e, const char *name, const char *value) {
    LLVMAttributeRef a = e->l->CreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    e->l->AddAttributeAtIndex(e->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void emit_function(struct emit *e) {
    const struct llvm *l = e->l;
    LLVMTypeRef params[] = {e->ptr, e->ptr, e->i64, e->i64};
    LLVMTypeRef type = l->FunctionType(l->VoidTypeInContext(e->context), params, 4, false);
    e->fn = l->AddFunction(e->module, e->k->name, type);
    unsigned nounwind = l->GetEnumAttributeKindForName("nounwind", strlen("nounwind"));
    l->AddAttributeAtIndex(e->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           l->CreateEnumAttribute(e->context, nounwind, 0));
    emit_attribute(e, "no-builtins", "");
    emit_attribute(e, "prefer-vector-width", "512"); /* else the tuning for a processor may split explicit vectors in halves */
    emit_attribute(e, "min-legal-vector-width", "512");
    if (e->t->tune)
        emit_attribute(e, "tune-cpu", e->t->tune);
    l->PositionBuilderAtEnd(e->b, emit_new_block(e, "entry"));
}

/* Without a grid there is one iteration, or none. */
static void emit_return_at_once(struct emit *e) {
    const struct llvm *l = e->l;
    LLVMBasicBlockRef body = emit_new_block(e, "body"), none = emit_new_block(e, "none");
    l->BuildCondBr(e->b, emit_icmp(e, LLVMIntSLT, l->GetParam(e->fn, 2), l->GetParam(e->fn, 3)), body, none);
    l->PositionBuilderAtEnd(e->b, none);
    l->BuildRetVoid(e->b);
    l->PositionBuilderAtEnd(e->b, body);
}

/* The address of each buffer, loaded once. */
static void emit_buffers(struct emit *e) {
    const struct llvm *l = e->l;
    e->buffers = ARENA_ARRAY(&e->arena, LLVMValueRef, e->k->buffers.n + 1);
    for (uint32_t i = 0, param = 0; i < e->k->buffers.n; i++) {
        const struct kir_buffer *b = &e->k->buffers.v[i];
        bool scratch = b->role == KIR_SCRATCH;
        LLVMValueRef at = emit_int(e, scratch ? (int64_t)b->offset : (int64_t)param++);
        LLVMValueRef p = l->BuildGEP2(e->b, scratch ? e->i8 : e->ptr, l->GetParam(e->fn, scratch), &at, 1, "");
        e->buffers[i] = p;
        if (scratch)
            continue;
        e->buffers[i] = l->BuildLoad2(e->b, e->ptr, p, "");
        l->SetMetadata(e->buffers[i], e->md_invariant, e->md_none);
    }
}

void emit_kernel(struct emit *e, const struct kir *k) {
    e->k = k;
    e->nslots = e->nvectors = e->width = 0;
    e->tiles = e->streams = e->swizzles = false;
    e->masked_access_dummy = NULL;
    e->innermost = NULL;
    memset(e->warp_memory, 0, sizeof e->warp_memory);
    if (e->l->GetNamedFunction(e->module, k->name)) {
        emit_fail(e, "another kernel has this name");
        return;
    }
    e->nodes = ARENA_ARRAY(&e->arena, struct emit_node, k->nodes.n);
    emit_survey(e, (kir_block){1});
    if (e->status != HILO_OK)
        return;
    e->slots = ARENA_ARRAY(&e->arena, struct emit_slot, e->nslots + 1);
    e->accs = ARENA_ARRAY(&e->arena, const struct kir_node *, e->nslots + 1);
    emit_prepare(e, (kir_block){1});
    if (e->status != HILO_OK)
        return;
    if (e->blocks) {
        emit_block_prepare(e);
        emit_block_function(e);
    } else {
        emit_function(e);
        if (!emit_is(kir_grid(k)))
            emit_return_at_once(e);
        emit_buffers(e);
    }
    if (e->tiles)
        emit_tile_config(e);
    emit_block(e, (kir_block){1});
    if (e->tiles)
        emit_intrinsic(e, "llvm.x86.tilerelease", NULL, 0, NULL, 0);
    if (e->streams && e->t->isa == TARGET_X86_64) /* the release that publishes results does not order non-temporal stores */
        emit_intrinsic(e, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    e->l->BuildRetVoid(e->b);
}
