/* Loads and stores, by the memory layout of lanes: contiguous, reversed, every second element, strided, scattered; tiles. */
#include "codegen/emit.h"

#include "kir/node.h"

/* ---- addresses ------------------------------------------------------------------------------- */

static LLVMValueRef mem_address(struct emit *e, uint32_t buffer, LLVMValueRef index) {
    LLVMTypeRef t = emit_memory_type(e, e->k->buffers.v[buffer].dtype);
    return e->l->BuildGEP2(e->b, t, e->buffers[buffer], &index, 1, "");
}

LLVMValueRef emit_element_addresses(struct emit *e, uint32_t buffer, kir_val index) {
    return mem_address(e, buffer, emit_fits(e, index) ? emit_lanes32(e, index) : emit_lanes(e, index));
}

/* The address `lanes` elements later. */
static LLVMValueRef mem_beyond(struct emit *e, uint32_t buffer, LLVMValueRef address, int64_t elements) {
    LLVMValueRef index = emit_int(e, elements);
    LLVMTypeRef t = emit_memory_type(e, e->k->buffers.v[buffer].dtype);
    return e->l->BuildGEP2(e->b, t, address, &index, 1, "");
}

/* A power of two up to 64 that divides an index, in lane 0. */
static int64_t mem_multiple(const struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    int64_t a, b, most = 64;
    switch ((enum kir_op)n->op) {
    case KIR_CONST:
        a = n->imm ? n->imm & -n->imm : most;
        break;
    case KIR_LOOP:
        a = n->sub == KIR_VECTOR && e->width ? n->width : 1;
        break;
    case KIR_ADD:
    case KIR_SUB:
        a = mem_multiple(e, n->arg[0]), b = mem_multiple(e, n->arg[1]);
        a = a < b ? a : b;
        break;
    case KIR_MUL:
        a = mem_multiple(e, n->arg[0]) * mem_multiple(e, n->arg[1]);
        break;
    default:
        a = 1;
        break;
    }
    return a < most ? a : most;
}

/* The alignment in bytes of any element. Constants stay where the program was read from (ir_data_may_stay); only a GPU's are
   elsewhere. */
static unsigned mem_element_alignment(const struct emit *e, uint32_t buffer) {
    const struct kir_buffer *b = &e->k->buffers.v[buffer];
    unsigned bytes = ir_dtype_get(b->dtype)->bytes;
    return b->role == KIR_IN && !b->aligned && bytes >= 4 && !e->blocks ? 1 : bytes;
}

/* The alignment in bytes of an element of the buffer. */
static unsigned mem_alignment(const struct emit *e, uint32_t buffer, kir_val index) {
    const struct kir_buffer *b = &e->k->buffers.v[buffer];
    unsigned bytes = ir_dtype_get(b->dtype)->bytes;
    if (!b->aligned && b->role != KIR_SCRATCH)
        return mem_element_alignment(e, buffer);
    uint64_t known = (uint64_t)mem_multiple(e, index) * bytes;
    return known < 64 ? (unsigned)known : 64;
}

static LLVMValueRef mem_entry_slot(struct emit *e) {
    const struct llvm *l = e->l;
    LLVMBasicBlockRef at = l->GetInsertBlock(e->b);
    if (e->masked_access_dummy)
        return e->masked_access_dummy;
    l->PositionBuilderBefore(e->b, l->GetFirstInstruction(l->GetEntryBasicBlock(e->fn)));
    e->masked_access_dummy = l->BuildAlloca(e->b, e->i64, "");
    l->BuildStore(e->b, emit_int(e, 0), e->masked_access_dummy);
    l->PositionBuilderAtEnd(e->b, at);
    return e->masked_access_dummy;
}

/* ---- what the processor masks ---------------------------------------------------------------- */

static bool mem_avx512(const struct emit *e) {
    return e->t->vector_bytes == 64;
}

/* Whether accesses to contiguous elements of this size in bytes can be masked. */
static bool mem_masks(const struct emit *e, unsigned bytes) {
    return mem_avx512(e) || (bytes >= 4 && target_has(e->t, "avx2"));
}
static bool mem_gathers(const struct emit *e, unsigned bytes) {
    return mem_avx512(e) && bytes >= 4;
}

bool emit_scatters_parts(const struct emit *e, const struct kir_node *n) {
    unsigned bytes = ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
    return e->nodes[n->arg[0].i].class == EMIT_VARYING && !mem_gathers(e, bytes) && mem_gathers(e, 4);
}

/* Whether the block has an access whose lanes cannot be masked, or an op that needs all lanes at once. */
static void mem_survey(const struct emit *e, kir_block b, bool *hard, bool *together) {
    const struct kir *k = e->k;
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        *together |= n->op == KIR_ANY;
        if ((n->op == KIR_LOAD && e->nodes[v.i].class == EMIT_VARYING) || n->op == KIR_STORE)
            *hard |= !emit_is_near(e, n) || !mem_masks(e, ir_dtype_get(k->buffers.v[n->of].dtype)->bytes);
        if (n->body.i)
            mem_survey(e, n->body, hard, together);
        if (n->other.i)
            mem_survey(e, n->other, hard, together);
    }
}

bool emit_can_mask(const struct emit *e, kir_block body) {
    bool hard = false, together = false;
    mem_survey(e, body, &hard, &together);
    return together || mem_avx512(e) || (!hard && mem_masks(e, 4));
}

/* ---- lanes ----------------------------------------------------------------------------------- */

enum mem_form {
    MEM_ROW,         /* contiguous */
    MEM_EVERY_OTHER, /* loads; of all lanes of bytes every fourth, too */
    MEM_BACKWARDS,   /* loads of all lanes */
    MEM_REPEATED,    /* loads of all lanes: contiguous, each element for several lanes */
    MEM_STRIDED,     /* a constant stride apart */
    MEM_ANYWHERE
};

/* Where the lanes of an access are, in order, as is its mask. */
struct mem_lanes {
    const struct kir_node *n;
    enum mem_form form;
    uint32_t buffer, width;
    LLVMTypeRef element, vector;
    unsigned bytes, align, each; /* alignments: of the access, of any element */
    LLVMValueRef base;     /* the address of lane 0; the others are `stride` elements apart, `every` of them in one place */
    LLVMValueRef pointers; /* MEM_ANYWHERE */
    LLVMValueRef mask;     /* NULL = all */
    LLVMValueRef instead;  /* loads: the value of masked lanes, where the access can give it; NULL = zero */
    int64_t stride, every;
};

/* Whether an output may share the memory of an input (lower.c) that is still read: a load that is marked as invariant may be
   repeated after the store. */
static bool mem_changes(const struct emit *e, uint32_t buffer) {
    const struct kir_buffer *of = &e->k->buffers.v[buffer];
    uint32_t outs = 0;
    bool over = false;
    for (uint32_t i = 0; i < e->k->buffers.n; i++) {
        const struct kir_buffer *b = &e->k->buffers.v[i];
        outs += b->role == KIR_OUT;
        over |= b->role == KIR_OUT && b->count == of->count && ir_dtype_get(b->dtype)->bytes == ir_dtype_get(of->dtype)->bytes;
    }
    return outs > 1 && over;
}

static void mem_invariant(struct emit *e, uint32_t buffer, LLVMValueRef load) {
    if (e->k->buffers.v[buffer].role == KIR_IN && !mem_changes(e, buffer))
        e->l->SetMetadata(load, e->md_invariant, e->md_none);
}

LLVMValueRef emit_load_plain(struct emit *e, uint32_t buffer, LLVMTypeRef t, LLVMValueRef p, unsigned align) {
    LLVMValueRef v = e->l->BuildLoad2(e->b, t, p, "");
    e->l->SetAlignment(v, align);
    mem_invariant(e, buffer, v);
    return v;
}

LLVMValueRef emit_row(struct emit *e, uint32_t buffer, kir_val index, int64_t offset, LLVMTypeRef t) {
    LLVMValueRef p = mem_beyond(e, buffer, emit_address(e, buffer, index), offset);
    return emit_load_plain(e, buffer, t, p, mem_element_alignment(e, buffer));
}

static enum mem_form mem_form_of(const struct emit *e, const struct kir_node *n, const struct emit_node *index,
                                 LLVMValueRef mask) {
    if (index->class != EMIT_LINEAR)
        return MEM_ANYWHERE;
    if (index->every > 1)
        return n->op == KIR_LOAD && !mask && index->stride == 1                          ? MEM_REPEATED
               : mem_gathers(e, ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes) ? MEM_ANYWHERE
                                                                                   : MEM_STRIDED;
    if (index->stride == 1)
        return MEM_ROW;
    unsigned bytes = ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
    if (n->op == KIR_LOAD && index->stride == 2 && (!mask || mem_masks(e, bytes)))
        return MEM_EVERY_OTHER;
    if (n->op == KIR_LOAD && !mask && (index->stride == -1 || (bytes == 1 && index->stride == 4)))
        return index->stride == -1 ? MEM_BACKWARDS : MEM_EVERY_OTHER;
    return mem_gathers(e, bytes) ? MEM_ANYWHERE : MEM_STRIDED;
}

/* All addresses as a vector: the same distances from one address where they are linear, else a vector of indices. */
static LLVMValueRef mem_pointers(struct emit *e, const struct kir_node *n) {
    const struct emit_node *index = &e->nodes[n->arg[0].i];
    if (index->class == EMIT_LINEAR) {
        LLVMValueRef *at = ARENA_ARRAY(&e->arena, LLVMValueRef, e->width);
        for (uint32_t i = 0; i < e->width; i++)
            at[i] = emit_int(e, (int64_t)((uint64_t)index->stride * (i / (uint64_t)index->every)));
        LLVMTypeRef t = emit_memory_type(e, e->k->buffers.v[n->of].dtype);
        LLVMValueRef steps = e->l->ConstVector(at, e->width), base = emit_address(e, n->of, n->arg[0]);
        return e->l->BuildGEP2(e->b, t, base, &steps, 1, "");
    }
    return emit_element_addresses(e, n->of, n->arg[0]);
}

static struct mem_lanes mem_lanes_of(struct emit *e, const struct kir_node *n, LLVMValueRef mask) {
    const struct emit_node *index = &e->nodes[n->arg[0].i];
    enum ir_dtype t = e->k->buffers.v[n->of].dtype;
    struct mem_lanes m = {.n = n, .buffer = n->of, .width = e->width, .element = emit_memory_type(e, t)};
    m.mask = mask ? emit_reorder(e, mask) : NULL;
    m.vector = e->l->VectorType(m.element, m.width);
    m.bytes = ir_dtype_get(t)->bytes;
    m.align = m.each = mem_element_alignment(e, n->of);
    m.form = mem_form_of(e, n, index, mask);
    if (m.form == MEM_ANYWHERE) {
        m.pointers = mem_pointers(e, n);
        return m;
    }
    m.stride = index->stride;
    m.every = index->every;
    m.base = emit_address(e, n->of, n->arg[0]);
    if (m.form == MEM_ROW)
        m.align = mem_alignment(e, n->of, n->arg[0]);
    return m;
}

/* The address of lane i, or of masked_access_dummy for a masked lane. NULL: the lane is known to be masked. */
static LLVMValueRef mem_lane_pointer(struct emit *e, const struct mem_lanes *m, uint32_t i) {
    const struct llvm *l = e->l;
    LLVMValueRef lane = emit_int(e, i), runs = m->mask ? l->BuildExtractElement(e->b, m->mask, lane, "") : NULL;
    if (runs && l->IsAConstantInt(runs)) {
        if (l->ConstIntGetSExtValue(runs) == 0)
            return NULL;
        runs = NULL;
    }
    LLVMValueRef p = m->pointers ? l->BuildExtractElement(e->b, m->pointers, lane, "")
                                 : mem_beyond(e, m->buffer, m->base, m->stride * ((int64_t)i / m->every));
    return runs ? emit_select(e, runs, p, mem_entry_slot(e)) : p;
}

static LLVMValueRef mem_load_by_hand(struct emit *e, const struct mem_lanes *m) {
    LLVMValueRef all = e->l->ConstNull(m->vector);
    for (uint32_t i = 0; i < m->width; i++) {
        LLVMValueRef p = mem_lane_pointer(e, m, i);
        if (p)
            all =
                e->l->BuildInsertElement(e->b, all, emit_load_plain(e, m->buffer, m->element, p, m->each), emit_int(e, i), "");
    }
    return all;
}

/* The elements that lanes read, in the order of the loop's lanes, out of two vectors of those from base + `begin` and from base
   + `last` on; other lanes are undefined. */
static LLVMValueRef mem_pick(struct emit *e, const struct mem_lanes *m, LLVMValueRef low, LLVMValueRef high, int64_t begin,
                             int64_t last) {
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m->width);
    int64_t width = m->width;
    for (int64_t i = 0; i < width; i++) {
        int64_t at = m->stride * (e->order ? e->order[i] : i) - begin;
        from[i] = at < 0 || at >= 2 * width ? 0 : (uint32_t)(at < width ? at : width + (at - (last - begin)));
    }
    return emit_shuffle(e, low, high, from, m->width);
}

/* Whether it is known for which lanes a mask holds: [*begin, *end). */
static bool mem_known_lanes(struct emit *e, const struct mem_lanes *m, uint32_t *begin, uint32_t *end) {
    const struct llvm *l = e->l;
    *begin = *end = 0;
    if (!l->IsConstant(m->mask))
        return false;
    for (uint32_t i = 0; i < m->width; i++) {
        LLVMValueRef runs = l->BuildExtractElement(e->b, m->mask, emit_int(e, i), "");
        if (!l->IsAConstantInt(runs))
            return false;
        if (!l->ConstIntGetSExtValue(runs))
            continue;
        if (*end > 0 && *end < i)
            return false;
        *begin = *end ? *begin : i;
        *end = i + 1;
    }
    return true;
}

/* A contiguous vector from base + `begin` on; masked, of its elements only those that lanes read or that are between two of
   these. */
static LLVMValueRef mem_load_part(struct emit *e, const struct mem_lanes *m, int64_t begin) {
    LLVMValueRef p = mem_beyond(e, m->buffer, m->base, begin);
    uint32_t first, end;
    bool known = m->mask && mem_known_lanes(e, m, &first, &end) && end > 0;
    if (!m->mask || (known && m->stride * first <= begin && begin + m->width <= m->stride * (end - 1) + 1))
        return emit_load_plain(e, m->buffer, m->vector, p, m->each);
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m->width);
    for (uint32_t i = 0; i < m->width; i++) {
        int64_t at = begin + i;
        bool between = known && at > m->stride * first && at < m->stride * (end - 1);
        from[i] = between ? first : at % m->stride ? m->width : (uint32_t)(at / m->stride);
    }
    LLVMValueRef none = e->l->ConstNull(e->l->TypeOf(m->mask)), mask = emit_shuffle(e, m->mask, none, from, m->width);
    LLVMTypeRef overloads[] = {m->vector, e->ptr};
    LLVMValueRef args[] = {p, e->l->ConstInt(e->i32, m->each, false), mask, e->l->ConstNull(m->vector)};
    return emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

/* Every second element, or every fourth: as many contiguous vectors, the last of which ends with the last lane, so that
   nothing outside is read. Masked, a fraction of the time of a gather. */
static LLVMValueRef mem_load_pairs(struct emit *e, const struct mem_lanes *m) {
    LLVMValueRef parts[4];
    int64_t width = m->width, last = (m->stride - 1) * (width - 1);
    for (int64_t i = 0; i < m->stride; i++)
        parts[i] = mem_load_part(e, m, i + 1 < m->stride ? i * width : last);
    if (m->stride == 2)
        return mem_pick(e, m, parts[0], parts[1], 0, last);
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m->width);
    for (uint32_t i = 0; i < m->width; i++)
        from[i] = i < m->width / 2 ? i : m->width + i;
    return emit_shuffle(e, mem_pick(e, m, parts[0], parts[1], 0, width), mem_pick(e, m, parts[2], parts[3], 2 * width, last),
                        from, m->width);
}

static LLVMValueRef mem_load_backwards(struct emit *e, const struct mem_lanes *m) {
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m->width);
    LLVMValueRef p = mem_beyond(e, m->buffer, m->base, -(int64_t)(m->width - 1));
    LLVMValueRef v = emit_load_plain(e, m->buffer, m->vector, p, m->each);
    for (uint32_t i = 0; i < m->width; i++)
        from[i] = m->width - 1 - i;
    return emit_shuffle(e, v, e->l->GetPoison(m->vector), from, m->width);
}

/* Elements are decoded before they are repeated. */
static LLVMValueRef mem_load_repeated(struct emit *e, enum ir_dtype t, const struct mem_lanes *m) {
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m->width), n = m->width / (uint32_t)m->every;
    if (n == 1)
        return emit_splat(e, emit_decode(e, t, emit_load_plain(e, m->buffer, m->element, m->base, m->each)), m->width);
    LLVMValueRef v = emit_decode(e, t, emit_load_plain(e, m->buffer, e->l->VectorType(m->element, n), m->base, m->each));
    for (uint32_t i = 0; i < m->width; i++)
        from[i] = i / (uint32_t)m->every;
    return emit_shuffle(e, v, e->l->GetPoison(e->l->TypeOf(v)), from, m->width);
}

static LLVMValueRef mem_all(struct emit *e, const struct mem_lanes *m) {
    return emit_like(e, e->l->VectorType(e->i1, m->width), 1);
}

/* Elements of 8 or 16 bits: the words of 32 bits that they are in, shifted. Such a word is on the page of the element. */
static LLVMValueRef mem_gather_parts(struct emit *e, const struct mem_lanes *m) {
    LLVMTypeRef t = e->l->VectorType(e->i64, m->width), words = e->l->VectorType(e->i32, m->width);
    LLVMTypeRef overloads[] = {words, e->l->TypeOf(m->pointers)};
    LLVMValueRef address = e->l->BuildCast(e->b, LLVMPtrToInt, m->pointers, t, "");
    LLVMValueRef word = emit_bin(e, LLVMAnd, address, emit_like(e, t, ~UINT64_C(3)));
    LLVMValueRef part = emit_cast(e, LLVMTrunc, emit_bin(e, LLVMAnd, address, emit_like(e, t, 3)), e->i32);
    LLVMValueRef args[] = {e->l->BuildCast(e->b, LLVMIntToPtr, word, overloads[1], ""), e->l->ConstInt(e->i32, 4, false),
                           m->mask ? m->mask : mem_all(e, m), e->l->ConstNull(words)};
    LLVMValueRef all = emit_intrinsic(e, "llvm.masked.gather", overloads, 2, args, 4);
    all = emit_bin(e, LLVMLShr, all, emit_bin(e, LLVMShl, part, emit_like(e, words, 3)));
    return emit_cast(e, LLVMTrunc, all, m->element);
}

static LLVMValueRef mem_load_lanes(struct emit *e, const struct mem_lanes *m) {
    LLVMTypeRef overloads[] = {m->vector, m->pointers ? e->l->TypeOf(m->pointers) : e->ptr};
    LLVMValueRef align = e->l->ConstInt(e->i32, m->align, false),
                 instead = m->instead ? m->instead : e->l->ConstNull(m->vector);
    if (m->form == MEM_EVERY_OTHER)
        return mem_load_pairs(e, m);
    if (m->form == MEM_BACKWARDS)
        return mem_load_backwards(e, m);
    if (m->form == MEM_ROW && !m->mask)
        return emit_load_plain(e, m->buffer, m->vector, m->base, m->align);
    if (m->form == MEM_ROW && mem_masks(e, m->bytes)) {
        LLVMValueRef args[] = {m->base, align, m->mask, instead};
        return emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
    }
    if (m->form == MEM_ANYWHERE && mem_gathers(e, m->bytes)) {
        LLVMValueRef args[] = {m->pointers, align, m->mask ? m->mask : mem_all(e, m), instead};
        return emit_intrinsic(e, "llvm.masked.gather", overloads, 2, args, 4);
    }
    if (m->form == MEM_ANYWHERE && mem_gathers(e, 4))
        return mem_gather_parts(e, m);
    return mem_load_by_hand(e, m);
}

static void mem_store_row(struct emit *e, const struct mem_lanes *m, LLVMValueRef v, unsigned align, bool nontemporal) {
    LLVMValueRef store = e->l->BuildStore(e->b, v, m->base);
    e->l->SetAlignment(store, align);
    if (!nontemporal)
        return;
    e->l->SetMetadata(store, e->md_nontemporal, e->md_one);
    e->streams = true;
}

/* A store of all lanes. Non-temporal ones have to be aligned: where it is not known whether the buffer is, both are there, and
   its address tells which one runs. */
static void mem_store_vector(struct emit *e, const struct mem_lanes *m, LLVMValueRef v) {
    const struct llvm *l = e->l;
    uint64_t size = (uint64_t)m->width * m->bytes, want = size < 64 ? size : 64;
    uint64_t apart = (uint64_t)mem_multiple(e, m->n->arg[0]) * m->bytes;
    if (!(m->n->flags & KIR_NT) || want < 16 || (m->align < want && (apart < want || e->t->isa != TARGET_X86_64))) {
        mem_store_row(e, m, v, m->align, false);
        return;
    }
    if (m->align >= want) {
        mem_store_row(e, m, v, m->align, true);
        return;
    }
    LLVMBasicBlockRef aligned = l->AppendBasicBlockInContext(e->context, e->fn, "aligned");
    LLVMBasicBlockRef other = l->AppendBasicBlockInContext(e->context, e->fn, "unaligned");
    LLVMBasicBlockRef after = l->AppendBasicBlockInContext(e->context, e->fn, "stored");
    LLVMValueRef address = l->BuildCast(e->b, LLVMPtrToInt, e->buffers[m->buffer], e->i64, "");
    LLVMValueRef low = emit_bin(e, LLVMAnd, address, emit_int(e, (int64_t)want - 1));
    l->BuildCondBr(e->b, emit_icmp(e, LLVMIntEQ, low, emit_int(e, 0)), aligned, other);
    l->PositionBuilderAtEnd(e->b, aligned);
    mem_store_row(e, m, v, (unsigned)want, true);
    l->BuildBr(e->b, after);
    l->PositionBuilderAtEnd(e->b, other);
    mem_store_row(e, m, v, m->align, false);
    l->BuildBr(e->b, after);
    l->PositionBuilderAtEnd(e->b, after);
}

/* The first n lanes, in parts of powers of two, the last of which overlaps the one before if it would be more than half full:
   without mask registers, some processors take ten cycles and more for a masked store. */
static void mem_store_first(struct emit *e, const struct mem_lanes *m, LLVMValueRef v, uint32_t n) {
    const struct llvm *l = e->l;
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m->width);
    for (uint32_t done = 0, part = m->width; done < n;) {
        if (done + part > n && (done == 0 || n - done <= part / 2)) {
            part /= 2;
            continue;
        }
        uint32_t at = done + part > n ? n - part : done;
        for (uint32_t i = 0; i < part; i++)
            from[i] = at + i;
        LLVMValueRef lanes = part > 1 ? emit_shuffle(e, v, l->GetPoison(m->vector), from, part)
                                      : l->BuildExtractElement(e->b, v, emit_int(e, at), "");
        l->SetAlignment(l->BuildStore(e->b, lanes, mem_beyond(e, m->buffer, m->base, at)), m->bytes);
        done = at + part;
    }
}

/* Whether a store is of the first lanes, which are known, on a processor without mask registers. */
static bool mem_stores_first(struct emit *e, const struct mem_lanes *m, uint32_t *lanes) {
    uint32_t begin;
    return m->form == MEM_ROW && m->mask && !mem_avx512(e) && mem_known_lanes(e, m, &begin, lanes) && begin == 0;
}

static void mem_store_lanes(struct emit *e, const struct mem_lanes *m, LLVMValueRef v) {
    const struct llvm *l = e->l;
    LLVMTypeRef overloads[] = {m->vector, m->pointers ? l->TypeOf(m->pointers) : e->ptr};
    LLVMValueRef align = l->ConstInt(e->i32, m->align, false);
    uint32_t first;
    if (m->form == MEM_ROW && !m->mask) {
        mem_store_vector(e, m, v);
    } else if (mem_stores_first(e, m, &first)) {
        mem_store_first(e, m, v, first);
    } else if (m->form == MEM_ROW && mem_masks(e, m->bytes)) {
        LLVMValueRef args[] = {v, m->base, align, m->mask};
        emit_intrinsic(e, "llvm.masked.store", overloads, 2, args, 4);
    } else if (m->form == MEM_ANYWHERE && mem_gathers(e, m->bytes)) {
        LLVMValueRef args[] = {v, m->pointers, align, m->mask ? m->mask : mem_all(e, m)};
        emit_intrinsic(e, "llvm.masked.scatter", overloads, 2, args, 4);
    } else {
        for (uint32_t i = 0; i < m->width; i++) {
            LLVMValueRef p = mem_lane_pointer(e, m, i);
            if (p)
                l->SetAlignment(l->BuildStore(e->b, l->BuildExtractElement(e->b, v, emit_int(e, i), ""), p), m->bytes);
        }
    }
}

/* ---- loads ----------------------------------------------------------------------------------- */

static LLVMValueRef mem_both(struct emit *e, LLVMValueRef a, LLVMValueRef b) {
    return a && b ? emit_bin(e, LLVMAnd, a, b) : a ? a : b;
}

/* Whether a load reads every second element, in memory that the kernel does not write, where lanes run that are known. */
static bool mem_is_half(struct emit *e, const struct kir_node *n, LLVMValueRef *mask) {
    const struct emit_node *index = &e->nodes[n->arg[0].i];
    LLVMValueRef guard = NULL;
    int64_t otherwise = 0;
    if (n->op != KIR_LOAD || e->k->buffers.v[n->of].role != KIR_IN || index->class != EMIT_LINEAR || index->stride != 2 ||
        index->every != 1 || (emit_is(n->arg[2]) && !(kir_is_const(e->k, n->arg[2], &otherwise) && otherwise == 0)))
        return false;
    if (emit_is(n->arg[1])) {
        if (!emit_varies(e, n->arg[1]))
            return false;
        guard = emit_lanes(e, n->arg[1]);
    }
    *mask = mem_both(e, e->mask, guard);
    *mask = *mask ? emit_reorder(e, *mask) : NULL;
    return (!*mask || e->l->IsConstant(*mask)) && mem_form_of(e, n, index, *mask) == MEM_EVERY_OTHER;
}

/* The load of the elements between those of a load of every second element, if it comes next; the distance of its first one. */
static kir_val mem_other_half(const struct emit *e, kir_val v, int64_t *by) {
    enum { SEARCH = 4 };
    const kir_val none = {0};
    const struct kir_node *first = kir_get(e->k, v);
    int64_t from, at;
    kir_val base = emit_without_constant(e, first->arg[0], &from), next = first->next;
    for (int i = 0; i < SEARCH && emit_is(next); i++, next = kir_get(e->k, next)->next) {
        const struct kir_node *n = kir_get(e->k, next);
        if (n->op != KIR_LOAD)
            continue;
        bool same = n->of == first->of && emit_without_constant(e, n->arg[0], &at).i == base.i;
        *by = same ? at - from : 0;
        for (kir_val w = first->next; w.i != next.i; w = kir_get(e->k, w)->next)
            same &= w.i != n->arg[1].i; /* the guard is not there yet */
        return same && (*by == 1 || *by == -1) ? next : none;
    }
    return none;
}

/* The elements base + [begin, begin + width) of two interleaved loads whose lanes run by masks. */
static LLVMValueRef mem_load_interleaved(struct emit *e, const struct mem_lanes *m, LLVMValueRef const mask[2], int64_t begin) {
    const struct llvm *l = e->l;
    LLVMValueRef p = mem_beyond(e, m->buffer, m->base, begin);
    LLVMValueRef *runs = ARENA_ARRAY(&e->arena, LLVMValueRef, m->width);
    bool all = true;
    for (uint32_t i = 0; i < m->width; i++) {
        int64_t at = begin + i;
        LLVMValueRef of = mask[at % 2];
        runs[i] = of ? l->BuildExtractElement(e->b, of, emit_int(e, at / 2), "") : emit_like(e, e->i1, 1);
        all &= l->IsAConstantInt(runs[i]) && l->ConstIntGetSExtValue(runs[i]) != 0;
    }
    if (all)
        return emit_load_plain(e, m->buffer, m->vector, p, m->each);
    LLVMTypeRef overloads[] = {m->vector, e->ptr};
    LLVMValueRef args[] = {p, l->ConstInt(e->i32, m->each, false), l->ConstVector(runs, m->width), l->ConstNull(m->vector)};
    return emit_intrinsic(e, "llvm.masked.load", overloads, 2, args, 4);
}

void emit_loaded_together(struct emit *e, kir_val load, LLVMValueRef raw) {
    e->nodes[load.i].code = raw;
    e->nodes[load.i].together = emit_decode(e, e->k->buffers.v[kir_get(e->k, load)->of].dtype, raw);
}

/* Two loads of every second element that have each other's neighbours: of two vectors, the even and the odd elements. Those of
   the second one wait for it. */
static bool mem_load_halves(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    LLVMValueRef mask[2], parts[2];
    int64_t by;
    if (!e->width || n->op != KIR_LOAD || e->nodes[n->arg[0].i].stride != 2)
        return false;
    kir_val other = mem_other_half(e, v, &by);
    bool behind = by < 0;
    if (!emit_is(other) || !mem_is_half(e, n, &mask[behind]) || !mem_is_half(e, kir_get(e->k, other), &mask[!behind]))
        return false;
    struct mem_lanes m = mem_lanes_of(e, n, NULL);
    m.base = mem_beyond(e, m.buffer, m.base, behind ? by : 0);
    for (int i = 0; i < 2; i++)
        parts[i] = mem_load_interleaved(e, &m, mask, i * (int64_t)m.width);
    for (uint32_t odd = 0; odd < 2; odd++) {
        uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, m.width);
        for (uint32_t i = 0; i < m.width; i++)
            from[i] = 2 * (e->order ? e->order[i] : i) + odd;
        LLVMValueRef half = emit_shuffle(e, parts[0], parts[1], from, m.width);
        emit_loaded_together(e, odd == behind ? v : other, half);
    }
    return true;
}

/* guard, otherwise: NULL, or one per lane. */
static LLVMValueRef mem_load(struct emit *e, kir_val load, bool scalar, LLVMValueRef guard, LLVMValueRef otherwise) {
    const struct kir_node *n = kir_get(e->k, load);
    struct emit_group *group = e->nodes[load.i].group;
    enum ir_dtype t = e->k->buffers.v[n->of].dtype;
    LLVMValueRef raw;
    if (scalar) {
        LLVMValueRef p = emit_address(e, n->of, n->arg[0]);
        raw = group ? emit_group_load(e, n, group, p)
                    : emit_load_plain(e, n->of, emit_memory_type(e, t), p, mem_element_alignment(e, n->of));
    } else {
        struct mem_lanes m = mem_lanes_of(e, n, mem_both(e, e->mask, guard));
        if (m.form == MEM_REPEATED)
            return mem_load_repeated(e, t, &m);
        bool native = m.form == MEM_ROW ? mem_masks(e, m.bytes) : m.form == MEM_ANYWHERE && mem_gathers(e, m.bytes);
        if (otherwise && m.form == MEM_EVERY_OTHER && otherwise == e->l->ConstNull(m.vector))
            return mem_load_lanes(e, &m); /* as other lanes are */
        if (otherwise && native && e->l->TypeOf(otherwise) == m.vector) {
            m.instead = emit_reorder(e, otherwise);
            return emit_reorder(e, mem_load_lanes(e, &m));
        }
        raw = mem_load_lanes(e, &m);
        raw = m.form == MEM_EVERY_OTHER ? raw : emit_reorder(e, raw);
    }
    LLVMValueRef v = emit_decode(e, t, raw);
    e->nodes[load.i].code = raw;
    if (!otherwise)
        return v;
    e->nodes[load.i].code = NULL;
    return emit_select(e, guard, v, otherwise);
}

LLVMValueRef emit_load(struct emit *e, kir_val v, bool scalar) {
    static const struct emit_slots none = {0};
    const struct llvm *l = e->l;
    const struct kir_node *n = kir_get(e->k, v);
    if (!scalar && (e->nodes[v.i].together || emit_transposed_loads(e, v) || mem_load_halves(e, v))) {
        LLVMValueRef together = e->nodes[v.i].together;
        e->nodes[v.i].together = NULL;
        return together;
    }
    e->nodes[v.i].code = NULL;
    LLVMValueRef runs = e->in_vector ? e->mask : NULL; /* threads without an iteration load nothing */
    if (!emit_is(n->arg[1]) && !runs)
        return mem_load(e, v, scalar, NULL, NULL);
    LLVMValueRef otherwise = emit_is(n->arg[2]) ? emit_value(e, n->arg[2], scalar) : emit_const(e, (enum kir_type)n->type, 0);
    if (emit_is(n->arg[1]) && emit_varies(e, n->arg[1]))
        return mem_load(e, v, false, emit_lanes(e, n->arg[1]), otherwise);
    LLVMValueRef guard = mem_both(e, runs, emit_is(n->arg[1]) ? emit_scalar(e, n->arg[1]) : NULL);
    struct emit_branch f; /* a guard that is not of lanes becomes a branch around the access */
    LLVMBasicBlockRef before = l->GetInsertBlock(e->b);
    emit_branch_begin(e, &f, guard, false, &none);
    LLVMValueRef loaded = mem_load(e, v, scalar, NULL, NULL);
    LLVMBasicBlockRef last = l->GetInsertBlock(e->b);
    emit_branch_end(e, &f);
    e->nodes[v.i].code = NULL; /* it is not known where the load does not run */
    if (e->status != HILO_OK)
        return NULL;
    LLVMValueRef phi = l->BuildPhi(e->b, l->TypeOf(otherwise), "");
    l->AddIncoming(phi, &otherwise, &before, 1);
    l->AddIncoming(phi, &loaded, &last, 1);
    return phi;
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* A value in the format of the buffer; one that was just rounded to it, or loaded from it, is not encoded again. */
static LLVMValueRef mem_encoded(struct emit *e, enum ir_dtype t, kir_val v, bool scalar) {
    const struct kir_node *n = kir_get(e->k, v);
    const struct ir_dtype_info *info = ir_dtype_get(t);
    bool known = (n->op == KIR_ROUND && (enum fp_kind)n->imm == info->fp) ||
                 (n->op == KIR_LOAD && e->k->buffers.v[n->of].dtype == t);
    LLVMValueRef code = e->nodes[v.i].code;
    if (known && code && info->cls == IR_FLOAT && info->fp != FP_F32 && (emit_lanes_of(e, code) == 0) == scalar)
        return code;
    return emit_encode(e, t, emit_value(e, v, scalar));
}

/* Whether what is behind the first n lanes of a store is stored next, by the following copy of an unrolled loop, as where lines
   are shorter than vectors. Nothing is read in between, so all lanes may be stored. */
static bool mem_is_overwritten(const struct emit *e, kir_val store, const struct mem_lanes *m, uint32_t n) {
    kir_block body = kir_scope(e->k, store);
    kir_val loop = kir_block_get(e->k, body)->owner;
    int64_t copy, apart;
    if (!emit_is(loop) || emit_is(m->n->arg[2]))
        return false;
    const struct kir_node *owner = kir_get(e->k, loop);
    if (owner->op != KIR_LOOP || owner->sub != KIR_UNROLLED || !e->l->IsAConstantInt(e->nodes[loop.i].value))
        return false;
    copy = e->l->ConstIntGetSExtValue(e->nodes[loop.i].value);
    if (copy + 1 >= owner->imm || !kir_linear(e->k, m->n->arg[0], loop, &apart) || apart > n || apart + n < m->width)
        return false;
    for (kir_val v = kir_block_get(e->k, body)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *x = kir_get(e->k, v);
        if (v.i != store.i && x->op != KIR_GET && kir_op_get((enum kir_op)x->op)->shape < KIR_SHAPE_SAME)
            return false;
    }
    return true;
}

static void mem_store(struct emit *e, kir_val store, LLVMValueRef guard) {
    const struct kir_node *n = kir_get(e->k, store);
    struct emit_group *group = e->nodes[store.i].group;
    enum ir_dtype t = e->k->buffers.v[n->of].dtype;
    if (!e->width) {
        LLVMValueRef p = emit_address(e, n->of, n->arg[0]), v = mem_encoded(e, t, n->arg[1], true);
        if (group)
            emit_group_store(e, n, group, v, p);
        else
            e->l->SetAlignment(e->l->BuildStore(e->b, v, p), ir_dtype_get(t)->bytes);
        return;
    }
    struct mem_lanes m = mem_lanes_of(e, n, mem_both(e, e->mask, guard));
    LLVMValueRef v = mem_encoded(e, t, n->arg[1], false);
    if (e->status != HILO_OK)
        return;
    v = emit_reorder(e, v);
    if (group) {
        v = emit_group_join(e, n, group, v, &m.pointers);
        if (!v)
            return;
        m.vector = e->l->TypeOf(v);
        m.bytes = emit_group_bytes(e, n, group);
    }
    uint32_t first;
    if (!group && mem_stores_first(e, &m, &first) && mem_is_overwritten(e, store, &m, first))
        mem_store_row(e, &m, v, m.align, false);
    else
        mem_store_lanes(e, &m, v);
}

/* ---- stores to every other element ----------------------------------------------------------- */

kir_val emit_without_constant(const struct emit *e, kir_val index, int64_t *constant) {
    const struct kir_node *n = kir_get(e->k, index);
    *constant = 0;
    return n->op == KIR_ADD && kir_is_const(e->k, n->arg[1], constant) ? n->arg[0] : index;
}

/* The distance of the second of two stores with stride 2 from the first, when they interleave: 1, -1; else 0. */
static int mem_neighbours(const struct emit *e, const struct kir_node *a, const struct kir_node *b) {
    int64_t ca, cb;
    const struct emit_node *ia = &e->nodes[a->arg[0].i], *ib = &e->nodes[b->arg[0].i];
    bool alike = a->of == b->of && !emit_is(a->arg[2]) && !emit_is(b->arg[2]) && ia->class == EMIT_LINEAR &&
                 ib->class == EMIT_LINEAR && ia->stride == 2 && ib->stride == 2 && ia->every == 1 && ib->every == 1;
    if (!alike || emit_without_constant(e, a->arg[0], &ca).i != emit_without_constant(e, b->arg[0], &cb).i)
        return 0;
    return cb == ca + 1 ? 1 : ca == cb + 1 ? -1 : 0;
}

/* The store before or after one, if there is nothing but computation in between. */
static kir_val mem_next_store(const struct emit *e, kir_val v, bool forward) {
    enum { FAR = 64 };
    for (int i = 0; i < FAR; i++) {
        v = forward ? kir_get(e->k, v)->next : kir_get(e->k, v)->prev;
        const struct kir_node *n = kir_get(e->k, v);
        if (!emit_is(v) || n->op == KIR_STORE)
            return v;
        bool reads = n->op == KIR_LOAD && e->k->buffers.v[n->of].role == KIR_IN;
        if (!reads && kir_op_get((enum kir_op)n->op)->shape < KIR_SHAPE_SAME)
            return (kir_val){0};
    }
    return (kir_val){0};
}

/* The parts of complex numbers are stored one after the other: the second store writes both, side by side. The store that a
   store forms a pair with; first: whether that is the later one. Pairs are counted off from the first store of a run of them.
 */
static kir_val mem_partner(const struct emit *e, kir_val v, bool *first) {
    const struct kir_node *n = kir_get(e->k, v);
    uint32_t before = 0;
    kir_val p = v, q;
    if (!e->width || e->mask)
        return (kir_val){0};
    while (q = mem_next_store(e, p, false), emit_is(q) && mem_neighbours(e, kir_get(e->k, q), kir_get(e->k, p))) {
        p = q;
        before++;
    }
    *first = before % 2 == 0;
    q = mem_next_store(e, v, *first);
    return emit_is(q) && mem_neighbours(e, n, kir_get(e->k, q)) ? q : (kir_val){0};
}

static void mem_store_pairs(struct emit *e, const struct kir_node *a, const struct kir_node *b) {
    const struct kir_node *low = mem_neighbours(e, a, b) > 0 ? a : b, *high = low == a ? b : a;
    enum ir_dtype t = e->k->buffers.v[a->of].dtype;
    uint32_t *from = ARENA_ARRAY(&e->arena, uint32_t, 2 * e->width);
    for (uint32_t i = 0; i < 2 * e->width; i++)
        from[i] = i / 2 + (i % 2 ? e->width : 0);
    LLVMValueRef parts[] = {mem_encoded(e, t, low->arg[1], false), mem_encoded(e, t, high->arg[1], false)};
    if (e->status != HILO_OK)
        return;
    LLVMValueRef all = emit_shuffle(e, parts[0], parts[1], from, 2 * e->width);
    LLVMValueRef store = e->l->BuildStore(e->b, all, emit_address(e, a->of, low->arg[0]));
    e->l->SetAlignment(store, ir_dtype_get(t)->bytes);
}

/* In a thread block: by this thread, if it is the first or a lane that runs, under the store's guard. */
static void mem_store_thread(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    static const struct emit_slots none = {0};
    struct emit_branch f;
    LLVMValueRef guard = emit_is(n->arg[2]) ? emit_scalar(e, n->arg[2]) : NULL;
    LLVMValueRef runs = e->in_vector ? e->mask : emit_icmp(e, LLVMIntEQ, e->thread, emit_like(e, e->i32, 0));
    LLVMValueRef both = mem_both(e, runs, guard);
    if (both)
        emit_branch_begin(e, &f, both, false, &none);
    mem_store(e, v, NULL);
    if (both)
        emit_branch_end(e, &f);
}

void emit_store(struct emit *e, kir_val v) {
    static const struct emit_slots none = {0};
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_branch f;
    bool first;
    kir_val partner = mem_partner(e, v, &first);
    if (e->blocks) {
        mem_store_thread(e, v);
    } else if (emit_is(partner)) {
        if (!first)
            mem_store_pairs(e, kir_get(e->k, partner), n);
    } else if (!emit_is(n->arg[2])) {
        mem_store(e, v, NULL);
    } else if (emit_varies(e, n->arg[2])) {
        mem_store(e, v, emit_lanes(e, n->arg[2]));
    } else {
        emit_branch_begin(e, &f, emit_scalar(e, n->arg[2]), false, &none);
        mem_store(e, v, NULL);
        emit_branch_end(e, &f);
    }
}

/* ---- prefetch, tiles ------------------------------------------------------------------------- */

/* Every cache line of the lanes, when they are contiguous or strided. */
void emit_prefetch(struct emit *e, const struct kir_node *n) {
    enum { LINE = 64 };
    const struct emit_node *index = &e->nodes[n->arg[0].i];
    if (e->blocks || emit_varies(e, n->arg[0]))
        return;
    LLVMValueRef p = emit_address(e, n->of, n->arg[0]);
    int64_t bytes = ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes, count = 1, step = LINE / bytes;
    if (e->width && index->class == EMIT_LINEAR && index->stride == 1)
        count = (bytes * e->width / index->every + LINE - 1) / LINE;
    else if (e->width && index->class == EMIT_LINEAR && index->every == 1 && index->stride * bytes >= LINE)
        count = e->width, step = index->stride;
    for (int64_t i = 0; i < count; i++) {
        LLVMValueRef args[] = {i ? mem_beyond(e, n->of, p, i * step) : p, e->l->ConstInt(e->i32, 0, false),
                               e->l->ConstInt(e->i32, 3, false), e->l->ConstInt(e->i32, 1, false)};
        emit_intrinsic(e, "llvm.prefetch", &e->ptr, 1, args, 4);
    }
}

/* All eight tiles as 16 rows of 64 bytes: palette 1, bytes of a row from byte 16 on, rows from byte 48 on. */
void emit_tile_config(struct emit *e) {
    const struct llvm *l = e->l;
    char config[64] = {1};
    if (!e->t->tile_bf16 && !e->t->tile_i8) {
        emit_unsupported(e, "the processor has no tiles");
        return;
    }
    for (int i = 0; i < 8; i++) {
        config[16 + 2 * i] = 64;
        config[48 + i] = 16;
    }
    LLVMValueRef g = l->AddGlobal(e->module, l->ArrayType(e->i8, 64), "tiles");
    l->SetInitializer(g, l->ConstStringInContext(e->context, config, 64, true));
    l->SetGlobalConstant(g, true);
    l->SetLinkage(g, LLVMPrivateLinkage);
    l->SetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    l->SetAlignment(g, 64);
    emit_intrinsic(e, "llvm.x86.ldtilecfg", NULL, 0, &g, 1);
}

void emit_tile(struct emit *e, const struct kir_node *n) {
    static const char *const products[] = {"llvm.x86.tdpbf16ps", "llvm.x86.tdpbssd", "llvm.x86.tdpbusd",
                                           "llvm.x86.tdpbsud", "llvm.x86.tdpbuud"};
    const struct llvm *l = e->l;
    if (e->width)
        emit_fail(e, "tiles inside of a VECTOR loop");
    if (e->status != HILO_OK)
        return;
    LLVMValueRef tile = l->ConstInt(e->i8, (uint64_t)n->imm & 7, false);
    if (n->op == KIR_TZERO) {
        emit_intrinsic(e, "llvm.x86.tilezero", NULL, 0, &tile, 1);
    } else if (n->op == KIR_TMUL) {
        LLVMValueRef args[] = {tile, l->ConstInt(e->i8, (uint64_t)n->imm >> 3 & 7, false),
                               l->ConstInt(e->i8, (uint64_t)n->imm >> 6 & 7, false)};
        emit_intrinsic(e, products[n->sub], NULL, 0, args, 3);
    } else {
        LLVMValueRef p = emit_address(e, n->of, n->arg[0]);
        int64_t bytes = ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
        LLVMValueRef args[] = {tile, p, emit_bin(e, LLVMMul, emit_scalar(e, n->arg[1]), emit_int(e, bytes))};
        emit_intrinsic(e, n->op == KIR_TLOAD ? "llvm.x86.tileloadd64" : "llvm.x86.tilestored64", NULL, 0, args, 3);
    }
}
