/* Kernels for GPUs: an iteration of the GRID loop is a thread block, lane l of a VECTOR loop is thread l, a buffer of scratch
 * lies in shared memory.
 *
 * What is outside of VECTOR loops is computed by all threads alike; its stores by thread 0. Inside of one, a thread's values
 * are scalars, so that the rest of the emitter serves as for code without lanes. Statements are in order by definition;
 * barriers are placed where one thread uses what another may have stored, or stores what another may still read. */
#include "codegen/emit.h"

#include "kir/node.h"

enum {
    SPACE_GLOBAL = 1,
    SPACE_SHARED = 3,
    PTX_KERNEL = 71 /* calling convention of entry points */
};

/* ---- threads --------------------------------------------------------------------------------- */

static LLVMValueRef block_register(struct emit *e, const char *name) {
    return emit_intrinsic(e, name, NULL, 0, NULL, 0);
}

void emit_block_sync(struct emit *e) {
    if (e->fences)
        emit_wgmma_fence(e);
    emit_intrinsic(e, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
}

static LLVMValueRef block_i32(const struct emit *e, uint32_t v) {
    return e->l->ConstInt(e->i32, v, false);
}

/* A number of threads or blocks as an index, which is of 32 bits where the loop's index fits them. */
static LLVMTypeRef block_index_type(const struct emit *e, kir_val loop) {
    return e->nodes[loop.i].narrow ? e->i32 : e->i64;
}
static LLVMValueRef block_as_index(struct emit *e, kir_val loop, LLVMValueRef v) {
    return e->nodes[loop.i].narrow ? v : emit_cast(e, LLVMZExt, v, e->i64);
}

/* Whether the index of a loop is computed in 32 bits, also after its last step. */
static bool block_loop_fits(const struct emit *e, const struct kir_node *n) {
    int64_t step = n->sub == KIR_VECTOR ? n->width : n->sub == KIR_GRID ? e->launch.blocks : 1;
    bool fits = n->lo >= 0 && n->hi <= INT32_MAX - step;
    return fits && n->sub != KIR_UNROLLED && (!emit_is(n->arg[0]) || emit_fits(e, n->arg[0]));
}

/* ---- barriers -------------------------------------------------------------------------------- */

/* What happened to each buffer since the last barrier: read by any thread; stored by thread 0; stored by threads of a loop.
   What nodes in such a loop do besides: begin copies to it; wait for copies, which then count as stored there. */
enum { USE_READ = 1, USE_ONE = 2, USE_LANES = 4, USE_COPY = 8, USE_WAIT = 16 };

struct barriers {
    const struct kir *k;
    bool *before; /* by node */
    bool *copied, *factors; /* by buffer: there are copies to it; WGMMA reads it */
    uint32_t n;   /* buffers, and one for the area of reductions */
    uint32_t threads;
    bool one_warp; /* reductions need no area */
    bool strides;  /* a block computes several iterations of the grid */
};

/* Adds how lanes use memory in a node. Each thread waits for boxes itself; an mbarrier has its next phase when all have. */
static void node_uses(const struct barriers *s, const struct kir_node *n, uint8_t *uses) {
    if (n->op == KIR_LOAD || n->op == KIR_LDMATRIX)
        uses[n->of] |= USE_READ;
    for (int i = 0; i < 2 && n->op == KIR_WGMMA; i++)
        uses[kir_wgmma_buffer(n, i)] |= USE_READ;
    if (n->op == KIR_STORE)
        uses[n->of] |= USE_LANES;
    if (n->op == KIR_COPY_TENSOR || n->op == KIR_MBARRIER_EXPECT)
        uses[n->of] |= USE_COPY;
    if (n->op == KIR_MBARRIER_WAIT)
        uses[n->of] |= USE_READ;
    if (n->op == KIR_COPY_ASYNC) {
        uses[n->of] |= USE_COPY;
        uses[kir_copy_from(n)] |= USE_READ;
    }
    for (uint32_t i = 0; i + 1 < s->n && n->op == KIR_COPY_WAIT; i++)
        uses[i] |= s->copied[i] ? USE_WAIT : 0;
}

/* Uses of buffers in a VECTOR loop; true when it reduces. */
static bool loop_uses(const struct barriers *s, kir_block body, kir_block b, uint8_t *uses) {
    bool reduces = false;
    for (kir_val v = kir_block_get(s->k, b)->first; emit_is(v); v = kir_get(s->k, v)->next) {
        const struct kir_node *n = kir_get(s->k, v);
        node_uses(s, n, uses);
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

/* Whether lanes of a VECTOR loop may read what others store: there is one step, and all threads run it. */
static bool loop_is_shared(const struct barriers *s, const struct kir_node *n) {
    return !emit_is(n->arg[0]) && n->imm == n->width && n->width == s->threads;
}

static void lanes_block(struct barriers *s, struct arena *a, kir_block b, uint8_t *since);

/* Within such a loop: a barrier between stores to scratch memory and loads from there, in either order; before copies to what
   was accessed, since these may take place at any time until the wait, and after the wait. Products of warpgroups read until
   their wait, but what is copied meanwhile is not what they read. The copies of an UNROLLED loop are taken together, unless
   they use a buffer in several ways. */
static void lanes_node(struct barriers *s, struct arena *a, kir_val v, uint8_t *since) {
    const struct kir_node *n = kir_get(s->k, v);
    uint8_t *uses = ARENA_ARRAY(a, uint8_t, s->n);
    bool mixed = false;
    node_uses(s, n, uses);
    if (n->op == KIR_LOOP && n->sub == KIR_UNROLLED)
        loop_uses(s, n->body, n->body, uses);
    for (uint32_t i = 0; i + 1 < s->n; i++) {
        uses[i] = s->k->buffers.v[i].role == KIR_SCRATCH ? uses[i] : 0;
        mixed |= (uses[i] & (uses[i] - 1)) != 0;
    }
    if (n->op == KIR_IF || (n->body.i && (n->sub != KIR_UNROLLED || mixed))) {
        for (int round = 0; round < 2; round++) {
            memcpy(uses, since, s->n);
            if (n->other.i)
                lanes_block(s, a, n->other, since);
            lanes_block(s, a, n->body, since);
            for (uint32_t i = 0; i < s->n; i++)
                since[i] |= uses[i];
        }
        return;
    }
    for (uint32_t i = 0; i + 1 < s->n; i++)
        s->before[v.i] |= (uses[i] && since[i] && uses[i] != since[i] && uses[i] != USE_WAIT);
    if (s->before[v.i])
        memset(since, 0, s->n);
    for (uint32_t i = 0; i + 1 < s->n && n->op == KIR_WGMMA_WAIT; i++)
        uses[i] = s->factors[i] ? USE_READ : 0;
    for (uint32_t i = 0; i < s->n && n->op != KIR_WGMMA; i++)
        since[i] |= uses[i] == USE_WAIT ? USE_LANES : uses[i] & (USE_READ | USE_LANES);
}

static void lanes_block(struct barriers *s, struct arena *a, kir_block b, uint8_t *since) {
    for (kir_val v = kir_block_get(s->k, b)->first; emit_is(v); v = kir_get(s->k, v)->next)
        lanes_node(s, a, v, since);
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
        reduces &= !s->one_warp;
        for (uint32_t i = 0; i < s->n; i++)
            uses[i] = (uses[i] & (USE_READ | USE_LANES)) | (uses[i] & (USE_COPY | USE_WAIT) ? USE_LANES : 0);
        uses[s->n - 1] = reduces ? USE_LANES : 0;
        barriers_use(s, v, uses, since);
        if (loop_is_shared(s, n))
            lanes_block(s, a, n->body, ARENA_ARRAY(a, uint8_t, s->n));
        if (reduces) { /* its last barrier comes before all threads read the area */
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
    } else if (n->op == KIR_WHILE || (n->op == KIR_LOOP && (n->sub != KIR_GRID || s->strides))) {
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

static bool block_strides(const struct emit *e) {
    return kir_grid_extent(e->k) > e->launch.blocks;
}

void emit_block_prepare(struct emit *e) {
    struct barriers s = {.k = e->k, .n = e->k->buffers.n + 1};
    s.before = ARENA_ARRAY(&e->arena, bool, e->k->nodes.n);
    s.copied = ARENA_ARRAY(&e->arena, bool, e->k->buffers.n + 1);
    s.factors = ARENA_ARRAY(&e->arena, bool, e->k->buffers.n + 1);
    bool *boxes = ARENA_ARRAY(&e->arena, bool, e->k->buffers.n + 1);
    for (uint32_t i = 1; i < e->k->nodes.n; i++) {
        const struct kir_node *n = &e->k->nodes.v[i];
        if (n->op == KIR_COPY_ASYNC)
            s.copied[n->of] = true;
        if (n->op == KIR_WGMMA)
            s.factors[kir_wgmma_buffer(n, 0)] = s.factors[kir_wgmma_buffer(n, 1)] = true;
        if (n->op == KIR_COPY_TENSOR)
            boxes[n->of] = true;
    }
    e->fences = false;
    for (uint32_t i = 1; i < e->k->nodes.n; i++) {
        const struct kir_node *n = &e->k->nodes.v[i];
        if (n->op == KIR_STORE || n->op == KIR_COPY_ASYNC)
            e->fences |= s.factors[n->of] || boxes[n->of];
    }
    cg_launch(e->k, e->t, &e->launch);
    s.threads = e->launch.threads;
    s.one_warp = e->launch.threads == e->t->warp_threads;
    s.strides = block_strides(e);
    e->barriers = s.before;
    for (uint32_t i = 1; i < e->k->nodes.n; i++) {
        const struct kir_node *n = &e->k->nodes.v[i];
        e->nodes[i].narrow = n->type == KIR_I64 && (n->op == KIR_LOOP ? block_loop_fits(e, n) : emit_is_narrow(e, n));
    }
    barriers_block(&s, &e->arena, (kir_block){1}, ARENA_ARRAY(&e->arena, uint8_t, s.n));
}

void emit_block_barrier(struct emit *e, kir_val v) {
    if (e->barriers[v.i])
        emit_block_sync(e);
}

/* ---- the function ---------------------------------------------------------------------------- */

/* The dynamic shared memory of all kernels of the module. Factors of WGMMA lie in it as in scratch memory. */
static LLVMValueRef block_shared(struct emit *e) {
    static const char name[] = "shared";
    LLVMValueRef g = e->l->GetNamedGlobal(e->module, name);
    bool fresh = !g;
    if (fresh)
        g = e->l->AddGlobalInAddressSpace(e->module, e->l->ArrayType(e->i8, 0), name, SPACE_SHARED);
    if (fresh || e->swizzles)
        e->l->SetAlignment(g, e->swizzles ? KIR_WGMMA_ALIGN : 64);
    return g;
}

static void block_annotate(struct emit *e, const char *name, LLVMMetadataRef value) {
    const struct llvm *l = e->l;
    LLVMMetadataRef parts[] = {l->ValueAsMetadata(e->fn), l->MDStringInContext2(e->context, name, strlen(name)), value};
    l->AddNamedMetadataOperand(e->module, "nvvm.annotations",
                               l->MetadataAsValue(e->context, l->MDNodeInContext2(e->context, parts, 3)));
}

static void block_attribute(struct emit *e, uint32_t param, const char *name, uint64_t value, LLVMTypeRef type) {
    unsigned kind = e->l->GetEnumAttributeKindForName(name, strlen(name));
    e->l->AddAttributeAtIndex(e->fn, param + 1, type ? e->l->CreateTypeAttribute(e->context, kind, type)
                                                     : e->l->CreateEnumAttribute(e->context, kind, value));
}

/* Tensor maps are parameters by value, and stay where they are: copies read them there. */
static void block_maps(struct emit *e) {
    enum { MAP_BYTES = 128, MAP_ALIGN = 64 };
    const struct llvm *l = e->l;
    LLVMMetadataRef numbers[HILO_GPU_MAPS];
    for (uint32_t i = 0; i < e->launch.nmaps; i++) {
        uint32_t param = e->launch.params + i;
        block_attribute(e, param, "byval", 0, l->ArrayType(e->i8, MAP_BYTES));
        block_attribute(e, param, "align", MAP_ALIGN, NULL);
        numbers[i] = l->ValueAsMetadata(block_i32(e, param + 1));
    }
    if (e->launch.nmaps) /* of several lists LLVM takes the first */
        block_annotate(e, "grid_constant", l->MDNodeInContext2(e->context, numbers, e->launch.nmaps));
}

void emit_block_function(struct emit *e) {
    const struct llvm *l = e->l;
    const struct kir *k = e->k;
    uint32_t nparams = e->launch.params + e->launch.nmaps;
    LLVMTypeRef *params = ARENA_ARRAY(&e->arena, LLVMTypeRef, nparams + 1);
    LLVMTypeRef global = l->PointerTypeInContext(e->context, SPACE_GLOBAL), nothing = l->VoidTypeInContext(e->context);
    for (uint32_t i = 0; i < nparams; i++)
        params[i] = i < e->launch.params ? global : e->ptr;
    e->fn = l->AddFunction(e->module, k->name, l->FunctionType(nothing, params, nparams, false));
    l->SetFunctionCallConv(e->fn, PTX_KERNEL);
    block_maps(e);
    block_annotate(e, "reqntidx", l->ValueAsMetadata(block_i32(e, e->launch.threads)));
    /* ptxas otherwise spills registers to make room for more blocks */
    block_annotate(e, "minctasm", l->ValueAsMetadata(block_i32(e, 1)));
    l->PositionBuilderAtEnd(e->b, emit_new_block(e, "entry"));
    e->thread = block_register(e, "llvm.nvvm.read.ptx.sreg.tid.x");
    e->block_area = e->launch.shared_bytes ? block_shared(e) : NULL;
    LLVMValueRef scratch = e->block_area;
    int64_t begin = cg_area_bytes(k, e->t);
    if (e->launch.slab_bytes) {
        LLVMValueRef block = emit_cast(e, LLVMZExt, block_register(e, "llvm.nvvm.read.ptx.sreg.ctaid.x"), e->i64);
        LLVMValueRef at = emit_bin(e, LLVMMul, block, emit_int(e, (int64_t)e->launch.slab_bytes));
        scratch = l->BuildGEP2(e->b, e->i8, l->GetParam(e->fn, e->launch.params - 1), &at, 1, "");
        begin = 0;
    }
    e->buffers = ARENA_ARRAY(&e->arena, LLVMValueRef, k->buffers.n + 1);
    for (uint32_t i = 0, param = 0; i < k->buffers.n; i++) {
        LLVMValueRef at = emit_int(e, begin + (int64_t)k->buffers.v[i].offset);
        e->buffers[i] = k->buffers.v[i].role == KIR_SCRATCH ? l->BuildGEP2(e->b, e->i8, scratch, &at, 1, "")
                                                            : l->GetParam(e->fn, param++);
    }
}

/* An iteration for each block, or, where blocks are fewer, every so many. */
void emit_block_grid(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    LLVMValueRef block = block_as_index(e, v, block_register(e, "llvm.nvvm.read.ptx.sreg.ctaid.x"));
    struct emit_loop f;
    if (!block_strides(e)) {
        e->nodes[v.i].value = block;
        emit_block(e, n->body);
        return;
    }
    LLVMValueRef end = emit_like(e, block_index_type(e, v), (uint64_t)kir_grid_extent(e->k));
    e->nodes[v.i].value = emit_loop_begin(e, &f, block, end, 1, true, v, e->nodes[v.i].changes);
    f.step = block_as_index(e, v, block_register(e, "llvm.nvvm.read.ptx.sreg.nctaid.x"));
    emit_block(e, n->body);
    emit_loop_end(e, &f);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* In memory, i1 takes a byte. Lanes are side by side, which keeps the banks of shared memory free of conflicts. */
static LLVMTypeRef block_kept_type(const struct emit *e, enum kir_type t) {
    return t == KIR_I1 ? e->i8 : emit_scalar_type(e, t);
}

/* Lane `lane` of what begins at byte `from` of the area. */
static LLVMValueRef block_slot(struct emit *e, enum kir_type t, uint32_t from, LLVMValueRef lane) {
    LLVMValueRef at = emit_int(e, from), area = e->l->BuildGEP2(e->b, e->i8, e->block_area, &at, 1, "");
    return e->l->BuildGEP2(e->b, block_kept_type(e, t), area, &lane, 1, "");
}

static LLVMValueRef block_load(struct emit *e, enum kir_type t, LLVMValueRef slot) {
    LLVMValueRef v = e->l->BuildLoad2(e->b, block_kept_type(e, t), slot, "");
    return t == KIR_I1 ? emit_cast(e, LLVMTrunc, v, e->i1) : v;
}

static void block_store(struct emit *e, enum kir_type t, LLVMValueRef v, LLVMValueRef slot) {
    e->l->BuildStore(e->b, t == KIR_I1 ? emit_cast(e, LLVMZExt, v, e->i8) : v, slot);
}

/* 32 bits of the thread of the warp that `name` and `by` choose. */
static LLVMValueRef block_shuffle32(struct emit *e, const char *name, LLVMValueRef v, uint32_t by) {
    LLVMValueRef args[] = {block_i32(e, UINT32_MAX), v, block_i32(e, by), block_i32(e, e->t->warp_threads - 1)};
    return emit_intrinsic(e, name, NULL, 0, args, 4);
}

static LLVMValueRef block_shuffle(struct emit *e, const char *name, enum kir_type t, LLVMValueRef v, uint32_t by) {
    LLVMTypeRef type = emit_scalar_type(e, t), pair = e->l->VectorType(e->i32, 2);
    unsigned bits = kir_type_bits(t);
    if (bits < 32)
        return emit_cast(e, LLVMTrunc, block_shuffle32(e, name, emit_cast(e, LLVMZExt, v, e->i32), by), type);
    if (bits == 32)
        return e->l->BuildCast(e->b, LLVMBitCast,
                               block_shuffle32(e, name, e->l->BuildCast(e->b, LLVMBitCast, v, e->i32, ""), by), type, "");
    LLVMValueRef from = e->l->BuildCast(e->b, LLVMBitCast, v, pair, ""), to = e->l->GetPoison(pair);
    for (uint32_t i = 0; i < 2; i++) {
        LLVMValueRef half = block_shuffle32(e, name, e->l->BuildExtractElement(e->b, from, block_i32(e, i), ""), by);
        to = e->l->BuildInsertElement(e->b, to, half, block_i32(e, i), "");
    }
    return e->l->BuildCast(e->b, LLVMBitCast, to, type, "");
}

/* A register that the threads of a block reduce. */
struct block_sum {
    const struct kir_node *acc;
    enum kir_type t;
    LLVMValueRef v; /* of this thread, then of all */
    uint32_t from;  /* its place in the area */
};

static LLVMValueRef block_combine(struct emit *e, const struct block_sum *s, LLVMValueRef a, LLVMValueRef b) {
    return emit_binary(e, (enum kir_op)s->acc->sub, s->acc->flags, s->t, a, b);
}

/* Lane l with lane l + half, until one is left, which all threads get. As long as halves are warps, each thread combines the
   sums of its lane in all warps, which it reads from the area; then threads exchange them within the warp. All warps do so
   alike. */
static void block_reduce(struct emit *e, struct block_sum *s, uint32_t width) {
    uint32_t warp = e->t->warp_threads, n = width > warp ? width / warp : 1;
    if (e->launch.threads > warp) {
        LLVMValueRef *part = ARENA_ARRAY(&e->arena, LLVMValueRef, n);
        LLVMValueRef lane = emit_bin(e, LLVMAnd, e->thread, block_i32(e, (width < warp ? width : warp) - 1));
        for (uint32_t i = 0; i < n; i++)
            part[i] = block_load(e, s->t, block_slot(e, s->t, s->from + i * warp * cg_lane_bytes(s->t), lane));
        for (uint32_t half = n / 2; half; half /= 2)
            for (uint32_t i = 0; i < half; i++)
                part[i] = block_combine(e, s, part[i], part[i + half]);
        s->v = part[0];
    }
    for (uint32_t half = (width < warp ? width : warp) / 2; half; half /= 2)
        s->v = block_combine(e, s, s->v, block_shuffle(e, "llvm.nvvm.shfl.sync.down.i32", s->t, s->v, half));
    s->v = block_shuffle(e, "llvm.nvvm.shfl.sync.idx.i32", s->t, s->v, 0);
}

/* Sums that the area holds at the same time. */
static void block_reduce_batch(struct emit *e, struct block_sum *sums, uint32_t n, uint32_t width) {
    static const struct emit_slots none = {0};
    struct emit_branch f;
    bool some = e->launch.threads > width;
    if (e->launch.threads > e->t->warp_threads) {
        if (some)
            emit_branch_begin(e, &f, emit_icmp(e, LLVMIntULT, e->thread, block_i32(e, width)), false, &none);
        for (uint32_t i = 0; i < n; i++)
            block_store(e, sums[i].t, sums[i].v, block_slot(e, sums[i].t, sums[i].from, e->thread));
        if (some)
            emit_branch_end(e, &f);
        emit_block_sync(e);
    }
    for (uint32_t i = 0; i < n; i++)
        block_reduce(e, &sums[i], width);
}

static void block_reduce_all(struct emit *e, const struct emit_slots *changes, const struct emit_slot *outside,
                             uint32_t width) {
    struct block_sum *sums = ARENA_ARRAY(&e->arena, struct block_sum, changes->n + 1);
    uint32_t n = 0, done = 0, used = 0, area = cg_area_bytes(e->k, e->t);
    for (uint32_t i = 0; i < changes->n; i++) {
        const struct kir_node *acc = e->accs[changes->v[i]];
        if (acc)
            sums[n++] = (struct block_sum){acc, (enum kir_type)e->k->nodes.v[acc->of].type, e->slots[changes->v[i]].value, 0};
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bytes = width * cg_lane_bytes(sums[i].t);
        used = (used + cg_lane_bytes(sums[i].t) - 1) & ~(cg_lane_bytes(sums[i].t) - 1);
        if (area && used + bytes > area) {
            block_reduce_batch(e, sums + done, i - done, width);
            emit_block_sync(e);
            done = i;
            used = 0;
        }
        sums[i].from = used;
        used += bytes;
    }
    if (n)
        block_reduce_batch(e, sums + done, n - done, width);
    for (uint32_t i = 0, at = 0; i < changes->n; i++) {
        uint32_t slot = changes->v[i];
        if (!e->accs[slot])
            continue;
        e->slots[slot].value = block_combine(e, &sums[at], outside[i].value, sums[at].v);
        e->accs[slot] = NULL;
        at++;
    }
}

/* ---- VECTOR loops ---------------------------------------------------------------------------- */

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

/* A loop of one step: a branch around it for the threads without an iteration, if there are any. */
static void block_single(struct emit *e, kir_val v, const struct emit_slots *changes) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_branch f;
    bool known = !emit_is(n->arg[0]), all = known && n->imm >= e->launch.threads;
    LLVMValueRef end = known ? block_i32(e, (uint32_t)n->imm) : emit_scalar32(e, n->arg[0]);
    if (!all)
        emit_branch_begin(e, &f, emit_icmp(e, LLVMIntSLT, e->thread, end), false, changes);
    e->nodes[v.i].value = block_as_index(e, v, e->thread);
    emit_block(e, n->body);
    if (!all)
        emit_branch_end(e, &f);
}

/* A loop of few full steps is written out, so that loads of all of them are under way at the same time. */
static bool block_is_short(const struct emit *e, const struct kir_node *n) {
    enum { MOST_STEPS = 4 };
    return !emit_is(n->arg[0]) && n->width == e->launch.threads && n->imm % n->width == 0 && n->imm / n->width <= MOST_STEPS &&
           !emit_has_loop(e, n->body);
}

static void block_copies(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    for (uint32_t at = 0; at < (uint32_t)n->imm && e->status == HILO_OK; at += n->width) {
        e->nodes[v.i].value = block_as_index(e, v, emit_bin(e, LLVMAdd, e->thread, block_i32(e, at)));
        emit_block(e, n->body);
    }
}

/* Threads without an iteration leave the loop early; where lanes vote, they stay, at the index of lane 0, and access no
   memory. */
static void block_steps(struct emit *e, kir_val v, const struct emit_slots *changes) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_loop f;
    LLVMValueRef end = emit_is(n->arg[0])    ? (e->nodes[v.i].narrow ? emit_scalar32 : emit_scalar)(e, n->arg[0])
                       : e->nodes[v.i].narrow ? block_i32(e, (uint32_t)n->imm)
                                              : emit_int(e, n->imm);
    LLVMValueRef active = e->launch.threads > n->width ? emit_icmp(e, LLVMIntULT, e->thread, block_i32(e, n->width)) : NULL;
    LLVMValueRef thread = block_as_index(e, v, e->thread);
    if (block_votes(e->k, n->body)) {
        LLVMValueRef zero = emit_like(e, e->l->TypeOf(end), 0);
        LLVMValueRef base = emit_loop_begin(e, &f, zero, end, n->width, true, v, changes);
        LLVMValueRef index = emit_bin(e, LLVMAdd, base, thread);
        e->mask = emit_icmp(e, LLVMIntSLT, index, end);
        if (active)
            e->mask = emit_bin(e, LLVMAnd, e->mask, active);
        e->nodes[v.i].value = emit_select(e, e->mask, index, base);
    } else {
        bool guarded = emit_is(n->arg[0]) || active || n->imm < e->launch.threads;
        LLVMValueRef start = active ? emit_select(e, active, thread, end) : thread;
        e->nodes[v.i].value = emit_loop_begin(e, &f, start, end, n->width, guarded, v, changes);
    }
    emit_block(e, n->body);
    emit_loop_end(e, &f);
    e->mask = NULL;
}

void emit_block_vector(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    const struct emit_slots *changes = e->nodes[v.i].changes;
    if (e->in_vector) {
        emit_fail(e, "a VECTOR loop inside of another");
        return;
    }
    struct emit_slot *outside = ARENA_ARRAY(&e->arena, struct emit_slot, changes->n + 1);
    for (uint32_t i = 0; i < changes->n; i++)
        outside[i] = e->slots[changes->v[i]];
    emit_mbarriers_begin(e, v);
    e->in_vector = true;
    emit_vector_accumulators(e, n->body);
    bool fits = !emit_is(n->arg[0]) || emit_fits(e, n->arg[0]);
    bool votes = block_votes(e->k, n->body);
    if (fits && n->hi < n->width && !votes)
        block_single(e, v, changes);
    else if (!votes && block_is_short(e, n))
        block_copies(e, v);
    else
        block_steps(e, v, changes);
    e->in_vector = false;
    if (e->status == HILO_OK)
        emit_mbarriers_end(e, v);
    if (e->status == HILO_OK)
        block_reduce_all(e, changes, outside, n->width);
}
