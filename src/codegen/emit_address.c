/* Addresses in innermost loops, in place of LLVM's loop strength reduction, which was a third of the time to compile a network.
 * The index of a loop and its pointers are opaque to it (`freeze`), so that it leaves the loop as it is.
 *
 * An index in such a loop is a sum of multiples of values from outside, of a multiple of the loop's index, and of a constant,
 * because copies of unrolled loops differ by constants only. The values from outside are added to the buffer's address before
 * the loop. Where instructions can scale the loop's index by its factor, they do; else the loop advances a pointer. The
 * constant is the displacement of the access. Accesses that differ by it alone share a pointer. */
#include "codegen/emit.h"

#include "kir/node.h"

enum {
    ADDRESS_TERMS = 6,   /* most values from outside in an index */
    ADDRESS_DEPTH = 12,  /* of the expression of an index */
    ADDRESS_POINTERS = 8 /* most that a loop has: more would be in memory, on processors with 16 registers */
};

/* In the order of the index: an order by LLVM's addresses would give other code in each run. */
struct address_term {
    LLVMValueRef v;
    int64_t factor;
};

/* What the accesses at one pointer share. */
struct emit_pointer {
    struct emit_pointer *next;
    uint32_t buffer, n;
    struct address_term term[ADDRESS_TERMS];
    int64_t step;      /* factor of the loop's index, in bytes */
    LLVMValueRef base; /* before the loop */
    LLVMValueRef phi;  /* i64; NULL: accesses add the loop's index */
};

/* A value of a copy of an unrolled loop, computed before the loop around it. */
struct emit_hoisted {
    struct emit_hoisted *next;
    kir_val node;
    LLVMValueRef arg[2], value;
};

struct address {
    struct emit_pointer p;
    int64_t step, constant; /* the factor of the loop's index, the constant; in elements */
};

static bool address_constant(const struct emit *e, kir_val v, int64_t *out) {
    LLVMValueRef value = e->nodes[v.i].value;
    if (kir_is_const(e->k, v, out))
        return true;
    if (!value || !e->l->IsAConstantInt(value))
        return false;
    *out = e->l->ConstIntGetSExtValue(value);
    return true;
}

static bool address_add_term(struct address *a, LLVMValueRef v, int64_t factor) {
    for (uint32_t i = 0; i < a->p.n; i++)
        if (a->p.term[i].v == v)
            return !__builtin_add_overflow(a->p.term[i].factor, factor, &a->p.term[i].factor);
    if (a->p.n == ADDRESS_TERMS)
        return false;
    a->p.term[a->p.n++] = (struct address_term){v, factor};
    return true;
}

/* Whether a scalar is computed before the innermost loop. */
static bool address_invariant(const struct emit *e, kir_val v) {
    return !kir_block_within(e->k, kir_scope(e->k, v), kir_get(e->k, e->innermost->loop)->body) || e->nodes[v.i].hoisted;
}

/* Adds factor · v. False where v is not such a sum. */
static bool address_add(const struct emit *e, struct address *a, kir_val v, int64_t factor, uint32_t depth) {
    const struct kir_node *n = kir_get(e->k, v);
    int64_t c, by;
    if (address_constant(e, v, &c))
        return !__builtin_mul_overflow(c, factor, &c) && !__builtin_add_overflow(a->constant, c, &a->constant);
    if (v.i == e->innermost->loop.i)
        return !__builtin_add_overflow(a->step, factor, &a->step);
    if (depth == ADDRESS_DEPTH)
        return false;
    if (address_invariant(e, v) && !(n->op == KIR_ADD && address_constant(e, n->arg[1], &c)))
        return address_add_term(a, e->nodes[v.i].value, factor);
    switch ((enum kir_op)n->op) {
    case KIR_ADD:
        return address_add(e, a, n->arg[0], factor, depth + 1) && address_add(e, a, n->arg[1], factor, depth + 1);
    case KIR_SUB:
        return !__builtin_sub_overflow(0, factor, &by) && address_add(e, a, n->arg[0], factor, depth + 1) &&
               address_add(e, a, n->arg[1], by, depth + 1);
    case KIR_MUL:
        for (int i = 0; i < 2; i++)
            if (address_constant(e, n->arg[i], &c))
                return !__builtin_mul_overflow(factor, c, &by) && address_add(e, a, n->arg[1 - i], by, depth + 1);
        return false;
    default:
        return false;
    }
}

static bool address_has(const struct emit_pointer *p, const struct address_term *t) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->term[i].v == t->v)
            return p->term[i].factor == t->factor;
    return false;
}

static bool address_same(const struct emit_pointer *a, const struct emit_pointer *b) {
    bool same = a->buffer == b->buffer && a->step == b->step && a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = address_has(b, &a->term[i]);
    return same;
}

static LLVMValueRef address_beyond(struct emit *e, uint32_t buffer, LLVMValueRef p, LLVMValueRef elements) {
    LLVMTypeRef t = emit_memory_type(e, e->k->buffers.v[buffer].dtype);
    return e->l->BuildGEP2(e->b, t, p, &elements, 1, "");
}

static LLVMValueRef address_multiple(struct emit *e, LLVMValueRef v, int64_t factor) {
    return factor == 1 ? v : emit_bin(e, LLVMMul, v, emit_int(e, factor));
}

/* Whether instructions multiply the loop's index by a factor. */
static bool address_scales(int64_t factor) {
    return factor == 1 || factor == 2 || factor == 4 || factor == 8;
}

static void address_before(struct emit *e, struct emit_pointer *p) {
    const struct llvm *l = e->l;
    struct emit_loop *f = e->innermost;
    LLVMValueRef sum = NULL;
    l->PositionBuilderBefore(e->b, l->GetBasicBlockTerminator(f->before));
    for (uint32_t i = 0; i < p->n; i++) {
        LLVMValueRef v = address_multiple(e, p->term[i].v, p->term[i].factor);
        sum = sum ? emit_bin(e, LLVMAdd, sum, v) : v;
    }
    p->base = sum ? address_beyond(e, p->buffer, e->buffers[p->buffer], sum) : e->buffers[p->buffer];
    if (p->step == 0 || address_scales(p->step))
        return;
    LLVMValueRef first = l->BuildCast(e->b, LLVMPtrToInt, p->base, e->i64, "");
    first = emit_bin(e, LLVMAdd, first, address_multiple(e, f->start, p->step));
    l->PositionBuilderBefore(e->b, l->GetFirstInstruction(f->head));
    p->phi = l->BuildPhi(e->b, e->i64, "");
    l->AddIncoming(p->phi, &first, &f->before, 1);
}

static const struct emit_pointer *address_pointer(struct emit *e, const struct emit_pointer *like) {
    struct emit_loop *f = e->innermost;
    uint32_t n = 0;
    for (const struct emit_pointer *p = f->pointers; p; p = p->next, n++)
        if (address_same(p, like))
            return p;
    if (n == ADDRESS_POINTERS)
        return NULL;
    struct emit_pointer *p = ARENA_NEW(&e->arena, struct emit_pointer);
    LLVMBasicBlockRef at = e->l->GetInsertBlock(e->b);
    *p = *like;
    address_before(e, p);
    e->l->PositionBuilderAtEnd(e->b, at);
    p->next = f->pointers;
    f->pointers = p;
    return p;
}

/* Of index arithmetic that cannot fail. */
static bool hoist_may(struct emit *e, const struct kir_node *n) {
    int64_t c;
    if (!e->innermost || n->type != KIR_I64 ||
        (n->op != KIR_ADD && n->op != KIR_SUB && n->op != KIR_MUL && n->op != KIR_MIN && n->op != KIR_MAX))
        return false;
    for (int i = 0; i < 2; i++)
        if (!address_constant(e, n->arg[i], &c) && !address_invariant(e, n->arg[i]))
            return false;
    return true;
}

LLVMValueRef emit_hoisted(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    if (!hoist_may(e, n))
        return NULL;
    struct emit_loop *f = e->innermost;
    LLVMValueRef a = emit_scalar(e, n->arg[0]), b = emit_scalar(e, n->arg[1]);
    for (const struct emit_hoisted *h = f->hoisted; h; h = h->next)
        if (h->node.i == v.i && h->arg[0] == a && h->arg[1] == b)
            return h->value;
    struct emit_hoisted *h = ARENA_NEW(&e->arena, struct emit_hoisted);
    LLVMBasicBlockRef at = e->l->GetInsertBlock(e->b);
    e->l->PositionBuilderBefore(e->b, e->l->GetBasicBlockTerminator(f->before));
    *h = (struct emit_hoisted){f->hoisted, v, {a, b}, emit_pure(e, v, true)};
    e->l->PositionBuilderAtEnd(e->b, at);
    f->hoisted = h;
    return h->value;
}

LLVMValueRef emit_address(struct emit *e, uint32_t buffer, kir_val index) {
    struct address a = {.p = {.buffer = buffer}};
    if (e->blocks)
        return address_beyond(e, buffer, e->buffers[buffer],
                              emit_fits(e, index) ? emit_scalar32(e, index) : emit_scalar(e, index));
    const struct emit_pointer *p = NULL;
    if (e->innermost && address_add(e, &a, index, 1, 0) &&
        !__builtin_mul_overflow(a.step, (int64_t)ir_dtype_get(e->k->buffers.v[buffer].dtype)->bytes, &a.p.step))
        p = address_pointer(e, &a.p);
    if (!p)
        return address_beyond(e, buffer, e->buffers[buffer], emit_scalar(e, index));
    LLVMValueRef at = p->phi ? e->l->BuildCast(e->b, LLVMIntToPtr, p->phi, e->ptr, "") : p->base;
    if (!p->phi && p->step)
        at = address_beyond(e, buffer, at, address_multiple(e, e->innermost->index, a.step));
    return a.constant ? address_beyond(e, buffer, at, emit_int(e, a.constant)) : at;
}

void emit_address_advance(struct emit *e, struct emit_loop *f) {
    const struct llvm *l = e->l;
    LLVMBasicBlockRef last = l->GetInsertBlock(e->b);
    for (const struct emit_pointer *p = f->pointers; p; p = p->next) {
        if (!p->phi)
            continue;
        LLVMValueRef step = emit_bin(e, LLVMMul, f->step, emit_int(e, p->step));
        LLVMValueRef next = l->BuildFreeze(e->b, l->BuildNSWAdd(e->b, p->phi, step, ""), "");
        l->AddIncoming(p->phi, &next, &last, 1);
    }
}
