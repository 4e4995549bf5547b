/* Accesses to adjacent elements by one thread of a block: what an UNROLLED loop inside of a VECTOR loop loads or stores at
 * indices one apart is one access of up to 16 bytes. LLVM joins such loads in few cases only. A group of loads is read in its
 * first copy of the body, a group of stores is written in its last; nothing between them touches the memory.
 *
 * On processors, stores of 8 and 16 bits that lanes scatter are joined to 64 bits: there are scatter instructions for 32 bits
 * and more, and else each lane of a block of 256 has a store of its own. */
#include "codegen/emit.h"

#include "kir/node.h"

enum { GROUP_BYTES = 16 };

struct emit_group {
    uint32_t n;
    LLVMValueRef part[GROUP_BYTES]; /* elements as they are in memory */
    LLVMValueRef address;           /* of the first one, of stores */
};

/* What the body of a loop does to a buffer. */
static void group_uses(const struct kir *k, kir_block b, uint32_t buffer, uint32_t *loads, uint32_t *stores) {
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        *loads += (n->op == KIR_LOAD || n->op == KIR_LDMATRIX) && n->of == buffer;
        for (int i = 0; i < 2 && n->op == KIR_WGMMA; i++)
            *loads += kir_wgmma_buffer(n, i) == buffer;
        *stores += (n->op == KIR_STORE || n->op == KIR_COPY_ASYNC) && n->of == buffer;
        *stores += n->op == KIR_COPY_WAIT && k->buffers.v[buffer].role == KIR_SCRATCH;
        if (n->body.i)
            group_uses(k, n->body, buffer, loads, stores);
        if (n->other.i)
            group_uses(k, n->other, buffer, loads, stores);
    }
}

/* A power of two up to GROUP_BYTES that divides an index where that of `loop` is 0. */
static int64_t group_multiple(const struct emit *e, kir_val v, kir_val loop) {
    const struct kir_node *n = kir_get(e->k, v);
    int64_t a = 1, b;
    if (v.i == loop.i)
        return GROUP_BYTES;
    switch ((enum kir_op)n->op) {
    case KIR_CONST:
        a = n->imm ? n->imm & -n->imm : GROUP_BYTES;
        break;
    case KIR_ADD:
    case KIR_SUB:
        a = group_multiple(e, n->arg[0], loop), b = group_multiple(e, n->arg[1], loop);
        a = a < b ? a : b;
        break;
    case KIR_MUL:
        a = group_multiple(e, n->arg[0], loop) * group_multiple(e, n->arg[1], loop);
        break;
    default:
        break;
    }
    return a < GROUP_BYTES ? a : GROUP_BYTES;
}

/* Bytes of an access that a group may make; 0 = none. */
static uint32_t group_most(const struct emit *e, const struct kir_node *n) {
    if (e->mask || (n->op != KIR_LOAD && n->op != KIR_STORE))
        return 0;
    if (e->blocks)
        return e->in_vector ? GROUP_BYTES : 0;
    return e->width && n->op == KIR_STORE && emit_scatters_parts(e, n) ? 8 : 0;
}

/* Elements of a group; 1 = there is none. */
static uint32_t group_size(const struct emit *e, kir_val v, kir_val loop) {
    const struct kir_node *n = kir_get(e->k, v);
    bool store = n->op == KIR_STORE;
    uint32_t loads = 0, stores = 0;
    int64_t stride, extent = kir_get(e->k, loop)->imm;
    if (!group_most(e, n) || emit_is(n->arg[store ? 2 : 1]) || !kir_linear(e->k, n->arg[0], loop, &stride) ||
        stride != 1)
        return 1;
    group_uses(e->k, kir_get(e->k, loop)->body, n->of, &loads, &stores);
    if (store ? stores > 1 || loads : stores)
        return 1;
    int64_t bytes = ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes, size = group_most(e, n) / bytes;
    int64_t most = group_multiple(e, n->arg[0], loop);
    while (size > 1 && (extent % size || most % size))
        size /= 2;
    return e->blocks || size * bytes >= 4 ? (uint32_t)size : 1;
}

void emit_group_begin(struct emit *e, kir_val loop) {
    const struct kir_node *n = kir_get(e->k, loop);
    for (kir_val v = kir_block_get(e->k, n->body)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        uint32_t size = group_size(e, v, loop);
        e->nodes[v.i].group = NULL;
        if (size <= 1)
            continue;
        e->nodes[v.i].group = ARENA_NEW(&e->arena, struct emit_group);
        e->nodes[v.i].group->n = size;
    }
}

/* The copy of the body that is emitted, in a group. */
static uint32_t group_place(const struct emit *e, const struct emit_group *g) {
    return (uint32_t)(e->copy % g->n);
}

unsigned emit_group_bytes(const struct emit *e, const struct kir_node *n, const struct emit_group *g) {
    return g->n * ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
}

LLVMValueRef emit_group_load(struct emit *e, const struct kir_node *n, struct emit_group *g, LLVMValueRef address) {
    uint32_t place = group_place(e, g);
    if (place == 0) {
        LLVMTypeRef t = e->l->VectorType(emit_memory_type(e, e->k->buffers.v[n->of].dtype), g->n);
        LLVMValueRef all = emit_load_plain(e, n->of, t, address, emit_group_bytes(e, n, g));
        for (uint32_t i = 0; i < g->n; i++)
            g->part[i] = e->l->BuildExtractElement(e->b, all, e->l->ConstInt(e->i32, i, false), "");
    }
    return g->part[place];
}

void emit_group_store(struct emit *e, const struct kir_node *n, struct emit_group *g, LLVMValueRef v, LLVMValueRef address) {
    uint32_t place = group_place(e, g);
    g->part[place] = v;
    if (place == 0)
        g->address = address;
    if (place + 1 < g->n)
        return;
    LLVMValueRef all = e->l->GetPoison(e->l->VectorType(e->l->TypeOf(v), g->n));
    for (uint32_t i = 0; i < g->n; i++)
        all = e->l->BuildInsertElement(e->b, all, g->part[i], e->l->ConstInt(e->i32, i, false), "");
    e->l->SetAlignment(e->l->BuildStore(e->b, all, g->address), emit_group_bytes(e, n, g));
}

LLVMValueRef emit_group_join(struct emit *e, const struct kir_node *n, struct emit_group *g, LLVMValueRef v,
                             LLVMValueRef *pointers) {
    uint32_t place = group_place(e, g), bits = 8 * ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
    LLVMTypeRef words = bits * g->n == 64 ? e->i64 : e->i32;
    if (place == 0)
        g->address = *pointers;
    v = emit_cast(e, LLVMZExt, v, words);
    v = place ? emit_bin(e, LLVMShl, v, emit_like(e, e->l->TypeOf(v), place * bits)) : v;
    g->part[0] = place ? emit_bin(e, LLVMOr, g->part[0], v) : v;
    *pointers = g->address;
    return place + 1 < g->n ? NULL : g->part[0];
}
