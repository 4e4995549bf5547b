/* Kernels for GPUs: an iteration of the GRID loop is a thread block, lane l of a VECTOR loop is thread l, a buffer of scratch
 * lies in shared memory.
 *
 * What is outside of VECTOR loops is computed by all threads alike; its stores by thread 0. Inside of one, a thread's values
 * are scalars, so that the rest of the emitter serves as for code without lanes. Statements are in order by definition;
 * barriers are placed where one thread uses what another may have stored, or stores what another may still read. */
#include "codegen/emit.h"

#include "kir/node.h"

enum {
    WARP = 32,
    STATIC_SHARED = 48 << 10, /* bytes of shared memory that a kernel may declare; more takes an attribute at launch */
    SPACE_GLOBAL = 1,
    SPACE_SHARED = 3,
    PTX_KERNEL = 71 /* calling convention of entry points */
};

/* ---- threads --------------------------------------------------------------------------------- */

static LLVMValueRef block_register(struct emit *e, const char *name) {
    return emit_cast(e, LLVMZExt, emit_intrinsic(e, name, NULL, 0, NULL, 0), e->i64);
}

static void block_barrier(struct emit *e) {
    emit_intrinsic(e, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
}

/* The widest VECTOR loop below a block, and at least a warp. */
static uint32_t block_threads(const struct kir *k, kir_block b, uint32_t most) {
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        if (n->op == KIR_LOOP && n->sub == KIR_VECTOR && n->width > most)
            most = n->width;
        if (n->body.i)
            most = block_threads(k, n->body, most);
        if (n->other.i)
            most = block_threads(k, n->other, most);
    }
    return most;
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* What happened to each buffer since the last barrier. */
enum { USE_READ = 1, USE_ONE = 2, USE_LANES = 4 }; /* read by any thread; stored by thread 0; stored by threads of a loop */

struct barriers {
    const struct kir *k;
    bool *before; /* by node */
    uint32_t n;   /* buffers, and one for the area of reductions */
};

/* Uses of buffers in a VECTOR loop; true when it reduces. */
static bool loop_uses(const struct barriers *s, kir_block body, kir_block b, uint8_t *uses) {
    bool reduces = false;
    for (kir_val v = kir_block_get(s->k, b)->first; emit_is(v); v = kir_get(s->k, v)->next) {
        const struct kir_node *n = kir_get(s->k, v);
        if (n->op == KIR_LOAD)
            uses[n->of] |= USE_READ;
        if (n->op == KIR_STORE)
            uses[n->of] |= USE_LANES;
        reduces |= n->op == KIR_ACC && !kir_block_within(s->k, s->k->nodes.v[n->of].block, body);
        if (n->body.i)
            reduces |= loop_uses(s, body, n->body, uses);
        if (n->other.i)
            reduces |= loop_uses(s, body, n->other, uses);
    }
    return reduces;
}

/* True when one of the uses has to wait for what was done since the last barrier. */
static bool must_wait(const struct barriers *s, const uint8_t *uses, const uint8_t *since) {
    for (uint32_t i = 0; i < s->n; i++) {
        bool lanes = uses[i] & USE_LANES, one = uses[i] & USE_ONE, reads = uses[i] & USE_READ;
        if (lanes && since[i])
            return true;
        if ((reads && (since[i] & (USE_ONE | USE_LANES))) || (one && (since[i] & (USE_READ | USE_LANES))))
            return true;
    }
    return false;
}

static void barriers_use(struct barriers *s, kir_val v, const uint8_t *uses, uint8_t *since) {
    if (must_wait(s, uses, since)) {
        s->before[v.i] = true;
        memset(since, 0, s->n);
    }
    for (uint32_t i = 0; i < s->n; i++)
        since[i] |= uses[i];
}

static void barriers_block(struct barriers *s, struct arena *a, kir_block b, uint8_t *since);

static void barriers_node(struct barriers *s, struct arena *a, kir_val v, uint8_t *since) {
    const struct kir_node *n = kir_get(s->k, v);
    uint8_t *uses = ARENA_ARRAY(a, uint8_t, s->n);
    if (n->op == KIR_LOAD || n->op == KIR_STORE) {
        uses[n->of] = n->op == KIR_LOAD ? USE_READ : USE_ONE;
        barriers_use(s, v, uses, since);
    } else if (n->op == KIR_LOOP && n->sub == KIR_VECTOR) {
        bool reduces = loop_uses(s, n->body, n->body, uses);
        uses[s->n - 1] = reduces ? USE_LANES : 0;
        barriers_use(s, v, uses, since);
        if (reduces) { /* its last barrier comes before all threads read the result */
            memset(since, 0, s->n);
            since[s->n - 1] = USE_READ;
        }
    } else if (n->op == KIR_IF) {
        memcpy(uses, since, s->n);
        barriers_block(s, a, n->body, since);
        if (n->other.i)
            barriers_block(s, a, n->other, uses);
        for (uint32_t i = 0; i < s->n; i++)
            since[i] |= uses[i];
    } else if (n->op == KIR_WHILE || (n->op == KIR_LOOP && n->sub != KIR_GRID)) {
        for (int round = 0; round < 2; round++) { /* an iteration follows another one, or what is before the loop */
            memcpy(uses, since, s->n);
            if (n->other.i)
                barriers_block(s, a, n->other, since);
            barriers_block(s, a, n->body, since);
            for (uint32_t i = 0; i < s->n; i++)
                since[i] |= uses[i];
        }
    } else if (n->op == KIR_LOOP) {
        barriers_block(s, a, n->body, since);
    }
}

static void barriers_block(struct barriers *s, struct arena *a, kir_block b, uint8_t *since) {
    for (kir_val v = kir_block_get(s->k, b)->first; emit_is(v); v = kir_get(s->k, v)->next)
        barriers_node(s, a, v, since);
}

void emit_block_prepare(struct emit *e) {
    struct barriers s = {.k = e->k, .n = e->k->buffers.n + 1};
    e->threads = block_threads(e->k, (kir_block){1}, WARP);
    e->barriers = s.before = ARENA_ARRAY(&e->arena, bool, e->k->nodes.n);
    barriers_block(&s, &e->arena, (kir_block){1}, ARENA_ARRAY(&e->arena, uint8_t, s.n));
}

void emit_block_barrier(struct emit *e, kir_val v) {
    if (e->barriers[v.i])
        block_barrier(e);
}

/* ---- the function ---------------------------------------------------------------------------- */

static LLVMValueRef block_shared(struct emit *e, const char *name, LLVMTypeRef t) {
    LLVMValueRef g = e->l->AddGlobalInAddressSpace(e->module, t, name, SPACE_SHARED);
    e->l->SetInitializer(g, e->l->GetUndef(t));
    e->l->SetLinkage(g, LLVMInternalLinkage);
    e->l->SetAlignment(g, 64);
    return g;
}

static void block_annotate(struct emit *e, const char *name, uint32_t value) {
    const struct llvm *l = e->l;
    LLVMMetadataRef parts[] = {l->ValueAsMetadata(e->fn), l->MDStringInContext2(e->context, name, strlen(name)),
                               l->ValueAsMetadata(l->ConstInt(e->i32, value, false))};
    l->AddNamedMetadataOperand(e->module, "nvvm.annotations",
                               l->MetadataAsValue(e->context, l->MDNodeInContext2(e->context, parts, 3)));
}

/* A pointer to each parameter and, last, to scratch memory for each block, where it does not fit shared memory. */
void emit_block_function(struct emit *e) {
    const struct llvm *l = e->l;
    const struct kir *k = e->k;
    uint32_t nparams = kir_param_count(k);
    bool slab = k->scratch_bytes > STATIC_SHARED - e->threads * sizeof(uint64_t);
    LLVMTypeRef *params = ARENA_ARRAY(&e->arena, LLVMTypeRef, nparams + 1);
    LLVMTypeRef global = l->PointerTypeInContext(e->context, SPACE_GLOBAL), nothing = l->VoidTypeInContext(e->context);
    for (uint32_t i = 0; i <= nparams; i++)
        params[i] = global;
    e->fn = l->AddFunction(e->module, k->name, l->FunctionType(nothing, params, nparams + slab, false));
    l->SetFunctionCallConv(e->fn, PTX_KERNEL);
    block_annotate(e, "reqntidx", e->threads);
    l->PositionBuilderAtEnd(e->b, emit_new_block(e, "entry"));
    e->thread = block_register(e, "llvm.nvvm.read.ptx.sreg.tid.x");
    e->block_area = block_shared(e, "reduction", l->ArrayType(e->i64, e->threads));
    LLVMValueRef scratch = NULL;
    if (slab) {
        LLVMValueRef block = block_register(e, "llvm.nvvm.read.ptx.sreg.ctaid.x");
        LLVMValueRef at = emit_bin(e, LLVMMul, block, emit_int(e, (int64_t)k->scratch_bytes));
        scratch = l->BuildGEP2(e->b, e->i8, l->GetParam(e->fn, nparams), &at, 1, "");
    } else if (k->scratch_bytes) {
        scratch = block_shared(e, "scratch", l->ArrayType(e->i8, (unsigned)k->scratch_bytes));
    }
    e->buffers = ARENA_ARRAY(&e->arena, LLVMValueRef, k->buffers.n + 1);
    for (uint32_t i = 0, param = 0; i < k->buffers.n; i++) {
        LLVMValueRef at = emit_int(e, (int64_t)k->buffers.v[i].offset);
        e->buffers[i] = k->buffers.v[i].role == KIR_SCRATCH ? l->BuildGEP2(e->b, e->i8, scratch, &at, 1, "")
                                                            : l->GetParam(e->fn, param++);
    }
}

/* One block for each iteration. */
void emit_block_grid(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    if (kir_grid_extent(e->k) > INT32_MAX)
        emit_fail(e, "more iterations than a GPU has blocks");
    e->nodes[v.i].value = block_register(e, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    emit_block(e, n->body);
}

/* ---- VECTOR loops ---------------------------------------------------------------------------- */

/* In memory, i1 takes a byte. Lanes are side by side, which keeps the banks of shared memory free of conflicts. */
static LLVMTypeRef block_kept_type(const struct emit *e, enum kir_type t) {
    return t == KIR_I1 ? e->i8 : emit_scalar_type(e, t);
}

static LLVMValueRef block_slot(struct emit *e, enum kir_type t, LLVMValueRef thread) {
    return e->l->BuildGEP2(e->b, block_kept_type(e, t), e->block_area, &thread, 1, "");
}

static void block_put(struct emit *e, LLVMValueRef v, enum kir_type t, LLVMValueRef slot) {
    e->l->BuildStore(e->b, t == KIR_I1 ? emit_cast(e, LLVMZExt, v, e->i8) : v, slot);
}

static LLVMValueRef block_take(struct emit *e, enum kir_type t, LLVMValueRef slot) {
    LLVMValueRef v = e->l->BuildLoad2(e->b, block_kept_type(e, t), slot, "");
    return t == KIR_I1 ? emit_cast(e, LLVMTrunc, v, e->i1) : v;
}

/* Lane l with lane l + half, until one is left, which all threads get. */
static LLVMValueRef block_reduce(struct emit *e, const struct kir_node *acc, enum kir_type t, LLVMValueRef v, uint32_t width) {
    static const struct emit_slots none = {0};
    struct emit_branch f;
    LLVMValueRef mine = block_slot(e, t, e->thread);
    block_put(e, v, t, mine);
    for (uint32_t half = width / 2; half; half /= 2) {
        block_barrier(e);
        emit_branch_begin(e, &f, emit_icmp(e, LLVMIntULT, e->thread, emit_int(e, half)), false, &none);
        LLVMValueRef other = block_slot(e, t, emit_bin(e, LLVMAdd, e->thread, emit_int(e, half)));
        LLVMValueRef a = block_take(e, t, mine), b = block_take(e, t, other);
        block_put(e, emit_binary(e, (enum kir_op)acc->sub, acc->flags, t, a, b), t, mine);
        emit_branch_end(e, &f);
    }
    block_barrier(e);
    return block_take(e, t, block_slot(e, t, emit_int(e, 0)));
}

static void block_reduce_all(struct emit *e, const struct emit_slots *changes, const struct emit_slot *outside,
                             uint32_t width) {
    bool again = false; /* the area was read */
    for (uint32_t i = 0; i < changes->n && e->status == HILO_OK; i++) {
        uint32_t slot = changes->v[i];
        const struct kir_node *acc = e->accs[slot];
        if (!acc)
            continue;
        if (again)
            block_barrier(e);
        again = true;
        enum kir_type t = (enum kir_type)e->k->nodes.v[acc->of].type;
        LLVMValueRef all = block_reduce(e, acc, t, e->slots[slot].value, width);
        e->slots[slot].value = emit_binary(e, (enum kir_op)acc->sub, acc->flags, t, outside[i].value, all);
        e->accs[slot] = NULL;
    }
}

static bool block_votes(const struct kir *k, kir_block b) {
    bool found = false;
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v) && !found; v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        found = n->op == KIR_ANY || (n->body.i && block_votes(k, n->body)) || (n->other.i && block_votes(k, n->other));
    }
    return found;
}

LLVMValueRef emit_block_any(struct emit *e, LLVMValueRef v) {
    LLVMValueRef arg = emit_cast(e, LLVMZExt, e->mask ? emit_bin(e, LLVMAnd, v, e->mask) : v, e->i32);
    LLVMValueRef any = emit_intrinsic(e, "llvm.nvvm.barrier0.or", NULL, 0, &arg, 1);
    return emit_icmp(e, LLVMIntNE, any, emit_like(e, e->i32, 0));
}

/* Threads without an iteration leave the loop early; where lanes vote, they stay, at the index of lane 0, and access no
   memory. */
void emit_block_vector(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    const struct emit_slots *changes = e->nodes[v.i].changes;
    struct emit_loop f;
    if (e->in_vector) {
        emit_fail(e, "a VECTOR loop inside of another");
        return;
    }
    LLVMValueRef end = emit_is(n->arg[0]) ? emit_scalar(e, n->arg[0]) : emit_int(e, n->imm);
    LLVMValueRef active = e->threads > n->width ? emit_icmp(e, LLVMIntULT, e->thread, emit_int(e, n->width)) : NULL;
    struct emit_slot *outside = ARENA_ARRAY(&e->arena, struct emit_slot, changes->n + 1);
    for (uint32_t i = 0; i < changes->n; i++)
        outside[i] = e->slots[changes->v[i]];
    e->in_vector = true;
    emit_vector_accumulators(e, n->body);
    if (block_votes(e->k, n->body)) {
        LLVMValueRef base = emit_loop_begin(e, &f, emit_int(e, 0), end, n->width, true, changes);
        LLVMValueRef index = emit_bin(e, LLVMAdd, base, e->thread);
        e->mask = emit_icmp(e, LLVMIntSLT, index, end);
        if (active)
            e->mask = emit_bin(e, LLVMAnd, e->mask, active);
        e->nodes[v.i].value = emit_select(e, e->mask, index, base);
    } else {
        LLVMValueRef start = active ? emit_select(e, active, e->thread, end) : e->thread;
        e->nodes[v.i].value = emit_loop_begin(e, &f, start, end, n->width, true, changes);
    }
    emit_block(e, n->body);
    emit_loop_end(e, &f);
    e->mask = NULL;
    e->in_vector = false;
    block_reduce_all(e, changes, outside, n->width);
}
